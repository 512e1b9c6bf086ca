//! Kinds that wait for each other in circles, cut into waves of their commonest kind. Knows kinds as numbers.

use crate::budgets::groups::TRIED;
use crate::circles::circles;
use crate::kinds::KindId;
use crate::partition::Parts;
use cairn_dag::{Dag, wide};

/// A knot is not cut into more waves than this: the picture would be a ladder.
// By eye: what repeats is seen in six, and room is left for what stands beside.
const MOST_WAVES: u32 = 6;

/// Tasks of one kind together; kinds on a circle are cut into waves as far as `most` parts allow, and where they do not,
/// what is on a circle stays together.
///
/// Wave i of a knot is what comes behind i runs of its commonest kind: no arc leads to an earlier wave, and within one
/// wave none leaves that kind, so the circles through it are open. A knot that is left then is cut in the same way.
pub(crate) fn untangle(dag: &Dag, kind: &[KindId], most: usize) -> Parts {
    let mut parts = Parts::by_key(kind.iter().copied());
    let mut joined = on_circles(dag, &parts);
    while let Some((finer, finer_joined)) = cut_one(dag, kind, &parts, &joined, most) {
        (parts, joined) = (finer, finer_joined);
    }
    parts.then(&joined)
}

/// Parts of parts: those on a common circle together.
fn on_circles(dag: &Dag, parts: &Parts) -> Parts {
    let mut arcs: Vec<(u32, u32)> = (dag.arcs())
        .map(|(u, v)| (parts.of[u.index()], parts.of[v.index()]))
        .filter(|(a, b)| a != b)
        .collect();
    arcs.sort_unstable();
    arcs.dedup();
    Parts::by_key(circles(&arcs, parts.count).into_iter())
}

/// The largest knot that can be cut, cut.
fn cut_one(
    dag: &Dag,
    kind: &[KindId],
    parts: &Parts,
    joined: &Parts,
    most: usize,
) -> Option<(Parts, Parts)> {
    let mut size = vec![0usize; joined.count];
    let mut parts_in = vec![0usize; joined.count];
    parts
        .of
        .iter()
        .for_each(|&p| size[wide(joined.of[wide(p)])] += 1);
    joined.of.iter().for_each(|&j| parts_in[wide(j)] += 1);
    let mut knots: Vec<usize> = (0..joined.count).filter(|&j| parts_in[j] > 1).collect();
    knots.sort_by_key(|&j| (std::cmp::Reverse(size[j]), j));
    for knot in knots {
        let in_knot: Vec<bool> = parts
            .of
            .iter()
            .map(|&p| wide(joined.of[wide(p)]) == knot)
            .collect();
        for anchor in commonest(kind, &in_knot) {
            let waves = waves(dag, kind, &in_knot, anchor);
            if waves.iter().any(|&wave| wave >= MOST_WAVES) {
                continue;
            }
            let finer = Parts::by_key(parts.of.iter().zip(&waves));
            let finer_joined = on_circles(dag, &finer);
            // More than before, or the cut has opened no circle and only made the parts finer.
            if finer_joined.count <= most && finer_joined.count > joined.count {
                return Some((finer, finer_joined));
            }
        }
    }
    None
}

fn commonest(kind: &[KindId], chosen: &[bool]) -> Vec<KindId> {
    let mut counts = vec![0usize; kind.iter().max().map_or(0, |k| k.index() + 1)];
    for (&kind, _) in kind.iter().zip(chosen).filter(|(_, c)| **c) {
        counts[kind.index()] += 1;
    }
    let mut kinds: Vec<KindId> = (0..counts.len())
        .map(KindId::new)
        .filter(|&k| counts[k.index()] > 0)
        .collect();
    kinds.sort_by_key(|&k| (std::cmp::Reverse(counts[k.index()]), k));
    kinds.truncate(TRIED);
    kinds
}

/// The greatest number of runs of the anchor kind before each chosen task, on paths of chosen tasks.
fn waves(dag: &Dag, kind: &[KindId], chosen: &[bool], anchor: KindId) -> Vec<u32> {
    let mut wave = vec![0u32; dag.len()];
    for &task in dag.topological_order().iter().filter(|t| chosen[t.index()]) {
        let leaves = |p: usize| u32::from(kind[p] == anchor && kind[task.index()] != anchor);
        let before = dag
            .parents(task)
            .iter()
            .map(|p| p.index())
            .filter(|&p| chosen[p]);
        wave[task.index()] = before.map(|p| wave[p] + leaves(p)).max().unwrap_or(0);
    }
    wave
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn no_circle_is_left_and_the_number_is_kept(
            n in 1usize..24,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..60),
            picks in prop::collection::vec((0usize..5).prop_map(KindId::new), 24),
            most in 5usize..20,
        ) {
            let dag = dag_of(n, &raw);
            let parts = untangle(&dag, &picks[..n], most);
            prop_assert!(parts.count <= most);
            prop_assert!(parts.quotient(&dag).is_ok());
        }
    }

    #[test]
    fn waves_follow_the_commonest_kind() {
        // Objects 0..3 make tool 3, which writes header 4 for objects 5..9.
        let kind = [0, 0, 0, 1, 2, 0, 0, 0, 0].map(KindId::new);
        let arcs = vec![
            (0, 3),
            (1, 3),
            (2, 3),
            (3, 4),
            (4, 5),
            (4, 6),
            (4, 7),
            (4, 8),
        ];
        let dag = Dag::from_arcs(9, arcs).unwrap();
        assert_eq!(untangle(&dag, &kind, 9).of, [0, 0, 0, 1, 2, 3, 3, 3, 3]);
        assert_eq!(untangle(&dag, &kind, 2).count, 1, "no room to cut the knot");
    }
}
