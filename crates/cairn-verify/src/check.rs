//! The whole check of a certificate, from its version to its verdict. Knows each argument only by its module.

use crate::exact::Solver;
use crate::fingerprint::fingerprint;
use crate::format::{Blocks, Certificate, Search, VERSION};
use crate::hull::{self, Hull};
use crate::parts::{Effort, Placed, parts, sum};
use crate::real::Real;
use crate::refusal::{self, Ground, Outcome, exact_sum, upper};
use cairn_dag::{Dag, Flow, TaskId};

/// A certificate in which nothing is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What this crate proved by itself.
    pub proved: Vec<String>,
    /// What it neither proved nor disproved: the planner says so. Empty for a full proof.
    pub asserted: Vec<String>,
}

/// Why a certificate is not accepted: the first reason found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected(pub String);

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejected {}

impl From<String> for Rejected {
    fn from(reason: String) -> Rejected {
        Rejected(reason)
    }
}

/// Checks a certificate against the dag it is about.
///
/// Linear in the certificate, up to a logarithm, and at most some seconds more for what it re-checks by brute force
/// or convolution. Never panics, whatever the certificate contains.
///
/// ```
/// use cairn_dag::{FlowBuilder, Mark};
/// use cairn_verify::{Certificate, Evidence, Piece, VERSION, fingerprint, verify};
/// let mut builder = FlowBuilder::new();
/// let a = builder.declare("a", Mark::default())?;
/// let b = builder.declare("b", Mark::default())?;
/// builder.arc(a, b)?;
/// let flow = builder.finish().unwrap();
/// let mut certificate = Certificate {
///     version: VERSION,
///     dag: fingerprint(&flow),
///     verdict: "optimal".into(),
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
    let dag = flow.dag();
    let order = check_order(flow, certificate)?;
    let hull = hull::check(dag, &order, &certificate.evidence.hull)?;
    let count = Count::new(dag);
    let by_hull: Vec<u64> = (0..=dag.len())
        .map(|t| count.eligible(t, hull.at(t as u64)))
        .collect();
    check_bound_claimed(certificate, &by_hull)?;
    let real = real_sets(flow, certificate, &order, &hull)?;
    check_bound_against(certificate, &real, &count)?;
    let mut proved = vec![
        format!("the order and its profile: {} tasks", dag.len()),
        format!(
            "the bound by the hull: {} pieces with their flows, {} corners",
            certificate.evidence.hull.len(),
            hull.corners.len()
        ),
    ];
    let mut asserted = Vec::new();
    let mut best = by_hull;
    if let Some(blocks) = &certificate.evidence.blocks {
        let relaxed = without(dag, &order, &blocks.left_out)?;
        let outcome = check_blocks(&relaxed, &order, blocks, &certificate.profile, &mut solver)?;
        match outcome {
            Outcome::Proved(what) => {
                best.clone_from(&certificate.bound);
                proved.push(what);
            }
            Outcome::Asserted(what) => asserted.push(what),
        }
    }
    let ground = Ground {
        flow,
        inside: &parts(dag, &hull.interval, true),
        whole: &parts(dag, &vec![0; dag.len()], true),
        hull: &hull,
    };
    if best != certificate.bound {
        lower_by_parts(&mut best, &certificate.bound, &ground, &count, &mut solver);
        check_bound_exactly(certificate, &ground, &count, &mut solver)?;
    }
    let open = open_steps(certificate, &best);
    proved.push(format!(
        "the bound at {} of {} steps",
        dag.len() + 1 - open.len(),
        dag.len() + 1
    ));
    asserted.extend(asserted_bound(certificate, &open));
    let is_bound_proved = open.is_empty();
    let verdict = check_verdict(certificate, &ground, is_bound_proved, &mut solver)?;
    if let (Some(_), [Outcome::Asserted(_)]) = (&certificate.refusal, &verdict[..]) {
        check_that_none_exists(&mut best, &real, &ground, &count, &mut solver)?;
    }
    for outcome in verdict {
        match outcome {
            Outcome::Proved(what) => proved.push(what),
            Outcome::Asserted(what) => asserted.push(what),
        }
    }
    Ok(Accepted { proved, asserted })
}

/// Turns gains into eligible tasks.
pub(crate) struct Count {
    sources: u64,
}

impl Count {
    pub(crate) fn new(dag: &Dag) -> Count {
        Count {
            sources: dag.sources().count() as u64,
        }
    }

    /// What is eligible after t steps, when t steps gain so much.
    pub(crate) fn eligible(&self, t: usize, gain: u64) -> u64 {
        (self.sources + gain).saturating_sub(t as u64)
    }
}

/// Version, dag, order and profile. Returns the order as tasks.
fn check_order(flow: &Flow, certificate: &Certificate) -> Result<Vec<TaskId>, Rejected> {
    if certificate.version != VERSION {
        return fail(format!(
            "version {} is not {VERSION}, the only one known here",
            certificate.version
        ));
    }
    if certificate.dag != fingerprint(flow) {
        return fail("it is about another dag: tasks, arcs or hash differ");
    }
    let order = tasks_of(flow, &certificate.order)?;
    if certificate.profile != profile_of(flow.dag(), &order)? {
        return fail("the profile is not that of the order");
    }
    Ok(order)
}

/// The bound is what the evidence gives, and neither below the order nor above the hull.
fn check_bound_claimed(certificate: &Certificate, by_hull: &[u64]) -> Result<(), Rejected> {
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
        return fail(format!(
            "the bound at step {t} is not what the evidence gives"
        ));
    }
    let is_wrong = |&t: &usize| bound[t] < certificate.profile[t] || bound[t] > by_hull[t];
    match (0..bound.len()).find(is_wrong) {
        Some(t) => fail(format!(
            "the bound at step {t} contradicts the order or the hull"
        )),
        None => Ok(()),
    }
}

/// Every set that the certificate shows, and some that lie near.
fn real_sets(
    flow: &Flow,
    certificate: &Certificate,
    order: &[TaskId],
    hull: &Hull,
) -> Result<Real, Rejected> {
    let mut real = Real::new(flow.dag(), order, hull, &mut Effort(WALKS));
    if let Some(refusal) = &certificate.refusal
        && let Some((size, gain)) = refusal::set_shown(flow, refusal)?
    {
        real.note_set(size, gain);
    }
    Ok(real)
}

/// How many tasks and arcs may be read to find real sets.
const WALKS: u64 = 300_000_000;

/// No bound lies below a set that can be executed.
fn check_bound_against(
    certificate: &Certificate,
    real: &Real,
    count: &Count,
) -> Result<(), Rejected> {
    for (t, (&bound, &gain)) in certificate.bound.iter().zip(&real.gains).enumerate() {
        let eligible = count.eligible(t, gain);
        if bound < eligible {
            return fail(format!(
                "the bound at step {t} is too low: {bound}, and some order has {eligible}"
            ));
        }
    }
    Ok(())
}

/// Lowers a bound to what parts of the dag allow, relaxed ones and exact ones: the last is the truth itself, where it
/// can be had. Stops where it comes down to `goal`.
pub(crate) fn lower_by_parts(
    best: &mut [u64],
    goal: &[u64],
    ground: &Ground<'_>,
    count: &Count,
    solver: &mut Solver,
) {
    let dag = ground.flow.dag();
    // Whether it is there.
    let mut lower = |gains: Option<Vec<u64>>| {
        for (t, gain) in gains.into_iter().flatten().enumerate() {
            best[t] = best[t].min(count.eligible(t, gain));
        }
        best.iter().zip(goal).all(|(best, goal)| best <= goal)
    };
    let of_intervals: Vec<&Placed> = ground.inside.iter().collect();
    let inside = |solver: &mut Solver| upper(ground.hull, &of_intervals, solver);
    let _ = lower(exact_sum(&parts(dag, &vec![0; dag.len()], false), solver))
        || lower(inside(solver).map(|(gains, _)| gains))
        || lower(exact_sum(ground.whole, solver));
}

/// Where the whole dag can be enumerated, no bound lies below the truth.
fn check_bound_exactly(
    certificate: &Certificate,
    ground: &Ground<'_>,
    count: &Count,
    solver: &mut Solver,
) -> Result<(), Rejected> {
    let Some(gains) = exact_sum(ground.whole, solver) else {
        return Ok(());
    };
    let is_low = |&t: &usize| certificate.bound[t] < count.eligible(t, gains[t]);
    match (0..gains.len()).find(is_low) {
        Some(t) => fail(format!(
            "the bound at step {t} is too low: some order has more"
        )),
        None => Ok(()),
    }
}

/// The steps at which the bound claimed is lower than what is proved.
fn open_steps(certificate: &Certificate, best: &[u64]) -> Vec<usize> {
    let bound = &certificate.bound;
    (0..best.len()).filter(|&t| bound[t] < best[t]).collect()
}

/// What is asserted of the bound, and by what.
fn asserted_bound(certificate: &Certificate, open: &[usize]) -> Option<String> {
    let first = open.first()?;
    let how = |s: &Search| {
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

/// The verdict, with its refusal if it has one. An open verdict claims nothing.
fn check_verdict(
    certificate: &Certificate,
    ground: &Ground<'_>,
    is_bound_proved: bool,
    solver: &mut Solver,
) -> Result<Vec<Outcome>, Rejected> {
    let meets = certificate.bound == certificate.profile;
    match (certificate.verdict.as_str(), &certificate.refusal) {
        ("optimal", None) if meets => {
            let what = "the order is IC-optimal: it meets the bound at every step".to_owned();
            Ok(vec![match is_bound_proved {
                true => Outcome::Proved(what),
                false => Outcome::Asserted(what),
            }])
        }
        ("none-exists", Some(refusal)) if !meets => {
            solver.next_question();
            let (verdict, reason) = refusal::check(ground, refusal, solver)?;
            Ok([verdict].into_iter().chain(reason).collect())
        }
        ("open", None) if !meets => Ok(Vec::new()),
        (verdict, _) => fail(format!(
            "the verdict '{verdict}' does not fit bound, profile and refusal"
        )),
    }
}

/// None of the orders seen meets what is proved of all orders: or it would be IC-optimal.
fn check_that_none_exists(
    best: &mut [u64],
    real: &Real,
    ground: &Ground<'_>,
    count: &Count,
    solver: &mut Solver,
) -> Result<(), Rejected> {
    let lowest = vec![0; best.len()];
    lower_by_parts(best, &lowest, ground, count, solver);
    let meets = |gains: &Vec<u64>| {
        let mut steps = gains.iter().zip(best.iter()).enumerate();
        steps.all(|(t, (&gain, &best))| count.eligible(t, gain) == best)
    };
    match real.orders.iter().any(meets) {
        true => fail("the dag does admit an IC-optimal order"),
        false => Ok(()),
    }
}

fn fail<T>(reason: impl Into<String>) -> Result<T, Rejected> {
    Err(Rejected(reason.into()))
}

/// The order as tasks: each name known and named once, none left out.
fn tasks_of(flow: &Flow, names: &[String]) -> Result<Vec<TaskId>, String> {
    let mut is_named = vec![false; flow.dag().len()];
    let mut order = Vec::new();
    for name in names {
        let task = flow
            .find(name)
            .ok_or_else(|| format!("the order names '{name}', which is no task"))?;
        if std::mem::replace(&mut is_named[task.index()], true) {
            return Err(format!("the order names '{name}' twice"));
        }
        order.push(task);
    }
    match is_named.iter().position(|&is| !is) {
        Some(missing) => Err(format!(
            "the order leaves out '{}'",
            flow.name(TaskId::new(missing))
        )),
        None => Ok(order),
    }
}

/// Eligible tasks after each step, counted one by one.
fn profile_of(dag: &Dag, order: &[TaskId]) -> Result<Vec<u64>, String> {
    let mut waits_for: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
    let mut eligible = dag.sources().count() as u64;
    let mut profile = vec![eligible];
    for (t, &task) in order.iter().enumerate() {
        if waits_for[task.index()] > 0 {
            return Err(format!(
                "the order executes a task before one of its parents, at step {}",
                t + 1
            ));
        }
        for child in dag.children(task) {
            waits_for[child.index()] -= 1;
            eligible += u64::from(waits_for[child.index()] == 0);
        }
        eligible -= 1;
        profile.push(eligible);
    }
    Ok(profile)
}

/// Puts the claims of a search into the bound: each lower than what was there, in rising order of steps.
fn lower(claimed: &mut [u64], search: &Search) -> Result<(), String> {
    let mut last = None;
    for &(t, value) in &search.bounds {
        let slot = usize::try_from(t).ok().and_then(|t| claimed.get_mut(t));
        match slot {
            Some(slot) if value < *slot && last < Some(t) => *slot = value,
            _ => {
                return Err(format!(
                    "the search's bound at step {t} is out of place or no lower"
                ));
            }
        }
        last = Some(t);
    }
    Ok(())
}

/// The dag without some arcs. Less is asked for, so bounds for it are bounds for the dag.
pub(crate) fn without(dag: &Dag, order: &[TaskId], left_out: &[(u32, u32)]) -> Result<Dag, String> {
    let mut gone = Vec::new();
    for &(parent, child) in left_out {
        let task = |number: u32| order.get(number as usize).copied();
        match (task(parent), task(child)) {
            (Some(p), Some(c)) if dag.has_arc(p, c) => gone.push((p.0, c.0)),
            _ => return Err(format!("({parent}, {child}) is left out and is no arc")),
        }
    }
    gone.sort_unstable();
    if gone.windows(2).any(|w| w[0] == w[1]) {
        return Err("an arc is left out twice".to_owned());
    }
    let arcs = dag.arcs().map(|(p, c)| (p.0, c.0));
    let kept: Vec<(u32, u32)> = arcs.filter(|a| gone.binary_search(a).is_err()).collect();
    let relaxed = Dag::from_arcs(dag.len(), kept).map_err(|e| e.to_string())?;
    let is_same = |t: TaskId| {
        dag.is_source(t) == relaxed.is_source(t) && dag.is_sink(t) == relaxed.is_sink(t)
    };
    match dag.tasks().all(is_same) {
        true => Ok(relaxed),
        false => Err("with the arcs left out, a task loses all its parents or children".to_owned()),
    }
}

/// The blocks are what is left when no task waits for its parents: a reward asks for the parents it has, no more.
/// The order must execute each block as well as the block alone allows; and no sum of such blocks may gain more, at
/// any step, than the order does. Then the order is as good as any order of the relaxed problem.
pub(crate) fn check_blocks(
    relaxed: &Dag,
    order: &[TaskId],
    blocks: &Blocks,
    profile: &[u64],
    solver: &mut Solver,
) -> Result<Outcome, String> {
    let placed = parts(relaxed, &vec![0; relaxed.len()], false);
    if placed.len() as u64 != blocks.count {
        return Err(format!(
            "there are {} blocks, not {}",
            placed.len(),
            blocks.count
        ));
    }
    let mut place = vec![0; relaxed.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(i, t)| place[t.index()] = i);
    let mut reached = Vec::new();
    let (mut unknown, mut largest) = (0, 0);
    for block in &placed {
        let own = reached_by(block, &place);
        match solver.profile(&block.part) {
            Some(best) if best != own => {
                return Err(format!(
                    "a block of {} tasks is not executed optimally",
                    block.tasks.len()
                ));
            }
            Some(_) => {}
            None => {
                unknown += 1;
                largest = largest.max(block.tasks.len());
            }
        }
        reached.push(own);
    }
    let count = placed.len();
    let lists: Vec<&[u64]> = reached.iter().map(Vec::as_slice).collect();
    let Some(total) = sum(&lists, &mut solver.effort) else {
        let tasks = relaxed.len();
        return Ok(Outcome::Asserted(format!(
            "no sum over the {count} blocks gains more ({tasks} tasks)"
        )));
    };
    let sources = relaxed.sources().count() as u64;
    if let Some(t) =
        (0..total.len()).find(|&t| (sources + total[t]).saturating_sub(t as u64) != profile[t])
    {
        return Err(format!("the order falls short of its blocks at step {t}"));
    }
    Ok(match unknown {
        0 => Outcome::Proved(format!(
            "the bound by {count} blocks, each of them re-checked"
        )),
        _ => Outcome::Asserted(format!(
            "{unknown} of {count} blocks are executed optimally, the largest of {largest} tasks (the others are proved)"
        )),
    })
}

/// What the order gains in one block after each of the block's tasks.
fn reached_by(block: &Placed, place: &[usize]) -> Vec<u64> {
    let mut steps: Vec<usize> = block.tasks.iter().map(|t| place[t.index()]).collect();
    let done_at: Vec<usize> = steps.clone();
    steps.sort_unstable();
    let mut gained = vec![0u64; steps.len() + 1];
    for reward in &block.part.rewards {
        let last = reward
            .iter()
            .map(|&v| done_at[v as usize])
            .max()
            .unwrap_or(0);
        gained[steps.partition_point(|&s| s <= last)] += 1;
    }
    let mut total = 0;
    let climb = gained.into_iter().map(|g| {
        total += g;
        total
    });
    climb.collect()
}
