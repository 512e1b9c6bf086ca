//! Compressed sparse rows: lists one after the other in one array. Knows not what the rows stand for.

use crate::{Id, narrow, wide};
use std::ops::Range;

/// Rows of items, numbered from 0.
///
/// ```
/// use cairn_kernel::Rows;
/// let rows = Rows::by_row(3, [(2, 'a'), (0, 'b'), (2, 'c')].into_iter());
/// assert_eq!([rows.row(0), rows.row(1), rows.row(2)], [&['b'][..], &[], &['a', 'c']]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows<T = u32> {
    /// Where each row starts, and the end; nothing at all without rows.
    start: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    /// No rows.
    fn default() -> Rows<T> {
        Rows {
            start: Vec::new(),
            items: Vec::new(),
        }
    }
}

impl<T> Rows<T> {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the items of a row are among all.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        wide(self.start[row])..wide(self.start[row + 1])
    }

    /// The items of a row.
    #[inline]
    pub fn row(&self, row: usize) -> &[T] {
        &self.items[self.range(row)]
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> + Clone {
        (self.start.windows(2)).map(|w| &self.items[wide(w[0])..wide(w[1])])
    }

    /// The items of all rows, one after the other.
    #[inline]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// How many items each row has.
    pub fn lengths(&self) -> impl Iterator<Item = u32> + '_ {
        self.start.windows(2).map(|w| w[1] - w[0])
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        4 * self.start.capacity() + size_of::<T>() * self.items.capacity()
    }

    /// One more row, which may be sorted yet.
    pub fn push(&mut self, row: impl IntoIterator<Item = T>) -> &mut [T] {
        if self.start.is_empty() {
            self.start.push(0);
        }
        let first = self.items.len();
        self.items.extend(row);
        self.start.push(narrow(self.items.len()));
        &mut self.items[first..]
    }

    /// Keeps of each row, sorted, every item once. O(items·log longest row).
    pub fn sort_and_merge(&mut self)
    where
        T: Copy + Ord,
    {
        let mut kept = 0;
        let mut begin = 0;
        for i in 1..self.start.len() {
            let end = wide(self.start[i]);
            self.items[begin..end].sort_unstable();
            let row_begin = kept;
            for j in begin..end {
                // Written at `kept`, read at `j` ≥ `kept`: nothing is overwritten before it was read.
                if kept == row_begin || self.items[kept - 1] != self.items[j] {
                    self.items[kept] = self.items[j];
                    kept += 1;
                }
            }
            begin = end;
            self.start[i] = narrow(kept);
        }
        self.items.truncate(kept);
        self.items.shrink_to_fit();
    }
}

impl<T: Copy + Default> Rows<T> {
    /// Groups (row, item) pairs into `count` rows, items in the order in which they come: a stable counting sort.
    pub fn by_row<R: Id>(count: usize, pairs: impl Iterator<Item = (R, T)> + Clone) -> Rows<T> {
        let mut rows = Rows::default();
        rows.refill(count, pairs);
        rows
    }

    /// The same in place of what was there, without an allocation once the arrays have grown.
    pub fn refill<R: Id>(&mut self, count: usize, pairs: impl Iterator<Item = (R, T)> + Clone) {
        let Rows { start, items } = self;
        start.clear();
        start.resize(count + 1, 0);
        // `for_each`, as pairs mostly come from rows of rows, which it runs through without a question between two items.
        (pairs.clone()).for_each(|(row, _)| start[row.index() + 1] += 1);
        for i in 0..count {
            start[i + 1] += start[i];
        }
        items.clear();
        items.resize(wide(start[count]), T::default());
        // `start[r]` walks to the end of row r, which is the start of row r + 1; shifting restores it.
        pairs.for_each(|(row, item)| {
            let slot = &mut start[row.index()];
            items[wide(*slot)] = item;
            *slot += 1;
        });
        start.copy_within(0..count, 1);
        start[0] = 0;
    }
}

impl<T: Id> Rows<T> {
    /// For each of `count` items the rows that have it, in order.
    pub(crate) fn transposed<R: Id>(&self, count: usize) -> Rows<R> {
        let rows = self.iter().enumerate();
        let pairs = rows.flat_map(|(r, row)| row.iter().map(move |item| (*item, R::new(r))));
        Rows::by_row(count, pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against lists of lists.
        #[test]
        fn rows_are_lists(pairs in prop::collection::vec((0u32..7, 0u32..9), 0..40)) {
            let mut lists = vec![Vec::new(); 7];
            pairs.iter().for_each(|&(r, item)| lists[r as usize].push(item));
            let mut rows = Rows::by_row(7, pairs.iter().copied());
            prop_assert!(rows.iter().eq(lists.iter().map(Vec::as_slice)));
            prop_assert!((0..7).all(|r| rows.row(r) == lists[r]) && rows.len() == 7);
            prop_assert!(rows.lengths().eq(lists.iter().map(|l| l.len() as u32)));
            let mut pushed = Rows::default();
            lists.iter().for_each(|list| { pushed.push(list.iter().copied()); });
            prop_assert_eq!(&pushed, &rows);
            let back: Rows = rows.transposed(9);
            for item in 0..9 {
                let holders = (0..7).flat_map(|r| lists[r as usize].iter().filter(|&&i| i == item).map(move |_| r));
                prop_assert!(back.row(item as usize).iter().copied().eq(holders));
            }
            rows.sort_and_merge();
            for list in &mut lists {
                list.sort_unstable();
                list.dedup();
            }
            prop_assert!(rows.iter().eq(lists.iter().map(Vec::as_slice)));
            prop_assert_eq!(rows.items(), lists.concat());
        }
    }
}
