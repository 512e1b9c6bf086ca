//! The hull: nested ideals that are best for their cost, and the bound they give. Knows not how they are found.

use crate::closure::{ClosureGraph, Gain, GraphNodeId, LinkId, Tuning, chain};
use crate::{HullError, Weights};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, long};
use std::cmp::Ordering;

/// One ideal of the chain: executing its tasks costs `cost` and makes tasks worth `reward` eligible (or executed),
/// not counting sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Cost of the tasks in the ideal.
    pub cost: u64,
    /// Reward of all tasks with parents whose parents all lie in the ideal. No ideal of the same cost has more.
    pub reward: u64,
    /// Whether the hull has a corner here. Then no other ideal (apart from sinks and tasks that cost nothing) is
    /// as good for the same cost, so every IC-optimal schedule passes through this one.
    pub is_strict: bool,
}

/// The upper concave hull of all (cost, reward) of ideals, with nested ideals on it.
///
/// Reward counts what an ideal makes eligible, beyond the sources. For every dag the function
/// "reward of an ideal" is supermodular, so the ideals that are best for falling prices of cost are nested: one
/// schedule passes through all of them. Between two of them the hull is an upper bound that no schedule beats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hull {
    vertices: Vec<Vertex>,
    executed_in: Vec<Option<LinkId>>,
    eligible_in: Vec<Option<LinkId>>,
    bound: Vec<Gain>,
    /// Pieces that there was no time to settle, sorted.
    unsettled: Vec<LinkId>,
    is_unit: bool,
}

/// The hull of a dag: all of it, or as much as there is time for.
///
/// Problem: parametric maximum closure on the split graph, in exact integers: a maximum closure is a minimum cut (Picard 1976), and
/// those for falling prices are nested (Picard and Queyranne 1980). Each cut is a maximum flow, found by
/// blocking flows on regular dags (Dinic 1970), by pseudoflow on others (Hochbaum 2008). Measured time grows like n^1.0 to
/// n^1.4; space is O(tasks + arcs), about 150 bytes an arc at the peak. Large pieces are shared among the threads
/// of the current rayon pool; the result is the same for any number of threads.
///
/// A step of `work` is a stretch that is linear in its piece at the most, and each piece that is handed to a thread has as many. When
/// it is time to stop, what is found so far is returned: true vertices of the hull, longer pieces between them, and a bound from the flow at that moment. It is valid but weaker.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::{Weights, Work, hull};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)])?;
/// let hull = hull(&diamond, &Weights::unit(4), &mut Work::unlimited())?;
/// let corners: Vec<_> = hull.vertices().iter().map(|v| (v.cost, v.reward)).collect();
/// assert_eq!(corners, [(0, 0), (1, 2), (3, 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`HullError`], when the weights are for another number of tasks or the dag is too large for 32-bit numbers.
pub fn hull(dag: &Dag, weights: &Weights, work: &mut Work<'_>) -> Result<Hull, HullError> {
    tuned_hull(dag, weights, &Tuning::default(), work)
}

fn tuned_hull(
    dag: &Dag,
    weights: &Weights,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<Hull, HullError> {
    let graph = ClosureGraph::new(dag, weights)?;
    let chain = chain(&graph, tuning, work);
    let link_of = chain.link_of(graph.len());
    let of_copy = |copies: &[Option<GraphNodeId>]| {
        let link = |copy: &Option<GraphNodeId>| link_of[copy.as_ref()?.index()];
        copies.iter().map(link).collect()
    };
    let mut vertices = vec![Vertex {
        cost: 0,
        reward: 0,
        is_strict: true,
    }];
    let mut bound = vec![Gain::ZERO];
    let mut unsettled = Vec::new();
    let stretches = &chain.stretches;
    for (i, stretch) in stretches.iter().enumerate() {
        let mut at = stretch.place.base;
        for link in &stretch.links {
            at += link.gain;
            vertices.push(Vertex {
                cost: at.cost,
                reward: at.reward,
                is_strict: false,
            });
        }
        // Neighbouring stretches of equal slope are one edge: no corner between. In an unsettled stretch only its range of
        // slopes is known, so that this may miss a corner, never invent one.
        let corner = stretches.get(i + 1).is_none_or(|next| {
            stretch.place.flattest.cmp_slope(next.place.steepest) == Ordering::Greater
        });
        if let Some(last) = vertices.last_mut() {
            last.is_strict = corner;
        }
        match &stretch.bound {
            Some(points) => {
                bound.extend(points.iter().map(|&point| stretch.place.base + point));
                // A stretch that was not settled is one link, hence one piece: the last one.
                unsettled.push(LinkId::new(vertices.len() - 2));
            }
            None => bound.push(stretch.place.base + stretch.place.total),
        }
    }
    Ok(Hull {
        vertices,
        executed_in: of_copy(&graph.out_copy),
        eligible_in: of_copy(&graph.in_copy),
        bound,
        unsettled,
        is_unit: weights.is_unit(),
    })
}

impl Hull {
    /// Number of tasks of the dag.
    pub fn tasks(&self) -> usize {
        self.executed_in.len()
    }

    /// The chain: nested ideals from the empty one to the one with all tasks but sinks. Piece `i` leads from
    /// vertex `i` to vertex `i + 1`. If the hull is complete the chain is as fine as possible.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Number of pieces.
    pub fn pieces(&self) -> usize {
        self.vertices.len() - 1
    }

    /// The piece in which the task is executed; `None` for sinks, which come last.
    #[inline]
    pub(crate) fn executed_in(&self, task: TaskId) -> Option<LinkId> {
        self.executed_in[task.index()]
    }

    /// The piece at the end of which the task is eligible; `None` for sources, which always are.
    #[inline]
    pub(crate) fn eligible_in(&self, task: TaskId) -> Option<LinkId> {
        self.eligible_in[task.index()]
    }

    /// The tasks executed in each piece, in id order. O(tasks + pieces).
    pub(crate) fn tasks_by_piece(&self) -> Vec<Vec<TaskId>> {
        let mut pieces = vec![Vec::new(); self.pieces()];
        for (task, piece) in self.executed_in.iter().enumerate() {
            if let Some(piece) = piece {
                pieces[piece.index()].push(TaskId::new(task));
            }
        }
        pieces
    }

    /// Whether the whole hull was found. If not, the chain is coarser and the bound higher, but both hold.
    pub(crate) fn is_complete(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Whether the piece is known to be as fine as possible, and the hull straight over it.
    pub(crate) fn is_settled(&self, link: LinkId) -> bool {
        self.unsettled.binary_search(&link).is_err()
    }

    /// The largest whole reward that an ideal of at most this cost can have, according to the hull: its height
    /// there, rounded down. O(log pieces).
    pub fn at(&self, cost: u64) -> u64 {
        let next = self.bound.partition_point(|point| point.cost <= cost);
        let left = self.bound[next - 1];
        match self.bound.get(next) {
            Some(&right) => height(left, right, cost),
            None => left.reward,
        }
    }

    /// The least whole cost at which an ideal can have this reward, according to the hull: no ideal has it for less.
    /// The cost of the full set if none has it at all. O(log pieces).
    pub(crate) fn cost_for(&self, reward: u64) -> u64 {
        let next = self.bound.partition_point(|point| point.reward < reward);
        match (
            next.checked_sub(1).map(|i| self.bound[i]),
            self.bound.get(next),
        ) {
            (Some(left), Some(&right)) => {
                let rise = u128::from(right.reward - left.reward);
                let run = u128::from(right.cost - left.cost);
                let up = u128::from(reward - left.reward);
                // Rounded up, for costs are whole; the division has no zero, since `right` is the first that reaches
                // the reward.
                left.cost + (run * up).div_ceil(rise) as u64
            }
            (None, Some(first)) => first.cost,
            (last, None) => last.map_or(0, |point| point.cost),
        }
    }
}

/// The height at `cost` of the line from `left` to `right`, rounded down.
fn height(left: Gain, right: Gain, cost: u64) -> u64 {
    let rise = u128::from(right.reward.saturating_sub(left.reward));
    let run = u128::from(right.cost - left.cost);
    let along = u128::from(cost - left.cost);
    left.reward + (rise * along / run) as u64
}

/// The most tasks that can be eligible after t = 0..=n executed tasks, according to the hull:
/// |S| − t + ⌊hull(t)⌋ with S the sources while tasks with children are left, then n − t.
///
/// No schedule of the dag has more eligible tasks at any step. O(tasks + pieces).
///
/// # Panics
/// If `hull` is not the hull of `dag` for unit weights.
pub(crate) fn upper_bound(dag: &Dag, hull: &Hull) -> Vec<u32> {
    assert!(
        hull.is_unit && hull.executed_in.len() == dag.len(),
        "the hull must be that of this dag, with unit weights"
    );
    let sources = long(dag.sources().count());
    let inner = long(dag.len() - dag.sinks().count());
    let mut left = 0;
    (0..=long(dag.len()))
        .map(|t| {
            if t >= inner {
                return (long(dag.len()) - t) as u32;
            }
            // Never past the end: `t` is below the cost of all nonsinks, which is that of the last point.
            while hull.bound[left + 1].cost <= t {
                left += 1;
            }
            (sources + height(hull.bound[left], hull.bound[left + 1], t) - t) as u32
        })
        .collect()
}

#[cfg(test)]
mod tests;
