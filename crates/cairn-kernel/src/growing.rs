//! The largest first, while keys grow. Knows not what the keys mean.

use crate::Id;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Things by keys that may grow until they are popped: the largest key first, of equal ones the smallest number.
///
/// A thing whose key has grown is pushed once more, and its older entries stay where they are. The newest is the largest, so it
/// is popped first, and what is met later of a popped thing is skipped: no entry is looked for or moved.
///
/// ```
/// use cairn_kernel::Growing;
/// let mut growing = Growing::of(3, [(5, 0u32), (1, 1), (5, 2)]);
/// growing.push(9, 1);
/// let all: Vec<u32> = std::iter::from_fn(|| growing.pop()).collect();
/// assert_eq!(all, [1, 0, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Growing<K, T> {
    heap: BinaryHeap<(K, Reverse<T>)>,
    is_popped: Vec<bool>,
}

impl<K: Ord, T: Id> Growing<K, T> {
    /// So many things may come; these are there from the start.
    pub fn of(count: usize, first: impl IntoIterator<Item = (K, T)>) -> Growing<K, T> {
        let mut heap = BinaryHeap::with_capacity(count);
        heap.extend(first.into_iter().map(|(key, one)| (key, Reverse(one))));
        Growing {
            heap,
            is_popped: vec![false; count],
        }
    }

    /// Enters a thing, or one that is there again with its new key, which is no smaller than any before.
    #[inline]
    pub fn push(&mut self, key: K, one: T) {
        debug_assert!(!self.is_popped(one), "what is popped comes no more");
        self.heap.push((key, Reverse(one)));
    }

    /// Takes the thing of the largest key, each thing once.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        while let Some((_, Reverse(one))) = self.heap.pop() {
            if !std::mem::replace(&mut self.is_popped[one.index()], true) {
                return Some(one);
            }
        }
        None
    }

    /// Whether this thing was popped.
    #[inline]
    pub fn is_popped(&self, one: T) -> bool {
        self.is_popped[one.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix;

    /// The keys as they are, looked through for the largest each time.
    #[test]
    fn equals_looking_through_all() {
        const COUNT: u32 = 9;
        for seed in 0..2000u64 {
            let mut drawn = seed;
            let mut below = |k: u64| {
                drawn += 1;
                mix(seed << 32 | drawn) % k
            };
            let mut slow: Vec<Option<u64>> = vec![None; COUNT as usize];
            let first: Vec<(u64, u32)> = (0..below(5) as u32).map(|one| (below(4), one)).collect();
            for &(key, one) in &first {
                slow[one as usize] = Some(key);
            }
            let mut growing = Growing::of(COUNT as usize, first);
            for _ in 0..60 {
                let one = below(u64::from(COUNT)) as u32;
                if below(3) == 0 {
                    let there = (0..COUNT).filter(|&one| slow[one as usize].is_some());
                    let largest = there.max_by_key(|&one| (slow[one as usize], Reverse(one)));
                    assert_eq!(growing.pop(), largest);
                    if let Some(one) = largest {
                        slow[one as usize] = None;
                        assert!(growing.is_popped(one));
                    }
                } else if !growing.is_popped(one) {
                    let key = slow[one as usize].unwrap_or(0) + below(3);
                    slow[one as usize] = Some(key);
                    growing.push(key, one);
                }
            }
        }
    }
}
