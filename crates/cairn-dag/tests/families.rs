//! Every family: its counts by formula, its shape by definition, its errors, and that a seed fixes the dag.

use cairn_dag::{Dag, Family, FamilyError, FamilyOptions, TaskId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn build(family: Family) -> Dag {
    family.build(0).unwrap()
}

/// Tasks, arcs, sources, sinks, depth.
fn counts(dag: &Dag) -> [usize; 5] {
    [
        dag.len(),
        dag.arc_count(),
        dag.sources().count(),
        dag.sinks().count(),
        dag.levels().depth(),
    ]
}

/// Sources first, then sinks, no task both: the sinks of each source, numbered from 0.
fn rows(dag: &Dag) -> Vec<Vec<u32>> {
    let sources = dag.sources().count() as u32;
    assert!(dag.sources().all(|s| s.0 < sources && !dag.is_sink(s)));
    assert!(dag.arcs().all(|(u, v)| u.0 < sources && v.0 >= sources));
    let row = |s| dag.children(TaskId(s)).iter().map(|c| c.0 - sources);
    (0..sources).map(|s| row(s).collect()).collect()
}

/// The components of the split graph, each as its arcs: the blocks of a composite.
fn blocks(dag: &Dag) -> Vec<Vec<(TaskId, TaskId)>> {
    let mut block: Vec<usize> = (0..dag.arc_count()).collect();
    let arcs: Vec<_> = dag.arcs().collect();
    // Slow and obvious: join arcs with a common tail or head until nothing changes.
    loop {
        let mut changed = false;
        for i in 0..arcs.len() {
            for j in 0..i {
                if (arcs[i].0 == arcs[j].0 || arcs[i].1 == arcs[j].1) && block[i] != block[j] {
                    let (low, high) = (block[i].min(block[j]), block[i].max(block[j]));
                    block
                        .iter_mut()
                        .filter(|b| **b == high)
                        .for_each(|b| *b = low);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut parts: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (arc, block) in arcs.into_iter().zip(block) {
        parts.entry(block).or_default().push(arc);
    }
    parts.into_values().collect()
}

fn is_connected(dag: &Dag) -> bool {
    dag.components().count() == 1
}

/// T[δ] drawn entry by entry: backbone tasks with their private neighbours between the joints.
fn t_strand_twin(degrees: &[u32]) -> Vec<Vec<u32>> {
    let (mut sources, mut sinks) = (0u32, 0u32);
    let mut arcs = BTreeSet::new();
    // The backbone task before, to which the next is joined.
    let mut before = None;
    for (i, &degree) in degrees.iter().enumerate() {
        let has_next = i + 1 < degrees.len();
        let private = degree - u32::from(before.is_some()) - u32::from(has_next);
        let own = if i % 2 == 0 { &mut sources } else { &mut sinks };
        let me = *own;
        *own += 1;
        let other = if i % 2 == 0 { &mut sinks } else { &mut sources };
        let mut arc = |theirs| {
            arcs.insert(if i % 2 == 0 {
                (me, theirs)
            } else {
                (theirs, me)
            });
        };
        before.into_iter().for_each(&mut arc);
        for _ in 0..private {
            arc(*other);
            *other += 1;
        }
        before = Some(me);
    }
    // A strand of one entry with degree 1 is one arc.
    let mut rows = vec![Vec::new(); sources as usize];
    for (source, sink) in arcs {
        rows[source as usize].push(sink);
    }
    rows
}

/// Heavy sequences: all entries above 1, save perhaps the first.
fn heavy(first: std::ops::Range<u32>) -> impl Strategy<Value = Vec<u32>> {
    (first, prop::collection::vec(2u32..6, 0..8)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn w_and_m(s in 1u32..12, d in 2u32..7) {
        let (s_, d_) = (s as usize, d as usize);
        let w = build(Family::W { s, d });
        prop_assert_eq!(counts(&w), [s_ * d_ + 1, s_ * d_, s_, s_ * (d_ - 1) + 1, 2]);
        for (i, row) in rows(&w).iter().enumerate() {
            let left = i as u32 * (d - 1);
            prop_assert_eq!(row, &(left..left + d).collect::<Vec<_>>());
        }
        let m = build(Family::M { s, d });
        prop_assert_eq!(counts(&m), [s_ * d_ + 1, s_ * d_, s_ * (d_ - 1) + 1, s_, 2]);
        prop_assert_eq!(rows(&m).len(), rows(&w).iter().flatten().collect::<BTreeSet<_>>().len());
        let reversed = |dag: &Dag| -> BTreeSet<(u32, u32)> {
            let rows = rows(dag).into_iter().enumerate();
            rows.flat_map(|(u, row)| row.into_iter().map(move |v| (v, u as u32))).collect()
        };
        let flipped: BTreeSet<_> = reversed(&w).into_iter().map(|(v, u)| (u, v)).collect();
        prop_assert_eq!(reversed(&m), flipped);
        prop_assert!(is_connected(&w) && is_connected(&m));
        prop_assert_eq!(&build(Family::WStrand(vec![d; s_])), &w);
        prop_assert_eq!(&build(Family::MStrand(vec![d; s_])), &m);
    }

    #[test]
    fn n_c_q_k(s in 1u32..12, t in 1u32..12) {
        let (s_, t_) = (s as usize, t as usize);
        let n = build(Family::N { s });
        prop_assert_eq!(counts(&n), [2 * s_, 2 * s_ - 1, s_, s_, 2]);
        for (v, row) in rows(&n).into_iter().enumerate() {
            prop_assert_eq!(row, (v as u32..(v as u32 + 2).min(s)).collect::<Vec<_>>());
        }
        let k = build(Family::K { s, t });
        prop_assert_eq!(counts(&k), [s_ + t_, s_ * t_, s_, t_, 2]);
        if s >= 2 {
            let c = build(Family::C { s });
            prop_assert_eq!(counts(&c), [2 * s_, 2 * s_, s_, s_, 2]);
            for (v, row) in rows(&c).into_iter().enumerate() {
                let expected = BTreeSet::from([v as u32, (v as u32 + 1) % s]);
                prop_assert_eq!(row, expected.into_iter().collect::<Vec<_>>());
            }
            prop_assert_eq!(build(Family::Q { s }), build(Family::K { s, t: s }));
        }
    }

    #[test]
    fn strands(degrees in heavy(1..6), wide in heavy(2..6)) {
        if degrees != [1] {
            let t = build(Family::TStrand(degrees.clone()));
            prop_assert_eq!(rows(&t), t_strand_twin(&degrees));
            let arcs = degrees.iter().sum::<u32>() as usize - (degrees.len() - 1);
            prop_assert_eq!((t.arc_count(), t.len()), (arcs, arcs + 1));
            prop_assert!(is_connected(&t));
        }
        let joined = |start: &[u32]| {
            let mut all = start.to_vec();
            for (i, &d) in wide.iter().enumerate() {
                if i > 0 { all.push(2); }
                all.push(d);
            }
            build(Family::TStrand(all))
        };
        let w = build(Family::WStrand(wide.clone()));
        prop_assert_eq!(&w, &joined(&[]));
        let total = wide.iter().sum::<u32>() as usize;
        prop_assert_eq!(counts(&w), [total + 1, total, wide.len(), total + 1 - wide.len(), 2]);
        let outdegrees: Vec<u32> = rows(&w).iter().map(|row| row.len() as u32).collect();
        prop_assert_eq!(&outdegrees, &wide);
        let m = build(Family::MStrand(wide.clone()));
        prop_assert_eq!(&m, &joined(&[1]));
        prop_assert_eq!(counts(&m), [total + 1, total, total + 1 - wide.len(), wide.len(), 2]);
        let indegrees: Vec<u32> = m.sinks().map(|s| m.parents(s).len() as u32).collect();
        prop_assert_eq!(&indegrees, &wide);
    }

    /// Points as vectors, ids by sorting them.
    #[test]
    fn meshes(levels in 1u32..7, dim in 1u32..5) {
        let mut points: Vec<Vec<u32>> = vec![Vec::new()];
        for _ in 0..dim {
            points = points.iter()
                .flat_map(|p| (0..levels).map(move |x| [&p[..], &[x]].concat()))
                .filter(|p| p.iter().sum::<u32>() < levels)
                .collect();
        }
        points.sort_by_key(|p| (p.iter().sum::<u32>(), p.iter().rev().copied().collect::<Vec<_>>()));
        let id: BTreeMap<_, u32> = points.iter().zip(0..).collect();
        let mut arcs = Vec::new();
        for p in &points {
            for i in 0..dim as usize {
                let mut next = p.clone();
                next[i] += 1;
                if let Some(&child) = id.get(&next) {
                    arcs.push((id[p], child));
                }
            }
        }
        let mesh = build(Family::Mesh { levels, dim });
        prop_assert_eq!(&mesh, &Dag::from_arcs(points.len(), arcs).unwrap());
        let last = points.iter().filter(|p| p.iter().sum::<u32>() == levels - 1).count();
        prop_assert_eq!(mesh.sources().count(), 1);
        prop_assert_eq!(mesh.sinks().count(), last);
        prop_assert_eq!(mesh.levels().depth() as u32, levels);
        let reduction = build(Family::ReductionMesh { levels, dim });
        prop_assert_eq!(reduction, upside_down(&mesh));
    }

    #[test]
    fn trees(height in 0u32..6, arity in 1u32..5) {
        let generation = |g: u32| arity.pow(g) as usize;
        let tasks: usize = (0..=height).map(generation).sum();
        let tree = build(Family::OutTree { height, arity });
        let leaves = generation(height);
        prop_assert_eq!(counts(&tree), [tasks, tasks - 1, 1, leaves, height as usize + 1]);
        let sizes: Vec<u32> = (0..=height).map(|g| generation(g) as u32).collect();
        prop_assert_eq!(tree.levels().sizes().to_vec(), sizes);
        let degree = |t| tree.children(t).len() as u32;
        prop_assert!(tree.tasks().all(|t| tree.parents(t).len() <= 1 && [0, arity].contains(&degree(t))));
        let reduction = build(Family::ReductionTree { height, arity });
        prop_assert_eq!(&reduction, &upside_down(&tree));
        // The same tree from its words.
        let mut words = vec![String::new()];
        for _ in 0..height {
            words = words.iter().flat_map(|w| (0..arity).map(move |d| format!("{w}{d}"))).collect();
        }
        prop_assert_eq!(build(Family::PrefixTree { words, arity }), reduction);
    }

    /// Grows a full prefix-closed set at random leaves; one arc a word, to the word without its last letter.
    #[test]
    fn prefix_trees(grow in prop::collection::vec(any::<prop::sample::Index>(), 0..12), arity in 2u32..5) {
        let mut leaves = vec![String::new()];
        let mut all = leaves.clone();
        for index in grow {
            let leaf = leaves.swap_remove(index.index(leaves.len()));
            let longer: Vec<String> = (0..arity).map(|d| format!("{leaf}{d}")).collect();
            all.extend(longer.iter().cloned());
            leaves.extend(longer);
        }
        all.sort_by_key(|w| (w.len(), w.clone()));
        let n = all.len();
        let mut arcs = Vec::new();
        for (i, word) in all.iter().enumerate().skip(1) {
            let parent = all.iter().position(|w| **w == word[..word.len() - 1]).unwrap();
            arcs.push(((n - 1 - i) as u32, (n - 1 - parent) as u32));
        }
        let dag = build(Family::PrefixTree { words: leaves.clone(), arity });
        prop_assert_eq!(&dag, &Dag::from_arcs(n, arcs).unwrap());
        prop_assert_eq!(build(Family::PrefixTree { words: all, arity }), dag);
        if leaves.len() > 1 {
            let missing = leaves.pop().unwrap();
            let less = Family::PrefixTree { words: leaves, arity }.build(0);
            let word = missing[..missing.len() - 1].to_owned();
            prop_assert_eq!(less, Err(FamilyError::NotFull { word, missing }));
        }
    }

    #[test]
    fn networks(d in 1u32..7, w in 1u32..40) {
        let (d_, w_, width) = (d as usize, w as usize, 1usize << d);
        let fft = build(Family::Fft { dimension: d });
        prop_assert_eq!(counts(&fft), [(d_ + 1) * width, 2 * d_ * width, width, width, d_ + 1]);
        // Exactly one path from each source to each sink.
        let mut paths = vec![0u32; fft.len()];
        paths[(w as usize * 7) % width] = 1;
        for &task in fft.topological_order() {
            for child in fft.children(task) {
                paths[child.index()] += paths[task.index()];
            }
        }
        prop_assert!(fft.sinks().all(|sink| paths[sink.index()] == 1));
        // Butterflies: two tasks with a common child have both children in common.
        for task in fft.tasks() {
            for child in fft.children(task) {
                let same = |&p: &TaskId| fft.children(p) == fft.children(task);
                prop_assert!(fft.parents(*child).iter().all(same));
            }
        }

        let fork_join = build(Family::ForkJoin { w });
        prop_assert_eq!(counts(&fork_join), [w_ + 2, 2 * w_, 1, 1, 3]);
        prop_assert_eq!(fork_join.levels().width(), w_);

        let airsn = build(Family::Airsn { w });
        prop_assert_eq!(counts(&airsn), [3 * w_ + 23, 5 * w_ + 20, w_ + 1, 1, 25]);
        let sizes = airsn.levels();
        prop_assert_eq!(&sizes.sizes()[1..], [[1; 20].as_slice(), &[w, 1, w, 1]].concat());
        let covers = airsn.tasks().filter(|&t| airsn.parents(t).len() == 2);
        let covers: Vec<TaskId> = if w == 2 { covers.take(2).collect() } else { covers.collect() };
        prop_assert_eq!(covers.len(), w_);
        for cover in covers {
            prop_assert_eq!(airsn.parents(cover)[0], TaskId(20));
            let fringe = airsn.parents(cover)[1];
            prop_assert!(airsn.is_source(fringe) && airsn.children(fringe).len() == 1);
        }
    }

    #[test]
    fn layered(levels in 1u32..8, width in 1u32..9, most in 1u32..9, skip in 1u32..5, seed in any::<u64>()) {
        let family = Family::Layered { levels, width, most_parents: most, skip };
        if most > width {
            prop_assert_eq!(family.build(seed), Err(FamilyError::TooManyParents { most, width }));
            return Ok(());
        }
        let dag = family.build(seed).unwrap();
        prop_assert_eq!(dag.len() as u32, levels * width);
        prop_assert_eq!(dag.sources().count() as u32, width);
        for task in dag.tasks().skip(width as usize) {
            let parents = dag.parents(task);
            prop_assert!((1..=most as usize).contains(&parents.len()));
            prop_assert!(parents.iter().all(|p| (1..=skip).contains(&(task.0 / width - p.0 / width))));
        }
        if skip == 1 {
            prop_assert_eq!(dag.levels().depth() as u32, levels);
            prop_assert_eq!(dag.skeleton().removed, 0);
        }
    }

    #[test]
    fn bipartite_trees(tasks in 2u32..60, seed in any::<u64>()) {
        let tree = Family::BipartiteTree { tasks }.build(seed).unwrap();
        prop_assert_eq!(tree.len() as u32, tasks);
        prop_assert_eq!(tree.arc_count() as u32, tasks - 1);
        prop_assert!(is_connected(&tree));
        prop_assert!(tree.tasks().all(|t| tree.is_source(t) != tree.is_sink(t)));
    }

    #[test]
    fn expansive(sources in 1u32..7, phi in 2u32..6, count in 1u32..4, seed in any::<u64>()) {
        let dag = Family::Expansive { sources, phi, blocks: count }.build(seed).unwrap();
        prop_assert!(is_connected(&dag));
        let blocks = blocks(&dag);
        prop_assert_eq!(blocks.len() as u32, count);
        for block in blocks {
            let tails: BTreeSet<_> = block.iter().map(|a| a.0).collect();
            prop_assert_eq!(tails.len() as u32, sources);
            for v in tails {
                let is_own = |child: &&TaskId| dag.parents(**child).len() == 1;
                let own = dag.children(v).iter().filter(is_own).count();
                let shared = dag.children(v).len() - own;
                prop_assert!((2..=phi as usize).contains(&own) && shared <= own);
            }
        }
    }

    #[test]
    fn composites(count in 1u32..9, size in 2u32..5, seed in any::<u64>()) {
        let dag = Family::Composite { blocks: count, size }.build(seed).unwrap();
        prop_assert!(is_connected(&dag));
        prop_assert_eq!(dag.isolated_count(), 0);
        prop_assert_eq!(dag.skeleton().removed, 0);
        let blocks = blocks(&dag);
        prop_assert_eq!(blocks.len() as u32, count);
        for block in blocks {
            let heads: BTreeSet<_> = block.iter().map(|a| a.1).collect();
            prop_assert!(heads.len() as u32 <= size * (size - 1) + 1);
        }
    }

    #[test]
    fn erdos_renyi(tasks in 1u32..80, percent in 0u32..=100, seed in any::<u64>()) {
        let p = f64::from(percent) / 100.0;
        let dag = Family::ErdosRenyi { tasks, p }.build(seed).unwrap();
        prop_assert_eq!(dag.len() as u32, tasks);
        prop_assert!(dag.arcs().all(|(u, v)| u < v));
        let pairs = f64::from(tasks) * f64::from(tasks - 1) / 2.0;
        // Hoeffding: beyond this with probability under 1e-10.
        let off = (dag.arc_count() as f64 - p * pairs).abs();
        prop_assert!(off <= (pairs * 12.0).sqrt());
        if percent == 0 || percent == 100 { prop_assert!(off < 0.5); }
    }

    #[test]
    fn dual_and_shuffled(blocks in 1u32..9, seed in any::<u64>()) {
        let plain = Family::Composite { blocks, size: 3 };
        let dag = plain.build(seed).unwrap();
        prop_assert_eq!(Family::Dual(Box::new(plain.clone())).build(seed).unwrap(), dag.dual());
        let shuffled = Family::Shuffled(Box::new(plain)).build(seed).unwrap();
        prop_assert_eq!(counts(&shuffled), counts(&dag));
        let degrees = |dag: &Dag| {
            let degree = |t| (dag.parents(t).len(), dag.children(t).len());
            let mut all: Vec<_> = dag.tasks().map(degree).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(degrees(&shuffled), degrees(&dag));
    }
}

/// The dual with ids turned round.
fn upside_down(dag: &Dag) -> Dag {
    let last = dag.len() as u32 - 1;
    let arcs = dag.arcs().map(|(u, v)| (last - v.0, last - u.0)).collect();
    Dag::from_arcs(dag.len(), arcs).unwrap()
}

#[test]
fn airsn_of_width_250_has_773_jobs() {
    assert_eq!(build(Family::Airsn { w: 250 }).len(), 773);
}

#[test]
fn a_strand_of_degree_one_is_an_arc() {
    let arc = build(Family::TStrand(vec![1]));
    assert_eq!(arc, Dag::from_arcs(2, vec![(0, 1)]).unwrap());
}

/// 16 labelled trees on four tasks, two orientations: all equally likely.
#[test]
fn bipartite_trees_are_uniform() {
    let mut seen: BTreeMap<Vec<(TaskId, TaskId)>, u32> = BTreeMap::new();
    for seed in 0..6400 {
        let tree = Family::BipartiteTree { tasks: 4 }.build(seed).unwrap();
        *seen.entry(tree.arcs().collect()).or_default() += 1;
    }
    assert_eq!(seen.len(), 32);
    // 200 each; the standard deviation is 14.
    assert!(seen.values().all(|n| n.abs_diff(200) < 85), "{seen:?}");
}

fn parse(line: &str) -> Result<Family, FamilyError> {
    let words: Vec<&str> = line.split(' ').collect();
    Family::parse(words[0], &words[1..], &FamilyOptions::default())
}

/// One example of each family, as on the command line.
const EXAMPLES: &[&str] = &[
    "w 3 2",
    "m 3 2",
    "n 4",
    "c 4",
    "q 3",
    "k 3 5",
    "wstrand 2,3,4",
    "mstrand 2,3,4",
    "tstrand 1,4,3,2",
    "bitree 20",
    "expansive 5 4",
    "mesh 6",
    "rmesh 6",
    "tree 4",
    "outtree 4",
    "prefixtree 00,01,1",
    "fft 3",
    "airsn 10",
    "forkjoin 8",
    "layered 6 5 3",
    "composite 8",
    "random 30 0.1",
];

#[test]
fn the_catalogue_has_every_family_once() {
    let names: Vec<&str> = EXAMPLES
        .iter()
        .map(|e| e.split(' ').next().unwrap())
        .collect();
    let listed: Vec<&str> = Family::catalogue().iter().map(|usage| usage.name).collect();
    assert_eq!(names, listed);
    for line in EXAMPLES {
        let dag = parse(line).unwrap().build(3).unwrap();
        assert!(!dag.is_empty(), "{line}");
    }
}

/// The dags of fixed seeds never change, on no machine and in no release. FNV-1a over the arcs.
#[test]
fn a_seed_fixes_the_dag_for_ever() {
    let digest = |line: &str| {
        let dag = parse(line).unwrap().build(42).unwrap();
        let ends = dag.arcs().flat_map(|(u, v)| [u.0, v.0]);
        let bytes = ends.flat_map(u32::to_le_bytes);
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        bytes.fold(0xCBF2_9CE4_8422_2325, step)
    };
    let lines = [
        "bitree 1000",
        "expansive 100 5",
        "layered 20 50 6",
        "composite 100",
        "random 1000 0.01",
    ];
    let expected = [
        0x596A_613D_FA76_ADF2,
        0xAE09_3EB4_78C6_1484,
        0xEFA4_A36D_9AA1_C954,
        0x139A_75B0_DD82_32A9,
        0xA0B7_474A_F1A0_C7A7,
    ];
    assert_eq!(lines.map(digest), expected);
}

#[test]
fn wrong_words_say_what_is_wrong() {
    let message = |line: &str| match parse(line).and_then(|family| family.build(1)) {
        Ok(dag) => panic!("{line}: built {} tasks", dag.len()),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("torus 4", "there is no family 'torus'"),
        (
            "w 4",
            "the family 'w' takes the arguments S D, not 1 of them",
        ),
        (
            "n 4 4",
            "the family 'n' takes the arguments S, not 2 of them",
        ),
        ("n four", "'four' is no whole number from 0 to 4294967295"),
        ("n -1", "'-1' is no whole number from 0 to 4294967295"),
        (
            "n 4294967296",
            "'4294967296' is no whole number from 0 to 4294967295",
        ),
        ("w 0 2", "S must be at least 1, not 0"),
        ("w 2 1", "D must be at least 2, not 1"),
        ("c 1", "S must be at least 2, not 1"),
        ("k 1 0", "T must be at least 1, not 0"),
        (
            "wstrand 2,1",
            "degree 2 of the strand must be at least 2, not 1",
        ),
        (
            "mstrand 1,2",
            "degree 1 of the strand must be at least 2, not 1",
        ),
        (
            "tstrand 0",
            "degree 1 of the strand must be at least 1, not 0",
        ),
        ("tstrand 1,,2", "'' is no whole number from 0 to 4294967295"),
        ("mesh 0", "LEVELS must be at least 1, not 0"),
        ("fft 0", "D must be at least 1, not 0"),
        ("airsn 0", "W must be at least 1, not 0"),
        ("bitree 1", "N must be at least 2, not 1"),
        ("expansive 3 1", "PHI must be at least 2, not 1"),
        (
            "random 5 1.5",
            "'1.5' is no probability: a number from 0 to 1",
        ),
        (
            "random 5 NaN",
            "'NaN' is no probability: a number from 0 to 1",
        ),
        (
            "layered 3 2 5",
            "a task cannot have 5 distinct parents among 2",
        ),
        (
            "prefixtree 0,12",
            "the word '12' has the letter '2'; with arity 2 letters are the first 2 of 0-9, a-z",
        ),
        (
            "prefixtree 0,10",
            "the words are not full: some continue '1', but '11' is missing",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(message(line), expected, "{line}");
    }
    assert_eq!(
        Family::TStrand(Vec::new()).build(0),
        Err(FamilyError::NoDegrees)
    );
}

/// Parameters as large as they come are refused before memory is taken.
#[test]
fn sizes_beyond_32_bits_are_refused() {
    let most = u32::MAX.to_string();
    for usage in Family::catalogue() {
        let argument = |word: &str| {
            match word {
                "P" => "1".to_owned(),
                "D,D,..." => format!("{most},{most}"),
                "WORD,WORD,..." => return None,
                _ => most.clone(),
            }
            .into()
        };
        let words: Option<Vec<String>> = usage.arguments.split(' ').map(argument).collect();
        let Some(words) = words else { continue };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let family = Family::parse(usage.name, &words, &FamilyOptions::default()).unwrap();
        let result = family.build(0);
        let refused = matches!(result, Err(FamilyError::TooLarge { .. }));
        assert!(refused, "{}: {:?}", usage.name, result.map(|dag| dag.len()));
    }
}
