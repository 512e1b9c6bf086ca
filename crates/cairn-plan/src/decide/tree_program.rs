//! Exact profiles of trees and near-trees: the kernel's tree program as a method. Knows nothing of orders.

use super::component::Component;
use super::knowledge::{Finding, Knowledge, Method};
use cairn_kernel::{Work, tree_program};

/// Exact profile when at most `most` vertices meet all cycles. O(2^cut · nodes²).
///
/// Executed nodes of the in-trees and out-trees, bipartite trees and near-trees that make up most real workflows.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeProgram {
    /// The most vertices to condition on.
    pub(super) most: usize,
}

impl Method for TreeProgram {
    fn name(&self) -> &'static str {
        "tree program"
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        Finding::exact(tree_program::profile_by_cutset(component, self.most, work))
    }
}
