//! Cuts a forest into connected parts after some sources were executed. Knows no profiles.

use crate::Bipartite;
use cairn_kernel::{ids, narrow, wide};

ids! {
    /// A source of a part.
    PartSourceId,
}

/// What has become of a source of the whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Executed,
    Now,
    Later,
}

/// A connected piece with its own numbering.
pub(super) struct Part {
    pub(super) block: Bipartite,
    /// The name of each of its sources in the whole.
    pub(super) names: Vec<u32>,
}

/// The connected components of the sources that are due `Now` with the sinks that wait for some of them and, apart
/// from executed ones, for no others. Linear.
pub(super) fn parts(block: &Bipartite, stage: &[Stage]) -> Vec<Part> {
    // Sinks that also wait for a later source gain nothing in this interval: they neither count nor join parts.
    let waits_for = |v: u32| {
        let parents = block.parents(v).iter().copied();
        parents.filter(|&u| stage[wide(u)] != Stage::Executed)
    };
    // One list for all parts: a source is in one of them only.
    let mut source_name: Vec<Option<PartSourceId>> = vec![None; block.sources()];
    let mut seen_sink = vec![false; block.sinks()];
    let mut found = Vec::new();
    for start in 0..narrow(block.sources()) {
        if stage[wide(start)] != Stage::Now || source_name[wide(start)].is_some() {
            continue;
        }
        source_name[wide(start)] = Some(PartSourceId::new(0));
        let mut names = vec![start];
        let mut arcs = Vec::new();
        let (mut sinks, mut next) = (0, 0);
        while next < names.len() {
            let u = names[next];
            next += 1;
            for &v in block.children(u) {
                if std::mem::replace(&mut seen_sink[wide(v)], true)
                    || waits_for(v).any(|p| stage[wide(p)] == Stage::Later)
                {
                    continue;
                }
                for parent in waits_for(v) {
                    let name = source_name[wide(parent)].get_or_insert_with(|| {
                        names.push(parent);
                        PartSourceId::new(names.len() - 1)
                    });
                    arcs.push((narrow(name.index()), sinks));
                }
                sinks += 1;
            }
        }
        let block = Bipartite::from_arcs(names.len(), wide(sinks), arcs);
        found.push(Part { block, names });
    }
    found
}
