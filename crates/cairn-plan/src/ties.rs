//! Which of equally good tasks goes first: an order rearranged without changing its profile. Knows no bound.

use crate::Weights;
use crate::counts::{child_left, children_left, opened, parents_left};
use crate::policy::bottom_levels;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{narrow, places, wide};
use cairn_theory::memory::memory_cost;
use cairn_theory::split::Decomposition;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What decides between equally good choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ties<'a> {
    /// Fewer open results. The order is left as it is where this would raise its peak.
    Memory,
    /// The longer path to a sink: in tasks, or in seconds where given.
    CriticalPath(Option<&'a [f64]>),
}

/// Rearranges a topological order so that ties are broken as asked. Its profile stays the same at every step, and so
/// does what each step costs under `weights`. `blocks` are those of the dag or of its skeleton.
///
/// The *gain* of a task in an order is the number of tasks that it makes eligible, being the last parent they wait
/// for. These are the ties:
/// - two tasks that stand next to each other, have the same gain, and do not need each other;
/// - two *packets* (tasks that gain nothing, then one that gains) that stand next to each other, have the same gains
///   step by step, and do not need each other;
/// - likewise two stretches of the order, each as short as can be so that it executes whole blocks;
/// - by critical path: the last task of a packet and an earlier one of it that is a parent of all it makes eligible.
///
/// One *needs* another here that contains a parent of a task of the one, or of a task that the one makes eligible.
/// Runs of such neighbours are rearranged as a whole. That is sound: whoever makes a task eligible still comes after
/// all its other parents, so it keeps its gain, and neighbours of the same gains change places without a trace in the
/// profile.
///
/// O((tasks + arcs)·log tasks).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_plan::{Ties, Weights, break_ties};
/// use cairn_theory::split::Decomposition;
/// // A chain of two and a chain of three.
/// let dag = Dag::from_arcs(5, vec![(0, 1), (2, 3), (3, 4)])?;
/// let order = [0, 2, 3, 1, 4].map(TaskId);
/// let blocks = Decomposition::new(&dag);
/// let longest_first = break_ties(&dag, &blocks, &order, Ties::CriticalPath(None), &Weights::unit(5));
/// assert_eq!(longest_first, [2, 0, 3, 1, 4].map(TaskId));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `order` is no topological order of all tasks, or seconds or weights are for another number of tasks.
pub fn break_ties(
    dag: &Dag,
    blocks: &Decomposition,
    order: &[TaskId],
    ties: Ties<'_>,
    weights: &Weights,
) -> Vec<TaskId> {
    assert_eq!(order.len(), dag.len(), "an order names every task once");
    assert_eq!(weights.tasks(), dag.len(), "one weight a task");
    let mut gains = Gains::new(dag, order, weights);
    let mut new = order.to_vec();
    let level = match ties {
        Ties::Memory => None,
        Ties::CriticalPath(seconds) => Some(bottom_levels(dag, seconds)),
    };
    if let Some(level) = &level {
        gains.turn_packets(&mut new, level);
    }
    let walk = |order: &[TaskId], starts| {
        Rearrangement::new(&gains, order, starts, level.as_deref()).rearrange()
    };
    // Each leaves the profile as it was, so that they may follow one another.
    // From coarse to fine: whole blocks find their places before packets in them do, and packets before tasks.
    new = walk(&new, cut_blocks(blocks, &new));
    new = walk(&new, cut_packets(&gains, &new));
    new = walk(&new, (0..new.len()).collect());
    // Greedy by the next step: the peak may rise all the same.
    let is_worse = level.is_none() && memory_cost(dag, &new) > memory_cost(dag, order);
    if is_worse { order.to_vec() } else { new }
}

/// What each task makes eligible in an order. Stays true for every order that [`Rearrangement`] makes of it.
struct Gains<'a> {
    dag: &'a Dag,
    weights: &'a Weights,
    /// By task: how many tasks wait for it last.
    gain: Vec<u32>,
    /// By task with parents: the last of them.
    last_parent: Vec<TaskId>,
}

impl<'a> Gains<'a> {
    fn new(dag: &'a Dag, order: &[TaskId], weights: &'a Weights) -> Gains<'a> {
        let mut missing = parents_left(dag);
        let mut gain = vec![0; dag.len()];
        let mut last_parent = vec![TaskId(0); dag.len()];
        for &task in order {
            assert_eq!(missing[task.index()], 0, "each task after its parents");
            for child in opened(dag, task, &mut missing) {
                gain[task.index()] += 1;
                last_parent[child.index()] = task;
            }
        }
        Gains {
            dag,
            weights,
            gain,
            last_parent,
        }
    }

    fn are_alike(&self, a: TaskId, b: TaskId) -> bool {
        self.gain[a.index()] == self.gain[b.index()] && self.weights.cost(a) == self.weights.cost(b)
    }

    /// The tasks that `task` makes eligible.
    fn made_eligible(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let children = self.dag.children(task).iter().copied();
        children.filter(move |c| self.last_parent[c.index()] == task)
    }

    /// Lets the task of the lowest level go last in each packet, if it is a parent of all that the packet makes
    /// eligible: before the packet's end nothing is gained either way.
    fn turn_packets(&mut self, order: &mut [TaskId], level: &[f64]) {
        let mut place = places(order);
        let mut start = 0;
        for end in 0..order.len() {
            let last = order[end];
            let made: Vec<TaskId> = self.made_eligible(last).collect();
            let Some(&first) = made.first() else { continue };
            let fits = |p: &TaskId| {
                (start..end).contains(&wide(place[p.index()]))
                    && self.weights.cost(*p) == self.weights.cost(last)
                    && level[p.index()] < level[last.index()]
                    && made.iter().all(|&child| self.dag.has_arc(*p, child))
            };
            let parents = self.dag.parents(first).iter().copied();
            let lower = parents
                .filter(fits)
                .min_by(|a, b| level[a.index()].total_cmp(&level[b.index()]));
            if let Some(lower) = lower {
                let early = place[lower.index()];
                // All tasks of a packet are eligible at its start, as nothing in it gains before its end: any two may
                // change places.
                order.swap(wide(early), end);
                place[lower.index()] = narrow(end);
                place[last.index()] = early;
                self.gain.swap(lower.index(), last.index());
                for child in made {
                    self.last_parent[child.index()] = lower;
                }
            }
            start = end + 1;
        }
    }
}

/// Where packets start: after each task that gains.
fn cut_packets(gains: &Gains<'_>, order: &[TaskId]) -> Vec<usize> {
    let after_gain = |&i: &usize| i == 0 || gains.gain[order[i - 1].index()] > 0;
    (0..order.len()).filter(after_gain).collect()
}

/// Where no block is begun and not ended. A task is executed for the block below it.
fn cut_blocks(blocks: &Decomposition, order: &[TaskId]) -> Vec<usize> {
    let mut left: Vec<usize> = blocks
        .blocks()
        .map(|block| blocks.sources(block).len())
        .collect();
    let whole = left.clone();
    let mut begun = 0;
    let mut starts = Vec::new();
    for (i, &task) in order.iter().enumerate() {
        if begun == 0 {
            starts.push(i);
        }
        if let Some(block) = blocks.block_below(task) {
            begun += usize::from(left[block.index()] == whole[block.index()]);
            left[block.index()] -= 1;
            begun -= usize::from(left[block.index()] == 0);
        }
    }
    starts
}

/// (key, later arrivals first where memory decides, place): the smallest goes next.
type Entry = Reverse<(i64, Reverse<usize>, usize)>;

/// An order cut into stretches, rearranged from its beginning to its end.
struct Rearrangement<'a> {
    gains: &'a Gains<'a>,
    order: &'a [TaskId],
    /// Where each stretch starts, and the end.
    starts: Vec<usize>,
    /// By task: its stretch.
    stretch: Vec<u32>,
    /// By task: the longest path to a sink; none where memory decides.
    level: Option<&'a [f64]>,
    /// By stretch: how often it needs a stretch of its run that is not executed.
    waits: Vec<u32>,
    /// By stretch: what it adds to the open results, while it is eligible.
    change: Vec<i64>,
    is_executed: Vec<bool>,
    /// By task: children not executed.
    open_children: Vec<u32>,
    /// By task: children in the stretch that is looked at; zero in between.
    hits: Vec<u32>,
    heap: BinaryHeap<Entry>,
    new: Vec<TaskId>,
}

impl<'a> Rearrangement<'a> {
    fn new(
        gains: &'a Gains<'a>,
        order: &'a [TaskId],
        mut starts: Vec<usize>,
        level: Option<&'a [f64]>,
    ) -> Rearrangement<'a> {
        let dag = gains.dag;
        let count = starts.len();
        starts.push(order.len());
        let mut stretch = vec![0; dag.len()];
        for s in 0..count {
            for &task in &order[starts[s]..starts[s + 1]] {
                stretch[task.index()] = narrow(s);
            }
        }
        Rearrangement {
            gains,
            order,
            starts,
            stretch,
            level,
            waits: vec![0; count],
            change: vec![0; count],
            is_executed: vec![false; dag.len()],
            open_children: children_left(dag),
            hits: vec![0; dag.len()],
            heap: BinaryHeap::new(),
            new: Vec::with_capacity(dag.len()),
        }
    }

    fn rearrange(mut self) -> Vec<TaskId> {
        let count = self.waits.len();
        let mut from = 0;
        while from < count {
            let mut to = from + 1;
            while to < count && self.are_alike(to - 1, to) {
                to += 1;
            }
            match to - from {
                1 => self.execute(from, from..to),
                _ => self.execute_run(from..to),
            }
            from = to;
        }
        self.new
    }

    fn tasks(&self, stretch: usize) -> &'a [TaskId] {
        &self.order[self.starts[stretch]..self.starts[stretch + 1]]
    }

    fn are_alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.tasks(a), self.tasks(b));
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.gains.are_alike(a, b))
    }

    fn execute_run(&mut self, run: std::ops::Range<usize>) {
        for s in run.clone() {
            // Counted once for each arc, and released once for each: no list of who needs whom is kept.
            self.waits[s] = self.needs(s, &run);
        }
        for s in run.clone() {
            if self.waits[s] == 0 {
                self.offer(s);
            }
        }
        while let Some(Reverse((_, _, s))) = self.heap.pop() {
            // An entry is never removed when its key falls: a newer one was pushed.
            if !self.is_executed[self.tasks(s)[0].index()] {
                self.execute(s, run.clone());
            }
        }
        assert_eq!(self.new.len(), self.starts[run.end], "needs lead backwards");
    }

    /// How many parents of its tasks, and of the tasks they make eligible, lie in other stretches of the run.
    fn needs(&self, stretch: usize, run: &std::ops::Range<usize>) -> u32 {
        let gains = self.gains;
        let mut needs = 0;
        let mut count = |parents: &[TaskId]| {
            let others = parents
                .iter()
                .map(|p| wide(self.stretch[p.index()]))
                .filter(|s| *s != stretch && run.contains(s));
            needs += narrow(others.count());
        };
        for &task in self.tasks(stretch) {
            count(gains.dag.parents(task));
            for child in gains.made_eligible(task) {
                count(gains.dag.parents(child));
            }
        }
        needs
    }

    /// Enters a stretch that may go next.
    fn offer(&mut self, stretch: usize) {
        let key = match self.level {
            Some(level) => {
                let tasks = self.tasks(stretch).iter();
                let longest = tasks.map(|t| level[t.index()]).fold(0.0, f64::max);
                // Levels are not negative, and the bits of such floats sort like the numbers.
                // The sign bit is free, as levels are not negative: the cast keeps the order and can be turned.
                -(longest.to_bits() as i64)
            }
            None => {
                self.change[stretch] = self.change_by(stretch);
                self.change[stretch]
            }
        };
        self.push(stretch, key);
    }

    fn push(&mut self, stretch: usize, key: i64) {
        let arrival = if self.level.is_none() {
            self.new.len()
        } else {
            0
        };
        self.heap.push(Reverse((key, Reverse(arrival), stretch)));
    }

    /// How many more results are open once the stretch is executed.
    fn change_by(&mut self, stretch: usize) -> i64 {
        let dag = self.gains.dag;
        let mut change = 0;
        for &task in self.tasks(stretch) {
            change += i64::from(!dag.is_sink(task));
            for &parent in dag.parents(task) {
                self.hits[parent.index()] += 1;
                change -=
                    i64::from(self.hits[parent.index()] == self.open_children[parent.index()]);
            }
        }
        for &task in self.tasks(stretch) {
            for &parent in dag.parents(task) {
                self.hits[parent.index()] = 0;
            }
        }
        change
    }

    fn execute(&mut self, stretch: usize, run: std::ops::Range<usize>) {
        let dag = self.gains.dag;
        for &task in self.tasks(stretch) {
            self.is_executed[task.index()] = true;
            self.new.push(task);
        }
        for &task in self.tasks(stretch) {
            for &parent in dag.parents(task) {
                self.open_children[parent.index()] -= 1;
                if self.open_children[parent.index()] == 1 && self.level.is_none() {
                    self.one_child_left(parent, &run);
                }
            }
        }
        for &task in self.tasks(stretch) {
            for &child in dag.children(task) {
                self.release(child, stretch, &run);
                let last = self.gains.last_parent[child.index()];
                // Whoever makes the child eligible waits for its other parents as well.
                if last != task {
                    self.release(last, stretch, &run);
                }
            }
        }
    }

    /// The stretch of `task`, if it is another one of the run, waits for one thing less.
    fn release(&mut self, task: TaskId, stretch: usize, run: &std::ops::Range<usize>) {
        let s = wide(self.stretch[task.index()]);
        if s != stretch && run.contains(&s) {
            self.waits[s] -= 1;
            if self.waits[s] == 0 {
                self.offer(s);
            }
        }
    }

    /// Whoever executes the last child of `parent` closes its result.
    fn one_child_left(&mut self, parent: TaskId, run: &std::ops::Range<usize>) {
        let is_executed = |c: TaskId| self.is_executed[c.index()];
        let Some(child) = child_left(self.gains.dag, parent, is_executed) else {
            return; // in the stretch being executed
        };
        let s = wide(self.stretch[child.index()]);
        if run.contains(&s) && self.waits[s] == 0 {
            self.change[s] -= 1;
            self.push(s, self.change[s]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanEffort, Work, plan, policy};
    use cairn_oracle::{any_composite, any_dag};
    use proptest::prelude::*;

    fn profile(dag: &Dag, order: &[TaskId]) -> Vec<u32> {
        cairn_theory::profile::profile(dag, order).expect("a topological order of all tasks")
    }

    /// A topological order of no particular merit.
    fn some_order(dag: &Dag, seed: u64) -> Vec<TaskId> {
        let seconds: Vec<f64> = (dag.tasks())
            .map(|t| (u64::from(t.0 + 1).wrapping_mul(seed | 1) >> 60) as f64)
            .collect();
        policy::critical_path(dag, Some(&seconds))
    }

    fn check(dag: &Dag, order: &[TaskId], seed: u64) -> Result<(), TestCaseError> {
        let costs: Vec<u64> = dag.tasks().map(|t| seed >> (t.0 % 60) & 1).collect();
        let weighted = Weights::new(dag.len(), Some(costs.clone()), None).unwrap();
        let seconds: Vec<f64> = dag.tasks().map(|t| f64::from(t.0 % 3)).collect();
        for ties in [
            Ties::Memory,
            Ties::CriticalPath(None),
            Ties::CriticalPath(Some(&seconds)),
        ] {
            let new = break_ties(
                dag,
                &Decomposition::new(dag),
                order,
                ties,
                &Weights::unit(dag.len()),
            );
            prop_assert_eq!(profile(dag, &new), profile(dag, order), "{:?}", ties);
            if ties == Ties::Memory {
                prop_assert!(memory_cost(dag, &new) <= memory_cost(dag, order));
            }
            let new = break_ties(dag, &Decomposition::new(dag), order, ties, &weighted);
            prop_assert_eq!(profile(dag, &new), profile(dag, order), "{:?}", ties);
            let cost = |t: &TaskId| costs[t.index()];
            prop_assert!(new.iter().map(cost).eq(order.iter().map(cost)));
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn the_profile_of_any_order_stays(dag in any_dag(14), seed in any::<u64>()) {
            check(&dag, &some_order(&dag, seed), seed)?;
        }

        #[test]
        fn the_profile_of_a_plan_stays(dag in any_dag(14), seed in any::<u64>()) {
            check(&dag, &plan(&dag, &PlanEffort::default(), &mut Work::unlimited()).order, seed)?;
        }

        #[test]
        fn the_profile_of_composites_stays((dag, _) in any_composite(40), seed in any::<u64>()) {
            check(&dag, &plan(&dag, &PlanEffort::default(), &mut Work::unlimited()).order, seed)?;
        }
    }

    fn ordered(dag: &Dag, order: &[u32], ties: Ties<'_>) -> Vec<u32> {
        let order: Vec<TaskId> = order.iter().map(|&t| TaskId(t)).collect();
        let new = break_ties(
            dag,
            &Decomposition::new(dag),
            &order,
            ties,
            &Weights::unit(dag.len()),
        );
        new.into_iter().map(|t| t.0).collect()
    }

    #[test]
    fn memory_closes_results_before_it_opens_others() {
        // Two joins of two parents each and two sources, all with one child: each gains one task.
        let arcs = vec![
            (0, 4),
            (1, 4),
            (2, 5),
            (3, 5),
            (4, 8),
            (5, 9),
            (6, 10),
            (7, 11),
        ];
        let dag = Dag::from_arcs(12, arcs).unwrap();
        let order = [0, 1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 11];
        let new = ordered(&dag, &order, Ties::Memory);
        assert_eq!(new, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11]);
        let peak = |order: &[u32]| {
            let order: Vec<TaskId> = order.iter().map(|&t| TaskId(t)).collect();
            memory_cost(&dag, &order)
        };
        assert_eq!((peak(&order), peak(&new)), (6, 4));
    }

    #[test]
    fn the_long_chain_goes_first() {
        let dag = Dag::from_arcs(6, vec![(0, 1), (2, 3), (3, 4), (4, 5)]).unwrap();
        let new = ordered(&dag, &[0, 2, 3, 4, 1, 5], Ties::CriticalPath(None));
        assert_eq!(new, [2, 3, 0, 4, 1, 5]);
        let slow = [9.0, 9.0, 1.0, 1.0, 1.0, 1.0];
        let new = ordered(&dag, &[2, 3, 4, 0, 5, 1], Ties::CriticalPath(Some(&slow)));
        assert_eq!(new, [0, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn whole_blocks_and_packets_change_places() {
        // Two blocks of two sources and three sinks (gains 1, 2); what the second makes eligible goes on for longer.
        let block = |a: u32| [(a, a + 2), (a, a + 3), (a + 1, a + 3), (a + 1, a + 4)];
        let mut arcs = [block(0), block(5)].concat();
        arcs.extend([(9, 10), (10, 11)]);
        let dag = Dag::from_arcs(12, arcs).unwrap();
        let order = [0, 1, 5, 6, 9, 10, 2, 3, 4, 7, 8, 11];
        let new = ordered(&dag, &order, Ties::CriticalPath(None));
        assert_eq!(new[..4], [5, 6, 0, 1]);
        // Two joins of two; the second leads on. In each, the two parents are twins.
        let dag = Dag::from_arcs(7, vec![(0, 2), (1, 2), (3, 5), (4, 5), (5, 6)]).unwrap();
        let new = ordered(&dag, &[0, 1, 3, 4, 5, 2, 6], Ties::CriticalPath(None));
        assert_eq!(new, [3, 4, 0, 1, 5, 2, 6]);
    }
}
