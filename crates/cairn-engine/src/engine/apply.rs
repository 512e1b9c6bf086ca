//! The only place where the state changes, by events alone. Decides nothing.

use super::Engine;
use crate::leases::{Lease, standing_after};
use crate::trust::End;
use crate::{
    Cause, ClassId, Digest, Entry, Event, Gone, Illegal, Keeper, Moment, Offer, Outbox, Position,
    Release, Task, Token, Worker, WorkerId,
};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// Lets an event happen that was checked before, and writes it down.
    pub(super) fn commit(&mut self, now: Moment, event: Event, out: &mut Outbox) {
        let done = self.apply(now, &event);
        // One that is refused would be in the log all the same, and no replay could get past it: a fault of ours,
        // which tests must see.
        debug_assert_eq!(done, Ok(()), "{event:?}");
        self.settle_books(out);
        if !self.trust.is_idle()
            && let Some(task) = event.task()
        {
            self.want(task);
        }
        out.entries.push(Entry { at: now, event });
    }

    /// Queues what became eligible, tells what was aborted.
    pub(super) fn settle_books(&mut self, out: &mut Outbox) {
        let mut opened = std::mem::take(&mut self.opened);
        for task in opened.drain(..) {
            self.enqueue(task);
            self.tell_dispatch(task, |d, t| d.stands(t, Standing::Eligible));
        }
        // Empty, with its room for the next.
        self.opened = opened;
        out.aborted.append(&mut self.aborted);
    }

    fn enqueue(&mut self, task: Task) {
        match self.trust.has(task) {
            // What a volunteer has had is in no queue: the queue knows nothing of who may not have it.
            true => self.want(task),
            false => {
                let class = self.class(task);
                self.queue.push(class, task);
            }
        }
    }

    /// The class of what the task needs now.
    pub(super) fn class(&mut self, task: Task) -> ClassId {
        match self.tries.get(&task) {
            Some(tries) if tries.memory.is_some() || tries.limit.is_some() => {
                let needs = self.needs(task);
                self.queue.class(needs)
            }
            _ => self.rules.class(task),
        }
    }

    /// The only place where the state changes.
    pub(super) fn apply(&mut self, at: Moment, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::Opened { epoch } => {
                self.epoch = *epoch;
                // A new start after the user mended something: the run goes on.
                self.halted = None;
            }
            Event::Ordered { plan } => self.plan = *plan,
            Event::Joined {
                worker,
                name,
                offer,
            } => self.joined(*worker, name, offer)?,
            Event::Remembered { client, record } => self.trust.begin_with(*client, record),
            Event::Forgotten { worker } => self.forget(at, *worker)?,
            Event::Departed { worker, why } => self.departed(*worker, *why)?,
            Event::Leased {
                task,
                token,
                worker,
                due,
            } => self.leased(*task, *token, *worker, (at, *due))?,
            Event::Returned {
                task,
                token,
                worker,
                digest,
            } => self.returned(at, (*task, *token), *worker, *digest)?,
            Event::Disputed { task } => self.disputed(*task)?,
            Event::Executed {
                task,
                token,
                worker,
            } => self.executed(at, *task, *token, *worker)?,
            Event::Failed {
                task,
                token,
                cause,
                for_good,
                ..
            } => self.failed(at, (*task, *token), *cause, *for_good)?,
            Event::Released {
                task,
                token,
                why,
                for_good,
            } => self.released(at, (*task, *token), *why, *for_good)?,
            Event::Cancelled { task } => self.cancelled(*task)?,
            Event::Revived { task } => self.revived(*task)?,
            Event::Reopened { task } => self.reopened(*task)?,
            Event::Paused => self.is_paused = true,
            Event::Unpaused => self.is_paused = false,
            Event::Halted { exit } => self.halted = Some(*exit),
        }
        Ok(())
    }

    fn joined(&mut self, worker: WorkerId, name: &str, offer: &Offer) -> Result<(), Illegal> {
        // The log alone says who is who: one entry missing, and all later ones would speak of others.
        if worker.index() != self.workers.len() {
            return Err(Illegal("workers join out of order".into()));
        }
        let known = Worker::new(name.to_owned(), offer.clone());
        if let Some(dispatch) = &mut self.dispatch {
            let name = known.book_name(self.trust.distrust());
            dispatch.joined(&name, offer.cpus, offer.told_speed());
        }
        self.trust.joined(offer.client);
        self.here.insert(worker);
        self.volunteers += usize::from(offer.client.is_some());
        self.workers.push(known);
        Ok(())
    }

    fn departed(&mut self, worker: WorkerId, why: Gone) -> Result<(), Illegal> {
        let known = self.known(worker)?;
        known.is_here = false;
        known.was_lost = why == Gone::Lost;
        let client = known.client();
        if self.here.remove(&worker) {
            self.gone.push_back(worker);
            self.volunteers -= usize::from(client.is_some());
            self.trust.departed(client);
        }
        if let Some(dispatch) = &mut self.dispatch {
            dispatch.departed(worker);
        }
        Ok(())
    }

    /// A worker has the task since then, and until then.
    fn leased(
        &mut self,
        task: Task,
        token: Token,
        worker: WorkerId,
        (at, due): (Moment, Option<Moment>),
    ) -> Result<(), Illegal> {
        let client = self.known(worker)?.client();
        match self.position.standing(task)? {
            // A second attempt does not move the task: the keeper has reserved for it already.
            Standing::Leased => self.add_copy(task, token, worker)?,
            _ => {
                self.position.lease(task)?;
                self.tell_keeper(task, Keeper::start);
            }
        }
        self.take(task, token, worker, (at, due));
        let kind = self.rules.kind(task);
        (self.trust).leased(task, token, (worker, client), kind, at);
        Ok(())
    }

    fn returned(
        &mut self,
        at: Moment,
        (task, token): (Task, Token),
        worker: WorkerId,
        digest: Digest,
    ) -> Result<(), Illegal> {
        self.once_known(worker)?;
        if self.position.standing(task)? == Standing::Eligible {
            // It came late, and nobody had begun anew: now it waits for validation.
            self.position.lease(task)?;
            self.tell_keeper(task, Keeper::start);
        }
        // Before it is put back, which tells of an end without a result.
        if let Some(&Lease { worker, since, .. }) = self.leases.get(task, token) {
            self.note_return(at, since, task, worker);
        }
        self.put_back(task, token);
        let tries = self.tries.entry(task).or_default();
        tries.ended(token, Some(worker));
        self.trust.returned(task, token, digest, at);
        Ok(())
    }

    fn executed(
        &mut self,
        at: Moment,
        task: Task,
        token: Token,
        worker: WorkerId,
    ) -> Result<(), Illegal> {
        self.once_known(worker)?;
        // Before any book changes, since it may refuse.
        self.position.execute(task, &mut self.opened)?;
        if let Some(&Lease { worker, since, .. }) = self.leases.get(task, token) {
            self.note_return(at, since, task, worker);
        }
        self.tell_dispatch(task, |d, t| d.stands(t, Standing::Executed));
        // Asked before one is put back: of two that leaves no copies.
        let may_have_others = self.leases.has_copies() || self.trust.has(task);
        let own = self.put_back(task, token);
        // Whoever was given up for lost has none of its own: others may be at it.
        if may_have_others || own.is_none() {
            self.put_all_back(task);
        }
        self.tell_keeper(task, Keeper::execute);
        // First attempts need no book: `Reopened` knows that there was one.
        if let Some(tries) = self.tries.get_mut(&task) {
            tries.ended(token, Some(worker));
        }
        self.trust.executed(task, token, self.rules.kind(task));
        if let Some(known) = self.workers.get_mut(worker.index()) {
            known.executed += 1;
        }
        Ok(())
    }

    fn failed(
        &mut self,
        at: Moment,
        (task, token): (Task, Token),
        cause: Cause,
        for_good: bool,
    ) -> Result<(), Illegal> {
        // As they were for this attempt: they may grow below.
        let needs = self.needs(task);
        let (lease, goes_on) = self.end_attempt(task, token, for_good)?;
        // Of volunteers trust counts the failures; what they claim makes no limit grow.
        if self.is_vouched_for(lease) {
            let here = self.here.iter().map(|w| &self.workers[w.index()]);
            // No limit grows beyond what the largest worker has, or the task would fit nobody any more.
            let most = here.map(|w| w.offer.most_memory()).max();
            let tries = self.tries.entry(task).or_default();
            tries.failed(token, cause, &needs, most);
        }
        if let Some(lease) = lease {
            self.workers[lease.worker.index()].failed += 1;
            self.tell_dispatch(task, |d, _| d.failed(lease.worker));
        }
        self.note_let_go(lease, (task, token));
        self.ended(at, (task, token), End::Error, goes_on, for_good);
        Ok(())
    }

    fn released(
        &mut self,
        at: Moment,
        (task, token): (Task, Token),
        why: Release,
        for_good: bool,
    ) -> Result<(), Illegal> {
        let (lease, goes_on) = self.end_attempt(task, token, for_good)?;
        if why == Release::Lost {
            if self.is_vouched_for(lease) {
                self.tries.entry(task).or_default().losses += 1;
            }
            if let Some(lease) = lease {
                self.workers[lease.worker.index()].lost += 1;
                self.tell_dispatch(task, |d, _| d.lost(lease.worker));
            }
        }
        if matches!(why, Release::GivenBack | Release::Redundant) {
            self.note_let_go(lease, (task, token));
        }
        self.ended(at, (task, token), why.into(), goes_on, for_good);
        Ok(())
    }

    /// Whether the one who had the lease, if anybody, is no volunteer.
    fn is_vouched_for(&self, lease: Option<Lease>) -> bool {
        lease.is_none_or(|l| self.workers[l.worker.index()].client().is_none())
    }

    /// Whoever had an attempt is not at it any more, and knows so. Of volunteers `late` has what they still name.
    fn note_let_go(&mut self, lease: Option<Lease>, attempt: (Task, Token)) {
        let worker = lease.map(|lease| &mut self.workers[lease.worker.index()]);
        if let Some(worker) = worker.filter(|worker| worker.client().is_none()) {
            worker.let_go.push(attempt);
        }
    }

    /// What every end of an attempt without a result comes to, once its own books are kept.
    fn ended(
        &mut self,
        at: Moment,
        (task, token): (Task, Token),
        end: End,
        goes_on: bool,
        for_good: bool,
    ) {
        let kind = self.rules.kind(task);
        self.trust.ended(task, token, end, kind, at);
        if !goes_on {
            self.after_release(task, for_good);
        }
    }

    fn disputed(&mut self, task: Task) -> Result<(), Illegal> {
        self.position.fail(task, &mut self.aborted)?;
        self.after_release(task, true);
        Ok(())
    }

    fn cancelled(&mut self, task: Task) -> Result<(), Illegal> {
        self.position.cancel(task, &mut self.aborted)?;
        self.put_all_back(task);
        self.trust.given_up(task);
        self.unsettle_keeper();
        Ok(())
    }

    fn revived(&mut self, task: Task) -> Result<(), Illegal> {
        if self.position.standing(task) == Ok(Standing::Failed) {
            self.failures = self.failures.saturating_sub(1);
        }
        self.position.revive(task, &mut self.opened)?;
        if let Some(tries) = self.tries.get_mut(&task) {
            (tries.failures, tries.losses) = (0, 0);
            tries.fenced = tries.attempts;
        }
        self.unsettle_keeper();
        Ok(())
    }

    fn reopened(&mut self, task: Task) -> Result<(), Illegal> {
        self.position.reopen(task, &mut self.opened)?;
        self.reopened = self.epoch;
        let tries = self.tries.entry(task).or_default();
        // The first attempt was in no book: its number must not come again.
        tries.attempts = tries.attempts.max(1);
        self.unsettle_keeper();
        Ok(())
    }

    pub(super) fn known(&mut self, worker: WorkerId) -> Result<&mut Worker, Illegal> {
        let missing = || Illegal(format!("there is no worker {}", worker.0));
        self.workers.get_mut(worker.index()).ok_or_else(missing)
    }

    /// The same of one that may be forgotten by now.
    fn once_known(&mut self, worker: WorkerId) -> Result<(), Illegal> {
        match self.workers.is_gone(worker.index()) {
            true => Ok(()),
            false => self.known(worker).map(drop),
        }
    }

    /// What the end of an attempt without a result does to its task. Who had it, and whether others go on with it.
    fn end_attempt(
        &mut self,
        task: Task,
        token: Token,
        for_good: bool,
    ) -> Result<(Option<Lease>, bool), Illegal> {
        let has_other = self.leases.has_other(task, token);
        let then = standing_after(for_good, has_other, self.trust.has_result(task));
        match then {
            Standing::Failed => self.position.fail(task, &mut self.aborted)?,
            Standing::Eligible => self.position.release(task)?,
            _ => (),
        }
        let lease = self.put_back(task, token);
        let tries = self.tries.entry(task).or_default();
        tries.ended(token, lease.map(|lease| lease.worker));
        Ok((lease, then == Standing::Leased))
    }

    /// Somebody works on a task that others have, too.
    fn add_copy(&mut self, task: Task, token: Token, worker: WorkerId) -> Result<(), Illegal> {
        if self.leases.of(task).any(|lease| lease.worker == worker) {
            let text = format!("worker {} has task {} already", worker.0, task.0);
            return Err(Illegal(text));
        }
        let tries = self.tries.entry(task).or_default();
        tries.attempts = tries.attempts.max(token.attempt);
        Ok(())
    }

    pub(super) fn after_release(&mut self, task: Task, for_good: bool) {
        match for_good {
            true => {
                self.put_all_back(task);
                self.trust.given_up(task);
                self.failures += 1;
                self.unsettle_keeper();
            }
            false => {
                self.opened.push(task);
                self.tell_keeper(task, Keeper::release);
            }
        }
    }

    /// Books a task that a worker has since then, and until when it may.
    pub(crate) fn take(
        &mut self,
        task: Task,
        token: Token,
        worker: WorkerId,
        (since, due): (Moment, Option<Moment>),
    ) {
        let class = self.class(task);
        let needs = self.queue.needs(class);
        for &(pool, amount) in &needs.pools {
            self.pools_busy[pool.0 as usize] += amount;
        }
        self.workers[worker.index()].take(task, token, needs);
        let lease = Lease {
            worker,
            token,
            since,
            class,
            is_ending: false,
            due,
            extended: None,
        };
        self.leases.insert(task, lease);
        self.note_start(since, task, worker);
    }

    /// Nobody works on the task any more. No number of those attempts is given out again.
    fn put_all_back(&mut self, task: Task) {
        while let Some(&Lease { token, worker, .. }) = self.leases.oldest(task) {
            self.put_back(task, token);
            let tries = self.tries.entry(task).or_default();
            tries.ended(token, Some(worker));
        }
    }

    pub(super) fn put_back(&mut self, task: Task, token: Token) -> Option<Lease> {
        let lease = self.leases.remove(task, token)?;
        let needs = self.queue.needs(lease.class);
        for &(pool, amount) in &needs.pools {
            // By the lease's own class: what the task needs may have grown since, and would take back more than was
            // given.
            self.pools_busy[pool.0 as usize] -= amount;
        }
        self.workers[lease.worker.index()].put_back(task, needs);
        self.tell_dispatch(task, |d, t| d.stopped(t, lease.worker));
        Some(lease)
    }

    /// The queue anew from the game.
    pub(super) fn rebuild(&mut self) {
        self.queue.clear();
        self.withheld.clear();
        self.refill();
        self.want_anew();
    }

    pub(super) fn refill(&mut self) {
        let mut eligible = Vec::new();
        self.position.eligible(&mut |task| eligible.push(task));
        for task in eligible {
            self.enqueue(task);
        }
    }
}
