//! A normal numbering for blocks, so that most equal ones are found equal. Knows nothing of kinds or profiles.

use crate::Bipartite;
use crate::budgets::survey::ROUNDS;
use cairn_kernel::{colours, narrow, places, wide};

/// Renumbers a block by what can be told of its sources and sinks without their numbers. Returns the renumbered
/// block and, for each new number of a source, the old one.
///
/// Sources are sorted by the kernel's colours. Blocks with equal results are equal up to numbering. The converse does
/// not always hold: sources that stay alike keep the order they came in. O(arcs·log arcs).
pub(crate) fn numbered(block: &Bipartite) -> (Bipartite, Vec<u32>) {
    let (s, k) = (narrow(block.sources()), narrow(block.sinks()));
    let (sources, sinks): (Vec<u32>, Vec<u32>) = ((0..s).collect(), (0..k).collect());
    let of_source = colours(&block.joins(), &sources, &sinks, ROUNDS);
    let mut old = sources;
    // Stable: what stays alike keeps its order, so the numbering is the same in every run.
    old.sort_by_key(|&u| of_source[wide(u)]);
    let new = places(&old);
    // Sinks are told by their parents alone.
    let mut rows: Vec<Vec<u32>> = (0..k)
        .map(|v| {
            let mut row: Vec<u32> = block.parents(v).iter().map(|&u| new[wide(u)]).collect();
            row.sort_unstable();
            row
        })
        .collect();
    rows.sort_unstable();
    let arcs =
        (rows.iter().enumerate()).flat_map(|(v, row)| row.iter().map(move |&u| (u, narrow(v))));
    (Bipartite::from_arcs(wide(s), wide(k), arcs.collect()), old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_bipartite, shuffled};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// It is the same block, renumbered as said.
        #[test]
        fn only_numbers_change(block in any_bipartite(8, 8)) {
            let (normal, old) = numbered(&block);
            let rows = |b: &Bipartite, name: &dyn Fn(u32) -> u32| {
                let row = |v: u32| {
                    let mut row: Vec<u32> = b.parents(v).iter().map(|&u| name(u)).collect();
                    row.sort_unstable();
                    row
                };
                let mut rows: Vec<Vec<u32>> = (0..b.sinks() as u32).map(row).collect();
                rows.sort_unstable();
                rows
            };
            prop_assert_eq!(rows(&normal, &|u| old[u as usize]), rows(&block, &|u| u));
            prop_assert_eq!(normal.sources(), block.sources());
        }
    }

    #[test]
    fn a_rigid_block_is_found_equal_in_every_numbering() {
        // A tree in which no two sources are alike.
        let arcs = vec![
            (0, 0),
            (0, 1),
            (0, 2),
            (1, 2),
            (1, 3),
            (2, 3),
            (2, 4),
            (2, 5),
            (2, 6),
            (3, 6),
        ];
        let block = Bipartite::from_arcs(4, 7, arcs);
        let normal = numbered(&block).0;
        for seed in 0..50 {
            assert_eq!(numbered(&shuffled(&block, seed)).0, normal);
        }
    }
}
