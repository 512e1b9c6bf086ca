//! What time it is, as the engine counts it: by a clock that nobody can set back. Knows nothing else.

use cairn_engine::Moment;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Begins with the time of day, and goes on from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    began: Moment,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        // The time of day is asked once: people read the journal. All that follows is counted from it, so that nobody who sets the
        // clock makes workers silent or limits pass. While the machine sleeps it stands still, as its tasks do.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.map_or(0, |since| since.as_micros() as u64);
        Clock {
            start: Instant::now(),
            began: Moment(micros),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(self.began.0 + self.start.elapsed().as_micros() as u64)
    }

    /// How long it has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The moment on the clock of this machine; the past begins with this clock.
    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.start + Duration::from_micros(moment.since(self.began).0)
    }
}
