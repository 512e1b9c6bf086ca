//! Complete out-trees of any arity: one source, arcs away from it. Knows formulas alone.

use super::{Family, FamilyError};
use std::ops::Range;

/// The numbering of a complete tree from the root downwards: the nodes below `v` are `arity·v + 1 ..= arity·v + arity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Complete {
    pub(super) arity: u64,
    /// Nodes in all, and those that have nodes below.
    pub(super) nodes: u64,
    pub(super) inner: u64,
}

impl Complete {
    pub(super) fn new(arity: u64, height: u64) -> Result<Complete, FamilyError> {
        if arity < 2 {
            return Err(FamilyError::TooNarrow);
        }
        // Sums are checked level by level; heights beyond 63 overflow soon, so the loop is short.
        let (mut nodes, mut inner, mut width) = (1u64, 0, 1u64);
        for _ in 0..height {
            inner = nodes;
            width = width.checked_mul(arity).ok_or(FamilyError::TooLarge)?;
            nodes = nodes.checked_add(width).ok_or(FamilyError::TooLarge)?;
        }
        Ok(Complete {
            arity,
            nodes,
            inner,
        })
    }

    pub(super) fn leaves(&self) -> u64 {
        self.nodes - self.inner
    }

    pub(super) fn above(&self, node: u64) -> Option<u64> {
        (node > 0).then(|| (node - 1) / self.arity)
    }

    pub(super) fn below(&self, node: u64) -> Range<u64> {
        if node >= self.inner {
            return 0..0;
        }
        // An inner node has all its children, so their numbers were counted by `new` and fit.
        let first = self.arity * node + 1;
        first..first + self.arity
    }

    /// The level of a node, and its place there.
    pub(super) fn place(&self, node: u64) -> (u64, u64) {
        let (mut level, mut first, mut width) = (0, 0, 1);
        // Ends on the last level at the latest, whose width `new` has seen to fit.
        while node - first >= width {
            first += width;
            width *= self.arity;
            level += 1;
        }
        (level, node - first)
    }
}

/// The complete out-tree: every task but the leaves has `arity` children. The root, task 0, is the source, on level 0.
///
/// All its blocks are equal W-dags, so every order that leaves the sinks for last is IC-optimal; this one goes level by
/// level.
///
/// ```
/// use cairn_theory::families::{Family, OutTree};
/// let tree = OutTree::new(3, 2).unwrap(); // 1 + 3 + 9 tasks
/// assert_eq!(tree.children(2).collect::<Vec<_>>(), [7, 8, 9]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutTree(Complete);

impl OutTree {
    /// The complete tree of this arity with levels 0..=height.
    ///
    /// # Errors
    /// [`FamilyError`] for arities below 2 and for trees of 2⁶⁴ tasks or more.
    pub fn new(arity: u64, height: u64) -> Result<OutTree, FamilyError> {
        Complete::new(arity, height).map(OutTree)
    }
}

impl Family for OutTree {
    fn task_count(&self) -> Option<u64> {
        Some(self.0.nodes)
    }

    fn place(&self, task: u64) -> (u64, u64) {
        self.0.place(task)
    }

    fn parents(&self, task: u64) -> impl Iterator<Item = u64> {
        self.0.above(task).into_iter()
    }

    fn children(&self, task: u64) -> impl Iterator<Item = u64> {
        self.0.below(task)
    }

    fn source_count(&self) -> u64 {
        1
    }
}
