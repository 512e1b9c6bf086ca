//! The server: lease + return cycles a second, commits beside bare fsyncs, idle polls, a million tasks and their resume; batches;
//! a family of which ten million tasks are executed.
//!
//! The server is a process of its own (this program again, told so by its environment); clients are threads here, on the
//! same processors. Everything is durable, and tokens are checked.

pub mod beside;

use self::beside::{Beside, Seen, VOLUNTEERS, tokens_of_volunteers};
use crate::measure::timed;
use cairn_dag::{Dag, Flow};
use cairn_engine::{Position, Rules, Task};
use cairn_serve::About;
use cairn_serve::http::types::Command as Line;
use cairn_serve::http::{Begun, Job, Settings, Setup, Sight, Tasks, begin, begin_family, serve};
use cairn_serve::store::{Store, Sync};
use cairn_serve::tls::{Certificate, Trust};
use cairn_serve::tokens::Tokens;
use cairn_theory::families::EvolvingMesh;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Tells this program to be the server: the folder of its state.
const SERVER: &str = "CAIRN_BENCH_SERVER";
const TLS: &str = "CAIRN_BENCH_TLS";
/// How many tasks there are; 0: a mesh that is never written down.
const COUNT: &str = "CAIRN_BENCH_TASKS";

/// What it does beside handing out tasks: words of [`Beside`].
const BESIDE: &str = "CAIRN_BENCH_BESIDE";

/// More than any server does within the time of a measurement.
const TASKS: u32 = 2_000_000;
/// How long each measurement lasts, unless all tasks are executed before.
// A judgement: long beside the first moments, in which connections are made, and short for all cases together.
const SECONDS: u64 = 5;
/// Levels of the mesh, and how many of its tasks are executed.
const LEVELS: u64 = 5_000;
const CELLS: u64 = 10_000_000;

/// A band: task n waits for three tasks about ten thousand before it, or a tenth of all where that is less.
fn dag(tasks: u32) -> Dag {
    let width = (tasks / 10).clamp(10, 10_000);
    let back = |n: u32| {
        [width, width - 1, width - 2]
            .into_iter()
            .filter(move |&b| b <= n)
            .map(move |b| (n - b, n))
    };
    Dag::from_arcs(tasks as usize, (0..tasks).flat_map(back).collect()).expect("arcs go forward")
}

/// A command of these words, and nothing else.
fn job_of(words: Vec<String>) -> Job {
    let command = Line {
        words,
        ..Line::default()
    };
    Job {
        command,
        ..Job::default()
    }
}

struct Band(Arc<Flow>);

impl Tasks for Band {
    fn count(&self) -> Option<u64> {
        Some(self.0.dag().len() as u64)
    }

    fn name(&self, task: Task) -> Option<String> {
        Some(self.0.name(task.frozen()?).to_owned())
    }

    fn find(&self, name: &str) -> Option<Task> {
        self.0.find(name).map(Task::from)
    }

    fn job(&self, _: Task, _: u32) -> Option<Job> {
        let words = vec!["true".to_owned()];
        Some(job_of(words))
    }

    fn programs(&self) -> Option<Vec<String>> {
        Some(vec!["true".to_owned()])
    }
}

/// A mesh that is never written down.
struct Cells;

impl Tasks for Cells {
    fn count(&self) -> Option<u64> {
        Some(LEVELS * (LEVELS + 1) / 2)
    }

    fn name(&self, task: Task) -> Option<String> {
        Some(task.0.to_string())
    }

    fn find(&self, name: &str) -> Option<Task> {
        name.parse().ok().map(Task)
    }

    fn job(&self, task: Task, _: u32) -> Option<Job> {
        let words = vec!["cell".to_owned(), task.0.to_string()];
        Some(job_of(words))
    }

    fn programs(&self) -> Option<Vec<String>> {
        Some(vec!["cell".to_owned()])
    }
}

/// The life of the server's process.
fn be_server(state: &Path) {
    let tasks: u32 = (std::env::var(COUNT).ok()).map_or(TASKS, |n| n.parse().expect("a number"));
    if tasks == 0 {
        let ((store, begun), seconds) = timed(|| {
            let mut store = Store::create_or_open(state, Sync::Full).expect("a store");
            let mesh = EvolvingMesh::with_levels(LEVELS).expect("a mesh");
            let begun = begin_family(&mut store, "mesh", "cell", Box::new(mesh), Rules::default());
            (store, begun.expect("a run"))
        });
        return listen(state, store, begun, (Arc::new(Cells), None), seconds);
    }
    let flow = Arc::new(Flow::numbered(&dag(tasks)));
    let beside = Beside::of(&std::env::var(BESIDE).unwrap_or_default());
    let quick = || flow.dag().tasks().collect();
    let ((store, begun), seconds) = timed(|| {
        let mut store = Store::create_or_open(state, Sync::Full).expect("a store");
        let setup = Setup {
            disk: None,
            weights: Vec::new(),
            flow: &flow,
            done: &[],
            fingerprints: Vec::new(),
            files: None,
            rules: beside.rules(),
            about: About::default(),
            // The two answer a group of requests each in its way.
            batches: beside == Beside::Nothing,
            watch: beside.watch(tasks as usize),
        };
        let begun = begin(&mut store, setup, quick).expect("a run");
        (store, begun)
    });
    let seen = Arc::new(Seen(flow.clone()));
    let sight = (beside != Beside::Nothing).then_some(seen as Arc<dyn Sight>);
    let band = Arc::new(Band(flow.clone()));
    listen(state, store, begun, (band, sight), seconds);
}

fn listen<P: Position + Send>(
    state: &Path,
    mut store: Store,
    begun: Begun<'_, P>,
    (tasks, sight): (Arc<dyn Tasks>, Option<Arc<dyn Sight>>),
    seconds: f64,
) {
    let kept = store.meta("tokens").expect("readable");
    let kept = kept.and_then(|text| serde_json::from_str(&text).ok());
    let place = state.join("tokens");
    let mut tokens = Tokens::open(&place, kept, false, None, 0).expect("tokens");
    (tokens.see_to_volunteers(&place, false, VOLUNTEERS, None, 0)).expect("tokens");
    (store.set_meta("tokens", &serde_json::to_string(&tokens).expect("JSON"))).expect("writable");
    let address = "127.0.0.1:0".parse().expect("an address");
    let mut settings = Settings::new(address, tokens, state.to_owned(), state.to_owned());
    settings.stays = true;
    settings.sight = sight;
    if std::env::var_os(TLS).is_some() {
        let names = ["localhost".to_owned()];
        settings.certificate = Certificate::self_signed(&state.join("tls"), &names).ok();
    }
    let pin = settings
        .certificate
        .as_ref()
        .map(|c| c.fingerprint().to_string());
    let ended = serve(begun, store, tasks, settings, |handle| {
        println!(
            "{} {seconds:.3} {}",
            handle.url(),
            pin.as_deref().unwrap_or("-")
        );
    });
    ended.expect("a server");
}

struct Server {
    child: Child,
    address: String,
    begin: f64,
    trust: Option<Trust>,
    token: String,
    /// Whose tokens workers show, one after the other; the admin's where there are none.
    volunteers: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is killed as a crash would: the store must stand that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(state: &Path, tasks: u32, tls: bool) -> Server {
        Server::start_with(state, tasks, tls, Beside::Nothing)
    }

    fn start_with(state: &Path, tasks: u32, tls: bool, beside: Beside) -> Server {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .arg("serve")
            .env(SERVER, state)
            .env(COUNT, tasks.to_string())
            .env(BESIDE, beside.name())
            .stdout(Stdio::piped());
        if tls {
            command.env(TLS, "1");
        }
        let mut child = command.spawn().expect("a server");
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().expect("its output"));
        while !line.contains("://") {
            line.clear();
            assert!(
                reader.read_line(&mut line).expect("its address") > 0,
                "the server ended"
            );
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let token = std::fs::read_to_string(state.join("tokens/admin")).expect("a token");
        Server {
            child,
            address: words[0].split("//").nth(1).expect("a host").to_owned(),
            begin: words[1].parse().expect("seconds"),
            trust: words[2].parse().ok().map(Trust::Pinned),
            token: token.trim().to_owned(),
            volunteers: match beside {
                Beside::Volunteers => tokens_of_volunteers(state),
                _ => Vec::new(),
            },
        }
    }

    fn resident(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status
            .lines()
            .find(|l| l.starts_with("VmRSS:"))
            .unwrap_or("");
        line.split_whitespace()
            .nth(1)
            .and_then(|kb| kb.parse::<f64>().ok())
            .unwrap_or(0.0)
            / 1e3
    }

    /// Seconds of processors that it took so far.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or("").split(' ');
        let ticks: u64 = (fields.skip(11).take(2))
            .filter_map(|t| t.parse::<u64>().ok())
            .sum();
        // A hundredth of a second each, on every Linux.
        ticks as f64 / 100.0
    }

    fn connect(&self) -> Connection {
        self.connect_as(&self.token)
    }

    fn connect_as(&self, token: &str) -> Connection {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let stream: Box<dyn Stream> = match &self.trust {
            None => Box::new(stream),
            Some(trust) => Box::new(trust.connect(stream, "localhost").expect("TLS")),
        };
        let head = format!("host: x\r\nauthorization: Bearer {token}\r\n");
        Connection { stream, head }
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One kept-alive connection, with as little of a client as there can be.
struct Connection {
    stream: Box<dyn Stream>,
    head: String,
}

impl Connection {
    fn ask(&mut self, method: &str, path: &str, body: &str) -> String {
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).expect("sent");
        let (mut all, mut piece) = (Vec::new(), [0; 65536]);
        loop {
            let n = self.stream.read(&mut piece).expect("an answer");
            assert!(n > 0, "hung up");
            all.extend_from_slice(&piece[..n]);
            let Some(end) = all.windows(4).position(|w| w == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.and_then(|n| n.parse().ok()).unwrap_or(0);
            if all.len() >= end + 4 + length {
                return String::from_utf8_lossy(&all[end + 4..]).into_owned();
            }
        }
    }

    fn join(&mut self, name: usize, cpus: usize) -> u64 {
        let answer = self.ask(
            "POST",
            "/api/v1/workers",
            &format!("{{\"name\":\"w{name}\",\"cpus\":{cpus}}}"),
        );
        let joined: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        joined["worker"].as_u64().expect("a number")
    }
}

/// The returns for all leases of an answer, found without a JSON reader: the client must cost little.
fn returns(answer: &str) -> (String, usize) {
    let mut text = String::with_capacity(answer.len());
    let mut count = 0;
    for lease in answer.split("{\"id\":").skip(1) {
        let field = |name: &str| {
            lease
                .split(name)
                .nth(1)
                .map(|rest| rest.split([',', '}']).next().unwrap_or(""))
        };
        let id = lease.split(',').next().unwrap_or("");
        let (Some(epoch), Some(attempt)) = (field("\"epoch\":"), field("\"attempt\":")) else {
            continue;
        };
        if count > 0 {
            text.push(',');
        }
        text += &format!(
            "{{\"id\":{id},\"epoch\":{epoch},\"attempt\":{attempt},\"outcome\":\"executed\"}}"
        );
        count += 1;
    }
    (text, count)
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted
        .get(((sorted.len() as f64 * q) as usize).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

/// Cycles a second, and the 99th percentile of an exchange in milliseconds: until all is executed, `most` cycles are done, or
/// the time is up.
fn cycles(
    server: &Server,
    (connections, batch): (usize, usize),
    (most, time): (u64, Duration),
) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    let all = AtomicU64::new(0);
    let totals = Mutex::new((0usize, Vec::new()));
    let go = std::sync::Barrier::new(connections + 1);
    let last = Mutex::new(Instant::now());
    let mut begin = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..connections {
            let (stop, totals, go, all, end) = (&stop, &totals, &go, &all, &last);
            let one = move || {
                let own = server.volunteers.get(n % server.volunteers.len().max(1));
                let mut connection = server.connect_as(own.unwrap_or(&server.token));
                let worker = connection.join(n, batch);
                let path = format!("/api/v1/workers/{worker}/exchange");
                let (mut done, mut times, mut last) = (0, Vec::new(), String::new());
                go.wait();
                while !stop.load(Ordering::Relaxed) {
                    let (back, count) = returns(&last);
                    let body =
                        format!("{{\"returns\":[{back}],\"want\":{batch},\"wait_seconds\":1}}");
                    let begin = Instant::now();
                    last = connection.ask("POST", &path, &body);
                    times.push(begin.elapsed().as_secs_f64() * 1e3);
                    done += count;
                    let count = count as u64;
                    let is_enough = all.fetch_add(count, Ordering::Relaxed) + count >= most;
                    if is_enough || last.contains("\"finished\":true") {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                let mut end = end.lock().expect("unharmed");
                *end = Instant::now().max(*end);
                drop(end);
                let (back, count) = returns(&last);
                connection.ask("POST", &path, &format!("{{\"returns\":[{back}]}}"));
                connection.ask("DELETE", &format!("/api/v1/workers/{worker}"), "");
                let mut totals = totals.lock().expect("unharmed");
                totals.0 += done + count;
                totals.1.append(&mut times);
            };
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, one)
                .expect("a thread");
        }
        go.wait();
        begin = Instant::now();
        while begin.elapsed() < time && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let end = last.into_inner().expect("unharmed");
    let seconds = end.saturating_duration_since(begin).as_secs_f64();
    let (done, mut times) = totals.into_inner().expect("unharmed");
    times.sort_by(f64::total_cmp);
    (done as f64 / seconds, quantile(&times, 0.99))
}

/// Bare writes of 4 kB with an fsync each, until told to stop: milliseconds.
fn bare_fsyncs(folder: &Path, stop: &AtomicBool) -> Vec<f64> {
    let mut file = File::create(folder.join("bare")).expect("a file");
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let begin = Instant::now();
        file.write_all(&[1; 4096])
            .and_then(|()| file.sync_data())
            .expect("a disk");
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(5));
    }
    times.sort_by(f64::total_cmp);
    times
}

pub fn run() {
    if let Some(state) = std::env::var_os(SERVER) {
        return be_server(Path::new(&state));
    }
    let folder = tempfile::tempdir().expect("a folder");
    println!(
        "connections x batch: lease + return cycles/s, p99 of an exchange; without and with TLS"
    );
    let rows = [
        (64, 100, TASKS),
        (64, 16, TASKS),
        (64, 1, TASKS),
        (2000, 1, TASKS),
        // So few that requests that come together are answered as one batch.
        (64, 100, 50_000),
        (64, 16, 50_000),
        (64, 1, 50_000),
    ];
    for (connections, batch, tasks) in rows {
        let mut line = format!("  {connections:5} x {batch:3}, {tasks:7} tasks");
        for tls in [false, true] {
            let state = folder
                .path()
                .join(format!("{connections}-{batch}-{tasks}-{tls}"));
            let server = Server::start(&state, tasks, tls);
            let stop = AtomicBool::new(false);
            let ((rate, p99), bare) = std::thread::scope(|scope| {
                let bare = scope.spawn(|| bare_fsyncs(folder.path(), &stop));
                let time = Duration::from_secs(SECONDS);
                let measured = cycles(&server, (connections, batch), (u64::MAX, time));
                stop.store(true, Ordering::Relaxed);
                (measured, bare.join().expect("unharmed"))
            });
            let metrics = server.connect().ask("GET", "/metrics", "");
            let commit = |q: &str| {
                let line = metrics
                    .lines()
                    .find(|l| l.starts_with(&format!("cairn_commit_seconds{{quantile=\"{q}\"}}")));
                line.and_then(|l| l.rsplit(' ').next()?.parse::<f64>().ok())
                    .unwrap_or(0.0)
                    * 1e3
            };
            line += &format!(
                "  {} {rate:8.0}/s p99 {p99:6.1} ms (commit p50 {:.1} p99.9 {:.1} ms, bare fsync p50 {:.1} p99.9 {:.1} ms)",
                if tls { "TLS" } else { "clear" },
                commit("0.5"),
                commit("0.999"),
                quantile(&bare, 0.5),
                quantile(&bare, 0.999)
            );
            drop(server);
        }
        println!("{line}");
    }
    large(folder.path());
}

/// A million tasks, half of them executed: resumed, and with two thousand who wait.
fn large(folder: &Path) {
    let state = folder.join("million");
    let server = Server::start(&state, 1_000_000, false);
    cycles(&server, (64, 100), (500_000, Duration::from_secs(60)));
    drop(server);
    let server = Server::start(&state, 1_000_000, false);
    let status = server.connect().ask("GET", "/api/v1/status", "");
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let before = server.resident();
    println!(
        "  10⁶ tasks, {} executed: resumed in {:.2} s after a kill, {before:.0} MB once serving",
        status["executed"], server.begin
    );
    let mut idle: Vec<Connection> = (0..2000).map(|_| server.connect()).collect();
    server.connect().ask("POST", "/api/v1/pause", "");
    for (n, connection) in idle.iter_mut().enumerate() {
        let worker = connection.join(n, 1);
        let body = "{\"want\":1,\"wait_seconds\":60}";
        let path = format!("/api/v1/workers/{worker}/exchange");
        let request = format!(
            "POST {path} HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}",
            connection.head,
            body.len()
        );
        connection
            .stream
            .write_all(request.as_bytes())
            .expect("sent");
    }
    std::thread::sleep(Duration::from_secs(1));
    println!(
        "  2,000 idle long polls: {:.1} MB more",
        server.resident() - before
    );
}

/// Ten million tasks of a mesh that is never written down: what is left of them in memory and on the disk.
pub fn family() {
    if let Some(state) = std::env::var_os(SERVER) {
        return be_server(Path::new(&state));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("mesh");
    let server = Server::start(&state, 0, false);
    let (rate, _) = cycles(&server, (64, 100), (CELLS, Duration::from_secs(600)));
    let status = server.connect().ask("GET", "/api/v1/status", "");
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let bytes: u64 = (std::fs::read_dir(&state).expect("a folder"))
        .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
        .sum();
    println!(
        "  mesh:{LEVELS}, {} tasks executed at {rate:.0}/s: {:.0} MB of memory, {:.1} MB of store",
        status["executed"],
        server.resident(),
        bytes as f64 / 1e6
    );
    drop(server);
    let again = Server::start(&state, 0, false);
    println!("  resumed in {:.2} s after a kill", again.begin);
}
