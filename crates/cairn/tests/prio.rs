//! `cairn prio` as people use it: the file itself, elsewhere, in several files, and what is refused.

mod common;

use common::{cairn, cairn_with_input};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|e| panic!("{e}: {output}"))
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

const DAG: &str = "# mine\r\nJOB a a.sub  \r\nJOB b b.sub\r\nJOB c c.sub\r\nPARENT a CHILD b c\r\n";

#[test]
fn priorities_are_those_of_the_plan_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["dagman", "wfformat", "dot", "toml", "json", "jsonl"] {
        for policy in ["ic", "lifo"] {
            let file = at(&folder, &format!("flow.{format}"));
            let made = cairn(&["gen", "layered", "4", "6", "2", "-o", &file, "--to", format]);
            assert_eq!(made.code, 0, "{made:?}");
            let before = text(&file);
            let plan = cairn(&[
                "plan", &file, "--json", "--format", format, "--policy", policy,
            ]);
            let plan = json(&plan.stdout);
            let args = [
                "prio",
                &file,
                "--in-place",
                "--json",
                "--format",
                format,
                "--policy",
                policy,
            ];
            let run = cairn(&args);
            assert_eq!(run.code, 0, "{run:?}");
            let answer = json(&run.stdout);
            assert_eq!(answer["files"][0]["changed"], true);
            assert_eq!(answer["tasks"], plan["tasks"]);
            assert_eq!(answer["verdict"], plan["verdict"]);
            assert_ne!(text(&file), before);
            let lines = at(&folder, "back.jsonl");
            let back = cairn(&["convert", &file, &lines, "--format", format]);
            assert_eq!(back.code, 0, "{back:?}");
            let mut seen = 0;
            for line in text(&lines).lines() {
                let task = json(line);
                let name = task["name"].as_str().unwrap();
                assert_eq!(task["priority"], plan["priority"][name], "{format} {name}");
                seen += 1;
            }
            assert_eq!(plan["tasks"], seen);
            let written = text(&file);
            let again = json(&cairn(&args).stdout);
            assert_eq!(again["files"][0]["changed"], false, "{format}");
            assert_eq!(text(&file), written);
        }
    }
}

#[test]
fn standard_output_standard_input_and_out_give_the_same_text() {
    let folder = folder(&[("x.dag", DAG)]);
    let file = at(&folder, "x.dag");
    let printed = cairn(&["prio", &file]);
    assert_eq!(printed.code, 0, "{printed:?}");
    let expected = "# mine\r\nJOB a a.sub  \r\nPRIORITY a 3\r\nJOB b b.sub\r\nPRIORITY b 2\r\nJOB c c.sub\r\nPRIORITY c 1\r\n\
        PARENT a CHILD b c\r\n";
    assert_eq!(printed.stdout, expected);
    assert!(
        printed.stderr.contains("the best there is (proved)"),
        "{}",
        printed.stderr
    );
    let piped = cairn_with_input(&["prio", "-"], DAG.as_bytes());
    assert_eq!(piped.stdout, expected, "{piped:?}");
    let out = at(&folder, "y.dag");
    let run = cairn(&["prio", &file, "-o", &out]);
    assert_eq!((run.code, text(&out)), (0, expected.to_owned()));
    assert!(
        run.stdout.contains("y.dag: written with priorities"),
        "{run:?}"
    );
    fs::create_dir(folder.path().join("sub")).unwrap();
    assert_eq!(cairn(&["prio", &file, "-o", &at(&folder, "sub")]).code, 0);
    assert_eq!(text(folder.path().join("sub/x.dag")), expected);
    assert_eq!(text(&file), DAG, "the file itself is untouched");
}

#[test]
fn in_place_keeps_rights_links_and_byte_order_mark_and_the_old_file_on_request() {
    let marked = format!("\u{feff}{DAG}");
    let folder = folder(&[("real/x.dag", &marked)]);
    let real = folder.path().join("real/x.dag");
    let link = at(&folder, "link.dag");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real/x.dag", &link).unwrap();
    }
    #[cfg(not(unix))]
    fs::copy(&real, &link).unwrap();
    let run = cairn(&["prio", &link, "--in-place", "--backup", ".orig"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(text(&link).starts_with("\u{feff}# mine\r\nJOB a a.sub  \r\nPRIORITY a 3\r\n"));
    assert_eq!(text(at(&folder, "link.dag.orig")), marked);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(text(&real), text(&link));
        for file in [&real, &folder.path().join("link.dag.orig")] {
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o640
            );
        }
        assert_eq!(names(&folder.path().join("real")), ["x.dag"]);
    }
    // Nothing changes, so the backup stays what it is; when something would, it is not overwritten.
    let args = ["prio", &link, "--in-place", "--backup", ".orig"];
    assert_eq!(cairn(&args).code, 0);
    let before = text(&link) + "JOB d d.sub\r\n";
    fs::write(&link, &before).unwrap();
    let other = cairn(&args);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(
        other.stderr.contains("exists and would be overwritten"),
        "{other:?}"
    );
    assert_eq!(
        (text(&link), text(at(&folder, "link.dag.orig"))),
        (before, marked)
    );
}

const SPLICED: [(&str, &str); 3] = [
    (
        "top.dag",
        "JOB a a.sub\nSPLICE S parts/s.dag\nINCLUDE i.dag\nPARENT a CHILD S\n",
    ),
    ("parts/s.dag", "JOB x x.sub # no comment\n"),
    ("i.dag", "# nothing but words\n"),
];

#[test]
fn a_workflow_of_several_files_is_edited_in_all_of_them() {
    let spliced = SPLICED.map(|(name, text)| (name, text.replace(" # no comment", "")));
    let files: Vec<(&str, &str)> = spliced.iter().map(|(n, t)| (*n, &t[..])).collect();
    let folder = folder(&files);
    let top = at(&folder, "top.dag");
    let printed = cairn(&["prio", &top]);
    assert_eq!(printed.code, 2);
    assert!(
        printed.stderr.contains("consists of 3 files"),
        "{printed:?}"
    );
    assert!(printed.stderr.contains("-o FOLDER"), "{printed:?}");
    let elsewhere = at(&folder, "out/deep");
    let run = cairn(&["prio", &top, "-o", &elsewhere, "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let changed = json(&run.stdout);
    let changed: Vec<&Value> = (0..3).map(|i| &changed["files"][i]["changed"]).collect();
    assert_eq!(changed, [true, false, true], "top, i, parts/s");
    let edited_top =
        "JOB a a.sub\nPRIORITY a 2\nSPLICE S parts/s.dag\nINCLUDE i.dag\nPARENT a CHILD S\n";
    let edited_part = "JOB x x.sub\nPRIORITY x 1\n";
    assert_eq!(text(at(&folder, "out/deep/top.dag")), edited_top);
    assert_eq!(text(at(&folder, "out/deep/parts/s.dag")), edited_part);
    assert_eq!(text(at(&folder, "out/deep/i.dag")), SPLICED[2].1);
    for (name, old) in &files {
        assert_eq!(text(at(&folder, name)), *old);
    }
    let run = cairn(&["prio", &top, "--in-place", "--backup", "~"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(text(&top), edited_top);
    assert_eq!(text(at(&folder, "parts/s.dag")), edited_part);
    assert_eq!(names(&folder.path().join("parts")), ["s.dag", "s.dag~"]);
    assert_eq!(
        names(folder.path()),
        ["i.dag", "out", "parts", "top.dag", "top.dag~"]
    );
}

#[test]
fn when_one_of_several_cannot_be_written_none_is() {
    let part = "JOB x x.sub\n";
    let folder = folder(&[
        ("top.dag", "JOB a a\nSPLICE S parts/s.dag\n"),
        ("parts/s.dag", part),
    ]);
    // A backup that is in the way stops the second file; the first must not have been touched.
    fs::write(folder.path().join("parts/s.dag.bak"), "mine").unwrap();
    let run = cairn(&[
        "prio",
        &at(&folder, "top.dag"),
        "--in-place",
        "--backup",
        ".bak",
    ]);
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(
        text(at(&folder, "top.dag")),
        "JOB a a\nSPLICE S parts/s.dag\n"
    );
    assert_eq!(text(at(&folder, "parts/s.dag")), part);
    assert_eq!(names(folder.path()), ["parts", "top.dag"]);
    // So does a packed file among plain ones.
    fs::remove_file(folder.path().join("parts/s.dag.bak")).unwrap();
    fs::write(folder.path().join("parts/s.dag"), packed(part)).unwrap();
    let run = cairn(&["prio", &at(&folder, "top.dag"), "--in-place"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("s.dag is compressed"), "{run:?}");
    assert_eq!(
        text(at(&folder, "top.dag")),
        "JOB a a\nSPLICE S parts/s.dag\n"
    );
}

fn packed(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn packed_files_give_plain_text_but_are_not_edited() {
    let folder = folder(&[]);
    let file = at(&folder, "flow.json.gz");
    let bytes = packed("[{\"name\": \"a\"}]");
    fs::write(&file, &bytes).unwrap();
    assert_eq!(
        cairn(&["prio", &file]).stdout,
        "[{\"name\": \"a\", \"priority\": 1}]"
    );
    let run = cairn(&["prio", &file, "--in-place"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is compressed"), "{run:?}");
    assert!(run.stderr.contains("help: unpack it first"), "{run:?}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
    // Elsewhere it is packed where its name says so.
    let (out, elsewhere) = (at(&folder, "out.json.gz"), at(&folder, "elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    for target in [&out, &elsewhere] {
        assert_eq!(cairn(&["prio", &file, "-o", target]).code, 0);
    }
    let copy = folder.path().join("elsewhere/flow.json.gz");
    for written in [Path::new(&out), &copy] {
        assert!(fs::read(written).unwrap().starts_with(&[0x1f, 0x8b]));
        let run = cairn(&["info", written.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[test]
fn keep_respects_what_is_there() {
    let flow = "digraph { a [priority=-7]; a -> b; a -> c }";
    let run = cairn_with_input(&["prio", "-", "--keep"], flow.as_bytes());
    assert_eq!(
        run.stdout,
        "digraph { a [priority=-7]; a -> b; a -> c; b [priority=2]; c [priority=1] }"
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_a_cure() {
    let folder = folder(&[
        ("x.dag", DAG),
        ("x.csv", "from,to\na,b\n"),
        ("bad.toml", "[[task]]\n"),
    ]);
    let file = at(&folder, "x.dag");
    for (args, said) in [
        (
            vec!["prio", "-", "--in-place"],
            "standard input cannot be edited",
        ),
        (vec!["prio", &file, "--json"], "-o OUT or --in-place"),
        (
            vec!["prio", &file, "--in-place", "-o", "y"],
            "cannot be used with",
        ),
        (vec!["prio", &file, "--backup", ".x"], "--in-place"),
        (
            vec!["prio", &file, "--in-place", "--backup", "a/b"],
            "no suffix",
        ),
        (
            vec!["prio", &at(&folder, "x.csv")],
            "dagman, wfformat, dax, pegasus-yaml, dot, toml, json, jsonl",
        ),
        (vec!["prio", &at(&folder, "bad.toml")], "no name"),
        (vec!["prio", &at(&folder, "none.dag")], "no such file"),
        (
            vec!["prio", &file, "-o", &at(&folder, "no/such/y")],
            "cannot write",
        ),
    ] {
        let run = cairn(&args);
        assert_eq!(run.code, 2, "{args:?} {run:?}");
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains(said), "{args:?}: {all}");
    }
    assert_eq!(names(folder.path()), ["bad.toml", "x.csv", "x.dag"]);
}

/// What is said of the order is said of the order that the engine makes of the numbers as they stand in the file.
#[test]
fn kept_priorities_that_break_the_order_are_not_called_optimal() {
    let dag =
        "JOB A a\nJOB B b\nJOB C c\nJOB X x\nPARENT A CHILD B C\nPRIORITY X 100\nPRIORITY A -5\n";
    let folder = folder(&[("x.dag", dag)]);
    let (file, out) = (at(&folder, "x.dag"), at(&folder, "y.dag"));
    let run = cairn(&["prio", &file, "--keep"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains("proved"), "{run:?}");
    assert!(run.stderr.contains("not the one planned"), "{run:?}");
    assert!(run.stderr.contains("leave out --keep"), "{run:?}");
    let run = cairn(&["prio", &file, "--keep", "-o", &out, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&value["verdict"], &value["as_planned"]),
        (&"suboptimal".into(), &false.into())
    );
    assert!(
        value["area"].as_u64() < value["area_planned"].as_u64(),
        "{run:?}"
    );
    // Numbers that do no harm are no reason to doubt.
    let harmless = dag.replace("A -5", "A 200");
    let run = cairn_with_input(&["prio", "-", "--keep"], harmless.as_bytes());
    assert!(
        run.stderr
            .contains("the order is the best there is (proved)"),
        "{run:?}"
    );
    let run = cairn(&["prio", &file, "--policy", "fifo"]);
    assert!(
        run.stderr
            .contains("the order is the best there is (proved)"),
        "{run:?}"
    );
}

/// Two splices of one file have one number for each of its nodes: here the second one goes before a better task.
#[test]
fn numbers_that_splices_share_are_judged_as_they_are() {
    let top = "SPLICE P s.dag\nSPLICE Q s.dag\nJOB Y y\nJOB Y1 y\nJOB Y2 y\nJOB Y3 y\nJOB Y4 y\nJOB Y5 y\n\
               PARENT P CHILD Q Y\nPARENT Y CHILD Y1 Y2 Y3 Y4 Y5\n";
    let part = "JOB a a\nJOB b b\nJOB c c\nJOB d d\nPARENT a CHILD b c d\n";
    let folder = folder(&[("top.dag", top), ("s.dag", part)]);
    let run = cairn(&["prio", &at(&folder, "top.dag"), "--in-place"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("several splices share this file"),
        "{run:?}"
    );
    assert!(run.stdout.contains("not the one planned"), "{run:?}");
    assert!(!run.stdout.contains("the best there is"), "{run:?}");
}

#[test]
fn hand_set_priorities_are_not_replaced_in_silence() {
    let dag = "JOB a a\nPRIORITY a 50\nJOB b b\nJOB c c\nPRIORITY c 1\nPARENT a CHILD b c\n";
    let run = cairn_with_input(&["prio", "-"], dag.as_bytes());
    assert!(
        run.stderr.contains("1 task had another priority"),
        "{run:?}"
    );
    assert!(run.stderr.contains("--keep"), "{run:?}");
    let again = cairn_with_input(&["prio", "-"], run.stdout.as_bytes());
    assert!(!again.stderr.contains("another priority"), "{again:?}");
    let kept = cairn_with_input(&["prio", "-", "--keep"], dag.as_bytes());
    assert!(!kept.stderr.contains("another priority"), "{kept:?}");
    let toml = "[[task]]\nname = 'a'\npriority = 7\n[[task]]\nname = 'b'\npriority = 8\n";
    let folder = folder(&[("f.toml", toml)]);
    let run = cairn(&["prio", &at(&folder, "f.toml"), "--in-place", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["replaced"], 2, "{run:?}");
}

#[test]
fn the_policy_that_wins_in_a_world_can_be_written() {
    let folder = folder(&[("x.dag", DAG)]);
    let (file, out) = (at(&folder, "x.dag"), at(&folder, "y.dag"));
    let auto = ["prio", &file, "--policy", "auto", "--runs", "5", "-o", &out];
    let run = cairn(&[&auto[..], &["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["auto"]["policy"], value["policy"], "{run:?}");
    assert_eq!(value["auto"]["runs"], 5, "{run:?}");
    assert!(text(&out).contains("PRIORITY"));
    let run = cairn(&auto);
    assert!(run.stderr.contains("5 runs"), "{run:?}");
    let run = cairn(&["prio", &file, "--policy", "ic", "--runs", "5"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("means nothing without --policy auto"),
        "{run:?}"
    );
}

#[test]
fn pegasus_workflows_get_their_dagman_profile() {
    let dax = "<adag>\n  <job id=\"a\" name=\"x\"/>\n  <job id=\"b\" name=\"y\">\n    <argument>-v</argument>\n  </job>\n  \
               <child ref=\"b\"><parent ref=\"a\"/></child>\n</adag>\n";
    let yaml = "jobs:\n- id: a\n  name: x\n- id: b\n  name: y\njobDependencies:\n- id: a\n  children: [b]\n";
    let folder = folder(&[("x.dax", dax), ("x.yml", yaml)]);
    for (name, priorities) in [
        (
            "x.dax",
            [
                "<profile namespace=\"dagman\" key=\"PRIORITY\">2</profile>",
                "key=\"PRIORITY\">1<",
            ],
        ),
        (
            "x.yml",
            [
                "profiles:\n    dagman:\n      PRIORITY: 2\n",
                "PRIORITY: 1\n",
            ],
        ),
    ] {
        let file = at(&folder, name);
        let run = cairn(&["prio", &file, "--in-place"]);
        assert_eq!(run.code, 0, "{run:?}");
        let new = text(&file);
        for priority in priorities {
            assert!(new.contains(priority), "{new}");
        }
        let run = cairn(&["prio", &file, "--in-place"]);
        assert!(
            run.stdout.contains("has these priorities already"),
            "{run:?}"
        );
        assert_eq!(text(&file), new);
    }
}
