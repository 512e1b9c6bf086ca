//! Proves cheaply that one task cannot reach another. Never proves that it can.

use super::ranked::Ranked;
use crate::{narrow, wide};

/// Words a set.
// With both digests half a cache line a rank.
const WORDS: usize = 2;

type Set = [u64; WORDS];

/// For each rank a digest of the ranks it reaches and of those that reach it, itself among both: a set of 128
/// bits into which ranks are scattered (the Bloom-filter labels of Su, Zhu, Wei and Yu, 2017).
pub(super) struct Labels {
    of: Vec<Label>,
}

#[derive(Clone, Copy, Default)]
struct Label {
    below: Set,
    above: Set,
}

impl Labels {
    /// Two linear sweeps.
    pub(super) fn new(ranked: &Ranked) -> Labels {
        let ranks = 0..narrow(ranked.len());
        let mut of = vec![Label::default(); ranked.len()];
        for rank in ranks.clone() {
            let mut above = singleton(rank);
            for &parent in ranked.parents(rank) {
                add(&mut above, &of[wide(parent)].above);
            }
            of[wide(rank)].above = above;
        }
        for rank in ranks.rev() {
            let mut below = singleton(rank);
            for &child in ranked.children(rank) {
                add(&mut below, &of[wide(child)].below);
            }
            of[wide(rank)].below = below;
        }
        Labels { of }
    }

    /// `false` proves that no path leads from `u` to `v`.
    #[inline]
    pub(super) fn may_reach(&self, u: u32, v: u32) -> bool {
        let (u, v) = (&self.of[wide(u)], &self.of[wide(v)]);
        // A path would put all that `v` reaches below `u`, and all that reaches `u` above `v`.
        contains(&u.below, &v.below) && contains(&v.above, &u.above)
    }
}

/// A digest of one rank: one bit, scattered.
fn singleton(rank: u32) -> Set {
    // Knuth's multiplier, 2³² over the golden ratio: neighbouring ranks fall far apart.
    // The upper half: the low bits of a product know only the low bits of the rank.
    let hash = rank.wrapping_mul(0x9E37_79B9) >> 16;
    let bit = wide(hash) % (64 * WORDS);
    let mut set = [0; WORDS];
    set[bit / 64] = 1 << (bit % 64);
    set
}

#[inline]
fn add(set: &mut Set, more: &Set) {
    for (word, more) in set.iter_mut().zip(more) {
        *word |= more;
    }
}

#[inline]
fn contains(set: &Set, part: &Set) -> bool {
    set.iter().zip(part).all(|(set, part)| part & !set == 0)
}
