//! Whatever product code says to people is heard in a sheet of `snapshots`, or by a test that is named in `sheets/in_tests.rs`, or
//! is listed in `sheets/unheard.rs` with the reason. Runs nothing: it reads the sources, the snapshots and the tests.

#[path = "sheets/in_tests.rs"]
mod in_tests;
#[path = "common/source.rs"]
mod source;
#[path = "sheets/unheard.rs"]
mod unheard;

use in_tests::IN_TESTS;
use source::{Code, product, sources};
use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};
use unheard::UNHEARD;

/// A file, and words of what it says.
pub(crate) type Said = (&'static str, &'static [&'static str]);

/// Crates whose every sentence is for people, but for those that are for nobody.
const SPEAKING: [&str; 6] = [
    "cairn",
    "cairn-formats",
    "cairn-serve",
    "cairn-engine",
    "cairn-submit",
    "cairn-py",
];

/// Crates that say to people what stands in `#[error(…)]`, and give numbers for the rest.
const QUIET: [&str; 6] = [
    "cairn-dag",
    "cairn-theory",
    "cairn-plan",
    "cairn-verify",
    "cairn-sim",
    "cairn-show",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn whatever_is_said_is_in_a_sheet() {
    let answers = answers();
    let is_heard = |text: &str| answers.iter().any(|answer| says(answer, text));
    let mut texts: Vec<(String, String)> = Vec::new();
    for name in SPEAKING {
        texts.extend(said(name, |code, n| !is_for_nobody(code, n)));
    }
    for name in QUIET {
        texts.extend(said(name, in_an_error));
    }
    assert!(texts.len() > 1500, "only {} texts were found", texts.len());
    let listed = || (UNHEARD.iter().chain(IN_TESTS)).flat_map(|(_, said)| said.iter());
    let listed = || listed().flat_map(|(place, words)| words.iter().map(move |w| (*place, *w)));
    let mut left: BTreeSet<(&str, &str)> = listed().collect();
    let mut unheard = Vec::new();
    for (place, text) in texts.iter().filter(|(_, text)| !is_heard(text)) {
        let is_it = |(of, words): &(&str, &str)| place == of && text.contains(words);
        let known: Vec<_> = listed().filter(is_it).collect();
        if known.is_empty() {
            unheard.push(format!("{place}: {text}"));
        }
        left.retain(|entry| !known.contains(entry));
    }
    assert!(unheard.is_empty(), "in no sheet:\n{}", unheard.join("\n"));
    assert!(
        left.is_empty(),
        "this is heard, or nobody says it any more: {left:#?}"
    );
}

#[test]
fn tests_that_are_said_to_hear_have_the_words() {
    for (test, said) in IN_TESTS {
        let text = read_to_string(crates().join("..").join(test));
        let text = on_one_line(&text.unwrap_or_else(|e| panic!("{test}: {e}")));
        for words in said.iter().flat_map(|(_, words)| words.iter()) {
            assert!(text.contains(words), "{test} does not hear: {words}");
        }
    }
}

/// What each command line of the sheets was answered. Not the helps: they say nothing of what went wrong.
fn answers() -> Vec<String> {
    let mut answers = Vec::new();
    for path in read_dir(crates().join("cairn/tests/snapshots")).unwrap() {
        let path = path.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // Not what insta leaves beside them of a text that nobody has accepted.
        if name.ends_with(".snap") && !name.starts_with("help") && name != "shells.snap" {
            let text = read_to_string(&path).unwrap();
            answers.extend(text.split("\n$ ").map(on_one_line));
        }
    }
    answers
}

/// Whether an answer has all that stands in a text around what is filled in, in this order.
fn says(answer: &str, text: &str) -> bool {
    let mut rest = Some(answer);
    for part in parts(text) {
        rest = rest
            .and_then(|rest| rest.split_once(&part))
            .map(|(_, behind)| behind);
    }
    rest.is_some()
}

/// The sentences of a crate's product code that count by `counts`, which is given the code and the number of a string in it.
fn said(of: &str, counts: fn(&Code, usize) -> bool) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for path in sources(&crates().join(of).join("src")) {
        let place = format!(
            "{of}/src/{}",
            path.to_str().unwrap().split("/src/").last().unwrap()
        );
        // What the flags are is in the helps, each of which is a snapshot.
        if ["test", "twin.rs", "cairn/src/cli"]
            .iter()
            .any(|name| place.contains(name))
        {
            continue;
        }
        let code = product(&path);
        let strings = code.strings.iter().enumerate();
        let strings = strings.filter(|(n, (_, text))| is_sentence(text) && counts(&code, *n));
        said.extend(strings.map(|(_, (_, text))| (place.clone(), text.clone())));
    }
    said
}

/// Words are names of fields and keys, too; three of them in a row are not.
fn is_sentence(text: &str) -> bool {
    let is_long = |part: &String| part.len() >= 16 && part.contains(' ');
    parts(text).iter().any(is_long)
}

/// What stands between the braces, where something is filled in.
fn parts(text: &str) -> Vec<String> {
    let text = text.replace("{{", "\0").replace("}}", "\x01");
    let parts = text.split('{');
    let parts = parts.map(|p| p.split_once('}').map_or(p, |(_, rest)| rest));
    let parts = parts.map(|p| on_one_line(&p.replace('\0', "{").replace('\x01', "}")));
    parts.filter(|part| !part.is_empty()).collect()
}

/// What stands in front of a string.
fn before(code: &Code, n: usize) -> &str {
    code.bare[..code.strings[n].0.start].trim_end_matches(['"', '#', 'r', ' ', '\n'])
}

fn in_an_error(code: &Code, n: usize) -> bool {
    before(code, n).ends_with("#[error(")
}

/// What is said of our own mistakes, to the compiler, in the document of the interface, of what is going on in a terminal, and to other
/// programs.
fn is_for_nobody(code: &Code, n: usize) -> bool {
    let ends = [
        "expect(",
        "unreachable!(",
        "reason =",
        "description =",
        "derive_key(",
        "progress(",
        // What others say.
        ".contains(",
    ];
    ends.iter().any(|end| before(code, n).ends_with(end)) || is_for_machines(&code.strings[n].1)
}

/// SQL, HTML and SVG, types of content, lines of a shell, and files for other programs: those are of several lines.
fn is_for_machines(text: &str) -> bool {
    let begins = [
        "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "PRAGMA ", "<", "text/", "#!/",
    ];
    let is_shell = ["=\"", "$(", "\"$"].iter().any(|sign| text.contains(sign));
    is_shell || text.lines().count() > 2 || begins.iter().any(|begin| text.starts_with(begin))
}

/// As in a sheet, without the lines and marks that a terminal's width makes.
fn on_one_line(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| *word != "!");
    words.collect::<Vec<_>>().join(" ")
}
