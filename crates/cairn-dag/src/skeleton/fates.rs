//! What is known of each arc while the skeleton is sought. Knows not how it became known.

use super::ranked::Ranked;
use crate::narrow;

/// What is known of an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// No shortcut: stays.
    Kept,
    /// Not decided yet.
    Open,
    /// Its ends are joined by a longer path: goes.
    Shortcut,
}

/// The fate of each arc, by its slot in [`Ranked::parent_slots`].
pub(super) struct Fates {
    pub(super) of: Vec<Fate>,
    /// How many are open.
    pub(super) open: usize,
}

impl Fates {
    /// Keeps all arcs that levels and degrees prove to be no shortcuts; all others are open. Linear.
    pub(super) fn by_levels(ranked: &Ranked) -> Fates {
        let mut of = vec![Fate::Kept; ranked.arc_count()];
        let mut open = 0;
        for v in 0..narrow(ranked.len()) {
            for slot in ranked.parent_slots(v) {
                if ranked.may_be_shortcut(ranked.tail(slot), v) {
                    of[slot] = Fate::Open;
                    open += 1;
                }
            }
        }
        Fates { of, open }
    }

    pub(super) fn decide(&mut self, slot: usize, fate: Fate) {
        debug_assert_eq!(self.of[slot], Fate::Open);
        self.of[slot] = fate;
        self.open -= 1;
    }
}
