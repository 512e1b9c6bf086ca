//! Orders of tasks that take different times, and how good they are over executed time. Knows not what a unit of
//! time is.
//!
//! The game by steps asks how many tasks are eligible after t executed *tasks*; this one, how many were made eligible
//! after c units of executed *work*: those still eligible and those executed. For tasks that all take one unit it is
//! the same question.

use crate::counts::{opened, parents_left};
use crate::order::chain_order_by_cost;
use crate::{Hull, HullError, Weights, hull};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, long};

/// An order along the weighted hull, sinks last, and the hull: at every vertex of a complete one (the last, of those
/// that cost the same) no order has made more tasks eligible with that much work.
///
/// Between vertices tasks go by what they make eligible now, divided by what they cost. Time and space as for
/// [`hull()`] and its order (`order.rs`).
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::{Weights, Work, weighted_order};
/// // Task 0 makes two tasks eligible, but takes ten times as long as task 1.
/// let dag = Dag::from_arcs(5, vec![(0, 2), (0, 3), (1, 4)])?;
/// let weights = Weights::new(5, Some(vec![10, 1, 1, 1, 1]), None)?;
/// let (order, _) = weighted_order(&dag, &weights, &mut Work::unlimited())?;
/// assert_eq!(order[0].0, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`HullError`], when the weights are for another number of tasks or the dag is too large for 32-bit numbers.
pub fn weighted_order(
    dag: &Dag,
    weights: &Weights,
    work: &mut Work<'_>,
) -> Result<(Vec<TaskId>, Hull), HullError> {
    let hull = hull(dag, weights, work)?;
    Ok((chain_order_by_cost(dag, &hull, weights), hull))
}

/// What an order reaches over executed work, beside a bound that no order beats.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::{OverWork, Weights, Work, weighted_order};
/// let fork = Dag::from_arcs(3, vec![(0, 1), (0, 2)])?;
/// let weights = Weights::new(3, Some(vec![7, 1, 1]), None)?;
/// let (order, hull) = weighted_order(&fork, &weights, &mut Work::unlimited())?;
/// let over = OverWork::new(&fork, &order, &weights, &hull);
/// assert_eq!(over.reached, [7, 7]);
/// assert!(over.is_optimal());
/// assert_eq!(over.area(), 7 + 3 + 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverWork {
    /// Tasks without parents: eligible from the start.
    pub sources: u64,
    /// The work of all tasks.
    pub total: u64,
    /// For k = 1, 2, …: the executed work with which the order has made k tasks eligible beside the sources. Rises.
    pub reached: Vec<u64>,
    /// No order has made k tasks eligible with less executed work than this. Rises.
    pub bound: Vec<u64>,
}

impl OverWork {
    /// Judges an order by the hull of the same dag for the same weights. O(tasks·log tasks + arcs).
    ///
    /// The bound is the larger of two: the work at which the hull reaches k, and the k-th smallest of what each task
    /// must wait for at the least, the work on the longest path to it.
    ///
    /// # Panics
    /// If order, weights or hull are not for this dag, or the order is not topological.
    pub fn new(dag: &Dag, order: &[TaskId], weights: &Weights, hull: &Hull) -> OverWork {
        assert_eq!(order.len(), dag.len(), "an order names every task once");
        assert_eq!(weights.tasks(), dag.len(), "one weight a task");
        assert_eq!(hull.tasks(), dag.len(), "the hull must be that of this dag");
        let by_path = waits_by_path(dag, weights);
        let by_hull = (1..=long(by_path.len())).map(|k| hull.cost_for(k));
        OverWork {
            sources: long(dag.sources().count()),
            total: dag.tasks().map(|t| weights.cost(t)).sum(),
            reached: reached(dag, order, weights),
            bound: by_hull.zip(&by_path).map(|(a, &b)| a.max(b)).collect(),
        }
    }

    /// Whether no order has ever made more tasks eligible with as much work.
    pub fn is_optimal(&self) -> bool {
        self.reached == self.bound
    }

    /// The tasks made eligible, summed over every unit of work.
    pub fn area(&self) -> u128 {
        self.area_of(&self.reached)
    }

    /// No order has a larger area.
    pub fn area_bound(&self) -> u128 {
        self.area_of(&self.bound)
    }

    /// The curve of [`OverWork::reached`] or [`OverWork::bound`]: executed work with the tasks made eligible by then, one pair for
    /// each moment at which there are more.
    pub fn steps(&self, moments: &[u64]) -> Vec<(u64, u64)> {
        let mut steps = vec![(0, self.sources)];
        let mut made = self.sources;
        for &moment in moments {
            made += 1;
            match steps.last_mut() {
                // Several at one moment are one step of the curve.
                Some(last) if last.0 == moment => last.1 = made,
                _ => steps.push((moment, made)),
            }
        }
        steps
    }

    fn area_of(&self, moments: &[u64]) -> u128 {
        // In 128 bits: all work is below 2⁵⁹, times as many tasks.
        let after = |&moment: &u64| u128::from(self.total - moment);
        u128::from(self.sources) * u128::from(self.total) + moments.iter().map(after).sum::<u128>()
    }

    /// How many tasks the order may lack at the most, and the least work at which it may lack as many.
    pub fn largest_gap(&self) -> (u64, u64) {
        let mut largest = (0, 0);
        let mut reached = 0;
        for (i, &moment) in self.bound.iter().enumerate() {
            while self.reached.get(reached).is_some_and(|&r| r <= moment) {
                reached += 1;
            }
            // At the moment when the bound has k + 1: just there the order may lack most.
            let gap = long((i + 1).saturating_sub(reached));
            if gap > largest.0 {
                largest = (gap, moment);
            }
        }
        largest
    }
}

/// The executed work at which each task with parents becomes eligible, in order.
fn reached(dag: &Dag, order: &[TaskId], weights: &Weights) -> Vec<u64> {
    let mut missing = parents_left(dag);
    let mut work = 0;
    let mut moments = Vec::new();
    for &task in order {
        assert_eq!(missing[task.index()], 0, "each task after its parents");
        work += weights.cost(task);
        moments.extend(opened(dag, task, &mut missing).map(|_| work));
    }
    moments
}

/// For each task with parents the work on the longest path to it, sorted.
fn waits_by_path(dag: &Dag, weights: &Weights) -> Vec<u64> {
    let mut wait = vec![0u64; dag.len()];
    for &task in dag.topological_order() {
        let until = |p: &TaskId| wait[p.index()] + weights.cost(*p);
        wait[task.index()] = dag.parents(task).iter().map(until).max().unwrap_or(0);
    }
    let mut waits: Vec<u64> = (dag.tasks())
        .filter(|&t| !dag.is_source(t))
        .map(|t| wait[t.index()])
        .collect();
    // The k-th to become eligible comes no sooner than the k-th shortest wait.
    waits.sort_unstable();
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;
    use cairn_oracle::{any_dag, ideals};
    use proptest::prelude::*;

    /// (work, tasks with parents made eligible) of every ideal.
    fn all_ideals(dag: &Dag, cost: &[u64]) -> Vec<(u64, u64)> {
        let holds = |ideal: u32, t: TaskId| ideal >> t.0 & 1 == 1;
        let point = |&ideal: &u32| {
            let work = dag.tasks().filter(|&t| holds(ideal, t));
            let made = dag
                .tasks()
                .filter(|&t| !dag.is_source(t) && dag.parents(t).iter().all(|&p| holds(ideal, p)));
            (work.map(|t| cost[t.index()]).sum(), made.count() as u64)
        };
        ideals(dag).iter().flatten().map(point).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn no_ideal_beats_the_bound_and_vertices_are_best(
            dag in any_dag(11),
            cost in prop::collection::vec(0u64..6, 11),
            stopped in any::<bool>(),
        ) {
            let cost = cost[..dag.len()].to_vec();
            let weights = Weights::new(dag.len(), Some(cost.clone()), None).unwrap();
            let stop = move || stopped;
            let (order, hull) = weighted_order(&dag, &weights, &mut Work::until(&stop)).unwrap();
            let over = OverWork::new(&dag, &order, &weights, &hull);
            let made_by = |moments: &[u64], work| moments.iter().filter(|m| **m <= work).count() as u64;
            let points = all_ideals(&dag, &cost);
            for &(work, made) in &points {
                prop_assert!(made <= made_by(&over.bound, work), "{made} with {work}: {over:?}");
            }
            // Of vertices that cost the same, because tasks cost nothing, the last counts.
            let vertices = hull.vertices();
            let last = |i: &usize| vertices.get(i + 1).is_none_or(|next| next.cost > vertices[*i].cost);
            for vertex in (0..vertices.len()).filter(last).map(|i| vertices[i]) {
                if !hull.is_complete() {
                    break;
                }
                let best = points.iter().filter(|p| p.0 <= vertex.cost).map(|p| p.1).max();
                prop_assert_eq!(best, Some(vertex.reward));
                prop_assert_eq!(made_by(&over.reached, vertex.cost), vertex.reward);
            }
            // Every order, good or bad, lies under the bound; gap and areas are what they say.
            for order in [order, policy::fifo(&dag), policy::lifo(&dag)] {
                let over = OverWork::new(&dag, &order, &weights, &hull);
                let every = || 0..over.total;
                let gap = |w| made_by(&over.bound, w).checked_sub(made_by(&over.reached, w)).unwrap();
                let largest = (0..=over.total).map(gap).max().unwrap();
                prop_assert_eq!(over.largest_gap().0, largest);
                prop_assert_eq!(gap(over.largest_gap().1), largest);
                prop_assert_eq!(over.is_optimal(), largest == 0);
                let area: u64 = every().map(|w| over.sources + made_by(&over.reached, w)).sum();
                prop_assert_eq!(over.area(), u128::from(area));
                let area: u64 = every().map(|w| over.sources + made_by(&over.bound, w)).sum();
                prop_assert_eq!(over.area_bound(), u128::from(area));
            }
        }

        /// With units for work it is the game by steps.
        #[test]
        fn units_give_the_profile(dag in any_dag(14)) {
            let ones = Weights::new(dag.len(), Some(vec![1; dag.len()]), None).unwrap();
            let (order, hull) = weighted_order(&dag, &ones, &mut Work::unlimited()).unwrap();
            let over = OverWork::new(&dag, &order, &ones, &hull);
            let profile = cairn_oracle::profile(&dag, &order);
            for (t, &eligible) in profile.iter().enumerate() {
                let made = over.reached.iter().filter(|r| **r <= t as u64).count() as u64;
                prop_assert_eq!(over.sources + made, u64::from(eligible) + t as u64);
            }
        }
    }
}
