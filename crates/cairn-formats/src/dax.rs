//! Pegasus DAX (XML), versions 1.8 to 3.6, and as WorkflowSim writes it. Knows elements, and nothing of catalogs.
//!
//! A `job`, `dag` or `dax` element is a task, named by its id. Arcs come from `child` and `parent` elements alone:
//! files make none. The command is the transformation's name and its arguments; people see the job by that name, or by its
//! `node-label`.

use crate::draft::{Draft, KIBIBYTE, MEBIBYTE, Number, mark_at};
use crate::loss::Tally;
use crate::unheld::at_byte;
use crate::{Report, Source, shell};
use cairn_dag::{Flow, Mark, Symbol};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::borrow::Cow;

/// Reads a DAX in one pass. Entities other than XML's own five are refused, so nothing expands.
///
/// Time and space linear.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut xml = Reader::from_str(source.text());
    // `<job/>` as a start and an end, so that both kinds take the same way.
    xml.config_mut().expand_empty_elements = true;
    let mut dax = Dax {
        draft: Draft::new(source, report),
        depth: 0,
        root_seen: false,
        job: None,
        child: None,
        argument: None,
        profile: None,
    };
    loop {
        // Before the event is read: then this is where it begins.
        let at = mark_at(xml.buffer_position() as usize);
        let step = match xml.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => dax.take(&event, at),
            Err(error) => Err(error.to_string()),
        };
        if let Err(message) = step {
            let at = match xml.error_position() {
                // An error of ours, not of the parser: it lies at the event that was read.
                0 => at as usize,
                position => position as usize,
            };
            let help = "correct the XML here; a DAX is <adag> with <job> and <child> elements";
            dax.draft
                .unreadable(|source| source.place_at(at), message, help);
            return None;
        }
    }
    if !dax.root_seen {
        let help = "check that this is a Pegasus DAX";
        (dax.draft).unreadable(Source::place, "there is no <adag> element", help);
    } else if dax.depth > 0 {
        let help = "the file may be cut off: copy it again";
        (dax.draft).unreadable(Source::place, "the text ends before </adag>", help);
    }
    dax.draft.finish()
}

struct Dax<'s, 'r> {
    draft: Draft<'s, 'r>,
    depth: usize,
    root_seen: bool,
    job: Option<Job>,
    /// The child whose parents are being read.
    child: Option<Symbol>,
    /// The argument text being read.
    argument: Option<String>,
    /// The profile being read: namespace and key, and the text so far.
    profile: Option<(String, String)>,
}

/// The job being read.
struct Job {
    symbol: Option<Symbol>,
    mark: Mark,
    program: String,
    arguments: String,
    /// Whether a dagman profile gives a priority.
    has_priority: bool,
}

type Step = Result<(), String>;

impl Dax<'_, '_> {
    fn take(&mut self, event: &Event<'_>, at: Mark) -> Step {
        match event {
            Event::Start(element) => {
                self.depth += 1;
                self.open(element, at)?;
            }
            Event::End(element) => {
                // The parser refuses an end without a beginning; to count on that here would be a panic more to fear.
                self.depth = self.depth.saturating_sub(1);
                self.close(element.local_name().as_ref());
            }
            Event::Text(text) => self.text(&text.xml10_content()),
            // Text as well, only written without escapes.
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(name) => {
                let text = match name.resolve_char_ref().map_err(|e| e.to_string())? {
                    Some(c) => c.to_string(),
                    None => entity(name)?.to_owned(),
                };
                self.text(&text);
            }
            // Entities that contain each other grow without bound ("billion laughs"); no DAX needs any.
            Event::DocType(text) if text.contains("<!ENTITY") => {
                return Err("this document defines entities, which are not expanded".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(argument) = &mut self.argument {
            argument.push_str(text);
        }
        if let Some((_, value)) = &mut self.profile {
            value.push_str(text);
        }
    }

    fn open(&mut self, element: &BytesStart<'_>, at: Mark) -> Step {
        let name = element.local_name();
        let name = name.as_ref();
        // By depth, not by name: a DAX has an `adag` outside of everything, whatever its prefix.
        if self.depth == 1 {
            if name != "adag" {
                return Err(format!("the root element is <{name}>, expected <adag>"));
            }
            self.root_seen = true;
        }
        match name {
            // The elements are not nested; one inside a job would take its place, and the rest of that job be lost.
            "job" | "dag" | "dax" if self.job.is_none() => self.open_job(element, at)?,
            "argument" if self.job.is_some() => self.argument = Some(String::new()),
            // Arguments name files by elements: the name takes the element's place in the text.
            "filename" | "file" if self.argument.is_some() => {
                let file = file_name(element)?.unwrap_or_default();
                self.text(&file);
            }
            "uses" => self.uses(element, at)?,
            "profile" if self.job.is_some() => {
                let namespace = attribute(element, "namespace")?.unwrap_or_default();
                let key = attribute(element, "key")?.unwrap_or_default();
                let value = attribute(element, "value")?.unwrap_or_default();
                self.profile = Some((format!("{namespace}.{key}"), value.into_owned()));
            }
            "child" => self.child = Some(self.reference(element, at)?),
            "parent" => {
                let parent = self.reference(element, at)?;
                if let Some(child) = self.child {
                    self.draft.arc(parent, child, at);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open_job(&mut self, element: &BytesStart<'_>, at: Mark) -> Step {
        let id = attribute(element, "id")?.ok_or("this job has no id")?;
        // None for a second job of that id, which was reported: its parts are read over, and set nothing.
        let symbol = self.draft.declare(&id, at);
        let program = match attribute(element, "name")? {
            Some(name) => name.into_owned(),
            None => attribute(element, "file")?.unwrap_or_default().into_owned(),
        };
        if let Some(symbol) = symbol {
            let label = attribute(element, "node-label")?;
            let build = &mut self.draft.build;
            build.set_label(symbol, label.as_deref().unwrap_or(&program));
            if label.is_some() {
                build.set_kind(symbol, &program);
            }
        }
        if let (Some(symbol), Some(runtime)) = (symbol, attribute(element, "runtime")?) {
            self.number(symbol, Number::Seconds, runtime.trim(), at);
        }
        self.job = Some(Job {
            symbol,
            mark: at,
            program,
            arguments: String::new(),
            has_priority: false,
        });
        Ok(())
    }

    /// The task that a `ref` means.
    fn reference(&mut self, element: &BytesStart<'_>, at: Mark) -> Result<Symbol, String> {
        let id = attribute(element, "ref")?.ok_or("this element has no 'ref'")?;
        // Declared later or not at all: the builder names what is missing.
        Ok(self.draft.build.mention(&id, at))
    }

    fn uses(&mut self, element: &BytesStart<'_>, at: Mark) -> Step {
        let Some(symbol) = self.job.as_ref().and_then(|job| job.symbol) else {
            return Ok(());
        };
        let Some(path) = file_name(element)? else {
            return Ok(());
        };
        let size = attribute(element, "size")?;
        let bytes = size.and_then(|size| self.draft.bytes(&size, at));
        let link = attribute(element, "link")?.unwrap_or_default();
        let build = &mut self.draft.build;
        if matches!(&*link, "input" | "inout") {
            build.add_input(symbol, &path, bytes);
        }
        if matches!(&*link, "output" | "inout") {
            build.add_output(symbol, &path, bytes);
            if is_temporary(element)? {
                build.set_temp(&path);
            }
        }
        Ok(())
    }

    fn close(&mut self, name: &str) {
        match name {
            "argument" => {
                if let (Some(argument), Some(job)) = (self.argument.take(), &mut self.job) {
                    // XML is broken into lines and indented at will: blanks between words mean one blank.
                    let words = argument.split_whitespace().collect::<Vec<_>>();
                    job.arguments = words.join(" ");
                }
            }
            "profile" => {
                if let Some((key, value)) = self.profile.take() {
                    self.close_profile(&key, value.trim());
                }
            }
            "job" | "dag" | "dax" => {
                if let Some(job) = self.job.take() {
                    self.close_job(&job);
                }
            }
            // A `parent` element outside of a child ties nothing.
            "child" => self.child = None,
            _ => {}
        }
    }

    fn close_profile(&mut self, key: &str, value: &str) {
        let key = key.to_ascii_lowercase();
        let Some(job) = self.job.as_mut() else {
            return;
        };
        let (symbol, mark, has_priority) = (job.symbol, job.mark, job.has_priority);
        // Only where it is a number: one that is ignored must not keep Condor's out.
        job.has_priority |= key == "dagman.priority" && value.parse::<i64>().is_ok();
        // DAGMan's own priority goes before Condor's: it is what decides which job is released.
        let what = held_profile(&key).filter(|_| key != "condor.priority" || !has_priority);
        if let (Some(symbol), Some(what)) = (symbol, what) {
            self.number(symbol, what, value, mark);
        }
    }

    /// Sets what a number says; what is no number is ignored with a warning.
    fn number(&mut self, symbol: Symbol, what: Number, value: &str, mark: Mark) {
        if !self.draft.number(symbol, what, value) {
            let what = match what {
                Number::Seconds => "runtime",
                Number::Cpus => "cores",
                Number::Retries => "retry",
                Number::Priority => "priority",
                Number::Memory(_) => "memory",
                Number::Scratch(_) => "disk space",
                Number::TimeLimit(_) => "time limit",
            };
            let message = format!("'{value}' is no {what} and is ignored");
            let help = "write a number, not below zero";
            self.draft.warning(mark, message, help);
        }
    }

    fn close_job(&mut self, job: &Job) {
        let Some(symbol) = job.symbol.filter(|_| !job.program.is_empty()) else {
            return;
        };
        let mut line = String::new();
        shell::push_word(&mut line, &job.program);
        if !job.arguments.is_empty() {
            line.push(' ');
            line.push_str(&job.arguments);
        }
        self.draft.build.set_command(symbol, &line);
    }
}

/// What a profile of a job says that a flow holds.
fn held_profile(key: &str) -> Option<Number> {
    // Pegasus itself writes both RETRY and retry.
    Some(match &*key.to_ascii_lowercase() {
        "pegasus.runtime" => Number::Seconds,
        "pegasus.cores" | "condor.request_cpus" | "globus.count" => Number::Cpus,
        "condor.priority" | "dagman.priority" => Number::Priority,
        "dagman.retry" => Number::Retries,
        "pegasus.memory" | "condor.request_memory" => Number::Memory(MEBIBYTE),
        "pegasus.diskspace" => Number::Scratch(MEBIBYTE),
        "condor.request_disk" => Number::Scratch(KIBIBYTE),
        "globus.maxwalltime" => Number::TimeLimit(60),
        _ => return None,
    })
}

/// The attributes of an element that a flow holds; nothing where it is lost as a whole.
fn held_attributes(element: &BytesStart<'_>, is_in_job: bool) -> Option<&'static [&'static str]> {
    let name = element.local_name();
    Some(match (name.as_ref(), is_in_job) {
        ("adag", _) => &[
            "version",
            "count",
            "index",
            "jobCount",
            "fileCount",
            "childCount",
        ],
        ("job" | "dag" | "dax", false) => &["id", "name", "file", "runtime", "node-label"],
        ("argument", true) => &[],
        ("filename" | "file", true) => &["name", "file", "link"],
        // Only of outputs: what is read was made, or found, elsewhere.
        ("uses", true) => match attribute(element, "link") {
            Ok(Some(link)) if link == "output" => {
                &["name", "file", "link", "size", "transfer", "temporaryHint"]
            }
            _ => &["name", "file", "link", "size"],
        },
        ("child" | "parent", false) => &["ref"],
        ("profile", true) => &["namespace", "key", "value"],
        _ => return None,
    })
}

/// Counts the elements and attributes that a flow does not hold.
pub(crate) fn unheld(source: &Source, tally: &mut Tally) {
    let mut xml = Reader::from_str(source.text());
    xml.config_mut().expand_empty_elements = true;
    let mut depth = 0;
    // Inside of what is lost as a whole, and inside of a job.
    let (mut lost, mut job) = (None, None);
    // The profiles of the job that say what a flow holds: key, value, place.
    let mut profiles: Vec<(String, String, usize)> = Vec::new();
    let mut in_profile = false;
    loop {
        let at = xml.buffer_position() as usize;
        let place = || at_byte(source, at);
        match xml.read_event() {
            Ok(Event::Start(element)) => {
                depth += 1;
                if lost.is_some() {
                    continue;
                }
                let name = element.local_name();
                let name = name.as_ref();
                let Some(held) = held_attributes(&element, job.is_some()) else {
                    let around = if job.is_some() { " in a job" } else { "" };
                    tally.add(&format!("<{name}>{around}"), "field", place);
                    lost = Some(depth);
                    continue;
                };
                match name {
                    "job" | "dag" | "dax" => job = Some(depth),
                    "profile" => {
                        let text =
                            |key| attribute(&element, key).ok().flatten().unwrap_or_default();
                        let key = format!("{}.{}", text("namespace"), text("key"));
                        if held_profile(&key).is_some() {
                            profiles.push((key, text("value").into_owned(), at));
                            in_profile = true;
                        } else {
                            tally.add(&format!("<profile> {key}"), "field", place);
                        }
                    }
                    _ => {}
                }
                for found in element.attributes().flatten() {
                    let key = found.key.as_ref();
                    // Namespaces say how the XML is to be read, not what the workflow is.
                    let foreign = key.starts_with("xmlns") || key.contains(':');
                    if !foreign && !held.contains(&key) && !found.value.is_empty() {
                        tally.add(&format!("<{name} {key}=…>"), "field", place);
                    }
                }
            }
            Ok(Event::Text(text)) if in_profile => {
                if let Some((_, value, _)) = profiles.last_mut() {
                    value.push_str(&text.xml10_content());
                }
            }
            Ok(Event::End(_)) => {
                in_profile = false;
                if job == Some(depth) {
                    outdone(&profiles, source, tally);
                    profiles.clear();
                }
                lost = lost.filter(|&d| d < depth);
                job = job.filter(|&d| d < depth);
                depth -= 1;
            }
            Ok(Event::Comment(_)) => tally.add("comments", "line", place),
            Ok(Event::Eof) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Counts the profiles of one job that the reader passes over, because another one says the same thing with another value:
/// the last one counts, but DAGMan's own priority before Condor's.
fn outdone(profiles: &[(String, String, usize)], source: &Source, tally: &mut Tally) {
    let is_first_choice = |(key, value, _): &&(String, String, usize)| {
        key.eq_ignore_ascii_case("dagman.priority") && value.trim().parse::<i64>().is_ok()
    };
    for (key, value, at) in profiles {
        let what = held_profile(key);
        let same = || (profiles.iter()).filter(|(other, ..)| held_profile(other) == what);
        let taken = same().rfind(is_first_choice).or_else(|| same().next_back());
        if taken.is_some_and(|(_, taken, _)| taken.trim() != value.trim()) {
            let place = || at_byte(source, *at);
            tally.add(&format!("<profile> {key}"), "field", place);
        }
    }
}

/// Whether nobody wants the file at the end: Pegasus deletes it after its last reader.
fn is_temporary(element: &BytesStart<'_>) -> Result<bool, String> {
    let says = |key, value| Ok::<_, String>(attribute(element, key)?.as_deref() == Some(value));
    Ok(says("transfer", "false")? || says("temporaryHint", "true")?)
}

/// The file that an element names: `name` since DAX 3, `file` before.
fn file_name<'e>(element: &'e BytesStart<'_>) -> Result<Option<Cow<'e, str>>, String> {
    match attribute(element, "file")? {
        Some(file) => Ok(Some(file)),
        None => attribute(element, "name"),
    }
}

pub(crate) fn attribute<'e>(
    element: &'e BytesStart<'_>,
    key: &str,
) -> Result<Option<Cow<'e, str>>, String> {
    match element.try_get_attribute(key) {
        Ok(None) => Ok(None),
        Ok(Some(found)) => {
            let value = found.normalized_value(XmlVersion::Implicit1_0);
            value.map(Some).map_err(|e| e.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// XML's own entities. Others would have to be defined in the document, which is refused.
pub(crate) fn entity(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "apos" => "'",
        "quot" => "\"",
        _ => return Err(format!("unknown entity '&{name};'")),
    })
}

#[cfg(test)]
mod tests;
