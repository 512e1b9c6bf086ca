//! Tells the format of a source by its content and its name. Knows the signs of each format, not their syntax.

use crate::native::FIELDS;
use crate::text::Text;
use crate::{Format, Source};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::path::Path;

/// No format fits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell the format of this input")]
pub struct Unrecognized;

impl Unrecognized {
    /// What to do about it.
    pub fn help(&self) -> String {
        let names = Format::names(|_| true);
        format!("name the format with --format, which takes one of: {names}")
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
    if let Some(format) = by_structure(text, promised) {
        return Ok(format);
    }
    match promised {
        // A .dag may be a list of TASK and EDGE lines; what is called .json but is none shows by its lines.
        Some(Format::Dagman | Format::FlowJson) => {}
        Some(format) => return Ok(format),
        None => {}
    }
    by_lines(text).or(promised).ok_or(Unrecognized)
}

/// Formats whose text has an unmistakable beginning.
fn by_structure(text: &str, promised: Option<Format>) -> Option<Format> {
    let text = text.trim_ascii_start();
    match text.as_bytes() {
        // A flow mapping is YAML, too, and a TOML document may begin with a table.
        [b'{' | b'[', ..] if matches!(promised, Some(Format::PegasusYaml | Format::FlowToml)) => {
            promised
        }
        [b'[', ..] if is_toml_header(text) => Some(Format::FlowToml),
        [b'[', ..] => Some(Format::FlowJson),
        [b'{', ..] => Some(by_json_keys(text, promised)),
        [b'<', ..] => Some(Format::Dax),
        _ if is_dot(text) => Some(Format::Dot),
        _ => None,
    }
}

/// Whether the text begins with `[[task]]`.
fn is_toml_header(text: &str) -> bool {
    let rest = text.strip_prefix("[[").map(str::trim_start);
    let rest = rest.and_then(|t| t.strip_prefix("task").or(t.strip_prefix("\"task\"")));
    rest.is_some_and(|t| t.trim_start().starts_with("]]"))
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
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let is_keyword = |k: &&str| word.eq_ignore_ascii_case(k);
    let names_or_opens = |c: char| c.is_alphanumeric() || "{\"<_".contains(c);
    ["digraph", "graph", "strict"].iter().any(is_keyword)
        && rest.trim_start().starts_with(names_or_opens)
        && rest.contains('{')
}

/// Which JSON format has these keys. Broken JSON is left to the native reader to complain of.
fn by_json_keys(text: &str, promised: Option<Format>) -> Format {
    let mut keys = Keys::default();
    let mut input = serde_json::Deserializer::from_str(text);
    let whole = KeysSeed(&mut keys).deserialize(&mut input).is_ok();
    if let Some(format) = keys.found {
        return format;
    }
    // The first object is whole and said nothing else: it may be one task, the first of several lines.
    if promised == Some(Format::FlowJsonLines) || (whole && keys.is_task) {
        return Format::FlowJsonLines;
    }
    Format::FlowJson
}

#[derive(Default)]
struct Keys {
    found: Option<Format>,
    is_task: bool,
}

/// Looks at the keys of an object, and stops (by an error) as soon as they tell.
struct KeysSeed<'a>(&'a mut Keys);

impl<'de> DeserializeSeed<'de> for KeysSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeysSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            self.0.found = match &*key {
                "workflow" | "schemaVersion" => Some(Format::WfFormat),
                "a_galaxy_workflow" | "steps" => Some(Format::Galaxy),
                "task" | "tasks" => Some(Format::FlowJson),
                _ => None,
            };
            if self.0.found.is_some() {
                return Err(A::Error::custom("found"));
            }
            if FIELDS.contains(&&*key) {
                self.0.is_task = true;
                map.next_value::<IgnoredAny>()?;
            } else if map.next_value_seed(IsTaskclusterTask)? {
                self.0.found = Some(Format::Taskcluster);
                return Err(A::Error::custom("found"));
            }
        }
        Ok(())
    }
}

/// Whether a value is an object with the keys of a Taskcluster task.
struct IsTaskclusterTask;

impl<'de> DeserializeSeed<'de> for IsTaskclusterTask {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<bool, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IsTaskclusterTask {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

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

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
}

/// Keywords of DAGMan that begin a line, `-` written as `_`.
const DAGMAN: [&str; 31] = [
    "JOB",
    "NODE",
    "DATA",
    "SUBDAG",
    "SPLICE",
    "FINAL",
    "SERVICE",
    "PROVISIONER",
    "PARENT",
    "SCRIPT",
    "PRE_SKIP",
    "RETRY",
    "ABORT_DAG_ON",
    "VARS",
    "PRIORITY",
    "CATEGORY",
    "MAXJOBS",
    "CONFIG",
    "ENV",
    "SET_JOB_ATTR",
    "DOT",
    "NODE_STATUS_FILE",
    "JOBSTATE_LOG",
    "INCLUDE",
    "REJECT",
    "PIN_IN",
    "PIN_OUT",
    "CONNECT",
    "DONE",
    "SAVE_POINT_FILE",
    "SUBMIT_DESCRIPTION",
];

/// Formats of lines, by the first lines that are no comments.
fn by_lines(text: &str) -> Option<Format> {
    let comment = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines: Vec<&str> = text.lines().filter(comment).take(200).collect();
    let first = *lines.first()?;
    let word = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or("");
        word.to_ascii_uppercase().replace('-', "_")
    };
    let words: Vec<String> = lines.iter().map(|line| word(line)).collect();
    let all = |test: fn(&str) -> bool| lines.iter().all(|line| test(line));
    if is_toml_header(first.trim()) || lines.iter().any(|l| is_toml_header(l.trim())) {
        return Some(Format::FlowToml);
    }
    if ["pegasus:", "x-pegasus:", "jobs:", "jobDependencies:"]
        .iter()
        .any(|k| lines.iter().any(|l| l.starts_with(k)))
    {
        return Some(Format::PegasusYaml);
    }
    if words
        .iter()
        .all(|w| matches!(&w[..], "TASK" | "EDGE" | "FILE" | "INPUTS" | "OUTPUTS"))
        && words.iter().any(|w| matches!(&w[..], "TASK" | "FILE"))
    {
        return Some(Format::TaskEdge);
    }
    let is_dagman = |(line, word): (&&str, &String)| {
        DAGMAN.contains(&&word[..]) && line.split_whitespace().nth(1).is_some()
    };
    if is_dagman((&first, &words[0])) {
        return Some(Format::Dagman);
    }
    let count = |line: &str| line.split_whitespace().count();
    let numbers = |line: &str| line.split_whitespace().all(|w| w.parse::<u64>().is_ok());
    if count(first) == 1 && lines.len() > 1 && count(lines[1]) >= 3 && all(numbers) {
        return Some(Format::Stg);
    }
    if lines
        .windows(2)
        .any(|pair| pair[0].contains(':') && pair[1].starts_with('\t'))
    {
        return Some(Format::Makeflow);
    }
    // Without a telling name, prose must not pass for a list of arcs.
    let fields = |line: &str, separator: char| {
        let mut fields = line.split(separator);
        let is_name =
            |f: &str| !f.is_empty() && (separator == '\t' || !f.contains(char::is_whitespace));
        fields.clone().count() >= 2 && fields.all(is_name)
    };
    if lines.iter().all(|line| fields(line, '\t')) {
        return Some(Format::Tsv);
    }
    if lines.iter().all(|line| fields(line, ',')) {
        return Some(Format::Csv);
    }
    None
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
                Err(Unrecognized),
                "{text}"
            );
        }
        assert!(Unrecognized.help().contains("dagman, wfformat"));
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
