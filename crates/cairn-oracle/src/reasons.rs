//! What reasons against an IC-optimal order say, by looking at every ideal. Knows no planner and no checker.

use crate::ideals;
use cairn_dag::{Dag, TaskId};
use std::collections::HashSet;

/// The set of these tasks.
pub fn mask(tasks: &[TaskId]) -> u32 {
    tasks.iter().fold(0, |set, t| set | 1 << t.0)
}

/// How many tasks have parents, all of them in the set.
pub fn gain(dag: &Dag, set: u32) -> u32 {
    let has = |p: &TaskId| set >> p.0 & 1 == 1;
    let gained = dag.tasks().filter(|&t| !dag.is_source(t));
    gained
        .filter(|&t| dag.parents(t).iter().all(has))
        .count()
        .try_into()
        .expect("few tasks")
}

/// The ideal of `size` tasks that gains more than every other one of that size, if there is one.
pub fn only_best(dag: &Dag, size: usize) -> Option<u32> {
    let all = &ideals(dag)[size];
    let most = all.iter().map(|&set| gain(dag, set)).max()?;
    let mut best = all.iter().filter(|&&set| gain(dag, set) == most);
    let first = best.next().copied();
    first.filter(|_| best.next().is_none())
}

/// The most that an ideal of `size` tasks gains which contains `lower` and lies in `upper`.
pub fn most_between(dag: &Dag, size: usize, lower: u32, upper: u32) -> Option<u32> {
    let between = |set: &&u32| **set & lower == lower && **set & !upper == 0;
    let sets = ideals(dag)[size]
        .iter()
        .filter(between)
        .copied()
        .max_by_key(|&set| gain(dag, set));
    sets.map(|set| gain(dag, set))
}

/// Whether, after `before`, what some of `tasks` gain does not depend on which of the `rest` are executed.
pub fn is_independent(dag: &Dag, before: u32, tasks: u32, rest: u32) -> bool {
    let ideals: HashSet<u32> = ideals(dag).into_iter().flatten().collect();
    let within = |set: &&u32| **set & before == before && **set & !(before | tasks | rest) == 0;
    ideals.iter().filter(within).all(|&set| {
        let parts = [set & !rest, set & !tasks];
        let [a, b] = parts.map(|part| gain(dag, part));
        parts.iter().all(|part| ideals.contains(part))
            && gain(dag, set) + gain(dag, before) == a + b
    })
}

/// Everything that can be executed of some tasks after others, by number of tasks: the sets and what they gain.
#[derive(Clone, Debug)]
pub struct Among(pub Vec<Vec<(u32, u32)>>);

impl Among {
    /// All sets of `tasks` that can be executed after `before`.
    pub fn new(dag: &Dag, before: u32, tasks: u32) -> Among {
        let mut sets = vec![Vec::new(); tasks.count_ones() as usize + 1];
        for set in ideals(dag).concat() {
            let new = set & !before;
            if set & before == before && new & !tasks == 0 {
                sets[new.count_ones() as usize].push((new, gain(dag, set) - gain(dag, before)));
            }
        }
        Among(sets)
    }

    /// The most that `t` of the tasks gain.
    ///
    /// # Panics
    /// If there is no set of `t` tasks.
    pub fn best(&self, t: usize) -> u32 {
        let gains = self.0[t].iter().map(|s| s.1);
        gains.max().expect("nothing is in the way")
    }

    /// The largest number of tasks up to which there are best sets of every size, each in the next.
    pub fn nest_through(&self) -> usize {
        let mut alive = vec![0];
        for (t, sets) in self.0.iter().enumerate().skip(1) {
            let best = self.best(t);
            let reached = |&(set, gain): &(u32, u32)| {
                (gain == best && alive.iter().any(|a| a & !set == 0)).then_some(set)
            };
            alive = sets.iter().filter_map(reached).collect();
            if alive.is_empty() {
                return t - 1;
            }
        }
        self.0.len() - 1
    }

    /// Whether some best set of `s` tasks lies in one of `t` tasks that gains at least `more`.
    pub fn nest(&self, [s, t]: [usize; 2], more: u32) -> bool {
        let small = self.0[s].iter().filter(|e| e.1 == self.best(s));
        let mut pairs = small.flat_map(|a| self.0[t].iter().map(move |b| (a, b)));
        pairs.any(|(a, b)| b.1 >= more && a.0 & !b.0 == 0)
    }

    /// The two numbers of tasks whose best sets do not nest: the smallest larger one, then the smallest smaller one.
    pub fn first_conflict(&self) -> Option<[usize; 2]> {
        let mut pairs = (1..self.0.len()).flat_map(|t| (0..t).map(move |s| [s, t]));
        pairs.find(|&[s, t]| !self.nest([s, t], self.best(t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_by_hand() {
        let dag = crate::tests::a_task_and_a_pair();
        assert_eq!(only_best(&dag, 1), Some(0b001));
        assert_eq!(only_best(&dag, 2), Some(0b110));
        assert_eq!(most_between(&dag, 2, 0b001, u32::MAX), Some(2));
        assert_eq!(most_between(&dag, 2, 0, u32::MAX), Some(3));
        let among = Among::new(&dag, 0, 0b111);
        assert_eq!(
            (among.nest_through(), among.first_conflict()),
            (1, Some([1, 2]))
        );
        assert!(is_independent(&dag, 0, 0b001, 0b110) && !is_independent(&dag, 0, 0b010, 0b101));
    }
}
