//! A flow network without source or sink: nodes hold balances, arcs hold flow. Knows neither tasks nor prices.

use super::amount::Amount;
use super::ids::{PieceNodeId, SlotId};
use cairn_kernel::wide;
use std::ops::Range;

/// One node: its balance, where its slots lie, and what the flow algorithms note about it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node<N> {
    /// Positive: what is left over here. Negative: what is missing.
    pub(crate) balance: N,
    needs: u32,
    dependants: u32,
    /// The slot to look at next, counted from the node's first.
    pub(crate) cursor: u32,
}

/// One end of an arc. Every arc has two, so that both of its nodes find its flow among their own slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot<N> {
    /// The node at the other end.
    pub(crate) to: PieceNodeId,
    /// The slot of the other end.
    pub(crate) mate: SlotId,
    /// The flow on the arc, never negative; the same in both slots.
    pub(crate) flow: N,
}

/// An arc: `from` needs `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc<N> {
    pub(crate) from: PieceNodeId,
    pub(crate) to: PieceNodeId,
    pub(crate) flow: N,
}

/// Nodes that need others. An arc may carry any amount from a node to one that it needs; what it carries may be
/// taken back. Slots of a node lie side by side: first towards its needs, then towards its dependants.
#[derive(Clone, Debug)]
pub(crate) struct Network<N> {
    /// One entry more than there are nodes: the last only ends the slots.
    pub(crate) nodes: Vec<Node<N>>,
    /// By node: distance to (or from) the nearest node that can take (or give). Apart from the nodes, because the
    /// algorithms look at the labels of all neighbours, and these alone fit into a cache.
    pub(crate) labels: Vec<u32>,
    pub(crate) slots: Vec<Slot<N>>,
}

impl<N: Amount> Network<N> {
    /// From arcs sorted by their `from`, each to a smaller number. Balances are zero. O(nodes + arcs).
    pub(crate) fn new(count: usize, arcs: &[Arc<N>]) -> Network<N> {
        let mut needs = vec![0u32; count];
        let mut dependants = vec![0u32; count];
        for arc in arcs {
            debug_assert!(arc.to < arc.from, "needs are numbered first");
            needs[arc.from.index()] += 1;
            dependants[arc.to.index()] += 1;
        }
        let mut nodes = Vec::with_capacity(count + 1);
        let mut start = 0;
        for u in 0..count {
            nodes.push(Node {
                needs: start,
                dependants: start + needs[u],
                ..Node::default()
            });
            start += needs[u] + dependants[u];
            // Both counters become cursors: no third array of this size.
            // From here on: where the node's next need and next dependant go.
            needs[u] = nodes[u].needs;
            dependants[u] = nodes[u].dependants;
        }
        nodes.push(Node {
            needs: start,
            dependants: start,
            ..Node::default()
        });
        let mut slots = vec![Slot::default(); wide(start)];
        for &Arc { from, to, flow } in arcs {
            let forward = SlotId::new(wide(needs[from.index()]));
            let backward = SlotId::new(wide(dependants[to.index()]));
            needs[from.index()] += 1;
            dependants[to.index()] += 1;
            slots[forward.index()] = Slot {
                to,
                mate: backward,
                flow,
            };
            slots[backward.index()] = Slot {
                to: from,
                mate: forward,
                flow,
            };
        }
        Network {
            nodes,
            labels: vec![0; count],
            slots,
        }
    }

    /// Number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// All nodes.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = PieceNodeId> + Clone + use<N> {
        (0..self.len()).map(PieceNodeId::new)
    }

    /// The slots of `u` towards what it needs, as indices.
    #[inline(always)]
    pub(crate) fn needs(&self, u: PieceNodeId) -> Range<usize> {
        let node = &self.nodes[u.index()];
        wide(node.needs)..wide(node.dependants)
    }

    /// The slots of `u` towards what needs it, as indices.
    #[inline(always)]
    pub(crate) fn dependants(&self, u: PieceNodeId) -> Range<usize> {
        wide(self.nodes[u.index()].dependants)..wide(self.nodes[u.index() + 1].needs)
    }

    /// Adds `amount`, which may be negative, to the flow in both slots of an arc. Balances are the caller's.
    #[inline(always)]
    pub(crate) fn add_flow(&mut self, slot: usize, amount: N) {
        let mate = self.slots[slot].mate.index();
        self.slots[slot].flow += amount;
        self.slots[mate].flow += amount;
    }

    /// Sets the flow in both slots of an arc. Balances are the caller's.
    #[inline(always)]
    pub(crate) fn set_flow(&mut self, slot: usize, amount: N) {
        let mate = self.slots[slot].mate.index();
        self.slots[slot].flow = amount;
        self.slots[mate].flow = amount;
    }

    /// Moves `amount`, which may be negative, from `u` along its slot `need`.
    #[inline(always)]
    pub(crate) fn carry(&mut self, u: PieceNodeId, need: usize, amount: N) {
        let to = self.slots[need].to;
        self.add_flow(need, amount);
        self.nodes[u.index()].balance -= amount;
        self.nodes[to.index()].balance += amount;
    }
}
