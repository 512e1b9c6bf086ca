//! A flow: a dag with names and what the input says of each task. Knows no file format and no schedule.

use crate::columns::{Column, Lists};
use crate::names::{Names, Shared, Texts};
use crate::pools::Pools;
use crate::{Dag, TaskId, wide};
use std::sync::OnceLock;

/// A file that a task reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct File<'a> {
    /// As the input spells it.
    pub path: &'a str,
    /// Its size, where known.
    pub bytes: Option<u64>,
    /// Whether it may be deleted once the last task that reads it is executed.
    pub temp: bool,
}

/// A dag whose tasks have names and, where the input gives them, a command, a duration, files and so on.
///
/// Attributes are columns that take no memory until one task has a value. Made by [`crate::FlowBuilder`].
#[derive(Clone, Debug)]
pub struct Flow {
    pub(crate) dag: Dag,
    pub(crate) names: Names,
    pub(crate) attributes: Attributes,
    /// What people see, once somebody asked; `None` where that is the names themselves.
    pub(crate) shown: OnceLock<Option<Names>>,
}

impl Flow {
    pub(crate) fn new(dag: Dag, names: Names, attributes: Attributes) -> Flow {
        let shown = OnceLock::new();
        Flow {
            dag,
            names,
            attributes,
            shown,
        }
    }

    /// A dag whose tasks are called t0, t1, … by their ids.
    ///
    /// ```
    /// use cairn_dag::{Dag, Flow, TaskId};
    /// let flow = Flow::numbered(&Dag::from_arcs(2, vec![(0, 1)]).unwrap());
    /// assert_eq!(flow.name(TaskId(1)), "t1");
    /// ```
    pub fn numbered(dag: &Dag) -> Flow {
        let mut build = crate::FlowBuilder::new();
        let name = |t: TaskId| format!("t{}", t.0);
        let tasks: Vec<_> = (dag.tasks())
            .map(|t| build.declare(&name(t), 0).expect("names differ"))
            .collect();
        for (parent, child) in dag.arcs() {
            let arc = build.arc(tasks[parent.index()], tasks[child.index()]);
            arc.expect("a dag has no self-loop");
        }
        build.finish().expect("a dag is a dag")
    }

    /// The structure.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// The task's name as the input has it, for machines: unique, never empty. People should see [`Flow::shown`].
    pub fn name(&self, task: TaskId) -> &str {
        self.names.get(task.index())
    }

    /// The task called `name`.
    pub fn find(&self, name: &str) -> Option<TaskId> {
        self.names.find(name).map(TaskId)
    }

    /// What the input calls the task for people; not unique, and perhaps of several lines.
    pub fn label(&self, task: TaskId) -> Option<&str> {
        self.attributes.label.get(task.index())
    }

    /// Whether any task has a label.
    pub fn has_labels(&self) -> bool {
        !self.attributes.label.is_empty()
    }

    /// The kind of job that the input gives; [`Flow::kind`] guesses where there is none.
    pub fn given_kind(&self, task: TaskId) -> Option<&str> {
        self.attributes.kind.get(task.index())
    }

    /// The command line to run.
    pub fn command(&self, task: TaskId) -> Option<&str> {
        Some(self.attributes.command.get(task.index())).filter(|c| !c.is_empty())
    }

    /// Expected duration in seconds: finite and not negative.
    pub fn seconds(&self, task: TaskId) -> Option<f64> {
        self.attributes.seconds.get(task.index())
    }

    /// Processors the task wants.
    pub fn cpus(&self, task: TaskId) -> Option<u32> {
        self.attributes.cpus.get(task.index())
    }

    /// Bytes of memory the task wants.
    pub fn memory(&self, task: TaskId) -> Option<u64> {
        self.attributes.memory.get(task.index())
    }

    /// Bytes of disk that the task needs while it runs, beside its outputs.
    pub fn scratch(&self, task: TaskId) -> Option<u64> {
        self.attributes.scratch.get(task.index())
    }

    /// Seconds after which an attempt has failed: finite and above zero.
    pub fn time_limit(&self, task: TaskId) -> Option<f64> {
        self.attributes.time_limit.get(task.index())
    }

    /// Named resources that the task holds while it runs, with how much of each, in the input's order.
    pub fn pools(&self, task: TaskId) -> impl Iterator<Item = (&str, u32)> {
        self.attributes.pools.of(task.index())
    }

    /// How much there is of each named resource whose limit the input gives, in the input's order.
    pub fn pool_limits(&self) -> impl Iterator<Item = (&str, u32)> {
        self.attributes.pools.limits()
    }

    /// Words that the labels of whoever does the task must contain, in the input's order.
    pub fn tags(&self, task: TaskId) -> impl Iterator<Item = &str> {
        let attributes = &self.attributes;
        let tags = attributes.tags.items(task.index()).iter();
        tags.map(|&tag| attributes.tag_names.get(wide(tag)))
    }

    /// By task, its duration where the input gives any; tasks without one count as the mean of the others.
    pub fn imputed_seconds(&self) -> Option<Vec<f64>> {
        let tasks = || self.dag.tasks();
        let known: Vec<f64> = tasks().filter_map(|t| self.seconds(t)).collect();
        if known.is_empty() {
            return None;
        }
        // The mean, not the median: the total work keeps its scale.
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        Some(tasks().map(|t| self.seconds(t).unwrap_or(mean)).collect())
    }

    /// The same flow with other durations, one a task.
    ///
    /// # Panics
    /// If there are more or fewer than tasks, or a duration is negative, infinite or not a number.
    pub fn with_seconds(mut self, seconds: Vec<Option<f64>>) -> Flow {
        assert_eq!(seconds.len(), self.dag.len(), "one duration a task");
        let good = |s: &f64| s.is_finite() && *s >= 0.0;
        assert!(seconds.iter().flatten().all(good), "durations from zero on");
        self.attributes.seconds = Column(seconds);
        self
    }

    /// How often to try again after a failure.
    pub fn retries(&self, task: TaskId) -> Option<u32> {
        self.attributes.retries.get(task.index())
    }

    /// The priority the input already gives; larger goes first.
    pub fn priority(&self, task: TaskId) -> Option<i64> {
        self.attributes.priority.get(task.index())
    }

    /// Whether the input says the task was executed before.
    pub fn is_done(&self, task: TaskId) -> bool {
        self.attributes.done.get(task.index())
    }

    /// Whether the engine starts the task by itself, outside of the dag, as DAGMan does a FINAL node: nobody chooses it.
    pub fn is_apart(&self, task: TaskId) -> bool {
        self.attributes.apart.get(task.index())
    }

    /// Files the task reads, in the input's order.
    pub fn inputs(&self, task: TaskId) -> impl Iterator<Item = File<'_>> {
        self.attributes
            .files_of(&self.attributes.inputs, task.index())
    }

    /// Files the task writes, in the input's order.
    pub fn outputs(&self, task: TaskId) -> impl Iterator<Item = File<'_>> {
        self.attributes
            .files_of(&self.attributes.outputs, task.index())
    }

    /// Files of executed tasks that the task reads without naming them; none but in a [`Flow::rest`]. Those that several of them
    /// wrote may come several times.
    pub fn left_for(&self, task: TaskId) -> impl Iterator<Item = File<'_>> {
        let heaps = self.attributes.left_for.items(task.index()).iter();
        heaps.flat_map(|&heap| self.attributes.files_of(&self.attributes.heaps, wide(heap)))
    }

    /// The same tasks and attributes over other arcs, such as the skeleton's.
    ///
    /// # Panics
    /// If `dag` has another number of tasks.
    pub(crate) fn with_dag(self, dag: Dag) -> Flow {
        assert_eq!(dag.len(), self.dag.len(), "one entry a task");
        Flow { dag, ..self }
    }

    /// Bytes on the heap: structure, names, attributes.
    pub fn heap_bytes(&self) -> usize {
        let shown = self.shown.get().and_then(Option::as_ref);
        self.dag.heap_bytes()
            + self.names.heap_bytes()
            + self.attributes.heap_bytes()
            + shown.map_or(0, Names::heap_bytes)
    }
}

/// What the input says of each task, one column an attribute.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) label: Shared,
    pub(crate) kind: Shared,
    pub(crate) command: Texts,
    pub(crate) seconds: Column<Option<f64>>,
    pub(crate) cpus: Column<Option<u32>>,
    pub(crate) retries: Column<Option<u32>>,
    pub(crate) priority: Column<Option<i64>>,
    pub(crate) memory: Column<Option<u64>>,
    pub(crate) scratch: Column<Option<u64>>,
    pub(crate) time_limit: Column<Option<f64>>,
    pub(crate) pools: Pools,
    pub(crate) tag_names: Names,
    pub(crate) tags: Lists,
    pub(crate) done: Column<bool>,
    pub(crate) apart: Column<bool>,
    pub(crate) file_names: Names,
    /// By file. Unknown where shorter.
    pub(crate) file_bytes: Column<Option<u64>>,
    /// By file. Not temporary where shorter.
    pub(crate) file_temp: Column<bool>,
    pub(crate) inputs: Lists,
    pub(crate) outputs: Lists,
    /// By task, what executed ones left for it beyond its inputs, as heaps of files: many tasks may find the same.
    pub(crate) left_for: Lists,
    /// By heap, its files.
    pub(crate) heaps: Lists,
}

impl Attributes {
    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.label.permute(to);
        self.kind.permute(to);
        self.command.permute(to);
        self.seconds.permute(to);
        self.cpus.permute(to);
        self.retries.permute(to);
        self.priority.permute(to);
        self.memory.permute(to);
        self.scratch.permute(to);
        self.time_limit.permute(to);
        self.pools.permute(to);
        self.tags.permute(to);
        self.done.permute(to);
        self.apart.permute(to);
        self.inputs.permute(to);
        self.outputs.permute(to);
        self.left_for.permute(to);
    }

    /// The files in one of the lists.
    pub(crate) fn files_of<'a>(
        &'a self,
        lists: &'a Lists,
        number: usize,
    ) -> impl Iterator<Item = File<'a>> {
        lists.items(number).iter().map(|&file| File {
            path: self.file_names.get(wide(file)),
            bytes: self.file_bytes.get(wide(file)),
            temp: self.file_temp.get(wide(file)),
        })
    }

    fn heap_bytes(&self) -> usize {
        self.label.heap_bytes()
            + self.kind.heap_bytes()
            + self.command.heap_bytes()
            + self.seconds.heap_bytes()
            + self.cpus.heap_bytes()
            + self.retries.heap_bytes()
            + self.priority.heap_bytes()
            + self.memory.heap_bytes()
            + self.scratch.heap_bytes()
            + self.time_limit.heap_bytes()
            + self.pools.heap_bytes()
            + self.tag_names.heap_bytes()
            + self.tags.heap_bytes()
            + self.done.heap_bytes()
            + self.apart.heap_bytes()
            + self.file_names.heap_bytes()
            + self.file_bytes.heap_bytes()
            + self.file_temp.heap_bytes()
            + self.inputs.heap_bytes()
            + self.outputs.heap_bytes()
            + self.left_for.heap_bytes()
            + self.heaps.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::FlowBuilder;

    #[test]
    fn tasks_without_a_duration_take_as_long_as_the_others_on_the_mean() {
        let flow = |seconds: [Option<f64>; 3]| {
            let mut build = FlowBuilder::new();
            for (name, seconds) in ["a", "b", "c"].into_iter().zip(seconds) {
                let task = build.declare(name, 0).unwrap();
                let known = seconds.map(|s| build.set_seconds(task, s).unwrap());
                assert_eq!(known.is_some(), seconds.is_some());
            }
            build.finish().unwrap().imputed_seconds()
        };
        assert_eq!(flow([None, None, None]), None);
        assert_eq!(
            flow([Some(1.0), None, Some(4.0)]),
            Some(vec![1.0, 2.5, 4.0])
        );
        assert_eq!(flow([None, Some(0.0), None]), Some(vec![0.0; 3]));
    }
}
