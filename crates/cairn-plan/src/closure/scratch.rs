//! Buffers that the flow algorithms share from piece to piece. Holds no results but the sides.

use super::ids::{PieceNodeId, SlotId};
use super::sides::Side;
use super::trees::Kin;

/// Working space for one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// By node: the side of the cut, set by a finished algorithm.
    pub(crate) sides: Vec<Side>,
    /// Nodes in the order in which a search met them.
    pub(crate) queue: Vec<PieceNodeId>,
    /// Nodes still in play.
    pub(crate) live: Vec<PieceNodeId>,
    /// By label: the first active root with it.
    pub(crate) heads: Vec<Option<PieceNodeId>>,
    /// By label: how many nodes have it.
    pub(crate) counts: Vec<u32>,
    /// By node: where it stands in its tree.
    pub(crate) kin: Vec<Kin>,
    /// Slots of a path.
    pub(crate) path: Vec<SlotId>,
}
