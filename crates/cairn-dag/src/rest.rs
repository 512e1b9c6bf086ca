//! What is left of a flow when some of its tasks are executed. Knows neither who said so nor what is planned.

use crate::names::Names;
use crate::{Flow, FlowOperationError, TaskId};

impl Flow {
    /// The tasks that are not executed, in their order, with names, attributes and the arcs among them. The game on
    /// this flow is the game on the whole one from the moment on at which `is_executed`, by task, holds.
    ///
    /// An executed task binds nobody: its children do not wait for it, and a parent of it that is not executed is
    /// still to be executed. [`Flow::shown`] stays what it was: `align #2` does not become `align` when the other one
    /// is executed. A file that an executed task wrote and a task left reads is an input of the rest, temporary if it was.
    /// O(tasks + arcs).
    ///
    /// ```
    /// use cairn_dag::FlowBuilder;
    /// let mut build = FlowBuilder::new();
    /// let [a, b, c] = ["a", "b", "c"].map(|name| build.declare(name, 0).unwrap());
    /// build.arc(a, b).unwrap();
    /// build.arc(b, c).unwrap();
    /// let rest = build.finish().unwrap().rest(&[true, false, false]).unwrap();
    /// let names: Vec<&str> = rest.dag().tasks().map(|t| rest.name(t)).collect();
    /// assert_eq!((names, rest.dag().sources().count()), (vec!["b", "c"], 1));
    /// ```
    ///
    /// # Errors
    /// [`FlowOperationError::TooLarge`], which the whole flow was not.
    ///
    /// # Panics
    /// If `is_executed` has another length than the number of tasks.
    pub fn rest(&self, is_executed: &[bool]) -> Result<Flow, FlowOperationError> {
        assert_eq!(is_executed.len(), self.dag().len(), "one entry a task");
        let left = self.dag().tasks().filter(|t| !is_executed[t.index()]);
        let left: Vec<TaskId> = left.collect();
        let rest = self.induced(&left)?;
        if let Some(shown) = self.shown_names() {
            let mut kept = Names::default();
            let mut keep = |t: &TaskId| kept.intern(shown.get(t.index())).is_some();
            // No room for them: then they are told apart anew, which is as good for the eye.
            if left.iter().all(&mut keep) {
                let is_first = rest.shown.set(Some(kept)).is_ok();
                debug_assert!(is_first, "nobody asked a new flow");
            }
        }
        Ok(rest)
    }

    /// The first of `tasks` that has a parent which is not executed, with that parent.
    ///
    /// # Panics
    /// If `is_executed` has another length than the number of tasks.
    pub fn open_parent(
        &self,
        tasks: impl IntoIterator<Item = TaskId>,
        is_executed: &[bool],
    ) -> Option<(TaskId, TaskId)> {
        assert_eq!(is_executed.len(), self.dag().len(), "one entry a task");
        tasks.into_iter().find_map(|task| {
            let open = |p: &&TaskId| !is_executed[p.index()];
            let parent = self.dag().parents(task).iter().find(open);
            parent.map(|&parent| (task, parent))
        })
    }
}
