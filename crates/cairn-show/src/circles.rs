//! Which nodes lie on common circles. Knows arcs between numbers.

use cairn_kernel::Id;

/// Numbers the strongly connected components, in a topological order of them (Kosaraju's two searches). `arcs` are
/// sorted and may be repeated. Time O(nodes + arcs · log arcs).
pub(crate) fn circles<T: Id>(arcs: &[(T, T)], kinds: usize) -> Vec<u32> {
    // Sorted lists stand for the rows of both directions: the graph of kinds is small, and is thrown away at once.
    let mut back: Vec<(T, T)> = arcs.iter().map(|&(a, b)| (b, a)).collect();
    back.sort_unstable();
    let mut finished = Vec::with_capacity(kinds);
    let mut seen = vec![false; kinds];
    for start in (0..kinds).map(T::new) {
        let mut stack = vec![(start, arcs.partition_point(|arc| arc.0 < start))];
        if std::mem::replace(&mut seen[start.index()], true) {
            continue;
        }
        while let Some((node, next)) = stack.last_mut() {
            match arcs.get(*next).filter(|arc| arc.0 == *node) {
                Some(&(_, to)) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to.index()], true) {
                        stack.push((to, arcs.partition_point(|arc| arc.0 < to)));
                    }
                }
                None => finished.extend(stack.pop().map(|(node, _)| node)),
            }
        }
    }
    let mut circle = vec![0; kinds];
    seen.fill(false);
    for (&start, number) in finished.iter().rev().zip(0..) {
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node.index()], true) {
                circle[node.index()] = number;
                let from = back.partition_point(|arc| arc.0 < node);
                stack.extend(
                    back[from..]
                        .iter()
                        .take_while(|arc| arc.0 == node)
                        .map(|arc| arc.1),
                );
            }
        }
    }
    circle
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// The slow twin: two nodes share a number exactly if each reaches the other; other arcs go to larger numbers.
        #[test]
        fn numbers_are_shared_on_circles_only(raw in prop::collection::vec((0u32..8, 0u32..8), 0..30)) {
            let mut arcs: Vec<(u32, u32)> = raw.into_iter().filter(|(a, b)| a != b).collect();
            arcs.sort_unstable();
            let found = circles(&arcs, 8);
            let mut reach = [[false; 8]; 8];
            (0..8).for_each(|a| reach[a][a] = true);
            arcs.iter().for_each(|&(a, b)| reach[a as usize][b as usize] = true);
            for k in 0..8 { for a in 0..8 { for b in 0..8 { reach[a][b] |= reach[a][k] && reach[k][b]; } } }
            for a in 0..8 { for b in 0..8 {
                prop_assert_eq!(found[a] == found[b], reach[a][b] && reach[b][a]);
                prop_assert!(!reach[a][b] || found[a] <= found[b]);
            } }
        }
    }
}
