//! Batched scheduling: the best `r` eligible tasks for `r` requests (\[MR05\]). Knows no clock and no network.
//!
//! Which `r` tasks make most others eligible together? Tasks and the prizes they buy fall into connected pieces;
//! each piece offers a gain for every number of tasks, and the batch is shared among the offers. NP-hard in
//! general, so an answer says how good it is.

mod greedy;
mod knapsack;
mod look_ahead;
mod piece;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod unions;

pub use look_ahead::{Ahead, look_ahead};
pub use state::{BatchState, Standing, StateError};

use crate::decide::{Component, NONE};
use cairn_dag::TaskId;
use knapsack::Wares;
use piece::{Grade, Offer, Piece, Sets};

/// How good a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// No batch of this size makes more tasks eligible.
    Exact,
    /// The bound says how many more at the most.
    Gap,
    /// At least half as many as the best batch, and the bound may say more.
    Factor,
}

/// A chosen batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The tasks, best plan rank first: as many as asked for, or all eligible ones.
    pub chosen: Vec<TaskId>,
    /// How many tasks they make eligible together, when leased tasks are executed too.
    pub gain: usize,
    /// No batch of this size makes more eligible.
    pub bound: usize,
    /// What is proved.
    pub quality: Quality,
}

/// How much work a batch may cost.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Steps for solving pieces exactly, in one call; when they are used up, pieces are bought by current yield.
    pub steps: u64,
    /// Entries of the table that shares the batch exactly among pieces.
    pub table: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            steps: 20_000_000,
            table: 4_000_000,
        }
    }
}

impl Effort {
    /// No exact work at all: choose by current yield.
    pub fn fast() -> Effort {
        Effort { steps: 0, table: 0 }
    }
}

/// Chooses batches for one computation and remembers what it found out about pieces that have not changed.
#[derive(Clone, Debug)]
pub struct Batcher<'d> {
    state: BatchState<'d>,
    /// By task: its rank in the plan; smaller goes first.
    rank: Vec<u32>,
    /// By task: the piece it lies in, or `NONE`.
    piece_of: Vec<u32>,
    pieces: Vec<Option<Known>>,
    free: Vec<u32>,
    local: Vec<u32>,
}

/// A piece and its offer; the offer reaches up to `most` tasks.
#[derive(Clone, Debug)]
struct Known {
    piece: Piece,
    offer: Option<(Offer, usize)>,
    rank: u32,
}

impl<'d> Batcher<'d> {
    /// For a state and a plan: a topological order whose earlier tasks are preferred among equals.
    ///
    /// # Panics
    /// If `order` is not a permutation of the tasks.
    pub fn new(state: BatchState<'d>, order: &[TaskId]) -> Batcher<'d> {
        let tasks = state.dag().len();
        assert_eq!(order.len(), tasks, "an order names every task once");
        let mut rank = vec![u32::MAX; tasks];
        for (i, task) in order.iter().enumerate() {
            rank[task.index()] = i as u32;
        }
        let mut batcher = Batcher {
            state,
            rank,
            piece_of: vec![NONE; tasks],
            pieces: Vec::new(),
            free: Vec::new(),
            local: vec![NONE; tasks],
        };
        batcher.refresh();
        batcher
    }

    /// The state.
    pub fn state(&self) -> &BatchState<'d> {
        &self.state
    }

    /// The state, to lease, release and execute tasks.
    pub fn state_mut(&mut self) -> &mut BatchState<'d> {
        &mut self.state
    }

    /// The best batch of `requests` tasks, or of all eligible ones when there are fewer.
    ///
    /// Where the plan's own next tasks are as good as the best batch, they are taken. Pieces that did not change
    /// since the last call cost nothing but their place in the sharing.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// use cairn_plan::batch::{Batcher, BatchState, Effort};
    /// // 0 alone opens 3; 1 and 2 together open 4, 5 and 6.
    /// let arcs = vec![(0, 3), (1, 4), (2, 4), (1, 5), (2, 5), (1, 6), (2, 6)];
    /// let dag = Dag::from_arcs(7, arcs).unwrap();
    /// let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
    /// assert_eq!(batcher.choose(1, &Effort::default()).chosen, [TaskId(0)]);
    /// assert_eq!(batcher.choose(2, &Effort::default()).chosen, [TaskId(1), TaskId(2)]);
    /// ```
    pub fn choose(&mut self, requests: usize, effort: &Effort) -> Batch {
        self.refresh();
        let requests = requests.min(self.state.eligible().len());
        let planned = self.first_by_rank(requests);
        let planned_gain = self.state.yield_of(&planned);
        self.make_offers(requests, effort);
        let live: Vec<u32> = (0..self.pieces.len() as u32)
            .filter(|&i| self.pieces[i as usize].is_some())
            .collect();
        let wares: Vec<Wares<'_>> = live.iter().map(|&i| self.wares(i)).collect();
        let bought = knapsack::share(&wares, requests, effort.table);
        let grades: Vec<Grade> = live.iter().map(|&i| self.offer(i).grade).collect();
        let gain = planned_gain.max(bought.gain as usize);
        let bound = (bought.upper as usize).max(gain);
        let at_least_half = grades.iter().all(|&g| g <= Grade::Half);
        // Half of the best from every piece is half of the best sharing; and buying one task at a time by current
        // yield from expansive pieces alone is buying so from the one expansive dag that they form.
        let all_by_yield = grades.iter().all(|&g| g == Grade::Half);
        let quality = if gain == bound {
            Quality::Exact
        } else if at_least_half && (bought.is_exact_sharing || all_by_yield) {
            Quality::Factor
        } else {
            Quality::Gap
        };
        let chosen = if planned_gain >= bought.gain as usize {
            planned
        } else {
            self.collect(&live, &bought.shares, requests)
        };
        Batch {
            chosen,
            gain,
            bound,
            quality,
        }
    }

    fn known(&self, piece: u32) -> &Known {
        self.pieces[piece as usize].as_ref().expect("a live piece")
    }

    fn offer(&self, piece: u32) -> &Offer {
        let offer = self.known(piece).offer.as_ref();
        &offer.expect("offers were made").0
    }

    fn wares(&self, piece: u32) -> Wares<'_> {
        let offer = self.offer(piece);
        Wares {
            gain: &offer.gain,
            upper: &offer.upper,
            rank: self.known(piece).rank,
        }
    }

    /// The eligible tasks that come first in the plan.
    fn first_by_rank(&self, count: usize) -> Vec<TaskId> {
        let mut tasks = self.state.eligible().to_vec();
        self.keep_first(&mut tasks, count);
        tasks
    }

    fn keep_first(&self, tasks: &mut Vec<TaskId>, count: usize) {
        if count < tasks.len() && count > 0 {
            tasks.select_nth_unstable_by_key(count - 1, |t| self.rank[t.index()]);
        }
        tasks.truncate(count);
        tasks.sort_unstable_by_key(|t| self.rank[t.index()]);
    }

    /// The tasks behind the shares, filled up by what the plan likes best: tasks with children before sinks.
    fn collect(&self, live: &[u32], shares: &[usize], requests: usize) -> Vec<TaskId> {
        let mut chosen = Vec::with_capacity(requests);
        for (&i, &share) in live.iter().zip(shares) {
            if share == 0 {
                continue;
            }
            let piece = &self.known(i).piece;
            let local: Vec<u32> = match &self.offer(i).sets {
                Sets::Order(order) => order[..share].to_vec(),
                Sets::Lists(lists) => lists[share].clone(),
                Sets::Tree => tree::choose(piece, share),
            };
            chosen.extend(local.into_iter().map(|v| piece.tasks[v as usize]));
        }
        let mut is_chosen = vec![false; self.rank.len()];
        chosen
            .iter()
            .for_each(|t: &TaskId| is_chosen[t.index()] = true);
        let (mut sinks, mut others): (Vec<TaskId>, Vec<TaskId>) =
            (self.state.eligible().iter().copied())
                .filter(|t| !is_chosen[t.index()])
                .partition(|&t| self.state.dag().is_sink(t));
        self.keep_first(&mut others, requests - chosen.len());
        chosen.extend(others);
        self.keep_first(&mut sinks, requests - chosen.len());
        chosen.extend(sinks);
        chosen.sort_unstable_by_key(|t| self.rank[t.index()]);
        chosen
    }

    /// Takes apart the pieces around changed tasks and puts them together anew.
    fn refresh(&mut self) {
        let mut loose: Vec<TaskId> = Vec::new();
        for task in self.state.take_touched() {
            match self.piece_of[task.index()] {
                NONE => loose.push(task),
                i => self.dissolve(i, &mut loose),
            }
        }
        loose.sort_unstable();
        loose.dedup();
        loose.retain(|&t| self.state.standing(t) == Standing::Eligible);
        for start in loose {
            if self.piece_of[start.index()] != NONE || self.state.prizes(start).next().is_none() {
                continue;
            }
            self.gather(start);
        }
    }

    fn dissolve(&mut self, piece: u32, loose: &mut Vec<TaskId>) {
        let known = self.pieces[piece as usize].take().expect("a live piece");
        self.free.push(piece);
        for task in known.piece.tasks {
            self.piece_of[task.index()] = NONE;
            loose.push(task);
        }
    }

    /// The piece of everything joined to `start` by prizes.
    fn gather(&mut self, start: TaskId) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.pieces.push(None);
            self.pieces.len() as u32 - 1
        });
        self.piece_of[start.index()] = number;
        let mut tasks = vec![start];
        let mut next = 0;
        while next < tasks.len() {
            let task = tasks[next];
            next += 1;
            for prize in self.state.prizes(task) {
                for parent in self.state.choosable_parents(prize) {
                    if self.piece_of[parent.index()] == NONE {
                        self.piece_of[parent.index()] = number;
                        tasks.push(parent);
                    }
                }
            }
        }
        // Numbered by plan rank, so that ties inside a piece follow the plan.
        tasks.sort_unstable_by_key(|t| self.rank[t.index()]);
        self.pieces[number as usize] = Some(Known {
            rank: self.rank[tasks[0].index()],
            piece: Piece::new(&self.state, tasks, &mut self.local),
            offer: None,
        });
    }

    /// Makes sure that every piece has an offer up to `most` tasks.
    fn make_offers(&mut self, most: usize, effort: &Effort) {
        let mut left = effort.steps;
        // Room to grow, so that a slightly larger request does not start over.
        let reach = most.next_power_of_two();
        for known in self.pieces.iter_mut().flatten() {
            let enough = |reached: usize| reached >= most.min(known.piece.len());
            let weak = |offer: &Offer| offer.grade != Grade::Exact && effort.steps > 0;
            match &known.offer {
                Some((offer, reached)) if enough(*reached) && !weak(offer) => {}
                _ => {
                    let offer = make_offer(&known.piece, reach.min(known.piece.len()), &mut left);
                    known.offer = Some((offer, reach.min(known.piece.len())));
                }
            }
        }
    }
}

/// The best offer that the steps left allow.
fn make_offer(piece: &Piece, most: usize, left: &mut u64) -> Offer {
    let exact = |gain: Vec<u32>, sets: Sets| Offer {
        upper: gain.clone(),
        gain,
        grade: Grade::Exact,
        sets,
    };
    if piece.is_complete() {
        let mut gain = vec![0; most + 1];
        if most == piece.len() {
            gain[most] = piece.total();
        }
        return exact(gain, Sets::Order((0..piece.len() as u32).collect()));
    }
    let mut afford = |cost: u64| {
        let affordable = cost <= *left;
        *left -= if affordable { cost } else { 0 };
        affordable
    };
    if piece.is_tree() && afford(tree::cost(piece, most)) {
        return exact(tree::profile(piece, most), Sets::Tree);
    }
    if piece.len() <= 64 && !piece.is_tree() {
        const STATES: u64 = 200_000;
        let states = STATES.min(1 << piece.needs.len().min(40));
        if afford(states)
            && let Some((gain, lists)) = unions::solve(piece, most, states as usize)
        {
            return exact(gain, Sets::Lists(lists));
        }
    }
    let order = greedy::order(piece);
    let mut gain = greedy::gains(piece, &order);
    gain.truncate(most + 1);
    let mut upper = bound(piece);
    upper.truncate(most + 1);
    let grade = match () {
        () if gain == upper => Grade::Exact,
        () if piece.is_expansive() => Grade::Half,
        () => Grade::Bounded,
    };
    Offer {
        gain,
        upper,
        grade,
        sets: Sets::Order(order),
    }
}

/// A bound on what any number of tasks of the piece gains.
fn bound(piece: &Piece) -> Vec<u32> {
    let component = Component::new(&piece.needs, piece.weight.clone(), vec![NONE; piece.len()]);
    crate::decide::shared_weights(&component)
}
