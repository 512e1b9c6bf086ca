//! Files of a flow on a real disk: measured when they are made, deleted when they are temporary and the last that reads them is
//! committed as executed; and the free space beside them. Decides nothing, that is the keeper's; knows neither processes nor
//! requests.
//!
//! What is deleted is credited afterwards, and it is deleted only once the end of its last reader is committed. So a file is
//! there or it is not, and whoever goes on after a crash looks which: [`Disk::settle`].

mod away;
mod learnt;
mod setup;
mod there;

pub(crate) use away::{Away, Ceased};
pub(crate) use learnt::{SIZES, stored};
pub use setup::{DiskSetup, PLANNING_WITHIN_CAP};
pub(crate) use setup::{Tight, tight};
pub(crate) use there::Swept;
use there::{aside, swept_from};
pub use there::{bytes_at, delete};

use crate::found::Found;
use crate::free::{NO_LIMIT, free_bytes};
use cairn_dag::TaskId;
use cairn_engine::{Engine, Keeper, Position, Taken, Task};
use cairn_theory::game::Standing;
use cairn_theory::storage::{FileId, Storage};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// How often the free space is looked at.
// Nobody tells when others write: twice a second a disk that fills with some hundred megabytes a second is seen before it is full,
// mostly. A look measures the outputs of all that runs, so that it is not for free.
const LOOK: Duration = Duration::from_millis(500);

/// So much stays free for what nobody declares: the store, logs.
// A judgement, and promised in the docs: a store of a large run grows by some megabytes between two looks. Much more would make
// small disks useless; with nothing, the store itself would be the first that cannot be written.
const SPARE: u64 = 8 << 20;

/// How long an order may be looked for when the one in force is not safe any more; and how many times as long as it took nobody
/// looks again.
// Whoever asks for tasks waits meanwhile: so it takes no more than a tenth of the time.
const REPLAN: Duration = Duration::from_secs(2);
const REST: u32 = 10;

/// The files of a flow, and what they may take.
pub struct Layout {
    /// Who writes and reads what; what is not kept is temporary.
    pub storage: Storage,
    /// By file: where it is; `None` where nobody names it.
    pub paths: Vec<Option<String>>,
    /// The kinds of tasks, by the number that the keeper's sizes have for them.
    pub kinds: Vec<String>,
    /// The cap, where there is one.
    pub cap: Option<Cap>,
}

/// What files may take.
pub struct Cap {
    /// How many bytes.
    pub most: Most,
    /// Keeps to it: with sizes as they are reserved, an order of all tasks, and no cap yet.
    pub keeper: Keeper,
    /// The folder whose free space is watched.
    pub folder: PathBuf,
}

/// Bytes, as people say them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Most {
    /// So many.
    Bytes(u64),
    /// A share of what is free, and of what the files take already.
    OfFree(f64),
}

impl Most {
    /// In bytes, by what is free beside files that take so much: that was free before them, so that a second start has the same
    /// cap.
    ///
    /// # Errors
    /// If it is not known what is free, and it matters.
    pub fn bytes(self, free: impl FnOnce() -> io::Result<u64>, there: u64) -> io::Result<u64> {
        match self {
            Most::Bytes(bytes) => Ok(bytes),
            Most::OfFree(share) => {
                let all = free()?.saturating_add(there);
                Ok((all as f64 * share) as u64)
            }
        }
    }
}

/// Why no order is within a cap, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unkept {
    /// What is wrong, with its proof where there is one.
    pub message: String,
    /// What to do.
    pub cure: String,
}

/// Looks for priorities that are faster under the cap of a keeper, by which nothing was started; while tasks run already.
pub type Priorities<'a> = dyn Fn(&Keeper) -> Receiver<Found> + 'a;

/// Finds an order of the waiting tasks that is within the keeper's cap, in about this time, and has the keeper take it. Returns
/// in which order they are tried then: the cap is tight.
pub type Planner<'a> = dyn Fn(&mut Keeper, Duration) -> Result<Vec<TaskId>, Unkept> + Sync + 'a;

impl Layout {
    /// The paths of the temporary files.
    pub(crate) fn temporary(&self) -> HashSet<&str> {
        let files = self.storage.files().filter(|&f| !self.storage.is_kept(f));
        files.filter_map(|f| self.path(f)).collect()
    }

    fn path(&self, file: FileId) -> Option<&str> {
        self.paths.get(file.index())?.as_deref()
    }
}

/// How the disk of a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The cap; less than was asked for where others fill the disk.
    pub cap: u64,
    /// What was asked for.
    pub asked: u64,
    /// What files take that are made and wanted, or wait to be deleted.
    pub used: u64,
    /// What is kept for tasks that run.
    pub reserved: u64,
    /// The most that was there or reserved at once since the start.
    pub peak: u64,
    /// Free on the disk, when somebody looked; [`NO_LIMIT`] where nobody could tell.
    pub free: u64,
    /// Whether the rest can go on one by one within the cap.
    pub is_safe: bool,
}

/// The files of a flow while it runs.
pub(crate) struct Disk {
    storage: Storage,
    /// By file: where it is.
    places: Vec<Option<PathBuf>>,
    /// By file: readers that are not executed.
    left: Vec<u32>,
    /// Wanted no more since events that were not handed over yet.
    fresh: Vec<(FileId, u64)>,
    /// Wanted no more since the group of events with this number.
    due: VecDeque<(u64, FileId, u64)>,
    cap: Option<Watched>,
    /// When an order may be looked for again, and the keeper's version when that was done last.
    planned: Option<(Instant, u64)>,
    /// The kinds of tasks, by number.
    kinds: Vec<String>,
    /// When it was last told what was learnt of sizes, and the text.
    told: Option<(Instant, String)>,
}

/// The cap, and the space that others leave.
struct Watched {
    folder: PathBuf,
    most: u64,
    free: u64,
    looked: Option<Instant>,
    /// The most that was ever there or reserved since it is watched.
    peak: u64,
}

impl Disk {
    /// The files, beneath the folders of their tasks; and whoever keeps them under a cap, where there is one.
    fn new(layout: Layout, directory: &dyn Fn(TaskId) -> Option<PathBuf>) -> (Disk, Option<Cap>) {
        let places = layout.places(directory);
        let Layout {
            storage,
            kinds,
            cap,
            ..
        } = layout;
        let disk = Disk {
            places,
            left: vec![0; storage.files().len()],
            fresh: Vec::new(),
            due: VecDeque::new(),
            cap: None,
            planned: None,
            kinds,
            told: None,
            storage,
        };
        (disk, cap)
    }

    /// Whether there is a cap.
    pub(crate) fn is_capped(&self) -> bool {
        self.cap.is_some()
    }

    /// Where a file is, if anybody says.
    fn place(&self, file: FileId) -> Option<&Path> {
        self.places[file.index()].as_deref()
    }

    /// Learns where all tasks stand, what earlier runs learnt of sizes and what lies on the disk, and puts the keeper in its place. Temporary files that nobody wants
    /// any more go now, if anything may. What tasks under way have written is part of what they reserve.
    ///
    /// # Errors
    /// If the free space is wanted and cannot be told.
    pub(crate) fn settle<P: Position>(
        &mut self,
        engine: &mut Engine<P>,
        cap: Option<Cap>,
        known: &Taken,
        may_delete: bool,
    ) -> io::Result<Vec<Swept>> {
        // Before anything is taken for free: after a crash the counts of this process are all that there is.
        self.recount(engine);
        let mut watched = None;
        if let Some(mut cap) = cap {
            let known = known.learnt(&self.kinds);
            if !known.is_empty() {
                // Too large to be true: then it is learnt anew.
                let _ = cap.keeper.recall(&known);
            }
            engine.keep(cap.keeper);
            watched = Some((cap.most, cap.folder));
        }
        let mut swept = Vec::new();
        let (there, mut waits) = self.take_stock(engine, watched.is_some(), may_delete, &mut swept);
        if let Some((most, folder)) = watched {
            let free = free_bytes(&folder);
            let most = most.bytes(|| free.as_ref().copied().map_err(copied), there)?;
            self.cap = Some(Watched {
                folder,
                most,
                free: free.unwrap_or(NO_LIMIT),
                looked: None,
                peak: 0,
            });
            if let Some(keeper) = engine.keeper_mut() {
                keeper.set_cap(most);
            }
            // Twice does no harm: what lies there of a task replaces what was said of it before.
            waits.dedup();
            waits.iter().for_each(|&t| self.left_behind(engine, t));
            self.note(engine);
        }
        Ok(swept)
    }

    /// Looks at every file that counts: what nobody wants any more goes, if anything may. The bytes that stay there, and the tasks
    /// whose files are there before they are executed.
    fn take_stock<P: Position>(
        &self,
        engine: &mut Engine<P>,
        is_capped: bool,
        may_delete: bool,
        swept: &mut Vec<Swept>,
    ) -> (u64, Vec<TaskId>) {
        let mut there = 0;
        let mut waits: Vec<TaskId> = Vec::new();
        for file in self.storage.files() {
            let producer = self.storage.producer(file);
            let is_made = producer.is_none_or(|t| is_executed(engine, t));
            let is_free = is_made && self.is_free(file);
            if !is_free && !is_capped {
                continue;
            }
            let Some(path) = self.place(file) else {
                continue;
            };
            // What failed attempts left beside it takes room until a person removes it.
            let path = path.to_owned();
            let aside = if is_capped { aside(&path) } else { 0 };
            there += aside;
            let mut held = aside;
            if let Some(bytes) = bytes_at(&path) {
                let is_gone = is_free && may_delete && {
                    let gone = swept_from(path, bytes);
                    let is_gone = gone.left.is_none();
                    swept.push(gone);
                    is_gone
                };
                if !is_gone {
                    there += bytes;
                }
                // Each byte counts once: as measured where the keeper counts the file, as held where it is free for the keeper and
                // lies there all the same, and as what its task will write over where that is still to come.
                match producer {
                    _ if is_gone => (),
                    _ if is_free => held += bytes,
                    Some(task) if !is_made => waits.push(task),
                    _ => measured(engine, file, bytes),
                }
            }
            if let Some(keeper) = engine.keeper_mut().filter(|_| held > 0) {
                keeper.hold(held);
            }
        }
        (there, waits)
    }

    /// Counts readers that are not executed: at the beginning, and when tasks are executed again.
    pub(crate) fn recount<P: Position>(&mut self, engine: &Engine<P>) {
        for file in self.storage.files() {
            let open = (self.storage.consumers(file)).filter(|&t| !is_executed(engine, t));
            self.left[file.index()] = open.count() as u32;
        }
    }

    /// Whether a file that is made is temporary and everybody has read it.
    fn is_free(&self, file: FileId) -> bool {
        !self.storage.is_kept(file) && self.left[file.index()] == 0
    }

    /// An attempt at a task is over and the task is not executed: what lies there of its outputs counts until somebody begins
    /// with it again and writes over it.
    pub(crate) fn left_behind<P: Position>(&self, engine: &mut Engine<P>, task: TaskId) {
        // Without a cap nobody counts: no file is looked at.
        if self.cap.is_none() {
            return;
        }
        let places = self.storage.outputs(task).filter_map(|f| self.place(f));
        let bytes = places.filter_map(bytes_at).sum();
        if let Some(keeper) = engine.keeper_mut() {
            keeper.lies(task, bytes);
        }
    }

    /// Notes the most that was ever there or reserved.
    pub(crate) fn note<P: Position>(&mut self, engine: &Engine<P>) {
        if let Some((cap, keeper)) = self.cap.as_mut().zip(engine.keeper()) {
            cap.peak = cap.peak.max(keeper.there());
        }
    }

    /// A task has ended well, and is not said to be executed yet: how large are its files?
    pub(crate) fn measure<P: Position>(&self, engine: &mut Engine<P>, task: TaskId) {
        if self.cap.is_none() {
            return;
        }
        for file in self.storage.outputs(task) {
            match self.place(file) {
                Some(path) => measured(engine, file, bytes_at(path).unwrap_or(0)),
                // Nobody will ever see it. What is not known of it is nothing.
                None if self.storage.bytes(file) == 0 => measured(engine, file, 0),
                None => (),
            }
        }
    }

    /// A task is executed, though that is not written yet.
    pub(crate) fn executed<P: Position>(&mut self, engine: &mut Engine<P>, task: TaskId) {
        let inputs: Vec<FileId> = self.storage.inputs(task).collect();
        for &file in &inputs {
            let left = &mut self.left[file.index()];
            *left = left.saturating_sub(1);
        }
        for file in inputs.into_iter().chain(self.storage.outputs(task)) {
            if !self.is_free(file) || self.place(file).is_none() {
                continue;
            }
            let mut bytes = 0;
            if let Some(keeper) = engine.keeper_mut() {
                bytes = keeper.storage().bytes(file);
                // For the keeper it is gone; on the disk it lies until this is committed.
                keeper.hold(bytes);
            }
            self.fresh.push((file, bytes));
        }
    }

    /// What lies there and should not counts all the same.
    pub(crate) fn lies<P: Position>(&mut self, engine: &mut Engine<P>, path: &Path) {
        if let Some(keeper) = engine.keeper_mut() {
            keeper.hold(bytes_at(path).unwrap_or(0));
        }
    }

    /// All that happened is in the group of this number, or in one before.
    pub(crate) fn handed_over(&mut self, group: u64) {
        // Only now is it known which commit they wait for: their ends were not handed over when they became free.
        let fresh = self.fresh.drain(..);
        self.due
            .extend(fresh.map(|(file, bytes)| (group, file, bytes)));
    }

    /// Whether files wait to be deleted.
    pub(crate) fn has_due(&self) -> bool {
        !self.fresh.is_empty() || !self.due.is_empty()
    }

    /// Deletes what nobody wants any more since groups up to this one, which are committed.
    pub(crate) fn sweep<P: Position>(
        &mut self,
        engine: &mut Engine<P>,
        committed: u64,
    ) -> Vec<Swept> {
        let mut swept = Vec::new();
        while let Some((group, file, bytes)) = self.due.front().copied() {
            // By rising group: those behind are not committed either.
            if group > committed {
                break;
            }
            self.due.pop_front();
            // Somebody may want it again since: then the keeper counts it as in use, and what was held for it goes.
            let producer = self.storage.producer(file);
            let is_made = producer.is_none_or(|t| is_executed(engine, t));
            let Some(path) = self.place(file).filter(|_| is_made && self.is_free(file)) else {
                if let Some(keeper) = engine.keeper_mut() {
                    keeper.let_go(bytes);
                }
                continue;
            };
            let gone = swept_from(path.to_owned(), bytes);
            // What cannot be deleted counts on.
            if let Some(keeper) = engine.keeper_mut().filter(|_| gone.left.is_none()) {
                keeper.let_go(bytes);
            }
            swept.push(gone);
        }
        swept
    }

    /// Looks at the free space now and then: where others leave less than the cap allows, that is the cap. Attempts that were
    /// lost may still write so much.
    pub(crate) fn watch<P: Position>(&mut self, engine: &mut Engine<P>, lost: u64) {
        // Measured only when it is due: the loop comes here with every end of a task.
        let unwritten = match &self.cap {
            Some(cap) if cap.looked.is_none_or(|at| at.elapsed() >= LOOK) => {
                self.unwritten(engine).saturating_add(lost)
            }
            _ => return,
        };
        let Some((cap, keeper)) = self.cap.as_mut().zip(engine.keeper_mut()) else {
            return;
        };
        cap.looked = Some(Instant::now());
        // Where it cannot be told, what was asked for holds.
        cap.free = free_bytes(&cap.folder).unwrap_or(NO_LIMIT);
        let there = keeper.there();
        let most = room(cap.most, there, unwritten, cap.free);
        // A new cap has all waiting tasks looked at again.
        if most != keeper.cap() {
            keeper.set_cap(most);
        }
    }

    /// Looks for another order as soon as the one in force is not safe, since sizes turned out larger, tasks failed for good, or others
    /// fill the disk: later on it may be too late. Not all the time: what was found to be unsafe is not looked at again until
    /// something changed.
    pub(crate) fn replan<P: Position>(&mut self, engine: &mut Engine<P>, planner: &Planner<'_>) {
        let Some(keeper) = engine.keeper_mut().filter(|k| !k.is_safe()) else {
            return;
        };
        let now = Instant::now();
        let may_plan = |(at, version): (Instant, u64)| now >= at && version != keeper.version();
        if !self.planned.is_none_or(may_plan) || keeper.waiting().is_empty() {
            return;
        }
        // If there is none, what comes first and fits still goes. The keeper has the new order or the old one, never half of one.
        let _ = planner(keeper, REPLAN);
        self.planned = Some((now + now.elapsed() * (1 + REST), keeper.version()));
    }

    /// What running tasks reserved and have not written yet.
    fn unwritten<P: Position>(&self, engine: &Engine<P>) -> u64 {
        let Some(keeper) = engine.keeper() else {
            return 0;
        };
        let running = engine.held().filter_map(|(_, task, _)| task.frozen());
        let left = running.map(|task| {
            let places = self.storage.outputs(task).filter_map(|f| self.place(f));
            let written: u64 = places.filter_map(bytes_at).sum();
            keeper.storage().reserved(task).saturating_sub(written)
        });
        left.sum()
    }

    /// Whether others leave less than was asked for.
    pub(crate) fn is_squeezed<P: Position>(&self, engine: &Engine<P>) -> bool {
        let cap = self.cap.as_ref().zip(engine.keeper());
        cap.is_some_and(|(cap, keeper)| keeper.cap() < cap.most)
    }

    /// How the disk stands, where there is a cap.
    pub(crate) fn usage<P: Position>(&self, engine: &Engine<P>) -> Option<Usage> {
        let (cap, keeper) = self.cap.as_ref().zip(engine.keeper())?;
        let reserved = keeper.reserved();
        let all = keeper.there();
        Some(Usage {
            cap: keeper.cap(),
            asked: cap.most,
            used: all.saturating_sub(reserved),
            reserved,
            peak: cap.peak.max(all),
            free: cap.free,
            is_safe: keeper.is_safe(),
        })
    }
}

/// What the files may take where so much is there or reserved, of which so much is not written, and so much is free.
fn room(most: u64, there: u64, unwritten: u64, free: u64) -> u64 {
    // What is reserved and not written is free still: it must not count twice.
    let written = there.saturating_sub(unwritten);
    most.min(written.saturating_add(free.saturating_sub(SPARE)))
}

/// An order of all tasks: those that do not wait stand first.
pub(crate) fn whole_order(dag: &cairn_dag::Dag, waiting: &[TaskId]) -> Vec<TaskId> {
    let mut waits = vec![false; dag.len()];
    waiting.iter().for_each(|t| waits[t.index()] = true);
    let others = dag.topological_order().iter().copied();
    let mut all: Vec<TaskId> = others.filter(|t| !waits[t.index()]).collect();
    all.extend(waiting);
    all
}

fn is_executed<P: Position>(engine: &Engine<P>, task: TaskId) -> bool {
    engine.position().standing(Task::from(task)) == Ok(Standing::Executed)
}

/// The keeper learns the size of a file. Sizes on a disk never add up to more than it can count.
fn measured<P: Position>(engine: &mut Engine<P>, file: FileId, bytes: u64) {
    if let Some(keeper) = engine.keeper_mut() {
        let _ = keeper.measured(file, bytes);
    }
}

fn copied(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests;
