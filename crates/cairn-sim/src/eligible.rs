//! The eligible tasks that nobody has yet, in the order of one policy. Knows no time and no worker.

use crate::bit_tree::BitTree;
use crate::policy::Ranking;
use cairn_dag::{TaskId, narrow, wide};
use cairn_kernel::NONE;

/// Eligible, unassigned tasks. Every operation takes a few instructions: positions are fixed numbers in a [`BitTree`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Eligible {
    /// Positions of the tasks in the set.
    set: BitTree,
    task_at: Vec<TaskId>,
    position: Vec<u32>,
    by: By,
    /// How many tasks have a position already, when positions follow arrival.
    arrived: u32,
}

/// Where positions come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum By {
    /// Fixed beforehand.
    #[default]
    Rank,
    /// First come, first position.
    Arrival,
    /// First come, last position.
    ReverseArrival,
}

impl Eligible {
    /// Empties the set; tasks will go by rank.
    pub(crate) fn reset_by_rank(&mut self, ranking: &Ranking) {
        self.set.reset(ranking.task_at.len());
        self.task_at.clone_from(&ranking.task_at);
        self.position.clone_from(&ranking.position);
        self.by = By::Rank;
    }

    /// Empties the set; tasks will go in the order in which they first came, or against it.
    pub(crate) fn reset_by_arrival(&mut self, tasks: usize, newest_first: bool) {
        self.set.reset(tasks);
        self.task_at.clear();
        self.task_at.resize(tasks, TaskId(NONE));
        self.position.clear();
        self.position.resize(tasks, NONE);
        self.by = if newest_first {
            By::ReverseArrival
        } else {
            By::Arrival
        };
        self.arrived = 0;
    }

    /// Whether tasks that come at the same instant must come sorted by id.
    #[inline]
    pub(crate) fn depends_on_arrival(&self) -> bool {
        self.by != By::Rank
    }

    /// Adds a task: eligible for the first time, or again after it was lost.
    #[inline]
    pub(crate) fn insert(&mut self, task: TaskId) {
        // A place is given once: a task that was lost returns to its own.
        if self.by != By::Rank && self.position[task.index()] == NONE {
            let place = match self.by {
                // The set gives up its least member: newest first counts places down from the end.
                By::ReverseArrival => narrow(self.position.len()) - 1 - self.arrived,
                _ => self.arrived,
            };
            self.arrived += 1;
            self.position[task.index()] = place;
            self.task_at[wide(place)] = task;
        }
        self.set.insert(wide(self.position[task.index()]));
    }

    /// The task to go first, taken out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        let place = self.set.first()?;
        self.set.remove(place);
        Some(self.task_at[place])
    }

    /// The tasks in the order in which they would go, from position `from` on; with each, the position after it.
    #[inline]
    pub(crate) fn next(&self, from: usize) -> Option<(TaskId, usize)> {
        let place = self.set.next(from)?;
        Some((self.task_at[place], place + 1))
    }

    /// Takes out a task that is in the set.
    #[inline]
    pub(crate) fn remove(&mut self, task: TaskId) {
        self.set.remove(wide(self.position[task.index()]));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.set.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(eligible: &mut Eligible) -> Vec<u32> {
        std::iter::from_fn(|| eligible.pop()).map(|t| t.0).collect()
    }

    #[test]
    fn each_order_is_kept() {
        let mut eligible = Eligible::default();
        let come = |eligible: &mut Eligible| [4, 0, 3, 1].map(|t| eligible.insert(TaskId(t)));
        eligible.reset_by_arrival(5, false);
        come(&mut eligible);
        assert_eq!(drain(&mut eligible), [4, 0, 3, 1]);
        eligible.reset_by_arrival(5, true);
        come(&mut eligible);
        assert_eq!(drain(&mut eligible), [1, 3, 0, 4]);
        eligible.reset_by_rank(&Ranking::by_falling(&[0.0, 1.0, 2.0, 3.0, -1.0]));
        come(&mut eligible);
        assert_eq!(drain(&mut eligible), [3, 1, 0, 4]);
    }

    #[test]
    fn a_lost_task_returns_to_its_old_place() {
        let mut eligible = Eligible::default();
        eligible.reset_by_arrival(3, false);
        eligible.insert(TaskId(2));
        eligible.insert(TaskId(1));
        assert_eq!(eligible.pop(), Some(TaskId(2)));
        eligible.insert(TaskId(0));
        eligible.insert(TaskId(2));
        eligible.remove(TaskId(1));
        assert_eq!(eligible.len(), 2);
        assert_eq!(drain(&mut eligible), [2, 0]);
    }
}
