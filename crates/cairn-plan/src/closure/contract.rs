//! Cuts one side out of a piece and merges nodes that no later cut can part. Knows nothing of how cuts are found.

use super::amount::Amount;
use super::components::{Components, components};
use super::gain::Gain;
use super::ids::{GraphNodeId, PieceNodeId, StrongId};
use super::network::{Arc, Network};
use super::piece::{Piece, Place};
use super::sides::Side;
use cairn_kernel::Rows;
use std::cmp::Ordering;

/// Merging is done if it saves at least one node in so many.
// A quotient is built anew, nodes, arcs and slots: below a twentieth that costs more than it spares.
const WORTH_MERGING: usize = 20;

/// (node, the node that stands for it from now on), as closure nodes. Every node is merged at most once.
pub(crate) type Merges = Vec<(GraphNodeId, GraphNodeId)>;

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
        for u in piece.network.ids() {
            if bonds.includes(u) {
                bonds.members += 1;
                bonds.loose += piece.network.nodes[u.index()].balance;
                bonds.flags[u.index()] = bonds.flag(u, place);
            }
        }
        // What rule 3 compares flows with.
        bonds.loose = bonds.loose.max(-bonds.loose);
        bonds
    }

    fn includes(&self, u: PieceNodeId) -> bool {
        self.sides[u.index()] == self.side
    }

    fn flag(&self, u: PieceNodeId, place: Place) -> u8 {
        let own = self.piece.gain(u);
        let network = &self.piece.network;
        let is_single = |slots: std::ops::Range<usize>| {
            let inside = slots.filter(|&s| self.includes(network.slots[s].to));
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
    fn is_tied(&self, w: PieceNodeId, slot: usize) -> bool {
        let towards = self.piece.network.slots[slot];
        self.flags[towards.to.index()] == LEADS
            || self.flags[w.index()] == FOLLOWS
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
            self.includes(u).then(|| {
                count += 1;
                StrongId::new(count - 1)
            })
        };
        Components {
            of: self.piece.network.ids().map(number).collect(),
            count: self.members,
        }
    }

    fn count_ties(&self) -> usize {
        let network = &self.piece.network;
        let tied = |w: PieceNodeId| {
            let inside = |s: &usize| self.includes(network.slots[*s].to);
            (network.dependants(w).filter(inside))
                .filter(|&s| self.is_tied(w, s))
                .count()
        };
        let members = network.ids().filter(|&w| self.includes(w));
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
    let mut first: Vec<Option<GraphNodeId>> = vec![None; classes.count];
    let mut reward = vec![0; classes.count];
    let mut cost = vec![0; classes.count];
    for (u, class) in classes.of.iter().enumerate() {
        let Some(class) = class.map(StrongId::index) else {
            continue;
        };
        match first[class] {
            None => first[class] = Some(piece.id[u]),
            Some(first) => merges.push((piece.id[u], first)),
        }
        reward[class] += piece.reward[u];
        cost[class] += piece.cost[u];
    }
    let first = first.into_iter();
    let id = first.map(|first| first.expect("every class has a node"));
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
        id: id.collect(),
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
    let members = (classes.of.iter().zip(piece.network.ids()))
        .filter_map(|(&class, u)| class.map(|class| (class, u)));
    let members = Rows::by_row(classes.count, members);
    let has_merged = members.items().len() > classes.count;
    let mut arcs: Vec<Arc<M>> = Vec::new();
    // By class: how many arcs there were after the last one towards it.
    let mut last = vec![0; if has_merged { classes.count } else { 0 }];
    // A class is a node of the new piece.
    let node = |class: StrongId| PieceNodeId::new(class.index());
    for (class, members) in members.iter().enumerate() {
        let from = StrongId::new(class);
        let first_arc = arcs.len();
        for &u in members {
            for slot in piece.network.needs(u) {
                let towards = piece.network.slots[slot];
                let Some(to) = classes.of[towards.to.index()].filter(|&to| to != from) else {
                    continue;
                };
                let flow = in_new_units(towards.flow);
                // Without merging there are no parallel arcs, and half the work is saved.
                if has_merged {
                    let last = &mut last[to.index()];
                    if *last > first_arc {
                        arcs[*last - 1].flow += flow;
                        continue;
                    }
                    *last = arcs.len() + 1;
                }
                let (from, to) = (node(from), node(to));
                arcs.push(Arc { from, to, flow });
            }
        }
    }
    arcs
}
