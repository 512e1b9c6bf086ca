//! Pieces of the eligible tasks that share prizes: each is bought on its own. Knows nothing of other pieces.

use super::state::BatchState;
use cairn_dag::TaskId;

/// Eligible tasks joined by prizes, with their own numbering: a connected bipartite dag.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) tasks: Vec<TaskId>,
    /// Prizes with equal needs are one, with a weight. Needs are sorted local numbers.
    pub(super) needs: Vec<Vec<u32>>,
    pub(super) weight: Vec<u32>,
    /// By local number: the prizes that need it.
    pub(super) prizes: Vec<Vec<u32>>,
}

impl Piece {
    /// Cuts out the piece of these tasks; `local` is scratch with one entry a task of the dag.
    pub(super) fn new(state: &BatchState<'_>, tasks: Vec<TaskId>, local: &mut [u32]) -> Piece {
        for (i, task) in tasks.iter().enumerate() {
            local[task.index()] = i as u32;
        }
        let mut all: Vec<Vec<u32>> = Vec::new();
        for (i, &task) in tasks.iter().enumerate() {
            for prize in state.prizes(task) {
                let mut needs: Vec<u32> = (state.choosable_parents(prize))
                    .map(|p| local[p.index()])
                    .collect();
                needs.sort_unstable();
                if needs[0] == i as u32 {
                    all.push(needs);
                }
            }
        }
        all.sort_unstable();
        let mut piece = Piece {
            prizes: vec![Vec::new(); tasks.len()],
            tasks,
            needs: Vec::new(),
            weight: Vec::new(),
        };
        for run in all.chunk_by(|a, b| a == b) {
            let number = piece.needs.len() as u32;
            run[0]
                .iter()
                .for_each(|&v| piece.prizes[v as usize].push(number));
            piece.needs.push(run[0].clone());
            piece.weight.push(run.len() as u32);
        }
        piece
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn total(&self) -> u32 {
        self.weight.iter().sum()
    }

    /// Whether every prize needs every task: nothing is gained before the last one.
    pub(super) fn is_complete(&self) -> bool {
        self.needs.iter().all(|n| n.len() == self.len())
    }

    /// Whether tasks and prizes form a tree.
    pub(super) fn is_tree(&self) -> bool {
        let arcs: usize = self.needs.iter().map(Vec::len).sum();
        arcs + 1 == self.len() + self.needs.len()
    }

    /// Whether every task has at least two prizes of its own and no more shared ones than that: an expansive
    /// bipartite dag in the sense of \[MR05\].
    pub(super) fn is_expansive(&self) -> bool {
        self.prizes.iter().all(|prizes| {
            let weigh = |own: bool| -> u32 {
                let of_kind =
                    (prizes.iter()).filter(|&&p| (self.needs[p as usize].len() == 1) == own);
                of_kind.map(|&p| self.weight[p as usize]).sum()
            };
            weigh(true) >= 2 && weigh(false) <= weigh(true)
        })
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
    /// The first so many of this order.
    Order(Vec<u32>),
    /// One list for each number of tasks.
    Lists(Vec<Vec<u32>>),
    /// By the tree program, run again.
    Tree,
}
