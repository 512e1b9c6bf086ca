//! Pieces of the eligible tasks that share prizes: each is bought on its own. Knows nothing of other pieces.

use super::state::BatchState;
use cairn_dag::TaskId;

/// Eligible tasks joined by prizes, with their own numbering: a connected bipartite dag in compressed rows.
///
/// A prize that needs one task is counted in `own`; a *shared* prize needs at least two, and shared prizes with equal
/// needs are one, with a weight.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) tasks: Vec<TaskId>,
    /// By local number: the prizes that need this task alone.
    pub(super) own: Vec<u32>,
    /// By shared prize: how many tasks of the dag it stands for.
    pub(super) weight: Vec<u32>,
    needs: Rows,
    prizes: Rows,
}

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default)]
struct Rows {
    end: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    fn row(&self, i: u32) -> &[u32] {
        let i = i as usize;
        let start = if i == 0 { 0 } else { self.end[i - 1] as usize };
        &self.items[start..self.end[i] as usize]
    }
}

impl Piece {
    /// Cuts out the piece of these tasks and the prizes that they share, each named once; `local` is scratch with one
    /// entry a task of the dag. O(arcs·log arcs), however many tasks a prize needs.
    pub(super) fn new(
        state: &BatchState<'_>,
        tasks: Vec<TaskId>,
        shared: &[TaskId],
        local: &mut [u32],
    ) -> Piece {
        for (i, task) in tasks.iter().enumerate() {
            local[task.index()] = i as u32;
        }
        let is_own = |prize: &TaskId| state.price(*prize) == 1;
        let own_of = |&task: &TaskId| state.prizes(task).filter(is_own).count() as u32;
        let own = tasks.iter().map(own_of).collect();
        let mut all = Rows::default();
        for &prize in shared {
            let start = all.items.len();
            let needs = state.choosable_parents(prize);
            all.items.extend(needs.map(|p| local[p.index()]));
            all.items[start..].sort_unstable();
            all.end.push(all.items.len() as u32);
        }
        Piece::from_rows(tasks, own, &all)
    }

    /// From the tasks, what each gains alone, and the needs of the shared prizes.
    fn from_rows(tasks: Vec<TaskId>, own: Vec<u32>, all: &Rows) -> Piece {
        let mut piece = Piece {
            tasks,
            own,
            weight: Vec::new(),
            needs: Rows::default(),
            prizes: Rows::default(),
        };
        if all.end.is_empty() {
            return piece;
        }
        let mut sorted: Vec<u32> = (0..all.end.len() as u32).collect();
        sorted.sort_unstable_by(|&a, &b| all.row(a).cmp(all.row(b)));
        for run in sorted.chunk_by(|&a, &b| all.row(a) == all.row(b)) {
            piece.needs.items.extend(all.row(run[0]));
            piece.needs.end.push(piece.needs.items.len() as u32);
            piece.weight.push(run.len() as u32);
        }
        piece.prizes = transpose(&piece.needs, piece.len());
        piece
    }

    /// A piece from the needs of its prizes, for tests.
    #[cfg(test)]
    pub(super) fn from_needs(own: Vec<u32>, shared: &[Vec<u32>]) -> Piece {
        let mut all = Rows::default();
        for needs in shared {
            all.items.extend(needs);
            all.end.push(all.items.len() as u32);
        }
        let tasks = (0..own.len() as u32).map(TaskId).collect();
        Piece::from_rows(tasks, own, &all)
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// How many shared prizes there are, those with equal needs counted once.
    pub(super) fn shared(&self) -> usize {
        self.weight.len()
    }

    /// The tasks that a shared prize needs, sorted.
    pub(super) fn needs(&self, prize: u32) -> &[u32] {
        self.needs.row(prize)
    }

    /// The shared prizes that need a task, sorted.
    pub(super) fn prizes(&self, task: u32) -> &[u32] {
        if self.shared() == 0 {
            return &[];
        }
        self.prizes.row(task)
    }

    pub(super) fn arcs(&self) -> usize {
        self.needs.items.len()
    }

    pub(super) fn total(&self) -> u32 {
        self.own.iter().sum::<u32>() + self.weight.iter().sum::<u32>()
    }

    /// Whether every prize needs every task: nothing is gained before the last one.
    pub(super) fn is_complete(&self) -> bool {
        let all_shared = |p: u32| self.needs(p).len() == self.len();
        self.len() == 1
            || (self.own.iter().all(|&x| x == 0) && (0..self.shared() as u32).all(all_shared))
    }

    /// Whether tasks and shared prizes form a tree.
    pub(super) fn is_tree(&self) -> bool {
        self.arcs() + 1 == self.len() + self.shared()
    }

    /// Whether every task has at least two prizes of its own and no more shared ones than that: an expansive
    /// bipartite dag in the sense of \[MR05\].
    pub(super) fn is_expansive(&self) -> bool {
        (0..self.len() as u32).all(|v| {
            let shared: u32 = (self.prizes(v).iter())
                .map(|&p| self.weight[p as usize])
                .sum();
            let own = self.own[v as usize];
            own >= 2 && shared <= own
        })
    }

    /// A bound on what any number of tasks gains: each prize's weight is shared equally among the tasks it needs, so
    /// that t tasks gain at most the t largest sums of shares. O(arcs + tasks·log tasks).
    pub(super) fn equal_shares(&self) -> Vec<u32> {
        let mut share: Vec<u64> = self.own.iter().map(|&x| u64::from(x) * SCALE).collect();
        for p in 0..self.shared() as u32 {
            let needs = self.needs(p);
            let part = part(self.weight[p as usize], needs.len());
            needs.iter().for_each(|&v| share[v as usize] += part);
        }
        share.sort_unstable_by(|a, b| b.cmp(a));
        let total = u64::from(self.total());
        let mut sum = 0;
        let sums = share.into_iter().map(|s| {
            sum += s;
            (sum / SCALE).min(total) as u32
        });
        [0].into_iter().chain(sums).collect()
    }

    /// What each prefix of an order of tasks gains.
    pub(super) fn gains(&self, order: &[u32]) -> Vec<u32> {
        let mut lacking: Vec<u32> = (0..self.shared() as u32)
            .map(|p| self.needs(p).len() as u32)
            .collect();
        let mut gained = 0;
        let mut out = Vec::with_capacity(order.len() + 1);
        out.push(0);
        for &v in order {
            gained += self.own[v as usize];
            for &p in self.prizes(v) {
                lacking[p as usize] -= 1;
                if lacking[p as usize] == 0 {
                    gained += self.weight[p as usize];
                }
            }
            out.push(gained);
        }
        out
    }
}

/// Shares of prizes are counted in parts of this size: divisible by all small numbers.
pub(super) const SCALE: u64 = 5040;

/// What each of `needs` tasks gets of a prize, rounded up so that the sum is never less than the prize.
pub(super) fn part(weight: u32, needs: usize) -> u64 {
    (u64::from(weight) * SCALE).div_ceil(needs as u64)
}

/// By task: the prizes that need it.
fn transpose(needs: &Rows, tasks: usize) -> Rows {
    let mut end = vec![0u32; tasks];
    needs.items.iter().for_each(|&v| end[v as usize] += 1);
    let mut sum = 0;
    for slot in &mut end {
        // First the start of each row; filling it moves that to its end.
        (*slot, sum) = (sum, sum + *slot);
    }
    let mut items = vec![0; needs.items.len()];
    for p in 0..needs.end.len() as u32 {
        for &v in needs.row(p) {
            items[end[v as usize] as usize] = p;
            end[v as usize] += 1;
        }
    }
    Rows { end, items }
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
