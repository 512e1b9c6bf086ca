//! `cargo run --release -p cairn-bench -- [NAME…]`: measures the topics named, or all. Prints; asserts nothing.

mod auto;
mod batch;
mod closure;
mod dag;
mod disk;
mod disk_run;
mod dispatch;
mod keeper;
mod measure;
mod plan;
mod random;
mod read;
mod run;
mod serve;
mod sim;
mod storage;
mod strands;
mod theory;
mod worth;

/// Each topic: its name on the command line, what it measures, and the function that prints it.
const TOPICS: &[(&str, &str, fn())] = &[
    (
        "auto",
        "what choosing a policy by simulation costs, up to 10⁶ tasks",
        auto::run,
    ),
    (
        "batch",
        "batches of tasks: calls, updates, hard instances",
        batch::run,
    ),
    (
        "closure",
        "the hull of large dags: seconds, memory, growth",
        closure::run,
    ),
    ("dag", "memory and skeleton of dags of 10⁶ tasks", dag::run),
    (
        "disk",
        "time against caps on the disk, and runs that stop without the rule",
        disk::run,
    ),
    (
        "disk-run",
        "2,000 samples with real files under a cap, in a run and through a server with four workers",
        disk_run::run,
    ),
    (
        "dispatch",
        "learning who is fast: makespans beside HEFT's, what a request costs",
        dispatch::run,
    ),
    (
        "keeper",
        "the keeper of storage at 10⁶ tasks: time a start, memory",
        keeper::run,
    ),
    (
        "plan",
        "large dags, dask.order beside us, the corpus",
        plan::run,
    ),
    ("read", "load, parse and freeze large files", read::run),
    (
        "run",
        "`cairn run` beside ninja, make and HyperQueue: tasks a second",
        run::run,
    ),
    (
        "serve",
        "the server: cycles a second, commits, polls, resume",
        serve::run,
    ),
    (
        "serve-beside",
        "the server with learning, dispatch, volunteers and watchers on: cycles a second, processor time a cycle",
        serve::beside::run,
    ),
    (
        "serve-family",
        "ten million tasks of a mesh through the server: memory, store",
        serve::family,
    ),
    ("sim", "task completions a second in each world", sim::run),
    (
        "storage",
        "peaks of bytes on disk over lower bounds, on the corpus",
        storage::run,
    ),
    (
        "strands",
        "sums of strands, 10⁶ sources; trees; implicit families",
        strands::run,
    ),
    (
        "theory",
        "linearization: meshes, trees, FFT, strands, composites of 10⁶ tasks",
        theory::run,
    ),
    (
        "worth",
        "what every policy and auto gain, on the corpus and on unseen dags",
        worth::run,
    ),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let unknown = wanted
        .iter()
        .find(|w| TOPICS.iter().all(|(name, ..)| name != w));
    if let Some(unknown) = unknown {
        eprintln!("cairn-bench: no topic '{unknown}'; there are:");
        for (name, what, _) in TOPICS {
            eprintln!("  {name:12} {what}");
        }
        std::process::exit(2);
    }
    for (name, what, run) in TOPICS {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("== {name}: {what}");
            run();
        }
    }
    if let Some(bytes) = measure::peak_memory() {
        println!("peak memory of the whole run: {:.1} MB", bytes as f64 / 1e6);
    }
}
