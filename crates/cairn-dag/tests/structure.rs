//! Levels, components and reachability against a boolean matrix.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{any_dag, reach};
use proptest::prelude::*;

/// The set whose bit mask is `bits`, cut to the tasks there are.
fn subset(dag: &Dag, bits: u32) -> Vec<TaskId> {
    dag.tasks().filter(|t| bits >> t.0 & 1 == 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reachability_is_the_matrix(dag in any_dag(14), bits in any::<u32>()) {
        let reach = reach(&dag);
        let set = subset(&dag, bits);
        let below: Vec<TaskId> = (dag.tasks())
            .filter(|v| set.iter().any(|u| reach[u.index()][v.index()]))
            .collect();
        prop_assert_eq!(dag.descendants(&set), below);
        let above: Vec<TaskId> = (dag.tasks())
            .filter(|v| set.iter().any(|u| reach[v.index()][u.index()]))
            .collect();
        prop_assert_eq!(dag.ancestors(&set), above);
    }

    /// A level is the longest path that ends there, found here by trying all lengths.
    #[test]
    fn levels_are_longest_paths(dag in any_dag(14)) {
        let levels = dag.levels();
        let mut ends_path = vec![true; dag.len()];
        let mut sizes = Vec::new();
        for length in 0..dag.len() as u32 {
            // Tasks where a path of `length` arcs ends.
            for v in dag.tasks() {
                prop_assert_eq!(ends_path[v.index()], levels.of(v) >= length);
            }
            let on_it = dag.tasks().filter(|&v| levels.of(v) == length).count() as u32;
            if on_it > 0 { sizes.push(on_it); }
            ends_path = (dag.tasks())
                .map(|v| dag.parents(v).iter().any(|p| ends_path[p.index()]))
                .collect();
        }
        prop_assert_eq!(levels.sizes(), &sizes[..]);
        prop_assert_eq!(levels.depth(), sizes.len());
        prop_assert_eq!(levels.width() as u32, sizes.iter().copied().max().unwrap_or(0));
    }

    #[test]
    fn components_are_the_symmetric_closure(dag in any_dag(14)) {
        let n = dag.len();
        let mut joined = vec![vec![false; n]; n];
        for v in 0..n { joined[v][v] = true; }
        for (u, v) in dag.arcs() {
            joined[u.index()][v.index()] = true;
            joined[v.index()][u.index()] = true;
        }
        for k in 0..n { for i in 0..n { for j in 0..n {
            joined[i][j] |= joined[i][k] && joined[k][j];
        } } }
        let components = dag.components();
        for u in dag.tasks() {
            for v in dag.tasks() {
                prop_assert_eq!(joined[u.index()][v.index()], components.of(u) == components.of(v));
            }
        }
        let firsts = (0..n).filter(|&v| (0..v).all(|u| !joined[u][v])).count();
        prop_assert_eq!(components.count(), firsts);
        // Numbered by smallest task: the first of each component is numbered in order.
        let mut next = 0;
        for &c in components.as_slice() {
            prop_assert!(c <= next);
            next = next.max(c + 1);
        }
        let alone = (0..n).filter(|&v| joined[v].iter().filter(|&&j| j).count() == 1).count();
        prop_assert_eq!(dag.isolated_count(), alone);
    }
}

#[test]
fn a_dag_without_tasks_has_no_levels_and_no_components() {
    let dag = Dag::empty();
    assert_eq!((dag.levels().depth(), dag.levels().width()), (0, 0));
    assert_eq!(dag.components().count(), 0);
}
