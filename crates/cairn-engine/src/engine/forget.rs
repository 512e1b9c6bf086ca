//! Workers that are long gone are forgotten, so that a run in which many come and go stays small. What is known of speeds and of
//! volunteers stays: it is known by name and by client. Has no clock.

use super::Engine;
use crate::{Event, Illegal, Moment, Outbox, Position, WorkerId};
use std::collections::BTreeSet;

impl<P: Position> Engine<P> {
    /// Forgets those that are gone for longest, where there are many; not those that something depends on.
    pub(super) fn forget_gone(&mut self, now: Moment, out: &mut Outbox) {
        let least = self.rules.gone;
        // Not one by one: each time all that may depend on them is gone through.
        if self.gone.len() <= self.full_at.max(2 * least) {
            return;
        }
        // Someone who may still bring a result must be known as trusted or not when it does.
        let kept: BTreeSet<WorkerId> = self.depended_on();
        let old = self.gone.len() - least;
        let old: Vec<WorkerId> = (self.gone.iter().take(old).copied())
            .filter(|worker| !kept.contains(worker))
            .collect();
        for worker in old {
            self.commit(now, Event::Forgotten { worker }, out);
        }
        // Where nearly all are depended on, it is not looked at each time.
        self.full_at = self.gone.len() + least;
    }

    /// Who may still be at a task that was given up for lost, or made a result that waits for others.
    fn depended_on(&self) -> BTreeSet<WorkerId> {
        let lost = self.lost().map(|(worker, _)| worker);
        lost.chain(self.trust.who()).collect()
    }

    pub(super) fn forget(&mut self, at: Moment, worker: WorkerId) -> Result<(), Illegal> {
        if self.known(worker)?.is_here {
            return Err(Illegal(format!("worker {} is here", worker.0)));
        }
        self.workers.let_go(worker.index());
        match self.gone.front() == Some(&worker) {
            true => drop(self.gone.pop_front()),
            false => self.gone.retain(|gone| *gone != worker),
        }
        if let Some(dispatch) = &mut self.dispatch {
            dispatch.forget(at.0 / 1_000_000, worker);
        }
        Ok(())
    }
}
