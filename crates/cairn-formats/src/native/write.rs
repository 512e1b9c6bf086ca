//! Writes native flow files. Knows nothing of reading them.

use crate::json::push_string;
use cairn_dag::{File, Flow, TaskId};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// Writes `[[task]]` tables.
pub(crate) fn write_toml(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    for task in flow.dag().tasks() {
        text.clear();
        text.push_str(if task.index() == 0 { "" } else { "\n" });
        text.push_str("[[task]]");
        push_fields(&mut text, Style::Toml, flow, task);
        text.push('\n');
        out.write_all(text.as_bytes())?;
    }
    if flow.dag().is_empty() {
        out.write_all(b"task = []\n")?;
    }
    Ok(())
}

/// Writes `{"task":[…]}`, one task a line.
pub(crate) fn write_json(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    out.write_all(b"{\"task\":[")?;
    write_objects(flow, "\n", ",\n", out)?;
    out.write_all(b"\n]}\n")
}

/// Writes one task object a line.
pub(crate) fn write_json_lines(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    write_objects(flow, "", "\n", out)?;
    out.write_all(if flow.dag().is_empty() { b"" } else { b"\n" })
}

fn write_objects(flow: &Flow, first: &str, next: &str, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    for task in flow.dag().tasks() {
        text.clear();
        text.push_str(if task.index() == 0 { first } else { next });
        text.push('{');
        push_fields(&mut text, Style::Json, flow, task);
        text.push('}');
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Json,
    Toml,
}

/// Appends the fields of a task that have a value, `name` first.
fn push_fields(text: &mut String, style: Style, flow: &Flow, task: TaskId) {
    style.push_key(text, "name");
    style.push_string(text, flow.name(task));
    if let Some(run) = flow.command(task) {
        style.push_key(text, "run");
        style.push_string(text, run);
    }
    let parents = flow.dag().parents(task);
    if !parents.is_empty() {
        style.push_key(text, "after");
        push_list(text, parents.iter(), |text, &parent| {
            style.push_string(text, flow.name(parent));
        });
    }
    if let Some(seconds) = flow.seconds(task) {
        style.push_key(text, "seconds");
        push_plain(text, format_args!("{seconds:?}"));
    }
    push_files(text, style, "inputs", flow.inputs(task));
    push_files(text, style, "outputs", flow.outputs(task));
    if let Some(cpus) = flow.cpus(task) {
        style.push_key(text, "cpus");
        push_plain(text, format_args!("{cpus}"));
    }
    if let Some(retries) = flow.retries(task) {
        style.push_key(text, "retries");
        push_plain(text, format_args!("{retries}"));
    }
    if let Some(priority) = flow.priority(task) {
        style.push_key(text, "priority");
        push_plain(text, format_args!("{priority}"));
    }
    if flow.is_done(task) {
        style.push_key(text, "done");
        text.push_str("true");
    }
    if let Some(kind) = flow.given_kind(task) {
        style.push_key(text, "kind");
        style.push_string(text, kind);
    }
    if let Some(label) = flow.label(task) {
        style.push_key(text, "label");
        style.push_string(text, label);
    }
}

fn push_files<'f>(
    text: &mut String,
    style: Style,
    key: &str,
    files: impl Iterator<Item = File<'f>>,
) {
    let mut files = files.peekable();
    if files.peek().is_none() {
        return;
    }
    style.push_key(text, key);
    push_list(text, files, |text, file| {
        let Some(bytes) = file.bytes else {
            style.push_string(text, file.path);
            return;
        };
        let [open, middle] = match style {
            Style::Json => ["{\"path\":", ",\"bytes\":"],
            Style::Toml => ["{ path = ", ", bytes = "],
        };
        text.push_str(open);
        style.push_string(text, file.path);
        push_plain(text, format_args!("{middle}{bytes}"));
        text.push_str(if style == Style::Json { "}" } else { " }" });
    });
}

fn push_list<T>(text: &mut String, items: impl Iterator<Item = T>, push: impl Fn(&mut String, T)) {
    text.push('[');
    for (i, item) in items.enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        push(text, item);
    }
    text.push(']');
}

fn push_plain(text: &mut String, value: std::fmt::Arguments<'_>) {
    text.write_fmt(value).expect("a String takes everything");
}

impl Style {
    fn push_key(self, text: &mut String, key: &str) {
        match self {
            Style::Json => {
                text.push_str(if text.ends_with('{') { "\"" } else { ",\"" });
                text.push_str(key);
                text.push_str("\":");
            }
            Style::Toml => {
                text.push('\n');
                text.push_str(key);
                text.push_str(" = ");
            }
        }
    }

    /// JSON's escapes are TOML's, too; but TOML forbids a bare delete character.
    fn push_string(self, text: &mut String, string: &str) {
        let start = text.len();
        push_string(text, string);
        if self == Style::Toml && string.contains('\x7f') {
            let escaped = text[start..].replace('\x7f', "\\u007f");
            text.truncate(start);
            text.push_str(&escaped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;

    #[test]
    fn looks_as_people_would_write_it() {
        let mut build = FlowBuilder::new();
        let a = build.declare("a", 0).unwrap();
        let b = build.declare("b \"x\"\n\x7f", 0).unwrap();
        build.arc(a, b).unwrap();
        build.set_command(a, "echo hi > x");
        build.set_seconds(a, 2.0).unwrap();
        build.add_output(a, "x", Some(3));
        build.add_output(a, "y", None);
        build.set_priority(b, -1);
        build.set_done(b);
        build.set_kind(b, "echo");
        build.set_label(b, "say\nx");
        let flow = build.finish().unwrap();
        let written = |write: fn(&Flow, &mut dyn Write) -> Result<()>| {
            let mut out = Vec::new();
            write(&flow, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let toml = "[[task]]\nname = \"a\"\nrun = \"echo hi > x\"\nseconds = 2.0\n\
            outputs = [{ path = \"x\", bytes = 3 }, \"y\"]\n\n\
            [[task]]\nname = \"b \\\"x\\\"\\n\\u007f\"\nafter = [\"a\"]\npriority = -1\ndone = true\n\
            kind = \"echo\"\nlabel = \"say\\nx\"\n";
        assert_eq!(written(write_toml), toml);
        let a = r#"{"name":"a","run":"echo hi > x","seconds":2.0,"outputs":[{"path":"x","bytes":3}, "y"]}"#;
        let b = "{\"name\":\"b \\\"x\\\"\\n\x7f\",\"after\":[\"a\"],\"priority\":-1,\"done\":true,\
            \"kind\":\"echo\",\"label\":\"say\\nx\"}";
        assert_eq!(written(write_json_lines), format!("{a}\n{b}\n"));
        assert_eq!(
            written(write_json),
            format!("{{\"task\":[\n{a},\n{b}\n]}}\n")
        );
    }
}
