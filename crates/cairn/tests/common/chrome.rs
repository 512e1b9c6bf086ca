//! A real browser, driven over a pipe: opens pages, asks scripts, takes pictures. Knows no page.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one tab.
pub(crate) struct Chrome {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
    session: String,
    /// Every address that was asked for, by the page or for it.
    asked: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Drop for Chrome {
    fn drop(&mut self) {
        // Gone already, perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Chrome {
    /// `None` where there is no browser.
    pub(crate) fn start() -> Option<Chrome> {
        let program = crate::common::browser("cairn serve")?;
        let profile = tempfile::tempdir().unwrap();
        // It speaks on the descriptors 3 and 4: the shell makes them of standard input and output.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
                "sh",
            ])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut chrome = Chrome {
            child,
            to,
            from: BufReader::new(from),
            next: 0,
            session: String::new(),
            asked: Vec::new(),
            _profile: profile,
        };
        let target = chrome.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = chrome.call("Target.attachToTarget", target);
        chrome.session = attached["sessionId"].as_str().unwrap().to_owned();
        chrome.call("Page.enable", json!({}));
        chrome.call("Network.enable", json!({}));
        chrome.size(1280, 900);
        Some(chrome)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.to.write_all(&text).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).unwrap();
            assert!(!answer.is_empty(), "the browser is gone");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["method"] == "Network.requestWillBeSent" {
                let url = answer["params"]["request"]["url"].as_str();
                self.asked.extend(url.map(str::to_owned));
            }
            if answer["id"] == json!(self.next) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Every address that was asked for so far.
    pub(crate) fn asked(&mut self) -> &[String] {
        // Whatever was said before its answer has been read.
        self.ask("0");
        &self.asked
    }

    /// Presses a key, as a person does.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            " " => (32, " "),
            _ => panic!("no such key: {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// What a screen reader is told: role and name of everything that is told at all, each with its properties.
    pub(crate) fn read_out(&mut self) -> Vec<(String, String, Value)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let told = nodes.filter(|node| node["ignored"] != json!(true));
        let text = |of: &Value| of["value"].as_str().unwrap_or("").to_owned();
        told.map(|node| {
            let properties = node["properties"].clone();
            (text(&node["role"]), text(&node["name"]), properties)
        })
        .collect()
    }

    /// Seconds of the processor that the page's main thread has taken, from when this is first asked.
    pub(crate) fn main_thread_seconds(&mut self) -> f64 {
        self.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
        let metrics = self.call("Performance.getMetrics", json!({}));
        let all = metrics["metrics"].as_array().unwrap();
        let task = all.iter().find(|m| m["name"] == "TaskDuration");
        task.unwrap()["value"].as_f64().unwrap()
    }

    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub(crate) fn dark(&mut self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// What a script comes to.
    pub(crate) fn ask(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{script}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until a script says true.
    pub(crate) fn until(&mut self, what: &str, script: &str) {
        let begin = Instant::now();
        loop {
            // A page that is only just opening has no document yet.
            if self.ask(&format!(
                "(() => {{ try {{ return !!({script}) }} catch {{ return false }} }})()"
            )) == json!(true)
            {
                return;
            }
            if begin.elapsed() > Duration::from_secs(240) {
                let text = self.ask("document.body ? document.body.innerText.slice(0, 3000) : ''");
                panic!("never: {what}\n{}", text.as_str().unwrap_or(""));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A picture of the whole page, kept where `CAIRN_PICTURES` says.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("CAIRN_PICTURES") else {
            return;
        };
        // All of the page is seen, so that all of it is drawn.
        let [wide, high, all] = [
            "innerWidth",
            "innerHeight",
            "document.documentElement.scrollHeight",
        ]
        .map(|of| self.ask(of).as_u64().unwrap() as u32);
        self.size(wide, all);
        std::thread::sleep(Duration::from_millis(1500));
        let taken = self.call(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": true }),
        );
        let bytes = decoded(taken["data"].as_str().unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(Path::new(&folder).join(name), bytes).unwrap();
        self.size(wide, high);
    }
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut many) = (0u32, 0);
    for byte in text.bytes().filter(|&b| b != b'=') {
        bits = (bits << 6) | u32::from(value(byte));
        many += 6;
        if many >= 8 {
            many -= 8;
            bytes.push((bits >> many) as u8);
        }
    }
    bytes
}
