//! Critical path, leaning to tasks with much work below them. Knows no workers.

use super::by_score::by_score;
use super::{bottom_levels, descendants_work};
use cairn_dag::{Dag, TaskId};

/// What the work below counts beside the longest path: of 0, 0.1, 0.25 and 1 the best on 24 real dags in twelve worlds.
const LEAN: f64 = 0.1;

/// Tasks by falling BL + 0.1·D/P, ties as in `ic`: BL is the longest path from the task to the end, D the work of the task
/// and all its descendants, P the mean parallelism (all work over the longest path). In `seconds`, or in tasks where none
/// are given.
///
/// The longest path alone is blind to how much hangs on a task: of two paths of the same length the one with more beside it
/// is more urgent, the more so the fewer workers there are. Time and space as for `descendants_work`, and
/// O(tasks·log tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// // Both have one task behind them on the longest path; task 1 has three.
/// let dag = Dag::from_arcs(6, vec![(0, 2), (1, 3), (1, 4), (1, 5)]).unwrap();
/// let ids: Vec<TaskId> = dag.tasks().collect();
/// assert_eq!(cairn_plan::policy::critical_path(&dag, None)[0], TaskId(0));
/// assert_eq!(cairn_plan::policy::path_plus(&dag, None, &ids)[0], TaskId(1));
/// ```
///
/// # Panics
/// If `ic` or `seconds` are not for this dag.
pub fn path_plus(dag: &Dag, seconds: Option<&[f64]>, ic: &[TaskId]) -> Vec<TaskId> {
    let level = bottom_levels(dag, seconds);
    let below = descendants_work(dag, seconds);
    by_score(dag, &score(dag, seconds, &level, &below), ic)
}

/// BL + 0.1·D/P by task.
pub(super) fn score(dag: &Dag, seconds: Option<&[f64]>, level: &[f64], below: &[f64]) -> Vec<f64> {
    let longest = level.iter().copied().fold(0.0, f64::max);
    let all: f64 = seconds.map_or(dag.len() as f64, |s| s.iter().sum());
    let lean = if all > 0.0 { LEAN * longest / all } else { 0.0 };
    (level.iter().zip(below))
        .map(|(level, below)| level + lean * below)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    /// The longest path to the end, by trying all.
    fn longest(dag: &Dag, work: &[f64], from: TaskId) -> f64 {
        let children = dag.children(from).iter();
        work[from.index()] + children.map(|&c| longest(dag, work, c)).fold(0.0, f64::max)
    }

    fn reaches(dag: &Dag, from: TaskId, to: TaskId) -> bool {
        from == to || dag.children(from).iter().any(|&c| reaches(dag, c, to))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_order_is_that_of_the_formula(dag in any_dag(12), salt in 0u32..9, known in any::<bool>()) {
            let seconds = match known {
                true => rough_seconds(&dag, salt),
                false => vec![1.0; dag.len()],
            };
            let all: f64 = seconds.iter().sum();
            let path = dag.tasks().map(|t| longest(&dag, &seconds, t)).fold(0.0, f64::max);
            let score = |t: TaskId| {
                let below = dag.tasks().filter(|&d| reaches(&dag, t, d));
                let below: f64 = below.map(|d| seconds[d.index()]).sum();
                longest(&dag, &seconds, t) + if all > 0.0 { 0.1 * below / (all / path) } else { 0.0 }
            };
            let ic = super::super::lifo(&dag);
            let place = |t: TaskId| ic.iter().position(|i| *i == t);
            // Rounded, for sums come in another order; scores that differ, differ by more.
            let slow = obvious(&dag, |_, t| ((score(t) * 1e9).round() as u64, Reverse(place(t))));
            prop_assert_eq!(path_plus(&dag, known.then_some(&seconds[..]), &ic), slow);
        }
    }
}
