//! The one-step closure of a piece: the concave hull of what any number of its tasks gains. Knows no other piece.

use super::greedy;
use crate::counts::{at, narrow};
use crate::{Weights, hull};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{NONE, Puzzle, Work};
use std::sync::atomic::{AtomicU64, Ordering};

/// A bound on what any number of tasks gains, and an order that attains it at the corners.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) upper: Vec<u32>,
    pub(super) order: Vec<u32>,
}

/// Steps that the closure of a piece is reckoned at: cuts cost some dozen visits an arc.
pub(super) fn cost(piece: &Puzzle) -> u64 {
    64 * (piece.len() + piece.arcs()) as u64
}

/// The piece as a dag of two levels has a hull by minimum cuts; no choice of t tasks gains more than the hull at t.
/// Its nested sets are best for their size; between two of them tasks go by current yield.
///
/// `patience` bounds how often the cuts may ask whether to go on, beside `stop`; the bound is weaker, but holds, when they
/// may not. `None` if the piece is too large for 32-bit numbers.
pub(super) fn closure(
    piece: &Puzzle,
    patience: u64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Closure> {
    let tasks = piece.len();
    // Prizes of one task alone are one more sink of it, with their number as weight.
    let owners: Vec<u32> = (0..tasks as u32)
        .filter(|&v| piece.own[at(v)] > 0)
        .collect();
    let nodes = tasks + piece.shared() + owners.len();
    let mut arcs = Vec::with_capacity(piece.arcs() + owners.len());
    let mut reward = vec![1u64; tasks];
    for p in 0..piece.shared() as u32 {
        arcs.extend(piece.needs(p).iter().map(|&v| (v, narrow(tasks) + p)));
        reward.push(u64::from(piece.weight[at(p)]));
    }
    for &v in &owners {
        arcs.push((v, narrow(reward.len())));
        reward.push(u64::from(piece.own[at(v)]));
    }
    let dag = Dag::from_arcs(nodes, arcs).ok()?;
    let weights = Weights::new(nodes, None, Some(reward)).ok()?;
    // No steps of a `Work`: the cuts of large pieces run in several threads, each with a part of its own, and only the
    // question is common to all. So the questions are counted, in an atomic.
    let asked = AtomicU64::new(0);
    let is_spent = || asked.fetch_add(1, Ordering::Relaxed) >= patience || stop();
    let hull = hull(&dag, &weights, &mut Work::until(&is_spent)).ok()?;
    let total = u64::from(piece.total());
    let upper = (0..=tasks as u64).map(|t| hull.at(t).min(total) as u32);
    // A task without prizes is in no set of the hull, and comes last: `NONE` is larger than any number.
    let stage = |v: u32| hull.executed_in(TaskId(v)).map_or(NONE, narrow);
    Some(Closure {
        upper: upper.collect(),
        order: greedy::order(piece, stage),
    })
}
