//! `cairn work`: takes tasks from a server and runs them; and the small program that limits a task before it begins.

use super::caps::{self, Bytes, time};
use super::remote::caller;
use crate::cli;
use crate::failure::{Failure, INTERRUPTED_CODE};
use crate::limits;
use crate::output::Output;
use cairn_dag::plain;
use cairn_serve::client::{Caller, is_loopback};
use cairn_serve::work::{Confines, Note, Sandbox, Settings as Worker, Where, WorkError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whom to work for, and how, checked.
pub(crate) struct Settings {
    caller: Caller,
    worker: Worker,
}

impl Settings {
    pub(crate) fn new(flags: cli::Work) -> Result<Settings, Failure> {
        let caller = caller(&flags.server)?;
        let is_near = is_loopback(caller.url());
        let place = match (&flags.shared, &flags.dir) {
            (Some(shared), _) => Where::Shared(existing(shared)?),
            (None, None) if is_near => Where::AsServer,
            (None, _) => Where::Own,
        };
        let all = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let optional =
            |flag: &str, seconds: Option<f64>| seconds.map(|s| time(flag, s)).transpose();
        // 0 is a time here, as for the grace: leave, or end tasks, at once.
        let idle = match flags.idle_timeout {
            Some(0.0) => Some(Duration::ZERO),
            seconds => optional("--idle-timeout", seconds)?,
        };
        let grace = match flags.grace {
            0.0 => Duration::ZERO,
            seconds => time("--grace", seconds)?,
        };
        let memory = (flags.memory.as_deref()).map(|text| caps::size("--memory", text));
        let folder = flags.dir.clone().map_or_else(own_folder, Ok)?;
        let disk = flags.disk.as_deref().map(|text| -> Result<u64, Failure> {
            // The folder may be made later: what is free is the same at whatever of it is there.
            let near = folder.ancestors().find(|f| f.exists());
            let cap = Bytes::parse("--disk", text)?;
            Ok(cap.in_folder(near.unwrap_or(Path::new("/")))?.bytes)
        });
        let disk: Option<u64> = disk.transpose()?;
        if disk.is_some() && matches!(place, Where::Shared(_) | Where::AsServer) {
            return Err(Failure::usage(
                "--disk is for tasks in folders of their own, and these run in the folder of the workflow",
                "give the worker a folder with --dir, or the server a cap: cairn serve --disk",
            ));
        }
        Ok(Settings {
            worker: Worker {
                name: flags.name,
                slots: flags.jobs.unwrap_or_else(all),
                memory: memory.transpose()?,
                disk,
                tags: flags.label,
                lifetime: optional("--lifetime", flags.lifetime)?,
                folder,
                place,
                allow: (!flags.allow.is_empty()).then_some(flags.allow),
                // Where neither is said the worker decides, by where the server is.
                sandbox: (flags.sandbox || flags.no_sandbox).then_some(flags.sandbox),
                idle,
                grace,
                confiner: confiner()?,
                confine_words,
            },
            caller,
        })
    }
}

fn existing(folder: &Path) -> Result<PathBuf, Failure> {
    folder.canonicalize().map_err(|e| {
        Failure::usage(
            format!("--shared {}: {e}", plain(&folder.display().to_string())),
            "name the folder of the workflow as this machine sees it",
        )
    })
}

/// Where workers keep what is theirs.
fn own_folder() -> Result<PathBuf, Failure> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    // The specification has relative ones ignored.
    let state = state.filter(|s| s.is_absolute()).or_else(home);
    let none = || {
        Failure::usage(
            "there is no home folder",
            "name a folder for the worker with --dir",
        )
    };
    Ok(state.ok_or_else(none)?.join("cairn/work"))
}

/// This very program, as the one that limits a task.
fn confiner() -> Result<Vec<String>, Failure> {
    let own = std::env::current_exe().map_err(|e| Failure::writing("this program's path", &e))?;
    let own = own.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage("the path of this program is no text", "move it elsewhere")
    })?;
    Ok(vec![own, "confine".to_owned()])
}

/// What the program that limits a task is given, up to the task's own program.
fn confine_words(confines: &Confines) -> Option<Vec<String>> {
    let mut words = Vec::new();
    if let Some(bytes) = confines.memory {
        words.extend(["--memory".to_owned(), bytes.to_string()]);
    }
    let folders = confines.write.iter().filter(|_| confines.sandbox);
    let paths = (confines
        .environment
        .iter()
        .map(|path| ("--environment", path)))
    .chain(folders.map(|path| ("--sandbox", path)))
    .chain(confines.stdin.iter().map(|path| ("--stdin", path)))
    .chain(confines.stdout.iter().map(|path| ("--stdout", path)))
    .chain(confines.stderr.iter().map(|path| ("--stderr", path)));
    for (flag, path) in paths {
        words.extend([flag.to_owned(), path.to_str()?.to_owned()]);
    }
    // What follows is the task's: none of its words is a flag of ours.
    words.push("--".to_owned());
    Some(words)
}

/// What [`confine_words`] has written.
fn confines(flags: &cli::Confine) -> Confines {
    Confines {
        memory: flags.memory,
        sandbox: !flags.sandbox.is_empty(),
        write: flags.sandbox.clone(),
        environment: flags.environment.clone(),
        stdin: flags.stdin.clone(),
        stdout: flags.stdout.clone(),
        stderr: flags.stderr.clone(),
    }
}

pub(crate) fn run(settings: Settings, out: &Output) -> Result<(), Failure> {
    let tell = |note: Note| {
        let text = match note {
            Note::Sandboxed(Sandbox::Whole) => return,
            Note::Sandboxed(Sandbox::Partial) => return out.complain(
                "warning: this kernel is older than Linux 6.12 and knows only a part of the sandbox: tasks may signal your processes, and more",
            ),
            Note::Sandboxed(Sandbox::Missing) => return out.complain(
                "warning: this kernel has no Landlock: tasks run without a sandbox, and may read and write what you may",
            ),
            Note::Joined { name, .. } => format!("working as {name}"),
            Note::Away(why) => format!("no answer, trying on: {why}"),
            Note::Task(task, what) => format!("{}: {what}", plain(&task)),
            Note::Remark(what) => what,
        };
        out.remark(&plain(&text));
    };
    let summary =
        cairn_serve::work::work(settings.caller, settings.worker, &limits::interrupts, &tell);
    let summary = summary.map_err(|error| {
        let help = match &error {
            WorkError::Call(_) | WorkError::Processes(_) => "",
            WorkError::Folder { .. } => "name another folder for the worker with --dir",
        };
        Failure::of(&error, help)
    })?;
    let (done, failed, back) = (summary.executed, summary.failed, summary.given_back);
    out.done(
        &json!({ "executed": done, "failed": failed, "given_back": back, "interrupted": summary.was_interrupted }),
        &format!("executed {done}, failed {failed}, given back {back}\n"),
    )?;
    match summary.was_interrupted {
        true => Err(Failure::Code(INTERRUPTED_CODE)),
        false => Ok(()),
    }
}

/// Becomes the task's program.
pub(crate) fn confine(flags: &cli::Confine) -> Result<(), Failure> {
    let confines = confines(flags);
    let (program, arguments) = flags.command.split_first().expect("clap wants one");
    let error = cairn_serve::work::confine(&confines, program, arguments);
    Output::say(&format!("{}: {error}", plain(&program.to_string_lossy())));
    // As shells have it: not found, or cannot be executed.
    Err(Failure::Code(match error.kind() {
        std::io::ErrorKind::NotFound => 127,
        _ => 126,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        flags: cli::Confine,
    }

    /// Whatever a worker asks for is what the program that limits the task reads, and the task's own words stay its own.
    #[test]
    fn what_confines_a_task_is_read_as_it_was_written() {
        let file = |name: &str| Some(PathBuf::from(name));
        for bits in 0..64u32 {
            let has = |bit: u32| bits >> bit & 1 == 1;
            let asked = Confines {
                memory: has(0).then_some(1 << 40),
                sandbox: has(1),
                write: file("/a folder").into_iter().filter(|_| has(1)).collect(),
                environment: file("/e").filter(|_| has(2)),
                stdin: file("in").filter(|_| has(3)),
                stdout: file("out put").filter(|_| has(4)),
                stderr: file("err").filter(|_| has(5)),
            };
            let mut words = vec!["confine".to_owned()];
            words.extend(confine_words(&asked).unwrap());
            words.extend(["true", "--memory", "3"].map(str::to_owned));
            let read = Only::try_parse_from(words).unwrap().flags;
            assert_eq!(confines(&read), asked);
            assert_eq!(read.command, ["true", "--memory", "3"]);
        }
    }
}
