//! The loop of a run: asks the engine, starts processes, gives back what ended, hands over what is to be written. Knows neither
//! flow nor family.

mod ends;

use super::course::Course;
use super::disk::WhenIdle;
use super::files::{Before, DeclaredFiles};
use super::{Counts, HERE, MARK, News, RunError, Summary, TOUCHED, TaskPrograms, WINDOW, Watch};
use crate::clock::Clock;
use crate::disk::{Disk, Planner, SIZES};
use crate::found::About;
use crate::spawn::{Exit, Processes, apart, group_memory};
use crate::store::{Condensed, Group, Store, StoreError, Writer};
use cairn_engine::{
    Cause, Engine, Granted, Moment, Offer, Order, Outbox, Position, Refusal, Task, Token, WorkerId,
};
use cairn_theory::game::Standing;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often somebody may look at the run while nothing happens.
// Within this time Ctrl-C is heard, a better order is taken, and memory is looked at: ten times a second, as the docs say. Far
// shorter, and a run that waits for long tasks keeps a processor awake.
const PULSE: Duration = Duration::from_millis(100);

/// So much of a task's name is in that of its log.
// Names of files have 255 bytes at the most; these letters are one each, and numbers come behind them.
const LONGEST_NAME: usize = 100;

/// So many tasks that have nothing to run may end before the rest is looked at.
// Else a flow of nothing but these would hear of no Ctrl-C and write nothing down before its end.
const MANY: usize = 1000;

/// A run while it runs.
pub(super) struct Drive<'a, P> {
    pub(super) engine: Engine<P>,
    pub(super) programs: &'a dyn TaskPrograms,
    /// How many tasks are to be executed.
    pub(super) total: usize,
    /// Declared files, where they are looked at.
    pub(super) files: Option<DeclaredFiles<'a>>,
    /// The order of a dag.
    pub(super) course: Option<Course>,
    /// What is to be told of it.
    pub(super) about: Option<About>,
    /// After so many events, if ever, it is written down what the log comes to.
    pub(super) condensed_after: Option<usize>,
    /// Whether the events are deleted then.
    pub(super) forgets: bool,
    /// Whether attempts that take more memory than their task says are ended.
    pub(super) limits_memory: bool,
    /// Nothing is started: tasks whose outputs are there count as executed.
    pub(super) is_touch: bool,
    pub(super) watch: Watch<'a>,
    pub(super) clock: Clock,
    /// What is to be written.
    pub(super) group: Group,
    /// What the state is called.
    pub(super) id: String,
    pub(super) logs: PathBuf,
    /// The files of a flow, where they are counted or deleted.
    pub(super) disk: Option<Disk>,
    /// Finds another order within the cap.
    pub(super) planner: Option<&'a Planner<'a>>,
    /// Since when nothing may start for want of space.
    pub(super) waits_since: Option<Instant>,
    /// Bytes that are missing for good.
    pub(super) stuck: Option<u64>,
    /// Why the engine gave nothing, the last time.
    pub(super) refused: Option<Refusal>,
    pub(super) here: WorkerId,
    /// Nothing more is started.
    is_over: bool,
    running: HashMap<Task, UnderWay>,
    /// Events since it was written down what the log comes to.
    since_condensed: usize,
    attempts: usize,
    executed_now: usize,
}

/// An attempt whose process runs.
struct UnderWay {
    token: Token,
    before: Before,
    inputs: u64,
    /// Bytes it may take; 0 where nobody said.
    memory: u64,
    /// Why it was asked to end.
    fate: Option<Fate>,
}

/// What an attempt's end will mean, where that is not what its exit says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its time was up.
    Late,
    /// It takes more memory than it may: so many bytes.
    Greedy(u64),
    /// The run ends.
    Stopped,
}

impl<'a, P: Position> Drive<'a, P> {
    pub(super) fn new(
        engine: Engine<P>,
        programs: &'a dyn TaskPrograms,
        clock: Clock,
        id: String,
        store: &Store,
        watch: Watch<'a>,
    ) -> Drive<'a, P> {
        Drive {
            engine,
            programs,
            total: 0,
            files: None,
            course: None,
            about: None,
            condensed_after: None,
            forgets: false,
            limits_memory: false,
            is_touch: false,
            watch,
            clock,
            group: Group::default(),
            id,
            logs: store.folder().join("logs"),
            disk: None,
            planner: None,
            waits_since: None,
            stuck: None,
            refused: None,
            here: WorkerId(0),
            is_over: false,
            running: HashMap::new(),
            since_condensed: 0,
            attempts: 0,
            executed_now: 0,
        }
    }

    pub(super) fn standing(&self, task: Task) -> Standing {
        let standing = self.engine.position().standing(task);
        standing.expect("the engine speaks of tasks that there are")
    }

    fn counts(&self) -> Counts {
        let count = |standing| self.engine.position().count(standing).unwrap_or(0) as usize;
        Counts {
            total: self.total,
            executed: count(Standing::Executed),
            running: count(Standing::Leased),
            failed: count(Standing::Failed),
            aborted: count(Standing::Aborted),
            eligible: count(Standing::Eligible),
        }
    }

    pub(super) fn tell(&mut self, news: &News<'_>) {
        let counts = self.counts();
        (self.watch)(self.clock.now(), news, &counts);
    }

    /// How it stands, where somebody asked to stop or not.
    pub(super) fn summary(&self, was_stopped: bool, is_complete: bool) -> Summary {
        Summary {
            counts: self.counts(),
            executed_now: self.executed_now,
            started: self.attempts,
            is_complete,
            was_stopped,
            halted: self.engine.halted(),
            stuck: self.stuck,
            about: self.about.clone(),
            usage: (self.disk.as_ref()).and_then(|disk| disk.usage(&self.engine)),
            executed: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// This machine works from now on.
    pub(super) fn join(&mut self, offer: Offer) {
        let mut out = Outbox::default();
        let name = if self.is_touch { TOUCHED } else { HERE };
        self.here = self.engine.join(self.clock.now(), name, offer, &mut out);
        self.group.entries.append(&mut out.entries);
    }

    /// Tasks go by this order from now on, but for those that were started.
    pub(super) fn reorder(&mut self, number: u32, order: Vec<cairn_dag::TaskId>, out: &mut Outbox) {
        let Some(course) = &mut self.course else {
            return;
        };
        let position = self.engine.position();
        let is_executed = |t: cairn_dag::TaskId| {
            let standing = position.standing(t.into());
            standing == Ok(Standing::Executed)
        };
        let order = course.take(order, is_executed);
        let numbers = order.iter().map(|t| t.0).collect();
        self.group.orders.push((number, numbers));
        let order = Order::of(order);
        self.engine.reorder(self.clock.now(), number, order, out);
    }

    /// What is to be told of the order in force.
    pub(super) fn note(&mut self, about: About) {
        self.tell(&News::Ordered(&about));
        self.group.meta.push(about.row());
        self.about = Some(about);
    }

    /// Until nothing more can be started and nothing runs, and all of it is written. Returns whether somebody asked to stop.
    pub(super) fn go(
        &mut self,
        store: Store,
        asked: &(dyn Fn() -> u32 + Sync),
    ) -> Result<bool, RunError> {
        let writer = Writer::new(store, WINDOW)?;
        let was_stopped = apart(|| self.turn(&writer, asked))?;
        // Also the last window: whoever is told that a run is over may cut the power.
        writer.close().map_err(RunError::Stopped)?;
        // All is committed.
        self.tend_disk(|| u64::MAX);
        Ok(was_stopped)
    }

    fn turn(
        &mut self,
        writer: &Writer,
        asked: &(dyn Fn() -> u32 + Sync),
    ) -> Result<bool, RunError> {
        // On this thread alone, and dropped at its end: whatever goes wrong below, nothing runs on unseen.
        let mut processes = Processes::new()?;
        let mut ended = Vec::new();
        let mut out = Outbox::default();
        let mut stops = 0;
        let mut broken: Option<StoreError> = None;
        let mut last_pulse = Instant::now();
        loop {
            self.take_better(&mut out);
            self.tend_disk(|| writer.progress().1);
            let presses = asked();
            if presses > stops {
                stops = presses;
                self.stop(stops, &mut processes);
            }
            let may_start = stops == 0 && broken.is_none();
            let may_go_on = may_start
                // Under a cap a start is committed before it happens: whose half-made files lie there is known after a crash.
                && match self.is_capped() {
                    true => self.start_committed(&mut processes, writer, &mut broken, &mut out),
                    false => self.start_some(&mut processes, &mut out),
                };
            // What ended at once may have ended the whole run by its exit code.
            self.carry_out(&mut processes, Fate::Stopped, &mut out);
            self.hand_over(writer, &mut broken, &mut out);
            if may_go_on {
                continue;
            }
            if processes.is_empty() {
                match may_start && broken.is_none() {
                    true => match self.idle() {
                        WhenIdle::Wait => (),
                        WhenIdle::End => break,
                    },
                    false => break,
                }
            }
            // Ends before the clock: who ended in time has ended in time, also where this loop comes late.
            processes.wait(self.pause(), &mut ended)?;
            for ended in ended.drain(..) {
                self.end(ended, &mut out);
            }
            self.carry_out(&mut processes, Fate::Stopped, &mut out);
            self.engine.wake(self.clock.now(), &mut out);
            self.carry_out(&mut processes, Fate::Late, &mut out);
            if last_pulse.elapsed() >= PULSE {
                last_pulse = Instant::now();
                self.watch_memory(&mut processes);
                self.tell(&News::Pulse);
            }
        }
        self.is_over = true;
        // It is here.
        let _ = (self.engine).leave(self.clock.now(), self.here, &mut out);
        self.hand_over(writer, &mut broken, &mut out);
        match broken {
            Some(error) => Err(RunError::Stopped(error)),
            None => Ok(stops > 0),
        }
    }

    /// How long to wait for processes at the most.
    fn pause(&self) -> Duration {
        let until = |at: Moment| Duration::from_micros(at.since(self.clock.now()).0);
        (self.engine.next_wake()).map_or(PULSE, |at| until(at).min(PULSE))
    }

    fn take_better(&mut self, out: &mut Outbox) {
        while let Some(found) = self.course.as_mut().and_then(Course::found) {
            if let Some(order) = found.order {
                self.reorder(self.engine.plan() + 1, order, out);
            }
            self.note(found.about);
        }
    }

    /// Somebody asked to stop, so often: what runs is let go on, asked to end, killed.
    fn stop(&mut self, stops: u32, processes: &mut Processes) {
        if stops < 2 {
            return;
        }
        // Marked before they are signalled: their ends are nobody's failures, and cost no try.
        let attempts = self.running.values_mut();
        attempts.for_each(|a| a.fate = Some(Fate::Stopped));
        match stops {
            2 => processes.end_all(),
            _ => processes.kill_all(),
        }
    }

    /// Starts what may be started. Returns whether there may be more.
    fn start_some(&mut self, processes: &mut Processes, out: &mut Outbox) -> bool {
        let mut ended_at_once = 0;
        // One at a time: the order is exact.
        while let Ok(granted) = (self.engine).ask(self.clock.now(), self.here, 1, out) {
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
    pub(super) fn start(
        &mut self,
        processes: &mut Processes,
        granted: Granted,
        out: &mut Outbox,
    ) -> bool {
        let Granted {
            task,
            token,
            memory,
            ..
        } = granted;
        if let (Some(course), Some(task)) = (&mut self.course, task.frozen()) {
            course.start(task);
        }
        if let Some(disk) = &mut self.disk {
            disk.note(&self.engine);
        }
        self.attempts += 1;
        self.goes_on();
        self.tell(&News::Started { task, token });
        let mut attempt = UnderWay {
            token,
            before: Before::default(),
            inputs: 0,
            memory,
            fate: None,
        };
        if let Some((files, id)) = self.files.as_mut().zip(task.frozen()) {
            // As they are before it begins: what changes while it runs is seen by a resume, and the task runs again.
            files.forget();
            attempt.inputs = files.inputs(id);
        }
        let name = self.programs.name(task);
        let program = match self.is_touch {
            true => None,
            false => {
                let log = self.logs.join(log_name(&name, task, token));
                self.programs.program(task, token.attempt, log)
            }
        };
        let Some(mut program) = program else {
            drop(name);
            self.finish(task, attempt, Exit::Code(0), None, "", out);
            return true;
        };
        if let Some((files, id)) = self.files.as_ref().zip(task.frozen()) {
            attempt.before = files.before(id);
        }
        let attempt_number = token.attempt.to_string();
        for (variable, value) in [
            (MARK, self.id.as_str()),
            ("CAIRN_TASK", &*name),
            ("CAIRN_ATTEMPT", &attempt_number),
        ] {
            // Behind what the task itself says, so that no task hides its processes from a resume.
            (program.environment).push((variable.to_owned(), Some(value.to_owned())));
        }
        drop(name);
        match processes.start(task.0, &program) {
            Ok(()) => {
                self.running.insert(task, attempt);
                false
            }
            Err(e) => {
                // As shells have it.
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

    /// Kills attempts whose processes have more in memory than their task may take.
    fn watch_memory(&mut self, processes: &mut Processes) {
        let is_limited = |a: &UnderWay| a.memory > 0 && a.fate.is_none();
        if !self.limits_memory || !self.running.values().any(is_limited) {
            return;
        }
        let taken = group_memory();
        for (task, attempt) in self.running.iter_mut().filter(|(_, a)| is_limited(a)) {
            let group = processes.group(task.0);
            let taken = group.and_then(|group| taken.get(&group)).copied();
            if let Some(taken) = taken.filter(|&taken| taken > attempt.memory) {
                attempt.fate = Some(Fate::Greedy(taken));
                // Not asked first: meanwhile it could take all that there is.
                processes.kill(task.0);
            }
        }
    }

    /// Ends the attempts that the engine says are to be ended.
    fn carry_out(&mut self, processes: &mut Processes, why: Fate, out: &mut Outbox) {
        for (_, task, token) in out.kills.drain(..) {
            // It may have ended meanwhile, and another attempt at the task have begun.
            if let Some(attempt) = self.running.get_mut(&task).filter(|a| a.token == token) {
                attempt.fate.get_or_insert(why);
                processes.end(task.0);
            }
        }
    }

    /// Gives to the writer what is to be written; now and then what all of it comes to. Once that failed, nothing more is
    /// started.
    pub(super) fn hand_over(
        &mut self,
        writer: &Writer,
        broken: &mut Option<StoreError>,
        out: &mut Outbox,
    ) {
        self.since_condensed += out.entries.len();
        self.group.entries.append(&mut out.entries);
        if (self.condensed_after).is_some_and(|after| self.since_condensed >= after) {
            self.since_condensed = 0;
            self.group.snapshot = Some(Condensed {
                after: self.group.entries.len(),
                at: self.clock.now(),
                state: self.engine.snapshot(),
                forgets: self.forgets,
            });
        }
        if let Some(disk) = self.disk.as_mut().filter(|_| !self.group.is_empty()) {
            let learnt = disk.learnt(&self.engine, self.is_over);
            (self.group.meta).extend(learnt.map(|text| (SIZES, text)));
        }
        if let Err(error) = writer.send(&mut self.group) {
            broken.get_or_insert(error);
        } else if let Some(disk) = &mut self.disk {
            disk.handed_over(writer.progress().0);
        }
    }
}

/// The file for the output of an attempt.
pub(crate) fn log_name(name: &str, task: Task, token: Token) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "._-+=@,".contains(c);
    let fit: String = (name.chars().take(LONGEST_NAME))
        .map(|c| if is_fit(c) { c } else { '_' })
        .collect();
    let attempt = token.attempt;
    // Names that had to be changed may have become equal.
    match fit == name && !name.starts_with('.') {
        true => format!("{fit}.{attempt}.log"),
        false => format!("{fit}~{}.{attempt}.log", task.0),
    }
}
