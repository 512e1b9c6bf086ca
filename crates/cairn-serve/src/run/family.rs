//! A family that is never written down, on this machine: what is kept, here and in the store, is its frontier. Knows no files
//! that tasks declare.

use super::{BOOT, Counts, MARK, PULSE, RunError, SURVIVORS_GRACE, WINDOW, boot, identity, moment};
use crate::digest::Digest;
use crate::spawn::{Exit, Processes, Program, end_survivors};
use crate::store::{FlowRecord, Group, Store, StoreError, Writer};
use cairn_engine::{
    Cause, Engine, Implicit, Moment, Offer, Order, Outbox, Outcome, Position, Rules, Shape, Task,
    Token, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// After so many events the log is replaced by what it comes to.
const COMPACTED: usize = 100_000;

/// What to run, and how.
pub struct FamilySetup<'a> {
    /// What the family is called: a state is of one family.
    pub name: String,
    /// The family.
    pub shape: Box<dyn Shape>,
    /// What a task runs: its level, its place there, the file for its output.
    pub program: &'a dyn Fn(u64, u64, PathBuf) -> Program,
    /// Budgets.
    pub rules: Rules,
    /// How many tasks at once.
    pub slots: u32,
}

/// Something that happened, for whoever watches. Tasks are told by level and place.
#[derive(Clone, Debug)]
pub enum FamilyNews<'a> {
    /// Processes of an earlier runner were found and ended.
    Survivors(usize),
    /// An attempt began.
    Started((u64, u64), Token),
    /// A task is done.
    Executed((u64, u64), Token),
    /// An attempt was ended by us.
    GivenBack((u64, u64), Token),
    /// An attempt failed.
    Failed {
        /// Which task.
        place: (u64, u64),
        /// The attempt.
        token: Token,
        /// The exit code, or the number of the signal.
        exit: i32,
        /// What went wrong.
        cause: Cause,
        /// Whether the task is given up.
        for_good: bool,
        /// What it printed.
        log: Option<&'a Path>,
    },
    /// Time passed.
    Pulse,
}

/// Whoever is told: when, what, how many tasks are where.
type Watch<'a> = &'a mut dyn FnMut(Moment, &FamilyNews<'_>, &Counts);

/// Runs a family, or goes on with it; what failed before is tried again. `asked` as for [`run`](super::run()). Whoever
/// watches is told when, what, and how many tasks are where: those behind one that failed count as left. Returns these
/// numbers at the end, and whether somebody asked to stop.
///
/// # Errors
/// If it cannot begin, or if the store cannot be written: then nothing more was started, and what ran was waited for.
pub fn run_family(
    mut store: Store,
    setup: FamilySetup<'_>,
    asked: &dyn Fn() -> u32,
    watch: &mut dyn FnMut(Moment, &FamilyNews<'_>, &Counts),
) -> Result<(Counts, bool), RunError> {
    let id = identity(&mut store, false)?;
    let ended = end_survivors(MARK, &id, SURVIVORS_GRACE)?;
    if ended > 0 {
        watch(moment(), &FamilyNews::Survivors(ended), &Counts::default());
    }
    let total = setup.shape.tasks();
    let mut digest = Digest::new();
    digest.text(&setup.name);
    let record = FlowRecord {
        digest: digest.done(),
        fingerprints: Vec::new(),
    };
    let known = store.flow()?;
    if known
        .as_ref()
        .is_some_and(|known| known.digest != record.digest)
    {
        let (folder, what) = (store.folder().to_owned(), setup.name);
        return Err(RunError::Other { folder, what });
    }
    let (position, order) = (Implicit::new(setup.shape), Order::AsNumbered);
    let mut engine = match store.snapshot()? {
        Some(snapshot) => Engine::restore(position, setup.rules, order, snapshot)
            .map_err(|e| store.damaged(&e.0))?,
        None => Engine::new(position, setup.rules, order),
    };
    store.each_entry(|entry| engine.replay(&entry))?;
    let mut out = Outbox::default();
    engine.open(moment(), &mut out);
    // Whoever had tasks before is gone, and so are its processes.
    let here = |(number, worker): (usize, &cairn_engine::Worker)| {
        worker.is_here.then_some(WorkerId(number as u32))
    };
    let before: Vec<WorkerId> = engine
        .workers()
        .iter()
        .enumerate()
        .filter_map(here)
        .collect();
    for worker in before {
        // It is here, as was just seen.
        let _ = engine.leave(moment(), worker, &mut out);
    }
    let failed: Vec<Task> = engine.position().failed().collect();
    for task in failed {
        // It is failed, as was just seen.
        let _ = engine.revive(moment(), task, &mut out);
    }
    let worker = engine.join(moment(), super::HERE, Offer::cpus(setup.slots), &mut out);
    let group = Group {
        entries: std::mem::take(&mut out.entries),
        ..Group::default()
    };
    store.set_meta(BOOT, &boot())?;
    match known {
        Some(_) => store.append_group(&group)?,
        None => store.begin_flow(&record, std::iter::empty(), &group)?,
    }
    let mut run = Run {
        engine,
        worker,
        total,
        logs: store.folder().join("logs"),
        id,
        program: setup.program,
        running: HashMap::new(),
        watch,
        group: Group::default(),
        since_compacted: 0,
    };
    let writer = Writer::new(store, WINDOW);
    let was_stopped = run.go(&writer, asked)?;
    writer.close()?;
    Ok((run.counts(), was_stopped))
}

struct Run<'a> {
    engine: Engine<Implicit>,
    worker: WorkerId,
    total: Option<u64>,
    logs: PathBuf,
    id: String,
    program: &'a dyn Fn(u64, u64, PathBuf) -> Program,
    /// The attempts whose processes run, and whether we asked them to end.
    running: HashMap<u64, (Token, bool)>,
    watch: Watch<'a>,
    group: Group,
    since_compacted: usize,
}

impl Run<'_> {
    fn counts(&self) -> Counts {
        let count = |standing| self.engine.position().count(standing).unwrap_or(0) as usize;
        Counts {
            total: self.total.map_or(0, |total| total as usize),
            executed: count(Standing::Executed),
            running: count(Standing::Leased),
            failed: count(Standing::Failed),
            aborted: 0,
            eligible: count(Standing::Eligible),
        }
    }

    fn tell(&mut self, news: &FamilyNews<'_>) {
        let counts = self.counts();
        (self.watch)(moment(), news, &counts);
    }

    fn place(&self, task: Task) -> (u64, u64) {
        self.engine.position().place(task)
    }

    /// Until nothing more can be started and nothing runs. Returns whether somebody asked to stop.
    fn go(&mut self, writer: &Writer, asked: &dyn Fn() -> u32) -> Result<bool, RunError> {
        let mut processes = Processes::new()?;
        let mut ended = Vec::new();
        let mut out = Outbox::default();
        let mut broken: Option<StoreError> = None;
        let mut stops = 0;
        let mut last_pulse = Instant::now();
        loop {
            let presses = asked();
            if presses > stops {
                stops = presses;
                if stops >= 2 {
                    self.running
                        .values_mut()
                        .for_each(|(_, ending)| *ending = true);
                    match stops {
                        2 => processes.end_all(),
                        _ => processes.kill_all(),
                    }
                }
            }
            while stops == 0 && broken.is_none() {
                match self.engine.ask(moment(), self.worker, 1, &mut out) {
                    Ok(granted) => {
                        for granted in granted {
                            self.start(granted.task, granted.token, &mut processes, &mut out);
                        }
                    }
                    Err(_) => break,
                }
            }
            self.hand_over(writer, &mut broken, &mut out);
            if processes.is_empty() {
                break;
            }
            processes.wait(PULSE, &mut ended)?;
            for ended in ended.drain(..) {
                let task = Task(ended.key);
                if let Some((token, ending)) = self.running.remove(&ended.key) {
                    let log = ended.log.path.as_deref();
                    self.finish(task, token, ending, ended.exit, log, &mut out);
                }
            }
            if last_pulse.elapsed() >= Duration::from_millis(100) {
                last_pulse = Instant::now();
                self.tell(&FamilyNews::Pulse);
            }
        }
        let _ = self.engine.leave(moment(), self.worker, &mut out);
        self.hand_over(writer, &mut broken, &mut out);
        match broken {
            Some(error) => Err(error.into()),
            None => Ok(stops > 0),
        }
    }

    fn start(&mut self, task: Task, token: Token, processes: &mut Processes, out: &mut Outbox) {
        let (level, index) = self.place(task);
        self.tell(&FamilyNews::Started((level, index), token));
        let log = self
            .logs
            .join(format!("{level}-{index}.{}.log", token.attempt));
        let mut program = (self.program)(level, index, log);
        for (variable, value) in [
            (MARK, self.id.clone()),
            ("CAIRN_TASK", format!("{level}-{index}")),
            ("CAIRN_ATTEMPT", token.attempt.to_string()),
        ] {
            (program.environment).push((variable.to_owned(), Some(value)));
        }
        match processes.start(task.0, &program) {
            Ok(()) => drop(self.running.insert(task.0, (token, false))),
            Err(e) => {
                let exit = match e.kind() {
                    std::io::ErrorKind::NotFound => 127,
                    _ => 126,
                };
                self.fail(task, token, exit, Cause::Start, None, out);
            }
        }
    }

    fn finish(
        &mut self,
        task: Task,
        token: Token,
        ending: bool,
        exit: Exit,
        log: Option<&Path>,
        out: &mut Outbox,
    ) {
        let place = self.place(task);
        match exit {
            Exit::Code(0) => {
                (self.engine).give_back(moment(), task, token, Outcome::Executed, out);
                self.tell(&FamilyNews::Executed(place, token));
            }
            _ if ending => {
                (self.engine).give_back(moment(), task, token, Outcome::GivenBack, out);
                self.tell(&FamilyNews::GivenBack(place, token));
            }
            Exit::Code(exit) => self.fail(task, token, exit, Cause::Exit, log, out),
            Exit::Signal(signal) => self.fail(task, token, signal, Cause::Signal, log, out),
        }
    }

    fn fail(
        &mut self,
        task: Task,
        token: Token,
        exit: i32,
        cause: Cause,
        log: Option<&Path>,
        out: &mut Outbox,
    ) {
        let outcome = Outcome::Failed { exit, cause };
        self.engine.give_back(moment(), task, token, outcome, out);
        let for_good = self.engine.position().standing(task) == Ok(Standing::Failed);
        let place = self.place(task);
        self.tell(&FamilyNews::Failed {
            place,
            token,
            exit,
            cause,
            for_good,
            log,
        });
    }

    /// Gives to the writer what is to be written; now and then what all of it comes to. Once that failed, nothing more is
    /// started.
    fn hand_over(&mut self, writer: &Writer, broken: &mut Option<StoreError>, out: &mut Outbox) {
        self.since_compacted += out.entries.len();
        self.group.entries.append(&mut out.entries);
        if self.since_compacted >= COMPACTED {
            self.since_compacted = 0;
            let snapshot = self.engine.snapshot();
            self.group.snapshot = Some((self.group.entries.len(), moment(), snapshot));
        }
        if let Err(error) = writer.send(&mut self.group) {
            broken.get_or_insert(error);
        }
    }
}
