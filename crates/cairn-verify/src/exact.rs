//! The best gain of one part, and whether one order attains it at every step. Knows nothing of the rest of the dag.

use crate::closures::Closures;
use crate::eliminate;
use crate::parts::Part;
use crate::work::Work;
use hashbrown::HashMap;

// All of these are judgements about how long somebody waits for a checker: a step takes a nanosecond or few. What they are
// changes how much is proved, never what is rejected.

/// The most steps for a glance at a part, where there are many to look at: some hundredths of a second.
const GLANCE: u64 = 10_000_000;

/// The most steps for a first look at a part: enough for trees and rings of thousands of tasks.
pub(crate) const LOOK: u64 = 20_000_000;

/// The most steps for another look, where the first did not do: some tenths of a second.
const LONG_LOOK: u64 = 100_000_000;

/// The most steps that are spent on anything at once: a second.
pub(crate) const LONGEST_LOOK: u64 = 300_000_000;

/// All steps for one question: is the bound true, is the verdict? Some seconds.
const ALL: u64 = 2_000_000_000;

/// All steps for one question that is only foreseen: three looks above the longest look, below which none is begun, as the
/// checker itself might get further. With fewer less is foreseen than will be proved; with more a plan waits longer for its words.
const FORESIGHT: u64 = LONGEST_LOOK + 3 * LOOK;

/// Answers about parts, equal ones looked at once. `None` says that a part is too large for this checker.
#[derive(Debug)]
pub(crate) struct Solver {
    // By the whole part, not by a hash of it: what is looked up here counts as proved.
    profiles: HashMap<Part, Option<Vec<u64>>>,
    admits: HashMap<Part, Option<bool>>,
    /// The steps for one question, and how many must be left for a look to be worth it.
    all: u64,
    least: u64,
    pub(crate) work: Work,
}

impl Solver {
    pub(crate) fn new() -> Solver {
        Solver::with(ALL, 0)
    }

    /// With less effort than the checker's own, for answers that it will give too. What takes more is mostly hopeless,
    /// and people wait for it.
    pub(crate) fn for_foresight() -> Solver {
        Solver::with(FORESIGHT, LONGEST_LOOK)
    }

    /// So many steps for each question; none of them spent when fewer than `least` are left.
    pub(crate) fn with(all: u64, least: u64) -> Solver {
        Solver {
            profiles: HashMap::new(),
            admits: HashMap::new(),
            work: Work(all),
            all,
            least,
        }
    }

    /// The next question gets all steps again, whatever the last one took: so answers do not depend on each other.
    pub(crate) fn next_question(&mut self) {
        self.work = Work(self.all);
    }

    /// One that knows nothing yet and has at most so many steps, whatever was spent here.
    pub(crate) fn aside(&self, most: u64) -> Solver {
        Solver::with(self.all.min(most), 0)
    }

    /// Whether with more effort this question would have gone the same way: enough was left for every look.
    pub(crate) fn is_as_with_all_effort(&self) -> bool {
        // Every look is cut at this or less: none was cut short for want of steps.
        self.work.0 >= LONGEST_LOOK
    }

    /// One look with at most so many steps, if enough are left.
    fn look<T>(&mut self, most: u64, look: impl FnOnce(&mut Work) -> Option<T>) -> Option<T> {
        let is_worth_it = self.work.0 >= self.least;
        is_worth_it.then(|| self.work.lend(most, look)).flatten()
    }

    /// The most that `t` tasks of the part can gain.
    pub(crate) fn profile(&mut self, part: &Part) -> Option<Vec<u64>> {
        if let Some(known) = self.profiles.get(part) {
            return known.clone();
        }
        // Elimination first, as most parts are trees or nearly; unions of closures next; then elimination with more
        // patience.
        let found = (self.look(LOOK, |e| eliminate::profile(part, e)))
            .or_else(|| self.look(LONG_LOOK, |e| Closures::new(part, e)?.profile(e)))
            .or_else(|| self.look(LONG_LOOK, |e| eliminate::profile(part, e)));
        // With few steps left the next question may know better.
        if found.is_some() || self.is_as_with_all_effort() {
            self.profiles.insert(part.clone(), found.clone());
        }
        found
    }

    /// The same where it takes little to find out. For a solver of its own, since it keeps what it did not find out.
    pub(crate) fn glance(&mut self, part: &Part) -> Option<Vec<u64>> {
        if let Some(known) = self.profiles.get(part) {
            return known.clone();
        }
        let found = (self.work.lend(GLANCE, |e| eliminate::profile(part, e)))
            .or_else(|| (self.work).lend(GLANCE, |e| Closures::new(part, e)?.profile(e)));
        self.profiles.insert(part.clone(), found.clone());
        found
    }

    /// Whether the part admits an IC-optimal order.
    pub(crate) fn admits(&mut self, part: &Part) -> Option<bool> {
        if let Some(&known) = self.admits.get(part) {
            return known;
        }
        let best = self.profile(part)?;
        let look = |e: &mut Work| Closures::new(part, e)?.reaches(&best, e);
        let found = self.look(LONG_LOOK, look);
        if found.is_some() || self.is_as_with_all_effort() {
            self.admits.insert(part.clone(), found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::exact_sum;
    use crate::parts::parts;
    use cairn_oracle::{any_dag, best_profile};
    use proptest::prelude::*;

    /// The profile of a part, and whether a chain of best sets leads through it, over all sets of its tasks.
    fn brute(part: &Part) -> (Vec<u64>, bool) {
        let tasks = part.before.len();
        let has = |set: u32, list: &Vec<u32>| list.iter().all(|&v| set >> v & 1 == 1);
        let is_ideal =
            |set: u32| (0..tasks).all(|v| set >> v & 1 == 0 || has(set, &part.before[v]));
        let gain = |set: u32| part.rewards.iter().filter(|r| has(set, r)).count() as u64;
        let mut best = vec![0; tasks + 1];
        for set in (0..1u32 << tasks).filter(|&s| is_ideal(s)) {
            let t = set.count_ones() as usize;
            best[t] = best[t].max(gain(set));
        }
        let mut chain = std::collections::BTreeSet::from([0u32]);
        for t in 1..=tasks {
            let more = chain
                .iter()
                .flat_map(|&s| (0..tasks).map(move |v| s | 1 << v));
            let is_best =
                |s: &u32| s.count_ones() as usize == t && is_ideal(*s) && gain(*s) == best[t];
            chain = more.filter(is_best).collect();
        }
        (best, !chain.is_empty())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Elimination and unions of closures say what brute force over all sets says, of ordered and relaxed parts.
        #[test]
        fn every_method_agrees_with_brute_force(dag in any_dag(13), ordered: bool) {
            for placed in parts(&dag, &vec![0; dag.len()], ordered) {
                let mut work = Work(u64::MAX);
                let (best, admits) = brute(&placed.part);
                let closures = Closures::new(&placed.part, &mut work).unwrap();
                prop_assert_eq!(closures.profile(&mut work).unwrap(), best.clone());
                prop_assert_eq!(closures.reaches(&best, &mut work), Some(admits));
                prop_assert_eq!(eliminate::profile(&placed.part, &mut work).unwrap(), best.clone());
                prop_assert_eq!(Solver::new().admits(&placed.part), Some(admits));
                // Below the truth, a no is a no.
                let less: Vec<u64> = best.iter().map(|b| b.saturating_sub(1)).collect();
                prop_assert!(closures.reaches(&less, &mut work) == Some(true) || !admits);
            }
        }

        /// Out of steps: no answer, or the right one.
        #[test]
        fn little_effort_is_never_wrong(dag in any_dag(13), steps in 0u64..3000) {
            for placed in parts(&dag, &vec![0; dag.len()], true) {
                let (best, admits) = brute(&placed.part);
                let mut solver = Solver::with(steps, 0);
                prop_assert!(solver.profile(&placed.part).is_none_or(|p| p == best));
                prop_assert!(solver.admits(&placed.part).is_none_or(|a| a == admits));
            }
        }

        /// The parts of the whole add up to the truth, those of blocks and of any levels to no less.
        #[test]
        fn parts_bound_the_truth(dag in any_dag(13), cuts in 0u32..4) {
            let best = best_profile(&dag);
            let sources = dag.sources().count() as u64;
            let mut level = vec![0; dag.len()];
            for &v in dag.topological_order() {
                let above = dag.parents(v).iter().map(|p| level[p.index()] + 1).max();
                level[v.index()] = above.unwrap_or(0);
            }
            let group: Vec<u32> = level.iter().map(|l| l / (cuts + 1)).collect();
            let zero = vec![0; dag.len()];
            for (group, ordered, is_exact) in [(&zero, true, true), (&zero, false, false), (&group, true, false)] {
                let gains = exact_sum(&parts(&dag, group, ordered), &mut Solver::new()).unwrap();
                for (t, gain) in gains.iter().enumerate() {
                    let most = sources + gain - t as u64;
                    prop_assert!(most >= u64::from(best[t]));
                    prop_assert!(!is_exact || most == u64::from(best[t]));
                }
            }
        }
    }
}
