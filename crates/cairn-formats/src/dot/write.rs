//! Writes DOT: all nodes in order, then all arcs. Knows nothing of drawing.

use cairn_dag::{Flow, TaskId};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// Writes a plain digraph. Names and commands are always quoted; files are not kept.
pub(crate) fn write(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    out.write_all(b"digraph {\n")?;
    for task in flow.dag().tasks() {
        text.clear();
        text.push_str("  ");
        push_quoted(&mut text, flow.name(task));
        push_attributes(&mut text, flow, task);
        text.push_str(";\n");
        out.write_all(text.as_bytes())?;
    }
    for (parent, child) in flow.dag().arcs() {
        text.clear();
        text.push_str("  ");
        push_quoted(&mut text, flow.name(parent));
        text.push_str(" -> ");
        push_quoted(&mut text, flow.name(child));
        text.push_str(";\n");
        out.write_all(text.as_bytes())?;
    }
    out.write_all(b"}\n")
}

fn push_attributes(text: &mut String, flow: &Flow, task: TaskId) {
    let mut separator = " [";
    let mut plain = |text: &mut String, key: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(text, "{separator}{key}={value}").expect("a String takes everything");
            separator = ", ";
        }
    };
    // In quotes, for a bare number of DOT has no exponent.
    let real = |seconds: f64| format!("\"{seconds:?}\"");
    plain(text, "seconds", flow.seconds(task).map(real));
    plain(text, "time_limit", flow.time_limit(task).map(real));
    plain(text, "memory", flow.memory(task).map(|n| n.to_string()));
    plain(text, "scratch", flow.scratch(task).map(|n| n.to_string()));
    plain(text, "cpus", flow.cpus(task).map(|n| n.to_string()));
    plain(text, "retries", flow.retries(task).map(|n| n.to_string()));
    plain(text, "priority", flow.priority(task).map(|n| n.to_string()));
    plain(text, "done", flow.is_done(task).then(|| "true".to_owned()));
    let quoted = |string: &str| {
        let mut quoted = String::new();
        push_quoted(&mut quoted, string);
        quoted
    };
    let label = flow
        .label(task)
        .map(|label| quoted(label).replace('\n', "\\n"));
    plain(text, "label", label);
    plain(text, "kind", flow.given_kind(task).map(quoted));
    plain(text, "command", flow.command(task).map(quoted));
    if separator != " [" {
        text.push(']');
    }
}

/// `"…"`, with `\"` for a quote and `\\` for a backslash.
fn push_quoted(text: &mut String, string: &str) {
    text.push('"');
    for c in string.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;

    #[test]
    fn looks_as_people_would_write_it() {
        let mut build = FlowBuilder::new();
        let a = build.declare("a", 0).unwrap();
        let b = build.declare("b \"x\" \\", 0).unwrap();
        build.arc(a, b).unwrap();
        build.set_command(b, "echo \"hi\"");
        build.set_seconds(b, 1e-7).unwrap();
        build.set_priority(b, -1);
        build.set_label(b, "two\n\"lines\"");
        build.set_kind(b, "echo");
        let mut out = Vec::new();
        write(&build.finish().unwrap(), &mut out).unwrap();
        let expected = "digraph {\n  \"a\";\n  \"b \\\"x\\\" \\\\\" [seconds=\"1e-7\", priority=-1, \
            label=\"two\\n\\\"lines\\\"\", kind=\"echo\", command=\"echo \\\"hi\\\"\"];\n  \"a\" -> \"b \\\"x\\\" \\\\\";\n}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
