//! What an order is worth: eligible tasks step by step, their sum, two orders compared. Knows no optimum.

use crate::game::{Game, IllegalMove};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::narrow;

/// Why a list of tasks is no schedule of the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A move the rules forbid.
    #[error("at position {position}: {illegal}")]
    Illegal {
        /// Index into the order.
        position: usize,
        /// What is wrong there.
        illegal: IllegalMove,
    },
    /// The order stops early.
    #[error("the order names {named} of {tasks} tasks; {missing:?} is missing")]
    Incomplete {
        /// Tasks in the order.
        named: usize,
        /// Tasks of the dag.
        tasks: usize,
        /// The first task that the order leaves out.
        missing: TaskId,
    },
}

/// E(t) for t = 0..=n: how many tasks are eligible after the first `t` tasks of `order`.
///
/// Time O(tasks + arcs), space O(tasks).
///
/// # Errors
/// If `order` is no topological order of all tasks.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::profile::{area, profile};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let order = [0, 2, 1, 3].map(TaskId);
/// assert_eq!(profile(&diamond, &order).unwrap(), [1, 2, 1, 1, 0]);
/// assert_eq!(area(&[1, 2, 1, 1, 0]), 5);
/// ```
pub fn profile(dag: &Dag, order: &[TaskId]) -> Result<Vec<u32>, OrderError> {
    let mut game = Game::new(dag);
    let mut eligible = Vec::with_capacity(dag.len() + 1);
    eligible.push(narrow(game.eligible_count()));
    for (position, &task) in order.iter().enumerate() {
        (game.execute(task, |_| ()))
            .map_err(|illegal| OrderError::Illegal { position, illegal })?;
        eligible.push(narrow(game.eligible_count()));
    }
    // While a task is left, one is eligible: the first one left in a topological order.
    match game.eligible().next() {
        None => Ok(eligible),
        Some(missing) => Err(OrderError::Incomplete {
            named: order.len(),
            tasks: dag.len(),
            missing,
        }),
    }
}

/// The sum of a profile: the single number by which orders that beat each other at different steps are compared.
pub fn area(profile: &[u32]) -> u64 {
    profile.iter().map(|&e| u64::from(e)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Move, Standing};
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn profile_agrees_with_the_oracle(dag in any_dag(16)) {
            let order = dag.topological_order();
            prop_assert_eq!(profile(&dag, order).unwrap(), cairn_oracle::profile(&dag, order));
        }

        /// A permutation is accepted iff every parent comes first; the error names a true fault.
        #[test]
        fn exactly_the_topological_orders_are_accepted(
            dag in any_dag(7),
            keys in prop::collection::vec(any::<u64>(), 7),
            cut in 0usize..9,
        ) {
            let mut order: Vec<TaskId> = dag.tasks().collect();
            order.sort_by_key(|t| keys[t.index()]);
            let at = |t: TaskId| order.iter().position(|&x| x == t);
            let valid = dag.arcs().all(|(a, b)| at(a) < at(b));
            match profile(&dag, &order) {
                Ok(_) => prop_assert!(valid),
                Err(OrderError::Illegal { position, illegal: IllegalMove::NotEligible { task, parent } }) => {
                    prop_assert_eq!(order[position], task);
                    prop_assert!(dag.has_arc(parent, task) && at(parent) > at(task));
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
            let topological = dag.topological_order();
            if cut < dag.len() {
                let error = profile(&dag, &topological[..cut]).unwrap_err();
                let OrderError::Incomplete { named, missing, .. } = error else { panic!("{error}") };
                prop_assert!(named == cut && !topological[..cut].contains(&missing));
                let mut twice = topological.to_vec();
                twice.push(topological[cut]);
                let (task, found, wanted) = (topological[cut], Standing::Executed, Move::Execute);
                let illegal = IllegalMove::Standing { task, found, wanted };
                prop_assert_eq!(profile(&dag, &twice), Err(OrderError::Illegal { position: dag.len(), illegal }));
            }
        }
    }
}
