//! The frozen dag: who comes before whom, in compressed sparse rows. Knows no names, files or schedules.

use crate::{TaskId, cycle, narrow, wide};
use cairn_kernel::Rows;

/// A directed acyclic graph that can no longer change.
///
/// Children and parents of each task are slices, sorted by id and free of duplicates. Memory is
/// `4·(3·tasks + 2·arcs)` bytes: about 36 MB for 10⁶ tasks and 3·10⁶ arcs.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// assert_eq!(diamond.children(TaskId(0)), [TaskId(1), TaskId(2)]);
/// assert_eq!(diamond.sinks().collect::<Vec<_>>(), [TaskId(3)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    children: Rows<TaskId>,
    parents: Rows<TaskId>,
    topological: Vec<TaskId>,
}

/// Why a list of arcs is no dag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DagError {
    /// An arc names a task that does not exist.
    #[error("arc {parent} -> {child} names a task outside 0..{tasks}")]
    OutOfRange {
        /// The arc's tail.
        parent: u32,
        /// The arc's head.
        child: u32,
        /// How many tasks there are.
        tasks: usize,
    },
    /// A task that depends on itself.
    #[error("task {0:?} depends on itself")]
    SelfLoop(TaskId),
    /// Tasks that wait for each other: each is a parent of the next, the last a parent of the first.
    #[error("the tasks {0:?} wait for each other in a cycle")]
    Cycle(Vec<TaskId>),
    /// More tasks or arcs than 32-bit ids can count.
    #[error("{0} is more than 32-bit ids can count")]
    TooLarge(usize),
}

impl Dag {
    /// Freezes `arcs` (parent, child) over the tasks `0..tasks`. Duplicate arcs are merged.
    ///
    /// Time O(tasks + arcs·log d) where d is the most parents that one task has, and space O(tasks + arcs): two counting
    /// sorts, of which the first walks through memory in order when arcs come child by child; a sort of each task's
    /// parents; and one topological sort.
    ///
    /// # Errors
    /// [`DagError`] names the arc, the self-loop or a short cycle.
    pub fn from_arcs(tasks: usize, arcs: Vec<(u32, u32)>) -> Result<Dag, DagError> {
        Dag::from_arcs_or_back(tasks, arcs).map_err(|(error, _)| error)
    }

    /// The same; the arcs come back with the error, in the order in which they were given.
    pub(crate) fn from_arcs_or_back(
        tasks: usize,
        arcs: Vec<(u32, u32)>,
    ) -> Result<Dag, (DagError, Vec<(u32, u32)>)> {
        // u32::MAX itself stays free, so that algorithms may use it as "none".
        let limit = u32::MAX as usize;
        if tasks >= limit || arcs.len() >= limit {
            return Err((DagError::TooLarge(tasks.max(arcs.len())), arcs));
        }
        for &(parent, child) in &arcs {
            if wide(parent) >= tasks || wide(child) >= tasks {
                let error = DagError::OutOfRange {
                    parent,
                    child,
                    tasks,
                };
                return Err((error, arcs));
            }
            if parent == child {
                return Err((DagError::SelfLoop(TaskId(parent)), arcs));
            }
        }
        let mut parents = Rows::by_row(tasks, arcs.iter().map(|&(p, c)| (c, TaskId(p))));
        parents.sort_and_merge();
        // Taken child by child, the children of each parent come sorted.
        let children = Rows::by_row(tasks, row_arcs(&parents).map(|(c, p)| (p.0, c)));
        let mut dag = Dag {
            children,
            parents,
            topological: Vec::new(),
        };
        dag.topological = dag.sort_topologically();
        if dag.topological.len() < tasks {
            return Err((DagError::Cycle(cycle::short_cycle(&dag)), arcs));
        }
        Ok(dag)
    }

    /// The dag with no task at all.
    pub fn empty() -> Dag {
        Dag::from_arcs(0, Vec::new()).expect("no arcs, no cycle")
    }

    /// Number of tasks.
    #[inline]
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of distinct arcs.
    #[inline]
    pub fn arc_count(&self) -> usize {
        self.children.items().len()
    }

    /// All tasks, in id order.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = TaskId> + DoubleEndedIterator + use<> {
        (0..narrow(self.len())).map(TaskId)
    }

    /// The tasks that wait for `task`, sorted by id.
    #[inline]
    pub fn children(&self, task: TaskId) -> &[TaskId] {
        self.children.row(task.index())
    }

    /// The tasks that `task` waits for, sorted by id.
    #[inline]
    pub fn parents(&self, task: TaskId) -> &[TaskId] {
        self.parents.row(task.index())
    }

    /// All arcs (parent, child), sorted.
    pub fn arcs(&self) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
        row_arcs(&self.children)
    }

    /// Whether `child` waits for `parent` directly. O(log degree).
    pub fn has_arc(&self, parent: TaskId, child: TaskId) -> bool {
        self.children(parent).binary_search(&child).is_ok()
    }

    /// Whether `task` waits for nothing.
    #[inline]
    pub fn is_source(&self, task: TaskId) -> bool {
        self.parents(task).is_empty()
    }

    /// Whether nothing waits for `task`.
    #[inline]
    pub fn is_sink(&self, task: TaskId) -> bool {
        self.children(task).is_empty()
    }

    /// The tasks without parents, in id order.
    pub fn sources(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks().filter(|&t| self.is_source(t))
    }

    /// The tasks without children, in id order.
    pub fn sinks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks().filter(|&t| self.is_sink(t))
    }

    /// Every task after all of its parents: first come, first served, starting from the sources in id order.
    #[inline]
    pub fn topological_order(&self) -> &[TaskId] {
        &self.topological
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.children.heap_bytes() + self.parents.heap_bytes() + 4 * self.topological.capacity()
    }

    /// Kahn's algorithm; shorter than the dag when there is a cycle.
    fn sort_topologically(&self) -> Vec<TaskId> {
        let mut waiting: Vec<u32> = self.parents.lengths().collect();
        // One more: the store below, which has no branch, may write behind the last task.
        let mut order = vec![TaskId(0); self.len() + 1];
        let mut released = Vec::new();
        let mut found = 0;
        for source in self.sources() {
            order[found] = source;
            found += 1;
        }
        let mut next = 0;
        while next < found {
            // Many rows at a time: what is touched first need not be waited for one by one, as in a large dag each
            // row, and each counter, is far from the last.
            // 64 are more than a processor can have under way; the order stays first come, first served.
            let block = &order[next..found.min(next + 64)];
            next += block.len();
            let start = |task: &TaskId| self.children.range(task.index()).start;
            touch(block, |task| narrow(start(task)));
            let items = self.children.items();
            touch(block, |task| items.get(start(task)).map_or(0, |c| c.0));
            released.clear();
            for &task in block {
                released.extend_from_slice(self.children(task));
            }
            for &child in &released {
                let left = &mut waiting[child.index()];
                *left -= 1;
                // No branch, for no processor could foretell it: what was not found yet is overwritten by the next.
                order[found] = child;
                found += usize::from(*left == 0);
            }
        }
        order.truncate(found);
        order
    }
}

/// Reads something of every item, without a branch that would have to wait for what was read.
pub(crate) fn touch<T>(items: &[T], read: impl Fn(&T) -> u32) {
    std::hint::black_box(items.iter().fold(0, |sum, item| sum ^ read(item)));
}

fn row_arcs(rows: &Rows<TaskId>) -> impl Iterator<Item = (TaskId, TaskId)> + Clone + '_ {
    (rows.iter().zip(0..)).flat_map(|(row, i)| row.iter().map(move |&item| (TaskId(i), item)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of pairs: rows, counts, topological order, and rejection of exactly the cyclic inputs.
        #[test]
        fn agrees_with_a_set_of_pairs(n in 1usize..9, raw in prop::collection::vec((0u32..9, 0u32..9), 0..24)) {
            let arcs: Vec<_> = raw.into_iter()
                .map(|(a, b)| (a % n as u32, b % n as u32)).filter(|(a, b)| a != b).collect();
            let set: BTreeSet<_> = arcs.iter().copied().collect();
            // Reachability by repeated squaring of a boolean matrix.
            let mut reach = vec![vec![false; n]; n];
            for &(a, b) in &set { reach[a as usize][b as usize] = true; }
            for k in 0..n { for i in 0..n { for j in 0..n {
                reach[i][j] |= reach[i][k] && reach[k][j];
            } } }
            let cyclic = (0..n).any(|i| reach[i][i]);
            match Dag::from_arcs(n, arcs) {
                Ok(dag) => {
                    prop_assert!(!cyclic);
                    let got: Vec<_> = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
                    prop_assert_eq!(&got, &set.iter().copied().collect::<Vec<_>>());
                    for v in dag.tasks() {
                        let parents: Vec<_> = set.iter().filter(|a| a.1 == v.0).map(|a| TaskId(a.0)).collect();
                        prop_assert_eq!(dag.parents(v), &parents[..]);
                    }
                    let mut at = vec![usize::MAX; n];
                    for (i, v) in dag.topological_order().iter().enumerate() { at[v.index()] = i; }
                    prop_assert!(dag.arcs().all(|(a, b)| at[a.index()] < at[b.index()]));
                }
                Err(DagError::Cycle(cycle)) => {
                    prop_assert!(cyclic);
                    prop_assert!(cycle.len() >= 2);
                    for (i, a) in cycle.iter().enumerate() {
                        let b = cycle[(i + 1) % cycle.len()];
                        prop_assert!(set.contains(&(a.0, b.0)), "{:?} is no cycle of {:?}", cycle, set);
                    }
                    let shortest = (0..n as u32).filter_map(|v| shortest_through(&set, n, v)).min().unwrap();
                    prop_assert_eq!(cycle.len(), shortest);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    /// Length of the shortest cycle through `v`, by walking sets of tasks forward.
    fn shortest_through(set: &BTreeSet<(u32, u32)>, n: usize, v: u32) -> Option<usize> {
        let mut front = BTreeSet::from([v]);
        for steps in 1..=n {
            front = (set.iter().filter(|a| front.contains(&a.0)))
                .map(|a| a.1)
                .collect();
            if front.contains(&v) {
                return Some(steps);
            }
        }
        None
    }

    #[test]
    fn errors_name_the_culprit() {
        let wrong = Dag::from_arcs(2, vec![(0, 5)]).unwrap_err();
        assert!(matches!(wrong, DagError::OutOfRange { child: 5, .. }));
        let wrong = Dag::from_arcs(2, vec![(1, 1)]).unwrap_err();
        assert_eq!(wrong, DagError::SelfLoop(TaskId(1)));
    }
}
