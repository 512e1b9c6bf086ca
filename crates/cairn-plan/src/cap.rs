//! Orders under a cap on open results, and the trade-off between peak memory and area. Knows no files.
//!
//! A result is *open* from the moment its task is executed until all children of the task are. Paper \[RY05\] counts
//! open results. Bytes are counted while tasks run, in [`crate::storage`].

use crate::budgets::cap::{JUST_BELOW, THRESHOLDS};
use crate::counts::child_left;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{long, narrow, places};
use cairn_theory::game::{Game, Standing};
use cairn_theory::memory::OpenResults;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An order with its peak of open results and its area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped {
    /// The order.
    pub order: Vec<TaskId>,
    /// The most open results at any step.
    pub peak: u64,
    /// Sum of eligible tasks over all steps.
    pub area: u64,
}

/// What every order needs: when a task is executed, the results of all its parents are open. O(tasks + arcs).
///
/// ```
/// use cairn_dag::Dag;
/// let join = Dag::from_arcs(4, vec![(0, 3), (1, 3), (2, 3)]).unwrap();
/// assert_eq!(cairn_plan::cap::least_possible(&join), 3);
/// ```
pub fn least_possible(dag: &Dag) -> u64 {
    let most = dag.tasks().map(|t| dag.parents(t).len()).max();
    long(most.unwrap_or(0))
}

/// The order of largest area, among those tried, whose peak stays within `cap`; `None` when none of them does,
/// which does not prove that there is no such order unless `cap` is below [`least_possible`].
///
/// Follows `order` (a topological order) as long as the open results stay under a threshold, and does what closes
/// most results when they do not; several thresholds up to the cap are tried. O((tasks + arcs)·log tasks) each.
/// To tell whether any order has a peak within a cap is NP-complete (register allocation: Sethi 1975).
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::cap::under_cap;
/// let dag = Dag::from_arcs(4, vec![(0, 2), (1, 3)]).unwrap();
/// let order: Vec<_> = dag.tasks().collect();
/// assert_eq!(under_cap(&dag, &order, 1).unwrap().peak, 1);
/// assert_eq!(under_cap(&dag, &order, 0), None);
/// ```
pub fn under_cap(dag: &Dag, order: &[TaskId], cap: u64) -> Option<Capped> {
    // Nothing is given up where the order itself fits.
    let free = follow(dag, order, None);
    if free.peak <= cap {
        return Some(free);
    }
    let tried = thresholds(cap).map(|threshold| follow(dag, order, Some(threshold)));
    let fit = tried.filter(|c| c.peak <= cap);
    // Of equal areas the one that leaves more room.
    fit.max_by_key(|c| (c.area, Reverse(c.peak)))
}

/// The best area seen for each peak, by rising peak: from the leanest order found to `order` itself. Some forty orders of
/// [`follow`], O((tasks + arcs)·log tasks) each.
pub fn trade_off(dag: &Dag, order: &[TaskId]) -> Vec<Capped> {
    let free = follow(dag, order, None);
    let mut points: Vec<Capped> = (thresholds(free.peak))
        .map(|threshold| follow(dag, order, Some(threshold)))
        .collect();
    points.push(free);
    points.sort_by_key(|c| (c.peak, Reverse(c.area)));
    let mut best = Vec::new();
    for point in points {
        // Sorted by peak: a point that costs more memory must have more area.
        if best.last().is_none_or(|b: &Capped| point.area > b.area) {
            best.push(point);
        }
    }
    best
}

/// 0 and a few dozen values up to `cap`, denser near it.
fn thresholds(cap: u64) -> impl Iterator<Item = u64> {
    let mut all: Vec<u64> = (0..=THRESHOLDS)
        // In two parts, since cap·i may pass 64 bits.
        .map(|i| cap / THRESHOLDS * i + cap % THRESHOLDS * i / THRESHOLDS)
        .chain((0..JUST_BELOW).map(|i| cap.saturating_sub(i)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

/// Follows `order` while the open results stay within `threshold`, where one is given; else takes the eligible task after
/// which the fewest are open, ties by `order`. O((tasks + arcs)·log tasks).
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::cap::follow;
/// // Two chains side by side, first both heads, then both tails.
/// let dag = Dag::from_arcs(4, vec![(0, 2), (1, 3)]).unwrap();
/// let order: Vec<_> = dag.tasks().collect();
/// assert_eq!(follow(&dag, &order, None).peak, 2);
/// assert_eq!(follow(&dag, &order, Some(1)).peak, 1);
/// ```
///
/// # Panics
/// If `order` is no permutation of the tasks.
pub fn follow(dag: &Dag, order: &[TaskId], threshold: Option<u64>) -> Capped {
    assert_eq!(order.len(), dag.len(), "an order names every task once");
    let mut list = List::new(dag, order);
    while list.step(threshold) {}
    assert_eq!(
        list.order.len(),
        dag.len(),
        "an order names every task once"
    );
    Capped {
        order: list.order,
        peak: list.open.peak(),
        area: list.area,
    }
}

/// List scheduling with two views of the eligible tasks: by rank in the order, and by what they close.
struct List<'a> {
    game: Game<'a>,
    open: OpenResults<'a, u64>,
    rank: Vec<u32>,
    /// By task: how many results close when it is executed; only kept for eligible tasks.
    closes: Vec<u32>,
    by_rank: BinaryHeap<Reverse<(u32, TaskId)>>,
    /// (smallest change of open results, rank): an entry is stale when the task closes more by now.
    by_change: BinaryHeap<Reverse<(i64, u32, TaskId)>>,
    area: u64,
    order: Vec<TaskId>,
    /// Tasks that the last execution made eligible: a buffer.
    opened: Vec<TaskId>,
}

impl<'a> List<'a> {
    fn new(dag: &'a Dag, order: &[TaskId]) -> List<'a> {
        let mut list = List {
            game: Game::new(dag),
            open: OpenResults::new(dag),
            rank: places(order),
            closes: vec![0; dag.len()],
            by_rank: BinaryHeap::new(),
            by_change: BinaryHeap::new(),
            area: 0,
            order: Vec::with_capacity(dag.len()),
            opened: Vec::new(),
        };
        dag.sources().for_each(|t| list.offer(t));
        list.area = long(list.game.eligible_count());
        list
    }

    fn is_executed(&self, task: TaskId) -> bool {
        self.game.standing(task) == Standing::Executed
    }

    fn change(&self, task: TaskId) -> i64 {
        let opens = i64::from(!self.game.dag().is_sink(task));
        opens - i64::from(self.closes[task.index()])
    }

    /// Books a task that is eligible from now on.
    fn offer(&mut self, task: TaskId) {
        let parents = self.game.dag().parents(task).iter();
        let lasts = parents.filter(|&&p| self.open.needed(p) == 1);
        self.closes[task.index()] = narrow(lasts.count());
        let rank = self.rank[task.index()];
        self.by_rank.push(Reverse((rank, task)));
        self.by_change
            .push(Reverse((self.change(task), rank, task)));
    }

    /// Executes one task; `false` when none is left.
    fn step(&mut self, threshold: Option<u64>) -> bool {
        // Whoever went by the other heap is still in this one: to pass it by is cheaper than to take it out of the middle.
        while (self.by_rank.peek()).is_some_and(|Reverse((_, t))| self.is_executed(*t)) {
            self.by_rank.pop();
        }
        let Some(&Reverse((_, first))) = self.by_rank.peek() else {
            return false;
        };
        // Never below zero: what a task closes is open.
        let after = (self.open.now()).saturating_add_signed(self.change(first));
        let task = if threshold.is_none_or(|most| after <= most) {
            first
        } else {
            self.leanest()
        };
        self.execute(task);
        true
    }

    fn leanest(&mut self) -> TaskId {
        while let Some(&Reverse((change, _, task))) = self.by_change.peek() {
            if !self.is_executed(task) && change == self.change(task) {
                return task;
            }
            self.by_change.pop();
        }
        unreachable!("an eligible task has an entry with its present change")
    }

    fn execute(&mut self, task: TaskId) {
        self.open.execute(task, |_| 1);
        self.order.push(task);
        let dag = self.game.dag();
        for &parent in dag.parents(task) {
            if self.open.needed(parent) == 1 {
                // The one child left decides when the parent closes. The game hears of this very task below.
                let last = child_left(dag, parent, |c| c == task || self.is_executed(c));
                let last = last.expect("one child is left");
                // One that waits is booked when it is offered, this very task being executed or a later one.
                if self.game.standing(last) == Standing::Eligible {
                    self.closes[last.index()] += 1;
                    let entry = (self.change(last), self.rank[last.index()], last);
                    self.by_change.push(Reverse(entry));
                }
            }
        }
        // After the books of its parents: what it opens is booked by them.
        let mut opened = std::mem::take(&mut self.opened);
        let played = self.game.execute(task, |child| opened.push(child));
        played.expect("the heaps hold eligible tasks");
        opened.drain(..).for_each(|child| self.offer(child));
        self.opened = opened;
        self.area += long(self.game.eligible_count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, profile};
    use proptest::prelude::*;

    /// The peak by asking, after each step, which results are open.
    fn obvious_peak(dag: &Dag, order: &[TaskId]) -> u64 {
        let open = |done: &[TaskId]| -> usize {
            (done.iter())
                .filter(|t| dag.children(**t).iter().any(|c| !done.contains(c)))
                .count()
        };
        (0..=order.len()).map(|i| open(&order[..i])).max().unwrap() as u64
    }

    proptest! {
        #[test]
        fn peaks_and_areas_are_true_and_caps_hold(dag in any_dag(12), cap in 0u64..12) {
            let plan = dag.topological_order();
            let least = least_possible(&dag);
            let mut areas = Vec::new();
            for point in trade_off(&dag, plan) {
                prop_assert_eq!(point.peak, obvious_peak(&dag, &point.order));
                let eligible = profile(&dag, &point.order); // panics unless topological
                prop_assert_eq!(point.area, eligible.iter().map(|&x| u64::from(x)).sum::<u64>());
                prop_assert!(point.peak >= least);
                areas.push((point.peak, point.area));
            }
            prop_assert!(areas.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "a front: {:?}", areas);
            if let Some(capped) = under_cap(&dag, plan, cap) {
                prop_assert!(capped.peak <= cap);
                prop_assert_eq!(capped.peak, obvious_peak(&dag, &capped.order));
            } else {
                prop_assert!(follow(&dag, plan, Some(0)).peak > cap);
            }
            // No cap: the plan itself.
            prop_assert_eq!(&follow(&dag, plan, None).order[..], plan);
        }
    }

    #[test]
    fn a_cap_turns_a_wide_frontier_into_a_narrow_one() {
        // Ten chains of three behind one fork: breadth first opens ten results, depth first two.
        let mut arcs = Vec::new();
        for i in 0..10u32 {
            arcs.extend([
                (0, 1 + 3 * i),
                (1 + 3 * i, 2 + 3 * i),
                (2 + 3 * i, 3 + 3 * i),
            ]);
        }
        let dag = Dag::from_arcs(31, arcs).unwrap();
        let plan = dag.topological_order();
        assert_eq!(follow(&dag, plan, None).peak, 10);
        let lean = under_cap(&dag, plan, 2).unwrap();
        assert_eq!(lean.peak, 2);
        assert_eq!(under_cap(&dag, plan, 0), None);
    }
}
