//! A set of tasks in a list: put in, take out and look through, each in constant time. Knows no order.

use cairn_dag::TaskId;
use cairn_kernel::{narrow, wide};

/// Tasks in no particular order.
///
/// ```
/// use cairn_dag::TaskId;
/// use cairn_theory::task_set::TaskSet;
/// let mut set = TaskSet::of(3);
/// set.insert(TaskId(0));
/// set.insert(TaskId(2));
/// set.remove(TaskId(0));
/// assert_eq!(set.as_slice(), [TaskId(2)]);
/// ```
#[derive(Clone, Debug)]
pub struct TaskSet {
    members: Vec<TaskId>,
    /// By task: where it is among the members. Of no meaning for tasks outside.
    place: Vec<u32>,
}

impl TaskSet {
    /// The empty set, for a dag of so many tasks.
    pub fn of(tasks: usize) -> TaskSet {
        TaskSet {
            members: Vec::new(),
            place: vec![0; tasks],
        }
    }

    /// The members.
    pub fn as_slice(&self) -> &[TaskId] {
        &self.members
    }

    /// Puts a task in that is not there.
    pub fn insert(&mut self, task: TaskId) {
        self.place[task.index()] = narrow(self.members.len());
        self.members.push(task);
    }

    /// Takes a member out; the last member takes its place.
    pub fn remove(&mut self, task: TaskId) {
        let at = wide(self.place[task.index()]);
        debug_assert_eq!(self.members[at], task);
        self.members.swap_remove(at);
        // Nobody moved if it was the last itself.
        if let Some(moved) = self.members.get(at) {
            self.place[moved.index()] = narrow(at);
        }
    }
}
