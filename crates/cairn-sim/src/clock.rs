//! Times that can be compared and queued. Knows no events.

/// A moment, not negative, that orders as an integer does: the bits of a float above zero grow with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(u64);

impl Time {
    #[inline]
    pub(crate) fn new(seconds: f64) -> Time {
        debug_assert!(seconds >= 0.0);
        // Adding zero turns -0 into +0.
        Time((seconds + 0.0).to_bits())
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Time {
        Time(bits)
    }

    #[inline]
    pub(crate) fn seconds(self) -> f64 {
        f64::from_bits(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn orders_as_the_numbers_do(a in 0.0f64..1e300, b in 0.0f64..1e300) {
            prop_assert_eq!(Time::new(a) < Time::new(b), a < b);
            prop_assert_eq!(Time::new(a).seconds(), a);
        }
    }

    #[test]
    fn zero_has_one_sign() {
        assert_eq!(Time::new(-0.0), Time::new(0.0));
        assert!(Time::new(f64::INFINITY) > Time::new(1e308));
    }
}
