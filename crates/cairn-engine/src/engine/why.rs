//! Why a task is not running, why a worker is idle: the chooser's filters, each of which says why not. Leases nothing.

use super::Engine;
use crate::budgets::NAMED;
use crate::{Agreement, Moment, Needs, PoolId, Position, Refusal, Task, Token, WorkerId};
use cairn_theory::game::Standing;

/// Which filter keeps a task from a worker: the first that does, in the chooser's order. Whoever gives the chooser another filter
/// adds its reason here, and gives it in [`Engine::why`]: the words for people follow (`cairn-serve/src/http/why.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// The worker offers no processor.
    NoCpus,
    /// The worker has less memory than the task needs, even with nothing else to do.
    Memory {
        /// Bytes that the task needs.
        needs: u64,
        /// Bytes that the worker has.
        has: u64,
    },
    /// The worker's disk could not hold the task, even with nothing else on it.
    Disk {
        /// Bytes that the task takes in a folder of its own.
        needs: u64,
        /// Bytes that the worker has.
        has: u64,
    },
    /// The worker lacks a tag.
    Tag(String),
    /// The worker leaves before the task could be done.
    Leaves,
    /// The worker's processors are taken.
    Cpus {
        /// How many the task needs there.
        needs: u32,
        /// How many are free.
        free: u32,
    },
    /// The worker's memory is taken.
    MemoryTaken {
        /// Bytes that the task needs.
        needs: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The worker's disk is taken.
    DiskTaken {
        /// Bytes that the task takes in a folder of its own.
        needs: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Too little of a shared resource is free.
    Pool {
        /// Which one.
        pool: PoolId,
        /// How much the task needs.
        needs: u32,
        /// How much is free.
        free: u32,
    },
    /// The room is kept for a task that was overtaken too often.
    KeptFor(Task),
    /// It is kept for a worker that will end it sooner, though that one is busy.
    Faster(WorkerId),
    /// The disk might be full before the run is over.
    Storage {
        /// Bytes that are missing for anything to go on; 0 where it will go on when something ends.
        missing: u64,
    },
    /// A volunteer that has returned the task, or has it: others must say the same.
    Had,
    /// A volunteer that has as much as its results so far deserve.
    Quota,
    /// A volunteer that takes longer than the task's time.
    Slow,
    /// As many copies of it as there may be went out to volunteers.
    Worn,
    /// A volunteer, while it is kept for a more reliable one for a while, since it must be tried again.
    Reliable,
    /// A volunteer that has failed with it, or was late, while others could try.
    Failed,
}

/// Why a task is not running, or that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody works on it.
    Runs {
        /// Who.
        worker: WorkerId,
        /// As which attempt.
        token: Token,
        /// Since when.
        since: Moment,
        /// By when it should be back, where that is known.
        by: Option<Moment>,
    },
    /// Nobody works on it, and results of it wait for others that say the same.
    Validates {
        /// Equal results at the most.
        has: u32,
        /// That must be equal.
        of: u32,
        /// Why nobody gets anything at all, if so.
        refused: Option<Refusal>,
        /// Each worker that is here, with what keeps it from making one more.
        workers: Vec<(WorkerId, Option<WhyNot>)>,
    },
    /// It is done.
    Executed,
    /// It was given up.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// It can never be eligible: these, before it, were given up.
    Aborted(Vec<Task>),
    /// These parents are not executed.
    Waits(Vec<(Task, Standing)>),
    /// A task ended the run.
    Halted(i32),
    /// Too many tasks failed.
    TooManyFailures,
    /// Somebody said pause.
    Paused,
    /// It is eligible, and there is no worker.
    NoWorker,
    /// It is eligible. By worker that is here: why not, or `None` where it would be given the next time it asks, unless one of those
    /// that come before it fits as well.
    Eligible {
        /// How many eligible tasks come before it: those that must be tried again, then by the order.
        before: u64,
        /// Each worker that is here.
        workers: Vec<(WorkerId, Option<WhyNot>)>,
    },
}

impl<P: Position> Engine<P> {
    /// Why the task is not running; `None` if there is no such task.
    pub fn why(&mut self, now: Moment, task: Task) -> Option<Why> {
        let standing = self.position.standing(task).ok()?;
        Some(match standing {
            Standing::Executed => Why::Executed,
            Standing::Failed => Why::Failed,
            Standing::Cancelled => Why::Cancelled,
            Standing::Aborted => Why::Aborted(self.given_up_before(task)),
            Standing::Leased => match self.lease(task) {
                Some((worker, token, since)) => Why::Runs {
                    worker,
                    token,
                    since,
                    by: self.expected_by(task, token),
                },
                None => self.why_validates(now, task),
            },
            Standing::Waiting => {
                let parents = self.position.parents(task).into_iter();
                let waits = parents.filter_map(|parent| {
                    let standing = self.position.standing(parent).ok()?;
                    (standing != Standing::Executed).then_some((parent, standing))
                });
                Why::Waits(waits.collect())
            }
            Standing::Eligible => self.why_eligible(now, task),
        })
    }

    fn why_validates(&self, now: Moment, task: Task) -> Why {
        let of = self.trust.distrust().agree();
        let (has, of) = match self.trust.agreement(task) {
            Agreement::Waits { has, of } => (has, of),
            _ => (of, of),
        };
        let needs = self.needs(task);
        let each = |worker| (worker, self.why_not(now, worker, task, &needs));
        let workers = self.present().map(each).collect();
        let refused = self.refuses_all();
        Why::Validates {
            has,
            of,
            refused,
            workers,
        }
    }

    fn why_eligible(&mut self, now: Moment, task: Task) -> Why {
        match self.refuses_all() {
            Some(Refusal::Halted) => return Why::Halted(self.halted.unwrap_or(0)),
            Some(Refusal::TooManyFailures) => return Why::TooManyFailures,
            Some(Refusal::Paused) => return Why::Paused,
            _ => (),
        }
        let here: Vec<WorkerId> = self.present().collect();
        if here.is_empty() {
            return Why::NoWorker;
        }
        self.drop_idle_reservation();
        self.sync_keeper();
        let needs = self.needs(task);
        let storage = self.why_not_stored(task);
        let each = |worker| {
            let why = self.why_not(now, worker, task, &needs);
            (worker, why.or_else(|| storage.clone()))
        };
        let workers = here.into_iter().map(each).collect();
        let place = self.place_of(task);
        let mut before = 0;
        self.position.eligible(&mut |other| {
            before += u64::from(self.place_of(other) < place);
        });
        Why::Eligible { before, workers }
    }

    /// Whether the keeper of storage, if there is one, holds an eligible task back.
    fn why_not_stored(&mut self, task: Task) -> Option<WhyNot> {
        let (keeper, id) = self.keeper.as_deref_mut().zip(task.frozen())?;
        let missing = keeper.missing();
        (!keeper.may(id)).then_some(WhyNot::Storage { missing })
    }

    /// The first of the chooser's filters that keeps a task of these needs from this worker; storage is not asked.
    fn why_not(&self, now: Moment, worker: WorkerId, task: Task, needs: &Needs) -> Option<WhyNot> {
        // In the order in which the chooser asks: what can never change at this worker before what others take for the moment.
        // People would go after the wrong cause if a later filter were named where an earlier one stands in the way.
        let asked = &self.workers[worker.index()];
        let offer = &asked.offer;
        if !asked.could(now, needs) {
            let lacks = |tag: &&String| !offer.tags.contains(tag);
            return Some(match () {
                () if offer.cpus == 0 => WhyNot::NoCpus,
                () if offer.memory.is_some_and(|has| has < needs.memory) => WhyNot::Memory {
                    needs: needs.memory,
                    has: offer.memory.unwrap_or(0),
                },
                () => match needs.tags.iter().find(lacks) {
                    Some(tag) => WhyNot::Tag(tag.clone()),
                    None => WhyNot::Leaves,
                },
            });
        }
        if !self.could_hold(worker, task) {
            return Some(WhyNot::Disk {
                needs: self.weight(task),
                has: offer.disk.unwrap_or(0),
            });
        }
        if !asked.has_room(needs) {
            let wanted = offer.cpus_for(needs);
            let (busy_cpus, busy_memory) = asked.busy();
            let free = offer.cpus.saturating_sub(busy_cpus);
            let memory = offer.most_memory();
            return Some(match wanted > free {
                true => WhyNot::Cpus {
                    needs: wanted,
                    free,
                },
                false => WhyNot::MemoryTaken {
                    needs: needs.memory,
                    free: memory.saturating_sub(busy_memory),
                },
            });
        }
        let free = |pool: PoolId| {
            let place = pool.0 as usize;
            self.rules.pools[place].saturating_sub(self.pools_busy[place])
        };
        let short = needs.pools.iter().find(|&&(pool, many)| many > free(pool));
        if let Some(&(pool, needs)) = short {
            let free = free(pool);
            return Some(WhyNot::Pool { pool, needs, free });
        }
        if !self.has_space(worker, task) {
            let held = asked.holds.iter().map(|&(held, _)| self.weight(held));
            let held = held.fold(0, u64::saturating_add);
            return Some(WhyNot::DiskTaken {
                needs: self.weight(task),
                free: offer.disk.unwrap_or(0).saturating_sub(held),
            });
        }
        if let Some(why) = self.why_distrusted(now, worker, task, needs) {
            return Some(why);
        }
        let kept = self.reservation.map(|kept| kept.task);
        let kept = kept.filter(|_| self.is_kept_from(worker, task, needs));
        let faster = || self.faster(task).filter(|&other| other != worker);
        kept.map(WhyNot::KeptFor)
            .or_else(|| faster().map(WhyNot::Faster))
    }

    /// Why the worker would get nothing if it asked now: what [`Engine::ask`] would answer, without asking. `None` where it would get a
    /// task.
    pub fn why_idle(&mut self, now: Moment, worker: WorkerId) -> Option<Refusal> {
        let known = self.workers.get(worker.index());
        if !known.is_some_and(|w| w.is_here) {
            return Some(Refusal::Unknown);
        }
        match self.weigh(now, worker) {
            Err(refusal) => Some(refusal),
            Ok((_, None)) => self.first_kept().map(|(task, faster)| Refusal::KeptFor {
                task,
                worker: faster,
            }),
            Ok((_, Some(wide))) => self.would_keep(worker, wide).then_some(Refusal::Held(wide)),
        }
    }

    /// The first eligible tasks by the order that the worker would not get, so many at the most, and why not. None where it is gone.
    pub fn passed_over(
        &mut self,
        now: Moment,
        worker: WorkerId,
        most: usize,
    ) -> Vec<(Task, WhyNot)> {
        let known = self.workers.get(worker.index());
        if !known.is_some_and(|w| w.is_here) {
            return Vec::new();
        }
        self.drop_idle_reservation();
        self.sync_keeper();
        let mut first: Vec<(u64, Task)> = Vec::new();
        self.position
            .eligible(&mut |task| first.push((self.order().rank(task), task)));
        first.sort_unstable();
        let mut found = Vec::new();
        for (_, task) in first {
            let needs = self.needs(task);
            let why = self.why_not(now, worker, task, &needs);
            found.extend(
                why.or_else(|| self.why_not_stored(task))
                    .map(|why| (task, why)),
            );
            if found.len() >= most {
                break;
            }
        }
        found
    }

    /// Tasks before it that failed or were cancelled, the nearest first.
    fn given_up_before(&self, task: Task) -> Vec<Task> {
        let (mut found, mut next) = (Vec::new(), vec![task]);
        let mut seen = hashbrown::HashSet::new();
        while let Some(task) = next.pop().filter(|_| found.len() < NAMED) {
            for parent in self.position.parents(task) {
                if !seen.insert(parent) {
                    continue;
                }
                match self.position.standing(parent) {
                    Ok(Standing::Failed | Standing::Cancelled) => found.push(parent),
                    Ok(Standing::Aborted) => next.push(parent),
                    _ => (),
                }
            }
        }
        found.sort_unstable();
        found
    }
}
