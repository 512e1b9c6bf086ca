//! Puts classes of blocks into one chain of ranks under ▷, merging what is incomparable. Knows profiles, not dags.
//!
//! Three facts make this near-linear. Write a·b for the string of increments of a followed by that of b.
//!
//! 1. *If a ▷ b then a·b ≥ b·a lexicographically, and they are equal only if b ▷ a as well*: a·b is IC-optimal for
//!    the sum, so its prefix sums are nowhere below those of b·a. Comparing a·b with b·a is a total preorder,
//!    so sorting by it lays every ▷-comparable pair the right way round without a single test of ▷.
//! 2. *Blocks that are incomparable stand in the same rank of every chain*: if A ▷ B for sums A ∋ a and B ∋ b, then
//!    A first and B second is IC-optimal for A + B, hence its part a first and b second for a + b, hence a ▷ b. So
//!    ranks are at least the connected components of "incomparable".
//! 3. *These components always form a chain.* Let a, a' be incomparable and b outside. a ▷ b ▷ a' and a' ▷ b ▷ a are
//!    impossible, ▷ being transitive; so b is on one side of both, and by induction on one side of the whole
//!    component. And A ▷ B as soon as a ▷ b for all pairs, since an order of a sum that is IC-optimal for each pair
//!    is IC-optimal ([`merge`]).
//!
//! Beyond ▷, a component must admit an IC-optimal schedule as a sum. Pairs decide that too ([`merge`]), and for two
//! strands it is known (\[CMR07\], Theorem 4.1).

use crate::merge;
use crate::priority::{Answer, Contender, Weakest, by_table, expands, reduces};
use crate::recognise::Kind;
use cairn_kernel::{Work, ids, long};
use std::cmp::Ordering;

ids! {
    /// A class of blocks, counted as they are given.
    pub ClassId,
}

/// Blocks with one and the same optimal profile.
#[derive(Clone, Copy, Debug)]
pub struct Class<'a> {
    /// The profile, with at least one source.
    pub profile: &'a [u32],
    /// How many blocks have it.
    pub copies: u32,
    /// A kind whose blocks have this profile, if the class has one with a closed form or a known ▷.
    pub kind: Option<&'a Kind>,
    /// Whether all blocks of the class are strands.
    pub strands: bool,
}

/// A step of the chain: everything in it comes before everything in the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Classes each of which is ▷ all of them, itself included: their blocks may follow one another in any order.
    /// Or a single block.
    Level(Vec<ClassId>),
    /// Classes with incomparable blocks, or strands that were not compared, whose sum admits an IC-optimal schedule:
    /// their largest merge.
    Merged {
        /// The classes.
        classes: Vec<ClassId>,
        /// Why the sum admits one.
        because: SumProof,
    },
}

/// Why a sum admits an IC-optimal schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SumProof {
    /// It is a sum of strands (\[CMR07\], Theorem 4.1).
    Strands,
    /// The largest merge of every two of its blocks attains the (max,+) convolution.
    Convolution,
}

/// Why there is no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoChain {
    /// The sum of a block of each class (the same class twice: of two of its blocks) admits no IC-optimal schedule.
    NoSum(ClassId, ClassId),
    /// Comparing these two classes would take too much work.
    TooLarge(ClassId, ClassId),
}

/// The chain of the given classes, or why there is none. It exists iff the sum of all blocks admits an IC-optimal
/// schedule, and to execute rank after rank is then such a schedule.
///
/// `work` is one step for each profile entry looked at in tests of ▷ and of sums. Where two strands cannot be
/// compared within it, they are merged as if they were incomparable: that is sound, as the sum of strands always
/// admits. Time O(S·log C) for S sources in C distinct classes, beside the work.
///
/// ```
/// use cairn_theory::{Work, ranks::{chain, Class, ClassId, Rank}};
/// let class = |profile, copies| Class { profile, copies, kind: None, strands: true };
/// // The joins of two, of three, and a fork into three: first the fork, then the smaller join.
/// let ranks = chain(&[class(&[0, 0, 1], 4), class(&[0, 0, 0, 1], 1), class(&[0, 3], 2)], &mut Work::steps(1_000)).unwrap();
/// assert_eq!(ranks, [2, 0, 1].map(|c| Rank::Level(vec![ClassId::new(c)])));
/// ```
///
/// # Errors
/// The first pair of classes that stands in the way.
pub fn chain(classes: &[Class<'_>], work: &mut Work<'_>) -> Result<Vec<Rank>, NoChain> {
    let mut sorted: Vec<ClassId> = (0..classes.len()).map(ClassId::new).collect();
    // Stable: of equal ones the class met first stays first.
    sorted.sort_by(|&a, &b| concatenation_order(profile(classes, a), profile(classes, b)));
    let mut field = Field::new(classes, work);
    let mut components: Vec<Component> = Vec::new();
    // Windows longer than any class to come are never asked for, so that they need not be computed.
    let mut longest = longest_after(classes, &sorted);
    for class in sorted {
        let longest = longest.pop().expect("one for each class");
        field.join(&mut components, class, longest)?;
    }
    let mut ranks: Vec<Rank> = Vec::new();
    for mut component in components {
        let class = component.members[0];
        if component.members.len() > 1 || !field.may_repeat(class)? {
            // Joined in the order of tests; sorted they read as they came in.
            component.members.sort_unstable();
            let because = field.why_sum(&component.members)?;
            let classes = component.members;
            ranks.push(Rank::Merged { classes, because });
            continue;
        }
        // Neighbours are ▷ in this direction; equal concatenations mean in the other one too.
        match ranks.last_mut() {
            // One member speaks for the level, as being equal is transitive. A class of one block that is not ▷ itself
            // is alone: a ▷ b ▷ a would make it so.
            Some(Rank::Level(level)) if field.is_mutual(level[0], class) => level.push(class),
            _ => ranks.push(Rank::Level(component.members)),
        }
    }
    Ok(ranks)
}

/// For each class of the order, last one first, the most sources that any class after it has.
fn longest_after(classes: &[Class<'_>], sorted: &[ClassId]) -> Vec<usize> {
    let sources = |&class: &ClassId| profile(classes, class).len() - 1;
    let mut longest = vec![0];
    for class in sorted.iter().skip(1).rev() {
        longest.push(longest[longest.len() - 1].max(sources(class)));
    }
    longest
}

fn profile<'a>(classes: &[Class<'a>], class: ClassId) -> &'a [u32] {
    classes[class.index()].profile
}

/// Compares b·a with a·b, so that the larger a·b comes first. The first difference of two strings of increments is
/// the first difference of their prefix sums.
fn concatenation_order(a: &[u32], b: &[u32]) -> Ordering {
    let (short, long) = (a.len().min(b.len()), a.len() + b.len() - 1);
    let after = |x: &[u32], y: &[u32], t: usize| {
        if t < x.len() {
            x[t]
        } else {
            x[x.len() - 1] + y[t + 1 - x.len()]
        }
    };
    // While both are in their first string the sums are the profiles themselves.
    let heads = b[..short].cmp(&a[..short]);
    let rest = || {
        (short..long)
            .map(|t| after(b, a, t).cmp(&after(a, b, t)))
            .find(|o| o.is_ne())
    };
    heads.then_with(|| rest().unwrap_or(Ordering::Equal))
}

/// Classes connected by incomparability.
struct Component {
    members: Vec<ClassId>,
    /// What all of them offer, for two members and more; `None` if it would take too much work.
    weakest: Option<Weakest>,
    /// Whether all are strands.
    strands: bool,
    /// Whether all are W-strands, which have priority over all M-strands.
    expansive: bool,
}

/// The classes with what has been found out about them.
struct Field<'a, 'w> {
    classes: &'a [Class<'a>],
    contenders: Vec<Contender<'a>>,
    work: &'a mut Work<'w>,
}

impl<'a, 'w> Field<'a, 'w> {
    fn new(classes: &'a [Class<'a>], work: &'a mut Work<'w>) -> Field<'a, 'w> {
        let contender = |class: &Class<'a>| match class.kind {
            Some(kind) if crate::catalogue::sources(kind).is_some() => {
                Contender::known_reflexive(class.profile)
            }
            _ => Contender::new(class.profile),
        };
        Field {
            classes,
            contenders: classes.iter().map(contender).collect(),
            work,
        }
    }

    /// Adds a class that has priority over none added so far to the components: it joins those with a member
    /// incomparable to it. Classes still to come have at most `longest` sources.
    fn join(
        &mut self,
        components: &mut Vec<Component>,
        class: ClassId,
        longest: usize,
    ) -> Result<(), NoChain> {
        let mut joined = Component {
            members: vec![class],
            weakest: None,
            strands: self.classes[class.index()].strands,
            expansive: self.is(class, expands),
        };
        // A component that has priority has all earlier ones before it, which then have priority too.
        while let Some(last) = components.pop() {
            if self.all_have_priority(&last, class)? {
                components.push(last);
                break;
            }
            joined = self.unite(last, joined, longest);
        }
        components.push(joined);
        Ok(())
    }

    /// Whether all of a component ▷ a class; "no" if that cannot be found out but all are strands.
    fn all_have_priority(
        &mut self,
        component: &Component,
        class: ClassId,
    ) -> Result<bool, NoChain> {
        if component.expansive && self.is(class, reduces) {
            return Ok(true);
        }
        let contender = &mut self.contenders[class.index()];
        let first = component.members[0];
        let answer = match &component.weakest {
            Some(weakest) => weakest.all_have_priority(contender, self.work),
            None if component.members.len() == 1 => self.test(first, class),
            None => Answer::TooLarge,
        };
        match answer {
            Answer::Holds => Ok(true),
            Answer::Fails => Ok(false),
            // Merged without being compared: sound, since every sum of strands admits; only the rank is larger than
            // need be.
            Answer::TooLarge if component.strands && self.classes[class.index()].strands => {
                Ok(false)
            }
            Answer::TooLarge => Err(NoChain::TooLarge(first, class)),
        }
    }

    /// One component of two.
    fn unite(&mut self, mut first: Component, mut second: Component, longest: usize) -> Component {
        let weakest = [&mut first, &mut second].map(|component| match component.members[..] {
            [only] => Weakest::of(&mut self.contenders[only.index()], longest, self.work),
            _ => component.weakest.take(),
        });
        // The shorter list is appended to the longer: O(C·log C) moves in all.
        if first.members.len() < second.members.len() {
            std::mem::swap(&mut first.members, &mut second.members);
        }
        first.members.append(&mut second.members);
        let weakest = match weakest {
            [Some(mut one), Some(other)] => {
                one.join(other);
                Some(one)
            }
            _ => None,
        };
        Component {
            members: first.members,
            weakest,
            strands: first.strands && second.strands,
            expansive: first.expansive && second.expansive,
        }
    }

    fn is(&self, class: ClassId, what: fn(&Kind) -> bool) -> bool {
        self.classes[class.index()].kind.is_some_and(what)
    }

    fn test(&mut self, a: ClassId, b: ClassId) -> Answer {
        let kind = |c: ClassId| self.classes[c.index()].kind;
        if let Some((first, second)) = kind(a).zip(kind(b))
            && let Some(holds) = by_table(first, second)
        {
            return if holds { Answer::Holds } else { Answer::Fails };
        }
        let pair = [a.index(), b.index()];
        let [first, second] =
            (self.contenders.get_disjoint_mut(pair)).expect("two different classes");
        first.has_priority(second, self.work)
    }

    /// Whether the blocks of a class may follow one another: there is only one, or the class is ▷ itself.
    fn may_repeat(&mut self, class: ClassId) -> Result<bool, NoChain> {
        if self.classes[class.index()].copies == 1 {
            return Ok(true);
        }
        match self.contenders[class.index()].is_reflexive(self.work) {
            Answer::Holds => Ok(true),
            Answer::Fails => Ok(false),
            Answer::TooLarge if self.classes[class.index()].strands => Ok(false),
            Answer::TooLarge => Err(NoChain::TooLarge(class, class)),
        }
    }

    /// For a ▷ b: whether also b ▷ a.
    fn is_mutual(&self, a: ClassId, b: ClassId) -> bool {
        concatenation_order(profile(self.classes, a), profile(self.classes, b)).is_eq()
    }

    /// Why the sum of all blocks of these classes admits an IC-optimal schedule.
    fn why_sum(&mut self, component: &[ClassId]) -> Result<SumProof, NoChain> {
        let (strands, others): (Vec<ClassId>, Vec<ClassId>) =
            (component.iter()).partition(|&&class| self.classes[class.index()].strands);
        for (i, &a) in others.iter().enumerate() {
            if self.classes[a.index()].copies > 1 {
                self.check_sum(a, a)?;
            }
            // Two strands need no test (CMR07, Theorem 4.1); a pair that is comparable needs none of its sum.
            for &b in strands.iter().chain(&others[i + 1..]) {
                if self.test(a, b) != Answer::Holds && self.test(b, a) != Answer::Holds {
                    self.check_sum(a, b)?;
                }
            }
        }
        Ok(if others.is_empty() {
            SumProof::Strands
        } else {
            SumProof::Convolution
        })
    }

    /// Whether the sum of a block of each class admits an IC-optimal schedule.
    fn check_sum(&mut self, a: ClassId, b: ClassId) -> Result<(), NoChain> {
        let (first, second) = (profile(self.classes, a), profile(self.classes, b));
        let cells = long(first.len()) * long(second.len());
        if !self.work.afford(cells) {
            return Err(NoChain::TooLarge(a, b));
        }
        match merge::sum_admits(first, second) {
            true => Ok(()),
            false => Err(NoChain::NoSum(a, b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::{largest_merge, merged_profile};
    use crate::testing::any_profile;
    use crate::testing::convolved;
    use cairn_kernel::{narrow, wide};
    use cairn_oracle::has_priority;
    use proptest::prelude::*;

    fn class(profile: &[u32], copies: u32) -> Class<'_> {
        Class {
            profile,
            copies,
            kind: None,
            strands: false,
        }
    }

    /// The profile of executing rank after rank.
    fn executed(classes: &[Class<'_>], ranks: &[Rank]) -> Vec<u32> {
        let rows: Vec<&[u32]> = classes.iter().map(|c| c.profile).collect();
        let units = |members: &[ClassId]| -> Vec<u32> {
            let copies = |c: &ClassId| {
                std::iter::repeat_n(narrow(c.index()), wide(classes[c.index()].copies))
            };
            members.iter().flat_map(copies).collect()
        };
        let mut all = vec![0];
        let mut append = |more: &[u32]| {
            let base = all[all.len() - 1];
            all.extend(more[1..].iter().map(|e| base + e));
        };
        for rank in ranks {
            match rank {
                Rank::Level(level) => units(level).iter().for_each(|&c| append(rows[c as usize])),
                Rank::Merged { classes, .. } => {
                    let units = units(classes);
                    append(&merged_profile(
                        &rows,
                        &units,
                        &largest_merge(&rows, &units),
                    ));
                }
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Fact 1.
        #[test]
        fn concatenation_extends_priority(a in any_profile(5, 2), b in any_profile(5, 2)) {
            if has_priority(&a, &b) {
                let order = concatenation_order(&a, &b);
                prop_assert!(order.is_le());
                prop_assert_eq!(order.is_eq(), has_priority(&b, &a));
            }
            prop_assert_eq!(concatenation_order(&a, &b), concatenation_order(&b, &a).reverse());
        }

        /// The chain exists iff the sum of everything admits an IC-optimal schedule, and attains the convolution;
        /// ranks are the components of incomparability, in ▷ order.
        #[test]
        fn the_chain_is_right(given in prop::collection::vec((any_profile(4, 3), 1u32..4), 1..6)) {
            let mut distinct: Vec<(Vec<u32>, u32)> = Vec::new();
            for (p, copies) in given {
                if distinct.iter().all(|d| d.0 != p) { distinct.push((p, copies)); }
            }
            let classes: Vec<Class<'_>> = distinct.iter().map(|(p, copies)| class(p, *copies)).collect();
            let every = |c: &Class<'_>| std::iter::repeat_n(c.profile.to_vec(), c.copies as usize).collect::<Vec<_>>();
            let blocks: Vec<Vec<u32>> = classes.iter().flat_map(every).collect();
            let best = blocks.iter().fold(vec![0], |sum, p| convolved(&sum, p));
            let admits = (0..blocks.len()).all(|i| (0..i).all(|j| merge::sum_admits(&blocks[i], &blocks[j])));
            let ranks = match chain(&classes, &mut Work::unlimited()) {
                Ok(ranks) => ranks,
                Err(NoChain::NoSum(a, b)) => {
                    prop_assert!(!admits);
                    prop_assert!(!merge::sum_admits(classes[a.index()].profile, classes[b.index()].profile));
                    return Ok(());
                }
                Err(NoChain::TooLarge(..)) => { prop_assert!(false, "unlimited work"); return Ok(()) }
            };
            prop_assert!(admits);
            prop_assert_eq!(executed(&classes, &ranks), best);
            let holds = |a: ClassId, b: ClassId| has_priority(classes[a.index()].profile, classes[b.index()].profile);
            let members = |r: &Rank| match r { Rank::Level(c) | Rank::Merged { classes: c, .. } => c.clone() };
            for (i, rank) in ranks.iter().enumerate() {
                for a in members(rank) {
                    for b in ranks[i + 1..].iter().flat_map(members) {
                        prop_assert!(holds(a, b) && !holds(b, a));
                    }
                }
                if let Rank::Level(level) = rank {
                    for &a in level {
                        prop_assert!(level.iter().all(|&b| holds(a, b) || level.len() == 1 && classes[a.index()].copies == 1));
                    }
                } else {
                    let all = members(rank);
                    let mut reached = vec![all[0]];
                    let mut next = 0;
                    while next < reached.len() {
                        let a = reached[next];
                        next += 1;
                        let more = all.iter().copied().filter(|&b| !holds(a, b) && !holds(b, a));
                        let fresh: Vec<ClassId> = more.filter(|b| !reached.contains(b)).collect();
                        reached.extend(fresh);
                    }
                    prop_assert_eq!(reached.len(), all.len());
                }
            }
        }

        /// Too little work gives up on general blocks, but never gives a wrong chain; strands are merged instead.
        #[test]
        fn scarce_work_is_honest(given in prop::collection::vec(any_profile(4, 3), 1..6), work in 0u64..60) {
            let mut distinct = given;
            distinct.sort();
            distinct.dedup();
            let classes: Vec<Class<'_>> = distinct.iter().map(|p| class(p, 2)).collect();
            let twice = |p: &Vec<u32>| convolved(p, p);
            let best = distinct.iter().fold(vec![0], |sum, p| convolved(&sum, &twice(p)));
            match chain(&classes, &mut Work::steps(work)) {
                Ok(ranks) => prop_assert_eq!(executed(&classes, &ranks), &best[..]),
                Err(NoChain::NoSum(..)) => prop_assert!(matches!(chain(&classes, &mut Work::unlimited()), Err(NoChain::NoSum(..)))),
                Err(NoChain::TooLarge(..)) => {}
            }
            if chain(&classes, &mut Work::unlimited()).is_ok() {
                // Were these strands, then their sum would admit, as it does here.
                let strands: Vec<Class<'_>> = classes.iter().map(|c| Class { strands: true, ..*c }).collect();
                let ranks = chain(&strands, &mut Work::steps(work)).unwrap();
                prop_assert_eq!(executed(&strands, &ranks), best);
            }
        }
    }
}
