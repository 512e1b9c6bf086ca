//! A dag in a world: what is the same in all runs is computed once, then each policy is set up and played. Knows no statistics.

use crate::batches::Arrivals;
use crate::eligible::Eligible;
use crate::error::{Halt, SimulateError};
use crate::gate::Gate;
use crate::heft::{OptimisticCosts, Platform, static_schedule, upward_ranks};
use crate::known::Known;
use crate::measures::{Event, Measures, Stuck, Why};
use crate::play::Play;
use crate::policy::{Policy, Ranking, Rule};
use crate::pool::{Pool, PoolSettings};
use crate::pool_run::{Dispatch, Needs, PoolBuffers};
use crate::random::{Purpose, Stream};
use crate::running::Running;
use crate::served::Served;
use crate::workload::{BytesByChild, Workload};
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use rayon::prelude::*;

/// A dag in a world, with everything computed that is the same in all runs.
pub(crate) struct Stage<'a> {
    dag: &'a Dag,
    world: &'a World,
    pub(crate) policies: &'a [Policy],
    /// By policy: the positions of the tasks, if they are the same in all runs.
    rankings: Vec<Option<Ranking>>,
    needs: Needs<'a>,
}

/// What one thread needs to play runs, used again and again.
#[derive(Default)]
pub(crate) struct Buffers {
    eligible: Eligible,
    fresh: Vec<TaskId>,
    pub(crate) durations: Vec<f64>,
    running: Running,
    pool: PoolBuffers,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        dag: &'a Dag,
        work: &'a Workload,
        world: &'a World,
        policies: &'a [Policy],
    ) -> Result<Stage<'a>, SimulateError> {
        if policies.is_empty() {
            return Err(SimulateError::NoPolicies);
        }
        for (i, policy) in policies.iter().enumerate() {
            // Results are told by name.
            if policies[..i].iter().any(|p| p.name() == policy.name()) {
                return Err(SimulateError::DuplicatePolicy {
                    name: policy.name().to_owned(),
                });
            }
        }
        work.check_lengths(dag)?;
        let is_pool = matches!(world, World::Pool(_));
        if let World::Pool(pool) = world {
            // Before anything is played: such a task would wait for ever.
            check_sizes(dag, work, pool)?;
        }
        let needs = Needs {
            work,
            estimates: work.estimates(dag.len()),
            // Elsewhere nothing travels, and the table is as long as there are arcs.
            bytes: if is_pool {
                work.bytes_by_child(dag)
            } else {
                BytesByChild::default()
            },
            least_cores: dag
                .tasks()
                .map(|t| work.cores(t.index()))
                .min()
                .unwrap_or(1),
        };
        let rankings = policies.iter().map(|p| match &p.rule {
            // Workers without identity are all alike, and with equal workers both ranks are known beforehand.
            Rule::Heft | Rule::Peft if !is_pool => {
                // Of speed 1, and nothing has to be brought.
                let alone = Pool::new(PoolSettings::default()).expect("the usual worker");
                let anybody = Known::new(&alone, &needs.estimates, 0, 0);
                Ok(Some(
                    planner(dag, &needs.bytes, &anybody, p.rule == Rule::Peft).0,
                ))
            }
            _ => p.ranking(dag),
        });
        let rankings = rankings.collect::<Result<Vec<_>, _>>()?;
        Ok(Stage {
            dag,
            world,
            policies,
            rankings,
            needs,
        })
    }

    /// Looks for a task that no worker is ever up long enough for: a run with it would never end.
    pub(crate) fn check_durations(
        &self,
        seed: u64,
        runs: u64,
        work: &Work<'_>,
    ) -> Result<(), SimulateError> {
        let World::Pool(pool) = self.world else {
            return Ok(());
        };
        let refused = (0..runs)
            .into_par_iter()
            .map_init(Vec::new, |durations, run| {
                // Run 0 is looked at in any case: where durations are known all runs have the same, so that the answer does not
                // depend on the time.
                if run > 0 && work.clone().is_stopped() {
                    return Ok(());
                }
                (self.needs.work).draw(seed, run, self.dag.len(), durations);
                pool.check_durations(durations)
            })
            // Not any: the answer must not depend on which thread is faster.
            .find_first(Result::is_err);
        refused
            .unwrap_or(Ok(()))
            .map_err(SimulateError::NeverFinishes)
    }

    /// Every policy in one run.
    pub(crate) fn play_all(
        &self,
        buffers: &mut Buffers,
        seed: u64,
        run: u64,
        work: &Work<'_>,
    ) -> Result<Vec<Measures>, SimulateError> {
        self.needs
            .work
            .draw(seed, run, self.dag.len(), &mut buffers.durations);
        // Drawn once for all policies: what differs between them is not luck.
        (0..self.policies.len())
            .map(|policy| self.play(buffers, policy, seed, run, work, |_| ()))
            .collect()
    }

    /// One policy in one run, whose durations have been drawn.
    pub(crate) fn play(
        &self,
        buffers: &mut Buffers,
        policy: usize,
        seed: u64,
        run: u64,
        work: &Work<'_>,
        log: impl FnMut(Event),
    ) -> Result<Measures, SimulateError> {
        let mut dispatch = self.set_up(&mut buffers.eligible, policy, seed, run);
        let chooser = match (&self.policies[policy].rule, self.world) {
            // Elsewhere workers ask one by one, and the best batch of one is the next of the order.
            (Rule::Batched(_, server), World::Batches(_)) => Some(server.0.start(self.dag)),
            _ => None,
        };
        let play = Play::new(
            self.dag,
            &buffers.durations,
            &mut buffers.eligible,
            &mut buffers.fresh,
            chooser,
            self.policies[policy]
                .admission
                .as_ref()
                .map(|a| Gate::new(&a.0)),
            work,
        );
        let played = match self.world {
            World::Batches(world) => {
                let arrivals = Arrivals::new(world, Stream::new(seed, run, Purpose::Batches, 0));
                world.run(play, arrivals, &mut buffers.running, log)
            }
            World::Throttled(world) => world.run(play, &mut buffers.running, log),
            World::Pool(pool) => {
                let ids = (seed, run);
                pool.run(
                    &self.needs,
                    play,
                    &mut dispatch,
                    &mut buffers.pool,
                    ids,
                    log,
                )
            }
        };
        played.map_err(|stuck| self.explain(stuck, policy, run))
    }

    /// Puts the eligible tasks in the policy's order, and says how workers are served.
    fn set_up(&self, eligible: &mut Eligible, policy: usize, seed: u64, run: u64) -> Dispatch<'_> {
        let is_gated = self.policies[policy].admission.is_some();
        if let Some(ranking) = &self.rankings[policy] {
            eligible.reset_by_rank(ranking);
            return match (&self.policies[policy].rule, self.world) {
                (Rule::Aware(order, knows), World::Pool(_)) if !is_gated => {
                    let served = Served::aware(self.dag, &self.needs, order, knows, (seed, run));
                    Dispatch::Engine(Some(Box::new(served)))
                }
                (Rule::Served(order, serving), World::Pool(pool)) if !is_gated => {
                    let (clients, ids) = (pool.all_workers(), (seed, run));
                    let needs = &self.needs;
                    let served = Served::by_order(self.dag, needs, order, serving, clients, ids);
                    Dispatch::Engine(Some(Box::new(served)))
                }
                _ => Dispatch::List,
            };
        }
        let tasks = self.dag.len();
        match (&self.policies[policy].rule, self.world) {
            (Rule::Fifo, _) => eligible.reset_by_arrival(tasks, false),
            (Rule::Lifo, _) => eligible.reset_by_arrival(tasks, true),
            (Rule::Random, _) => {
                let mut order: Vec<TaskId> = self.dag.tasks().collect();
                // From a stream of its own: a study with the random policy beside others changes nothing of what
                // these meet.
                Stream::new(seed, run, Purpose::RandomPolicy, 0).shuffle(&mut order);
                eligible.reset_by_rank(&Ranking::from_order(&order));
            }
            (rule @ (Rule::Heft | Rule::Peft), World::Pool(pool)) => {
                let known = Known::new(pool, &self.needs.estimates, seed, run);
                let bytes = &self.needs.bytes;
                let (ranking, costs) = planner(self.dag, bytes, &known, *rule == Rule::Peft);
                eligible.reset_by_rank(&ranking);
                // A static schedule presumes that everybody stays, and that what comes next may start.
                if is_gated || !pool.is_fixed() || !self.one_at_a_time(pool) {
                    return Dispatch::EarliestFinish(costs);
                }
                let lists = static_schedule(self.dag, bytes, &known, &ranking, costs.as_ref());
                let lists = lists
                    .into_iter()
                    .map(|l| l.into_iter().map(|s| s.task).collect());
                return Dispatch::Plan(lists.collect());
            }
            (_, _) => {
                unreachable!("these have a ranking from the start")
            }
        }
        Dispatch::List
    }

    /// Whether no worker can ever hold two tasks.
    fn one_at_a_time(&self, pool: &Pool) -> bool {
        // Two of the smallest do not fit together, so no two of any do.
        self.needs.least_cores > pool.crew.cores / 2
    }

    fn explain(&self, stuck: Stuck, policy: usize, run: u64) -> SimulateError {
        let Stuck(why, executed) = stuck;
        let halt = Halt {
            policy: self.policies[policy].name().to_owned(),
            run,
            executed,
            tasks: self.dag.len(),
        };
        match why {
            Why::OutOfWorkers => SimulateError::TraceEnds(halt),
            Why::Full => SimulateError::Full(halt),
            Why::InVain => SimulateError::NeverEnds(halt),
            Why::Stopped => SimulateError::OutOfTime(halt),
        }
    }
}

/// Ranks for HEFT, or for PEFT with the costs they come from.
fn planner(
    dag: &Dag,
    bytes: &BytesByChild,
    platform: &impl Platform,
    peft: bool,
) -> (Ranking, Option<OptimisticCosts>) {
    if peft {
        let costs = OptimisticCosts::new(dag, bytes, platform);
        (Ranking::by_falling(&costs.ranks(dag)), Some(costs))
    } else {
        (
            Ranking::by_falling(&upward_ranks(dag, bytes, platform)),
            None,
        )
    }
}

fn check_sizes(dag: &Dag, work: &Workload, pool: &Pool) -> Result<(), SimulateError> {
    for task in dag.tasks() {
        let (cores, has) = (work.cores(task.index()), pool.crew.cores);
        if cores > has {
            return Err(SimulateError::TaskTooLarge { task, cores, has });
        }
    }
    Ok(())
}
