//! From a file name to a flow: load, detect, read, report; and what is left of it when some of it is executed.
//! Knows no format itself.

use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::output::Output;
use cairn_dag::{Flow, TaskId, plain};
use cairn_formats::times::Assigned;
use cairn_formats::{
    Format, Place, ReadLimits, Report, Source, closest, is_rescue, rescue_file, rescued,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A flow that was read, and what there is to say about the reading.
pub(crate) struct Read {
    /// The file, as the user named it, fit to be printed.
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) flow: Flow,
    /// What the flow lacks because it is executed.
    pub(crate) done: Done,
    /// How many tasks have their time from where, if logs were given.
    pub(crate) timed: Option<Assigned>,
    /// Warnings only.
    pub(crate) report: Report,
}

impl Read {
    /// Adds what machines are told of times to an answer.
    pub(crate) fn tell_times(&self, value: &mut Value) {
        if let Some(timed) = &self.timed {
            value["times"] = json!({
                "by_name": timed.by_name, "own": timed.own, "by_kind": timed.by_kind, "by_mean": timed.by_mean,
            });
        }
    }
}

/// The folder of the input, where its files are; of standard input, this one.
pub(crate) fn folder(input: &cli::Input) -> &Path {
    match input.file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Every file that flags name to be read, with what it is to the command; the workflow first, where there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named(Vec<(&'static str, PathBuf)>);

impl Named {
    /// The workflow, and the list of executed tasks where that is a file.
    pub(crate) fn new(input: &cli::Input, executed: &cli::Executed) -> Named {
        let list = executed.executed.strip_prefix('@').map(PathBuf::from);
        let list: Vec<PathBuf> = list.into_iter().collect();
        Named::of("the workflow", [&input.file]).and("the list of executed tasks", &list)
    }

    /// Files that are the same thing to the command.
    pub(crate) fn of<'a>(
        what: &'static str,
        files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Named {
        Named::default().and(what, files)
    }

    /// And these.
    pub(crate) fn and<'a>(
        mut self,
        what: &'static str,
        files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Named {
        let files = files.into_iter().map(|file| (what, file.clone()));
        self.0.extend(files);
        self
    }

    /// And the logs that tell how long tasks take.
    pub(crate) fn logs(self, times: &cli::Times) -> Named {
        self.and("a log", &times.times)
    }

    /// And what tells of workers.
    pub(crate) fn world(self, world: &cli::World) -> Named {
        let named = self.and("a log", &world.world_from);
        named.and("the record of workers", &world.trace)
    }

    pub(crate) fn paths(&self) -> Vec<&Path> {
        self.0.iter().map(|(_, path)| path.as_path()).collect()
    }

    /// Refuses what can be seen to be wrong before anything is read: standard input is gone when it was read once.
    pub(crate) fn checked(self) -> Result<Named, Failure> {
        let mut piped = self.0.iter().filter(|(_, path)| path == Path::new("-"));
        match (piped.next(), piped.next()) {
            (Some((one, _)), Some((other, _))) => Err(Failure::usage(
                match one == other {
                    true => format!("standard input cannot be {one} twice"),
                    false => format!("standard input cannot be both {one} and {other}"),
                },
                "name a file for one of them",
            )),
            _ => Ok(self),
        }
    }
}

/// Reads the input, all of it, or fails with every problem found.
pub(crate) fn read(input: &cli::Input) -> Result<Read, Failure> {
    let mut report = Report::default();
    match try_open(input, &mut report) {
        Some((source, format, flow)) => Ok(Read {
            name: plain(source.name()).into_owned(),
            format,
            flow,
            done: Done::default(),
            timed: None,
            report,
        }),
        None => Err(Failure::Input(report)),
    }
}

/// Reads the input; problems, errors among them, go to `report`.
pub(crate) fn try_open(input: &cli::Input, report: &mut Report) -> Option<(Source, Format, Flow)> {
    let format = input.format.as_deref().and_then(Format::from_name);
    let source = Source::load(&input.file, &ReadLimits::default(), report)?;
    let (format, flow) = cairn_formats::read(&source, format, report)?;
    Some((source, format, flow))
}

/// What was executed before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    /// How many tasks were executed, and how many there are in all.
    executed: usize,
    whole: usize,
    /// How many of them made results that a task which is left waits for.
    needed: usize,
    /// The rescue file that was found beside the workflow.
    rescue: Option<String>,
}

impl Done {
    /// Adds what machines are told to an answer.
    pub(crate) fn tell(&self, value: &mut Value) {
        value["executed"] = json!(self.executed);
        if let Some(rescue) = &self.rescue {
            value["rescue"] = json!(rescue);
        }
    }

    /// How many executed tasks have results that are still needed.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }

    /// The same inside a sentence.
    pub(crate) fn aside(&self) -> String {
        match self.executed {
            0 => String::new(),
            done => format!(" ({done} of {} are executed)", self.whole),
        }
    }

    /// Tasks of the workflow, executed or not.
    pub(crate) fn whole(&self) -> usize {
        self.whole
    }

    /// A row for people; empty where nothing is executed.
    pub(crate) fn row(&self) -> String {
        match self.executed {
            0 => String::new(),
            done => format!(
                "  executed  {done} of {} tasks; this is about the rest\n",
                self.whole
            ),
        }
    }
}

/// Reads the input and leaves out what is executed: by the input itself, by the rescue file beside it, by
/// `--executed`. Prints the warnings, and which rescue file it took.
pub(crate) fn read_rest(
    input: &cli::Input,
    executed: &cli::Executed,
    out: &Output,
) -> Result<Read, Failure> {
    open_rest(input, executed, out).map(|(_, read)| read)
}

/// A workflow with what is executed of it.
pub(crate) struct Whole {
    pub(crate) source: Source,
    pub(crate) format: Format,
    pub(crate) flow: Flow,
    /// By task.
    pub(crate) is_executed: Vec<bool>,
    /// The rescue file that was found beside it.
    rescue: Option<String>,
    /// Warnings only.
    pub(crate) report: Report,
}

/// Reads the input, and what is executed of it: by the input itself, by the rescue file beside it, by `--executed`. Prints the
/// warnings, and which rescue file it took.
pub(crate) fn open_whole(
    input: &cli::Input,
    executed: &cli::Executed,
    out: &Output,
) -> Result<Whole, Failure> {
    let mut report = Report::default();
    let Some((source, format, flow)) = try_open(input, &mut report) else {
        return Err(Failure::Input(report));
    };
    let mut is_executed: Vec<bool> = flow.dag().tasks().map(|t| flow.is_done(t)).collect();
    let rescue = match source.path() {
        Some(path) if format == Format::Dagman && !executed.no_rescue => rescue_file(path),
        _ => None,
    };
    let mut announced = None;
    if let Some(path) = &rescue {
        let Some(tasks) = load_rescue(path, &flow, &mut report) else {
            report.warning(
                source.place(),
                format!("its rescue file is {}", plain(&path.display().to_string())),
                "mend or remove that file, or leave it out with --no-rescue",
            );
            return Err(Failure::Input(report));
        };
        tasks.iter().for_each(|t| is_executed[t.index()] = true);
        announced = Some((path.display().to_string(), tasks.len()));
    }
    // After the rescue file: both count, and names are checked against what either says.
    let listed = listed(executed, &flow, &mut report)?;
    listed.iter().for_each(|t| is_executed[t.index()] = true);
    // Whoever lists tasks lists all of them: a parent left out is a slip. DAGMan's own word is believed, with a warning.
    if let Listed::Names(names) = &listed
        && let Some((task, parent)) = flow.open_parent(names.iter().copied(), &is_executed)
    {
        return Err(not_closed(&flow, task, parent));
    }
    let executed = flow.dag().tasks().filter(|t| is_executed[t.index()]);
    if let Some((task, parent)) = flow.open_parent(executed, &is_executed) {
        let (task, parent) = (flow.shown(task), flow.shown(parent));
        report.warning(
            source.place(),
            format!("'{task}' is done, but its parent '{parent}' is not"),
            format!(
                "'{parent}' is still to be executed, and nobody waits for '{task}': as in DAGMan"
            ),
        );
    }
    out.warnings(&report);
    let whole = flow.dag().len();
    let count = is_executed.iter().filter(|&&e| e).count();
    if let Some((path, tasks)) = &announced {
        out.remark(&format!(
            "{path}: {tasks} of {whole} tasks are done (--no-rescue leaves this file out)"
        ));
    }
    if count == whole && count > 0 {
        out.remark("every task is executed: nothing is left");
    }
    Ok(Whole {
        source,
        format,
        flow,
        is_executed,
        rescue: announced.map(|(path, _)| path),
        report,
    })
}

/// The same as [`read_rest`], with the text that was read.
pub(crate) fn open_rest(
    input: &cli::Input,
    executed: &cli::Executed,
    out: &Output,
) -> Result<(Source, Read), Failure> {
    let Whole {
        source,
        format,
        flow,
        is_executed,
        rescue,
        report,
    } = open_whole(input, executed, out)?;
    let whole = flow.dag().len();
    let count = is_executed.iter().filter(|&&e| e).count();
    let needed = flow.still_needed(&is_executed);
    let flow = match count {
        0 => flow,
        _ => (flow.rest(&is_executed)).map_err(|e| Failure::usage(e.to_string(), ""))?,
    };
    let read = Read {
        name: plain(source.name()).into_owned(),
        format,
        flow,
        timed: None,
        done: Done {
            executed: count,
            whole,
            needed,
            rescue,
        },
        report,
    };
    Ok((source, read))
}

fn load_rescue(path: &Path, flow: &Flow, report: &mut Report) -> Option<Vec<TaskId>> {
    if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
        let place = Place {
            file: path.display().to_string(),
            ..Place::default()
        };
        let help = "DAGMan did not finish writing it: remove it, or leave it out with --no-rescue";
        report.error(place, "this rescue file is empty", help);
        return None;
    }
    let source = Source::load_named_by_file(path, &ReadLimits::default(), report)?;
    rescued(&source, flow, report)
}

/// What `--executed` says.
enum Listed {
    /// Names: whoever lists them lists all.
    Names(Vec<TaskId>),
    /// A rescue file: DAGMan's word counts.
    Rescued(Vec<TaskId>),
}

impl Listed {
    fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        let (Listed::Names(tasks) | Listed::Rescued(tasks)) = self;
        tasks.iter().copied()
    }
}

/// The tasks of `--executed`: names with commas, @FILE with one a line, or @FILE with a rescue file.
fn listed(executed: &cli::Executed, flow: &Flow, report: &mut Report) -> Result<Listed, Failure> {
    let Some(path) = executed.executed.strip_prefix('@') else {
        let names = executed.executed.split(',');
        return find_all(names, flow).map(Listed::Names);
    };
    // A list of nothing is a list: a run that has just begun.
    if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
        return Ok(Listed::Names(Vec::new()));
    }
    let mut trouble = Report::default();
    let source = Source::load(Path::new(path), &ReadLimits::default(), &mut trouble);
    let source = source.ok_or(Failure::Input(trouble))?;
    let is_list = || (source.text().lines()).all(|l| l.is_empty() || flow.find(l.trim()).is_some());
    // Tasks may be called as a rescue file's lines begin: then their names are meant.
    if is_rescue(source.text()) && !is_list() {
        let tasks = rescued(&source, flow, report);
        return match tasks {
            Some(tasks) => Ok(Listed::Rescued(tasks)),
            None => Err(Failure::Input(std::mem::take(report))),
        };
    }
    find_all(source.text().lines(), flow).map(Listed::Names)
}

fn find_all<'a>(names: impl Iterator<Item = &'a str>, flow: &Flow) -> Result<Vec<TaskId>, Failure> {
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| called::meant(flow, "--executed", name)?.ok_or_else(|| unknown(name, flow)))
        .collect()
}

fn unknown(name: &str, flow: &Flow) -> Failure {
    let names = flow.dag().tasks().map(|t| flow.name(t));
    let help = match closest(name, names) {
        Some(near) => format!("did you mean '{}'? names are case-sensitive", plain(near)),
        None => {
            "give names or labels, which are case-sensitive; one with a comma in it goes into a file: --executed @FILE"
                .to_owned()
        }
    };
    let name = plain(name);
    let message = format!("--executed names '{name}', which is no task of the input");
    Failure::usage(message, help)
}

fn not_closed(flow: &Flow, task: TaskId, parent: TaskId) -> Failure {
    let (task, parent) = (flow.shown(task), flow.shown(parent));
    Failure::usage(
        format!("'{task}' is said to be executed, but its parent '{parent}' is not"),
        "list every executed task: a set of executed tasks contains all parents of its tasks",
    )
}
