//! Batches: how long a call takes, what an update costs, and how far exact answers reach on hard instances.

use crate::measure::{fastest, timed};
use cairn_dag::{Dag, TaskId};
use cairn_plan::batch::{BatchState, Batcher, Effort, Quality};

pub fn run() {
    trees();
    updates();
    fast();
    hard();
}

/// Random numbers, the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, k: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % k
    }
}

/// Bipartite trees of about `size` sources each, `sources` in all.
fn forest(sources: u32, size: u32) -> Dag {
    let mut draw = Draw(1);
    let mut arcs = Vec::new();
    let mut sink = sources;
    for first in (0..sources).step_by(size as usize) {
        let last = (first + size).min(sources);
        for u in first..last {
            for _ in 0..draw.below(3) {
                arcs.push((u, sink));
                sink += 1;
            }
            if u > first {
                arcs.push((u, sink));
                arcs.push((first + draw.below(u64::from(u - first)) as u32, sink));
                sink += 1;
            }
        }
    }
    Dag::from_arcs(sink as usize, arcs).expect("a forest")
}

fn trees() {
    println!("-- 10⁵ eligible tasks in tree components, exact");
    for size in [1u32, 4, 16, 100] {
        let dag = forest(100_000, size);
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for requests in [1usize, 10, 100, 1000] {
            let (batch, cold) = timed(|| batcher.choose(requests, &Effort::default()));
            // A server leases what it hands out and asks again: part of the pieces changed.
            for &task in &batch.chosen {
                batcher
                    .state_mut()
                    .lease(task)
                    .expect("chosen tasks are eligible");
            }
            let (batch, after_lease) = timed(|| batcher.choose(requests, &Effort::default()));
            let (_, warm) = fastest(5, || batcher.choose(requests, &Effort::default()));
            println!(
                "trees of {size:3}: r = {requests:4}: first {:7.2} ms, after {requests} leases {:6.2} ms, warm {:6.2} ms, {:?}",
                cold * 1e3,
                after_lease * 1e3,
                warm * 1e3,
                batch.quality
            );
        }
    }
}

fn updates() {
    println!("-- incremental updates: executing all tasks of a layered dag one by one");
    let family = cairn_dag::Family::parse("layered", &["100", "1000", "5"], &Default::default())
        .expect("a family");
    let dag = family.build(1).expect("fits");
    let mut state = BatchState::new(&dag);
    let ((), seconds) = timed(|| {
        for &task in dag.topological_order() {
            state.execute(task).expect("a topological order");
        }
    });
    println!(
        "{} tasks, {} arcs: {:.1} ns an arc",
        dag.len(),
        dag.arc_count(),
        seconds * 1e9 / dag.arc_count() as f64
    );
}

fn fast() {
    println!("-- fast mode: choosing by current yield");
    let dag = forest(1_000_000, 16);
    let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
    let (batch, cold) = timed(|| batcher.choose(1000, &Effort::fast()));
    let (_, warm) = fastest(3, || batcher.choose(1000, &Effort::fast()));
    println!(
        "10⁶ eligible tasks, r = 1000: first {:.2}·10⁶ tasks/s, warm {:.1}·10⁶ tasks/s, {:?}, gain {} of at most {}",
        1.0 / cold,
        1.0 / warm,
        batch.quality,
        batch.gain,
        batch.bound
    );
}

/// Many subsets with a small union: sinks are random 3-subsets of the sources (\[MR05\], Theorem 3.1).
fn hard() {
    println!("-- hard instances: random 3-subsets, half of the sources asked for");
    for sources in [10u32, 14, 18, 22, 26, 30, 40, 60, 100, 1000] {
        let mut draw = Draw(u64::from(sources));
        let mut arcs = Vec::new();
        let sinks = 2 * sources;
        for sink in 0..sinks {
            for _ in 0..3 {
                arcs.push((draw.below(u64::from(sources)) as u32, sources + sink));
            }
        }
        let dag = Dag::from_arcs((sources + sinks) as usize, arcs).expect("bipartite");
        let order: Vec<TaskId> = dag.topological_order().to_vec();
        let mut batcher = Batcher::new(BatchState::new(&dag), &order);
        let (batch, seconds) = timed(|| batcher.choose(sources as usize / 2, &Effort::default()));
        let gap = match batch.quality {
            Quality::Exact => "exact".to_owned(),
            _ => format!("{:?}, bound {}", batch.quality, batch.bound),
        };
        println!(
            "{sources:4} sources: gain {:4} {gap}, {:.2} ms",
            batch.gain,
            seconds * 1e3
        );
    }
}
