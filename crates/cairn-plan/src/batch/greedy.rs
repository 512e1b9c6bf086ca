//! Choosing by current yield: the fast way, for pieces too large to solve. Knows nothing of other pieces.

use super::piece::Piece;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A prize counts as coming nearer when it lacks no more tasks than this.
const NEAR: u32 = 4;

/// All tasks of the piece: always the one whose choice gains most now, ties by what it brings nearest.
///
/// On expansive pieces every prefix gains at least half of what any set of its size does: a prize that needs
/// several tasks needs at least two, and each of them has at least as many prizes of its own as shared ones.
/// \[MR05\], §6 proves a factor of 4 for a static choice; choosing by *current* yield gives 2. O(arcs·log tasks).
pub(super) fn order(piece: &Piece) -> Vec<u32> {
    let mut lacking: Vec<u32> = piece.needs.iter().map(|n| n.len() as u32).collect();
    let mut now = vec![0u32; piece.len()];
    let mut near = vec![0u64; piece.len()];
    for (p, needs) in piece.needs.iter().enumerate() {
        for &v in needs {
            near[v as usize] += u64::from(piece.weight[p]) * 1000 / u64::from(lacking[p]);
            now[v as usize] += if lacking[p] == 1 { piece.weight[p] } else { 0 };
        }
    }
    let entry = |now: &[u32], near: &[u64], v: u32| (now[v as usize], near[v as usize], Reverse(v));
    let mut heap: BinaryHeap<_> = (0..piece.len() as u32)
        .map(|v| entry(&now, &near, v))
        .collect();
    let mut chosen = vec![false; piece.len()];
    let mut order = Vec::with_capacity(piece.len());
    while let Some((_, _, Reverse(v))) = heap.pop() {
        // Yields only grow, and each growth pushed a new entry: the first one popped is the newest.
        if std::mem::replace(&mut chosen[v as usize], true) {
            continue;
        }
        order.push(v);
        for &p in &piece.prizes[v as usize] {
            let p = p as usize;
            let before = u64::from(lacking[p]);
            lacking[p] -= 1;
            // Far from complete, a prize tells little, and telling everyone would cost the square of its needs.
            if lacking[p] == 0 || lacking[p] > NEAR {
                continue;
            }
            for &u in piece.needs[p].iter().filter(|&&u| !chosen[u as usize]) {
                let weight = u64::from(piece.weight[p]);
                near[u as usize] += weight * 1000 / (before - 1) - weight * 1000 / before;
                if lacking[p] == 1 {
                    now[u as usize] += piece.weight[p];
                }
                heap.push(entry(&now, &near, u));
            }
        }
    }
    order
}

/// What each prefix of an order gains.
pub(super) fn gains(piece: &Piece, order: &[u32]) -> Vec<u32> {
    let mut lacking: Vec<u32> = piece.needs.iter().map(|n| n.len() as u32).collect();
    let mut gained = 0;
    let mut out = Vec::with_capacity(order.len() + 1);
    out.push(0);
    for &v in order {
        for &p in &piece.prizes[v as usize] {
            lacking[p as usize] -= 1;
            if lacking[p as usize] == 0 {
                gained += piece.weight[p as usize];
            }
        }
        out.push(gained);
    }
    out
}
