//! The folder of a worker: who it is, where its tasks run, and results that nobody has acknowledged. Knows no server.
//!
//! ```text
//! DIR/1/lock      held by the worker that has this place; the next worker takes DIR/2
//! DIR/1/id        part of its name: who comes back to the place is the same worker
//! DIR/1/near      by which a server shows that it is on this machine
//! DIR/1/tasks     a folder a task that runs
//! DIR/1/logs      what they print, until it is with the server
//! DIR/1/spool     results without a receipt: they survive the end of the worker
//! DIR/1/refused   results that the server does not take, with their files: for people
//! ```
//!
//! Attempts are numbered alike in every run: names of files begin with the run.

use super::carry::Trouble;
use crate::http::types::{Attempt, Return};
use crate::near::Proof;
use crate::private;
use cairn_engine::Outcome;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// So many workers share a folder at the most.
// Far more than one machine has workers, so that it is never in the way; and an end to the search where the file system answers
// every try for a lock with "held".
const PLACES: usize = 10_000;

/// A result without a receipt, and what belongs to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spooled {
    /// The run that it is of: no other gets it.
    #[serde(default)]
    pub(super) run: String,
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

    /// Whether what it printed is its result, as far as is known here: of a volunteer's task without outputs it is.
    pub(super) fn is_print(&self) -> bool {
        self.folder.is_none() && self.back.outcome() == Outcome::Executed
    }

    /// Whether it counts though something was not uploaded.
    pub(super) fn stands_without(&self, trouble: &Trouble) -> bool {
        let is_refused = matches!(trouble, Trouble::Call(error) if error.is_for_room());
        self.folder.is_none() && !(is_refused && self.is_print())
    }

    /// Whether all that is to be uploaded is still here.
    pub(super) fn is_whole(&self) -> bool {
        let is_there =
            |path: &String| (self.folder.as_ref()).is_some_and(|f| f.join(path).exists());
        self.outputs.iter().all(is_there)
    }
}

/// A worker's place.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    id: String,
    secret: Proof,
    /// The run that this worker works for, once it knows.
    run: OnceLock<String>,
    _lock: File,
}

fn name(run: &str, attempt: Attempt) -> String {
    let Attempt { id, epoch, attempt } = attempt;
    // What a server calls its run is no name for a file.
    let run = blake3::hash(run.as_bytes()).to_hex();
    // 48 bits: of the runs that ever leave something in one folder, no two have the same.
    format!("{}-{id}-{epoch}-{attempt}", &run[..12])
}

/// Removes a folder and all in it, also where a task took away its own right to do so.
fn remove(folder: &Path) -> Result<()> {
    let gone = |removed: Result<()>| match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    // Mostly nothing is closed: only then are all folders gone through twice.
    if gone(std::fs::remove_dir_all(folder)).is_ok() {
        return Ok(());
    }
    if let Ok(folder) = folder_at(rustix::fs::CWD, folder) {
        open_up(&folder);
    }
    gone(std::fs::remove_dir_all(folder))
}

/// A folder itself, and nothing that a link leads to.
fn folder_at(beneath: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(beneath, name, flags, Mode::empty())?)
}

/// Makes a folder and all below it writable for their owner. What a task left running may put links there meanwhile: none is
/// followed. Folders of others stay as they are.
fn open_up(folder: &OwnedFd) {
    // Through the descriptor: between two looks at a name somebody could put a link in its place.
    let here = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let _ = std::fs::set_permissions(&here, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(here).into_iter().flatten().flatten() {
        if let Ok(below) = folder_at(folder, entry.file_name().as_os_str()) {
            open_up(&below);
        }
    }
}

impl Place {
    /// The first place in the folder that nobody has.
    pub(super) fn take(base: &Path) -> Result<Place> {
        for number in 1..=PLACES {
            let folder = base.join(number.to_string());
            private::folder(&folder)?;
            let mut options = File::options();
            // Never removed, also when the worker ends: two could then hold locks on two files of one name.
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
        for part in ["tasks", "logs", "spool", "refused"] {
            private::folder(&folder.join(part))?;
        }
        let id = match private::read(folder, "id") {
            Ok(id) if !id.trim().is_empty() => id.trim().to_owned(),
            _ => {
                // 32 bits: with the machine's name it tells workers of one run apart, and people read it.
                let id = private::random(4)?;
                private::write(folder, "id", &id)?;
                id
            }
        };
        // Tasks may start in other folders, and a server is told where the secret is: no path from here may be relative.
        let folder = folder.canonicalize()?;
        Ok(Place {
            secret: Proof::put(&folder)?,
            folder,
            id,
            run: OnceLock::new(),
            _lock: lock,
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn secret(&self) -> &Proof {
        &self.secret
    }

    /// From now on attempts are of this run. Whether that is so: a worker works for one run.
    pub(super) fn enter(&self, run: &str) -> bool {
        self.run.get_or_init(|| run.to_owned()) == run
    }

    /// The run that this worker works for; empty as long as it does not know.
    pub(super) fn run(&self) -> &str {
        self.run.get().map_or("", String::as_str)
    }

    fn name(&self, attempt: Attempt) -> String {
        name(self.run(), attempt)
    }

    /// Tasks that an earlier worker left half done are of no use. Returns what could not be removed, and why.
    pub(super) fn tidy(&self, kept: &[Spooled]) -> Result<Vec<(PathBuf, std::io::Error)>> {
        let mut stuck = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("tasks"))? {
            let path = entry?.path();
            let is_kept = |spooled: &Spooled| spooled.folder.as_deref() == Some(&path);
            if !kept.iter().any(is_kept)
                && let Err(error) = remove(&path)
            {
                stuck.push((path, error));
            }
        }
        // Variables of tasks that never began.
        for entry in std::fs::read_dir(self.folder.join("logs"))?.flatten() {
            if entry.path().extension().is_some_and(|e| e == "env") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(stuck)
    }

    /// A new folder for an attempt.
    pub(super) fn task(&self, attempt: Attempt) -> Result<PathBuf> {
        let folder = self.folder.join("tasks").join(self.name(attempt));
        // Numbers of attempts come again where a server goes on from a copy of its store.
        remove(&folder)?;
        private::folder(&folder)?;
        Ok(folder)
    }

    pub(super) fn log(&self, attempt: Attempt) -> PathBuf {
        let name = format!("{}.log", self.name(attempt));
        self.folder.join("logs").join(name)
    }

    /// Where the variables of an attempt wait for the process that limits it.
    pub(super) fn environment(&self, attempt: Attempt) -> PathBuf {
        self.log(attempt).with_extension("env")
    }

    /// Keeps a result until there is a receipt.
    pub(super) fn keep(&self, spooled: &Spooled) -> Result<()> {
        let text = serde_json::to_string(spooled)?;
        let folder = self.folder.join("spool");
        let name = name(&spooled.run, spooled.attempt());
        let temporary = folder.join(format!("{name}.new"));
        // Whole before it has its name: a worker that is killed meanwhile leaves no half of one. Not synced, which every task
        // would wait for: after a power cut the outputs may be gone too, and the server gives the task to somebody else.
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, folder.join(format!("{name}.json")))
    }

    /// There is a receipt, or nobody wants the result any more.
    pub(super) fn forget(&self, attempt: Attempt) {
        self.forget_of(self.run(), attempt);
    }

    /// The same for an attempt of any run.
    pub(super) fn forget_of(&self, run: &str, attempt: Attempt) {
        let name = name(run, attempt);
        let at = |part: &str, end: &str| self.folder.join(part).join(format!("{name}{end}"));
        // What stays behind is sent again some day, and answered with "already".
        let _ = std::fs::remove_file(at("spool", ".json"));
        let _ = std::fs::remove_file(at("logs", ".log"));
        let _ = std::fs::remove_file(at("logs", ".env"));
        // What stays of a folder is told by the next worker here.
        let _ = remove(&at("tasks", ""));
    }

    /// The server does not take this result: it is put where nobody sends or removes it. Returns where.
    pub(super) fn set_aside(&self, attempt: Attempt) -> Result<PathBuf> {
        let name = self.name(attempt);
        let aside = self.folder.join("refused");
        let kept = aside.join(format!("{name}.json"));
        let parts = [
            (format!("tasks/{name}"), format!("{name}.files")),
            (format!("logs/{name}.log"), format!("{name}.log")),
        ];
        for (from, to) in parts {
            match std::fs::rename(self.folder.join(from), aside.join(to)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => (),
            }
        }
        // Last: as long as it is in the spool, it is found again and set aside again.
        std::fs::rename(
            self.folder.join("spool").join(format!("{name}.json")),
            &kept,
        )?;
        Ok(kept)
    }

    /// Where results wait for their server.
    pub(super) fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    /// Results of an earlier worker in this place.
    pub(super) fn results(&self) -> Result<Vec<Spooled>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("spool"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "json")
                && let Ok(text) = std::fs::read_to_string(&path)
                // Cut by a power failure, or of another version: no result, and no reason to refuse all others.
                && let Ok(spooled) = serde_json::from_str::<Spooled>(&text)
            {
                all.push(spooled);
            }
        }
        // Folders list files as they like: what is returned first must not depend on that.
        all.sort_by_key(|s| (s.back.epoch, s.back.id, s.back.attempt));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::types::Ended;

    fn result(run: &str) -> Spooled {
        let back = Return {
            id: 7,
            epoch: 1,
            attempt: 1,
            outcome: Ended::Executed,
            exit: None,
            cause: None,
            outputs: Vec::new(),
        };
        Spooled {
            run: run.to_owned(),
            back,
            folder: None,
            outputs: Vec::new(),
            log: None,
        }
    }

    #[test]
    fn results_survive_the_worker_and_places_are_not_shared() {
        let base = tempfile::tempdir().unwrap();
        let first = Place::take(base.path()).unwrap();
        let second = Place::take(base.path()).unwrap();
        assert_ne!(first.id(), second.id());
        let spooled = result("a");
        first.keep(&spooled).unwrap();
        let id = first.id().to_owned();
        drop(first);
        let again = Place::take(base.path()).unwrap();
        assert_eq!(again.id(), id);
        let found = again.results().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].back, spooled.back);
        again.forget_of("a", found[0].attempt());
        assert!(again.results().unwrap().is_empty());
    }

    #[test]
    fn attempts_of_two_runs_have_the_same_numbers_and_other_files() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::take(base.path()).unwrap();
        assert!(place.enter("b") && place.enter("b") && !place.enter("a"));
        for run in ["a", "b"] {
            place.keep(&result(run)).unwrap();
        }
        assert_eq!(place.results().unwrap().len(), 2);
        place.forget(result("b").attempt());
        let left = place.results().unwrap();
        assert_eq!((left.len(), left[0].run.as_str()), (1, "a"));
    }

    #[test]
    fn what_the_server_refuses_is_kept_with_its_files_and_not_sent_again() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::take(base.path()).unwrap();
        assert!(place.enter("a"));
        let attempt = result("a").attempt();
        let folder = place.task(attempt).unwrap();
        std::fs::write(folder.join("out"), "made").unwrap();
        std::fs::write(place.log(attempt), "printed").unwrap();
        place.keep(&result("a")).unwrap();
        let kept = place.set_aside(attempt).unwrap();
        assert!(place.results().unwrap().is_empty());
        place.forget(attempt);
        place.tidy(&[]).unwrap();
        let read = |end: &str| std::fs::read_to_string(kept.with_extension(end)).unwrap();
        assert!(kept.exists() && read("log") == "printed");
        let made = kept.with_extension("files").join("out");
        assert_eq!(std::fs::read_to_string(made).unwrap(), "made");
    }

    #[test]
    fn folders_that_a_task_made_read_only_go_all_the_same() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::take(base.path()).unwrap();
        let folder = place.task(result("").attempt()).unwrap();
        let deep = folder.join("module/cache");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("file"), "x").unwrap();
        let closed = |path: &Path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o500)).unwrap();
        };
        let elsewhere = base.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        closed(&elsewhere);
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).unwrap();
        closed(&deep);
        closed(deep.parent().unwrap());
        // Root removes it anyway: what opens it is looked at by itself.
        open_up(&folder_at(rustix::fs::CWD, folder.as_path()).unwrap());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&deep), mode(&elsewhere)), (0o700, 0o500));
        closed(&deep);
        assert!(place.tidy(&[]).unwrap().is_empty());
        assert!(!folder.exists());
    }
}
