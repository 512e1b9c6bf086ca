//! Random choices that come out the same on every machine and in every release. Knows nothing of dags.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A PCG64 (XSL RR 128/64) generator, seeded from 64 bits, with the few draws that families need. The draws are
/// written out here, in integers, because a library may change how it makes them.
pub(super) struct Dice {
    bits: Pcg64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice {
            bits: Pcg64::seed_from_u64(seed),
        }
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.bits.next_u64()
    }

    /// Uniform in `0..n`, exactly: multiplication with rejection (Lemire, 2019).
    pub(super) fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0, "a draw needs something to draw from");
        let n = u64::from(n);
        loop {
            // 32 random bits times n: the high half is the draw, the low half tells whether it is fair.
            let product = (self.bits() >> 32) * n;
            let low = product & 0xFFFF_FFFF;
            // 2³² mod n is below n: the first comparison spares the division in nearly all draws.
            if low >= n || low >= (1 << 32) % n {
                return (product >> 32) as u32;
            }
        }
    }

    /// Uniform in `low..=high`.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Puts a uniform draw of `count` distinct items first (a shuffle cut short). Items may lie in any order before.
    pub(super) fn draw_first<T>(&mut self, items: &mut [T], count: usize) {
        for i in 0..count.min(items.len().saturating_sub(1)) {
            let rest = (items.len() - i) as u32;
            items.swap(i, i + self.below(rest) as usize);
        }
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.draw_first(items, items.len());
    }
}

/// How many failures come before the next success, when each trial succeeds with one fixed probability.
///
/// The binary digits of a geometric number are independent: digit k is 1 with the odds q^(2^k) to 1. So it is
/// drawn digit by digit, from products and quotients alone, which all machines compute alike; logarithms they
/// do not.
pub(super) struct Gaps {
    /// For digit k, out of 2⁶⁴: draws below are ones.
    ones: Vec<u64>,
}

impl Gaps {
    /// For a probability of success `0 < p <= 1`.
    pub(super) fn new(p: f64) -> Gaps {
        // fails = 1 − q^(2^k), kept instead of the power, which would round to 1 for small p.
        let mut fails = p;
        let mut ones = Vec::new();
        while ones.len() < 64 {
            let one = (1.0 - fails) / (2.0 - fails);
            // A cast of a float to an integer saturates.
            let below = (one * 18_446_744_073_709_551_616.0) as u64;
            if below == 0 {
                break;
            }
            ones.push(below);
            fails *= 2.0 - fails;
        }
        Gaps { ones }
    }

    pub(super) fn draw(&self, dice: &mut Dice) -> u64 {
        let digits = self.ones.iter().enumerate();
        digits.fold(0, |gap, (k, &below)| {
            // At most 64 digits, as in `new`, so the shift is in range.
            gap | u64::from(dice.bits() < below) << k
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_geometric() {
        let mut dice = Dice::new(1);
        let mut seen = [0u32; 6];
        for _ in 0..60_000 {
            seen[dice.below(6) as usize] += 1;
        }
        // 10,000 each; the standard deviation is 91.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 500), "{seen:?}");
        for p in [1.0, 0.5, 0.25, 0.01] {
            let gaps = Gaps::new(p);
            let draws = 40_000;
            let sum: u64 = (0..draws).map(|_| gaps.draw(&mut dice)).sum();
            let mean = (1.0 - p) / p;
            // The standard deviation of the sum is sqrt(draws·q)/p.
            let deviation = (f64::from(draws) * (1.0 - p)).sqrt() / p;
            let off = (sum as f64 - f64::from(draws) * mean).abs();
            assert!(off <= 5.0 * deviation, "p = {p}: {off} > 5 * {deviation}");
        }
    }

    #[test]
    fn a_draw_of_all_is_a_permutation() {
        let mut dice = Dice::new(2);
        let mut items: Vec<u32> = (0..100).collect();
        dice.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
