//! Layered layout: in which order the nodes of a level stand, and where. Knows positions across the levels only, not
//! what a node is or which way the levels run.
//!
//! The method is Sugiyama's: long arcs are cut at every level they pass ("bends"), the levels are reordered by
//! barycentre sweeps until crossings no longer fall, and then every level is placed as close as it can be to the mean
//! of its neighbours, in the least-squares sense (K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding
//! of hierarchical system structures", 1981).

mod bends;
mod crossings;
mod placing;

pub(crate) use placing::Gaps;

use bends::cut_long_arcs;
use cairn_dag::{Dag, TaskId, wide};

/// A level for each node: below all its parents, and no further up than its children allow when that shortens arcs.
///
/// First every node gets its longest path from a source; then, bottom up, nodes with more children than parents move
/// down to just above their highest child. Time O(nodes + arcs).
pub(crate) fn levels(dag: &Dag) -> Vec<u32> {
    let mut level = dag.levels().as_slice().to_vec();
    for &node in dag.topological_order().iter().rev() {
        if dag.children(node).len() > dag.parents(node).len() {
            let highest = dag.children(node).iter().map(|c| level[c.index()]).min();
            level[node.index()] = highest.expect("it has children") - 1;
        }
    }
    level
}

/// The levels with their nodes and bends in drawing order.
pub(crate) struct Ordered {
    /// Nodes, then bends; every arc joins neighbouring levels.
    graph: Dag,
    nodes: usize,
    level: Vec<u32>,
    component: Vec<u32>,
    rows: Vec<Vec<TaskId>>,
    position: Vec<u32>,
    /// For each arc, in the order of [`Dag::arcs`]: its first bend, if it has any. The others follow.
    first_bend: Vec<Option<u32>>,
}

impl Ordered {
    /// Orders the levels of `dag` for few crossings. `level` must grow along every arc.
    ///
    /// Time O(rounds · segments · log nodes); at most `4 · nodes + 20000` bends, beyond which long arcs are left
    /// straight.
    pub(crate) fn new(dag: &Dag, level: &[u32]) -> Ordered {
        let (graph, level, first_bend) = cut_long_arcs(dag, level);
        let mut ordered = Ordered {
            nodes: dag.len(),
            component: vec![0; graph.len()],
            rows: vec![Vec::new(); level.iter().max().map_or(0, |&l| wide(l) + 1)],
            position: vec![0; graph.len()],
            graph,
            level,
            first_bend,
        };
        ordered.order_by_search();
        let found = ordered.rows.clone();
        // The order of the input often means something: it is kept unless a search through the dag does better.
        ordered.order_by_number();
        let by_number = ordered.reduce_crossings();
        if by_number > 0 {
            let kept = std::mem::replace(&mut ordered.rows, found);
            ordered.renumber();
            if ordered.reduce_crossings() >= by_number {
                ordered.rows = kept;
                ordered.renumber();
            }
        }
        ordered
    }

    /// Number of levels.
    pub(crate) fn level_count(&self) -> usize {
        self.rows.len()
    }

    /// The level of a node.
    pub(crate) fn level(&self, node: TaskId) -> usize {
        wide(self.level[node.index()])
    }

    /// The nodes of a level, without bends, in drawing order.
    #[cfg(test)]
    fn row(&self, level: usize) -> impl Iterator<Item = TaskId> + '_ {
        self.rows[level]
            .iter()
            .copied()
            .filter(|v| v.index() < self.nodes)
    }

    /// The bends of the `arc`-th arc, whose ends lie `span` levels apart. Empty if the arc is short or left straight.
    pub(crate) fn bends(&self, arc: usize, span: usize) -> impl Iterator<Item = TaskId> + use<> {
        let first = self.first_bend[arc].into_iter();
        first.flat_map(move |first| (first..).take(span - 1).map(TaskId))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    const GAPS: Gaps = Gaps {
        nodes: 10.0,
        bends: 4.0,
        components: 6.0,
    };

    /// The obvious twin of [`Ordered::crossings`].
    fn crossings_by_pairs(ordered: &Ordered) -> u64 {
        let place = |v: TaskId| ordered.position[v.index()];
        let arcs: Vec<_> = ordered.graph.arcs().collect();
        let mut total = 0;
        for (i, &(a, b)) in arcs.iter().enumerate() {
            for &(c, d) in &arcs[..i] {
                let same = ordered.level[a.index()] == ordered.level[c.index()];
                let crossed = (place(a) < place(c) && place(b) > place(d))
                    || (place(a) > place(c) && place(b) < place(d));
                total += u64::from(same && crossed);
            }
        }
        total
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_arc_goes_down_level_by_level(n in 1usize..30, raw in prop::collection::vec((0u32..99, 0u32..99), 0..80)) {
            let dag = dag_of(n, &raw);
            let (level, depth) = (levels(&dag), dag.levels());
            let length = |of: &[u32]| dag.arcs().map(|(u, v)| of[v.index()] - of[u.index()]).sum::<u32>();
            prop_assert!(dag.arcs().all(|(u, v)| level[u.index()] < level[v.index()]));
            prop_assert!(length(&level) <= length(depth.as_slice()));
            let ordered = Ordered::new(&dag, &level);
            for (i, (u, v)) in dag.arcs().enumerate() {
                let span = (level[v.index()] - level[u.index()]) as usize;
                let mut path = vec![u];
                path.extend(ordered.bends(i, span));
                path.push(v);
                prop_assert_eq!(path.len(), span + 1);
                for pair in path.windows(2) {
                    prop_assert!(ordered.graph.has_arc(pair[0], pair[1]));
                    prop_assert_eq!(ordered.level[pair[0].index()] + 1, ordered.level[pair[1].index()]);
                }
            }
            for l in 0..ordered.level_count() {
                let mut nodes: Vec<_> = ordered.row(l).collect();
                nodes.sort_unstable();
                let expected: Vec<_> = dag.tasks().filter(|v| level[v.index()] == l as u32).collect();
                prop_assert_eq!(nodes, expected);
            }
        }

        #[test]
        fn crossings_are_counted_rightly_and_never_raised(n in 1usize..20, raw in prop::collection::vec((0u32..99, 0u32..99), 0..60)) {
            let dag = dag_of(n, &raw);
            let ordered = Ordered::new(&dag, &levels(&dag));
            prop_assert_eq!(ordered.crossings(), crossings_by_pairs(&ordered));
            let mut first = Ordered::new(&dag, &levels(&dag));
            first.order_by_number();
            prop_assert!(ordered.crossings() <= first.crossings());
            first.rows.iter_mut().for_each(Vec::clear);
            first.order_by_search();
            prop_assert!(ordered.crossings() <= first.crossings());
        }

        #[test]
        fn neighbours_keep_their_distance(
            n in 1usize..30,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..80),
            sizes in prop::collection::vec(5.0f64..90.0, 30),
        ) {
            let dag = dag_of(n, &raw);
            let ordered = Ordered::new(&dag, &levels(&dag));
            let (centre, extent) = ordered.place(&sizes[..n], GAPS);
            prop_assert!(extent + 1e-6 >= ordered.least_extent(&sizes[..n], GAPS));
            for row in &ordered.rows {
                for pair in row.windows(2) {
                    let [a, b] = [pair[0], pair[1]].map(|v| (centre[v.index()], ordered.breadth(v, &sizes[..n]) / 2.0));
                    prop_assert!(a.0 + a.1 + GAPS.bends <= b.0 - b.1 + 1e-6);
                }
                for &v in row {
                    let half = ordered.breadth(v, &sizes[..n]) / 2.0;
                    prop_assert!(centre[v.index()] - half >= -1e-6 && centre[v.index()] + half <= extent + 1e-6);
                }
            }
        }
    }

    #[test]
    fn trees_and_chains_are_drawn_without_crossings_and_straight() {
        let tree = Dag::from_arcs(15, (1..15).map(|v| ((v - 1) / 2, v)).collect()).unwrap();
        assert_eq!(Ordered::new(&tree, &levels(&tree)).crossings(), 0);
        let chain = Dag::from_arcs(5, (1..5).map(|v| (v - 1, v)).collect()).unwrap();
        let (centre, extent) = Ordered::new(&chain, &levels(&chain)).place(&[20.0; 5], GAPS);
        assert_eq!((centre, extent), (vec![10.0; 5], 20.0));
    }

    #[test]
    fn late_collectors_get_one_trunk() {
        // 50 tasks feed both a chain of 5 and the task after it.
        let mut arcs: Vec<(u32, u32)> = (0..50).flat_map(|v| [(v, 50), (v, 55)]).collect();
        arcs.extend((50..55).map(|v| (v, v + 1)));
        let dag = Dag::from_arcs(56, arcs).unwrap();
        let ordered = Ordered::new(&dag, &levels(&dag));
        assert_eq!(ordered.graph.len() - dag.len(), 5);
    }
}
