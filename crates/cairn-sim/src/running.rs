//! Tasks being executed, by the time of their completion. Knows no world.

use crate::clock::Time;
use cairn_dag::TaskId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of tasks with the worker of each: the first to end goes first, of those the least task.
///
/// Each is one number, the time above the task above the worker: a queue compares far more often than it is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(BinaryHeap<Reverse<u128>>);

impl Running {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, end: Time, task: TaskId, worker: u32) {
        let place = u64::from(task.0) << 32 | u64::from(worker);
        let entry = u128::from(end.bits()) << 64 | u128::from(place);
        self.0.push(Reverse(entry));
    }

    /// When the next one ends.
    #[inline]
    pub(crate) fn next_end(&self) -> Option<Time> {
        let Reverse(entry) = self.0.peek()?;
        Some(Time::from_bits((entry >> 64) as u64))
    }

    /// Takes out one that ends by then, if there is any.
    #[inline]
    pub(crate) fn take_by(&mut self, until: Time) -> Option<(TaskId, u32)> {
        self.next_end().filter(|&end| end <= until)?;
        let Reverse(entry) = self.0.pop()?;
        let place = entry as u64;
        Some((TaskId((place >> 32) as u32), place as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against sorting triples.
        #[test]
        fn goes_by_time_then_task(mut all in prop::collection::vec((0u8..5, any::<u32>(), any::<u32>()), 0..40)) {
            let mut running = Running::default();
            for &(end, task, worker) in &all {
                running.push(Time::new(f64::from(end)), TaskId(task), worker);
            }
            prop_assert_eq!(running.len(), all.len());
            all.sort_unstable();
            let end = |end: u8| Time::new(f64::from(end));
            for (at, task, worker) in all {
                prop_assert_eq!(running.next_end(), Some(end(at)));
                prop_assert!(at == 0 || running.take_by(end(at - 1)).is_none());
                prop_assert_eq!(running.take_by(end(at)), Some((TaskId(task), worker)));
            }
            prop_assert!(running.is_empty() && running.take_by(Time::new(9.0)).is_none());
        }
    }
}
