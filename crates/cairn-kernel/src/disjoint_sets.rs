//! Disjoint sets that grow together. Knows numbers alone.

use crate::{narrow, wide};

/// Union–find with path halving.
///
/// ```
/// use cairn_kernel::DisjointSets;
/// let mut sets = DisjointSets::new(4);
/// sets.join(0, 2);
/// assert_eq!([0, 1, 2, 3].map(|x| sets.find(x)), [2, 1, 2, 3]);
/// ```
pub struct DisjointSets(Vec<u32>);

impl DisjointSets {
    /// Each of `count` numbers alone.
    pub fn new(count: usize) -> DisjointSets {
        DisjointSets((0..narrow(count)).collect())
    }

    /// The member that stands for the set of `x`.
    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.0[wide(x)] != x {
            let above = self.0[wide(self.0[wide(x)])];
            self.0[wide(x)] = above;
            x = above;
        }
        x
    }

    /// Makes one set of two; what stood for that of `b` stands for both.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // Without ranks, since callers rely on whose member stands for both; halving alone keeps a find at O(log n),
        // amortised.
        self.0[wide(a)] = b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against labels that are all written anew.
        #[test]
        fn joined_is_what_labels_say(joins in prop::collection::vec((0u32..12, 0u32..12), 0..20)) {
            let mut sets = DisjointSets::new(12);
            let mut label: Vec<u32> = (0..12).collect();
            for (a, b) in joins {
                let (old, new) = (label[a as usize], label[b as usize]);
                label.iter_mut().filter(|l| **l == old).for_each(|l| *l = new);
                sets.join(a, b);
            }
            prop_assert!((0..12).all(|x| sets.find(x) == label[x as usize]));
        }
    }
}
