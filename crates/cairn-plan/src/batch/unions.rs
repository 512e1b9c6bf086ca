//! The best r tasks of a small piece of any shape: every union of prize needs is looked at. Knows no other piece.

use super::piece::Piece;
use hashbrown::HashSet;

/// The best gain for each number of tasks up to `most`, with a set for each; `None` when the piece has more than 64
/// tasks or more than `states` unions of at most `most` tasks.
///
/// The best set of `r` tasks is a union of the needs of the prizes it gains, filled up with anything; the unions
/// are closed under adding one more prize. Exponential at the worst: choosing many subsets with a small union is
/// NP-hard (\[MR05\], Theorem 3.1).
pub(super) fn solve(
    piece: &Piece,
    most: usize,
    states: usize,
) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    if piece.len() > 64 {
        return None;
    }
    let masks: Vec<u64> = (piece.needs.iter())
        .map(|needs| needs.iter().fold(0, |mask, &v| mask | 1u64 << v))
        .collect();
    let most = most.min(piece.len());
    let mut unions: Vec<u64> = vec![0];
    let mut seen: HashSet<u64> = HashSet::from_iter([0]);
    for &mask in &masks {
        for i in 0..unions.len() {
            let union = unions[i] | mask;
            if union.count_ones() as usize <= most && seen.insert(union) {
                if unions.len() == states {
                    return None;
                }
                unions.push(union);
            }
        }
    }
    let gain = |union: u64| -> u32 {
        let gained = masks
            .iter()
            .zip(&piece.weight)
            .filter(|(m, _)| **m & !union == 0);
        gained.map(|(_, &w)| w).sum()
    };
    let mut best: Vec<(u32, u64)> = vec![(0, 0); most + 1];
    for &union in &unions {
        let slot = &mut best[union.count_ones() as usize];
        let reached = gain(union);
        if reached > slot.0 {
            *slot = (reached, union);
        }
    }
    for r in 1..=most {
        if best[r].0 < best[r - 1].0 || best[r].1.count_ones() == 0 {
            best[r] = best[r - 1];
        }
    }
    let sets = (best.iter().enumerate())
        .map(|(r, &(_, union))| fill_up(union, r, piece.len()))
        .collect();
    Some((best.into_iter().map(|b| b.0).collect(), sets))
}

fn fill_up(union: u64, count: usize, tasks: usize) -> Vec<u32> {
    let has = |v: &u32| union >> v & 1 == 1;
    let mut set: Vec<u32> = (0..tasks as u32).filter(has).collect();
    let more = count - set.len();
    set.extend((0..tasks as u32).filter(|v| !has(v)).take(more));
    set
}
