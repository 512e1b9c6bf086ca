//! Orders by simple rules: those that engines and textbooks use, as baselines, and better ones, a file each. Knows nothing of
//! bounds or proofs.

mod blend;
mod by_score;
mod descendants;
mod path_hull;
mod path_plus;
mod rules;
mod share;
mod sketch;

pub(crate) use blend::blend;
pub use by_score::priorities;
pub use descendants::descendants;
pub(crate) use descendants::descendants_work;
pub(crate) use path_hull::path_hull;
pub use path_plus::path_plus;
pub use rules::{Rule, Rules};
pub use share::share;

use crate::counts::{child_left, children_left, opened, parents_left};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Growing, narrow};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// First in, first out: tasks in the order in which they become eligible, ties by id. What DAGMan does with
/// equal priorities. O(tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// let dag = Dag::from_arcs(4, vec![(0, 2), (0, 3)]).unwrap();
/// assert_eq!(cairn_plan::policy::fifo(&dag), [0, 1, 2, 3].map(TaskId));
/// ```
pub fn fifo(dag: &Dag) -> Vec<TaskId> {
    dag.topological_order().to_vec()
}

/// Last in, first out: of the tasks that became eligible last, the one with the highest id, so the last in the file.
/// The simulator's policy of this name does the same. O(tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// let dag = Dag::from_arcs(4, vec![(1, 2), (1, 3)]).unwrap();
/// assert_eq!(cairn_plan::policy::lifo(&dag), [1, 3, 2, 0].map(TaskId));
/// ```
pub fn lifo(dag: &Dag) -> Vec<TaskId> {
    // In id order, so that the highest is on top, as the rule says.
    let mut stack: Vec<TaskId> = dag.sources().collect();
    let mut waiting = parents_left(dag);
    let mut order = Vec::with_capacity(dag.len());
    while let Some(task) = stack.pop() {
        order.push(task);
        stack.extend(opened(dag, task, &mut waiting));
    }
    order
}

/// Longest path to a sink first, counted in tasks, or in `seconds` where given. Ties by id. Also known as
/// b-level or HLF. O((tasks + arcs) + tasks·log tasks).
///
/// # Panics
/// If `seconds` is given with another length than the number of tasks.
pub fn critical_path(dag: &Dag, seconds: Option<&[f64]>) -> Vec<TaskId> {
    let rank = bottom_levels(dag, seconds);
    // Durations are finite and not negative, and the bits of such floats sort like the numbers.
    largest_first(dag, |t, _| rank[t.index()].to_bits())
}

/// Length of the longest path from each task to a sink, the task's own duration included (1 when unknown).
/// O(tasks + arcs).
///
/// # Panics
/// If `seconds` is given with another length than the number of tasks.
pub(crate) fn bottom_levels(dag: &Dag, seconds: Option<&[f64]>) -> Vec<f64> {
    if let Some(seconds) = seconds {
        assert_eq!(seconds.len(), dag.len(), "one duration a task");
    }
    let mut rank = vec![0.0f64; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        let longest = dag.children(task).iter().map(|c| rank[c.index()]);
        let own = seconds.map_or(1.0, |s| s[task.index()]);
        rank[task.index()] = own + longest.fold(0.0, f64::max);
    }
    rank
}

/// Most children first, ties by id. O(arcs + tasks·log tasks).
pub fn outdegree(dag: &Dag) -> Vec<TaskId> {
    largest_first(dag, |t, _| dag.children(t).len())
}

/// The eligible task with the highest number first; equal ones in the order in which they become eligible, then by id.
/// What DAGMan makes of priorities, and any engine that has them. O(arcs + tasks·log tasks).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// let dag = Dag::from_arcs(4, vec![(0, 3)]).unwrap();
/// assert_eq!(cairn_plan::policy::by_priority(&dag, &[2, 1, 1, 9]), [0, 3, 1, 2].map(TaskId));
/// ```
///
/// # Panics
/// If there is not one number a task.
pub fn by_priority(dag: &Dag, priority: &[i64]) -> Vec<TaskId> {
    assert_eq!(priority.len(), dag.len(), "one priority a task");
    largest_first(dag, |t, since| (priority[t.index()], Reverse(since)))
}

/// Fewest open results first: prefers the task that closes most results (it is the last child they wait for)
/// and opens none; among equals the one that became eligible last. O((tasks + arcs)·log tasks).
pub fn memory(dag: &Dag) -> Vec<TaskId> {
    let mut waiting = parents_left(dag);
    let mut open_children = children_left(dag);
    let mut closes = vec![0i64; dag.len()];
    let mut since = vec![0u32; dag.len()];
    let key = |closes: &[i64], t: TaskId| closes[t.index()] - i64::from(!dag.is_sink(t));
    let sources = dag.sources().map(|t| ((key(&closes, t), 0), t));
    let mut eligible = Growing::of(dag.len(), sources);
    let mut order = Vec::with_capacity(dag.len());
    while let Some(task) = eligible.pop() {
        order.push(task);
        let step = narrow(order.len());
        for child in opened(dag, task, &mut waiting) {
            since[child.index()] = step;
            let lasts = dag.parents(child).iter();
            closes[child.index()] = lasts.filter(|p| open_children[p.index()] == 1).count() as i64;
            eligible.push((key(&closes, child), step), child);
        }
        for &parent in dag.parents(task) {
            open_children[parent.index()] -= 1;
            if open_children[parent.index()] == 1 {
                let last = child_left(dag, parent, |c| eligible.is_popped(c));
                let last = last.expect("one child is left");
                if waiting[last.index()] == 0 {
                    closes[last.index()] += 1;
                    eligible.push((key(&closes, last), since[last.index()]), last);
                }
            }
        }
    }
    order
}

/// Always the eligible task with the largest key, ties by id. A key may tell how many tasks were executed when its task
/// became eligible. O(arcs + tasks·log tasks).
fn largest_first<K: Ord>(dag: &Dag, key: impl Fn(TaskId, usize) -> K) -> Vec<TaskId> {
    let mut waiting = parents_left(dag);
    let entry = |t: TaskId, since: usize| (key(t, since), Reverse(t));
    let mut heap: BinaryHeap<_> = dag.sources().map(|t| entry(t, 0)).collect();
    let mut order = Vec::with_capacity(dag.len());
    while let Some((_, Reverse(task))) = heap.pop() {
        order.push(task);
        for child in opened(dag, task, &mut waiting) {
            heap.push(entry(child, order.len()));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    /// Durations that repeat, some of them zero, as sums of quarters: exact in any order.
    pub(super) fn rough_seconds(dag: &Dag, salt: u32) -> Vec<f64> {
        let one = |t: TaskId| f64::from((t.0 * 7 + salt * t.0 / 2 + salt) % 9) / 4.0;
        dag.tasks().map(one).collect()
    }

    /// Always the best eligible task by `better(candidate key)`, recomputed from nothing at every step.
    pub(super) fn obvious<K: Ord>(dag: &Dag, key: impl Fn(&[TaskId], TaskId) -> K) -> Vec<TaskId> {
        let mut order: Vec<TaskId> = Vec::new();
        while order.len() < dag.len() {
            let eligible = dag.tasks().filter(|t| {
                !order.contains(t) && dag.parents(*t).iter().all(|p| order.contains(p))
            });
            let best = eligible
                .max_by_key(|&t| (key(&order, t), Reverse(t)))
                .unwrap();
            order.push(best);
        }
        order
    }

    /// The step at which `task` became eligible.
    fn since(dag: &Dag, order: &[TaskId], task: TaskId) -> usize {
        let at = |p: &TaskId| 1 + order.iter().position(|t| t == p).unwrap();
        dag.parents(task).iter().map(at).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn each_policy_equals_its_obvious_twin(dag in any_dag(14)) {
            prop_assert_eq!(fifo(&dag), obvious(&dag, |done, t| Reverse(since(&dag, done, t))));
            prop_assert_eq!(lifo(&dag), obvious(&dag, |done, t| (since(&dag, done, t), t)));
            prop_assert_eq!(outdegree(&dag), obvious(&dag, |_, t| dag.children(t).len()));
            let numbers: Vec<i64> = dag.tasks().map(|t| i64::from(t.0 * 7 % 5) - 2).collect();
            prop_assert_eq!(
                by_priority(&dag, &numbers),
                obvious(&dag, |done, t| (numbers[t.index()], Reverse(since(&dag, done, t))))
            );
            // Numbers that fall along an order give that order back.
            let order = memory(&dag);
            let mut falling = vec![0i64; dag.len()];
            for (i, t) in order.iter().enumerate() {
                falling[t.index()] = -(i as i64);
            }
            prop_assert_eq!(by_priority(&dag, &falling), order);
            let seconds: Vec<f64> = dag.tasks().map(|t| f64::from(t.0 % 4)).collect();
            for seconds in [None, Some(&seconds[..])] {
                let level = bottom_levels(&dag, seconds);
                prop_assert_eq!(
                    critical_path(&dag, seconds),
                    obvious(&dag, |_, t| (level[t.index()] * 4.0) as u64)
                );
            }
            prop_assert_eq!(memory(&dag), obvious(&dag, |done, t| {
                let open = |done: &[TaskId]| {
                    let waits = |p: &&TaskId| dag.children(**p).iter().any(|c| !done.contains(c));
                    done.iter().filter(waits).count() as i64
                };
                let mut then = done.to_vec();
                then.push(t);
                (open(done) - open(&then), since(&dag, done, t))
            }));
        }
    }
}
