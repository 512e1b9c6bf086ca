//! Storage: peaks of every dag of the corpus beside lower bounds and the usual orders.

use crate::measure::timed_on_cpu;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_plan::storage::{
    Assumed, Keeping, Lean, ModelError, Reason, Storage, Stored, lean_order, storage_of,
};
use cairn_plan::{PlanEffort, Work, plan, policy};
use std::path::{Path, PathBuf};

pub fn run() {
    let Some(flows) = corpus() else {
        println!("SKIPPED: no corpus of dags (set CAIRN_CORPUS)");
        return;
    };
    table("sizes of the input, finals outside", &flows, |flow| {
        let assumed = Assumed::nothing(Keeping::FinalsOutside);
        storage_of(flow, &assumed).map(|m| m.storage)
    });
    table("unit sizes", &flows, |flow| Ok(results(flow.dag(), |_| 1)));
    table("random sizes", &flows, |flow| {
        let mut state = 1u64;
        Ok(results(flow.dag(), move |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            (10.0 * unit).exp2() as u64
        }))
    });
}

/// The dags of the corpus by name; with `CAIRN_ONLY`, those whose names contain it.
pub(crate) fn corpus() -> Option<Vec<(String, Flow)>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("CAIRN_CORPUS").map_or_else(beside, PathBuf::from);
    let only = std::env::var("CAIRN_ONLY").unwrap_or_default();
    let manifest = std::fs::read_to_string(folder.join("manifest.csv")).ok()?;
    let names = manifest.lines().skip(1).filter_map(|l| l.split(',').next());
    let load = |name: &str| {
        let mut report = cairn_formats::Report::default();
        let limits = cairn_formats::ReadLimits::default();
        let (_, flow) = cairn_formats::Source::load(&folder.join(name), &limits, &mut report)
            .and_then(|source| cairn_formats::read(&source, None, &mut report))?;
        Some((name.to_owned(), flow))
    };
    Some(
        names
            .filter(|n| n.contains(&only))
            .filter_map(load)
            .collect(),
    )
}

/// One file a task that has children, read by all of them.
fn results(dag: &Dag, mut size: impl FnMut(TaskId) -> u64) -> Storage {
    let makers = dag.tasks().filter(|&t| !dag.is_sink(t));
    let files = makers.map(|task| Stored {
        producer: Some(task),
        bytes: size(task),
        is_kept: false,
        consumers: dag.children(task).to_vec(),
    });
    let made = Storage::new(dag.len(), files.collect(), Vec::new());
    made.expect("small sizes").0
}

fn table(
    title: &str,
    flows: &[(String, Flow)],
    storage: impl Fn(&Flow) -> Result<Storage, ModelError> + Sync,
) {
    println!(
        "-- {title}: peak over the lower bound; others over our peak; seconds on one processor"
    );
    println!("| dag | tasks | peak | bound by | peak / bound | fifo | lifo | ic | seconds |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut logs, mut worst, mut proved, mut count) = ([0f64; 4], [1f64; 4], 0, 0);
    let mut slowest = 0f64;
    for (row, found) in side_by_side(flows, |(name, flow)| row(name, flow, storage(flow))) {
        print!("{row}");
        let Some((ratios, is_least, seconds)) = found else {
            continue;
        };
        for (i, ratio) in ratios.into_iter().enumerate() {
            logs[i] += ratio.ln();
            worst[i] = worst[i].max(ratio);
        }
        proved += usize::from(is_least);
        slowest = slowest.max(seconds);
        count += 1;
    }
    let mean = |i: usize| (logs[i] / f64::from(count.max(1))).exp();
    println!(
        "{title}: {count} dags, {proved} proved least; geometric means (worst): peak / bound {:.3} ({:.2}), fifo {:.2} ({:.0}), lifo {:.2} ({:.0}), ic {:.2} ({:.0}); at the most {slowest:.1} s",
        mean(0),
        worst[0],
        mean(1),
        worst[1],
        mean(2),
        worst[2],
        mean(3),
        worst[3]
    );
}

/// What was found of a dag: peak over bound, the usual orders over the peak; whether the peak is least; seconds.
type Found = ([f64; 4], bool, f64);

/// One line of a table; nothing where there is nothing to count.
fn row(name: &str, flow: &Flow, storage: Result<Storage, ModelError>) -> (String, Option<Found>) {
    let dag = flow.dag();
    let storage = match storage {
        Ok(storage) if storage.total() > 0 => storage,
        Ok(_) => return (String::new(), None),
        Err(error) => {
            let row = format!("| {name} | {} | {error} | | | | | | |\n", dag.len());
            return (row, None);
        }
    };
    let fifo = policy::fifo(dag);
    let (lean, seconds) = timed_on_cpu(|| lean_order(dag, &storage, &fifo, &mut Work::unlimited()));
    let ic = plan(dag, &PlanEffort::quick(), &mut Work::unlimited()).order;
    let bound = lean.bound.bytes.max(1) as f64;
    let peak = lean.peak.max(1) as f64;
    let over = |order: &[TaskId]| storage.peak(order).max(1) as f64 / peak;
    let ratios = [
        peak / bound,
        over(&fifo),
        over(&policy::lifo(dag)),
        over(&ic),
    ];
    let row = format!(
        "| {name} | {} | {} | {} | {:.4} | {:.2} | {:.2} | {:.2} | {seconds:.2} |\n",
        dag.len(),
        lean.peak,
        reason(&lean),
        ratios[0],
        ratios[1],
        ratios[2],
        ratios[3],
    );
    (row, Some((ratios, lean.is_least(), seconds)))
}

/// The work on all items, on as many threads as there are processors, in the order of the items.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = work(item);
                    done.lock().expect("no work panics").push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no work panics");
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

fn reason(lean: &Lean) -> String {
    match &lean.bound.reason {
        Reason::Nothing => "nothing".to_owned(),
        Reason::Kept => "what is kept".to_owned(),
        Reason::Task { .. } => "one task".to_owned(),
        Reason::First { tasks, .. } => format!("first of {}", tasks.len()),
        Reason::Last { tasks, .. } => format!("last of {}", tasks.len()),
    }
}
