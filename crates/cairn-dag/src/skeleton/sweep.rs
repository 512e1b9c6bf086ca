//! Decides open arcs a block of heads at a time, with one bit a head. Never gives up, whatever the dag.

use super::fates::{Fate, Fates};
use super::ranked::Ranked;

/// Machine words in a row of bits: one cache line a task.
const WORDS: usize = 8;
/// Heads in a block.
pub(super) const HEADS: usize = 64 * WORDS;

type Bits = [u64; WORDS];

const NO_COLUMN: u16 = u16::MAX;

/// The arcs of the skeleton, as ranks.
///
/// Goes through the heads of open arcs in the order of ranks, at most `block` (≤ 512) at a time. For each block
/// walks the ranks from the last head back to the first tail and gathers, in one row of bits a rank, which
/// heads it reaches; children in ascending order, so that an arc to a head that is reached already is a shortcut
/// (the method of Goralčíková and Koubek, 1979, cut into blocks of columns). A shortcut is dropped at once, so
/// later blocks walk little more than the skeleton. Time O(heads/512 · arcs of the skeleton + arcs) cache lines
/// at worst, less when arcs are short; space 64 bytes a task.
pub(super) fn sweep(ranked: &Ranked, fates: &Fates, block: usize) -> Vec<(u32, u32)> {
    let mut rows = Rows::new(ranked, fates);
    let mut column_of = vec![NO_COLUMN; ranked.len()];
    let mut reach = Vec::new();
    for heads in open_heads(ranked, fates).chunks(block.min(HEADS)) {
        for (column, head) in heads.iter().enumerate() {
            column_of[head.rank as usize] = column as u16;
        }
        rows.settle(heads, &column_of, &mut reach);
        for head in heads {
            column_of[head.rank as usize] = NO_COLUMN;
        }
    }
    rows.arcs()
}

/// The end of one or more open arcs.
struct Head {
    rank: u32,
    /// The smallest rank among their tails.
    first_tail: u32,
}

fn open_heads(ranked: &Ranked, fates: &Fates) -> Vec<Head> {
    let ranks = 0..ranked.len() as u32;
    let first_open = |rank| {
        let mut slots = ranked.parent_slots(rank);
        slots.find(|&slot| fates.of[slot] == Fate::Open)
    };
    ranks
        .filter_map(|rank| {
            first_open(rank).map(|slot| Head {
                rank,
                first_tail: ranked.parent[slot],
            })
        })
        .collect()
}

/// For each rank its children in ascending order, less the shortcuts found so far. Those that a sweep has passed
/// are final and lie at the front of the row; the others wait at its end; dropped ones leave a gap between.
struct Rows {
    start: Vec<u32>,
    settled_end: Vec<u32>,
    waiting_start: Vec<u32>,
    end: Vec<u32>,
    child: Vec<u32>,
}

impl Rows {
    fn new(ranked: &Ranked, fates: &Fates) -> Rows {
        let start = ranked.child_start.clone();
        let mut end = start[..ranked.len()].to_vec();
        let mut child = vec![0; ranked.child.len()];
        for rank in 0..ranked.len() as u32 {
            for slot in ranked.parent_slots(rank) {
                if fates.of[slot] != Fate::Shortcut {
                    let end = &mut end[ranked.parent[slot] as usize];
                    child[*end as usize] = rank;
                    *end += 1;
                }
            }
        }
        Rows {
            settled_end: start.clone(),
            waiting_start: start.clone(),
            start,
            end,
            child,
        }
    }

    /// Decides all arcs into `heads`. `reach` is scratch memory.
    fn settle(&mut self, heads: &[Head], column_of: &[u16], reach: &mut Vec<Bits>) {
        let (Some(first), Some(last)) = (
            heads.iter().map(|h| h.first_tail).min(),
            heads.last().map(|h| h.rank),
        ) else {
            return;
        };
        // By rank, from `first`: the heads that it reaches or is.
        reach.clear();
        reach.resize((last - first) as usize + 1, [0; WORDS]);
        for rank in (first..=last).rev() {
            let mut bits = [0; WORDS];
            let at = rank as usize;
            for slot in self.start[at]..self.settled_end[at] {
                add(
                    &mut bits,
                    &reach[(self.child[slot as usize] - first) as usize],
                );
            }
            while self.waiting_start[at] < self.end[at] {
                let child = self.child[self.waiting_start[at] as usize];
                if child > last {
                    break;
                }
                self.waiting_start[at] += 1;
                let column = column_of[child as usize];
                if column != NO_COLUMN && has(&bits, column) {
                    continue;
                }
                self.child[self.settled_end[at] as usize] = child;
                self.settled_end[at] += 1;
                add(&mut bits, &reach[(child - first) as usize]);
            }
            let own = column_of[at];
            if own != NO_COLUMN {
                bits[own as usize / 64] |= 1 << (own % 64);
            }
            reach[(rank - first) as usize] = bits;
        }
    }

    fn arcs(&self) -> Vec<(u32, u32)> {
        let ranks = 0..self.end.len();
        let rows = ranks.flat_map(|at| {
            let settled = self.start[at]..self.settled_end[at];
            let waiting = self.waiting_start[at]..self.end[at];
            settled.chain(waiting).map(move |slot| (at as u32, slot))
        });
        rows.map(|(at, slot)| (at, self.child[slot as usize]))
            .collect()
    }
}

#[inline]
fn add(bits: &mut Bits, more: &Bits) {
    for (word, more) in bits.iter_mut().zip(more) {
        *word |= more;
    }
}

#[inline]
fn has(bits: &Bits, column: u16) -> bool {
    bits[column as usize / 64] >> (column % 64) & 1 == 1
}
