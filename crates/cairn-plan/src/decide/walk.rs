//! Walks through the unions of reward closures of a component, all of them or a beam. Knows nothing of what is concluded.

use super::component::{Component, gate_order};
use super::ids::{NodeId, RewardId, StateId};
use super::states::{States, count};
use crate::budgets::decide::walk::{FAR, MANY, MOST_WORDS, SHORTLIST, SMALL};
use crate::counts::members;
use cairn_kernel::{Work, completed, long, places, wide};

/// The cost of a new state beside that of its words: hashing, a place in the table, cold memory.
// Reckoned, not measured: a few dozen comparisons of sets that lie in the cache.
const INSERT: u64 = 24;

/// A component prepared for walking: closures and needs as bit sets of `words` words.
pub(super) struct Space<'a> {
    component: &'a Component,
    words: usize,
    /// The cost of comparing two sets of nodes.
    scan: u64,
    /// By reward: all nodes it needs, directly or through gates.
    closure: Vec<u64>,
    /// By reward: how many nodes that are.
    size: Vec<usize>,
    /// By reward: how many nodes it needs directly.
    needs: Vec<u32>,
    /// By node: a number that grows along gates, so that sorting by it respects them.
    rank: Vec<u32>,
}

/// What a walk through the states found.
pub(super) struct Walked {
    /// Largest gain with at most `t` nodes over the states kept.
    pub(super) best: Vec<u32>,
    /// The order of largest area; `None` when the threshold lets none pass.
    pub(super) order: Option<Vec<NodeId>>,
    pub(super) complete: bool,
    pub(super) states: u64,
}

/// The states that a walk met, also one that ended early.
pub(super) struct Explored {
    pub(super) states: States,
    /// By size up to [`Explored::through`]: the largest gain of a state of at most that size.
    pub(super) best: Vec<u32>,
    /// No state was left out to keep to a beam.
    pub(super) complete: bool,
    /// All states up to this size were met, as far as beam and threshold let them pass.
    pub(super) through: usize,
}

/// The cost of comparing two sets of nodes.
fn scan(component: &Component) -> u64 {
    // Four words at a time, about what vector instructions do.
    1 + long(component.nodes().div_ceil(64)) / 4
}

/// What growing so many states of a component costs, at the least.
pub(super) fn growing(component: &Component, states: usize) -> u64 {
    let looks = long(states).saturating_mul(long(component.rewards()));
    looks.saturating_mul(scan(component))
}

impl<'a> Space<'a> {
    /// `None` when the bit sets alone would cost more than the budget.
    pub(super) fn new(component: &'a Component, work: &mut Work<'_>) -> Option<Space<'a>> {
        let words = component.nodes().div_ceil(64).max(1);
        let rewards = component.rewards();
        // A quarter of a step a word: they are cleared and written in a row.
        if !work.spend(long(rewards * words / 4)) || rewards * words > MOST_WORDS {
            return None;
        }
        let mut closure = vec![0u64; rewards * words];
        for r in component.all_rewards() {
            for v in component.needs(r) {
                closure[r.index() * words + v.index() / 64] |= 1 << (v.index() % 64);
            }
        }
        let order = gate_order(component);
        let mut space = Space {
            component,
            words,
            scan: scan(component),
            closure,
            size: Vec::new(),
            needs: component.needs_left(),
            rank: places(&order),
        };
        space.close(&order);
        space.size = space.closures().map(count).collect();
        Some(space)
    }

    /// Adds to each closure what the gates of its nodes need. Rewards in the order in which they can be gained.
    fn close(&mut self, order: &[NodeId]) {
        let (c, words) = (self.component, self.words);
        let mut waiting = self.needs.clone();
        for &v in order {
            for r in completed(c.rewards_of(v).iter().copied(), &mut waiting) {
                let start = r.index() * words;
                // The gates of its needs can be gained before it, so their closures are complete by now.
                for gate in c.needs(r).iter().filter_map(|&v| c.gate(v)) {
                    for w in 0..words {
                        self.closure[start + w] |= self.closure[gate.index() * words + w];
                    }
                }
            }
        }
    }

    /// By reward.
    fn closures(&self) -> impl Iterator<Item = &[u64]> {
        self.closure.chunks_exact(self.words)
    }

    /// By reward: how many of its needs a state lacks. Reads the smaller of what is executed and what is not.
    fn find_missing(&self, state: &[u64], missing: &mut [u32]) {
        let nodes = self.component.nodes();
        // Count down from all needs, or up from none: whichever has fewer nodes to look at.
        if 2 * count(state) < nodes {
            missing.copy_from_slice(&self.needs);
            members(state.iter().copied())
                .map(NodeId::new)
                .for_each(|v| {
                    let rewards = self.component.rewards_of(v).iter();
                    rewards.for_each(|r| missing[r.index()] -= 1);
                });
        } else {
            missing.fill(0);
            let others = members(state.iter().map(|word| !word));
            let others = others.take_while(|&v| v < nodes).map(NodeId::new);
            others.for_each(|v| {
                let rewards = self.component.rewards_of(v).iter();
                rewards.for_each(|r| missing[r.index()] += 1);
            });
        }
    }

    /// What a walk costs at least: one state of each size in a beam, the closure of every reward without. What
    /// could not finish is not begun.
    fn least(&self, beam: Option<usize>) -> u64 {
        let states = match beam {
            // Not every size has a state, as closures have several nodes: of four sizes one, say.
            Some(_) => self.component.nodes() / 4,
            None => self.component.rewards(),
        };
        growing(self.component, states)
    }

    /// How many closures there are, at the least and counted up to `most`, of which each has a node that none of the
    /// others has: another state comes out each time some of them are united.
    fn apart(&self, most: usize) -> usize {
        let mut by_size: Vec<(usize, &[u64])> =
            self.size.iter().copied().zip(self.closures()).collect();
        // Small closures first: they take fewer nodes away from the others.
        by_size.sort_by_key(|closure| closure.0);
        let mut taken: Vec<&[u64]> = Vec::new();
        // Nodes in one of those taken, and in at least one.
        let mut once = vec![0u64; self.words];
        let mut any = once.clone();
        for (_, closure) in by_size {
            let words = once.iter().zip(&any).zip(closure);
            // Nodes that are in exactly one once this closure is taken.
            let alone: Vec<u64> = words.map(|((o, a), c)| o & !c | c & !a).collect();
            let has_own = |c: &&[u64]| c.iter().zip(&alone).any(|(a, b)| a & b != 0);
            if taken.iter().chain([&closure]).all(has_own) {
                once = alone;
                any.iter_mut().zip(closure).for_each(|(a, c)| *a |= c);
                taken.push(closure);
            }
            if taken.len() >= most {
                break;
            }
        }
        taken.len()
    }

    /// The cost of finding out what a state opens: a look at all needs, one after the other, of which eight are as quick as a step.
    fn opening(&self) -> u64 {
        1 + long(self.component.arcs()) / 8
    }

    /// Walks all macro states in order of size. With a `threshold`, only through states and steps that gain at
    /// least that much. `None` when the budget runs out; a beam narrows to one state instead, unless it is stopped, and
    /// ends when that has cost as much again, except where little is left to do anyway ([`SMALL`]).
    pub(super) fn walk(
        &self,
        threshold: Option<&[u32]>,
        beam: Option<usize>,
        work: &mut Work<'_>,
    ) -> Option<Walked> {
        if !work.can_afford(self.least(beam)) {
            return None;
        }
        // 2^apart states are too many.
        // So many states as the budget could open at the most, as a power of two.
        let too_many = (work.left() / self.opening()).max(1).ilog2() + 1;
        let is_all = beam.is_none() && threshold.is_none();
        if is_all && self.apart(wide(too_many)) >= wide(too_many) {
            return None;
        }
        let met = self.explore(threshold, beam, work, |_, _| false);
        if met.through < self.component.nodes() {
            return None;
        }
        let order = self
            .full_state(&met.states)
            .map(|full| self.order_to(&met.states, full));
        Some(Walked {
            best: met.best,
            order,
            complete: met.complete,
            states: long(met.states.gain.len()),
        })
    }

    /// As [`Space::walk`], and keeps the states. Ends when the budget runs out, or when `enough` says so of a size
    /// and of the largest gain of a state up to that size.
    pub(super) fn explore(
        &self,
        threshold: Option<&[u32]>,
        beam: Option<usize>,
        work: &mut Work<'_>,
        mut enough: impl FnMut(usize, u32) -> bool,
    ) -> Explored {
        let nodes = self.component.nodes();
        let mut states = States::new(self.words);
        states.insert(&vec![0; self.words]);
        let mut by_size: Vec<Vec<StateId>> = vec![Vec::new(); nodes + 1];
        by_size[0].push(StateId::default());
        let mut best: Vec<u32> = Vec::with_capacity(nodes + 1);
        let mut complete = true;
        let mut width = beam;
        let mut buffers = Buffers::new(self);
        // A narrowed beam still comes through, but not for ever.
        let mut overtime = match self.least(beam) <= SMALL {
            true => work.unmetered(),
            false => work.part(work.left()),
        };
        // By size: a state grows only into larger ones, so all ways to it are known when its turn comes.
        'sizes: for size in 0..=nodes {
            let mut here = std::mem::take(&mut by_size[size]);
            if let Some(width) = width.filter(|&w| here.len() > w) {
                complete = false;
                self.keep_best(&states, &mut here, width);
            }
            // The best of this size or of any smaller one: fillers can always be added.
            let gains = here.iter().map(|&state| states.gain[state.index()]);
            let most = gains.chain(best.last().copied()).max().unwrap_or(0);
            best.push(most);
            if enough(size, most) {
                break;
            }
            for &state in &here {
                let cost = self.grow(
                    &mut states,
                    (state, size),
                    beam.map_or(0, |_| FAR),
                    threshold,
                    &mut by_size,
                    &mut buffers,
                );
                if !work.spend(cost) {
                    // A complete walk cut short proves nothing; a beam of one still makes an order.
                    if beam.is_none() || !overtime.afford(cost) {
                        break 'sizes;
                    }
                    width = Some(1);
                }
            }
        }
        Explored {
            through: best.len() - 1,
            states,
            best,
            complete,
        }
    }

    /// Adds to `state` every closure of at most `far` nodes more, and those without another in between. Returns the
    /// work done.
    ///
    /// Whoever adds the closure of a reward with a node behind a closed gate adds the gate's closure as well: adding
    /// that one first leads to the same state, and gains no less on the way. So a walk through all states needs no
    /// far ones. A beam looks further ahead, as what lies between may not be kept.
    fn grow(
        &self,
        states: &mut States,
        (state, size): (StateId, usize),
        far: usize,
        threshold: Option<&[u32]>,
        by_size: &mut [Vec<StateId>],
        buffers: &mut Buffers,
    ) -> u64 {
        let (component, words) = (self.component, self.words);
        let (gain, area) = (states.gain[state.index()], states.area[state.index()]);
        buffers.from.copy_from_slice(states.get(state));
        self.find_missing(&buffers.from, &mut buffers.missing);
        // The threshold rises: what is larger comes too late.
        let most = threshold.map_or(usize::MAX, |t| t[size..].partition_point(|&t| t <= gain));
        let mut cost = self.opening();
        for r in component.all_rewards() {
            let is_closed = |gate: RewardId| buffers.missing[gate.index()] > 0;
            let gates = || (component.needs(r).iter()).filter_map(|&v| component.gate(v));
            let is_near = || !gates().any(is_closed);
            // Only near ones are wanted: no need to find out how large the closure is.
            if buffers.missing[r.index()] == 0 || far == 0 && !is_near() {
                continue;
            }
            cost += self.scan;
            let is_wanted = |added: usize| added <= most && (added <= far || is_near());
            // Cheap, before the union is made: no state of this size covers more of the closure.
            let at_least = self.size[r.index()].saturating_sub(size);
            if !is_wanted(at_least) {
                continue;
            }
            let closure = &self.closure[r.index() * words..(r.index() + 1) * words];
            let mut added = 0;
            for (to, (&from, closure)) in
                (buffers.to.iter_mut()).zip(buffers.from.iter().zip(closure))
            {
                *to = from | closure;
                let new = closure & !from;
                // Most words add nothing, and counting bits costs more than asking.
                if new != 0 {
                    added += wide(new.count_ones());
                }
            }
            if !is_wanted(added) {
                continue;
            }
            let (new_gain, touched) = self.gain_of(gain, buffers);
            cost += touched;
            if threshold.is_some_and(|t| t[size + added] > new_gain) {
                continue;
            }
            // While the closure is executed the gain stays; it jumps with its last node.
            let area = area + u64::from(gain) * (long(added) - 1) + u64::from(new_gain);
            cost += INSERT + self.scan;
            let (target, is_new) = states.insert(&buffers.to);
            if is_new {
                states.gain[target.index()] = new_gain;
                by_size[size + added].push(target);
            }
            // The gain is the same by every way, the area is not: the best way is kept.
            if is_new || area > states.area[target.index()] {
                states.area[target.index()] = area;
                states.before[target.index()] = Some(state);
            }
        }
        cost
    }

    /// What `buffers.to` gains, given what `buffers.from` does, and how much work it was to find out.
    fn gain_of(&self, gain: u32, buffers: &mut Buffers) -> (u32, u64) {
        let Buffers {
            from,
            to,
            met,
            missing,
            ..
        } = buffers;
        // Instead of clearing `met` for every state: an entry with another tick counts as zero.
        buffers.tick += 1;
        let now = buffers.tick;
        let mut total = gain;
        let mut touched = 0;
        let added = to.iter().zip(&*from).map(|(to, from)| to & !from);
        members(added).map(NodeId::new).for_each(|v| {
            let rewards = self.component.rewards_of(v);
            touched += long(rewards.len());
            for &q in rewards {
                let (tick, met) = &mut met[q.index()];
                if *tick != now {
                    (*tick, *met) = (now, 0);
                }
                *met += 1;
                if *met == missing[q.index()] {
                    total += self.component.weight(q);
                }
            }
        });
        (total, touched)
    }

    /// Keeps the best third by area, by gain, and by promise (how nearly complete the next rewards are).
    fn keep_best(&self, states: &States, here: &mut Vec<StateId>, width: usize) {
        // A beam that keeps the best by one measure alone loses what another would have needed.
        let third = (width / 3).max(1);
        if here.len() > width * MANY {
            // Promise is dear to compute: look only at those that are good by a cheaper measure.
            let good = width * SHORTLIST;
            let mut short = Vec::with_capacity(2 * good);
            // Stable sorts, as everywhere here: equal states stay in the order they were met.
            here.sort_by_key(|&s| std::cmp::Reverse(states.area[s.index()]));
            short.extend_from_slice(&here[..good]);
            here.sort_by_key(|&s| std::cmp::Reverse(states.gain[s.index()]));
            short.extend_from_slice(&here[..good]);
            short.sort_unstable();
            short.dedup();
            *here = short;
        }
        let mut missing = vec![0; self.needs.len()];
        let mut ranked: Vec<(u64, StateId)> = (here.iter())
            .map(|&s| (self.promise(states.get(s), &mut missing), s))
            .collect();
        let mut kept = Vec::with_capacity(width);
        ranked.sort_by_key(|&(p, s)| std::cmp::Reverse((states.area[s.index()], p)));
        kept.extend(ranked.iter().take(third).map(|e| e.1));
        ranked.sort_by_key(|&(p, s)| std::cmp::Reverse((states.gain[s.index()], p)));
        kept.extend(ranked.iter().take(third).map(|e| e.1));
        ranked.sort_by_key(|&(p, _)| std::cmp::Reverse(p));
        kept.extend(ranked.iter().take(third).map(|e| e.1));
        kept.sort_unstable();
        kept.dedup();
        kept.truncate(width.max(1));
        *here = kept;
    }

    /// Sum over rewards of weight times the square of the part that is executed, in millionths.
    fn promise(&self, state: &[u64], missing: &mut [u32]) -> u64 {
        self.find_missing(state, missing);
        let weights = self
            .component
            .all_rewards()
            .map(|r| self.component.weight(r));
        (self.needs.iter().zip(&*missing).zip(weights))
            .filter(|((needs, missing), _)| needs > missing)
            .map(|((&needs, &missing), weight)| {
                // Squared, so that one reward nearly complete counts more than two half complete.
                let part = u64::from((needs - missing) * 1000 / needs);
                part * part * u64::from(weight)
            })
            .sum()
    }

    /// The union of all closures, if the walk reached it.
    fn full_state(&self, states: &States) -> Option<StateId> {
        let mut full = vec![0u64; self.words];
        for closure in self.closures() {
            full.iter_mut().zip(closure).for_each(|(a, b)| *a |= b);
        }
        states.find(&full)
    }

    /// The nodes in the order of the best way to `state`, fillers last.
    fn order_to(&self, states: &States, state: StateId) -> Vec<NodeId> {
        let before = |state: &StateId| states.before[state.index()];
        let mut way: Vec<StateId> = std::iter::successors(Some(state), before).collect();
        way.reverse();
        let mut order = Vec::with_capacity(self.component.nodes());
        let mut done = vec![0u64; self.words];
        for state in way {
            self.append_new(states.get(state), &mut done, &mut order);
        }
        // Nodes that no reward needs.
        let all: Vec<u64> = vec![u64::MAX; self.words];
        self.append_new(&all, &mut done, &mut order);
        debug_assert_eq!(count(&done), self.words * 64);
        order
    }

    fn append_new(&self, state: &[u64], done: &mut [u64], order: &mut Vec<NodeId>) {
        let begin = order.len();
        let new = state.iter().zip(&*done).map(|(a, b)| a & !b);
        let nodes = members(new).take_while(|&v| v < self.component.nodes());
        order.extend(nodes.map(NodeId::new));
        done.iter_mut().zip(state).for_each(|(a, b)| *a |= b);
        order[begin..].sort_unstable_by_key(|&v| self.rank[v.index()]);
    }
}

/// Buffers for growing states.
struct Buffers {
    from: Vec<u64>,
    to: Vec<u64>,
    /// By reward: how many of its needs the state lacks.
    missing: Vec<u32>,
    /// By reward: how many of its needs are added now, if its number is the present `tick`.
    met: Vec<(u32, u32)>,
    tick: u32,
}

impl Buffers {
    fn new(space: &Space<'_>) -> Buffers {
        Buffers {
            from: vec![0; space.words],
            to: vec![0; space.words],
            missing: vec![0; space.component.rewards()],
            met: vec![(0, 0); space.component.rewards()],
            tick: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::states::has;
    use super::*;
    use crate::testing::whole;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// No more states are promised than there are, and what a state lacks is what counting needs says.
        #[test]
        fn closures_apart_give_different_states(dag in any_dag(14)) {
            for component in whole(&dag) {
                let mut work = Work::unlimited();
                let space = Space::new(&component, &mut work).unwrap();
                let met = space.explore(None, None, &mut work, |_, _| false);
                let states = met.states.all().count();
                let apart = space.apart(usize::MAX);
                prop_assert!(1 << apart <= states, "{} {}", apart, states);
                for (state, _) in met.states.all() {
                    let mut missing = vec![7; component.rewards()];
                    space.find_missing(state, &mut missing);
                    for r in component.all_rewards() {
                        let needs = component.needs(r).iter();
                        let lacking = needs.filter(|&&v| !has(state, v)).count();
                        prop_assert_eq!(missing[r.index()] as usize, lacking);
                    }
                }
            }
        }
    }
}
