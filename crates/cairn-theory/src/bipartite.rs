//! Bipartite dags with their own dense numbering: what a block looks like when cut out. Knows no larger dag.

use cairn_kernel::{DisjointSets, Joins, Puzzle, Rows, narrow, wide};

/// A bipartite dag: arcs go from sources `0..sources` to sinks `0..sinks`, both numbered from 0.
///
/// Rows are sorted and free of duplicates. A source without children or a sink without parents may occur; a
/// *block* is connected and has neither.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bipartite {
    children: Rows,
    parents: Rows,
}

impl Bipartite {
    /// From arcs (source, sink). Duplicates are merged. O(arcs·log arcs).
    ///
    /// # Panics
    /// If an arc is out of range.
    pub fn from_arcs(sources: usize, sinks: usize, mut arcs: Vec<(u32, u32)>) -> Bipartite {
        arcs.sort_unstable();
        arcs.dedup();
        let mut block = Bipartite::empty();
        block.refill(sources, sinks, arcs.iter().copied());
        block
    }

    /// No source, no sink.
    pub(crate) fn empty() -> Bipartite {
        Bipartite {
            children: Rows::default(),
            parents: Rows::default(),
        }
    }

    /// Replaces everything by the given arcs, which come sorted and free of duplicates. Linear, and without an
    /// allocation once the rows have grown: what makes it cheap to look at a million tiny blocks in turn.
    pub(crate) fn refill(
        &mut self,
        sources: usize,
        sinks: usize,
        arcs: impl Iterator<Item = (u32, u32)> + Clone,
    ) {
        self.children.refill(sources, arcs.clone());
        self.parents.refill(sinks, arcs.map(|(u, v)| (v, u)));
    }

    /// Number of sources.
    #[inline]
    pub fn sources(&self) -> usize {
        self.children.len()
    }

    /// Number of sinks.
    #[inline]
    pub fn sinks(&self) -> usize {
        self.parents.len()
    }

    /// Number of arcs.
    pub fn arc_count(&self) -> usize {
        self.children.items().len()
    }

    /// The sinks that need source `u`, sorted.
    #[inline]
    pub fn children(&self, u: u32) -> &[u32] {
        self.children.row(wide(u))
    }

    /// The sources that sink `v` needs, sorted.
    #[inline]
    pub fn parents(&self, v: u32) -> &[u32] {
        self.parents.row(wide(v))
    }

    /// All arcs (source, sink), sorted.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..narrow(self.sources())).flat_map(|u| self.children(u).iter().map(move |&v| (u, v)))
    }

    /// As a puzzle without gates: sources to choose, sinks as prizes.
    pub(crate) fn joins(&self) -> Joins<'_, u32, u32> {
        Joins {
            needs: &self.parents,
            prizes: &self.children,
            gate: &[],
        }
    }

    /// The puzzle itself, equal sinks merged: what the tree program takes. Linear.
    pub(crate) fn puzzle(&self) -> Puzzle {
        let mut own = vec![0; self.sources()];
        let mut shared = Rows::default();
        for parents in self.parents.iter() {
            match parents {
                &[u] => own[wide(u)] += 1,
                parents => {
                    shared.push(parents.iter().copied());
                }
            }
        }
        Puzzle::new(own, &shared)
    }

    /// Whether there are as many arcs as in a tree: it is one, if it is connected.
    pub(crate) fn has_tree_counts(&self) -> bool {
        self.arc_count() + 1 == self.sources() + self.sinks()
    }

    /// Whether arcs join all sources and sinks, of which there are some. Linear.
    pub(crate) fn is_connected(&self) -> bool {
        // One numbering for both sides: sinks behind the sources.
        let (sources, nodes) = (narrow(self.sources()), self.sources() + self.sinks());
        let mut sets = DisjointSets::new(nodes);
        for (u, v) in self.arcs() {
            sets.join(u, sources + v);
        }
        nodes > 0 && (1..narrow(nodes)).all(|node| sets.find(node) == sets.find(0))
    }

    /// Every arc reversed: sinks become sources. \[CMR07\], §5.
    pub fn dual(&self) -> Bipartite {
        Bipartite {
            children: self.parents.clone(),
            parents: self.children.clone(),
        }
    }

    /// E(t) for t = 0..=sources under an order of the sources: how many sinks have all parents executed.
    /// Linear.
    ///
    /// # Panics
    /// If `order` is not a permutation of the sources.
    pub fn profile(&self, order: &[u32]) -> Vec<u32> {
        // Sinks without parents; a block has none, but parts of one may.
        let mut eligible = narrow(self.parents.lengths().filter(|&w| w == 0).count());
        let mut out = Vec::with_capacity(order.len() + 1);
        out.push(eligible);
        let is_order = self.joins().walk(order, |_, sink| match sink {
            Some(_) => eligible += 1,
            None => out.push(eligible),
        });
        assert!(
            is_order && order.len() == self.sources(),
            "an order names every source once"
        );
        out
    }
}

/// What is known of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAnswer {
    /// E(t) for t = 0..=sources: the most sinks that t executed sources can make eligible. Exact.
    pub profile: Vec<u32>,
    /// An order of the sources that attains the profile at every step.
    pub order: BlockOrder,
}

/// Whether a block has an IC-optimal order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// This one.
    Optimal(Vec<u32>),
    /// Proved: no order attains the profile at every step.
    NoneExists,
    /// Undecided within the work allowed.
    Unknown,
}

impl From<Option<Vec<u32>>> for BlockOrder {
    /// Of a search that came to its end.
    fn from(found: Option<Vec<u32>>) -> BlockOrder {
        found.map_or(BlockOrder::NoneExists, BlockOrder::Optimal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_w_block_by_hand() {
        // Two sources, three sinks, the middle one shared.
        let w = Bipartite::from_arcs(2, 3, vec![(0, 0), (0, 1), (1, 1), (1, 2), (0, 1)]);
        assert_eq!((w.sources(), w.sinks(), w.arc_count()), (2, 3, 4));
        assert_eq!(w.profile(&[1, 0]), [0, 1, 3]);
        let m = w.dual();
        assert_eq!(m.children(1), [0, 1]);
        assert_eq!(m.profile(&[0, 1, 2]), [0, 0, 1, 2]);
        assert_eq!(m.dual(), w);
    }
}
