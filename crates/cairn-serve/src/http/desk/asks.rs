//! What is asked of the desk, and what it answers. Decides nothing.

use super::looks::{Left, Observed, Picture, TaskPicture};
use crate::found::Found;
use crate::http::files::Staged;
use crate::http::types::{Reason, Worth};
use crate::http::why::Told;
use crate::tokens::Who;
use cairn_engine::{ClientId, Digest, Granted, Offer, Outcome, Refusal, Task, Token, WorkerId};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;

/// An attempt, as the engine knows it.
pub(crate) type Held = (Task, Token);

/// A return with the files that came with it.
#[derive(Debug)]
pub(crate) struct Handed {
    pub(crate) task: Task,
    pub(crate) token: Token,
    pub(crate) outcome: Outcome,
    /// Files that take their places if it counts.
    pub(crate) staged: Vec<Staged>,
    /// Whether a file that came with it was never uploaded.
    pub(crate) lacks_output: bool,
    /// What it made, by the bytes that are here.
    pub(crate) digest: Option<Digest>,
    /// As which volunteer's attempt the task would be done with this one: then the files of that one must be beside their places.
    pub(crate) winner: Option<Token>,
    /// As whose they are there.
    pub(crate) released: Option<Token>,
}

impl Handed {
    /// A return without files.
    pub(crate) fn bare((task, token): Held, outcome: Outcome) -> Handed {
        Handed {
            task,
            token,
            outcome,
            staged: Vec::new(),
            lacks_output: false,
            digest: None,
            winner: None,
            released: None,
        }
    }
}

/// What is asked of the desk, each with the way back.
#[derive(Debug)]
pub(crate) enum Ask {
    Join {
        name: String,
        offer: Offer,
        reply: oneshot::Sender<(WorkerId, u32)>,
    },
    Exchange {
        who: Who,
        worker: WorkerId,
        returns: Vec<Handed>,
        holding: Option<Vec<Held>>,
        want: usize,
        wait: Duration,
        reply: oneshot::Sender<Answer>,
    },
    Heartbeat {
        who: Who,
        worker: WorkerId,
        holding: Vec<Held>,
        reply: oneshot::Sender<Result<(Vec<Held>, bool), Refusal>>,
    },
    Leave {
        who: Who,
        worker: WorkerId,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    Status(oneshot::Sender<Picture>),
    /// Who is seen to work.
    Observe(mpsc::Sender<Option<Observed>>),
    /// What is left of a dag.
    Left(mpsc::Sender<Option<Left>>),
    Task(Task, oneshot::Sender<Option<TaskPicture>>),
    /// Why a task is not running, or the worker of that name idle; `None` where there is none.
    WhyTask(Task, oneshot::Sender<Option<Told>>),
    WhyWorker(String, oneshot::Sender<Option<Told>>),
    /// Whether this attempt is under way, or could still count, if that one returns it, and as that worker.
    Counts(Who, Option<WorkerId>, Held, oneshot::Sender<bool>),
    /// Whether that volunteer has the task now.
    WorksOn(ClientId, Task, oneshot::Sender<bool>),
    Cancel(Vec<Task>, oneshot::Sender<Vec<Result<(), String>>>),
    Retry(Vec<Task>, oneshot::Sender<Vec<Result<(), String>>>),
    Pause(bool, oneshot::Sender<()>),
    Reorder(Found),
    Stop,
}

/// What comes of an exchange.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) receipts: Vec<Worth>,
    pub(crate) granted: Vec<Granted>,
    pub(crate) stop: Vec<Held>,
    pub(crate) reason: Option<Reason>,
    /// Whether the worker is not known: it must join again.
    pub(crate) is_unknown: bool,
    pub(crate) finished: bool,
    /// Nothing was decided: these come back, since the files of a winner must be beside their places first. Then ask again.
    pub(crate) again: Vec<Handed>,
}
