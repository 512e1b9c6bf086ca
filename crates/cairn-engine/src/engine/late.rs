//! Deadlines of volunteers, and what becomes of copies that are late: who still works on one is not given the task again, and
//! is waited for. Has no clock.

use super::Engine;
use super::timers::Timer;
use crate::workers::Lingering;
use crate::{Granted, Moment, Outbox, Outcome, Position, Release, Span, Task, Token, WorkerId};

/// So many times slower or faster than others a volunteer may be for its deadlines: else one that dawdles could keep tasks
/// for ever longer.
// A judgement: where logarithms of speeds have a deviation of 0.7, 95 of a hundred are within it.
const FURTHEST: f64 = 4.0;

impl<P: Position> Engine<P> {
    /// How long a volunteer of whom nothing is known has for a copy of the task: by what such tasks took, or by what is expected
    /// where that is more. A retry has less, but not where somebody was late: perhaps the task takes that long.
    pub(super) fn span(&self, task: Task) -> Span {
        let distrust = self.trust.distrust();
        distrust.span(self.usual(task), Span(0), self.is_hurried(task))
    }

    fn is_hurried(&self, task: Task) -> bool {
        self.trust.is_retry(task) && !self.trust.was_late(task)
    }

    /// What the task takes, whoever does it.
    fn usual(&self, task: Task) -> Option<Span> {
        let took = self.trust.takes(self.rules.kind(task));
        let expected = (self.dispatch().zip(task.frozen()))
            .map(|(dispatch, task)| Span((1e6 * dispatch.expects(task)) as u64));
        // Whichever is longer: an expectation that is far too small must not make every volunteer late.
        took.max(expected)
    }

    /// How long this volunteer has for a copy of the task: by how fast it and by how long such tasks are seen to be, where both
    /// are known. What it claims of itself counts for nothing, and what it shows no further than [`FURTHEST`].
    pub(super) fn span_at(&self, task: Task, worker: WorkerId) -> Span {
        let (Some(usual), Some((takes, late))) = (self.usual(task), self.foreseen(task, worker))
        else {
            return self.span(task);
        };
        let usual = (usual.0 as f64).max(1.0);
        // Who dawdles on purpose is soon taken to be slow: without a bound its deadlines would grow with every task.
        let bounded = takes.clamp(usual / FURTHEST, usual * FURTHEST);
        // In proportion: the doubt about its speed is a factor, not a number of seconds.
        let late = late * bounded / takes;
        let (takes, late) = (Span(bounded as u64), Span(late as u64));
        let distrust = self.trust.distrust();
        distrust.span(Some(takes), late, self.is_hurried(task))
    }

    /// Microseconds that the task takes at this worker, and after how many it is late there, where its kind and the worker are
    /// known.
    pub(super) fn foreseen(&self, task: Task, worker: WorkerId) -> Option<(f64, f64)> {
        let (dispatch, id) = self.dispatch().zip(task.frozen())?;
        let (takes, late) = dispatch.foresees(id, worker)?;
        Some((1e6 * takes, 1e6 * late)).filter(|(takes, late)| *takes > 0.0 && late.is_finite())
    }

    /// By when an attempt should be back: a volunteer's must be by then, of others nearly all are, as far as is known.
    pub fn expected_by(&self, task: Task, token: Token) -> Option<Moment> {
        let lease = self.leases.get(task, token)?;
        let seen = || {
            let (_, late) = self.foreseen(task, lease.worker)?;
            Some(lease.since + Span(late as u64))
        };
        lease.due.max(lease.extended).or_else(seen)
    }

    /// How many attempts should be back and are not.
    pub fn late(&self, now: Moment) -> u64 {
        let late = self.leases.iter().filter(|(task, lease)| {
            let by = self.expected_by(*task, lease.token);
            by.is_some_and(|by| by < now)
        });
        late.count() as u64
    }

    /// After a restart every volunteer has the time that it had; logs of earlier versions do not say which.
    pub(super) fn expect_volunteers(&mut self) {
        if self.trust.is_idle() {
            return;
        }
        let held = self.leases.iter();
        let held = held.filter(|(_, lease)| self.client(lease.worker).is_some());
        let mut held: Vec<_> = held.map(|(t, l)| (l.since, t, l.token)).collect();
        // The map has an order of its own, which must not show.
        held.sort_unstable();
        for (since, task, token) in held {
            let usual = since + self.span(task);
            if let Some(lease) = self.leases.get_mut(task, token) {
                if lease.due.is_none() {
                    lease.extended = Some(usual);
                }
                let due = lease.due.unwrap_or(usual);
                self.timer(due, Timer::Due(task, token));
            }
        }
    }

    pub(super) fn due(&mut self, now: Moment, task: Task, token: Token, out: &mut Outbox) {
        let lease = self.leases.get(task, token);
        let Some(due) = lease.and_then(|lease| lease.due.max(lease.extended)) else {
            return;
        };
        // It may have more time than when the timer was set, since it was told again.
        match due > now {
            true => self.timer(due, Timer::Due(task, token)),
            false => {
                let worker = self.leases.get(task, token).map(|lease| lease.worker);
                // Another may have it from now on. Its result is taken all the same if it comes.
                self.release(now, task, token, Release::Overdue, out);
                if let Some(worker) = worker {
                    self.suppose_late(now, worker, task, token);
                }
                self.give_up_hopeless(now, task, out);
            }
        }
    }

    /// What a worker was given and does not know of is told again. A volunteer has half its time anew for it, never less than
    /// before, and in all no more than the patience there is with it.
    pub(super) fn tell_again(
        &mut self,
        now: Moment,
        worker: WorkerId,
        holding: &[(Task, Token)],
    ) -> Vec<Granted> {
        let again = self.unheard(worker, holding);
        if self.client(worker).is_some() {
            for granted in &again {
                let span = self.span_at(granted.task, worker);
                let patience = self.trust.distrust().patience(span);
                let half = now + Span(span.0 / 2);
                if let Some(lease) = self.leases.get_mut(granted.task, granted.token) {
                    // Not for ever: else a client that never admits to have it, and only ever asks, keeps the task.
                    let half = half.min(lease.since + patience);
                    lease.extended = lease.extended.max(Some(half));
                }
            }
        }
        again
    }

    // ---- Late copies ------------------------------------------------------------------------------------------------

    /// A worker says what it works on. Of a volunteer: late copies that it names are waited for, those that it no longer names are not.
    pub(super) fn hear_of_late(
        &mut self,
        now: Moment,
        worker: WorkerId,
        holding: &[(Task, Token)],
        out: &mut Outbox,
    ) {
        let known = &self.workers[worker.index()];
        let Some(client) = known.client() else {
            return self.hear_of_lingering(worker, holding, out);
        };
        let is_late = |held: &&(Task, Token)| {
            !known.holds.contains(held) && self.takes_late(held.0, held.1, client)
        };
        // What it names is only its word: it is waited for with patience and no longer, and no number of names makes
        // a copy its own.
        let named: Vec<_> = holding.iter().filter(is_late).copied().collect();
        let before = std::mem::replace(&mut self.workers[worker.index()].late, named);
        let named = self.workers[worker.index()].late.clone();
        for &(task, token) in named.iter().filter(|held| !before.contains(held)) {
            self.wait_for(now, worker, task, token);
        }
        for &(task, token) in before.iter().filter(|held| !named.contains(held)) {
            self.wait_no_more(now, worker, task, token, out);
        }
    }

    /// Somebody who is trusted says what it works on. What was given up for lost and may still count goes on there, and takes the
    /// room it took before.
    fn hear_of_lingering(&mut self, worker: WorkerId, holding: &[(Task, Token)], out: &mut Outbox) {
        let known = &self.workers[worker.index()];
        // What would not count is to be stopped, and so is an attempt at a task that the worker was given anew: neither is
        // counted, or its room would stay taken until the worker speaks again. Nor is what it let go while this was on its way.
        let lingers = |&&(task, token): &&(Task, Token)| {
            !known.holds.iter().any(|&(held, _)| held == task)
                && !known.let_go.contains(&(task, token))
                && self.would_take(worker, task, token, Outcome::Executed)
        };
        let lingers = holding.iter().filter(lingers).map(|&attempt| {
            let needs = self.needs(attempt.0);
            Lingering {
                attempt,
                cpus: known.offer.cpus_for(&needs),
                memory: needs.memory,
            }
        });
        let lingers: Vec<Lingering> = lingers.collect();
        let known = &mut self.workers[worker.index()];
        known.let_go.retain(|attempt| holding.contains(attempt));
        let goes_on = |old: &Lingering| lingers.iter().any(|l| l.attempt == old.attempt);
        out.has_room |= !known.lingers.iter().all(goes_on);
        known.lingers = lingers;
    }

    /// The time of a copy is up: as far as is known its worker is still at it.
    pub(super) fn suppose_late(&mut self, now: Moment, worker: WorkerId, task: Task, token: Token) {
        let Some(client) = self.client(worker) else {
            return;
        };
        if self.workers[worker.index()].is_here && self.takes_late(task, token, client) {
            self.workers[worker.index()].late.push((task, token));
            self.wait_for(now, worker, task, token);
        }
    }

    /// After a restart nobody knows who is still at what was late: whoever is here may be, until it says what it has.
    pub(super) fn suppose_all_late(&mut self, now: Moment) {
        for (task, token, client) in self.trust.late() {
            // The newest of the client's workers: an older one of it is more likely gone already.
            let mut here = self.here.iter().rev();
            let own = here.find(|w| self.workers[w.index()].client() == Some(client));
            if let Some(&worker) = own {
                self.suppose_late(now, worker, task, token);
            }
        }
    }

    fn wait_for(&mut self, now: Moment, worker: WorkerId, task: Task, token: Token) {
        let since = self.trust.since(task, token);
        let span = self.span_at(task, worker);
        let patience = self.trust.distrust().patience(span);
        let (Some(since), Some(client)) = (since, self.client(worker)) else {
            return;
        };
        // Not for ever: it may be one that says that it lives and returns nothing.
        if now.since(since) < patience && self.trust.await_late(task, token, client, true) {
            self.timer(since + patience, Timer::Patience(worker, task, token));
            self.want(task);
        }
    }

    /// A late copy is not expected any more; its result is taken all the same, if it comes.
    pub(super) fn wait_no_more(
        &mut self,
        now: Moment,
        worker: WorkerId,
        task: Task,
        token: Token,
        out: &mut Outbox,
    ) {
        let Some(client) = self.client(worker) else {
            return;
        };
        if self.trust.await_late(task, token, client, false) {
            self.want(task);
            self.give_up_hopeless(now, task, out);
        }
    }
}
