//! Samples of three steps with real files, and watchers of the folder they are written to.
#![allow(dead_code, reason = "each test file uses what it needs")]

use super::served::ask;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Whole pages: so that what a file takes on a disk is its length.
pub(crate) const LARGE: u64 = 25 * 4096;
pub(crate) const SMALL: u64 = 4096;

pub(crate) fn write(folder: &Path, tasks: &[Value]) {
    let mut text = String::new();
    for task in tasks {
        writeln!(text, "{task}").unwrap();
    }
    std::fs::write(folder.join("f.jsonl"), text).unwrap();
}

/// Samples of three steps: two large temporary files, then a small one that is kept.
pub(crate) fn samples(count: usize) -> Vec<Value> {
    let mut tasks = Vec::new();
    for i in 0..count {
        let (a, b, c) = (format!("{i}.a"), format!("{i}.b"), format!("{i}.c"));
        tasks.push(json!({
            "name": format!("make-{i}"), "run": format!("head -c {LARGE} /dev/zero > {a}"),
            "outputs": [{ "path": a, "bytes": LARGE, "temp": true }],
        }));
        tasks.push(json!({
            "name": format!("sort-{i}"), "after": [format!("make-{i}")], "inputs": [a],
            "run": format!("cat {a} > {b}"),
            "outputs": [{ "path": b, "bytes": LARGE, "temp": true }],
        }));
        tasks.push(json!({
            "name": format!("sum-{i}"), "after": [format!("sort-{i}")], "inputs": [b],
            "run": format!("test $(wc -c < {b}) = {LARGE} && head -c {SMALL} {b} > {c}"),
            "outputs": [{ "path": c, "bytes": SMALL }],
        }));
    }
    tasks
}

/// The samples' files, one after the other, with their sizes.
fn seen(folder: &Path) -> HashMap<OsString, u64> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let ours = entries.filter(|e| {
        let name = e.file_name();
        let name = name.to_string_lossy();
        [".a", ".b", ".c"].iter().any(|end| name.ends_with(end))
    });
    ours.filter_map(|e| Some((e.file_name(), e.metadata().ok()?.len())))
        .collect()
}

/// Bytes of the samples' files that are there at one moment, or a few less: what was seen both before and after it. One look alone
/// is no moment: it counts a file that is deleted and one that is made while it looks.
pub(crate) fn there(folder: &Path) -> u64 {
    let (before, after) = (seen(folder), seen(folder));
    let both = before
        .iter()
        .filter_map(|(name, a)| Some(a.min(after.get(name)?)));
    both.sum()
}

/// Runs something, and says the most bytes that were seen meanwhile.
pub(crate) fn watched<T>(folder: &Path, run: impl FnOnce() -> T) -> (T, u64) {
    watched_by(&|| there(folder), run)
}

pub(crate) fn watched_by<T>(look: &(dyn Fn() -> u64 + Sync), run: impl FnOnce() -> T) -> (T, u64) {
    let (most, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(look(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let ran = run();
        is_over.store(true, Ordering::Relaxed);
        (ran, most.load(Ordering::Relaxed))
    })
}

/// The results are right and nothing temporary is left.
pub(crate) fn assert_made(folder: &Path, count: usize) {
    for i in 0..count {
        let made = std::fs::read(folder.join(format!("{i}.c"))).unwrap();
        assert!(
            made.len() as u64 == SMALL && made.iter().all(|b| *b == 0),
            "{i}"
        );
        for temporary in ["a", "b"] {
            assert!(
                !folder.join(format!("{i}.{temporary}")).exists(),
                "{i}.{temporary}"
            );
        }
    }
}

/// The smallest peak that `plan` finds.
pub(crate) fn planned_peak(folder: &Path) -> u64 {
    let args = ["plan", "f.jsonl", "--disk", "1TB", "--json", "--no-arrays"];
    let plan = ask(folder, &args);
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    plan["storage"]["peak"].as_u64().unwrap()
}

/// A small disk of its own, or nothing where that may not be.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub(crate) fn new(bytes: u64, for_what: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|s| s.success()) {
            return Some(SmallDisk(folder));
        }
        let why = format!("SKIPPED: {for_what}: no right to mount a small disk\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), why.as_bytes());
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Bytes that its files take, at this very moment: whole pages of 4096.
    pub(crate) fn used(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    }

    /// Runs something, and says the most bytes that the disk had meanwhile.
    pub(crate) fn watched<T>(&self, run: impl FnOnce() -> T) -> (T, u64) {
        watched_by(&|| self.used(), run)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
