//! What a return is worth, and what follows from it. What results of volunteers come to is decided by [`crate::Trust`]; what a
//! task is, by the rule of copies (`leases.rs`).

use super::Engine;
use crate::leases::Lease;
use crate::trust::End;
use crate::{
    Agreement, Cause, ClientId, Digest, Event, Moment, Outbox, Outcome, Position, Receipt, Release,
    Returned, Task, Token, WorkerId,
};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// Who it is, where nobody vouches for it.
    pub(super) fn client(&self, worker: WorkerId) -> Option<ClientId> {
        self.workers.get(worker.index())?.client()
    }

    /// Whether a live attempt is a volunteer's.
    pub(super) fn is_volunteers(&self, task: Task, token: Token) -> bool {
        !self.trust.is_idle()
            && (self.leases.get(task, token)).is_some_and(|l| self.client(l.worker).is_some())
    }

    /// Whether nobody knows any more who that was: not to be taken for somebody who is trusted.
    fn is_nobody(&self, worker: WorkerId) -> bool {
        !self.trust.is_idle() && self.workers.is_gone(worker.index())
    }

    /// What a return of this attempt is worth that comes from a client, or, where that is `None`, from somebody who is trusted.
    /// Whoever asks beforehand whether it counts asks the same.
    fn worth(
        &self,
        client: Option<ClientId>,
        task: Task,
        token: Token,
        outcome: Outcome,
    ) -> Receipt {
        let Ok(standing) = self.position.standing(task) else {
            return Receipt::Unknown;
        };
        // A live attempt counts whatever else is so, but of a volunteer only from itself: else anybody could return
        // what others work on.
        if let Some(lease) = self.leases.get(task, token) {
            return match self.client(lease.worker) == client {
                true => Receipt::Accepted,
                false => Receipt::Unknown,
            };
        }
        let is_done = outcome == Outcome::Executed;
        match client {
            Some(client) => self.worth_of_late(client, task, token, is_done),
            None if standing == Standing::Executed => Receipt::Already,
            None => {
                let tries = self.tries.get(&task);
                let (attempts, fenced) = tries.map_or((0, 0), |t| (t.attempts, t.fenced));
                // An attempt that was really given out: by number, and by a start of the server that has been.
                // Anything else is a guess.
                let is_known = attempts >= token.attempt.max(1) && token.epoch <= self.epoch;
                // Who had it was given up for lost, and nobody has begun anew, or only those who have to be checked, or those
                // who may be at it beside another: the work is not thrown away.
                let may_count = match self.trust.has(task) {
                    true => {
                        // Where volunteers have or had it too, the books of trust know every attempt, also of those
                        // who are trusted.
                        let copy = self.trust.copy(task, token);
                        copy.is_some_and(|copy| copy.client.is_none()) && self.is_open(task)
                    }
                    false => {
                        is_known
                            && token.attempt > fenced
                            && self.is_open_to_late(standing, task, token)
                    }
                };
                match () {
                    () if is_done && may_count && token.epoch >= self.reopened => {
                        Receipt::AcceptedLate
                    }
                    () if is_known || standing == Standing::Leased => Receipt::Superseded,
                    () => Receipt::Unknown,
                }
            }
        }
    }

    /// Whether the task may be done now: somebody has it, or can be given it.
    fn is_open(&self, task: Task) -> bool {
        let standing = self.position.standing(task);
        matches!(standing, Ok(Standing::Eligible | Standing::Leased))
    }

    /// Whether the first that is back counts, though it was given up for lost: where somebody has begun anew, that holds if the
    /// two are not in each other's way, as copies are not.
    fn is_open_to_late(&self, standing: Standing, task: Task, token: Token) -> bool {
        match standing {
            Standing::Eligible => true,
            Standing::Leased => {
                // Of a lost one nobody knows where it works: so nobody who is here may work in the flow's own folder.
                let shares = |w: &WorkerId| self.workers[w.index()].offer.is_shared;
                // What is in a pool is there once. What was begun before a restart may have read what is no longer so.
                let is_apart = |lease: &Lease| {
                    token.epoch >= lease.token.epoch
                        && self.queue.needs(lease.class).pools.is_empty()
                };
                self.may_speculate()
                    && self.rules.copies.may(task)
                    && self.leases.of(task).all(is_apart)
                    && !self.here.iter().any(shares)
            }
            _ => false,
        }
    }

    /// The same of a volunteer's attempt that nobody waits for any more.
    fn worth_of_late(&self, client: ClientId, task: Task, token: Token, is_done: bool) -> Receipt {
        let Some(copy) = self.trust.copy(task, token) else {
            // What was settled meanwhile has no book any more.
            return match self.position.standing(task) {
                Ok(Standing::Executed) => Receipt::Already,
                _ if token.epoch <= self.epoch => Receipt::Superseded,
                _ => Receipt::Unknown,
            };
        };
        match () {
            () if copy.client != Some(client) => Receipt::Unknown,
            // The receipt got lost: what was returned first stands, and waits for others.
            () if self.trust.is_back(task, token) => Receipt::Already,
            () if is_done && self.takes_late(task, token, client) => Receipt::AcceptedLate,
            () => Receipt::Superseded,
        }
    }

    /// Whether the result of a volunteer whose time was up is taken: not where what it read may be no longer so.
    pub(super) fn takes_late(&self, task: Task, token: Token, client: ClientId) -> bool {
        self.is_open(task)
            && token.epoch >= self.reopened
            && self.trust.would_take(task, token, client)
    }

    /// Whether a client works on a task now.
    pub fn works_on(&self, client: ClientId, task: Task) -> bool {
        let mut held = self.leases.of(task);
        held.any(|lease| self.client(lease.worker) == Some(client))
    }

    /// Whether such a return of this attempt by this worker would count.
    pub fn would_take(&self, from: WorkerId, task: Task, token: Token, outcome: Outcome) -> bool {
        !self.is_nobody(from) && self.would_take_from(self.client(from), task, token, outcome)
    }

    /// The same of a client, or of somebody who is trusted.
    pub fn would_take_from(
        &self,
        client: Option<ClientId>,
        task: Task,
        token: Token,
        outcome: Outcome,
    ) -> bool {
        self.worth(client, task, token, outcome).counts()
    }

    /// What a return of this copy would come to: as which attempt the task would be done. For drivers that must bring files
    /// to their places first.
    pub fn foresee(&self, task: Task, token: Token, digest: Digest) -> Option<Token> {
        match self.trust.foresee(task, token, End::Returned(digest)) {
            Agreement::Valid(token) => Some(token),
            _ => None,
        }
    }

    /// An attempt of this worker ended. A volunteer can return what was given to itself alone, and its results count as
    /// [`crate::Distrust`] says. Those who are trusted may speak for each other, but not for volunteers.
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
        if self.is_nobody(from) {
            return Receipt::Unknown;
        }
        // By the worker's own entry, not by what the return says: a volunteer cannot pass for another, or for
        // somebody trusted.
        let client = self.client(from);
        if client.is_none() {
            if let (Outcome::Executed, Some(digest)) = (outcome, digest)
                && self.compare(now, task, token, digest, out)
            {
                return Receipt::Accepted;
            }
            return self.give_back_by(now, Some(from), (task, token), outcome, out);
        }
        let receipt = self.worth(client, task, token, outcome);
        if !receipt.counts() {
            return receipt;
        }
        let is_live = receipt == Receipt::Accepted;
        if is_live {
            // Only a live return is a sign of life: a late one may have lain in a spool while its worker was gone.
            self.workers[from.index()].last_seen = now;
        }
        match (outcome, digest) {
            (Outcome::Executed, Some(digest)) => {
                let event = Event::Returned {
                    task,
                    token,
                    worker: from,
                    digest,
                };
                self.commit(now, event, out);
                // After the event: the agreement is of all results, this one among them.
                self.judge(now, task, from, out);
            }
            // Executed without anything to compare: it cannot agree with anybody, and to let it wait would hold the
            // task for ever.
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

    /// An attempt of somebody who is trusted ended.
    pub fn give_back(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        outcome: Outcome,
        out: &mut Outbox,
    ) -> Receipt {
        self.give_back_by(now, None, (task, token), outcome, out)
    }

    fn give_back_by(
        &mut self,
        now: Moment,
        from: Option<WorkerId>,
        (task, token): (Task, Token),
        outcome: Outcome,
        out: &mut Outbox,
    ) -> Receipt {
        let receipt = self.worth(None, task, token, outcome);
        if receipt != Receipt::Accepted {
            // Whatever it is worth, nobody is at it any more, and who was has that room again with this very request. Seldom: so
            // all are looked at, whoever speaks for whom.
            for &worker in &self.here {
                let known = &mut self.workers[worker.index()];
                known.lingers.retain(|l| l.attempt != (task, token));
            }
        }
        match (receipt, self.leases.get(task, token).copied()) {
            (Receipt::Accepted, Some(lease)) => {
                self.workers[lease.worker.index()].last_seen = now;
                self.end(now, task, lease, outcome, out);
            }
            (Receipt::AcceptedLate, _) => {
                // Whoever brings it: the one that had the task last may be another, who ended without a result.
                let from = from.filter(|from| self.workers.get(from.index()).is_some());
                let last = || self.tries.get(&task).map(|tries| tries.last);
                let worker = from.or_else(last).unwrap_or(WorkerId(0));
                self.stop_all(task, out);
                let event = Event::Executed {
                    task,
                    token,
                    worker,
                };
                self.commit(now, event, out);
            }
            _ => (),
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
        let lease = self.leases.get(task, token).copied();
        // Only who is trusted settles it: the digest of a volunteer is a vote.
        let lease = lease.filter(|lease| self.client(lease.worker).is_none());
        let Some(Lease { worker, .. }) = lease else {
            return false;
        };
        if self.trust.copy(task, token).is_none() {
            return false;
        }
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

    pub(super) fn end(
        &mut self,
        now: Moment,
        task: Task,
        lease: Lease,
        outcome: Outcome,
        out: &mut Outbox,
    ) {
        let Lease { token, worker, .. } = lease;
        match outcome {
            Outcome::Executed => self.execute(now, task, token, worker, out),
            Outcome::GivenBack => self.release(now, task, token, Release::GivenBack, out),
            Outcome::Failed { exit, cause } => {
                let needs = self.needs(task);
                let tries = self.tries.get(&task).copied().unwrap_or_default();
                // Asked before the event, by which this very failure is counted.
                let costs = u32::from(tries.costs_a_try(token, cause, &needs));
                let halts = (self.rules.halt_on.get(&task)).filter(|&&(on, _)| on == exit);
                let halts = halts.map(|&(_, returned)| returned);
                let never = self.rules.never_retry_on.get(&task) == Some(&exit);
                // While others work on it, one that fails costs the task no more than a try.
                let is_last = !self.leases.has_other(task, token);
                let is_worn = tries.failures + costs > self.rules.retries(task) && is_last;
                // Whoever else is at it is stopped, too: the workflow says that this exit code is final.
                let for_good = is_worn || halts.is_some() || never;
                self.fail(now, (task, token), (exit, cause), for_good, out);
                self.give_up_hopeless(now, task, out);
                if let Some(exit) = halts {
                    self.halt(now, exit, out);
                }
            }
        }
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
        // Before the event, which puts all of them back.
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
        match self.trust.agreement(task) {
            Agreement::Waits { .. } => (),
            Agreement::Valid(token) => self.validate(now, task, token, last, out),
            Agreement::Hopeless => self.give_up_hopeless(now, task, out),
        }
    }

    fn validate(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        last: WorkerId,
        out: &mut Outbox,
    ) {
        // Whose files are taken, not who came last: the quorum may have been filled by another.
        let worker = self.trust.copy(task, token).and_then(|copy| copy.worker);
        let worker = worker.unwrap_or(last);
        self.execute(now, task, token, worker, out);
    }

    /// Whoever could decide will not after all: a task whose results can come to nothing any more is given up.
    pub(super) fn give_up_hopeless(&mut self, now: Moment, task: Task, out: &mut Outbox) {
        if self.trust.has(task)
            && self.is_open(task)
            && self.trust.agreement(task) == Agreement::Hopeless
        {
            self.stop_all(task, out);
            self.commit(now, Event::Disputed { task }, out);
        }
    }

    /// The same of all tasks: after a restart, or when the last one goes whose result counts alone.
    pub(super) fn give_up_all_hopeless(&mut self, now: Moment, out: &mut Outbox) {
        let mut tasks: Vec<Task> = self.trust.tasks().collect();
        // The map has an order of its own, which must not be in the log.
        tasks.sort_unstable();
        for task in tasks {
            self.give_up_hopeless(now, task, out);
        }
    }

    /// Tasks whose results agree though nobody has said that they are done, each with the attempt that has it: there are some
    /// where fewer results must be equal than before a restart. The driver brings their files to their places and says
    /// [`Engine::settle`]; what it cannot bring it says [`Engine::recall`] of.
    pub fn agreed(&self) -> Vec<(Task, Token)> {
        let agreed = self
            .trust
            .tasks()
            .filter_map(|task| match self.trust.agreement(task) {
                Agreement::Valid(token) if self.is_open(task) => Some((task, token)),
                _ => None,
            });
        let mut agreed: Vec<_> = agreed.collect();
        agreed.sort_unstable();
        agreed
    }

    /// A task that [`Engine::agreed`] tells of is done.
    pub fn settle(&mut self, now: Moment, task: Task, out: &mut Outbox) {
        if let Agreement::Valid(token) = self.trust.agreement(task) {
            let last = self.tries.get(&task).map(|tries| tries.last);
            self.validate(now, task, token, last.unwrap_or(WorkerId(0)), out);
        }
    }

    /// Whether the task is given up when this copy ends so.
    pub(super) fn is_hopeless(&self, task: Task, token: Token, end: End) -> bool {
        self.trust.foresee(task, token, end) == Agreement::Hopeless
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
        self.fail(now, (task, token), (exit, cause), for_good, out);
    }

    /// An attempt failed. If the task is given up for it, nobody else need go on.
    fn fail(
        &mut self,
        now: Moment,
        (task, token): (Task, Token),
        (exit, cause): (i32, Cause),
        for_good: bool,
        out: &mut Outbox,
    ) {
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
}
