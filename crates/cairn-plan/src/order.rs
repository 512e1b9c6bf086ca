//! An order along the chain of the hull: optimal at every vertex, greedy in between. Knows no proofs.

use crate::counts::parents_left;
use crate::{Hull, Weights};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Growing, narrow, nearness};

/// Executes piece after piece of the chain, sinks last. Inside a piece always the eligible task whose execution
/// makes most tasks eligible now; among equals the one that brings its children nearest, then the smaller id.
///
/// A topological order of all tasks that attains the bound at every vertex of the hull. O((tasks + arcs)·log tasks).
///
/// # Panics
/// If `hull` is not that of `dag`.
pub(crate) fn chain_order(dag: &Dag, hull: &Hull) -> Vec<TaskId> {
    chain_order_by_cost(dag, hull, &Weights::unit(dag.len()))
}

/// As `chain_order`, with what tasks make eligible divided by what they cost; a task that costs nothing goes at once.
pub(crate) fn chain_order_by_cost(dag: &Dag, hull: &Hull, weights: &Weights) -> Vec<TaskId> {
    let mut greedy = Greedy::new(dag, weights);
    for piece in hull.tasks_by_piece() {
        greedy.execute_all(&piece);
    }
    let mut order = greedy.order;
    order.extend(dag.sinks());
    assert_eq!(
        order.len(),
        dag.len(),
        "every task lies in a piece of the chain or is a sink"
    );
    order
}

/// (gain now, nearness of children): the largest is executed next. By unit of cost, as the bits of floats, which sort like the
/// numbers as none is negative.
type Key = (u64, u64);

struct Greedy<'a> {
    dag: &'a Dag,
    weights: &'a Weights,
    /// By task: parents not executed, and the exclusive or of their ids, which names the last one left: so it is counted here.
    missing: Vec<u32>,
    last: Vec<u32>,
    /// By task: children that lack nothing else.
    gain: Vec<u32>,
    near: Vec<u32>,
    /// By task: whether its piece has begun, so that it may go once it is eligible.
    offered: Vec<bool>,
    eligible: Growing<Key, TaskId>,
    order: Vec<TaskId>,
}

impl<'a> Greedy<'a> {
    fn new(dag: &'a Dag, weights: &'a Weights) -> Greedy<'a> {
        let missing = parents_left(dag);
        let only = |t: TaskId| {
            dag.children(t)
                .iter()
                .filter(|c| missing[c.index()] == 1)
                .count()
        };
        let near = |t: TaskId| {
            let children = dag.children(t).iter();
            let each = children.map(|c| nearness(missing[c.index()]));
            // It only breaks ties: of more children than can be counted, all are alike.
            each.fold(0, u32::saturating_add)
        };
        Greedy {
            last: (dag.tasks())
                .map(|t| dag.parents(t).iter().fold(0, |x, p| x ^ p.0))
                .collect(),
            gain: dag.tasks().map(|t| narrow(only(t))).collect(),
            near: dag.tasks().map(near).collect(),
            offered: vec![false; dag.len()],
            eligible: Growing::of(dag.len(), []),
            order: Vec::with_capacity(dag.len()),
            missing,
            dag,
            weights,
        }
    }

    fn key(&self, task: TaskId) -> Key {
        let rate = |worth: u32| match self.weights.cost(task) {
            0 => f64::INFINITY.to_bits(),
            cost => (f64::from(worth) / cost as f64).to_bits(),
        };
        let (gain, near) = (self.gain[task.index()], self.near[task.index()]);
        (rate(gain), rate(near))
    }

    /// Executes the tasks of a piece, all of which have their parents in this piece or an earlier one.
    fn execute_all(&mut self, piece: &[TaskId]) {
        // All are offered before the first goes: a task of the piece may open another one of it.
        for &task in piece {
            self.offered[task.index()] = true;
            if self.missing[task.index()] == 0 {
                self.eligible.push(self.key(task), task);
            }
        }
        while let Some(task) = self.eligible.pop() {
            self.execute(task);
        }
    }

    fn execute(&mut self, task: TaskId) {
        self.order.push(task);
        for &child in self.dag.children(task) {
            let c = child.index();
            self.missing[c] -= 1;
            self.last[c] ^= task.0;
            match self.missing[c] {
                0 if self.offered[c] => self.eligible.push(self.key(child), child),
                1 => {
                    let last = TaskId(self.last[c]);
                    self.gain[last.index()] += 1;
                    // From half to all of it. Earlier changes of nearness are not told to the parents:
                    // that would be a step for every pair of parents.
                    let near = &mut self.near[last.index()];
                    *near = near.saturating_add(nearness(1) - nearness(2));
                    if self.offered[last.index()] && self.missing[last.index()] == 0 {
                        self.eligible.push(self.key(last), last);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hull::upper_bound;
    use crate::{Work, hull};
    use cairn_oracle::{any_dag, profile};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn attains_the_bound_at_every_vertex(dag in any_dag(14)) {
            let hull = hull(&dag, &Weights::unit(dag.len()), &mut Work::unlimited()).unwrap();
            let order = chain_order(&dag, &hull);
            let reached = profile(&dag, &order); // panics unless topological
            let bound = upper_bound(&dag, &hull);
            for vertex in hull.vertices() {
                let t = vertex.cost as usize;
                prop_assert_eq!(reached[t], bound[t]);
            }
        }
    }
}
