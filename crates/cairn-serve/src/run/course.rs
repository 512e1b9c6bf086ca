//! The order in force, and what comes of a better one: tasks that were started stand first. Knows no engine.

use crate::found::Found;
use cairn_dag::TaskId;
use std::sync::mpsc::{Receiver, TryRecvError};

/// The order of a dag's tasks while it runs.
pub(super) struct Course {
    /// In force, from first to last; none where none was stored.
    order: Option<Vec<TaskId>>,
    /// Tasks in the order of their first start by this run.
    started: Vec<TaskId>,
    is_started: Vec<bool>,
    /// Where a better one may come from.
    better: Option<Receiver<Found>>,
}

impl Course {
    pub(super) fn new(tasks: usize, order: Option<Vec<TaskId>>) -> Course {
        Course {
            order,
            started: Vec::new(),
            is_started: vec![false; tasks],
            better: None,
        }
    }

    pub(super) fn order(&self) -> Option<&[TaskId]> {
        self.order.as_deref()
    }

    /// Better orders may come from here, one after the other.
    pub(super) fn expect(&mut self, better: Option<Receiver<Found>>) {
        self.better = better;
    }

    /// The better order, if it has come.
    pub(super) fn found(&mut self) -> Option<Found> {
        let found = self.better.as_ref()?.try_recv();
        // Nobody looks any more: from now on the loop asks no channel.
        if matches!(found, Err(TryRecvError::Disconnected)) {
            self.better = None;
        }
        found.ok()
    }

    /// A task is started.
    pub(super) fn start(&mut self, task: TaskId) {
        if !std::mem::replace(&mut self.is_started[task.index()], true) {
            self.started.push(task);
        }
    }

    /// What was executed before and what was started stand first, as they were; the rest goes by the new order. Returns what
    /// is in force now.
    pub(super) fn take(
        &mut self,
        order: Vec<TaskId>,
        is_executed: impl Fn(TaskId) -> bool,
    ) -> &[TaskId] {
        // The order is stored with the run: what was started under an earlier one stands where it was, and not where the new one
        // would have had it.
        let mut is_first = self.is_started.clone();
        let mut first = Vec::with_capacity(order.len());
        for &task in self.order.as_ref().unwrap_or(&order) {
            if is_executed(task) && !is_first[task.index()] {
                is_first[task.index()] = true;
                first.push(task);
            }
        }
        first.extend_from_slice(&self.started);
        first.extend(order.into_iter().filter(|t| !is_first[t.index()]));
        self.order.insert(first)
    }
}
