//! A server that does as a test wants: it leases what it is given, refuses what it is told to, and keeps what workers say. Speaks
//! just enough HTTP.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What it does, and what it heard.
pub(crate) struct Manner {
    /// What it calls its run.
    pub(crate) run: String,
    /// Beside what every server answers to a join.
    pub(crate) joined: Value,
    /// What is still to be leased.
    pub(crate) leases: Vec<Value>,
    /// The answer to a return, by its task: 200 takes it.
    pub(crate) answer: fn(u64) -> u16,
    /// After so many returns that it took, all is done.
    pub(crate) enough: usize,
    /// Every join, and every return that it took.
    pub(crate) joins: Vec<Value>,
    pub(crate) returns: Vec<Value>,
    /// How often it refused.
    pub(crate) refused: usize,
    /// The answer to a piece of a log: 200 takes it, others come from somebody between, who speaks no JSON.
    pub(crate) log_answer: u16,
    /// How many pieces came.
    pub(crate) pieces: usize,
}

impl Manner {
    pub(crate) fn new(run: &str, leases: Vec<Value>) -> Manner {
        Manner {
            run: run.to_owned(),
            joined: json!({}),
            enough: leases.len(),
            leases,
            answer: |_| 200,
            joins: Vec::new(),
            returns: Vec::new(),
            refused: 0,
            log_answer: 200,
            pieces: 0,
        }
    }

    fn exchange(&mut self, asked: &Value) -> (u16, Value) {
        let returns = asked["returns"].as_array().cloned().unwrap_or_default();
        let answers = returns
            .iter()
            .map(|back| (self.answer)(back["id"].as_u64().unwrap()));
        if let Some(status) = answers.max().filter(|&status| status != 200) {
            self.refused += 1;
            return (status, json!({ "error": "not this one", "cure": "none" }));
        }
        let receipts = vec!["accepted"; returns.len()];
        self.returns.extend(returns);
        let want = asked["want"].as_u64().unwrap_or(0) as usize;
        let many = want.min(self.leases.len());
        let leases: Vec<Value> = self.leases.drain(..many).collect();
        let finished = self.returns.len() >= self.enough && leases.is_empty();
        if leases.is_empty() && !finished {
            // Instead of a long poll.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let answer =
            json!({ "receipts": receipts, "leases": leases, "finished": finished, "known": true });
        (200, answer)
    }

    fn hear(&mut self, path: &str, body: &Value) -> (u16, Value) {
        match path {
            "/api/v1/workers" => {
                self.joins.push(body.clone());
                let mut joined = json!({ "worker": 1, "epoch": 1, "heartbeat_seconds": 5.0, "silence_seconds": 15.0, "run": self.run });
                for (key, value) in self.joined.as_object().unwrap() {
                    joined[key] = value.clone();
                }
                (200, joined)
            }
            path if path.ends_with("/exchange") => self.exchange(body),
            path if path.ends_with("/heartbeat") => (200, json!({ "stop": [], "finished": false })),
            path if path.starts_with("/api/v1/logs/") => {
                self.pieces += 1;
                match self.log_answer {
                    200 => (200, json!({ "bytes": 0, "complete": true })),
                    status => (status, json!("<html>no</html>")),
                }
            }
            _ => (204, Value::Null),
        }
    }
}

/// A server that listens.
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) manner: Arc<Mutex<Manner>>,
}

impl Stub {
    pub(crate) fn start(manner: Manner) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let manner = Arc::new(Mutex::new(manner));
        let shared = manner.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let manner = shared.clone();
                std::thread::spawn(move || answer(stream, &manner));
            }
        });
        Stub { url, manner }
    }
}

/// One request, one answer.
fn answer(stream: TcpStream, manner: &Mutex<Manner>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.split('?').next()?.to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let head = line.trim().to_ascii_lowercase();
        if head.is_empty() {
            break;
        }
        if let Some(number) = head.strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        is_chunked |= head == "transfer-encoding: chunked";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    while is_chunked {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut piece = vec![0; size + 2];
        reader.read_exact(&mut piece).ok()?;
        body.extend_from_slice(&piece[..size]);
        is_chunked = size > 0;
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let (status, answer) = manner.lock().unwrap().hear(&path, &body);
    let answer = if status == 204 {
        String::new()
    } else {
        answer.to_string()
    };
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    (&stream)
        .write_all(format!("{head}{answer}").as_bytes())
        .ok()
}

/// A task for the shell, as a server leases it.
pub(crate) fn lease(id: u64, line: &str) -> Value {
    json!({ "id": id, "task": format!("t{id}"), "epoch": 1, "attempt": 1, "command": { "shell": line }, "inputs": [], "outputs": [] })
}
