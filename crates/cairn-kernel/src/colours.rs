//! Colour refinement: tells tasks and prizes apart by what hangs on them, whatever their numbers. Knows no sizes.

use crate::{GOLDEN, Id, Joins};

/// By task: a colour that is the same for tasks which differ in nothing within `rounds` steps. Sorted by colour, the
/// tasks of equal puzzles mostly get equal numbers; only those that stay alike keep the order they came in.
///
/// Only `tasks` and `prizes` are coloured, whole parts of the puzzle each. O(rounds·arcs). Colour refinement, or the one-dimensional
/// Weisfeiler–Leman test (1968), with hashes for colours.
pub fn colours<T: Id, P: Id>(
    joins: &Joins<'_, T, P>,
    tasks: &[T],
    prizes: &[P],
    rounds: usize,
) -> Vec<u64> {
    let mut of_task = vec![1u64; joins.prizes.len()];
    let mut of_prize = vec![2u64; joins.needs.len()];
    // Both sides are coloured from the round before: so the colour of a task does not depend on the side begun with.
    let (mut next_of_task, mut next_of_prize) = (Vec::new(), Vec::new());
    // Summed by walking the gates once a round: so no rows from a prize to those behind it are needed.
    let gated = if joins.gate.is_empty() {
        0
    } else {
        of_prize.len()
    };
    let mut behind = vec![0u64; gated];
    for _ in 0..rounds {
        behind.fill(0);
        for (gate, colour) in joins.gate.iter().zip(&of_task) {
            if let Some(gate) = gate {
                let sum = &mut behind[gate.index()];
                // A colour is a hash: it wraps, and unequal sets seldom have equal sums. Colours only propose; callers
                // compare.
                *sum = sum.wrapping_add(*colour);
            }
        }
        next_of_task.extend(tasks.iter().map(|&t| {
            let row = joins.prizes.row(t.index()).iter();
            // Mixed before they are added: else two neighbours of colours 1 and 4 would look like those of 2 and 3.
            // The 7 here and the 9 below only tell the sides apart; any two numbers will do.
            let sum = sum_of(row.map(|p| scramble(of_prize[p.index()], 7)));
            let gate = joins.gate.get(t.index()).copied().flatten();
            let gate = gate.map_or(0, |p| of_prize[p.index()]);
            scramble(scramble(of_task[t.index()], sum), gate)
        }));
        next_of_prize.extend(prizes.iter().map(|&p| {
            let row = joins.needs.row(p.index()).iter();
            let sum = sum_of(row.map(|t| scramble(of_task[t.index()], 9)));
            let behind = behind.get(p.index()).copied().unwrap_or(0);
            scramble(scramble(of_prize[p.index()], sum), behind)
        }));
        for (t, colour) in tasks.iter().zip(next_of_task.drain(..)) {
            of_task[t.index()] = colour;
        }
        for (p, colour) in prizes.iter().zip(next_of_prize.drain(..)) {
            of_prize[p.index()] = colour;
        }
    }
    of_task
}

/// A sum does not depend on the order in which neighbours come.
fn sum_of(colours: impl Iterator<Item = u64>) -> u64 {
    colours.fold(0, u64::wrapping_add)
}

/// Scrambles two numbers into one: products and shifts by which every bit of either reaches every bit of the result.
// Not `mix`, which is of one number: and with other colours equal tasks would come in another order.
fn scramble(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(GOLDEN) ^ b.wrapping_add(0x7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Colours move with their tasks when tasks and prizes get other numbers.
        #[test]
        fn numbers_do_not_matter(
            arcs in prop::collection::btree_set((0u32..7, 0u32..5), 0..14),
            gates in prop::collection::vec(prop::option::of(0u32..5), 7),
            (tasks, prizes) in (Just([0u32, 1, 2, 3, 4, 5, 6]).prop_shuffle(), Just([0u32, 1, 2, 3, 4]).prop_shuffle()),
        ) {
            let coloured = |task: &dyn Fn(u32) -> u32, prize: &dyn Fn(u32) -> u32| {
                let needs = Rows::by_row(5, arcs.iter().map(|&(t, p)| (prize(p), task(t))));
                let by_task = Rows::by_row(7, arcs.iter().map(|&(t, p)| (task(t), prize(p))));
                let mut gate = vec![None; 7];
                for (t, &g) in gates.iter().enumerate() {
                    gate[task(t as u32) as usize] = g.map(prize);
                }
                let joins = Joins { needs: &needs, prizes: &by_task, gate: &gate };
                colours(&joins, &[0u32, 1, 2, 3, 4, 5, 6], &[0u32, 1, 2, 3, 4], 6)
            };
            let plain = coloured(&|t| t, &|p| p);
            let moved = coloured(&|t| tasks[t as usize], &|p| prizes[p as usize]);
            for t in 0..7 {
                prop_assert_eq!(plain[t], moved[tasks[t] as usize]);
            }
            // Who has another number of prizes, or a gate where the other has none, is told apart.
            let degree = |t: usize| arcs.iter().filter(|a| a.0 as usize == t).count();
            for (t, u) in (0..7).flat_map(|t| (0..7).map(move |u| (t, u))) {
                if degree(t) != degree(u) || gates[t].is_some() != gates[u].is_some() {
                    prop_assert_ne!(plain[t], plain[u]);
                }
            }
        }
    }
}
