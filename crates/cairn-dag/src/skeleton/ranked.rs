//! A dag whose tasks are renumbered by topological rank, level after level. Knows task ids by one table only.

use crate::{Dag, TaskId, narrow, wide};
use cairn_kernel::places;
use std::ops::Range;

/// Arcs between ranks. A parent's rank is smaller than its child's, and the ranks of a level are contiguous, so
/// that most questions about levels become comparisons of ranks.
pub(super) struct Ranked {
    /// One more than there are ranks: a row ends where the next begins.
    node: Vec<Node>,
    /// Each row ascending.
    child: Vec<u32>,
    /// Each row ascending.
    parent: Vec<u32>,
    /// First rank of each level, and the number of ranks at the end.
    level_start: Vec<u32>,
    task: Vec<TaskId>,
}

/// All that a search asks about a rank, side by side in memory.
#[derive(Clone, Copy, Default)]
struct Node {
    child_start: u32,
    parent_start: u32,
    level: u32,
    /// Arcs on the longest path down to a sink.
    height: u32,
}

impl Ranked {
    /// Renumbers. Linear.
    pub(super) fn new(dag: &Dag) -> Ranked {
        // The order is first come, first served, hence sorted by level.
        let task = dag.topological_order().to_vec();
        let rank = places(&task);
        let mut ranked = Ranked {
            node: vec![Node::default(); task.len() + 1],
            child: vec![0; dag.arc_count()],
            parent: vec![0; dag.arc_count()],
            level_start: Vec::new(),
            task,
        };
        ranked.set_starts(dag);
        ranked.set_rows(dag, &rank);
        ranked.set_levels();
        ranked.set_heights();
        ranked
    }

    fn set_starts(&mut self, dag: &Dag) {
        for (at, &task) in self.task.iter().enumerate() {
            let node = self.node[at];
            self.node[at + 1] = Node {
                child_start: node.child_start + narrow(dag.children(task).len()),
                parent_start: node.parent_start + narrow(dag.parents(task).len()),
                ..node
            };
        }
    }

    /// Rows come out ascending because their items are visited in that order.
    fn set_rows(&mut self, dag: &Dag, rank: &[u32]) {
        // Where the next child and the next parent of each rank goes.
        let mut next: Vec<(u32, u32)> = (self.node.iter())
            .map(|node| (node.child_start, node.parent_start))
            .collect();
        for (at, &task) in self.task.iter().enumerate() {
            for parent in dag.parents(task) {
                let next = &mut next[wide(rank[parent.index()])].0;
                self.child[wide(*next)] = narrow(at);
                *next += 1;
            }
            for child in dag.children(task) {
                let next = &mut next[wide(rank[child.index()])].1;
                self.parent[wide(*next)] = narrow(at);
                *next += 1;
            }
        }
    }

    fn set_levels(&mut self) {
        let mut start = 0;
        self.level_start.push(0);
        for at in 0..narrow(self.len()) {
            // A level ends before the first task with a parent on it; the last parent is on the highest level.
            if self.parents(at).last().is_some_and(|&p| p >= start) {
                start = at;
                self.level_start.push(start);
            }
            self.node[wide(at)].level = narrow(self.level_start.len()) - 1;
        }
        self.level_start.push(narrow(self.len()));
    }

    fn set_heights(&mut self) {
        // Backward: children have larger ranks, so their heights are known.
        for at in (0..narrow(self.len())).rev() {
            let below = self.children(at).iter().map(|&c| self.height(c) + 1);
            self.node[wide(at)].height = below.max().unwrap_or(0);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.task.len()
    }

    pub(super) fn arc_count(&self) -> usize {
        self.child.len()
    }

    pub(super) fn task(&self, rank: u32) -> TaskId {
        self.task[wide(rank)]
    }

    #[inline]
    pub(super) fn children(&self, rank: u32) -> &[u32] {
        &self.child[self.child_slots(rank)]
    }

    #[inline]
    pub(super) fn parents(&self, rank: u32) -> &[u32] {
        &self.parent[self.parent_slots(rank)]
    }

    /// The numbers of the arcs out of `rank` when arcs are sorted by tail, then head.
    #[inline]
    pub(super) fn child_slots(&self, rank: u32) -> Range<usize> {
        let at = wide(rank);
        wide(self.node[at].child_start)..wide(self.node[at + 1].child_start)
    }

    /// The numbers of the arcs into `rank` when arcs are sorted by head, then tail.
    #[inline]
    pub(super) fn parent_slots(&self, rank: u32) -> Range<usize> {
        let at = wide(rank);
        wide(self.node[at].parent_start)..wide(self.node[at + 1].parent_start)
    }

    /// The tail of the arc with this number among [`Ranked::parent_slots`].
    #[inline]
    pub(super) fn tail(&self, parent_slot: usize) -> u32 {
        self.parent[parent_slot]
    }

    #[inline]
    pub(super) fn height(&self, rank: u32) -> u32 {
        self.node[wide(rank)].height
    }

    /// The first rank on the level of `rank`.
    #[inline]
    pub(super) fn level_start(&self, rank: u32) -> u32 {
        self.level_start[wide(self.node[wide(rank)].level)]
    }

    /// The first rank on the level after that of `rank`.
    #[inline]
    pub(super) fn level_end(&self, rank: u32) -> u32 {
        self.level_start[wide(self.node[wide(rank)].level) + 1]
    }

    /// Whether neither levels nor degrees show that the arc is no shortcut. A detour would pass a level strictly
    /// between those of its ends, counted from the sources as well as from the sinks, and would leave `tail` and
    /// enter `head` by other arcs.
    pub(super) fn may_be_shortcut(&self, tail: u32, head: u32) -> bool {
        self.level_end(tail) < self.level_start(head)
            && self.height(tail) > self.height(head) + 1
            && self.children(tail).len() > 1
            && self.parents(head).len() > 1
    }
}
