//! Tasks by the work that is theirs to set free, shared with the other parents. Knows no path.

use super::by_score::by_score;
use cairn_dag::{Dag, TaskId};

/// Largest share first: a task's share is its own duration (in `seconds`, or 1 where none are given) and of each child's
/// share an equal part for each of its parents. Ties as in `ic`.
///
/// Unlike the work of descendants nothing is counted twice: the shares of the sources add up to all work. A relative of
/// the weights 1/n that Luigi gives to tasks with n open inputs. O(tasks·log tasks + arcs).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// // Task 0 alone sets two tasks free; 1, 2 and 3 only together set free three.
/// let mut arcs = vec![(0, 4), (0, 5)];
/// arcs.extend([1, 2, 3].iter().flat_map(|&p| [6, 7, 8].map(|c| (p, c))));
/// let dag = Dag::from_arcs(9, arcs).unwrap();
/// let falling: Vec<TaskId> = [3, 2, 1, 0, 4, 5, 6, 7, 8].map(TaskId).to_vec();
/// assert_eq!(cairn_plan::policy::share(&dag, None, &falling)[0], TaskId(0));
/// ```
///
/// # Panics
/// If `ic` or `seconds` are not for this dag.
pub fn share(dag: &Dag, seconds: Option<&[f64]>, ic: &[TaskId]) -> Vec<TaskId> {
    by_score(dag, &shares(dag, seconds), ic)
}

fn shares(dag: &Dag, seconds: Option<&[f64]>) -> Vec<f64> {
    let mut share = vec![0.0; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        let part = |c: &TaskId| share[c.index()] / dag.parents(*c).len() as f64;
        let parts: f64 = dag.children(task).iter().map(part).sum();
        share[task.index()] = seconds.map_or(1.0, |s| s[task.index()]) + parts;
    }
    share
}

#[cfg(test)]
mod tests {
    use super::super::tests::{obvious, rough_seconds};
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    /// Along every path to every descendant, the part that comes up it.
    fn by_paths(dag: &Dag, work: &[f64], from: TaskId) -> f64 {
        let part = |&c: &TaskId| by_paths(dag, work, c) / dag.parents(c).len() as f64;
        work[from.index()] + dag.children(from).iter().map(part).sum::<f64>()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn shares_add_up_to_all_work_and_set_the_order(dag in any_dag(12), salt in 0u32..9) {
            let seconds = rough_seconds(&dag, salt);
            let found = shares(&dag, Some(&seconds));
            for task in dag.tasks() {
                prop_assert!((found[task.index()] - by_paths(&dag, &seconds, task)).abs() < 1e-9);
            }
            let all: f64 = seconds.iter().sum();
            let sources: f64 = dag.sources().map(|t| found[t.index()]).sum();
            prop_assert!((all - sources).abs() < 1e-9);
            let ic = super::super::fifo(&dag);
            let place = |t: TaskId| ic.iter().position(|i| *i == t);
            let slow = obvious(&dag, |_, t| (found[t.index()].to_bits(), Reverse(place(t))));
            prop_assert_eq!(share(&dag, Some(&seconds), &ic), slow);
        }
    }
}
