//! Choosing by current yield: the fast way, for pieces too large to solve. Knows nothing of other pieces.

use crate::counts::{at, narrow};
use crate::nearness::{NEAR, nearness_of};
use cairn_kernel::{Growing, Puzzle};
use std::cmp::Reverse;

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
    let mut near: Vec<u64> = now.iter().map(|&own| nearness_of(own, 1)).collect();
    for p in 0..piece.shared() {
        let part = nearness_of(piece.weight[p], lacking[p]);
        (piece.needs(narrow(p)).iter()).for_each(|&v| near[at(v)] += part);
    }
    let key = |now: &[u32], near: &[u64], v: u32| (Reverse(stage(v)), now[at(v)], near[at(v)]);
    let all = (0..piece.len() as u32).map(|v| (key(&now, &near, v), v));
    let mut free = Growing::of(piece.len(), all);
    let mut order = Vec::with_capacity(piece.len());
    while let Some(v) = free.pop() {
        order.push(v);
        for &prize in piece.prizes(v) {
            let p = at(prize);
            let before = lacking[p];
            lacking[p] -= 1;
            // Far from complete, a prize tells little, and telling everyone would cost the square of its needs.
            if lacking[p] == 0 || lacking[p] > NEAR {
                continue;
            }
            let weight = piece.weight[p];
            for &u in piece.needs(prize) {
                if free.is_popped(u) {
                    continue;
                }
                near[at(u)] += nearness_of(weight, lacking[p]) - nearness_of(weight, before);
                if lacking[p] == 1 {
                    now[at(u)] += weight;
                }
                free.push(key(&now, &near, u), u);
            }
        }
    }
    order
}
