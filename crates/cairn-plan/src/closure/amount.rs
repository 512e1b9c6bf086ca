//! The two kinds of integers flows are counted in. Knows nothing of graphs.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A signed integer that counts flow: `i64` where the numbers allow it, `i128` for heavy weights.
pub(crate) trait Amount:
    Copy
    + Ord
    + Default
    + Debug
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// Nothing.
    const ZERO: Self;
    /// A network whose rewards times its costs stay below this cannot overflow: the flow on an arc and the
    /// balance of a node are at most a few times that product.
    const LARGEST_PRODUCT: u128;

    /// `a·b`, which the caller knows to fit.
    fn product(a: u64, b: u64) -> Self;

    /// The nearest float: to choose amounts by, never to prove anything.
    fn to_float(self) -> f64;

    /// Truncated towards zero; saturates.
    fn from_float(value: f64) -> Self;

    /// The same number in the wider integers.
    fn to_wide(self) -> i128;
}

macro_rules! amount {
    ($kind:ty, $bits:expr) => {
        impl Amount for $kind {
            const ZERO: Self = 0;
            const LARGEST_PRODUCT: u128 = 1 << $bits;

            #[inline(always)]
            fn product(a: u64, b: u64) -> Self {
                a as $kind * b as $kind
            }

            #[inline(always)]
            fn to_float(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn from_float(value: f64) -> Self {
                value as $kind
            }

            fn to_wide(self) -> i128 {
                self.into()
            }
        }
    };
}

// Room for sums of a few such products, below the sign: of 16 in 63 bits; of 128 in 127, where there is more than enough.
amount!(i64, 59);
amount!(i128, 120);
