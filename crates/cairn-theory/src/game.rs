//! The simplified IC pebble game: eligible and executed pebbles, one task a step. Knows no clients and no policy.

use cairn_dag::{Dag, TaskId};

/// What lies on a task.
///
/// ```text
/// Bare ──(all parents executed)──▶ Eligible ──(execute)──▶ Executed
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pebble {
    /// Nothing: some parent is not executed yet.
    Bare,
    /// Every parent is executed, the task itself is not.
    Eligible,
    /// Done.
    Executed,
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
    /// Recomputation is not allowed.
    #[error("task {0:?} is already executed")]
    AlreadyExecuted(TaskId),
}

/// A play of the simplified Internet-Computing pebble game on a dag (\[MRY06\], §2.2).
///
/// The server begins with an eligible pebble on every source. At each step it replaces one eligible pebble by an
/// executed one and puts eligible pebbles on the tasks whose last parent this was. Invariants, at every moment:
/// the executed tasks are closed under parents, and a task is eligible iff it is not executed but all its parents
/// are.
///
/// [`Game::execute`] costs O(children of the task); a whole play is linear. Space is 9 bytes a task.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::game::Game;
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let mut game = Game::new(&diamond);
/// assert_eq!(game.execute(TaskId(0)).unwrap(), [TaskId(1), TaskId(2)]);
/// assert!(game.execute(TaskId(3)).is_err());
/// assert_eq!(game.eligible_count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Game<'a> {
    dag: &'a Dag,
    pebble: Vec<Pebble>,
    /// Parents that are not executed yet.
    waiting: Vec<u32>,
    eligible: usize,
    executed: usize,
    /// The tasks that the last move made eligible.
    fresh: Vec<TaskId>,
}

impl<'a> Game<'a> {
    /// The first position: every source is eligible.
    pub fn new(dag: &'a Dag) -> Game<'a> {
        let waiting: Vec<u32> = (dag.tasks()).map(|t| dag.parents(t).len() as u32).collect();
        let pebble: Vec<Pebble> = (waiting.iter())
            .map(|&w| {
                if w == 0 {
                    Pebble::Eligible
                } else {
                    Pebble::Bare
                }
            })
            .collect();
        let eligible = waiting.iter().filter(|&&w| w == 0).count();
        Game {
            dag,
            pebble,
            waiting,
            eligible,
            executed: 0,
            fresh: Vec::new(),
        }
    }

    /// The dag played on.
    pub fn dag(&self) -> &'a Dag {
        self.dag
    }

    /// What lies on `task`.
    ///
    /// # Panics
    /// If the dag has no such task.
    pub fn pebble(&self, task: TaskId) -> Pebble {
        self.pebble[task.index()]
    }

    /// How many tasks are eligible.
    pub fn eligible_count(&self) -> usize {
        self.eligible
    }

    /// How many tasks have been executed: the number of moves so far.
    pub fn executed_count(&self) -> usize {
        self.executed
    }

    /// Whether every task has been executed.
    pub fn is_finished(&self) -> bool {
        self.executed == self.dag.len()
    }

    /// The eligible tasks, in id order. O(tasks).
    pub fn eligible(&self) -> impl Iterator<Item = TaskId> + '_ {
        (self.dag.tasks()).filter(|t| self.pebble[t.index()] == Pebble::Eligible)
    }

    /// Whether `execute(task)` would be legal, and if not, why.
    ///
    /// # Errors
    /// What the rules forbid.
    pub fn check(&self, task: TaskId) -> Result<(), IllegalMove> {
        let tasks = self.dag.len();
        let pebble = self.pebble.get(task.index());
        match pebble.ok_or(IllegalMove::NoSuchTask { task, tasks })? {
            Pebble::Eligible => Ok(()),
            Pebble::Executed => Err(IllegalMove::AlreadyExecuted(task)),
            Pebble::Bare => {
                let mut parents = self.dag.parents(task).iter().copied();
                let parent = parents.find(|&p| self.pebble(p) != Pebble::Executed);
                let parent = parent.expect("a bare task has a parent that is not executed");
                Err(IllegalMove::NotEligible { task, parent })
            }
        }
    }

    /// Executes an eligible task and returns the tasks that became eligible, in id order.
    ///
    /// # Errors
    /// If the task is not eligible; the game is then unchanged.
    pub fn execute(&mut self, task: TaskId) -> Result<&[TaskId], IllegalMove> {
        self.check(task)?;
        self.pebble[task.index()] = Pebble::Executed;
        self.executed += 1;
        self.fresh.clear();
        for &child in self.dag.children(task) {
            self.waiting[child.index()] -= 1;
            if self.waiting[child.index()] == 0 {
                self.pebble[child.index()] = Pebble::Eligible;
                self.fresh.push(child);
            }
        }
        self.eligible = self.eligible - 1 + self.fresh.len();
        Ok(&self.fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, eligible};
    use proptest::prelude::*;

    proptest! {
        /// Random moves, legal and not: after each, the pebbles are those that the definition gives.
        #[test]
        fn pebbles_are_what_the_rules_say(dag in any_dag(12), moves in prop::collection::vec(0u32..14, 0..60)) {
            let mut game = Game::new(&dag);
            let mut ideal = 0u32;
            for task in moves.into_iter().map(TaskId) {
                let may = eligible(&dag, ideal);
                let before: Vec<TaskId> = game.eligible().collect();
                prop_assert_eq!(&before, &may);
                prop_assert_eq!(game.eligible_count(), may.len());
                prop_assert_eq!(game.executed_count() as u32, ideal.count_ones());
                match game.execute(task) {
                    Ok(fresh) => {
                        prop_assert!(may.contains(&task));
                        ideal |= 1 << task.0;
                        let now = eligible(&dag, ideal);
                        let expected: Vec<TaskId> = now.into_iter().filter(|t| !may.contains(t)).collect();
                        prop_assert_eq!(fresh, &expected[..]);
                    }
                    Err(IllegalMove::NoSuchTask { .. }) => prop_assert!(task.index() >= dag.len()),
                    Err(IllegalMove::AlreadyExecuted(t)) => prop_assert!(ideal >> t.0 & 1 == 1),
                    Err(IllegalMove::NotEligible { parent, .. }) => {
                        prop_assert!(dag.has_arc(parent, task) && ideal >> parent.0 & 1 == 0);
                    }
                }
                prop_assert_eq!(game.is_finished(), ideal.count_ones() as usize == dag.len());
            }
        }
    }
}
