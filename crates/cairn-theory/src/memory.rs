//! What an order costs in memory: results kept because some child has not been executed. Knows no cap and no optimum.
//!
//! Reference: \[RY05\] §2.2.3.

use crate::game::Game;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::narrow;
use std::ops::{AddAssign, SubAssign};

/// Which results are open while a schedule is executed: those of executed tasks with an unexecuted child. Counted, or
/// weighed by the size of each.
///
/// The sum must hold that of all sizes: `u128` always does; to count, with size 1 for every task, `u64` is enough.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::memory::OpenResults;
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let mut open: OpenResults<'_, u64> = OpenResults::new(&diamond);
/// for task in [0, 1, 2] {
///     open.execute(TaskId(task), |_| 1);
/// }
/// assert_eq!((open.now(), open.peak()), (2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct OpenResults<'d, Sum> {
    dag: &'d Dag,
    /// By task: children that are not executed.
    needed: Vec<u32>,
    now: Sum,
    peak: Sum,
}

impl<'d, Sum: Copy + Default + Ord + From<u64> + AddAssign + SubAssign> OpenResults<'d, Sum> {
    /// Nothing executed yet.
    pub fn new(dag: &'d Dag) -> OpenResults<'d, Sum> {
        OpenResults {
            dag,
            needed: dag.tasks().map(|t| narrow(dag.children(t).len())).collect(),
            now: Sum::default(),
            peak: Sum::default(),
        }
    }

    /// Executes a task whose parents are all executed and that is not. O(its parents).
    #[inline]
    pub fn execute(&mut self, task: TaskId, size: impl Fn(TaskId) -> u64) {
        if !self.dag.is_sink(task) {
            self.now += Sum::from(size(task));
        }
        for &parent in self.dag.parents(task) {
            let needed = &mut self.needed[parent.index()];
            *needed -= 1;
            if *needed == 0 {
                self.now -= Sum::from(size(parent));
            }
        }
        // After the step, as [RY05] counts; what is in use while a task runs is counted in `storage`.
        self.peak = self.peak.max(self.now);
    }

    /// How many children of a task are not executed.
    #[inline]
    pub fn needed(&self, task: TaskId) -> u32 {
        self.needed[task.index()]
    }

    /// What is open now.
    pub fn now(&self) -> Sum {
        self.now
    }

    /// The most that was open after any step so far.
    pub fn peak(&self) -> Sum {
        self.peak
    }
}

/// The memory in use after each step 0..=n of a schedule: the sum of `size` over the executed tasks that have an
/// unexecuted child. With size 1 for every task, this counts open results; with bytes, bytes. O(tasks + arcs).
///
/// # Panics
/// If `order` is no schedule.
fn open_results(dag: &Dag, order: &[TaskId], size: impl Fn(TaskId) -> u64) -> Vec<u128> {
    let mut game = Game::new(dag);
    let mut open = OpenResults::new(dag);
    let mut trace = Vec::with_capacity(order.len() + 1);
    trace.push(open.now());
    for &task in order {
        (game.execute(task, |_| ())).expect("a schedule executes parents first");
        open.execute(task, &size);
        trace.push(open.now());
    }
    assert!(game.is_finished(), "a schedule names every task");
    trace
}

/// The memory cost of an order: the largest number of open results at any step. O(tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::memory::memory_cost;
/// let two_chains = Dag::from_arcs(4, vec![(0, 1), (2, 3)]).unwrap();
/// assert_eq!(memory_cost(&two_chains, &[0, 1, 2, 3].map(TaskId)), 1);
/// assert_eq!(memory_cost(&two_chains, &[0, 2, 1, 3].map(TaskId)), 2);
/// ```
///
/// # Panics
/// If `order` is no schedule.
pub fn memory_cost(dag: &Dag, order: &[TaskId]) -> usize {
    let trace = open_results(dag, order, |_| 1);
    trace.into_iter().max().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        /// Against counting at every step, for any schedule and any sizes.
        #[test]
        fn agrees_with_counting(dag in any_dag(14), seed in any::<u64>(), sizes in prop::collection::vec(any::<u64>(), 14)) {
            let mut order: Vec<TaskId> = Vec::new();
            let mut game = Game::new(&dag);
            while let Some(task) = game.eligible().min_by_key(|t| (u64::from(t.0) + 1).wrapping_mul(seed | 1)) {
                game.execute(task, |_| ()).unwrap();
                order.push(task);
            }
            let trace = open_results(&dag, &order, |t| sizes[t.index()]);
            for t in 0..=order.len() {
                let (executed, rest) = order.split_at(t);
                let open = executed.iter().filter(|v| dag.children(**v).iter().any(|c| rest.contains(c)));
                let expected: u128 = open.map(|v| u128::from(sizes[v.index()])).sum();
                prop_assert_eq!(trace[t], expected);
            }
        }
    }
}
