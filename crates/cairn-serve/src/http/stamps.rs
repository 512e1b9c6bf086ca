//! What tasks read and made, noted while they are served, so that a later start sees what changed. Knows no requests.

use crate::run::DeclaredFiles;
use crate::store::Stamp;
use cairn_dag::TaskId;
use cairn_engine::{Task, Token};
use std::collections::HashMap;

/// Declared files of tasks that are under way.
pub(crate) struct Stamps<'f> {
    files: DeclaredFiles<'f>,
    /// Of tasks that were leased and are not executed: what their attempts read. Each has its own, since of several any may be
    /// the one that counts.
    inputs: HashMap<TaskId, ReadBy>,
}

impl<'f> Stamps<'f> {
    pub(super) fn new(files: DeclaredFiles<'f>) -> Stamps<'f> {
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
                self.inputs.entry(task).or_default().note(token, inputs);
            }
        }
    }

    /// The task is done as this attempt has it; `None` where it declares no files.
    pub(super) fn executed(&mut self, task: Task, token: Token) -> Option<Stamp> {
        let task = task.frozen()?;
        let begun = self.inputs.remove(&task).unwrap_or_default();
        // Of an attempt that was lost before this server began, nobody knows how it began.
        let own = begun.of(token);
        let inputs = own.unwrap_or_else(|| self.files.inputs(task));
        self.files.stamp(task, inputs)
    }
}

/// Digests of what attempts at one task read: the first attempt of each row that read the same, by rising token.
// A task that is given back again and again has attempts without number, and mostly the same inputs.
#[derive(Debug, Default)]
struct ReadBy(Vec<(Token, u64)>);

impl ReadBy {
    /// An attempt begins; none that began before it has a higher token.
    fn note(&mut self, token: Token, inputs: u64) {
        if self.0.last().is_none_or(|&(_, last)| last != inputs) {
            self.0.push((token, inputs));
        }
    }

    /// What an attempt read, where it began after this server did.
    fn of(&self, token: Token) -> Option<u64> {
        let after = self.0.partition_point(|&(first, _)| first <= token);
        Some(self.0[after.checked_sub(1)?].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_without_number_take_no_room_while_inputs_stay() {
        let token = |attempt| Token { epoch: 2, attempt };
        let mut begun = ReadBy::default();
        for attempt in 3..1000 {
            begun.note(token(attempt), u64::from(attempt >= 500));
        }
        assert_eq!(begun.0.len(), 2);
        let read = [3, 499, 500, 999].map(|attempt| begun.of(token(attempt)));
        assert_eq!(read, [Some(0), Some(0), Some(1), Some(1)]);
        let before = Token {
            epoch: 1,
            attempt: 2,
        };
        assert_eq!(begun.of(before), None);
    }
}
