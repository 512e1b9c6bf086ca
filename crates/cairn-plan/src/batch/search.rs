//! The best r tasks of a small piece of any shape, by branch and bound with a memory. Knows no other piece.
//!
//! Choosing many subsets with a small union is NP-hard (\[MR05\], Theorem 3.1), so this is exponential at the worst.
//! Tasks are decided one after the other along a line on which few prizes are *open* at a time, needing both tasks
//! before and behind. Of what was decided, only the open prizes that are still *alive* (no task left out) matter,
//! and the number chosen: of choices that agree in both, the one that gained most is kept. So tasks that are alike
//! need no special care. A choice that cannot become better than the best known, by any number of tasks asked for,
//! is dropped.

use super::line_up::line_up;
use super::piece::{Piece, SCALE, part};
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// Tasks and shared prizes fit in 128 bits.
pub(super) const MOST: usize = 128;

/// States of one layer, so that memory stays within some 300 MB.
const MOST_STATES: usize = 2_000_000;

/// What is known of a piece by number of tasks: the best gain of a known set, that set, and a bound on any.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) gain: Vec<u32>,
    pub(super) upper: Vec<u32>,
    /// Sets found here, by number of tasks; `None` where the caller's is as good.
    pub(super) found: Vec<Option<u128>>,
}

/// One way to decide the tasks so far.
#[derive(Clone, Copy, Debug)]
struct State {
    /// Open prizes that can still be gained.
    alive: u128,
    set: u128,
    count: u32,
    gain: u32,
    /// How far it might get beyond the best known.
    hope: u32,
}

/// Closes the gap for the numbers of tasks in `wanted`, or narrows it; `left` is what the work may cost. Returns
/// whether all of them are exact now.
pub(super) fn improve(
    piece: &Piece,
    known: &mut Known,
    wanted: &RangeInclusive<usize>,
    left: &mut u64,
) -> bool {
    if piece.len() > MOST || piece.shared() > MOST {
        return false;
    }
    let line = Line::new(piece, left);
    let is_closed = |known: &Known| wanted.clone().all(|r| known.gain[r] == known.upper[r]);
    // Narrow beams first: they find good sets, without which nothing can be dropped.
    for width in [30, 1000, MOST_STATES] {
        if is_closed(known) {
            break;
        }
        // A beam may take a part of the work only, or nothing would be left for the proof.
        let mut part = if width < MOST_STATES {
            *left / 4
        } else {
            *left
        };
        let before = part;
        let is_complete = line.sweep(piece, known, wanted, width, &mut part);
        *left -= before - part;
        if is_complete {
            for r in wanted.clone() {
                known.upper[r] = known.gain[r];
            }
        }
    }
    is_closed(known)
}

/// The order in which tasks are decided, and what that opens and closes.
struct Line {
    order: Vec<u32>,
    /// By place: prizes that need the task there, and those of them that need none before, or none behind.
    needing: Vec<u128>,
    opening: Vec<u128>,
    closing: Vec<u128>,
    /// By prize: the places of the tasks it needs, sorted.
    places: Vec<Vec<u32>>,
}

impl Line {
    fn new(piece: &Piece, left: &mut u64) -> Line {
        let order = line_up(piece, left);
        let mut place = vec![0u32; piece.len()];
        for (i, &v) in order.iter().enumerate() {
            place[v as usize] = i as u32;
        }
        let mut line = Line {
            needing: vec![0; piece.len()],
            opening: vec![0; piece.len()],
            closing: vec![0; piece.len()],
            places: Vec::with_capacity(piece.shared()),
            order,
        };
        for p in 0..piece.shared() as u32 {
            let mut places: Vec<u32> = piece.needs(p).iter().map(|&v| place[v as usize]).collect();
            places.sort_unstable();
            let bit = 1u128 << p;
            places.iter().for_each(|&i| line.needing[i as usize] |= bit);
            line.opening[places[0] as usize] |= bit;
            line.closing[places[places.len() - 1] as usize] |= bit;
            line.places.push(places);
        }
        line
    }

    /// Decides all tasks, keeping at most `width` states a layer. Returns whether nothing was left out that could
    /// be better than the sets known in the end.
    fn sweep(
        &self,
        piece: &Piece,
        known: &mut Known,
        wanted: &RangeInclusive<usize>,
        width: usize,
        left: &mut u64,
    ) -> bool {
        let most = *wanted.end() as u32;
        let mut is_complete = true;
        let mut layer = vec![State {
            alive: 0,
            set: 0,
            count: 0,
            gain: 0,
            hope: u32::MAX,
        }];
        let mut next: Vec<State> = Vec::new();
        let mut seen: HashMap<(u128, u32), u32> = HashMap::new();
        for place in 0..self.order.len() {
            let mut future = Future::new(self, piece, place + 1);
            next.clear();
            seen.clear();
            for state in &layer {
                for chosen in [true, false] {
                    if chosen && state.count == most {
                        continue;
                    }
                    if *left < future.cost() {
                        return false;
                    }
                    *left -= future.cost();
                    let mut moved = self.decide(piece, place, state, chosen);
                    note(known, &moved);
                    let slot = seen.entry((moved.alive, moved.count));
                    let slot = *slot.or_insert(u32::MAX);
                    if slot != u32::MAX && next[slot as usize].gain >= moved.gain {
                        continue;
                    }
                    moved.hope = future.hope(&moved, known, wanted);
                    if moved.hope == 0 {
                        continue;
                    }
                    if slot != u32::MAX {
                        next[slot as usize] = moved;
                    } else {
                        seen.insert((moved.alive, moved.count), next.len() as u32);
                        next.push(moved);
                    }
                }
            }
            if next.len() > width {
                is_complete = false;
                next.select_nth_unstable_by(width, |a, b| {
                    (b.hope, b.gain, b.set).cmp(&(a.hope, a.gain, a.set))
                });
                next.truncate(width);
            }
            std::mem::swap(&mut layer, &mut next);
        }
        is_complete
    }

    fn decide(&self, piece: &Piece, place: usize, state: &State, chosen: bool) -> State {
        if !chosen {
            return State {
                alive: state.alive & !self.needing[place],
                ..*state
            };
        }
        let v = self.order[place];
        let closed = state.alive & self.closing[place];
        let gained: u32 = bits(closed).map(|p| piece.weight[p]).sum();
        State {
            alive: (state.alive | self.opening[place]) & !self.closing[place],
            set: state.set | 1 << v,
            count: state.count + 1,
            gain: state.gain + gained + piece.own[v as usize],
            hope: 0,
        }
    }
}

/// Remembers a set that gains more than what is known for its number of tasks, or for a larger one.
fn note(known: &mut Known, state: &State) {
    for r in state.count as usize..known.gain.len() {
        if known.gain[r] >= state.gain {
            break;
        }
        known.gain[r] = state.gain;
        known.found[r] = Some(state.set);
    }
}

/// What the tasks from one place on can gain.
struct Future {
    /// Of each task behind: its share of its own prizes and of those that no task before is needed for.
    base: Vec<u64>,
    /// By prize that is open here: the share each task behind gets of it, and who they are.
    open: Vec<(u64, Vec<u32>)>,
    scores: Vec<u64>,
}

impl Future {
    fn new(line: &Line, piece: &Piece, from: usize) -> Future {
        let own = |&v: &u32| u64::from(piece.own[v as usize]) * SCALE;
        let mut base: Vec<u64> = line.order[from..].iter().map(own).collect();
        let mut open = Vec::with_capacity(piece.shared());
        for (p, places) in line.places.iter().enumerate() {
            let behind: Vec<u32> = (places.iter().filter(|&&i| i as usize >= from))
                .map(|&i| i - from as u32)
                .collect();
            let share = part(piece.weight[p], behind.len().max(1));
            if behind.len() == places.len() {
                behind.iter().for_each(|&i| base[i as usize] += share);
            }
            open.push((share, behind));
        }
        Future {
            scores: Vec::with_capacity(base.len()),
            base,
            open,
        }
    }

    /// Steps for one look at it.
    fn cost(&self) -> u64 {
        16 + 2 * self.base.len() as u64
    }

    /// By how much the state might come to gain more than what is known, for some number of tasks that is wanted: each
    /// prize that can still be gained is shared equally among the tasks it still needs.
    fn hope(&mut self, state: &State, known: &Known, wanted: &RangeInclusive<usize>) -> u32 {
        self.scores.clone_from(&self.base);
        for p in bits(state.alive) {
            let (share, behind) = &self.open[p];
            behind
                .iter()
                .for_each(|&i| self.scores[i as usize] += share);
        }
        self.scores.sort_unstable_by(|a, b| b.cmp(a));
        let count = state.count as usize;
        let mut sum = 0;
        let mut best = 0;
        for (more, score) in [0].iter().chain(&self.scores).enumerate() {
            sum += score;
            let r = count + more;
            if r > *wanted.end() {
                break;
            }
            if r >= *wanted.start() && known.gain[r] < known.upper[r] {
                let reach = state.gain + (sum / SCALE) as u32;
                best = best.max(reach.saturating_sub(known.gain[r]));
            }
        }
        best
    }
}

fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}
