//! The hull where making a task eligible is worth the path that hangs on it. Knows no durations but costs.

use super::bottom_levels;
use crate::{HullError, Weights, Work, weighted_order};
use cairn_dag::{Dag, TaskId};

/// Paths and durations are rounded to so many units of the longest.
// Sums over 10⁶ tasks stay within 2⁴⁰.
const UNITS: f64 = 1e6;

/// An order along the hull of executed work against the bottom levels of the tasks made eligible: the plan's way of
/// looking ahead, with long paths worth more. In `seconds`, or in tasks where none are given. Time and space as for
/// [`hull()`](crate::hull()); where `work` runs out, the hull as far as it is known.
///
/// # Errors
/// [`HullError`], when the dag is too large for 32-bit numbers.
///
/// # Panics
/// If `seconds` is given with another length than the number of tasks.
pub(crate) fn path_hull(
    dag: &Dag,
    seconds: Option<&[f64]>,
    work: &mut Work<'_>,
) -> Result<Vec<TaskId>, HullError> {
    weighted_order(dag, &weights(dag, seconds), work).map(|(order, _)| order)
}

fn weights(dag: &Dag, seconds: Option<&[f64]>) -> Weights {
    let level = bottom_levels(dag, seconds);
    let weights = Weights::new(dag.len(), seconds.map(scaled), Some(scaled(&level)));
    weights.expect("so few units of so many tasks fit")
}

fn scaled(values: &[f64]) -> Vec<u64> {
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // At least one unit: a task that costs nothing would make slopes infinite.
    let units = |v: &f64| (v / most * UNITS).round().max(1.0) as u64;
    values.iter().map(units).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::rough_seconds;
    use super::*;
    use cairn_oracle::{any_dag, ideals};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Of all ideals none lies above a corner that the order passes: tried one by one.
        #[test]
        fn the_order_passes_the_best_ideals(dag in any_dag(10), salt in 0u32..9, known in any::<bool>()) {
            let seconds = known.then(|| rough_seconds(&dag, salt));
            let weights = weights(&dag, seconds.as_deref());
            let order = path_hull(&dag, seconds.as_deref(), &mut Work::unlimited()).unwrap();
            let point = |ideal: u32| {
                let holds = |t: TaskId| ideal >> t.0 & 1 == 1;
                let cost: u64 = dag.tasks().filter(|&t| holds(t)).map(|t| weights.cost(t)).sum();
                let made = dag.tasks().filter(|&t| !dag.is_source(t) && dag.parents(t).iter().all(|&p| holds(p)));
                (cost, made.map(|t| weights.reward(t)).sum::<u64>())
            };
            let all: Vec<(u64, u64)> = ideals(&dag).iter().flatten().map(|&i| point(i)).collect();
            let mut done = 0;
            let mut passed = vec![point(0)];
            for task in &order {
                done |= 1 << task.0;
                passed.push(point(done));
            }
            // Above every chord of the upper hull there is a point of the order as high as the highest ideal.
            for slope in 0..40u64 {
                let height = |p: &(u64, u64)| i128::from(p.1) * 8 - i128::from(p.0) * i128::from(slope);
                let best = all.iter().map(height).max();
                prop_assert_eq!(passed.iter().map(height).max(), best, "slope {}", slope);
            }
        }
    }
}
