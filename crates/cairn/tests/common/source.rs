//! Product code as text: its files, its strings, and the rest without them. Knows of Rust only what tells strings from comments.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Every Rust file beneath a folder, in order.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// A source without the tests below it.
pub(crate) fn product(path: &Path) -> Code {
    let text = std::fs::read_to_string(path).unwrap();
    Code::of(text.split("#[cfg(test)]\nmod tests {").next().unwrap())
}

/// Code, cut into strings and the rest.
pub(crate) struct Code {
    /// As long as the text, with blanks for what is inside of strings, characters and comments.
    pub(crate) bare: String,
    /// What stands between the quotes, and where.
    pub(crate) strings: Vec<(Range<usize>, String)>,
}

impl Code {
    pub(crate) fn of(text: &str) -> Code {
        let bytes = text.as_bytes();
        let mut bare = bytes.to_vec();
        let mut strings = Vec::new();
        let end_of =
            |from: usize, end: &str| text[from..].find(end).map_or(bytes.len(), |n| from + n);
        let mut at = 0;
        while at < bytes.len() {
            let rest = &text.as_bytes()[at..];
            let is_word =
                at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
            let (inside, next) = match rest {
                [b'/', b'/', ..] => {
                    let end = end_of(at, "\n");
                    (at..end, end)
                }
                [b'r' | b'b', ..] if !is_word && raw(rest).is_some() => {
                    let (begin, close) = raw(rest).unwrap();
                    let end = end_of(at + begin, &close);
                    strings.push((at + begin..end, text[at + begin..end].to_owned()));
                    (at + begin..end, end + close.len())
                }
                [b'"', ..] => {
                    let end = closing(bytes, at + 1);
                    strings.push((at + 1..end, plain(&text[at + 1..end])));
                    (at + 1..end, end + 1)
                }
                // A quote that ends soon is of a character; one that does not, of a lifetime.
                [b'\'', b'\\', ..] => {
                    let end = end_of(at + 3, "'");
                    (at + 1..end, end + 1)
                }
                [b'\'', ..] => {
                    let one = text[at + 1..].chars().next().map_or(0, char::len_utf8);
                    match bytes.get(at + 1 + one) {
                        Some(b'\'') => (at + 1..at + 1 + one, at + 2 + one),
                        _ => (at..at, at + 1),
                    }
                }
                _ => (at..at, at + 1),
            };
            bare[inside]
                .iter_mut()
                .filter(|b| **b != b'\n')
                .for_each(|b| *b = b' ');
            at = next;
        }
        // What is left beyond ASCII stands whole, or was blanked whole.
        let bare = String::from_utf8(bare).unwrap();
        Code { bare, strings }
    }

    /// Where the bracket that is open at `at` closes.
    pub(crate) fn closing_bracket(&self, at: usize) -> usize {
        let mut depth = 1;
        for (n, byte) in self.bare.bytes().enumerate().skip(at) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return n;
            }
        }
        self.bare.len()
    }
}

/// Where a raw string begins behind its prefix, and what closes it.
fn raw(rest: &[u8]) -> Option<(usize, String)> {
    let prefix = rest.iter().take_while(|b| b"rb".contains(b)).count();
    let hashes = rest[prefix..].iter().take_while(|b| **b == b'#').count();
    let is_raw = rest[..prefix].contains(&b'r') && prefix <= 2;
    let begins = rest.get(prefix + hashes) == Some(&b'"');
    (is_raw && begins).then(|| (prefix + hashes + 1, format!("\"{}", "#".repeat(hashes))))
}

fn closing(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// A string as it is said: without escapes, on one line where the code breaks it.
fn plain(written: &str) -> String {
    let mut said = String::new();
    let mut rest = written;
    while let Some((before, behind)) = rest.split_once('\\') {
        said.push_str(before);
        let next = behind.chars().next().unwrap_or('\\');
        rest = &behind[next.len_utf8()..];
        match next {
            '\n' => rest = rest.trim_start(),
            'n' => said.push('\n'),
            't' => said.push('\t'),
            next => said.push(next),
        }
    }
    said + rest
}
