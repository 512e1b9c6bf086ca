//! How many commits there were, of how much, and how long they took. Knows no store.

/// Counted since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commits: u64,
    pub(crate) events: u64,
    pub(crate) commit_micros: u64,
    pub(crate) polls: u64,
    /// How many commits took how long: four steps from each power of two of microseconds to the next.
    pub(super) steps: Vec<u64>,
}

impl Tally {
    pub(crate) fn count_commit(&mut self, micros: u64, events: usize) {
        self.commits += 1;
        self.events += events as u64;
        self.commit_micros += micros;
        // Four steps an octave: a quantile is off by less than a fifth, and all commits there will ever be are some
        // hundred numbers.
        let step = (4.0 * (micros.max(1) as f64).log2()) as usize;
        if self.steps.len() <= step {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += 1;
    }

    /// So many seconds, or a little less than a fifth more, that part of the commits did not exceed.
    pub(crate) fn commit_quantile(&self, part: f64) -> f64 {
        let wanted = (self.commits as f64 * part).ceil() as u64;
        let mut sum = 0;
        let found = self.steps.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        // Where the step ends: nobody is told less than it was.
        found.map_or(0.0, |step| ((step + 1) as f64 / 4.0).exp2() / 1e6)
    }
}
