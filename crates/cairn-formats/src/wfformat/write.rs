//! Writes WfFormat 1.5. Knows what its schema requires.

use crate::json::{push_list, push_plain, push_string};
use cairn_dag::{File, Flow, TaskId};
use std::collections::HashSet;
use std::io::{Result, Write};

/// Writes a document that has every field the schema requires. Names are the tasks' labels where they have one, ids the
/// tasks' names, as they are: the schema
/// wants letters, digits and `-_.#` in those that are mentioned as parents or children, and a flow may have others.
///
/// Tasks with a duration go to `execution` with their commands, processors, memory and priorities. The schema wants a
/// duration for each task there, so those of the others stand in their specification, where it allows what it does not
/// name: no duration is made up. Retries, limits, pools and what was executed before are not kept.
pub(crate) fn write(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    out.write_all(b"{\n\"name\": \"workflow\",\n\"description\": \"Written by cairn\",\n")?;
    out.write_all(
        b"\"schemaVersion\": \"1.5\",\n\"workflow\": {\n\"specification\": {\n\"tasks\": [",
    )?;
    let mut text = String::new();
    for task in flow.dag().tasks() {
        text.clear();
        text.push_str(if task.index() == 0 { "\n" } else { ",\n" });
        push_specification(&mut text, flow, task);
        out.write_all(text.as_bytes())?;
    }
    text.clear();
    text.push_str("\n]");
    push_files(&mut text, flow);
    text.push('}');
    out.write_all(text.as_bytes())?;
    // An execution without tasks would claim that the workflow was run.
    if flow.dag().tasks().any(|t| is_executed(flow, t)) {
        write_execution(flow, out)?;
    }
    out.write_all(b"\n}\n}\n")
}

fn push_specification(text: &mut String, flow: &Flow, task: TaskId) {
    text.push_str("{\"name\": ");
    push_string(text, flow.label(task).unwrap_or(flow.name(task)));
    text.push_str(", \"id\": ");
    push_string(text, flow.name(task));
    let name = |t: &TaskId| flow.name(*t);
    push_names(text, "parents", flow.dag().parents(task).iter().map(name));
    push_names(text, "children", flow.dag().children(task).iter().map(name));
    push_names(text, "inputFiles", flow.inputs(task).map(|f| f.path));
    push_names(text, "outputFiles", flow.outputs(task).map(|f| f.path));
    // Else they stand in the execution, once.
    if !is_executed(flow, task) {
        push_demands(text, flow, task);
    }
    text.push('}');
}

fn push_names<'a>(text: &mut String, key: &str, names: impl Iterator<Item = &'a str>) {
    push_plain(text, format_args!(", \"{key}\": "));
    push_list(text, names, push_string);
}

/// The list of files whose size is known, each once.
fn push_files(text: &mut String, flow: &Flow) {
    let files = |t: TaskId| flow.inputs(t).chain(flow.outputs(t));
    let mut seen = HashSet::new();
    for File { path, bytes, .. } in flow.dag().tasks().flat_map(files) {
        // Those of unknown size stand with their tasks alone: none is made up.
        let Some(bytes) = bytes else { continue };
        let first = seen.is_empty();
        if seen.insert(path) {
            text.push_str(if first { ",\n\"files\": [\n" } else { ",\n" });
            text.push_str("{\"id\": ");
            push_string(text, path);
            push_plain(text, format_args!(", \"sizeInBytes\": {bytes}}}"));
        }
    }
    text.push_str(if seen.is_empty() { "\n" } else { "\n]\n" });
}

fn is_executed(flow: &Flow, task: TaskId) -> bool {
    flow.seconds(task).is_some()
}

/// Command, processors, memory and priority.
fn push_demands(text: &mut String, flow: &Flow, task: TaskId) {
    if let Some(command) = flow.command(task) {
        text.push_str(", \"command\": {\"program\": ");
        push_string(text, command);
        text.push_str(", \"arguments\": []}");
    }
    // Of none the reader would make one, and memory of 0 is what nobody measured.
    if let Some(cpus) = flow.cpus(task).filter(|&c| c > 0) {
        push_plain(text, format_args!(", \"coreCount\": {cpus}"));
    }
    if let Some(memory) = flow.memory(task).filter(|&m| m > 0) {
        push_plain(text, format_args!(", \"memoryInBytes\": {memory}"));
    }
    if let Some(priority) = flow.priority(task) {
        push_plain(text, format_args!(", \"priority\": {priority}"));
    }
}

fn write_execution(flow: &Flow, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    let makespan = longest_path(flow);
    push_plain(
        &mut text,
        format_args!(
            ",\n\"execution\": {{\n\"makespanInSeconds\": {makespan:?},\n\"executedAt\": \"never\",\n\"tasks\": [\n"
        ),
    );
    let executed = flow.dag().tasks().filter(|&t| is_executed(flow, t));
    for (i, task) in executed.enumerate() {
        text.push_str(if i == 0 { "" } else { ",\n" });
        text.push_str("{\"id\": ");
        push_string(&mut text, flow.name(task));
        if let Some(seconds) = flow.seconds(task) {
            push_plain(
                &mut text,
                format_args!(", \"runtimeInSeconds\": {seconds:?}"),
            );
        }
        push_demands(&mut text, flow, task);
        text.push('}');
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    out.write_all(b"\n]\n}")
}

/// The makespan on unlimited workers: the schema wants a makespan, and nothing was executed yet.
fn longest_path(flow: &Flow) -> f64 {
    let dag = flow.dag();
    let mut end = vec![0.0f64; dag.len()];
    for &task in dag.topological_order() {
        // Parents come first in this order: their ends are known.
        let start = dag.parents(task).iter().map(|p| end[p.index()]);
        end[task.index()] = start.fold(0.0, f64::max) + flow.seconds(task).unwrap_or(0.0);
    }
    let longest = end.into_iter().fold(0.0, f64::max);
    // A sum of numbers may be infinite, which JSON cannot say.
    longest.min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;
    use serde_json::Value;

    fn written(flow: &Flow) -> Value {
        let mut out = Vec::new();
        write(flow, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    /// What the published schema 1.5 lists as required, and its least values.
    fn check_schema(value: &Value) {
        let text = |v: &Value, key: &str| assert!(!v[key].as_str().unwrap().is_empty(), "{key}");
        text(value, "name");
        assert_eq!(value["schemaVersion"], "1.5");
        let workflow = &value["workflow"];
        for task in workflow["specification"]["tasks"].as_array().unwrap() {
            text(task, "name");
            text(task, "id");
            assert!(task["parents"].is_array() && task["children"].is_array());
        }
        for file in workflow["specification"]["files"]
            .as_array()
            .into_iter()
            .flatten()
        {
            text(file, "id");
            assert!(file["sizeInBytes"].is_u64());
        }
        if let Some(execution) = workflow.get("execution") {
            assert!(execution["makespanInSeconds"].is_number());
            text(execution, "executedAt");
            let tasks = execution["tasks"].as_array().unwrap();
            assert!(!tasks.is_empty());
            for task in tasks {
                text(task, "id");
                assert!(task["runtimeInSeconds"].is_number());
                assert!(
                    task.get("coreCount")
                        .is_none_or(|c| c.as_u64().unwrap() >= 1)
                );
            }
        }
    }

    #[test]
    fn has_what_the_schema_requires() {
        let mut build = FlowBuilder::new();
        let a = build.declare("a", 0).unwrap();
        let b = build.declare("b", 0).unwrap();
        build.arc(a, b).unwrap();
        let bare = build.clone().finish().unwrap();
        let value = written(&bare);
        check_schema(&value);
        assert!(value["workflow"].get("execution").is_none());
        build.set_command(a, "echo \"hi\" > x");
        build.set_seconds(b, 2.5).unwrap();
        build.add_output(a, "x", Some(3));
        build.add_input(b, "x", None);
        build.add_input(b, "y", None);
        build.set_cpus(b, 0);
        let value = written(&build.finish().unwrap());
        check_schema(&value);
        assert_eq!(
            value["workflow"]["specification"]["files"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(value["workflow"]["execution"]["makespanInSeconds"], 2.5);
        let executed = value["workflow"]["execution"]["tasks"].as_array().unwrap();
        assert_eq!(executed.len(), 1, "no duration is made up for a");
        let a = &value["workflow"]["specification"]["tasks"][0];
        assert_eq!(a["command"]["program"], "echo \"hi\" > x");
    }
}
