//! Who gets which task. Changes nothing but what it remembers of those that were overtaken.

use super::{Engine, Reservation};
use crate::budgets::request::{FEWEST_CPUS, OVERTAKEN};
use crate::{ClassId, Keeper, Moment, Needs, Position, Refusal, Task, WorkerId};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// The best task for the worker.
    pub(super) fn choose(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Result<(ClassId, Task), Refusal> {
        let (best, overtaken) = self.weigh(now, worker)?;
        if let Some(wide) = overtaken {
            self.overtake(worker, wide)?;
        }
        Ok(best)
    }

    /// The best task for the worker, and the one that it would overtake. Nothing is remembered of that.
    #[allow(
        clippy::type_complexity,
        reason = "a task with its class, and perhaps another"
    )]
    pub(super) fn weigh(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Result<((ClassId, Task), Option<Task>), Refusal> {
        let passed = self.pass_over(worker);
        let weighed = self.weigh_queue(now, worker);
        let is_passed = !passed.is_empty();
        for (class, task) in passed {
            // Whatever came of it: they were taken out only so as not to stand before others.
            self.queue.push(class, task);
        }
        match weighed {
            Err(Refusal::NothingEligible) if is_passed => Err(Refusal::NothingFits),
            weighed => weighed,
        }
    }

    #[allow(clippy::type_complexity, reason = "as above")]
    fn weigh_queue(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Result<((ClassId, Task), Option<Task>), Refusal> {
        if let Some(refusal) = self.refuses_all() {
            return Err(refusal);
        }
        if self.is_spent(now, worker) {
            return Err(Refusal::Quota);
        }
        self.tell_sources();
        self.drop_idle_reservation();
        self.requeue_withheld();
        let (mut best, mut blocked, mut unfit) = (None, None, false);
        for class in self.queue.classes() {
            let Some((rank, task)) = self.first_allowed(class) else {
                continue;
            };
            let asking = &self.workers[worker.index()];
            let needs = self.queue.needs(class);
            let candidate = (rank, class, task);
            if !asking.could(now, needs) || !self.could_hold(worker, task) {
                unfit = true;
            } else if !asking.has_room(needs)
                || !self.has_pools(needs)
                || !self.has_space(worker, task)
            {
                // It could, but has no room now: the first of these is the one that is overtaken.
                blocked = blocked.filter(|&b| b < candidate).or(Some(candidate));
            } else if !self.is_in_time(worker, task) {
                unfit = true;
            } else if !self.is_kept_from(worker, task, needs) {
                best = best.filter(|&b| b < candidate).or(Some(candidate));
            }
        }
        if best.is_none() {
            // What the keeper needs next may lie behind all that it was asked about.
            best = self.next_by_storage(now, worker);
        }
        if let Some((place, class, task)) = self.next_copy(now, worker) {
            let copy = (place.rank, class, task);
            let is_first = |b: &(u64, ClassId, Task)| *b < copy && !self.goes_first(place);
            best = best.filter(is_first).or(Some(copy));
        }
        // Last of all: a copy that nobody needs yet must not go before anything that somebody does.
        if best.is_none() && !self.trust.is_idle() {
            best = self.extra_copy(now, worker);
        }
        let asking = &self.workers[worker.index()];
        match (best, blocked) {
            (Some((rank, class, task)), Some((first, _, wide))) if first < rank => {
                Ok(((class, task), Some(wide)))
            }
            (Some((_, class, task)), _) => Ok(((class, task), None)),
            (None, blocked) => Err(match (self.reservation, blocked) {
                _ if !asking.has_room(&Needs::default()) => Refusal::Full,
                (Some(kept), _) => Refusal::Held(kept.task),
                (None, Some((_, _, task))) => Refusal::Held(task),
                (None, None) if !self.withheld.is_empty() => Refusal::Storage {
                    missing: self.keeper().map_or(0, Keeper::missing),
                },
                (None, None) if unfit => Refusal::NothingFits,
                (None, None) if !self.wanted.is_empty() => Refusal::Others,
                (None, None) => Refusal::NothingEligible,
            }),
        }
    }

    /// Why nobody gets anything, whatever there is.
    pub(super) fn refuses_all(&self) -> Option<Refusal> {
        match () {
            () if self.halted.is_some() => Some(Refusal::Halted),
            () if self.position.is_settled() => Some(Refusal::Finished),
            () if self.has_too_many_failures() => Some(Refusal::TooManyFailures),
            () if self.is_paused => Some(Refusal::Paused),
            () => None,
        }
    }

    /// Smaller tasks may overtake one that lacks room, but not for ever: then its room is kept.
    pub(super) fn overtake(&mut self, worker: WorkerId, wide: Task) -> Result<(), Refusal> {
        if self.reservation.is_some() {
            return Ok(());
        }
        *self.overtaken.entry(wide).or_insert(0) += 1;
        let times = self.overtaken[&wide];
        if times <= self.patience(worker) {
            return Ok(());
        }
        let lacks_room = self.lacks_room(worker, wide);
        // Room is kept for one at a time: for the others it begins anew.
        self.overtaken.clear();
        self.reservation = Some(Reservation {
            task: wide,
            worker: lacks_room.then_some(worker),
        });
        // What does not stand in its way may still go.
        match lacks_room {
            true => Err(Refusal::Held(wide)),
            false => Ok(()),
        }
    }

    /// How often a task is overtaken before its room is kept on this worker.
    fn patience(&self, worker: WorkerId) -> u32 {
        OVERTAKEN * self.workers[worker.index()].offer.cpus.max(FEWEST_CPUS)
    }

    /// Whether the worker would get nothing, since room is kept for this task from now on.
    pub(super) fn would_keep(&self, worker: WorkerId, wide: Task) -> bool {
        let times = self.overtaken.get(&wide).map_or(0, |&times| times) + 1;
        self.reservation.is_none() && times > self.patience(worker) && self.lacks_room(worker, wide)
    }

    /// Whether a task that the worker could do waits for room there, or for its share of a pool.
    pub(super) fn waits_for_room(&self, worker: WorkerId, task: Task) -> bool {
        self.lacks_room(worker, task) || !self.has_pools(&self.needs(task))
    }

    /// Whether a task that the worker could do has no room there now.
    fn lacks_room(&self, worker: WorkerId, task: Task) -> bool {
        let has_room = self.workers[worker.index()].has_room(&self.needs(task));
        !has_room || !self.has_space(worker, task)
    }

    /// Whether room that this task would take is kept for another.
    pub(super) fn is_kept_from(&self, worker: WorkerId, task: Task, needs: &Needs) -> bool {
        let Some(kept) = self.reservation.filter(|kept| kept.task != task) else {
            return false;
        };
        kept.worker == Some(worker) || needs.shares_pool_with(&self.needs(kept.task))
    }

    /// Whether the task may start as far as the disk goes.
    pub(super) fn keeper_lets(&mut self, task: Task) -> bool {
        let keeper = self.keeper.as_deref_mut().zip(task.frozen());
        keeper.is_none_or(|(keeper, id)| keeper.may(id))
    }

    /// Nothing is kept for a task that is no longer eligible, or that the disk has no room for: others must go first. Nor on a
    /// worker that is gone.
    pub(super) fn drop_idle_reservation(&mut self) {
        let Some(kept) = self.reservation else { return };
        let waits = self.position.standing(kept.task) == Ok(Standing::Eligible);
        let here = |w: WorkerId| self.workers.get(w.index()).is_some_and(|w| w.is_here);
        // One that the keeper refuses may wait for just those from whom its room is kept.
        if !waits || !kept.worker.is_none_or(here) || !self.keeper_lets(kept.task) {
            // Kept for nobody, it would only keep others from it: a run could stop for that.
            self.reservation = None;
        }
    }

    pub(super) fn has_pools(&self, needs: &Needs) -> bool {
        let free = |&(pool, amount): &(crate::PoolId, u32)| {
            let (busy, all) = (
                self.pools_busy[pool.0 as usize],
                self.rules.pools[pool.0 as usize],
            );
            busy.saturating_add(amount) <= all
        };
        needs.pools.iter().all(free)
    }

    /// Sources that come before all that is known are known from now on.
    pub(super) fn tell_sources(&mut self) {
        while let Some(source) = self.position.next_source() {
            let class = self.rules.class(source);
            let is_first = (self.queue.first(class))
                .is_none_or(|(rank, _)| self.queue.order().rank(source) < rank);
            // No more of them than come first: a family may have sources without number.
            if !is_first {
                return;
            }
            self.position.take_source();
            self.queue.push(class, source);
        }
    }
}
