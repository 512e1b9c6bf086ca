//! The skeleton's laws on dags too large for a boolean matrix, and against a plain bit-set twin.

use cairn_dag::{Dag, Family, TaskId};
use proptest::prelude::*;

/// Dags of a few thousand tasks in many shapes, ids shuffled.
fn large_dag() -> impl Strategy<Value = Dag> {
    let layered = |levels, width, most_parents, skip| Family::Layered {
        levels,
        width,
        most_parents,
        skip,
    };
    let family = prop_oneof![
        (1u32..60, 5u32..40, 1u32..5, 1u32..30)
            .prop_map(move |(levels, width, most, skip)| layered(levels, width, most, skip)),
        (1u32..2000, 0.0f64..8.0).prop_map(|(tasks, degree)| Family::ErdosRenyi {
            tasks,
            p: (degree / f64::from(tasks)).min(1.0),
        }),
        (1u32..400, 0.05f64..0.9).prop_map(|(tasks, p)| Family::ErdosRenyi { tasks, p }),
        (1u32..200, 2u32..6).prop_map(|(blocks, size)| Family::Composite { blocks, size }),
        (2u32..1500).prop_map(move |levels| layered(levels, 1, 1, 1)),
        (1u32..8).prop_map(|dimension| Family::Fft { dimension }),
        (1u32..40).prop_map(|levels| Family::Mesh { levels, dim: 2 }),
    ];
    (family, any::<u64>(), 0u32..3).prop_map(|(family, seed, extra)| {
        let dag = Family::Shuffled(Box::new(family)).build(seed).unwrap();
        with_random_arcs(&dag, extra * dag.len() as u32 / 2, seed)
    })
}

/// SplitMix64.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |n| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn pairs(dag: &Dag) -> Vec<(u32, u32)> {
    dag.arcs().map(|(u, v)| (u.0, v.0)).collect()
}

/// Adds arcs from earlier to later tasks of the topological order.
fn with_random_arcs(dag: &Dag, count: u32, seed: u64) -> Dag {
    let order = dag.topological_order();
    let mut arcs = pairs(dag);
    let mut below = random(seed);
    for _ in 0..count {
        let (a, b) = (below(order.len()), below(order.len()));
        if a != b {
            arcs.push((order[a.min(b)].0, order[a.max(b)].0));
        }
    }
    Dag::from_arcs(dag.len(), arcs).unwrap()
}

/// The shortcut-free arcs by one bit set a task, in reverse topological order.
fn twin(dag: &Dag) -> Vec<(u32, u32)> {
    let words = dag.len().div_ceil(64);
    let mut reach = vec![vec![0u64; words]; dag.len()];
    let mut kept = Vec::new();
    for &u in dag.topological_order().iter().rev() {
        // What two or more arcs lead to.
        let mut beyond = vec![0u64; words];
        for v in dag.children(u) {
            for (word, more) in beyond.iter_mut().zip(&reach[v.index()]) {
                *word |= more;
            }
        }
        for v in dag.children(u) {
            if beyond[v.index() / 64] >> (v.index() % 64) & 1 == 0 {
                kept.push((u.0, v.0));
            }
        }
        for v in dag.children(u) {
            beyond[v.index() / 64] |= 1 << (v.index() % 64);
        }
        reach[u.index()] = beyond;
    }
    kept.sort_unstable();
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn equals_the_twin(dag in large_dag()) {
        let skeleton = dag.skeleton();
        prop_assert_eq!(pairs(&skeleton.dag), twin(&dag));
        prop_assert_eq!(skeleton.removed, dag.arc_count() - skeleton.dag.arc_count());
        // A skeleton is its own skeleton.
        let again = skeleton.dag.skeleton();
        prop_assert_eq!(again.removed, 0);
        prop_assert_eq!(again.dag, skeleton.dag);
    }

    #[test]
    fn commutes_with_the_dual(dag in large_dag()) {
        prop_assert_eq!(dag.dual().skeleton().dag, dag.skeleton().dag.dual());
    }

    #[test]
    fn commutes_with_relabelling(dag in large_dag(), seed in any::<u64>()) {
        let mut order: Vec<TaskId> = dag.tasks().collect();
        let mut below = random(seed);
        for i in (1..order.len()).rev() {
            order.swap(i, below(i + 1));
        }
        let relabelled = |dag: &Dag| dag.induced(&order).unwrap();
        prop_assert_eq!(relabelled(&dag).skeleton().dag, relabelled(&dag.skeleton().dag));
    }

    #[test]
    fn a_new_shortcut_changes_nothing(dag in large_dag(), seed in any::<u64>()) {
        let mut below = random(seed);
        let mut arcs = pairs(&dag);
        for _ in 0..20 {
            // Two or more steps down from some task.
            let start = TaskId(below(dag.len()) as u32);
            let mut end = start;
            for _ in 0..2 + below(20) {
                let children = dag.children(end);
                if !children.is_empty() {
                    end = children[below(children.len())];
                }
            }
            if end != start && !dag.has_arc(start, end) {
                arcs.push((start.0, end.0));
            }
        }
        let more = Dag::from_arcs(dag.len(), arcs).unwrap();
        prop_assert_eq!(more.skeleton().dag, dag.skeleton().dag);
    }
}

/// Dense: 1,002 tasks and about 98,000 arcs, nearly all of them shortcuts.
#[test]
fn dense_dag() {
    let dense = Family::ErdosRenyi {
        tasks: 1002,
        p: 0.196,
    };
    let dag = dense.build(23).unwrap();
    assert!(dag.arc_count() > 95_000);
    assert_eq!(pairs(&dag.skeleton().dag), twin(&dag));
}
