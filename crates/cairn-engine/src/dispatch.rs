//! Who gets which task where workers differ: the one that will end it first, not the one that asks first. Learns speeds and
//! times by its [`Book`]. Knows no lease, no store and no clock; the engine and the simulator tell it what happens.
//!
//! The rule, when workers ask:
//! 1. *Restart*: a running task that would hold up the end is begun again on an idle worker, if that brings the end forward
//!    by more than it costs everybody.
//! 2. *Place*: eligible tasks by falling bottom level, each where it will end first among all lanes, busy or not. Is that
//!    one idle, the task starts; is it busy, the task is kept for it.
//! 3. *Copy*: who is still idle gets a second copy of a late task, if it may well be faster: of the one that unlocks most, of
//!    equals the one that ends last with all that comes after it. The fastest chooses first.
//!
//! Real tasks displace copies that will not be first, but never the oldest copy; and where nothing runs, something starts.

#[cfg(test)]
mod dice;
mod lanes;
mod outlook;
mod place;
mod speculate;
#[cfg(test)]
mod twin;
mod unlocks;

use crate::WorkerId;
use crate::book::{Book, Expected, KnownId, Memory};
use crate::budgets::dispatch::{FEW_LANES, LANES};
use cairn_dag::{Dag, TaskId};
use cairn_theory::game::Standing;
use lanes::{Busy, LaneId, Lanes};
use outlook::Outlook;
use std::collections::BTreeSet;
use std::num::NonZeroU64;

/// By what tasks go to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// By the order alone: the first eligible task to whoever asks.
    ByOrder,
    /// By speeds where workers are seen to differ, else by the order.
    WhereUneven,
    /// By speeds, always.
    BySpeed,
}

impl Placing {
    /// Where nobody says: by speeds where workers differ, if it is known how long most tasks take. Without durations placing by
    /// speed may still lose (docs/dispatch.md).
    pub fn usual(seconds: &[Option<f64>]) -> Placing {
        let known = seconds.iter().flatten().count();
        match 2 * known > seconds.len() {
            true => Placing::WhereUneven,
            false => Placing::ByOrder,
        }
    }
}

/// Workers differ where the mean square of their speeds is above the square of the mean by this factor: the spread is more
/// than about a fifth.
// A judgement between two figures of docs/dispatch.md: of equal workers the order alone loses 4 % to HEFT, at a spread of 0.3 half
// as much again as HEFT takes.
const UNEVEN: f64 = 1.05;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// This task, eligible or (for a copy) running,
    pub task: TaskId,
    /// begins on this worker,
    pub worker: WorkerId,
    /// which is to stop this one, since others will be faster.
    pub instead_of: Option<TaskId>,
}

/// Whether a worker can do a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Now.
    Now,
    /// It has too little room now.
    Later,
    /// It never can.
    Never,
}

/// When something ends, as a number that grows with it and is never 0: "never" takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndBits(NonZeroU64);

impl EndBits {
    fn new(at: f64) -> EndBits {
        // Bits of numbers above zero are in the order of the numbers.
        let bits = at.max(f64::MIN_POSITIVE).to_bits();
        EndBits(NonZeroU64::new(bits).expect("above zero"))
    }

    fn get(self) -> f64 {
        f64::from_bits(self.0.get())
    }
}

/// Decides who gets which task, and learns.
#[derive(Clone, Debug)]
pub struct Dispatch {
    book: Book,
    memory: Memory,
    outlook: Outlook,
    lanes: Lanes,
    /// Running tasks by when they and what comes after them will be over.
    ends: BTreeSet<(EndBits, TaskId)>,
    /// By task: its time in there, if it is.
    end_of: Vec<Option<EndBits>>,
    /// Tasks with several copies.
    copied: Vec<TaskId>,
    /// Whether tasks may run several times at once.
    may_copy: bool,
    /// Whether it only learns: then nothing else is kept.
    only_learns: bool,
    /// Tasks that were kept for busy workers when workers last asked, and for whom.
    kept: Vec<(TaskId, WorkerId)>,
}

impl Dispatch {
    /// For a dag, with what is expected of its tasks and what earlier runs taught. Equal levels go by `order`.
    pub fn new(
        dag: &Dag,
        expected: &Expected,
        memory: Memory,
        order: impl Iterator<Item = TaskId>,
    ) -> Dispatch {
        let tasks = dag.len();
        let mut seconds = expected.seconds.clone();
        seconds.resize(tasks, None);
        let expected = Expected {
            seconds,
            ..expected.clone()
        };
        let (book, base) = Book::new(&expected, &memory);
        let rank = outlook::ranks(order, tasks);
        let outlook = Outlook::new(dag, base, expected.kind, rank, &book);
        Dispatch {
            lanes: Lanes::new(tasks),
            ends: BTreeSet::new(),
            end_of: vec![None; tasks],
            copied: Vec::new(),
            may_copy: false,
            only_learns: false,
            kept: Vec::new(),
            book,
            memory,
            outlook,
        }
    }

    /// All tasks.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.end_of.len()).map(TaskId::new)
    }

    /// Whether the workers present differ in speed, as far as is known.
    pub(crate) fn is_uneven(&self) -> bool {
        self.lanes.unevenness() > UNEVEN
    }

    /// Whether anybody is known to be at anything.
    pub(crate) fn is_busy(&self) -> bool {
        self.lanes.busy_count() > 0
    }

    /// Whether idle workers may be given copies of running tasks. They are not unless somebody says so.
    pub(crate) fn allow_copies(&mut self, may: bool) {
        self.may_copy = may;
    }

    /// Whether it is only asked for what it learns, not where tasks should go: a return then costs next to nothing. Before
    /// anything happens.
    pub(crate) fn only_learn(&mut self, only: bool) {
        self.only_learns = only;
    }

    /// What is learnt.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Whom the book knows a worker as.
    pub fn known_as(&self, worker: WorkerId) -> KnownId {
        self.lanes.known_as(worker)
    }

    /// What is worth knowing in later runs: what was known before, and what was learnt.
    pub fn memory(&self) -> Memory {
        self.memory.clone().then(&self.book.memory())
    }

    /// Seconds that a task is expected to take on a worker of speed 1, by what was recorded and what its kind took here.
    pub fn expects(&self, task: TaskId) -> f64 {
        let kind = self.outlook.kind(task);
        self.book.factor(kind) * self.outlook.base(task)
    }

    /// Seconds that the task takes at this worker, and after how many it is late there; `None` where its kind or the worker
    /// was never seen.
    pub(crate) fn foresees(&self, task: TaskId, worker: WorkerId) -> Option<(f64, f64)> {
        let (kind, base) = (self.outlook.kind(task), self.outlook.base(task));
        let who = self.lanes.known_as(worker);
        let takes = || self.book.duration(who, kind, base, 0.0);
        let late = || self.book.deadline(who, kind, base);
        (self.book.knows(who, kind)).then(|| (takes(), late()))
    }

    /// The first task that was kept for a busy worker when workers last asked, and for which.
    pub(crate) fn kept(&self) -> Option<(TaskId, WorkerId)> {
        self.kept.first().copied()
    }

    /// For which busy worker a task was kept when workers last asked.
    pub(crate) fn kept_for(&self, task: TaskId) -> Option<WorkerId> {
        let kept = self.kept.iter().find(|&&(kept, _)| kept == task);
        kept.map(|&(_, worker)| worker)
    }

    /// A worker comes; the next number is its own.
    pub(crate) fn joined(&mut self, name: &str, cpus: u32, handshake: Option<f64>) {
        let who = self.book.join(name, handshake);
        self.book.remember(who, &self.memory);
        // Without lanes nobody is ever placed, and who comes or goes costs nothing.
        let lanes = if self.only_learns { 0 } else { cpus };
        self.lanes.join(who, lanes, &self.book);
    }

    /// A worker goes. What it had has ended before.
    pub(crate) fn departed(&mut self, worker: WorkerId) {
        self.lanes.depart(worker, &self.book);
    }

    /// The next number is that of a worker that nobody remembers.
    pub(crate) fn skip(&mut self) {
        self.lanes.skip();
    }

    /// A worker that went is not asked for again, so many seconds after 1970. Its speed is remembered by name.
    pub(crate) fn forget(&mut self, at: u64, worker: WorkerId) {
        if let Some(known) = self.book.forget(self.lanes.known_as(worker)) {
            self.memory.note(known, at);
        }
    }

    /// Where a task stands from now on, unless somebody has it: that is told by [`Dispatch::started`].
    pub(crate) fn stands(&mut self, task: TaskId, standing: Standing) {
        if self.only_learns {
            return;
        }
        self.outlook.stand(task, standing);
        if standing.is_settled() {
            // Somebody who is gone may still seem to be at it: no reason to begin it again.
            self.note_end(task);
        }
    }

    /// A worker begins with a task.
    pub(crate) fn started(&mut self, now: f64, task: TaskId, worker: WorkerId) {
        if self.only_learns {
            return;
        }
        let busy = Busy {
            task,
            kind: self.outlook.kind(task),
            base: self.outlook.base(task),
            since: now,
        };
        let others = self.lanes.running(task).count();
        // Only the second puts it on the list; a third finds it there.
        if self.lanes.start(worker, busy, now, &self.book).is_some() && others == 1 {
            self.copied.push(task);
        }
        self.outlook.stand(task, Standing::Leased);
        self.note_end(task);
    }

    /// A task came back well from a worker that had it since then. What the task is now is told apart.
    pub(crate) fn returned(&mut self, now: f64, since: f64, task: TaskId, worker: WorkerId) {
        if self.only_learns {
            self.learn(now, since, task, worker);
            return;
        }
        if let Some(Busy { kind, since, .. }) = self.lanes.end(worker, task) {
            let all = self.learn(now, since, task, worker);
            self.learnt(now, worker, all);
            if self.outlook.is_stale(kind, &self.book) {
                self.outlook.compute(&self.book);
                self.note_all_ends();
            }
        }
        self.left(task);
    }

    /// Whether that changed what is known of everybody.
    fn learn(&mut self, now: f64, since: f64, task: TaskId, worker: WorkerId) -> bool {
        let (kind, base) = (self.outlook.kind(task), self.outlook.base(task));
        let who = self.lanes.known_as(worker);
        // A moment of the engine is a microsecond: nothing took less. What took no time has no logarithm to learn from.
        let seconds = (now - since).max(1e-6);
        self.book.returned(who, kind, base, seconds)
    }

    /// A worker is no longer at a task, if it was still: nothing is learnt of that.
    pub(crate) fn stopped(&mut self, task: TaskId, worker: WorkerId) {
        if !self.only_learns {
            self.lanes.end(worker, task);
            self.left(task);
        }
    }

    /// What is known of tasks that several are at, and of this one, after somebody left it.
    fn left(&mut self, task: TaskId) {
        if !self.copied.is_empty() {
            let lanes = &self.lanes;
            self.copied.retain(|&t| lanes.running(t).count() > 1);
        }
        self.note_end(task);
    }

    /// An attempt of a worker's, which it is no longer at, failed.
    pub(crate) fn failed(&mut self, worker: WorkerId) {
        self.book.failed(self.lanes.known_as(worker));
    }

    /// A task that a worker is no longer at was lost with it.
    pub(crate) fn lost(&mut self, worker: WorkerId) {
        self.book.lost(self.lanes.known_as(worker));
    }

    /// Tasks of equal levels go by these ranks, smaller ones first.
    pub(crate) fn reorder(&mut self, rank: Vec<u32>) {
        self.outlook.reorder(rank, &self.book);
    }

    fn learnt(&mut self, now: f64, worker: WorkerId, all: bool) {
        match all {
            true => {
                // The mean of the pool has moved, and with it everybody of whom little is known.
                self.lanes.believe(&self.book);
                if self.lanes.busy_count() <= FEW_LANES {
                    self.lanes.look_at_all(now, &self.book);
                    self.note_all_ends();
                }
            }
            false => self.lanes.believe_one(worker, &self.book),
        }
    }

    fn tail(&self, task: TaskId) -> f64 {
        self.outlook.tail(task) / self.lanes.fast()
    }

    /// Writes down when a task will be over, with all that comes after it.
    fn note_end(&mut self, task: TaskId) {
        if let Some(known) = self.end_of[task.index()].take() {
            self.ends.remove(&(known, task));
        }
        let ends = self
            .lanes
            .running(task)
            .map(|lane| self.lanes.known(lane).at);
        let end = ends.fold(f64::INFINITY, f64::min);
        if end < f64::INFINITY && !self.outlook.standing(task).is_settled() {
            let key = EndBits::new(end + self.tail(task));
            self.end_of[task.index()] = Some(key);
            self.ends.insert((key, task));
        }
    }

    fn note_all_ends(&mut self) {
        let running: Vec<TaskId> = self.ends.iter().map(|&(_, task)| task).collect();
        running.into_iter().for_each(|task| self.note_end(task));
    }

    /// Before a request: lanes that come first are looked at again.
    fn look(&mut self, now: f64) {
        if self.lanes.busy_count() <= FEW_LANES {
            self.lanes.look_at_all(now, &self.book);
            self.note_all_ends();
            return;
        }
        // Ends of tasks that did not move stand.
        let moved = self.lanes.look_at_first(now, &self.book, LANES);
        for lane in moved {
            if let Some(Busy { task, .. }) = self.lanes.busy(lane) {
                self.note_end(task);
            }
        }
    }

    /// Idle lanes of those who ask, fastest first.
    fn idle(&self, asking: &[(WorkerId, usize)]) -> Vec<LaneId> {
        let each = |&(worker, want): &(WorkerId, usize)| self.lanes.idle_of(worker).take(want);
        let mut idle: Vec<LaneId> = asking.iter().flat_map(each).collect();
        let speed = |lane: LaneId| self.lanes.speed(self.lanes.worker(lane));
        // Stable: of equals whoever asked first.
        idle.sort_by(|&a, &b| speed(b).total_cmp(&speed(a)));
        idle
    }
}
