//! From a store back to the engine of a run: what was written down, and in which order tasks go. Writes nothing.

use crate::store::{Store, StoreError};
use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Engine, Entry, Event, Gone, Moment, Offer, Order, Position, Rules, Token, WorkerId,
};
use cairn_theory::game::Standing;

/// The worker of tasks that were executed before, elsewhere or as part of another flow.
const BEFORE: &str = "before";

/// What the log of the flow in force comes to. Tasks go as they are numbered. `prepare` sees the engine before the log.
///
/// # Errors
/// If the store cannot be read, is damaged, or is of something else than the position.
pub(crate) fn replayed<P: Position>(
    store: &Store,
    position: P,
    rules: Rules,
    prepare: impl FnOnce(&mut Engine<P>),
) -> Result<Engine<P>, StoreError> {
    let order = Order::AsNumbered;
    let mut engine = match store.snapshot()? {
        Some(snapshot) => {
            Engine::restore(position, rules, order, snapshot).map_err(|e| store.damaged(&e.0))?
        }
        None => Engine::new(position, rules, order),
    };
    prepare(&mut engine);
    // An event that could not have happened means damage: nothing is served by a guess.
    store.each_entry(|entry| engine.replay(&entry))?;
    Ok(engine)
}

/// The same for a dag, with the order that was in force; `None` if none was.
///
/// # Errors
/// As [`replayed`], or if the order does not name every task once.
pub(crate) fn replayed_in_order<P: Position>(
    store: &Store,
    position: P,
    tasks: usize,
    rules: Rules,
    prepare: impl FnOnce(&mut Engine<P>),
) -> Result<(Engine<P>, Option<Vec<TaskId>>), StoreError> {
    let mut engine = replayed(store, position, rules, prepare)?;
    // Behind the log, which says which order was in force.
    let stored = store.order(engine.plan())?;
    let order = stored.map(|tasks| tasks.into_iter().map(TaskId).collect::<Vec<_>>());
    if let Some(order) = &order {
        if !is_order(order, tasks) {
            return Err(store.damaged("an order does not name every task once"));
        }
        engine.set_order(Order::of(order));
    }
    Ok((engine, order))
}

fn is_order(order: &[TaskId], tasks: usize) -> bool {
    let mut seen = vec![false; tasks];
    let mut is_new = |t: &TaskId| {
        let place = seen.get_mut(t.index());
        place.is_some_and(|seen| !std::mem::replace(seen, true))
    };
    order.len() == tasks && order.iter().all(&mut is_new)
}

/// Notes that tasks were executed elsewhere: those whose parents are executed, in topological order. Before the engine is
/// opened.
pub(crate) fn mark_executed<P: Position>(
    engine: &mut Engine<P>,
    tasks: impl IntoIterator<Item = (TaskId, Token)>,
    now: Moment,
    entries: &mut Vec<Entry>,
) {
    let worker = WorkerId(engine.workers().len() as u32);
    let mut happened = |engine: &mut Engine<P>, event: Event| {
        let entry = Entry { at: now, event };
        // Told to the engine as a log would: the state and what is written cannot differ.
        if engine.replay(&entry).is_ok() {
            entries.push(entry);
        }
    };
    let mut is_there = false;
    for (task, token) in tasks {
        // Every prefix of the log is closed under parents, whatever a flow says of its tasks.
        if engine.position().standing(task.into()) != Ok(Standing::Eligible) {
            continue;
        }
        // Only where somebody needs it: no worker is in the log for nothing.
        if !is_there {
            is_there = true;
            let joined = Event::Joined {
                worker,
                name: BEFORE.to_owned(),
                offer: Offer::cpus(1),
            };
            happened(engine, joined);
        }
        let executed = Event::Executed {
            task: task.into(),
            token,
            worker,
        };
        happened(engine, executed);
    }
    if is_there {
        let why = Gone::Left;
        happened(engine, Event::Departed { worker, why });
    }
}

/// The tasks that a flow itself says are executed, parents first.
pub(crate) fn said_executed<'a>(
    dag: &'a Dag,
    done: &'a [bool],
) -> impl Iterator<Item = (TaskId, Token)> + 'a {
    let is_done = |t: &TaskId| done.get(t.index()) == Some(&true);
    let tasks = dag.topological_order().iter().copied().filter(is_done);
    tasks.map(|task| (task, Token::default()))
}
