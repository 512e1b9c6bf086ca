//! Finds the best closure of a piece at its own price: which flow algorithm, in which order. Knows one piece.

use super::amount::Amount;
use super::cold::{Attempt, attempt};
use super::piece::Piece;
use super::route::route;
use super::scratch::Scratch;
use crate::budgets::hull::TUNING;
use cairn_kernel::{Stopped, Work};

/// How much of what to try: it changes the time, never the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Blocking flows that a cold start gets. Regular dags mostly need one.
    pub(crate) cold_phases: usize,
    /// A cold start is given up once a phase leaves more than one part in so many of the surplus.
    pub(crate) cold_leaves: f64,
    /// Pieces with fewer nodes are not worth another thread.
    pub(crate) worth_a_thread: usize,
    /// Slots to look at for each live node, that the first round may take before the labels are made exact again. Each round
    /// gets more than the one before, so that in the end one comes to its own end.
    pub(crate) looks_a_node: usize,
    /// The fewer should move; but pulling costs less than pushing, until deficits are so many times more than surpluses.
    pub(crate) pull_below: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        TUNING
    }
}

/// Makes the flow of `piece` maximal and sets the sides: `First` is a closure of greatest value at the price of
/// the piece. Where all balances are zero there is none better than the chord, and the sides mean nothing.
///
/// A cold start first, which solves regular dags at once; where it fails, pseudoflow goes on from the flow that the
/// piece brought along, or from the cold start's if it brought none. A piece that is nearly as large as one where
/// the cold start failed does not try it.
///
/// Why a maximum flow tells: Picard, "Maximal closure of a graph" (1976). How it is found: Dinic (1970), then Hochbaum, "The
/// pseudoflow algorithm" (2008). Near-linear as measured; the bound of the latter is not claimed here, where labels are made exact
/// anew in every round. docs/deciding.md has an example with its numbers.
pub(crate) fn solve<N: Amount>(
    piece: &mut Piece<N>,
    scratch: &mut Scratch,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    // Half the size is another problem; a little smaller fails again.
    if (piece.cold_failure).is_none_or(|failed| piece.len() <= failed / 2) {
        // Only a flow that was dear is worth a copy; one of a cold start is found again as quickly.
        let kept = piece.is_routed.then(|| piece.flow());
        piece.is_routed = false;
        piece.reset_flow();
        if attempt(&mut piece.network, scratch, tuning, work)? == Attempt::Finished {
            return Ok(());
        }
        piece.cold_failure = Some(piece.len());
        if let Some(kept) = kept {
            piece.set_flow(&kept);
        }
    }
    piece.is_routed = true;
    route(&mut piece.network, scratch, tuning, work)
}
