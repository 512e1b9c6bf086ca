//! Random values for the tests of this crate. Knows nothing beyond them.

use crate::Bipartite;
use crate::recognise::Kind;
use cairn_oracle::{Random, Shape};
use proptest::prelude::*;

/// A profile of 1..=`sources` sources whose increments are at most `most`, often long runs of one increment.
pub(crate) fn any_profile(sources: usize, most: u32) -> impl Strategy<Value = Vec<u32>> {
    let runs = prop::collection::vec((0..=most, 1..=sources), 1..=sources);
    (runs, 1..=sources).prop_map(|(runs, length)| {
        let increments = runs
            .into_iter()
            .flat_map(|(i, n)| std::iter::repeat_n(i, n));
        let mut profile = vec![0];
        for increment in increments.take(length) {
            profile.push(profile[profile.len() - 1] + increment);
        }
        profile
    })
}

/// A bipartite dag of at most `sources` sources and `sinks` sinks, connected or not.
pub(crate) fn any_bipartite(sources: usize, sinks: usize) -> impl Strategy<Value = Bipartite> {
    (1..=sources, 1..=sinks).prop_flat_map(|(s, k)| {
        let arc = (0..s as u32, 0..k as u32);
        prop::collection::vec(arc, 0..=s * k).prop_map(move |arcs| Bipartite::from_arcs(s, k, arcs))
    })
}

/// A bipartite dag without isolated sources or sinks: a sum of blocks.
pub(crate) fn any_sum(sources: usize, sinks: usize) -> impl Strategy<Value = Bipartite> {
    any_bipartite(sources, sinks).prop_map(|block| {
        let (s, k) = (block.sources() as u32, block.sinks() as u32);
        let bare_sources = (0..s).filter(|&u| block.children(u).is_empty());
        let bare_sinks = (0..k).filter(|&v| block.parents(v).is_empty());
        let arcs = (block.arcs())
            .chain(bare_sources.map(|u| (u, u % k)))
            .chain(bare_sinks.map(|v| (v % s, v)));
        Bipartite::from_arcs(s as usize, k as usize, arcs.collect())
    })
}

/// The most sinks that each number of sources can render, and an order that attains it at every step if there is
/// one: by looking at all sets of sources.
pub(crate) fn brute_force(block: &Bipartite) -> (Vec<u32>, Option<Vec<u32>>) {
    let s = block.sources();
    let needs: Vec<u32> = (0..block.sinks() as u32)
        .map(|v| block.parents(v).iter().map(|&u| 1 << u).sum())
        .collect();
    let value = |set: u32| needs.iter().filter(|&&n| n & !set == 0).count() as u32;
    let mut best = vec![0; s + 1];
    for set in 0..1u32 << s {
        let t = set.count_ones() as usize;
        best[t] = best[t].max(value(set));
    }
    let mut front = vec![(0u32, Vec::new())];
    for t in 1..=s {
        let mut next: Vec<(u32, Vec<u32>)> = Vec::new();
        for (set, order) in &front {
            for u in (0..s as u32).filter(|u| set >> u & 1 == 0) {
                let grown = set | 1 << u;
                if value(grown) == best[t] && next.iter().all(|n| n.0 != grown) {
                    next.push((grown, order.iter().copied().chain([u]).collect()));
                }
            }
        }
        front = next;
    }
    (best, front.pop().map(|f| f.1))
}

/// All kinds of the catalogue with parameters up to `most`, small ones under several names.
pub(crate) fn small_catalogue(most: u32) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for sources in 1..=most {
        for degree in 2..=most {
            kinds.push(Kind::W { sources, degree });
            kinds.push(Kind::M {
                sinks: sources,
                degree,
            });
            if sources > 1 && degree != sources {
                kinds.push(Kind::K {
                    sources,
                    sinks: degree,
                });
            }
        }
        kinds.push(Kind::N { sources });
        if sources > 1 {
            kinds.push(Kind::C { sources });
            kinds.push(Kind::Q { sources });
        }
    }
    kinds
}

/// A block of a kind of the catalogue, drawn from left to right.
pub(crate) fn build(kind: &Kind) -> Bipartite {
    let shape = match *kind {
        Kind::W { sources, degree } => Shape::w(sources, degree),
        Kind::M { sinks, degree } => Shape::m(sinks, degree),
        Kind::N { sources } => Shape::n(sources),
        Kind::C { sources } => Shape::c(sources),
        Kind::Q { sources } => Shape::k(sources, sources),
        Kind::K { sources, sinks } => Shape::k(sources, sinks),
        _ => panic!("{kind:?} is not in the catalogue"),
    };
    Bipartite::from_arcs(shape.sources, shape.sinks, shape.arcs)
}

/// The same block with sources and sinks renumbered at random.
pub(crate) fn shuffled(block: &Bipartite, seed: u64) -> Bipartite {
    let mut random = Random::new(seed);
    let mut permutation = |n: usize| {
        let mut all: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut all);
        all
    };
    let (of_source, of_sink) = (permutation(block.sources()), permutation(block.sinks()));
    let arcs = (block.arcs()).map(|(u, v)| (of_source[u as usize], of_sink[v as usize]));
    Bipartite::from_arcs(block.sources(), block.sinks(), arcs.collect())
}

/// The best sum of two profiles for every number of steps.
pub(crate) fn convolved(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut work = cairn_kernel::Work::unlimited();
    let sum = cairn_kernel::convolve(a, b, None, cairn_kernel::Price::Time, &mut work);
    sum.expect("nobody says stop")
}
