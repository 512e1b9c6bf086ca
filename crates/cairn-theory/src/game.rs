//! The one game: where each task stands, and what may happen to it. Knows no clients, no clock and no policy.
//!
//! Everything that executes tasks plays this game: the papers' three games are views of it ([`Game`] with one task a
//! step is the simplified pebble game, [`ClientGame`](crate::client_game::ClientGame) the one with clients,
//! [`BatchGame`](crate::batch_game::BatchGame) the batched one), and whoever chooses batches or simulates workers
//! keeps its books beside it.

use cairn_dag::{Dag, TaskId};

/// Where a task stands.
///
/// ```text
///                                                ┌──────────── execute ────────────┐
///                                                │                                 ▼
/// Waiting ──(its last parent is executed)──▶ Eligible ──lease──▶ Leased ──execute──▶ Executed
///                                                ▲                 │
///                                                └──── release ────┘
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
}

impl Standing {
    /// Where the task stands after the move; `None` where the rules forbid it. Tasks cease to wait only by moves of
    /// their parents, and nothing is executed twice.
    #[inline]
    pub fn after(self, step: Move) -> Option<Standing> {
        match (self, step) {
            (Standing::Eligible, Move::Lease) => Some(Standing::Leased),
            (Standing::Leased, Move::Release) => Some(Standing::Eligible),
            (Standing::Eligible | Standing::Leased, Move::Execute) => Some(Standing::Executed),
            _ => None,
        }
    }

    /// The word for it in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Waiting => "waiting",
            Standing::Eligible => "eligible",
            Standing::Leased => "leased",
            Standing::Executed => "executed",
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
}

/// A play of the game on a dag.
///
/// It begins with every source eligible. Executing a task makes those of its children eligible whose last parent it
/// was, within the same move. Invariants, at every moment: the executed tasks are closed under parents; a task waits
/// iff a parent of it is not executed.
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
/// assert_eq!((game.eligible_count(), game.leased_count()), (1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Game<'d> {
    dag: &'d Dag,
    standing: Vec<Standing>,
    /// By task: parents that are not executed.
    missing: Vec<u32>,
    eligible: usize,
    leased: usize,
    executed: usize,
}

impl<'d> Game<'d> {
    /// The first position: every source is eligible.
    pub fn new(dag: &'d Dag) -> Game<'d> {
        let missing: Vec<u32> = (dag.tasks()).map(|t| dag.parents(t).len() as u32).collect();
        let first = |&m: &u32| match m {
            0 => Standing::Eligible,
            _ => Standing::Waiting,
        };
        let standing: Vec<Standing> = missing.iter().map(first).collect();
        let eligible = missing.iter().filter(|&&m| m == 0).count();
        Game {
            dag,
            standing,
            missing,
            eligible,
            leased: 0,
            executed: 0,
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

    /// How many tasks are eligible and with nobody.
    #[inline]
    pub fn eligible_count(&self) -> usize {
        self.eligible
    }

    /// How many tasks are leased.
    pub fn leased_count(&self) -> usize {
        self.leased
    }

    /// How many tasks have been executed.
    #[inline]
    pub fn executed_count(&self) -> usize {
        self.executed
    }

    /// Whether every task has been executed.
    pub fn is_finished(&self) -> bool {
        self.executed == self.dag.len()
    }

    /// The eligible tasks, in id order. O(tasks).
    pub fn eligible(&self) -> impl Iterator<Item = TaskId> + '_ {
        (self.dag.tasks()).filter(|t| self.standing[t.index()] == Standing::Eligible)
    }

    /// Where the task would stand after the move.
    ///
    /// # Errors
    /// What the rules forbid.
    #[inline]
    pub fn check(&self, task: TaskId, step: Move) -> Result<Standing, IllegalMove> {
        let found = self.standing.get(task.index());
        match found.and_then(|found| found.after(step)) {
            Some(after) => Ok(after),
            None => Err(self.reason(task, step)),
        }
    }

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

    /// Gives an eligible task to somebody.
    ///
    /// # Errors
    /// If the task is not eligible; the game is then unchanged.
    pub fn lease(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        self.standing[task.index()] = self.check(task, Move::Lease)?;
        self.eligible -= 1;
        self.leased += 1;
        Ok(())
    }

    /// Takes a leased task back undone: it is eligible again.
    ///
    /// # Errors
    /// If the task is not leased; the game is then unchanged.
    pub fn release(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        self.standing[task.index()] = self.check(task, Move::Release)?;
        self.eligible += 1;
        self.leased -= 1;
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
        match std::mem::replace(&mut self.standing[task.index()], after) {
            Standing::Leased => self.leased -= 1,
            _ => self.eligible -= 1,
        }
        self.executed += 1;
        for &child in self.dag.children(task) {
            let missing = &mut self.missing[child.index()];
            *missing -= 1;
            if *missing == 0 {
                self.standing[child.index()] = Standing::Eligible;
                self.eligible += 1;
                opened(child);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, eligible};
    use proptest::prelude::*;

    proptest! {
        /// Random moves, legal and not: after each, every task stands where the definitions put it.
        #[test]
        fn pebbles_are_what_the_rules_say(dag in any_dag(12), moves in prop::collection::vec((0u32..14, 0u8..4), 0..80)) {
            let mut game = Game::new(&dag);
            let (mut ideal, mut leased) = (0u32, 0u32);
            for (task, kind) in moves {
                let task = TaskId(task);
                let bit = 1u32 << task.0;
                let open: u32 = eligible(&dag, ideal).iter().map(|t| 1 << t.0).sum();
                let mut opened = Vec::new();
                let (outcome, step) = match kind {
                    0 => (game.lease(task), Move::Lease),
                    1 => (game.release(task), Move::Release),
                    _ => (game.execute(task, |t| opened.push(t)), Move::Execute),
                };
                let is_legal = match step {
                    Move::Lease => open & !leased & bit != 0,
                    Move::Release => leased & bit != 0,
                    Move::Execute => open & bit != 0,
                };
                prop_assert_eq!(outcome.is_ok(), is_legal);
                match outcome {
                    Ok(()) => match step {
                        Move::Lease => leased |= bit,
                        Move::Release => leased &= !bit,
                        Move::Execute => {
                            ideal |= bit;
                            leased &= !bit;
                            let now = eligible(&dag, ideal);
                            let fresh: Vec<TaskId> = now.into_iter().filter(|t| open >> t.0 & 1 == 0).collect();
                            prop_assert_eq!(opened, fresh);
                        }
                    },
                    Err(IllegalMove::NoSuchTask { .. }) => prop_assert!(task.index() >= dag.len()),
                    Err(IllegalMove::NotEligible { parent, .. }) => {
                        prop_assert!(dag.has_arc(parent, task) && ideal >> parent.0 & 1 == 0);
                    }
                    Err(IllegalMove::Standing { found, wanted, .. }) => {
                        prop_assert_eq!((found, wanted), (game.standing(task), step));
                    }
                }
                let open: u32 = eligible(&dag, ideal).iter().map(|t| 1 << t.0).sum();
                for t in dag.tasks() {
                    let has = |set: u32| set >> t.0 & 1 == 1;
                    let expected = match () {
                        () if has(ideal) => Standing::Executed,
                        () if has(leased) => Standing::Leased,
                        () if has(open) => Standing::Eligible,
                        () => Standing::Waiting,
                    };
                    prop_assert_eq!(game.standing(t), expected);
                }
                prop_assert_eq!(game.eligible().count(), game.eligible_count());
                prop_assert_eq!(game.eligible_count() as u32, (open & !leased).count_ones());
                prop_assert_eq!(game.leased_count() as u32, leased.count_ones());
                prop_assert_eq!(game.executed_count() as u32, ideal.count_ones());
                prop_assert_eq!(game.is_finished(), ideal.count_ones() as usize == dag.len());
            }
        }
    }

    #[test]
    fn errors_speak_in_sentences() {
        let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let mut game = Game::new(&dag);
        let refused = game.release(TaskId(0)).unwrap_err().to_string();
        assert_eq!(refused, "task #0 is eligible, so it cannot be released");
    }
}
