//! What tasks print, one file an attempt. File names are numbers: nobody can name another file. Knows no requests.

use crate::private;
use cairn_engine::{Task, Token};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Of a log that is longer, the rest is not kept.
// A task that prints in a circle must not fill the disk. Far less, and logs of real programs would be cut; it is read as a whole, so
// far more would be a burden to whoever asks for it.
pub(crate) const LONGEST: u64 = 64 << 20;
/// So much is kept of what a volunteer's attempt printed that did not count.
// Enough to see what went wrong. It is no longer held against the volunteer's allowance: so it must be little, however often
// somebody is wrong.
const SHORT: u64 = 64 << 10;
/// A line of ours is looked for in so much of the end of a log.
// Our lines are sentences, some with a path: a kilobyte holds the longest that is not made by malice.
const LAST: u64 = 1 << 10;
/// How a line of ours begins.
const OURS: &[u8] = b"cairn: ";

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

    /// How much of what an attempt printed is here.
    pub(crate) fn bytes(&self, task: Task, token: Token) -> u64 {
        std::fs::metadata(self.at(task, token)).map_or(0, |meta| meta.len())
    }

    /// By how many bytes such a piece would make a log longer.
    pub(crate) fn would_add(&self, task: Task, token: Token, offset: u64, bytes: u64) -> u64 {
        let there = self.bytes(task, token);
        let end = offset.saturating_add(bytes).min(LONGEST);
        end.saturating_sub(there)
    }

    /// Of what an attempt printed no more than the first bytes are kept, and a last line of ours.
    pub(crate) fn shorten(&self, task: Task, token: Token) {
        if self.bytes(task, token) <= SHORT {
            return;
        }
        let last = self.read(task, Some(token), LAST).unwrap_or_default();
        let begins = last.windows(OURS.len()).rposition(|w| w == OURS);
        // One that stays long takes room and does no other harm.
        // The last line of ours says why it failed: it moves behind what is left.
        let cut = File::options().write(true).open(self.at(task, token));
        let _ = cut.and_then(|file| {
            file.set_len(SHORT)?;
            begins.map_or(Ok(()), |at| file.write_all_at(&last[at..], SHORT))
        });
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
        // The hole would read as zeros.
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
        let text = format!("cairn: {line}\n");
        let last = self.read(task, Some(token), text.len() as u64);
        if last.is_ok_and(|last| last == text.as_bytes()) {
            return Ok(()); // It was said just now.
        }
        self.write(task, token, self.bytes(task, token), text.as_bytes())?;
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
        // Tokens grow with every start and attempt: the largest is the latest.
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
        logs.note(Task(3), token(1), "three").unwrap();
        logs.note(Task(4), token(1), "four").unwrap();
        let all = |task| logs.read(Task(task), Some(token(1)), 100).unwrap();
        assert_eq!(
            (all(3), all(4)),
            (b"one twocairn: three\n".to_vec(), b"cairn: four\n".to_vec())
        );
        // Why something failed is kept of a long log as well.
        let long = vec![b'x'; SHORT as usize + 5000];
        logs.write(Task(5), token(1), 0, &long).unwrap();
        logs.shorten(Task(5), token(1));
        assert_eq!(logs.bytes(Task(5), token(1)), SHORT);
        logs.write(Task(5), token(2), 0, &long).unwrap();
        logs.note(Task(5), token(2), "too long").unwrap();
        logs.shorten(Task(5), token(2));
        let end = logs.read(Task(5), Some(token(2)), 17).unwrap();
        assert_eq!(end, b"xcairn: too long\n");
        assert_eq!(logs.bytes(Task(5), token(2)), SHORT + 16);
    }
}
