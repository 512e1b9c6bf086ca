//! Reduction-trees: arcs towards the root, every task but the sources with the same number of parents. Complete ones
//! by formula. Knows nothing of trees that are stored.
//!
//! With arity k, S sources and a set of t executed tasks, eligible = S − t + (tasks whose k parents are all executed) ≤
//! S − t + ⌊t/k⌋, and this is reached at every step iff siblings are executed in k consecutive steps: \[RY05\] Theorem 4.1
//! for k = 2, where it says S − ⌈t/2⌉. (The ⌊Xᵢ/2⌋ in the paper's proof of Lemma 4.1 should read ⌈Xᵢ/2⌉.)

use super::out_tree::Complete;
use super::{Family, FamilyError};

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
}

impl Family for ReductionTree {
    fn task_count(&self) -> Option<u64> {
        Some(self.0.nodes)
    }

    fn place(&self, task: u64) -> (u64, u64) {
        self.0.place(task)
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
        for _ in 0..tree.place(group).0 {
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
}
