//! Finds two steps of a component whose best sets cannot be nested. Knows nothing of the rest of the dag.

use super::component::Component;
use super::ids::NodeId;
use super::knowledge::Knowledge;
use super::refusal::{Conflict, Pair};
use super::states::{count, has};
use super::walk::{Explored, Space, growing};
use crate::budgets::decide::pair::{BEAM, SHARES};
use cairn_dag::TaskId;
use cairn_kernel::Work;

/// Looks for two numbers of nodes s < t such that no set of s nodes that gains the most lies in one of t nodes that
/// does; `tasks` are the nodes' names. Of several pairs the one with the smallest t, then the smallest s, as far as the
/// budget allows.
///
/// For each s one walk through the macro states, free up to s and with the demand `known.lower[s]` from there on: it
/// tells for every t what sets gain that contain a best set of s. The first t at which this falls short of
/// `known.lower[t]`, which real sets gain, makes the pair. At most one walk for each step at which the most that can
/// be gained rises; each takes O(states·rewards) sets.
pub(super) fn look(
    component: &Component,
    tasks: &[TaskId],
    known: &Knowledge,
    work: &mut Work<'_>,
) -> Conflict {
    let steps = work.left();
    if work.is_over() {
        return Conflict::Unknown;
    }
    let Some(space) = Space::new(component, work) else {
        return Conflict::Unknown;
    };
    let pairs = Pairs {
        component,
        space,
        lower: &known.lower,
        share: steps / SHARES,
    };
    match pairs.find(work) {
        Err(true) if known.is_exact() => Conflict::NoPair,
        Err(_) => Conflict::Unknown,
        Ok(found) => {
            let named = |set: Vec<NodeId>| set.iter().map(|&v| tasks[v.index()]).collect();
            let larger = pairs.best_set(found.steps[1], known, work);
            let gain = larger.as_ref().map(|set| pairs.gain(set));
            Conflict::Pair(Pair {
                steps: found.steps,
                gains: [found.gain, gain.unwrap_or(known.lower[found.steps[1]])],
                smaller: named(found.set),
                larger: larger.map(named),
            })
        }
    }
}

struct Pairs<'a> {
    component: &'a Component,
    space: Space<'a>,
    lower: &'a [u32],
    share: u64,
}

/// Two steps, and a best set of the smaller with what it gains.
struct Found {
    steps: [usize; 2],
    gain: u32,
    set: Vec<NodeId>,
}

impl Pairs<'_> {
    /// `Err` tells whether all pairs were looked at.
    fn find(&self, work: &mut Work<'_>) -> Result<Found, bool> {
        let nodes = self.component.nodes();
        let rises = |s: &usize| self.lower[*s] > self.lower[*s - 1];
        let likely = self.nested_through(work) + 1;
        if likely > nodes {
            return Err(true);
        }
        let mut found = None;
        let mut is_complete = true;
        // Where the best sets of all steps cease to nest a pair is likely, and none is possible before.
        for (first, last) in [(likely, likely), (likely + 1, nodes)] {
            let mut end = last;
            for s in (1..nodes).filter(rises) {
                if s >= end || end < first {
                    break;
                }
                if work.is_over() {
                    is_complete = false;
                    break;
                }
                let met = work.lend(self.share, |work| self.beyond(s, first, end, work));
                let t = met.through;
                if t > s && met.best[t] < self.lower[t] {
                    found = Some(self.pair(s, t, &met));
                    end = t - 1;
                } else {
                    is_complete &= t >= end;
                }
            }
            if found.is_some() {
                break;
            }
        }
        found.ok_or(is_complete)
    }

    /// Up to which step there are sets, one inside the next, that gain `lower` at every step: as far as was seen.
    fn nested_through(&self, work: &mut Work<'_>) -> usize {
        // It tells where to look first, which spares many walks.
        let share = 2 * self.share;
        let lower = self.lower;
        let met = work.lend(share, |work| {
            self.space.explore(Some(lower), None, work, |_, _| false)
        });
        let most = met.best[met.best.len() - 1];
        let most = met
            .states
            .all()
            .fold(most, |most, (_, gain)| most.max(gain));
        lower.partition_point(|&gain| gain <= most) - 1
    }

    /// Walks through all sets up to `s` and on through those that contain one that gains `lower[s]`, until from
    /// `first` on they fall short, or to `end`.
    fn beyond(&self, s: usize, first: usize, end: usize, work: &mut Work<'_>) -> Explored {
        let demand = self.demand(s, end);
        let falls_short =
            |t: usize, gain: u32| t == end || t > s && t >= first && gain < self.lower[t];
        self.space.explore(Some(&demand), None, work, falls_short)
    }

    /// Nothing before `s`, `lower[s]` from there on, and no set of more than `end` nodes.
    fn demand(&self, s: usize, end: usize) -> Vec<u32> {
        (0..self.lower.len())
            .map(|t| match t {
                // Nobody gains that much: larger sets are not walked to.
                _ if t > end => u32::MAX,
                _ if t >= s => self.lower[s],
                _ => 0,
            })
            .collect()
    }

    fn pair(&self, s: usize, t: usize, met: &Explored) -> Found {
        let gain = met.best[s];
        let set = self.set_with(s, gain, met);
        Found {
            steps: [s, t],
            gain,
            set: set.expect("the walk passed through one"),
        }
    }

    /// What a set of nodes gains.
    fn gain(&self, set: &[NodeId]) -> u32 {
        let mut has = vec![false; self.component.nodes()];
        set.iter().for_each(|&v| has[v.index()] = true);
        (self.component.all_rewards())
            .filter(|&r| self.component.needs(r).iter().all(|&v| has[v.index()]))
            .map(|r| self.component.weight(r))
            .sum()
    }

    /// A set of `t` nodes that gains `lower[t]`. Has a budget of its own, a share for each try.
    fn best_set(&self, t: usize, known: &Knowledge, work: &Work<'_>) -> Option<Vec<NodeId>> {
        // The order at hand passes through such a set: nothing need be searched.
        if known.profile[t] >= self.lower[t] {
            return Some(sorted(known.order[..t].to_vec()));
        }
        let demand = self.demand(t, t);
        // A beam finds a best set quickly or not at all; then all sets are walked through.
        [Some(BEAM), None].into_iter().find_map(|beam| {
            let mut work = work.part(self.share);
            if !work.can_afford(growing(self.component, t)) {
                return None;
            }
            let met = (self.space).explore(Some(&demand), beam, &mut work, |size, _| size == t);
            self.set_with(t, self.lower[t], &met)
        })
    }

    /// The smallest state of at most `size` nodes that gains so much, filled up.
    fn set_with(&self, size: usize, gain: u32, met: &Explored) -> Option<Vec<NodeId>> {
        let good = met.states.all().filter(|&(_, gained)| gained >= gain);
        let fits = good.filter(|(bits, _)| count(bits) <= size);
        let (bits, _) = fits.min_by_key(|(bits, _)| count(bits))?;
        Some(self.filled(bits, size))
    }

    /// The nodes of the state and others that can be executed, `size` in all.
    fn filled(&self, bits: &[u64], size: usize) -> Vec<NodeId> {
        let nodes = self.component.all_nodes();
        let mut bits = bits.to_vec();
        let mut missing = size - count(&bits);
        while missing > 0 {
            let is_open = |v| {
                let gate = self.component.gate(v);
                gate.is_none_or(|r| self.component.needs(r).iter().all(|&u| has(&bits, u)))
            };
            let next = nodes.clone().find(|&v| !has(&bits, v) && is_open(v));
            let next = next.expect("some node can always be executed").index();
            bits[next / 64] |= 1 << (next % 64);
            missing -= 1;
        }
        nodes.filter(|&v| has(&bits, v)).collect()
    }
}

fn sorted(mut set: Vec<NodeId>) -> Vec<NodeId> {
    set.sort_unstable();
    set
}

#[cfg(test)]
mod tests {
    use super::super::component::gate_order;
    use super::*;
    use crate::testing::whole;
    use cairn_kernel::Rows;
    use cairn_oracle::{Random, any_dag};
    use proptest::prelude::*;

    /// Any rewards over a few nodes: without an IC-optimal order more often than not.
    fn tangle(nodes: usize, rewards: usize, seed: u64) -> Component {
        let mut random = Random::new(seed);
        let mut all: Vec<NodeId> = (0..nodes).map(NodeId::new).collect();
        let mut needs = Rows::default();
        for _ in 0..rewards {
            random.shuffle(&mut all);
            needs.push(sorted(all[..1 + random.below(nodes.min(4))].to_vec()));
        }
        let weight = (0..rewards).map(|_| 1 + random.below(3) as u32).collect();
        Component::new(needs, weight, vec![None; nodes])
    }

    fn any_components() -> impl Strategy<Value = Vec<Component>> {
        let tangles = (1..9usize, 1..9usize, any::<u64>());
        prop_oneof![
            any_dag(12).prop_map(|dag| whole(&dag)),
            tangles.prop_map(|(nodes, rewards, seed)| vec![tangle(nodes, rewards, seed)]),
        ]
    }

    fn is_in(set: u32, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|v| set >> v.index() & 1 == 1)
    }

    fn gain(component: &Component, set: u32) -> u32 {
        (component.all_rewards())
            .filter(|&r| is_in(set, component.needs(r)))
            .map(|r| component.weight(r))
            .sum()
    }

    /// By size: all sets that can be executed, with what they gain.
    fn sets(component: &Component) -> Vec<Vec<(u32, u32)>> {
        let n = component.nodes();
        let can = |set: u32| {
            let executed = component.all_nodes().filter(|&v| is_in(set, &[v]));
            let mut gates = executed.filter_map(|v| component.gate(v));
            gates.all(|gate| is_in(set, component.needs(gate)))
        };
        let mut sets = vec![Vec::new(); n + 1];
        for set in (0..1u32 << n).filter(|&s| can(s)) {
            sets[set.count_ones() as usize].push((set, gain(component, set)));
        }
        sets
    }

    /// Whether some set of `s` nodes that gains so much lies in one of `t` nodes that gains so much.
    fn nest(sets: &[Vec<(u32, u32)>], [s, t]: [usize; 2], gains: [u32; 2]) -> bool {
        let good = |t: usize, gain: u32| sets[t].iter().filter(move |e| e.1 >= gain).map(|e| e.0);
        good(s, gains[0]).any(|a| good(t, gains[1]).any(|b| a & !b == 0))
    }

    /// What is claimed of a pair holds.
    fn check(pair: &Pair, sets: &[Vec<(u32, u32)>], best: &[u32]) -> Result<(), TestCaseError> {
        let mask = |set: &[TaskId]| set.iter().map(|v| 1u32 << v.0).sum::<u32>();
        let [s, t] = pair.steps;
        prop_assert!(s < t);
        prop_assert_eq!(pair.gains[0], best[s]);
        prop_assert!(pair.gains[1] <= best[t]);
        prop_assert!(sets[s].contains(&(mask(&pair.smaller), pair.gains[0])));
        if let Some(larger) = &pair.larger {
            prop_assert!(sets[t].contains(&(mask(larger), pair.gains[1])));
        }
        prop_assert!(!nest(sets, pair.steps, pair.gains));
        Ok(())
    }

    fn names(component: &Component) -> Vec<TaskId> {
        (0..component.nodes()).map(TaskId::new).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2500))]

        /// A pair is found if and only if there is one: the one with the smallest t, then the smallest s.
        #[test]
        fn pairs_agree_with_brute_force(components in any_components()) {
            for component in components {
                let sets = sets(&component);
                let most = |sets: &Vec<(u32, u32)>| sets.iter().map(|e| e.1).max().unwrap();
                let best: Vec<u32> = sets.iter().map(most).collect();
                let mut known = Knowledge::new(&component, best.clone(), gate_order(&component));
                known.lower = best.clone();
                let never = || false;
                let said = look(&component, &names(&component), &known, &mut Work::new(1 << 40, &never));
                let all = (1..best.len()).flat_map(|t| (0..t).map(move |s| [s, t]));
                let mut all = all.filter(|&[s, t]| !nest(&sets, [s, t], [best[s], best[t]]));
                match (said, all.next()) {
                    (Conflict::NoPair, None) => {}
                    (Conflict::Pair(pair), Some(steps)) => {
                        prop_assert_eq!(pair.steps, steps);
                        prop_assert_eq!(pair.gains[1], best[steps[1]]);
                        prop_assert!(pair.larger.is_some());
                        check(&pair, &sets, &best)?;
                    }
                    (said, truth) => prop_assert!(false, "{:?}, but {:?}", said, truth),
                }
            }
        }

        /// With little known and few steps: any answer but a wrong one.
        #[test]
        fn what_is_found_in_few_steps_holds(components in any_components(), steps in 0u64..20_000, seed in any::<u64>()) {
            let mut random = Random::new(seed);
            for component in components {
                let sets = sets(&component);
                let most = |sets: &Vec<(u32, u32)>| sets.iter().map(|e| e.1).max().unwrap();
                let best: Vec<u32> = sets.iter().map(most).collect();
                let mut known = Knowledge::new(&component, best.clone(), gate_order(&component));
                // A little less than the best, for sets that exist.
                let fair = |t: usize| if random.below(4) == 0 { known.profile[t] } else { best[t] };
                let mut lower: Vec<u32> = (0..best.len()).map(fair).collect();
                (1..lower.len()).for_each(|t| lower[t] = lower[t].max(lower[t - 1]));
                known.lower = lower;
                let never = || false;
                match look(&component, &names(&component), &known, &mut Work::new(steps, &never)) {
                    Conflict::Pair(pair) => check(&pair, &sets, &best)?,
                    Conflict::NoPair => prop_assert!(known.is_exact()),
                    Conflict::Unknown => {}
                }
            }
        }
    }

    /// A fork of two beside a pair that gains five together.
    #[test]
    fn a_fork_beside_a_pair() {
        let [a, b, c] = [0, 1, 2].map(NodeId::new);
        let mut needs = Rows::default();
        needs.push([a]);
        needs.push([b, c]);
        let component = Component::new(needs, vec![2, 5], vec![None; 3]);
        let mut known = Knowledge::new(&component, vec![0, 2, 5, 7], vec![a, b, c]);
        known.lower = known.upper.clone();
        let never = || false;
        let said = look(
            &component,
            &names(&component),
            &known,
            &mut Work::new(10_000, &never),
        );
        let pair = Pair {
            steps: [1, 2],
            gains: [2, 5],
            smaller: vec![TaskId(0)],
            larger: Some(vec![TaskId(1), TaskId(2)]),
        };
        assert_eq!(said, Conflict::Pair(pair));
        let said = look(
            &component,
            &names(&component),
            &known,
            &mut Work::new(0, &never),
        );
        assert_eq!(said, Conflict::Unknown);
    }
}
