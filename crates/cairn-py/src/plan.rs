//! Plans, orders of policies and batches, as numbers. Knows no names.

use crate::dag::{Dag, bytes_of, seconds, tasks};
use crate::refused;
use crate::work::{beside, beside_in_two, limit};
use cairn_dag::TaskId;
use cairn_plan::batch::{BatchEffort, BatchState, Batcher};
use cairn_plan::policy::{self, Rule, Rules};
use cairn_plan::{Plan, PlanEffort, Work};
use cairn_sim::{Contest, Options, Plays, World, usual_worlds};
use cairn_theory::profile::profile;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How hard a plan may try.
fn effort(name: &str) -> PyResult<PlanEffort> {
    match name {
        "quick" => Ok(PlanEffort::quick()),
        "usual" => Ok(PlanEffort::default()),
        "thorough" => Ok(PlanEffort::thorough()),
        other => Err(refused(format!(
            "there is no effort {other:?}; give quick, usual or thorough"
        ))),
    }
}

/// Policies that need no plan.
const BASELINES: [(&str, Baseline); 4] = [
    ("fifo", policy::fifo),
    ("lifo", policy::lifo),
    ("outdegree", policy::outdegree),
    ("memory", policy::memory),
];

/// An order by the dag alone.
type Baseline = fn(&cairn_dag::Dag) -> Vec<TaskId>;

/// All words for a policy.
fn known() -> Vec<&'static str> {
    let rules = Rule::ALL.iter().map(|r| r.name());
    let baselines = BASELINES.iter().map(|(name, _)| *name);
    rules.chain(baselines).chain(["auto"]).collect()
}

/// Whether it is a policy at all.
fn check(name: &str) -> PyResult<()> {
    match known().contains(&name) {
        true => Ok(()),
        false => Err(refused(format!(
            "there is no policy {name:?}; policies: {}",
            known().join(", ")
        ))),
    }
}

/// The order of a policy, and which one `auto` has chosen.
pub(crate) fn order_of(
    dag: &cairn_dag::Dag,
    plan: &Plan<'_>,
    name: &str,
    seconds: Option<&[f64]>,
    work: &Work<'_>,
) -> PyResult<(Vec<TaskId>, String)> {
    let rules = Rules::new(dag, plan.survey().blocks(), &plan.order, seconds);
    if name == "auto" {
        return chosen(dag, &rules, seconds, work);
    }
    let order = match BASELINES.iter().find(|(known, _)| *known == name) {
        Some((_, order)) => order(dag),
        None => {
            let rule = Rule::ALL.into_iter().find(|r| r.name() == name);
            let rule = rule.ok_or_else(|| refused(format!("there is no policy {name:?}")))?;
            rules.order(rule, &mut work.unmetered())
        }
    };
    Ok((order, name.to_owned()))
}

/// The rule that is fastest in the usual worlds.
fn chosen(
    dag: &cairn_dag::Dag,
    rules: &Rules<'_>,
    seconds: Option<&[f64]>,
    work: &Work<'_>,
) -> PyResult<(Vec<TaskId>, String)> {
    let mean = seconds.map_or(1.0, |s| s.iter().sum::<f64>() / s.len().max(1) as f64);
    let (takes, mean) = match seconds {
        Some(seconds) if mean > 0.0 => {
            let known: Vec<Option<f64>> = seconds.iter().copied().map(Some).collect();
            (cairn_sim::Workload::known(&known).map_err(refused)?, mean)
        }
        _ => (World::study_work(), 1.0),
    };
    let worlds = usual_worlds(mean).map_err(refused)?;
    let effort = Plays::for_dag(dag.len(), Rule::ALL.len(), worlds.len());
    let mut candidates = rules.candidates(effort.policies, &mut work.unmetered());
    let options = Options {
        runs: effort.runs,
        work: work.unmetered(),
        ..Options::default()
    };
    let contest = Contest {
        dag,
        work: &takes,
        worlds: &worlds,
        options: &options,
    };
    let best = contest.choose_rule(&candidates).map_err(refused)?;
    let (rule, order) = candidates.swap_remove(best.policy);
    Ok((order, rule.name().to_owned()))
}

/// Order, profile and bound as bytes; verdict, proof and policy as words; and whether the time was up.
type Planned<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    &'static str,
    &'static str,
    String,
);

/// Plans a dag.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    dag: &Dag,
    policy: &str,
    durations: Option<Vec<f64>>,
    effort_name: &str,
    time_limit: Option<f64>,
) -> PyResult<Planned<'py>> {
    check(policy)?;
    let effort = effort(effort_name)?;
    let time = limit(time_limit)?;
    let seconds = seconds(&dag.dag, durations)?;
    let dag = dag.dag.clone();
    let made = beside(py, time, move |work| {
        let plan = cairn_plan::plan(&dag, &effort, &mut work.unmetered());
        let proof = plan.basis.name().unwrap_or("");
        // Its profile and verdict are at hand: nothing need be judged again.
        if policy == "ic" {
            return Ok((
                plan.order,
                plan.profile,
                plan.bound,
                plan.verdict.name(),
                proof,
                "ic".to_owned(),
            ));
        }
        let (order, name) = order_of(&dag, &plan, policy, seconds.as_deref(), work)?;
        let profile = profile(&dag, &order).map_err(refused)?;
        let verdict = plan.judge(&profile);
        Ok((order, profile, plan.bound, verdict.name(), proof, name))
    })?;
    let (order, profile, bound, verdict, proof, name) = made;
    Ok((
        PyBytes::new(py, &bytes_of(order.iter().map(|t| t.0))),
        PyBytes::new(py, &bytes_of(profile.into_iter())),
        PyBytes::new(py, &bytes_of(bound.into_iter())),
        verdict,
        proof,
        name,
    ))
}

/// The orders of several policies: (name, order) each; `auto` has the name of what it chose.
#[pyfunction]
pub(crate) fn orders(
    py: Python<'_>,
    dag: &Dag,
    policies: Vec<String>,
    durations: Option<Vec<f64>>,
    effort_name: &str,
    time_limit: Option<f64>,
) -> PyResult<Vec<(String, Vec<u32>)>> {
    policies.iter().try_for_each(|name| check(name))?;
    let effort = effort(effort_name)?;
    let time = limit(time_limit)?;
    let seconds = seconds(&dag.dag, durations)?;
    let dag = dag.dag.clone();
    beside(py, time, move |work| {
        let plan = cairn_plan::plan(&dag, &effort, &mut work.unmetered());
        let made = policies.iter().map(|name| {
            let (order, name) = order_of(&dag, &plan, name, seconds.as_deref(), work)?;
            Ok((name, order.iter().map(|t| t.0).collect()))
        });
        made.collect()
    })
}

/// The chosen tasks, eligible tasks before and after, the bound on those after, and what is proved.
type Chosen = (Vec<u32>, usize, usize, usize, &'static str);

/// The best eligible tasks now.
#[pyfunction]
pub(crate) fn batch(
    py: Python<'_>,
    dag: &Dag,
    executed: Vec<u32>,
    requests: usize,
    effort_name: &str,
    time_limit: Option<f64>,
) -> PyResult<Chosen> {
    let effort = effort(effort_name)?;
    let batch_effort = match effort_name {
        "quick" => BatchEffort::fast(),
        "thorough" => BatchEffort::thorough(),
        _ => BatchEffort::default(),
    };
    let time = limit(time_limit)?;
    let executed = tasks(&dag.dag, &executed)?;
    let dag = dag.dag.clone();
    beside_in_two(py, time, move |work, half| {
        let state = BatchState::with_executed(&dag, &executed);
        let state = state.map_err(|error| {
            refused(format!(
                "these tasks cannot be executed alone: {error}; name their parents too"
            ))
        })?;
        // Half of the time at the most: the plan only breaks ties, and the batch must not be left without any.
        let plan = cairn_plan::plan(&dag, &effort, &mut half.unmetered());
        let before = state.eligible().len();
        let batch = Batcher::new(state, &plan.order).choose_until(
            requests,
            &batch_effort,
            &mut work.unmetered(),
        );
        let rest = before - batch.chosen.len();
        let chosen = batch.chosen.iter().map(|t| t.0).collect();
        Ok((
            chosen,
            before,
            rest + batch.gain,
            rest + batch.bound,
            batch.quality.name(),
        ))
    })
}
