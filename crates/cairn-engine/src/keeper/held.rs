//! Bytes that lie on the disk beyond what the rule counts as in use: files that wait to be deleted, what an attempt that nobody
//! hears of may still write, old outputs that a task will write over. Knows no files.
//!
//! Whatever is held counts in (a), and never in (b): M speaks of what is in use once all that runs has ended, and what is held goes
//! in the end. So tasks may have to wait for it, but safety is not lost. What a task finds in the place of its own outputs it
//! writes over: such bytes do not count against that task, and are held no more from the moment it starts.

use super::Keeper;
use cairn_dag::TaskId;
use cairn_theory::game::Standing;

impl Keeper {
    /// Bytes lie there that are in use no more, or never were: a file that waits to be deleted, one that cannot be. They count
    /// until [`Keeper::let_go`].
    pub fn hold(&mut self, bytes: u64) {
        self.held = self.held.saturating_add(bytes);
        self.version += 1;
    }

    /// So many of them are gone.
    pub fn let_go(&mut self, bytes: u64) {
        self.held = self.held.saturating_sub(bytes);
        self.version += 1;
    }

    /// Where the outputs of a task will be lie so many bytes, and no more: they are held until it starts, since it writes over
    /// them. A task that runs has reserved them.
    pub fn lies(&mut self, task: TaskId, bytes: u64) {
        if self.has_begun(task) {
            return;
        }
        let before = match bytes {
            0 => self.lies.remove(&task),
            _ => self.lies.insert(task, bytes),
        };
        // Held before what was there goes: never less than what really lies there.
        self.hold(bytes);
        self.let_go(before.unwrap_or(0));
    }

    /// Whether the task runs or is executed.
    fn has_begun(&self, task: TaskId) -> bool {
        matches!(
            self.standing[task.index()],
            Standing::Leased | Standing::Executed
        )
    }

    /// What the task will write over.
    pub(super) fn lying(&self, task: TaskId) -> u64 {
        // Asked for every task that may start, and mostly there are none.
        match self.lies.is_empty() {
            true => 0,
            false => self.lies.get(&task).copied().unwrap_or(0),
        }
    }

    /// The task starts, or is executed: what lay there is part of what it reserves.
    pub(super) fn write_over(&mut self, task: TaskId) {
        if !self.lies.is_empty() {
            let bytes = self.lies.remove(&task).unwrap_or(0);
            self.held = self.held.saturating_sub(bytes);
        }
    }

    /// Tasks may stand elsewhere than before: who runs or is done has written over what lay there.
    pub(super) fn settle_lying(&mut self) {
        let begun = |&t: &TaskId| self.has_begun(t);
        let gone: Vec<TaskId> = self.lies.keys().copied().filter(begun).collect();
        gone.into_iter().for_each(|t| self.write_over(t));
    }

    /// Bytes that are held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes that are there or reserved, all in all: this never passes the cap by a start.
    pub fn there(&self) -> u64 {
        self.used.saturating_add(self.held)
    }
}
