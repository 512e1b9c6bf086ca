//! Whether another order should replace the one in force, by the workers that are seen. Knows not how the orders were made, nor
//! what time it is.

use crate::budgets::contest::FEW_LEFT;
use crate::error::{SettingError, SimulateError};
use crate::policy::Policy;
use crate::portfolio::{Challenger, Contest, Plays};
use crate::sighting::Sighting;
use crate::study::Options;
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;

/// The order in force, ready to be played against others on what is left of a dag.
#[derive(Clone, Debug)]
pub struct Rematch<'a> {
    dag: &'a Dag,
    work: Workload,
    world: World,
    in_force: &'a [TaskId],
    effort: Plays,
}

impl<'a> Rematch<'a> {
    /// Whether there is anything to gain with so many tasks left: with less than two a processor nearly all of them are handed
    /// out already.
    ///
    /// ```
    /// use cairn_sim::{Rematch, Sighting};
    /// assert!(!Rematch::is_worth_it(19, &Sighting::default()));
    /// assert!(Rematch::is_worth_it(20, &Sighting::default()));
    /// ```
    pub fn is_worth_it(left: usize, seen: &Sighting) -> bool {
        left >= FEW_LEFT.max(2 * seen.processors())
    }

    /// On a dag whose tasks take these seconds, with the workers that are seen, against so many rivals at the most.
    ///
    /// # Errors
    /// As [`Workload::known`] and [`Sighting::world`].
    pub fn new(
        dag: &'a Dag,
        in_force: &'a [TaskId],
        seconds: &[f64],
        seen: &Sighting,
        rivals: usize,
    ) -> Result<Rematch<'a>, SettingError> {
        let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
        Ok(Rematch {
            dag,
            work: Workload::known(&known)?,
            world: seen.world()?,
            in_force,
            effort: Plays::for_dag(dag.len(), rivals + 1, 1),
        })
    }

    /// How many rivals are paid for: one fewer than play, as the order in force does, too.
    pub fn rivals(&self) -> usize {
        self.effort.policies.saturating_sub(1).max(1)
    }

    /// The rival that should replace the order in force, by its place among them; `None` where that one stays. The same for the
    /// same seed, unless it is stopped.
    ///
    /// # Errors
    /// If an order does not name every task once, two rivals have one name, or a task would never end with the workers that are
    /// seen. A lack of time is none: the order in force stays.
    pub fn winner(
        &self,
        rivals: &[(&str, &[TaskId])],
        seed: u64,
        work: &Work<'_>,
    ) -> Result<Option<Challenger>, SimulateError> {
        // The one in force first, so that it is kept unless another gains.
        let all = std::iter::once(("in force", self.in_force)).chain(rivals.iter().copied());
        let policies: Vec<Policy> = all.map(|(name, o)| Policy::order(name, o)).collect();
        let options = Options {
            runs: self.effort.runs,
            seed,
            // The others are for whatever this machine does beside.
            threads: Some(1),
            work: work.clone(),
            ..Options::default()
        };
        let contest = Contest {
            dag: self.dag,
            work: &self.work,
            worlds: std::slice::from_ref(&self.world),
            options: &options,
        };
        let found = contest.challenge(&policies)?;
        Ok(found.map(|found| Challenger {
            policy: found.policy - 1,
            ..found
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighting::Glimpse;

    fn seen(workers: usize) -> Sighting {
        let mut seen = Sighting::default();
        for second in 0..10 {
            let glimpse = Glimpse {
                came: workers as u64,
                went: 0,
                speeds: &vec![1.0; workers],
                executed: 40,
            };
            seen.hear(f64::from(second), &glimpse);
        }
        seen
    }

    /// A long chain behind many short tasks: first or last is what matters.
    #[test]
    fn who_gains_wins_by_its_own_place_and_who_does_not_stays_away() {
        let dag = Dag::from_arcs(92, (80..91).map(|t| (t, t + 1)).collect()).unwrap();
        let seconds: Vec<f64> = (0..92).map(|t| if t < 80 { 1.0 } else { 10.0 }).collect();
        let file: Vec<TaskId> = dag.tasks().collect();
        let chain: Vec<TaskId> = (80..92).chain(0..80).map(TaskId).collect();
        let eight = seen(8);
        let winner = |in_force: &[TaskId], rivals: &[(&str, &[TaskId])], seen: &Sighting| {
            let rematch = Rematch::new(&dag, in_force, &seconds, seen, rivals.len()).unwrap();
            assert_eq!(rematch.rivals(), rivals.len());
            let found = rematch.winner(rivals, 1, &Work::unlimited()).unwrap();
            found.map(|found| found.policy)
        };
        let rivals: [(&str, &[TaskId]); 2] = [("same", &file), ("chain", &chain)];
        assert_eq!(winner(&file, &rivals, &eight), Some(1));
        assert_eq!(winner(&chain, &rivals, &eight), None);
        assert_eq!(winner(&file, &rivals, &seen(1)), None);
        let rematch = Rematch::new(&dag, &file, &seconds, &eight, 2).unwrap();
        assert_eq!(
            rematch.winner(&rivals, 1, &Work::until(&|| true)).unwrap(),
            None
        );
    }

    #[test]
    fn less_than_two_tasks_a_processor_are_not_worth_it() {
        let fifty = seen(50);
        assert!(Rematch::is_worth_it(100, &fifty));
        assert!(!Rematch::is_worth_it(99, &fifty));
    }
}
