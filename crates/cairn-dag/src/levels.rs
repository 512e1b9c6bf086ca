//! Longest-path levels: how deep a dag is and how wide. Knows nothing of shortcuts or schedules.

use crate::{Dag, TaskId, wide};

/// The longest-path level of every task: 0 for sources, else one more than the highest level of a parent.
///
/// Tasks of one level never wait for each other, directly or not. Made by [`Dag::levels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    level: Vec<u32>,
    sizes: Vec<u32>,
}

impl Levels {
    /// The task's level.
    #[inline]
    pub fn of(&self, task: TaskId) -> u32 {
        self.level[task.index()]
    }

    /// The level of each task, by id.
    pub fn as_slice(&self) -> &[u32] {
        &self.level
    }

    /// How many tasks each level has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Number of levels: the tasks on a longest path. 0 only for the dag without tasks.
    pub fn depth(&self) -> usize {
        self.sizes.len()
    }

    /// The most tasks on one level.
    pub fn width(&self) -> usize {
        wide(self.sizes.iter().copied().max().unwrap_or(0))
    }
}

impl Dag {
    /// The longest-path levels. Time and space O(tasks + arcs): one pass in topological order.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let dag = Dag::from_arcs(4, vec![(0, 1), (1, 2), (0, 2), (0, 3)]).unwrap();
    /// let levels = dag.levels();
    /// assert_eq!(levels.as_slice(), [0, 1, 2, 1]);
    /// assert_eq!((levels.depth(), levels.width()), (3, 2));
    /// ```
    pub fn levels(&self) -> Levels {
        let mut level = vec![0u32; self.len()];
        for &task in self.topological_order() {
            // Final by now: all its parents have had their turn.
            let below = level[task.index()] + 1;
            for &child in self.children(task) {
                level[child.index()] = level[child.index()].max(below);
            }
        }
        let depth = level.iter().max().map_or(0, |&deepest| deepest + 1);
        let mut sizes = vec![0u32; wide(depth)];
        for &of in &level {
            sizes[wide(of)] += 1;
        }
        Levels { level, sizes }
    }
}
