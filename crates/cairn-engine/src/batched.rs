//! The game on a frozen dag, with batches: several tasks asked for at once are chosen for what they open together. Knows no
//! leases.

use crate::{Frozen, Illegal, Position, Task};
use cairn_dag::TaskId;
use cairn_plan::batch::{BatchState, Batcher, Effort};
use cairn_theory::game::Standing;

/// A frozen dag whose requests for several tasks are answered by the planner's [`Batcher`].
///
/// Once a task is given up or reopened the batcher is let go and tasks go by the order alone: its books know nothing of
/// such tasks.
#[derive(Clone, Debug)]
pub struct Batched<'d> {
    game: Frozen<'d>,
    batcher: Option<Batcher<'d>>,
    effort: Effort,
}

impl<'d> Batched<'d> {
    /// The first position. Among batches that are as good, tasks that come first in `order` go first.
    ///
    /// # Panics
    /// If the order does not name every task once.
    pub fn new(dag: &'d cairn_dag::Dag, order: &[TaskId], effort: Effort) -> Batched<'d> {
        Batched {
            game: Frozen::new(dag),
            batcher: Some(Batcher::new(BatchState::new(dag), order)),
            effort,
        }
    }

    /// The game.
    pub fn game(&self) -> &cairn_theory::game::Game<'d> {
        self.game.game()
    }

    /// What the batcher is told; it is let go where it does not follow.
    fn tell<T, E>(&mut self, told: impl FnOnce(&mut Batcher<'d>) -> Result<T, E>) {
        if self
            .batcher
            .as_mut()
            .is_some_and(|batcher| told(batcher).is_err())
        {
            self.batcher = None;
        }
    }
}

fn id(task: Task) -> TaskId {
    task.frozen().expect("the game knows the task")
}

impl Position for Batched<'_> {
    fn standing(&self, task: Task) -> Result<Standing, Illegal> {
        self.game.standing(task)
    }

    fn count(&self, standing: Standing) -> Option<u64> {
        self.game.count(standing)
    }

    fn is_settled(&self) -> bool {
        self.game.is_settled()
    }

    fn lease(&mut self, task: Task) -> Result<(), Illegal> {
        self.game.lease(task)?;
        self.tell(|batcher| batcher.state_mut().lease(id(task)));
        Ok(())
    }

    fn release(&mut self, task: Task) -> Result<(), Illegal> {
        self.game.release(task)?;
        self.tell(|batcher| batcher.state_mut().release(id(task)));
        Ok(())
    }

    fn execute(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.game.execute(task, opened)?;
        self.tell(|batcher| batcher.state_mut().execute(id(task)));
        Ok(())
    }

    fn fail(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal> {
        self.batcher = None;
        self.game.fail(task, aborted)
    }

    fn cancel(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal> {
        self.batcher = None;
        self.game.cancel(task, aborted)
    }

    fn revive(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.game.revive(task, opened)
    }

    fn reopen(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.batcher = None;
        self.game.reopen(task, opened)
    }

    fn eligible(&self, each: &mut dyn FnMut(Task)) {
        self.game.eligible(each);
    }

    fn batch(&mut self, count: usize) -> Option<Vec<Task>> {
        let batch = self.batcher.as_mut()?.choose(count, &self.effort);
        Some(batch.chosen.into_iter().map(Task::from).collect())
    }

    fn packed(&self) -> Vec<u8> {
        self.game.packed()
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Illegal> {
        self.game.unpack(packed)?;
        let mut tasks = self.game.game().dag().tasks();
        if tasks.any(|t| self.game.game().standing(t).is_given_up()) {
            self.batcher = None;
        }
        for &task in self.game.game().dag().topological_order() {
            match self.game.game().standing(task) {
                Standing::Executed => self.tell(|batcher| batcher.state_mut().execute(task)),
                Standing::Leased => self.tell(|batcher| batcher.state_mut().lease(task)),
                _ => (),
            }
        }
        Ok(())
    }
}
