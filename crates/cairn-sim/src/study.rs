//! Many runs of several policies in one world, side by side. Knows no world's inside and no file.

use crate::batches::Arrivals;
use crate::budgets::run::PATIENCE;
use crate::budgets::study::RUNS_BETWEEN_DECISIONS;
use crate::eligible::Eligible;
use crate::error::{SimulateError, positive};
use crate::gate::Gate;
use crate::heft::{OptimisticCosts, Platform, static_schedule, upward_ranks};
use crate::known::Known;
use crate::measures::{Event, Measure, Measures, Stuck};
use crate::play::Play;
use crate::policy::{Policy, Ranking, Rule};
use crate::pool::Pool;
use crate::pool_run::{Dispatch, Needs, PoolBuffers};
use crate::random::{Purpose, Stream};
use crate::running::Running;
use crate::served::Served;
use crate::statistics::{Ratio, Summary, ratio, summarise};
use crate::work::{BytesByChild, Work};
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often to run, and how.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The most runs of each policy; 200 by default.
    pub runs: usize,
    /// The same seed gives the same numbers, on any machine and any number of threads; 1 by default.
    pub seed: u64,
    /// How many threads; by default those of the caller's rayon pool.
    pub threads: Option<usize>,
    /// Stop early, after 50, 100, … runs, as soon as the 95 % interval of every makespan ratio (first policy over
    /// each other; for a single policy, of its mean) is narrower than this on either side, relative to the ratio.
    /// By default all runs are made.
    pub precision: Option<f64>,
    /// Called from any thread after each run with the number of runs done so far.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
    /// Asked from any thread now and then: once it says yes, the runs made by then are all there are. They are the
    /// first ones, so that the same seed with as many runs gives the same numbers.
    pub stop: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            runs: 200,
            seed: 1,
            threads: None,
            precision: None,
            progress: None,
            stop: None,
        }
    }
}

/// What came of a simulation: every run of every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The seed.
    pub seed: u64,
    /// Whether it ended before all runs were made, because the intervals were narrow enough.
    pub stopped_early: bool,
    /// Whether it ended before all runs were made, because [`Options::stop`] said so.
    pub out_of_time: bool,
    /// By policy, as given.
    pub outcomes: Vec<Outcome>,
}

/// All runs of one policy. Run `i` of every policy meets the same durations and the same workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The policy's name.
    pub policy: String,
    /// By run.
    pub runs: Vec<Measures>,
}

impl Study {
    /// How many runs of each policy were made.
    pub fn runs(&self) -> usize {
        self.outcomes.first().map_or(0, |o| o.runs.len())
    }

    /// Mean, median and 95 % interval of a measure of one policy, by its place in the list.
    ///
    /// # Panics
    /// If there is no such policy.
    pub fn summary(&self, policy: usize, measure: Measure) -> Summary {
        summarise(&self.outcomes[policy].column(measure))
    }

    /// The ratio of a measure between two policies, paired run by run; `None` if the second's is zero in every run.
    ///
    /// # Panics
    /// If there is no such policy.
    pub fn ratio(&self, first: usize, second: usize, measure: Measure) -> Option<Ratio> {
        let [first, second] = [first, second].map(|p| self.outcomes[p].column(measure));
        ratio(&first, &second)
    }

    /// Whether every makespan ratio of the first policy is known to within `precision`.
    fn is_precise(&self, precision: f64) -> bool {
        if let [only] = &self.outcomes[..] {
            let summary = summarise(&only.column(Measure::Makespan));
            let width = summary.ends().map(|i| (i.high - i.low) / 2.0);
            return width.is_some_and(|w| w <= precision * summary.mean);
        }
        (1..self.outcomes.len()).all(|other| match self.ratio(0, other, Measure::Makespan) {
            Some(ratio) => ratio.relative_half_width().is_some_and(|w| w <= precision),
            None => true,
        })
    }
}

impl Outcome {
    /// One measure, by run.
    pub fn column(&self, measure: Measure) -> Vec<f64> {
        self.runs.iter().map(|r| r.get(measure)).collect()
    }
}

/// Simulates every policy in the same runs of one world.
///
/// Runs are spread over threads; each thread plays all policies of a run, one after the other, on the same durations,
/// batches and workers (common random numbers), so that differences between policies are due to the policies. Numbers
/// depend on nothing but the arguments.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_sim::{Measure, Options, Policy, World, simulate};
/// // A source that opens ten tasks, listed after ten others that open nothing.
/// let dag = Dag::from_arcs(21, (11..21).map(|child| (10, child)).collect())?;
/// let opener_first: Vec<TaskId> = [10].into_iter().chain(0..10).chain(11..21).map(TaskId).collect();
/// let study = simulate(
///     &dag,
///     &World::study_work(),
///     &World::batches(1.0, 8.0)?,
///     &[Policy::order("opener first", &opener_first), Policy::fifo()],
///     &Options { runs: 100, ..Options::default() },
/// )?;
/// let ratio = study.ratio(0, 1, Measure::Makespan).unwrap();
/// assert!(ratio.interval.unwrap().high < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SimulateError`]: nothing to do, lists that do not fit the dag, a task too large or too long for any worker, a run
/// that does not end, or not one run done in time.
pub fn simulate(
    dag: &Dag,
    work: &Work,
    world: &World,
    policies: &[Policy],
    options: &Options<'_>,
) -> Result<Study, SimulateError> {
    if options.runs == 0 {
        return Err(SimulateError::NoRuns);
    }
    if let Some(precision) = options.precision {
        positive("the precision", precision)?;
    }
    let stage = Stage::new(dag, work, world, policies)?;
    match options.threads {
        None => stage.study(options),
        Some(threads) => {
            let fail = |why: String| SimulateError::Threads { threads, why };
            if threads == 0 {
                return Err(fail("ask for at least one".to_owned()));
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|e| fail(e.to_string()))?;
            pool.install(|| stage.study(options))
        }
    }
}

/// How runs of one policy end that may be stuck for good with a full disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Endings {
    /// What the runs came to that came to an end.
    pub ended: Vec<Measures>,
    /// How many did not.
    pub stuck: usize,
}

/// Plays one policy as [`simulate`] does, and counts the runs that end with a full disk
/// ([`crate::Admission::FitsNow`]). Fewer runs than asked for where [`Options::stop`] says so.
///
/// # Errors
/// As [`simulate`], but for those runs.
pub fn endings(
    dag: &Dag,
    work: &Work,
    world: &World,
    policy: &Policy,
    options: &Options<'_>,
) -> Result<Endings, SimulateError> {
    let stage = Stage::new(dag, work, world, std::slice::from_ref(policy))?;
    let played: Vec<_> = (0..options.runs as u64)
        .into_par_iter()
        .map_init(Buffers::default, |buffers, run| {
            stage.play_all(buffers, options.seed, run, options.stop)
        })
        .collect();
    let mut endings = Endings {
        ended: Vec::new(),
        stuck: 0,
    };
    for run in played {
        match run {
            Ok(measures) => endings.ended.extend(measures),
            Err(SimulateError::Full { .. }) => endings.stuck += 1,
            Err(SimulateError::OutOfTime { .. }) => (),
            Err(other) => return Err(other),
        }
    }
    Ok(endings)
}

/// One run of one policy, with its events.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// What it came to.
    pub measures: Measures,
    /// All that happened, by time.
    pub events: Vec<Event>,
}

/// Plays one run again and tells all that happened: run `run` of [`simulate`] with the same seed.
///
/// # Errors
/// As [`simulate`].
pub fn replay(
    dag: &Dag,
    work: &Work,
    world: &World,
    policy: &Policy,
    seed: u64,
    run: u64,
) -> Result<Replay, SimulateError> {
    let stage = Stage::new(dag, work, world, std::slice::from_ref(policy))?;
    let mut events = Vec::new();
    let mut buffers = Buffers::default();
    work.draw(seed, run, dag.len(), &mut buffers.durations);
    let measures = stage.play(&mut buffers, 0, seed, run, None, |event| events.push(event))?;
    Ok(Replay { measures, events })
}

/// A dag in a world, with everything computed that is the same in all runs.
struct Stage<'a> {
    dag: &'a Dag,
    world: &'a World,
    policies: &'a [Policy],
    /// By policy: the positions of the tasks, if they are the same in all runs.
    rankings: Vec<Option<Ranking>>,
    needs: Needs<'a>,
}

/// What one thread needs to play runs, used again and again.
#[derive(Default)]
struct Buffers {
    eligible: Eligible,
    fresh: Vec<TaskId>,
    durations: Vec<f64>,
    running: Running,
    pool: PoolBuffers,
}

impl<'a> Stage<'a> {
    fn new(
        dag: &'a Dag,
        work: &'a Work,
        world: &'a World,
        policies: &'a [Policy],
    ) -> Result<Stage<'a>, SimulateError> {
        if policies.is_empty() {
            return Err(SimulateError::NoPolicies);
        }
        for (i, policy) in policies.iter().enumerate() {
            if policies[..i].iter().any(|p| p.name() == policy.name()) {
                return Err(SimulateError::DuplicatePolicy {
                    name: policy.name().to_owned(),
                });
            }
        }
        work.check_lengths(dag)?;
        let is_pool = matches!(world, World::Pool(_));
        if let World::Pool(pool) = world {
            check_sizes(dag, work, pool)?;
        }
        let needs = Needs {
            work,
            estimates: work.estimates(dag.len()),
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
                let anybody = Anybody(&needs.estimates);
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

    fn study(&self, options: &Options<'_>) -> Result<Study, SimulateError> {
        let outcome = |p: &Policy| Outcome {
            policy: p.name().to_owned(),
            runs: Vec::new(),
        };
        let mut study = Study {
            seed: options.seed,
            stopped_early: false,
            out_of_time: false,
            outcomes: self.policies.iter().map(outcome).collect(),
        };
        self.check_durations(options)?;
        let done = AtomicUsize::new(0);
        while study.runs() < options.runs {
            let first = study.runs();
            let last = options.runs.min(first + RUNS_BETWEEN_DECISIONS);
            // Begun one after the other, so that whenever it is time to stop the first ones are done.
            let mut played: Vec<(usize, Result<Vec<Measures>, SimulateError>)> = (first..last)
                .par_bridge()
                .map_init(Buffers::default, |buffers, run| {
                    let measures = self.play_all(buffers, options.seed, run as u64, options.stop);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if let Some(progress) = options.progress {
                        progress(done);
                    }
                    (run, measures)
                })
                .collect();
            // In the order of runs; of several errors the first run's is told.
            played.sort_unstable_by_key(|p| p.0);
            for (_, measures) in played {
                let measures = match measures {
                    Err(SimulateError::OutOfTime { .. }) if study.runs() > 0 => {
                        study.out_of_time = true;
                        return Ok(study);
                    }
                    other => other?,
                };
                for (outcome, measures) in study.outcomes.iter_mut().zip(measures) {
                    outcome.runs.push(measures);
                }
            }
            if options
                .precision
                .is_some_and(|p| study.runs() < options.runs && study.is_precise(p))
            {
                study.stopped_early = true;
                break;
            }
        }
        Ok(study)
    }

    /// Looks for a task that no worker is ever up long enough for: a run with it would never end.
    fn check_durations(&self, options: &Options<'_>) -> Result<(), SimulateError> {
        let World::Pool(pool) = self.world else {
            return Ok(());
        };
        let refused = (0..options.runs as u64)
            .into_par_iter()
            .map_init(Vec::new, |durations, run| {
                // Run 0 is looked at in any case: where durations are known all runs have the same, so that the answer does not
                // depend on the time.
                if run > 0 && options.stop.is_some_and(|stop| stop()) {
                    return Ok(());
                }
                (self.needs.work).draw(options.seed, run, self.dag.len(), durations);
                pool.check_durations(durations)
            })
            // Not any: the answer must not depend on which thread is faster.
            .find_first(Result::is_err);
        refused
            .unwrap_or(Ok(()))
            .map_err(SimulateError::NeverFinishes)
    }

    /// Every policy in one run.
    fn play_all(
        &self,
        buffers: &mut Buffers,
        seed: u64,
        run: u64,
        stop: Option<&(dyn Fn() -> bool + Sync)>,
    ) -> Result<Vec<Measures>, SimulateError> {
        self.needs
            .work
            .draw(seed, run, self.dag.len(), &mut buffers.durations);
        // Drawn once for all policies: what differs between them is not luck.
        (0..self.policies.len())
            .map(|policy| self.play(buffers, policy, seed, run, stop, |_| ()))
            .collect()
    }

    /// One policy in one run, whose durations have been drawn.
    fn play(
        &self,
        buffers: &mut Buffers,
        policy: usize,
        seed: u64,
        run: u64,
        stop: Option<&(dyn Fn() -> bool + Sync)>,
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
            stop.unwrap_or(&|| false),
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
        self.needs.least_cores > pool.crew.cores / 2
    }

    fn explain(&self, stuck: Stuck, policy: usize, run: u64) -> SimulateError {
        let (policy, tasks) = (self.policies[policy].name().to_owned(), self.dag.len());
        match stuck {
            Stuck::OutOfWorkers { executed } => SimulateError::TraceEnds {
                policy,
                run,
                executed,
                tasks,
            },
            Stuck::Full { executed } => SimulateError::Full {
                policy,
                run,
                executed,
                tasks,
            },
            Stuck::InVain { executed } => SimulateError::NeverEnds {
                policy,
                run,
                executed,
                tasks,
                events: PATIENCE,
            },
            Stuck::Stopped { executed } => SimulateError::OutOfTime {
                policy,
                executed,
                tasks,
            },
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

fn check_sizes(dag: &Dag, work: &Work, pool: &Pool) -> Result<(), SimulateError> {
    for task in dag.tasks() {
        let (cores, memory) = (work.cores(task.index()), work.memory(task.index()));
        let too_large = |of, needs, has| SimulateError::TaskTooLarge {
            task,
            of,
            needs,
            has,
        };
        if cores > pool.crew.cores {
            return Err(too_large(
                "cores",
                f64::from(cores),
                f64::from(pool.crew.cores),
            ));
        }
        if memory > pool.crew.memory {
            return Err(too_large("memory", memory, pool.crew.memory));
        }
    }
    Ok(())
}

/// A single worker of speed 1, to whom nothing has to be brought: any worker where none has a name.
struct Anybody<'a>(&'a [f64]);

impl Platform for Anybody<'_> {
    fn workers(&self) -> usize {
        1
    }
    fn time(&self, task: TaskId, _: usize) -> f64 {
        self.0[task.index()]
    }
    fn mean_time(&self, task: TaskId) -> f64 {
        self.0[task.index()]
    }
    fn transfer(&self, _: f64, _: usize) -> f64 {
        0.0
    }
    fn mean_transfer(&self, _: f64) -> f64 {
        0.0
    }
}
