//! What every world needs to play one run: the dag, its durations, the game and the eligible tasks. Knows no world.

use crate::budgets::run::{PATIENCE, STEPS_AN_EVENT};
use crate::chooser::Chooser;
use crate::eligible::Eligible;
use crate::gate::Gate;
use crate::measures::{Stuck, Why};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_theory::game::{Game, Standing};
use cairn_theory::memory::OpenResults;

/// One run of one policy, about to start. The buffers outlive the run and are used again.
pub(crate) struct Play<'a> {
    pub(crate) dag: &'a Dag,
    /// By task: seconds on a worker of speed 1.
    pub(crate) durations: &'a [f64],
    /// Where each task stands. Leased are those that somebody is counted on for, in however many copies.
    pub(crate) game: Game<'a>,
    /// How many results are open, and were at most.
    open: OpenResults<'a, u64>,
    /// Tasks that became eligible and are not queued yet.
    fresh: &'a mut Vec<TaskId>,
    /// Those that are not fresh, in the order of the policy.
    pub(crate) eligible: &'a mut Eligible,
    /// Who chooses whole batches, if anybody does.
    pub(crate) chooser: Option<Box<dyn Chooser + 'a>>,
    /// Who may start, where storage is under a cap.
    pub(crate) gate: Option<Gate<'a>>,
    /// What is left until the run is given up, and the tasks executed when it was last filled up.
    patience: Work<'a>,
    seen_executed: usize,
}

impl<'a> Play<'a> {
    /// A play that begins: the sources are fresh.
    pub(crate) fn new(
        dag: &'a Dag,
        durations: &'a [f64],
        eligible: &'a mut Eligible,
        fresh: &'a mut Vec<TaskId>,
        chooser: Option<Box<dyn Chooser + 'a>>,
        gate: Option<Gate<'a>>,
        work: &Work<'a>,
    ) -> Play<'a> {
        fresh.clear();
        fresh.extend(dag.sources());
        Play {
            dag,
            durations,
            game: Game::new(dag),
            open: OpenResults::new(dag),
            fresh,
            eligible,
            chooser,
            gate,
            // One counter for both questions, whether it is in vain and whether to stop: a question costs, so it is
            // asked once in many steps.
            patience: work.part(PATIENCE * STEPS_AN_EVENT),
            seen_executed: 0,
        }
    }

    /// One more event has passed.
    ///
    /// # Errors
    /// Nothing was completed for very long, or whoever asked has stopped waiting.
    #[inline]
    pub(crate) fn note_event(&mut self) -> Result<(), Stuck> {
        let executed = self.game.executed_count();
        // Patience is for a row of events without a completion, not for a run: long runs are no fault.
        if executed > self.seen_executed {
            self.patience.refill(PATIENCE * STEPS_AN_EVENT);
            self.seen_executed = executed;
        }
        match self.patience.afford(STEPS_AN_EVENT) {
            true => Ok(()),
            false if self.patience.was_stopped() => Err(Stuck(Why::Stopped, executed)),
            false => Err(Stuck(Why::InVain, executed)),
        }
    }

    /// Queues the tasks that have become eligible at this instant: those of one instant by id.
    #[inline]
    pub(crate) fn welcome_fresh(&mut self) {
        // Ranks do not depend on who came first.
        if self.eligible.depends_on_arrival() {
            self.fresh.sort_unstable();
        }
        for task in self.fresh.drain(..) {
            self.eligible.insert(task);
        }
    }

    /// The most executed tasks so far that had an unexecuted child.
    pub(crate) fn peak_open(&self) -> f64 {
        self.open.peak() as f64
    }

    /// The most bytes in use so far, where they are counted.
    pub(crate) fn peak_disk(&self) -> f64 {
        self.gate.as_ref().map_or(0.0, |gate| gate.peak() as f64)
    }

    /// The first eligible task that may start, taken out.
    // In two inner loops, one a world: a call would be a percent and a half of a whole run.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        if self.gate.is_some() {
            return self.pop_let_in();
        }
        let task = self.eligible.pop()?;
        (self.game.lease(task)).expect("only eligible tasks are queued");
        Some(task)
    }

    // Apart: the rest of `pop` stands in the inner loop of every play without a cap.
    #[cold]
    fn pop_let_in(&mut self) -> Option<TaskId> {
        let gate = self.gate.as_mut()?;
        let task = gate.choose(&self.game, self.eligible, |_| true)?;
        self.take(task);
        Some(task)
    }

    /// An eligible task is given to somebody.
    #[inline]
    pub(crate) fn take(&mut self, task: TaskId) {
        (self.game.lease(task)).expect("only eligible tasks are queued");
        self.eligible.remove(task);
        if let Some(gate) = &mut self.gate {
            gate.start(task);
        }
    }

    /// Nobody is counted on any more for a task that was taken: it waits for another.
    pub(crate) fn give_back(&mut self, task: TaskId) {
        (self.game.release(task)).expect("only what was taken is given back");
        // What it would have written needs no room, until somebody starts anew.
        if let Some(gate) = &mut self.gate {
            gate.release(task);
        }
        self.eligible.insert(task);
    }

    /// A task that was taken once, and all that waits for it, will not be executed in this run.
    pub(crate) fn give_up(&mut self, task: TaskId) {
        if self.is_eligible(task) {
            self.eligible.remove(task);
        }
        (self.game.fail(task, |_| ())).expect("what is given up was tried");
    }

    /// Whether a task is eligible and with nobody.
    #[inline]
    pub(crate) fn is_eligible(&self, task: TaskId) -> bool {
        self.game.standing(task) == Standing::Eligible
    }

    /// How many tasks are neither settled nor with anybody.
    #[inline]
    pub(crate) fn unbegun(&self) -> usize {
        self.game.count(Standing::Waiting) + self.game.eligible_count()
    }

    /// Goes on, unless nothing runs and nothing may start.
    ///
    /// # Errors
    /// If that is so.
    pub(crate) fn go_on(&mut self) -> Result<(), Stuck> {
        let executed = self.game.executed_count();
        let gate = self.gate.as_mut();
        match gate.is_some_and(|gate| gate.is_stuck(&self.game, self.eligible)) {
            true => Err(Stuck(Why::Full, executed)),
            false => Ok(()),
        }
    }

    /// Takes up to `count` eligible tasks, so many if there is no cap: those chosen for a batch, the rest in the policy's
    /// order.
    pub(crate) fn take_batch(&mut self, count: usize, batch: &mut Vec<TaskId>) {
        batch.clear();
        // A chooser knows nothing of bytes: under a cap tasks are let in one by one.
        if let Some(chooser) = self.chooser.as_mut().filter(|_| self.gate.is_none()) {
            for task in chooser.choose(count) {
                // A chooser is code of others: what it may not propose is passed over.
                let is_known = task.index() < self.dag.len();
                if batch.len() < count && is_known && self.is_eligible(task) {
                    self.take(task);
                    batch.push(task);
                }
            }
        }
        // A chooser may propose fewer than asked for; requests must not go away empty while something is eligible.
        while batch.len() < count {
            let Some(task) = self.pop() else { break };
            batch.push(task);
        }
        if let Some(chooser) = &mut self.chooser {
            batch.iter().for_each(|&task| chooser.handed_out(task));
        }
    }

    /// Executes a task that was taken, also one that was given back since: it was about to be given out again.
    pub(crate) fn execute_late(&mut self, task: TaskId) {
        if self.is_eligible(task) {
            self.take(task);
        }
        self.execute(task);
    }

    /// Executes a task that was taken.
    #[inline]
    pub(crate) fn execute(&mut self, task: TaskId) {
        let Play { game, fresh, .. } = self;
        (game.execute(task, |child| fresh.push(child))).expect("what was taken was eligible");
        if let Some(gate) = &mut self.gate {
            gate.finish(task);
        }
        self.open.execute(task, |_| 1);
        if let Some(chooser) = &mut self.chooser {
            chooser.executed(task);
        }
    }
}
