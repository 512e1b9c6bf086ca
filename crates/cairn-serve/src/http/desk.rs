//! The one thread that owns engine and store: takes what was asked meanwhile, lets it happen, commits all of it as one group,
//! and only then answers. Requests for tasks that came in one group are one batch. Knows no sockets.

mod asks;
mod looks;
mod requests;
mod returns;
mod storage;
mod tally;
mod waiters;

pub(crate) use asks::{Answer, Ask, Handed, Held};
pub(crate) use looks::Picture;
pub use looks::{Left, Observed};
pub(crate) use storage::Kept;
pub use storage::{DiskNews, ServedDisk};
pub(crate) use tally::Tally;

use self::requests::{Kills, Request};
use self::waiters::Waiters;
use super::begin::Begun;
use super::files::Files;
use super::logs::Logs;
use super::stamps::Stamps;
use super::tasks::Tasks;
use crate::book_file::BookFile;
use crate::clock::Clock;
use crate::disk::SIZES;
use crate::found::{About, Found};
use crate::store::{Group, Stamp, Store, StoreError};
use crate::tokens::Who;
use cairn_engine::{ClientId, Engine, Moment, Outbox, Outcome, Position, Refusal, WorkerId};
use cairn_theory::game::Standing;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How many requests are taken into one commit at the most.
// Else a group under load would never end, and nobody is answered before its commit. Far fewer, and 2,000 workers that ask one by one
// would wait for several commits, which cost the same however much is in them.
const GROUP: usize = 4096;

/// Who waits because a task is kept for another is asked again so often, though nothing happens.
// So nobody is kept waiting for a worker that does not come back. Far more often, and the desk asks the dispatch of thousands of polls
// in vain; far less often, and short tasks would be done sooner by whoever waits.
const LOOK: Duration = Duration::from_millis(500);
/// What was learnt is written so often.
// It can be learnt again: a crash costs later runs little. The file is read, merged and written as a whole each time, by this thread.
const SAVED: Duration = Duration::from_secs(60);
/// Once all is done, so often it is looked whether workers are still here.
// Those that leave say so, which ends the wait: this is for whatever else may change.
const LEAVING: Duration = Duration::from_millis(20);
/// So long nothing happens where nothing can happen by itself.
// Any ask ends it: any time would do that can be added to a clock.
const ASLEEP: Duration = Duration::from_secs(3600);

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// All is executed.
    Executed,
    /// Something failed, was cancelled or aborted, or a task ended the run.
    Failed,
    /// Nothing more fits under the cap on the disk: so many bytes are missing.
    Stuck(u64),
    /// Somebody stopped it.
    Stopped,
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
    pub(crate) fn run(mut self, inbox: &Receiver<Ask>) -> Result<ServerEnd, StoreError> {
        self.settle_agreed();
        // What the start itself did is on the disk before anybody is answered.
        self.commit()?;
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(ask) => {
                    // What was seen of files holds for one group: within it each is looked at once, and
                    // nothing that is older is believed.
                    if let Some(stamps) = &mut self.stamps {
                        stamps.forget();
                    }
                    self.handle(ask);
                    for ask in inbox.try_iter().take(GROUP) {
                        self.handle(ask);
                    }
                }
                Err(RecvTimeoutError::Timeout) => (),
                // Nobody is left who could ask, or say stop.
                Err(RecvTimeoutError::Disconnected) => self.is_stopping = true,
            }
            let now = self.clock.now();
            // Before anything is given out: what is lost by now is for those who ask now.
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
        let over = (self.over_since).map(|since| (since + self.manner.grace).min(now + LEAVING));
        let held = self.is_holding().then(|| self.looked + LOOK);
        let next = [wake, end, over, held, self.next_look()];
        let next = next.into_iter().flatten().min();
        next.map_or(ASLEEP, |at| at.saturating_duration_since(now))
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
    fn end(&mut self) -> Option<ServerEnd> {
        if self.is_stopping {
            return Some(ServerEnd::Stopped);
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
            return Some(ServerEnd::Stuck(missing));
        }
        let count = |standing| self.engine.position().count(standing);
        let undone = [Standing::Failed, Standing::Aborted, Standing::Cancelled];
        let is_whole =
            undone.into_iter().all(|s| count(s) == Some(0)) && self.engine.halted().is_none();
        Some(match is_whole {
            true => ServerEnd::Executed,
            false => ServerEnd::Failed,
        })
    }

    fn reply<T: Send + 'static>(&mut self, to: oneshot::Sender<T>, answer: T) {
        // Who no longer listens asks again.
        // Nobody is told before the commit: a crash in between must not take back what somebody has
        // heard.
        self.replies.push(Box::new(move || drop(to.send(answer))));
    }

    /// What a volunteer asks as somebody else, as whom it is not known, is refused; the rest comes back.
    // Numbers of workers are small and easily guessed. The answer is the one for a number that nobody
    // has: it tells nothing of others.
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
                let answer = self.heartbeat(now, worker, &holding);
                self.reply(reply, answer);
            }
            Ask::Leave { worker, reply, .. } => {
                let left = self.leave(now, worker);
                self.reply(reply, left);
            }
            Ask::Status(reply) => {
                let picture = self.picture();
                self.reply(reply, picture);
            }
            // Who no longer listens has no use for it.
            // Nothing changes by it, and whoever asks decides nothing for workers: it need not wait for
            // the commit.
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
            Ask::Counts(who, worker, held, reply) => {
                let counts = self.counts(who, worker, held);
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
            Ask::Reorder(found) => self.reorder(now, found),
            Ask::Stop => self.is_stopping = true,
        }
    }

    /// What a worker that is here is to stop, and whether all is over.
    fn heartbeat(
        &mut self,
        now: Moment,
        worker: WorkerId,
        holding: &[Held],
    ) -> Result<(Vec<Held>, bool), Refusal> {
        // Three who say stop: the engine, of what it does not know or no longer counts; kills
        // that no answer may have brought; and of a task that the worker has twice, one.
        let stale = self.engine.heartbeat(now, worker, holding, &mut self.out);
        let doubled = self.engine.doubled(worker, holding);
        let over = self.engine.is_over();
        self.heard(worker, holding);
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
            // What it no longer names has ended. What it names was told just now, and is told
            // again until then.
            attempts.retain(|held| holding.contains(held));
            if attempts.is_empty() {
                self.kills.remove(&worker);
            }
        }
        answer
    }

    /// A worker goes of its own accord.
    fn leave(&mut self, now: Moment, worker: WorkerId) -> Result<(), Refusal> {
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
        left
    }

    /// Tasks go by another order from now on, or the one in force is told of otherwise.
    fn reorder(&mut self, now: Moment, found: Found) {
        if let Some(order) = found.order {
            // In one group with the event that names it: no log speaks of an order that the store
            // does not have.
            let plan = self.engine.plan() + 1;
            let by = cairn_engine::Order::of(&order);
            self.engine.reorder(now, plan, by, &mut self.out);
            let tasks = order.iter().map(|t| t.0).collect();
            self.orders.push((plan, tasks));
        }
        self.meta.push(found.about.row());
        self.about = Some(found.about);
    }

    /// Whether whoever shows this token may speak as that worker: a volunteer as itself alone.
    fn is_own(&self, who: Who, worker: WorkerId) -> bool {
        let known = self.engine.workers().get(worker.0 as usize);
        client_of(who).is_none() || known.is_some_and(|w| w.client() == client_of(who))
    }

    /// Whether it would still count if that attempt were done now, and whoever shows this token may say so.
    fn counts(&self, who: Who, worker: Option<WorkerId>, (task, token): Held) -> bool {
        let (client, done) = (client_of(who), Outcome::Executed);
        worker.is_none_or(|worker| self.is_own(who, worker))
            && (self.engine).would_take_from(client, task, token, done)
    }

    /// Writes down what happened, then answers.
    fn commit(&mut self) -> Result<(), StoreError> {
        // Looking changes nothing: such a group costs no wait for the disk.
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
            // If this fails, all replies of the group are dropped with the desk: whoever asked hears
            // nothing, and asks again.
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
