//! A plan written down so that a checker can verify it without this crate. Knows not how the checker works.

use crate::decide::{self, IntervalId, Refusal};
use crate::hull::{Hull, hull, upper_bound};
use crate::hull_proof::{PieceProof, certify};
use crate::plan::{Basis, Plan};
use crate::{CertificateError, Verdict, Weights};
use cairn_dag::{Dag, Flow, TaskId};
use cairn_kernel::{Stopped, Work, long, narrow, places};
use cairn_verify::{
    self as written, Blocks, Certificate, Corner, Corners, Fingerprint, Foreseen, Piece,
    SearchRecord, VERSION, Witness,
};

/// The certificate of a plan of this flow's dag.
///
/// The hull is the plan's own. Where the plan has none (it needed none, or was stopped early) it is found now, and
/// completely: a plan that was stopped early may get a lower bound in its certificate than it had itself, never a
/// higher one. Each piece comes with a flow that proves it; what the theory of blocks
/// proves is told in a way that the checker can repeat; what a search found is listed as such.
///
/// Time: one maximum flow for each piece, after that of the hull where it must be found. Space: O(tasks + arcs).
///
/// ```
/// use cairn_dag::FlowBuilder;
/// use cairn_plan::{PlanEffort, Work, certificate, plan};
/// let mut builder = FlowBuilder::new();
/// let [a, b, c] = ["a", "b", "c"].map(|name| builder.declare(name, 0).unwrap());
/// builder.arc(a, b)?;
/// builder.arc(a, c)?;
/// let flow = builder.finish().unwrap();
/// let plan = plan(flow.dag(), &PlanEffort::default(), &mut Work::unlimited());
/// let certificate = certificate(&flow, &plan, &mut Work::unlimited())?;
/// assert!(cairn_verify::verify(&flow, &certificate)?.asserted.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CertificateError::Stopped`] once `work` is told to stop: there are no half certificates.
/// [`CertificateError::Hull`], if the dag is too large for 32-bit numbers.
///
/// # Panics
/// If the plan is for another dag.
pub fn certificate(
    flow: &Flow,
    plan: &Plan,
    work: &mut Work<'_>,
) -> Result<Certificate, CertificateError> {
    let dag = flow.dag();
    let found;
    let hull = match &plan.hull {
        // That of the skeleton: the same ideals, the same rewards.
        Some(hull) => hull,
        None => {
            found = hull(dag, &Weights::unit(dag.len()), &mut work.unmetered())?;
            if !found.is_complete() {
                return Err(CertificateError::Stopped);
            }
            &found
        }
    };
    let place = places_in(dag, plan);
    let mut certificate = claims(flow, plan, &upper_bound(dag, hull), &place);
    certificate.dag = written::fingerprint(flow);
    certificate.order = names(flow, &plan.order);
    // Last, as it takes longest.
    certificate.evidence.hull = pieces(dag, hull, &place, work)?;
    Ok(certificate)
}

/// What `cairn verify` will prove of the plan's [`certificate()`], without writing one. Never says yes where it will not.
/// Linear beside some tenths of a second.
///
/// ```
/// use cairn_dag::{Dag, Flow};
/// use cairn_plan::{PlanEffort, Work, foresee, plan};
/// let flow = Flow::numbered(&Dag::from_arcs(3, vec![(0, 1), (0, 2)])?);
/// let plan = plan(flow.dag(), &PlanEffort::default(), &mut Work::unlimited());
/// assert!(foresee(&flow, &plan).verdict);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If the plan is for another dag.
pub fn foresee(flow: &Flow, plan: &Plan) -> Foreseen {
    let dag = flow.dag();
    let by_hull = match &plan.hull {
        Some(hull) => upper_bound(dag, hull),
        None => plan.bound.clone(),
    };
    let claims = claims(flow, plan, &by_hull, &places_in(dag, plan));
    let corners = (plan.hull.as_ref()).map(|hull| corners(hull, &plan.intervals));
    written::foresee(flow, &plan.order, &claims, corners)
}

/// The strict vertices of a hull, and where each task lies between them.
fn corners(hull: &Hull, intervals: &[Option<IntervalId>]) -> Corners {
    let last = hull.pieces();
    let vertices = hull.vertices().iter().enumerate().skip(1);
    // The full set ends the last interval, strict or not.
    let corners = vertices.filter(|&(i, vertex)| vertex.is_strict || i == last);
    let corners = corners.map(|(_, vertex)| (vertex.cost, vertex.reward));
    let interval = |id: &Option<IntervalId>| id.map(|id| narrow(id.index()));
    Corners {
        interval: intervals.iter().map(interval).collect(),
        corners: std::iter::once((0, 0)).chain(corners).collect(),
    }
}

/// By task: its place in the plan's order.
fn places_in(dag: &Dag, plan: &Plan) -> Vec<u32> {
    assert_eq!(plan.order.len(), dag.len(), "the plan must be for this dag");
    places(&plan.order)
}

/// The certificate without what takes long: fingerprint, names of the order, flows of the hull.
fn claims(flow: &Flow, plan: &Plan, by_hull: &[u32], place: &[u32]) -> Certificate {
    // The lesser: the hull that is proved may be a better one than the plan had when it was stopped.
    let bound = plan.bound.iter().zip(by_hull);
    let bound: Vec<u32> = bound.map(|(&ours, &hulls)| ours.min(hulls)).collect();
    // By what the certificate holds, not by the plan's word: a bound that meets the profile proves more than was
    // claimed.
    let verdict = match plan.verdict.judge(&plan.profile, &bound) {
        Verdict::Optimal => written::Verdict::Optimal,
        Verdict::NoneExists => written::Verdict::NoneExists,
        Verdict::Suboptimal | Verdict::Open => written::Verdict::Open,
    };
    let counts = |curve: &[u32]| curve.iter().map(|&e| u64::from(e)).collect();
    let blocks = match plan.basis {
        Basis::Linearization { .. } | Basis::Merge { .. } => Some(blocks(flow.dag(), plan, place)),
        _ => None,
    };
    let search = (blocks.is_none()).then(|| search(plan, &bound, by_hull));
    Certificate {
        version: VERSION,
        dag: Fingerprint {
            tasks: 0,
            arcs: 0,
            hash: String::new(),
        },
        refusal: (verdict == written::Verdict::NoneExists).then(|| refusal(flow, plan)),
        storage: None,
        verdict,
        order: Vec::new(),
        profile: counts(&plan.profile),
        bound: counts(&bound),
        evidence: written::Evidence {
            hull: Vec::new(),
            blocks,
            search: search.filter(|s| !s.bounds.is_empty()),
        },
    }
}

fn names(flow: &Flow, tasks: &[TaskId]) -> Vec<String> {
    tasks.iter().map(|&t| flow.name(t).to_owned()).collect()
}

/// A few names, for people: nothing that is checked.
fn first_names(flow: &Flow, tasks: &[TaskId]) -> String {
    // As many as stay on a line beside the sentence they are in.
    const SHOWN: usize = 4;
    let more = if tasks.len() > SHOWN { ", …" } else { "" };
    let shown = &tasks[..tasks.len().min(SHOWN)];
    names(flow, shown).join(", ") + more
}

/// The pieces of the hull, each with the flow that proves it, in the units of the format: a reward is worth `cost`
/// units, so that every task executed bears `reward` of them.
fn pieces(
    dag: &Dag,
    hull: &Hull,
    place: &[u32],
    work: &mut Work<'_>,
) -> Result<Vec<Piece>, CertificateError> {
    let number = |t: &TaskId| place[t.index()];
    let proof = certify(dag, &Weights::unit(dag.len()), hull, work)?;
    // What was found after the answer stop proves less.
    work.go_on().map_err(|Stopped| CertificateError::Stopped)?;
    let units = |piece: &PieceProof, amount: u128| {
        let (cost, scale) = (u128::from(piece.cost), u128::from(piece.scale));
        assert_eq!(
            amount * cost % scale,
            0,
            "the flow of a whole piece is level"
        );
        (amount * cost / scale) as u64
    };
    let piece = |piece: &PieceProof| Piece {
        cost: piece.cost,
        reward: piece.reward,
        executed: piece.executed.iter().map(number).collect(),
        eligible: piece.eligible.iter().map(number).collect(),
        flows: (piece.to_parent.iter())
            .map(|f| (number(&f.parent), number(&f.child), units(piece, f.amount)))
            .collect(),
    };
    Ok(proof.iter().map(piece).collect())
}

fn blocks(dag: &Dag, plan: &Plan, place: &[u32]) -> Blocks {
    let survey = plan.survey();
    // The checker has to be told which arcs are shortcuts: it does not look for them.
    let is_left_out = |&(p, c): &(TaskId, TaskId)| !survey.dag().has_arc(p, c);
    let shortcuts = (survey.removed() > 0).then(|| dag.arcs().filter(is_left_out));
    Blocks {
        count: long(survey.blocks().len()),
        left_out: (shortcuts.into_iter().flatten())
            .map(|(p, c)| (place[p.index()], place[c.index()]))
            .collect(),
    }
}

fn search(plan: &Plan, bound: &[u32], by_hull: &[u32]) -> SearchRecord {
    let lower = |&(t, &b): &(usize, &u32)| b < by_hull[t];
    let search = plan.search.as_ref();
    let methods = search.map_or(&[][..], |s| &s.methods);
    SearchRecord {
        bounds: (bound.iter().enumerate().filter(lower))
            .map(|(t, &b)| (long(t), u64::from(b)))
            .collect(),
        components: search.map_or(0, |s| long(s.components.0)),
        methods: (methods.iter())
            .map(|&(method, count)| (method.to_owned(), long(count)))
            .collect(),
    }
}

fn refusal(flow: &Flow, plan: &Plan) -> written::Refusal {
    // Corners of an incomplete hull are corners, but perhaps not neighbouring ones.
    let is_complete = plan.search.as_ref().is_some_and(|s| s.is_hull_complete);
    match &plan.basis {
        Basis::Refusal(Refusal::Crossing(crossing)) if is_complete => {
            let corner = |c: &decide::Corner| Corner {
                vertex: long(c.step),
                vertex_set: names(flow, &c.set),
            };
            let corners = [&crossing.before, &crossing.after];
            // A crossing always has one of the two, else nothing would be in the way.
            let mut corners = corners.into_iter().flatten().map(corner);
            let first = corners.next().expect("a vertex is in the way");
            written::Refusal::Crossing {
                vertex: first.vertex,
                vertex_set: first.vertex_set,
                other: corners.next(),
                step: long(crossing.step),
                witness: crossing.set.as_ref().map(|set| Witness {
                    set: names(flow, set),
                    gain: u64::from(crossing.gain),
                }),
            }
        }
        Basis::Refusal(Refusal::Component {
            from,
            to,
            tasks,
            method,
            states,
            ..
        }) if is_complete => written::Refusal::Component {
            from: long(*from),
            to: long(*to),
            tasks: names(flow, tasks),
            method: (*method).to_owned(),
            states: *states,
        },
        Basis::Refusal(Refusal::Sum { from, to, .. }) if is_complete => written::Refusal::Sum {
            from: long(*from),
            to: long(*to),
        },
        Basis::Blocks => written::Refusal::Asserted {
            reason: (plan.obstacle_words(|tasks| first_names(flow, tasks)))
                .expect("blocks are in the way"),
        },
        _ => written::Refusal::Asserted {
            reason: "found by search between corners of a hull that was not complete".to_owned(),
        },
    }
}
