//! The slow twin: the same chain by a textbook maximum flow on the whole piece, each time from zero.

use super::gain::Gain;
use super::graph::ClosureGraph;
use super::ids::GraphNodeId;
use std::collections::VecDeque;

/// The finest links of the chain: their gains and closure nodes.
pub(super) fn twin_chain(graph: &ClosureGraph) -> Vec<(Gain, Vec<GraphNodeId>)> {
    let mut links = Vec::new();
    let mut stack = vec![(0..graph.len()).map(GraphNodeId::new).collect::<Vec<_>>()];
    while let Some(piece) = stack.pop() {
        if piece.is_empty() {
            continue;
        }
        let total = gain(graph, &piece);
        if total.is_degenerate() {
            links.push((total, piece));
            continue;
        }
        let mut flow = Flow::new(graph, &piece, total);
        while flow.augment() {}
        let first = flow.reached_from_source(&piece);
        if first.is_empty() {
            links.extend(flow.components(graph, &piece));
        } else {
            let last = piece.iter().copied().filter(|u| !first.contains(u));
            // Below the first part, so that links come out in the order of the chain.
            stack.push(last.collect());
            stack.push(first);
        }
    }
    links
}

fn gain(graph: &ClosureGraph, nodes: &[GraphNodeId]) -> Gain {
    (nodes.iter()).fold(Gain::ZERO, |sum, &u| {
        sum + Gain {
            reward: graph.reward[u.index()],
            cost: graph.cost[u.index()],
        }
    })
}

/// Residual capacities in a matrix: node 0 is the source, 1 the sink, then the nodes of the piece.
struct Flow {
    left: Vec<Vec<i128>>,
}

impl Flow {
    fn new(graph: &ClosureGraph, piece: &[GraphNodeId], total: Gain) -> Flow {
        let n = piece.len() + 2;
        let mut left = vec![vec![0; n]; n];
        let place = |u: GraphNodeId| piece.iter().position(|&x| x == u).map(|i| i + 2);
        for (i, &u) in piece.iter().enumerate() {
            let reward = i128::from(graph.reward[u.index()]) * i128::from(total.cost);
            let cost = i128::from(graph.cost[u.index()]) * i128::from(total.reward);
            left[0][i + 2] = reward;
            left[i + 2][1] = cost;
        }
        for &(from, to) in &graph.needs {
            if let (Some(from), Some(to)) = (place(from), place(to)) {
                // Never what limits a path, and sums with it do not overflow.
                left[from][to] = i128::MAX / 4;
            }
        }
        Flow { left }
    }

    /// One shortest augmenting path (Edmonds and Karp).
    fn augment(&mut self) -> bool {
        let from = self.search();
        if from[1].is_none() {
            return false;
        }
        let path = |mut v: usize, visit: &mut dyn FnMut(usize, usize)| {
            while let Some(u) = from[v] {
                visit(u, v);
                v = u;
            }
        };
        let mut amount = i128::MAX;
        path(1, &mut |u, v| amount = amount.min(self.left[u][v]));
        path(1, &mut |u, v| {
            self.left[u][v] -= amount;
            self.left[v][u] += amount;
        });
        true
    }

    /// Breadth first from the source: the node before each that is reached; none before the source itself.
    fn search(&self) -> Vec<Option<usize>> {
        let n = self.left.len();
        let mut from = vec![None; n];
        let mut queue = VecDeque::from([0]);
        while let Some(u) = queue.pop_front() {
            for v in 0..n {
                if v > 0 && from[v].is_none() && self.left[u][v] > 0 {
                    from[v] = Some(u);
                    queue.push_back(v);
                }
            }
        }
        from
    }

    fn reached_from_source(&self, piece: &[GraphNodeId]) -> Vec<GraphNodeId> {
        let from = self.search();
        let reached = |&(i, _): &(usize, &GraphNodeId)| from[i + 2].is_some();
        let nodes = piece.iter().enumerate().filter(reached);
        nodes.map(|(_, &u)| u).collect()
    }

    /// Strong components of the residual graph, by mutual reachability; what neither costs nor earns is left to
    /// the caller's taste, so it is put with the component before it, as the chain does.
    fn components(
        &self,
        graph: &ClosureGraph,
        piece: &[GraphNodeId],
    ) -> Vec<(Gain, Vec<GraphNodeId>)> {
        let n = piece.len();
        let mut reach = vec![vec![false; n]; n];
        for i in 0..n {
            for j in 0..n {
                reach[i][j] = i == j || self.left[i + 2][j + 2] > 0;
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    reach[i][j] |= reach[i][k] && reach[k][j];
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in 0..n {
            match groups.iter_mut().find(|g| reach[i][g[0]] && reach[g[0]][i]) {
                Some(group) => group.push(i),
                None => groups.push(vec![i]),
            }
        }
        // What reaches less comes first: a component reaches all that it needs.
        groups.sort_by_key(|g| reach[g[0]].iter().filter(|&&r| r).count());
        (groups.into_iter())
            .map(|group| {
                let nodes: Vec<GraphNodeId> = group.into_iter().map(|i| piece[i]).collect();
                (gain(graph, &nodes), nodes)
            })
            .collect()
    }
}
