//! Finds two steps of a sum of independent parts whose best splits cannot be nested. Knows only profiles.

use super::refusal::{Conflict, Pair};
use cairn_dag::TaskId;
use cairn_kernel::{Price, Work, convolve, long};

/// A part that admits an IC-optimal order.
pub(super) struct Summand<'a> {
    /// The most that so many of its tasks gain.
    pub(super) profile: &'a [u32],
    /// Its tasks in an order that gains the most at every step.
    pub(super) order: Vec<TaskId>,
}

/// Looks for two numbers of tasks s < t such that no best way to split s among the parts lies below a best way to
/// split t, part by part. Then no best set of s tasks lies in one of t tasks, because what a best set has of a part is
/// a best set of the part. `first`: up to there, without it, best splits nest step by step. Of several pairs the
/// one with the smallest t, then the smallest s.
///
/// Splits of prefixes and suffixes of the parts by convolution, O(parts·t·largest part); then for each pair a walk
/// through the parts over the pairs of counts that can still become best at both.
pub(super) fn look(parts: &[Summand<'_>], first: usize, work: &mut Work<'_>) -> Conflict {
    if work.is_over() {
        return Conflict::Unknown;
    }
    let all: usize = parts.iter().map(|p| p.order.len()).sum();
    let mut begin = first;
    // Pairs are mostly near the first step that fails; tables grow only when there is none.
    // Not 0, so that it grows below: of no tasks there is but one split, which cannot fall short.
    let mut end = (2 * first).min(all);
    loop {
        let Some(splits) = Splits::new(parts, end, work) else {
            return Conflict::Unknown;
        };
        // Where the best does not rise, a best set with any task more is best: such a step conflicts with nothing new.
        for t in (begin..=end).filter(|&t| splits.rises(t)) {
            for s in (1..t).filter(|&s| splits.rises(s)) {
                match splits.nest(s, t, work) {
                    None => return Conflict::Unknown,
                    Some(true) => {}
                    Some(false) => return Conflict::Pair(splits.pair(s, t)),
                }
            }
        }
        if end == all {
            return Conflict::NoPair;
        }
        // By fours: tables are made anew for each range, and those of all before cost a small part of the last. A judgement.
        (begin, end) = (end + 1, (4 * end).min(all));
    }
}

/// The best sums of prefixes and suffixes of the parts, up to some number of tasks.
struct Splits<'a> {
    parts: &'a [Summand<'a>],
    /// By number of parts: the most that so many tasks of the first of them gain.
    before: Vec<Vec<u32>>,
    /// By number of parts: the most that so many tasks of those after them gain.
    after: Vec<Vec<u32>>,
}

impl<'a> Splits<'a> {
    fn new(parts: &'a [Summand<'a>], end: usize, work: &mut Work<'_>) -> Option<Splits<'a>> {
        let mut before = vec![vec![0]];
        for part in parts {
            before.push(joined(&before[before.len() - 1], part.profile, end, work)?);
        }
        let mut after = vec![vec![0]];
        for part in parts.iter().rev() {
            after.push(joined(&after[after.len() - 1], part.profile, end, work)?);
        }
        after.reverse();
        Some(Splits {
            parts,
            before,
            after,
        })
    }

    /// The most that `t` tasks gain.
    fn best(&self, t: usize) -> u32 {
        self.after[0][t]
    }

    fn rises(&self, t: usize) -> bool {
        t > 0 && self.best(t) > self.best(t - 1)
    }

    /// How many of part `i` a best split of `t` can have after `taken` of the parts before it. Reports each.
    fn choices(&self, i: usize, taken: usize, t: usize, mut report: impl FnMut(usize)) {
        // A best split is best in every prefix and every suffix, or else it could be bettered there.
        let gained = self.before[i][taken];
        let rest = &self.after[i + 1];
        for (k, &gain) in self.parts[i].profile.iter().enumerate() {
            let Some(left) = t.checked_sub(taken + k) else {
                break;
            };
            if rest
                .get(left)
                .is_some_and(|&r| gained + gain + r == self.best(t))
            {
                report(k);
            }
        }
    }

    /// Whether some best split of `s` lies below a best split of `t`; `None` when the budget runs out.
    fn nest(&self, s: usize, t: usize, work: &mut Work<'_>) -> Option<bool> {
        let mut states = vec![(0, 0)];
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (i, part) in self.parts.iter().enumerate() {
            let mut next = Vec::new();
            for &(a, b) in &states {
                low.clear();
                high.clear();
                self.choices(i, a, s, |k| low.push(k));
                self.choices(i, b, t, |k| high.push(k));
                for &k in &low {
                    let above = high.iter().filter(|&&h| h >= k);
                    next.extend(above.map(|&h| (a + k, b + h)));
                }
            }
            // Ways that agree in both counts are one: without this states would multiply part by part.
            next.sort_unstable();
            next.dedup();
            let cost = states.len() * 2 * part.profile.len() + next.len();
            work.take(1 + long(cost))?;
            states = next;
        }
        Some(!states.is_empty())
    }

    fn pair(&self, s: usize, t: usize) -> Pair {
        Pair {
            steps: [s, t],
            gains: [self.best(s), self.best(t)],
            smaller: self.set(s),
            larger: Some(self.set(t)),
        }
    }

    /// The tasks of one best split.
    fn set(&self, t: usize) -> Vec<TaskId> {
        let mut set = Vec::with_capacity(t);
        for (i, part) in self.parts.iter().enumerate() {
            let mut most = 0;
            // Any choice will do, as each leads on to a best split; this is the last reported.
            self.choices(i, set.len(), t, |k| most = k);
            set.extend(&part.order[..most]);
        }
        set
    }
}

/// (max,+) convolution up to `end`.
fn joined(a: &[u32], b: &[u32], end: usize, work: &mut Work<'_>) -> Option<Vec<u32>> {
    // For the list itself, however short.
    work.take(1)?;
    // The sums of all prefixes and suffixes are kept: steps must bound the room, too.
    convolve(a, b, Some(end), Price::Entries, work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0u32..4, 1..5).prop_map(|rises| {
            let mut profile = vec![0];
            for rise in rises {
                profile.push(profile[profile.len() - 1] + rise);
            }
            profile
        })
    }

    /// All ways to take tasks of each part.
    fn all_splits(profiles: &[Vec<u32>]) -> Vec<(Vec<usize>, u32)> {
        profiles.iter().fold(vec![(Vec::new(), 0)], |splits, p| {
            let more = |(split, gain): &(Vec<usize>, u32)| {
                let (split, gain) = (split.clone(), *gain);
                let with = move |(k, g): (usize, &u32)| {
                    let mut split = split.clone();
                    split.push(k);
                    (split, gain + g)
                };
                p.iter().enumerate().map(with).collect::<Vec<_>>()
            };
            splits.iter().flat_map(more).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// A pair is found if and only if there is one; with few steps it is never wrong.
        #[test]
        fn pairs_agree_with_brute_force(profiles in prop::collection::vec(profile(), 1..5), few in 0u64..2000) {
            let all: usize = profiles.iter().map(|p| p.len() - 1).sum();
            let mut best = vec![Vec::new(); all + 1];
            let mut most = vec![0; all + 1];
            for (split, gain) in all_splits(&profiles) {
                let t: usize = split.iter().sum();
                if gain > most[t] {
                    most[t] = gain;
                    best[t].clear();
                }
                if gain == most[t] {
                    best[t].push(split);
                }
            }
            let below = |a: &[usize], b: &[usize]| a.iter().zip(b).all(|(a, b)| a <= b);
            let pairs = (1..=all).flat_map(|t| (0..t).map(move |s| [s, t]));
            let mut pairs = pairs.filter(|&[s, t]| {
                !best[s].iter().any(|a| best[t].iter().any(|b| below(a, b)))
            });
            let truth = pairs.next();
            let mut next = 0;
            let parts: Vec<Summand<'_>> = (profiles.iter())
                .map(|profile| {
                    let from = next;
                    next += profile.len() - 1;
                    Summand { profile, order: (from..next).map(TaskId::new).collect() }
                })
                .collect();
            let never = || false;
            for steps in [few, 1 << 40] {
                match (look(&parts, 1, &mut Work::new(steps, &never)), truth) {
                    (Conflict::Unknown, _) => prop_assert_eq!(steps, few),
                    (Conflict::NoPair, None) => {}
                    (Conflict::Pair(pair), Some([s, t])) => {
                        prop_assert_eq!(pair.steps, [s, t]);
                        prop_assert_eq!(pair.gains, [most[s], most[t]]);
                        for (set, t) in [(&pair.smaller, s), (pair.larger.as_ref().unwrap(), t)] {
                            let split: Vec<usize> = (parts.iter())
                                .map(|p| p.order.iter().take_while(|v| set.contains(v)).count())
                                .collect();
                            prop_assert_eq!(set.len(), t);
                            prop_assert!(best[t].contains(&split));
                        }
                    }
                    (said, truth) => prop_assert!(false, "{:?}, but {:?}", said, truth),
                }
            }
        }
    }
}
