//! What the jobs of Pegasus workflows run where their transformations are programs on this machine. Knows catalogs inside
//! of the workflow and beside it (`transformations.yml`), and no other site than this.
//!
//! A transformation is local when its catalog entry has an absolute path, or a `file:` URL, at the site `local` or else at
//! any; or when its name is an absolute path. Logical file names are paths in the directory that the workflow runs in.

use super::{Fingerprint, Job, Run};
use crate::dagman::split_arguments;
use crate::shell::push_word;
use crate::text::Text;
use crate::{Cure, Format, Place, ReadLimits, Report, Source, dax, pegasus};
use cairn_dag::{Flow, TaskId};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::marker::PhantomData;
use std::path::Path;

/// What every job runs.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    /// By task; nothing for one that is executed already.
    by_task: Vec<Option<Box<Program>>>,
}

#[derive(Clone, Debug)]
struct Program {
    path: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Standard input, output and errors.
    files: [Option<String>; 3],
}

type Environment = BTreeMap<String, String>;

/// A transformation of a catalog.
#[derive(Clone, Debug, Default)]
struct Transformation {
    name: Name,
    /// Its path on this machine, if it has one.
    path: Option<String>,
    /// Whether that is the one of the site `local`.
    is_local: bool,
    container: bool,
    environment: Environment,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Name {
    namespace: String,
    name: String,
    version: String,
}

impl Name {
    /// Whether a job that says this means that transformation: what it leaves open may be anything.
    fn means(&self, other: &Name) -> bool {
        let open = |own: &str, other: &str| own.is_empty() || own == other;
        self.name == other.name
            && open(&self.namespace, &other.namespace)
            && open(&self.version, &other.version)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}::", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl Transformation {
    /// Takes another place where it is installed.
    fn installed(&mut self, site: &str, pfn: &str) {
        let path = pfn.trim();
        // The longest first, for each of them begins with the next.
        let path = path.strip_prefix("file://localhost").unwrap_or(path);
        let path = path.strip_prefix("file://").unwrap_or(path);
        let path = path.strip_prefix("file:").unwrap_or(path);
        // A path of another site may exist here by chance; that of `local` is meant.
        let is_better = self.path.is_none() || (site == "local" && !self.is_local);
        if path.starts_with('/') && is_better {
            self.path = Some(path.to_owned());
            self.is_local = site == "local";
        }
    }
}

/// A job of a workflow.
#[derive(Debug, Default)]
struct Entry {
    id: String,
    name: Name,
    is_workflow: bool,
    environment: Environment,
    files: [Option<String>; 3],
    /// Where it begins, in bytes.
    at: Option<usize>,
}

/// A workflow as far as it tells what is run.
#[derive(Debug, Default)]
struct Listing {
    transformations: Vec<Transformation>,
    jobs: Vec<Entry>,
}

impl Programs {
    /// What the jobs of `flow`, which was read from `source`, run. `None` when a transformation is not on this machine: the
    /// report then names each.
    pub(super) fn of(
        source: &Source,
        format: Format,
        flow: &Flow,
        report: &mut Report,
    ) -> Option<Programs> {
        let mut listing = match format {
            Format::Dax => of_dax(source.text()),
            _ => of_yaml(source.text()),
        };
        // Those inside the workflow come first, and of equals the first counts.
        listing.transformations.extend(beside(source));
        let before = report.errors();
        let mut refused = HashSet::new();
        let mut programs = Programs {
            by_task: vec![None; flow.dag().len()],
        };
        for entry in &listing.jobs {
            // What is executed already, or was left out of the flow, need not be installed here.
            let task = flow.find(&entry.id).filter(|&task| !flow.is_done(task));
            let Some(task) = task else { continue };
            match program(entry, &listing.transformations, flow, task) {
                Ok(program) => programs.by_task[task.index()] = Some(Box::new(program)),
                Err(Unfit {
                    message,
                    help,
                    cure,
                }) => {
                    // A transformation that is missing is told once, not for each of its thousand jobs.
                    if refused.insert(entry.name.to_string()) {
                        let at = entry.at.filter(|_| !report.is_full());
                        let place: Place =
                            at.map_or_else(|| source.place(), |at| source.place_at(at));
                        report.error(place, message, help);
                        cure.into_iter().for_each(|cure| report.cured_by(cure));
                    }
                }
            }
        }
        (report.errors() == before).then_some(programs)
    }

    pub(super) fn job(&self, task: TaskId, retries: u32) -> Job<'_> {
        let Some(program) = &self.by_task[task.index()] else {
            return Job::new(Run::Nothing, retries);
        };
        let words = [&program.path].into_iter().chain(&program.arguments);
        let words = words.map(|word| Cow::Borrowed(&word[..])).collect();
        let mut job = Job::new(Run::Words(words), retries);
        let pairs = program.environment.iter();
        job.environment = pairs
            .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
            .collect();
        let files = program.files.each_ref();
        let path = files.map(|file| file.as_deref().map(|file| Cow::Borrowed(Path::new(file))));
        [job.stdin, job.stdout, job.stderr] = path;
        job
    }

    pub(super) fn fingerprint(&self, task: TaskId, print: &mut Fingerprint) {
        let Some(program) = &self.by_task[task.index()] else {
            return print.text("nothing", "");
        };
        print.program(&program.path, &program.arguments, &program.environment);
        for (name, file) in ["input", "output", "error"].iter().zip(&program.files) {
            if let Some(file) = file {
                print.text(name, file);
            }
        }
    }
}

/// Why a job is not run here, and what to do.
struct Unfit {
    message: String,
    help: &'static str,
    cure: Option<Cure>,
}

impl Unfit {
    /// Mended in the workflow alone.
    fn new(message: String, help: &'static str) -> Unfit {
        Unfit {
            message,
            help,
            cure: None,
        }
    }

    /// Mended by a command that is given instead.
    fn by_command(message: String, help: &'static str) -> Unfit {
        Unfit {
            cure: Some(Cure::GiveCommand),
            ..Unfit::new(message, help)
        }
    }
}

/// What one job runs.
fn program(
    entry: &Entry,
    transformations: &[Transformation],
    flow: &Flow,
    task: TaskId,
) -> Result<Program, Unfit> {
    let (id, name) = (&entry.id, &entry.name);
    if entry.is_workflow {
        let message = format!("job '{id}' is a workflow of its own, which is not run here");
        let help = "run it by itself, and its parents before";
        return Err(Unfit::new(message, help));
    }
    let mut found = transformations.iter().filter(|t| name.means(&t.name));
    // Of several versions one that is here; else the first, to say that it is elsewhere.
    let found = found.clone().find(|t| t.path.is_some()).or(found.next());
    let path = match found {
        Some(t) if t.container => {
            let message = format!("the transformation '{name}' of job '{id}' runs in a container");
            let help = "give a command that starts it";
            return Err(Unfit::by_command(message, help));
        }
        Some(Transformation {
            path: Some(path), ..
        }) => path.clone(),
        _ if name.name.starts_with('/') => name.name.clone(),
        found => {
            let why = match found {
                Some(_) => "is installed elsewhere only",
                None => "is in no catalog that is known here",
            };
            let message = format!("the transformation '{name}' of job '{id}' {why}");
            let help = "give it an absolute pfn at the site 'local' in the transformation catalog of the workflow, \
                        or a command that stands for all";
            return Err(Unfit::by_command(message, help));
        }
    };
    let mut first = String::new();
    push_word(&mut first, &name.name);
    let line = flow.command(task).unwrap_or("");
    // The reader made the command of the program's name and the arguments: what is behind the name are these.
    let arguments = line.strip_prefix(&*first).unwrap_or("").trim();
    // As Pegasus hands them to HTCondor: single quotes hold blanks.
    let quoted = format!("\"{}\"", arguments.replace('"', "\"\""));
    let arguments = split_arguments(&quoted).ok_or_else(|| {
        let message = format!("the quotes in the arguments of job '{id}' do not match");
        Unfit::new(message, "close them")
    })?;
    let mut environment = found.map_or_else(Environment::new, |t| t.environment.clone());
    // The job's own variables outweigh those of its transformation.
    environment.extend(entry.environment.clone());
    Ok(Program {
        path,
        arguments,
        environment: environment.into_iter().collect(),
        files: entry.files.clone(),
    })
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlDocument<'a> {
    #[serde(rename = "transformationCatalog")]
    catalog: Option<YamlCatalog<'a>>,
    jobs: Vec<YamlJob<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlCatalog<'a> {
    transformations: Option<Vec<YamlTransformation<'a>>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlTransformation<'a> {
    namespace: Option<Text<'a>>,
    name: Text<'a>,
    version: Option<Text<'a>>,
    sites: Option<Vec<YamlSite<'a>>>,
    profiles: Option<YamlProfiles<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlSite<'a> {
    name: Option<Text<'a>>,
    pfn: Option<Text<'a>>,
    container: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlProfiles<'a> {
    env: Option<BTreeMap<Text<'a>, Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct YamlJob<'a> {
    id: Text<'a>,
    namespace: Option<Text<'a>>,
    name: Option<Text<'a>>,
    version: Option<Text<'a>>,
    file: Option<Text<'a>>,
    stdin: Option<Text<'a>>,
    stdout: Option<Text<'a>>,
    stderr: Option<Text<'a>>,
    profiles: Option<YamlProfiles<'a>>,
}

fn owned(text: &Option<Text<'_>>) -> String {
    text.as_deref().unwrap_or("").to_owned()
}

fn environment(profiles: &Option<YamlProfiles<'_>>) -> Environment {
    let pairs = profiles.iter().flat_map(|p| p.env.iter().flatten());
    pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn catalog(catalog: Option<YamlCatalog<'_>>) -> Vec<Transformation> {
    let listed = catalog.and_then(|c| c.transformations).unwrap_or_default();
    let one = |listed: YamlTransformation<'_>| {
        let mut found = Transformation {
            name: Name {
                namespace: owned(&listed.namespace),
                name: listed.name.to_string(),
                version: owned(&listed.version),
            },
            environment: environment(&listed.profiles),
            ..Transformation::default()
        };
        for site in listed.sites.iter().flatten() {
            found.installed(&owned(&site.name), &owned(&site.pfn));
            found.container |= site.container.is_some();
        }
        found
    };
    listed.into_iter().map(one).collect()
}

/// The text was read before: what cannot be read now holds nothing that is run.
fn of_yaml(text: &str) -> Listing {
    let seed = PhantomData::<YamlDocument<'_>>;
    let Ok(document) = pegasus::with_document(text, seed) else {
        return Listing::default();
    };
    let job = |job: YamlJob<'_>| Entry {
        id: job.id.to_string(),
        name: Name {
            namespace: owned(&job.namespace),
            name: owned(&job.name),
            version: owned(&job.version),
        },
        is_workflow: job.name.is_none() && job.file.is_some(),
        environment: environment(&job.profiles),
        files: [job.stdin, job.stdout, job.stderr].map(|file| file.map(|f| f.to_string())),
        // An id that was copied, having escapes, lies elsewhere: then the place is not known.
        at: (job.id.as_ptr() as usize)
            .checked_sub(text.as_ptr() as usize)
            .filter(|at| *at < text.len()),
    };
    Listing {
        transformations: catalog(document.catalog),
        jobs: document.jobs.into_iter().map(job).collect(),
    }
}

/// The catalog that Pegasus looks for beside the workflow.
fn beside(source: &Source) -> Vec<Transformation> {
    let Some(path) = source.path() else {
        return Vec::new();
    };
    let path = path.with_file_name("transformations.yml");
    let file = Source::load_named_by_file(&path, &ReadLimits::default(), &mut Report::default());
    let Some(file) = file else { return Vec::new() };
    let seed = PhantomData::<YamlCatalog<'_>>;
    let found = pegasus::with_document(file.text(), seed);
    catalog(found.ok())
}

/// The text was read before: what cannot be read now holds nothing that is run.
fn of_dax(text: &str) -> Listing {
    let mut xml = Reader::from_str(text);
    xml.config_mut().expand_empty_elements = true;
    let mut open = Open::default();
    loop {
        let at = xml.buffer_position() as usize;
        match xml.read_event() {
            Ok(Event::Start(element)) => open.begin(&element, at),
            Ok(Event::Text(text)) => {
                if let Some((_, value)) = &mut open.variable {
                    value.push_str(&text.xml10_content());
                }
            }
            Ok(Event::GeneralRef(name)) => {
                if let Some((_, value)) = &mut open.variable {
                    match name.resolve_char_ref() {
                        Ok(Some(c)) => value.push(c),
                        _ => value.push_str(dax::entity(&name).unwrap_or_default()),
                    }
                }
            }
            Ok(Event::End(element)) => open.end(element.local_name().as_ref()),
            Ok(Event::Eof) | Err(_) => return open.listing,
            Ok(_) => {}
        }
    }
}

/// What was read of a DAX, and the elements that are open.
#[derive(Default)]
struct Open {
    listing: Listing,
    job: Option<Entry>,
    executable: Option<Transformation>,
    /// The variable of the environment whose value is being read.
    variable: Option<(String, String)>,
}

impl Open {
    fn begin(&mut self, element: &BytesStart<'_>, at: usize) {
        let get = |key| dax::attribute(element, key).ok().flatten();
        let text = |key| get(key).unwrap_or_default().into_owned();
        let name = || Name {
            namespace: text("namespace"),
            name: text("name"),
            version: text("version"),
        };
        match element.local_name().as_ref() {
            kind @ ("job" | "dag" | "dax") if self.job.is_none() => {
                self.job = Some(Entry {
                    id: text("id"),
                    name: name(),
                    is_workflow: kind != "job",
                    at: Some(at),
                    ..Entry::default()
                });
            }
            "executable" if self.job.is_none() => {
                self.executable = Some(Transformation {
                    name: name(),
                    ..Transformation::default()
                });
            }
            "pfn" => {
                if let Some(executable) = &mut self.executable {
                    executable.installed(&text("site"), &text("url"));
                }
            }
            "profile" if text("namespace").eq_ignore_ascii_case("env") => {
                self.variable = Some((text("key"), text("value")));
            }
            kind @ ("stdin" | "stdout" | "stderr") => {
                let names = ["stdin", "stdout", "stderr"];
                let number = names.iter().position(|n| *n == kind);
                if let (Some(job), Some(number)) = (&mut self.job, number) {
                    let file = get("name").or_else(|| get("file"));
                    job.files[number] = file.map(Cow::into_owned);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, element: &str) {
        match element {
            "profile" => {
                let of_job = self.job.as_mut().map(|job| &mut job.environment);
                let of_executable = self.executable.as_mut().map(|e| &mut e.environment);
                let pair = self.variable.take();
                if let (Some(environment), Some((key, value))) = (of_job.or(of_executable), pair) {
                    environment.insert(key, value.trim().to_owned());
                }
            }
            "job" | "dag" | "dax" => self.listing.jobs.extend(self.job.take()),
            "executable" => self.listing.transformations.extend(self.executable.take()),
            _ => {}
        }
    }
}
