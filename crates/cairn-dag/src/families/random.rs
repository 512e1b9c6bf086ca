//! Random dags without special structure: layered and Erdős–Rényi. Knows no blocks.

use super::FamilyError;
use super::dice::{Dice, Gaps};
use super::draft::{Draft, MOST, at_least, check};
use crate::Dag;

/// `levels` levels of `width` tasks. Each task below the first level has 1 to `most` distinct parents, the number
/// uniform, the parents uniform among the tasks of the `skip` levels before (fewer near the top). Numbered
/// level by level. O(tasks + arcs).
///
/// With `skip` 1 a task's level is its longest-path level and there are no shortcuts.
pub(super) fn layered(
    levels: u32,
    width: u32,
    most: u32,
    skip: u32,
    dice: &mut Dice,
) -> Result<Dag, FamilyError> {
    at_least("LEVELS", 1, levels)?;
    at_least("WIDTH", 1, width)?;
    at_least("MAXPARENTS", 1, most)?;
    at_least("skip", 1, skip)?;
    if most > width {
        return Err(FamilyError::TooManyParents { most, width });
    }
    let (levels128, width128) = (u128::from(levels), u128::from(width));
    let mean_arcs = (levels128 - 1) * width128 * (u128::from(most) + 1) / 2;
    check("arcs", mean_arcs)?;
    let mut draft = Draft::new(levels128 * width128, with_room(mean_arcs))?;
    // Candidates, as distances back from the level: any order will do, since each draw is uniform from any order.
    let mut back: Vec<u32> = Vec::new();
    for level in 1..levels {
        let first = level * width;
        // One level more than before; from then on distances stay the same for every level.
        if level <= skip {
            back.extend((level - 1) * width + 1..=level * width);
        }
        for task in first..first + width {
            let parents = dice.between(1, most) as usize;
            dice.draw_first(&mut back, parents);
            for &distance in &back[..parents] {
                draft.arc(first - distance, task);
            }
        }
    }
    draft.finish()
}

/// G(n, p): for each pair of tasks i < j an arc i→j with probability p, independently. O(tasks + arcs): instead of
/// asking pair after pair, draws how many to pass over.
pub(super) fn erdos_renyi(tasks: u32, p: f64, dice: &mut Dice) -> Result<Dag, FamilyError> {
    at_least("N", 1, tasks)?;
    if !(0.0..=1.0).contains(&p) {
        return Err(FamilyError::BadProbability(p.to_string()));
    }
    let n = u64::from(tasks);
    let mean_arcs = (n * (n - 1) / 2) as f64 * p;
    // Too many on the average; where chance alone makes them too many, `finish` says so.
    if mean_arcs > MOST as f64 {
        let count = mean_arcs as u128;
        return Err(FamilyError::TooLarge {
            what: "arcs",
            count,
        });
    }
    let mut draft = Draft::new(u128::from(n), with_room(mean_arcs as u128))?;
    if p > 0.0 {
        let gaps = Gaps::new(p);
        // Pairs in the order (0,1), (0,2), (1,2), (0,3), …: child j has the parents before it.
        let mut parent = gaps.draw(dice);
        for child in 1..n {
            while parent < child {
                draft.arc(parent as u32, child as u32);
                parent = (parent + 1).saturating_add(gaps.draw(dice));
            }
            // Child j has j pairs; what is left over counts on among those of the next child.
            parent -= child;
        }
    }
    draft.finish()
}

/// A little more than expected, so that chance seldom makes the list grow.
fn with_room(mean_arcs: u128) -> u128 {
    (mean_arcs + mean_arcs / 64 + 64).min(MOST)
}
