//! The sets worth executing in one part: what rewards ask for, and unions of that. Knows nothing of the rest of the dag.
//!
//! The *closure* of a reward is all that must be executed to gain it. Take any ideal and leave out what none of its
//! rewards asks for: a union of closures is left, with the same gain and no more tasks. And any such union can be filled
//! up to an ideal of every larger size. So the most that t tasks gain is the most that a union of at most t tasks gains;
//! and there are far fewer unions than ideals.

use crate::parts::Part;
use crate::width::{long, narrow, wide};
use crate::work::Work;
use hashbrown::HashSet;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

type Bits = Box<[u64]>;

/// A part with the closures of its rewards, as bit sets.
pub(crate) struct Closures {
    tasks: usize,
    /// Each closure once, with the number of rewards that have it.
    closures: Vec<(Bits, u64)>,
}

impl Closures {
    /// Tasks of a part come after those they wait for.
    pub(crate) fn new(part: &Part, work: &mut Work) -> Option<Closures> {
        let tasks = part.before.len();
        let words = tasks.div_ceil(64);
        work.take(long((tasks + part.rewards.len()) * words))?;
        let unite = |behind: &[Bits], list: &[u32]| {
            let mut set: Bits = vec![0; words].into();
            for &v in list {
                set[wide(v) / 64] |= 1 << (v % 64);
                let more = behind[wide(v)].iter();
                set.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
            }
            set
        };
        let mut behind: Vec<Bits> = Vec::with_capacity(tasks);
        for list in &part.before {
            behind.push(unite(&behind, list));
        }
        // Sorted, so that the order of closures, and with it the steps spent, are the same in every run.
        let mut count: BTreeMap<Bits, u64> = BTreeMap::new();
        for reward in &part.rewards {
            *count.entry(unite(&behind, reward)).or_default() += 1;
        }
        Some(Closures {
            tasks,
            closures: count.into_iter().collect(),
        })
    }

    fn gain(&self, set: &[u64]) -> u64 {
        let gained = self.closures.iter().filter(|(c, _)| contains(set, c));
        gained.map(|(_, count)| count).sum()
    }

    /// What looking at one union costs: most of it goes into keeping the next ones.
    // For each closure a set of so many words is made, compared and looked up: about ten steps a word, and 80 for room and hash.
    // Estimated: the budget bounds time, and tells nothing else.
    fn price(&self) -> u64 {
        long(self.closures.len() * (self.tasks.div_ceil(64) * 10 + 80))
    }

    /// Each union of this one and one more closure.
    fn next<'a>(&'a self, set: &'a Bits) -> impl Iterator<Item = (usize, Bits)> + 'a {
        let more = self.closures.iter().filter(|(c, _)| !contains(set, c));
        more.map(|(closure, _)| {
            let both: Bits = set.iter().zip(closure).map(|(a, b)| a | b).collect();
            (size(&both), both)
        })
    }

    /// How many closures there are, at the least and counted up to `most`, of which each has a task that none of the
    /// others has: another union comes out each time some of them are united.
    fn apart(&self, most: u32) -> u32 {
        let mut by_size: Vec<&Bits> = self.closures.iter().map(|(c, _)| c).collect();
        // Small ones first: they take fewer tasks away from the others.
        by_size.sort_by_key(|c| size(c));
        let mut taken: Vec<&Bits> = Vec::new();
        // Tasks in one of those taken, and in at least one.
        let mut once = vec![0u64; self.tasks.div_ceil(64)];
        let mut any = once.clone();
        for closure in by_size {
            let words = once.iter().zip(&any).zip(closure);
            let alone: Vec<u64> = words.map(|((o, a), c)| o & !c | c & !a).collect();
            let has_own = |c: &&Bits| c.iter().zip(&alone).any(|(a, b)| a & b != 0);
            if taken.iter().chain([&closure]).all(has_own) {
                once = alone;
                any.iter_mut().zip(closure).for_each(|(a, c)| *a |= c);
                taken.push(closure);
            }
            if narrow(taken.len()) >= most {
                break;
            }
        }
        narrow(taken.len())
    }

    /// The most that `t` tasks can gain, from all unions; `None` if there are too many.
    pub(crate) fn profile(&self, work: &mut Work) -> Option<Vec<u64>> {
        // What could not finish is not begun: 2^apart unions are too many.
        let unions = work.0 / self.price().max(1);
        let too_many = unions.checked_ilog2().map_or(0, |log| log + 1);
        // Each closure is a union, and any some of those apart are different ones.
        if unions < long(self.closures.len()) || self.apart(too_many) >= too_many {
            return None;
        }
        let mut best = vec![0; self.tasks + 1];
        self.walk(work, |size, gain| {
            best[size] = best[size].max(gain);
            ControlFlow::Continue(self.tasks)
        })?;
        for t in 1..best.len() {
            best[t] = best[t].max(best[t - 1]);
        }
        Some(best)
    }

    /// Whether one order gains at least `least[t]` with its first t tasks, for all t; `None` if that is too much to find
    /// out. With the true profile for `least`: whether the part admits an IC-optimal order. With less than that, `false`
    /// says that it admits none.
    ///
    /// Of such an order look at the unions of what is gained after each step. Each holds the one before, and gains enough
    /// until the next is complete. If the next is larger by several closures, one of them alone will do for a first step:
    /// it gains no less than nothing. So all of them are found by adding closures one by one, each in time.
    pub(crate) fn reaches(&self, least: &[u64], work: &mut Work) -> Option<bool> {
        self.walk(work, |size, gain| {
            // At its own size, if it gains less than it should there: then no order passes here.
            let in_time = (size..=self.tasks).find(|&t| least[t] > gain);
            in_time.map_or(ControlFlow::Break(()), ControlFlow::Continue)
        })
    }

    /// Meets unions of closures, each once and the smallest first. `visit` is told the size and the gain of each, and says up to
    /// which size to go on from there, or breaks off. Whether it did; `None` if that is too much.
    fn walk(
        &self,
        work: &mut Work,
        mut visit: impl FnMut(usize, u64) -> ControlFlow<(), usize>,
    ) -> Option<bool> {
        let mut by_size: BTreeMap<usize, HashSet<Bits>> = start(self.tasks);
        // Unions only grow, so a size is complete when its turn comes, and can be thrown away after.
        while let Some((size, sets)) = by_size.pop_first() {
            for set in &sets {
                work.take(self.price())?;
                let ControlFlow::Continue(most) = visit(size, self.gain(set)) else {
                    return Some(true);
                };
                if most > size {
                    for (size, larger) in self.next(set).filter(|next| next.0 <= most) {
                        by_size.entry(size).or_default().insert(larger);
                    }
                }
            }
        }
        Some(false)
    }
}

fn start(tasks: usize) -> BTreeMap<usize, HashSet<Bits>> {
    let empty: Bits = vec![0; tasks.div_ceil(64)].into();
    BTreeMap::from([(0, HashSet::from([empty]))])
}

fn contains(set: &[u64], other: &[u64]) -> bool {
    set.iter().zip(other).all(|(a, b)| b & !a == 0)
}

fn size(set: &[u64]) -> usize {
    set.iter().map(|w| wide(w.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::parts;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// No more unions are promised than there are.
        #[test]
        fn closures_apart_give_different_unions(dag in any_dag(11), ordered: bool, most in 1u32..12) {
            for placed in parts(&dag, &vec![0; dag.len()], ordered) {
                let closures = Closures::new(&placed.part, &mut Work(u64::MAX)).unwrap();
                let mut unions: HashSet<Bits> = start(closures.tasks).remove(&0).unwrap();
                for (closure, _) in &closures.closures {
                    let with = |set: &Bits| set.iter().zip(closure).map(|(a, b)| a | b).collect();
                    let more: Vec<Bits> = unions.iter().map(with).collect();
                    unions.extend(more);
                }
                prop_assert!(closures.apart(most) <= most);
                prop_assert!(1 << closures.apart(most) <= unions.len());
                prop_assert!(closures.apart(most) > 0 || closures.closures.is_empty());
            }
        }
    }
}
