//! The whole check of a certificate, from its version to its verdict. Knows each argument only by its module.

use crate::exact::Solver;
use crate::fingerprint::fingerprint;
use crate::format::{Blocks, Certificate, Search, VERSION};
use crate::hull;
use crate::parts::{Placed, parts, sum};
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
    let dag = flow.dag();
    let n = dag.len();
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
    if certificate.profile != profile_of(dag, &order)? {
        return fail("the profile is not that of the order");
    }
    let mut proved = vec![format!("the order and its profile: {n} tasks")];
    let mut asserted = Vec::new();
    let hull = hull::check(dag, &order, &certificate.evidence.hull)?;
    proved.push(format!(
        "the bound by the hull: {} pieces with their flows, {} corners",
        certificate.evidence.hull.len(),
        hull.corners.len()
    ));
    let sources = dag.sources().count() as u64;
    // What may be eligible after t steps, when t steps gain so much.
    let eligible = |t: usize, gain: u64| (sources + gain).saturating_sub(t as u64);
    let by_hull: Vec<u64> = (0..=n).map(|t| eligible(t, hull.at(t as u64))).collect();
    let mut claimed = by_hull.clone();
    if certificate.evidence.blocks.is_some() {
        claimed.clone_from(&certificate.profile);
    }
    if let Some(search) = &certificate.evidence.search {
        lower(&mut claimed, search)?;
    }
    let step = |is_wrong: &dyn Fn(usize) -> bool| (0..=n).find(|&t| is_wrong(t));
    let bound = &certificate.bound;
    if *bound != claimed {
        let t = step(&|t| bound.get(t) != Some(&claimed[t])).unwrap_or(n);
        return fail(format!(
            "the bound at step {t} is not what the evidence gives"
        ));
    }
    if let Some(t) = step(&|t| bound[t] < certificate.profile[t] || bound[t] > by_hull[t]) {
        return fail(format!(
            "the bound at step {t} contradicts the order or the hull"
        ));
    }
    let mut solver = Solver::new();
    let mut best = by_hull;
    if let Some(blocks) = &certificate.evidence.blocks {
        let relaxed = without(dag, &order, &blocks.left_out)?;
        let outcome = check_blocks(&relaxed, &order, blocks, &certificate.profile, &mut solver)?;
        match outcome {
            Outcome::Proved(what) => {
                best.clone_from(bound);
                proved.push(what);
            }
            Outcome::Asserted(what) => asserted.push(what),
        }
    }
    let inside = parts(dag, &hull.interval, true);
    let whole = parts(dag, &vec![0; n], true);
    if best != *bound {
        // Each of these is a valid bound; the last is the truth itself where it can be had.
        let improve = |best: &mut Vec<u64>, gains: &[u64]| {
            gains
                .iter()
                .enumerate()
                .for_each(|(t, &g)| best[t] = best[t].min(eligible(t, g)));
        };
        if let Some(gains) = exact_sum(&parts(dag, &vec![0; n], false), &mut solver) {
            improve(&mut best, &gains);
        }
        let of_intervals: Vec<&Placed> = inside.iter().collect();
        if let Some((gains, _)) = upper(&hull, &of_intervals, &mut solver) {
            improve(&mut best, &gains);
        }
        if let Some(gains) = exact_sum(&whole, &mut solver) {
            improve(&mut best, &gains);
            let is_false = |t: usize| gains.get(t).is_some_and(|&g| bound[t] < eligible(t, g));
            if let Some(t) = step(&is_false) {
                return fail(format!(
                    "the bound at step {t} is too low: some order has more"
                ));
            }
        }
    }
    let open: Vec<usize> = (0..=n).filter(|&t| bound[t] < best[t]).collect();
    proved.push(format!(
        "the bound at {} of {} steps",
        n + 1 - open.len(),
        n + 1
    ));
    if let Some(first) = open.first() {
        let how = certificate
            .evidence
            .search
            .as_ref()
            .map_or(String::new(), |s| {
                let methods: Vec<String> =
                    s.methods.iter().map(|(m, k)| format!("{m} {k}")).collect();
                format!(
                    ", from {} components ({})",
                    s.components,
                    methods.join(", ")
                )
            });
        asserted.push(format!(
            "the bound at {} steps, the first of them {first}{how}",
            open.len()
        ));
    }
    let meets = *bound == certificate.profile;
    match (certificate.verdict.as_str(), &certificate.refusal) {
        ("optimal", None) if meets => {
            let what = "the order is IC-optimal: it meets the bound at every step";
            let list = if open.is_empty() {
                &mut proved
            } else {
                &mut asserted
            };
            list.push(what.to_owned());
        }
        ("none-exists", Some(refusal)) if !meets => {
            let ground = Ground {
                flow,
                hull: &hull,
                inside: &inside,
                whole: &whole,
            };
            match refusal::check(&ground, refusal, &mut solver)? {
                Outcome::Proved(what) => proved.push(format!("no IC-optimal order exists: {what}")),
                Outcome::Asserted(what) => {
                    asserted.push(format!("no IC-optimal order exists: {what}"))
                }
            }
        }
        ("open", None) if !meets => {}
        (verdict, _) => {
            return fail(format!(
                "the verdict '{verdict}' does not fit bound, profile and refusal"
            ));
        }
    }
    Ok(Accepted { proved, asserted })
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
fn without(dag: &Dag, order: &[TaskId], left_out: &[(u32, u32)]) -> Result<Dag, String> {
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
fn check_blocks(
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
