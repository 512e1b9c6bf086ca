//! A whole dag on this machine, in one process: asks the engine, starts processes, writes behind. Knows no formats and no
//! terminals, and decides nothing about the order.
//!
//! Children are released as soon as their last parent has ended; what happened is committed behind, in causal order, within
//! [`WINDOW`]. When the runner is killed, at most what was in flight and what ended within one window runs again.

mod family;
mod files;
mod resume;
mod rules;

pub use family::{FamilyNews, FamilySetup, run_family};
pub use files::HalfMade;
pub use resume::Why;
pub use rules::{RulesError, Wishes, rules};

use crate::digest::flow_digest;
use crate::spawn::{Ended, Exit, Processes, Program, end_survivors};
use crate::store::{FlowRecord, Store, StoreError, Writer};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{
    Cause, Engine, Frozen, Granted, Moment, Needs, Offer, Order, Outbox, Outcome, Rules, Token,
    WorkerId,
};
use cairn_theory::game::Standing;
use files::{Before, Files};
use resume::{Given, Resumed};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Within this time what happened is committed.
pub const WINDOW: Duration = Duration::from_millis(10);

/// The variable by which processes of a run are known; its value is that of the state.
pub const MARK: &str = "CAIRN_RUN";

/// How long processes of a killed runner have to end before they are killed.
const SURVIVORS_GRACE: Duration = Duration::from_secs(2);

/// How often somebody may look at the run while nothing happens.
const PULSE: Duration = Duration::from_millis(100);

/// The worker that this machine is.
const HERE: &str = "here";

/// A tag that no worker has.
const NOT_NOW: &str = "not now";

/// Keys of values in the store.
const ID: &str = "id";
const BOOT: &str = "boot";
const POLICY: &str = "policy";

/// What tasks run.
pub trait Work {
    /// What the attempt at the task runs, with its output in `log`; `None` if there is nothing to run. Attempts count from 1.
    fn program(&self, task: TaskId, attempt: u32, log: PathBuf) -> Option<Program>;

    /// Where the task is started, and its declared files are looked for; here if `None`.
    fn directory(&self, task: TaskId) -> Option<PathBuf>;

    /// A number that changes when what the task runs does.
    fn fingerprint(&self, task: TaskId) -> u64;
}

/// Orders for tasks that were never ordered: one at once, and a better one when it is found.
pub struct Orders<'a> {
    /// Which policy made them. An order in the store that was made by another one is not used.
    pub policy: String,
    /// An order at once; asked for when no better one is there in time.
    pub quick: &'a dyn Fn() -> Vec<TaskId>,
    /// Begins to look for a better one, which comes through the channel. Not called when the store has an order.
    pub better: &'a mut dyn FnMut() -> Receiver<Vec<TaskId>>,
    /// How long the first task may wait for it.
    pub patience: Duration,
}

/// What to run, and how.
pub struct Setup<'a> {
    /// The dag, with names and declared files.
    pub flow: &'a Flow,
    /// What its tasks run.
    pub work: &'a dyn Work,
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
    /// Nothing is started: tasks whose outputs are there count as executed.
    pub is_touch: bool,
    /// Nothing is started or written: only what would be is told.
    pub is_dry: bool,
}

/// Something that happened, for whoever watches.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// Processes of an earlier runner were found and ended.
    Survivors(usize),
    /// What attempts of an earlier runner, or one that failed, left of its outputs.
    HalfMade(&'a HalfMade),
    /// An executed task is to be executed again.
    Again(TaskId, Why),
    /// An attempt began.
    Started {
        /// Which task.
        task: TaskId,
        /// The attempt.
        token: Token,
    },
    /// A task is done.
    Executed {
        /// Which task.
        task: TaskId,
        /// The attempt.
        token: Token,
    },
    /// An attempt failed.
    Failed {
        /// Which task.
        task: TaskId,
        /// The attempt.
        token: Token,
        /// The exit code, or the number of the signal.
        exit: i32,
        /// What went wrong.
        cause: Cause,
        /// More about it, where there is more.
        detail: &'a str,
        /// Whether the task is given up, not tried again.
        for_good: bool,
        /// What it printed.
        log: Option<&'a Path>,
    },
    /// An attempt was ended by us, or its process is gone: nobody's fault.
    GivenBack {
        /// Which task.
        task: TaskId,
        /// The attempt.
        token: Token,
    },
    /// A task can no longer be executed, since one before it failed.
    Aborted(TaskId),
    /// A task would be executed now.
    WouldRun(TaskId),
    /// A better order is in force.
    Reordered,
    /// Time passed.
    Pulse,
}

/// Counts of tasks, now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks that are to be executed now, or were before.
    pub total: usize,
    /// Executed, also in earlier runs.
    pub executed: usize,
    /// Being executed.
    pub running: usize,
    /// Given up.
    pub failed: usize,
    /// Behind one that was given up.
    pub aborted: usize,
    /// Ready to be executed.
    pub eligible: usize,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Where the tasks stand.
    pub counts: Counts,
    /// Tasks executed by this run.
    pub executed_now: usize,
    /// Attempts begun by this run.
    pub started: usize,
    /// Whether all that was wanted is executed.
    pub is_complete: bool,
    /// Whether somebody asked to stop.
    pub was_stopped: bool,
    /// What the run is to return, where a task ended it.
    pub halted: Option<i32>,
    /// By task: executed.
    pub executed: Vec<bool>,
    /// By task: given up.
    pub failed: Vec<bool>,
}

/// Why a run cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store could not be written while tasks ran.
    #[error("{0}. Nothing more was started, and what ran was waited for; what was written counts")]
    Stopped(StoreError),
    /// Processes cannot be started or watched at all.
    #[error("processes cannot be watched: {0}")]
    System(#[from] std::io::Error),
    /// A file that the first tasks need is not there.
    #[error("task '{task}' reads {file}, which is not there, and no task before it could make it")]
    NoInput {
        /// The task.
        task: String,
        /// The file.
        file: String,
    },
    /// The state is of something else.
    #[error("the state in {} is not of {what}", folder.display())]
    Other {
        /// Where it is.
        folder: PathBuf,
        /// What it should be of.
        what: String,
    },
    /// A task is wanted whose parent is neither executed nor wanted.
    #[error("'{task}' cannot be executed: '{parent}' before it is not")]
    NotOpen {
        /// The task.
        task: String,
        /// The parent.
        parent: String,
    },
}

/// What whoever watches is told: what happened, when, and how many tasks are where.
pub type Watch<'a> = &'a mut dyn FnMut(Moment, &News<'_>, &Counts);

/// Runs a flow, or goes on with it. `asked` tells how often somebody asked to stop: once, and nothing more is started; twice,
/// and what runs is asked to end; three times, and it is killed.
///
/// # Errors
/// If it cannot begin, or if the store cannot be written: then nothing more was started, and what ran was waited for.
pub fn run(
    mut store: Store,
    setup: Setup<'_>,
    orders: Orders<'_>,
    asked: &dyn Fn() -> u32,
    watch: Watch<'_>,
) -> Result<Summary, RunError> {
    let now = moment();
    let Setup { flow, work, .. } = setup;
    let dag = flow.dag();
    let id = identity(&mut store, setup.is_dry)?;
    if !setup.is_dry {
        let ended = end_survivors(MARK, &id, SURVIVORS_GRACE)?;
        if ended > 0 {
            watch(now, &News::Survivors(ended), &Counts::default());
        }
    }
    let directory = |task| work.directory(task);
    let mut files = Files::new(flow, &directory);
    let fingerprints: Vec<u64> = dag.tasks().map(|t| work.fingerprint(t)).collect();
    let boot = boot();
    let before_boot = store.meta(BOOT)?;
    let is_same_policy = store.meta(POLICY)?.as_ref() == Some(&orders.policy);
    let mut rules = setup.rules;
    let classes = rules.class_of.clone();
    let not_now = rules.classes.len() as u32;
    rules.classes.push(Needs {
        tags: vec![NOT_NOW.to_owned()],
        ..Needs::default()
    });
    // Which tasks are wanted may depend on how the last run ended.
    let mut wanted = setup.wanted;
    if let Some(wanted) = &wanted {
        rules.class_of = narrowed(&classes, wanted, not_now);
    }
    let digest = flow_digest(flow);
    let given = |rules: &Rules| Given {
        flow,
        digest,
        fingerprints: &fingerprints,
        done: setup.done,
        rules: rules.clone(),
        is_other_boot: before_boot.as_ref() != Some(&boot),
        minds_files: setup.minds_files,
        is_dry: setup.is_dry,
    };
    let mut resumed = resume::resume(&store, given(&rules), &mut files, now)?;
    if setup.only_failed {
        let mut failed = vec![false; dag.len()];
        resumed.failed.iter().for_each(|t| failed[t.index()] = true);
        for &task in dag.topological_order() {
            failed[task.index()] |= dag.parents(task).iter().any(|p| failed[p.index()]);
        }
        rules.class_of = narrowed(&classes, &failed, not_now);
        wanted = Some(failed);
        let half_made = resumed.half_made;
        resumed = resume::resume(&store, given(&rules), &mut files, now)?;
        resumed.half_made.extend(half_made);
    }
    let total = (wanted.as_ref()).map_or(dag.len(), |w| w.iter().filter(|w| **w).count());
    let mut run = Run {
        flow,
        work,
        wanted,
        total,
        watch,
        logs: store.folder().join("logs"),
        id,
        minds_files: setup.minds_files,
        is_touch: setup.is_touch,
        here: WorkerId(0),
        running: HashMap::new(),
        started: Vec::new(),
        is_started: vec![false; dag.len()],
        attempts: 0,
        executed_now: 0,
        resumed,
        files,
    };
    run.tell_resumed(now);
    run.check()?;
    if run.is_nothing_left() {
        return Ok(run.summary(false));
    }
    if setup.is_dry {
        run.tell_what_would_run(now, &orders);
        return Ok(run.summary(false));
    }
    let mut better = run.order(&mut store, orders, is_same_policy)?;
    let mut out = Outbox::default();
    let here = run
        .resumed
        .engine
        .join(moment(), HERE, setup.offer, &mut out);
    run.here = here;
    run.resumed.group.entries.append(&mut out.entries);
    let group = std::mem::take(&mut run.resumed.group);
    store.set_meta(BOOT, &boot)?;
    if run.resumed.is_new_flow {
        let record = FlowRecord {
            digest,
            fingerprints: fingerprints.clone(),
        };
        let names = dag.tasks().map(|t| flow.name(t)).collect::<Vec<_>>();
        store.begin_flow(&record, names.into_iter(), &group)?;
    } else if run.resumed.has_other_commands {
        store.set_fingerprints(&fingerprints, &group)?;
    } else {
        store.append_group(&group)?;
    }
    let writer = Writer::new(store, WINDOW);
    let stopped = run.go(&writer, asked, &mut better)?;
    writer.close().map_err(RunError::Stopped)?;
    Ok(run.summary(stopped))
}

/// Where tasks that are not wanted have needs that nobody fulfils.
fn narrowed(classes: &[u32], wanted: &[bool], not_now: u32) -> Vec<u32> {
    (wanted.iter().enumerate())
        .map(|(task, wanted)| match wanted {
            true => classes.get(task).copied().unwrap_or(0),
            false => not_now,
        })
        .collect()
}

/// The state of a run while it runs.
struct Run<'a> {
    flow: &'a Flow,
    work: &'a dyn Work,
    wanted: Option<Vec<bool>>,
    /// How many are wanted.
    total: usize,
    watch: Watch<'a>,
    logs: PathBuf,
    id: String,
    minds_files: bool,
    is_touch: bool,
    here: WorkerId,
    running: HashMap<TaskId, Attempt>,
    /// Tasks in the order of their first start by this run.
    started: Vec<TaskId>,
    is_started: Vec<bool>,
    attempts: usize,
    executed_now: usize,
    resumed: Resumed<'a>,
    files: Files<'a>,
}

/// An attempt whose process runs.
struct Attempt {
    token: Token,
    before: Before,
    inputs: u64,
    /// Why it was asked to end.
    ending: Option<Ending>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It is beyond its limit.
    Time,
    /// The run ends.
    Stop,
}

impl Run<'_> {
    fn engine(&self) -> &Engine<Frozen<'_>> {
        &self.resumed.engine
    }

    fn standing(&self, task: TaskId) -> Standing {
        self.engine().position().game().standing(task)
    }

    fn is_wanted(&self, task: TaskId) -> bool {
        (self.wanted.as_ref()).is_none_or(|wanted| wanted[task.index()])
    }

    fn counts(&self) -> Counts {
        let game = self.engine().position().game();
        Counts {
            total: self.total,
            executed: game.count(Standing::Executed),
            running: game.count(Standing::Leased),
            failed: game.count(Standing::Failed),
            aborted: game.count(Standing::Aborted),
            eligible: game.count(Standing::Eligible),
        }
    }

    fn tell(&mut self, now: Moment, news: &News<'_>) {
        let counts = self.counts();
        (self.watch)(now, news, &counts);
    }

    fn tell_resumed(&mut self, now: Moment) {
        for half in std::mem::take(&mut self.resumed.half_made) {
            self.tell(now, &News::HalfMade(&half));
        }
        for (task, why) in std::mem::take(&mut self.resumed.again) {
            self.tell(now, &News::Again(task, why));
        }
    }

    /// Whether a task that is wanted is neither executed nor given up.
    fn is_nothing_left(&self) -> bool {
        let mut tasks = self.flow.dag().tasks();
        tasks.all(|t| !self.is_wanted(t) || self.standing(t) == Standing::Executed)
    }

    /// What nobody could do anything about later.
    fn check(&mut self) -> Result<(), RunError> {
        let flow = self.flow;
        let dag = flow.dag();
        let name = |t: TaskId| flow.shown(t).into_owned();
        for task in dag.tasks() {
            if !self.is_wanted(task) || self.standing(task) == Standing::Executed {
                continue;
            }
            let open =
                |p: &&TaskId| !self.is_wanted(**p) && self.standing(**p) != Standing::Executed;
            if let Some(&parent) = dag.parents(task).iter().find(open) {
                let (task, parent) = (name(task), name(parent));
                return Err(RunError::NotOpen { task, parent });
            }
            if !self.minds_files {
                continue;
            }
            if let Some(file) = self.files.missing_source(task) {
                let file = file.to_owned();
                return Err(RunError::NoInput {
                    task: name(task),
                    file,
                });
            }
        }
        self.files.forget();
        Ok(())
    }

    /// Tells of all that would be executed, in the order in which one worker would.
    fn tell_what_would_run(&mut self, now: Moment, orders: &Orders<'_>) {
        let order = match self.resumed.order.take() {
            Some(order) => order,
            None => (orders.quick)(),
        };
        for task in order {
            if self.is_wanted(task) && self.standing(task) != Standing::Executed {
                self.tell(now, &News::WouldRun(task));
            }
        }
    }

    /// Sees to it that an order is in force. Returns where a better one may come from.
    fn order(
        &mut self,
        store: &mut Store,
        orders: Orders<'_>,
        is_same_policy: bool,
    ) -> Result<Option<Receiver<Vec<TaskId>>>, RunError> {
        if self.resumed.order.is_some() && is_same_policy {
            return Ok(None);
        }
        store.set_meta(POLICY, &orders.policy)?;
        let begin = Instant::now();
        let better = (orders.better)();
        let newest = store.newest_order()?.map_or(0, |(number, _)| number);
        let left = orders.patience.saturating_sub(begin.elapsed());
        let (order, better) = match better.recv_timeout(left) {
            Ok(order) => (order, None),
            Err(RecvTimeoutError::Timeout) => ((orders.quick)(), Some(better)),
            Err(RecvTimeoutError::Disconnected) => ((orders.quick)(), None),
        };
        let mut out = Outbox::default();
        self.reorder(newest + 1, order, &mut out);
        self.resumed.group.entries.append(&mut out.entries);
        Ok(better)
    }

    /// What was executed before and what was started stand first, as they were; the rest goes by the new order.
    fn reorder(&mut self, number: u32, order: Vec<TaskId>, out: &mut Outbox) {
        let mut is_first = self.is_started.clone();
        let mut first = Vec::new();
        let before = self.resumed.order.take().unwrap_or_else(|| order.clone());
        for task in before {
            if self.standing(task) == Standing::Executed && !is_first[task.index()] {
                is_first[task.index()] = true;
                first.push(task);
            }
        }
        first.extend_from_slice(&self.started);
        first.extend(order.into_iter().filter(|t| !is_first[t.index()]));
        self.resumed.order = Some(first.clone());
        let numbers = first.iter().map(|t| t.0).collect();
        self.resumed.group.orders.push((number, numbers));
        (self.resumed.engine).reorder(moment(), number, Order::of(&first), out);
    }

    /// Until nothing more can be started and nothing runs. Returns whether somebody asked to stop.
    fn go(
        &mut self,
        writer: &Writer,
        asked: &dyn Fn() -> u32,
        better: &mut Option<Receiver<Vec<TaskId>>>,
    ) -> Result<bool, RunError> {
        let mut processes = Processes::new()?;
        let mut ended = Vec::new();
        let mut out = Outbox::default();
        let mut stops = 0;
        let mut broken: Option<StoreError> = None;
        let mut last_pulse = Instant::now();
        loop {
            self.take_better(better, &mut out);
            let presses = asked();
            if presses > stops {
                stops = presses;
                if stops >= 2 {
                    self.running
                        .values_mut()
                        .for_each(|a| a.ending = Some(Ending::Stop));
                    match stops {
                        2 => processes.end_all(),
                        _ => processes.kill_all(),
                    }
                }
            }
            let may_start = stops == 0 && broken.is_none();
            let may_go_on = may_start && self.start_some(&mut processes, &mut out);
            self.carry_out(&mut processes, Ending::Stop, &mut out);
            self.hand_over(writer, &mut broken, &mut out);
            if may_go_on {
                continue;
            }
            if processes.is_empty() {
                break;
            }
            let wake = self.engine().next_wake().map_or(PULSE, |at| {
                Duration::from_micros(at.since(moment()).0).min(PULSE)
            });
            processes.wait(wake, &mut ended)?;
            for ended in ended.drain(..) {
                self.end(ended, &mut out);
            }
            self.carry_out(&mut processes, Ending::Stop, &mut out);
            self.resumed.engine.wake(moment(), &mut out);
            self.carry_out(&mut processes, Ending::Time, &mut out);
            if last_pulse.elapsed() >= PULSE {
                last_pulse = Instant::now();
                self.tell(moment(), &News::Pulse);
            }
        }
        let _ = (self.resumed.engine).leave(moment(), self.here, &mut out);
        self.hand_over(writer, &mut broken, &mut out);
        match broken {
            Some(error) => Err(RunError::Stopped(error)),
            None => Ok(stops > 0),
        }
    }

    fn take_better(&mut self, better: &mut Option<Receiver<Vec<TaskId>>>, out: &mut Outbox) {
        let Some(found) = better.as_ref().map(Receiver::try_recv) else {
            return;
        };
        match found {
            Ok(order) => {
                let number = self.engine().plan() + 1;
                self.reorder(number, order, out);
                self.tell(moment(), &News::Reordered);
                *better = None;
            }
            Err(std::sync::mpsc::TryRecvError::Empty) => (),
            Err(std::sync::mpsc::TryRecvError::Disconnected) => *better = None,
        }
    }

    /// Starts what may be started. Returns whether there may be more.
    fn start_some(&mut self, processes: &mut Processes, out: &mut Outbox) -> bool {
        const MANY: usize = 1000;
        let mut ended_at_once = 0;
        // One at a time: the order is exact.
        while let Ok(granted) = (self.resumed.engine).ask(moment(), self.here, 1, out) {
            for granted in granted {
                ended_at_once += usize::from(self.start(processes, granted, out));
            }
            if ended_at_once >= MANY {
                return true;
            }
        }
        false
    }

    /// Starts one. Returns whether it ended at once.
    fn start(&mut self, processes: &mut Processes, granted: Granted, out: &mut Outbox) -> bool {
        let Granted { task, token, .. } = granted;
        let task = task.frozen().expect("a frozen dag has few tasks");
        if !std::mem::replace(&mut self.is_started[task.index()], true) {
            self.started.push(task);
        }
        self.attempts += 1;
        self.tell(moment(), &News::Started { task, token });
        let log = self.log(task, token);
        let mut attempt = Attempt {
            token,
            before: Before::default(),
            inputs: 0,
            ending: None,
        };
        if self.minds_files {
            self.files.forget();
            attempt.inputs = self.files.inputs(task);
        }
        let program = match self.is_touch {
            true => None,
            false => self.work.program(task, token.attempt, log),
        };
        let Some(mut program) = program else {
            self.finish(task, attempt, Exit::Code(0), None, "", out);
            return true;
        };
        if self.minds_files {
            attempt.before = self.files.before(task);
        }
        let attempt_number = token.attempt.to_string();
        for (variable, value) in [
            (MARK, self.id.as_str()),
            ("CAIRN_TASK", self.flow.name(task)),
            ("CAIRN_ATTEMPT", &attempt_number),
        ] {
            (program.environment).push((variable.to_owned(), Some(value.to_owned())));
        }
        match processes.start(task.0.into(), &program) {
            Ok(()) => {
                self.running.insert(task, attempt);
                false
            }
            Err(e) => {
                let exit = match e.kind() {
                    std::io::ErrorKind::NotFound => 127,
                    _ => 126,
                };
                let cause = Cause::Start;
                self.fail(task, attempt, (exit, cause), None, &e.to_string(), out);
                true
            }
        }
    }

    fn log(&self, task: TaskId, token: Token) -> PathBuf {
        let name = self.flow.name(task);
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "._-+=@,".contains(c);
        let fit: String = (name.chars().take(100))
            .map(|c| if is_fit(c) { c } else { '_' })
            .collect();
        let attempt = token.attempt;
        // Names that had to be changed may have become equal.
        self.logs.join(match fit == name && !name.starts_with('.') {
            true => format!("{fit}.{attempt}.log"),
            false => format!("{fit}~{}.{attempt}.log", task.0),
        })
    }

    /// A process ended.
    fn end(&mut self, ended: Ended, out: &mut Outbox) {
        let task = TaskId(ended.key as u32);
        let Some(attempt) = self.running.remove(&task) else {
            return;
        };
        let log = ended.log.path.as_deref();
        let detail = match &ended.log.failure {
            Some(e) => format!("its output could not be kept: {e}"),
            None => String::new(),
        };
        self.finish(task, attempt, ended.exit, log, &detail, out);
    }

    fn finish(
        &mut self,
        task: TaskId,
        attempt: Attempt,
        exit: Exit,
        log: Option<&Path>,
        detail: &str,
        out: &mut Outbox,
    ) {
        match (exit, attempt.ending) {
            (Exit::Code(0), _) => {
                if self.minds_files {
                    self.files.forget();
                    if let Some(missing) = self.files.missing(task, true) {
                        let detail = format!("it did not make {missing}, which it declares");
                        return self.fail(task, attempt, (0, Cause::Output), log, &detail, out);
                    }
                    let stamp = self.files.stamp(task, attempt.inputs);
                    self.resumed.group.stamps.extend(stamp);
                }
                self.executed_now += 1;
                let token = attempt.token;
                self.give_back(task, token, Outcome::Executed, out);
                self.tell(moment(), &News::Executed { task, token });
            }
            (_, Some(Ending::Stop)) => {
                self.take_back(attempt.before);
                let token = attempt.token;
                self.give_back(task, token, Outcome::GivenBack, out);
                self.tell(moment(), &News::GivenBack { task, token });
            }
            (Exit::Code(code) | Exit::Signal(code), Some(Ending::Time)) => {
                self.fail(task, attempt, (code, Cause::Time), log, detail, out);
            }
            (Exit::Code(code), None) => {
                self.fail(task, attempt, (code, Cause::Exit), log, detail, out);
            }
            (Exit::Signal(signal), None) => {
                self.fail(task, attempt, (signal, Cause::Signal), log, detail, out);
            }
        }
    }

    fn fail(
        &mut self,
        task: TaskId,
        attempt: Attempt,
        (exit, cause): (i32, Cause),
        log: Option<&Path>,
        detail: &str,
        out: &mut Outbox,
    ) {
        self.take_back(attempt.before);
        let token = attempt.token;
        self.give_back(task, token, Outcome::Failed { exit, cause }, out);
        let for_good = self.standing(task).is_given_up();
        let news = News::Failed {
            task,
            token,
            exit,
            cause,
            detail,
            for_good,
            log,
        };
        self.tell(moment(), &news);
        for aborted in std::mem::take(&mut out.aborted) {
            if let Some(task) = aborted.frozen() {
                self.tell(moment(), &News::Aborted(task));
            }
        }
    }

    fn give_back(&mut self, task: TaskId, token: Token, outcome: Outcome, out: &mut Outbox) {
        (self.resumed.engine).give_back(moment(), task.into(), token, outcome, out);
    }

    /// Outputs that a failed attempt left are no outputs.
    fn take_back(&mut self, before: Before) {
        for half in Files::take_back(before) {
            self.tell(moment(), &News::HalfMade(&half));
        }
    }

    /// Ends the attempts that the engine says are to be ended.
    fn carry_out(&mut self, processes: &mut Processes, why: Ending, out: &mut Outbox) {
        for (_, task, token) in out.kills.drain(..) {
            let Some(task) = task.frozen() else { continue };
            if let Some(attempt) = self.running.get_mut(&task).filter(|a| a.token == token) {
                attempt.ending.get_or_insert(why);
                processes.end(task.0.into());
            }
        }
    }

    /// Gives to the writer what is to be written. Once that failed, nothing more is started.
    fn hand_over(&mut self, writer: &Writer, broken: &mut Option<StoreError>, out: &mut Outbox) {
        let group = &mut self.resumed.group;
        group.entries.append(&mut out.entries);
        if let Err(error) = writer.send(group) {
            broken.get_or_insert(error);
        }
    }

    fn summary(&self, was_stopped: bool) -> Summary {
        let those = |which: Standing| {
            let tasks = self.flow.dag().tasks();
            tasks.map(|t| self.standing(t) == which).collect()
        };
        Summary {
            counts: self.counts(),
            executed_now: self.executed_now,
            started: self.attempts,
            is_complete: self.is_nothing_left(),
            was_stopped,
            halted: self.engine().halted(),
            executed: those(Standing::Executed),
            failed: those(Standing::Failed),
        }
    }
}

/// Now.
fn moment() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Moment(since.map_or(0, |since| since.as_micros() as u64))
}

/// What this start of the machine is called.
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| "unknown".to_owned(), |boot| boot.trim().to_owned())
}

/// What this state is called, so that its processes can be told from others.
fn identity(store: &mut Store, is_dry: bool) -> Result<String, RunError> {
    if let Some(id) = store.meta(ID)? {
        return Ok(id);
    }
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let id = id.trim().to_owned();
    if !is_dry {
        store.set_meta(ID, &id)?;
    }
    Ok(id)
}

/// Bytes of memory of this machine, where it tells.
pub fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
