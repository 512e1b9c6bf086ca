//! The best r tasks of a small piece of any shape, by branch and bound with a memory. Knows no other piece.
//!
//! Choosing many subsets with a small union is NP-hard (\[MR05\], Theorem 3.1), so this is exponential at the worst.
//! Tasks are decided one after the other along a line on which few prizes are *open* at a time, needing both tasks
//! before and behind. Of what was decided, only the open prizes that are still *alive* (no task left out) matter,
//! and the number chosen: of choices that agree in both, the one that gained most is kept. So tasks that are alike
//! need no special care. A choice that cannot become better than the best known, by any number of tasks asked for,
//! is dropped.

use super::line_up::line_up;
use crate::budgets::batch::{BEAM_SHARE, BEAMS, MOST_STATES, ROUNDS};
use cairn_kernel::{Puzzle, SCALE, Work, long, narrow, part, places, wide};
use hashbrown::HashMap;
use std::ops::{Range, RangeInclusive};

/// Tasks and shared prizes fit in 128 bits.
pub(super) const MOST: usize = 128;

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

/// Closes the gap for the numbers of tasks in `wanted`, or narrows it, within the work. Returns
/// whether all of them are exact now.
pub(super) fn improve(
    piece: &Puzzle,
    known: &mut Known,
    wanted: &RangeInclusive<usize>,
    work: &mut Work<'_>,
) -> bool {
    if piece.len() > MOST || piece.shared() > MOST {
        return false;
    }
    let line = Line::new(piece, work);
    let is_closed = |known: &Known| wanted.clone().all(|r| known.gain[r] == known.upper[r]);
    // Narrow beams first: they find good sets, without which nothing can be dropped.
    for width in BEAMS {
        if is_closed(known) {
            break;
        }
        let share = work.left() / if width < MOST_STATES { BEAM_SHARE } else { 1 };
        let is_complete = work.lend(share, |part| line.sweep(piece, known, wanted, width, part));
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
    fn new(piece: &Puzzle, work: &mut Work<'_>) -> Line {
        let order = line_up(piece, work);
        let place = places(&order);
        let mut line = Line {
            needing: vec![0; piece.len()],
            opening: vec![0; piece.len()],
            closing: vec![0; piece.len()],
            places: Vec::with_capacity(piece.shared()),
            order,
        };
        for p in 0..narrow(piece.shared()) {
            let mut places: Vec<u32> = piece.needs(p).iter().map(|&v| place[wide(v)]).collect();
            places.sort_unstable();
            let bit = 1u128 << p;
            places.iter().for_each(|&i| line.needing[wide(i)] |= bit);
            line.opening[wide(places[0])] |= bit;
            line.closing[wide(places[places.len() - 1])] |= bit;
            line.places.push(places);
        }
        line
    }

    /// Decides all tasks, keeping at most `width` states a layer. Returns whether nothing was left out that could
    /// be better than the sets known in the end.
    fn sweep(
        &self,
        piece: &Puzzle,
        known: &mut Known,
        wanted: &RangeInclusive<usize>,
        width: usize,
        work: &mut Work<'_>,
    ) -> bool {
        let most = narrow(*wanted.end());
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
                    // Before the state is made: a sweep cut short proves nothing, but the sets that it noted are real.
                    if !work.afford(future.cost()) {
                        return false;
                    }
                    let mut moved = self.decide(piece, place, state, chosen);
                    // Before it is dropped for any reason: what it gains is gained by a real set.
                    note(known, &moved);
                    let slot = seen.get(&(moved.alive, moved.count)).copied();
                    if slot.is_some_and(|slot| next[wide(slot)].gain >= moved.gain) {
                        continue;
                    }
                    moved.hope = future.hope(&moved, known, wanted);
                    if moved.hope == 0 {
                        continue;
                    }
                    match slot {
                        Some(slot) => next[wide(slot)] = moved,
                        None => {
                            seen.insert((moved.alive, moved.count), narrow(next.len()));
                            next.push(moved);
                        }
                    }
                }
            }
            if next.len() > width {
                is_complete = false;
                // The set as last key makes the order total, so that what is kept does not depend on the selection's
                // way.
                next.select_nth_unstable_by(width, |a, b| {
                    (b.hope, b.gain, b.set).cmp(&(a.hope, a.gain, a.set))
                });
                next.truncate(width);
            }
            std::mem::swap(&mut layer, &mut next);
        }
        is_complete
    }

    fn decide(&self, piece: &Puzzle, place: usize, state: &State, chosen: bool) -> State {
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
            // A prize is alive only while all its tasks so far are chosen: it begins with the first of them or not at
            // all.
            alive: (state.alive | self.opening[place]) & !self.closing[place],
            set: state.set | 1 << v,
            count: state.count + 1,
            gain: state.gain + gained + piece.own[wide(v)],
            hope: 0,
        }
    }
}

/// Remembers a set that gains more than what is known for its number of tasks, or for a larger one.
fn note(known: &mut Known, state: &State) {
    for r in wide(state.count)..known.gain.len() {
        if known.gain[r] >= state.gain {
            break;
        }
        known.gain[r] = state.gain;
        known.found[r] = Some(state.set);
    }
}

/// What the tasks from one place on can gain: each prize that can still be gained is shared among the tasks behind that
/// it needs, so that x of them gain no more than the x largest sums of shares. That holds for any shares that are not
/// negative and add up to the prize.
struct Future {
    /// Of each task behind: its part of its own prizes and, shared equally, of those that need no task before.
    base: Vec<u64>,
    /// By prize: the equal share, and where in `behind` the tasks behind are that it needs.
    shares: Vec<(u64, Range<usize>)>,
    behind: Vec<u32>,
    /// Prizes that need no task before.
    untouched: u128,
    /// Of the state looked at. By task behind: its part of all prizes; and these numbers sorted.
    parts: Vec<u64>,
    sorted: Vec<u64>,
    /// As `behind`: the share that each has of the prize.
    held: Vec<u64>,
}

impl Future {
    fn new(line: &Line, piece: &Puzzle, from: usize) -> Future {
        let own = |&v: &u32| u64::from(piece.own[wide(v)]) * SCALE;
        let mut base: Vec<u64> = line.order[from..].iter().map(own).collect();
        let mut shares = Vec::with_capacity(piece.shared());
        let mut behind: Vec<u32> = Vec::with_capacity(piece.arcs());
        let mut untouched = 0;
        for (p, places) in line.places.iter().enumerate() {
            let start = behind.len();
            let far = places.iter().filter(|&&i| wide(i) >= from);
            behind.extend(far.map(|&i| i - narrow(from)));
            let these = &behind[start..];
            // Without tasks behind it is closed, and never looked at.
            let share = part(piece.weight[p], these.len().max(1));
            if these.len() == places.len() {
                these.iter().for_each(|&i| base[wide(i)] += share);
                untouched |= 1 << p;
            }
            shares.push((share, start..behind.len()));
        }
        Future {
            parts: Vec::with_capacity(base.len()),
            sorted: Vec::with_capacity(base.len()),
            held: vec![0; behind.len()],
            base,
            shares,
            behind,
            untouched,
        }
    }

    /// Steps for one look at it.
    // Base and parts are copied, sorted and summed up, which is some passes over them; what is behind is gone through twice. Estimated.
    fn cost(&self) -> u64 {
        32 + 6 * long(self.base.len()) + 2 * long(self.behind.len())
    }

    /// By how much the state might come to gain more than what is known, for some number of tasks that is wanted.
    fn hope(&mut self, state: &State, known: &Known, wanted: &RangeInclusive<usize>) -> u32 {
        self.parts.clone_from(&self.base);
        for p in bits(state.alive) {
            let (share, these) = self.shares[p].clone();
            (self.behind[these].iter()).for_each(|&i| self.parts[wide(i)] += share);
        }
        let (mut hope, mut tasks) = self.excess(state, known, wanted);
        let live = state.alive | self.untouched;
        for round in 0..ROUNDS {
            if hope == 0 || tasks == 0 {
                break;
            }
            if round == 0 {
                for p in bits(live) {
                    let (share, these) = self.shares[p].clone();
                    self.held[these].fill(share);
                }
            }
            // At the part of the last task counted: what lies above can be given to those below without raising the
            // sum there.
            self.level(live, self.sorted[tasks - 1]);
            let (again, at) = self.excess(state, known, wanted);
            // Each way of sharing is a bound for all numbers of tasks: the best of them counts.
            hope = hope.min(again);
            tasks = at;
        }
        hope
    }

    /// The largest excess over what is known, and by how many tasks behind it would be.
    fn excess(
        &mut self,
        state: &State,
        known: &Known,
        wanted: &RangeInclusive<usize>,
    ) -> (u32, usize) {
        self.sorted.clone_from(&self.parts);
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        let mut best = (0, 0);
        for (more, part) in [0].iter().chain(&self.sorted).enumerate() {
            sum += part;
            let r = wide(state.count) + more;
            if r > *wanted.end() {
                break;
            }
            if r >= *wanted.start() && known.gain[r] < known.upper[r] {
                let reach = state.gain + (sum / SCALE) as u32;
                best = best.max((reach.saturating_sub(known.gain[r]), more));
            }
        }
        best
    }

    /// Shares otherwise: tasks whose part is above the mark give of their share of a prize to those below it that the
    /// same prize needs, as far as these stay below.
    fn level(&mut self, live: u128, mark: u64) {
        for p in bits(live) {
            let these = self.shares[p].1.clone();
            if these.len() < 2 {
                continue;
            }
            let (parts, behind) = (&mut self.parts, &self.behind[these.clone()]);
            let held = &mut self.held[these];
            let room = |parts: &[u64], i: u32| mark.saturating_sub(parts[wide(i)]);
            let wanted: u64 = behind.iter().map(|&i| room(parts, i)).sum();
            let mut given = 0;
            for (&i, share) in behind.iter().zip(held.iter_mut()) {
                let above = parts[wide(i)].saturating_sub(mark);
                let gift = above.min(*share).min(wanted - given);
                parts[wide(i)] -= gift;
                *share -= gift;
                given += gift;
            }
            // Whoever gave is at the mark or above, so that nobody takes back.
            for (&i, share) in behind.iter().zip(held.iter_mut()) {
                let taken = room(parts, i).min(given);
                parts[wide(i)] += taken;
                *share += taken;
                given -= taken;
            }
        }
    }
}

fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| wide(mask.trailing_zeros()))?;
        mask &= mask - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_kernel::Rows;
    use proptest::prelude::*;

    /// The best gain for every number of tasks, over all sets.
    fn brute(piece: &Puzzle) -> Vec<u32> {
        let mut best = vec![0; piece.len() + 1];
        for set in 0u32..1 << piece.len() {
            let has = |v: &u32| set >> v & 1 == 1;
            let own = (0..piece.len() as u32).filter(has);
            let shared = (0..narrow(piece.shared())).filter(|&p| piece.needs(p).iter().all(has));
            let gain = own.map(|v| piece.own[v as usize]).sum::<u32>()
                + shared.map(|p| piece.weight[p as usize]).sum::<u32>();
            let slot = &mut best[set.count_ones() as usize];
            *slot = gain.max(*slot);
        }
        best
    }

    fn puzzle(own: Vec<u32>, needs: &[Vec<u32>]) -> Puzzle {
        let mut shared = Rows::default();
        for row in needs {
            shared.push(row.iter().copied());
        }
        Puzzle::new(own, &shared)
    }

    fn any_piece() -> impl Strategy<Value = Puzzle> {
        (2usize..11).prop_flat_map(|tasks| {
            let own = prop::collection::vec(prop_oneof![3 => Just(0u32), 1 => 1u32..3], tasks);
            let needs = prop::collection::btree_set(0..tasks as u32, 2..=tasks.min(4));
            let shared = prop::collection::vec(needs, 1..16);
            (own, shared).prop_map(|(own, shared)| {
                let shared: Vec<Vec<u32>> = (shared.into_iter())
                    .map(|needs| needs.into_iter().collect())
                    .collect();
                puzzle(own, &shared)
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6000))]

        /// From nothing known: exact where it says so, never below the truth, and the sets gain what is said.
        #[test]
        fn agrees_with_all_sets(piece in any_piece(), wanted in (0usize..11, 0usize..11), steps in prop_oneof![Just(u64::MAX), 0u64..6000]) {
            let best = brute(&piece);
            let tasks = piece.len();
            let (a, b) = (wanted.0.min(tasks), wanted.1.min(tasks));
            let wanted = a.min(b)..=a.max(b);
            let mut known = Known {
                gain: vec![0; tasks + 1],
                upper: piece.equal_shares(),
                found: vec![None; tasks + 1],
            };
            prop_assert!(best.iter().zip(&known.upper).all(|(b, u)| b <= u), "equal shares are a bound");
            let mut work = Work::steps(steps);
            let is_exact = improve(&piece, &mut known, &wanted, &mut work);
            prop_assert!(work.left() <= steps && (is_exact || steps < u64::MAX));
            for r in 0..=tasks {
                prop_assert!(known.gain[r] <= best[r] && best[r] <= known.upper[r]);
                if let Some(set) = known.found[r] {
                    let members: Vec<u32> = (0..tasks as u32).filter(|v| set >> v & 1 == 1).collect();
                    prop_assert!(members.len() <= r);
                    prop_assert_eq!(*piece.gains(&members).unwrap().last().unwrap(), known.gain[r]);
                }
                if is_exact && wanted.contains(&r) {
                    prop_assert_eq!(known.gain[r], best[r]);
                }
            }
        }

        /// The closure's bound holds, and its order meets the hull at its corners.
        #[test]
        fn the_one_step_closure_is_a_bound(piece in any_piece(), patience in prop_oneof![Just(u64::MAX), 0u64..20]) {
            let closure = super::super::one_step::closure(&piece, &mut Work::steps(patience)).unwrap();
            let best = brute(&piece);
            prop_assert!(best.iter().zip(&closure.upper).all(|(b, u)| b <= u));
            let mut sorted = closure.order.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..piece.len() as u32));
            let along = piece.gains(&closure.order).unwrap();
            prop_assert!(along.iter().zip(&best).all(|(a, b)| a <= b));
            if patience == u64::MAX {
                // The hull is the concave envelope of the best gains: at its corners the order is best.
                for t in 0..best.len() {
                    let rise = |a: usize, b: usize| i64::from(best[b]) - i64::from(best[a]);
                    let is_corner = (0..t).all(|a| (t + 1..best.len()).all(|b| {
                        rise(a, t) * (b - t) as i64 > rise(t, b) * (t - a) as i64
                    }));
                    if is_corner {
                        prop_assert_eq!(along[t], best[t], "at {}", t);
                        prop_assert_eq!(closure.upper[t], best[t], "at {}", t);
                    }
                }
            }
        }
    }

    /// Twice as many random subsets of three as tasks.
    fn subsets(tasks: u32, seed: u64) -> Puzzle {
        let mut random = cairn_oracle::Random::new(seed);
        let shared: Vec<Vec<u32>> = (0..2 * tasks)
            .map(|_| {
                let mut needs: Vec<u32> = (0..tasks).collect();
                random.shuffle(&mut needs);
                needs.truncate(3);
                needs.sort_unstable();
                needs
            })
            .collect();
        puzzle(vec![0; tasks as usize], &shared)
    }

    #[test]
    fn hard_instances_agree_with_all_sets() {
        for seed in 0..400 {
            let piece = subsets(14, seed);
            let best = brute(&piece);
            for r in 5..10 {
                let mut known = Known {
                    gain: vec![0; 15],
                    upper: piece.equal_shares(),
                    found: vec![None; 15],
                };
                assert!(improve(
                    &piece,
                    &mut known,
                    &(r..=r),
                    &mut Work::unlimited()
                ));
                assert_eq!(known.gain[r], best[r], "seed {seed}, {r} tasks");
            }
        }
    }

    /// Too large to try all: what is found for all numbers at once is what is found for one at a time.
    #[test]
    fn a_hard_instance_is_closed_and_its_bound_is_met() {
        let piece = subsets(24, 24);
        let closed = |wanted: RangeInclusive<usize>| {
            let mut known = Known {
                gain: vec![0; 25],
                upper: piece.equal_shares(),
                found: vec![None; 25],
            };
            assert!(improve(
                &piece,
                &mut known,
                &wanted,
                &mut Work::steps(40_000_000)
            ));
            known.gain
        };
        // All numbers at once, or one at a time.
        let all = closed(0..=24);
        for r in [8, 12, 16] {
            assert_eq!(closed(r..=r)[r], all[r]);
        }
    }
}
