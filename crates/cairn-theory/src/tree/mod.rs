//! Bipartite trees: the exact optimal profile, and an IC-optimal order of the sources or the proof that none exists.
//! Knows no blocks with cycles; those go to exact search.
//!
//! Not every bipartite tree has an IC-optimal order: the optimal sets of two sizes need not be nested.

mod decide;
mod name;
mod part;
mod program;

pub use crate::budgets::tree::MOST_SOURCES;
use crate::{Bipartite, BlockAnswer, BlockOrder};
use cairn_kernel::{Stopped, Work};
use decide::Solver;

/// The exact profile of a bipartite tree, and an IC-optimal order or the proof that there is none. `None` if the
/// block is no tree (connected, without cycles) or has more than [`MOST_SOURCES`] sources.
///
/// The profile is the tree program of \[MR05\] in O(s²). The order is searched for by these exact rules:
///
/// 1. A strand has one ([`crate::strand`]).
/// 2. At a vertex of the upper concave hull of the profile the optimal set is unique, for the maximisers of
///    eligible(X) − price·|X| form a lattice. Every IC-optimal order passes through these sets; so the tree falls
///    apart into independent intervals, which must attain the profile piece by piece.
/// 3. A sum has an IC-optimal order iff every component has one and some monotone path of numbers executed in each
///    attains the (max,+) convolution at every step.
/// 4. An eager order, always to the nearest reward, is tried: that it attains the profile is checked.
/// 5. Otherwise, let k be the first step with an eligible sink. After k steps an IC-optimal order has executed all
///    parents of a sink with fewest parents (of those with one parent, of one with most siblings alike): each such
///    set is tried, and the remainder decided by the same rules. Equal shapes are decided once.
///
/// Small and hull-reducible trees are decided; large regular ones may end as [`BlockOrder::Unknown`], once the work on an order
/// has taken its steps (entries of tables). The answer depends on nothing else, unless it is time to stop: then there may be none.
///
/// ```
/// use cairn_theory::{Bipartite, BlockOrder, Work, tree};
/// // A source with three children, each of which has another parent.
/// let arcs = vec![(0, 0), (0, 1), (0, 2), (1, 0), (2, 1), (3, 2)];
/// let block = Bipartite::from_arcs(4, 3, arcs);
/// let answer = tree::solve(&block, &mut Work::unlimited()).unwrap();
/// assert_eq!(answer.profile, [0, 0, 1, 2, 3]);
/// assert!(matches!(answer.order, BlockOrder::Optimal(order) if order.len() == 4));
/// ```
pub fn solve(block: &Bipartite, work: &mut Work<'_>) -> Option<BlockAnswer> {
    if !is_tree(block) || block.sources() > MOST_SOURCES {
        return None;
    }
    let profile = program::profile(block, work).ok()?;
    let order = match Solver::new(work).decide_tree(block, &profile) {
        Ok(found) => BlockOrder::from(found),
        Err(Stopped) => BlockOrder::Unknown,
    };
    Some(BlockAnswer { profile, order })
}

/// Whether the block is connected, without cycles, and has a source. Linear.
pub(crate) fn is_tree(block: &Bipartite) -> bool {
    block.sources() > 0 && block.has_tree_counts() && block.is_connected()
}
