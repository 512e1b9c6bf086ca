//! Numbers that look like chance and are the same everywhere: SplitMix64 (Steele, Lea, Flood 2014). Knows not what for.

/// What the state grows by: 2⁶⁴ over the golden ratio, odd, so that all states are met.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The state, which is the seed at first.
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// The numbers from this one on of those that follow the seed 0.
    pub(crate) fn from(number: u64) -> Chance {
        Chance(number.wrapping_mul(STEP))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        // The bias of a remainder is some 2⁻⁴⁴ for a million tasks: no matter here.
        (self.next() % count.max(1) as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits, as many as a float can tell apart below 1.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
