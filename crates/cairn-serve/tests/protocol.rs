//! What workers and users get from a server, request by request.

mod common;

use cairn_engine::Span;
use cairn_serve::http::ServerEnd;
use common::{Wish, executed, shown};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_dag_is_played_to_its_end_and_the_server_ends_with_it() {
    let mut wish = Wish::dag(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    wish.stays = false;
    let server = wish.start();
    let worker = server.join("w", 2);
    let first = server.exchange(worker, "{\"want\":2}");
    assert_eq!(first["leases"].as_array().unwrap().len(), 1, "{first}");
    assert_eq!(first["leases"][0]["task"], "t0");
    assert_eq!(first["leases"][0]["command"]["words"], json!(["true"]));
    let status = server.status();
    for (field, count) in [
        ("tasks", 4),
        ("waiting", 3),
        ("eligible", 0),
        ("leased", 1),
        ("executed", 0),
        ("failed", 0),
        ("aborted", 0),
    ] {
        assert_eq!(status[field], count, "{field} of {status}");
    }
    let seen = &status["workers"][0];
    assert_eq!(
        (&seen["name"], &seen["leased"], &seen["lost"]),
        (&json!("w"), &json!(1), &json!(0))
    );
    assert!(seen["last_seen"].as_f64().unwrap() > 1e9 && seen.get("speed").is_some());
    let second = server.exchange(worker, &executed(&[first["leases"][0].clone()], 2));
    assert_eq!(second["receipts"], json!(["accepted"]));
    let leases = second["leases"].as_array().unwrap().clone();
    assert_eq!(leases.len(), 2);
    // The same return again: nothing changes, nothing is wrong.
    let again = server.exchange(worker, &executed(&[first["leases"][0].clone()], 0));
    assert_eq!(again["receipts"], json!(["already"]));
    let third = server.exchange(worker, &executed(&leases, 2));
    assert_eq!(
        (&third["receipts"], third["finished"].clone()),
        (&json!(["accepted", "accepted"]), json!(false))
    );
    let last = server.exchange(worker, &executed(&[third["leases"][0].clone()], 2));
    assert_eq!(
        (&last["finished"], &last["reason"]),
        (&json!(true), &json!("finished"))
    );
    let (status, _) = server.ask("worker", "DELETE", &format!("/api/v1/workers/{worker}"), "");
    assert_eq!(status, 204);
    assert_eq!(server.end(), ServerEnd::Executed);
}

#[test]
fn a_long_poll_is_answered_when_something_becomes_eligible() {
    let server = Wish::dag(3, &[(0, 1), (0, 2)]).start();
    let (one, two) = (server.join("one", 1), server.join("two", 1));
    let first = server.exchange(one, "{\"want\":1}");
    std::thread::scope(|scope| {
        let begin = Instant::now();
        let waits = scope.spawn(|| server.exchange(two, "{\"want\":1,\"wait_seconds\":30}"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waits.is_finished());
        server.exchange(one, &executed(&[first["leases"][0].clone()], 1));
        let answer = waits.join().unwrap();
        assert_eq!(answer["leases"].as_array().unwrap().len(), 1, "{answer}");
        assert!(begin.elapsed() < Duration::from_secs(20));
    });
    // One whose time is up is told so.
    let begin = Instant::now();
    let answer = server.exchange(two, "{\"want\":1,\"wait_seconds\":0.4}");
    assert!(begin.elapsed() >= Duration::from_millis(400));
    assert_eq!(answer["leases"], json!([]));
}

#[test]
fn what_a_lost_answer_gave_is_told_again() {
    let server = Wish::dag(2, &[]).start();
    let worker = server.join("w", 2);
    let lost = server.exchange(worker, "{\"want\":2}");
    let told = server.exchange(worker, "{\"want\":2,\"holding\":[]}");
    assert_eq!(told["leases"], lost["leases"]);
    let held = format!(
        "{{\"want\":2,\"holding\":[{{{}}}]}}",
        shown(&lost["leases"][0])
    );
    let told = server.exchange(worker, &held);
    assert_eq!(told["leases"], json!([lost["leases"][1]]));
}

/// Whoever sends a body where none is wanted, and takes its time, is heard out: a connection that closes under it would lose the answer.
#[test]
fn whoever_pauses_slowly_hears_the_answer() {
    let server = Wish::dag(1, &[]).start();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    for (path, paused) in [("pause", true), ("resume", false)] {
        write!(
            stream,
            "POST /api/v1/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n",
            server.token("admin")
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        stream.write_all(b"null").unwrap();
        // Not to the end of the connection, which goes on.
        let (mut answer, mut piece) = (String::new(), [0; 4096]);
        while !answer.contains('}') {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "cut off: {answer}");
            answer += std::str::from_utf8(&piece[..read]).unwrap();
        }
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(
            answer.contains(&format!("{{\"paused\":{paused}}}")),
            "{answer}"
        );
    }
}

/// What is returned without its file is still its worker's: it is not told to begin with it once more.
#[test]
fn what_lacks_a_file_is_not_given_again() {
    let server = Wish::dag(2, &[(0, 1)]).start();
    let worker = server.join("w", 1);
    let lease = server.exchange(worker, "{\"want\":1}")["leases"][0].clone();
    let digest = blake3::hash(b"lost").to_hex().to_string();
    let back = format!(
        "{{\"returns\":[{{{0},\"outcome\":\"executed\",\"outputs\":[{{\"path\":\"t0.out\",\"digest\":\"{digest}\"}}]}}],\"holding\":[{{{0}}}]}}",
        shown(&lease)
    );
    let answer = server.exchange(worker, &back);
    assert_eq!(answer["receipts"], json!(["output-missing"]), "{answer}");
    let leases = answer["leases"].as_array();
    assert!(leases.is_none_or(Vec::is_empty), "{answer}");
}

#[test]
fn the_tasks_of_a_silent_worker_go_to_another_and_its_late_result_is_superseded() {
    let mut wish = Wish::dag(1, &[]);
    wish.silence = Span::seconds(3);
    let server = wish.start();
    let silent = server.join("silent", 1);
    let first = server.exchange(silent, "{\"want\":1}");
    let other = server.join("other", 1);
    let begin = Instant::now();
    let mut second = Value::Null;
    while begin.elapsed() < Duration::from_secs(60) {
        second = server.exchange(other, "{\"want\":1,\"wait_seconds\":0.3}");
        if !second["leases"].as_array().unwrap().is_empty() {
            break;
        }
    }
    assert_eq!(second["leases"][0]["attempt"], 2, "{second}");
    let (status, problem) = server.ask(
        "worker",
        "POST",
        &format!("/api/v1/workers/{silent}/heartbeat"),
        "{}",
    );
    assert_eq!(status, 404, "{problem}");
    let late = server.exchange(silent, &executed(&[first["leases"][0].clone()], 0));
    assert_eq!(
        (&late["receipts"], &late["known"]),
        (&json!(["superseded"]), &json!(false))
    );
    let lost = &server.status()["workers"];
    assert!(
        lost.as_array()
            .unwrap()
            .iter()
            .any(|w| w["name"] == "silent" && w["state"] == "lost" && w["lost"] == 1),
        "{lost}"
    );
}

#[test]
fn a_server_that_begins_again_goes_on_with_leases_and_tokens() {
    let top = tempfile::tempdir().unwrap();
    let arcs = [(0, 1)];
    let server = Wish::dag(2, &arcs).start_in(top.path());
    let worker = server.join("w", 1);
    let first = server.exchange(worker, "{\"want\":1}");
    let token = server.token("worker");
    drop(server);
    let server = Wish::dag(2, &arcs).start_in(top.path());
    assert_eq!(server.token("worker"), token);
    assert_eq!(server.status()["epoch"], 2);
    let answer = server.exchange(worker, &executed(&[first["leases"][0].clone()], 1));
    assert_eq!(answer["receipts"], json!(["accepted"]));
    assert_eq!(answer["leases"][0]["epoch"], 2);
}

#[test]
fn tasks_are_cancelled_tried_again_and_paused() {
    let server = Wish::dag(3, &[(0, 1)]).start();
    let worker = server.join("w", 3);
    let leased = server.exchange(worker, "{\"want\":3}");
    let (_, done) = server.ask("admin", "POST", "/api/v1/cancel", "{\"tasks\":[\"t0\"]}");
    assert_eq!(done["changed"], json!(["t0"]));
    let held: Vec<String> = leased["leases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| format!("{{{}}}", shown(l)))
        .collect();
    let holding = format!("{{\"holding\":[{}]}}", held.join(","));
    let (_, heard) = server.ask(
        "worker",
        "POST",
        &format!("/api/v1/workers/{worker}/heartbeat"),
        &holding,
    );
    assert_eq!(heard["stop"].as_array().unwrap().len(), 1, "{heard}");
    assert_eq!(server.status()["aborted"], 1);
    let (_, done) = server.ask("admin", "POST", "/api/v1/cancel", "{\"tasks\":[\"t0\"]}");
    assert_eq!(done["refused"][0]["task"], "t0");
    let (_, done) = server.ask("admin", "POST", "/api/v1/pause", "");
    assert_eq!(done["paused"], true);
    let (_, done) = server.ask("admin", "POST", "/api/v1/retry", "{\"tasks\":[\"t0\"]}");
    assert_eq!(done["changed"], json!(["t0"]));
    assert_eq!(server.exchange(worker, "{\"want\":1}")["reason"], "paused");
    server.ask("admin", "POST", "/api/v1/resume", "");
    assert_eq!(
        server.exchange(worker, "{\"want\":1}")["leases"][0]["task"],
        "t0"
    );
    let (status, missing) = server.ask(
        "admin",
        "POST",
        "/api/v1/cancel",
        "{\"tasks\":[\"nobody\"]}",
    );
    assert_eq!(status, 404, "{missing}");
    let (_, task) = server.ask("observer", "GET", "/api/v1/tasks/t1", "");
    assert_eq!(task["state"], "waiting");
}

#[test]
fn the_journal_has_every_event_with_names() {
    let server = Wish::dag(1, &[]).start();
    let worker = server.join("w", 1);
    let leased = server.exchange(worker, "{\"want\":1}");
    server.exchange(worker, &executed(&[leased["leases"][0].clone()], 0));
    let (status, text) = server.raw(
        Some(&server.token("observer")),
        "GET",
        "/api/v1/export",
        b"",
    );
    assert_eq!(status, 200);
    let lines: Vec<Value> = String::from_utf8(text)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let kinds: Vec<&str> = lines.iter().map(|l| l["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opened", "joined", "leased", "executed"]);
    assert_eq!(
        (&lines[3]["task"], &lines[3]["attempt"]),
        (&json!("t0"), &json!(1))
    );
    let (status, text) = server.raw(Some(&server.token("observer")), "GET", "/metrics", b"");
    assert_eq!(status, 200);
    assert!(
        String::from_utf8(text)
            .unwrap()
            .contains("cairn_tasks{state=\"executed\"} 1")
    );
}

#[test]
fn files_and_logs_go_up_and_down() {
    let server = Wish::dag(2, &[(0, 1)]).start();
    let worker = server.join("w", 1);
    let lease = server.exchange(worker, "{\"want\":1}")["leases"][0].clone();
    let token = server.token("worker");
    let text = b"what t0 made";
    let digest = blake3::hash(text).to_hex().to_string();
    let made = format!(
        "{{\"returns\":[{{{},\"outcome\":\"executed\",\"outputs\":[{{\"path\":\"t0.out\",\"digest\":\"{digest}\"}}]}}],\"want\":1}}",
        shown(&lease)
    );
    assert_eq!(
        server.exchange(worker, &made)["receipts"],
        json!(["output-missing"])
    );
    let path = format!("/api/v1/files/{digest}");
    let (status, _) = server.raw(Some(&token), "PUT", &format!("{path}?bytes=12"), &text[..5]);
    assert_eq!(status, 200);
    let (_, stored) = server.ask("worker", "GET", &format!("{path}/stored"), "");
    assert_eq!(stored, json!({"bytes": 5, "complete": false}));
    let (status, _) = server.raw(
        Some(&token),
        "PUT",
        &format!("{path}?bytes=12&offset=3"),
        &text[3..],
    );
    assert_eq!(status, 409);
    let (status, _) = server.raw(
        Some(&token),
        "PUT",
        &format!("{path}?bytes=12&offset=5"),
        &text[5..],
    );
    assert_eq!(status, 200);
    let log = format!(
        "/api/v1/logs/{}/{}/{}",
        lease["id"], lease["epoch"], lease["attempt"]
    );
    let (status, _) = server.raw(Some(&token), "PUT", &format!("{log}?offset=0"), b"hello");
    assert_eq!(status, 200);
    let answer = server.exchange(worker, &made);
    assert_eq!(answer["receipts"], json!(["accepted"]), "{answer}");
    assert_eq!(
        std::fs::read(server.folder.join("flow/t0.out")).unwrap(),
        text
    );
    let (_, printed) = server.raw(
        Some(&server.token("observer")),
        "GET",
        "/api/v1/tasks/t0/log",
        b"",
    );
    assert_eq!(printed, b"hello");
    let (_, inputs) = server.ask("worker", "GET", "/api/v1/inputs/1", "");
    assert_eq!(inputs[0]["digest"], digest);
    let (status, whole) = server.raw(Some(&token), "GET", &path, b"");
    assert_eq!((status, whole.as_slice()), (200, &text[..]));
    // The log of an attempt that is over takes nothing more.
    let (status, _) = server.raw(Some(&token), "PUT", &format!("{log}?offset=5"), b"late");
    assert_eq!(status, 409);
}
