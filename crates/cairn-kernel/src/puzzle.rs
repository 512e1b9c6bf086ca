//! A puzzle: choose so many tasks that the prizes they buy together are worth most. Knows not what they stand for.

use crate::{Id, Rows, completed, long, narrow, wide};

/// Tasks and the prizes that need some of them: a weighted bipartite graph, with or without gates.
///
/// A prize is gained once all tasks that it needs are chosen. Prizes with equal needs are one, with a weight. In a puzzle
/// without gates a prize that needs one task is counted in `own`, and a *shared* prize needs at least two. A *gate* is a
/// prize that must be gained before a task may be chosen; where there are gates, every prize has a number of its own.
///
/// ```
/// use cairn_kernel::{Puzzle, Rows};
/// let mut shared = Rows::default();
/// shared.push([0, 1]);
/// shared.push([0, 1]);
/// let puzzle = Puzzle::new(vec![1, 0], &shared);
/// assert_eq!((puzzle.shared(), puzzle.total()), (1, 3));
/// assert_eq!(puzzle.gains(&[1, 0]), Some(vec![0, 0, 3]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Puzzle<T = u32, P = u32> {
    /// By task: the prizes that need this task alone and have no number.
    pub own: Vec<u32>,
    /// By shared prize: how many it stands for.
    pub weight: Vec<u32>,
    needs: Rows<T>,
    prizes: Rows<P>,
    /// By task; nothing at all without gates.
    gate: Vec<Option<P>>,
}

impl Puzzle {
    /// From what each task gains alone, and the needs of the shared prizes, sorted. O(arcs·log arcs).
    pub fn new(own: Vec<u32>, shared: &Rows) -> Puzzle {
        let mut puzzle = Puzzle {
            own,
            weight: Vec::new(),
            needs: Rows::default(),
            prizes: Rows::default(),
            gate: Vec::new(),
        };
        if shared.is_empty() {
            return puzzle;
        }
        let row = |prize: u32| shared.row(wide(prize));
        let mut sorted: Vec<u32> = (0..narrow(shared.len())).collect();
        sorted.sort_unstable_by(|&a, &b| row(a).cmp(row(b)));
        // Equal needs stand side by side once sorted: they are gained together, so one prize with a weight will do.
        for run in sorted.chunk_by(|&a, &b| row(a) == row(b)) {
            puzzle.needs.push(row(run[0]).iter().copied());
            puzzle.weight.push(narrow(run.len()));
        }
        puzzle.prizes = puzzle.needs.transposed(puzzle.len());
        puzzle
    }
}

impl<T: Id, P: Id> Puzzle<T, P> {
    /// From the needs of every prize (sorted), its weight, and the gate of each task, if any. Linear.
    ///
    /// # Panics
    /// If lengths differ or a number is out of range.
    pub fn gated(needs: Rows<T>, weight: Vec<u32>, gate: Vec<Option<P>>) -> Puzzle<T, P> {
        assert_eq!(needs.len(), weight.len(), "a weight for each prize");
        let exists = |p: &P| p.index() < weight.len();
        assert!(gate.iter().flatten().all(exists), "gates exist");
        Puzzle {
            own: vec![0; gate.len()],
            prizes: needs.transposed(gate.len()),
            weight,
            needs,
            gate,
        }
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
    #[inline]
    pub fn needs(&self, prize: P) -> &[T] {
        self.needs.row(prize.index())
    }

    /// By shared prize: how many tasks it needs, to be counted down.
    pub fn needs_left(&self) -> Vec<u32> {
        self.needs.lengths().collect()
    }

    /// The shared prizes that need a task, sorted.
    #[inline]
    pub fn prizes(&self, task: T) -> &[P] {
        // Without shared prizes there are no rows either.
        if self.shared() == 0 {
            return &[];
        }
        self.prizes.row(task.index())
    }

    /// The prize that must be gained before a task may be chosen.
    #[inline]
    pub fn gate(&self, task: T) -> Option<P> {
        self.gate.get(task.index()).copied().flatten()
    }

    /// By shared prize: the tasks that wait for it; no row at all in a puzzle made without gates.
    pub fn behind(&self) -> Rows<T> {
        if self.gate.is_empty() {
            return Rows::default();
        }
        let gates = self.gate.iter().enumerate();
        let waiting = gates.filter_map(|(v, gate)| gate.map(|p| (p, T::new(v))));
        Rows::by_row(self.shared(), waiting)
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
        let all_shared = |row: &[T]| row.len() == self.len();
        // A single task gains all that there is, its own prizes too.
        self.len() == 1 || (self.own.iter().all(|&x| x == 0) && self.needs.iter().all(all_shared))
    }

    /// Whether tasks and shared prizes form a tree. Asked of connected puzzles without gates.
    pub fn is_tree(&self) -> bool {
        // Connected with one edge less than vertices.
        self.arcs() + 1 == self.len() + self.shared()
    }

    /// Whether every task has at least two prizes of its own and no more shared ones than that: an expansive
    /// bipartite dag in the sense of \[MR05\].
    pub fn is_expansive(&self) -> bool {
        self.own.iter().enumerate().all(|(v, &own)| {
            let shared: u32 = (self.prizes(T::new(v)).iter())
                .map(|p| self.weight[p.index()])
                .sum();
            own >= 2 && shared <= own
        })
    }

    /// A bound on what any number of tasks gains: each prize's weight is shared equally among the tasks it needs, so
    /// that t tasks gain at most the t largest sums of shares. Gates only make it less. O(arcs + tasks·log tasks).
    pub fn equal_shares(&self) -> Vec<u32> {
        let mut shares: Vec<u64> = self.own.iter().map(|&x| u64::from(x) * SCALE).collect();
        for (needs, &weight) in self.needs.iter().zip(&self.weight) {
            // Whoever gains a prize has all its needs among the chosen, hence all its parts: sums of parts never fall
            // short of gains.
            let part = part(weight, needs.len());
            needs.iter().for_each(|v| shares[v.index()] += part);
        }
        largest_shares(shares, self.total())
    }

    /// Its joins, to be walked along.
    pub fn joins(&self) -> Joins<'_, T, P> {
        Joins {
            needs: &self.needs,
            prizes: &self.prizes,
            gate: &self.gate,
        }
    }

    /// What each prefix of an order of some tasks gains; `None` if a task comes twice or before its gate. Linear.
    pub fn gains(&self, order: &[T]) -> Option<Vec<u32>> {
        let mut gained = 0;
        let mut out = Vec::with_capacity(order.len() + 1);
        out.push(0);
        let is_order = self.joins().walk(order, |v, prize| match prize {
            Some(p) => gained += self.weight[p.index()],
            None => {
                gained += self.own[v.index()];
                out.push(gained);
            }
        });
        is_order.then_some(out)
    }
}

/// Which tasks need which prizes, in both directions, and the gates: one puzzle or many side by side.
pub struct Joins<'a, T, P> {
    /// By prize: the tasks that it needs.
    pub needs: &'a Rows<T>,
    /// By task: the prizes that need it.
    pub prizes: &'a Rows<P>,
    /// By task: the prize that it waits for; nothing at all without gates.
    pub gate: &'a [Option<P>],
}

impl<T: Id, P: Id> Joins<'_, T, P> {
    /// Chooses tasks in order, and reports the prizes that each completes, then `None`. Whether each came once and behind an open
    /// gate: it ends at one that did not. Linear.
    pub fn walk(&self, order: &[T], mut report: impl FnMut(T, Option<P>)) -> bool {
        let mut lacking: Vec<u32> = self.needs.lengths().collect();
        let tasks = order.iter().map(|v| v.index() + 1).max();
        let mut is_chosen = vec![false; tasks.unwrap_or(0)];
        for &v in order {
            let gate = self.gate.get(v.index()).copied().flatten();
            let is_open = gate.is_none_or(|gate| lacking[gate.index()] == 0);
            if !is_open || std::mem::replace(&mut is_chosen[v.index()], true) {
                return false;
            }
            // Without prizes there are no rows of them either.
            if !lacking.is_empty() {
                let prizes = self.prizes.row(v.index()).iter().copied();
                completed(prizes, &mut lacking).for_each(|p| report(v, Some(p)));
            }
            report(v, None);
        }
        true
    }
}

/// Shares of prizes are counted in so many parts: of 2³¹ prizes, the sum still fits in 64 bits.
pub const SCALE: u64 = 1 << 28;

/// What each of `needs` tasks gets of a prize, rounded up so that the sum is never less than the prize.
pub fn part(weight: u32, needs: usize) -> u64 {
    (u64::from(weight) * SCALE).div_ceil(long(needs))
}

/// What the t largest shares add up to in whole prizes, for every t, and never more than `total`.
pub fn largest_shares(mut shares: Vec<u64>, total: u32) -> Vec<u32> {
    shares.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    let sums = shares.into_iter().map(|share| {
        sum += share;
        (sum / SCALE).min(u64::from(total)) as u32
    });
    [0].into_iter().chain(sums).collect()
}
