//! Streams of numbers that look like chance and are the same everywhere: SplitMix64. Knows not what for.

use cairn_kernel::{GOLDEN, long, mix};

/// The state, which is the seed at first.
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// The numbers from this one on of those that follow the seed 0.
    pub(crate) fn from(number: u64) -> Chance {
        Chance(number.wrapping_mul(GOLDEN))
    }

    pub(crate) fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        number
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        // The bias of a remainder is some 2⁻⁴⁴ for a million tasks: no matter here.
        (self.next() % long(count.max(1))) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits, as many as a float can tell apart below 1.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
