//! Finds the spots for priorities in Pegasus YAML: `profiles: dagman: PRIORITY` of each job, by the events of the YAML
//! parser. Knows the places of a few keys, and no other meaning.

use super::spot::{Spot, Value, line_end};
use granit_parser::{Event, Parser, Span, StrInput, StructureStyle};
use std::ops::Range;

/// Somewhere on this line (counted from 1; 0 when unknown) stands what cannot be edited in place: an alias, an anchor
/// that others may refer to, or a value that is no mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tangled(pub(crate) usize);

/// The spots of all jobs, in the order of the text.
///
/// A new key goes in front of the first one of its mapping (in a job: of the second one), so that comments and the ends
/// of values need not be understood.
pub(crate) fn yaml_spots(text: &str) -> Result<Vec<Spot>, Tangled> {
    let mut scan = Scan {
        text,
        events: Parser::new_from_str(text),
    };
    let mut spots = Vec::new();
    loop {
        match scan.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            start => {
                scan.mapping(start, &mut |scan, key, value| match key {
                    "jobs" => scan.jobs(value, &mut spots),
                    _ => scan.skip(value),
                })?;
                return Ok(spots);
            }
        }
    }
}

type Node<'t> = (Event<'t>, Span);

struct Scan<'t> {
    text: &'t str,
    events: Parser<'t, StrInput<'t>>,
}

/// A mapping that was scanned.
struct Mapping {
    is_flow: bool,
    /// Behind the brace of a flow mapping, or at the first key.
    start: usize,
    /// Where its first two keys begin.
    keys: [Option<usize>; 2],
}

/// What a key of a mapping leads to.
type Visit<'v, 't> = dyn FnMut(&mut Scan<'t>, &str, Node<'t>) -> Result<(), Tangled> + 'v;

impl<'t> Scan<'t> {
    fn next(&mut self) -> Result<Node<'t>, Tangled> {
        loop {
            match self.events.next() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok(node)) => return Ok(node),
                _ => return Err(Tangled(0)),
            }
        }
    }

    /// Passes over the rest of a node.
    fn skip(&mut self, node: Node<'t>) -> Result<(), Tangled> {
        let mut depth = 0usize;
        let mut event = node.0;
        loop {
            match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
                Event::MappingEnd | Event::SequenceEnd => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
            event = self.next()?.0;
        }
    }

    /// Visits the keys of a mapping and their values.
    fn mapping(&mut self, start: Node<'t>, visit: &mut Visit<'_, 't>) -> Result<Mapping, Tangled> {
        // 0: without an anchor. What is inserted under one would appear wherever an alias names it.
        let (Event::MappingStart(style, 0, _), span) = start else {
            return Err(tangled(&start.1));
        };
        let is_flow = style == StructureStyle::Flow;
        let start = offset(&span)?;
        let mut mapping = Mapping {
            is_flow,
            start: if is_flow { start + 1 } else { start },
            keys: [None; 2],
        };
        if is_flow && !self.text[start..].starts_with('{') {
            return Err(tangled(&span));
        }
        loop {
            let key = self.next()?;
            let at = match key.0 {
                Event::MappingEnd => return Ok(mapping),
                _ => offset(&key.1)?,
            };
            if let Some(seat) = mapping.keys.iter_mut().find(|seat| seat.is_none()) {
                *seat = Some(at);
            }
            match key {
                // Without an anchor and a tag: others may refer to it, or mean something else by it.
                (Event::Scalar(name, _, 0, None), _) => {
                    let value = self.next()?;
                    visit(self, &name, value)?;
                }
                key => {
                    self.skip(key)?;
                    let value = self.next()?;
                    self.skip(value)?;
                }
            }
        }
    }

    fn jobs(&mut self, list: Node<'t>, spots: &mut Vec<Spot>) -> Result<(), Tangled> {
        match list {
            (Event::SequenceStart(..), _) => {}
            (Event::Scalar(..), _) => return Ok(()), // nothing: `jobs:`
            (_, span) => return Err(tangled(&span)),
        }
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(()),
                job => spots.push(self.job(job)?),
            }
        }
    }

    fn job(&mut self, job: Node<'t>) -> Result<Spot, Tangled> {
        self.under(
            job,
            &["profiles", "dagman", "PRIORITY"],
            true,
            Self::profiles,
        )
    }

    fn profiles(&mut self, profiles: Node<'t>) -> Result<Spot, Tangled> {
        self.under(profiles, &["dagman", "PRIORITY"], false, Self::dagman)
    }

    /// The spot that `look` finds under the first key of a path; where a mapping has no such key, one for the whole path.
    fn under(
        &mut self,
        node: Node<'t>,
        path: &[&str],
        behind_first: bool,
        look: fn(&mut Self, Node<'t>) -> Result<Spot, Tangled>,
    ) -> Result<Spot, Tangled> {
        let mut found = None;
        let mapping = self.mapping(node, &mut |scan, key, value| match key {
            key if key == path[0] => {
                found = Some(look(scan, value)?);
                Ok(())
            }
            // What a merge brings may be the key.
            "<<" => Err(tangled(&value.1)),
            _ => scan.skip(value),
        })?;
        found.map_or_else(|| self.added(&mapping, path, behind_first), Ok)
    }

    fn dagman(&mut self, dagman: Node<'t>) -> Result<Spot, Tangled> {
        let mut values = Vec::new();
        let mapping = self.mapping(dagman, &mut |scan, key, value| {
            if key == "<<" {
                return Err(tangled(&value.1));
            }
            if !matches!(key, "PRIORITY" | "Priority" | "priority") {
                return scan.skip(value);
            }
            // An alias or an anchor: the number would change wherever it is named.
            let (Event::Scalar(_, _, 0, None), span) = value else {
                return Err(tangled(&value.1));
            };
            let inner = scan.unquoted(&span)?;
            values.push(Value {
                span: inner,
                is_said: true,
                ..Value::default()
            });
            Ok(())
        })?;
        let spot = self.added(&mapping, &["PRIORITY"], false)?;
        Ok(Spot { values, ..spot })
    }

    /// The text of a scalar, inside its quotes.
    fn unquoted(&self, span: &Span) -> Result<Range<usize>, Tangled> {
        let range = span.byte_range().ok_or(tangled(span))?;
        let text = self.text.get(range.clone()).unwrap_or("");
        let trimmed = text.trim_end();
        let range = range.start..range.start + trimmed.len();
        match trimmed.as_bytes() {
            [] => Err(tangled(span)),
            [quote @ (b'"' | b'\''), .., last] if quote == last => {
                Ok(range.start + 1..range.end - 1)
            }
            // A block or a broken quote: where its text ends only the parser knows.
            [b'"' | b'\'' | b'|' | b'>', ..] => Err(tangled(span)),
            _ => Ok(range),
        }
    }

    /// A spot for a new path of keys in a mapping; in front of its second key if so asked, and if it has one.
    fn added(&self, mapping: &Mapping, path: &[&str], behind_first: bool) -> Result<Spot, Tangled> {
        let text = self.text;
        if mapping.is_flow {
            let rest = text[mapping.start..].trim_start();
            // JSON is YAML, too.
            let is_json = text.trim_start().starts_with('{') || rest.starts_with('"');
            let quote = if is_json { "\"" } else { "" };
            let key = |key: &&str| format!("{quote}{key}{quote}: ");
            let keys: Vec<String> = path.iter().map(key).collect();
            let close = "}".repeat(path.len() - 1);
            let comma = if mapping.keys[0].is_some() { ", " } else { "" };
            return Ok(Spot {
                values: Vec::new(),
                at: mapping.start..mapping.start,
                before: keys.join("{"),
                after: format!("{close}{comma}"),
            });
        }
        let first = mapping.keys[0].ok_or(Tangled(0))?;
        let at = mapping.keys[1].filter(|_| behind_first).unwrap_or(first);
        let line = text[..first].rfind('\n').map_or(0, |i| i + 1);
        // Keys of one mapping stand in one column; in front of the first there may be the dash of a list.
        // In characters: a dash or a letter beyond ASCII before it has several bytes, and one column.
        let column = text[line..first].chars().count();
        let indent = " ".repeat(column);
        let eol = line_end(text, at).1;
        let mut before = String::new();
        for (depth, key) in path.iter().enumerate() {
            if depth > 0 {
                before += &format!("{eol}{indent}{}", "  ".repeat(depth));
            }
            before += &format!("{key}:");
        }
        Ok(Spot {
            values: Vec::new(),
            at: at..at,
            before: before + " ",
            after: format!("{eol}{indent}"),
        })
    }
}

fn offset(span: &Span) -> Result<usize, Tangled> {
    span.start.byte_offset().ok_or(tangled(span))
}

fn tangled(span: &Span) -> Tangled {
    Tangled(span.start.line())
}
