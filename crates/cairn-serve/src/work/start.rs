//! How a worker begins with a task: what it may run, where, with which files and limits.

use super::carry::Trouble;
use super::environment;
use super::memory::BEYOND;
use super::talk::{fetch_beside, key_of};
use super::{Confines, Fate, InHand, KEPT, MARK, WorkError, Worker};
use crate::beneath::{Beneath, steps};
use crate::http::types::{Attempt, Command, Lease};
use crate::spawn::{Line, Program};
use cairn_engine::{Cause, Outcome};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The longest time limit, in seconds.
// Thirty years: a `Duration` of what is negative or much larger panics.
const FOREVER: f64 = 1e9;

impl Worker<'_> {
    pub(super) fn begin(&mut self, lease: Lease) {
        self.is_away = false;
        let attempt = key_of(&lease);
        let program = lease.command.program();
        // Before anything of the lease is touched: a server may ask for what it likes.
        if let (Some(program), Some(allowed)) = (program, &self.programs)
            && !allowed.iter().any(|a| a == program)
        {
            let what = format!("'{program}' is not among the programs that this worker runs");
            return self.refuse(lease, &what);
        }
        // Decided when it begins: a worker that joins again meanwhile may have another ground, and this one stays where it is.
        let (folder, is_own) = match &self.shared {
            Some(folder) => (folder.clone(), false),
            None => match self.talk.place.task(attempt) {
                Ok(folder) => (folder, true),
                Err(e) => return self.has_no_room(lease, e),
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
        if has_inputs && let Err(error) = fetch_beside(&self.talk, &lease, folder.clone()) {
            self.talk.place.forget(attempt);
            let why = error.to_string();
            return self.cannot_go_on(lease, &why, error.into());
        }
        let job = InHand {
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
        // As shells have it for what is there and may not be executed.
        let outcome = Outcome::Failed {
            exit: 126,
            cause: Cause::Start,
        };
        self.talk.finished(key_of(&lease), outcome, Vec::new());
    }

    /// This worker has no room.
    pub(super) fn has_no_room(&mut self, lease: Lease, error: std::io::Error) {
        let why = format!("this worker's disk: {error}");
        let folder = self.settings.folder.clone();
        self.cannot_go_on(lease, &why, WorkError::Folder { folder, error });
    }

    /// Something is missing here that every task needs: this one goes to somebody else, and the worker asks for no more.
    fn cannot_go_on(&mut self, lease: Lease, why: &str, trouble: WorkError) {
        self.note(&lease, format!("given back: {why}"));
        self.summary.given_back += 1;
        (self.talk).finished(key_of(&lease), Outcome::GivenBack, Vec::new());
        // The first tells most: what comes later may only follow from it.
        self.trouble.get_or_insert(trouble);
    }

    pub(super) fn fetched(&mut self, attempt: Attempt, fetched: Result<(), Trouble>) {
        let Some(&key) = self.keys.get(&attempt) else {
            return;
        };
        if self.jobs[&key].fate == Fate::TooLarge {
            return self.fail_to_start(key, "its inputs are too large for this worker's disk");
        }
        // It may have been stopped while its inputs came.
        if self.jobs[&key].fate != Fate::Own {
            return self.drop_job(key);
        }
        match fetched {
            Ok(()) => self.start(key),
            Err(Trouble::Here(error)) => {
                if let Some(job) = self.jobs.remove(&key) {
                    self.keys.remove(&attempt);
                    self.talk.place.forget(attempt);
                    self.has_no_room(job.lease, error);
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
        let is_strict = job.is_own || self.is_sandboxed;
        let program = match self.program(job, is_strict) {
            Ok(program) => program,
            Err(what) => return self.fail_to_start(key, &what),
        };
        let Some(program) = program else {
            return self.settle(key, Outcome::Executed);
        };
        let job = self.jobs.get_mut(&key).expect("it was there");
        if let Some(directory) = &job.lease.command.directory
            && is_strict
            // Step by step and through no link: a path of the lease, or a link that an input brought, could lead elsewhere.
            && let Err(e) = Beneath::open(&job.folder).and_then(|f| f.make_folder(directory))
        {
            return self.fail_to_start(key, &format!("no folder for it: {e}"));
        }
        let limit = job
            .lease
            .limit_seconds
            .map(|limit| Duration::from_secs_f64(limit.clamp(0.0, FOREVER)));
        job.deadline = limit.map(|limit| Instant::now() + limit);
        match self.processes.start(key, &program) {
            Ok(()) => self.talk.watch_log(key_of(&job.lease), job.log.clone()),
            Err(e) => {
                let what = format!("it cannot be started: {e}");
                self.fail_to_start(key, &what);
            }
        }
    }

    /// What to start: nothing at all is a task, too. Else why it is not started.
    fn program(&self, job: &InHand, is_strict: bool) -> Result<Option<Program>, String> {
        let Command {
            words,
            shell,
            directory,
            stdin,
            stdout,
            stderr,
            ..
        } = &job.lease.command;
        let inside = |path: &Option<String>| match path {
            Some(path) if is_strict && steps(path).is_none() => {
                Err("it names a path outside of its folder".to_owned())
            }
            path => Ok(path.as_ref().map(PathBuf::from)),
        };
        let line = match (shell, words.is_empty()) {
            (Some(line), _) => Line::Shell(line.clone()),
            (None, false) => Line::Words(words.clone()),
            (None, true) => return Ok(None),
        };
        let directory = inside(directory)?;
        let program = Program {
            line,
            environment: Vec::new(),
            // What the worker's owner has in its environment is nobody else's.
            is_bare: true,
            directory: Some(directory.map_or(job.folder.clone(), |d| job.folder.join(d))),
            stdin: inside(stdin)?,
            stdout: inside(stdout)?,
            stderr: inside(stderr)?,
            log: job.log.clone(),
        };
        let variables = self.variables(job)?;
        let program = match self.is_sandboxed || job.lease.memory.is_some() {
            true => self.confined(program, job, &variables)?,
            false => Program {
                environment: given(variables),
                ..program
            },
        };
        let log = || Some(job.log.clone());
        Ok(Some(Program {
            stdout: program.stdout.or_else(log),
            stderr: program.stderr.or_else(log),
            ..program
        }))
    }

    /// The variables of a task: a few of ours, and those of its lease.
    fn variables(&self, job: &InHand) -> Result<Vec<(String, String)>, String> {
        let lease = &job.lease;
        let mut variables = kept();
        if job.is_own {
            let folder = job
                .folder
                .to_str()
                .ok_or("its folder has a name that is no text")?;
            for name in ["HOME", "TMPDIR"] {
                variables.push((name.to_owned(), folder.to_owned()));
            }
        }
        // Of several of one name the last counts: what follows is stronger than what stands above.
        variables.push(("CAIRN_TASK".to_owned(), lease.task.clone()));
        let number = format!("{}.{}", lease.epoch, lease.attempt);
        variables.push(("CAIRN_ATTEMPT".to_owned(), number));
        for (name, value) in &lease.command.environment {
            if let Some(fault) = environment::fault(name, value) {
                return Err(format!("its environment {fault}"));
            }
            if self.settings.allow.is_some() && environment::is_loader(name) {
                return Err(format!(
                    "its environment sets {name}, which can have an allowed program run code that is not allowed"
                ));
            }
            variables.push((name.clone(), value.clone()));
        }
        // Last, so that no lease replaces it: by the mark those are found and ended that outlive the worker.
        variables.push(self.mark());
        Ok(variables)
    }

    fn mark(&self) -> (String, String) {
        (MARK.to_owned(), self.talk.place.id().to_owned())
    }

    /// The same through the program that sets limits. That one has nothing of the lease in its own environment, and opens
    /// the files of the task itself, once the limits hold.
    fn confined(
        &self,
        program: Program,
        job: &InHand,
        variables: &[(String, String)],
    ) -> Result<Program, String> {
        let file = self.talk.place.environment(key_of(&job.lease));
        let written = environment::write(&file, variables);
        written.map_err(|e| format!("its environment cannot be written: {e}"))?;
        let confines = Confines {
            memory: job.lease.memory.map(|bytes| bytes.saturating_mul(BEYOND)),
            sandbox: self.is_sandboxed,
            write: (self.is_sandboxed.then(|| job.folder.clone()))
                .into_iter()
                .collect(),
            environment: Some(file),
            stdin: program.stdin.clone(),
            stdout: program.stdout.clone(),
            stderr: program.stderr.clone(),
        };
        let flags = (self.settings.confine_words)(&confines);
        let mut words = self.settings.confiner.clone();
        words.extend(flags.ok_or("a path of this worker is no text")?);
        match program.line {
            Line::Words(rest) => words.extend(rest),
            Line::Shell(line) => words.extend(["/bin/sh".to_owned(), "-c".to_owned(), line]),
        }
        // The mark here too: a worker may be killed before the program that sets limits has become the task.
        let mut own = kept();
        own.push(self.mark());
        Ok(Program {
            line: Line::Words(words),
            environment: given(own),
            stdin: None,
            stdout: None,
            stderr: None,
            ..program
        })
    }
}

/// Variables that tasks get from the worker.
fn kept() -> Vec<(String, String)> {
    let kept = |&name: &&str| Some((name.to_owned(), std::env::var(name).ok()?));
    KEPT.iter().filter_map(kept).collect()
}

fn given(variables: Vec<(String, String)>) -> Vec<(String, Option<String>)> {
    let given = |(name, value)| (name, Some(value));
    variables.into_iter().map(given).collect()
}
