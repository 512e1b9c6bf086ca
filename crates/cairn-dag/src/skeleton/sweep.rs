//! Decides open arcs a block of heads at a time, with one bit a head. Never gives up by itself, whatever the dag.

use super::fates::{Fate, Fates};
use super::ranked::Ranked;
use crate::{narrow, wide};
use cairn_kernel::{Stopped, Work};

/// Machine words in a row of bits: one cache line a task.
const WORDS: usize = 8;
/// Most heads in a block.
pub(crate) const HEADS: usize = 64 * WORDS;

type Bits = [u64; WORDS];

/// The arcs of the skeleton, as ranks.
///
/// Goes through the heads of open arcs in the order of ranks, at most `block` (≤ 512) at a time. For each block
/// walks the ranks from the last head back to the first tail and gathers, in one row of bits a rank, which
/// heads it reaches; children in ascending order, so that an arc to a head that is reached already is a shortcut
/// (the method of Goralčíková and Koubek, 1979, cut into blocks of columns). Only ranks between an open tail and
/// a head of the block have rows. A shortcut is dropped at once, so later blocks walk little more than the
/// skeleton. Time O(heads/512 · arcs of the skeleton + arcs) cache lines at worst, less when arcs are short;
/// space 64 bytes a task.
pub(super) fn sweep(
    ranked: &Ranked,
    fates: &Fates,
    block: usize,
    work: &mut Work<'_>,
) -> Result<Vec<(u32, u32)>, Stopped> {
    let mut sweep = Sweep::new(ranked, fates);
    let ranks = 0..narrow(ranked.len());
    let has_open = |&rank: &u32| open_tails(ranked, fates, rank).next().is_some();
    let heads: Vec<u32> = ranks.filter(has_open).collect();
    for heads in heads.chunks(block.min(HEADS)) {
        // Whatever it cost: a block walks up to all arcs, some milliseconds for a million of them.
        work.go_on()?;
        sweep.settle(heads, ranked, fates);
    }
    Ok(sweep.arcs())
}

/// The tails of the open arcs into `head`, ascending.
fn open_tails(ranked: &Ranked, fates: &Fates, head: u32) -> impl Iterator<Item = u32> {
    let slots = ranked.parent_slots(head);
    slots
        .filter(|&slot| fates.of[slot] == Fate::Open)
        .map(|slot| ranked.tail(slot))
}

/// For each rank its children in ascending order, less the shortcuts found so far. Those that a block has passed
/// are final and lie at the front of the row; the others wait at its end; dropped ones leave a gap between.
struct Sweep {
    start: Vec<u32>,
    settled_end: Vec<u32>,
    waiting_start: Vec<u32>,
    end: Vec<u32>,
    child: Vec<u32>,
    /// By rank: whether it matters to the current block.
    place: Vec<Place>,
    /// By rank, of heads of the current block.
    column: Vec<u16>,
    /// By rank less the first of the window: the heads of the block that it reaches or is. Valid where the place
    /// is `Between`.
    reach: Vec<Bits>,
}

/// Where a rank stands towards the current block of heads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Reaches no head.
    Aside,
    /// Reaches a head or is one.
    Above,
    /// Moreover, it is reached from the tail of an open arc or is one.
    Between,
}

/// The column of a task that is no head of the block. (A block has far fewer heads.)
const NO_COLUMN: u16 = u16::MAX;

impl Sweep {
    fn new(ranked: &Ranked, fates: &Fates) -> Sweep {
        let ranks = 0..narrow(ranked.len());
        let starts = ranks.clone().map(|rank| ranked.child_slots(rank).start);
        let start: Vec<u32> = starts.map(narrow).collect();
        let mut end = start.clone();
        let mut child = vec![0; ranked.arc_count()];
        for rank in ranks {
            for slot in ranked.parent_slots(rank) {
                if fates.of[slot] != Fate::Shortcut {
                    let end = &mut end[wide(ranked.tail(slot))];
                    child[wide(*end)] = rank;
                    *end += 1;
                }
            }
        }
        Sweep {
            settled_end: start.clone(),
            waiting_start: start.clone(),
            start,
            end,
            child,
            place: vec![Place::Aside; ranked.len()],
            column: vec![NO_COLUMN; ranked.len()],
            reach: Vec::new(),
        }
    }

    /// Decides all open arcs into `heads`, which ascend.
    fn settle(&mut self, heads: &[u32], ranked: &Ranked, fates: &Fates) {
        let tails = || {
            let tails = |&head| open_tails(ranked, fates, head);
            heads.iter().flat_map(tails)
        };
        let (Some(first), Some(&last)) = (tails().min(), heads.last()) else {
            return;
        };
        for (column, &head) in heads.iter().enumerate() {
            self.column[wide(head)] = column as u16;
            self.place[wide(head)] = Place::Above;
        }
        // Two walks before the bits are touched: rows cost a cache line each, these marks a byte.
        for rank in (first..=last).rev() {
            if self.leads_above(rank, last) {
                self.place[wide(rank)] = Place::Above;
            }
        }
        for tail in tails() {
            self.place[wide(tail)] = Place::Between;
        }
        for rank in first..=last {
            if self.place[wide(rank)] == Place::Between {
                self.spread_between(rank, last);
            }
        }
        let window = wide(last - first) + 1;
        if self.reach.len() < window {
            // Never cleared: a row is written before it is read, as the walk back fills children before parents.
            self.reach.resize(window, [0; WORDS]);
        }
        for rank in (first..=last).rev() {
            if self.place[wide(rank)] == Place::Between {
                self.settle_rank(rank, first, last);
            }
        }
        self.place[wide(first)..=wide(last)].fill(Place::Aside);
        for &head in heads {
            self.column[wide(head)] = NO_COLUMN;
        }
    }

    /// The slots of the children up to `last`.
    fn slots(&self, rank: u32, last: u32) -> impl Iterator<Item = usize> + '_ {
        let at = wide(rank);
        let settled = wide(self.start[at])..wide(self.settled_end[at]);
        let waiting = wide(self.waiting_start[at])..wide(self.end[at]);
        settled.chain(waiting.take_while(move |&slot| self.child[slot] <= last))
    }

    fn leads_above(&self, rank: u32, last: u32) -> bool {
        let mut slots = self.slots(rank, last);
        slots.any(|slot| self.place[wide(self.child[slot])] != Place::Aside)
    }

    fn spread_between(&mut self, rank: u32, last: u32) {
        let at = wide(rank);
        // As in `slots`, written out: that borrows all of `self`, and marks are set here.
        let settled = wide(self.start[at])..wide(self.settled_end[at]);
        let waiting = wide(self.waiting_start[at])..wide(self.end[at]);
        for slot in settled.chain(waiting) {
            let child = self.child[slot];
            if child > last {
                break;
            }
            let place = &mut self.place[wide(child)];
            if *place == Place::Above {
                *place = Place::Between;
            }
        }
    }

    /// Gathers the row of `rank` and moves its waiting children up to `last` to the settled ones, or drops them.
    fn settle_rank(&mut self, rank: u32, first: u32, last: u32) {
        let at = wide(rank);
        let mut bits = [0; WORDS];
        for slot in self.start[at]..self.settled_end[at] {
            self.add_reach(&mut bits, self.child[wide(slot)], first);
        }
        while self.waiting_start[at] < self.end[at] {
            let child = self.child[wide(self.waiting_start[at])];
            if child > last {
                break;
            }
            self.waiting_start[at] += 1;
            let column = self.column[wide(child)];
            // Children ascend in rank, so a path to this one, if there is one, begins with a child that was added
            // before.
            if column != NO_COLUMN && has(&bits, column) {
                continue;
            }
            // `settled_end` never passes `waiting_start`: what is overwritten has been read.
            self.child[wide(self.settled_end[at])] = child;
            self.settled_end[at] += 1;
            self.add_reach(&mut bits, child, first);
        }
        let own = self.column[at];
        // After its children: a head reaches itself for those above it, not on its own arcs.
        if own != NO_COLUMN {
            bits[usize::from(own) / 64] |= 1 << (own % 64);
        }
        self.reach[wide(rank - first)] = bits;
    }

    #[inline]
    fn add_reach(&self, bits: &mut Bits, child: u32, first: u32) {
        if self.place[wide(child)] == Place::Between {
            let reach = &self.reach[wide(child - first)];
            for (word, more) in bits.iter_mut().zip(reach) {
                *word |= more;
            }
        }
    }

    fn arcs(&self) -> Vec<(u32, u32)> {
        let ranks = 0..narrow(self.end.len());
        let row = |rank| self.slots(rank, u32::MAX).map(move |slot| (rank, slot));
        let arcs = ranks.flat_map(row);
        arcs.map(|(rank, slot)| (rank, self.child[slot])).collect()
    }
}

#[inline]
fn has(bits: &Bits, column: u16) -> bool {
    bits[usize::from(column) / 64] >> (column % 64) & 1 == 1
}
