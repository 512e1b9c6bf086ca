//! A worker's half of the protocol: what to ask, what to return, what to stop. Knows no processes and no network.
//!
//! The driver sends the requests, brings the answers, starts and ends the attempts. One exchange is under way at a time.
//! Whatever gets lost on the way, nothing is begun twice and nothing that was done is forgotten: a return is repeated until
//! a receipt comes, and after an exchange without an answer the worker says what it has, so that it is told again what it
//! was given.

use crate::budgets::remembered::STOPPED;
use crate::{Exchanged, Granted, Outcome, Receipt, Refusal, Task, Token, WorkerId};
use std::collections::VecDeque;

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Join: the server does not know the worker, or no longer.
    Join,
    /// [`crate::Engine::exchange`].
    Exchange {
        /// As whom.
        worker: WorkerId,
        /// What ended.
        returns: Vec<(Task, Token, Outcome)>,
        /// What it has, where an answer may have been lost.
        holding: Option<Vec<(Task, Token)>>,
        /// How many tasks it can begin.
        want: usize,
    },
}

/// A worker.
#[derive(Clone, Debug, Default)]
pub struct Client {
    worker: Option<WorkerId>,
    slots: usize,
    running: Vec<(Task, Token)>,
    /// What ended and has no receipt.
    finished: Vec<(Task, Token, Outcome)>,
    /// How many of them the exchange under way carries.
    sent: usize,
    /// What it was told to end, the newest last. A server that began again may not know that it told so.
    stopped: VecDeque<(Task, Token)>,
    is_asking: bool,
    is_unsure: bool,
    is_draining: bool,
}

impl Client {
    /// A worker that does so many tasks at the same time.
    pub fn new(slots: usize) -> Client {
        Client {
            slots,
            ..Client::default()
        }
    }

    /// The worker was ended and began again: what it had finished without a receipt is returned, too.
    pub fn resume(&mut self, finished: Vec<(Task, Token, Outcome)>) {
        self.finished.extend(finished);
    }

    /// What to send now; `None` while an exchange is under way, or where there is nothing to say.
    pub fn request(&mut self) -> Option<Request> {
        if self.is_asking {
            return None;
        }
        let Some(worker) = self.worker else {
            if self.is_draining && self.finished.is_empty() {
                return None;
            }
            self.is_asking = true;
            return Some(Request::Join);
        };
        let want = match self.is_draining {
            true => 0,
            false => self.slots.saturating_sub(self.running.len()),
        };
        if want == 0 && self.finished.is_empty() && !self.is_unsure {
            return None;
        }
        self.is_asking = true;
        // What ends while this is on its way has no receipt in the answer.
        self.sent = self.finished.len();
        let returns = self.finished.clone();
        let finished = returns.iter().map(|&(task, token, _)| (task, token));
        let holding = (self.running.iter().copied()).chain(finished).collect();
        Some(Request::Exchange {
            worker,
            returns,
            holding: self.is_unsure.then_some(holding),
            want,
        })
    }

    /// The server knows the worker as this one. What it had as another goes on: the server says at the next heartbeat what
    /// of it no longer counts.
    pub fn joined(&mut self, worker: WorkerId) {
        self.worker = Some(worker);
        self.is_asking = false;
        // What goes on takes room that the server does not know of: it is told before it gives anything.
        self.is_unsure = !self.running.is_empty();
    }

    /// The exchange was answered. Returns what to begin.
    pub fn answered(&mut self, answer: &Exchanged) -> Vec<Granted> {
        self.is_asking = false;
        self.is_unsure = false;
        let receipts = answer.receipts.len().min(self.sent);
        // Receipts are by place. What ended since the request went out stands behind those and waits for the next.
        self.finished.drain(..receipts);
        if answer.refused == Some(Refusal::Unknown) {
            self.worker = None;
        }
        let has = |client: &Client, g: &Granted| {
            let finished = client
                .finished
                .iter()
                .map(|&(task, token, _)| (task, token));
            let mut all = client.running.iter().copied().chain(finished);
            all.any(|had| had == (g.task, g.token))
        };
        let new: Vec<Granted> = (answer.granted.iter())
            .filter(|granted| !has(self, granted))
            .copied()
            .collect();
        // Those that came too late are given back, and those that were ended: no attempt begins twice.
        let is_back = |g: &Granted| self.is_draining || self.stopped.contains(&(g.task, g.token));
        let (back, new): (Vec<Granted>, Vec<Granted>) = new.into_iter().partition(is_back);
        let back = back.iter().map(|g| (g.task, g.token, Outcome::GivenBack));
        self.finished.extend(back);
        self.running.extend(new.iter().map(|g| (g.task, g.token)));
        new
    }

    /// No answer came: nobody knows what the server made of it.
    pub fn unanswered(&mut self) {
        self.is_asking = false;
        self.is_unsure = true;
    }

    /// An attempt ended. One that was stopped meanwhile no longer counts.
    pub fn finished(&mut self, task: Task, token: Token, outcome: Outcome) {
        let before = self.running.len();
        self.running.retain(|&had| had != (task, token));
        if self.running.len() < before {
            self.finished.push((task, token, outcome));
        }
    }

    /// What to name in a heartbeat; `None` where the server does not know the worker.
    pub fn heartbeat(&self) -> Option<(WorkerId, Vec<(Task, Token)>)> {
        // Else the server would take it for lost, and give it to somebody else.
        let finished = self.finished.iter().map(|&(task, token, _)| (task, token));
        let holding = self.running.iter().copied().chain(finished).collect();
        self.worker.map(|worker| (worker, holding))
    }

    /// The heartbeat was answered: these attempts no longer count. Returns those to be ended. What is finished already is
    /// returned all the same: it may count after all.
    pub fn stop(&mut self, stale: &[(Task, Token)]) -> Vec<(Task, Token)> {
        let (ended, kept): (Vec<_>, Vec<_>) =
            (self.running.iter().copied()).partition(|held| stale.contains(held));
        self.running = kept;
        // An answer under way may still have it: it would begin anew what was just ended.
        self.stopped.extend(&ended);
        let too_many = self.stopped.len().saturating_sub(STOPPED);
        self.stopped.drain(..too_many);
        ended
    }

    /// The heartbeat was refused: the server does not know the worker any more.
    pub fn forgotten(&mut self, worker: WorkerId) {
        if self.worker == Some(worker) {
            self.worker = None;
        }
    }

    /// Asks for nothing more; what runs may end.
    pub fn drain(&mut self) {
        self.is_draining = true;
    }

    /// What it works on.
    pub fn running(&self) -> &[(Task, Token)] {
        &self.running
    }

    /// What ended and has no receipt: to be kept where a crash does not reach it.
    pub fn unacknowledged(&self) -> &[(Task, Token, Outcome)] {
        &self.finished
    }

    /// Whether it has nothing to do and nothing to say.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.finished.is_empty()
    }

    /// As whom the server knows it.
    pub fn worker(&self) -> Option<WorkerId> {
        self.worker
    }
}

impl Receipt {
    /// Whether the attempt counts.
    pub fn counts(self) -> bool {
        matches!(self, Receipt::Accepted | Receipt::AcceptedLate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a server says, the worker begins no attempt twice and forgets no result without a receipt.
    #[test]
    fn an_attempt_that_is_told_twice_begins_once() {
        let mut client = Client::new(2);
        assert_eq!(client.request(), Some(Request::Join));
        client.joined(WorkerId(4));
        assert!(matches!(
            client.request(),
            Some(Request::Exchange { want: 2, .. })
        ));
        assert_eq!(client.request(), None, "one exchange at a time");
        let token = Token {
            epoch: 1,
            attempt: 1,
        };
        let granted = Granted {
            task: Task(7),
            token,
            limit: None,
            memory: 0,
        };
        let answer = Exchanged {
            receipts: Vec::new(),
            granted: vec![granted],
            refused: None,
        };
        assert_eq!(client.answered(&answer), [granted]);
        client.request();
        assert_eq!(client.answered(&answer), []);
        client.finished(Task(7), token, Outcome::Executed);
        client.request();
        client.unanswered();
        let again = client.request();
        let returns = vec![(Task(7), token, Outcome::Executed)];
        assert!(
            matches!(again, Some(Request::Exchange { returns: r, holding: Some(_), .. }) if r == returns)
        );
        assert_eq!(client.unacknowledged(), returns);
    }
}
