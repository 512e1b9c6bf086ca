//! The one-step closure of a piece: the concave hull of what any number of its tasks gains. Knows no other piece.

use super::greedy;
use crate::{Weights, hull};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{NONE, Puzzle, Work, long, narrow, wide};

/// A bound on what any number of tasks gains, and an order that attains it at the corners.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) upper: Vec<u32>,
    pub(super) order: Vec<u32>,
}

/// Steps that the closure of a piece is reckoned at: cuts cost some dozen visits an arc.
pub(super) fn cost(piece: &Puzzle) -> u64 {
    64 * long(piece.len() + piece.arcs())
}

/// The piece as a dag of two levels has a hull by minimum cuts; no choice of t tasks gains more than the hull at t.
/// Its nested sets are best for their size; between two of them tasks go by current yield.
///
/// The bound is weaker, but holds, when `work` is over before the cuts are found. `None` if the piece is too large for 32-bit
/// numbers.
pub(super) fn closure(piece: &Puzzle, work: &mut Work<'_>) -> Option<Closure> {
    let tasks = piece.len();
    // Prizes of one task alone are one more sink of it, with their number as weight.
    let owners: Vec<u32> = (0..narrow(tasks))
        .filter(|&v| piece.own[wide(v)] > 0)
        .collect();
    let nodes = tasks + piece.shared() + owners.len();
    let mut arcs = Vec::with_capacity(piece.arcs() + owners.len());
    let mut reward = vec![1u64; tasks];
    for p in 0..narrow(piece.shared()) {
        arcs.extend(piece.needs(p).iter().map(|&v| (v, narrow(tasks) + p)));
        reward.push(u64::from(piece.weight[wide(p)]));
    }
    for &v in &owners {
        arcs.push((v, narrow(reward.len())));
        reward.push(u64::from(piece.own[wide(v)]));
    }
    let dag = Dag::from_arcs(nodes, arcs).ok()?;
    let weights = Weights::new(nodes, None, Some(reward)).ok()?;
    let hull = hull(&dag, &weights, work).ok()?;
    let total = u64::from(piece.total());
    let upper = (0..=long(tasks)).map(|t| hull.at(t).min(total) as u32);
    // A task without prizes is in no set of the hull, and comes last: `NONE` is larger than any number.
    let stage = |v: u32| {
        hull.executed_in(TaskId(v))
            .map_or(NONE, |piece| narrow(piece.index()))
    };
    Some(Closure {
        upper: upper.collect(),
        order: greedy::order(piece, stage),
    })
}
