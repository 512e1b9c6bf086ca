//! Options of `plan` and its kin, through the real binary.

mod common;

use common::{Run, cairn, cairn_with_input};
use serde_json::Value;

/// Two chains, the short one declared first, with durations that make it the slow one.
const CHAINS: &str = r#"
[[task]]
name = "short-1"
seconds = 60
[[task]]
name = "short-2"
after = ["short-1"]
seconds = 60
[[task]]
name = "long-1"
seconds = 1
[[task]]
name = "long-2"
after = ["long-1"]
seconds = 1
[[task]]
name = "long-3"
after = ["long-2"]
seconds = 1
[[task]]
name = "long-4"
after = ["long-3"]
seconds = 1
"#;

fn without_durations(flow: &str) -> String {
    let lines = flow.lines().filter(|l| !l.starts_with("seconds"));
    lines.map(|l| format!("{l}\n")).collect()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

fn plan(flow: &str, more: &[&str]) -> Value {
    let run = cairn_with_input(&[&["plan", "-", "--json"], more].concat(), flow.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    json(&run)
}

#[test]
fn ties_go_to_the_longer_path_and_change_no_profile() {
    let counted = without_durations(CHAINS);
    let before = plan(&counted, &[]);
    let by_tasks = plan(&counted, &["--ties", "critical-path"]);
    assert_eq!(by_tasks["order"][0], "long-1", "{by_tasks}");
    let by_seconds = plan(CHAINS, &["--ties", "critical-path"]);
    assert_eq!(by_seconds["order"][0], "short-1", "{by_seconds}");
    for after in [&by_tasks, &by_seconds] {
        for field in ["profile", "bound", "verdict", "area"] {
            assert_eq!(before[field], after[field], "{field}");
        }
    }
    // `prio` writes the same order.
    let run = cairn_with_input(
        &["prio", "-", "--ties", "critical-path"],
        counted.as_bytes(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    let first = run.stdout.find("priority = 6").unwrap();
    assert!(
        run.stdout[..first].ends_with("name = \"long-1\"\n"),
        "{run:?}"
    );
}

#[test]
fn ties_by_memory_lower_the_peak() {
    let peak = |plan: &Value| plan["memory"]["peak"].as_u64().unwrap();
    let mut saved = 0;
    for seed in 1..=8 {
        let made = cairn(&["gen", "layered", "6", "8", "2", "--seed", &seed.to_string()]);
        let before = plan(&made.stdout, &[]);
        let after = plan(&made.stdout, &["--ties", "memory"]);
        for field in ["profile", "bound", "verdict", "area"] {
            assert_eq!(before[field], after[field], "{field}");
        }
        assert!(peak(&after) <= peak(&before), "seed {seed}");
        saved += peak(&before) - peak(&after);
    }
    assert!(saved > 0);
}
