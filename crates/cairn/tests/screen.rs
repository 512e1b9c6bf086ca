//! Text from files never reaches the terminal raw: no control character, no change of direction, no forged line; in every
//! command, every format and every output form.

mod common;

use common::{Run, cairn};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A line end, a carriage return, a bell, a title, a cleared screen, an eight-bit escape, a turned direction.
const EVIL: &str =
    "x\n  FORGED proved\r\u{7}\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{2028}\u{7f}";

/// The same for formats whose words end at white space and whose lines end at line ends.
const EVIL_WORD: &str = "x\u{7}\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{7f}FORGED";

/// Asserts that everything printed is plain and that no line begins with what a file said.
fn check(run: &Run, what: &str) {
    assert!((0..=3).contains(&run.code), "{what}: {run:?}");
    for said in [&run.stdout, &run.stderr] {
        assert!(!said.contains("panicked"), "{what}: {said}");
        check_text(said, what);
    }
}

fn check_text(said: &str, what: &str) {
    let odd = said.chars().find(|&c| c != '\n' && !cairn_dag::is_plain(c));
    assert_eq!(odd, None, "{what}: {said:?}");
    let forged = said.lines().find(|l| l.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{what}: {said}");
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A flow of two tasks in each format that can say something evil, and variants that cannot be read.
fn files() -> Vec<(&'static str, String)> {
    let (evil, word) = (quoted(EVIL), EVIL_WORD);
    let task = json!({ "name": EVIL, "run": EVIL, "kind": EVIL, "label": format!("l{EVIL}"), "inputs": [EVIL] });
    let after = json!({ "name": format!("b{EVIL}"), "after": EVIL, "outputs": [{ "path": EVIL, "bytes": 9 }] });
    let step = |id: u32| json!({ "id": id, "name": EVIL, "label": EVIL });
    let wf = |parent: &str| {
        json!({ "schemaVersion": "1.5", "workflow": { "specification": { "tasks": [
            { "name": EVIL, "id": format!("a{EVIL}"), "parents": [], "children": [] },
            { "name": EVIL, "id": format!("b{EVIL}"), "parents": [parent], "children": [] }] } } })
    };
    let graph = json!({ format!("a{EVIL}"): { "label": EVIL, "kind": EVIL, "dependencies": {}, "task": {} },
        "b": { "label": format!("b{EVIL}"), "dependencies": { "x": format!("a{EVIL}"), "y": format!("z{EVIL}") }, "task": {} } });
    let raw = EVIL.replace(['"', '\\'], "");
    let toml = |name: &str| {
        format!(
            "[[task]]\nname = {name}\nrun = {name}\nlabel = {name}\n",
            name = name.replace('\u{7f}', "\\u007f")
        )
    };
    vec![
        ("a.json", json!({ "task": [task, after] }).to_string()),
        ("b.jsonl", format!("{task}\n{after}\n")),
        ("twice.jsonl", format!("{task}\n{task}\n")),
        ("unknown.jsonl", format!("{after}\n")),
        ("field.jsonl", format!("{}\n", json!({ EVIL: 1, "name": "a" }))),
        ("cut.jsonl", format!("{task}\n{{\"name\": {evil}")),
        ("cycle.jsonl", json!({ "name": EVIL, "after": [format!("b{EVIL}")], "label": EVIL }).to_string() + "\n" + &after.to_string()),
        ("c.toml", toml(&evil)),
        ("cut.toml", format!("[[task]]\nname = {evil}\nrun = \"{word}")),
        ("d.dot", format!("digraph {{ \"a{raw}\" [label=\"{raw}\", command=\"{raw}\"]; \"b\" [label=\"{raw}\"] \"a{raw}\" -> \"b\" -> c [label=\"{raw}\"] }}")),
        ("html.dot", format!("digraph {{ a [label=<{raw}>] b [label=<{raw}>] a -> b }}")),
        ("cycle.dot", format!("digraph {{ \"a{raw}\" [label=\"{raw}\" seconds=\"{raw}\"]; \"a{raw}\" -> b -> \"a{raw}\" }}")),
        ("cut.dot", format!("digraph {{ \"a{raw}\" -> \"{raw}")),
        ("e.wf.json", wf(&format!("a{EVIL}")).to_string()),
        ("unknown.wf.json", wf(&format!("z{EVIL}")).to_string()),
        ("f.ga", json!({ "a_galaxy_workflow": "true", "steps": { "0": step(0), "1": step(1) } }).to_string()),
        ("g.taskcluster.json", graph.to_string()),
        ("h.dax", format!("<adag><job id=\"a&#10;FORGED\" name=\"{word}\"/><job id=\"b\" name=\"{word}\"><argument>{word}</argument></job><child ref=\"b\"><parent ref=\"a&#10;FORGED\"/></child></adag>")),
        ("cut.dax", format!("<adag><job id=\"{word}\" name=\"{word}\"></adag>")),
        ("i.yml", "pegasus: \"5.0\"\njobs:\n  - id: \"a\\n  FORGED\\e[2J\\a\"\n    name: \"x\\n  FORGED\\e\"\n  - {id: b, name: x}\njobDependencies:\n  - {id: \"a\\n  FORGED\\e[2J\\a\", children: [b]}\n".to_owned()),
        ("unknown.yml", "pegasus: \"5.0\"\njobs:\n  - {id: b, name: x}\njobDependencies:\n  - {id: \"a\\n  FORGED\\e[2J\\a\", children: [b]}\n".to_owned()),
        ("j.dag", format!("JOB a{word} {word}.sub\nJOB b b.sub\nPARENT a{word} CHILD b\nVARS b x=\"{word}\"\n")),
        ("bad.dag", format!("JOB a{word} a.sub\n{word} b\nPARENT z{word} CHILD a{word}\nSPLICE s {word}\n")),
        ("k.makeflow", format!("{word}: in\n\techo {word}\n\nout: {word}\n\techo {word} > out\n")),
        ("bad.makeflow", format!("out: in\n\techo $({word})\nout: in {word}\n\techo\n{word}\n")),
        ("l.csv", format!("\"a{raw}\",\"b{raw}\"\n")),
        ("bad.csv", format!("\"a{raw}\",\"b{raw}\n")),
        ("m.tsv", format!("a{word}\tb{word}\n")),
        ("n.taskedge", format!("TASK a{word} t::{word}:1 1\nTASK b t::{word}:1 2\nEDGE a{word} b\n")),
        ("bad.taskedge", format!("TASK a{word} t::{word}:1 {word}\n{word} b\nEDGE z{word} b\n")),
        ("o.stg", format!("2\n0 1 0\n1 1 1 0\n# {word}\n")),
        ("bad.stg", format!("2\n0 1 0 {word}\n")),
        ("what.xyz", format!("?? {word}\n")),
    ]
}

/// Every command line that reads a workflow, and writes nothing or into `folder`.
fn commands<'a>(file: &'a str, folder: &'a str) -> Vec<Vec<String>> {
    let own = |args: &[&str]| {
        args.iter()
            .map(|a| (*a).to_owned())
            .collect::<Vec<String>>()
    };
    let evil = format!("a{EVIL}");
    let (svg, html) = (format!("{folder}/x.svg"), format!("{folder}/x.html"));
    let dot = format!("{folder}/{EVIL}.dot");
    vec![
        own(&["info", file]),
        own(&["check", file]),
        own(&["explain", file]),
        own(&["plan", "-v", file]),
        own(&["plan", "--order", file]),
        own(&["plan", "--durations", file]),
        own(&["plan", "--memory-cap", "1kB", file]),
        own(&["batch", "-r", "2", file]),
        own(&["batch", "-r", "1,1", file]),
        own(&["batch", "-r", "1", "--executed", &evil, file]),
        own(&["batch", "-r", "1", "--executed", EVIL, file]),
        own(&["simulate", "--runs", "2", file]),
        own(&["show", "--what", "dag", "-o", &svg, file]),
        own(&["show", "-o", &html, file]),
        own(&["convert", file, &dot]),
        own(&["prio", file, "-o", &dot]),
        own(&[
            "plan",
            "--certificate",
            &format!("{folder}/proof.json"),
            file,
        ]),
        own(&["verify", file, &format!("{folder}/proof.json")]),
        own(&["verify", file, file]),
    ]
}

#[test]
fn no_command_prints_what_a_file_says_raw() {
    let folder = tempfile::tempdir().unwrap();
    let mut good = 0;
    for (name, text) in files() {
        let path = folder.path().join(name);
        std::fs::write(&path, &text).unwrap();
        good += usize::from(run_all(&path, name));
    }
    assert!(good >= 13, "only {good} of the files were read");
    // And a file whose own name is hostile.
    #[cfg(unix)]
    for (name, text) in files().into_iter().take(4) {
        let path = folder.path().join(format!("{EVIL}{name}"));
        std::fs::write(&path, &text).unwrap();
        run_all(&path, name);
    }
}

/// Whether the file could be read.
fn run_all(path: &Path, name: &str) -> bool {
    let out = tempfile::tempdir().unwrap();
    let (file, folder) = (path.to_str().unwrap(), out.path().to_str().unwrap());
    for command in commands(file, folder) {
        for form in [&[][..], &["--json"], &["-q"]] {
            let args: Vec<&str> = form
                .iter()
                .copied()
                .chain(command.iter().map(|a| &**a))
                .collect();
            let run = cairn(&args);
            let what = format!("{name}: {:?}", &args[..2]);
            check(&run, &what);
            if form == ["--json"] && !run.stdout.is_empty() && !args.contains(&"--order") {
                let read: Result<Value, _> = serde_json::from_str(&run.stdout);
                assert!(read.is_ok(), "{what}: {}", run.stdout);
            }
        }
    }
    for picture in ["x.svg", "x.html"] {
        if let Ok(text) = std::fs::read_to_string(out.path().join(picture)) {
            check_text(&text, &format!("{name}: {picture}"));
        }
    }
    cairn(&["info", file]).code == 0
}

#[test]
fn the_command_line_itself_is_quoted_in_plain_text() {
    for args in [
        &[EVIL][..],
        &["info", "--format", EVIL, "x"],
        &["plan", EVIL],
        &["plan", "--memory-cap", EVIL, "examples/release.dag"],
        &["plan", EVIL, EVIL],
        &["gen", EVIL, EVIL],
        &["gen", "mesh", EVIL, "-o", EVIL],
        &["gen", "mesh", "3", "-o", EVIL],
        &["simulate", "--gap", EVIL, "examples/release.dag"],
        &[
            "simulate",
            "--world",
            "trace",
            "--trace",
            EVIL,
            "examples/release.dag",
        ],
        &["batch", "examples/release.dag", "--executed", EVIL],
        &[
            "batch",
            "examples/release.dag",
            "--executed",
            &format!("@{EVIL}"),
        ],
        &["show", "examples/release.dag", "-o", EVIL],
        &["convert", "examples/release.dag", EVIL],
        &[
            "prio",
            "examples/release.dag",
            "-o",
            &format!("/nowhere/{EVIL}"),
        ],
        &["man", EVIL],
    ] {
        for form in [&[][..], &["--json"]] {
            let args: Vec<&str> = args.iter().chain(form).copied().collect();
            let run = cairn(&args);
            assert_ne!(run.code, 0, "{args:?}");
            check(&run, &format!("{args:?}"));
        }
    }
}

/// Every string in a certificate, one at a time, and the names of its fields.
#[test]
fn no_string_of_a_certificate_forges_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let flow = folder.path().join("w.jsonl");
    let proof = folder.path().join("proof.json");
    let none_exists = "{\"name\":\"a\"}\n{\"name\":\"b\"}\n{\"name\":\"c\",\"after\":[\"a\"]}\n{\"name\":\"d\",\"after\":[\"a\",\"b\"]}\n\
        {\"name\":\"e\"}\n{\"name\":\"f\"}\n{\"name\":\"g\",\"after\":[\"e\",\"f\"]}\n{\"name\":\"h\",\"after\":[\"e\",\"f\"]}\n\
        {\"name\":\"i\",\"after\":[\"e\",\"f\"]}\n";
    std::fs::write(&flow, none_exists).unwrap();
    for input in [flow.to_str().unwrap(), "examples/release.dag"] {
        let made = cairn(&["plan", input, "--certificate", proof.to_str().unwrap()]);
        assert_eq!(made.code, 0, "{made:?}");
        let text = std::fs::read_to_string(&proof).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        strings(&whole, &mut Vec::new(), &mut places);
        assert!(places.len() > 3, "{text}");
        // Of the many places in lists of names the first few will do.
        places.truncate(60);
        for place in places {
            let mut lie = whole.clone();
            *at(&mut lie, &place) = Value::from(EVIL);
            std::fs::write(&proof, lie.to_string()).unwrap();
            for form in [&[][..], &["--json"]] {
                let mut args = vec!["verify", input, proof.to_str().unwrap()];
                args.extend(form);
                check(&cairn(&args), &format!("{place:?}"));
            }
        }
    }
}

/// Where the strings in a value are.
fn strings(value: &Value, here: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(_) => found.push(here.clone()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                here.push(i.to_string());
                strings(item, here, found);
                here.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                here.push(key.clone());
                strings(item, here, found);
                here.pop();
            }
        }
        _ => {}
    }
}

fn at<'v>(value: &'v mut Value, place: &[String]) -> &'v mut Value {
    place.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        other => &mut other[step.as_str()],
    })
}

/// The list for machines has names as they are, or is refused: it never makes two tasks of one.
#[test]
fn an_order_of_one_task_a_line_refuses_names_of_two_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("w.jsonl");
    std::fs::write(&path, "{\"name\":\"a\\nb\"}\n{\"name\":\"c\"}\n").unwrap();
    let file = path.to_str().unwrap();
    let run = cairn(&["plan", "--order", file]);
    assert_eq!((run.code, &*run.stdout), (2, ""), "{run:?}");
    assert!(
        run.stderr.contains("a\\nb") && run.stderr.contains("--json"),
        "{run:?}"
    );
    let run = cairn(&["plan", "--json", file]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["order"], json!(["a\nb", "c"]));
}
