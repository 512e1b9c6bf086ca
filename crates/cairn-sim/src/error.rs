//! What can be wrong with a question put to the simulator. Knows no cure beyond words.

use crate::budgets::run::PATIENCE;
use cairn_dag::TaskId;

/// Why a setting of a world, a spread or a task's needs is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// A number outside its range; NaN and infinity are always outside.
    #[error("{what} is {value}; it must be {must}")]
    BadValue {
        /// Which setting.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        must: &'static str,
    },
    /// Workers go away, but there is no deadline after which a lost task is given to another.
    #[error(
        "workers go away, so lost tasks need a deadline after which they are given out again: set a lease"
    )]
    NoLease,
    /// Workers leave for good and no others join, so the work might never end.
    #[error("workers leave for good and none join: set how often workers join")]
    NobodyJoins,
}

/// Why a simulation could not be made or did not end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// A setting that no world can have.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Zero runs were asked for.
    #[error("zero runs say nothing: ask for at least one")]
    NoRuns,
    /// No policy was given.
    #[error("no policy to simulate: name at least one")]
    NoPolicies,
    /// Two policies have one name.
    #[error("policy '{name}' is given twice")]
    DuplicatePolicy {
        /// The name.
        name: String,
    },
    /// A list with one entry a task (or an arc) has another length.
    #[error("{what} has {got} entries, but the dag has {wanted}")]
    WrongLength {
        /// Which list.
        what: String,
        /// Its length.
        got: usize,
        /// The right length.
        wanted: usize,
    },
    /// An order that is no permutation of the tasks.
    #[error(
        "policy '{name}' does not name every task once: {task:?} is missing, repeated or unknown"
    )]
    NotAnOrder {
        /// The policy.
        name: String,
        /// An offending task.
        task: TaskId,
    },
    /// A task that no worker can hold.
    #[error("task {task:?} needs {cores} cores, but a worker has {has}")]
    TaskTooLarge {
        /// The task.
        task: TaskId,
        /// What the task asks for.
        cores: u32,
        /// What a worker has.
        has: u32,
    },
    /// All workers of a trace have gone for good.
    #[error("the trace of workers ends with {0}: give a longer trace, or let it repeat")]
    TraceEnds(Halt),
    /// Nothing runs and what is left does not fit beside what is there: only without a keeper.
    #[error("the disk is full and nothing can go on, with {0}")]
    Full(Halt),
    /// Very many events passed without one task being completed.
    #[error(
        "nothing was completed in {events} events, with {0}: up-times or gaps are too short for these durations",
        events = PATIENCE
    )]
    NeverEnds(Halt),
    /// A task for which workers are never up long enough, or so rarely that no run would end.
    #[error("{0}")]
    NeverFinishes(TooLong),
    /// It was time to stop before a single run was done.
    #[error(
        "not one run was done in time: {} of {} tasks were executed in the first (policy '{}')",
        .0.executed, .0.tasks, .0.policy
    )]
    OutOfTime(Halt),
    /// The threads asked for could not be started.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// How many.
        threads: usize,
        /// What the system said.
        why: String,
    },
}

/// A run that went no further, and how far it had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// The policy that was being played.
    pub policy: String,
    /// The run, from zero.
    pub run: u64,
    /// Tasks executed by then.
    pub executed: usize,
    /// Tasks of the dag.
    pub tasks: usize,
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Halt {
            policy,
            run,
            executed,
            tasks,
        } = self;
        write!(
            f,
            "{executed} of {tasks} tasks executed (policy '{policy}', run {run})"
        )
    }
}

/// A task that takes longer than workers are up at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooLong {
    /// The task that takes longest.
    pub task: TaskId,
    /// How long it takes at the least: with luck, on the fastest worker.
    pub needs: f64,
    /// How long a worker is up at a time, at the most or but for one time in 10⁸.
    pub has: f64,
    /// How many tasks are too long.
    pub tasks: usize,
}

impl TooLong {
    /// The error in words, with a name for the task.
    pub fn words(&self, task: &str) -> String {
        let others = match self.tasks {
            1 => String::new(),
            2 => ", and so does 1 other task".to_owned(),
            more => format!(", and so do {} other tasks", more - 1),
        };
        format!(
            "task '{task}' can never finish: it takes {:.4} s at the least, longer than any worker is up at a time \
             ({:.4} s){others}",
            self.needs, self.has
        )
    }
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words(&self.task.0.to_string()))
    }
}

/// Refuses a number that is not finite and above zero.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<(), SettingError> {
    check(
        value.is_finite() && value > 0.0,
        what,
        value,
        "a finite number above zero",
    )
}

/// Refuses a number that is not finite or is below zero.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<(), SettingError> {
    check(
        value.is_finite() && value >= 0.0,
        what,
        value,
        "a finite number, not below zero",
    )
}

pub(crate) fn check(
    good: bool,
    what: &'static str,
    value: f64,
    must: &'static str,
) -> Result<(), SettingError> {
    if good {
        Ok(())
    } else {
        Err(SettingError::BadValue { what, value, must })
    }
}
