//! Storage under a cap: which tasks may start so that the disk is never over-full and the run never stuck. Knows no
//! workers, no priorities and no file system.
//!
//! A banker's rule. π is an order of the waiting tasks, found beforehand, whose peak is within the cap. For the waiting
//! task at place i, M(i) = need(X ∪ the waiting tasks before it in π, it), where X is what is done or running: what would
//! be in use if all that runs ended now and the rest went one by one along π. A task v may start if
//!
//! - (a) what is in use, and what v writes, and its scratch, are within the cap; and
//! - (b) once v has started, M(i) is within the cap for all places before that of v.
//!
//! Never over: (a) bounds what is in use. Never stuck: (b) depends on X alone, so that no end of a task can break it;
//! when nothing runs, what is in use is L(X), and the first waiting task of π passes both. Whatever the priorities, the
//! number of workers and who ends first.
//!
//! A task that comes back undone goes *first* in π: what it needs was in use a moment ago, so that is always safe; its old
//! place is not. Sizes that grow, tasks given up whose inputs are kept, and outputs that are lost can break safety: the
//! rule then still allows what comes first and fits, never goes over on what it knows, and says how many bytes are
//! missing once it is stuck; [`Keeper::adopt`] takes another order.

mod curve;
mod follow;
mod held;
mod learn;
mod number;
mod peaks;
mod replan;

pub use self::curve::{AreaByCap, area_by_cap, caps_between};
pub use self::replan::Shortfall;

use crate::Sizes;
use crate::budgets::storage::{ASKED, NEXT};
use cairn_dag::{TaskId, narrow, wide};
use cairn_kernel::{NONE, places};
use cairn_theory::game::Standing;
use cairn_theory::storage::{FileId, Storage, StorageError};
use peaks::Peaks;

/// Why an order is of no use to a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOrder {
    /// It is not an order of just the tasks that wait.
    #[error("the order does not name every waiting task once")]
    Incomplete,
    /// It needs more than the cap.
    #[error("the order needs {missing} bytes more than the cap")]
    Over {
        /// How much more.
        missing: u64,
    },
}

/// What happens to the inputs of a task that is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftovers {
    /// They stay, and count, so that it can be tried again.
    #[default]
    Stay,
    /// They are freed once nobody else reads them.
    Go,
}

/// Keeps storage under a cap.
///
/// A start costs O((1 + inputs)·log tasks), an end O(inputs). Memory: some 50 bytes a task with one file, and 12 for each
/// reader of a file.
#[derive(Clone, Debug)]
pub struct Keeper {
    storage: Storage,
    cap: u64,
    leftovers: Leftovers,
    /// By task. Who waits and who is eligible is one to storage: only [`Standing::is_unbegun`] is asked, and kept.
    standing: Vec<Standing>,
    /// By task: its place in π; of tasks that do not wait, one it had or none.
    place: Vec<u32>,
    /// By place: which task has it, or had.
    at: Vec<u32>,
    /// By task: its place in the order given first, which is topological whatever waits.
    given: Vec<u32>,
    /// The least place that was ever given since π was numbered; places below are free, for tasks that come back.
    front: u32,
    /// M by place.
    peaks: Peaks,
    /// As [`Storage::all_consumers`], but those of each file by rising place.
    readers: Vec<u32>,
    /// By file: all its readers from this one on are not waiting.
    upto: Vec<u32>,
    /// By file: readers that are not done.
    open: Vec<u32>,
    /// By file: never freed, because it is kept, or its reader was given up.
    is_pinned: Vec<bool>,
    used: u64,
    /// Bytes that lie there beyond what is in use: [`Keeper::hold`].
    held: u64,
    /// Those of them that a task will write over, by task.
    lies: hashbrown::HashMap<TaskId, u64>,
    /// L(X): what would be in use if all that runs ended now.
    live: u64,
    running: usize,
    /// How often anything changed.
    version: u64,
    /// Sum of all changes to the peaks since π was numbered: before they could overflow, it is numbered anew.
    drift: u64,
    /// Whether tasks stand elsewhere than is known here.
    is_stale: bool,
    frees: Vec<(u32, u64)>,
    /// What is learnt of sizes, where anything is.
    sizes: Option<Box<Sizes>>,
}

fn signed(bytes: u64) -> i64 {
    debug_assert!(bytes < 1 << 62);
    bytes as i64
}

/// The largest drift: half of what separates places that are gone from those that are not.
// Beyond it a place that is gone could seem to be there; numbering anew costs once in 2⁶¹ bytes of changes.
const MOST_DRIFT: u64 = 1 << 61;

impl Keeper {
    /// As good as no cap.
    // What is reserved is added to it, and differences are signed: two bits stay free.
    pub const NO_CAP: u64 = u64::MAX >> 2;

    /// How many tasks are asked about by priorities before the keeper's own order is.
    pub const ASKED: usize = ASKED;

    /// Nothing started yet. `order` is to have a peak within `cap`.
    ///
    /// # Errors
    /// If it has not, or is no order of all tasks.
    pub fn new(storage: Storage, order: &[TaskId], cap: u64) -> Result<Keeper, BadOrder> {
        let tasks = storage.tasks();
        let files = storage.files().len();
        let mut keeper = Keeper {
            cap,
            leftovers: Leftovers::default(),
            standing: vec![Standing::Waiting; tasks],
            place: vec![NONE; tasks],
            at: Vec::new(),
            given: Vec::new(),
            front: 0,
            peaks: Peaks::default(),
            readers: storage.all_consumers().to_vec(),
            upto: vec![0; files],
            open: vec![0; files],
            is_pinned: vec![false; files],
            used: 0,
            held: 0,
            lies: hashbrown::HashMap::new(),
            live: 0,
            running: 0,
            version: 0,
            drift: 0,
            is_stale: false,
            frees: Vec::new(),
            sizes: None,
            storage,
        };
        // Before places are given: an order that names a task twice would leave another without one.
        keeper.check(order)?;
        keeper.given = places(order);
        keeper.number(order);
        match keeper.excess() {
            0 => Ok(keeper),
            missing => Err(BadOrder::Over { missing }),
        }
    }

    /// What happens to the inputs of tasks that are given up; they stay unless told otherwise.
    pub fn set_leftovers(&mut self, leftovers: Leftovers) {
        self.leftovers = leftovers;
        self.renumber(None);
    }

    /// The cap from now on, for instance since others fill the disk. A smaller one can make the order unsafe.
    pub fn set_cap(&mut self, cap: u64) {
        self.cap = cap;
        self.version += 1;
    }

    /// The cap.
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// Bytes reserved now: by what runs, by files that are wanted, by what is kept.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Bytes reserved by what runs: its files, as large as they are expected to be, and its scratch.
    pub fn reserved(&self) -> u64 {
        let running = (0..self.standing.len()).filter(|&t| self.standing[t] == Standing::Leased);
        let reserved = running.map(|t| self.storage.reserved(TaskId::new(t)));
        reserved.sum()
    }

    /// The files.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.storage.heap_bytes()
            + self.standing.capacity()
            + 4 * (self.place.capacity() + self.at.capacity() + self.given.capacity())
            + 4 * self.readers.capacity()
            + 4 * (self.upto.capacity() + self.open.capacity())
            + self.is_pinned.capacity()
            + self.peaks.heap_bytes()
            + self.sizes.as_ref().map_or(0, |s| s.heap_bytes())
    }

    /// Whether the rule's promise holds: what is in use, and the rest one by one along the order, are within the cap.
    pub fn is_safe(&self) -> bool {
        self.used <= self.cap && self.excess() == 0
    }

    /// By how much the order passes the cap.
    fn excess(&self) -> u64 {
        let most = u64::try_from(self.peaks.max()).unwrap_or(0);
        most.saturating_sub(self.cap)
    }

    /// Bytes that are missing when nothing runs and the first task of the order does not fit; 0 otherwise.
    pub fn missing(&self) -> u64 {
        if self.running > 0 {
            return 0;
        }
        let first = u64::try_from(self.peaks.first().unwrap_or(0)).unwrap_or(0);
        let task = (self.peaks.first_place()).map(|place| TaskId(self.at[wide(place)]));
        let held = self.held - task.map_or(0, |task| self.lying(task));
        first.saturating_add(held).saturating_sub(self.cap)
    }

    /// Where a task stands, as far as this was told: waiting and eligible are one to it.
    pub fn standing(&self, task: TaskId) -> Standing {
        self.standing[task.index()]
    }

    /// Whether a task whose parents are done may start now.
    ///
    /// # Panics
    /// If the task does not wait.
    pub fn may(&mut self, task: TaskId) -> bool {
        assert!(self.standing[task.index()].is_unbegun(), "{task:?}");
        if self.sizes.as_ref().is_some_and(|sizes| !sizes.may(task)) {
            return false;
        }
        let reserved = self.storage.reserved(task);
        // It writes over what lies there of its own outputs.
        let there = self.there() - self.lying(task);
        if there.saturating_add(reserved) > self.cap {
            return false;
        }
        let place = self.place[task.index()];
        let cap = i64::try_from(self.cap).unwrap_or(i64::MAX);
        let before = self.peaks.max_between(self.front, place);
        // The cheap half of (b): it would hold even if the start freed nothing.
        if before.saturating_add(signed(self.lasting(task))) <= cap {
            return true; // Even without what it frees.
        }
        let frees = self.frees(task);
        // Tried on the numbers themselves and taken back: a copy of them would cost O(tasks).
        let is_safe = !frees.is_empty() && {
            let grows = signed(self.lasting(task));
            self.peaks.add(self.front, place, grows);
            for &(from, bytes) in &frees {
                self.peaks.add(from, place + 1, -signed(bytes));
            }
            let most = self.peaks.max_between(self.front, place);
            for &(from, bytes) in &frees {
                self.peaks.add(from, place + 1, signed(bytes));
            }
            self.peaks.add(self.front, place, -grows);
            most <= cap
        };
        self.frees = frees;
        is_safe
    }

    /// Where the task that makes a file stands. What nobody makes is there, as if it were made.
    fn standing_of(&self, producer: Option<TaskId>) -> Standing {
        producer.map_or(Standing::Executed, |task| self.standing[task.index()])
    }

    /// Whether a file stays once it is made: it is pinned, or somebody will read it.
    fn is_wanted(&self, file: FileId) -> bool {
        self.is_pinned[file.index()] || self.open[file.index()] > 0
    }

    /// What stays of a task's files when it has ended.
    fn lasting(&self, task: TaskId) -> u64 {
        let stays = self.storage.outputs(task).filter(|&f| self.is_wanted(f));
        stays.map(|f| self.storage.bytes(f)).sum()
    }

    /// The inputs that no other waiting task wants so late: from which place on up to that of the task, and how much. In
    /// a list that is to be put back.
    fn frees(&mut self, task: TaskId) -> Vec<(u32, u64)> {
        let mut frees = std::mem::take(&mut self.frees);
        frees.clear();
        for file in self.storage.inputs(task) {
            if self.is_pinned[file.index()] {
                continue;
            }
            let readers = &mut self.readers[self.storage.consumer_slots(file)];
            let upto = &mut self.upto[file.index()];
            let (last, before) = last_readers(readers, upto, &self.standing);
            // By π the file lies there until its last reader has run. If that one goes first, it lies there only until the one
            // before it: all places in between are relieved.
            if last == Some(task.0) {
                let from = before.map_or(self.front, |t| self.place[wide(t)] + 1);
                frees.push((from, self.storage.bytes(file)));
            }
        }
        frees
    }

    /// A waiting task starts: what it writes is reserved.
    ///
    /// # Panics
    /// If the task does not wait.
    pub fn start(&mut self, task: TaskId) {
        assert!(self.standing[task.index()].is_unbegun(), "{task:?}");
        let place = self.place[task.index()];
        let frees = self.frees(task);
        let lasting = self.lasting(task);
        self.change(self.front, place, signed(lasting));
        for &(from, bytes) in &frees {
            self.change(from, place + 1, -signed(bytes));
        }
        self.frees = frees;
        // It waits no more, so that its own peak binds nobody.
        self.peaks.clear(place);
        self.standing[task.index()] = Standing::Leased;
        self.write_over(task);
        self.running += 1;
        self.version += 1;
        if let Some(sizes) = &mut self.sizes {
            sizes.start(task);
        }
        self.used += self.storage.reserved(task);
        self.live += lasting;
        for file in self.storage.inputs(task) {
            let readers = &mut self.readers[self.storage.consumer_slots(file)];
            let (last, _) = last_readers(readers, &mut self.upto[file.index()], &self.standing);
            if last.is_none() && !self.is_pinned[file.index()] {
                self.live -= self.storage.bytes(file);
            }
        }
        // Sums of changes must stay below what marks a place as gone.
        if self.drift > MOST_DRIFT {
            self.renumber(None);
        }
    }

    fn change(&mut self, from: u32, to: u32, bytes: i64) {
        if from < to {
            self.drift = self.drift.saturating_add(bytes.unsigned_abs());
            self.peaks.add(from, to, bytes);
        }
    }

    /// A running task has ended well. Its scratch, what it wrote for nobody, and the inputs that nobody else reads are
    /// free: delete first, then say so.
    ///
    /// # Panics
    /// If the task does not run.
    pub fn finish(&mut self, task: TaskId) {
        assert_eq!(self.standing[task.index()], Standing::Leased, "{task:?}");
        self.standing[task.index()] = Standing::Executed;
        self.end(task);
        self.used -= self.storage.scratch(task);
        let outputs = self.storage.outputs(task);
        let dead = outputs.filter(|&f| !self.is_wanted(f));
        self.used -= dead.map(|f| self.storage.bytes(f)).sum::<u64>();
        for file in self.storage.inputs(task) {
            self.open[file.index()] -= 1;
            if self.open[file.index()] == 0 && !self.is_pinned[file.index()] {
                self.used -= self.storage.bytes(file);
            }
        }
    }

    fn end(&mut self, task: TaskId) {
        self.running -= 1;
        self.version += 1;
        if let Some(sizes) = &mut self.sizes {
            sizes.end(task);
        }
    }

    /// A task is executed: one that runs, or one that was given up for lost and returns after all, asked for or not.
    pub(crate) fn execute(&mut self, task: TaskId) {
        // Nobody asks whether it may: its files are there already.
        if self.standing[task.index()].is_unbegun() {
            self.start(task);
        }
        self.finish(task);
    }

    /// Whether a file that is not kept is wanted no more: it may be deleted.
    pub fn is_free(&self, file: FileId) -> bool {
        let is_made = self.standing_of(self.storage.producer(file)) == Standing::Executed;
        is_made && !self.is_pinned[file.index()] && self.open[file.index()] == 0
    }

    /// A running task comes back undone, and what it wrote is gone: it waits again, first of all.
    ///
    /// # Panics
    /// If the task does not run.
    pub fn release(&mut self, task: TaskId) {
        assert_eq!(self.standing[task.index()], Standing::Leased, "{task:?}");
        self.standing[task.index()] = Standing::Eligible;
        self.end(task);
        self.used -= self.storage.reserved(task);
        // No free place is left before the first: all get new ones.
        if self.front == 0 {
            return self.renumber(Some(task));
        }
        self.front -= 1;
        self.place[task.index()] = self.front;
        self.at[wide(self.front)] = task.0;
        self.live -= self.lasting(task);
        for file in self.storage.inputs(task) {
            let readers = &mut self.readers[self.storage.consumer_slots(file)];
            let at = readers.iter().position(|&t| t == task.0);
            let at = at.expect("a reader of its inputs");
            // By place it is the first reader now.
            readers[..=at].rotate_right(1);
            let upto = &mut self.upto[file.index()];
            if *upto == 0 && !self.is_pinned[file.index()] {
                self.live += self.storage.bytes(file);
            }
            if wide(*upto) <= at {
                *upto += 1;
            }
        }
        let need = self.live + self.storage.reserved(task);
        self.peaks.set(self.front, signed(need));
    }

    /// A file turns out to have another size, or is expected to. The order may be unsafe afterwards.
    ///
    /// # Errors
    /// If all files together would be too much; nothing is changed then.
    pub fn resize(&mut self, file: FileId, bytes: u64) -> Result<(), StorageError> {
        let old = self.storage.bytes(file);
        self.storage.resize(file, bytes)?;
        self.version += 1;
        let grows = signed(bytes) - signed(old);
        let is_wanted = self.is_wanted(file);
        let is_pinned = self.is_pinned[file.index()];
        let readers = &mut self.readers[self.storage.consumer_slots(file)];
        let (last, _) = last_readers(readers, &mut self.upto[file.index()], &self.standing);
        // It takes room at every place from the one behind its producer up to its last reader: there all peaks move alike.
        let end = match last {
            _ if is_pinned => narrow(self.at.len()),
            Some(last) => self.place[wide(last)] + 1,
            None => 0,
        };
        let producer = self.storage.producer(file);
        let standing = self.standing_of(producer);
        let from = match producer {
            _ if standing.is_given_up() => return Ok(()),
            // Not written yet: at its producer's own place it is part of what that writes, wanted later or not.
            Some(task) if standing.is_unbegun() => {
                let place = self.place[task.index()];
                self.change(place, place + 1, grows);
                place + 1
            }
            // Written or being written: no place counts for it any more but what is in use now.
            _ => {
                let is_there =
                    standing == Standing::Leased || is_pinned || self.open[file.index()] > 0;
                if is_there {
                    self.used = self.used.saturating_add_signed(grows);
                }
                if is_wanted && end > 0 {
                    self.live = self.live.saturating_add_signed(grows);
                }
                self.front
            }
        };
        if is_wanted {
            self.change(from, end, grows);
        }
        Ok(())
    }

    /// Takes another order of the waiting tasks, topological, if it is within the cap; else the old one stays.
    ///
    /// # Errors
    /// If it is not.
    pub fn adopt(&mut self, order: &[TaskId]) -> Result<(), BadOrder> {
        self.check(order)?;
        // Its peak is known only once everything is numbered by it.
        let old = self.waiting();
        self.number(order);
        match self.excess() {
            0 => Ok(()),
            missing => {
                self.number(&old);
                Err(BadOrder::Over { missing })
            }
        }
    }

    /// The waiting tasks by π.
    pub fn waiting(&self) -> Vec<TaskId> {
        let tasks = (0..narrow(self.standing.len())).map(TaskId);
        let waits = |t: &TaskId| self.standing[t.index()].is_unbegun();
        let mut waiting: Vec<TaskId> = tasks.filter(waits).collect();
        waiting.sort_unstable_by_key(|t| (self.place[t.index()], self.given[t.index()]));
        waiting
    }

    /// The first waiting tasks by π, as far as they are worth looking at when those of higher priority may not start.
    pub fn next_by_order(&self) -> impl Iterator<Item = TaskId> + '_ {
        let first = self.peaks.first_place().map_or(self.at.len(), wide);
        let tasks = self.at[first..].iter().take(NEXT);
        let tasks = tasks.filter(|&&t| t != NONE).map(|&t| TaskId(t));
        tasks.filter(|t| self.standing[t.index()].is_unbegun())
    }

    /// How often anything changed: what may not start may not until this changes.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Tasks stand elsewhere than this knows: it is to be told by [`Keeper::sync`].
    pub(crate) fn set_stale(&mut self) {
        self.is_stale = true;
    }

    /// Whether tasks stand elsewhere than this knows.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Learns where all tasks stand. Tasks that were given up leave the order. If any waits that did not, all go by
    /// the order given first, for a place of its own may be unsafe for it: ask [`Keeper::is_safe`].
    pub fn sync(&mut self, standing: impl Fn(TaskId) -> Standing) {
        self.is_stale = false;
        let mut comes_back = false;
        for index in 0..self.standing.len() {
            let now = standing(TaskId::new(index));
            comes_back |= now.is_unbegun() && !self.standing[index].is_unbegun();
            self.standing[index] = now;
        }
        if comes_back {
            // The order given first is topological whatever waits; a mixture of old and new places need not be.
            self.place.copy_from_slice(&self.given);
        }
        self.settle_lying();
        self.renumber(None);
        if let Some(sizes) = self.sizes.take() {
            self.learn(*sizes);
        }
    }
}

/// The last waiting reader of a file by place, and the one before. Those that do not wait move behind: amortised O(1).
fn last_readers(
    readers: &mut [u32],
    upto: &mut u32,
    standing: &[Standing],
) -> (Option<u32>, Option<u32>) {
    let waits = |t: u32| standing[wide(t)].is_unbegun();
    while *upto > 0 && !waits(readers[wide(*upto) - 1]) {
        *upto -= 1;
    }
    let Some(last) = wide(*upto).checked_sub(1) else {
        return (None, None);
    };
    let mut at = last;
    while at > 0 && !waits(readers[at - 1]) {
        at -= 1;
    }
    // All between these two do not wait: those that do stay by rising place.
    readers.swap(at, last);
    *upto = narrow(at + 1);
    let before = at.checked_sub(1).map(|i| readers[i]);
    (Some(readers[at]), before)
}

#[cfg(test)]
mod tests;
