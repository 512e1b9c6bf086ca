//! What `cairn submit` writes and refuses, without any engine; with real ones see `engines/run`.

mod common;

use common::{Run, cairn_at};
use serde_json::Value;
use std::path::Path;

const FLOW: &str = r#"
[[task]]
name = "plain"
run = "true"
[[task]]
name = "greedy"
run = "sleep 100"
after = ["plain"]
cpus = 4
memory = "3GB"
time_limit = "90s"
retries = 2
"#;

fn submit(folder: &Path, engine: &str, more: &[&str]) -> Run {
    let args = [&["submit", "flow.toml", "--engine", engine], more].concat();
    std::fs::write(folder.join("flow.toml"), FLOW).unwrap();
    cairn_at(folder, 400, &args, b"")
}

/// The files of a dry run, and what it said.
fn written(engine: &str, files: &[&str], more: &[&str]) -> (Vec<String>, Run) {
    let folder = tempfile::tempdir().unwrap();
    let run = submit(
        folder.path(),
        engine,
        &[&["--dry-run", "-o", "out"], more].concat(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    let read = |file: &&str| std::fs::read_to_string(folder.path().join("out").join(file)).unwrap();
    (files.iter().map(read).collect(), run)
}

#[test]
fn options_that_would_hide_jobs_are_refused_before_anything_is_done() {
    for (option, words) in [
        (
            "--comment=proj42",
            "the comment is the key by which a job is found again",
        ),
        ("-Mnorth", "a job elsewhere would be taken for lost"),
        ("--array=1-5", "as an array is decided here"),
        ("-dsingleton", "comes from the workflow"),
        ("short", "this is no option"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = submit(folder.path(), "slurm", &[&format!("--sbatch={option}")]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr.contains(&format!("--sbatch={option}: ")),
            "{run:?}"
        );
        assert!(
            run.stderr.contains(words) && run.stderr.contains("help: "),
            "{run:?}"
        );
        assert!(!folder.path().join(".cairn").exists());
    }
}

#[test]
fn a_crew_takes_no_cap() {
    let folder = tempfile::tempdir().unwrap();
    let run = submit(folder.path(), "slurm", &["--crew", "2", "--disk", "5GB"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("--disk is not handed on to it"),
        "{run:?}"
    );
}

#[test]
fn a_crew_is_told_what_it_is_given() {
    let given = [
        "--crew",
        "2",
        "--times",
        "a log.csv",
        "--slots",
        "7",
        "--no-rescue",
        "--no-learnt-times",
    ];
    let folder = tempfile::tempdir().unwrap();
    let log = "name,seconds\nplain,3\n";
    std::fs::write(folder.path().join("a log.csv"), log).unwrap();
    let dry = [&given[..], &["--dry-run", "-o", "out"]].concat();
    let run = submit(folder.path(), "slurm", &dry);
    assert_eq!(run.code, 0, "{run:?}");
    let script = std::fs::read_to_string(folder.path().join("out/crew.sh")).unwrap();
    let line = script.lines().find(|l| l.contains(" serve ")).unwrap();
    let home = folder.path().canonicalize().unwrap();
    for words in [
        format!("--times '{}/a log.csv'", home.display()),
        "--slots 7".to_owned(),
        "--no-rescue".to_owned(),
        "--no-learnt-times".to_owned(),
        "--policy auto".to_owned(),
    ] {
        assert!(line.contains(&words), "{words}: {line}");
    }
    let run = cairn_at(
        folder.path(),
        400,
        &[
            "submit", "-", "--engine", "slurm", "--crew", "2", "--state", "s",
        ],
        FLOW.as_bytes(),
    );
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("standard input is gone"), "{run:?}");
    for option in ["--array=1-5", "-Mnorth"] {
        let more = ["--crew", "2", &format!("--sbatch={option}")];
        let run = submit(folder.path(), "slurm", &more);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr.contains(&format!("--sbatch={option}: ")),
            "{run:?}"
        );
    }
}

#[test]
fn nice_is_in_the_script_for_slurm() {
    let (files, _) = written("slurm", &["submit.sh"], &["--nice"]);
    assert!(files[0].contains(" --nice=0 "), "{}", files[0]);
    assert!(files[0].contains(" --nice=3 "), "{}", files[0]);
    let (files, _) = written("slurm", &["submit.sh"], &[]);
    assert!(!files[0].contains("--nice"), "{}", files[0]);
}

#[test]
fn what_a_workflow_is_called_is_no_part_of_the_programs() {
    for (engine, file) in [
        ("hyperqueue", "submit.py"),
        ("dask", "workflow.py"),
        ("airflow", "workflow.py"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let odd = "@TASKS@ @NAME@.toml";
        std::fs::write(folder.path().join(odd), FLOW).unwrap();
        let args = ["submit", odd, "--engine", engine, "--dry-run", "-o", "out"];
        let run = cairn_at(folder.path(), 400, &args, b"");
        assert_eq!(run.code, 0, "{run:?}");
        let text = std::fs::read_to_string(folder.path().join("out").join(file)).unwrap();
        let scripts = text.matches("sleep 100").count();
        assert_eq!(scripts, 1, "{engine}: {text}");
        assert!(text.contains("@TASKS@ @NAME@"), "{engine}: {text}");
    }
}

#[test]
fn folders_that_htcondor_would_read_are_refused() {
    for odd in ["a\nqueue", "a$(cluster)", "$ENV(HOME)"] {
        let folder = tempfile::tempdir().unwrap();
        let run = submit(folder.path(), "htcondor", &["--dry-run", "-o", odd]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("submit files do not take"), "{run:?}");
        assert!(run.stderr.contains("help: "), "{run:?}");
        assert!(!folder.path().join(odd).exists());
    }
}

#[test]
fn all_that_tasks_ask_for_is_told_or_counted() {
    let flow = r#"
[pools]
licence = 2
[[task]]
name = "a"
run = "true"
cpus = 2
memory = "1GB"
pools = { licence = 1 }
tags = ["gpu"]
scratch = "2GB"
[[task]]
name = "b"
run = "true"
pools = { licence = 2 }
tags = ["a b"]
"#;
    let both = |what: &str, many: u32| (what.to_owned(), Value::from(many));
    for (engine, not_told) in [
        (
            "slurm",
            vec![both("pools", 2), both("scratch", 1), both("tags", 1)],
        ),
        (
            "htcondor",
            vec![both("pools", 1), both("scratch", 1), both("tags", 2)],
        ),
        (
            "pegasus",
            vec![both("pools", 2), both("scratch", 1), both("tags", 2)],
        ),
        (
            "hyperqueue",
            vec![
                both("memory", 1),
                both("pools", 2),
                both("scratch", 1),
                both("tags", 2),
            ],
        ),
        (
            "dask",
            vec![
                both("cpus", 1),
                both("memory", 1),
                both("pools", 2),
                both("scratch", 1),
                both("tags", 2),
            ],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flow.toml"), flow).unwrap();
        let dry = [
            "submit",
            "flow.toml",
            "--engine",
            engine,
            "--dry-run",
            "-o",
            "out",
        ];
        let run = cairn_at(folder.path(), 400, &[&dry[..], &["--json"]].concat(), b"");
        let value: Value = serde_json::from_str(&run.stdout).unwrap();
        let mut told: Vec<_> = value["not_told"]
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .collect();
        told.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(told, not_told, "{engine}");
        let run = cairn_at(folder.path(), 400, &dry, b"");
        for (what, many) in not_told {
            let words = format!("`{what}` of {many} task");
            assert!(
                run.stderr.replace('\n', " ").contains(&words),
                "{engine}: {run:?}"
            );
        }
        if engine == "slurm" {
            let script = std::fs::read_to_string(folder.path().join("out/submit.sh")).unwrap();
            assert_eq!(script.matches(" --constraint=gpu ").count(), 1, "{script}");
        }
        if engine == "htcondor" {
            let dag = std::fs::read_to_string(folder.path().join("out/workflow.dag")).unwrap();
            assert!(
                dag.contains("-a licence\n") && dag.contains("\nMAXJOBS licence 2\n"),
                "{dag}"
            );
            assert!(!dag.contains("-b licence"), "{dag}");
        }
    }
}

#[test]
fn warnings_about_commands_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let dag = "JOB a a.sub\nJOB b a.sub\nPARENT a CHILD b\n";
    std::fs::write(folder.path().join("flow.dag"), dag).unwrap();
    let sub = "executable = /bin/echo\narguments = $(nobody)\nqueue\n";
    std::fs::write(folder.path().join("a.sub"), sub).unwrap();
    let args = [
        "submit",
        "flow.dag",
        "--engine",
        "dask",
        "--dry-run",
        "-o",
        "out",
    ];
    let run = cairn_at(folder.path(), 400, &args, b"");
    assert_eq!(run.code, 0, "{run:?}");
    let said = run.stderr.matches("nothing defines the macro $(nobody)");
    assert_eq!(said.count(), 1, "{run:?}");
}

#[test]
fn the_script_for_slurm_has_the_options_before_ours() {
    let (files, _) = written("slurm", &["submit.sh"], &["--sbatch=--partition=a b"]);
    assert!(
        files[0].contains("set -- '--partition=a b' \"$@\"\n"),
        "{}",
        files[0]
    );
    let calls = files[0].lines().filter(|l| l.contains("=$(sbatch "));
    let ours = |line: &str| line.find("\"$@\"") < line.find("--output") && line.contains("\"$@\"");
    assert!(
        calls.clone().count() == 3 && calls.clone().all(ours),
        "{}",
        files[0]
    );
    assert!(
        files[0].contains("--time=6:45"),
        "three attempts, five seconds each to kill them, and two minutes: {}",
        files[0]
    );
}

#[test]
fn one_failed_task_does_not_end_a_job_of_hyperqueue() {
    let (files, _) = written("hyperqueue", &["job.toml"], &[]);
    assert!(!files[0].contains("max_fails"), "{}", files[0]);
}

#[test]
fn only_tasks_that_say_what_memory_they_need_ask_htcondor_for_it() {
    let names = ["workflow.dag", "task.sub", "task-memory.sub"];
    let (files, _) = written("htcondor", &names, &[]);
    assert!(
        files[0].contains("JOB t0-plain task.sub\nVARS t0-plain script=\"0\" cpus=\"1\"\n"),
        "{}",
        files[0]
    );
    let greedy =
        "JOB t1-greedy task-memory.sub\nVARS t1-greedy script=\"1\" cpus=\"4\" memory=\"2862\"\n";
    assert!(files[0].contains(greedy), "{}", files[0]);
    assert!(!files[1].contains("memory"), "{}", files[1]);
    assert!(
        files[2].contains("\nrequest_memory = $(memory)\noutput = "),
        "{}",
        files[2]
    );
}

#[test]
fn what_an_engine_is_not_told_is_counted_and_limits_are_in_the_scripts() {
    for (engine, file, said, not_told) in [
        (
            "dask",
            "workflow.py",
            "dask is not told `cpus` of 1 task and `memory` of 1 task",
            2,
        ),
        (
            "airflow",
            "workflow.py",
            "airflow is not told `cpus` of 1 task and `memory` of 1 task",
            2,
        ),
        (
            "hyperqueue",
            "submit.py",
            "hyperqueue is not told `memory` of 1 task:",
            1,
        ),
        ("htcondor", "tasks/1.sh", "", 0),
        ("pegasus", "tasks/1.sh", "", 0),
        ("slurm", "tasks/1.sh", "", 0),
    ] {
        let (files, run) = written(engine, &[file], &[]);
        assert_eq!(run.stderr.contains("is not told"), not_told > 0, "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
        assert!(
            files[0].contains("timeout -k 5 90"),
            "{engine}: {}",
            files[0]
        );
        let (_, run) = written(engine, &[], &["--json"]);
        let value: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            value["not_told"].as_object().unwrap().len(),
            not_told,
            "{value}"
        );
    }
}

/// What is wrong whatever the order is told before one is looked for, and before a folder is made.
#[test]
fn what_no_order_mends_is_told_before_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let said = submit(folder.path(), "slurm", &["--cancel", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let value: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(value, serde_json::json!({ "cancelled": 0 }));
    let mut refused = vec![];
    // Here is no Slurm, or nobody answers.
    let slurm = submit(folder.path(), "slurm", &[]);
    if slurm.code == 2 {
        refused.push(slurm);
    }
    std::fs::write(at("workflow.yml"), FLOW).unwrap();
    let args = "submit workflow.yml --format toml --engine pegasus --dry-run -o .";
    let args: Vec<&str> = args.split(' ').collect();
    let over = cairn_at(folder.path(), 400, &args, b"");
    assert!(over.stderr.contains("would be overwritten"), "{over:?}");
    refused.push(over);
    for run in refused {
        assert_eq!(run.code, 2, "{run:?}");
        assert!(!run.stderr.contains("order:"), "{run:?}");
    }
    assert!(!at(".cairn").exists(), "nothing is written");
}
