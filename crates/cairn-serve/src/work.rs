//! A worker: takes tasks from a server, runs each in a process group of its own, returns what came of it. Decides nothing about
//! tasks. It lives through restarts of its server, finishes while nobody answers, and returns later.

mod benchmark;
mod carry;
mod confine;
mod disk;
mod environment;
mod finish;
mod memory;
mod place;
mod start;
mod talk;

use confine::probe;
pub use confine::{Confines, Sandbox, confine};

use self::place::{Place, Spooled};
use self::talk::{Mouth, Talk, Word};
use crate::client::{CallError, Caller, is_loopback};
use crate::http::types::{Attempt, Join, Joined, Lease, Reason, SPEEDS};
use crate::near;
use crate::run::SURVIVORS_GRACE;
use crate::spawn::{Processes, apart, beside, end_survivors};
use cairn_engine::Outcome;
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The variable by which processes of a worker are known.
const MARK: &str = "CAIRN_WORKER";
/// Signals are noticed within this time.
// Nobody wakes the loop for them. Far longer, and Ctrl-C seems not to be heard; far shorter, and a worker that only waits keeps a
// processor awake. A tenth of a second is what people take for at once.
const PULSE: Duration = Duration::from_millis(100);
/// So long a worker that ends waits for receipts once its grace is over, and when it was told twice.
// A judgement: an upload that is nearly through is worth some seconds, and who was told twice is in a hurry. Nothing is lost by
// leaving too early: what has no receipt is in the spool.
const HURRY: Duration = Duration::from_secs(15);
const GREAT_HURRY: Duration = Duration::from_secs(3);
/// Variables that tasks get from the worker's environment.
// Who and where it is, and its language: without them common programs fail or print otherwise. Anything else may be a secret.
const KEPT: [&str; 8] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TZ", "USER",
];

/// Where tasks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// All in this folder, which the server sees too: nothing is carried.
    Shared(PathBuf),
    /// In the server's folder, where it is shown to be here; else each in its own.
    AsServer,
    /// Each in a folder of its own: declared inputs are fetched, declared outputs uploaded.
    Own,
}

impl Where {
    /// The folder that the server sees too, if tasks run in one: the server's sign must be in it.
    fn shared(&self, joined: &Joined) -> Option<PathBuf> {
        match self {
            Where::Shared(folder) => Some(folder.clone()),
            Where::AsServer => {
                let folder = joined.folder.as_ref().map(PathBuf::from)?;
                let is_signed = |sign: &String| near::is_signed(&folder, &joined.run, sign);
                let is_it = joined.sign.as_ref().is_some_and(is_signed);
                is_it.then_some(folder)
            }
            Where::Own => None,
        }
    }
}

/// What a server that was just joined is to this worker.
#[derive(Debug)]
struct Ground {
    /// The folder in which tasks run, where that is the server's, too.
    shared: Option<PathBuf>,
    /// Whether the server is on this machine.
    is_near: bool,
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
    /// Bytes that the folders of its tasks may take together; `None`: nobody counts.
    pub disk: Option<u64>,
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
    /// Whether tasks are kept from files that are not theirs; `None`: unless the server is shown to be on this machine.
    pub sandbox: Option<bool>,
    /// It leaves when it had nothing to do for so long.
    pub idle: Option<Duration>,
    /// What runs when it is to end has so long to finish; the rest is given back.
    pub grace: Duration,
    /// The program that limits a task before it begins, and its first arguments.
    pub confiner: Vec<String>,
    /// Its arguments behind those, up to the task's program; `None` where a path is no text.
    pub confine_words: fn(&Confines) -> Option<Vec<String>>,
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
    /// Tasks are kept from other files as far as the kernel can.
    Sandboxed(Sandbox),
    /// Something about a task, by name.
    Task(String, String),
    /// Anything else.
    Remark(String),
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
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
struct InHand {
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
    /// Its files are too large for this worker.
    TooLarge,
    /// It takes more memory than it may.
    Greedy,
}

struct Worker<'s> {
    settings: Settings,
    talk: Arc<Talk>,
    processes: Processes,
    jobs: HashMap<u64, InHand>,
    keys: HashMap<Attempt, u64>,
    next_key: u64,
    shared: Option<PathBuf>,
    is_sandboxed: bool,
    /// Whether some server has known it already.
    was_joined: bool,
    programs: Option<Vec<String>>,
    results: HashMap<Attempt, (Outcome, Spooled)>,
    /// Those that no thread took to the server, each with how much of its log was sent.
    undelivered: Vec<(Attempt, u64)>,
    summary: WorkDone,
    /// Why it cannot go on.
    trouble: Option<WorkError>,
    is_away: bool,
    is_finished: bool,
    /// When the folders are to be measured next.
    measure_at: Option<Instant>,
    /// When the tasks' memory was looked at last.
    weighed: Option<Instant>,
    /// Why there is nothing to do, as it was last said.
    idle_for: Option<Reason>,
    name: String,
    tell: &'s (dyn Fn(Note) + Sync),
}

/// Works until all is done, until it had nothing to do for too long, or until it is told to end. `interrupts` says how often
/// it was told: once, and it finishes what it has; twice, and it ends all of it.
///
/// # Errors
/// If the server refuses it, or this machine does.
pub fn work(
    caller: Caller,
    settings: Settings,
    interrupts: &(dyn Fn() -> u32 + Sync),
    tell: &(dyn Fn(Note) + Sync),
) -> Result<WorkDone, WorkError> {
    let folder = settings.folder.clone();
    let unusable = |error| WorkError::Folder { folder, error };
    let place = Place::take(&settings.folder).map_err(unusable.clone())?;
    // Before folders are tidied: what a killed worker left running still writes there. After the place is taken: its id is the
    // mark, and as long as another worker holds it those processes are that one's.
    end_survivors(MARK, place.id(), SURVIVORS_GRACE)?;
    let spooled = whole_results(&place).map_err(unusable.clone())?;
    for (path, error) in place.tidy(&spooled).map_err(unusable)? {
        let what = format!("{}: cannot be removed: {error}", path.display());
        tell(Note::Remark(what));
    }
    let join = introduction(&settings, &place, &caller);
    let name = join.name.clone();
    let (words, inbox) = channel();
    let (mut reader, waker) = std::io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(std::io::Error::from)?;
    // Whoever wakes us must never wait: where the pipe is full we are awake.
    rustix::io::ioctl_fionbio(&waker, true).map_err(std::io::Error::from)?;
    let mut processes = Processes::new()?;
    processes.also_watch(&reader)?;
    let slots = settings.slots as usize;
    let talk = Arc::new(Talk::new(
        caller,
        place,
        slots,
        settings.place.clone(),
        Mouth::new(words, waker),
    ));
    for part in [Talk::live, Talk::send_logs] {
        let talk = talk.clone();
        let ended = talk.clone();
        beside(move || part(&talk)).inspect_err(|_| ended.end())?;
    }
    let exchanging = talk.clone();
    // Last: where one of the others is missing, no server has heard of this worker, and nobody gives it up for lost.
    beside(move || exchanging.exchange(&join, spooled)).inspect_err(|_| talk.end())?;
    let mut worker = Worker {
        settings,
        talk: talk.clone(),
        processes,
        jobs: HashMap::new(),
        keys: HashMap::new(),
        next_key: 0,
        shared: None,
        // Until a server has shown that it is on this machine.
        is_sandboxed: true,
        was_joined: false,
        programs: None,
        results: HashMap::new(),
        undelivered: Vec::new(),
        summary: WorkDone::default(),
        trouble: None,
        is_away: false,
        is_finished: false,
        measure_at: None,
        weighed: None,
        idle_for: None,
        name,
        tell,
    };
    let ended = apart(|| worker.run(inbox, &mut reader, interrupts));
    // Before the goodbye: else a heartbeat could come behind it, be told that nobody knows this worker, and have it join again.
    talk.end();
    let known = talk.client().worker();
    if let Some(known) = known {
        // Who cannot be told finds out by silence.
        let _ = talk.caller.leave(known.0);
    }
    match worker.trouble {
        Some(trouble) => ended.and(Err(trouble)),
        None => ended.map(|()| worker.summary),
    }
}

/// Who comes, and what it can do.
fn introduction(settings: &Settings, place: &Place, caller: &Caller) -> Join {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let usual = || format!("{}-{}", host.trim(), place.id());
    Join {
        name: settings.name.clone().unwrap_or_else(usual),
        cpus: settings.slots,
        memory: settings.memory,
        tags: settings.tags.clone(),
        seconds_left: settings.lifetime.map(|life| life.as_secs_f64()),
        carries: settings.place == Where::Own,
        disk: settings.disk,
        speed: Some(benchmark::speed().clamp(*SPEEDS.start(), *SPEEDS.end())),
        // Asked only where it can be so: another machine need not know paths of this one.
        near: (place.secret().path()).filter(|_| is_loopback(caller.url())),
    }
}

/// Results of an earlier worker in this place. One whose files are gone is none: the server gives the task to somebody else.
fn whole_results(place: &Place) -> std::io::Result<Vec<Spooled>> {
    let mut spooled = place.results()?;
    spooled.retain(|old| {
        let is_whole = old.is_whole();
        if !is_whole {
            place.forget_of(&old.run, old.attempt());
        }
        is_whole
    });
    Ok(spooled)
}

impl Worker<'_> {
    fn run(
        &mut self,
        inbox: Receiver<Word>,
        waker: &mut std::io::PipeReader,
        interrupts: &(dyn Fn() -> u32 + Sync),
    ) -> Result<(), WorkError> {
        let begun = Instant::now();
        let mut idle_since = Instant::now();
        let mut told: Option<Instant> = None;
        let mut ended = Vec::new();
        loop {
            let deadlines = self.jobs.values().filter_map(|job| job.deadline);
            let deadline = deadlines.chain(self.measure_at).min();
            let until = deadline.map_or(PULSE, |at| {
                at.saturating_duration_since(Instant::now()).min(PULSE)
            });
            self.processes.wait(until, &mut ended)?;
            // Only wakes us: what there is to know is in the inbox.
            let _ = waker.read(&mut [0; 4096]);
            // Ends before words: what ended before it is told to stop has ended by itself.
            for end in ended.drain(..) {
                self.ended(end);
            }
            for word in inbox.try_iter() {
                self.hear(word)?;
            }
            self.deliver_again();
            self.end_late();
            self.end_large();
            self.end_greedy();
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
                // All that was wanted is settled: what still runs counts for nothing.
                self.processes.kill_all();
                return Ok(());
            }
            let is_broken = self.trouble.is_some();
            if (interrupts > 0 || is_up || is_bored || is_broken) && told.is_none() {
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
                let most = match interrupts > 1 {
                    true => GREAT_HURRY,
                    false => self.settings.grace + HURRY,
                };
                if since.elapsed() >= most {
                    self.processes.kill_all();
                    return Ok(());
                }
            }
        }
    }

    fn hear(&mut self, word: Word) -> Result<(), WorkError> {
        match word {
            Word::Joined(joined, ground) => self.joined(joined, ground),
            Word::Remark(what) => (self.tell)(Note::Remark(what)),
            Word::Begin(leases) => leases.into_iter().for_each(|lease| self.begin(lease)),
            Word::Idle(why) => self.idle(why),
            Word::Stop(attempts) => self.stop(&attempts),
            Word::Away(why) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    (self.tell)(Note::Away(why));
                }
            }
            Word::Finished => self.is_finished = true,
            Word::Ended(error) => return Err(error.into()),
            Word::Fetched(attempt, fetched) => self.fetched(attempt, fetched),
            Word::Delivered(attempt, delivered) => self.delivered(attempt, delivered),
        }
        Ok(())
    }

    fn joined(&mut self, joined: Joined, ground: Ground) {
        self.is_away = false;
        self.programs = self.settings.allow.clone().or(joined.programs);
        (self.tell)(Note::Joined {
            worker: joined.worker,
            name: self.name.clone(),
        });
        // Anew with every join: the server may have come back on another machine, behind the same tunnel.
        self.is_sandboxed = self.settings.sandbox.unwrap_or(!ground.is_near);
        self.shared = ground.shared;
        if std::mem::replace(&mut self.was_joined, true) {
            return;
        }
        if self.settings.place == Where::AsServer && self.shared.is_none() {
            let what = "the server's folder is not here, whatever its address says: each task runs in a folder of its own";
            (self.tell)(Note::Remark(what.to_owned()));
        }
        if self.is_sandboxed {
            (self.tell)(Note::Sandboxed(probe()));
        }
    }

    fn note(&self, lease: &Lease, what: impl Into<String>) {
        (self.tell)(Note::Task(lease.task.clone(), what.into()));
    }
}
