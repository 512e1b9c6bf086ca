//! The commands as people use them, on the examples.

mod common;

use common::{cairn, cairn_at, cairn_with_input, root, row};
use serde_json::Value;

/// Every file in `examples/`.
fn examples() -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_some_and(|e| e != "md"))
        .map(|path| format!("examples/{}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    files
}

#[test]
fn every_example_checks_and_converts_to_every_writable_format_and_back() {
    let folder = tempfile::tempdir().unwrap();
    for example in examples() {
        let checked = cairn(&["check", &example]);
        assert_eq!(checked.code, 0, "{example}: {checked:?}");
        let before = info(&example);
        for format in [
            "dagman", "wfformat", "dot", "csv", "tsv", "toml", "json", "jsonl",
        ] {
            let out = folder.path().join(format!("out.{format}"));
            let out = out.to_str().unwrap();
            let run = cairn(&["convert", &example, out, "--to", format]);
            assert_eq!(run.code, 0, "{example} to {format}: {run:?}");
            let again = cairn(&["info", "--json", out, "--format", format]);
            assert_eq!(again.code, 0, "{example} to {format}: {again:?}");
            let after: Value = serde_json::from_str(&again.stdout).unwrap();
            for field in ["tasks", "edges", "sources", "sinks", "depth", "blocks"] {
                assert_eq!(
                    before[field], after[field],
                    "{field} of {example} as {format}"
                );
            }
        }
    }
}

fn info(file: &str) -> Value {
    let run = cairn(&["info", "--json", file]);
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn info_for_people_and_for_machines_agree() {
    let made = cairn(&["gen", "mesh", "4", "--to", "dagman"]);
    assert_eq!(made.code, 0, "{made:?}");
    let text = cairn_with_input(&["info", "-"], made.stdout.as_bytes());
    assert_eq!(row(&text.stdout, "tasks"), "10");
    assert_eq!(row(&text.stdout, "arcs"), "12");
    let json = cairn_with_input(&["info", "--json", "-"], made.stdout.as_bytes());
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["tasks"], 10);
    assert_eq!(json["format"], "dagman");
    assert_eq!(json["blocks"], 3);
    assert_eq!(json["composite"], true);
}

#[test]
fn compressed_input_is_read_directly() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let plain = cairn(&["gen", "forkjoin", "5", "--to", "json"]).stdout;
    let path = folder.path().join("flow.json.gz");
    let mut gzip = flate2::write::GzEncoder::new(
        std::fs::File::create(&path).unwrap(),
        flate2::Compression::fast(),
    );
    gzip.write_all(plain.as_bytes()).unwrap();
    gzip.finish().unwrap();
    assert_eq!(info(path.to_str().unwrap())["tasks"], 7);
}

#[test]
fn gen_is_reproducible_and_the_seed_matters() {
    let make = |seed: &str| cairn(&["gen", "layered", "5", "8", "3", "--seed", seed]).stdout;
    assert_eq!(make("7"), make("7"));
    assert_ne!(make("7"), make("8"));
}

#[test]
fn airsn_250_is_the_published_one() {
    let made = cairn(&["gen", "airsn", "250", "--to", "dagman"]);
    let json = cairn_with_input(&["info", "--json", "-"], made.stdout.as_bytes());
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["tasks"], 773);
    assert_eq!(json["sources"], 251);
    assert_eq!(json["sinks"], 1);
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish"] {
        let run = cairn(&["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("cairn"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let run = cairn(&["man", folder.path().to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let page = std::fs::read_to_string(folder.path().join("cairn-info.1")).unwrap();
    assert!(page.contains("FILE"), "{page}");
    assert!(folder.path().join("cairn.1").exists());
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "info",
        "check",
        "convert",
        "gen",
        "plan",
        "explain",
        "batch",
        "simulate",
        "study",
        "show",
        "completions",
        "man",
    ] {
        let run = cairn(&[command, "--help"]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("Example"), "{command}");
    }
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_rights() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.dag");
    std::fs::write(&out, "old").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let run = cairn(&["gen", "mesh", "3", "-o", out.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(std::fs::read_to_string(&out).unwrap().contains("JOB"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let rights = std::fs::metadata(&out).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o640);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn two_steps_that_conflict_are_shown_by_name() {
    let names = ["fork", "left", "right", "f1", "f2", "j1", "j2", "j3", "j4"];
    let mut dag: String = names.map(|name| format!("JOB {name} a.sub\n")).concat();
    dag += "PARENT fork CHILD f1 f2\nPARENT left right CHILD j1 j2 j3 j4\n";
    for command in ["explain", "plan"] {
        let text = cairn_with_input(&[command, "-", "-v"], dag.as_bytes()).stdout;
        let words = "the best sets of 1, such as {fork} (2 made eligible), \
             lie in no set of 2 as good as {left, right} (4)";
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{text}");
        let json = cairn_with_input(&[command, "-", "--json"], dag.as_bytes());
        let json: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(json["proof"]["by"], "merge", "{json}");
        let pair = serde_json::json!({
            "steps": [1, 2], "gains": [2, 4], "sets": [["fork"], ["left", "right"]],
        });
        assert_eq!(json["proof"]["pair"], pair);
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    const LINES: [&str; 16] = [
        "plan flow.dag --certificate flow.dag",
        "plan flow.dag --executed @list --certificate list",
        "plan flow.dag --times log.csv --certificate log.csv",
        "show flow.svg --format dagman -o flow.svg",
        "show flow.dag --executed @list.svg -o x.svg -o list.svg",
        "simulate flow.json --runs 1 -o flow.json",
        "simulate flow.dag --runs 1 --executed @list.json -o list.json",
        "simulate flow.dag --runs 1 --times log.json -o log.json",
        "simulate study.json --runs 1 --grid --gaps 1 --sizes 1 -o .",
        "study study.json --runs 1 --gaps 1 --sizes 1 -o .",
        "prio flow.dag --executed @list -o list",
        "prio flow.dag --times log.csv -o log.csv",
        "run flow.dag --run true --report flow.dag",
        "run flow.dag --run true --times log.csv --report log.csv",
        "submit workflow.dag --engine htcondor --run true --dry-run -o .",
        "submit workflow.yml --engine pegasus --run true --dry-run -o .",
    ];
    let dag = "JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\n";
    let json = r#"{"task": [{"name": "a"}, {"name": "b", "after": ["a"]}]}"#;
    let files = [
        ("flow.dag", dag),
        ("workflow.dag", dag),
        ("flow.svg", dag),
        ("flow.json", json),
        ("study.json", json),
        ("workflow.yml", "digraph { a -> b }"),
        ("list", "a\n"),
        ("list.json", "a\n"),
        ("list.svg", "a\n"),
        ("log.csv", "name,seconds\na,3\n"),
        ("log.json", "name,seconds\na,3\n"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    for line in LINES {
        let arguments: Vec<&str> = line.split(' ').collect();
        let run = cairn_at(folder.path(), 200, &arguments, b"");
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(
            run.stderr.contains("would be overwritten"),
            "{line}: {run:?}"
        );
        for (name, text) in files {
            let now = std::fs::read_to_string(folder.path().join(name)).expect("still there");
            assert_eq!(now, text, "{line}: {name}");
        }
    }
}
