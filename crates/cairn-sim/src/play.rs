//! What every world needs to play one run: the dag, its durations, the game and the eligible tasks. Knows no world.

use crate::chooser::Chooser;
use crate::eligible::Eligible;
use crate::game::Game;
use crate::patience::Patience;
use cairn_dag::{Dag, TaskId};

/// One run of one policy, about to start. The buffers outlive the run and are used again.
pub(crate) struct Play<'a> {
    pub(crate) dag: &'a Dag,
    /// By task: seconds on a worker of speed 1.
    pub(crate) durations: &'a [f64],
    pub(crate) game: &'a mut Game,
    pub(crate) eligible: &'a mut Eligible,
    /// Who chooses whole batches, if anybody does.
    pub(crate) chooser: Option<Box<dyn Chooser + 'a>>,
    pub(crate) patience: Patience<'a>,
}

impl Play<'_> {
    /// Queues the tasks that have become eligible at this instant: those of one instant by id.
    #[inline]
    pub(crate) fn welcome_fresh(&mut self) {
        for task in self.game.take_fresh(self.eligible.depends_on_arrival()) {
            self.eligible.insert(task);
        }
    }

    /// Takes `count` eligible tasks, and there are so many: those chosen for a batch, the rest in the policy's order.
    pub(crate) fn take_batch(&mut self, count: usize, batch: &mut Vec<TaskId>) {
        batch.clear();
        if let Some(chooser) = &mut self.chooser {
            for task in chooser.choose(count) {
                let is_known = task.index() < self.dag.len();
                if batch.len() < count && is_known && self.eligible.contains(task) {
                    self.eligible.remove(task);
                    batch.push(task);
                }
            }
        }
        while batch.len() < count {
            batch.push(self.eligible.pop().expect("so many are eligible"));
        }
        if let Some(chooser) = &mut self.chooser {
            batch.iter().for_each(|&task| chooser.handed_out(task));
        }
    }

    /// Executes a task that was taken.
    #[inline]
    pub(crate) fn execute(&mut self, task: TaskId) {
        self.game.execute(self.dag, task);
        if let Some(chooser) = &mut self.chooser {
            chooser.executed(task);
        }
    }
}
