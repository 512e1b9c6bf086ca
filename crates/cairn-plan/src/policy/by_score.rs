//! Orders by a number a task, the highest first, and numbers by an order. Knows not what the numbers mean.

use super::largest_first;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{narrow, places, wide};
use std::cmp::Reverse;

/// Always the eligible task with the highest score; of equal ones the first in `ties`, which must be topological.
/// O(tasks·log tasks + arcs).
pub(super) fn by_score(dag: &Dag, score: &[f64], ties: &[TaskId]) -> Vec<TaskId> {
    // With the score beside its place: comparing reads no other memory, which for a million tasks is most of the time.
    let mut falling: Vec<(u64, u32)> = (ties.iter().zip(0u32..))
        .map(|(task, place)| (falling_bits(score[task.index()]), place))
        .collect();
    // Places differ, so that ties stay as given.
    falling.sort_unstable();
    let list = falling.into_iter().map(|(_, place)| ties[wide(place)]);
    first_eligible(dag, list.collect())
}

/// By task its priority in an order of all tasks: the first has as many as there are tasks, the last has 1. Engines take the largest
/// first, and 0 for a task without one.
///
/// ```
/// use cairn_dag::TaskId;
/// assert_eq!(cairn_plan::policy::priorities(&[2, 0, 1].map(TaskId)), [2, 1, 3]);
/// ```
pub fn priorities(order: &[TaskId]) -> Vec<u32> {
    let many = narrow(order.len());
    places(order)
        .into_iter()
        .map(|place| many - place)
        .collect()
}

/// Bits that sort as numbers fall, by `f64::total_cmp`.
fn falling_bits(number: f64) -> u64 {
    let bits = number.to_bits();
    // Negative numbers have the sign bit, and grow towards zero.
    match bits >> 63 {
        0 => !bits ^ (1 << 63),
        _ => bits,
    }
}

/// Always the eligible task that stands first in the list: the list itself where it is topological.
fn first_eligible(dag: &Dag, list: Vec<TaskId>) -> Vec<TaskId> {
    let place = places(&list);
    let is_behind = |task: TaskId| {
        let parents = dag.parents(task).iter();
        parents.map(|p| place[p.index()]).max() < Some(place[task.index()])
    };
    // Scores that never rise towards children, as path lengths, sort topologically: no heap is needed then.
    if dag.tasks().all(is_behind) {
        return list;
    }
    largest_first(dag, |task, _| Reverse(place[task.index()]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::super::{bottom_levels, critical_path, memory};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    #[test]
    fn bits_sort_as_numbers_fall() {
        let some = [
            0.0,
            1e-310,
            1e-9,
            1.0,
            1.5,
            2.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        let all: Vec<f64> = some.iter().flat_map(|&x| [x, -x]).collect();
        for &a in &all {
            for &b in &all {
                assert_eq!(
                    falling_bits(a).cmp(&falling_bits(b)),
                    b.total_cmp(&a),
                    "{a} {b}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_longest_path_then_the_place_in_ic(dag in any_dag(14), salt in 0u32..9, known in any::<bool>()) {
            let seconds = known.then(|| rough_seconds(&dag, salt));
            let level = bottom_levels(&dag, seconds.as_deref());
            let ic = memory(&dag);
            let place = |t: TaskId| ic.iter().position(|i| *i == t);
            let slow = obvious(&dag, |_, t| ((level[t.index()] * 16.0) as u64, Reverse(place(t))));
            prop_assert_eq!(by_score(&dag, &level, &ic), slow);
            // With ties by file it is the plain baseline.
            let ids = critical_path(&dag, seconds.as_deref());
            prop_assert_eq!(by_score(&dag, &level, &ids), ids);
        }
    }
}
