//! The plan of a dag: an order, a bound and a verdict, by theory where it applies and by the hull where it does not.
//! Knows no files and no clock.

use crate::decide::{self, IntervalId, Refusal, StrictChain};
use crate::hull::{Hull, hull};
use crate::order::chain_order;
use crate::{Verdict, Weights, budgets, policy};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, long, narrow, places, wide};
use cairn_theory::linearize::{Failure, Linearization, Obstacle, Proof, Theorem, linearize};
use cairn_theory::profile::profile;
use cairn_theory::survey::{self, Survey};
use cairn_verify::Foreseen;
use std::cmp::Reverse;

/// What proves a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A ▷-linear composition of blocks: so many ranks of them (\[MRY06\], Theorem 7).
    Linearization {
        /// Ranks under ▷.
        ranks: usize,
    },
    /// Blocks merged by their increments, and a ▷-linear composition of the sums.
    Merge {
        /// Ranks under ▷.
        ranks: usize,
    },
    /// The order meets the certified bound at every step.
    Bound,
    /// No IC-optimal order exists, for this reason.
    Refusal(Refusal),
    /// The dag is a sum of blocks of which one, or two together, admit no IC-optimal order: the plan's obstacle.
    Blocks,
    /// Nothing is proved beside the bound.
    Nothing,
}

impl Basis {
    /// The word for it in JSON, if there is a proof: what kind of argument it is.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Basis::Linearization { .. } => Some("linearization"),
            Basis::Merge { .. } | Basis::Blocks | Basis::Refusal(Refusal::Sum { .. }) => {
                Some("merge")
            }
            Basis::Bound | Basis::Refusal(Refusal::Crossing(_)) => Some("bound"),
            Basis::Refusal(Refusal::Component { .. }) => Some("exhaustive"),
            Basis::Nothing => None,
        }
    }
}

/// An order for a dag and all that is known of how good it is.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Every task once, each after its parents; sinks last.
    pub order: Vec<TaskId>,
    /// Eligible tasks after t = 0..=n steps of the order.
    pub profile: Vec<u32>,
    /// No order has more eligible tasks after t steps.
    pub bound: Vec<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// What proves it.
    pub basis: Basis,
    /// What the theory of blocks says of the dag: a proof, or why it does not decide alone. Both keep the blocks.
    pub theory: Result<Proof<'a>, Box<Failure<'a>>>,
    /// How the hull's components were decided, when they had to be.
    pub search: Option<SearchRecord>,
    /// The hull, when it was needed and found completely.
    pub hull: Option<Hull>,
    /// By task, where there is a hull: the interval between its strict vertices that the task is executed in; none for sinks.
    pub(crate) intervals: Vec<Option<IntervalId>>,
    /// What the checker will prove of it, once [`foresee`](crate::foresee) was asked; nothing until then.
    pub checked: Foreseen,
}

impl<'a> Plan<'a> {
    /// The blocks of the dag, or of its skeleton where the dag itself is not composite.
    pub fn survey(&self) -> &Survey<'a> {
        match &self.theory {
            Ok(proof) => &proof.survey,
            Err(failure) => &failure.survey,
        }
    }

    /// Why the theory of blocks alone does not decide, when it does not.
    pub(crate) fn obstacle(&self) -> Option<&Obstacle> {
        self.theory.as_ref().err().map(|failure| &failure.obstacle)
    }

    /// The verdict on an order with this profile, which may not be the plan's own.
    pub fn judge(&self, profile: &[u32]) -> Verdict {
        self.verdict.judge(profile, &self.bound)
    }

    /// Where an order with this profile is furthest below the bound, the first such step, and by how much.
    pub fn largest_gap(&self, profile: &[u32]) -> (usize, u32) {
        let gaps = self.bound.iter().zip(profile).map(|(b, p)| b - p);
        let largest = gaps.enumerate().max_by_key(|&(t, gap)| (gap, Reverse(t)));
        largest.unwrap_or((0, 0))
    }

    /// At how many steps the checker proves the bound.
    pub fn steps_proved(&self) -> usize {
        self.checked.steps.iter().filter(|&&is| is).count()
    }

    /// Whether the checker proves such a verdict on an order of this plan's dag.
    pub fn is_proved(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Optimal => self.steps_proved() == self.bound.len(),
            _ => self.checked.verdict,
        }
    }

    /// The steps at which a profile is the bound itself and the checker proves that: no order has more there.
    pub fn optimal_steps(&self, profile: &[u32]) -> Vec<u32> {
        let met = profile.iter().zip(&self.bound).map(|(p, b)| p == b);
        let proved = met.zip(&self.checked.steps).map(|(met, is)| met && *is);
        let steps = proved.enumerate().filter(|&(_, is)| is);
        steps.map(|(t, _)| narrow(t)).collect()
    }
}

/// How the hull's components were decided.
#[derive(Clone, Debug)]
pub struct SearchRecord {
    /// Strict vertices of the hull, without the empty and the full set.
    pub vertices: usize,
    /// Whether the whole hull was found in time.
    pub is_hull_complete: bool,
    /// How many components there are, and how many different ones.
    pub components: (usize, usize),
    /// By name of the method: how many components it had the last word on.
    pub methods: Vec<(&'static str, usize)>,
}

/// How much work a plan may cost.
#[derive(Clone, Copy, Debug)]
pub struct PlanEffort {
    /// For blocks and priorities.
    pub theory: survey::SurveyEffort,
    /// For deciding along the hull.
    pub decide: decide::DecideEffort,
}

impl Default for PlanEffort {
    /// Little for the theory of blocks: where it does not apply easily, the hull answers.
    fn default() -> PlanEffort {
        PlanEffort {
            theory: budgets::theory::usual(),
            decide: budgets::decide::USUAL,
        }
    }
}

impl PlanEffort {
    /// For verdicts and orders that the default does not reach: some ten seconds for a few thousand tasks.
    pub fn thorough() -> PlanEffort {
        PlanEffort {
            decide: budgets::decide::THOROUGH,
            ..PlanEffort::default()
        }
    }

    /// For an order and a bound at once: no search, no second look. The verdict is "open" more often.
    pub fn quick() -> PlanEffort {
        PlanEffort {
            theory: budgets::theory::quick(),
            decide: budgets::decide::QUICK,
        }
    }
}

/// Plans a dag: of all orders, one that has as many eligible tasks as possible after every number of executed tasks.
///
/// An order that has the most at every step at once is *IC-optimal* (\[MRY06\]); many dags admit none. The plan has an
/// order, a bound that no order exceeds at any step, and a verdict: this order is IC-optimal, none is, or open.
///
/// First the theory of blocks: if the dag is a ▷-linear composition of blocks, to execute them one after the other is
/// IC-optimal (\[MRY06\], Theorem 7). Where that fails, the [hull](crate::hull()) gives an order that is best at every
/// vertex and a bound everywhere, and the components between vertices are decided one by one.
///
/// The theory and the hull take near-linear time as measured; what comes after is bounded by the steps in `effort`.
/// Deterministic as long as `work` is not told to stop; when it is, the best so far is returned, and what it claims holds.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::{PlanEffort, Verdict, Work, plan};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let plan = plan(&diamond, &PlanEffort::default(), &mut Work::unlimited());
/// assert_eq!(plan.verdict, Verdict::Optimal);
/// assert_eq!(plan.profile, [1, 2, 1, 1, 0]);
/// ```
///
/// # Panics
/// If the dag has more than 2³¹ tasks and arcs.
pub fn plan<'a>(dag: &'a Dag, effort: &PlanEffort, work: &mut Work<'_>) -> Plan<'a> {
    match linearize(dag, &effort.theory, &mut work.unmetered()) {
        Ok(Linearization { order, proof }) => {
            let ranks = proof.ranks.len();
            let profile = profile(dag, &order).expect("linearizations are topological orders");
            Plan {
                basis: match proof.theorem() {
                    Theorem::Linear => Basis::Linearization { ranks },
                    Theorem::Strands | Theorem::Merge => Basis::Merge { ranks },
                },
                verdict: Verdict::Optimal,
                bound: profile.clone(),
                profile,
                order,
                theory: Ok(proof),
                search: None,
                hull: None,
                intervals: Vec::new(),
                checked: Foreseen::default(),
            }
        }
        Err(failure) => plan_by_hull(dag, failure, effort, work),
    }
}

fn plan_by_hull<'a>(
    dag: &Dag,
    failure: Box<Failure<'a>>,
    effort: &PlanEffort,
    work: &mut Work<'_>,
) -> Plan<'a> {
    // The skeleton has the same ideals and the same eligible tasks, and fewer arcs.
    let skeleton = failure.survey.dag();
    // Two orders to start from: in every component the better one is kept.
    // Beside each other: neither needs the other, and on large dags both take long.
    let (hull, longest) = rayon::join(
        || {
            let weights = Weights::unit(skeleton.len());
            (!work.is_stopped()).then(|| {
                hull(skeleton, &weights, &mut work.unmetered()).expect("within 2^31 tasks and arcs")
            })
        },
        || longest_first(skeleton),
    );
    let chain = match &hull {
        Some(hull) => chain_of(skeleton, hull, longest),
        None => chain_at_once(skeleton, longest),
    };
    // Its own budgets, and the same question: what the hull took is no reason to decide less.
    let decision = decide::decide(skeleton, &chain, &effort.decide, &mut work.unmetered());
    let search = hull.as_ref().map(|hull| SearchRecord {
        vertices: chain.is_edge.len().saturating_sub(1),
        is_hull_complete: hull.is_complete(),
        components: decision.components,
        methods: decision.methods,
    });
    let (verdict, basis) = match decision.refusal {
        // Before any refusal: meeting the bound is a proof.
        _ if decision.gains == decision.upper => (Verdict::Optimal, Basis::Bound),
        Some(refusal) => (Verdict::NoneExists, Basis::Refusal(refusal)),
        None if failure.proves_none() => (Verdict::NoneExists, Basis::Blocks),
        None => (Verdict::Open, Basis::Nothing),
    };
    let mut order = decision.order;
    order.extend(dag.sinks());
    Plan {
        profile: eligible(dag, &decision.gains),
        bound: eligible(dag, &decision.upper),
        order,
        verdict,
        basis,
        theory: Err(failure),
        search,
        // One that was cut short proves less than a new one will, so certificates must not find it here.
        hull: hull.filter(Hull::is_complete),
        intervals: chain.interval,
        checked: Foreseen::default(),
    }
}

/// The strict vertices of the hull as a chain of intervals; `longest` is another order to choose from.
fn chain_of(dag: &Dag, hull: &Hull, longest: Vec<u32>) -> StrictChain {
    let mut interval_of_piece = Vec::with_capacity(hull.pieces());
    let mut interval = 0;
    for vertex in &hull.vertices()[1..] {
        interval_of_piece.push(IntervalId::new(interval));
        // Vertices inside an edge are not the only best sets of their size, so they cut nothing.
        interval += usize::from(vertex.is_strict);
    }
    // The last vertex is the full set, strict or not.
    let count = interval_of_piece.last().map_or(0, |last| last.index() + 1);
    let of_task = |t| Some(interval_of_piece[hull.executed_in(t)?.index()]);
    let nonsinks = dag.tasks().filter(|&t| !dag.is_sink(t)).count();
    StrictChain {
        interval: dag.tasks().map(of_task).collect(),
        // A stretch of an incomplete hull is no edge, and which ones are is not asked: chords are used everywhere or
        // nowhere.
        is_edge: vec![hull.is_complete(); count],
        upper: (0..=long(nonsinks)).map(|t| hull.at(t) as u32).collect(),
        ranks: vec![places(&chain_order(dag, hull)), longest],
    }
}

/// What a plan has that is out of time before it begins: one interval, and the bound of shared tasks.
fn chain_at_once(dag: &Dag, longest: Vec<u32>) -> StrictChain {
    StrictChain {
        interval: decide::one_interval(dag),
        is_edge: vec![false],
        upper: decide::shared_tasks(dag),
        ranks: vec![longest],
    }
}

fn longest_first(dag: &Dag) -> Vec<u32> {
    places(&policy::critical_path(dag, None))
}

/// Eligible tasks from gains of nonsinks: |S| − t + gain, then n − t once only sinks are left.
fn eligible(dag: &Dag, gains: &[u32]) -> Vec<u32> {
    let sources = dag.sources().count();
    (0..=dag.len())
        .map(|t| match gains.get(t) {
            Some(&gain) => narrow(sources + wide(gain) - t),
            None => narrow(dag.len() - t),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, best_profile, ic_optimal_order};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn plans_agree_with_brute_force(dag in any_dag(14)) {
            let plan = plan(&dag, &PlanEffort::default(), &mut Work::unlimited());
            let best = best_profile(&dag);
            prop_assert_eq!(&plan.profile, &cairn_oracle::profile(&dag, &plan.order));
            for t in 0..best.len() {
                prop_assert!(plan.bound[t] >= best[t]);
            }
            match plan.verdict {
                Verdict::Optimal => prop_assert_eq!(&plan.profile, &best),
                Verdict::NoneExists => prop_assert!(ic_optimal_order(&dag).is_none()),
                other => prop_assert!(false, "{}", other.name()),
            }
        }

        /// Stopped at any moment, also before it begins: order, bound and verdict hold.
        #[test]
        fn plans_that_are_out_of_time_hold(dag in any_dag(12), asked in 0u32..12) {
            let count = std::sync::atomic::AtomicU32::new(0);
            let stop = || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= asked;
            let plan = plan(&dag, &PlanEffort::default(), &mut Work::until(&stop));
            let best = best_profile(&dag);
            prop_assert_eq!(&plan.profile, &cairn_oracle::profile(&dag, &plan.order));
            prop_assert!(plan.bound.iter().zip(&best).all(|(bound, best)| bound >= best));
            match plan.verdict {
                Verdict::Optimal => prop_assert_eq!(&plan.profile, &best),
                Verdict::NoneExists => prop_assert!(ic_optimal_order(&dag).is_none()),
                Verdict::Open => {}
                Verdict::Suboptimal => prop_assert!(false, "of the plan's own order"),
            }
        }

        /// A shortcut arc changes neither the verdict nor the bound.
        #[test]
        fn shortcuts_change_nothing(dag in any_dag(14), pick in any::<u64>()) {
            let before = plan(&dag, &PlanEffort::default(), &mut Work::unlimited());
            let pairs: Vec<(u32, u32)> = (dag.tasks())
                .flat_map(|a| dag.descendants(&[a]).into_iter().map(move |b| (a.0, b.0)))
                .filter(|(a, b)| a != b).collect();
            if !pairs.is_empty() {
                let mut arcs: Vec<(u32, u32)> = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
                arcs.push(pairs[pick as usize % pairs.len()]);
                let longer = Dag::from_arcs(dag.len(), arcs).unwrap();
                let after = plan(&longer, &PlanEffort::default(), &mut Work::unlimited());
                prop_assert_eq!(before.verdict, after.verdict);
                prop_assert_eq!(before.bound, after.bound);
            }
        }
    }
}
