//! Who works on what: the live attempts at each task, and what the end of one means for its task. Decides nothing else.
//!
//! **The rule of copies.** A task is leased from its first attempt on, for as long as somebody works on it or a result of it
//! waits for validation. Most tasks have one attempt at a time; a *copy* is another one beside it, for a second opinion or
//! because the first is slow. Whichever counts takes the others along: they are put back with the same event and their
//! workers told to stop. An attempt that ends otherwise takes its task along only if it was the last, and nothing of the
//! task waits for validation. No worker has two attempts at one task.

use crate::{ClassId, Moment, Task, Token, WorkerId};
use cairn_theory::game::Standing;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Where a task stands once an attempt at it has ended without its being executed, by the rule of copies: whether it is given
/// up for good, somebody else works on it, and a result of it waits for validation.
///
/// ```
/// use cairn_engine::standing_after;
/// use cairn_theory::game::Standing;
/// assert_eq!(standing_after(false, false, false), Standing::Eligible);
/// assert_eq!(standing_after(false, true, false), Standing::Leased);
/// assert_eq!(standing_after(false, false, true), Standing::Leased);
/// assert_eq!(standing_after(true, true, true), Standing::Failed);
/// ```
pub fn standing_after(for_good: bool, has_other: bool, has_result: bool) -> Standing {
    match (for_good, has_other || has_result) {
        (true, _) => Standing::Failed,
        (false, true) => Standing::Leased,
        (false, false) => Standing::Eligible,
    }
}

/// An attempt that somebody works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) worker: WorkerId,
    pub(crate) token: Token,
    /// When it was given.
    pub(crate) since: Moment,
    pub(crate) class: ClassId,
    /// Whether the worker was told to end it.
    pub(crate) is_ending: bool,
    /// By when it must be back: volunteers alone have such a time.
    pub(crate) due: Option<Moment>,
    /// By when instead, since it was told again. No part of the durable state.
    pub(crate) extended: Option<Moment>,
}

/// Live attempts by task. Copies have a book of their own, so that a run without any takes no room for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    oldest: HashMap<Task, Lease>,
    /// Those that began later, from old to new; never empty.
    copies: HashMap<Task, Vec<Lease>>,
}

impl Leases {
    /// The oldest live attempt at a task.
    #[inline]
    pub(crate) fn oldest(&self, task: Task) -> Option<&Lease> {
        self.oldest.get(&task)
    }

    /// All live attempts at a task, from old to new.
    pub(crate) fn of(&self, task: Task) -> impl Iterator<Item = &Lease> {
        self.oldest.get(&task).into_iter().chain(self.later(task))
    }

    fn later(&self, task: Task) -> &[Lease] {
        // Most runs have no copies at all: nothing is looked up on the way of a return.
        match self.copies.is_empty() {
            true => &[],
            false => self.copies.get(&task).map_or(&[], Vec::as_slice),
        }
    }

    /// One live attempt.
    #[inline]
    pub(crate) fn get(&self, task: Task, token: Token) -> Option<&Lease> {
        match self.oldest.get(&task) {
            Some(lease) if lease.token == token => Some(lease),
            _ => self.later(task).iter().find(|lease| lease.token == token),
        }
    }

    pub(crate) fn get_mut(&mut self, task: Task, token: Token) -> Option<&mut Lease> {
        let oldest = self.oldest.get_mut(&task).into_iter();
        let later = self.copies.get_mut(&task).into_iter().flatten();
        oldest.chain(later).find(|lease| lease.token == token)
    }

    /// Whether somebody works on the task as another attempt than this.
    pub(crate) fn has_other(&self, task: Task, token: Token) -> bool {
        self.of(task).any(|lease| lease.token != token)
    }

    /// Every live attempt, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Task, &Lease)> {
        let later = self.copies.iter();
        let later = later.flat_map(|(&task, all)| all.iter().map(move |lease| (task, lease)));
        (self.oldest.iter().map(|(&task, lease)| (task, lease))).chain(later)
    }

    /// Whether any task has several live attempts.
    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.is_empty()
    }

    pub(crate) fn insert(&mut self, task: Task, lease: Lease) {
        match self.oldest.entry(task) {
            Entry::Vacant(free) => {
                free.insert(lease);
            }
            Entry::Occupied(_) => {
                self.copies.entry(task).or_default().push(lease);
            }
        }
    }

    pub(crate) fn remove(&mut self, task: Task, token: Token) -> Option<Lease> {
        let later = match self.copies.is_empty() {
            true => None,
            false => self.copies.get_mut(&task),
        };
        let Some(later) = later else {
            return match self.oldest.entry(task) {
                Entry::Occupied(only) if only.get().token == token => Some(only.remove()),
                _ => None,
            };
        };
        let oldest = *self.oldest.get(&task)?;
        let removed = match oldest.token == token {
            true => {
                // The next oldest moves up: `oldest` has an entry for every task that has any attempt.
                let next = later.remove(0);
                self.oldest.insert(task, next)
            }
            false => {
                let place = later.iter().position(|lease| lease.token == token)?;
                Some(later.remove(place))
            }
        };
        if later.is_empty() {
            self.copies.remove(&task);
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    /// Against a plain list of all live attempts.
    #[test]
    fn live_attempts_are_those_of_a_plain_list() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut leases = Leases::default();
            let mut list: Vec<(Task, Token)> = Vec::new();
            for attempt in 1..60 {
                let task = Task(random.below(4) as u64);
                let token = Token { epoch: 1, attempt };
                if random.below(2) == 0 {
                    let lease = Lease {
                        worker: WorkerId(attempt),
                        token,
                        since: Moment(0),
                        class: ClassId::default(),
                        is_ending: false,
                        due: None,
                        extended: None,
                    };
                    leases.insert(task, lease);
                    list.push((task, token));
                } else if !list.is_empty() {
                    let (task, token) = list.remove(random.below(list.len()));
                    assert_eq!(leases.remove(task, token).map(|l| l.token), Some(token));
                    assert!(leases.remove(task, token).is_none());
                    assert!(leases.get(task, token).is_none());
                }
                for task in (0..4).map(Task) {
                    let of = |&&(t, _): &&(Task, Token)| t == task;
                    let expected: Vec<Token> = list.iter().filter(of).map(|l| l.1).collect();
                    let found: Vec<Token> = leases.of(task).map(|l| l.token).collect();
                    assert_eq!(found, expected);
                    assert_eq!(leases.oldest(task).map(|l| l.token), found.first().copied());
                    for token in found {
                        assert_eq!(leases.get(task, token).map(|l| l.token), Some(token));
                        assert_eq!(leases.get_mut(task, token).map(|l| l.token), Some(token));
                        assert_eq!(leases.has_other(task, token), expected.len() > 1);
                    }
                }
                assert_eq!(leases.iter().count(), list.len());
                assert_eq!(leases.is_empty(), list.is_empty());
            }
            assert!(leases.copies.values().all(|all| !all.is_empty()));
        }
    }
}
