//! Choosing by current yield: the fast way, for pieces too large to solve. Knows nothing of other pieces.

use crate::counts::{at, narrow};
use cairn_kernel::Puzzle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A prize counts as coming nearer when it lacks no more tasks than this.
// So each prize tells its needs at most four times, however many they are.
const NEAR: u32 = 4;

/// All tasks of the piece, those of a lower stage first; within a stage always the one whose choice gains most now,
/// ties by what it brings nearest. `stage` has one entry a task.
///
/// With a single stage, on expansive pieces, every prefix gains at least half of what any set of its size does: a
/// prize that needs several tasks needs at least two, and each of them has at least as many prizes of its own as
/// shared ones. \[MR05\], §6 proves a factor of 4 for a static choice; choosing by *current* yield gives 2.
/// O(arcs·log tasks).
pub(super) fn order(piece: &Puzzle, stage: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut lacking: Vec<u32> = (0..piece.shared() as u32)
        .map(|p| narrow(piece.needs(p).len()))
        .collect();
    let mut now = piece.own.clone();
    // In thousandths of a task: a tie-break, so what rounding loses does not matter.
    let mut near: Vec<u64> = now.iter().map(|&x| u64::from(x) * 1000).collect();
    for p in 0..piece.shared() {
        let part = u64::from(piece.weight[p]) * 1000 / u64::from(lacking[p]);
        (piece.needs(narrow(p)).iter()).for_each(|&v| near[at(v)] += part);
    }
    let entry = |now: &[u32], near: &[u64], v: u32| {
        let at = at(v);
        (Reverse(stage(v)), now[at], near[at], Reverse(v))
    };
    let mut heap: BinaryHeap<_> = (0..piece.len() as u32)
        .map(|v| entry(&now, &near, v))
        .collect();
    let mut chosen = vec![false; piece.len()];
    let mut order = Vec::with_capacity(piece.len());
    while let Some((.., Reverse(v))) = heap.pop() {
        // Yields only grow, and each growth pushed a new entry: the first one popped is the newest.
        if std::mem::replace(&mut chosen[at(v)], true) {
            continue;
        }
        order.push(v);
        for &prize in piece.prizes(v) {
            let p = at(prize);
            let before = u64::from(lacking[p]);
            lacking[p] -= 1;
            // Far from complete, a prize tells little, and telling everyone would cost the square of its needs.
            if lacking[p] == 0 || lacking[p] > NEAR {
                continue;
            }
            for &u in piece.needs(prize).iter().filter(|&&u| !chosen[at(u)]) {
                let weight = u64::from(piece.weight[p]);
                near[at(u)] += weight * 1000 / (before - 1) - weight * 1000 / before;
                if lacking[p] == 1 {
                    now[at(u)] += piece.weight[p];
                }
                heap.push(entry(&now, &near, u));
            }
        }
    }
    order
}
