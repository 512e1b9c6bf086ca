//! Brute force over all sets of sources of a small bipartite dag, and random material. Knows none of the theory.
#![allow(dead_code, reason = "each test file uses what it needs")]

use cairn_theory::Bipartite;

/// What is true of a bipartite dag: the most eligible sinks for each number of executed sources, and an order of the
/// sources that attains it throughout, if there is one.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) profile: Vec<u32>,
    pub(crate) order: Option<Vec<u32>>,
}

/// Tries all 2^sources sets.
pub(crate) fn truth(block: &Bipartite) -> Truth {
    let n = block.sources();
    assert!(n <= 20, "brute force is for small blocks");
    let mut eligible = vec![0u32; 1 << n];
    for v in 0..block.sinks() as u32 {
        let parents: usize = block.parents(v).iter().map(|&u| 1 << u).sum();
        eligible[parents] += 1;
    }
    for bit in 0..n {
        for set in 0..1usize << n {
            if set >> bit & 1 == 1 {
                eligible[set] += eligible[set ^ 1 << bit];
            }
        }
    }
    let mut profile = vec![0; n + 1];
    for (set, &e) in eligible.iter().enumerate() {
        let best = &mut profile[set.count_ones() as usize];
        *best = e.max(*best);
    }
    // The last source of an optimal chain that leads to this set.
    let mut last = vec![None; 1 << n];
    for set in 1..1usize << n {
        if eligible[set] == profile[set.count_ones() as usize] {
            let before = |bit: usize| {
                set >> bit & 1 == 1 && {
                    let rest = set ^ 1 << bit;
                    rest == 0 || last[rest].is_some()
                }
            };
            last[set] = (0..n).find(|&bit| before(bit));
        }
    }
    let mut set = (1usize << n) - 1;
    let mut order = Vec::new();
    while set != 0 {
        let Some(bit) = last[set] else {
            return Truth {
                profile,
                order: None,
            };
        };
        order.push(bit as u32);
        set ^= 1 << bit;
    }
    order.reverse();
    Truth {
        profile,
        order: Some(order),
    }
}

/// The disjoint union.
pub(crate) fn sum(blocks: &[Bipartite]) -> Bipartite {
    let (mut sources, mut sinks, mut arcs) = (0, 0, Vec::new());
    for block in blocks {
        arcs.extend(block.arcs().map(|(u, v)| (u + sources, v + sinks)));
        sources += block.sources() as u32;
        sinks += block.sinks() as u32;
    }
    Bipartite::from_arcs(sources as usize, sinks as usize, arcs)
}

/// SplitMix64: enough for tests, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, k: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % k.max(1) as u64) as usize
    }

    pub(crate) fn from(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high + 1 - low)
    }

    pub(crate) fn permutation(&mut self, n: usize) -> Vec<u32> {
        let mut p: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            p.swap(i, self.below(i + 1));
        }
        p
    }

    /// The same bipartite dag in another numbering, and the new name of each source.
    pub(crate) fn relabelled(&mut self, block: &Bipartite) -> (Bipartite, Vec<u32>) {
        let sources = self.permutation(block.sources());
        let sinks = self.permutation(block.sinks());
        let arcs = block.arcs();
        let arcs = arcs.map(|(u, v)| (sources[u as usize], sinks[v as usize]));
        let other = Bipartite::from_arcs(block.sources(), block.sinks(), arcs.collect());
        (other, sources)
    }

    /// A bipartite tree of `nodes` nodes, long and thin if `stretch` is large.
    pub(crate) fn tree(&mut self, nodes: usize, stretch: usize) -> Bipartite {
        let mut side = vec![self.below(2)];
        let mut edges = Vec::new();
        for v in 1..nodes {
            let back = if self.below(stretch + 1) > 0 {
                1 + self.below(2.min(v))
            } else {
                1 + self.below(v)
            };
            side.push(1 - side[v - back]);
            edges.push((v - back, v));
        }
        from_edges(&side, &edges)
    }
}

/// The bipartite dag over nodes of side 0 (sources) and 1 (sinks).
pub(crate) fn from_edges(side: &[usize], edges: &[(usize, usize)]) -> Bipartite {
    let mut count = [0u32; 2];
    let number: Vec<u32> = (side.iter())
        .map(|&s| {
            count[s] += 1;
            count[s] - 1
        })
        .collect();
    let arc = |&(a, b): &(usize, usize)| {
        let (u, v) = if side[a] == 0 { (a, b) } else { (b, a) };
        (number[u], number[v])
    };
    let arcs = edges.iter().map(arc).collect();
    Bipartite::from_arcs(count[0] as usize, count[1] as usize, arcs)
}
