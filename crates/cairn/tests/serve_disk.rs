//! `cairn serve --disk` and its workers as real processes: real files under a cap, watched from outside; kills; lost workers that go on
//! writing; a disk that others fill; what is refused before anything starts.
#![cfg(target_os = "linux")]

mod common;

use cairn_oracle::Random;
use common::samples::{
    LARGE, SMALL, SmallDisk, assert_made, planned_peak, samples, there, watched_by, write,
};
use common::served::{Process, Served, ask, binary, journal, status, until, worker};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A server of the samples in a folder, with its state elsewhere.
fn served(folder: &Path, state: &Path, more: &[&str]) -> (Process, String) {
    let mut command = binary(folder);
    command.args(["serve", "f.jsonl", "--state"]).arg(state);
    command.args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let url = first.strip_prefix("listening on ");
    let url = url.and_then(|rest| rest.split_once(','));
    let (url, _) = url.unwrap_or_else(|| panic!("{first}"));
    (Process(child), url.to_owned())
}

/// A worker in a shared folder, with its place and tokens elsewhere.
fn shared(folder: &Path, state: &Path, url: &str, place: &str) -> Process {
    let mut command = binary(folder);
    command.args(["work", url, "-j", "1", "--shared", ".", "--token-file"]);
    command.arg(state.join("tokens/worker"));
    command.arg("--dir").arg(state.join(place));
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    Process(quiet.spawn().unwrap())
}

fn status_of(folder: &Path, state: &Path, url: &str) -> Value {
    let token = state.join("tokens/observer");
    let args = [
        "status",
        url,
        "--json",
        "--token-file",
        token.to_str().unwrap(),
    ];
    let run = ask(folder, &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn cap_args(cap: u64) -> [String; 4] {
    [
        "--disk".into(),
        format!("{cap}B"),
        "--safety".into(),
        "1".into(),
    ]
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// What the disk itself says, at every moment, with four workers in one folder.
#[test]
fn four_workers_in_a_shared_folder_stay_under_the_cap() {
    const COUNT: usize = 60;
    let Some(disk) = SmallDisk::new(64 << 20, "a shared folder under a cap") else {
        return;
    };
    let folder = disk.path();
    write(folder, &samples(COUNT));
    let peak = planned_peak(folder);
    let before = disk.used();
    for cap in [3 * peak, peak] {
        let states = tempfile::tempdir().unwrap();
        let state = states.path().join("state");
        let cap_args = cap_args(cap);
        let (code, most) = disk.watched(|| {
            let (mut server, url) = served(folder, &state, &words(&cap_args));
            let storage = &status_of(folder, &state, &url)["storage"];
            assert_eq!(storage["cap"], cap, "{storage}");
            let mut workers: Vec<Process> = (0..4)
                .map(|n| shared(folder, &state, &url, &format!("w{n}")))
                .collect();
            let code = server.end(120);
            workers.iter_mut().for_each(|w| assert_eq!(w.end(30), 0));
            code
        });
        assert_eq!(code, 0);
        assert!(most > before + LARGE, "nothing was seen");
        assert!(most - before <= cap, "{} > {cap}", most - before);
        assert_made(folder, COUNT);
        // What was deleted is not missed: the same command has nothing to do.
        let more = [&words(&cap_args)[..], &["--stay"]].concat();
        let (_again, url) = served(folder, &state, &more);
        let now = status_of(folder, &state, &url);
        assert_eq!(now["executed"], 3 * COUNT, "{now}");
        assert_eq!(now["storage"]["used"], COUNT as u64 * SMALL, "{now}");
        assert_eq!(now["storage"]["reserved"], 0, "{now}");
        (0..COUNT).for_each(|i| std::fs::remove_file(folder.join(format!("{i}.c"))).unwrap());
    }
}

/// Bytes in a folder by file, whatever they are called.
fn sizes(folder: &Path) -> HashMap<String, u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |e: std::fs::DirEntry| {
        let meta = e.metadata().ok().filter(|m| m.is_file())?;
        Some((e.path().display().to_string(), meta.len()))
    };
    entries.filter_map(size).collect()
}

/// What lies at one moment with the server of workers that carry, or a little less: the flow's files and uploads on their way.
fn with_the_server(folder: &Path) -> u64 {
    let look = || {
        let mut all = HashMap::new();
        for inside in ["state/files/partial", "state/files", "."] {
            all.extend(sizes(&folder.join(inside)));
        }
        all.retain(|path, _| !path.ends_with("f.jsonl"));
        all
    };
    let (before, after) = (look(), look());
    let both = before
        .iter()
        .filter_map(|(path, a)| Some(a.min(after.get(path)?)));
    both.sum()
}

/// Workers with folders of their own: uploads count as well, and are let in only where there is room.
#[test]
fn uploads_of_four_workers_stay_under_the_cap() {
    const COUNT: usize = 30;
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let mut tasks = samples(COUNT);
    // Every sample has another content: uploads are known by what is in them.
    for (n, task) in tasks.iter_mut().enumerate().filter(|(n, _)| n % 3 == 0) {
        let a = format!("{}.a", n / 3);
        let run = format!("(printf %08d {n}; head -c {} /dev/zero) > {a}", LARGE - 8);
        task["run"] = run.into();
    }
    write(folder, &tasks);
    let peak = planned_peak(folder);
    for cap in [peak, 3 * peak] {
        let cap_args = cap_args(cap);
        let (code, most) = watched_by(&|| with_the_server(folder), || {
            let state = folder.join("state");
            let (mut server, url) = served(folder, &state, &words(&cap_args));
            let mut workers: Vec<Process> = (0..4)
                .map(|n| worker(folder, &url, &["-j", "1", "--dir", &format!("w{n}")]))
                .collect();
            let code = server.end(120);
            workers.iter_mut().for_each(|w| assert_eq!(w.end(30), 0));
            code
        });
        assert_eq!(code, 0);
        assert!(most >= LARGE, "nothing was seen");
        assert!(most <= cap, "{most} > {cap}");
        for i in 0..COUNT {
            let made = std::fs::read(folder.join(format!("{i}.c"))).unwrap();
            assert_eq!(made.len() as u64, SMALL);
            assert_eq!(&made[..8], format!("{:08}", 3 * i).as_bytes());
            assert!(!folder.join(format!("{i}.a")).exists());
            std::fs::remove_file(folder.join(format!("{i}.c"))).unwrap();
        }
        let left = sizes(&folder.join("state/files"));
        assert!(left.is_empty(), "{left:?}");
        std::fs::remove_dir_all(folder.join("state")).unwrap();
    }
}

/// Server and workers are killed at random, again and again: the disk itself never has more than the cap, and all comes out right.
/// `CAIRN_KILLS` kills instead of 10.
#[test]
fn kills_under_a_cap_are_never_over_it() {
    let kills: usize = std::env::var("CAIRN_KILLS").map_or(10, |k| k.parse().unwrap());
    let count = 20 + 2 * kills;
    let Some(disk) = SmallDisk::new(64 << 20, "kills under a cap") else {
        return;
    };
    let folder = disk.path();
    let mut tasks = samples(count);
    for task in &mut tasks {
        // Long enough to be hit.
        let run = format!("sleep 0.05; {}", task["run"].as_str().unwrap());
        task["run"] = run.into();
    }
    write(folder, &tasks);
    let cap = planned_peak(folder) + 2 * LARGE;
    let before = disk.used();
    let states = tempfile::tempdir().unwrap();
    let state = states.path().join("state");
    let mut random = Random::new(77);
    let patient = ["--silence", "1s", "--losses", "1000", "--listen"];
    let cap_args = cap_args(cap);
    let args = |listen: &str| -> Vec<String> {
        let all = [&words(&cap_args)[..], &patient, &[listen]].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let (code, most) = disk.watched(|| {
        let (mut server, url) = served(folder, &state, &words(&args("127.0.0.1:0")));
        let listen = url.strip_prefix("http://").unwrap().to_owned();
        let start = |n: usize| shared(folder, &state, &url, &format!("w{n}"));
        let mut workers: Vec<Process> = (0..3).map(start).collect();
        for _ in 0..kills {
            std::thread::sleep(Duration::from_millis(50 + random.below(300) as u64));
            if server.0.try_wait().unwrap().is_some() {
                break;
            }
            match random.below(4) {
                3 => {
                    drop(server);
                    server = served(folder, &state, &words(&args(&listen))).0;
                }
                n => {
                    // Its tasks go on without it until it is there again.
                    workers[n].0.kill().unwrap();
                    workers[n].0.wait().unwrap();
                    std::thread::sleep(Duration::from_millis(random.below(200) as u64));
                    workers[n] = start(n);
                }
            }
        }
        let code = server.end(300);
        // At the same address: whoever was killed or waited when all was over hears of it now.
        let mut stays = args(&listen);
        stays.push("--stay".to_owned());
        let _again = served(folder, &state, &words(&stays));
        for worker in &mut workers {
            worker.end(60);
        }
        code
    });
    assert_eq!(code, 0);
    assert!(most - before <= cap, "{} > {cap}", most - before);
    assert_made(folder, count);
}

/// A worker is silent, is given up for lost, and its task goes on: what it may write is kept free until nobody expects it any more.
#[test]
fn what_a_lost_worker_may_still_write_counts() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    // Each has a file that nobody reads, and there is room for one of them.
    let task = |n: usize, first: &str| {
        json!({ "name": format!("t{n}"), "run": format!("{first} head -c {LARGE} /dev/zero > {n}.a; sleep 1"),
            "outputs": [{ "path": format!("{n}.a"), "bytes": LARGE, "temp": true }] })
    };
    write(folder, &[task(0, "touch began; sleep 4;"), task(1, "")]);
    let state = folder.join("state");
    let cap_args = cap_args(LARGE);
    let more = ["--silence", "3s", "--policy", "fifo"];
    let (mut server, url) = served(folder, &state, &[&words(&cap_args)[..], &more].concat());
    let first = shared(folder, &state, &url, "w0");
    until("the slow one runs", || folder.join("began").exists());
    first.signal("-STOP");
    let mut other = shared(folder, &state, &url, "w1");
    let (code, most) = watched_by(&|| there(folder), || {
        // What is asked a moment later may be past it.
        let seen = std::cell::RefCell::new(Value::Null);
        until("it is lost", || {
            *seen.borrow_mut() = status_of(folder, &state, &url);
            seen.borrow()["storage"]["held_back"]["why"] == "lost-workers"
        });
        let now = seen.into_inner();
        let held = &now["storage"]["held_back"];
        assert!(held["words"].as_str().unwrap().contains("lost"), "{now}");
        assert_eq!(
            now["leased"], 0,
            "nothing may start beside what may still come: {now}"
        );
        // It writes though it was given up.
        until("it writes", || there(folder) == LARGE);
        server.end(60)
    });
    assert_eq!(code, 0);
    assert!(most <= LARGE, "{most} > {LARGE}");
    assert_eq!(other.end(30), 0);
    assert_eq!(there(folder), 0);
    first.signal("-CONT");
}

/// Files of a flow that was served, changed, and served again: what was deleted is made again for those who need it.
#[test]
fn temporary_files_come_back_for_those_who_need_them() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let flow = |command: &str| {
        write(
            folder,
            &[
                json!({ "name": "a", "run": "echo 1 > mid", "outputs": [{ "path": "mid", "temp": true }] }),
                json!({ "name": "b", "run": command, "inputs": ["mid"], "outputs": ["out"], "after": ["a"] }),
                json!({ "name": "c", "run": "echo 2 > side", "outputs": ["side"] }),
            ],
        );
    };
    let times = |args: &[&str]| {
        let server: Served = common::served::served(folder, &[args, &["--stay"]].concat());
        let mut worker = worker(folder, &server.url, &["--dir", "w", "--shared", "."]);
        assert_eq!(worker.end(60), 0);
        let mut times = [0; 3];
        for event in journal(folder, &server.url) {
            if event["event"] == "executed" {
                times[event["id"].as_u64().unwrap() as usize] += 1;
            }
        }
        assert!(!folder.join("mid").exists());
        times
    };
    let capped = ["f.jsonl", "--disk", "1MB"];
    flow("cat mid > out");
    assert_eq!(times(&capped), [1, 1, 1]);
    assert_eq!(times(&capped), [1, 1, 1]);
    flow("cat mid mid > out");
    assert_eq!(times(&capped), [2, 2, 1]);
    assert_eq!(
        std::fs::read_to_string(folder.join("out")).unwrap(),
        "1\n1\n"
    );
    // Without a cap temporary files go as well.
    flow("cat mid mid mid > out");
    assert_eq!(times(&["f.jsonl"]), [3, 3, 1]);
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_starts() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    write(folder, &samples(3));
    for (args, said) in [
        (&["--disk", "150kB"][..], "no order stays within"),
        (&["--disk", "150kB"], "0.a"),
        (&["--disk", "1MB", "--safety", "0.5"], "--safety"),
        (&["--disk", "1MB", "--ignore-files"], "--ignore-files"),
        (&["--disk", "1MB", "--volunteers", "2"], "--volunteers"),
        (&["--disk", "much"], "is no size"),
        (&["--temp", "*"], "--disk"),
    ] {
        let serve = ["serve", "f.jsonl", "--state", "state"];
        let ran = ask(folder, &[&serve[..], args].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
        assert!(!ran.stderr.contains("listening"), "{ran:?}");
        assert!(!folder.join("state").exists(), "{said}");
    }
    std::fs::write(folder.join("given"), "1").unwrap();
    let output = |bytes: Value| json!({ "name": "a", "run": "true", "outputs": [{ "path": "0.a", "bytes": bytes }] });
    let writes = |name: &str| json!({ "name": name, "run": "true", "outputs": ["0.a"] });
    let marked = json!({ "name": "a", "run": "true", "inputs": ["given"], "outputs": ["0.a"] });
    for (tasks, said) in [
        (vec![output(json!(-1))], "bytes"),
        (vec![output(json!(u64::MAX))], "2^60"),
        (vec![writes("a"), writes("b")], "two tasks write"),
        (vec![marked], "input of the whole flow"),
    ] {
        write(folder, &tasks);
        let serve = ["serve", "f.jsonl", "--state", "state"];
        let ran = ask(
            folder,
            &[&serve[..], &["--disk", "1MB", "--temp", "given"]].concat(),
        );
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
        assert!(!ran.stderr.contains("listening"), "{ran:?}");
    }
    write(folder, &samples(3));
    // A later start with room enough is not spoilt by it.
    let (mut server, url, _) = common::served::serve(folder, "f.jsonl", &["--disk", "1MB"]);
    let _worker = worker(folder, &url, &["--dir", "w", "--shared", "."]);
    assert_eq!(server.end(60), 0);
    assert_made(folder, 3);
}

/// What volunteers return is held beside the workflow, and no cap counts it: also where only the state knows of them.
#[test]
fn a_state_with_volunteers_takes_no_cap() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    write(folder, &samples(1));
    drop(common::served::serve(
        folder,
        "f.jsonl",
        &["--volunteers", "2"],
    ));
    let serve = ["serve", "f.jsonl", "--state", "state", "--disk", "1GB"];
    let ran = ask(folder, &serve);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("tokens of 2 volunteers"), "{ran:?}");
    assert!(ran.stderr.contains("--state"), "{ran:?}");
}

/// Files so much larger than declared that nothing more fits: the server says how many bytes are missing, and ends.
#[test]
fn a_run_that_does_not_fit_any_more_ends_with_the_missing_bytes() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let mut tasks = samples(4);
    for task in &mut tasks {
        if task["outputs"][0]["bytes"] == LARGE {
            task["outputs"][0]["bytes"] = (LARGE / 4).into();
        }
    }
    write(folder, &tasks);
    let cap_args = cap_args(LARGE * 3 / 2);
    let server = common::served::served(folder, &[&["f.jsonl"][..], &words(&cap_args)].concat());
    let mut server = server;
    let mut one = worker(folder, &server.url, &["--dir", "w", "--shared", "."]);
    assert_eq!(server.process.end(60), 1, "{}", server.said());
    assert_eq!(one.end(30), 0);
    let (mut server, url, _) = common::served::serve(folder, "f.jsonl", &["--disk", "2MB"]);
    let _worker = worker(folder, &url, &["--dir", "w", "--shared", "."]);
    assert_eq!(server.end(60), 0);
    assert_made(folder, 4);
}

#[test]
fn a_disk_that_others_fill_holds_the_server_back_until_there_is_room() {
    let Some(disk) = SmallDisk::new(32 << 20, "a disk that others fill under a server") else {
        return;
    };
    let folder = disk.path();
    write(folder, &samples(6));
    let other = folder.join("other");
    std::fs::write(&other, vec![1; 25 << 20]).unwrap();
    let server = common::served::served(folder, &["f.jsonl", "--disk", "700kB"]);
    let mut server = server;
    let mut one = worker(folder, &server.url, &["--dir", "w", "--shared", "."]);
    let is_held = || {
        let held = &status(folder, &server.url)["storage"]["held_back"];
        held["why"] == "others-fill-the-disk"
    };
    until("it is held back", is_held);
    until("it says so", || {
        server.said().contains("others fill the disk")
    });
    assert_eq!(there(folder), 0);
    std::fs::remove_file(&other).unwrap();
    assert_eq!(server.end(60), 0, "{}", server.said());
    assert!(
        server.said().contains("there is room again"),
        "{}",
        server.said()
    );
    assert_eq!(one.end(30), 0);
    assert_made(folder, 6);
}

/// How many tasks of unknown size are given out before the first of them is back, in a state of its own.
fn begun_at_once(folder: &Path, book: &str) -> usize {
    let args = ["--disk", "1MB", "--stay", "--book", book];
    let (mut server, url, _) = common::served::serve(folder, "f.jsonl", &args);
    let eight = ["-j", "8", "--dir", "w", "--shared", "."];
    let _worker = worker(folder, &url, &eight);
    until("all is executed", || {
        status(folder, &url)["finished"] == true
    });
    let events = journal(folder, &url);
    let is = |event: &&Value, name: &str| event["event"] == name;
    let before = events.iter().take_while(|event| !is(event, "executed"));
    let leased = before.filter(|event| is(event, "leased")).count();
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
    std::fs::remove_dir_all(folder.join("state")).unwrap();
    leased
}

/// What files of a kind took is in the book: another state that has it begins at full width, and one with another book does not.
#[test]
fn sizes_that_one_run_learnt_are_known_to_another_by_the_book() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let make = |i: usize| {
        let run = format!("sleep 0.3; head -c 1000 /dev/zero > {i}.c");
        json!({ "name": format!("t{i}"), "kind": "make", "run": run, "outputs": [format!("{i}.c")] })
    };
    let tasks = || (0..20).map(make).collect::<Vec<Value>>();
    write(folder, &tasks());
    let again =
        || (0..20).for_each(|i| std::fs::remove_file(folder.join(format!("{i}.c"))).unwrap());
    assert_eq!(begun_at_once(folder, "first.json"), 1, "nothing is known");
    let book: Value =
        serde_json::from_slice(&std::fs::read(folder.join("first.json")).unwrap()).unwrap();
    let known =
        json!([{ "kind": "make", "output": 0, "unknown": true, "seen": 20, "most": 1000.0 }]);
    assert_eq!(book["files"], known, "{book}");
    again();
    assert_eq!(begun_at_once(folder, "first.json"), 8);
    again();
    assert_eq!(begun_at_once(folder, "second.json"), 1);
    // A cap that is too small for what is known is refused before anything starts.
    again();
    let serve = ["serve", "f.jsonl", "--state", "state", "--disk", "900B"];
    let refused = ask(folder, &[&serve[..], &["--book", "first.json"]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("no order stays within"),
        "{refused:?}"
    );
    assert_eq!(there(folder), 0);
}

/// Bytes in all folders of a worker's tasks.
fn in_folders(place: &Path) -> u64 {
    let tasks = std::fs::read_dir(place.join("1/tasks"))
        .into_iter()
        .flatten();
    let folders = tasks.flatten().map(|e| sizes(&e.path()));
    folders.flat_map(HashMap::into_values).sum()
}

/// A worker gets what fits its own disk, and never has more on it; what does not fit is left to another.
#[test]
fn a_worker_with_a_small_disk_gets_what_fits() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    std::fs::write(folder.join("in"), vec![b'x'; 10_000]).unwrap();
    let task = |name: &str, bytes: u64| {
        json!({ "name": name, "run": format!("sleep 0.2; head -c {bytes} /dev/zero > {name}; test -s in"),
            "inputs": ["in"], "outputs": [{ "path": name, "bytes": bytes }] })
    };
    let mut tasks = vec![task("big", 500_000)];
    tasks.extend((0..6).map(|n| task(&format!("small{n}"), 100_000)));
    write(folder, &tasks);
    let (mut server, url, _) = common::served::serve(folder, "f.jsonl", &[]);
    let mut command = binary(folder);
    command.args([
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "-j",
        "4",
    ]);
    command.args(["--dir", "w0", "--disk", "300kB", "--idle-timeout", "3s"]);
    let place = folder.join("w0");
    let (ran, most) = watched_by(&|| in_folders(&place), || command.output().unwrap());
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{said}");
    assert!(
        said.contains("executed 6") || ran.stdout.starts_with(b"executed 6"),
        "{said}"
    );
    assert!(said.contains("fits this worker"), "{said}");
    assert!(most > 110_000, "nothing was seen: {most}");
    assert!(most <= 300_000, "{most}");
    let now = status(folder, &url);
    assert_eq!(
        (&now["executed"], &now["eligible"]),
        (&6.into(), &1.into()),
        "{now}"
    );
    let mut other = worker(folder, &url, &["-j", "4", "--dir", "w1"]);
    assert_eq!(server.end(60), 0);
    assert_eq!(other.end(30), 0);
    assert_eq!(
        std::fs::metadata(folder.join("big")).unwrap().len(),
        500_000
    );
    // A disk of its own is that of tasks with folders of their own.
    let refused = [
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "--shared",
        ".",
        "--disk",
        "1GB",
    ];
    let refused = ask(folder, &refused);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("serve --disk"), "{refused:?}");
}

/// A task whose files grow beyond a worker's disk is ended, with the reason.
#[test]
fn a_task_that_outgrows_its_workers_disk_is_ended() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let grows = "for i in $(seq 100); do head -c 20000 /dev/zero >> out; sleep 0.2; done";
    write(
        folder,
        &[json!({ "name": "grows", "run": grows, "outputs": [{ "path": "out", "bytes": 1000 }] })],
    );
    let (mut server, url, _) = common::served::serve(folder, "f.jsonl", &[]);
    let mut command = binary(folder);
    command.args([
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "-j",
        "1",
    ]);
    command.args(["--dir", "w0", "--disk", "300kB"]);
    let place = folder.join("w0");
    let (ran, most) = watched_by(&|| in_folders(&place), || command.output().unwrap());
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("this worker's disk has 300000"), "{said}");
    // It is seen within some milliseconds, as little room is left; this allows for four seconds.
    assert!(most < 700_000, "{most}");
    assert_eq!(server.end(60), 1);
}
