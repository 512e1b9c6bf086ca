//! What is still to be done and how long that takes at least: bottom levels, and the horizon. Knows no worker, only speeds.

use super::unlocks::Unlocks;
use crate::KindId;
use crate::book::Book;
use crate::budgets::dispatch::PIECES;
use cairn_dag::{Dag, TaskId, narrow, wide};
use cairn_kernel::{NONE, places};
use cairn_theory::game::Standing;
use std::collections::BTreeSet;

/// Levels are computed anew when a kind takes longer or shorter than they say by more than this (a logarithm).
// That goes over all tasks and arcs: a kind that only wavers is no reason for it. The number is the prototype's.
const MOVED: f64 = 0.15;

/// The tasks by falling *bottom level*: the work on the longest path from a task to a sink, itself included.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    dag: Dag,
    /// Equal levels go by this.
    rank: Vec<u32>,
    /// Seconds at speed 1 before anything was learnt, and kinds.
    base: Vec<f64>,
    kind: Vec<KindId>,
    /// By kind: the drift that levels were computed with.
    drift: Vec<f64>,
    work: Vec<f64>,
    level: Vec<f64>,
    /// By task its place, and the other way round.
    place: Vec<u32>,
    at: Vec<TaskId>,
    standing: Vec<Standing>,
    unlocks: Unlocks,
    /// Places of eligible tasks.
    eligible: BTreeSet<u32>,
    /// How many places are in a piece; by piece, the work that nobody has begun with, the longest way after one of its
    /// tasks, and how many they are.
    piece: usize,
    unstarted: Vec<(f64, f64, u32)>,
}

impl Outlook {
    pub(super) fn new(
        dag: &Dag,
        base: Vec<f64>,
        mut kind: Vec<KindId>,
        rank: Vec<u32>,
        book: &Book,
    ) -> Outlook {
        let tasks = dag.len();
        kind.resize(tasks, KindId::default());
        let kinds = kind.iter().max().map_or(1, |k| k.index() + 1);
        let mut outlook = Outlook {
            unlocks: Unlocks::new(dag),
            dag: dag.clone(),
            rank,
            base,
            kind,
            drift: vec![0.0; kinds],
            work: vec![0.0; tasks],
            level: vec![0.0; tasks],
            place: vec![0; tasks],
            at: Vec::new(),
            standing: vec![Standing::Waiting; tasks],
            eligible: BTreeSet::new(),
            piece: tasks.div_ceil(PIECES).max(1),
            unstarted: Vec::new(),
        };
        outlook.compute(book);
        outlook
    }

    /// How many tasks there are.
    pub(super) fn len(&self) -> usize {
        self.base.len()
    }

    /// Equal levels go by this order from now on.
    pub(super) fn reorder(&mut self, rank: Vec<u32>, book: &Book) {
        self.rank = rank;
        self.compute(book);
    }

    /// Whether levels should be computed anew because of what was learnt of a kind.
    pub(super) fn is_stale(&self, kind: KindId, book: &Book) -> bool {
        (book.drift(kind) - self.drift[kind.index()]).abs() > MOVED
    }

    /// Levels and places anew. O(tasks log tasks + arcs).
    pub(super) fn compute(&mut self, book: &Book) {
        let factors: Vec<f64> = (0..self.drift.len())
            .map(|k| book.factor(KindId::new(k)))
            .collect();
        for k in 0..self.drift.len() {
            self.drift[k] = book.drift(KindId::new(k));
        }
        for &task in self.dag.topological_order().iter().rev() {
            let t = task.index();
            self.work[t] = self.base[t] * factors[self.kind[t].index()];
            let children = self.dag.children(task).iter();
            // Children first in this direction: their levels are new already.
            let below = children.map(|c| self.level[c.index()]);
            self.level[t] = self.work[t] + below.fold(0.0, f64::max);
        }
        let mut at: Vec<TaskId> = self.dag.tasks().collect();
        let (level, rank) = (&self.level, &self.rank);
        let ranked = |t: TaskId| (rank.get(t.index()).copied().unwrap_or(t.0), t);
        at.sort_unstable_by(|&a, &b| {
            (level[b.index()].total_cmp(&level[a.index()])).then(ranked(a).cmp(&ranked(b)))
        });
        self.place = places(&at);
        self.at = at;
        self.eligible = (0..self.len())
            .filter(|&t| self.standing[t] == Standing::Eligible)
            .map(|t| self.place[t])
            .collect();
        self.unstarted = vec![(0.0, 0.0, 0); self.len().div_ceil(self.piece)];
        (0..self.unstarted.len()).for_each(|piece| self.add_up(piece));
    }

    fn add_up(&mut self, piece: usize) {
        let places = piece * self.piece..self.len().min((piece + 1) * self.piece);
        let mut sum = (0.0, 0.0f64, 0);
        for &task in &self.at[places] {
            if self.is_unstarted(task) {
                let task = task.index();
                sum.0 += self.work[task];
                sum.1 = sum.1.max(self.level[task] - self.work[task]);
                sum.2 += 1;
            }
        }
        self.unstarted[piece] = sum;
    }

    fn is_unstarted(&self, task: TaskId) -> bool {
        self.standing[task.index()].is_unbegun()
    }

    pub(super) fn standing(&self, task: TaskId) -> Standing {
        self.standing[task.index()]
    }

    pub(super) fn stand(&mut self, task: TaskId, standing: Standing) {
        let was = std::mem::replace(&mut self.standing[task.index()], standing);
        if was == standing {
            return;
        }
        self.unlocks.moved(&self.dag, task, was, &self.standing);
        let place = self.place[task.index()];
        if was == Standing::Eligible {
            self.eligible.remove(&place);
        }
        if standing == Standing::Eligible {
            self.eligible.insert(place);
        }
        // From waiting to eligible nothing changes in what nobody has begun with.
        let counted = was.is_unbegun();
        if counted == self.is_unstarted(task) {
            return;
        }
        let piece = wide(place) / self.piece;
        let (work, tail) = (self.work(task), self.tail(task));
        let sum = &mut self.unstarted[piece];
        match counted {
            // Pieces of one task are exact; of others the longest way is looked for when it goes.
            true if sum.2 == 1 => *sum = (0.0, 0.0, 0),
            true if tail < sum.1 => *sum = (sum.0 - work, sum.1, sum.2 - 1),
            true => self.add_up(piece),
            false => *sum = (sum.0 + work, sum.1.max(tail), sum.2 + 1),
        }
    }

    pub(super) fn base(&self, task: TaskId) -> f64 {
        self.base[task.index()]
    }

    pub(super) fn kind(&self, task: TaskId) -> KindId {
        self.kind[task.index()]
    }

    /// Seconds at speed 1.
    pub(super) fn work(&self, task: TaskId) -> f64 {
        self.work[task.index()]
    }

    /// Work on the longest path after the task.
    pub(super) fn tail(&self, task: TaskId) -> f64 {
        self.level[task.index()] - self.work[task.index()]
    }

    /// How many tasks become eligible with this one and all that is out beside it.
    pub(super) fn unlocks(&self, task: TaskId) -> u32 {
        self.unlocks.of(&self.dag, task, &self.standing)
    }

    pub(super) fn has_eligible(&self) -> bool {
        !self.eligible.is_empty()
    }

    /// Eligible tasks by falling level.
    pub(super) fn eligible(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.eligible.iter().map(|&place| self.at[wide(place)])
    }

    /// Seconds that what nobody has begun with will take at least, with so much work a second in all (`speed`), and so much
    /// for what comes after a task (`fast`): for every task, all work of its level and above, then what comes after it.
    /// `running` has tasks under way and the work that is left of each.
    pub(super) fn horizon(
        &self,
        speed: f64,
        fast: f64,
        running: impl Iterator<Item = (TaskId, f64)>,
    ) -> f64 {
        let mut more = vec![0.0; self.unstarted.len()];
        for (task, left) in running {
            more[wide(self.place[task.index()]) / self.piece] += left;
        }
        let (mut sum, mut horizon) = (0.0, 0.0f64);
        let (a_unit, after) = (1.0 / speed, 1.0 / fast);
        for (&(work, tail, count), more) in self.unstarted.iter().zip(more) {
            sum += work + more;
            if count > 0 {
                horizon = horizon.max(sum * a_unit + tail * after);
            }
        }
        // By falling level: no other eligible one has more.
        let first = self.eligible().next();
        horizon.max(first.map_or(0.0, |t| self.level[t.index()] / fast))
    }
}

/// By task its place in an order; those that it does not name come last.
pub(super) fn ranks(order: impl Iterator<Item = TaskId>, tasks: usize) -> Vec<u32> {
    let mut rank = vec![NONE; tasks];
    for (place, task) in order.enumerate() {
        if let Some(rank) = rank.get_mut(task.index()) {
            *rank = narrow(place);
        }
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;
    use crate::book::{Expected, Memory};

    /// Longest paths and the horizon as they are defined.
    fn by_definition(
        dag: &Dag,
        outlook: &Outlook,
        speed: f64,
        fast: f64,
        running: &[(TaskId, f64)],
    ) -> f64 {
        fn level(dag: &Dag, work: &[f64], t: TaskId) -> f64 {
            let below = dag.children(t).iter().map(|&c| level(dag, work, c));
            work[t.index()] + below.fold(0.0, f64::max)
        }
        let levels: Vec<f64> = dag.tasks().map(|t| level(dag, &outlook.work, t)).collect();
        let is_unstarted = |t: usize| outlook.standing[t].is_unbegun();
        let before = |a: usize, b: usize| outlook.place[a] <= outlook.place[b];
        let mut horizon = 0.0f64;
        for v in (0..dag.len()).filter(|&v| is_unstarted(v)) {
            let started = running
                .iter()
                .filter(|r| before(r.0.index(), v))
                .map(|r| r.1);
            let others = (0..dag.len()).filter(|&u| is_unstarted(u) && before(u, v));
            let sum = others.map(|u| outlook.work[u]).sum::<f64>() + started.sum::<f64>();
            horizon = horizon.max(sum / speed + (levels[v] - outlook.work[v]) / fast);
            if outlook.standing[v] == Standing::Eligible {
                horizon = horizon.max(levels[v] / fast);
            }
        }
        horizon
    }

    #[test]
    fn the_horizon_is_what_it_is_defined_to_be() {
        for seed in 0..2000 {
            let mut dice = Dice(seed);
            let dag = dice.dag(12);
            let tasks = dag.len();
            let expected = Expected {
                seconds: (0..tasks).map(|_| Some(dice.uniform() * 9.0)).collect(),
                ..Expected::default()
            };
            let (book, base) = Book::new(&expected, &Memory::default());
            let mut outlook = Outlook::new(&dag, base, Vec::new(), Vec::new(), &book);
            let mut running = Vec::new();
            for _ in 0..2 * tasks {
                let task = TaskId::new(dice.below(tasks));
                outlook.stand(task, Standing::ALL[dice.below(Standing::ALL.len())]);
                running = (dag.tasks())
                    .filter(|&t| outlook.standing(t) == Standing::Leased)
                    .map(|t| (t, outlook.work(t) * dice.uniform()))
                    .collect();
            }
            let (speed, fast) = (1.0 + dice.uniform(), 0.5 + dice.uniform());
            let slow = by_definition(&dag, &outlook, speed, fast, &running);
            let quick = outlook.horizon(speed, fast, running.iter().copied());
            assert!((slow - quick).abs() < 1e-9, "seed {seed}: {slow} {quick}");
            let levels: Vec<f64> = outlook
                .eligible()
                .map(|t| outlook.level[t.index()])
                .collect();
            assert!(levels.is_sorted_by(|a, b| a >= b));
        }
    }

    /// Many tasks in few pieces: never below the truth, and above it by no more than one piece's work.
    #[test]
    fn large_dags_are_added_up_in_pieces() {
        let mut dice = Dice(1);
        let dag = Dag::from_arcs(
            2000,
            (0..1999)
                .map(|i| (i, i + 1))
                .filter(|a| a.0 % 5 != 4)
                .collect(),
        )
        .unwrap();
        let expected = Expected {
            seconds: (0..2000).map(|_| Some(dice.uniform())).collect(),
            ..Expected::default()
        };
        let (book, base) = Book::new(&expected, &Memory::default());
        let mut outlook = Outlook::new(&dag, base, Vec::new(), Vec::new(), &book);
        for _ in 0..3000 {
            let task = TaskId::new(dice.below(2000));
            outlook.stand(
                task,
                [Standing::Executed, Standing::Eligible][dice.below(2)],
            );
        }
        let slow = by_definition(&dag, &outlook, 10.0, 1.0, &[]);
        let quick = outlook.horizon(10.0, 1.0, std::iter::empty());
        assert!(
            quick >= slow - 1e-9 && quick <= slow + 4.0 / 10.0 + 1.0,
            "{slow} {quick}"
        );
    }
}
