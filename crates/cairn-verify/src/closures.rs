//! The sets worth executing in one part: what rewards ask for, and unions of that. Knows nothing of the rest of the dag.
//!
//! The *closure* of a reward is all that must be executed to gain it. Take any ideal and leave out what none of its
//! rewards asks for: a union of closures is left, with the same gain and no more tasks. And any such union can be filled
//! up to an ideal of every larger size. So the most that t tasks gain is the most that a union of at most t tasks gains;
//! and there are far fewer unions than ideals.

use crate::parts::{Effort, Part};
use hashbrown::HashSet;
use std::collections::BTreeMap;

type Bits = Box<[u64]>;

/// A part with the closures of its rewards, as bit sets.
pub(crate) struct Closures {
    tasks: usize,
    /// Each closure once, with the number of rewards that have it.
    closures: Vec<(Bits, u64)>,
}

impl Closures {
    /// Tasks of a part come after those they wait for.
    pub(crate) fn new(part: &Part, effort: &mut Effort) -> Option<Closures> {
        let tasks = part.before.len();
        let words = tasks.div_ceil(64);
        if !effort.spend(((tasks + part.rewards.len()) * words) as u64) {
            return None;
        }
        let unite = |behind: &[Bits], list: &[u32]| {
            let mut set: Bits = vec![0; words].into();
            for &v in list {
                set[v as usize / 64] |= 1 << (v % 64);
                let more = behind[v as usize].iter();
                set.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
            }
            set
        };
        let mut behind: Vec<Bits> = Vec::with_capacity(tasks);
        for list in &part.before {
            behind.push(unite(&behind, list));
        }
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
    fn price(&self) -> u64 {
        (self.closures.len() * (self.tasks.div_ceil(64) * 10 + 80)) as u64
    }

    /// Each union of this one and one more closure.
    fn next<'a>(&'a self, set: &'a Bits) -> impl Iterator<Item = (usize, Bits)> + 'a {
        let more = self.closures.iter().filter(|(c, _)| !contains(set, c));
        more.map(|(closure, _)| {
            let both: Bits = set.iter().zip(closure).map(|(a, b)| a | b).collect();
            (size(&both), both)
        })
    }

    /// The most that `t` tasks can gain, from all unions; `None` if there are too many.
    pub(crate) fn profile(&self, effort: &mut Effort) -> Option<Vec<u64>> {
        let mut best = vec![0; self.tasks + 1];
        let mut by_size: BTreeMap<usize, HashSet<Bits>> = start(self.tasks);
        while let Some((size, sets)) = by_size.pop_first() {
            for set in &sets {
                if !effort.spend(self.price()) {
                    return None;
                }
                best[size] = best[size].max(self.gain(set));
                for (size, larger) in self.next(set) {
                    by_size.entry(size).or_default().insert(larger);
                }
            }
        }
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
    pub(crate) fn reaches(&self, least: &[u64], effort: &mut Effort) -> Option<bool> {
        let mut by_size: BTreeMap<usize, HashSet<Bits>> = start(self.tasks);
        while let Some((size, sets)) = by_size.pop_first() {
            for set in &sets {
                if !effort.spend(self.price()) {
                    return None;
                }
                let gain = self.gain(set);
                let in_time = (size..=self.tasks).find(|&t| least[t] > gain);
                let Some(in_time) = in_time else {
                    return Some(true);
                };
                if in_time == size {
                    continue;
                }
                for (size, larger) in self.next(set).filter(|next| next.0 <= in_time) {
                    by_size.entry(size).or_default().insert(larger);
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
    set.iter().map(|w| w.count_ones() as usize).sum()
}
