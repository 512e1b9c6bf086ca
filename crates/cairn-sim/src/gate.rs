//! Storage under a cap inside a run: which eligible tasks may start. Knows no worker, no time and no priorities.

use crate::eligible::Eligible;
use cairn_dag::{TaskId, narrow};
use cairn_engine::Keeper;
use cairn_theory::storage::{FileId, Storage};

/// Who may start, as far as the disk goes; the same for every run.
#[derive(Clone, Debug)]
pub enum Admission {
    /// The banker's rule, by a keeper under which nothing was started: never over its cap, and no run stops for good.
    Kept(Keeper),
    /// Whatever fits at the moment: a run stops for good once what is left needs room that half-done work holds.
    FitsNow {
        /// The files.
        storage: Storage,
        /// The cap.
        cap: u64,
    },
}

/// How many eligible tasks are looked at, in the policy's order and in the keeper's own.
const LOOK: usize = 48;

/// One run under an [`Admission`].
pub(crate) struct Gate<'a> {
    rule: Rule<'a>,
    /// By task: whether its space is reserved.
    held: Vec<bool>,
    running: usize,
    peak: u64,
}

enum Rule<'a> {
    Kept(Box<Keeper>),
    FitsNow(FitsNow<'a>),
}

struct FitsNow<'a> {
    storage: &'a Storage,
    cap: u64,
    used: u64,
    /// By file: readers that are not done.
    open: Vec<u32>,
}

impl<'a> Gate<'a> {
    pub(crate) fn new(admission: &'a Admission) -> Gate<'a> {
        let (rule, tasks) = match admission {
            Admission::Kept(keeper) => {
                let tasks = keeper.storage().tasks();
                (Rule::Kept(Box::new(keeper.clone())), tasks)
            }
            Admission::FitsNow { storage, cap } => {
                let readers = |f: FileId| narrow(storage.consumer_slots(f).len());
                let there = storage.initial().filter(|&f| storage.outlives(f));
                let rule = FitsNow {
                    used: there.map(|f| storage.bytes(f)).sum(),
                    open: storage.files().map(readers).collect(),
                    cap: *cap,
                    storage,
                };
                (Rule::FitsNow(rule), storage.tasks())
            }
        };
        let mut gate = Gate {
            rule,
            held: vec![false; tasks],
            running: 0,
            peak: 0,
        };
        gate.peak = gate.used();
        gate
    }

    fn used(&self) -> u64 {
        match &self.rule {
            Rule::Kept(keeper) => keeper.used(),
            Rule::FitsNow(now) => now.used,
        }
    }

    /// The most bytes in use so far.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Whether a task may start; another copy of one that runs writes what is reserved already.
    pub(crate) fn may(&mut self, task: TaskId) -> bool {
        self.held[task.index()]
            || match &mut self.rule {
                Rule::Kept(keeper) => keeper.may(task),
                Rule::FitsNow(now) => {
                    now.used.saturating_add(now.storage.reserved(task)) <= now.cap
                }
            }
    }

    /// The first of the eligible tasks that may start and for which there is a place: of the first few in the policy's
    /// order, else of the first few in the keeper's own.
    pub(crate) fn choose(
        &mut self,
        eligible: &Eligible,
        fits: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let mut from = 0;
        for _ in 0..LOOK {
            let Some((task, next)) = eligible.next(from) else {
                break;
            };
            from = next;
            if fits(task) && self.may(task) {
                return Some(task);
            }
        }
        let Rule::Kept(keeper) = &mut self.rule else {
            // Nobody has an order of its own: all are looked at.
            while let Some((task, next)) = eligible.next(from) {
                from = next;
                if fits(task) && self.may(task) {
                    return Some(task);
                }
            }
            return None;
        };
        let next: Vec<TaskId> = keeper.next_by_order().collect();
        let open = |t: &TaskId| eligible.contains(*t) && fits(*t);
        next.into_iter().filter(open).find(|&t| keeper.may(t))
    }

    /// Whether nothing runs and none of the eligible tasks may start: nothing will ever change.
    pub(crate) fn is_stuck(&mut self, eligible: &Eligible) -> bool {
        self.running == 0 && !eligible.is_empty() && self.choose(eligible, |_| true).is_none()
    }

    /// A task starts, or another copy of it.
    pub(crate) fn start(&mut self, task: TaskId) {
        if std::mem::replace(&mut self.held[task.index()], true) {
            return;
        }
        self.running += 1;
        match &mut self.rule {
            Rule::Kept(keeper) => keeper.start(task),
            Rule::FitsNow(now) => now.used += now.storage.reserved(task),
        }
        self.peak = self.peak.max(self.used());
    }

    /// A task has ended well: one that runs, or one that was given up for lost and returns after all.
    pub(crate) fn finish(&mut self, task: TaskId) {
        self.start(task);
        self.held[task.index()] = false;
        self.running -= 1;
        match &mut self.rule {
            Rule::Kept(keeper) => keeper.finish(task),
            Rule::FitsNow(now) => now.finish(task),
        }
    }

    /// A task is given up for lost, and what it wrote is gone.
    pub(crate) fn release(&mut self, task: TaskId) {
        if !std::mem::replace(&mut self.held[task.index()], false) {
            return;
        }
        self.running -= 1;
        match &mut self.rule {
            Rule::Kept(keeper) => keeper.release(task),
            Rule::FitsNow(now) => now.used -= now.storage.reserved(task),
        }
    }
}

impl FitsNow<'_> {
    fn finish(&mut self, task: TaskId) {
        let storage = self.storage;
        self.used -= storage.reserved(task) - storage.lasting(task);
        for file in storage.inputs(task) {
            let open = &mut self.open[file.index()];
            *open -= 1;
            if *open == 0 && !storage.is_kept(file) {
                self.used -= storage.bytes(file);
            }
        }
    }
}
