//! `--disk` through the real binary: orders under a cap on the disk, refusals with their proof, certificates, simulations,
//! bad sizes and files.

mod common;

use common::{Run, cairn, cairn_with_input};
use serde_json::Value;

/// Two samples: a large file, a small one made of it, and a report that reads both small ones.
const SAMPLES: &str = r#"{"name":"map-1","outputs":[{"path":"1.bam","bytes":100}]}
{"name":"map-2","outputs":[{"path":"2.bam","bytes":100}]}
{"name":"call-1","after":["map-1"],"inputs":["1.bam"],"outputs":[{"path":"1.vcf","bytes":10}]}
{"name":"call-2","after":["map-2"],"inputs":["2.bam"],"outputs":[{"path":"2.vcf","bytes":10}]}
{"name":"report","after":["call-1","call-2"],"inputs":["1.vcf","2.vcf"],"outputs":[{"path":"report.html","bytes":1}]}
"#;

fn plan(flow: &str, more: &[&str]) -> Run {
    cairn_with_input(&[&["plan", "-"], more].concat(), flow.as_bytes())
}

fn storage(flow: &str, more: &[&str]) -> Value {
    let run = plan(flow, &[&["--json"], more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn a_cap_is_kept_and_the_smallest_peak_is_proved() {
    // One sample after the other: 100 + 10, then 10 + 100 + 10.
    let value = storage(SAMPLES, &["--disk", "120B"]);
    let found = &value["storage"];
    assert_eq!(found["peak"], 120);
    assert_eq!(found["lower_bound"], 120);
    assert_eq!(found["proved_least"], true);
    assert_eq!(found["cap"], 120);
    assert_eq!(found["order_peak"], 120);
    assert_eq!(found["unknown_sizes"], 0);
    let order: Vec<&str> = value["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    let place = |name: &str| order.iter().position(|n| *n == name).unwrap();
    let (first, second) = (
        place("map-1").min(place("map-2")),
        place("map-1").max(place("map-2")),
    );
    let calls = place("call-1").min(place("call-2"));
    assert!(first < calls && calls < second, "{order:?}");
    let curve = found["curve"].as_array().unwrap();
    assert_eq!(curve[0][0], 120);
    let rises =
        |w: &[Value]| w[0][0].as_u64() < w[1][0].as_u64() && w[0][1].as_u64() <= w[1][1].as_u64();
    assert!(curve.windows(2).all(rises), "{curve:?}");
    // With room for both, the order is that of a plan without a cap.
    let free = storage(SAMPLES, &["--disk", "1kB"]);
    assert_eq!(free["order"], storage(SAMPLES, &[])["order"]);
    assert!(
        storage(SAMPLES, &[]).get("storage").is_none(),
        "without a cap there is none"
    );
}

/// What an executed task left lies there, and counts until it is read; the checker counts it, too.
#[test]
fn temporary_files_of_executed_tasks_count_until_they_are_read() {
    let flow = r#"{"name":"a","outputs":[{"path":"x","bytes":100,"temp":true}]}
{"name":"b","after":["a"],"inputs":["x"],"outputs":[{"path":"y","bytes":10}]}
{"name":"c","after":["b"],"inputs":["y"],"outputs":[{"path":"z","bytes":50}]}
"#;
    let value = storage(flow, &["--disk", "110B", "--executed", "a"]);
    let found = &value["storage"];
    assert_eq!(
        (&found["peak"], &found["order_peak"]),
        (&110.into(), &110.into())
    );
    assert_eq!(found["lower_bound"], 110);
    let run = plan(flow, &["--disk", "109B", "--executed", "a"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("'x'"), "{run:?}");
    // Once b is executed, x is gone and y stands outside: an input of what is left.
    let value = storage(flow, &["--disk", "50B", "--executed", "a,b", "--temp", "z"]);
    assert_eq!(value["storage"]["peak"], 50);
    let folder = tempfile::tempdir().unwrap();
    let (file, proof) = (
        folder.path().join("x.jsonl"),
        folder.path().join("proof.json"),
    );
    std::fs::write(&file, flow).unwrap();
    let (file, proof) = (file.to_str().unwrap(), proof.to_str().unwrap());
    let run = cairn(&[
        "plan",
        file,
        "--disk",
        "110B",
        "--executed",
        "a",
        "--certificate",
        proof,
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = cairn(&["verify", file, proof, "--executed", "a", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
}

/// Who names only the folder, names nothing, or is the child of who wrote what nobody is said to read, reads it as well.
#[test]
fn what_executed_tasks_left_counts_without_being_named() {
    let folder = tempfile::tempdir().unwrap();
    let (file, proof) = (
        folder.path().join("x.jsonl"),
        folder.path().join("proof.json"),
    );
    let (file, proof) = (file.to_str().unwrap(), proof.to_str().unwrap());
    for reads in [
        r#","inputs":["d"]"#,
        r#","inputs":["./d/"]"#,
        "",
        r#","inputs":["raw"]"#,
    ] {
        let flow = format!(
            r#"{{"name":"a","outputs":[{{"path":"d/x","bytes":100,"temp":true}}]}}
{{"name":"b","after":["a"]{reads},"outputs":[{{"path":"y","bytes":10}}]}}
"#
        );
        let run = plan(&flow, &["--disk", "109B", "--executed", "a"]);
        assert_eq!(run.code, 2, "{reads}: {run:?}");
        assert!(run.stderr.contains("'d/x'"), "{reads}: {run:?}");
        std::fs::write(file, &flow).unwrap();
        let capped = ["--disk", "110B", "--executed", "a"];
        let run = cairn(&[&["plan", file, "--certificate", proof], &capped[..]].concat());
        assert_eq!(run.code, 0, "{reads}: {run:?}");
        let run = cairn(&["verify", file, proof, "--executed", "a"]);
        assert_eq!(run.code, 0, "{reads}: {run:?}");
    }
}

#[test]
fn below_the_lower_bound_the_refusal_has_its_proof_and_the_cure_works() {
    let run = plan(SAMPLES, &["--disk", "119B"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("no order stays within 119B"), "{run:?}");
    assert!(
        run.stderr.contains("independent tasks goes last"),
        "{run:?}"
    );
    assert!(
        run.stderr.contains("'1.vcf'") || run.stderr.contains("'2.vcf'"),
        "{run:?}"
    );
    let (_, advice) = run.stderr.split_once("give at least ").unwrap();
    let words: Vec<&str> = advice.split_whitespace().collect();
    assert_eq!(words, ["--disk", "120B"]);
    assert_eq!(plan(SAMPLES, &words).code, 0);
    // Already one task alone can be too much.
    let alone = plan(SAMPLES, &["--disk", "109B"]);
    assert!(
        alone.code == 2 && alone.stderr.contains("no order"),
        "{alone:?}"
    );
}

#[test]
fn people_read_it_in_units_with_what_is_assumed() {
    let run = plan(SAMPLES, &["--disk", "150B"]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("disk 120 B at the most, under a cap of 150 B"),
        "{run:?}"
    );
    assert!(
        text.contains("no order needs less than 120 B, which was proved"),
        "{run:?}"
    );
    assert!(
        text.contains(
            "taken as temporary: 4 files that tasks read ('1.bam', '2.bam', '1.vcf' and 1 more)"
        ) && text.contains("final results stand outside the cap"),
        "{run:?}"
    );
    let marked = plan(SAMPLES, &["--disk", "200B", "--temp", "*.bam"]);
    let text = marked
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("only files marked temporary are freed, 2 files ('1.bam', '2.bam')"),
        "{marked:?}"
    );
}

#[test]
fn unknown_sizes_are_said_aloud_and_can_be_given() {
    let flow = r#"{"name":"a","outputs":[{"path":"x.bam"},{"path":"y","bytes":7}]}
{"name":"b","after":["a"],"inputs":["x.bam","y"]}
"#;
    let value = storage(flow, &["--disk", "10B"]);
    assert_eq!(value["storage"]["unknown_sizes"], 1);
    assert_eq!(value["storage"]["peak"], 7);
    let run = plan(flow, &["--disk", "10B"]);
    assert!(
        run.stderr
            .contains("the size of 1 file is not known ('x.bam')"),
        "{run:?}"
    );
    let given = storage(flow, &["--disk", "1kB", "--size-of", "*.bam=20B"]);
    assert_eq!(given["storage"]["peak"], 27);
    let assumed = storage(flow, &["--disk", "1kB", "--default-size", "5B"]);
    assert_eq!(assumed["storage"]["peak"], 12);
    let none = plan(
        "{\"name\":\"a\"}\n{\"name\":\"b\",\"after\":[\"a\"]}\n",
        &["--disk", "1GB"],
    );
    assert!(
        none.code == 2 && none.stderr.contains("--default-size"),
        "{none:?}"
    );
}

#[test]
fn files_that_cannot_be_counted_are_named() {
    let refused = |flow: &str, more: &[&str], words: &[&str]| {
        let run = plan(flow, &[&["--disk", "1GB"], more].concat());
        assert_eq!(run.code, 2, "{run:?}");
        for word in words {
            assert!(run.stderr.contains(word), "{word}: {run:?}");
        }
    };
    let twice = r#"{"name":"a","outputs":[{"path":"x","bytes":1}]}
{"name":"b","outputs":[{"path":"x","bytes":1}]}
"#;
    refused(twice, &[], &["two tasks write 'x'", "'a'", "'b'"]);
    let input = r#"{"name":"a","inputs":["raw"],"outputs":[{"path":"x","bytes":1}]}
{"name":"b","after":["a"],"inputs":["x"]}
"#;
    refused(
        input,
        &["--temp", "raw"],
        &["'raw' is marked temporary", "'a' reads it"],
    );
    for size in ["-5", "1e30", "1.5", "\"-2GB\""] {
        let odd = format!("{{\"name\":\"a\",\"outputs\":[{{\"path\":\"x\",\"bytes\":{size}}}]}}\n");
        refused(
            &odd,
            &[],
            &["whole number of bytes, not below zero", "-:1:"],
        );
    }
    let marked = r#"{"name":"a","inputs":[{"path":"raw","temp":true}]}"#;
    refused(
        marked,
        &[],
        &["'temp' belongs to the task that writes 'raw'"],
    );
    let huge = r#"{"name":"a","outputs":[{"path":"x","bytes":18446744073709551615},{"path":"y","bytes":9}]}
{"name":"b","after":["a"],"inputs":["x","y"]}
"#;
    refused(huge, &[], &["more than 2^60 bytes", "'x'"]);
}

#[test]
fn bad_sizes_are_refused_before_a_file_is_opened() {
    for (more, words) in [
        ("--disk=lots", "--disk lots is no size"),
        ("--disk=-5GB", "--disk -5GB is no size"),
        ("--disk=5", "--disk 5 is no size"),
        ("--disk=99999999999TB", "is no size"),
        ("--disk=0%free", "--disk 0%free is no size"),
        ("--disk=101%free", "--disk 101%free is no size"),
        ("--disk=90%", "--disk 90% is no size"),
    ] {
        let run = cairn_with_input(&["plan", "/nowhere/at.all", more], b"");
        assert!(run.code == 2 && run.stderr.contains(words), "{run:?}");
    }
    for flag in [["--size-of", "*.bam"], ["--default-size", "big"]] {
        let more = [&["plan", "/nowhere/at.all", "--disk", "1GB"], &flag[..]].concat();
        let run = cairn_with_input(&more, b"");
        assert!(run.code == 2 && run.stderr.contains(flag[1]), "{run:?}");
    }
}

#[test]
fn a_share_of_the_free_space_is_a_cap_too() {
    let run = plan(SAMPLES, &["--disk", "90%free"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("the cap is 90 % of the"), "{run:?}");
    let value = storage(SAMPLES, &["--disk", "90%free"]);
    let of = &value["storage"]["cap_of_free"];
    let (free, cap) = (
        of["free"].as_f64().unwrap(),
        value["storage"]["cap"].as_f64().unwrap(),
    );
    assert_eq!(of["share"], 0.9);
    assert!((cap - 0.9 * free).abs() <= 1.0, "{value}");
}

/// What the samples' plan certifies under a cap, in files of their own.
fn certified(folder: &std::path::Path, cap: &str) -> (String, String) {
    let [flow, proof] = ["flow.jsonl", "proof.json"].map(|name| folder.join(name));
    std::fs::write(&flow, SAMPLES).unwrap();
    let [flow, proof] = [flow, proof].map(|path| path.to_str().unwrap().to_owned());
    let run = cairn(&["plan", &flow, "--disk", cap, "--certificate", &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    (flow, proof)
}

#[test]
fn a_certificate_proves_peak_cap_and_lower_bound_and_lies_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (flow, proof) = certified(folder.path(), "150B");
    let run = cairn(&["verify", &flow, &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "storage: an order needs 120 bytes at the most",
        "storage: the order under the cap of 150 bytes needs 120",
        "storage: no order needs less than 120 bytes, so that none is better",
    ] {
        assert!(text.contains(words), "{words}: {run:?}");
    }
    let honest: Value = serde_json::from_str(&std::fs::read_to_string(&proof).unwrap()).unwrap();
    let lies: [(&str, Value, &str); 6] = [
        (
            "/storage/peak",
            119.into(),
            "needs 120 bytes at the most, not 119",
        ),
        ("/storage/lower_bound", 121.into(), "and one needs 120"),
        (
            "/storage/under_cap/cap",
            119.into(),
            "more than the cap of 119",
        ),
        ("/storage/under_cap/peak", 100.into(), "not 100"),
        ("/storage/assumed/default_size", Value::from(7), ""),
        (
            "/storage/assumed/size_of",
            serde_json::json!([["*.bam", 50]]),
            "not 120",
        ),
    ];
    for (place, lie, words) in lies {
        let mut other = honest.clone();
        *other.pointer_mut(place).unwrap() = lie;
        std::fs::write(&proof, other.to_string()).unwrap();
        let run = cairn(&["verify", &flow, &proof]);
        let expected = if words.is_empty() { 0 } else { 1 };
        assert_eq!(run.code, expected, "{place}: {run:?}");
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{place}: {run:?}");
    }
    // A reason that does not carry the bound.
    let mut other = honest.clone();
    other["storage"]["reason"] = serde_json::json!({ "kind": "task", "task": "map-1" });
    std::fs::write(&proof, other.to_string()).unwrap();
    let run = cairn(&["verify", &flow, &proof]);
    assert!(
        run.code == 1 && run.stdout.contains("does not follow"),
        "{run:?}"
    );
}

#[test]
fn simulations_keep_the_cap_and_count_what_starting_whatever_fits_would_do() {
    // Twenty samples of two large steps each, joined in the end.
    let mut flow = String::new();
    for i in 0..20 {
        flow += &format!(
            "{{\"name\":\"map-{i}\",\"seconds\":10,\"outputs\":[{{\"path\":\"{i}.sam\",\"bytes\":100}}]}}\n"
        );
        flow += &format!(
            "{{\"name\":\"sort-{i}\",\"seconds\":20,\"after\":[\"map-{i}\"],\"inputs\":[\"{i}.sam\"],\"outputs\":[{{\"path\":\"{i}.bam\",\"bytes\":90}}]}}\n"
        );
        flow += &format!(
            "{{\"name\":\"call-{i}\",\"seconds\":5,\"after\":[\"sort-{i}\"],\"inputs\":[\"{i}.bam\"],\"outputs\":[{{\"path\":\"{i}.vcf\",\"bytes\":1}}]}}\n"
        );
    }
    let names: Vec<String> = (0..20).map(|i| format!("\"call-{i}\"")).collect();
    let files: Vec<String> = (0..20).map(|i| format!("\"{i}.vcf\"")).collect();
    flow += &format!(
        "{{\"name\":\"all\",\"after\":[{}],\"inputs\":[{}]}}\n",
        names.join(","),
        files.join(",")
    );
    let simulate = |cap: &str, more: &[&str]| {
        let flags = [
            "simulate", "-", "--slots", "8", "--runs", "20", "--disk", cap,
        ];
        cairn_with_input(&[&flags[..], more].concat(), flow.as_bytes())
    };
    let value = |cap: &str| -> Value {
        let run = simulate(cap, &["--json", "--policies", "auto,fifo"]);
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    let tight = value("220B");
    let storage = &tight["storage"];
    assert_eq!(storage["lower_bound"], 209);
    for policy in ["auto", "fifo"] {
        let peak = tight["policies"][policy]["peak_disk"]["mean"]
            .as_f64()
            .unwrap();
        assert!(peak > 0.0 && peak <= 220.0, "{tight}");
    }
    assert_eq!(
        storage["fits_now"]["fifo"]["stuck"], 20,
        "two maps, and no room for a sort"
    );
    assert!(storage["knee"].as_u64().unwrap() > 220);
    let curve: Vec<f64> = (storage["curve"].as_array().unwrap().iter())
        .map(|p| p[1].as_f64().unwrap())
        .collect();
    assert!(
        curve.len() > 3 && curve[0] > 1.5 * curve[curve.len() - 1],
        "{curve:?}"
    );
    let wide = value("100kB");
    assert_eq!(wide["storage"]["fits_now"]["fifo"]["stuck"], 0);
    let time = |v: &Value| v["policies"]["auto"]["makespan"]["mean"].as_f64().unwrap();
    assert!(time(&wide) < time(&tight));
    let run = simulate("220B", &[]);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("would have stopped for good in"), "{run:?}");
    assert!(text.contains("taken as temporary: 60 files"), "{run:?}");
    let run = simulate("200B", &[]);
    assert!(
        run.code == 2 && run.stderr.contains("no order stays within 200B"),
        "{run:?}"
    );
}

#[test]
fn pictures_show_bytes_in_use_against_the_cap_and_the_curve() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let show =
        |more: &[&str]| cairn_with_input(&[&["show", "-"], more].concat(), SAMPLES.as_bytes());
    let page = place("page.html");
    let run = show(&["--disk", "150B", "-o", &page]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = std::fs::read_to_string(&page).unwrap();
    for words in [
        "Disk in use",
        "Disk against area",
        "lower bound",
        ">cap<",
        ">knee<",
        "in use (B)",
    ] {
        assert!(text.contains(words), "{words}");
    }
    let one = place("use.svg");
    let run = show(&["--disk", "150B", "--what", "disk", "-o", &one]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        std::fs::read_to_string(&one)
            .unwrap()
            .contains("smallest peak found")
    );
    let run = show(&["--what", "disk", "-o", &one]);
    assert!(
        run.code == 2 && run.stderr.contains("--disk 500GB"),
        "{run:?}"
    );
    let run = show(&["--disk", "100B", "-o", &one]);
    assert!(
        run.code == 2 && run.stderr.contains("no order stays within 100B"),
        "{run:?}"
    );
}
