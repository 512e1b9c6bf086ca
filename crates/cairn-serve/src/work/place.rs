//! The folder of a worker: who it is, where its tasks run, and results that nobody has acknowledged. Knows no server.
//!
//! ```text
//! DIR/1/lock     held by the worker that has this place; the next worker takes DIR/2
//! DIR/1/id       part of its name: who comes back to the place is the same worker
//! DIR/1/tasks    a folder a task that runs
//! DIR/1/logs     what they print, until it is with the server
//! DIR/1/spool    results without a receipt: they survive the end of the worker
//! ```

use crate::http::types::{Attempt, Return};
use crate::private;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Result;
use std::path::{Path, PathBuf};

/// So many workers share a folder at the most.
const PLACES: usize = 10_000;

/// A result without a receipt, and what belongs to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spooled {
    pub(super) back: Return,
    /// Where its outputs are, if they are to be uploaded.
    pub(super) folder: Option<PathBuf>,
    /// The declared outputs to be uploaded.
    pub(super) outputs: Vec<String>,
    /// What it printed, if that is to be uploaded.
    pub(super) log: Option<PathBuf>,
}

impl Spooled {
    pub(super) fn attempt(&self) -> Attempt {
        Attempt {
            id: self.back.id,
            epoch: self.back.epoch,
            attempt: self.back.attempt,
        }
    }
}

/// A worker's place.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    id: String,
    _lock: File,
}

fn name(attempt: Attempt) -> String {
    let Attempt { id, epoch, attempt } = attempt;
    format!("{id}-{epoch}-{attempt}")
}

impl Place {
    /// The first place in the folder that nobody has.
    pub(super) fn take(base: &Path) -> Result<Place> {
        for number in 1..=PLACES {
            let folder = base.join(number.to_string());
            private::folder(&folder)?;
            let mut options = File::options();
            let lock =
                (options.create(true).truncate(false).write(true)).open(folder.join("lock"))?;
            match lock.try_lock() {
                Ok(()) => return Place::set_up(&folder, lock),
                Err(std::fs::TryLockError::WouldBlock) => (),
                Err(std::fs::TryLockError::Error(e)) => return Err(e),
            }
        }
        Err(std::io::Error::other(
            "too many workers have their folders here",
        ))
    }

    fn set_up(folder: &Path, lock: File) -> Result<Place> {
        for part in ["tasks", "logs", "spool"] {
            private::folder(&folder.join(part))?;
        }
        let id = match private::read(folder, "id") {
            Ok(id) if !id.trim().is_empty() => id.trim().to_owned(),
            _ => {
                let mut bytes = [0; 4];
                getrandom::fill(&mut bytes).map_err(|e| std::io::Error::other(e.to_string()))?;
                let id = format!("{:08x}", u32::from_le_bytes(bytes));
                private::write(folder, "id", &id)?;
                id
            }
        };
        Ok(Place {
            folder: folder.canonicalize()?,
            id,
            _lock: lock,
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Tasks that an earlier worker left half done are of no use.
    pub(super) fn tidy(&self, kept: &[Spooled]) -> Result<()> {
        for entry in std::fs::read_dir(self.folder.join("tasks"))? {
            let path = entry?.path();
            if !kept
                .iter()
                .any(|spooled| spooled.folder.as_deref() == Some(&path))
            {
                std::fs::remove_dir_all(path)?;
            }
        }
        Ok(())
    }

    /// A new folder for an attempt.
    pub(super) fn task(&self, attempt: Attempt) -> Result<PathBuf> {
        let folder = self.folder.join("tasks").join(name(attempt));
        match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => (),
        }
        private::folder(&folder)?;
        Ok(folder)
    }

    pub(super) fn log(&self, attempt: Attempt) -> PathBuf {
        self.folder
            .join("logs")
            .join(format!("{}.log", name(attempt)))
    }

    /// Keeps a result until there is a receipt.
    pub(super) fn keep(&self, spooled: &Spooled) -> Result<()> {
        let text = serde_json::to_string(spooled)?;
        let (folder, name) = (self.folder.join("spool"), name(spooled.attempt()));
        let temporary = folder.join(format!("{name}.new"));
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, folder.join(format!("{name}.json")))
    }

    /// There is a receipt, or nobody wants the result any more.
    pub(super) fn forget(&self, attempt: Attempt) {
        let name = name(attempt);
        // What stays behind is sent again some day, and answered with "already".
        let _ = std::fs::remove_file(self.folder.join("spool").join(format!("{name}.json")));
        let _ = std::fs::remove_file(self.log(attempt));
        let _ = std::fs::remove_dir_all(self.folder.join("tasks").join(name));
    }

    /// Results of an earlier worker in this place.
    pub(super) fn results(&self) -> Result<Vec<Spooled>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("spool"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "json")
                && let Ok(text) = std::fs::read_to_string(&path)
                && let Ok(spooled) = serde_json::from_str::<Spooled>(&text)
            {
                all.push(spooled);
            }
        }
        all.sort_by_key(|s| (s.back.epoch, s.back.id, s.back.attempt));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::types::Ended;

    #[test]
    fn results_survive_the_worker_and_places_are_not_shared() {
        let base = tempfile::tempdir().unwrap();
        let first = Place::take(base.path()).unwrap();
        let second = Place::take(base.path()).unwrap();
        assert_ne!(first.id(), second.id());
        let back = Return {
            id: 7,
            epoch: 2,
            attempt: 1,
            outcome: Ended::Executed,
            exit: None,
            cause: None,
            outputs: Vec::new(),
        };
        let spooled = Spooled {
            back,
            folder: None,
            outputs: Vec::new(),
            log: None,
        };
        first.keep(&spooled).unwrap();
        let id = first.id().to_owned();
        drop(first);
        let again = Place::take(base.path()).unwrap();
        assert_eq!(again.id(), id);
        let found = again.results().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].back, spooled.back);
        again.forget(found[0].attempt());
        assert!(again.results().unwrap().is_empty());
    }
}
