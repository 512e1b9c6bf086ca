//! Volunteers as real processes: of ten, three lie (two of them tell the same lie), two vanish, one is slow. With a quorum that
//! two cannot fill every result is right; the same workers, trusted, spoil the run.

mod common;

use common::served::{Process, binary, serve, served, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const TASKS: usize = 12;

/// A chain of sums beside a fan: task n adds up what its parents made, by the program `compute`, which each worker has of its
/// own.
fn flow(folder: &Path) {
    let mut text = String::new();
    for n in 0..TASKS {
        let parents: Vec<usize> = match n {
            0..4 => Vec::new(),
            _ => vec![n - 4, n - 3],
        };
        let of = |quote: bool, kind: &str, parents: &[usize]| {
            let each = parents.iter().map(|p| match quote {
                true => format!("\"{kind}{p}{}\"", if kind == "t" { "" } else { ".txt" }),
                false => format!("{kind}{p}.txt"),
            });
            each.collect::<Vec<_>>()
        };
        text += &format!(
            "[[task]]\nname = \"t{n}\"\nkind = \"compute\"\nrun = \"compute {n} {} > o{n}.txt\"\nafter = [{}]\ninputs = [{}]\noutputs = [\"o{n}.txt\"]\n",
            of(false, "o", &parents).join(" "),
            of(true, "t", &parents).join(", "),
            of(true, "o", &parents).join(", "),
        );
    }
    std::fs::write(folder.join("flow.toml"), text).unwrap();
}

/// What the tasks make if they are made well.
fn truth() -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for n in 0..TASKS {
        let sum = match n {
            0..4 => 0,
            _ => all[n - 4] + all[n - 3],
        };
        all.push(sum * 3 + n as u64 + 1);
    }
    all
}

fn made(folder: &Path) -> Vec<Option<u64>> {
    let read = |n| {
        let text = std::fs::read_to_string(folder.join(format!("o{n}.txt"))).ok()?;
        text.trim().parse().ok()
    };
    (0..TASKS).map(read).collect()
}

const HONEST: &str =
    "n=$1; shift; s=0; for f in \"$@\"; do s=$((s + $(cat \"$f\"))); done; echo $((s * 3 + n + 1))";

/// A folder with the program `compute` as this worker has it.
fn program(folder: &Path, name: &str, script: &str) -> String {
    let place = folder.join("bin").join(name);
    std::fs::create_dir_all(&place).unwrap();
    let path = place.join("compute");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
    let rest = std::env::var("PATH").unwrap();
    format!("{}:{rest}", place.display())
}

/// Some of the ten workers. `token` says which file each shows.
fn workers(
    folder: &Path,
    url: &str,
    which: std::ops::Range<usize>,
    token: impl Fn(usize) -> String,
) -> Vec<Process> {
    let slow = format!("sleep 2; {HONEST}");
    let natures = [
        ("colluder-1", "echo 666"),
        ("colluder-2", "echo 666"),
        ("liar", "echo $$"),
        ("stuck", "sleep 600"),
        ("vanishing", "sleep 600"),
        ("slow", &slow),
        ("honest-1", HONEST),
        ("honest-2", HONEST),
        ("honest-3", HONEST),
        ("honest-4", HONEST),
    ];
    let each = |(n, (name, script)): (usize, &(&str, &str))| {
        let mut command = binary(folder);
        command
            .args(["work", url, "--token-file", &token(n), "-j", "1"])
            .args(["--name", name, "--dir", &format!("w-{name}")])
            .env("PATH", program(folder, name, script));
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        Process(command.spawn().unwrap())
    };
    let all = natures.iter().enumerate();
    all.skip(which.start).take(which.len()).map(each).collect()
}

#[test]
fn liars_vanishers_and_slow_ones_do_not_spoil_a_run_of_real_processes() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    flow(folder);
    let flags = [
        "--volunteers",
        "10",
        "--quorum",
        "4",
        "--replicate-all",
        "--deadline",
        "4s",
        "--silence",
        "3s",
    ];
    let (mut server, url, _) = serve(folder, "flow.toml", &[&["--stay"], &flags[..]].concat());
    let all = workers(folder, &url, 0..10, |n| {
        format!("state/tokens/volunteer-{}", n + 1)
    });
    std::thread::sleep(Duration::from_millis(1500));
    // It vanishes with what it has.
    all[4].signal("-KILL");
    let begin = Instant::now();
    let status = loop {
        let status = common::served::status(folder, &url);
        if status["finished"] == true {
            break status;
        }
        assert!(begin.elapsed() < Duration::from_secs(240), "{status}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let right: Vec<Option<u64>> = truth().into_iter().map(Some).collect();
    assert_eq!(made(folder), right, "{status}");
    assert_eq!(status["executed"], TASKS as u64, "{status}");
    let copies = status["copies"].as_u64().unwrap();
    assert!(copies >= 3 * TASKS as u64, "{status}");
    let trust = |name: &str, field: &str| {
        let workers = status["workers"].as_array().unwrap();
        let found = workers.iter().find(|w| w["name"] == name).unwrap();
        found["trust"][field].as_u64().unwrap()
    };
    let lies: u64 = ["colluder-1", "colluder-2", "liar"]
        .iter()
        .map(|n| trust(n, "invalid"))
        .sum();
    assert!(lies > 0, "{status}");
    for n in 1..=4 {
        assert_eq!(trust(&format!("honest-{n}"), "invalid"), 0, "{status}");
    }
    until("what waited for validation is gone", || {
        let held = std::fs::read_dir(folder.join("state/files/held")).unwrap();
        held.count() == 0
    });
    let journal = common::served::journal(folder, &url);
    let of = |kind: &str| journal.iter().filter(|e| e["event"] == kind).count();
    assert!(of("returned") >= 3 * TASKS && of("executed") == TASKS);
    // How many are usual is the simulator's to tell; no task may have more than its quorum allows for.
    for n in 0..TASKS {
        let own = |e: &&serde_json::Value| e["event"] == "leased" && e["task"] == format!("t{n}");
        let leased = journal.iter().filter(own).count();
        assert!(leased <= 24, "t{n} {leased} times, {lies} lies found");
    }
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
}

/// A volunteer's token is not a worker's, and no volunteer can speak for another.
#[test]
fn a_volunteer_is_itself_alone() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    flow(folder);
    let server = served(folder, &["flow.toml", "--stay", "--volunteers", "2"]);
    let token = |n: usize| {
        std::fs::read_to_string(folder.join(format!("state/tokens/volunteer-{n}"))).unwrap()
    };
    let host = server.url.strip_prefix("http://").unwrap();
    let post = |n: usize, path: &str, body: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /api/v1/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            token(n).trim(),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let code: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, text.to_owned())
    };
    let (code, joined) = post(1, "workers", "{\"name\":\"a\",\"cpus\":2}");
    assert_eq!(code, 200, "{joined}");
    let joined: serde_json::Value = serde_json::from_str(&joined).unwrap();
    assert!(joined.get("folder").is_none(), "{joined}");
    assert_eq!(joined["worker"], 0);
    let (code, leases) = post(1, "workers/0/exchange", "{\"want\":1}");
    assert_eq!(code, 200, "{leases}");
    let leases: serde_json::Value = serde_json::from_str(&leases).unwrap();
    let lease = &leases["leases"][0];
    let back = format!(
        "{{\"returns\":[{{\"id\":{},\"epoch\":{},\"attempt\":{},\"outcome\":\"failed\"}}]}}",
        lease["id"], lease["epoch"], lease["attempt"]
    );
    // The other one can neither speak as it, nor return what it has.
    let (code, text) = post(2, "workers/0/exchange", &back);
    assert_eq!(code, 404, "{text}");
    let (code, _) = post(2, "workers/0/heartbeat", "{\"holding\":[]}");
    assert_eq!(code, 404);
    let (code, text) = post(2, "workers", "{\"name\":\"b\",\"cpus\":1}");
    assert_eq!(code, 200, "{text}");
    let (code, text) = post(2, "workers/1/exchange", &back);
    assert!(code == 200 && text.contains("unknown"), "{code} {text}");
    // Without its outputs a return is a failure, and counts as one.
    let done = back.replace("failed", "executed");
    let (code, text) = post(1, "workers/0/exchange", &done);
    assert!(code == 200 && text.contains("accepted"), "{code} {text}");
    let status = common::served::status(folder, &server.url);
    assert_eq!(status["executed"], 0, "{status}");
    assert_eq!(status["workers"][0]["trust"]["errors"], 1, "{status}");
    let (code, _) = post(1, "pause", "{}");
    assert_eq!(code, 403);
}

/// Without the vanishers, who would leave it without an end.
#[test]
fn the_same_workers_spoil_the_run_when_they_are_trusted() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    flow(folder);
    let (_server, url, _) = serve(folder, "flow.toml", &["--stay", "--silence", "3s"]);
    let right: Vec<Option<u64>> = truth().into_iter().map(Some).collect();
    let wrong = || {
        let made = made(folder);
        let wrong = made.iter().zip(&right);
        wrong.filter(|(m, r)| m.is_some() && m != r).count()
    };
    let token = |_| "state/tokens/worker".to_owned();
    // Liars need no time for what they return: some come first anywhere.
    let _liars = workers(folder, &url, 0..3, token);
    until("somebody lies", || wrong() > 0);
    let _others = workers(folder, &url, 5..10, token);
    until("the end", || {
        common::served::status(folder, &url)["finished"] == true
    });
    let status = common::served::status(folder, &url);
    assert_eq!(status["executed"], TASKS as u64, "{status}");
    assert!(
        wrong() > 0,
        "all is executed, and what was wrong stays wrong: {status}"
    );
}

/// What results count for stays what it was: without flags at all, and never less.
#[test]
fn a_restart_keeps_what_results_count_for() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    flow(folder);
    let refused = |args: &[&str]| {
        let mut command = binary(folder);
        let command = command.args(["serve", "flow.toml", "--state", "state"]);
        let output = command.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&["--volunteers", "2", "--quorum", "4"]);
    assert!(said.contains("needs 3 equal results"), "{said}");
    assert!(said.contains("--volunteers 3 or more"), "{said}");
    let (mut server, ..) = serve(
        folder,
        "flow.toml",
        &["--stay", "--volunteers", "3", "--quorum", "4"],
    );
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
    let said = refused(&["--volunteers", "3", "--quorum", "2"]);
    let why = "begun with --quorum 4: --quorum 2 would let results count that were promised more";
    assert!(said.contains(why), "{said}");
    assert!(said.contains("leave --quorum out to go on"), "{said}");
    let said = refused(&["--disk", "1GB"]);
    assert!(
        said.contains("this state has tokens of 3 volunteers"),
        "{said}"
    );
    assert!(said.contains("go on without the cap, or give"), "{said}");
    // Nobody says anything: three must agree all the same.
    let (mut server, url, _) = serve(folder, "flow.toml", &["--stay"]);
    let _workers = workers(folder, &url, 7..10, |n| {
        format!("state/tokens/volunteer-{}", n - 6)
    });
    until("the end", || {
        common::served::status(folder, &url)["finished"] == true
    });
    let status = common::served::status(folder, &url);
    assert_eq!(status["executed"], TASKS as u64, "{status}");
    // Whoever has been right ten times is taken at its word now and then: some of the last tasks need fewer.
    let copies = status["copies"].as_u64().unwrap();
    let tasks = TASKS as u64;
    assert!(copies > 2 * tasks && copies <= 3 * tasks, "{status}");
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
}

/// A task that never agrees with itself ends, though there are fewer volunteers than results it might have had.
#[test]
fn few_volunteers_who_never_agree_come_to_an_end() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let text = "[[task]]\nname = \"t\"\nrun = \"date +%N; echo $$\"\n";
    std::fs::write(folder.join("flow.toml"), text).unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &["--volunteers", "3"]);
    let _workers = workers(folder, &url, 7..10, |n| {
        format!("state/tokens/volunteer-{}", n - 6)
    });
    assert_eq!(server.end(90), 1, "given up, not waited for");
}

/// Trust goes with the token from one workflow to the next; another token gets nothing of it.
#[test]
fn the_next_workflow_knows_the_volunteers_of_the_last_by_their_tokens() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    flow(folder);
    let flags = [
        "--stay",
        "--volunteer-tokens",
        "known",
        "--book",
        "book.json",
        "--volunteers",
    ];
    let (mut server, url, _) = serve(folder, "flow.toml", &[&flags[..], &["2"]].concat());
    let token = |n: usize| format!("known/volunteer-{}", n - 6);
    let first = workers(folder, &url, 7..9, token);
    until("the end", || {
        common::served::status(folder, &url)["finished"] == true
    });
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
    drop(first);
    let book: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("book.json")).unwrap()).unwrap();
    assert_eq!(book["version"], 3, "{book}");
    let known = book["volunteers"].as_object().unwrap();
    assert_eq!(known.len(), 2, "{book}");
    for (who, record) in known {
        assert!(record["rows"]["compute"].as_u64() >= Some(10), "{book}");
        let mut files = (1..=2).map(|n| folder.join(format!("known/volunteer-{n}")));
        assert!(files.all(|f| !std::fs::read_to_string(f).unwrap().contains(who)));
    }

    std::fs::remove_dir_all(folder.join("state")).unwrap();
    (0..TASKS).for_each(|n| std::fs::remove_file(folder.join(format!("o{n}.txt"))).unwrap());
    let (_server, url, _) = serve(folder, "flow.toml", &[&flags[..], &["3"]].concat());
    // The third is new, and calls itself as one of them did.
    let _both = workers(folder, &url, 7..9, token);
    let mut stranger = binary(folder);
    stranger
        .args(["work", &url, "--token-file", "known/volunteer-3", "-j", "1"])
        .args(["--name", "honest-2", "--dir", "w-stranger"])
        .env("PATH", program(folder, "stranger", "sleep 600"));
    let _stranger = Process(
        stranger
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let trust = |status: &serde_json::Value, volunteer: u64, field: &str| {
        let workers = status["workers"].as_array().unwrap();
        let found = workers
            .iter()
            .find(|w| w["trust"]["volunteer"] == volunteer);
        found.and_then(|w| w["trust"][field].as_u64())
    };
    until("all three", || {
        let status = common::served::status(folder, &url);
        (1..=3).all(|n| trust(&status, n, "valid").is_some())
    });
    let status = common::served::status(folder, &url);
    // Both begin with what the book has of them; they may have returned something since. Which of the two is which the book
    // does not tell: least with least.
    let ordered = |mut both: Vec<u64>| {
        both.sort_unstable();
        both
    };
    for (field, written) in [("valid", "valid"), ("in_a_row", "row")] {
        let before = known.values().map(|r| r[written].as_u64().unwrap());
        let before = ordered(before.collect());
        let now = (1..=2).map(|n| trust(&status, n, field).unwrap());
        let now = ordered(now.collect());
        // Whoever was right ten times is taken at its word now and then: the other one does not get the last tasks.
        assert!(before[0] >= 10, "{book}");
        let is_kept = now.iter().zip(&before).all(|(now, before)| now >= before);
        assert!(is_kept, "{field} {before:?}: {status}");
    }
    assert_eq!(trust(&status, 3, "valid"), Some(0), "{status}");
    let journal = common::served::journal(folder, &url);
    let of = |kind: &str| journal.iter().filter(|e| e["event"] == kind).count();
    assert_eq!(of("remembered"), 2);
    // The stranger keeps what it has; of the others' some is taken at the word of one.
    until("one is believed", || {
        let journal = common::served::journal(folder, &url);
        let of = |kind: &str, task: &serde_json::Value| {
            let same = |e: &&serde_json::Value| e["event"] == kind && e["task"] == *task;
            journal.iter().filter(same).count()
        };
        let executed = journal.iter().filter(|e| e["event"] == "executed");
        executed
            .map(|e| &e["task"])
            .any(|task| of("leased", task) == 1)
    });
}

/// What a volunteer may never have on the server's disk is a failure with its reason, and no wait without end; what it may not
/// have of a log keeps no result back.
#[test]
fn what_is_too_large_for_a_volunteer_fails_and_a_long_log_does_not() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let loud = "head -c 400000 /dev/zero | tr '\\\\0' x";
    let text = format!(
        "[[task]]\nname = \"big\"\nrun = \"head -c 200000 /dev/zero > a; head -c 200001 /dev/zero > b\"\noutputs = [\"a\", \"b\"]\n\
         [[task]]\nname = \"loud\"\nrun = \"{loud}; echo done > c\"\noutputs = [\"c\"]\n\
         [[task]]\nname = \"print\"\nrun = \"{loud}\"\n"
    );
    std::fs::write(folder.join("flow.toml"), text).unwrap();
    let flags = [
        "--volunteers",
        "2",
        "--volunteer-uploads",
        "300KB",
        "--stay",
    ];
    let (mut server, url, _) = serve(folder, "flow.toml", &flags);
    let _workers = workers(folder, &url, 7..9, |n| {
        format!("state/tokens/volunteer-{}", n - 6)
    });
    until("the end", || {
        common::served::status(folder, &url)["finished"] == true
    });
    let status = common::served::status(folder, &url);
    assert_eq!(status["executed"], 1, "{status}");
    assert_eq!(status["failed"], 2, "{status}");
    assert_eq!(std::fs::read_to_string(folder.join("c")).unwrap(), "done\n");
    let journal = common::served::journal(folder, &url);
    let causes: Vec<(&str, &str)> = (journal.iter().filter(|e| e["event"] == "failed"))
        .map(|e| (e["task"].as_str().unwrap(), e["cause"].as_str().unwrap()))
        .collect();
    for name in ["big", "print"] {
        let own: Vec<_> = causes.iter().filter(|(task, _)| *task == name).collect();
        assert!(own.len() > 3, "each counts: {causes:?}");
        assert!(
            own.iter().all(|(_, cause)| *cause == "output"),
            "{causes:?}"
        );
    }
    let logs = |task: usize| {
        let entries = std::fs::read_dir(folder.join(format!("state/logs/{task}"))).unwrap();
        let read =
            |e: std::io::Result<std::fs::DirEntry>| std::fs::read(e.unwrap().path()).unwrap();
        entries
            .map(|e| String::from_utf8_lossy(&read(e)).into_owned())
            .collect::<Vec<_>>()
    };
    let why = "more than a volunteer may have here";
    for task in [0, 2] {
        let ends = |log: &String| log.lines().last().is_some_and(|line| line.contains(why));
        assert!(logs(task).iter().any(ends), "task {task}");
    }
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
}
