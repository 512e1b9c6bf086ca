//! Plans: large dags, the corpus with every baseline beside, and `dask.order` on the same graphs.

use crate::measure::{peak_memory, timed};
use cairn_dag::{Dag, Family};
use cairn_plan::{Plan, PlanEffort, Work, plan};
use cairn_theory::profile::{area, profile};
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn run() {
    beside_dask();
    large();
    corpus();
}

fn family(words: &str) -> Dag {
    let words: Vec<&str> = words.split(' ').collect();
    let family = Family::parse(words[0], &words[1..], &Default::default()).expect("a family");
    family.build(1).expect("fits")
}

fn planned(dag: &Dag) -> (Plan<'_>, f64) {
    timed(|| plan(dag, &PlanEffort::default(), &mut Work::unlimited()))
}

/// Order and certified bound, without a search for a verdict.
fn quick(dag: &Dag) -> (Plan<'_>, f64) {
    timed(|| plan(dag, &PlanEffort::quick(), &mut Work::unlimited()))
}

fn ratio(plan: &Plan, reached: u64) -> f64 {
    100.0 * reached as f64 / area(&plan.bound).max(1) as f64
}

fn large() {
    println!("-- large dags: order, bound, verdict");
    let mut layered: Vec<(f64, f64, f64)> = Vec::new();
    for words in [
        "layered 32 32 5",
        "layered 100 100 5",
        "layered 300 100 5",
        "layered 1000 100 5",
        "layered 1000 1000 5",
        "mesh 1414",
        "fft 16",
        "tree 19",
    ] {
        let dag = family(words);
        let (first, at_once) = quick(&dag);
        let (plan, seconds) = planned(&dag);
        println!(
            "{words:20} {:8} tasks {:8} arcs: quick {at_once:6.2} s, {:.3} % of the bound; plan {seconds:6.2} s, {}, {:.3} %; peak so far {:.0} MB",
            dag.len(),
            dag.arc_count(),
            ratio(&first, area(&first.profile)),
            plan.verdict.name(),
            ratio(&plan, area(&plan.profile)),
            peak_memory().unwrap_or(0) as f64 / 1e6
        );
        if words.starts_with("layered") {
            layered.push((dag.len() as f64, at_once, seconds));
        }
    }
    if let (Some(first), Some(last)) = (layered.first(), layered.last()) {
        let exponent = |a: f64, b: f64| (b / a).ln() / (last.0 / first.0).ln();
        println!(
            "growth over 10³…10⁶ layered tasks: quick n^{:.2}, plan n^{:.2}",
            exponent(first.1, last.1),
            exponent(first.2, last.2)
        );
    }
}

/// Times `dask.order.order` on a graph given as lines "child parent parent …".
const DASK: &str = r#"
import sys, time
from dask.order import order
from dask._task_spec import Task, TaskRef
def nothing(*args): return None
dsk = {}
for line in open(sys.argv[1]):
    child, *parents = map(int, line.split())
    dsk[child] = Task(child, nothing, *[TaskRef(p) for p in parents])
def run():
    start = time.perf_counter()
    order(dsk)
    return time.perf_counter() - start
best = [run() for _ in range(3)]
while sum(best) < 2:
    best.append(run())
print(min(best))
"#;

fn beside_dask() {
    println!(
        "-- beside dask.order.order, the same graphs in one run; the best of three runs or of two seconds, whichever is more (ours includes the certified bound)"
    );
    let folder = std::env::temp_dir().join("cairn-bench-dask");
    let Some(python) = python_with_dask(&folder) else {
        println!("SKIPPED: no dask could be installed");
        return;
    };
    for words in ["layered 100 100 3", "layered 300 100 3", "mesh 447"] {
        let dag = family(words);
        let graph = folder.join("graph.txt");
        let mut text = String::new();
        for task in dag.tasks() {
            text += &task.0.to_string();
            for parent in dag.parents(task) {
                text += &format!(" {}", parent.0);
            }
            text.push('\n');
        }
        if std::fs::write(&graph, text).is_err() {
            println!("SKIPPED: cannot write {}", graph.display());
            return;
        }
        let best_of = |run: fn(&Dag) -> (Plan<'_>, f64)| {
            let mut seconds: Vec<f64> = (0..3).map(|_| run(&dag).1).collect();
            while seconds.iter().sum::<f64>() < 2.0 {
                seconds.push(run(&dag).1);
            }
            seconds.into_iter().fold(f64::INFINITY, f64::min)
        };
        let (at_once, ours) = (best_of(quick), best_of(planned));
        let run = Command::new(&python)
            .arg("-c")
            .arg(DASK)
            .arg(&graph)
            .output();
        let theirs = run.ok().and_then(|out| {
            String::from_utf8(out.stdout)
                .ok()?
                .trim()
                .parse::<f64>()
                .ok()
        });
        match theirs {
            Some(theirs) => println!(
                "{words:20} {:7} tasks: dask {theirs:.3} s; quick {at_once:.3} s, {:.1} times faster; with verdict {ours:.3} s, {:.1} times",
                dag.len(),
                theirs / at_once,
                theirs / ours
            ),
            None => println!("{words:20} SKIPPED: dask.order did not answer"),
        }
    }
}

/// A throw-away environment with dask, made once.
fn python_with_dask(folder: &Path) -> Option<PathBuf> {
    let python = folder.join("bin/python");
    let works = |python: &Path| {
        let check = Command::new(python).args(["-c", "import dask"]).output();
        check.is_ok_and(|out| out.status.success())
    };
    if !works(&python) {
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(folder)
            .status()
            .ok()?;
        Command::new(folder.join("bin/pip"))
            .args(["install", "-q", "dask"])
            .status()
            .ok()?;
    }
    works(&python).then_some(python)
}

fn corpus() {
    let folder = std::env::var_os("CAIRN_CORPUS")
        .map_or_else(|| PathBuf::from("../shared/corpus"), PathBuf::from);
    let Ok(manifest) = std::fs::read_to_string(folder.join("manifest.csv")) else {
        println!("SKIPPED: no corpus of dags (set CAIRN_CORPUS)");
        return;
    };
    println!("-- the corpus: area in percent of the certified bound");
    println!(
        "| dag | tasks | verdict | cairn | fifo | lifo | critical path | outdegree | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for line in manifest.lines().skip(1) {
        let Some(name) = line.split(',').next() else {
            continue;
        };
        let mut report = cairn_formats::Report::default();
        let limits = cairn_formats::ReadLimits::default();
        let read = cairn_formats::Source::load(&folder.join(name), &limits, &mut report)
            .and_then(|source| cairn_formats::read(&source, None, &mut report));
        let Some((_, flow)) = read else {
            println!("| {name} | | not a dag | | | | | | |");
            continue;
        };
        let dag = flow.dag();
        let (plan, seconds) = planned(dag);
        let of = |order: Vec<_>| {
            let reached = profile(dag, &order).expect("policies give topological orders");
            ratio(&plan, area(&reached))
        };
        println!(
            "| {name} | {} | {} | {:.2} | {:.1} | {:.1} | {:.1} | {:.1} | {seconds:.2} |",
            dag.len(),
            plan.verdict.name(),
            ratio(&plan, area(&plan.profile)),
            of(cairn_plan::policy::fifo(dag)),
            of(cairn_plan::policy::lifo(dag)),
            of(cairn_plan::policy::critical_path(
                dag,
                flow.imputed_seconds().as_deref()
            )),
            of(cairn_plan::policy::outdegree(dag)),
        );
    }
}
