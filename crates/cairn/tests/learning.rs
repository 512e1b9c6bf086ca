//! What `cairn run` and `cairn serve` choose by themselves, what of it is told, and what they learn for the next time.
#![cfg(target_os = "linux")]

mod common;

use cairn_oracle::random_dag;
use cairn_serve::store::{Store, Sync};
use common::served::{gathered, serve, status, until, worker};
use common::{Run, cairn_at};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// A random flow whose tasks run the command.
fn write(folder: &Path, tasks: usize, seed: u64, command: impl Fn(usize) -> String) {
    let dag = random_dag(tasks, 2, seed);
    let mut text = String::new();
    for task in dag.tasks() {
        let parents = dag.parents(task).iter();
        let after: Vec<String> = parents.map(|p| format!("t{}", p.0)).collect();
        let name = format!("t{}", task.0);
        let run = command(task.index());
        writeln!(
            text,
            "{}",
            json!({ "name": name, "run": run, "after": after })
        )
        .unwrap();
    }
    std::fs::write(folder.join("f.jsonl"), text).unwrap();
}

fn run(folder: &Path, args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.arg("run").args(args).current_dir(folder);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command.output().unwrap().into()
}

fn lines(run: &Run) -> Vec<Value> {
    let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    run.stdout.lines().map(parse).collect()
}

/// The number of the newest order, and the order.
fn stored(state: &Path) -> (u32, Vec<u32>) {
    let store = Store::create_or_open(state, Sync::Full).unwrap();
    store.newest_order().unwrap().unwrap()
}

/// What the store says of its order.
fn about(state: &Path) -> Value {
    let store = Store::create_or_open(state, Sync::Full).unwrap();
    serde_json::from_str(&store.meta("order").unwrap().unwrap()).unwrap()
}

/// A run that says when an order is chosen for good; then `go` is there for those who wait for it.
fn run_until_settled(folder: &Path, args: &[&str]) -> i32 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.arg("run").args(args).current_dir(folder);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        if line.unwrap().contains("order: ") {
            std::fs::write(folder.join("go"), "").unwrap();
        }
    }
    child.wait().unwrap().code().unwrap()
}

/// Whatever is chosen is told with what it gives up; it is the order in force, and a resume keeps it without another.
#[test]
fn a_run_chooses_by_itself_tells_it_and_keeps_to_it() {
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // One task in the middle fails at first, and one waits until policies are compared: that is done by a thread which all
        // others go before.
        write(folder, 24, seed, |t| match t {
            12 => "test -e mended".to_owned(),
            0 => "for i in $(seq 2000); do test -e go && break; sleep 0.1; done".to_owned(),
            _ => "true".to_owned(),
        });
        let slots = ["1", "2"][seed as usize % 2];
        let args = ["f.jsonl", "-j", slots, "-k", "--state", "s"];
        assert_eq!(run_until_settled(folder, &args), 1, "seed {seed}");
        assert!(folder.join("go").exists(), "nothing was ever compared");
        let told = about(&folder.join("s"));
        assert_eq!(told["policy"], "auto", "{told}");
        assert_eq!(told["settled"], true, "{told}");
        let (area, bound) = (&told["area"], &told["area_bound"]);
        assert!(area.as_u64().unwrap() <= bound.as_u64().unwrap(), "{told}");
        assert!(told["verdict"].is_string(), "{told}");
        let why = told["why"].as_str().unwrap();
        let reason = [
            "on one slot every order takes as long",
            "2 slots of this machine",
        ];
        assert!(why.contains(reason[seed as usize % 2]), "{why}");
        let before = stored(&folder.join("s"));
        std::fs::write(folder.join("mended"), "").unwrap();
        let second = run(folder, &[&args[..], &["--json"]].concat());
        assert_eq!(second.code, 0, "{}", second.stderr);
        assert_eq!(stored(&folder.join("s")), before, "seed {seed}");
        assert_eq!(lines(&second).pop().unwrap()["order"], told);
        // The order of `plan --policy auto` on as many slots, where nothing ran meanwhile.
        let plan = ["plan", "f.jsonl", "--policy", "auto", "--slots", slots];
        let plan = cairn_at(folder, 80, &[&plan[..], &["--json"]].concat(), b"");
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        assert_eq!(plan["policy"], told["chosen"], "seed {seed}: {plan}");
        assert_eq!(plan["area_bound"], *bound);
    }
}

/// Times of a run are there for the next plan, which says so; the state is a log like any other.
#[test]
fn a_run_teaches_the_next_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tasks = [
        json!({ "name": "short-1", "run": "sleep 0.01" }),
        json!({ "name": "long-1", "run": "sleep 0.3" }),
        json!({ "name": "end", "run": "true", "after": ["short-1", "long-1"] }),
    ];
    let text: String = tasks.iter().map(|t| format!("{t}\n")).collect();
    std::fs::write(folder.join("f.jsonl"), &text).unwrap();
    let see = |args: &[&str]| cairn_at(folder, 200, args, b"");
    let plan = see(&["plan", "f.jsonl"]);
    assert!(!plan.stderr.contains("learnt"), "{}", plan.stderr);
    assert_eq!(run(folder, &["f.jsonl", "-j2"]).code, 0);

    let plan = see(&["plan", "f.jsonl"]);
    let said = "with times learnt from earlier runs (3 by name)";
    assert!(plan.stderr.contains(said), "{}", plan.stderr);
    let plan = see(&["plan", "f.jsonl", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!(plan["times"]["by_name"], 3, "{plan}");
    let plan = see(&["plan", "f.jsonl", "--no-learnt-times"]);
    assert!(!plan.stderr.contains("learnt"), "{}", plan.stderr);

    for state in [".cairn/f.jsonl", ".cairn/f.jsonl/cairn.db"] {
        let times = see(&["times", state, "--json"]);
        assert_eq!(times.code, 0, "{}", times.stderr);
        let times: Value = serde_json::from_str(&times.stdout).unwrap();
        assert_eq!(times["files"][0]["format"], "state of a run");
        assert_eq!(times["files"][0]["jobs"], 3);
        assert_eq!(times["workers"]["flags"], "--slots 2", "{times}");
        let long = times["kinds"].as_array().unwrap().iter();
        let long = long.clone().find(|k| k["kind"] == "long").unwrap();
        let median = long["median"].as_f64().unwrap();
        assert!((0.3..30.0).contains(&median), "{times}");
    }
    let simulate = ["simulate", "f.jsonl", "--world-from", ".cairn/f.jsonl"];
    let simulated = see(&[&simulate[..], &["--runs", "5"]].concat());
    assert!(
        simulated.stdout.starts_with("On 2 slots, "),
        "{simulated:?}"
    );
    assert!(
        simulated
            .stderr
            .contains("workers as in the log: --slots 2")
    );

    // A flow that changed has other orders, by what was learnt; tasks alike go by their kind.
    let more = json!({ "name": "long-2", "run": "sleep 3", "after": ["end"] });
    std::fs::write(folder.join("f.jsonl"), format!("{text}{more}\n")).unwrap();
    let again = run(folder, &["f.jsonl", "-j2", "--json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let told = lines(&again).pop().unwrap()["order"].clone();
    let why = told["why"].as_str().unwrap();
    let said = "with times learnt from earlier runs (3 by name, 1 by kind of job)";
    assert!(why.contains(said), "{told}");

    // Times that are given are not overruled.
    std::fs::write(folder.join("t.csv"), "long-1,7\n").unwrap();
    let plan = see(&["plan", "f.jsonl", "--times", "t.csv"]);
    assert!(plan.stderr.contains("times of 4 tasks"), "{}", plan.stderr);
    assert!(!plan.stderr.contains("learnt"), "{}", plan.stderr);
}

#[test]
fn what_is_no_state_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("s")).unwrap();
    std::fs::write(
        folder.join("s/cairn.db"),
        "no database at all, but long enough to look",
    )
    .unwrap();
    let times = cairn_at(folder, 80, &["times", "s"], b"");
    assert_eq!(times.code, 2, "{times:?}");
    assert!(times.stderr.contains("cairn.db"), "{times:?}");
    assert!(times.stderr.contains("help: "), "{times:?}");
    // A state of nothing.
    write(folder, 3, 1, |_| "false".to_owned());
    assert_eq!(run(folder, &["f.jsonl", "--state", "t"]).code, 1);
    let times = cairn_at(folder, 80, &["times", "t"], b"");
    assert_eq!(times.code, 2, "{times:?}");
    assert!(
        times.stderr.contains("no task that was executed"),
        "{times:?}"
    );
}

/// A server chooses too, shows it in its status, and its state tells who worked.
#[test]
fn a_server_chooses_and_its_state_tells_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, 30, 3, |_| "sleep 0.02".to_owned());
    let (mut server, url, _) = serve(folder, "f.jsonl", &["--slots", "2"]);
    until("a choice", || {
        status(folder, &url)["order"]["settled"] == true
    });
    let told = status(folder, &url)["order"].clone();
    assert_eq!(told["policy"], "auto", "{told}");
    assert!(told["area_ratio"].as_f64().unwrap() <= 1.0, "{told}");
    assert!(told["verdict"].is_string(), "{told}");
    let why = told["why"].as_str().unwrap();
    assert!(why.contains("a cluster queue with 2 slots"), "{why}");
    let workers = gathered(folder, &url, 2, || {
        [0, 1].map(|_| worker(folder, &url, &["-j", "1"]))
    });
    for mut worker in workers {
        assert_eq!(worker.end(60), 0);
    }
    assert_eq!(server.end(60), 0);
    let times = cairn_at(folder, 80, &["times", "state", "--json"], b"");
    let times: Value = serde_json::from_str(&times.stdout).unwrap();
    assert_eq!(times["files"][0]["jobs"], 30, "{times}");
    let flags = times["workers"]["flags"].as_str().unwrap();
    assert!(flags.starts_with("--world pool --workers 2"), "{times}");
    let simulate = [
        "simulate",
        "f.jsonl",
        "--world-from",
        "state",
        "--times",
        "state",
    ];
    let simulated = cairn_at(
        folder,
        200,
        &[&simulate[..], &["--runs", "5"]].concat(),
        b"",
    );
    assert_eq!(simulated.code, 0, "{simulated:?}");
    assert!(
        simulated.stdout.starts_with("On 2 workers, "),
        "{simulated:?}"
    );
}

/// Flags of workers without a contest would be forgotten in silence.
#[test]
fn workers_mean_nothing_to_a_given_policy() {
    for command in ["serve", "submit"] {
        let more: &[&str] = match command {
            "serve" => &["--state", "s"],
            _ => &["--engine", "htcondor", "-n", "-o", "x"],
        };
        let args = [
            &[command, "f.jsonl", "--policy", "ic", "--slots", "4"],
            more,
        ]
        .concat();
        let folder = tempfile::tempdir().unwrap();
        let ran = cairn_at(folder.path(), 80, &args, b"");
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stderr.contains("mean nothing without --policy auto"),
            "{ran:?}"
        );
    }
}

/// One choice, whatever the number of threads.
#[test]
fn the_choice_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for seed in 0..3 {
        write(folder, 80, seed, |_| "true".to_owned());
        let plan = |threads: &str| {
            let args = ["plan", "f.jsonl", "--policy", "auto", "--json", "--threads"];
            let run = cairn_at(folder, 80, &[&args[..], &[threads]].concat(), b"");
            let plan: Value = serde_json::from_str(&run.stdout).unwrap();
            (plan["auto"].clone(), plan["order"].clone())
        };
        let one = plan("1");
        assert!(one.0["policy"].is_string(), "{}", one.0);
        assert_eq!(one, plan("2"));
        assert_eq!(one, plan("5"));
    }
}

/// The log that ninja writes now, not the one that it wrote when a sample was taken.
#[test]
fn a_log_of_ninja_itself_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let build = "rule nap\n  command = sleep $seconds && touch $out\n\
                 build short.o: nap\n  seconds = 0.05\n\
                 build long.o: nap\n  seconds = 0.4\n\
                 build all.txt: nap short.o long.o\n  seconds = 0.1\n";
    std::fs::write(folder.join("build.ninja"), build).unwrap();
    let ninja = Command::new("ninja").current_dir(folder).output();
    let Ok(ninja) = ninja else {
        let _ = std::io::stderr().write_all(b"SKIPPED: there is no ninja here\n");
        return;
    };
    assert!(ninja.status.success(), "{ninja:?}");
    let times = cairn_at(folder, 80, &["times", ".ninja_log", "--json"], b"");
    assert_eq!(times.code, 0, "{times:?}");
    let times: Value = serde_json::from_str(&times.stdout).unwrap();
    assert_eq!(times["files"][0]["format"], "ninja log");
    assert_eq!(times["files"][0]["jobs"], 3);
    let kinds = times["kinds"].as_array().unwrap().iter();
    let longest = kinds.map(|k| k["longest"].as_f64().unwrap());
    let longest = longest.fold(0.0, f64::max);
    assert!((0.4..60.0).contains(&longest), "{times}");
}
