//! Finds the spots for priorities in Pegasus DAX: the dagman profile PRIORITY of each job. Scans text that the reader
//! has accepted; knows the places of elements, not their meaning.

use super::spot::{Spot, Value, line_end};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// The spots of all jobs, in the order of the text. `None` where a priority stands in a form that cannot be replaced.
///
/// A new profile goes behind the last profile or argument of the job, where the schema wants it, else before all
/// that the job holds; indented like what stands there.
pub(crate) fn dax_spots(text: &str) -> Option<Vec<Spot>> {
    let mut xml = Reader::from_str(text);
    let mut spots = Vec::new();
    let mut job: Option<Job> = None;
    let mut priority = None;
    loop {
        let start = xml.buffer_position() as usize;
        // The reader took this text: an error here means that nothing can be said of places, so nothing is written.
        let event = xml.read_event().ok()?;
        let tag = start..xml.buffer_position() as usize;
        match event {
            Event::Eof => return Some(spots),
            Event::Empty(element) => match (element.local_name().as_ref(), &mut job) {
                ("job" | "dag" | "dax", None) => spots.push(in_empty_job(text, &element, tag)?),
                ("profile", Some(job)) => {
                    if is_priority(&element)? {
                        job.values.push(in_empty_profile(text, &element, &tag)?);
                    }
                    job.last = Some((tag.start, tag.end));
                }
                ("argument", Some(job)) => job.last = Some((tag.start, tag.end)),
                _ => {}
            },
            Event::Start(element) => match (element.local_name().as_ref(), &mut job) {
                ("job" | "dag" | "dax", None) => job = Some(Job::new(text, &element, tag)?),
                ("profile", Some(job)) => {
                    job.opened = tag.start;
                    priority = is_priority(&element)?.then_some(tag.end);
                }
                ("argument", Some(job)) => job.opened = tag.start,
                _ => {}
            },
            Event::End(element) => match (element.local_name().as_ref(), &mut job) {
                ("job" | "dag" | "dax", _) => {
                    spots.extend(job.take().map(|job| job.spot(text)));
                }
                ("profile", Some(job)) => {
                    if let Some(inside) = priority.take() {
                        job.values.push(in_profile(text, inside..tag.start)?);
                    }
                    job.last = Some((job.opened, tag.end));
                }
                ("argument", Some(job)) => job.last = Some((job.opened, tag.end)),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The job being scanned.
struct Job {
    /// Of its tag's name, with the colon.
    prefix: String,
    /// Behind its opening tag.
    inside: usize,
    /// Where the profile or argument being scanned begins.
    opened: usize,
    /// Start and end of the last profile or argument.
    last: Option<(usize, usize)>,
    values: Vec<Value>,
}

impl Job {
    fn new(text: &str, element: &BytesStart<'_>, tag: Range<usize>) -> Option<Job> {
        is_tag(text, &tag).then(|| Job {
            prefix: prefix(element),
            inside: tag.end,
            opened: tag.end,
            last: None,
            values: Vec::new(),
        })
    }

    fn spot(self, text: &str) -> Spot {
        let (at, blanks) = match self.last {
            Some((start, end)) => (end, blanks_before(text, start).to_owned()),
            None => {
                let rest = &text[self.inside..];
                let next = rest.trim_start();
                let blanks = &rest[..rest.len() - next.len()];
                // In front of the closing tag it has to go further in.
                let deeper = next.starts_with("</") && blanks.contains('\n');
                let more = if deeper { step(blanks) } else { "" };
                (self.inside, format!("{blanks}{more}"))
            }
        };
        let prefix = self.prefix;
        Spot {
            values: self.values,
            at: at..at,
            before: format!("{blanks}<{prefix}profile namespace=\"dagman\" key=\"PRIORITY\">"),
            after: format!("</{prefix}profile>"),
        }
    }
}

/// `<job …/>` becomes `<job …>`, the profile, `</job>`: on lines of their own if the job has one.
fn in_empty_job(text: &str, element: &BytesStart<'_>, tag: Range<usize>) -> Option<Spot> {
    if !is_tag(text, &tag) || !text[tag.clone()].ends_with("/>") {
        return None;
    }
    let name = element.name();
    let (prefix, name) = (prefix(element), name.as_ref());
    let line = text[..tag.start].rfind('\n').map_or(0, |i| i + 1);
    let indent = &text[line..tag.start];
    let (outer, inner) = match indent.trim().is_empty() {
        true => {
            let eol = line_end(text, tag.end).1;
            let more = step(indent);
            (format!("{eol}{indent}"), format!("{eol}{indent}{more}"))
        }
        false => (String::new(), String::new()),
    };
    Some(Spot {
        values: Vec::new(),
        at: tag.end - 2..tag.end,
        before: format!(">{inner}<{prefix}profile namespace=\"dagman\" key=\"PRIORITY\">"),
        after: format!("</{prefix}profile>{outer}</{name}>"),
    })
}

/// The number in `<profile …> 5 </profile>`, without its blanks.
fn in_profile(text: &str, inside: Range<usize>) -> Option<Value> {
    let content = text.get(inside.clone())?;
    let number = content.trim();
    let start = inside.start + content.len() - content.trim_start().len();
    let start = if number.is_empty() {
        inside.start
    } else {
        start
    };
    // Comments and the like would be lost.
    (!number.contains(['<', '&'])).then(|| Value {
        span: start..start + number.len(),
        is_said: !number.is_empty(),
        ..Value::default()
    })
}

/// `<profile …/>` becomes `<profile …>5</profile>`.
fn in_empty_profile(text: &str, element: &BytesStart<'_>, tag: &Range<usize>) -> Option<Value> {
    let is_plain = is_tag(text, tag) && text[tag.clone()].ends_with("/>");
    // `after` is a fixed text, so it closes an element without a prefix alone.
    (is_plain && prefix(element).is_empty()).then(|| Value {
        span: tag.end - 2..tag.end,
        before: ">",
        after: "</profile>",
        is_said: false,
    })
}

/// Whether a profile is the priority for DAGMan. `None` where an attribute holds the value, which no schema knows.
fn is_priority(element: &BytesStart<'_>) -> Option<bool> {
    let is = |key: &str, wanted: &str| {
        let found = element.try_get_attribute(key).ok()?;
        Some(found.is_some_and(|a| a.value.trim().eq_ignore_ascii_case(wanted)))
    };
    if !is("namespace", "dagman")? || !is("key", "priority")? {
        return Some(false);
    }
    let value = element.try_get_attribute("value").ok()?;
    value.is_none().then_some(true)
}

fn is_tag(text: &str, tag: &Range<usize>) -> bool {
    text.get(tag.clone())
        .is_some_and(|t| t.starts_with('<') && t.ends_with('>'))
}

fn prefix(element: &BytesStart<'_>) -> String {
    let name = element.name();
    let name: &str = name.as_ref();
    name.split_once(':')
        .map_or(String::new(), |(prefix, _)| format!("{prefix}:"))
}

/// The blanks in front of `at`.
fn blanks_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    &before[before.trim_end().len()..]
}

/// One step of indentation, in the style of `indent`.
fn step(indent: &str) -> &'static str {
    match indent.contains('\t') {
        true => "\t",
        false => "  ",
    }
}
