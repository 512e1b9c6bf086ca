//! Three quarters critical path, one quarter the plan's order. Knows no bound.

use super::bottom_levels;
use super::by_score::by_score;
use cairn_dag::{Dag, TaskId};

/// What the path counts; the place in the plan's order has the rest.
// Chosen by eye, so that the path decides but where tasks differ by little in it; no other share was tried.
const PATH: f64 = 0.75;

/// Tasks by ¾ of the longest path to the end (as a share of the longest of all) less ¼ of the place in `ic` (as a share of
/// all places). Between the two: it follows the path where paths differ much, the plan where they hardly do. In `seconds`,
/// or in tasks where none are given. O(tasks·log tasks + arcs).
///
/// # Panics
/// If `ic` or `seconds` are not for this dag.
pub(crate) fn blend(dag: &Dag, seconds: Option<&[f64]>, ic: &[TaskId]) -> Vec<TaskId> {
    let level = bottom_levels(dag, seconds);
    // Not zero, so that tasks without any duration do not divide by it.
    let longest = level.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut score = vec![0.0; dag.len()];
    for (place, task) in ic.iter().enumerate() {
        let ahead = place as f64 / dag.len() as f64;
        score[task.index()] = PATH * (level[task.index()] / longest) - (1.0 - PATH) * ahead;
    }
    by_score(dag, &score, ic)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    /// Of two tasks, one has a path that is slightly longer and one stands far ahead in the plan.
    #[test]
    fn the_path_decides_where_it_differs_much() {
        let dag = Dag::from_arcs(2, vec![]).unwrap();
        let ic = [1, 0].map(TaskId);
        assert_eq!(blend(&dag, Some(&[1.1, 1.0]), &ic)[0], TaskId(1));
        assert_eq!(blend(&dag, Some(&[2.0, 1.0]), &ic)[0], TaskId(0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_order_is_that_of_the_formula(dag in any_dag(14), salt in 0u32..9, known in any::<bool>()) {
            let seconds = known.then(|| rough_seconds(&dag, salt));
            let level = bottom_levels(&dag, seconds.as_deref());
            let longest = level.iter().copied().fold(0.0, f64::max);
            let ic = super::super::lifo(&dag);
            let score = |t: TaskId| {
                let place = ic.iter().position(|i| *i == t).unwrap() as f64;
                let path = if longest > 0.0 { level[t.index()] / longest } else { 0.0 };
                0.75 * path - 0.25 * place / dag.len() as f64
            };
            // Above zero, so that the bits sort like the numbers; equal scores are equal to the last bit or not at all.
            let slow = obvious(&dag, |_, t| ((score(t) + 1.0) * 1e12).round() as u64);
            let fast = blend(&dag, seconds.as_deref(), &ic);
            for (a, b) in fast.iter().zip(&slow) {
                prop_assert!((score(*a) - score(*b)).abs() < 1e-9, "{:?} {:?}", fast, slow);
            }
        }
    }
}
