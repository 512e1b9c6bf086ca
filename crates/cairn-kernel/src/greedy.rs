//! Orders of a puzzle by what gains most now. Knows not what tasks stand for, and no bound.

use crate::{Growing, Id, Puzzle};

/// What something counts that lacks one task. One that lacks two counts half, and so on, in integers, so that equal tasks are
/// equal everywhere.
// Thousandths: a tie-break, so what rounding loses does not matter.
const WHOLE: u32 = 1000;

/// Something that lacks more tasks than this is not told when it lacks one less.
// So it tells those it needs at most four times, however many they are: telling each of them each time would cost the square.
pub const NEAR: u32 = 4;

/// What something that lacks so many tasks counts for each of them.
#[inline]
pub fn nearness(lacking: u32) -> u32 {
    WHOLE / lacking
}

/// As [`nearness`], of something worth so much, rounded once.
#[inline]
pub fn nearness_of(worth: u32, lacking: u32) -> u64 {
    u64::from(worth) * u64::from(WHOLE) / u64::from(lacking)
}

/// All tasks, each behind its gate: always the open one of the highest `stage`, of those the one that gains most now, of those
/// the one that brings most the nearest, of those the first. `worth` tells what a shared prize counts, now and as nearness, for
/// each task it needs while it lacks so many of them; it may only grow as they become fewer. What a task gains alone counts now.
///
/// O(arcs·log tasks), since a prize that lacks more than [`NEAR`] tasks tells nobody that it lacks one less.
///
/// ```
/// use cairn_kernel::{Puzzle, Rows, greedy, nearness_of};
/// let mut shared = Rows::default();
/// shared.push([0, 2]);
/// let puzzle = Puzzle::new(vec![0, 1, 0], &shared);
/// let worth = |_, lacking| (u32::from(lacking == 1), nearness_of(1, lacking));
/// assert_eq!(greedy(&puzzle, |_| 0, worth), [1, 0, 2]);
/// ```
pub fn greedy<T: Id, P: Id, S: Ord>(
    puzzle: &Puzzle<T, P>,
    stage: impl Fn(T) -> S,
    worth: impl Fn(P, u32) -> (u32, u64),
) -> Vec<T> {
    let mut lacking = puzzle.needs_left();
    let behind = puzzle.behind();
    let mut now = puzzle.own.clone();
    let mut near: Vec<u64> = now.iter().map(|&own| nearness_of(own, 1)).collect();
    for (p, &left) in lacking.iter().enumerate() {
        let p = P::new(p);
        let (gain, part) = worth(p, left);
        for v in puzzle.needs(p) {
            now[v.index()] += gain;
            near[v.index()] += part;
        }
    }
    let key = |now: &[u32], near: &[u64], v: T| (stage(v), now[v.index()], near[v.index()]);
    let first = (0..puzzle.len()).map(T::new);
    let first = first.filter(|&v| puzzle.gate(v).is_none());
    let first = first.map(|v| (key(&now, &near, v), v));
    let mut open = Growing::of(puzzle.len(), first);
    let mut order = Vec::with_capacity(puzzle.len());
    while let Some(v) = open.pop() {
        order.push(v);
        for &p in puzzle.prizes(v) {
            let left = &mut lacking[p.index()];
            *left -= 1;
            let left = *left;
            if left == 0 {
                if !behind.is_empty() {
                    for &u in behind.row(p.index()) {
                        open.push(key(&now, &near, u), u);
                    }
                }
                continue;
            }
            // Far from complete, a prize tells little.
            if left > NEAR {
                continue;
            }
            let ((gain, part), before) = (worth(p, left), worth(p, left + 1));
            let (gain, part) = (gain - before.0, part - before.1);
            if (gain, part) == (0, 0) {
                continue;
            }
            for &u in puzzle.needs(p) {
                if open.is_popped(u) {
                    continue;
                }
                now[u.index()] += gain;
                near[u.index()] += part;
                // Whoever waits behind a gate has its key when that opens.
                if puzzle.gate(u).is_none_or(|gate| lacking[gate.index()] == 0) {
                    open.push(key(&now, &near, u), u);
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Against looking at every task and every prize again at each step.
        #[test]
        fn equals_looking_through_all(
            needs in prop::collection::vec(prop::collection::btree_set(0u32..9, 1..9), 1..7),
            weights in prop::collection::vec(1u32..4, 7),
            gates in prop::collection::vec(prop::option::of(0u32..7), 9),
            stages in prop::collection::vec(0u32..2, 9),
        ) {
            let mut rows = Rows::default();
            needs.iter().for_each(|row| { rows.push(row.iter().copied()); });
            let weight: Vec<u32> = weights[..needs.len()].to_vec();
            let gate = |&p: &u32| (p as usize) < needs.len();
            let gates: Vec<Option<u32>> = gates.iter().map(|p| p.filter(gate)).collect();
            let puzzle = Puzzle::gated(rows, weight.clone(), gates.clone());
            let worth = |p: u32, lacking: u32| {
                let weight = weight[p as usize];
                (if lacking == 1 { weight } else { 0 }, nearness_of(weight, lacking))
            };
            let order = greedy(&puzzle, |v: u32| stages[v as usize], worth);
            let lacks = |done: &[u32], p: usize| needs[p].iter().filter(|v| !done.contains(v)).count() as u32;
            let mut done: Vec<u32> = Vec::new();
            loop {
                let is_open = |v: &u32| {
                    !done.contains(v) && gates[*v as usize].is_none_or(|p| lacks(&done, p as usize) == 0)
                };
                let key = |v: u32| {
                    let mut sum = (stages[v as usize], 0, 0);
                    for p in (0..needs.len()).filter(|&p| needs[p].contains(&v)) {
                        let (first, left) = (needs[p].len() as u32, lacks(&done, p));
                        let p = p as u32;
                        let (now, near) = worth(p, left);
                        // While it lacks more, a prize counts as it did at first.
                        let (since, began) = (worth(p, first), worth(p, first.min(NEAR + 1)));
                        let is_told = left <= NEAR;
                        sum.1 += if is_told { now } else { since.0 };
                        sum.2 += since.1 + if is_told { near - began.1 } else { 0 };
                    }
                    sum
                };
                let open = (0..9).filter(is_open);
                match open.max_by_key(|&v| (key(v), std::cmp::Reverse(v))) {
                    Some(v) => done.push(v),
                    None => break,
                }
            }
            prop_assert_eq!(order, done);
        }
    }
}
