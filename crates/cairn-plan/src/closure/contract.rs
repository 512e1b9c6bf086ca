//! Cuts one side out of a piece and merges nodes that no later cut can part. Knows nothing of how cuts are found.

use super::amount::Amount;
use super::components::{Components, components};
use super::gain::Gain;
use super::network::{Arc, Network};
use super::piece::{Piece, Place};
use super::sides::Side;
use cairn_kernel::{NONE, Rows, narrow, wide};
use std::cmp::Ordering;

/// Merging is done if it saves at least one node in so many.
// A quotient is built anew, nodes, arcs and slots: below a twentieth that costs more than it spares.
const WORTH_MERGING: usize = 20;

/// (node, the node that stands for it from now on), as closure nodes. Every node is merged at most once.
pub(crate) type Merges = Vec<(u32, u32)>;

/// Cuts the nodes on `side` out of `piece`, after a finished flow.
///
/// The new piece only matters at prices between its flattest and its steepest slope. Three rules tell that two
/// nodes u, w, where u needs w, lie together in every optimal closure at such prices:
/// 1. u alone is worth more than the steepest price and needs only w: with w it always comes along;
/// 2. w alone is worth less than the flattest price and only u needs it: without u nobody wants it;
/// 3. the arc carries more flow than all balances on this side together: a closure with w but not u would be
///    worth less than nothing, now and at all later prices.
///
/// Merged nodes are noted in `merges`. Merging is not done where it would save few nodes,
/// nor unless `may_merge`: it disturbs the order that cold starts profit from.
/// O(nodes + arcs).
pub(crate) fn cut_out<N: Amount, M: Amount>(
    piece: &Piece<N>,
    sides: &[Side],
    side: Side,
    place: Place,
    may_merge: bool,
    merges: &mut Merges,
) -> Piece<M> {
    let bonds = Bonds::new(piece, sides, side, place);
    let merged = if may_merge { bonds.merged() } else { None };
    let classes = merged.unwrap_or_else(|| bonds.unmerged());
    quotient(piece, &classes, place, merges)
}

/// The whole piece with nodes merged by the rules of [`cut_out`], or `None` where that would save few.
pub(crate) fn merge<N: Amount>(piece: &Piece<N>, merges: &mut Merges) -> Option<Piece<N>> {
    let sides = vec![Side::First; piece.len()];
    let classes = Bonds::new(piece, &sides, Side::First, piece.place).merged()?;
    Some(quotient(piece, &classes, piece.place, merges))
}

/// The node takes its only need along (rule 1).
const LEADS: u8 = 1;
/// The node follows its only dependant (rule 2).
const FOLLOWS: u8 = 2;

/// Which nodes the three rules tie together.
struct Bonds<'a, N> {
    piece: &'a Piece<N>,
    sides: &'a [Side],
    side: Side,
    flags: Vec<u8>,
    /// The sum of all balances on the side, without sign.
    loose: N,
    members: usize,
}

impl<'a, N: Amount> Bonds<'a, N> {
    fn new(piece: &'a Piece<N>, sides: &'a [Side], side: Side, place: Place) -> Self {
        let mut bonds = Bonds {
            piece,
            sides,
            side,
            flags: vec![0; piece.len()],
            loose: N::ZERO,
            members: 0,
        };
        for u in 0..piece.len() {
            if bonds.includes(u) {
                bonds.members += 1;
                bonds.loose += piece.network.nodes[u].balance;
                bonds.flags[u] = bonds.flag(u, place);
            }
        }
        // What rule 3 compares flows with.
        bonds.loose = bonds.loose.max(-bonds.loose);
        bonds
    }

    fn includes(&self, u: usize) -> bool {
        self.sides[u] == self.side
    }

    fn flag(&self, u: usize, place: Place) -> u8 {
        let own = self.piece.gain(u);
        let network = &self.piece.network;
        let is_single = |slots: std::ops::Range<usize>| {
            let inside = slots.filter(|&s| self.includes(wide(network.slots[s].to)));
            inside.take(2).count() == 1
        };
        let is_steep = || {
            (own.cost == 0 && own.reward > 0) || own.cmp_slope(place.steepest) == Ordering::Greater
        };
        let is_flat =
            || (own.reward == 0 && own.cost > 0) || own.cmp_slope(place.flattest) == Ordering::Less;
        if is_single(network.needs(u)) && is_steep() {
            LEADS
        } else if is_single(network.dependants(u)) && is_flat() {
            FOLLOWS
        } else {
            0
        }
    }

    /// Whether the dependant behind `slot` of `w` is tied to `w`.
    fn is_tied(&self, w: usize, slot: usize) -> bool {
        let towards = self.piece.network.slots[slot];
        self.flags[wide(towards.to)] == LEADS
            || self.flags[w] == FOLLOWS
            || towards.flow > self.loose
    }

    /// A class for what is tied together, or `None` if that saves few nodes.
    fn merged(&self) -> Option<Components> {
        // Each tie saves one node at the most: a cheap look before the components are found.
        if self.count_ties() * WORTH_MERGING < self.members {
            return None;
        }
        let network = &self.piece.network;
        let found = components(network, |u| self.includes(u), |w, s| self.is_tied(w, s));
        let saved = self.members - found.count;
        (saved * WORTH_MERGING >= self.members).then_some(found)
    }

    /// A class for every node.
    fn unmerged(&self) -> Components {
        let mut count = 0;
        let number = |u| {
            if self.includes(u) {
                count += 1;
                count - 1
            } else {
                NONE
            }
        };
        Components {
            of: (0..self.piece.len()).map(number).collect(),
            count: self.members,
        }
    }

    fn count_ties(&self) -> usize {
        let network = &self.piece.network;
        let tied = |w: usize| {
            let inside = |s: &usize| self.includes(wide(network.slots[*s].to));
            (network.dependants(w).filter(inside))
                .filter(|&s| self.is_tied(w, s))
                .count()
        };
        let members = (0..self.piece.len()).filter(|&w| self.includes(w));
        members.map(tied).sum()
    }
}

/// The piece whose nodes are the classes. Its arcs carry the old flow in the new units, if that was worth keeping.
fn quotient<N: Amount, M: Amount>(
    piece: &Piece<N>,
    classes: &Components,
    place: Place,
    merges: &mut Merges,
) -> Piece<M> {
    let mut id = vec![NONE; classes.count];
    let mut reward = vec![0; classes.count];
    let mut cost = vec![0; classes.count];
    for u in 0..piece.len() {
        let class = wide(classes.of[u]);
        if classes.of[u] == NONE {
            continue;
        }
        if id[class] == NONE {
            id[class] = piece.id[u];
        } else {
            merges.push((piece.id[u], id[class]));
        }
        reward[class] += piece.reward[u];
        cost[class] += piece.cost[u];
    }
    // Balances count in units of the chord's reduced cost: the old flow means as much in the new units times this factor.
    let unit = |total: Gain| total.reduced().cost as f64;
    let factor = unit(place.total) / unit(piece.place.total);
    let flow_in_new_units = |flow: N| {
        if piece.is_routed {
            // Rounding only makes the start worse: any flow is valid, and balances are set from it.
            M::from_float(flow.to_float() * factor)
        } else {
            M::ZERO
        }
    };
    let arcs = merged_arcs(piece, classes, flow_in_new_units);
    let mut quotient = Piece {
        network: Network::new(classes.count, &arcs),
        id,
        reward,
        cost,
        place,
        is_routed: piece.is_routed,
        cold_failure: piece.cold_failure,
    };
    if quotient.is_routed {
        quotient.settle_flow();
    } else {
        quotient.reset_flow();
    }
    quotient
}

/// The arcs between different classes, parallel ones merged, sorted by their `from`.
fn merged_arcs<N: Amount, M: Amount>(
    piece: &Piece<N>,
    classes: &Components,
    in_new_units: impl Fn(N) -> M,
) -> Vec<Arc<M>> {
    let inside = (classes.of.iter().zip(0..)).filter(|(class, _)| **class != NONE);
    let members = Rows::by_row(classes.count, inside.map(|(&class, u)| (class, u)));
    let has_merged = members.items().len() > classes.count;
    let mut arcs: Vec<Arc<M>> = Vec::new();
    // By class: the last arc towards it.
    let mut last = vec![NONE; if has_merged { classes.count } else { 0 }];
    for from in 0..narrow(classes.count) {
        let first_arc = narrow(arcs.len());
        for &u in members.row(wide(from)) {
            for slot in piece.network.needs(wide(u)) {
                let towards = piece.network.slots[slot];
                let to = classes.of[wide(towards.to)];
                if to == NONE || to == from {
                    continue;
                }
                let flow = in_new_units(towards.flow);
                // Without merging there are no parallel arcs, and half the work is saved.
                if has_merged {
                    let known = last[wide(to)];
                    if known != NONE && known >= first_arc {
                        arcs[wide(known)].flow += flow;
                        continue;
                    }
                    last[wide(to)] = narrow(arcs.len());
                }
                arcs.push(Arc { from, to, flow });
            }
        }
    }
    arcs
}
