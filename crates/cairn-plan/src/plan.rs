//! The plan of a dag: an order, a bound and a verdict, by theory where it applies and by the hull where it does not.
//! Knows no files and no clock.

use crate::decide::{self, Chain, Decision, NONE, Refusal, Verdict};
use crate::hull::{Hull, hull};
use crate::order::{chain_order, places};
use crate::{Weights, policy};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_theory::linearize::{Failure, Linearization, Obstacle, Theorem, linearize};
use cairn_theory::survey;
use cairn_verify::Foreseen;

/// What proves a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
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
    /// The dag is a sum of blocks of which one, or two together, admit no IC-optimal order.
    Blocks(Obstacle),
    /// Nothing is proved beside the bound.
    Nothing,
}

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Proved: no order has more eligible tasks at any step.
    Optimal,
    /// Proved: every order falls short of the best at some step.
    NoneExists,
    /// Not decided within the budget.
    Open,
}

/// An order for a dag and all that is known of how good it is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every task once, each after its parents; sinks last.
    pub order: Vec<TaskId>,
    /// Eligible tasks after t = 0..=n steps of the order.
    pub profile: Vec<u32>,
    /// No order has more eligible tasks after t steps.
    pub bound: Vec<u32>,
    /// The verdict.
    pub word: Word,
    /// What proves it.
    pub evidence: Evidence,
    /// Whether the dag, or its skeleton, is composite.
    pub is_composite: bool,
    /// Number of blocks, of the skeleton where the dag itself is not composite.
    pub blocks: usize,
    /// Shortcut arcs left out to find the blocks.
    pub skeleton_removed: usize,
    /// Why the theory of blocks alone does not decide, when it does not.
    pub obstacle: Option<Obstacle>,
    /// How the hull's components were decided, when they had to be.
    pub search: Option<Search>,
    /// The hull, when it was needed and found completely.
    pub hull: Option<Hull>,
    /// What the checker will prove of it, once [`foresee`](crate::foresee) was asked; nothing until then.
    pub checked: Foreseen,
}

/// How the hull's components were decided.
#[derive(Clone, Debug)]
pub struct Search {
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
pub struct Limits {
    /// For blocks and priorities.
    pub theory: survey::Limits,
    /// For deciding along the hull.
    pub decide: decide::Limits,
}

impl Default for Limits {
    /// Little for the theory of blocks: where it does not apply easily, the hull answers.
    fn default() -> Limits {
        Limits {
            theory: survey::Limits {
                block_states: 20_000,
                all_states: 400_000,
                give_up_early: true,
                ..survey::Limits::default()
            },
            decide: decide::Limits::default(),
        }
    }
}

impl Limits {
    /// For verdicts and orders that the default does not reach: some ten seconds for a few thousand tasks.
    pub fn thorough() -> Limits {
        Limits {
            decide: decide::Limits::thorough(),
            ..Limits::default()
        }
    }

    /// For an order and a bound at once: no search, no second look. The verdict is "open" more often.
    pub fn quick() -> Limits {
        Limits {
            theory: survey::Limits {
                block_states: 1_000,
                all_states: 20_000,
                ..Limits::default().theory
            },
            decide: decide::Limits::quick(),
        }
    }
}

/// Plans a dag. Deterministic as long as `stop` never answers yes; when it does, the best so far is returned, and
/// what it claims holds.
///
/// First the theory of blocks (linearization); where that fails, the hull gives an order that is optimal at every
/// vertex and a bound everywhere, and the components between vertices are decided one by one.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::{Limits, Word, plan};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let plan = plan(&diamond, &Limits::default(), &|| false);
/// assert_eq!(plan.word, Word::Optimal);
/// assert_eq!(plan.profile, [1, 2, 1, 1, 0]);
/// ```
///
/// # Panics
/// If the dag has more than 2³¹ tasks and arcs.
pub fn plan(dag: &Dag, limits: &Limits, stop: &(dyn Fn() -> bool + Sync)) -> Plan {
    let linearized = linearize(dag, &limits.theory, &mut Work::until(stop));
    plan_after(dag, &linearized, limits, stop)
}

/// As [`plan()`], where the theory of blocks has been asked already: `theory` is what [`linearize`] says of this dag.
///
/// # Panics
/// If the dag has more than 2³¹ tasks and arcs.
pub fn plan_after(
    dag: &Dag,
    theory: &Result<Linearization<'_>, Box<Failure<'_>>>,
    limits: &Limits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Plan {
    match theory {
        Ok(found) => {
            let ranks = found.proof.ranks.len();
            let survey = &found.proof.survey;
            let profile = profile(dag, &found.order);
            Plan {
                evidence: match found.proof.theorem() {
                    Theorem::Linear => Evidence::Linearization { ranks },
                    Theorem::Strands | Theorem::Merge => Evidence::Merge { ranks },
                },
                word: Word::Optimal,
                bound: profile.clone(),
                profile,
                is_composite: true,
                blocks: survey.blocks().len(),
                skeleton_removed: survey.removed(),
                order: found.order.clone(),
                obstacle: None,
                search: None,
                hull: None,
                checked: Foreseen::default(),
            }
        }
        Err(failure) => plan_by_hull(dag, failure, limits, stop),
    }
}

fn plan_by_hull(
    dag: &Dag,
    failure: &Failure<'_>,
    limits: &Limits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Plan {
    // The skeleton has the same ideals and the same eligible tasks, and fewer arcs.
    let skeleton = failure.survey.dag();
    let (hull, longest) = rayon::join(
        || {
            let weights = Weights::unit(skeleton.len());
            (!stop()).then(|| {
                hull(skeleton, &weights, &mut Work::until(stop))
                    .expect("within 2^31 tasks and arcs")
            })
        },
        || longest_first(skeleton),
    );
    let chain = match &hull {
        Some(hull) => chain_of(skeleton, hull, longest),
        None => chain_at_once(skeleton, longest),
    };
    let decision = decide::decide(skeleton, &chain, &limits.decide, stop);
    let search = hull.as_ref().map(|hull| Search {
        vertices: chain.is_edge.len().saturating_sub(1),
        is_hull_complete: hull.is_complete(),
        components: decision.components,
        methods: decision.methods.clone(),
    });
    let (word, evidence) = verdict(failure, &decision);
    let mut order = decision.order;
    order.extend(dag.sinks());
    Plan {
        profile: eligible(dag, &decision.gains),
        bound: eligible(dag, &decision.upper),
        order,
        word,
        evidence,
        is_composite: failure.survey.blocks().is_composite(),
        blocks: failure.survey.blocks().len(),
        skeleton_removed: failure.survey.removed(),
        obstacle: Some(failure.obstacle.clone()),
        search,
        hull: hull.filter(Hull::is_complete),
        checked: Foreseen::default(),
    }
}

fn verdict(failure: &Failure<'_>, decision: &Decision) -> (Word, Evidence) {
    match &decision.verdict {
        Verdict::Optimal => (Word::Optimal, Evidence::Bound),
        Verdict::NoneExists(refusal) => (Word::NoneExists, Evidence::Refusal(refusal.clone())),
        Verdict::Open if failure.proves_none() => {
            (Word::NoneExists, Evidence::Blocks(failure.obstacle.clone()))
        }
        Verdict::Open => (Word::Open, Evidence::Nothing),
    }
}

/// The strict vertices of the hull as a chain of intervals; `longest` is another order to choose from.
fn chain_of(dag: &Dag, hull: &Hull, longest: Vec<u32>) -> Chain {
    let mut interval_of_piece = Vec::with_capacity(hull.pieces());
    let mut interval = 0;
    for vertex in &hull.vertices()[1..] {
        interval_of_piece.push(interval);
        interval += u32::from(vertex.is_strict);
    }
    // The last vertex is the full set, strict or not.
    let count = interval_of_piece.last().map_or(0, |&last| last + 1);
    let of_task = |t: TaskId| {
        hull.executed_in(t)
            .map_or(NONE, |piece| interval_of_piece[piece])
    };
    let nonsinks = dag.tasks().filter(|&t| !dag.is_sink(t)).count();
    Chain {
        interval: dag.tasks().map(of_task).collect(),
        is_edge: vec![hull.is_complete(); count as usize],
        upper: (0..=nonsinks as u64).map(|t| hull.at(t) as u32).collect(),
        ranks: vec![places(&chain_order(dag, hull)), longest],
    }
}

/// What a plan has that is out of time before it begins: one interval, and the bound of shared tasks.
fn chain_at_once(dag: &Dag, longest: Vec<u32>) -> Chain {
    let of_task = |t: TaskId| if dag.is_sink(t) { NONE } else { 0 };
    Chain {
        interval: dag.tasks().map(of_task).collect(),
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
            Some(&gain) => (sources + gain as usize - t) as u32,
            None => (dag.len() - t) as u32,
        })
        .collect()
}

fn profile(dag: &Dag, order: &[TaskId]) -> Vec<u32> {
    cairn_theory::profile::profile(dag, order).expect("plans are topological orders of all tasks")
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
            let plan = plan(&dag, &Limits::default(), &|| false);
            let best = best_profile(&dag);
            prop_assert_eq!(&plan.profile, &cairn_oracle::profile(&dag, &plan.order));
            for t in 0..best.len() {
                prop_assert!(plan.bound[t] >= best[t]);
            }
            match plan.word {
                Word::Optimal => prop_assert_eq!(&plan.profile, &best),
                Word::NoneExists => prop_assert!(ic_optimal_order(&dag).is_none()),
                Word::Open => prop_assert!(false, "open"),
            }
        }

        /// Stopped at any moment, also before it begins: order, bound and verdict hold.
        #[test]
        fn plans_that_are_out_of_time_hold(dag in any_dag(12), asked in 0u32..12) {
            let count = std::sync::atomic::AtomicU32::new(0);
            let stop = || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= asked;
            let plan = plan(&dag, &Limits::default(), &stop);
            let best = best_profile(&dag);
            prop_assert_eq!(&plan.profile, &cairn_oracle::profile(&dag, &plan.order));
            prop_assert!(plan.bound.iter().zip(&best).all(|(bound, best)| bound >= best));
            match plan.word {
                Word::Optimal => prop_assert_eq!(&plan.profile, &best),
                Word::NoneExists => prop_assert!(ic_optimal_order(&dag).is_none()),
                Word::Open => {}
            }
        }

        /// A shortcut arc changes neither the verdict nor the bound.
        #[test]
        fn shortcuts_change_nothing(dag in any_dag(14), pick in any::<u64>()) {
            let before = plan(&dag, &Limits::default(), &|| false);
            let pairs: Vec<(u32, u32)> = (dag.tasks())
                .flat_map(|a| dag.descendants(&[a]).into_iter().map(move |b| (a.0, b.0)))
                .filter(|(a, b)| a != b).collect();
            if !pairs.is_empty() {
                let mut arcs: Vec<(u32, u32)> = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
                arcs.push(pairs[pick as usize % pairs.len()]);
                let after = plan(&Dag::from_arcs(dag.len(), arcs).unwrap(), &Limits::default(), &|| false);
                prop_assert_eq!(before.word, after.word);
                prop_assert_eq!(best_profile(&dag).len(), after.bound.len());
            }
        }
    }
}
