//! Makes a good order better: exact search inside short windows of it. Knows nothing of bounds.

use super::compact;
use crate::budgets::decide::improve::{LONGEST_ITEM, STAGES};
use crate::counts::{opened, parents_left};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{NONE, Work, long, narrow, wide};
use cairn_theory::profile::area;
use std::ops::Range;

/// Reorders the nonsinks in `order` (a topological order of all of them) for a larger area. Windows lie inside the
/// `segments` (disjoint and rising), and nothing is lost at the end of one.
///
/// First nothing is executed before it is needed. Then the order is cut into items, each ending where something
/// becomes eligible; a window of items is rearranged optimally by a program over subsets; larger windows and
/// coarser items are tried when the others help no more. Anytime: stops when the budget does, with the best so far.
/// O(n·2^13) a round at the most.
pub(super) fn improve(
    dag: &Dag,
    order: &mut Vec<TaskId>,
    segments: &[Range<usize>],
    work: &mut Work<'_>,
) {
    let mut best = area_of(dag, order);
    // Compacting, gains twice and the sweep's own books: each one pass over the arcs.
    let round = 4 * long(dag.len() + dag.arc_count());
    for (window, coarseness) in STAGES {
        while work.spend(round) {
            let mut candidate = compacted(dag, order);
            sweep(dag, &mut candidate, segments, window, coarseness, work);
            let reached = area_of(dag, &candidate);
            if reached <= best {
                break;
            }
            (best, *order) = (reached, candidate);
        }
    }
}

/// Executes nothing before it is needed: at least as good at every step.
fn compacted(dag: &Dag, order: &[TaskId]) -> Vec<TaskId> {
    let mut waiting = parents_left(dag);
    let mut gained = Vec::new();
    for &task in order {
        gained.extend(opened(dag, task, &mut waiting));
    }
    let parents = |child| dag.parents(child).iter().copied();
    compact::compacted(order, &gained, parents, TaskId::index)
}

/// One pass over all windows of all segments.
fn sweep(
    dag: &Dag,
    order: &mut [TaskId],
    segments: &[Range<usize>],
    window: usize,
    coarseness: u32,
    work: &mut Work<'_>,
) {
    let gains = gains(dag, order);
    let mut state = Pass::new(dag);
    let mut executed = 0;
    for segment in segments {
        state.execute(&order[executed..segment.start]);
        executed = segment.start;
        let own = &gains[segment.start..=segment.end];
        let mut items = cut_into_items(dag, &order[segment.clone()], own, coarseness);
        state.place(&items, 0);
        let mut begin = 0;
        while begin + 1 < items.len() {
            let end = (begin + window).min(items.len());
            if !work.spend(long(end - begin) << (end - begin)) {
                break;
            }
            state.rearrange(&mut items, begin, end);
            // Windows overlap by half, so that an item can travel the whole way in a few passes.
            let next = begin + window / 2;
            for item in &items[begin..next.min(items.len())] {
                state.execute(item);
                executed += item.len();
            }
            begin = next;
        }
        let rearranged = items.into_iter().flatten();
        for (slot, task) in order[segment.clone()].iter_mut().zip(rearranged) {
            *slot = task;
        }
    }
}

/// What each prefix of the nonsinks gains.
pub(crate) fn gains(dag: &Dag, order: &[TaskId]) -> Vec<u32> {
    let mut waiting = parents_left(dag);
    let mut gained = 0;
    let mut out = Vec::with_capacity(order.len() + 1);
    out.push(0);
    for &task in order {
        debug_assert_eq!(waiting[task.index()], 0, "a topological order");
        gained += narrow(opened(dag, task, &mut waiting).count());
        out.push(gained);
    }
    out
}

fn area_of(dag: &Dag, order: &[TaskId]) -> u64 {
    area(&gains(dag, order))
}

/// Coarseness 0: an item ends where something is gained. 1 joins an item to the one it depends on when it gains
/// more a task; 2 joins whenever it does.
fn cut_into_items(dag: &Dag, order: &[TaskId], gains: &[u32], coarseness: u32) -> Vec<Vec<TaskId>> {
    let mut items: Vec<(Vec<TaskId>, u64)> = Vec::new();
    let mut current = Vec::new();
    for (i, &task) in order.iter().enumerate() {
        current.push(task);
        let gained = gains[i + 1] - gains[i];
        if gained == 0 && i + 1 < order.len() {
            continue;
        }
        items.push((std::mem::take(&mut current), u64::from(gained)));
        while coarseness > 0 && items.len() >= 2 {
            let [(a, gain_a), (b, gain_b)] = &items[items.len() - 2..] else {
                unreachable!("two items");
            };
            // Asked only where it matters, as it looks at all parents of an item.
            let depends = || (b.iter()).any(|&t| dag.parents(t).iter().any(|p| a.contains(p)));
            let denser = gain_b * long(a.len()) >= gain_a * long(b.len());
            if !denser || a.len() + b.len() >= LONGEST_ITEM || (coarseness == 1 && !depends()) {
                break;
            }
            let (b, gain_b) = items.pop().expect("two items");
            let last = items.len() - 1;
            items[last].0.extend(b);
            items[last].1 += gain_b;
        }
    }
    items.into_iter().map(|(item, _)| item).collect()
}

/// What a pass knows of the tasks before, in and after the window.
struct Pass<'a> {
    dag: &'a Dag,
    /// By task: its item in the segment; [`NONE`] for tasks of other segments.
    place: Vec<u32>,
    /// By task: parents that are not before the window. Kept here, for what a set of items gains is counted against it.
    missing: Vec<u32>,
    /// By task: which items of the window hold parents of it, and how many parents.
    needed: Vec<(u32, u32)>,
}

impl<'a> Pass<'a> {
    fn new(dag: &'a Dag) -> Pass<'a> {
        Pass {
            dag,
            place: vec![NONE; dag.len()],
            missing: parents_left(dag),
            needed: vec![(0, 0); dag.len()],
        }
    }

    fn execute(&mut self, tasks: &[TaskId]) {
        for &task in tasks {
            self.place[task.index()] = NONE;
            for child in self.dag.children(task) {
                self.missing[child.index()] -= 1;
            }
        }
    }

    /// Notes that `items` come one after the other from place `first` on.
    fn place(&mut self, items: &[Vec<TaskId>], first: usize) {
        for (i, item) in items.iter().enumerate() {
            (item.iter()).for_each(|t| self.place[t.index()] = narrow(first + i));
        }
    }

    /// Puts `items[begin..end]` into the order of largest area.
    fn rearrange(&mut self, items: &mut [Vec<TaskId>], begin: usize, end: usize) {
        let window = &mut items[begin..end];
        let needs = self.needs(window, begin);
        let gain = self.gain_of_sets(window);
        let lengths: Vec<u64> = window.iter().map(|item| long(item.len())).collect();
        if let Some(order) = best_order(&lengths, &needs, &gain) {
            let mut old: Vec<Vec<TaskId>> = window.iter_mut().map(std::mem::take).collect();
            for (slot, from) in window.iter_mut().zip(order) {
                *slot = std::mem::take(&mut old[from]);
            }
            self.place(window, begin);
        }
    }

    /// By item of the window: the items it must follow.
    fn needs(&self, window: &[Vec<TaskId>], begin: usize) -> Vec<usize> {
        let needs_of = |(i, item): (usize, &Vec<TaskId>)| {
            let parents = item.iter().flat_map(|&t| self.dag.parents(t));
            // Before the window wraps to a huge number; after it is too large, and so is `NONE`: all fail the test below.
            let items = parents.map(|p| wide(self.place[p.index()]).wrapping_sub(begin));
            items
                .filter(|&j| j < window.len() && j != i)
                .fold(0, |set, j| set | 1 << j)
        };
        window.iter().enumerate().map(needs_of).collect()
    }

    /// By set of the window's items: what they gain together.
    fn gain_of_sets(&mut self, window: &[Vec<TaskId>]) -> Vec<u32> {
        let mut touched: Vec<TaskId> = Vec::new();
        for (i, item) in window.iter().enumerate() {
            for &child in item.iter().flat_map(|&t| self.dag.children(t)) {
                let needed = &mut self.needed[child.index()];
                if needed.1 == 0 {
                    touched.push(child);
                }
                *needed = (needed.0 | 1 << i, needed.1 + 1);
            }
        }
        let mut gain = vec![0u32; 1 << window.len()];
        for child in touched {
            let (set, parents) = std::mem::take(&mut self.needed[child.index()]);
            gain[wide(set)] += u32::from(parents == self.missing[child.index()]);
        }
        // From sets without an item to those with it.
        // The sum over all subsets, item by item: O(items·2^items) instead of 3^items.
        for bit in 0..window.len() {
            for both in gain.chunks_exact_mut(2 << bit) {
                let (without, with) = both.split_at_mut(1 << bit);
                with.iter_mut().zip(without).for_each(|(a, b)| *a += *b);
            }
        }
        gain
    }
}

/// The order of items of the largest area, by a program over their subsets; `None` if it is the order they are in.
fn best_order(lengths: &[u64], needs: &[usize], gain: &[u32]) -> Option<Vec<usize>> {
    let step = |set: usize, i: usize| {
        // An item gains with its last task: until then the sum stays at what the set before it gained.
        u64::from(gain[set]) * (lengths[i] - 1) + u64::from(gain[set | 1 << i])
    };
    let count = lengths.len();
    let full = (1usize << count) - 1;
    // One more than the area, 0 where items would come too early; and in the lowest bits the last item, so that a set is one number
    // to clear and to compare. A window has at most 13 items, and areas stay far below what is left.
    const ITEM: u32 = 4;
    let mut best = vec![0u64; 1 << count];
    best[0] = 1 << ITEM;
    // This loop is the hottest of a plan. Side by side, what it asks of an item is looked up once.
    let items: Vec<(usize, u64)> = (needs.iter().copied())
        .zip(lengths.iter().map(|length| length - 1))
        .collect();
    for set in 0..full {
        let area = best[set] >> ITEM;
        if area == 0 {
            continue;
        }
        let before = u64::from(gain[set]);
        let mut left = full & !set;
        while left != 0 {
            let i = wide(left.trailing_zeros());
            left &= left - 1;
            let (needs, others) = items[i];
            if needs & !set == 0 {
                let both = set | 1 << i;
                // As `step` has it, for this set.
                let reached = area + before * others + u64::from(gain[both]);
                let grown = &mut best[both];
                if reached > *grown >> ITEM {
                    *grown = reached << ITEM | long(i);
                }
            }
        }
    }
    let as_it_was: u64 = (0..count).map(|i| step((1 << i) - 1, i)).sum();
    // Only a larger area moves anything, so that sweeps come to an end.
    if best[full] >> ITEM <= as_it_was + 1 {
        return None;
    }
    let mut order = Vec::with_capacity(count);
    let mut set = full;
    while set != 0 {
        let last = (best[set] & ((1 << ITEM) - 1)) as usize;
        order.push(last);
        set ^= 1 << last;
    }
    order.reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Never a smaller area, always all nonsinks in topological order, and nothing is lost at the cuts.
        #[test]
        fn orders_only_get_better(dag in any_dag(14), cut in 0usize..14, steps in 0u64..200_000) {
            let nonsinks: Vec<TaskId> = (dag.topological_order().iter().copied())
                .filter(|&t| !dag.is_sink(t))
                .collect();
            let cut = cut.min(nonsinks.len());
            let mut order = nonsinks.clone();
            let never = || false;
            improve(&dag, &mut order, &[0..cut, cut..nonsinks.len()], &mut Work::new(steps, &never));
            let mut all: Vec<TaskId> = order.clone();
            all.extend(dag.sinks());
            prop_assert!(cairn_theory::profile::profile(&dag, &all).is_ok());
            prop_assert!(area_of(&dag, &order) >= area_of(&dag, &nonsinks));
            let (before, after) = (gains(&dag, &nonsinks), gains(&dag, &order));
            prop_assert!(after[cut] >= before[cut]);
        }

        /// Executing nothing before it is needed is at least as good at every step.
        #[test]
        fn compacting_is_as_good_at_every_step(dag in any_dag(14)) {
            let nonsinks: Vec<TaskId> = (dag.topological_order().iter().copied())
                .filter(|&t| !dag.is_sink(t))
                .collect();
            let (before, after) = (gains(&dag, &nonsinks), gains(&dag, &compacted(&dag, &nonsinks)));
            prop_assert!(before.iter().zip(&after).all(|(b, a)| b <= a));
        }
    }
}
