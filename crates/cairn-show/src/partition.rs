//! Partitions of the tasks of a dag, and the dag of their parts. Knows neither kinds nor drawing.

use cairn_dag::{Dag, DagError, narrow, wide};
use std::collections::BTreeMap;

/// Which part each item lies in. Parts are numbered densely, in order of first appearance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) of: Vec<u32>,
    pub(crate) count: usize,
}

impl Parts {
    /// Each item by itself.
    pub(crate) fn singles(items: usize) -> Parts {
        Parts {
            of: (0..narrow(items)).collect(),
            count: items,
        }
    }

    /// Items with equal keys together.
    pub(crate) fn by_key(keys: impl Iterator<Item = impl Ord + Copy>) -> Parts {
        let mut sorted: Vec<(_, u32)> = keys.zip(0..).collect();
        sorted.sort_unstable();
        let mut first: Vec<u32> = (0..narrow(sorted.len())).collect();
        let mut leader = 0;
        for (i, &(key, index)) in sorted.iter().enumerate() {
            if i == 0 || sorted[i - 1].0 != key {
                leader = index;
            }
            first[wide(index)] = leader;
        }
        Parts::by_leader(&first)
    }

    /// Items with the same leader together; the leader of a part is its first item.
    pub(crate) fn by_leader(leader: &[u32]) -> Parts {
        let mut of = vec![0u32; leader.len()];
        let mut count = 0;
        for i in 0..leader.len() {
            let first = wide(leader[i]);
            of[i] = if first == i { count } else { of[first] };
            count += u32::from(first == i);
        }
        Parts {
            of,
            count: wide(count),
        }
    }

    /// The parts of parts: `coarser` divides the parts of `self`.
    pub(crate) fn then(&self, coarser: &Parts) -> Parts {
        Parts::by_key(self.of.iter().map(|&part| coarser.of[wide(part)]))
    }

    /// One node for each part, an arc wherever items of two parts have one. An error if parts wait for each other in a
    /// circle.
    pub(crate) fn quotient(&self, dag: &Dag) -> Result<Dag, DagError> {
        let arcs = (dag.arcs())
            .map(|(u, v)| (self.of[u.index()], self.of[v.index()]))
            .filter(|(a, b)| a != b);
        Dag::from_arcs(self.count, arcs.collect())
    }

    /// Numbers of arcs between different parts.
    pub(crate) fn arcs_between(&self, dag: &Dag) -> BTreeMap<(u32, u32), usize> {
        let mut arcs = BTreeMap::new();
        for (u, v) in dag.arcs() {
            let ends = (self.of[u.index()], self.of[v.index()]);
            if ends.0 != ends.1 {
                *arcs.entry(ends).or_default() += 1;
            }
        }
        arcs
    }
}

/// A random dag for tests: any pairs of numbers become arcs from the lower to the higher of `n` tasks.
#[cfg(test)]
pub(crate) fn dag_of(n: usize, raw: &[(u32, u32)]) -> Dag {
    let arcs = raw.iter().map(|&(a, b)| (a % narrow(n), b % narrow(n)));
    let arcs = arcs
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a.min(b), a.max(b)));
    Dag::from_arcs(n, arcs.collect()).unwrap()
}
