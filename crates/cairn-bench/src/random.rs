//! Numbers that look random and are the same everywhere. Knows nothing of what they are for.

use cairn_kernel::{GOLDEN, mix};

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        let next = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        next
    }

    /// A number from 0 on, below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `k`; 0 where there is none.
    pub(crate) fn below(&mut self, k: u32) -> u32 {
        (self.next() % u64::from(k.max(1))) as u32
    }
}
