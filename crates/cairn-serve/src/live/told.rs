//! What a page is told of a run, as types: the page has the same in `page/src/contract.ts`. Knows no run.

use crate::found::verdict_out;
use crate::http::types::Storage;
use cairn_theory::Verdict;
use serde::Serialize;
use utoipa::ToSchema;

/// What does not change while the run goes on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Scene {
    /// What the run is called.
    pub title: String,
    /// How many tasks there are; none where there is no end of them.
    pub tasks: Option<u64>,
    /// The dag as boxes, where it can be drawn.
    pub map: Option<DagMap>,
}

/// The dag as boxes; each task is in one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DagMap {
    /// The drawing: a group with `data-n` for each box.
    pub svg: String,
    /// How many tasks each box stands for.
    pub sizes: Vec<u32>,
    /// The number of one of them.
    pub first: Vec<u32>,
}

/// What the order in force should give.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Plan {
    /// The number of the order.
    pub order: u32,
    /// Pairs of executed tasks and of those that are eligible then.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub profile: Vec<(u64, u64)>,
    /// The same that no order exceeds anywhere, where that is known.
    #[schema(value_type = Option<Vec<Vec<u64>>>)]
    pub bound: Option<Vec<(u64, u64)>>,
    /// What is proved: `optimal`, `none-exists`, or `open`.
    #[serde(serialize_with = "verdict_out")]
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Verdict>,
}

/// Executed tasks, seconds since 1970, tasks that are eligible or leased, leased ones.
pub type Sample = (u64, f64, u64, u64);
/// Worker, task, begin and end in seconds since 1970, how it ended: executed, failed, lost, given back.
pub type Span = (u32, u64, f64, f64, u8);
/// Worker, task, begin.
pub type Running = (u32, u64, f64);

/// Seconds of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Idle {
    /// At work.
    pub busy: f64,
    /// Idle since nothing was eligible.
    pub nothing_eligible: f64,
    /// Idle though something was eligible: it did not fit.
    pub resources: f64,
    /// Idle though something was eligible that fitted: server, network, or the worker itself was slow.
    pub server: f64,
    /// Idle since somebody said pause.
    pub paused: f64,
}

impl std::ops::AddAssign for Idle {
    fn add_assign(&mut self, other: Idle) {
        self.busy += other.busy;
        self.nothing_eligible += other.nothing_eligible;
        self.resources += other.resources;
        self.server += other.server;
        self.paused += other.paused;
    }
}

/// A worker.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WorkerTold {
    /// Its number.
    pub worker: u32,
    /// What it calls itself.
    pub name: String,
    /// `here`, `left` or `lost`.
    pub state: &'static str,
    /// How many tasks of one processor it does at once.
    pub cpus: u32,
    /// How many tasks it has now.
    pub leased: u64,
    /// How many tasks it has executed.
    pub executed: u64,
    /// How many of its attempts failed.
    pub failed: u64,
    /// How many of its leases ended because it was silent.
    pub lost: u64,
    /// When it was last heard of, in seconds since 1970, where that is known.
    pub last_seen: Option<f64>,
    /// Words by which tasks find it.
    pub tags: Vec<String>,
    /// Its speed beside the others, where it is known.
    pub speed: Option<f64>,
    /// Mean seconds from lease to return, where it is known.
    pub turnaround: Option<f64>,
    /// The share of its leases that it is expected to return well, where it is known.
    pub reliability: Option<f64>,
    /// The number of its token, where nobody vouches for it.
    pub volunteer: Option<u32>,
    /// What came of its results, where nobody vouches for it and that is known.
    pub trust: Option<TrustTold>,
    /// Where its time went.
    #[serde(flatten)]
    pub idle: Idle,
}

/// What came of a volunteer's results, over all its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TrustTold {
    /// Results that counted, or that others confirmed.
    pub valid: u64,
    /// Results that others contradicted.
    pub invalid: u64,
    /// Copies that failed.
    pub errors: u64,
    /// Copies that were not back in time.
    pub late: u64,
}

/// An attempt that failed, or whose worker was lost.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FailureTold {
    /// The task, by number.
    pub id: u64,
    /// Its name.
    pub task: String,
    /// Which attempt.
    pub attempt: u32,
    /// When.
    pub at: f64,
    /// Who had it.
    pub worker: String,
    /// Why: `exit`, `signal`, `memory`, `time`, `output`, `start` or `lost`.
    pub cause: String,
    /// The exit code, or the number of the signal.
    pub exit: Option<i32>,
    /// Whether the task was given up.
    pub for_good: bool,
    /// The end of what it printed, in saved reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// A task that took long.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SlowTold {
    /// The task, by number.
    pub id: u64,
    /// Its name.
    pub task: String,
    /// How long, up to now where it is still running.
    pub seconds: f64,
    /// Whether it is still running.
    pub running: bool,
}

/// A task on the path that decided how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StepTold {
    /// The task, by number.
    pub id: u64,
    /// Its name.
    pub task: String,
    /// How long it was eligible before it began.
    pub waited: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Bytes on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct StorageTold {
    /// In use.
    pub used: u64,
    /// Never exceeded.
    pub cap: u64,
    /// Kept for tasks that run.
    pub reserved: u64,
    /// The most there ever was, reserved bytes included, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
}

impl StorageTold {
    /// What of it the page shows.
    pub(crate) fn of(storage: &Storage) -> StorageTold {
        StorageTold {
            used: storage.used,
            cap: storage.cap_now,
            reserved: storage.reserved,
            peak: Some(storage.peak),
        }
    }
}

/// Where the run stands: all of it, or what has changed since. Then `curve`, `spans` and `boxes` have what is new, and a list that is left
/// out is as it was.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Update {
    /// The server's time, in seconds since 1970.
    pub now: f64,
    /// The number of the newest event in it.
    pub seq: i64,
    /// When the first task was begun.
    pub began: Option<f64>,
    /// Tasks by state: waiting, eligible, leased, executed, failed, aborted, cancelled.
    pub counts: [Option<u64>; 7],
    /// Whether nothing is leased until somebody says otherwise.
    pub paused: bool,
    /// Whether nothing more will happen.
    pub finished: bool,
    /// What the run returns, where a task ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<i32>,
    /// Executed tasks a second, lately.
    pub rate: Option<f64>,
    /// How long it takes if it goes on so.
    pub eta_seconds: Option<f64>,
    /// Where the processors' time went.
    pub idle: Idle,
    /// Attempts under way.
    #[schema(value_type = Vec<Vec<f64>>)]
    pub running: Vec<Running>,
    /// Points of the curve.
    #[schema(value_type = Vec<Vec<f64>>)]
    pub curve: Vec<Sample>,
    /// Attempts that ended.
    #[schema(value_type = Vec<Vec<f64>>)]
    pub spans: Vec<Span>,
    /// Boxes of the dag, each with its tasks by state.
    #[schema(value_type = Vec<Vec<u32>>)]
    pub boxes: Vec<[u32; 8]>,
    /// Those who are here, and the latest who are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Vec<WorkerTold>>,
    /// How many there ever were.
    pub workers_in_all: usize,
    /// Those given up first, then the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<FailureTold>>,
    /// How many there were.
    pub failures_in_all: usize,
    /// The longest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Vec<SlowTold>>,
    /// From the first to the latest that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<StepTold>>,
    /// Where storage is kept under a cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageTold>,
}

/// An attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AttemptTold {
    /// Which attempt.
    pub attempt: u32,
    /// Which start of the server leased it.
    pub epoch: u32,
    /// Who had it.
    pub worker: String,
    /// When it began, in seconds since 1970.
    pub begin: f64,
    /// When it ended; none while it runs.
    pub end: Option<f64>,
    /// `running`, `executed`, `failed`, `lost`, `given back` or `cancelled`.
    pub outcome: &'static str,
    /// The exit code, or the number of the signal, of a failure.
    pub exit: Option<i32>,
    /// Why it failed.
    pub cause: Option<&'static str>,
}
