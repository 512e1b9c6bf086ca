//! Tasks by the work that hangs on them. Knows no path.

use super::by_score::by_score;
use super::sketch::sketched;
use crate::budgets;
use crate::counts::members;
use cairn_dag::{Dag, TaskId};

/// Most work below first: a task's score is its own duration and that of all its descendants, each once, in `seconds`, or
/// in tasks where none are given. Ties as in `ic`.
///
/// The number of successors is one of the classic priorities of list scheduling (Adam, Chandy, Dickson 1974, compare
/// several). Exact up to some 20,000 tasks, in O(tasks·arcs/64 + tasks²)
/// steps and tasks²/8 bytes; beyond, estimated in O(64·(tasks + arcs)).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// // Task 0 has a chain of two behind it, task 1 three sinks.
/// let dag = Dag::from_arcs(7, vec![(0, 2), (2, 3), (1, 4), (1, 5), (1, 6)]).unwrap();
/// let ids: Vec<TaskId> = dag.tasks().collect();
/// assert_eq!(cairn_plan::policy::descendants(&dag, None, &ids)[0], TaskId(1));
/// ```
///
/// # Panics
/// If `ic` or `seconds` are not for this dag.
pub fn descendants(dag: &Dag, seconds: Option<&[f64]>, ic: &[TaskId]) -> Vec<TaskId> {
    by_score(dag, &descendants_work(dag, seconds), ic)
}

/// The work of every task and all its descendants, each counted once: in `seconds`, or in tasks where none are given.
///
/// Exact in O(tasks·arcs/64 + tasks²) steps and tasks²/8 bytes for dags of up to some 20,000 tasks; within some 13 % (one
/// standard deviation) in O(64·(tasks + arcs)) beyond. Never below a child's.
///
/// # Panics
/// If `seconds` is given with another length than the number of tasks.
pub(crate) fn descendants_work(dag: &Dag, seconds: Option<&[f64]>) -> Vec<f64> {
    if let Some(seconds) = seconds {
        assert_eq!(seconds.len(), dag.len(), "one duration a task");
    }
    let work = |task: TaskId| seconds.map_or(1.0, |s| s[task.index()]);
    match dag.len() <= budgets::policy::MOST_FOR_EXACT_DESCENDANTS {
        true => exact(dag, work),
        false => sketched(dag, work),
    }
}

/// A set of bits a task: its descendants and itself.
fn exact(dag: &Dag, work: impl Fn(TaskId) -> f64) -> Vec<f64> {
    let words = dag.len().div_ceil(64);
    let mut below = vec![0u64; words * dag.len()];
    // Gathered apart, as rows of children are read meanwhile.
    let mut set = vec![0u64; words];
    let mut sums = vec![0.0; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        set.fill(0);
        set[task.index() / 64] |= 1 << (task.index() % 64);
        for child in dag.children(task) {
            let start = child.index() * words;
            for (word, more) in set.iter_mut().zip(&below[start..start + words]) {
                *word |= more;
            }
        }
        // Always in the same order, so that rounding never puts a child above its parent.
        let members = members(set.iter().copied());
        sums[task.index()] = members.fold(0.0, |sum, t| sum + work(TaskId::new(t)));
        below[task.index() * words..][..words].copy_from_slice(&set);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::*;
    use cairn_oracle::{any_dag, random_dag};
    use proptest::prelude::*;
    use std::cmp::Reverse;

    /// Every task that can be reached, by walking.
    fn walked(dag: &Dag, work: &[f64], from: TaskId) -> f64 {
        let mut seen = vec![false; dag.len()];
        let mut stack = vec![from];
        while let Some(task) = stack.pop() {
            if !std::mem::replace(&mut seen[task.index()], true) {
                stack.extend(dag.children(task));
            }
        }
        let reached = dag.tasks().filter(|t| seen[t.index()]);
        reached.map(|t| work[t.index()]).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn each_descendant_counts_once(dag in any_dag(14), salt in 0u32..9) {
            let seconds = rough_seconds(&dag, salt);
            let ones = vec![1.0; dag.len()];
            for (given, work) in [(None, &ones), (Some(&seconds[..]), &seconds)] {
                let found = descendants_work(&dag, given);
                for task in dag.tasks() {
                    prop_assert!((found[task.index()] - walked(&dag, work, task)).abs() < 1e-9);
                }
                let ic = super::super::fifo(&dag);
                let place = |t: TaskId| ic.iter().position(|i| *i == t);
                prop_assert_eq!(
                    descendants(&dag, given, &ic),
                    obvious(&dag, |_, t| ((found[t.index()] * 16.0) as u64, Reverse(place(t))))
                );
            }
        }
    }

    #[test]
    fn the_sketch_comes_near_and_keeps_parents_above_children() {
        let (mut squares, mut count) = (0.0, 0);
        for seed in 0..40 {
            let dag = random_dag(300, 3, seed);
            let seconds = rough_seconds(&dag, seed as u32);
            let work = |t: TaskId| seconds[t.index()];
            let (exact, near) = (exact(&dag, work), sketched(&dag, work));
            for (parent, child) in dag.arcs() {
                assert!(near[parent.index()] >= near[child.index()]);
                assert!(exact[parent.index()] >= exact[child.index()]);
            }
            for task in dag.tasks().filter(|t| exact[t.index()] > 0.0) {
                let error: f64 = near[task.index()] / exact[task.index()] - 1.0;
                squares += error * error;
                count += 1;
            }
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            assert_eq!(
                near,
                pool.install(|| sketched(&dag, work)),
                "any number of threads"
            );
        }
        let error = (squares / f64::from(count)).sqrt();
        assert!((0.08..0.16).contains(&error), "{error}");
    }

    #[test]
    fn tasks_that_take_no_time_have_no_work_below() {
        let chain = Dag::from_arcs(3, vec![(0, 1), (1, 2)]).unwrap();
        assert_eq!(descendants_work(&chain, Some(&[0.0; 3])), [0.0; 3]);
        assert_eq!(sketched(&chain, |_| 0.0), [0.0; 3]);
    }
}
