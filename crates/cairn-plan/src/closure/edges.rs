//! Splits the whole into pieces until every piece is an edge of the hull. Knows no dag, only closure nodes.

use super::amount::Amount;
use super::bound::load_bound;
use super::components::components;
use super::contract::{Merges, cut_out, merge};
use super::gain::Gain;
use super::graph::ClosureGraph;
use super::ids::{GraphNodeId, LinkId, PieceNodeId};
use super::piece::{Piece, Place, fits};
use super::scratch::Scratch;
use super::sides::Side;
use super::solve::{Tuning, solve};
use cairn_kernel::{DisjointSets, Stopped, Work, narrow, wide};
use rayon::Scope;
use std::sync::{Mutex, PoisonError};

/// A link of the chain: what it adds, and where its members end in the list of its stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) gain: Gain,
    pub(crate) end: usize,
}

/// A finished stretch of the chain between two vertices of the hull.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// Where it lies; its slopes are one where it is an edge.
    pub(crate) place: Place,
    pub(crate) links: Vec<Link>,
    /// Closure nodes, link by link.
    pub(crate) members: Vec<GraphNodeId>,
    /// For a stretch that was not settled: points, counted from `base`, of a bound on the hull.
    pub(crate) bound: Option<Vec<Gain>>,
}

/// All stretches in the order of the chain, and what became of nodes that were merged.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) stretches: Vec<Stretch>,
    merges: Merges,
}

impl Chain {
    /// By closure node: its link. O(nodes).
    pub(crate) fn link_of(&self, nodes: usize) -> Vec<Option<LinkId>> {
        let mut link_of = vec![None; nodes];
        let mut link = 0;
        for stretch in &self.stretches {
            let mut start = 0;
            for &Link { end, .. } in &stretch.links {
                for &member in &stretch.members[start..end] {
                    link_of[member.index()] = Some(LinkId::new(link));
                }
                start = end;
                link += 1;
            }
        }
        let mut merged = DisjointSets::new(nodes);
        for &(node, representative) in &self.merges {
            merged.join(narrow(node.index()), narrow(representative.index()));
        }
        for node in 0..narrow(nodes) {
            link_of[wide(node)] = link_of[wide(merged.find(node))];
        }
        link_of
    }
}

/// A piece in the narrowest integers that hold it.
enum AnyPiece {
    Narrow(Piece<i64>),
    Wide(Piece<i128>),
}

#[allow(
    clippy::large_enum_variant,
    reason = "one lives at a time, and only for a moment"
)]
enum Outcome {
    Done(Stretch),
    Split(Box<[AnyPiece; 2]>),
}

/// The chain of a closure graph: nested closures through all vertices of the hull, as fine as there is.
///
/// Every piece is cut at the price of its chord, which is a maximum-closure problem, hence a minimum cut (Picard
/// 1976). If the best closure lies above the chord it is a vertex of the hull, and both sides go on alone; if not,
/// the piece is an edge, and the strong components of the residual network are its finest chain (Picard and
/// Queyranne 1980). A cut where hull edges are parallel to the chord may lie inside an edge: it is still a member
/// of a finest chain. Pieces are independent, so threads share them; the result does not depend on how.
pub(crate) fn chain(graph: &ClosureGraph, tuning: &Tuning, work: &mut Work<'_>) -> Chain {
    let mut merges = Merges::new();
    let Some(root) = root(graph, &mut merges, work) else {
        return Chain::default();
    };
    let settlers = Settlers {
        tuning,
        work,
        done: Mutex::new(Chain {
            stretches: Vec::new(),
            merges,
        }),
    };
    // Threads would cost a small hull more than it takes.
    if root.len() < tuning.worth_a_thread {
        settlers.settle(None, root);
    } else {
        rayon::scope(|scope| settlers.settle(Some(scope), root));
    }
    let mut chain = (settlers.done.into_inner()).unwrap_or_else(PoisonError::into_inner);
    // Threads finish in any order; bases tell the place. Two stretches of one cost differ in reward: rewards without cost
    // come first.
    (chain.stretches)
        .sort_unstable_by_key(|stretch| (stretch.place.base.cost, stretch.place.base.reward));
    chain
}

/// What the threads share.
struct Settlers<'a> {
    tuning: &'a Tuning,
    work: &'a Work<'a>,
    done: Mutex<Chain>,
}

impl Settlers<'_> {
    /// Settles a piece and all that is cut from it, handing large ones to other threads.
    fn settle<'scope>(&'scope self, scope: Option<&Scope<'scope>>, piece: AnyPiece) {
        // As many steps for each, so that which thread comes first changes nothing.
        let mut work = self.work.part(self.work.left());
        let mut scratch = Scratch::default();
        let mut own = Chain::default();
        let mut stack = vec![piece];
        while let Some(piece) = stack.pop() {
            let step = match piece {
                AnyPiece::Narrow(piece) => {
                    self.step(piece, &mut scratch, &mut own.merges, &mut work)
                }
                AnyPiece::Wide(piece) => self.step(piece, &mut scratch, &mut own.merges, &mut work),
            };
            match step {
                Outcome::Done(stretch) => own.stretches.push(stretch),
                Outcome::Split(pieces) => {
                    let [first, last] = *pieces;
                    let smaller = first.len().min(last.len());
                    match scope.filter(|_| smaller >= self.tuning.worth_a_thread) {
                        Some(scope) => {
                            scope.spawn(move |scope| self.settle(Some(scope), last));
                            stack.push(first);
                        }
                        // The first on top, so that stretches of one thread come in the order of the chain.
                        None => stack.extend([last, first]),
                    }
                }
            }
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.stretches.append(&mut own.stretches);
        done.merges.append(&mut own.merges);
    }

    /// Settles the piece as an edge, or cuts it in two, or leaves it with a bound when it is time to stop.
    fn step<N: Amount>(
        &self,
        mut piece: Piece<N>,
        scratch: &mut Scratch,
        merges: &mut Merges,
        work: &mut Work<'_>,
    ) -> Outcome {
        if piece.place.total.is_degenerate() {
            return Outcome::Done(whole(piece, None));
        }
        if let Err(Stopped) = solve(&mut piece, scratch, self.tuning, work) {
            let bound = load_bound(&mut piece);
            return Outcome::Done(whole(piece, Some(bound)));
        }
        if piece.is_balanced() {
            return Outcome::Done(edge(piece));
        }
        split(&piece, &scratch.sides, merges)
    }
}

/// The piece that is everything, merged where that is plain from the start.
fn root(graph: &ClosureGraph, merges: &mut Merges, work: &mut Work<'_>) -> Option<AnyPiece> {
    if graph.len() == 0 {
        return None;
    }
    let total = Gain {
        reward: graph.reward.iter().sum(),
        cost: graph.cost.iter().sum(),
    };
    Some(if fits::<i64>(total) {
        AnyPiece::Narrow(merged_root(graph, total, merges, work))
    } else {
        AnyPiece::Wide(merged_root(graph, total, merges, work))
    })
}

fn merged_root<N: Amount>(
    graph: &ClosureGraph,
    total: Gain,
    merges: &mut Merges,
    work: &mut Work<'_>,
) -> Piece<N> {
    let (reward, cost) = (graph.reward.clone(), graph.cost.clone());
    // So far every node stands for itself.
    let node = |node: GraphNodeId| PieceNodeId::new(node.index());
    let needs = (graph.needs.iter()).map(|&(from, to)| (node(from), node(to)));
    let mut piece = Piece::new(reward, cost, needs, total);
    // Merging may make more merging possible, most where it has done much.
    while !work.is_stopped() {
        let before = piece.len();
        match merge(&piece, merges) {
            Some(merged) => piece = merged,
            None => break,
        }
        // A round that leaves more than two thirds is followed by small ones.
        if 3 * piece.len() > 2 * before {
            break;
        }
    }
    piece
}

impl AnyPiece {
    fn len(&self) -> usize {
        match self {
            AnyPiece::Narrow(piece) => piece.len(),
            AnyPiece::Wide(piece) => piece.len(),
        }
    }
}

/// Both sides of a cut as pieces of their own.
fn split<N: Amount>(piece: &Piece<N>, sides: &[Side], merges: &mut Merges) -> Outcome {
    let mut first = Gain::ZERO;
    for u in piece.network.ids() {
        if sides[u.index()] == Side::First {
            first += piece.gain(u);
        }
    }
    let last = Gain {
        reward: piece.place.total.reward - first.reward,
        cost: piece.place.total.cost - first.cost,
    };
    let steep = Place {
        base: piece.place.base,
        total: first,
        steepest: piece.place.steepest,
        flattest: piece.place.total,
    };
    let flat = Place {
        base: piece.place.base + first,
        total: last,
        steepest: piece.place.total,
        flattest: piece.place.flattest,
    };
    Outcome::Split(Box::new([
        any_cut_out(piece, sides, Side::First, steep, merges),
        any_cut_out(piece, sides, Side::Last, flat, merges),
    ]))
}

fn any_cut_out<N: Amount>(
    piece: &Piece<N>,
    sides: &[Side],
    side: Side,
    place: Place,
    merges: &mut Merges,
) -> AnyPiece {
    // A piece that a cold start solved will be solved so again, unless merging stirs it up.
    let may_merge = piece.is_routed;
    if fits::<i64>(place.total) {
        AnyPiece::Narrow(cut_out(piece, sides, side, place, may_merge, merges))
    } else {
        AnyPiece::Wide(cut_out(piece, sides, side, place, may_merge, merges))
    }
}

/// The piece as one link: an edge of infinite or zero slope, or a stretch with a bound.
fn whole<N: Amount>(piece: Piece<N>, bound: Option<Vec<Gain>>) -> Stretch {
    Stretch {
        place: match bound {
            None => piece.place.as_edge(),
            Some(_) => piece.place,
        },
        links: vec![Link {
            gain: piece.place.total,
            end: piece.len(),
        }],
        members: piece.id,
        bound,
    }
}

/// A piece whose balances are all zero, in its finest links.
fn edge<N: Amount>(piece: Piece<N>) -> Stretch {
    let has_flow = |_, slot: usize| piece.network.slots[slot].flow > N::ZERO;
    // Residual arcs lead to every need, and back where there is flow: a component comes after all that it needs.
    let parts = components(&piece.network, |_| true, has_flow);
    let mut gains = vec![Gain::ZERO; parts.count];
    let mut sizes = vec![0usize; parts.count];
    // None is left out.
    let members = || parts.of.iter().flatten().zip(piece.network.ids());
    for (part, u) in members() {
        gains[part.index()] += piece.gain(u);
        sizes[part.index()] += 1;
    }
    let mut end = 0;
    let mut next = Vec::with_capacity(parts.count);
    let mut links: Vec<Link> = Vec::with_capacity(parts.count);
    for (&gain, &size) in gains.iter().zip(&sizes) {
        next.push(end);
        end += size;
        match links.last_mut() {
            // What neither costs nor earns joins its neighbour.
            Some(last) if gain == Gain::ZERO || last.gain == Gain::ZERO => {
                last.gain += gain;
                last.end = end;
            }
            _ => links.push(Link { gain, end }),
        }
    }
    let mut sorted = vec![GraphNodeId::default(); piece.len()];
    for (part, u) in members() {
        let place = &mut next[part.index()];
        sorted[*place] = piece.id[u.index()];
        *place += 1;
    }
    Stretch {
        place: piece.place.as_edge(),
        links,
        members: sorted,
        bound: None,
    }
}
