//! Options of `plan` and its kin, through the real binary.

mod common;

use common::{Run, cairn, cairn_with_input};
use serde_json::Value;

/// Two chains, the short one declared first, with durations that make it the slow one.
const CHAINS: &str = r#"
[[task]]
name = "short-1"
seconds = 60
[[task]]
name = "short-2"
after = ["short-1"]
seconds = 60
[[task]]
name = "long-1"
seconds = 1
[[task]]
name = "long-2"
after = ["long-1"]
seconds = 1
[[task]]
name = "long-3"
after = ["long-2"]
seconds = 1
[[task]]
name = "long-4"
after = ["long-3"]
seconds = 1
"#;

fn without_durations(flow: &str) -> String {
    let lines = flow.lines().filter(|l| !l.starts_with("seconds"));
    lines.map(|l| format!("{l}\n")).collect()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

fn plan(flow: &str, more: &[&str]) -> Value {
    let run = cairn_with_input(&[&["plan", "-", "--json"], more].concat(), flow.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    json(&run)
}

#[test]
fn ties_go_to_the_longer_path_and_change_no_profile() {
    let counted = without_durations(CHAINS);
    let before = plan(&counted, &[]);
    let by_tasks = plan(&counted, &["--ties", "critical-path"]);
    assert_eq!(by_tasks["order"][0], "long-1", "{by_tasks}");
    let by_seconds = plan(CHAINS, &["--ties", "critical-path"]);
    assert_eq!(by_seconds["order"][0], "short-1", "{by_seconds}");
    for after in [&by_tasks, &by_seconds] {
        for field in ["profile", "bound", "verdict", "area"] {
            assert_eq!(before[field], after[field], "{field}");
        }
    }
    // `prio` writes the same order.
    let run = cairn_with_input(
        &["prio", "-", "--ties", "critical-path"],
        counted.as_bytes(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    let first = run.stdout.find("priority = 6").unwrap();
    assert!(
        run.stdout[..first].ends_with("name = \"long-1\"\n"),
        "{run:?}"
    );
}

#[test]
fn ties_by_memory_lower_the_peak() {
    let peak = |plan: &Value| plan["memory"]["peak"].as_u64().unwrap();
    let mut saved = 0;
    for seed in 1..=8 {
        let made = cairn(&["gen", "layered", "6", "8", "2", "--seed", &seed.to_string()]);
        let before = plan(&made.stdout, &[]);
        let after = plan(&made.stdout, &["--ties", "memory"]);
        for field in ["profile", "bound", "verdict", "area"] {
            assert_eq!(before[field], after[field], "{field}");
        }
        assert!(peak(&after) <= peak(&before), "seed {seed}");
        saved += peak(&before) - peak(&after);
    }
    assert!(saved > 0);
}

/// One task opens two others but takes long; another opens one and is quick.
const SLOW_FORK: &str = r#"
[[task]]
name = "slow"
seconds = 100
[[task]]
name = "a"
after = ["slow"]
seconds = 1
[[task]]
name = "b"
after = ["slow"]
seconds = 1
[[task]]
name = "quick"
seconds = 2.5
[[task]]
name = "c"
after = ["quick"]
seconds = 1
"#;

#[test]
fn durations_put_quick_gains_first() {
    let by_steps = plan(SLOW_FORK, &[]);
    assert_eq!(by_steps["order"][0], "slow");
    assert!(by_steps.get("durations").is_none());
    let by_seconds = plan(SLOW_FORK, &["--durations"]);
    assert_eq!(by_seconds["order"][0], "quick");
    assert_eq!(by_seconds["priority"]["quick"], 5);
    // Fields that are about steps judge the order by steps.
    assert_eq!(by_seconds["verdict"], "suboptimal");
    assert_eq!(by_seconds["bound"], by_steps["bound"]);
    let over = &by_seconds["durations"];
    assert_eq!(over["seconds"], 105.5);
    assert_eq!(
        over["made_eligible"],
        serde_json::json!([[0.0, 2], [2.5, 3], [102.5, 5]])
    );
    assert_eq!(over["area"], 2.0 * 105.5 + 103.0 + 2.0 * 3.0);
    assert_eq!(over["verdict"], "open");
    assert!(over["area_bound"].as_f64().unwrap() >= over["area"].as_f64().unwrap());
    let ratio = over["area"].as_f64().unwrap() / over["area_bound"].as_f64().unwrap();
    assert!((over["area_ratio"].as_f64().unwrap() - ratio).abs() < 1e-12);
    // A cap on memory, ties and the text.
    let chains = plan(
        CHAINS,
        &[
            "--durations",
            "--no-arrays",
            "--ties",
            "memory",
            "--memory-cap",
            "2",
        ],
    );
    assert_eq!(chains["durations"]["verdict"], "optimal", "{chains}");
    let run = cairn_with_input(&["plan", "-", "--durations"], SLOW_FORK.as_bytes());
    assert!(
        run.stdout.contains("  seconds   open: area 320 of at most"),
        "{run:?}"
    );
    assert!(run.stdout.contains("counting steps"), "{run:?}");
}

fn refused(args: &[&str], input: &str, words: &[&str]) {
    for form in [&[][..], &["--json"]] {
        let run = cairn_with_input(&[args, form].concat(), input.as_bytes());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(!run.stderr.contains("panicked"), "{run:?}");
        let said = if form.is_empty() {
            &run.stderr
        } else {
            &run.stdout
        };
        for word in words {
            assert!(said.contains(word), "'{word}' is not in: {said}");
        }
    }
}

#[test]
fn durations_that_cannot_be_used_are_named() {
    let none = without_durations(CHAINS);
    let words = [
        "6 of 6 have none",
        "'short-1'",
        "'long-1' and 3 more",
        "leave out --durations",
    ];
    refused(&["plan", "-", "--durations"], &none, &words);
    for bad in ["-1", "nan", "inf"] {
        let flow = CHAINS.replacen("60", bad, 1);
        refused(
            &["plan", "-", "--durations"],
            &flow,
            &["short-1", "duration"],
        );
        refused(&["plan", "-"], &flow, &["short-1", "duration"]);
    }
    refused(
        &["plan", "-", "--durations", "--policy", "auto"],
        CHAINS,
        &["--durations", "--policy"],
    );
    let huge = CHAINS.replacen("60", "1e300", 1);
    let area = plan(&huge, &["--durations"])["durations"]["area"].as_f64();
    assert!(area.unwrap() > 1e300);
    let zero = CHAINS.replace("60", "0").replace("= 1\n", "= 0\n");
    assert_eq!(
        plan(&zero, &["--durations"])["durations"]["area_ratio"],
        1.0
    );
}

#[test]
fn a_cap_that_no_order_meets_is_refused() {
    let join = "[[task]]\nname = \"a\"\n[[task]]\nname = \"b\"\n[[task]]\nname = \"c\"\nafter = [\"a\", \"b\"]\n";
    refused(
        &["plan", "-", "--memory-cap", "1"],
        join,
        &["some task alone needs 2", "--memory-cap 2"],
    );
    refused(
        &["plan", "-", "--memory-cap", "1GB"],
        join,
        &["no file sizes"],
    );
    refused(&["plan", "-", "--memory-cap=-3"], join, &["-3"]);
    assert_eq!(plan(join, &["--memory-cap", "2"])["memory"]["peak"], 2);
}

/// They have no arcs, and so they would be eligible from the first step on.
#[test]
fn batches_leave_out_the_nodes_that_dagman_starts_itself() {
    let text = "JOB a x\nJOB b x\nPARENT a CHILD b\nFINAL f x\nPROVISIONER p x\nSERVICE s x\n";
    let run = cairn_with_input(&["batch", "-", "-r", "9"], text.as_bytes());
    assert_eq!((run.code, run.stdout.as_str()), (0, "a\n"), "{run:?}");
    assert!(run.stderr.contains("by itself: f, p, s"), "{run:?}");
    let value = json(&cairn_with_input(
        &["batch", "-", "-r", "9", "--json"],
        text.as_bytes(),
    ));
    assert_eq!(value["chosen"], serde_json::json!(["a"]));
    assert_eq!(value["left_out"], serde_json::json!(["f", "p", "s"]));
    assert_eq!(value["eligible_before"], 1);
    let several = json(&cairn_with_input(
        &["batch", "-", "-r", "2,2", "--json"],
        text.as_bytes(),
    ));
    assert_eq!(several["batches"], serde_json::json!([["a"], ["b"]]));
    let plain = cairn_with_input(&["batch", "-", "-r", "9", "--json"], b"JOB a x\n");
    assert!(json(&plain).get("left_out").is_none(), "{plain:?}");
}

/// Settings come before work: what is wrong with a flag is told before the file is opened, let alone planned.
#[test]
fn bad_flags_are_told_before_the_file_is_opened() {
    let cases = [
        ("plan FILE --memory-cap nonsense", "--memory-cap nonsense"),
        ("plan FILE --memory-cap 3kB2", "--memory-cap 3kB2"),
        ("plan FILE --time-limit -1", "--time-limit -1"),
        ("plan FILE --threads 0", "--threads 0"),
        ("plan FILE --workers 4", "--workers means nothing"),
        ("plan FILE --certificate -", "standard output"),
        ("plan FILE --durations --policy fifo", "--durations makes"),
        ("plan FILE --policy auto --runs 0", "zero runs"),
        ("plan FILE --policy auto --gap -1", "the mean gap"),
        ("plan FILE --policy auto --world pool --up 5", "--down"),
        (
            "plan FILE --policy auto --world-durations normal:1:-1",
            "spread of durations",
        ),
        ("prio FILE --time-limit -1", "--time-limit -1"),
        ("prio FILE --backup a/b --in-place", "no suffix"),
        ("prio FILE --policy ic --seed 3", "--seed means nothing"),
        ("prio FILE --policy auto --size 0", "the mean size"),
        ("explain FILE --time-limit inf", "--time-limit inf"),
        ("explain FILE --threads 0", "--threads 0"),
        ("batch FILE -r 3 --threads 0", "--threads 0"),
        ("batch FILE -r 3 --time-limit -1", "--time-limit -1"),
        ("show FILE -o x.gif", "x.gif"),
        ("show FILE -o x.svg --what all", "one figure"),
        ("show FILE -o x.svg --threads 0", "--threads 0"),
        ("simulate FILE --runs 0", "zero runs"),
        ("simulate FILE --precision 0", "--precision 0"),
        ("simulate FILE --size -3", "the mean size"),
        ("simulate FILE --world pool --gap 3", "--gap means nothing"),
        ("simulate FILE --world pool --workers 0", "workers is 0"),
        ("simulate FILE --world pool --speed const:0", "speed"),
        ("simulate FILE --world pool --lease -1", "lease"),
        ("simulate FILE --world throttled --submitted 0", "submitted"),
        ("simulate FILE --world trace", "needs a trace"),
        (
            "simulate FILE --world trace --trace nowhere.csv",
            "nowhere.csv",
        ),
        ("simulate FILE --durations exp:-1", "-1"),
        (
            "simulate FILE --world batches --volunteers",
            "--volunteers means nothing",
        ),
        (
            "simulate FILE --slots 4 --world throttled --liars 0.5",
            "--liars means nothing",
        ),
        ("simulate FILE --liars 1.5", "the share of workers that lie"),
        (
            "simulate FILE --liars 0.5 --vanishing 0.6",
            "lie, vanish or",
        ),
        ("simulate FILE --slow -1", "are slow is -1"),
        (
            "simulate FILE --volunteers --workers 2 --quorum 4",
            "needs 3 equal results",
        ),
        (
            "simulate FILE --volunteers --policies ic,heft",
            "heft is none",
        ),
        (
            "simulate FILE --volunteers --dispatch aware",
            "aware is none",
        ),
        (
            "simulate FILE --volunteers --volunteer-deadline 0",
            "no time above zero",
        ),
        ("simulate FILE --quorum 4", "--volunteers"),
        ("simulate FILE --volunteers --disk 1GB", "--disk"),
        ("simulate FILE -o x.gif", "x.gif"),
        ("simulate FILE --policies ic,ic", "'ic' is given twice"),
        (
            "simulate FILE --policies ic,fifo,ic --grid -o out",
            "'ic' is given twice",
        ),
        (
            "simulate FILE second.dag",
            "second.dag is one workflow more",
        ),
        ("simulate FILE --grid -o out --dispatch aware", "--dispatch"),
        (
            "simulate FILE -o nowhere/x.svg",
            "cannot write nowhere/x.svg",
        ),
        ("show FILE -o nowhere/x.svg", "cannot write nowhere/x.svg"),
        (
            "plan FILE --certificate nowhere/x.json",
            "cannot write nowhere/x.json",
        ),
        (
            "plan FILE --certificate crates",
            "cannot write crates: is a",
        ),
        (
            "run FILE --report README.md/x.html",
            "cannot write README.md",
        ),
        ("run FILE --report crates", "cannot write crates: is a"),
        ("convert FILE nowhere/x.dot", "cannot write nowhere/x.dot"),
        ("convert FILE crates --to dot", "cannot write crates: is a"),
        ("convert FILE out.ga --rewrite", "read but not written"),
        (
            "gen mesh 40000 -o nowhere/x.dag",
            "cannot write nowhere/x.dag",
        ),
        (
            "gen mesh 40000 -o crates --to dot",
            "cannot write crates: is a",
        ),
        ("study FILE -o Cargo.toml", "cannot write Cargo.toml: not a"),
        (
            "simulate FILE --grid -o Cargo.toml/in",
            "cannot write Cargo.toml/in: not a",
        ),
        (
            "submit FILE --engine dask --dry-run -o Cargo.toml",
            "cannot write Cargo.toml: not a",
        ),
        (
            "submit FILE --engine slurm --state Cargo.toml/in",
            "cannot write Cargo.toml/in: not a",
        ),
        ("submit FILE --engine slurm --poll=-1", "--poll -1"),
        ("submit FILE --engine slurm --poll inf", "--poll inf"),
        ("explain t --live URL --token-file FILE --quick", "--quick"),
        (
            "explain t --live URL --token-file FILE --executed a",
            "--executed",
        ),
        (
            "explain t --live URL --token-file FILE --format dot",
            "--format",
        ),
        (
            "submit FILE --engine slurm --dry-run -o out --watch",
            "--watch",
        ),
        (
            "submit FILE --engine slurm --dry-run -o out --max-queued 3",
            "--max-queued",
        ),
        ("submit FILE --engine dask --poll 3", "--poll is for Slurm"),
        ("run --family mesh:3 --run true --policy ic", "--policy"),
        ("run --family mesh:3 --run true --times FILE", "--times"),
        (
            "run --family mesh:3 --run true --ignore-files",
            "--ignore-files",
        ),
        (
            "serve --family mesh:3 --run true --state out --slots 4",
            "a family has the best one by itself",
        ),
        (
            "serve --family mesh:3 --run true --state out --world-from FILE",
            "a family has the best one by itself",
        ),
        (
            "serve FILE --state out --volunteers 1 --quorum 3",
            "there are tokens for 1",
        ),
        ("serve FILE --state out --book Cargo.toml", "Cargo.toml"),
        (
            "verify - -",
            "cannot be both the workflow and the certificate",
        ),
        ("plan - --times -", "cannot be both the workflow and a log"),
        (
            "prio - --policy auto --world trace --trace -",
            "the record of workers",
        ),
        ("times - -", "cannot be a log twice"),
        ("study - - -o out", "cannot be a workflow twice"),
        ("run - --times -", "cannot be both the workflow and a log"),
        (
            "submit - --engine dask --times -",
            "cannot be both the workflow and a log",
        ),
        (
            "serve - --state out --times -",
            "cannot be both the workflow and a log",
        ),
        ("simulate FILE --time-limit -1", "--time-limit -1"),
        ("study FILE -o out --runs 0", "zero runs"),
        ("study FILE -o out --gaps 1,0", "the mean gap"),
        ("study FILE -o out --sizes -1", "the mean size"),
        ("study FILE -o out --durations exp:-1", "-1"),
        ("study FILE -o out --threads 0", "--threads 0"),
        ("convert FILE out.xyz", "out.xyz"),
        ("convert FILE -", "--to"),
        ("gen mesh x -o FILE", "'x'"),
        ("gen nonsense -o FILE", "nonsense"),
        ("gen fft 5 --dim 3 -o FILE", "no option --dim"),
        ("gen mesh 5 --dim 0 -o FILE", "--dim must be at least 1"),
        ("man FILE", "no folder"),
    ];
    for (line, word) in cases {
        let args: Vec<&str> = line
            .split(' ')
            .map(|w| if w == "FILE" { "no-such-file.dag" } else { w })
            .collect();
        let run = cairn(&args);
        assert_eq!(run.code, 2, "{line}: {run:?}");
        let said = run.stderr.replace("no-such-file.dag", "");
        assert!(said.contains(word), "{line}: {run:?}");
        assert!(!said.contains("no such file"), "{line}: {run:?}");
    }
    assert!(!std::path::Path::new("out").exists());
}

/// What only the file can tell is told before it is planned: this plan would take longer than the test waits.
#[test]
fn what_the_input_forbids_is_told_before_the_plan() {
    let bare = cairn(&["gen", "layered", "60", "60", "3"]).stdout;
    let with = |fields: &dyn Fn(usize) -> Value| -> String {
        let tasks = bare.lines().enumerate().map(|(i, line)| {
            let mut task: Value = serde_json::from_str(line).unwrap();
            let fields = fields(i);
            for (name, value) in fields.as_object().unwrap() {
                task[name] = value.clone();
            }
            format!("{task}\n")
        });
        tasks.collect()
    };
    let sized =
        with(&|i| serde_json::json!({ "outputs": [{ "path": format!("f{i}"), "bytes": 5000 }] }));
    let wide = with(&|i| serde_json::json!({ "cpus": if i == 7 { 8 } else { 1 } }));
    let cases = [
        (&bare, "plan --memory-cap 2", "no order stays under"),
        (&bare, "plan --memory-cap 1GB", "no file sizes"),
        (&sized, "plan --memory-cap 1kB", "no order stays within 1kB"),
        (
            &sized,
            "show --disk 1kB -o x.svg",
            "no order stays within 1kB",
        ),
        (
            &bare,
            "plan --policy auto --world-durations file",
            "no durations",
        ),
        (
            &bare,
            "prio --policy auto --world pool --bandwidth 1e6",
            "no sizes of files",
        ),
        (&bare, "prio -o nowhere/x.jsonl", "cannot write nowhere"),
        (
            &wide,
            "simulate --world pool --cores 4",
            "needs 8 cores, but a worker has 4",
        ),
        (
            &bare,
            "simulate --world pool --up const:0.5 --down 1 --durations unit",
            "help: let workers be up longer",
        ),
    ];
    for (flow, line, word) in cases {
        let (command, flags) = line.split_once(' ').unwrap();
        let mut args = vec![command, "-", "--thorough", "--time-limit", "500"];
        args.extend(flags.split(' '));
        let started = std::time::Instant::now();
        let run = cairn_with_input(&args, flow.as_bytes());
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(run.stderr.contains(word), "{line}: {run:?}");
        assert!(started.elapsed().as_secs() < 60, "{line}: it was planned");
    }
}

/// What flags alone tell is told before anything is read: the file that they name is not there.
#[test]
fn flags_are_refused_before_any_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (missing, state) = (at("missing.toml"), at("state"));
    let cases: [(&[&str], &str); 5] = [
        (
            &["simulate", &missing, "--price", "1", "--steady-price", "1"],
            "these stay anyway",
        ),
        (
            &["submit", &missing, "--engine", "airflow"],
            "takes files, not calls",
        ),
        (&["plan", &missing, "--memory-cap", "much"], "much"),
        (
            &[
                "explain",
                "t",
                "--live",
                "http://[",
                "--token-file",
                &missing,
            ],
            "cannot read",
        ),
        (
            &[
                "serve",
                &missing,
                "--state",
                &state,
                "--cert",
                &at("c.pem"),
                "--key",
                &at("k.pem"),
            ],
            "c.pem",
        ),
    ];
    for (command, words) in cases {
        let run = cairn(command);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    }
    assert!(!std::path::Path::new(&state).exists(), "a state was begun");
}

/// An input whose files have no sizes is refused before it is planned, and so is a program that is not there: neither says what
/// order it found.
#[test]
fn inputs_are_refused_before_they_are_planned() {
    let folder = tempfile::tempdir().unwrap();
    let flow = folder.path().join("flow.toml");
    std::fs::write(&flow, "[[task]]\nname = \"a\"\nrun = \"true\"\n").unwrap();
    let flow = flow.to_str().unwrap();
    let state = folder.path().join("state");
    let run = cairn(&[
        "submit",
        flow,
        "--engine",
        "htcondor",
        "--state",
        state.to_str().unwrap(),
    ]);
    if run.stderr.contains("is not found") {
        assert!(!run.stderr.contains("order:"), "{run:?}");
        assert!(!state.exists(), "nothing is written");
    }
    let certificate = folder.path().join("proof.json");
    let certificate = certificate.to_str().unwrap();
    let run = cairn(&["plan", flow, "--disk", "1GB", "--certificate", certificate]);
    assert!(
        run.code == 2 && run.stderr.contains("no file sizes"),
        "{run:?}"
    );
}
