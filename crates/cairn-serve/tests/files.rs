//! Files that come and go: what liars, cut connections, slow ends and full houses do to them, which is nothing.

mod common;

use common::{Served, Wish, carried, executed, read_answer, shown};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A volunteer that has joined.
struct Volunteer<'s> {
    server: &'s Served,
    scope: String,
    worker: u64,
}

impl Volunteer<'_> {
    fn join(server: &Served, number: u32) -> Volunteer<'_> {
        let scope = format!("volunteer-{number}");
        let body = format!("{{\"name\":\"v{number}\",\"cpus\":1}}");
        let (status, joined) = server.ask(&scope, "POST", "/api/v1/workers", &body);
        assert_eq!(status, 200, "{joined}");
        let worker = joined["worker"].as_u64().unwrap();
        Volunteer {
            server,
            scope,
            worker,
        }
    }

    fn speak_as(&self, worker: u64, body: &str) -> (u16, Value) {
        let path = format!("/api/v1/workers/{worker}/exchange");
        self.server.ask(&self.scope, "POST", &path, body)
    }

    fn lease(&self) -> Value {
        let (_, leased) = self.speak_as(self.worker, "{\"want\":1}");
        assert_eq!(leased["leases"][0]["id"], 0, "{leased}");
        leased["leases"][0].clone()
    }

    fn back(&self, lease: &Value, digest: &str) -> Value {
        let (status, answer) = self.speak_as(self.worker, &carried(lease, &[("t0.out", digest)]));
        assert_eq!(status, 200, "{answer}");
        answer["receipts"][0].clone()
    }
}

fn two_volunteers() -> Served {
    let mut wish = Wish::dag(1, &[]);
    wish.volunteers = 2;
    wish.start()
}

fn placed(server: &Served) -> Option<String> {
    std::fs::read_to_string(server.folder.join("flow/t0.out")).ok()
}

/// A liar has the server hold one thing and then claims another: what takes its place is what it claims, or it does not count.
#[test]
fn no_volunteer_claims_what_it_did_not_bring() {
    let server = two_volunteers();
    let liar = Volunteer::join(&server, 1);
    let honest = Volunteer::join(&server, 2);
    let (lies, truth) = (liar.lease(), honest.lease());
    let right = blake3::hash(b"right").to_hex().to_string();
    let wrong = server.put(&liar.scope, b"wrong");
    // As somebody else it is refused, and nothing is held of it.
    let body = carried(&lies, &[("t0.out", &wrong)]);
    assert_eq!(liar.speak_as(999, &body).0, 404);
    assert_eq!(liar.speak_as(honest.worker, &body).0, 404);
    assert!(!server.folder.join("state/files/held/0").exists());
    assert_eq!(liar.back(&lies, &right), "output-missing");
    server.put(&honest.scope, b"right");
    assert_eq!(honest.back(&truth, &right), "accepted");
    // What others uploaded is not its own.
    assert_eq!(liar.back(&lies, &right), "output-missing");
    assert_eq!(
        (placed(&server), &server.status()["executed"]),
        (None, &json!(0))
    );
    server.put(&liar.scope, b"right");
    assert_eq!(liar.back(&lies, &right), "accepted");
    assert_eq!(server.status()["executed"], 1);
    assert_eq!(placed(&server).as_deref(), Some("right"));
    let held = std::fs::read_dir(server.folder.join("state/files/held")).unwrap();
    assert_eq!(held.count(), 0);
}

/// What one volunteer returned waits for others, whoever returns it again.
#[test]
fn no_return_removes_what_waits_for_others() {
    let server = two_volunteers();
    let (one, two) = (Volunteer::join(&server, 1), Volunteer::join(&server, 2));
    let (first, second) = (one.lease(), two.lease());
    let right = server.put(&one.scope, b"right");
    assert_eq!(one.back(&first, &right), "accepted");
    let token = format!("{}-{}", first["epoch"], first["attempt"]);
    let held = server
        .folder
        .join("state/files/held/0")
        .join(token)
        .join("0");
    assert!(held.exists());
    // Its receipt got lost, and it says the same again, or something else.
    let wrong = server.put(&one.scope, b"wrong");
    for digest in [&right, &wrong] {
        assert_eq!(one.back(&first, digest), "already");
    }
    let failed = format!(
        "{{\"returns\":[{{{},\"outcome\":\"failed\"}}]}}",
        shown(&first)
    );
    let (_, answer) = one.speak_as(one.worker, &failed);
    assert_eq!(answer["receipts"], json!(["already"]));
    // Somebody else returns what is not its own.
    assert_eq!(two.back(&first, &right), "unknown");
    let (_, answer) = two.speak_as(two.worker, &failed);
    assert_eq!(answer["receipts"], json!(["unknown"]));
    assert_eq!(std::fs::read(&held).unwrap(), b"right");
    server.put(&two.scope, b"right");
    assert_eq!(two.back(&second, &right), "accepted");
    assert_eq!(placed(&server).as_deref(), Some("right"));
}

/// A task that declares no files is done when enough volunteers printed the same, were it nothing, also across a restart; and
/// nothing is held of it.
#[test]
fn what_makes_no_files_is_agreed_on_by_what_it_prints() {
    let top = tempfile::tempdir().unwrap();
    let start = || {
        let mut wish = Wish::dag(2, &[]);
        (wish.volunteers, wish.has_files) = (3, false);
        wish.start_in(top.path())
    };
    let back = |who: &Volunteer<'_>, lease: &Value, print: &[u8]| {
        if !print.is_empty() {
            let path = format!(
                "/api/v1/logs/{}/{}/{}",
                lease["id"], lease["epoch"], lease["attempt"]
            );
            let token = who.server.token(&who.scope);
            assert_eq!(who.server.raw(Some(&token), "PUT", &path, print).0, 200);
        }
        let body = executed(std::slice::from_ref(lease), 0);
        let (status, answer) = who.speak_as(who.worker, &body);
        assert_eq!(status, 200, "{answer}");
        answer["receipts"][0].clone()
    };
    let lease = |who: &Volunteer<'_>| {
        let (_, leased) = who.speak_as(who.worker, "{\"want\":1}");
        leased["leases"][0].clone()
    };
    let server = start();
    let of = |number| Volunteer::join(&server, number);
    let (one, two, three) = (of(1), of(2), of(3));
    let (a, b) = (lease(&one), lease(&two));
    assert_eq!((&a["id"], &b["id"]), (&json!(0), &json!(0)));
    // Nothing is another result than something, and something than something else.
    assert_eq!(back(&one, &a, b""), "accepted");
    assert_eq!(back(&two, &b, b"42\n"), "accepted");
    assert_eq!(server.status()["executed"], 0);
    let c = lease(&three);
    assert_eq!(c["id"], 0, "another copy is wanted: {c}");
    assert_eq!(back(&three, &c, b""), "accepted");
    assert_eq!(server.status()["executed"], 1);
    let d = lease(&one);
    assert_eq!(d["id"], 1, "{d}");
    assert_eq!(back(&one, &d, b""), "accepted");
    assert_eq!(back(&one, &d, b""), "already");
    drop(server);
    let server = start();
    assert_eq!(server.status()["executed"], 1);
    let three = Volunteer::join(&server, 3);
    let e = lease(&three);
    assert_eq!(back(&three, &e, b""), "accepted");
    assert_eq!(server.status()["executed"], 2);
    assert!(!top.path().join("state/files/held/0").exists());
    assert!(!top.path().join("state/files/held/1").exists());
}

/// Volunteers see the inputs of tasks that they have, and of no others.
#[test]
fn a_volunteer_sees_the_inputs_of_its_tasks_alone() {
    let mut wish = Wish::dag(3, &[(0, 2), (1, 2)]);
    wish.volunteers = 1;
    let server = wish.start();
    let one = Volunteer::join(&server, 1);
    one.lease();
    let inputs =
        |scope: &str, id: u32| server.ask(scope, "GET", &format!("/api/v1/inputs/{id}"), "");
    assert_eq!(inputs(&one.scope, 0), (200, json!([])));
    for id in [1, 2] {
        let (status, answer) = inputs(&one.scope, id);
        assert_eq!(status, 404, "{answer}");
    }
    assert_eq!(inputs("worker", 1).0, 200);
}

/// Garbage under the digest of what another uploads does not spoil that, and whoever was spoilt begins anew.
#[test]
fn uploads_of_others_stand_in_nobodys_way() {
    let server = two_volunteers();
    let digest = blake3::hash(b"right").to_hex().to_string();
    let put = |scope: &str, bytes: u64, offset: u64, text: &[u8]| {
        let path = format!("/api/v1/files/{digest}?bytes={bytes}&offset={offset}");
        server.raw(Some(&server.token(scope)), "PUT", &path, text).0
    };
    assert_eq!(put("volunteer-1", 1000, 0, b"garbage"), 200);
    for scope in ["volunteer-2", "worker"] {
        let path = format!("/api/v1/files/{digest}/stored");
        assert_eq!(server.ask(scope, "GET", &path, "").1["bytes"], 0);
        server.put(scope, b"right");
    }
    // Longer than the file, and other bytes: from 0 on all is well.
    assert_eq!(put("volunteer-1", 5, 7, b""), 413);
    assert_eq!(put("volunteer-1", 5, 0, b"wrong"), 422);
    assert_eq!(put("volunteer-1", 5, 0, b"rig"), 200);
    assert_eq!(put("volunteer-1", 5, 0, b"right"), 200);
}

/// A file that cannot take its place fails its task, and nothing else of the request.
#[test]
fn one_return_that_is_refused_does_not_refuse_the_others() {
    let server = Wish::dag(2, &[]).start();
    let worker = server.join("w", 2);
    let leased = server.exchange(worker, "{\"want\":2}")["leases"].clone();
    std::fs::create_dir(server.folder.join("flow/t0.out")).unwrap();
    let digests = [server.put("worker", b"zero"), server.put("worker", b"one")];
    let back = |n: usize| {
        let body = carried(&leased[n], &[(&format!("t{n}.out"), &digests[n])]);
        serde_json::from_str::<Value>(&body).unwrap()["returns"][0].clone()
    };
    let body = json!({ "returns": [back(0), back(1)] }).to_string();
    let answer = server.exchange(worker, &body);
    assert_eq!(answer["receipts"], json!(["accepted", "accepted"]));
    let status = server.status();
    assert_eq!(
        (&status["executed"], &status["failed"]),
        (&json!(1), &json!(1)),
        "{status}"
    );
    let token = server.token("observer");
    let (_, log) = server.raw(Some(&token), "GET", "/api/v1/tasks/t0/log", b"");
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("'t0.out' is a folder"), "{log}");
}

/// A worker hangs up while what it returns is copied to another disk, and asks again: nothing is lost, and nothing done twice.
#[test]
fn a_return_that_is_cut_goes_on_and_is_heard_of_later() {
    fn other() -> PathBuf {
        PathBuf::from(format!("/dev/shm/cairn-files-{}", std::process::id()))
    }
    if std::fs::create_dir(other()).is_err() {
        return;
    }
    let mut wish = Wish::dag(1, &[]);
    wish.change = |settings| settings.flow = other();
    let server = wish.start();
    let worker = server.join("w", 1);
    let lease = server.exchange(worker, "{\"want\":1}")["leases"][0].clone();
    let large: Vec<u8> = (0..32_u32 << 20).map(|n| (n >> 7) as u8).collect();
    let body = carried(&lease, &[("t0.out", &server.put("worker", &large))]);
    let head = format!(
        "POST /api/v1/workers/{worker}/exchange HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        server.token("worker"),
        body.len()
    );
    for _ in 0..3 {
        let mut cut = TcpStream::connect(server.address()).unwrap();
        cut.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = server.exchange(worker, &body);
    let made = std::fs::read(other().join("t0.out"));
    let left = std::fs::read_dir(other()).unwrap();
    let is_sign = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(".cairn-near-");
    let left = left.filter(|e| !is_sign(&e.as_ref().unwrap().file_name()));
    let left = left.count();
    std::fs::remove_dir_all(other()).unwrap();
    let receipt = answer["receipts"][0].as_str().unwrap();
    assert!(["accepted", "already"].contains(&receipt), "{receipt}");
    assert!(made.unwrap() == large && left == 1);
    assert_eq!(server.status()["executed"], 1);
    let uploads = std::fs::read_dir(server.folder.join("state/files")).unwrap();
    let uploads = uploads.filter(|e| e.as_ref().unwrap().path().is_file());
    assert_eq!(uploads.count(), 0, "what took its place is no upload");
}

/// Uploads that come slowly, more than there are threads, hold up nobody.
#[test]
fn slow_uploads_hold_up_nobody() {
    let server = Wish::dag(1, &[]).start();
    let token = server.token("worker");
    let mut slow = Vec::new();
    for n in 0..80 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "PUT /api/v1/files/{n:064x}?bytes=1000 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: 1000\r\n\r\nbegin"
        );
        stream.write_all(head.as_bytes()).unwrap();
        slow.push(stream);
    }
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    server.put("worker", b"quick");
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "it waited for others"
    );
    // Whoever was slow is not forgotten.
    slow[79].write_all(&[b'x'; 995]).unwrap();
    assert_eq!(read_answer(&mut slow[79]).0, 422);
}

/// Those who ask and never take the answer are sent away, and make room for others.
#[test]
fn whoever_takes_no_answer_is_sent_away() {
    let mut wish = Wish::dag(1, &[]);
    wish.change = |settings| {
        settings.connections = 8;
        settings.stall = Duration::from_millis(500);
    };
    let server = wish.start();
    let asks = "GET /page.js HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2000);
    let mut stuck = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        // As much as it takes.
        let _ = stream.write_all(asks.as_bytes());
        stuck.push(stream);
    }
    let begin = Instant::now();
    assert_eq!(server.raw(None, "GET", "/", b"").0, 200);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

/// A place that is not in the file, nor in any.
#[test]
fn a_range_beyond_the_end_is_refused() {
    let server = Wish::dag(2, &[(0, 1)]).start();
    std::fs::write(server.folder.join("flow/t0.out"), "hello").unwrap();
    let (_, inputs) = server.ask("worker", "GET", "/api/v1/inputs/1", "");
    let path = format!("/api/v1/files/{}", inputs[0]["digest"].as_str().unwrap());
    let token = server.token("worker");
    let range = |from: &str| {
        let more = format!("range: bytes={from}-\r\n");
        let (status, body) = server.raw_with(Some(&token), "GET", &path, &more, b"");
        (status, String::from_utf8(body).unwrap())
    };
    assert_eq!(range("3"), (206, "lo".to_owned()));
    assert_eq!(range("5"), (206, String::new()));
    for from in ["6", "9223372036854775808", "18446744073709551615"] {
        assert_eq!(range(from).0, 416, "{from}");
    }
    for other in ["x", "-5", "99999999999999999999"] {
        assert_eq!(range(other), (200, "hello".to_owned()), "{other}");
    }
}

/// A task for two volunteers who may have a thousand bytes each on the server's disk.
fn with_little_room() -> Wish {
    let mut wish = Wish::dag(1, &[]);
    wish.volunteers = 2;
    wish.change = |settings| {
        settings.allowed = cairn_serve::http::Allowed {
            each: 1_000,
            all: 10_000,
            among: 2,
        };
    };
    wish
}

/// What a stranger may have on the server's disk is limited, and it is told what to do. Those who are trusted are not.
#[test]
fn a_volunteer_cannot_fill_the_disk() {
    let server = with_little_room().start();
    let put = |scope: &str, text: &[u8]| {
        let digest = blake3::hash(text).to_hex().to_string();
        let path = format!("/api/v1/files/{digest}?bytes={}", text.len());
        let (status, answer) = server.raw(Some(&server.token(scope)), "PUT", &path, text);
        (status, String::from_utf8_lossy(&answer).into_owned())
    };
    let (status, said) = put("volunteer-1", &[1; 1_001]);
    assert_eq!(status, 413, "{said}");
    assert!(said.contains("allow a volunteer more"), "{said}");
    assert_eq!(put("volunteer-1", &[1; 800]).0, 200);
    let (status, said) = put("volunteer-1", &[2; 300]);
    assert_eq!(status, 429, "{said}");
    assert!(said.contains("you have 800 bytes"), "{said}");
    // What it may not write is not there.
    let shelf = server.folder.join("state/files/volunteer-1");
    let sizes = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let sizes = entries.map(|e| e.metadata().unwrap());
        sizes.filter(|m| m.is_file()).map(|m| m.len()).sum::<u64>()
    };
    assert_eq!(sizes(shelf.clone()) + sizes(shelf.join("partial")), 800);
    assert_eq!(put("volunteer-2", &[2; 300]).0, 200);
    assert_eq!(put("worker", &[3; 50_000]).0, 200);

    // What it prints counts as well, as long as its task is not settled.
    let (first, second) = (Volunteer::join(&server, 1), Volunteer::join(&server, 2));
    let (lease, other) = (first.lease(), second.lease());
    let log = |lease: &Value, scope: &str, offset: u64, text: &str| {
        let path = format!(
            "/api/v1/logs/0/{}/{}?offset={offset}",
            lease["epoch"], lease["attempt"]
        );
        let token = server.token(scope);
        server.raw(Some(&token), "PUT", &path, text.as_bytes()).0
    };
    assert_eq!(log(&lease, "volunteer-1", 0, &"x".repeat(200)), 200);
    assert_eq!(log(&lease, "volunteer-1", 200, "y"), 429);
    // The same piece again is no more than it was.
    assert_eq!(log(&lease, "volunteer-1", 0, &"x".repeat(200)), 200);
    let digest = blake3::hash(&[1; 800]).to_hex().to_string();
    assert_eq!(first.back(&lease, &digest), "accepted");
    assert_eq!(
        put("volunteer-1", &[2; 300]).0,
        429,
        "it waits for the other"
    );
    let wrong = put("volunteer-2", &[1; 700]);
    assert_eq!(wrong.0, 200, "{}", wrong.1);
    let own = blake3::hash(&[1; 700]).to_hex().to_string();
    assert_eq!(second.back(&other, &own), "accepted");
    // It is given up: nothing of it waits any more.
    let body = format!("{{\"tasks\":[{}]}}", lease["task"]);
    let (status, answer) = server.ask("admin", "POST", "/api/v1/cancel", &body);
    assert_eq!(status, 200, "{answer}");
    let (status, said) = put("volunteer-1", &[2; 900]);
    assert_eq!(status, 200, "{said}");
}

/// A server that begins again knows how much its volunteers' tasks have printed.
#[test]
fn what_a_volunteer_printed_counts_after_a_restart() {
    let top = tempfile::tempdir().unwrap();
    let start = || with_little_room().start_in(top.path());
    let server = start();
    let lease = Volunteer::join(&server, 1).lease();
    let path = format!("/api/v1/logs/0/{}/{}", lease["epoch"], lease["attempt"]);
    let token = server.token("volunteer-1");
    assert_eq!(server.raw(Some(&token), "PUT", &path, &[b'x'; 600]).0, 200);
    drop(server);
    let server = start();
    let digest = blake3::hash(&[1; 500]).to_hex().to_string();
    let path = format!("/api/v1/files/{digest}?bytes=500");
    let (status, said) = server.raw(Some(&token), "PUT", &path, &[1; 500]);
    let said = String::from_utf8_lossy(&said);
    assert_eq!(status, 429, "{said}");
    assert!(said.contains("you have 600 bytes"), "{said}");
    // All that belongs to one result is looked at with the first of it.
    let digest = blake3::hash(&[2; 50]).to_hex().to_string();
    let path = |all: u64| format!("/api/v1/files/{digest}?bytes=50&result={all}");
    assert_eq!(
        server.raw(Some(&token), "PUT", &path(1_001), &[2; 50]).0,
        413
    );
    assert_eq!(
        server.raw(Some(&token), "PUT", &path(1_000), &[2; 50]).0,
        200
    );
    let trusted = server.token("worker");
    assert_eq!(
        server.raw(Some(&trusted), "PUT", &path(9_999), &[2; 50]).0,
        200
    );
}
