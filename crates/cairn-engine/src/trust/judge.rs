//! What the copies of a task come to, and how many more it needs. Changes nothing; knows not who is asked next.

use super::Trust;
use super::check::{Check, Copy, End};
use crate::{Task, Token};

/// What the results of a task come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// So many results are equal, of so many that must be.
    Waits {
        /// Equal results at the most.
        has: u32,
        /// That must be equal.
        of: u32,
    },
    /// The task is done as this attempt has it.
    Valid(Token),
    /// The task is given up: too many errors, results or copies.
    Hopeless,
}

impl Trust {
    /// How many more copies the task needs, where each further result may at best confirm what most say.
    pub(crate) fn wanted(&self, task: Task) -> usize {
        let Some(check) = self.checks.get(&task) else {
            return 0;
        };
        let live = check.live().count();
        // One of those settles it alone: whoever else worked on it would do so for nothing.
        let decides = |copy: &Copy| copy.client.is_none() || self.counts_alone(check, copy);
        if check.live().any(decides) {
            return 0;
        }
        // What is live may at best make the largest group larger: more copies than are missing then would be for
        // nothing.
        let agree = self.distrust.agree() as usize;
        let missing = agree.saturating_sub(check.largest().0 + live);
        let total = self.distrust.max_total as usize;
        missing.min(total.saturating_sub(check.total()))
    }

    /// Whether a copy's result would count without another: its client has earned it, still deserves it, and nobody says
    /// otherwise.
    pub(super) fn counts_alone(&self, check: &Check, copy: &Copy) -> bool {
        let row = |client| self.records.get(&client).map_or(0, |record| record.row);
        // Drawn when it was given out, and asked again now: a client that was caught lying meanwhile counts alone no
        // more.
        copy.alone
            && (copy.client.zip(self.distrust.earned)).is_some_and(|(c, earned)| row(c) >= earned)
            && check.results().all(|(other, _)| other.token == copy.token)
    }

    /// What the results of a task come to.
    pub fn agreement(&self, task: Task) -> Agreement {
        match self.checks.get(&task) {
            Some(check) => self.judge(check),
            None => Agreement::Waits {
                has: 0,
                of: self.distrust.agree(),
            },
        }
    }

    fn judge(&self, check: &Check) -> Agreement {
        let of = self.distrust.agree();
        let (has, token) = check.largest();
        // A quorum first: where enough agree, nobody's standing matters.
        if let Some(token) = token.filter(|_| has >= of as usize) {
            return Agreement::Valid(token);
        }
        let mut results = check.results();
        if let Some((copy, _)) = results.next()
            && self.counts_alone(check, copy)
        {
            return Agreement::Valid(copy.token);
        }
        // As long as somebody is at it, the last copy may still bring the result.
        let is_worn = !check.is_awaited() && check.total() >= self.distrust.max_total as usize;
        if is_worn
            || self.is_beyond_all(check, has)
            // Caps, as each copy costs somebody's time: a task that fails everywhere, or that never makes the same
            // twice, would go round all clients for ever.
            || check.errors() > self.distrust.max_errors as usize
            || check.results().count() > self.distrust.max_successes as usize
        {
            return Agreement::Hopeless;
        }
        Agreement::Waits {
            has: has as u32,
            of,
        }
    }

    /// Whether not even all clients that are left could make enough results equal, and nobody is here whose result counts alone.
    fn is_beyond_all(&self, check: &Check, has: usize) -> bool {
        let Some(clients) = self.distrust.clients.filter(|_| self.trusted == 0) else {
            return false;
        };
        let voices = check.voices();
        let left = (clients as usize).saturating_sub(voices);
        // Without a single result nothing was contradicted: the task may only be waiting for its first client.
        voices > 0 && has + left < self.distrust.agree() as usize
    }

    /// What it would come to if this copy came back so, or ended otherwise.
    pub(crate) fn foresee(&self, task: Task, token: Token, end: End) -> Agreement {
        let Some(check) = self.checks.get(&task) else {
            return self.agreement(task);
        };
        let mut check = check.clone();
        if let Some(copy) = check.copies.iter_mut().find(|c| c.token == token) {
            copy.end = Some(end);
            copy.is_awaited = false;
        }
        self.judge(&check)
    }

    /// Whether what the task needs is a retry: some copy did not come to a result, or results do not agree.
    pub(crate) fn is_retry(&self, task: Task) -> bool {
        self.checks.get(&task).is_some_and(|check| {
            let ended = check.copies.len() - check.live().count();
            ended > check.largest().0
        })
    }
}
