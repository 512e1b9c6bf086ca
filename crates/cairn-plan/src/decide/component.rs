//! Components of hull intervals: the independent puzzles a dag falls into. Knows nothing of how they are solved.
//!
//! Between two neighbouring strict hull vertices, join every in-copy with the out-copies of its parents and with
//! its own out-copy, as far as both lie in the interval. The connected parts do not influence each other.

use super::compact::compact;
use super::ids::{IntervalId, NodeId, RewardId};
use crate::counts::{at, narrow, wide};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{DisjointSets, Rows};
use std::ops::Range;

/// One component, cut out and renumbered: *nodes* (tasks to execute) and *rewards* (tasks made eligible).
///
/// A reward is gained once all nodes it needs are executed; rewards with equal needs are one reward with a weight.
/// A node may wait behind a *gate*: the reward that stands for its own eligibility. Nodes are numbered by colour
/// refinement, so that most isomorphic components are equal as values, and equal values are always isomorphic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Component {
    needs: Rows<NodeId>,
    weight: Vec<u32>,
    gate: Vec<Option<RewardId>>,
}

impl Component {
    /// From the needs of each reward (sorted node numbers), its weight, and the gate of each node.
    ///
    /// # Panics
    /// If lengths differ or a number is out of range.
    pub(super) fn new(
        needs: &[impl AsRef<[NodeId]>],
        weight: Vec<u32>,
        gate: Vec<Option<RewardId>>,
    ) -> Component {
        assert_eq!(needs.len(), weight.len(), "a weight for each reward");
        let mut rows = Rows::default();
        for nodes in needs {
            rows.push(nodes.as_ref().iter().copied());
        }
        let exists = |v: &NodeId| v.index() < gate.len();
        assert!(rows.items().iter().all(exists), "nodes exist");
        let exists = |r: &RewardId| r.index() < needs.len();
        assert!(gate.iter().flatten().all(exists), "gates exist");
        Component {
            needs: rows,
            weight,
            gate,
        }
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.gate.len()
    }

    /// Number of distinct rewards.
    pub(super) fn rewards(&self) -> usize {
        self.weight.len()
    }

    /// All nodes.
    pub(super) fn all_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + use<> {
        (0..self.nodes()).map(NodeId::new)
    }

    /// All rewards.
    pub(super) fn all_rewards(&self) -> impl Iterator<Item = RewardId> + Clone + use<> {
        (0..self.rewards()).map(RewardId::new)
    }

    /// The nodes that reward `r` needs, sorted.
    pub(super) fn needs(&self, r: RewardId) -> &[NodeId] {
        self.needs.row(r.index())
    }

    /// By reward: how many nodes it needs, to be counted down.
    pub(super) fn needs_left(&self) -> Vec<u32> {
        self.needs.lengths().collect()
    }

    /// How many tasks become eligible with reward `r`.
    pub(super) fn weight(&self, r: RewardId) -> u32 {
        self.weight[r.index()]
    }

    /// The reward that must be gained before node `v` may be executed.
    pub(super) fn gate(&self, v: NodeId) -> Option<RewardId> {
        self.gate[v.index()]
    }

    /// Sum of all weights.
    pub(super) fn total(&self) -> u32 {
        self.weight.iter().sum()
    }

    /// For each node the rewards that need it.
    pub(super) fn rewards_by_node(&self) -> Rows<RewardId> {
        let pairs = (self.all_rewards())
            .flat_map(|r| self.needs(r).iter().map(move |v| (narrow(v.index()), r)));
        Rows::by_row(self.nodes(), pairs)
    }

    /// Rewards gained after each prefix of `order`; `None` if a node is executed twice or before its gate.
    /// Linear.
    pub(super) fn profile(&self, order: &[NodeId]) -> Option<Vec<u32>> {
        let mut profile = vec![0];
        let mut gained = 0;
        self.execute(order, |reward| match reward {
            Some(r) => gained += self.weight(r),
            None => profile.push(gained),
        })
        .then_some(profile)
    }

    /// An order of all nodes at least as good at every step, which executes nothing before it is needed; `None` if
    /// `order` executes a node twice or before its gate. O(nodes + needs·log needs).
    pub(super) fn compacted(&self, order: &[NodeId]) -> Option<Vec<NodeId>> {
        let mut rewards = Vec::with_capacity(self.rewards());
        self.execute(order, |reward| rewards.extend(reward))
            .then(|| {
                let needs = |r| self.needs(r).iter().copied();
                compact(order, &rewards, needs, NodeId::index)
            })
    }

    /// Executes all nodes in order and reports the rewards gained by each, then `None`. Whether each node came once
    /// and behind an open gate.
    fn execute(&self, order: &[NodeId], mut report: impl FnMut(Option<RewardId>)) -> bool {
        let mut waiting = self.needs_left();
        let by_node = self.rewards_by_node();
        let mut executed = vec![false; self.nodes()];
        for &v in order {
            let is_open = self.gate(v).is_none_or(|gate| waiting[gate.index()] == 0);
            if !is_open || std::mem::replace(&mut executed[v.index()], true) {
                return false;
            }
            for &r in by_node.row(v.index()) {
                waiting[r.index()] -= 1;
                if waiting[r.index()] == 0 {
                    report(Some(r));
                }
            }
            report(None);
        }
        order.len() == self.nodes()
    }

    /// The chord ⌊total·t/nodes⌋: no set of `t` nodes gains more, because the interval is an edge of the hull.
    /// Only valid for components of such an interval.
    pub(super) fn chord(&self) -> Vec<u32> {
        let (total, nodes) = (u64::from(self.total()), wide(self.nodes()));
        (0..=nodes)
            .map(|t| (total * t / nodes.max(1)) as u32)
            .collect()
    }
}

/// A component in place: which tasks its nodes are, and the interval it lies in.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// The puzzle.
    pub(crate) component: Component,
    /// By node: the task.
    pub(crate) tasks: Vec<TaskId>,
    /// The interval, counted along the chain.
    pub(crate) interval: IntervalId,
}

impl Placed {
    /// Its tasks that wait for no other of them: nodes without a gate.
    pub(super) fn entries(&self) -> Vec<TaskId> {
        (self.tasks.iter().zip(&self.component.gate))
            .filter(|(_, gate)| gate.is_none())
            .map(|(&task, _)| task)
            .collect()
    }
}

/// Cuts the nonsinks of `dag` into components. `interval[v]` is the interval in which task `v` is executed,
/// none for tasks left out (the sinks). Intervals must be ideals when joined from 0 on. Time O(tasks + arcs)
/// times a few rounds of colour refinement, plus sorting.
///
/// Components come sorted by interval. With `only`, those of that interval alone.
pub(crate) fn components(
    dag: &Dag,
    interval: &[Option<IntervalId>],
    only: Option<IntervalId>,
) -> Vec<Placed> {
    let wanted = |i: IntervalId| only.is_none_or(|only| only == i);
    let n = dag.len();
    let gained = gained_in(dag, interval);
    // Out-copies are 0..n, in-copies n..2n.
    let mut sets = DisjointSets::new(2 * n);
    for v in dag.tasks() {
        let here = gained[v.index()];
        if here.is_none() {
            continue;
        }
        for &p in dag.parents(v) {
            if interval[p.index()] == here {
                sets.join(narrow(n) + v.0, p.0);
            }
        }
        if interval[v.index()] == here {
            sets.join(narrow(n) + v.0, v.0);
        }
    }
    let part: Vec<u32> = (0..2 * narrow(n)).map(|copy| sets.find(copy)).collect();
    let colour = colours(dag, interval, &gained, &part);
    let mut nodes: Vec<(IntervalId, u32, u64, TaskId)> = (dag.tasks())
        .filter_map(|v| {
            let interval = interval[v.index()].filter(|&i| wanted(i))?;
            Some((interval, part[v.index()], colour[v.index()], v))
        })
        .collect();
    nodes.sort_unstable();
    let mut local = vec![NodeId::default(); n];
    let mut is_taken = vec![false; n];
    let mut placed = Vec::new();
    for group in nodes.chunk_by(|a, b| a.1 == b.1) {
        let tasks: Vec<TaskId> = group.iter().map(|entry| entry.3).collect();
        for (i, v) in tasks.iter().enumerate() {
            local[v.index()] = NodeId::new(i);
        }
        let here = group[0].0;
        placed.push(Placed {
            component: cut_out(dag, interval, &gained, &local, &mut is_taken, &tasks, here),
            tasks,
            interval: here,
        });
    }
    placed
}

/// All nonsinks of a dag in one interval.
pub(crate) fn one_interval(dag: &Dag) -> Vec<Option<IntervalId>> {
    let of_task = |t| (!dag.is_sink(t)).then(IntervalId::default);
    dag.tasks().map(of_task).collect()
}

/// By task: the interval in which it becomes eligible; none for sources and for what waits for a task left out.
pub(crate) fn gained_in(dag: &Dag, interval: &[Option<IntervalId>]) -> Vec<Option<IntervalId>> {
    let last = |v| {
        let mut last = None;
        for parent in dag.parents(v) {
            // One that is never executed lets nothing become eligible.
            last = last.max(Some(interval[parent.index()]?));
        }
        last
    };
    dag.tasks().map(last).collect()
}

fn cut_out(
    dag: &Dag,
    interval: &[Option<IntervalId>],
    gained: &[Option<IntervalId>],
    local: &[NodeId],
    is_taken: &mut [bool],
    tasks: &[TaskId],
    here: IntervalId,
) -> Component {
    // Each in-copy of the component once: what it needs lies in `pool`.
    let mut pool: Vec<NodeId> = Vec::new();
    let mut rewards: Vec<(Range<usize>, TaskId)> = Vec::new();
    for &task in tasks {
        for &child in dag.children(task) {
            if gained[child.index()] != Some(here)
                || std::mem::replace(&mut is_taken[child.index()], true)
            {
                continue;
            }
            let is_here = |p: &&TaskId| interval[p.index()] == Some(here);
            let start = pool.len();
            pool.extend((dag.parents(child).iter().filter(is_here)).map(|p| local[p.index()]));
            pool[start..].sort_unstable();
            rewards.push((start..pool.len(), child));
        }
    }
    rewards.sort_unstable_by(|(a, x), (b, y)| {
        (pool[a.clone()].cmp(&pool[b.clone()])).then_with(|| x.cmp(y))
    });
    let mut needs: Vec<&[NodeId]> = Vec::new();
    let mut weight: Vec<u32> = Vec::new();
    let mut gate = vec![None; tasks.len()];
    for (range, child) in rewards {
        let nodes = &pool[range];
        if needs.last() == Some(&nodes) {
            weight[needs.len() - 1] += 1;
        } else {
            needs.push(nodes);
            weight.push(1);
        }
        if interval[child.index()] == Some(here) {
            gate[local[child.index()].index()] = Some(RewardId::new(needs.len() - 1));
        }
    }
    Component::new(&needs, weight, gate)
}

/// Colour refinement over all intervals at once: equal colours where a few rounds see no difference. `part` tells,
/// for the out-copy of each task and then for each in-copy, the component; large ones that no other has the size of
/// are left without colours, as nothing can equal them.
fn colours(
    dag: &Dag,
    interval: &[Option<IntervalId>],
    gained: &[Option<IntervalId>],
    part: &[u32],
) -> Vec<u64> {
    const ROUNDS: usize = 6;
    const LARGE: u32 = 4096;
    let n = dag.len();
    let mut size = vec![0u32; 2 * n];
    (part.iter()).for_each(|&p| size[at(p)] += 1);
    let mut alike = vec![0u32; 2 * n + 1];
    (size.iter()).for_each(|&size| alike[at(size)] += 1);
    let is_coloured = |copy: &usize| {
        let size = size[at(part[*copy])];
        size < LARGE || alike[at(size)] > 1
    };
    let outs: Vec<usize> = (0..n).filter(is_coloured).collect();
    let ins = (n..2 * n).filter(is_coloured).map(|copy| copy - n);
    let ins: Vec<usize> = ins.collect();
    let mut out = vec![1u64; n];
    let mut into = vec![2u64; n];
    let is_joined = |v: usize| gained[v].is_some() && interval[v] == gained[v];
    for _ in 0..ROUNDS {
        let next_out = |&v: &usize| {
            let children = dag.children(TaskId::new(v)).iter().map(|c| c.index());
            let seen = children.filter(|&c| gained[c] == interval[v]);
            let sum = seen.fold(0u64, |s, c| s.wrapping_add(mix(into[c], 7)));
            let own = if is_joined(v) { into[v] } else { 0 };
            mix(mix(out[v], sum), own)
        };
        let next_into = |&v: &usize| {
            let parents = dag.parents(TaskId::new(v)).iter().map(|p| p.index());
            let seen = parents.filter(|&p| interval[p] == gained[v]);
            let sum = seen.fold(0u64, |s, p| s.wrapping_add(mix(out[p], 9)));
            let own = if is_joined(v) { out[v] } else { 0 };
            mix(mix(into[v], sum), own)
        };
        let next_outs: Vec<u64> = outs.iter().map(next_out).collect();
        let next_ins: Vec<u64> = ins.iter().map(next_into).collect();
        outs.iter().zip(next_outs).for_each(|(&v, c)| out[v] = c);
        ins.iter().zip(next_ins).for_each(|(&v, c)| into[v] = c);
    }
    out
}

/// Scrambles two numbers into one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_add(0x7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// All nodes, each after its gate can be open: first come, first served. Linear.
pub(crate) fn gate_order(component: &Component) -> Vec<NodeId> {
    let mut waiting = component.needs_left();
    let by_node = component.rewards_by_node();
    let mut behind: Vec<Vec<NodeId>> = vec![Vec::new(); component.rewards()];
    let mut order = Vec::with_capacity(component.nodes());
    for v in component.all_nodes() {
        match component.gate(v) {
            None => order.push(v),
            Some(gate) => behind[gate.index()].push(v),
        }
    }
    let mut next = 0;
    while next < order.len() {
        let v: NodeId = order[next];
        next += 1;
        for &r in by_node.row(v.index()) {
            waiting[r.index()] -= 1;
            if waiting[r.index()] == 0 {
                order.append(&mut behind[r.index()]);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        /// With one interval for everything, the components account for every nonsink, every reward and its value.
        #[test]
        fn components_add_up_to_the_dag(dag in any_dag(12)) {
            let parts = components(&dag, &one_interval(&dag), None);
            let nodes: usize = parts.iter().map(|p| p.tasks.len()).sum();
            prop_assert_eq!(nodes, dag.tasks().filter(|&v| !dag.is_sink(v)).count());
            let total: u32 = parts.iter().map(|p| p.component.total()).sum();
            prop_assert_eq!(total as usize, dag.tasks().filter(|&v| !dag.is_source(v)).count());
            // Executing one component's tasks in topological order gains just what its own profile says.
            for part in &parts {
                let order: Vec<NodeId> = (dag.topological_order().iter())
                    .filter_map(|v| part.tasks.iter().position(|t| t == v).map(NodeId::new))
                    .collect();
                let profile = part.component.profile(&order).expect("a topological order");
                let mut done = vec![false; dag.len()];
                for (i, &v) in order.iter().enumerate() {
                    done[part.tasks[v.index()].index()] = true;
                    let gained = dag.tasks().filter(|&c| {
                        !dag.is_source(c) && dag.parents(c).iter().all(|p| done[p.index()])
                    });
                    prop_assert_eq!(gained.count() as u32, profile[i + 1]);
                }
            }
        }
    }

    #[test]
    fn equal_parts_are_equal_values() {
        // Two diamonds with shuffled ids.
        let arcs = vec![
            (0, 5),
            (0, 2),
            (5, 7),
            (2, 7),
            (6, 1),
            (6, 4),
            (4, 3),
            (1, 3),
        ];
        let dag = Dag::from_arcs(8, arcs).unwrap();
        let parts = components(&dag, &one_interval(&dag), None);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].component, parts[1].component);
        assert_eq!(parts[0].component.total(), 3);
    }
}
