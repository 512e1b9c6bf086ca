//! What tasks read and made, noted while they are served, so that a later start sees what changed. Knows no requests.

use crate::run::Files;
use crate::store::Stamp;
use cairn_dag::TaskId;
use cairn_engine::Task;
use std::collections::HashMap;

/// Declared files of tasks that are under way.
pub(crate) struct Stamps<'f> {
    files: Files<'f>,
    /// Of tasks that are leased: a digest of what they read.
    inputs: HashMap<TaskId, u64>,
}

impl<'f> Stamps<'f> {
    pub(super) fn new(files: Files<'f>) -> Stamps<'f> {
        let inputs = HashMap::new();
        Stamps { files, inputs }
    }

    /// From now on files may have changed.
    pub(super) fn forget(&mut self) {
        self.files.forget();
    }

    /// Somebody begins with the task.
    pub(super) fn started(&mut self, task: Task) {
        if let Some(task) = task.frozen() {
            let inputs = self.files.inputs(task);
            if inputs != 0 {
                self.inputs.insert(task, inputs);
            }
        }
    }

    /// The task is done; `None` where it declares no files.
    pub(super) fn executed(&mut self, task: Task) -> Option<Stamp> {
        let task = task.frozen()?;
        let inputs = match self.inputs.remove(&task) {
            Some(inputs) => inputs,
            // Of an attempt that was given up for lost, nobody knows how it began.
            None => self.files.inputs(task),
        };
        self.files.stamp(task, inputs)
    }
}
