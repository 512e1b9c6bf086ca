//! What an order costs in memory: results kept because some child has not been executed. Knows no cap and no optimum.
//!
//! Reference: \[RY05\] §2.2.3.

use cairn_dag::{Dag, TaskId};

/// The memory in use after each step 0..=n of `order`: the sum of `size` over the executed tasks that have an
/// unexecuted child. With size 1 for every task, this counts open results; with bytes, bytes. O(tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::memory::open_results;
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let order = [0, 1, 2, 3].map(TaskId);
/// assert_eq!(open_results(&diamond, &order, |_| 1), [0, 1, 2, 2, 0]);
/// assert_eq!(open_results(&diamond, &order, |t| 10 + u64::from(t.0)), [0, 10, 21, 23, 0]);
/// ```
///
/// # Panics
/// If `order` does not name every task once.
pub fn open_results(dag: &Dag, order: &[TaskId], size: impl Fn(TaskId) -> u64) -> Vec<u128> {
    assert_eq!(order.len(), dag.len(), "an order names every task once");
    let mut waiting: Vec<u32> = dag.tasks().map(|t| dag.children(t).len() as u32).collect();
    let mut executed = vec![false; dag.len()];
    let mut open = 0u128;
    let mut trace = Vec::with_capacity(order.len() + 1);
    trace.push(open);
    for &task in order {
        let before = std::mem::replace(&mut executed[task.index()], true);
        assert!(!before, "{task:?} twice");
        // An order that breaks the arcs may have executed children already.
        if waiting[task.index()] > 0 {
            open += u128::from(size(task));
        }
        for &parent in dag.parents(task) {
            waiting[parent.index()] -= 1;
            if waiting[parent.index()] == 0 && executed[parent.index()] {
                open -= u128::from(size(parent));
            }
        }
        trace.push(open);
    }
    trace
}

/// The memory cost of an order: the largest number of open results at any step.
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
/// If `order` does not name every task once.
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
        /// Against counting at every step, for any permutation and any sizes.
        #[test]
        fn agrees_with_counting(dag in any_dag(14), seed in any::<u64>(), sizes in prop::collection::vec(any::<u64>(), 14)) {
            let mut order = dag.topological_order().to_vec();
            if seed % 2 == 0 {
                // Not even a schedule: memory is still defined.
                order.sort_by_key(|t| (u64::from(t.0) + 1).wrapping_mul(seed | 1));
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
