//! Ties tasks that always come together, such as a compiler's run and the file it makes. Knows kinds as numbers.

use crate::kinds::KindId;
use crate::partition::Parts;
use cairn_dag::{Dag, narrow, wide};
use std::collections::HashMap;

/// A task is tied to its only neighbour on one side only if that has at most so many on its other side.
// Chosen by eye: a file that hundreds read belongs to none of them.
const FAN: usize = 4;
/// "Always" is said of at least so many tasks.
// Fewer say nothing of a habit. By eye.
const OFTEN: usize = 8;

/// Contracts arcs between two kinds where nearly every task of one of them has just this one child, or just this one
/// parent, of the other kind.
///
/// To contract an arc makes no circle if its tail has no other child or its head no other parent, at the time it is
/// done; so tails go first, from the last to the first, and heads follow in the dag that is left.
pub(crate) fn ties(dag: &Dag, kind: &[KindId], kinds: usize) -> Parts {
    let to_child = one_way(dag, kind, kinds, true);
    let left = to_child
        .quotient(dag)
        .expect("only arcs that close no circle are contracted");
    // Of a unit only its last task can still be a tail or a head of its own: the others are inside.
    let mut kind_left = vec![KindId::default(); to_child.count];
    for &task in dag.topological_order() {
        kind_left[wide(to_child.of[task.index()])] = kind[task.index()];
    }
    let to_parent = one_way(&left, &kind_left, kinds, false);
    to_child.then(&to_parent)
}

fn one_way(dag: &Dag, kind: &[KindId], kinds: usize, to_child: bool) -> Parts {
    let mut total = vec![0usize; kinds];
    let mut pairs: HashMap<(KindId, KindId), usize> = HashMap::new();
    let only = |task| {
        let (near, back): (&[_], fn(&Dag, _) -> usize) = match to_child {
            true => (dag.children(task), |dag, t| dag.parents(t).len()),
            false => (dag.parents(task), |dag, t| dag.children(t).len()),
        };
        match *near {
            [one] if back(dag, one) <= FAN => Some(one),
            _ => None,
        }
    };
    for task in dag.tasks() {
        total[kind[task.index()].index()] += 1;
        if let Some(one) = only(task) {
            *pairs
                .entry((kind[task.index()], kind[one.index()]))
                .or_default() += 1;
        }
    }
    let mut host: Vec<u32> = (0..narrow(dag.len())).collect();
    let order = dag.topological_order();
    let visit = |i: usize| {
        if to_child {
            order[order.len() - 1 - i]
        } else {
            order[i]
        }
    };
    for task in (0..order.len()).map(visit) {
        let own = kind[task.index()];
        if let Some(one) = only(task)
            && own != kind[one.index()]
            && let together = pairs[&(own, kind[one.index()])]
            && together >= OFTEN
            // Four of five: build systems have exceptions to everything.
            && 5 * together >= 4 * total[own.index()]
        {
            host[task.index()] = host[one.index()];
        }
    }
    Parts::by_key(host.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn ties_make_no_circle(
            n in 1usize..24,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..40),
            picks in prop::collection::vec((0usize..4).prop_map(KindId::new), 24),
        ) {
            let dag = dag_of(n, &raw);
            let parts = ties(&dag, &picks[..n], 4);
            prop_assert_eq!(parts.of.len(), n);
            prop_assert!(parts.quotient(&dag).is_ok());
        }
    }

    #[test]
    fn a_rule_and_the_file_it_makes_are_one() {
        // Ten sources, ten runs, ten objects, one linker.
        let mut arcs: Vec<(u32, u32)> = (0..20).map(|v| (v, v + 10)).collect();
        arcs.extend((20..30).map(|object| (object, 30)));
        let dag = Dag::from_arcs(31, arcs).unwrap();
        let kinds: Vec<KindId> = (0..31).map(|v| KindId::new(v / 10)).collect();
        let parts = ties(&dag, &kinds, 4);
        let expected: Vec<u32> = (0..30).map(|v| v % 10).chain([10]).collect();
        assert_eq!(parts.of, expected);
        // A few cases are no rule.
        let few = Dag::from_arcs(3, vec![(0, 1), (1, 2)]).unwrap();
        assert_eq!(ties(&few, &[0, 1, 2].map(KindId::new), 3).count, 3);
    }
}
