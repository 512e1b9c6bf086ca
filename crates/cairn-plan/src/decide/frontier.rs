//! Exact profiles by sweeping over the nodes and remembering only a frontier. Knows nothing of orders.
//!
//! For graph-like components (sinks with two parents, as in Montage) no small cutset exists, but the nodes can
//! often be lined up so that few rewards are half-decided at any place: a path decomposition. Of each such reward
//! only three things can be true: some node it needs was left out; all so far are executed; or all so far are
//! executed *and* a node behind its gate was executed already, so that it must be completed.

use super::component::Component;
use super::ids::{NodeId, RewardId};
use super::knowledge::{Finding, Knowledge, Method};
use crate::budgets::LINES;
use crate::counts::gained;
use cairn_kernel::{NEVER, Rows, Work, long};
use std::collections::BTreeMap;

/// Exact profile when few rewards are open at a time. O(3^open · nodes²) at the worst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier;

/// Two bits a reward in a 128-bit state.
// And two to spare, as a node's rewards open before others close: 2·62 bits fit in 128.
const MOST_OPEN: usize = 60;

/// Steps for finding a state's place in the next layer, twice.
// Reckoned: a sorted map of some thousand states is gone down in a dozen comparisons, most of them in cold memory.
const STATE: u64 = 100;

/// What a state remembers of an open reward.
const MISSED: u128 = 0;
const POSSIBLE: u128 = 1;
const REQUIRED: u128 = 2;

impl Method for Frontier {
    fn name(&self) -> &'static str {
        "frontier program"
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        let order = sweep_order(component, work);
        Finding::exact(order.and_then(|order| sweep(component, &order, work)))
    }
}

/// For each reward, the nodes whose state touches it: those it needs and those behind its gate.
fn touching(component: &Component) -> Rows<NodeId> {
    let behind = component.behind();
    let mut touching = Rows::default();
    for (r, behind) in component.all_rewards().zip(behind.iter()) {
        touching.push(component.needs(r).iter().chain(behind).copied());
    }
    touching
}

/// Greedily keeps the number of open rewards small, from several starting nodes; `None` if it gets too large.
fn sweep_order(component: &Component, work: &mut Work<'_>) -> Option<Vec<NodeId>> {
    let touching = touching(component);
    let touched = touching.iter().zip(component.all_rewards());
    let pairs = touched.flat_map(|(nodes, r)| nodes.iter().map(move |&v| (v, r)));
    let rewards_of = Rows::by_row(component.nodes(), pairs);
    let mut starts: Vec<NodeId> = component.all_nodes().collect();
    starts.sort_by_key(|&v| (rewards_of.row(v.index()).len(), v));
    starts.truncate(LINES);
    let mut best: Option<(usize, Vec<NodeId>)> = None;
    for start in starts {
        let limit = best.as_ref().map_or(MOST_OPEN + 1, |b| b.0);
        if let Some(found) = line_up(start, &touching, &rewards_of, limit, work) {
            best = Some(found);
        }
    }
    best.map(|(_, order)| order)
}

/// One greedy line-up that keeps fewer than `limit` rewards open, with the most that were open.
fn line_up(
    start: NodeId,
    touching: &Rows<NodeId>,
    rewards_of: &Rows<RewardId>,
    limit: usize,
    work: &mut Work<'_>,
) -> Option<(usize, Vec<NodeId>)> {
    let nodes = rewards_of.len();
    let all: Vec<u32> = touching.lengths().collect();
    let mut left = all.clone();
    let is_open = |left: &[u32], r: RewardId| (1..all[r.index()]).contains(&left[r.index()]);
    let mut placed = vec![false; nodes];
    let mut candidate = vec![false; nodes];
    let mut candidates = vec![start];
    candidate[start.index()] = true;
    let mut order = Vec::with_capacity(nodes);
    let (mut open, mut most) = (0usize, 0usize);
    while order.len() < nodes {
        let change = |v: NodeId| -> i64 {
            (rewards_of.row(v.index()).iter())
                .map(|&r| {
                    let (before, after) = (is_open(&left, r), left[r.index()] > 1);
                    i64::from(after) - i64::from(before)
                })
                .sum()
        };
        let cost: usize = candidates
            .iter()
            .map(|&v| rewards_of.row(v.index()).len())
            .sum();
        work.take(1 + long(cost))?;
        let next = candidates.iter().copied().min_by_key(|&v| (change(v), v));
        // Where nothing shares a reward with what was placed, any node will do.
        let next = next.or_else(|| (0..nodes).find(|&v| !placed[v]).map(NodeId::new))?;
        candidates.retain(|&v| v != next);
        placed[next.index()] = true;
        candidate[next.index()] = true;
        order.push(next);
        for &r in rewards_of.row(next.index()) {
            open -= usize::from(is_open(&left, r));
            left[r.index()] -= 1;
            open += usize::from(is_open(&left, r));
            for &v in touching.row(r.index()) {
                if !std::mem::replace(&mut candidate[v.index()], true) {
                    candidates.push(v);
                }
            }
        }
        most = most.max(open);
        // No better than the best line so far: given up at once.
        if most >= limit {
            return None;
        }
    }
    Some((most, order))
}

/// The exact profile of a component that can be swept.
#[cfg(test)]
pub(crate) fn frontier_profile(component: &Component) -> Vec<u32> {
    let mut work = Work::unlimited();
    let order = sweep_order(component, &mut work).expect("few rewards are open");
    let found = sweep(component, &order, &mut work);
    found.expect("nobody says stop").0
}

/// For each frontier state, the best gain by number of executed nodes.
// Sorted, so that the steps spent before a budget ends do not depend on hashing.
type Layer = BTreeMap<u128, Vec<i32>>;

/// Runs the program along `order`: the exact profile and the number of states met.
fn sweep(component: &Component, order: &[NodeId], work: &mut Work<'_>) -> Option<(Vec<u32>, u64)> {
    let mut left: Vec<u32> = touching(component).lengths().collect();
    // By reward: its number among the open ones, which means nothing before it was met.
    let mut slot = vec![0; component.rewards()];
    let mut is_met = vec![false; component.rewards()];
    // Numbers of closed rewards are used again: only those open at one time must fit.
    let mut free: Vec<usize> = (0..MOST_OPEN + 2).rev().collect();
    let mut layer: Layer = BTreeMap::from([(0, vec![0])]);
    let mut states = 0;
    for &v in order {
        let needed_by = component.rewards_of(v);
        let gate = component.gate(v);
        // The rewards this node touches; its gate may be one it is needed by in no dag, so they are distinct.
        let mut touched: Vec<RewardId> = needed_by.to_vec();
        touched.extend(gate);
        for &r in &touched {
            if !std::mem::replace(&mut is_met[r.index()], true) {
                slot[r.index()] = free.pop()?;
                let bit = 2 * slot[r.index()];
                layer = layer
                    .into_iter()
                    .map(|(s, f)| (s | POSSIBLE << bit, f))
                    .collect();
            }
            left[r.index()] -= 1;
        }
        let closing: Vec<RewardId> = touched
            .iter()
            .copied()
            .filter(|&r| left[r.index()] == 0)
            .collect();
        let mut next = Layer::new();
        for (state, best) in layer {
            work.take(STATE + long(best.len()))?;
            for executed in [false, true] {
                let moved = step(state, executed, needed_by, gate, &slot);
                let Some(moved) = moved else { continue };
                let (moved, gain) = close(component, moved, &closing, &slot);
                let entry = next.entry(moved).or_default();
                let shift = usize::from(executed);
                if entry.len() < best.len() + shift {
                    entry.resize(best.len() + shift, NEVER);
                }
                for (t, &x) in best.iter().enumerate() {
                    if x != NEVER {
                        entry[t + shift] = entry[t + shift].max(x + gain);
                    }
                }
            }
        }
        for &r in &closing {
            free.push(slot[r.index()]);
        }
        states += long(next.len());
        layer = next;
    }
    // All rewards are decided, so one state is left.
    let mut profile = layer.remove(&0)?;
    profile.resize(component.nodes() + 1, NEVER);
    // Gates may forbid a set of just so many; the profile is of at most so many.
    for t in 1..profile.len() {
        profile[t] = profile[t].max(profile[t - 1]);
    }
    Some((profile.into_iter().map(gained).collect(), states))
}

/// The state after leaving out or executing a node; `None` when that contradicts what was decided before.
fn step(
    state: u128,
    executed: bool,
    needed_by: &[RewardId],
    gate: Option<RewardId>,
    slot: &[usize],
) -> Option<u128> {
    let mut state = state;
    let get = |state: u128, r: RewardId| state >> (2 * slot[r.index()]) & 3;
    let set = |state: u128, r: RewardId, to: u128| {
        let bit = 2 * slot[r.index()];
        state & !(3 << bit) | to << bit
    };
    if executed {
        if let Some(gate) = gate {
            if get(state, gate) == MISSED {
                return None;
            }
            state = set(state, gate, REQUIRED);
        }
    } else {
        for &r in needed_by {
            if get(state, r) == REQUIRED {
                return None;
            }
            state = set(state, r, MISSED);
        }
    }
    Some(state)
}

/// Takes the decided rewards out of the state and adds up what they gain.
fn close(component: &Component, state: u128, closing: &[RewardId], slot: &[usize]) -> (u128, i32) {
    let (mut state, mut gain) = (state, 0);
    for &r in closing {
        let bit = 2 * slot[r.index()];
        if state >> bit & 3 != MISSED {
            gain += component.weight(r) as i32;
        }
        state &= !(3 << bit);
    }
    (state, gain)
}
