//! FFT dags (butterflies). Knows formulas alone.

use super::{Family, FamilyError};

/// The FFT dag 𝓕_d: tasks ⟨l, x⟩ with level l = 0..=d and x < 2^d; ⟨l, x⟩ is a parent of ⟨l − 1, x⟩ and ⟨l − 1, x ⊕ 2^(l−1)⟩.
/// The sources are on level d, the sinks on level 0; ⟨l, x⟩ has the number (d − l)·2^d + x.
///
/// *Butterfly partners* on level l ≥ 1 are x and x ⊕ 2^(l−1): they have the same two children. A schedule is IC-optimal
/// iff it executes partners in consecutive steps **and all sinks last**; \[RY05\] Theorem 5.1 leaves out the sinks, which on
/// 𝓕₂ already matters. Then 2^d − (t mod 2) tasks are eligible until only sinks are left.
///
/// The order executes, level by level, quads x, x ⊕ p, x ⊕ c, x ⊕ p ⊕ c with p = 2^(l−1), c = 2^l: two partner pairs with
/// common parents. It needs 2^d + 2 open results (2^d for d ≤ 1), which is the least of all IC-optimal schedules for d = 2
/// and 3, by exhaustive search; \[RY05\] Theorem 5.2 says 2^d + 1, which no IC-optimal schedule attains there, and partners
/// in the order of their numbers need 1.5·2^d.
///
/// ```
/// use cairn_theory::families::{Family, Fft};
/// let fft = Fft::new(2).unwrap();
/// assert_eq!(fft.order().collect::<Vec<_>>(), [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fft {
    dimension: u64,
}

/// The largest dimension whose tasks 64 bits can count.
// 59·2⁵⁸ < 2⁶⁴ < 60·2⁵⁹.
const MOST_DIMENSION: u64 = 58;

impl Fft {
    /// The FFT dag of this dimension: (d + 1)·2^d tasks.
    ///
    /// # Errors
    /// [`FamilyError::TooLarge`] above dimension 58.
    pub fn new(dimension: u64) -> Result<Fft, FamilyError> {
        if dimension > MOST_DIMENSION {
            return Err(FamilyError::TooLarge);
        }
        Ok(Fft { dimension })
    }

    /// Tasks on each level: 2^d.
    pub(crate) fn width(&self) -> u64 {
        1 << self.dimension
    }

    fn number(&self, level: u64, x: u64) -> u64 {
        ((self.dimension - level) << self.dimension) + x
    }

    /// The bits in which the members of a group of the quad order differ: the lowest, and how many. Towards the children
    /// it is that of the level below, towards the parents that of this one.
    fn quad(&self, level: u64) -> (u64, u64) {
        let bits = u64::from(level > 0) + u64::from(level < self.dimension);
        (level.saturating_sub(1), bits)
    }
}

/// Makes room for `gap` zero bits at place `bit`.
fn spread(x: u64, bit: u64, gap: u64) -> u64 {
    let low = x & ((1 << bit) - 1);
    (x - low) << gap | low
}

/// Takes `gap` bits at place `bit` out: these, and the rest.
fn gather(x: u64, bit: u64, gap: u64) -> (u64, u64) {
    let low = x & ((1 << bit) - 1);
    let inner = x >> bit & ((1 << gap) - 1);
    (inner, x >> (bit + gap) << bit | low)
}

impl Family for Fft {
    fn task_count(&self) -> Option<u64> {
        Some((self.dimension + 1) << self.dimension)
    }

    fn place(&self, task: u64) -> (u64, u64) {
        let level = self.dimension - (task >> self.dimension);
        (level, task & (self.width() - 1))
    }

    /// Here numbers begin with the highest level.
    fn find(&self, level: u64, index: u64) -> Option<u64> {
        let is_there = level <= self.dimension && index < self.width();
        is_there.then(|| self.number(level, index))
    }

    fn parents(&self, task: u64) -> impl Iterator<Item = u64> {
        let (level, x) = self.place(task);
        let rows = (level < self.dimension).then(|| {
            let bit = 1 << level;
            [x & !bit, x | bit].map(|x| self.number(level + 1, x))
        });
        rows.into_iter().flatten()
    }

    fn children(&self, task: u64) -> impl Iterator<Item = u64> {
        let (level, x) = self.place(task);
        let rows = level.checked_sub(1).map(|below| {
            let bit = 1 << below;
            [x & !bit, x | bit].map(|x| self.number(below, x))
        });
        rows.into_iter().flatten()
    }

    fn at(&self, step: u64) -> u64 {
        let (level, rest) = self.place(step);
        let (bit, bits) = self.quad(level);
        // The lowest bits of the step count within a quad; put back at their place they are the bits in which its
        // members differ.
        let inner = rest & ((1 << bits) - 1);
        self.number(level, spread(rest >> bits, bit, bits) | inner << bit)
    }

    fn step(&self, task: u64) -> u64 {
        let (level, x) = self.place(task);
        let (bit, bits) = self.quad(level);
        let (inner, rest) = gather(x, bit, bits);
        self.number(level, rest << bits | inner)
    }

    fn source_count(&self) -> u64 {
        self.width()
    }
}
