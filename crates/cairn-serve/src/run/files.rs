//! Declared files of tasks: whether they are there, whether they changed, and what a failed attempt left half-made. Knows no
//! processes.

use crate::digest::Digest;
use crate::store::Stamp;
use cairn_dag::{Flow, TaskId};
use cairn_engine::Moment;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File systems note times by the tick of a coarse clock: a file may seem older than it is, by so many microseconds.
// Ticks of Linux are 1 to 10 ms long. Too small, and what a killed attempt made in its first moments seems to have been there
// before, and stays; too large, and what was put there just before it began is taken for its own.
const TICK: u64 = 50_000;

/// The ending of a file that was moved out of the way.
const ASIDE: &str = ".half-made";

/// The declared files of a flow.
pub(crate) struct DeclaredFiles<'f> {
    flow: &'f Flow,
    /// Files that may be deleted once they were read: whether they are there says nothing.
    temp: HashSet<&'f str>,
    /// Where the files of a task are, if not here.
    directory: &'f (dyn Fn(TaskId) -> Option<PathBuf> + Sync),
    /// What was seen already, so that a file that a thousand tasks read is asked for once.
    seen: HashMap<PathBuf, Option<Seen>>,
}

/// What is compared of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    changed: i128,
    is_file: bool,
}

impl Seen {
    fn of(data: &Metadata) -> Seen {
        Seen {
            bytes: data.len(),
            changed: i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec()),
            is_file: data.is_file(),
        }
    }
}

/// The outputs of an attempt as they were before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Before(Vec<(PathBuf, Option<(Seen, u64)>)>);

/// What became of outputs that a failed attempt left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HalfMade {
    /// The attempt had made it: it was removed.
    Removed(PathBuf),
    /// It was there before and the attempt changed it: it was moved to where the second path says.
    Moved(PathBuf, PathBuf),
    /// It should be gone, but is not.
    Left(PathBuf, String),
}

impl<'f> DeclaredFiles<'f> {
    pub(crate) fn new(
        flow: &'f Flow,
        directory: &'f (dyn Fn(TaskId) -> Option<PathBuf> + Sync),
        is_temp: &dyn Fn(&str) -> bool,
    ) -> DeclaredFiles<'f> {
        let outputs = flow.dag().tasks().flat_map(|t| flow.outputs(t));
        DeclaredFiles {
            flow,
            temp: (outputs
                .filter(|f| f.temp || is_temp(f.path))
                .map(|f| f.path))
            .collect(),
            directory,
            seen: HashMap::new(),
        }
    }

    fn place(&self, task: TaskId, path: &str) -> PathBuf {
        place((self.directory)(task), path)
    }

    /// As it is now, or was when somebody asked since [`DeclaredFiles::forget`].
    fn look(&mut self, path: PathBuf) -> Option<Seen> {
        // Through links: a task reads what they lead to, and that is what may change.
        let find = |path: &PathBuf| std::fs::metadata(path).ok().map(|d| Seen::of(&d));
        match self.seen.get(&path) {
            Some(seen) => *seen,
            None => {
                let seen = find(&path);
                self.seen.insert(path, seen);
                seen
            }
        }
    }

    /// From now on files may have changed.
    pub(crate) fn forget(&mut self) {
        // Not only emptied: after a resume that looked at a million files the room would stay.
        self.seen = HashMap::new();
    }

    /// A digest of the inputs as they are: paths, sizes, times. 0 where nothing is to be compared. Files that the task itself
    /// writes, and temporary ones, do not count.
    pub(crate) fn inputs(&mut self, task: TaskId) -> u64 {
        let flow = self.flow;
        let mut digest = Digest::new();
        let mut any = false;
        for file in flow.inputs(task) {
            if self.temp.contains(file.path) || flow.outputs(task).any(|o| o.path == file.path) {
                continue;
            }
            any = true;
            digest.text(file.path);
            let path = self.place(task, file.path);
            match self.look(path) {
                None => digest.number(0),
                // What is in a folder comes and goes.
                Some(seen) if !seen.is_file => digest.number(1),
                Some(seen) => {
                    digest.number(2);
                    digest.number(seen.bytes);
                    digest.number(seen.changed as u64);
                }
            }
        }
        match any {
            // 0 says that there is nothing to compare.
            true => digest.done().max(1),
            false => 0,
        }
    }

    /// A digest of the sizes of the outputs. 0 where there are none.
    pub(super) fn outputs(&mut self, task: TaskId) -> u64 {
        let flow = self.flow;
        let mut digest = Digest::new();
        let mut any = false;
        for file in flow.outputs(task) {
            if self.temp.contains(file.path) {
                continue;
            }
            any = true;
            let path = self.place(task, file.path);
            let seen = self.look(path).filter(|seen| seen.is_file);
            // Sizes alone: times of outputs change by a mere copy, and this asks only whether a power cut took something away.
            digest.number(seen.map_or(u64::MAX, |seen| seen.bytes));
        }
        match any {
            true => digest.done().max(1),
            false => 0,
        }
    }

    /// What is to be compared when the run is resumed; `None` where there is nothing.
    pub(crate) fn stamp(&mut self, task: TaskId, inputs: u64) -> Option<Stamp> {
        let outputs = self.outputs(task);
        let stamp = Stamp {
            task: task.into(),
            inputs,
            outputs,
        };
        (inputs != 0 || outputs != 0).then_some(stamp)
    }

    /// The first declared output that is not there; of temporary ones only if asked.
    pub(super) fn missing(&mut self, task: TaskId, temp_too: bool) -> Option<&'f str> {
        let flow = self.flow;
        flow.outputs(task).find_map(|file| {
            if !temp_too && self.temp.contains(file.path) {
                return None;
            }
            let path = self.place(task, file.path);
            self.look(path).is_none().then_some(file.path)
        })
    }

    /// The first input that is not there, of a task before which there is no other that could make it.
    pub(super) fn missing_source(&mut self, task: TaskId) -> Option<&'f str> {
        let flow = self.flow;
        if !flow.dag().parents(task).is_empty() {
            return None;
        }
        flow.inputs(task).map(|f| f.path).find(|path| {
            let is_own = flow.outputs(task).any(|o| o.path == *path);
            let place = self.place(task, path);
            !is_own && self.look(place).is_none()
        })
    }

    /// The outputs as they are before an attempt.
    pub(super) fn before(&self, task: TaskId) -> Before {
        let known = |path: PathBuf| {
            let data = std::fs::metadata(&path).ok();
            // One that was replaced may have the same size and time.
            let seen = data.map(|d| (Seen::of(&d), d.ino()));
            (path, seen)
        };
        let outputs = self.flow.outputs(task);
        Before(outputs.map(|f| known(self.place(task, f.path))).collect())
    }

    /// Takes back what a failed attempt left of its outputs: what it made is removed, what it changed is moved aside, what it
    /// did not touch stays. Folders stay.
    pub(super) fn take_back(before: Before) -> Vec<HalfMade> {
        let mut done = Vec::new();
        for (path, earlier) in before.0 {
            let Ok(data) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            // A link that leads nowhere is there, and was made by the attempt.
            let now = std::fs::metadata(&path).ok();
            match (earlier, now.map(|d| (Seen::of(&d), d.ino()))) {
                (Some(earlier), Some(now)) if earlier == now => (),
                _ if data.is_dir() => (),
                (None, _) => done.push(removed(path)),
                (Some(_), _) => done.push(moved(path)),
            }
        }
        done
    }

    /// The same for an attempt of an earlier runner, which nobody saw end: times tell what it made or changed since it
    /// began.
    pub(super) fn take_back_since(&self, task: TaskId, since: Moment) -> Vec<HalfMade> {
        let mut done = Vec::new();
        for file in self.flow.outputs(task) {
            let path = self.place(task, file.path);
            let Ok(data) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let is_later = |time: io::Result<std::time::SystemTime>| {
                let since_1970 = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
                Some(since_1970.as_micros() as u64 + TICK >= since.0)
            };
            // Where a file system does not tell when a file was made, it is moved aside, which destroys nothing.
            match (is_later(data.modified()), is_later(data.created())) {
                _ if data.is_dir() => (),
                (Some(true), Some(true)) => done.push(removed(path)),
                (Some(true), _) => done.push(moved(path)),
                _ => (),
            }
        }
        done
    }
}

/// Where a file is that a task of this folder names.
pub(crate) fn place(directory: Option<PathBuf>, path: &str) -> PathBuf {
    match Path::new(path).is_absolute() {
        true => path.into(),
        false => directory.map_or_else(|| path.into(), |d| d.join(path)),
    }
}

/// What a file is called that was moved out of the way; there may be several.
pub(crate) fn aside_name(path: &Path, number: u32) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ASIDE);
    if number > 0 {
        name.push(format!(".{number}"));
    }
    name.into()
}

fn removed(path: PathBuf) -> HalfMade {
    match std::fs::remove_file(&path) {
        Ok(()) => HalfMade::Removed(path),
        Err(e) => HalfMade::Left(path, e.to_string()),
    }
}

/// Beside it, under a name that nobody has.
fn moved(path: PathBuf) -> HalfMade {
    let mut number = 0;
    loop {
        let to = aside_name(&path, number);
        number += 1;
        // Only this run moves files here, and does so one after the other: nobody takes the name in between.
        if to.symlink_metadata().is_ok() {
            continue;
        }
        return match std::fs::rename(&path, &to) {
            Ok(()) => HalfMade::Moved(path, to),
            Err(e) => HalfMade::Left(path, e.to_string()),
        };
    }
}
