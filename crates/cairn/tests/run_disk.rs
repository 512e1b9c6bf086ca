//! `cairn run --disk` through the real binary: real files under a cap, watched from outside; killed runners; a disk that others fill;
//! what is refused before anything starts.
#![cfg(target_os = "linux")]

mod common;

use cairn_oracle::Random;
use common::Run;
use common::samples::{
    LARGE, SMALL, SmallDisk, assert_made, planned_peak, samples, there, watched, write,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
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

/// What the disk itself says, at every moment: a folder cannot be looked at in one moment, a disk of its own can.
#[test]
fn the_disk_never_has_more_than_the_cap_not_even_at_the_planned_peak() {
    const COUNT: usize = 40;
    let Some(disk) = SmallDisk::new(64 << 20, "the most that a disk has") else {
        return;
    };
    let state = folder();
    let folder = disk.path();
    write(folder, &samples(COUNT));
    let peak = planned_peak(folder);
    let before = disk.used();
    for (jobs, cap) in [
        ("-j1", peak),
        ("-j2", peak),
        ("-j4", peak),
        ("-j4", 3 * peak),
    ] {
        let place = state.path().join(format!("{jobs}-{cap}"));
        let bytes = format!("{cap}B");
        let args = ["run", "f.jsonl", jobs, "--disk", &bytes, "--safety", "1"];
        let args = [&args[..], &["--state", place.to_str().unwrap()]].concat();
        let (ran, most) = disk.watched(|| cairn(folder, &args));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(most > before + LARGE, "nothing was seen");
        assert!(most - before <= cap, "{jobs}: {} > {cap}", most - before);
        assert_made(folder, COUNT);
        (0..COUNT).for_each(|i| std::fs::remove_file(folder.join(format!("{i}.c"))).unwrap());
    }
}

/// Files are half as large again as declared: the order that was safe is so no more, and another one is found in time.
#[test]
fn files_larger_than_said_are_planned_for_anew() {
    const COUNT: usize = 3;
    let folder = folder();
    let mut tasks = samples(COUNT);
    for task in &mut tasks {
        if task["outputs"][0]["bytes"] == LARGE {
            task["outputs"][0]["bytes"] = (LARGE * 2 / 3).into();
        }
    }
    write(folder.path(), &tasks);
    // As declared all samples go side by side; as they are, one after the other does.
    let cap = 3 * LARGE + COUNT as u64 * SMALL;
    let disk = format!("{cap}B");
    let args = [
        "run", "f.jsonl", "-j1", "--disk", &disk, "--safety", "1", "--policy", "fifo",
    ];
    let (ran, most) = watched(folder.path(), || cairn(folder.path(), &args));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(most <= cap, "{most} > {cap}");
    assert_made(folder.path(), COUNT);
}

/// Files are so much larger than declared that no order is left: what fits goes on, then the run stops and names the bytes; with
/// more it goes on from there.
#[test]
fn a_run_that_does_not_fit_any_more_drains_and_names_the_missing_bytes() {
    let folder = folder();
    let mut tasks = samples(4);
    for task in &mut tasks {
        if task["outputs"][0]["bytes"] == LARGE {
            task["outputs"][0]["bytes"] = (LARGE / 4).into();
        }
    }
    write(folder.path(), &tasks);
    let cap = LARGE * 3 / 2;
    let run = |disk: u64| {
        let disk = format!("{disk}B");
        let args = [
            "run", "f.jsonl", "-j2", "--disk", &disk, "--safety", "1", "--json",
        ];
        cairn(folder.path(), &args)
    };
    let (ran, _) = watched(folder.path(), || run(cap));
    assert_eq!(ran.code, 1, "{ran:?}");
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let missing = last["missing_bytes"].as_u64().unwrap();
    let (used, peak) = (&last["storage"]["used"], &last["storage"]["peak"]);
    // The next task has its input there and needs as much again.
    assert!(
        missing > 0 && missing <= used.as_u64().unwrap() + LARGE - cap + SMALL,
        "{last}"
    );
    assert!(peak.as_u64() >= used.as_u64(), "{last}");
    assert!(last["executed"].as_u64().unwrap() >= 2, "{last}");
    let ran = run(10 * LARGE);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_made(folder.path(), 4);
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

/// Readers that are no children, that name the file otherwise or only its folder, or that nobody names: all find it.
#[test]
fn a_temporary_file_stays_for_all_who_read_it_and_comes_back_for_them() {
    let folder = folder();
    let flow = |far: &str| {
        let tasks = [
            json!({ "name": "a", "run": "mkdir -p work; echo 1 > work/x", "outputs": [{ "path": "work/x", "temp": true }] }),
            json!({ "name": "b", "run": "cat work/x > b", "inputs": ["./work/x"], "outputs": ["b"], "after": ["a"] }),
            json!({ "name": "c", "run": far, "inputs": ["work", "b"], "outputs": ["c"], "after": ["b"] }),
        ];
        write(folder.path(), &tasks);
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    flow("cat work/x b > c");
    for args in [
        &["run", "f.jsonl"][..],
        &["run", "f.jsonl", "--disk", "1MB"],
    ] {
        let ran = cairn(folder.path(), args);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(read("c"), "1\n1\n");
        assert!(!folder.path().join("work/x").exists());
    }
    // Only c changed, and b needs not run again: but what c reads must.
    flow("cat work/x work/x > c");
    let ran = cairn(folder.path(), &["run", "f.jsonl", "--disk", "1MB"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(read("c"), "1\n1\n");
    assert!(!folder.path().join("work/x").exists());
    // A file that nobody is said to read is there for the children of its writer.
    let tasks = [
        json!({ "name": "a", "run": "echo 1 > y", "outputs": [{ "path": "y", "temp": true }] }),
        json!({ "name": "b", "run": "cat y > z", "inputs": ["work"], "outputs": ["z"], "after": ["a"] }),
    ];
    write(folder.path(), &tasks);
    let ran = cairn(folder.path(), &["run", "f.jsonl", "--state", "other"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(read("z"), "1\n");
    assert!(!folder.path().join("y").exists());
}

/// A part that fits is executed, though the whole does not; and nobody is told of missing bytes.
#[test]
fn a_part_needs_room_for_itself_alone() {
    let folder = folder();
    let make = |name: &str, bytes: &str| {
        json!({ "name": name, "run": format!("head -c {bytes} /dev/zero > {name}.out"),
            "outputs": [{ "path": format!("{name}.out"), "bytes": bytes.parse::<u64>().unwrap() }] })
    };
    let mut after = make("after", "1000");
    after["after"] = json!(["small"]);
    write(
        folder.path(),
        &[make("large", "900000"), make("small", "1000"), after],
    );
    let args = [
        "run", "f.jsonl", "--disk", "10kB", "--safety", "1", "--json",
    ];
    let whole = cairn(folder.path(), &args);
    assert_eq!(whole.code, 2, "{whole:?}");
    for (until, files) in [("small", 1), ("after", 2)] {
        let ran = cairn(folder.path(), &[&args[..], &["--until", until]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["storage"]["used"], 1000 * files, "{last}");
        assert!(last["missing_bytes"].is_null(), "{last}");
        assert!(!ran.stderr.contains("missing"), "{ran:?}");
    }
    assert!(!folder.path().join("large.out").exists());
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

/// What was measured is known in the next run: a cap that cannot be kept is refused then, before anything starts.
#[test]
fn what_was_learnt_of_sizes_is_known_the_next_time() {
    let folder = folder();
    let mut tasks = samples(6);
    for task in &mut tasks {
        task["outputs"][0].as_object_mut().unwrap().remove("bytes");
    }
    write(folder.path(), &tasks);
    let run = |cap: u64| {
        let disk = format!("{cap}B");
        cairn(
            folder.path(),
            &["run", "f.jsonl", "-j2", "--disk", &disk, "--safety", "1"],
        )
    };
    // Nothing is known yet: room for all of them.
    let ran = run(20 * LARGE);
    assert_eq!(ran.code, 0, "{ran:?}");
    let state = folder.path().join(".cairn/f.jsonl");
    let store = cairn_serve::store::Store::create_or_open(&state, cairn_serve::store::Sync::Full);
    let known = store.unwrap().meta("sizes").unwrap().unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    let largest = known
        .as_array()
        .unwrap()
        .iter()
        .map(|k| k["most"].as_f64().unwrap());
    assert_eq!(largest.fold(0.0, f64::max), LARGE as f64, "{known}");
    for i in 0..6 {
        std::fs::remove_file(folder.path().join(format!("{i}.c"))).unwrap();
    }
    let ran = run(LARGE);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("no order stays within"), "{ran:?}");
    assert_eq!(there(folder.path()), 0);
    let ran = run(3 * LARGE);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_made(folder.path(), 6);
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
        assert!(!folder.path().join(".cairn").exists(), "{words}");
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

#[test]
fn a_disk_that_others_fill_holds_the_run_back_until_there_is_room() {
    let Some(disk) = SmallDisk::new(32 << 20, "a disk that others fill") else {
        return;
    };
    let folder = disk.path();
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
    let mut tells = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("others fill the disk") {
        assert!(tells.read_line(&mut said).unwrap() > 0, "{said}");
    }
    std::thread::sleep(Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    assert_eq!(there(folder), 0);
    std::fs::remove_file(&state).unwrap();
    let status = child.wait().unwrap();
    said += &std::io::read_to_string(tells).unwrap();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("there is room again"), "{said}");
    assert_made(folder, 6);
}

/// What is refused before a state is begun is what the run itself would refuse, and no more.
#[test]
fn a_cap_is_not_in_the_way_of_those_who_write_nothing() {
    let kept = |name: &str, done: bool| json!({ "name": name, "run": format!("echo > {name}.o"), "done": done, "outputs": [{ "path": format!("{name}.o"), "bytes": 1000 }] });
    let ran = |tasks: &[Value], files: &[(&str, usize)], args: &[&str]| {
        let folder = folder();
        write(folder.path(), tasks);
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), vec![b'x'; *bytes]).unwrap();
        }
        let ran = cairn(folder.path(), &[&["run", "f.jsonl"], args].concat());
        (folder, ran)
    };
    let there = [("a.o", 1000), ("b.o", 1000)];
    let both = |done| [kept("a", done), kept("b", done)];
    let (_folder, refused) = ran(&both(false), &[], &["--disk", "1kB"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let (_folder, touched) = ran(&both(false), &there, &["--disk", "1kB", "--touch"]);
    assert_eq!(touched.code, 0, "{touched:?}");
    let (_folder, nothing) = ran(&both(true), &there, &["--disk", "1kB"]);
    assert_eq!(nothing.code, 0, "{nothing:?}");
    let (_folder, none) = ran(&both(false), &[], &["--disk", "1kB", "--rerun-failed"]);
    assert_eq!(none.code, 0, "{none:?}");
    // A temporary file that nobody wants any more says nothing of its kind: it goes.
    let of = |name: &str, done: bool, outputs: Value| json!({ "name": name, "kind": "k", "run": "echo > c.o", "done": done, "outputs": outputs });
    let mut reads = of("b", true, json!([]));
    (reads["inputs"], reads["after"]) = (json!(["a.t"]), json!(["a"]));
    let stale = [
        of("a", true, json!([{ "path": "a.t", "temp": true }])),
        reads,
        of("c", false, json!([{ "path": "c.o" }])),
    ];
    let (folder, made) = ran(&stale, &[("a.t", 100_000)], &["--disk", "5kB"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(folder.path().join("c.o").exists() && !folder.path().join("a.t").exists());
}
