//! What a running task unlocks: the children that become eligible when all that is out is back, and never without it. Knows no
//! worker and no time.
//!
//! It is the task's share in the value of a batch, where the batch is all that is out: a child counts for each of its parents if
//! none of them is still to be begun with.

use crate::budgets::dispatch::MANY_PARENTS;
use cairn_dag::{Dag, TaskId, narrow};
use cairn_theory::game::Standing;

/// By task, kept as tasks move. A move costs O(children), and at most [`MANY_PARENTS`] for each that begins or ceases to count.
#[derive(Clone, Debug)]
pub(super) struct Unlocks {
    /// How many of its parents nobody has begun with.
    unbegun: Vec<u32>,
    /// How many of its children wait, and for nothing but what is out; but for those with many parents.
    opens: Vec<u32>,
    /// Whether any of its children has many parents.
    has_others: Vec<bool>,
}

fn has_many_parents(dag: &Dag, task: TaskId) -> bool {
    dag.parents(task).len() > MANY_PARENTS
}

impl Unlocks {
    /// Of a dag whose tasks all wait.
    pub(super) fn new(dag: &Dag) -> Unlocks {
        let parents = |t: TaskId| narrow(dag.parents(t).len());
        let mut has_others = vec![false; dag.len()];
        for task in dag.tasks().filter(|&t| has_many_parents(dag, t)) {
            let parents = dag.parents(task).iter();
            parents.for_each(|parent| has_others[parent.index()] = true);
        }
        Unlocks {
            unbegun: dag.tasks().map(parents).collect(),
            opens: vec![0; dag.len()],
            has_others,
        }
    }

    /// How many tasks become eligible with this one and all that is out beside it, where `states` has where all are.
    pub(super) fn of(&self, dag: &Dag, task: TaskId, states: &[Standing]) -> u32 {
        let counts = |c: &&TaskId| {
            states[c.index()] == Standing::Waiting
                && self.unbegun[c.index()] == 0
                && has_many_parents(dag, **c)
        };
        let others = match self.has_others[task.index()] {
            true => dag.children(task).iter().filter(counts).count(),
            false => 0,
        };
        self.opens[task.index()] + narrow(others)
    }

    /// A task is no longer where it `was`; `states` has where all are now.
    pub(super) fn moved(&mut self, dag: &Dag, task: TaskId, was: Standing, states: &[Standing]) {
        let is = states[task.index()];
        if (was == Standing::Waiting) != (is == Standing::Waiting)
            && self.unbegun[task.index()] == 0
        {
            self.count(dag, task, is == Standing::Waiting);
        }
        // Children look at their parents only for whether somebody has begun with them.
        if was.is_unbegun() == is.is_unbegun() {
            return;
        }
        let is_begun = !is.is_unbegun();
        for &child in dag.children(task) {
            let left = &mut self.unbegun[child.index()];
            // The first that is given back, or the last that is begun with.
            let is_turn = *left == u32::from(is_begun);
            match is_begun {
                true => *left -= 1,
                false => *left += 1,
            }
            if is_turn && states[child.index()] == Standing::Waiting {
                self.count(dag, child, is_begun);
            }
        }
    }

    /// A task counts for its parents from now on, or no longer.
    fn count(&mut self, dag: &Dag, task: TaskId, counts: bool) {
        if has_many_parents(dag, task) {
            return;
        }
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
    fn by_definition(dag: &Dag, states: &[Standing], task: TaskId) -> usize {
        let counts = |child: &&TaskId| {
            let mut parents = dag.parents(**child).iter();
            states[child.index()] == Standing::Waiting
                && parents.all(|p| !states[p.index()].is_unbegun())
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
            let mut states = vec![Standing::Waiting; dag.len()];
            for _ in 0..4 * dag.len() {
                let task = dice.below(dag.len());
                let next = Standing::ALL[dice.below(Standing::ALL.len())];
                let was = std::mem::replace(&mut states[task], next);
                unlocks.moved(&dag, TaskId::new(task), was, &states);
                for t in dag.tasks() {
                    let slow = by_definition(&dag, &states, t);
                    assert_eq!(
                        unlocks.of(&dag, t, &states) as usize,
                        slow,
                        "seed {seed}, {t:?}"
                    );
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
            let mut states = vec![Standing::Waiting; dag.len()];
            // A play: tasks are executed, or out, in an order that the game allows.
            for task in dag.tasks() {
                let mut parents = dag.parents(task).iter();
                let is_eligible = parents.all(|p| states[p.index()] == Standing::Executed);
                let next =
                    [Standing::Eligible, Standing::Leased, Standing::Executed][dice.below(3)];
                if is_eligible {
                    let was = std::mem::replace(&mut states[task.index()], next);
                    unlocks.moved(&dag, task, was, &states);
                }
            }
            let value = |without: Option<TaskId>| {
                let is_back = |p: &TaskId| !states[p.index()].is_unbegun() && Some(*p) != without;
                let opens = |t: &TaskId| {
                    states[t.index()] == Standing::Waiting && dag.parents(*t).iter().all(is_back)
                };
                dag.tasks().filter(opens).count()
            };
            let out = dag
                .tasks()
                .filter(|t| states[t.index()] == Standing::Leased);
            for task in out {
                let lost = value(None) - value(Some(task));
                assert_eq!(
                    unlocks.of(&dag, task, &states) as usize,
                    lost,
                    "seed {seed}, {task:?}"
                );
            }
        }
    }

    /// Two layers with all arcs between them, each child with many parents.
    fn dense(width: u32) -> Dag {
        let arcs = (0..width).flat_map(|p| (0..width).map(move |c| (p, width + c)));
        Dag::from_arcs(2 * width as usize, arcs.collect()).unwrap()
    }

    #[test]
    fn children_with_many_parents_count_as_others_do() {
        let dag = dense(MANY_PARENTS as u32 + 1);
        let mut unlocks = Unlocks::new(&dag);
        let mut states = vec![Standing::Waiting; dag.len()];
        let mut dice = Dice(1);
        let mut most = 0;
        for step in 0..6_000 {
            let task = dice.below(dag.len());
            // Mostly parents that begin, so that children count at all.
            let all = [
                Standing::Leased,
                Standing::Executed,
                Standing::Leased,
                Standing::Eligible,
            ];
            let next = match task > MANY_PARENTS {
                true => [Standing::Waiting, Standing::Executed][usize::from(step % 7 == 0)],
                false => all[usize::from(step % 400 == 0) * 3],
            };
            let was = std::mem::replace(&mut states[task], next);
            unlocks.moved(&dag, TaskId::new(task), was, &states);
            let task = TaskId(dice.below(MANY_PARENTS + 1) as u32);
            let slow = by_definition(&dag, &states, task);
            assert_eq!(unlocks.of(&dag, task, &states) as usize, slow, "{step}");
            most = most.max(slow);
        }
        assert!(most > 10, "hardly anything was ever unlocked: {most}");
    }

    /// A thousand leases lost among a thousand parents of a thousand children: by their arcs that were 2·10⁹ steps.
    #[test]
    fn a_lost_lease_does_not_cost_all_parents_of_its_children() {
        let dag = dense(1000);
        let mut unlocks = Unlocks::new(&dag);
        let mut states = vec![Standing::Waiting; dag.len()];
        let begun = std::time::Instant::now();
        let mut go = |task: TaskId, state| {
            let was = std::mem::replace(&mut states[task.index()], state);
            unlocks.moved(&dag, task, was, &states);
        };
        (0..1000).for_each(|task| go(TaskId(task), Standing::Leased));
        for task in (0..1000).map(TaskId) {
            go(task, Standing::Eligible);
            go(task, Standing::Leased);
        }
        assert_eq!(unlocks.of(&dag, TaskId(7), &states), 1000);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
