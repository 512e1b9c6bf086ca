//! New flows from old: sum, composition, induced part, prefixed names. Leaves the structure to the dag's operations.

use crate::{BuildError, File, Flow, FlowBuilder, OperationError, Symbol, TaskId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Why flows cannot be put together, or taken apart, as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowOperationError {
    /// The dags do not allow it.
    #[error(transparent)]
    Dag(#[from] OperationError),
    /// Both flows have a task of this name, and the two are not merged. Cure: [`Flow::prefixed`].
    #[error("both flows have a task '{0}' that is not merged; give one of them a prefix")]
    NameTaken(String),
    /// Names, commands or files pass what 32-bit numbers can count.
    #[error("the result is too large: 32-bit numbers cannot count its {0}")]
    TooLarge(&'static str),
}

impl Flow {
    /// The sum: both flows side by side. Names and attributes stay; a name in both is an error.
    ///
    /// # Errors
    /// [`FlowOperationError::NameTaken`], [`FlowOperationError::TooLarge`].
    pub fn sum(&self, second: &Flow) -> Result<Flow, FlowOperationError> {
        self.compose(second, &[])
    }

    /// The composition `self ⇑ second`: see [`crate::Dag::compose`], which also numbers the tasks.
    ///
    /// A merged task has the name it has in `self`. It has the attributes that `self` gives it; those that `self`
    /// leaves open it takes from `second`, and it has the files of both. Any other task keeps name and
    /// attributes; a name that is left in both flows is an error. A pool that both flows limit has the limit of `self`.
    ///
    /// ```
    /// use cairn_dag::{Flow, FlowBuilder};
    /// fn arc(parent: &str, child: &str) -> Flow {
    ///     let mut build = FlowBuilder::new();
    ///     let parent = build.declare(parent, 1).unwrap();
    ///     let child = build.declare(child, 2).unwrap();
    ///     build.arc(parent, child).unwrap();
    ///     build.finish().unwrap()
    /// }
    /// let (first, second) = (arc("fetch", "sort"), arc("input", "plot"));
    /// let merge = (first.find("sort").unwrap(), second.find("input").unwrap());
    /// let both = first.compose(&second, &[merge]).unwrap();
    /// let names: Vec<&str> = both.dag().tasks().map(|t| both.name(t)).collect();
    /// assert_eq!(names, ["fetch", "sort", "plot"]);
    /// assert_eq!(both.dag().arc_count(), 2);
    /// ```
    ///
    /// # Errors
    /// Those of [`crate::Dag::compose`], [`FlowOperationError::NameTaken`], [`FlowOperationError::TooLarge`].
    pub fn compose(
        &self,
        second: &Flow,
        merges: &[(TaskId, TaskId)],
    ) -> Result<Flow, FlowOperationError> {
        let composed = self.dag().compose(second.dag(), merges)?;
        // After `compose`, which has refused pairs that name a task twice.
        let mut merged_with = vec![None; self.dag().len()];
        for &(sink, source) in merges {
            merged_with[sink.index()] = Some(source);
        }
        // Without arcs: the composed dag has them, and numbers tasks as they are declared here.
        let mut build = FlowBuilder::new();
        for task in self.dag().tasks() {
            let partner = merged_with[task.index()].map(|source| (second, source));
            add(&mut build, self.name(task), (self, task), partner)?;
        }
        for task in second.dag().tasks() {
            // Ids below belong to merged tasks, which were declared with their partners.
            if composed.second[task.index()].index() >= self.dag().len() {
                add(&mut build, second.name(task), (second, task), None)?;
            }
        }
        limit_pools(&mut build, second);
        // Last, so that of two limits the first flow's counts.
        limit_pools(&mut build, self);
        Ok(finish(build)?.with_dag(composed.dag))
    }

    /// The part made of `tasks`, numbered in the order given: see [`crate::Dag::induced`]. Names and attributes stay.
    ///
    /// # Errors
    /// Those of [`crate::Dag::induced`].
    pub fn induced(&self, tasks: &[TaskId]) -> Result<Flow, FlowOperationError> {
        let part = self.dag().induced(tasks)?;
        let mut build = FlowBuilder::new();
        for &task in tasks {
            add(&mut build, self.name(task), (self, task), None)?;
        }
        limit_pools(&mut build, self);
        Ok(finish(build)?.with_dag(part.dag))
    }

    /// The same flow with `prefix` before every task's name, such as to put a flow together with itself.
    ///
    /// # Errors
    /// [`FlowOperationError::TooLarge`].
    pub fn prefixed(&self, prefix: &str) -> Result<Flow, FlowOperationError> {
        let mut build = FlowBuilder::new();
        for task in self.dag().tasks() {
            let name = format!("{prefix}{}", self.name(task));
            add(&mut build, &name, (self, task), None)?;
        }
        limit_pools(&mut build, self);
        Ok(finish(build)?.with_dag(self.dag().clone()))
    }
}

type TaskOf<'a> = (&'a Flow, TaskId);

/// A task, and perhaps another one that is merged with it.
#[derive(Clone, Copy)]
struct Merged<'a>(TaskOf<'a>, Option<TaskOf<'a>>);

impl<'a> Merged<'a> {
    fn both(self) -> impl Iterator<Item = TaskOf<'a>> {
        [Some(self.0), self.1].into_iter().flatten()
    }

    /// Sets what the first of them has that has it.
    fn first<T>(self, get: impl Fn(&'a Flow, TaskId) -> Option<T>, set: impl FnOnce(T)) {
        if let Some(found) = self.both().find_map(|(flow, task)| get(flow, task)) {
            set(found);
        }
    }
}

/// Declares a task with the attributes of `from`, and those of `partner` where `from` has none.
fn add(
    build: &mut FlowBuilder,
    name: &str,
    from: TaskOf<'_>,
    partner: Option<TaskOf<'_>>,
) -> Result<(), FlowOperationError> {
    let to = build.declare(name, 0).map_err(|error| match error {
        BuildError::Duplicate { name, .. } => FlowOperationError::NameTaken(name),
        other => unreachable!("the names of a flow are not empty: {other}"),
    })?;
    let merged = Merged(from, partner);
    merged.first(Flow::label, |label| build.set_label(to, label));
    merged.first(Flow::given_kind, |kind| build.set_kind(to, kind));
    merged.first(Flow::command, |command| build.set_command(to, command));
    merged.first(Flow::seconds, |seconds| {
        let set = build.set_seconds(to, seconds);
        set.expect("durations in a flow are finite and not negative");
    });
    merged.first(Flow::cpus, |cpus| build.set_cpus(to, cpus));
    merged.first(Flow::retries, |retries| build.set_retries(to, retries));
    merged.first(Flow::priority, |priority| build.set_priority(to, priority));
    merged.first(Flow::memory, |bytes| build.set_memory(to, bytes));
    merged.first(Flow::scratch, |bytes| build.set_scratch(to, bytes));
    merged.first(Flow::time_limit, |seconds| {
        let set = build.set_time_limit(to, seconds);
        set.expect("time limits in a flow are finite and above zero");
    });
    // Pools and tags as a whole from one of the two: a mixture would be neither's wish.
    if let Some((flow, task)) = (merged.both()).find(|(f, t)| f.pools(*t).next().is_some()) {
        for (pool, count) in flow.pools(task) {
            build.add_pool(to, pool, count);
        }
    }
    if let Some((flow, task)) = (merged.both()).find(|(f, t)| f.tags(*t).next().is_some()) {
        flow.tags(task).for_each(|tag| build.add_tag(to, tag));
    }
    if merged.both().any(|(flow, task)| flow.is_done(task)) {
        build.set_done(to);
    }
    if merged.both().any(|(flow, task)| flow.is_apart(task)) {
        build.set_apart(to);
    }
    add_files(build, to, merged);
    Ok(())
}

fn add_files(build: &mut FlowBuilder, to: Symbol, merged: Merged<'_>) {
    // Also of inputs: who writes them may be no part of the result, and then nobody else says that they are temporary.
    let mark = |build: &mut FlowBuilder, file: &File<'_>| {
        if file.temp {
            build.set_temp(file.path);
        }
    };
    for file in united(merged.both().flat_map(|(flow, task)| flow.inputs(task))) {
        build.add_input(to, file.path, file.bytes);
        mark(build, &file);
    }
    for file in united(merged.both().flat_map(|(flow, task)| flow.outputs(task))) {
        build.add_output(to, file.path, file.bytes);
        mark(build, &file);
    }
}

fn limit_pools(build: &mut FlowBuilder, from: &Flow) {
    for (pool, limit) in from.pool_limits() {
        build.set_pool_limit(pool, limit);
    }
}

/// Each path once, with its size where any mention knows it, temporary where any mention says so.
fn united<'a>(files: impl Iterator<Item = File<'a>>) -> Vec<File<'a>> {
    // In the order of their first mention, which is what people read.
    let mut united: Vec<File<'a>> = Vec::new();
    let mut at = BTreeMap::new();
    for file in files {
        match at.entry(file.path) {
            Entry::Vacant(new) => {
                new.insert(united.len());
                united.push(file);
            }
            Entry::Occupied(old) => {
                let known = &mut united[*old.get()];
                known.bytes = known.bytes.or(file.bytes);
                known.temp |= file.temp;
            }
        }
    }
    united
}

fn finish(build: FlowBuilder) -> Result<Flow, FlowOperationError> {
    build.finish().map_err(|errors| match errors.first() {
        Some(&BuildError::TooLarge { what }) => FlowOperationError::TooLarge(what),
        other => unreachable!("declared tasks without arcs are a flow: {other:?}"),
    })
}
