//! The keeper of storage at 10⁶ tasks: microseconds a start, bytes a task and a reader.

use crate::measure::timed_on_cpu;
use cairn_dag::{Dag, TaskId};
use cairn_engine::Keeper;
use cairn_plan::policy;
use cairn_plan::storage::{Storage, Stored, shrink_first};
use std::collections::VecDeque;

/// Tasks that run at once.
// A judgement: as many as a server of usual size has.
const WORKERS: usize = 64;

pub fn run() {
    println!(
        "may, start and finish, {WORKERS} tasks at once; µs on one processor; bytes beyond 16 a reader"
    );
    println!(
        "| dag | tasks | readers | cap / peak | priorities | µs a start | asked a start | bytes a task |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    measure("333,333 chains of 3, joined", &samples(333_333));
    measure("layers of 1,000, 3 parents each", &layered(1_000, 1_000));
}

/// Chains of three, all read by one last task.
fn samples(count: u32) -> Dag {
    let last = 3 * count;
    let chain = |i: u32| {
        [
            (3 * i, 3 * i + 1),
            (3 * i + 1, 3 * i + 2),
            (3 * i + 2, last),
        ]
    };
    Dag::from_arcs(last as usize + 1, (0..count).flat_map(chain).collect()).expect("arcs go down")
}

fn layered(layers: u32, width: u32) -> Dag {
    let parents = |task: u32| {
        let before = (task / width - 1) * width;
        (1..4u32).map(move |k| {
            let parent = before + task.wrapping_mul(2_654_435_761).rotate_left(9 * k) % width;
            (parent, task)
        })
    };
    let arcs = (width..layers * width).flat_map(parents).collect();
    Dag::from_arcs((layers * width) as usize, arcs).expect("arcs go down")
}

fn measure(name: &str, dag: &Dag) {
    let file = |task: TaskId| Stored {
        producer: Some(task),
        bytes: 1 + u64::from(task.0.wrapping_mul(2_654_435_761) >> 22),
        is_kept: false,
        consumers: dag.children(task).to_vec(),
    };
    let (storage, _) =
        Storage::new(dag.len(), dag.tasks().map(file).collect(), Vec::new()).expect("small sizes");
    let readers = dag.arc_count();
    let order = policy::lifo(dag);
    let peak = storage.peak(&order);
    let shrinking = shrink_first(&storage, &order);
    let path = policy::critical_path(dag, None);
    for percent in [100, 150, 300] {
        for (words, wanted) in [("shrink-first", &shrinking), ("critical-path", &path)] {
            let keeper = Keeper::new(storage.clone(), &order, peak * percent / 100).expect("fits");
            let bytes = keeper.heap_bytes().saturating_sub(16 * readers) as f64;
            let (asked, seconds) = timed_on_cpu(|| play(dag, keeper, wanted));
            println!(
                "| {name} | {} | {readers} | {:.1} | {words} | {:.2} | {:.1} | {:.1} |",
                dag.len(),
                percent as f64 / 100.0,
                seconds * 1e6 / dag.len() as f64,
                asked as f64 / dag.len() as f64,
                bytes / dag.len() as f64
            );
        }
    }
}

/// Runs all tasks, by priority as far as the keeper lets it, else by its own order; the oldest ends first. Says how often
/// the keeper was asked.
fn play(dag: &Dag, mut keeper: Keeper, wanted: &[TaskId]) -> u64 {
    let mut rank = vec![0u32; dag.len()];
    for (place, task) in (0u32..).zip(wanted) {
        rank[task.index()] = place;
    }
    let mut left: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
    let entry = |t: TaskId| std::cmp::Reverse((rank[t.index()], t));
    let mut eligible: std::collections::BinaryHeap<_> = dag.sources().map(entry).collect();
    let mut is_started = vec![false; dag.len()];
    let mut running: VecDeque<TaskId> = VecDeque::new();
    let (mut asked, mut ended) = (0, 0);
    let mut refused = Vec::new();
    while ended < dag.len() {
        while running.len() < WORKERS {
            let mut chosen = None;
            while refused.len() < 8
                && let Some(std::cmp::Reverse((_, task))) = eligible.pop()
            {
                if is_started[task.index()] {
                    continue;
                }
                asked += 1;
                if keeper.may(task) {
                    chosen = Some(task);
                    break;
                }
                refused.push(task);
            }
            eligible.extend(refused.drain(..).map(entry));
            if chosen.is_none() {
                let next: Vec<TaskId> = keeper.next_by_order().take(8).collect();
                let mut open = next.into_iter().filter(|t| left[t.index()] == 0);
                chosen = open.find(|&t| {
                    asked += 1;
                    keeper.may(t)
                });
            }
            let Some(task) = chosen else { break };
            keeper.start(task);
            is_started[task.index()] = true;
            running.push_back(task);
        }
        let task = running.pop_front().expect("never stuck");
        keeper.finish(task);
        ended += 1;
        for &child in dag.children(task) {
            left[child.index()] -= 1;
            if left[child.index()] == 0 {
                eligible.push(entry(child));
            }
        }
    }
    asked
}
