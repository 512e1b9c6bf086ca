//! Names the kind of a block, whatever its numbering. Knows one block at a time, and nothing of its worth.

use crate::Bipartite;
use crate::strand::{Strand, StrandKind};
use cairn_kernel::narrow;
use std::fmt;

/// What a block is. Each block has exactly one kind: the first that fits, in the order below.
///
/// So a single arc is N_1, a lone source W_{1,d}, a lone sink M_{1,d}, and the cycle of two C_2, though it is also
/// the clique Q_2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// W_{s,d}: a row of s sources with d children each, neighbours sharing one.
    W {
        /// s.
        sources: u32,
        /// d, at least 2.
        degree: u32,
    },
    /// M_{s,d}: a row of s sinks with d parents each, neighbours sharing one. The dual of W.
    M {
        /// s.
        sinks: u32,
        /// d, at least 2.
        degree: u32,
    },
    /// N_s: source i feeds the sinks i and i+1, the last source only its own.
    N {
        /// s.
        sources: u32,
    },
    /// C_s: source i feeds the sinks i and i+1, modulo s ≥ 2.
    C {
        /// s.
        sources: u32,
    },
    /// Q_s, the clique: every one of s ≥ 3 sources feeds every one of s sinks.
    Q {
        /// s.
        sources: u32,
    },
    /// K_{s,k}: every one of s ≥ 2 sources feeds every one of k ≥ 2 sinks, s ≠ k.
    K {
        /// s.
        sources: u32,
        /// k.
        sinks: u32,
    },
    /// A caterpillar T\[δ\] that is none of the above (\[CMR07\], §3).
    Strand {
        /// Whether it is a W-strand, an M-strand or neither.
        kind: StrandKind,
        /// δ: outdegrees of backbone sources and indegrees of backbone sinks in turn.
        degrees: Vec<u32>,
    },
    /// Another bipartite tree.
    Tree,
    /// Every source has at least two children of its own, and not more others (\[MR05\], §2.1.2).
    Expansive,
    /// Anything else.
    Other,
}

impl Kind {
    /// Whether a block of this kind is a strand: W, M, N or another caterpillar. Every sum of strands admits an
    /// IC-optimal schedule (\[CMR07\], Theorem 4.1).
    pub(crate) fn is_strand(&self) -> bool {
        matches!(
            self,
            Kind::W { .. } | Kind::M { .. } | Kind::N { .. } | Kind::Strand { .. }
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::W { sources, degree } => write!(f, "W({sources},{degree})"),
            Kind::M { sinks, degree } => write!(f, "M({sinks},{degree})"),
            Kind::N { sources } => write!(f, "N({sources})"),
            Kind::C { sources } => write!(f, "C({sources})"),
            Kind::Q { sources } => write!(f, "Q({sources})"),
            Kind::K { sources, sinks } => write!(f, "K({sources},{sinks})"),
            Kind::Strand { degrees, .. } => {
                let degrees: Vec<String> = degrees.iter().map(u32::to_string).collect();
                write!(f, "T[{}]", degrees.join(","))
            }
            Kind::Tree => f.write_str("tree"),
            Kind::Expansive => f.write_str("expansive"),
            Kind::Other => f.write_str("other"),
        }
    }
}

/// The kind of a block, which is connected and has an arc; with the strand, if that had to be found for it. Time and space
/// linear.
pub(crate) fn recognise_block(block: &Bipartite) -> (Kind, Option<Strand>) {
    if let Some(kind) = by_degrees(block) {
        return (kind, None);
    }
    if block.has_tree_counts() {
        return match Strand::recognise(block) {
            Some(strand) => {
                let (kind, degrees) = (strand.kind(), strand.degrees());
                (Kind::Strand { kind, degrees }, Some(strand))
            }
            None => (Kind::Tree, None),
        };
    }
    let expansive = is_expansive(block);
    (
        if expansive {
            Kind::Expansive
        } else {
            Kind::Other
        },
        None,
    )
}

/// The kind of a block of the catalogue: degrees and counts tell it, the block being connected.
fn by_degrees(block: &Bipartite) -> Option<Kind> {
    let (sources, sinks) = (narrow(block.sources()), narrow(block.sinks()));
    match (sources, sinks) {
        (1, 1) => return Some(Kind::N { sources }),
        (1, degree) => return Some(Kind::W { sources, degree }),
        (degree, 1) => return Some(Kind::M { sinks, degree }),
        _ => {}
    }
    let out = Degrees::of((0..sources).map(|u| block.children(u).len()));
    let into = Degrees::of((0..sinks).map(|v| block.parents(v).len()));
    // Before Q: the cycle of two is the clique of two, and named C.
    if out.all(2) && into.all(2) {
        return Some(Kind::C { sources });
    }
    if out.all(block.sinks()) {
        return Some(match sources == sinks {
            true => Kind::Q { sources },
            false => Kind::K { sources, sinks },
        });
    }
    if !block.has_tree_counts() {
        return None;
    }
    // A tree without branches is a path; with as many sources as sinks its ends are one of each.
    if out.most == 2 && into.most == 2 && sources == sinks {
        return Some(Kind::N { sources });
    }
    // In a tree whose sinks have at most two parents, sources that share at most two sinks form a row.
    let shared_sinks = |u: u32| count(block.children(u), |v| block.parents(v).len() > 1);
    if into.most == 2 && out.all(out.most) && (0..sources).all(|u| shared_sinks(u) <= 2) {
        return Some(Kind::W {
            sources,
            degree: narrow(out.most),
        });
    }
    let shared_sources = |v: u32| count(block.parents(v), |u| block.children(u).len() > 1);
    if out.most == 2 && into.all(into.most) && (0..sinks).all(|v| shared_sources(v) <= 2) {
        return Some(Kind::M {
            sinks,
            degree: narrow(into.most),
        });
    }
    None
}

/// The extreme degrees of one side.
#[derive(Clone, Copy)]
struct Degrees {
    least: usize,
    most: usize,
}

impl Degrees {
    fn of(degrees: impl Iterator<Item = usize>) -> Degrees {
        let none = Degrees {
            least: usize::MAX,
            most: 0,
        };
        degrees.fold(none, |seen, d| Degrees {
            least: seen.least.min(d),
            most: seen.most.max(d),
        })
    }

    fn all(self, degree: usize) -> bool {
        self.least == degree && self.most == degree
    }
}

fn count(row: &[u32], is: impl Fn(u32) -> bool) -> usize {
    row.iter().filter(|&&x| is(x)).count()
}

fn is_expansive(block: &Bipartite) -> bool {
    (0..narrow(block.sources())).all(|u| {
        let children = block.children(u);
        let private = count(children, |v| block.parents(v).len() == 1);
        private >= 2 && children.len() - private <= private
    })
}

/// [`recognise_block`] of any bipartite dag: `None` where it is no block, being empty or not connected.
#[cfg(test)]
pub(crate) fn recognise(block: &Bipartite) -> Option<Kind> {
    let is_block = block.arc_count() > 0 && block.is_connected();
    is_block.then(|| recognise_block(block).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_bipartite, build, shuffled, small_catalogue};
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// The name the catalogue gives a block that has several.
    fn canonical(kind: &Kind) -> Kind {
        match *kind {
            Kind::Q { sources: 2 } => Kind::C { sources: 2 },
            _ => kind.clone(),
        }
    }

    #[test]
    fn the_catalogue_is_recognised_in_any_numbering() {
        for kind in small_catalogue(6) {
            for seed in 0..6 {
                let block = shuffled(&build(&kind), seed);
                assert_eq!(recognise(&block), Some(canonical(&kind)), "{:?}", block);
            }
        }
    }

    /// The smallest numbering of a block: equal iff two blocks are isomorphic. For at most 4 sources and sinks.
    fn smallest_numbering(block: &Bipartite) -> (usize, usize, Vec<u32>) {
        fn permutations(n: usize) -> Vec<Vec<u32>> {
            if n == 0 {
                return vec![vec![]];
            }
            let shorter = permutations(n - 1);
            let insert = |p: &Vec<u32>, at: usize| {
                let mut p = p.clone();
                p.insert(at, n as u32 - 1);
                p
            };
            shorter
                .iter()
                .flat_map(|p| (0..n).map(move |at| insert(p, at)))
                .collect()
        }
        let rows = |numbering: &Vec<u32>| {
            let mask = |v: u32| {
                block
                    .parents(v)
                    .iter()
                    .map(|&u| 1 << numbering[u as usize])
                    .sum()
            };
            let mut rows: Vec<u32> = (0..block.sinks() as u32).map(mask).collect();
            rows.sort_unstable();
            rows
        };
        let best = permutations(block.sources()).iter().map(rows).min();
        (
            block.sources(),
            block.sinks(),
            best.expect("there is a permutation"),
        )
    }

    /// A kind of the catalogue means exactly one block up to numbering, and is found iff the block is that one.
    #[test]
    fn kinds_with_parameters_are_exact() {
        let mut named = HashMap::new();
        for kind in small_catalogue(9) {
            let sides = |b: &Bipartite| b.sources() <= 4 && b.sinks() <= 4;
            if kind_sources(&kind) <= 4 && sides(&build(&kind)) {
                named.insert(smallest_numbering(&build(&kind)), canonical(&kind));
            }
        }
        let mut found = 0;
        for (s, k) in (1..=4usize).flat_map(|s| (1..=4usize).map(move |k| (s, k))) {
            for set in 0..1u32 << (s * k) {
                let arcs = (0..s * k)
                    .filter(|i| set >> i & 1 == 1)
                    .map(|i| ((i / k) as u32, (i % k) as u32));
                let block = Bipartite::from_arcs(s, k, arcs.collect());
                let Some(kind) = recognise(&block) else {
                    continue;
                };
                let expected = named.get(&smallest_numbering(&block));
                match kind {
                    Kind::Strand { .. } | Kind::Tree | Kind::Expansive | Kind::Other => {
                        assert_eq!(expected, None)
                    }
                    _ => {
                        assert_eq!(expected, Some(&kind), "{block:?}");
                        found += 1;
                    }
                }
            }
        }
        assert!(found > 800, "only {found} blocks of the catalogue");
    }

    fn kind_sources(kind: &Kind) -> u32 {
        crate::catalogue::sources(kind).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn renumbering_changes_nothing(block in any_bipartite(7, 7), seed in any::<u64>()) {
            prop_assert_eq!(recognise(&block), recognise(&shuffled(&block, seed)));
        }

        /// Trees, expansive blocks and the rest, by their definitions.
        #[test]
        fn structure_by_definition(block in any_bipartite(5, 7)) {
            let Some(kind) = recognise(&block) else { return Ok(()) };
            let tree = block.arc_count() + 1 == block.sources() + block.sinks();
            let whole = block.arc_count() == block.sources() * block.sinks();
            match kind {
                Kind::W { .. } | Kind::M { .. } | Kind::N { .. } | Kind::Strand { .. } | Kind::Tree => prop_assert!(tree),
                Kind::C { sources: 2 } | Kind::Q { .. } | Kind::K { .. } => prop_assert!(whole),
                Kind::C { .. } => prop_assert_eq!(block.arc_count(), 2 * block.sources()),
                Kind::Expansive => prop_assert!(!tree && is_expansive(&block)),
                Kind::Other => prop_assert!(!tree && !whole && !is_expansive(&block)),
            }
        }
    }

    #[test]
    fn names_for_people() {
        let strand = Kind::Strand {
            kind: StrandKind::W,
            degrees: vec![4, 2, 2],
        };
        assert_eq!(strand.to_string(), "T[4,2,2]");
        assert_eq!(
            Kind::M {
                sinks: 2,
                degree: 3
            }
            .to_string(),
            "M(2,3)"
        );
        // Two sources with two children of their own each and two shared ones.
        let arcs = vec![
            (0, 0),
            (0, 1),
            (0, 2),
            (0, 3),
            (1, 2),
            (1, 3),
            (1, 4),
            (1, 5),
        ];
        assert_eq!(
            recognise(&Bipartite::from_arcs(2, 6, arcs)),
            Some(Kind::Expansive)
        );
        assert_eq!(recognise(&Bipartite::empty()), None);
    }
}
