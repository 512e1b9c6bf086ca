//! The bound of a certificate: that it follows from the evidence, that no set lies above it, and at which steps it is
//! proved. Knows no verdict.

use crate::exact::Solver;
use crate::format::{Certificate, Search};
use crate::ground::{Ground, exact_sum, upper};
use crate::parts::{Placed, parts};
use crate::real::Real;
use crate::rejected::Rejected;

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
fn lower(claimed: &mut [u64], search: &Search) -> Result<(), Rejected> {
    let mut last = None;
    for &(t, value) in &search.bounds {
        let slot = usize::try_from(t).ok().and_then(|t| claimed.get_mut(t));
        match slot {
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
    let mut lower = |gains: Option<Vec<u64>>| {
        for (t, gain) in gains.into_iter().flatten().enumerate() {
            best[t] = best[t].min(ground.eligible(t, gain));
        }
        best.iter().zip(goal).all(|(best, goal)| best <= goal)
    };
    let of_intervals: Vec<&Placed> = ground.inside.iter().collect();
    let _ = lower(exact_sum(&parts(dag, &vec![0; dag.len()], false), solver))
        || lower(upper(ground.hull, &of_intervals, solver))
        || lower(exact_sum(&ground.whole, solver));
}

/// Where the whole dag can be enumerated, no bound lies below the truth.
pub(crate) fn check_exactly(
    certificate: &Certificate,
    ground: &Ground<'_>,
    solver: &mut Solver,
) -> Result<(), Rejected> {
    let gains = exact_sum(&ground.whole, solver).unwrap_or_default();
    let is_low = |&t: &usize| certificate.bound[t] < ground.eligible(t, gains[t]);
    match (0..gains.len()).find(is_low) {
        Some(t) => Err(Rejected::BoundBelowTruth(t)),
        None => Ok(()),
    }
}
