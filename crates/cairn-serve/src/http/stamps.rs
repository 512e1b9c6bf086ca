//! What tasks read and made, noted while they are served, so that a later start sees what changed. Knows no requests.

use crate::run::Files;
use crate::store::Stamp;
use cairn_dag::TaskId;
use cairn_engine::{Task, Token};
use std::collections::HashMap;

/// Declared files of tasks that are under way.
pub(crate) struct Stamps<'f> {
    files: Files<'f>,
    /// Of tasks that were leased and are not executed: by attempt, a digest of what it read. Each has its own, since of several
    /// any may be the one that counts.
    inputs: HashMap<TaskId, Vec<(Token, u64)>>,
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
    pub(super) fn started(&mut self, task: Task, token: Token) {
        if let Some(task) = task.frozen() {
            let inputs = self.files.inputs(task);
            if inputs != 0 {
                self.inputs.entry(task).or_default().push((token, inputs));
            }
        }
    }

    /// The task is done as this attempt has it; `None` where it declares no files.
    pub(super) fn executed(&mut self, task: Task, token: Token) -> Option<Stamp> {
        let task = task.frozen()?;
        let begun = self.inputs.remove(&task).unwrap_or_default();
        let own = begun.iter().find(|(other, _)| *other == token);
        // Of an attempt that was lost before this server began, nobody knows how it began.
        let inputs = own.map_or_else(|| self.files.inputs(task), |&(_, inputs)| inputs);
        self.files.stamp(task, inputs)
    }
}
