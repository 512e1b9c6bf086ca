//! When each worker will have room, as far as one can foresee. Knows no tasks, only cores.

use crate::worker::WorkerId;

/// Cores that come free at a time.
type Piece = (f64, u32);

/// By worker, the pieces of room it has now or will have, by time. Reservations take pieces and give them back later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forecast {
    pieces: Vec<Vec<Piece>>,
}

impl Forecast {
    /// Starts afresh; `None` for a worker that is not there.
    pub(crate) fn reset<P: Iterator<Item = Piece>>(
        &mut self,
        workers: impl Iterator<Item = Option<P>>,
    ) {
        let mut count = 0;
        for pieces in workers {
            if count == self.pieces.len() {
                self.pieces.push(Vec::new());
            }
            let own = &mut self.pieces[count];
            own.clear();
            own.extend(pieces.into_iter().flatten());
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            count += 1;
        }
        self.pieces.truncate(count);
    }

    /// When a worker will first have so many cores; infinite if never.
    pub(crate) fn earliest(&self, worker: WorkerId, cores: u32) -> f64 {
        let mut free = 0;
        for &(time, more) in &self.pieces[worker.index()] {
            free += more;
            if free >= cores {
                return time;
            }
        }
        f64::INFINITY
    }

    /// Takes so many cores from the earliest pieces, and gives them back at `until`.
    pub(crate) fn reserve(&mut self, worker: WorkerId, cores: u32, until: f64) {
        let pieces = &mut self.pieces[worker.index()];
        let (mut free, mut used) = (0, 0);
        // Only where there is no piece at all: then nothing is left of any.
        let mut time = until;
        for &(at, more) in pieces.iter() {
            (free, time) = (free + more, at);
            used += 1;
            if free >= cores {
                break;
            }
        }
        // What is left of the pieces used counts as free from the last one on: a little late, but one piece instead of many.
        pieces.splice(..used, [(time, free.saturating_sub(cores))]);
        // Still by time, or `earliest` would stop too late.
        let at = pieces.partition_point(|p| p.0 <= until);
        pieces.insert(at, (until, cores));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back() {
        let mut forecast = Forecast::default();
        let [first, other] = [0, 1].map(WorkerId::new);
        let busy = vec![(0.0, 1), (5.0, 2), (3.0, 1)];
        forecast.reset([Some(busy.into_iter()), None].into_iter());
        assert_eq!(forecast.earliest(first, 1), 0.0);
        assert_eq!(forecast.earliest(first, 2), 3.0);
        assert_eq!(forecast.earliest(first, 3), 5.0);
        assert_eq!(forecast.earliest(first, 5), f64::INFINITY);
        assert_eq!(forecast.earliest(other, 1), f64::INFINITY);
        // Two cores from 3 to 10: before 5 nothing is left, at 5 two, at 10 all four.
        forecast.reserve(first, 2, 10.0);
        assert_eq!(forecast.earliest(first, 1), 5.0);
        assert_eq!(forecast.earliest(first, 2), 5.0);
        assert_eq!(forecast.earliest(first, 3), 10.0);
        forecast.reserve(first, 1, 6.0);
        assert_eq!(forecast.earliest(first, 2), 6.0);
        assert_eq!(forecast.earliest(first, 4), 10.0);
    }
}
