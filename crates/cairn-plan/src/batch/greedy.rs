//! Choosing by current yield: the fast way, for pieces too large to solve. Knows nothing of other pieces.

use cairn_kernel::{Puzzle, greedy, nearness_of, wide};
use std::cmp::Reverse;

/// All tasks of the piece, those of a lower stage first; within a stage always the one whose choice gains most now,
/// ties by what it brings nearest. `stage` has one entry a task.
///
/// With a single stage, on expansive pieces, every prefix gains at least half of what any set of its size does: a
/// prize that needs several tasks needs at least two, and each of them has at least as many prizes of its own as
/// shared ones. \[MR05\], §6 proves a factor of 4 for a static choice; choosing by *current* yield gives 2.
/// O(arcs·log tasks).
pub(super) fn order(piece: &Puzzle, stage: impl Fn(u32) -> u32) -> Vec<u32> {
    let worth = |p: u32, lacking: u32| {
        let weight = piece.weight[wide(p)];
        let now = if lacking == 1 { weight } else { 0 };
        (now, nearness_of(weight, lacking))
    };
    greedy(piece, |v| Reverse(stage(v)), worth)
}
