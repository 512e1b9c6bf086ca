//! Which priorities are fastest under a tight cap: lists of them are played against each other while tasks run already by the first
//! one. Starts nothing.

use super::super::lookout::make_room;
use super::super::orders::Orders;
use crate::budgets::tight::{MOST, TIME};
use crate::cli::Policy;
use crate::limits::Clock;
use cairn_dag::{Flow, TaskId};
use cairn_engine::Keeper;
use cairn_plan::Work;
use cairn_serve::{About, Found};
use cairn_sim::{ListOrders, faster_list};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

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
            if let Some(order) = fastest(&flow, &keeper, &lean, workers, &finished) {
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
    keeper: &Keeper,
    lean: &[TaskId],
    workers: u32,
    finished: &AtomicBool,
) -> Option<Vec<TaskId>> {
    let is_late = Clock::lasting(TIME).stop();
    let stop = || {
        make_room();
        is_late() || finished.load(Ordering::Relaxed)
    };
    let dag = flow.dag();
    // A quick one: which list wins hangs on the disk more than on the last step of an order.
    let plan = cairn_plan::plan(
        dag,
        &cairn_plan::PlanEffort::quick(),
        &mut cairn_plan::Work::until(&stop),
    );
    let seconds = flow.imputed_seconds();
    let orders = Orders::new(dag, seconds.as_deref(), Some(&plan));
    let given = ListOrders {
        storage: keeper.storage(),
        lean,
        critical_path: orders.of(Policy::CriticalPath),
        planned: Some((orders.of(Policy::Ic), orders.of(Policy::PathPlus))),
    };
    let known = seconds.unwrap_or_else(|| vec![1.0; dag.len()]);
    faster_list(dag, &given, &known, keeper, workers, &Work::until(&stop))
}
