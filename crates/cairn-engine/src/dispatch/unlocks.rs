//! What a running task unlocks: the children that become eligible when all that is out is back, and never without it. Knows no
//! worker and no time.
//!
//! It is the task's share in the value of a batch, where the batch is all that is out: a child counts for each of its parents if
//! none of them is still to be begun with.

use super::outlook::State;
use cairn_dag::{Dag, TaskId};

/// By task, kept as tasks move. Over a whole run O(arcs), and for each task that is given back the parents of its children.
#[derive(Clone, Debug)]
pub(super) struct Unlocks {
    /// How many of its parents nobody has begun with.
    unbegun: Vec<u32>,
    /// How many of its children wait, and for nothing but what is out.
    opens: Vec<u32>,
}

fn is_begun(state: State) -> bool {
    matches!(state, State::Running | State::Over)
}

impl Unlocks {
    /// Of a dag whose tasks all wait.
    pub(super) fn new(dag: &Dag) -> Unlocks {
        let parents = |t: TaskId| dag.parents(t).len() as u32;
        Unlocks {
            unbegun: dag.tasks().map(parents).collect(),
            opens: vec![0; dag.len()],
        }
    }

    /// How many tasks become eligible with this one and all that is out beside it.
    pub(super) fn of(&self, task: u32) -> u32 {
        self.opens[task as usize]
    }

    /// A task is no longer where it `was`; `states` has where all are now.
    pub(super) fn moved(&mut self, dag: &Dag, task: u32, was: State, states: &[State]) {
        let is = states[task as usize];
        let task = TaskId(task);
        if (was == State::Waiting) != (is == State::Waiting) && self.unbegun[task.index()] == 0 {
            self.count(dag, task, is == State::Waiting);
        }
        if is_begun(was) == is_begun(is) {
            return;
        }
        for &child in dag.children(task) {
            let left = &mut self.unbegun[child.index()];
            // The first that is given back, or the last that is begun with.
            let is_turn = *left == u32::from(is_begun(is));
            match is_begun(is) {
                true => *left -= 1,
                false => *left += 1,
            }
            if is_turn && states[child.index()] == State::Waiting {
                self.count(dag, child, is_begun(is));
            }
        }
    }

    /// A task counts for its parents from now on, or no longer.
    fn count(&mut self, dag: &Dag, task: TaskId, counts: bool) {
        for parent in dag.parents(task) {
            let opens = &mut self.opens[parent.index()];
            match counts {
                true => *opens += 1,
                false => *opens -= 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;

    /// As it is defined.
    fn by_definition(dag: &Dag, states: &[State], task: TaskId) -> usize {
        let counts = |child: &&TaskId| {
            let mut parents = dag.parents(**child).iter();
            states[child.index()] == State::Waiting && parents.all(|p| is_begun(states[p.index()]))
        };
        dag.children(task).iter().filter(counts).count()
    }

    /// Whatever happens to tasks, in whatever order it is told.
    #[test]
    fn what_a_task_unlocks_is_what_it_is_defined_to_be() {
        let mut most = 0;
        for seed in 0..3000 {
            let mut dice = Dice(seed);
            let dag = dice.dag(12);
            let mut unlocks = Unlocks::new(&dag);
            let mut states = vec![State::Waiting; dag.len()];
            for _ in 0..4 * dag.len() {
                let task = dice.below(dag.len());
                let all = [State::Waiting, State::Eligible, State::Running, State::Over];
                let was = std::mem::replace(&mut states[task], all[dice.below(4)]);
                unlocks.moved(&dag, task as u32, was, &states);
                for t in dag.tasks() {
                    let slow = by_definition(&dag, &states, t);
                    assert_eq!(unlocks.of(t.0) as usize, slow, "seed {seed}, {t:?}");
                    most = most.max(slow);
                }
            }
        }
        assert!(most > 3, "hardly anything was ever unlocked: {most}");
    }

    /// The value of all that is out, as a batch, is what becomes eligible when all of it is back; each task's own share is what
    /// that loses without it.
    #[test]
    fn it_is_what_the_batch_that_is_out_loses_without_the_task() {
        for seed in 0..1000 {
            let mut dice = Dice(seed);
            let dag = dice.dag(10);
            let mut unlocks = Unlocks::new(&dag);
            let mut states = vec![State::Waiting; dag.len()];
            // A play: tasks are executed, or out, in an order that the game allows.
            for task in dag.tasks() {
                let mut parents = dag.parents(task).iter();
                let is_eligible = parents.all(|p| states[p.index()] == State::Over);
                let next = [State::Eligible, State::Running, State::Over][dice.below(3)];
                if is_eligible {
                    let was = std::mem::replace(&mut states[task.index()], next);
                    unlocks.moved(&dag, task.0, was, &states);
                }
            }
            let value = |without: Option<TaskId>| {
                let is_back = |p: &TaskId| is_begun(states[p.index()]) && Some(*p) != without;
                let opens = |t: &TaskId| {
                    states[t.index()] == State::Waiting && dag.parents(*t).iter().all(is_back)
                };
                dag.tasks().filter(opens).count()
            };
            let out = dag.tasks().filter(|t| states[t.index()] == State::Running);
            for task in out {
                let lost = value(None) - value(Some(task));
                assert_eq!(unlocks.of(task.0) as usize, lost, "seed {seed}, {task:?}");
            }
        }
    }
}
