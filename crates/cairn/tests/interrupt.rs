//! Ctrl-C, through the real binary: exit code 130, the best so far where there is one, and never half a file.
#![cfg(target_os = "linux")]

mod common;

use common::cairn;
use serde_json::Value;
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn start(args: &[&str], input: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(args).stdin(input);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Presses Ctrl-C once the program is ready for it.
fn interrupt(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let catches = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let caught = text
            .lines()
            .find_map(|l| l.strip_prefix("SigCgt:"))
            .unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> 1 & 1 == 1
    };
    let started = Instant::now();
    while !catches() {
        assert!(started.elapsed() < Duration::from_secs(30), "never ready");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Interrupts the command while it waits for its input, and then gives it: it is stopped before its first step.
fn interrupted(args: &[&str]) -> Output {
    let mut child = start(args, Stdio::piped());
    interrupt(&child);
    let made = cairn(&["gen", "layered", "10", "20", "3"]);
    let mut input = child.stdin.take().unwrap();
    input.write_all(made.stdout.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{args:?}: {output:?}");
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
fn plan_and_explain_give_the_best_so_far() {
    for args in [
        &["plan", "-", "--json"][..],
        &["plan", "-", "--json", "--policy", "auto"],
        &["explain", "-", "--json"],
    ] {
        let answer = json(&interrupted(args));
        assert_eq!(answer["interrupted"], true, "{answer}");
        assert_eq!(answer["tasks"], 200);
    }
    let order = interrupted(&["plan", "-", "--order"]);
    assert_eq!(order.stdout.iter().filter(|b| **b == b'\n').count(), 200);
    let chosen = json(&interrupted(&["batch", "-", "-r", "3", "--json"]));
    assert_eq!(chosen["chosen"].as_array().unwrap().len(), 3);
}

#[test]
fn nothing_is_written_by_halves() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let said = interrupted(&["prio", "-", "-o", &path("out.jsonl")]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("interrupted: nothing was written"));
    let said = json(&interrupted(&[
        "prio",
        "-",
        "-o",
        &path("out.jsonl"),
        "--json",
    ]));
    assert_eq!(said["interrupted"], true, "{said}");
    assert!(interrupted(&["prio", "-"]).stdout.is_empty());
    interrupted(&["show", "-", "-o", &path("out.svg")]);
    interrupted(&["simulate", "-", "-o", &path("out.json")]);
    // The plan is printed, the certificate is not there.
    let plan = json(&interrupted(&[
        "plan",
        "-",
        "--json",
        "--certificate",
        &path("proof.json"),
    ]));
    assert_eq!(plan["certificate"]["written"], false, "{plan}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "something was written: {left:?}");
}

#[test]
fn a_plan_under_way_stops_soon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.jsonl");
    let path = path.to_str().unwrap();
    assert_eq!(
        cairn(&["gen", "layered", "120", "120", "3", "-o", path]).code,
        0
    );
    let limit = [
        "plan",
        path,
        "--json",
        "--no-arrays",
        "--time-limit",
        "1000",
    ];
    let child = start(&limit, Stdio::null());
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let plan = json(&output);
    assert_eq!(
        (&plan["interrupted"], &plan["tasks"]),
        (&Value::Bool(true), &Value::from(14_400))
    );
}

#[test]
fn a_certificate_keeps_to_the_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (flow, proof) = (path("flow.jsonl"), path("proof.json"));
    assert_eq!(
        cairn(&["gen", "layered", "10", "20", "3", "-o", &flow]).code,
        0
    );
    std::fs::write(&proof, "an old one").unwrap();
    let run = cairn(&["plan", &flow, "--certificate", &proof, "--time-limit", "0"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("not proved the best"), "{run:?}");
    for word in ["no certificate: time ran out", "--time-limit"] {
        assert!(run.stderr.contains(word), "{run:?}");
    }
    assert_eq!(std::fs::read_to_string(&proof).unwrap(), "an old one");
    let run = cairn(&["plan", &flow, "--json", "--certificate", &proof]);
    let plan: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(plan["certificate"]["written"], true);
    // Whole: accepted. How much of it is proved is another question.
    let args = ["verify", &flow, &proof, "--allow-asserted"];
    assert_eq!(cairn(&args).code, 0);
}
