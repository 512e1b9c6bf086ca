//! Warns of tasks that read a file which another task writes, without waiting for it. Changes nothing.

use crate::{Report, Source};
use cairn_dag::{Flow, TaskId};
use std::collections::HashMap;

/// Arcs walked in all: past that, what was not a direct parent is not checked any more.
// A judgement: a warning is no reason to wait, and most readers are direct children of the writer, which costs no step.
const MOST_STEPS: usize = 1_000_000;

/// Warns once for each such task and file. Time O(tasks + files), and up to a million steps backward in the dag.
pub(super) fn warn_of_unordered_reads(flow: &Flow, source: &Source, report: &mut Report) {
    let dag = flow.dag();
    let mut writer: HashMap<&str, TaskId> = HashMap::new();
    for task in dag.tasks() {
        for file in flow.outputs(task) {
            // Of several writers the first: which one is meant nobody can tell.
            writer.entry(file.path).or_insert(task);
        }
    }
    if writer.is_empty() {
        return;
    }
    let mut ancestry = Ancestry::new(flow);
    for task in dag.tasks() {
        for file in flow.inputs(task) {
            let Some(&by) = writer.get(file.path) else {
                continue;
            };
            // From cheap to dear: most readers wait for the writer directly.
            if by == task || dag.has_arc(by, task) || ancestry.knows(by, task) {
                continue;
            }
            let (reader, by) = (flow.name(task), flow.name(by));
            let path = file.path;
            report.warning(
                source.place(),
                format!("task '{reader}' reads '{path}', which task '{by}' writes, without waiting for it"),
                format!("files make no dependencies: if it needs that file, add '{by}' to its 'after'"),
            );
        }
    }
}

/// Walks backward through the dag, a limited number of steps in all.
struct Ancestry<'f> {
    flow: &'f Flow,
    /// By task: its place in the topological order. Filled at the first search.
    position: Vec<u32>,
    /// By task: the search that met it last.
    met: Vec<u32>,
    searches: u32,
    /// Arcs walked. A plain number: this crate has no kernel beneath it, and so few steps are over before anybody says stop.
    steps: usize,
}

impl Ancestry<'_> {
    fn new(flow: &Flow) -> Ancestry<'_> {
        Ancestry {
            flow,
            position: Vec::new(),
            met: Vec::new(),
            searches: 0,
            steps: 0,
        }
    }

    /// Whether `task` waits for `ancestor`; also true when too many steps have been walked to tell.
    fn knows(&mut self, ancestor: TaskId, task: TaskId) -> bool {
        let dag = self.flow.dag();
        if self.position.is_empty() {
            self.position = vec![0; dag.len()];
            self.met = vec![0; dag.len()];
            for (i, &t) in dag.topological_order().iter().enumerate() {
                self.position[t.index()] = i as u32;
            }
        }
        // A new number instead of clearing `met`, which would cost the whole dag for each question.
        self.searches += 1;
        let mut stack = vec![task];
        while let Some(at) = stack.pop() {
            for &parent in dag.parents(at) {
                self.steps += 1;
                if parent == ancestor || self.steps > MOST_STEPS {
                    return true;
                }
                // What stands before the ancestor in a topological order cannot wait for it: no need to look behind it.
                let before = self.position[parent.index()] < self.position[ancestor.index()];
                if !before && self.met[parent.index()] != self.searches {
                    self.met[parent.index()] = self.searches;
                    stack.push(parent);
                }
            }
        }
        false
    }
}
