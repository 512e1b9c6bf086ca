//! `cairn simulate`, `cairn study` and `cairn plan --policy auto` as people use them.

mod common;

use common::{Run, cairn, cairn_with_input};
use serde_json::Value;
use std::path::Path;

/// AIRSN of a width, as a file in a folder.
fn airsn(folder: &Path, width: &str) -> String {
    let path = folder.join(format!("airsn-{width}.dag"));
    let path = path.to_str().unwrap().to_owned();
    let made = cairn(&["gen", "airsn", width, "-o", &path]);
    assert_eq!(made.code, 0, "{made:?}");
    path
}

fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Bad usage: exit code 2, and the message says what is wrong.
fn refused(args: &[&str], words: &str) {
    let run = cairn(args);
    assert_eq!(run.code, 2, "{args:?}: {run:?}");
    assert!(run.stderr.contains(words), "{args:?}: {run:?}");
    assert!(run.stdout.is_empty(), "{run:?}");
}

/// The published headline, through the planner and the command line: at least 13 % faster with 95 % confidence.
#[test]
fn the_plan_of_airsn_250_beats_fifo_by_thirteen_percent() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "250");
    let run = cairn(&[
        "simulate",
        &file,
        "--world",
        "batches",
        "--gap",
        "0.3",
        "--size",
        "4",
        "--policies",
        "ic,fifo",
        "--runs",
        "200",
        "--seed",
        "2006",
        "--json",
    ]);
    let value = json(&run);
    assert_eq!(value["runs"], 200);
    let ratio = &value["ratios"]["ic/fifo"]["makespan"];
    let [mean, lo, hi] = ["mean", "lo", "hi"].map(|end| ratio[end].as_f64().unwrap());
    assert!(lo <= mean && mean <= hi && hi <= 0.87, "{ratio}");
    let time = |policy: &str| {
        value["policies"][policy]["makespan"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!((time("ic") / time("fifo") - mean).abs() < 1e-9);
    for measure in [
        "makespan",
        "stall",
        "utilisation",
        "idle",
        "peak_open",
        "wasted",
    ] {
        for end in ["mean", "lo", "hi"] {
            let number = &value["policies"]["ic"][measure][end];
            assert!(number.is_f64(), "{measure} {end}: {number}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_numbers_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "20");
    let run = |seed: &str, threads: &str| {
        let args = [
            "simulate",
            &file,
            "--runs",
            "30",
            "--seed",
            seed,
            "--threads",
            threads,
            "--json",
        ];
        cairn(&args).stdout
    };
    assert_eq!(run("5", "1"), run("5", "3"));
    assert_ne!(run("5", "1"), run("6", "1"));
}

#[test]
fn every_world_and_every_policy_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "12");
    let trace = folder.path().join("machines.csv");
    std::fs::write(&trace, "worker,start,end\na,0,30\nb,5,40\nc,10,20\n").unwrap();
    let trace = trace.to_str().unwrap();
    let worlds: [&[&str]; 7] = [
        &[],
        &["--world", "batches", "--gap", "0.5", "--size", "3"],
        &["--world", "pool", "--workers", "5"],
        &[
            "--world",
            "pool",
            "--up",
            "weibull:0.7:10",
            "--down",
            "2",
            "--speed",
            "lognormal:1:0.4",
            "--tail",
            "4",
        ],
        &[
            "--world", "pool", "--join", "5", "--stay", "30", "--lease", "4",
        ],
        &["--world", "throttled", "--workers", "4", "--submitted", "8"],
        &["--world", "trace", "--trace", trace, "--repeat"],
    ];
    let policies = "ic,fifo,lifo,critical-path,outdegree,memory,random,heft,peft";
    for world in worlds {
        for durations in ["unit", "study", "exp:2"] {
            let mut args = vec![
                "simulate",
                &file,
                "--json",
                "--runs",
                "5",
                "--policies",
                policies,
            ];
            args.extend(["--durations", durations]);
            args.extend(world);
            let value = json(&cairn(&args));
            assert_eq!(value["policies"].as_object().unwrap().len(), 9, "{args:?}");
            assert_eq!(value["ratios"].as_object().unwrap().len(), 8, "{args:?}");
            for policy in policies.split(',') {
                let time = value["policies"][policy]["makespan"]["mean"]
                    .as_f64()
                    .unwrap();
                assert!(time > 0.0, "{args:?} {policy}");
            }
        }
    }
}

/// Two tasks of 3 and 4 seconds in a row, with one worker: no chance at all.
#[test]
fn durations_sizes_and_cores_come_from_the_file() {
    let flow = r#"
        [[task]]
        name = "make"
        seconds = 3
        cpus = 2
        outputs = [{ path = "big", bytes = 1000 }]
        [[task]]
        name = "read"
        after = ["make"]
        seconds = 4
        inputs = ["big"]
    "#;
    let time = |extra: &[&str]| {
        let mut args = vec![
            "simulate", "-", "--format", "toml", "--json", "--world", "pool",
        ];
        args.extend(["--workers", "1", "--policies", "ic,fifo", "--runs", "2"]);
        args.extend(extra);
        cairn_with_input(&args, flow.as_bytes())
    };
    let mean = |extra: &[&str]| json(&time(extra))["policies"]["ic"]["makespan"]["mean"].clone();
    assert_eq!(mean(&[]), 7.0);
    assert_eq!(mean(&["--speed", "2"]), 3.5);
    assert_eq!(mean(&["--durations", "unit"]), 2.0);
    // The worker made the file itself, so it need not travel.
    assert_eq!(mean(&["--bandwidth", "100"]), 7.0);
    assert_eq!(mean(&["--cores", "2"]), 7.0);
    let small = time(&["--cores", "1"]);
    assert_eq!(small.code, 2, "{small:?}");
    assert!(
        small.stdout.contains("task 'make' needs 2 cores"),
        "{small:?}"
    );
}

#[test]
fn precision_stops_early_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "12");
    let value = json(&cairn(&[
        "simulate",
        &file,
        "--runs",
        "2000",
        "--precision",
        "0.2",
        "--json",
    ]));
    assert_eq!(value["stopped_early"], true);
    assert_eq!(value["runs"], 50);
}

#[test]
fn results_are_written_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "12");
    let out = ["r.svg", "r.png", "r.html", "r.json"].map(|name| folder.path().join(name));
    let mut args = vec!["simulate", &file, "--runs", "20"];
    for path in &out {
        args.extend(["-o", path.to_str().unwrap()]);
    }
    let run = cairn(&args);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("auto/fifo"), "{run:?}");
    assert!(text(&out[0]).starts_with("<svg"));
    assert!(std::fs::read(&out[1]).unwrap().starts_with(b"\x89PNG"));
    assert!(text(&out[2]).contains("ratio of mean times"));
    let value: Value = serde_json::from_str(&text(&out[3])).unwrap();
    assert_eq!(value["runs"], 20);
}

#[test]
fn bad_settings_are_refused_with_a_cure() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "5");
    let empty = folder.path().join("empty.csv");
    std::fs::write(&empty, "worker,start,end\n").unwrap();
    let empty = empty.to_str().unwrap();
    let simulate = |extra: &[&'static str], words: &str| {
        let mut args = vec!["simulate", &file];
        args.extend(extra);
        refused(&args, words);
    };
    simulate(&["--runs", "0"], "zero runs");
    simulate(&["--runs", "-3"], "--runs");
    simulate(&["--gap", "-1"], "the mean gap between batches is -1");
    simulate(&["--size", "0"], "the mean size of a batch is 0");
    simulate(&["--gap", "nan"], "NaN");
    simulate(&["--policies", "ic,best"], "best");
    simulate(&["--policies", "ic,ic"], "given twice");
    simulate(&["--world", "moon"], "moon");
    simulate(
        &["--world", "pool", "--workers", "0"],
        "the number of workers is 0",
    );
    simulate(
        &["--world", "pool", "--up", "-5", "--down", "1"],
        "workers are up is -5",
    );
    simulate(
        &["--world", "pool", "--up", "5"],
        "--up and --down belong together",
    );
    simulate(
        &["--world", "pool", "--up", "gauss:1"],
        "weibull:SHAPE:SCALE",
    );
    simulate(&["--world", "pool", "--stay", "5"], "none join");
    simulate(
        &["--world", "pool", "--bandwidth", "5"],
        "no sizes of files",
    );
    simulate(
        &["--world", "pool", "--gap", "5"],
        "--gap means nothing in the world 'pool'",
    );
    simulate(&["--world", "throttled", "--submitted", "0"], "submitted");
    simulate(&["--world", "trace"], "needs a trace");
    simulate(
        &["--world", "trace", "--trace", "/nonexistent.csv"],
        "cannot read the trace",
    );
    simulate(&["--durations", "file"], "the input gives no durations");
    simulate(&["--durations", "soon"], "unit");
    simulate(&["--precision", "0"], "--precision 0");
    simulate(&["-o", "out.pdf"], ".svg, .png, .html, .json");
    simulate(&["--threads", "0"], "--threads 0");
    refused(
        &["simulate", &file, "--world", "trace", "--trace", empty],
        "the trace is empty",
    );
    refused(&["simulate", "/nonexistent.dag"], "nonexistent");
    refused(
        &["plan", &file, "--gap", "2"],
        "--gap means nothing without --policy auto",
    );
    refused(
        &["plan", &file, "--policy", "auto", "--runs", "0"],
        "zero runs",
    );
    let out = folder.path().join("study");
    let out = out.to_str().unwrap();
    refused(&["study", "-o", out, "--runs", "0"], "zero runs");
    refused(
        &["study", "-o", out, "--gaps", "1,-2"],
        "the mean gap between batches is -2",
    );
    refused(&["study", "/nonexistent.dag", "-o", out], "nonexistent");
}

/// Where the order matters, auto names the winner; where it cannot matter, it says tie and takes ic.
#[test]
fn plan_auto_names_the_winner_or_a_tie() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "60");
    let plan = |extra: &[&str]| {
        let mut args = vec![
            "plan",
            &file,
            "--policy",
            "auto",
            "--no-arrays",
            "--runs",
            "60",
        ];
        args.extend(extra);
        cairn(&args)
    };
    let tie = json(&plan(&[
        "--json",
        "--world",
        "pool",
        "--workers",
        "1",
        "--world-durations",
        "unit",
    ]));
    assert_eq!(tie["policy"], "path+");
    assert_eq!(tie["auto"]["tie"], true);
    let rival = tie["auto"]["rival"].as_str().unwrap();
    let ratio = &tie["auto"]["ratios"][format!("ic/{rival}")]["makespan"];
    assert_eq!(ratio["mean"], 1.0);
    let people = plan(&["--world", "throttled", "--workers", "1"]);
    let said = people
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("policy path+: its time is the same as ic"),
        "{people:?}"
    );
    let value = json(&plan(&["--json", "--gap", "0.3", "--size", "4"]));
    let auto = &value["auto"];
    assert_eq!(auto["policy"], value["policy"]);
    assert_eq!(auto["runs"], 60);
}

/// A dag on which ic must lose: a long chain beside a wide fork, with more workers than are ever needed at once but
/// too few for the fork. The chain decides the time; the fork has the larger yield.
#[test]
fn plan_auto_takes_another_policy_where_ic_loses() {
    let mut lines = String::new();
    for i in 0..40 {
        lines += &format!("JOB c{i} x\n");
    }
    lines += "JOB fork x\n";
    for i in 0..60 {
        lines +=
            &format!("JOB f{i} x\nPARENT fork CHILD f{i}\nJOB g{i} x\nPARENT f{i} CHILD g{i}\n");
    }
    for i in 1..40 {
        lines += &format!("PARENT c{} CHILD c{i}\n", i - 1);
    }
    let args = [
        "plan",
        "-",
        "--format",
        "dagman",
        "--policy",
        "auto",
        "--json",
        "--no-arrays",
        "--world",
        "pool",
        "--workers",
        "4",
        "--world-durations",
        "unit",
        "--runs",
        "5",
    ];
    let value = json(&cairn_with_input(&args, lines.as_bytes()));
    assert_eq!(value["policy"], "path+", "{}", value["auto"]);
    assert_eq!(value["auto"]["tie"], false);
    let ratio = &value["auto"]["ratios"]["ic/path+"]["makespan"];
    assert!(ratio["lo"].as_f64().unwrap() > 1.0, "{ratio}");
}

#[test]
fn study_writes_the_grid_as_json_markdown_and_heat_maps() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "12");
    let out = folder.path().join("deep/study");
    let args = [
        "study", &file, &file, "--gaps", "0.3,1", "--sizes", "1,4,16", "--runs", "10", "--json",
        "-o",
    ];
    let mut args = args.to_vec();
    args.push(out.to_str().unwrap());
    let value = json(&cairn(&args));
    let written: Value = serde_json::from_str(&text(&out.join("study.json"))).unwrap();
    assert_eq!(value, written);
    assert_eq!(value["dags"].as_array().unwrap().len(), 2);
    assert_eq!(value["dags"][0]["cells"].as_array().unwrap().len(), 6);
    assert_eq!(value["dags"][1]["name"], "airsn-12-2");
    assert!(text(&out.join("study.md")).contains("### ic over critical-path"));
    for name in [
        "airsn-12-ic-over-fifo.svg",
        "airsn-12-2-ic-over-critical-path.svg",
    ] {
        assert!(text(&out.join(name)).starts_with("<svg"), "{name}");
    }
}

#[test]
fn study_of_pools_gives_medians_over_all_dags() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["12", "20", "31"].map(|width| airsn(folder.path(), width));
    let out = folder.path().join("pools");
    let mut args = vec![
        "study",
        "--pools",
        "--runs",
        "10",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ];
    args.extend(files.iter().map(String::as_str));
    let value = json(&cairn(&args));
    for pool in ["scarce", "balanced", "plentiful"] {
        let summary = &value["summary"][pool]["ic/fifo"];
        let mut means: Vec<f64> = (value["dags"].as_array().unwrap().iter())
            .map(|dag| {
                dag["ratios"][pool]["ic/fifo"]["makespan"]["mean"]
                    .as_f64()
                    .unwrap()
            })
            .collect();
        means.sort_by(f64::total_cmp);
        assert_eq!(summary["median"], means[1], "{pool}");
        let count: u64 = ["faster", "ties", "slower"]
            .map(|k| summary[k].as_u64().unwrap())
            .iter()
            .sum();
        assert_eq!(count, 3);
    }
    assert!(text(&out.join("study.md")).contains("| plentiful | fifo |"));
}

/// At the limit the runs made so far are given, and they are the first ones: as many asked for give the same.
#[test]
fn a_simulation_keeps_to_the_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "250");
    let started = std::time::Instant::now();
    let args = ["simulate", &file, "--policies", "ic,fifo", "--json"];
    let with = |extra: &[&str]| cairn(&[&args[..], extra].concat());
    let cut = json(&with(&["--runs", "10000000", "--time-limit", "2"]));
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    assert_eq!(
        (&cut["out_of_time"], &cut["runs_asked"]),
        (&true.into(), &10_000_000.into())
    );
    let runs = cut["runs"].as_u64().unwrap();
    assert!((1..10_000_000).contains(&runs), "{runs}");
    let whole = json(&with(&[
        "--runs",
        &runs.to_string(),
        "--time-limit",
        "1000",
    ]));
    assert_eq!(whole["out_of_time"], false);
    assert_eq!(cut["ratios"], whole["ratios"]);
    let people = cairn(&["simulate", &file, "--runs", "10000000", "--time-limit", "2"]);
    assert!(
        people
            .stdout
            .replace('\n', " ")
            .contains("of 10000000 (time limit)"),
        "{people:?}"
    );
    refused(
        &["simulate", &file, "--time-limit", "0"],
        "not one run was done in time",
    );
}

/// A hundred seconds of work, and workers that are up for five: told at once, by name.
#[test]
fn a_task_that_can_never_finish_is_named_up_front() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let flow = path(
        "flow.jsonl",
        "{\"name\":\"short\",\"seconds\":1}\n{\"name\":\"long\",\"after\":[\"short\"],\"seconds\":100}\n",
    );
    let trace = path("trace.csv", "a,0,50\nb,10,90\n");
    let pool = ["simulate", &flow, "--world", "pool", "--down", "1"];
    let refuses = |extra: &[&str]| {
        refused(&[&pool[..], extra].concat(), "task 'long' can never finish");
    };
    refuses(&["--up", "const:5"]);
    refuses(&["--up", "const:5", "--lease", "100"]);
    refuses(&["--up", "uniform:1:60", "--speed", "1.5"]);
    refuses(&["--up", "exp:2"]);
    refuses(&["--up", "exp:200", "--join", "5", "--stay", "const:80"]);
    let traced = ["simulate", &flow, "--world", "trace", "--trace", &trace];
    refused(&traced, "task 'long' can never finish");
    let fast = cairn(
        &[
            &pool[..],
            &["--up", "const:5", "--speed", "25", "--runs", "2"],
        ]
        .concat(),
    );
    assert_eq!(fast.code, 0, "{fast:?}");
    let across = cairn(&[&traced[..], &["--speed", "4", "--runs", "2", "--repeat"]].concat());
    assert_eq!(across.code, 0, "{across:?}");
}

#[test]
fn study_goes_on_after_a_bad_file_and_takes_durations_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut flow = String::new();
    for i in 0..40 {
        let after = if i % 4 == 0 {
            String::new()
        } else {
            format!("\"t{}\"", i - 1)
        };
        let seconds = if i < 4 { 50 } else { 1 };
        flow += &format!("{{\"name\":\"t{i}\",\"after\":[{after}],\"seconds\":{seconds}}}\n");
    }
    std::fs::write(path("timed.jsonl"), flow).unwrap();
    std::fs::write(path("bad.dag"), "PARENT a CHILD b\n").unwrap();
    let (good, timed) = (airsn(folder.path(), "12"), path("timed.jsonl"));
    for pools in [false, true] {
        let out = path(if pools { "pools" } else { "grid" });
        let study = |durations: &[&str]| {
            let mut args = vec!["study", &good, "bad.dag", &timed, "--runs", "6", "--json"];
            let bad = path("bad.dag");
            args[2] = &bad;
            args.extend(["-o", &out]);
            match pools {
                true => args.push("--pools"),
                false => args.extend(["--gaps", "0.3", "--sizes", "2"]),
            }
            args.extend(durations);
            let run = cairn(&args);
            assert_eq!(run.code, 1, "{run:?}");
            serde_json::from_str::<Value>(&run.stdout).unwrap()
        };
        let value = study(&[]);
        let failed = value["failed"].as_array().unwrap();
        assert_eq!(failed.len(), 1, "{value}");
        assert!(failed[0]["file"].as_str().unwrap().ends_with("bad.dag"));
        assert!(!failed[0]["error"].as_str().unwrap().is_empty());
        let dags = value["dags"].as_array().unwrap();
        assert_eq!(dags.len(), 2);
        assert_eq!(dags[0]["durations"], "Normal(1, 0.1)");
        assert_eq!(dags[1]["durations"], "from the file");
        let as_published = study(&["--durations", "study"]);
        assert_eq!(as_published["durations"], "Normal(1, 0.1)");
        assert_eq!(as_published["dags"][0], dags[0]);
        let of = |dag: &Value| match pools {
            true => dag["ratios"].clone(),
            false => dag["cells"].clone(),
        };
        assert_ne!(of(&as_published["dags"][1]), of(&dags[1]));
        assert!(text(&Path::new(&out).join("study.md")).contains("Not studied:"));
    }
}

/// Where chance has no part there is no interval, only the number; scripts still find its ends.
#[test]
fn runs_that_are_all_equal_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "12");
    let world = ["--world", "pool", "--workers", "2", "--durations", "unit"];
    let args = [&["simulate", &file, "--runs", "5"], &world[..]].concat();
    let people = cairn(&args);
    assert!(people.stdout.contains("(all runs equal)"), "{people:?}");
    let value = json(&cairn(&[&args[..], &["--json"]].concat()));
    let ratio = &value["ratios"]["auto/fifo"]["makespan"];
    assert_eq!(ratio["all_equal"], true);
    assert_eq!(
        (&ratio["lo"], &ratio["hi"]),
        (&ratio["mean"], &ratio["mean"])
    );
    let world = ["--gap", "0.3", "--size", "4", "--json"];
    let chance = [&["simulate", &file, "--runs", "40"], &world[..]].concat();
    let chance = json(&cairn(&chance));
    let ratio = &chance["ratios"]["auto/fifo"]["makespan"];
    assert_eq!(ratio["all_equal"], false);
    assert!(ratio["lo"].as_f64() < ratio["hi"].as_f64(), "{ratio}");
    let once = json(&cairn(&["simulate", &file, "--runs", "1", "--json"]));
    let ratio = &once["ratios"]["auto/fifo"]["makespan"];
    assert!(
        ratio["lo"].is_null() && ratio["all_equal"] == false,
        "{ratio}"
    );
}

#[test]
fn files_of_unknown_size_are_told_where_they_travel() {
    let flow = r#"
        [[task]]
        name = "make"
        outputs = [{ path = "big", bytes = 1000 }, "log", "notes"]
        [[task]]
        name = "read"
        after = ["make"]
        inputs = ["big", "log", "notes"]
        [[task]]
        name = "look"
        after = ["make"]
        inputs = ["log"]
    "#;
    let run = |args: &[&str]| {
        let all = [&["simulate", "-", "--format", "toml", "--runs", "2"], args].concat();
        cairn_with_input(&all, flow.as_bytes())
    };
    let pool = ["--world", "pool", "--workers", "2"];
    let links = [&pool[..], &["--bandwidth", "100"]].concat();
    let told = run(&links);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stderr.contains("no size of 2 files"), "{told:?}");
    let value = json(&run(&[&links[..], &["--json"]].concat()));
    assert_eq!(value["unknown_sizes"], 2, "{value}");
    // Nothing travels: nothing is missing.
    let silent = run(&pool);
    assert_eq!(silent.stderr, "", "{silent:?}");
    let value = json(&run(&[&pool[..], &["--json"]].concat()));
    assert!(value.get("unknown_sizes").is_none(), "{value}");
}

/// The answer is a sentence, for people and machines, with what was asked in it; the numbers stand beside it.
#[test]
fn the_answer_comes_first_with_deadline_and_cost() {
    let folder = tempfile::tempdir().unwrap();
    let flow = folder.path().join("flow.jsonl");
    let mut text = String::new();
    for i in 0..30 {
        text += &format!("{{\"name\":\"a{i}\",\"seconds\":{}}}\n", 600 + 60 * (i % 7));
        text += &format!("{{\"name\":\"b{i}\",\"seconds\":300,\"after\":[\"a{i}\"]}}\n");
    }
    std::fs::write(&flow, text).unwrap();
    let flow = flow.to_str().unwrap();
    let slots = [
        "simulate", flow, "--slots", "8", "--runs", "20", "--noise", "0.2",
    ];
    let asked = ["--deadline", "1h", "--price", "0.5"];
    let people = cairn(&[&slots[..], &asked].concat());
    assert!(
        people.stdout.starts_with("On 8 slots, auto ("),
        "{people:?}"
    );
    let value = json(&cairn(&[&slots[..], &asked, &["--json"]].concat()));
    let answer = value["answer"].as_str().unwrap();
    let first: String = people
        .stdout
        .split("\n\n")
        .next()
        .unwrap()
        .replace('\n', " ");
    assert_eq!(first.trim_end(), answer);
    assert!(value["chosen"].is_string(), "{value}");
    let number = |path: &str| value.pointer(path).and_then(Value::as_f64).unwrap();
    // Eight slots are paid from the first to the last moment.
    let hours = number("/policies/auto/makespan/mean") * 8.0 / 3600.0;
    assert!((number("/cost/policies/auto/mean") - 0.5 * hours).abs() < 1e-9);
    let probability = number("/deadline/probability/auto/mean");
    assert!((0.0..=1.0).contains(&probability));
    assert!(number("/deadline/probability/auto/lo") <= probability);
    // Nothing ends within a second, and everything within a year.
    for (deadline, share) in [("1s", 0.0), ("365d", 1.0)] {
        let value = json(&cairn(
            &[&slots[..], &["--deadline", deadline, "--json"]].concat(),
        ));
        assert_eq!(value["deadline"]["probability"]["fifo"]["mean"], share);
    }
    let pool = [
        "--up",
        "3h",
        "--down",
        "5m",
        "--price",
        "0.1",
        "--steady-price",
        "0.4",
        "--json",
    ];
    let value = json(&cairn(&[&slots[..], &pool].concat()));
    assert!(
        value["answer"]
            .as_str()
            .unwrap()
            .starts_with("On 8 slots that come and go"),
        "{value}"
    );
    assert!(
        value["cost"]["steady"]["cost"]["mean"].as_f64().unwrap() > 0.0,
        "{value}"
    );
    let walled = json(&cairn(
        &[&slots[..], &["--walltime", "2h", "--json"]].concat(),
    ));
    assert!(
        walled["world"].as_str().unwrap().contains("up 7200"),
        "{walled}"
    );
    refused(
        &["simulate", flow, "--slots", "8", "--price", "-1"],
        "is no price",
    );
    refused(
        &["simulate", flow, "--slots", "8", "--deadline", "0"],
        "no time above zero",
    );
    refused(&["simulate", flow, "--noise", "-1"], "no sigma");
    refused(
        &["simulate", flow, "--noise", "0.1", "--durations", "exp:3"],
        "--noise means nothing",
    );
    refused(
        &["simulate", flow, "--slots", "4", "--world", "batches"],
        "--slots means nothing",
    );
    refused(
        &[
            "simulate",
            flow,
            "--slots",
            "4",
            "--price",
            "1",
            "--steady-price",
            "2",
        ],
        "stay anyway",
    );
}

#[test]
fn times_and_workers_come_from_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let flow = path(
        "w.dag",
        "JOB align_1 x\nJOB align_2 x\nJOB join x\nPARENT align_1 align_2 CHILD join\n",
    );
    let sacct = path(
        "sacct.txt",
        "JobID|JobName|State|Elapsed|Start|End|NodeList\n\
         1|align_1|COMPLETED|00:10:00|2024-01-01T00:00:00|2024-01-01T00:10:00|n1\n\
         2|align_7|NODE_FAIL|00:10:00|2024-01-01T00:00:00|2024-01-01T00:10:00|n2\n\
         3|align_7|COMPLETED|00:20:00|2024-01-01T00:15:00|2024-01-01T00:35:00|n2\n",
    );
    let run = cairn(&["plan", &flow, "--times", &sacct]);
    assert!(
        run.stderr
            .contains("times of 3 tasks: 1 by name, 1 by kind of job, 1 by the mean"),
        "{run:?}"
    );
    let value = json(&cairn(&["plan", &flow, "--times", &sacct, "--json"]));
    assert_eq!(
        value["times"],
        serde_json::json!({ "by_name": 1, "own": 0, "by_kind": 1, "by_mean": 1 })
    );
    let args = [
        "simulate",
        &flow,
        "--times",
        &sacct,
        "--world-from",
        &sacct,
        "--runs",
        "5",
        "--json",
    ];
    let flags = "--slots 2 --up exp:2400 --down exp:300";
    let value = json(&cairn(&args));
    let words = format!("workers as in the log: {flags}");
    assert_eq!(value["world_from"], words.as_str());
    let people = cairn(&args[..args.len() - 1]);
    assert!(people.stderr.contains(&words), "{people:?}");
    assert!(
        value["world"]
            .as_str()
            .unwrap()
            .contains("a pool of 2 workers, up exponential of mean 2400"),
        "{value}"
    );
    assert_eq!(value["durations"], "from the logs");
    // The same as with the flags typed.
    let typed: Vec<&str> = flags.split(' ').collect();
    let same = [
        &[
            "simulate", &flow, "--times", &sacct, "--runs", "5", "--json",
        ],
        &typed[..],
    ]
    .concat();
    assert_eq!(json(&cairn(&same))["policies"], value["policies"]);
    // One that is given comes first.
    let value = json(&cairn(&[&args[..], &["--slots", "5"]].concat()));
    assert!(
        value["world"]
            .as_str()
            .unwrap()
            .contains("a pool of 5 workers"),
        "{value}"
    );
    let table = cairn(&["times", &sacct]);
    assert!(
        table.stdout.contains("align") && table.stdout.contains(flags),
        "{table:?}"
    );
    let machines = json(&cairn(&["times", &sacct, "--json"]));
    assert_eq!(machines["kinds"][0]["median"], 900.0);
    assert_eq!(machines["workers"]["lost"], 1);
    let bad = path("bad.txt", "JobID|JobName|Elapsed\n1|a|soon\n");
    refused(&["plan", &flow, "--times", &bad], "bad.txt:2");
    refused(&["times", &bad], "'soon' is no length of time");
    refused(&["plan", &flow, "--times", "/nonexistent"], "nonexistent");
    let csv = path("t.csv", "align_1,5\n");
    refused(
        &["simulate", &flow, "--world-from", &csv],
        "nothing of workers",
    );
}

/// What results come to, by policy: executions a task, wrong results, tasks undone, runs without an end.
fn results(value: &Value, policy: &str) -> [f64; 4] {
    ["executions", "wrong", "undone", "endless"].map(|measure| {
        value["policies"][policy][measure]["mean"]
            .as_f64()
            .unwrap_or_else(|| panic!("{policy} {measure}: {value}"))
    })
}

#[test]
fn volunteers_cost_executions_and_save_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "50");
    let simulate = |more: &[&str]| {
        let args = [
            "simulate",
            &file,
            "--workers",
            "20",
            "--policies",
            "ic,fifo",
            "--runs",
            "20",
        ];
        cairn(&[&args[..], more].concat())
    };
    let bad = ["--liars", "0.3", "--vanishing", "0.2", "--slow", "0.1"];
    let sure = ["--volunteers", "--quorum", "4", "--replicate-all"];
    let played = simulate(&[&bad[..], &sure, &["--json"]].concat());
    let value = json(&played);
    let [executions, wrong, undone, endless] = results(&value, "ic");
    assert_eq!((wrong, undone, endless), (0.0, 0.0, 0.0), "{value}");
    assert!((3.0..7.0).contains(&executions), "{value}");
    let [executions, wrong, undone, endless] = results(&value, "ic trusted");
    assert!(executions < 1.6 && wrong > 1.0, "{value}");
    assert!(undone > 0.0 && endless > 0.0, "{value}");
    assert_eq!(value["volunteers"]["agree"], 3);
    assert_eq!(value["volunteers"]["trusted"], "ic trusted");
    assert!(value["ratios"]["ic/ic trusted"]["makespan"]["mean"].is_f64());
    // Earned trust costs less, and so does a smaller quorum, by which the two who collude are believed.
    let earned = simulate(&[&bad[..], &sure[..3], &["--json"]].concat());
    assert!(results(&json(&earned), "ic")[0] < results(&value, "ic")[0]);
    let pairs = simulate(&[&bad[..], &["--volunteers", "--json"]].concat());
    assert!(results(&json(&pairs), "ic")[1] > 0.0);

    let people = simulate(&[&bad[..], &sure].concat());
    for words in [
        "On 20 volunteers, ic takes",
        "no wrong result, no task undone.",
        "With all of them trusted:",
        "of 20 runs without an end",
        "30 % lie, 20 % vanish, 10 % are slow, 2 with one lie, volunteers, of whom 3 must return the same, always",
        "executions",
    ] {
        let told = people
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(told.contains(words), "{words}: {told}");
    }
    // Liars spoil what lists make as well; where nothing is said of anybody, nothing is told.
    let lists = json(&simulate(&["--liars", "0.3", "--json"]));
    assert!(results(&lists, "fifo")[1] > 0.0 && lists["volunteers"].is_null());
    let plain = json(&simulate(&["--world", "pool", "--json"]));
    assert!(plain["policies"]["ic"]["wrong"].is_null(), "{plain}");
}

/// Two recorded volunteers can never return three equal results: told before anything is played.
#[test]
fn a_quorum_that_a_trace_can_never_have_is_refused_up_front() {
    let folder = tempfile::tempdir().unwrap();
    let file = airsn(folder.path(), "5");
    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, "a,0,5000\nb,10,90\na,6000,9000\n").unwrap();
    let trace = trace.to_str().unwrap();
    let args = [
        "simulate",
        &file,
        "--world",
        "trace",
        "--trace",
        trace,
        "--volunteers",
        "--quorum",
    ];
    refused(
        &[&args[..], &["4"]].concat(),
        "needs 3 equal results of different volunteers, and there are 2",
    );
    refused(
        &[&args[..], &["4"]].concat(),
        "give a trace of 3 workers or more",
    );
    let enough = [
        &args[..],
        &["2", "--policies", "ic", "--runs", "3", "--json"],
    ]
    .concat();
    assert!(json(&cairn(&enough))["volunteers"]["agree"] == 2);
}
