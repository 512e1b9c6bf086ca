//! When each worker will have room, as far as one can foresee. Knows no tasks, only cores and memory.

/// Room that comes free at a time: cores and memory.
type Piece = (f64, u32, f64);

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
            // Stable: pieces that come free together stay in the order given, so that sums of floats are the same on
            // every machine.
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            count += 1;
        }
        self.pieces.truncate(count);
    }

    /// When a worker will first have that much room; infinite if never.
    pub(crate) fn earliest(&self, worker: usize, cores: u32, memory: f64) -> f64 {
        let (mut free_cores, mut free_memory) = (0, 0.0);
        for &(time, c, m) in &self.pieces[worker] {
            free_cores += c;
            free_memory += m;
            if free_cores >= cores && enough(free_memory, memory) {
                return time;
            }
        }
        f64::INFINITY
    }

    /// Takes that much room from the earliest pieces, and gives it back at `until`.
    pub(crate) fn reserve(&mut self, worker: usize, cores: u32, memory: f64, until: f64) {
        let pieces = &mut self.pieces[worker];
        let (mut free_cores, mut free_memory, mut used) = (0, 0.0, 0);
        // Only where there is no piece at all: then nothing is left of any.
        let mut time = until;
        for &(at, c, m) in pieces.iter() {
            (free_cores, free_memory, time) = (free_cores + c, free_memory + m, at);
            used += 1;
            if free_cores >= cores && enough(free_memory, memory) {
                break;
            }
        }
        // What is left of the pieces used counts as free from the last one on: a little late, but one piece instead of many.
        let left = (
            time,
            free_cores.saturating_sub(cores),
            (free_memory - memory).max(0.0),
        );
        pieces.splice(..used, [left]);
        // Still by time, or `earliest` would stop too late.
        let at = pieces.partition_point(|p| p.0 <= until);
        pieces.insert(at, (until, cores, memory));
    }
}

/// Sums of floats may miss a whole worker's memory by a rounding error.
fn enough(free: f64, wanted: f64) -> bool {
    free >= wanted * (1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back() {
        let mut forecast = Forecast::default();
        let busy = vec![(0.0, 1, 4.0), (5.0, 2, 4.0), (3.0, 1, 0.0)];
        forecast.reset([Some(busy.into_iter()), None].into_iter());
        assert_eq!(forecast.earliest(0, 1, 4.0), 0.0);
        assert_eq!(forecast.earliest(0, 2, 4.0), 3.0);
        assert_eq!(forecast.earliest(0, 1, 5.0), 5.0);
        assert_eq!(forecast.earliest(0, 5, 0.0), f64::INFINITY);
        assert_eq!(forecast.earliest(1, 1, 0.0), f64::INFINITY);
        // Two cores from 3 to 10: before 5 nothing is left, at 5 two, at 10 all four.
        forecast.reserve(0, 2, 4.0, 10.0);
        assert_eq!(forecast.earliest(0, 1, 0.0), 5.0);
        assert_eq!(forecast.earliest(0, 2, 4.0), 5.0);
        assert_eq!(forecast.earliest(0, 3, 0.0), 10.0);
        forecast.reserve(0, 1, 1.0, 6.0);
        assert_eq!(forecast.earliest(0, 2, 0.0), 6.0);
        assert_eq!(forecast.earliest(0, 4, 8.0), 10.0);
    }
}
