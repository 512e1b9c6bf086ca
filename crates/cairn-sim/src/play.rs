//! What every world needs to play one run: the dag, its durations, the game and the eligible tasks. Knows no world.

use crate::eligible::Eligible;
use crate::game::Game;
use cairn_dag::Dag;

/// One run of one policy, about to start. The buffers outlive the run and are used again.
pub(crate) struct Play<'a> {
    pub(crate) dag: &'a Dag,
    /// By task: seconds on a worker of speed 1.
    pub(crate) durations: &'a [f64],
    pub(crate) game: &'a mut Game,
    pub(crate) eligible: &'a mut Eligible,
}

impl Play<'_> {
    /// Queues the tasks that have become eligible at this instant: those of one instant by id.
    #[inline]
    pub(crate) fn welcome_fresh(&mut self) {
        for task in self.game.take_fresh(self.eligible.depends_on_arrival()) {
            self.eligible.insert(task);
        }
    }
}
