//! All offers, those with equal numbers in one class, kept up to date as pieces change. Knows numbers, not tasks.

use super::piece::{Grade, Offer};
use crate::counts::{at, narrow};
use cairn_kernel::corners;
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Which numbers of the offers are meant: what known sets gain, or what no set can beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Gain,
    Upper,
}

/// The numbers of an offer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Numbers {
    gain: Vec<u32>,
    /// Empty where it is the gain itself.
    upper: Vec<u32>,
    grade: u8,
}

/// Pieces whose offers have equal numbers.
#[derive(Clone, Debug)]
pub(super) struct Class {
    numbers: Numbers,
    /// Pieces by rank.
    // Sorted: of equal pieces those give most that come first in the plan.
    pub(super) members: BTreeMap<u32, u32>,
}

impl Class {
    /// By number of tasks.
    pub(super) fn curve(&self, view: View) -> &[u32] {
        match view {
            View::Upper if !self.numbers.upper.is_empty() => &self.numbers.upper,
            _ => &self.numbers.gain,
        }
    }

    /// Rank of the first member.
    pub(super) fn rank(&self) -> u32 {
        self.members.first_key_value().map_or(u32::MAX, |m| *m.0)
    }
}

/// A step of the upper concave envelope of a class, the steepest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) rise: u32,
    pub(super) run: u32,
    pub(super) class: u32,
    pub(super) from: u32,
}

impl Step {
    pub(super) fn cmp_slope(&self, other: &Step) -> Ordering {
        let [mine, others] =
            [(self, other), (other, self)].map(|(a, b)| u64::from(a.rise) * u64::from(b.run));
        // Reversed: the steepest is the least, so that sets of steps start with it. Products of two 32-bit numbers
        // fit.
        others.cmp(&mine)
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Step) -> Ordering {
        let place = |s: &Step| (s.class, s.from);
        self.cmp_slope(other).then(place(self).cmp(&place(other)))
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Step) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The classes, and the steps of their envelopes.
#[derive(Clone, Debug, Default)]
pub(super) struct Stock {
    classes: Vec<Option<Class>>,
    free: Vec<u32>,
    by_numbers: HashMap<Numbers, u32>,
    /// By view.
    steps: [BTreeSet<Step>; 2],
    /// Pieces by grade.
    grades: [usize; 3],
    /// Tasks on offer.
    tasks: usize,
}

impl Stock {
    /// Takes in a piece of that rank; returns its class. No two pieces have the same rank. O(tasks of the offer) for
    /// a new class, else a look at the numbers.
    pub(super) fn put(&mut self, offer: Offer, piece: u32, rank: u32) -> u32 {
        // Most offers are: one curve stored, and equal ones found by it alone.
        let is_exact = offer.gain == offer.upper;
        let numbers = Numbers {
            upper: if is_exact { Vec::new() } else { offer.upper },
            gain: offer.gain,
            grade: offer.grade as u8,
        };
        self.tasks += numbers.gain.len() - 1;
        self.grades[usize::from(numbers.grade)] += 1;
        let number = match self.by_numbers.get(&numbers) {
            Some(&number) => number,
            None => self.found(numbers),
        };
        let class = self.classes[at(number)].as_mut();
        class.expect("a live class").members.insert(rank, piece);
        number
    }

    fn found(&mut self, numbers: Numbers) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.classes.push(None);
            narrow(self.classes.len()) - 1
        });
        // Found by their numbers, not by what they are of: pieces of other shapes with equal offers are as good.
        self.by_numbers.insert(numbers.clone(), number);
        let class = Class {
            numbers,
            members: BTreeMap::new(),
        };
        for (view, steps) in [View::Gain, View::Upper].into_iter().zip(&mut self.steps) {
            steps.extend(envelope(class.curve(view), number));
        }
        self.classes[at(number)] = Some(class);
        number
    }

    /// Takes a piece out.
    pub(super) fn take(&mut self, number: u32, rank: u32) {
        let slot = &mut self.classes[at(number)];
        let class = slot.as_mut().expect("a live class");
        class.members.remove(&rank);
        self.tasks -= class.numbers.gain.len() - 1;
        self.grades[usize::from(class.numbers.grade)] -= 1;
        if !class.members.is_empty() {
            return;
        }
        let class = slot.take().expect("a live class");
        for (view, steps) in [View::Gain, View::Upper].into_iter().zip(&mut self.steps) {
            for step in envelope(class.curve(view), number) {
                steps.remove(&step);
            }
        }
        self.by_numbers.remove(&class.numbers);
        self.free.push(number);
    }

    pub(super) fn class(&self, number: u32) -> &Class {
        self.classes[at(number)].as_ref().expect("a live class")
    }

    /// All classes with their numbers.
    pub(super) fn classes(&self) -> impl Iterator<Item = (u32, &Class)> {
        let numbered = self.classes.iter().enumerate();
        numbered.filter_map(|(i, c)| Some((narrow(i), c.as_ref()?)))
    }

    /// The steps of all envelopes, steepest first.
    pub(super) fn steps(&self, view: View) -> impl Iterator<Item = &Step> {
        self.steps[usize::from(view == View::Upper)].iter()
    }

    /// Tasks on offer.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// Whether every offer is at least of this grade.
    pub(super) fn is_at_least(&self, grade: Grade) -> bool {
        self.grades[grade as usize + 1..].iter().all(|&n| n == 0)
    }

    /// Whether every offer is of this grade.
    pub(super) fn is_all(&self, grade: Grade) -> bool {
        self.is_at_least(grade) && self.grades[..grade as usize].iter().all(|&n| n == 0)
    }
}

/// The steps of the upper concave envelope of a curve.
fn envelope(curve: &[u32], class: u32) -> Vec<Step> {
    let step = |pair: &[usize]| Step {
        rise: curve[pair[1]] - curve[pair[0]],
        run: (pair[1] - pair[0]) as u32,
        class,
        from: narrow(pair[0]),
    };
    corners(curve).windows(2).map(step).collect()
}
