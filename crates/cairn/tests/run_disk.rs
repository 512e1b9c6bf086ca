//! `cairn run --disk` through the real binary: real files under a cap, watched from outside; killed runners; a disk that others fill;
//! what is refused before anything starts.
#![cfg(target_os = "linux")]

mod common;

use cairn_oracle::Random;
use common::Run;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(args).current_dir(folder);
    command.env("NO_COLOR", "1").env_remove("COLUMNS");
    command.stdin(Stdio::null());
    command
}

fn cairn(folder: &Path, args: &[&str]) -> Run {
    command(folder, args).output().unwrap().into()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write(folder: &Path, tasks: &[Value]) {
    let mut text = String::new();
    for task in tasks {
        writeln!(text, "{task}").unwrap();
    }
    std::fs::write(folder.join("f.jsonl"), text).unwrap();
}

const LARGE: u64 = 100_000;
const SMALL: u64 = 1_000;

/// Samples of three steps: two large temporary files, then a small one that is kept.
fn samples(count: usize) -> Vec<Value> {
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

/// Bytes of the samples' files that are there at one moment, or a few less: what was seen both before and after it.
fn there(folder: &Path) -> u64 {
    let (before, after) = (seen(folder), seen(folder));
    let both = before
        .iter()
        .filter_map(|(name, a)| Some(a.min(after.get(name)?)));
    both.sum()
}

/// Runs something, and says the most bytes that were seen meanwhile.
fn watched<T>(folder: &Path, run: impl FnOnce() -> T) -> (T, u64) {
    let (most, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(there(folder), Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let ran = run();
        is_over.store(true, Ordering::Relaxed);
        (ran, most.load(Ordering::Relaxed))
    })
}

fn assert_made(folder: &Path, count: usize) {
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
fn planned_peak(folder: &Path) -> u64 {
    let plan = cairn(
        folder,
        &["plan", "f.jsonl", "--disk", "1TB", "--json", "--no-arrays"],
    );
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    plan["storage"]["peak"].as_u64().unwrap()
}

#[test]
fn samples_stay_under_the_cap_and_come_out_right() {
    const COUNT: usize = 60;
    let free = folder();
    write(free.path(), &samples(COUNT));
    let (ran, most) = watched(free.path(), || {
        cairn(free.path(), &["run", "f.jsonl", "-j2"])
    });
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(most > 0);
    assert_made(free.path(), COUNT);

    let folder = folder();
    write(folder.path(), &samples(COUNT));
    let peak = planned_peak(folder.path());
    for cap in [3 * peak, peak] {
        let _ = std::fs::remove_dir_all(folder.path().join(".cairn"));
        let disk = format!("{cap}B");
        let args = [
            "run", "f.jsonl", "-j2", "--disk", &disk, "--safety", "1", "--json",
        ];
        let (ran, most) = watched(folder.path(), || cairn(folder.path(), &args));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(most <= cap, "{most} > {cap}");
        assert!(most >= LARGE, "nothing was seen");
        assert_made(folder.path(), COUNT);
        let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["storage"]["cap"], cap);
        assert_eq!(last["storage"]["used"], COUNT as u64 * SMALL);
        assert_eq!(last["storage"]["reserved"], 0);
        // What was deleted is not missed.
        let again = cairn(folder.path(), &args);
        assert!(again.stdout.contains("\"attempts\":0"), "{again:?}");
        for i in 0..COUNT {
            std::fs::remove_file(folder.path().join(format!("{i}.c"))).unwrap();
        }
    }
    // Whoever starts whatever fits is stuck at such a cap.
    let disk = format!("{}B", peak + LARGE);
    let args = [
        "simulate",
        "f.jsonl",
        "--disk",
        &disk,
        "--world",
        "pool",
        "--workers",
        "4",
    ];
    let args = [&args[..], &["--policies", "fifo", "--runs", "8", "--json"]].concat();
    let simulated = cairn(folder.path(), &args);
    assert_eq!(simulated.code, 0, "{simulated:?}");
    let value: Value = serde_json::from_str(&simulated.stdout).unwrap();
    assert_eq!(value["storage"]["fits_now"]["fifo"]["stuck"], 8, "{value}");
}

#[test]
fn a_killed_runner_never_goes_over_the_cap_and_the_run_ends_right() {
    const COUNT: usize = 20;
    let kills: usize = std::env::var("CAIRN_KILLS").map_or(8, |k| k.parse().unwrap());
    let mut random = Random::new(14);
    let mut killed = 0;
    while killed < kills {
        let folder = folder();
        write(folder.path(), &samples(COUNT));
        let cap = planned_peak(folder.path()) + LARGE * random.below(3) as u64;
        let disk = format!("{cap}B");
        let args = ["run", "f.jsonl", "-j3", "--disk", &disk, "--safety", "1"];
        let ((), most) = watched(folder.path(), || {
            loop {
                let mut child = command(folder.path(), &args)
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                let until = Instant::now() + Duration::from_millis(20 + random.below(400) as u64);
                let ended = loop {
                    match child.try_wait().unwrap() {
                        Some(status) => break Some(status),
                        None if Instant::now() >= until && killed < kills => break None,
                        None => std::thread::sleep(Duration::from_millis(2)),
                    }
                };
                match ended {
                    Some(status) => {
                        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
                        assert_eq!(status.code(), Some(0), "{said}");
                        break;
                    }
                    None => {
                        child.kill().unwrap();
                        child.wait().unwrap();
                        killed += 1;
                    }
                }
            }
        });
        assert!(most <= cap, "{most} > {cap}");
        assert_made(folder.path(), COUNT);
    }
}

#[test]
fn temporary_files_go_and_come_back_with_those_who_need_them() {
    let folder = folder();
    let flow = |command: &str| {
        write(
            folder.path(),
            &[
                json!({ "name": "a", "run": "echo 1 > mid", "outputs": [{ "path": "mid", "temp": true }] }),
                json!({ "name": "b", "run": command, "inputs": ["mid"], "outputs": ["out"], "after": ["a"] }),
                json!({ "name": "c", "run": "echo 2 > side", "outputs": ["side"], "after": ["a"] }),
            ],
        );
    };
    let is_there = |name: &str| folder.path().join(name).exists();
    // c names no inputs: it is taken to read what a writes.
    flow("cat mid > out");
    for args in [
        &["run", "f.jsonl"][..],
        &["run", "f.jsonl", "--disk", "1MB"],
    ] {
        let ran = cairn(folder.path(), args);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!is_there("mid") && is_there("out") && is_there("side"));
    }
    flow("cat mid mid > out");
    let ran = cairn(
        folder.path(),
        &["run", "f.jsonl", "--disk", "1MB", "--json"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("\"deleted\":\"mid\""), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out")).unwrap(),
        "1\n1\n"
    );
    assert!(!is_there("mid"));
    // A task that fails keeps what it reads, for the next try.
    flow("cat mid > out; false");
    let ran = cairn(folder.path(), &["run", "f.jsonl", "-k"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(is_there("mid"));
    // By a pattern; what is not named stays.
    let ran = cairn(
        folder.path(),
        &["run", "f.jsonl", "--disk", "1MB", "--temp", "si*", "-k"],
    );
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(is_there("mid") && !is_there("side"));
}

#[test]
fn unknown_sizes_are_learnt_slowly() {
    let folder = folder();
    let mut tasks = samples(12);
    for task in &mut tasks {
        task["outputs"][0].as_object_mut().unwrap().remove("bytes");
    }
    write(folder.path(), &tasks);
    // What one sample takes, and what is kept; twice, since nothing is known before the first.
    let cap = 6 * LARGE;
    let disk = format!("{cap}B");
    let args = ["run", "f.jsonl", "-j4", "--disk", &disk];
    let (ran, most) = watched(folder.path(), || cairn(folder.path(), &args));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("not known"), "{ran:?}");
    assert!(most <= cap, "{most} > {cap}");
    assert_made(folder.path(), 12);
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_starts() {
    let folder = folder();
    let refused = |tasks: &[Value], args: &[&str], words: &str| {
        write(folder.path(), tasks);
        let ran = cairn(folder.path(), &[&["run", "f.jsonl"], args].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        assert_eq!(there(folder.path()), 0, "{words}");
    };
    let three = samples(3);
    refused(&three, &["--disk", "150kB"], "no order stays within");
    refused(&three, &["--disk", "150kB"], "0.a");
    refused(&three, &["--disk", "210kB"], "--safety");
    refused(&three, &["--disk", "1MB", "--safety", "0.5"], "--safety");
    refused(&three, &["--disk", "1MB", "--safety", "nan"], "--safety");
    refused(&three, &["--disk=-5GB"], "is no size");
    refused(
        &three,
        &["--disk", "1MB", "--ignore-files"],
        "--ignore-files",
    );
    refused(&three, &["--temp", "*"], "--disk");
    let huge =
        json!({ "name": "a", "run": "true", "outputs": [{ "path": "0.a", "bytes": 1u64 << 60 }] });
    refused(&[huge], &["--disk", "1MB"], "2^60");
    let near = json!({ "name": "a", "run": "true", "outputs": [{ "path": "0.a", "bytes": (1u64 << 60) - 9 }] });
    refused(&[near], &["--disk", "1MB"], "2^60");
    let less = json!({ "name": "a", "run": "true", "outputs": [{ "path": "0.a", "bytes": -1 }] });
    refused(&[less], &["--disk", "1MB"], "bytes");
    let both =
        ["a", "b"].map(|name| json!({ "name": name, "run": "echo > 0.a", "outputs": ["0.a"] }));
    refused(&both, &["--disk", "1MB"], "two tasks write");
    std::fs::write(folder.path().join("given"), "1").unwrap();
    let reads =
        json!({ "name": "a", "run": "cat given > 0.a", "inputs": ["given"], "outputs": ["0.a"] });
    refused(
        &[reads],
        &["--disk", "1MB", "--temp", "given"],
        "input of the whole flow",
    );
    assert!(folder.path().join("given").exists());
}

/// A small disk of its own, or nothing where that may not be.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Option<SmallDisk> {
        let folder = folder();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", size, "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|s| s.success())
            .then(|| SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_others_fill_holds_the_run_back_until_there_is_room() {
    let Some(disk) = SmallDisk::new("size=32m") else {
        let why = b"SKIPPED: a disk that others fill: no right to mount a small one
";
        let _ = std::io::stderr().write_all(why);
        return;
    };
    let folder = disk.0.path();
    let mut tasks = samples(6);
    for task in &mut tasks {
        let run = task["run"]
            .as_str()
            .unwrap()
            .replace("head", "sleep 0.1; head");
        task["run"] = run.into();
    }
    write(folder, &tasks);
    // Others leave just less than what is to stay free.
    let state = folder.join("other");
    std::fs::write(&state, vec![1; 25 << 20]).unwrap();
    let mut child = command(folder, &["run", "f.jsonl", "-j2", "--disk", "700kB"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    assert_eq!(there(folder), 0);
    std::fs::remove_file(&state).unwrap();
    let status = child.wait().unwrap();
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("others fill the disk"), "{said}");
    assert!(said.contains("there is room again"), "{said}");
    assert_made(folder, 6);
}
