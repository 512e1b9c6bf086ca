//! Real files under a cap: 2,000 samples of three steps in `cairn run` and through `cairn serve` with four workers. The disk is one of its
//! own (a tmpfs), so that what it has is known at every moment; where none can be mounted, nothing is measured.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a large file has: whole pages.
const LARGE: u64 = 1 << 20;
/// What is kept of a sample.
const SMALL: u64 = 8;

/// A disk of its own, and a folder beside it.
struct Place {
    disk: tempfile::TempDir,
    beside: tempfile::TempDir,
    all: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.disk.path())
            .status();
    }
}

impl Place {
    fn new() -> Option<Place> {
        let (disk, beside) = (tempfile::tempdir().ok()?, tempfile::tempdir().ok()?);
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=4g", "none"])
            .arg(disk.path());
        if !mount
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
        {
            return None;
        }
        let all = cairn_serve::free_bytes(disk.path()).ok()?;
        Some(Place { disk, beside, all })
    }

    /// Bytes on the disk now.
    fn used(&self) -> u64 {
        let free = cairn_serve::free_bytes(self.disk.path()).unwrap_or(self.all);
        self.all.saturating_sub(free)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.beside.path().join(name)
    }

    /// Runs something on the empty disk; its answer, seconds, and the most bytes that the disk had.
    fn watched<T>(&self, run: impl FnOnce() -> T) -> (T, f64, u64) {
        let (most, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    most.fetch_max(self.used(), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let begin = Instant::now();
            let ran = run();
            let seconds = begin.elapsed().as_secs_f64();
            is_over.store(true, Ordering::Relaxed);
            (ran, seconds, most.load(Ordering::Relaxed))
        })
    }

    /// The flow: two large temporary files a sample, and a small result beside the disk.
    fn write(&self, count: usize) -> PathBuf {
        let mut text = String::new();
        for i in 0..count {
            let kept = self.path(&format!("out/{i}"));
            let tasks = [
                json!({ "name": format!("make-{i}"), "run": format!("head -c {LARGE} /dev/zero > {i}.a"),
                    "outputs": [{ "path": format!("{i}.a"), "bytes": LARGE, "temp": true }] }),
                json!({ "name": format!("sort-{i}"), "after": [format!("make-{i}")], "inputs": [format!("{i}.a")],
                    "run": format!("cat {i}.a > {i}.b"),
                    "outputs": [{ "path": format!("{i}.b"), "bytes": LARGE, "temp": true }] }),
                json!({ "name": format!("sum-{i}"), "after": [format!("sort-{i}")], "inputs": [format!("{i}.b")],
                    "run": format!("printf %08d $(wc -c < {i}.b) > {}", kept.display()),
                    "outputs": [{ "path": kept, "bytes": SMALL }] }),
            ];
            for task in tasks {
                writeln!(text, "{task}").expect("a string takes it");
            }
        }
        let file = self.path("f.jsonl");
        std::fs::write(&file, text).expect("a folder of our own");
        file
    }

    /// An empty disk and no results.
    fn clear(&self) {
        let out = self.path("out");
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).expect("a folder of our own");
        for entry in std::fs::read_dir(self.disk.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }

    /// How many results are right.
    fn right(&self, count: usize) -> usize {
        let wanted = format!("{LARGE:08}");
        let made = |i: &usize| {
            let text = std::fs::read_to_string(self.path(&format!("out/{i}")));
            text.is_ok_and(|text| text == wanted)
        };
        (0..count).filter(made).count()
    }
}

pub fn run() {
    let cairn = std::env::current_exe().map(|own| own.with_file_name("cairn"));
    let Some(cairn) = cairn.ok().filter(|path| path.exists()) else {
        println!("SKIPPED: no cairn beside this program (cargo build --release -p cairn)");
        return;
    };
    let Some(place) = Place::new() else {
        println!("SKIPPED: no right to mount a small disk");
        return;
    };
    let count = std::env::var("CAIRN_SAMPLES").ok();
    let count = count.and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let file = place.write(count);
    let peak = planned_peak(&cairn, &file);
    println!(
        "{count} samples × 3 steps, two temporary files of 1 MiB each; planned peak {:.2} MB; bytes are those of the disk itself, looked at \
         some thousand times a second",
        peak as f64 / 1e6
    );
    println!("| how | cap | seconds | most on the disk | results right |");
    println!("|---|---|---|---|---|");
    for factor in [None, Some(3), Some(1)] {
        let cap = factor.map(|f| f * peak);
        place.clear();
        let (_, seconds, most) = place.watched(|| run_here(&cairn, &file, &place, cap));
        row("run -j2", cap, seconds, most, place.right(count), count);
        place.clear();
        let (_, seconds, most) = place.watched(|| serve(&cairn, &file, &place, cap));
        row(
            "serve, 4 workers",
            cap,
            seconds,
            most,
            place.right(count),
            count,
        );
    }
    let naive = fits_now(&cairn, &file, 3 * peak);
    println!("starting whatever fits instead, simulated at 3 × the planned peak: {naive}");
}

fn row(how: &str, cap: Option<u64>, seconds: f64, most: u64, right: usize, count: usize) {
    let megabytes = |bytes: u64| format!("{:.2} MB", bytes as f64 / 1e6);
    let capped = cap.map_or("none".to_owned(), megabytes);
    let over = match cap.is_some_and(|cap| most > cap) {
        true => " OVER",
        false => "",
    };
    println!(
        "| {how} | {capped} | {seconds:.1} | {}{over} | {right} of {count} |",
        megabytes(most)
    );
}

fn quiet(cairn: &Path, folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(cairn);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn disk_args(cap: Option<u64>) -> Vec<String> {
    cap.map_or_else(Vec::new, |cap| {
        ["--disk", &format!("{cap}B"), "--safety", "1"]
            .map(str::to_owned)
            .to_vec()
    })
}

fn run_here(cairn: &Path, file: &Path, place: &Place, cap: Option<u64>) {
    let state = tempfile::tempdir().expect("a folder for the state");
    let mut command = quiet(cairn, place.disk.path(), &["run", "-j2"]);
    command.arg(file).arg("--state").arg(state.path());
    let status = command.args(disk_args(cap)).status();
    assert!(status.is_ok_and(|s| s.success()), "cairn run failed");
}

/// Until the server ends by itself.
fn serve(cairn: &Path, file: &Path, place: &Place, cap: Option<u64>) {
    let state = tempfile::tempdir().expect("a folder for the state");
    let token = state.path().join("tokens/worker");
    let mut command = quiet(cairn, place.disk.path(), &["serve"]);
    command.arg(file).arg("--state").arg(state.path());
    command.args(disk_args(cap)).stderr(Stdio::piped());
    let mut server = command.spawn().expect("cairn serve starts");
    let mut said = std::io::BufReader::new(server.stderr.take().expect("it is piped"));
    let mut first = String::new();
    let _ = std::io::BufRead::read_line(&mut said, &mut first);
    let url = first
        .strip_prefix("listening on ")
        .and_then(|rest| rest.split_once(','));
    let url = url.map(|(url, _)| url.to_owned()).expect("it listens");
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let worker = |n: usize| -> Child {
        let mut command = quiet(
            cairn,
            place.disk.path(),
            &["work", &url, "-j1", "--shared", "."],
        );
        command.arg("--token-file").arg(&token);
        command.arg("--dir").arg(state.path().join(format!("w{n}")));
        command.spawn().expect("cairn work starts")
    };
    let mut workers: Vec<Child> = (0..4).map(worker).collect();
    let ended = server.wait();
    assert!(ended.is_ok_and(|s| s.success()), "cairn serve failed");
    for worker in &mut workers {
        let _ = worker.wait();
    }
}

fn answer(cairn: &Path, args: &[&str], file: &Path) -> Value {
    let out = Command::new(cairn).args(args).arg(file).output();
    let out = out.expect("cairn starts");
    serde_json::from_slice(&out.stdout).expect("an answer in JSON")
}

fn planned_peak(cairn: &Path, file: &Path) -> u64 {
    let plan = answer(
        cairn,
        &["plan", "--disk", "1TB", "--json", "--no-arrays"],
        file,
    );
    plan["storage"]["peak"].as_u64().expect("a peak")
}

fn fits_now(cairn: &Path, file: &Path, cap: u64) -> String {
    let disk = format!("{cap}B");
    let args = [
        "simulate",
        "--disk",
        &disk,
        "--world",
        "pool",
        "--workers",
        "4",
    ];
    let more = ["--policies", "fifo", "--runs", "20", "--json"];
    let found = answer(cairn, &[&args[..], &more].concat(), file);
    let fifo = &found["storage"]["fits_now"]["fifo"];
    format!("{} of {} runs stop for good", fifo["stuck"], fifo["runs"])
}
