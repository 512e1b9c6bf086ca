//! Laws of setting priorities, on random flows with random decorations, and the looks of it, by example.

mod pegasus;

use super::*;
use crate::test_support::{any_flow, assert_same_dag};
use cairn_dag::TaskId;
use proptest::prelude::*;

const SINGLE: [Format; 5] = [
    Format::WfFormat,
    Format::FlowJson,
    Format::FlowJsonLines,
    Format::FlowToml,
    Format::Dot,
];

fn set(
    text: &str,
    format: Format,
    priority: &dyn Fn(&str) -> Option<i64>,
    existing: ExistingPriorities,
) -> String {
    let source = Source::from_text("f", text);
    let mut report = Report::default();
    let mut load = |_: &Path, _: &mut Report| None;
    let set = set_priorities(&source, format, &mut load, priority, existing, &mut report);
    let set = set.unwrap_or_else(|e| panic!("{e} in {}:\n{text}\n{:?}", format.name(), report));
    let mut files = set.files;
    assert_eq!(files.len(), 1);
    files.remove(0).text
}

/// `a` gets 10, `b` 11, and so on.
fn by_letter(name: &str) -> Option<i64> {
    let first = name.bytes().next()?;
    Some(i64::from(first) - i64::from(b'a') + 10)
}

fn check(format: Format, text: &str, expected: &str) {
    let new = set(text, format, &by_letter, ExistingPriorities::Replace);
    assert_eq!(new, expected, "{text}");
    let again = set(&new, format, &by_letter, ExistingPriorities::Replace);
    assert_eq!(again, new, "twice is once");
    let kept = set(&new, format, &|_| Some(99), ExistingPriorities::Keep);
    assert_eq!(kept, new, "all have one");
}

#[test]
fn json_keeps_its_style() {
    for (text, expected) in [
        (r#"[{"name":"a"}]"#, r#"[{"name":"a","priority":10}]"#),
        (r#"[{"name": "a"}]"#, r#"[{"name": "a", "priority": 10}]"#),
        (
            r#"{"tasks": [ { "name" : "a", "after" : [ "b" ] }, {"name":"b"} ]}"#,
            r#"{"tasks": [ { "name" : "a", "after" : [ "b" ], "priority" : 10 }, {"name":"b","priority":11} ]}"#,
        ),
        (
            "[\r\n\t{\r\n\t\t\"name\": \"a\"\r\n\t}\r\n]",
            "[\r\n\t{\r\n\t\t\"name\": \"a\",\r\n\t\t\"priority\": 10\r\n\t}\r\n]",
        ),
        (
            r#"[{"pri\u006frity":-17 , "name":"a"},{"name":"b","priority":null}]"#,
            r#"[{"pri\u006frity":10 , "name":"a"},{"name":"b","priority":11}]"#,
        ),
    ] {
        check(Format::FlowJson, text, expected);
    }
    check(
        Format::FlowJsonLines,
        "{\"name\":\"a\"}\r\n\r\n  {\"name\": \"b\", \"after\": \"a\"}",
        "{\"name\":\"a\",\"priority\":10}\r\n\r\n  {\"name\": \"b\", \"after\": \"a\", \"priority\": 11}",
    );
}

#[test]
fn every_version_of_wfformat_gets_it_where_its_tasks_are() {
    for (head, tail) in [
        (r#"{"workflow":{"jobs":["#, "]}}"),
        (r#"{"workflow":{"machines":[{"x":"]"}],"tasks":["#, "]}}"),
        (
            r#"{"workflow":{"specification":{"files":[],"tasks":["#,
            r#"]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1,"priority":7}]}}}"#,
        ),
        (r#"{"workflow":{"specification":null,"tasks":["#, "]}}"),
    ] {
        let task = |name: &str, more: &str| {
            format!(
                "{{\"name\":\"{name}\",\"id\":\"{name}\",\"parents\":[],\"children\":[]{more}}}"
            )
        };
        let text = format!(
            "{head}{},{}{tail}",
            task("a", ""),
            task("b", ",\"priority\":3.5")
        );
        let expected = format!(
            "{head}{},{}{tail}",
            task("a", ",\"priority\":10"),
            task("b", ",\"priority\":11")
        );
        check(Format::WfFormat, &text, &expected);
    }
}

#[test]
fn toml_tables_and_inline_tables() {
    for (text, expected) in [
        (
            "[[task]] # first\nname = \"a\"",
            "[[task]] # first\nname = \"a\"\npriority = 10",
        ),
        (
            "# c\r\n[[task]]\r\n  after = []\r\n  name = \"a\" # x = 1\r\n\r\n[[task]]\r\nname='b'\r\npriority=-1_0 # y\r\n",
            "# c\r\n[[task]]\r\n  after = []\r\n  name = \"a\" # x = 1\r\n  priority = 10\r\n\r\n[[task]]\r\nname='b'\r\npriority=11 # y\r\n",
        ),
        (
            "task = [{name=\"a\"}, { name = \"b\", after = [\n\"a\" ] }]\n",
            "task = [{name=\"a\", priority = 10}, { name = \"b\", after = [\n\"a\" ], priority = 11 }]\n",
        ),
        (
            "[[task]]\nname = \"a\"\n# outputs =\n[[task.outputs]]\npath = \"x\"\n\n[[tasks]]\nafter = [\n  \"a\", # y\n]\nname = \"b\"\n",
            "[[task]]\nname = \"a\"\npriority = 10\n# outputs =\n[[task.outputs]]\npath = \"x\"\n\n[[tasks]]\nafter = [\n  \"a\", # y\n]\nname = \"b\"\npriority = 11\n",
        ),
        (
            "[[task]]\nname = \"a\"\nafter = [\n  \"b\",\n] # z\n[[task]]\nname = \"\"\"b\"\"\"\n",
            "[[task]]\nname = \"a\"\nafter = [\n  \"b\",\n] # z\npriority = 10\n[[task]]\nname = \"\"\"b\"\"\"\npriority = 11\n",
        ),
    ] {
        check(Format::FlowToml, text, expected);
    }
}

#[test]
fn dot_statements_and_nodes_without_one() {
    for (text, expected) in [
        ("digraph{a}", "digraph{a [priority=10]}"),
        (
            "digraph { a -> b }",
            "digraph { a -> b; a [priority=10]; b [priority=11] }",
        ),
        (
            "digraph {a->b;}",
            "digraph {a->b; a [priority=10]; b [priority=11];}",
        ),
        (
            "digraph {\r\n\ta -> \"b\" + \"x\" // }\r\n} # end }",
            "digraph {\r\n\ta -> \"b\" + \"x\" // }\r\n  a [priority=10];\r\n  \"b\" + \"x\" [priority=11];\r\n} # end }",
        ),
        (
            "digraph { a [] b [label=\"]\",] c [x;][] d:n:s [y=1 z] a [w=1] }",
            "digraph { a [priority=10] b [label=\"]\", priority=11,] c [x, priority=12;][] d:n:s [y=1 z, priority=13] a [w=1] }",
        ),
        (
            "digraph { a [priority=-3, q] a [priority=\"4\"]; b [priority] c [priority=high] a -> b [priority=7] }",
            "digraph { a [priority=10, q] a [priority=10]; b [priority=11] c [priority=12] a -> b [priority=7] }",
        ),
        (
            "digraph { {a b} -> { c /* x */ } /* } */ }",
            "digraph { {a [priority=10] b [priority=11]} -> { c [priority=12] /* x */ } /* } */ }",
        ),
        (
            "digraph { x = y; graph [priority=3] a }",
            "digraph { x = y; graph [priority=3] a [priority=10] }",
        ),
    ] {
        check(Format::Dot, text, expected);
    }
}

#[test]
fn keep_leaves_what_there_is_and_numbers_the_others() {
    let keep = |format, text: &str| set(text, format, &by_letter, ExistingPriorities::Keep);
    assert_eq!(
        keep(
            Format::Dot,
            "digraph { a [priority=5]; b; c [priority=soon] }"
        ),
        "digraph { a [priority=5]; b [priority=11]; c [priority=soon] }"
    );
    assert_eq!(
        keep(
            Format::FlowJson,
            r#"[{"name":"a","priority":5},{"name":"b"},{"name":"c","priority":null}]"#
        ),
        r#"[{"name":"a","priority":5},{"name":"b","priority":11},{"name":"c","priority":12}]"#
    );
}

#[test]
fn formats_without_a_place_say_which_have_one() {
    let source = Source::from_text("x.csv", "from,to\na,b\n");
    let mut load = |_: &Path, _: &mut Report| None;
    let (replace, mut report) = (ExistingPriorities::Replace, Report::default());
    let error = set_priorities(
        &source,
        Format::Csv,
        &mut load,
        &by_letter,
        replace,
        &mut report,
    );
    let text = error.unwrap_err().to_string();
    assert_eq!(
        text,
        "csv files have no place for priorities; formats that have one: dagman, wfformat, dax, pegasus-yaml, dot, toml, json, jsonl"
    );
}

#[test]
fn a_task_that_hides_its_place_is_refused_rather_than_spoiled() {
    // The reader takes a task written as a list; there is no place for a member in it.
    let task = r#"["a",null,[],[],null,null,null,null,null,null,null,null,null]"#;
    let text = format!(r#"{{"workflow":{{"tasks":[{task}]}}}}"#);
    let source = Source::from_text("x.json", text);
    let mut load = |_: &Path, _: &mut Report| None;
    let (replace, mut report) = (ExistingPriorities::Replace, Report::default());
    let wf = Format::WfFormat;
    let error = set_priorities(&source, wf, &mut load, &by_letter, replace, &mut report);
    assert!(error.is_err());
}

/// Puts junk behind some of the characters in `marks` that stand outside of strings.
fn decorate(text: &str, marks: &str, junk: &[&str], seed: u64) -> String {
    let mut state = seed;
    let mut out = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        out.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted && marks.contains(c) => {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                if c == '\n' {
                    out.pop();
                }
                out.push_str(junk[(state >> 33) as usize % junk.len()]);
            }
            _ => {}
        }
    }
    out
}

/// The flow's text in the format, decorated as people and programs do.
fn decorated(flow: &Flow, format: Format, seed: u64) -> String {
    let mut out = Vec::new();
    crate::write(flow, format, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let json = ["", "", " ", "\n\t", "\r\n  "];
    let dot = ["", " ", "\r\n", " /* \"x */ ", "// c }\n", "\n# ]\n\t"];
    let toml = ["\n", "\r\n", "\n\n", " # c = [\n", "\n\t# x\n", "\r\n  "];
    match format {
        Format::Dot => decorate(&text, "{};[],", &dot, seed),
        Format::FlowToml => decorate(&text, "\n", &toml, seed),
        Format::FlowJsonLines => decorate(&text, "{}[],:", &["", " ", "\t"], seed),
        _ => decorate(&text, "{}[],:", &json, seed),
    }
}

fn read_back(text: &str, format: Format) -> Flow {
    let mut report = Report::default();
    let source = Source::from_text("f", text);
    let read = crate::read(&source, Some(format), &mut report);
    read.unwrap_or_else(|| panic!("{}\n{text}\n{:?}", format.name(), report))
        .1
}

/// The text with `#` for every number behind the word `priority`.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("priority") {
        let value = &rest[at + "priority".len()..];
        let number = value.trim_start_matches(['"', ' ', ':', '=', '\t', '\r', '\n']);
        out.push_str(&rest[..rest.len() - number.len()]);
        rest = number.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        out.push_str(if rest.len() < number.len() { "#" } else { "" });
    }
    out + rest
}

/// The text without the priorities that were added, cut out by their looks alone.
fn without_added(text: &str, format: Format) -> String {
    let mut out = text.to_owned();
    let word = match format {
        Format::FlowToml => "priority = ",
        Format::Dot => "priority=",
        _ => "\"priority\"",
    };
    while let Some(at) = out.find(word) {
        let value = out[at..]
            .find(|c: char| c == '-' || c.is_ascii_digit())
            .unwrap()
            + at;
        let digits = out[value..].trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        let mut end = out.len() - digits.len();
        let before = &out[..at];
        let mut start = match format {
            Format::FlowToml => {
                let line = before.rfind('\n').unwrap();
                if out[..line].ends_with('\r') {
                    line - 1
                } else {
                    line
                }
            }
            Format::Dot => before.len() - if before.ends_with(", ") { 2 } else { 0 },
            _ => before.rfind(',').unwrap(),
        };
        if format == Format::Dot && out[..start].ends_with(" [") && out[end..].starts_with(']') {
            (start, end) = (start - 2, end + 1);
        }
        out.replace_range(start..end, "");
    }
    out
}

/// The flow without its priorities.
fn bare(flow: &Flow) -> Flow {
    let mut build = cairn_dag::FlowBuilder::new();
    let dag = flow.dag();
    let tasks: Vec<_> = (dag.tasks())
        .map(|t| build.declare(flow.name(t), 0).unwrap())
        .collect();
    for (parent, child) in dag.arcs() {
        build
            .arc(tasks[parent.index()], tasks[child.index()])
            .unwrap();
    }
    build.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn priorities_are_read_back_and_nothing_else_changes(
        flow in any_flow(), seed in any::<u64>(), first in -5i64..1000,
    ) {
        for format in SINGLE {
            let text = decorated(&flow, format, seed);
            let before = read_back(&text, format);
            let rank = |name: &str| Some(first + i64::from(flow.find(name)?.0));
            let new = set(&text, format, &rank, ExistingPriorities::Replace);
            let after = read_back(&new, format);
            assert_same_dag(&before, &after);
            for task in after.dag().tasks() {
                prop_assert_eq!(after.priority(task), rank(after.name(task)));
            }
            prop_assert_eq!(&set(&new, format, &rank, ExistingPriorities::Replace), &new);
            let other = |name: &str| Some(7777 - i64::from(flow.find(name)?.0));
            let changed = set(&new, format, &other, ExistingPriorities::Replace);
            prop_assert_eq!(without_numbers(&changed), without_numbers(&new));
            let kept = set(&text, format, &rank, ExistingPriorities::Keep);
            let kept = read_back(&kept, format);
            for task in kept.dag().tasks() {
                let meant = before.priority(task).or(rank(before.name(task)));
                prop_assert_eq!(kept.priority(task), meant);
            }
        }
    }

    #[test]
    fn taking_the_added_priorities_out_gives_the_old_bytes(flow in any_flow(), seed in any::<u64>()) {
        let flow = bare(&flow);
        for format in SINGLE {
            let text = decorated(&flow, format, seed);
            let rank = |name: &str| Some(flow.dag().len() as i64 - i64::from(flow.find(name)?.0));
            let new = set(&text, format, &rank, ExistingPriorities::Replace);
            prop_assert_eq!(without_added(&new, format), text);
        }
    }

    #[test]
    fn dagman_lines_are_added_and_taken_out_again(flow in any_flow(), seed in any::<u64>()) {
        let flow = bare(&flow);
        let mut text = Vec::new();
        crate::write(&flow, Format::Dagman, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let junk = ["\n", "\r\n", " \t\n", "\n\n", "\n# PRIORITY x 1\n"];
        let line = |(i, line): (usize, &str)| format!("{line}{}", junk[(seed >> (i % 60)) as usize % junk.len()]);
        let text: String = text.lines().enumerate().map(line).collect();
        let before = read_back(&text, Format::Dagman);
        assert_same_dag(&flow, &before);
        let rank = |name: &str| Some(flow.dag().len() as i64 - i64::from(flow.find(name)?.0));
        let new = set(&text, Format::Dagman, &rank, ExistingPriorities::Replace);
        let after = read_back(&new, Format::Dagman);
        assert_same_dag(&before, &after);
        for task in after.dag().tasks() {
            prop_assert_eq!(after.priority(task), rank(after.name(task)));
        }
        prop_assert_eq!(&set(&new, Format::Dagman, &rank, ExistingPriorities::Replace), &new);
        let old: String = new.split_inclusive('\n').filter(|l| !l.starts_with("PRIORITY ")).collect();
        prop_assert_eq!(old, text);
    }

    #[test]
    fn edges_alone_get_statements_of_their_own(flow in any_flow(), seed in any::<u64>()) {
        prop_assume!(flow.dag().arc_count() > 0);
        let mut text = Vec::new();
        crate::write(&bare(&flow), Format::Dot, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        // Node statements go; nodes without arcs go with them.
        let nodes: String = (flow.dag().tasks()).map(|t| node_line(&flow, t)).collect();
        let edges = text.replacen(&nodes, "", 1);
        prop_assert!(nodes.is_empty() || edges.len() < text.len());
        let edges = decorate(&edges, "{};", &["", " ", "\r\n", "// x\n", "\n\t"], seed);
        let before = read_back(&edges, Format::Dot);
        let new = set(&edges, Format::Dot, &|_| Some(5), ExistingPriorities::Replace);
        let after = read_back(&new, Format::Dot);
        assert_same_dag(&before, &after);
        prop_assert!(after.dag().tasks().all(|t| after.priority(t) == Some(5)));
        prop_assert_eq!(set(&new, Format::Dot, &|_| Some(5), ExistingPriorities::Replace), new);
    }

    #[test]
    fn any_text_at_all_is_edited_or_refused(text in "[\\[\\]{}a\":,= ;>\\-\\n]{0,40}") {
        for format in SINGLE {
            let source = Source::from_text("f", &text[..]);
            let mut load = |_: &Path, _: &mut Report| None;
            let mut report = Report::default();
            let replace = ExistingPriorities::Replace;
            let set = set_priorities(&source, format, &mut load, &|_| Some(1), replace, &mut report);
            prop_assert!(!matches!(set, Err(PriorityError::Check(_))), "{}: {}", format.name(), text);
        }
    }
}

fn node_line(flow: &Flow, task: TaskId) -> String {
    let name = flow.name(task).replace('\\', "\\\\").replace('"', "\\\"");
    format!("  \"{name}\";\n")
}
