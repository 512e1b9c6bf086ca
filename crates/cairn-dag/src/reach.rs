//! Reachability by plain search: one question at a time. Keeps no index of the dag.

use crate::{Dag, TaskId};

impl Dag {
    /// The tasks that wait, directly or not, for a task of `set`, sorted by id. A member of `set` is among them
    /// only when it waits for another member. Time and space O(tasks + arcs).
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let chain = Dag::from_arcs(4, vec![(0, 1), (1, 2), (2, 3)]).unwrap();
    /// assert_eq!(chain.descendants(&[TaskId(1)]), [TaskId(2), TaskId(3)]);
    /// ```
    pub fn descendants(&self, set: &[TaskId]) -> Vec<TaskId> {
        self.all_met(set, Dag::children)
    }

    /// The tasks that a task of `set` waits for, directly or not, sorted by id. A member of `set` is among them
    /// only when another member waits for it. Time and space O(tasks + arcs).
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let chain = Dag::from_arcs(4, vec![(0, 1), (1, 2), (2, 3)]).unwrap();
    /// assert_eq!(chain.ancestors(&[TaskId(2)]), [TaskId(0), TaskId(1)]);
    /// ```
    pub fn ancestors(&self, set: &[TaskId]) -> Vec<TaskId> {
        self.all_met(set, Dag::parents)
    }

    fn all_met(&self, set: &[TaskId], next: fn(&Dag, TaskId) -> &[TaskId]) -> Vec<TaskId> {
        let mut is_met = vec![false; self.len()];
        let mut met = Vec::new();
        let mut stack = set.to_vec();
        while let Some(task) = stack.pop() {
            for &task in next(self, task) {
                // The members of `set` are not marked before, so one that another leads to is met like any task.
                if !std::mem::replace(&mut is_met[task.index()], true) {
                    met.push(task);
                    stack.push(task);
                }
            }
        }
        // Met in the order of the search, which nobody should come to rely on.
        met.sort_unstable();
        met
    }
}
