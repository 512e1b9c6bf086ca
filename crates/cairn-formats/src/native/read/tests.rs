//! Flow files, well written and broken.

use super::*;
use crate::Place;
use crate::test_support as support;
use cairn_dag::TaskId;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Reader = fn(&Source, &mut Report) -> Option<Flow>;

fn read(reader: Reader, text: &str) -> (Option<Flow>, Report) {
    support::try_read(reader, "f", text)
}

/// "line:column message" of every problem.
fn problems(reader: Reader, text: &str) -> Vec<String> {
    let (_, report) = read(reader, text);
    let text = |p: &crate::Problem| {
        let Place { line, column, .. } = p.place;
        assert!(!p.help.is_empty());
        format!("{line}:{column} {} ({})", p.message, p.help)
    };
    report.problems().iter().map(text).collect()
}

const TOML: &str = r#"
# a comment
[[task]]
name = "index"
[[task]]
name = "align-7"
run = "bwa mem ref.fa s7.fq > s7.sam"
after = ["index"]
seconds = 41.5
inputs = ["ref.fa", { path = "s7.fq", bytes = 12 }]
outputs = [{ path = "s7.sam", bytes = 73400320 }]
cpus = 2
retries = 3
priority = -4
done = true
"#;
const JSON: &str = r#"{"task": [ {"name": "index", "after": null},
        {"after": "index", "name": "align-7", "run": "bwa mem ref.fa s7.fq > s7.sam", "seconds": 41.5,
         "inputs": ["ref.fa", {"path": "s7.fq", "bytes": 12}], "outputs": {"path": "s7.sam", "bytes": 73400320},
         "cpus": 2, "retries": 3, "priority": -4, "done": true}]}"#;
const LINES: &str = "{\"name\":\"index\"}\r\n\r\n{\"name\":\"align-7\",\"after\":[\"index\"],\"cpus\":2,\
        \"run\":\"bwa mem ref.fa s7.fq > s7.sam\",\"seconds\":41.5,\"inputs\":[\"ref.fa\",{\"path\":\"s7.fq\",\
        \"bytes\":12}],\"outputs\":[{\"bytes\":73400320,\"path\":\"s7.sam\"}],\"retries\":3,\"priority\":-4,\
        \"done\":true}";

#[test]
fn the_three_forms_say_the_same() {
    let bare = JSON.trim_start_matches("{\"task\": ").trim_end_matches('}');
    let bare = format!("{bare}}}]")
        .replace("]}]", "]")
        .replace("true]", "true}]");
    let crlf = TOML.replace('\n', "\r\n");
    let forms: [(Reader, &str); 5] = [
        (read_toml, TOML),
        (read_toml, &crlf),
        (read_json, JSON),
        (read_json, &bare),
        (read_json_lines, LINES),
    ];
    for (reader, text) in forms {
        let (flow, report) = read(reader, text);
        assert_eq!(report.problems(), [], "{text}");
        let flow = flow.unwrap();
        let [index, align] = [TaskId(0), TaskId(1)];
        assert_eq!((flow.name(index), flow.name(align)), ("index", "align-7"));
        assert_eq!(flow.dag().children(index), [align]);
        let run = "bwa mem ref.fa s7.fq > s7.sam";
        assert_eq!(
            (flow.command(index), flow.command(align)),
            (None, Some(run))
        );
        assert_eq!(flow.seconds(align), Some(41.5));
        assert_eq!(flow.cpus(align), Some(2));
        assert_eq!(flow.retries(align), Some(3));
        assert_eq!(flow.priority(align), Some(-4));
        assert_eq!((flow.is_done(index), flow.is_done(align)), (false, true));
        let inputs: Vec<_> = flow.inputs(align).map(|f| (f.path, f.bytes)).collect();
        assert_eq!(inputs, [("ref.fa", None), ("s7.fq", Some(12))]);
        let outputs: Vec<_> = flow.outputs(align).map(|f| (f.path, f.bytes)).collect();
        assert_eq!(outputs, [("s7.sam", Some(73_400_320))]);
    }
}

#[test]
fn errors_point_at_the_line_and_several_come_at_once() {
    let lines = "{\"name\":\"a\"}\n{\"name\":\"a\"}\n{\"name\":\"b\",\"after\":[\"b\"]}\n{\"name\":\"c\",\"seconds\":-1}\n\
            {\"name\":\"d\",\"after\":[\"nobody\"]}\n";
    let found = problems(read_json_lines, lines);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(
        found[0].starts_with("2:10 task 'a' is declared twice (it was declared first at f:1:10")
    );
    assert!(found[1].starts_with("3:23 task 'b' depends on itself"));
    assert!(found[2].starts_with("4:10 task 'c' has the duration -1"));
    assert!(found[3].starts_with("5:23 task 'nobody' is mentioned but never declared"));

    let lines = "{\"name\":\"a\",}\n{\"name\":\"b\"\n[]\n{\"after\":[]}\n{\"name\":\"c\"} x\n{\"name\":\"d\",\"name\":\"e\"}";
    let found = problems(read_json_lines, lines);
    let expected = [
        "1:13 this is not JSON: trailing comma",
        "2:11 this is not JSON: EOF while parsing an object",
        "3:1 invalid type: sequence, expected a task",
        "4:12 this task has no name",
        "5:14 this is not JSON: trailing characters",
        "6:18 field 'name' is given twice",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} / {expected}");
    }
}

#[test]
fn wrong_values_say_what_is_expected() {
    for (field, expected) in [
        (r#""seconds":"x""#, "a number of seconds, such as 41.5"),
        (r#""cpus":-1"#, "a whole number, not below zero"),
        (r#""cpus":4294967296"#, "a whole number, not below zero"),
        (r#""cpus":1.5"#, "a whole number, not below zero"),
        (r#""priority":9223372036854775808"#, "a whole number"),
        (r#""after":7"#, "a list of task names"),
        (r#""after":[7]"#, "a string"),
        (
            r#""inputs":[7]"#,
            "a path, or an object with 'path', 'bytes' and 'temp'",
        ),
        (r#""inputs":[{"bytes":7}]"#, "this file has no 'path'"),
        (r#""outputs":[{"path":"x","size":7}]"#, "not 'size'"),
        (r#""done":"yes""#, "a boolean"),
        (r#""memory":"4""#, "a size such as \"4GB\""),
        (r#""memory":-1"#, "a whole number of bytes"),
        (r#""scratch":1.5"#, "a whole number of bytes"),
        (r#""scratch":"99999999TB""#, "a size such as"),
        (r#""time_limit":"5 parsecs""#, "a time such as 90s"),
        (r#""time_limit":0"#, "above zero"),
        (r#""time_limit":-5"#, "above zero"),
        (r#""time_limit":"infs""#, "a time such as 90s"),
        (r#""pools":["gpu"]"#, "names of pools with a number each"),
        (r#""pools":{"gpu":-1}"#, "a whole number, not below zero"),
        (r#""pools":{"gpu":1.5}"#, "a whole number, not below zero"),
        (r#""pools":{"":1}"#, "an empty name"),
        (r#""pools":{"gpu":1,"gpu":2}"#, "pool 'gpu' is given twice"),
        (
            r#""tags":{"gpu":1}"#,
            "a list of words that a worker's labels",
        ),
        (r#""tags":[7]"#, "a string"),
        (r#""tags":["a",""]"#, "a tag is empty"),
        (
            r#""inputs":[{"path":"x","temp":true}]"#,
            "belongs to the task that writes 'x'",
        ),
        (r#""outputs":[{"path":"x","temp":1}]"#, "a boolean"),
    ] {
        let found = problems(read_json_lines, &format!(r#"{{"name":"a",{field}}}"#));
        assert!(found[0].contains(expected), "{found:?} / {expected}");
    }
    let found = problems(read_toml, "[[task]]\nname = \"a\"\ncpus = 'x'\n");
    assert!(
        found[0].starts_with("3:8 invalid type: string \"x\", expected a whole"),
        "{found:?}"
    );
    let found = problems(read_toml, "[[task]]\nname = \nseconds = \n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("3:"), "{found:?}");
    let found = problems(read_toml, "[task]\nname = \"a\"\n");
    assert!(found[0].contains("expected a list of tasks"), "{found:?}");
    let found = problems(read_json, "{\"name\": \"a\"}");
    assert!(
        found
            .iter()
            .any(|f| f.contains("there is no list of tasks")),
        "{found:?}"
    );
}

#[test]
fn unknown_fields_are_warned_of_once_with_a_guess() {
    let lines = "{\"name\":\"a\",\"afer\":[]}\n{\"name\":\"b\",\"afer\":[],\"cmd\":1,\"shape\":{\"x\":[]}}\n";
    assert_eq!(
        problems(read_json_lines, lines),
        [
            "1:14 unknown field 'afer' is ignored (did you mean 'after'?)",
            "2:24 unknown field 'cmd' is ignored (did you mean 'run'?)",
            "2:32 unknown field 'shape' is ignored (the fields of a task are: name, run, after, seconds, \
                 inputs, outputs, cpus, memory, scratch, pools, tags, time_limit, retries, priority, done, kind, label)",
        ]
    );
    let found = problems(read_toml, "title = 'x'\n[[task]]\nname = 'a'\nneeds = []\n");
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = "[".repeat(200_000);
    let (flow, _) = read(read_json, &deep);
    assert!(flow.is_none());
    let (flow, _) = read(read_json_lines, &format!("{{\"name\":\"a\",\"x\":{deep}"));
    assert!(flow.is_none());
    let (flow, _) = read(read_json, &format!("{{\"x\":{deep}"));
    assert!(flow.is_none());
    let (flow, _) = read(read_toml, &format!("x = {deep}"));
    assert!(flow.is_none());
    let tables = "{a=".repeat(200_000);
    let (flow, _) = read(read_toml, &format!("x = {tables}"));
    assert!(flow.is_none());
    let (flow, _) = read(read_toml, &format!("{}b = 1", "a.".repeat(200_000)));
    assert!(flow.is_none());
}

#[test]
fn reading_what_another_task_writes_without_waiting_for_it() {
    let lines = "{\"name\":\"a\",\"outputs\":\"x\"}\n{\"name\":\"b\",\"after\":\"a\"}\n\
            {\"name\":\"c\",\"after\":\"b\",\"inputs\":\"x\"}\n{\"name\":\"d\",\"inputs\":\"x\"}\n";
    let found = problems(read_json_lines, lines);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("task 'd' reads 'x', which task 'a' writes, without waiting for it"));
}

#[test]
fn what_a_task_needs_while_it_runs() {
    let toml = "[pools]\nlicence = 4\n\"a b\" = 0\n[[task]]\nname = 'a'\nmemory = '1.5 GiB'\nscratch = 7\n\
            time_limit = '1h30m'\npools = { licence = 2, gpu = 1 }\ntags = ['gpu', 'big', 'gpu']\n\
            outputs = [{ path = 'x', bytes = '2kB', temp = true }, 'y']\n[[task]]\nname = 'b'\ninputs = ['x']\n\
            after = ['a']\ntime_limit = 0.5\ntags = 'Ω'\n";
    let json = r#"{"pools": {"licence": 4, "a b": 0}, "task": [{"name": "a", "memory": 1610612736, "scratch": "7B",
            "time_limit": 5400, "pools": {"licence": 2, "gpu": 1}, "tags": ["gpu", "big"],
            "outputs": [{"path": "x", "bytes": 2000, "temp": true}, {"path": "y", "temp": false}]},
            {"name": "b", "inputs": "x", "after": "a", "time_limit": "500ms", "tags": "Ω", "pools": null, "memory": null}]}"#;
    let lines = "{\"name\":\"a\",\"memory\":1610612736,\"scratch\":7,\"time_limit\":5400,\"pools\":{\"licence\":2,\
            \"gpu\":1},\"tags\":[\"gpu\",\"big\"],\"outputs\":[{\"path\":\"x\",\"bytes\":2000,\"temp\":true},\"y\"]}\n\
            {\"pools\":{\"licence\":4,\"a b\":0}}\n\
            {\"name\":\"b\",\"inputs\":\"x\",\"after\":\"a\",\"tags\":[\"Ω\"],\"time_limit\":0.5}\n";
    let forms: [(Reader, &str); 3] = [
        (read_toml, toml),
        (read_json, json),
        (read_json_lines, lines),
    ];
    for (reader, text) in forms {
        let (flow, report) = read(reader, text);
        assert_eq!(report.problems(), [], "{text}");
        let flow = flow.unwrap();
        let [a, b] = [TaskId(0), TaskId(1)];
        assert_eq!((flow.memory(a), flow.memory(b)), (Some(3 << 29), None));
        assert_eq!((flow.scratch(a), flow.scratch(b)), (Some(7), None));
        let limits = (flow.time_limit(a), flow.time_limit(b));
        assert_eq!(limits, (Some(5400.0), Some(0.5)));
        // A table of TOML has no order.
        let pools: BTreeMap<_, _> = flow.pools(a).collect();
        assert_eq!(pools, BTreeMap::from([("gpu", 1), ("licence", 2)]));
        assert_eq!(flow.pools(b).count(), 0);
        assert_eq!(flow.tags(a).collect::<Vec<_>>(), ["gpu", "big"]);
        assert_eq!(flow.tags(b).collect::<Vec<_>>(), ["Ω"]);
        let limits: BTreeMap<_, _> = flow.pool_limits().collect();
        assert_eq!(limits, BTreeMap::from([("a b", 0), ("licence", 4)]));
        let outputs = flow.outputs(a).map(|f| (f.path, f.bytes, f.temp));
        let expected = [("x", Some(2000), true), ("y", None, false)];
        assert_eq!(outputs.collect::<Vec<_>>(), expected);
        assert!(flow.inputs(b).all(|f| f.temp));
    }
}

#[test]
fn a_sweep_is_one_task_for_each_combination() {
    let toml = "[[sweep]]\nover = { seed = [1, 'b c'], n = [10, 2.5] }\ntask = { name = 'sim-{n}-{seed}', \
            run = 'sim {{x}} {seed}', after = ['prepare', 'init-{n}'], inputs = ['{n}.in'], outputs = [{ path = '{seed}/{n}', \
            bytes = '{n}kB', temp = true }], seconds = '{n}', pools = { '{n}-pool' = 1 }, cpus = 3 }\n\
            [[task]]\nname = 'prepare'\n\
            [[sweep]]\nover = { n = [10, 2.5] }\n[sweep.task]\nname = 'init-{n}'\nkind = 'init'\n";
    let json = r#"{"sweep": [{"over": {"seed": [1, "b c"], "n": [10, 2.5]}, "task": {"name": "sim-{n}-{seed}",
            "run": "sim {{x}} {seed}", "after": ["prepare", "init-{n}"], "inputs": "{n}.in", "outputs": {"path": "{seed}/{n}",
            "bytes": "{n}kB", "temp": true}, "seconds": "{n}", "pools": {"{n}-pool": 1}, "cpus": 3}},
            {"over": {"n": [10, 2.5]}, "task": {"name": "init-{n}", "kind": "init"}}], "task": [{"name": "prepare"}]}"#;
    let forms: [(Reader, &str); 2] = [(read_toml, toml), (read_json, json)];
    for (reader, text) in forms {
        let (flow, report) = read(reader, text);
        assert_eq!(report.problems(), [], "{text}");
        let flow = flow.unwrap();
        let names: Vec<&str> = flow.dag().tasks().map(|t| flow.name(t)).collect();
        let swept: Vec<&&str> = names.iter().filter(|n| n.starts_with("sim")).collect();
        let expected = ["sim-10-1", "sim-10-b c", "sim-2.5-1", "sim-2.5-b c"];
        assert_eq!(swept, expected.iter().collect::<Vec<_>>());
        assert_eq!(flow.dag().arc_count(), 8);
        let task = flow.find("sim-2.5-b c").unwrap();
        assert_eq!(flow.command(task), Some("sim {x} b c"));
        assert_eq!((flow.seconds(task), flow.cpus(task)), (Some(2.5), Some(3)));
        assert_eq!(flow.inputs(task).next().unwrap().path, "2.5.in");
        let output = flow.outputs(task).next().unwrap();
        assert_eq!(
            (output.path, output.bytes, output.temp),
            ("b c/2.5", Some(2500), true)
        );
        assert_eq!(flow.pools(task).collect::<Vec<_>>(), [("2.5-pool", 1)]);
        assert_eq!(flow.given_kind(flow.find("init-10").unwrap()), Some("init"));
        let source = Source::from_text("f", text);
        let format = [crate::Format::FlowToml, crate::Format::FlowJson];
        let format = format[usize::from(text.starts_with('{'))];
        assert_eq!(crate::detect(&source), Ok(format));
        let mut load = |_: &std::path::Path, _: &mut Report| None;
        let (keep, mut report) = (crate::ExistingPriorities::Keep, Report::default());
        let set =
            crate::set_priorities(&source, format, &mut load, &|_| Some(1), keep, &mut report);
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("the tasks of a sweep stand in one place")
        );
    }
}

#[test]
fn a_sweep_over_the_lines_of_a_file_beside_the_flow_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("samples.txt"), "one\r\n\n two\n").unwrap();
    let path = folder.path().join("f.toml");
    let text = "[[sweep]]\nover = { s = 'samples.txt' }\ntask = { name = '{s}' }\n";
    std::fs::write(&path, text).unwrap();
    let mut report = Report::default();
    let source = Source::load(&path, &crate::ReadLimits::default(), &mut report).unwrap();
    let flow = read_toml(&source, &mut report).unwrap();
    let names: Vec<&str> = flow.dag().tasks().map(|t| flow.name(t)).collect();
    assert_eq!((names, report.problems()), (vec!["one", "two"], &[][..]));
    let files = crate::files_of(&source, crate::Format::FlowToml);
    assert_eq!(files, [folder.path().join("samples.txt")]);
}

#[test]
fn what_is_wrong_with_a_sweep_is_said_with_its_line() {
    let sweep = |over: &str, task: &str| format!("\n[[sweep]]\nover = {over}\ntask = {task}\n");
    for (over, task, line, expected) in [
        (
            "{ a = [1] }",
            "{ name = '{b}{a}' }",
            3,
            "does not go over {b} (did you mean {a}?",
        ),
        (
            "{ a = [1] }",
            "{ name = '{a}', run = \"awk '{print}'\" }",
            3,
            "does not go over {print} (the sweep goes over {a}; for a brace write {{",
        ),
        (
            "{ a = [1] }",
            "{ name = '{a}}' }",
            3,
            "a brace in the sweep's task stands alone",
        ),
        (
            "{ a = [] }",
            "{ name = '{a}' }",
            3,
            "no value for {a}: the list is empty",
        ),
        (
            "{ a = 'none.txt' }",
            "{ name = '{a}' }",
            3,
            "cannot use 'none.txt' for {a}: there is no such file",
        ),
        ("{ a = [1, 2] }", "{ name = 'x' }", 3, "leaves {a} out"),
        (
            "{ a = [1, 1] }",
            "{ name = '{a}' }",
            3,
            "task '1' is declared twice",
        ),
        (
            "{ a = [1], b = [2, 3] }",
            "{ name = '{b}', seconds = '{a}s' }",
            3,
            "a number of seconds, such as 41.5 (for a = 1, b = 2)",
        ),
        (
            "{ a = [1] }",
            "{ run = '{a}' }",
            3,
            "this task has no name (for a = 1)",
        ),
        ("{ }", "{ name = 'x' }", 3, "nothing to go 'over'"),
        ("[1]", "{ name = 'x' }", 3, "keys with their values"),
        (
            "{ a = 5 }",
            "{ name = '{a}' }",
            3,
            "a list of texts and numbers",
        ),
        ("{ 'a b' = [1] }", "{ name = '{a}' }", 3, "'a b' is no key"),
    ] {
        let found = problems(read_toml, &sweep(over, task));
        assert!(found[0].contains(expected), "{found:?} / {expected}");
        let at: u32 = found[0].split(':').next().unwrap().parse().unwrap();
        assert!((2..=line + 1).contains(&at), "{found:?}");
    }
    let list: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let list = list.join(", ");
    let over = format!("{{ a = [{list}], b = [{list}], c = [{list}] }}");
    let found = problems(read_toml, &sweep(&over, "{ name = '{a}-{b}-{c}' }"));
    assert!(
        found[0].contains("has 1000000000 combinations; the most is"),
        "{found:?}"
    );
    let found = problems(read_toml, "[[sweep]]\nover = { a = [1] }\n");
    assert!(found[0].contains("this sweep has no 'task'"), "{found:?}");
    let found = problems(
        read_toml,
        &sweep("{ a = [1] }", "{ name = '{a}', colour = 1 }\nwhat = 2"),
    );
    assert_eq!(found.len(), 2, "{found:?}");
}

/// Lines good and bad: several of a name, tasks in any order, escapes, unknown fields, files, and no JSON at all.
fn any_line() -> impl Strategy<Value = String> {
    let name = "[a-e]|\\\\u006[1-5]|é|";
    let field = prop_oneof![
        4 => prop::collection::vec(name, 0..4).prop_map(|n| format!("\"after\":[{}]", n.iter()
            .map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(","))),
        1 => "\"(run|inputs|outputs)\":\"[x-z]\"",
        1 => "\"seconds\":-?[0-9]",
        1 => "\"(cmd|x[a-z]|name)\":[0-9]",
    ];
    let task = (
        "[a-z]|[a-e]|\\\\u006[1-5]|",
        prop::collection::vec(field, 0..3),
    )
        .prop_map(|(name, fields)| {
            let fields: String = fields.iter().map(|f| format!(",{f}")).collect();
            format!("{{\"name\":\"{name}\"{fields}}}")
        });
    prop_oneof![12 => task, 1 => "[ \r]{0,2}", 1 => "[{}\"a:,é]{0,6}"]
}

proptest! {
    /// Where the text is cut, and how many pieces are read side by side, changes neither the flow nor the report.
    #[test]
    fn pieces_do_not_show(
        lines in prop::collection::vec(any_line(), 0..40),
        cleanly in any::<bool>(),
        pieces in 1usize..5,
        bytes in 1usize..200,
    ) {
        let mut lines = lines;
        if cleanly {
            // Only lines that alone give no error, and one of each name: most of these texts are flows.
            let mut names = std::collections::HashSet::new();
            lines.retain(|line| {
                let mut report = Report::default();
                let line = line.replace("after", "ignored");
                let flow = read_json_lines(&Source::from_text("f", line), &mut report);
                flow.is_some_and(|f| f.dag().tasks().all(|t| names.insert(f.name(t).to_owned())))
            });
            for name in ["a", "b", "c", "d", "e", "é"] {
                if names.insert(name.to_owned()) {
                    lines.push(format!("{{\"name\":\"{name}\"}}"));
                }
            }
        }
        let source = Source::from_text("f", lines.join("\n"));
        let outcome = |pieces, bytes| {
            let mut report = Report::default();
            let flow = read_pieces(&source, &mut report, pieces, bytes);
            let written = flow.map(|flow| {
                let mut text = Vec::new();
                crate::write(&flow, crate::Format::FlowJsonLines, &mut text).expect("memory");
                String::from_utf8(text).expect("JSON is text")
            });
            (written, report.problems().to_vec(), report.errors(), report.warnings())
        };
        let whole = outcome(1, usize::MAX);
        prop_assert_eq!(whole, outcome(pieces, bytes));
    }
}
