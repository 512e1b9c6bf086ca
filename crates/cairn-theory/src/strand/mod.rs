//! Strands: caterpillar-shaped blocks T\[δ\], recognised and described. The order of their sources is in `order`.
//! Knows nothing of blocks of other shapes or of the dag around a block.
//!
//! A *caterpillar* is a tree whose nodes of degree at least 2 form a path, the *backbone*. Drawn in the plane, its
//! sources stand in a row, and the parents of every sink with several parents are neighbours in that row, two
//! consecutive such sinks sharing exactly one source. So a strand is told by two numbers a source: how many
//! children it has alone, and whether it is the rightmost parent of a shared sink.
//!
//! Reference: \[CMR07\] §3. Time and space of everything here: linear.

mod extensions;
mod maximal;
mod order;

pub use order::schedule_sum;

use crate::Bipartite;
use crate::undirected::Undirected;
use cairn_kernel::{narrow, wide};

/// A caterpillar-shaped bipartite dag, its sources in planar order.
///
/// ```
/// use cairn_theory::{Bipartite, strand::{Strand, StrandKind}};
/// // Two sources with a private child each and one shared child, in a confusing numbering.
/// let block = Bipartite::from_arcs(2, 3, vec![(0, 2), (0, 1), (1, 1), (1, 0)]);
/// let strand = Strand::recognise(&block).unwrap();
/// assert_eq!(strand.degrees(), [2, 2, 2]);
/// assert_eq!(strand.kind(), StrandKind::W);
/// assert_eq!(block.profile(&strand.schedule()), [0, 1, 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strand {
    /// The sources from left to right, in the block's numbering.
    sources: Vec<u32>,
    /// For each position, how many children that source has alone.
    private: Vec<u32>,
    /// For each position, whether that source is the rightmost parent of a shared sink.
    closes: Vec<bool>,
}

/// Which of the papers' names fits a strand best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StrandKind {
    /// W\[d1..dk\] = T\[d1,2,d2,2,..,dk\]: every shared sink has two parents, both ends are sources of degree ≥ 2.
    W,
    /// M\[d1..dk\] = T\[1,d1,2,d2,..,2,dk\]: the dual of a W-strand.
    M,
    /// Any other; a single arc, T\[1\], too.
    T,
}

/// Why a sequence of degrees is no strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrandError {
    /// The sequence is empty.
    #[error("a strand has at least one degree")]
    Empty,
    /// A degree is too small: the first must be at least 1, all others at least 2.
    #[error(
        "degree {degree} at place {place} (from 0) is too small: the first is ≥ 1, the others ≥ 2"
    )]
    TooSmall {
        /// Its index in the sequence.
        place: usize,
        /// The degree found.
        degree: u32,
    },
    /// More sources or sinks than 32-bit ids can count.
    #[error("the strand has more sources or sinks than 32-bit ids can count")]
    TooLarge,
}

impl Strand {
    /// T\[δ\]: `degrees[0]`, `degrees[2]`, … are the outdegrees of the backbone sources, `degrees[1]`, … the
    /// indegrees of the backbone sinks, from left to right. Sources are numbered from left to right.
    ///
    /// ```
    /// use cairn_theory::strand::Strand;
    /// let m = Strand::from_degrees(&[1, 3]).unwrap(); // one sink with three parents
    /// assert_eq!(m.to_bipartite().profile(&m.schedule()), [0, 0, 0, 1]);
    /// ```
    ///
    /// # Errors
    /// [`StrandError`] if the sequence is empty, a degree too small, or the strand too large.
    pub fn from_degrees(degrees: &[u32]) -> Result<Strand, StrandError> {
        check_degrees(degrees)?;
        let (mut private, mut closes) = (Vec::new(), Vec::new());
        let last = degrees.len() - 1;
        for (place, &degree) in degrees.iter().enumerate() {
            if place % 2 == 0 {
                let shared = u32::from(place > 0) + u32::from(place < last);
                private.push(degree - shared);
                closes.push(place > 0);
            } else {
                // The parents of this sink that are no backbone sources.
                let alone = wide(degree) - 1 - usize::from(place < last);
                private.resize(private.len() + alone, 0);
                closes.resize(closes.len() + alone, false);
            }
        }
        if last % 2 == 1 {
            *closes.last_mut().expect("a sink has at least two parents") = true;
        }
        let sources = (0..narrow(private.len())).collect();
        Ok(Strand {
            sources,
            private,
            closes,
        })
    }

    /// The strand a block is, whatever its numbering; `None` if it is no caterpillar, or not connected.
    ///
    /// A strand can be read from either end. This picks the reading whose degree sequence is lexicographically
    /// larger, so that equal shapes give equal [`degrees`](Strand::degrees).
    pub fn recognise(block: &Bipartite) -> Option<Strand> {
        let graph = Sides(Undirected(block));
        let ends = graph.backbone_ends()?;
        let readings = ends.map(|end| graph.read_from(end));
        let [Some(first), Some(second)] = readings else {
            return None;
        };
        // Both readings of a palindrome are equal: then the first will do.
        let larger = if second.degrees() > first.degrees() {
            second
        } else {
            first
        };
        Some(larger)
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The sources from left to right, in the block's numbering.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The sequence δ of T\[δ\].
    pub fn degrees(&self) -> Vec<u32> {
        let last = self.sources.len() - 1;
        // The first degree may be 1, for a strand that begins with a sink; at the other end it is counted by its sink.
        let mut degrees = vec![self.private[0] + u32::from(last > 0)];
        let mut left = 0;
        for (place, _) in self.closes.iter().enumerate().filter(|(_, c)| **c) {
            degrees.push(narrow(place - left + 1));
            left = place;
            let degree = self.private[place] + 1 + u32::from(place < last);
            if degree > 1 {
                degrees.push(degree);
            }
        }
        degrees
    }

    /// Whether this is a W-strand, an M-strand or neither.
    pub fn kind(&self) -> StrandKind {
        let degrees = self.degrees();
        let sources = || degrees.iter().step_by(2);
        let mut sinks = degrees.iter().skip(1).step_by(2);
        let odd = degrees.len() % 2 == 1;
        if odd && degrees[0] >= 2 && sinks.all(|&d| d == 2) {
            StrandKind::W
        } else if !odd && degrees[0] == 1 && sources().skip(1).all(|&d| d == 2) {
            StrandKind::M
        } else {
            StrandKind::T
        }
    }

    /// The block itself: sources in the strand's numbering, sinks numbered from left to right.
    pub fn to_bipartite(&self) -> Bipartite {
        let mut arcs = Vec::new();
        let mut sink = 0;
        let mut left = 0;
        for place in 0..self.sources.len() {
            if self.closes[place] {
                arcs.extend(self.sources[left..=place].iter().map(|&u| (u, sink)));
                sink += 1;
                left = place;
            }
            for _ in 0..self.private[place] {
                arcs.push((self.sources[place], sink));
                sink += 1;
            }
        }
        Bipartite::from_arcs(self.sources.len(), wide(sink), arcs)
    }

    /// An IC-optimal order of the sources, in the block's numbering: [`schedule_sum`] of this strand alone.
    pub fn schedule(&self) -> Vec<u32> {
        schedule_sum(std::slice::from_ref(self))
            .into_iter()
            .map(|(_, source)| source)
            .collect()
    }
}

fn check_degrees(degrees: &[u32]) -> Result<(), StrandError> {
    if degrees.is_empty() {
        return Err(StrandError::Empty);
    }
    for (place, &degree) in degrees.iter().enumerate() {
        if degree < 1 + u32::from(place > 0) {
            return Err(StrandError::TooSmall { place, degree });
        }
    }
    // Each degree adds at most itself to one of the two sides.
    let most = u64::from(u32::MAX) - 1;
    let total = |first: usize| -> u64 {
        (degrees.iter().skip(first).step_by(2))
            .map(|&d| u64::from(d))
            .sum()
    };
    if total(0) > most || total(1) > most {
        return Err(StrandError::TooLarge);
    }
    Ok(())
}

/// The block, of whose nodes those with at least two neighbours make the backbone.
struct Sides<'a>(Undirected<'a>);

impl Sides<'_> {
    fn degree(&self, node: usize) -> usize {
        self.0.neighbours(node).len()
    }

    fn backbone_neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.0.neighbours(node).filter(|&n| self.degree(n) >= 2)
    }

    /// The two ends of the backbone (equal if it is one node; for a single arc, its source). `None` if the nodes
    /// of degree at least 2 have no two such ends.
    fn backbone_ends(&self) -> Option<[usize; 2]> {
        let mut ends = Vec::new();
        let mut nodes = 0;
        for node in (0..self.0.count()).filter(|&n| self.degree(n) >= 2) {
            nodes += 1;
            // The third one tells that it is no path; a sink of a million parents need not be counted.
            let neighbours = self.backbone_neighbours(node).take(3).count();
            match neighbours {
                // A node of its own; were there another of degree 2, the block would not be connected.
                0 => return (ends.is_empty()).then_some([node; 2]),
                1 => ends.push(node),
                2 => {}
                _ => return None,
            }
        }
        match ends[..] {
            [a, b] => Some([a, b]),
            [] if nodes == 0 && self.0.0.arc_count() > 0 => Some([0; 2]),
            _ => None,
        }
    }

    /// Walks the backbone from `end`; `None` unless every node of the block is met.
    fn read_from(&self, end: usize) -> Option<Strand> {
        let mut strand = Strand {
            sources: Vec::new(),
            private: Vec::new(),
            closes: Vec::new(),
        };
        let mut sinks = 0;
        let mut previous = None;
        let mut here = Some(end);
        // Comes to an end: every backbone node has at most two neighbours there, and the walk begins where there is one.
        while let Some(node) = here {
            let next = (self.backbone_neighbours(node)).find(|&n| Some(n) != previous);
            let leaves = self.0.neighbours(node).filter(|&n| self.degree(n) == 1);
            if self.0.is_sink(node) {
                sinks += 1;
                // Its leaves stand between its backbone parents: the right one of these closes it, or else the last leaf.
                for leaf in leaves {
                    strand.sources.push(narrow(leaf));
                    strand.private.push(0);
                    strand.closes.push(false);
                }
                if next.is_none() {
                    *strand.closes.last_mut()? = true;
                }
            } else {
                let private = leaves.count();
                sinks += private;
                strand.sources.push(narrow(node));
                strand.private.push(narrow(private));
                strand.closes.push(previous.is_some());
            }
            previous = Some(node);
            here = next;
        }
        let Undirected(block) = self.0;
        let whole = strand.sources.len() == block.sources() && sinks == block.sinks();
        whole.then_some(strand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_papers() {
        let kind = |d: &[u32]| Strand::from_degrees(d).unwrap().kind();
        assert_eq!(kind(&[4]), StrandKind::W);
        assert_eq!(kind(&[4, 2, 2, 2, 3]), StrandKind::W);
        assert_eq!(kind(&[1, 4]), StrandKind::M);
        assert_eq!(kind(&[1, 4, 2, 3]), StrandKind::M);
        assert_eq!(kind(&[1]), StrandKind::T);
        assert_eq!(kind(&[2, 2]), StrandKind::T);
        assert_eq!(kind(&[1, 4, 4, 3]), StrandKind::T);
    }

    #[test]
    fn wrong_degrees_are_named() {
        assert_eq!(Strand::from_degrees(&[]), Err(StrandError::Empty));
        let small = |place, degree| Err(StrandError::TooSmall { place, degree });
        assert_eq!(Strand::from_degrees(&[0]), small(0, 0));
        assert_eq!(Strand::from_degrees(&[1, 3, 1]), small(2, 1));
        assert_eq!(
            Strand::from_degrees(&[u32::MAX, 2, 2]),
            Err(StrandError::TooLarge)
        );
    }

    #[test]
    fn a_single_arc_is_a_strand() {
        let arc = Strand::from_degrees(&[1]).unwrap();
        assert_eq!(Strand::recognise(&arc.to_bipartite()), Some(arc));
    }

    #[test]
    fn what_is_no_strand() {
        let no = |sources, sinks, arcs: &[(u32, u32)]| {
            let block = Bipartite::from_arcs(sources, sinks, arcs.to_vec());
            assert_eq!(Strand::recognise(&block), None, "{arcs:?}");
        };
        no(0, 0, &[]);
        no(1, 0, &[]);
        no(0, 1, &[]);
        no(2, 2, &[(0, 0), (1, 1)]); // two arcs
        no(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)]); // a cycle
        no(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]); // a cycle beside an arc
        no(2, 4, &[(0, 0), (0, 1), (1, 2), (1, 3)]); // two W-dags
        no(2, 3, &[(0, 0), (0, 1), (1, 1)]); // a sink without parents
        // A spider with three legs of length two beyond its heart.
        no(4, 3, &[(0, 0), (0, 1), (0, 2), (1, 0), (2, 1), (3, 2)]);
    }
}
