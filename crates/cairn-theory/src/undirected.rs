//! A bipartite dag as an undirected graph. Knows neither kinds nor profiles.

use crate::Bipartite;
use cairn_kernel::{narrow, wide};

/// Its sources come first among the nodes, then its sinks.
#[derive(Clone, Copy)]
pub(crate) struct Undirected<'a>(pub(crate) &'a Bipartite);

impl<'a> Undirected<'a> {
    pub(crate) fn count(self) -> usize {
        self.0.sources() + self.0.sinks()
    }

    #[inline]
    pub(crate) fn is_sink(self, node: usize) -> bool {
        node >= self.0.sources()
    }

    #[inline]
    pub(crate) fn neighbours(self, node: usize) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let sources = self.0.sources();
        let (row, offset) = match node.checked_sub(sources) {
            None => (self.0.children(narrow(node)), sources),
            Some(sink) => (self.0.parents(narrow(sink)), 0),
        };
        row.iter().map(move |&n| wide(n) + offset)
    }

    /// Of a tree: all nodes by distance from `root`, and by node the neighbour on the way to it; the root's is itself.
    pub(crate) fn breadth_first(self, root: usize) -> (Vec<usize>, Vec<usize>) {
        let mut above = vec![root; self.count()];
        let mut order = vec![root];
        let mut next = 0;
        while next < order.len() {
            let node = order[next];
            next += 1;
            for other in self.neighbours(node) {
                // There is but one way: whatever is not above the node is met here for the first time.
                if other != above[node] {
                    above[other] = node;
                    order.push(other);
                }
            }
        }
        (order, above)
    }
}
