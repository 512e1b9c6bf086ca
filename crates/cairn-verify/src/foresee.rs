//! What [`verify`](crate::verify) will prove of a plan, told before a certificate is written. Knows the planner's hull from
//! the planner, who can prove it by flows whenever asked; all else is looked at just as a certificate would be.

use crate::bound::{across_intervals, lower_by_parts};
use crate::exact::Solver;
use crate::format::{Certificate, Refusal, Verdict};
use crate::ground::Ground;
use crate::hull::{Hull, NOWHERE};
use crate::{blocks, refusal};
use cairn_dag::{Flow, TaskId};

/// The hull of a dag, as [`Certificate`]s prove it.
#[derive(Clone, Debug)]
pub struct Corners {
    /// By task: the number of the interval between corners in which it is executed; none for sinks.
    pub interval: Vec<Option<u32>>,
    /// (executed, gained) at each corner, from (0, 0) to all.
    pub corners: Vec<(u64, u64)>,
}

/// What will be proved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// Whether the verdict will.
    pub verdict: bool,
    /// By step: whether the bound there will.
    pub steps: Vec<bool>,
}

/// What [`verify`](crate::verify) will prove of these claims. Never says yes where it will not; may say no where it will,
/// because it takes less time. `claims` need no names in `order`, no fingerprint and no hull: `order` and `hull` have them.
/// Without a hull only blocks can prove anything.
///
/// At most some tenths of a second beside what is linear.
pub fn foresee(
    flow: &Flow,
    order: &[TaskId],
    claims: &Certificate,
    hull: Option<Corners>,
) -> Foreseen {
    let bound = &claims.bound;
    let mut solver = Solver::for_foresight();
    let by_blocks = claims.evidence.blocks.as_ref().is_some_and(|blocks| {
        blocks::check(flow.dag(), order, blocks, &claims.profile, &mut solver)
            .is_ok_and(|outcome| outcome.is_proved())
    });
    // Only an answer that more effort could not change is foretold.
    if by_blocks && solver.is_as_with_all_effort() {
        return Foreseen {
            verdict: *bound == claims.profile,
            steps: vec![true; bound.len()],
        };
    }
    let Some(Corners { interval, corners }) = hull else {
        return Foreseen {
            verdict: false,
            steps: vec![false; bound.len()],
        };
    };
    let hull = Hull {
        interval: (interval.into_iter().map(|j| j.unwrap_or(NOWHERE))).collect(),
        corners,
        // Needed to find real sets, which refute: not asked here.
        piece: Vec::new(),
    };
    let ground = Ground::new(flow, &hull);
    let mut best = ground.by_hull();
    let reached = |best: &[u64]| best.iter().zip(bound).map(|(a, b)| a <= b).collect();
    let by_hull: Vec<bool> = reached(&best);
    if best != *bound {
        solver.next_question();
        lower_by_parts(&mut best, bound, &ground, &mut solver);
    }
    // With more steps the checker might go another way, and end with less: then nothing is foretold.
    let mut steps = match solver.is_as_with_all_effort() {
        true => reached(&best),
        // What the hull proves by itself needs no effort.
        false => by_hull,
    };
    if steps.contains(&false) {
        let across: Vec<bool> = reached(&across_intervals(bound, &ground, &solver));
        steps.iter_mut().zip(across).for_each(|(a, b)| *a |= b);
    }
    let verdict = match &claims.refusal {
        Some(refusal) => {
            solver.next_question();
            let outcome = match refusal {
                // Nothing to check but the whole dag.
                Refusal::Asserted { .. } => {
                    refusal::check(&ground, refusal, &mut solver).map(|(verdict, _)| verdict)
                }
                _ => refusal::reason(&ground, refusal, &mut solver),
            };
            outcome.is_ok_and(|o| o.is_proved()) && solver.is_as_with_all_effort()
        }
        None => claims.verdict == Verdict::Optimal && steps.iter().all(|&is| is),
    };
    Foreseen { verdict, steps }
}
