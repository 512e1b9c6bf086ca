//! What people do with a run by hand: end it, cancel a task, take it back, have it tried or executed again, pause. Knows no worker's
//! request.

use super::Engine;
use crate::{Entry, Event, Illegal, Moment, Outbox, Position, Release, Task, Token};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// Ends the run: nothing more is leased, and what is leased is to be ended.
    pub(crate) fn halt(&mut self, now: Moment, exit: i32, out: &mut Outbox) {
        // The first that ended the run says what it returns.
        if self.halted.is_none() {
            self.commit(now, Event::Halted { exit }, out);
        }
        let mut kills: Vec<_> = self.held().collect();
        // The map has an order of its own, which must not show.
        kills.sort_unstable();
        out.kills.extend(kills);
    }

    /// A task shall not be executed. Who has it is to end it.
    ///
    /// # Errors
    /// If it is executed or given up already, or there is no such task.
    pub fn cancel(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        let standing = self.position.standing(task)?;
        if standing.is_settled() {
            return Err(Illegal(format!("it is {} already", standing.name())));
        }
        self.stop_all(task, out);
        self.commit(now, Event::Cancelled { task }, out);
        Ok(())
    }

    /// A leased task is taken back, since what it reads changes. Who has it is to end it, and what came back of it is
    /// forgotten.
    pub fn recall(&mut self, now: Moment, task: Task, out: &mut Outbox) {
        if self.trust.has(task) {
            // Results of volunteers that wait for validation were made of what is no longer so.
            self.stop_all(task, out);
            self.commit(now, Event::Cancelled { task }, out);
            return self.commit(now, Event::Revived { task }, out);
        }
        self.stop_all(task, out);
        let held: Vec<Token> = self.leases.of(task).map(|lease| lease.token).collect();
        // Given back, not lost: nobody is to blame, and it costs no try.
        for token in held {
            self.release(now, task, token, Release::GivenBack, out);
        }
    }

    /// A failed or cancelled task shall be tried again, with budgets as at the beginning.
    ///
    /// # Errors
    /// If it is neither, or there is no such task.
    pub fn revive(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        match self.position.standing(task)? {
            Standing::Failed | Standing::Cancelled => {
                self.commit(now, Event::Revived { task }, out);
                Ok(())
            }
            Standing::Aborted => Err(Illegal(
                "it was aborted since a task before it failed or was cancelled: retry that one"
                    .into(),
            )),
            standing => Err(Illegal(format!("it is {}", standing.name()))),
        }
    }

    /// An executed task shall be executed again. Reopen its children first.
    ///
    /// # Errors
    /// If it is not executed, or something stands on it.
    pub fn reopen(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        let event = Event::Reopened { task };
        // Not by `commit`: this one may be refused.
        self.apply(now, &event)?;
        self.settle_books(out);
        out.entries.push(Entry { at: now, event });
        Ok(())
    }

    /// Nothing is leased until somebody says otherwise; returns go on.
    pub fn pause(&mut self, now: Moment, out: &mut Outbox) {
        if !self.is_paused {
            self.commit(now, Event::Paused, out);
        }
    }

    /// Tasks are leased again.
    pub fn unpause(&mut self, now: Moment, out: &mut Outbox) {
        if self.is_paused {
            self.commit(now, Event::Unpaused, out);
        }
    }
}
