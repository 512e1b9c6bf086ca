//! The priority relation ▷ between profiles, by windows and by closed form. Knows no dag.
//!
//! G1 ▷ G2 means that one never loses by executing a source of G1 in preference to one of G2 (\[MRY06\], §3.2). It is
//! transitive (Theorem 2 there) but **not reflexive**: W\[4,2\] has the profile 0, 3, 5, which is not ▷ itself, so
//! that two copies of this block are incomparable.

use crate::budgets::PRIORITY_TEST;
use crate::recognise::Kind;
use crate::strand::StrandKind;
use cairn_kernel::{Work, long};

/// ▷ between two blocks by their kinds alone, where a closed form is known. O(1).
///
/// The exact conditions for W, N, M, C and Q correct Table 1 and Theorem 3 of \[MRY06\] in the fields N–N, M–Q, C–Q,
/// Q–M and Q–C. Beside them, every W-strand ▷ every M-strand (\[CMR07\], §6), and never the other way round.
///
/// ```
/// use cairn_theory::{priority::by_table, recognise::Kind};
/// let clique = Kind::Q { sources: 3 };
/// let m = |degree| Kind::M { sinks: 1, degree };
/// assert_eq!(by_table(&clique, &m(3)), Some(true));
/// assert_eq!(by_table(&clique, &m(2)), Some(false));
/// ```
pub fn by_table(first: &Kind, second: &Kind) -> Option<bool> {
    use Kind::{C, K, M, N, Q, W};
    // Before the table: these two hold for all strands, of which W and M are the regular ones.
    if expands(first) && reduces(second) {
        return Some(true);
    }
    if reduces(first) && expands(second) {
        return Some(false);
    }
    let listed = |kind: &Kind| match kind {
        W { .. } | M { .. } | N { .. } | C { .. } | Q { .. } => true,
        K { .. } | Kind::Strand { .. } | Kind::Tree | Kind::Expansive | Kind::Other => false,
    };
    if !listed(first) || !listed(second) {
        return None;
    }
    Some(match (first, second) {
        (
            W {
                sources: s,
                degree: d,
            },
            W {
                sources: s2,
                degree: d2,
            },
        ) => d2 < d || d2 == d && s2 >= s,
        (W { degree, .. }, Q { sources }) => sources <= degree,
        (W { .. }, N { .. } | C { .. }) => true,
        (N { .. }, N { .. } | M { .. }) => true,
        (
            M {
                sinks: s,
                degree: d,
            },
            M {
                sinks: s2,
                degree: d2,
            },
        ) => d2 > d || d2 == d && s2 <= s,
        (C { .. }, M { .. }) => true,
        (C { sources: s }, C { sources: s2 }) | (Q { sources: s }, Q { sources: s2 }) => s == s2,
        (C { sources: s }, Q { sources: s2 }) | (Q { sources: s }, C { sources: s2 }) => {
            *s == 2 && *s2 == 2
        }
        (Q { sources }, M { degree, .. }) => sources <= degree,
        // Among the listed kinds these never hold: N ▷ W, C, Q; M ▷ N, C, Q; C ▷ W, N; Q ▷ W, N.
        _ => false,
    })
}

/// Whether a block is a W-strand. Sums of W-strands ▷ sums of M-strands.
pub(crate) fn expands(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::W { .. }
            | Kind::Strand {
                kind: StrandKind::W,
                ..
            }
    )
}

/// Whether a block is an M-strand.
pub(crate) fn reduces(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::M { .. }
            | Kind::Strand {
                kind: StrandKind::M,
                ..
            }
    )
}

/// What a test of ▷ within a limit of work found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// ▷ holds.
    Holds,
    /// ▷ fails.
    Fails,
    /// Deciding it would take more work than was allowed.
    TooLarge,
}

/// An optimal profile made ready for many tests of ▷.
///
/// ▷ asks only for windows of the profiles: with head(k) = E(k), tail(k) = E(s) − E(s−k), and least(k) and most(k)
/// the extremes of E(x+k) − E(x) over x, G1 ▷ G2 iff for k = 1..=min(s1, s2)
/// head2(k) ≤ least1(k) and most2(k) ≤ tail1(k). Splitting the definition at x + y = s1 shows it.
///
/// In particular a profile is ▷ itself iff least = head and most = tail: then no window need be computed at all. All
/// blocks of the catalogue are like this, and all profiles whose increments never fall. For the others windows are
/// computed when first asked for, O(s) for each k, and kept.
#[derive(Clone, Debug)]
pub(crate) struct Contender<'a> {
    profile: &'a [u32],
    /// Known to be ▷ itself.
    reflexive: bool,
    /// least(k) and most(k) for k = 1.., as far as they were needed.
    least: Vec<u32>,
    most: Vec<u32>,
}

impl<'a> Contender<'a> {
    /// A contender with this optimal profile. O(s).
    ///
    /// # Panics
    /// If the profile is empty; even a block without sources has E(0).
    pub(crate) fn new(profile: &'a [u32]) -> Contender<'a> {
        assert!(!profile.is_empty(), "a profile begins with E(0)");
        let increments = || profile.windows(2).map(|w| w[1] - w[0]);
        // Then the first k increments are the least and the last k the most of any window.
        let rising = increments().zip(increments().skip(1)).all(|(a, b)| a <= b);
        Contender {
            reflexive: rising,
            ..Contender::known_reflexive(profile)
        }
    }

    /// A contender of which it is known that it is ▷ itself, as all blocks of the catalogue are.
    pub(crate) fn known_reflexive(profile: &'a [u32]) -> Contender<'a> {
        Contender {
            profile,
            reflexive: true,
            least: Vec::new(),
            most: Vec::new(),
        }
    }

    fn sources(&self) -> usize {
        self.profile.len() - 1
    }

    fn head(&self, k: usize) -> u32 {
        self.profile[k] - self.profile[0]
    }

    fn tail(&self, k: usize) -> u32 {
        self.profile[self.sources()] - self.profile[self.sources() - k]
    }

    /// Whether this profile ▷ `other`. Takes from `work` one unit for each profile entry looked at; if more would be
    /// needed than is left, it says so instead.
    ///
    /// O(min(s1, s2)) if both are ▷ themselves or the answer is plain from heads and tails, else also
    /// O((s1 + s2)·min(s1, s2)) for windows, once.
    pub(crate) fn has_priority(
        &mut self,
        other: &mut Contender<'_>,
        work: &mut Work<'_>,
    ) -> Answer {
        let most_k = self.sources().min(other.sources());
        if !work.afford(PRIORITY_TEST + long(most_k)) {
            return Answer::TooLarge;
        }
        // Heads and tails are windows too: cheap, and in most cases enough to refuse.
        let plainly = |k| other.head(k) <= self.head(k) && other.tail(k) <= self.tail(k);
        if !(1..=most_k).all(plainly) {
            return Answer::Fails;
        }
        // A pass gives both kinds of window, though this test asks for one kind of each.
        if !self.prepare(most_k, work) || !other.prepare(most_k, work) {
            return Answer::TooLarge;
        }
        let holds = (1..=most_k)
            .all(|k| other.head(k) <= self.least_window(k) && other.most_window(k) <= self.tail(k));
        if holds { Answer::Holds } else { Answer::Fails }
    }

    /// Whether the profile ▷ itself, so that copies of the block may follow one another in any order.
    pub(crate) fn is_reflexive(&mut self, work: &mut Work<'_>) -> Answer {
        if self.reflexive {
            return Answer::Holds;
        }
        // A copy, as both sides are borrowed; its windows are computed a second time.
        let mut twin = self.clone();
        let answer = self.has_priority(&mut twin, work);
        self.reflexive = answer == Answer::Holds;
        answer
    }

    fn least_window(&self, k: usize) -> u32 {
        if self.reflexive {
            self.head(k)
        } else {
            self.least[k - 1]
        }
    }

    fn most_window(&self, k: usize) -> u32 {
        if self.reflexive {
            self.tail(k)
        } else {
            self.most[k - 1]
        }
    }

    /// Computes the windows up to length `most_k`, if that is within `work`.
    fn prepare(&mut self, most_k: usize, work: &mut Work<'_>) -> bool {
        let known = self.least.len();
        if self.reflexive || known >= most_k {
            return true;
        }
        let cost = long(most_k - known) * long(self.profile.len());
        if !work.afford(cost) {
            return false;
        }
        for k in known + 1..=most_k {
            let windows =
                (self.profile.iter().zip(&self.profile[k..])).map(|(&e, &later)| later - e);
            let (least, most) =
                windows.fold((u32::MAX, 0), |(low, high), w| (low.min(w), high.max(w)));
            self.least.push(least);
            self.most.push(most);
        }
        true
    }
}

/// What the weakest of several contenders offers in each window: least(k) and tail(k), the minima over all that have
/// k sources or more. All of them ▷ a profile iff its heads and windows stay below that, so that a test against any
/// number of contenders costs no more than one.
#[derive(Clone, Debug)]
pub(crate) struct Weakest {
    least: Vec<u32>,
    tail: Vec<u32>,
}

impl Weakest {
    /// Of one contender, for tests against profiles of at most `most_k` sources; `None` if that takes more work than
    /// is left.
    pub(crate) fn of(
        one: &mut Contender<'_>,
        most_k: usize,
        work: &mut Work<'_>,
    ) -> Option<Weakest> {
        let most_k = most_k.min(one.sources());
        if !work.afford(long(most_k)) || !one.prepare(most_k, work) {
            return None;
        }
        Some(Weakest {
            least: (1..=most_k).map(|k| one.least_window(k)).collect(),
            tail: (1..=most_k).map(|k| one.tail(k)).collect(),
        })
    }

    /// Of these and others together. O(the shorter of the two).
    pub(crate) fn join(&mut self, mut other: Weakest) {
        if other.least.len() > self.least.len() {
            // Beyond the shorter one's length only the longer has windows, which stay as they are.
            std::mem::swap(self, &mut other);
        }
        let lower = |mine: &mut [u32], theirs: &[u32]| {
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(m, &t)| *m = t.min(*m));
        };
        lower(&mut self.least, &other.least);
        lower(&mut self.tail, &other.tail);
    }

    /// Whether all of them ▷ `other`.
    pub(crate) fn all_have_priority(
        &self,
        other: &mut Contender<'_>,
        work: &mut Work<'_>,
    ) -> Answer {
        let most_k = self.least.len().min(other.sources());
        if !work.afford(PRIORITY_TEST + long(most_k)) {
            return Answer::TooLarge;
        }
        // Cheap refusals first: the tail is one of the windows that are computed only below.
        if (1..=most_k)
            .any(|k| other.head(k) > self.least[k - 1] || other.tail(k) > self.tail[k - 1])
        {
            return Answer::Fails;
        }
        if !other.prepare(most_k, work) {
            return Answer::TooLarge;
        }
        let holds = (1..=most_k).all(|k| other.most_window(k) <= self.tail[k - 1]);
        if holds { Answer::Holds } else { Answer::Fails }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::merge::sum_admits;
    use crate::testing::convolved;
    use crate::testing::{any_profile, small_catalogue};
    use cairn_oracle::has_priority;
    use proptest::prelude::*;

    fn by_windows(first: &[u32], second: &[u32]) -> bool {
        let mut work = Work::unlimited();
        let answer = Contender::new(first).has_priority(&mut Contender::new(second), &mut work);
        assert_ne!(answer, Answer::TooLarge);
        answer == Answer::Holds
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn windows_agree_with_the_definition(a in any_profile(8, 3), b in any_profile(8, 3)) {
            prop_assert_eq!(by_windows(&a, &b), has_priority(&a, &b));
            let reflexive = Contender::new(&a).is_reflexive(&mut Work::unlimited()) == Answer::Holds;
            prop_assert_eq!(reflexive, has_priority(&a, &a));
        }

        /// One contender against many: kept windows stay right, and too little work never gives a wrong answer.
        #[test]
        fn kept_windows_and_scarce_work(all in prop::collection::vec(any_profile(7, 3), 2..6), scarce in 0u64..200) {
            let mut contenders: Vec<Contender<'_>> = all.iter().map(|p| Contender::new(p)).collect();
            let mut work = Work::steps(scarce);
            for round in 0..2 {
                for i in 0..all.len() {
                    for j in 0..all.len() {
                        let mut other = contenders[j].clone();
                        let before = work.left();
                        let answer = contenders[i].has_priority(&mut other, &mut work);
                        prop_assert!(work.left() <= before);
                        let truth = if has_priority(&all[i], &all[j]) { Answer::Holds } else { Answer::Fails };
                        prop_assert!(answer == truth || answer == Answer::TooLarge && round == 0);
                        contenders[j] = other;
                    }
                }
                work = Work::unlimited();
            }
        }

        /// Several contenders at once.
        #[test]
        fn the_weakest_speak_for_all(all in prop::collection::vec(any_profile(7, 3), 1..5), other in any_profile(7, 3)) {
            let mut work = Work::unlimited();
            let most = other.len() - 1;
            let mut weakest = Weakest::of(&mut Contender::new(&all[0]), most, &mut work).unwrap();
            for profile in &all[1..] {
                weakest.join(Weakest::of(&mut Contender::new(profile), most, &mut work).unwrap());
            }
            let answer = weakest.all_have_priority(&mut Contender::new(&other), &mut work);
            prop_assert_eq!(answer == Answer::Holds, all.iter().all(|p| has_priority(p, &other)));
        }

        /// [MRY06] Theorem 2: ▷ is transitive.
        #[test]
        fn transitive(a in any_profile(5, 2), b in any_profile(5, 2), c in any_profile(5, 2)) {
            if has_priority(&a, &b) && has_priority(&b, &c) {
                prop_assert!(has_priority(&a, &c));
            }
        }

        /// [MRY06] Corollary 1: the sum of a ▷-chain is executed block by block.
        #[test]
        fn chains_are_executed_block_by_block(all in prop::collection::vec(any_profile(4, 2), 2..5)) {
            if all.windows(2).all(|w| has_priority(&w[0], &w[1])) {
                let best = all.iter().fold(vec![0], |sum, p| convolved(&sum, p));
                let mut concatenated = vec![0];
                for profile in &all {
                    let base = concatenated[concatenated.len() - 1];
                    concatenated.extend(profile[1..].iter().map(|e| base + e));
                }
                prop_assert_eq!(concatenated, best);
            }
        }
    }

    /// Transitivity on all chains of profiles with at most 3 sources and increments at most 2.
    #[test]
    fn transitive_exhaustively() {
        let mut all = vec![vec![0u32]];
        let mut layer = all.clone();
        for _ in 0..3 {
            layer = (layer.iter())
                .flat_map(|p| {
                    (0..=2).map(|i| p.iter().copied().chain([p[p.len() - 1] + i]).collect())
                })
                .collect();
            all.extend(layer.iter().cloned());
        }
        // A block has at least one source; through an empty one anything would follow.
        all.remove(0);
        let holds: Vec<Vec<bool>> = (all.iter())
            .map(|a| all.iter().map(|b| has_priority(a, b)).collect())
            .collect();
        let mut chains = 0;
        for a in 0..all.len() {
            for b in (0..all.len()).filter(|&b| holds[a][b]) {
                for c in (0..all.len()).filter(|&c| holds[b][c]) {
                    assert!(holds[a][c], "{:?} {:?} {:?}", all[a], all[b], all[c]);
                    chains += 1;
                }
            }
        }
        assert!(chains > 3_000, "only {chains} chains");
    }

    /// The closed forms against the definition on all pairs with parameters up to 8, in both uses: ▷ itself, and
    /// which sums admit an IC-optimal schedule (exactly the comparable ones).
    #[test]
    fn table_agrees_with_the_definition() {
        let kinds = small_catalogue(8);
        let profiles: Vec<Vec<u32>> = kinds
            .iter()
            .map(|k| catalogue::profile(k).unwrap())
            .collect();
        let mut pairs = 0;
        for (a, e) in kinds.iter().zip(&profiles) {
            for (b, f) in kinds.iter().zip(&profiles) {
                let Some(holds) = by_table(a, b) else {
                    let complete = |kind: &Kind| matches!(kind, Kind::K { .. });
                    assert!(complete(a) || complete(b));
                    continue;
                };
                pairs += 1;
                assert_eq!(holds, has_priority(e, f), "{a:?} {b:?}");
                let comparable = holds || by_table(b, a).unwrap();
                assert_eq!(sum_admits(e, f), comparable, "{a:?} + {b:?}");
            }
        }
        assert_eq!(pairs, 17_956);
    }

    #[test]
    fn every_kind_of_the_catalogue_is_reflexive() {
        for kind in small_catalogue(8) {
            let profile = catalogue::profile(&kind).unwrap();
            assert!(has_priority(&profile, &profile), "{kind:?}");
        }
    }
}
