//! Values by number, of which there may be fewer than numbers: one for each, or a list for each. Knows not what they mean.

use crate::{narrow, wide};
use std::ops::Range;

/// A value for each number; the default behind the last that was set, so that a column nobody fills takes no memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column<T>(pub(crate) Vec<T>);

impl<T: Copy + Default> Column<T> {
    #[inline]
    pub(crate) fn get(&self, index: usize) -> T {
        self.0.get(index).copied().unwrap_or_default()
    }

    /// Where the value is, to be set.
    pub(crate) fn slot(&mut self, index: usize) -> &mut T {
        if index >= self.0.len() {
            self.0.resize(index + 1, T::default());
        }
        &mut self.0[index]
    }

    /// Moves entry `i` to `to[i]`.
    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.0 = permuted(&self.0, to);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<T>() * self.0.capacity()
    }
}

/// `items` with entry `i` moved to `to[i]`; shorter lists are filled up with defaults first.
pub(crate) fn permuted<T: Copy + Default>(items: &[T], to: &[u32]) -> Vec<T> {
    // Nobody set any: then no memory is taken for them now, either.
    if items.is_empty() {
        return Vec::new();
    }
    let mut out = vec![T::default(); to.len()];
    for (&target, &item) in to.iter().zip(items) {
        out[wide(target)] = item;
    }
    out
}

/// For each task a list of numbers, kept as runs in one vector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    spans: Column<Span>,
    items: Vec<u32>,
}

/// Where a list lies, how long it is, and how long it may become without moving.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    length: u32,
    room: u32,
}

impl Lists {
    /// Appends `item` to the task's list, moving the list to the end of the vector when another came between. Amortised
    /// O(1), in whatever order the lists are spoken of.
    #[must_use]
    pub(crate) fn push(&mut self, task: usize, item: u32) -> bool {
        let span = self.spans.slot(task);
        let (end, length) = (self.items.len(), wide(span.length));
        if span.length < span.room {
            self.items[wide(span.start) + length] = item;
            span.length += 1;
            return true;
        }
        // A list that moves takes three times its length at the most; 32 bits must count that, too.
        if end + 3 * length >= u32::MAX as usize {
            return false;
        }
        if wide(span.start + span.room) == end || length == 0 {
            // Most inputs speak of one task after the other: lists stay where they are, and have no gaps.
            span.start = narrow(end - length);
            self.items.push(item);
            span.room = span.length + 1;
        } else {
            // The old run is left as a gap. Twice the room, so that lists that grow by turns do not move every time.
            let old = wide(span.start)..wide(span.start) + length;
            self.items.extend_from_within(old);
            self.items.push(item);
            self.items.resize(end + 2 * length, 0);
            span.start = narrow(end);
            span.room = 2 * span.length;
        }
        span.length += 1;
        true
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.spans.0.len()
    }

    pub(crate) fn items(&self, task: usize) -> &[u32] {
        &self.items[self.span(task)]
    }

    pub(crate) fn items_mut(&mut self, task: usize) -> &mut [u32] {
        let span = self.span(task);
        &mut self.items[span]
    }

    fn span(&self, task: usize) -> Range<usize> {
        let span = self.spans.get(task);
        wide(span.start)..wide(span.start + span.length)
    }

    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.spans.permute(to);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.spans.heap_bytes() + 4 * self.items.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    /// Lists that grow by turns, in runs of several lengths, hold what they were given, in a few times the room of it.
    #[test]
    fn lists_that_grow_by_turns_stay_small() {
        for run in [1, 2, 3, 50, 10_000] {
            let (tasks, each) = (7, 10_000u32);
            let mut lists = Lists::default();
            for first in (0..each).step_by(run) {
                for task in (0..tasks).rev() {
                    for item in first..(first + run as u32).min(each) {
                        assert!(lists.push(task, item * 7 + task as u32));
                    }
                }
            }
            for task in 0..tasks {
                let expected: Vec<u32> = (0..each).map(|item| item * 7 + task as u32).collect();
                assert_eq!(lists.items(task), expected, "runs of {run}");
            }
            let least = 4 * tasks * each as usize;
            assert!(lists.heap_bytes() < 9 * least, "{}", lists.heap_bytes());
            assert!(lists.items(tasks).is_empty());
        }
    }
}
