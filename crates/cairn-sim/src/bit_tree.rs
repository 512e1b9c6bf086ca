//! A set of small numbers that gives up its least member in a few instructions. Knows nothing of tasks.

/// A set of numbers `0..capacity`: a bit a number, and above it, level by level, a bit for every word that is not zero.
///
/// A van Emde Boas tree of fan-out 64 without recursion: every operation touches one word a level, so three words
/// for 262,144 numbers. Space is capacity / 63 words.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitTree {
    /// Lowest level first; the last level is a single word.
    levels: Vec<Vec<u64>>,
    len: usize,
}

impl BitTree {
    /// Empties the set and makes room for `0..capacity`.
    pub(crate) fn reset(&mut self, capacity: usize) {
        let mut words = capacity.div_ceil(64).max(1);
        let mut depth = 0;
        loop {
            if depth == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[depth].clear();
            self.levels[depth].resize(words, 0);
            depth += 1;
            if words == 1 {
                break;
            }
            words = words.div_ceil(64);
        }
        // A smaller set than before has fewer levels: `first` begins at the last one.
        self.levels.truncate(depth);
        self.len = 0;
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a number is in the set; only what must be so asks.
    #[inline]
    fn contains(&self, number: usize) -> bool {
        self.levels[0][number / 64] >> (number % 64) & 1 == 1
    }

    /// Adds a number that is not in the set.
    #[inline]
    pub(crate) fn insert(&mut self, mut number: usize) {
        debug_assert!(!self.contains(number));
        self.len += 1;
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            let was_empty = *word == 0;
            *word |= 1 << (number % 64);
            // The levels above know of this word already.
            if !was_empty {
                return;
            }
            number /= 64;
        }
    }

    /// Takes out a number that is in the set.
    #[inline]
    pub(crate) fn remove(&mut self, mut number: usize) {
        debug_assert!(self.contains(number));
        self.len -= 1;
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !(1 << (number % 64));
            // Others are left in it, so that the levels above still hold.
            if *word != 0 {
                return;
            }
            number /= 64;
        }
    }

    /// The least member.
    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let top = self.levels.len();
        Some(self.descend(top, 0))
    }

    /// The least member that is `from` or more.
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let mut index = from;
        for (depth, level) in self.levels.iter().enumerate() {
            // Beyond the end of a level there is nothing on the levels above either.
            let word = *level.get(index / 64)?;
            let rest = word & (u64::MAX << (index % 64));
            if rest != 0 {
                let found = index / 64 * 64 + rest.trailing_zeros() as usize;
                return Some(self.descend(depth, found));
            }
            // This word has nothing from there on: above, the search goes on behind the bit that stands for it.
            index = index / 64 + 1;
        }
        None
    }

    /// The least member under bit `index` of level `depth`, where `depth` counts the levels below that bit.
    #[inline]
    fn descend(&self, depth: usize, mut index: usize) -> usize {
        for level in self.levels[..depth].iter().rev() {
            index = index * 64 + level[index].trailing_zeros() as usize;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against the standard library's ordered set, over one to four levels.
        #[test]
        fn agrees_with_a_sorted_set(
            capacity in prop_oneof![1usize..70, 4000usize..4200, 262_000usize..263_000],
            steps in prop::collection::vec(any::<u32>(), 0..200),
        ) {
            let mut tree = BitTree::default();
            tree.reset(5);
            tree.insert(3);
            tree.reset(capacity);
            let mut twin = BTreeSet::new();
            for step in steps {
                let number = step as usize % capacity;
                if twin.remove(&number) {
                    tree.remove(number);
                } else {
                    twin.insert(number);
                    tree.insert(number);
                }
                prop_assert_eq!(tree.len(), twin.len());
                prop_assert_eq!(tree.first(), twin.first().copied());
                prop_assert_eq!(tree.is_empty(), twin.is_empty());
                let from = (step >> 7) as usize % (capacity + 3);
                prop_assert_eq!(tree.next(from), twin.range(from..).next().copied());
                prop_assert!(twin.iter().all(|&n| tree.contains(n)));
            }
        }
    }
}
