//! Executing the tasks of a piece one by one, and taking them back: what is live, what a task would change. Knows no goal.

use super::piece::Piece;
use cairn_dag::{TaskId, narrow};
use cairn_theory::storage::FileId;

/// A moment of an order that is being made.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'p> {
    pub(crate) piece: &'p Piece,
    executed: Vec<bool>,
    waiting: Vec<u32>,
    /// By file: consumers not executed, and these combined by exclusive or, so that the last one is known.
    left: Vec<(u32, u32)>,
    // Signed like the changes to it; all bytes together are below 2⁶⁰.
    pub(crate) live: i64,
    pub(crate) order: Vec<TaskId>,
}

impl<'p> Walk<'p> {
    pub(crate) fn new(piece: &'p Piece) -> Walk<'p> {
        let storage = &piece.storage;
        let left = (storage.files())
            .map(|f| {
                let consumers = storage.consumers(f);
                let count = narrow(consumers.len());
                (count, consumers.fold(0, |all, c| all ^ c.0))
            })
            .collect();
        let there = storage.initial().filter(|&f| storage.outlives(f));
        Walk {
            executed: vec![false; piece.len()],
            waiting: (piece.tasks())
                .map(|t| narrow(piece.parents(t).len()))
                .collect(),
            left,
            live: there.map(|f| piece.bytes(f)).sum(),
            order: Vec::with_capacity(piece.len()),
            piece,
        }
    }

    #[inline]
    pub(crate) fn is_executed(&self, task: TaskId) -> bool {
        self.executed[task.index()]
    }

    /// How many parents are not executed.
    #[inline]
    pub(crate) fn waits_for(&self, task: TaskId) -> u32 {
        self.waiting[task.index()]
    }

    #[inline]
    pub(crate) fn is_eligible(&self, task: TaskId) -> bool {
        self.waits_for(task) == 0 && !self.is_executed(task)
    }

    #[inline]
    pub(crate) fn need(&self, task: TaskId) -> i64 {
        self.live + self.piece.reserved(task)
    }

    /// By how much live bytes grow when the task is executed.
    #[inline]
    pub(crate) fn change(&self, task: TaskId) -> i64 {
        let storage = &self.piece.storage;
        let freed = (storage.inputs(task))
            // The task is among the consumers left: where one is left, it is this.
            .filter(|&f| self.left[f.index()].0 == 1 && !storage.is_kept(f))
            .map(|f| self.piece.bytes(f));
        self.piece.lasting(task) - freed.sum::<i64>()
    }

    /// The only consumer of a file that is not executed, if there is just one.
    #[inline]
    pub(crate) fn last_consumer(&self, file: FileId) -> Option<TaskId> {
        let (count, which) = self.left[file.index()];
        (count == 1).then_some(TaskId(which))
    }

    /// Executes an eligible task.
    pub(crate) fn execute(&mut self, task: TaskId) {
        debug_assert!(self.is_eligible(task));
        self.executed[task.index()] = true;
        self.live += self.piece.lasting(task);
        for file in self.piece.storage.inputs(task) {
            let (count, which) = &mut self.left[file.index()];
            *count -= 1;
            *which ^= task.0;
            if *count == 0 && !self.piece.storage.is_kept(file) {
                self.live -= self.piece.bytes(file);
            }
        }
        for child in self.piece.children(task) {
            self.waiting[child.index()] -= 1;
        }
        self.order.push(task);
    }

    /// Takes back the last task that was executed.
    pub(crate) fn undo(&mut self) {
        let task = self.order.pop().expect("something was executed");
        self.executed[task.index()] = false;
        self.live -= self.piece.lasting(task);
        for file in self.piece.storage.inputs(task) {
            let (count, which) = &mut self.left[file.index()];
            // Before the count, since `execute` asks after it.
            if *count == 0 && !self.piece.storage.is_kept(file) {
                self.live += self.piece.bytes(file);
            }
            *count += 1;
            *which ^= task.0;
        }
        for child in self.piece.children(task) {
            self.waiting[child.index()] += 1;
        }
    }
}
