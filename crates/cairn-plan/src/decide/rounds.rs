//! Round after round with more steps until a dag is decided: components, sums, bounds across intervals, verdict.
//! Knows no flow, and no method for a component.

use super::crossing::narrow;
use super::improve::{gains, improve};
use super::intervals::{Chain, Intervals};
use super::solve::Effort;
use super::solved::Solved;
use super::verdict::{Refusal, Verdict};
use super::windows::Windows;
use super::witness::Witnesses;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use std::ops::Range;

/// How much work deciding may cost, at the most: less where less decides.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For each component; less when there are very many.
    pub component: Effort,
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
    /// With fewer nonsinks than this, bounds across intervals are tried: they take quadratic time and space.
    pub most_for_across: usize,
    /// How often to try, each time with eight times the steps of the time before, until the dag is decided.
    pub rounds: u32,
    /// With fewer nonsinks than this, a dag without an IC-optimal order is tried again as well, until its order
    /// comes near the bound.
    pub most_to_polish: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            component: Effort::default(),
            components: 150_000_000,
            forest: 200_000_000,
            across: 50_000_000,
            improve: 60_000_000,
            pair: 20_000_000,
            most_for_across: 12_000,
            rounds: 3,
            most_to_polish: 2_500,
        }
    }
}

impl Limits {
    /// Several times the work, for verdicts and orders that the default does not reach.
    pub fn thorough() -> Limits {
        Limits {
            component: Effort::thorough(),
            components: 1_000_000_000,
            across: 200_000_000,
            improve: 240_000_000,
            ..Limits::default()
        }
    }

    /// About the time of a hull, whatever the dag.
    pub fn quick() -> Limits {
        Limits {
            components: 0,
            forest: 0,
            across: 0,
            improve: 0,
            pair: 0,
            rounds: 1,
            ..Limits::default()
        }
    }

    /// The steps of one round, counted from 0; the last has them all.
    fn in_round(&self, round: u32) -> Limits {
        let divisor = 8u64.saturating_pow(self.rounds.saturating_sub(round + 1));
        let mut limits = *self;
        limits.component.steps /= divisor;
        limits.components /= divisor;
        limits.across /= divisor;
        limits
    }
}

/// The order, the bound and the verdict.
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
    /// The verdict.
    pub verdict: Verdict,
    /// How many components there are, and how many different ones.
    pub components: (usize, usize),
    /// By name of the method: how many components it decided.
    pub methods: Vec<(&'static str, usize)>,
}

/// Decides a dag along a chain. The answer is the same on every machine as long as `stop` never says yes; when it
/// does, what was found by then is returned.
///
/// Round after round with more steps, until the order meets the bound or some proof shows that no order can: most
/// dags are decided in the first.
pub(crate) fn decide(
    dag: &Dag,
    chain: &Chain,
    limits: &Limits,
    stop: &(dyn Fn() -> bool + Sync),
) -> Decision {
    if stop() {
        return Decision::undecided(dag, chain);
    }
    let mut solved = Solved::new(dag, chain);
    let mut upper = chain.upper.clone();
    let mut round = 0;
    let mut proved: Option<Refusal> = None;
    let (mut order, mut found, refusal, intervals) = loop {
        let limits_now = limits.in_round(round);
        round += 1;
        solved.deepen(&limits_now, stop);
        let mut intervals = Intervals::new(chain, &solved, stop);
        let order = std::mem::take(&mut intervals.order);
        let reached = gains(dag, &order);
        let mut found = Witnesses::new(&reached);
        if reached != upper && order.len() <= limits.most_for_across {
            let windows = Windows::new(dag, chain, &solved, &intervals.start);
            let forest = windows.lower(&mut upper, &mut Work::new(limits.forest, stop));
            let mut work = Work::new(limits_now.across, stop);
            intervals.look_for_witnesses(dag, &solved, &mut found, &mut work);
            if let Some(forest) = forest {
                windows.tighten(&forest, &mut upper, &mut found, &mut work);
                found.settle();
            }
        }
        let refusal = intervals
            .refusal
            .take()
            .or_else(|| intervals.crossing(&found).map(Refusal::Crossing))
            // A later round may be stopped before it proves the same again.
            .or(proved);
        let is_settled = reached == upper
            || refusal.is_some()
                && (order.len() > limits.most_to_polish
                    || falls_short_by(dag, &reached, &upper) < ENOUGH);
        if is_settled || round >= limits.rounds || stop() {
            break (order, found, refusal, intervals);
        }
        proved = refusal;
    };
    let mut order_gains = gains(dag, &order);
    if order_gains != upper {
        // Where the bound is met nothing is to be gained.
        let is_open = |s: &Range<usize>| order_gains[s.clone()] != upper[s.clone()];
        let segments: Vec<Range<usize>> = (intervals.start.windows(2).map(|w| w[0]..w[1]))
            .filter(is_open)
            .collect();
        let mut work = Work::new(limits.improve, stop);
        improve(dag, &mut order, &segments, &mut work);
        order_gains = gains(dag, &order);
        for (t, &gain) in order_gains.iter().enumerate() {
            found.note_set(gain, || order[..t].to_vec(), t);
        }
    }
    let verdict = match refusal {
        _ if order_gains == upper => {
            debug_assert!(refusal.is_none(), "optimal and refused: {refusal:?}");
            Verdict::Optimal
        }
        None => Verdict::Open,
        Some(refusal) => {
            let mut work = Work::new(limits.pair, stop);
            let refusal = solved.with_pair(refusal, &intervals.start, &mut work);
            let crossing = || intervals.crossing(&found).filter(|c| c.set.is_some());
            let other = (!refusal.shows_two_sets()).then(crossing).flatten();
            Verdict::NoneExists(match other.map_or(refusal, Refusal::Crossing) {
                Refusal::Crossing(crossing) => {
                    let windows = Windows::new(dag, chain, &solved, &intervals.start);
                    Refusal::Crossing(narrow(crossing, &windows, &intervals.start, &mut work))
                }
                refusal => refusal,
            })
        }
    };
    Decision {
        #[cfg(test)]
        witness: found.gains().to_vec(),
        methods: solved.methods(),
        components: (solved.placed.len(), solved.known.len()),
        order,
        gains: order_gains,
        upper,
        verdict,
    }
}

/// An order whose area falls short of the bound by less than this is good enough.
const ENOUGH: f64 = 0.005;

/// By which part the area under the eligible tasks falls short of the bound's.
fn falls_short_by(dag: &Dag, reached: &[u32], upper: &[u32]) -> f64 {
    let sum = |gains: &[u32]| gains.iter().map(|&g| f64::from(g)).sum::<f64>();
    let sources = dag.sources().count() as f64;
    let always: f64 = (0..upper.len()).map(|t| sources - t as f64).sum();
    (sum(upper) - sum(reached)) / (sum(upper) + always).max(1.0)
}

impl Decision {
    /// What is known without a look at any component. Linear.
    fn undecided(dag: &Dag, chain: &Chain) -> Decision {
        let mut by_rank = vec![None; dag.len()];
        for task in dag.tasks().filter(|&t| !dag.is_sink(t)) {
            by_rank[chain.ranks[0][task.index()] as usize] = Some(task);
        }
        let order: Vec<TaskId> = by_rank.into_iter().flatten().collect();
        let gains = gains(dag, &order);
        Decision {
            verdict: if gains == chain.upper {
                Verdict::Optimal
            } else {
                Verdict::Open
            },
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
