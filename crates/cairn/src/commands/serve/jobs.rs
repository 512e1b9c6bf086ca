//! Jobs of a workflow as a server hands them out. Runs nothing.

use crate::commands::run::fingerprint;
use cairn_dag::{Flow, TaskId};
use cairn_engine::{PoolId, Task};
use cairn_formats::{Jobs, Run};
use cairn_serve::http::types::Command;
use cairn_serve::http::{Job, Tasks};
use cairn_serve::run::pool_names;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A workflow whose tasks are served.
pub(super) struct Served {
    jobs: Jobs,
    /// Known once the first worker asks.
    programs: OnceLock<Option<Vec<String>>>,
}

/// Workers are told so many programs at the most.
// Sent to every worker that joins: a judgement of how long such a list may be.
const MOST_PROGRAMS: usize = 1000;

impl Served {
    pub(super) fn new(jobs: Jobs) -> Served {
        let programs = OnceLock::new();
        Served { jobs, programs }
    }

    /// By task: equal as long as the same is run.
    pub(super) fn fingerprints(&self) -> Vec<u64> {
        let tasks = self.flow().dag().tasks();
        tasks.map(|task| fingerprint(&self.jobs, task)).collect()
    }

    /// Where the files of a task are, if not where the server is.
    pub(super) fn directory(&self, task: TaskId) -> Option<PathBuf> {
        self.jobs.job(task).directory.map(Cow::into_owned)
    }

    fn find_programs(&self) -> Option<Vec<String>> {
        let mut programs = BTreeSet::new();
        for task in self.flow().dag().tasks() {
            programs.extend(command(&self.jobs, task, 1).program().map(str::to_owned));
            if programs.len() > MOST_PROGRAMS {
                return None;
            }
        }
        Some(programs.into_iter().collect())
    }

    fn flow(&self) -> &Flow {
        self.jobs.flow()
    }

    fn known(&self, task: Task) -> Option<TaskId> {
        task.frozen()
            .filter(|t| t.index() < self.flow().dag().len())
    }
}

/// Words, or a line for the shell, or neither.
pub(super) fn line(run: Run<'_>) -> (Vec<String>, Option<String>) {
    match run {
        Run::Words(words) => (words.into_iter().map(Cow::into_owned).collect(), None),
        Run::Shell(line) => (Vec::new(), Some(line.into_owned())),
        Run::Nothing => (Vec::new(), None),
    }
}

fn command(jobs: &Jobs, task: TaskId, attempt: u32) -> Command {
    // Attempts count from 1, and jobs count retries.
    let job = jobs.attempt(task, attempt.saturating_sub(1));
    let path = |path: Option<Cow<'_, Path>>| path.map(|p| p.to_string_lossy().into_owned());
    let (words, shell) = line(job.run);
    let own = |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
    Command {
        words,
        shell,
        environment: job.environment.into_iter().map(own).collect(),
        directory: path(job.directory),
        stdin: path(job.stdin),
        stdout: path(job.stdout),
        stderr: path(job.stderr),
    }
}

impl Tasks for Served {
    fn count(&self) -> Option<u64> {
        Some(self.flow().dag().len() as u64)
    }

    fn name(&self, task: Task) -> Option<String> {
        self.known(task)
            .map(|task| self.flow().name(task).to_owned())
    }

    fn find(&self, name: &str) -> Option<Task> {
        self.flow().find(name).map(Task::from)
    }

    fn job(&self, task: Task, attempt: u32) -> Option<Job> {
        let task = self.known(task)?;
        let flow = self.flow();
        Some(Job {
            command: command(&self.jobs, task, attempt),
            inputs: flow.inputs(task).map(|file| file.path.to_owned()).collect(),
            outputs: flow
                .outputs(task)
                .map(|file| file.path.to_owned())
                .collect(),
        })
    }

    fn makes_files(&self, task: Task) -> bool {
        let outputs = self.known(task).map(|task| self.flow().outputs(task));
        outputs.is_some_and(|mut outputs| outputs.next().is_some())
    }

    fn pool(&self, pool: PoolId) -> Option<String> {
        let names = pool_names(self.flow());
        names.get(pool.0 as usize).map(|&name| name.to_owned())
    }

    fn programs(&self) -> Option<Vec<String>> {
        (self.programs.get_or_init(|| self.find_programs())).clone()
    }
}
