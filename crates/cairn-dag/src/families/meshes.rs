//! Evolving meshes and reduction-meshes in any dimension. Knows no other family.

use super::FamilyError;
use super::draft::{Draft, MOST, at_least};
use crate::{Dag, wide};

/// The evolving mesh: points of `dim` coordinates from 0 with a sum below `levels`; an arc from each point to every
/// point that is one larger in one coordinate. Numbered level by level.
pub(super) fn mesh(levels: u32, dim: u32) -> Result<Dag, FamilyError> {
    draft(levels, dim)?.finish()
}

/// The reduction-mesh: the dual (\[RY05\] §2.1.1).
pub(super) fn reduction_mesh(levels: u32, dim: u32) -> Result<Dag, FamilyError> {
    draft(levels, dim)?.finish_upside_down()
}

fn draft(levels: u32, dim: u32) -> Result<Draft, FamilyError> {
    at_least("LEVELS", 1, levels)?;
    at_least("dim", 1, dim)?;
    let inner = if levels == 1 {
        0
    } else {
        points(levels - 1, dim)
    };
    let mut draft = Draft::new(points(levels, dim), inner.saturating_mul(u128::from(dim)))?;
    if levels > 1 {
        let ranks = Ranks::new(levels, dim);
        let mut point = vec![0u32; wide(dim)];
        let mut shifted = vec![0u32; wide(dim) + 1];
        let mut offset = 0;
        for level in 0..levels - 1 {
            let below = offset + ranks.on_level(level);
            first_point(&mut point, level);
            loop {
                ranks.arcs(&point, offset, below, &mut shifted, &mut draft);
                if !next_point(&mut point) {
                    break;
                }
            }
            offset = below;
        }
    }
    Ok(draft)
}

/// How many points have a sum below `levels`: C(levels − 1 + dim, dim), or some number above `MOST`.
fn points(levels: u32, dim: u32) -> u128 {
    let (more, fewer) = ((levels - 1).max(dim), (levels - 1).min(dim));
    let mut count = 1u128;
    for i in 1..=u128::from(fewer) {
        // Exact: a product of i successive numbers is divisible by i!.
        count = count * (u128::from(more) + i) / i;
        // Stops before the product could pass 128 bits: a factor has at most 33.
        if count > MOST {
            return count;
        }
    }
    count
}

/// The place of a point on its level, when a level is sorted by its last coordinate, then the last but one, and so on.
///
/// Written as the sorted word that has x_i letters i, the place is the sum of C(letter + j − 1, j) over the
/// letters j = 1, 2, …; a run of equal letters telescopes, and what remains are the numbers C(i + m, m).
struct Ranks {
    levels: usize,
    dim: usize,
    /// C(i + m, m) at i·levels + m.
    binomial: Vec<u32>,
}

impl Ranks {
    /// Fits the point set only where that itself fits 32 bits.
    fn new(levels: u32, dim: u32) -> Ranks {
        let (levels, dim) = (wide(levels), wide(dim));
        // Every entry counts points of the mesh, or fewer, so it fits 32 bits once `Draft::new` has accepted their
        // number.
        let mut binomial = vec![1u32; levels * dim];
        for i in 1..dim {
            for m in 1..levels {
                binomial[i * levels + m] =
                    binomial[(i - 1) * levels + m] + binomial[i * levels + m - 1];
            }
        }
        Ranks {
            levels,
            dim,
            binomial,
        }
    }

    fn binomial(&self, i: usize, m: u32) -> u32 {
        self.binomial[i * self.levels + wide(m)]
    }

    fn on_level(&self, level: u32) -> u32 {
        self.binomial(self.dim - 1, level)
    }

    /// What a run of `count` letters `i` after `before` smaller ones adds to the place.
    fn run(&self, i: usize, before: u32, count: u32) -> u32 {
        self.binomial(i, before + count) - self.binomial(i, before)
    }

    /// Draws the arcs out of `point`, whose level starts at id `offset` and the next one at `below`. O(dim).
    /// `shifted` is scratch.
    fn arcs(&self, point: &[u32], offset: u32, below: u32, shifted: &mut [u32], draft: &mut Draft) {
        // Coordinates from the last: what they add if a smaller letter is put in, and the sum before them.
        let mut before: u32 = point.iter().sum();
        let mut place = 0;
        for i in (0..self.dim).rev() {
            before -= point[i];
            place += self.run(i, before, point[i]);
            // A letter put in before a run moves it by one: both sums, with and without, from one pass keep a child at
            // O(1).
            shifted[i] = shifted[i + 1] + self.run(i, before + 1, point[i]);
        }
        let mut kept = 0;
        for i in 0..self.dim {
            let child = kept + self.run(i, before, point[i] + 1) + shifted[i + 1];
            draft.arc(offset + place, below + child);
            kept += self.run(i, before, point[i]);
            before += point[i];
        }
    }
}

/// All of `level` in the first coordinate.
fn first_point(point: &mut [u32], level: u32) {
    point.fill(0);
    point[0] = level;
}

/// Another point of the same sum; `false` after the last.
fn next_point(point: &mut [u32]) -> bool {
    let Some(i) = point.iter().position(|&x| x > 0) else {
        return false;
    };
    if i + 1 == point.len() {
        return false;
    }
    let value = point[i];
    point[i] = 0;
    // One step of the odometer: one unit moves up by a coordinate, the rest falls back to the first.
    point[0] = value - 1;
    point[i + 1] += 1;
    true
}
