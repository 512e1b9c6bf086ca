//! A worker: takes tasks from a server, runs each in a process group of its own, returns what came of it. Decides nothing about
//! tasks. It lives through restarts of its server, finishes while nobody answers, and returns later.

mod carry;
mod confine;
mod place;
mod talk;

pub use confine::{Limits, Sandbox, confine, probe};

use self::carry::Trouble;
use self::place::{Place, Spooled};
use self::talk::{Mouth, Talk, Word, held, key_of, to_return};
use crate::beneath::steps;
use crate::client::{CallError, Caller};
use crate::http::types::{Attempt, Command, Join, Joined, Lease, Made};
use crate::spawn::{Ended, Exit, Line, Processes, Program, end_survivors};
use cairn_engine::{Cause, Outcome};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The variable by which processes of a worker are known.
const MARK: &str = "CAIRN_WORKER";
/// Signals are noticed within this time.
const PULSE: Duration = Duration::from_millis(100);
/// Variables that tasks get from the worker's environment.
const KEPT: [&str; 8] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TZ", "USER",
];

/// Where tasks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// All in this folder, which the server sees too: nothing is carried.
    Shared(PathBuf),
    /// In the server's folder, where the server tells it, since it is on this machine; else each in its own.
    AsServer,
    /// Each in a folder of its own: declared inputs are fetched, declared outputs uploaded.
    Own,
}

/// How a worker is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it calls itself; else the machine's name and a number.
    pub name: Option<String>,
    /// How many tasks of one processor it does at once.
    pub slots: u32,
    /// Bytes of memory for all tasks together; `None`: nobody counts.
    pub memory: Option<u64>,
    /// Words by which tasks find it.
    pub tags: Vec<String>,
    /// How long it stays.
    pub lifetime: Option<Duration>,
    /// The folder for tasks, logs and results.
    pub folder: PathBuf,
    /// Where tasks run.
    pub place: Where,
    /// Programs that it runs; `None`: those of the dag.
    pub allow: Option<Vec<String>>,
    /// Whether tasks are kept from files that are not theirs.
    pub sandbox: bool,
    /// It leaves when it had nothing to do for so long.
    pub idle: Option<Duration>,
    /// What runs when it is to end has so long to finish; the rest is given back.
    pub grace: Duration,
    /// The program that limits a task before it begins, and its first arguments.
    pub confiner: Vec<String>,
}

/// What a worker tells while it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The server knows it.
    Joined {
        /// As this number.
        worker: u32,
        /// Under this name.
        name: String,
    },
    /// Nobody answers; it goes on trying.
    Away(String),
    /// Something about a task, by name.
    Task(String, String),
    /// Anything else.
    Remark(String),
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tasks it executed.
    pub executed: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that it gave back.
    pub given_back: u64,
    /// Whether somebody ended it.
    pub was_interrupted: bool,
}

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The server says no.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Its folder cannot be used.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// Which one.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The machine gives no processes.
    #[error("cannot watch processes: {0}")]
    Processes(#[from] std::io::Error),
}

/// A task under way.
struct Job {
    lease: Lease,
    folder: PathBuf,
    /// Whether its files are carried.
    is_own: bool,
    log: PathBuf,
    /// When it is ended.
    deadline: Option<Instant>,
    fate: Fate,
}

/// What a task's end will mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// What its exit says.
    Own,
    /// Its time was up.
    Late,
    /// It no longer counts.
    Stopped,
    /// It is given back.
    Returned,
}

struct Worker<'s> {
    settings: Settings,
    talk: Arc<Talk>,
    processes: Processes,
    jobs: HashMap<u64, Job>,
    keys: HashMap<Attempt, u64>,
    next_key: u64,
    shared: Option<PathBuf>,
    programs: Option<Vec<String>>,
    results: HashMap<Attempt, (Outcome, Spooled)>,
    summary: Summary,
    is_away: bool,
    is_finished: bool,
    name: String,
    said: &'s dyn Fn(Note),
}

/// Works until all is done, until it had nothing to do for too long, or until it is told to end. `interrupts` says how often
/// it was told: once, and it finishes what it has; twice, and it ends all of it.
///
/// # Errors
/// If the server refuses it, or this machine does.
pub fn work(
    caller: Caller,
    settings: Settings,
    interrupts: &dyn Fn() -> u32,
    said: &dyn Fn(Note),
) -> Result<Summary, WorkError> {
    let folder = settings.folder.clone();
    let unusable = |error| WorkError::Folder { folder, error };
    let place = Place::take(&settings.folder).map_err(unusable.clone())?;
    end_survivors(MARK, place.id(), Duration::from_secs(2))?;
    let mut spooled = place.results().map_err(unusable.clone())?;
    // A result whose files are gone is none: the server gives the task to somebody else.
    spooled.retain(|old| {
        let is_there = |path: &String| (old.folder.as_ref()).is_some_and(|f| f.join(path).exists());
        let is_whole = old.outputs.iter().all(is_there);
        if !is_whole {
            place.forget(old.attempt());
        }
        is_whole
    });
    place.tidy(&spooled).map_err(unusable)?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = settings.name.clone();
    let name = name.unwrap_or_else(|| format!("{}-{}", host.trim(), place.id()));
    let join = Join {
        name: name.clone(),
        cpus: settings.slots,
        memory: settings.memory,
        tags: settings.tags.clone(),
        seconds_left: settings.lifetime.map(|life| life.as_secs_f64()),
    };
    let (words, inbox) = channel();
    let (mut reader, waker) = std::io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(std::io::Error::from)?;
    rustix::io::ioctl_fionbio(&waker, true).map_err(std::io::Error::from)?;
    let mut processes = Processes::new()?;
    processes.also_watch(&reader)?;
    let slots = settings.slots as usize;
    let talk = Arc::new(Talk::new(
        caller,
        place,
        slots,
        &spooled,
        Mouth::new(words, waker),
    ));
    for part in [Talk::live, Talk::send_logs] {
        let talk = talk.clone();
        std::thread::spawn(move || part(&talk));
    }
    let exchanging = talk.clone();
    std::thread::spawn(move || exchanging.exchange(&join, &spooled));
    let mut worker = Worker {
        settings,
        talk: talk.clone(),
        processes,
        jobs: HashMap::new(),
        keys: HashMap::new(),
        next_key: 0,
        shared: None,
        programs: None,
        results: HashMap::new(),
        summary: Summary::default(),
        is_away: false,
        is_finished: false,
        name,
        said,
    };
    let ended = worker.run(&inbox, &mut reader, interrupts);
    talk.end();
    let known = talk.client().worker();
    if let Some(known) = known {
        // Who cannot be told finds out by silence.
        let _ = talk.caller.leave(known.0);
    }
    ended.map(|()| worker.summary)
}

impl Worker<'_> {
    fn run(
        &mut self,
        inbox: &Receiver<Word>,
        waker: &mut std::io::PipeReader,
        interrupts: &dyn Fn() -> u32,
    ) -> Result<(), WorkError> {
        let begun = Instant::now();
        let mut idle_since = Instant::now();
        let mut told: Option<Instant> = None;
        let mut ended = Vec::new();
        loop {
            let deadline = self.jobs.values().filter_map(|job| job.deadline).min();
            let until = deadline.map_or(PULSE, |at| {
                at.saturating_duration_since(Instant::now()).min(PULSE)
            });
            self.processes.wait(until, &mut ended)?;
            // Only wakes us: what there is to know is in the inbox.
            let _ = waker.read(&mut [0; 4096]);
            for end in ended.drain(..) {
                self.ended(end);
            }
            for word in inbox.try_iter() {
                self.hear(word)?;
            }
            self.end_late();
            let has_work = !self.jobs.is_empty() || !self.results.is_empty();
            if has_work {
                idle_since = Instant::now();
            }
            let is_idle = self.talk.client().is_idle() && !has_work;
            let interrupts = interrupts();
            let is_up = self
                .settings
                .lifetime
                .is_some_and(|life| begun.elapsed() >= life);
            let is_bored = is_idle
                && self
                    .settings
                    .idle
                    .is_some_and(|idle| idle_since.elapsed() >= idle);
            if self.is_finished {
                self.processes.kill_all();
                return Ok(());
            }
            if (interrupts > 0 || is_up || is_bored) && told.is_none() {
                told = Some(Instant::now());
                self.summary.was_interrupted = interrupts > 0;
                self.talk.drain();
            }
            if let Some(since) = told {
                if is_idle {
                    return Ok(());
                }
                if since.elapsed() >= self.settings.grace || interrupts > 1 {
                    self.give_all_back(interrupts > 1);
                }
                // What nobody acknowledges stays in the folder, and is returned by the next worker there.
                let hurry = Duration::from_secs(if interrupts > 1 { 3 } else { 15 });
                let spent = if interrupts > 1 {
                    Duration::ZERO
                } else {
                    self.settings.grace
                };
                if since.elapsed() >= spent + hurry {
                    self.processes.kill_all();
                    return Ok(());
                }
            }
        }
    }

    fn hear(&mut self, word: Word) -> Result<(), WorkError> {
        match word {
            Word::Joined(joined) => self.joined(joined),
            Word::Begin(leases) => leases.into_iter().for_each(|lease| self.begin(lease)),
            Word::Stop(attempts) => self.stop(&attempts),
            Word::Away(why) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    (self.said)(Note::Away(why));
                }
            }
            Word::Finished => self.is_finished = true,
            Word::Ended(error) => return Err(error.into()),
            Word::Fetched(attempt, fetched) => self.fetched(attempt, fetched),
            Word::Delivered(attempt, delivered) => self.delivered(attempt, delivered),
        }
        Ok(())
    }

    fn joined(&mut self, joined: Joined) {
        self.is_away = false;
        self.shared = match &self.settings.place {
            Where::Shared(folder) => Some(folder.clone()),
            Where::AsServer => joined
                .folder
                .map(PathBuf::from)
                .filter(|folder| folder.is_dir()),
            Where::Own => None,
        };
        self.programs = self.settings.allow.clone().or(joined.programs);
        (self.said)(Note::Joined {
            worker: joined.worker,
            name: self.name.clone(),
        });
    }

    fn note(&self, lease: &Lease, what: impl Into<String>) {
        (self.said)(Note::Task(lease.task.clone(), what.into()));
    }

    // ---- Beginning -----------------------------------------------------------------------------------------------------

    fn begin(&mut self, lease: Lease) {
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
                Err(e) => return self.refuse(lease, &format!("no folder for it: {e}")),
            },
        };
        let has_inputs = is_own && !lease.inputs.is_empty();
        let log = self.talk.place.log(attempt);
        let key = self.next_key;
        self.next_key += 1;
        if has_inputs {
            talk::fetch_beside(&self.talk, &lease, folder.clone());
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

    fn refuse(&mut self, lease: Lease, what: &str) {
        self.note(&lease, what);
        self.summary.failed += 1;
        let outcome = Outcome::Failed {
            exit: 126,
            cause: Cause::Start,
        };
        self.talk.finished(key_of(&lease), outcome, Vec::new());
    }

    fn fetched(&mut self, attempt: Attempt, fetched: Result<(), Trouble>) {
        let Some(&key) = self.keys.get(&attempt) else {
            return;
        };
        if self.jobs[&key].fate != Fate::Own {
            return self.drop_job(key);
        }
        match fetched {
            Ok(()) => self.start(key),
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

    fn start(&mut self, key: u64) {
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

    // ---- Ending --------------------------------------------------------------------------------------------------------

    fn end_late(&mut self) {
        let now = Instant::now();
        for (&key, job) in &mut self.jobs {
            if job.fate == Fate::Own && job.deadline.is_some_and(|at| at <= now) {
                job.fate = Fate::Late;
                job.deadline = None;
                self.processes.end(key);
            }
        }
    }

    fn stop(&mut self, attempts: &[Attempt]) {
        let stale: Vec<_> = attempts.iter().map(|&a| held(a)).collect();
        let late = |job: &Job| {
            job.lease.limit_seconds.is_some() && job.deadline.is_some_and(|at| at <= Instant::now())
        };
        for attempt in attempts {
            if let Some(&key) = self.keys.get(attempt)
                && let Some(job) = self.jobs.get_mut(&key)
            {
                if late(job) {
                    continue; // we end it ourselves, and say why
                }
                job.fate = Fate::Stopped;
                self.processes.end(key);
            }
        }
        self.talk.client().stop(&stale);
    }

    fn give_all_back(&mut self, at_once: bool) {
        for (&key, job) in &mut self.jobs {
            if job.fate == Fate::Own {
                job.fate = Fate::Returned;
                self.processes.end(key);
            }
            if at_once {
                self.processes.kill(key);
            }
        }
    }

    fn drop_job(&mut self, key: u64) {
        if let Some(job) = self.jobs.remove(&key) {
            let attempt = key_of(&job.lease);
            self.keys.remove(&attempt);
            self.talk.unwatch_log(attempt);
            match job.fate {
                Fate::Returned => {
                    self.summary.given_back += 1;
                    self.talk.finished(attempt, Outcome::GivenBack, Vec::new());
                }
                _ => self.talk.place.forget(attempt),
            }
        }
    }

    fn ended(&mut self, end: Ended) {
        let Some(job) = self.jobs.get(&end.key) else {
            return;
        };
        let limited = job.lease.memory.is_some();
        let outcome = match (job.fate, end.exit) {
            (Fate::Stopped | Fate::Returned, _) => return self.drop_job(end.key),
            (Fate::Late, exit) => Outcome::Failed {
                exit: number(exit),
                cause: Cause::Time,
            },
            (Fate::Own, Exit::Code(0)) => match missing_output(job) {
                None => Outcome::Executed,
                Some(path) => {
                    self.note(
                        &job.lease,
                        format!("it ended well, but did not make '{path}'"),
                    );
                    Outcome::Failed {
                        exit: 0,
                        cause: Cause::Output,
                    }
                }
            },
            // The kernel ends what takes too much memory; a program that gets no more aborts, or says so as a shell does.
            (Fate::Own, Exit::Signal(9)) => Outcome::Failed {
                exit: 9,
                cause: Cause::Memory,
            },
            (Fate::Own, Exit::Signal(6 | 7 | 11) | Exit::Code(134 | 137 | 139)) if limited => {
                Outcome::Failed {
                    exit: number(end.exit),
                    cause: Cause::Memory,
                }
            }
            (Fate::Own, Exit::Signal(signal)) => Outcome::Failed {
                exit: signal,
                cause: Cause::Signal,
            },
            (Fate::Own, Exit::Code(exit)) => Outcome::Failed {
                exit,
                cause: Cause::Exit,
            },
        };
        self.settle(end.key, outcome);
    }

    /// A task has its outcome: it is kept here until the server has it.
    fn settle(&mut self, key: u64, outcome: Outcome) {
        let Some(job) = self.jobs.remove(&key) else {
            return;
        };
        let attempt = key_of(&job.lease);
        self.keys.remove(&attempt);
        match outcome {
            Outcome::Executed => self.summary.executed += 1,
            Outcome::Failed { exit, cause } => {
                self.summary.failed += 1;
                self.note(&job.lease, format!("failed ({} {exit})", cause.name()));
            }
            Outcome::GivenBack => (),
        }
        let (log, sent) = self.talk.unwatch_log(attempt).unwrap_or((job.log, 0));
        let has_log = std::fs::metadata(&log).is_ok_and(|meta| meta.len() > 0);
        let is_carried =
            job.is_own && outcome == Outcome::Executed && !job.lease.outputs.is_empty();
        if job.is_own
            && outcome == Outcome::Executed
            && job.lease.outputs.is_empty()
            && leaves_files(&job.folder)
        {
            self.note(
                &job.lease,
                "it made files that it does not declare as outputs: they go with its folder",
            );
        }
        let spooled = Spooled {
            back: to_return(attempt, outcome, Vec::new()),
            folder: is_carried.then_some(job.folder),
            outputs: if is_carried {
                job.lease.outputs
            } else {
                Vec::new()
            },
            log: has_log.then_some(log),
        };
        if let Err(e) = self.talk.place.keep(&spooled) {
            // The result still goes to the server; only a crash right now would lose it.
            (self.said)(Note::Remark(format!(
                "cannot keep results in the worker's folder: {e}"
            )));
        }
        match is_carried || has_log {
            true => {
                self.results.insert(attempt, (outcome, spooled.clone()));
                talk::deliver_beside(&self.talk, spooled, sent);
            }
            false => self.talk.finished(attempt, outcome, Vec::new()),
        }
    }

    fn delivered(&mut self, attempt: Attempt, delivered: Result<Vec<Made>, Trouble>) {
        let Some((outcome, spooled)) = self.results.remove(&attempt) else {
            return;
        };
        match delivered {
            Ok(made) => self.talk.finished(attempt, outcome, made),
            // Its log is lost, its result is not.
            Err(trouble) if spooled.folder.is_none() => {
                (self.said)(Note::Remark(format!("a log was not sent: {trouble}")));
                self.talk.finished(attempt, outcome, Vec::new());
            }
            Err(Trouble::Call(error)) if error.is_passing() => (), // it stays in the folder
            Err(trouble) => {
                (self.said)(Note::Remark(format!("outputs were not taken: {trouble}")));
                let outcome = Outcome::Failed {
                    exit: 0,
                    cause: Cause::Output,
                };
                self.talk.finished(attempt, outcome, Vec::new());
            }
        }
    }
}

fn number(exit: Exit) -> i32 {
    match exit {
        Exit::Code(number) | Exit::Signal(number) => number,
    }
}

/// A declared output that is not there.
fn missing_output(job: &Job) -> Option<&String> {
    let is_there = |path: &String| job.folder.join(path).symlink_metadata().is_ok();
    job.lease.outputs.iter().find(|path| !is_there(path))
}

fn leaves_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some())
}
