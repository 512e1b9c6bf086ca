//! From the chain of hull vertices to a verdict: solves components, adds them up, compares. Knows no flow.

use super::component::{Component, NONE, Placed, components};
use super::convolution::{convolve, signed};
use super::crossing::narrow;
use super::improve::{gains, improve};
use super::knowledge::Knowledge;
use super::solve::{Effort, solve};
use super::verdict::{Conflict, Corner, Refusal, Verdict};
use super::windows::Windows;
use super::witness::{self, Witnesses};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_theory::merge::largest_merge;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// A chain of sets of nonsinks through which every IC-optimal order passes, and a bound on all gains.
#[derive(Clone, Debug)]
pub struct Chain {
    /// By task: the interval in which it is executed, counted from 0; [`NONE`] for sinks.
    pub interval: Vec<u32>,
    /// By interval: whether it is an edge of the hull, so that its chord bounds what lies inside.
    pub is_edge: Vec<bool>,
    /// The most that any `t` nonsinks gain, t = 0..=nonsinks.
    pub upper: Vec<u32>,
    /// Topological orders, as the rank of each task: the best of them is followed where nothing better is found.
    /// At least one.
    pub ranks: Vec<Vec<u32>>,
}

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
pub struct Decision {
    /// All nonsinks in order.
    pub order: Vec<TaskId>,
    /// What the order's prefixes gain.
    pub gains: Vec<u32>,
    /// The most that any `t` nonsinks gain.
    pub upper: Vec<u32>,
    /// The most that a real set of `t` nonsinks was seen to gain.
    pub witness: Vec<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many components there are, and how many different ones.
    pub components: (usize, usize),
    /// By name of the method: how many components it decided.
    pub methods: Vec<(&'static str, usize)>,
}

/// The tasks and gains of each interval, and what is known of its components.
pub(super) struct Solved {
    pub(super) placed: Vec<Placed>,
    /// By component: its class of equal ones.
    pub(super) class: Vec<usize>,
    /// By class: the first of its components.
    pub(super) first: Vec<usize>,
    /// By class.
    pub(super) known: Vec<Knowledge>,
}

/// Decides a dag along a chain. The answer is the same on every machine as long as `stop` never says yes; when it
/// does, what was found by then is returned.
///
/// Round after round with more steps, until the order meets the bound or some proof shows that no order can: most
/// dags are decided in the first.
pub fn decide(
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
            .or_else(|| intervals.crossing(&found))
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
            let crossing = || intervals.crossing(&found).filter(Refusal::shows_two_sets);
            let other = (!refusal.shows_two_sets()).then(crossing).flatten();
            let windows = Windows::new(dag, chain, &solved, &intervals.start);
            let refusal = other.unwrap_or(refusal);
            Verdict::NoneExists(narrow(refusal, &windows, &intervals.start, &mut work))
        }
    };
    Decision {
        witness: found.gains().to_vec(),
        methods: methods(&solved),
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
            witness: gains.clone(),
            components: (0, 0),
            methods: Vec::new(),
            order,
            gains,
        }
    }
}

impl Solved {
    /// Cuts the dag into components and groups equal ones; of each class only a first order and bound are known.
    fn new(dag: &Dag, chain: &Chain) -> Solved {
        let placed = components(dag, &chain.interval, None);
        let mut classes: HashMap<(&Component, bool), usize> = HashMap::new();
        let mut first: Vec<usize> = Vec::new();
        let class = (placed.iter().enumerate())
            .map(|(i, p)| {
                let key = (&p.component, chain.is_edge[p.interval as usize]);
                *classes.entry(key).or_insert_with(|| {
                    first.push(i);
                    first.len() - 1
                })
            })
            .collect();
        let known = (first.par_iter())
            .map(|&i| {
                let p = &placed[i];
                let upper = if chain.is_edge[p.interval as usize] {
                    p.component.chord()
                } else {
                    super::block_bound::shared_weights(&p.component)
                };
                let by_rank = |rank: &Vec<u32>| {
                    let mut order: Vec<u32> = (0..p.tasks.len() as u32).collect();
                    order.sort_unstable_by_key(|&v| rank[p.tasks[v as usize].index()]);
                    order
                };
                let mut known = Knowledge::new(&p.component, upper, by_rank(&chain.ranks[0]));
                for rank in &chain.ranks[1..] {
                    known.take_order(&p.component, &by_rank(rank));
                }
                known
            })
            .collect();
        Solved {
            placed,
            class,
            first,
            known,
        }
    }

    /// Learns more of each class that is not decided, the classes in parallel: each has a budget of its own.
    fn deepen(&mut self, limits: &Limits, stop: &(dyn Fn() -> bool + Sync)) {
        let placed = &self.placed;
        let size = |i: usize| placed[i].component.nodes() as u64;
        let open = (self.first.iter().zip(&self.known)).filter(|(_, known)| !known.is_decided());
        let all: u64 = open.map(|(&i, _)| size(i)).sum();
        (self.known.par_iter_mut().zip(&self.first))
            .filter(|(known, _)| !known.is_decided())
            .for_each(|(known, &i)| {
                let mut effort = limits.component;
                let share = (limits.components / all.max(1)).saturating_mul(size(i));
                effort.steps = effort.steps.min(share);
                let mut work = Work::new(u64::MAX, stop);
                solve(&placed[i].component, known, &effort, &mut work);
            });
    }
}

/// How often each method had the last word, most often first.
fn methods(solved: &Solved) -> Vec<(&'static str, usize)> {
    let mut count: Vec<(&'static str, usize)> = Vec::new();
    for &class in &solved.class {
        let name = solved.known[class].by.0;
        match count.iter_mut().find(|e| e.0 == name) {
            Some(entry) => entry.1 += 1,
            None => count.push((name, 1)),
        }
    }
    count.sort_by_key(|e| std::cmp::Reverse(e.1));
    count
}

/// The intervals one after the other: order, bounds inside them, and the first that refuses.
struct Intervals {
    /// By interval: the nonsinks executed before it; one more at the end.
    start: Vec<usize>,
    /// By interval: its tasks.
    tasks: Vec<Vec<TaskId>>,
    /// By interval: its components.
    parts: Vec<Vec<usize>>,
    /// By interval: what is gained before it.
    base: Vec<u32>,
    /// The most that `t` nonsinks gain on the way through the vertices.
    inside: Vec<u32>,
    order: Vec<TaskId>,
    refusal: Option<Refusal>,
}

impl Intervals {
    fn new(chain: &Chain, solved: &Solved, stop: &(dyn Fn() -> bool + Sync)) -> Intervals {
        let count = chain.is_edge.len();
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut tasks: Vec<Vec<TaskId>> = vec![Vec::new(); count];
        for (i, placed) in solved.placed.iter().enumerate() {
            parts[placed.interval as usize].push(i);
            tasks[placed.interval as usize].extend(&placed.tasks);
        }
        let mut intervals = Intervals {
            start: vec![0],
            tasks,
            parts,
            base: vec![0],
            inside: vec![0],
            order: Vec::new(),
            refusal: None,
        };
        let mut work = Work::new(400_000_000, stop);
        for j in 0..count {
            intervals.append(j, solved, chain, &mut work);
        }
        intervals
    }

    /// Merges the components of interval `j`, bounds their sum, and notes the first refusal.
    fn append(&mut self, j: usize, solved: &Solved, chain: &Chain, work: &mut Work<'_>) {
        let (from, base) = (self.start[j], self.base[j]);
        let parts = &self.parts[j];
        let to = from + self.tasks[j].len();
        let knowns: Vec<&Knowledge> = parts
            .iter()
            .map(|&i| &solved.known[solved.class[i]])
            .collect();
        let merged = merge(parts, &knowns, solved);
        let mut taken = vec![0usize; parts.len()];
        let mut gained = 0;
        let mut reached = vec![0];
        for &unit in &merged {
            let (placed, known) = (&solved.placed[parts[unit as usize]], knowns[unit as usize]);
            let k = &mut taken[unit as usize];
            self.order.push(placed.tasks[known.order[*k] as usize]);
            gained += known.profile[*k + 1] - known.profile[*k];
            *k += 1;
            reached.push(gained);
        }
        let sum = sum_of(parts, solved, |known| &known.upper, work);
        // Without the sum, what bounds everything bounds the inside too.
        let inside = |t: usize| {
            let all = chain.upper[from + t];
            sum.as_ref().map_or(all, |s| all.min(base + s[t] as u32))
        };
        self.inside.extend((1..reached.len()).map(inside));
        if self.refusal.is_none() {
            self.refusal = refuses(parts, &knowns, solved, from, to).or_else(|| {
                let all_admit = knowns.iter().all(|k| k.admits == Some(true));
                let sum = sum.as_ref().filter(|_| all_admit)?;
                let step = (0..reached.len()).find(|&t| reached[t] as i32 != sum[t])?;
                Some(Refusal::Sum {
                    from,
                    to,
                    step: from + step,
                    conflict: Conflict::Unknown,
                })
            });
        }
        self.start.push(to);
        self.base.push(base + gained);
    }

    /// Real sets inside the intervals, and some that leave the chain.
    fn look_for_witnesses(
        &self,
        dag: &Dag,
        solved: &Solved,
        found: &mut Witnesses,
        work: &mut Work<'_>,
    ) {
        self.note_inside(solved, found, work);
        witness::greedy(dag, &self.tasks, found, work);
        found.settle();
    }

    /// Real sets inside the intervals.
    fn note_inside(&self, solved: &Solved, found: &mut Witnesses, work: &mut Work<'_>) {
        for (j, parts) in self.parts.iter().enumerate() {
            if let Some(sum) = sum_of(parts, solved, |known| &known.lower, work) {
                for (t, &gain) in sum.iter().enumerate() {
                    found.note(self.start[j] + t, self.base[j] + gain as u32);
                }
            }
        }
    }

    /// A witness above what the vertices around it allow; of two vertices perhaps one is enough.
    fn crossing(&self, found: &Witnesses) -> Option<Refusal> {
        let crosses = |t: &usize| found.gain(*t) > self.inside[*t];
        let all = (0..self.inside.len()).filter(crosses);
        // Prefer one whose set can be shown.
        let step = all.min_by_key(|&t| (found.set(t).is_none(), t))?;
        let j = self.start.partition_point(|&s| s <= step) - 1;
        // The empty set and the full one are in nobody's way.
        let corner = |at: usize| {
            (0 < at && at + 1 < self.start.len()).then(|| Corner {
                step: self.start[at],
                set: self.tasks[..at].concat(),
            })
        };
        Some(Refusal::Crossing {
            before: corner(j),
            after: corner(j + 1),
            step,
            gain: found.gain(step),
            set: found.set(step).map(<[TaskId]>::to_vec),
            inside: self.inside[step],
        })
    }
}

fn merge(parts: &[usize], knowns: &[&Knowledge], solved: &Solved) -> Vec<u32> {
    let mut profiles: Vec<&[u32]> = Vec::new();
    let mut number: HashMap<usize, u32> = HashMap::new();
    let units: Vec<u32> = (parts.iter().zip(knowns))
        .map(|(&i, known)| {
            *number.entry(solved.class[i]).or_insert_with(|| {
                profiles.push(&known.profile);
                profiles.len() as u32 - 1
            })
        })
        .collect();
    largest_merge(&profiles, &units)
}

fn refuses(
    parts: &[usize],
    knowns: &[&Knowledge],
    solved: &Solved,
    from: usize,
    to: usize,
) -> Option<Refusal> {
    let refusing = knowns.iter().position(|k| k.admits == Some(false))?;
    Some(solved.refusal_of(parts[refusing], from, to))
}

/// The (max,+) convolution over the components of one interval, equal ones by repeated doubling.
fn sum_of(
    parts: &[usize],
    solved: &Solved,
    profile: impl Fn(&Knowledge) -> &Vec<u32>,
    work: &mut Work<'_>,
) -> Option<Vec<i32>> {
    let mut classes: Vec<usize> = parts.iter().map(|&i| solved.class[i]).collect();
    classes.sort_unstable();
    let mut sum = vec![0];
    for run in classes.chunk_by(|a, b| a == b) {
        let mut power = signed(profile(&solved.known[run[0]]));
        let mut left = run.len();
        while left > 0 {
            if !work.spend((sum.len() as u64 + power.len() as u64) * power.len() as u64 / 8) {
                return None;
            }
            if left % 2 == 1 {
                sum = convolve(&sum, &power);
            }
            left /= 2;
            if left > 0 {
                power = convolve(&power, &power);
            }
        }
    }
    Some(sum)
}

/// By task: its place in the order.
pub(crate) fn rank_of(order: &[TaskId]) -> Vec<u32> {
    let mut rank = vec![0; order.len()];
    for (i, task) in order.iter().enumerate() {
        rank[task.index()] = i as u32;
    }
    rank
}

/// The entries of a component: nodes without a gate.
pub(super) fn entries(component: &Component, tasks: &[TaskId]) -> Vec<TaskId> {
    (tasks.iter().enumerate())
        .filter(|(v, _)| component.gate(*v as u32) == NONE)
        .map(|(_, &task)| task)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{
        Among, any_dag, best_profile, ic_optimal_order, ideals, is_independent, mask, most_between,
        only_best,
    };
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The strict vertices of the hull by looking at every set of nonsinks that can have been executed.
    fn obvious_chain(dag: &Dag) -> Chain {
        let nonsinks: u32 = (dag.tasks())
            .filter(|&t| !dag.is_sink(t))
            .map(|t| 1u32 << t.0)
            .sum();
        let gain = |set: u32| i64::from(cairn_oracle::gain(dag, set));
        let count = nonsinks.count_ones() as usize;
        let mut best: Vec<(i64, u32)> = vec![(-1, 0); count + 1];
        for set in ideals(dag)
            .into_iter()
            .flatten()
            .filter(|s| s & !nonsinks == 0)
        {
            let t = set.count_ones() as usize;
            if gain(set) > best[t].0 {
                best[t] = (gain(set), set);
            }
        }
        // Upper concave hull; a point on an edge is no strict vertex.
        let mut vertices: Vec<usize> = Vec::new();
        for t in 0..=count {
            while let [.., a, b] = vertices[..] {
                let (ta, tb, tt) = (a as i64, b as i64, t as i64);
                if (best[b].0 - best[a].0) * (tt - tb) <= (best[t].0 - best[b].0) * (tb - ta) {
                    vertices.pop();
                } else {
                    break;
                }
            }
            vertices.push(t);
        }
        let mut interval = vec![NONE; dag.len()];
        let mut upper = vec![0];
        for (j, pair) in vertices.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            let new = best[b].1 & !best[a].1;
            (0..dag.len())
                .filter(|i| new >> i & 1 == 1)
                .for_each(|i| interval[i] = j as u32);
            for t in 1..=b - a {
                let rise = (best[b].0 - best[a].0) * t as i64 / (b - a) as i64;
                upper.push((best[a].0 + rise) as u32);
            }
        }
        Chain {
            interval,
            is_edge: vec![true; vertices.len() - 1],
            upper,
            ranks: vec![rank_of(dag.topological_order())],
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn verdicts_agree_with_brute_force_and_are_never_open(dag in any_dag(13)) {
            let verdict = check(&dag, &Limits::default())?;
            prop_assert!(verdict != Verdict::Open, "open");
        }

        /// With a beam of one and no enumeration even small dags reach the later methods.
        #[test]
        fn the_later_methods_are_never_wrong(dag in any_dag(13), steps in 100u64..2_000_000) {
            let component = Effort { beam: 1, steps, enumerate: false };
            let limits = Limits { component, forest: steps, across: steps, improve: steps, ..Limits::default() };
            check(&dag, &limits)?;
        }

        /// Whenever it is stopped, what it says holds.
        #[test]
        fn stopping_at_any_moment_is_never_wrong(dag in any_dag(12), asked in 0u32..40) {
            let chain = obvious_chain(&dag);
            let count = AtomicU32::new(0);
            let stop = || count.fetch_add(1, Ordering::Relaxed) >= asked;
            let decision = decide(&dag, &chain, &Limits::default(), &stop);
            compare(&dag, &decision, false)?;
        }
    }

    /// Every kind of reason on thousands of dags, most of which admit no IC-optimal order.
    #[test]
    fn every_kind_of_reason_is_literally_true() {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for seed in 0..6000 {
            let mut random = cairn_oracle::Random::new(seed);
            let most = 9 + random.below(6);
            let dag = cairn_oracle::random_tangle(most, seed);
            let effort = match random.below(2) {
                0 => Effort::default(),
                // Small components are beyond it: then sets are met that cross the vertices.
                _ => Effort {
                    enumerate: false,
                    beam: 1,
                    steps: 2_000,
                },
            };
            let limits = Limits {
                component: effort,
                ..Limits::default()
            };
            let Verdict::NoneExists(refusal) = check(&dag, &limits).unwrap() else {
                continue;
            };
            let kind = match refusal {
                Refusal::Component {
                    conflict: Conflict::Pair(_),
                    ..
                } => "pair of a component",
                Refusal::Component { .. } => "component",
                Refusal::Sum {
                    conflict: Conflict::Pair(_),
                    ..
                } => "pair of a sum",
                Refusal::Sum { .. } => "sum",
                Refusal::Crossing { after: None, .. } => "vertex before",
                Refusal::Crossing { before: None, .. } => "vertex after",
                Refusal::Crossing { .. } => "two vertices",
            };
            *seen.entry(kind).or_default() += 1;
        }
        assert!(
            seen.len() == 7 && seen.values().all(|&count| count >= 10),
            "{seen:?}"
        );
        assert!(seen.values().sum::<u32>() > 1500, "{seen:?}");
    }

    /// What a round proved stays proved when a later round is stopped before it proves it again.
    #[test]
    fn a_proof_is_not_lost_by_stopping_later() {
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1);
        let one_thread = one_thread.build().unwrap();
        let mut proofs = 0;
        for seed in 0..300 {
            let mut random = cairn_oracle::Random::new(seed);
            let pairs = (5..14u32).flat_map(|v| (0..v).map(move |u| (u, v)));
            let arcs = pairs.filter(|_| random.below(100) < 22).collect();
            let dag = Dag::from_arcs(14, arcs).unwrap();
            let chain = obvious_chain(&dag);
            let mut was_proved = false;
            for asked in 1..200 {
                let count = AtomicU32::new(0);
                let stop = || count.fetch_add(1, Ordering::Relaxed) >= asked;
                // On one thread, so that the questions come in the same order each time.
                let decision =
                    one_thread.install(|| decide(&dag, &chain, &Limits::default(), &stop));
                let is_proved = matches!(decision.verdict, Verdict::NoneExists(_));
                assert!(is_proved || !was_proved, "seed {seed}, asked {asked} times");
                was_proved = is_proved;
                proofs += u32::from(is_proved);
            }
        }
        assert!(proofs > 100, "{proofs}");
    }

    /// Two forks, one of them a pair that gains twice as much together: parts that admit an order, their sum does not.
    #[test]
    fn the_pair_of_a_sum() {
        let arcs = vec![
            (0, 3),
            (0, 4),
            (1, 5),
            (2, 5),
            (1, 6),
            (2, 6),
            (1, 7),
            (2, 7),
            (1, 8),
            (2, 8),
        ];
        let dag = Dag::from_arcs(9, arcs).unwrap();
        let decision = decide(&dag, &obvious_chain(&dag), &Limits::default(), &|| false);
        let Verdict::NoneExists(Refusal::Sum {
            conflict: Conflict::Pair(pair),
            ..
        }) = decision.verdict
        else {
            panic!("{:?}", decision.verdict);
        };
        assert_eq!((pair.steps, pair.gains), ([1, 2], [2, 4]));
        assert_eq!(pair.smaller, [TaskId(0)]);
        assert_eq!(pair.larger, Some(vec![TaskId(1), TaskId(2)]));
        let quick = decide(
            &dag,
            &obvious_chain(&dag),
            &Limits {
                pair: 0,
                ..Limits::default()
            },
            &|| false,
        );
        let Verdict::NoneExists(Refusal::Sum { conflict, .. }) = quick.verdict else {
            panic!("{:?}", quick.verdict);
        };
        assert_eq!(conflict, Conflict::Unknown);
    }

    fn check(dag: &Dag, limits: &Limits) -> Result<Verdict, TestCaseError> {
        let decision = decide(dag, &obvious_chain(dag), limits, &|| false);
        compare(dag, &decision, limits.component.enumerate)?;
        Ok(decision.verdict)
    }

    fn compare(dag: &Dag, decision: &Decision, is_all: bool) -> Result<(), TestCaseError> {
        let best = best_profile(dag);
        let sources = dag.sources().count();
        prop_assert_eq!(&decision.gains, &gains(dag, &decision.order));
        for t in 0..decision.upper.len() {
            let eligible = |gain: u32| (sources + gain as usize - t) as u32;
            prop_assert!(eligible(decision.upper[t]) >= best[t], "bound at {}", t);
            prop_assert!(eligible(decision.witness[t]) <= best[t], "witness at {}", t);
            prop_assert!(decision.gains[t] <= decision.witness[t]);
        }
        let admits = ic_optimal_order(dag).is_some();
        match &decision.verdict {
            Verdict::Optimal => prop_assert!(admits),
            Verdict::NoneExists(refusal) => {
                prop_assert!(!admits);
                check_refusal(dag, &decision.order, refusal, is_all)?;
            }
            Verdict::Open => {}
        }
        Ok(())
    }

    /// What a refusal says is literally true, by looking at every set that can have been executed. `order` passes
    /// through the vertices. With `is_all`, a pair is shown whenever there is one.
    fn check_refusal(
        dag: &Dag,
        order: &[TaskId],
        refusal: &Refusal,
        is_all: bool,
    ) -> Result<(), TestCaseError> {
        match refusal {
            Refusal::Crossing { .. } => check_crossing(dag, refusal, is_all),
            Refusal::Component {
                from,
                to,
                tasks,
                conflict,
                ..
            } => {
                let (before, inside) = check_vertices(dag, order, *from, *to)?;
                let tasks = mask(tasks);
                prop_assert_eq!(tasks & !inside, 0);
                prop_assert!(is_independent(dag, before, tasks, inside & !tasks));
                let among = Among::new(dag, before, tasks);
                prop_assert!(among.nest_through() < among.0.len() - 1);
                check_conflict(&among, conflict, is_all)
            }
            Refusal::Sum {
                from,
                to,
                step,
                conflict,
            } => {
                let (before, inside) = check_vertices(dag, order, *from, *to)?;
                let among = Among::new(dag, before, inside);
                // They pull apart at this step: up to there best sets nest, and no further.
                prop_assert_eq!(from + among.nest_through() + 1, *step);
                check_conflict(&among, conflict, is_all)
            }
        }
    }

    /// At these steps the order's sets are the only best ones of their sizes. Returns the first of them and what comes
    /// between.
    fn check_vertices(
        dag: &Dag,
        order: &[TaskId],
        from: usize,
        to: usize,
    ) -> Result<(u32, u32), TestCaseError> {
        for step in [from, to] {
            prop_assert_eq!(only_best(dag, step), Some(mask(&order[..step])));
        }
        Ok((mask(&order[..from]), mask(&order[from..to])))
    }

    /// Two steps of these sets conflict as it is said, or none do.
    fn check_conflict(
        among: &Among,
        conflict: &Conflict,
        is_all: bool,
    ) -> Result<(), TestCaseError> {
        if let Conflict::Pair(pair) = conflict {
            let [s, t] = pair.steps;
            prop_assert!(among.0[s].contains(&(mask(&pair.smaller), among.best(s))));
            prop_assert_eq!(pair.gains[0], among.best(s));
            prop_assert!(pair.gains[1] <= among.best(t));
            if let Some(larger) = &pair.larger {
                prop_assert!(among.0[t].contains(&(mask(larger), pair.gains[1])));
            }
            prop_assert!(!among.nest(pair.steps, pair.gains[1]));
        }
        match conflict {
            Conflict::Pair(pair) if is_all => {
                prop_assert_eq!(Some(pair.steps), among.first_conflict());
            }
            Conflict::NoPair => prop_assert_eq!(None, among.first_conflict()),
            Conflict::Unknown => prop_assert!(!is_all),
            Conflict::Pair(_) => {}
        }
        Ok(())
    }

    fn check_crossing(dag: &Dag, refusal: &Refusal, is_all: bool) -> Result<(), TestCaseError> {
        let Refusal::Crossing {
            before,
            after,
            step,
            gain,
            set,
            inside,
        } = refusal
        else {
            return Ok(());
        };
        for corner in [before, after].into_iter().flatten() {
            prop_assert_eq!(corner.step, corner.set.len());
            prop_assert_eq!(only_best(dag, corner.step), Some(mask(&corner.set)));
        }
        prop_assert!(before.is_some() || after.is_some());
        prop_assert!(before.as_ref().is_none_or(|c| c.step < *step));
        prop_assert!(after.as_ref().is_none_or(|c| c.step > *step));
        let lower = before.as_ref().map_or(0, |c| mask(&c.set));
        let upper = after.as_ref().map_or(u32::MAX, |c| mask(&c.set));
        let most = |lower: u32, upper: u32| most_between(dag, *step, lower, upper);
        prop_assert!(most(lower, upper).is_none_or(|most| most <= *inside) && inside < gain);
        prop_assert!(most(0, u32::MAX) >= Some(*gain));
        if let Some(set) = set {
            prop_assert_eq!(set.len(), *step);
            prop_assert!(ideals(dag)[*step].contains(&mask(set)));
            prop_assert_eq!(cairn_oracle::gain(dag, mask(set)), *gain);
        }
        if lower != 0 && upper != u32::MAX && is_all {
            // Two are named only where it takes two.
            prop_assert!(most(lower, u32::MAX) >= Some(*gain));
            prop_assert!(most(0, upper) >= Some(*gain));
        }
        Ok(())
    }
}
