//! What happens because time passes: silence and limits. Has no clock.

use super::Engine;
use crate::{Cause, Gone, Moment, Outbox, Outcome, Position, Task, Token, WorkerId};
use std::cmp::Reverse;

/// What to look at when the time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Silence(WorkerId),
    Limit(Task, Token),
    /// A volunteer should be back.
    Due(Task, Token),
    /// A late copy was waited for long enough.
    Patience(WorkerId, Task, Token),
}

impl<P: Position> Engine<P> {
    /// When to call [`Engine::wake`], if nothing else happens before.
    pub fn next_wake(&self) -> Option<Moment> {
        self.timers.peek().map(|&Reverse((at, _))| at)
    }

    /// Time has passed: silent workers are lost, attempts beyond their limit are ended.
    pub fn wake(&mut self, now: Moment, out: &mut Outbox) {
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if at > now {
                return;
            }
            // Before it is looked at, since looking may set it again.
            self.timers.pop();
            match timer {
                Timer::Silence(worker) => {
                    // Timers are never taken back: one of a worker that is gone or forgotten, or of an attempt that
                    // is over, finds nothing and goes.
                    let Some(known) = self.workers.get(worker.index()) else {
                        continue;
                    };
                    // One timer a worker: it is set again when it is due, not with every word.
                    let until = known.last_seen + self.rules.silence;
                    match known.is_here {
                        true if until > now => self.timer(until, timer),
                        true => self.depart(now, worker, Gone::Lost, out),
                        false => (),
                    }
                }
                Timer::Limit(task, token) => self.limit(now, task, token, out),
                Timer::Due(task, token) => self.due(now, task, token, out),
                Timer::Patience(worker, task, token) => {
                    self.wait_no_more(now, worker, task, token, out);
                }
            }
        }
    }

    /// An attempt is beyond its limit: who has it should end it; who does not say so within the silence is not waited for.
    pub(super) fn limit(&mut self, now: Moment, task: Task, token: Token, out: &mut Outbox) {
        let Some(lease) = self.leases.get_mut(task, token) else {
            return;
        };
        if lease.is_ending {
            return self.run_out(now, task, token, out);
        }
        // Until it is over or the silence has passed the attempt is still the worker's, and its room taken: it may be
        // at it for a moment yet.
        lease.is_ending = true;
        out.kills.push((lease.worker, task, token));
        // Who does not say within that time that it has ended it will not say so any more.
        self.timer(now + self.rules.silence, Timer::Limit(task, token));
    }

    /// The time of an attempt is over, and so is the attempt.
    pub(super) fn run_out(&mut self, now: Moment, task: Task, token: Token, out: &mut Outbox) {
        let Some(&lease) = self.leases.get(task, token) else {
            return;
        };
        // A failure, not a release: one that costs no try would be begun again for ever, and never with a larger
        // limit.
        let (exit, cause) = (0, Cause::Time);
        match self.is_volunteers(task, token) {
            true => self.fail_copy(now, task, token, exit, cause, out),
            false => self.end(now, task, lease, Outcome::Failed { exit, cause }, out),
        }
    }

    pub(super) fn timer(&mut self, at: Moment, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }
}
