//! The text of an input: from a file, standard input or memory, unpacked, limited and checked to be UTF-8.
//! Knows no format.

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
    pub fn place_at(&self, offset: usize) -> Place {
        if offset > self.text.len() {
            return self.place();
        }
        let before = &self.text.as_bytes()[..offset];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |i| i + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let end = self.text.as_bytes()[offset..]
            .iter()
            .position(|&b| b == b'\n');
        let end = end.map_or(self.text.len(), |i| offset + i);
        Place {
            file: self.name.clone(),
            line: line as u32,
            column: column as u32,
            text: shorten(&self.text.as_bytes()[start..end]),
        }
    }

    /// The place of a whole line, counted from 1. Linear in the text: for errors only.
    pub fn place_of_line(&self, line: u32) -> Place {
        let text = (self.text.lines().nth((line as usize).wrapping_sub(1))).unwrap_or("");
        Place {
            file: self.name.clone(),
            line,
            column: 0,
            text: shorten(text.as_bytes()),
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
    pub fn offset_of(&self, slice: &str) -> Option<usize> {
        let offset = (slice.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset + slice.len() <= self.text.len()).then_some(offset)
    }
}

/// Cuts a line to what fits on a terminal.
fn shorten(line: &[u8]) -> String {
    const MOST: usize = 120;
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end();
    match line.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

#[allow(unused)]
fn load(path: &Path, report: &mut Report) -> Option<Source> {
    None
}
