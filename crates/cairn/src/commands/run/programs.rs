//! Jobs of a workflow as programs to be started. Starts nothing.

use cairn_dag::TaskId;
use cairn_formats::{Job, Jobs, Run};
use cairn_serve::run::Work;
use cairn_serve::spawn::{Line, Program};
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

    /// The command for people.
    pub(super) fn shown(&self, task: TaskId) -> String {
        match self.jobs.job(task).run {
            Run::Words(words) => words.join(" "),
            Run::Shell(line) => line.into_owned(),
            Run::Nothing => String::new(),
        }
    }
}

impl Work for Programs {
    fn program(&self, task: TaskId, attempt: u32, log: PathBuf) -> Option<Program> {
        let Job {
            run,
            environment,
            inherits_environment,
            directory,
            stdin,
            stdout,
            stderr,
            ..
        } = self.jobs.attempt(task, attempt.saturating_sub(1));
        let line = match run {
            Run::Words(words) => Line::Words(words.into_iter().map(|w| w.into_owned()).collect()),
            Run::Shell(line) => Line::Shell(line.into_owned()),
            Run::Nothing => return None,
        };
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

    fn directory(&self, task: TaskId) -> Option<PathBuf> {
        self.jobs.job(task).directory.map(|d| d.into_owned())
    }

    fn fingerprint(&self, task: TaskId) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.jobs.fingerprint(task);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
