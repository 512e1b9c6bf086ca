//! Copies of a task: who gets one. What results come to is decided by [`crate::Trust`]; what a task is, by the rule of copies
//! (`leases.rs`).

use super::Engine;
use super::wanted::Place;
use crate::budgets::request::LONGEST_OUT;
use crate::{
    ClassId, ClientId, Granted, Moment, Needs, Outbox, Position, Refusal, Span, Task, WhyNot,
    WorkerId,
};
use cairn_theory::game::Standing;
use std::cmp::Reverse;

/// For so long what is to be tried again is kept for reliable clients, where there are some.
// As BOINC does: retries go to reliable hosts first. Not for long: those may be busy. The minute is a judgement.
const KEPT: Span = Span::seconds(60);

/// Who asks for copies.
struct Asking {
    now: Moment,
    worker: WorkerId,
    client: Option<ClientId>,
    /// Whether somebody more reliable is here, once somebody wants to know.
    yields: Option<bool>,
}

impl Asking {
    fn new(now: Moment, worker: WorkerId, client: Option<ClientId>) -> Asking {
        Asking {
            now,
            worker,
            client,
            yields: None,
        }
    }
}

impl<P: Position> Engine<P> {
    /// Notes whether another copy of the task is needed.
    pub(super) fn want(&mut self, task: Task) {
        let is_wanted = match self.position.standing(task) {
            // Eligible, though volunteers had it: all copies ended without a result. It is in no queue, so it must be
            // wanted here.
            Ok(Standing::Eligible) => self.trust.has(task),
            Ok(Standing::Leased) => self.trust.wanted(task) > 0,
            _ => false,
        };
        let group = is_wanted.then(|| (self.class(task), self.trust.barred(task)));
        // Always set anew: with each event who is barred, what it needs and its place may be others.
        self.wanted.set(self.place_of(task), task, group);
    }

    /// Where a task comes among those of which a copy is needed: what must be tried again before the others.
    pub(super) fn place_of(&self, task: Task) -> Place {
        Place {
            is_plain: !self.trust.is_retry(task),
            rank: self.queue.order().rank(task),
        }
    }

    /// Whether copies that are needed so go before tasks that nobody has begun with, whatever their ranks.
    pub(super) fn goes_first(&self, copy: Place) -> bool {
        let distrust = self.trust.distrust();
        distrust.raises(!copy.is_plain, self.left_of_all())
    }

    /// The same for all tasks: after a restart, or when the order changed.
    pub(super) fn want_anew(&mut self) {
        self.wanted.clear();
        let tasks: Vec<Task> = self.trust.tasks().collect();
        tasks.into_iter().for_each(|task| self.want(task));
    }

    /// Whether a volunteer is refused, whatever there is.
    pub(super) fn is_spent(&self, now: Moment, worker: WorkerId) -> bool {
        !self.trust.is_idle()
            && (self.client(worker)).is_some_and(|client| !self.trust.has_quota(client, now))
    }

    /// Whether the worker, if a volunteer, can be back in time with the task: by what such tasks take there, where that is known,
    /// else by what its tasks took so far.
    pub(super) fn is_in_time(&self, worker: WorkerId, task: Task) -> bool {
        self.trust.is_idle()
            || self.client(worker).is_none_or(|client| {
                let takes = self.foreseen(task, worker);
                let takes = takes.map(|(takes, _)| Span(takes as u64));
                self.trust.is_in_time(client, takes, self.span(task))
            })
    }

    /// The first task by place of which a copy is needed that the worker may have. O(sets of clients that tasks must go without
    /// + tasks that are kept from it for a while).
    pub(super) fn next_copy(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Option<(Place, ClassId, Task)> {
        if self.wanted.is_empty() {
            return None;
        }
        // Asking needs the whole engine, while this is gone through. Nothing that is asked on the way wants a task or stops
        // wanting it.
        let wanted = std::mem::take(&mut self.wanted);
        let mut asking = Asking::new(now, worker, self.client(worker));
        let mut best = None;
        for (class, tasks) in wanted.open_to(asking.client) {
            let needs = self.queue.needs(class);
            let known = &self.workers[worker.index()];
            if !known.could(now, needs) || !known.has_room(needs) || !self.has_pools(needs) {
                continue;
            }
            let each = tasks.iter().map(|&(place, task)| (place, class, task));
            // By rising place: behind the best so far there is none better.
            let mut better = each.take_while(|&found| best.is_none_or(|best| found < best));
            if let Some(found) =
                better.find(|&(_, class, task)| self.may_try(&mut asking, class, task))
            {
                best = Some(found);
            }
        }
        self.wanted = wanted;
        best
    }

    /// Whether the worker, which could and has room, may have a copy of a task that is wanted.
    fn may_try(&mut self, asking: &mut Asking, class: ClassId, task: Task) -> bool {
        let &mut Asking { worker, client, .. } = asking;
        // A task whose parents were reopened is wanted by nobody until they are executed.
        let standing = self.position.standing(task);
        if standing == Ok(Standing::Waiting)
            || !self.may_copy(worker, client, task)
            || !self.could_hold(worker, task)
            || !self.has_space(worker, task)
            || !self.is_in_time(worker, task)
            || self.is_kept_from(worker, task, self.queue.needs(class))
            || self.is_kept_for_reliable(asking, task)
            || self.others_come_first(asking, self.queue.needs(class), task)
        {
            return false;
        }
        // What somebody has is reserved already.
        standing == Ok(Standing::Leased) || self.keeper_lets(task)
    }

    /// Gives a worker a copy of a task that others have: the second of two chances, for whoever decides that it is worth one.
    ///
    /// # Errors
    /// Why it does not get it: it is not here, has it, has no room for it, shares its disk with others who have it, or the
    /// task is not leased.
    pub fn copy(
        &mut self,
        now: Moment,
        worker: WorkerId,
        task: Task,
        out: &mut Outbox,
    ) -> Result<Granted, Refusal> {
        self.hear(now, worker)?;
        if let Some(refusal) = self.refuses_all() {
            return Err(refusal);
        }
        if self.is_spent(now, worker) {
            return Err(Refusal::Quota);
        }
        let class = self.class_of_copy(now, worker, task)?;
        Ok(self.grant(now, worker, class, task, out))
    }

    /// What a copy of a task that others have would need, if the worker can have one.
    pub(super) fn class_of_copy(
        &mut self,
        now: Moment,
        worker: WorkerId,
        task: Task,
    ) -> Result<ClassId, Refusal> {
        let is_begun = self.position.standing(task) == Ok(Standing::Leased);
        if !is_begun || !self.may_copy(worker, self.client(worker), task) {
            return Err(Refusal::Others);
        }
        let class = self.class(task);
        let needs = self.queue.needs(class);
        let asking = &self.workers[worker.index()];
        if !asking.could(now, needs) || !self.could_hold(worker, task) {
            return Err(Refusal::NothingFits);
        }
        if !asking.has_room(needs) || !self.has_pools(needs) || !self.has_space(worker, task) {
            return Err(Refusal::Full);
        }
        Ok(class)
    }

    /// Whether nothing stands against the worker having an attempt at a task that others have or had.
    fn may_copy(&self, worker: WorkerId, client: Option<ClientId>, task: Task) -> bool {
        let shares = |w: WorkerId| self.workers[w.index()].offer.is_shared;
        let mut live = self.leases.of(task).peekable();
        let is_alone = live.peek().is_none();
        (is_alone || !shares(worker))
            // Two attempts in one folder would write over each other's files.
            && live.all(|lease| lease.worker != worker && !shares(lease.worker))
            && client.is_none_or(|client| self.trust.may(task, client) && !self.trust.is_worn(task))
    }

    /// What keeps a task from a volunteer.
    pub(super) fn why_distrusted(
        &self,
        now: Moment,
        worker: WorkerId,
        task: Task,
        needs: &Needs,
    ) -> Option<WhyNot> {
        let client = self.client(worker)?;
        let mut asking = Asking::new(now, worker, Some(client));
        match () {
            () if !self.trust.may(task, client) => Some(WhyNot::Had),
            () if self.is_spent(now, worker) => Some(WhyNot::Quota),
            () if self.trust.is_worn(task) => Some(WhyNot::Worn),
            () if !self.is_in_time(worker, task) => Some(WhyNot::Slow),
            () if !self.trust.has(task) => None,
            () if self.is_kept_for_reliable(&mut asking, task) => Some(WhyNot::Reliable),
            () if self.others_come_first(&asking, needs, task) => Some(WhyNot::Failed),
            () => None,
        }
    }

    /// Whoever has failed with a task, or was late, gets it again only where nobody else is there for it: for as long as a copy
    /// has, since by then the others could have had it.
    fn others_come_first(&self, asking: &Asking, needs: &Needs, task: Task) -> bool {
        let &Asking {
            now,
            worker,
            client,
            ..
        } = asking;
        let Some(client) = client.filter(|&client| self.trust.has_failed(task, client)) else {
            return false;
        };
        // The others had their chance. Without an end to it, a task that only one client is ever free for would wait
        // for ever.
        if now.since(self.trust.quiet_since(task)) >= self.span(task) {
            return false;
        }
        let mut others = self.here.iter().filter(|&&w| w != worker);
        others.any(|&other| {
            let of = self.client(other);
            of != Some(client)
                && of.is_none_or(|of| !self.trust.has_failed(task, of))
                && self.may_copy(other, of, task)
                && self.workers[other.index()].could(now, needs)
                && self.could_hold(other, task)
                && !self.is_spent(now, other)
        })
    }

    /// Whether what must be tried again is kept for a while for somebody more reliable who is here.
    fn is_kept_for_reliable(&self, asking: &mut Asking, task: Task) -> bool {
        let Some(client) = asking.client else {
            return false;
        };
        // Whether somebody reliable is here is asked only then, and once a request: it goes over all who are here.
        let is_fresh = asking.now.since(self.trust.quiet_since(task)) < KEPT;
        is_fresh
            && self.trust.is_retry(task)
            && *asking.yields.get_or_insert_with(|| {
                let mut clients = self.here.iter().filter_map(|&w| self.client(w));
                !self.trust.is_reliable(client) && clients.any(|c| self.trust.is_reliable(c))
            })
    }

    /// For a fast volunteer without anything else to do: one more copy of a task that somebody takes long with, twice as long as
    /// such tasks do, or as long where the run is in its tail. The task that opens most goes first.
    pub(super) fn extra_copy(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Option<(u64, ClassId, Task)> {
        let client = self.client(worker)?;
        if !self.trust.is_fast(client) {
            return None;
        }
        let left = self.left_of_all();
        let is_tail = left.is_some_and(|(left, all)| self.trust.distrust().is_tail(left, all));
        // In the tail nothing else is left to do for who is idle; before it, a copy takes a place that a new task
        // could have.
        let times = if is_tail { 1 } else { 2 };
        let agree = self.trust.distrust().agree() as usize;
        let late = |&(since, task): &(Moment, Task)| {
            let takes = self.trust.takes(self.rules.kind(task));
            takes.is_some_and(|t| now.since(since).0 > t.0.saturating_mul(times))
        };
        let longest = self.trust.longest_out().take(LONGEST_OUT);
        let late: Vec<Task> = longest.filter(late).map(|(_, task)| task).collect();
        let mut best = None;
        for task in late {
            let class = self.class(task);
            let needs = self.queue.needs(class);
            let asking = &self.workers[worker.index()];
            // As many as must agree are wanted in any case: one beyond them, and no more.
            if self.leases.of(task).count() <= agree
                && !self.trust.has_failed(task, client)
                && self.may_copy(worker, Some(client), task)
                && asking.could(now, needs)
                && asking.has_room(needs)
                && self.has_pools(needs)
                && self.could_hold(worker, task)
                && self.has_space(worker, task)
            {
                let rank = Reverse(self.queue.order().rank(task));
                best = best.max(Some((self.position.opens(task), rank, task, class)));
            }
        }
        let (_, Reverse(rank), task, class) = best?;
        Some((rank, class, task))
    }

    /// How many tasks are still to be executed, of how many; `None` where nobody can count them.
    fn left_of_all(&self) -> Option<(u64, u64)> {
        let count = |standing| self.position.count(standing);
        let open = [Standing::Waiting, Standing::Eligible, Standing::Leased].map(count);
        let left = open
            .iter()
            .try_fold(0, |sum, count| Some(sum + (*count)?))?;
        Some((left, left + count(Standing::Executed)?))
    }
}
