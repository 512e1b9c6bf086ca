//! The table of statements in the docs names every numbered statement of the papers, and only tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

fn docs() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(here.join("../../docs/theory.md")).unwrap()
}

#[test]
fn every_test_named_in_the_docs_exists() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = 0;
    for word in docs().split('`') {
        let Some((file, test)) = word
            .split_once("::")
            .filter(|(file, _)| file.ends_with(".rs"))
        else {
            continue;
        };
        let source = std::fs::read_to_string(here.join(file)).expect(file);
        assert!(
            source.contains(&format!("fn {test}(")),
            "{file} has no test {test}"
        );
        named += 1;
    }
    assert!(named > 40, "only {named} tests are named");
}

/// All that the papers number: kind, first part of the number ("" where there is none), how many there are.
const STATEMENTS: [(&str, &str, &str, u32); 25] = [
    ("MRY06", "Lemma", "", 5),
    ("MRY06", "Theorem", "", 7),
    ("MRY06", "Corollary", "", 1),
    ("CMR07", "Lemma", "2.", 3),
    ("CMR07", "Theorem", "2.", 1),
    ("CMR07", "Lemma", "4.", 1),
    ("CMR07", "Theorem", "4.", 2),
    ("CMR07", "Corollary", "4.", 1),
    ("CMR07", "Lemma", "5.", 2),
    ("CMR07", "Theorem", "5.", 3),
    ("CMR07", "Corollary", "5.", 1),
    ("CMR07", "Claim", "", 7),
    ("MR05", "Lemma", "2.", 1),
    ("MR05", "Lemma", "3.", 2),
    ("MR05", "Theorem", "3.", 1),
    ("MR05", "Lemma", "4.", 2),
    ("MR05", "Theorem", "4.", 1),
    ("MR05", "Lemma", "5.", 1),
    ("MR05", "Theorem", "5.", 1),
    ("MR05", "Theorem", "6.", 1),
    ("RY05", "Rule", "", 4),
    ("RY05", "Lemma", "3.", 2),
    ("RY05", "Theorem", "3.", 2),
    ("RY05", "Lemma", "4.", 3),
    ("RY05", "Lemma", "5.", 2),
];

/// The rest of [RY05], whose theorems and corollaries of §§4 and 5 go two by two and one by one.
const MORE: [(&str, &str, &str); 6] = [
    ("RY05", "Theorem", "4.1"),
    ("RY05", "Theorem", "4.2"),
    ("RY05", "Corollary", "4.1"),
    ("RY05", "Theorem", "5.1"),
    ("RY05", "Theorem", "5.2"),
    ("RY05", "Corollary", "5.1"),
];

#[test]
fn every_numbered_statement_of_the_papers_has_its_row() {
    let docs = docs();
    let mut rows = BTreeSet::new();
    for line in docs.lines().filter(|l| l.starts_with("| [")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        assert!(
            cells
                .last()
                .is_some_and(|c| c.contains("::") || c.contains("(")),
            "a row names neither a test nor why there is none: {line}"
        );
        rows.extend(statements(cells[0]));
    }
    let numbered = STATEMENTS
        .iter()
        .flat_map(|&(paper, kind, chapter, count)| {
            (1..=count).map(move |i| format!("{paper} {kind} {chapter}{i}"))
        });
    let more = MORE.map(|(paper, kind, number)| format!("{paper} {kind} {number}"));
    for statement in numbered.chain(more) {
        assert!(rows.contains(&statement), "{statement} has no row");
    }
}

/// "[MRY06] Theorems 1, 2, [CMR07] Rules 1–4" as "MRY06 Theorem 1", …
fn statements(cell: &str) -> Vec<String> {
    let (mut paper, mut kind) = (String::new(), String::new());
    let mut found = Vec::new();
    for word in cell.split([' ', ',', ':']).filter(|w| !w.is_empty()) {
        if let Some(name) = word.strip_prefix('[') {
            paper = name.trim_end_matches(']').to_owned();
        } else if let Some(singular) = singular(word) {
            kind = singular.to_owned();
        } else if word.starts_with(|c: char| c.is_ascii_digit()) && !kind.is_empty() {
            let number = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
            let (first, last) = number.split_once('–').unwrap_or((number, number));
            match (first.parse::<u32>(), last.parse::<u32>()) {
                (Ok(first), Ok(last)) => {
                    found.extend((first..=last).map(|i| format!("{paper} {kind} {i}")));
                }
                _ => found.push(format!("{paper} {kind} {number}")),
            }
        } else if !word.starts_with('|') {
            kind.clear();
        }
    }
    found
}

fn singular(word: &str) -> Option<&str> {
    let kinds = ["Lemma", "Theorem", "Corollary", "Claim", "Rule"];
    kinds.into_iter().find(|&k| {
        word == k
            || word.strip_suffix('s') == Some(k)
            || (k == "Corollary" && word == "Corollaries")
    })
}

#[test]
fn first_cells_are_read() {
    assert_eq!(
        statements("| [MRY06] Lemma 3, [CMR07] Lemmas 2.1, 2.2a, Rules 1–3"),
        [
            "MRY06 Lemma 3",
            "CMR07 Lemma 2.1",
            "CMR07 Lemma 2.2",
            "CMR07 Rule 1",
            "CMR07 Rule 2",
            "CMR07 Rule 3"
        ]
    );
    assert_eq!(statements("| [RY05] §4, as corrected below"), [""; 0]);
}
