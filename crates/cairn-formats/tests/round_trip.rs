//! Reading back what was written gives the same flow: names, order, arcs, and what the format can hold.

use cairn_dag::{Flow, FlowBuilder, TaskId};
use cairn_formats::{Format, Report, Source, read, write};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn any_name() -> impl Strategy<Value = String> {
    let odd = [
        "\"",
        "\\",
        "\\\\",
        "a\\",
        "a\nb",
        "a\r\nb",
        "a\\\nb",
        "->",
        "node",
        "digraph {",
        "}",
        "<b>",
        "\u{7f}",
        "\u{feff}x",
        "é😀",
        " ",
        "#x",
        "[[task]]",
        "0",
        "null",
        "-1",
        "a:b",
        "x,y",
        "\t",
        "\u{1}",
        "\u{2028}",
        "'",
        "${x}",
    ];
    prop_oneof![
        "[a-z0-9_.-]{1,8}",
        any::<String>().prop_filter("a name is not empty", |n| !n.is_empty()),
        proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

#[derive(Clone, Debug)]
struct AnyTask {
    label: Option<String>,
    kind: Option<String>,
    command: Option<String>,
    seconds: Option<f64>,
    cpus: Option<u32>,
    retries: Option<u32>,
    priority: Option<i64>,
    done: bool,
    /// Number of a file, and whether it is an output.
    files: Vec<(usize, bool)>,
}

fn any_task() -> impl Strategy<Value = AnyTask> {
    let seconds = prop_oneof![0.0..1e6, Just(0.0), Just(1e300), Just(5e-324), Just(1e21)];
    let priority = -(1i64 << 53)..(1i64 << 53);
    let words = || proptest::option::weighted(0.3, any_name());
    (
        (words(), words()),
        proptest::option::weighted(0.3, any_name()),
        proptest::option::weighted(0.3, seconds),
        proptest::option::weighted(0.3, 1u32..),
        proptest::option::weighted(0.2, any::<u32>()),
        proptest::option::weighted(0.2, priority),
        proptest::bool::weighted(0.2),
        proptest::collection::vec((0usize..5, any::<bool>()), 0..3),
    )
        .prop_map(
            |((label, kind), command, seconds, cpus, retries, priority, done, files)| AnyTask {
                label,
                kind,
                command,
                seconds,
                cpus,
                retries,
                priority,
                done,
                files,
            },
        )
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let named = |names: BTreeSet<String>| {
        let n = names.len();
        let names = Just(names.into_iter().collect::<Vec<_>>()).prop_shuffle();
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let arcs = proptest::collection::vec((0..n.max(1), 0..n.max(1)), 0..3 * n + 1);
        let tasks = proptest::collection::vec(any_task(), n);
        let files = proptest::collection::btree_set(any_name(), 5);
        let sizes = proptest::collection::vec(proptest::option::of(any::<u64>()), 5);
        (names, order, arcs, tasks, files, sizes)
    };
    let names = proptest::collection::btree_set(any_name(), 0..10);
    names
        .prop_flat_map(named)
        .prop_map(|(names, order, arcs, tasks, files, sizes)| {
            let files: Vec<String> = files.into_iter().collect();
            let mut build = FlowBuilder::new();
            let symbols: Vec<_> = names.iter().map(|n| build.declare(n, 0).unwrap()).collect();
            for (a, b) in arcs {
                if a < b && b < order.len() {
                    build.arc(symbols[order[a]], symbols[order[b]]).unwrap();
                }
            }
            for (&symbol, task) in symbols.iter().zip(&tasks) {
                if let Some(label) = &task.label {
                    build.set_label(symbol, label);
                }
                if let Some(kind) = &task.kind {
                    build.set_kind(symbol, kind);
                }
                if let Some(command) = &task.command {
                    build.set_command(symbol, command);
                }
                if let Some(seconds) = task.seconds {
                    build.set_seconds(symbol, seconds).unwrap();
                }
                if let Some(cpus) = task.cpus {
                    build.set_cpus(symbol, cpus);
                }
                if let Some(retries) = task.retries {
                    build.set_retries(symbol, retries);
                }
                if let Some(priority) = task.priority {
                    build.set_priority(symbol, priority);
                }
                if task.done {
                    build.set_done(symbol);
                }
                for &(file, is_output) in &task.files {
                    // WfFormat keeps sizes as JSON numbers, which are exact up to 2⁵³.
                    let bytes = sizes[file].map(|b| b >> 11);
                    match is_output {
                        true => build.add_output(symbol, &files[file], bytes),
                        false => build.add_input(symbol, &files[file], bytes),
                    }
                }
            }
            build.finish().unwrap()
        })
}

fn through(flow: &Flow, format: Format) -> Flow {
    let mut out = Vec::new();
    write(flow, format, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let source = Source::from_text("x", text);
    let mut report = Report::default();
    match read(&source, Some(format), &mut report) {
        Some((_, flow)) => flow,
        None => panic!("{:?}\n{}", report.problems(), source.text()),
    }
}

/// What a task says, as far as a format can hold it.
fn attributes(flow: &Flow, task: TaskId, format: Format) -> String {
    let files = |mut list: Vec<cairn_dag::File<'_>>| {
        if format == Format::Dot {
            list.clear();
        }
        format!("{list:?}")
    };
    let inputs = files(flow.inputs(task).collect());
    let outputs = files(flow.outputs(task).collect());
    let mut seconds = flow.seconds(task);
    let (mut retries, mut done) = (flow.retries(task), flow.is_done(task));
    let mut kind = flow.given_kind(task);
    if format == Format::WfFormat {
        kind = None;
        (retries, done) = (None, false);
        // The schema wants a duration wherever there is anything else.
        let anything = flow.command(task).is_some()
            || flow.cpus(task).is_some()
            || flow.priority(task).is_some();
        seconds = seconds.or(anything.then_some(0.0));
    }
    let (command, cpus, priority) = (flow.command(task), flow.cpus(task), flow.priority(task));
    let label = flow.label(task);
    format!(
        "{label:?} {kind:?} {command:?} {seconds:?} {cpus:?} {retries:?} {priority:?} {done} {inputs} {outputs}"
    )
}

proptest! {
    #[test]
    fn nothing_is_lost(flow in any_flow()) {
        for format in [Format::FlowToml, Format::FlowJson, Format::FlowJsonLines, Format::Dot, Format::WfFormat] {
            let back = through(&flow, format);
            prop_assert_eq!(back.dag(), flow.dag(), "{:?}", format);
            for task in flow.dag().tasks() {
                prop_assert_eq!(back.name(task), flow.name(task));
                let (found, expected) = (attributes(&back, task, format), attributes(&flow, task, format));
                prop_assert_eq!(found, expected, "{:?} {}", format, flow.name(task));
            }
        }
    }

    /// A chain of conversions keeps the dag, whatever the formats.
    #[test]
    fn conversions_keep_the_dag(flow in any_flow()) {
        let mut back = flow.clone();
        for format in [Format::Dot, Format::FlowToml, Format::WfFormat, Format::FlowJsonLines, Format::FlowJson] {
            back = through(&back, format);
        }
        prop_assert_eq!(back.dag(), flow.dag());
    }
}
