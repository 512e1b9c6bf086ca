//! What the engine answers, and what follows for the driver. Decides nothing.

use crate::{Digest, Entry, Outcome, Span, Task, Token, WorkerId};

/// A task that a worker was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Which task.
    pub task: Task,
    /// The attempt: to be shown on return.
    pub token: Token,
    /// An attempt that takes longer is ended.
    pub limit: Option<Span>,
    /// Bytes of memory it may take; 0 where nobody said.
    pub memory: u64,
}

/// Why a request gets no task. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The worker never joined, left, or was lost: it must join anew.
    #[error("this worker is not known here, or was given up for lost: join again")]
    Unknown,
    /// The worker has as much to do as it can (\[RY05\], Rule 2: a client that owes a task is not heard).
    #[error("the worker has all it can do")]
    Full,
    /// All that is eligible has been given away (\[RY05\]: gridlock).
    #[error("nothing is eligible")]
    NothingEligible,
    /// Tasks are eligible, but none that this worker can do.
    #[error("no eligible task fits this worker")]
    NothingFits,
    /// The next task needs more than is free; smaller ones have overtaken it often enough.
    #[error("held for task {}, which needs more room", .0.0)]
    Held(Task),
    /// The next task is kept for a worker that is busy and will end it sooner all the same.
    #[error("held for worker {}, which will end the next task sooner", .worker.0)]
    KeptFor {
        /// The task.
        task: Task,
        /// Who will get it, as it looks.
        worker: WorkerId,
    },
    /// Tasks are eligible, but none may start without risking that the disk is full before the run is over.
    #[error("held back for storage{}", missing_bytes(*missing))]
    Storage {
        /// Bytes that are missing for anything to go on; 0 where it will go on when something ends.
        missing: u64,
    },
    /// What is left waits for results of other volunteers than this.
    #[error("what is left waits for results of others")]
    Others,
    /// A volunteer has as much as its results so far deserve.
    #[error("the worker has as many tasks as it may have at once")]
    Quota,
    /// Somebody said pause.
    #[error("paused")]
    Paused,
    /// Too many tasks are given up.
    #[error("too many tasks failed")]
    TooManyFailures,
    /// A task ended the run.
    #[error("the run was halted")]
    Halted,
    /// Every task is executed or given up.
    #[error("all is done")]
    Finished,
}

fn missing_bytes(missing: u64) -> String {
    match missing {
        0 => String::new(),
        _ => format!(": {missing} bytes are missing for the next task"),
    }
}

/// What a return was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It counts.
    Accepted,
    /// It counts: the attempt was given up for lost, but nobody had begun another, or none that must not run beside it. Of a
    /// volunteer: it is taken though its time was up.
    AcceptedLate,
    /// The task is executed already: nothing is to be done, nothing is wrong.
    Already,
    /// Another attempt has begun that must not run beside it, or the task was cancelled: the result does not count.
    Superseded,
    /// There is no such task, or no such attempt was ever begun.
    Unknown,
}

/// An attempt that ended, as a driver tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Which task.
    pub task: Task,
    /// The attempt.
    pub token: Token,
    /// How it ended.
    pub outcome: Outcome,
    /// What it made, by the bytes that the driver itself has. What a volunteer returns without one is a failure.
    pub digest: Option<Digest>,
}

/// What came of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// By return: what it was worth.
    pub receipts: Vec<Receipt>,
    /// What the worker is to begin.
    pub granted: Vec<Granted>,
    /// Why there is not more, where more was wanted.
    pub refused: Option<Refusal>,
}

/// What follows from what happened, for the driver to carry out.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// What to write down, in this order.
    pub entries: Vec<Entry>,
    /// Attempts to be ended by whoever has them.
    pub kills: Vec<(WorkerId, Task, Token)>,
    /// Tasks that can no longer be eligible.
    pub aborted: Vec<Task>,
    /// Whether room came free at a worker without an event: whoever waits may be given something now.
    pub has_room: bool,
}
