//! What choosing a policy by simulation costs, by size, and path+ beyond its plan.

use crate::measure::{peak_memory, timed, timed_on_cpus};
use crate::worth::{contest, layered};
use cairn_plan::policy::{Rule, Rules, path_plus};
use cairn_plan::{Work, plan};
use cairn_sim::{Plays, World, usual_worlds};
use std::time::{Duration, Instant};

/// What `cairn plan --policy auto` gives the plan: half of its `--time-limit`.
const PLANNING: Duration = Duration::from_secs(30);

/// Seconds of the plan, of path+ beyond it, and of the whole choice: all orders and all runs. Sizes up to `$CAIRN_MOST` tasks.
pub fn run() {
    let most = std::env::var("CAIRN_MOST").map_or(usize::MAX, |n| n.parse().unwrap_or(usize::MAX));
    println!(
        "{} threads; the machine's load is {}",
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        std::fs::read_to_string("/proc/loadavg").map_or("?".to_owned(), |t| t.trim().to_owned())
    );
    println!(
        "| tasks | arcs | plan s | path+ s | on processors | auto s | on processors | policies × runs × worlds | most memory so far |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|---|--:|");
    for (layers, width) in [(10, 100), (50, 200), (100, 1000), (1000, 1000)] {
        if layers * width > most as u32 {
            continue;
        }
        let dag = layered(layers, width);
        let end = Instant::now() + PLANNING;
        let stop = || Instant::now() >= end;
        let (plan, planning) = timed(|| {
            plan(
                &dag,
                &cairn_plan::PlanEffort::default(),
                &mut Work::until(&stop),
            )
        });
        let (_, path, path_cpu) = timed_on_cpus(|| path_plus(&dag, None, &plan.order));
        let worlds = usual_worlds(1.0).expect("one is in range");
        let effort = Plays::for_dag(dag.len(), Rule::ALL.len(), worlds.len());
        let (_, auto, auto_cpu) = timed_on_cpus(|| {
            let rules = Rules::new(&dag, plan.survey().blocks(), &plan.order, None);
            let field = rules.candidates(effort.policies, &mut Work::unlimited());
            contest(&dag, &field, &worlds, &World::study_work(), effort.runs)
        });
        println!(
            "| {} | {} | {planning:.2} | {path:.2} | {path_cpu:.2} | {auto:.2} | {auto_cpu:.2} | {} × {} × {} | {:.1} GB |",
            dag.len(),
            dag.arc_count(),
            effort.policies,
            effort.runs,
            worlds.len(),
            peak_memory().unwrap_or(0) as f64 / 1e9
        );
    }
}
