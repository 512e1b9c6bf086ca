//! Dags of well-known computations: FFT, fork-join, AIRSN. Knows no randomness.

use super::FamilyError;
use super::draft::{Draft, at_least};
use crate::Dag;

/// The FFT dag of dimension d (\[RY05\] §2.1.3): levels d, d−1, …, 0 of 2^d tasks; the task x of level l has as children
/// the tasks of level l−1 that differ from x in bit l−1 at most. Numbered level by level from the sources.
pub(super) fn fft(dimension: u32) -> Result<Dag, FamilyError> {
    at_least("D", 1, dimension)?;
    // Beyond 32 there are too many tasks, whatever their exact number.
    let width = 1u128 << dimension.min(64);
    let d = u128::from(dimension);
    let mut draft = Draft::new((d + 1) * width, 2 * d * width)?;
    let width = width as u32;
    for level in (1..=dimension).rev() {
        let start = (dimension - level) * width;
        for x in 0..width {
            draft.arc(start + x, start + width + x);
            draft.arc(start + x, start + width + (x ^ 1 << (level - 1)));
        }
    }
    draft.finish()
}

/// One task, then w tasks, then one task.
pub(super) fn fork_join(w: u32) -> Result<Dag, FamilyError> {
    at_least("W", 1, w)?;
    let w128 = u128::from(w);
    let mut draft = Draft::new(w128 + 2, 2 * w128)?;
    for i in 1..=w {
        draft.arc(0, i);
        draft.arc(i, w + 1);
    }
    draft.finish()
}

/// Tasks in the chain at the start of AIRSN: with width 250 it has the 773 jobs that were run.
const HANDLE: u32 = 21;

/// AIRSN of width w, an fMRI workflow: a chain ("handle") of 21 jobs; its end and one private source ("fringe") each
/// lead to w jobs ("cover"), which join in one job, fork to w jobs and join again. 3w + 23 tasks, numbered in
/// this order, fringe before cover.
pub(super) fn airsn(w: u32) -> Result<Dag, FamilyError> {
    at_least("W", 1, w)?;
    let w128 = u128::from(w);
    let mut draft = Draft::new(3 * w128 + 23, 5 * w128 + 20)?;
    for i in 1..HANDLE {
        draft.arc(i - 1, i);
    }
    let (fringe, cover) = (HANDLE, HANDLE + w);
    let join = cover + w;
    let last = join + 1 + w;
    for i in 0..w {
        draft.arc(HANDLE - 1, cover + i);
        draft.arc(fringe + i, cover + i);
        draft.arc(cover + i, join);
        draft.arc(join, join + 1 + i);
        draft.arc(join + 1 + i, last);
    }
    draft.finish()
}
