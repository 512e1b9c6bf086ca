//! Named streams of random numbers: each depends on what it is for, never on who asked first. Knows no distribution.

use cairn_kernel::{GOLDEN, mix};
use rand::Rng;
use rand_pcg::Pcg64Mcg;

/// What a stream of random numbers is for. Streams of different purpose are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// One number a task: how long it takes.
    Durations = 1,
    /// Gaps between batches and their sizes.
    Batches = 2,
    /// Speed, link and up-times of one worker.
    Worker = 3,
    /// Gaps between workers that join.
    Joins = 4,
    /// The random policy's order.
    RandomPolicy = 5,
    /// How far a server's expectations are off, by task.
    Mistakes = 6,
    /// How far a worker's benchmark is off.
    Handshake = 7,
    /// Who lies, vanishes or dawdles; and when.
    Nature = 8,
    /// Which results of a liar are wrong.
    Lies = 9,
    /// Which results of volunteers are checked though they are trusted.
    Checks = 10,
}

/// A stream of random numbers: PCG XSL 128/64 (MCG), known as `pcg64_fast`.
///
/// Seeded by hashing (seed, run, purpose, index), so that two policies in one run meet the same world however
/// differently they ask.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Pcg64Mcg);

impl Stream {
    pub(crate) fn new(seed: u64, run: u64, purpose: Purpose, index: u64) -> Stream {
        let mut hash = 0;
        // Mixed after every word, so that (seed 1, run 2) and (seed 2, run 1) have nothing in common.
        for word in [seed, run, purpose as u64, index] {
            hash = mix(hash ^ word);
        }
        // The generator's state has 128 bits and 64 are known: two different mixes fill it. The generator makes its
        // state odd by itself.
        let (high, low) = (mix(hash), mix(hash ^ GOLDEN));
        Stream(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// Uniform in the open interval (0, 1): an odd multiple of 2⁻⁵³, so never 0 or 1.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Uniform in `0..bound`. The bias is under bound / 2⁶⁴.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Puts `items` in an order drawn uniformly.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            // Fisher and Yates: each of what is left is as likely to come here.
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_every_coordinate() {
        let first = |seed, run, purpose, index| Stream::new(seed, run, purpose, index).uniform();
        let base = first(1, 2, Purpose::Worker, 3);
        assert_eq!(base, first(1, 2, Purpose::Worker, 3));
        for other in [
            first(2, 2, Purpose::Worker, 3),
            first(1, 3, Purpose::Worker, 3),
            first(2, 1, Purpose::Worker, 3),
            first(1, 2, Purpose::Joins, 3),
            first(1, 2, Purpose::Worker, 4),
        ] {
            assert_ne!(base, other);
        }
    }

    /// First numbers of neighbouring streams must look as independent as numbers of one stream.
    #[test]
    fn neighbouring_streams_are_uniform_and_uncorrelated() {
        let draws: Vec<f64> = (0..20_000)
            .map(|i| Stream::new(7, i / 100, Purpose::Worker, i % 100).uniform() - 0.5)
            .collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|d| d * d).sum::<f64>() / n;
        let lag = draws.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.003, "{variance}");
        assert!(lag.abs() < 0.003, "{lag}");
    }

    #[test]
    fn a_shuffle_keeps_all_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Stream::new(0, 0, Purpose::RandomPolicy, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
