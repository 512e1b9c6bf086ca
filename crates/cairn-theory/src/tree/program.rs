//! Dynamic programs on a bipartite tree: the optimal profile, and the best set at a price. Knows no orders.

use crate::Bipartite;
use crate::undirected::Undirected;
use cairn_kernel::{Stopped, Work, tree_program};

/// E(t) of a bipartite tree for t = 0..=sources, by the tree program, unless `work` says stop. O(s²).
pub(super) fn profile(block: &Bipartite, work: &Work<'_>) -> Result<Vec<u32>, Stopped> {
    // Under the same question alone: how large a tree may be is decided before, by its sources.
    let profile = tree_program::profile(&block.puzzle(), block.sources(), &mut work.unmetered());
    profile.ok_or(Stopped)
}

/// The sources of a set X that maximises `reward·eligible(X) − cost·|X|` in a bipartite tree. Linear.
pub(super) fn best_at_price(block: &Bipartite, reward: i64, cost: i64) -> Vec<bool> {
    let graph = Undirected(block);
    let (order, above) = graph.breadth_first(0);
    // Below a source: the best without it and with it. Below a sink: without its reward, and with all sources below
    // executed.
    let mut value: Vec<[i64; 2]> = (0..graph.count())
        .map(|node| [0, if graph.is_sink(node) { reward } else { -cost }])
        .collect();
    for &node in order[1..].iter().rev() {
        let [first, second] = value[node];
        let best = first.max(second);
        let above = &mut value[above[node]];
        if graph.is_sink(node) {
            above[0] += first;
            above[1] += best;
        } else {
            above[0] += best;
            above[1] += second;
        }
    }
    // From the root down: of each node, whether the second value was taken.
    let mut second = vec![false; graph.count()];
    for &node in &order {
        let is_above = second[above[node]];
        // Ties to the smaller set.
        let better = value[node][1] > value[node][0];
        second[node] = match graph.is_sink(node) {
            _ if above[node] == node => better,
            true => is_above && better,
            false => is_above || better,
        };
    }
    second.truncate(block.sources());
    second
}
