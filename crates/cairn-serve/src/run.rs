//! Tasks on this machine, in one process: asks the engine, starts processes, writes behind. Knows no formats and no terminals,
//! and decides nothing about the order.
//!
//! Children are released as soon as their last parent has ended; what happened is committed behind, in causal order, within
//! `WINDOW`. When the runner is killed, at most what was in flight and what ended within one window runs again.

mod again;
mod course;
mod disk;
mod drive;
mod family;
mod files;
mod flow;
mod resume;
mod rules;

pub(crate) use again::{Known, Now, again};
pub(crate) use drive::log_name;
pub(crate) use family::another_command;
pub(crate) use files::{DeclaredFiles, aside_name, place};

pub use again::WhyAgain;
pub use family::{FamilySetup, run_family};
pub use files::HalfMade;
pub use flow::{FlowPrograms, FlowSetup, Orders, run};
pub use rules::{RulesError, Wishes, pool_names, rules};

use crate::disk::{Unkept, Usage};
use crate::found::About;
use crate::spawn::{Program, end_survivors};
use crate::store::{Store, StoreError};
use cairn_engine::{Cause, Moment, Task, Token};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Within this time what happened is committed.
// With a commit for each task a run did 0.5 to 0.8 times as many tasks a second as ninja, in such windows as many.
pub(crate) const WINDOW: Duration = Duration::from_millis(10);

/// The variable by which processes of a run are known; its value is that of the state.
pub(crate) const MARK: &str = "CAIRN_RUN";

/// How long processes of a killed runner, or of a killed worker, have to end before they are killed.
// A judgement: what they make counts no more, so that they are given less than the five seconds of an attempt that is ended;
// programs that remove their temporary files when asked take far less than two.
pub(crate) const SURVIVORS_GRACE: Duration = Duration::from_secs(2);

/// The worker that this machine is.
const HERE: &str = "here";

/// The same where it only says that tasks are done: how long that took is nobody's time.
pub(crate) const TOUCHED: &str = "touched";

/// Keys of values in the store.
const ID: &str = "id";
pub(crate) const BOOT: &str = "boot";
const POLICY: &str = "policy";

/// What tasks run.
pub trait TaskPrograms: Sync {
    /// What the attempt at the task runs, with its output in `log`; `None` if there is nothing to run. Attempts count from 1.
    fn program(&self, task: Task, attempt: u32, log: PathBuf) -> Option<Program>;

    /// What the task is called.
    fn name(&self, task: Task) -> Cow<'_, str>;
}

/// Something that happened, for whoever watches.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// Processes of an earlier runner were found and ended.
    Survivors(usize),
    /// What attempts of an earlier runner, or one that failed, left of its outputs.
    HalfMade(&'a HalfMade),
    /// An executed task is to be executed again.
    Again(Task, WhyAgain),
    /// An attempt began.
    Started {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
    },
    /// A task is done.
    Executed {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
    },
    /// An attempt failed.
    Failed(Failed<'a>),
    /// An attempt was ended by us, or its process is gone: nobody's fault.
    GivenBack {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
    },
    /// A task can no longer be executed, since one before it failed.
    Aborted(Task),
    /// A task would be executed now.
    WouldRun(Task),
    /// An order is in force, or more is known of it.
    Ordered(&'a About),
    /// A temporary file is gone: all that read it are executed. So many bytes are free.
    Deleted(&'a Path, u64),
    /// A temporary file should be gone, but is not.
    NotDeleted(&'a Path, &'a str),
    /// Nothing runs and nothing may start, since others fill the disk; it goes on by itself when there is room.
    HeldBack {
        /// Bytes that are missing for the next task.
        missing: u64,
        /// How the disk stands.
        usage: Usage,
    },
    /// There is room again.
    GoesOn,
    /// Time passed.
    Pulse,
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'a> {
    /// Which task.
    pub task: Task,
    /// The attempt.
    pub token: Token,
    /// The exit code, or the number of the signal.
    pub exit: i32,
    /// What went wrong.
    pub cause: Cause,
    /// More about it, where there is more.
    pub detail: &'a str,
    /// Whether the task is given up, not tried again.
    pub for_good: bool,
    /// What it printed.
    pub log: Option<&'a Path>,
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
    /// Behind one that was given up; of a family nobody can list these.
    pub aborted: usize,
    /// Ready to be executed.
    pub eligible: usize,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
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
    /// Bytes on the disk that are missing for anything to go on, where the cap ended it.
    pub stuck: Option<u64>,
    /// How the disk stands, under a cap.
    pub usage: Option<Usage>,
    /// The order in force, of a flow.
    pub about: Option<About>,
    /// By task of a flow: executed.
    pub executed: Vec<bool>,
    /// By task of a flow: given up.
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
    /// No order is within the cap on the disk.
    #[error(transparent)]
    Cap(#[from] Unkept),
    /// The state is of something else.
    #[error("the state in {} is not of {what}", folder.display())]
    Other {
        /// Where it is.
        folder: PathBuf,
        /// What it should be of.
        what: String,
    },
    /// The state is of a family whose tasks ran something else: nothing tells which of its tasks did.
    #[error("the state in {} is of another command: its tasks ran '{before}'", folder.display())]
    OtherCommand {
        /// Where it is.
        folder: PathBuf,
        /// The command of before.
        before: String,
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
pub type Watch<'a> = &'a mut (dyn FnMut(Moment, &News<'_>, &Counts) + Send);

/// What this start of the machine is called.
pub(crate) fn boot() -> String {
    // Outputs are not synced: after a power cut "executed" can outlive what was made, and only then is that looked for.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| "unknown".to_owned(), |boot| boot.trim().to_owned())
}

/// Ends what a killed runner left, and tells of it.
fn end_what_is_left(id: &str, now: Moment, watch: Watch<'_>) -> Result<(), RunError> {
    let ended = end_survivors(MARK, id, SURVIVORS_GRACE)?;
    if ended > 0 {
        watch(now, &News::Survivors(ended), &Counts::default());
    }
    Ok(())
}

/// What this state is called, so that its processes can be told from others, and whether that is new: then it has none yet,
/// and the name is to be written before it has.
fn identity(store: &Store) -> Result<(String, bool), RunError> {
    if let Some(id) = store.meta(ID)? {
        return Ok((id, false));
    }
    // The kernel's: random enough that no other state on this machine, also a copy that was begun anew, has the same.
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok((id.trim().to_owned(), true))
}

/// Bytes of memory of this machine, where it tells.
pub fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
