//! Strands and sums of strands with about 10⁶ sources, bipartite trees, and the order iterators of the implicit families.

use crate::measure::timed;
use crate::random::Random;
use cairn_theory::families::{EvolvingMesh, Family, Fft, OutTree, ReductionMesh, ReductionTree};
use cairn_theory::strand::{Strand, schedule_sum};
use cairn_theory::{Bipartite, BlockOrder, Work, tree};

// Large enough that a method which is not near-linear would not come back.
const SOURCES: usize = 1_000_000;

/// Prints seconds for each kind of sum.
pub fn run() {
    println!(
        "{:34} {:>9} {:>8} {:>10}",
        "sum", "sources", "seconds", "ns/source"
    );
    for (name, strands) in sums() {
        let sources: usize = strands.iter().map(Strand::source_count).sum();
        let (order, seconds) = timed(|| schedule_sum(&strands));
        std::hint::black_box(order);
        let each = seconds * 1e9 / sources as f64;
        println!("{name:34} {sources:9} {seconds:8.3} {each:10.0}");
    }
    println!(
        "{:34} {:>9} {:>8} {:>14}",
        "bipartite tree", "nodes", "seconds", "verdict"
    );
    let mut random = Random(2);
    for nodes in [100, 1000, 10_000, 40_000] {
        tree_block(nodes, &mut random);
    }
    println!(
        "{:34} {:>9} {:>11} {:>21}",
        "implicit family", "tasks", "ns/task", "ns/task with parents"
    );
    let valid = "small enough for 64 bits";
    family(
        "evolving mesh, 4,472 levels",
        &EvolvingMesh::with_levels(4472).expect(valid),
    );
    family(
        "reduction mesh, 4,472 levels",
        &ReductionMesh::with_levels(4472).expect(valid),
    );
    family("out-tree, 2^23 leaves", &OutTree::new(2, 23).expect(valid));
    family(
        "reduction-tree, 2^23 leaves",
        &ReductionTree::new(2, 23).expect(valid),
    );
    family(
        "reduction-tree, 3^14 leaves",
        &ReductionTree::new(3, 14).expect(valid),
    );
    family("FFT, d = 19", &Fft::new(19).expect(valid));
}

/// Solves a random bipartite tree: profile, and an IC-optimal order or the proof that there is none.
fn tree_block(nodes: usize, random: &mut Random) {
    let mut side = vec![false];
    let mut arcs = Vec::new();
    let (mut number, mut count) = (vec![0], [1u32, 0]);
    for v in 1..nodes {
        let above = v - 1 - random.below(v.min(4) as u32) as usize;
        side.push(!side[above]);
        let next = &mut count[usize::from(side[v])];
        number.push(*next);
        *next += 1;
        let (source, sink) = if side[v] { (above, v) } else { (v, above) };
        arcs.push((number[source], number[sink]));
    }
    let block = Bipartite::from_arcs(count[0] as usize, count[1] as usize, arcs);
    let (answer, seconds) =
        timed(|| tree::solve(&block, &mut Work::steps(1 << 30)).expect("a tree"));
    let verdict = match answer.order {
        BlockOrder::Optimal(_) => "optimal order",
        BlockOrder::NoneExists => "none exists",
        BlockOrder::Unknown => "unknown",
    };
    println!("{:34} {nodes:9} {seconds:8.3} {verdict:>14}", "random tree");
}

/// Walks the whole order, then again asking for the parents of every task.
fn family(name: &str, family: &impl Family) {
    let tasks = family.task_count().expect("finite");
    let (sum, order) = timed(|| {
        family
            .order()
            .fold(0u64, |a, t| a.wrapping_mul(31).wrapping_add(t))
    });
    let (arcs, parents) = timed(|| {
        family
            .order()
            .map(|t| family.parents(t).count())
            .sum::<usize>()
    });
    std::hint::black_box((sum, arcs));
    let each = |seconds: f64| seconds * 1e9 / tasks as f64;
    println!(
        "{name:34} {tasks:9} {:11.1} {:21.1}",
        each(order),
        each(parents)
    );
}

fn sums() -> Vec<(&'static str, Vec<Strand>)> {
    let n = SOURCES;
    let mut random = Random(1);
    let mut draw = |count: usize, low: u32, high: u32| -> Vec<u32> {
        (0..count)
            .map(|_| low + random.below(high - low + 1))
            .collect()
    };
    let mut small = Vec::new();
    let mut total = 0;
    while total < n {
        let length = 1 + draw(1, 0, 11)[0] as usize;
        let next = strand(&draw(length, 2, 4));
        total += next.source_count();
        small.push(next);
    }
    let mixed = vec![
        strand(&w(&vec![3; n / 4])),
        strand(&m(&vec![3; n / 8])),
        strand(&w(&fibonacci(n / 4))),
        strand(&draw(n / 6, 2, 4)),
    ];
    vec![
        ("T random 2..4", vec![strand(&draw(n * 4 / 5, 2, 4))]),
        ("W random 2..3", vec![strand(&w(&draw(n, 2, 3)))]),
        ("W random 2..1000", vec![strand(&w(&draw(n, 2, 1000)))]),
        ("M random 2..4", vec![strand(&m(&draw(n / 2, 2, 4)))]),
        ("W constant 3", vec![strand(&w(&vec![3; n]))]),
        ("M constant 3", vec![strand(&m(&vec![3; n / 2]))]),
        ("T constant 2 (a path)", vec![strand(&vec![2; 2 * n])]),
        ("W alternating 2,3", vec![strand(&w(&alternating(n)))]),
        (
            "M alternating 2,3",
            vec![strand(&m(&alternating(n * 2 / 3)))],
        ),
        ("W Fibonacci 2,3", vec![strand(&w(&fibonacci(n)))]),
        ("M Fibonacci 2,3", vec![strand(&m(&fibonacci(n * 2 / 3)))]),
        ("T Fibonacci 2,3", vec![strand(&fibonacci(n * 10 / 7))]),
        (
            "W rising 2..1001",
            vec![strand(&w(&(0..n as u32)
                .map(|i| 2 + i / 1000)
                .collect::<Vec<_>>()))],
        ),
        (
            "W falling 1001..2",
            vec![strand(&w(&(0..n as u32)
                .map(|i| 1001 - i / 1000)
                .collect::<Vec<_>>()))],
        ),
        (
            "W periodic 2,2,2,5",
            vec![strand(&w(&(0..n)
                .map(|i| if i % 4 == 3 { 5 } else { 2 })
                .collect::<Vec<_>>()))],
        ),
        (
            "W periodic 5,4,2",
            vec![strand(&w(&(0..n)
                .map(|i| [5, 4, 2][i % 3])
                .collect::<Vec<_>>()))],
        ),
        (
            "W ruler",
            vec![strand(&w(&(1..=n)
                .map(|i| 2 + i.trailing_zeros())
                .collect::<Vec<_>>()))],
        ),
        (
            "W inverse ruler",
            vec![strand(&w(&(1..=n)
                .map(|i| 30 - i.trailing_zeros())
                .collect::<Vec<_>>()))],
        ),
        (
            "W Thue-Morse 2,4",
            vec![strand(&w(&(1..=n)
                .map(|i| 2 + 2 * (i.count_ones() % 2))
                .collect::<Vec<_>>()))],
        ),
        (
            "W Thue-Morse 2,3",
            vec![strand(&w(&(1..=n)
                .map(|i| 2 + (i.count_ones() % 2))
                .collect::<Vec<_>>()))],
        ),
        (
            "W blocks 4^k 2",
            vec![strand(&w(&(1..=n)
                .map(|i| if i % 1000 == 0 { 2 } else { 4 })
                .collect::<Vec<_>>()))],
        ),
        (
            "M Fibonacci 2,9",
            vec![strand(&m(&fibonacci(n / 4)
                .iter()
                .map(|d| d * 7 - 12)
                .collect::<Vec<_>>()))],
        ),
        (
            "W Fibonacci 2,9",
            vec![strand(&w(&fibonacci(n)
                .iter()
                .map(|d| d * 7 - 12)
                .collect::<Vec<_>>()))],
        ),
        ("many small T random", small),
        ("many equal M[3,3]", vec![strand(&m(&[3, 3])); n / 5]),
        ("mixed W, M, Fibonacci, T", mixed),
    ]
}

fn strand(degrees: &[u32]) -> Strand {
    Strand::from_degrees(degrees).expect("degrees of at least 2")
}

fn w(degrees: &[u32]) -> Vec<u32> {
    let mut out = vec![degrees[0]];
    out.extend(degrees[1..].iter().flat_map(|&d| [2, d]));
    out
}

fn m(degrees: &[u32]) -> Vec<u32> {
    let mut out = vec![1, degrees[0]];
    out.extend(degrees[1..].iter().flat_map(|&d| [2, d]));
    out
}

fn alternating(length: usize) -> Vec<u32> {
    (0..length as u32).map(|i| 2 + i % 2).collect()
}

fn fibonacci(length: usize) -> Vec<u32> {
    let (mut a, mut b) = (vec![2], vec![2, 3]);
    while b.len() < length {
        let longer = [b.clone(), a].concat();
        (a, b) = (b, longer);
    }
    b.truncate(length);
    b
}
