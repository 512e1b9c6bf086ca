//! What comes back: an attempt ends, its files take their places if it counts, and what volunteers made goes when their task is
//! settled. Answers nobody.

use super::{Desk, Handed};
use crate::http::files::Staged;
use crate::http::types::Worth;
use cairn_engine::{
    Entry, Event, Moment, Outcome, Position, Receipt, Release, Returned, Task, Token, WorkerId,
};
use cairn_theory::game::Standing;

impl<P: Position> Desk<'_, P> {
    /// Whether a task would be done as some volunteer's attempt whose files are not beside their places yet. This thread carries none.
    pub(super) fn must_release(&self, worker: WorkerId, returns: &mut [Handed]) -> bool {
        let mut lacks = false;
        for handed in returns {
            let (task, token) = (handed.task, handed.token);
            let digest = handed.digest.filter(|_| !handed.lacks_output);
            let digest = digest.filter(|_| {
                self.is_volunteer(worker)
                    && self.manner.tasks.makes_files(task)
                    && (self.engine).would_take(worker, task, token, handed.outcome)
            });
            handed.winner = digest.and_then(|digest| self.engine.foresee(task, token, digest));
            lacks |= handed.winner.is_some() && handed.winner != handed.released;
        }
        lacks
    }

    pub(super) fn is_volunteer(&self, worker: WorkerId) -> bool {
        let known = self.engine.workers().get(worker.0 as usize);
        known.is_some_and(|w| w.client().is_some())
    }

    /// One attempt that ended: if it counts, its files take their places first. Of volunteers that is what they agree on.
    pub(super) fn take_back(&mut self, now: Moment, worker: WorkerId, handed: Handed) -> Worth {
        let Handed {
            task,
            token,
            outcome,
            staged,
            lacks_output,
            digest,
            released,
            winner: _,
        } = handed;
        let would_count = self.engine.would_take(worker, task, token, outcome);
        let is_volunteer = self.is_volunteer(worker);
        if would_count && lacks_output {
            return Worth::OutputMissing;
        }
        // Whether the task will be done, and its files are where they belong.
        let is_executed = outcome == Outcome::Executed;
        let place = |staged: Vec<Staged>| staged.into_iter().all(|file| file.place().is_ok());
        // Files take their places first, then the event is written. A crash in between leaves a task that
        // is executed again, over its own files; the other way round it would be executed without them.
        let (made, placed) = match (would_count, is_volunteer, digest) {
            (false, ..) => (false, true),
            (true, false, _) if is_executed => (true, place(staged)),
            (true, false, _) | (true, true, None) => (false, true),
            (true, true, Some(digest)) => match self.engine.foresee(task, token, digest) {
                // What came with it in one request may have made it so: it is returned again.
                winner
                    if winner.is_some()
                        && winner != released
                        && self.manner.tasks.makes_files(task) =>
                {
                    (true, false)
                }
                Some(_) => (true, place(staged)),
                None => (false, true),
            },
        };
        if !placed {
            return Worth::OutputMissing;
        }
        self.before_return((task, token), made);
        let back = Returned {
            task,
            token,
            outcome,
            digest,
        };
        let receipt: Receipt = (self.engine).take_back(now, worker, &back, &mut self.out);
        let is_done = self.engine.position().standing(task) == Ok(Standing::Executed);
        let is_executed = receipt.counts() && is_executed && is_done;
        self.after_return(task, is_executed);
        if is_executed && let Some(stamps) = &mut self.stamps {
            // Of several that were returned another may be the one that counts.
            let counts = self.out.entries.iter().rev().find_map(|e| match e.event {
                Event::Executed { task: t, token, .. } => (t == task).then_some(token),
                _ => None,
            });
            self.stamped
                .extend(stamps.executed(task, counts.unwrap_or(token)));
        }
        receipt.into()
    }

    /// Results that agree by now, though they did not have to be so few before the restart: their files take their places.
    pub(super) fn settle_agreed(&mut self) {
        let now = self.clock.now();
        for (task, winner) in self.engine.agreed() {
            if !self.release(task, winner) {
                // What was held is gone, so that what they agree on cannot be brought: it is tried anew.
                self.engine.recall(now, task, &mut self.out);
                continue;
            }
            self.before_return((task, winner), true);
            self.engine.settle(now, task, &mut self.out);
            self.after_return(task, true);
            if let Some(stamps) = &mut self.stamps {
                self.stamped.extend(stamps.executed(task, winner));
            }
        }
    }

    /// Brings what an attempt of a volunteer made to its places.
    pub(super) fn release(&self, task: Task, token: Token) -> bool {
        if !self.manner.tasks.makes_files(task) {
            return true;
        }
        let staged = self.files.release(task, token);
        staged.is_ok_and(|all| all.into_iter().all(|file| file.place().is_ok()))
    }

    /// What volunteers made of a task that is settled waits for nothing.
    pub(super) fn forget_held(&self, entries: &[Entry]) {
        // Without volunteers nothing is ever held: each group would look through its events for nothing.
        if self.engine.trust().is_idle() {
            return;
        }
        for entry in entries {
            let is_settled = match entry.event {
                Event::Failed { for_good, .. } | Event::Released { for_good, .. } => for_good,
                Event::Executed { .. } | Event::Disputed { .. } | Event::Cancelled { .. } => true,
                _ => false,
            };
            if let Some(task) = entry.event.task().filter(|_| is_settled) {
                let counts = match entry.event {
                    Event::Executed { token, .. } => Some(token),
                    _ => None,
                };
                // What strangers print must not fill the disk, however often they are wrong.
                let others = self.files.forget_held(task).into_iter();
                let others = others.filter(|&token| Some(token) != counts);
                others.for_each(|token| self.manner.logs.shorten(task, token));
            }
            // Nor does it keep room from the next attempt; what is late may still count.
            let failed = match entry.event {
                Event::Failed { task, token, .. } => Some((task, token)),
                Event::Released {
                    task, token, why, ..
                } if !matches!(why, Release::Lost | Release::Overdue) => Some((task, token)),
                _ => None,
            };
            if let Some((task, token)) = failed.filter(|_| !is_settled)
                && self.files.forget_print(task, token)
            {
                self.manner.logs.shorten(task, token);
            }
        }
    }
}
