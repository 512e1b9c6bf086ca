//! Critical path, and the plan's order where paths are equally long. Knows no bound.

use super::bottom_levels;
use super::by_score::by_score;
use cairn_dag::{Dag, TaskId};

/// Longest path to the end first, in `seconds` or in tasks where none are given; ties as in `ic`, an order that keeps many
/// tasks eligible, where [`critical_path`](super::critical_path) takes the first in the file. O(tasks·log tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// let dag = Dag::from_arcs(5, vec![(0, 2), (1, 3), (1, 4)]).unwrap();
/// let ic = [1, 0, 2, 3, 4].map(TaskId);
/// assert_eq!(cairn_plan::policy::critical_path_ic(&dag, None, &ic), ic);
/// ```
///
/// # Panics
/// If `ic` or `seconds` are not for this dag.
pub fn critical_path_ic(dag: &Dag, seconds: Option<&[f64]>, ic: &[TaskId]) -> Vec<TaskId> {
    by_score(dag, &bottom_levels(dag, seconds), ic)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_longest_path_then_the_place_in_ic(dag in any_dag(14), salt in 0u32..9, known in any::<bool>()) {
            let seconds = known.then(|| rough_seconds(&dag, salt));
            let level = bottom_levels(&dag, seconds.as_deref());
            let ic = super::super::memory(&dag);
            let place = |t: TaskId| ic.iter().position(|i| *i == t);
            let slow = obvious(&dag, |_, t| ((level[t.index()] * 16.0) as u64, Reverse(place(t))));
            prop_assert_eq!(critical_path_ic(&dag, seconds.as_deref(), &ic), slow);
            // With ties by file it is the plain baseline.
            let ids: Vec<TaskId> = super::super::critical_path(&dag, seconds.as_deref());
            prop_assert_eq!(critical_path_ic(&dag, seconds.as_deref(), &ids), ids);
        }
    }
}
