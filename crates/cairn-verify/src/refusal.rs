//! Why no IC-optimal order exists: checks the reason. Knows nothing of how it was found.

use crate::accepted::Outcome;
use crate::exact::{LONGEST_LOOK, Solver};
use crate::format::{Corner, Refusal, Witness};
use crate::ground::{Ground, exact_sum, upper};
use crate::hull::Hull;
use crate::parts::{Placed, parts, sum};
use crate::rejected::{Rejected, Sets};
use crate::width::{long, narrow, place_of, wide};
use crate::work::Work;
use cairn_dag::{Dag, Flow, TaskId};
use std::collections::BTreeSet;

/// Checks that no IC-optimal order exists, and the reason given for it: the first outcome is about the verdict, a second
/// about a reason that could be neither proved nor disproved where the verdict could.
///
/// Every IC-optimal order passes through all corners of the hull: each is the only best set of its size. So between two
/// corners it solves the parts of that interval alone, and optimally.
pub(crate) fn check(
    ground: &Ground<'_>,
    refusal: &Refusal,
    solver: &mut Solver,
) -> Result<(Outcome, Option<Outcome>), Rejected> {
    let outcome = reason(ground, refusal, solver)?;
    // Asked even if the reason is proved: should the whole dag admit, something here is wrong, and nothing must be
    // accepted.
    let whole: Vec<&Placed> = ground.whole.iter().collect();
    let none = |what: &str| format!("no IC-optimal order exists: {what}");
    match (admits(&whole, solver), outcome) {
        (Some(true), _) => Err(Rejected::Admits),
        (_, Outcome::Proved(what)) => Ok((Outcome::Proved(none(&what)), None)),
        (None, Outcome::Asserted(what)) => Ok((Outcome::Asserted(none(&what)), None)),
        (Some(false), Outcome::Asserted(what)) => {
            // A reason in words claims nothing that could be checked.
            let is_claim = !matches!(refusal, Refusal::Asserted { .. });
            let reason = Outcome::Asserted(format!("the reason given for it: {what}"));
            let seen = none("the whole dag was looked at");
            Ok((Outcome::Proved(seen), is_claim.then_some(reason)))
        }
    }
}

/// The reason alone: where it is proved, so is the verdict.
pub(crate) fn reason(
    ground: &Ground<'_>,
    refusal: &Refusal,
    solver: &mut Solver,
) -> Result<Outcome, Rejected> {
    Ok(match refusal {
        Refusal::Crossing {
            vertex,
            vertex_set,
            other,
            step,
            witness,
        } => {
            let between = Between::new(ground, (*vertex, vertex_set), other.as_ref(), *step)?;
            crossing(ground, &between, *step, witness.as_ref(), solver)?
        }
        Refusal::Component {
            from,
            to,
            tasks,
            method,
            states,
        } => {
            let how = format!("{method}, {states} states");
            component(
                ground,
                interval(ground.hull, *from, *to)?,
                tasks,
                &how,
                solver,
            )?
        }
        Refusal::Sum { from, to } => {
            let interval = interval(ground.hull, *from, *to)?;
            let parts: Vec<&Placed> = of_interval(&ground.inside, interval).collect();
            let count = parts.len();
            let admits = admits(&parts, solver);
            if admits == Some(true) {
                return Err(Rejected::PartsAdmit(count, *from, *to));
            }
            let what = format!(
                "the {count} independent parts between steps {from} and {to} admit no IC-optimal order"
            );
            Outcome::new(admits.is_some(), what)
        }
        Refusal::Asserted { reason } => Outcome::Asserted(reason.clone()),
    })
}

/// The size and the gain of the set that a reason shows beside those of the hull.
pub(crate) fn set_shown(flow: &Flow, refusal: &Refusal) -> Result<Option<(usize, u64)>, Rejected> {
    let Refusal::Crossing {
        step,
        witness: Some(witness),
        ..
    } = refusal
    else {
        return Ok(None);
    };
    let set = named(flow, &witness.set)?;
    let gain = gain_of_ideal(flow.dag(), &set).ok_or(Rejected::WitnessNoIdeal)?;
    if gain != witness.gain || long(set.len()) != *step {
        return Err(Rejected::WitnessMiscounted);
    }
    Ok(Some((set.len(), gain)))
}

/// The number of the interval between these two corners.
fn interval(hull: &Hull, from: u64, to: u64) -> Result<u32, Rejected> {
    let ends = |w: &[(u64, u64)]| w[0].0 == from && w[1].0 == to;
    let found = hull.corners.windows(2).position(ends);
    (found.map(narrow)).ok_or(Rejected::CornersNotNeighbours(from, to))
}

fn of_interval(parts: &[Placed], interval: u32) -> impl Iterator<Item = &Placed> {
    parts.iter().filter(move |p| p.group == interval)
}

/// Two corners of the hull, by number. Where a reason names one, the other is the empty set or the full one.
struct Between {
    from: usize,
    to: usize,
    /// Which sets are meant.
    sets: Sets,
}

impl Between {
    /// The corners that a crossing names: real ones with these sets, one before the step or one after it, or both.
    fn new(
        ground: &Ground<'_>,
        (vertex, vertex_set): (u64, &[String]),
        other: Option<&Corner>,
        step: u64,
    ) -> Result<Between, Rejected> {
        let corners = &ground.hull.corners;
        let last = corners.len() - 1;
        let (mut from, mut to) = (0, last);
        let first = [(vertex, vertex_set)].into_iter();
        for (vertex, set) in first.chain(other.map(|c| (c.vertex, c.vertex_set.as_slice()))) {
            let at = corner(ground, vertex, set)?;
            // The empty set and the full one are in nobody's way.
            match (vertex < step && step <= corners[last].0, step < vertex) {
                // At most one corner on either side: two on one side would be one too many.
                (true, _) if from == 0 && at > 0 => from = at,
                (_, true) if to == last && at < last => to = at,
                _ => return Err(Rejected::CornerNotInTheWay(vertex, step)),
            }
        }
        let (a, b) = (corners[from].0, corners[to].0);
        Ok(Between {
            sets: match (from, to) {
                (0, _) => Sets::Within(b),
                (_, to) if to == last => Sets::Containing(a),
                _ => Sets::Between(a, b),
            },
            from,
            to,
        })
    }
}

/// The number of the hull's corner of this size, if this is its set.
fn corner(ground: &Ground<'_>, vertex: u64, set: &[String]) -> Result<usize, Rejected> {
    let at = (ground.hull.corners.iter().position(|c| c.0 == vertex))
        .ok_or(Rejected::NoCorner(vertex))?;
    match named(ground.flow, set)? == set_at(ground, at) {
        true => Ok(at),
        false => Err(Rejected::OtherCornerSet(vertex)),
    }
}

/// The set at a corner of the hull.
fn set_at(ground: &Ground<'_>, corner: usize) -> BTreeSet<TaskId> {
    let dag = ground.flow.dag();
    let is_before = |t: &TaskId| wide(ground.hull.interval[t.index()]) < corner;
    (dag.tasks().filter(|&t| !dag.is_sink(t)))
        .filter(is_before)
        .collect()
}

/// Claimed: no set of `step` tasks between the corners gains as much as the witness does, or as the best set. Every
/// IC-optimal order passes through the corners, and so through such a set.
fn crossing(
    ground: &Ground<'_>,
    between: &Between,
    step: u64,
    witness: Option<&Witness>,
    solver: &mut Solver,
) -> Result<Outcome, Rejected> {
    // The full set has no sinks, but the witness may: they are in nobody's way.
    let is_full = between.to + 1 == ground.hull.corners.len();
    let is_between = |set: BTreeSet<TaskId>| {
        set.is_superset(&set_at(ground, between.from))
            && (is_full || set.is_subset(&set_at(ground, between.to)))
    };
    if let Some(witness) = witness
        && is_between(named(ground.flow, &witness.set)?)
    {
        return Err(Rejected::WitnessNotInTheWay(between.sets));
    }
    let best = (witness.map(|w| w.gain))
        .or_else(|| exact_sum(&ground.whole, solver).map(|best| best[place_of(step)]));
    let from = ground.hull.corners[between.from];
    let left = place_of(step - from.0);
    let is_below = |gains: &[u64]| best.is_some_and(|best| best > from.1 + gains[left]);
    let claim = format!("no set of {step} tasks {} is best", between.sets);
    // First the intervals apart, which is quick; then as one, which is exact.
    let within = narrow(between.from)..narrow(between.to);
    let apart: Vec<&Placed> = (ground.inside.iter())
        .filter(|p| within.contains(&p.group))
        .collect();
    let size: usize = apart.iter().map(|p| p.tasks.len()).sum();
    if let Some(gains) = upper(ground.hull, &apart, solver)
        && is_below(&gains)
    {
        return Ok(Outcome::Proved(claim));
    }
    let group = |&j: &u32| u32::from(j >= within.start) + u32::from(j >= within.end);
    let groups: Vec<u32> = ground.hull.interval.iter().map(group).collect();
    let together = parts(ground.flow.dag(), &groups, true);
    let together: Vec<Placed> = together.into_iter().filter(|p| p.group == 1).collect();
    match exact_sum(&together, solver) {
        Some(gains) if is_below(&gains) => Ok(Outcome::Proved(claim)),
        // Exact, so the claim is false: some set between the corners is as good.
        Some(_) if best.is_some() => Err(Rejected::SetInTheWay(step, between.sets)),
        _ => Ok(Outcome::Asserted(format!(
            "{claim} ({size} tasks in {} parts)",
            together.len()
        ))),
    }
}

fn component(
    ground: &Ground<'_>,
    interval: u32,
    tasks: &[String],
    how: &str,
    solver: &mut Solver,
) -> Result<Outcome, Rejected> {
    let set = named(ground.flow, tasks)?;
    let is_it = |p: &&Placed| p.tasks.len() == set.len() && p.tasks.iter().all(|t| set.contains(t));
    let placed =
        (of_interval(&ground.inside, interval).find(is_it)).ok_or(Rejected::NoComponent)?;
    let claim = format!(
        "a component of {} tasks admits no IC-optimal order",
        set.len()
    );
    match solver.admits(&placed.part) {
        Some(true) => Err(Rejected::ComponentAdmits),
        Some(false) => Ok(Outcome::Proved(claim)),
        None => Ok(Outcome::Asserted(format!("{claim} ({how})"))),
    }
}

/// The tasks of these names, each named once.
fn named(flow: &Flow, names: &[String]) -> Result<BTreeSet<TaskId>, Rejected> {
    let mut set = BTreeSet::new();
    for name in names {
        let task = flow
            .find(name)
            .ok_or_else(|| Rejected::NoTask(name.clone()))?;
        if !set.insert(task) {
            return Err(Rejected::NamedTwice(name.clone()));
        }
    }
    Ok(set)
}

fn gain_of_ideal(dag: &Dag, set: &BTreeSet<TaskId>) -> Option<u64> {
    let has_all = |t: TaskId| dag.parents(t).iter().all(|p| set.contains(p));
    let is_ideal = set.iter().all(|&t| has_all(t));
    let gained = dag.tasks().filter(|&t| !dag.is_source(t) && has_all(t));
    is_ideal.then(|| long(gained.count()))
}

/// Whether independent parts together admit an IC-optimal order; `None` if that is too much to find out.
///
/// Such an order gives each part some number of tasks at each step, and the parts' best gains for these numbers
/// must add up to the best sum. So there is a chain of such numbers, each larger by one in one part; and if every
/// part admits an IC-optimal order, such a chain is enough.
fn admits(parts: &[&Placed], solver: &mut Solver) -> Option<bool> {
    let mut all_admit = true;
    let mut profiles = Vec::new();
    for placed in parts {
        match solver.admits(&placed.part) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => all_admit = false,
        }
        // Without the answer for a part its profile may still refute: no chain, no order.
        profiles.push(solver.profile(&placed.part));
    }
    let mut profiles: Vec<Vec<u64>> = profiles.into_iter().collect::<Option<_>>()?;
    profiles.sort();
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    let best = sum(&lists, &mut solver.work)?;
    match solver
        .work
        .lend(LONGEST_LOOK, |e| has_chain(&profiles, &best, e))?
    {
        false => Some(false),
        true => all_admit.then_some(true),
    }
}

/// What it costs to go on from some shares, beside a copy and a sum for each part: allocations, and places in a sorted set.
// A judgement: too low, and a look takes longer than its steps say.
const SHARES: u64 = 1000;

/// Whether there is a chain of shares, each larger by one in one part, that reaches `best` at every step; `None` if that
/// is too much to find out. The profiles are sorted.
fn has_chain(profiles: &[Vec<u64>], best: &[u64], work: &mut Work) -> Option<bool> {
    // Parts with equal profiles can stand for each other: their numbers are kept in falling order.
    let mut layer = BTreeSet::from([vec![0usize; profiles.len()]]);
    for t in 1..best.len() {
        let mut next = BTreeSet::new();
        for given in &layer {
            work.take(SHARES + long(given.len() * given.len()))?;
            for i in 0..given.len() {
                let stands_for_another =
                    i > 0 && profiles[i - 1] == profiles[i] && given[i - 1] == given[i];
                if given[i] + 1 >= profiles[i].len() || stands_for_another {
                    continue;
                }
                let mut more = given.clone();
                more[i] += 1;
                let gained: u64 = more.iter().zip(profiles).map(|(&x, p)| p[x]).sum();
                if gained == best[t] {
                    next.insert(more);
                }
            }
        }
        if next.is_empty() {
            return Some(false);
        }
        layer = next;
    }
    Some(true)
}
