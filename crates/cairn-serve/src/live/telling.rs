//! What the fold has, in the words of a page. Changes nothing but what it remembers to have told.

use super::account::{Account, Totals};
use super::attempts::{ClosedAttempt, How};
use super::told::{
    AttemptTold, FailureTold, Running, SlowTold, Span, StepTold, Update, WorkerTold,
};
use super::{Live, SLOWEST, seconds};
use cairn_dag::TaskId;
use cairn_engine::{Moment, Task, WorkerId};
use cairn_theory::game::Standing;
use std::collections::HashSet;

/// Lists have no more than so many.
// The page shows fifty failures and a hundred workers; each change tells the list anew, to everybody who watches.
const SHOWN: usize = 100;
/// Of so many of the newest failures those are looked for that were given up.
// Else those that were tried again could push them out of the list. All of them would be too many to look at with every change.
const LOOKED_AT: usize = 10 * SHOWN;
/// The path that decides has no more than so many tasks, from its end.
// The page shows forty. In a chain of a million tasks it would be looked for, and told, a million long with every change.
const LONGEST_PATH: usize = 500;
/// No more attempts under way are told than these.
// Each is told anew with every change. The page has far fewer lanes; a judgement.
const RUNNING: usize = 2000;
/// So many attempts are told to whoever begins to look.
// As many as the page keeps (`MOST_SPANS` in `page/src/model.ts`).
const SPANS: usize = 20_000;

impl Live<'_> {
    /// All of it, at a moment.
    pub(crate) fn whole(&self, now: Moment) -> Update {
        let mut update = self.told(now);
        update.curve = self.course.all();
        let first = self.ended.len().saturating_sub(SPANS);
        update.spans = self.ended[first..]
            .iter()
            .map(ClosedAttempt::told)
            .collect();
        let boxes = self.boxes.iter().enumerate();
        update.boxes = boxes.map(|(b, counts)| boxed(b, counts)).collect();
        update.failures = Some(self.failures_told());
        update.slowest = Some(self.slowest_told(now));
        update.path = Some(self.path_told());
        update
    }

    /// What changed since this was last asked.
    pub(crate) fn changes(&mut self, now: Moment) -> Update {
        let mut update = self.told(now);
        update.curve = self.course.take_fresh();
        let first = self.told.max(self.ended.len().saturating_sub(SPANS));
        update.spans = self.ended[first..]
            .iter()
            .map(ClosedAttempt::told)
            .collect();
        self.told = self.ended.len();
        for (b, counts) in self.boxes.iter().enumerate() {
            if std::mem::take(&mut self.is_changed[b]) {
                update.boxes.push(boxed(b, counts));
            }
        }
        if std::mem::take(&mut self.failures_changed) {
            update.failures = Some(self.failures_told());
        }
        // What runs on moves up in the list, though nothing happens.
        let runs_long = (self.open.values()).any(|open| {
            let since = now.since(open.begin).0 as f64 / 1e6;
            self.slowest.len() < SLOWEST || self.slowest.last().is_some_and(|s| s.0 < since)
        });
        if std::mem::take(&mut self.lists_changed) || runs_long {
            update.slowest = Some(self.slowest_told(now));
            update.path = Some(self.path_told());
        }
        update
    }

    fn told(&self, now: Moment) -> Update {
        let now = self.last.max(now);
        let totals = self.totals_at(now);
        let mut idle = self.forgotten;
        (self.workers.iter()).for_each(|worker| idle += worker.idle(totals));
        let count = |standing| self.position.count(standing);
        let left = Standing::ALL[..3]
            .iter()
            .filter_map(|&s| count(s))
            .sum::<u64>() as f64;
        let is_settled = self.position.is_settled();
        // The time of a run that is over stands still, whenever somebody looks.
        let now = if is_settled { self.last_end() } else { now };
        let began = self.began.map(seconds);
        let rate = began.and_then(|began| self.course.rate(seconds(now), began));
        let rate = rate.filter(|_| !is_settled);
        let mut running: Vec<Running> = (self.open.iter())
            .map(|(&(task, _), open)| (open.worker.0, task, seconds(open.begin)))
            .collect();
        running.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.1.cmp(&b.1)));
        running.truncate(RUNNING);
        Update {
            now: seconds(now),
            seq: self.seq,
            began: began.filter(|_| !self.is_cut),
            counts: Standing::ALL.map(count),
            paused: self.is_paused,
            finished: is_settled,
            halted: self.halted,
            rate,
            // Where nobody works on anything, nobody knows.
            eta_seconds: rate
                .filter(|&rate| rate > 0.0 && !self.open.is_empty())
                .map(|rate| left / rate),
            idle,
            running,
            curve: Vec::new(),
            spans: Vec::new(),
            boxes: Vec::new(),
            workers: Some(self.workers_told(totals)),
            workers_in_all: self.workers.len(),
            failures: None,
            failures_in_all: self.failures_in_all,
            slowest: None,
            path: None,
            storage: None,
        }
    }

    /// When the latest attempt ended.
    fn last_end(&self) -> Moment {
        self.ended.last().map_or(self.last, |ended| ended.end)
    }

    fn workers_told(&self, totals: Totals) -> Vec<WorkerTold> {
        let told = |(i, account): (usize, &Account)| WorkerTold {
            worker: i as u32,
            name: account.name.clone(),
            state: account.state,
            cpus: account.offer.cpus,
            leased: account.leased,
            executed: account.executed,
            failed: account.failed,
            lost: account.lost,
            last_seen: None,
            tags: account.offer.tags.clone(),
            speed: None,
            turnaround: None,
            reliability: None,
            volunteer: account.offer.client.map(|client| client.0),
            trust: None,
            idle: account.idle(totals),
        };
        let all = || self.workers.numbered();
        let here = all().filter(|(_, w)| w.state == "here");
        // Those who are here first, then the newest of those who went: the list is cut at its end.
        let gone = all().rev().filter(|(_, w)| w.state != "here");
        here.chain(gone).take(SHOWN).map(told).collect()
    }

    fn worker(&self, worker: WorkerId) -> String {
        let known = self.workers.get(worker.0 as usize);
        known.map_or_else(String::new, |account| account.name.clone())
    }

    fn name(&self, task: u64) -> String {
        self.subject.name(Task(task))
    }

    /// Those that were given up, and are so still, before those that were tried again; each the newest first.
    fn failures_told(&self) -> Vec<FailureTold> {
        let mut seen = HashSet::new();
        let told = |ended: &ClosedAttempt| {
            // Of a task that was retried and failed again, only the latest attempt is what it was given up for.
            let is_latest = seen.insert(ended.task);
            let standing = self.position.standing(Task(ended.task));
            let is_failed = is_latest && standing == Ok(Standing::Failed);
            let (cause, exit, for_good) = match ended.how {
                How::Failed {
                    exit,
                    cause,
                    for_good,
                } => (cause.name(), Some(exit), for_good),
                How::Lost { for_good } => ("lost", None, for_good),
                _ => ("", None, false),
            };
            FailureTold {
                id: ended.task,
                task: self.name(ended.task),
                attempt: ended.token.attempt,
                at: seconds(ended.end),
                worker: self.worker(ended.worker),
                cause: cause.to_owned(),
                exit,
                for_good: for_good && is_failed,
                log: None,
            }
        };
        // Of very many only the newest are looked at.
        let newest = self.failures.iter().rev().take(LOOKED_AT).map(told);
        let (mut shown, again): (Vec<_>, Vec<_>) = newest.partition(|failure| failure.for_good);
        shown.extend(again);
        shown.truncate(SHOWN);
        shown
    }

    fn slowest_told(&self, now: Moment) -> Vec<SlowTold> {
        let slow = |seconds: f64, task: u64, running: bool| SlowTold {
            id: task,
            task: self.name(task),
            seconds,
            running,
        };
        let ended = self.slowest.iter().map(|&(s, task)| (s, task, false));
        let open = (self.open.iter())
            .map(|(&(task, _), open)| (now.since(open.begin).0 as f64 / 1e6, task, true));
        let mut all: Vec<_> = ended.chain(open).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(SLOWEST);
        all.into_iter()
            .map(|(s, t, running)| slow(s, t, running))
            .collect()
    }

    /// From the task that ended last back to the parent that ended last, and so on.
    fn path_told(&self) -> Vec<StepTold> {
        let Some(dag) = self.subject.dag() else {
            return Vec::new();
        };
        let mut path = Vec::new();
        let mut next = self.last_done.map(|task| TaskId(task as u32));
        while let Some(task) = next.filter(|_| path.len() < LONGEST_PATH) {
            let (begin, end) = self.done[task.index()];
            let parents = dag.parents(task).iter().copied();
            // The parent that ended last is the one that it waited for; of two at one moment any, but
            // always the same.
            let latest = parents.max_by_key(|p| (self.done[p.index()].1, *p));
            let latest = latest.filter(|p| self.done[p.index()].1 > Moment(0));
            let eligible = match latest {
                Some(parent) => self.done[parent.index()].1,
                None => self.began.unwrap_or(begin),
            };
            path.push(StepTold {
                id: task.0.into(),
                task: self.name(task.0.into()),
                waited: begin.since(eligible).0 as f64 / 1e6,
                seconds: end.since(begin).0 as f64 / 1e6,
            });
            next = latest;
        }
        path.reverse();
        path
    }

    /// Every attempt at a task, the first one first.
    pub(crate) fn attempts(&self, task: Task) -> Vec<AttemptTold> {
        let Ok(id) = self.known(task) else {
            return Vec::new();
        };
        let ended = self.ended.iter().filter(|ended| ended.task == id);
        let mut all: Vec<AttemptTold> = ended
            .map(|ended| AttemptTold {
                attempt: ended.token.attempt,
                epoch: ended.token.epoch,
                worker: self.worker(ended.worker),
                begin: seconds(ended.begin),
                end: Some(seconds(ended.end)),
                outcome: ended.how.name(),
                exit: match ended.how {
                    How::Failed { exit, .. } => Some(exit),
                    _ => None,
                },
                cause: match ended.how {
                    How::Failed { cause, .. } => Some(cause.name()),
                    _ => None,
                },
            })
            .collect();
        let open = self
            .others(id)
            .filter_map(|token| self.open.get(&(id, token)));
        all.extend(open.map(|open| AttemptTold {
            attempt: open.token.attempt,
            epoch: open.token.epoch,
            worker: self.worker(open.worker),
            begin: seconds(open.begin),
            end: None,
            outcome: "running",
            exit: None,
            cause: None,
        }));
        all
    }
}

impl ClosedAttempt {
    fn told(&self) -> Span {
        (
            self.worker.0,
            self.task,
            seconds(self.begin),
            seconds(self.end),
            self.how.number(),
        )
    }
}

fn boxed(number: usize, counts: &[u32; 7]) -> [u32; 8] {
    let mut row = [number as u32; 8];
    row[1..].copy_from_slice(counts);
    row
}
