//! `cairn convert` through the binary: nothing is lost without a word, and no input is written over.

mod common;

use common::{cairn, cairn_with_input};
use std::path::{Path, PathBuf};

const DAG: &str = "# mine\nJOB a my.sub\nVARS a x=\"1\"\nJOB b other.sub\nRETRY b 2 UNLESS-EXIT 3\n\
    SCRIPT POST b x.sh\nPARENT a CHILD b\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            std::fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

#[test]
fn the_same_format_keeps_the_text_byte_for_byte() {
    let folder = Folder::new(&[("a.dag", DAG)]);
    let run = cairn(&["convert", &folder.name("a.dag"), &folder.name("b.dag")]);
    assert_eq!((run.code, &run.stderr[..]), (0, ""), "{run:?}");
    assert_eq!(folder.text("b.dag"), DAG);
    let run = cairn(&["convert", &folder.name("a.dag"), "-", "--to", "dagman"]);
    assert_eq!((run.code, &run.stdout[..]), (0, DAG), "{run:?}");
    let run = cairn(&["convert", "examples/mosaic.dax", &folder.name("copy.dax")]);
    assert_eq!((run.code, &run.stderr[..]), (0, ""), "{run:?}");
    let original = common::root().join("examples/mosaic.dax");
    assert_eq!(
        folder.text("copy.dax"),
        std::fs::read_to_string(original).unwrap()
    );
}

#[test]
fn another_format_lists_what_is_lost() {
    let folder = Folder::new(&[("a.dag", DAG)]);
    let (input, out) = (folder.name("a.dag"), folder.name("a.json"));
    for (args, lost) in [
        (vec!["convert", &input, &out], true),
        (vec!["convert", &input, &out, "--rewrite"], true),
        (
            vec!["convert", &input, &input, "--rewrite", "--force"],
            true,
        ),
        (vec!["convert", &input, &input, "--force"], false),
    ] {
        std::fs::write(folder.path("a.dag"), DAG).unwrap();
        let run = cairn(&args);
        assert_eq!(run.code, 0, "{run:?}");
        for word in [
            "submit files of 2 tasks",
            "VARS (1 line)",
            "UNLESS-EXIT",
            "SCRIPT",
            "comments",
        ] {
            assert_eq!(run.stderr.contains(word), lost, "{word}: {}", run.stderr);
        }
    }
}

/// Asserts that `out` cannot be written from `input` without `--force`, and that the file stays as it was.
#[test]
fn losses_are_told_to_machines_too() {
    let folder = Folder::new(&[("a.dag", DAG)]);
    let told = |out: &str| {
        cairn(&[
            "convert",
            &folder.name("a.dag"),
            out,
            "--to",
            "csv",
            "--json",
        ])
    };
    let to_file = told(&folder.name("b.csv"));
    let to_screen = told("-");
    assert_eq!((to_file.code, to_screen.code), (0, 0));
    assert_eq!(
        (&to_file.stderr[..], &to_screen.stderr),
        ("", &to_file.stdout)
    );
    assert_eq!(to_screen.stdout, folder.text("b.csv"));
    let value: serde_json::Value = serde_json::from_str(&to_file.stdout).unwrap();
    assert_eq!(value["to"], "csv");
    assert_eq!((&value["tasks"], &value["arcs"]), (&2.into(), &1.into()));
    let losses = value["losses"].as_array().unwrap();
    let script = losses
        .iter()
        .find(|l| l["what"].as_str().unwrap().contains("SCRIPT"));
    assert_eq!(script.expect("SCRIPT is lost")["kind"], "left-out");
}

fn spared(folder: &Folder, input: &str, out: &str, file: &str) {
    let before = folder.text(file);
    for to in ["dagman", "json"] {
        let run = cairn(&["convert", input, out, "--to", to]);
        assert_eq!(run.code, 2, "{input} {out}: {run:?}");
        assert!(run.stderr.contains("--force"), "{run:?}");
        assert_eq!(folder.text(file), before, "{input} {out}");
    }
}

#[test]
fn the_input_is_never_written_over_unless_forced() {
    let folder = Folder::new(&[
        ("a.dag", DAG),
        ("top.dag", "INCLUDE part.dag\nJOB z z.sub\n"),
        ("part.dag", "JOB y y.sub\n"),
    ]);
    let input = folder.name("a.dag");
    spared(&folder, &input, &input, "a.dag");
    let roundabout = format!(
        "{}/./../{}/a.dag",
        folder.0.path().display(),
        folder.0.path().file_name().unwrap().to_str().unwrap()
    );
    spared(&folder, &input, &roundabout, "a.dag");
    spared(
        &folder,
        &folder.name("top.dag"),
        &folder.name("part.dag"),
        "part.dag",
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path("a.dag"), folder.path("link.dag")).unwrap();
        std::fs::hard_link(folder.path("a.dag"), folder.path("hard.dag")).unwrap();
        for other in ["link.dag", "hard.dag"] {
            spared(&folder, &input, &folder.name(other), "a.dag");
            spared(&folder, &folder.name(other), &input, "a.dag");
        }
    }
    let run = cairn(&["convert", &input, &input, "--to", "json", "--force"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(folder.text("a.dag").starts_with('{'));
}

#[test]
fn an_input_read_through_a_pipe_is_known_by_its_file() {
    let folder = Folder::new(&[("a.dag", DAG)]);
    let run = cairn_with_input(&["convert", "-", &folder.name("b.dag")], DAG.as_bytes());
    assert_eq!(
        (run.code, folder.text("b.dag")),
        (0, DAG.to_owned()),
        "{run:?}"
    );
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cairn"));
    let input = std::fs::File::open(folder.path("a.dag")).unwrap();
    let output = command
        .args(["convert", "-"])
        .arg(folder.path("a.dag"))
        .stdin(input)
        .output();
    if Path::new("/dev/stdin").exists() {
        assert_eq!(output.unwrap().status.code(), Some(2));
    }
}

#[test]
fn a_name_that_the_format_cannot_spell_is_refused_and_nothing_is_written() {
    let folder = Folder::new(&[("a.jsonl", "{\"name\":\"a\\u0000b\"}\n")]);
    for out in ["x.dot", "x.csv", "x.tsv"] {
        let run = cairn(&["convert", &folder.name("a.jsonl"), &folder.name(out)]);
        assert_eq!(run.code, 2, "{out}: {run:?}");
        assert!(run.stderr.contains("zero character"), "{out}: {run:?}");
        assert!(!folder.path(out).exists(), "{out}");
    }
    for out in ["x.dag", "x.json", "x.toml"] {
        let run = cairn(&["convert", &folder.name("a.jsonl"), &folder.name(out)]);
        assert_eq!(run.code, 0, "{out}: {run:?}");
        let check = cairn(&["check", &folder.name(out)]);
        assert_eq!(check.code, 0, "{out}: {check:?}");
    }
}

#[test]
fn durations_are_not_invented_and_cpus_not_dropped_unsaid() {
    let text = "{\"name\":\"a\",\"run\":\"x\",\"cpus\":4}\n{\"name\":\"b\",\"after\":[\"a\"],\"cpus\":2}\n";
    let folder = Folder::new(&[("f.jsonl", text)]);
    let (input, middle, back) = (
        folder.name("f.jsonl"),
        folder.name("m.json"),
        folder.name("back.jsonl"),
    );
    let run = cairn(&["convert", &input, &middle, "--to", "wfformat"]);
    assert_eq!((run.code, &run.stderr[..]), (0, ""), "{run:?}");
    assert_eq!(cairn(&["convert", &middle, &back]).code, 0);
    assert_eq!(folder.text("back.jsonl"), text);
    let run = cairn(&["convert", &input, &folder.name("m.dag")]);
    assert!(run.stderr.contains("cpus of 1 task, b"), "{run:?}");
    assert!(run.stderr.contains("names of submit files"), "{run:?}");
}

/// No command says anything good of a file without a task.
#[test]
fn a_file_without_a_task_is_refused_by_every_command() {
    let folder = Folder::new(&[
        ("blank.dag", "\n  \n"),
        ("comments.csv", "# nothing\n"),
        ("none.json", "{\"task\": []}"),
        ("none.dot", "digraph {}\n"),
    ]);
    for name in ["blank.dag", "comments.csv", "none.json", "none.dot"] {
        for command in ["plan", "info", "explain", "prio", "simulate"] {
            let run = cairn(&[command, &folder.name(name)]);
            assert_eq!(run.code, 2, "{command} {name}: {run:?}");
            assert!(!run.stdout.contains("optimal"), "{command} {name}: {run:?}");
        }
        let check = cairn(&["check", &folder.name(name)]);
        assert_eq!(check.code, 1, "{name}: {check:?}");
    }
}

/// Tasks of pegasus-mpi-cluster are planned, and their commands and priorities kept.
#[test]
fn a_dag_of_pegasus_mpi_cluster_is_read() {
    let text = "# PMC\nTASK A echo A\nTASK B -c 2 -p 5 -t 3 /bin/sh -c 'echo \\$X'\nEDGE A B\n";
    let folder = Folder::new(&[("pmc.dag", text)]);
    let out = folder.name("pmc.jsonl");
    let run = cairn(&["convert", &folder.name("pmc.dag"), &out]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        folder.text("pmc.jsonl"),
        "{\"name\":\"A\",\"run\":\"echo A\"}\n\
         {\"name\":\"B\",\"run\":\"/bin/sh -c 'echo $X'\",\"after\":[\"A\"],\"cpus\":2,\"retries\":2,\"priority\":5}\n"
    );
}

/// The text of a packed workflow.
fn unpacked(path: &Path, format: &str) -> String {
    let bytes = std::fs::read(path).unwrap();
    let head: &[u8] = match path.extension().unwrap() == "gz" {
        true => &[0x1f, 0x8b],
        false => &[0x28, 0xb5, 0x2f, 0xfd],
    };
    assert!(bytes.starts_with(head), "{}", path.display());
    cairn(&["convert", path.to_str().unwrap(), "-", "--to", format]).stdout
}

#[test]
fn an_output_file_is_packed_as_its_name_says() {
    let folder = Folder::new(&[("a.dag", DAG)]);
    let input = folder.name("a.dag");
    for name in ["b.dag.gz", "b.dag.zst"] {
        let run = cairn(&["convert", &input, &folder.name(name)]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(unpacked(&folder.path(name), "dagman"), DAG);
        let run = cairn(&["info", &folder.name(name), "--json"]);
        assert!(run.stdout.contains("\"format\":\"dagman\""), "{run:?}");
    }
    let run = cairn(&["convert", &input, &folder.name("b.jsonl.gz")]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(unpacked(&folder.path("b.jsonl.gz"), "jsonl").starts_with("{\"name\":\"a\""));
    let run = cairn(&["gen", "mesh", "3", "-o", &folder.name("m.dot.zst")]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(unpacked(&folder.path("m.dot.zst"), "dot").starts_with("digraph"));
    let certificate = folder.name("c.json.gz");
    let run = cairn(&["plan", &input, "--certificate", &certificate]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        std::fs::read(&certificate)
            .unwrap()
            .starts_with(&[0x1f, 0x8b])
    );
    assert_eq!(cairn(&["verify", &input, &certificate]).code, 0);
}

/// Condor's priority beside DAGMan's, and cores said twice: a flow has room for one of each.
#[test]
fn of_two_priorities_the_one_that_is_passed_over_is_listed() {
    let dax = "<adag><job id=\"a\" name=\"x\">\n<profile namespace=\"dagman\" key=\"PRIORITY\">7</profile>\n\
        <profile namespace=\"condor\" key=\"priority\">3</profile>\n\
        <profile namespace=\"condor\" key=\"request_cpus\">4</profile>\n\
        <profile namespace=\"pegasus\" key=\"cores\">2</profile></job>\n\
        <job id=\"b\" name=\"x\"><profile namespace=\"condor\" key=\"priority\" value=\"5\"/>\
        <profile namespace=\"dagman\" key=\"priority\">5</profile></job></adag>\n";
    let yaml = "pegasus: '5.0'\njobs:\n- id: a\n  name: x\n  profiles:\n    condor: {priority: 3, request_cpus: 4}\n    \
        dagman: {PRIORITY: 7}\n    pegasus: {cores: 2}\n- id: b\n  name: x\n  profiles: {condor: {priority: 5}}\n";
    let folder = Folder::new(&[("a.dax", dax), ("a.yml", yaml)]);
    for (file, lost) in [
        (
            "a.dax",
            [
                "<profile> condor.priority (1 field)",
                "<profile> condor.request_cpus (1 field)",
            ],
        ),
        (
            "a.yml",
            [
                "jobs.profiles.condor.priority (1 field), a",
                "jobs.profiles.condor.request_cpus (1 field), a",
            ],
        ),
    ] {
        let out = format!("{file}.jsonl");
        let run = cairn(&["convert", &folder.name(file), &folder.name(&out)]);
        assert_eq!(run.code, 0, "{run:?}");
        for what in lost {
            assert!(run.stderr.contains(what), "{file}: {what}: {run:?}");
        }
        let text = folder.text(&out);
        assert!(text.contains("\"cpus\":2,\"priority\":7"), "{text}");
        assert!(text.contains("\"priority\":5"), "{text}");
    }
}
