//! (max,+) convolution of profiles: the best way to share a number of steps. Knows only numbers.

/// "Cannot be reached". Far from overflow when a few of them are added up.
pub(super) const NEVER: i32 = i32::MIN / 4;

/// out\[t\] = max over i + j = t of a\[i\] + b\[j\]. Entries of [`NEVER`] stay unreachable.
///
/// O(|a|·|b|); O(|a| + |b|) when both are concave. Neither may be empty.
pub(super) fn convolve(a: &[i32], b: &[i32]) -> Vec<i32> {
    if is_concave(a) && is_concave(b) {
        return merge_concave(a, b);
    }
    let mut out = vec![NEVER; a.len() + b.len() - 1];
    for (i, &x) in a.iter().enumerate() {
        if x == NEVER {
            continue;
        }
        for (slot, &y) in out[i..].iter_mut().zip(b) {
            // x + NEVER is below NEVER + values, but could pass NEVER itself: mask it afterwards.
            *slot = (*slot).max(x + y);
        }
    }
    for slot in &mut out {
        if *slot < NEVER / 2 {
            *slot = NEVER;
        }
    }
    out
}

fn is_concave(a: &[i32]) -> bool {
    a[0] > NEVER / 2
        && a.windows(3).all(|w| w[1] - w[0] >= w[2] - w[1])
        && a[a.len() - 1] > NEVER / 2
}

/// Increments of both, largest first.
fn merge_concave(a: &[i32], b: &[i32]) -> Vec<i32> {
    let mut out = Vec::with_capacity(a.len() + b.len() - 1);
    let (mut i, mut j) = (0, 0);
    out.push(a[0] + b[0]);
    while i + 1 < a.len() || j + 1 < b.len() {
        let take_a = j + 1 == b.len() || (i + 1 < a.len() && a[i + 1] - a[i] >= b[j + 1] - b[j]);
        if take_a {
            i += 1;
        } else {
            j += 1;
        }
        out.push(a[i] + b[j]);
    }
    out
}

/// A profile of counts as signed numbers.
pub(super) fn signed(profile: &[u32]) -> Vec<i32> {
    profile.iter().map(|&x| x as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = i32> {
        prop_oneof![4 => -5..50i32, 1 => Just(NEVER)]
    }

    #[test]
    fn an_example() {
        assert_eq!(convolve(&[0, 3], &[0, 1, 5]), [0, 3, 5, 8]);
    }

    proptest! {
        #[test]
        fn equals_the_definition(mut a in prop::collection::vec(entry(), 1..9), mut b in prop::collection::vec(entry(), 1..9), sort in any::<bool>()) {
            if sort {
                // Falling increments: the concave path.
                for p in [&mut a, &mut b] {
                    p.iter_mut().for_each(|x| *x = (*x).max(-5));
                    p.sort_unstable_by(|x, y| y.cmp(x));
                    let mut sum = 0;
                    p.iter_mut().for_each(|x| { sum += *x; *x = sum; });
                }
            }
            let got = convolve(&a, &b);
            for t in 0..a.len() + b.len() - 1 {
                let best = (0..=t)
                    .filter(|&i| i < a.len() && t - i < b.len() && a[i] != NEVER && b[t - i] != NEVER)
                    .map(|i| a[i] + b[t - i])
                    .max();
                prop_assert_eq!(got[t], best.unwrap_or(NEVER));
            }
        }
    }
}
