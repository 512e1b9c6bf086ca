//! The one thread that owns engine and store: takes what was asked meanwhile, lets it happen, commits all of it as one group,
//! and only then answers. Knows no sockets.

use super::files::Staged;
use super::types::{Reason, Worth};
use crate::clock::Clock;
use crate::store::{Group, Store, StoreError};
use cairn_engine::{
    Engine, Event, Granted, Moment, Offer, Outbox, Outcome, Position, Receipt, Refusal, Task,
    Token, Worker, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How many requests are taken into one commit at the most.
const GROUP: usize = 4096;

/// An attempt, as the engine knows it.
pub(crate) type Held = (Task, Token);

/// A return with the files that came with it.
#[derive(Debug)]
pub(crate) struct Handed {
    pub(crate) task: Task,
    pub(crate) token: Token,
    pub(crate) outcome: Outcome,
    /// Files that take their places if it counts.
    pub(crate) staged: Vec<Staged>,
    /// Whether a file that came with it was never uploaded.
    pub(crate) lacks_output: bool,
}

/// What is asked of the desk, each with the way back.
#[derive(Debug)]
pub(crate) enum Ask {
    Join {
        name: String,
        offer: Offer,
        reply: oneshot::Sender<(WorkerId, u32)>,
    },
    Exchange {
        worker: WorkerId,
        returns: Vec<Handed>,
        holding: Option<Vec<Held>>,
        want: usize,
        wait: Duration,
        reply: oneshot::Sender<Answer>,
    },
    Heartbeat {
        worker: WorkerId,
        holding: Vec<Held>,
        reply: oneshot::Sender<Result<(Vec<Held>, bool), Refusal>>,
    },
    Leave {
        worker: WorkerId,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    Status(oneshot::Sender<Picture>),
    Task(Task, oneshot::Sender<Option<TaskPicture>>),
    /// Whether this attempt is under way, or could still count.
    Counts(Held, oneshot::Sender<bool>),
    Cancel(Vec<Task>, oneshot::Sender<Vec<Result<(), String>>>),
    Retry(Vec<Task>, oneshot::Sender<Vec<Result<(), String>>>),
    Pause(bool, oneshot::Sender<()>),
    Reorder(Vec<u32>),
    Stop,
}

/// What comes of an exchange.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) receipts: Vec<Worth>,
    pub(crate) granted: Vec<Granted>,
    pub(crate) stop: Vec<Held>,
    pub(crate) reason: Option<Reason>,
    /// Whether the worker is not known: it must join again.
    pub(crate) is_unknown: bool,
    pub(crate) finished: bool,
}

/// Where the run stands.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) counts: [Option<u64>; 7],
    pub(crate) is_paused: bool,
    pub(crate) is_over: bool,
    pub(crate) halted: Option<i32>,
    pub(crate) epoch: u32,
    pub(crate) plan: u32,
    pub(crate) uptime: Duration,
    pub(crate) workers: Vec<(WorkerId, Worker)>,
    pub(crate) tally: Tally,
}

/// The order of [`Picture::counts`].
pub(crate) const STANDINGS: [Standing; 7] = [
    Standing::Waiting,
    Standing::Eligible,
    Standing::Leased,
    Standing::Executed,
    Standing::Failed,
    Standing::Aborted,
    Standing::Cancelled,
];

/// How many gone workers a picture shows.
const GONE_SHOWN: usize = 100;

/// Counted since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commits: u64,
    pub(crate) events: u64,
    pub(crate) commit_micros: u64,
    pub(crate) polls: u64,
    /// How many commits took how long: four steps from each power of two of microseconds to the next.
    steps: Vec<u64>,
}

impl Tally {
    fn count_commit(&mut self, micros: u64, events: usize) {
        self.commits += 1;
        self.events += events as u64;
        self.commit_micros += micros;
        let step = (4.0 * (micros.max(1) as f64).log2()) as usize;
        if self.steps.len() <= step {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += 1;
    }

    /// So many seconds, or a little less than a fifth more, that part of the commits did not exceed.
    pub(crate) fn commit_quantile(&self, part: f64) -> f64 {
        let wanted = (self.commits as f64 * part).ceil() as u64;
        let mut sum = 0;
        let found = self.steps.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        found.map_or(0.0, |step| ((step + 1) as f64 / 4.0).exp2() / 1e6)
    }
}

/// Where a task stands.
#[derive(Debug)]
pub(crate) struct TaskPicture {
    pub(crate) standing: Standing,
    pub(crate) lease: Option<(String, Token, Moment)>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All is executed.
    Executed,
    /// Something failed, was cancelled or aborted, or a task ended the run.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// Somebody who waits for a task.
struct Waiter {
    worker: WorkerId,
    want: usize,
    until: Instant,
    reply: oneshot::Sender<Answer>,
}

/// Long polls, by the order in which they came.
#[derive(Default)]
struct Waiters {
    next: u64,
    by_number: BTreeMap<u64, Waiter>,
    of_worker: HashMap<WorkerId, u64>,
    ends: BTreeSet<(Instant, u64)>,
}

impl Waiters {
    fn push(&mut self, waiter: Waiter) {
        self.next += 1;
        self.of_worker.insert(waiter.worker, self.next);
        self.ends.insert((waiter.until, self.next));
        self.by_number.insert(self.next, waiter);
    }

    fn remove(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.by_number.remove(&number)?;
        self.ends.remove(&(waiter.until, number));
        if self.of_worker.get(&waiter.worker) == Some(&number) {
            self.of_worker.remove(&waiter.worker);
        }
        Some(waiter)
    }

    fn take_of(&mut self, worker: WorkerId) -> Option<Waiter> {
        let number = self.of_worker.get(&worker).copied()?;
        self.remove(number)
    }
}

/// Engine and store, and who waits for what.
pub(crate) struct Desk<P> {
    engine: Engine<P>,
    store: Store,
    clock: Clock,
    stays: bool,
    grace: Duration,
    out: Outbox,
    orders: Vec<(u32, Vec<u32>)>,
    waiters: Waiters,
    kills: HashMap<WorkerId, Vec<Held>>,
    replies: Vec<Box<dyn FnOnce() + Send>>,
    tally: Tally,
    is_stopping: bool,
    over_since: Option<Instant>,
}

impl<P: Position> Desk<P> {
    /// The engine must be replayed, and not yet open.
    pub(crate) fn new(
        engine: Engine<P>,
        store: Store,
        stays: bool,
        grace: Duration,
    ) -> Result<Desk<P>, StoreError> {
        let mut desk = Desk {
            engine,
            store,
            clock: Clock::new(),
            stays,
            grace,
            out: Outbox::default(),
            orders: Vec::new(),
            waiters: Waiters::default(),
            kills: HashMap::new(),
            replies: Vec::new(),
            tally: Tally::default(),
            is_stopping: false,
            over_since: None,
        };
        desk.engine.open(desk.clock.now(), &mut desk.out);
        desk.commit()?;
        Ok(desk)
    }

    /// Answers until all is done or somebody says stop.
    ///
    /// # Errors
    /// If the store cannot be written: whoever asked is not answered, and asks again when there is a server again.
    pub(crate) fn run(mut self, inbox: &Receiver<Ask>) -> Result<End, StoreError> {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(ask) => {
                    self.handle(ask);
                    for ask in inbox.try_iter().take(GROUP) {
                        self.handle(ask);
                    }
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => self.is_stopping = true,
            }
            let now = self.clock.now();
            self.engine.wake(now, &mut self.out);
            self.pass_on_kills();
            self.serve_waiters(now);
            self.commit()?;
            if let Some(end) = self.end() {
                self.dismiss_waiters();
                self.commit()?;
                return Ok(end);
            }
        }
    }

    /// How long nothing can happen by itself.
    fn patience(&self) -> Duration {
        let now = Instant::now();
        let wake = self.engine.next_wake().map(|at| self.clock.instant(at));
        let end = self.waiters.ends.first().map(|&(at, _)| at);
        let over = (self.over_since)
            .map(|since| (since + self.grace).min(now + Duration::from_millis(20)));
        let next = [wake, end, over].into_iter().flatten().min();
        next.map_or(Duration::from_secs(3600), |at| {
            at.saturating_duration_since(now)
        })
    }

    /// Whether the server is to end, and how.
    fn end(&mut self) -> Option<End> {
        if self.is_stopping {
            return Some(End::Stopped);
        }
        if self.stays || !self.engine.is_over() {
            self.over_since = None;
            return None;
        }
        // Workers hear that all is done before the server goes.
        let since = *self.over_since.get_or_insert_with(Instant::now);
        let somebody = self.engine.workers().iter().any(|w| w.is_here);
        if somebody && since.elapsed() < self.grace {
            return None;
        }
        let count = |standing| self.engine.position().count(standing);
        let undone = [Standing::Failed, Standing::Aborted, Standing::Cancelled];
        let is_whole =
            undone.into_iter().all(|s| count(s) == Some(0)) && self.engine.halted().is_none();
        Some(match is_whole {
            true => End::Executed,
            false => End::Failed,
        })
    }

    fn reply<T: Send + 'static>(&mut self, to: oneshot::Sender<T>, answer: T) {
        // Who no longer listens asks again.
        self.replies.push(Box::new(move || drop(to.send(answer))));
    }

    fn handle(&mut self, ask: Ask) {
        let now = self.clock.now();
        let (engine, out) = (&mut self.engine, &mut self.out);
        match ask {
            Ask::Join { name, offer, reply } => {
                let worker = engine.join(now, &name, offer, out);
                let epoch = engine.epoch();
                self.reply(reply, (worker, epoch));
            }
            Ask::Exchange {
                worker,
                returns,
                holding,
                want,
                wait,
                reply,
            } => self.exchange(now, worker, returns, holding, want, wait, reply),
            Ask::Heartbeat {
                worker,
                holding,
                reply,
            } => {
                let stale = engine.heartbeat(now, worker, &holding, out);
                let over = engine.is_over();
                let answer = stale.map(|mut stop| {
                    let kills = self.kills.get(&worker).into_iter().flatten();
                    stop.extend(kills.filter(|held| holding.contains(held)));
                    stop.sort_unstable();
                    stop.dedup();
                    (stop, over)
                });
                if let Some(kills) = self.kills.get_mut(&worker) {
                    kills.retain(|held| holding.contains(held));
                }
                self.reply(reply, answer);
            }
            Ask::Leave { worker, reply } => {
                let left = engine.leave(now, worker, out);
                self.kills.remove(&worker);
                if let Some(waiter) = self.waiters.take_of(worker) {
                    let answer = Answer {
                        is_unknown: true,
                        ..Answer::default()
                    };
                    self.reply(waiter.reply, answer);
                }
                self.reply(reply, left);
            }
            Ask::Status(reply) => {
                let picture = self.picture();
                self.reply(reply, picture);
            }
            Ask::Task(task, reply) => {
                let picture = self.task_picture(task);
                self.reply(reply, picture);
            }
            Ask::Counts(held, reply) => {
                let counts = self.could_count(held);
                self.reply(reply, counts);
            }
            Ask::Cancel(tasks, reply) => {
                let each = |task| engine.cancel(now, task, out).map_err(|e| e.0);
                let done = tasks.into_iter().map(each).collect();
                self.reply(reply, done);
            }
            Ask::Retry(tasks, reply) => {
                let each = |task| engine.revive(now, task, out).map_err(|e| e.0);
                let done = tasks.into_iter().map(each).collect();
                self.reply(reply, done);
            }
            Ask::Pause(pause, reply) => {
                match pause {
                    true => engine.pause(now, out),
                    false => engine.unpause(now, out),
                }
                self.reply(reply, ());
            }
            Ask::Reorder(tasks) => {
                let plan = engine.plan() + 1;
                let order: Vec<_> = tasks.iter().map(|&t| cairn_dag::TaskId(t)).collect();
                engine.reorder(now, plan, cairn_engine::Order::of(&order), out);
                self.orders.push((plan, tasks));
            }
            Ask::Stop => self.is_stopping = true,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one request")]
    fn exchange(
        &mut self,
        now: Moment,
        worker: WorkerId,
        returns: Vec<Handed>,
        holding: Option<Vec<Held>>,
        want: usize,
        wait: Duration,
        reply: oneshot::Sender<Answer>,
    ) {
        // A worker has one request at a time: what it asked before, nobody hears any more.
        if let Some(old) = self.waiters.take_of(worker) {
            self.reply(old.reply, Answer::default());
        }
        let mut receipts = Vec::with_capacity(returns.len());
        for handed in returns {
            let held = (handed.task, handed.token);
            let mut staged = handed.staged.into_iter();
            let placed = !self.could_count(held)
                || (!handed.lacks_output && staged.all(|file| file.place().is_ok()));
            receipts.push(match placed {
                true => {
                    let (task, token) = held;
                    let receipt: Receipt =
                        (self.engine).give_back(now, task, token, handed.outcome, &mut self.out);
                    receipt.into()
                }
                false => Worth::OutputMissing,
            });
        }
        let holding = holding.as_deref();
        let given = (self.engine).exchange(now, worker, &[], holding, want, &mut self.out);
        let finished = self.engine.is_over();
        let waits = given.granted.is_empty()
            && receipts.is_empty()
            && want > 0
            && !wait.is_zero()
            && !finished
            && given.refused != Some(Refusal::Unknown)
            && !self.kills.contains_key(&worker);
        if waits {
            let until = Instant::now() + wait;
            return self.waiters.push(Waiter {
                worker,
                want,
                until,
                reply,
            });
        }
        let answer = Answer {
            receipts,
            granted: given.granted,
            stop: self.stop_of(worker),
            reason: given.refused.and_then(Reason::of),
            is_unknown: given.refused == Some(Refusal::Unknown),
            finished,
        };
        self.reply(reply, answer);
    }

    /// Whether a return of this attempt would count: then its files may take their places.
    fn could_count(&self, (task, token): Held) -> bool {
        match self.engine.lease(task) {
            Some((_, held, _)) => held == token,
            None => self.engine.position().standing(task) == Ok(Standing::Eligible),
        }
    }

    fn stop_of(&self, worker: WorkerId) -> Vec<Held> {
        self.kills.get(&worker).cloned().unwrap_or_default()
    }

    /// Attempts to be ended are told to whoever waits, and to the others when they are heard of.
    fn pass_on_kills(&mut self) {
        for (worker, task, token) in std::mem::take(&mut self.out.kills) {
            self.kills.entry(worker).or_default().push((task, token));
            if let Some(waiter) = self.waiters.take_of(worker) {
                let answer = Answer {
                    stop: self.stop_of(worker),
                    finished: self.engine.is_over(),
                    ..Answer::default()
                };
                self.reply(waiter.reply, answer);
            }
        }
        self.out.aborted.clear();
    }

    /// Whether something may have become eligible, or room free.
    fn has_opened(&self) -> bool {
        let opens = |event: &Event| {
            !matches!(
                event,
                Event::Joined { .. } | Event::Leased { .. } | Event::Opened { .. } | Event::Paused
            )
        };
        self.out.entries.iter().any(|entry| opens(&entry.event))
    }

    /// Long polls that can be answered now, and those whose time is up.
    fn serve_waiters(&mut self, now: Moment) {
        let finished = self.engine.is_over();
        if self.has_opened() || finished {
            let waiting: Vec<u64> = self.waiters.by_number.keys().copied().collect();
            for number in waiting {
                let Some(waiter) = self.waiters.by_number.get(&number) else {
                    continue;
                };
                if waiter.reply.is_closed() {
                    self.waiters.remove(number);
                    continue;
                }
                let (worker, want) = (waiter.worker, waiter.want);
                let asked = self.engine.ask(now, worker, want, &mut self.out);
                let (granted, refused) = match asked {
                    Ok(granted) => (granted, None),
                    // Nobody else gets anything either.
                    Err(Refusal::NothingEligible | Refusal::Paused) if !finished => break,
                    Err(refusal @ Refusal::Unknown) => (Vec::new(), Some(refusal)),
                    Err(refusal) if finished => (Vec::new(), Some(refusal)),
                    Err(_) => continue,
                };
                let answer = Answer {
                    granted,
                    reason: refused.and_then(Reason::of),
                    is_unknown: refused == Some(Refusal::Unknown),
                    finished,
                    ..Answer::default()
                };
                let waiter = self.waiters.remove(number).expect("it was there");
                self.reply(waiter.reply, answer);
            }
        }
        let moment = Instant::now();
        while let Some(&(at, number)) = self.waiters.ends.first() {
            if at > moment {
                break;
            }
            let waiter = self.waiters.remove(number).expect("it has an end");
            // Who waited for it is heard of: it was there until now.
            let heard = self
                .engine
                .exchange(now, waiter.worker, &[], None, 0, &mut self.out);
            let answer = Answer {
                reason: Some(Reason::NothingEligible),
                is_unknown: heard.refused == Some(Refusal::Unknown),
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
    }

    fn dismiss_waiters(&mut self) {
        let finished = self.engine.is_over();
        let numbers: Vec<u64> = self.waiters.by_number.keys().copied().collect();
        for number in numbers {
            let waiter = self.waiters.remove(number).expect("it was there");
            let answer = Answer {
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
    }

    /// Writes down what happened, then answers.
    fn commit(&mut self) -> Result<(), StoreError> {
        if !self.out.entries.is_empty() || !self.orders.is_empty() {
            let group = Group {
                entries: std::mem::take(&mut self.out.entries),
                orders: std::mem::take(&mut self.orders),
                ..Group::default()
            };
            let begin = Instant::now();
            self.store.append_group(&group)?;
            let micros = begin.elapsed().as_micros() as u64;
            self.tally.count_commit(micros, group.entries.len());
            let Group { mut entries, .. } = group;
            entries.clear();
            self.out.entries = entries;
        }
        self.replies.drain(..).for_each(|reply| reply());
        Ok(())
    }

    fn picture(&self) -> Picture {
        let engine = &self.engine;
        let all = || (engine.workers().iter().enumerate()).map(|(id, w)| (WorkerId(id as u32), w));
        let here = all().filter(|(_, w)| w.is_here);
        let gone: Vec<_> = all().filter(|(_, w)| !w.is_here).collect();
        let gone = gone[gone.len().saturating_sub(GONE_SHOWN)..]
            .iter()
            .copied();
        Picture {
            counts: STANDINGS.map(|standing| engine.position().count(standing)),
            is_paused: engine.is_paused(),
            is_over: engine.is_over(),
            halted: engine.halted(),
            epoch: engine.epoch(),
            plan: engine.plan(),
            uptime: self.clock.elapsed(),
            workers: here.chain(gone).map(|(id, w)| (id, w.clone())).collect(),
            tally: Tally {
                polls: self.waiters.by_number.len() as u64,
                ..self.tally.clone()
            },
        }
    }

    fn task_picture(&self, task: Task) -> Option<TaskPicture> {
        let standing = self.engine.position().standing(task).ok()?;
        let lease = self.engine.lease(task).map(|(worker, token, since)| {
            let name = &self.engine.workers()[worker.0 as usize].name;
            (name.clone(), token, since)
        });
        Some(TaskPicture { standing, lease })
    }
}
