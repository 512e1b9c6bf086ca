//! What JSON readers and writers share: parsing a whole document, where its errors are, and quoting. Knows no
//! workflow format.

use crate::draft::Draft;
use crate::{Place, Source};
use serde::Deserialize;
use std::fmt::Write as _;

/// Parses the whole source, or reports why not.
pub(crate) fn parse<'s, T: Deserialize<'s>>(draft: &mut Draft<'s, '_>) -> Option<T> {
    match serde_json::from_str(draft.source().text()) {
        Ok(value) => Some(value),
        Err(error) => {
            unreadable(draft, &error);
            None
        }
    }
}

/// Reports an error of a document that is the whole source.
pub(crate) fn unreadable(draft: &mut Draft<'_, '_>, error: &serde_json::Error) {
    draft.unreadable(|source| place(source, error), message(error), help(error));
}

fn place(source: &Source, error: &serde_json::Error) -> Place {
    // An error that serde made without the text, such as a field that is missing.
    if error.line() == 0 {
        return source.place();
    }
    let line = source
        .text()
        .split('\n')
        .nth(error.line() - 1)
        .unwrap_or("");
    source.place_in_line(
        error.line() as u32,
        line.as_bytes(),
        Some(error.column().saturating_sub(1)),
    )
}

/// What is wrong, without the place.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    match error.classify() {
        serde_json::error::Category::Data => text.to_owned(),
        _ => format!("this is not JSON: {text}"),
    }
}

pub(crate) fn help(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "the file seems to be cut off: copy it again",
        serde_json::error::Category::Syntax => "correct the JSON here",
        _ => "correct the value here",
    }
}

/// Appends items in brackets, each as `push` has it: a list of JSON, and of TOML.
pub(crate) fn push_list<T>(
    text: &mut String,
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    text.push('[');
    for (i, item) in items.enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        push(text, item);
    }
    text.push(']');
}

/// Appends what needs no quotes.
pub(crate) fn push_plain(text: &mut String, value: std::fmt::Arguments<'_>) {
    text.write_fmt(value).expect("a String takes everything");
}

/// Appends `string` in quotes, escaped.
pub(crate) fn push_string(text: &mut String, string: &str) {
    let plain = |b: u8| b >= 0x20 && b != b'"' && b != b'\\';
    // Nearly every string: copied whole, without a look at each character.
    if string.bytes().all(plain) {
        text.push('"');
        text.push_str(string);
        text.push('"');
        return;
    }
    let quoted = serde_json::to_string(string);
    text.push_str(&quoted.expect("a string is always JSON"));
}
