//! Finds the spots for priorities in JSON: native documents, native JSON lines, WfFormat. Scans text that a reader
//! has accepted; knows the places of values, not their meaning.

use super::spot::{Spot, Value};
use std::borrow::Cow;
use std::ops::Range;

/// The spots of `{"task": […]}` or a bare list, in the order of the tasks.
pub(crate) fn native_spots(text: &str) -> Option<Vec<Spot>> {
    let root = Scanner { text, at: 0 }.value()?;
    if text[root.clone()].starts_with('[') {
        return spots_of_list(text, root);
    }
    let mut spots = Vec::new();
    for member in members(text, root)? {
        if matches!(&*member.name(text), "task" | "tasks") {
            spots.extend(spots_of_list(text, member.value)?);
        }
    }
    Some(spots)
}

/// The spots of one task object a line.
pub(crate) fn lines_spots(text: &str) -> Option<Vec<Spot>> {
    let mut spots = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        if !line.trim_ascii().is_empty() {
            let object = Scanner { text, at: start }.value()?;
            let fields = members(text, object.clone())?;
            // A line with limits of pools is no task.
            if !matches!(&fields[..], [only] if only.name(text) == "pools") {
                spots.push(spot_of_task(text, object)?);
            }
        }
        // One for the line end. A carriage return before it is a part of the line, and of no object.
        start += line.len() + 1;
    }
    Some(spots)
}

/// The spots of any version of WfFormat: in `workflow.specification.tasks`, `workflow.tasks` or `workflow.jobs`,
/// whichever the reader takes.
pub(crate) fn wfformat_spots(text: &str) -> Option<Vec<Spot>> {
    let root = Scanner { text, at: 0 }.value()?;
    let workflow = member(text, root, "workflow")?;
    let list = match member(text, workflow.clone(), "specification") {
        Some(specification) => member(text, specification, "tasks"),
        None => member(text, workflow.clone(), "tasks").or_else(|| member(text, workflow, "jobs")),
    };
    spots_of_list(text, list?)
}

fn spots_of_list(text: &str, list: Range<usize>) -> Option<Vec<Spot>> {
    let tasks = elements(text, list)?;
    tasks.into_iter().map(|t| spot_of_task(text, t)).collect()
}

/// A new member goes behind the last one and looks like it.
fn spot_of_task(text: &str, object: Range<usize>) -> Option<Spot> {
    let members = members(text, object)?;
    let last = members.last()?;
    // Blanks and all: the new member is to look like its neighbour.
    let colon = &text[last.key.end..last.value.start];
    let blanks = match &text[last.blanks.clone()] {
        // The only member has no blank in front: look at the colon instead.
        "" if members.len() == 1 && colon.ends_with(' ') => " ",
        blanks => blanks,
    };
    let values = (members.iter())
        .filter(|m| m.name(text) == "priority")
        .map(|m| Value {
            span: m.value.clone(),
            is_said: &text[m.value.clone()] != "null",
            ..Value::default()
        });
    Some(Spot {
        values: values.collect(),
        at: last.value.end..last.value.end,
        before: format!(",{blanks}\"priority\"{colon}"),
        after: String::new(),
    })
}

/// One member of an object.
struct Member {
    /// The blanks in front of the key.
    blanks: Range<usize>,
    /// With its quotes.
    key: Range<usize>,
    value: Range<usize>,
}

impl Member {
    fn name<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let quoted = &text[self.key.clone()];
        match quoted.contains('\\') {
            true => Cow::Owned(serde_json::from_str(quoted).unwrap_or_default()),
            false => Cow::Borrowed(quoted.trim_matches('"')),
        }
    }
}

/// The value of the member called `name`, unless it is `null`.
fn member(text: &str, object: Range<usize>, name: &str) -> Option<Range<usize>> {
    let found = members(text, object)?
        .into_iter()
        .find(|m| m.name(text) == name);
    found
        .map(|m| m.value)
        .filter(|v| &text[v.clone()] != "null")
}

fn members(text: &str, object: Range<usize>) -> Option<Vec<Member>> {
    let mut scanner = Scanner {
        text,
        at: object.start,
    };
    scanner.take(b'{')?;
    let mut members = Vec::new();
    loop {
        let start = scanner.at;
        scanner.blanks();
        if members.is_empty() && scanner.take(b'}').is_some() {
            return Some(members);
        }
        let blanks = start..scanner.at;
        let key = scanner.value()?;
        scanner.blanks();
        scanner.take(b':')?;
        let value = scanner.value()?;
        members.push(Member { blanks, key, value });
        scanner.blanks();
        if scanner.take(b',').is_none() {
            return scanner.take(b'}').map(|()| members);
        }
    }
}

fn elements(text: &str, list: Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut scanner = Scanner {
        text,
        at: list.start,
    };
    scanner.take(b'[')?;
    scanner.blanks();
    let mut elements = Vec::new();
    if scanner.take(b']').is_some() {
        return Some(elements);
    }
    loop {
        elements.push(scanner.value()?);
        scanner.blanks();
        if scanner.take(b',').is_none() {
            return scanner.take(b']').map(|()| elements);
        }
    }
}

/// Walks over JSON, without recursion.
// By hand, since serde tells values and not where they stand.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The next value of any kind, without the blanks around it. `None` where there is none.
    fn value(&mut self) -> Option<Range<usize>> {
        self.blanks();
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                // Which bracket it is does not matter: a reader has accepted the text, so they match.
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ if depth > 0 => self.at += 1,
                _ => self.word()?,
            }
            if depth == 0 {
                return Some(start..self.at);
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            match self.peek()? {
                b'"' => return self.take(b'"'),
                // What is escaped may be a quote; the digits behind `\u` are none.
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// A number, or one of `true`, `false`, `null`.
    fn word(&mut self) -> Option<()> {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let start = self.at;
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}
