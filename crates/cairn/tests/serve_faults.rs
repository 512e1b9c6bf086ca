//! What can go wrong under a server and its workers: kills, full and damaged disks, power cuts, and what was changed meanwhile.
#![cfg(target_os = "linux")]

mod common;

use cairn_serve::store::{Store, Sync};
use common::served::{ask, journal, serve, served, status, until, worker};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often each task was executed, by the journal.
fn executed(folder: &Path, url: &str) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for event in journal(folder, url) {
        if event["event"] == "executed" {
            *times
                .entry(event["task"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
    }
    times
}

/// A chain of three that copies a file, and one beside it.
fn chain(folder: &Path, middle: &str) {
    let flow = format!(
        "[[task]]\nname = \"first\"\nrun = \"cat in.txt > one.txt\"\ninputs = [\"in.txt\"]\noutputs = [\"one.txt\"]\n\
         [[task]]\nname = \"middle\"\nrun = \"{middle} one.txt > two.txt\"\nafter = [\"first\"]\ninputs = [\"one.txt\"]\noutputs = [\"two.txt\"]\n\
         [[task]]\nname = \"last\"\nrun = \"cat two.txt > three.txt\"\nafter = [\"middle\"]\ninputs = [\"two.txt\"]\noutputs = [\"three.txt\"]\n\
         [[task]]\nname = \"beside\"\nrun = \"echo x > beside.txt\"\noutputs = [\"beside.txt\"]\n"
    );
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
}

/// Serves to the end with one worker; what the server said, and how often each task was executed in all.
fn to_the_end(folder: &Path) -> (String, HashMap<String, usize>) {
    let mut server = served(folder, &["flow.toml", "--stay"]);
    let mut worker = worker(folder, &server.url, &["--dir", "w", "--shared", "."]);
    assert_eq!(worker.end(60), 0);
    let times = executed(folder, &server.url);
    server.process.signal("-TERM");
    assert_eq!(server.process.end(20), 130);
    (server.said(), times)
}

/// The same command again executes what changed, and what comes after it, and nothing else.
#[test]
fn what_changed_is_executed_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("in.txt"), "hello\n").unwrap();
    chain(folder, "cat");
    let times = |all: &HashMap<String, usize>| {
        ["first", "middle", "last", "beside"].map(|name| all.get(name).copied().unwrap_or(0))
    };
    let (_, all) = to_the_end(folder);
    assert_eq!(times(&all), [1, 1, 1, 1]);
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [1, 1, 1, 1], "{said}");
    // Another command.
    chain(folder, "tr a-z A-Z <");
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [1, 2, 2, 1], "{said}");
    assert!(
        said.contains("middle is executed again: its command changed"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("three.txt")).unwrap(),
        "HELLO\n"
    );
    // Another input.
    std::fs::write(folder.join("in.txt"), "other words\n").unwrap();
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [2, 3, 3, 1], "{said}");
    assert_eq!(
        std::fs::read_to_string(folder.join("three.txt")).unwrap(),
        "OTHER WORDS\n"
    );
    // An output that is gone.
    std::fs::remove_file(folder.join("beside.txt")).unwrap();
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [2, 3, 3, 2], "{said}");
    // An output that was cut short is noticed after the machine was started anew, as by a power cut.
    std::fs::write(folder.join("beside.txt"), "").unwrap();
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [2, 3, 3, 2], "{said}");
    let mut store = Store::create_or_open(&folder.join("state"), Sync::Full).unwrap();
    store.set_meta("boot", "before the power cut").unwrap();
    drop(store);
    let (said, all) = to_the_end(folder);
    assert_eq!(times(&all), [2, 3, 3, 3], "{said}");
    assert!(said.contains("gone or was cut short"), "{said}");
    assert_eq!(
        std::fs::read_to_string(folder.join("beside.txt")).unwrap(),
        "x\n"
    );
}

/// A worker that has a task whose input changes while the server is away is told to stop; what it made does not count.
#[test]
fn a_leased_task_whose_parent_changed_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = |text: &str| {
        let flow = format!(
            "[[task]]\nname = \"a\"\nrun = \"echo {text} > a.txt; true\"\n\
             [[task]]\nname = \"b\"\nafter = [\"a\"]\nrun = \"cat a.txt > b.tmp; touch began; sleep 3; mv b.tmp b.txt\"\n"
        );
        std::fs::write(folder.join("flow.toml"), flow).unwrap();
    };
    flow("old");
    let first = served(folder, &["flow.toml"]);
    let listen = first.url.strip_prefix("http://").unwrap().to_owned();
    let mut worker = worker(
        folder,
        &first.url,
        &["-j", "1", "--dir", "w", "--shared", "."],
    );
    until("b runs", || folder.join("began").exists());
    drop(first);
    flow("new");
    let mut again = served(folder, &["flow.toml", "--listen", &listen]);
    assert_eq!(again.process.end(90), 0, "{}", again.said());
    assert_eq!(worker.end(30), 0);
    assert_eq!(
        std::fs::read_to_string(folder.join("b.txt")).unwrap(),
        "new\n"
    );
}

/// A small file system, where we may mount one; unmounted at the end.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, size: &str) -> Option<Disk> {
        std::fs::create_dir_all(folder).unwrap();
        let disk = Disk(folder.to_owned());
        if disk.call(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}"), "none"],
        ) {
            return Some(disk);
        }
        let why =
            b"SKIPPED: full and read-only disks under a server: no right to mount a small one\n";
        std::io::stderr().write_all(why).unwrap();
        std::mem::forget(disk);
        None
    }

    fn remount(&self, options: &str) {
        assert!(self.call("mount", &["-o", &format!("remount,{options}")]));
    }

    fn call(&self, program: &str, args: &[&str]) -> bool {
        let mut command = Command::new(program);
        command.args(args).arg(&self.0).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Somebody may still sit on it: it goes when they do.
        let _ = self.call("umount", &["-l"]);
    }
}

/// The disk of the store is full in the middle: the server says so and ends, nothing that it answered is lost, and workers wait
/// until it is there again.
#[test]
fn a_full_disk_under_the_server() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let Some(disk) = Disk::mount(&folder.join("state"), "300k") else {
        return;
    };
    let tasks = 1500;
    let flow: String = (0..tasks)
        .map(|n| format!("{{\"name\":\"t{n}\",\"run\":\"true\"}}\n"))
        .collect();
    std::fs::write(folder.join("flow.jsonl"), flow).unwrap();
    let mut first = served(folder, &["flow.jsonl"]);
    let listen = first.url.strip_prefix("http://").unwrap().to_owned();
    let token = std::fs::read(folder.join("state/tokens/worker")).unwrap();
    std::fs::write(folder.join("token"), token).unwrap();
    let mut command = common::served::binary(folder);
    command.args(["work", &first.url, "--token-file", "token", "-j", "8"]);
    command.args(["--dir", "w", "--shared", "."]);
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut worker = common::served::Process(quiet.spawn().unwrap());
    assert_eq!(first.end(120), 2, "{}", first.said());
    assert!(first.said().contains("disk is full"), "{}", first.said());
    std::thread::sleep(Duration::from_millis(500));
    assert!(worker.0.try_wait().unwrap().is_none(), "the worker waits");
    disk.remount("size=40m");
    let mut again = served(folder, &["flow.jsonl", "--listen", &listen, "--stay"]);
    assert_eq!(worker.end(120), 0);
    let times = executed(folder, &again.url);
    assert_eq!(times.len(), tasks);
    assert!(times.values().all(|&n| n == 1), "{times:?}");
    again.process.signal("-TERM");
    assert_eq!(again.process.end(20), 130);
}

/// A worker without room gives its task back, says why, and leaves: the task is not to blame, and goes to another.
#[test]
fn a_full_disk_under_a_worker() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let Some(_disk) = Disk::mount(&folder.join("small"), "600k") else {
        return;
    };
    std::fs::write(folder.join("in.txt"), vec![b'x'; 100_000]).unwrap();
    std::fs::write(
        folder.join("flow.toml"),
        "[[task]]\nname = \"big\"\nrun = \"cat in.txt in.txt in.txt in.txt in.txt in.txt in.txt > out.txt\"\ninputs = [\"in.txt\"]\noutputs = [\"out.txt\"]\n",
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let args = [
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "-j",
        "1",
        "--dir",
        "small/w",
    ];
    let short = ask(folder, &args);
    assert_eq!(short.code, 2, "{}", short.stderr);
    assert!(short.stderr.contains("given back"), "{}", short.stderr);
    let now = status(folder, &url);
    assert_eq!(
        (&now["failed"], &now["eligible"]),
        (&0.into(), &1.into()),
        "{now}"
    );
    let mut other = worker(folder, &url, &["-j", "1", "--dir", "w"]);
    assert_eq!(server.end(60), 0);
    assert_eq!(other.end(30), 0);
    assert_eq!(
        std::fs::metadata(folder.join("out.txt")).unwrap().len(),
        700_000
    );
}

/// A state that may not be written, or is damaged, is refused with the reason, and left as it is.
#[test]
fn a_read_only_or_damaged_state_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    std::fs::write(folder.join("in.txt"), "x").unwrap();
    chain(folder, "cat");
    to_the_end(folder);
    let file = folder.join("state/cairn.db");
    let good = std::fs::read(&file).unwrap();
    let mut bad = good.clone();
    for byte in &mut bad[..4096] {
        *byte = byte.wrapping_mul(7).wrapping_add(3);
    }
    std::fs::write(&file, &bad).unwrap();
    let refused = ask(folder, &["serve", "flow.toml", "--state", "state"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("damaged"), "{}", refused.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), bad);
    std::fs::write(&file, &good).unwrap();
    let (_, all) = to_the_end(folder);
    assert!(all.values().all(|&n| n == 1), "{all:?}");
    let Some(disk) = Disk::mount(&folder.join("disk"), "10m") else {
        return;
    };
    for name in ["flow.toml", "in.txt"] {
        std::fs::copy(folder.join(name), folder.join("disk").join(name)).unwrap();
    }
    let inside = folder.join("disk");
    to_the_end(&inside);
    disk.remount("ro");
    let refused = ask(&inside, &["serve", "flow.toml", "--state", "state"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("read-only"), "{}", refused.stderr);
}

/// Server and workers are killed at random, again and again: every task is committed as executed once, every output is
/// right, no process is left, and the run ends. `CAIRN_KILLS` kills instead of 20.
#[test]
fn kills_lose_nothing_and_execute_nothing_twice() {
    let kills: usize = std::env::var("CAIRN_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tasks = 40 + 6 * kills;
    let mut text = String::new();
    for n in 0..tasks {
        let after: Vec<String> = [n / 2, n / 3]
            .iter()
            .filter(|&&p| p < n)
            .map(|p| format!("\"t{p}\""))
            .collect();
        let parents: Vec<String> = [n / 2, n / 3]
            .iter()
            .filter(|&&p| p < n)
            .map(|p| format!("test -s o/t{p} && "))
            .collect();
        text += &format!(
            "[[task]]\nname = \"t{n}\"\nafter = [{}]\nrun = \"mkdir -p o && {}sleep 0.0{} && echo $CAIRN_ATTEMPT >> o/t{n}\"\n",
            after.join(", "),
            parents.concat(),
            n % 10
        );
    }
    std::fs::write(folder.join("flow.toml"), text).unwrap();
    // So many kills may well hit one task six times, which is not its fault.
    let patient = ["--silence", "2s", "--losses", "1000", "--listen"];
    let more = [&patient[..], &["127.0.0.1:0"]].concat();
    let (mut server, mut url, _) = serve(folder, "flow.toml", &more);
    let port = url.rsplit_once(':').unwrap().1.to_owned();
    let listen = format!("127.0.0.1:{port}");
    let places = [["--dir", "w0"], ["--dir", "w1"]];
    let start = |n: usize, url: &str| {
        worker(
            folder,
            url,
            &[&["-j", "2", "--shared", "."], &places[n][..]].concat(),
        )
    };
    let mut workers = [start(0, &url), start(1, &url)];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(30 + random(170)));
        if server.0.try_wait().unwrap().is_some() {
            break;
        }
        match random(3) {
            0 => {
                drop(server);
                let more = [&patient[..], &[&listen]].concat();
                let again = serve(folder, "flow.toml", &more);
                (server, url) = (again.0, again.1);
            }
            n => {
                let n = n as usize - 1;
                workers[n].0.kill().unwrap();
                workers[n].0.wait().unwrap();
                workers[n] = start(n, &url);
            }
        }
    }
    let code = server.end(300);
    // At the same address: whoever was killed or waited when all was over hears of it now.
    let (_again, url, _) = serve(folder, "flow.toml", &["--stay", "--listen", &listen]);
    let events = journal(folder, &url);
    let given_up = events.iter().filter(|e| e["for_good"] == true);
    let given_up: Vec<String> = given_up.map(|e| e.to_string()).collect();
    assert_eq!((code, given_up), (0, Vec::new()));
    for worker in &mut workers {
        assert_eq!(worker.end(60), 0);
    }
    let mut executed = vec![0; tasks];
    let mut tokens = std::collections::HashSet::new();
    for event in events {
        let task = |event: &serde_json::Value| event["id"].as_u64().unwrap() as usize;
        match event["event"].as_str().unwrap() {
            "executed" => {
                let n = task(&event);
                assert!(
                    [n / 2, n / 3].iter().all(|&p| p >= n || executed[p] == 1),
                    "t{n} before its parents"
                );
                executed[n] += 1;
            }
            "leased" => {
                let token = (
                    task(&event),
                    event["epoch"].as_u64(),
                    event["attempt"].as_u64(),
                );
                assert!(tokens.insert(token), "{token:?} twice");
            }
            _ => (),
        }
    }
    assert!(executed.iter().all(|&times| times == 1), "{executed:?}");
    assert!((0..tasks).all(|n| folder.join(format!("o/t{n}")).exists()));
    let left = || {
        Command::new("sh").arg("-c").arg(format!("grep -lz 'CAIRN_WORKER=' /proc/[0-9]*/environ 2>/dev/null | while read f; do p=$(dirname $f); case $(readlink $p/cwd) in {}*) echo $p;; esac; done", folder.display())).output().unwrap()
    };
    // What was killed takes a moment to go.
    until("no process is left", || left().stdout.is_empty());
}
