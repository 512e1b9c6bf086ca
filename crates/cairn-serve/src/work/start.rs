//! How a worker begins with a task: what it may run, where, with which files and limits.

use super::carry::Trouble;
use super::talk::{fetch_beside, key_of};
use super::{Fate, Job, KEPT, MARK, WorkError, Worker};
use crate::beneath::steps;
use crate::http::types::{Attempt, Command, Lease};
use crate::spawn::{Line, Program};
use cairn_engine::{Cause, Outcome};
use std::path::PathBuf;
use std::time::{Duration, Instant};

impl Worker<'_> {
    pub(super) fn begin(&mut self, lease: Lease) {
        self.is_away = false;
        let attempt = key_of(&lease);
        let program = lease.command.program();
        if let (Some(program), Some(allowed)) = (program, &self.programs)
            && !allowed.iter().any(|a| a == program)
        {
            let what = format!("'{program}' is not among the programs that this worker runs");
            return self.refuse(lease, &what);
        }
        let (folder, is_own) = match &self.shared {
            Some(folder) => (folder.clone(), false),
            None => match self.talk.place.task(attempt) {
                Ok(folder) => (folder, true),
                Err(e) => return self.cannot_go_on(lease, e),
            },
        };
        if is_own && let Some(why) = self.lacks_room(&lease) {
            self.talk.place.forget(attempt);
            self.note(&lease, format!("given back: {why}"));
            self.summary.given_back += 1;
            return (self.talk).finished(attempt, Outcome::GivenBack, Vec::new());
        }
        let has_inputs = is_own && !lease.inputs.is_empty();
        let log = self.talk.place.log(attempt);
        let key = self.next_key;
        self.next_key += 1;
        if has_inputs {
            fetch_beside(&self.talk, &lease, folder.clone());
        }
        let job = Job {
            lease,
            folder,
            is_own,
            log,
            deadline: None,
            fate: Fate::Own,
        };
        self.jobs.insert(key, job);
        self.keys.insert(attempt, key);
        if !has_inputs {
            self.start(key);
        }
    }

    pub(super) fn refuse(&mut self, lease: Lease, what: &str) {
        self.note(&lease, what);
        self.summary.failed += 1;
        let outcome = Outcome::Failed {
            exit: 126,
            cause: Cause::Start,
        };
        self.talk.finished(key_of(&lease), outcome, Vec::new());
    }

    /// This worker has no room: the task goes to somebody else, and the worker asks for no more.
    pub(super) fn cannot_go_on(&mut self, lease: Lease, error: std::io::Error) {
        self.note(&lease, format!("given back: this worker's disk: {error}"));
        self.summary.given_back += 1;
        (self.talk).finished(key_of(&lease), Outcome::GivenBack, Vec::new());
        let folder = self.settings.folder.clone();
        (self.trouble).get_or_insert(WorkError::Folder { folder, error });
    }

    pub(super) fn fetched(&mut self, attempt: Attempt, fetched: Result<(), Trouble>) {
        let Some(&key) = self.keys.get(&attempt) else {
            return;
        };
        if self.jobs[&key].fate == Fate::TooLarge {
            return self.fail_to_start(key, "its inputs are too large for this worker's disk");
        }
        if self.jobs[&key].fate != Fate::Own {
            return self.drop_job(key);
        }
        match fetched {
            Ok(()) => self.start(key),
            Err(Trouble::Here(error)) => {
                if let Some(job) = self.jobs.remove(&key) {
                    self.keys.remove(&attempt);
                    self.talk.place.forget(attempt);
                    self.cannot_go_on(job.lease, error);
                }
            }
            Err(trouble) => self.fail_to_start(key, &format!("its inputs did not come: {trouble}")),
        }
    }

    fn fail_to_start(&mut self, key: u64, what: &str) {
        if let Some(job) = self.jobs.remove(&key) {
            self.keys.remove(&key_of(&job.lease));
            self.talk.place.forget(key_of(&job.lease));
            self.refuse(job.lease, what);
        }
    }

    pub(super) fn start(&mut self, key: u64) {
        let job = &self.jobs[&key];
        let is_strict = job.is_own || self.settings.sandbox;
        let Some(program) = self.program(job, is_strict) else {
            return self.fail_to_start(key, "it names a path outside of its folder");
        };
        let Some(program) = program else {
            return self.settle(key, Outcome::Executed);
        };
        let job = self.jobs.get_mut(&key).expect("it was there");
        if let Some(directory) = &program.directory
            && is_strict
            && let Err(e) = std::fs::create_dir_all(directory)
        {
            return self.fail_to_start(key, &format!("no folder for it: {e}"));
        }
        let limit = job
            .lease
            .limit_seconds
            .map(|limit| Duration::from_secs_f64(limit.clamp(0.0, 1e9)));
        job.deadline = limit.map(|limit| Instant::now() + limit);
        match self.processes.start(key, &program) {
            Ok(()) => self.talk.watch_log(key_of(&job.lease), job.log.clone()),
            Err(e) => {
                let what = format!("it cannot be started: {e}");
                self.fail_to_start(key, &what);
            }
        }
    }

    /// What to start: nothing at all is a task, too. `None` for one that reaches where it must not.
    fn program(&self, job: &Job, is_strict: bool) -> Option<Option<Program>> {
        let Command {
            words,
            shell,
            environment,
            directory,
            stdin,
            stdout,
            stderr,
        } = &job.lease.command;
        let inside = |path: &Option<String>| match path {
            Some(path) if is_strict && steps(path).is_none() => Err(()),
            path => Ok(path.as_ref().map(PathBuf::from)),
        };
        let line = match (shell, words.is_empty()) {
            (Some(line), _) => Line::Shell(line.clone()),
            (None, false) => Line::Words(words.clone()),
            (None, true) => return Some(None),
        };
        let line = self.confined(line, job);
        let directory = inside(directory).ok()?;
        let (stdin, stdout, stderr) = (
            inside(stdin).ok()?,
            inside(stdout).ok()?,
            inside(stderr).ok()?,
        );
        let lease = &job.lease;
        let mut variables: Vec<(String, Option<String>)> = (KEPT.iter())
            .filter_map(|&name| Some((name.to_owned(), Some(std::env::var(name).ok()?))))
            .collect();
        if job.is_own {
            let folder = job.folder.to_str()?.to_owned();
            variables.push(("HOME".to_owned(), Some(folder.clone())));
            variables.push(("TMPDIR".to_owned(), Some(folder)));
        }
        variables.push(("CAIRN_TASK".to_owned(), Some(lease.task.clone())));
        let number = format!("{}.{}", lease.epoch, lease.attempt);
        variables.push(("CAIRN_ATTEMPT".to_owned(), Some(number)));
        variables.extend(
            environment
                .iter()
                .map(|(name, value)| (name.clone(), Some(value.clone()))),
        );
        variables.push((MARK.to_owned(), Some(self.talk.place.id().to_owned())));
        Some(Some(Program {
            line,
            environment: variables,
            is_bare: true,
            directory: Some(directory.map_or(job.folder.clone(), |d| job.folder.join(d))),
            stdin,
            stdout: Some(stdout.unwrap_or_else(|| job.log.clone())),
            stderr: Some(stderr.unwrap_or_else(|| job.log.clone())),
            log: job.log.clone(),
        }))
    }

    /// The same through the program that sets limits, where there are some.
    fn confined(&self, line: Line, job: &Job) -> Line {
        if !self.settings.sandbox && job.lease.memory.is_none() {
            return line;
        }
        let mut words = self.settings.confiner.clone();
        if let Some(bytes) = job.lease.memory {
            words.extend(["--memory".to_owned(), bytes.to_string()]);
        }
        if self.settings.sandbox {
            words.extend(["--sandbox".to_owned(), job.folder.display().to_string()]);
        }
        words.push("--".to_owned());
        match line {
            Line::Words(rest) => words.extend(rest),
            Line::Shell(line) => words.extend(["/bin/sh".to_owned(), "-c".to_owned(), line]),
        }
        Line::Words(words)
    }
}
