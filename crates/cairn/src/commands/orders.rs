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
    plan(flow, choices, &limits.effort(), &mut Work::until(&stop))
}

/// The same within any limits.
pub(crate) fn plan<'f>(
    flow: &'f Flow,
    choices: cli::Choices,
    effort: &cairn_plan::PlanEffort,
    work: &mut Work<'_>,
) -> Plan<'f> {
    let dag = flow.dag();
    let mut plan = cairn_plan::plan(dag, effort, work);
    let order = std::mem::take(&mut plan.order);
    let blocks = plan.survey().blocks();
    plan.order = tied(flow, order, choices, &Weights::unit(dag.len()), blocks);
    plan
}

/// The same as where no flag says otherwise.
pub(crate) fn usual<'f>(flow: &'f Flow, work: &mut Work<'_>) -> Plan<'f> {
    plan(
        flow,
        cli::Choices::default(),
        &cairn_plan::PlanEffort::default(),
        work,
    )
}

/// The order with ties broken as asked, as good at every step. Where nothing is asked, durations that are known decide.
pub(crate) fn tied(
    flow: &Flow,
    order: Vec<TaskId>,
    choices: cli::Choices,
    weights: &Weights,
    blocks: &Decomposition,
) -> Vec<TaskId> {
    let seconds = flow.imputed_seconds();
    let ties = match (choices.ties, &seconds) {
        // Without durations nobody knows that a longer path takes longer.
        (Some(TieRule::None), _) | (None, None) => return order,
        (Some(TieRule::Memory), _) => Ties::Memory,
        (Some(TieRule::CriticalPath), _) | (None, Some(_)) => {
            Ties::CriticalPath(seconds.as_deref())
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
        match kind(policy) {
            // One that needs no plan: so it can be had before there is one.
            Kind::Rule(Rule::CriticalPath) => policy::critical_path(self.dag, self.seconds),
            Kind::Rule(rule) => self.rules().order(rule, &mut Work::until(&is_interrupted)),
            Kind::Baseline(order) => order(self.dag),
        }
    }

    /// The rules among which `auto` chooses.
    pub(crate) fn rules(&self) -> &Rules<'a> {
        self.rules.as_ref().expect("planned before")
    }
}

/// Whether a policy builds on a plan.
pub(crate) fn needs_plan(policy: Policy) -> bool {
    matches!(kind(policy), Kind::Rule(rule) if rule != Rule::CriticalPath)
}

/// What an order is made by.
enum Kind {
    /// One of those among which `auto` chooses.
    Rule(Rule),
    /// What others do, by the dag alone.
    Baseline(fn(&Dag) -> Vec<TaskId>),
}

/// The one place where a policy gets its order: the compiler asks for every new one.
fn kind(policy: Policy) -> Kind {
    match policy {
        Policy::Ic => Kind::Rule(Rule::Ic),
        Policy::IcCriticalPath => Kind::Rule(Rule::IcCriticalPath),
        Policy::PathPlus => Kind::Rule(Rule::PathPlus),
        Policy::CriticalPath => Kind::Rule(Rule::CriticalPath),
        Policy::CriticalPathIc => Kind::Rule(Rule::CriticalPathIc),
        Policy::PathHull => Kind::Rule(Rule::PathHull),
        Policy::Descendants => Kind::Rule(Rule::Descendants),
        Policy::Blend => Kind::Rule(Rule::Blend),
        Policy::Share => Kind::Rule(Rule::Share),
        Policy::Fifo => Kind::Baseline(policy::fifo),
        Policy::Lifo => Kind::Baseline(policy::lifo),
        Policy::Outdegree => Kind::Baseline(policy::outdegree),
        Policy::Memory => Kind::Baseline(policy::memory),
    }
}

/// The policy of a rule.
pub(crate) fn policy_of(wanted: Rule) -> Policy {
    use clap::ValueEnum;
    let all = Policy::value_variants().iter().copied();
    let found = all
        .into_iter()
        .find(|&p| matches!(kind(p), Kind::Rule(rule) if rule == wanted));
    found.expect("every rule is a policy")
}
