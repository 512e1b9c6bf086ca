//! Families of dags given by formulas and never stored: meshes, trees, FFT dags. Tasks are `u64` numbers; parents,
//! children and levels are computed, and an IC-optimal order comes as an iterator that holds a few numbers. Knows
//! nothing of dags that are stored.
//!
//! Memory below means open results: executed tasks with an unexecuted child. References: \[RY05\] for the reductions and
//! the FFT, \[MRY06\] §4 for the expansions.

mod fft;
mod mesh;
mod out_tree;
mod reduction_tree;

pub use fft::Fft;
pub use mesh::{EvolvingMesh, ReductionMesh};
pub use out_tree::OutTree;
pub use reduction_tree::ReductionTree;

/// How many tasks a family has that never ends, where that must be a number.
// No family is that large: steps are numbers of 64 bits, from 0 on, and the one after the last of them must be one, too.
pub const ENDLESS: u64 = u64::MAX;

/// A dag told by formulas over the tasks 0, 1, 2, … Methods may panic on tasks that do not exist.
///
/// ```
/// use cairn_theory::families::{EvolvingMesh, Family};
/// let mesh = EvolvingMesh::infinite();
/// assert_eq!(mesh.children(4).collect::<Vec<_>>(), [7, 8]);
/// assert_eq!(mesh.order().skip(1_000_000).step_by(1_000_000).next(), Some(1_000_000));
/// assert_eq!(mesh.best_eligible(1_000_000), 1414);
/// ```
pub trait Family {
    /// How many tasks there are; `None` if they never end.
    fn task_count(&self) -> Option<u64>;

    /// The level of a task, as its family's papers number them, and its place there, from 0.
    fn place(&self, task: u64) -> (u64, u64);

    /// The level of a task.
    fn level(&self, task: u64) -> u64 {
        self.place(task).0
    }

    /// The place of a task on its level.
    fn index(&self, task: u64) -> u64 {
        self.place(task).1
    }

    /// The tasks that `task` waits for, in increasing order.
    fn parents(&self, task: u64) -> impl Iterator<Item = u64>;

    /// The tasks that wait for `task`, in increasing order.
    fn children(&self, task: u64) -> impl Iterator<Item = u64>;

    /// The task that the order executes at this step, from 0. In the order of numbers, unless told otherwise.
    fn at(&self, step: u64) -> u64 {
        step
    }

    /// The step at which the order executes this task.
    fn step(&self, task: u64) -> u64 {
        task
    }

    /// How many tasks have no parents.
    fn source_count(&self) -> u64;

    /// The `k`-th of them, from 0, in the order. Where the order begins with them it is the task of that step.
    fn source(&self, k: u64) -> u64 {
        self.at(k)
    }

    /// The task at this place, if there is one. Found in O(log tasks) where numbers grow with the level, and along it.
    fn find(&self, level: u64, index: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.task_count().unwrap_or(ENDLESS));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.place(middle).cmp(&(level, index)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Every task once, parents first, with as many tasks eligible as possible after every step: IC-optimal. Holds a
    /// few numbers, whatever the size.
    fn order(&self) -> impl Iterator<Item = u64> {
        (0..self.task_count().unwrap_or(ENDLESS)).map(|step| self.at(step))
    }

    /// How many tasks are eligible after `steps` steps of an IC-optimal order: the most possible. 0 beyond the end.
    fn best_eligible(&self, steps: u64) -> u64;
}

/// Why a family has no such member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// More tasks than 64-bit numbers can name.
    #[error("more than 2^64 tasks: choose fewer levels")]
    TooLarge,
    /// A tree of arity 0 or 1 does not branch.
    #[error("a tree needs an arity of at least 2")]
    TooNarrow,
}
