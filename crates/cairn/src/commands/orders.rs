//! The orders that a flow is given: the plan's, those of the usual policies, ties broken. Knows no output.

use crate::cli::{self, Policy, TieRule};
use crate::limits::{Clock, Limits, is_interrupted};
use cairn_dag::{Dag, Flow, TaskId};
use cairn_plan::policy::{self, Rule, Rules};
use cairn_plan::{Plan, Ties, Weights, Work, break_ties};
use cairn_theory::split::Decomposition;

/// The plan of a flow, with ties broken as asked.
pub(crate) fn make<'f>(
    flow: &'f Flow,
    choices: cli::Choices,
    limits: &Limits,
    clock: &Clock,
) -> Plan<'f> {
    let stop = clock.stop_planning(flow.dag());
    plan(flow, choices, &limits.effort(), &stop)
}

/// The same within any limits.
pub(crate) fn plan<'f>(
    flow: &'f Flow,
    choices: cli::Choices,
    effort: &cairn_plan::Limits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Plan<'f> {
    let dag = flow.dag();
    let mut plan = cairn_plan::plan(dag, effort, stop);
    let order = std::mem::take(&mut plan.order);
    let blocks = Some(plan.survey().blocks());
    plan.order = tied(flow, order, choices, &Weights::unit(dag.len()), blocks);
    plan
}

/// The order with ties broken as asked, as good at every step. Where nothing is asked, durations that are known decide.
pub(crate) fn tied(
    flow: &Flow,
    order: Vec<TaskId>,
    choices: cli::Choices,
    weights: &Weights,
    blocks: Option<&Decomposition>,
) -> Vec<TaskId> {
    let seconds = flow.imputed_seconds();
    let ties = match (choices.ties, &seconds) {
        (Some(TieRule::None), _) | (None, None) => return order,
        (Some(TieRule::Memory), _) => Ties::Memory,
        (Some(TieRule::CriticalPath), _) | (None, Some(_)) => {
            Ties::CriticalPath(seconds.as_deref())
        }
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

/// What the policies of one dag are made of.
pub(crate) struct Orders<'a> {
    dag: &'a Dag,
    /// The durations that policies know.
    seconds: Option<&'a [f64]>,
    /// Those that build on a plan; none without one.
    rules: Option<Rules<'a>>,
}

impl<'a> Orders<'a> {
    /// Policies that build on a plan may only be asked for with one ([`needs_plan`]).
    pub(crate) fn new(
        dag: &'a Dag,
        seconds: Option<&'a [f64]>,
        plan: Option<&'a Plan<'_>>,
    ) -> Orders<'a> {
        let rules =
            |plan: &'a Plan<'_>| Rules::new(dag, plan.survey().blocks(), &plan.order, seconds);
        Orders {
            dag,
            seconds,
            rules: plan.map(rules),
        }
    }

    /// The order of a policy. Ctrl-C cuts it short.
    pub(crate) fn of(&self, policy: Policy) -> Vec<TaskId> {
        let dag = self.dag;
        match (policy, rule(policy)) {
            (Policy::Fifo, _) => policy::fifo(dag),
            (Policy::Lifo, _) => policy::lifo(dag),
            (Policy::Outdegree, _) => policy::outdegree(dag),
            (Policy::Memory, _) => policy::memory(dag),
            (Policy::CriticalPath, _) => policy::critical_path(dag, self.seconds),
            (_, rule) => {
                let rule = rule.expect("the others are baselines");
                self.rule(rule, &mut Work::until(&is_interrupted))
            }
        }
    }

    /// The orders among which `auto` chooses: those of the first rules.
    pub(crate) fn candidates(
        &self,
        most: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<(Rule, Vec<TaskId>)> {
        let rules = self.rules.as_ref().expect("planned before");
        rules.candidates(most, stop)
    }

    /// The order of a rule that builds on the plan.
    fn rule(&self, rule: Rule, work: &mut Work<'_>) -> Vec<TaskId> {
        let rules = self.rules.as_ref().expect("planned before");
        rules.order(rule, work)
    }
}

/// Whether a policy builds on a plan.
pub(crate) fn needs_plan(policy: Policy) -> bool {
    policy != Policy::CriticalPath && rule(policy).is_some()
}

/// The policies among which `auto` chooses.
fn rule(policy: Policy) -> Option<Rule> {
    match policy {
        Policy::Ic => Some(Rule::Ic),
        Policy::IcCriticalPath => Some(Rule::IcCriticalPath),
        Policy::PathPlus => Some(Rule::PathPlus),
        Policy::CriticalPath => Some(Rule::CriticalPath),
        Policy::CriticalPathIc => Some(Rule::CriticalPathIc),
        Policy::PathHull => Some(Rule::PathHull),
        Policy::Descendants => Some(Rule::Descendants),
        Policy::Blend => Some(Rule::Blend),
        Policy::Share => Some(Rule::Share),
        Policy::Fifo | Policy::Lifo | Policy::Outdegree | Policy::Memory => None,
    }
}

/// The policy of a rule.
pub(crate) fn policy_of(wanted: Rule) -> Policy {
    use clap::ValueEnum;
    let all = Policy::value_variants().iter().copied();
    let found = all.into_iter().find(|&p| rule(p) == Some(wanted));
    found.expect("every rule is a policy")
}
