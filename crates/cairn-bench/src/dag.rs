//! Measures the dag itself: bytes, freezing, levels, components, skeletons.

use crate::measure::timed;
use cairn_dag::{Dag, Family};

/// Prints all.
pub fn run() {
    let million = layered(1);
    freeze(&million);
    structure(&million);
    skeleton("random layered, arcs to the next level", &million);
    skeleton("random layered, arcs over up to 3 levels", &layered(3));
    skeleton("random layered, arcs over up to 30 levels", &layered(30));
    let er = |tasks: u32, arcs: f64, seed| {
        let pairs = f64::from(tasks) * f64::from(tasks - 1) / 2.0;
        build(
            Family::ErdosRenyi {
                tasks,
                p: arcs / pairs,
            },
            seed,
        )
    };
    skeleton("Erdős–Rényi", &er(1_000_000, 3e6, 1));
    skeleton(
        "dense Erdős–Rényi, as large as an STG dag",
        &er(1002, 98_654.0, 1),
    );
    skeleton("dense Erdős–Rényi", &er(20_000, 4e6, 1));
    let composite = Family::Composite {
        blocks: 120_000,
        size: 5,
    };
    let composite = build(Family::Shuffled(Box::new(composite)), 1);
    skeleton("random composite, ids shuffled", &composite);
    skeleton(
        "the same with a shortcut beside every path of two",
        &with_shortcuts(&composite),
    );
}

fn build(family: Family, seed: u64) -> Dag {
    family.build(seed).expect("parameters in range")
}

/// 10⁶ tasks on 1,000 levels, 1 to 5 parents each.
fn layered(skip: u32) -> Dag {
    let family = Family::Layered {
        levels: 1000,
        width: 1000,
        most_parents: 5,
        skip,
    };
    build(family, 1)
}

fn freeze(dag: &Dag) {
    let arcs: Vec<(u32, u32)> = dag.arcs().map(|(u, v)| (u.0, v.0)).collect();
    let (frozen, seconds) = timed(|| Dag::from_arcs(dag.len(), arcs));
    let frozen = frozen.expect("the arcs of a dag");
    println!(
        "dag of {} tasks and {} arcs: {:.1} MB without names (target 100), frozen in {seconds:.3} s",
        frozen.len(),
        frozen.arc_count(),
        frozen.heap_bytes() as f64 / 1e6,
    );
}

fn structure(dag: &Dag) {
    let (levels, seconds) = timed(|| dag.levels());
    println!(
        "levels: {} deep, {} wide in {seconds:.3} s",
        levels.depth(),
        levels.width()
    );
    let (components, seconds) = timed(|| dag.components());
    println!("components: {} in {seconds:.3} s", components.count());
}

fn skeleton(what: &str, dag: &Dag) {
    let (skeleton, seconds) = timed(|| dag.skeleton());
    println!(
        "skeleton of {what}: {} tasks, {} arcs, {} shortcuts removed in {seconds:.3} s",
        dag.len(),
        dag.arc_count(),
        skeleton.removed,
    );
}

/// Adds u→w for all u→v→w where v is the first child of u and w the first child of v.
fn with_shortcuts(dag: &Dag) -> Dag {
    let mut arcs: Vec<(u32, u32)> = dag.arcs().map(|(u, v)| (u.0, v.0)).collect();
    for u in dag.tasks() {
        let first = |t| dag.children(t).first().copied();
        if let Some(w) = first(u).and_then(first) {
            arcs.push((u.0, w.0));
        }
    }
    Dag::from_arcs(dag.len(), arcs).expect("shortcuts make no cycle")
}
