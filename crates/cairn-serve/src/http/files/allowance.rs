//! How many bytes volunteers may have on the server's disk: each of them, and all together. Knows no files.

use crate::free::NO_LIMIT;
use crate::mutex::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// So many bytes each volunteer may have at once, and all of them together.
///
/// One half of what all may have is shared out: nobody is kept out by others. The other half is for whoever needs more than its
/// share, and nobody may have more of it than it leaves free for others there: of n who want all they can get, each has one part of
/// n + 1, and one part is always left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// One volunteer.
    pub each: u64,
    /// All of them.
    pub all: u64,
    /// Among so many volunteers.
    pub among: u32,
}

impl Default for Allowed {
    /// Nobody counts.
    fn default() -> Allowed {
        Allowed {
            each: NO_LIMIT,
            all: NO_LIMIT,
            among: 1,
        }
    }
}

impl Allowed {
    fn common(self) -> u64 {
        self.all / 2
    }

    fn share(self) -> u64 {
        self.all / 2 / u64::from(self.among.max(1))
    }

    /// What one volunteer can have at the most, when the others have nothing.
    pub(crate) fn most(self) -> u64 {
        self.each.min(self.share() + self.common() / 2)
    }
}

/// Why no more is taken from a volunteer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// It would have too much, and has so much.
    Each(u64),
    /// It would have more than it leaves for others, and has so much.
    All(u64),
    /// It is more than anybody may have.
    Ever,
}

/// What volunteers have, by number.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    allowed: Allowed,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    by: HashMap<u32, u64>,
    /// What all of them have beyond their shares.
    beyond: u64,
}

impl Allowance {
    pub(crate) fn new(allowed: Allowed) -> Allowance {
        Allowance {
            allowed,
            used: Mutex::default(),
        }
    }

    pub(crate) fn allowed(&self) -> Allowed {
        self.allowed
    }

    /// Lets a volunteer have so many more, all or none.
    pub(crate) fn take(&self, volunteer: u32, bytes: u64) -> Result<(), Over> {
        let (each, share) = (self.allowed.each, self.allowed.share());
        let mut used = lock(&self.used);
        let has = used.by.get(&volunteer).copied().unwrap_or(0);
        let wants = has.saturating_add(bytes);
        // The sum has this volunteer's part in it: it is never less.
        let others = used.beyond - has.saturating_sub(share);
        let left = self.allowed.common().saturating_sub(others);
        match () {
            () if bytes == 0 => Ok(()),
            // First: whoever hears that waiting helps must not wait for ever.
            () if bytes > self.allowed.most() => Err(Over::Ever),
            () if wants > each => Err(Over::Each(has)),
            // Half of what the others leave there: then at least as much is free as it has.
            () if wants > share && wants - share > left / 2 => Err(Over::All(has)),
            () => {
                used.set(volunteer, wants, share);
                Ok(())
            }
        }
    }

    /// It has so many more, whatever is allowed.
    pub(crate) fn found(&self, volunteer: u32, bytes: u64) {
        let mut used = lock(&self.used);
        let has = used.by.get(&volunteer).copied().unwrap_or(0);
        used.set(volunteer, has.saturating_add(bytes), self.allowed.share());
    }

    /// It has so many less.
    pub(crate) fn give(&self, volunteer: u32, bytes: u64) {
        let mut used = lock(&self.used);
        let has = used.by.get(&volunteer).copied().unwrap_or(0);
        used.set(volunteer, has.saturating_sub(bytes), self.allowed.share());
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> (Vec<(u32, u64)>, u64) {
        let used = lock(&self.used);
        let mut by: Vec<(u32, u64)> = used.by.iter().map(|(&v, &b)| (v, b)).collect();
        by.sort_unstable();
        let all = by.iter().map(|&(_, bytes)| bytes).sum();
        (by, all)
    }
}

impl Used {
    /// A volunteer has so much.
    fn set(&mut self, volunteer: u32, bytes: u64, share: u64) {
        let before = match bytes {
            0 => self.by.remove(&volunteer),
            _ => self.by.insert(volunteer, bytes),
        };
        // Kept with every change: each upload and each piece of a log asks for it.
        self.beyond -= before.unwrap_or(0).saturating_sub(share);
        self.beyond += bytes.saturating_sub(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    /// Against sums taken anew each time.
    #[test]
    fn nobody_takes_more_than_is_allowed_and_what_is_given_back_is_there_again() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (each, all) = (random.below(100) as u64, random.below(200) as u64);
            let among = 1 + random.below(5) as u32;
            let allowance = Allowance::new(Allowed { each, all, among });
            let share = all / 2 / u64::from(among);
            let mut taken: Vec<(u32, u64)> = Vec::new();
            for _ in 0..60 {
                let (who, bytes) = (random.below(4) as u32, random.below(50) as u64);
                if random.below(3) == 0 && !taken.is_empty() {
                    let (who, bytes) = taken.swap_remove(random.below(taken.len()));
                    allowance.give(who, bytes);
                    continue;
                }
                let has =
                    |who: u32| -> u64 { taken.iter().filter(|t| t.0 == who).map(|t| t.1).sum() };
                let beyond = |bytes: u64| bytes.saturating_sub(share);
                let others = (0..4).filter(|&other| other != who).map(|w| beyond(has(w)));
                let others: u64 = others.sum();
                let (own, wants) = (has(who), has(who) + bytes);
                let expected = match () {
                    () if bytes == 0 => Ok(()),
                    () if bytes > each.min(share + all / 2 / 2) => Err(Over::Ever),
                    () if wants > each => Err(Over::Each(own)),
                    // What is left for others is no less than what it has there.
                    () if beyond(wants) > 0 && 2 * beyond(wants) + others > all / 2 => {
                        Err(Over::All(own))
                    }
                    () => Ok(()),
                };
                assert_eq!(allowance.take(who, bytes), expected);
                if expected.is_ok() {
                    taken.push((who, bytes));
                }
            }
            let sum: u64 = taken.iter().map(|t| t.1).sum();
            assert!(among < 4 || sum <= all, "{sum} of {all}");
            taken.drain(..).for_each(|(who, b)| allowance.give(who, b));
            assert_eq!(allowance.used(), (Vec::new(), 0));
            assert_eq!(lock(&allowance.used).beyond, 0);
        }
    }

    /// However greedy one is, or several are: whoever comes next finds something beyond its share.
    #[test]
    fn nobody_fills_what_is_for_all() {
        let (each, all, among) = (NO_LIMIT, 24_000, 100);
        let allowance = Allowance::new(Allowed { each, all, among });
        let share = all / 2 / u64::from(among);
        for greedy in 0..5 {
            while allowance.take(greedy, 1).is_ok() {}
            assert!(allowance.take(99, share + 100).is_ok(), "after {greedy}");
            allowance.give(99, share + 100);
        }
        let (by, _) = allowance.used();
        assert_eq!(by[0], (0, share + 6_000), "the first had half of it");
    }
}
