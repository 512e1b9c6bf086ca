//! The bound of a certificate: that it follows from the evidence, that no set lies above it, and at which steps it is
//! proved. Knows no verdict.

use crate::exact::Solver;
use crate::format::{Certificate, SearchRecord};
use crate::ground::{Ground, across, exact_sum, upper};
use crate::parts::{Placed, parts};
use crate::real::Real;
use crate::rejected::Rejected;
use crate::width::{long, narrow};
use std::collections::BTreeSet;

/// The bound is what the evidence gives, and neither below the order nor above the hull.
pub(crate) fn check_claimed(certificate: &Certificate, by_hull: &[u64]) -> Result<(), Rejected> {
    let mut claimed = by_hull.to_vec();
    if certificate.evidence.blocks.is_some() {
        claimed.clone_from(&certificate.profile);
    }
    if let Some(search) = &certificate.evidence.search {
        lower(&mut claimed, search)?;
    }
    let bound = &certificate.bound;
    if *bound != claimed {
        // A bound that is only too long agrees everywhere: then the last step is named.
        let wrong = (0..claimed.len()).find(|&t| bound.get(t) != Some(&claimed[t]));
        let t = wrong.unwrap_or(claimed.len() - 1);
        return Err(Rejected::BoundNotFromEvidence(t));
    }
    let is_wrong = |&t: &usize| bound[t] < certificate.profile[t] || bound[t] > by_hull[t];
    match (0..bound.len()).find(is_wrong) {
        Some(t) => Err(Rejected::BoundContradicts(t)),
        None => Ok(()),
    }
}

/// Puts the claims of a search into the bound: each lower than what was there, in rising order of steps.
fn lower(claimed: &mut [u64], search: &SearchRecord) -> Result<(), Rejected> {
    let mut last = None;
    for &(t, value) in &search.bounds {
        let slot = usize::try_from(t).ok().and_then(|t| claimed.get_mut(t));
        match slot {
            // Rising steps, so that no step is lowered twice; `None` is less than every step.
            Some(slot) if value < *slot && last < Some(t) => *slot = value,
            _ => return Err(Rejected::SearchOutOfPlace(t)),
        }
        last = Some(t);
    }
    Ok(())
}

/// No bound lies below a set that can be executed.
pub(crate) fn check_against(
    certificate: &Certificate,
    real: &Real,
    ground: &Ground<'_>,
) -> Result<(), Rejected> {
    for (t, (&bound, &gain)) in certificate.bound.iter().zip(&real.gains).enumerate() {
        let eligible = ground.eligible(t, gain);
        if bound < eligible {
            return Err(Rejected::BoundBelowSet(t, bound, eligible));
        }
    }
    Ok(())
}

/// Lowers what is proved of all orders to what these gains allow. Returns whether it comes down to `goal`.
fn lower_to(best: &mut [u64], gains: &[u64], goal: &[u64], ground: &Ground<'_>) -> bool {
    for (t, (best, &gain)) in best.iter_mut().zip(gains).enumerate() {
        *best = (*best).min(ground.eligible(t, gain));
    }
    best.iter().zip(goal).all(|(best, goal)| best <= goal)
}

/// Lowers what is proved of all orders to what parts of the dag allow, relaxed ones and exact ones: the last is the truth
/// itself, where it can be had. Stops where it comes down to `goal`.
pub(crate) fn lower_by_parts(
    best: &mut [u64],
    goal: &[u64],
    ground: &Ground<'_>,
    solver: &mut Solver,
) {
    let dag = ground.flow.dag();
    // Whether it is there.
    let mut lower =
        |gains: Option<Vec<u64>>| lower_to(best, &gains.unwrap_or_default(), goal, ground);
    let of_intervals: Vec<&Placed> = ground.inside.iter().collect();
    // From cheap to dear: blocks without order, then the parts of intervals, then the whole dag.
    let _ = lower(exact_sum(&parts(dag, &vec![0; dag.len()], false), solver))
        || lower(upper(ground.hull, &of_intervals, solver))
        || lower(exact_sum(&ground.whole, solver));
}

/// The most steps for [`across_intervals`].
// A second at the most: it only adds proof where the certificate is true anyhow.
const ACROSS: u64 = 100_000_000;

/// What is proved of all orders by what the parts of intervals must wait for: with the intervals as they are, and then with
/// two, three and more of them around each open step taken as one, until it comes down to `goal`.
///
/// It has steps of its own, so it does not depend on what else was looked at.
pub(crate) fn across_intervals(goal: &[u64], ground: &Ground<'_>, solver: &Solver) -> Vec<u64> {
    let mut solver = solver.aside(ACROSS);
    let corners = &ground.hull.corners;
    let mut best = ground.by_hull();
    let mut tried = BTreeSet::new();
    // Narrow windows first; each wider one costs more and is only looked into where a step is still open.
    for width in 1..corners.len() {
        let open: Vec<usize> = (0..best.len()).filter(|&t| best[t] > goal[t]).collect();
        let around = long(open.len() * width);
        if open.is_empty() || !solver.work.afford(around + long(best.len())) {
            break;
        }
        for t in open {
            for window in windows(corners, long(t), width) {
                if best[t] > goal[t]
                    && tried.insert(window)
                    && let Some(gains) = across(ground, window, &mut solver)
                {
                    lower_to(&mut best, &gains, goal, ground);
                }
            }
        }
    }
    best
}

/// The runs of so many intervals around a step, each by its first and its last.
fn windows(
    corners: &[(u64, u64)],
    step: u64,
    width: usize,
) -> impl Iterator<Item = (u32, u32)> + use<> {
    let last = corners.len() - 2;
    let around = corners[1..=last].partition_point(|c| c.0 < step);
    // One interval alone is what it was: any of them will do.
    let around = if width == 1 { 0 } else { around };
    (around.saturating_sub(width - 1)..=around)
        .map(move |first| (first, first + width - 1))
        .filter(move |window| window.1 <= last)
        .map(|(first, last)| (narrow(first), narrow(last)))
}

/// Where the whole dag can be enumerated, no bound lies below the truth.
pub(crate) fn check_exactly(
    certificate: &Certificate,
    ground: &Ground<'_>,
    solver: &mut Solver,
) -> Result<(), Rejected> {
    // Nothing where the dag is too large: then there is no truth to hold against it, and nothing is rejected.
    let gains = exact_sum(&ground.whole, solver).unwrap_or_default();
    let is_low = |&t: &usize| certificate.bound[t] < ground.eligible(t, gains[t]);
    match (0..gains.len()).find(is_low) {
        Some(t) => Err(Rejected::BoundBelowTruth(t)),
        None => Ok(()),
    }
}
