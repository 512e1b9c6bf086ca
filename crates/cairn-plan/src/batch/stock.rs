//! All offers, those with equal numbers in one lot, kept up to date as pieces change. Knows numbers, not tasks.

use super::piece::{Grade, Offer, PieceId};
use cairn_kernel::{corners, ids, narrow};
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

ids! {
    /// A lot in stock. Its number is used again when it is gone.
    pub(super) LotId,
}

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
pub(super) struct Lot {
    numbers: Numbers,
    /// Pieces by rank.
    // Sorted: of equal pieces those give most that come first in the plan.
    pub(super) members: BTreeMap<u32, PieceId>,
}

impl Lot {
    /// By number of tasks.
    pub(super) fn curve(&self, view: View) -> &[u32] {
        match view {
            View::Upper if !self.numbers.upper.is_empty() => &self.numbers.upper,
            _ => &self.numbers.gain,
        }
    }

    /// Rank of the first member.
    pub(super) fn rank(&self) -> u32 {
        *self
            .members
            .first_key_value()
            .expect("a lot in stock has pieces")
            .0
    }
}

/// A step of the upper concave envelope of a lot, the steepest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) rise: u32,
    pub(super) run: u32,
    pub(super) lot: LotId,
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
        let place = |s: &Step| (s.lot, s.from);
        self.cmp_slope(other).then(place(self).cmp(&place(other)))
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Step) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The lots, and the steps of their envelopes.
#[derive(Clone, Debug, Default)]
pub(super) struct Stock {
    lots: Vec<Option<Lot>>,
    free: Vec<LotId>,
    by_numbers: HashMap<Numbers, LotId>,
    /// By view.
    steps: [BTreeSet<Step>; 2],
    /// Pieces by grade.
    grades: [usize; 3],
    /// Tasks on offer.
    tasks: usize,
}

impl Stock {
    /// Takes in a piece of that rank; returns its lot. No two pieces have the same rank. O(tasks of the offer) for
    /// a new lot, else a look at the numbers.
    pub(super) fn put(&mut self, offer: Offer, piece: PieceId, rank: u32) -> LotId {
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
        let lot = self.lots[number.index()].as_mut();
        lot.expect("a live lot").members.insert(rank, piece);
        number
    }

    fn found(&mut self, numbers: Numbers) -> LotId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lots.push(None);
            LotId::new(self.lots.len() - 1)
        });
        // Found by their numbers, not by what they are of: pieces of other shapes with equal offers are as good.
        self.by_numbers.insert(numbers.clone(), number);
        let lot = Lot {
            numbers,
            members: BTreeMap::new(),
        };
        for (view, steps) in [View::Gain, View::Upper].into_iter().zip(&mut self.steps) {
            steps.extend(envelope(lot.curve(view), number));
        }
        self.lots[number.index()] = Some(lot);
        number
    }

    /// Takes a piece out.
    pub(super) fn take(&mut self, number: LotId, rank: u32) {
        let slot = &mut self.lots[number.index()];
        let lot = slot.as_mut().expect("a live lot");
        lot.members.remove(&rank);
        self.tasks -= lot.numbers.gain.len() - 1;
        self.grades[usize::from(lot.numbers.grade)] -= 1;
        if !lot.members.is_empty() {
            return;
        }
        let lot = slot.take().expect("a live lot");
        for (view, steps) in [View::Gain, View::Upper].into_iter().zip(&mut self.steps) {
            for step in envelope(lot.curve(view), number) {
                steps.remove(&step);
            }
        }
        self.by_numbers.remove(&lot.numbers);
        self.free.push(number);
    }

    pub(super) fn lot(&self, number: LotId) -> &Lot {
        self.lots[number.index()].as_ref().expect("a live lot")
    }

    /// All lots with their numbers.
    pub(super) fn lots(&self) -> impl Iterator<Item = (LotId, &Lot)> {
        let numbered = self.lots.iter().enumerate();
        numbered.filter_map(|(i, c)| Some((LotId::new(i), c.as_ref()?)))
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
fn envelope(curve: &[u32], lot: LotId) -> Vec<Step> {
    let step = |pair: &[usize]| Step {
        rise: curve[pair[1]] - curve[pair[0]],
        run: narrow(pair[1] - pair[0]),
        lot,
        from: narrow(pair[0]),
    };
    corners(curve).windows(2).map(step).collect()
}
