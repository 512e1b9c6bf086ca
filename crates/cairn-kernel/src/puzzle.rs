//! A puzzle: choose so many tasks that the prizes they buy together are worth most. Knows not what they stand for.

use crate::Rows;

/// Tasks and the prizes that need some of them: a weighted bipartite graph.
///
/// A prize is gained once all tasks that it needs are chosen. A prize that needs one task is counted in `own`; a *shared*
/// prize needs at least two, and shared prizes with equal needs are one, with a weight.
///
/// ```
/// use cairn_kernel::{Puzzle, Rows};
/// let mut shared = Rows::default();
/// shared.push([0, 1]);
/// shared.push([0, 1]);
/// let puzzle = Puzzle::new(vec![1, 0], &shared);
/// assert_eq!((puzzle.shared(), puzzle.total()), (1, 3));
/// assert_eq!(puzzle.gains(&[1, 0]), [0, 0, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// By task: the prizes that need this task alone.
    pub own: Vec<u32>,
    /// By shared prize: how many it stands for.
    pub weight: Vec<u32>,
    needs: Rows,
    prizes: Rows,
}

impl Puzzle {
    /// From what each task gains alone, and the needs of the shared prizes, sorted. O(arcs·log arcs).
    pub fn new(own: Vec<u32>, shared: &Rows) -> Puzzle {
        let mut puzzle = Puzzle {
            own,
            weight: Vec::new(),
            needs: Rows::default(),
            prizes: Rows::default(),
        };
        if shared.is_empty() {
            return puzzle;
        }
        let row = |prize: u32| shared.row(prize as usize);
        let mut sorted: Vec<u32> = (0..shared.len() as u32).collect();
        sorted.sort_unstable_by(|&a, &b| row(a).cmp(row(b)));
        for run in sorted.chunk_by(|&a, &b| row(a) == row(b)) {
            puzzle.needs.push(row(run[0]).iter().copied());
            puzzle.weight.push(run.len() as u32);
        }
        puzzle.prizes = puzzle.needs.transposed(puzzle.len());
        puzzle
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// How many shared prizes there are, those with equal needs counted once.
    pub fn shared(&self) -> usize {
        self.weight.len()
    }

    /// The tasks that a shared prize needs, sorted.
    pub fn needs(&self, prize: u32) -> &[u32] {
        self.needs.row(prize as usize)
    }

    /// The shared prizes that need a task, sorted.
    pub fn prizes(&self, task: u32) -> &[u32] {
        if self.shared() == 0 {
            return &[];
        }
        self.prizes.row(task as usize)
    }

    /// How many needs the shared prizes have together.
    pub fn arcs(&self) -> usize {
        self.needs.items().len()
    }

    /// What all prizes are worth together.
    pub fn total(&self) -> u32 {
        self.own.iter().sum::<u32>() + self.weight.iter().sum::<u32>()
    }

    /// Whether every prize needs every task: nothing is gained before the last one.
    pub fn is_complete(&self) -> bool {
        let all_shared = |p: u32| self.needs(p).len() == self.len();
        self.len() == 1
            || (self.own.iter().all(|&x| x == 0) && (0..self.shared() as u32).all(all_shared))
    }

    /// Whether tasks and shared prizes form a tree.
    pub fn is_tree(&self) -> bool {
        self.arcs() + 1 == self.len() + self.shared()
    }

    /// Whether every task has at least two prizes of its own and no more shared ones than that: an expansive
    /// bipartite dag in the sense of \[MR05\].
    pub fn is_expansive(&self) -> bool {
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
    pub fn equal_shares(&self) -> Vec<u32> {
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
    pub fn gains(&self, order: &[u32]) -> Vec<u32> {
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
pub const SCALE: u64 = 5040;

/// What each of `needs` tasks gets of a prize, rounded up so that the sum is never less than the prize.
pub fn part(weight: u32, needs: usize) -> u64 {
    (u64::from(weight) * SCALE).div_ceil(needs as u64)
}
