//! Strong components by Tarjan's algorithm, without recursion. Knows nothing of flows or prices.

use super::amount::Amount;
use super::ids::{PieceNodeId, StrongId};
use super::network::Network;
use cairn_kernel::{NONE, narrow, wide};

/// The strong component of each node, numbered so that a component comes after all that it needs.
#[derive(Debug)]
pub(crate) struct Components {
    /// By node; none where left out.
    pub(crate) of: Vec<Option<StrongId>>,
    pub(crate) count: usize,
}

/// Strong components among the nodes that are `included`, where every node leads to its needs, and back from a
/// need to a dependant (given as node and slot) where `joined` says so.
///
/// Tarjan, "Depth-first search and linear graph algorithms" (1972). O(nodes + arcs).
pub(crate) fn components<N: Amount>(
    network: &Network<N>,
    included: impl Fn(PieceNodeId) -> bool,
    joined: impl Fn(PieceNodeId, usize) -> bool,
) -> Components {
    let mut tarjan = Tarjan {
        number: vec![NONE; network.len()],
        low: vec![NONE; network.len()],
        of: vec![None; network.len()],
        open: Vec::new(),
        path: Vec::new(),
        next: 0,
        count: 0,
    };
    for root in network.ids() {
        if included(root) && tarjan.number[root.index()] == NONE {
            tarjan.visit(network, root);
            tarjan.run(network, &included, &joined);
        }
    }
    Components {
        of: tarjan.of,
        count: tarjan.count,
    }
}

struct Tarjan {
    /// By node: in which order it was met.
    number: Vec<u32>,
    /// By node: the smallest number known to lie in the same component.
    low: Vec<u32>,
    of: Vec<Option<StrongId>>,
    /// Nodes met whose component is not complete.
    open: Vec<PieceNodeId>,
    /// The nodes from the root to here, each with the index of its next slot, which may be past its last.
    path: Vec<(PieceNodeId, u32)>,
    next: u32,
    count: usize,
}

impl Tarjan {
    fn visit<N: Amount>(&mut self, network: &Network<N>, node: PieceNodeId) {
        self.number[node.index()] = self.next;
        self.low[node.index()] = self.next;
        self.next += 1;
        self.open.push(node);
        let first = network.needs(node).start;
        self.path.push((node, narrow(first)));
    }

    fn run<N: Amount>(
        &mut self,
        network: &Network<N>,
        included: impl Fn(PieceNodeId) -> bool,
        joined: impl Fn(PieceNodeId, usize) -> bool,
    ) {
        // A path of its own instead of recursion: chains of a million tasks would overflow the stack.
        while let Some((node, slot)) = self.path.last_mut() {
            let (u, s) = (*node, wide(*slot));
            // Needs and dependants lie side by side: one counter goes through both.
            if s == network.dependants(u).end {
                self.path.pop();
                self.leave(u);
                continue;
            }
            *slot += 1;
            let to = network.slots[s].to;
            if !included(to) || (s >= network.dependants(u).start && !joined(u, s)) {
                continue;
            }
            if self.number[to.index()] == NONE {
                self.visit(network, to);
            // Met, and its component still open: it lies on the way back from here.
            } else if self.of[to.index()].is_none() {
                self.low[u.index()] = self.low[u.index()].min(self.number[to.index()]);
            }
        }
    }

    fn leave(&mut self, u: PieceNodeId) {
        let low = self.low[u.index()];
        if let Some(&(above, _)) = self.path.last() {
            let above = &mut self.low[above.index()];
            *above = low.min(*above);
        }
        if low != self.number[u.index()] {
            return;
        }
        let component = Some(StrongId::new(self.count));
        while let Some(member) = self.open.pop() {
            self.of[member.index()] = component;
            if member == u {
                break;
            }
        }
        self.count += 1;
    }
}
