//! Dynamic programs on a bipartite tree: the optimal profile, and the best set at a price. Knows no orders.

use crate::Bipartite;
use cairn_kernel::{Puzzle, Rows, tree_program};

/// Every node with the one before it on the way to the root; each after the one it hangs from.
struct Rooted {
    /// Sources and sinks alike: (is a sink, number).
    nodes: Vec<(bool, u32)>,
    /// Index in `nodes` of the node each hangs from; the root hangs from itself.
    above: Vec<usize>,
}

impl Rooted {
    /// Hangs the tree from source 0.
    fn new(block: &Bipartite) -> Rooted {
        let mut nodes = vec![(false, 0)];
        let mut above = vec![0];
        let mut next = 0;
        while next < nodes.len() {
            let (is_sink, number) = nodes[next];
            let row = if is_sink {
                block.parents(number)
            } else {
                block.children(number)
            };
            let from = nodes[above[next]];
            let others = row.iter().map(|&n| (!is_sink, n));
            for node in others.filter(|&n| next == 0 || n != from) {
                nodes.push(node);
                above.push(next);
            }
            next += 1;
        }
        Rooted { nodes, above }
    }
}

/// E(t) of a bipartite tree for t = 0..=sources, by the tree program. O(s²).
pub(super) fn profile(block: &Bipartite) -> Vec<u32> {
    let mut own = vec![0; block.sources()];
    let mut shared = Rows::default();
    for v in 0..block.sinks() as u32 {
        match block.parents(v) {
            &[u] => own[u as usize] += 1,
            parents => {
                shared.push(parents.iter().copied());
            }
        }
    }
    tree_program::profile(&Puzzle::new(own, &shared), block.sources())
}

/// The sources of a set X that maximises `reward·eligible(X) − cost·|X|` in a bipartite tree. Linear.
pub(super) fn best_at_price(block: &Bipartite, reward: i64, cost: i64) -> Vec<bool> {
    let rooted = Rooted::new(block);
    let count = rooted.nodes.len();
    // Below a source: the best without it and with it. Below a sink: without its reward, and with all sources below
    // executed.
    let mut value: Vec<[i64; 2]> = (rooted.nodes.iter())
        .map(|&(is_sink, _)| if is_sink { [0, reward] } else { [0, -cost] })
        .collect();
    for i in (1..count).rev() {
        let [first, second] = value[i];
        let best = first.max(second);
        let above = &mut value[rooted.above[i]];
        if rooted.nodes[i].0 {
            above[0] += first;
            above[1] += best;
        } else {
            above[0] += best;
            above[1] += second;
        }
    }
    // From the root down: of each node, whether the second value was taken.
    let mut second = vec![false; count];
    let mut executed = vec![false; block.sources()];
    for i in 0..count {
        let (is_sink, number) = rooted.nodes[i];
        let above = second[rooted.above[i]];
        // Ties to the smaller set.
        let better = value[i][1] > value[i][0];
        second[i] = match (is_sink, i) {
            (_, 0) => better,
            (true, _) => above && better,
            (false, _) => above || better,
        };
        if !is_sink {
            executed[number as usize] = second[i];
        }
    }
    executed
}
