//! A worker's conversation with its server: one thread exchanges, one says that the worker lives, one sends logs. Knows no
//! processes.

use super::carry::{self, Trouble};
use super::place::{Place, Spooled};
mod returns;

use super::{Ground, Where};
use crate::client::{CallError, Caller};
use crate::http::types::{
    Attempt, Ended, Exchange, Exchanged, Heartbeat, Join, Joined, Lease, Made, Reason, Return,
    Worth,
};
use crate::mutex::lock;
use crate::spawn::beside;
use cairn_engine::{Client, Granted, Outcome, Receipt, Refusal, Request, Task, Token, WorkerId};
use std::collections::{HashMap, HashSet};
use std::io::{PipeWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait for a task in one request.
// Many proxies end a connection that was silent for 30 seconds.
const POLL_SECONDS: f64 = 25.0;
/// Logs are sent so often.
// People who watch a task wait no longer for a line; a thousand workers whose tasks print make a thousand requests a second of it.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// A word that was missed is looked for after so long.
// Only the end is ever missed. Shorter, and an idle worker wakes up for nothing.
const MISSED_WORD: Duration = Duration::from_secs(1);
/// The shortest and the longest time between two heartbeats, in seconds, whatever a server says.
// A server that says 0 would be flooded by its own workers, and one that says a year would never tell them to stop anything.
const HEARTBEATS: (f64, f64) = (0.05, 600.0);
/// So long before it is asked again whether the worker has joined.
// Nothing tells of it; the first heartbeat is due a third of the silence later, so that some hundredths of a second do not count.
const NOT_JOINED: Duration = Duration::from_millis(20);
/// So long after a long poll was ended by a word, another one may be sent.
// Meanwhile the answer comes and the poll is over. Without a pause words would go out as fast as the server answers them.
const NUDGED: Duration = Duration::from_millis(5);

/// What the conversation tells the one who has the processes.
#[derive(Debug)]
pub(super) enum Word {
    Joined(Joined, Ground),
    Begin(Vec<Lease>),
    Stop(Vec<Attempt>),
    /// There is nothing to do, and why.
    Idle(Reason),
    /// Nobody answers; said once.
    Away(String),
    /// Something that people should know.
    Remark(String),
    /// Nothing more will come.
    Finished,
    /// It cannot go on.
    Ended(CallError),
    /// Inputs are there, or why not.
    Fetched(Attempt, Result<(), Trouble>),
    /// Outputs and log are with the server, or why not.
    Delivered(Attempt, Result<Vec<Made>, Trouble>),
}

/// Tells the one who has the processes, and wakes it.
#[derive(Debug)]
pub(super) struct Mouth {
    words: Sender<Word>,
    waker: PipeWriter,
}

impl Mouth {
    pub(super) fn new(words: Sender<Word>, waker: PipeWriter) -> Mouth {
        Mouth { words, waker }
    }

    pub(super) fn say(&self, word: Word) {
        // Who no longer listens has ended.
        let _ = self.words.send(word);
        let _ = (&self.waker).write(&[0]);
    }
}

/// What a task under way prints.
#[derive(Clone)]
struct LogUnderWay {
    path: PathBuf,
    sent: u64,
    /// Whether more of it was refused for good. It is tried once more with the result, which may depend on it.
    is_refused: bool,
}

/// What all threads of a worker share.
pub(super) struct Talk {
    pub(super) caller: Caller,
    pub(super) place: Place,
    tasks_run: Where,
    client: Mutex<Client>,
    changed: Condvar,
    /// Files that were uploaded for results without a receipt.
    made: Mutex<HashMap<Attempt, Vec<Made>>>,
    /// Results of an earlier worker whose files the server does not take: they count as failures.
    spoilt: Mutex<HashSet<Attempt>>,
    /// Logs of tasks under way.
    logs: Mutex<HashMap<Attempt, LogUnderWay>>,
    /// Whether what tasks print may be their result; so until the server says that this is no volunteer.
    compares_print: AtomicBool,
    /// Whether it was said that a log was cut.
    said_cut: AtomicBool,
    is_polling: AtomicBool,
    is_over: AtomicBool,
    heartbeat_millis: AtomicU64,
    mouth: Mouth,
}

pub(super) fn held(attempt: Attempt) -> (Task, Token) {
    let Attempt { id, epoch, attempt } = attempt;
    (Task(id), Token { epoch, attempt })
}

fn attempt((task, token): (Task, Token)) -> Attempt {
    Attempt {
        id: task.0,
        epoch: token.epoch,
        attempt: token.attempt,
    }
}

pub(super) fn to_return(attempt: Attempt, outcome: Outcome, outputs: Vec<Made>) -> Return {
    let (ended, exit, cause) = match outcome {
        Outcome::Executed => (Ended::Executed, None, None),
        Outcome::GivenBack => (Ended::GivenBack, None, None),
        Outcome::Failed { exit, cause } => (Ended::Failed, Some(exit), Some(cause.into())),
    };
    Return {
        id: attempt.id,
        epoch: attempt.epoch,
        attempt: attempt.attempt,
        outcome: ended,
        exit,
        cause,
        outputs,
    }
}

fn receipt(worth: Worth) -> Receipt {
    match worth {
        Worth::Accepted => Receipt::Accepted,
        Worth::AcceptedLate => Receipt::AcceptedLate,
        Worth::Already => Receipt::Already,
        Worth::Superseded => Receipt::Superseded,
        Worth::Unknown | Worth::OutputMissing => Receipt::Unknown,
    }
}

impl Talk {
    pub(super) fn new(
        caller: Caller,
        place: Place,
        slots: usize,
        tasks_run: Where,
        mouth: Mouth,
    ) -> Talk {
        Talk {
            caller,
            place,
            tasks_run,
            client: Mutex::new(Client::new(slots)),
            changed: Condvar::new(),
            made: Mutex::default(),
            spoilt: Mutex::default(),
            logs: Mutex::default(),
            compares_print: AtomicBool::new(true),
            said_cut: AtomicBool::new(false),
            is_polling: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            // Until a server has said how often: nobody has joined yet, and nothing is sent.
            heartbeat_millis: AtomicU64::new(1000),
            mouth,
        }
    }

    /// Whether nobody waits for anything any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends all threads of the conversation.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn client(&self) -> MutexGuard<'_, Client> {
        lock(&self.client)
    }

    /// An attempt ended, and what it made is with the server or where the server sees it.
    pub(super) fn finished(&self, done: Attempt, outcome: Outcome, made: Vec<Made>) {
        // First the files, then the end: the return may be sent at once, and has to name them.
        if !made.is_empty() {
            lock(&self.made).insert(done, made);
        }
        let (task, token) = held(done);
        self.client().finished(task, token, outcome);
        self.changed.notify_all();
    }

    /// Asks for nothing more.
    pub(super) fn drain(&self) {
        self.client().drain();
        self.changed.notify_all();
    }

    pub(super) fn watch_log(&self, attempt: Attempt, path: PathBuf) {
        let log = LogUnderWay {
            path,
            sent: 0,
            is_refused: false,
        };
        lock(&self.logs).insert(attempt, log);
    }

    /// The log of an attempt that ended, and how much of it was sent.
    pub(super) fn unwatch_log(&self, attempt: Attempt) -> Option<(PathBuf, u64)> {
        // A piece may be on its way this moment, and is sent once more with the result: the server takes pieces twice.
        let log = lock(&self.logs).remove(&attempt);
        log.map(|log| (log.path, log.sent))
    }

    /// Says that not all of what a task printed is with the server. Once: whatever stands between the two is there for the next
    /// task as well.
    fn say_cut(&self, at: Attempt, error: &CallError) {
        if !self.said_cut.swap(true, Ordering::Relaxed) {
            let text = format!(
                "what task {} printed was cut, its result stands; others are not named: {error}",
                at.id
            );
            self.say(Word::Remark(text));
        }
    }

    /// Uploads log and outputs of an attempt that ended. A log that is not taken, by the server or by somebody between, holds
    /// nothing back, unless it is the result.
    pub(super) fn deliver(&self, spooled: &Spooled, mut sent: u64) -> Result<Vec<Made>, Trouble> {
        let is_over = || self.is_over();
        let at = spooled.attempt();
        let is_volunteer = self.compares_print.load(Ordering::Relaxed);
        let is_result = spooled.is_print() && is_volunteer;
        // A volunteer may have to wait long for room (429). Others are told so by whoever is only busy, and ask again.
        let is_cut = |error: &CallError| match is_volunteer {
            true => error.is_for_room(),
            false => error.is_for_ever(),
        };
        if let Some(log) = &spooled.log {
            carry::patiently(&is_over, || {
                match carry::send_log(&self.caller, at, log, &mut sent) {
                    Err(error) if is_cut(&error) && !is_result => {
                        self.say_cut(at, &error);
                        Ok(())
                    }
                    answer => answer,
                }
            })?;
        }
        let Some(folder) = &spooled.folder else {
            return Ok(Vec::new());
        };
        let printed = if sent == carry::ENOUGH { 0 } else { sent };
        let outputs = &spooled.outputs;
        let made = carry::deliver(&self.caller, folder, outputs, printed, &is_over);
        if let Err(trouble) = &made
            && sent != carry::ENOUGH
            && !matches!(trouble, Trouble::Call(error) if error.is_passing())
        {
            let line = format!("cairn: outputs were not taken: {trouble}\n");
            let key = (at.id, at.epoch, at.attempt);
            // Without the line it has failed all the same.
            let _ = self.caller.log(key, sent, line.as_bytes());
        }
        made
    }

    pub(super) fn say(&self, word: Word) {
        self.mouth.say(word);
    }

    // ---- Exchanging ----------------------------------------------------------------------------------------------------

    /// The whole life of the thread that exchanges. Results of an earlier worker go to the run that they are of.
    pub(super) fn exchange(&self, join: &Join, mut spooled: Vec<Spooled>) {
        let mut pauses = carry::Pauses::new();
        while let Some(request) = self.next_request() {
            let answered = match request {
                Request::Join => self.join(join, &mut spooled),
                Request::Exchange {
                    worker,
                    returns,
                    holding,
                    want,
                } => self.one_exchange(worker, &returns, holding, want),
            };
            match answered {
                Ok(()) => pauses = carry::Pauses::new(),
                Err(error) if error.is_passing() => {
                    // It may have been heard and only the answer lost: what is held is said with the next request.
                    self.client().unanswered();
                    self.say(Word::Away(error.to_string()));
                    self.sleep(pauses.next());
                }
                Err(error) => return self.say(Word::Ended(error)),
            }
        }
    }

    fn sleep(&self, pause: Duration) {
        let client = self.client();
        drop(
            self.changed
                .wait_timeout_while(client, pause, |_| !self.is_over()),
        );
    }

    fn next_request(&self) -> Option<Request> {
        let mut client = self.client();
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(request) = client.request() {
                return Some(request);
            }
            // The end of it all is said without this lock, so that word may be missed. Nobody waits for this thread then: it may
            // end late.
            let waited = self.changed.wait_timeout(client, MISSED_WORD);
            client = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn join(&self, join: &Join, spooled: &mut Vec<Spooled>) -> Result<(), CallError> {
        let mut joined = self.caller.join(join)?;
        if !self.place.enter(&joined.run) {
            // Who cannot be told finds out by silence.
            let _ = self.caller.leave(joined.worker);
            return Err(CallError::Unusable(format!(
                "{} serves another run now: results of the earlier one wait for it in {}. Start the worker again to work for this one",
                self.caller.url(),
                self.place.spool().display()
            )));
        }
        // Asked with every join, and never remembered: the address may lead to another machine than before.
        let is_near = self.place.secret().was_seen(joined.near.as_deref());
        let shared = |joined: &Joined| {
            let is_named = matches!(self.tasks_run, Where::Shared(_));
            (self.tasks_run.shared(joined)).filter(|_| is_near || is_named)
        };
        if !join.carries && shared(&joined).is_none() {
            // The server's folder is not here: what is made is carried after all, and the server is to know.
            let carries = true;
            joined = (self.caller).join(&Join {
                carries,
                ..join.clone()
            })?;
        }
        let millis = (joined.heartbeat_seconds.clamp(HEARTBEATS.0, HEARTBEATS.1) * 1000.0) as u64;
        self.heartbeat_millis.store(millis, Ordering::Relaxed);
        // Earlier servers do not say.
        let compares_print = joined.volunteer.unwrap_or(true);
        self.compares_print.store(compares_print, Ordering::Relaxed);
        self.client().joined(WorkerId(joined.worker));
        // Told before results of an earlier worker are delivered, which may take long.
        let ground = Ground {
            shared: shared(&joined),
            is_near,
        };
        self.say(Word::Joined(joined, ground));
        self.resume(std::mem::take(spooled));
        self.changed.notify_all();
        Ok(())
    }

    /// What an earlier worker in this place had finished is returned, if it is of this run. The rest waits for its own.
    fn resume(&self, spooled: Vec<Spooled>) {
        let (own, others): (Vec<_>, Vec<_>) =
            (spooled.into_iter()).partition(|old| old.run == self.place.run());
        if !others.is_empty() {
            let (many, spool) = (others.len(), self.place.spool());
            self.say(Word::Remark(format!(
                "results of other runs wait here for a worker that works for them: {many} in {}",
                spool.display()
            )));
        }
        for old in &own {
            match self.deliver(old, 0) {
                Ok(made) => {
                    lock(&self.made).insert(old.attempt(), made);
                }
                // Without its log a result is a result; without its outputs it is none.
                Err(trouble) if old.stands_without(&trouble) => (),
                Err(_) => {
                    lock(&self.spoilt).insert(old.attempt());
                }
            }
        }
        let finished = own.iter().map(|old| {
            let (task, token) = held(old.attempt());
            (task, token, old.back.outcome())
        });
        self.client().resume(finished.collect());
    }

    fn take(&self, returns: &[(Task, Token, Outcome)], answer: Exchanged) {
        // Before the new leases begin, which may need the room. Receipts come in the order of the returns; what has none stays.
        for &(task, token, _) in returns.iter().take(answer.receipts.len()) {
            let done = attempt((task, token));
            lock(&self.made).remove(&done);
            self.place.forget(done);
        }
        // A server may say anything: three hundred years in microseconds are within what a span holds.
        let span = |seconds: f64| cairn_engine::Span((seconds.clamp(0.0, 1e10) * 1e6) as u64);
        let granted = |lease: &Lease| Granted {
            task: Task(lease.id),
            token: Token {
                epoch: lease.epoch,
                attempt: lease.attempt,
            },
            limit: lease.limit_seconds.map(span),
            memory: lease.memory.unwrap_or(0),
        };
        let told = cairn_engine::Exchanged {
            receipts: answer
                .receipts
                .iter()
                .map(|&worth| receipt(worth))
                .collect(),
            granted: answer.leases.iter().map(granted).collect(),
            refused: (!answer.known).then_some(Refusal::Unknown),
        };
        // An answer that came twice, or late, grants what is under way or was ended already: no attempt begins twice.
        let new = self.client().answered(&told);
        let is_new = |lease: &Lease| {
            let (task, token) = held(key_of(lease));
            new.iter().any(|g| g.task == task && g.token == token)
        };
        let leases: Vec<Lease> = answer.leases.into_iter().filter(is_new).collect();
        // Stops before leases: the word that ends one attempt at a task must not come behind the next attempt.
        if !answer.stop.is_empty() {
            self.say(Word::Stop(answer.stop));
        }
        if !leases.is_empty() {
            self.say(Word::Begin(leases));
        }
        if let Some(why) = answer.reason {
            self.say(Word::Idle(why));
        }
        if answer.finished {
            self.say(Word::Finished);
        }
    }

    // ---- Living --------------------------------------------------------------------------------------------------------

    /// The whole life of the thread that says that the worker lives.
    pub(super) fn live(&self) {
        let mut since = std::time::Instant::now();
        while !self.is_over() {
            let every = Duration::from_millis(self.heartbeat_millis.load(Ordering::Relaxed));
            let client = self.client();
            // A result must not wait until a long poll ends: another word from this worker ends it.
            let must_nudge = |client: &Client| {
                self.is_polling.load(Ordering::Relaxed) && !client.unacknowledged().is_empty()
            };
            let is_quiet = |client: &mut Client| !must_nudge(client) && !self.is_over();
            let rest = every.saturating_sub(since.elapsed());
            let waited = self.changed.wait_timeout_while(client, rest, is_quiet);
            let (client, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (nudge, beat) = (must_nudge(&client), client.heartbeat());
            drop(client);
            let Some((worker, holding)) = beat else {
                since = std::time::Instant::now();
                std::thread::sleep(NOT_JOINED);
                continue;
            };
            if nudge {
                // Whether it arrives or not, it is tried again as long as there is need.
                let _ = self.caller.exchange(worker.0, &Exchange::default());
                std::thread::sleep(NUDGED);
            }
            if since.elapsed() < every {
                continue;
            }
            since = std::time::Instant::now();
            let holding = holding.into_iter().map(attempt).collect();
            match self.caller.heartbeat(worker.0, &Heartbeat { holding }) {
                Ok(heard) => {
                    if !heard.stop.is_empty() {
                        self.say(Word::Stop(heard.stop));
                    }
                    if heard.finished {
                        self.say(Word::Finished);
                    }
                }
                // Given up for lost: what it works on goes on, and the server is told of it under a new number.
                Err(error) if error.is_missing() => {
                    self.client().forgotten(worker);
                    self.changed.notify_all();
                }
                // Nobody there: the next one may be heard.
                Err(_) => (),
            }
        }
    }

    /// The whole life of the thread that sends logs.
    pub(super) fn send_logs(&self) {
        while !self.is_over() {
            std::thread::sleep(LOG_EVERY);
            // Copied, so that the lock is not held while something is sent: the end of a task would wait for it.
            let all: Vec<_> = (lock(&self.logs).iter())
                .filter(|(_, log)| !log.is_refused)
                .map(|(&at, log)| (at, log.clone()))
                .collect();
            for (at, mut log) in all {
                let sent = carry::send_log(&self.caller, at, &log.path, &mut log.sent);
                // What the server does not take now is sent with the result; what it never takes is not sent again and again.
                log.is_refused = sent.is_err_and(|error| error.is_for_ever());
                // Its task may have ended meanwhile: then the log is with the result.
                lock(&self.logs).entry(at).and_modify(|known| *known = log);
            }
        }
    }
}

fn key(back: &Return) -> Attempt {
    Attempt {
        id: back.id,
        epoch: back.epoch,
        attempt: back.attempt,
    }
}

pub(super) fn key_of(lease: &Lease) -> Attempt {
    Attempt {
        id: lease.id,
        epoch: lease.epoch,
        attempt: lease.attempt,
    }
}

/// Fetches the inputs of a lease on a thread of its own.
///
/// # Errors
/// If there is no thread to be had.
pub(super) fn fetch_beside(
    talk: &Arc<Talk>,
    lease: &Lease,
    folder: PathBuf,
) -> std::io::Result<()> {
    let (talk, at) = (talk.clone(), key_of(lease));
    let fetching = beside(move || {
        let fetched = carry::fetch(&talk.caller, at.id, &folder, &|| talk.is_over());
        talk.say(Word::Fetched(at, fetched));
    });
    fetching.map(drop)
}

/// Uploads what belongs to a result on a thread of its own.
///
/// # Errors
/// If there is no thread to be had.
pub(super) fn deliver_beside(talk: &Arc<Talk>, spooled: Spooled, sent: u64) -> std::io::Result<()> {
    let talk = talk.clone();
    let delivering = beside(move || {
        let delivered = talk.deliver(&spooled, sent);
        talk.say(Word::Delivered(spooled.attempt(), delivered));
    });
    delivering.map(drop)
}
