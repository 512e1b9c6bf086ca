//! Another order for what is left, within the cap, and how much it lacks where there is none. Knows not how orders are found
//! (`cairn_plan`), nor what tasks and files are called.

use super::Keeper;
use cairn_dag::{Dag, TaskId, wide};
use cairn_plan::Work;
use cairn_plan::storage::{Lean, lean_order, more_than, shrink_first};
use cairn_theory::storage::Storage;

/// What is known where no order of what is left is found within the cap.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// An order that takes little, and what no order can do without.
    pub lean: Lean,
    /// The storage that these speak of.
    pub storage: Storage,
    /// By the numbers of both: the task.
    pub tasks: Vec<TaskId>,
    /// Whether all is left: then tasks and files have the numbers that they have elsewhere.
    pub is_whole: bool,
}

impl Keeper {
    /// Looks for an order of the waiting tasks with a smaller peak than the one in force, and takes it if there is one.
    /// Says whether all is safe then. If not, what fits still goes, and [`Keeper::missing`] tells the rest once nothing
    /// runs.
    ///
    /// # Panics
    /// If the dag is not that of the tasks.
    pub fn replan(&mut self, dag: &Dag, work: &mut Work<'_>) -> bool {
        assert_eq!(dag.len(), self.standing.len(), "another dag");
        let (tasks, storage) = self.rest();
        let (lean, present) = leanest(dag, &tasks, &storage, work);
        // The order in force is one of the candidates.
        if lean.peak < storage.peak(&present) {
            let order: Vec<TaskId> = lean.order.iter().map(|t| tasks[wide(t.0)]).collect();
            self.number(&order);
        }
        self.is_safe()
    }

    /// The same for whoever tries the waiting tasks then: in which order, what frees more than it takes first. `None` where it is
    /// not safe.
    ///
    /// # Panics
    /// As [`Keeper::replan`].
    pub fn order_within(&mut self, dag: &Dag, work: &mut Work<'_>) -> Option<Vec<TaskId>> {
        let is_safe = self.replan(dag, work);
        is_safe.then(|| shrink_first(self.storage(), &self.waiting()))
    }

    /// Whether it is soon seen that no order of what is left keeps the cap. No proves nothing.
    ///
    /// # Panics
    /// As [`Keeper::replan`].
    pub fn is_hopeless(&self, dag: &Dag, work: &mut Work<'_>) -> bool {
        // As a run asks: where nothing is to do, or the order in hand is within the cap, nobody looks for another.
        if self.waiting().is_empty() || self.is_safe() {
            return false;
        }
        let (tasks, storage) = self.rest();
        more_than(&rest_of(dag, &tasks), &storage, self.cap(), work).is_some()
    }

    /// How little would do for what is left. What is executed takes its files along: the rest is a workflow of its own.
    ///
    /// # Panics
    /// As [`Keeper::replan`].
    pub fn shortfall(&self, dag: &Dag, work: &mut Work<'_>) -> Shortfall {
        let (tasks, storage) = self.rest();
        let is_whole = tasks.len() == dag.len();
        match is_whole {
            true => Shortfall {
                lean: lean_order(dag, &self.storage, &tasks, work),
                storage: self.storage.clone(),
                tasks: dag.tasks().collect(),
                is_whole,
            },
            false => Shortfall {
                lean: leanest(dag, &tasks, &storage, work).0,
                storage,
                tasks,
                is_whole,
            },
        }
    }
}

/// What is left of a dag.
fn rest_of(dag: &Dag, tasks: &[TaskId]) -> Dag {
    (dag.induced(tasks)).expect("tasks of the dag, each once")
}

/// An order of what is left that takes little, and the order of `tasks`, both in numbers of the rest.
fn leanest(
    dag: &Dag,
    tasks: &[TaskId],
    storage: &Storage,
    work: &mut Work<'_>,
) -> (Lean, Vec<TaskId>) {
    let rest = rest_of(dag, tasks);
    let present: Vec<TaskId> = rest.tasks().collect();
    (lean_order(&rest, storage, &present, work), present)
}
