//! How many bytes flow along each arc, from the files that tasks write and read. Knows no worker and no link.

use cairn_dag::{Flow, TaskId};
use std::collections::{HashMap, HashSet};

/// What flows along the arcs of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct ArcBytes {
    /// By arc, in the order of [`cairn_dag::Dag::arcs`], for [`crate::Workload::with_bytes`]: the sizes of the files that the
    /// parent writes and the child reads.
    pub bytes: Vec<f64>,
    /// How many files flow along some arc and have no size: they count as nothing.
    pub unknown: usize,
}

/// Bytes along each arc of a flow, from the files that its tasks write and read.
///
/// Time linear in tasks, arcs and mentions of files, times the writers of one file (nearly always one).
///
/// ```
/// use cairn_dag::FlowBuilder;
/// let mut build = FlowBuilder::new();
/// let make = build.declare("make", 1)?;
/// let read = build.declare("read", 2)?;
/// build.arc(make, read)?;
/// build.add_output(make, "big", Some(1000));
/// build.add_output(make, "log", Some(7));
/// build.add_input(read, "big", None);
/// let flow = build.finish().unwrap();
/// assert_eq!(cairn_sim::arc_bytes(&flow).bytes, [1000.0]);
/// # Ok::<(), cairn_dag::BuildError>(())
/// ```
pub fn arc_bytes(flow: &Flow) -> ArcBytes {
    let dag = flow.dag();
    // By file, who writes it: in a sound flow one task, but a file may list several.
    let mut writers: HashMap<&str, Vec<TaskId>> = HashMap::new();
    for task in dag.tasks() {
        for file in flow.outputs(task) {
            let writers = writers.entry(file.path).or_default();
            // Tasks are gone through one by one, so a writer that is named twice is the last one.
            if writers.last() != Some(&task) {
                writers.push(task);
            }
        }
    }
    let mut first_arc = vec![0usize; dag.len() + 1];
    for task in dag.tasks() {
        first_arc[task.index() + 1] = first_arc[task.index()] + dag.children(task).len();
    }
    let mut bytes = vec![0.0; dag.arc_count()];
    let mut unknown = HashSet::new();
    let mut inputs = Vec::new();
    for child in dag.tasks() {
        inputs.clear();
        inputs.extend(flow.inputs(child).map(|f| (f.path, f.bytes)));
        // A file named twice is fetched once.
        inputs.sort_unstable();
        inputs.dedup();
        for (path, size) in &inputs {
            for writer in writers.get(path).into_iter().flatten() {
                // A file may be written by a task that is no parent: then it flows along no arc of its own.
                if let Ok(k) = dag.children(*writer).binary_search(&child) {
                    match size {
                        Some(size) => bytes[first_arc[writer.index()] + k] += *size as f64,
                        None => drop(unknown.insert(*path)),
                    }
                }
            }
        }
    }
    ArcBytes {
        bytes,
        unknown: unknown.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::FlowBuilder;

    #[test]
    fn only_files_that_flow_along_an_arc_count() {
        let mut build = FlowBuilder::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| build.declare(name, 1).unwrap());
        for (parent, child) in [(a, b), (a, c), (b, c)] {
            build.arc(parent, child).unwrap();
        }
        build.add_output(a, "x", Some(5));
        build.add_output(a, "y", None);
        build.add_output(b, "z", Some(11));
        for file in ["x", "x", "y", "raw"] {
            build.add_input(b, file, None);
        }
        build.add_input(c, "z", None);
        build.add_input(c, "x", None);
        let flow = build.finish().unwrap();
        // a→b carries x once and y of unknown size, a→c carries x, b→c carries z; nobody writes raw.
        let ArcBytes { bytes, unknown } = arc_bytes(&flow);
        assert_eq!((bytes, unknown), (vec![5.0, 5.0, 11.0], 1));
    }
}
