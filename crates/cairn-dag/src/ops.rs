//! New dags from old: sum, composition, dual, induced sub-dag. Knows no names: flows have their own.

use crate::{Dag, DagError, TaskId, narrow};

/// Why dags cannot be put together, or taken apart, as asked.
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
    /// Only sinks of the first dag can be merged.
    #[error("task {0:?} of the first dag is no sink")]
    NotASink(TaskId),
    /// Only sources of the second dag can be merged.
    #[error("task {0:?} of the second dag is no source")]
    NotASource(TaskId),
    /// A task is named more than once.
    #[error("task {0:?} is named twice")]
    NamedTwice(TaskId),
    /// The result passes what 32-bit ids can count.
    #[error("the result is too large: {0} is more than 32-bit ids can count")]
    TooLarge(usize),
}

/// Two dags put together. Made by [`Dag::sum`] and [`Dag::compose`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// The result.
    pub dag: Dag,
    /// What each task of the first dag is called in the result: here all keep their ids.
    pub first: Vec<TaskId>,
    /// What each task of the second dag is called in the result.
    pub second: Vec<TaskId>,
}

/// A part of a dag. Made by [`Dag::induced`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Induced {
    /// The part.
    pub dag: Dag,
    /// What each task of the part is called in the whole.
    pub whole: Vec<TaskId>,
}

impl Dag {
    /// The sum `self + second`: both side by side, without arcs between them. Linear.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let arc = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    /// let sum = arc.sum(&arc).unwrap();
    /// assert_eq!(sum.dag, Dag::from_arcs(4, vec![(0, 1), (2, 3)]).unwrap());
    /// assert_eq!(sum.second, [TaskId(2), TaskId(3)]);
    /// ```
    ///
    /// # Errors
    /// [`OperationError::TooLarge`].
    pub fn sum(&self, second: &Dag) -> Result<Composition, OperationError> {
        self.compose(second, &[])
    }

    /// The composition `self ⇑ second` (\[MRY06\] §4): the sum, with the sink and the source of each pair in `merges`
    /// made one task. Ids of the first dag stay; the unmerged tasks of the second follow in their order. Linear.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let fork = Dag::from_arcs(3, vec![(0, 1), (0, 2)]).unwrap();
    /// let join = fork.dual();
    /// let merges = [(TaskId(1), TaskId(1)), (TaskId(2), TaskId(2))];
    /// let diamond = fork.compose(&join, &merges).unwrap();
    /// assert_eq!(diamond.dag, Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap());
    /// assert_eq!(diamond.second, [TaskId(3), TaskId(1), TaskId(2)]);
    /// ```
    ///
    /// # Errors
    /// A pair must name a sink of the first dag and a source of the second; no task may be named twice.
    pub fn compose(
        &self,
        second: &Dag,
        merges: &[(TaskId, TaskId)],
    ) -> Result<Composition, OperationError> {
        let renamed = self.merged_ids(second, merges)?;
        // Each merge was seen to name another source, so there are no more of them than tasks.
        let tasks = self.len() + second.len() - merges.len();
        let arcs = self.arcs().map(|(u, v)| (u.0, v.0));
        let more = second
            .arcs()
            .map(|(u, v)| (renamed[u.index()].0, renamed[v.index()].0));
        Ok(Composition {
            dag: freeze(tasks, arcs.chain(more).collect())?,
            first: self.tasks().collect(),
            second: renamed,
        })
    }

    /// What each task of `second` is called in the composition.
    fn merged_ids(
        &self,
        second: &Dag,
        merges: &[(TaskId, TaskId)],
    ) -> Result<Vec<TaskId>, OperationError> {
        // More merges than the second dag has tasks are refused below; here they must only not go below zero.
        let tasks = self.len() + second.len() - merges.len().min(second.len());
        // One number stays free: it means "none" in many tables.
        if tasks >= u32::MAX as usize {
            return Err(OperationError::TooLarge(tasks));
        }
        let mut taken = vec![false; self.len()];
        let mut renamed: Vec<Option<TaskId>> = vec![None; second.len()];
        for &(sink, source) in merges {
            self.check(sink)?;
            second.check(source)?;
            if !self.is_sink(sink) {
                return Err(OperationError::NotASink(sink));
            }
            if !second.is_source(source) {
                return Err(OperationError::NotASource(source));
            }
            if std::mem::replace(&mut taken[sink.index()], true) {
                return Err(OperationError::NamedTwice(sink));
            }
            if renamed[source.index()].replace(sink).is_some() {
                return Err(OperationError::NamedTwice(source));
            }
        }
        let mut next = narrow(self.len());
        let fresh = |id: Option<TaskId>| {
            id.unwrap_or_else(|| {
                next += 1;
                TaskId(next - 1)
            })
        };
        Ok(renamed.into_iter().map(fresh).collect())
    }

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
    /// assert_eq!(part.dag, Dag::from_arcs(2, vec![(1, 0)]).unwrap());
    /// ```
    ///
    /// # Errors
    /// [`OperationError::NoSuchTask`], [`OperationError::NamedTwice`].
    pub fn induced(&self, tasks: &[TaskId]) -> Result<Induced, OperationError> {
        let mut renamed = vec![None; self.len()];
        for (new, &task) in tasks.iter().enumerate() {
            self.check(task)?;
            if renamed[task.index()].replace(narrow(new)).is_some() {
                return Err(OperationError::NamedTwice(task));
            }
        }
        let mut arcs = Vec::new();
        for (new, &task) in tasks.iter().enumerate() {
            let inside = (self.children(task).iter()).filter_map(|c| renamed[c.index()]);
            arcs.extend(inside.map(|child| (narrow(new), child)));
        }
        Ok(Induced {
            dag: freeze(tasks.len(), arcs)?,
            whole: tasks.to_vec(),
        })
    }

    fn check(&self, task: TaskId) -> Result<(), OperationError> {
        let tasks = self.len();
        if task.index() < tasks {
            Ok(())
        } else {
            Err(OperationError::NoSuchTask { task, tasks })
        }
    }
}

/// Freezes arcs that are in range and acyclic by construction.
fn freeze(tasks: usize, arcs: Vec<(u32, u32)>) -> Result<Dag, OperationError> {
    Dag::from_arcs(tasks, arcs).map_err(|error| match error {
        DagError::TooLarge(count) => OperationError::TooLarge(count),
        other => unreachable!("parts of dags, joined one way: {other}"),
    })
}
