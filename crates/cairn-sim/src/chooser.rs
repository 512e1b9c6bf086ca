//! Whoever chooses the tasks for a whole batch of requests at once. Knows no time and no worker.

use cairn_dag::{Dag, TaskId};
use std::fmt::Debug;

/// A way to choose whole batches: starts a [`Chooser`] for every run.
///
/// The simulator knows nothing of how a batch is chosen well; what does implements this and is handed to
/// [`crate::Policy::batched`].
pub trait Batching: Debug + Send + Sync {
    /// A chooser for one run, before anything is executed. The same dag must give the same choices in every run.
    fn start<'d>(&self, dag: &'d Dag) -> Box<dyn Chooser + 'd>;
}

/// Chooses the tasks of one run, batch by batch.
pub trait Chooser {
    /// Proposes `count` eligible tasks that have not been handed out; there are never fewer. A task that is not eligible,
    /// or named twice, is passed over, and what is missing is filled up from the policy's order.
    fn choose(&mut self, count: usize) -> Vec<TaskId>;

    /// A task is handed out.
    fn handed_out(&mut self, task: TaskId);

    /// A task that was handed out has been executed.
    fn executed(&mut self, task: TaskId);
}
