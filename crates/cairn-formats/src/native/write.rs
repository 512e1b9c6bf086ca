//! Writes native flow files. Knows nothing of reading them.

use crate::json::{push_list, push_plain, push_string};
use cairn_dag::{File, Flow, TaskId};
use std::io::{Result, Write};

/// Writes `[[task]]` tables.
pub(crate) fn write_toml(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    // The reader wants the field, even if it holds nothing; behind a table it would be a field of that.
    if flow.dag().is_empty() {
        out.write_all(b"task = []\n")?;
    }
    if flow.pool_limits().next().is_some() {
        text.push_str("[pools]");
        for (pool, limit) in flow.pool_limits() {
            text.push('\n');
            Style::Toml.push_string(&mut text, pool);
            push_plain(&mut text, format_args!(" = {limit}"));
        }
        text.push_str("\n\n");
        out.write_all(text.as_bytes())?;
    }
    for task in flow.dag().tasks() {
        text.clear();
        text.push_str(if task.index() == 0 { "" } else { "\n" });
        text.push_str("[[task]]");
        push_fields(&mut text, Style::Toml, flow, task);
        text.push('\n');
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Writes `{"task":[…]}`, one task a line, with the limits of pools before it.
pub(crate) fn write_json(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    let mut text = "{".to_owned();
    if flow.pool_limits().next().is_some() {
        push_pools(&mut text, Style::Json, flow.pool_limits());
        text.push_str(",\n");
    }
    out.write_all(text.as_bytes())?;
    out.write_all(b"\"task\":[")?;
    write_objects(flow, "\n", ",\n", out)?;
    out.write_all(b"\n]}\n")
}

/// Writes one task object a line, after a line with the limits of pools if there are any.
pub(crate) fn write_json_lines(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    if flow.pool_limits().next().is_some() {
        let mut text = "{".to_owned();
        push_pools(&mut text, Style::Json, flow.pool_limits());
        text.push_str("}\n");
        out.write_all(text.as_bytes())?;
    }
    write_objects(flow, "", "\n", out)?;
    out.write_all(if flow.dag().is_empty() { b"" } else { b"\n" })
}

fn write_objects(flow: &Flow, first: &str, next: &str, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    for task in flow.dag().tasks() {
        text.clear();
        // Before each task and not behind it: the last has none to follow.
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
    style.push_text(text, "name", Some(flow.name(task)));
    style.push_text(text, "run", flow.command(task));
    let parents = flow.dag().parents(task);
    if !parents.is_empty() {
        style.push_key(text, "after");
        push_list(text, parents.iter(), |text, &parent| {
            style.push_string(text, flow.name(parent));
        });
    }
    style.push_number(text, "seconds", flow.seconds(task));
    // The mark belongs to the writer of a file; among inputs the reader refuses it.
    let inputs = flow.inputs(task).map(|file| File {
        temp: false,
        ..file
    });
    push_files(text, style, "inputs", inputs);
    push_files(text, style, "outputs", flow.outputs(task));
    style.push_number(text, "cpus", flow.cpus(task));
    for (key, bytes) in [
        ("memory", flow.memory(task)),
        ("scratch", flow.scratch(task)),
    ] {
        if let Some(bytes) = bytes {
            style.push_key(text, key);
            style.push_bytes(text, bytes);
        }
    }
    push_pools(text, style, flow.pools(task));
    let mut tags = flow.tags(task).peekable();
    if tags.peek().is_some() {
        style.push_key(text, "tags");
        push_list(text, tags, |text, tag| style.push_string(text, tag));
    }
    style.push_number(text, "time_limit", flow.time_limit(task));
    style.push_number(text, "retries", flow.retries(task));
    style.push_number(text, "priority", flow.priority(task));
    style.push_number(text, "done", flow.is_done(task).then_some(true));
    style.push_text(text, "kind", flow.given_kind(task));
    style.push_text(text, "label", flow.label(task));
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
        if file.bytes.is_none() && !file.temp {
            style.push_string(text, file.path);
            return;
        }
        let [open, bytes, temp] = match style {
            Style::Json => ["{\"path\":", ",\"bytes\":", ",\"temp\":true"],
            Style::Toml => ["{ path = ", ", bytes = ", ", temp = true"],
        };
        text.push_str(open);
        style.push_string(text, file.path);
        if let Some(size) = file.bytes {
            text.push_str(bytes);
            style.push_bytes(text, size);
        }
        text.push_str(if file.temp { temp } else { "" });
        text.push_str(if style == Style::Json { "}" } else { " }" });
    });
}

/// `pools`, if there is any: as an inline table or an object.
fn push_pools<'f>(text: &mut String, style: Style, pools: impl Iterator<Item = (&'f str, u32)>) {
    let mut pools = pools.peekable();
    if pools.peek().is_none() {
        return;
    }
    style.push_key(text, "pools");
    let [open, equals, close] = match style {
        Style::Json => ["{", ":", "}"],
        Style::Toml => ["{ ", " = ", " }"],
    };
    text.push_str(open);
    for (i, (pool, count)) in pools.enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        style.push_string(text, pool);
        push_plain(text, format_args!("{equals}{count}"));
    }
    text.push_str(close);
}

impl Style {
    fn push_key(self, text: &mut String, key: &str) {
        match self {
            Style::Json => {
                // Only a fresh object ends so: strings end with their quote, inner objects with a closing brace.
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

    /// A field with a text, if there is one.
    fn push_text(self, text: &mut String, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push_key(text, key);
            self.push_string(text, value);
        }
    }

    /// A field with a number or a truth value, if there is one.
    fn push_number(self, text: &mut String, key: &str, value: Option<impl std::fmt::Debug>) {
        if let Some(value) = value {
            self.push_key(text, key);
            // `?` has an exponent where a plain number would have hundreds of digits; both are read back to the last bit.
            push_plain(text, format_args!("{value:?}"));
        }
    }

    /// TOML's numbers have 63 bits; what is larger is written as a size.
    fn push_bytes(self, text: &mut String, bytes: u64) {
        match self {
            Style::Toml if i64::try_from(bytes).is_err() => {
                push_plain(text, format_args!("\"{bytes}B\""));
            }
            _ => push_plain(text, format_args!("{bytes}")),
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
        build.add_output(a, "z", None);
        build.set_temp("z");
        build.add_input(b, "z", None);
        build.set_memory(a, 4_000_000_000);
        build.set_scratch(a, u64::MAX);
        build.set_time_limit(a, 300.0).unwrap();
        build.add_pool(a, "a b", 1);
        build.add_pool(a, "c", 2);
        build.set_pool_limit("c", 0);
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
        let toml = "[pools]\n\"c\" = 0\n\n[[task]]\nname = \"a\"\nrun = \"echo hi > x\"\nseconds = 2.0\n\
            outputs = [{ path = \"x\", bytes = 3 }, \"y\", { path = \"z\", temp = true }]\n\
            memory = 4000000000\nscratch = \"18446744073709551615B\"\npools = { \"a b\" = 1, \"c\" = 2 }\n\
            time_limit = 300.0\n\n\
            [[task]]\nname = \"b \\\"x\\\"\\n\\u007f\"\nafter = [\"a\"]\ninputs = [\"z\"]\npriority = -1\ndone = true\n\
            kind = \"echo\"\nlabel = \"say\\nx\"\n";
        assert_eq!(written(write_toml), toml);
        let a = r#"{"name":"a","run":"echo hi > x","seconds":2.0,"outputs":[{"path":"x","bytes":3}, "y", {"path":"z","temp":true}],"memory":4000000000,"scratch":18446744073709551615,"pools":{"a b":1, "c":2},"time_limit":300.0}"#;
        let b = "{\"name\":\"b \\\"x\\\"\\n\x7f\",\"after\":[\"a\"],\"inputs\":[\"z\"],\"priority\":-1,\"done\":true,\
            \"kind\":\"echo\",\"label\":\"say\\nx\"}";
        assert_eq!(
            written(write_json_lines),
            format!("{{\"pools\":{{\"c\":0}}}}\n{a}\n{b}\n")
        );
        assert_eq!(
            written(write_json),
            format!("{{\"pools\":{{\"c\":0}},\n\"task\":[\n{a},\n{b}\n]}}\n")
        );
    }
}
