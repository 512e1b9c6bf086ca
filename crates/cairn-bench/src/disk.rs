//! What a cap on the disk costs in time, by simulation: makespan against cap, and how often starting "whatever fits" stops
//! for good.

use crate::storage::corpus;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::Keeper;
use cairn_plan::storage::{
    Assumed, Keeping, Storage, Stored, lean_order, shrink_first, storage_of,
};
use cairn_plan::{PlanEffort, Work, plan, policy};
use cairn_sim::{Admission, Measure, Options, Policy, Spread, World, endings, simulate};
use std::sync::Arc;

// A judgement: fewer leave means to chance, more take long, as every cap is played by every policy.
const RUNS: usize = 10;
const CAPS: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 4.0];

/// Real workflows with sizes and durations.
const REAL: [&str; 10] = [
    "wf15-blast-",
    "wf15-bwa-",
    "wf15-atacseq-",
    "wf15-rnaseq-",
    "wf15-mag-",
    "wf15-1000genome-",
    "wf15-cycles-",
    "wf15-epigenomics-",
    "wf15-montage-",
    "wf15-soykb-",
];

pub fn run() {
    println!(
        "makespan over that without a cap (best of the priorities in both), durations times LogNormal(1, 0.3), {RUNS} runs; in \
         brackets runs of {RUNS} that stop for good when whatever fits is started, by critical path"
    );
    println!(
        "| dag | tasks | workers | cap 1 × planned peak | 1.5 | 2 | 3 | 4 | peak without a cap |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let samples = samples(2_000);
    rows("2,000 samples × 3", &samples.0, &samples.1, &samples.2);
    let Some(flows) = corpus() else {
        println!("SKIPPED: no corpus of dags (set CAIRN_CORPUS)");
        return;
    };
    for (name, flow) in &flows {
        if let Some(short) = REAL.iter().find(|start| name.starts_with(**start)) {
            let assumed = Assumed::nothing(Keeping::FinalsOutside);
            let storage = storage_of(flow, &assumed).expect("a good file").storage;
            let seconds = seconds(flow);
            let short = short.trim_start_matches("wf15-").trim_end_matches('-');
            rows(short, flow.dag(), &storage, &seconds);
        }
    }
}

fn seconds(flow: &Flow) -> Vec<f64> {
    let known = flow.imputed_seconds();
    known.unwrap_or_else(|| vec![1.0; flow.dag().len()])
}

/// A large file, a smaller one made of it, a small result; all results are read by one last task.
fn samples(count: u32) -> (Dag, Storage, Vec<f64>) {
    let last = TaskId(3 * count);
    let mut arcs = Vec::new();
    let (mut files, mut seconds) = (Vec::new(), Vec::new());
    let mut state = 7u64;
    let mut factor = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        0.5 + (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..count {
        let tasks = [3 * i, 3 * i + 1, 3 * i + 2].map(TaskId);
        let size = factor();
        let next = [tasks[1], tasks[2], last];
        for ((task, next), (bytes, time)) in (tasks.into_iter().zip(next)).zip([
            (1e9 * size, 60.0 * size),
            (4e8 * size, 300.0 * size * factor()),
            (1e6, 60.0 * size),
        ]) {
            arcs.push((task.0, next.0));
            seconds.push(time);
            files.push(Stored {
                producer: Some(task),
                bytes: bytes as u64,
                is_kept: false,
                consumers: vec![next],
            });
        }
    }
    seconds.push(10.0);
    let dag = Dag::from_arcs(last.index() + 1, arcs).expect("arcs go down");
    let (storage, _) = Storage::new(dag.len(), files, Vec::new()).expect("small sizes");
    (dag, storage, seconds)
}

fn rows(name: &str, dag: &Dag, storage: &Storage, seconds: &[f64]) {
    let fifo = policy::fifo(dag);
    let lean = lean_order(dag, storage, &fifo, &mut Work::unlimited());
    let path = policy::critical_path(dag, Some(seconds));
    let ic = plan(dag, &PlanEffort::quick(), &mut Work::unlimited()).order;
    let priorities: [(&str, Vec<TaskId>); 5] = [
        ("shrink-first", shrink_first(storage, &lean.order)),
        ("lean", lean.order.clone()),
        ("critical-path", path.clone()),
        ("shrink-first-path", shrink_first(storage, &path)),
        ("ic", ic),
    ];
    let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s.max(0.01))).collect();
    let noise = Spread::LogNormal {
        median: 1.0,
        sigma: 0.3,
    };
    let work = cairn_sim::Workload::known(&known).expect("good seconds");
    let work = work.times(noise).expect("a good spread");
    let options = Options {
        runs: RUNS,
        ..Options::default()
    };
    for workers in [4, 16, 64] {
        let world = World::throttled(workers, workers).expect("some workers");
        let best = |admission: &Arc<Admission>| {
            let policies: Vec<Policy> = (priorities.iter())
                .map(|(name, order)| Policy::order(name, order).within(admission.clone()))
                .collect();
            let study = simulate(dag, &work, &world, &policies, &options).expect("it ends");
            let time = |p: usize| study.summary(p, Measure::Makespan).mean;
            let least = (0..policies.len()).min_by(|&a, &b| time(a).total_cmp(&time(b)));
            let least = least.expect("some policies");
            (time(least), study.summary(least, Measure::PeakDisk).mean)
        };
        let fits = |cap: u64| {
            Arc::new(Admission::FitsNow {
                storage: storage.clone(),
                cap,
            })
        };
        let (free, free_peak) = best(&fits(Keeper::NO_CAP));
        let mut cells = Vec::new();
        for factor in CAPS {
            let cap = (lean.peak as f64 * factor) as u64;
            let keeper = Keeper::new(storage.clone(), &lean.order, cap).expect("it fits");
            let (time, _) = best(&Arc::new(Admission::Kept(Box::new(keeper))));
            let naive = Policy::order("critical-path", &path).within(fits(cap));
            let ends = endings(dag, &work, &world, &naive, &options).expect("or is stuck");
            cells.push(format!("{:.2} [{}]", time / free, ends.stuck));
        }
        println!(
            "| {name} | {} | {workers} | {} | {:.1} × |",
            dag.len(),
            cells.join(" | "),
            free_peak / lean.peak.max(1) as f64
        );
    }
}
