//! Strands against brute force, against the greedy rule taken literally, and in every numbering.

mod subsets;

use cairn_theory::Bipartite;
use cairn_theory::strand::{Strand, StrandKind, schedule_sum};
use std::collections::BTreeSet;
use subsets::{Random, sum, truth};

/// All degree sequences with at most `sources` sources and no backbone source of outdegree above `outdegree`.
fn all_strands(sources: usize, outdegree: u32) -> Vec<Vec<u32>> {
    fn extend(found: &mut Vec<Vec<u32>>, degrees: Vec<u32>, sources: usize, outdegree: u32) {
        // `sources` counts those still allowed.
        let sink_next = degrees.len() % 2 == 1;
        if sink_next {
            found.push(degrees.clone());
            for indegree in 2..=sources as u32 + 1 {
                let longer = [&degrees[..], &[indegree]].concat();
                extend(found, longer, sources + 1 - indegree as usize, outdegree);
            }
        } else {
            // The last sink's rightmost parent is a leaf, or the next backbone source.
            found.push(degrees.clone());
            for degree in 2..=outdegree {
                let longer = [&degrees[..], &[degree]].concat();
                extend(found, longer, sources, outdegree);
            }
        }
    }
    let mut found = Vec::new();
    for first in 1..=outdegree {
        extend(&mut found, vec![first], sources - 1, outdegree);
    }
    found
}

fn w(degrees: &[u32]) -> Vec<u32> {
    let mut out = vec![degrees[0]];
    for &d in &degrees[1..] {
        out.extend([2, d]);
    }
    out
}

fn m(degrees: &[u32]) -> Vec<u32> {
    let mut out = vec![1, degrees[0]];
    for &d in &degrees[1..] {
        out.extend([2, d]);
    }
    out
}

fn strand(degrees: &[u32]) -> Strand {
    Strand::from_degrees(degrees).unwrap()
}

/// The order of a sum in the numbering of [`sum`].
fn flat_order(strands: &[Strand]) -> Vec<u32> {
    let mut offset = vec![0];
    for s in strands {
        offset.push(offset[offset.len() - 1] + s.source_count() as u32);
    }
    let order = schedule_sum(strands);
    order.iter().map(|&(i, u)| offset[i as usize] + u).collect()
}

fn flat_block(strands: &[Strand]) -> Bipartite {
    let blocks: Vec<_> = strands.iter().map(Strand::to_bipartite).collect();
    sum(&blocks)
}

/// The greedy rule of Theorem 4.2 of [CMR07] word by word, ties broken at random: eligibility vectors are counted
/// sink by sink. Sources of `block` must be numbered from left to right, strand after strand.
fn literal_greedy(block: &Bipartite, ends: &[u32], random: &mut Random) -> Vec<u32> {
    let n = block.sources();
    let mut executed = vec![false; n];
    let mut waiting: Vec<usize> = (0..block.sinks() as u32)
        .map(|v| block.parents(v).len())
        .collect();
    let mut order = Vec::new();
    for _ in 0..n {
        let mut vectors = Vec::new();
        for u in (0..n as u32).filter(|&u| !executed[u as usize]) {
            let end = *ends.iter().find(|&&e| e > u).unwrap();
            let mut left = waiting.clone();
            let mut vector: Vec<usize> = Vec::new();
            for next in (u..end).take_while(|&next| !executed[next as usize]) {
                let mut new = 0;
                for &v in block.children(next) {
                    left[v as usize] -= 1;
                    new += usize::from(left[v as usize] == 0);
                }
                vector.push(new);
            }
            vector.resize(n, 0);
            vectors.push((vector, u));
        }
        let best = vectors.iter().map(|(v, _)| v).max().unwrap().clone();
        let ties: Vec<u32> = (vectors.iter())
            .filter(|(v, _)| *v == best)
            .map(|&(_, u)| u)
            .collect();
        let u = ties[random.below(ties.len())];
        executed[u as usize] = true;
        for &v in block.children(u) {
            waiting[v as usize] -= 1;
        }
        order.push(u);
    }
    order
}

/// Whether every way to break ties in the greedy rule is IC-optimal: all sets it can reach attain the optimum.
fn every_greedy_order_is_optimal(block: &Bipartite, ends: &[u32]) -> bool {
    let n = block.sources() as u32;
    let best = truth(block).profile;
    let parents: Vec<u32> = (0..block.sinks() as u32)
        .map(|v| block.parents(v).iter().map(|&u| 1 << u).sum())
        .collect();
    let eligible = |set: u32| parents.iter().filter(|&&p| p & !set == 0).count() as u32;
    let vector = |set: u32, u: u32| -> Vec<u32> {
        let end = *ends.iter().find(|&&e| e > u).unwrap();
        let stop = (u..end).find(|next| set >> next & 1 == 1).unwrap_or(end);
        let row = |k: u32| (u..stop.min(u + k)).fold(set, |s, next| s | 1 << next);
        (1..=n).map(|k| eligible(row(k))).collect()
    };
    let mut front = BTreeSet::from([0u32]);
    for &goal in &best[1..] {
        let mut next = BTreeSet::new();
        for &set in &front {
            let open = (0..n).filter(|u| set >> u & 1 == 0);
            let vectors: Vec<_> = open.map(|u| (vector(set, u), u)).collect();
            let largest = vectors.iter().map(|(v, _)| v).max().unwrap();
            let ties = vectors.iter().filter(|(v, _)| v == largest);
            next.extend(ties.map(|(_, u)| set | 1 << u));
        }
        if next.iter().any(|&set| eligible(set) != goal) {
            return false;
        }
        front = next;
    }
    true
}

/// [CMR07] Theorem 4.2 says *every* greedy schedule: all strands up to 6 sources, and random sums.
#[test]
fn every_way_to_break_ties_is_optimal() {
    for degrees in all_strands(6, 3) {
        let block = strand(&degrees).to_bipartite();
        let ends = [block.sources() as u32];
        assert!(every_greedy_order_is_optimal(&block, &ends), "{degrees:?}");
    }
    let mut random = Random(8);
    for _ in 0..400 {
        let strands = random_sum(&mut random, 10);
        let mut ends: Vec<u32> = strands.iter().map(|s| s.source_count() as u32).collect();
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        assert!(every_greedy_order_is_optimal(&flat_block(&strands), &ends));
    }
}

/// [CMR07] Theorems 4.1 and 4.2 for single strands: every strand up to 7 sources.
#[test]
fn every_small_strand_is_scheduled_optimally() {
    let mut random = Random(1);
    let all = all_strands(7, 4);
    assert!(all.len() > 20_000, "{}", all.len());
    for degrees in &all {
        let strand = strand(degrees);
        assert_eq!(strand.degrees(), *degrees);
        let block = strand.to_bipartite();
        assert_eq!(block.sources(), strand.source_count());
        let best = truth(&block).profile;
        assert_eq!(block.profile(&strand.schedule()), best, "{degrees:?}");
        if block.sources() <= 6 {
            let ends = [block.sources() as u32];
            let literal = literal_greedy(&block, &ends, &mut random);
            assert_eq!(block.profile(&literal), best, "{degrees:?} {literal:?}");
        }
    }
}

fn random_sum(random: &mut Random, most_sources: usize) -> Vec<Strand> {
    let limit = random.from(1, most_sources);
    let outdegree = random.from(2, 5);
    let mut strands: Vec<Strand> = Vec::new();
    let mut total = 0;
    for _ in 0..8 {
        let length = random.from(1, 12);
        let degrees: Vec<u32> = (0..length)
            .map(|i| random.from(1 + usize::from(i > 0), outdegree) as u32)
            .collect();
        let next = strand(&degrees);
        if total + next.source_count() <= limit {
            total += next.source_count();
            strands.push(next);
        }
    }
    if strands.is_empty() {
        strands.push(strand(&[1]));
    }
    strands
}

/// [CMR07] Theorems 4.1 and 4.2 and Corollary 4.1 for sums: against all sets of sources.
#[test]
fn sums_of_strands_are_scheduled_optimally() {
    let mut random = Random(2);
    for _ in 0..4000 {
        let strands = random_sum(&mut random, 13);
        let block = flat_block(&strands);
        let best = truth(&block).profile;
        let show = || strands.iter().map(Strand::degrees).collect::<Vec<_>>();
        let order = flat_order(&strands);
        assert_eq!(block.profile(&order), best, "{:?}", show());
        let mut ends: Vec<u32> = strands.iter().map(|s| s.source_count() as u32).collect();
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let literal = literal_greedy(&block, &ends, &mut random);
        assert_eq!(block.profile(&literal), best, "{:?} {literal:?}", show());
    }
}

/// Periodic, nearly periodic and mixed sums: long common extensions everywhere.
fn long_sum(random: &mut Random, most: usize) -> Vec<Strand> {
    let count = random.from(1, 4);
    let largest = random.from(2, 4);
    let mut strands = Vec::new();
    for _ in 0..count {
        let length = random.from(1, most / count / 2 + 1);
        let period = random.from(1, 12);
        let word: Vec<usize> = (0..period).map(|_| random.from(2, largest)).collect();
        let noise = random.below(3);
        let base: Vec<u32> = (0..length)
            .map(|i| {
                let wild = random.below(20) < noise;
                let d = if wild {
                    random.from(2, largest)
                } else {
                    word[i % period]
                };
                d as u32
            })
            .collect();
        let degrees = match random.below(3) {
            0 => w(&base),
            1 => m(&base),
            _ => base,
        };
        strands.push(strand(&degrees));
    }
    strands
}

/// The near-linear form against the rule taken literally, where brute force over sets is hopeless.
#[test]
fn fast_greedy_equals_literal_greedy_on_long_sums() {
    let mut random = Random(3);
    for _ in 0..150 {
        let strands = long_sum(&mut random, 90);
        let block = flat_block(&strands);
        let mut ends: Vec<u32> = strands.iter().map(|s| s.source_count() as u32).collect();
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let fast = flat_order(&strands);
        let literal = literal_greedy(&block, &ends, &mut random);
        assert_eq!(block.profile(&fast), block.profile(&literal));
    }
}

/// A strand is recognised in every numbering, with one canonical reading, and scheduled as well.
#[test]
fn recognition_is_independent_of_numbering() {
    let mut random = Random(4);
    for degrees in all_strands(6, 3) {
        let block = strand(&degrees).to_bipartite();
        let plain = Strand::recognise(&block).unwrap();
        let (other, name) = random.relabelled(&block);
        let found = Strand::recognise(&other).unwrap();
        assert_eq!(found.degrees(), plain.degrees());
        assert_eq!(found.kind(), plain.kind());
        assert_eq!(found.kind(), strand(&degrees).kind());
        assert_eq!(
            other.profile(&found.schedule()),
            block.profile(&plain.schedule())
        );
        // The reading is a true one: rebuilding from the degrees gives the same dag up to names.
        let rebuilt = Strand::recognise(&strand(&found.degrees()).to_bipartite()).unwrap();
        assert_eq!(rebuilt.degrees(), found.degrees());
        let mut back = vec![0; name.len()];
        for (u, &n) in name.iter().enumerate() {
            back[n as usize] = u as u32;
        }
        let mut row: Vec<u32> = found.sources().iter().map(|&u| back[u as usize]).collect();
        row.sort_unstable();
        assert_eq!(row, (0..name.len() as u32).collect::<Vec<_>>());
    }
}

/// Of random trees exactly the caterpillars are recognised: those whose nodes of degree ≥ 2 have at most two
/// neighbours of degree ≥ 2.
#[test]
fn only_caterpillars_are_recognised() {
    let mut random = Random(5);
    let mut seen = [0; 2];
    for _ in 0..5000 {
        let (nodes, stretch) = (random.from(2, 14), random.below(6));
        let tree = random.tree(nodes, stretch);
        let heavy_children = |u: u32| {
            tree.children(u)
                .iter()
                .filter(|&&v| tree.parents(v).len() > 1)
                .count()
        };
        let heavy_parents = |v: u32| {
            tree.parents(v)
                .iter()
                .filter(|&&u| tree.children(u).len() > 1)
                .count()
        };
        let expected = (0..tree.sources() as u32).all(|u| heavy_children(u) <= 2)
            && (0..tree.sinks() as u32).all(|v| heavy_parents(v) <= 2);
        assert_eq!(Strand::recognise(&tree).is_some(), expected, "{tree:?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&n| n > 500), "{seen:?}");
}

/// W- and M-strands carry their names, and reversing all arcs swaps them ([CMR07] §3).
#[test]
fn dual_of_a_w_strand_is_an_m_strand() {
    let mut random = Random(6);
    for _ in 0..500 {
        let base: Vec<u32> = (0..random.from(1, 6))
            .map(|_| random.from(2, 5) as u32)
            .collect();
        assert_eq!(strand(&w(&base)).kind(), StrandKind::W);
        assert_eq!(strand(&m(&base)).kind(), StrandKind::M);
        let dual = Strand::recognise(&strand(&w(&base)).to_bipartite().dual()).unwrap();
        assert_eq!(dual.kind(), StrandKind::M);
        let plain = Strand::recognise(&strand(&m(&base)).to_bipartite()).unwrap();
        assert_eq!(dual.degrees(), plain.degrees());
    }
}

/// A sum of 200,000 sources in adversarial shapes: every source once, and a profile no worse than any strand's own
/// order followed by the others'.
#[test]
fn long_sums_stay_valid() {
    let mut random = Random(7);
    let fibonacci = {
        let (mut a, mut b) = (vec![2u32], vec![2, 3]);
        while b.len() < 20_000 {
            let longer = [b.clone(), a].concat();
            (a, b) = (b, longer);
        }
        w(&b)
    };
    let strands = [
        strand(&w(&vec![3; 20_000])),
        strand(&m(&vec![3; 10_000])),
        strand(&fibonacci),
        strand(&vec![2; 40_001]),
        strand(
            &(0..40_000)
                .map(|_| random.from(2, 4) as u32)
                .collect::<Vec<_>>(),
        ),
    ];
    let block = flat_block(&strands);
    let merged = block.profile(&flat_order(&strands));
    let mut one_by_one = Vec::new();
    let mut offset = 0;
    for s in &strands {
        one_by_one.extend(s.schedule().iter().map(|u| u + offset));
        offset += s.source_count() as u32;
    }
    let plain = block.profile(&one_by_one);
    assert!(merged.iter().zip(&plain).all(|(a, b)| a >= b));
}
