//! The whole check of a certificate, section by section, from its version to its verdict. Knows each argument only by its
//! module.

use crate::accepted::{Accepted, Outcome};
use crate::exact::Solver;
use crate::format::{Certificate, Refusal, SearchRecord, Verdict};
use crate::ground::Ground;
use crate::hull::{self, Hull};
use crate::real::Real;
use crate::rejected::Rejected;
use crate::work::Work;
use crate::{blocks, bound, order, refusal, storage};
use cairn_dag::{Flow, TaskId};

/// How many tasks and arcs may be read to find real sets.
// Some seconds; fewer walks only find fewer lies, they never reject a true certificate.
const WALKS: u64 = 300_000_000;

/// Checks a certificate against the dag it is about.
///
/// Linear in the certificate, up to a logarithm, and at most some seconds more for what it re-checks by brute force
/// or convolution. Never panics, whatever the certificate contains.
///
/// ```
/// use cairn_dag::{FlowBuilder, Mark};
/// use cairn_verify::{Certificate, Evidence, Piece, VERSION, Verdict, fingerprint, verify};
/// let mut builder = FlowBuilder::new();
/// let a = builder.declare("a", Mark::default())?;
/// let b = builder.declare("b", Mark::default())?;
/// builder.arc(a, b)?;
/// let flow = builder.finish().unwrap();
/// let mut certificate = Certificate {
///     version: VERSION,
///     dag: fingerprint(&flow),
///     verdict: Verdict::Optimal,
///     order: vec!["a".into(), "b".into()],
///     profile: vec![1, 1, 0],
///     bound: vec![1, 1, 0],
///     // To execute a makes b eligible: b hands one unit to a.
///     evidence: Evidence {
///         hull: vec![Piece { cost: 1, reward: 1, executed: vec![0], eligible: vec![1], flows: vec![(0, 1, 1)] }],
///         blocks: None,
///         search: None,
///     },
///     refusal: None,
///     storage: None,
/// };
/// assert!(verify(&flow, &certificate)?.asserted.is_empty());
/// certificate.bound[1] = 2;
/// assert!(verify(&flow, &certificate).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Rejected`], if any claim is false, or does not follow from the evidence as it must.
pub fn verify(flow: &Flow, certificate: &Certificate) -> Result<Accepted, Rejected> {
    verify_within(flow, certificate, Solver::new())
}

/// [`verify`] with so much effort for what is re-checked by brute force or convolution.
pub(crate) fn verify_within(
    flow: &Flow,
    certificate: &Certificate,
    mut solver: Solver,
) -> Result<Accepted, Rejected> {
    let mut accepted = Accepted::default();
    let tasks = flow.dag().len();

    // `version`, `dag`, `order`, `profile`: all of it is recomputed.
    let order = order::check(flow, certificate)?;
    accepted.add(Outcome::Proved(format!(
        "the order and its profile: {tasks} tasks"
    )));

    // `evidence.hull`: flows prove a bound at every step, and sets through which every IC-optimal order passes.
    let hull = hull::check(flow.dag(), &order, &certificate.evidence.hull)?;
    let ground = Ground::new(flow, &hull);
    accepted.add(Outcome::Proved(format!(
        "the bound by the hull: {} pieces with their flows, {} corners",
        certificate.evidence.hull.len(),
        hull.corners.len()
    )));

    // `bound`: it is what `evidence` says (`hull`, `blocks`, and where `search` claims less), and no set that can be executed
    // lies above it. Before anything dear: most false bounds end here.
    bound::check_claimed(certificate, &ground.by_hull())?;
    let real = real_sets(flow, certificate, &order, &hull)?;
    bound::check_against(certificate, &real, &ground)?;

    // `evidence.blocks`, and what `evidence.search` claims: how far the bound is proved where it is lower than the hull's.
    let best = prove_bound(certificate, &ground, &order, &mut solver, &mut accepted)?;

    // `verdict`, `refusal`: they fit the bound, and none exists where that is said.
    check_verdict(
        certificate,
        &ground,
        &real,
        best,
        &mut solver,
        &mut accepted,
    )?;

    // `storage`: files, peaks and lower bound are counted anew.
    if let Some(storage) = &certificate.storage {
        storage::check(flow, storage, &mut accepted)?;
    }
    Ok(accepted)
}

/// Every set that the certificate shows, and some that lie near.
fn real_sets(
    flow: &Flow,
    certificate: &Certificate,
    order: &[TaskId],
    hull: &Hull,
) -> Result<Real, Rejected> {
    let mut real = Real::new(flow.dag(), order, hull, &mut Work(WALKS));
    if let Some(refusal) = &certificate.refusal
        && let Some((size, gain)) = refusal::set_shown(flow, refusal)?
    {
        real.note_set(size, gain);
    }
    Ok(real)
}

/// Proves the bound as far as it goes. Returns what is proved of all orders.
fn prove_bound(
    certificate: &Certificate,
    ground: &Ground<'_>,
    order: &[TaskId],
    solver: &mut Solver,
    accepted: &mut Accepted,
) -> Result<Vec<u64>, Rejected> {
    let goal = &certificate.bound;
    let mut best = ground.by_hull();
    if let Some(blocks) = &certificate.evidence.blocks {
        let dag = ground.flow.dag();
        let outcome = blocks::check(dag, order, blocks, &certificate.profile, solver)?;
        if outcome.is_proved() {
            best.clone_from(goal);
        }
        accepted.add(outcome);
    }
    if best != *goal {
        bound::lower_by_parts(&mut best, goal, ground, solver);
        let across = bound::across_intervals(goal, ground, solver);
        best.iter_mut()
            .zip(across)
            .for_each(|(a, b)| *a = (*a).min(b));
        // What could not be proved may still be refuted, where the dag is small.
        bound::check_exactly(certificate, ground, solver)?;
    }
    let open: Vec<usize> = (0..goal.len()).filter(|&t| goal[t] < best[t]).collect();
    accepted.add(Outcome::Proved(format!(
        "the bound at {} of {} steps",
        goal.len() - open.len(),
        goal.len()
    )));
    accepted.asserted.extend(asserted_bound(certificate, &open));
    Ok(best)
}

/// What is asserted of the bound, and by what.
fn asserted_bound(certificate: &Certificate, open: &[usize]) -> Option<String> {
    let first = open.first()?;
    let how = |s: &SearchRecord| {
        let methods: Vec<String> = s.methods.iter().map(|(m, k)| format!("{m} {k}")).collect();
        format!(
            ", from {} components ({})",
            s.components,
            methods.join(", ")
        )
    };
    let search = certificate.evidence.search.as_ref();
    Some(format!(
        "the bound at {} steps, the first of them {first}{}",
        open.len(),
        search.map_or(String::new(), how)
    ))
}

/// The verdict fits the bound. An open one claims nothing.
fn check_verdict(
    certificate: &Certificate,
    ground: &Ground<'_>,
    real: &Real,
    best: Vec<u64>,
    solver: &mut Solver,
    accepted: &mut Accepted,
) -> Result<(), Rejected> {
    let meets = certificate.bound == certificate.profile;
    match (&certificate.verdict, &certificate.refusal) {
        (Verdict::Optimal, None) if meets => {
            let is_proved = best.iter().zip(&certificate.bound).all(|(b, c)| b <= c);
            let what = "the order is IC-optimal: it meets the bound at every step";
            accepted.add(Outcome::new(is_proved, what.to_owned()));
            Ok(())
        }
        (Verdict::NoneExists, Some(refusal)) if !meets => {
            check_refusal(refusal, ground, real, best, solver, accepted)
        }
        // An open verdict whose bound is met would be optimal: who writes that contradicts himself.
        (Verdict::Open, None) if !meets => Ok(()),
        (verdict, _) => Err(Rejected::VerdictUnfit(verdict.clone())),
    }
}

/// The reason why no IC-optimal order exists. Where it is neither proved nor disproved, at least none of the orders seen
/// meets what is proved of all orders: or it would be IC-optimal.
fn check_refusal(
    refusal: &Refusal,
    ground: &Ground<'_>,
    real: &Real,
    mut best: Vec<u64>,
    solver: &mut Solver,
    accepted: &mut Accepted,
) -> Result<(), Rejected> {
    solver.next_question();
    let (verdict, reason) = refusal::check(ground, refusal, solver)?;
    if !verdict.is_proved() {
        // Down to the truth, if it can be had: the lower the bound, the fewer orders could meet it.
        let lowest = vec![0; best.len()];
        bound::lower_by_parts(&mut best, &lowest, ground, solver);
        let meets = |gains: &Vec<u64>| {
            let mut steps = gains.iter().zip(&best).enumerate();
            steps.all(|(t, (&gain, &best))| ground.eligible(t, gain) == best)
        };
        if real.orders.iter().any(meets) {
            return Err(Rejected::Admits);
        }
    }
    accepted.add(verdict);
    reason.into_iter().for_each(|reason| accepted.add(reason));
    Ok(())
}
