//! From a store to the engine of a run that is served: the same flow goes on, with all its leases; another one is refused.
//! Serves nothing.

use crate::clock::Clock;
use crate::digest::flow_digest;
use crate::replay::{mark_executed, replayed_in_order, said_executed};
use crate::store::{FlowRecord, Group, Store, StoreError};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{Engine, Frozen, Order, Rules};

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
        Some(before) if before.digest == digest => {
            let (engine, _) = replayed_in_order(store, flow.dag(), rules)?;
            let is_planned = engine.plan() > 0;
            Ok(Begun { engine, is_planned })
        }
        Some(_) => Err(BeginError::OtherFlow(store.folder().to_owned())),
        None => {
            let order = quick();
            let mut engine = Engine::new(Frozen::new(flow.dag()), rules, Order::of(&order));
            let mut entries = Vec::new();
            let done = said_executed(flow.dag(), done);
            mark_executed(&mut engine, done, Clock::new().now(), &mut entries);
            let group = Group {
                entries,
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
