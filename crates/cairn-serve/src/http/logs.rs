//! What tasks print, one file an attempt. File names are numbers: nobody can name another file. Knows no requests.

use crate::private;
use cairn_engine::{Task, Token};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Of a log that is longer, the rest is not kept.
pub(crate) const LONGEST: u64 = 64 << 20;
/// So much is kept of what a volunteer's attempt printed that did not count.
const SHORT: u64 = 64 << 10;

/// The logs of a run.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    folder: PathBuf,
}

impl Logs {
    pub(crate) fn open(folder: &Path) -> Result<Logs> {
        private::folder(folder)?;
        let folder = folder.to_owned();
        Ok(Logs { folder })
    }

    fn of(&self, task: Task) -> PathBuf {
        self.folder.join(task.0.to_string())
    }

    fn at(&self, task: Task, token: Token) -> PathBuf {
        let name = format!("{}-{}.log", token.epoch, token.attempt);
        self.of(task).join(name)
    }

    /// By how many bytes such a piece would make a log longer.
    pub(crate) fn would_add(&self, task: Task, token: Token, offset: u64, bytes: u64) -> u64 {
        let there = std::fs::metadata(self.at(task, token)).map_or(0, |meta| meta.len());
        let end = offset.saturating_add(bytes).min(LONGEST);
        end.saturating_sub(there)
    }

    /// Of what an attempt printed no more than the first bytes are kept.
    pub(crate) fn shorten(&self, task: Task, token: Token) {
        let path = self.at(task, token);
        if std::fs::metadata(&path).is_ok_and(|meta| meta.len() > SHORT) {
            // One that stays long takes room and does no other harm.
            let cut = File::options().write(true).open(path);
            let _ = cut.and_then(|file| file.set_len(SHORT));
        }
    }

    /// Takes a piece of what an attempt printed. Returns how much is there. A piece that comes twice changes nothing.
    pub(crate) fn write(&self, task: Task, token: Token, offset: u64, piece: &[u8]) -> Result<u64> {
        let folder = self.of(task);
        private::folder(&folder)?;
        let path = self.at(task, token);
        let mut options = File::options();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        let there = file.metadata()?.len();
        if offset > there {
            let text = "a piece of the log before this one is missing";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let room = LONGEST.saturating_sub(offset).min(piece.len() as u64) as usize;
        file.write_all_at(&piece[..room], offset)?;
        Ok(there.max(offset + room as u64))
    }

    /// Adds a line to what an attempt printed.
    pub(crate) fn note(&self, task: Task, token: Token, line: &str) -> Result<()> {
        let there = std::fs::metadata(self.at(task, token)).map_or(0, |meta| meta.len());
        self.write(task, token, there, format!("cairn: {line}\n").as_bytes())?;
        Ok(())
    }

    /// The log of the latest attempt, or of the one asked for: its end, where it is longer than `most`.
    pub(crate) fn read(&self, task: Task, token: Option<Token>, most: u64) -> Result<Vec<u8>> {
        let folder = self.of(task);
        let missing = || Error::new(ErrorKind::NotFound, "this task has printed nothing");
        let of = |name: &str| {
            let (epoch, attempt) = name.strip_suffix(".log")?.split_once('-')?;
            Some(Token {
                epoch: epoch.parse().ok()?,
                attempt: attempt.parse().ok()?,
            })
        };
        let entries = std::fs::read_dir(&folder).map_err(|_| missing())?;
        let tokens = entries.filter_map(|e| of(e.ok()?.file_name().to_str()?));
        let found = tokens.filter(|&t| token.is_none_or(|asked| asked == t));
        let found = found.max().ok_or_else(missing)?;
        let name = format!("{}-{}.log", found.epoch, found.attempt);
        let mut file = File::open(folder.join(name))?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(most)))?;
        let mut text = Vec::new();
        file.take(most).read_to_end(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_and_may_come_twice() {
        let top = tempfile::tempdir().unwrap();
        let logs = Logs::open(top.path()).unwrap();
        let token = |attempt| Token { epoch: 1, attempt };
        assert!(logs.read(Task(3), None, 100).is_err());
        assert_eq!(logs.write(Task(3), token(1), 0, b"one ").unwrap(), 4);
        assert_eq!(logs.write(Task(3), token(1), 4, b"two").unwrap(), 7);
        assert_eq!(logs.write(Task(3), token(1), 0, b"one ").unwrap(), 7);
        assert!(logs.write(Task(3), token(1), 8, b"gap").is_err());
        assert_eq!(logs.write(Task(3), token(2), 0, b"again").unwrap(), 5);
        assert_eq!(logs.read(Task(3), None, 100).unwrap(), b"again");
        assert_eq!(logs.read(Task(3), Some(token(1)), 3).unwrap(), b"two");
        logs.note(Task(3), token(1), "three").unwrap();
        logs.note(Task(4), token(1), "four").unwrap();
        let all = |task| logs.read(Task(task), Some(token(1)), 100).unwrap();
        assert_eq!(
            (all(3), all(4)),
            (b"one twocairn: three\n".to_vec(), b"cairn: four\n".to_vec())
        );
    }
}
