//! Candidates for the lexicographically largest suffix of any part of a text. Knows nothing of strands.
//!
//! The part may be followed by anything: its end is told only when asking. For a stretch `s` of the text, call a
//! start *open* if no other start of `s` beats it before `s` ends. The suffixes of `s` from open starts are prefixes
//! of each other. If `u` and its next shorter `v` have |u| < 2|v|, then `u = xv` and `v = xw` for a word `x`, so that
//! for every continuation `z` the pairs (uz, vz) and (vz, wz) compare alike: `v` alone is never the largest, and can
//! go. What stays more than halves in length each time: O(log |s|) candidates a stretch. (The idea is that of
//! *significant suffixes*: I, Nakashima, Inenaga, Bannai, Takeda 2013.) A segment tree over blocks holds the
//! candidates of its stretches: O(n) in all.

use super::extensions::Extensions;
use cairn_kernel::{narrow, wide};

/// Positions a leaf of the tree: scanned one by one.
// A cache line of gains: most candidates end at a look at their own.
const LEAF: usize = 16;

/// The candidates of every stretch of the segment tree.
pub(super) struct Candidates {
    /// Where the candidates of tree node k start in `flat`; they end where those of node k − 1 start.
    start: Vec<u32>,
    flat: Vec<u32>,
    leaves: usize,
}

impl Candidates {
    /// Symbols of zero are never candidates: ask only about parts that end with another symbol.
    pub(super) fn new(text: &[u32], extensions: &Extensions) -> Candidates {
        // A text shorter than one leaf gets one, which stays empty: all is scanned then.
        let leaves = (text.len() / LEAF).next_power_of_two();
        let mut tree = Candidates {
            start: vec![0; 2 * leaves],
            flat: Vec::new(),
            leaves,
        };
        // From the leaves to the root; nodes that reach beyond the text stay empty, for no part covers them.
        for node in (1..2 * leaves).rev() {
            tree.start[node] = narrow(tree.flat.len());
            let level = leaves.ilog2() - node.ilog2();
            let width = LEAF << level;
            let begin = ((node << level) - leaves) * LEAF;
            let end = begin + width;
            if end > text.len() {
                continue;
            }
            let open: Vec<u32> = if node >= leaves {
                (narrow(begin)..narrow(end)).collect()
            } else {
                [tree.of(2 * node), tree.of(2 * node + 1)].concat()
            };
            let open = open.into_iter().filter(|&u| text[wide(u)] > 0);
            tree.flat.extend(prune(text, extensions, open, end));
        }
        tree
    }

    fn of(&self, node: usize) -> &[u32] {
        let end = if node == 1 {
            self.flat.len()
        } else {
            wide(self.start[node - 1])
        };
        &self.flat[wide(self.start[node])..end]
    }

    /// Calls `visit` with starts in `from..to`, among them that of a largest suffix of `text[from..to]` followed by
    /// anything, unless that suffix starts with a zero or at `to` or later. O(log² n) calls.
    #[inline]
    pub(super) fn visit(&self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        let (mut low, mut high) = (from.div_ceil(LEAF), to / LEAF);
        if low >= high {
            (from..to).for_each(visit);
            return;
        }
        // Ends that fill no leaf are looked at one by one: 30 places at the most.
        (from..low * LEAF).for_each(&mut visit);
        (high * LEAF..to).for_each(&mut visit);
        low += self.leaves;
        high += self.leaves;
        let mut visit_node = |node| self.of(node).iter().for_each(|&u| visit(wide(u)));
        while low < high {
            if low % 2 == 1 {
                visit_node(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                visit_node(high);
            }
            low /= 2;
            high /= 2;
        }
    }
}

/// The starts, in increasing order, that can begin a largest suffix of a stretch ending before `end`.
fn prune(
    text: &[u32],
    extensions: &Extensions,
    starts: impl Iterator<Item = u32>,
    end: usize,
) -> Vec<u32> {
    let mut open: Vec<u32> = Vec::new();
    for v in starts {
        let length = end - wide(v);
        let mut beaten = false;
        while let Some(&u) = open.last() {
            let (u, v) = (wide(u), wide(v));
            let common = extensions.common(u, v, length);
            // They read alike to the end of the stretch: which one is larger depends on what follows.
            if common == length {
                break;
            }
            if text[u + common] > text[v + common] {
                beaten = true;
                break;
            }
            open.pop();
        }
        if !beaten {
            open.push(v);
        }
    }
    let mut kept: Vec<u32> = Vec::new();
    for v in open {
        let length = |u: u32| end - wide(u);
        if kept.last().is_none_or(|&u| length(u) >= 2 * length(v)) {
            kept.push(v);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// The largest suffix of a part and a random continuation is among the candidates.
        #[test]
        fn finds_the_largest_suffix(
            word in prop::collection::vec(0u32..3, 1..7),
            length in 1usize..400,
            noise in prop::collection::vec((0usize..400, 0u32..4), 0..5),
            parts in prop::collection::vec((0usize..400, 0usize..400), 12),
            more in prop::collection::vec(0u32..3, 0..9),
        ) {
            let mut text: Vec<u32> = word.into_iter().cycle().take(length).collect();
            for (at, symbol) in noise {
                if let Some(slot) = text.get_mut(at) { *slot = symbol }
            }
            let extensions = Extensions::new(&text);
            let candidates = Candidates::new(&text, &extensions);
            for (a, b) in parts {
                let to = a.max(b).min(length);
                let from = a.min(b).min(to);
                let mut whole = text[..to].to_vec();
                whole.extend(&more);
                whole.push(1);
                let largest = (from..whole.len()).max_by_key(|&i| &whole[i..]).unwrap();
                let mut seen = Vec::new();
                candidates.visit(from, to, |u| seen.push(u));
                prop_assert!(seen.iter().all(|u| (from..to).contains(u)));
                if largest < to {
                    prop_assert!(seen.contains(&largest), "{:?} in {}..{}", largest, from, to);
                }
                let most = 2 * LEAF + 2 * 6 * 9;
                prop_assert!(seen.len() <= most, "{} candidates", seen.len());
            }
        }
    }
}
