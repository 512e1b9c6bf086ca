//! The best r tasks of a tree-shaped puzzle: the program of Malewicz and Rosenberg, "On batch-scheduling dags for
//! Internet-based computing", §5, without its inner loop over sink choices. Knows nothing of orders.
//!
//! Below each task, two tables by number of *other* tasks chosen at the most: the best gain when it is left out, and
//! when it is chosen. The prize above the task is not counted in them.

use crate::{Puzzle, convolve_into};
use std::ops::Range;

/// The tree hung from task 0, each task before all below it, and those below one task side by side.
struct Rooted {
    order: Vec<u32>,
    /// By task: the prize above it.
    above: Vec<u32>,
}

fn root(puzzle: &Puzzle) -> Rooted {
    let mut order = Vec::with_capacity(puzzle.len());
    let mut above = vec![u32::MAX; puzzle.len()];
    let mut todo = vec![0u32];
    while let Some(u) = todo.pop() {
        order.push(u);
        for &p in puzzle.prizes(u).iter().rev() {
            if p == above[u as usize] {
                continue;
            }
            for &v in puzzle.needs(p).iter().rev().filter(|&&v| v != u) {
                above[v as usize] = p;
                todo.push(v);
            }
        }
    }
    Rooted { order, above }
}

/// The prizes of `u` but for the one above it.
fn below<'a>(puzzle: &'a Puzzle, rooted: &Rooted, u: u32) -> impl Iterator<Item = u32> + use<'a> {
    let above = rooted.above[u as usize];
    let prizes = puzzle.prizes(u).iter().copied();
    prizes.filter(move |&p| p != above)
}

/// Tables of all tasks, one after the other.
#[derive(Default)]
struct Tables {
    out: Vec<u32>,
    chosen: Vec<u32>,
    /// By task: where its tables are.
    place: Vec<Range<usize>>,
}

impl Tables {
    fn of(&self, task: u32) -> (&[u32], &[u32]) {
        let place = self.place[task as usize].clone();
        (&self.out[place.clone()], &self.chosen[place])
    }
}

/// Arrays that are written over and over.
#[derive(Default)]
struct Scratch {
    any: Vec<u32>,
    all: Vec<u32>,
    either: Vec<u32>,
    spare: Vec<u32>,
}

/// The best gain for 0..=min(tasks, most) chosen tasks. O(tasks·most), by cutting tables at subtree sizes and at
/// `most`.
pub fn profile(puzzle: &Puzzle, most: usize) -> Vec<u32> {
    let tables = fill(puzzle, &root(puzzle), most, false);
    let (out, chosen) = tables.of(0);
    let mut best = Vec::new();
    either(out, chosen, 1, 0, most, &mut best);
    best
}

/// Work for [`profile`], as a number of steps; several entries of a table are filled at once.
pub fn cost(puzzle: &Puzzle, most: usize) -> u64 {
    puzzle.len() as u64 * (8 + puzzle.len().min(most) as u64 / 8)
}

/// Fills the tables from below; without `keep` only those of the root remain.
fn fill(puzzle: &Puzzle, rooted: &Rooted, most: usize, keep: bool) -> Tables {
    let mut tables = Tables {
        place: vec![0..0; puzzle.len()],
        ..Tables::default()
    };
    let mut scratch = Scratch::default();
    let (mut out, mut chosen) = (Vec::new(), Vec::new());
    for &u in rooted.order.iter().rev() {
        out.clear();
        out.push(0);
        chosen.clear();
        chosen.push(puzzle.own[u as usize]);
        let mut lowest = tables.out.len();
        for p in below(puzzle, rooted, u) {
            for &v in puzzle.needs(p).iter().filter(|&&v| v != u) {
                lowest = lowest.min(tables.place[v as usize].start);
            }
            under_prize(puzzle, &tables, u, p, most, &mut scratch);
            convolve(&mut out, &scratch.any, most, &mut scratch.spare);
            convolve(&mut chosen, &scratch.either, most, &mut scratch.spare);
        }
        if !keep {
            // What lies below one task was written last.
            tables.out.truncate(lowest);
            tables.chosen.truncate(lowest);
        }
        let start = tables.out.len();
        tables.out.extend_from_slice(&out);
        tables.chosen.extend_from_slice(&chosen);
        tables.place[u as usize] = start..tables.out.len();
    }
    tables
}

/// What lies under prize `p` of task `u`: `any` when `u` is left out, `either` when it is chosen, with the prize where
/// all under it are chosen (`all`, by number of tasks beyond those).
fn under_prize(
    puzzle: &Puzzle,
    tables: &Tables,
    u: u32,
    p: u32,
    most: usize,
    scratch: &mut Scratch,
) {
    scratch.any.clear();
    scratch.any.push(0);
    scratch.all.clear();
    scratch.all.push(0);
    for &v in puzzle.needs(p).iter().filter(|&&v| v != u) {
        let (out, chosen) = tables.of(v);
        either(out, chosen, 1, 0, most, &mut scratch.either);
        convolve(&mut scratch.any, &scratch.either, most, &mut scratch.spare);
        convolve(&mut scratch.all, chosen, most, &mut scratch.spare);
    }
    let (offset, weight) = (puzzle.needs(p).len() - 1, puzzle.weight[p as usize]);
    let Scratch {
        any,
        all,
        either: best,
        ..
    } = scratch;
    either(any, all, offset, weight, most, best);
}

/// The better of `a[t]` and `b[t − offset] + bonus` for t up to `most`. Tables say "at the most": they never fall, and
/// past their end they stay level.
fn either(a: &[u32], b: &[u32], offset: usize, bonus: u32, most: usize, out: &mut Vec<u32>) {
    out.clear();
    out.extend_from_slice(&a[..a.len().min(most + 1)]);
    let level = out[out.len() - 1];
    out.resize((b.len() + offset).max(a.len()).min(most + 1), level);
    if let Some(tail) = out.get_mut(offset..) {
        for (slot, &x) in tail.iter_mut().zip(b) {
            *slot = (*slot).max(x + bonus);
        }
    }
}

/// Convolves `a` with `b` in place, cut after `most`.
fn convolve(a: &mut Vec<u32>, b: &[u32], most: usize, spare: &mut Vec<u32>) {
    convolve_into(a, b, most, spare);
    std::mem::swap(a, spare);
}

/// A set of exactly `count` tasks that gains what [`profile`] says for `count`. O(tasks·count).
pub fn choose(puzzle: &Puzzle, count: usize) -> Vec<u32> {
    let rooted = root(puzzle);
    let tables = fill(puzzle, &rooted, count, true);
    let mut scratch = Scratch::default();
    let mut picked = Vec::with_capacity(count);
    // (task, whether it is chosen, how many others at the most)
    let mut todo = vec![decide(tables.of(0), 0, count)];
    while let Some((u, is_chosen, left)) = todo.pop() {
        if is_chosen {
            picked.push(u);
        }
        let prizes: Vec<u32> = below(puzzle, &rooted, u).collect();
        let mut arrays = Vec::with_capacity(prizes.len());
        for &p in &prizes {
            under_prize(puzzle, &tables, u, p, left, &mut scratch);
            let (any, best) = (&scratch.any, &scratch.either);
            arrays.push(if is_chosen { best.clone() } else { any.clone() });
        }
        for (&p, share) in prizes.iter().zip(split(&arrays, left)) {
            let under: Vec<u32> = (puzzle.needs(p).iter().copied())
                .filter(|&v| v != u)
                .collect();
            under_prize(puzzle, &tables, u, p, share, &mut scratch);
            let gained = is_chosen && at(&scratch.either, share) > at(&scratch.any, share);
            // With the prize, those under it are chosen: what is shared is the rest.
            let share = if gained { share - under.len() } else { share };
            let table = |&v: &u32| {
                let (out, chosen) = tables.of(v);
                let mut best = chosen.to_vec();
                if !gained {
                    either(out, chosen, 1, 0, share, &mut best);
                }
                best
            };
            let arrays: Vec<Vec<u32>> = under.iter().map(table).collect();
            for (&v, share) in under.iter().zip(split(&arrays, share)) {
                todo.push(if gained {
                    (v, true, share)
                } else {
                    decide(tables.of(v), v, share)
                });
            }
        }
    }
    fill_up(picked, count, puzzle.len())
}

/// Whether a task is chosen when it and those below it may be `count`, and how many others may be.
fn decide((out, chosen): (&[u32], &[u32]), task: u32, count: usize) -> (u32, bool, usize) {
    match count.checked_sub(1) {
        Some(others) if at(chosen, others) > at(out, count) => (task, true, others),
        _ => (task, false, count),
    }
}

fn at(table: &[u32], count: usize) -> u32 {
    table[count.min(table.len() - 1)]
}

/// Shares at most `count` among the arrays so that the sum is largest; no share is larger than it is worth.
fn split(arrays: &[Vec<u32>], count: usize) -> Vec<usize> {
    let mut spare = Vec::new();
    let mut sums = vec![vec![0]];
    for array in arrays {
        let mut sum = sums[sums.len() - 1].clone();
        convolve(&mut sum, array, count, &mut spare);
        sums.push(sum);
    }
    let mut left = count;
    let mut shares = vec![0; arrays.len()];
    for i in (0..arrays.len()).rev() {
        let goal = at(&sums[i + 1], left);
        let fits = |&take: &usize| arrays[i][take] + at(&sums[i], left - take) == goal;
        shares[i] = (0..arrays[i].len().min(left + 1))
            .find(fits)
            .expect("the sum has its parts");
        left -= shares[i];
    }
    shares
}

/// The set with the first other tasks, so that it has `count`.
pub fn fill_up(mut set: Vec<u32>, count: usize, tasks: usize) -> Vec<u32> {
    let mut has = vec![false; tasks];
    set.iter().for_each(|&v| has[v as usize] = true);
    let others = (0..tasks as u32).filter(|&v| !has[v as usize]);
    set.extend(others.take(count - set.len()));
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use proptest::prelude::*;

    /// Each task but the first hangs from an earlier one, or joins the prize by which another one does.
    fn any_tree() -> impl Strategy<Value = Puzzle> {
        prop::collection::vec((any::<u32>(), any::<bool>(), 0u32..4), 1..11).prop_map(|tasks| {
            let own = tasks.iter().map(|t| t.2).collect();
            let mut needs: Vec<Vec<u32>> = Vec::new();
            for (&(above, is_joining, _), v) in tasks.iter().zip(0u32..).skip(1) {
                match needs.len() as u32 {
                    prizes @ 1.. if is_joining => needs[(above % prizes) as usize].push(v),
                    _ => needs.push(vec![above % v, v]),
                }
            }
            let mut shared = Rows::default();
            for mut row in needs {
                row.sort_unstable();
                shared.push(row);
            }
            Puzzle::new(own, &shared)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Profile and sets against all sets of tasks.
        #[test]
        fn agrees_with_all_sets(puzzle in any_tree(), most in 0usize..12) {
            prop_assert!(puzzle.is_tree());
            let mut best = vec![0; puzzle.len() + 1];
            for set in 0u32..1 << puzzle.len() {
                let members: Vec<u32> = (0..puzzle.len() as u32).filter(|v| set >> v & 1 == 1).collect();
                let gain = *puzzle.gains(&members).last().unwrap();
                best[members.len()] = gain.max(best[members.len()]);
            }
            let most = most.min(puzzle.len());
            prop_assert_eq!(profile(&puzzle, most), &best[..=most]);
            let mut set = choose(&puzzle, most);
            prop_assert_eq!(*puzzle.gains(&set).last().unwrap(), best[most]);
            set.sort_unstable();
            set.dedup();
            prop_assert_eq!(set.len(), most);
        }
    }
}
