//! Which priorities are fastest under a tight cap: lists of them are played against each other while tasks run already by the first
//! one. Starts nothing.

use super::super::lookout::make_room;
use super::super::orders::Orders;
use crate::cli::Policy;
use crate::limits;
use cairn_dag::{Flow, TaskId};
use cairn_engine::Keeper;
use cairn_serve::{About, Found};
use cairn_sim::{
    Admission, ListKind, ListOrders, Options, Spread, Workload, World, fastest_first, mean_time,
    play_lists,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long to look for them, and for how large a workflow.
// Judgements, as those below: tasks run already, and a list that comes after most of them gains nothing.
const TIME: Duration = Duration::from_secs(20);
const MOST: usize = 50_000;

/// The lists, that by which tasks run already first.
const LISTS: [ListKind; 7] = [
    ListKind::ShrinkFirst,
    ListKind::ShrinkFirstCriticalPath,
    ListKind::ShrinkFirstIc,
    ListKind::Lean,
    ListKind::CriticalPath,
    ListKind::Ic,
    ListKind::PathPlus,
];

/// How often each list is played.
const RUNS: usize = 6;

/// Another list than the first is taken only if it takes less than so much of its time.
// Within 1 % six runs tell nothing.
const GAIN: f64 = 0.99;

/// Looks for a list of priorities that is faster than "what frees more than it takes first" with so many workers; nothing comes
/// where there is none, or where tasks were executed before.
pub(crate) fn look(
    flow: &Arc<Flow>,
    keeper: &Keeper,
    workers: u32,
    finished: &Arc<AtomicBool>,
) -> Receiver<Found> {
    let (send, receive) = channel();
    let lean = keeper.waiting();
    let tasks = flow.dag().len();
    if lean.len() < tasks || tasks > MOST {
        return receive;
    }
    if let Ok(keeper) = Keeper::new(keeper.storage().clone(), &lean, keeper.cap()) {
        let (flow, finished) = (Arc::clone(flow), Arc::clone(finished));
        std::thread::spawn(move || {
            if let Some(order) = fastest(&flow, keeper, &lean, workers, &finished) {
                // The run may be over.
                let about = About {
                    why: "the fastest of several within the cap".to_owned(),
                    ..About::by_disk()
                };
                let _ = send.send(Found {
                    order: Some(order),
                    about,
                });
            }
        });
    }
    receive
}

fn fastest(
    flow: &Flow,
    keeper: Keeper,
    lean: &[TaskId],
    workers: u32,
    finished: &AtomicBool,
) -> Option<Vec<TaskId>> {
    let begin = Instant::now();
    let stop = || {
        make_room();
        let is_late = begin.elapsed() > TIME;
        is_late || finished.load(Ordering::Relaxed) || limits::is_interrupted()
    };
    let dag = flow.dag();
    // A quick one: which list wins hangs on the disk more than on the last step of an order.
    let plan = cairn_plan::plan(dag, &cairn_plan::PlanEffort::quick(), &stop);
    let seconds = flow.imputed_seconds();
    let orders = Orders::new(dag, seconds.as_deref(), Some(&plan));
    let given = ListOrders {
        storage: keeper.storage(),
        lean,
        critical_path: orders.of(Policy::CriticalPath),
        planned: Some((orders.of(Policy::Ic), orders.of(Policy::PathPlus))),
    };
    let mut lists = given.lists(&LISTS);
    let known = seconds.unwrap_or_else(|| vec![1.0; dag.len()]);
    // Nothing takes no time: a world of zeros could not tell lists apart.
    let known: Vec<Option<f64>> = known.iter().map(|s| Some(s.max(0.001))).collect();
    // Give or take a third, a judgement: with exact durations a list would win by coincidences that never come about.
    let noise = Spread::LogNormal {
        median: 1.0,
        sigma: 0.3,
    };
    let work = Workload::known(&known).ok()?.times(noise).ok()?;
    let world = World::throttled(workers, workers).ok()?;
    let admission = Arc::new(Admission::Kept(Box::new(keeper)));
    let options = Options {
        runs: RUNS,
        stop: Some(&stop),
        ..Options::default()
    };
    let study = play_lists(dag, (&work, &world), &lists, &admission, &options).ok()?;
    let best = *fastest_first(&study).first()?;
    let is_worth_it = mean_time(&study, best) < GAIN * mean_time(&study, 0);
    is_worth_it.then(|| lists.swap_remove(best).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;
    use cairn_theory::storage::{Storage, Stored};

    /// One long chain beside many short ones: with room for both, the long one must not wait until the short ones are gone.
    #[test]
    fn the_long_path_goes_first_where_the_cap_leaves_room_for_it() {
        let mut build = FlowBuilder::new();
        let mut files = Vec::new();
        let mut file = |task: u32, reader: Option<u32>| {
            files.push(Stored {
                producer: Some(TaskId(task)),
                bytes: 10,
                is_kept: false,
                consumers: reader.into_iter().map(TaskId).collect(),
            });
        };
        let mut arcs = Vec::new();
        // 0..40: a long chain; behind it pairs.
        for i in 0..200u32 {
            let name = format!("t{i}");
            let task = build.declare(&name, 0).unwrap();
            build
                .set_seconds(task, if i < 40 { 10.0 } else { 1.0 })
                .unwrap();
            let reader = match i {
                39 => None,
                i if i < 39 || i % 2 == 0 => Some(i + 1),
                _ => None,
            };
            file(i, reader);
            arcs.extend(reader.map(|r| (format!("t{i}"), format!("t{r}"))));
        }
        for (parent, child) in arcs {
            let (parent, child) = (
                build.lookup(&parent).unwrap(),
                build.lookup(&child).unwrap(),
            );
            build.arc(parent, child).unwrap();
        }
        let flow = build.finish().unwrap();
        let (storage, _) = Storage::new(200, files, Vec::new()).unwrap();
        let lean: Vec<TaskId> = (40..200).chain(0..40).map(TaskId).collect();
        let keeper = Keeper::new(storage.clone(), &lean, 45).unwrap();
        let order = fastest(&flow, keeper, &lean, 2, &AtomicBool::new(false)).unwrap();
        let place = |t: u32| order.iter().position(|&o| o == TaskId(t)).unwrap();
        // Of the tasks that take more than they free, the head of the chain is the first.
        let others = (40..200).step_by(2).map(place);
        assert!(others.min() > Some(place(0)), "{}", place(0));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..200).map(TaskId).collect::<Vec<_>>());
    }
}
