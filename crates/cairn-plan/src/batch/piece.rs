//! Pieces of the eligible tasks that share prizes: each is bought on its own. Knows nothing of other pieces.

use super::state::BatchState;
use cairn_dag::TaskId;
use cairn_kernel::{Puzzle, Rows, ids, narrow};

ids! {
    /// A piece among those that a batch is chosen from. Its number is used again when it is gone.
    pub(super) PieceId,
}

/// Eligible tasks joined by prizes, and the puzzle which of them to choose, in which they are numbered as listed here.
#[derive(Clone, Debug)]
pub(super) struct BatchPiece {
    pub(super) tasks: Vec<TaskId>,
    pub(super) puzzle: Puzzle,
}

impl BatchPiece {
    /// Cuts out the piece of these tasks and the prizes that they share, each named once; `local` is scratch with one
    /// entry a task of the dag. O(arcs·log arcs), however many tasks a prize needs.
    pub(super) fn new(
        state: &BatchState<'_>,
        tasks: Vec<TaskId>,
        shared: &[TaskId],
        local: &mut [u32],
    ) -> BatchPiece {
        for (i, task) in tasks.iter().enumerate() {
            local[task.index()] = narrow(i);
        }
        let is_own = |prize: &TaskId| state.price(*prize) == 1;
        let own_of = |&task: &TaskId| narrow(state.prizes(task).filter(is_own).count());
        let own = tasks.iter().map(own_of).collect();
        let mut all = Rows::default();
        for &prize in shared {
            let needs = state.choosable_parents(prize);
            // Parents come by id, pieces are numbered by rank.
            all.push(needs.map(|p| local[p.index()])).sort_unstable();
        }
        BatchPiece {
            puzzle: Puzzle::new(own, &all),
            tasks,
        }
    }
}

/// How good a piece's offers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// The best for every number of tasks.
    Exact,
    /// At least half of the best for every number of tasks.
    Half,
    /// No guarantee beside the bound.
    Bounded,
}

/// What a piece offers: for each number of tasks the gain of a set that can be named, and a bound on any.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) gain: Vec<u32>,
    pub(super) upper: Vec<u32>,
    pub(super) grade: Grade,
    pub(super) sets: Sets,
}

/// How the sets behind an offer are found again.
#[derive(Clone, Debug)]
pub(super) enum Sets {
    /// The first so many of one order, or of another where the flag says that it gains more; both of them whole.
    Orders([Vec<u32>; 2], Vec<bool>),
    /// One list for each number of tasks; an empty one where the orders are as good.
    Lists(Vec<Vec<u32>>, Box<Sets>),
    /// By the tree program, run again.
    Tree,
}
