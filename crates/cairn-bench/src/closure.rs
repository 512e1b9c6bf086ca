//! How long the hull of large dags takes, and how much memory: each case alone in a process of its own.

use crate::measure;
use cairn_dag::Dag;
use cairn_plan::{Hull, Weights, Work, hull};
use std::process::Command;

/// Set in the child process: the case to run.
const CASE: &str = "CAIRN_BENCH_CLOSURE_CASE";

/// Name, and how to make the dag.
type Case = (&'static str, fn() -> Dag);

/// All of them, each in a process of its own.
const CASES: &[Case] = &[
    ("layered 1k", || layered(10, 100, 5)),
    ("layered 10k", || layered(100, 100, 5)),
    ("layered 100k", || layered(100, 1_000, 5)),
    ("layered 1M deep", || layered(1_000, 1_000, 5)),
    ("layered 1M wide", || layered(100, 10_000, 5)),
    ("mesh 500k", || mesh(1_000)),
    ("fft 16", || fft(16)),
    ("tree 2^20", || tree(20)),
];

/// Runs every case in a child process and prints its line; then the growth over the layered dags.
pub fn run() {
    if let Ok(name) = std::env::var(CASE) {
        let case = CASES.iter().find(|(known, _)| *known == name);
        run_case(case.expect("the parent names a case").1());
        return;
    }
    println!(
        "{:18}{:>9}{:>9}{:>10}{:>10}{:>8}{:>8}{:>10}",
        "dag", "tasks", "arcs", "seconds", "cpu", "corners", "pieces", "MB"
    );
    let program = std::env::current_exe().expect("the bench knows its own path");
    let mut growth: Vec<(f64, f64)> = Vec::new();
    for (name, _) in CASES {
        let output = Command::new(&program)
            .arg("closure")
            .env(CASE, name)
            .output()
            .expect("the bench can start itself");
        let text = String::from_utf8_lossy(&output.stdout);
        let Some(line) = text.lines().find(|line| line.starts_with("RESULT")) else {
            println!(
                "{name:18}failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            continue;
        };
        let mut numbers = line.split_whitespace().skip(1);
        let mut number = || {
            numbers
                .next()
                .and_then(|n| n.parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let (tasks, arcs, seconds, cpu) = (number(), number(), number(), number());
        let (corners, pieces, megabytes) = (number(), number(), number());
        println!(
            "{name:18}{tasks:9}{arcs:9}{seconds:10.3}{cpu:10.3}{corners:8}{pieces:8}{megabytes:10.1}"
        );
        if name.starts_with("layered") && !name.ends_with("wide") {
            growth.push((tasks, cpu));
        }
    }
    for pair in growth.windows(2) {
        let ((n1, t1), (n2, t2)) = (pair[0], pair[1]);
        println!(
            "growth from {n1} to {n2} tasks: n^{:.2}",
            (t2 / t1).ln() / (n2 / n1).ln()
        );
    }
}

fn run_case(dag: Dag) {
    let before = cpu_seconds();
    let (hull, seconds) = measure::timed(|| find_hull(&dag));
    let cpu = cpu_seconds() - before;
    let corners = hull.vertices().iter().filter(|v| v.is_strict).count();
    let megabytes = measure::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    println!(
        "RESULT {} {} {seconds} {cpu} {corners} {} {megabytes}",
        dag.len(),
        dag.arc_count(),
        hull.pieces()
    );
}

fn find_hull(dag: &Dag) -> Hull {
    hull(dag, &Weights::unit(dag.len()), &mut Work::unlimited()).expect("the dag is not too large")
}

/// Processor time of all threads of this process, in seconds; 0 where /proc does not tell.
fn cpu_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return 0.0;
    };
    // After the name in parentheses: state is field 3; user and system ticks (1/100 s) are 14 and 15.
    let after = stat.rsplit(')').next().unwrap_or("");
    let fields: Vec<&str> = after.split_whitespace().collect();
    let tick = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (tick(11) + tick(12)) / 100.0
}

/// Levels of equal width; each task has 1 to `most` parents at random in the level above.
fn layered(levels: usize, width: usize, most: usize) -> Dag {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut arcs = Vec::new();
    for level in 1..levels {
        for task in 0..width {
            for _ in 0..1 + random() % most {
                let parent = (level - 1) * width + random() % width;
                arcs.push((parent as u32, (level * width + task) as u32));
            }
        }
    }
    Dag::from_arcs(levels * width, arcs).expect("arcs go down")
}

/// The triangular mesh: level l has l + 1 tasks, each with two children in the next.
fn mesh(levels: u32) -> Dag {
    let id = |level: u32, x: u32| level * (level + 1) / 2 + x;
    let parents = (0..levels - 1).flat_map(|l| (0..=l).map(move |x| (l, x)));
    let arcs = parents
        .flat_map(|(l, x)| [(id(l, x), id(l + 1, x)), (id(l, x), id(l + 1, x + 1))])
        .collect();
    Dag::from_arcs(id(levels, 0) as usize, arcs).expect("arcs go down")
}

/// The butterfly of 2^d rows and d + 1 levels.
fn fft(d: u32) -> Dag {
    let rows = 1u32 << d;
    let sources = (0..d).flat_map(|l| (0..rows).map(move |x| (l, x)));
    let arcs = sources
        .flat_map(|(l, x)| {
            let below = (l + 1) * rows;
            [
                (l * rows + x, below + x),
                (l * rows + x, below + (x ^ (1 << l))),
            ]
        })
        .collect();
    Dag::from_arcs((rows * (d + 1)) as usize, arcs).expect("arcs go down")
}

/// The complete binary in-tree of this height: 2^(height + 1) − 1 tasks.
fn tree(height: u32) -> Dag {
    let tasks = (1u32 << (height + 1)) - 1;
    let arcs = (1..tasks)
        .map(|v| (tasks - 1 - v, tasks - 1 - (v - 1) / 2))
        .collect();
    Dag::from_arcs(tasks as usize, arcs).expect("arcs go down")
}
