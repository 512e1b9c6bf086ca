//! Which of several orders to run: the one that is fastest in simulations of the workers at hand. Knows not how rules make
//! orders, nor what time it is.

use crate::budgets::contest::{
    FAIR, FEWEST, FRESH_RUNS, FULL, GLANCE, KEPT, TASKS_AT_A_GLANCE, TASKS_PLAYED,
};
use crate::error::{SettingError, SimulateError};
use crate::measures::Measure;
use crate::policy::Policy;
use crate::pool::{Crew, PoolSettings};
use crate::statistics::{Ratio, ratio};
use crate::study::{Options, Study, simulate};
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_plan::policy::{Rule, Rules};
use std::cmp::Ordering;

/// A policy must promise to be faster than the first by this share of time to replace it.
// The research's number. On average there is less than that to gain (docs/evaluation.md): what seems to be less is mostly chance.
const MARGIN: f64 = 0.003;

/// How many policies to play, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plays {
    /// The first so many policies.
    pub policies: usize,
    /// Runs of each in each world.
    pub runs: usize,
}

impl Plays {
    /// What can be afforded for a dag of so many tasks, played in so many worlds: all policies a hundred times where that
    /// takes a second or two, then fewer runs, then fewer policies, at the least three runs of two. Counted in tasks, not
    /// in seconds, so that the choice is the same on every machine.
    ///
    /// ```
    /// use cairn_sim::Plays;
    /// assert_eq!(Plays::for_dag(1000, 9, 2), Plays { policies: 9, runs: 100 });
    /// assert_eq!(Plays::for_dag(10_000_000, 9, 2), Plays { policies: 2, runs: 3 });
    /// ```
    pub fn for_dag(tasks: usize, policies: usize, worlds: usize) -> Plays {
        Plays::of(TASKS_PLAYED, tasks, policies, worlds)
    }

    /// Whether a first impression of a dag of so many tasks is worth what it takes.
    pub fn is_worth_a_glance(tasks: usize) -> bool {
        (1..=GLANCE).contains(&tasks)
    }

    /// About so many seconds a contest of all policies takes.
    ///
    /// ```
    /// use cairn_sim::Plays;
    /// assert_eq!(Plays::seconds(0), 2.0);
    /// assert_eq!(Plays::seconds(1_000_000), 5.0);
    /// ```
    pub fn seconds(tasks: usize) -> f64 {
        // Measured: 0.2 s for 10³ tasks, 3 s for 10⁵, 4 s for 10⁶. As a line above all of these: two seconds, and three more
        // for 10⁵ tasks.
        (2.0 + 30e-6 * tasks as f64).min(5.0)
    }

    /// A tenth of that of [`Plays::for_dag`], for a first impression.
    pub fn glance(tasks: usize, policies: usize, worlds: usize) -> Plays {
        Plays::of(TASKS_AT_A_GLANCE, tasks, policies, worlds)
    }

    fn of(played: usize, tasks: usize, policies: usize, worlds: usize) -> Plays {
        // What a run costs goes by its tasks: so many plays of the whole dag in each world are affordable.
        let plays = played / (tasks.max(1) * worlds.max(1));
        // Policies go before runs do: a comparison of few runs is mostly chance.
        let policies = (plays / FAIR).clamp(KEPT, policies.max(KEPT)).min(policies);
        let runs = (plays / policies.max(1)).clamp(FEWEST, FULL);
        Plays { policies, runs }
    }
}

/// The policy to run, and what the simulations said.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Its place in the list.
    pub policy: usize,
    /// By policy played: the mean over all worlds of the logarithm of its mean time. Empty where nobody could have gained
    /// enough on the first.
    pub scores: Vec<f64>,
    /// Runs made of each in each world; zero where there was no time for any.
    pub runs: usize,
}

/// The rule to run, and its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// The rule that was chosen.
    pub rule: Rule,
    /// Its order.
    pub order: Vec<TaskId>,
    /// Runs made of each candidate in each world; zero where there was no time for any.
    pub runs: usize,
}

/// Where policies are played against each other, and how often.
#[derive(Clone, Copy)]
pub struct Contest<'a> {
    /// What is played.
    pub dag: &'a Dag,
    /// What its tasks take.
    pub work: &'a Workload,
    /// Where.
    pub worlds: &'a [World],
    /// How often, by which chances, and for how long.
    pub options: &'a Options<'a>,
}

impl Contest<'_> {
    /// [`Contest::choose`] among the first so many rules of a plan.
    ///
    /// # Errors
    /// As [`Contest::choose`].
    pub fn choose_of(&self, rules: &Rules<'_>, first: usize) -> Result<Picked, SimulateError> {
        self.choose_rule(&rules.candidates(first, &mut self.options.work.clone()))
    }

    /// [`Contest::choose`] among the orders of rules ([`Rules::candidates`]).
    ///
    /// # Errors
    /// As [`Contest::choose`].
    pub fn choose_rule(&self, field: &[(Rule, Vec<TaskId>)]) -> Result<Picked, SimulateError> {
        let policy = |(rule, order): &(Rule, Vec<TaskId>)| Policy::order(rule.name(), order);
        let chosen = self.choose(&field.iter().map(policy).collect::<Vec<_>>())?;
        let (rule, order) = &field[chosen.policy];
        Ok(Picked {
            rule: *rule,
            order: order.clone(),
            runs: chosen.runs,
        })
    }

    /// Plays all policies in all worlds and chooses the fastest, by the mean of the logarithms of mean times. The first policy
    /// is taken unless another gains more than 0.3 % on it, and beyond doubt: the whole 95 % interval of [`joint_ratio`] says so.
    ///
    /// Where workers are always there and the first keeps them busy, nobody can gain that much, and the others are not played.
    ///
    /// So the first should be one that rarely loses. Where [`Options::work`] ends the work before a single run of some world
    /// is done, the first is chosen. Numbers depend on nothing but the arguments, unless it is stopped.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// use cairn_sim::{Contest, Options, Policy, World};
    /// // A source that opens ten tasks, listed after ten others that open nothing.
    /// let dag = Dag::from_arcs(21, (11..21).map(|child| (10, child)).collect())?;
    /// let opener_first: Vec<TaskId> = [10].into_iter().chain(0..10).chain(11..21).map(TaskId).collect();
    /// let policies = [Policy::fifo(), Policy::order("opener first", &opener_first)];
    /// let worlds = [World::batches(1.0, 8.0)?];
    /// let (work, options) = (World::study_work(), Options::default());
    /// let contest = Contest { dag: &dag, work: &work, worlds: &worlds, options: &options };
    /// let chosen = contest.choose(&policies)?;
    /// assert_eq!(chosen.policy, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`simulate`], but for a lack of time.
    pub fn choose(&self, policies: &[Policy]) -> Result<Chosen, SimulateError> {
        if let Some(runs) = self.settled(policies) {
            return Ok(Chosen {
                policy: 0,
                scores: Vec::new(),
                runs,
            });
        }
        self.play(policies)
    }

    /// Whether the first policy stays whatever the others do: then, after how many runs that is known. Workers that are always
    /// there cannot end before the work divided among them is done; where the first takes hardly longer, in the very runs in
    /// which the others would be played, nobody can gain the margin on it. So many tasks on few processors need no contest.
    fn settled(&self, policies: &[Policy]) -> Option<usize> {
        let are_reliable = self.worlds.iter().all(|w| matches!(w, World::Throttled(_)));
        let first = policies
            .get(..1)
            .filter(|_| are_reliable && !self.worlds.is_empty())?;
        // A few runs tell mostly that it is not so.
        let few = Some(FEWEST).filter(|&few| few < self.options.runs);
        for runs in few.into_iter().chain([self.options.runs]) {
            let options = Options {
                runs,
                ..self.options.clone()
            };
            let mut most_gained = 0.0;
            for world in self.worlds {
                // Errors are told by the contest, which plays the same.
                let study = simulate(self.dag, self.work, world, first, &options).ok()?;
                if study.runs() < runs {
                    return None; // it was stopped
                }
                let of = &study.outcomes[0].runs;
                let taken: f64 = of.iter().map(|r| r.makespan).sum();
                // All work divided among all workers: what nobody can be faster than, in the same runs.
                let least: f64 = of.iter().map(|r| r.makespan * r.utilisation).sum();
                if taken > 0.0 {
                    most_gained -= libm::log(least / taken) / self.worlds.len() as f64;
                }
            }
            if most_gained > MARGIN {
                return None;
            }
        }
        Some(self.options.runs)
    }

    /// Plays all of them.
    fn play(&self, policies: &[Policy]) -> Result<Chosen, SimulateError> {
        let mut scores = vec![0.0; policies.len()];
        let mut studies = Vec::with_capacity(self.worlds.len());
        for world in self.worlds {
            let study = match simulate(self.dag, self.work, world, policies, self.options) {
                Ok(study) => study,
                Err(SimulateError::OutOfTime { .. }) => {
                    return Ok(Chosen {
                        policy: 0,
                        scores: Vec::new(),
                        runs: 0,
                    });
                }
                Err(error) => return Err(error),
            };
            for (p, score) in scores.iter_mut().enumerate() {
                let time = study.summary(p, Measure::Makespan).mean;
                // Logarithms, so that a world of long runs counts no more than another. Where nothing takes time all are equal.
                *score += libm::log(time.max(f64::MIN_POSITIVE)) / self.worlds.len() as f64;
            }
            studies.push(study);
        }
        // Of several that are as good as the first, one looks better by chance: the mean alone would take it.
        let is_faster = |p: usize| {
            let side = joint_ratio(&studies, p, 0).map(|ratio| ratio.side());
            scores[p] < scores[0] - MARGIN && side == Some(Ordering::Less)
        };
        let fastest = (1..scores.len())
            .filter(|&p| is_faster(p))
            .min_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        Ok(Chosen {
            policy: fastest.unwrap_or(0),
            runs: studies.iter().map(Study::runs).min().unwrap_or(0),
            scores,
        })
    }

    /// Plays policies in all worlds once more, with other chances than those of `options`: numbers from the runs that chose a
    /// winner would flatter it. Worlds without time for a single run are left out.
    ///
    /// # Errors
    /// As [`simulate`], but for a lack of time.
    pub fn play_afresh(&self, policies: &[Policy]) -> Result<Vec<Study>, SimulateError> {
        let fresh = Options {
            runs: self.options.runs.min(FRESH_RUNS),
            // Other chances, and the same ones each time: whoever asks again reads the same numbers.
            seed: self.options.seed.wrapping_add(1),
            ..self.options.clone()
        };
        let mut studies = Vec::with_capacity(self.worlds.len());
        for world in self.worlds {
            match simulate(self.dag, self.work, world, policies, &fresh) {
                Ok(study) => studies.push(study),
                Err(SimulateError::OutOfTime { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(studies)
    }

    /// Who should replace the first policy, which is in force: whoever is chosen instead of it and is faster in fresh runs too,
    /// beyond doubt.
    ///
    /// # Errors
    /// As [`simulate`], but for a lack of time.
    pub(crate) fn challenge(
        &self,
        policies: &[Policy],
    ) -> Result<Option<Challenger>, SimulateError> {
        let policy = self.choose(policies)?.policy;
        if policy == 0 {
            return Ok(None);
        }
        // What chose it would flatter it: it must gain in other runs, too.
        let both = [policies[policy].clone(), policies[0].clone()];
        let studies = self.play_afresh(&both)?;
        let is_sure = |gain: &Ratio| gain.side() == Ordering::Less;
        let gain = joint_ratio(&studies, 0, 1).filter(is_sure);
        Ok(gain.map(|gain| Challenger {
            policy,
            gain,
            runs: studies.iter().map(Study::runs).min().unwrap_or(0),
        }))
    }
}

/// A policy that is better than the one in force, and by how much.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Challenger {
    /// Its place in the list.
    pub(crate) policy: usize,
    /// Its time over that of the one in force, in runs that did not choose it.
    pub(crate) gain: Ratio,
    /// Runs of each in each world that tell so.
    pub(crate) runs: usize,
}

/// The worlds to try where nothing is known of the workers, for tasks that take `mean` on the mean: few workers that ask
/// often, and many that come seldom. Of the pairs tried on 24 real dags the best, also in ten other worlds.
///
/// # Errors
/// [`SettingError::BadValue`] unless the mean is finite and above zero.
pub fn usual_worlds(mean: f64) -> Result<[World; 2], SettingError> {
    Ok([
        World::batches(0.3 * mean, 16.0)?,
        World::batches(3.0 * mean, 64.0)?,
    ])
}

/// One machine with so many slots, and the work as it is done there, where each task takes so many of them: no more than there
/// are, so that a wider task runs alone and is not refused.
///
/// # Errors
/// As [`World::throttled`], [`World::pool`] and [`Workload::with_cores`].
pub fn machine(
    slots: u32,
    work: Workload,
    taken: impl Iterator<Item = u32>,
) -> Result<(World, Workload), SettingError> {
    let cores: Vec<u32> = taken.map(|taken| taken.clamp(1, slots.max(1))).collect();
    // Where every task takes one slot a queue is the same world as a pool of one machine, and is played faster.
    if cores.iter().all(|&cores| cores <= 1) {
        return Ok((World::throttled(slots, slots)?, work));
    }
    let settings = PoolSettings {
        workers: 1,
        crew: Crew {
            cores: slots,
            ..Crew::default()
        },
        ..PoolSettings::default()
    };
    let work = work.with_cores(cores)?;
    Ok((World::pool(settings)?, work))
}

/// Time of one policy over that of another, over several studies of the same policies with equally many runs: times count
/// as shares of the first's mean in their world, so that no world outweighs another. `None` where nothing takes time.
pub fn joint_ratio(studies: &[Study], first: usize, second: usize) -> Option<Ratio> {
    // Run i of one world is added to run i of the others: where one world was stopped early, only those that all
    // have.
    let runs = studies.iter().map(Study::runs).min()?;
    let mut times = [vec![0.0; runs], vec![0.0; runs]];
    for study in studies {
        let mean = study.summary(first, Measure::Makespan).mean;
        if mean == 0.0 {
            continue;
        }
        for (times, policy) in times.iter_mut().zip([first, second]) {
            let column = study.outcomes[policy].column(Measure::Makespan);
            for (sum, time) in times.iter_mut().zip(column) {
                *sum += time / mean;
            }
        }
    }
    let [first, second] = times;
    ratio(&first, &second)
}

#[cfg(test)]
mod tests;
