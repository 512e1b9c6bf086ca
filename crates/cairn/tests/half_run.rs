//! Half-run workflows, through the binary: what is executed is part of the input, whoever says so.

mod common;

use common::{Run, cairn, cairn_with_input};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// a opens b and c, which open d; e stands alone.
const DAG: &str = "JOB a a.sub\nJOB b b.sub\nJOB c c.sub\nJOB d d.sub\nJOB e e.sub\nPARENT a CHILD b c\nPARENT b c CHILD d\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

fn sorted(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = (value.as_array().unwrap().iter())
        .map(|v| v.as_str().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn a_done_task_is_never_recommended() {
    let inline = DAG.replace("JOB a a.sub", "JOB a a.sub DONE");
    let statement = format!("{DAG}DONE a\n");
    for text in [inline, statement] {
        let folder = folder(&[("x.dag", &text)]);
        let run = cairn(&["batch", &at(&folder, "x.dag"), "-r", "9", "--json"]);
        let value = json(&run);
        assert_eq!(sorted(&value["chosen"]), ["b", "c", "e"]);
        assert_eq!(value["executed"], 1);
        let listed = cairn(&["batch", &at(&folder, "x.dag"), "--executed", "b", "-r", "9"]);
        assert_eq!(listed.stdout.lines().count(), 2, "{listed:?}");
    }
}

/// Every command that looks ahead starts where the run stands.
#[test]
fn every_command_starts_with_the_rest() {
    let folder = folder(&[("x.dag", &DAG.replace("JOB a a.sub", "JOB a a.sub DONE"))]);
    let (file, picture) = (at(&folder, "x.dag"), at(&folder, "x.svg"));
    let plan = json(&cairn(&["plan", &file, "--executed", "b", "--json"]));
    assert_eq!((&plan["tasks"], &plan["executed"]), (&3.into(), &2.into()));
    assert_eq!(sorted(&plan["order"]), ["c", "d", "e"]);
    assert_eq!(plan["profile"], serde_json::json!([2, 2, 1, 0]));
    assert_eq!(plan["verdict"], "optimal");
    for args in [
        vec!["explain", &file],
        vec!["simulate", &file, "--runs", "2"],
        vec!["show", &file, "-o", &picture],
        vec!["batch", &file, "-r", "1"],
    ] {
        let run = cairn(&[&args[..], &["--json", "--executed", "b"]].concat());
        let value = json(&run);
        assert_eq!(value["executed"], 2, "{args:?} {run:?}");
        if args[0] != "batch" {
            assert_eq!(value["tasks"], 3, "{args:?}");
        }
    }
    for command in ["plan", "explain"] {
        let run = cairn(&[command, &file]);
        assert!(run.stdout.contains("executed  1 of 5 tasks"), "{run:?}");
    }
    // Nothing executed is nothing said, but for machines.
    let whole = cairn_with_input(&["plan", "-"], DAG.as_bytes());
    assert!(!whole.stdout.contains("executed  "), "{whole:?}");
    let whole = cairn_with_input(&["plan", "-", "--json"], DAG.as_bytes());
    assert_eq!(json(&whole)["executed"], 0);
}

#[test]
fn the_newest_rescue_file_is_used_and_announced() {
    let folder = folder(&[
        ("x.dag", DAG),
        (
            "x.dag.rescue001",
            "# Rescue DAG file, created after running\nDONE a\n",
        ),
        (
            "x.dag.rescue002",
            "# Rescue DAG file, created after running\n\nDONE a\nRETRY c 1\nDONE b\n",
        ),
    ]);
    let file = at(&folder, "x.dag");
    let run = cairn(&["plan", &file]);
    assert!(
        run.stderr
            .contains("x.dag.rescue002: 2 of 5 tasks are done"),
        "{run:?}"
    );
    assert!(run.stderr.contains("--no-rescue"), "{run:?}");
    assert!(run.stdout.contains("executed  2 of 5 tasks"), "{run:?}");
    let value = json(&cairn(&["plan", &file, "--json"]));
    assert_eq!(
        (&value["executed"], &value["tasks"]),
        (&2.into(), &3.into())
    );
    assert!(
        value["rescue"]
            .as_str()
            .unwrap()
            .ends_with("x.dag.rescue002")
    );
    let whole = json(&cairn(&["plan", &file, "--json", "--no-rescue"]));
    assert_eq!(
        (&whole["executed"], &whole["tasks"]),
        (&0.into(), &5.into())
    );
    assert_eq!(whole.get("rescue"), None);
    // The same file by hand, known by its content, whatever it is called.
    fs::rename(at(&folder, "x.dag.rescue002"), at(&folder, "done.txt")).unwrap();
    let list = format!("@{}", at(&folder, "done.txt"));
    let value = json(&cairn(&[
        "plan",
        &file,
        "--json",
        "--no-rescue",
        "--executed",
        &list,
    ]));
    assert_eq!(sorted(&value["order"]), ["c", "d", "e"]);
    // An old rescue file is a whole workflow.
    let old = format!("# Rescue DAG file\n{}", DAG.replace("a.sub", "a.sub DONE"));
    fs::write(at(&folder, "x.dag.rescue007"), old).unwrap();
    let value = json(&cairn(&["plan", &file, "--json"]));
    assert_eq!(sorted(&value["order"]), ["b", "c", "d", "e"]);
}

#[test]
fn a_rescue_file_that_does_not_fit_is_refused_with_its_line() {
    let folder = folder(&[("x.dag", DAG), ("x.dag.rescue001", "DONE a\nDONE bb\n")]);
    let run = cairn(&["batch", &at(&folder, "x.dag"), "-r", "2"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("'bb' is DONE here, but is no task"),
        "{run:?}"
    );
    assert!(run.stderr.contains("x.dag.rescue001:2"), "{run:?}");
    assert!(run.stderr.contains("did you mean 'b'?"), "{run:?}");
    let run = cairn(&["batch", &at(&folder, "x.dag"), "-r", "2", "--no-rescue"]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn an_empty_rescue_file_is_refused_with_a_cure_of_its_own() {
    let folder = folder(&[("x.dag", DAG), ("x.dag.rescue001", "")]);
    let run = cairn(&["plan", &at(&folder, "x.dag")]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("this rescue file is empty"), "{run:?}");
    assert!(
        run.stderr
            .contains("help: DAGMan did not finish writing it")
    );
    assert!(!run.stderr.contains("--help for the formats"), "{run:?}");
    assert_eq!(
        cairn(&["plan", &at(&folder, "x.dag"), "--no-rescue"]).code,
        0
    );
}

#[test]
fn a_list_that_cannot_be_true_is_refused() {
    for (list, said, cure) in [
        (
            "b",
            "'b' is said to be executed, but its parent 'a' is not",
            "list every",
        ),
        ("a,bb", "names 'bb', which is no task", "did you mean 'b'?"),
        ("a,quite-another", "names 'quite-another'", "case-sensitive"),
        ("@no/such/file", "no such file", "check the spelling"),
        ("@-", "standard input cannot be both", "name a file"),
    ] {
        for command in ["plan", "explain", "batch"] {
            let mut args = vec![command, "-", "--executed", list];
            args.extend((command == "batch").then_some(["-r", "1"]).iter().flatten());
            let run = cairn_with_input(&args, DAG.as_bytes());
            assert_eq!(run.code, 2, "{list} {run:?}");
            assert!(run.stderr.contains(said), "{list} {run:?}");
            assert!(run.stderr.contains(cure), "{list} {run:?}");
        }
    }
}

/// DAGMan never runs a DONE node again, runs its parents all the same, and lets its children go.
#[test]
fn done_without_its_parents_is_taken_as_dagman_takes_it() {
    let text = DAG
        .replace("JOB b b.sub", "JOB b b.sub DONE")
        .replace("JOB c c.sub", "JOB c c.sub DONE");
    let run = cairn_with_input(&["batch", "-", "-r", "9"], text.as_bytes());
    let mut chosen: Vec<&str> = run.stdout.lines().collect();
    chosen.sort_unstable();
    assert_eq!(chosen, ["a", "d", "e"], "{run:?}");
    assert!(
        run.stderr
            .contains("'b' is done, but its parent 'a' is not"),
        "{run:?}"
    );
}

#[test]
fn a_certificate_of_the_rest_is_checked_with_the_same_tasks_executed() {
    let folder = folder(&[("x.dag", DAG)]);
    let (file, proof) = (at(&folder, "x.dag"), at(&folder, "c.json"));
    let run = cairn(&["plan", &file, "--executed", "a", "--certificate", &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = cairn(&["verify", &file, &proof, "--executed", "a"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = cairn(&["verify", &file, &proof]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stderr.contains("4 tasks, and 5 are left here"),
        "{run:?}"
    );
    assert!(run.stderr.contains("--executed"), "{run:?}");
    // A smaller workflow is another one, not the same at another time.
    let other = at(&folder, "other.dag");
    std::fs::write(&other, "JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\n").unwrap();
    let run = cairn(&["verify", &other, &proof]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!run.stderr.contains("--executed"), "{run:?}");
}

#[test]
fn a_finished_workflow_leaves_nothing() {
    let folder = folder(&[("x.dag", "JOB a a.sub DONE\n")]);
    let run = cairn(&["batch", &at(&folder, "x.dag"), "-r", "3"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
    assert!(run.stderr.contains("every task is executed"), "{run:?}");
}

#[test]
fn priorities_go_to_what_is_left_and_nothing_else_changes() {
    let text = DAG.replace("JOB a a.sub", "JOB a a.sub DONE\nPRIORITY a 77");
    let run = cairn_with_input(&["prio", "-", "--executed", "b"], text.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    let lines: Vec<&str> = run
        .stdout
        .lines()
        .filter(|l| l.starts_with("PRIORITY"))
        .collect();
    assert_eq!(lines.len(), 4, "{run:?}");
    for line in ["PRIORITY a 77", "PRIORITY c 3"] {
        assert!(lines.contains(&line), "{run:?}");
    }
    assert!(!run.stdout.contains("PRIORITY b"), "{run:?}");
    let without: String = (run.stdout.lines())
        .filter(|l| !l.starts_with("PRIORITY") || *l == "PRIORITY a 77")
        .map(|l| format!("{l}\n"))
        .collect();
    assert_eq!(without, text);
}

/// What executed tasks left open is not made from now on, and is held all the same.
#[test]
fn results_of_executed_tasks_that_are_still_needed_are_told() {
    let folder = folder(&[("x.dag", DAG)]);
    let plan = |more: &[&str]| {
        let file = at(&folder, "x.dag");
        cairn(&[&["plan", &file, "--executed", "a,b"], more].concat())
    };
    let run = plan(&["--memory-cap", "1"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr
            .contains("those of 2 executed tasks are still needed and come on top"),
        "{run:?}"
    );
    assert!(
        run.stdout.contains("besides those of 2 executed tasks"),
        "{run:?}"
    );
    let value = json(&plan(&["--json"]));
    assert_eq!(value["memory"]["executed_needed"], 2, "{value}");
    let whole = json(&cairn(&["plan", &at(&folder, "x.dag"), "--json"]));
    assert_eq!(whole["memory"]["executed_needed"], 0, "{whole}");
}

#[test]
fn an_empty_list_says_that_nothing_is_executed() {
    let folder = folder(&[("x.dag", DAG), ("none.txt", "")]);
    let list = format!("@{}", at(&folder, "none.txt"));
    let run = cairn(&["plan", &at(&folder, "x.dag"), "--executed", &list, "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(json(&run)["tasks"], 5, "{run:?}");
}

#[test]
fn a_rescue_file_that_cannot_be_read_comes_with_the_way_around_it() {
    for text in ["", "garbage\n"] {
        let folder = folder(&[("x.dag", DAG), ("x.dag.rescue001", text)]);
        let run = cairn(&["plan", &at(&folder, "x.dag")]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("--no-rescue"), "{run:?}");
    }
}
