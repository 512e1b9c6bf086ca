//! What happened: events that alone rebuild the state. Knows no store.

use crate::{ClientId, Digest, Moment, Offer, Record, Task, Token, WorkerId};
use serde::{Deserialize, Serialize};

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It ended with an exit code that is not 0.
    Exit,
    /// A signal ended it.
    Signal,
    /// It wanted more memory than it was given.
    Memory,
    /// It took longer than its limit.
    Time,
    /// It ended well, but a file that it declares was not there.
    Output,
    /// It could not be started at all.
    Start,
}

impl Cause {
    /// The word for it, as scripts and stores have it.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Exit => "exit",
            Cause::Signal => "signal",
            Cause::Memory => "memory",
            Cause::Time => "time",
            Cause::Output => "output",
            Cause::Start => "start",
        }
    }
}

/// How an attempt ended, as whoever made it tells: nobody tells that he was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is done.
    Executed,
    /// It went wrong.
    Failed {
        /// The exit code, or the number of the signal.
        exit: i32,
        /// What went wrong.
        cause: Cause,
    },
    /// Whoever had it gives it back undone: nobody's fault.
    GivenBack,
}

/// Why a lease ended without the task being executed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// The worker gave it back.
    GivenBack,
    /// The worker was silent for too long.
    Lost,
    /// The worker does not know of it: the answer that gave it never arrived.
    Unheard,
    /// The time of a volunteer was up. What it made is taken all the same if it comes.
    Overdue,
    /// It was a copy, others will be back sooner, and the worker is wanted for something else.
    Redundant,
}

/// Why a worker is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gone {
    /// It said goodbye.
    Left,
    /// It was silent for too long.
    Lost,
}

/// What happened. In an order in which every prefix is closed under parents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A server or runner began with this log.
    Opened {
        /// How often that happened, this time included.
        epoch: u32,
    },
    /// Tasks go by this order from now on. The order itself is kept by the store.
    Ordered {
        /// Which one.
        plan: u32,
    },
    /// A worker came.
    Joined {
        /// Its number: the next one.
        worker: WorkerId,
        /// What it calls itself.
        name: String,
        /// What it has.
        offer: Offer,
    },
    /// A volunteer came for the first time, and earlier runs know it: it goes on from there.
    Remembered {
        /// Which one.
        client: ClientId,
        /// What they know.
        record: Record,
    },
    /// A worker is gone. What it had was released before.
    Departed {
        /// Which one.
        worker: WorkerId,
        /// Why.
        why: Gone,
    },
    /// A worker that is gone, and that nothing depends on, is not remembered any more: its number stays its own.
    Forgotten {
        /// Which one.
        worker: WorkerId,
    },
    /// A task was given to a worker; where others have it already, as a copy.
    Leased {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
        /// To whom.
        worker: WorkerId,
        /// By when it must be back, where it is a volunteer's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Moment>,
    },
    /// An attempt came back whose result waits for validation, or validates others.
    Returned {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
        /// Whose it was.
        worker: WorkerId,
        /// What it made.
        digest: Digest,
    },
    /// Results of a task do not agree, and there were enough of them: it is given up, and whatever waits for it is aborted.
    Disputed {
        /// Which task.
        task: Task,
    },
    /// A task is done; its children that wait for nothing else are eligible with this same event, and whatever else was
    /// tried at it ends.
    Executed {
        /// Which task.
        task: Task,
        /// The attempt that did it.
        token: Token,
        /// Who did it.
        worker: WorkerId,
    },
    /// An attempt failed.
    Failed {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
        /// The exit code, or the number of the signal.
        exit: i32,
        /// What went wrong.
        cause: Cause,
        /// Whether it is given up, and whatever waits for it is aborted; else it is eligible again, unless others have it.
        for_good: bool,
    },
    /// A lease ended otherwise.
    Released {
        /// Which task.
        task: Task,
        /// The attempt.
        token: Token,
        /// Why.
        why: Release,
        /// Whether it is given up, since too many workers were lost over it; else it is eligible again, unless others have it.
        for_good: bool,
    },
    /// Somebody said that the task shall not be executed; whatever waits for it is aborted.
    Cancelled {
        /// Which task.
        task: Task,
    },
    /// A failed or cancelled task shall be tried again, with budgets as at the beginning.
    Revived {
        /// Which task.
        task: Task,
    },
    /// What an executed task made is gone or no longer right: it shall be executed again. Its children are reopened
    /// before it.
    Reopened {
        /// Which task.
        task: Task,
    },
    /// Nothing is leased from now on.
    Paused,
    /// Tasks are leased again.
    Unpaused,
    /// A task ended in a way that ends the whole run.
    Halted {
        /// What the run returns.
        exit: i32,
    },
}

impl Event {
    /// The task that it is about.
    pub fn task(&self) -> Option<Task> {
        match *self {
            Event::Leased { task, .. }
            | Event::Returned { task, .. }
            | Event::Disputed { task }
            | Event::Executed { task, .. }
            | Event::Failed { task, .. }
            | Event::Released { task, .. }
            | Event::Cancelled { task }
            | Event::Revived { task }
            | Event::Reopened { task } => Some(task),
            Event::Opened { .. }
            | Event::Ordered { .. }
            | Event::Joined { .. }
            | Event::Remembered { .. }
            | Event::Departed { .. }
            | Event::Forgotten { .. }
            | Event::Paused
            | Event::Unpaused
            | Event::Halted { .. } => None,
        }
    }
}

/// An event and when it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: Moment,
    /// What.
    pub event: Event,
}
