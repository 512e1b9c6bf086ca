//! Requests that wait for a task: long polls, in the order in which they came. Knows no engine.

use super::asks::Answer;
use cairn_engine::{Refusal, WorkerId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;
use tokio::sync::oneshot;

/// Somebody who waits for a task.
pub(super) struct Waiter {
    pub(super) worker: WorkerId,
    pub(super) want: usize,
    pub(super) until: Instant,
    /// Why it got nothing when it asked.
    pub(super) refused: Option<Refusal>,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// All who wait, each with a number; a worker waits once.
#[derive(Default)]
pub(super) struct Waiters {
    next: u64,
    by_number: BTreeMap<u64, Waiter>,
    of_worker: HashMap<WorkerId, u64>,
    ends: BTreeSet<(Instant, u64)>,
}

impl Waiters {
    pub(super) fn push(&mut self, waiter: Waiter) {
        self.next += 1;
        self.of_worker.insert(waiter.worker, self.next);
        self.ends.insert((waiter.until, self.next));
        self.by_number.insert(self.next, waiter);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.by_number.remove(&number)?;
        self.ends.remove(&(waiter.until, number));
        // A later request of the same worker may have taken its place.
        if self.of_worker.get(&waiter.worker) == Some(&number) {
            self.of_worker.remove(&waiter.worker);
        }
        Some(waiter)
    }

    /// The request of a worker, which waits no longer.
    pub(super) fn take_of(&mut self, worker: WorkerId) -> Option<Waiter> {
        let number = self.of_worker.get(&worker).copied()?;
        self.remove(number)
    }

    /// One whose time is up, which waits no longer.
    pub(super) fn take_late(&mut self, now: Instant) -> Option<Waiter> {
        let &(at, number) = self.ends.first()?;
        match at <= now {
            true => self.remove(number),
            false => None,
        }
    }

    /// Forgets those who no longer listen; the others, with their numbers, first come first.
    pub(super) fn listening(&mut self) -> Vec<u64> {
        // Whoever hung up has dropped its end. A task given to it would be nobody's until its worker is
        // heard of, or is lost.
        let gone = |(&n, waiter): (&u64, &Waiter)| waiter.reply.is_closed().then_some(n);
        let gone: Vec<u64> = self.by_number.iter().filter_map(gone).collect();
        gone.into_iter().for_each(|n| drop(self.remove(n)));
        self.by_number.keys().copied().collect()
    }

    pub(super) fn get(&self, number: u64) -> &Waiter {
        &self.by_number[&number]
    }

    /// When the next one's time is up.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|&(at, _)| at)
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }
}
