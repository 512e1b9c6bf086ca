//! Reduction-trees: arcs towards the root, every task but the sources with the same number of parents. Complete ones
//! by formula, any shape as a stored dag. Knows nothing of trees with mixed indegrees.
//!
//! With arity k, S sources and a set of t executed tasks, eligible = S − t + (tasks whose k parents are all executed) ≤
//! S − t + ⌊t/k⌋, and this is reached at every step iff siblings are executed in k consecutive steps: \[RY05\] Theorem 4.1
//! for k = 2, where it says S − ⌈t/2⌉. (The ⌊Xᵢ/2⌋ in the paper's proof of Lemma 4.1 should read ⌈Xᵢ/2⌉.)

use super::out_tree::Complete;
use super::{Family, FamilyError, Marks};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::long;

/// The complete reduction-tree: the root, task 0 on level 0, is the sink; the parents of task v are
/// `arity·v + 1 ..= arity·v + arity`.
///
/// The order is Postorder-Execute (\[RY05\] §4.3): of the sibling groups that are eligible as a whole, the one nearest to
/// the root. It is IC-optimal with 2·height open results for arity 2, the least of all IC-optimal orders; for arity k
/// with k + (height − 1)·k·(k − 1).
///
/// ```
/// use cairn_theory::families::{Family, ReductionTree};
/// let tree = ReductionTree::new(2, 2).unwrap();
/// assert_eq!(tree.order().collect::<Vec<_>>(), [3, 4, 5, 6, 1, 2, 0]);
/// assert!(tree.is_optimal([5, 6, 4, 3, 1, 2, 0]));
/// assert!(!tree.is_optimal([3, 5, 4, 6, 1, 2, 0])); // 3 and 5 are no siblings
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionTree(Complete);

impl ReductionTree {
    /// The complete tree of this arity with levels 0..=height.
    ///
    /// # Errors
    /// [`FamilyError`] for arities below 2 and for trees of 2⁶⁴ tasks or more.
    pub fn new(arity: u64, height: u64) -> Result<ReductionTree, FamilyError> {
        Complete::new(arity, height).map(ReductionTree)
    }

    /// Whether `order` is a complete schedule and IC-optimal: siblings always in consecutive steps. O(tasks) time, a
    /// bit a task.
    pub fn is_optimal(&self, order: impl IntoIterator<Item = u64>) -> bool {
        let tree = self.0;
        let is_source = |task| task >= tree.inner;
        siblings_together(
            tree.nodes,
            tree.arity,
            order.into_iter(),
            |task| tree.above(task),
            is_source,
        )
    }
}

impl Family for ReductionTree {
    fn task_count(&self) -> Option<u64> {
        Some(self.0.nodes)
    }

    fn level(&self, task: u64) -> u64 {
        self.0.level(task)
    }

    fn index(&self, task: u64) -> u64 {
        self.0.index(task)
    }

    fn parents(&self, task: u64) -> impl Iterator<Item = u64> {
        self.0.below(task)
    }

    fn children(&self, task: u64) -> impl Iterator<Item = u64> {
        self.0.above(task).into_iter()
    }

    /// O(height).
    fn at(&self, step: u64) -> u64 {
        let tree = self.0;
        if step + 1 == tree.nodes {
            return 0;
        }
        // Groups come in the postorder of the inner nodes right below which they are.
        let (mut node, mut place) = (0, step / tree.arity);
        let mut size = tree.inner;
        // The last of a subtree in postorder is its root: there the way down ends.
        while place + 1 < size {
            size = (size - 1) / tree.arity;
            node = tree.arity * node + 1 + place / size;
            place %= size;
        }
        tree.arity * node + 1 + step % tree.arity
    }

    /// O(height).
    fn step(&self, task: u64) -> u64 {
        let tree = self.0;
        let Some(group) = tree.above(task) else {
            return tree.nodes - 1;
        };
        // Inner nodes below the group's node, then those below elder siblings on the way to the root.
        let mut size = tree.inner;
        for _ in 0..tree.level(group) {
            size = (size - 1) / tree.arity;
        }
        let (mut place, mut node) = (size - 1, group);
        while let Some(above) = tree.above(node) {
            place += (node - 1) % tree.arity * size;
            size = size * tree.arity + 1;
            node = above;
        }
        place * tree.arity + (task - 1) % tree.arity
    }

    fn source_count(&self) -> u64 {
        self.0.leaves()
    }

    /// Postorder goes along the leaves.
    fn source(&self, k: u64) -> u64 {
        self.0.inner + k
    }

    fn best_eligible(&self, steps: u64) -> u64 {
        match steps.cmp(&self.0.nodes) {
            std::cmp::Ordering::Less => self.0.leaves() + steps / self.0.arity - steps,
            _ => 0,
        }
    }
}

/// The arity of a stored reduction-tree: one sink, every other task with exactly one child, all tasks but the sources
/// with equally many parents. A single task counts as arity 1. `None` for any other dag.
pub fn arity(dag: &Dag) -> Option<usize> {
    let mut arity = None;
    let mut sinks = 0;
    for task in dag.tasks() {
        match dag.children(task).len() {
            0 => sinks += 1,
            1 => {}
            _ => return None,
        }
        let parents = dag.parents(task).len();
        if parents > 0 && *arity.get_or_insert(parents) != parents {
            return None;
        }
    }
    (sinks == 1).then(|| arity.unwrap_or(1))
}

/// Whether `order` is a complete schedule of this reduction-tree and IC-optimal: siblings always in consecutive steps.
/// `None` if the dag is no reduction-tree, see [`arity`]. Linear.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::families::reduction_tree::is_optimal;
/// let sum_of_three = Dag::from_arcs(5, vec![(0, 3), (1, 3), (3, 4), (2, 4)]).unwrap();
/// assert_eq!(is_optimal(&sum_of_three, &[1, 0, 2, 3, 4].map(TaskId)), Some(true));
/// assert_eq!(is_optimal(&sum_of_three, &[0, 2, 1, 3, 4].map(TaskId)), Some(false));
/// ```
pub fn is_optimal(dag: &Dag, order: &[TaskId]) -> Option<bool> {
    let arity = long(arity(dag)?);
    let task = |n: u64| TaskId(n as u32);
    let child = |n: u64| dag.children(task(n)).first().map(|c| u64::from(c.0));
    let is_source = |n: u64| dag.is_source(task(n));
    let order = order.iter().map(|t| u64::from(t.0));
    let tasks = long(dag.len());
    Some(siblings_together(tasks, arity, order, child, is_source))
}

/// Whether an order consists of whole groups of `arity` tasks with the same child, each eligible when its turn comes,
/// and the root.
fn siblings_together(
    tasks: u64,
    arity: u64,
    mut order: impl Iterator<Item = u64>,
    child: impl Fn(u64) -> Option<u64>,
    is_source: impl Fn(u64) -> bool,
) -> bool {
    let (Some(mut seen), Some(mut fed)) = (Marks::new(tasks), Marks::new(tasks)) else {
        return false;
    };
    let mut execute = |task: u64, fed: &Marks| {
        task < tasks && (is_source(task) || fed.is_set(task)) && seen.set(task)
    };
    for _ in 0..(tasks - 1) / arity {
        let mut common = None;
        for _ in 0..arity {
            let Some(task) = order.next().filter(|&t| execute(t, &fed)) else {
                return false;
            };
            let child = child(task);
            // The root has no child and no siblings: it may come last only.
            if child.is_none() || *common.get_or_insert(child) != child {
                return false;
            }
        }
        // Its whole group at once, so that no parents need be counted.
        if let Some(Some(child)) = common {
            fed.set(child);
        }
    }
    let root = order.next().is_some_and(|t| execute(t, &fed));
    root && order.next().is_none()
}
