//! Dynamic programs on a bipartite tree: the optimal profile, and the best set at a price. Knows no orders.

use crate::Bipartite;

/// (max,+) convolution: the best sum for each total. O(|a|·|b|).
pub(super) fn convolve(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = vec![0; a.len() + b.len() - 1];
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    for (i, &x) in short.iter().enumerate() {
        for (slot, &y) in out[i..].iter_mut().zip(long) {
            *slot = (*slot).max(x + y);
        }
    }
    out
}

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

/// E(t) of a bipartite tree for t = 0..=sources.
///
/// Below each node: the most eligible sinks for every number of executed sources. For a source u, once without and
/// once with u executed (u itself not counted). For a sink v, once when it stays ineligible or is not known to be, once
/// when all sources right below it are executed. Arrays are as long as subtrees have sources, which makes the
/// convolutions O(s²) in all. Reference: \[MR05\], where an inner loop over the number of executed children is
/// superfluous.
pub(super) fn profile(block: &Bipartite) -> Vec<u32> {
    let rooted = Rooted::new(block);
    // For sources: (not executed, executed). For sinks: (any, all below executed), the second without an offset of
    // `below` sources.
    let mut value: Vec<[Vec<u32>; 2]> = vec![[vec![0], vec![0]]; rooted.nodes.len()];
    let mut below = vec![0usize; rooted.nodes.len()];
    for i in (0..rooted.nodes.len()).rev() {
        let here = std::mem::take(&mut value[i]);
        let (is_sink, _) = rooted.nodes[i];
        let above = rooted.above[i];
        if i == 0 {
            let [without, with] = here;
            return either(&without, &with, 1);
        }
        let [first, second] = &mut value[above];
        if is_sink {
            let [any, mut all] = here;
            // With the source above executed too, the sink becomes eligible if all below are.
            all.iter_mut().for_each(|e| *e += 1);
            let best = either(&any, &all, below[i]);
            *first = convolve(first, &any);
            *second = convolve(second, &best);
        } else {
            let [without, with] = here;
            *first = convolve(first, &either(&without, &with, 1));
            *second = convolve(second, &with);
            below[above] += 1;
        }
    }
    unreachable!("the root is the first node")
}

/// The better of `a[t]` and `b[t − offset]`, as long as `b` reaches.
fn either(a: &[u32], b: &[u32], offset: usize) -> Vec<u32> {
    let mut out = a.to_vec();
    out.resize(b.len() + offset, 0);
    for (slot, &e) in out[offset..].iter_mut().zip(b) {
        *slot = (*slot).max(e);
    }
    out
}

/// The sources of a set X that maximises `reward·eligible(X) − cost·|X|` in a bipartite tree. Linear.
pub(super) fn best_at_price(block: &Bipartite, reward: i64, cost: i64) -> Vec<bool> {
    let rooted = Rooted::new(block);
    let count = rooted.nodes.len();
    // As in `profile`, but for one price instead of every number.
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
