//! How many bytes volunteers may have on the server's disk: each of them, and all together. Knows no files.

use super::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// So many bytes each volunteer may have at once, and all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// One volunteer.
    pub each: u64,
    /// All of them: a half is for whoever comes first, the other is shared out, so that nobody is kept out by others.
    pub all: u64,
    /// Among so many volunteers.
    pub among: u32,
}

impl Default for Allowed {
    /// Nobody counts.
    fn default() -> Allowed {
        Allowed {
            each: u64::MAX,
            all: u64::MAX,
            among: 1,
        }
    }
}

/// Why no more is taken from a volunteer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// It would have too much, and has so much.
    Each(u64),
    /// All of them would.
    All,
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
    all: u64,
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
        let Allowed { each, all, among } = self.allowed;
        let half = all / 2;
        let share = half / u64::from(among.max(1));
        let mut used = lock(&self.used);
        let has = used.by.get(&volunteer).copied().unwrap_or(0);
        match () {
            () if bytes == 0 => Ok(()),
            () if bytes > each || bytes > half => Err(Over::Ever),
            () if has.saturating_add(bytes) > each => Err(Over::Each(has)),
            () if used.all.saturating_add(bytes) > half && has.saturating_add(bytes) > share => {
                Err(Over::All)
            }
            () => {
                used.add(volunteer, bytes);
                Ok(())
            }
        }
    }

    /// It has so many more, whatever is allowed.
    pub(crate) fn found(&self, volunteer: u32, bytes: u64) {
        lock(&self.used).add(volunteer, bytes);
    }

    /// It has so many less.
    pub(crate) fn give(&self, volunteer: u32, bytes: u64) {
        let mut used = lock(&self.used);
        let has = used.by.get(&volunteer).copied().unwrap_or(0);
        let given = bytes.min(has);
        used.all = used.all.saturating_sub(given);
        match has == given {
            true => used.by.remove(&volunteer),
            false => used.by.insert(volunteer, has - given),
        };
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> (Vec<(u32, u64)>, u64) {
        let used = lock(&self.used);
        let mut by: Vec<(u32, u64)> = used.by.iter().map(|(&v, &b)| (v, b)).collect();
        by.sort_unstable();
        (by, used.all)
    }
}

impl Used {
    fn add(&mut self, volunteer: u32, bytes: u64) {
        if bytes > 0 {
            let has = self.by.entry(volunteer).or_default();
            *has = has.saturating_add(bytes);
            self.all = self.all.saturating_add(bytes);
        }
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
            let mut taken: Vec<(u32, u64)> = Vec::new();
            for _ in 0..60 {
                let (who, bytes) = (random.below(4) as u32, random.below(50) as u64);
                if random.below(3) == 0 && !taken.is_empty() {
                    let (who, bytes) = taken.swap_remove(random.below(taken.len()));
                    allowance.give(who, bytes);
                    continue;
                }
                let own: u64 = taken.iter().filter(|t| t.0 == who).map(|t| t.1).sum();
                let sum: u64 = taken.iter().map(|t| t.1).sum();
                let expected = match () {
                    () if bytes == 0 => Ok(()),
                    () if bytes > each.min(all / 2) => Err(Over::Ever),
                    () if own + bytes > each => Err(Over::Each(own)),
                    () if own + bytes <= all / 2 / u64::from(among) => Ok(()),
                    () if sum + bytes > all / 2 => Err(Over::All),
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
        }
    }
}
