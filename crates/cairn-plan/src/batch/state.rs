//! Who is executed, leased, eligible: the state a server asks for batches. Knows nothing of how batches are chosen.

use cairn_dag::{Dag, TaskId};
use cairn_kernel::{narrow, wide};
use cairn_theory::game::{Game, IllegalMove, Standing};
use cairn_theory::task_set::TaskSet;

/// A play of the [`Game`] with what choosing batches needs beside it, kept up to date in time proportional to the degree of
/// the task that changes.
///
/// A child all of whose parents are executed, leased or eligible is in reach of one batch: a *prize* when at least
/// one of them can still be chosen. Leased tasks are counted as if they were executed already: whoever has them is
/// expected to finish.
#[derive(Clone, Debug)]
pub struct BatchState<'d> {
    game: Game<'d>,
    /// By task: parents neither executed nor leased.
    unsettled: Vec<u32>,
    /// By task: parents that are eligible.
    choosable_parents: Vec<u32>,
    /// Eligible tasks.
    eligible: TaskSet,
    /// Tasks whose surroundings changed since they were last looked at, and tasks newly eligible.
    touched: Vec<TaskId>,
    /// Tasks that the last execution made eligible: a buffer.
    opened: Vec<TaskId>,
}

impl<'d> BatchState<'d> {
    /// Nothing executed yet. O(tasks + arcs).
    pub fn new(dag: &'d Dag) -> BatchState<'d> {
        let mut state = BatchState {
            game: Game::new(dag),
            unsettled: (dag.tasks().map(|t| narrow(dag.parents(t).len()))).collect(),
            choosable_parents: vec![0; dag.len()],
            eligible: TaskSet::of(dag.len()),
            touched: Vec::new(),
            opened: Vec::new(),
        };
        dag.sources().for_each(|t| state.become_eligible(t));
        state
    }

    /// With these tasks executed, in any order and each named at least once.
    ///
    /// # Errors
    /// [`IllegalMove::NotEligible`] when a parent is missing.
    pub fn with_executed(dag: &'d Dag, executed: &[TaskId]) -> Result<BatchState<'d>, IllegalMove> {
        let mut is_executed = vec![false; dag.len()];
        executed.iter().for_each(|t| is_executed[t.index()] = true);
        let mut state = BatchState::new(dag);
        // So parents come first, whatever the order given.
        for &task in dag.topological_order() {
            if is_executed[task.index()] {
                state.execute(task)?;
            }
        }
        Ok(state)
    }

    /// The dag.
    pub fn dag(&self) -> &'d Dag {
        self.game.dag()
    }

    /// Where the task stands.
    pub(crate) fn standing(&self, task: TaskId) -> Standing {
        self.game.standing(task)
    }

    /// The eligible tasks that nobody has, in no order.
    pub fn eligible(&self) -> &[TaskId] {
        self.eligible.as_slice()
    }

    /// How many tasks are executed.
    pub fn executed(&self) -> usize {
        self.game.executed_count()
    }

    /// Hands an eligible task out.
    ///
    /// # Errors
    /// Unless it is eligible.
    pub fn lease(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        self.game.lease(task)?;
        self.touched.push(task);
        self.eligible.remove(task);
        for &child in self.dag().children(task) {
            self.unsettled[child.index()] -= 1;
            self.choosable_parents[child.index()] -= 1;
        }
        Ok(())
    }

    /// Takes a lease back: the task is eligible again.
    ///
    /// # Errors
    /// Unless it is leased.
    pub fn release(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        self.game.release(task)?;
        for &child in self.dag().children(task) {
            self.unsettled[child.index()] += 1;
        }
        self.become_eligible(task);
        Ok(())
    }

    /// Notes that a leased or eligible task is done, and makes its children eligible that wait for nothing else.
    ///
    /// # Errors
    /// If it waits or is executed already.
    pub fn execute(&mut self, task: TaskId) -> Result<(), IllegalMove> {
        // By way of a lease, so that the books of settled and choosable parents are kept in one place.
        if self.standing(task) == Standing::Eligible {
            self.lease(task)?;
        }
        let mut opened = std::mem::take(&mut self.opened);
        opened.clear();
        let outcome = self.game.execute(task, |child| opened.push(child));
        opened.iter().for_each(|&child| self.become_eligible(child));
        self.opened = opened;
        outcome
    }

    /// Whether a batch can make this task eligible: all its parents are settled or eligible, and one is eligible.
    pub(crate) fn is_prize(&self, task: TaskId) -> bool {
        let choosable = self.choosable_parents[task.index()];
        choosable > 0 && choosable == self.unsettled[task.index()]
    }

    /// How many of its parents must be chosen to make a prize eligible.
    pub(crate) fn price(&self, prize: TaskId) -> u32 {
        self.choosable_parents[prize.index()]
    }

    /// The prizes that need this eligible task.
    pub(crate) fn prizes(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        (self.dag().children(task).iter().copied()).filter(|&c| self.is_prize(c))
    }

    /// The parents of a prize that can be chosen.
    pub(crate) fn choosable_parents(&self, prize: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let eligible = |p: &TaskId| self.standing(*p) == Standing::Eligible;
        self.dag().parents(prize).iter().copied().filter(eligible)
    }

    /// How many prizes the chosen tasks, all of them eligible, make eligible together. O(their degrees).
    pub(crate) fn yield_of(&self, chosen: &[TaskId]) -> usize {
        let mut prizes: Vec<TaskId> = chosen.iter().flat_map(|&t| self.prizes(t)).collect();
        // Sorted instead of counted in a map: a prize is bought when it stands as often as its price.
        prizes.sort_unstable();
        (prizes.chunk_by(|a, b| a == b))
            .filter(|run| run.len() == wide(self.price(run[0])))
            .count()
    }

    /// Marks every eligible task as changed.
    #[cfg(test)]
    pub(super) fn touch_all(&mut self) {
        self.touched.extend_from_slice(self.eligible.as_slice());
    }

    /// Takes the list of tasks whose surroundings changed since the last call.
    pub(super) fn take_touched(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.touched)
    }

    /// Books a task that has just become eligible.
    fn become_eligible(&mut self, task: TaskId) {
        self.eligible.insert(task);
        self.touched.push(task);
        for &child in self.dag().children(task) {
            self.choosable_parents[child.index()] += 1;
            // A new prize joins all tasks that it needs.
            if self.is_prize(child) {
                let needed = self.choosable_parents(child);
                let needed: Vec<TaskId> = needed.filter(|&p| p != task).collect();
                self.touched.extend(needed);
            }
        }
    }
}
