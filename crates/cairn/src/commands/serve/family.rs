//! The tasks of a family that is never written down, as a server hands them out. Runs nothing.

use super::jobs::line;
use crate::commands::family::{Wanted, called};
use cairn_engine::Task;
use cairn_serve::http::types::Command;
use cairn_serve::http::{Job, Tasks};

/// A family whose tasks are served.
pub(super) struct Told(pub(super) Wanted);

impl Told {
    fn place(&self, task: Task) -> Option<(u64, u64)> {
        let shape = self.0.shape();
        let is_there = shape.tasks().is_none_or(|tasks| task.0 < tasks);
        is_there.then(|| shape.place(task.0))
    }

    fn command(&self, level: u64, index: u64) -> Command {
        let (words, shell) = line(self.0.command(level, index));
        Command {
            words,
            shell,
            ..Command::default()
        }
    }
}

impl Tasks for Told {
    fn count(&self) -> Option<u64> {
        self.0.shape().tasks()
    }

    fn name(&self, task: Task) -> Option<String> {
        self.place(task).map(|(level, index)| called(level, index))
    }

    fn find(&self, name: &str) -> Option<Task> {
        let (level, index) = name.split_once('-')?;
        let task = self.0.find(level.parse().ok()?, index.parse().ok()?)?;
        // No other spelling of the numbers.
        (self.name(task).as_deref() == Some(name)).then_some(task)
    }

    fn job(&self, task: Task, _: u32) -> Option<Job> {
        let (level, index) = self.place(task)?;
        Some(Job {
            command: self.command(level, index),
            ..Job::default()
        })
    }

    fn makes_files(&self, _: Task) -> bool {
        false
    }

    /// The one program, unless its own name has the level or the place in it.
    fn programs(&self) -> Option<Vec<String>> {
        // Two places that have no number in common: whatever hangs on either differs.
        let [one, other] = [(0, 1), (2, 3)].map(|(level, index)| {
            let command = self.command(level, index);
            command.program().map(str::to_owned)
        });
        (one == other).then(|| one.into_iter().collect())
    }
}
