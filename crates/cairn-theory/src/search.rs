//! Exact search over the sets of sources of a small block of any shape. Knows no catalogue: try that first.
//!
//! The best value at every step is reached by unions of *closures* (all parents of one sink) plus filler: a partly
//! executed set of parents gains nothing. So sets of sources are formed as unions of closures only, each once
//! ("close by one", Kuznetsov 1993: a union is skipped unless the sinks it makes eligible come in a canonical order).
//! Sources with equal children and sinks with equal parents count as one with a weight. A branch is cut when a
//! fractional bound shows that it can improve the profile nowhere: each source shares its size among the sinks that
//! still want it, so that sinks cost at least their shares.

use crate::budgets::search::{MOST_CLASSES, MOST_SOURCES};
use crate::eager::eager_order;
use crate::{Bipartite, BlockAnswer};
use cairn_kernel::{Stopped, Work, narrow, wide};
use std::collections::{BTreeMap, HashSet};

/// The optimal profile of any bipartite dag and an IC-optimal order of its sources, or the proof that there is none,
/// within `work`, a step for each state: a set of sources formed. Exponential in the worst case; the answer depends on
/// the block and the number of steps alone, unless it is time to stop. `None` where the work did not suffice: then
/// nothing is known. Already the profile is NP-hard (\[MR05\], Theorem 3.1).
///
/// Having the profile E, an order is a chain of unions of closures U ⊂ U′ = U ∪ closure with
/// eligible(U) = E(|U′| − 1) and eligible(U′) = E(|U′|): if there is any IC-optimal order, there is one of this form.
///
/// ```
/// use cairn_theory::{Bipartite, BlockOrder, Work, search};
/// // One source with two children, and two that share three: E = 0, 2, 3, 5, but the best pair leaves out the first.
/// let arcs = vec![(0, 0), (0, 1), (1, 2), (2, 2), (1, 3), (2, 3), (1, 4), (2, 4)];
/// let block = Bipartite::from_arcs(3, 5, arcs);
/// let answer = search::solve(&block, &mut Work::steps(1000)).unwrap();
/// assert_eq!((answer.profile, answer.order), (vec![0, 2, 3, 5], BlockOrder::NoneExists));
/// ```
pub fn solve(block: &Bipartite, work: &mut Work<'_>) -> Option<BlockAnswer> {
    if block.sources() > MOST_SOURCES {
        return None;
    }
    let classes = Classes::new(block);
    if classes.size.len() > MOST_CLASSES || classes.sinks.len() > MOST_CLASSES {
        return None;
    }
    let mut search = Search {
        // A good profile to begin with cuts most branches before they are formed.
        profile: block.profile(&eager_order(block)),
        classes: &classes,
        work,
    };
    let found = search.enumerate().and_then(|()| search.chain());
    Some(BlockAnswer {
        order: found.ok()?.into(),
        profile: search.profile,
    })
}

/// A set of classes of sources, or of sinks, as bits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Set(Vec<u64>);

impl Set {
    fn empty(bits: usize) -> Set {
        Set(vec![0; bits.div_ceil(64)])
    }

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn contains(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn includes(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }

    fn union(&self, other: &Set) -> Set {
        Set(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }
}

/// The block with equal sources and equal sinks merged.
struct Classes {
    /// The sources of each class, and how many; sources without children are in none.
    members: Vec<Vec<u32>>,
    size: Vec<u32>,
    sinks: Vec<SinkClass>,
    /// Sinks without parents: eligible from the start.
    free: u32,
    idle: Vec<u32>,
}

struct SinkClass {
    weight: u32,
    parents: Vec<usize>,
    closure: Set,
}

impl Classes {
    fn new(block: &Bipartite) -> Classes {
        // Sorted maps: classes are numbered the same way in every run, and with them the states that fit the budget.
        let mut by_children: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
        for u in 0..narrow(block.sources()) {
            by_children.entry(block.children(u)).or_default().push(u);
        }
        let idle = by_children.remove(&[][..]).unwrap_or_default();
        let members: Vec<Vec<u32>> = by_children.into_values().collect();
        // Idle sources have none; nor is one asked for, as they are nobody's parents.
        let mut class = vec![0; block.sources()];
        for (i, sources) in members.iter().enumerate() {
            sources.iter().for_each(|&u| class[wide(u)] = i);
        }
        let mut by_parents: BTreeMap<&[u32], u32> = BTreeMap::new();
        for v in 0..narrow(block.sinks()) {
            *by_parents.entry(block.parents(v)).or_default() += 1;
        }
        let free = by_parents.remove(&[][..]).unwrap_or(0);
        let sinks = by_parents.into_iter().map(|(row, weight)| {
            let mut parents: Vec<usize> = row.iter().map(|&u| class[wide(u)]).collect();
            parents.sort_unstable();
            parents.dedup();
            let mut closure = Set::empty(members.len());
            parents.iter().for_each(|&p| closure.insert(p));
            SinkClass {
                weight,
                parents,
                closure,
            }
        });
        Classes {
            sinks: sinks.collect(),
            size: members.iter().map(|m| narrow(m.len())).collect(),
            members,
            free,
            idle,
        }
    }
}

/// A union of closures and what it makes eligible.
#[derive(Clone)]
struct State {
    sources: Set,
    /// Number of sources, twins counted.
    size: u32,
    sinks: Set,
    eligible: u32,
}

struct Search<'a, 'w> {
    classes: &'a Classes,
    /// The best known value for each number of sources; never falls.
    profile: Vec<u32>,
    work: &'a mut Work<'w>,
}

impl Search<'_, '_> {
    fn nothing(&self) -> State {
        State {
            sources: Set::empty(self.classes.size.len()),
            size: 0,
            sinks: Set::empty(self.classes.sinks.len()),
            eligible: self.classes.free,
        }
    }

    /// `state` with the closure of one more sink.
    fn with(&mut self, state: &State, sink: usize) -> Result<State, Stopped> {
        self.work.pay(1)?;
        let added = &self.classes.sinks[sink];
        let new = (added.parents.iter()).filter(|&&p| !state.sources.contains(p));
        let mut next = State {
            sources: state.sources.union(&added.closure),
            size: state.size + new.map(|&p| self.classes.size[p]).sum::<u32>(),
            ..state.clone()
        };
        for (i, class) in self.classes.sinks.iter().enumerate() {
            if !next.sinks.contains(i) && next.sources.includes(&class.closure) {
                next.sinks.insert(i);
                next.eligible += class.weight;
            }
        }
        Ok(next)
    }

    /// Raises the profile to the optimum.
    fn enumerate(&mut self) -> Result<(), Stopped> {
        // Depth first: memory for one path and the siblings along it.
        let mut stack = vec![(self.nothing(), 0)];
        while let Some((state, from)) = stack.pop() {
            if !self.promising(&state, from) {
                continue;
            }
            for sink in from..self.classes.sinks.len() {
                if state.sinks.contains(sink) {
                    continue;
                }
                let next = self.with(&state, sink)?;
                // Only if no sink before this one became eligible: otherwise the union is formed elsewhere.
                let canonical =
                    (0..sink).all(|i| next.sinks.contains(i) == state.sinks.contains(i));
                if canonical {
                    self.raise(&next);
                    stack.push((next, sink + 1));
                }
            }
        }
        Ok(())
    }

    fn raise(&mut self, state: &State) {
        for best in &mut self.profile[wide(state.size)..] {
            // The profile never falls, so all beyond are as large.
            if *best >= state.eligible {
                break;
            }
            *best = state.eligible;
        }
    }

    /// Whether adding sinks from `from` on might improve the profile somewhere.
    fn promising(&self, state: &State, from: usize) -> bool {
        // With at most 2¹⁶ sources a purse takes 40 bits; a share times the weight of its sink is no more, as demand
        // counts that weight.
        const UNIT: u64 = 1 << 24;
        let wanted = (from..self.classes.sinks.len()).filter(|&i| !state.sinks.contains(i));
        let wanted: Vec<&SinkClass> = wanted.map(|i| &self.classes.sinks[i]).collect();
        let mut demand = vec![0u64; self.classes.size.len()];
        for sink in &wanted {
            for &p in &sink.parents {
                demand[p] += u64::from(sink.weight);
            }
        }
        // What a sink costs at least, rounded down: its share of each source it still needs.
        let share = |&p: &usize| match state.sources.contains(p) {
            true => 0,
            false => u64::from(self.classes.size[p]) * UNIT / demand[p],
        };
        let mut offers: Vec<(u64, u32)> = (wanted.iter())
            .map(|sink| (sink.parents.iter().map(share).sum(), sink.weight))
            .collect();
        offers.sort_unstable();
        // Buy the cheapest first, fractions allowed: an upper bound for every number of sources.
        let mut offers = offers.into_iter();
        let mut offer = offers.next();
        let mut bought = u64::from(state.eligible);
        let mut purse = 0;
        for &best in &self.profile[wide(state.size)..] {
            while let Some((cost, weight)) = offer {
                let whole = cost * u64::from(weight);
                if whole > purse {
                    break;
                }
                purse -= whole;
                bought += u64::from(weight);
                offer = offers.next();
            }
            let part = match offer {
                // Never by zero: what costs nothing has been bought.
                Some((cost, _)) => purse / cost,
                None => 0,
            };
            if bought + part > u64::from(best) {
                return true;
            }
            purse += UNIT;
        }
        false
    }

    /// An order through optimal unions of closures; `None` if there is no such chain.
    fn chain(&mut self) -> Result<Option<Vec<u32>>, Stopped> {
        // The walk may come to one union by many ways; the sources tell it, what is eligible follows from them.
        let mut seen = HashSet::new();
        // Each state with the number of the one it came from.
        let mut states: Vec<(State, usize)> = vec![(self.nothing(), 0)];
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let state = states[number].0.clone();
            // All sinks, so all sources that have children: only idle ones are left.
            if state.eligible == self.profile[self.profile.len() - 1] {
                return Ok(Some(self.order(&states, number)));
            }
            for sink in 0..self.classes.sinks.len() {
                if state.sinks.contains(sink) {
                    continue;
                }
                let next = self.with(&state, sink)?;
                let size = wide(next.size);
                let optimal = next.eligible == self.profile[size];
                if optimal
                    // Until the last source of the closure nothing more becomes eligible, so what there is must be the
                    // best even then.
                    && state.eligible == self.profile[size - 1]
                    && seen.insert(next.sources.clone())
                {
                    open.push(states.len());
                    states.push((next, number));
                }
            }
        }
        Ok(None)
    }

    fn order(&self, states: &[(State, usize)], mut number: usize) -> Vec<u32> {
        let mut path = vec![number];
        while number != 0 {
            number = states[number].1;
            path.push(number);
        }
        let mut order = Vec::new();
        for pair in path.windows(2).rev() {
            let [after, before] = [&states[pair[0]].0.sources, &states[pair[1]].0.sources];
            let new =
                (0..self.classes.size.len()).filter(|&i| after.contains(i) && !before.contains(i));
            order.extend(new.flat_map(|i| &self.classes.members[i]));
        }
        order.extend(&self.classes.idle);
        order
    }
}
