//! One round of pseudoflow: trees gather surplus and carry it towards deficits. Knows labels, not what comes after.

use super::amount::Amount;
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
    /// The slot that leads to the parent, or `NONE` for a root.
    parent: u32,
    /// The first child.
    child: u32,
    /// The next child of the same parent; for a root that waits in a bucket, the next root there.
    next: u32,
    /// The child of the same parent before this one.
    previous: u32,
}

/// A tree of one node.
const ALONE: Kin = Kin {
    parent: NONE,
    child: NONE,
    next: NONE,
    previous: NONE,
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
    heads: &'a mut Vec<u32>,
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
        let farthest = (scratch.queue.last()).map_or(0, |&u| network.labels[wide(u)]);
        // Nodes that climb above this wait for the next round.
        // Twice the farthest distance leaves room to rise; a bucket for every possible label would be one a node.
        let labels = 2 * wide(farthest) + 64;
        scratch.heads.clear();
        scratch.heads.resize(labels, NONE);
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
            let u = wide(u);
            // How many nodes have each label: one that nobody has any more is a gap.
            trees.counts[wide(trees.network.labels[u])] += 1;
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
            while self.highest > 0 && self.heads[self.highest] == NONE {
                self.highest -= 1;
            }
            let root = self.heads[self.highest];
            if root == NONE {
                break;
            }
            // A root has no siblings, so that `next` is free to link its bucket.
            self.heads[self.highest] = self.kin[wide(root)].next;
            // Above a gap no way leads down: what is there waits for exact labels.
            if self.network.labels[wide(root)] <= self.gap {
                self.grow(wide(root));
            }
        }
        Ok(())
    }

    /// What a root has to give away.
    #[inline(always)]
    fn amount(&self, root: usize) -> N {
        active_amount::<N, PULL>(self.network.nodes[root].balance)
    }

    /// Puts a root with something to give into the bucket of its label.
    #[inline(always)]
    fn activate(&mut self, root: usize) {
        let label = wide(self.network.labels[root]);
        self.kin[root].next = self.heads[label];
        self.heads[label] = narrow(root);
        self.highest = self.highest.max(label);
    }

    /// Hangs the tree of `root` into another one label down, or lifts what cannot go there.
    fn grow(&mut self, root: usize) {
        let label = self.network.labels[root];
        let mut u = root;
        // Labels do not fall towards the leaves: the nodes that share the root's label hang together at its top. They are walked
        // through depth first, by the links of the tree instead of a stack.
        'node: loop {
            if let Some(slot) = self.way_down(u, label) {
                self.hang(u, slot);
                self.send(root);
                return;
            }
            let mut child = self.kin[u].child;
            loop {
                while child != NONE && self.network.labels[wide(child)] != label {
                    child = self.kin[wide(child)].next;
                    self.looked += 1;
                }
                if child != NONE {
                    u = wide(child);
                    continue 'node;
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
                child = self.kin[u].next;
                u = self.parent(u);
            }
        }
    }

    #[inline(always)]
    fn parent(&self, u: usize) -> usize {
        wide(self.network.slots[wide(self.kin[u].parent)].to)
    }

    /// The next slot of `u` with room that leads one label down.
    #[inline(always)]
    fn way_down(&mut self, u: usize, label: u32) -> Option<usize> {
        if label == 0 {
            return None;
        }
        let first = self.network.needs(u).start;
        // Slots before the cursor led nowhere with this label: they are not looked at again before it changes.
        let start = first + wide(self.network.nodes[u].cursor);
        let labels = &self.network.labels;
        let slots = &self.network.slots[start..self.network.dependants(u).end];
        let leads_down = |arc: &Slot<N>| {
            // `NONE` wraps to 0, which no label that is asked for is.
            labels[wide(arc.to)].wrapping_add(1) == label
                && (is_unlimited::<PULL>(u, arc.to) || arc.flow > N::ZERO)
        };
        let found = slots.iter().position(leads_down);
        let passed = found.unwrap_or(slots.len());
        self.looked += passed + 1;
        self.network.nodes[u].cursor += narrow(passed);
        found.map(|_| start + passed)
    }

    fn lift(&mut self, u: usize, label: u32) {
        self.counts[wide(label)] -= 1;
        if self.counts[wide(label)] == 0 {
            // The gap heuristic: labels fall by one along a way to a deficit, so no way leads across a label that
            // nobody has.
            self.gap = self.gap.min(label);
        }
        self.counts[wide(label) + 1] += 1;
        self.network.labels[u] = label + 1;
        self.network.nodes[u].cursor = 0;
        self.looked += 1;
    }

    /// Makes `u` the root of its tree and hangs it where `slot` leads.
    fn hang(&mut self, u: usize, slot: usize) {
        // Turns the path from `u` to its old root round, arc by arc.
        let (mut u, mut slot) = (u, slot);
        loop {
            let above = self.kin[u].parent;
            self.cut_off(u);
            self.join(u, slot);
            self.looked += 1;
            if above == NONE {
                return;
            }
            let arc = self.network.slots[wide(above)];
            (u, slot) = (wide(arc.to), wide(arc.mate));
        }
    }

    /// Makes `u` the first child of the node that `slot` leads to.
    fn join(&mut self, u: usize, slot: usize) {
        let parent = wide(self.network.slots[slot].to);
        let next = self.kin[parent].child;
        let kin = &mut self.kin[u];
        kin.parent = narrow(slot);
        kin.previous = NONE;
        kin.next = next;
        if next != NONE {
            self.kin[wide(next)].previous = narrow(u);
        }
        self.kin[parent].child = narrow(u);
    }

    /// Makes `u` a root, with all that is below it.
    fn cut_off(&mut self, u: usize) {
        let kin = self.kin[u];
        if kin.parent == NONE {
            return;
        }
        match kin.previous {
            NONE => {
                let parent = self.parent(u);
                self.kin[parent].child = kin.next;
            }
            previous => self.kin[wide(previous)].next = kin.next,
        }
        if kin.next != NONE {
            self.kin[wide(kin.next)].previous = kin.previous;
        }
        self.kin[u].parent = NONE;
    }

    /// Sends all that `from` has, which was a root till now, to the root of its tree.
    fn send(&mut self, from: usize) {
        let mut left = self.amount(from);
        self.network.nodes[from].balance = N::ZERO;
        let mut u = from;
        while self.kin[u].parent != NONE {
            self.looked += 1;
            let slot = wide(self.kin[u].parent);
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
                    self.network.nodes[u].balance = active_amount::<N, PULL>(left - amount);
                    self.activate(u);
                    left = amount;
                    if left == N::ZERO {
                        return;
                    }
                }
            }
            u = wide(arc.to);
        }
        let before = self.amount(u);
        self.network.nodes[u].balance += active_amount::<N, PULL>(left);
        // Else it stands in its bucket already, or still has a deficit.
        if before <= N::ZERO && before + left > N::ZERO {
            self.activate(u);
        }
    }
}

/// Whether any amount may move from `u` to its neighbour: towards a need when pushing, towards a dependant when
/// pulling. Needs have smaller numbers than their dependants.
#[inline(always)]
fn is_unlimited<const PULL: bool>(u: usize, neighbour: u32) -> bool {
    ((wide(neighbour)) < u) != PULL
}
