//! (max,+) convolution of profiles: the best way to share a number of steps. Knows only numbers.

use crate::{Work, long};
use std::ops::Add;

/// What profiles are made of.
pub trait Value: Copy + Ord + Add<Output = Self> {
    /// Less than all that can be reached.
    const LEAST: Self;

    /// Whether it cannot be reached.
    fn is_never(self) -> bool;

    /// The value again, or [`Value::LEAST`] if something was added to that.
    fn or_never(self) -> Self;
}

/// Counts: all of them can be reached.
impl Value for u32 {
    const LEAST: u32 = 0;

    #[inline]
    fn is_never(self) -> bool {
        false
    }

    #[inline]
    fn or_never(self) -> u32 {
        self
    }
}

/// "Cannot be reached" among signed values. A quarter of the least: two of them added up do not overflow, and one with a real
/// value, which must be within ±2²⁸, is still told from all real ones.
pub const NEVER: i32 = i32::MIN / 4;

impl Value for i32 {
    const LEAST: i32 = NEVER;

    #[inline]
    fn is_never(self) -> bool {
        // While real values stay within ±2²⁸, NEVER with one added is still below half of NEVER; two NEVERs do not
        // overflow.
        self < NEVER / 2
    }

    #[inline]
    fn or_never(self) -> i32 {
        if self.is_never() { NEVER } else { self }
    }
}

/// What a convolution costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// A step for every eight pairs of entries, since about so many are looked at at once: for time alone.
    Time,
    /// A step for every pair: where steps are entries of tables, or bound the room as well.
    Entries,
}

impl Price {
    /// Steps for so many pairs of entries.
    #[inline]
    fn steps(self, pairs: u64) -> u64 {
        match self {
            Price::Time => pairs / 8,
            Price::Entries => pairs,
        }
    }

    fn of<N>(self, a: &[N], b: &[N], most: Option<usize>) -> u64 {
        let cut = |p: &[N]| long(most.map_or(p.len(), |most| p.len().min(most.saturating_add(1))));
        // As if neither were concave: what is paid must not depend on a look at the entries.
        self.steps(cut(a) * cut(b))
    }
}

/// With so few entries in the shorter one, nobody looks whether both are concave: a pass along the longer one is made for each, eight
/// entries at once, and that many passes cost no more than the look and the merge, which go entry by entry.
const FEW: usize = 16;

/// out\[t\] = max over i + j = t of a\[i\] + b\[j\], up to `most` where that is given; what cannot be reached stays so. Charged to `work`:
/// `None`, and the work is over, if that does not suffice.
///
/// O(|a|·|b|); O(|a| + |b|) when both are concave.
///
/// ```
/// use cairn_kernel::{Price, Work, convolve};
/// let sum = |most| convolve(&[0, 3], &[0, 1, 5], most, Price::Time, &mut Work::unlimited());
/// assert_eq!(sum(None), Some(vec![0, 3, 5, 8]));
/// assert_eq!(sum(Some(1)), Some(vec![0, 3]));
/// ```
///
/// # Panics
/// If one of them is empty.
pub fn convolve<N: Value>(
    a: &[N],
    b: &[N],
    most: Option<usize>,
    price: Price,
    work: &mut Work<'_>,
) -> Option<Vec<N>> {
    let mut out = Vec::new();
    convolve_into(a, b, most, price, work, &mut out)?;
    Some(out)
}

/// The same into a list that may have been used before.
pub(crate) fn convolve_into<N: Value>(
    a: &[N],
    b: &[N],
    most: Option<usize>,
    price: Price,
    work: &mut Work<'_>,
    out: &mut Vec<N>,
) -> Option<()> {
    work.take(price.of(a, b, most))?;
    out.clear();
    let all = a.len() + b.len() - 1;
    let length = most.map_or(all, |most| all.min(most.saturating_add(1)));
    // Worth the look: of concave profiles, which most are, the rises need only be merged.
    if a.len().min(b.len()) > FEW && is_concave(a) && is_concave(b) {
        merge_concave(a, b, length, out);
        return Some(());
    }
    out.resize(length, N::LEAST);
    // Along the longer one several entries are filled at once.
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    for (i, &x) in short.iter().enumerate().take(length) {
        if x.is_never() {
            continue;
        }
        for (slot, &y) in out[i..].iter_mut().zip(long) {
            // What is added to the unreachable could pass for it or for more: it is masked afterwards.
            *slot = (*slot).max(x + y);
        }
    }
    out.iter_mut().for_each(|slot| *slot = slot.or_never());
    Some(())
}

/// Whether the rises never grow, and both ends, hence all, can be reached.
fn is_concave<N: Value>(a: &[N]) -> bool {
    // The first unreachable entry in between would lie below the mean of its neighbours.
    !a[0].is_never()
        && !a[a.len() - 1].is_never()
        && a.windows(3).all(|w| w[1] + w[1] >= w[0] + w[2])
}

/// Rises of both, largest first.
fn merge_concave<N: Value>(a: &[N], b: &[N], length: usize, out: &mut Vec<N>) {
    let (mut i, mut j) = (0, 0);
    out.reserve(length);
    out.push(a[0] + b[0]);
    while out.len() < length {
        // The larger of the two next rises, told without subtracting: counts have no sign.
        // Either may be taken where they are equal: the sums are the same.
        let take_a = j + 1 == b.len() || (i + 1 < a.len() && a[i + 1] + b[j] >= a[i] + b[j + 1]);
        if take_a {
            i += 1;
        } else {
            j += 1;
        }
        out.push(a[i] + b[j]);
    }
}

/// A profile of counts as signed values.
pub fn signed(profile: &[u32]) -> Vec<i32> {
    profile.iter().map(|&x| x as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = i32> {
        prop_oneof![4 => -5..50i32, 1 => Just(NEVER)]
    }

    /// The best sum for each total, by trying all pairs.
    fn by_definition(a: &[i32], b: &[i32]) -> Vec<i32> {
        (0..a.len() + b.len() - 1)
            .map(|t| {
                let pairs = (0..=t).filter(|&i| i < a.len() && t - i < b.len());
                let real = pairs.filter(|&i| a[i] != NEVER && b[t - i] != NEVER);
                real.map(|i| a[i] + b[t - i]).max().unwrap_or(NEVER)
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn equals_the_definition(mut a in prop::collection::vec(entry(), 1..30), mut b in prop::collection::vec(entry(), 1..30), sort in any::<bool>(), most in 0usize..60, steps in 0u64..120) {
            if sort {
                // Falling rises: the concave path.
                for p in [&mut a, &mut b] {
                    p.iter_mut().for_each(|x| *x = (*x).max(-5));
                    p.sort_unstable_by(|x, y| y.cmp(x));
                    let mut sum = 0;
                    p.iter_mut().for_each(|x| { sum += *x; *x = sum; });
                }
            }
            let best = by_definition(&a, &b);
            let cut = best.len().min(most + 1);
            let mut work = Work::steps(steps);
            match convolve(&a, &b, Some(most), Price::Time, &mut work) {
                Some(out) => prop_assert_eq!(&out[..], &best[..cut]),
                None => prop_assert!(work.is_over() && a.len() * b.len() / 8 > steps as usize),
            }
            let pairs = a.len() as u64 * b.len() as u64;
            let mut work = Work::steps(8 * steps);
            match convolve(&a, &b, None, Price::Entries, &mut work) {
                Some(out) => prop_assert!(out == best && work.left() == 8 * steps - pairs),
                None => prop_assert!(pairs > 8 * steps && work.is_over()),
            }
        }

        #[test]
        fn counts_are_as_signed_values(a in prop::collection::vec(0i32..50, 1..9), b in prop::collection::vec(0i32..50, 1..9), most in 0usize..20) {
            let counts = |p: &[i32]| p.iter().map(|&x| x as u32).collect::<Vec<u32>>();
            let mut out = vec![7; 3];
            let mut work = Work::unlimited();
            convolve_into(&counts(&a), &counts(&b), Some(most), Price::Time, &mut work, &mut out).unwrap();
            let best = counts(&by_definition(&a, &b));
            prop_assert_eq!(&out[..], &best[..best.len().min(most + 1)]);
        }
    }
}
