//! What a server takes from a flow before the first task runs: kinds, bytes, who may run twice at once. Serves nothing.

use cairn_dag::Flow;
use cairn_engine::{Copies, KindId, numbered};
use std::collections::HashMap;

/// By task its kind, and by kind its name: trust is earned by kind.
pub fn kinds(flow: &Flow) -> (Vec<KindId>, Vec<String>) {
    let kind = numbered(flow.dag().tasks().map(|t| flow.kind(t)));
    let mut names = Vec::new();
    for task in flow.dag().tasks() {
        // Kinds are numbered as they appear: a new one has the next number.
        if kind[task.index()].index() == names.len() {
            names.push(flow.kind(task).to_owned());
        }
    }
    (kind, names)
}

/// Which tasks may run twice at once, each in a folder of its own: those that declare what they make, since that is carried to
/// its place as a whole. What others do, they do elsewhere, and two of them may be in each other's way.
pub fn copies(flow: &Flow) -> Copies {
    let makes = |task| flow.outputs(task).next().is_some();
    Copies::Of(flow.dag().tasks().map(makes).collect())
}

/// By task: bytes that it takes in a folder of its own, as far as they are known: what it reads and writes, and scratch.
pub fn weights(flow: &Flow) -> Vec<u64> {
    let mut made: HashMap<&str, Option<u64>> = HashMap::new();
    for task in flow.dag().tasks() {
        made.extend(flow.outputs(task).map(|f| (f.path, f.bytes)));
    }
    let mut read: HashMap<&str, u64> = HashMap::new();
    let mut bytes_of = |path| match made.get(path) {
        Some(bytes) => bytes.unwrap_or(0),
        // Of the whole workflow: it is there, or nothing will be done.
        None => {
            *(read.entry(path)).or_insert_with(|| std::fs::metadata(path).map_or(0, |m| m.len()))
        }
    };
    let weights = flow.dag().tasks().map(|task| {
        let reads = flow.inputs(task).map(|f| f.path);
        let files = reads.chain(flow.outputs(task).map(|f| f.path));
        let scratch = flow.scratch(task).unwrap_or(0);
        files.map(&mut bytes_of).fold(scratch, u64::saturating_add)
    });
    weights.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;

    #[test]
    fn a_flow_says_bytes_kinds_and_who_may_run_twice() {
        let here = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(here.path(), [0; 7]).unwrap();
        let path = here.path().to_str().unwrap();
        let mut build = FlowBuilder::new();
        let tasks = ["cut-1", "cut-2", "say"].map(|name| build.declare(name, 0).unwrap());
        for (task, kind) in tasks.into_iter().zip(["cut", "cut", "say"]) {
            build.set_kind(task, kind);
        }
        build.add_input(tasks[0], path, None);
        build.add_output(tasks[0], "made", Some(100));
        build.add_output(tasks[1], "unknown", None);
        build.add_input(tasks[2], "made", None);
        build.add_input(tasks[2], "is/nowhere", None);
        build.set_scratch(tasks[2], 1000);
        build.arc(tasks[0], tasks[2]).unwrap();
        let flow = build.finish().unwrap();
        // What lies there, what others make as they say, nothing where nobody knows.
        assert_eq!(weights(&flow), [107, 0, 1100]);
        let names = vec!["cut".to_owned(), "say".to_owned()];
        assert_eq!(kinds(&flow), ([0, 0, 1].map(KindId).to_vec(), names));
        assert!(matches!(copies(&flow), Copies::Of(may) if may == [true, true, false]));
    }
}
