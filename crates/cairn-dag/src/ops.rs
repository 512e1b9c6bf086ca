//! New dags from old: dual, induced sub-dag. Knows no names: flows have their own.

use crate::{Dag, DagError, TaskId, narrow};

/// Why a dag cannot be taken apart as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// A task that the dag does not have.
    #[error("there is no task {task:?} among {tasks}")]
    NoSuchTask {
        /// The task asked for.
        task: TaskId,
        /// How many tasks there are.
        tasks: usize,
    },
    /// A task is named more than once.
    #[error("task {0:?} is named twice")]
    NamedTwice(TaskId),
    /// The result passes what 32-bit ids can count.
    #[error("the result is too large: {0} is more than 32-bit ids can count")]
    TooLarge(usize),
}

impl Dag {
    /// The dual: every arc reversed. Ids stay. Linear.
    ///
    /// ```
    /// use cairn_dag::Dag;
    /// let fork = Dag::from_arcs(3, vec![(0, 1), (0, 2)]).unwrap();
    /// assert_eq!(fork.dual(), Dag::from_arcs(3, vec![(1, 0), (2, 0)]).unwrap());
    /// ```
    pub fn dual(&self) -> Dag {
        let arcs = self.arcs().map(|(u, v)| (v.0, u.0)).collect();
        Dag::from_arcs(self.len(), arcs).expect("a reversed dag has no cycle")
    }

    /// The sub-dag induced by `tasks`: these tasks, numbered in the order given, and all arcs between two of them.
    /// Time O(all tasks + arcs out of the chosen ones).
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let chain = Dag::from_arcs(3, vec![(0, 1), (1, 2)]).unwrap();
    /// let part = chain.induced(&[TaskId(2), TaskId(1)]).unwrap();
    /// assert_eq!(part, Dag::from_arcs(2, vec![(1, 0)]).unwrap());
    /// ```
    ///
    /// # Errors
    /// [`OperationError::NoSuchTask`], [`OperationError::NamedTwice`].
    pub fn induced(&self, tasks: &[TaskId]) -> Result<Dag, OperationError> {
        let mut renamed = vec![None; self.len()];
        for (new, &task) in tasks.iter().enumerate() {
            if task.index() >= self.len() {
                let tasks = self.len();
                return Err(OperationError::NoSuchTask { task, tasks });
            }
            if renamed[task.index()].replace(narrow(new)).is_some() {
                return Err(OperationError::NamedTwice(task));
            }
        }
        let mut arcs = Vec::new();
        for (new, &task) in tasks.iter().enumerate() {
            let inside = (self.children(task).iter()).filter_map(|c| renamed[c.index()]);
            arcs.extend(inside.map(|child| (narrow(new), child)));
        }
        Dag::from_arcs(tasks.len(), arcs).map_err(|error| match error {
            DagError::TooLarge(count) => OperationError::TooLarge(count),
            other => unreachable!("a part of a dag is a dag: {other}"),
        })
    }
}
