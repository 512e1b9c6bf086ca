//! The upper concave envelope of a curve. Knows numbers alone.

/// Where the smallest concave curve that lies nowhere below the given one has its corners: from 0 to the last place. Linear: the
/// monotone chain of Andrew (1979), whose points come sorted.
///
/// ```
/// assert_eq!(cairn_kernel::corners(&[0, 0, 3, 4, 5]), [0, 2, 4]);
/// ```
pub fn corners(curve: &[u32]) -> Vec<usize> {
    let rise = |a: usize, b: usize| i64::from(curve[b]) - i64::from(curve[a]);
    let mut corners: Vec<usize> = Vec::new();
    for t in 0..curve.len() {
        while let [.., a, b] = corners[..] {
            // Slopes are compared by products, so that nothing is rounded.
            // Both factors count tasks: up to 2³¹ of them a product fits. Equal slopes go, for a corner must bend.
            if rise(a, b) * (t - b) as i64 > rise(b, t) * (b - a) as i64 {
                break;
            }
            corners.pop();
        }
        corners.push(t);
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A place is a corner when it lies above every line between one before and one behind.
        #[test]
        fn corners_lie_above_all_lines(curve in prop::collection::vec(0u32..30, 1..14)) {
            let rise = |a: usize, b: usize| i64::from(curve[b]) - i64::from(curve[a]);
            let is_corner = |t: &usize| {
                (0..*t).all(|a| (t + 1..curve.len()).all(|b| {
                    rise(a, *t) * (b - t) as i64 > rise(*t, b) * (t - a) as i64
                }))
            };
            let expected: Vec<usize> = (0..curve.len()).filter(is_corner).collect();
            prop_assert_eq!(corners(&curve), expected);
        }
    }
}
