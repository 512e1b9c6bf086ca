//! Shares a batch among pieces: how many tasks of each. Knows offers, not how they were made.
//!
//! Procedure BBDP of \[MR05\] (Lemma 4.1), with two short cuts: offers whose gains fall off (concave ones) are bought
//! one task at a time, best first; and where the exact program would cost too much, whole steps of the concave
//! envelopes are bought, which also bounds what is lost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is bought: how many tasks of each offer, what they gain, and a bound on what any sharing gains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bought {
    pub(super) shares: Vec<usize>,
    pub(super) gain: u32,
    pub(super) upper: u32,
    /// Whether no other sharing of these offers gains more.
    pub(super) is_exact_sharing: bool,
}

/// An offer by number of tasks: what is gained, a bound on it (the same where exact), and its rank in ties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wares<'a> {
    pub(super) gain: &'a [u32],
    pub(super) upper: &'a [u32],
    pub(super) rank: u32,
}

/// Buys exactly `count` tasks, or all there are. `limit` bounds the table of the exact program.
pub(super) fn share(wares: &[Wares<'_>], count: usize, limit: usize) -> Bought {
    let all: usize = wares.iter().map(|w| w.gain.len() - 1).sum();
    let count = count.min(all);
    let (smooth, rough): (Vec<usize>, Vec<usize>) =
        (0..wares.len()).partition(|&i| is_concave(wares[i].gain));
    let is_exact_sharing = rough.len().saturating_mul(count + 1) <= limit;
    let shares = if is_exact_sharing {
        exact(wares, &smooth, &rough, count)
    } else {
        let all: Vec<usize> = (0..wares.len()).collect();
        let mut one_by_one = vec![0; wares.len()];
        best_first(wares, &all, &one_by_one.clone(), count)
            .iter()
            .for_each(|&i| one_by_one[i] += 1);
        let by_envelope = by_envelope(wares, count);
        if total(wares, &by_envelope) > total(wares, &one_by_one) {
            by_envelope
        } else {
            one_by_one
        }
    };
    let gain = total(wares, &shares);
    let is_exact = is_exact_sharing && wares.iter().all(|w| w.gain == w.upper);
    Bought {
        upper: if is_exact {
            gain
        } else {
            envelope_bound(wares, count).max(gain)
        },
        shares,
        gain,
        is_exact_sharing,
    }
}

fn total(wares: &[Wares<'_>], shares: &[usize]) -> u32 {
    wares.iter().zip(shares).map(|(w, &k)| w.gain[k]).sum()
}

fn is_concave(gain: &[u32]) -> bool {
    gain.windows(3).all(|w| w[1] - w[0] >= w[2] - w[1])
}

/// Buys one task at a time where the next one gains most, on top of `taken`. Best for concave offers.
fn best_first(wares: &[Wares<'_>], among: &[usize], taken: &[usize], count: usize) -> Vec<usize> {
    let mut taken = taken.to_vec();
    let next = |taken: &[usize], i: usize| {
        let k = taken[i];
        (k + 1 < wares[i].gain.len()).then(|| {
            (
                wares[i].gain[k + 1] - wares[i].gain[k],
                Reverse(wares[i].rank),
                i,
            )
        })
    };
    let mut heap: BinaryHeap<_> = among.iter().filter_map(|&i| next(&taken, i)).collect();
    let mut picks = Vec::with_capacity(count);
    while picks.len() < count {
        let Some((_, _, i)) = heap.pop() else { break };
        picks.push(i);
        taken[i] += 1;
        heap.extend(next(&taken, i));
    }
    picks
}

/// Concave offers merged into one, then one rough offer after the other, with a table to find the shares again.
fn exact(wares: &[Wares<'_>], smooth: &[usize], rough: &[usize], count: usize) -> Vec<usize> {
    let mut taken = vec![0usize; wares.len()];
    let picks = best_first(wares, smooth, &taken, count);
    let mut best: Vec<Option<u32>> = vec![None; count + 1];
    let mut gain = 0;
    best[0] = Some(0);
    for (t, &i) in picks.iter().enumerate() {
        gain += wares[i].gain[taken[i] + 1] - wares[i].gain[taken[i]];
        taken[i] += 1;
        best[t + 1] = Some(gain);
    }
    let mut choices: Vec<Vec<u32>> = Vec::with_capacity(rough.len());
    for &i in rough {
        let mut grown = vec![None; count + 1];
        let mut choice = vec![0u32; count + 1];
        for t in 0..=count {
            for (k, &gain) in wares[i].gain.iter().enumerate().take(t + 1) {
                let reached = best[t - k].map(|b| b + gain);
                if reached > grown[t] {
                    grown[t] = reached;
                    choice[t] = k as u32;
                }
            }
        }
        best = grown;
        choices.push(choice);
    }
    let mut shares = vec![0; wares.len()];
    let mut left = count;
    for (&i, choice) in rough.iter().zip(&choices).rev() {
        shares[i] = choice[left] as usize;
        left -= shares[i];
    }
    picks[..left].iter().for_each(|&i| shares[i] += 1);
    shares
}

/// Corners of the upper concave envelope, by number of tasks.
fn corners(gain: &[u32]) -> Vec<usize> {
    let mut corners: Vec<usize> = Vec::new();
    let rise = |a: usize, b: usize| i64::from(gain[b]) - i64::from(gain[a]);
    for t in 0..gain.len() {
        while let [.., a, b] = corners[..] {
            if rise(a, b) * (t - b) as i64 <= rise(b, t) * (b - a) as i64 {
                corners.pop();
            } else {
                break;
            }
        }
        corners.push(t);
    }
    corners
}

/// The steps of all envelopes, steepest first: (offer, from, to).
fn steps<'a>(
    profiles: impl Iterator<Item = (usize, &'a [u32])>,
) -> Vec<(usize, usize, usize, u32)> {
    let mut all = Vec::new();
    for (i, gain) in profiles {
        for pair in corners(gain).windows(2) {
            all.push((i, pair[0], pair[1], gain[pair[1]] - gain[pair[0]]));
        }
    }
    all.sort_by(|x, y| {
        let (rise_x, rise_y) = (
            u64::from(x.3) * (y.2 - y.1) as u64,
            u64::from(y.3) * (x.2 - x.1) as u64,
        );
        rise_y.cmp(&rise_x).then(x.0.cmp(&y.0)).then(x.1.cmp(&y.1))
    });
    all
}

/// Whole steps while they fit, smaller ones after the first that does not, and the rest one task at a time.
fn by_envelope(wares: &[Wares<'_>], count: usize) -> Vec<usize> {
    let mut shares = vec![0; wares.len()];
    let mut left = count;
    for (i, from, to, _) in steps(wares.iter().map(|w| w.gain).enumerate()) {
        if shares[i] == from && to - from <= left {
            shares[i] = to;
            left -= to - from;
        }
    }
    let all: Vec<usize> = (0..wares.len()).collect();
    let rest = best_first(wares, &all, &shares, left);
    rest.iter().for_each(|&i| shares[i] += 1);
    shares
}

/// No sharing gains more than the steepest steps of the envelopes of all bounds, the last one in part.
fn envelope_bound(wares: &[Wares<'_>], count: usize) -> u32 {
    let mut left = count as u64;
    let mut gain = 0u64;
    for (_, from, to, rise) in steps(wares.iter().map(|w| w.upper).enumerate()) {
        let length = (to - from) as u64;
        if length <= left {
            gain += u64::from(rise);
            left -= length;
        } else {
            gain += u64::from(rise) * left / length;
            break;
        }
    }
    gain as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0u32..4, 1..6).prop_map(|steps| {
            let mut sum = 0;
            let rising = steps.into_iter().map(|s| {
                sum += s;
                sum
            });
            [0].into_iter().chain(rising).collect()
        })
    }

    proptest! {
        #[test]
        fn equals_every_way_of_sharing(offers in prop::collection::vec(offer(), 1..5), count in 0usize..12, exact in any::<bool>()) {
            let wares: Vec<Wares<'_>> = offers.iter()
                .map(|gain| Wares { gain, upper: gain, rank: 0 }).collect();
            let mut best: Vec<Option<u32>> = vec![Some(0)];
            for offer in &offers {
                let mut next = vec![None; best.len() + offer.len() - 1];
                for (i, b) in best.iter().enumerate() {
                    for (k, g) in offer.iter().enumerate() {
                        next[i + k] = next[i + k].max(b.map(|b| b + g));
                    }
                }
                best = next;
            }
            let reachable = count.min(best.len() - 1);
            let bought = share(&wares, count, if exact { usize::MAX } else { 0 });
            prop_assert_eq!(bought.shares.iter().sum::<usize>(), reachable);
            prop_assert_eq!(total(&wares, &bought.shares), bought.gain);
            let truth = best[reachable].unwrap();
            prop_assert!(bought.gain <= truth && truth <= bought.upper);
            if exact {
                prop_assert_eq!(bought.gain, truth);
                prop_assert_eq!(bought.upper, truth);
            }
        }
    }
}
