//! Whether another order should replace the one in force, by the workers that are seen. Knows not how rules make orders, nor
//! what time it is.

use crate::budgets::contest::FEW_LEFT;
use crate::error::{SettingError, SimulateError};
use crate::policy::Policy;
use crate::portfolio::{Challenger, Contest, Plays};
use crate::sighting::Sighting;
use crate::statistics::Ratio;
use crate::study::Options;
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_plan::policy::{Rule, Rules};

/// What is left of a dag in the middle of a run. Tasks that are left are numbered anew, by their places in [`Rest::tasks`].
#[derive(Clone, Debug)]
pub struct Rest {
    tasks: Vec<TaskId>,
    seconds: Vec<f64>,
    /// In its own numbers.
    in_force: Vec<TaskId>,
    /// Tasks of the dag that are over, as they went.
    over: Vec<TaskId>,
}

impl Rest {
    /// Of a dag, by task: whether it is over, its place in the order in force, and the seconds that it is expected to take.
    pub fn new(dag: &Dag, is_over: &[bool], rank: &[u64], seconds: &[f64]) -> Rest {
        let is_left = |t: &TaskId| is_over.get(t.index()) == Some(&false);
        let (tasks, mut over): (Vec<TaskId>, Vec<TaskId>) = dag.tasks().partition(is_left);
        let rank = |t: TaskId| rank.get(t.index());
        over.sort_by_key(|&t| rank(t));
        let mut in_force: Vec<TaskId> = (0..tasks.len()).map(TaskId::new).collect();
        in_force.sort_by_key(|&t| rank(tasks[t.index()]));
        let known = |t: &TaskId| seconds.get(t.index()).copied().unwrap_or(1.0);
        Rest {
            seconds: tasks.iter().map(known).collect(),
            tasks,
            in_force,
            over,
        }
    }

    /// The tasks of the dag that are left.
    pub fn tasks(&self) -> &[TaskId] {
        &self.tasks
    }

    /// What each of them is expected to take.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }

    /// Whether there is anything to gain: with less than two tasks a processor nearly all of them are handed out already.
    ///
    /// ```
    /// use cairn_dag::Dag;
    /// use cairn_sim::{Rest, Sighting};
    /// let left = |tasks| Rest::new(&Dag::from_arcs(tasks, vec![]).unwrap(), &vec![false; tasks], &[], &[]);
    /// assert!(!left(19).is_worth_it(&Sighting::default()));
    /// assert!(left(20).is_worth_it(&Sighting::default()));
    /// ```
    pub fn is_worth_it(&self, seen: &Sighting) -> bool {
        self.tasks.len() >= FEW_LEFT.max(2 * seen.processors())
    }

    /// An order of all tasks of the dag: those that are over as they went, then the rest.
    fn whole(&self, rest: &[TaskId]) -> Vec<TaskId> {
        let rest = rest.iter().map(|t| self.tasks[t.index()]);
        self.over.iter().copied().chain(rest).collect()
    }
}

/// An order that should replace the one in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    /// The rule that made it.
    pub rule: Rule,
    /// All tasks of the dag: those that are over come first.
    pub order: Vec<TaskId>,
    /// Its time over that of the order in force, in runs that did not choose it.
    pub gain: Ratio,
    /// Runs of each that tell so.
    pub runs: usize,
}

/// The order in force, ready to be played against those of rules on what is left of a dag.
#[derive(Clone, Debug)]
pub struct Rematch<'a> {
    dag: &'a Dag,
    rest: &'a Rest,
    work: Workload,
    world: World,
    effort: Plays,
}

impl<'a> Rematch<'a> {
    /// On the dag of the tasks that are left, with the workers that are seen.
    ///
    /// # Errors
    /// As [`Workload::known`] and [`Sighting::world`].
    pub fn new(dag: &'a Dag, rest: &'a Rest, seen: &Sighting) -> Result<Rematch<'a>, SettingError> {
        Ok(Rematch {
            dag,
            rest,
            work: World::work_of(Some(&rest.seconds))?.0,
            world: seen.world()?,
            // The order in force plays, too.
            effort: Plays::for_dag(dag.len(), Rule::ALL.len() + 1, 1),
        })
    }

    /// The order that should replace the one in force, among those of the first rules that are paid for; `None` where that one
    /// stays. The same for the same seed, unless it is stopped.
    ///
    /// # Errors
    /// If a task would never end with the workers that are seen. A lack of time is none: the order in force stays.
    pub fn winner(
        &self,
        rules: &Rules<'_>,
        seed: u64,
        work: &Work<'_>,
    ) -> Result<Option<Successor>, SimulateError> {
        // One fewer than play, as the order in force does, too.
        let rivals = self.effort.policies.saturating_sub(1).max(1);
        let field = rules.candidates(rivals, &mut work.unmetered());
        self.winner_of(&field, seed, work)
    }

    fn winner_of(
        &self,
        field: &[(Rule, Vec<TaskId>)],
        seed: u64,
        work: &Work<'_>,
    ) -> Result<Option<Successor>, SimulateError> {
        // The one in force first, so that it is kept unless another gains.
        let mut policies = vec![Policy::order("in force", &self.rest.in_force)];
        policies.extend((field.iter()).map(|(rule, order)| Policy::order(rule.name(), order)));
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
        Ok(found.map(|Challenger { policy, gain, runs }| {
            let (rule, order) = &field[policy - 1];
            Successor {
                rule: *rule,
                order: self.rest.whole(order),
                gain,
                runs,
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighting::Glimpse;
    use cairn_plan::PlanEffort;

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
    fn who_gains_wins_and_who_does_not_stays_away() {
        let dag = Dag::from_arcs(92, (80..91).map(|t| (t, t + 1)).collect()).unwrap();
        let seconds: Vec<f64> = (0..92).map(|t| if t < 80 { 1.0 } else { 10.0 }).collect();
        let file: Vec<TaskId> = dag.tasks().collect();
        let chain: Vec<TaskId> = (80..92).chain(0..80).map(TaskId).collect();
        let eight = seen(8);
        let rest = |in_force: &[TaskId]| {
            let mut rank = vec![0; in_force.len()];
            (in_force.iter().zip(0..)).for_each(|(task, place)| rank[task.index()] = place);
            Rest::new(&dag, &[false; 92], &rank, &seconds)
        };
        let field = [
            (Rule::Ic, file.clone()),
            (Rule::CriticalPath, chain.clone()),
        ];
        let winner = |in_force: &[TaskId], seen: &Sighting| {
            let rest = rest(in_force);
            let rematch = Rematch::new(&dag, &rest, seen).unwrap();
            let found = rematch.winner_of(&field, 1, &Work::unlimited()).unwrap();
            found.map(|found| (found.rule, found.order))
        };
        assert_eq!(
            winner(&file, &eight),
            Some((Rule::CriticalPath, chain.clone()))
        );
        assert_eq!(winner(&chain, &eight), None);
        assert_eq!(winner(&file, &seen(1)), None);
        let rest = rest(&file);
        let rematch = Rematch::new(&dag, &rest, &eight).unwrap();
        let stopped = rematch.winner_of(&field, 1, &Work::until(&|| true));
        assert_eq!(stopped.unwrap(), None);
        // So small a dag pays for every rule, and the rules know which end the chain has.
        let plan = cairn_plan::plan(&dag, &PlanEffort::quick(), &mut Work::unlimited());
        let rules = Rules::new(&dag, plan.survey().blocks(), &plan.order, Some(&seconds));
        let found = rematch.winner(&rules, 1, &Work::unlimited()).unwrap();
        let found = found.expect("the file's order has the chain last");
        assert_eq!(found.order[0], TaskId(80));
        let all = rules.candidates(Rule::ALL.len(), &mut Work::unlimited());
        let best = rematch.winner_of(&all, 1, &Work::unlimited()).unwrap();
        assert_eq!(best, Some(found));
    }

    #[test]
    fn what_is_over_stays_in_front_and_the_rest_keeps_its_order() {
        let dag = Dag::from_arcs(5, vec![]).unwrap();
        let is_over = [false, true, false, true, false];
        let rest = Rest::new(&dag, &is_over, &[3, 4, 2, 1, 0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(rest.tasks(), [0, 2, 4].map(TaskId));
        assert_eq!(rest.seconds(), [1.0, 3.0, 1.0]);
        assert_eq!(rest.in_force, [2, 1, 0].map(TaskId));
        assert_eq!(rest.whole(&rest.in_force), [3, 1, 4, 2, 0].map(TaskId));
    }

    #[test]
    fn less_than_two_tasks_a_processor_are_not_worth_it() {
        let fifty = seen(50);
        let left = |tasks: usize| {
            let dag = Dag::from_arcs(tasks, vec![]).unwrap();
            Rest::new(&dag, &vec![false; tasks], &[], &[])
        };
        assert!(left(100).is_worth_it(&fifty));
        assert!(!left(99).is_worth_it(&fifty));
    }
}
