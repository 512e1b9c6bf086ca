//! The live page of a server in a real browser: progress, a failure's log, a lost worker, the curve, why; and 10⁵ tasks.

#[path = "common/chrome.rs"]
mod chrome;
mod common;

use chrome::Chrome;
use common::Run;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Gone already, perhaps.
        let _ = self.0.kill();
        let _ = self.0.wait();
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
fn serve(folder: &Path, file: &str, more: &[&str]) -> (Process, String) {
    let mut command = binary(folder);
    command
        .args(["serve", file, "--state", "state", "--stay"])
        .args(more);
    command.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first
        .strip_prefix("listening on ")
        .and_then(|rest| rest.split_once(", "));
    let (url, _) = url.unwrap_or_else(|| panic!("{first}"));
    std::thread::spawn(move || lines.for_each(drop));
    (Process(child), url.to_owned())
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

fn token(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join("state/tokens").join(name)).unwrap();
    text.trim().to_owned()
}

/// One browser at a time: what is measured in one is not what another takes.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

const TEXT: &str = "document.body.innerText";

#[test]
fn a_run_is_watched_from_its_beginning_to_its_end() {
    let _turn = TURN.lock();
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let mut flow = String::new();
    for i in 0..6 {
        flow += &format!("[[task]]\nname = \"fetch-{i}\"\nrun = \"sleep 0.3\"\n");
        flow += &format!(
            "[[task]]\nname = \"align-{i}\"\nrun = \"sleep 0.5\"\nafter = [\"fetch-{i}\"]\n"
        );
    }
    flow += "[[task]]\nname = \"broken\"\nrun = \"echo the disk is on fire; exit 3\"\n";
    flow += "[[task]]\nname = \"after-broken\"\nrun = \"true\"\nafter = [\"broken\"]\n";
    flow += "[[task]]\nname = \"gpu\"\nrun = \"true\"\ntags = [\"gpu\"]\n";
    flow += "[[task]]\nname = \"slow\"\nrun = \"sleep 600\"\nafter = [\"align-0\"]\n";
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
    let (_server, url) = serve(folder, "flow.toml", &["--silence", "2"]);
    // Without a token it asks for one, and a wrong one is told so.
    chrome.open(&url);
    chrome.until("a token is asked for", "document.querySelector('#token')");
    chrome.ask("document.querySelector('#token').value = 'wrong'; document.querySelector('form').requestSubmit()");
    chrome.until(
        "a wrong token is refused",
        &format!("{TEXT}.includes('not known')"),
    );
    let observer = token(folder, "observer");
    chrome.open(&format!("{url}/#token={observer}"));
    chrome.until(
        "all tasks are there",
        &format!("{TEXT}.includes('of 16 tasks')"),
    );
    assert_eq!(
        chrome.ask("location.hash + location.search"),
        "",
        "the token is out of the address"
    );
    let mut first = worker(folder, &url, &["-j", "2", "--name", "anna", "--dir", "a"]);
    chrome.until("a worker is there", &format!("{TEXT}.includes('anna')"));
    chrome.until(
        "tasks are executed",
        "document.querySelector('[role=progressbar]').ariaValueNow >= 6",
    );
    // A failure comes first, with its log.
    chrome.until("a failure", "!document.querySelector('.failures').hidden");
    chrome.ask("document.querySelector('.failures button.link').click()");
    chrome.until(
        "its log",
        "document.querySelector('.panel pre').textContent.includes('the disk is on fire')",
    );
    chrome.until(
        "its cause",
        "document.querySelector('.panel table').innerText.includes('exit code 3')",
    );
    chrome.picture("failure.png");
    // An observer may not retry; an admin may.
    let retry = "[...document.querySelectorAll('.steer button')].find(b => b.textContent === 'Retry').click()";
    chrome.ask(retry);
    chrome.until(
        "it needs another token",
        &format!("{TEXT}.includes(\"admin's token\")"),
    );
    let admin = token(folder, "admin");
    chrome.ask(&format!(
        "document.querySelector('#admin').value = '{admin}'; {retry}"
    ));
    chrome.until(
        "it was tried again",
        "document.querySelector('.panel table').tBodies[0].rows.length === 2",
    );
    // Why is it not running?
    let ask = |chrome: &mut Chrome, name: &str| {
        chrome.ask(&format!(
            "document.querySelector('#find').value = '{name}'; document.querySelector('form[role=search]').requestSubmit()"
        ));
    };
    ask(&mut chrome, "after-broken");
    chrome.until(
        "aborted",
        "document.querySelector('.answer').textContent.includes('failed or was cancelled')",
    );
    assert!(
        chrome
            .ask("document.querySelector('.reasons').innerText")
            .as_str()
            .unwrap()
            .contains("broken")
    );
    ask(&mut chrome, "gpu");
    chrome.until(
        "no worker fits",
        "document.querySelector('.answer').textContent.includes('none of the workers')",
    );
    chrome.until(
        "since it lacks a label",
        "document.querySelector('.reasons').innerText.includes(\"'gpu'\")",
    );
    // The curve beside the plan and the bound.
    chrome.until(
        "the bound",
        &format!("{TEXT}.includes('no order can have more than')"),
    );
    let drawn = "(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
        return d.some((v, i) => i % 4 === 3 && v > 0) })()";
    chrome.until("something is drawn", drawn);
    // A killed worker is lost, and what it had is eligible again.
    chrome.until(
        "only the slow one runs",
        "document.querySelector('.counts').innerText.includes('1 running')",
    );
    first.0.kill().unwrap();
    chrome.until("it is lost", "document.querySelector('.state.lost')");
    ask(&mut chrome, "anna");
    chrome.until(
        "why it is idle",
        "document.querySelector('.answer').textContent.includes('given up for lost')",
    );
    for (name, width, dark) in [
        ("wide.png", 1280, false),
        ("wide-dark.png", 1280, true),
        ("phone.png", 390, false),
        ("phone-dark.png", 390, true),
    ] {
        chrome.size(width, 900);
        chrome.dark(dark);
        std::thread::sleep(Duration::from_millis(400));
        chrome.picture(name);
        let over = chrome.ask("document.documentElement.scrollWidth - innerWidth");
        assert!(
            over.as_f64().unwrap() <= 1.0,
            "{name} is too wide by {over}"
        );
    }
    // The same by the command line.
    let run: Run = binary(folder)
        .args([
            "explain",
            "--live",
            &url,
            "gpu",
            "--token-file",
            "state/tokens/observer",
            "--json",
        ])
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let why: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(why["state"], "eligible");
    // Nothing was fetched from elsewhere.
    let fetched = chrome.ask("performance.getEntriesByType('resource').map(e => e.name).join(' ')");
    assert!(
        fetched
            .as_str()
            .unwrap()
            .split(' ')
            .all(|name| name.starts_with(&url)),
        "{fetched}"
    );
}

#[test]
fn a_hundred_thousand_tasks_do_not_stutter() {
    let _turn = TURN.lock();
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let run: Run = binary(folder)
        .args(["gen", "layered", "100", "1000", "3", "-o", "big.jsonl"])
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (_server, url) = serve(folder, "big.jsonl", &["--run", "true {name}"]);
    let observer = token(folder, "observer");
    // Somebody looked before: the layout of the dag is made once, and is no part of opening a page.
    chrome.open(&format!("{url}/#token={observer}"));
    chrome.until("it is there", "window.cairn && window.cairn.first > 0");
    let _worker = worker(folder, &url, &["-j", "2"]);
    chrome.until(
        "tasks are executed",
        "document.querySelector('[role=progressbar]').ariaValueNow > 100",
    );
    chrome.open("about:blank");
    chrome.open(&format!("{url}/#token={observer}"));
    chrome.until(
        "it is there again",
        "window.cairn && window.cairn.first > 0",
    );
    let first = chrome.ask("window.cairn.first").as_f64().unwrap();
    let watch = "window.long = []; new PerformanceObserver(l => l.getEntries().forEach(e => window.long.push(e.duration))) \
        .observe({ type: 'longtask' }); Object.assign(window.cairn, { updates: 0, took: [] })";
    chrome.ask(watch);
    chrome.until("it is kept up to date", "window.cairn.updates >= 20");
    let took = chrome.ask("window.cairn.took.sort((a, b) => a - b)");
    let took: Vec<f64> = serde_json::from_value(took).unwrap();
    let long = chrome.ask("window.long.filter(ms => ms > 100).length");
    let (half, nine) = (took[took.len() / 2], took[took.len() * 9 / 10]);
    let text = format!(
        "10^5 tasks: first drawn after {first:.0} ms; an update takes {half:.1} ms, nine of ten at most {nine:.1} ms; \
         {long} tasks of the browser took over 100 ms\n"
    );
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
    chrome.picture("large.png");
    assert!(first <= 2000.0, "the first picture took {first} ms");
    assert!(nine <= 100.0, "updates took {took:?} ms");
    let nodes = chrome
        .ask("document.querySelectorAll('*').length")
        .as_f64()
        .unwrap();
    assert!(nodes < 8000.0, "{nodes} elements");
}

#[test]
fn a_run_leaves_a_report_that_stands_alone() {
    let _turn = TURN.lock();
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let flow = "[[task]]\nname = \"good\"\nrun = \"true\"\n[[task]]\nname = \"bad\"\nrun = \"echo </script> smoke; exit 4\"\n\
        [[task]]\nname = \"last\"\nrun = \"true\"\nafter = [\"good\", \"bad\"]\n";
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
    let run: Run = binary(folder)
        .args([
            "run",
            "flow.toml",
            "-j",
            "1",
            "-k",
            "--report",
            "report.html",
        ])
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("wrote report.html"), "{}", run.stderr);
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    chrome.open(&format!("file://{}", folder.join("report.html").display()));
    chrome.until(
        "it is shown",
        "document.querySelector('.badge').textContent === 'saved report'",
    );
    let text = chrome.ask(TEXT);
    for words in [
        "33 % of 3 tasks",
        "exit code 4",
        "given up",
        "no order can have more than",
    ] {
        assert!(text.as_str().unwrap().contains(words), "{words}: {text}");
    }
    let log = chrome.ask("document.querySelector('details pre').textContent");
    assert!(log.as_str().unwrap().contains("</script> smoke"), "{log}");
    chrome.picture("report.png");
}
