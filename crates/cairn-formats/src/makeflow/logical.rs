//! The logical lines of a Makeflow file: comments gone, lines joined. Knows quotes, and no statement.

use crate::text::{first_line, line_ends};

/// A logical line: comments gone, lines that end in a backslash joined to the next.
pub(super) struct Logical {
    pub(super) text: String,
    pub(super) line: u32,
}

/// Physical lines, joined into logical ones.
pub(super) struct Scan<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Scan<'t> {
    pub(super) fn of(text: &'t str) -> Scan<'t> {
        Scan {
            rest: text,
            line: 1,
        }
    }

    /// The next logical line, and the quote that is open at its end, in which case it is but one physical line.
    pub(super) fn next_logical(&mut self) -> Option<(Logical, Option<char>)> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        let (text, length, open) = joined(self.rest);
        let length = match open {
            // So a quote that is never closed costs one line, not the rest of the file.
            Some(_) => first_line(self.rest).len(),
            None => length,
        };
        self.line = (self.line).saturating_add(line_ends(&self.rest[..length]));
        self.rest = &self.rest[length..];
        Some((Logical { text, line }, open))
    }
}

/// The logical line that `rest` begins with, its length in bytes there, and the quote left open.
fn joined(rest: &str) -> (String, usize, Option<char>) {
    let mut text = String::new();
    let mut quote: Option<char> = None;
    let mut at = 0;
    while let Some(found) = rest[at..].find(['\n', '\\', '\'', '"', '#']) {
        text.push_str(&rest[at..at + found]);
        at += found;
        let c = rest.as_bytes()[at] as char;
        match (c, quote) {
            ('\n', None) => return (trimmed(text), at + 1, None),
            ('#', None) => {
                let end = at + first_line(&rest[at..]).len();
                return (trimmed(text), end, None);
            }
            ('\\', _) => {
                let after = &rest[at + 1..];
                let newline = ["\n", "\r\n"]
                    .into_iter()
                    .find(|end| after.starts_with(end));
                // A whole character: half of one would be no text.
                let escaped = || after.chars().next().map_or(0, char::len_utf8);
                let end = at + 1 + newline.map_or_else(escaped, str::len);
                text.push_str(if newline.is_some() {
                    " "
                } else {
                    &rest[at..end]
                });
                at = end;
                continue;
            }
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            _ => {}
        }
        text.push(c);
        at += 1;
    }
    text.push_str(&rest[at..]);
    (trimmed(text), rest.len(), quote)
}

/// Without the white space at its end, such as the `\r` of a line that ends in `\r\n`.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    text
}

/// Where `wanted` first stands outside quotes.
pub(super) fn unquoted(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], quote) {
            (b'\\', _) => at += 1,
            (byte, Some(open)) if byte == open => quote = None,
            (b'\'' | b'"', None) => quote = Some(bytes[at]),
            (byte, None) if byte == wanted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
