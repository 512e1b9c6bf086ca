//! Round after round with more steps until a dag is decided: components, sums, bounds across intervals, verdict.
//! Knows no flow, and no method for a component.

use super::crossing::with_fewer_corners;
use super::improve::{gains, improve};
use super::intervals::{Intervals, StrictChain};
use super::refusal::Refusal;
use super::solve::ComponentEffort;
use super::solved::Solved;
use super::windows::Windows;
use super::witness::Witnesses;
use crate::budgets::decide as budgets;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, wide};
use std::ops::Range;

/// How much work deciding may cost, at the most: less where less decides.
#[derive(Clone, Copy, Debug)]
pub struct DecideEffort {
    /// For each component; less when there are very many.
    pub component: ComponentEffort,
    /// Steps for all components together.
    pub components: u64,
    /// Steps for the forest of all components: quadratic at the worst, and worth it in any round.
    pub forest: u64,
    /// Steps for other bounds across intervals: witnesses and windows.
    pub across: u64,
    /// Steps for making an order better that is not proved optimal.
    pub improve: u64,
    /// Steps for finding two steps that show why no IC-optimal order exists.
    pub pair: u64,
    /// With at most so many nonsinks, bounds across intervals are tried: they take quadratic time and space.
    pub most_for_across: usize,
    /// How often to try until the dag is decided, each time with eight times the steps of the time before for components
    /// and across intervals.
    pub rounds: u32,
    /// With at most so many nonsinks, a dag without an IC-optimal order is tried again as well, until its order
    /// comes near the bound.
    pub most_to_polish: usize,
}

impl DecideEffort {
    /// The steps of one round, counted from 0; the last has them all.
    pub(super) fn in_round(&self, round: u32) -> DecideEffort {
        // Forest, improvement and pairs are not divided: each is needed once at most, or worth its price in any round.
        let divisor = budgets::MORE_A_ROUND.saturating_pow(self.rounds.saturating_sub(round + 1));
        let mut effort = *self;
        effort.component.steps /= divisor;
        effort.components /= divisor;
        effort.across /= divisor;
        effort
    }
}

/// The order, the bound, and why no order meets it.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// All nonsinks in order.
    pub order: Vec<TaskId>,
    /// What the order's prefixes gain.
    pub gains: Vec<u32>,
    /// The most that any `t` nonsinks gain.
    pub upper: Vec<u32>,
    /// The most that a real set of `t` nonsinks was seen to gain.
    #[cfg(test)]
    pub witness: Vec<u32>,
    /// Why no IC-optimal order exists, where that was proved.
    pub refusal: Option<Refusal>,
    /// How many components there are, and how many different ones.
    pub components: (usize, usize),
    /// By name of the method: how many components it decided.
    pub methods: Vec<(&'static str, usize)>,
}

/// Decides a dag along a chain: is there an order of its nonsinks that gains, after every number of them, the most that
/// any so many gain? Finds one, or why there is none, or else a good order and a bound.
///
/// Every such order passes through each strict vertex of the hull, as no other set of that size gains as much; so the
/// question splits into intervals, and these into components. Round after round with eight times the steps for them, until
/// the order meets the bound or some proof shows that no order can: most dags are decided in the first. What so many tasks
/// gain at the most is NP-hard to find (\[MR05\], Theorem 3.1), so time is bounded by the steps in `effort`; space is
/// quadratic up to `effort.most_for_across` nonsinks, and linear above.
///
/// The answer is the same on every machine as long as nobody says stop; then what was found by that time is returned.
///
/// For example, a task that gains two alone, beside two that gain five together: the two are the only best set of two, so
/// every IC-optimal order begins with them and has gained nothing after one step. The other one would have gained two.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_plan::{Basis, PlanEffort, Refusal, Work, plan};
/// // Children 3 and 4 of task 0; 5 to 9 of both 1 and 2.
/// let alone = [(0, 3), (0, 4)];
/// let together = (5..10).flat_map(|child| [(1, child), (2, child)]);
/// let dag = Dag::from_arcs(10, alone.into_iter().chain(together).collect())?;
/// let plan = plan(&dag, &PlanEffort::default(), &mut Work::unlimited());
/// // Three tasks are eligible at first; gains of 0, 0, 5, 7 are reached, 0, 2, 5, 7 is the bound.
/// assert_eq!((&plan.profile[..4], &plan.bound[..4]), (&[3, 2, 6, 7][..], &[3, 4, 6, 7][..]));
/// let Basis::Refusal(Refusal::Crossing(crossing)) = plan.basis else {
///     panic!("a set beside the chain is a proof")
/// };
/// assert_eq!((crossing.step, crossing.set, crossing.inside), (1, Some(vec![TaskId(0)]), 0));
/// assert_eq!(crossing.after.map(|vertex| vertex.step), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(crate) fn decide(
    dag: &Dag,
    chain: &StrictChain,
    effort: &DecideEffort,
    work: &mut Work<'_>,
) -> Decision {
    if work.is_stopped() {
        return Decision::undecided(dag, chain);
    }
    let mut decider = Decider {
        solved: Solved::new(dag, chain),
        upper: chain.upper.clone(),
        dag,
        chain,
        effort,
        work,
    };
    let mut number = 0;
    let mut proved = None;
    let mut round = loop {
        let mut round = decider.round(&effort.in_round(number));
        number += 1;
        // A later round may be stopped before it proves the same again.
        round.refusal = round.refusal.or(proved);
        if decider.is_settled(&round) || number >= effort.rounds || decider.work.is_stopped() {
            break round;
        }
        proved = round.refusal;
    };
    if round.gains != decider.upper {
        decider.polish(&mut round);
    }
    let is_optimal = round.gains == decider.upper;
    let refusal = round.refusal.take();
    debug_assert!(
        !is_optimal || refusal.is_none(),
        "optimal and refused: {refusal:?}"
    );
    Decision {
        refusal: refusal
            .filter(|_| !is_optimal)
            .map(|refusal| decider.best_shown(refusal, &round)),
        #[cfg(test)]
        witness: round.found.gains().to_vec(),
        methods: decider.solved.methods(),
        components: (
            decider.solved.components().count(),
            decider.solved.classes().count(),
        ),
        order: round.order,
        gains: round.gains,
        upper: decider.upper,
    }
}

/// What all rounds share: each learns more of the components and lowers the bound.
struct Decider<'a, 'w> {
    dag: &'a Dag,
    chain: &'a StrictChain,
    effort: &'a DecideEffort,
    work: &'a mut Work<'w>,
    solved: Solved,
    upper: Vec<u32>,
}

/// What one round found.
struct Round {
    intervals: Intervals,
    order: Vec<TaskId>,
    gains: Vec<u32>,
    found: Witnesses,
    refusal: Option<Refusal>,
}

impl Decider<'_, '_> {
    /// Solves, adds up, and looks across intervals, within these steps.
    fn round(&mut self, effort: &DecideEffort) -> Round {
        self.solved.deepen(effort, self.work);
        let mut intervals = Intervals::new(self.chain, &self.solved, self.work);
        let order = std::mem::take(&mut intervals.order);
        let gains = gains(self.dag, &order);
        let mut found = Witnesses::new(&gains);
        // Where the order meets the bound already nothing across intervals can change the verdict.
        if gains != self.upper && order.len() <= effort.most_for_across {
            let windows = Windows::new(self.dag, self.chain, &self.solved, &intervals.start);
            let forest = windows.lower(&mut self.upper, &mut self.work.part(effort.forest));
            let mut work = self.work.part(effort.across);
            intervals.look_for_witnesses(self.dag, &self.solved, &mut found, &mut work);
            if let Some(forest) = forest {
                windows.tighten(&forest, &mut self.upper, &mut found, &mut work);
                found.settle();
            }
        }
        let refusal = intervals.refusal.take();
        Round {
            refusal: refusal.or_else(|| intervals.crossing(&found).map(Refusal::Crossing)),
            intervals,
            order,
            gains,
            found,
        }
    }

    /// Whether another round would help nobody.
    fn is_settled(&self, round: &Round) -> bool {
        // Once refused, more rounds only make the order better: worth it where they are short.
        let is_large = round.order.len() > self.effort.most_to_polish;
        let is_near = || falls_short_by(self.dag, &round.gains, &self.upper) < budgets::ENOUGH;
        round.gains == self.upper || round.refusal.is_some() && (is_large || is_near())
    }

    /// Makes the order better where it is below the bound.
    fn polish(&self, round: &mut Round) {
        // Where the bound is met nothing is to be gained.
        let is_open = |s: &Range<usize>| round.gains[s.clone()] != self.upper[s.clone()];
        let start = &round.intervals.start;
        let segments: Vec<Range<usize>> = (start.windows(2).map(|w| w[0]..w[1]))
            .filter(is_open)
            .collect();
        // A budget of its own: what deciding has used up says nothing about how far the order is from the bound.
        let mut work = self.work.part(self.effort.improve);
        improve(self.dag, &mut round.order, &segments, &mut work);
        round.gains = gains(self.dag, &round.order);
        round.found.note_order(&round.gains, &round.order);
    }

    /// Of all reasons to refuse that are at hand, one that shows two sets.
    fn best_shown(&self, refusal: Refusal, round: &Round) -> Refusal {
        let (intervals, start) = (&round.intervals, &round.intervals.start);
        let mut work = self.work.part(self.effort.pair);
        let refusal = self.solved.with_pair(refusal, start, &mut work);
        let crossing = || intervals.crossing(&round.found);
        let other = (!refusal.shows_two_sets()).then(crossing).flatten();
        let other = other.filter(|crossing| crossing.set.is_some());
        match other.map_or(refusal, Refusal::Crossing) {
            Refusal::Crossing(crossing) => {
                let windows = Windows::new(self.dag, self.chain, &self.solved, start);
                Refusal::Crossing(with_fewer_corners(crossing, &windows, &mut work))
            }
            refusal => refusal,
        }
    }
}

/// By which part the area under the eligible tasks falls short of the bound's.
fn falls_short_by(dag: &Dag, reached: &[u32], upper: &[u32]) -> f64 {
    let sum = |gains: &[u32]| gains.iter().map(|&g| f64::from(g)).sum::<f64>();
    let sources = dag.sources().count() as f64;
    // Eligible tasks are sources less steps plus gains: the part that is the same for every order.
    let always: f64 = (0..upper.len()).map(|t| sources - t as f64).sum();
    (sum(upper) - sum(reached)) / (sum(upper) + always).max(1.0)
}

impl Decision {
    /// What is known without a look at any component. Linear.
    fn undecided(dag: &Dag, chain: &StrictChain) -> Decision {
        let mut by_rank = vec![None; dag.len()];
        for task in dag.tasks().filter(|&t| !dag.is_sink(t)) {
            by_rank[wide(chain.ranks[0][task.index()])] = Some(task);
        }
        let order: Vec<TaskId> = by_rank.into_iter().flatten().collect();
        let gains = gains(dag, &order);
        Decision {
            refusal: None,
            upper: chain.upper.clone(),
            #[cfg(test)]
            witness: gains.clone(),
            components: (0, 0),
            methods: Vec::new(),
            order,
            gains,
        }
    }
}
