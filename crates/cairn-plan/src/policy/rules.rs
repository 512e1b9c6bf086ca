//! The rules among which one is chosen by simulation, under one roof: what they share is computed once. Knows no workers.

use super::by_score::by_score;
use super::{blend, bottom_levels, critical_path, descendants_work, path_hull, path_plus, share};
use crate::{Ties, Weights, Work, break_ties};
use cairn_dag::{Dag, TaskId};
use cairn_theory::split::Decomposition;
use std::sync::OnceLock;

/// A rule that orders tasks for a short run. None is best everywhere; [`Rule::PathPlus`] is rarely far from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// [`path_plus()`](super::path_plus())
    PathPlus,
    /// Longest path to the end first; ties as in the plan's order, where [`critical_path`](super::critical_path()) takes the
    /// first in the file.
    CriticalPathIc,
    /// The plan's own order.
    Ic,
    /// The plan's order with ties broken by the longest path: its profile is the same.
    IcCriticalPath,
    /// An order along the hull of executed work against the paths that hang on the tasks made eligible.
    PathHull,
    /// [`descendants`](super::descendants())
    Descendants,
    /// Three quarters critical path, one quarter the plan's order: `policy/blend.rs`.
    Blend,
    /// [`share()`](super::share())
    Share,
    /// [`critical_path`](super::critical_path)
    CriticalPath,
}

impl Rule {
    /// All rules, those first that are kept longest where there is time for few: each of the first ones wins where those
    /// before it lose.
    pub const ALL: [Rule; 9] = [
        Rule::PathPlus,
        Rule::CriticalPathIc,
        Rule::IcCriticalPath,
        Rule::PathHull,
        Rule::Descendants,
        Rule::Blend,
        Rule::Share,
        Rule::CriticalPath,
        Rule::Ic,
    ];

    /// The name that people and files use.
    pub fn name(self) -> &'static str {
        match self {
            Rule::PathPlus => "path+",
            Rule::CriticalPathIc => "critical-path-ic",
            Rule::Ic => "ic",
            Rule::IcCriticalPath => "ic-critical-path",
            Rule::PathHull => "path-hull",
            Rule::Descendants => "descendants",
            Rule::Blend => "blend",
            Rule::Share => "share",
            Rule::CriticalPath => "critical-path",
        }
    }
}

/// A dag with its plan and what is known of durations: all that rules ask for.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::policy::{Rule, Rules};
/// use cairn_plan::{PlanEffort, Work, plan};
/// let dag = Dag::from_arcs(4, vec![(0, 2), (1, 3)])?;
/// let plan = plan(&dag, &PlanEffort::default(), &mut Work::unlimited());
/// let rules = Rules::new(&dag, plan.survey().blocks(), &plan.order, None);
/// assert_eq!(rules.order(Rule::Ic, &mut Work::unlimited()), plan.order);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rules<'a> {
    dag: &'a Dag,
    blocks: &'a Decomposition,
    ic: &'a [TaskId],
    seconds: Option<&'a [f64]>,
    // Several rules ask for each, perhaps from several threads; where none does, a large dag is spared both.
    level: OnceLock<Vec<f64>>,
    below: OnceLock<Vec<f64>>,
}

impl<'a> Rules<'a> {
    /// `ic` is the order of the plan, `blocks` are those of the dag or of its skeleton, `seconds` the durations as far as
    /// anyone knows them; all alike where `None`.
    ///
    /// # Panics
    /// If `ic` or `seconds` are not for this dag.
    pub fn new(
        dag: &'a Dag,
        blocks: &'a Decomposition,
        ic: &'a [TaskId],
        seconds: Option<&'a [f64]>,
    ) -> Rules<'a> {
        assert_eq!(ic.len(), dag.len(), "an order names every task once");
        Rules {
            dag,
            blocks,
            ic,
            seconds,
            level: OnceLock::new(),
            below: OnceLock::new(),
        }
    }

    /// The order of a rule: topological. `work` is for the hull, the only rule that can take long; where it is told to stop, the
    /// order is as good as was found.
    pub fn order(&self, rule: Rule, work: &mut Work<'_>) -> Vec<TaskId> {
        let Rules {
            dag, ic, seconds, ..
        } = *self;
        match rule {
            Rule::PathPlus => {
                let score = path_plus::score(dag, seconds, self.level(), self.below());
                by_score(dag, &score, ic)
            }
            Rule::CriticalPathIc => by_score(dag, self.level(), ic),
            Rule::Ic => ic.to_vec(),
            Rule::IcCriticalPath => {
                let ties = Ties::CriticalPath(seconds);
                break_ties(dag, self.blocks, ic, ties, &Weights::unit(dag.len()))
            }
            // Too large for its numbers: the plan, whose hull was too large as well, is the next best.
            Rule::PathHull => path_hull(dag, seconds, work).unwrap_or_else(|_| ic.to_vec()),
            Rule::Descendants => by_score(dag, self.below(), ic),
            Rule::Blend => blend(dag, seconds, ic),
            Rule::Share => share(dag, seconds, ic),
            Rule::CriticalPath => critical_path(dag, seconds),
        }
    }

    /// The first `most` of [`Rule::ALL`] with their orders: all of them, or those that were made before `work` is told to stop, the first
    /// in any case. Rules with equal orders are one candidate, the first of them: equal orders need be played but once.
    pub fn candidates(&self, most: usize, work: &mut Work<'_>) -> Vec<(Rule, Vec<TaskId>)> {
        let mut candidates: Vec<(Rule, Vec<TaskId>)> = Vec::new();
        for &rule in Rule::ALL.iter().take(most) {
            if !candidates.is_empty() && work.is_stopped() {
                break;
            }
            let order = self.order(rule, &mut work.unmetered());
            if candidates.iter().all(|(_, other)| *other != order) {
                candidates.push((rule, order));
            }
        }
        candidates
    }

    fn level(&self) -> &[f64] {
        self.level
            .get_or_init(|| bottom_levels(self.dag, self.seconds))
    }

    fn below(&self) -> &[f64] {
        self.below
            .get_or_init(|| descendants_work(self.dag, self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rough_seconds;
    use super::super::{descendants, path_plus};
    use super::*;
    use cairn_oracle::any_dag;
    use cairn_theory::profile::profile;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn each_rule_gives_its_topological_order(dag in any_dag(14), salt in 0u32..9, known in any::<bool>(), most in 1usize..10) {
            let seconds = known.then(|| rough_seconds(&dag, salt));
            let seconds = seconds.as_deref();
            let plan = crate::plan(&dag, &crate::PlanEffort::default(), &mut Work::unlimited());
            let ic = &plan.order;
            let rules = Rules::new(&dag, plan.survey().blocks(), ic, seconds);
            for rule in Rule::ALL {
                let order = rules.order(rule, &mut Work::unlimited());
                prop_assert!(profile(&dag, &order).is_ok(), "{rule:?}");
                let alone = match rule {
                    Rule::PathPlus => path_plus(&dag, seconds, ic),
                    Rule::Descendants => descendants(&dag, seconds, ic),
                    Rule::IcCriticalPath => {
                        prop_assert_eq!(profile(&dag, &order), profile(&dag, ic));
                        continue;
                    }
                    _ => continue,
                };
                prop_assert_eq!(order, alone, "{:?}", rule);
            }
            let candidates = rules.candidates(most, &mut Work::unlimited());
            for (i, (rule, order)) in candidates.iter().enumerate() {
                prop_assert_eq!(order, &rules.order(*rule, &mut Work::unlimited()));
                prop_assert!(candidates[..i].iter().all(|c| c.1 != *order));
            }
            // Every rule that was asked for is there, itself or as one with its order.
            for rule in Rule::ALL.into_iter().take(most) {
                let order = rules.order(rule, &mut Work::unlimited());
                prop_assert!(candidates.iter().any(|c| c.1 == order), "{rule:?}");
            }
            prop_assert!(candidates.len() <= most);
        }
    }
}
