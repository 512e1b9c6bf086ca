//! The batched game in the simulator: the planner's best tasks for each whole batch. Knows no world.

use crate::budgets::run::BATCH;
use crate::{Batching, Chooser};
use cairn_dag::{Dag, TaskId};
use cairn_plan::batch::{BatchState, Batcher};

/// Chooses every batch by [`Batcher::choose`], ties by an order. What was handed out counts as executed.
#[derive(Debug)]
pub struct BestBatches {
    order: Vec<TaskId>,
}

impl BestBatches {
    /// Ties go by this order of all tasks.
    pub fn new(order: &[TaskId]) -> BestBatches {
        BestBatches {
            order: order.to_vec(),
        }
    }
}

impl Batching for BestBatches {
    fn start<'d>(&self, dag: &'d Dag) -> Box<dyn Chooser + 'd> {
        Box::new(Run(Batcher::new(BatchState::new(dag), &self.order)))
    }
}

struct Run<'d>(Batcher<'d>);

impl Chooser for Run<'_> {
    fn choose(&mut self, count: usize) -> Vec<TaskId> {
        self.0.choose(count, &BATCH).chosen
    }

    fn handed_out(&mut self, task: TaskId) {
        let leased = self.0.state_mut().lease(task);
        // Whatever the play hands out is eligible in its own books, which follow the same moves.
        leased.expect("only eligible tasks are handed out");
    }

    fn executed(&mut self, task: TaskId) {
        let executed = self.0.state_mut().execute(task);
        executed.expect("only tasks that were handed out are executed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Options, Policy, What, World, replay, simulate};
    use cairn_oracle::random_dag;
    use std::sync::Arc;

    fn policy(dag: &Dag) -> Policy {
        let order = dag.topological_order();
        Policy::batched("batch", order, Arc::new(BestBatches::new(order)))
    }

    /// How many tasks are eligible, with `done` as executed.
    fn eligible(dag: &Dag, done: u32) -> Vec<u32> {
        let tasks = cairn_oracle::eligible(dag, done);
        tasks.into_iter().map(|t| t.0).collect()
    }

    /// Every batch of a run, with what was executed and what was handed out before it.
    fn batches(events: &[Event]) -> Vec<(u32, u32, Vec<TaskId>)> {
        let (mut executed, mut out) = (0u32, 0u32);
        let mut batches: Vec<(f64, u32, u32, Vec<TaskId>)> = Vec::new();
        for event in events {
            match event.what {
                What::Started(task) => {
                    if batches.last().is_none_or(|b| b.0 != event.time) {
                        batches.push((event.time, executed, out, Vec::new()));
                    }
                    out |= 1 << task.0;
                    batches.last_mut().unwrap().3.push(task);
                }
                What::Finished(task) => executed |= 1 << task.0,
                _ => panic!("nothing else happens in this world"),
            }
        }
        (batches.into_iter())
            .map(|(_, executed, out, tasks)| (executed, out, tasks))
            .collect()
    }

    /// The first batch, and every one after it, is the best there is by trying all, what is out counting as executed.
    #[test]
    fn every_batch_is_the_best_of_all_choices() {
        let mut asked = 0;
        for seed in 0..400u64 {
            let dag = random_dag(13, (seed % 5) as usize, seed);
            let world = World::batches(0.4, 3.0).unwrap();
            let played = replay(&dag, &World::study_work(), &world, &policy(&dag), 7, seed);
            for (executed, out, batch) in batches(&played.unwrap().events) {
                let choices: Vec<u32> = (eligible(&dag, executed).into_iter())
                    .filter(|t| out >> t & 1 == 0)
                    .collect();
                let after = |set: u32| eligible(&dag, out | set).len();
                let best = (0u32..1 << choices.len())
                    .filter(|set| set.count_ones() as usize == batch.len())
                    .map(|set| {
                        let chosen = (0..choices.len()).filter(|i| set >> i & 1 == 1);
                        after(chosen.fold(0, |mask, i| mask | 1 << choices[i]))
                    })
                    .max();
                let chosen = batch.iter().fold(0, |mask, t| mask | 1u32 << t.0);
                assert_eq!(Some(after(chosen)), best, "seed {seed}, {batch:?}");
                asked += 1;
            }
        }
        assert!(asked > 1000, "{asked} batches");
    }

    #[test]
    fn numbers_do_not_depend_on_threads_and_other_worlds_follow_the_order() {
        let dag = random_dag(24, 2, 5);
        let world = World::batches(0.5, 4.0).unwrap();
        let run = |threads, world: &World, policies: &[Policy]| {
            let options = Options {
                runs: 60,
                threads: Some(threads),
                ..Options::default()
            };
            simulate(&dag, &World::study_work(), world, policies, &options).unwrap()
        };
        let policies = [policy(&dag), Policy::fifo()];
        assert_eq!(run(1, &world, &policies), run(3, &world, &policies));
        let queue = World::throttled(3, 5).unwrap();
        let order = Policy::order("order", dag.topological_order());
        let study = run(2, &queue, &[policy(&dag), order]);
        assert_eq!(study.outcomes[0].runs, study.outcomes[1].runs);
    }
}
