//! From a store to the engine of a run that is served: the same flow goes on, with all its leases; another one is refused.
//! Serves nothing.

use crate::digest::flow_digest;
use crate::store::{FlowRecord, Group, Store, StoreError};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{
    Engine, Entry, Event, Frozen, Gone, Moment, Offer, Order, Rules, Token, WorkerId,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// Why a state cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is of another flow.
    #[error("the state in {} is of another workflow: its tasks or their arcs are not those of this one", .0.display())]
    OtherFlow(std::path::PathBuf),
}

/// The state of a run, ready to be served.
#[derive(Debug)]
pub struct Begun<'f> {
    /// Replayed, and not yet open.
    pub engine: Engine<Frozen<'f>>,
    /// Whether an order of the planner is in force already.
    pub is_planned: bool,
}

fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Moment(since.map_or(0, |since| since.as_micros() as u64))
}

/// Goes on with the run of the store, or begins one.
///
/// `done` says which tasks are executed already, by task; `quick` makes an order at once, for as long as there is no other.
///
/// # Errors
/// If the store is of another flow, damaged, or cannot be written.
pub fn begin<'f>(
    store: &mut Store,
    flow: &'f Flow,
    done: &[bool],
    rules: Rules,
    quick: impl FnOnce() -> Vec<TaskId>,
) -> Result<Begun<'f>, BeginError> {
    let digest = flow_digest(flow);
    match store.flow()? {
        Some(before) if before.digest == digest => go_on(store, flow, rules),
        Some(_) => Err(BeginError::OtherFlow(store.folder().to_owned())),
        None => {
            let order = quick();
            let mut engine = Engine::new(Frozen::new(flow.dag()), rules, Order::of(&order));
            let group = Group {
                entries: executed_before(&mut engine, flow, done),
                orders: vec![(0, order.iter().map(|t| t.0).collect())],
                ..Group::default()
            };
            let record = FlowRecord {
                digest,
                fingerprints: Vec::new(),
            };
            let names = flow.dag().tasks().map(|t| flow.name(t));
            store.begin_flow(&record, names.collect::<Vec<_>>().into_iter(), &group)?;
            Ok(Begun {
                engine,
                is_planned: false,
            })
        }
    }
}

fn go_on<'f>(store: &Store, flow: &'f Flow, rules: Rules) -> Result<Begun<'f>, BeginError> {
    let replay = |order: Order| -> Result<Engine<Frozen<'f>>, StoreError> {
        let position = Frozen::new(flow.dag());
        let mut engine = match store.snapshot()? {
            Some(snapshot) => Engine::restore(position, rules.clone(), order, snapshot)
                .map_err(|e| store.damaged(&e.0))?,
            None => Engine::new(position, rules.clone(), order),
        };
        store.each_entry(|entry| engine.replay(&entry))?;
        Ok(engine)
    };
    let ranked = |tasks: Vec<u32>| -> Result<Order, StoreError> {
        let mut seen = vec![false; flow.dag().len()];
        for &task in &tasks {
            match seen.get_mut(task as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(store.damaged("an order does not name every task once")),
            }
        }
        match tasks.len() == seen.len() {
            true => Ok(Order::of(
                &tasks.into_iter().map(TaskId).collect::<Vec<_>>(),
            )),
            false => Err(store.damaged("an order does not name every task once")),
        }
    };
    let (newest, order) = match store.newest_order()? {
        Some((newest, tasks)) => (newest, ranked(tasks)?),
        None => (0, Order::AsNumbered),
    };
    let mut engine = replay(order)?;
    if engine.plan() != newest {
        // An order that never came into force.
        let order = store.order(engine.plan())?;
        engine = replay(order.map_or(Ok(Order::AsNumbered), ranked)?)?;
    }
    let is_planned = engine.plan() > 0;
    Ok(Begun { engine, is_planned })
}

/// Notes tasks that were executed before the run, parents first; those whose parents are not are left to be executed.
fn executed_before(engine: &mut Engine<Frozen<'_>>, flow: &Flow, done: &[bool]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let order = flow.dag().topological_order().iter();
    let done: Vec<TaskId> = order
        .copied()
        .filter(|t| done.get(t.index()) == Some(&true))
        .collect();
    if done.is_empty() {
        return entries;
    }
    let (worker, at) = (WorkerId(0), now());
    let joined = Event::Joined {
        worker,
        name: "before".to_owned(),
        offer: Offer::cpus(1),
    };
    let executed = done.into_iter().map(|task| Event::Executed {
        task: task.into(),
        token: Token::default(),
        worker,
    });
    let why = Gone::Left;
    let events = std::iter::once(joined)
        .chain(executed)
        .chain([Event::Departed { worker, why }]);
    for event in events {
        let entry = Entry { at, event };
        if engine.replay(&entry).is_ok() {
            entries.push(entry);
        }
    }
    entries
}
