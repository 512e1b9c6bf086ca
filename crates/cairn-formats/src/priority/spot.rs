//! Where the priority of one task stands in a text, or would stand, and how to put a number there. Knows no format.

use crate::ExistingPriorities;
use std::ops::Range;

/// The place of one task's priority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The values that are there; each gets the new number.
    pub(crate) values: Vec<Value>,
    /// Where a new priority goes when there is none, and what it takes the place of: mostly nothing.
    pub(crate) at: Range<usize>,
    /// What is written in front of the number there, and behind it.
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A value that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) span: Range<usize>,
    /// What has to be written in front of the number, and behind it: nothing, but for a DOT attribute without a value
    /// and an empty XML element.
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
    /// Whether it says anything: JSON's `null` does not.
    pub(crate) is_said: bool,
}

impl Spot {
    /// Whether the file gives this task a priority, be it one that we cannot read.
    pub(crate) fn is_taken(&self) -> bool {
        self.values.iter().any(|value| value.is_said)
    }

    /// Whether the priority is to be written.
    pub(crate) fn is_open(&self, existing: ExistingPriorities) -> bool {
        existing == ExistingPriorities::Replace || !self.is_taken()
    }
}

/// The text with a number at each spot that has one. `None` when spots overlap, which those of a well-formed text
/// never do.
pub(crate) fn apply(text: &str, spots: &[Spot], numbers: &[Option<i64>]) -> Option<String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (spot, number) in spots.iter().zip(numbers) {
        let Some(number) = number else { continue };
        for value in &spot.values {
            edits.push((
                value.span.clone(),
                format!("{}{number}{}", value.before, value.after),
            ));
        }
        // Only then: with a value there, a second one would contradict it.
        if spot.values.is_empty() {
            let new = format!("{}{number}{}", spot.before, spot.after);
            edits.push((spot.at.clone(), new));
        }
    }
    edits.sort_by_key(|(span, _)| span.start); // stable: what goes to one place keeps its order
    let mut edited = String::with_capacity(text.len() + 16 * edits.len());
    let mut copied = 0;
    for (span, new) in edits {
        // Where spots overlap the range is backward and `get` gives nothing: better no text than a mangled one.
        edited.push_str(text.get(copied..span.start)?);
        edited.push_str(&new);
        copied = span.end;
    }
    edited.push_str(text.get(copied..)?);
    Some(edited)
}

/// The end of the line's content at `at`, and the line end used there (at the end of the text: in its first line).
pub(crate) fn line_end(text: &str, at: usize) -> (usize, &'static str) {
    let newline = text[at..].find('\n').map(|i| at + i);
    let sample = newline.or_else(|| text.find('\n'));
    let has_return = |newline: usize| text[..newline].ends_with('\r');
    let eol = match sample.is_some_and(has_return) {
        true => "\r\n",
        false => "\n",
    };
    match newline {
        Some(newline) if newline > at && has_return(newline) => (newline - 1, eol),
        Some(newline) => (newline, eol),
        None => (text.len(), eol),
    }
}
