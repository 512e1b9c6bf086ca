//! Files on their way between workers and server, known by the digest of their content: what is declared, and where uploads lie.
//! Knows no requests.

mod allowance;
mod held;
mod staged;
mod uploads;

pub use allowance::Allowed;
pub(crate) use allowance::Over;
pub(crate) use staged::Staged;
pub(crate) use uploads::NotTaken;

use self::allowance::Allowance;
use self::held::Holding;
use super::transit::Transit;
use super::types::Needed;
use crate::beneath::Beneath;
use crate::mutex::lock;
use crate::private;
use crate::tokens::Who;
use cairn_engine::Task;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Bytes that count as under way until this is dropped.
#[derive(Debug)]
struct Counted {
    transit: Arc<Transit>,
    /// Whose they are, where it is a volunteer.
    whose: Option<(Arc<Allowance>, u32)>,
    bytes: u64,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.transit.give(self.bytes);
        if let Some((allowance, volunteer)) = &self.whose {
            allowance.give(*volunteer, self.bytes);
        }
    }
}

/// A file as it was when its digest was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    changed: (i64, i64),
    // One of the same size may take its place within a tick of the clock: it has another number.
    inode: u64,
}

impl Seen {
    fn of(file: &File) -> Result<Seen> {
        let meta = file.metadata()?;
        Ok(Seen {
            bytes: meta.len(),
            changed: (meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino(),
        })
    }
}

/// Uploads, and the declared files of the workflow.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    flow: Beneath,
    /// By path: what it was, and its digest.
    digests: Mutex<HashMap<String, (Seen, String)>>,
    /// By digest: a path that had it.
    paths: Mutex<HashMap<String, String>>,
    /// Uploads that somebody writes just now, by where they are.
    busy: Mutex<HashSet<PathBuf>>,
    /// When old uploads were last looked for.
    swept: Mutex<Instant>,
    /// Uploads without a place.
    transit: Arc<Transit>,
    /// What volunteers have here.
    allowance: Arc<Allowance>,
    /// What of it waits for validation, and what their tasks printed, by task.
    holding: Mutex<HashMap<Task, Holding>>,
}

/// Whether these are 64 hexadecimal digits, in small letters.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

const VOLUNTEER: &str = "volunteer-";

/// The folders with uploads: of those who are trusted, and of each volunteer.
fn shelves(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|e| e.file_name().to_string_lossy().starts_with(VOLUNTEER));
    all.extend(names.map(|entry| entry.path()));
    let partial: Vec<PathBuf> = all.iter().map(|shelf| shelf.join("partial")).collect();
    all.extend(partial);
    all
}

/// Which volunteer has the upload at this place.
fn owner(folder: &Path, path: &Path) -> Option<u32> {
    let inside = path.strip_prefix(folder).ok()?;
    let shelf = inside.components().next()?.as_os_str().to_str()?;
    shelf.strip_prefix(VOLUNTEER)?.parse().ok()
}

impl Files {
    /// Uploads go to `folder`; declared files are beneath `flow`. Volunteers may have so much there.
    pub(crate) fn open(folder: &Path, flow: &Path, allowed: Allowed) -> Result<Files> {
        private::folder(folder)?;
        private::folder(&folder.join("partial"))?;
        private::folder(&folder.join("held"))?;
        let transit = Arc::new(Transit::default());
        let allowance = Arc::new(Allowance::new(allowed));
        // What was there before a restart takes its room all the same, and counts for whoever has it.
        for inside in shelves(folder) {
            for entry in std::fs::read_dir(inside).into_iter().flatten() {
                let entry = entry?;
                let meta = entry.metadata()?;
                let bytes = if meta.is_file() { meta.len() } else { 0 };
                transit.found(bytes);
                if let Some(volunteer) = owner(folder, &entry.path()) {
                    allowance.found(volunteer, bytes);
                }
            }
        }
        let files = Files {
            transit,
            allowance,
            holding: Mutex::default(),
            folder: folder.to_owned(),
            flow: Beneath::open(flow)?,
            digests: Mutex::default(),
            paths: Mutex::default(),
            busy: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        };
        files.find_held();
        Ok(files)
    }

    /// What volunteers may have here.
    pub(crate) fn allowed(&self) -> Allowed {
        self.allowance.allowed()
    }

    /// Uploads without a place, counted.
    pub(crate) fn transit(&self) -> &Arc<Transit> {
        &self.transit
    }

    /// Where somebody's uploads lie: no volunteer sees, spoils or holds up those of another.
    fn shelf(&self, who: Who) -> PathBuf {
        match who {
            Who::Trusted => self.folder.clone(),
            Who::Volunteer(number) => self.folder.join(format!("{VOLUNTEER}{number}")),
        }
    }

    fn whole(&self, who: Who, digest: &str) -> PathBuf {
        self.shelf(who).join(digest)
    }

    fn partial(&self, who: Who, digest: &str) -> PathBuf {
        self.shelf(who).join("partial").join(digest)
    }

    /// Whether a file made by a task could take its place at this path.
    pub(crate) fn may_take(&self, path: &str) -> Result<()> {
        self.flow.may_take(path)
    }

    /// Removes an upload; one that stays behind goes on counting, and does no other harm.
    fn remove(&self, path: &Path) {
        // Before it goes: afterwards nobody knows how much to give back.
        let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
        if std::fs::remove_file(path).is_ok() {
            self.gone(path, bytes);
        }
    }

    /// So many bytes of an upload are there no more.
    fn gone(&self, path: &Path, bytes: u64) {
        self.transit.give(bytes);
        if let Some(volunteer) = owner(&self.folder, path) {
            self.allowance.give(volunteer, bytes);
        }
    }

    /// A declared file that has this digest, with its size.
    pub(crate) fn read(&self, digest: &str) -> Result<(File, u64)> {
        let missing = || Error::new(ErrorKind::NotFound, "no file of this digest");
        // Only what was told as an input of a task has a digest here: nobody reads other files of the
        // folder by guessing. A restart forgets them, and the client is told to ask for the inputs anew.
        let path = lock(&self.paths).get(digest).cloned().ok_or_else(missing)?;
        // Opened first, then compared: what is sent is this one, whatever takes its place by then.
        let file = self.flow.read(&path)?;
        let seen = Seen::of(&file)?;
        let known = lock(&self.digests).get(&path).cloned();
        match known {
            Some((then, known)) if then == seen && known == digest => Ok((file, seen.bytes)),
            _ => Err(missing()),
        }
    }

    /// A declared file, with the digest of its content.
    pub(crate) fn needed(&self, path: &str) -> Result<Needed> {
        let mut file = self.flow.read(path)?;
        // Before the digest is taken: a file that changes meanwhile is digested again the next time.
        let seen = Seen::of(&file)?;
        let executable = file.metadata()?.permissions().mode() & 0o100 != 0;
        let known = lock(&self.digests).get(path).cloned();
        let digest = match known.filter(|(then, _)| *then == seen) {
            Some((_, digest)) => digest,
            None => {
                // No lock is held: others must not wait for a large file. At worst two digest the same
                // one.
                let digest = digest_of(&mut file)?;
                lock(&self.digests).insert(path.to_owned(), (seen.clone(), digest.clone()));
                digest
            }
        };
        lock(&self.paths).insert(digest.clone(), path.to_owned());
        Ok(Needed {
            path: path.to_owned(),
            digest,
            bytes: seen.bytes,
            executable,
        })
    }

    /// An upload of which nobody has a use any more.
    pub(crate) fn forget(&self, who: Who, digest: &str) {
        self.remove(&self.whole(who, digest));
    }
}

/// The BLAKE3 digest of what is left of a file, in hexadecimal.
pub(crate) fn digest_of(file: &mut impl Read) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests;
