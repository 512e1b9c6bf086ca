//! Copies of late tasks for trusted workers, where tasks go by speeds: the engine's side of what [`Dispatch`] finds worth it.
//! Knows no speeds itself; what several attempts at one task mean is said in `leases.rs`.
//!
//! Two attempts at one task run at the same time, so they must not be in each other's way: [`Copies`] says of which tasks
//! that can be said at all, and no worker has one whose tasks run in the folder of the workflow, or of whom another has the
//! task there. Under a cap on the disk there are no copies, since nothing is reserved for a second one.

use super::Engine;
use super::aware::{Round, seconds};
use crate::{
    Copies, Dispatch, Event, Moment, Move, Outbox, Position, Release, Task, Token, WorkerId,
};

/// One of the two rules by which copies are chosen.
type Rule = fn(&mut Dispatch, f64, &[(u32, usize)], &mut dyn FnMut(u32, u32) -> bool) -> Vec<Move>;

impl<P: Position> Engine<P> {
    /// Whether there are copies at all.
    pub(super) fn may_speculate(&self) -> bool {
        self.rules.copies != Copies::Never && self.keeper.is_none()
    }

    /// Running tasks that would hold up the end are begun again.
    pub(super) fn begin_late_again(&mut self, round: &mut Round<'_>, out: &mut Outbox) {
        self.speculate(Dispatch::restart, round, out);
    }

    /// Who is idle still gets a copy of what ends last.
    pub(super) fn copy_late(&mut self, round: &mut Round<'_>, out: &mut Outbox) {
        self.speculate(Dispatch::copy, round, out);
    }

    fn speculate(&mut self, rule: Rule, round: &mut Round<'_>, out: &mut Outbox) {
        if !self.may_speculate() {
            return;
        }
        let now = round.now;
        let mut asking = self.still_asking(round);
        asking.retain(|&(w, _)| !self.workers[w as usize].offer.is_shared);
        if asking.is_empty() {
            return;
        }
        let Some(mut dispatch) = self.dispatch.take() else {
            return;
        };
        let mut may = |task: u32, worker: u32| {
            let (task, worker) = (Task(task.into()), WorkerId(worker));
            !self.is_worn(task)
                && self.rules.copies.may(task)
                && self.class_of_copy(now, worker, task).is_ok()
        };
        let moves = rule(&mut dispatch, seconds(now), &asking, &mut may);
        self.dispatch = Some(dispatch);
        for m in moves {
            let (task, worker) = (Task(m.task.into()), WorkerId(m.worker));
            // Who came before may have taken what both need.
            if let Ok(class) = self.class_of_copy(now, worker, task)
                && !self.is_kept_from(worker, task, &self.queue.needs(class).clone())
            {
                self.give(round, worker, class, task, out);
            }
        }
    }

    /// Whether its tries are used up. It lives on as long as some attempt does; with new ones it would do so for ever.
    fn is_worn(&self, task: Task) -> bool {
        (self.tries.get(&task)).is_some_and(|tries| {
            tries.failures > self.rules.retries(task) || tries.losses > self.rules.losses
        })
    }

    /// A copy that others will end sooner makes room for something real. The oldest attempt at a task never does.
    pub(super) fn stop_redundant(
        &mut self,
        now: Moment,
        task: Task,
        worker: WorkerId,
        out: &mut Outbox,
    ) {
        let later = self.leases.of(task).skip(1);
        let own: Vec<Token> = later
            .filter(|l| l.worker == worker)
            .map(|l| l.token)
            .collect();
        let Some(&token) = own.first() else {
            return;
        };
        out.kills.push((worker, task, token));
        let event = Event::Released {
            task,
            token,
            why: Release::Redundant,
            for_good: false,
        };
        self.commit(now, event, out);
    }
}
