//! What people and machines read, word by word: every help; every command that answers at once, on the examples (`submit` as
//! dry runs); a run and a server with a small flow; what each says of bad flags and of bad files. A change of any of it shows here
//! and must be accepted by hand: `INSTA_UPDATE=always cargo test -p cairn --test snapshots`. What is asked is in `sheets/`.

mod common;
mod sheets;

use common::served::{served, until};
use common::{cairn, cairn_at, root};
use serde_json::Value;
use sheets::bad::{BAD, ELSEWHERE, UNFIT};
use sheets::commands::{COMMANDS, ON_EXAMPLES, REQUESTS, RUNS, SERVED, SHEETS, SHELLS};
use sheets::files::FILES;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tempfile::TempDir;

/// A folder with the examples and the bad files.
fn workshop() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("examples");
    std::fs::create_dir(&examples).unwrap();
    for name in example_files()
        .iter()
        .map(String::as_str)
        .chain(["README.md"])
    {
        std::fs::copy(root().join("examples").join(name), examples.join(name)).unwrap();
    }
    for (name, bytes) in FILES {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// The names of the examples, in order.
fn example_files() -> Vec<String> {
    let files = std::fs::read_dir(root().join("examples")).unwrap();
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.filter(|n| n != "README.md").collect();
    names.into_iter().collect()
}

/// Runs a command and tells everything it said.
fn told(folder: &Path, line: &str, input: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let run = cairn_at(folder, 80, &args, input.as_bytes());
    let mut text = format!("$ cairn {line}").trim_end().to_owned() + "\n";
    text += &input
        .lines()
        .map(|l| format!("< {l}\n"))
        .collect::<String>();
    let is_json = args.contains(&"--json");
    let stdout = match serde_json::from_str::<Value>(&run.stdout) {
        Ok(value) if is_json => laid_out(&without_times(value), 0) + "\n",
        _ if is_json => run.stdout.lines().map(without_moment).collect(),
        _ => run.stdout,
    };
    text += &without_time_row(&stdout);
    let stderr = run
        .stderr
        .lines()
        .map(|l| format!("! {l}").trim_end().to_owned() + "\n");
    text += &stderr.collect::<String>();
    if run.code != 0 {
        text += &format!("exit code {}\n", run.code);
    }
    // Some answers name the folder in full: another one each time.
    text.replace(folder.to_str().unwrap(), "FOLDER") + "\n"
}

/// What was measured by a clock is another number each time.
fn without_times(mut value: Value) -> Value {
    if let Some(time) = value.get_mut("uptime_seconds") {
        *time = "…".into();
    }
    if let Some(times) = value.get_mut("elapsed_ms").and_then(Value::as_object_mut) {
        times.values_mut().for_each(|time| *time = "…".into());
    }
    value
}

/// A line of JSON of many, without when it was written and how long all took.
fn without_moment(line: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else {
        return format!("{line}\n");
    };
    for key in ["t", "seconds", "at", "uptime_seconds"] {
        if let Some(time) = value.get_mut(key) {
            *time = "…".into();
        }
    }
    format!("{value}\n")
}

fn without_time_row(text: &str) -> String {
    let row = |line: &str| match line.starts_with("  time      ") {
        true => "  time      …\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(row).collect()
}

/// Seconds and the numbers of processes are others each time.
fn without_moments(text: &str) -> String {
    let masked = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_masked = |n: usize| {
            let is_number = words[n].trim_end_matches(':').parse::<f64>().is_ok();
            let before = n.checked_sub(1).map(|n| words[n]);
            let behind = words.get(n + 1).map(|w| w.trim_end_matches([',', ';']));
            is_number && (before == Some("process") || behind == Some("s"))
        };
        let said = words.iter().enumerate();
        let said = said.map(|(n, word)| match is_masked(n) {
            true if word.ends_with(':') => "…:",
            true => "…",
            false => word,
        });
        said.collect::<Vec<&str>>().join(" ") + "\n"
    };
    let line = |line: &str| match line.starts_with("{\"at\":") {
        true => without_moment(line),
        false => masked(line),
    };
    text.lines().map(line).collect()
}

/// JSON in lines of readable length, so that a change shows as a small difference.
fn laid_out(value: &Value, depth: usize) -> String {
    let short = value.to_string();
    if depth > 0 && short.len() <= 100 {
        return short;
    }
    let pad = "  ".repeat(depth + 1);
    let (open, close, rows): (_, _, Vec<String>) = match value {
        Value::Object(fields) => {
            let row = |(key, v): (&String, &Value)| {
                format!(
                    "{pad}{}: {}",
                    Value::from(key.as_str()),
                    laid_out(v, depth + 1)
                )
            };
            ("{", "}", fields.iter().map(row).collect())
        }
        Value::Array(items) if items.iter().all(|v| !v.is_object() && !v.is_array()) => {
            return short;
        }
        Value::Array(items) => {
            let row = |v| format!("{pad}{}", laid_out(v, depth + 1));
            ("[", "]", items.iter().map(row).collect())
        }
        _ => return short,
    };
    format!(
        "{open}\n{}\n{}{close}",
        rows.join(",\n"),
        "  ".repeat(depth)
    )
}

/// Compares with the stored text; all that differ are told before the test fails.
fn compare(sheets: impl IntoIterator<Item = (String, String)>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let differs = |name: &str, text: &str| {
        assert!(!text.contains("/tmp/"), "{name} names a folder:\n{text}");
        settings.bind(|| {
            catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(name, text))).is_err()
        })
    };
    let sheets = sheets.into_iter();
    let other: Vec<String> = sheets
        .filter(|(name, text)| differs(name, text))
        .map(|(name, _)| name)
        .collect();
    assert!(other.is_empty(), "changed: {}", other.join(", "));
}

fn compare_on_examples(kind: &str) {
    let (_, lines) = ON_EXAMPLES.iter().find(|(name, _)| *name == kind).unwrap();
    compare(example_files().into_iter().map(|example| {
        let folder = workshop();
        let told = (lines.iter()).map(|l| {
            told(
                folder.path(),
                &l.replace("EXAMPLE", &format!("examples/{example}")),
                "",
            )
        });
        (format!("{kind}-{example}"), told.collect())
    }));
}

fn compare_sheet(name: &str) {
    let (_, lines) = SHEETS.iter().find(|(sheet, _)| *sheet == name).unwrap();
    let folder = workshop();
    let told = lines.iter().map(|line| told(folder.path(), line, ""));
    compare([(name.to_owned(), told.collect())]);
}

#[test]
fn help_reads_as_before() {
    let helps = COMMANDS
        .iter()
        .map(|c| (format!("help-{c}"), format!("{c} --help")));
    let top = ("help".to_owned(), "--help".to_owned());
    let folder = workshop();
    compare(
        helps
            .chain([top])
            .map(|(name, line)| (name, told(folder.path(), &line, ""))),
    );
}

#[test]
fn looking_at_the_examples_reads_as_before() {
    compare_on_examples("look");
    compare_on_examples("batch");
}

#[test]
fn explaining_the_examples_reads_as_before() {
    compare_on_examples("explain");
}

#[test]
fn planning_the_examples_reads_as_before() {
    compare_on_examples("plan");
}

#[test]
fn priorities_of_the_examples_read_as_before() {
    compare_on_examples("prio");
}

#[test]
fn simulating_the_examples_reads_as_before() {
    compare_on_examples("simulate");
}

#[test]
fn converting_the_examples_reads_as_before() {
    compare_on_examples("convert");
}

#[test]
fn certificates_and_half_run_workflows_read_as_before() {
    compare_sheet("certificates");
    compare_sheet("half-run");
}

#[test]
fn other_orders_read_as_before() {
    compare_sheet("orders");
}

#[test]
fn worlds_read_as_before() {
    compare_sheet("worlds");
}

#[test]
fn studies_and_pictures_read_as_before() {
    compare_sheet("study");
    compare_sheet("show");
}

#[test]
fn written_files_read_as_before() {
    compare_sheet("files");
    compare_sheet("lossy");
}

#[test]
fn times_and_dry_runs_read_as_before() {
    compare_sheet("times");
    compare_sheet("dry-runs");
}

#[test]
fn errors_read_as_before() {
    for (name, _) in SHEETS
        .iter()
        .filter(|(name, _)| name.starts_with("errors-"))
    {
        compare_sheet(name);
    }
}

#[test]
fn bad_files_of_each_format_are_refused_as_before() {
    let folder = workshop();
    compare(BAD.iter().map(|(format, texts)| {
        let line = format!("check - --format {format}");
        let told = texts.iter().map(|text| told(folder.path(), &line, text));
        (format!("bad-{format}"), told.collect())
    }));
}

#[test]
fn what_cannot_be_run_here_is_refused_as_before() {
    let folder = workshop();
    compare(UNFIT.iter().map(|(format, texts)| {
        let line =
            format!("run - --format {format} --dry-run --policy ic --state s -j 2 --memory 4GB");
        let told = texts.iter().map(|text| told(folder.path(), &line, text));
        (format!("unfit-{format}"), told.collect())
    }));
}

#[test]
fn what_is_no_workflow_is_named_as_before() {
    let folder = workshop();
    let told = ELSEWHERE
        .iter()
        .map(|text| told(folder.path(), "check -", text));
    compare([("elsewhere".to_owned(), told.collect())]);
}

#[test]
fn runs_read_as_before() {
    let folder = workshop();
    let told = RUNS.iter().map(|line| told(folder.path(), line, ""));
    compare([(
        "runs".to_owned(),
        without_moments(&told.collect::<String>()),
    )]);
}

#[test]
fn a_server_and_its_worker_read_as_before() {
    let folder = workshop();
    let mut server = served(folder.path(), &["small.toml", "--policy", "ic"]);
    let url = server.url.clone();
    until("the order", || server.said().contains("order: "));
    let address = url.strip_prefix("http://").unwrap();
    let line = |line: &&str| line.replace("URL", &url).replace("ADDRESS", address);
    let told = SERVED.iter().map(|l| told(folder.path(), &line(l), ""));
    let mut told: String = told.collect();
    let code = server.end(60);
    told += &format!("$ the server\n{}exit code {code}\n", server.said());
    let told = without_moments(&told.replace(&url, "URL").replace(address, "ADDRESS"));
    compare([("served".to_owned(), told)]);
}

/// Sends a request to a server in a folder, and tells its answer.
fn answered(folder: &Path, address: &str, line: &str) -> String {
    let digest = "0".repeat(64);
    let line = &line.replace("DIGEST", &digest);
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (who, method, path, body) = (word(), word(), word(), word());
    let token = std::fs::read_to_string(folder.join("state/tokens").join(who));
    let shown = match who {
        "-" => String::new(),
        who => {
            let token = token.as_deref().unwrap_or(who).trim();
            format!("Authorization: Bearer {token}\r\n")
        }
    };
    let length = body.len();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let request = format!("{head}{shown}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().trim_start_matches("HTTP/1.1 ");
    let body = match serde_json::from_str::<Value>(body) {
        Ok(mut value) => {
            // Random names.
            for key in ["run", "sign"] {
                if let Some(name) = value.get_mut(key).filter(|name| name.is_string()) {
                    *name = "…".into();
                }
            }
            laid_out(&value, 0)
        }
        // Of numbers that count what the machine did, what they mean.
        Err(_) => {
            let said = body
                .lines()
                .filter(|l| !path.ends_with("metrics") || l.starts_with("# HELP"));
            said.collect::<Vec<_>>().join("\n")
        }
    };
    let told = format!("$ {line}\n{status}\n{body}\n\n");
    let told = told.replace(&digest, "DIGEST");
    told.replace(folder.to_str().unwrap(), "FOLDER")
}

#[test]
fn requests_are_answered_as_before() {
    let folder = workshop();
    // However slow this machine is, the worker is not lost meanwhile.
    let flags = ["--policy", "ic", "--stay", "--silence", "600"];
    let server = served(folder.path(), &[&["small.toml"][..], &flags].concat());
    until("the order", || server.said().contains("order: "));
    let address = server.url.strip_prefix("http://").unwrap();
    let told = REQUESTS
        .iter()
        .map(|line| answered(folder.path(), address, line));
    let told = without_moments(&told.collect::<String>());
    compare([("requests".to_owned(), told)]);
}

#[test]
fn shells_are_told_as_before() {
    let folder = workshop();
    // Enough to see that it is made: what follows names every flag, as the helps do.
    let beginning = |line: &&str| {
        let told = told(folder.path(), line, "");
        told.lines()
            .take(40)
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    };
    compare([("shells".to_owned(), SHELLS.iter().map(beginning).collect())]);
}

#[test]
fn disks_and_questions_read_as_before() {
    compare_sheet("disk");
    compare_sheet("questions");
}

#[test]
fn certificates_of_the_examples_read_as_before() {
    compare_on_examples("verify");
}

#[test]
fn pictures_and_dry_runs_of_the_examples_read_as_before() {
    compare_on_examples("draw");
    compare_on_examples("run");
    compare_on_examples("submit");
}

#[test]
fn every_snapshot_is_still_compared() {
    let helps = COMMANDS.iter().map(|c| format!("help-{c}"));
    let examples = example_files();
    let kinds = ON_EXAMPLES.iter().flat_map(|(kind, _)| {
        let name = move |example: &String| format!("{kind}-{example}");
        examples.iter().map(name)
    });
    let bad = BAD.iter().map(|(format, _)| format!("bad-{format}"));
    let unfit = UNFIT.iter().map(|(format, _)| format!("unfit-{format}"));
    let alone = ["help", "elsewhere", "runs", "served", "requests", "shells"].map(str::to_owned);
    let expected: BTreeSet<String> = (helps.chain(kinds).chain(bad).chain(unfit))
        .chain(SHEETS.iter().map(|(name, _)| (*name).to_owned()))
        .chain(alone)
        .map(|name| name + ".snap")
        .collect();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots")).unwrap();
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter(|n| n.ends_with(".snap")).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_command_and_every_format_has_its_sheet() {
    let help = cairn(&["--help"]).stdout;
    let is_row = |l: &&str| l.starts_with("  ") && !l.trim_start().starts_with('-');
    let listed = |command: &&str| {
        let first = |l: &str| l.split_whitespace().next() == Some(command);
        help.lines().filter(is_row).any(first)
    };
    assert!(COMMANDS.iter().all(listed), "{help}");
    let groups = help
        .lines()
        .skip_while(|l| !l.starts_with("Look at"))
        .take_while(|l| !l.starts_with("Options"));
    let all = groups.filter(is_row).filter(|l| !l.starts_with("   "));
    assert_eq!(all.count(), COMMANDS.len(), "{help}");
    for format in cairn_formats::Format::ALL.map(cairn_formats::Format::name) {
        assert!(
            BAD.iter().any(|(name, _)| *name == format) || format == "tsv",
            "{format}"
        );
    }
}
