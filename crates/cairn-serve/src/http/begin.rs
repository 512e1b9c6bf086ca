//! From a store to the engine of a run that is served: the same flow goes on, with all its leases; another one is refused.
//! Serves nothing.

use super::desk::{Kept, ServedDisk};
use super::stamps::Stamps;
use crate::budgets::{desk, log};
use crate::clock::Clock;
use crate::digest::{Digest, flow_digest};
use crate::disk::{SIZES, Tight, Unkept, stored, whole_order};
use crate::found::{About, Found};
use crate::private;
use crate::replay::{mark_executed, replayed, replayed_in_order, said_executed};
use crate::run::{BOOT, DeclaredFiles, Known, Now, WhyAgain, again, another_command, boot};
use crate::store::{FlowRecord, Group, Store, StoreError};
use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::{
    Batched, Dispatch, Engine, Expected, Illegal, Implicit, Memory, Moment, Order, Outbox, Placing,
    Position, Rules, Shape, Taken, Task, Token, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// Why a state cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is of another flow.
    #[error("the state in {} is of another workflow: its tasks or their arcs are not those of this one", .0.display())]
    OtherFlow(PathBuf),
    /// It is of a family whose tasks ran something else: nothing tells which of its tasks did.
    #[error("the state in {} is of another command: its tasks ran '{before}'", folder.display())]
    OtherCommand {
        /// Where it is.
        folder: PathBuf,
        /// The command of before.
        before: String,
    },
    /// The system has no random numbers to name the run by.
    #[error("no random numbers: {0}")]
    Random(std::io::Error),
    /// No order keeps the cap on the disk, or none was found.
    #[error(transparent)]
    Cap(#[from] Unkept),
}

/// A flow to be served.
pub struct Setup<'f> {
    /// The flow.
    pub flow: &'f Flow,
    /// By task whether it is executed already, as the flow says.
    pub done: &'f [bool],
    /// By task a fingerprint of what is run, to see later that it changed; empty where nobody asks.
    pub fingerprints: Vec<u64>,
    /// Where the files of a task are, if not here; `None`: declared files are not looked at.
    pub files: Option<&'f (dyn Fn(TaskId) -> Option<PathBuf> + Sync)>,
    /// Temporary files are deleted and the disk is kept under a cap, where declared files are looked at.
    pub disk: Option<ServedDisk<'f>>,
    /// By task: bytes that it takes in a folder of its own, where workers have such; empty where nobody says.
    pub weights: Vec<u64>,
    /// Needs and budgets.
    pub rules: Rules,
    /// What is to be told of the quick order.
    pub about: About,
    /// Whether requests that come together are answered with what they open together, and not by the order alone.
    pub batches: bool,
    /// What is known of times, sizes and speeds beforehand.
    pub watch: Beforehand,
}

/// What is known of times and speeds before a run begins, and whether tasks go by it.
pub struct Beforehand {
    /// What is expected of the tasks.
    pub expected: Expected,
    /// What earlier runs taught.
    pub memory: Memory,
    /// By what tasks go to workers.
    pub placing: Placing,
}

impl Default for Beforehand {
    /// Nothing is known, and tasks go by the order.
    fn default() -> Beforehand {
        Beforehand {
            expected: Expected::default(),
            memory: Memory::default(),
            placing: Placing::ByOrder,
        }
    }
}

impl Beforehand {
    fn begin<P: Position>(self, engine: &mut Engine<P>, dag: &Dag) {
        engine.remember(&self.memory);
        if self.placing == Placing::ByOrder && dag.len() > desk::WATCHED {
            return;
        }
        let Beforehand {
            expected,
            memory,
            placing,
        } = self;
        engine.watch(memory, placing, |memory| {
            Dispatch::new(dag, &expected, memory, std::iter::empty())
        });
    }
}

/// The state of a run, ready to be served.
pub struct Begun<'f, P> {
    /// Replayed, and open.
    pub(crate) engine: Engine<P>,
    /// The random name of the run.
    pub(crate) run: String,
    /// What is to be told to workers because of what changed.
    pub(crate) out: Outbox,
    pub(crate) stamps: Option<Stamps<'f>>,
    pub(crate) kept: Option<Kept<'f>>,
    pub(crate) weights: Vec<u64>,
    /// Where a faster order may come from, where the cap on the disk is tight.
    pub better: Option<Receiver<Found>>,
    /// Whether an order is in force that stays.
    pub is_planned: bool,
    /// What is to be told of the order in force.
    pub(crate) about: Option<About>,
    /// Executed tasks that are executed again, each with why.
    pub again: Vec<(TaskId, WhyAgain)>,
    /// After so many events there is a snapshot, so that a resume need not replay more.
    pub(crate) snapshot_every: u64,
    /// Whether events go once a snapshot has them: the store stays small, and the journal begins with the snapshot.
    pub(crate) forgets: bool,
}

/// Goes on with the run of the store, or begins one. `quick` makes an order at once, for as long as there is no other.
///
/// Executed tasks whose command or inputs changed, or whose outputs are gone, are executed again, with all that came after
/// them; what of that is leased is taken back. After a power cut outputs must have the sizes that they had.
///
/// # Errors
/// If the store is of another flow, damaged, or cannot be written; or if no order keeps the cap on the disk: then nothing was
/// written.
pub fn begin<'f>(
    store: &mut Store,
    setup: Setup<'f>,
    quick: impl FnOnce() -> Vec<TaskId>,
) -> Result<Begun<'f, Batched<'f>>, BeginError> {
    let flow = setup.flow;
    let dag = flow.dag();
    let effort = (setup.batches && dag.len() <= desk::BATCHED).then_some(desk::BATCH);
    // Where declared files are not looked at, nothing could be measured, and nothing may be deleted.
    let disk = setup.disk.filter(|_| setup.files.is_some());
    let temp = disk.as_ref().map(|disk| disk.files.layout.temporary());
    let temp: HashSet<&str> = temp.unwrap_or_default();
    let mut files = setup
        .files
        .map(|directory| DeclaredFiles::new(flow, directory, &|path| temp.contains(path)));
    drop(temp);
    let start = Start {
        flow,
        done: setup.done,
        record: FlowRecord {
            digest: flow_digest(flow),
            fingerprints: setup.fingerprints,
        },
        position: Batched::new(dag, effort),
        rules: setup.rules,
        disk,
        directory: &|task| setup.files.and_then(|directory| directory(task)),
        known: stored(store.meta(SIZES)?.as_deref()).and(setup.watch.memory.files()),
        watch: setup.watch,
        now: Clock::new().now(),
    };
    let Started {
        mut engine,
        out,
        kept,
        better,
        again,
        about,
    } = match store.flow()? {
        Some(before) if before.digest == start.record.digest => {
            start.go_on(store, &before, files.as_mut())?
        }
        Some(_) => return Err(BeginError::OtherFlow(store.folder().to_owned())),
        None => start.anew(store, quick(), setup.about)?,
    };
    engine.set_weights(setup.weights.clone());
    // Only once outputs were compared: a start that failed before that must compare them again.
    store.set_meta(BOOT, &boot())?;
    let run = named(store)?;
    let mut stamps = files.map(Stamps::new);
    if let Some(stamps) = &mut stamps {
        // How their inputs were when they began is not known any more: as they are now is the nearest.
        (engine.held()).for_each(|(_, task, token)| stamps.started(task, token));
    }
    Ok(Begun {
        // States of earlier versions tell it by the number of the order alone.
        is_planned: (about.as_ref()).map_or(engine.plan() > 0, |about| about.settled),
        about,
        engine,
        run,
        out,
        stamps,
        kept,
        better,
        weights: setup.weights,
        again,
        // A task is two events where nothing goes wrong: such a run ends before its first snapshot,
        // however large it is.
        snapshot_every: log::SERVED.max(4 * dag.len() as u64),
        // The journal of a flow stays whole: it is as long as the flow is large.
        forgets: false,
    })
}

/// What a run of a flow is started with.
struct Start<'s, 'f> {
    flow: &'f Flow,
    done: &'f [bool],
    /// The flow, as the store is to know it.
    record: FlowRecord,
    position: Batched<'f>,
    rules: Rules,
    disk: Option<ServedDisk<'f>>,
    directory: &'s (dyn Fn(TaskId) -> Option<PathBuf> + Sync),
    /// Sizes of files that earlier runs measured.
    known: Taken,
    watch: Beforehand,
    now: Moment,
}

/// A run whose beginning is in the store.
struct Started<'f> {
    engine: Engine<Batched<'f>>,
    out: Outbox,
    kept: Option<Kept<'f>>,
    better: Option<Receiver<Found>>,
    again: Vec<(TaskId, WhyAgain)>,
    about: Option<About>,
}

impl<'f> Start<'_, 'f> {
    /// Goes on where the run of the store stands.
    fn go_on(
        self,
        store: &mut Store,
        before: &FlowRecord,
        files: Option<&mut DeclaredFiles<'_>>,
    ) -> Result<Started<'f>, BeginError> {
        let (dag, now) = (self.flow.dag(), self.now);
        let mut out = Outbox::default();
        let (mut engine, _) =
            replayed_in_order(store, self.position, dag.len(), self.rules, |engine| {
                self.watch.begin(engine, dag);
            })?;
        engine.open(now, &mut out);
        let seen = Now {
            flow: self.flow,
            fingerprints: &self.record.fingerprints,
            done: self.done,
            is_other_boot: store.meta(BOOT)?.is_some_and(|before| before != boot()),
            minds_files: files.is_some(),
        };
        let again = changed(store, before, &engine, &seen, files)?;
        reopen(&mut engine, dag, &again, now, &mut out).map_err(|e| store.damaged(&e.0))?;
        let known = (&self.known, &out.kills[..]);
        // Before anything is written: where no order keeps the cap, the state stays as it was.
        let (kept, tight) = keep(self.disk, &mut engine, self.directory, known)?;
        let mut about = About::stored(store)?;
        let mut group = Group::default();
        let mut better = None;
        if let Some((order, found)) = tight {
            better = Some(found);
            let newest = store.newest_order()?.map_or(0, |(number, _)| number);
            let order = (newest + 1, whole_order(dag, &order));
            take_order(&mut engine, order, &mut group, now, &mut out);
            let by_disk = About::by_disk();
            group.meta.push(by_disk.row());
            about = Some(by_disk);
        }
        group.entries = std::mem::take(&mut out.entries);
        // One transaction: with new fingerprints but without the reopened tasks, the next start would
        // take what an old command made for that of the new one.
        match before.fingerprints == self.record.fingerprints {
            true => store.append_group(&group)?,
            false => store.set_fingerprints(&self.record.fingerprints, &group)?,
        }
        Ok(Started {
            engine,
            out,
            kept,
            better,
            again,
            about,
        })
    }

    /// Begins in a store that knows of no run, by an order that was made at once.
    fn anew(
        self,
        store: &mut Store,
        order: Vec<TaskId>,
        told: About,
    ) -> Result<Started<'f>, BeginError> {
        let (dag, now) = (self.flow.dag(), self.now);
        let mut out = Outbox::default();
        let mut engine = Engine::new(self.position, self.rules, Order::of(&order));
        self.watch.begin(&mut engine, dag);
        let done = said_executed(dag, self.done);
        mark_executed(&mut engine, done, now, &mut out.entries);
        engine.open(now, &mut out);
        let known = (&self.known, &out.kills[..]);
        let (kept, tight) = keep(self.disk, &mut engine, self.directory, known)?;
        let told = match tight {
            Some(_) => About::by_disk(),
            None => told,
        };
        let mut group = Group {
            // The quick one as well: a restart goes on with it until there is a better one.
            orders: vec![(0, order.iter().map(|t| t.0).collect())],
            meta: vec![told.row()],
            ..Group::default()
        };
        let mut better = None;
        if let Some((order, found)) = tight {
            better = Some(found);
            let order = (1, whole_order(dag, &order));
            take_order(&mut engine, order, &mut group, now, &mut out);
        }
        group.entries = std::mem::take(&mut out.entries);
        let names = dag.tasks().map(|t| self.flow.name(t));
        let names = names.collect::<Vec<_>>().into_iter();
        store.begin_flow(&self.record, names, &group)?;
        Ok(Started {
            engine,
            out,
            kept,
            better,
            again: Vec::new(),
            about: Some(told),
        })
    }
}

/// The random name of the run, given when it is first served. Attempts are numbered alike in every run: workers keep
/// results apart by it.
fn named(store: &mut Store) -> Result<String, BeginError> {
    const SERVED: &str = "served";
    if let Some(name) = store.meta(SERVED)? {
        return Ok(name);
    }
    // 128 bits: two runs never have the same, whoever made them.
    let name = private::random(16).map_err(BeginError::Random)?;
    store.set_meta(SERVED, &name)?;
    Ok(name)
}

/// Counts what lies on the disk, and keeps it under the cap. Returns in which order the waiting tasks go, where that is tight.
fn keep<'f, P: Position>(
    disk: Option<ServedDisk<'f>>,
    engine: &mut Engine<P>,
    directory: &(dyn Fn(TaskId) -> Option<PathBuf> + Sync),
    (known, recalled): (&Taken, &[(WorkerId, Task, Token)]),
) -> Result<(Option<Kept<'f>>, Option<Tight>), Unkept> {
    let Some(disk) = disk else {
        return Ok((None, None));
    };
    let (kept, order) = Kept::begin(disk, engine, directory, known, recalled)?;
    Ok((Some(kept), order))
}

/// Tasks go by another order, which the store is to know by a number.
fn take_order<P: Position>(
    engine: &mut Engine<P>,
    (number, order): (u32, Vec<TaskId>),
    group: &mut Group,
    now: Moment,
    out: &mut Outbox,
) {
    let numbers = order.iter().map(|t| t.0).collect();
    group.orders.push((number, numbers));
    engine.reorder(now, number, Order::of(&order), out);
}

/// Executed tasks that must be executed again.
fn changed<P: Position>(
    store: &Store,
    before: &FlowRecord,
    engine: &Engine<P>,
    seen: &Now<'_>,
    files: Option<&mut DeclaredFiles<'_>>,
) -> Result<Vec<(TaskId, WhyAgain)>, StoreError> {
    let is_executed =
        |t: &TaskId| engine.position().standing((*t).into()) == Ok(Standing::Executed);
    let executed: Vec<TaskId> = seen.flow.dag().tasks().filter(is_executed).collect();
    let nowhere = |_| None;
    let mut none = DeclaredFiles::new(seen.flow, &nowhere, &|_| false);
    let known = Known::of(store, before)?;
    Ok(match files {
        Some(files) => again(seen, &known, &executed, files),
        None => again(seen, &known, &executed, &mut none),
    })
}

/// Tasks are executed again, children first; what stands on them is taken back or tried anew.
fn reopen<P: Position>(
    engine: &mut Engine<P>,
    dag: &Dag,
    again: &[(TaskId, WhyAgain)],
    now: Moment,
    out: &mut Outbox,
) -> Result<(), Illegal> {
    let mut due: HashSet<TaskId> = again.iter().map(|&(task, _)| task).collect();
    for &task in dag.topological_order().iter().rev() {
        if !due.remove(&task) {
            continue;
        }
        for &child in dag.children(task) {
            match engine.position().standing(child.into())? {
                // What it reads is about to be made anew: what it makes of the old must not count.
                Standing::Leased => engine.recall(now, child.into(), out),
                Standing::Failed => engine.revive(now, child.into(), out)?,
                _ => (),
            }
        }
        engine.reopen(now, task.into(), out)?;
    }
    Ok(())
}

/// Goes on with a family that is never written down, or begins one. `name` is what the state is of, `command` what its tasks
/// run.
///
/// # Errors
/// If the store is of something else or of another command, damaged, or cannot be written.
pub fn begin_family(
    store: &mut Store,
    name: &str,
    command: &str,
    shape: Box<dyn Shape>,
    rules: Rules,
) -> Result<Begun<'static, Implicit>, BeginError> {
    let mut digest = Digest::new();
    digest.text(name);
    let record = FlowRecord {
        digest: digest.done(),
        fingerprints: Vec::new(),
    };
    match store.flow()? {
        Some(known) if known.digest == record.digest => (),
        Some(_) => return Err(BeginError::OtherFlow(store.folder().to_owned())),
        None => store.begin_flow(&record, std::iter::empty(), &Group::default())?,
    }
    let mut engine = replayed(store, Implicit::new(shape), rules, |_| ())?;
    if let Some(before) = another_command(store, &engine, command)? {
        let folder = store.folder().to_owned();
        return Err(BeginError::OtherCommand { folder, before });
    }
    let mut out = Outbox::default();
    engine.open(Clock::new().now(), &mut out);
    store.append(&std::mem::take(&mut out.entries))?;
    store.set_meta(BOOT, &boot())?;
    Ok(Begun {
        engine,
        run: named(store)?,
        out,
        stamps: None,
        kept: None,
        better: None,
        weights: Vec::new(),
        is_planned: true,
        about: None,
        again: Vec::new(),
        snapshot_every: log::SERVED_FAMILY,
        forgets: true,
    })
}
