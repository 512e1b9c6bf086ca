//! One round of pseudoflow: trees gather surplus and carry it towards deficits. Knows labels, not what comes after.

use super::amount::Amount;
use super::ids::{PieceNodeId, SlotId};
use super::network::{Network, Slot};
use super::route::active_amount;
use super::scratch::Scratch;
use cairn_kernel::{NONE, Stopped, Work, narrow, wide};

/// Slots looked at after which to ask whether to stop: some milliseconds.
// So that Ctrl-C is heard within a round, which may take seconds on a million nodes.
const LOOKS_A_CHECK: usize = 1 << 18;

/// Where a node stands in its tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    /// The slot that leads to the parent; none for a root.
    parent: Option<SlotId>,
    /// The first child.
    child: Option<PieceNodeId>,
    /// The next child of the same parent; for a root that waits in a bucket, the next root there.
    next: Option<PieceNodeId>,
    /// The child of the same parent before this one.
    previous: Option<PieceNodeId>,
}

/// A tree of one node.
const ALONE: Kin = Kin {
    parent: None,
    child: None,
    next: None,
    previous: None,
};

/// Pseudoflow with highest labels first (Hochbaum 2008; Chandran and Hochbaum 2009), told for surplus; when
/// pulling, deficits move, and every arc leads the other way.
///
/// The nodes stand in trees, and only roots have balances. The labels are lower bounds on the distance to a
/// deficit, never smaller at a child than at its parent. A root with surplus looks, among the nodes of its tree
/// that share its label, for an arc that leads one label down and has room. The tree is hung there by that arc, and
/// the surplus runs along the tree's arcs to the root of the other; where an arc is too narrow, what is behind it
/// becomes a tree of its own with what is left over. Where no such arc is found, the nodes rise by a label. Trees
/// remember where surplus can run, so that large amounts travel far for the price of the path alone.
pub(crate) struct Trees<'a, N, const PULL: bool> {
    network: &'a mut Network<N>,
    kin: &'a mut Vec<Kin>,
    heads: &'a mut Vec<Option<PieceNodeId>>,
    counts: &'a mut Vec<u32>,
    /// No active root has a higher label.
    highest: usize,
    /// Nodes above a label that nobody has are cut off until the next round.
    gap: u32,
    /// Slots looked at. Counted here instead of by [`Work`]: it is the innermost step of all, and says when to make labels exact,
    /// not what may be spent.
    looked: usize,
}

impl<'a, N: Amount, const PULL: bool> Trees<'a, N, PULL> {
    /// Every node a tree of its own; the labelled ones are those in the queue of `scratch`.
    pub(crate) fn new(network: &'a mut Network<N>, scratch: &'a mut Scratch) -> Self {
        let farthest = (scratch.queue.last()).map_or(0, |&u| network.labels[u.index()]);
        // Nodes that climb above this wait for the next round.
        // Twice the farthest distance leaves room to rise; a bucket for every possible label would be one a node.
        let labels = 2 * wide(farthest) + 64;
        scratch.heads.clear();
        scratch.heads.resize(labels, None);
        scratch.counts.clear();
        scratch.counts.resize(labels + 1, 0);
        scratch.kin.clear();
        scratch.kin.resize(network.len(), ALONE);
        let mut trees = Trees {
            network,
            kin: &mut scratch.kin,
            heads: &mut scratch.heads,
            counts: &mut scratch.counts,
            highest: 0,
            gap: NONE,
            looked: 0,
        };
        for &u in &scratch.queue {
            // How many nodes have each label: one that nobody has any more is a gap.
            trees.counts[wide(trees.network.labels[u.index()])] += 1;
            if trees.amount(u) > N::ZERO {
                trees.activate(u);
            }
        }
        trees
    }

    /// Goes on until no root is active, or about `most` slots have been looked at.
    pub(crate) fn run(&mut self, most: usize, work: &mut Work<'_>) -> Result<(), Stopped> {
        let mut next_check = LOOKS_A_CHECK;
        while self.looked <= most {
            if self.looked > next_check {
                work.stride()?;
                next_check = self.looked + LOOKS_A_CHECK;
            }
            while self.highest > 0 && self.heads[self.highest].is_none() {
                self.highest -= 1;
            }
            let Some(root) = self.heads[self.highest] else {
                break;
            };
            // A root has no siblings, so that `next` is free to link its bucket.
            self.heads[self.highest] = self.kin[root.index()].next;
            // Above a gap no way leads down: what is there waits for exact labels.
            if self.network.labels[root.index()] <= self.gap {
                self.grow(root);
            }
        }
        Ok(())
    }

    /// What a root has to give away.
    #[inline(always)]
    fn amount(&self, root: PieceNodeId) -> N {
        active_amount::<N, PULL>(self.network.nodes[root.index()].balance)
    }

    /// Puts a root with something to give into the bucket of its label.
    #[inline(always)]
    fn activate(&mut self, root: PieceNodeId) {
        let label = wide(self.network.labels[root.index()]);
        self.kin[root.index()].next = self.heads[label];
        self.heads[label] = Some(root);
        self.highest = self.highest.max(label);
    }

    /// Hangs the tree of `root` into another one label down, or lifts what cannot go there.
    fn grow(&mut self, root: PieceNodeId) {
        let label = self.network.labels[root.index()];
        let mut u = root;
        // Labels do not fall towards the leaves: the nodes that share the root's label hang together at its top. They are walked
        // through depth first, by the links of the tree instead of a stack.
        'node: loop {
            if let Some(slot) = self.way_down(u, label) {
                self.hang(u, slot);
                self.send(root);
                return;
            }
            let mut child = self.kin[u.index()].child;
            loop {
                while let Some(next) = child {
                    if self.network.labels[next.index()] == label {
                        u = next;
                        continue 'node;
                    }
                    child = self.kin[next.index()].next;
                    self.looked += 1;
                }
                // Neither it nor anything below it with its label has a way down.
                self.lift(u, label);
                if u == root {
                    // Else it is cut off, or has risen beyond the buckets: it keeps its surplus for the next round.
                    if label < self.gap && wide(label) + 1 < self.heads.len() {
                        self.activate(root);
                    }
                    return;
                }
                child = self.kin[u.index()].next;
                // Only roots have no parent.
                u = self.parent(u).unwrap_or(root);
            }
        }
    }

    #[inline(always)]
    fn parent(&self, u: PieceNodeId) -> Option<PieceNodeId> {
        let slot = self.kin[u.index()].parent?;
        Some(self.network.slots[slot.index()].to)
    }

    /// The next slot of `u` with room that leads one label down.
    #[inline(always)]
    fn way_down(&mut self, u: PieceNodeId, label: u32) -> Option<SlotId> {
        if label == 0 {
            return None;
        }
        let first = self.network.needs(u).start;
        // Slots before the cursor led nowhere with this label: they are not looked at again before it changes.
        let start = first + wide(self.network.nodes[u.index()].cursor);
        let labels = &self.network.labels;
        let slots = &self.network.slots[start..self.network.dependants(u).end];
        let leads_down = |arc: &Slot<N>| {
            // `NONE` wraps to 0, which no label that is asked for is.
            labels[arc.to.index()].wrapping_add(1) == label
                && (is_unlimited::<PULL>(u, arc.to) || arc.flow > N::ZERO)
        };
        let found = slots.iter().position(leads_down);
        let passed = found.unwrap_or(slots.len());
        self.looked += passed + 1;
        self.network.nodes[u.index()].cursor += narrow(passed);
        found.map(|_| SlotId::new(start + passed))
    }

    fn lift(&mut self, u: PieceNodeId, label: u32) {
        self.counts[wide(label)] -= 1;
        if self.counts[wide(label)] == 0 {
            // The gap heuristic: labels fall by one along a way to a deficit, so no way leads across a label that
            // nobody has.
            self.gap = self.gap.min(label);
        }
        self.counts[wide(label) + 1] += 1;
        self.network.labels[u.index()] = label + 1;
        self.network.nodes[u.index()].cursor = 0;
        self.looked += 1;
    }

    /// Makes `u` the root of its tree and hangs it where `slot` leads.
    fn hang(&mut self, u: PieceNodeId, slot: SlotId) {
        // Turns the path from `u` to its old root round, arc by arc.
        let (mut u, mut slot) = (u, slot);
        loop {
            let above = self.kin[u.index()].parent;
            self.cut_off(u);
            self.join(u, slot);
            self.looked += 1;
            let Some(above) = above else {
                return;
            };
            let arc = self.network.slots[above.index()];
            (u, slot) = (arc.to, arc.mate);
        }
    }

    /// Makes `u` the first child of the node that `slot` leads to.
    fn join(&mut self, u: PieceNodeId, slot: SlotId) {
        let parent = self.network.slots[slot.index()].to;
        let next = self.kin[parent.index()].child;
        let kin = &mut self.kin[u.index()];
        kin.parent = Some(slot);
        kin.previous = None;
        kin.next = next;
        if let Some(next) = next {
            self.kin[next.index()].previous = Some(u);
        }
        self.kin[parent.index()].child = Some(u);
    }

    /// Makes `u` a root, with all that is below it.
    fn cut_off(&mut self, u: PieceNodeId) {
        let kin = self.kin[u.index()];
        let Some(parent) = kin.parent else {
            return;
        };
        match kin.previous {
            None => {
                let parent = self.network.slots[parent.index()].to;
                self.kin[parent.index()].child = kin.next;
            }
            Some(previous) => self.kin[previous.index()].next = kin.next,
        }
        if let Some(next) = kin.next {
            self.kin[next.index()].previous = kin.previous;
        }
        self.kin[u.index()].parent = None;
    }

    /// Sends all that `from` has, which was a root till now, to the root of its tree.
    fn send(&mut self, from: PieceNodeId) {
        let mut left = self.amount(from);
        self.network.nodes[from.index()].balance = N::ZERO;
        let mut u = from;
        while let Some(slot) = self.kin[u.index()].parent {
            self.looked += 1;
            let slot = slot.index();
            let arc = self.network.slots[slot];
            // Towards a need any amount may go; back along an arc, no more than flows there.
            if is_unlimited::<PULL>(u, arc.to) {
                self.network.add_flow(slot, left);
            } else {
                let amount = arc.flow.min(left);
                self.network.add_flow(slot, -amount);
                // The arc is exhausted. What is behind it keeps the rest as a tree of its own.
                if amount < left {
                    self.cut_off(u);
                    self.network.nodes[u.index()].balance = active_amount::<N, PULL>(left - amount);
                    self.activate(u);
                    left = amount;
                    if left == N::ZERO {
                        return;
                    }
                }
            }
            u = arc.to;
        }
        let before = self.amount(u);
        self.network.nodes[u.index()].balance += active_amount::<N, PULL>(left);
        // Else it stands in its bucket already, or still has a deficit.
        if before <= N::ZERO && before + left > N::ZERO {
            self.activate(u);
        }
    }
}

/// Whether any amount may move from `u` to its neighbour: towards a need when pushing, towards a dependant when
/// pulling. Needs have smaller numbers than their dependants.
#[inline(always)]
fn is_unlimited<const PULL: bool>(u: PieceNodeId, neighbour: PieceNodeId) -> bool {
    (neighbour < u) != PULL
}
