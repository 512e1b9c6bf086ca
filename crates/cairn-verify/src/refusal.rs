//! Why no IC-optimal order exists: checks the reason. Knows nothing of how it was found.

use crate::exact::Solver;
use crate::format::{Refusal, Witness};
use crate::hull::{Hull, along};
use crate::parts::{Placed, sum};
use cairn_dag::{Dag, Flow, TaskId};
use std::collections::BTreeSet;

/// How a claim came out: proved here, or not disproved and believed by others.
#[derive(Debug)]
pub(crate) enum Outcome {
    Proved(String),
    Asserted(String),
}

/// What a reason is checked against.
pub(crate) struct Ground<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) hull: &'a Hull,
    /// The parts of the intervals between corners of the hull.
    pub(crate) inside: &'a [Placed],
    /// The parts of the whole dag.
    pub(crate) whole: &'a [Placed],
}

/// Checks the reason. Every IC-optimal order passes through all corners of the hull: each is the only best set of
/// its size. So between two corners it solves the parts of that interval alone, and optimally.
pub(crate) fn check(
    ground: &Ground<'_>,
    refusal: &Refusal,
    solver: &mut Solver,
) -> Result<Outcome, String> {
    let outcome = match refusal {
        Refusal::Crossing {
            vertex,
            vertex_set,
            step,
            witness,
        } => crossing(ground, *vertex, vertex_set, *step, witness.as_ref(), solver)?,
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
            let parts: Vec<&Placed> = of_interval(ground.inside, interval).collect();
            let what = format!(
                "{} independent parts between steps {from} and {to}",
                parts.len()
            );
            match admits(&parts, solver) {
                Some(true) => return Err(format!("the {what} do admit an IC-optimal order")),
                Some(false) => Outcome::Proved(format!("the {what} admit no IC-optimal order")),
                None => Outcome::Asserted(format!("the {what} admit no IC-optimal order")),
            }
        }
        Refusal::Asserted { reason } => Outcome::Asserted(reason.clone()),
    };
    let whole: Vec<&Placed> = ground.whole.iter().collect();
    match (admits(&whole, solver), outcome) {
        (Some(true), _) => Err("the dag does admit an IC-optimal order".to_owned()),
        (Some(false), Outcome::Asserted(what)) => Ok(Outcome::Proved(format!(
            "{what} (the whole dag was looked at)"
        ))),
        (_, outcome) => Ok(outcome),
    }
}

/// The number of the interval between these two corners.
fn interval(hull: &Hull, from: u64, to: u64) -> Result<u32, String> {
    let ends = |w: &[(u64, u64)]| w[0].0 == from && w[1].0 == to;
    let found = hull.corners.windows(2).position(ends);
    (found.map(|j| j as u32))
        .ok_or_else(|| format!("{from} and {to} are no neighbouring corners of the hull"))
}

fn of_interval(parts: &[Placed], interval: u32) -> impl Iterator<Item = &Placed> {
    parts.iter().filter(move |p| p.group == interval)
}

fn crossing(
    ground: &Ground<'_>,
    vertex: u64,
    vertex_set: &[String],
    step: u64,
    witness: Option<&Witness>,
    solver: &mut Solver,
) -> Result<Outcome, String> {
    let (dag, corners) = (ground.flow.dag(), &ground.hull.corners);
    let at = (corners.iter().position(|c| c.0 == vertex))
        .ok_or_else(|| format!("the hull has no corner at step {vertex}"))?;
    let before = |t: &TaskId| !dag.is_sink(*t) && (ground.hull.interval[t.index()] as usize) < at;
    if named(ground.flow, vertex_set)? != dag.tasks().filter(before).collect() {
        return Err(format!(
            "the set given is not the one at the hull's corner {vertex}"
        ));
    }
    let j = corners.partition_point(|c| c.0 <= step) - 1;
    let is_between = j + 1 < corners.len() && corners[j].0 < step;
    if !is_between || (at != j && at != j + 1) {
        return Err(format!(
            "step {step} is not beside the hull's corner {vertex}"
        ));
    }
    if let Some(witness) = witness {
        let set = named(ground.flow, &witness.set)?;
        let gain = gain_of_ideal(dag, &set).ok_or("the witness is no set that can be executed")?;
        if gain != witness.gain || set.len() as u64 != step {
            return Err("the witness has another size or gain than claimed".to_owned());
        }
    }
    let parts: Vec<&Placed> = of_interval(ground.inside, j as u32).collect();
    let from = corners[j];
    let size: u64 = parts.iter().map(|p| p.tasks.len() as u64).sum();
    let (most, is_exact) = match upper(ground.hull, &parts, solver) {
        Some((bound, is_exact)) => (from.1 + bound[(step - from.0) as usize], is_exact),
        None => (u64::MAX, false),
    };
    let best = (witness.map(|w| w.gain))
        .or_else(|| exact_sum(ground.whole, solver).map(|best| best[step as usize]));
    let claim = format!(
        "at step {vertex} one set is the only best, and no set of {step} tasks on the way through it is best"
    );
    match best {
        Some(best) if best > most => Ok(Outcome::Proved(claim)),
        Some(_) if is_exact => Err(format!(
            "a set of {step} tasks on the way through corner {vertex} gains as much as the witness"
        )),
        _ => Ok(Outcome::Asserted(format!(
            "{claim} (an interval of {size} tasks in {} parts)",
            parts.len()
        ))),
    }
}

fn component(
    ground: &Ground<'_>,
    interval: u32,
    tasks: &[String],
    how: &str,
    solver: &mut Solver,
) -> Result<Outcome, String> {
    let set = named(ground.flow, tasks)?;
    let is_it = |p: &&Placed| p.tasks.len() == set.len() && p.tasks.iter().all(|t| set.contains(t));
    let placed = (of_interval(ground.inside, interval).find(is_it))
        .ok_or("the tasks of the component are no independent part of the interval")?;
    let claim = format!(
        "a component of {} tasks admits no IC-optimal order",
        set.len()
    );
    match solver.admits(&placed.part) {
        Some(true) => Err("the component does admit an IC-optimal order".to_owned()),
        Some(false) => Ok(Outcome::Proved(claim)),
        None => Ok(Outcome::Asserted(format!("{claim} ({how})"))),
    }
}

/// The tasks of these names, each named once.
fn named(flow: &Flow, names: &[String]) -> Result<BTreeSet<TaskId>, String> {
    let mut set = BTreeSet::new();
    for name in names {
        let task = flow
            .find(name)
            .ok_or_else(|| format!("there is no task '{name}'"))?;
        if !set.insert(task) {
            return Err(format!("'{name}' is named twice in a set"));
        }
    }
    Ok(set)
}

fn gain_of_ideal(dag: &Dag, set: &BTreeSet<TaskId>) -> Option<u64> {
    let has_all = |t: TaskId| dag.parents(t).iter().all(|p| set.contains(p));
    let is_ideal = set.iter().all(|&t| has_all(t));
    let gained = dag.tasks().filter(|&t| !dag.is_source(t) && has_all(t));
    is_ideal.then(|| gained.count() as u64)
}

/// The most that all these parts can gain together, for each number of tasks; `None` if that is too much to find out.
pub(crate) fn exact_sum(parts: &[Placed], solver: &mut Solver) -> Option<Vec<u64>> {
    let profile = |placed: &Placed| solver.profile(&placed.part);
    let profiles: Vec<Vec<u64>> = parts.iter().map(profile).collect::<Option<_>>()?;
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    sum(&lists, &mut solver.effort)
}

/// A bound on what these parts can gain together, each within one interval of the hull; and whether it is exact.
pub(crate) fn upper(
    hull: &Hull,
    parts: &[&Placed],
    solver: &mut Solver,
) -> Option<(Vec<u64>, bool)> {
    let mut is_exact = true;
    let mut profiles = Vec::new();
    for placed in parts {
        profiles.push(solver.profile(&placed.part).unwrap_or_else(|| {
            is_exact = false;
            chord(hull, placed)
        }));
    }
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    Some((sum(&lists, &mut solver.effort)?, is_exact))
}

/// The edge of the hull above the part's interval, as a bound for the part: together with all that comes before the
/// interval, tasks of the part are an ideal, so they gain no more for each task than the whole interval does.
fn chord(hull: &Hull, placed: &Placed) -> Vec<u64> {
    let (from, to) = (
        hull.corners[placed.group as usize],
        hull.corners[placed.group as usize + 1],
    );
    let all = placed.part.rewards.len() as u64;
    let share = |x: u64| all.min(along(to.1 - from.1, x, to.0 - from.0));
    (0..=placed.tasks.len() as u64).map(share).collect()
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
        profiles.push(solver.profile(&placed.part));
    }
    let mut profiles: Vec<Vec<u64>> = profiles.into_iter().collect::<Option<_>>()?;
    profiles.sort();
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    let best = sum(&lists, &mut solver.effort)?;
    // Parts with equal profiles can stand for each other: their numbers are kept in falling order.
    let mut layer = BTreeSet::from([vec![0usize; profiles.len()]]);
    for t in 1..best.len() {
        let mut next = BTreeSet::new();
        for given in &layer {
            if !solver
                .effort
                .spend(1000 + (given.len() * given.len()) as u64)
            {
                return None;
            }
            for i in 0..given.len() {
                let stands_for_another =
                    i > 0 && profiles[i - 1] == profiles[i] && given[i - 1] == given[i];
                if given[i] + 1 >= profiles[i].len() || stands_for_another {
                    continue;
                }
                let mut more = given.clone();
                more[i] += 1;
                let gained: u64 = more.iter().zip(&profiles).map(|(&x, p)| p[x]).sum();
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
    all_admit.then_some(true)
}
