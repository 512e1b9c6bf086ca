//! A server and its workers as real processes: they compute, vanish, come back.

mod common;

use common::{Run, root};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Gone already, perhaps.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn signal(&self, name: &str) {
        let done = Command::new("kill")
            .args([name, &self.0.id().to_string()])
            .status()
            .unwrap();
        assert!(done.success());
    }

    /// Its exit code, which must come in time.
    fn end(&mut self, seconds: u64) -> i32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(
                begin.elapsed() < Duration::from_secs(seconds),
                "it goes on for ever"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn binary(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Starts a server; its address.
fn serve(folder: &Path, file: &str, more: &[&str]) -> (Process, String, Vec<String>) {
    let mut command = binary(folder);
    command
        .args(["serve", file, "--state", "state"])
        .args(more)
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first
        .strip_prefix("listening on ")
        .and_then(|rest| rest.split_once(", tokens in state/tokens"));
    let (url, _) = url.unwrap_or_else(|| panic!("{first}"));
    let more_lines = match url.starts_with("https") {
        true => vec![lines.next().unwrap().unwrap()],
        false => Vec::new(),
    };
    // It may go on to write there.
    std::thread::spawn(move || lines.for_each(drop));
    (Process(child), url.to_owned(), more_lines)
}

fn worker(folder: &Path, url: &str, more: &[&str]) -> Process {
    let mut command = binary(folder);
    command
        .args(["work", url, "--token-file", "state/tokens/worker"])
        .args(more);
    Process(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

fn ask(folder: &Path, args: &[&str]) -> Run {
    binary(folder).args(args).output().unwrap().into()
}

fn status(folder: &Path, url: &str) -> serde_json::Value {
    let run = ask(
        folder,
        &[
            "status",
            url,
            "--token-file",
            "state/tokens/observer",
            "--json",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// A flow that computes: numbers are made, sorted in parts, merged, counted.
fn flow(folder: &Path, parts: usize) {
    let mut text = String::new();
    let mut task = |name: &str, run: &str, after: &[String], inputs: &[String], output: &str| {
        let list = |all: &[String]| {
            all.iter()
                .map(|x| format!("{x:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        text += &format!(
            "[[task]]\nname = {name:?}\nrun = {run:?}\nafter = [{}]\ninputs = [{}]\noutputs = [{output:?}]\n",
            list(after),
            list(inputs)
        );
    };
    for n in 0..parts {
        let made = format!("made-{n}.txt");
        task(
            &format!("make-{n}"),
            &format!("seq {} 7 {} > {made}", n + 1, 400 + n),
            &[],
            &[],
            &made,
        );
        let sorted = format!("sorted/{n}.txt");
        let run = format!("mkdir -p sorted && sort -r {made} > {sorted}");
        task(
            &format!("sort-{n}"),
            &run,
            &[format!("make-{n}")],
            &[made],
            &sorted,
        );
    }
    let sorted: Vec<String> = (0..parts).map(|n| format!("sorted/{n}.txt")).collect();
    let before: Vec<String> = (0..parts).map(|n| format!("sort-{n}")).collect();
    task(
        "merge",
        &format!("sort -rm {} > merged.txt", sorted.join(" ")),
        &before,
        &sorted,
        "merged.txt",
    );
    task(
        "count",
        "wc -l < merged.txt > count.txt",
        &["merge".into()],
        &["merged.txt".into()],
        "count.txt",
    );
    std::fs::write(folder.join("flow.toml"), text).unwrap();
}

fn made(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for place in [folder.to_owned(), folder.join("sorted")] {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "txt") {
                let text = std::fs::read_to_string(&path).unwrap();
                all.push((path.strip_prefix(folder).unwrap().to_owned(), text));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn two_workers_make_what_run_makes_on_one_disk_and_without() {
    let alone = tempfile::tempdir().unwrap();
    flow(alone.path(), 4);
    let ran = ask(alone.path(), &["run", "flow.toml", "-j", "2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = made(alone.path());
    assert_eq!(expected.len(), 10);
    for is_shared in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        flow(folder, 4);
        let (mut server, url, _) = serve(folder, "flow.toml", &[]);
        let place: &[&str] = if is_shared {
            &["--dir", "w", "--shared", "."]
        } else {
            &["--dir", "w"]
        };
        let mut workers = [0, 1].map(|_| worker(folder, &url, &[&["-j", "2"], place].concat()));
        assert_eq!(server.end(120), 0);
        for worker in &mut workers {
            assert_eq!(worker.end(30), 0);
        }
        assert_eq!(made(folder), expected);
    }
}

/// The example that really computes something: here, and by two workers, the same words are counted.
#[test]
fn the_example_computes_the_same_here_and_by_two_workers() {
    let texts = |folder: &Path| {
        let mut all: Vec<(String, String)> = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && name != "word-count.toml" {
                all.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
        all.sort();
        all
    };
    let example = root().join("examples/word-count.toml");
    let [alone, served] = [0, 1].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&example, folder.path().join("word-count.toml")).unwrap();
        folder
    });
    let ran = ask(alone.path(), &["run", "word-count.toml", "-j", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (mut server, url, _) = serve(served.path(), "word-count.toml", &[]);
    let dirs = ["a", "b"];
    let mut workers = dirs.map(|dir| worker(served.path(), &url, &["-j", "2", "--dir", dir]));
    assert_eq!(server.end(120), 0);
    for worker in &mut workers {
        assert_eq!(worker.end(30), 0);
    }
    let made = texts(alone.path());
    assert!(made.len() > 8, "{made:?}");
    assert_eq!(texts(served.path()), made);
}

#[test]
fn a_failed_task_is_told_and_the_server_returns_1() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("flow.toml"),
        "[[task]]\nname = \"bad\"\nrun = \"echo oh no; exit 3\"\nretries = 1\n[[task]]\nname = \"after\"\nrun = \"true\"\nafter = [\"bad\"]\n",
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &["--stay"]);
    let mut worker = worker(folder, &url, &["-j", "1", "--dir", "w"]);
    assert_eq!(worker.end(60), 0);
    let status = status(folder, &url);
    assert_eq!(
        (&status["failed"], &status["aborted"]),
        (&1.into(), &1.into())
    );
    let journal = ask(
        folder,
        &["export", &url, "--token-file", "state/tokens/observer"],
    );
    assert_eq!(
        journal
            .stdout
            .lines()
            .filter(|l| l.contains("\"failed\"") && l.contains("\"exit\":3"))
            .count(),
        2,
        "{}",
        journal.stdout
    );
    let retried = ask(
        folder,
        &["retry", &url, "bad", "--token-file", "state/tokens/admin"],
    );
    assert_eq!(retried.code, 0, "{}", retried.stderr);
    let denied = ask(
        folder,
        &[
            "cancel",
            &url,
            "bad",
            "--token-file",
            "state/tokens/observer",
        ],
    );
    assert_eq!(denied.code, 2);
    assert!(
        denied.stderr.contains("does not allow"),
        "{}",
        denied.stderr
    );
    server.signal("-TERM");
    assert_eq!(server.end(20), 130);
}

#[test]
fn a_worker_that_is_to_end_finishes_or_gives_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("flow.toml"), "[[task]]\nname = \"long\"\nrun = \"sleep 60\"\n[[task]]\nname = \"short\"\nrun = \"sleep 1; echo x > short.txt\"\n").unwrap();
    let (_server, url, _) = serve(folder, "flow.toml", &[]);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "2", "--grace", "3s", "--dir", "w", "--shared", "."],
    );
    let begin = Instant::now();
    while status(folder, &url)["leased"] != 2 {
        assert!(begin.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    worker.signal("-TERM");
    assert_eq!(worker.end(40), 130);
    let status = status(folder, &url);
    assert_eq!(
        (&status["executed"], &status["eligible"], &status["leased"]),
        (&1.into(), &1.into(), &0.into()),
        "{status}"
    );
    assert_eq!(status["workers"][0]["state"], "left");
}

#[test]
fn tls_with_a_pinned_fingerprint_and_nothing_in_clear_beyond_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    flow(folder, 1);
    let refused = ask(
        folder,
        &[
            "serve",
            "flow.toml",
            "--state",
            "state",
            "--listen",
            "0.0.0.0:0",
        ],
    );
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--tls"), "{}", refused.stderr);
    let (mut server, url, more) = serve(folder, "flow.toml", &["--tls"]);
    let pin = more[0].strip_prefix("fingerprint ").unwrap();
    let wrong = format!("sha256:{}", "0".repeat(64));
    for more in [&["--fingerprint", wrong.as_str()][..], &[]] {
        let args = [
            &[
                "status",
                &url,
                "--token-file",
                "state/tokens/observer",
                "--json",
            ],
            more,
        ]
        .concat();
        let run = ask(folder, &args);
        assert_eq!(run.code, 2, "{}", run.stdout);
    }
    let args = [
        "status",
        &url,
        "--token-file",
        "state/tokens/observer",
        "--json",
        "--fingerprint",
        pin,
    ];
    assert_eq!(ask(folder, &args).code, 0);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "2", "--dir", "w", "--fingerprint", pin],
    );
    assert_eq!(server.end(60), 0);
    assert_eq!(worker.end(30), 0);
}

#[test]
fn tasks_are_limited_and_kept_to_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let outside = folder.join("outside.txt");
    let secret = folder.join("secret");
    std::fs::write(&secret, "s").unwrap();
    std::fs::write(
        folder.join("flow.toml"),
        format!(
            "[[task]]\nname = \"hog\"\nrun = \"head -c 400000000 /dev/zero | tail -c 390000000 > /dev/null\"\nmemory = \"50MB\"\n\
             [[task]]\nname = \"writer\"\nrun = \"echo x > {}\"\n[[task]]\nname = \"reader\"\nrun = \"cat {}\"\n\
             [[task]]\nname = \"good\"\nrun = \"echo $CAIRN_TASK $SECRET_OF_MINE > good.txt && ls /usr > /dev/null\"\noutputs = [\"good.txt\"]\n",
            outside.display(), secret.display()
        ),
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let mut command = binary(folder);
    command.args([
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "-j",
        "1",
        "--dir",
        "w",
        "--sandbox",
    ]);
    let said = command.env("SECRET_OF_MINE", "mine").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(server.end(60), 1);
    assert!(said.contains("hog: failed"), "{said}");
    assert_eq!(
        std::fs::read_to_string(folder.join("good.txt")).unwrap(),
        "good\n"
    );
    if said.contains("no Landlock") {
        let why = b"SKIPPED: tasks kept to their folder: this kernel has no Landlock\n";
        std::io::stderr().write_all(why).unwrap();
        return;
    }
    assert!(
        said.contains("writer: failed") && said.contains("reader: failed"),
        "{said}"
    );
    assert!(!outside.exists());
}

#[test]
fn a_worker_runs_no_program_that_its_owner_does_not_allow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("flow.toml"), "[[task]]\nname = \"a\"\nrun = \"touch a.txt\"\n[[task]]\nname = \"b\"\nrun = \"mkdir b\"\n[[task]]\nname = \"c\"\nrun = \"touch c.txt; true\"\n").unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "1", "--dir", "w", "--shared", ".", "--allow", "touch"],
    );
    assert_eq!(server.end(60), 1);
    worker.end(30);
    assert!(
        folder.join("a.txt").exists()
            && !folder.join("b").exists()
            && !folder.join("c.txt").exists()
    );
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
    let more = ["--silence", "2s", "--listen", "127.0.0.1:0"];
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
                let again = serve(
                    folder,
                    "flow.toml",
                    &["--silence", "2s", "--listen", &listen],
                );
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
    assert_eq!(server.end(300), 0);
    for worker in &mut workers {
        assert_eq!(worker.end(60), 0);
    }
    let (_again, url, _) = serve(folder, "flow.toml", &["--stay"]);
    let journal = ask(
        folder,
        &["export", &url, "--token-file", "state/tokens/observer"],
    )
    .stdout;
    let mut executed = vec![0; tasks];
    let mut tokens = std::collections::HashSet::new();
    for line in journal.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
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
    let left = Command::new("sh").arg("-c").arg(format!("grep -lz 'CAIRN_WORKER=' /proc/[0-9]*/environ 2>/dev/null | while read f; do p=$(dirname $f); case $(readlink $p/cwd) in {}*) echo $p;; esac; done", folder.display())).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&left.stdout),
        "",
        "processes are left"
    );
    assert!(root().exists());
}
