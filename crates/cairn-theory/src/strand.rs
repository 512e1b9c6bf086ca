//! Caterpillar blocks: a slow stand-in with the agreed interface.

use crate::Bipartite;

/// A caterpillar-shaped block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strand {
    degrees: Vec<u32>,
    block: Bipartite,
}

/// The name of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StrandKind {
    /// W-strand.
    W,
    /// M-strand.
    M,
    /// Any other.
    T,
}

impl Strand {
    /// The strand a block is.
    pub fn recognise(block: &Bipartite) -> Option<Strand> {
        let sources = block.sources() as u32;
        let row = |n: u32| {
            if n < sources {
                block.children(n)
            } else {
                block.parents(n - sources)
            }
        };
        let shift = |n: u32, m: u32| if n < sources { m + sources } else { m };
        let nodes = sources + block.sinks() as u32;
        if block.arc_count() + 1 != nodes as usize {
            return None;
        }
        let inner = |n: u32| -> Vec<u32> {
            let all = row(n).iter().map(|&m| shift(n, m));
            all.filter(|&m| row(m).len() > 1).collect()
        };
        let backbone: Vec<u32> = (0..nodes).filter(|&n| row(n).len() > 1).collect();
        if backbone.iter().any(|&n| inner(n).len() > 2) {
            return None;
        }
        let read = |end: u32| {
            let mut degrees = if end < sources { vec![] } else { vec![1] };
            let (mut here, mut last) = (Some(end), u32::MAX);
            while let Some(n) = here {
                degrees.push(row(n).len() as u32);
                here = inner(n).into_iter().find(|&m| m != last);
                last = n;
            }
            degrees
        };
        let ends = backbone
            .iter()
            .filter(|&&n| inner(n).len() < 2)
            .map(|&n| read(n));
        let degrees = ends.max().unwrap_or(vec![1]);
        Some(Strand {
            degrees,
            block: block.clone(),
        })
    }

    /// δ of T[δ].
    pub fn degrees(&self) -> Vec<u32> {
        self.degrees.clone()
    }

    /// W, M or T.
    pub fn kind(&self) -> StrandKind {
        let (d, odd) = (&self.degrees, self.degrees.len() % 2 == 1);
        if odd && d[0] >= 2 && d.iter().skip(1).step_by(2).all(|&x| x == 2) {
            StrandKind::W
        } else if !odd && d[0] == 1 && d.iter().step_by(2).skip(1).all(|&x| x == 2) {
            StrandKind::M
        } else {
            StrandKind::T
        }
    }

    /// An IC-optimal order.
    pub fn schedule(&self) -> Vec<u32> {
        schedule_sum(std::slice::from_ref(self))
            .into_iter()
            .map(|x| x.1)
            .collect()
    }
}

/// An IC-optimal order of a sum.
pub fn schedule_sum(strands: &[Strand]) -> Vec<(u32, u32)> {
    let mut arcs = Vec::new();
    let mut names = Vec::new();
    let mut sinks = 0;
    for (i, strand) in strands.iter().enumerate() {
        let base = names.len() as u32;
        arcs.extend(strand.block.arcs().map(|(u, v)| (u + base, v + sinks)));
        names.extend((0..strand.block.sources() as u32).map(|u| (i as u32, u)));
        sinks += strand.block.sinks() as u32;
    }
    let sum = Bipartite::from_arcs(names.len(), sinks as usize, arcs);
    let order = crate::search::all_sets(&sum)
        .1
        .expect("a sum of strands has an order");
    order.into_iter().map(|u| names[u as usize]).collect()
}
