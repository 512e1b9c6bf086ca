//! Caps on open results, through the real binary: units, sizes that are missing, sums that are too large.

mod common;

use common::{Run, cairn_with_input};
use serde_json::Value;

/// Two results of 1000 bytes meet in `c`.
const KNOWN: &str = r#"{"name":"a","outputs":[{"path":"fa","bytes":1000}]}
{"name":"b","outputs":[{"path":"fb","bytes":1000}]}
{"name":"c","after":["a","b"]}
{"name":"d","outputs":[{"path":"fd","bytes":1000}]}
{"name":"e","after":["d"]}
{"name":"f","after":["d","e"]}
"#;

/// The size of `fb` is not given.
const UNKNOWN: &str = r#"{"name":"a","outputs":[{"path":"fa","bytes":1000}]}
{"name":"b","outputs":[{"path":"fb"}]}
{"name":"c","after":["a","b"]}
{"name":"d","after":["b"]}
"#;

/// 2⁶³ + 2⁶³ + 1 bytes.
const HUGE: &str = r#"{"name":"a","outputs":[{"path":"fa","bytes":9223372036854775808},{"path":"fb","bytes":9223372036854775809}]}
{"name":"c","after":["a"]}
"#;

fn plan(flow: &str, more: &[&str]) -> Run {
    cairn_with_input(&[&["plan", "-"], more].concat(), flow.as_bytes())
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn the_advised_cap_has_its_unit_and_works() {
    let run = plan(KNOWN, &["--memory-cap", "1kB"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("no order stays within 1kB"), "{run:?}");
    let (_, advice) = run.stderr.split_once("give at least ").unwrap();
    assert_eq!(advice.trim(), "--memory-cap 2kB", "{run:?}");
    let words: Vec<&str> = advice.split_whitespace().collect();
    let again = plan(KNOWN, &words);
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn bytes_are_told_in_units_to_people_and_as_numbers_to_machines() {
    let run = plan(KNOWN, &["--memory-cap", "1MB"]);
    assert!(run.stdout.contains("3 kB"), "{run:?}");
    assert!(!run.stdout.contains("3000"), "{run:?}");
    // It is a cap on the disk, by another name.
    let disk = json(&plan(KNOWN, &["--disk", "1MB", "--json"]));
    let memory = json(&plan(KNOWN, &["--memory-cap", "1MB", "--json"]));
    assert_eq!(disk["storage"], memory["storage"]);
    assert_eq!(disk["order"], memory["order"]);
    assert_eq!(disk["memory"]["unit"], "results");
    let both = plan(KNOWN, &["--memory-cap", "1MB", "--disk", "1MB"]);
    assert!(
        both.code == 2 && both.stderr.contains("leave out --memory-cap"),
        "{both:?}"
    );
    let value = json(&plan(KNOWN, &["--memory-cap", "1MB", "--json"]));
    assert_eq!(value["memory"]["peak"], 3000);
    assert_eq!(value["memory"]["cap"], 1_000_000);
    assert_eq!(value["memory"]["unit"], "bytes");
    // `e` lists no file, and `f` reads what it hands on.
    assert_eq!(value["memory"]["unknown_sizes"], 1);
}

#[test]
fn sizes_that_are_missing_are_told() {
    let run = plan(UNKNOWN, &["--memory-cap", "1kB"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr
            .contains("the size of 1 file is not known ('fb')"),
        "{run:?}"
    );
    assert!(run.stderr.contains("count as 0 bytes"), "{run:?}");
    let value = json(&plan(UNKNOWN, &["--memory-cap", "1kB", "--json"]));
    assert_eq!(value["memory"]["unknown_sizes"], 1);
    // A cap on the number of results needs no sizes.
    let run = plan(UNKNOWN, &["--memory-cap", "2"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
}

#[test]
fn sizes_that_add_up_to_too_much_are_refused() {
    let apart = r#"{"name":"a","outputs":[{"path":"fa","bytes":18446744073709551615}]}
{"name":"b","outputs":[{"path":"fb","bytes":1}]}
{"name":"c","after":["a","b"]}
"#;
    for flow in [HUGE, apart] {
        for form in [&[][..], &["--json"]] {
            let run = plan(flow, &[&["--memory-cap", "1kB"], form].concat());
            assert_eq!(run.code, 2, "{run:?}");
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains("more than 2^60 bytes"), "{run:?}");
        }
    }
    // What no task waits for is never open, however large.
    let sink = r#"{"name":"a","outputs":[{"path":"fa","bytes":7}]}
{"name":"c","after":["a"],"outputs":[{"path":"x","bytes":18446744073709551615},{"path":"y","bytes":18446744073709551615}]}
"#;
    let value = json(&plan(sink, &["--memory-cap", "7B", "--json"]));
    assert_eq!(value["memory"]["peak"], 7);
}

#[test]
fn where_the_cap_is_the_reason_the_policy_is_not_blamed() {
    // One fork and ten chains: breadth first is best at every step and holds ten results open.
    let mut flow = "{\"name\":\"s\"}\n".to_owned();
    for i in 0..10 {
        flow += &format!("{{\"name\":\"a{i}\",\"after\":[\"s\"]}}\n");
        flow += &format!("{{\"name\":\"b{i}\",\"after\":[\"a{i}\"]}}\n");
        flow += &format!("{{\"name\":\"c{i}\",\"after\":[\"b{i}\"]}}\n");
    }
    flow += "{\"name\":\"x\"}\n{\"name\":\"y\",\"after\":[\"x\"]}\n{\"name\":\"z\",\"after\":[\"x\"]}\n";
    let free = json(&plan(&flow, &["--json"]));
    assert_eq!(free["verdict"], "optimal");
    let least = json(&plan(&flow, &["--json", "--memory-cap", "2"]));
    assert_eq!(least["verdict"], "suboptimal", "{least}");
    let run = plan(&flow, &["--memory-cap", "2"]);
    assert!(!run.stdout.contains("--policy ic"), "{run:?}");
    assert!(run.stdout.contains("cap"), "{run:?}");
    // Without a cap the policy is the reason.
    let run = plan(&flow, &["--policy", "lifo"]);
    assert!(run.stdout.contains("--policy ic"), "{run:?}");
}
