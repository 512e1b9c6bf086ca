//! Batches: how long a call takes, what an update costs, and how far exact answers reach on hard instances.

use crate::measure::{fastest, timed, timed_on_cpu};
use cairn_dag::Dag;
use cairn_plan::batch::{BatchEffort, BatchState, Batcher, Quality};

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

/// Wall-clock and processor milliseconds of the fastest of some runs.
fn milliseconds<T>(runs: usize, mut work: impl FnMut() -> T) -> (T, String) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    let mut result = None;
    for _ in 0..runs {
        let ((answer, wall), processor) = timed_on_cpu(|| timed(&mut work));
        best = (best.0.min(wall), best.1.min(processor));
        result = Some(answer);
    }
    let text = format!("{:6.2} ({:6.2}) ms", best.0 * 1e3, best.1 * 1e3);
    (result.expect("at least one run"), text)
}

fn trees() {
    println!("-- 10⁵ eligible tasks in tree components, exact; wall clock (processor)");
    for size in [1u32, 4, 16, 100, 1000] {
        let dag = forest(100_000, size);
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for requests in [1usize, 10, 100, 1000] {
            let (batch, cold) =
                milliseconds(1, || batcher.choose(requests, &BatchEffort::default()));
            // A server leases what it hands out and asks again: part of the pieces changed.
            for &task in &batch.chosen {
                batcher
                    .state_mut()
                    .lease(task)
                    .expect("chosen tasks are eligible");
            }
            let (_, after) = milliseconds(1, || batcher.choose(requests, &BatchEffort::default()));
            let (batch, warm) =
                milliseconds(5, || batcher.choose(requests, &BatchEffort::default()));
            println!(
                "trees of {size:4}: r = {requests:4}: first {cold}, after {requests:4} leases {after}, warm {warm}, {:?}",
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
    let (batch, cold) = timed(|| batcher.choose(1000, &BatchEffort::fast()));
    let (_, warm) = fastest(3, || batcher.choose(1000, &BatchEffort::fast()));
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
    println!("-- hard instances: 2n random 3-subsets of n sources, n/2 of them asked for");
    for sources in [20u32, 30, 40, 50, 60, 80, 100, 1000, 10_000] {
        let dag = subsets(sources);
        let requests = sources as usize / 2;
        for (name, effort) in [
            ("default", BatchEffort::default()),
            ("thorough", BatchEffort::thorough()),
        ] {
            let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
            let (batch, first) = milliseconds(1, || batcher.choose(requests, &effort));
            let (_, warm) = milliseconds(3, || batcher.choose(requests, &effort));
            println!(
                "{sources:5} sources, {name:8}: gain {:4} of at most {:4}, {:?}, first {first}, warm {warm}",
                batch.gain, batch.bound, batch.quality
            );
            if batch.quality == Quality::Exact || sources > 100 {
                break;
            }
        }
    }
}

fn subsets(sources: u32) -> Dag {
    let mut draw = Draw(u64::from(sources));
    let mut arcs = Vec::new();
    let sinks = 2 * sources;
    for sink in 0..sinks {
        for _ in 0..3 {
            arcs.push((draw.below(u64::from(sources)) as u32, sources + sink));
        }
    }
    Dag::from_arcs((sources + sinks) as usize, arcs).expect("bipartite")
}
