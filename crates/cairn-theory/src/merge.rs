//! Sums of blocks: the largest merge of their strings of increments. Knows profiles alone, not blocks or dags.
//!
//! The *string* of a profile E is E(1)−E(0), E(2)−E(1), …: what each further source yields. An order of the sources
//! of a sum of blocks that runs each block in its own IC-optimal order is a merge of their strings.
//!
//! **Why the largest merge.** Suppose that a sum admits an IC-optimal schedule. At each of its steps the counts x_i
//! of executed sources attain the maximum of Σ E_i(x_i), so that each block is at its own optimum, and the
//! schedule's string is a merge of the blocks' strings. Its prefix sums are at every step the largest possible, so
//! no merge is lexicographically larger. The lexicographically largest merge is unique as a string, and the greedy
//! below makes it. Hence: *the largest merge is IC-optimal iff the sum admits an IC-optimal schedule at all.*
//!
//! **Why pairs suffice.** *An order of a sum that is IC-optimal for every pair of its blocks, the others left out, is
//! IC-optimal.* Let the order's counts at some step be m, and x any counts with the same total and the largest
//! possible value. If x ≠ m, some x_i > m_i and x_j < m_j. Moving (x_i, x_j) to the pair's own best split of
//! x_i + x_j on the order's path loses nothing; that path passes (m_i, m_j), so the move brings x nearer to m. After
//! finitely many moves x = m. Hence *a sum admits an IC-optimal schedule iff every pair of its blocks does*, since
//! the largest merge of all, seen on two blocks alone, is their largest merge.

use cairn_kernel::{narrow, wide};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The largest merge of the strings of several units: for each step, the index of the unit whose next source is
/// taken. `units[i]` names the profile of unit `i` in `profiles`; equal units share one. Of units that are equally
/// good the one named first in `units` goes first.
///
/// Always takes from the unit whose remaining string is lexicographically largest, the end of a string counting as
/// less than 0. The remaining strings are ranked beforehand, by a suffix array of the distinct strings. Time
/// O(P·log P + N·log U) and space O(P + N) for P entries of `profiles`, N steps and U units.
///
/// ```
/// use cairn_theory::merge::largest_merge;
/// // W[4,2] twice: both long strides come first.
/// assert_eq!(largest_merge(&[&[0, 3, 5]], &[0, 0]), [0, 1, 0, 1]);
/// ```
///
/// # Panics
/// If a unit names no profile or a profile falls.
pub fn largest_merge(profiles: &[&[u32]], units: &[u32]) -> Vec<u32> {
    // No choice: no suffixes need be ranked.
    if let [alone] = units {
        return vec![0; profiles[wide(*alone)].len() - 1];
    }
    let ranks = SuffixRanks::new(profiles);
    let mut taken = vec![0u32; units.len()];
    // A unit is in the heap with the rank of its remaining string, as long as that is not empty.
    let entry = |unit: usize, taken: u32| {
        let rank = ranks.of(wide(units[unit]), wide(taken));
        rank.map(|rank| (rank, Reverse(narrow(unit))))
    };
    // A remaining string only shrinks when its own unit is taken, so that no entry ever goes stale.
    let mut heap: BinaryHeap<_> = (0..units.len()).filter_map(|unit| entry(unit, 0)).collect();
    let mut order = Vec::new();
    while let Some((_, Reverse(unit))) = heap.pop() {
        order.push(unit);
        taken[wide(unit)] += 1;
        heap.extend(entry(wide(unit), taken[wide(unit)]));
    }
    order
}

/// The profile of a merge of units, as [`largest_merge`] returns it.
pub(crate) fn merged_profile(profiles: &[&[u32]], units: &[u32], order: &[u32]) -> Vec<u32> {
    let mut taken = vec![0usize; units.len()];
    let mut total = 0;
    let mut merged = Vec::with_capacity(order.len() + 1);
    merged.push(0);
    for &unit in order {
        let profile = profiles[wide(units[wide(unit)])];
        let x = &mut taken[wide(unit)];
        total += profile[*x + 1] - profile[*x];
        *x += 1;
        merged.push(total);
    }
    merged
}

/// Whether the sum of two blocks with these profiles, each of which admits an IC-optimal schedule, admits one: the
/// largest merge is compared with the (max,+) convolution. O(s1·s2).
///
/// ```
/// use cairn_theory::merge::sum_admits;
/// assert!(sum_admits(&[0, 3, 5], &[0, 3, 5]));
/// // A clique of 3 and one of 2 (\[MRY06\], Lemma 2.1): the best at step 2 and at step 3 cannot be nested.
/// assert!(!sum_admits(&[0, 0, 0, 3], &[0, 0, 2]));
/// ```
pub fn sum_admits(first: &[u32], second: &[u32]) -> bool {
    let profiles = [first, second];
    // If the sum admits, this merge is IC-optimal; so one pair (x, y) above it refutes the sum.
    let order = largest_merge(&profiles, &[0, 1]);
    let merged = merged_profile(&profiles, &[0, 1], &order);
    (first.iter().enumerate()).all(|(x, &e)| {
        let reached = &merged[x..];
        second.iter().zip(reached).all(|(&f, &best)| e + f <= best)
    })
}

/// The ranks of all suffixes of several strings of increments among each other; equal suffixes rank equal.
struct SuffixRanks {
    start: Vec<u32>,
    /// By place in the concatenation, in which every string is followed by its end.
    rank: Vec<u32>,
}

impl SuffixRanks {
    /// Prefix doubling: ranks by the first 1, 2, 4, … increments until the longest string is exhausted or all
    /// suffixes differ.
    fn new(profiles: &[&[u32]]) -> SuffixRanks {
        let mut start = Vec::with_capacity(profiles.len() + 1);
        let mut rank = Vec::new();
        let mut longest = 0;
        start.push(0);
        for profile in profiles {
            // The end of a string ranks 0, below the increment 0.
            rank.extend(profile.windows(2).map(|w| w[1] - w[0] + 1));
            rank.push(0);
            longest = longest.max(profile.len());
            start.push(narrow(rank.len()));
        }
        // Ends of strings are suffixes, too, and equal: the smallest of all, never taken.
        let mut sorted: Vec<u32> = (0..narrow(rank.len())).collect();
        sorted.sort_by_key(|&i| rank[wide(i)]);
        let mut distinct = renumber(&sorted, &mut rank, |rank, i| (rank[i], 0));
        let mut known = 1;
        let end: Vec<u32> = (start.windows(2))
            .flat_map(|w| std::iter::repeat_n(w[1] - 1, wide(w[1] - w[0])))
            .collect();
        // Equal profiles come once, but their tails may be equal: so ranks need not become distinct, and `longest`
        // ends it.
        while known < longest && distinct < sorted.len() {
            // The rank of what follows the first `known` increments; past the end there is nothing to tell apart.
            let after = |rank: &[u32], i: usize| {
                let next = i + known;
                if next < wide(end[i]) { rank[next] } else { 0 }
            };
            sort_within_ranks(&mut sorted, &rank, |i| after(&rank, wide(i)));
            let before = distinct;
            distinct = renumber(&sorted, &mut rank, |rank, i| (rank[i], after(rank, i)));
            // Who agrees on the first `known` agrees on twice as many: then also on all.
            if distinct == before {
                break;
            }
            known *= 2;
        }
        SuffixRanks { start, rank }
    }

    /// The rank of what remains of a string after `taken` increments; `None` at its end.
    fn of(&self, string: usize, taken: usize) -> Option<u32> {
        let at = wide(self.start[string]) + taken;
        (at + 1 < wide(self.start[string + 1])).then(|| self.rank[at])
    }
}

/// Sorts each run of equal rank by a second key; runs of one are left alone.
fn sort_within_ranks(sorted: &mut [u32], rank: &[u32], key: impl Fn(u32) -> u32) {
    for run in sorted.chunk_by_mut(|&a, &b| rank[wide(a)] == rank[wide(b)]) {
        if run.len() > 1 {
            run.sort_unstable_by_key(|&i| key(i));
        }
    }
}

/// Replaces ranks by 0, 1, 2, … along `sorted`, equal keys getting equal ranks. Returns how many there are.
fn renumber(
    sorted: &[u32],
    rank: &mut Vec<u32>,
    key: impl Fn(&[u32], usize) -> (u32, u32),
) -> usize {
    let mut fresh = vec![0; rank.len()];
    let mut next = 0;
    for (place, &i) in sorted.iter().enumerate() {
        if place > 0 && key(rank, wide(i)) != key(rank, wide(sorted[place - 1])) {
            next += 1;
        }
        fresh[wide(i)] = next;
    }
    *rank = fresh;
    sorted.len().min(wide(next) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_profile;
    use crate::testing::convolved;
    use proptest::prelude::*;

    fn increments(profile: &[u32]) -> Vec<u32> {
        profile.windows(2).map(|w| w[1] - w[0]).collect()
    }

    /// The lexicographically largest of all merges, by trying all.
    fn largest_by_trying(strings: &[Vec<u32>]) -> Vec<u32> {
        let mut best = Vec::new();
        for i in 0..strings.len() {
            if let Some((&head, rest)) = strings[i].split_first() {
                let mut left = strings.to_vec();
                left[i] = rest.to_vec();
                let mut merge = vec![head];
                merge.extend(largest_by_trying(&left));
                best = best.max(merge);
            }
        }
        best
    }

    fn merge_string(profiles: &[&[u32]], units: &[u32]) -> Vec<u32> {
        let order = largest_merge(profiles, units);
        increments(&merged_profile(profiles, units, &order))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn the_greedy_makes_the_largest_merge(profiles in prop::collection::vec(any_profile(4, 2), 1..4)) {
            let rows: Vec<&[u32]> = profiles.iter().map(Vec::as_slice).collect();
            let units: Vec<u32> = (0..rows.len() as u32).collect();
            let strings: Vec<Vec<u32>> = profiles.iter().map(|p| increments(p)).collect();
            prop_assert_eq!(merge_string(&rows, &units), largest_by_trying(&strings));
        }

        /// Against merging naively by comparing what remains, on strings with long repetitions.
        #[test]
        fn suffix_ranks_agree_with_comparing(profiles in prop::collection::vec(any_profile(40, 1), 1..5), copies in 1u32..3) {
            let rows: Vec<&[u32]> = profiles.iter().map(Vec::as_slice).collect();
            let units: Vec<u32> = (0..copies * rows.len() as u32).map(|i| i % rows.len() as u32).collect();
            let mut left: Vec<Vec<u32>> = units.iter().map(|&u| increments(&profiles[u as usize])).collect();
            let mut expected = Vec::new();
            while let Some(i) = (0..left.len()).filter(|&i| !left[i].is_empty()).max_by_key(|&i| (&left[i], Reverse(i))) {
                left[i].remove(0);
                expected.push(i as u32);
            }
            prop_assert_eq!(largest_merge(&rows, &units), expected);
        }

        /// A sum of two admits iff some merge attains the convolution at every step: by search over all paths.
        #[test]
        fn the_merge_attains_the_bound_iff_the_sum_admits(a in any_profile(6, 3), b in any_profile(6, 3)) {
            let best = convolved(&a, &b);
            let mut front = vec![(0usize, 0usize)];
            for t in 1..best.len() {
                let mut next = Vec::new();
                for &(x, y) in &front {
                    for (x, y) in [(x + 1, y), (x, y + 1)] {
                        if x < a.len() && y < b.len() && a[x] + b[y] == best[t] && !next.contains(&(x, y)) {
                            next.push((x, y));
                        }
                    }
                }
                front = next;
            }
            prop_assert_eq!(sum_admits(&a, &b), !front.is_empty());
        }

        /// A sum of several admits iff every pair does, and then the largest merge attains the convolution.
        #[test]
        fn pairs_decide_sums(profiles in prop::collection::vec(any_profile(4, 3), 2..5)) {
            let rows: Vec<&[u32]> = profiles.iter().map(Vec::as_slice).collect();
            let units: Vec<u32> = (0..rows.len() as u32).collect();
            let best = profiles.iter().fold(vec![0], |sum, p| convolved(&sum, p));
            let merged = merged_profile(&rows, &units, &largest_merge(&rows, &units));
            let pairs = (0..rows.len()).all(|i| (0..i).all(|j| sum_admits(rows[i], rows[j])));
            prop_assert_eq!(merged == best, pairs);
        }
    }

    #[test]
    fn long_repetitions_are_no_worst_case() {
        // 2^17 equal increments and one more at the end: the worst case for comparing suffixes one by one.
        let n = 1u32 << 17;
        let long: Vec<u32> = (0..=n).chain([n + 2]).collect();
        let short: Vec<u32> = (0..=n / 2).chain([n / 2 + 2]).collect();
        let order = largest_merge(&[&long, &short], &[0, 1]);
        // The shorter string reaches its 2 sooner.
        assert!(order[..short.len() - 1].iter().all(|&u| u == 1));
        assert!(order[short.len() - 1..].iter().all(|&u| u == 0));
    }
}
