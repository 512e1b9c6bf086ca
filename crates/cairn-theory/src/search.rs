//! Exact search: a slow stand-in with the agreed interface.

use crate::Bipartite;

/// What the search found.
pub enum SearchAnswer {
    /// An IC-optimal order.
    Optimal {
        /// It.
        order: Vec<u32>,
        /// Its profile.
        profile: Vec<u32>,
    },
    /// There is none.
    NoneExists {
        /// The best at each step.
        profile: Vec<u32>,
    },
    /// Too many states.
    GaveUp,
}

/// Decides a small block.
pub fn solve(block: &Bipartite, budget: u64) -> SearchAnswer {
    if block.sources() > 20 || 1 << block.sources() > budget {
        return SearchAnswer::GaveUp;
    }
    match all_sets(block) {
        (profile, Some(order)) => SearchAnswer::Optimal { order, profile },
        (profile, None) => SearchAnswer::NoneExists { profile },
    }
}

/// By looking at all sets of sources.
pub(crate) fn all_sets(block: &Bipartite) -> (Vec<u32>, Option<Vec<u32>>) {
    let s = block.sources();
    assert!(s <= 22, "the stand-in is for small blocks");
    let needs: Vec<u32> = (0..block.sinks() as u32)
        .map(|v| block.parents(v).iter().map(|&u| 1 << u).sum())
        .collect();
    let value = |set: u32| needs.iter().filter(|&&n| n & !set == 0).count() as u32;
    let mut best = vec![0; s + 1];
    for set in 0..1u32 << s {
        let t = set.count_ones() as usize;
        best[t] = best[t].max(value(set));
    }
    let mut layers = vec![vec![0u32]];
    for t in 1..=s {
        let grown = layers[t - 1].iter().flat_map(|&set| {
            let free = (0..s).filter(move |u| set >> u & 1 == 0);
            free.map(move |u| set | 1 << u)
        });
        let mut next: Vec<u32> = grown.filter(|&g| value(g) == best[t]).collect();
        next.sort_unstable();
        next.dedup();
        layers.push(next);
    }
    let Some(&(mut set)) = layers[s].first() else {
        return (best, None);
    };
    let mut order = Vec::new();
    for t in (0..s).rev() {
        let from = layers[t]
            .iter()
            .find(|&&l| l & !set == 0)
            .expect("the layer led here");
        order.push((set & !from).trailing_zeros());
        set = *from;
    }
    order.reverse();
    (best, Some(order))
}
