//! The game on a frozen dag, with batches: several tasks asked for at once are chosen for what they open together. Knows no
//! leases.

use crate::{Frozen, Illegal, Order, Position, Task};
use cairn_dag::TaskId;
use cairn_plan::batch::{BatchEffort, BatchState, Batcher};
use cairn_theory::game::Standing;

/// A frozen dag whose requests for several tasks are answered by the planner's [`Batcher`].
///
/// While a task is given up, tasks go by the order alone: the batcher's books know nothing of such tasks.
#[derive(Clone, Debug)]
pub struct Batched<'d> {
    game: Frozen<'d>,
    books: Following<'d>,
    /// `None`: by the order alone.
    effort: Option<BatchEffort>,
}

/// What is kept beside the game to choose batches.
#[derive(Clone, Debug)]
enum Following<'d> {
    /// Nothing yet: they are made when the first batch is asked for.
    None,
    /// They follow the game.
    Kept(Box<Batcher<'d>>),
    /// They could not follow it.
    Useless,
}

impl<'d> Batched<'d> {
    /// The first position. A batch may cost so much; without an effort there are none.
    pub fn new(dag: &'d cairn_dag::Dag, effort: Option<BatchEffort>) -> Batched<'d> {
        Batched {
            game: Frozen::new(dag),
            books: Following::None,
            effort,
        }
    }

    /// The game.
    pub(crate) fn game(&self) -> &cairn_theory::game::Game<'d> {
        self.game.game()
    }

    /// What the batcher is told; it is let go where it does not follow.
    fn tell<T, E>(&mut self, told: impl FnOnce(&mut Batcher<'d>) -> Result<T, E>) {
        if let Following::Kept(batcher) = &mut self.books
            && told(batcher).is_err()
        {
            self.books = Following::Useless;
        }
    }

    /// Books as the game stands. O(tasks + arcs).
    fn made(&self, order: &Order) -> Following<'d> {
        let dag = self.game().dag();
        let mut tasks: Vec<TaskId> = dag.tasks().collect();
        tasks.sort_by_key(|&task| order.rank(task.into()));
        let mut state = BatchState::new(dag);
        for &task in dag.topological_order() {
            let done = match self.game().standing(task) {
                Standing::Executed => state.execute(task),
                Standing::Leased => state.lease(task),
                Standing::Waiting | Standing::Eligible => Ok(()),
                Standing::Failed | Standing::Aborted | Standing::Cancelled => {
                    return Following::Useless;
                }
            };
            if done.is_err() {
                return Following::Useless;
            }
        }
        Following::Kept(Box::new(Batcher::new(state, &tasks)))
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

    fn parents(&self, task: Task) -> Vec<Task> {
        self.game.parents(task)
    }

    fn opens(&self, task: Task) -> u64 {
        self.game.opens(task)
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
        // The batcher's game has no tasks that are given up: it would count on children that never become eligible.
        self.books = Following::Useless;
        self.game.fail(task, aborted)
    }

    fn cancel(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal> {
        self.books = Following::Useless;
        self.game.cancel(task, aborted)
    }

    fn revive(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        // Perhaps that was the last one given up.
        self.books = Following::None;
        self.game.revive(task, opened)
    }

    fn reopen(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.books = Following::None;
        self.game.reopen(task, opened)
    }

    fn eligible(&self, each: &mut dyn FnMut(Task)) {
        self.game.eligible(each);
    }

    fn batch(&mut self, count: usize, order: &Order) -> Option<Vec<Task>> {
        let effort = self.effort?;
        if matches!(self.books, Following::None) {
            self.books = self.made(order);
        }
        let Following::Kept(batcher) = &mut self.books else {
            return None;
        };
        let batch = batcher.choose(count, &effort);
        Some(batch.chosen.into_iter().map(Task::from).collect())
    }

    fn reordered(&mut self) {
        // Those that are useless stay so: another order does not bring given-up tasks back.
        if let Following::Kept(_) = self.books {
            self.books = Following::None;
        }
    }

    fn packed(&self) -> Vec<u8> {
        self.game.packed()
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Illegal> {
        self.books = Following::None;
        self.game.unpack(packed)
    }
}
