//! Exact profiles of trees and near-trees by a (max,+) program. Knows nothing of orders.
//!
//! Nodes and rewards of a component, joined by needs and gates, form a graph. Where it is a forest, a program over
//! subtrees gives the best gain for every number of executed nodes; where a few vertices spoil that, try both
//! states of each of them (cutset conditioning).

use super::component::Component;
use super::ids::{NodeId, RewardId};
use super::knowledge::{Finding, Knowledge, Method};
use crate::counts::{at, gained, narrow};
use cairn_kernel::{NEVER, Work, convolve_within};

/// Exact profile when at most `most` vertices meet all cycles. O(2^cut · nodes²).
///
/// Executed nodes of the in-trees and out-trees, bipartite trees and near-trees that make up most real workflows.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeProgram {
    /// The most vertices to condition on.
    pub(super) most: usize,
}

impl Method for TreeProgram {
    fn name(&self) -> &'static str {
        "tree program"
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        let graph = Graph::new(component);
        let cut = graph.cutset(self.most);
        Finding::exact(cut.and_then(|cut| Program::new(component, &graph, &cut).run(work)))
    }
}

/// Steps for a profile beside those for its entries: memory.
const PROFILE: u64 = 2;

/// How two vertices are joined: which state of one forces the state of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    /// The reward needs the node: reward gained ⇒ node executed.
    Need,
    /// The node waits for the reward: node executed ⇒ reward gained.
    Gate,
}

/// Nodes are vertices `0..nodes`, rewards follow.
struct Graph {
    nodes: usize,
    adjacent: Vec<Vec<(u32, Join)>>,
}

impl Graph {
    fn new(component: &Component) -> Graph {
        let nodes = component.nodes();
        let mut adjacent = vec![Vec::new(); nodes + component.rewards()];
        let mut join = |node: NodeId, reward: RewardId, kind| {
            let (node, reward) = (node.index(), nodes + reward.index());
            adjacent[node].push((narrow(reward), kind));
            adjacent[reward].push((narrow(node), kind));
        };
        for r in component.all_rewards() {
            component
                .needs(r)
                .iter()
                .for_each(|&v| join(v, r, Join::Need));
        }
        for v in component.all_nodes() {
            if let Some(gate) = component.gate(v) {
                join(v, gate, Join::Gate);
            }
        }
        Graph { nodes, adjacent }
    }

    /// Vertices whose removal leaves a forest: repeatedly the one of highest degree in the 2-core.
    fn cutset(&self, most: usize) -> Option<Vec<u32>> {
        let mut removed = vec![false; self.adjacent.len()];
        let mut cut = Vec::new();
        while let Some(vertex) = self.busiest_in_core(&removed) {
            if cut.len() == most {
                return None;
            }
            removed[at(vertex)] = true;
            cut.push(vertex);
        }
        Some(cut)
    }

    fn busiest_in_core(&self, removed: &[bool]) -> Option<u32> {
        let mut gone = removed.to_vec();
        let mut degree: Vec<usize> = (self.adjacent.iter())
            .map(|row| row.iter().filter(|(u, _)| !removed[at(*u)]).count())
            .collect();
        let mut leaves: Vec<u32> = (0..narrow(gone.len()))
            .filter(|&v| !gone[at(v)] && degree[at(v)] <= 1)
            .collect();
        while let Some(v) = leaves.pop() {
            if std::mem::replace(&mut gone[at(v)], true) {
                continue;
            }
            for &(u, _) in &self.adjacent[at(v)] {
                if !gone[at(u)] {
                    degree[at(u)] -= 1;
                    if degree[at(u)] <= 1 {
                        leaves.push(u);
                    }
                }
            }
        }
        let core = (0..narrow(gone.len())).filter(|&v| !gone[at(v)]);
        core.max_by_key(|&v| (degree[at(v)], v))
    }
}

/// The forest left by the cut, in an order in which parents come before children.
struct Program<'a> {
    component: &'a Component,
    graph: &'a Graph,
    cut: &'a [u32],
    order: Vec<u32>,
    below: Vec<Vec<(u32, Join)>>,
    roots: Vec<u32>,
}

impl<'a> Program<'a> {
    fn new(component: &'a Component, graph: &'a Graph, cut: &'a [u32]) -> Program<'a> {
        let vertices = graph.adjacent.len();
        let mut seen = vec![false; vertices];
        cut.iter().for_each(|&v| seen[at(v)] = true);
        let mut program = Program {
            component,
            graph,
            cut,
            order: Vec::new(),
            below: vec![Vec::new(); vertices],
            roots: Vec::new(),
        };
        for root in 0..narrow(vertices) {
            if std::mem::replace(&mut seen[at(root)], true) {
                continue;
            }
            program.roots.push(root);
            let mut stack = vec![root];
            while let Some(v) = stack.pop() {
                program.order.push(v);
                for &(u, kind) in &graph.adjacent[at(v)] {
                    if !std::mem::replace(&mut seen[at(u)], true) {
                        program.below[at(v)].push((u, kind));
                        stack.push(u);
                    }
                }
            }
        }
        program
    }

    /// The profile and the number of cut states tried; `None` when the budget runs out.
    fn run(&self, work: &mut Work<'_>) -> Option<(Vec<u32>, u64)> {
        let nodes = self.component.nodes();
        let mut best = vec![NEVER; nodes + 1];
        let mut tried = 0;
        for mask in 0u64..1 << self.cut.len() {
            if !work.spend(1) {
                return None;
            }
            let Some(forced) = self.forced_by(mask) else {
                continue;
            };
            tried += 1;
            let (mut used, mut gained) = (0, 0);
            for (i, &v) in self.cut.iter().enumerate() {
                if mask >> i & 1 == 1 {
                    match self.reward(v) {
                        None => used += 1,
                        Some(r) => gained += self.component.weight(r) as i32,
                    }
                }
            }
            let inside = self.best_given(&forced, work)?;
            for (t, &gain) in inside.iter().enumerate() {
                if gain != NEVER && t + used <= nodes {
                    best[t + used] = best[t + used].max(gain + gained);
                }
            }
        }
        for t in 1..=nodes {
            best[t] = best[t].max(best[t - 1]);
        }
        Some((best.into_iter().map(gained).collect(), tried))
    }

    fn reward(&self, vertex: u32) -> Option<RewardId> {
        at(vertex).checked_sub(self.graph.nodes).map(RewardId::new)
    }

    /// What fixing the cut's states forces elsewhere; `None` when they contradict each other.
    fn forced_by(&self, mask: u64) -> Option<Vec<Option<bool>>> {
        let mut forced = vec![None; self.graph.adjacent.len()];
        for (i, &v) in self.cut.iter().enumerate() {
            forced[at(v)] = Some(mask >> i & 1 == 1);
        }
        for (i, &v) in self.cut.iter().enumerate() {
            let on = mask >> i & 1 == 1;
            let is_node = self.reward(v).is_none();
            for &(u, kind) in &self.graph.adjacent[at(v)] {
                // Need: reward ⇒ node. Gate: node ⇒ reward. The implication's left side on forces the right one
                // on; its right side off forces the left one off.
                let v_implies_u = (kind == Join::Gate) == is_node;
                if v_implies_u == on {
                    let slot = &mut forced[at(u)];
                    if slot.is_some_and(|state| state != on) {
                        return None;
                    }
                    *slot = Some(on);
                }
            }
        }
        Some(forced)
    }

    /// Best gain in the forest for each number of executed nodes.
    fn best_given(&self, forced: &[Option<bool>], work: &mut Work<'_>) -> Option<Vec<i32>> {
        let mut off: Vec<Vec<i32>> = vec![Vec::new(); forced.len()];
        let mut on: Vec<Vec<i32>> = vec![Vec::new(); forced.len()];
        for &v in self.order.iter().rev() {
            let reward = self.reward(v);
            let is_node = reward.is_none();
            for state in [false, true] {
                let mut below = None;
                for &(u, kind) in &self.below[at(v)] {
                    let (u_off, u_on) = (&off[at(u)], &on[at(u)]);
                    let v_implies_u = (kind == Join::Gate) == is_node;
                    let child = match (v_implies_u, state) {
                        (true, true) => u_on.clone(),
                        (false, false) => u_off.clone(),
                        _ => larger(u_off, u_on),
                    };
                    below = Some(together(below, child, work)?);
                }
                let mut sum = below.unwrap_or_else(|| vec![0]);
                match reward {
                    // A node adds one to the count: executed, the profile moves up by one step.
                    None => sum.insert(if state { 0 } else { sum.len() }, NEVER),
                    Some(r) if state => {
                        let weight = self.component.weight(r) as i32;
                        let reachable = sum.iter_mut().filter(|x| **x != NEVER);
                        reachable.for_each(|x| *x += weight);
                    }
                    Some(_) => {}
                }
                if forced[at(v)].is_some_and(|f| f != state) {
                    sum.fill(NEVER);
                }
                if state {
                    on[at(v)] = sum;
                } else {
                    off[at(v)] = sum;
                }
            }
            for &(u, _) in &self.below[at(v)] {
                off[at(u)] = Vec::new();
                on[at(u)] = Vec::new();
            }
        }
        let mut sum = None;
        for &root in &self.roots {
            let tree = larger(&off[at(root)], &on[at(root)]);
            sum = Some(together(sum, tree, work)?);
        }
        Some(sum.unwrap_or_else(|| vec![0]))
    }
}

/// The exact profile of a component that is a forest.
#[cfg(test)]
pub(crate) fn forest_profile(component: &Component) -> Vec<u32> {
    let graph = Graph::new(component);
    let found = Program::new(component, &graph, &[]).run(&mut Work::unlimited());
    found.expect("nobody says stop").0
}

/// The best sum with one more profile.
fn together(sum: Option<Vec<i32>>, more: Vec<i32>, work: &mut Work<'_>) -> Option<Vec<i32>> {
    let sum = match work.spend(PROFILE).then_some(sum)? {
        None => return Some(more),
        Some(sum) => sum,
    };
    convolve_within(&sum, &more, usize::MAX, work)
}

fn larger(a: &[i32], b: &[i32]) -> Vec<i32> {
    a.iter().zip(b).map(|(x, y)| *x.max(y)).collect()
}
