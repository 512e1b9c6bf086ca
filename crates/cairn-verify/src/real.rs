//! Sets that can really be executed, found quickly in what a certificate shows. Knows no bound, only what none may
//! fall below.

use crate::hull::Hull;
use crate::width::{long, narrow, place_of, wide};
use crate::work::Work;
use cairn_dag::{Dag, TaskId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders and other sets that were seen.
pub(crate) struct Real {
    /// For each t = 0..=tasks, what some ideal of t tasks gains.
    pub(crate) gains: Vec<u64>,
    /// Whole orders, by what their prefixes gain.
    pub(crate) orders: Vec<Vec<u64>>,
}

impl Real {
    /// What the order and the hull show:
    ///
    /// - the order with the tasks without children last: they gain nothing;
    /// - the same, piece by piece of the hull: each boundary between pieces is an ideal;
    /// - greedy orders, piece by piece and without pieces;
    /// - greedy walks from each corner past the next one, as far as the effort allows.
    ///
    /// O((tasks + arcs)·log) beside the walks.
    pub(crate) fn new(dag: &Dag, order: &[TaskId], hull: &Hull, work: &mut Work) -> Real {
        let mut place = vec![0; dag.len()];
        (order.iter().enumerate()).for_each(|(i, t)| place[t.index()] = narrow(i));
        let piece = |t: TaskId| hull.piece[t.index()];
        let executes = |t: &TaskId| !dag.is_sink(*t);
        let as_given: Vec<TaskId> = order.iter().copied().filter(executes).collect();
        let mut by_piece = as_given.clone();
        // Stable: within a piece the order given is kept, which respects parents.
        by_piece.sort_by_key(|&t| piece(t));
        let start = Walk::new(dag, &place);
        let orders = vec![
            start.clone().follow(&as_given),
            start.clone().follow(&by_piece),
            start.clone().greedy(piece, usize::MAX),
            start.clone().greedy(|_| 0, usize::MAX),
        ];
        let mut real = Real {
            gains: orders[0].clone(),
            orders: Vec::new(),
        };
        orders.iter().for_each(|gains| real.note(0, gains));
        real.orders = orders;
        // Last, as it alone takes more than linear time: what comes before is found whatever the effort.
        real.walk_from_corners(start, &by_piece, hull, work);
        real.settle();
        real
    }

    /// Notes what sets of `from`, `from + 1`, … tasks gain.
    fn note(&mut self, from: usize, gains: &[u64]) {
        for (have, &new) in self.gains[from..].iter_mut().zip(gains) {
            *have = (*have).max(new);
        }
    }

    /// Notes one more ideal.
    pub(crate) fn note_set(&mut self, tasks: usize, gain: u64) {
        self.note(tasks, &[gain]);
        self.settle();
    }

    /// To execute one task more loses nothing.
    fn settle(&mut self) {
        for t in 1..self.gains.len() {
            self.gains[t] = self.gains[t].max(self.gains[t - 1]);
        }
    }

    /// Greedily from each corner on, to the end of the next interval but one. The empty set has been done.
    fn walk_from_corners(
        &mut self,
        start: Walk<'_>,
        by_piece: &[TaskId],
        hull: &Hull,
        work: &mut Work,
    ) {
        let cost = long(start.dag.len() + start.dag.arc_count());
        let mut at = start;
        for (j, corner) in hull.corners.windows(2).enumerate() {
            let (from, to) = (place_of(corner[0].0), place_of(corner[1].0));
            let end = hull.corners.get(j + 2).map_or(to, |c| place_of(c.0));
            // From the empty set the greedy orders above have walked already.
            if j > 0 && work.afford(cost) {
                let gains = at.clone().greedy(|_| 0, end - from);
                self.note(from, &gains);
            }
            by_piece[from..to].iter().for_each(|&t| at.execute(t));
        }
    }
}

/// A set that was executed task by task.
#[derive(Clone)]
struct Walk<'a> {
    dag: &'a Dag,
    /// By task: its place in the order, which breaks ties.
    place: &'a [u32],
    is_executed: Vec<bool>,
    /// By task: how many of its parents are not executed, and the exclusive or of their numbers: the number of the
    /// last one when one is left.
    missing: Vec<(u32, u32)>,
    /// By task: how many of its children wait for it alone.
    worth: Vec<u32>,
    gain: u64,
}

impl<'a> Walk<'a> {
    fn new(dag: &'a Dag, place: &'a [u32]) -> Walk<'a> {
        let missing = |t: TaskId| {
            let parents = dag.parents(t);
            let mixed = parents.iter().fold(0, |mixed, p| mixed ^ p.0);
            (narrow(parents.len()), mixed)
        };
        let missing: Vec<(u32, u32)> = dag.tasks().map(missing).collect();
        let mut worth = vec![0; dag.len()];
        for (_, last) in missing.iter().filter(|m| m.0 == 1) {
            worth[wide(*last)] += 1;
        }
        Walk {
            missing,
            worth,
            is_executed: vec![false; dag.len()],
            place,
            dag,
            gain: 0,
        }
    }

    fn execute(&mut self, task: TaskId) {
        self.is_executed[task.index()] = true;
        for child in self.dag.children(task) {
            let (count, mixed) = &mut self.missing[child.index()];
            *count -= 1;
            *mixed ^= task.0;
            match *count {
                0 => self.gain += 1,
                1 => self.worth[wide(*mixed)] += 1,
                _ => {}
            }
        }
    }

    /// Executes these tasks. Returns what is gained before, after each, and then as long as tasks without children
    /// are left.
    fn follow(mut self, tasks: &[TaskId]) -> Vec<u64> {
        let mut gains = vec![self.gain];
        for &task in tasks {
            self.execute(task);
            gains.push(self.gain);
        }
        gains.resize(self.dag.len() + 1, self.gain);
        gains
    }

    /// Executes so many tasks, or all that have children: of the lowest piece always that which gains most at once.
    fn greedy(mut self, piece: impl Fn(TaskId) -> u32, most: usize) -> Vec<u64> {
        let dag = self.dag;
        let mut heap = BinaryHeap::new();
        let can = |walk: &Walk<'_>, t: TaskId| {
            walk.missing[t.index()].0 == 0 && !walk.is_executed[t.index()] && !dag.is_sink(t)
        };
        let entry = |walk: &Walk<'_>, t: TaskId| {
            let (worth, place) = (walk.worth[t.index()], walk.place[t.index()]);
            (Reverse(piece(t)), worth, Reverse(place), t)
        };
        for task in dag.tasks().filter(|&t| can(&self, t)) {
            heap.push(entry(&self, task));
        }
        let mut gains = vec![self.gain];
        while gains.len() <= most
            && let Some((.., task)) = heap.pop()
        {
            // Entered again each time it became worth more: the first time counts.
            if self.is_executed[task.index()] {
                continue;
            }
            self.execute(task);
            gains.push(self.gain);
            for &child in dag.children(task) {
                match self.missing[child.index()] {
                    (0, _) if can(&self, child) => heap.push(entry(&self, child)),
                    (1, last) if can(&self, TaskId(last)) => {
                        heap.push(entry(&self, TaskId(last)));
                    }
                    _ => {}
                }
            }
        }
        // A whole order: sinks follow, which gain nothing.
        if most > dag.len() {
            gains.resize(dag.len() + 1, self.gain);
        }
        gains
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, best_profile};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Nothing is better than the best, and where only tasks without children are left nothing is worse.
        #[test]
        fn real_sets_are_real(dag in any_dag(14), pieces in 1u32..4) {
            let n = dag.len();
            // Any cut into nested ideals will do: here by levels.
            let mut level = vec![0; n];
            for &v in dag.topological_order() {
                let above = dag.parents(v).iter().map(|p| level[p.index()] + 1).max();
                level[v.index()] = above.unwrap_or(0);
            }
            let piece: Vec<u32> = level.iter().map(|l| l / pieces).collect();
            let mut corners = vec![(0, 0)];
            for p in 0..piece.iter().max().map_or(0, |&last| last + 1) {
                let executed = dag.tasks().filter(|t| !dag.is_sink(*t) && piece[t.index()] <= p).count() as u64;
                if corners.last().is_none_or(|c: &(u64, u64)| c.0 < executed) {
                    corners.push((executed, 0));
                }
            }
            let hull = Hull { interval: piece.clone(), piece, corners };
            let real = Real::new(&dag, dag.topological_order(), &hull, &mut Work(u64::MAX));
            let sources = dag.sources().count() as u64;
            let nonsinks = dag.tasks().filter(|&t| !dag.is_sink(t)).count();
            for (t, &best) in best_profile(&dag).iter().enumerate() {
                let eligible = sources + real.gains[t] - t as u64;
                prop_assert!(eligible <= u64::from(best));
                prop_assert!(t < nonsinks || eligible == u64::from(best));
                for gains in &real.orders {
                    prop_assert!(gains[t] <= real.gains[t] && gains.len() == n + 1);
                }
            }
        }
    }
}
