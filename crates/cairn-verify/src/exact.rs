//! The best gain of one part, by enumerating its ideals or over a tree. Knows nothing of the rest of the dag.

use crate::parts::{Effort, Part};
use crate::tree;
use std::collections::{BTreeMap, HashMap};

/// The most steps for one enumeration.
const ENUMERATION: u64 = 20_000_000;

/// What the enumeration of a part tells.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    /// The most that `t` tasks can gain.
    pub(crate) profile: Vec<u64>,
    /// Whether one order attains it at every step.
    pub(crate) admits: bool,
}

/// Answers about parts, equal ones looked at once. `None` says that a part is too large for this checker.
#[derive(Debug)]
pub(crate) struct Solver {
    enumerated: HashMap<Part, Option<Exact>>,
    profiles: HashMap<Part, Option<Vec<u64>>>,
    pub(crate) effort: Effort,
}

impl Solver {
    pub(crate) fn new() -> Solver {
        Solver {
            enumerated: HashMap::new(),
            profiles: HashMap::new(),
            effort: Effort(1_500_000_000),
        }
    }

    /// The most that `t` tasks of the part can gain.
    pub(crate) fn profile(&mut self, part: &Part) -> Option<Vec<u64>> {
        if let Some(known) = self.profiles.get(part) {
            return known.clone();
        }
        let is_relaxed = part.before.iter().all(Vec::is_empty);
        let over_tree = is_relaxed.then(|| tree::profile(part, &mut self.effort));
        let found = over_tree
            .flatten()
            .or_else(|| Some(self.enumerate(part)?.profile));
        self.profiles.insert(part.clone(), found.clone());
        found
    }

    /// The part's profile, and whether it admits an IC-optimal order.
    pub(crate) fn enumerate(&mut self, part: &Part) -> Option<Exact> {
        if let Some(known) = self.enumerated.get(part) {
            return known.clone();
        }
        let found = enumerate(part, &mut self.effort);
        self.enumerated.insert(part.clone(), found.clone());
        found
    }
}

/// All ideals of the part, size by size. Remembers of each whether a chain of best ideals leads to it.
fn enumerate(part: &Part, effort: &mut Effort) -> Option<Exact> {
    let tasks = part.before.len();
    if tasks > 64 {
        return None;
    }
    let mask = |list: &Vec<u32>| list.iter().fold(0u64, |set, &v| set | 1 << v);
    let before: Vec<u64> = part.before.iter().map(mask).collect();
    let mut weight: BTreeMap<u64, u64> = BTreeMap::new();
    part.rewards
        .iter()
        .for_each(|r| *weight.entry(mask(r)).or_default() += 1);
    let gain = |set: u64| -> u64 {
        let gained = weight.iter().filter(|(need, _)| *need & !set == 0);
        gained.map(|(_, weight)| weight).sum()
    };
    let mut own = Effort(ENUMERATION.min(effort.0));
    let budget = own.0;
    let mut profile = Vec::with_capacity(tasks + 1);
    let mut layer: HashMap<u64, bool> = HashMap::from([(0, true)]);
    let mut is_complete = true;
    for t in 0..=tasks {
        let gains: Vec<(u64, bool, u64)> = layer.iter().map(|(&s, &a)| (s, a, gain(s))).collect();
        let best = gains.iter().map(|g| g.2).max()?;
        profile.push(best);
        layer = HashMap::new();
        for (set, is_alive, gain) in gains {
            is_complete &= own.spend((weight.len() + tasks) as u64 + 50);
            if t == tasks || !is_complete {
                let admits = is_alive && gain == best;
                return finish(
                    is_complete,
                    budget - own.0,
                    effort,
                    Exact { profile, admits },
                );
            }
            for v in (0..tasks).filter(|&v| set >> v & 1 == 0 && before[v] & !set == 0) {
                *layer.entry(set | 1 << v).or_default() |= is_alive && gain == best;
            }
        }
    }
    None
}

fn finish(is_complete: bool, spent: u64, effort: &mut Effort, exact: Exact) -> Option<Exact> {
    effort.spend(spent);
    is_complete.then_some(exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::parts;
    use crate::refusal::exact_sum;
    use cairn_oracle::{any_dag, best_profile};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// The program over trees and rings says what enumeration says.
        #[test]
        fn trees_agree_with_enumeration(dag in any_dag(16)) {
            for placed in parts(&dag, &vec![0; dag.len()], false) {
                let mut effort = Effort(u64::MAX);
                let exact = enumerate(&placed.part, &mut effort).unwrap();
                if let Some(profile) = tree::profile(&placed.part, &mut effort) {
                    prop_assert_eq!(profile, exact.profile);
                }
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
