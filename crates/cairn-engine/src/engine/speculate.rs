//! Copies of late tasks for trusted workers, where tasks go by speeds: the engine's side of what [`Dispatch`] finds worth it.
//! Knows no speeds itself; what several attempts at one task mean is said in `leases.rs`.
//!
//! Two attempts at one task run at the same time, so they must not be in each other's way: [`Copies`] says of which tasks
//! that can be said at all, and no worker has one whose tasks run in the folder of the workflow, or of whom another has the
//! task there. Under a cap on the disk there are no copies, since nothing is reserved for a second one. Nor does a copy take what an
//! eligible task waits for: room on a worker that has too little of it yet, or some of a pool.

use super::Engine;
use super::aware::{Round, seconds};
use crate::{
    ClassId, Copies, Dispatch, Event, Moment, Move, Needs, Outbox, Position, Release, Task, Token,
    WorkerId,
};
use cairn_dag::TaskId;

/// One of the two rules by which copies are chosen.
type Rule = fn(
    &mut Dispatch,
    f64,
    &[(WorkerId, usize)],
    &mut dyn FnMut(TaskId, WorkerId) -> bool,
) -> Vec<Move>;

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
        // In the workflow's own folder two attempts at one task would write over each other's files.
        asking.retain(|&(w, room)| room > 0 && !self.workers[w.index()].offer.is_shared);
        if asking.is_empty() {
            return;
        }
        let waiting = self.waiting_classes();
        asking.retain(|&(w, _)| !self.is_room_awaited(now, w, &waiting));
        let Some(mut dispatch) = self.dispatch.take() else {
            return;
        };
        let mut may = |task: TaskId, worker: WorkerId| {
            let task = task.into();
            !self.is_worn(task)
                && self.rules.copies.may(task)
                && self
                    .copy_in_the_way_of_none(now, worker, task, &waiting)
                    .is_some()
        };
        let moves = rule(&mut dispatch, seconds(now), &asking, &mut may);
        self.dispatch = Some(dispatch);
        for m in moves {
            let (task, worker) = (m.task.into(), m.worker);
            // Who came before may have taken what both need.
            let class = self.copy_in_the_way_of_none(now, worker, task, &waiting);
            if let Some(class) = class
                && !self.is_kept_from(worker, task, self.queue.needs(class))
            {
                self.give(round, worker, class, task, out);
            }
        }
    }

    /// What eligible tasks need, each once.
    fn waiting_classes(&mut self) -> Vec<ClassId> {
        let classes = self.queue.classes();
        classes
            .filter(|&class| self.first_allowed(class).is_some())
            .collect()
    }

    /// Whether some eligible task that the worker could do has no room there yet.
    fn is_room_awaited(&self, now: Moment, worker: WorkerId, waiting: &[ClassId]) -> bool {
        let known = &self.workers[worker.index()];
        let mut needs = waiting.iter().map(|&class| self.queue.needs(class));
        // What waits for its share of a pool as well would not start if there were room.
        let lacks_only_room = |needs: &Needs| !known.has_room(needs) && self.has_pools(needs);
        needs.any(|needs| known.could(now, needs) && lacks_only_room(needs))
    }

    /// What a copy of the task would need, if the worker can have one and no eligible task waits for some of that.
    fn copy_in_the_way_of_none(
        &mut self,
        now: Moment,
        worker: WorkerId,
        task: Task,
        waiting: &[ClassId],
    ) -> Option<ClassId> {
        let class = self.class_of_copy(now, worker, task).ok()?;
        let own = self.queue.needs(class);
        let mut needs = waiting.iter().map(|&class| self.queue.needs(class));
        let is_awaited = needs.any(|needs| needs.shares_pool_with(own) && !self.has_pools(needs));
        (!is_awaited).then_some(class)
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
        // Released at once, and not when the worker says so: its room is wanted now, by a task that nobody has begun
        // with.
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
