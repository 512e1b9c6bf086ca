//! `cairn run --family` through the real binary: families that are never written down.
#![cfg(target_os = "linux")]

mod common;

use cairn_theory::families::{EvolvingMesh, Family, Fft, ReductionTree};
use common::{Run, cairn_at};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn run(folder: &Path, args: &[&str]) -> Run {
    cairn_at(folder, 100, &[&["run"], args].concat(), b"")
}

/// On one slot tasks begin in the family's own IC-optimal order.
#[test]
fn tasks_begin_in_the_order_of_the_family() {
    fn check(name: &str, family: &impl Family) {
        let folder = tempfile::tempdir().unwrap();
        let args = ["--family", name, "--run", "true", "-j1", "--json"];
        let ran = run(folder.path(), &args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let leased = (ran.stdout.lines())
            .filter(|line| line.contains("\"leased\""))
            .map(|line| {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                value["task"].as_str().unwrap().to_owned()
            });
        let order =
            (family.order()).map(|task| format!("{}-{}", family.level(task), family.index(task)));
        assert_eq!(leased.collect::<Vec<_>>(), order.collect::<Vec<_>>());
    }
    check("mesh:5", &EvolvingMesh::with_levels(5).unwrap());
    check("tree:2:3", &ReductionTree::new(3, 2).unwrap());
    check("fft:2", &Fft::new(2).unwrap());
}

/// A task that fails stops the run, and the same command goes on where it stopped.
#[test]
fn a_family_goes_on_after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "--family",
        "mesh",
        "--until-level",
        "6",
        "-j2",
        "--run",
        "if [ {level} = 3 ] && [ ! -e mended ]; then exit 3; fi; echo {level} {index} >> done",
    ];
    let first = run(folder.path(), &args);
    assert_eq!(first.code, 1, "{}", first.stderr);
    assert!(
        first.stderr.contains("failed: exit code 3"),
        "{}",
        first.stderr
    );
    assert!(
        first.stdout.contains("the same command goes on"),
        "{}",
        first.stdout
    );
    std::fs::write(folder.path().join("mended"), "").unwrap();
    let second = run(folder.path(), &args);
    assert_eq!(second.code, 0, "{}{}", second.stdout, second.stderr);
    let done = std::fs::read_to_string(folder.path().join("done")).unwrap();
    let mut lines: Vec<&str> = done.lines().collect();
    assert_eq!(lines.len(), 21, "every task once");
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 21);
}

/// Killed again and again, the run ends; what ran again was in flight or within one commit window, and nothing ran before
/// its parents.
#[test]
fn a_family_survives_kills_of_the_runner() {
    let folder = tempfile::tempdir().unwrap();
    let levels = 24;
    let kills = 6;
    let args = [
        "run",
        "--family",
        "mesh:24",
        "-j2",
        "-q",
        "--run",
        "echo {level} {index} >> done",
    ];
    for kill in 0..=kills {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(args)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        if kill < kills {
            std::thread::sleep(Duration::from_millis(60 + 20 * kill));
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            assert!(child.wait().unwrap().success());
        }
    }
    let done = std::fs::read_to_string(folder.path().join("done")).unwrap();
    let mesh = EvolvingMesh::with_levels(levels).unwrap();
    let mut times = HashMap::new();
    for line in done.lines() {
        let (level, index) = line.split_once(' ').unwrap();
        let (level, index): (u64, u64) = (level.parse().unwrap(), index.parse().unwrap());
        let task = level * (level + 1) / 2 + index;
        for parent in mesh.parents(task) {
            assert!(times.contains_key(&parent), "{line} before its parents");
        }
        *times.entry(task).or_insert(0) += 1;
    }
    assert_eq!(times.len() as u64, mesh.task_count().unwrap());
    let again = times.values().filter(|&&n| n > 1).count();
    assert!(again < times.len() / 2, "{again} tasks ran again");
}

/// The mesh without end goes on from where it stopped when more of it is wanted; less is nothing to do.
#[test]
fn more_levels_of_the_mesh_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let until = |levels: &str| {
        let line = "echo {level} {index} >> done";
        let args = ["--family", "mesh", "--until-level", levels, "-j2", "--run"];
        let ran = run(folder.path(), &[&args[..], &[line]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let done = std::fs::read_to_string(folder.path().join("done")).unwrap();
        let lines: Vec<String> = done.lines().map(str::to_owned).collect();
        (ran.stdout, lines)
    };
    assert_eq!(until("3").1.len(), 6);
    assert_eq!(until("7").1.len(), 28);
    let (said, lines) = until("5");
    assert!(said.contains("nothing to do"), "{said}");
    assert_eq!(lines.len(), 28);
    let (_, lines) = until("8");
    let mesh = EvolvingMesh::with_levels(8).unwrap();
    let order: Vec<u64> = (lines.iter())
        .map(|line| {
            let (level, index) = line.split_once(' ').unwrap();
            let (level, index): (u64, u64) = (level.parse().unwrap(), index.parse().unwrap());
            level * (level + 1) / 2 + index
        })
        .collect();
    for (i, &task) in order.iter().enumerate() {
        assert!(!order[..i].contains(&task), "{task} ran twice");
        assert!(mesh.parents(task).all(|p| order[..i].contains(&p)));
    }
    assert_eq!(order.len(), 36);
}

#[test]
fn families_that_do_not_exist_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (family, said) in [
        ("mesh", "without end needs --until-level"),
        ("mesh:x", "a number is wanted"),
        ("mesh:99999999999", "choose fewer levels"),
        ("tree:3:1", "an arity of at least 2"),
        ("cube:3", "no such family"),
    ] {
        let ran = run(folder.path(), &["--family", family, "--run", "true"]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let ran = run(folder.path(), &["--family", "mesh:3"]);
    assert_eq!(ran.code, 2);
    let ran = run(
        folder.path(),
        &["--family", "mesh:3", "--run", "echo {seed}"],
    );
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("nobody knows {seed}"), "{}", ran.stderr);
    assert!(!folder.path().join(".cairn").exists(), "nothing was begun");
}

/// Results of two commands in one state would be told apart by nobody: another command needs a state of its own, unless nothing
/// is executed yet.
#[test]
fn another_command_of_a_family_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let with = |command: &str| run(folder, &["--family", "mesh:4", "-j1", "--run", command]);
    assert_eq!(with("exit 3 {level}").code, 1);
    assert_eq!(with("[ {level} != 2 ]").code, 1, "nothing was executed yet");
    let refused = with("touch made-{name}");
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    for words in [
        "is of another command: its tasks ran '[ {level} != 2 ]'",
        "--state",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    let made = std::fs::read_dir(folder).unwrap().flatten();
    let made = made.filter(|e| e.file_name().to_string_lossy().starts_with("made-"));
    assert_eq!(made.count(), 0);
    let state = std::fs::read_dir(folder.join(".cairn")).map(|all| all.count());
    assert!(state.is_ok_and(|many| many > 0), "the state stays");
}
