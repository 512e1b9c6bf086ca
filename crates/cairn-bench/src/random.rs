//! Numbers that look random and are the same everywhere. Knows nothing of what they are for.

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `k`; 0 where there is none.
    pub(crate) fn below(&mut self, k: u32) -> u32 {
        (self.next() % u64::from(k.max(1))) as u32
    }
}
