//! `cairn run` beside ninja, make and HyperQueue: the same dag, the same commands, the same slots, interleaved. Needs the release
//! binary of `cairn` beside this one, ninja and make; for HyperQueue a Python that has it, in `CAIRN_BENCH_PYTHON`. Knows nothing of
//! how any of them works.

use crate::measure::timed;
use cairn_sim::median;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of each measurement: in each every tool runs once, one after the other.
// Odd, so that the median is one that was measured; few, as a round takes as long as all tools together.
const ROUNDS: usize = 7;

/// A dag as layers of so many tasks; each has one parent in the layer before.
#[derive(Clone, Copy)]
struct Shape {
    tasks: usize,
    width: usize,
    slots: usize,
}

/// What every task runs: its name for people, for `cairn`, and for ninja and make.
struct Job {
    name: &'static str,
    ours: fn(usize) -> String,
    theirs: fn(usize) -> String,
}

const SHELL: Job = Job {
    name: "sh -c true",
    // The semicolon asks for a shell.
    ours: |_| "true;".to_owned(),
    theirs: |_| "true;".to_owned(),
};

const ECHO: Job = Job {
    name: "echo x > file",
    ours: |i| format!("echo x > out/{i}"),
    theirs: |i| format!("echo x > out/{i}"),
};

const PLAIN: Job = Job {
    name: "/bin/true",
    ours: |_| "/bin/true".to_owned(),
    theirs: |_| "/bin/true".to_owned(),
};

pub fn run() {
    let Some(cairn) = beside("cairn") else {
        println!("SKIPPED: build the binary first: cargo build --release -p cairn");
        return;
    };
    let sizes = std::env::var("CAIRN_BENCH_TASKS").unwrap_or_else(|_| "2000,20000".to_owned());
    println!(
        "{ROUNDS} interleaved rounds, output captured, store with full sync; ratios to ninja in the same round: median [least–most]"
    );
    for tasks in sizes.split(',').filter_map(|n| n.trim().parse().ok()) {
        let wide = Shape {
            tasks,
            width: 50,
            slots: 2,
        };
        for job in [SHELL, ECHO, PLAIN] {
            compare(&cairn, wide, &job);
        }
        let chain = Shape {
            width: 1,
            slots: 1,
            ..wide
        };
        compare(&cairn, chain, &SHELL);
    }
    loaded(&cairn);
    first_task(&cairn);
    match std::env::var("CAIRN_BENCH_PYTHON") {
        Ok(python) => {
            hyperqueue(&cairn, &python, "equal");
            hyperqueue(&cairn, &python, "distinct");
        }
        Err(_) => println!("SKIPPED: HyperQueue: no CAIRN_BENCH_PYTHON"),
    }
    resume(&cairn);
}

/// The same tasks alone, and as the beginning of a workflow of a million: tasks a second from the first start to the last end.
fn loaded(cairn: &Path) {
    let shape = Shape {
        tasks: 2000,
        width: 50,
        slots: 2,
    };
    let (Ok(small), Ok(large)) = (tempfile::tempdir(), tempfile::tempdir()) else {
        return;
    };
    let made = write_files(small.path(), shape, &SHELL)
        .and_then(|()| write_files(large.path(), shape, &SHELL))
        .and_then(|()| add_gate(small.path(), shape, 0))
        .and_then(|()| add_gate(large.path(), shape, 1_000_000 - shape.tasks));
    if made.is_err() {
        println!("SKIPPED: cannot write a workflow of a million");
        return;
    }
    let mut rates: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (i, at) in [small.path(), large.path()].into_iter().enumerate() {
            let _ = std::fs::remove_dir_all(at.join("state"));
            let mut command = Command::new(cairn);
            command.args(["run", "f.jsonl", "-q", "-j2", "--state", "state"]);
            let ran = command.args(["--until", "gate"]).current_dir(at).status();
            let Some(rate) = ran.ok().and_then(|_| rate(&at.join("state"))) else {
                println!("SKIPPED: a workflow of a million did not run");
                return;
            };
            rates[i].push(rate);
        }
    }
    let [alone, among] = &rates;
    println!(
        "{} of 1,000,000 tasks, -j2, {}: {} × the same tasks alone (tasks/s: {:.0}, alone {:.0})",
        shape.tasks,
        SHELL.name,
        ratios(among, alone),
        median(among.to_vec()),
        median(alone.to_vec())
    );
}

/// A task behind all, and more that nobody wants behind that.
fn add_gate(at: &Path, shape: Shape, more: usize) -> std::io::Result<()> {
    let path = at.join("f.jsonl");
    let mut flow = std::fs::read_to_string(&path)?;
    let last = (shape.tasks - shape.width..shape.tasks).map(|i| format!("\"t{i}\""));
    let last = last.collect::<Vec<_>>().join(",");
    flow += &format!("{{\"name\":\"gate\",\"run\":\"/bin/true\",\"after\":[{last}]}}\n");
    for i in 0..more {
        flow += &format!("{{\"name\":\"m{i}\",\"run\":\"true;\",\"after\":[\"gate\"]}}\n");
    }
    std::fs::write(path, flow)
}

/// Tasks a second of a run, by what its store says.
fn rate(state: &Path) -> Option<f64> {
    let reader = cairn_serve::store::Reader::open(state).ok()?;
    let entries = reader.entries(0, usize::MAX).ok()?;
    let (mut first, mut last, mut tasks) = (None, None, 0);
    for (_, entry) in entries {
        match entry.event {
            cairn_engine::Event::Leased { .. } => drop(first.get_or_insert(entry.at)),
            cairn_engine::Event::Executed { .. } => {
                last = Some(entry.at);
                tasks += 1;
            }
            _ => (),
        }
    }
    let micros = last?.since(first?).0;
    Some(f64::from(tasks) * 1e6 / micros as f64)
}

/// How long after the command the first task starts, where the plan takes longer than it may.
fn first_task(cairn: &Path) {
    for layers in [20, 200, 1000] {
        let Ok(folder) = tempfile::tempdir() else {
            return;
        };
        let (layers_word, file) = (layers.to_string(), folder.path().join("f.dag"));
        let made = Command::new(cairn)
            .args(["gen", "layered", &layers_word, "50", "3", "-o"])
            .arg(&file)
            .stdout(Stdio::null())
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("SKIPPED: cairn gen layered");
            return;
        }
        let mut seconds = Vec::new();
        for _ in 0..ROUNDS {
            let _ = std::fs::remove_dir_all(folder.path().join("state"));
            let since_1970 = || {
                let since = std::time::UNIX_EPOCH.elapsed();
                since.map_or(0.0, |since| since.as_secs_f64())
            };
            let begin = since_1970();
            let mut command = Command::new(cairn);
            command.args(["run", "f.dag", "-q", "-j1", "--state", "state", "-k", "1"]);
            command
                .args(["--run", "exit 1;"])
                .current_dir(folder.path());
            let _ = command.stderr(Stdio::null()).stdout(Stdio::null()).status();
            let reader = cairn_serve::store::Reader::open(&folder.path().join("state")).ok();
            let entries = reader.and_then(|r| r.entries(0, usize::MAX).ok());
            let leased = entries
                .into_iter()
                .flatten()
                .find_map(|(_, e)| match e.event {
                    cairn_engine::Event::Leased { .. } => Some(e.at.0 as f64 / 1e6),
                    _ => None,
                });
            seconds.extend(leased.map(|at| at - begin));
        }
        if seconds.is_empty() {
            println!("SKIPPED: no first task");
            return;
        }
        let tasks = 50 * layers;
        println!(
            "{tasks} tasks of a dag that takes long to plan: the first starts after {:.0} ms (promised: {:.0})",
            1e3 * median(seconds.clone()),
            50.0 + 0.05 * f64::from(tasks)
        );
    }
}

/// What HyperQueue is told, and how long it takes from then to the end.
const HYPERQUEUE: &str = r#"
import os, sys, time, tempfile
from hyperqueue import LocalCluster, Job
from hyperqueue.cluster import WorkerConfig
tasks, width, slots, kind = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with tempfile.TemporaryDirectory() as folder, LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=slots))
    job, made = Job(folder, max_fails=1), []
    for i in range(tasks):
        made.append(job.program(["/bin/sh", "-c", "true;"], deps=made[i - width:i - width + 1] if i >= width else [],
            stdout=None, stderr=None, priority=tasks - i if kind == "distinct" else 0))
    client = cluster.client()
    begin = time.time()
    client.wait_for_jobs([client.submit(job)])
    print("seconds", time.time() - begin, flush=True)
    os._exit(0)
"#;

/// Beside HyperQueue, with one priority for all tasks or one for each. Its server and worker are there before it begins.
fn hyperqueue(cairn: &Path, python: &str, kind: &str) {
    let shape = Shape {
        tasks: 2000,
        width: 50,
        slots: 2,
    };
    // Its rounds take a minute with distinct priorities.
    let rounds = if kind == "equal" { ROUNDS } else { 3 };
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    if write_files(folder.path(), shape, &SHELL).is_err() {
        return;
    }
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut command = Command::new(python);
        let numbers = [shape.tasks, shape.width, shape.slots].map(|n| n.to_string());
        command.args(["-c", HYPERQUEUE]).args(numbers).arg(kind);
        let ran = command.stderr(Stdio::null()).output();
        let text = ran.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let text = text.unwrap_or_default();
        let found = text.lines().find_map(|l| l.strip_prefix("seconds "));
        let Some(seconds) = found.and_then(|s| s.trim().parse().ok()) else {
            println!("SKIPPED: HyperQueue did not run");
            return;
        };
        theirs.push(seconds);
        let _ = std::fs::remove_dir_all(folder.path().join("state"));
        let mut command = Command::new(cairn);
        command.args(["run", "f.jsonl", "-q", "-j2", "--state", "state"]);
        let (_, wall) = timed(|| command.current_dir(folder.path()).status());
        ours.push(wall);
    }
    println!(
        "{} tasks, -j2, {}, {kind} priorities, {rounds} rounds: cairn {} × HyperQueue (tasks/s: {:.0}, HyperQueue {:.0})",
        shape.tasks,
        SHELL.name,
        ratios(&theirs, &ours),
        shape.tasks as f64 / median(ours.clone()),
        shape.tasks as f64 / median(theirs.clone())
    );
}

/// The program of that name in the folder of this one.
fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

fn compare(cairn: &Path, shape: Shape, job: &Job) {
    let Ok(folder) = tempfile::tempdir() else {
        println!("SKIPPED: no temporary folder");
        return;
    };
    let at = folder.path();
    if write_files(at, shape, job).is_err() {
        println!("SKIPPED: cannot write {}", at.display());
        return;
    }
    let slots = format!("-j{}", shape.slots);
    let tools: [(&str, PathBuf, Vec<&str>); 3] = [
        ("ninja", "ninja".into(), vec!["--quiet", &slots]),
        ("make", "make".into(), vec!["-s", &slots, "all"]),
        (
            "cairn",
            cairn.to_owned(),
            vec!["run", "f.jsonl", "-q", &slots, "--state", "state"],
        ),
    ];
    let mut seconds: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (i, (name, program, arguments)) in tools.iter().enumerate() {
            for left in ["state", ".ninja_log", ".ninja_deps"] {
                let _ = std::fs::remove_dir_all(at.join(left));
                let _ = std::fs::remove_file(at.join(left));
            }
            let mut command = Command::new(program);
            command.args(arguments).current_dir(at).stdin(Stdio::null());
            command.stdout(Stdio::null());
            let (ended, wall) = timed(|| command.status());
            if !ended.is_ok_and(|status| status.success()) {
                println!("SKIPPED: {name} did not run");
                return;
            }
            seconds[i].push(wall);
        }
    }
    let [ninja, make, ours] = &seconds;
    let rate = |seconds: &[f64]| shape.tasks as f64 / median(seconds.to_vec());
    println!(
        "{:6} tasks, width {:2}, -j{}, {:14} cairn {} × ninja, make {} × ninja  (tasks/s: cairn {:.0}, ninja {:.0}, make {:.0})",
        shape.tasks,
        shape.width,
        shape.slots,
        job.name,
        ratios(ninja, ours),
        ratios(ninja, make),
        rate(ours),
        rate(ninja),
        rate(make)
    );
}

/// How fast `tool` is beside `base`, round by round.
fn ratios(base: &[f64], tool: &[f64]) -> String {
    let mut all: Vec<f64> = base.iter().zip(tool).map(|(b, t)| b / t).collect();
    all.sort_by(f64::total_cmp);
    format!(
        "{:.2} [{:.2}–{:.2}]",
        median(all.clone()),
        all[0],
        all[all.len() - 1]
    )
}

fn write_files(at: &Path, shape: Shape, job: &Job) -> std::io::Result<()> {
    let (mut flow, mut ninja, mut make) = (String::new(), String::new(), String::new());
    ninja += "rule r\n  command = $c\n";
    make += ".PHONY: all";
    (0..shape.tasks).for_each(|i| write!(make, " t{i}").expect("text"));
    make += "\nall:";
    (0..shape.tasks).for_each(|i| write!(make, " t{i}").expect("text"));
    make.push('\n');
    for i in 0..shape.tasks {
        let parent = i.checked_sub(shape.width).map(|p| format!("t{p}"));
        let after = parent
            .as_ref()
            .map_or(String::new(), |p| format!("\"{p}\""));
        let waits = parent.map_or(String::new(), |p| format!(" {p}"));
        let (ours, theirs) = ((job.ours)(i), (job.theirs)(i));
        let line = format!("{{\"name\":\"t{i}\",\"run\":\"{ours}\",\"after\":[{after}]}}\n");
        flow += &line;
        ninja += &format!("build t{i}: r{waits}\n  c = {theirs}\n");
        make += &format!("t{i}:{waits}\n\t{theirs}\n");
    }
    std::fs::create_dir(at.join("out"))?;
    std::fs::write(at.join("f.jsonl"), flow)?;
    std::fs::write(at.join("build.ninja"), ninja)?;
    std::fs::write(at.join("Makefile"), make)
}

/// How long a resume takes that has nothing to do.
fn resume(cairn: &Path) {
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let shape = Shape {
        tasks: 20_000,
        width: 50,
        slots: 2,
    };
    if write_files(folder.path(), shape, &SHELL).is_err() {
        return;
    }
    let go = |more: &[&str]| {
        let mut command = Command::new(cairn);
        command.args(["run", "f.jsonl", "-q", "--state", "state"]);
        command.args(more).current_dir(folder.path());
        timed(|| command.status()).1
    };
    go(&["--touch"]);
    let mut seconds: Vec<f64> = (0..ROUNDS).map(|_| go(&[])).collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "{} tasks, nothing to do: {:.0} ms",
        shape.tasks,
        1e3 * median(seconds.clone())
    );
}
