//! Whether a text looks like a Makeflow file. Knows the looks of its lines, and what programs and prose look like instead.

use super::logical::{Logical, Scan, unquoted};
use super::variables::is_name;

/// Whether the text begins as a Makeflow file does: rules with one command each, variables, directives, and hardly
/// anything else. Programs and prose have colons and tabs, too.
pub(crate) fn looks_like(text: &str) -> bool {
    let mut scan = Scan::of(text);
    let (mut rules, mut good, mut bad) = (0, 0, 0);
    let mut open = false;
    // Logical lines; more would not change the verdict, and a large file of another kind is not read to its end.
    for _ in 0..200 {
        let Some((Logical { text, .. }, open_quote)) = scan.next_logical() else {
            break;
        };
        if text.trim().is_empty() {
            continue;
        }
        let statement = text.strip_prefix('@').unwrap_or(&text);
        if open_quote.is_some() {
            bad += 1;
        } else if text.starts_with([' ', '\t']) {
            match std::mem::take(&mut open) {
                true => rules += 1,
                false => bad += 1,
            }
        } else if is_rule(statement) {
            bad += usize::from(std::mem::replace(&mut open, true));
        } else if is_setting(statement) {
            good += 1;
        } else {
            bad += 1;
        }
    }
    // One line in six may be wrong: a file with mistakes must still be read as Makeflow, to name them.
    rules > 0 && bad * 5 <= rules + good
}

/// Whether the line can be the head of a rule: files, a colon, files.
fn is_rule(line: &str) -> bool {
    let Some(colon) = unquoted(line, b':') else {
        return false;
    };
    if unquoted(line, b'=').is_some_and(|equals| equals < colon) {
        return false;
    }
    let is_word = |word: &str| {
        let plain = word.replace("$(", "").replace("${", "");
        let brackets = plain.len() < word.len();
        !plain.contains(['(', '[', ';', '<', '|', '*', ',', '!', '?', '`'])
            && (brackets || !plain.contains([')', '{', '}']))
    };
    let first = line.split_whitespace().next().unwrap_or("");
    // Python, Snakemake, Ninja and C have a colon in such lines, where a rule has it.
    let keywords = [
        "def",
        "class",
        "if",
        "for",
        "while",
        "else",
        "elif",
        "try",
        "with",
        "case",
        "rule",
        "build",
        "checkpoint",
        "else:",
        "try:",
        "default:",
        "public:",
        "private:",
    ];
    let behind = &line[colon + 1..];
    (behind.is_empty() || behind.starts_with([' ', '\t']))
        && line[..colon].split_whitespace().all(is_word)
        && behind
            .split_whitespace()
            .all(|word| is_word(word) || word.contains("->"))
        && !keywords.contains(&first)
}

/// Whether the line sets a variable, exports one or is a directive.
fn is_setting(line: &str) -> bool {
    let mut words = line.split_whitespace();
    if let Some("export" | ".MAKEFLOW" | ".SIZE" | ".UMBRELLA") = words.next() {
        return words.next().is_some();
    }
    line.split_once('=').is_some_and(|(name, value)| {
        let name = name.trim().trim_end_matches('+').trim();
        is_name(name) && !value.starts_with('=')
    })
}
