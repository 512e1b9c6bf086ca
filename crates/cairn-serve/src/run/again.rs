//! Which executed tasks must be executed again: what they run changed, or what they read, or what they made is gone. Changes
//! nothing.

use super::files::DeclaredFiles;
use crate::store::{FlowRecord, Stamp, Store, StoreError};
use cairn_dag::{Flow, TaskId};
use std::collections::HashMap;

/// Why an executed task must be executed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyAgain {
    /// What it runs changed.
    Command,
    /// A file that it reads changed.
    Inputs,
    /// A file that it made is gone.
    Outputs,
    /// A task before it is executed again.
    Parent,
}

impl WhyAgain {
    /// In words that follow the name of the task and a colon.
    pub fn words(self) -> &'static str {
        match self {
            WhyAgain::Command => "its command changed",
            WhyAgain::Inputs => "a file that it reads changed",
            WhyAgain::Outputs => "a file that it made is gone or was cut short",
            WhyAgain::Parent => "a task before it is executed again",
        }
    }
}

/// What was known of the tasks, by their numbers in the flow at hand.
#[derive(Default)]
pub(crate) struct Known {
    /// By task; shorter, or `None`, where nothing is known.
    pub(crate) fingerprints: Vec<Option<u64>>,
    pub(crate) stamps: HashMap<TaskId, Stamp>,
}

impl Known {
    /// What the store knows of the same flow.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn of(store: &Store, before: &FlowRecord) -> Result<Known, StoreError> {
        Ok(Known {
            fingerprints: before.fingerprints.iter().copied().map(Some).collect(),
            stamps: (store.stamps()?.into_iter())
                .filter_map(|stamp| Some((stamp.task.frozen()?, stamp)))
                .collect(),
        })
    }
}

/// How the flow is now.
pub(crate) struct Now<'a> {
    pub(crate) flow: &'a Flow,
    /// By task; empty where nobody asks.
    pub(crate) fingerprints: &'a [u64],
    /// By task: executed, as the flow itself says.
    pub(crate) done: &'a [bool],
    /// Whether the machine was started anew since.
    pub(crate) is_other_boot: bool,
    /// Whether declared files are looked at.
    pub(crate) minds_files: bool,
}

/// Which executed tasks must be executed again, and why.
pub(crate) fn again(
    given: &Now<'_>,
    known: &Known,
    executed: &[TaskId],
    files: &mut DeclaredFiles<'_>,
) -> Vec<(TaskId, WhyAgain)> {
    let flow = given.flow;
    let dag = flow.dag();
    let mut is_executed = vec![false; dag.len()];
    executed.iter().for_each(|t| is_executed[t.index()] = true);
    let is_declared = |task: TaskId| given.done.get(task.index()) == Some(&true);
    let mut why: Vec<Option<WhyAgain>> = vec![None; dag.len()];
    // Whether a temporary file of the task is gone: no harm, unless somebody needs it.
    let mut lacks_temp = Vec::new();
    for &task in executed {
        let print = given.fingerprints.get(task.index());
        let before = known.fingerprints.get(task.index()).copied().flatten();
        if before
            .zip(print)
            .is_some_and(|(before, now)| before != *now)
        {
            why[task.index()] = Some(WhyAgain::Command);
            continue;
        }
        // What the flow itself says to be executed was so elsewhere: its files need not be here.
        if !given.minds_files || (is_declared(task) && !known.stamps.contains_key(&task)) {
            continue;
        }
        let stamp = known.stamps.get(&task);
        let is_cut = |files: &mut DeclaredFiles<'_>, s: &Stamp| s.outputs != files.outputs(task);
        // Sizes only after another boot: else a file that is there was written whole by a process that ended well.
        if files.missing(task, false).is_some()
            || (given.is_other_boot && stamp.is_some_and(|s| is_cut(files, s)))
        {
            why[task.index()] = Some(WhyAgain::Outputs);
        } else if stamp.is_some_and(|s| s.inputs != files.inputs(task)) {
            why[task.index()] = Some(WhyAgain::Inputs);
        } else if files.missing(task, true).is_some() {
            lacks_temp.push(task);
        }
    }
    let readers = readers(flow, &lacks_temp);
    // What comes after one that is executed again is executed again; so is what made a temporary file that one of these needs.
    loop {
        for &task in dag.topological_order() {
            let mut parents = dag.parents(task).iter();
            let is_due = is_executed[task.index()] && why[task.index()].is_none();
            if is_due && parents.any(|p| why[p.index()].is_some()) {
                why[task.index()] = Some(WhyAgain::Parent);
            }
        }
        let runs = |t: &TaskId| !is_executed[t.index()] || why[t.index()].is_some();
        let needed = |(t, readers): &(&TaskId, &Vec<TaskId>)| {
            let mut who = dag.children(**t).iter().chain(*readers);
            why[t.index()].is_none() && who.any(runs)
        };
        let lacking = lacks_temp.iter().zip(&readers).filter(needed);
        let more: Vec<TaskId> = lacking.map(|(t, _)| *t).collect();
        // Each round adds some, and there are no more than all.
        if more.is_empty() {
            break;
        }
        more.iter()
            .for_each(|t| why[t.index()] = Some(WhyAgain::Outputs));
    }
    (dag.tasks().zip(why))
        .filter_map(|(task, why)| Some((task, why?)))
        .collect()
}

/// For each of these tasks, all that read what it writes: they need not be its children. Who reads a folder reads what is
/// written beneath it. O(all inputs × the depth of their paths).
fn readers(flow: &Flow, writers: &[TaskId]) -> Vec<Vec<TaskId>> {
    let mut readers = vec![Vec::new(); writers.len()];
    if writers.is_empty() {
        return readers;
    }
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, &writer) in writers.iter().enumerate() {
        for file in flow.outputs(writer) {
            let folders = file.path.match_indices('/').map(|(at, _)| &file.path[..at]);
            for name in std::iter::once(file.path).chain(folders) {
                wanted.entry(name).or_default().push(i);
            }
        }
    }
    for task in flow.dag().tasks() {
        for input in flow.inputs(task) {
            for &i in wanted.get(input.path).into_iter().flatten() {
                readers[i].push(task);
            }
        }
    }
    readers
}
