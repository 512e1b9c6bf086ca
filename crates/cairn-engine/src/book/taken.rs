//! What files of kinds of tasks took, by the names of the kinds: what a store and a book keep for later runs. Knows no run and
//! no cap.

use crate::{KindId, Learnt};
use cairn_theory::storage::MOST_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A ratio of measured to declared bytes beyond this is not told to other workflows: what was declared there was no size, but
/// something put in its place, and one such line would be the most that any has seen for ever.
// A judgement: people declare sizes that are wrong by a few times, and placeholders of a byte or a kilobyte for gigabytes.
const PLACEHOLDER: f64 = 1000.0;

/// What was measured of files, by sort.
///
/// ```
/// use cairn_engine::{KindId, Learnt, Taken};
/// let kinds = ["align", "sort"].map(String::from);
/// let learnt = Learnt { kind: KindId(1), output: 0, is_unknown: true, seen: 3, most: 500.0 };
/// let taken = Taken::of(&[learnt], &kinds);
/// // In another workflow the kind has another number.
/// let others = ["sort"].map(String::from);
/// assert_eq!(taken.learnt(&others), [Learnt { kind: KindId(0), ..learnt }]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Lenient<Line>>", into = "Vec<Line>")]
pub struct Taken(BTreeMap<Sort, Seen>);

/// Files of one sort: the kind of the task, which of its outputs, and whether the input says nothing of their sizes.
type Sort = (String, u32, bool);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    count: u32,
    /// The largest ratio of measured to expected bytes, or the most bytes.
    most: f64,
}

/// Something that was written down, or what cannot be read as that: the rest is read all the same.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Lenient<T> {
    /// As it should be.
    Good(T),
    /// Something else.
    Bad(serde::de::IgnoredAny),
}

impl<T> Lenient<T> {
    pub(super) fn good(self) -> Option<T> {
        match self {
            Lenient::Good(good) => Some(good),
            Lenient::Bad(_) => None,
        }
    }
}

/// The same as it is written down.
#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    kind: String,
    output: u32,
    #[serde(default)]
    unknown: bool,
    seen: u32,
    most: f64,
}

impl Line {
    /// Whether it can be true.
    fn is_sound(&self) -> bool {
        let most = match self.unknown {
            true => MOST_BYTES as f64,
            false => f64::MAX,
        };
        (0.0..=most).contains(&self.most)
    }
}

impl From<Vec<Lenient<Line>>> for Taken {
    fn from(lines: Vec<Lenient<Line>>) -> Taken {
        let mut taken = Taken::default();
        for line in lines.into_iter().filter_map(Lenient::good) {
            if !line.is_sound() {
                continue;
            }
            let seen = Seen {
                count: line.seen,
                most: line.most,
            };
            taken.add((line.kind, line.output, line.unknown), seen);
        }
        taken
    }
}

impl From<Taken> for Vec<Line> {
    fn from(taken: Taken) -> Vec<Line> {
        let line = |((kind, output, unknown), seen): (Sort, Seen)| Line {
            kind,
            output,
            unknown,
            seen: seen.count,
            most: seen.most,
        };
        taken.0.into_iter().map(line).collect()
    }
}

impl Taken {
    /// What a run learnt, whose kinds have these names.
    pub fn of(learnt: &[Learnt], kinds: &[String]) -> Taken {
        let mut taken = Taken::default();
        for l in learnt {
            if let Some(name) = kinds.get(l.kind.index()) {
                let seen = Seen {
                    count: l.seen,
                    most: l.most,
                };
                taken.add((name.clone(), l.output, l.is_unknown), seen);
            }
        }
        taken
    }

    /// The same for a run whose kinds have these names.
    pub fn learnt(&self, kinds: &[String]) -> Vec<Learnt> {
        let mut numbers: BTreeMap<&str, KindId> = BTreeMap::new();
        for (number, name) in (0..).map(KindId).zip(kinds) {
            numbers.entry(name).or_insert(number);
        }
        let line = |((kind, output, is_unknown), seen): (&Sort, &Seen)| {
            Some(Learnt {
                kind: *numbers.get(kind.as_str())?,
                output: *output,
                is_unknown: *is_unknown,
                seen: seen.count,
                most: seen.most,
            })
        };
        self.0.iter().filter_map(line).collect()
    }

    /// This and what another run learnt, before it, after it or beside it: the most that any has seen.
    #[must_use]
    pub fn and(mut self, other: &Taken) -> Taken {
        for (sort, seen) in &other.0 {
            self.add(sort.clone(), *seen);
        }
        self
    }

    /// The same without what means nothing in another workflow: kinds that have no name, and how wrong a placeholder was.
    pub(super) fn for_others(mut self) -> Taken {
        let is_size = |is_unknown: bool, most: f64| is_unknown || most <= PLACEHOLDER;
        (self.0)
            .retain(|(kind, _, unknown), seen| !kind.is_empty() && is_size(*unknown, seen.most));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, sort: Sort, seen: Seen) {
        let known = self.0.entry(sort).or_insert(seen);
        known.count = known.count.max(seen.count);
        known.most = known.most.max(seen.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    fn names(kinds: &[&str]) -> Vec<String> {
        kinds.iter().map(|&k| k.to_owned()).collect()
    }

    fn any(random: &mut Random) -> Vec<Learnt> {
        let learnt = |random: &mut Random| Learnt {
            kind: KindId::new(random.below(4)),
            output: random.below(2) as u32,
            is_unknown: random.below(2) == 0,
            seen: random.below(9) as u32,
            most: random.below(9) as f64,
        };
        (0..random.below(6)).map(|_| learnt(random)).collect()
    }

    /// Runs may share a book in any order: against the largest of all that was ever said of a sort.
    #[test]
    fn it_is_the_most_that_any_run_has_seen_in_whatever_order_they_tell() {
        let kinds = names(&["a", "", "c"]);
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let runs: Vec<Vec<Learnt>> = (0..3).map(|_| any(&mut random)).collect();
            let [a, b, c] = [0, 1, 2].map(|i| Taken::of(&runs[i], &kinds));
            let all = a.clone().and(&b).and(&c);
            assert_eq!(all, c.clone().and(&b.clone().and(&a)));
            assert_eq!(all, all.clone().and(&b));
            let text = serde_json::to_string(&all).unwrap();
            assert_eq!(serde_json::from_str::<Taken>(&text).unwrap(), all);
            for told in all.learnt(&kinds) {
                let is_it = |l: &&Learnt| {
                    (l.kind, l.output, l.is_unknown) == (told.kind, told.output, told.is_unknown)
                };
                let same = || runs.iter().flatten().filter(is_it);
                assert_eq!(same().map(|l| l.seen).max(), Some(told.seen));
                assert_eq!(same().map(|l| l.most).fold(0.0, f64::max), told.most);
            }
            let mut sorts: Vec<_> = (runs.iter().flatten())
                .filter(|l| l.kind.0 < 3)
                .map(|l| (l.kind, l.output, l.is_unknown))
                .collect();
            sorts.sort_unstable();
            sorts.dedup();
            assert_eq!(all.learnt(&kinds).len(), sorts.len());
            sorts.retain(|sort| sort.0 != KindId(1));
            assert_eq!(all.for_others().learnt(&kinds).len(), sorts.len());
        }
    }

    /// States of earlier versions have it in this form.
    #[test]
    fn what_earlier_states_wrote_is_read() {
        let text = r#"[{"kind":"k","output":0,"seen":2,"most":1.5},
                       {"kind":"k","output":1,"unknown":true,"seen":3,"most":700.0}]"#;
        let taken: Taken = serde_json::from_str(text).unwrap();
        let learnt = taken.learnt(&names(&["x", "k"]));
        let told: Vec<_> = learnt
            .iter()
            .map(|l| (l.kind, l.is_unknown, l.most))
            .collect();
        assert_eq!(told, [(KindId(1), false, 1.5), (KindId(1), true, 700.0)]);
    }
}
