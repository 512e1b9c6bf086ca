//! What a server makes of those who mean it ill, or do not know better: nothing but answers of the 400s, and no change.

mod common;

use common::{Served, Wish, executed, read_answer};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Method, path as the document has it, and the scope of every route.
fn routes(server: &Served) -> Vec<(String, String, String, Value)> {
    let (status, document) = server.ask("observer", "GET", "/api/v1/openapi.json", "");
    assert_eq!(status, 200);
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let scope = operation["tags"][0].as_str().unwrap().to_owned();
            all.push((
                method.to_uppercase(),
                path.clone(),
                scope,
                operation.clone(),
            ));
        }
    }
    assert!(all.len() >= 20, "{} routes", all.len());
    all
}

/// A path with something in the place of each parameter.
fn filled(path: &str, with: &str) -> String {
    let mut filled = String::new();
    for (n, part) in path.split(['{', '}']).enumerate() {
        filled += if n % 2 == 1 { with } else { part };
    }
    filled
}

#[test]
fn every_route_wants_its_own_token() {
    let server = Wish::dag(1, &[]).start();
    let wrong = "0".repeat(64);
    for (method, path, scope, _) in routes(&server) {
        let path = filled(&path, "0");
        let ask = |token: Option<&str>| server.raw(token, &method, &path, b"{}").0;
        assert_eq!(ask(None), 401, "{method} {path}");
        assert_eq!(ask(Some(&wrong)), 401, "{method} {path}");
        assert_eq!(ask(Some("")), 401, "{method} {path}");
        for held in ["worker", "observer", "admin"] {
            let status = ask(Some(&server.token(held)));
            let allowed = held == scope || held == "admin";
            assert_eq!(
                status != 403 && status != 401,
                allowed,
                "{held} on {method} {path}: {status}"
            );
            assert!(status < 500, "{held} on {method} {path}: {status}");
        }
    }
    assert_eq!(server.raw(None, "GET", "/", b"").0, 200);
    assert_eq!(server.raw(None, "GET", "/nothing", b"").0, 404);
    assert_eq!(
        server
            .raw(Some(&server.token("admin")), "PATCH", "/api/v1/status", b"")
            .0,
        405
    );
}

#[test]
fn expired_and_rotated_tokens_open_nothing() {
    let top = tempfile::tempdir().unwrap();
    let server = Wish::dag(1, &[]).start_in(top.path());
    let all = routes(&server);
    let old = ["worker", "observer", "admin"].map(|scope| server.token(scope));
    drop(server);
    let mut wish = Wish::dag(1, &[]);
    wish.tokens = Some((100, 50));
    let expired = wish.start_in(top.path());
    let new = ["worker", "observer", "admin"].map(|scope| expired.token(scope));
    for token in old.iter().chain(&new) {
        for (method, path, ..) in &all {
            let (status, body) = expired.raw(Some(token), method, &filled(path, "0"), b"{}");
            assert_eq!(status, 401, "{method} {path}");
            assert!(
                !String::from_utf8_lossy(&body).contains(token.as_str()),
                "a token in an answer"
            );
        }
    }
}

#[test]
fn no_path_leads_out_of_the_folders() {
    let server = Wish::dag(2, &[(0, 1)]).start();
    let worker = server.join("w", 1);
    let lease = server.exchange(worker, "{\"want\":1}")["leases"][0].clone();
    let token = server.token("admin");
    for bad in [
        "..%2F..%2Fsecret",
        "%2Fetc%2Fpasswd",
        "..",
        "%00",
        "%ff",
        "a%2F..%2F..%2Fb",
        "%2e%2e",
        "-1",
        "99999999999999999999",
    ] {
        for path in [
            format!("/api/v1/files/{bad}"),
            format!("/api/v1/files/{bad}/stored"),
            format!("/api/v1/inputs/{bad}"),
            format!("/api/v1/logs/{bad}/1/1"),
            format!("/api/v1/logs/0/{bad}/1"),
            format!("/api/v1/tasks/{bad}/log"),
            format!("/api/v1/tasks/{bad}"),
        ] {
            for method in ["GET", "PUT"] {
                let (status, _) = server.raw(Some(&token), method, &path, b"x");
                assert!((400..500).contains(&status), "{method} {path}: {status}");
            }
        }
    }
    // Outputs go only where the dag says: not through links, and not to other paths.
    std::fs::create_dir(server.folder.join("outside")).unwrap();
    let text = b"evil";
    let digest = blake3::hash(text).to_hex().to_string();
    let put = server.raw(
        Some(&token),
        "PUT",
        &format!("/api/v1/files/{digest}?bytes=4"),
        text,
    );
    assert_eq!(put.0, 200);
    for path in ["../outside/x", "/tmp/x", "t1.out", "x/../t0.out"] {
        let mut back =
            serde_json::from_str::<Value>(&executed(std::slice::from_ref(&lease), 0)).unwrap();
        back["returns"][0]["outputs"] = json!([{ "path": path, "digest": digest }]);
        let (status, answer) = server.ask(
            "worker",
            "POST",
            &format!("/api/v1/workers/{worker}/exchange"),
            &back.to_string(),
        );
        assert_eq!(status, 400, "{path}: {answer}");
    }
    std::os::unix::fs::symlink("../outside/x", server.folder.join("flow/t0.out")).unwrap();
    let mut back =
        serde_json::from_str::<Value>(&executed(std::slice::from_ref(&lease), 0)).unwrap();
    back["returns"][0]["outputs"] = json!([{ "path": "t0.out", "digest": digest }]);
    assert_eq!(
        server.exchange(worker, &back.to_string())["receipts"],
        json!(["accepted"])
    );
    assert_eq!(
        std::fs::read_dir(server.folder.join("outside"))
            .unwrap()
            .count(),
        0
    );
    assert!(!server.folder.join("flow/t0.out").is_symlink());
}

#[test]
fn large_slow_and_many_headed_requests_are_sent_away() {
    let mut wish = Wish::dag(1, &[]);
    wish.change = |settings| {
        settings.patience = Duration::from_millis(400);
        settings.largest_file = 1000;
    };
    let server = wish.start();
    let token = server.token("admin");
    let large = vec![b' '; 9 << 20];
    assert_eq!(
        server
            .raw(Some(&token), "POST", "/api/v1/workers", &large)
            .0,
        413
    );
    let digest = "0".repeat(64);
    assert_eq!(
        server
            .raw(
                Some(&token),
                "PUT",
                &format!("/api/v1/files/{digest}?bytes=1001"),
                b""
            )
            .0,
        413
    );
    assert_eq!(
        server
            .raw(
                Some(&token),
                "PUT",
                &format!("/api/v1/files/{digest}?bytes=3"),
                b"12345"
            )
            .0,
        400
    );
    // Heads: too many, too long, never ending.
    let flood: String = (0..500).map(|n| format!("h{n}: x\r\n")).collect();
    for head in [flood, format!("h: {}\r\n", "x".repeat(200_000))] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // It may hang up before it has read all.
        let _ = stream.write_all(format!("GET / HTTP/1.1\r\nhost: x\r\n{head}\r\n").as_bytes());
        let (status, _) = read_answer(&mut stream);
        assert!(status == 431 || status == 400 || status == 0, "{status}");
    }
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    let begin = Instant::now();
    assert!(read_answer(&mut slow).0 != 200);
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "it waited for ever"
    );
    // Garbage that is no HTTP at all.
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let _ = stream.write_all(garbage);
        let (status, _) = read_answer(&mut stream);
        assert!(status == 400 || status == 0, "{status}");
    }
    assert_eq!(server.status()["tasks"], 1);
}

/// A value that may or may not be what the schema wants.
fn guess(schema: &Value, document: &Value, rng: &mut Pcg64, depth: usize) -> Value {
    if rng.random_bool(0.12) {
        return match rng.random_range(0..9) {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(1e300),
            3 => json!("\u{0}\u{202e}x"),
            4 => json!([]),
            5 => json!({ "x": 1 }),
            6 => json!("x".repeat(300)),
            7 => json!(u64::MAX),
            _ => json!(0.5),
        };
    }
    if let Some(path) = schema["$ref"].as_str() {
        let found = document
            .pointer(path.trim_start_matches('#'))
            .cloned()
            .unwrap_or(Value::Null);
        return guess(&found, document, rng, depth + 1);
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema[word].as_array() {
            let one = &all[rng.random_range(0..all.len())];
            return guess(one, document, rng, depth + 1);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[rng.random_range(0..words.len())].clone();
    }
    let kinds = match &schema["type"] {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    match kinds[rng.random_range(0..kinds.len())].as_str() {
        Some("object") => {
            let mut object = Map::new();
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for (name, part) in schema["properties"].as_object().into_iter().flatten() {
                if rng.random_bool(if required.contains(&name.as_str()) {
                    0.95
                } else {
                    0.5
                }) {
                    object.insert(name.clone(), guess(part, document, rng, depth + 1));
                }
            }
            if rng.random_bool(0.05) {
                object.insert("surplus".to_owned(), json!(1));
            }
            Value::Object(object)
        }
        Some("array") => {
            let many = if depth > 4 { 0 } else { rng.random_range(0..4) };
            (0..many)
                .map(|_| guess(&schema["items"], document, rng, depth + 1))
                .collect()
        }
        Some("string") => json!(
            (0..rng.random_range(0..70))
                .map(|_| rng.random_range('a'..='f'))
                .collect::<String>()
        ),
        Some("integer") => json!(rng.random_range(0..20)),
        Some("number") => json!(rng.random_range(-1.0..2.0)),
        Some("boolean") => json!(rng.random_bool(0.5)),
        _ => Value::Null,
    }
}

fn unchanging(status: &Value) -> Value {
    let mut status = status.clone();
    status["uptime_seconds"] = Value::Null;
    for worker in status["workers"].as_array_mut().unwrap() {
        worker["last_seen"] = Value::Null;
    }
    status
}

/// Bodies made from the document, most of them wrong somewhere, on every route: no answer of the 500s, and what is refused
/// changes nothing. `CAIRN_FUZZ` times as many.
#[test]
fn wrong_requests_are_refused_and_change_nothing() {
    let times: usize = std::env::var("CAIRN_FUZZ")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    let mut wish = Wish::dag(30, &[(0, 1), (1, 2), (3, 4)]);
    // Workers that these requests make never speak again: losing one would change the status.
    wish.silence = cairn_engine::Span::seconds(3600);
    let server = wish.start();
    let (_, document) = server.ask("observer", "GET", "/api/v1/openapi.json", "");
    let all = routes(&server);
    let admin = server.token("admin");
    let mut rng = Pcg64::seed_from_u64(7);
    let worker = server.join("w", 5);
    server.exchange(worker, "{\"want\":3}");
    // A file that there is, for those who ask for one.
    std::fs::write(server.folder.join("flow/t3.out"), "hello").unwrap();
    let (_, inputs) = server.ask("worker", "GET", "/api/v1/inputs/4", "");
    let known = inputs[0]["digest"].as_str().unwrap().to_owned();
    let (mut refused, mut taken) = (0, 0);
    let mut before = unchanging(&server.status());
    for round in 0..600 * times {
        let (method, path, _, operation) = &all[rng.random_range(0..all.len())];
        let parts = ["0", "1", "t0", "t3", "x", "4294967296", "%00", &known];
        let part = parts[rng.random_range(0..parts.len())];
        let mut path = filled(path, part);
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" && rng.random_bool(0.8) {
                let value = guess(&parameter["schema"], &document, &mut rng, 0);
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                let value: String = value.bytes().map(|b| format!("%{b:02x}")).collect();
                path += if path.contains('?') { "&" } else { "?" };
                path += &format!("{}={value}", parameter["name"].as_str().unwrap());
            }
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut value = guess(schema, &document, &mut rng, 0);
        if let Some(wait) = value
            .get_mut("wait_seconds")
            .filter(|w| w.as_f64().is_some_and(|w| w > 0.01))
        {
            *wait = json!(if rng.random_bool(0.5) { 0.01 } else { 61.0 });
        }
        let mut body = value.to_string().into_bytes();
        if rng.random_bool(0.2) && !body.is_empty() {
            match rng.random_range(0..3) {
                0 => body.truncate(rng.random_range(0..body.len())),
                1 => body[rng.random_range(0..1)] = rng.next_u64() as u8,
                _ => body.extend_from_slice(b"}"),
            }
        }
        let ranges = ["0-", "3-", "9-", "18446744073709551615-", "2-1", "-1", "x"];
        let range = ranges.get(rng.random_range(0..2 * ranges.len()));
        let range = range.map_or(String::new(), |r| format!("range: bytes={r}\r\n"));
        let (status, answer) = server.raw_with(Some(&admin), method, &path, &range, &body);
        let told = || {
            format!(
                "round {round}: {method} {path} {range}{}: {status} {}",
                String::from_utf8_lossy(&body),
                String::from_utf8_lossy(&answer)
            )
        };
        assert!(
            (200..300).contains(&status) || (400..500).contains(&status),
            "{}",
            told()
        );
        match status {
            400.. => {
                refused += 1;
                let problem: Value =
                    serde_json::from_slice(&answer).unwrap_or_else(|_| panic!("{}", told()));
                assert!(
                    problem["error"].is_string() && problem["cure"].is_string(),
                    "{}",
                    told()
                );
                assert_eq!(unchanging(&server.status()), before, "{}", told());
            }
            _ => {
                taken += 1;
                before = unchanging(&server.status());
            }
        }
    }
    assert!(
        refused > 150 * times && taken > 20 * times,
        "{refused} refused, {taken} taken"
    );
}
