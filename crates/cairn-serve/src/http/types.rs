//! What is said over the wire, as types; the document of the interface is made from them. Knows no server and no client.

mod status;

pub use status::{
    HeldBack, HeldWhy, Presence, Status, Storage, TaskStatus, TrustStatus, WorkerStatus,
};

use cairn_engine::{Cause, Outcome, Receipt, Refusal};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Long polls are no longer than so many seconds.
// Each holds a connection, also for somebody who is gone without a word. Workers of ours ask for 25 s, below what proxies cut off;
// more than a minute would save hardly a request.
pub(crate) const LONGEST_WAIT: f64 = 60.0;

/// What is asked for at once is no more than this.
// The desk takes one request at a time: at 250,000 cycles a second (docs/serving.md) so many take 40 ms, in which nobody else is
// heard.
pub(crate) const MOST_AT_ONCE: usize = 10_000;

/// The slowest and the fastest worker that there may be, beside a usual machine.
// The engine keeps thousandths as a whole number, which must be neither 0 nor too large for it. A benchmark that was stopped and
// started by the system may come out as anything.
pub(crate) const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1e6;

/// What went wrong, and what to do about it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// What went wrong.
    pub error: String,
    /// What to do about it.
    pub cure: String,
}

/// A worker comes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// What it calls itself: no two workers at once may have the same name, and the one that was there before is lost.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// How many tasks of one processor it does at once.
    #[schema(minimum = 1, maximum = 100000)]
    pub cpus: u32,
    /// Bytes of memory; nobody counts where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Words by which tasks find it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub tags: Vec<String>,
    /// Seconds until it leaves, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub seconds_left: Option<f64>,
    /// Whether its tasks run in folders of their own: it fetches what they read, and uploads what they make.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub carries: bool,
    /// Bytes that the folders of its tasks may take, where somebody counts: it gets only tasks whose files fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// How fast it is by a short benchmark of its own; 1 is a usual machine. What counts is how workers compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.001, maximum = 1000000)]
    pub speed: Option<f64>,
    /// Where its secret is: a file `near` of 64 hexadecimal digits, by whose digest a server on the same machine shows that it is
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
}

/// A worker is known from now on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Joined {
    /// Its number, for the paths of its requests.
    pub worker: u32,
    /// Which start of the server this is.
    pub epoch: u32,
    /// It should be heard of so often.
    pub heartbeat_seconds: f64,
    /// Silent for so long it is lost.
    pub silence_seconds: f64,
    /// Every program of the dag: what a careful worker allows. Left out where there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// The folder of the workflow, for workers on the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What the file of the server in that folder says: a folder without it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
    /// The BLAKE3 digest of the worker's secret, if the server sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// The run, by a random name that stays the same over restarts: results of another one do not belong here.
    #[serde(default)]
    pub run: String,
    /// Whether nobody vouches for it: what its tasks print is compared then. Servers of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volunteer: Option<bool>,
}

/// An attempt at a task: what was leased, and what must be shown on return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// The task, by number.
    pub id: u64,
    /// Which start of the server leased it.
    pub epoch: u32,
    /// Which attempt at this task it is.
    pub attempt: u32,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It is done.
    Executed,
    /// It went wrong.
    Failed,
    /// Undone, and nobody's fault.
    GivenBack,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyFailed {
    /// An exit code that is not 0.
    Exit,
    /// A signal.
    Signal,
    /// Too little memory.
    Memory,
    /// Too little time.
    Time,
    /// A declared file was not made.
    Output,
    /// It could not be started.
    Start,
}

// Two enums, not one: what the wire says stays as it is whatever the engine calls it.
impl From<WhyFailed> for Cause {
    fn from(why: WhyFailed) -> Cause {
        match why {
            WhyFailed::Exit => Cause::Exit,
            WhyFailed::Signal => Cause::Signal,
            WhyFailed::Memory => Cause::Memory,
            WhyFailed::Time => Cause::Time,
            WhyFailed::Output => Cause::Output,
            WhyFailed::Start => Cause::Start,
        }
    }
}

impl From<Cause> for WhyFailed {
    fn from(cause: Cause) -> WhyFailed {
        match cause {
            Cause::Exit => WhyFailed::Exit,
            Cause::Signal => WhyFailed::Signal,
            Cause::Memory => WhyFailed::Memory,
            Cause::Time => WhyFailed::Time,
            Cause::Output => WhyFailed::Output,
            Cause::Start => WhyFailed::Start,
        }
    }
}

/// A file that a task made, which was uploaded before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// As the dag declares it.
    pub path: String,
    /// The BLAKE3 digest of its content, 64 hexadecimal digits.
    #[schema(min_length = 64, max_length = 64)]
    pub digest: String,
    /// Whether it may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Return {
    /// The task, by number.
    pub id: u64,
    /// Which start of the server leased it.
    pub epoch: u32,
    /// Which attempt at this task it was.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Ended,
    /// The exit code, or the number of the signal, of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<WhyFailed>,
    /// Files it made, where worker and server share no disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Made>,
}

/// "Return these, lease me so many."
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10000)]
    pub returns: Vec<Return>,
    /// How many tasks are wanted at the most.
    #[serde(default)]
    #[schema(maximum = 10000)]
    pub want: u32,
    /// How long to wait when nothing is there. A request that returns something is answered at once.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 60)]
    pub wait_seconds: f64,
    /// All that the worker has: what it was leased and does not name here is told again, since that answer was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10000)]
    pub holding: Option<Vec<Attempt>>,
}

/// "Lease me so many."
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// How many tasks are wanted at the most.
    #[schema(minimum = 1, maximum = 10000)]
    pub want: u32,
    /// How long to wait when nothing is there.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 60)]
    pub wait_seconds: f64,
}

/// "Return these."
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnRequest {
    /// What ended.
    #[schema(min_items = 1, max_items = 10000)]
    pub returns: Vec<Return>,
}

impl TryFrom<LeaseRequest> for Exchange {
    type Error = &'static str;

    fn try_from(
        LeaseRequest { want, wait_seconds }: LeaseRequest,
    ) -> Result<Exchange, &'static str> {
        match want {
            0 => Err("no task is wanted"),
            _ => Ok(Exchange {
                want,
                wait_seconds,
                ..Exchange::default()
            }),
        }
    }
}

impl TryFrom<ReturnRequest> for Exchange {
    type Error = &'static str;

    fn try_from(ReturnRequest { returns }: ReturnRequest) -> Result<Exchange, &'static str> {
        match returns.is_empty() {
            true => Err("nothing is returned"),
            false => Ok(Exchange {
                returns,
                ..Exchange::default()
            }),
        }
    }
}

/// What a return was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Worth {
    /// It counts.
    Accepted,
    /// It counts, though the worker was given up for lost.
    AcceptedLate,
    /// The task was executed before: nothing is wrong.
    Already,
    /// Another attempt has begun that must not run beside it, or the task was cancelled: it does not count.
    Superseded,
    /// There is no such task or attempt.
    Unknown,
    /// A file that the task declares was not uploaded: upload it, and return the task again.
    OutputMissing,
}

impl From<Receipt> for Worth {
    fn from(receipt: Receipt) -> Worth {
        match receipt {
            Receipt::Accepted => Worth::Accepted,
            Receipt::AcceptedLate => Worth::AcceptedLate,
            Receipt::Already => Worth::Already,
            Receipt::Superseded => Worth::Superseded,
            Receipt::Unknown => Worth::Unknown,
        }
    }
}

/// A file that a task reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Needed {
    /// As the dag declares it.
    pub path: String,
    /// The BLAKE3 digest of its content.
    pub digest: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it may be executed.
    #[serde(default)]
    pub executable: bool,
}

/// What is run for a task: words, or a line for the shell, or nothing at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Command {
    /// A program and its arguments, to be started without a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// A line for `sh -c`, where there are no words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Variables of its environment, beside those that the worker gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Vec<String>>)]
    pub environment: Vec<(String, String)>,
    /// Where it runs, below the folder of the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Where its output goes; else into the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Where its errors go; else into the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Command {
    /// For people.
    pub fn text(&self) -> String {
        self.shell.clone().unwrap_or_else(|| self.words.join(" "))
    }

    /// What an allow-list of programs must name: the first word, or the shell.
    pub fn program(&self) -> Option<&str> {
        match &self.shell {
            Some(_) => Some("sh"),
            None => self.words.first().map(String::as_str),
        }
    }
}

/// A task that a worker was given.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// The task, by number.
    pub id: u64,
    /// Its name.
    pub task: String,
    /// Which start of the server this is: part of what must be shown on return.
    pub epoch: u32,
    /// Which attempt at this task it is: part of what must be shown on return.
    pub attempt: u32,
    /// What to run.
    pub command: Command,
    /// Seconds after which it is to be ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<f64>,
    /// Bytes of memory it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes that its files and its scratch take, as far as they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// Files it reads, as declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Files it makes, as declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
}

/// What came of an exchange.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Exchanged {
    /// One for each return, in their order.
    #[serde(default)]
    pub receipts: Vec<Worth>,
    /// Tasks to be done, best first.
    #[serde(default)]
    pub leases: Vec<Lease>,
    /// Attempts to be ended: they no longer count, or took too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Attempt>,
    /// Why there are no leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Whether nothing more will ever be leased.
    pub finished: bool,
    /// Whether the worker is known: else it must join again. Its returns count all the same.
    pub known: bool,
}

/// Why there are no leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The worker has all it can do.
    Full,
    /// All that is eligible has been given away.
    NothingEligible,
    /// Nothing that is eligible fits this worker.
    NothingFits,
    /// The next task needs more room than is free.
    Held,
    /// The next task is kept for a busy worker that will end it sooner.
    KeptForFaster,
    /// Nothing may start without the risk that the disk is full before the run is over.
    Storage,
    /// What is left waits for results of other volunteers.
    Others,
    /// A volunteer has as much as its results so far deserve.
    Quota,
    /// Somebody said pause.
    Paused,
    /// Too many tasks failed.
    TooManyFailures,
    /// A task ended the run.
    Halted,
    /// All is done.
    Finished,
}

impl Reason {
    /// The word for a refusal; `None` for a worker that is not known.
    pub(crate) fn of(refusal: Refusal) -> Option<Reason> {
        Some(match refusal {
            Refusal::Unknown => return None,
            Refusal::Full => Reason::Full,
            Refusal::NothingEligible => Reason::NothingEligible,
            Refusal::NothingFits => Reason::NothingFits,
            Refusal::Held(_) => Reason::Held,
            Refusal::KeptFor { .. } => Reason::KeptForFaster,
            Refusal::Storage { .. } => Reason::Storage,
            Refusal::Others => Reason::Others,
            Refusal::Quota => Reason::Quota,
            Refusal::Paused => Reason::Paused,
            Refusal::TooManyFailures => Reason::TooManyFailures,
            Refusal::Halted => Reason::Halted,
            Refusal::Finished => Reason::Finished,
        })
    }
}

/// A worker lives.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// All that it works on.
    #[serde(default)]
    #[schema(max_items = 10000)]
    pub holding: Vec<Attempt>,
}

/// The server has heard.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Heard {
    /// Attempts to be ended: they no longer count, or took too long.
    pub stop: Vec<Attempt>,
    /// Whether nothing more will ever be leased.
    pub finished: bool,
}

/// Tasks that somebody names.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Their names.
    #[schema(min_items = 1, max_items = 10000)]
    pub tasks: Vec<String>,
}

/// What became of them.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// Those that changed.
    pub changed: Vec<String>,
    /// Those that did not, and why.
    pub refused: Vec<Refused>,
}

/// A task that stays as it is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// Its name.
    pub task: String,
    /// Why.
    pub why: String,
}

/// Whether tasks are leased.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// Whether nothing is leased.
    pub paused: bool,
}

/// How much of a file is there.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Stored {
    /// Bytes that are there: go on from here.
    pub bytes: u64,
    /// Whether that is all of it.
    pub complete: bool,
}

impl Return {
    /// What the engine is told.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.outcome {
            Ended::Executed => Outcome::Executed,
            Ended::GivenBack => Outcome::GivenBack,
            Ended::Failed => Outcome::Failed {
                exit: self.exit.unwrap_or(1),
                cause: self.cause.unwrap_or(WhyFailed::Exit).into(),
            },
        }
    }
}
