//! The chain against its slow twin, with every algorithm forced.

use super::edges::{Chain, chain};
use super::gain::Gain;
use super::graph::ClosureGraph;
use super::ids::GraphNodeId;
use super::twin::twin_chain;
use crate::Weights;
use crate::testing::{any_weighted_dag, tunings};
use cairn_dag::Dag;
use cairn_kernel::Work;
use proptest::prelude::*;
use std::cmp::Ordering;

/// The links of a chain as gain and closure nodes.
fn links(chain: &Chain, nodes: usize) -> Vec<(Gain, Vec<GraphNodeId>)> {
    let gains = chain
        .stretches
        .iter()
        .flat_map(|p| p.links.iter().map(|l| l.gain));
    let mut links: Vec<(Gain, Vec<GraphNodeId>)> = gains.map(|g| (g, Vec::new())).collect();
    for (node, link) in chain.link_of(nodes).iter().enumerate() {
        links[link.unwrap().index()].1.push(GraphNodeId::new(node));
    }
    links
}

/// Nested closures with the gains they claim, slopes never rising.
fn check_chain(graph: &ClosureGraph, links: &[(Gain, Vec<GraphNodeId>)]) {
    let mut rank = vec![usize::MAX; graph.len()];
    for (i, (gain, nodes)) in links.iter().enumerate() {
        let mut sum = Gain::ZERO;
        for &u in nodes {
            assert_eq!(rank[u.index()], usize::MAX);
            rank[u.index()] = i;
            sum += Gain {
                reward: graph.reward[u.index()],
                cost: graph.cost[u.index()],
            };
        }
        assert_eq!(*gain, sum);
    }
    assert!(rank.iter().all(|&r| r != usize::MAX));
    for &(u, w) in &graph.needs {
        assert!(rank[w.index()] <= rank[u.index()], "{u:?} needs {w:?}");
    }
    for pair in links.windows(2) {
        assert_ne!(pair[0].0.cmp_slope(pair[1].0), Ordering::Less);
    }
}

fn compare(dag: &Dag, weights: &Weights) {
    let graph = ClosureGraph::new(dag, weights).unwrap();
    let slow = twin_chain(&graph);
    // Gains sorted: links of one edge may come in several orders, but are always the same ones.
    let sorted = |links: &[(Gain, Vec<GraphNodeId>)]| {
        let gains = links.iter().map(|l| (l.0.reward, l.0.cost));
        let mut gains: Vec<_> = gains.filter(|g| *g != (0, 0)).collect();
        gains.sort_unstable();
        gains
    };
    for tuning in tunings() {
        let fast = links(&chain(&graph, &tuning, &mut Work::unlimited()), graph.len());
        check_chain(&graph, &fast);
        assert_eq!(sorted(&fast), sorted(&slow));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn chain_equals_its_twin((dag, weights) in any_weighted_dag(24)) {
        compare(&dag, &weights);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chain_of_larger_dags_equals_its_twin((dag, weights) in any_weighted_dag(90)) {
        compare(&dag, &weights);
    }
}
