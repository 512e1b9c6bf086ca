//! The game that a run plays, on a frozen dag or on a family that is never written down. Knows no leases and no order.

use crate::{Order, Task};
use cairn_theory::game::{Game, IllegalMove, Standing};

/// A move that the rules forbid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Illegal(pub String);

impl From<IllegalMove> for Illegal {
    fn from(illegal: IllegalMove) -> Illegal {
        Illegal(illegal.to_string())
    }
}

/// The one game ([`cairn_theory::game`]) with tasks numbered by 64 bits. Whatever fails leaves it unchanged.
pub trait Position: Send {
    /// Where the task stands.
    ///
    /// # Errors
    /// If there is no such task.
    fn standing(&self, task: Task) -> Result<Standing, Illegal>;

    /// How many tasks stand there; `None` where there is no end of them.
    fn count(&self, standing: Standing) -> Option<u64>;

    /// Whether nothing more can happen: all tasks are executed or given up.
    fn is_settled(&self) -> bool;

    /// The parents of a task; none where there is no such task.
    fn parents(&self, task: Task) -> Vec<Task>;

    /// Gives an eligible task to somebody.
    ///
    /// # Errors
    /// If it is not eligible.
    fn lease(&mut self, task: Task) -> Result<(), Illegal>;

    /// Takes a leased task back.
    ///
    /// # Errors
    /// If it is not leased.
    fn release(&mut self, task: Task) -> Result<(), Illegal>;

    /// Executes an eligible or leased task; appends what becomes eligible.
    ///
    /// # Errors
    /// If it is neither.
    fn execute(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal>;

    /// Gives an eligible or leased task up; appends what is aborted.
    ///
    /// # Errors
    /// If it is neither.
    fn fail(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal>;

    /// Gives a task up because somebody says so; appends what is aborted.
    ///
    /// # Errors
    /// If it is executed or given up already.
    fn cancel(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal>;

    /// A failed or cancelled task shall be tried after all; appends it if it is eligible.
    ///
    /// # Errors
    /// If it is neither.
    fn revive(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal>;

    /// An executed task shall be executed again; appends it if it is eligible. Children cease to be.
    ///
    /// # Errors
    /// If it is not executed, or something stands on it.
    fn reopen(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal>;

    /// How many tasks wait for nothing but this one; 0 where the position does not tell.
    fn opens(&self, _task: Task) -> u64 {
        0
    }

    /// Calls `each` with every eligible task but those that [`Position::next_source`] will yet tell of.
    fn eligible(&self, each: &mut dyn FnMut(Task));

    /// The first source, by number, that nobody has heard of. Only families that are never written down hold sources
    /// back, since they have too many.
    fn next_source(&self) -> Option<Task> {
        None
    }

    /// Notes that everybody has heard of the next source.
    fn take_source(&mut self) {}

    /// The so many eligible tasks, or all where there are fewer, that make most others eligible together (\[MR05\]: a batched
    /// schedule), best first and, among batches that
    /// are as good, by the order; `None` where the position does not tell.
    fn batch(&mut self, _count: usize, _order: &Order) -> Option<Vec<Task>> {
        None
    }

    /// Notes that tasks go by another order than the last batch was told.
    fn reordered(&mut self) {}

    /// Where every task stands, packed.
    fn packed(&self) -> Vec<u8>;

    /// Takes the standing of every task from what [`Position::packed`] made of the same dag.
    ///
    /// # Errors
    /// If it is of another dag, or damaged.
    fn unpack(&mut self, packed: &[u8]) -> Result<(), Illegal>;
}

/// The game on a frozen dag.
#[derive(Clone, Debug)]
pub struct Frozen<'d> {
    game: Game<'d>,
}

impl<'d> Frozen<'d> {
    /// The first position: every source is eligible.
    pub fn new(dag: &'d cairn_dag::Dag) -> Frozen<'d> {
        Frozen {
            game: Game::new(dag),
        }
    }

    /// The game.
    pub fn game(&self) -> &Game<'d> {
        &self.game
    }
}

fn id(task: Task) -> Result<cairn_dag::TaskId, Illegal> {
    let missing = || Illegal(format!("there is no task {}", task.0));
    task.frozen().ok_or_else(missing)
}

impl Position for Frozen<'_> {
    fn standing(&self, task: Task) -> Result<Standing, Illegal> {
        let task = id(task)?;
        match task.index() < self.game.dag().len() {
            true => Ok(self.game.standing(task)),
            false => Err(Illegal(format!("there is no task {}", task.0))),
        }
    }

    fn count(&self, standing: Standing) -> Option<u64> {
        Some(self.game.count(standing) as u64)
    }

    fn parents(&self, task: Task) -> Vec<Task> {
        let dag = self.game.dag();
        let known = task.frozen().filter(|task| task.index() < dag.len());
        let parents = known.map_or(&[][..], |task| dag.parents(task));
        parents.iter().map(|&parent| parent.into()).collect()
    }

    fn is_settled(&self) -> bool {
        self.game.is_settled()
    }

    fn lease(&mut self, task: Task) -> Result<(), Illegal> {
        Ok(self.game.lease(id(task)?)?)
    }

    fn release(&mut self, task: Task) -> Result<(), Illegal> {
        Ok(self.game.release(id(task)?)?)
    }

    fn execute(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        Ok(self.game.execute(id(task)?, |t| opened.push(t.into()))?)
    }

    fn fail(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal> {
        Ok(self.game.fail(id(task)?, |t| aborted.push(t.into()))?)
    }

    fn cancel(&mut self, task: Task, aborted: &mut Vec<Task>) -> Result<(), Illegal> {
        Ok(self.game.cancel(id(task)?, |t| aborted.push(t.into()))?)
    }

    fn revive(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        Ok(self.game.revive(id(task)?, |t| opened.push(t.into()))?)
    }

    fn reopen(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        Ok((self.game).reopen(id(task)?, |t| opened.push(t.into()), |_| ())?)
    }

    fn opens(&self, task: Task) -> u64 {
        let Some(task) = task.frozen() else { return 0 };
        let dag = self.game.dag();
        let done = |&parent: &cairn_dag::TaskId| {
            parent == task || self.game.standing(parent) == Standing::Executed
        };
        let opened = dag.children(task).iter();
        opened.filter(|&&c| dag.parents(c).iter().all(done)).count() as u64
    }

    fn eligible(&self, each: &mut dyn FnMut(Task)) {
        self.game.eligible().for_each(|task| each(task.into()));
    }

    fn packed(&self) -> Vec<u8> {
        let standings = self.game.dag().tasks().map(|t| self.game.standing(t));
        standings.map(|standing| standing as u8).collect()
    }

    /// O(tasks + arcs).
    fn unpack(&mut self, packed: &[u8]) -> Result<(), Illegal> {
        let dag = self.game.dag();
        if packed.len() != dag.len() {
            let (had, has) = (packed.len(), dag.len());
            let text = format!("the store is of a dag with {had} tasks, this one has {has}");
            return Err(Illegal(text));
        }
        let mut game = Game::new(dag);
        let is = |t: cairn_dag::TaskId, standing: Standing| packed[t.index()] == standing as u8;
        for &task in dag.topological_order() {
            match () {
                () if is(task, Standing::Executed) => game.execute(task, |_| ())?,
                // Parents come before it in this order, so that it is eligible by now if the store is right.
                () if is(task, Standing::Leased) => game.lease(task)?,
                () => (),
            }
        }
        // Descendants first: what is given up above them would abort them.
        for &task in dag.topological_order().iter().rev() {
            match () {
                () if is(task, Standing::Failed) => game.fail(task, |_| ())?,
                () if is(task, Standing::Cancelled) => game.cancel(task, |_| ())?,
                () => (),
            }
        }
        // Who waits, is eligible or aborted follows from the others: where the store says otherwise, it is damaged.
        let standings = dag.tasks().map(|t| game.standing(t) as u8);
        if !standings.eq(packed.iter().copied()) {
            return Err(Illegal(
                "the standings of the store contradict each other".into(),
            ));
        }
        self.game = game;
        Ok(())
    }
}
