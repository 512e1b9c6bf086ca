//! Numbers of the closure layer that must not be mixed up, each counted from 0. Knows only numbers.

cairn_kernel::ids! {
    /// A node of the closure graph: a task's out copy or in copy, or both in one.
    pub(crate) GraphNodeId,
    /// A node of a piece, which stands for one or more of the closure graph, and of its flow network.
    pub(crate) PieceNodeId,
    /// One end of an arc of a network.
    pub(crate) SlotId,
    /// A strong component of a network; a class, where its nodes become one.
    pub(crate) StrongId,
    /// A link of the chain, counted through all stretches: what leads from a vertex of the hull to the next, link `i` from
    /// vertex `i`. The hull calls it a piece.
    pub(crate) LinkId,
}
