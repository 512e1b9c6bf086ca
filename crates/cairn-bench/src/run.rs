//! `cairn run` beside ninja and make: the same dag, the same commands, the same slots, interleaved. Needs the release binary of
//! `cairn` beside this one, ninja and make. Knows nothing of how any of them works.

use crate::measure::timed;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of each measurement: in each every tool runs once, one after the other.
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
    resume(&cairn);
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
    let rate = |seconds: &[f64]| shape.tasks as f64 / median(seconds);
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
        median(&all),
        all[0],
        all[all.len() - 1]
    )
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
        1e3 * median(&seconds)
    );
}
