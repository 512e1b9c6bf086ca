//! The one game: where each task stands, and what may happen to it. Knows no clients, no clock and no policy.
//!
//! Everything that executes tasks plays this game: the papers' three games are views of it ([`Game`] with one task a
//! step is the simplified pebble game, `cairn-engine/tests/client_game.rs` has the one with clients, `cairn-plan/tests/batch_game.rs` the
//! batched one), and whoever chooses batches or simulates workers
//! keeps its books beside it.

use cairn_dag::{Dag, TaskId};
use cairn_kernel::narrow;

/// Where a task stands.
///
/// ```text
///                                                ┌──────────── execute ────────────┐
///                                                │                                 ▼
/// Waiting ──(its last parent is executed)──▶ Eligible ──lease──▶ Leased ──execute──▶ Executed
///    │                                           ▲  │              │  │
///    │                                           └──│── release ───┘  │
///    │                                              └─────── fail ────┴──▶ Failed
///    ├──(a parent is failed, aborted or cancelled)──▶ Aborted
///    └── cancel, also from Eligible and Leased ─────▶ Cancelled
///
/// revive:  Failed, Cancelled ──▶ Waiting, and the Aborted below that wait for nobody else;
///          back to Aborted where a parent of it is given up
/// reopen:  Executed ──▶ Waiting (none of its children being leased, executed or failed); its eligible children wait
///          both go on from Waiting at once to Eligible where every parent is executed
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Some parent is not executed: no pebble.
    Waiting,
    /// Every parent is executed and nobody works on it: an *eligible* pebble, EBU (eligible but unallocated) in
    /// \[RY05\].
    Eligible,
    /// Somebody works on it: EAA (eligible and allocated) in \[RY05\].
    Leased,
    /// Done: XEQ in \[RY05\].
    Executed,
    /// It was tried, and is given up.
    Failed,
    /// It can never be eligible, since an ancestor is failed or cancelled.
    Aborted,
    /// Somebody said that it shall not be executed.
    Cancelled,
}

/// What may happen to one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// It is given to somebody.
    Lease,
    /// Whoever had it gives it back undone.
    Release,
    /// It is done.
    Execute,
    /// It is given up.
    Fail,
    /// An ancestor of it is given up.
    Abort,
    /// It shall not be executed.
    Cancel,
    /// It shall be tried again after all.
    Revive,
    /// What it made is gone or no longer right: it must be executed again.
    Reopen,
}

impl Standing {
    /// Every standing, from the first that a task has to the last.
    pub const ALL: [Standing; 7] = [
        Standing::Waiting,
        Standing::Eligible,
        Standing::Leased,
        Standing::Executed,
        Standing::Failed,
        Standing::Aborted,
        Standing::Cancelled,
    ];

    /// How many standings there are.
    const KINDS: usize = Standing::ALL.len();

    /// Where its tasks are counted.
    #[inline]
    fn slot(self) -> usize {
        self as usize
    }

    /// Where the task stands after the move; `None` where the rules forbid it. A task that waits, and whose parents are
    /// all executed, is eligible from then on: that is no move of its own. Nothing is executed twice, unless it was
    /// reopened.
    #[inline]
    pub fn after(self, step: Move) -> Option<Standing> {
        use Standing::{Aborted, Cancelled, Eligible, Executed, Failed, Leased, Waiting};
        match (self, step) {
            (Eligible, Move::Lease) => Some(Leased),
            (Leased, Move::Release) => Some(Eligible),
            (Eligible | Leased, Move::Execute) => Some(Executed),
            (Eligible | Leased, Move::Fail) => Some(Failed),
            (Waiting, Move::Abort) => Some(Aborted),
            (Waiting | Eligible | Leased, Move::Cancel) => Some(Cancelled),
            (Failed | Cancelled | Aborted, Move::Revive) => Some(Waiting),
            (Executed, Move::Reopen) => Some(Waiting),
            _ => None,
        }
    }

    /// Whether it is still to be begun with.
    #[inline]
    pub fn is_unbegun(self) -> bool {
        matches!(self, Standing::Waiting | Standing::Eligible)
    }

    /// Whether nothing is left to be done of it: executed or given up.
    #[inline]
    pub fn is_settled(self) -> bool {
        self == Standing::Executed || self.is_given_up()
    }

    /// Whether nothing below it can ever be executed, as things are.
    #[inline]
    pub fn is_given_up(self) -> bool {
        matches!(
            self,
            Standing::Failed | Standing::Aborted | Standing::Cancelled
        )
    }

    /// The word for it in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Waiting => "waiting",
            Standing::Eligible => "eligible",
            Standing::Leased => "leased",
            Standing::Executed => "executed",
            Standing::Failed => "failed",
            Standing::Aborted => "aborted",
            Standing::Cancelled => "cancelled",
        }
    }
}

impl Move {
    /// The word for it in a sentence.
    fn name(self) -> &'static str {
        match self {
            Move::Lease => "leased",
            Move::Release => "released",
            Move::Execute => "executed",
            Move::Fail => "failed",
            Move::Abort => "aborted",
            Move::Cancel => "cancelled",
            Move::Revive => "revived",
            Move::Reopen => "reopened",
        }
    }
}

/// A move that the rules forbid. The game is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    /// The dag has no such task.
    #[error("there is no task {task:?} among {tasks}")]
    NoSuchTask {
        /// The task named.
        task: TaskId,
        /// How many tasks the dag has.
        tasks: usize,
    },
    /// A parent must come first.
    #[error("task {task:?} is not eligible: its parent {parent:?} is not executed")]
    NotEligible {
        /// The task named.
        task: TaskId,
        /// One of its parents that is not executed.
        parent: TaskId,
    },
    /// The task does not stand where the move begins.
    #[error("task {task:?} is {}, so it cannot be {}", found.name(), wanted.name())]
    Standing {
        /// The task named.
        task: TaskId,
        /// Where it stands.
        found: Standing,
        /// What was asked.
        wanted: Move,
    },
    /// What stands on the task must go first.
    #[error("task {task:?} cannot be reopened: its child {child:?} is {}", found.name())]
    StoodOn {
        /// The task named.
        task: TaskId,
        /// One of its children that is leased, executed or failed.
        child: TaskId,
        /// Where that stands.
        found: Standing,
    },
}

/// A play of the game on a dag.
///
/// It begins with every source eligible. Executing a task makes those of its children eligible whose last parent it
/// was, within the same move. Invariants, at every moment: the executed tasks are closed under parents; a task that
/// waits has a parent that is not executed, and none that is given up; who is eligible or leased has all parents executed.
///
/// With nothing leased and one task executed a step this is the simplified Internet-Computing pebble game (\[MRY06\],
/// §2.2). A move costs O(children of the task), a whole play is linear. Space is 5 bytes a task.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::game::{Game, Standing};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let mut game = Game::new(&diamond);
/// let mut opened = Vec::new();
/// game.execute(TaskId(0), |child| opened.push(child)).unwrap();
/// assert_eq!(opened, [TaskId(1), TaskId(2)]);
/// assert!(game.execute(TaskId(3), |_| ()).is_err());
/// game.lease(TaskId(2)).unwrap();
/// assert_eq!((game.eligible_count(), game.count(Standing::Leased)), (1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Game<'d> {
    dag: &'d Dag,
    standing: Vec<Standing>,
    /// By task: parents that are not executed.
    missing: Vec<u32>,
    /// By standing: how many tasks stand there.
    counts: [usize; Standing::KINDS],
}

impl<'d> Game<'d> {
    /// The first position: every source is eligible.
    pub fn new(dag: &'d Dag) -> Game<'d> {
        let missing: Vec<u32> = (dag.tasks())
            .map(|t| narrow(dag.parents(t).len()))
            .collect();
        let first = |&m: &u32| match m {
            0 => Standing::Eligible,
            _ => Standing::Waiting,
        };
        let standing: Vec<Standing> = missing.iter().map(first).collect();
        let mut counts = [0; Standing::KINDS];
        // Counted here once and then kept by `put`: so asking how many is O(1).
        counts[Standing::Eligible.slot()] = missing.iter().filter(|&&m| m == 0).count();
        counts[Standing::Waiting.slot()] = dag.len() - counts[Standing::Eligible.slot()];
        Game {
            dag,
            standing,
            missing,
            counts,
        }
    }

    /// The dag played on.
    pub fn dag(&self) -> &'d Dag {
        self.dag
    }

    /// Where `task` stands.
    ///
    /// # Panics
    /// If the dag has no such task.
    #[inline]
    pub fn standing(&self, task: TaskId) -> Standing {
        self.standing[task.index()]
    }

    /// How many tasks stand there.
    #[inline]
    pub fn count(&self, standing: Standing) -> usize {
        self.counts[standing.slot()]
    }

    /// How many tasks are eligible and with nobody.
    #[inline]
    pub fn eligible_count(&self) -> usize {
        self.count(Standing::Eligible)
    }

    /// How many tasks have been executed.
    #[inline]
    pub fn executed_count(&self) -> usize {
        self.count(Standing::Executed)
    }

    /// Whether every task has been executed.
    pub fn is_finished(&self) -> bool {
        self.executed_count() == self.dag.len()
    }

    /// Whether nothing more can happen unless somebody revives or reopens a task: all are executed or given up.
    pub fn is_settled(&self) -> bool {
        let open = [Standing::Waiting, Standing::Eligible, Standing::Leased];
        open.into_iter().all(|standing| self.count(standing) == 0)
    }

    /// The eligible tasks, in id order. O(tasks).
    pub fn eligible(&self) -> impl Iterator<Item = TaskId> + '_ {
        (self.dag.tasks()).filter(|t| self.standing[t.index()] == Standing::Eligible)
    }

    /// Where the task would stand after the move, by its own standing alone: reviving and reopening look at others, too.
    #[inline]
    fn check(&self, task: TaskId, step: Move) -> Result<Standing, IllegalMove> {
        let found = self.standing.get(task.index());
        match found.and_then(|found| found.after(step)) {
            Some(after) => Ok(after),
            None => Err(self.reason(task, step)),
        }
    }

    // Apart: the check stands in the inner loop of every play, and is hardly ever refused.
    #[cold]
    fn reason(&self, task: TaskId, wanted: Move) -> IllegalMove {
        let tasks = self.dag.len();
        match self.standing.get(task.index()) {
            None => IllegalMove::NoSuchTask { task, tasks },
            Some(Standing::Waiting) => {
                let mut parents = self.dag.parents(task).iter().copied();
                let parent = parents.find(|&p| self.standing(p) != Standing::Executed);
                let parent = parent.expect("a waiting task has a parent that is not executed");
                IllegalMove::NotEligible { task, parent }
            }
            Some(&found) => IllegalMove::Standing {
                task,
                found,
                wanted,
            },
        }
    }

    /// The task stands there from now on. Returns where it stood.
    #[inline]
    fn put(&mut self, task: TaskId, standing: Standing) -> Standing {
        let before = std::mem::replace(&mut self.standing[task.index()], standing);
        self.counts[before.slot()] -= 1;
        self.counts[standing.slot()] += 1;
        before
    }

    /// A task that waits for no parent any more is eligible, and `opened` called with it.
    fn open_if_free(&mut self, task: TaskId, opened: impl FnOnce(TaskId)) {
        if self.missing[task.index()] == 0 {
            self.put(task, Standing::Eligible);
            opened(task);
        }
    }

    /// Gives an eligible task to somebody.
    ///
    /// # Errors
    /// If the task is not eligible; the game is then unchanged.
    #[inline]
    pub fn lease(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        let after = self.check(task, Move::Lease)?;
        self.put(task, after);
        Ok(())
    }

    /// Takes a leased task back undone: it is eligible again.
    ///
    /// # Errors
    /// If the task is not leased; the game is then unchanged.
    pub fn release(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        let after = self.check(task, Move::Release)?;
        self.put(task, after);
        Ok(())
    }

    /// Executes an eligible or leased task, and calls `opened` with every task that becomes eligible thereby, in id
    /// order.
    ///
    /// # Errors
    /// If the task is neither; the game is then unchanged.
    #[inline]
    pub fn execute(
        &mut self,
        task: TaskId,
        mut opened: impl FnMut(TaskId),
    ) -> Result<(), IllegalMove> {
        let after = self.check(task, Move::Execute)?;
        self.put(task, after);
        for &child in self.dag.children(task) {
            let missing = &mut self.missing[child.index()];
            *missing -= 1;
            // A cancelled or aborted child keeps its count, too, so that it is right when it is revived.
            if *missing == 0 && self.standing[child.index()] == Standing::Waiting {
                self.put(child, Standing::Eligible);
                opened(child);
            }
        }
        Ok(())
    }

    /// Gives an eligible or leased task up: whatever waits for it is aborted, and `aborted` called with it. O(descendants
    /// and their arcs).
    ///
    /// # Errors
    /// If the task is neither; the game is then unchanged.
    pub fn fail(&mut self, task: TaskId, aborted: impl FnMut(TaskId)) -> Result<(), IllegalMove> {
        self.give_up(task, Move::Fail, aborted)
    }

    /// Gives a task up that waits, is eligible or leased, because somebody says so: whatever waits for it is aborted, and
    /// `aborted` called with it. O(descendants and their arcs).
    ///
    /// # Errors
    /// If the task is none of these; the game is then unchanged.
    pub fn cancel(&mut self, task: TaskId, aborted: impl FnMut(TaskId)) -> Result<(), IllegalMove> {
        self.give_up(task, Move::Cancel, aborted)
    }

    fn give_up(
        &mut self,
        task: TaskId,
        step: Move,
        mut aborted: impl FnMut(TaskId),
    ) -> Result<(), IllegalMove> {
        let after = self.check(task, step)?;
        self.put(task, after);
        let mut stack = vec![task];
        while let Some(parent) = stack.pop() {
            for &child in self.dag.children(parent) {
                // Only what waits is aborted, and each once; a child that is given up already has its descendants
                // aborted.
                if let Some(after) = self.standing(child).after(Move::Abort) {
                    self.put(child, after);
                    aborted(child);
                    stack.push(child);
                }
            }
        }
        Ok(())
    }

    /// A failed or cancelled task shall be tried after all: it waits or is eligible again, and so does every aborted
    /// descendant no ancestor of which is given up. Calls `opened` with the task if it is eligible. O(descendants and
    /// their arcs).
    ///
    /// # Errors
    /// If the task is neither failed nor cancelled; the game is then unchanged. An aborted task is revived with the
    /// ancestor that was given up.
    pub fn revive(&mut self, task: TaskId, opened: impl FnMut(TaskId)) -> Result<(), IllegalMove> {
        self.check(task, Move::Revive)?;
        // `after` lets an aborted task wait again, which is for those below a revived one; by itself it would wait for
        // ever.
        if self.standing(task) == Standing::Aborted {
            return Err(self.reason(task, Move::Revive));
        }
        self.put(task, Standing::Waiting);
        let given_up = |game: &Game<'_>, t: TaskId| {
            let parents = game.dag.parents(t).iter();
            parents
                .copied()
                .any(|parent| game.standing(parent).is_given_up())
        };
        if given_up(self, task) {
            // Cancelled while it waited, and a parent is given up too.
            self.put(task, Standing::Aborted);
            return Ok(());
        }
        self.open_if_free(task, opened);
        let mut stack = vec![task];
        while let Some(parent) = stack.pop() {
            for &child in self.dag.children(parent) {
                // None of these is eligible: each waits for the revived task, which is not executed. A child with two
                // revived parents passes when the second one is met.
                if self.standing(child) == Standing::Aborted && !given_up(self, child) {
                    self.put(child, Standing::Waiting);
                    stack.push(child);
                }
            }
        }
        Ok(())
    }

    /// An executed task must be executed again: it waits or is eligible, and its eligible children wait. Calls `opened`
    /// with the task if it is eligible, and `closed` with every child that no longer is. O(children).
    ///
    /// # Errors
    /// If the task is not executed, or a child of it is leased, executed or failed (release, reopen or revive that
    /// first); the game is then unchanged.
    pub fn reopen(
        &mut self,
        task: TaskId,
        opened: impl FnMut(TaskId),
        mut closed: impl FnMut(TaskId),
    ) -> Result<(), IllegalMove> {
        let after = self.check(task, Move::Reopen)?;
        for &child in self.dag.children(task) {
            let found = self.standing(child);
            if matches!(
                found,
                Standing::Leased | Standing::Executed | Standing::Failed
            ) {
                return Err(IllegalMove::StoodOn { task, child, found });
            }
        }
        self.put(task, after);
        for &child in self.dag.children(task) {
            // Whatever it stands at, aborted and cancelled children included.
            self.missing[child.index()] += 1;
            if self.standing(child) == Standing::Eligible {
                self.put(child, Standing::Waiting);
                closed(child);
            }
        }
        self.open_if_free(task, opened);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
