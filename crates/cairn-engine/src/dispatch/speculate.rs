//! Copies of running tasks: which are worth it, and which no longer are. Starts nothing that nobody has begun with.

use super::lanes::Busy;
use super::{Dispatch, Move};

/// A copy must be expected in less than this share of what the running one still takes.
const SOONER: f64 = 0.9;
/// Only what ends in the last part of all that is foreseen is copied for want of better things to do.
const LAST: f64 = 0.6;
/// How much of the doubt about two speeds speaks for trying.
const HOPE: f64 = 1.0;
/// The most copies of a task at a time.
const COPIES: usize = 3;
/// How many running tasks are looked at, of those that end last.
const LATEST: usize = 16;
/// After so many idle lanes in a row for whom there is nothing, slower ones are not asked.
const MISSES: usize = 8;

/// A running task.
struct Late {
    task: u32,
    /// Seconds until its first copy is back, as expected.
    left: f64,
    /// Seconds of what comes after it.
    tail: f64,
    /// Variance of the speed of who will be back first.
    doubt: f64,
    copies: usize,
}

impl Dispatch {
    /// Running tasks to begin again, since they would hold up the end. `may` says whether a worker may have a copy of a task.
    pub(crate) fn restart(
        &mut self,
        now: f64,
        asking: &[(u32, usize)],
        may: &mut dyn FnMut(u32, u32) -> bool,
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
        let last = self
            .ends
            .last()
            .map_or(0.0, |&(end, _)| f64::from_bits(end))
            - now;
        if last <= self.outlook.horizon(speed, fast, std::iter::empty()) {
            return Vec::new();
        }
        let horizon = self.horizon(now);
        let gain = |l: &Late, worker: u32| {
            let work = self.outlook.work(l.task);
            let time = work / self.lanes.speed(worker);
            let gain = l.left + l.tail - horizon.max(time + l.tail);
            let pays = time < SOONER * l.left && gain > work / speed;
            // Else it would be the one that makes room as soon as it has begun.
            (pays && self.fresh(worker, l.task) <= l.left).then_some(gain)
        };
        self.hand_out(&idle, self.latest(now), gain, may)
    }

    /// Copies for those who are idle still: of what ends last, where they may well be faster. `may` is as above.
    pub(crate) fn copy(
        &mut self,
        now: f64,
        asking: &[(u32, usize)],
        may: &mut dyn FnMut(u32, u32) -> bool,
    ) -> Vec<Move> {
        if !self.may_copy || self.ends.is_empty() {
            return Vec::new();
        }
        let idle = self.idle(asking);
        if idle.is_empty() {
            return Vec::new();
        }
        self.look(now);
        let late = self.latest(now);
        let ends = late.iter().map(|l| l.left + l.tail);
        let horizon = ends.fold(self.horizon(now), f64::max);
        let score = |l: &Late, worker: u32| {
            let hope = libm::exp(-HOPE * (l.doubt + self.doubt(worker)).sqrt());
            let time = hope * self.outlook.work(l.task) / self.lanes.speed(worker);
            let pays = time < SOONER * l.left && l.left + l.tail >= LAST * horizon;
            let again = if l.copies > 1 { l.copies as f64 } else { 0.0 };
            pays.then_some(l.left * (1.0 - 1e-3 * again) + l.tail)
        };
        self.hand_out(&idle, late, score, may)
    }

    /// To each idle lane the task that is worth most there, where one is worth anything.
    fn hand_out(
        &self,
        idle: &[u32],
        mut late: Vec<Late>,
        worth: impl Fn(&Late, u32) -> Option<f64>,
        may: &mut dyn FnMut(u32, u32) -> bool,
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
    fn doubt(&self, worker: u32) -> f64 {
        self.book.doubt(self.lanes.client(worker))
    }

    /// Mean seconds that a worker takes for a task from its beginning.
    fn fresh(&self, worker: u32, task: u32) -> f64 {
        let (kind, base) = (self.outlook.kind(task), self.outlook.base(task));
        (self.book).duration(self.lanes.client(worker), kind, base, 0.0)
    }

    /// Whether a worker is at a task, or will be.
    fn has(&self, worker: u32, task: u32, moves: &[Move]) -> bool {
        let runs = |lane: u32| self.lanes.worker(lane) == worker;
        self.lanes.running(task).any(runs)
            || moves.iter().any(|m| m.worker == worker && m.task == task)
    }

    /// Seconds that what nobody has begun with takes at least, after what is left of the running tasks.
    fn horizon(&self, now: f64) -> f64 {
        let left = self.lanes.all_busy().filter_map(|free| {
            let Busy { task, .. } = self.lanes.busy(free.lane)?;
            let is_newest = self.lanes.running(task).next() == Some(free.lane);
            let own = self.lanes.speed(self.lanes.worker(free.lane));
            let left = ((free.at - now).max(0.0) * own).min(self.outlook.work(task));
            is_newest.then_some((task, left))
        });
        (self.outlook).horizon(self.lanes.sum, self.lanes.fast(), left)
    }

    /// The running tasks that end last, with all that comes after them.
    fn latest(&self, now: f64) -> Vec<Late> {
        let last = self.ends.iter().rev().take(LATEST);
        let each = last.map(|&(_, task)| {
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
            }
        });
        each.collect()
    }

    /// Lanes at copies that others will end sooner. The oldest copy is never one: dropping it in favour of hopes costs more
    /// than it gives.
    pub(super) fn redundant(&self, now: f64) -> Vec<u32> {
        let mut found = Vec::new();
        for &task in &self.copied {
            let lanes: Vec<u32> = self.lanes.running(task).collect();
            let end = |lane: u32| {
                let since = self.lanes.busy(lane).map_or(0.0, |busy| busy.since);
                (self.lanes.expected(lane, now, &self.book).at, since, lane)
            };
            let Some((_, newer)) = lanes.split_last() else {
                continue;
            };
            let later = |&&lane: &&u32| lanes.iter().any(|&o| o != lane && end(o) < end(lane));
            found.extend(newer.iter().filter(later));
        }
        found
    }
}
