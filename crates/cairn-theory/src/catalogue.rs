//! The blocks with a closed form, W, M, N, C, Q and K: optimal profile and order. Knows no other block.

use crate::Bipartite;
use crate::recognise::Kind;
use cairn_kernel::narrow;

/// The optimal profile E(t), t = 0..=sources, of a kind that has a closed form (\[MRY06\], Theorem 1; ours for K).
///
/// | block | sources | E(t) |
/// |---|---|---|
/// | W_{s,d} | s | (d−1)t + \[t=s\] |
/// | M_{s,d} (s counts sinks) | s(d−1)+1 | 0 if t=0, else ⌊(t−1)/(d−1)⌋ |
/// | N_s | s | t |
/// | C_s | s | t − \[t≠0\] + \[t=s\] |
/// | Q_s | s | s·\[t=s\] |
/// | K_{s,k} | s | k·\[t=s\] |
///
/// `None` for the other kinds. Linear in the number of sources.
///
/// ```
/// use cairn_theory::{catalogue::profile, recognise::Kind};
/// assert_eq!(profile(&Kind::W { sources: 2, degree: 3 }).unwrap(), [0, 2, 5]);
/// ```
pub fn profile(kind: &Kind) -> Option<Vec<u32>> {
    let sources = sources(kind)?;
    let last = |t: u32| u32::from(t == sources);
    Some(
        (0..=sources)
            .map(|t| match *kind {
                Kind::W { degree, .. } => (degree - 1) * t + last(t),
                // The first sink takes d sources, each further one d − 1.
                Kind::M { degree, .. } => t.saturating_sub(1) / (degree - 1),
                Kind::N { .. } => t,
                Kind::C { .. } => t.saturating_sub(1) + last(t),
                Kind::Q { sources } => sources * last(t),
                Kind::K { sinks, .. } => sinks * last(t),
                Kind::Strand { .. } | Kind::Tree | Kind::Expansive | Kind::Other => {
                    unreachable!("has no closed form")
                }
            })
            .collect(),
    )
}

/// The number of sources, for a kind that has a closed form.
pub(crate) fn sources(kind: &Kind) -> Option<u32> {
    match *kind {
        Kind::W { sources, .. } | Kind::N { sources } | Kind::C { sources } => Some(sources),
        Kind::Q { sources } | Kind::K { sources, .. } => Some(sources),
        Kind::M { sinks, degree } => Some(sinks * (degree - 1) + 1),
        Kind::Strand { .. } | Kind::Tree | Kind::Expansive | Kind::Other => None,
    }
}

/// An IC-optimal order of the sources of a block of this kind, put into `order`; false if the kind has no closed
/// form. W, M, C: from one end to the other; N: from its anchor, the end with a child of its own; Q, K: any
/// (\[MRY06\], Theorem 1). Linear.
pub(crate) fn order(kind: &Kind, block: &Bipartite, order: &mut Vec<u32>) -> bool {
    order.clear();
    match *kind {
        Kind::Q { .. } | Kind::K { .. } | Kind::W { sources: 1, .. } | Kind::M { sinks: 1, .. } => {
            order.extend(0..narrow(block.sources()));
        }
        Kind::W { .. } | Kind::N { .. } => walk_sources(block, order),
        Kind::C { .. } => walk_cycle(block, order),
        Kind::M { .. } => walk_sinks(block, order),
        Kind::Strand { .. } | Kind::Tree | Kind::Expansive | Kind::Other => return false,
    }
    true
}

fn is_shared(block: &Bipartite, sink: u32) -> bool {
    block.parents(sink).len() == 2
}

/// From one end source to the other over the sinks that two sources share. The end begun at has a child of its own.
fn walk_sources(block: &Bipartite, order: &mut Vec<u32>) {
    let shared = |u: u32| {
        block
            .children(u)
            .iter()
            .filter(|&&v| is_shared(block, v))
            .count()
    };
    // An N ends on one side with a source whose only child is shared: begun there, the first step would gain nothing.
    let is_end = |&u: &u32| shared(u) <= 1 && shared(u) < block.children(u).len();
    let mut here = (0..narrow(block.sources())).find(is_end);
    // The sink that led here, which does not lead on.
    let mut over = None;
    while let Some(u) = here {
        order.push(u);
        let next = |&v: &u32| is_shared(block, v) && Some(v) != over;
        over = block.children(u).iter().copied().find(next);
        here = over.and_then(|v| other(block.parents(v), u));
    }
}

/// Around a cycle in which every sink has two parents and every source two children.
fn walk_cycle(block: &Bipartite, order: &mut Vec<u32>) {
    let (mut here, mut over) = (0, block.children(0)[0]);
    while order.len() < block.sources() {
        order.push(here);
        // Leave by the sink one did not come by.
        over = other(block.children(here), over).expect("every source has two children");
        here = other(block.parents(over), here).expect("every sink has two parents");
    }
}

/// From one end sink to the other over the sources that two sinks share; the sources of each sink in a row, the one
/// that leads on last.
fn walk_sinks(block: &Bipartite, order: &mut Vec<u32>) {
    let leads_on = |u: u32| block.children(u).len() == 2;
    // Any end will do: an M is the same from both.
    let is_end = |&v: &u32| block.parents(v).iter().filter(|&&u| leads_on(u)).count() <= 1;
    let mut here = (0..narrow(block.sinks())).find(is_end);
    let mut over = None;
    while let Some(v) = here {
        order.extend(block.parents(v).iter().copied().filter(|&u| !leads_on(u)));
        let next = |&u: &u32| leads_on(u) && Some(u) != over;
        over = block.parents(v).iter().copied().find(next);
        order.extend(over);
        here = over.and_then(|u| other(block.children(u), v));
    }
}

/// The other one of a pair.
fn other(pair: &[u32], one: u32) -> Option<u32> {
    pair.iter().copied().find(|&x| x != one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise::recognise;
    use crate::testing::{brute_force, build, shuffled, small_catalogue};

    /// [MRY06] Theorem 1: profile and order of every small block of the catalogue, in several numberings, against
    /// all sets of sources.
    #[test]
    fn closed_forms_are_optimal() {
        for kind in small_catalogue(5) {
            if sources(&kind).unwrap() > 12 {
                continue;
            }
            let plain = build(&kind);
            let (best, _) = brute_force(&plain);
            assert_eq!(profile(&kind).unwrap(), best, "{kind:?}");
            for seed in 0..8 {
                let block = shuffled(&plain, seed);
                // Small parameters give the same block several names; each must be served.
                let mut found = Vec::new();
                assert!(order(&kind, &block, &mut found));
                assert_eq!(block.profile(&found), best, "{kind:?}");
                assert!(order(&recognise(&block).unwrap(), &block, &mut found));
                assert_eq!(block.profile(&found), best, "{kind:?}");
            }
        }
    }

    #[test]
    fn long_blocks_follow_the_closed_form() {
        for kind in [
            Kind::W {
                sources: 3_000,
                degree: 4,
            },
            Kind::M {
                sinks: 3_000,
                degree: 4,
            },
            Kind::N { sources: 3_000 },
            Kind::C { sources: 3_000 },
            Kind::K {
                sources: 60,
                sinks: 70,
            },
        ] {
            let block = shuffled(&build(&kind), 7);
            let mut found = Vec::new();
            assert!(order(&kind, &block, &mut found));
            assert_eq!(block.profile(&found), profile(&kind).unwrap());
        }
    }
}
