//! Pegasus 5 workflows (YAML). Knows jobs and their dependencies, and nothing of catalogs.
//!
//! Every job is a task, named by its id. Arcs come from `jobDependencies` alone: files make none. The command is the
//! transformation's name and its arguments; people see the job by that name, or by its `nodeLabel`.

use crate::draft::{Draft, KIBIBYTE, MEBIBYTE, Number};
use crate::fields::Held;
use crate::loss::Tally;
use crate::text::Text;
use crate::{Report, Source, shell};
use cairn_dag::{Flow, Symbol};
use serde::Deserialize;
use serde::de::DeserializeSeed;

/// Reads a workflow. Time and space linear; aliases may repeat only so much.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut draft = Draft::new(source, report);
    let document: Document<'_> = match parse(source.text()) {
        Ok(document) => document,
        Err(error) => {
            let place = |source: &Source| match error.location() {
                Some(at) => {
                    let mut place = source.place_of_line(at.line() as u32);
                    place.column = at.column() as u32;
                    place
                }
                None => source.place(),
            };
            // A problem is one line with a place of its own; the parser's snippet is many.
            let message = error.without_snippet().to_string();
            let help = "correct the YAML here; a Pegasus workflow has 'jobs' and 'jobDependencies'";
            draft.unreadable(place, message, help);
            return None;
        }
    };
    let mut symbols = Vec::with_capacity(document.jobs.len());
    for job in &document.jobs {
        let mark = draft.mark(&job.id);
        symbols.push(draft.declare(&job.id, mark));
    }
    // A second job of an id has no symbol: it was reported, and must not change the first.
    for (job, symbol) in document.jobs.iter().zip(symbols) {
        if let Some(symbol) = symbol {
            attributes(&mut draft, symbol, job);
        }
    }
    for dependency in document.dependencies.iter().flatten() {
        let mark = draft.mark(&dependency.id);
        // Mentioned, not looked up: the builder names every id that no job has, with its place.
        let parent = draft.build.mention(&dependency.id, mark);
        for child in dependency.children.iter().flatten() {
            let mark = draft.mark(child);
            let child = draft.build.mention(child, mark);
            draft.arc(parent, child, mark);
        }
    }
    draft.finish()
}

fn parse(text: &str) -> Result<Document<'_>, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, options(text))
}

/// Hands the document to `seed`.
pub(crate) fn with_document<'t, S: DeserializeSeed<'t>>(
    text: &'t str,
    seed: S,
) -> Result<S::Value, serde_saphyr::Error> {
    let take = |input: serde_saphyr::Deserializer<'t, '_>| seed.deserialize(input);
    serde_saphyr::with_deserializer_from_str_with_options(text, options(text), take)
}

/// Limits that follow the length of the text: no alias can make much of little.
fn options(text: &str) -> serde_saphyr::Options {
    // Without aliases a byte makes about two events at the most (`[:,:,:]`): four leave room.
    let most = text.len().saturating_mul(4).saturating_add(1000);
    let budget = serde_saphyr::budget! {
        max_events: most,
        max_nodes: most,
        max_total_scalar_bytes: most,
        // A second document would be passed over in silence.
        max_documents: 1,
    };
    serde_saphyr::options! { budget: budget }
}

/// Fields of a document that a flow holds.
pub(crate) const HELD: Held = Held::Of(
    &["pegasus"],
    &[
        (
            "jobs",
            Held::Of(
                &["id", "name", "file", "nodeLabel", "arguments"],
                &[("uses", HELD_OF_USE), ("profiles", HELD_OF_PROFILES)],
            ),
        ),
        ("jobDependencies", Held::Of(&["id", "children"], &[])),
    ],
);

const HELD_OF_USE: Held = Held::Of(
    &["lfn", "type", "size", "stageOut"],
    &[("metadata", Held::Of(&["size"], &[]))],
);

const HELD_OF_PROFILES: Held = Held::Of(
    &[],
    &[
        (
            "pegasus",
            Held::Of(&["runtime", "cores", "memory", "diskspace"], &[]),
        ),
        ("globus", Held::Of(&["maxwalltime"], &[])),
        (
            "condor",
            Held::Of(
                &["priority", "request_cpus", "request_memory", "request_disk"],
                &[],
            ),
        ),
        (
            "dagman",
            Held::Of(
                &[
                    "retry", "RETRY", "Retry", "priority", "PRIORITY", "Priority",
                ],
                &[],
            ),
        ),
    ],
);

/// Counts the profiles of jobs that are passed over, because another one says the same thing with another value.
pub(crate) fn outdone(source: &Source, tally: &mut Tally) {
    let Ok(document) = parse(source.text()) else {
        return;
    };
    for job in &document.jobs {
        for (field, taken, condors) in job.profiles.iter().flat_map(Profiles::of_two) {
            if let (Some(taken), Some(condors)) = (taken, condors)
                && taken.trim() != condors.trim()
            {
                let what = format!("jobs.profiles.condor.{field}");
                tally.add(&what, "field", || job.id.to_string());
            }
        }
    }
}

fn attributes(draft: &mut Draft<'_, '_>, symbol: Symbol, job: &Job<'_>) {
    let program = job.name.as_deref().or(job.file.as_deref()).unwrap_or("");
    let label = job.node_label.as_deref().unwrap_or("");
    // The program where nobody gave a label: people know jobs by what they run.
    draft.build.set_label(symbol, program);
    if !label.is_empty() {
        draft.build.set_label(symbol, label);
        draft.build.set_kind(symbol, program);
    }
    if !program.is_empty() {
        let mut line = String::new();
        shell::push_word(&mut line, program);
        // As Pegasus does it: arguments are joined, not quoted.
        for argument in job.arguments.iter().flatten() {
            line.push(' ');
            line.push_str(argument);
        }
        draft.build.set_command(symbol, &line);
    }
    files(draft, symbol, job);
    if let Some(profiles) = &job.profiles {
        numbers(draft, symbol, &job.id, profiles);
    }
}

/// What the job reads and writes.
fn files(draft: &mut Draft<'_, '_>, symbol: Symbol, job: &Job<'_>) {
    for file in job.uses.iter().flatten() {
        let noted = file.metadata.as_ref().and_then(|m| m.size.as_deref());
        let bytes = file.size.as_deref().or(noted);
        let bytes = bytes.and_then(|size| draft.bytes(size, draft.mark(&file.lfn)));
        // What says nothing is read: to take it for written would make a file that nobody makes.
        let kind = file.kind.as_deref().unwrap_or("input");
        if matches!(kind, "input" | "inout" | "checkpoint") {
            draft.build.add_input(symbol, &file.lfn, bytes);
        }
        if matches!(kind, "output" | "inout" | "checkpoint") {
            draft.build.add_output(symbol, &file.lfn, bytes);
            // Nobody wants it at the end: Pegasus deletes it after its last reader.
            if file.stage_out == Some(false) {
                draft.build.set_temp(&file.lfn);
            }
        }
    }
}

/// What the job takes, and how it is treated.
fn numbers(draft: &mut Draft<'_, '_>, symbol: Symbol, id: &str, profiles: &Profiles<'_>) {
    let mark = draft.mark(id);
    let runtime = profiles.pegasus.as_ref().and_then(|p| p.runtime.as_ref());
    let retries = profiles.dagman.as_ref().and_then(|d| d.retry.as_ref());
    let limit = (profiles.globus.as_ref()).and_then(|g| g.maxwalltime.as_ref());
    let [priority, cpus, memory, disk] = profiles.of_two();
    fn first<'p>((_, taken, condors): OfTwo<'p>) -> Option<&'p Text<'p>> {
        taken.or(condors)
    }
    // Condor counts in other units than Pegasus.
    let unit = if disk.1.is_some() { MEBIBYTE } else { KIBIBYTE };
    for (what, number, value) in [
        ("runtime", Number::Seconds, runtime),
        ("number of cores", Number::Cpus, first(cpus)),
        ("priority", Number::Priority, first(priority)),
        ("number of retries", Number::Retries, retries),
        ("memory", Number::Memory(MEBIBYTE), first(memory)),
        ("disk space", Number::Scratch(unit), first(disk)),
        ("time limit", Number::TimeLimit(60), limit),
    ] {
        if let Some(value) = value
            && !draft.number(symbol, number, value.trim())
        {
            let message = format!("'{}' is no {what} and is ignored", &**value);
            draft.warning(mark, message, "write a number, not below zero");
        }
    }
}

/// A field of Condor's profile, what another profile says of the same, which is taken, and what Condor's does.
type OfTwo<'p> = (&'static str, Option<&'p Text<'p>>, Option<&'p Text<'p>>);

impl Profiles<'_> {
    /// What two profiles can say.
    fn of_two(&self) -> [OfTwo<'_>; 4] {
        let (pegasus, condor) = (self.pegasus.as_ref(), self.condor.as_ref());
        // DAGMan's own priority goes before Condor's: it is what decides which job is released.
        let priority = self.dagman.as_ref().and_then(|d| d.priority.as_ref());
        [
            (
                "priority",
                priority,
                condor.and_then(|c| c.priority.as_ref()),
            ),
            (
                "request_cpus",
                pegasus.and_then(|p| p.cores.as_ref()),
                condor.and_then(|c| c.request_cpus.as_ref()),
            ),
            (
                "request_memory",
                pegasus.and_then(|p| p.memory.as_ref()),
                condor.and_then(|c| c.request_memory.as_ref()),
            ),
            (
                "request_disk",
                pegasus.and_then(|p| p.diskspace.as_ref()),
                condor.and_then(|c| c.request_disk.as_ref()),
            ),
        ]
    }
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Document<'a> {
    jobs: Vec<Job<'a>>,
    #[serde(rename = "jobDependencies")]
    dependencies: Option<Vec<Dependency<'a>>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Dependency<'a> {
    id: Text<'a>,
    children: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Job<'a> {
    id: Text<'a>,
    /// The transformation of a job.
    name: Option<Text<'a>>,
    /// What people should see.
    #[serde(rename = "nodeLabel")]
    node_label: Option<Text<'a>>,
    /// The file of a sub-workflow.
    file: Option<Text<'a>>,
    arguments: Option<Vec<Text<'a>>>,
    uses: Option<Vec<Use<'a>>>,
    profiles: Option<Profiles<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Use<'a> {
    lfn: Text<'a>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    size: Option<Text<'a>>,
    #[serde(rename = "stageOut")]
    stage_out: Option<bool>,
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Metadata<'a> {
    size: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Profiles<'a> {
    pegasus: Option<PegasusProfile<'a>>,
    condor: Option<CondorProfile<'a>>,
    globus: Option<GlobusProfile<'a>>,
    dagman: Option<DagmanProfile<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct PegasusProfile<'a> {
    runtime: Option<Text<'a>>,
    cores: Option<Text<'a>>,
    /// In mebibytes, as Condor takes it.
    memory: Option<Text<'a>>,
    /// In mebibytes.
    diskspace: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct GlobusProfile<'a> {
    /// In minutes.
    maxwalltime: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct CondorProfile<'a> {
    priority: Option<Text<'a>>,
    request_cpus: Option<Text<'a>>,
    /// In mebibytes unless it names a unit.
    request_memory: Option<Text<'a>>,
    /// In kibibytes unless it names a unit.
    request_disk: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct DagmanProfile<'a> {
    #[serde(alias = "RETRY", alias = "Retry")]
    retry: Option<Text<'a>>,
    #[serde(alias = "PRIORITY", alias = "Priority")]
    priority: Option<Text<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self as support, first_problem};
    use cairn_dag::File;

    fn read_text(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "f.yml", text)
    }

    const YAML: &str = r#"# a comment
x-pegasus: {apiLang: python}
pegasus: "5.0"
name: test
transformationCatalog:
  transformations: [{namespace: n, name: keg}]
jobs:
- type: job
  name: pre process
  id: 0010
  arguments: ["-a", f.a, 3]
  uses:
  - {lfn: f.a, type: input, size: 100}
  - lfn: f.b
    type: output
    stageOut: false
    metadata: {size: "2048"}
  profiles:
    pegasus: {runtime: "18.5", cores: 2, memory: 512, clusters.size: 3}
    condor: {priority: 5, request_disk: 10, request_memory: 4G}
    globus: {maxwalltime: 2}
    dagman: {RETRY: 3}
    env: {A: B}
- id: 'ID "2"'
  type: pegasusWorkflow
  file: sub.yml
jobDependencies:
- id: 0010
  children: ['ID "2"']
"#;

    #[test]
    fn jobs_files_profiles_and_dependencies() {
        for text in [YAML.to_owned(), YAML.replace('\n', "\r\n")] {
            let (flow, report) = read_text(&text);
            assert_eq!(report.problems(), []);
            let flow = flow.unwrap();
            let [one, two] = ["0010", "ID \"2\""].map(|n| flow.find(n).unwrap());
            assert_eq!(flow.dag().arcs().collect::<Vec<_>>(), [(one, two)]);
            assert_eq!(flow.command(one), Some("'pre process' -a f.a 3"));
            assert_eq!(flow.command(two), Some("sub.yml"));
            assert_eq!((flow.seconds(one), flow.cpus(one)), (Some(18.5), Some(2)));
            assert_eq!((flow.priority(one), flow.retries(one)), (Some(5), Some(3)));
            assert_eq!(flow.memory(one), Some(512 << 20));
            assert_eq!(flow.scratch(one), Some(10 << 10));
            assert_eq!(flow.time_limit(one), Some(120.0));
            let file = |path, bytes| File {
                path,
                bytes,
                temp: path == "f.b",
            };
            assert_eq!(
                flow.inputs(one).collect::<Vec<_>>(),
                [file("f.a", Some(100))]
            );
            assert_eq!(
                flow.outputs(one).collect::<Vec<_>>(),
                [file("f.b", Some(2048))]
            );
        }
    }

    #[test]
    fn errors_have_places() {
        for (text, line, message) in [
            ("jobs:\n- id: a\n- id: a\n", 3, "declared twice"),
            (
                "jobs:\n- id: a\njobDependencies:\n- id: a\n  children: [b]\n",
                5,
                "'b' is mentioned",
            ),
            (
                "jobs:\n- id: a\njobDependencies:\n- id: a\n  children:\n  - a\n",
                6,
                "depends on itself",
            ),
            ("jobs:\n- name: a\n", 2, "id"),
            ("jobs:\n- id: a\n  uses: [\n", 0, ""),
            ("jobs: 7\n", 1, ""),
            ("name: x\n", 1, "jobs"),
        ] {
            let (_, report) = read_text(text);
            let problem = first_problem(&report, text, message);
            assert!(
                line == 0 || problem.place.line == line,
                "{text}: {}",
                problem.place
            );
            assert!(!problem.message.contains('\n'), "{}", problem.message);
        }
        let (flow, report) = read_text("jobs:\n- id: a\n  profiles: {pegasus: {runtime: soon}}\n");
        assert_eq!(flow.unwrap().dag().len(), 1);
        assert!(
            report.problems()[0]
                .message
                .contains("'soon' is no runtime")
        );
    }

    #[test]
    fn hostile_yaml_is_refused() {
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for i in 1..30 {
            let alias = format!("*a{},", i - 1).repeat(10);
            laughs += &format!("a{i}: &a{i} [{alias}]\n");
        }
        laughs += "jobs:\n- id: a\n  arguments: *a29\n";
        let (flow, report) = read_text(&laughs);
        assert!(flow.is_none(), "{:?}", report.problems());
        for deep in [
            "[".repeat(100_000),
            "{a: ".repeat(100_000),
            "- ".repeat(100_000),
        ] {
            assert!(read_text(&format!("jobs: {deep}")).0.is_none());
            assert!(read_text(&format!("x:\n {deep}\njobs: []")).0.is_none());
        }
    }
}
