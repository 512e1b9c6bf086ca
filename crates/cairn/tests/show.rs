//! `cairn show` as people use it.

mod common;

use common::{cairn, cairn_with_input};
use std::path::Path;

fn made(folder: &Path, args: &[&str]) -> String {
    let path = folder.join(format!("{}.dag", args.join("-")));
    let path = path.to_str().unwrap().to_owned();
    let mut all = vec!["gen"];
    all.extend(args);
    all.extend(["-o", &path]);
    let run = cairn(&all);
    assert_eq!(run.code, 0, "{run:?}");
    path
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_figure_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    for family in [
        &["airsn", "12"][..],
        &["mesh", "5"],
        &["random", "40", "0.1"],
    ] {
        let file = made(folder.path(), family);
        for (what, words) in [
            ("curves", "tasks executed"),
            ("dag", "arcs"),
            ("blocks", "arcs"),
            ("tradeoff", "peak memory (open results)"),
        ] {
            let [svg, png, html] =
                ["svg", "png", "html"].map(|e| folder.path().join(format!("x.{e}")));
            let mut args = vec!["show", &file, "--what", what];
            for path in [&svg, &png, &html] {
                args.extend(["-o", path.to_str().unwrap()]);
            }
            let run = cairn(&args);
            assert_eq!(run.code, 0, "{args:?}: {run:?}");
            let drawn = read(&svg);
            assert!(drawn.starts_with("<svg"), "{args:?}");
            assert!(drawn.contains(words), "{args:?}");
            assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
            assert!(read(&html).contains(words), "{args:?}");
        }
    }
}

#[test]
fn a_page_holds_all_figures_and_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = made(folder.path(), &["airsn", "12"]);
    let out = folder.path().join("page.html");
    let run = cairn(&["show", &file, "-o", out.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["wrote"][0], out.to_str().unwrap());
    let page = read(&out);
    assert_eq!(page.matches("<figure>").count(), 3);
    for words in [
        "the best there is: no order has more tasks ready at any step (proved)",
        "critical-path",
        "tasks ready",
        "of the limit",
        "peak memory",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // The table speaks as `plan` does.
    let (_, table) = page.split_once("<table").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    assert!(
        !table.contains("area") && !table.contains("bound"),
        "{table}"
    );
}

/// On an optimal plan every step is marked; fifo on AIRSN meets the bound at fewer.
#[test]
fn marked_steps_are_those_at_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let file = made(folder.path(), &["airsn", "12"]);
    let out = folder.path().join("x.svg");
    let draw = |policies: &str| {
        let run = cairn(&[
            "show",
            &file,
            "-o",
            out.to_str().unwrap(),
            "--policies",
            policies,
        ]);
        assert_eq!(run.code, 0, "{run:?}");
        read(&out)
    };
    assert!(draw("ic,fifo").contains("ic proved optimal: 60 of 60 steps"));
    assert!(!draw("fifo,ic").contains("fifo proved optimal: 60 of 60 steps"));
}

#[test]
fn bad_usage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = made(folder.path(), &["mesh", "4"]);
    for (args, words) in [
        (vec!["show", &file], "--out"),
        (vec!["show", &file, "-o", "x.pdf"], ".svg, .png, .html"),
        (
            vec!["show", &file, "-o", "x.svg", "--what", "all"],
            "hold one figure",
        ),
        (
            vec!["show", &file, "-o", "x.svg", "--policies", "best"],
            "best",
        ),
        (
            vec!["show", &file, "-o", "/nonexistent/x.svg"],
            "cannot write",
        ),
        (
            vec!["show", "/nonexistent.dag", "-o", "x.svg"],
            "nonexistent",
        ),
    ] {
        let run = cairn(&args);
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.stderr.contains(words), "{args:?}: {run:?}");
    }
}

/// Names that would break out of markup are only text.
#[test]
fn hostile_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.html");
    let flow = r#"{"task":[{"name":"<script>alert(1)</script>"},{"name":"b\"&'","after":["<script>alert(1)</script>"]}]}"#;
    let run = cairn_with_input(
        &["show", "-", "--format", "json", "-o", out.to_str().unwrap()],
        flow.as_bytes(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!read(&out).contains("<script>alert"));
}
