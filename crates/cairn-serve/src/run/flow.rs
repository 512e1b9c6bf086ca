//! A whole flow on this machine: from its store to a run that can go on, with the order in force. Starts nothing itself.

use super::course::Course;
use super::drive::Drive;
use super::files::DeclaredFiles;
use super::resume::{self, Given, Resumed};
use super::{
    BOOT, ID, News, POLICY, RunError, Summary, TaskPrograms, Watch, boot, end_what_is_left,
    identity,
};
use crate::budgets::log;
use crate::clock::Clock;
use crate::digest::flow_digest;
use crate::disk::{Disk, DiskSetup, SIZES, Tight, stored, tight, whole_order};
use crate::found::{About, BY_DISK, Found};
use crate::store::{FlowRecord, Group, Store, StoreError};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{ClassId, Engine, Frozen, Moment, Needs, Offer, Outbox, Rules};
use cairn_theory::game::Standing;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// A tag that no worker has.
const NOT_NOW: &str = "not now";

/// What the tasks of a flow run.
pub trait FlowPrograms: TaskPrograms {
    /// Where the task is started, and its declared files are looked for; here if `None`.
    fn directory(&self, task: TaskId) -> Option<PathBuf>;

    /// A number that changes when what the task runs does.
    fn fingerprint(&self, task: TaskId) -> u64;
}

/// Orders for tasks that were never ordered: one at once, and a better one when it is found.
pub struct Orders<'a> {
    /// Which policy made them. An order in the store that was made by another one is not used.
    pub policy: String,
    /// An order at once; asked for when none is in force and no better one is there in time.
    pub quick: &'a dyn Fn() -> Vec<TaskId>,
    /// Begins to look for better ones, which come through the channel, the best last. Not called when the store has an order
    /// that stays.
    pub better: &'a mut dyn FnMut() -> Receiver<Found>,
    /// How long the first task may wait for it.
    pub patience: Duration,
}

/// What to run, and how.
pub struct FlowSetup<'a> {
    /// The dag, with names and declared files.
    pub flow: &'a Flow,
    /// What its tasks run.
    pub programs: &'a dyn FlowPrograms,
    /// By task: executed already, as the flow says. May be shorter.
    pub done: &'a [bool],
    /// By task, where not all are: which are to be executed now.
    pub wanted: Option<Vec<bool>>,
    /// Whether only what failed the last time, and what waits for it, is to be executed now.
    pub only_failed: bool,
    /// Needs, budgets, limits.
    pub rules: Rules,
    /// What this machine offers.
    pub offer: Offer,
    /// Whether declared files are looked at.
    pub minds_files: bool,
    /// Whether attempts that take more memory than their task needs are ended.
    pub limits_memory: bool,
    /// Temporary files are deleted and the disk is kept under a cap, where declared files are looked at.
    pub disk: Option<DiskSetup<'a>>,
    /// Nothing is started: tasks whose outputs are there count as executed.
    pub is_touch: bool,
    /// Nothing is started or written: only what would be is told.
    pub is_dry: bool,
}

/// Runs a flow, or goes on with it. `asked` tells how often somebody asked to stop: once, and nothing more is started; twice,
/// and what runs is asked to end; three times, and it is killed.
///
/// # Errors
/// If it cannot begin, or if the store cannot be written: then nothing more was started, and what ran was waited for.
pub fn run(
    mut store: Store,
    setup: FlowSetup<'_>,
    orders: Orders<'_>,
    asked: &(dyn Fn() -> u32 + Sync),
    watch: Watch<'_>,
) -> Result<Summary, RunError> {
    let clock = Clock::new();
    let now = clock.now();
    let FlowSetup { flow, programs, .. } = setup;
    let (id, is_new) = identity(&store)?;
    // Before any file is looked at: what a killed runner left running may still write.
    if !setup.is_dry && !is_new {
        end_what_is_left(&id, now, watch)?;
    }
    let directory = |task| programs.directory(task);
    let mut disk = setup.disk.filter(|_| setup.minds_files);
    // What starts nothing writes nothing: no cap can be in its way.
    if let Some(disk) = disk.as_mut().filter(|_| setup.is_touch) {
        disk.layout.cap = None;
    }
    let mut files = watched_files(flow, &directory, disk.as_ref());
    let boot = boot();
    let is_same_policy = store.meta(POLICY)?.as_ref() == Some(&orders.policy);
    let record = record_of(flow, programs);
    let given = Given {
        flow,
        digest: record.digest,
        fingerprints: &record.fingerprints,
        done: setup.done,
        rules: setup.rules,
        is_other_boot: store.meta(BOOT)?.as_ref() != Some(&boot),
        minds_files: setup.minds_files,
        is_dry: setup.is_dry,
    };
    let mut part = Part {
        flow,
        wanted: setup.wanted,
    };
    let resumed = resume_part(&store, given, &mut part, setup.only_failed, &mut files, now)?;
    let change = Change {
        is_new_flow: resumed.is_new_flow,
        has_other_commands: resumed.has_other_commands,
    };
    let mut drive = Drive::new(resumed.engine, programs, clock, id.clone(), &store, watch);
    let tasks = flow.dag().len();
    drive.total = part.len();
    drive.group = resumed.group;
    drive.course = Some(Course::new(tasks, resumed.order));
    drive.is_touch = setup.is_touch;
    drive.limits_memory = setup.limits_memory;
    drive.condensed_after = Some(log::RUN.max(tasks));
    if let Some(wanted) = &part.wanted {
        drive.engine.leave_out_all_but(wanted);
    }
    let half_made = resumed.half_made.iter().map(News::HalfMade);
    let again = (resumed.again.into_iter()).map(|(task, why)| News::Again(task.into(), why));
    half_made.chain(again).for_each(|news| drive.tell(&news));
    // Before temporary files go and anything starts: what is missing now is not our doing.
    part.check(&drive.engine, setup.minds_files.then_some(&mut files))?;
    let may_delete = !setup.is_dry && !setup.is_touch;
    let tight = keep_disk(&mut drive, disk, &directory, &store, may_delete)?;
    drive.files = setup.minds_files.then_some(files);
    // Nothing is written then, not even that somebody looked: a resume with nothing to do leaves the store as it is.
    if part.is_executed(&drive.engine) {
        return Ok(part.summary(&drive, false));
    }
    if setup.is_dry {
        tell_what_would_run(&mut drive, &part, &orders);
        return Ok(part.summary(&drive, false));
    }
    match tight {
        Some(tight) => order_by_disk(&mut drive, &store, flow.dag(), tight)?,
        None => order_tasks(&mut drive, &store, orders, is_same_policy)?,
    }
    drive.join(setup.offer);
    drive.group.meta.extend([(ID, id), (BOOT, boot)]);
    // All that a later start must know is on the disk before the first process is there.
    let group = std::mem::take(&mut drive.group);
    write_down(&mut store, flow, &record, &change, &group)?;
    let was_stopped = drive.go(store, asked)?;
    Ok(part.summary(&drive, was_stopped))
}

/// How the last run ended, replayed by rules under which only the wanted tasks can be started. Which are wanted may depend on
/// just that: then `part` is told.
fn resume_part<'a>(
    store: &Store,
    mut given: Given<'a>,
    part: &mut Part<'_>,
    only_failed: bool,
    files: &mut DeclaredFiles<'_>,
    now: Moment,
) -> Result<Resumed<'a>, RunError> {
    let mut narrow = Narrow::new(std::mem::take(&mut given.rules));
    let mut replay = |wanted: Option<&[bool]>, files: &mut DeclaredFiles<'_>| {
        let rules = narrow.to(wanted).clone();
        resume::resume(
            store,
            Given {
                rules,
                ..given.clone()
            },
            files,
            now,
        )
    };
    let resumed = replay(part.wanted.as_deref(), files)?;
    if !only_failed {
        return Ok(resumed);
    }
    part.wanted = Some(behind(part.flow.dag(), &resumed.failed));
    // Needs are part of the rules that the log is replayed with: where they change, it is replayed again.
    let mut again = replay(part.wanted.as_deref(), files)?;
    again.half_made.extend(resumed.half_made);
    Ok(again)
}

/// Rules by which tasks that are not wanted have needs that nobody fulfils.
struct Narrow {
    rules: Rules,
    /// The needs that the tasks really have.
    classes: Vec<ClassId>,
    not_now: ClassId,
}

impl Narrow {
    fn new(mut rules: Rules) -> Narrow {
        let not_now = ClassId::new(rules.classes.len());
        rules.classes.push(Needs {
            tags: vec![NOT_NOW.to_owned()],
            ..Needs::default()
        });
        let classes = rules.class_of.clone();
        Narrow {
            rules,
            classes,
            not_now,
        }
    }

    /// Only these are wanted; all, where nobody says.
    fn to(&mut self, wanted: Option<&[bool]>) -> &Rules {
        if let Some(wanted) = wanted {
            let class = |(task, wanted): (usize, &bool)| match wanted {
                true => self.classes.get(task).copied().unwrap_or_default(),
                false => self.not_now,
            };
            self.rules.class_of = wanted.iter().enumerate().map(class).collect();
        }
        &self.rules
    }
}

/// By task: one of these, or behind one.
fn behind(dag: &cairn_dag::Dag, tasks: &[TaskId]) -> Vec<bool> {
    let mut is_behind = vec![false; dag.len()];
    tasks.iter().for_each(|t| is_behind[t.index()] = true);
    // Parents before children: one pass reaches all.
    for &task in dag.topological_order() {
        is_behind[task.index()] |= dag.parents(task).iter().any(|p| is_behind[p.index()]);
    }
    is_behind
}

/// The part of a flow that is to be executed now.
struct Part<'a> {
    flow: &'a Flow,
    /// By task; all where nobody says.
    wanted: Option<Vec<bool>>,
}

impl Part<'_> {
    fn contains(&self, task: TaskId) -> bool {
        (self.wanted.as_ref()).is_none_or(|wanted| wanted[task.index()])
    }

    fn len(&self) -> usize {
        let all = self.flow.dag().len();
        (self.wanted.as_ref()).map_or(all, |w| w.iter().filter(|w| **w).count())
    }

    fn is_left(&self, engine: &Engine<Frozen<'_>>, task: TaskId) -> bool {
        self.contains(task) && engine.position().game().standing(task) != Standing::Executed
    }

    /// Whether all of it is executed.
    fn is_executed(&self, engine: &Engine<Frozen<'_>>) -> bool {
        let mut tasks = self.flow.dag().tasks();
        !tasks.any(|t| self.is_left(engine, t))
    }

    /// What nobody could do anything about later.
    fn check(
        &self,
        engine: &Engine<Frozen<'_>>,
        mut files: Option<&mut DeclaredFiles<'_>>,
    ) -> Result<(), RunError> {
        let dag = self.flow.dag();
        let name = |t: TaskId| self.flow.shown(t).into_owned();
        let standing = |t: TaskId| engine.position().game().standing(t);
        for task in dag.tasks().filter(|&t| self.is_left(engine, t)) {
            let open = |p: &&TaskId| !self.contains(**p) && standing(**p) != Standing::Executed;
            if let Some(&parent) = dag.parents(task).iter().find(open) {
                let (task, parent) = (name(task), name(parent));
                return Err(RunError::NotOpen { task, parent });
            }
            if let Some(file) = files.as_mut().and_then(|files| files.missing_source(task)) {
                let (task, file) = (name(task), file.to_owned());
                return Err(RunError::NoInput { task, file });
            }
        }
        if let Some(files) = files {
            files.forget();
        }
        Ok(())
    }

    fn summary(&self, drive: &Drive<'_, Frozen<'_>>, was_stopped: bool) -> Summary {
        let game = drive.engine.position().game();
        let those = |which: Standing| {
            let tasks = self.flow.dag().tasks();
            tasks.map(|t| game.standing(t) == which).collect()
        };
        Summary {
            executed: those(Standing::Executed),
            failed: those(Standing::Failed),
            ..drive.summary(was_stopped, self.is_executed(&drive.engine))
        }
    }
}

/// The declared files of a flow, as they are looked at; which of them are temporary, the setup of the disk says.
fn watched_files<'f>(
    flow: &'f Flow,
    directory: &'f (dyn Fn(TaskId) -> Option<PathBuf> + Sync),
    disk: Option<&DiskSetup<'_>>,
) -> DeclaredFiles<'f> {
    let temp: HashSet<&str> = disk.map(|disk| disk.layout.temporary()).unwrap_or_default();
    DeclaredFiles::new(flow, directory, &|path| temp.contains(path))
}

/// What a store keeps of a flow and its commands, to see later whether they are the same.
fn record_of(flow: &Flow, programs: &dyn FlowPrograms) -> FlowRecord {
    let fingerprints = flow.dag().tasks().map(|t| programs.fingerprint(t));
    FlowRecord {
        digest: flow_digest(flow),
        fingerprints: fingerprints.collect(),
    }
}

/// What the store does not know yet.
struct Change {
    is_new_flow: bool,
    has_other_commands: bool,
}

/// Has the store know the flow that is run, and what was decided before anything started.
fn write_down(
    store: &mut Store,
    flow: &Flow,
    record: &FlowRecord,
    change: &Change,
    group: &Group,
) -> Result<(), StoreError> {
    if change.is_new_flow {
        let names: Vec<&str> = flow.dag().tasks().map(|t| flow.name(t)).collect();
        store.begin_flow(record, names.into_iter(), group)
    } else if change.has_other_commands {
        store.set_fingerprints(&record.fingerprints, group)
    } else {
        store.append_group(group)
    }
}

/// Tells of all that would be executed, in the order in which one worker would.
fn tell_what_would_run(drive: &mut Drive<'_, Frozen<'_>>, part: &Part<'_>, orders: &Orders<'_>) {
    let stored = drive.course.as_ref().and_then(Course::order);
    let order = stored.map_or_else(|| (orders.quick)(), <[TaskId]>::to_vec);
    for task in order {
        if part.is_left(&drive.engine, task) {
            drive.tell(&News::WouldRun(task.into()));
        }
    }
}

/// Counts what lies on the disk, and keeps it under the cap, where there is one to mind. Returns in which order the tasks go, where that is tight.
fn keep_disk<'a>(
    drive: &mut Drive<'a, Frozen<'_>>,
    setup: Option<DiskSetup<'a>>,
    directory: &dyn Fn(TaskId) -> Option<PathBuf>,
    store: &Store,
    may_delete: bool,
) -> Result<Option<Tight>, RunError> {
    let Some(setup) = setup else {
        return Ok(None);
    };
    let known = stored(store.meta(SIZES)?.as_deref());
    let (disk, swept) = Disk::begin(
        setup.layout,
        &mut drive.engine,
        directory,
        &known,
        may_delete,
    )?;
    drive.tell_swept(swept);
    drive.planner = Some(setup.planner);
    // A dry run asks the keeper alone; without this nothing is ever deleted, measured or looked at again.
    drive.disk = may_delete.then_some(disk);
    Ok(tight(&mut drive.engine, setup.planner, setup.priorities)?)
}

/// The tasks go in an order for a tight cap, until faster priorities are found; those that do not wait stand first.
fn order_by_disk(
    drive: &mut Drive<'_, Frozen<'_>>,
    store: &Store,
    dag: &cairn_dag::Dag,
    (order, better): Tight,
) -> Result<(), RunError> {
    drive.group.meta.push((POLICY, BY_DISK.to_owned()));
    let newest = store.newest_order()?.map_or(0, |(number, _)| number);
    let mut out = Outbox::default();
    drive.reorder(newest + 1, whole_order(dag, &order), &mut out);
    drive.group.entries.append(&mut out.entries);
    drive.note(About::by_disk());
    if let Some(course) = &mut drive.course {
        course.expect(Some(better));
    }
    Ok(())
}

/// Sees to it that an order is in force, and that a better one will be. What is stored and stays is not looked for again.
fn order_tasks(
    drive: &mut Drive<'_, Frozen<'_>>,
    store: &Store,
    orders: Orders<'_>,
    is_same_policy: bool,
) -> Result<(), RunError> {
    // An order that another policy made is not what was asked for, however good.
    let is_ordered = is_same_policy && (drive.course.as_ref()).is_some_and(|c| c.order().is_some());
    let about = About::stored(store)?.filter(|_| is_ordered);
    if is_ordered && about.as_ref().is_none_or(|about| about.settled) {
        drive.about = about;
        return Ok(());
    }
    drive.group.meta.push((POLICY, orders.policy.clone()));
    let newest = store.newest_order()?.map_or(0, |(number, _)| number);
    let better = (orders.better)();
    // Only the first is worth waiting for: what comes later is compared while tasks run.
    let mut next = better.recv_timeout(orders.patience);
    let mut found: Option<Found> = None;
    // The last word on it counts, the last order too: some words bring no order with them.
    while let Ok(Found { order, about }) = next {
        let order = order.or(found.and_then(|before| before.order));
        found = Some(Found { order, about });
        next = better.recv_timeout(Duration::ZERO);
    }
    let more = matches!(next, Err(RecvTimeoutError::Timeout)).then_some(better);
    let found = found.unwrap_or_else(|| Found {
        order: None,
        about: about.unwrap_or_else(|| About::quick(&orders.policy, more.is_none())),
    });
    let order = (found.order).or_else(|| (!is_ordered).then(|| (orders.quick)()));
    if let Some(order) = order {
        let mut out = Outbox::default();
        drive.reorder(newest + 1, order, &mut out);
        drive.group.entries.append(&mut out.entries);
    }
    drive.note(found.about);
    if let Some(course) = &mut drive.course {
        course.expect(more);
    }
    Ok(())
}
