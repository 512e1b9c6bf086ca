//! A dag whose tasks are renumbered by topological rank, level after level. Knows no task ids but one table.

use crate::{Dag, TaskId};

/// Arcs between ranks. A parent's rank is smaller than its child's, and ranks of one level are contiguous, so
/// most questions about levels become comparisons of ranks.
pub(super) struct Ranked {
    pub(super) child_start: Vec<u32>,
    /// Each row ascending.
    pub(super) child: Vec<u32>,
    pub(super) parent_start: Vec<u32>,
    /// Each row ascending.
    pub(super) parent: Vec<u32>,
    /// First rank of the same level.
    pub(super) level_start: Vec<u32>,
    /// First rank of the next level.
    pub(super) level_end: Vec<u32>,
    /// Arcs on the longest path down to a sink.
    pub(super) height: Vec<u32>,
    pub(super) task: Vec<TaskId>,
}

impl Ranked {
    pub(super) fn new(dag: &Dag) -> Ranked {
        // First come, first served: the order is sorted by level.
        let task = dag.topological_order().to_vec();
        let mut rank = vec![0u32; dag.len()];
        for (at, task) in task.iter().enumerate() {
            rank[task.index()] = at as u32;
        }
        let (parent_start, parent) = rows(dag, &task, &rank, Dag::children, Dag::parents);
        let (child_start, child) = rows(dag, &task, &rank, Dag::parents, Dag::children);
        let (level_start, level_end) = level_bounds(&parent_start, &parent);
        let mut height = vec![0u32; task.len()];
        for at in (0..task.len()).rev() {
            let below = &child[child_start[at] as usize..child_start[at + 1] as usize];
            height[at] = below
                .iter()
                .map(|&c| height[c as usize] + 1)
                .max()
                .unwrap_or(0);
        }
        Ranked {
            child_start,
            child,
            parent_start,
            parent,
            level_start,
            level_end,
            height,
            task,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.task.len()
    }

    #[inline]
    pub(super) fn children(&self, rank: u32) -> &[u32] {
        let at = rank as usize;
        &self.child[self.child_start[at] as usize..self.child_start[at + 1] as usize]
    }

    #[inline]
    pub(super) fn parents(&self, rank: u32) -> &[u32] {
        &self.parent[self.parent_slots(rank)]
    }

    /// Where the arcs into `rank` lie in `parent`.
    #[inline]
    pub(super) fn parent_slots(&self, rank: u32) -> std::ops::Range<usize> {
        let at = rank as usize;
        self.parent_start[at] as usize..self.parent_start[at + 1] as usize
    }

    /// Whether neither levels nor degrees show that the arc is no shortcut. A detour would pass a level strictly
    /// between those of its ends, counted from the sources as well as from the sinks, and would leave `u` and
    /// enter `v` by other arcs.
    pub(super) fn may_be_shortcut(&self, u: u32, v: u32) -> bool {
        self.level_end[u as usize] < self.level_start[v as usize]
            && self.height[u as usize] > self.height[v as usize] + 1
            && self.children(u).len() > 1
            && self.parents(v).len() > 1
    }
}

/// For each rank the ranks of `items`, ascending because the other side is walked in rank order.
fn rows(
    dag: &Dag,
    task: &[TaskId],
    rank: &[u32],
    owners: fn(&Dag, TaskId) -> &[TaskId],
    items: fn(&Dag, TaskId) -> &[TaskId],
) -> (Vec<u32>, Vec<u32>) {
    let mut start = Vec::with_capacity(task.len() + 1);
    start.push(0u32);
    let mut total = 0;
    for &t in task {
        total += items(dag, t).len() as u32;
        start.push(total);
    }
    let mut fill = start.clone();
    let mut row = vec![0u32; total as usize];
    for (at, &t) in task.iter().enumerate() {
        for owner in owners(dag, t) {
            let slot = &mut fill[rank[owner.index()] as usize];
            row[*slot as usize] = at as u32;
            *slot += 1;
        }
    }
    (start, row)
}

/// First rank of each rank's level and of the level after it.
fn level_bounds(parent_start: &[u32], parent: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let ranks = parent_start.len() - 1;
    let mut start = vec![0u32; ranks];
    let mut current = 0;
    for at in 0..ranks {
        let row = &parent[parent_start[at] as usize..parent_start[at + 1] as usize];
        // The level changes where a parent lies on the current one; the last parent is on the highest level.
        if row.last().is_some_and(|&p| p >= current) {
            current = at as u32;
        }
        start[at] = current;
    }
    let mut end = vec![ranks as u32; ranks];
    for at in (0..ranks.saturating_sub(1)).rev() {
        end[at] = if start[at + 1] > start[at] {
            at as u32 + 1
        } else {
            end[at + 1]
        };
    }
    (start, end)
}
