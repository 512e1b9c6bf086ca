//! Servers and workers as real processes.
#![allow(dead_code, reason = "each test file uses what it needs")]

use super::Run;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A process that ends with the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Gone already, perhaps.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill")
            .args([name, &self.0.id().to_string()])
            .status()
            .unwrap();
        assert!(done.success());
    }

    /// Its exit code, which must come in time.
    pub(crate) fn end(&mut self, seconds: u64) -> i32 {
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

pub(crate) fn binary(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// A server that runs: its process, its address, and what it says.
pub(crate) struct Served {
    pub(crate) process: Process,
    pub(crate) url: String,
    said: Arc<Mutex<String>>,
    hears: Option<JoinHandle<()>>,
}

impl Served {
    /// Its exit code, which must come in time, once all that it said was heard.
    pub(crate) fn end(&mut self, seconds: u64) -> i32 {
        let code = self.process.end(seconds);
        (self.hears.take().into_iter()).for_each(|hears| hears.join().unwrap());
        code
    }

    /// All that it said on standard error so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

/// Starts a server in a folder, with its state in `state` there.
pub(crate) fn served(folder: &Path, args: &[&str]) -> Served {
    let mut command = binary(folder);
    command
        .arg("serve")
        .args(args)
        .args(["--state", "state"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first
        .strip_prefix("listening on ")
        .and_then(|rest| rest.split_once(", tokens in state/tokens"));
    let (url, _) = url.unwrap_or_else(|| panic!("{first}"));
    let said = Arc::new(Mutex::new(String::new()));
    let heard = said.clone();
    let hears = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let mut said = heard.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    });
    Served {
        process: Process(child),
        url: url.to_owned(),
        said,
        hears: Some(hears),
    }
}

/// Starts a server; its process and address, and the line with the fingerprint, where it has one.
pub(crate) fn serve(folder: &Path, file: &str, more: &[&str]) -> (Process, String, Vec<String>) {
    let served = served(folder, &[&[file], more].concat());
    let mut lines = Vec::new();
    if served.url.starts_with("https") {
        until("the fingerprint", || served.said().contains('\n'));
        lines.extend(served.said().lines().next().map(str::to_owned));
    }
    (served.process, served.url, lines)
}

/// Waits until it is so.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(240), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nothing is handed out before all that `start` starts are here: none is too late to hear of the end.
pub(crate) fn gathered<T>(folder: &Path, url: &str, many: usize, start: impl FnOnce() -> T) -> T {
    let steer = |verb: &str| {
        let run = ask(folder, &[verb, url, "--token-file", "state/tokens/admin"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    steer("pause");
    let workers = start();
    until("all workers are here", || {
        let status = status(folder, url);
        let workers = status["workers"].as_array().unwrap().iter();
        workers.filter(|w| w["state"] == "here").count() == many
    });
    steer("resume");
    workers
}

/// The journal of a server: every event.
pub(crate) fn journal(folder: &Path, url: &str) -> Vec<serde_json::Value> {
    let args = ["export", url, "--token-file", "state/tokens/observer"];
    let run = ask(folder, &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    run.stdout.lines().map(parse).collect()
}

pub(crate) fn worker(folder: &Path, url: &str, more: &[&str]) -> Process {
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

pub(crate) fn ask(folder: &Path, args: &[&str]) -> Run {
    binary(folder).args(args).output().unwrap().into()
}

pub(crate) fn status(folder: &Path, url: &str) -> serde_json::Value {
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
