//! From a store to the state of a run, on the same flow or on another one with tasks of the same names: what stays executed,
//! and what must be executed again. Starts nothing.

use super::again::{Known, Now, WhyAgain, again};
use super::files::{DeclaredFiles, HalfMade};
use crate::replay::{mark_executed, replayed_in_order, said_executed};
use crate::store::{FlowRecord, Group, Stamp, Store, StoreError};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{
    Engine, Entry, Event, Frozen, Moment, Order, Outbox, Rules, Task, Token, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::{HashMap, HashSet};

/// What a resume needs to know of the run.
#[derive(Clone)]
pub(super) struct Given<'a> {
    pub(super) flow: &'a Flow,
    /// Of its names and arcs.
    pub(super) digest: u64,
    /// By task.
    pub(super) fingerprints: &'a [u64],
    /// By task: executed, as the flow itself says.
    pub(super) done: &'a [bool],
    pub(super) rules: Rules,
    /// Whether the machine was started anew since.
    pub(super) is_other_boot: bool,
    /// Whether declared files are looked at.
    pub(super) minds_files: bool,
    /// Whether nothing may be changed, not even a file that was left half-made.
    pub(super) is_dry: bool,
}

impl Given<'_> {
    fn now(&self) -> Now<'_> {
        Now {
            flow: self.flow,
            fingerprints: self.fingerprints,
            done: self.done,
            is_other_boot: self.is_other_boot,
            minds_files: self.minds_files,
        }
    }
}

/// The state of a run, and what has yet to be written of how it came about.
pub(super) struct Resumed<'a> {
    pub(super) engine: Engine<Frozen<'a>>,
    /// Events since what the store has.
    pub(super) group: Group,
    /// Set where the store must begin with this flow.
    pub(super) is_new_flow: bool,
    /// Whether what is run changed.
    pub(super) has_other_commands: bool,
    /// The order in force, from first to last; none where none was stored for this flow.
    pub(super) order: Option<Vec<TaskId>>,
    /// Executed tasks that must be executed again, each with why.
    pub(super) again: Vec<(TaskId, WhyAgain)>,
    /// Tasks that failed the last time.
    pub(super) failed: Vec<TaskId>,
    /// What attempts of an earlier runner left.
    pub(super) half_made: Vec<HalfMade>,
}

pub(super) fn resume<'a>(
    store: &Store,
    given: Given<'a>,
    files: &mut DeclaredFiles<'_>,
    now: Moment,
) -> Result<Resumed<'a>, StoreError> {
    match store.flow()? {
        Some(before) if before.digest == given.digest => go_on(store, given, &before, files, now),
        Some(before) => carry(store, given, &before, files, now),
        None => Ok(begin(given, 0, HashMap::new(), Vec::new(), now)),
    }
}

/// The same flow as before.
fn go_on<'a>(
    store: &Store,
    given: Given<'a>,
    before: &FlowRecord,
    files: &mut DeclaredFiles<'_>,
    now: Moment,
) -> Result<Resumed<'a>, StoreError> {
    let dag = given.flow.dag();
    let damaged = |e: cairn_engine::Illegal| store.damaged(&e.0);
    let (mut engine, order) = replayed_in_order(
        store,
        Frozen::new(dag),
        dag.len(),
        given.rules.clone(),
        |_| (),
    )?;
    let mut out = Outbox::default();
    let done = said_executed(dag, given.done);
    mark_executed(&mut engine, done, now, &mut out.entries);
    engine.open(now, &mut out);
    // Whoever had tasks is gone; the processes were ended. Their files go before the leases do, which tell when they began.
    let minds_files = given.minds_files && !given.is_dry;
    let mut half_made = Vec::new();
    for (_, task, _) in engine.held() {
        let since = engine.lease(task).map(|(_, _, since)| since);
        if let (Some(task), Some(since), true) = (task.frozen(), since, minds_files) {
            half_made.extend(files.take_back_since(task, since));
        }
    }
    for worker in 0..engine.workers().len() {
        // Those that left before are refused, as they should be.
        let _ = engine.leave(now, WorkerId(worker as u32), &mut out);
    }
    let standing = |engine: &Engine<Frozen<'_>>, which: Standing| -> Vec<TaskId> {
        let game = engine.position().game();
        dag.tasks().filter(|&t| game.standing(t) == which).collect()
    };
    let failed = standing(&engine, Standing::Failed);
    for task in (failed.iter().copied()).chain(standing(&engine, Standing::Cancelled)) {
        engine.revive(now, task.into(), &mut out).map_err(damaged)?;
    }
    let known = Known::of(store, before)?;
    let executed = standing(&engine, Standing::Executed);
    let again = again(&given.now(), &known, &executed, files);
    let mut reopened: HashSet<TaskId> = again.iter().map(|&(task, _)| task).collect();
    // Children first: a task can be reopened only while nothing behind it is executed.
    for &task in dag.topological_order().iter().rev() {
        if reopened.remove(&task) {
            engine.reopen(now, task.into(), &mut out).map_err(damaged)?;
        }
    }
    Ok(Resumed {
        engine,
        group: Group {
            entries: out.entries,
            ..Group::default()
        },
        is_new_flow: false,
        has_other_commands: before.fingerprints != given.fingerprints,
        order,
        again,
        failed,
        half_made,
    })
}

/// Another flow: what was executed under the same name, and would be executed again just so, stays executed.
fn carry<'a>(
    store: &Store,
    given: Given<'a>,
    before: &FlowRecord,
    files: &mut DeclaredFiles<'_>,
    now: Moment,
) -> Result<Resumed<'a>, StoreError> {
    let flow = given.flow;
    let names = store.names()?;
    let find = |task: Task| {
        let old = usize::try_from(task.0).ok()?;
        Some((old, flow.find(names.get(old)?)?))
    };
    // Not by the engine: the old dag is gone, and only names tell which task was which.
    let mut executed: HashMap<TaskId, Token> = HashMap::new();
    let mut epoch = 0;
    if let Some(snapshot) = store.snapshot()? {
        epoch = snapshot.epoch();
        for (old, &standing) in snapshot.position().iter().enumerate() {
            let new = find(Task(old as u64)).filter(|_| standing == Standing::Executed as u8);
            executed.extend(new.map(|(_, task)| (task, Token { epoch, attempt: 1 })));
        }
    }
    store.each_entry(|entry| {
        match entry.event {
            Event::Opened { epoch: later } => epoch = later,
            Event::Executed { task, token, .. } => {
                executed.extend(find(task).map(|(_, task)| (task, token)));
            }
            Event::Reopened { task } => {
                find(task).and_then(|(_, task)| executed.remove(&task));
            }
            _ => (),
        }
        Ok::<(), String>(())
    })?;
    let olds = (0..before.fingerprints.len()).filter_map(|old| find(Task(old as u64)));
    let mut fingerprints = vec![None; flow.dag().len()];
    olds.for_each(|(old, task)| fingerprints[task.index()] = Some(before.fingerprints[old]));
    let known = Known {
        fingerprints,
        stamps: (store.stamps()?.into_iter())
            .filter_map(|stamp| Some((find(stamp.task)?.1, stamp)))
            .collect(),
    };
    let mut carried: Vec<TaskId> = executed.keys().copied().collect();
    // A map has no order, and what is told of them should have one.
    carried.sort_unstable();
    let again = again(&given.now(), &known, &carried, files);
    for (task, _) in &again {
        executed.remove(task);
    }
    let stamps = (executed.keys())
        .filter_map(|task| Some((*task, known.stamps.get(task)?)))
        .map(|(task, stamp)| Stamp {
            task: task.into(),
            ..*stamp
        })
        .collect();
    let mut resumed = begin(given, epoch, executed, stamps, now);
    resumed.again = again;
    Ok(resumed)
}

/// A flow that the store does not know yet, of which some tasks are executed.
fn begin<'a>(
    given: Given<'a>,
    epoch: u32,
    mut executed: HashMap<TaskId, Token>,
    stamps: Vec<Stamp>,
    now: Moment,
) -> Resumed<'a> {
    let dag = given.flow.dag();
    let mut out = Outbox::default();
    let mut engine = Engine::new(Frozen::new(dag), given.rules, Order::AsNumbered);
    let event = Event::Opened { epoch };
    let opened = Entry { at: now, event };
    // An epoch never comes again, also where nothing else is carried over.
    if epoch > 0 && engine.replay(&opened).is_ok() {
        out.entries.push(opened);
    }
    for task in dag.tasks() {
        if given.done.get(task.index()) == Some(&true) {
            executed.entry(task).or_default();
        }
    }
    let in_order = dag.topological_order().iter();
    let executed = in_order.filter_map(|task| Some((*task, *executed.get(task)?)));
    mark_executed(&mut engine, executed, now, &mut out.entries);
    engine.open(now, &mut out);
    Resumed {
        engine,
        group: Group {
            entries: out.entries,
            stamps,
            ..Group::default()
        },
        is_new_flow: true,
        has_other_commands: false,
        order: None,
        again: Vec::new(),
        failed: Vec::new(),
        half_made: Vec::new(),
    }
}
