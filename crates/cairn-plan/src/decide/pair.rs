//! Finds two steps of a component whose best sets cannot be nested. Knows nothing of the rest of the dag.

use super::component::{Component, NONE};
use super::knowledge::Knowledge;
use super::macro_states::{Explored, Space, count};
use super::verdict::{Conflict, Pair};
use crate::work::Work;
use cairn_dag::TaskId;

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
    let mut search = Search {
        component,
        space,
        lower: &known.lower,
        share: steps / SHARES,
    };
    match search.find(work) {
        Err(true) if known.is_exact() => Conflict::NoPair,
        Err(_) => Conflict::Unknown,
        Ok((pair, smaller)) => {
            let named = |set: Vec<u32>| set.iter().map(|&v| tasks[v as usize]).collect();
            let larger = search.best_set(pair.steps[1], known, &mut work.part(search.share));
            Conflict::Pair(Pair {
                smaller: named(smaller),
                larger: larger.map(named),
                ..pair
            })
        }
    }
}

/// No walk may cost more than this part of the budget.
const SHARES: u64 = 8;

/// Width of the beam that looks for one best set.
const BEAM: usize = 150;

struct Search<'a> {
    component: &'a Component,
    space: Space<'a>,
    lower: &'a [u32],
    share: u64,
}

impl Search<'_> {
    /// The pair and a best set for the smaller step. `Err` tells whether all pairs were looked at.
    fn find(&mut self, work: &mut Work<'_>) -> Result<(Pair, Vec<u32>), bool> {
        let nodes = self.component.nodes();
        let rises = |s: &usize| self.lower[*s] > self.lower[*s - 1];
        let likely = self.nested_through(work) + 1;
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
                if t > s && t <= nodes && met.best[t] < self.lower[t] {
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
                _ if t > end => u32::MAX,
                _ if t >= s => self.lower[s],
                _ => 0,
            })
            .collect()
    }

    fn pair(&self, s: usize, t: usize, met: &Explored) -> (Pair, Vec<u32>) {
        let pair = Pair {
            steps: [s, t],
            gains: [met.best[s], self.lower[t]],
            smaller: Vec::new(),
            larger: None,
        };
        let set = self.set_with(s, met.best[s], met);
        (pair, set.expect("the walk passed through one"))
    }

    /// A set of `t` nodes that gains `lower[t]`.
    fn best_set(&self, t: usize, known: &Knowledge, work: &mut Work<'_>) -> Option<Vec<u32>> {
        if known.profile[t] == self.lower[t] {
            return Some(sorted(known.order[..t].to_vec()));
        }
        let demand = self.demand(t, t);
        [Some(BEAM), None].into_iter().find_map(|beam| {
            let mut work = work.part(self.share);
            if !work.can_afford(self.space.growing(t)) {
                return None;
            }
            let met = (self.space).explore(Some(&demand), beam, &mut work, |size, _| size == t);
            self.set_with(t, self.lower[t], &met)
        })
    }

    /// The smallest state of at most `size` nodes that gains so much, filled up.
    fn set_with(&self, size: usize, gain: u32, met: &Explored) -> Option<Vec<u32>> {
        let good = met.states.all().filter(|&(_, gained)| gained >= gain);
        let fits = good.filter(|(bits, _)| count(bits) <= size);
        let (bits, _) = fits.min_by_key(|(bits, _)| count(bits))?;
        Some(self.filled(bits, size))
    }

    /// The nodes of the state and others that can be executed, `size` in all.
    fn filled(&self, bits: &[u64], size: usize) -> Vec<u32> {
        let nodes = self.component.nodes() as u32;
        let mut bits = bits.to_vec();
        let has = |bits: &[u64], v: u32| bits[v as usize / 64] >> (v % 64) & 1 == 1;
        let mut missing = size - count(&bits);
        while missing > 0 {
            let is_open = |bits: &[u64], v: u32| match self.component.gate(v) {
                NONE => true,
                gate => self.component.needs(gate).iter().all(|&u| has(bits, u)),
            };
            let next = (0..nodes).find(|&v| !has(&bits, v) && is_open(&bits, v));
            let next = next.expect("some node can always be executed");
            bits[next as usize / 64] |= 1 << (next % 64);
            missing -= 1;
        }
        (0..nodes).filter(|&v| has(&bits, v)).collect()
    }
}

fn sorted(mut set: Vec<u32>) -> Vec<u32> {
    set.sort_unstable();
    set
}
