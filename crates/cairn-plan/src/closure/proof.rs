//! A flow that proves the slope of one link of the chain. Knows one link, not what it stands for.

use super::amount::Amount;
use super::gain::Gain;
use super::ids::PieceNodeId;
use super::level::level;
use super::piece::{Piece, fits};
use super::scratch::Scratch;
use super::solve::{Tuning, solve};
use crate::budgets::hull::SWEEPS;
use cairn_kernel::Work;

/// The nodes of one link with needs among themselves, numbered so that needs come first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkGraph {
    pub(crate) reward: Vec<u64>,
    pub(crate) cost: Vec<u64>,
    /// (node, a node that it needs), sorted by the first.
    pub(crate) needs: Vec<(PieceNodeId, PieceNodeId)>,
}

/// Flow along the needs of a link, in units of 1/scale of a reward.
#[derive(Clone, Debug)]
pub(crate) struct LinkFlow {
    pub(crate) scale: u64,
    /// By need, in the order of [`LinkGraph::needs`]; never negative.
    pub(crate) amounts: Vec<i128>,
}

/// A flow under which every node bears its share of the link's reward, in proportion to its cost.
///
/// Such a flow exists if the link is one of a hull's edge, and it proves that no closure inside the link earns
/// more for its cost than the whole. For a link that is `unsettled`, or once the budget is spent, the flow is only
/// nearly level: it proves something weaker.
pub(crate) fn link_flow(
    graph: LinkGraph,
    unsettled: bool,
    scratch: &mut Scratch,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> LinkFlow {
    let total = Gain {
        reward: graph.reward.iter().sum(),
        cost: graph.cost.iter().sum(),
    };
    // Nothing to bear, or nobody to bear it: the empty flow is level.
    if total.is_degenerate() {
        return LinkFlow {
            scale: 1,
            amounts: vec![0; graph.needs.len()],
        };
    }
    if fits::<i64>(total) {
        solved::<i64>(graph, total, unsettled, scratch, tuning, work)
    } else {
        solved::<i128>(graph, total, unsettled, scratch, tuning, work)
    }
}

fn solved<N: Amount>(
    graph: LinkGraph,
    total: Gain,
    unsettled: bool,
    scratch: &mut Scratch,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> LinkFlow {
    // Alone, whatever it was cut from: the proof must not rest on how the link was found.
    let mut piece = Piece::<N>::new(graph.reward, graph.cost, graph.needs.into_iter(), total);
    let stopped = unsettled || solve(&mut piece, scratch, tuning, work).is_err();
    if stopped {
        // Whatever the flow is, it is valid; a few sweeps make it good, and the budget may not forbid the first.
        piece.reset_flow();
        let _ = level(&mut piece.network, &piece.cost, SWEEPS, work);
    }
    let network = &piece.network;
    let slots = network.ids().flat_map(|u| network.needs(u));
    LinkFlow {
        scale: total.reduced().cost,
        amounts: slots.map(|s| network.slots[s].flow.to_wide()).collect(),
    }
}
