//! Workers that differ, as real processes: their speeds are learnt, remembered for the next workflow, and used there.

mod common;

use common::served::{ask, gathered, journal, serve, status, worker};
use serde_json::Value;
use std::path::Path;

/// Tasks that take six times as long in the folder of the slow worker.
fn flow(tasks: usize, is_chain: bool) -> String {
    let run = "case $PWD in */slow/*) sleep 3;; *) sleep 0.5;; esac";
    let task = |n: usize| {
        let after = match is_chain && n > 0 {
            true => format!("after = [\"step-{}\"]\n", n - 1),
            false => String::new(),
        };
        format!(
            "[[task]]\nname = \"step-{n}\"\nkind = \"step\"\nseconds = 0.5\nrun = {run:?}\n{after}"
        )
    };
    (0..tasks).map(task).collect()
}

fn workers(folder: &Path, url: &str) -> [common::served::Process; 2] {
    ["slow", "fast"].map(|name| {
        let args = ["-j", "1", "--dir", name, "--name", name];
        worker(folder, url, &args)
    })
}

fn of<'s>(status: &'s Value, name: &str) -> &'s Value {
    let workers = status["workers"].as_array().unwrap();
    workers.iter().find(|w| w["name"] == name).unwrap()
}

#[test]
fn speeds_are_learnt_and_the_next_workflow_goes_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("bag.toml"), flow(24, false)).unwrap();
    std::fs::create_dir(folder.join("known")).unwrap();
    let book = folder.join("known/book.json");
    let book = book.to_str().unwrap();
    let (mut server, url, _) = serve(folder, "bag.toml", &["--stay", "--book", book]);
    let both = workers(folder, &url);
    common::served::until("all is executed", || {
        status(folder, &url)["finished"] == true
    });
    let seen = status(folder, &url);
    let speed = |name: &str| of(&seen, name)["speed"].as_f64().unwrap();
    assert!(speed("fast") > 2.0 * speed("slow"), "{seen}");
    assert_eq!(of(&seen, "fast")["reliability"], 1.0);
    assert!(of(&seen, "slow")["turnaround"].as_f64().unwrap() > 2.5);
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
    drop(both);
    let known: Value = serde_json::from_str(&std::fs::read_to_string(book).unwrap()).unwrap();
    assert_eq!(known["version"], 3);
    assert!(known["workers"]["fast"].is_object() && known["kinds"]["step"].is_object());

    // A chain: by the order alone whoever asks first gets the next step; by speeds it stays with the fast one.
    std::fs::remove_dir_all(folder.join("state")).unwrap();
    std::fs::write(folder.join("chain.toml"), flow(8, true)).unwrap();
    let args = ["--stay", "--book", book, "--dispatch", "aware"];
    let (mut server, url, _) = serve(folder, "chain.toml", &args);
    let both = gathered(folder, &url, 2, || workers(folder, &url));
    common::served::until("all is executed", || {
        status(folder, &url)["finished"] == true
    });
    let seen = status(folder, &url);
    let executed = |name: &str| of(&seen, name)["executed"].as_u64().unwrap();
    assert!(executed("fast") >= 6, "{seen}");
    let leased = journal(folder, &url);
    assert!(
        leased
            .iter()
            .any(|e| e["event"] == "joined" && !e["offer"]["benchmark"].is_null())
    );
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
    drop(both);
}

/// The first attempt at a task hangs: it is begun again on the other worker, whose result counts, and the first one is ended.
/// Where both workers run their tasks in the folder of the workflow, nothing is begun twice.
#[test]
fn a_task_that_hangs_is_begun_again_on_another_worker() {
    let run = "case $CAIRN_ATTEMPT in *.1) sleep 40;; esac; echo $CAIRN_ATTEMPT > late.txt";
    let late = format!(
        "[[task]]\nname = \"late\"\nkind = \"step\"\nseconds = 0.2\noutputs = [\"late.txt\"]\nrun = {run:?}\n"
    );
    let step = |n: usize| {
        format!(
            "[[task]]\nname = \"step-{n}\"\nkind = \"step\"\nseconds = 0.2\nrun = \"sleep 0.2\"\n"
        )
    };
    let text: String = (0..8).map(step).chain([late]).collect();
    for is_shared in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("flow.toml"), &text).unwrap();
        let (mut server, url, _) = serve(folder, "flow.toml", &["--stay", "--dispatch", "aware"]);
        let mut both = ["one", "two"].map(|name| {
            let place = if is_shared { "--shared" } else { "--dir" };
            let at = if is_shared { "." } else { name };
            worker(folder, &url, &["-j", "1", place, at, "--name", name])
        });
        let attempts = || {
            let all = journal(folder, &url);
            let of = |e: &&Value| e["event"] == "leased" && e["task"] == "late";
            all.iter().filter(of).count()
        };
        if is_shared {
            // All else is done long before, and for long nobody else begins with it.
            common::served::until("the rest is executed", || {
                status(folder, &url)["executed"] == 8
            });
            std::thread::sleep(std::time::Duration::from_secs(5));
            assert_eq!(attempts(), 1);
            continue;
        }
        let begin = std::time::Instant::now();
        common::served::until("all is executed", || {
            status(folder, &url)["finished"] == true
        });
        assert!(begin.elapsed().as_secs() < 35, "it was waited for");
        let first = std::fs::read_to_string(folder.join("late.txt")).unwrap();
        assert_ne!(first.trim(), "1.1");
        assert!(attempts() > 1);
        let seen = status(folder, &url);
        assert_eq!(seen["executed"], 9, "{seen}");
        let executed = |name| of(&seen, name)["executed"].as_u64().unwrap();
        assert_eq!(executed("one") + executed("two"), 9, "{seen}");
        let ended = journal(folder, &url);
        let is_end = |e: &&Value| e["event"] == "executed" && e["task"] == "late";
        assert_eq!(ended.iter().filter(is_end).count(), 1);
        // Who has it would wait for it for half a minute, did the server not tell it to stop.
        for worker in &mut both {
            worker.end(20);
        }
        server.signal("-TERM");
        assert_eq!(server.end(30), 130);
        let made = std::fs::read_to_string(folder.join("late.txt")).unwrap();
        assert_eq!(made, first, "a success is never overwritten");
    }
}

#[test]
fn a_book_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("flow.toml"), flow(1, false)).unwrap();
    for text in ["no JSON", "{\"version\":9,\"kinds\":{},\"workers\":{}}"] {
        std::fs::write(folder.join("book.json"), text).unwrap();
        let run = ask(
            folder,
            &[
                "serve",
                "flow.toml",
                "--state",
                "state",
                "--book",
                "book.json",
            ],
        );
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("book.json"), "{}", run.stderr);
        assert!(run.stderr.contains("--book"), "{}", run.stderr);
    }
}

/// `simulate --speeds --dispatch` says what it would be worth.
#[test]
fn simulate_says_what_it_is_worth() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("chain.toml"), flow(8, true)).unwrap();
    let args = [
        "simulate",
        "chain.toml",
        "--world",
        "pool",
        "--workers",
        "4",
        "--speeds",
        "0.7",
        "--dispatch",
        "aware",
        "--policies",
        "ic,heft",
        "--runs",
        "60",
        "--json",
    ];
    let run = ask(folder, &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let ratio = |other: &str| {
        answer["ratios"][other]["makespan"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(ratio("aware/ic") < 0.7, "{answer}");
    assert!(ratio("aware/heft") < 1.4, "{answer}");
    let run = ask(
        folder,
        &[
            "simulate",
            "chain.toml",
            "--world",
            "pool",
            "--speeds",
            "-1",
        ],
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
}
