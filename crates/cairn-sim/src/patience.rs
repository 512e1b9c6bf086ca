//! When a run is given up: nothing was completed for very long, or whoever asked has stopped waiting. Knows no clock.

use crate::measures::Stuck;

/// After so many events in a row without a completion a run is given up: a few seconds of computing.
pub(crate) const PATIENCE: u64 = 10_000_000;

/// Events between two questions whether to stop.
const ASK_EVERY: u32 = 256;

/// Counts the events of one run.
pub(crate) struct Patience<'a> {
    stop: Option<&'a (dyn Fn() -> bool + Sync)>,
    until_asked: u32,
    in_vain: u64,
    seen_executed: usize,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(stop: Option<&'a (dyn Fn() -> bool + Sync)>) -> Patience<'a> {
        Patience {
            stop,
            until_asked: 0,
            in_vain: 0,
            seen_executed: 0,
        }
    }

    /// One more event has passed, with so many tasks executed before it.
    #[inline]
    pub(crate) fn spend(&mut self, executed: usize) -> Result<(), Stuck> {
        if executed > self.seen_executed {
            (self.in_vain, self.seen_executed) = (0, executed);
        }
        self.in_vain += 1;
        if self.in_vain > PATIENCE {
            return Err(Stuck::InVain { executed });
        }
        if self.until_asked > 0 {
            self.until_asked -= 1;
            return Ok(());
        }
        self.until_asked = ASK_EVERY;
        match self.stop.is_some_and(|stop| stop()) {
            true => Err(Stuck::Stopped { executed }),
            false => Ok(()),
        }
    }
}
