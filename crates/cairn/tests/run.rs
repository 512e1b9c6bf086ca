//! `cairn run` through the real binary: order, resume, failures, files, resources, Ctrl-C, and what happens when the runner is
//! killed.
#![cfg(target_os = "linux")]

mod common;

use cairn_dag::{Dag, TaskId};
use cairn_engine::Event;
use cairn_oracle::{Random, random_dag};
use cairn_serve::store::{Store, Sync};
use common::Run;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.arg("run").args(args).current_dir(folder);
    command.env("NO_COLOR", "1").env_remove("COLUMNS");
    command.stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Run {
    command(folder, args).output().unwrap().into()
}

/// Lines of JSON.
fn lines(run: &Run) -> Vec<Value> {
    let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    run.stdout.lines().map(parse).collect()
}

/// The tasks in the order in which their attempts began.
fn started(lines: &[Value]) -> Vec<String> {
    let leased = lines.iter().filter(|l| l["state"] == "leased");
    leased
        .map(|l| l["task"].as_str().unwrap().to_owned())
        .collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A flow file: each task with its parents and whatever else.
fn write(folder: &Path, tasks: &[Value]) {
    let mut text = String::new();
    for task in tasks {
        writeln!(text, "{task}").unwrap();
    }
    std::fs::write(folder.join("f.jsonl"), text).unwrap();
}

fn of_dag(dag: &Dag, command: impl Fn(TaskId) -> String) -> Vec<Value> {
    let name = |t: &TaskId| format!("t{}", t.0);
    (dag.tasks())
        .map(|t| {
            let after: Vec<_> = dag.parents(t).iter().map(name).collect();
            json!({ "name": name(&t), "run": command(t), "after": after })
        })
        .collect()
}

fn stored_order(state: &Path) -> Vec<u32> {
    let store = Store::create_or_open(state, Sync::Full).unwrap();
    store.newest_order().unwrap().unwrap().1
}

/// What the store says is executed.
fn executed(state: &Path) -> HashSet<u64> {
    let store = Store::create_or_open(state, Sync::Full).unwrap();
    let mut executed = HashSet::new();
    let read = store.each_entry(|entry| {
        match entry.event {
            Event::Executed { task, .. } => executed.insert(task.0),
            Event::Reopened { task } => executed.remove(&task.0),
            _ => false,
        };
        Ok::<(), String>(())
    });
    read.unwrap();
    executed
}

#[test]
fn on_one_slot_tasks_start_in_the_stored_order() {
    let mut in_time = 0;
    for seed in 0..12 {
        let folder = folder();
        let dag = random_dag(5 + 4 * seed as usize, seed as usize, seed);
        write(folder.path(), &of_dag(&dag, |_| "true".to_owned()));
        let args = ["f.jsonl", "-j1", "--json", "--state", "s", "--policy", "ic"];
        let ran = run(folder.path(), &args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let store = Store::create_or_open(&folder.path().join("s"), Sync::Full).unwrap();
        let (number, order) = store.newest_order().unwrap().unwrap();
        let order: Vec<_> = order.iter().map(|t| format!("t{t}")).collect();
        let told = lines(&ran);
        assert_eq!(started(&told), order, "seed {seed}");
        // Small dags begin with the plan itself, where it is found while the first task may wait for it.
        if number == 1 && told.last().unwrap()["order"]["chosen"] == "ic" {
            let file = folder.path().join("f.jsonl");
            let plan = common::cairn(&["plan", file.to_str().unwrap(), "--order"]);
            let plan: Vec<_> = plan.stdout.lines().collect();
            assert_eq!(plan, order, "seed {seed}");
            in_time += 1;
        }
    }
    assert!(in_time > 0, "no plan was ever there in time");
}

/// A plan that takes long does not delay the work: the first task begins with a quick order. How soon on a quiet machine is
/// measured by the bench; here it must not wait for the plan.
#[test]
fn the_first_task_does_not_wait_for_the_plan() {
    use std::io::BufRead;
    let folder = folder();
    let dag = random_dag(3000, 9000, 5);
    write(folder.path(), &of_dag(&dag, |_| "sleep 60".to_owned()));
    let mut command = command(folder.path(), &["f.jsonl", "-j1", "--json", "--state", "s"]);
    let begin = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let first = begin.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("\"leased\""), "{line}");
    // Its plan takes minutes here; 0.2 s are promised, on a quiet machine.
    assert!(first < Duration::from_secs(20), "{first:?}");
    let state = folder.path().join("s");
    let id = Store::create_or_open(&state, Sync::Full).unwrap();
    let id = id.meta("id").unwrap().unwrap();
    cairn_serve::spawn::end_survivors("CAIRN_RUN", &id, Duration::ZERO).unwrap();
}

/// Every dag of the corpus up to 2,200 tasks with CAIRN_RUN_CORPUS=all; else some up to 400.
#[test]
fn on_one_slot_dags_of_the_corpus_start_in_the_stored_order() {
    let test = "on_one_slot_dags_of_the_corpus_start_in_the_stored_order";
    let Some(corpus) = cairn_oracle::corpus(test) else {
        return;
    };
    let all = std::env::var("CAIRN_RUN_CORPUS").is_ok_and(|v| v == "all");
    let most = if all { 2200 } else { 400 };
    let mut manifest = csv::Reader::from_path(corpus.join("manifest.csv")).unwrap();
    let headers = manifest.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|h| h == name).unwrap();
    let (file, tasks, cyclic) = (column("file"), column("tasks"), column("cyclic"));
    let mut count = 0;
    for (i, row) in manifest.records().map(Result::unwrap).enumerate() {
        let few = row[tasks].parse().is_ok_and(|n: usize| n > 0 && n <= most);
        if !few || &row[cyclic] == "True" || (!all && i % 5 != 0) {
            continue;
        }
        let mut report = cairn_formats::Report::default();
        let limits = cairn_formats::ReadLimits::default();
        let path = corpus.join(&row[file]);
        let source = cairn_formats::Source::load(&path, &limits, &mut report).unwrap();
        let Some((_, flow)) = cairn_formats::read(&source, None, &mut report) else {
            continue;
        };
        let folder = folder();
        write(folder.path(), &of_dag(flow.dag(), |_| "true".to_owned()));
        let ran = run(folder.path(), &["f.jsonl", "-j1", "--json", "--state", "s"]);
        assert_eq!(ran.code, 0, "{}: {}", &row[file], ran.stderr);
        let order = stored_order(&folder.path().join("s"));
        let order: Vec<_> = order.iter().map(|t| format!("t{t}")).collect();
        assert_eq!(started(&lines(&ran)), order, "{}", &row[file]);
        count += 1;
    }
    assert!(count > 5, "{count}");
}

#[test]
fn what_is_executed_does_not_run_again_and_what_failed_does() {
    let folder = folder();
    let tasks = |last: &str| {
        [
            json!({ "name": "a", "run": "echo a >> log" }),
            json!({ "name": "b", "run": last, "after": ["a"] }),
            json!({ "name": "c", "run": "echo c >> log", "after": ["b"] }),
        ]
    };
    write(folder.path(), &tasks("echo said; exit 3"));
    let first = run(folder.path(), &["f.jsonl"]);
    assert_eq!(first.code, 1);
    assert!(
        first.stderr.contains("b failed: exit code 3"),
        "{}",
        first.stderr
    );
    assert!(
        first.stderr.contains("b.1.log") && first.stderr.contains("| said"),
        "{}",
        first.stderr
    );
    assert!(
        first.stdout.contains("1 failed, 1 not tried"),
        "{}",
        first.stdout
    );
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log(), "a\n");
    let again = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(
        (again.code, started(&lines(&again))),
        (1, vec!["b".to_owned()])
    );
    write(folder.path(), &tasks("true"));
    let third = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(
        (third.code, started(&lines(&third))),
        (0, vec!["b".to_owned(), "c".to_owned()])
    );
    let summary = lines(&third).pop().unwrap();
    assert_eq!(
        (&summary["done"], &summary["executed"], &summary["failed"]),
        (&json!(true), &json!(3), &json!(0))
    );
    assert_eq!(log(), "a\nc\n");
    let idle = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!((idle.code, started(&lines(&idle)).len()), (0, 0));
    // A changed command runs again, with what comes after it.
    let mut changed = tasks("true; true");
    changed[0]["run"] = json!("echo a >> log");
    write(folder.path(), &changed);
    let third = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(
        (third.code, started(&lines(&third))),
        (0, vec!["b".to_owned(), "c".to_owned()])
    );
}

#[test]
fn another_flow_keeps_what_was_executed_under_the_same_name() {
    let folder = folder();
    let task = |name: &str, after: &[&str]| json!({ "name": name, "run": format!("echo {name} >> log"), "after": after });
    write(
        folder.path(),
        &[task("a", &[]), task("b", &["a"]), task("c", &["a"])],
    );
    assert_eq!(run(folder.path(), &["f.jsonl"]).code, 0);
    // Renumbered, one gone, one new, one new in between.
    write(
        folder.path(),
        &[
            task("n", &[]),
            task("b", &["a"]),
            task("a", &[]),
            task("d", &["b", "n"]),
            task("c", &["n"]),
        ],
    );
    let ran = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut again = started(&lines(&ran));
    again.sort_unstable();
    // Not c's command changed, but what must come before it.
    assert_eq!(again, ["c", "d", "n"]);
    let idle = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!((idle.code, started(&lines(&idle)).len()), (0, 0));
}

#[test]
fn declared_files_decide_what_runs_again() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in"), "1\n").unwrap();
    let tasks = [
        json!({ "name": "a", "run": "cat in > mid", "inputs": ["in"], "outputs": ["mid"] }),
        json!({ "name": "b", "run": "cat mid > out", "inputs": ["mid"], "outputs": ["out"], "after": ["a"] }),
        json!({ "name": "c", "run": "true" }),
    ];
    write(folder.path(), &tasks);
    let again = |what: &str, expected: &[&str]| {
        let ran = run(folder.path(), &["f.jsonl", "--json", "-j1"]);
        assert_eq!(ran.code, 0, "{what}: {}", ran.stderr);
        let mut started = started(&lines(&ran));
        started.sort_unstable();
        assert_eq!(started, expected, "{what}");
    };
    again("at first", &["a", "b", "c"]);
    again("unchanged", &[]);
    std::fs::write(at("in"), "22\n").unwrap();
    again("an input changed", &["a", "b"]);
    assert_eq!(std::fs::read_to_string(at("out")).unwrap(), "22\n");
    std::fs::remove_file(at("out")).unwrap();
    again("an output is gone", &["b"]);
    std::fs::remove_file(at("mid")).unwrap();
    again("one in between is gone", &["a", "b"]);
    // After a power cut sizes count too.
    std::fs::write(at("out"), "").unwrap();
    again("the same boot", &[]);
    let mut store = Store::create_or_open(&at(".cairn/f.jsonl"), Sync::Full).unwrap();
    store.set_meta("boot", "another").unwrap();
    drop(store);
    again("a power cut", &["b"]);
    std::fs::remove_file(at("in")).unwrap();
    let ran = run(folder.path(), &["f.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("reads in, which is not there"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_temporary_file_may_go_until_somebody_needs_it() {
    let folder = folder();
    let tasks = |command: &str| {
        [
            json!({ "name": "a", "run": "echo 1 > mid", "outputs": [{ "path": "mid", "temp": true }] }),
            json!({ "name": "b", "run": command, "inputs": ["mid"], "outputs": ["out"], "after": ["a"] }),
        ]
    };
    write(folder.path(), &tasks("cat mid > out"));
    assert_eq!(run(folder.path(), &["f.jsonl"]).code, 0);
    assert!(!folder.path().join("mid").exists(), "it was read");
    let idle = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!((idle.code, started(&lines(&idle)).len()), (0, 0));
    write(folder.path(), &tasks("cat mid mid > out"));
    let both = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(
        (both.code, started(&lines(&both))),
        (0, vec!["a".to_owned(), "b".to_owned()])
    );
}

#[test]
fn no_output_is_left_half_made() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("old"), "old\n").unwrap();
    std::fs::write(at("same"), "same\n").unwrap();
    write(
        folder.path(),
        &[
            json!({ "name": "a", "run": "echo half > new; echo half > old; exit 1", "outputs": ["new", "old", "same"] }),
        ],
    );
    let ran = run(folder.path(), &["f.jsonl"]);
    assert_eq!(ran.code, 1);
    assert!(!at("new").exists(), "{}", ran.stderr);
    assert!(!at("old").exists());
    assert_eq!(
        std::fs::read_to_string(at("old.half-made")).unwrap(),
        "half\n"
    );
    assert_eq!(std::fs::read_to_string(at("same")).unwrap(), "same\n");
    // Exit code 0 is not enough.
    write(
        folder.path(),
        &[json!({ "name": "b", "run": "true", "outputs": ["never"] })],
    );
    let ran = run(folder.path(), &["f.jsonl", "--json"]);
    let failed = &lines(&ran)[1];
    assert_eq!(
        (ran.code, &failed["state"], &failed["cause"]),
        (1, &json!("failed"), &json!("output"))
    );
    assert_eq!(run(folder.path(), &["f.jsonl", "--ignore-files"]).code, 0);
}

#[test]
fn failures_stop_the_run_or_not_and_are_tried_again() {
    let folder = folder();
    let tasks: Vec<Value> = (0..6)
        .map(|i| json!({ "name": format!("t{i}"), "run": if i < 3 { "false" } else { "true" } }))
        .collect();
    write(folder.path(), &tasks);
    let failed = |args: &[&str]| {
        let _ = std::fs::remove_dir_all(folder.path().join(".cairn"));
        let ran = run(
            folder.path(),
            &[&["f.jsonl", "--json", "-j1", "--policy", "fifo"], args].concat(),
        );
        let last = lines(&ran).pop().unwrap();
        (
            ran.code,
            last["failed"].as_u64().unwrap(),
            last["executed"].as_u64().unwrap(),
        )
    };
    assert_eq!(failed(&[]), (1, 1, 0));
    assert_eq!(failed(&["-k"]), (1, 3, 3));
    assert_eq!(failed(&["-k", "2"]), (1, 2, 0));
    assert_eq!(failed(&["-k=2"]), (1, 2, 0));
    assert_eq!(failed(&["--keep-going", "2"]), (1, 2, 0));
    let _ = std::fs::remove_dir_all(folder.path().join(".cairn"));
    let ran = run(
        folder.path(),
        &["-k", "f.jsonl", "--json", "--retries", "2"],
    );
    let attempts = |task: &str| started(&lines(&ran)).iter().filter(|t| *t == task).count();
    assert_eq!((attempts("t0"), attempts("t5"), ran.code), (3, 1, 1));
    // Another try may do it; a task of its own may say how often.
    let flaky = json!({ "name": "x", "run": "echo >> n; test $(wc -l < n) -ge 3", "retries": 2 });
    write(folder.path(), &[flaky]);
    assert_eq!(run(folder.path(), &["f.jsonl"]).code, 0);
    let rerun = [
        json!({ "name": "ok", "run": "true" }),
        json!({ "name": "bad", "run": "test -e here" }),
        json!({ "name": "later", "run": "true", "after": ["bad"] }),
        json!({ "name": "other", "run": "sleep 0.01", "after": ["ok"] }),
    ];
    write(folder.path(), &rerun);
    assert_eq!(
        run(folder.path(), &["f.jsonl", "-k", "--until", "bad"]).code,
        1
    );
    std::fs::write(folder.path().join("here"), "").unwrap();
    let ran = run(folder.path(), &["f.jsonl", "--rerun-failed", "--json"]);
    assert_eq!(
        (ran.code, started(&lines(&ran))),
        (0, vec!["bad".to_owned(), "later".to_owned()])
    );
}

#[test]
fn parts_of_a_workflow() {
    let folder = folder();
    let task = |name: &str, after: &[&str]| json!({ "name": name, "run": "true", "after": after });
    write(
        folder.path(),
        &[
            task("a", &[]),
            task("b", &["a"]),
            task("c", &["a"]),
            task("d", &["b", "c"]),
        ],
    );
    let dry = run(folder.path(), &["f.jsonl", "-n", "--until", "b"]);
    assert_eq!(
        (dry.code, dry.stdout.as_str()),
        (0, "a: true\nb: true\n2 tasks would run\n")
    );
    assert!(
        !folder.path().join(".cairn").exists(),
        "a dry run leaves nothing"
    );
    let ran = run(folder.path(), &["f.jsonl", "--json", "--only", "b"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stdout.contains("'a' before it is not"),
        "{}",
        ran.stdout
    );
    let ran = run(folder.path(), &["f.jsonl", "--json", "--until", "b"]);
    assert_eq!(
        (ran.code, started(&lines(&ran))),
        (0, vec!["a".to_owned(), "b".to_owned()])
    );
    let ran = run(folder.path(), &["f.jsonl", "--json", "--only", "c"]);
    assert_eq!((ran.code, started(&lines(&ran))), (0, vec!["c".to_owned()]));
    let ran = run(folder.path(), &["f.jsonl", "--until", "e"]);
    assert_eq!(ran.code, 2);
    let ran = run(folder.path(), &["f.jsonl", "--touch", "--json"]);
    assert_eq!((ran.code, started(&lines(&ran))), (0, vec!["d".to_owned()]));
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_starts() {
    let folder = folder();
    let begin = json!({ "name": "a", "run": "touch started" });
    let refused = |task: Value, args: &[&str], said: &str| {
        write(folder.path(), &[begin.clone(), task]);
        let ran = run(folder.path(), &[&["f.jsonl"], args].concat());
        assert_eq!(ran.code, 2, "{said}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        assert!(!folder.path().join("started").exists(), "{said}");
    };
    refused(json!({ "name": "b" }), &[], "'b' has no command");
    let pool = json!({ "name": "b", "run": "true", "pools": { "licence": 2 } });
    refused(pool.clone(), &[], "--pool licence=2");
    refused(pool.clone(), &["--pool", "licence=1"], "and there are 1");
    refused(
        pool,
        &["--pool", "licence=2", "--pool", "license=2"],
        "no task needs any 'license'",
    );
    let large = json!({ "name": "b", "run": "true", "memory": "900TB" });
    refused(large, &[], "bytes of memory");
    let fine = || json!({ "name": "b", "run": "true" });
    refused(fine(), &["-j", "0"], "-j 0");
    refused(fine(), &["--memory", "much"], "--memory much");
    refused(fine(), &["--pool", "x"], "--pool x");
    refused(fine(), &["--run", "{"], "--run");
    refused(fine(), &["--only", "z"], "--only names 'z'");
    let ran = common::cairn_with_input(&["run", "-"], b"{\"name\":\"a\",\"run\":\"true\"}\n");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--state"), "{}", ran.stderr);
}

#[test]
fn commands_for_tasks_that_have_none() {
    let folder = folder();
    write(
        folder.path(),
        &[
            json!({ "name": "it's a" }),
            json!({ "name": "b", "after": ["it's a"] }),
        ],
    );
    let ran = run(folder.path(), &["f.jsonl", "--run", "echo {name} >> log"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "it's a\nb\n");
}

#[test]
fn a_dagman_workflow_runs_and_leaves_a_rescue_file_when_it_fails() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(
        at("x.sub"),
        "executable = /bin/sh\narguments = \"-c '$(what)'\"\noutput = $(JOB).out\nqueue\n",
    )
    .unwrap();
    let text = "JOB a x.sub\nVARS a what=\"echo hello\"\nJOB b x.sub\nVARS b what=\"test -e here\"\nJOB c x.sub\n\
                VARS c what=\"true\"\nPARENT a CHILD b\nPARENT b CHILD c\n";
    std::fs::write(at("w.dag"), text).unwrap();
    let ran = run(folder.path(), &["w.dag"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read_to_string(at("a.out")).unwrap(), "hello\n");
    let rescue = std::fs::read_to_string(at("w.dag.rescue001")).unwrap();
    assert!(
        rescue.contains("DONE a") && !rescue.contains("DONE b"),
        "{rescue}"
    );
    std::fs::write(at("here"), "").unwrap();
    let ran = run(folder.path(), &["w.dag", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(started(&lines(&ran)), ["b", "c"]);
    // The rescue file alone is enough.
    std::fs::remove_dir_all(at(".cairn")).unwrap();
    let ran = run(folder.path(), &["w.dag", "--json"]);
    assert_eq!(
        (ran.code, started(&lines(&ran)).len()),
        (0, 2),
        "{}",
        ran.stderr
    );
}

/// Each task notes when it begins and ends; no moment may have more than there is.
#[test]
fn pools_wide_tasks_and_limits_hold() {
    let folder = folder();
    let line = |name: &str| format!("echo s {name} >> log; sleep 0.03; echo e {name} >> log");
    let mut tasks: Vec<Value> = (0..8)
        .map(|i| json!({ "name": format!("p{i}"), "run": line(&format!("p{i}")), "pools": { "one": 1 } }))
        .collect();
    tasks
        .extend((0..20).map(|i| json!({ "name": format!("n{i}"), "run": line(&format!("n{i}")) })));
    tasks.push(json!({ "name": "wide", "run": line("wide"), "cpus": 4 }));
    write(folder.path(), &tasks);
    let ran = run(folder.path(), &["f.jsonl", "-j4", "--pool", "one=2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let mut at_once: HashSet<&str> = HashSet::new();
    for line in log.lines() {
        let (what, name) = line.split_once(' ').unwrap();
        match what {
            "s" => at_once.insert(name),
            _ => at_once.remove(name),
        };
        let pooled = at_once.iter().filter(|n| n.starts_with('p')).count();
        assert!(pooled <= 2 && at_once.len() <= 4, "{at_once:?}");
        assert!(
            !at_once.contains("wide") || at_once.len() == 1,
            "{at_once:?}"
        );
    }
    let slow = json!({ "name": "slow", "run": "sleep 60", "time_limit": 0.2 });
    write(folder.path(), &[slow]);
    let begin = Instant::now();
    let ran = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&ran)[1]["cause"], "time");
    assert!(begin.elapsed() < Duration::from_secs(30));
}

/// A task that takes more memory than it says is ended; at its next attempt it may take twice as much. Grandchildren count.
#[test]
fn more_memory_than_declared_is_a_failure_and_doubles() {
    let folder = folder();
    // Some 60 MB in a process of the task's process, for as long as the task lasts.
    let line =
        "(dd if=/dev/zero bs=60M count=1 status=none | (sleep 2; cat > /dev/null)); echo done";
    let task = json!({ "name": "hog", "run": line, "memory": "40MB", "retries": 1 });
    let modest = json!({ "name": "modest", "run": "sleep 0.3", "memory": "40MB" });
    write(folder.path(), &[task, modest]);
    let ran = run(folder.path(), &["f.jsonl", "-j2", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let lines = lines(&ran);
    let of = |name: &str| -> Vec<&str> {
        let those = lines.iter().filter(|l| l["task"] == name);
        those.map(|l| l["state"].as_str().unwrap()).collect()
    };
    assert_eq!(of("hog"), ["leased", "eligible", "leased", "executed"]);
    assert_eq!(of("modest"), ["leased", "executed"]);
    let failed = lines.iter().find(|l| l["state"] == "eligible").unwrap();
    assert_eq!(failed["cause"], "memory");
    assert!(
        failed["detail"].as_str().unwrap().contains("instead of 39"),
        "{failed}"
    );
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_first_interrupt_drains_and_the_second_ends_what_runs() {
    let folder = folder();
    let tasks = [
        json!({ "name": "a", "run": "touch began; sleep 5; touch ended" }),
        json!({ "name": "b", "run": "touch never", "after": ["a"] }),
    ];
    write(folder.path(), &tasks);
    let begin = |folder: &Path| {
        let mut command = command(folder, &["f.jsonl", "--json"]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("it began", || folder.join("began").exists());
        child
    };
    let child = begin(folder.path());
    signal(&child, "-INT");
    let ran: Run = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(folder.path().join("ended").exists() && !folder.path().join("never").exists());
    let last = lines(&ran).pop().unwrap();
    assert_eq!(
        (&last["interrupted"], &last["executed"]),
        (&json!(true), &json!(1))
    );
    let ran = run(folder.path(), &["f.jsonl", "--json"]);
    assert_eq!((ran.code, started(&lines(&ran))), (0, vec!["b".to_owned()]));

    let other = self::folder();
    let tasks = [
        json!({ "name": "a", "run": "echo half > out; touch began; sleep 100", "outputs": ["out"] }),
    ];
    write(other.path(), &tasks);
    let child = begin(other.path());
    signal(&child, "-INT");
    // Two signals of one kind are one to whoever had no time to look in between.
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, "-INT");
    let ran: Run = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(!other.path().join("out").exists(), "half-made");
    let last = lines(&ran).pop().unwrap();
    assert_eq!(
        (&last["failed"], &last["executed"]),
        (&json!(0), &json!(0)),
        "nobody's fault"
    );
    assert_no_survivors(&other.path().join(".cairn/f.jsonl"));
}

fn assert_no_survivors(state: &Path) {
    let store = Store::create_or_open(state, Sync::Full).unwrap();
    let id = store.meta("id").unwrap().unwrap();
    let left = cairn_serve::spawn::end_survivors("CAIRN_RUN", &id, Duration::ZERO).unwrap();
    assert_eq!(left, 0, "orphans");
}

/// Random dags whose runner is killed at random moments, 20 kills, or CAIRN_KILLS of them.
#[test]
fn a_killed_runner_loses_nothing_that_was_committed() {
    let kills: usize = std::env::var("CAIRN_KILLS").map_or(20, |k| k.parse().unwrap());
    let mut random = Random::new(7);
    let (mut killed, mut seed) = (0, 0);
    while killed < kills {
        seed += 1;
        let folder = folder();
        let dag = random_dag(40 + random.below(40), seed, seed as u64);
        let naps: Vec<usize> = dag.tasks().map(|_| random.below(30)).collect();
        // Grandchildren too.
        let line = |t: TaskId| {
            let nap = naps[t.index()];
            format!(
                "echo s {0} >> log; (sleep 0.0{nap:02}); echo e {0} >> log",
                t.0
            )
        };
        write(folder.path(), &of_dag(&dag, line));
        let state = folder.path().join("s");
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        loop {
            let mut command = command(folder.path(), &["f.jsonl", "-j4", "-q", "--state", "s"]);
            let mut child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(20 + random.below(250) as u64));
            if child.try_wait().unwrap().is_some() {
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            // What is committed is never started again.
            let before = executed(&state);
            let seen = log().len();
            if killed >= kills || random.below(3) == 0 {
                let ran = run(folder.path(), &["f.jsonl", "-j4", "-q", "--state", "s"]);
                assert_eq!(ran.code, 0, "{}", ran.stderr);
                let later = log()[seen..].to_owned();
                for task in &before {
                    let start = format!("s {task}");
                    assert!(!later.lines().any(|l| l == start), "{task} ran again");
                }
                break;
            }
        }
        let ran = run(folder.path(), &["f.jsonl", "-j4", "-q", "--state", "s"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(executed(&state).len(), dag.len());
        assert_no_survivors(&state);
        // No start before all parents have ended.
        let mut ended: HashMap<u32, usize> = HashMap::new();
        for line in log().lines() {
            let (what, task) = line.split_once(' ').unwrap();
            let task: u32 = task.parse().unwrap();
            match what {
                "e" => *ended.entry(task).or_default() += 1,
                _ => {
                    let parents = dag.parents(TaskId(task));
                    assert!(
                        parents.iter().all(|p| ended.contains_key(&p.0)),
                        "{task} began too early"
                    );
                }
            }
        }
        assert_eq!(ended.len(), dag.len());
    }
}

#[test]
fn a_state_that_is_in_use_damaged_or_read_only_is_refused() {
    let folder = folder();
    write(
        folder.path(),
        &[
            json!({ "name": "a", "run": "touch began; until test -e go; do sleep 0.05; done" }),
            json!({ "name": "b", "run": "true" }),
        ],
    );
    let mut first = command(folder.path(), &["f.jsonl", "-q"]).spawn().unwrap();
    until("it began", || folder.path().join("began").exists());
    let second = run(folder.path(), &["f.jsonl"]);
    assert_eq!(second.code, 2);
    let said = format!("in use by process {}", first.id());
    assert!(second.stderr.contains(&said), "{}", second.stderr);
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    // Cut in the middle: said, and left as it is.
    let file = folder.path().join(".cairn/f.jsonl/cairn.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for byte in &mut bytes[..4096] {
        *byte = byte.wrapping_mul(7).wrapping_add(3);
    }
    std::fs::write(&file, &bytes).unwrap();
    let ran = run(folder.path(), &["f.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("damaged"), "{}", ran.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    std::fs::write(folder.path().join("file"), "").unwrap();
    let ran = run(folder.path(), &["f.jsonl", "--state", "file/state"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let ran = run(folder.path(), &["f.jsonl", "--state", "/proc/no"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// A disk that turned read-only: said, nothing is started, and nothing is lost.
#[test]
fn a_read_only_disk_is_refused_and_nothing_is_lost() {
    let folder = folder();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = |args: &[&str]| {
        let mut command = Command::new("mount");
        let done = command.args(args).arg(&disk).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=40m", "none"]) {
        let why = b"SKIPPED: a read-only disk under a run: no right to mount one\n";
        let _ = std::io::stderr().write_all(why);
        return;
    }
    let line = |name: &str| format!("echo {name} >> log; test $(wc -l < log) -ne 3");
    let tasks: Vec<Value> = (0..6)
        .map(|i| json!({ "name": format!("t{i}"), "run": line(&format!("t{i}")) }))
        .collect();
    write(folder.path(), &tasks);
    let args = ["f.jsonl", "-j1", "--state", "disk/s"];
    let first = run(folder.path(), &args);
    let stopped = mount(&["-o", "remount,ro"]);
    let second = run(folder.path(), &args);
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    let began = log().lines().count();
    let mended = mount(&["-o", "remount,rw"]);
    let third = run(folder.path(), &args);
    Command::new("umount").arg(&disk).status().unwrap();
    assert!(stopped && mended);
    assert_eq!(first.code, 1, "{}", first.stderr);
    assert_eq!(second.code, 2, "{}{}", second.stdout, second.stderr);
    assert!(
        second.stderr.to_lowercase().contains("read-only"),
        "{}",
        second.stderr
    );
    assert_eq!(began, 3, "nothing was started");
    assert_eq!(third.code, 0, "{}", third.stderr);
    assert_eq!(log().lines().count(), 7, "only what failed ran twice");
}

/// A small file system, where we may mount one: the store finds no room in the middle of a run.
#[test]
fn a_full_disk_stops_the_run_and_what_was_written_counts() {
    let folder = folder();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = |args: &[&str]| {
        let done = Command::new("mount")
            .args(args)
            .arg(&disk)
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=400k", "none"]) {
        let why = b"SKIPPED: a full disk under a run: no right to mount a small one
";
        let _ = std::io::stderr().write_all(why);
        return;
    }
    let tasks: Vec<Value> = (0..3000)
        .map(|i| json!({ "name": format!("t{i}"), "run": "true" }))
        .collect();
    write(folder.path(), &tasks);
    let ran = run(folder.path(), &["f.jsonl", "-q", "--state", "disk/s"]);
    let unmount = || Command::new("umount").arg(&disk).status();
    let check = std::panic::catch_unwind(|| {
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("disk is full"), "{}", ran.stderr);
    });
    let more = mount(&["-o", "remount,size=40m"]);
    let before = executed(&disk.join("s")).len();
    let ran = run(folder.path(), &["f.jsonl", "--json", "--state", "disk/s"]);
    unmount().unwrap();
    check.unwrap();
    assert!(more);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(started(&lines(&ran)).len(), 3000 - before, "nothing twice");
}

/// It is written when hours may have passed: for want of a folder nothing is thrown away.
#[test]
fn a_report_makes_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let flow = "[[task]]\nname = \"a\"\nrun = \"true\"\n";
    std::fs::write(folder.path().join("flow.toml"), flow).unwrap();
    for report in ["new/deep/report.html", "state/report.html", "report.html"] {
        let asked = ["flow.toml", "--state", "state", "--report", report];
        let ran = run(folder.path(), &asked);
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = std::fs::read_to_string(folder.path().join(report)).unwrap();
        assert!(text.starts_with("<!doctype html>") || text.starts_with("<!DOCTYPE html>"));
    }
    std::fs::write(folder.path().join("file"), "").unwrap();
    for report in ["file/report.html", "state"] {
        let ran = run(folder.path(), &["flow.toml", "--report", report]);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}
