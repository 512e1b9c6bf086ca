//! Merges the nodes of a small dag until there are few enough, the least ones first. Knows nodes by weight and kind.

use crate::kinds::KindId;
use crate::partition::Parts;
use cairn_dag::{Dag, TaskId, narrow};
use cairn_kernel::DisjointSets;
use std::collections::BTreeMap;

/// When to stop merging.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enough {
    /// No more nodes than this.
    pub(crate) most: usize,
    /// Nodes lighter than this are merged, too,
    pub(crate) least: usize,
    /// as long as there are more than so many.
    pub(crate) few: usize,
}

/// Merges until there are few enough.
///
/// The lightest node goes to a partner: one of its own kind before any other, then the lightest, then the one with the
/// most arcs between. Two nodes may be merged if no path leads from one to the other through a third; a node's first child in
/// a topological order is always such a partner. Time O(nodes · (nodes + arcs)).
pub(crate) fn fewer(
    dag: &Dag,
    weight: &[usize],
    kind: &[Option<KindId>],
    arcs: &BTreeMap<(u32, u32), usize>,
    enough: Enough,
) -> Parts {
    let mut graph = Graph::new(dag, weight, kind, arcs);
    while graph.alive > 1 {
        let lightest = (dag.tasks())
            .filter(|&v| graph.is_alive(v))
            .min_by_key(|&v| (graph.weight[v.index()], v));
        let lightest = lightest.expect("more than one node is alive");
        // Lightest first, so that what is merged is what tells the least.
        let is_light = graph.weight[lightest.index()] < enough.least;
        if graph.alive <= enough.most && !(is_light && graph.alive > enough.few) {
            break;
        }
        let partner = graph.partner(lightest);
        graph.merge(lightest, partner);
    }
    Parts::by_key((0..narrow(weight.len())).map(|v| graph.hosts.find(v)))
}

struct Graph {
    /// Who was merged: the one that is left of them stands for all.
    hosts: DisjointSets,
    weight: Vec<usize>,
    /// Kind of a node; `None` when it has several.
    kind: Vec<Option<KindId>>,
    below: Vec<BTreeMap<TaskId, usize>>,
    above: Vec<BTreeMap<TaskId, usize>>,
    alive: usize,
}

impl Graph {
    fn new(
        dag: &Dag,
        weight: &[usize],
        kind: &[Option<KindId>],
        arcs: &BTreeMap<(u32, u32), usize>,
    ) -> Graph {
        let count = |u: TaskId, v: TaskId| arcs.get(&(u.0, v.0)).copied().unwrap_or(1);
        let (mut below, mut above) = (
            vec![BTreeMap::new(); dag.len()],
            vec![BTreeMap::new(); dag.len()],
        );
        for (u, v) in dag.arcs() {
            below[u.index()].insert(v, count(u, v));
            above[v.index()].insert(u, count(u, v));
        }
        Graph {
            hosts: DisjointSets::new(dag.len()),
            weight: weight.to_vec(),
            kind: kind.to_vec(),
            below,
            above,
            alive: dag.len(),
        }
    }

    /// Whoever was merged into another has no weight of its own any more.
    fn is_alive(&self, node: TaskId) -> bool {
        self.weight[node.index()] > 0
    }

    /// Nodes at the end of a path of at least two arcs from `node`.
    fn far(arcs: &[BTreeMap<TaskId, usize>], node: TaskId) -> Vec<bool> {
        let mut far = vec![false; arcs.len()];
        let mut stack: Vec<TaskId> = arcs[node.index()].keys().copied().collect();
        while let Some(at) = stack.pop() {
            for &next in arcs[at.index()].keys() {
                if !std::mem::replace(&mut far[next.index()], true) {
                    stack.push(next);
                }
            }
        }
        far
    }

    fn partner(&self, node: TaskId) -> TaskId {
        let (down, up) = (Graph::far(&self.below, node), Graph::far(&self.above, node));
        let (below, above) = (&self.below[node.index()], &self.above[node.index()]);
        let lonely = below.is_empty() && above.is_empty();
        let own = self.kind[node.index()];
        let rank = |other: TaskId| {
            let arcs = below.get(&other).or(above.get(&other)).copied();
            let same = own.is_some() && self.kind[other.index()] == own;
            let is_far = down[other.index()] || up[other.index()];
            let safe = other != node && self.is_alive(other) && !is_far;
            (safe && (same || arcs.is_some() || lonely)).then(|| {
                let weight = self.weight[other.index()];
                (
                    !same,
                    weight.ilog2(),
                    std::cmp::Reverse(arcs),
                    weight,
                    other,
                )
            })
        };
        // Within a factor of two weights count as equal (`ilog2`), so that what is tied more closely goes together.
        let best = (0..self.weight.len())
            .map(TaskId::new)
            .filter_map(rank)
            .min();
        best.expect("the first child, the last parent or anybody will do")
            .4
    }

    fn merge(&mut self, gone: TaskId, kept: TaskId) {
        let (from, to) = (gone.index(), kept.index());
        self.hosts.join(gone.0, kept.0);
        self.alive -= 1;
        self.weight[to] += std::mem::take(&mut self.weight[from]);
        if self.kind[from] != self.kind[to] {
            self.kind[to] = None;
        }
        for down in [true, false] {
            let (ahead, back) = if down {
                (&mut self.below, &mut self.above)
            } else {
                (&mut self.above, &mut self.below)
            };
            for (other, count) in std::mem::take(&mut ahead[from]) {
                back[other.index()].remove(&gone);
                if other != kept {
                    *ahead[to].entry(other).or_default() += count;
                    *back[other.index()].entry(kept).or_default() += count;
                }
            }
        }
        // What was between the two is inside now.
        self.below[to].remove(&gone);
        self.above[to].remove(&gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn merging_keeps_the_number_asked_for_and_makes_no_circle(
            n in 1usize..20,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..50),
            weight in prop::collection::vec(1usize..50, 20),
            kind in prop::collection::vec(prop::option::of((0usize..5).prop_map(KindId::new)), 20),
            least in 0usize..30,
            most in 1usize..20,
        ) {
            let dag = dag_of(n, &raw);
            let enough = Enough { most, least, few: most / 2 };
            let parts = fewer(&dag, &weight[..n], &kind[..n], &BTreeMap::new(), enough);
            let mut left = vec![0; parts.count];
            parts.of.iter().zip(&weight).for_each(|(&part, w)| left[part as usize] += w);
            prop_assert!(parts.count <= most && parts.count >= n.min((most / 2).max(1)));
            prop_assert!(parts.count <= (most / 2).max(1) || left.iter().all(|&w| w >= least));
            prop_assert!(parts.count == n.min(most) || weight[..n].iter().any(|&w| w < least));
            prop_assert!(parts.quotient(&dag).is_ok());
        }
    }
}
