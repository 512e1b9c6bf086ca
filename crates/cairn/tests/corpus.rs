//! `cairn info` against the manifest of the corpus, which an independent reader made.

mod common;

use common::cairn;
use serde_json::Value;

#[test]
fn info_equals_the_manifest_on_every_entry() {
    let Some(corpus) = cairn_oracle::corpus("info_equals_the_manifest_on_every_entry") else {
        return;
    };
    let mut manifest = csv::Reader::from_path(corpus.join("manifest.csv")).unwrap();
    let columns = manifest.headers().unwrap().clone();
    let mut wrong = Vec::new();
    let mut entries = 0;
    for row in manifest.records() {
        let row = row.unwrap();
        let field = |name: &str| {
            let at = columns.iter().position(|c| c == name).unwrap();
            row.get(at).unwrap()
        };
        let file = field("file");
        let path = corpus.join(file);
        entries += 1;
        let run = cairn(&["info", "--json", path.to_str().unwrap()]);
        if field("cyclic") == "True" {
            assert_eq!(run.code, 2, "{file}");
            assert!(run.stdout.contains("cycle"), "{file}: {}", run.stdout);
            let parsed: Value = serde_json::from_str(&run.stdout).unwrap();
            let message = parsed["problems"][0]["message"].as_str().unwrap();
            assert!(
                message.contains("->"),
                "the cycle itself is named: {message}"
            );
            continue;
        }
        if run.code != 0 {
            wrong.push(format!("{file}: exit {} {}", run.code, run.stdout));
            continue;
        }
        let info: Value = serde_json::from_str(&run.stdout).unwrap();
        let mut compare = |ours: &str, theirs: &str| {
            let expected = match field(theirs) {
                "True" => "true",
                "False" => "false",
                other => other,
            };
            let found = info[ours].to_string();
            if found != expected {
                wrong.push(format!(
                    "{file}: {ours} is {found}, the manifest says {expected}"
                ));
            }
        };
        for column in [
            "tasks",
            "edges",
            "sources",
            "sinks",
            "depth",
            "max_width_by_level",
            "shortcut_arcs",
            "weakly_connected_components",
            "isolated",
            "composite",
        ] {
            compare(column, column);
        }
        if field("composite") == "True" {
            compare("blocks", "blocks");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(entries, 44, "the manifest's entries");
}
