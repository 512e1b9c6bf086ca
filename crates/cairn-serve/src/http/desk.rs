//! The one thread that owns engine and store: takes what was asked meanwhile, lets it happen, commits all of it as one group,
//! and only then answers. Requests for tasks that came in one group are one batch. Knows no sockets.

mod asks;
mod looks;
mod returns;
mod storage;
mod tally;
mod waiters;

pub(crate) use asks::{Answer, Ask, Handed, Held};
pub(crate) use looks::Picture;
pub use looks::{Left, Observed};
pub use storage::{DiskNews, DiskSetup};
pub(crate) use storage::{Kept, Tight};
pub(crate) use tally::Tally;

use self::waiters::{Waiter, Waiters};
use super::begin::Begun;
use super::files::Files;
use super::logs::Logs;
use super::stamps::Stamps;
use super::tasks::Tasks;
use super::types::{Reason, Worth};
use crate::book_file::BookFile;
use crate::clock::Clock;
use crate::disk::SIZES;
use crate::found::About;
use crate::store::{Group, Stamp, Store, StoreError};
use crate::tokens::Who;
use cairn_engine::{
    ClientId, Engine, Event, Granted, Moment, Outbox, Outcome, Position, Refusal, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How many requests are taken into one commit at the most.
// Else a group under load would never end, and nobody is answered before its commit.
const GROUP: usize = 4096;

/// Who waits because a task is kept for another is asked again so often, though nothing happens.
// So nobody is kept waiting for a worker that does not come back.
const LOOK: Duration = Duration::from_millis(500);
/// What was learnt is written so often.
// It can be learnt again: a crash costs later runs little.
const SAVED: Duration = Duration::from_secs(60);

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All is executed.
    Executed,
    /// Something failed, was cancelled or aborted, or a task ended the run.
    Failed,
    /// Nothing more fits under the cap on the disk: so many bytes are missing.
    Stuck(u64),
    /// Somebody stopped it.
    Stopped,
}

/// A request for tasks, to be answered with the group that it came in. What it returned was taken.
struct Request {
    worker: WorkerId,
    want: usize,
    /// How long it waits when nothing is there.
    wait: Duration,
    receipts: Vec<Worth>,
    /// What it was given before and does not know of.
    granted: Vec<Granted>,
    reply: oneshot::Sender<Answer>,
}

/// How a desk is set up.
pub(crate) struct Manner {
    /// Whether to go on when all is done.
    pub(crate) stays: bool,
    /// How long workers have to hear that all is done.
    pub(crate) grace: Duration,
    /// Where what was learnt of workers and tasks is written for later runs.
    pub(crate) book: Option<BookFile>,
    /// What tasks printed.
    pub(crate) logs: Logs,
    /// What they declare.
    pub(crate) tasks: Arc<dyn Tasks>,
}

/// What a worker is to end.
#[derive(Default)]
struct Kills {
    attempts: Vec<Held>,
    /// Whether an answer has said so. Heartbeats say it until the worker no longer names them: the answer may be lost, and a task
    /// may take its time to end. A poll that asks meanwhile has nothing to come back for.
    is_told: bool,
}

/// Engine and store, and who waits for what.
pub(crate) struct Desk<'f, P> {
    engine: Engine<P>,
    store: Store,
    clock: Clock,
    manner: Manner,
    out: Outbox,
    orders: Vec<(u32, Vec<u32>)>,
    /// Where temporary files are deleted, or the disk is kept under a cap.
    kept: Option<Kept<'f>>,
    /// What is to be told of the order in force.
    about: Option<About>,
    /// Values for the store, of the group at hand.
    meta: Vec<(&'static str, String)>,
    /// Where declared files are looked at.
    stamps: Option<Stamps<'f>>,
    /// What was noted of them in the group at hand.
    stamped: Vec<Stamp>,
    /// Of the group at hand.
    requests: Vec<Request>,
    waiters: Waiters,
    kills: HashMap<WorkerId, Kills>,
    replies: Vec<Box<dyn FnOnce() + Send>>,
    tally: Tally,
    /// Events since the newest snapshot, and after how many there is another.
    since_snapshot: u64,
    snapshot_every: u64,
    /// Whether events go once a snapshot has them.
    forgets: bool,
    is_stopping: bool,
    over_since: Option<Instant>,
    /// When those for whom nothing was there because tasks are kept for others were last asked again, and when the book was
    /// last written.
    looked: Instant,
    saved: Instant,
    files: Arc<Files>,
}

impl<'f, P: Position> Desk<'f, P> {
    pub(crate) fn new(
        begun: Begun<'f, P>,
        store: Store,
        manner: Manner,
        files: Arc<Files>,
    ) -> Desk<'f, P> {
        Desk {
            engine: begun.engine,
            store,
            clock: Clock::new(),
            manner,
            out: begun.out,
            orders: Vec::new(),
            kept: begun.kept,
            about: begun.about,
            meta: Vec::new(),
            stamps: begun.stamps,
            stamped: Vec::new(),
            requests: Vec::new(),
            waiters: Waiters::default(),
            kills: HashMap::new(),
            replies: Vec::new(),
            tally: Tally::default(),
            since_snapshot: 0,
            snapshot_every: begun.snapshot_every,
            forgets: begun.forgets,
            is_stopping: false,
            over_since: None,
            looked: Instant::now(),
            saved: Instant::now(),
            files,
        }
    }

    /// Answers until all is done or somebody says stop.
    ///
    /// # Errors
    /// If the store cannot be written: whoever asked is not answered, and asks again when there is a server again.
    pub(crate) fn run(mut self, inbox: &Receiver<Ask>) -> Result<End, StoreError> {
        self.settle_agreed();
        // What the start itself did is on the disk before anybody is answered.
        self.commit()?;
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(ask) => {
                    if let Some(stamps) = &mut self.stamps {
                        stamps.forget();
                    }
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
            self.mind_the_lost();
            self.pass_on_kills();
            self.serve_requests(now);
            // What was given out may have displaced copies.
            self.pass_on_kills();
            self.commit()?;
            // Behind the commit: what is deleted must be wanted by nobody after a crash, either.
            self.tend_disk();
            if self.saved.elapsed() > SAVED {
                self.save_book();
            }
            if let Some(end) = self.end() {
                self.dismiss_waiters();
                self.commit()?;
                self.save_book();
                return Ok(end);
            }
        }
    }

    /// How long nothing can happen by itself.
    fn patience(&self) -> Duration {
        let now = Instant::now();
        let wake = self.engine.next_wake().map(|at| self.clock.instant(at));
        let end = self.waiters.next_end();
        let over = (self.over_since)
            .map(|since| (since + self.manner.grace).min(now + Duration::from_millis(20)));
        let held = self.is_holding().then(|| self.looked + LOOK);
        let next = [wake, end, over, held, self.next_look()];
        let next = next.into_iter().flatten().min();
        next.map_or(Duration::from_secs(3600), |at| {
            at.saturating_duration_since(now)
        })
    }

    /// Whether somebody waits because a task is kept for another worker, which may change as time passes.
    fn is_holding(&self) -> bool {
        self.engine.is_holding() && self.waiters.len() > 0
    }

    /// Writes what was learnt for later runs.
    fn save_book(&mut self) {
        self.saved = Instant::now();
        if let Some(book) = &self.manner.book {
            book.add(self.engine.learnt().with_files(self.taken()));
        }
    }

    /// Whether the server is to end, and how.
    fn end(&mut self) -> Option<End> {
        if self.is_stopping {
            return Some(End::Stopped);
        }
        let stuck = self.stuck();
        if self.manner.stays || !(self.engine.is_over() || stuck.is_some()) {
            self.over_since = None;
            return None;
        }
        // Workers hear that all is done before the server goes.
        let since = *self.over_since.get_or_insert_with(Instant::now);
        let somebody = self.engine.is_anybody_here();
        if somebody && since.elapsed() < self.manner.grace {
            return None;
        }
        if let Some(missing) = stuck {
            return Some(End::Stuck(missing));
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

    /// What a volunteer asks as somebody else, as whom it is not known, is refused; the rest comes back.
    fn refuse_foreign(&mut self, ask: Ask) -> Option<Ask> {
        match ask {
            Ask::Exchange {
                who, worker, reply, ..
            } if !self.is_own(who, worker) => {
                let answer = Answer {
                    is_unknown: true,
                    ..Answer::default()
                };
                self.reply(reply, answer);
            }
            Ask::Heartbeat {
                who, worker, reply, ..
            } if !self.is_own(who, worker) => self.reply(reply, Err(Refusal::Unknown)),
            Ask::Leave { who, worker, reply } if !self.is_own(who, worker) => {
                self.reply(reply, Err(Refusal::Unknown));
            }
            ask => return Some(ask),
        }
        None
    }

    fn handle(&mut self, ask: Ask) {
        let Some(ask) = self.refuse_foreign(ask) else {
            return;
        };
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
                ..
            } => self.exchange(now, worker, returns, holding, want, wait, reply),
            Ask::Heartbeat {
                worker,
                holding,
                reply,
                ..
            } => {
                let stale = engine.heartbeat(now, worker, &holding, out);
                let doubled = engine.doubled(worker, &holding);
                let over = engine.is_over();
                self.heard(worker, &holding);
                let answer = stale.map(|mut stop| {
                    let kills = self.kills.get(&worker).map(|kills| &kills.attempts);
                    let kills = kills.into_iter().flatten();
                    stop.extend(kills.filter(|held| holding.contains(held)));
                    stop.extend(doubled);
                    stop.sort_unstable();
                    stop.dedup();
                    (stop, over)
                });
                if let Some(Kills { attempts, .. }) = self.kills.get_mut(&worker) {
                    attempts.retain(|held| holding.contains(held));
                    if attempts.is_empty() {
                        self.kills.remove(&worker);
                    }
                }
                self.reply(reply, answer);
            }
            Ask::Leave { worker, reply, .. } => {
                self.before_leave(worker);
                // What it asked for in this group it is refused, since it is gone.
                let left = self.engine.leave(now, worker, &mut self.out);
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
            // Who no longer listens has no use for it.
            Ask::Observe(reply) => drop(reply.send(self.observed())),
            Ask::Left(reply) => drop(reply.send(self.left())),
            Ask::Task(task, reply) => {
                let picture = self.task_picture(task);
                self.reply(reply, picture);
            }
            Ask::WhyTask(task, reply) => {
                let told = self.why_task(now, task);
                self.reply(reply, told);
            }
            Ask::WhyWorker(name, reply) => {
                let told = self.why_worker(now, &name);
                self.reply(reply, told);
            }
            Ask::Counts(who, worker, (task, token), reply) => {
                let (client, done) = (client_of(who), Outcome::Executed);
                let counts = worker.is_none_or(|worker| self.is_own(who, worker))
                    && (self.engine).would_take_from(client, task, token, done);
                self.reply(reply, counts);
            }
            Ask::WorksOn(client, task, reply) => {
                let works = self.engine.works_on(client, task);
                self.reply(reply, works);
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
            Ask::Reorder(found) => {
                if let Some(order) = found.order {
                    let plan = engine.plan() + 1;
                    engine.reorder(now, plan, cairn_engine::Order::of(&order), out);
                    let tasks = order.iter().map(|t| t.0).collect();
                    self.orders.push((plan, tasks));
                }
                self.meta.push(found.about.row());
                self.about = Some(found.about);
            }
            Ask::Stop => self.is_stopping = true,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one request")]
    fn exchange(
        &mut self,
        now: Moment,
        worker: WorkerId,
        mut returns: Vec<Handed>,
        holding: Option<Vec<Held>>,
        want: usize,
        wait: Duration,
        reply: oneshot::Sender<Answer>,
    ) {
        if self.must_release(worker, &mut returns) {
            let again = returns;
            let answer = Answer {
                again,
                ..Answer::default()
            };
            return self.reply(reply, answer);
        }
        // A worker has one request at a time: what it asked before, nobody hears any more.
        if let Some(old) = self.waiters.take_of(worker) {
            self.reply(old.reply, Answer::default());
        }
        let mut receipts = Vec::with_capacity(returns.len());
        for handed in returns {
            receipts.push(self.take_back(now, worker, handed));
        }
        let holding = holding.as_deref();
        if let Some(holding) = holding {
            self.heard(worker, holding);
        }
        let heard = (self.engine).exchange(now, worker, &[], holding, 0, &mut self.out);
        if heard.refused == Some(Refusal::Unknown) {
            let answer = Answer {
                receipts,
                is_unknown: true,
                finished: self.engine.is_over(),
                ..Answer::default()
            };
            return self.reply(reply, answer);
        }
        self.requests.push(Request {
            worker,
            want: want.saturating_sub(heard.granted.len()),
            wait,
            receipts,
            granted: heard.granted,
            reply,
        });
    }

    /// Whether whoever shows this token may speak as that worker: a volunteer as itself alone.
    fn is_own(&self, who: Who, worker: WorkerId) -> bool {
        let known = self.engine.workers().get(worker.0 as usize);
        client_of(who).is_none() || known.is_some_and(|w| w.client() == client_of(who))
    }

    fn stop_of(&mut self, worker: WorkerId) -> Vec<Held> {
        let kills = self.kills.get_mut(&worker);
        kills.map_or_else(Vec::new, |kills| {
            kills.is_told = true;
            kills.attempts.clone()
        })
    }

    /// Attempts to be ended are told to whoever waits, and to the others when they are heard of. Answers of this group that are
    /// worded already do not have them.
    fn pass_on_kills(&mut self) {
        for (worker, task, token) in std::mem::take(&mut self.out.kills) {
            let kills = self.kills.entry(worker).or_default();
            kills.attempts.push((task, token));
            kills.is_told = false;
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

    /// All requests of the group, and the long polls where something may have become eligible, as one batch: first come,
    /// first served.
    fn serve_requests(&mut self, now: Moment) {
        let finished = self.engine.is_over();
        let again = self.is_holding() && self.looked.elapsed() >= LOOK;
        if again {
            self.looked = Instant::now();
        }
        let opened = self.has_opened() || self.has_room_again();
        let waiting = match opened || finished || again {
            true => self.waiters.listening(),
            false => Vec::new(),
        };
        let mut requests = std::mem::take(&mut self.requests);
        if requests.len() > 1 {
            // A worker has one request at a time: of two in one group the later one counts.
            let mut seen = HashSet::new();
            for request in requests.iter_mut().rev() {
                if !seen.insert(request.worker) {
                    request.want = 0;
                }
            }
        }
        let polls = waiting.iter().map(|&n| self.waiters.get(n));
        let mut asked: Vec<(WorkerId, usize)> = polls.map(|w| (w.worker, w.want)).collect();
        asked.extend(requests.iter().map(|r| (r.worker, r.want)));
        let given = self.engine.ask_together(now, &asked, &mut self.out);
        self.after_serving(&asked, &given);
        if let Some(stamps) = &mut self.stamps {
            let begun = given.iter().flatten().flatten();
            begun.for_each(|granted| stamps.started(granted.task, granted.token));
        }
        let mut given = given.into_iter();
        for (number, given) in waiting.into_iter().zip(given.by_ref()) {
            let (granted, refused) = match given {
                Ok(granted) => (granted, None),
                Err(refusal) if finished || refusal == Refusal::Unknown => {
                    (Vec::new(), Some(refusal))
                }
                Err(_) => continue,
            };
            let waiter = self.waiters.remove(number).expect("it was there");
            let answer = Answer {
                granted,
                reason: refused.and_then(Reason::of),
                is_unknown: refused == Some(Refusal::Unknown),
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
        for (request, given) in requests.into_iter().zip(given) {
            self.answer(request, given, finished);
        }
        while let Some(waiter) = self.waiters.take_late(Instant::now()) {
            // Who waited for it is heard of: it was there until now.
            let heard = (self.engine).exchange(now, waiter.worker, &[], None, 0, &mut self.out);
            let answer = Answer {
                reason: (waiter.refused.and_then(Reason::of)).or(Some(Reason::NothingEligible)),
                is_unknown: heard.refused == Some(Refusal::Unknown),
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
    }

    /// Answers a request, or lets it wait.
    fn answer(&mut self, request: Request, given: Result<Vec<Granted>, Refusal>, finished: bool) {
        let Request {
            worker,
            want,
            wait,
            receipts,
            mut granted,
            reply,
        } = request;
        let refused = given.map(|more| granted.extend(more)).err();
        let waits = granted.is_empty()
            && receipts.is_empty()
            && want > 0
            && !wait.is_zero()
            && !finished
            && refused != Some(Refusal::Unknown)
            && self.kills.get(&worker).is_none_or(|kills| kills.is_told);
        if waits {
            let until = Instant::now() + wait;
            return self.waiters.push(Waiter {
                worker,
                want,
                until,
                refused,
                reply,
            });
        }
        let answer = Answer {
            receipts,
            granted,
            stop: self.stop_of(worker),
            reason: refused.and_then(Reason::of),
            is_unknown: refused == Some(Refusal::Unknown),
            finished,
            again: Vec::new(),
        };
        self.reply(reply, answer);
    }

    fn dismiss_waiters(&mut self) {
        let finished = self.engine.is_over() || self.stuck().is_some();
        let numbers = self.waiters.listening();
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
        if !self.out.entries.is_empty() || !self.orders.is_empty() || !self.meta.is_empty() {
            let mut meta = std::mem::take(&mut self.meta);
            meta.extend(self.learnt().map(|text| (SIZES, text)));
            let group = Group {
                meta,
                entries: std::mem::take(&mut self.out.entries),
                orders: std::mem::take(&mut self.orders),
                stamps: std::mem::take(&mut self.stamped),
                ..Group::default()
            };
            let begin = Instant::now();
            self.store.append_group(&group)?;
            // Only now: until the commit nothing says that the others are not needed.
            self.forget_held(&group.entries);
            let micros = begin.elapsed().as_micros() as u64;
            self.tally.count_commit(micros, group.entries.len());
            self.since_snapshot += group.entries.len() as u64;
            let Group { mut entries, .. } = group;
            entries.clear();
            // Its room serves the next group.
            self.out.entries = entries;
        }
        self.replies.drain(..).for_each(|reply| reply());
        // After the answers: nobody waits for it.
        if self.since_snapshot >= self.snapshot_every {
            self.since_snapshot = 0;
            let (now, snapshot) = (self.clock.now(), self.engine.snapshot());
            self.store.save_snapshot(now, &snapshot, self.forgets)?;
        }
        Ok(())
    }
}

/// As whom the engine knows who shows this.
pub(crate) fn client_of(who: Who) -> Option<ClientId> {
    match who {
        Who::Trusted => None,
        Who::Volunteer(number) => Some(ClientId(number)),
    }
}
