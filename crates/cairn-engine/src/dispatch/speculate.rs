//! Copies of running tasks: which are worth it, and which no longer are. Starts nothing that nobody has begun with.

use super::lanes::{Busy, LaneId};
use super::{Dispatch, Move};
use crate::WorkerId;
use crate::budgets::dispatch::{COPIES, ENDS, LATEST, MISSES};
use cairn_dag::TaskId;

/// A copy must be expected in less than this share of what the running one still takes.
// With this and a whole deviation of hope makespans over eight dags and three spreads were 1 to 3 % nearer to HEFT than with 0.8
// and half a deviation.
const SOONER: f64 = 0.9;
/// Only what ends in the last part of all that is foreseen is copied for want of better things to do.
// What is over sooner holds up nothing: a copy of it would only cost. The share is the prototype's.
const LAST: f64 = 0.6;
/// How much of the doubt about two speeds speaks for trying.
// Measured together with `SOONER`.
const HOPE: f64 = 1.0;

/// A running task.
struct Late {
    task: TaskId,
    /// Seconds until its first copy is back, as expected.
    left: f64,
    /// Seconds of what comes after it.
    tail: f64,
    /// Variance of the speed of who will be back first.
    doubt: f64,
    copies: usize,
    /// How many tasks wait for it and for what else is out; known where somebody wants to know.
    unlocks: u32,
}

impl Dispatch {
    /// Running tasks to begin again, since they would hold up the end. `may` says whether a worker may have a copy of a task.
    pub(crate) fn restart(
        &mut self,
        now: f64,
        asking: &[(WorkerId, usize)],
        may: &mut dyn FnMut(TaskId, WorkerId) -> bool,
    ) -> Vec<Move> {
        if !self.may_copy || !self.outlook.has_eligible() || self.ends.is_empty() {
            return Vec::new();
        }
        let idle = self.idle(asking);
        if idle.is_empty() {
            return Vec::new();
        }
        let (speed, fast) = (self.lanes.sum, self.lanes.fast());
        self.look(now);
        // Without what runs the horizon is shorter, and cheap to have: where even that is beyond the last end, no copy gains.
        if self.last_end(now) <= self.outlook.horizon(speed, fast, std::iter::empty()) {
            return Vec::new();
        }
        let horizon = self.horizon(now);
        let gain = |l: &Late, worker: WorkerId| {
            let work = self.outlook.work(l.task);
            let time = work / self.lanes.speed(worker);
            let gain = l.left + l.tail - horizon.max(time + l.tail);
            // What the end comes forward by, against what the copy takes from everybody: its work shared among all.
            let pays = time < SOONER * l.left && gain > work / speed;
            // Else it would be the one that makes room as soon as it has begun.
            (pays && self.fresh(worker, l.task) <= l.left).then_some(gain)
        };
        let last = self.ends.iter().rev().map(|&(_, task)| task);
        self.hand_out(&idle, self.late(now, last.take(LATEST)), gain, may)
    }

    /// Copies for those who are idle still: of late tasks, where they may well be faster. What nobody has a copy of goes first, of
    /// that what unlocks most, of equals what ends last. `may` is as above.
    pub(crate) fn copy(
        &mut self,
        now: f64,
        asking: &[(WorkerId, usize)],
        may: &mut dyn FnMut(TaskId, WorkerId) -> bool,
    ) -> Vec<Move> {
        if !self.may_copy || self.ends.is_empty() {
            return Vec::new();
        }
        let idle = self.idle(asking);
        if idle.is_empty() {
            return Vec::new();
        }
        self.look(now);
        let horizon = self.horizon(now).max(self.last_end(now));
        let mut late = self.late(now, self.latest(now, LAST * horizon));
        // Once, and not for each that is idle.
        (late.iter_mut()).for_each(|l| l.unlocks = self.outlook.unlocks(l.task));
        let ends = late.iter().map(|l| l.left + l.tail);
        let horizon = ends.fold(horizon, f64::max);
        let score = |l: &Late, worker: WorkerId| {
            let hope = libm::exp(-HOPE * (l.doubt + self.doubt(worker)).sqrt());
            let time = hope * self.outlook.work(l.task) / self.lanes.speed(worker);
            let pays = time < SOONER * l.left && l.left + l.tail >= LAST * horizon;
            let is_uncopied = l.copies == 1;
            pays.then_some((is_uncopied, l.unlocks, l.left + l.tail))
        };
        self.hand_out(&idle, late, score, may)
    }

    /// To each idle lane the task that is worth most there, where one is worth anything.
    fn hand_out<W: PartialOrd>(
        &self,
        idle: &[LaneId],
        mut late: Vec<Late>,
        worth: impl Fn(&Late, WorkerId) -> Option<W>,
        may: &mut dyn FnMut(TaskId, WorkerId) -> bool,
    ) -> Vec<Move> {
        let mut moves = Vec::new();
        let mut misses = 0;
        for &lane in idle {
            let worker = self.lanes.worker(lane);
            let mut worth = |l: &Late| {
                let worth = worth(l, worker)?;
                let can = l.copies < COPIES && !self.has(worker, l.task, &moves);
                (can && may(l.task, worker)).then_some(worth)
            };
            let all = late.iter().enumerate();
            let all = all.filter_map(|(i, l)| Some((i, worth(l)?)));
            // Of equals the first, which ends last; `max_by` would take the last of them.
            let Some((best, _)) = all.reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
                misses += 1;
                if misses == MISSES {
                    break;
                }
                continue;
            };
            misses = 0;
            let l = &mut late[best];
            l.copies += 1;
            let expected = self.outlook.work(l.task) / self.lanes.speed(worker);
            // Whoever is idle next must be sooner than this copy, too.
            if expected < l.left {
                (l.left, l.doubt) = (expected, self.doubt(worker));
            }
            moves.push(Move {
                task: l.task,
                worker,
                instead_of: None,
            });
        }
        moves
    }

    /// Variance of what is known of a worker's speed.
    fn doubt(&self, worker: WorkerId) -> f64 {
        self.book.doubt(self.lanes.known_as(worker))
    }

    /// Mean seconds that a worker takes for a task from its beginning.
    fn fresh(&self, worker: WorkerId, task: TaskId) -> f64 {
        let (kind, base) = (self.outlook.kind(task), self.outlook.base(task));
        (self.book).duration(self.lanes.known_as(worker), kind, base, 0.0)
    }

    /// Whether a worker is at a task, or will be.
    fn has(&self, worker: WorkerId, task: TaskId, moves: &[Move]) -> bool {
        let runs = |lane: LaneId| self.lanes.worker(lane) == worker;
        self.lanes.running(task).any(runs)
            || moves.iter().any(|m| m.worker == worker && m.task == task)
    }

    /// Seconds that what nobody has begun with takes at least, after what is left of the running tasks.
    fn horizon(&self, now: f64) -> f64 {
        let left = self.lanes.all_busy().filter_map(|free| {
            let Busy { task, .. } = self.lanes.busy(free.lane)?;
            // A task counts once, however many are at it.
            let is_newest = self.lanes.running(task).next() == Some(free.lane);
            let own = self.lanes.speed(self.lanes.worker(free.lane));
            let left = ((free.at - now).max(0.0) * own).min(self.outlook.work(task));
            is_newest.then_some((task, left))
        });
        (self.outlook).horizon(self.lanes.sum, self.lanes.fast(), left)
    }

    /// Seconds until the last of the running tasks is over, with all that comes after it, as was last expected.
    fn last_end(&self, now: f64) -> f64 {
        let last = self.ends.last();
        last.map_or(0.0, |&(end, _)| end.get()) - now
    }

    /// Of the running tasks that are over after so many seconds or later, with all that comes after them, those that end last and
    /// may have one more copy.
    fn latest(&self, now: f64, since: f64) -> impl Iterator<Item = TaskId> + '_ {
        let late = self.ends.iter().rev().take(ENDS);
        let late = late.take_while(move |&&(end, _)| end.get() - now >= since);
        let late = late.map(|&(_, task)| task);
        let late = late.filter(|&task| self.lanes.running(task).count() < COPIES);
        // What decides the end is among them, however little it unlocks.
        late.take(LATEST)
    }

    /// What is known of running tasks.
    fn late(&self, now: f64, tasks: impl Iterator<Item = TaskId>) -> Vec<Late> {
        let each = tasks.map(|task| {
            let ends = self.lanes.running(task).map(|lane| {
                let end = self.lanes.expected(lane, now, &self.book).at;
                (end, self.lanes.worker(lane))
            });
            let first = ends.reduce(|a, b| if b.0 < a.0 { b } else { a });
            let (end, worker) = first.expect("somebody is at it");
            Late {
                task,
                left: end - now,
                tail: self.tail(task),
                doubt: self.doubt(worker),
                copies: self.lanes.running(task).count(),
                unlocks: 0,
            }
        });
        each.collect()
    }

    /// Lanes at copies that others will end sooner. The oldest copy is never one: dropping it in favour of hopes costs more
    /// than it gives.
    pub(super) fn redundant(&self, now: f64) -> Vec<LaneId> {
        let mut found = Vec::new();
        for &task in &self.copied {
            let lanes: Vec<LaneId> = self.lanes.running(task).collect();
            let end = |lane: LaneId| {
                let since = self.lanes.busy(lane).map_or(0.0, |busy| busy.since);
                // Age and lane settle ties: of two that end together just one is later.
                (self.lanes.expected(lane, now, &self.book).at, since, lane)
            };
            // The newest come first, so the last is the oldest. Dropping that one took 2.1 times as long at equal speeds.
            let Some((_, newer)) = lanes.split_last() else {
                continue;
            };
            let later = |&&lane: &&LaneId| lanes.iter().any(|&o| o != lane && end(o) < end(lane));
            found.extend(newer.iter().filter(later));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::{Expected, Memory};
    use cairn_dag::Dag;
    use cairn_theory::game::Standing;

    /// Two tasks that slow workers have for equally long: one has the longer path below it, the other more children.
    fn late() -> Dispatch {
        let dag = Dag::from_arcs(6, vec![(0, 2), (1, 3), (1, 4), (1, 5)]).unwrap();
        let expected = Expected {
            seconds: [10.0, 10.0, 4.0, 2.0, 2.0, 2.0].map(Some).to_vec(),
            ..Expected::default()
        };
        let mut d = Dispatch::new(&dag, &expected, Memory::default(), std::iter::empty());
        d.allow_copies(true);
        for (name, speed) in [("a", 0.25), ("b", 0.25), ("c", 2.0), ("d", 4.0)] {
            d.joined(name, 1, Some(speed));
        }
        for number in 0..2 {
            let task = TaskId(number);
            d.stands(task, Standing::Eligible);
            d.started(0.0, task, WorkerId(number));
        }
        d
    }

    fn start(task: u32, worker: u32) -> Move {
        Move {
            task: TaskId(task),
            worker: WorkerId(worker),
            instead_of: None,
        }
    }

    #[test]
    fn the_fastest_gets_a_copy_of_what_unlocks_most_and_the_next_of_what_has_none() {
        let both = [(WorkerId(2), 1), (WorkerId(3), 1)];
        let moves = late().copy(1.0, &both, &mut |_, _| true);
        assert_eq!(moves, [start(1, 3), start(0, 2)]);
        // What nobody may have a copy of is passed over.
        let moves = late().copy(1.0, &both, &mut |task, _| task != TaskId(1));
        assert_eq!(moves[0], start(0, 3));
    }

    #[test]
    fn among_equals_the_longer_path_goes_first() {
        let mut d = late();
        // Its children are given up: it unlocks nothing any more, the other one task.
        (3..6).for_each(|task| d.stands(TaskId(task), Standing::Aborted));
        let fastest = [(WorkerId(3), 1)];
        assert_eq!(d.copy(1.0, &fastest, &mut |_, _| true), [start(0, 3)]);
        d.stands(TaskId(2), Standing::Aborted);
        assert_eq!(d.copy(1.0, &fastest, &mut |_, _| true), [start(0, 3)]);
    }
}
