//! The last stop before a terminal: plain text, line ends and our own colours pass, all else is spelled out. Knows not what
//! is said, nor where it came from.
//!
//! Text from files is made plain where it enters a sentence ([`cairn_dag::plain`], `Flow::shown`), so that it cannot even
//! begin a line. This is the second fence: whatever was forgotten there reaches no terminal as a control sequence.

use cairn_dag::{is_plain, plain};
use serde::Serialize;
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::io;
use std::path::Path;

/// The sequences that [`crate::output::Output`] paints with.
// By their whole text: any other sequence, even a harmless one, may come from a file.
const COLOURS: [&str; 4] = ["\x1b[31;1m", "\x1b[33;1m", "\x1b[36m", "\x1b[0m"];

/// Text for people.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || is_plain(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let length = colour.map_or(c.len_utf8(), |colour| colour.len());
        match c {
            _ if colour.is_some() => out.push_str(&rest[..length]),
            '\n' => out.push('\n'),
            _ => out.push_str(&plain(&rest[..length])),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// A path in a sentence.
pub(crate) fn path(path: &Path) -> String {
    plain(&path.display().to_string()).into_owned()
}

/// Writes JSON on one line. JSON's own rules escape half of the control characters; these are all of them, and those that
/// turn the direction of writing.
pub(crate) fn write_json(out: impl io::Write, value: &impl Serialize) -> io::Result<()> {
    let mut json = serde_json::Serializer::with_formatter(out, Tame);
    value.serialize(&mut json).map_err(io::Error::from)
}

struct Tame;

impl Formatter for Tame {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| !is_plain(c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            let c = rest[at..].chars().next().expect("found");
            // JSON's escapes are UTF-16.
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_line_ends_pass_and_nothing_else() {
        assert_eq!(text("a\nb ▷ é"), "a\nb ▷ é");
        let painted = "\x1b[31;1merror:\x1b[0m a\r\x1b[2J\u{9b}1m\x1b[8m";
        let fit = "\x1b[31;1merror:\x1b[0m a\\r\\u{1b}[2J\\u{9b}1m\\u{1b}[8m";
        assert_eq!(text(painted), fit);
    }

    #[test]
    fn json_reads_back_the_same_and_holds_no_control_character() {
        let value =
            serde_json::json!({ "a\u{9b}\n": ["\u{202e}\u{7f}é", "\u{e0041}", "\u{1b}", 7, "▷"] });
        let mut out = Vec::new();
        write_json(&mut out, &value).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert!(written.chars().all(is_plain), "{written}");
        assert!(written.contains("é") && written.contains("▷"));
        let back: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(back, value);
    }
}
