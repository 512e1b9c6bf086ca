//! Bytes of uploads on their way to their places, and how many there may be. Knows no files.

use crate::free::NO_LIMIT;
use crate::mutex::lock;
use std::sync::{Mutex, MutexGuard};

/// What is under way, and what is let in.
#[derive(Debug, Default)]
pub(crate) struct Transit(
    // One lock for all three. Were they looked at one after the other, an upload that saw the old
    // limit could come in behind a desk that has just set a new one and counted.
    Mutex<Under>,
);

#[derive(Debug)]
struct Under {
    bytes: u64,
    most: u64,
    is_alone: bool,
}

/// Why no more is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Others will make room.
    Now,
    /// Nobody else works on anything, so nobody will make room.
    Ever,
}

impl Default for Under {
    /// Nobody counts.
    fn default() -> Under {
        Under {
            bytes: 0,
            most: NO_LIMIT,
            is_alone: false,
        }
    }
}

impl Transit {
    fn under(&self) -> MutexGuard<'_, Under> {
        lock(&self.0)
    }

    /// So many bytes may be under way from now on. What is there stays.
    pub(crate) fn allow(&self, most: u64, is_alone: bool) {
        let mut under = self.under();
        (under.most, under.is_alone) = (most, is_alone);
    }

    /// Bytes that are under way, or let in.
    pub(crate) fn bytes(&self) -> u64 {
        self.under().bytes
    }

    /// Lets so many more in, all or none.
    ///
    /// # Errors
    /// If there is no room.
    pub(crate) fn take(&self, more: u64) -> Result<(), NoRoom> {
        let mut under = self.under();
        let all = under.bytes.checked_add(more);
        // No bytes at all fit always, however full it is.
        match all.filter(|all| *all <= under.most || more == 0) {
            Some(all) => {
                under.bytes = all;
                Ok(())
            }
            None if under.is_alone => Err(NoRoom::Ever),
            None => Err(NoRoom::Now),
        }
    }

    /// So many are there, whatever is allowed.
    pub(crate) fn found(&self, bytes: u64) {
        let mut under = self.under();
        under.bytes = under.bytes.saturating_add(bytes);
    }

    /// So many are under way no more.
    pub(crate) fn give(&self, bytes: u64) {
        let mut under = self.under();
        // Files may have been put there, or cut, by somebody else since they were counted.
        under.bytes = under.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing_is_let_in() {
        let transit = Transit::default();
        transit.take(1 << 50).unwrap();
        transit.give(1 << 50);
        transit.allow(100, false);
        transit.take(60).unwrap();
        assert_eq!(transit.take(50), Err(NoRoom::Now));
        transit.allow(100, true);
        assert_eq!(transit.take(50), Err(NoRoom::Ever));
        assert_eq!(transit.bytes(), 60);
        transit.take(40).unwrap();
        // Less is allowed than is there: nothing comes in, what is there stays.
        transit.allow(10, false);
        assert_eq!(transit.take(1), Err(NoRoom::Now));
        transit.take(0).unwrap();
        transit.give(1000);
        assert_eq!(transit.bytes(), 0);
        assert_eq!(transit.take(u64::MAX), Err(NoRoom::Now));
    }

    /// Whoever sets a limit and then counts has counted all that the old limit let in.
    #[test]
    fn nothing_comes_in_by_a_limit_that_no_longer_holds() {
        let transit = Transit::default();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let order = std::sync::atomic::Ordering::Relaxed;
        let late = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(order) {
                    if transit.take(60).is_ok() {
                        transit.give(60);
                    }
                }
            });
            let mut late = 0;
            for _ in 0..500_000 {
                transit.allow(100, false);
                transit.allow(50, false);
                // What is there goes, and nothing comes: 60 do not fit.
                if transit.bytes() == 0 && (0..5).any(|_| transit.bytes() > 0) {
                    late += 1;
                }
            }
            is_over.store(true, order);
            late
        });
        assert_eq!(late, 0);
    }
}
