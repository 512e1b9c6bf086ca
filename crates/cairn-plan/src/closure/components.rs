//! Strong components by Tarjan's algorithm, without recursion. Knows nothing of flows or prices.

use super::amount::Amount;
use super::network::Network;
use cairn_kernel::{NONE, narrow, wide};

/// The strong component of each node, numbered so that a component comes after all that it needs.
#[derive(Debug)]
pub(crate) struct Components {
    /// By node; `NONE` where left out.
    pub(crate) of: Vec<u32>,
    pub(crate) count: usize,
}

/// Strong components among the nodes that are `included`, where every node leads to its needs, and back from a
/// need to a dependant (given as node and slot) where `joined` says so.
///
/// Tarjan, "Depth-first search and linear graph algorithms" (1972). O(nodes + arcs).
pub(crate) fn components<N: Amount>(
    network: &Network<N>,
    included: impl Fn(usize) -> bool,
    joined: impl Fn(usize, usize) -> bool,
) -> Components {
    let mut tarjan = Tarjan {
        number: vec![NONE; network.len()],
        low: vec![NONE; network.len()],
        of: vec![NONE; network.len()],
        open: Vec::new(),
        path: Vec::new(),
        next: 0,
        count: 0,
    };
    for root in 0..network.len() {
        if included(root) && tarjan.number[root] == NONE {
            tarjan.visit(network, root);
            tarjan.run(network, &included, &joined);
        }
    }
    Components {
        of: tarjan.of,
        count: wide(tarjan.count),
    }
}

struct Tarjan {
    /// By node: in which order it was met.
    number: Vec<u32>,
    /// By node: the smallest number known to lie in the same component.
    low: Vec<u32>,
    of: Vec<u32>,
    /// Nodes met whose component is not complete.
    open: Vec<u32>,
    /// The nodes from the root to here, each with its next slot.
    path: Vec<(u32, u32)>,
    next: u32,
    count: u32,
}

impl Tarjan {
    fn visit<N: Amount>(&mut self, network: &Network<N>, node: usize) {
        self.number[node] = self.next;
        self.low[node] = self.next;
        self.next += 1;
        self.open.push(narrow(node));
        let first = network.needs(node).start;
        self.path.push((narrow(node), narrow(first)));
    }

    fn run<N: Amount>(
        &mut self,
        network: &Network<N>,
        included: impl Fn(usize) -> bool,
        joined: impl Fn(usize, usize) -> bool,
    ) {
        // A path of its own instead of recursion: chains of a million tasks would overflow the stack.
        while let Some((node, slot)) = self.path.last_mut() {
            let (u, s) = (wide(*node), wide(*slot));
            // Needs and dependants lie side by side: one counter goes through both.
            if s == network.dependants(u).end {
                self.path.pop();
                self.leave(u);
                continue;
            }
            *slot += 1;
            let to = wide(network.slots[s].to);
            if !included(to) || (s >= network.dependants(u).start && !joined(u, s)) {
                continue;
            }
            if self.number[to] == NONE {
                self.visit(network, to);
            // Met, and its component still open: it lies on the way back from here.
            } else if self.of[to] == NONE {
                self.low[u] = self.low[u].min(self.number[to]);
            }
        }
    }

    fn leave(&mut self, u: usize) {
        if let Some(&(above, _)) = self.path.last() {
            let above = wide(above);
            self.low[above] = self.low[above].min(self.low[u]);
        }
        if self.low[u] != self.number[u] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.of[wide(member)] = self.count;
            if wide(member) == u {
                break;
            }
        }
        self.count += 1;
    }
}
