//! What a Makeflow file says that a flow does not hold. Knows which of its statements do.

use super::logical::{Logical, Scan, unquoted};
use super::read::DEMANDS;
use crate::Source;
use crate::loss::Tally;

/// Counts what a flow does not hold: exported and unused variables, categories, directives, modifiers, renames,
/// comments.
pub(crate) fn unheld(source: &Source, tally: &mut Tally) {
    let text = source.text();
    let is_used = |name: &str| {
        [
            format!("${name}"),
            format!("$({name})"),
            format!("${{{name}}}"),
        ]
        .iter()
        .any(|form| text.contains(&form[..]))
    };
    let is_demand = |name: &str| DEMANDS.iter().any(|(demand, _)| *demand == name);
    let mut scan = Scan::of(text);
    while let Some((Logical { text, line }, _)) = scan.next_logical() {
        let mut add = |what: &str| tally.add(what, "line", || crate::unheld::at(source, line));
        if text.starts_with([' ', '\t']) {
            match text.split_whitespace().next() {
                Some("LOCAL") => add("LOCAL before a command"),
                Some("MAKEFLOW") => add("MAKEFLOW before a command"),
                _ => {}
            }
            continue;
        }
        let text = text.strip_prefix('@').unwrap_or(&text).trim();
        let (colon, equals) = (unquoted(text, b':'), unquoted(text, b'='));
        if colon.is_some_and(|colon| equals.is_none_or(|equals| colon < equals)) {
            if text.contains("->") {
                add("names of files elsewhere (->)");
            }
        } else if text.split_whitespace().next() == Some("export") {
            add("export");
        } else if let Some(equals) = equals {
            let name = text[..equals].trim().trim_end_matches('+').trim();
            if matches!(name, "CATEGORY" | "SYMBOL") || (!is_demand(name) && !is_used(name)) {
                add(&format!("variable {name}"));
            }
        } else if text.starts_with('.') && !text.starts_with(".SIZE") {
            let mut words = text.split_whitespace();
            let (directive, key) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            if !is_demand(key) {
                add(&format!("{directive} {key}"));
            }
        }
    }
    crate::unheld::comments(source, "#", tally);
}
