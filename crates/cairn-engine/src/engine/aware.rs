//! Who gets what where workers differ: the engine's side of [`Dispatch`], which is told of everything and asked first.
//! Knows no speeds itself.

use super::{Engine, Reservation};
use crate::{
    ClassId, Copies, Dispatch, Fit, Granted, Memory, Moment, Order, Outbox, Placing, Position,
    Refusal, Task, WorkerId,
};
use cairn_dag::TaskId;
use cairn_theory::game::Standing;
use hashbrown::HashMap;

/// A moment in seconds.
pub(super) fn seconds(at: Moment) -> f64 {
    at.0 as f64 / 1e6
}

/// A task that is kept for somebody faster, who is busy.
type Kept = (TaskId, WorkerId);

/// Requests that came together, as far as they are answered.
pub(super) struct Round<'a> {
    pub(super) now: Moment,
    asked: &'a [(WorkerId, usize)],
    answers: Vec<Result<Vec<Granted>, Refusal>>,
    /// By worker that is here and wants something: its request.
    of: HashMap<WorkerId, usize>,
}

impl<P: Position> Engine<P> {
    /// From now on it is learnt how fast workers are, and tasks go as `placing` says. After [`Engine::restore`] and before
    /// anything is replayed. `make` gets all that is remembered of earlier times.
    pub fn watch(
        &mut self,
        memory: Memory,
        placing: Placing,
        make: impl FnOnce(Memory) -> Dispatch,
    ) {
        let memory = match self.remembered.take() {
            // What the snapshot knows is newer than what the book of earlier runs says.
            Some(later) => memory.then(&later),
            None => memory,
        };
        let mut dispatch = make(memory);
        dispatch.only_learn(placing == Placing::ByOrder);
        dispatch.allow_copies(self.rules.copies != Copies::Never);
        for number in 0..self.workers.len() {
            let Some(worker) = self.workers.get(number) else {
                // Numbers are counted there as here: one left out would shift all later workers.
                dispatch.skip();
                continue;
            };
            let told = worker.offer.told_speed();
            let name = worker.book_name(self.trust.distrust());
            dispatch.joined(&name, worker.offer.cpus, told);
            if !worker.is_here {
                dispatch.departed(WorkerId::new(number));
            }
        }
        let mut held: Vec<_> = (self.leases.iter())
            .map(|(task, lease)| (lease.since, task, lease.token, lease.worker))
            .collect();
        // By when they began: of copies the oldest must be known as such.
        held.sort_unstable();
        for (since, task, _, worker) in held {
            if let Some(task) = task.frozen() {
                dispatch.started(seconds(since), task, worker);
            }
        }
        self.dispatch = Some(Box::new(dispatch));
        self.placing = placing;
        self.tell_order();
        self.is_dispatch_stale = true;
    }

    /// Equal tasks go by the order in force.
    pub(super) fn tell_order(&mut self) {
        if self.placing == Placing::ByOrder {
            return;
        }
        if let (Some(dispatch), Order::Ranked(rank)) = (&mut self.dispatch, self.queue.order()) {
            dispatch.reorder(rank.clone());
        }
    }

    /// Who learns how fast workers are, if anybody does.
    pub fn dispatch(&self) -> Option<&Dispatch> {
        self.dispatch.as_deref()
    }

    /// Whether somebody who asked is idle because a task is kept for another, or may get a copy of one that is late by and by:
    /// to be asked again even if nothing happens.
    pub fn is_holding(&self) -> bool {
        // What runs becomes late as time passes, and a copy of it worth while, though nothing happens.
        let waits = |d: &Dispatch| d.kept().is_some() || (self.may_speculate() && d.is_busy());
        self.is_aware() && self.dispatch().is_some_and(waits)
    }

    /// Whether tasks go by what is learnt of workers. Not while volunteers are here: they have rules of their own.
    pub fn is_aware(&self) -> bool {
        !self.minds_volunteers()
            && self.dispatch().is_some_and(|dispatch| match self.placing {
                Placing::ByOrder => false,
                // Asked anew each time: workers come and go, and what is known of them grows.
                Placing::WhereUneven => dispatch.is_uneven(),
                Placing::BySpeed => true,
            })
    }

    /// For whom a task was kept when workers last asked.
    pub(super) fn faster(&self, task: Task) -> Option<WorkerId> {
        let dispatch = self.dispatch().filter(|_| self.is_aware())?;
        dispatch.kept_for(task.frozen()?)
    }

    /// The first task that was kept for somebody when workers last asked.
    pub(super) fn first_kept(&self) -> Option<(Task, WorkerId)> {
        let (task, worker) = self.dispatch().filter(|_| self.is_aware())?.kept()?;
        // It was so when workers last asked.
        let is_eligible = self.position.standing(task.into()) == Ok(Standing::Eligible);
        is_eligible.then_some((task.into(), worker))
    }

    /// Tells of a task of a frozen dag.
    pub(super) fn tell_dispatch(&mut self, task: Task, what: impl FnOnce(&mut Dispatch, TaskId)) {
        if let Some((dispatch, task)) = self.dispatch.as_deref_mut().zip(task.frozen()) {
            what(dispatch, task);
        }
    }

    pub(super) fn note_start(&mut self, at: Moment, task: Task, worker: WorkerId) {
        self.tell_dispatch(task, |d, t| d.started(seconds(at), t, worker));
    }

    /// A task came back well from who had it since then.
    pub(super) fn note_return(&mut self, at: Moment, since: Moment, task: Task, worker: WorkerId) {
        let (at, since) = (seconds(at), seconds(since));
        self.tell_dispatch(task, |d, t| d.returned(at, since, t, worker));
    }

    /// Tells where all tasks stand, if that is not known.
    pub(super) fn sync_dispatch(&mut self) {
        if self.placing == Placing::ByOrder || !std::mem::take(&mut self.is_dispatch_stale) {
            return;
        }
        let Some(mut dispatch) = self.dispatch.take() else {
            return;
        };
        for task in dispatch.tasks() {
            let standing = self.position.standing(task.into());
            // Who has one told so when it began.
            if let Some(standing) = standing.ok().filter(|&s| s != Standing::Leased) {
                dispatch.stands(task, standing);
            }
        }
        self.dispatch = Some(dispatch);
    }

    /// Whether the worker can do the task now, later or never, once it has stopped another where one is named.
    fn fit(&mut self, now: Moment, task: Task, worker: WorkerId, stopped: Option<Task>) -> Fit {
        let class = self.class(task);
        let Some(asking) = self.workers.get(worker.index()).filter(|w| w.is_here) else {
            return Fit::Never;
        };
        let needs = self.queue.needs(class);
        if !asking.could(now, needs) {
            return Fit::Never;
        }
        if !self.could_hold(worker, task) {
            return Fit::Never;
        }
        let has_room = match stopped {
            None => asking.has_room(needs) && self.has_pools(needs) && self.has_space(worker, task),
            Some(stopped) => self.has_room_instead(worker, (task, needs), stopped),
        };
        if !has_room || self.is_kept_from(worker, task, needs) {
            return Fit::Later;
        }
        match self.keeper_lets(task) {
            true => Fit::Now,
            false => Fit::Later,
        }
    }

    /// Requests that came together, answered by who will end which task first; `None` where that is not the rule.
    pub(super) fn ask_aware(
        &mut self,
        now: Moment,
        asked: &[(WorkerId, usize)],
        out: &mut Outbox,
    ) -> Option<Vec<Result<Vec<Granted>, Refusal>>> {
        if !self.is_aware() || self.refuses_all().is_some() {
            return None;
        }
        self.sync_dispatch();
        self.drop_idle_reservation();
        self.requeue_withheld();
        let answers: Vec<Result<Vec<Granted>, Refusal>> = (asked.iter())
            .map(|&(worker, _)| self.hear(now, worker).map(|()| Vec::new()))
            .collect();
        let numbered = asked.iter().enumerate();
        let wants = numbered.filter(|&(i, &(_, want))| answers[i].is_ok() && want > 0);
        let of = wants.map(|(i, &(worker, _))| (worker, i)).collect();
        let mut round = Round {
            now,
            asked,
            answers,
            of,
        };
        // First, or what the rule places would take the room that was kept.
        self.start_where_kept(&mut round, out);
        self.begin_late_again(&mut round, out);
        let kept = self.place(&mut round, out)?;
        self.refuse_rest(&mut round, kept, out);
        self.copy_late(&mut round, out);
        Some(round.answers)
    }

    /// A task that was overtaken too often starts where room was kept for it, as soon as that is enough, whoever else would end it
    /// sooner.
    fn start_where_kept(&mut self, round: &mut Round<'_>, out: &mut Outbox) {
        let Some(Reservation {
            task,
            worker: Some(worker),
        }) = self.reservation
        else {
            return;
        };
        let asks = round.of.contains_key(&worker);
        if asks && self.fit(round.now, task, worker, None) == Fit::Now {
            let class = self.class(task);
            self.give(round, worker, class, task, out);
            self.drop_idle_reservation();
        }
    }

    /// Eligible tasks to those who will end them first. Returns the first that is kept for somebody else, and for whom.
    fn place(&mut self, round: &mut Round<'_>, out: &mut Outbox) -> Option<Option<Kept>> {
        let now = round.now;
        let asking = self.still_asking(round);
        // Taken out, since it asks the whole engine back; nothing that is asked on the way tells it of anything.
        let mut dispatch = self.dispatch.take()?;
        // Tasks in the order in which they are looked at.
        let mut looked: Vec<Task> = Vec::new();
        // By worker: the first task that waits for nothing but room there.
        let mut blocked: Vec<(WorkerId, Task)> = Vec::new();
        let mut fit = |task: TaskId, worker: WorkerId, stopped: Option<TaskId>| {
            let (task, stopped) = (task.into(), stopped.map(Task::from));
            if looked.last() != Some(&task) {
                looked.push(task);
            }
            let fit = self.fit(now, task, worker, stopped);
            let is_new = fit == Fit::Later && !blocked.iter().any(|&(other, _)| other == worker);
            if is_new && self.waits_for_room(worker, task) && self.keeper_lets(task) {
                blocked.push((worker, task));
            }
            fit
        };
        let moves = dispatch.place(seconds(now), &asking, &mut fit);
        let kept = dispatch.kept();
        self.dispatch = Some(dispatch);
        for m in moves {
            let (task, worker) = (m.task.into(), m.worker);
            match m.instead_of {
                // It hears of it, and asks for what it can do then.
                Some(stopped) => self.stop_redundant(now, stopped.into(), worker, out),
                // Who came before may have taken what both need.
                None if self.fit(now, task, worker, None) == Fit::Now => {
                    let overtaken = blocked.iter().find(|&&(other, _)| other == worker);
                    let place = |task: Task| looked.iter().position(|&other| other == task);
                    // Who comes before it does not overtake it.
                    let wide = overtaken
                        .map(|&(_, wide)| wide)
                        .filter(|&wide| wide != task && place(wide) < place(task));
                    if wide.is_some_and(|wide| self.overtake(worker, wide).is_err()) {
                        continue; // its room is kept from now on
                    }
                    let class = self.class(task);
                    self.give(round, worker, class, task, out);
                }
                None => (),
            }
        }
        Some(kept)
    }

    /// Those of a round who have room for more than they got, and for how many.
    pub(super) fn still_asking(&self, round: &Round<'_>) -> Vec<(WorkerId, usize)> {
        let mut asking = Vec::with_capacity(round.of.len());
        for (i, &(worker, want)) in round.asked.iter().enumerate() {
            // Who asked twice is answered by the later request.
            if round.of.get(&worker) == Some(&i) {
                let got = round.answers[i].as_ref().map_or(0, Vec::len);
                let room = self.workers[worker.index()].free_cpus();
                asking.push((worker, want.saturating_sub(got).min(room)));
            }
        }
        asking
    }

    /// A worker that asked is given a task.
    pub(super) fn give(
        &mut self,
        round: &mut Round<'_>,
        worker: WorkerId,
        class: ClassId,
        task: Task,
        out: &mut Outbox,
    ) {
        let Some(&request) = round.of.get(&worker) else {
            return;
        };
        let granted = self.grant(round.now, worker, class, task, out);
        match &mut round.answers[request] {
            Ok(all) => all.push(granted),
            // It was refused before copies were looked for.
            refused => *refused = Ok(vec![granted]),
        }
    }

    /// Who got nothing by the rule is told why, or gets by the order what nothing is kept of.
    fn refuse_rest(&mut self, round: &mut Round<'_>, kept: Option<Kept>, out: &mut Outbox) {
        let now = round.now;
        let mut over = None;
        for (i, &(worker, want)) in round.asked.iter().enumerate() {
            let answer = &mut round.answers[i];
            if want == 0 || answer.as_ref().map_or(true, |granted| !granted.is_empty()) {
                continue;
            }
            *answer = match (over, kept) {
                (Some(refusal), _) => Err(refusal),
                (None, Some(kept)) => Err(self.held_or_full(worker, kept)),
                // The rule found nothing for it and keeps nothing either: what fits goes by the order.
                (None, None) => match self.choose(now, worker) {
                    Ok((class, task)) => Ok(vec![self.grant(now, worker, class, task, out)]),
                    Err(refusal) => {
                        over = Some(refusal).filter(|r| super::together::is_for_all(*r));
                        Err(refusal)
                    }
                },
            };
        }
    }

    fn held_or_full(&self, worker: WorkerId, (task, faster): Kept) -> Refusal {
        match self.workers[worker.index()].free_cpus() {
            0 => Refusal::Full,
            _ => Refusal::KeptFor {
                task: task.into(),
                worker: faster,
            },
        }
    }
}
