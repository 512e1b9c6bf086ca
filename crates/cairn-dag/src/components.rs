//! Weakly connected components: which tasks hang together when arcs have no direction. Knows no blocks.

use crate::{Dag, TaskId, wide};

/// The component of every task, numbered in the order of their smallest task. Made by [`Dag::components`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    component: Vec<u32>,
    count: usize,
}

impl Components {
    /// The task's component, in `0..count`.
    #[inline]
    pub fn of(&self, task: TaskId) -> u32 {
        self.component[task.index()]
    }

    /// The component of each task, by id.
    pub fn as_slice(&self) -> &[u32] {
        &self.component
    }

    /// How many components there are. 0 only for the dag without tasks.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Dag {
    /// The weakly connected components. Time and space O(tasks + arcs): depth-first along arcs in both directions.
    ///
    /// ```
    /// use cairn_dag::Dag;
    /// let dag = Dag::from_arcs(5, vec![(0, 3), (4, 1)]).unwrap();
    /// assert_eq!(dag.components().as_slice(), [0, 1, 2, 0, 1]);
    /// assert_eq!(dag.components().count(), 3);
    /// ```
    pub fn components(&self) -> Components {
        let mut component = vec![0; self.len()];
        let mut seen = vec![false; self.len()];
        let mut count = 0;
        let mut stack = Vec::new();
        for start in self.tasks() {
            if std::mem::replace(&mut seen[start.index()], true) {
                continue;
            }
            // The smallest task that is left: so components are numbered by it.
            component[start.index()] = count;
            stack.push(start);
            while let Some(task) = stack.pop() {
                for &next in self.children(task).iter().chain(self.parents(task)) {
                    if !std::mem::replace(&mut seen[next.index()], true) {
                        component[next.index()] = count;
                        stack.push(next);
                    }
                }
            }
            count += 1;
        }
        Components {
            component,
            count: wide(count),
        }
    }

    /// How many tasks have neither parents nor children.
    pub fn isolated_count(&self) -> usize {
        let alone = |&t: &TaskId| self.is_source(t) && self.is_sink(t);
        self.tasks().filter(alone).count()
    }
}
