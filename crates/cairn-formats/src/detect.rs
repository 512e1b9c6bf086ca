//! Tells the format of a source by its content and its name. Knows the signs of each format, not their syntax.

use crate::elsewhere::{self, Kind};
use crate::native::FIELDS;
use crate::text::Text;
use crate::visit::{expecting, scalars, seed};
use crate::{Format, Source};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::path::Path;

/// No format fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecognized {
    kind: Option<Kind>,
}

impl std::error::Error for Unrecognized {}

impl fmt::Display for Unrecognized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "this looks like {}", kind.what),
            None => f.write_str("cannot tell the format of this input"),
        }
    }
}

impl Unrecognized {
    /// Whether naming a format is a cure: what is plainly something else has one of its own.
    pub(crate) fn asks_for_a_format(&self) -> bool {
        self.kind.is_none_or(|kind| kind.cure.is_empty())
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        let names = Format::names(|_| true);
        let general = format!("name its format, one of: {names}");
        match self.kind {
            Some(kind) if kind.cure.is_empty() => {
                format!("name a workflow file; if it is one, {general}")
            }
            Some(kind) => kind.cure.to_owned(),
            None => general,
        }
    }
}

/// The format of a source.
///
/// JSON, XML and DOT are known by their content, whatever the file is called; otherwise a telling extension decides;
/// otherwise the first lines do. Looks at the beginning of the text only.
///
/// ```
/// use cairn_formats::{Format, Source, detect};
/// let source = Source::from_text("-", "JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\n");
/// assert_eq!(detect(&source), Ok(Format::Dagman));
/// assert!(detect(&Source::from_text("-", "Dear all,\n")).is_err());
/// ```
///
/// # Errors
/// [`Unrecognized`] when no format fits.
pub fn detect(source: &Source) -> Result<Format, Unrecognized> {
    let promised = Format::from_extension(Path::new(source.name()));
    let text = source.text();
    // Content before name: files are called .txt, .json and .dag by habit.
    if let Some(found) = by_structure(text, promised) {
        return found;
    }
    match promised {
        // A .dag may be a list of TASK and EDGE lines; what is called .json but is none shows by its lines.
        Some(Format::Dagman | Format::FlowJson) => {}
        Some(format) => return Ok(format),
        None => {}
    }
    if let Some(format) = by_lines(text) {
        return Ok(format);
    }
    match elsewhere::of_text(text) {
        Some(kind) => Err(Unrecognized { kind: Some(kind) }),
        // Nothing speaks against what the name promises: its reader will say what is wrong.
        None => promised.ok_or(Unrecognized { kind: None }),
    }
}

/// Formats whose text has an unmistakable beginning.
fn by_structure(text: &str, promised: Option<Format>) -> Option<Result<Format, Unrecognized>> {
    let text = text.trim_ascii_start();
    let format = match text.as_bytes() {
        // A flow mapping is YAML, too, and a TOML document may begin with a table.
        [b'{' | b'[', ..] if matches!(promised, Some(Format::PegasusYaml | Format::FlowToml)) => {
            promised?
        }
        [b'[', ..] if is_toml_header(text) => Format::FlowToml,
        [b'[', rest @ ..] if is_json_list(rest) => Format::FlowJson,
        [b'{', ..] => return Some(by_json_keys(text, promised)),
        // The only XML that is read; what else begins so is told what a DAX is.
        [b'<', ..] => Format::Dax,
        _ if is_dot(text) => Format::Dot,
        _ => return None,
    };
    Some(Ok(format))
}

/// Whether a list goes on so, and no section of an INI file.
fn is_json_list(rest: &[u8]) -> bool {
    matches!(
        rest.trim_ascii_start(),
        [] | [b'{' | b'[' | b']' | b'"' | b'-' | b'0'..=b'9', ..]
    )
}

/// Whether the text begins with `[[task]]` or `[[sweep]]`, perhaps behind `[pools]`.
fn is_toml_header(text: &str) -> bool {
    let begins = |text: &str| {
        let rest = text.strip_prefix("[[").map(str::trim_start);
        let names = ["task", "\"task\"", "sweep", "\"sweep\""];
        let rest = rest.and_then(|t| names.iter().find_map(|name| t.strip_prefix(name)));
        rest.is_some_and(|t| t.trim_start().starts_with("]]"))
    };
    let behind_pools = || text.lines().any(|line| begins(line.trim_start()));
    begins(text) || (text.starts_with("[pools]") && behind_pools())
}

/// Whether the text begins with `digraph`, `strict` or `graph`, after comments.
fn is_dot(mut text: &str) -> bool {
    loop {
        text = text.trim_start();
        let comment = match text.as_bytes() {
            [b'/', b'/', ..] | [b'#', ..] => text.find('\n').map(|end| end + 1),
            [b'/', b'*', ..] => text.find("*/").map(|end| end + 2),
            _ => break,
        };
        match comment {
            Some(end) => text = &text[end..],
            None => return false,
        }
    }
    /// Cuts off a word and the blanks behind it.
    fn word(rest: &mut &str) -> String {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        *rest = behind.trim_start();
        word.to_ascii_lowercase()
    }
    let rest = &mut &*text;
    // In any case, as Graphviz reads its keywords.
    let mut keyword = word(rest);
    if keyword == "strict" {
        keyword = word(rest);
    }
    // Undirected graphs count as DOT, too: its reader says what is wrong with them.
    if !matches!(&keyword[..], "digraph" | "graph") {
        return false;
    }
    // A name may stand between the keyword and the brace: `graph TD` alone is Mermaid.
    if !rest.starts_with(['{', '"', '<']) && word(rest).is_empty() {
        return false;
    }
    match rest.as_bytes() {
        [b'"' | b'<', ..] => rest.contains('{'),
        _ => rest.starts_with('{'),
    }
}

/// Which JSON format has these keys. Broken JSON is left to the native reader to complain of.
fn by_json_keys(text: &str, promised: Option<Format>) -> Result<Format, Unrecognized> {
    let mut keys = Keys::default();
    // The seed stops with an error as soon as it knows.
    let _ = KeysSeed(&mut keys).deserialize(&mut serde_json::Deserializer::from_str(text));
    if let Some(format) = keys.found {
        return Ok(format);
    }
    let mut input = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    // Broken JSON may be any of ours, cut off: the native reader names the place.
    let whole = matches!(input.next(), Some(Ok(_)));
    let one_line = whole && !text[..input.byte_offset()].contains('\n');
    // The first object is whole and said nothing else: it may be one task, the first of several lines.
    if promised == Some(Format::FlowJsonLines) || (one_line && keys.is_task) {
        return Ok(Format::FlowJsonLines);
    }
    if whole {
        let kind = Some(elsewhere::of_json_keys(&keys.others));
        return Err(Unrecognized { kind });
    }
    Ok(Format::FlowJson)
}

#[derive(Default)]
struct Keys {
    found: Option<Format>,
    is_task: bool,
    /// Keys of no format, the first few.
    others: Vec<String>,
}

/// Looks at the keys of an object, and stops (by an error) as soon as they tell.
struct KeysSeed<'a>(&'a mut Keys);

seed!(KeysSeed<'_> => (), deserialize_map);

impl<'de> Visitor<'de> for KeysSeed<'_> {
    type Value = ();

    expecting!("an object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            self.0.found = match &*key {
                "workflow" | "schemaVersion" => Some(Format::WfFormat),
                "a_galaxy_workflow" | "steps" => Some(Format::Galaxy),
                "task" | "tasks" | "sweep" => Some(Format::FlowJson),
                _ => None,
            };
            // At once: a document of a gigabyte is not read through to tell what it is.
            if self.0.found.is_some() {
                return Err(A::Error::custom("found"));
            }
            if FIELDS.contains(&&*key) {
                self.0.is_task = true;
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            // They only name what the file is: the first few will do, and a file of a million keys fills no memory.
            if self.0.others.len() < 50 {
                self.0.others.push(key.to_string());
            }
            if map.next_value_seed(IsTaskclusterTask)? {
                self.0.found = Some(Format::Taskcluster);
                return Err(A::Error::custom("found"));
            }
        }
        Ok(())
    }
}

/// Whether a value is an object with the keys of a Taskcluster task.
struct IsTaskclusterTask;

seed!(IsTaskclusterTask => bool, deserialize_any);

impl<'de> Visitor<'de> for IsTaskclusterTask {
    type Value = bool;

    expecting!("any value");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut is_task = false;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            is_task |= matches!(&*key, "dependencies" | "soft_dependencies");
            map.next_value::<IgnoredAny>()?;
        }
        Ok(is_task)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    scalars!(|_: bool| false);
}

/// Formats of lines, by the first lines that are no comments.
fn by_lines(text: &str) -> Option<Format> {
    let comment = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    // The beginning tells: a large file is not looked through before it is read.
    let lines: Vec<&str> = text.lines().filter(comment).take(200).collect();
    let first = *lines.first()?;
    let word = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or("");
        word.to_ascii_uppercase()
    };
    let words: Vec<String> = lines.iter().map(|line| word(line)).collect();
    let all = |test: fn(&str) -> bool| lines.iter().all(|line| test(line));
    if is_toml_header(first.trim()) || lines.iter().any(|l| is_toml_header(l.trim())) {
        return Some(Format::FlowToml);
    }
    let begins = |key: &str| lines.iter().any(|line| line.starts_with(key));
    // A Pegasus file need not begin with its version: a list under `jobs:` is as good a sign.
    let lists_jobs = (lines.windows(2))
        .any(|pair| pair[0].trim_end() == "jobs:" && pair[1].trim_start().starts_with('-'));
    if ["pegasus:", "x-pegasus:", "jobDependencies:"]
        .into_iter()
        .any(begins)
        || lists_jobs
    {
        return Some(Format::PegasusYaml);
    }
    let of_task_edge =
        |w: &&String| matches!(&w[..], "TASK" | "EDGE" | "FILE" | "INPUTS" | "OUTPUTS");
    // Nine in ten: a mistake or two must not hide what it is, and DAGMan has none of these words.
    if words.iter().filter(of_task_edge).count() * 10 >= words.len() * 9
        && words.iter().any(|w| matches!(&w[..], "TASK" | "FILE"))
    {
        return Some(Format::TaskEdge);
    }
    // After TASK and EDGE lists, whose files are called .dag too.
    if crate::dagman::looks_like(text) {
        return Some(Format::Dagman);
    }
    let count = |line: &str| line.split_whitespace().count();
    let numbers = |line: &str| line.split_whitespace().all(|w| w.parse::<u64>().is_ok());
    // After those with words: an STG is nothing but numbers, the first of them their count.
    if count(first) == 1 && lines.len() > 1 && count(lines[1]) >= 3 && all(numbers) {
        return Some(Format::Stg);
    }
    // Late: its rules look like lines of many languages.
    if crate::makeflow::looks_like(text) {
        return Some(Format::Makeflow);
    }
    // Without a telling name, prose must not pass for a list of arcs.
    let fields = |line: &str, separator: char| {
        let mut fields = line.split(separator);
        let is_name =
            |f: &str| !f.is_empty() && (separator == '\t' || !f.contains(char::is_whitespace));
        match fields.clone().all(is_name) {
            true => fields.by_ref().count(),
            false => 0,
        }
    };
    let is_list = |separator: char| {
        let columns = fields(first, separator);
        columns >= 2 && lines.iter().all(|line| fields(line, separator) == columns)
    };
    match () {
        () if is_list('\t') => Some(Format::Tsv),
        () if is_list(',') || is_list(';') => Some(Format::Csv),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_content_alone() {
        for (text, format) in [
            ("{\"name\": \"x\", \"workflow\": {}}", Format::WfFormat),
            ("{\"schemaVersion\": \"1.5\", broken", Format::WfFormat),
            (
                "{\"a_galaxy_workflow\": \"true\", \"steps\": {}}",
                Format::Galaxy,
            ),
            (
                "{\"x\": {\"label\": \"x\", \"dependencies\": {}}}",
                Format::Taskcluster,
            ),
            ("{\"task\": [", Format::FlowJson),
            ("\n [{\"name\": \"a\"}]", Format::FlowJson),
            ("{\"name\": \"a\"}", Format::FlowJsonLines),
            (
                "{\"name\": \"a\", \"x\": [1, {\"dependencies\": 2}]}\n{\"name\": \"b\"}\n",
                Format::FlowJsonLines,
            ),
            ("{\"name\": ", Format::FlowJson),
            ("<?xml version=\"1.0\"?>\n<adag/>", Format::Dax),
            ("// x\n/* y */ # z\nstrict  digraph\"x\"{}", Format::Dot),
            ("digraph\n{ a }", Format::Dot),
            ("graph { a -- b }", Format::Dot),
            ("# x\n[[ task ]]\nname = 'a'", Format::FlowToml),
            ("title = 'x'\n[[task]]\nname = 'a'", Format::FlowToml),
            (
                "pegasus: '5.0'\nname: x\njobs:\n- id: a\n",
                Format::PegasusYaml,
            ),
            ("# c\njob a a.sub\nparent a child b\n", Format::Dagman),
            ("Submit-Description x {\n a = b\n}\n", Format::Dagman),
            ("TASK a b\nTASK c d\nEDGE a c\n", Format::TaskEdge),
            ("3\n0 0 0\n1 5 1 0\n", Format::Stg),
            ("A=b\nx: y\n\tcat y > x\n", Format::Makeflow),
            ("a\tb\nb\tc\n", Format::Tsv),
            ("a,b\r\nb,c\r\n", Format::Csv),
        ] {
            let source = Source::from_text("-", text);
            assert_eq!(detect(&source), Ok(format), "{text}");
        }
        for text in [
            "",
            " \n",
            "hello",
            "JOB",
            "digraph: x",
            "graphs are, well\nnice",
        ] {
            assert_eq!(
                detect(&Source::from_text("-", text)),
                Err(Unrecognized { kind: None }),
                "{text}"
            );
        }
        assert!(
            Unrecognized { kind: None }
                .help()
                .contains("dagman, wfformat")
        );
    }

    #[test]
    fn by_name_where_the_content_does_not_tell() {
        for (name, text, format) in [
            ("x.csv", "parent,child", Format::Csv),
            ("x.csv.gz", "JOB a b", Format::Csv),
            ("x.dag", "# nothing yet", Format::Dagman),
            ("x.dag", "TASK a b\nEDGE a b", Format::TaskEdge),
            ("x.json", "{\"workflow\": {}}", Format::WfFormat),
            ("x.json.zst", "{", Format::FlowJson),
            ("x.json", "JOB a b", Format::Dagman),
            ("x.jsonl", "{\"nome\": 1}", Format::FlowJsonLines),
            ("x.yml", "{jobs: []}", Format::PegasusYaml),
            ("x.toml", "[x]\n[[task]]", Format::FlowToml),
            ("x.makeflow", "digraph { a -> b }", Format::Dot),
            ("x.mf", "a: b", Format::Makeflow),
        ] {
            let source = Source::from_text(name, text);
            assert_eq!(detect(&source), Ok(format), "{name}: {text}");
        }
    }
}
