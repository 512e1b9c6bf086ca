//! Cuts kinds of tasks into phases where kinds wait for each other in a circle, so that what is drawn is a dag again.
//! Knows kinds as numbers.

use crate::circles::circles;
use crate::kinds::KindId;
use crate::partition::Parts;
use cairn_dag::Dag;
use cairn_kernel::places;

/// The tasks of each kind together, cut into phases where they must be.
///
/// Kinds on a circle are put into a line, by the mean depth of their tasks and so that few arcs run against it. The phase
/// of a task is the greatest number of arcs against the line on a path of such kinds to it. An arc then either leads
/// to a later phase or runs with the line: no circle is left. Kinds on no circle stay whole. Time O((tasks + arcs) log).
pub(crate) fn phases(dag: &Dag, kind: &[KindId], kinds: usize) -> Parts {
    let mut arcs: Vec<(KindId, KindId)> = (dag.arcs())
        .map(|(u, v)| (kind[u.index()], kind[v.index()]))
        .filter(|(a, b)| a != b)
        .collect();
    arcs.sort_unstable();
    let circle = circles(&arcs, kinds);
    let place = line(dag, kind, kinds, &arcs);
    let mut phase = vec![0u32; dag.len()];
    for &task in dag.topological_order() {
        let own = kind[task.index()].index();
        let before = dag.parents(task).iter().map(|p| p.index());
        let before = before.filter(|&p| circle[kind[p].index()] == circle[own]);
        let against = |p: usize| u32::from(place[kind[p].index()] > place[own]);
        phase[task.index()] = before.map(|p| phase[p] + against(p)).max().unwrap_or(0);
    }
    Parts::by_key((0..dag.len()).map(|t| (kind[t], phase[t])))
}

/// The place of each kind in the line: by mean depth, then neighbours change places while that turns more arcs around.
fn line(dag: &Dag, kind: &[KindId], kinds: usize, arcs: &[(KindId, KindId)]) -> Vec<u32> {
    let (mut sum, mut count) = (vec![0u64; kinds], vec![0u64; kinds]);
    for (&kind, &depth) in kind.iter().zip(dag.levels().as_slice()) {
        sum[kind.index()] += u64::from(depth);
        count[kind.index()] += 1;
    }
    let mean = |k: KindId| sum[k.index()] as f64 / count[k.index()].max(1) as f64;
    let mut line: Vec<KindId> = (0..kinds).map(KindId::new).collect();
    line.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(a.cmp(&b)));
    let weight = |a: KindId, b: KindId| {
        arcs.partition_point(|&arc| arc <= (a, b)) - arcs.partition_point(|&arc| arc < (a, b))
    };
    // Every exchange turns more arcs around than back, so that it ends; twenty turns are a judgement, for kinds are few.
    for _ in 0..20 {
        let mut moved = false;
        for i in 1..line.len() {
            let (a, b) = (line[i - 1], line[i]);
            if weight(b, a) > weight(a, b) {
                line.swap(i - 1, i);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    places(&line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Whatever the kinds: no circle is left, and a kind is cut only if it lies on one.
        #[test]
        fn no_circle_is_left_and_only_circles_are_cut(
            n in 1usize..24,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..60),
            picks in prop::collection::vec((0usize..6).prop_map(KindId::new), 24),
        ) {
            let dag = dag_of(n, &raw);
            let parts = phases(&dag, &picks[..n], 6);
            prop_assert!(parts.quotient(&dag).is_ok());
            // The slow twin: which kinds reach themselves through another kind.
            let mut reach = [[false; 6]; 6];
            for (u, v) in dag.arcs() {
                let (a, b) = (picks[u.index()].index(), picks[v.index()].index());
                reach[a][b] |= a != b;
            }
            for k in 0..6 { for a in 0..6 { for b in 0..6 { reach[a][b] |= reach[a][k] && reach[k][b]; } } }
            for a in 0..n {
                for b in 0..n {
                    let same_kind = picks[a] == picks[b];
                    prop_assert!(same_kind || parts.of[a] != parts.of[b]);
                    let whole = same_kind && !reach[picks[a].index()][picks[a].index()];
                    prop_assert!(!whole || parts.of[a] == parts.of[b]);
                }
            }
        }
    }

    #[test]
    fn a_tool_that_is_built_first_is_a_phase_of_its_own() {
        // Two sources make a tool, which generates a header for three further objects.
        let kinds = [0, 0, 1, 1, 2, 3, 1, 1, 1, 2].map(KindId::new);
        let arcs = vec![
            (0, 2),
            (1, 3),
            (2, 4),
            (3, 4),
            (4, 5),
            (5, 6),
            (5, 7),
            (5, 8),
            (6, 9),
            (7, 9),
            (8, 9),
        ];
        let dag = Dag::from_arcs(10, arcs).unwrap();
        let parts = phases(&dag, &kinds, 4);
        assert_eq!(parts.of, [0, 0, 1, 1, 2, 3, 4, 4, 4, 5]);
    }
}
