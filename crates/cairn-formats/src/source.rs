//! The text of an input, and how to name places in it. Knows no format, and not how texts are brought into memory.

use crate::load::{self, ReadLimits, Refusal};
use crate::{Place, Report};
use std::path::{Path, PathBuf};

/// The text of one input, and how to name places in it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    path: Option<PathBuf>,
    text: String,
}

impl Source {
    /// A source made in memory. `name` is what errors call it; its extension helps to detect the format.
    pub fn from_text(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source {
            name: name.into(),
            path: None,
            text: text.into(),
        }
    }

    /// A source made of bytes in memory, with the checks that [`Source::load`] makes.
    pub(crate) fn from_bytes(
        name: &str,
        bytes: Vec<u8>,
        limits: &ReadLimits,
        report: &mut Report,
    ) -> Option<Source> {
        Source::loaded(Some(Path::new(name)), load::bytes(bytes, limits), report)
    }

    /// Reads a file, or standard input when `path` is `-`. Packed input (`.gz`, `.zst`) is known by its first
    /// bytes and unpacked. `None` when that fails: the report then says why and what to do.
    ///
    /// ```
    /// use cairn_formats::{ReadLimits, Report, Source};
    /// let mut report = Report::default();
    /// let missing = Source::load("no/such/file.dag".as_ref(), &ReadLimits::default(), &mut report);
    /// assert!(missing.is_none());
    /// assert_eq!(report.problems()[0].message, "there is no such file");
    /// ```
    pub fn load(path: &Path, limits: &ReadLimits, report: &mut Report) -> Option<Source> {
        let standard_input = path == Path::new("-");
        let text = match standard_input {
            true => load::standard_input(limits),
            false => load::file(path, limits),
        };
        let path = (!standard_input).then_some(path);
        Source::loaded(path, text, report)
    }

    /// Reads a file that another file names. Unlike [`Source::load`] this takes regular files only: what a
    /// downloaded workflow names must not make us wait at a pipe or a terminal.
    pub fn load_named_by_file(
        path: &Path,
        limits: &ReadLimits,
        report: &mut Report,
    ) -> Option<Source> {
        Source::loaded(Some(path), load::regular_file(path, limits), report)
    }

    fn loaded(
        path: Option<&Path>,
        text: Result<String, Refusal>,
        report: &mut Report,
    ) -> Option<Source> {
        let name = path.map_or("-".to_owned(), |p| p.display().to_string());
        match text {
            Ok(text) => Some(Source {
                name,
                path: path.map(Path::to_owned),
                text,
            }),
            Err(refusal) => {
                let place = Place {
                    file: name,
                    line: refusal.line,
                    ..Place::default()
                };
                report.error(place, refusal.message, refusal.help);
                None
            }
        }
    }

    /// The same input with another text.
    pub(crate) fn with_text(&self, text: String) -> Source {
        Source {
            name: self.name.clone(),
            path: self.path.clone(),
            text,
        }
    }

    /// The same text in another place.
    pub(crate) fn moved_to(&self, path: &Path) -> Source {
        Source {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            text: self.text.clone(),
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// What errors call this input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file it was read from, if it was one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place of a byte offset. Linear in the offset: for errors only.
    pub(crate) fn place_at(&self, offset: usize) -> Place {
        let bytes = self.text.as_bytes();
        // A mark that means nowhere: the file itself is the place.
        if offset > bytes.len() {
            return self.place();
        }
        let line = bytes[..offset].iter().filter(|&&b| b == b'\n').count() + 1;
        let start = bytes[..offset].iter().rposition(|&b| b == b'\n');
        let start = start.map_or(0, |i| i + 1);
        let end = bytes[offset..].iter().position(|&b| b == b'\n');
        let end = end.map_or(bytes.len(), |i| offset + i);
        self.place_in_line(line as u32, &bytes[start..end], Some(offset - start))
    }

    /// The place of a whole line, counted from 1. Linear in the text: for errors only.
    pub(crate) fn place_of_line(&self, line: u32) -> Place {
        // Line 0, the whole file, wraps to one that no text has.
        let text = (self.text.lines().nth((line as usize).wrapping_sub(1))).unwrap_or("");
        self.place_in_line(line, text.as_bytes(), None)
    }

    /// The place of a line that the reader holds, and of a byte offset in it. Linear in the line.
    pub(crate) fn place_in_line(&self, line: u32, text: &[u8], offset: Option<usize>) -> Place {
        let before = offset.map(|o| &text[..o.min(text.len())]);
        // In characters, as editors count; from 1.
        let column = before.map_or(0, |b| String::from_utf8_lossy(b).chars().count() + 1);
        Place {
            file: self.name.clone(),
            line,
            column: column as u32,
            text: excerpt(text, offset.unwrap_or(0)),
        }
    }

    /// The whole input as a place.
    pub fn place(&self) -> Place {
        Place {
            file: self.name.clone(),
            ..Place::default()
        }
    }

    /// The byte offset of a slice of this source's own text, such as a borrowed JSON string.
    pub(crate) fn offset_of(&self, slice: &str) -> Option<usize> {
        // By address: strings that a parser borrowed point into the text, and those it had to unescape do not.
        let offset = (slice.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset + slice.len() <= self.text.len()).then_some(offset)
    }
}

/// Cuts a line to what fits on a terminal, keeping the part around `offset`.
fn excerpt(line: &[u8], offset: usize) -> String {
    // What a terminal shows of a line, with some of what stands before the slip; chosen by eye.
    const MOST: usize = 120;
    const BEFORE: usize = 40;
    let start = if offset > MOST { offset - BEFORE } else { 0 };
    // A character has up to four bytes: this many bytes hold what is shown, and a huge line is not decoded.
    let end = line.len().min(start.max(offset) + 4 * MOST);
    let text = String::from_utf8_lossy(&line[start.min(end)..end]);
    // A cut may have split a character.
    let text = text.trim_start_matches(|c| start > 0 && c == '\u{fffd}');
    let text = text.trim_end();
    let head = if start > 0 { "…" } else { "" };
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{head}{}…", &text[..cut]),
        None => format!("{head}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_show_the_text_around_them() {
        let source = Source::from_text(
            "x",
            format!("one\ntwo {}é!{}\n", "a".repeat(500), "b".repeat(500)),
        );
        let at = source.place_at(4 + 4 + 500);
        assert_eq!((at.line, at.column), (2, 505));
        assert!(at.text.starts_with("…a") && at.text.contains("é!b") && at.text.ends_with('…'));
        assert_eq!(source.place_at(1).text, "one");
        assert_eq!(source.place_of_line(1).text, "one");
        assert_eq!(source.place_at(1 << 30), source.place());
        let word = &source.text()[4..7];
        assert_eq!(source.offset_of(word), Some(4));
        assert_eq!(source.offset_of("elsewhere"), None);
    }
}
