//! What tasks are called in answers: labels for people, names for machines, and either in a question. Knows no command.

use crate::failure::Failure;
use crate::layout;
use crate::output::Output;
use cairn_dag::{Flow, Meant, TaskId, plain};
use serde_json::{Map, Value};

/// Tasks as people see them, the first few of them.
pub(crate) fn list(flow: &Flow, tasks: &[TaskId], most: usize) -> String {
    let shown: Vec<_> = tasks.iter().take(most).map(|&t| flow.shown(t)).collect();
    shown.join(", ")
}

/// The same for [`layout::hanging`]: no name is broken.
pub(crate) fn unbroken(flow: &Flow, tasks: &[TaskId], most: usize) -> String {
    let shown: Vec<_> = (tasks.iter().take(most))
        .map(|&t| layout::whole(&flow.shown(t)))
        .collect();
    shown.join(", ")
}

/// How many tasks of a block are named.
// Chosen by eye: a block's line holds its kind and two such lists, and stays a line.
const FEW: usize = 4;

/// The first few of some tasks.
pub(crate) fn few(flow: &Flow, tasks: &[TaskId]) -> String {
    list(flow, tasks, FEW) + more(tasks)
}

/// The same for [`layout::hanging`].
pub(crate) fn few_unbroken(flow: &Flow, tasks: &[TaskId]) -> String {
    unbroken(flow, tasks, FEW) + more(tasks)
}

fn more(tasks: &[TaskId]) -> &'static str {
    if tasks.len() > FEW { ", …" } else { "" }
}

/// From names to what people see, where that differs.
pub(crate) fn labels(flow: &Flow, tasks: &[TaskId]) -> Option<Value> {
    // Names are then what people see: a map from each to itself would only make the answer longer.
    if !flow.has_labels() {
        return None;
    }
    let entry = |&t: &TaskId| (flow.name(t).to_owned(), Value::from(flow.shown(t)));
    let all: Map<String, Value> = tasks.iter().map(entry).collect();
    Some(Value::Object(all))
}

/// The same for all tasks, where machines are told.
pub(crate) fn labels_for(out: &Output, flow: &Flow) -> Option<Value> {
    let all: Vec<TaskId> = flow.dag().tasks().collect();
    out.json.then(|| labels(flow, &all)).flatten()
}

/// The task that a word on the command line means: a name, or a label that only one has. `None` where nobody has it.
pub(crate) fn meant(flow: &Flow, flag: &str, word: &str) -> Result<Option<TaskId>, Failure> {
    match flow.meant(word) {
        Meant::Task(task) => Ok(Some(task)),
        Meant::Nobody => Ok(None),
        // Never guessed: to run or to leave out the wrong task costs more than to ask.
        Meant::Several(tasks) => Err(Failure::usage(
            format!(
                "{flag} names '{}', and {} tasks are called so",
                plain(word),
                tasks.len()
            ),
            format!("say which, such as '{}'", flow.shown(tasks[0])),
        )),
    }
}
