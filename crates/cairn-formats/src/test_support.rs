//! Flows to write and compare, and files in memory.

use crate::{Report, Source};
use cairn_dag::{Flow, FlowBuilder};
use proptest::prelude::*;
use std::path::Path;

/// Fetches from `(name, text)` pairs by path.
pub(crate) fn in_memory<'a>(
    files: &'a [(&'a str, &'a str)],
) -> impl FnMut(&Path, &mut Report) -> Option<Source> + 'a {
    |path, report| {
        let name = path.to_str().expect("test paths are text");
        let file = files.iter().find(|(file, _)| *file == name);
        if file.is_none() {
            report.error(Source::from_text(name, "").place(), "no such file", "");
        }
        file.map(|(name, text)| Source::from_text(*name, *text))
    }
}

/// What a reader makes of a text: a flow, or else errors.
pub(crate) fn try_read(
    read: impl FnOnce(&Source, &mut Report) -> Option<Flow>,
    name: &str,
    text: &str,
) -> (Option<Flow>, Report) {
    let mut report = Report::default();
    let flow = read(&Source::from_text(name, text), &mut report);
    assert_eq!(flow.is_none(), report.errors() > 0, "{}", problems(&report));
    (flow, report)
}

/// The flow of a text with which nothing is wrong.
pub(crate) fn clean((flow, report): (Option<Flow>, Report)) -> Flow {
    assert_eq!(problems(&report), "");
    flow.expect("a flow, as nothing is wrong")
}

/// What is wrong with a text that is no flow.
pub(crate) fn refused((flow, report): (Option<Flow>, Report)) -> String {
    assert!(flow.is_none());
    problems(&report)
}

/// Tasks as text, one a line: `parents -> name`, in the order of the flow, parents by name.
pub(crate) fn shown(flow: &Flow) -> String {
    let mut out = String::new();
    for task in flow.dag().tasks() {
        let mut parents: Vec<&str> = flow
            .dag()
            .parents(task)
            .iter()
            .map(|&parent| flow.name(parent))
            .collect();
        parents.sort_unstable();
        let arrow = if parents.is_empty() { "" } else { " -> " };
        out.push_str(&format!(
            "{}{arrow}{}\n",
            parents.join(" "),
            flow.name(task)
        ));
    }
    out
}

/// The first problem, which must say `message` and offer a cure.
pub(crate) fn first_problem<'r>(
    report: &'r Report,
    text: &str,
    message: &str,
) -> &'r crate::Problem {
    let problem = report.problems().first();
    let problem = problem.unwrap_or_else(|| panic!("nothing is wrong with {text}"));
    let found = &problem.message;
    assert!(found.contains(message), "{text}: {found}");
    assert!(!problem.help.is_empty(), "{text}: {found}");
    problem
}

/// All errors and warnings, one a line, with place and help.
pub(crate) fn problems(report: &Report) -> String {
    let line = |p: &crate::Problem| format!("{}: {}; {}\n", p.place, p.message, p.help);
    report.problems().iter().map(line).collect()
}

/// What must survive in every format: the tasks, their order, their arcs.
pub(crate) fn assert_same_dag(left: &Flow, right: &Flow) {
    assert_eq!(shown(left), shown(right));
    assert_eq!(left.dag().arc_count(), right.dag().arc_count());
}

/// Names that are hard on some format, and easy ones.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,3}[0-9]{0,2}",
        2 => "[ -~]{1,8}",
        1 => "(parent|PARENT|child|ALL_NODES|JOB|DONE|source|target|from|to|#|//|TASK|EDGE)",
        1 => "\\PC{1,6}",
        1 => "[a-z\\t\\n\\r\"',+\\\\%{}@=# ]{1,8}",
    ]
}

/// A small flow with any names, in no topological order, with attributes here and there.
pub(crate) fn any_flow() -> impl Strategy<Value = Flow> {
    let names = prop::collection::hash_set(any_name(), 1..12);
    let command = "[ -~\\t\\n]{1,20}";
    let attributes = (
        prop::option::of(command),
        prop::option::of(0..5u32),
        prop::option::of(any::<i32>()),
        any::<bool>(),
    );
    let attributes = prop::collection::vec(attributes, 12);
    (names, any::<u64>(), 0..4u64, attributes).prop_map(|(names, seed, density, attributes)| {
        let names: Vec<String> = names.into_iter().collect();
        let mut build = FlowBuilder::new();
        let tasks: Vec<_> = names
            .iter()
            .map(|name| build.declare(name, 0).expect("names differ"))
            .collect();
        for (&task, (command, retries, priority, done)) in tasks.iter().zip(attributes) {
            command
                .iter()
                .for_each(|command| build.set_command(task, command));
            retries
                .into_iter()
                .for_each(|retries| build.set_retries(task, retries));
            priority
                .into_iter()
                .for_each(|priority| build.set_priority(task, priority.into()));
            if done {
                build.set_done(task);
            }
        }
        let mut state = seed;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state >> 33
        };
        let mut rank: Vec<usize> = (0..tasks.len()).collect();
        for i in (1..rank.len()).rev() {
            rank.swap(i, random() as usize % (i + 1));
        }
        for i in 0..rank.len() {
            for j in i + 1..rank.len() {
                if random() % 6 < density {
                    build
                        .arc(tasks[rank[i]], tasks[rank[j]])
                        .expect("two tasks");
                }
            }
        }
        build.finish().expect("arcs go up in rank")
    })
}
