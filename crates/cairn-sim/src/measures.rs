//! What is measured in one run, and the log of its events. Knows no statistics.

use cairn_dag::TaskId;

/// What one run of one policy came to.
///
/// "Work is left" as long as some task is neither executed nor given to anyone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Time from the start to the last completion.
    pub makespan: f64,
    /// Share of requests that found nothing to do while work was left. A request is a batch (batches), or a worker
    /// that comes up or becomes free (all other worlds). 0 if there were none.
    pub stall: f64,
    /// Batches: share of the requests for work, arriving while work was left, that got a task. Other worlds: share of
    /// the time that workers were up (times cores) which went into results that counted. 1 if there was none.
    pub utilisation: f64,
    /// Time that workers (times cores) spent up without a task while work was left. In the world of batches workers do
    /// not wait: there it is the time in which nothing ran at all while work was left.
    pub idle: f64,
    /// The most executed tasks at any moment that still had an unexecuted child: results to be kept.
    pub peak_open: f64,
    /// The most bytes in use at any moment, where storage is counted ([`crate::Policy::within`]); else 0.
    pub peak_disk: f64,
    /// Time (times cores) that workers spent on copies of tasks that did not count: lost, late or not needed.
    pub wasted: f64,
    /// Time (times cores) that workers were there until the last completion, busy or not: what is paid for. In the world of
    /// batches workers are there while they have a task.
    pub worker_time: f64,
    /// What became of the tasks.
    pub results: Results,
}

/// What became of the tasks of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// How often a task was begun, for each that was executed.
    pub executions: f64,
    /// Results that counted and are wrong, or were made of what is.
    pub wrong: f64,
    /// Tasks that were given up, or never executed.
    pub undone: f64,
    /// 1 for a run without an end: tasks are left, and nothing more happens. Then the time is that of the last completion.
    pub endless: f64,
}

impl Default for Results {
    /// Every task is executed once, and well.
    fn default() -> Results {
        Results {
            executions: 1.0,
            wrong: 0.0,
            undone: 0.0,
            endless: 0.0,
        }
    }
}

impl Measures {
    /// One of the measures.
    pub(crate) fn get(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Makespan => self.makespan,
            Measure::Stall => self.stall,
            Measure::Utilisation => self.utilisation,
            Measure::Idle => self.idle,
            Measure::PeakOpen => self.peak_open,
            Measure::PeakDisk => self.peak_disk,
            Measure::Wasted => self.wasted,
            Measure::WorkerTime => self.worker_time,
            Measure::Executions => self.results.executions,
            Measure::Wrong => self.results.wrong,
            Measure::Undone => self.results.undone,
            Measure::Endless => self.results.endless,
        }
    }
}

/// The name of one field of [`Measures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// [`Measures::makespan`]
    Makespan,
    /// [`Measures::stall`]
    Stall,
    /// [`Measures::utilisation`]
    Utilisation,
    /// [`Measures::idle`]
    Idle,
    /// [`Measures::peak_open`]
    PeakOpen,
    /// [`Measures::peak_disk`]
    PeakDisk,
    /// [`Measures::wasted`]
    Wasted,
    /// [`Measures::worker_time`]
    WorkerTime,
    /// [`Results::executions`]
    Executions,
    /// [`Results::wrong`]
    Wrong,
    /// [`Results::undone`]
    Undone,
    /// [`Results::endless`]
    Endless,
}

impl Measure {
    /// All measures, in the order of reports.
    pub const ALL: [Measure; 12] = [
        Measure::Makespan,
        Measure::Stall,
        Measure::Utilisation,
        Measure::Idle,
        Measure::PeakOpen,
        Measure::PeakDisk,
        Measure::Wasted,
        Measure::WorkerTime,
        Measure::Executions,
        Measure::Wrong,
        Measure::Undone,
        Measure::Endless,
    ];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Makespan => "makespan",
            Measure::Stall => "stall",
            Measure::Utilisation => "utilisation",
            Measure::Idle => "idle",
            Measure::PeakOpen => "peak_open",
            Measure::PeakDisk => "peak_disk",
            Measure::Wasted => "wasted",
            Measure::WorkerTime => "worker_time",
            Measure::Executions => "executions",
            Measure::Wrong => "wrong",
            Measure::Undone => "undone",
            Measure::Endless => "endless",
        }
    }
}

/// Something that happened in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub time: f64,
    /// To whom: a worker's number. In the world of batches every served request is a new worker.
    pub worker: u32,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The worker is there (again).
    Up,
    /// The worker is gone, perhaps for good.
    Down,
    /// A copy of the task was given to the worker.
    Started(TaskId),
    /// A volunteer delivered a result of the task, which counts when others agree.
    Returned(TaskId),
    /// The worker delivered the task's result, and it counted.
    Finished(TaskId),
    /// The worker went down with its copy of the task.
    Lost(TaskId),
    /// The worker's copy was stopped, for another worker had delivered the result.
    Stopped(TaskId),
    /// The worker's time for the task ran out; late results still count.
    Expired(TaskId),
}

/// A run that did not end: why, and how many tasks were executed by then. The caller adds policy and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck(pub(crate) Why, pub(crate) usize);

/// Why a run did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// No event is left, but tasks are.
    OutOfWorkers,
    /// Nothing runs, and what is left does not fit on the disk.
    Full,
    /// Too many events without a completion.
    InVain,
    /// Whoever asked wants no more.
    Stopped,
}

/// `part / whole`, or `otherwise` if there is no whole.
pub(crate) fn share(part: f64, whole: f64, otherwise: f64) -> f64 {
    if whole > 0.0 { part / whole } else { otherwise }
}
