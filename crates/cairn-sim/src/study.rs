//! Many runs of several policies in one world, side by side. Knows no world's inside and no file.

use crate::budgets::study::{RUNS, RUNS_BETWEEN_DECISIONS};
use crate::error::{SimulateError, positive};
use crate::measures::{Event, Measure, Measures};
use crate::policy::Policy;
use crate::stage::{Buffers, Stage};
use crate::statistics::{Interval, Ratio, Summary, ratio, share, summarise};
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::Dag;
use cairn_kernel::Work;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often to run, and how.
#[derive(Clone)]
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
    /// Until when: once it is stopped, the runs made by then are all there are. They are the first ones, so that the same
    /// seed with as many runs gives the same numbers. Its steps are not counted: a run has its own. By default nobody
    /// says stop.
    pub work: Work<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            runs: RUNS,
            seed: 1,
            threads: None,
            precision: None,
            progress: None,
            work: Work::unlimited(),
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
    /// Whether it ended before all runs were made, because [`Options::work`] said so.
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

    /// What a policy costs where a worker's hour has a price.
    ///
    /// # Panics
    /// If there is no such policy.
    pub fn cost(&self, policy: usize, price: f64) -> Summary {
        let (time, second) = (self.summary(policy, Measure::WorkerTime), price / 3600.0);
        Summary {
            mean: time.mean * second,
            median: time.median * second,
            interval: time.interval.map(|i| Interval {
                low: i.low * second,
                high: i.high * second,
            }),
            ..time
        }
    }

    /// The share of a policy's runs that end within a time, and where its true value lies with 95 %.
    ///
    /// # Panics
    /// If there is no such policy.
    pub fn within(&self, policy: usize, deadline: f64) -> (f64, Interval) {
        let runs = &self.outcomes[policy].runs;
        let ended = runs.iter().filter(|run| run.makespan <= deadline);
        share(ended.count(), runs.len())
    }

    /// Whether every makespan ratio of the first policy is known to within `precision`.
    fn is_precise(&self, precision: f64) -> bool {
        // With nobody to compare with, the mean itself must be known well enough.
        if let [only] = &self.outcomes[..] {
            let summary = summarise(&only.column(Measure::Makespan));
            let width = summary.ends().map(|i| (i.high - i.low) / 2.0);
            return width.is_some_and(|w| w <= precision * summary.mean);
        }
        (1..self.outcomes.len()).all(|other| match self.ratio(0, other, Measure::Makespan) {
            Some(ratio) => ratio.relative_half_width().is_some_and(|w| w <= precision),
            // Nothing takes time: there is nothing to know better.
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
    work: &Workload,
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

/// Whether every task can be executed in this world, as [`simulate`] asks before it plays; quick, and before there are policies.
///
/// # Errors
/// [`SimulateError`]: lists that do not fit the dag, a task too large for any worker, or one that in the first run of this seed no
/// worker is up long enough for.
pub fn check(dag: &Dag, work: &Workload, world: &World, seed: u64) -> Result<(), SimulateError> {
    // Which policy makes no difference.
    let any = [Policy::fifo()];
    Stage::new(dag, work, world, &any)?.check_durations(seed, 1, &Work::unlimited())
}

/// How runs of one policy end that may be stuck for good with a full disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Endings {
    /// What the runs came to that came to an end.
    pub ended: Vec<Measures>,
    /// How many did not.
    pub stuck: usize,
}

impl Endings {
    /// The mean time of those that came to an end, if any did.
    pub fn mean_time(&self) -> Option<f64> {
        let sum: f64 = self.ended.iter().map(|m| m.makespan).sum();
        (!self.ended.is_empty()).then(|| sum / self.ended.len() as f64)
    }
}

/// Plays one policy as [`simulate`] does, and counts the runs that end with a full disk
/// ([`crate::Admission::FitsNow`]). Fewer runs than asked for where [`Options::work`] says so.
///
/// # Errors
/// As [`simulate`], but for those runs.
pub fn endings(
    dag: &Dag,
    work: &Workload,
    world: &World,
    policy: &Policy,
    options: &Options<'_>,
) -> Result<Endings, SimulateError> {
    let stage = Stage::new(dag, work, world, std::slice::from_ref(policy))?;
    // Collected by run, whichever thread was faster, so that of several errors the first run's is told.
    let played: Vec<_> = (0..options.runs as u64)
        .into_par_iter()
        .map_init(Buffers::default, |buffers, run| {
            stage.play_all(buffers, options.seed, run, &options.work)
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
    work: &Workload,
    world: &World,
    policy: &Policy,
    seed: u64,
    run: u64,
) -> Result<Replay, SimulateError> {
    let stage = Stage::new(dag, work, world, std::slice::from_ref(policy))?;
    let mut events = Vec::new();
    let mut buffers = Buffers::default();
    // As `play_all` does: the durations that this run of the study met.
    work.draw(seed, run, dag.len(), &mut buffers.durations);
    let measures = stage.play(&mut buffers, 0, seed, run, &Work::unlimited(), |event| {
        events.push(event)
    })?;
    Ok(Replay { measures, events })
}

impl Stage<'_> {
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
        self.check_durations(options.seed, options.runs as u64, &options.work)?;
        let done = AtomicUsize::new(0);
        while study.runs() < options.runs {
            let first = study.runs();
            let last = options.runs.min(first + RUNS_BETWEEN_DECISIONS);
            // Begun one after the other, so that whenever it is time to stop the first ones are done.
            let mut played: Vec<(usize, Result<Vec<Measures>, SimulateError>)> = (first..last)
                .par_bridge()
                .map_init(Buffers::default, |buffers, run| {
                    let measures = self.play_all(buffers, options.seed, run as u64, &options.work);
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
}
