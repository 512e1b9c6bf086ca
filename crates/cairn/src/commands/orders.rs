//! The orders that a flow is given: the plan's, those of the usual policies, ties broken. Knows no output.

use crate::cli::{self, Policy, TieRule};
use crate::limits::{Clock, Limits};
use cairn_dag::{Dag, Flow, TaskId};
use cairn_plan::{Plan, Ties, Weights, break_ties, policy};
use cairn_theory::split::Decomposition;

/// The plan of a flow, with ties broken as asked.
pub(crate) fn make<'f>(
    flow: &'f Flow,
    choices: cli::Choices,
    limits: &Limits,
    clock: &Clock,
) -> Plan<'f> {
    let dag = flow.dag();
    let mut plan = cairn_plan::plan(dag, &limits.effort(), &clock.stop_planning(dag));
    let order = std::mem::take(&mut plan.order);
    let blocks = Some(plan.survey().blocks());
    plan.order = tied(flow, order, choices, &Weights::unit(dag.len()), blocks);
    plan
}

/// The order with ties broken as asked, as good at every step.
pub(crate) fn tied(
    flow: &Flow,
    order: Vec<TaskId>,
    choices: cli::Choices,
    weights: &Weights,
    blocks: Option<&Decomposition>,
) -> Vec<TaskId> {
    let seconds = flow.imputed_seconds();
    let ties = match choices.ties {
        None => return order,
        Some(TieRule::Memory) => Ties::Memory,
        Some(TieRule::CriticalPath) => Ties::CriticalPath(seconds.as_deref()),
    };
    let found;
    let blocks = match blocks {
        Some(blocks) => blocks,
        None => {
            found = Decomposition::new(flow.dag());
            &found
        }
    };
    break_ties(flow.dag(), blocks, &order, ties, weights)
}

/// The order of one of the usual policies. `seconds` are the durations that it knows.
pub(crate) fn order_of(policy: Policy, dag: &Dag, seconds: Option<&[f64]>) -> Vec<TaskId> {
    match policy {
        Policy::Ic => unreachable!("the plan itself"),
        Policy::Fifo => policy::fifo(dag),
        Policy::Lifo => policy::lifo(dag),
        Policy::CriticalPath => policy::critical_path(dag, seconds),
        Policy::Outdegree => policy::outdegree(dag),
        Policy::Memory => policy::memory(dag),
    }
}
