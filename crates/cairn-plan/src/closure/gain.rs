//! Pairs of reward and cost: points of the hull, steps between them, slopes. Knows nothing else.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign};

/// A reward and a cost. As a point: what an ideal earns and costs. As a step: what is added. As a slope: their
/// ratio, infinite when the cost is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gain {
    pub(crate) reward: u64,
    pub(crate) cost: u64,
}

impl Gain {
    pub(crate) const ZERO: Gain = Gain { reward: 0, cost: 0 };
    pub(crate) const INFINITE_SLOPE: Gain = Gain { reward: 1, cost: 0 };
    pub(crate) const ZERO_SLOPE: Gain = Gain { reward: 0, cost: 1 };

    /// Compares reward/cost exactly. A gain of nothing for nothing has no slope and compares equal to all.
    #[inline]
    pub(crate) fn cmp_slope(self, other: Gain) -> Ordering {
        // Sums of 64-bit weights: products need 128.
        let left = u128::from(self.reward) * u128::from(other.cost);
        let right = u128::from(other.reward) * u128::from(self.cost);
        left.cmp(&right)
    }

    /// Both numbers divided by their greatest common divisor: the same slope in the smallest integers.
    pub(crate) fn reduced(self) -> Gain {
        let (mut a, mut b) = (self.reward, self.cost);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = a.max(1);
        Gain {
            reward: self.reward / divisor,
            cost: self.cost / divisor,
        }
    }

    /// Whether reward or cost is 0: then the slope is infinite or zero, and no cut can improve on it.
    pub(crate) fn is_degenerate(self) -> bool {
        self.reward == 0 || self.cost == 0
    }
}

impl Add for Gain {
    type Output = Gain;

    fn add(mut self, other: Gain) -> Gain {
        self += other;
        self
    }
}

impl AddAssign for Gain {
    fn add_assign(&mut self, other: Gain) {
        self.reward += other.reward;
        self.cost += other.cost;
    }
}
