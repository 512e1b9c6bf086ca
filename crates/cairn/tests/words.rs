//! What people and scripts read: plain words, plurals, quiet runs, narrow terminals, errors as JSON.

mod common;

use common::{Run, cairn, cairn_at, cairn_in, cairn_with_input, root};
use serde_json::Value;

const DIAMOND: &str =
    "JOB a x\nJOB b x\nJOB c x\nJOB d x\nPARENT a CHILD b c\nPARENT b c CHILD d\n";
const PAIR: &str = "JOB a x\nJOB b x\nPARENT a CHILD b\n";

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn a_plan_says_how_good_it_is_in_plain_words() {
    let made = cairn(&["gen", "airsn", "10", "--to", "dagman"]).stdout;
    let run = cairn_with_input(&["plan", "-"], made.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    for word in [
        "the best there is",
        "this order",
        "fifo",
        "critical-path",
        "results open",
        "cairn prio",
    ] {
        assert!(
            run.stdout.contains(word),
            "'{word}' is not in:\n{}",
            run.stdout
        );
    }
    let theory = ["▷", "Theorem", "IC-optimal", "area", "hull", "eligible"];
    for word in theory {
        assert!(
            !run.stdout.contains(word),
            "'{word}' is in:\n{}",
            run.stdout
        );
    }
    // The theory's own words, and all policies, for those who ask.
    let run = cairn_with_input(&["plan", "-", "-v"], made.as_bytes());
    for word in ["IC-optimal", "area", "lifo", "outdegree"] {
        assert!(
            run.stdout.contains(word),
            "'{word}' is not in:\n{}",
            run.stdout
        );
    }
}

#[test]
fn the_table_of_a_plan_agrees_with_its_json() {
    let made = cairn(&[
        "gen", "layered", "5", "6", "3", "--seed", "4", "--to", "dagman",
    ])
    .stdout;
    let value = json(&cairn_with_input(&["plan", "-", "--json"], made.as_bytes()));
    let text = cairn_with_input(&["plan", "-", "-v"], made.as_bytes()).stdout;
    let tasks = value["tasks"].as_f64().unwrap();
    let row = |name: &str, area: &Value, peak: &Value| {
        let mean = format!("{:.1}", area.as_f64().unwrap() / tasks);
        let line = text.lines().find(|l| l.starts_with(&format!("  {name}")));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
        let mut cells = line.trim_start()[name.len()..].split_whitespace();
        assert_eq!(cells.next(), Some(mean.as_str()), "{line}");
        assert_eq!(cells.next_back(), Some(peak.to_string().as_str()), "{line}");
    };
    row("this order", &value["area"], &value["memory"]["peak"]);
    for name in ["fifo", "lifo", "critical-path", "outdegree"] {
        let baseline = &value["baselines"][name];
        row(name, &baseline["area"], &baseline["memory_peak"]);
    }
}

#[test]
fn one_is_not_many() {
    let commands = [
        &["info", "-"][..],
        &["check", "-"],
        &["plan", "-", "-v"],
        &["explain", "-"],
        &["simulate", "-", "--runs", "1"],
        &["prio", "-"],
    ];
    for command in commands {
        let run = cairn_with_input(command, PAIR.as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        let lines = said
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        for pair in lines.flat_map(|words| words.windows(2).map(<[_]>::to_vec).collect::<Vec<_>>())
        {
            let noun = pair[1].trim_matches(|c: char| !c.is_alphanumeric());
            let is_plural = noun.ends_with('s') && noun.chars().all(char::is_alphabetic);
            let excused = ["is", "was", "has", "less", "across"].contains(&noun);
            assert!(
                pair[0] != "1" || !is_plural || excused,
                "{command:?}: {pair:?} in\n{said}"
            );
        }
        assert!(!said.contains("(s)"), "{said}");
    }
}

#[test]
fn arcs_have_one_name_in_all_json() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.dag");
    for command in ["info", "check", "plan", "explain"] {
        let value = json(&cairn_with_input(
            &[command, "-", "--json"],
            DIAMOND.as_bytes(),
        ));
        assert_eq!(value["arcs"], 4, "{command}: {value}");
    }
    let value = json(&cairn(&[
        "gen",
        "mesh",
        "3",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ]));
    assert_eq!(value["arcs"], 6, "{value}");
    // The old name stays where it was.
    for command in ["info", "check"] {
        let value = json(&cairn_with_input(
            &[command, "-", "--json"],
            DIAMOND.as_bytes(),
        ));
        assert_eq!(value["edges"], 4, "{command}: {value}");
    }
    assert_eq!(value["edges"], 6);
}

#[test]
fn usage_errors_are_json_where_json_was_asked_for() {
    let cases: [(&[&str], &str); 6] = [
        (&["--json"], "requires a subcommand"),
        (&["plan", "--json"], "required"),
        (&["plan", "x.dag", "--json", "--polcy", "ic"], "--polcy"),
        (&["--json", "plan", "x.dag", "--policy", "best"], "best"),
        (&["plna", "x.dag", "--json"], "plna"),
        (&["plan", "x.dag", "--json", "--time-limit", "soon"], "soon"),
    ];
    for (args, word) in cases {
        let run = cairn(args);
        assert_eq!(run.code, 2, "{run:?}");
        assert_eq!(run.stderr, "", "{run:?}");
        let value = json(&run);
        let error = value["error"].as_str().unwrap();
        assert!(error.contains(word), "{value}");
        assert!(!error.starts_with("error"), "{value}");
        assert!(value["help"].is_string(), "{value}");
    }
    // A suggestion is part of the help; without --json it is all text.
    let value = json(&cairn(&["plan", "x.dag", "--json", "--polcy", "ic"]));
    assert!(
        value["help"].as_str().unwrap().contains("--policy"),
        "{value}"
    );
    let run = cairn(&["plan", "x.dag", "--polcy", "ic"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
    // After -- it is a file's name.
    let run = cairn(&["plan", "--polcy", "--", "--json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
    let run = cairn(&["plan", "--json", "--help"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("Usage:"), "{run:?}");
}

#[test]
fn quiet_runs_say_nothing_but_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // The category makes a warning in every command that reads it.
    let warned = format!("{DIAMOND}CATEGORY a big\nMAXJOBS big 1\nJOBSTATE_LOG x\n");
    std::fs::write(path("a.dag"), &warned).unwrap();
    let (dag, proof) = (path("a.dag"), path("proof.json"));
    let run = cairn(&["plan", &dag, "--certificate", &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    for silent in [
        &["check", &dag][..],
        &["verify", &dag, &proof],
        &["prio", &dag, "-o", &path("p.dag")],
        &["convert", &dag, &path("c.dot")],
        &["gen", "mesh", "3", "-o", &path("m.dag")],
        &["show", &dag, "-o", &path("x.svg")],
        &["man", &path("")],
    ] {
        let run = cairn(&[silent, &["-q"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(
            (run.stdout.as_str(), run.stderr.as_str()),
            ("", ""),
            "{silent:?}"
        );
    }
    for told in [
        &["plan", &dag][..],
        &["info", &dag],
        &["explain", &dag],
        &["batch", &dag, "-r", "1"],
    ] {
        let run = cairn(&[told, &["-q"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
        assert!(!run.stdout.is_empty(), "{told:?}");
        assert!(!run.stdout.contains("cairn prio"), "{run:?}");
    }
    // Errors are told all the same.
    std::fs::write(path("bad.dag"), "JOB a x\nPARENT a CHILD nobody\n").unwrap();
    let run = cairn(&["check", &path("bad.dag"), "-q"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("nobody"), "{run:?}");
    let run = cairn(&["plan", &path("bad.dag"), "-q"]);
    assert!(run.stderr.contains("nobody"), "{run:?}");
}

#[test]
fn tables_and_lines_hold_at_sixty_columns() {
    let made = cairn(&["gen", "airsn", "5", "--to", "dagman"]).stdout;
    for command in [
        &["plan", "-"][..],
        &["plan", "-", "--policy", "lifo"],
        &["simulate", "-", "--runs", "4"],
    ] {
        let run = cairn_in(60, command, made.as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 60, "{command:?}: {line}");
        }
        // Nothing is left out for it.
        let wide = cairn_in(200, command, made.as_bytes());
        let lines = wide.stdout.lines().filter(|line| !line.contains(" ms to "));
        let mut cells: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        cells.retain(|word| word.parse::<f64>().is_ok());
        for cell in cells {
            assert!(run.stdout.contains(cell), "{cell} of {command:?} is lost");
        }
    }
}

#[test]
fn long_names_of_files_and_tasks_keep_to_the_width() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder
        .path()
        .join("a workflow with a name that is long.dot");
    let label = |i: usize| {
        format!(
            "align sample: {} lane: {i}",
            "RIH0_ANA0-HG001-19_DBC0 ".repeat(3)
        )
    };
    let mut dot = "digraph g {\n".to_owned();
    for i in 0..6 {
        dot += &format!("{i} [label=\"{}\"];\n", label(i));
    }
    dot += "0 -> 1; 0 -> 2; 3 -> 4; 3 -> 5; 1 -> 5; 0 -> 5; 3 -> 1;\n}\n";
    std::fs::write(&file, dot).unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["plan", file.file_name().unwrap().to_str().unwrap()])
        .current_dir(folder.path())
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let (answer, _) = text.split_once("  next ").unwrap();
    for line in answer.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    // What tells them apart is still there.
    assert!(
        answer.contains("lane: 3") && answer.contains("lane: 0"),
        "{answer}"
    );
}

#[test]
fn explain_and_check_keep_to_the_width() {
    let made = cairn(&["gen", "airsn", "5", "--to", "dagman"]).stdout;
    let none = "JOB fork a\nJOB left a\nJOB right a\nJOB f1 a\nJOB f2 a\nJOB j1 a\nJOB j2 a\nJOB j3 a\nJOB j4 a\n\
                PARENT fork CHILD f1 f2\nPARENT left right CHILD j1 j2 j3 j4\n";
    for dag in [made.as_str(), none, DIAMOND] {
        for command in [
            &["explain", "-"][..],
            &["check", "-"],
            &["info", "-"],
            &["plan", "-", "-v"],
        ] {
            let run = cairn_in(60, command, dag.as_bytes());
            assert_eq!(run.code, 0, "{run:?}");
            for line in run.stdout.lines() {
                assert!(line.chars().count() <= 60, "{command:?}: {line}");
            }
        }
    }
}

/// What is checked, lost, written or wrong: on either stream, all of it.
#[test]
fn proofs_losses_priorities_and_errors_keep_to_the_width() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let cycle = DIAMOND.to_owned() + "PARENT d CHILD a\n";
    let long = format!(
        "JOB a x\nVARS a word=\"{}\"\nPARENT a CHILD nobody\n",
        "x".repeat(90)
    );
    // The kept number puts d's other parent last.
    let kept = "JOB a x\nJOB b x\nJOB c x\nJOB d x\nJOB e x\nPARENT a CHILD b c\nPRIORITY d 9\nPRIORITY e 8\n";
    write(
        "none.dag",
        "JOB fork a\nJOB left a\nJOB right a\nJOB f1 a\nJOB f2 a\nJOB j1 a\nJOB j2 a\nJOB j3 a\nJOB j4 a\nPARENT fork CHILD f1 f2\nPARENT left right CHILD j1 j2 j3 j4\n",
    );
    write("diamond.dag", DIAMOND);
    write("cycle.dag", &cycle);
    write("long.dag", &long);
    write("kept.dag", kept);
    write("prose.md", "# A title\n\nSome words, and more.\n");
    let example = root().join("examples/variant-calling.json");
    std::fs::copy(example, folder.path().join("variants.json")).unwrap();
    let mut told = 0;
    for (line, code) in [
        ("plan none.dag --certificate proof.json -q", 0),
        ("verify none.dag proof.json", 0),
        ("verify diamond.dag proof.json", 1),
        ("convert variants.json out.dag", 0),
        ("convert variants.json out.csv", 0),
        ("prio kept.dag", 0),
        ("prio kept.dag --keep -o out.dag", 0),
        (
            "prio diamond.dag -o a-file-with-a-rather-long-name-of-its-own.dag",
            0,
        ),
        ("prio prose.md", 2),
        ("check cycle.dag", 1),
        ("plan cycle.dag", 2),
        ("check long.dag", 1),
        ("plan prose.md", 2),
        ("plan diamond.dag --memory-cap nonsense", 2),
        ("plan variants.json --memory-cap 1kB", 2),
        ("plan diamond.dag --executed b", 2),
        ("simulate diamond.dag --world pool --up 600", 2),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let narrow = cairn_at(folder.path(), 60, &args, b"");
        assert_eq!(narrow.code, code, "{narrow:?}");
        let said = format!("{}{}", narrow.stdout, narrow.stderr);
        for row in said.lines() {
            assert!(row.chars().count() <= 60, "{line}: {row}");
        }
        // Nothing is left out for it, and who knows no width gets it in one piece.
        let wide = cairn_at(folder.path(), 1000, &args, b"");
        let words = |run: &Run| -> Vec<String> {
            let said = format!("{}{}", run.stdout, run.stderr);
            said.split_whitespace().map(str::to_owned).collect()
        };
        if !line.contains("long") {
            assert_eq!(words(&narrow), words(&wide), "{line}");
        }
        told += usize::from(
            said.lines().count() > format!("{}{}", wide.stdout, wide.stderr).lines().count(),
        );
    }
    assert!(told > 8, "only {told} of the texts are long");
}

#[test]
fn help_fits_the_terminal_and_lists_every_command_by_groups() {
    let top = cairn_in(80, &["--help"], b"").stdout;
    let at = |word: &str| {
        top.find(word)
            .unwrap_or_else(|| panic!("no {word} in\n{top}"))
    };
    let titles = ["Look at", "Order its", "worth", "Files", "Shell", "Options"];
    assert!(titles.windows(2).all(|w| at(w[0]) < at(w[1])), "{top}");
    assert!(
        at("\n  info") < at("Order its") && at("Order its") < at("\n  plan"),
        "{top}"
    );
    for columns in [40, 60, 100, 200] {
        for command in ["plan", "simulate", "gen", "prio", "study", "convert"] {
            let help = cairn_in(columns, &[command, "--help"], b"").stdout;
            for line in help.lines().filter(|l| !l.starts_with("Usage:")) {
                let is_one_word = line.split_whitespace().count() <= 2;
                assert!(
                    line.chars().count() <= columns || is_one_word,
                    "{command} at {columns}: {line}"
                );
            }
        }
    }
}

#[test]
fn an_order_does_not_stand_beside_itself() {
    let run = cairn_with_input(&["plan", "-", "--policy", "fifo"], DIAMOND.as_bytes());
    let rows = run.stdout.lines().filter(|line| line.starts_with("  fifo"));
    assert_eq!(rows.count(), 0, "{run:?}");
    assert!(run.stdout.contains("this order (fifo)"), "{run:?}");
    let run = cairn_with_input(&["plan", "-"], DIAMOND.as_bytes());
    assert!(run.stdout.contains("\n  fifo "), "{run:?}");
}

/// An option is looked for under its heading; one that is put in after a group of others slips under theirs.
#[test]
fn options_stand_under_headings_that_speak_of_them() {
    let groups = [
        ("Half-run workflows:", &["--executed", "--no-rescue"][..]),
        (
            "Effort:",
            &["--time-limit", "--quick", "--thorough", "--threads"],
        ),
        ("Runs:", &["--runs", "--seed", "--precision"]),
        ("Output:", &["--json", "--quiet", "--verbose", "--color"]),
    ];
    for command in [
        "plan", "prio", "batch", "verify", "simulate", "study", "show", "explain",
    ] {
        let help = cairn_in(100, &[command, "--help"], b"").stdout;
        let mut heading = "";
        let (options, _) = help.split_once("\nExamples:").unwrap_or((&help, ""));
        for line in options.lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                heading = line;
            }
            let word = line.split_whitespace().find(|word| word.starts_with("--"));
            let is_option = line.trim_start().starts_with('-') && line.starts_with("  ");
            let Some(word) = word.filter(|_| is_option && !heading.is_empty()) else {
                continue;
            };
            for (title, options) in groups {
                let belongs = options.contains(&word);
                assert_eq!(
                    heading == title,
                    belongs,
                    "{command}: {word} under {heading}"
                );
            }
        }
    }
}

#[test]
fn times_have_units_in_every_flag_that_takes_one() {
    let simulate = |flags: &[&str]| {
        let args = [&["simulate", "-", "--json", "--runs", "3"], flags].concat();
        let run = cairn_with_input(&args, DIAMOND.as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
        json(&run)["policies"].clone()
    };
    assert_eq!(simulate(&["--gap", "5m"]), simulate(&["--gap", "300"]));
    let pool = |times: [&'static str; 5]| {
        let [up, down, join, stay, durations] = times;
        simulate(&[
            "--world",
            "pool",
            "--workers",
            "3",
            "--up",
            up,
            "--down",
            down,
            "--join",
            join,
            "--stay",
            stay,
            "--durations",
            durations,
        ])
    };
    assert_eq!(
        pool(["1h30m", "exp:90s", "2m", "weibull:0.5:1d", "uniform:1m:2m"]),
        pool([
            "5400",
            "exp:90",
            "120",
            "weibull:0.5:86400",
            "uniform:60:120"
        ])
    );
    let run = cairn_with_input(&["plan", "-", "--time-limit", "1m30s"], DIAMOND.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    let run = cairn_with_input(&["plan", "-", "--time-limit", "soon"], DIAMOND.as_bytes());
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("1h30m"), "{run:?}");
}

#[test]
fn a_cycle_is_closed_and_told_with_the_lines_that_make_it() {
    let cases = [
        (
            "dagman",
            "JOB a x\nJOB b x\nJOB c x\nPARENT a CHILD b\nPARENT b CHILD c\nPARENT c CHILD a\n",
            [4, 5, 6],
        ),
        ("csv", "a,b\nb,c\nc,a\n", [1, 2, 3]),
        (
            "dot",
            "digraph {\n a -> b\n b -> c\n c -> a\n}\n",
            [2, 3, 4],
        ),
        (
            "jsonl",
            "{\"name\":\"a\",\"after\":[\"c\"]}\n{\"name\":\"b\",\"after\":[\"a\"]}\n{\"name\":\"c\",\"after\":[\"b\"]}\n",
            [2, 3, 1],
        ),
    ];
    for (format, text, lines) in cases {
        let run = cairn_with_input(&["plan", "-", "--format", format], text.as_bytes());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("a -> b -> c -> a"), "{run:?}");
        for (arc, line) in ["a -> b", "b -> c", "c -> a"].iter().zip(lines) {
            let (_, after) = run
                .stderr
                .split_once(&format!("{arc} ("))
                .unwrap_or_else(|| panic!("{arc}: {run:?}"));
            let place = after.split(')').next().unwrap();
            assert!(
                place.contains(&format!(":{line}")),
                "{format}: {arc} at {place}"
            );
        }
    }
}

#[test]
fn shell_commands_answer_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let value = json(&cairn(&["man", folder.path().to_str().unwrap(), "--json"]));
    let pages = value["pages"].as_array().unwrap();
    assert!(pages.len() > 10, "{value}");
    for page in pages {
        assert!(
            folder.path().join(page.as_str().unwrap()).exists(),
            "{page}"
        );
    }
    let written = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(pages.len(), written);
    let value = json(&cairn(&["completions", "bash", "--json"]));
    assert!(
        value["script"].as_str().unwrap().contains("_cairn"),
        "{value}"
    );
}

/// Two blocks in each other's way are told by their tasks, not by numbers that nobody else knows.
#[test]
fn blocks_in_the_way_are_told_by_their_tasks() {
    let flow = ["a -> x, b -> x, a -> y, b -> y, a -> z, b -> z, s -> u, s -> v"]
        .concat()
        .replace(", ", "\n");
    let flow = format!("digraph {{\n{flow}\n}}\n");
    for args in [
        &["plan", "-", "--quick", "-v"][..],
        &["plan", "-", "--quick", "--json"],
        &["explain", "-", "--quick", "--json"],
        &["explain", "-", "--quick"],
    ] {
        let run = cairn_with_input(args, flow.as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
        let said: Vec<&str> = run.stdout.split_whitespace().collect(); // wherever lines end
        let said = said.join(" ");
        assert!(!said.contains("BlockId"), "{run:?}");
        assert!(said.contains("their sum admits no IC-optimal"), "{run:?}");
        assert!(said.contains("K(2,3) (a, b → x, y, z)"), "{run:?}");
    }
}
