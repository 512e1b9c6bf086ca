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
        files[0].contains("--time=4:30"),
        "three attempts: {}",
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
