//! Canonical names of bipartite trees: equal for equal shapes. Knows no profiles.

use crate::Bipartite;
use crate::undirected::Undirected;
use cairn_kernel::narrow;
use std::collections::HashMap;

/// A shape. Names are given in the order in which shapes are met, so they mean something only within one [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Name(u32);

/// The names of rooted shapes: whether the root is a sink, and the names of what hangs from it, sorted
/// (Aho, Hopcroft, Ullman 1974).
#[derive(Default)]
pub(super) struct Names {
    known: HashMap<(bool, Vec<Name>), Name>,
}

/// The shape of a tree and its sources in an order that matches any other tree of that shape.
pub(super) struct Shape {
    pub(super) name: Name,
    pub(super) sources: Vec<u32>,
}

impl Names {
    /// Hangs the tree from its centre (of two, the source). O(n log n).
    pub(super) fn shape(&mut self, block: &Bipartite) -> Shape {
        let graph = Undirected(block);
        let (order, above) = graph.breadth_first(centre(&graph));
        let mut name = vec![Name(0); graph.count()];
        let mut below: Vec<Vec<(Name, usize)>> = vec![Vec::new(); graph.count()];
        // Leaves first: what hangs from a node has its name before the node gets one.
        for &node in order.iter().rev() {
            below[node].sort_unstable();
            let key = below[node].iter().map(|&(n, _)| n).collect();
            let fresh = Name(narrow(self.known.len()));
            let known = self.known.entry((graph.is_sink(node), key));
            name[node] = *known.or_insert(fresh);
            if above[node] != node {
                below[above[node]].push((name[node], node));
            }
        }
        let mut sources = Vec::with_capacity(block.sources());
        let mut stack = vec![order[0]];
        while let Some(node) = stack.pop() {
            if !graph.is_sink(node) {
                sources.push(narrow(node));
            }
            // Sorted by name, so trees of one shape list corresponding sources at the same place.
            stack.extend(below[node].iter().map(|&(_, n)| n));
        }
        Shape {
            name: name[order[0]],
            sources,
        }
    }
}

/// The middle of a longest path; of two the source.
fn centre(graph: &Undirected<'_>) -> usize {
    let last = |root| {
        let (order, above) = graph.breadth_first(root);
        (order[order.len() - 1], above)
    };
    let (end, _) = last(0);
    let (mut node, above) = last(end);
    let mut path = vec![node];
    while above[node] != node {
        node = above[node];
        path.push(node);
    }
    // With an even number of nodes on it the two middle ones are neighbours, one of each side.
    let (a, b) = (path[(path.len() - 1) / 2], path[path.len() / 2]);
    if graph.is_sink(a) { b } else { a }
}
