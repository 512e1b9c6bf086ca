//! `cairn submit`: a workflow handed to an engine, in the order of its plan; again goes on where it stopped.

mod settings;
mod slurm;
mod space;

pub(crate) use self::settings::Settings;
use self::settings::name;
use self::space::Shelved;
use super::lookout::Lookout;
use super::run::disk::Part;
use super::runnable;
use crate::cli::{self, Policy, Wanted};
use crate::failure::Failure;
use crate::output::{Output, write_file};
use crate::plural::counted;
use crate::screen;
use crate::spare;
use crate::states;
use cairn_dag::{Flow, TaskId, plain};
use cairn_submit::{
    Engine, Handover, HandoverError, Made, NO_PACKAGE, NO_SERVER, OtherWorkflow, Swaps,
    TASK_FAILED, files, taken_up, unsaid,
};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// What every answer says of a hand-over.
fn told(which: cli::Engine, handover: &Handover, folder: &Path, submitted: bool) -> Value {
    let unsaid = unsaid(engine(which), handover).into_iter();
    let unsaid: Value = unsaid
        .map(|(what, many)| (what, Value::from(many)))
        .collect();
    json!({
        "engine": name(which), "tasks": handover.tasks.len(), "folder": folder.display().to_string(),
        "submitted": submitted, "not_told": unsaid,
    })
}

fn engine(engine: cli::Engine) -> Engine {
    match engine {
        cli::Engine::Slurm => Engine::Slurm,
        cli::Engine::Hyperqueue => Engine::HyperQueue,
        cli::Engine::Htcondor => Engine::HtCondor,
        cli::Engine::Pegasus => Engine::Pegasus,
        cli::Engine::Dask => Engine::Dask,
        cli::Engine::Airflow => Engine::Airflow,
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let template = settings.template.as_ref();
    let whole = runnable::open(&flags.input, flags.no_rescue, &flags.times, template, out)?;
    out.new_warnings(&whole.problems, &whole.report);
    let (flow, jobs) = (whole.flow, whole.jobs);
    let here = std::env::current_dir().map_err(|e| Failure::writing("this folder", &e))?;
    let folder = here.join(&settings.folder);
    if let Some(workers) = flags.slurm.crew {
        return slurm::submit_crew(settings, workers, &here, &folder, out);
    }
    let mut is_executed = whole.is_executed;
    // Only Slurm is followed, and only there can a submission be taken up again.
    let is_followed = flags.engine == cli::Engine::Slurm && !flags.dry_run;
    let before = match is_followed {
        true => slurm::before(&folder)?,
        false => None,
    };
    if flags.slurm.cancel && before.is_none() {
        let folder = screen::path(&folder);
        let text = format!("nothing was submitted with {folder}: there is nothing to end\n");
        return out.done(&json!({ "cancelled": 0 }), &text);
    }
    let to = To::new(settings, &folder)?;
    let is_new = before.is_none();
    let taken_up = before.map(|names| taken_up(&flow, &names, &mut is_executed));
    let taken_up = taken_up.transpose();
    let taken_up = taken_up.map_err(|why| not_this_one(&folder, &why))?;
    let files = (settings.disk.as_ref().filter(|_| !flags.slurm.cancel)).map(|caps| {
        let part = Part {
            flow: &flow,
            wanted: None,
            safety: flags.safety,
        };
        let jobs = (&jobs, whole.format.names_files_here());
        Shelved::new(caps, part, jobs, (&is_executed, is_new), &here, out)
    });
    let files = files.transpose()?;
    let handed = |order: &[TaskId]| {
        let handover = Handover::new(whole.source.name(), &here, &jobs, &is_executed, order);
        handover.map(|handover| as_asked(handover, flags))
    };
    let order = match taken_up {
        Some(order) => order,
        None => {
            // Whatever the order, it is refused for the same reasons: told before the plan, which may take a minute.
            let trial = handed(flow.dag().topological_order()).map_err(|e| unfit(&e))?;
            if !matches!(to, To::Slurm { .. }) {
                made(settings, &trial, &folder)?;
            }
            planned(settings, &flow, out)
        }
    };
    let handover = handed(&order).map_err(|e| unfit(&e))?;
    remark_unsaid(flags.engine, &handover, out);
    match to {
        To::Folder => write(settings, &handover, &folder, out),
        To::Call(call) => hand_over(settings, call, &handover, &folder, out),
        To::Slurm { longest } => {
            let left = order.into_iter().filter(|t| !is_executed[t.index()]);
            let files = files.map(|files| (files, left.collect()));
            slurm::submit(settings, &handover, longest, files, &folder, out)
        }
    }
}

/// Where the workflow goes.
enum To {
    /// Into files, and no further.
    Folder,
    Call(Call),
    /// To jobs that are followed, so many in an array at the most.
    Slurm {
        longest: usize,
    },
}

impl To {
    /// What is not there to take it is told before the plan, which may take a minute.
    fn new(settings: &Settings, folder: &Path) -> Result<To, Failure> {
        let flags = &settings.flags;
        if flags.dry_run {
            return Ok(To::Folder);
        }
        if let Some(call) = callable(flags.engine, folder)? {
            return Ok(To::Call(call));
        }
        let longest = slurm::longest_array()?;
        Ok(To::Slurm { longest })
    }
}

/// With what the flags say of priorities and jobs.
fn as_asked(mut handover: Handover, flags: &cli::Submit) -> Handover {
    // HyperQueue is quicker with few levels of priority, and levels may only join what the policy holds for equal.
    handover.swaps = match flags.policy {
        Wanted::Given(Policy::Ic) => Swaps::SameNumber,
        // Orders that say of two tasks that are alike which goes first.
        Wanted::Given(Policy::Fifo | Policy::Lifo) => Swaps::None,
        Wanted::Given(_) | Wanted::Auto => Swaps::Alike,
    };
    handover.options.clone_from(&flags.slurm.sbatch);
    handover.is_nice = flags.slurm.nice;
    handover
}

/// A workflow, or a folder, that an engine cannot be given.
fn unfit(error: &HandoverError) -> Failure {
    let cure = match error {
        HandoverError::Apart(_) => {
            "keep to DAGMan for that workflow: `cairn prio` writes priorities into its own file"
        }
        HandoverError::Path(_) => "rename it",
        HandoverError::Unspeakable(_) => "give another folder with --state, or -o for --dry-run",
    };
    Failure::of(error, cure)
}

/// The order that is wanted, parents first; says whose it is.
fn planned(settings: &Settings, flow: &Arc<Flow>, out: &Output) -> Vec<TaskId> {
    let (flags, workers) = (&settings.flags, settings.workers.clone());
    let state = states::of_file(&flags.input.file).ok();
    let lookout = Lookout::new(flow, flags.policy, workers, &flags.times, state);
    let (order, about) = lookout.now(out);
    out.remark(&format!("order: {}", about.words()));
    order
}

/// A folder holds the submission of another workflow.
fn not_this_one(folder: &Path, why: &OtherWorkflow) -> Failure {
    let folder = screen::path(folder);
    Failure::usage(
        format!("{folder} holds the submission of another workflow: {why}"),
        "give this one a folder of its own with --state",
    )
}

/// Says what the tasks ask for and the engine is not told.
fn remark_unsaid(which: cli::Engine, handover: &Handover, out: &Output) {
    let unsaid = unsaid(engine(which), handover);
    let parts: Vec<String> = (unsaid.iter())
        .map(|(what, many)| format!("`{what}` of {}", counted(*many, "task")))
        .collect();
    if let Some((last, others)) = parts.split_last() {
        let parts = match others {
            [] => last.clone(),
            others => format!("{} and {last}", others.join(", ")),
        };
        let which = name(which);
        out.remark(&format!("{which} is not told {parts}: see to it there"));
    }
}

/// The files that would be written: none of them is one that was read.
fn made(settings: &Settings, handover: &Handover, folder: &Path) -> Result<Vec<Made>, Failure> {
    let flags = &settings.flags;
    let made = files(engine(flags.engine), handover, folder).map_err(|e| unfit(&e))?;
    // All before the first: a workflow.yml in the folder may be the one that was read.
    for file in &made {
        let cure = "give another folder with --state, or -o for --dry-run";
        spare::none_of(&[&flags.input.file], &folder.join(&file.path), cure)?;
    }
    Ok(made)
}

/// Writes what would be submitted.
fn write(
    settings: &Settings,
    handover: &Handover,
    folder: &Path,
    out: &Output,
) -> Result<(), Failure> {
    let which = settings.flags.engine;
    let made = made(settings, handover, folder)?;
    for file in &made {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|e| Failure::writing(&screen::path(parent), &e))?;
        write_file(&path, |to| to.write_all(file.text.as_bytes()))?;
    }
    let mut value = told(which, handover, folder, false);
    value["files"] = made.iter().map(|f| f.path.as_str()).collect();
    let tasks = counted(handover.tasks.len(), "task");
    let files = counted(made.len(), "file");
    let (which, next, folder) = (name(which), next(which, folder), screen::path(folder));
    let text = format!("{tasks} for {which}: {files} in {folder}; {next}\n");
    out.done(&value, &text)
}

/// What people do with the files.
fn next(which: cli::Engine, folder: &Path) -> String {
    let at = |file: &str| screen::path(&folder.join(file));
    match which {
        cli::Engine::Slurm => format!("sh {} submits them", at("submit.sh")),
        cli::Engine::Hyperqueue => format!(
            "hq job submit-file {}, or python3 {}",
            at("job.toml"),
            at("submit.py")
        ),
        cli::Engine::Htcondor => format!("condor_submit_dag {}", at("workflow.dag")),
        cli::Engine::Pegasus => format!("pegasus-plan … {}", at("workflow.yml")),
        cli::Engine::Dask => format!("python3 {} runs them", at("workflow.py")),
        cli::Engine::Airflow => format!("put {} into the folder of dags", at("workflow.py")),
    }
}

/// A program and what it is given.
type Call = (&'static str, Vec<PathBuf>);

/// The call that hands the files to an engine. None for Slurm, which is followed instead, and for Pegasus and Airflow, which need
/// more than is known here.
fn command(which: cli::Engine, folder: &Path) -> Option<Call> {
    let file = |name: &str| folder.join(name);
    match which {
        cli::Engine::Hyperqueue if is_there("hq") => Some((
            "hq",
            vec!["job".into(), "submit-file".into(), file("job.toml")],
        )),
        cli::Engine::Hyperqueue => Some(("python3", vec![file("submit.py")])),
        cli::Engine::Htcondor => Some(("condor_submit_dag", vec![file("workflow.dag")])),
        cli::Engine::Dask => Some(("python3", vec![file("workflow.py")])),
        cli::Engine::Slurm | cli::Engine::Pegasus | cli::Engine::Airflow => None,
    }
}

const START_SERVER: &str = "start a server (hq server start), or name its folder in HQ_SERVER_DIR";

/// What comes of a program that is given nothing to read.
fn ended(program: &str, arguments: &[impl AsRef<OsStr>]) -> io::Result<std::process::Output> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).output()
}

fn is_there(program: &str) -> bool {
    ended(program, &["--version"]).is_ok()
}

/// Whether HyperQueue's server answers. Asked before, since its program ends alike whatever the reason.
fn is_answered() -> bool {
    ended("hq", &["server", "info"]).is_ok_and(|a| a.status.success())
}

/// The call that will hand the files over, where it can be made: a folder that was handed over is not handed over again, and the
/// program must be there. Asked before the plan, which may take a minute.
fn callable(which: cli::Engine, folder: &Path) -> Result<Option<Call>, Failure> {
    let Some((program, arguments)) = command(which, folder) else {
        return Ok(None);
    };
    if mark(folder).exists() {
        return Err(handed_over(which, folder));
    }
    if !is_there(program) {
        let engine = name(which);
        return Err(Failure::usage(
            format!("the program '{program}' is not found: is {engine} installed here?"),
            "install it, or write the files with --dry-run -o FOLDER",
        ));
    }
    if program == "hq" && !is_answered() {
        return Err(Failure::usage(
            "nothing was submitted: no server is reached by hq",
            START_SERVER,
        ));
    }
    Ok(Some((program, arguments)))
}

/// The file that says that the folder was handed over.
fn mark(folder: &Path) -> PathBuf {
    folder.join("submitted")
}

fn handed_over(which: cli::Engine, folder: &Path) -> Failure {
    let engine = name(which);
    let (mark, folder) = (screen::path(&mark(folder)), screen::path(folder));
    Failure::usage(
        format!("{folder} was handed to {engine} before"),
        format!(
            "ask {engine} how it stands; to submit it once more, remove {mark} or give another folder with --state"
        ),
    )
}

/// Writes the files and calls the engine.
fn hand_over(
    settings: &Settings,
    (program, arguments): Call,
    handover: &Handover,
    folder: &Path,
    out: &Output,
) -> Result<(), Failure> {
    let which = settings.flags.engine;
    let mark = mark(folder);
    let mut silent = *out;
    (silent.quiet, silent.json) = (true, false);
    // Before the call: whoever is cut off does not know whether it came through. Before the files, which an engine may be reading
    // by now, and only where there is none: two who planned at the same time both saw that the folder was free.
    let made = std::fs::create_dir_all(folder).and_then(|()| std::fs::File::create_new(&mark));
    let unwritten = |e: &io::Error| Failure::writing(&screen::path(&mark), e);
    let mut made = made.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => handed_over(which, folder),
        _ => unwritten(&e),
    })?;
    let marked = made.write_all(b"handed over\n").map_err(|e| unwritten(&e));
    let written = marked.and_then(|()| write(settings, handover, folder, &silent));
    written.inspect_err(|_| {
        // Nothing was called: the folder may be tried again. What cannot be removed is told by the next one.
        let _ = std::fs::remove_file(&mark);
    })?;
    let said = match call(which, program, &arguments, &mark)? {
        Called::Taken(said) => said,
        Called::TasksFailed(said) => return failed(which, handover, folder, &said, out),
    };
    let mut value = told(which, handover, folder, true);
    value["said"] = json!(said);
    let tasks = counted(handover.tasks.len(), "task");
    let text = format!("{tasks} handed to {}: {}\n", name(which), plain(&said));
    out.done(&value, &text)
}

/// An engine ran all that it could, and tasks failed: what it said of them, a line each.
fn failed(
    which: cli::Engine,
    handover: &Handover,
    folder: &Path,
    said: &str,
    out: &Output,
) -> Result<(), Failure> {
    said.lines().for_each(|line| out.complain(&plain(line)));
    let mut value = told(which, handover, folder, true);
    value["failed"] = json!(true);
    value["said"] = json!(said);
    let (tasks, which) = (counted(handover.tasks.len(), "task"), name(which));
    let text = format!("{tasks} handed to {which}: not all of them were executed\n");
    out.done(&value, &text)?;
    Err(Failure::No)
}

/// What came of a call, with what the engine said.
enum Called {
    Taken(String),
    /// The program ran the workflow by itself, and says which tasks failed.
    TasksFailed(String),
}

/// Calls the engine. The mark goes where it is sure that nothing came through.
fn call(
    which: cli::Engine,
    program: &str,
    arguments: &[PathBuf],
    mark: &Path,
) -> Result<Called, Failure> {
    let ended = ended(program, arguments);
    let ended =
        ended.map_err(|e| Failure::usage(format!("{program} cannot be started: {e}"), ""))?;
    if ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
        return Ok(Called::Taken(said));
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    // The last line: before it Python prints its whole stack.
    let why = stderr.trim().lines().last().unwrap_or("").to_owned();
    let cure = match (which, ended.status.code()) {
        (cli::Engine::Hyperqueue, Some(NO_SERVER)) => Some(START_SERVER),
        (cli::Engine::Hyperqueue | cli::Engine::Dask, Some(NO_PACKAGE)) => Some(
            "do that in the environment whose python3 comes first in PATH; the same command submits then",
        ),
        _ => None,
    };
    if let Some(cure) = cure {
        let _ = std::fs::remove_file(mark);
        let why = format!("nothing was submitted: {}", plain(&why));
        return Err(Failure::usage(why, cure));
    }
    if which == cli::Engine::Dask && ended.status.code() == Some(TASK_FAILED) {
        return Ok(Called::TasksFailed(stderr.trim().to_owned()));
    }
    let (engine, mark) = (name(which), screen::path(mark));
    Err(Failure::usage(
        format!("{program} ended with {}: {}", ended.status, plain(&why)),
        format!("see whether {engine} has the job; if not, remove {mark} and submit again"),
    ))
}
