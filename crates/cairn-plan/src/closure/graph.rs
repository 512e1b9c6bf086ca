//! The closure graph of a dag: what must be executed before what counts as eligible. Knows no prices or flows.

use super::ids::GraphNodeId;
use crate::{HullError, Weights};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::wide;

/// The split graph of a dag, as "needs" among numbered nodes.
///
/// *in(v)*, for every task v with parents, pays v's reward and needs out(p) of each parent p. *out(v)*, for every
/// task v with children, costs v's cost and needs in(v). Sources have no in copy: they are eligible from the
/// start. Sinks have no out copy: to execute one never makes anything eligible.
///
/// in(v) of a task with one parent p comes and goes with out(p), so the two share a node. Nodes are numbered so
/// that every node comes after all it needs.
#[derive(Clone, Debug)]
pub(crate) struct ClosureGraph {
    /// By task: its out copy; none for a sink.
    pub(crate) out_copy: Vec<Option<GraphNodeId>>,
    /// By task: its in copy; none for a source.
    pub(crate) in_copy: Vec<Option<GraphNodeId>>,
    /// By node.
    pub(crate) reward: Vec<u64>,
    /// By node.
    pub(crate) cost: Vec<u64>,
    /// (node, a node that it needs), sorted by the first.
    pub(crate) needs: Vec<(GraphNodeId, GraphNodeId)>,
}

impl ClosureGraph {
    /// O(tasks + arcs).
    pub(crate) fn new(dag: &Dag, weights: &Weights) -> Result<ClosureGraph, HullError> {
        if weights.tasks() != dag.len() {
            return Err(HullError::OtherWeights {
                given: weights.tasks(),
                tasks: dag.len(),
            });
        }
        // Two slots an arc and two nodes a task must be countable in 32 bits.
        if dag.len() + dag.arc_count() >= wide(u32::MAX / 2) {
            return Err(HullError::TooLarge);
        }
        let mut graph = ClosureGraph {
            out_copy: vec![None; dag.len()],
            in_copy: vec![None; dag.len()],
            reward: Vec::with_capacity(2 * dag.len()),
            cost: Vec::with_capacity(2 * dag.len()),
            needs: Vec::with_capacity(dag.len() + dag.arc_count()),
        };
        // So every node is numbered after all that it needs.
        for &task in dag.topological_order() {
            graph.add_in_copy(dag, weights, task);
            graph.add_out_copy(dag, weights, task);
        }
        Ok(graph)
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.reward.len()
    }

    fn add_node(&mut self, reward: u64, cost: u64) -> GraphNodeId {
        let node = GraphNodeId::new(self.len());
        self.reward.push(reward);
        self.cost.push(cost);
        node
    }

    fn add_in_copy(&mut self, dag: &Dag, weights: &Weights, task: TaskId) {
        let reward = weights.reward(task);
        self.in_copy[task.index()] = match dag.parents(task) {
            [] => None,
            // Half of the nodes of a chain or an out-tree are spared so.
            [parent] => {
                let shared = self.out_copy[parent.index()];
                if let Some(shared) = shared {
                    self.reward[shared.index()] += reward;
                }
                shared
            }
            parents => {
                let copy = self.add_node(reward, 0);
                let outs = parents.iter().filter_map(|p| self.out_copy[p.index()]);
                self.needs.extend(outs.map(|out| (copy, out)));
                Some(copy)
            }
        };
    }

    fn add_out_copy(&mut self, dag: &Dag, weights: &Weights, task: TaskId) {
        if dag.is_sink(task) {
            return;
        }
        let copy = self.add_node(0, weights.cost(task));
        self.out_copy[task.index()] = Some(copy);
        let own = self.in_copy[task.index()];
        self.needs.extend(own.map(|own| (copy, own)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diamond_by_hand() {
        let dag = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
        let graph = ClosureGraph::new(&dag, &Weights::unit(4)).unwrap();
        // out(0) with in(1) and in(2); out(1); out(2); in(3).
        let node = GraphNodeId::new;
        let copies = |copies: [Option<usize>; 4]| copies.map(|copy| copy.map(node));
        assert_eq!(graph.out_copy, copies([Some(0), Some(1), Some(2), None]));
        assert_eq!(graph.in_copy, copies([None, Some(0), Some(0), Some(3)]));
        assert_eq!(graph.reward, [2, 0, 0, 1]);
        assert_eq!(graph.cost, [1, 1, 1, 0]);
        let needs = [(1, 0), (2, 0), (3, 1), (3, 2)];
        assert_eq!(graph.needs, needs.map(|(from, to)| (node(from), node(to))));
    }
}
