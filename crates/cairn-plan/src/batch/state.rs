//! Who is executed, leased, eligible: the state a server asks for batches. Knows nothing of how batches are chosen.

use cairn_dag::{Dag, TaskId};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Some parent is not executed.
    Waiting,
    /// All parents are executed; nobody works on it.
    Eligible,
    /// Somebody works on it.
    Leased,
    /// Done.
    Executed,
}

/// Why a change of state was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A task is said to be executed while a parent is not.
    #[error("{task:?} cannot be executed: its parent {parent:?} is not")]
    NotClosed {
        /// The task.
        task: TaskId,
        /// A parent that is not executed.
        parent: TaskId,
    },
    /// The task does not stand where the change would need it.
    #[error("{task:?} is {found:?}, so it cannot be {wanted}")]
    Standing {
        /// The task.
        task: TaskId,
        /// Where it stands.
        found: Standing,
        /// What was asked.
        wanted: &'static str,
    },
}

/// The state of a computation, kept up to date in time proportional to the degree of the task that changes.
///
/// A child all of whose parents are executed, leased or eligible is in reach of one batch: a *prize* when at least
/// one of them can still be chosen. Leased tasks are counted as if they were executed already: whoever has them is
/// expected to finish.
#[derive(Clone, Debug)]
pub struct BatchState<'d> {
    dag: &'d Dag,
    standing: Vec<Standing>,
    /// By task: parents not executed.
    missing: Vec<u32>,
    /// By task: parents neither executed nor leased.
    unsettled: Vec<u32>,
    /// By task: parents that are eligible.
    choosable_parents: Vec<u32>,
    /// Eligible tasks, in no order, and where each stands in that list.
    eligible: Vec<TaskId>,
    place: Vec<u32>,
    /// Tasks whose surroundings changed since they were last looked at, and tasks newly eligible.
    touched: Vec<TaskId>,
    executed: usize,
    leased: usize,
}

impl<'d> BatchState<'d> {
    /// Nothing executed yet. O(tasks + arcs).
    pub fn new(dag: &'d Dag) -> BatchState<'d> {
        let parents = |t: TaskId| dag.parents(t).len() as u32;
        let mut state = BatchState {
            dag,
            standing: vec![Standing::Waiting; dag.len()],
            missing: dag.tasks().map(parents).collect(),
            unsettled: dag.tasks().map(parents).collect(),
            choosable_parents: vec![0; dag.len()],
            eligible: Vec::new(),
            place: vec![u32::MAX; dag.len()],
            touched: Vec::new(),
            executed: 0,
            leased: 0,
        };
        dag.sources().for_each(|t| state.become_eligible(t));
        state
    }

    /// With these tasks executed, in any order and each named at least once.
    ///
    /// # Errors
    /// [`StateError::NotClosed`] when a parent is missing.
    pub fn with_executed(dag: &'d Dag, executed: &[TaskId]) -> Result<BatchState<'d>, StateError> {
        let mut is_executed = vec![false; dag.len()];
        executed.iter().for_each(|t| is_executed[t.index()] = true);
        let mut state = BatchState::new(dag);
        for &task in dag.topological_order() {
            if !is_executed[task.index()] {
                continue;
            }
            let open = dag.parents(task).iter().find(|p| !is_executed[p.index()]);
            if let Some(&parent) = open {
                return Err(StateError::NotClosed { task, parent });
            }
            state.execute(task)?;
        }
        Ok(state)
    }

    /// The dag.
    pub fn dag(&self) -> &'d Dag {
        self.dag
    }

    /// Where the task stands.
    pub fn standing(&self, task: TaskId) -> Standing {
        self.standing[task.index()]
    }

    /// The eligible tasks that nobody has, in no order.
    pub fn eligible(&self) -> &[TaskId] {
        &self.eligible
    }

    /// How many tasks are executed.
    pub fn executed(&self) -> usize {
        self.executed
    }

    /// How many tasks are leased.
    pub fn leased(&self) -> usize {
        self.leased
    }

    /// Hands an eligible task out.
    ///
    /// # Errors
    /// [`StateError::Standing`] unless it is eligible.
    pub fn lease(&mut self, task: TaskId) -> Result<(), StateError> {
        self.expect(task, Standing::Eligible, "leased")?;
        self.touched.push(task);
        self.leave_eligible(task);
        self.standing[task.index()] = Standing::Leased;
        self.leased += 1;
        for &child in self.dag.children(task) {
            self.unsettled[child.index()] -= 1;
            self.choosable_parents[child.index()] -= 1;
        }
        Ok(())
    }

    /// Takes a lease back: the task is eligible again.
    ///
    /// # Errors
    /// [`StateError::Standing`] unless it is leased.
    pub fn release(&mut self, task: TaskId) -> Result<(), StateError> {
        self.expect(task, Standing::Leased, "released")?;
        self.leased -= 1;
        for &child in self.dag.children(task) {
            self.unsettled[child.index()] += 1;
        }
        self.become_eligible(task);
        Ok(())
    }

    /// Notes that a leased or eligible task is done, and makes its children eligible that wait for nothing else.
    ///
    /// # Errors
    /// [`StateError::Standing`] if it waits or is executed already.
    pub fn execute(&mut self, task: TaskId) -> Result<(), StateError> {
        if self.standing(task) == Standing::Eligible {
            self.lease(task)?;
        }
        self.expect(task, Standing::Leased, "executed")?;
        self.leased -= 1;
        self.executed += 1;
        self.standing[task.index()] = Standing::Executed;
        for &child in self.dag.children(task) {
            self.missing[child.index()] -= 1;
            if self.missing[child.index()] == 0 {
                self.become_eligible(child);
            }
        }
        Ok(())
    }

    /// Whether a batch can make this task eligible: all its parents are settled or eligible, and one is eligible.
    pub fn is_prize(&self, task: TaskId) -> bool {
        let choosable = self.choosable_parents[task.index()];
        choosable > 0 && choosable == self.unsettled[task.index()]
    }

    /// How many of its parents must be chosen to make a prize eligible.
    pub fn price(&self, prize: TaskId) -> u32 {
        self.choosable_parents[prize.index()]
    }

    /// The prizes that need this eligible task.
    pub fn prizes(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        (self.dag.children(task).iter().copied()).filter(|&c| self.is_prize(c))
    }

    /// The parents of a prize that can be chosen.
    pub fn choosable_parents(&self, prize: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let eligible = |p: &TaskId| self.standing(*p) == Standing::Eligible;
        self.dag.parents(prize).iter().copied().filter(eligible)
    }

    /// How many waiting tasks become eligible when all leased tasks are executed and nothing else.
    pub fn awaited(&self) -> usize {
        let settled =
            |t: &TaskId| self.standing(*t) == Standing::Waiting && self.unsettled[t.index()] == 0;
        self.dag.tasks().filter(settled).count()
    }

    /// How many prizes the chosen tasks, all of them eligible, make eligible together. O(their degrees).
    pub fn yield_of(&self, chosen: &[TaskId]) -> usize {
        let mut prizes: Vec<TaskId> = chosen.iter().flat_map(|&t| self.prizes(t)).collect();
        prizes.sort_unstable();
        (prizes.chunk_by(|a, b| a == b))
            .filter(|run| run.len() == self.price(run[0]) as usize)
            .count()
    }

    /// Marks every eligible task as changed.
    #[cfg(test)]
    pub(super) fn touch_all(&mut self) {
        self.touched.extend_from_slice(&self.eligible);
    }

    /// Takes the list of tasks whose surroundings changed since the last call.
    pub(super) fn take_touched(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.touched)
    }

    fn expect(
        &self,
        task: TaskId,
        standing: Standing,
        wanted: &'static str,
    ) -> Result<(), StateError> {
        let found = self.standing(task);
        if found == standing {
            return Ok(());
        }
        Err(StateError::Standing {
            task,
            found,
            wanted,
        })
    }

    fn become_eligible(&mut self, task: TaskId) {
        self.standing[task.index()] = Standing::Eligible;
        self.place[task.index()] = self.eligible.len() as u32;
        self.eligible.push(task);
        self.touched.push(task);
        let dag = self.dag;
        for &child in dag.children(task) {
            self.choosable_parents[child.index()] += 1;
            // A new prize joins all tasks that it needs.
            if self.is_prize(child) {
                let needed = self.choosable_parents(child);
                let needed: Vec<TaskId> = needed.filter(|&p| p != task).collect();
                self.touched.extend(needed);
            }
        }
    }

    fn leave_eligible(&mut self, task: TaskId) {
        let at = self.place[task.index()] as usize;
        self.eligible.swap_remove(at);
        if let Some(&moved) = self.eligible.get(at) {
            self.place[moved.index()] = at as u32;
        }
        self.place[task.index()] = u32::MAX;
    }
}
