//! What every order needs: lower bounds on the peak, each with its reason. Knows no good orders.
//!
//! - *One task*: whatever is executed before v, L is at least the minimum cut before v, and v needs its own on top.
//! - *An antichain*: of tasks none of which comes before another, some one goes first: while it runs, the others are not
//!   executed; and some one goes last: then the others are. The least cut under that condition, over all of them, is
//!   needed by every order.

use super::cut::{Cut, Cuts};
use super::section::Section;
use crate::budgets::storage as budget;
use cairn_dag::TaskId;
use cairn_kernel::{Stopped, Work, completed, long};
use cairn_theory::storage::FileId;
use std::cmp::Reverse;

/// Why no order needs less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing is needed at all.
    Nothing,
    /// All that is kept lies there in the end.
    Kept,
    /// The task cannot start with less: these files are there before it, whatever the order.
    Task {
        /// Which task.
        task: TaskId,
        /// The files of a least cut before it.
        cut: Vec<FileId>,
    },
    /// Of these tasks, none of which comes before another, one goes first, before all others.
    First {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The one that needs least when it is first.
        task: TaskId,
        /// The files of a least cut before it.
        cut: Vec<FileId>,
    },
    /// Of these tasks, none of which comes before another, one goes last, after all others.
    Last {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The one that needs least when it is last.
        task: TaskId,
        /// The files of a least cut before it.
        cut: Vec<FileId>,
    },
}

/// Bytes that every order needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerBound {
    /// No peak is smaller.
    pub bytes: u64,
    /// Why.
    pub reason: Reason,
}

/// The lower bounds of a section, as far as they are known.
pub(crate) struct Bounds<'p> {
    section: &'p Section,
    cuts: Cuts<'p>,
    pub(crate) best: i64,
    pub(crate) reason: Reason,
}

impl<'p> Bounds<'p> {
    /// What is seen without a cut: what is kept, and what a task reads and writes.
    pub(crate) fn new(section: &'p Section) -> Bounds<'p> {
        let kept = section
            .storage
            .files()
            .filter(|&f| section.storage.is_kept(f));
        let kept: i64 = kept.map(|f| section.bytes(f)).sum();
        Bounds {
            section,
            cuts: Cuts::new(section),
            best: kept,
            reason: if kept > 0 {
                Reason::Kept
            } else {
                Reason::Nothing
            },
        }
    }

    pub(crate) fn lower_bound(self) -> LowerBound {
        LowerBound {
            bytes: u64::try_from(self.best).expect("bounds are not negative"),
            reason: self.reason,
        }
    }

    /// The least need of a task over all orders, with its cut; noted if it is a better bound.
    pub(crate) fn ask(&mut self, task: TaskId, work: &mut Work<'_>) -> Result<Cut, Stopped> {
        let cut = self.cuts.before(task, &[], &[], work)?;
        let need = cut.live + self.section.reserved(task);
        if need > self.best {
            self.best = need;
            let cut = live_files(self.section, &cut.smallest);
            self.reason = Reason::Task { task, cut };
        }
        Ok(cut)
    }

    /// LB1: the largest of all tasks' least needs. Those that need no more along some order than is known, or than a cap where only
    /// that is asked, need no cut; nor any once the cap is exceeded.
    ///
    /// # Errors
    /// If the work is over; what is known by then holds.
    pub(crate) fn single(
        &mut self,
        order: &[TaskId],
        cap: Option<u64>,
        work: &mut Work<'_>,
    ) -> Result<(), Stopped> {
        let section = self.section;
        let cap = cap.and_then(|cap| i64::try_from(cap).ok());
        let is_answered = |best: i64| cap.is_some_and(|cap| best > cap);
        // One that needs much by itself first: often no other needs more.
        let alone = |t: TaskId| section.read(t) + section.reserved(t);
        if let Some(task) = section.tasks().max_by_key(|&t| (alone(t), Reverse(t))) {
            self.ask(task, work)?;
        }
        let needs = section.needs(order);
        let mut places: Vec<usize> = (0..order.len()).collect();
        places.sort_by_key(|&i| Reverse(needs[i]));
        for place in places {
            // By falling need along one order, which no task's least need exceeds: none behind can raise the bound.
            if needs[place] <= self.best.max(cap.unwrap_or(0)) || is_answered(self.best) {
                break;
            }
            self.ask(order[place], work)?;
        }
        Ok(())
    }

    /// LB2: pairs of tasks that many files meet in; then antichains of tasks at one depth: of all, of those around a task, of
    /// those above or below a task with many neighbours. Those that an order, the best there is, goes by with no more than is known
    /// need no cut. Stops once `enough` is reached.
    ///
    /// # Errors
    /// If the work is over; what is known by then holds.
    pub(crate) fn antichains(
        &mut self,
        order: &[TaskId],
        enough: i64,
        work: &mut Work<'_>,
    ) -> Result<(), Stopped> {
        let along = Along::new(self.section, order);
        let joins = joins(self.section, work)?;
        for tasks in joins.into_iter().chain(antichains(self.section, work)?) {
            if self.best >= enough {
                break;
            }
            work.pay(long(tasks.len()))?;
            for is_last in [false, true] {
                // The first of them in the order comes before all others there, so that its need is no less than the
                // least; and so with the last.
                if along.need(&tasks, is_last) > self.best
                    && let Some((need, task, cut)) = self.least(&tasks, &along, is_last, work)?
                {
                    self.best = need;
                    let tasks = tasks.clone();
                    self.reason = match is_last {
                        true => Reason::Last { tasks, task, cut },
                        false => Reason::First { tasks, task, cut },
                    };
                }
            }
        }
        Ok(())
    }

    /// The task of an antichain that needs least when all others are executed, or none; if that is more than is known.
    fn least(
        &mut self,
        tasks: &[TaskId],
        along: &Along,
        others_in: bool,
        work: &mut Work<'_>,
    ) -> Result<Option<(i64, TaskId, Vec<FileId>)>, Stopped> {
        let mut least: Option<(i64, TaskId, Vec<FileId>)> = None;
        let mut likely = tasks.to_vec();
        // Who needs little there is likely to need too little here, too, which ends it.
        likely.sort_by_key(|t| along.tasks[t.index()].1);
        for task in likely {
            let others: Vec<TaskId> = tasks.iter().copied().filter(|&t| t != task).collect();
            let (within, out) = match others_in {
                true => (&others[..], &[][..]),
                false => (&[][..], &others[..]),
            };
            let cut = self.cuts.before(task, within, out, work)?;
            let need = cut.live + self.section.reserved(task);
            // The least over the antichain is no more than this one's: it cannot raise the bound.
            if need <= self.best {
                return Ok(None);
            }
            // Of equal ones the first by number, whatever the order at hand.
            if least
                .as_ref()
                .is_none_or(|(n, t, _)| (need, task) < (*n, *t))
            {
                least = Some((need, task, live_files(self.section, &cut.smallest)));
            }
        }
        Ok(least)
    }
}

/// What tasks need along one order.
struct Along {
    /// By task: its place, and its need there.
    tasks: Vec<(usize, i64)>,
}

impl Along {
    fn new(section: &Section, order: &[TaskId]) -> Along {
        let mut tasks = vec![(0, 0); section.len()];
        let needs = section.needs(order).into_iter().enumerate();
        for (task, (place, need)) in order.iter().zip(needs) {
            tasks[task.index()] = (place, need);
        }
        Along { tasks }
    }

    /// What the first of some tasks needs, or the last.
    fn need(&self, tasks: &[TaskId], is_last: bool) -> i64 {
        let places = tasks.iter().map(|t| self.tasks[t.index()]);
        let end = if is_last { places.max() } else { places.min() };
        end.map_or(0, |(_, need)| need)
    }
}

/// The files that are live when a set of tasks is executed.
fn live_files(section: &Section, executed: &[bool]) -> Vec<FileId> {
    let storage = &section.storage;
    let mut live = Vec::new();
    let is_wanted =
        |f: FileId| storage.is_kept(f) || storage.consumers(f).any(|c| !executed[c.index()]);
    for task in section.tasks().filter(|t| executed[t.index()]) {
        live.extend(storage.outputs(task).filter(|&f| is_wanted(f)));
    }
    live.extend(storage.initial().filter(|&f| is_wanted(f)));
    live
}

/// Pairs of independent tasks in which most bytes meet that nobody else reads, those with most first: before one of two
/// such joins is done, what is made for both lies there.
fn joins(section: &Section, work: &mut Work<'_>) -> Result<Vec<Vec<TaskId>>, Stopped> {
    let storage = &section.storage;
    let meets = |t: TaskId| -> u64 {
        // A file that many read is shared out: it would lie there for other reasons, too.
        let share = |f: FileId| storage.bytes(f) / long(storage.consumer_slots(f).len().max(1));
        storage.inputs(t).map(share).sum()
    };
    let mut tasks: Vec<(u64, TaskId)> = (section.tasks())
        .filter(|&t| section.parents(t).len() > 1)
        .map(|t| (meets(t), t))
        .collect();
    tasks.sort_unstable_by_key(|&(bytes, t)| (Reverse(bytes), t));
    tasks.truncate(budget::JOINS);
    let mut before: Vec<Vec<bool>> = Vec::new();
    for &(_, task) in &tasks {
        work.pay(section.steps())?;
        before.push(reached(section, task, true).0);
    }
    let mut pairs = Vec::new();
    for (j, &(second, b)) in tasks.iter().enumerate() {
        for (i, &(first, a)) in tasks[..j].iter().enumerate() {
            if !before[i][b.index()] && !before[j][a.index()] {
                pairs.push((first + second, vec![a, b]));
            }
        }
    }
    pairs.sort_by_key(|&(bytes, _)| Reverse(bytes));
    Ok(pairs.into_iter().map(|(_, pair)| pair).collect())
}

/// By task whether it comes before this one, or with `up` false after it; and a list of those, this one first.
fn reached(section: &Section, task: TaskId, up: bool) -> (Vec<bool>, Vec<TaskId>) {
    let mut seen = vec![false; section.len()];
    let mut all = vec![task];
    let mut next = 0;
    while let Some(&task) = all.get(next) {
        next += 1;
        let visit = |t: TaskId| {
            if !std::mem::replace(&mut seen[t.index()], true) {
                all.push(t);
            }
        };
        match up {
            true => section.parents(task).for_each(visit),
            false => section.children(task).for_each(visit),
        }
    }
    (seen, all)
}

/// Tasks of one depth never come before each other. Small antichains first.
fn antichains(section: &Section, work: &mut Work<'_>) -> Result<Vec<Vec<TaskId>>, Stopped> {
    let mut depth = vec![0u32; section.len()];
    let mut waiting = section.parents_left();
    let mut ready: Vec<TaskId> = section
        .tasks()
        .filter(|t| waiting[t.index()] == 0)
        .collect();
    while let Some(task) = ready.pop() {
        for child in section.children(task) {
            depth[child.index()] = depth[child.index()].max(depth[task.index()] + 1);
        }
        ready.extend(completed(section.children(task), &mut waiting));
    }
    let mut found = Vec::new();
    let mut split = |mut tasks: Vec<TaskId>| {
        tasks.sort_unstable_by_key(|t| (depth[t.index()], *t));
        let same = tasks.chunk_by(|a, b| depth[a.index()] == depth[b.index()]);
        found.extend(same.filter(|c| c.len() > 1).map(<[TaskId]>::to_vec));
    };
    // Whole levels: the longest antichains, and so the dearest; they are sorted behind the small ones.
    split(section.tasks().collect());
    let degree = |t: TaskId| (section.parents(t).len(), section.children(t).len());
    for task in section.tasks() {
        split(section.children(task).collect());
        split(section.parents(task).collect());
    }
    let is_large =
        |t: &TaskId| degree(*t).0 >= budget::NEIGHBOURHOOD || degree(*t).1 >= budget::NEIGHBOURHOOD;
    let mut large: Vec<TaskId> = section.tasks().filter(is_large).collect();
    large.sort_by_key(|&t| Reverse(degree(t).0 + degree(t).1));
    large.truncate(budget::NEIGHBOURS);
    for task in large {
        for up in [false, true] {
            work.pay(section.steps())?;
            split(reached(section, task, up).1);
        }
    }
    found.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    found.dedup();
    Ok(found)
}
