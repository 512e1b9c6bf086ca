//! People see labels, machines see ids, and either is understood: through the real binary.

mod common;

use common::cairn;
use serde_json::{Value, json};
use std::path::PathBuf;

const SNAKEMAKE: &str = r#"digraph snakemake_dag {
    node[shape=box, style=rounded];
	0[label = "all", color = "0.06 0.6 0.85", style="rounded"];
	1[label = "align\nsample: A", color = "0.1 0.6 0.85"];
	2[label = "align\nsample: B", color = "0.1 0.6 0.85"];
	3[label = "index", color = "0.1 0.6 0.85"];
	4[label = "index", color = "0.1 0.6 0.85"];
	1 -> 3
	2 -> 4
	3 -> 0
	4 -> 0
}
"#;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dag.dot"), SNAKEMAKE).unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn dot(&self) -> String {
        self.path("dag.dot").to_str().unwrap().to_owned()
    }
}

#[test]
fn the_plan_shows_labels_and_gives_ids_to_machines() {
    let place = Place::new();
    let run = cairn(&["plan", &place.dot()]);
    let order = run
        .stdout
        .lines()
        .find(|l| l.trim_start().starts_with("order"));
    let order = order.unwrap_or_else(|| panic!("{run:?}"));
    for shown in ["align sample: A", "index (3)", "index (4)", "all"] {
        assert!(order.contains(shown), "'{shown}' is not in: {order}");
    }
    let lines = cairn(&["plan", "--order", &place.dot()]).stdout;
    let mut ids: Vec<&str> = lines.lines().collect();
    ids.sort_unstable();
    assert_eq!(ids, ["0", "1", "2", "3", "4"]);
    let run = cairn(&["plan", "--json", &place.dot()]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let labels = json!({ "0": "all", "1": "align sample: A", "2": "align sample: B", "3": "index (3)", "4": "index (4)" });
    assert_eq!(value["labels"], labels);
    for args in [
        &["plan", "--json", "--no-arrays"][..],
        &["explain", "--json"],
    ] {
        let run = cairn(&[args, &[&place.dot()]].concat());
        let value: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(value["labels"], labels, "{args:?}");
    }
    assert_eq!(value["priority"]["0"], 1);
    let order: Vec<&str> = (value["order"].as_array().unwrap().iter())
        .map(|id| id.as_str().unwrap())
        .collect();
    assert_eq!(order, lines.lines().collect::<Vec<_>>());
}

#[test]
fn executed_tasks_are_named_by_id_or_by_label() {
    let place = Place::new();
    let dot = place.dot();
    for executed in ["1,3", "align sample: A,index (3)", "align sample: A,3"] {
        let run = cairn(&["batch", &dot, "--executed", executed, "-r", "1"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (0, "align sample: B\n"),
            "{run:?}"
        );
        let run = cairn(&["batch", &dot, "--executed", executed, "-r", "1", "--json"]);
        let value: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(value["chosen"], json!(["2"]));
        assert_eq!(value["labels"], json!({ "2": "align sample: B" }));
    }
    let run = cairn(&["batch", &dot, "--executed", "index", "-r", "1"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("2 tasks") && run.stderr.contains("index (3)"),
        "{run:?}"
    );
    let run = cairn(&["batch", &dot, "--executed", "3", "-r", "1"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("'index (3)'") && run.stderr.contains("'align sample: A'"),
        "{run:?}"
    );
}

#[test]
fn priorities_go_back_to_the_same_ids() {
    let place = Place::new();
    let out = place.path("out.dot");
    let run = cairn(&["prio", &place.dot(), "-o", out.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    let all = text
        .lines()
        .find(|l| l.trim_start().starts_with("0["))
        .unwrap();
    assert!(
        all.contains("label = \"all\"") && all.contains("priority=1"),
        "{text}"
    );
    for (before, after) in SNAKEMAKE.lines().zip(text.lines()) {
        let stays = before.trim_end_matches("];").trim_end_matches(']');
        assert!(after.starts_with(stays), "{before} became {after}");
    }
}

#[test]
fn pictures_explanations_cycles_and_conversions_have_labels() {
    let place = Place::new();
    let html = place.path("x.html");
    let run = cairn(&["show", &place.dot(), "-o", html.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        std::fs::read_to_string(&html)
            .unwrap()
            .contains("align sample: A")
    );
    let run = cairn(&["explain", &place.dot()]);
    assert!(run.stdout.contains("index (3)"), "{run:?}");
    let flow = place.path("flow.json");
    let run = cairn(&["convert", &place.dot(), flow.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        std::fs::read_to_string(&flow)
            .unwrap()
            .contains(r#""label":"align\nsample: A""#)
    );
    let cyclic = place.path("cyclic.dot");
    std::fs::write(&cyclic, SNAKEMAKE.replace("4 -> 0", "4 -> 0\n0 -> 4")).unwrap();
    let run = cairn(&["info", cyclic.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("index (4)") && run.stderr.contains("all (0)"),
        "{run:?}"
    );
}
