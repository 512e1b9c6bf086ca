//! The bipartite blocks of \[MRY06\] §2.1.2, with the complete bipartite ones. Knows no larger dag.

use super::FamilyError;
use super::draft::{Draft, at_least, room};
use crate::Dag;

/// A bipartite dag: arcs from sources `0..sources` to sinks `0..sinks`, both numbered from left to right.
pub(super) struct Block {
    pub(super) sources: u32,
    pub(super) sinks: u32,
    pub(super) arcs: Vec<(u32, u32)>,
}

impl Block {
    /// Room for a block of this size.
    pub(super) fn new(sources: u64, sinks: u64, arcs: u64) -> Result<Block, FamilyError> {
        Ok(Block {
            arcs: room(u128::from(sources) + u128::from(sinks), u128::from(arcs))?,
            sources: sources as u32,
            sinks: sinks as u32,
        })
    }

    /// As a dag: first the sources, then the sinks.
    pub(super) fn into_dag(mut self) -> Result<Dag, FamilyError> {
        let tasks = u128::from(self.sources) + u128::from(self.sinks);
        (self.arcs.iter_mut()).for_each(|(_, sink)| *sink += self.sources);
        Draft::of(tasks, self.arcs)?.finish()
    }

    /// Sources become sinks.
    fn dual(mut self) -> Block {
        for arc in &mut self.arcs {
            *arc = (arc.1, arc.0);
        }
        Block {
            sources: self.sinks,
            sinks: self.sources,
            arcs: self.arcs,
        }
    }
}

/// W_{s,d}: s sources of d children each; neighbours share one.
pub(super) fn w(s: u32, d: u32) -> Result<Block, FamilyError> {
    at_least("S", 1, s)?;
    at_least("D", 2, d)?;
    let (s64, d64) = (u64::from(s), u64::from(d));
    let mut block = Block::new(s64, s64 * (d64 - 1) + 1, s64 * d64)?;
    for source in 0..s {
        // No overflow: `Block::new` has counted the sinks, and this is one of them.
        let leftmost = source * (d - 1);
        (block.arcs).extend((0..d).map(|i| (source, leftmost + i)));
    }
    Ok(block)
}

/// M_{s,d}: s sinks of d parents each; neighbours share one.
pub(super) fn m(s: u32, d: u32) -> Result<Block, FamilyError> {
    w(s, d).map(Block::dual)
}

/// N_s: source v has the sinks v and, but for the last, v + 1.
pub(super) fn n(s: u32) -> Result<Block, FamilyError> {
    at_least("S", 1, s)?;
    let s64 = u64::from(s);
    let mut block = Block::new(s64, s64, 2 * s64 - 1)?;
    for v in 0..s {
        block.arcs.push((v, v));
        if v + 1 < s {
            block.arcs.push((v, v + 1));
        }
    }
    Ok(block)
}

/// C_s: N_s closed to a cycle.
pub(super) fn c(s: u32) -> Result<Block, FamilyError> {
    at_least("S", 2, s)?;
    let s64 = u64::from(s);
    let mut block = Block::new(s64, s64, 2 * s64)?;
    for v in 0..s {
        block.arcs.push((v, v));
        block.arcs.push((v, (v + 1) % s));
    }
    Ok(block)
}

/// Q_s: s sources, s sinks, all arcs.
pub(super) fn q(s: u32) -> Result<Block, FamilyError> {
    at_least("S", 2, s)?;
    k(s, s)
}

/// K_{s,t}: s sources, t sinks, all arcs.
pub(super) fn k(s: u32, t: u32) -> Result<Block, FamilyError> {
    at_least("S", 1, s)?;
    at_least("T", 1, t)?;
    let mut block = Block::new(u64::from(s), u64::from(t), u64::from(s) * u64::from(t))?;
    for source in 0..s {
        block.arcs.extend((0..t).map(|sink| (source, sink)));
    }
    Ok(block)
}
