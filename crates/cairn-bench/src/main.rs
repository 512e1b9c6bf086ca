//! `cargo run --release -p cairn-bench -- [NAME…]`: measures the topics named, or all. Prints; asserts nothing.

mod dag;
mod measure;

/// Each topic: its name on the command line, what it measures, and the function that prints it.
const TOPICS: &[(&str, &str, fn())] = &[(
    "dag",
    "memory and freezing of a million tasks, and the skeleton of dags large and dense",
    dag::run,
)];

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
