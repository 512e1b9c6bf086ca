//! Counting down what others wait for. Knows not what waits, nor for what.

use crate::Id;

/// Those of `these` that waited for one thing more and nothing else: each is counted down by one, and whoever comes to zero is
/// given out, just once. Counts as it goes, so it must be gone through to its end.
///
/// ```
/// let mut left = vec![1, 2, 1];
/// let open: Vec<u32> = cairn_kernel::completed([0, 1], &mut left).collect();
/// assert_eq!((open, left), (vec![0], vec![0, 1, 1]));
/// ```
#[inline]
pub fn completed<'a, T: Id + 'a>(
    these: impl IntoIterator<Item = T, IntoIter: 'a>,
    left: &'a mut [u32],
) -> impl Iterator<Item = T> + 'a {
    these.into_iter().filter(|one| {
        let left = &mut left[one.index()];
        *left -= 1;
        *left == 0
    })
}
