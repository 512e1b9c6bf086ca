//! Batched scheduling: the best `r` eligible tasks for `r` requests (\[MR05\]). Knows no clock and no network.
//!
//! Which `r` tasks make most others eligible together? Tasks and the prizes they buy fall into connected pieces;
//! each piece offers a gain for every number of tasks, and the batch is shared among the offers. NP-hard in
//! general, so an answer says how good it is.

mod greedy;
mod line_up;
mod look_ahead;
mod offer;
mod one_step;
mod piece;
mod search;
mod share;
mod state;
mod stock;
#[cfg(test)]
mod tests;

pub use look_ahead::{Ahead, look_ahead};
pub use state::BatchState;

use crate::budgets::batch::{MOST_PICKED, THOROUGH, USUAL};
use cairn_dag::TaskId;
use cairn_kernel::{NONE, Puzzle, Work, long, narrow, wide};
use cairn_theory::game::Standing;
use offer::Asked;
use piece::{BatchPiece, Grade, PieceId, Sets};
use share::share;
use std::collections::BTreeSet;
use stock::{LotId, Stock, View};

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

impl Quality {
    /// The word for it in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Quality::Exact => "exact",
            Quality::Gap => "gap",
            Quality::Factor => "factor",
        }
    }
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
pub struct BatchEffort {
    /// Steps for solving pieces exactly, in one call; when they are used up, pieces are bought by current yield.
    pub steps: u64,
    /// Entries of the table that shares the batch exactly among pieces.
    pub table: usize,
}

impl Default for BatchEffort {
    /// Some tenths of a second at the worst.
    fn default() -> BatchEffort {
        USUAL
    }
}

impl BatchEffort {
    /// No exact work at all: choose by current yield.
    pub fn fast() -> BatchEffort {
        BatchEffort { steps: 0, table: 0 }
    }

    /// A hundred times as many steps, for pieces that are hard.
    pub fn thorough() -> BatchEffort {
        THOROUGH
    }
}

/// Chooses batches for one computation and remembers what it found out about pieces that have not changed.
///
/// A call costs O(r·log r) steps for r requests, and what the pieces cost that changed since the last one.
#[derive(Clone, Debug)]
pub struct Batcher<'d> {
    state: BatchState<'d>,
    /// By task: its rank in the plan; smaller goes first. And the task of each rank.
    rank: Vec<u32>,
    task_at: Vec<TaskId>,
    /// Ranks of the eligible tasks: those with children, and sinks.
    waiting: [BTreeSet<u32>; 2],
    /// By task: the piece it lies in.
    piece_of: Vec<Option<PieceId>>,
    pieces: Vec<Option<Stocked>>,
    free: Vec<PieceId>,
    /// Pieces without an offer; with one that does not reach to all their tasks; with one that more work could make better.
    fresh: Vec<PieceId>,
    short: BTreeSet<PieceId>,
    weak: BTreeSet<PieceId>,
    stock: Stock,
    /// Scratch by task: the number of an eligible one in its piece; [`NONE`] for prizes.
    local: Vec<u32>,
}

/// A piece with what is known of it.
#[derive(Clone, Debug)]
struct Stocked {
    piece: BatchPiece,
    rank: u32,
    offer: Option<Offered>,
}

/// Where the numbers of an offer are, and the sets behind them.
#[derive(Clone, Debug)]
struct Offered {
    lot: LotId,
    sets: Sets,
    asked: Asked,
    /// Sets that were asked for before, by number of tasks.
    picked: Vec<(u32, Vec<u32>)>,
}

impl<'d> Batcher<'d> {
    /// For a state and a plan: a topological order whose earlier tasks are preferred among equals.
    ///
    /// # Panics
    /// If `order` is not a permutation of the tasks.
    pub fn new(state: BatchState<'d>, order: &[TaskId]) -> Batcher<'d> {
        let tasks = state.dag().len();
        assert_eq!(order.len(), tasks, "an order names every task once");
        let mut rank = vec![NONE; tasks];
        for (i, task) in order.iter().enumerate() {
            rank[task.index()] = narrow(i);
        }
        assert!(!rank.contains(&NONE), "an order names every task once");
        let mut batcher = Batcher {
            state,
            rank,
            task_at: order.to_vec(),
            waiting: Default::default(),
            piece_of: vec![None; tasks],
            pieces: Vec::new(),
            free: Vec::new(),
            fresh: Vec::new(),
            short: BTreeSet::new(),
            weak: BTreeSet::new(),
            stock: Stock::default(),
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

    /// The best batch of `requests` tasks, or of all eligible ones when there are fewer. Nobody says stop:
    /// [`Batcher::choose_until`] can be told to.
    ///
    /// Where the plan's own next tasks are as good as the best batch, they are taken. Pieces that did not change
    /// since the last call cost nothing. The best batch is NP-hard to find (\[MR05\], Theorem 3.1): beside O(r·log r) for r requests and
    /// O(arcs·log tasks) for the pieces that changed, a call costs at most the steps of the effort, and says how good it is.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// use cairn_plan::batch::{Batcher, BatchState, BatchEffort};
    /// // 0 alone opens 3; 1 and 2 together open 4, 5 and 6.
    /// let arcs = vec![(0, 3), (1, 4), (2, 4), (1, 5), (2, 5), (1, 6), (2, 6)];
    /// let dag = Dag::from_arcs(7, arcs).unwrap();
    /// let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
    /// assert_eq!(batcher.choose(1, &BatchEffort::default()).chosen, [TaskId(0)]);
    /// assert_eq!(batcher.choose(2, &BatchEffort::default()).chosen, [TaskId(1), TaskId(2)]);
    /// ```
    pub fn choose(&mut self, requests: usize, effort: &BatchEffort) -> Batch {
        self.choose_until(requests, effort, &mut Work::unlimited())
    }

    /// [`Batcher::choose`] until `work` is told to stop; its steps are those of the effort. Then what is not known of the pieces yet is bought by current yield, and
    /// the bound says less. A later call makes that good.
    pub fn choose_until(
        &mut self,
        requests: usize,
        effort: &BatchEffort,
        work: &mut Work<'_>,
    ) -> Batch {
        self.refresh();
        let table = || work.part(long(effort.table));
        let mut work = work.part(effort.steps);
        let requests = requests.min(self.state.eligible().len());
        let planned = self.first_by_rank(requests);
        let planned_gain = self.state.yield_of(&planned);
        self.make_offers(requests, effort, &mut work);
        let bought = share(&self.stock, View::Gain, requests, &mut table());
        // Equal gains go to the plan, whose order was made for what follows.
        let (chosen, gain) = if planned_gain >= bought.value as usize {
            (planned, planned_gain)
        } else {
            let chosen = self.collect(&bought, requests, &work);
            // What fills the batch up may gain something by luck.
            let gain = self.state.yield_of(&chosen);
            // Less than was bought only where it was time to stop before all sets were found.
            if gain < planned_gain {
                (planned, planned_gain)
            } else {
                (chosen, gain)
            }
        };
        // Where every gain is exact, what no set can beat is the gain itself: one sharing does for both.
        let bound = if self.stock.is_all(Grade::Exact) {
            bought.bound
        } else {
            share(&self.stock, View::Upper, requests, &mut table()).bound
        };
        let bound = (bound as usize).max(gain);
        // Half of the best from every piece is half of the best sharing; and where the best sharing is not known, one
        // task at a time by current yield was tried: from expansive pieces alone that is buying so from the one
        // expansive dag that they form.
        let is_half = gain as u64 >= bought.value
            && (self.stock.is_all(Grade::Half)
                || (self.stock.is_at_least(Grade::Half) && bought.is_best()));
        let quality = match () {
            () if gain == bound => Quality::Exact,
            () if is_half || 2 * gain >= bound => Quality::Factor,
            () => Quality::Gap,
        };
        Batch {
            chosen,
            gain,
            bound,
            quality,
        }
    }

    /// The eligible tasks that come first in the plan.
    fn first_by_rank(&self, count: usize) -> Vec<TaskId> {
        let [inner, sinks] = &self.waiting;
        let mut ranks: Vec<u32> = inner.iter().take(count).copied().collect();
        ranks.extend(sinks.iter().take(count));
        ranks.sort_unstable();
        ranks.truncate(count);
        ranks.iter().map(|&r| self.task_at[wide(r)]).collect()
    }

    /// The tasks behind the shares, filled up by what the plan likes best: tasks with children before sinks.
    fn collect(&mut self, bought: &share::Bought, requests: usize, work: &Work<'_>) -> Vec<TaskId> {
        let mut ranks: Vec<u32> = Vec::with_capacity(requests);
        for (&lot, runs) in &bought.shares {
            // The larger shares to the pieces that come first in the plan.
            let mut members = self.stock.lot(lot).members.values();
            for (&share, &pieces) in runs.iter().rev() {
                for &number in members.by_ref().take(wide(pieces)) {
                    let stocked = self.pieces[number.index()].as_mut();
                    let stocked = stocked.expect("a live piece");
                    let Stocked { piece, offer, .. } = stocked;
                    let offered = offer.as_mut().expect("offers were made");
                    // Without its set when it is time to stop: the batch is then filled up below.
                    let set = offered.pick(&piece.puzzle, share, work).unwrap_or_default();
                    let rank = |&v: &u32| self.rank[piece.tasks[wide(v)].index()];
                    ranks.extend(set.iter().map(rank));
                }
            }
        }
        ranks.sort_unstable();
        let bought = ranks.len();
        // Tasks with children first: a sink makes nothing eligible, now or later.
        for waiting in &self.waiting {
            let more = (waiting.iter()).filter(|&r| ranks[..bought].binary_search(r).is_err());
            let more: Vec<u32> = more.take(requests - ranks.len()).copied().collect();
            ranks.extend(more);
        }
        ranks.sort_unstable();
        ranks.iter().map(|&r| self.task_at[wide(r)]).collect()
    }

    /// Takes apart the pieces around changed tasks and puts them together anew.
    fn refresh(&mut self) {
        let mut loose = self.state.take_touched();
        self.update_waiting(&loose);
        // By index: dissolving a piece appends its tasks, which need not be looked at as they have no piece any more.
        for i in 0..loose.len() {
            if let Some(piece) = self.piece_of[loose[i].index()] {
                self.dissolve(piece, &mut loose);
            }
        }
        for start in loose {
            let is_loose = self.state.standing(start) == Standing::Eligible
                && self.piece_of[start.index()].is_none();
            if is_loose && self.state.prizes(start).next().is_some() {
                self.gather(start);
            }
        }
    }

    fn update_waiting(&mut self, changed: &[TaskId]) {
        let (state, rank) = (&self.state, &self.rank);
        let (dag, eligible) = (state.dag(), state.eligible());
        // Building both sets anew is cheaper than so many changes to them.
        if changed.len() > eligible.len() / 4 {
            self.waiting = [false, true].map(|sinks| {
                let kind = eligible.iter().filter(|&&t| dag.is_sink(t) == sinks);
                kind.map(|t| rank[t.index()]).collect()
            });
            return;
        }
        for &task in changed {
            let waiting = &mut self.waiting[usize::from(dag.is_sink(task))];
            if state.standing(task) == Standing::Eligible {
                waiting.insert(rank[task.index()]);
            } else {
                waiting.remove(&rank[task.index()]);
            }
        }
    }

    fn dissolve(&mut self, number: PieceId, loose: &mut Vec<TaskId>) {
        let stocked = self.pieces[number.index()].take().expect("a live piece");
        if let Some(offered) = stocked.offer {
            self.stock.take(offered.lot, stocked.rank);
        }
        self.short.remove(&number);
        self.weak.remove(&number);
        self.free.push(number);
        for task in stocked.piece.tasks {
            self.piece_of[task.index()] = None;
            loose.push(task);
        }
    }

    /// The piece of everything joined to `start` by prizes.
    fn gather(&mut self, start: TaskId) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.pieces.push(None);
            PieceId::new(self.pieces.len() - 1)
        });
        self.piece_of[start.index()] = Some(number);
        let mut tasks = vec![start];
        // Each once, marked in `local` meanwhile: a prize that needs many tasks is met from each of them.
        let mut shared: Vec<TaskId> = Vec::new();
        let mut next = 0;
        while next < tasks.len() {
            let task = tasks[next];
            next += 1;
            for prize in self.state.prizes(task) {
                if self.state.price(prize) == 1 || self.local[prize.index()] != NONE {
                    continue;
                }
                self.local[prize.index()] = 0;
                shared.push(prize);
                for parent in self.state.choosable_parents(prize) {
                    if self.piece_of[parent.index()].is_none() {
                        self.piece_of[parent.index()] = Some(number);
                        tasks.push(parent);
                    }
                }
            }
        }
        (shared.iter()).for_each(|prize| self.local[prize.index()] = NONE);
        // Numbered by plan rank, so that ties inside a piece follow the plan.
        tasks.sort_unstable_by_key(|t| self.rank[t.index()]);
        self.pieces[number.index()] = Some(Stocked {
            rank: self.rank[tasks[0].index()],
            piece: BatchPiece::new(&self.state, tasks, &shared, &mut self.local),
            offer: None,
        });
        self.fresh.push(number);
    }

    /// Makes sure that every piece has an offer up to `most` tasks, as good as the effort allows.
    fn make_offers(&mut self, most: usize, effort: &BatchEffort, work: &mut Work<'_>) {
        // Then it must give exactly so many tasks as are asked for, and need be exact there only.
        let is_alone = self.pieces.len() - self.free.len() == 1;
        let fresh = std::mem::take(&mut self.fresh);
        // In the order of numbers, not of a hash: the work left for each must be the same in every run.
        let mut again: Vec<PieceId> = self.short.iter().copied().collect();
        if effort.steps > 0 {
            again.extend(&self.weak);
        }
        for number in fresh.into_iter().chain(again) {
            // A fresh piece may be gone again, and its number be used by another fresh one.
            let Some(stocked) = &mut self.pieces[number.index()] else {
                continue;
            };
            let tasks = stocked.piece.tasks.len();
            let asked = Asked::new(tasks, most, is_alone, effort.steps);
            if (stocked.offer.as_ref()).is_some_and(|o| o.asked.is_enough(&asked)) {
                continue;
            }
            if let Some(old) = stocked.offer.take() {
                self.stock.take(old.lot, stocked.rank);
            }
            let mut asked = asked;
            let mut offer = offer::make(&stocked.piece.puzzle, &mut asked, work);
            let marks = [
                (&mut self.short, asked.reach < tasks),
                (&mut self.weak, !asked.is_final()),
            ];
            for (set, is_member) in marks {
                if is_member {
                    set.insert(number);
                } else {
                    set.remove(&number);
                }
            }
            let sets = std::mem::replace(&mut offer.sets, Sets::Tree);
            stocked.offer = Some(Offered {
                lot: self.stock.put(offer, number, stocked.rank),
                sets,
                asked,
                picked: Vec::new(),
            });
        }
    }
}

impl Offered {
    /// The best set of `count` tasks of the piece, by local numbers; `None` when it is time to stop.
    fn pick(&mut self, piece: &Puzzle, count: u32, work: &Work<'_>) -> Option<&[u32]> {
        let place = match self.picked.iter().position(|p| p.0 == count) {
            Some(place) => place,
            None => {
                let set = self.sets.of(piece, count as usize, work)?;
                if self.picked.len() == MOST_PICKED {
                    self.picked.remove(0);
                }
                self.picked.push((count, set));
                self.picked.len() - 1
            }
        };
        Some(&self.picked[place].1)
    }
}
