//! Orders by a number a task: the highest first. Knows not what the numbers mean.

use crate::counts::{at, narrow, parents_left};
use cairn_dag::{Dag, TaskId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Always the eligible task with the highest score; of equal ones the first in `ties`, which must be topological.
/// O(tasks·log tasks + arcs).
pub(super) fn by_score(dag: &Dag, score: &[f64], ties: &[TaskId]) -> Vec<TaskId> {
    let mut falling = ties.to_vec();
    // Stable, so that ties stay as given.
    falling.sort_by(|a, b| score[b.index()].total_cmp(&score[a.index()]));
    first_eligible(dag, falling)
}

/// Always the eligible task that stands first in the list: the list itself where it is topological.
fn first_eligible(dag: &Dag, list: Vec<TaskId>) -> Vec<TaskId> {
    let mut place = vec![0u32; list.len()];
    for (i, task) in list.iter().enumerate() {
        place[task.index()] = narrow(i);
    }
    let is_behind = |task: TaskId| {
        let parents = dag.parents(task).iter();
        parents.map(|p| place[p.index()]).max() < Some(place[task.index()])
    };
    // Scores that never rise towards children, as path lengths, sort topologically: no heap is needed then.
    if dag.tasks().all(is_behind) {
        return list;
    }
    let mut waiting = parents_left(dag);
    let mut heap: BinaryHeap<Reverse<u32>> =
        (dag.sources().map(|t| Reverse(place[t.index()]))).collect();
    let mut order = Vec::with_capacity(dag.len());
    while let Some(Reverse(first)) = heap.pop() {
        let task = list[at(first)];
        order.push(task);
        for &child in dag.children(task) {
            waiting[child.index()] -= 1;
            if waiting[child.index()] == 0 {
                heap.push(Reverse(place[child.index()]));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::super::{bottom_levels, critical_path, memory};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

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
