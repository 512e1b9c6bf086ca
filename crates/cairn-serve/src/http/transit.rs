//! Bytes of uploads on their way to their places, and how many there may be. Knows no files.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is under way, and what is let in.
#[derive(Debug)]
pub(crate) struct Transit {
    bytes: AtomicU64,
    most: AtomicU64,
    is_alone: AtomicBool,
}

/// Why no more is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Others will make room.
    Now,
    /// Nobody else works on anything, so nobody will make room.
    Ever,
}

impl Default for Transit {
    /// Nobody counts.
    fn default() -> Transit {
        Transit {
            bytes: AtomicU64::new(0),
            most: AtomicU64::new(u64::MAX),
            is_alone: AtomicBool::new(false),
        }
    }
}

impl Transit {
    /// So many bytes may be under way from now on. What is there stays.
    pub(crate) fn allow(&self, most: u64, is_alone: bool) {
        self.most.store(most, Ordering::SeqCst);
        self.is_alone.store(is_alone, Ordering::SeqCst);
    }

    /// Bytes that are under way, or let in.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// Lets so many more in, all or none.
    ///
    /// # Errors
    /// If there is no room.
    pub(crate) fn take(&self, more: u64) -> Result<(), NoRoom> {
        let most = self.most.load(Ordering::SeqCst);
        let fits = |now: u64| {
            now.checked_add(more)
                // No bytes at all fit always, however full it is.
                .filter(|all| *all <= most || more == 0)
        };
        let taken = (self.bytes).fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits);
        match taken {
            Ok(_) => Ok(()),
            Err(_) if self.is_alone.load(Ordering::SeqCst) => Err(NoRoom::Ever),
            Err(_) => Err(NoRoom::Now),
        }
    }

    /// So many are there, whatever is allowed.
    pub(crate) fn found(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// So many are under way no more.
    pub(crate) fn give(&self, bytes: u64) {
        let less = |now: u64| Some(now.saturating_sub(bytes));
        // It always has an answer.
        let _ = (self.bytes).fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
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
}
