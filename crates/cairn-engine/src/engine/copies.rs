//! Copies of a task: who gets one, what the return of one is worth, when one is late. What results come to is decided by
//! [`crate::Trust`]; what a task is, by the rule of copies (`leases.rs`).

use super::Engine;
use super::timers::Timer;
use crate::queue::ClassId;
use crate::trust::End;
use crate::{
    Cause, ClientId, Digest, Event, Granted, Moment, Outbox, Outcome, Position, Receipt, Refusal,
    Release, Returned, Span, Task, Token, Verdict, WhyNot, WorkerId,
};
use cairn_theory::game::Standing;
use std::cmp::Reverse;

/// For so long what is to be tried again is kept for reliable clients, where there are some.
const KEPT: Span = Span::seconds(60);

impl<P: Position> Engine<P> {
    fn client(&self, worker: WorkerId) -> Option<ClientId> {
        self.workers.get(worker.index())?.client()
    }

    /// Whether a live attempt is a volunteer's.
    pub(super) fn is_volunteers(&self, task: Task, token: Token) -> bool {
        !self.trust.is_idle()
            && (self.leases.get(task, token)).is_some_and(|l| self.client(l.worker).is_some())
    }

    /// An attempt of this worker ended: whoever it is, it can return what was given to itself alone, and a volunteer's
    /// results count as [`crate::Distrust`] says.
    pub fn take_back(
        &mut self,
        now: Moment,
        from: WorkerId,
        back: &Returned,
        out: &mut Outbox,
    ) -> Receipt {
        let &Returned {
            task,
            token,
            outcome,
            digest,
        } = back;
        let Some(client) = self.client(from) else {
            if self.is_volunteers(task, token) {
                return Receipt::Unknown;
            }
            if let (Outcome::Executed, Some(digest)) = (outcome, digest)
                && self.compare(now, task, token, digest, out)
            {
                return Receipt::Accepted;
            }
            return self.give_back(now, task, token, outcome, out);
        };
        let Ok(standing) = self.position.standing(task) else {
            return Receipt::Unknown;
        };
        let Some(copy) = self.trust.copy(task, token).copied() else {
            // What was settled meanwhile has no book any more.
            return match standing {
                Standing::Executed => Receipt::Already,
                _ if token.epoch <= self.epoch => Receipt::Superseded,
                _ => Receipt::Unknown,
            };
        };
        if copy.client != Some(client) {
            return Receipt::Unknown;
        }
        if self.trust.is_back(task, token) {
            // The receipt got lost: what was returned first stands, and waits for others.
            return Receipt::Already;
        }
        let is_live = self.leases.get(task, token).is_some();
        if is_live {
            self.workers[from.index()].last_seen = now;
        } else if outcome != Outcome::Executed || !self.takes_late(task, token, client) {
            return Receipt::Superseded;
        }
        let receipt = match is_live {
            true => Receipt::Accepted,
            false => Receipt::AcceptedLate,
        };
        match (outcome, digest) {
            (Outcome::Executed, Some(digest)) => {
                let event = Event::Returned {
                    task,
                    token,
                    worker: from,
                    digest,
                };
                self.commit(now, event, out);
                self.judge(now, task, from, out);
            }
            (Outcome::Executed, None) if is_live => {
                self.fail_copy(now, task, token, 0, Cause::Output, out);
            }
            (Outcome::Executed, None) => return Receipt::Superseded,
            (Outcome::GivenBack, _) => self.release(now, task, token, Release::GivenBack, out),
            (Outcome::Failed { exit, cause }, _) => {
                self.fail_copy(now, task, token, exit, cause, out);
            }
        }
        receipt
    }

    /// What a trusted worker made says who among the volunteers is right. Whether there was anything to compare.
    fn compare(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        digest: Digest,
        out: &mut Outbox,
    ) -> bool {
        let Some(&lease) = self.leases.get(task, token) else {
            return false;
        };
        if self.trust.copy(task, token).is_none() {
            return false;
        }
        let worker = lease.worker;
        self.workers[worker.index()].last_seen = now;
        let event = Event::Returned {
            task,
            token,
            worker,
            digest,
        };
        self.commit(now, event, out);
        self.execute(now, task, token, worker, out);
        true
    }

    /// What a return of this copy would come to: as which attempt the task would be done. For drivers that must bring files
    /// to their places first.
    pub fn foresee(&self, task: Task, token: Token, digest: Digest) -> Option<Token> {
        match self.trust.foresee(task, token, End::Returned(digest)) {
            Verdict::Valid(token) => Some(token),
            _ => None,
        }
    }

    /// Whether a return of this attempt by this worker would be taken.
    pub fn would_take(&self, from: WorkerId, task: Task, token: Token) -> bool {
        self.would_take_from(self.client(from), task, token)
    }

    /// The same of a client, or of somebody who is trusted.
    pub fn would_take_from(&self, client: Option<ClientId>, task: Task, token: Token) -> bool {
        match self.leases.get(task, token) {
            Some(lease) => self.client(lease.worker) == client,
            None => match client {
                Some(client) => self.takes_late(task, token, client),
                None => self.position.standing(task) == Ok(Standing::Eligible),
            },
        }
    }

    /// Whether a client works on a task now.
    pub fn works_on(&self, client: ClientId, task: Task) -> bool {
        let own = self.workers.iter().filter(|w| w.client() == Some(client));
        own.flat_map(|w| &w.holds).any(|(held, _)| *held == task)
    }

    /// Whether the result of a volunteer whose time was up is taken: not where what it read may be no longer so.
    pub(super) fn takes_late(&self, task: Task, token: Token, client: ClientId) -> bool {
        let standing = self.position.standing(task);
        matches!(standing, Ok(Standing::Eligible | Standing::Leased))
            && token.epoch >= self.reopened
            && self.trust.would_take(task, token, client)
    }

    /// The task is done as this attempt has it; whoever else works on it need not go on.
    pub(super) fn execute(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        worker: WorkerId,
        out: &mut Outbox,
    ) {
        self.stop_others(task, token, out);
        let event = Event::Executed {
            task,
            token,
            worker,
        };
        self.commit(now, event, out);
    }

    /// Whoever has the task as another attempt is to end it.
    pub(super) fn stop_others(&self, task: Task, token: Token, out: &mut Outbox) {
        if self.leases.has_copies() || self.trust.has(task) {
            let others = self.leases.of(task).filter(|lease| lease.token != token);
            let others = others.map(|lease| (lease.worker, task, lease.token));
            out.kills.extend(others);
        }
    }

    pub(super) fn stop_all(&self, task: Task, out: &mut Outbox) {
        let held = self.leases.of(task);
        out.kills
            .extend(held.map(|lease| (lease.worker, task, lease.token)));
    }

    /// What the results of a task come to after another one.
    fn judge(&mut self, now: Moment, task: Task, last: WorkerId, out: &mut Outbox) {
        match self.trust.verdict(task) {
            Verdict::Waits { .. } => (),
            Verdict::Valid(token) => {
                let worker = self.whose(task, token).unwrap_or(last);
                self.execute(now, task, token, worker, out);
            }
            Verdict::Hopeless => {
                self.stop_all(task, out);
                self.commit(now, Event::Disputed { task }, out);
            }
        }
    }

    /// Somebody who is trusted will not decide after all.
    pub(super) fn judge_again(
        &mut self,
        now: Moment,
        task: Task,
        last: WorkerId,
        out: &mut Outbox,
    ) {
        if self.trust.has(task) && self.trust.verdict(task) == Verdict::Hopeless {
            self.judge(now, task, last, out);
        }
    }

    /// As whom the client of a copy was last known.
    fn whose(&self, task: Task, token: Token) -> Option<WorkerId> {
        let client = self.trust.copy(task, token)?.client?;
        let last = self
            .workers
            .iter()
            .rposition(|w| w.client() == Some(client))?;
        Some(WorkerId(last as u32))
    }

    /// Whether the task is given up when this copy ends so.
    fn is_hopeless(&self, task: Task, token: Token, end: End) -> bool {
        self.trust.foresee(task, token, end) == Verdict::Hopeless
    }

    pub(super) fn fail_copy(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        exit: i32,
        cause: Cause,
        out: &mut Outbox,
    ) {
        let for_good = self.is_hopeless(task, token, End::Error);
        if for_good {
            self.stop_others(task, token, out);
        }
        let event = Event::Failed {
            task,
            token,
            exit,
            cause,
            for_good,
        };
        self.commit(now, event, out);
    }

    pub(super) fn release_copy(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        why: Release,
        out: &mut Outbox,
    ) {
        let end = match why {
            Release::Lost | Release::Overdue => End::Late,
            Release::GivenBack | Release::Unheard => End::Aborted,
        };
        let for_good = self.is_hopeless(task, token, end);
        let event = Event::Released {
            task,
            token,
            why,
            for_good,
        };
        self.commit(now, event, out);
    }

    // ---- Deadlines ---------------------------------------------------------------------------------------------------

    fn span(&self, task: Task) -> Span {
        let takes = self.trust.takes(self.rules.kind(task));
        let is_retry = self.trust.is_retry(task);
        self.trust.distrust().span(takes, is_retry)
    }

    /// A volunteer has begun with a task: when it must be back.
    pub(super) fn expect_by(&mut self, now: Moment, task: Task, token: Token) {
        let due = now + self.span(task);
        if let Some(lease) = self.leases.get_mut(task, token) {
            lease.due = Some(due);
            self.timer(due, Timer::Due(task, token));
        }
    }

    /// After a restart every volunteer has its time again, from when it began.
    pub(super) fn expect_volunteers(&mut self) {
        if self.trust.is_idle() {
            return;
        }
        let held = self.leases.iter();
        let held = held.filter(|(_, lease)| self.client(lease.worker).is_some());
        let mut held: Vec<_> = held.map(|(t, l)| (l.since, t, l.token)).collect();
        held.sort_unstable();
        for (since, task, token) in held {
            self.expect_by(since, task, token);
        }
    }

    pub(super) fn due(&mut self, now: Moment, task: Task, token: Token, out: &mut Outbox) {
        let Some(due) = self.leases.get(task, token).and_then(|lease| lease.due) else {
            return;
        };
        match due > now {
            true => self.timer(due, Timer::Due(task, token)),
            false => self.release(now, task, token, Release::Overdue, out),
        }
    }

    /// What a worker was given and does not know of is told again. A volunteer has half its time anew for it, and never less
    /// than before.
    pub(super) fn tell_again(
        &mut self,
        now: Moment,
        worker: WorkerId,
        holding: &[(Task, Token)],
    ) -> Vec<Granted> {
        let again = self.unheard(worker, holding);
        if self.client(worker).is_some() {
            for granted in &again {
                let half = now + Span(self.span(granted.task).0 / 2);
                if let Some(lease) = self.leases.get_mut(granted.task, granted.token) {
                    lease.due = lease.due.max(Some(half));
                }
            }
        }
        again
    }

    // ---- Who gets a copy ---------------------------------------------------------------------------------------------

    /// Notes whether another copy of the task is needed.
    pub(super) fn want(&mut self, task: Task) {
        let place = (self.queue.order().rank(task), task);
        let is_wanted = match self.position.standing(task) {
            Ok(Standing::Eligible) => self.trust.has(task),
            Ok(Standing::Leased) => self.trust.wanted(task) > 0,
            _ => false,
        };
        match is_wanted {
            true => self.wanted.insert(place),
            false => self.wanted.remove(&place),
        };
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

    /// Whether the worker, if a volunteer, can be back in time with a task that nobody has had.
    pub(super) fn is_in_time(&self, worker: WorkerId, task: Task) -> bool {
        self.trust.is_idle()
            || self
                .client(worker)
                .is_none_or(|client| self.trust.is_in_time(client, self.span(task)))
    }

    /// The first task by rank of which a copy is needed that the worker may have. O(tasks that wait for others than it).
    pub(super) fn next_copy(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Option<(u64, ClassId, Task)> {
        if self.wanted.is_empty() {
            return None;
        }
        let client = self.client(worker);
        let kept = self.has_reliable() && client.is_some_and(|c| !self.trust.is_reliable(c));
        // A task whose parents were reopened is wanted by nobody until they are executed.
        let is_open = |task| self.position.standing(task) != Ok(Standing::Waiting);
        let wanted: Vec<(u64, Task)> = (self.wanted.iter().copied())
            .filter(|&(_, task)| is_open(task))
            .filter(|&(_, task)| self.may_copy(worker, client, task))
            .filter(|&(_, task)| !(kept && self.is_kept_for_reliable(now, task)))
            .filter(|&(_, task)| !self.others_come_first(worker, client, task))
            .collect();
        wanted.into_iter().find_map(|(rank, task)| {
            let class = self.class(task);
            let needs = self.queue.needs(class);
            let asking = &self.workers[worker.index()];
            let fits = asking.could(now, needs)
                && asking.has_room(needs)
                && self.has_pools(needs)
                && self.is_in_time(worker, task)
                && !self.is_kept_from(worker, task, needs);
            let is_begun = self.position.standing(task) == Ok(Standing::Leased);
            let keeper = self.keeper.as_deref_mut().zip(task.frozen());
            let may = is_begun || keeper.is_none_or(|(keeper, id)| keeper.may(id));
            (fits && may).then_some((rank, class, task))
        })
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
        let is_begun = self.position.standing(task) == Ok(Standing::Leased);
        if !is_begun || !self.may_copy(worker, self.client(worker), task) {
            return Err(Refusal::Others);
        }
        let class = self.class(task);
        let needs = self.queue.needs(class);
        let asking = &self.workers[worker.index()];
        if !asking.could(now, needs) {
            return Err(Refusal::NothingFits);
        }
        if !asking.has_room(needs) || !self.has_pools(needs) {
            return Err(Refusal::Full);
        }
        if self.trust.is_worn(task) {
            return Err(Refusal::Others);
        }
        Ok(self.grant(now, worker, class, task, out))
    }

    /// Whether nothing stands against the worker having an attempt at a task that others have or had.
    fn may_copy(&self, worker: WorkerId, client: Option<ClientId>, task: Task) -> bool {
        let shares = |w: WorkerId| self.workers[w.index()].offer.is_shared;
        let mut live = self.leases.of(task).peekable();
        let is_alone = live.peek().is_none();
        (is_alone || !shares(worker))
            && live.all(|lease| lease.worker != worker && !shares(lease.worker))
            && client.is_none_or(|client| self.trust.may(task, client))
    }

    /// What keeps a task from a volunteer.
    pub(super) fn why_distrusted(
        &self,
        now: Moment,
        worker: WorkerId,
        task: Task,
    ) -> Option<WhyNot> {
        let client = self.client(worker)?;
        match () {
            () if !self.trust.may(task, client) => Some(WhyNot::Had),
            () if self.is_spent(now, worker) => Some(WhyNot::Quota),
            () if !self.is_in_time(worker, task) => Some(WhyNot::Slow),
            () => None,
        }
    }

    /// Whoever has failed with a task, or was late, gets it again only where nobody else is there for it.
    fn others_come_first(&self, worker: WorkerId, client: Option<ClientId>, task: Task) -> bool {
        let Some(client) = client.filter(|&client| self.trust.has_failed(task, client)) else {
            return false;
        };
        let here = (0..self.workers.len() as u32).map(WorkerId);
        let mut others = here.filter(|&w| w != worker && self.workers[w.index()].is_here);
        others.any(|other| {
            let of = self.client(other);
            of != Some(client)
                && of.is_none_or(|of| !self.trust.has_failed(task, of))
                && self.may_copy(other, of, task)
        })
    }

    fn has_reliable(&self) -> bool {
        let here = self.workers.iter().filter(|w| w.is_here);
        let mut clients = here.filter_map(|w| w.client());
        clients.any(|client| self.trust.is_reliable(client))
    }

    fn is_kept_for_reliable(&self, now: Moment, task: Task) -> bool {
        self.trust.is_retry(task) && now.since(self.trust.quiet_since(task)) < KEPT
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
        let times = if self.is_tail() { 1 } else { 2 };
        let agree = self.trust.distrust().agree() as usize;
        let mut best = None;
        for task in self.trust.tasks() {
            let Some((since, live)) = self.trust.out_since(task) else {
                continue;
            };
            let takes = self.trust.takes(self.rules.kind(task));
            let is_late = takes.is_some_and(|t| now.since(since).0 > t.0.saturating_mul(times));
            if is_late
                && live <= agree
                && !self.trust.is_worn(task)
                && !self.trust.has_failed(task, client)
                && self.may_copy(worker, Some(client), task)
            {
                let rank = Reverse(self.queue.order().rank(task));
                best = best.max(Some((self.position.opens(task), rank, task)));
            }
        }
        let (_, Reverse(rank), task) = best?;
        let class = self.class(task);
        let needs = self.queue.needs(class);
        let asking = &self.workers[worker.index()];
        let fits = asking.could(now, needs) && asking.has_room(needs) && self.has_pools(needs);
        fits.then_some((rank, class, task))
    }

    fn is_tail(&self) -> bool {
        let count = |standing| self.position.count(standing);
        let open = [Standing::Waiting, Standing::Eligible, Standing::Leased].map(count);
        let left = open.iter().try_fold(0, |sum, count| Some(sum + (*count)?));
        (left.zip(count(Standing::Executed)))
            .is_some_and(|(left, done)| self.trust.distrust().is_tail(left, left + done))
    }
}
