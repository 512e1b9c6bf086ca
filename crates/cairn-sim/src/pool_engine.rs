//! A pool whose run the engine of `cairn serve` decides: it is told what happens and when, and what follows is carried out.
//! Chooses nothing.

use crate::budgets::run::WAITED_IN_VAIN;
use crate::clock::Time;
use crate::leases::LeaseId;
use crate::measures::{Event, Stuck, What};
use crate::nature::Claim;
use crate::pool_run::PoolRun;
use crate::served::{Attempt, Effect};
use crate::worker::WorkerId;
use cairn_dag::TaskId;

/// A result that came back, of a task that is not settled.
#[derive(Debug)]
pub(crate) struct Back {
    attempt: u32,
    worker: WorkerId,
    /// In which of the worker's spells.
    spell: u32,
    claim: Claim,
    core_time: f64,
}

/// Who gets nothing asks again after a third of the silence: within that time it must be heard of anyway.
// As often as workers of `cairn serve` send a heartbeat.
const ASKS: f64 = 1.0 / 3.0;
/// And where nothing happened for long, after this share of that time: whoever waits for hours need not ask every second.
// A judgement.
const SELDOM: f64 = 0.05;
/// So many times what is expected a copy may take at the most.
// The engine's: ten times what is expected (`Distrust::slack`), at a volunteer that may be four times as slow as others.
const LONGEST: f64 = 40.0;

impl<L: FnMut(Event)> PoolRun<'_, L> {
    /// Whether all tasks are executed, or given up by the engine.
    pub(crate) fn is_over(&self) -> bool {
        match &self.served {
            Some(served) => served.is_over(),
            None => self.play.game.is_finished(),
        }
    }

    /// Whether tasks may be left for ever where that is no fault of the settings: it is what a server would come to.
    pub(crate) fn may_have_no_end(&self) -> bool {
        let served = self.served.as_ref();
        served.is_some_and(|served| served.silence.is_some())
    }

    /// When something happens next, or time has passed that the engine waits for. `None`: never.
    pub(crate) fn next_instant(&self) -> Option<Time> {
        let event = self.next_event();
        let Some(served) = &self.served else {
            return event;
        };
        let wake = [served.next_wake(), self.asks_again].into_iter().flatten();
        // What should have been done by now is done now.
        let wake = wake.map(|at| Time::new(at.max(self.now))).min();
        let next = [event, wake].into_iter().flatten().min()?;
        // Timers and questions of waiting workers would go on for ever: an end of events tells nothing here.
        let is_long = served.silence.is_some() && next.seconds() > self.endless_from();
        let is_endless = is_long && self.up_cores > 0.0 && !self.expects_somebody();
        (!is_endless).then_some(next)
    }

    /// Whoever has waited until then waits in vain.
    fn endless_from(&self) -> f64 {
        let deadline = self.served.as_ref().and_then(|served| served.deadline);
        let longest = LONGEST * self.longest;
        self.waits_since + WAITED_IN_VAIN * deadline.unwrap_or(0.0).max(longest)
    }

    /// Time has passed: what the engine waited for until now.
    ///
    /// # Errors
    /// As after any event.
    pub(crate) fn wake(&mut self) -> Result<(), Stuck> {
        let now = self.now;
        let Some(served) = &mut self.served else {
            return Ok(());
        };
        if served.next_wake().is_some_and(|at| at <= now) {
            self.play.note_event()?;
            served.wake(now);
            self.follow();
        }
        Ok(())
    }

    /// A worker comes back with what it made, or says it made.
    pub(crate) fn hand_back(&mut self, number: LeaseId) {
        let lease = *self.buffers.leases.get(number);
        let (task, id) = (lease.task, lease.worker);
        let core_time = self.core_time(task, lease.start);
        self.lay_aside(number);
        if self.is_settled(task) {
            self.wasted += core_time;
            return;
        }
        if lease.outstanding {
            self.count_back(task);
        }
        // Asked once: the log, the digest and what is noted of the result must speak of the same lie.
        let claim = self.says(id, task);
        let back = Back {
            attempt: lease.attempt,
            worker: id,
            spell: self.buffers.workers[id.index()].spell,
            claim,
            core_time,
        };
        // Before the engine hears of it: this very return may settle the task, and `settle` looks for it.
        self.pending.entry(task).or_default().push(back);
        if self.has_volunteers() {
            self.log(id, What::Returned(task));
        }
        if let Some(served) = &mut self.served {
            served.finish(self.now, id, (task, lease.attempt), claim);
        }
        self.follow();
    }

    /// The engine hears that a worker is gone, if it is.
    pub(crate) fn miss(&mut self, id: WorkerId) {
        // It may have come back within the silence: then the engine knows it under a new number already.
        let is_down = !self.buffers.workers[id.index()].is_up;
        if let Some(served) = self.served.as_mut().filter(|_| is_down) {
            served.lose(self.now, id);
            self.follow();
        }
    }

    /// What follows from what the engine was told. Whether some worker has room for that.
    pub(crate) fn follow(&mut self) -> bool {
        let Some(served) = &mut self.served else {
            return false;
        };
        let (mut has_stopped, mut settled) = (false, Vec::new());
        for effect in served.effects() {
            match effect {
                Effect::Released { attempt, is_late } => self.release(attempt, is_late),
                Effect::Executed((task, attempt)) => {
                    self.settle(task, attempt);
                    settled.push(task);
                }
                Effect::GivenUp(task) => {
                    self.give_up(task);
                    settled.push(task);
                }
                Effect::Stop((task, attempt)) => {
                    let found = self.buffers.leases.of_attempt(task, attempt);
                    if let Some(number) = found.filter(|&n| self.buffers.leases.get(n).alive) {
                        self.stop(number);
                        has_stopped = true;
                    }
                }
            }
        }
        // Those who are late are not counted on, and hear it all the same.
        settled.into_iter().for_each(|task| self.end_all(task));
        has_stopped
    }

    fn release(&mut self, (task, attempt): Attempt, is_late: bool) {
        let found = self.buffers.leases.of_attempt(task, attempt);
        let Some(number) = found.filter(|_| !self.is_settled(task)) else {
            return;
        };
        let lease = *self.buffers.leases.get(number);
        if is_late && lease.alive {
            self.log(lease.worker, What::Expired(task));
        }
        self.count_on_no_more(number);
    }

    /// A task is executed as this attempt has it; whoever else is at it need not go on.
    fn settle(&mut self, task: TaskId, attempt: u32) {
        let mut counted = None;
        for back in self.pending.remove(&task).unwrap_or_default() {
            match back.attempt == attempt {
                true => counted = Some(back),
                false => self.wasted += back.core_time,
            }
        }
        let Some(back) = counted else {
            debug_assert!(false, "what counts came back");
            return;
        };
        self.useful += back.core_time;
        self.log(back.worker, What::Finished(task));
        self.buffers.made_by[task.index()] = (back.worker, back.spell);
        self.note_result(task, back.claim);
        self.play.execute_late(task);
        self.note_settled();
    }

    /// A task will not be executed in this run.
    fn give_up(&mut self, task: TaskId) {
        if self.is_settled(task) {
            return;
        }
        let backs = self.pending.remove(&task).unwrap_or_default();
        self.wasted += backs.iter().map(|back| back.core_time).sum::<f64>();
        self.play.give_up(task);
        self.note_settled();
    }

    /// Whether a task is executed or given up.
    fn is_settled(&self, task: TaskId) -> bool {
        self.play.game.standing(task).is_settled()
    }

    /// Nobody works on a settled task any more.
    fn end_all(&mut self, task: TaskId) {
        let at = task.index();
        if self.buffers.outstanding[at] > 0 || self.buffers.alive[at] > 0 {
            self.stop_others(task);
            self.buffers.leases.forget_gone(task);
            self.buffers.outstanding[at] = 0;
        }
    }

    /// The engine decides. Who has to stop something asks again at once.
    pub(crate) fn serve_by_engine(&mut self) {
        // Each round somebody was told to stop and has room again. The bound keeps a fault of the rules from going
        // round for ever.
        for _ in 0..=self.buffers.workers.len() {
            let asking = self.asking();
            let Some(served) = &mut self.served else {
                return;
            };
            let given = served.ask(self.now, &asking);
            for &((task, attempt), id) in &given {
                // Else it is a copy of one that is with somebody.
                if self.play.is_eligible(task) {
                    self.play.take(task);
                }
                // `start` counts attempts of the whole run; the engine has a number of its own for each task, by
                // which it will speak of this one.
                let number = self.start(task, id);
                self.buffers.leases.get_mut(number).attempt = attempt;
                self.changed_at = self.now;
            }
            self.forget_full();
            if !self.follow() {
                break;
            }
        }
        self.ask_again_later();
    }

    /// What is refused to volunteers now may be given to them later, though nothing happens meanwhile: they ask again.
    fn ask_again_later(&mut self) {
        let silence = self.served.as_ref().and_then(|served| served.silence);
        let may_wait = self.has_volunteers() && !self.buffers.waiting.is_empty();
        self.asks_again = silence.filter(|_| may_wait).map(|silence| {
            let waited = self.now - self.changed_at;
            self.now + (ASKS * silence).max(SELDOM * waited)
        });
    }

    fn has_volunteers(&self) -> bool {
        let served = self.served.as_ref();
        served.is_some_and(|served| served.deadline.is_some())
    }
}
