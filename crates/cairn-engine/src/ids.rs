//! Numbers with a meaning: tasks and their kinds, workers, attempts, moments. Knows nothing of what is done with them.

use cairn_kernel::{narrow, wide};
use serde::{Deserialize, Serialize};

/// A task, by number: that of the frozen dag, or the place in the order of an implicit family.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Task(pub u64);

impl From<cairn_dag::TaskId> for Task {
    fn from(task: cairn_dag::TaskId) -> Task {
        Task(task.0.into())
    }
}

impl Task {
    /// The same task of a frozen dag; `None` beyond 32 bits.
    pub fn frozen(self) -> Option<cairn_dag::TaskId> {
        u32::try_from(self.0).ok().map(cairn_dag::TaskId)
    }
}

/// A worker, in the order in which they joined. A worker that comes back after it was lost is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// The worker with this number.
    pub fn new(number: usize) -> WorkerId {
        WorkerId(narrow(number))
    }

    /// The number, for lists by worker.
    pub fn index(self) -> usize {
        wide(self.0)
    }
}

/// A kind of tasks, by number: what is learnt of one of them counts for all.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct KindId(pub u32);

impl KindId {
    /// The kind with this number.
    pub fn new(number: usize) -> KindId {
        KindId(narrow(number))
    }

    /// The number, for lists by kind.
    pub fn index(self) -> usize {
        wide(self.0)
    }
}

/// What one attempt at a task is known by: it never comes again, not even when the store loses its last moments, since
/// every start of the server begins a new epoch. Whoever returns a task must show it: the *fencing token*.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
pub struct Token {
    /// Which start of the server or runner leased it.
    pub epoch: u32,
    /// The attempt at this task, from 1.
    pub attempt: u32,
}

/// A moment, in microseconds since 1970. The engine has no clock: the driver says what time it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Moment(pub u64);

/// A span of time, in microseconds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Span {
    /// For ever, as good as.
    // A quarter of all there is, since it is added to moments.
    pub const EVER: Span = Span(u64::MAX / 4);

    /// So many seconds.
    pub const fn seconds(seconds: u64) -> Span {
        Span(seconds.saturating_mul(1_000_000))
    }
}

impl std::ops::Add<Span> for Moment {
    type Output = Moment;

    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.0))
    }
}

impl Moment {
    /// The time since an earlier moment; none where that is later, as clocks that are set back have it.
    pub fn since(self, earlier: Moment) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}
