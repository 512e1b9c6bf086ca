//! A part of a flow as a flow of its own. Leaves the structure to the dag's operations.

use crate::{BuildError, File, Flow, FlowBuilder, OperationError, Symbol, TaskId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Why a flow cannot be taken apart as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowOperationError {
    /// The dag does not allow it.
    #[error(transparent)]
    Dag(#[from] OperationError),
    /// Names, commands or files pass what 32-bit numbers can count.
    #[error("the result is too large: 32-bit numbers cannot count its {0}")]
    TooLarge(&'static str),
}

impl Flow {
    /// The part made of `tasks`, numbered in the order given: see [`crate::Dag::induced`]. Names and attributes stay.
    ///
    /// # Errors
    /// Those of [`crate::Dag::induced`], [`FlowOperationError::TooLarge`].
    pub fn induced(&self, tasks: &[TaskId]) -> Result<Flow, FlowOperationError> {
        let part = self.dag().induced(tasks)?;
        // Without arcs: the induced dag has them, and numbers tasks as they are declared here.
        let mut build = FlowBuilder::new();
        for &task in tasks {
            add(&mut build, self, task);
        }
        for (pool, limit) in self.pool_limits() {
            build.set_pool_limit(pool, limit);
        }
        Ok(finish(build)?.with_dag(part))
    }
}

/// Declares a task with all that `flow` says of it.
fn add(build: &mut FlowBuilder, flow: &Flow, task: TaskId) {
    let to = build.declare(flow.name(task), 0);
    let to = to.expect("the names of a flow are its own, and not empty");
    if let Some(label) = flow.label(task) {
        build.set_label(to, label);
    }
    if let Some(kind) = flow.given_kind(task) {
        build.set_kind(to, kind);
    }
    if let Some(command) = flow.command(task) {
        build.set_command(to, command);
    }
    if let Some(seconds) = flow.seconds(task) {
        let set = build.set_seconds(to, seconds);
        set.expect("durations in a flow are finite and not negative");
    }
    if let Some(cpus) = flow.cpus(task) {
        build.set_cpus(to, cpus);
    }
    if let Some(retries) = flow.retries(task) {
        build.set_retries(to, retries);
    }
    if let Some(priority) = flow.priority(task) {
        build.set_priority(to, priority);
    }
    if let Some(bytes) = flow.memory(task) {
        build.set_memory(to, bytes);
    }
    if let Some(bytes) = flow.scratch(task) {
        build.set_scratch(to, bytes);
    }
    if let Some(seconds) = flow.time_limit(task) {
        let set = build.set_time_limit(to, seconds);
        set.expect("time limits in a flow are finite and above zero");
    }
    for (pool, count) in flow.pools(task) {
        build.add_pool(to, pool, count);
    }
    flow.tags(task).for_each(|tag| build.add_tag(to, tag));
    if flow.is_done(task) {
        build.set_done(to);
    }
    if flow.is_apart(task) {
        build.set_apart(to);
    }
    add_files(build, to, flow, task);
}

fn add_files(build: &mut FlowBuilder, to: Symbol, flow: &Flow, task: TaskId) {
    // Also of inputs: who writes them may be no part of the result, and then nobody else says that they are temporary.
    let mark = |build: &mut FlowBuilder, file: &File<'_>| {
        if file.temp {
            build.set_temp(file.path);
        }
    };
    for file in united(flow.inputs(task)) {
        build.add_input(to, file.path, file.bytes);
        mark(build, &file);
    }
    for file in united(flow.outputs(task)) {
        build.add_output(to, file.path, file.bytes);
        mark(build, &file);
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
