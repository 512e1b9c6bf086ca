//! A server in this process, and a client that says whatever a test wants it to say.
#![allow(dead_code, reason = "each test file uses what it needs")]

use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::{Rules, Span, Task};
use cairn_serve::About;
use cairn_serve::http::types::Command;
use cairn_serve::http::{Handle, Job, ServeError, ServerEnd, Settings, Setup, Tasks, begin, serve};
use cairn_serve::store::{Store, Sync};
use cairn_serve::tokens::Tokens;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Tasks t0, t1, … of a dag; each writes a file of its name with the suffix `.out`, and reads those of its parents. Or no files
/// at all.
struct Numbered {
    flow: Arc<Flow>,
    has_files: bool,
}

fn output(flow: &Flow, task: TaskId) -> String {
    format!("{}.out", flow.name(task))
}

impl Tasks for Numbered {
    fn count(&self) -> Option<u64> {
        Some(self.flow.dag().len() as u64)
    }

    fn name(&self, task: Task) -> Option<String> {
        let task = task
            .frozen()
            .filter(|t| t.index() < self.flow.dag().len())?;
        Some(self.flow.name(task).to_owned())
    }

    fn find(&self, name: &str) -> Option<Task> {
        self.flow.find(name).map(Task::from)
    }

    fn job(&self, task: Task, _: u32) -> Option<Job> {
        let task = task
            .frozen()
            .filter(|t| t.index() < self.flow.dag().len())?;
        Some(Job {
            command: Command {
                words: vec!["true".to_owned()],
                ..Command::default()
            },
            inputs: (self.flow.dag().parents(task).iter())
                .filter(|_| self.has_files)
                .map(|&p| output(&self.flow, p))
                .collect(),
            outputs: (self.has_files.then(|| output(&self.flow, task)).into_iter()).collect(),
        })
    }

    fn programs(&self) -> Option<Vec<String>> {
        Some(vec!["true".to_owned()])
    }
}

/// A server that runs, and its folders.
pub(crate) struct Served {
    pub(crate) handle: Handle,
    pub(crate) folder: PathBuf,
    thread: Option<JoinHandle<Result<ServerEnd, ServeError>>>,
    _top: Option<tempfile::TempDir>,
}

/// What a test wants of its server.
pub(crate) struct Wish {
    pub(crate) dag: Dag,
    pub(crate) silence: Span,
    pub(crate) stays: bool,
    pub(crate) change: fn(&mut Settings),
    /// How old and how long-lived the tokens are, in seconds.
    pub(crate) tokens: Option<(u64, u64)>,
    /// So many volunteers have a token each, and more than half of so many results must be equal.
    pub(crate) volunteers: u32,
    pub(crate) quorum: u32,
    /// Whether tasks declare files.
    pub(crate) has_files: bool,
}

impl Wish {
    pub(crate) fn dag(tasks: u32, arcs: &[(u32, u32)]) -> Wish {
        Wish {
            dag: Dag::from_arcs(tasks as usize, arcs.to_vec()).unwrap(),
            silence: Span::seconds(15),
            stays: true,
            change: |_| (),
            tokens: None,
            volunteers: 0,
            quorum: 2,
            has_files: true,
        }
    }

    pub(crate) fn start(self) -> Served {
        let top = tempfile::tempdir().unwrap();
        let mut served = self.start_in(top.path());
        served._top = Some(top);
        served
    }

    pub(crate) fn start_in(self, top: &Path) -> Served {
        let folder = top.to_owned();
        let (state, flow_folder) = (folder.join("state"), folder.join("flow"));
        std::fs::create_dir_all(&flow_folder).unwrap();
        let (sender, begun) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let flow = Arc::new(Flow::numbered(&self.dag));
            let mut store = Store::create_or_open(&state, Sync::Full).unwrap();
            let rules = Rules {
                silence: self.silence,
                distrust: cairn_engine::Distrust::of_quorum(self.quorum),
                ..Rules::default()
            };
            let quick = || flow.dag().tasks().collect();
            let setup = Setup {
                disk: None,
                weights: Vec::new(),
                flow: &flow,
                done: &[],
                fingerprints: Vec::new(),
                files: None,
                rules,
                about: About::default(),
                batches: true,
                watch: cairn_serve::http::Beforehand::default(),
            };
            let run = begin(&mut store, setup, quick).unwrap();
            let kept = store.meta("tokens").unwrap();
            let kept = kept.map(|text| serde_json::from_str(&text).unwrap());
            let now = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_secs();
            let (age, life) = self.tokens.unwrap_or((0, 0));
            let life = (life > 0).then(|| Duration::from_secs(life));
            let mut tokens = Tokens::open(
                &state.join("tokens"),
                kept,
                self.tokens.is_some(),
                life,
                now - age,
            )
            .unwrap();
            let place = state.join("tokens");
            (tokens.see_to_volunteers(&place, false, self.volunteers, None, now)).unwrap();
            store
                .set_meta("tokens", &serde_json::to_string(&tokens).unwrap())
                .unwrap();
            let mut settings =
                Settings::new("127.0.0.1:0".parse().unwrap(), tokens, state, flow_folder);
            settings.stays = self.stays;
            (self.change)(&mut settings);
            let tasks = Arc::new(Numbered {
                flow: flow.clone(),
                has_files: self.has_files,
            });
            serve(run, store, tasks, settings, |handle| {
                sender.send(handle.clone()).unwrap()
            })
        });
        Served {
            handle: begun.recv().expect("the server begins"),
            folder,
            thread: Some(thread),
            _top: None,
        }
    }
}

impl Served {
    pub(crate) fn address(&self) -> String {
        self.handle.url().trim_start_matches("http://").to_owned()
    }

    pub(crate) fn token(&self, scope: &str) -> String {
        let path = self.folder.join("state/tokens").join(scope);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Asks with the token of a scope.
    pub(crate) fn ask(&self, scope: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, text) = self.raw(Some(&self.token(scope)), method, path, body.as_bytes());
        (status, serde_json::from_slice(&text).unwrap_or(Value::Null))
    }

    /// Asks with this token, or none.
    pub(crate) fn raw(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        self.raw_with(token, method, path, "", body)
    }

    /// Asks with more lines in the head.
    pub(crate) fn raw_with(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        more: &str,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let bearer = token.map_or(String::new(), |t| format!("authorization: Bearer {t}\r\n"));
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{bearer}{more}content-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that says no may stop listening.
        let _ = stream.write_all(body);
        read_answer(&mut stream)
    }

    pub(crate) fn join(&self, name: &str, cpus: u32) -> u64 {
        let (status, joined) = self.ask(
            "worker",
            "POST",
            "/api/v1/workers",
            &format!("{{\"name\":\"{name}\",\"cpus\":{cpus}}}"),
        );
        assert_eq!(status, 200, "{joined}");
        joined["worker"].as_u64().unwrap()
    }

    pub(crate) fn exchange(&self, worker: u64, body: &str) -> Value {
        let (status, answer) = self.ask(
            "worker",
            "POST",
            &format!("/api/v1/workers/{worker}/exchange"),
            body,
        );
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Uploads this with the token of a scope; its digest.
    pub(crate) fn put(&self, scope: &str, text: &[u8]) -> String {
        let digest = blake3::hash(text).to_hex().to_string();
        let path = format!("/api/v1/files/{digest}?bytes={}", text.len());
        let (status, answer) = self.raw(Some(&self.token(scope)), "PUT", &path, text);
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 200, "{answer}");
        digest
    }

    pub(crate) fn status(&self) -> Value {
        let (status, answer) = self.ask("observer", "GET", "/api/v1/status", "");
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// How it ended by itself.
    pub(crate) fn end(mut self) -> ServerEnd {
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                std::thread::panicking() || matches!(ended, Ok(Ok(_))),
                "{ended:?}"
            );
        }
    }
}

/// Status and body of an answer; 0 where the server hung up without one.
pub(crate) fn read_answer(stream: &mut TcpStream) -> (u16, Vec<u8>) {
    let mut all = Vec::new();
    // A connection that is cut while we still write ends in an error, with the answer before it.
    let mut piece = [0; 4096];
    while let Ok(n) = stream.read(&mut piece) {
        if n == 0 {
            break;
        }
        all.extend_from_slice(&piece[..n]);
        // A stream of events has no end: its head and what came with it are the answer.
        let head = all.windows(4).position(|w| w == b"\r\n\r\n");
        let head = head.map_or(&[][..], |end| &all[..end]);
        if head.windows(17).any(|w| w == b"text/event-stream") {
            break;
        }
    }
    let Some(end) = all.windows(4).position(|w| w == b"\r\n\r\n") else {
        return (0, all);
    };
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    let body = all[end + 4..].to_vec();
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    (status, if is_chunked { unchunked(&body) } else { body })
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = body.windows(2).position(|w| w == b"\r\n") {
        let size =
            usize::from_str_radix(std::str::from_utf8(&body[..at]).unwrap().trim(), 16).unwrap();
        if size == 0 || body.len() < at + 2 + size {
            break;
        }
        whole.extend_from_slice(&body[at + 2..at + 2 + size]);
        body = &body[(at + 4 + size).min(body.len())..];
    }
    whole
}

/// A lease as what must be shown on return.
pub(crate) fn shown(lease: &Value) -> String {
    format!(
        "\"id\":{},\"epoch\":{},\"attempt\":{}",
        lease["id"], lease["epoch"], lease["attempt"]
    )
}

/// A request that returns these leases as executed, and wants so many.
pub(crate) fn executed(leases: &[Value], want: u32) -> String {
    let returns: Vec<String> = leases
        .iter()
        .map(|l| format!("{{{},\"outcome\":\"executed\"}}", shown(l)))
        .collect();
    format!("{{\"returns\":[{}],\"want\":{want}}}", returns.join(","))
}

/// A request that returns a lease as executed with these files.
pub(crate) fn carried(lease: &Value, made: &[(&str, &str)]) -> String {
    let outputs: Vec<String> = made
        .iter()
        .map(|(path, digest)| format!("{{\"path\":\"{path}\",\"digest\":\"{digest}\"}}"))
        .collect();
    format!(
        "{{\"returns\":[{{{},\"outcome\":\"executed\",\"outputs\":[{}]}}]}}",
        shown(lease),
        outputs.join(",")
    )
}
