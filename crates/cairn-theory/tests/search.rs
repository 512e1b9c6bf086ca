//! Exact search against brute force over all sets of sources, and against the tree program.

mod subsets;

use cairn_theory::{Bipartite, BlockAnswer, BlockOrder, Work, search, tree};
use subsets::{Random, sum, truth};

/// Dense, sparse, regular, with twins, with idle sources and free sinks, in several components.
fn any_block(random: &mut Random, most: usize) -> Bipartite {
    let (sources, sinks) = (random.from(1, most), random.below(most + 4));
    let mut arcs = Vec::new();
    let style = random.below(5);
    for v in 0..sinks as u32 {
        let parents = match style {
            0 => random.below(3),
            1 => 2,
            2 => random.from(1, sources),
            3 => random.from(1, 3),
            _ => 1 + random.below(2) * random.below(5),
        };
        let near = random.below(2) * random.below(sources);
        for _ in 0..parents {
            let u = match style {
                3 | 4 => (near + random.below(4)) % sources,
                _ => random.below(sources),
            };
            arcs.push((u as u32, v));
        }
        if random.below(6) == 0 && v > 0 {
            // A twin of the sink before.
            arcs.retain(|a| a.1 != v);
            let twin: Vec<_> = arcs
                .iter()
                .filter(|a| a.1 == v - 1)
                .map(|a| (a.0, v))
                .collect();
            arcs.extend(twin);
        }
    }
    Bipartite::from_arcs(sources, sinks, arcs)
}

fn check(block: &Bipartite, answer: Option<BlockAnswer>) -> bool {
    let truth = truth(block);
    let answer = answer.unwrap_or_else(|| panic!("gave up on {block:?}"));
    assert_eq!(answer.profile, truth.profile, "{block:?}");
    match answer.order {
        BlockOrder::Optimal(order) => {
            assert_eq!(block.profile(&order), truth.profile, "{block:?}");
            assert!(truth.order.is_some());
            true
        }
        BlockOrder::NoneExists => {
            assert_eq!(truth.order, None, "{block:?}");
            false
        }
        BlockOrder::Unknown => panic!("undecided: {block:?}"),
    }
}

#[test]
fn agrees_with_brute_force() {
    let mut random = Random(1);
    let mut seen = [0; 2];
    for round in 0..6000 {
        let most = if round % 10 == 0 { 13 } else { 8 };
        let block = any_block(&mut random, most);
        let answer = search::solve(&block, &mut Work::unlimited());
        seen[usize::from(check(&block, answer))] += 1;
        assert!(block.sources() > 0);
    }
    assert!(seen.iter().all(|&n| n > 300), "{seen:?}");
}

/// A budget is a limit, not a hint: with less there is the same answer or none.
#[test]
fn a_small_budget_gives_up_and_never_lies() {
    let mut random = Random(2);
    let mut gave_up = 0;
    for _ in 0..1000 {
        let block = any_block(&mut random, 9);
        let whole = search::solve(&block, &mut Work::unlimited());
        let little = search::solve(&block, &mut Work::steps(random.below(60) as u64));
        if little.is_none() {
            gave_up += 1;
        } else {
            assert_eq!(little, whole);
        }
    }
    assert!(gave_up > 100, "{gave_up}");
}

/// The same as the tree program on trees, and as itself under other names.
#[test]
fn agrees_with_the_tree_program() {
    let mut random = Random(3);
    for _ in 0..300 {
        let (nodes, stretch) = (random.from(10, 24), random.below(4));
        let tree = random.tree(nodes, stretch);
        let known = tree::solve(&tree, &mut Work::steps(1 << 30)).unwrap();
        let (other, _) = random.relabelled(&tree);
        let Some(answer) = search::solve(&other, &mut Work::steps(1_000_000)) else {
            continue;
        };
        assert_eq!(answer.profile, known.profile);
        match answer.order {
            BlockOrder::Optimal(order) => {
                assert_eq!(other.profile(&order), known.profile);
                assert!(matches!(known.order, BlockOrder::Optimal(_)));
            }
            order => assert_eq!(known.order, order),
        }
    }
}

/// Twins cost nothing: a large block of few classes takes a handful of states.
#[test]
fn twins_are_merged() {
    let complete = |s: u32, t: u32| {
        let arcs = (0..s).flat_map(|u| (0..t).map(move |v| (u, v))).collect();
        Bipartite::from_arcs(s as usize, t as usize, arcs)
    };
    let block = sum(&[complete(300, 40), complete(7, 200), complete(400, 1)]);
    let answer = search::solve(&block, &mut Work::steps(40)).expect("three classes");
    let (BlockOrder::Optimal(order), profile) = (answer.order, answer.profile) else {
        panic!("three classes");
    };
    assert_eq!(block.profile(&order), profile);
    assert_eq!((profile[7], profile[307], profile[707]), (200, 240, 241));
}

/// The smallest bipartite dags without an IC-optimal order have six nodes: a single arc beside a pair of sources that
/// share two sinks. The best source is not in the best pair.
#[test]
fn smallest_bipartite_dags_without_an_ic_optimal_order() {
    let mut without = Vec::new();
    for nodes in 2..=6usize {
        for sources in 1..nodes {
            let sinks = nodes - sources;
            let bits = sources * sinks;
            for arcs in 0u32..1 << bits {
                let arcs = (0..bits).filter(|b| arcs >> b & 1 == 1);
                let arcs = arcs.map(|b| ((b / sinks) as u32, (b % sinks) as u32));
                let block = Bipartite::from_arcs(sources, sinks, arcs.collect());
                if !check(&block, search::solve(&block, &mut Work::unlimited())) {
                    without.push(block);
                }
            }
        }
    }
    // Three ways to choose the lone source, three to choose its sink.
    assert_eq!(without.len(), 9, "{without:?}");
    for block in without {
        assert_eq!(
            (block.sources(), block.sinks(), block.arc_count()),
            (3, 3, 5)
        );
        assert_eq!(truth(&block).profile, [0, 1, 2, 3]);
    }
}
