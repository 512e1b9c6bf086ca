//! Files under a cap, for tasks that a queue starts when it likes: what may be submitted, and what may be deleted. Knows no
//! queue; [`Files`] measures and deletes.
//!
//! The rule is that of a run (`cairn_engine::Keeper`). Nobody knows when a queue starts a job, so that a task counts as running
//! from its submission on, and is submitted only once all its parents are executed.

use super::window::Whereabouts;
use crate::Handover;
use crate::handover::children;
use cairn_dag::{TaskId, narrow, wide};
use cairn_engine::Keeper;
use cairn_kernel::{Rows, completed};
use cairn_theory::game;
use cairn_theory::storage::FileId;
use std::collections::{BTreeSet, HashMap};

/// The files of a workflow, where they are.
pub trait Files {
    /// Bytes of a file, 0 where there is none; `None` where nobody says where it is.
    fn bytes(&mut self, file: FileId) -> Option<u64>;
    /// Deletes one that nobody wants any more.
    ///
    /// # Errors
    /// Why it is still there.
    fn delete(&mut self, file: FileId) -> Result<(), String>;
}

/// Why nothing more can be submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoRoom {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub cure: String,
}

/// Has a keeper take an order of the waiting tasks that is within its cap, and says in which order to try them.
pub type Planner<'a> = dyn FnMut(&mut Keeper) -> Result<Vec<TaskId>, NoRoom> + 'a;

/// Files under a cap.
pub struct Space<'a> {
    keeper: Keeper,
    files: Box<dyn Files + 'a>,
    planner: Box<Planner<'a>>,
    /// By place: the keeper's task.
    tasks: Vec<TaskId>,
    /// By the keeper's task: its place, unless it was executed before.
    places: Vec<Option<u32>>,
    children: Rows,
    /// By place: parents that are not executed.
    left: Vec<u32>,
    /// By place: which is tried first.
    rank: Vec<u32>,
    /// Waiting, all parents executed, by rank.
    ready: BTreeSet<(u32, u32)>,
    /// By place: bytes that lay there before and will be written over.
    stale: HashMap<u32, u64>,
    /// Files that could not be deleted, and why.
    stuck: Vec<(FileId, String)>,
    most: u64,
}

impl std::fmt::Debug for Space<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Space").finish_non_exhaustive()
    }
}

impl<'a> Space<'a> {
    /// `tasks`: by place the task of the keeper, whose cap is set; all others were executed before.
    pub fn new(
        keeper: Keeper,
        tasks: Vec<TaskId>,
        handover: &Handover,
        files: Box<dyn Files + 'a>,
        planner: Box<Planner<'a>>,
    ) -> Space<'a> {
        let mut places = vec![None; keeper.storage().tasks()];
        for (place, task) in (0..).zip(&tasks) {
            places[task.index()] = Some(place);
        }
        let parents = handover.tasks.iter().map(|t| narrow(t.parents.len()));
        Space {
            keeper,
            files,
            planner,
            left: parents.collect(),
            rank: (0..narrow(tasks.len())).collect(),
            tasks,
            places,
            children: children(&handover.tasks),
            ready: BTreeSet::new(),
            stale: HashMap::new(),
            stuck: Vec::new(),
            most: 0,
        }
    }

    /// The cap, and the most that was in use or reserved at once.
    pub fn cap_and_most(&self) -> (u64, u64) {
        (self.keeper.cap(), self.most)
    }

    /// Files that could not be deleted since somebody asked, and why.
    pub(super) fn take_stuck(&mut self) -> Vec<(FileId, String)> {
        std::mem::take(&mut self.stuck)
    }

    /// Begins: learns where tasks stand and what lies on the disk, deletes what nobody wants, and looks for an order.
    pub(super) fn settle(&mut self, standing: &[Whereabouts]) -> Result<(), NoRoom> {
        // Before files: which of these are free depends on who is executed.
        self.sync(standing);
        for (children, &stands) in self.children.iter().zip(standing) {
            if stands == Whereabouts::Executed {
                children.iter().for_each(|&c| self.left[wide(c)] -= 1);
            }
        }
        let files: Vec<FileId> = self.keeper.storage().files().collect();
        for file in files {
            let Some(bytes) = self.files.bytes(file).filter(|&bytes| bytes > 0) else {
                continue;
            };
            let producer = self.keeper.storage().producer(file);
            let place = producer.and_then(|task| self.places[task.index()]);
            let stands = place.map_or(Whereabouts::Executed, |p| standing[wide(p)]);
            match (stands, place) {
                (Whereabouts::Executed, _) if self.keeper.is_free(file) => self.delete(file, bytes),
                (Whereabouts::Executed, _) => self.measure(file, bytes),
                // It writes there, or has: that is reserved.
                (Whereabouts::Queued(_) | Whereabouts::InDoubt(_), _) | (_, None) => {}
                (_, Some(place)) => {
                    *self.stale.entry(place).or_default() += bytes;
                    // It takes room until the task writes over it, and then counts as the task's own.
                    self.keeper.hold(bytes);
                }
            }
        }
        self.count();
        self.replan()
    }

    /// Looks for an order within the cap, and ranks tasks by it.
    pub(super) fn replan(&mut self) -> Result<(), NoRoom> {
        let order = (self.planner)(&mut self.keeper)?;
        for (rank, task) in (0..).zip(order) {
            if let Some(place) = self.places[task.index()] {
                self.rank[wide(place)] = rank;
            }
        }
        let is_ready = |&p: &u32| self.left[wide(p)] == 0 && self.waits(p);
        let ready = (0..narrow(self.tasks.len())).filter(is_ready);
        self.ready = ready.map(|p| (self.rank[wide(p)], p)).collect();
        Ok(())
    }

    /// Whether a task is still to be submitted.
    fn waits(&self, place: u32) -> bool {
        let stands = self.keeper.standing(self.tasks[wide(place)]);
        stands.is_unbegun()
    }

    /// The keeper learns where all tasks stand.
    fn sync(&mut self, standing: &[Whereabouts]) {
        let of = |task: TaskId| match self.places[task.index()].map(|p| standing[wide(p)]) {
            None | Some(Whereabouts::Executed) => game::Standing::Executed,
            Some(Whereabouts::Waiting) => game::Standing::Waiting,
            Some(Whereabouts::Queued(_) | Whereabouts::InDoubt(_)) => game::Standing::Leased,
            Some(Whereabouts::Failed(_) | Whereabouts::Lost) => game::Standing::Failed,
            Some(Whereabouts::Aborted) => game::Standing::Aborted,
        };
        self.keeper.sync(of);
    }

    fn measure(&mut self, file: FileId, bytes: u64) {
        // Sizes on a disk never add up to more than can be counted.
        let _ = self.keeper.measured(file, bytes);
    }

    fn delete(&mut self, file: FileId, bytes: u64) {
        if let Err(why) = self.files.delete(file) {
            self.keeper.hold(bytes);
            self.stuck.push((file, why));
        }
    }

    fn count(&mut self) {
        let now = self.keeper.used().saturating_add(self.keeper.held());
        self.most = self.most.max(now);
    }

    /// A task that may be submitted now.
    pub(super) fn choose(&mut self, is_gone: &dyn Fn(u32) -> bool) -> Option<u32> {
        let first = self.ready.iter().map(|&(_, place)| place);
        let first: Vec<u32> = first.filter(|&p| is_gone(p)).take(Keeper::ASKED).collect();
        // What the keeper's own order has next always fits at last: so nobody waits for ever for a better one.
        let then: Vec<u32> = (self.keeper.next_by_order())
            .filter_map(|task| self.places[task.index()])
            .filter(|&p| is_gone(p) && self.ready.contains(&(self.rank[wide(p)], p)))
            .collect();
        let mut both = first.into_iter().chain(then);
        both.find(|&place| self.keeper.may(self.tasks[wide(place)]))
    }

    /// Whether a task would be submitted if there were room.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A task is about to be submitted.
    pub(super) fn begin(&mut self, place: u32) {
        self.ready.remove(&(self.rank[wide(place)], place));
        // What lay there is part of what it reserves from now on: it must not count twice.
        if let Some(bytes) = self.stale.remove(&place) {
            self.keeper.let_go(bytes);
        }
        self.keeper.start(self.tasks[wide(place)]);
        self.count();
    }

    /// It was not submitted after all.
    pub(super) fn come_back(&mut self, place: u32) {
        self.keeper.release(self.tasks[wide(place)]);
        self.ready.insert((self.rank[wide(place)], place));
    }

    /// A task has ended well: its files are measured, and what nobody wants any more goes.
    pub(super) fn executed(&mut self, place: u32) {
        let task = self.tasks[wide(place)];
        let outputs: Vec<FileId> = self.keeper.storage().outputs(task).collect();
        for &file in &outputs {
            match self.files.bytes(file) {
                Some(bytes) => self.measure(file, bytes),
                // Nobody will ever see it. What is not known of it is nothing.
                None if self.keeper.storage().bytes(file) == 0 => self.measure(file, 0),
                None => {}
            }
        }
        // Measured before, deleted after: what is free is known only once the task has ended for the keeper.
        self.keeper.finish(task);
        let inputs: Vec<FileId> = self.keeper.storage().inputs(task).collect();
        for file in inputs.into_iter().chain(outputs) {
            if self.keeper.is_free(file) {
                let bytes = self.keeper.storage().bytes(file);
                self.delete(file, bytes);
            }
        }
        let children = self.children.row(wide(place)).iter().copied();
        let ready: Vec<u32> = completed(children, &mut self.left).collect();
        // A child may have ended well before, with a parent whose own word was lost.
        for child in ready {
            if self.waits(child) {
                self.ready.insert((self.rank[wide(child)], child));
            }
        }
    }

    /// Tasks have failed, or will never start: what they read stays for a later try, and what they wrote lies there.
    pub(super) fn given_up(&mut self, standing: &[Whereabouts], failed: &[u32]) {
        self.sync(standing);
        for &place in failed {
            let task = self.tasks[wide(place)];
            let outputs: Vec<FileId> = self.keeper.storage().outputs(task).collect();
            let there: u64 = outputs.iter().filter_map(|&f| self.files.bytes(f)).sum();
            self.keeper.hold(there);
        }
        let (keeper, tasks) = (&self.keeper, &self.tasks);
        self.ready
            .retain(|&(_, p)| keeper.standing(tasks[wide(p)]).is_unbegun());
        self.count();
    }
}
