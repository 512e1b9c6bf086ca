//! Canonical names of bipartite trees: equal for equal shapes. Knows no profiles.

use crate::Bipartite;
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
        let graph = Graph { block };
        let (order, above) = graph.breadth_first(graph.centre());
        let mut name = vec![Name(0); graph.count()];
        let mut below: Vec<Vec<(Name, usize)>> = vec![Vec::new(); graph.count()];
        // Leaves first: what hangs from a node has its name before the node gets one.
        for &node in order.iter().rev() {
            below[node].sort_unstable();
            let key = below[node].iter().map(|&(n, _)| n).collect();
            let fresh = Name(self.known.len() as u32);
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
                sources.push(node as u32);
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

/// Sources first, then sinks, as one undirected graph.
struct Graph<'a> {
    block: &'a Bipartite,
}

impl Graph<'_> {
    fn count(&self) -> usize {
        self.block.sources() + self.block.sinks()
    }

    fn is_sink(&self, node: usize) -> bool {
        node >= self.block.sources()
    }

    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let sources = self.block.sources();
        let (row, offset) = if node < sources {
            (self.block.children(node as u32), sources)
        } else {
            (self.block.parents((node - sources) as u32), 0)
        };
        row.iter().map(move |&n| n as usize + offset)
    }

    /// All nodes by distance from `root`, and the neighbour on the way to it.
    fn breadth_first(&self, root: usize) -> (Vec<usize>, Vec<usize>) {
        let mut above = vec![usize::MAX; self.count()];
        above[root] = root;
        let mut order = vec![root];
        let mut next = 0;
        while next < order.len() {
            let node = order[next];
            next += 1;
            for other in self.neighbours(node) {
                if above[other] == usize::MAX {
                    above[other] = node;
                    order.push(other);
                }
            }
        }
        (order, above)
    }

    /// The middle of a longest path.
    fn centre(&self) -> usize {
        let last = |root| {
            let (order, above) = self.breadth_first(root);
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
        if self.is_sink(a) { b } else { a }
    }
}
