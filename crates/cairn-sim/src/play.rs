//! What every world needs to play one run: the dag, its durations, the game and the eligible tasks. Knows no world.

use crate::budgets::run::{PATIENCE, STEPS_AN_EVENT};
use crate::chooser::Chooser;
use crate::eligible::Eligible;
use crate::gate::Gate;
use crate::measures::Stuck;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_theory::game::Game;
use cairn_theory::memory::OpenResults;

/// One run of one policy, about to start. The buffers outlive the run and are used again.
pub(crate) struct Play<'a> {
    pub(crate) dag: &'a Dag,
    /// By task: seconds on a worker of speed 1.
    pub(crate) durations: &'a [f64],
    pub(crate) game: Game<'a>,
    /// How many results are open, and were at most.
    open: OpenResults<'a, u64>,
    /// Tasks that became eligible and are not queued yet.
    fresh: &'a mut Vec<TaskId>,
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
        stop: &'a (dyn Fn() -> bool + Sync),
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
            patience: Work::new(PATIENCE * STEPS_AN_EVENT, stop),
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
            false if self.patience.was_stopped() => Err(Stuck::Stopped { executed }),
            false => Err(Stuck::InVain { executed }),
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
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        let Some(gate) = &mut self.gate else {
            return self.eligible.pop();
        };
        let task = gate.choose(self.eligible, |_| true)?;
        gate.start(task);
        self.eligible.remove(task);
        Some(task)
    }

    /// Goes on, unless nothing runs and nothing may start.
    ///
    /// # Errors
    /// If that is so.
    pub(crate) fn go_on(&mut self) -> Result<(), Stuck> {
        let executed = self.game.executed_count();
        let gate = self.gate.as_mut();
        match gate.is_some_and(|gate| gate.is_stuck(self.eligible)) {
            true => Err(Stuck::Full { executed }),
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
                if batch.len() < count && is_known && self.eligible.contains(task) {
                    self.eligible.remove(task);
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
