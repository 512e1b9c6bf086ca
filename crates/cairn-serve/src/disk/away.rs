//! Attempts at tasks that write to the disk that is counted, until their workers say that they are over. Knows no engine and no
//! files.
//!
//! A lease can end without a word of who has it: the worker is silent, the task is cancelled, its time is up. What the attempt
//! reserved is free by the books, but the attempt may go on and write: it is *lost*. So its bytes count on, until
//!
//! - its worker returns it, or says goodbye;
//! - its worker, under its name, says what it works on and does not name it: who comes back to its place has ended what an
//!   earlier worker left there, and who was only cut off names what it still has;
//! - nobody has heard of it for the grace after it was given up: silence and grace together. An attempt that is cut off for longer
//!   than that, and goes on writing, is not seen: that is the one way in which the disk of a shared folder can be over its cap
//!   for want of knowledge.

use cairn_engine::{Task, Token};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// All attempts that are under way or lost.
#[derive(Debug, Default)]
pub(crate) struct Away {
    grace: Duration,
    /// Who has which attempt.
    under_way: HashMap<Task, (Token, String)>,
    lost: Vec<Lost>,
}

/// An attempt whose lease ended without a word.
#[derive(Debug)]
struct Lost {
    task: Task,
    /// Not known after a restart.
    token: Option<Token>,
    worker: String,
    bytes: u64,
    until: Instant,
}

/// An attempt that was lost and is over: so many bytes count no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ceased {
    pub(crate) task: Task,
    pub(crate) bytes: u64,
}

impl Away {
    pub(crate) fn new(grace: Duration) -> Away {
        Away {
            grace,
            ..Away::default()
        }
    }

    /// A worker has an attempt.
    pub(crate) fn begun(&mut self, task: Task, token: Token, worker: &str) {
        self.under_way.insert(task, (token, worker.to_owned()));
    }

    /// The lease of a task ended: with this attempt, or with whatever it was. Returns whether nobody said that it is over; then
    /// it is lost, and these bytes count on.
    pub(crate) fn ended(
        &mut self,
        task: Task,
        token: Option<Token>,
        bytes: u64,
        now: Instant,
    ) -> bool {
        let is_it = |(own, _): &(Token, String)| token.is_none_or(|token| token == *own);
        // Another attempt at the task may be under way by now: it is not this one that ended.
        if !self.under_way.get(&task).is_some_and(is_it) {
            return false;
        }
        let Some((token, worker)) = self.under_way.remove(&task) else {
            return false;
        };
        self.lose(task, Some(token), worker, bytes, now);
        true
    }

    /// An attempt is lost.
    pub(crate) fn lose(
        &mut self,
        task: Task,
        token: Option<Token>,
        worker: String,
        bytes: u64,
        now: Instant,
    ) {
        self.lost.push(Lost {
            task,
            token,
            worker,
            bytes,
            until: now + self.grace,
        });
    }

    /// What lost attempts may still write, at most.
    pub(crate) fn bytes(&self) -> u64 {
        self.lost.iter().map(|lost| lost.bytes).sum()
    }

    /// The worker says that the attempt is over. Returns the bytes that count no more, where it was lost.
    pub(crate) fn over(&mut self, task: Task, token: Token) -> u64 {
        if self
            .under_way
            .get(&task)
            .is_some_and(|(own, _)| *own == token)
        {
            self.under_way.remove(&task);
        }
        // Without a token, after a restart, any attempt at the task is it: at worst some bytes are free a little early.
        let is_it = |l: &Lost| l.task == task && l.token.is_none_or(|own| own == token);
        self.take(is_it).iter().map(|over| over.bytes).sum()
    }

    /// A worker says all that it works on.
    pub(crate) fn heard(
        &mut self,
        worker: &str,
        holding: &[(Task, Token)],
        now: Instant,
    ) -> Vec<Ceased> {
        let names = |l: &Lost| {
            let is_it = |(task, token): &(Task, Token)| {
                *task == l.task && l.token.is_none_or(|own| own == *token)
            };
            holding.iter().any(is_it)
        };
        let until = now + self.grace;
        // Who still has it may still write: the grace begins again with every such word.
        for lost in self.lost.iter_mut().filter(|l| l.worker == worker) {
            if names(lost) {
                lost.until = until;
            }
        }
        // By the name, not the number: who was given up for lost and joins again is another number, and the same worker.
        self.take(|l| l.worker == worker && !names(l))
    }

    /// Attempts of which nobody heard for too long.
    pub(crate) fn expired(&mut self, now: Instant) -> Vec<Ceased> {
        self.take(|l| l.until <= now)
    }

    fn take(&mut self, which: impl Fn(&Lost) -> bool) -> Vec<Ceased> {
        let mut over = Vec::new();
        self.lost.retain(|lost| {
            let goes = which(lost);
            if goes {
                let (task, bytes) = (lost.task, lost.bytes);
                over.push(Ceased { task, bytes });
            }
            !goes
        });
        over
    }

    /// When the next one expires.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.lost.iter().map(|l| l.until).min()
    }

    /// A worker that is waited for.
    pub(crate) fn waits_for(&self) -> Option<&str> {
        self.lost.first().map(|l| l.worker.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As long as the usual silence of a server.
    const GRACE: Duration = Duration::from_secs(15);

    fn token(attempt: u32) -> Token {
        Token { epoch: 1, attempt }
    }

    #[test]
    fn what_its_worker_ended_is_over_at_once() {
        let (mut away, now) = (Away::new(GRACE), Instant::now());
        away.begun(Task(1), token(1), "w");
        assert_eq!(away.over(Task(1), token(1)), 0);
        assert!(!away.ended(Task(1), Some(token(1)), 50, now));
        assert!(away.next().is_none() && away.waits_for().is_none());
    }

    #[test]
    fn a_lost_attempt_counts_until_its_worker_speaks_or_the_grace_is_over() {
        let (mut away, now) = (Away::new(GRACE), Instant::now());
        let lose = |away: &mut Away, attempt| {
            away.begun(Task(1), token(attempt), "w");
            assert!(away.ended(Task(1), Some(token(attempt)), 50, now));
        };
        // It returns late.
        lose(&mut away, 1);
        assert_eq!(away.bytes(), 50);
        assert_eq!(away.waits_for(), Some("w"));
        assert_eq!(away.over(Task(1), token(1)), 50);
        assert_eq!(away.over(Task(1), token(1)), 0);
        // It comes back and has it, then has it no more.
        lose(&mut away, 2);
        let later = now + GRACE / 2;
        assert_eq!(away.heard("w", &[(Task(1), token(2))], later), []);
        assert_eq!(away.next(), Some(later + GRACE));
        assert_eq!(away.expired(now + GRACE), []);
        assert_eq!(away.heard("other", &[], later), []);
        let (task, bytes) = (Task(1), 50);
        assert_eq!(away.heard("w", &[], later), [Ceased { task, bytes }]);
        // Nobody hears of it.
        lose(&mut away, 3);
        assert_eq!(away.expired(now + GRACE), [Ceased { task, bytes }]);
        assert!(away.next().is_none());
    }

    #[test]
    fn another_attempt_at_the_same_task_is_another() {
        let (mut away, now) = (Away::new(GRACE), Instant::now());
        away.begun(Task(1), token(1), "w");
        assert!(away.ended(Task(1), None, 50, now));
        away.begun(Task(1), token(2), "v");
        assert!(!away.ended(Task(1), Some(token(1)), 50, now));
        assert_eq!(away.over(Task(1), token(2)), 0);
        assert_eq!(away.over(Task(1), token(1)), 50);
        // After a restart nobody knows which attempt it was.
        away.lose(Task(4), None, "w".to_owned(), 7, now);
        assert_eq!(away.heard("w", &[(Task(4), token(9))], now), []);
        assert_eq!(away.over(Task(4), token(9)), 7);
    }
}
