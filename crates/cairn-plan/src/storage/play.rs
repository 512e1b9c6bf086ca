//! Executing the tasks of a section one by one, and taking them back: what is live, what a task would change. Knows no goal.

use super::section::{Section, signed};
use cairn_dag::{TaskId, narrow};
use cairn_kernel::completed;
use cairn_theory::storage::FileId;

/// A moment of an order that is being made.
// Not a `Game`: a section has rows of its own and is no `Dag`, and the searches take back what they executed where it did not
// help, last first. The game's way back, to reopen a task, would look at the standing of every child.
#[derive(Clone, Debug)]
pub(crate) struct Play<'p> {
    pub(crate) section: &'p Section,
    executed: Vec<bool>,
    waiting: Vec<u32>,
    /// By file.
    left: Vec<Left>,
    // Signed like the changes to it; all bytes together are below 2⁶⁰.
    pub(crate) live: i64,
    pub(crate) order: Vec<TaskId>,
}

/// Who still wants a file.
// Together, since whoever executes a task asks for all of it: one line of memory a file.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// What is free once nobody wants it: nothing, where it is kept.
    bytes: i64,
    /// Consumers not executed.
    count: u32,
    /// These combined by exclusive or, so that the last one is known.
    which: u32,
}

impl<'p> Play<'p> {
    pub(crate) fn new(section: &'p Section) -> Play<'p> {
        let storage = &section.storage;
        let left = (storage.files())
            .map(|f| {
                let consumers = storage.consumers(f);
                Left {
                    bytes: if storage.is_kept(f) {
                        0
                    } else {
                        section.bytes(f)
                    },
                    count: narrow(consumers.len()),
                    which: consumers.fold(0, |all, c| all ^ c.0),
                }
            })
            .collect();
        Play {
            executed: vec![false; section.len()],
            waiting: section.parents_left(),
            left,
            live: signed(storage.live_at_first()),
            order: Vec::with_capacity(section.len()),
            section,
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
        self.live + self.section.reserved(task)
    }

    /// By how much live bytes grow when the task is executed.
    #[inline]
    pub(crate) fn change(&self, task: TaskId) -> i64 {
        let freed = (self.section.storage.inputs(task))
            .map(|f| &self.left[f.index()])
            // The task is among the consumers left: where one is left, it is this.
            .filter(|left| left.count == 1)
            .map(|left| left.bytes);
        self.section.lasting(task) - freed.sum::<i64>()
    }

    /// The only consumer of a file that is not executed, if there is just one.
    #[inline]
    pub(crate) fn last_consumer(&self, file: FileId) -> Option<TaskId> {
        let left = &self.left[file.index()];
        (left.count == 1).then_some(TaskId(left.which))
    }

    /// Executes an eligible task.
    pub(crate) fn execute(&mut self, task: TaskId) {
        self.execute_and(task, |_| ());
    }

    /// Executes an eligible task. Names whoever is the last to want a file that the task read, then those that become eligible.
    #[inline]
    pub(crate) fn execute_and(&mut self, task: TaskId, mut stirred: impl FnMut(TaskId)) {
        debug_assert!(self.is_eligible(task));
        self.executed[task.index()] = true;
        self.live += self.section.lasting(task);
        for file in self.section.storage.inputs(task) {
            let left = &mut self.left[file.index()];
            left.count -= 1;
            left.which ^= task.0;
            match left.count {
                0 => self.live -= left.bytes,
                1 => stirred(TaskId(left.which)),
                _ => (),
            }
        }
        completed(self.section.children(task), &mut self.waiting).for_each(stirred);
        self.order.push(task);
    }

    /// Takes back the last task that was executed.
    pub(crate) fn undo(&mut self) {
        let task = self.order.pop().expect("something was executed");
        self.executed[task.index()] = false;
        self.live -= self.section.lasting(task);
        for file in self.section.storage.inputs(task) {
            let left = &mut self.left[file.index()];
            // Before the count, since `execute` asks after it.
            if left.count == 0 {
                self.live += left.bytes;
            }
            left.count += 1;
            left.which ^= task.0;
        }
        for child in self.section.children(task) {
            self.waiting[child.index()] += 1;
        }
    }
}
