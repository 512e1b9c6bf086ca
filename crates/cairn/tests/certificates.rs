//! `cairn plan --certificate` and `cairn verify`, through the real binary: on the examples, the corpus, and files
//! that are no certificates.

mod common;

use common::{Run, cairn, root};
use serde_json::Value;
use std::path::Path;

/// Plans and verifies; returns the verifier's answer.
fn certify(file: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof.json");
    let proof = proof.to_str().unwrap();
    let planned = cairn(&[
        "plan",
        file,
        "--json",
        "--no-arrays",
        "--certificate",
        proof,
    ]);
    assert_eq!(planned.code, 0, "{file}: {planned:?}");
    let run = cairn(&["verify", file, proof, "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["accepted"], true, "{file}: {answer}");
    assert!(!answer["proved"].as_array().unwrap().is_empty());
    let is_proved = answer["asserted"] == Value::Array(Vec::new());
    assert_eq!(run.code, if is_proved { 0 } else { 3 }, "{file}: {run:?}");
    // The plan called nothing proved that is not.
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    let is_said_of = |list: &str, words: &str| {
        let claims = answer[list].as_array().unwrap().iter();
        let mut claims = claims.map(|c| c.as_str().unwrap().to_owned());
        claims.find(|c| c.contains(words))
    };
    if planned["proof"]["checked"] == "proved" {
        assert_eq!(is_said_of("asserted", "IC-optimal"), None, "{file}");
    }
    let steps = is_said_of("proved", " steps").expect("of the bound");
    let steps = steps.strip_prefix("the bound at ").unwrap();
    let steps: u64 = steps.split(' ').next().unwrap().parse().unwrap();
    let foreseen = planned["bound_checked"]["proved"].as_u64().unwrap();
    assert!(foreseen <= steps, "{file}: {foreseen} {steps}");
    answer
}

#[test]
fn every_example_is_accepted() {
    let Ok(examples) = std::fs::read_dir(root().join("examples")) else {
        skipped("every_example_is_accepted: no folder examples");
        return;
    };
    for entry in examples {
        let path = entry.unwrap().path();
        if path.is_file() && path.extension().is_some_and(|e| e != "md") {
            certify(path.to_str().unwrap());
        }
    }
}

/// A component of 133 tasks refuses, which only a search tells, and so does one of 8, which the checker proves.
#[test]
fn of_two_reasons_the_small_one_is_given_and_proved() {
    let file = root().join("crates/cairn/tests/data/refused-in-two-places.jsonl");
    let answer = certify(file.to_str().unwrap());
    let proved = answer["proved"].as_array().unwrap().iter();
    let reason = "no IC-optimal order exists: a component of 8 tasks";
    let is_proved = |claim: &Value| claim.as_str().unwrap().starts_with(reason);
    assert!(proved.clone().any(is_proved), "{answer}");
}

#[test]
fn every_corpus_entry_of_2200_tasks_is_accepted() {
    let Some(corpus) = cairn_oracle::corpus("every_corpus_entry_of_2200_tasks_is_accepted") else {
        return;
    };
    let mut manifest = csv::Reader::from_path(corpus.join("manifest.csv")).unwrap();
    let columns = manifest.headers().unwrap().clone();
    let (mut accepted, mut proved) = (0, 0);
    for row in manifest.records() {
        let row = row.unwrap();
        let field = |name: &str| {
            let at = columns.iter().position(|c| c == name).unwrap();
            row.get(at).unwrap()
        };
        if field("cyclic") == "True" || field("tasks").parse::<u64>().unwrap() > 2200 {
            continue;
        }
        let answer = certify(corpus.join(field("file")).to_str().unwrap());
        accepted += 1;
        proved += u32::from(answer["asserted"] == Value::Array(Vec::new()));
    }
    assert!(accepted >= 30, "{accepted}");
    assert!(
        accepted - proved <= 1,
        "all but one are proved throughout: {proved} of {accepted}"
    );
}

fn skipped(what: &str) {
    use std::io::Write;
    // Nobody reads standard error: then nobody needs to be told.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

/// A small workflow and its certificate in a folder of their own.
fn prepared() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (dag, proof) = (path("flow.dag"), path("proof.json"));
    let text = "JOB a x\nJOB b x\nJOB c x\nJOB d x\nPARENT a CHILD b c\nPARENT b c CHILD d\n";
    std::fs::write(&dag, text).unwrap();
    let run = cairn(&["plan", &dag, "--certificate", &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    (folder, dag, proof)
}

fn verify_text(dag: &str, proof: &str, text: &[u8]) -> Run {
    std::fs::write(proof, text).unwrap();
    let run = cairn(&["verify", dag, proof]);
    assert!(!run.stderr.contains("panicked"), "{run:?}");
    run
}

#[test]
fn people_read_what_is_proved() {
    let (_folder, dag, proof) = prepared();
    let run = cairn(&["verify", &dag, &proof]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout
            .contains("accepted, verdict optimal, all of it proved"),
        "{run:?}"
    );
}

/// A false claim that no order is optimal, of a dag too large to enumerate: never as good as proved for a script.
#[test]
fn what_is_only_asserted_has_an_exit_code_of_its_own() {
    let data = root().join("crates/cairn/tests/data");
    let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let (dag, proof) = (
        path("false-none-exists.jsonl"),
        path("false-none-exists.json"),
    );
    let run = cairn(&["verify", &dag, &proof]);
    assert!([1, 3].contains(&run.code), "{run:?}");
    let allowed = cairn(&["verify", &dag, &proof, "--allow-asserted"]);
    assert_eq!(allowed.code, if run.code == 3 { 0 } else { 1 }, "{run:?}");
    assert_eq!(run.stdout, allowed.stdout);
    assert_eq!(run.stderr, "", "the answer says it all");
    // The plan of the same dag is done, whatever its verdict.
    assert_eq!(cairn(&["plan", &dag]).code, 0);
}

#[test]
fn damaged_files_are_refused() {
    let (_folder, dag, proof) = prepared();
    let good = std::fs::read(&proof).unwrap();
    for cut in [0, 1, good.len() / 3, good.len() - 3] {
        let run = verify_text(&dag, &proof, &good[..cut]);
        assert_eq!(run.code, 2, "cut at {cut}: {run:?}");
    }
    let deep = "[".repeat(1_000_000);
    let huge = String::from_utf8(good.clone())
        .unwrap()
        .replace("\"version\":1", "\"version\":1e999");
    let negative = String::from_utf8(good.clone())
        .unwrap()
        .replace("\"bound\":[1", "\"bound\":[-1");
    let extra = String::from_utf8(good.clone())
        .unwrap()
        .replace("\"version\"", "\"extra\":1,\"version\"");
    let twice = String::from_utf8(good)
        .unwrap()
        .replace("\"version\"", "\"version\":1,\"version\"");
    for text in [
        deep.as_str(),
        "null",
        "{}",
        "hello",
        &huge,
        &negative,
        &extra,
        &twice,
    ] {
        let run = verify_text(&dag, &proof, text.as_bytes());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("no certificate"), "{run:?}");
    }
    assert_eq!(verify_text(&dag, &proof, b"\xff\xfe{}").code, 2);
    std::fs::remove_file(&proof).unwrap();
    assert_eq!(cairn(&["verify", &dag, &proof]).code, 2, "no such file");
}

#[test]
fn false_certificates_are_rejected() {
    let (folder, dag, proof) = prepared();
    let good = std::fs::read_to_string(&proof).unwrap();
    for (old, new, word) in [
        ("\"optimal\"", "\"open\"", "verdict"),
        ("\"profile\":[1,2", "\"profile\":[1,3", "profile"),
        ("\"bound\":[1,2", "\"bound\":[1,3", "bound"),
        ("\"version\":1", "\"version\":2", "version"),
        ("\"order\":[\"a\"", "\"order\":[\"d\"", "order"),
    ] {
        assert!(good.contains(old), "{good}");
        let run = verify_text(&dag, &proof, good.replace(old, new).as_bytes());
        assert_eq!(run.code, 1, "{run:?}");
        assert!(
            run.stdout.contains("rejected") && run.stdout.contains(word),
            "{run:?}"
        );
    }
    let other = folder.path().join("other.dag");
    std::fs::write(&other, "JOB a x\nJOB b x\nPARENT a CHILD b\n").unwrap();
    std::fs::write(&proof, good).unwrap();
    let run = cairn(&["verify", other.to_str().unwrap(), &proof, "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["accepted"], false);
    assert!(answer["reason"].as_str().unwrap().contains("another dag"));
}

/// Certificates that were made to deceive: each says something false that what it shows itself refutes.
#[test]
fn certificates_that_refute_themselves_are_rejected() {
    let folder = root().join("crates/cairn/tests/data");
    for (name, word) in [
        // An order far from the best, "optimal" by a bound below sets of its own hull.
        ("false-not-optimal", "too low"),
        // Four tasks; the bound is false at a step where only tasks without children are left.
        ("false-low-bound", "too low"),
        // An FFT: "none exists", and nothing shown for it.
        ("false-none-exists", "does admit"),
        // A set that contains the corner's set, said to be out of its reach.
        ("false-wrong-corner", "contains"),
    ] {
        let path = |end: &str| {
            folder
                .join(format!("{name}.{end}"))
                .to_str()
                .unwrap()
                .to_owned()
        };
        let run = cairn(&["verify", &path("jsonl"), &path("json")]);
        assert_eq!(run.code, 1, "{name}: {run:?}");
        assert!(
            run.stdout.contains("rejected") && run.stdout.contains(word),
            "{name}: {run:?}"
        );
    }
}

#[test]
fn an_order_that_breaks_a_dependency_is_rejected() {
    let (_folder, dag, proof) = prepared();
    let mut certificate: Value =
        serde_json::from_str(&std::fs::read_to_string(&proof).unwrap()).unwrap();
    let order = certificate["order"].as_array_mut().unwrap();
    let last = order.len() - 1;
    order.swap(0, last);
    let (last, first) = (order[last].clone(), order[0].clone());
    let run = verify_text(&dag, &proof, certificate.to_string().as_bytes());
    assert_eq!(run.code, 1, "{run:?}");
    for word in ["rejected", first.as_str().unwrap(), last.as_str().unwrap()] {
        assert!(run.stdout.contains(word), "'{word}' is not in {run:?}");
    }
}

#[test]
fn a_certificate_is_for_the_plans_own_order() {
    let (_folder, dag, proof) = prepared();
    assert!(Path::new(&proof).is_file());
    for more in [&["--policy", "fifo"][..], &["--memory-cap", "9"]] {
        let args = [&["plan", &dag, "--certificate", &proof], more].concat();
        assert_eq!(cairn(&args).code, 2, "{more:?}");
    }
    assert_eq!(cairn(&["plan", &dag, "--certificate", "-"]).code, 2);
}
