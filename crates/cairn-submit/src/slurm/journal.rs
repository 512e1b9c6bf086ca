//! What happened to a run, one JSON object a line, on the disk before anybody acts on it. Knows no Slurm.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// `sbatch` is about to be called for so many tasks, or for the gate.
    Call {
        /// The number of the call.
        serial: u64,
        /// The first task; none for the gate.
        first: Option<u32>,
        /// How many.
        len: u32,
    },
    /// The call made this job; empty where it came and went unseen.
    Job {
        /// The number of the call.
        serial: u64,
        /// The id.
        job: String,
    },
    /// The call made no job.
    None {
        /// The number of the call.
        serial: u64,
    },
    /// The gate is open.
    Open,
    /// A task has ended; without a code where it left no word.
    End {
        /// Which.
        place: u32,
        /// How.
        code: Option<i32>,
    },
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk.
    #[error("cannot use {}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else writes it.
    #[error("{} is in use: another submission, or a call of sbatch that one left behind, is still at work", .0.display())]
    InUse(PathBuf),
    /// A line that is none of ours.
    #[error("{}, line {line}: this is no journal of a submission", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
    },
}

/// A journal that nobody else can write meanwhile.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens or makes a journal, and reads it. A last line without its end was cut off while it was written: nobody acted
    /// on it, and it goes.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(path: &Path) -> Result<(Journal, Vec<Event>), JournalError> {
        let trouble = |error| JournalError::Io {
            path: path.to_owned(),
            error,
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        let mut file = file.map_err(trouble)?;
        // Of the file and not of this process: a call of `sbatch` that outlives us keeps it.
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(JournalError::InUse(path.to_owned()));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(trouble(error)),
        }
        // Read behind the lock: what another process was writing is there whole, or is its last half line.
        let bytes = std::fs::read(path).map_err(trouble)?;
        let whole = bytes
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |end| end + 1);
        if whole < bytes.len() {
            // Half a line would make the next one unreadable.
            file.set_len(whole as u64).map_err(trouble)?;
        }
        file.seek(SeekFrom::End(0)).map_err(trouble)?;
        let lines = bytes[..whole]
            .split(|&b| b == b'\n')
            .filter(|line| !line.is_empty());
        let read = |(at, line)| {
            serde_json::from_slice(line).map_err(|_| JournalError::Damaged {
                path: path.to_owned(),
                line: at + 1,
            })
        };
        let events = lines.enumerate().map(read).collect::<Result<_, _>>()?;
        Ok((Journal { file }, events))
    }

    /// Writes a change down, on the disk.
    ///
    /// # Errors
    /// From the disk.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        // One call, at the end of the file: a line is there whole, or is the last. Synced, since jobs outlive a power cut of this
        // machine: a key that is lost is a job that is submitted twice.
        self.file.write_all(&line)?;
        self.file.sync_data()
    }

    /// The lock, for a child that must not outlive it unseen.
    ///
    /// # Errors
    /// From the system.
    pub fn lock(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let call = Event::Call {
            serial: 1,
            first: None,
            len: 1,
        };
        let end = Event::End {
            place: 3,
            code: None,
        };
        let (mut journal, events) = Journal::open(&path).unwrap();
        assert_eq!(events, []);
        journal.write(&call).unwrap();
        journal.write(&end).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::InUse(_))));
        let held = journal.lock().unwrap();
        drop(journal);
        assert!(matches!(Journal::open(&path), Err(JournalError::InUse(_))));
        drop(held);
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"{\"job\":{\"serial\":1,\"jo");
        std::fs::write(&path, &text).unwrap();
        let (mut journal, events) = Journal::open(&path).unwrap();
        assert_eq!(events, [call.clone(), end.clone()]);
        journal.write(&Event::Open).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().1, [call, end, Event::Open]);
        std::fs::write(&path, "{}\n").unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 1, .. }));
    }
}
