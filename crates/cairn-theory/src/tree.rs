//! Bipartite trees: a slow stand-in with the agreed interface.

use crate::Bipartite;

/// What the tree program found.
pub struct TreeAnswer {
    /// The optimal profile.
    pub profile: Vec<u32>,
    /// An IC-optimal order, if one exists.
    pub order: Option<Vec<u32>>,
}

/// Decides a tree.
pub fn solve(block: &Bipartite) -> Option<TreeAnswer> {
    let (profile, order) = crate::search::all_sets(block);
    Some(TreeAnswer { profile, order })
}
