//! Jobs of a workflow as programs to be started. Starts nothing.

use super::report::Told;
use cairn_dag::{Flow, TaskId};
use cairn_engine::Task;
use cairn_formats::{Job, Jobs, Run};
use cairn_serve::run::{FlowPrograms, TaskPrograms};
use cairn_serve::spawn::{Line, Program};
use std::borrow::Cow;
use std::path::PathBuf;

/// What the tasks of a workflow run.
pub(super) struct Programs {
    jobs: Jobs,
}

impl Programs {
    pub(super) fn new(jobs: Jobs) -> Programs {
        Programs { jobs }
    }

    pub(super) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    fn flow(&self) -> &Flow {
        self.jobs.flow()
    }
}

/// What is run, for people.
pub(super) fn shown(run: Run<'_>) -> String {
    match run {
        Run::Words(words) => words.join(" "),
        Run::Shell(line) => line.into_owned(),
        Run::Nothing => String::new(),
    }
}

/// What is run, to be started; `None` if that is nothing.
pub(super) fn line(run: Run<'_>) -> Option<Line> {
    Some(match run {
        Run::Words(words) => Line::Words(words.into_iter().map(Cow::into_owned).collect()),
        Run::Shell(line) => Line::Shell(line.into_owned()),
        Run::Nothing => return None,
    })
}

/// Runs and news speak of tasks of the flow alone.
fn id(task: Task) -> TaskId {
    task.frozen().expect("a flow has few tasks")
}

impl Told for Programs {
    fn shown(&self, task: Task) -> Cow<'_, str> {
        self.flow().shown(id(task))
    }

    fn command(&self, task: Task) -> String {
        shown(self.jobs.job(id(task)).run)
    }
}

impl TaskPrograms for Programs {
    fn program(&self, task: Task, attempt: u32, log: PathBuf) -> Option<Program> {
        let Job {
            run,
            environment,
            inherits_environment,
            directory,
            stdin,
            stdout,
            stderr,
            ..
        // Attempts count from 1, and jobs count retries.
        } = self.jobs.attempt(id(task), attempt.saturating_sub(1));
        let line = line(run)?;
        Some(Program {
            environment: (environment.into_iter())
                .map(|(name, value)| (name.into_owned(), Some(value.into_owned())))
                .collect(),
            is_bare: !inherits_environment,
            directory: directory.map(|d| d.into_owned()),
            stdin: stdin.map(|p| p.into_owned()),
            stdout: stdout.map(|p| p.into_owned()),
            stderr: stderr.map(|p| p.into_owned()),
            ..Program::new(line, log)
        })
    }

    fn name(&self, task: Task) -> Cow<'_, str> {
        self.flow().name(id(task)).into()
    }
}

impl FlowPrograms for Programs {
    fn directory(&self, task: TaskId) -> Option<PathBuf> {
        self.jobs.job(task).directory.map(|d| d.into_owned())
    }

    fn fingerprint(&self, task: TaskId) -> u64 {
        fingerprint(&self.jobs, task)
    }
}

/// A number of what a task runs: equal as long as that is the same.
pub(crate) fn fingerprint(jobs: &Jobs, task: TaskId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = jobs.fingerprint(task);
    // Half of it is enough to see a change, and is what stores keep.
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
