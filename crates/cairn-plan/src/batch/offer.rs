//! What one piece offers: the best way to find out that the work left allows. Knows nothing of other pieces.

use super::greedy;
use super::one_step::{self, closure};
use super::piece::{Grade, Offer, Sets};
use super::search::{self, MOST};
use crate::budgets::batch::{PIECE_SHARE, STRIDES};
use cairn_kernel::{Puzzle, Work, narrow, tree_program};
use std::ops::RangeInclusive;

/// What an offer was made for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Up to how many tasks.
    pub(super) reach: usize,
    /// For which numbers of tasks it matters most that the gain is exact.
    wanted: RangeInclusive<usize>,
    /// How much work was allowed.
    steps: u64,
    is_alone: bool,
    /// Whether more work would not make the offer better, as far as it reaches.
    is_final: bool,
}

impl Asked {
    /// For a batch of `most`, with room to grow, so that a slightly larger request does not start over. A piece that is
    /// alone has to give exactly so many, so that other numbers do not matter.
    pub(super) fn new(tasks: usize, most: usize, is_alone: bool, steps: u64) -> Asked {
        // At least 32: small requests grow step by step, and a longer profile costs little there.
        let reach = most.next_power_of_two().max(32).min(tasks);
        let wanted = if is_alone {
            most.min(tasks)..=most.min(tasks)
        } else {
            1..=reach
        };
        Asked {
            reach,
            wanted,
            steps,
            is_alone,
            is_final: false,
        }
    }

    /// Notes that the offer had to be made in haste: whoever asks next, and has steps to spend, has it made again.
    pub(super) fn unsettle(&mut self) {
        (self.steps, self.is_final) = (0, false);
    }

    /// Notes that more work would not make the offer better.
    fn settle(&mut self) {
        self.wanted = 0..=self.reach;
        self.is_final = true;
    }

    /// Whether more work would not make the offer better, as far as it reaches.
    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Whether an offer made for this need not be made again for `other`.
    pub(super) fn is_enough(&self, other: &Asked) -> bool {
        let covers = self.wanted.start() <= other.wanted.start()
            && self.wanted.end() >= other.wanted.end().min(&self.reach);
        let far = other.reach <= self.reach || other.wanted.end() <= &self.reach;
        // Twice as much work seldom finds more, so that an offer is not made again for every small change of the
        // effort.
        let worked = self.is_final || other.steps <= self.steps.saturating_mul(2);
        far && (other.steps == 0 || (covers && worked))
    }
}

/// The best offer that the work allows.
pub(super) fn make(piece: &Puzzle, asked: &mut Asked, work: &mut Work<'_>) -> Offer {
    let offer = attempt(piece, asked, work);
    if offer.grade == Grade::Exact {
        asked.settle();
    } else if work.is_stopped() {
        asked.unsettle();
    }
    offer
}

fn attempt(piece: &Puzzle, asked: &mut Asked, work: &mut Work<'_>) -> Offer {
    let reach = asked.reach;
    let exact = |gain: Vec<u32>, sets: Sets| Offer {
        upper: gain.clone(),
        gain,
        grade: Grade::Exact,
        sets,
    };
    // Nothing to decide, so that no work need be asked for.
    if piece.is_complete() {
        let mut gain = vec![0; reach + 1];
        if reach == piece.len() {
            gain[reach] = piece.total();
        }
        return exact(gain, Sets::Tree);
    }
    // Paid as a whole, so that the program itself need only be told to stop.
    if piece.is_tree()
        && work.afford(tree_program::cost(piece, reach))
        && let Some(gain) = tree_program::profile(piece, reach, &mut work.unmetered())
    {
        return exact(gain, Sets::Tree);
    }
    let mut offer = by_yield(piece, reach, work);
    let fits = piece.len() <= MOST && piece.shared() <= MOST;
    // Neither the search nor the tree program will ever do better, whatever the work.
    if !fits && !piece.is_tree() && offer.has_closure() {
        asked.settle();
    }
    if fits && !work.is_over() && offer.grade != Grade::Exact {
        let share = work.left() / if asked.is_alone { 1 } else { PIECE_SHARE };
        work.lend(share, |part| {
            by_search(piece, &mut offer, &asked.wanted, part)
        });
    }
    if offer.gain == offer.upper {
        offer.grade = Grade::Exact;
    }
    offer
}

/// By current yield and, if there is work left for it, along the hull, whichever is better; with the hull as bound.
fn by_yield(piece: &Puzzle, reach: usize, work: &mut Work<'_>) -> Offer {
    let cut = |mut profile: Vec<u32>| {
        profile.truncate(reach + 1);
        profile
    };
    let order = greedy::order(piece, |_| 0);
    let gains = |order: &[u32]| piece.gains(order).expect("each task once, no gates");
    let mut gain = cut(gains(&order));
    let mut upper = cut(piece.equal_shares());
    let mut orders = [order, Vec::new()];
    let mut is_second = Vec::new();
    // Where equal shares prove the greedy order already, no cut is needed.
    if gain != upper
        && work.afford(one_step::cost(piece))
        && let Some(closure) = closure(piece, &mut work.part(STRIDES))
    {
        let along = cut(gains(&closure.order));
        is_second = along.iter().zip(&gain).map(|(a, g)| a > g).collect();
        gain = along.iter().zip(&gain).map(|(a, g)| *a.max(g)).collect();
        // The hull is reached at its corners, equal shares may be lower in between: both are bounds.
        upper = (closure.upper.iter().zip(&upper))
            .map(|(c, u)| *c.min(u))
            .collect();
        orders[1] = closure.order;
    }
    let grade = match () {
        () if gain == upper => Grade::Exact,
        () if piece.is_expansive() => Grade::Half,
        () => Grade::Bounded,
    };
    Offer {
        gain,
        upper,
        grade,
        sets: Sets::Orders(orders, is_second),
    }
}

/// Narrows the gap by branch and bound where it matters.
fn by_search(
    piece: &Puzzle,
    offer: &mut Offer,
    wanted: &RangeInclusive<usize>,
    work: &mut Work<'_>,
) {
    let mut known = search::Known {
        gain: offer.gain.clone(),
        upper: offer.upper.clone(),
        found: vec![None; offer.gain.len()],
    };
    search::improve(piece, &mut known, wanted, work);
    // More tasks never gain less, so a bound for more of them holds for fewer.
    for r in (1..known.upper.len()).rev() {
        known.upper[r - 1] = known.upper[r - 1].min(known.upper[r]);
    }
    let list = |(r, set): (usize, &Option<u128>)| match set {
        None => Vec::new(),
        Some(set) => {
            let members = (0..narrow(piece.len())).filter(|v| set >> v & 1 == 1);
            tree_program::fill_up(members.collect(), r, piece.len())
        }
    };
    let lists = known.found.iter().enumerate().map(list).collect();
    let orders = std::mem::replace(&mut offer.sets, Sets::Tree);
    offer.sets = Sets::Lists(lists, Box::new(orders));
    (offer.gain, offer.upper) = (known.gain, known.upper);
}

impl Offer {
    fn has_closure(&self) -> bool {
        matches!(&self.sets, Sets::Orders([_, second], _) if !second.is_empty())
    }
}

impl Sets {
    /// The set behind the offer for `count` tasks, by local numbers; `None` when it is time to stop.
    pub(super) fn of(&self, piece: &Puzzle, count: usize, work: &Work<'_>) -> Option<Vec<u32>> {
        Some(match self {
            Sets::Orders(orders, is_second) => {
                let second = is_second.get(count).copied().unwrap_or(false);
                orders[usize::from(second)][..count].to_vec()
            }
            Sets::Lists(lists, otherwise) => match &lists[count][..] {
                [] => otherwise.of(piece, count, work)?,
                list => list.to_vec(),
            },
            // Complete pieces are marked as trees, too: any so many tasks gain the same there.
            Sets::Tree if count == piece.len() || piece.shared() == 0 || !piece.is_tree() => {
                (0..narrow(count)).collect()
            }
            // Paid with the offer, which took as long.
            Sets::Tree => tree_program::choose(piece, count, &mut work.unmetered())?,
        })
    }
}
