//! Components of hull intervals: the independent puzzles a dag falls into. Knows nothing of how they are solved.
//!
//! Between two neighbouring strict hull vertices, join every in-copy with the out-copies of its parents and with
//! its own out-copy, as far as both lie in the interval. The connected parts do not influence each other.

use super::compact;
use super::ids::{IntervalId, NodeId, RewardId};
use crate::budgets::decide::colours::{LARGE, ROUNDS};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{DisjointSets, Joins, Puzzle, Rows, colours, completed, long, narrow, wide};
use std::ops::{Deref, Range};

/// One component, cut out and renumbered: a puzzle of *nodes* (tasks to execute) and *rewards* (tasks made eligible).
///
/// A reward is gained once all nodes it needs are executed; rewards with equal needs are one reward with a weight.
/// A node may wait behind a *gate*: the reward that stands for its own eligibility. Nodes are numbered by colour
/// refinement, so that most isomorphic components are equal as values, and equal values are always isomorphic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Component(Puzzle<NodeId, RewardId>);

impl Deref for Component {
    type Target = Puzzle<NodeId, RewardId>;

    #[inline]
    fn deref(&self) -> &Puzzle<NodeId, RewardId> {
        &self.0
    }
}

impl Component {
    /// From the needs of each reward (sorted node numbers), its weight, and the gate of each node.
    ///
    /// # Panics
    /// If lengths differ or a number is out of range.
    pub(super) fn new(
        needs: Rows<NodeId>,
        weight: Vec<u32>,
        gate: Vec<Option<RewardId>>,
    ) -> Component {
        Component(Puzzle::gated(needs, weight, gate))
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Number of distinct rewards.
    pub(super) fn rewards(&self) -> usize {
        self.0.shared()
    }

    /// All nodes.
    pub(super) fn all_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + use<> {
        (0..self.nodes()).map(NodeId::new)
    }

    /// All rewards.
    pub(super) fn all_rewards(&self) -> impl Iterator<Item = RewardId> + Clone + use<> {
        (0..self.rewards()).map(RewardId::new)
    }

    /// How many tasks become eligible with reward `r`.
    #[inline]
    pub(super) fn weight(&self, r: RewardId) -> u32 {
        self.0.weight[r.index()]
    }

    /// The rewards that need node `v`, sorted.
    #[inline]
    pub(super) fn rewards_of(&self, v: NodeId) -> &[RewardId] {
        self.0.prizes(v)
    }

    /// Rewards gained after each prefix of `order`; `None` if a node is missing, or executed twice or before its gate.
    /// Linear.
    pub(super) fn profile(&self, order: &[NodeId]) -> Option<Vec<u32>> {
        (self.gains(order)).filter(|_| order.len() == self.nodes())
    }

    /// An order of all nodes at least as good at every step, which executes nothing before it is needed; `None` if
    /// `order` lacks a node, or executes one twice or before its gate. O(nodes + needs·log needs).
    pub(super) fn compacted(&self, order: &[NodeId]) -> Option<Vec<NodeId>> {
        let mut rewards = Vec::with_capacity(self.rewards());
        let is_order = (self.joins()).walk(order, |_, reward| rewards.extend(reward));
        (is_order && order.len() == self.nodes()).then(|| {
            let needs = |r| self.needs(r).iter().copied();
            compact::compacted(order, &rewards, needs, NodeId::index)
        })
    }

    /// The chord ⌊total·t/nodes⌋: no set of `t` nodes gains more, because the interval is an edge of the hull.
    /// Only valid for components of such an interval.
    pub(super) fn chord(&self) -> Vec<u32> {
        let (total, nodes) = (u64::from(self.total()), long(self.nodes()));
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
        (self.tasks.iter().zip(self.component.all_nodes()))
            .filter(|&(_, v)| self.component.gate(v).is_none())
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
    let copies = Copies::new(dag, interval);
    let part = copies.parts();
    // Of all components at once: one pass over the arcs a round, instead of one for each component.
    let colour = copies.colours(&part);
    let mut nodes: Vec<(IntervalId, u32, u64, TaskId)> = (dag.tasks())
        .filter_map(|v| {
            let interval = interval[v.index()].filter(|&i| only.is_none_or(|only| only == i))?;
            Some((interval, part[v.index()], colour[v.index()], v))
        })
        .collect();
    // By interval, then part, then colour; the task breaks ties, so that the numbering is the same in every run.
    nodes.sort_unstable();
    let mut local = vec![NodeId::default(); dag.len()];
    let mut is_taken = vec![false; dag.len()];
    let mut placed = Vec::new();
    for group in nodes.chunk_by(|a, b| a.1 == b.1) {
        let tasks: Vec<TaskId> = group.iter().map(|entry| entry.3).collect();
        for (i, v) in tasks.iter().enumerate() {
            local[v.index()] = NodeId::new(i);
        }
        placed.push(Placed {
            component: copies.cut_out(&local, &mut is_taken, &tasks),
            tasks,
            interval: group[0].0,
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

/// All intervals of a dag as one puzzle, nothing merged: each task twice, as *out-copy* (to be executed) and as
/// *in-copy* (to be made eligible).
struct Copies {
    /// By in-copy: the out-copies that it needs in the interval in which it is gained.
    needs: Rows<TaskId>,
    /// By out-copy: the in-copies that need it and are gained in its interval.
    prizes: Rows<TaskId>,
    /// By out-copy: its own in-copy, where that is gained in the same interval.
    gate: Vec<Option<TaskId>>,
}

impl Copies {
    fn new(dag: &Dag, interval: &[Option<IntervalId>]) -> Copies {
        let gained = gained_in(dag, interval);
        let mut needs = Rows::default();
        let mut prizes = Rows::default();
        for v in dag.tasks() {
            let (eligible, executed) = (gained[v.index()], interval[v.index()]);
            let parents: &[TaskId] = eligible.map_or(&[], |_| dag.parents(v));
            let is_here = |p: &&TaskId| interval[p.index()] == eligible;
            needs.push(parents.iter().filter(is_here).copied());
            let children: &[TaskId] = executed.map_or(&[], |_| dag.children(v));
            let is_here = |c: &&TaskId| gained[c.index()] == executed;
            prizes.push(children.iter().filter(is_here).copied());
        }
        let gate = |v: TaskId| {
            let eligible = gained[v.index()];
            (eligible.is_some() && eligible == interval[v.index()]).then_some(v)
        };
        Copies {
            needs,
            prizes,
            gate: dag.tasks().map(gate).collect(),
        }
    }

    fn len(&self) -> usize {
        self.gate.len()
    }

    /// By out-copy, then by in-copy: the number of the component.
    fn parts(&self) -> Vec<u32> {
        let n = narrow(self.len());
        let mut sets = DisjointSets::new(2 * self.len());
        for ((needs, gate), v) in self.needs.iter().zip(&self.gate).zip(0..) {
            for p in needs.iter().chain(gate) {
                sets.join(n + v, p.0);
            }
        }
        (0..2 * n).map(|copy| sets.find(copy)).collect()
    }

    /// By out-copy: a colour by which nodes are numbered. Large components that no other has the size of are left
    /// without, as nothing can equal them.
    fn colours(&self, part: &[u32]) -> Vec<u64> {
        let n = self.len();
        let mut size = vec![0u32; 2 * n];
        (part.iter()).for_each(|&p| size[wide(p)] += 1);
        let mut alike = vec![0u32; 2 * n + 1];
        (size.iter()).for_each(|&size| alike[wide(size)] += 1);
        let coloured = |part: &[u32]| -> Vec<TaskId> {
            let is_coloured =
                |part: u32| size[wide(part)] < LARGE || alike[wide(size[wide(part)])] > 1;
            let copies = part.iter().enumerate().filter(|&(_, &p)| is_coloured(p));
            copies.map(|(v, _)| TaskId::new(v)).collect()
        };
        let (outs, ins) = part.split_at(n);
        let joins = Joins {
            needs: &self.needs,
            prizes: &self.prizes,
            gate: &self.gate,
        };
        colours(&joins, &coloured(outs), &coloured(ins), ROUNDS)
    }

    /// The component of these tasks, which are numbered as `local` says; `is_taken` is scratch with an entry a task.
    fn cut_out(&self, local: &[NodeId], is_taken: &mut [bool], tasks: &[TaskId]) -> Component {
        // Each in-copy of the component once: what it needs lies in `pool`.
        let mut pool: Vec<NodeId> = Vec::new();
        let mut rewards: Vec<(Range<usize>, TaskId)> = Vec::new();
        for &task in tasks {
            for &child in self.prizes.row(task.index()) {
                if std::mem::replace(&mut is_taken[child.index()], true) {
                    continue;
                }
                let start = pool.len();
                let needs = self.needs.row(child.index());
                // One pool for all needs: a list for each reward would be an allocation for each task.
                pool.extend(needs.iter().map(|p| local[p.index()]));
                pool[start..].sort_unstable();
                rewards.push((start..pool.len(), child));
            }
        }
        rewards.sort_unstable_by(|(a, x), (b, y)| {
            // By needs, which brings equal rewards together and does not depend on the tasks' ids.
            (pool[a.clone()].cmp(&pool[b.clone()])).then_with(|| x.cmp(y))
        });
        let mut needs: Rows<NodeId> = Rows::default();
        let mut weight: Vec<u32> = Vec::new();
        let mut gate = vec![None; tasks.len()];
        for (range, child) in rewards {
            let nodes = &pool[range];
            match weight.last_mut() {
                Some(last) if needs.row(needs.len() - 1) == nodes => *last += 1,
                _ => {
                    needs.push(nodes.iter().copied());
                    weight.push(1);
                }
            }
            if self.gate[child.index()].is_some() {
                // A reward of several tasks may be the gate of each of them.
                gate[local[child.index()].index()] = Some(RewardId::new(weight.len() - 1));
            }
        }
        Component::new(needs, weight, gate)
    }
}

/// All nodes, each after its gate can be open: first come, first served. Linear.
pub(crate) fn gate_order(component: &Component) -> Vec<NodeId> {
    let mut waiting = component.needs_left();
    let behind = component.behind();
    let mut order = Vec::with_capacity(component.nodes());
    order.extend((component.all_nodes()).filter(|&v| component.gate(v).is_none()));
    let mut next = 0;
    while next < order.len() {
        let v: NodeId = order[next];
        next += 1;
        for r in completed(component.rewards_of(v).iter().copied(), &mut waiting) {
            order.extend_from_slice(behind.row(r.index()));
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
