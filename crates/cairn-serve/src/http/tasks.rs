//! What the tasks of a run are called, and what is run for them, as server and workers see it. Knows no state.

use super::types::Command;
use cairn_engine::{PoolId, Task};

/// What is run for a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The command.
    pub command: Command,
    /// Files it reads.
    pub inputs: Vec<String>,
    /// Files it makes.
    pub outputs: Vec<String>,
}

/// The tasks of a run.
pub trait Tasks: Send + Sync {
    /// How many there are; `None` where there is no end of them.
    fn count(&self) -> Option<u64>;

    /// What a task is called; `None` where there is no such task.
    fn name(&self, task: Task) -> Option<String>;

    /// The task of that name.
    fn find(&self, name: &str) -> Option<Task>;

    /// What is run for a task at its attempt of that number, from 1; `None` where there is no such task.
    fn job(&self, task: Task, attempt: u32) -> Option<Job>;

    /// Whether a task declares files that it makes.
    fn makes_files(&self, task: Task) -> bool {
        self.job(task, 1).is_some_and(|job| !job.outputs.is_empty())
    }

    /// What a shared resource is called; `None` where nobody named it.
    fn pool(&self, _: PoolId) -> Option<String> {
        None
    }

    /// Every program that is run for any task, sorted; `None` where there are too many to say.
    fn programs(&self) -> Option<Vec<String>>;
}
