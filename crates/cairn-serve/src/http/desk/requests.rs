//! Requests for tasks: what comes back with them is taken, and those of one group are answered as one batch, at once or when there is
//! something. Writes nothing down: whoever is answered here hears it behind the commit.

use super::waiters::Waiter;
use super::{Answer, Desk, Handed, Held, LOOK};
use crate::http::types::{Reason, Worth};
use cairn_engine::{Event, Granted, Moment, Position, Refusal, WorkerId};
use std::collections::HashSet;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A request for tasks, to be answered with the group that it came in. What it returned was taken.
pub(super) struct Request {
    worker: WorkerId,
    want: usize,
    /// How long it waits when nothing is there.
    wait: Duration,
    receipts: Vec<Worth>,
    /// What it was given before and does not know of.
    granted: Vec<Granted>,
    reply: oneshot::Sender<Answer>,
}

/// What a worker is to end.
#[derive(Default)]
pub(super) struct Kills {
    pub(super) attempts: Vec<Held>,
    /// Whether an answer has said so. Heartbeats say it until the worker no longer names them: the answer may be lost, and a task
    /// may take its time to end. A poll that asks meanwhile has nothing to come back for.
    is_told: bool,
}

impl<P: Position> Desk<'_, P> {
    #[allow(clippy::too_many_arguments, reason = "the fields of one request")]
    pub(super) fn exchange(
        &mut self,
        now: Moment,
        worker: WorkerId,
        mut returns: Vec<Handed>,
        mut holding: Option<Vec<Held>>,
        want: usize,
        wait: Duration,
        reply: oneshot::Sender<Answer>,
    ) {
        // Nothing of the request has happened yet: it goes back whole, and comes again with the files.
        if self.must_release(worker, &mut returns) {
            let again = returns;
            let answer = Answer {
                again,
                ..Answer::default()
            };
            return self.reply(reply, answer);
        }
        // A worker has one request at a time: what it asked before, nobody hears any more.
        if let Some(old) = self.waiters.take_of(worker) {
            self.reply(old.reply, Answer::default());
        }
        let mut receipts = Vec::with_capacity(returns.len());
        let mut ended: Vec<Held> = Vec::new();
        for handed in returns {
            let attempt = (handed.task, handed.token);
            let worth = self.take_back(now, worker, handed);
            // What lacks a file is still its own, and comes again with it.
            if worth != Worth::OutputMissing {
                ended.push(attempt);
            }
            receipts.push(worth);
        }
        // A worker still names what it returns with this very request: it is at that no more.
        if let Some(holding) = &mut holding {
            holding.retain(|held| !ended.contains(held));
        }
        let holding = holding.as_deref();
        if let Some(holding) = holding {
            self.heard(worker, holding);
        }
        // It wants nothing here: it is heard of, and told again what an answer lost. What it gets is
        // chosen together with all others of the group.
        let heard = (self.engine).exchange(now, worker, &[], holding, 0, &mut self.out);
        if heard.refused == Some(Refusal::Unknown) {
            let answer = Answer {
                receipts,
                is_unknown: true,
                finished: self.engine.is_over(),
                ..Answer::default()
            };
            return self.reply(reply, answer);
        }
        self.requests.push(Request {
            worker,
            // What it is told again fills what it asks for: it does not know that it has it.
            want: want.saturating_sub(heard.granted.len()),
            wait,
            receipts,
            granted: heard.granted,
            reply,
        });
    }

    fn stop_of(&mut self, worker: WorkerId) -> Vec<Held> {
        let kills = self.kills.get_mut(&worker);
        kills.map_or_else(Vec::new, |kills| {
            kills.is_told = true;
            kills.attempts.clone()
        })
    }

    /// Attempts to be ended are told to whoever waits, and to the others when they are heard of. Answers of this group that are
    /// worded already do not have them.
    pub(super) fn pass_on_kills(&mut self) {
        for (worker, task, token) in std::mem::take(&mut self.out.kills) {
            let kills = self.kills.entry(worker).or_default();
            kills.attempts.push((task, token));
            kills.is_told = false;
            // A poll is the quickest way to tell it; else it hears with its next heartbeat.
            if let Some(waiter) = self.waiters.take_of(worker) {
                let answer = Answer {
                    stop: self.stop_of(worker),
                    finished: self.engine.is_over(),
                    ..Answer::default()
                };
                self.reply(waiter.reply, answer);
            }
        }
        self.out.aborted.clear();
    }

    /// Whether something may have become eligible, or room free.
    fn has_opened(&self) -> bool {
        let opens = |event: &Event| {
            !matches!(
                event,
                // These open nothing for those who wait: were they not left out, every lease would have
                // thousands of polls asked again, in vain.
                Event::Joined { .. } | Event::Leased { .. } | Event::Opened { .. } | Event::Paused
            )
        };
        self.out.entries.iter().any(|entry| opens(&entry.event))
    }

    /// All requests of the group, and the long polls where something may have become eligible, as one batch: first come,
    /// first served.
    pub(super) fn serve_requests(&mut self, now: Moment) {
        let finished = self.engine.is_over();
        let again = self.is_holding() && self.looked.elapsed() >= LOOK;
        if again {
            self.looked = Instant::now();
        }
        let is_free = std::mem::take(&mut self.out.has_room);
        let opened = self.has_opened() || self.has_room_again() || is_free;
        let waiting = match opened || finished || again {
            true => self.waiters.listening(),
            false => Vec::new(),
        };
        let mut requests = std::mem::take(&mut self.requests);
        if requests.len() > 1 {
            // A worker has one request at a time: of two in one group the later one counts.
            let mut seen = HashSet::new();
            for request in requests.iter_mut().rev() {
                if !seen.insert(request.worker) {
                    request.want = 0;
                }
            }
        }
        // Polls first: they came before all requests of this group.
        let polls = waiting.iter().map(|&n| self.waiters.get(n));
        let mut asked: Vec<(WorkerId, usize)> = polls.map(|w| (w.worker, w.want)).collect();
        asked.extend(requests.iter().map(|r| (r.worker, r.want)));
        let given = self.engine.ask_together(now, &asked, &mut self.out);
        self.after_serving(&asked, &given);
        if let Some(stamps) = &mut self.stamps {
            // Before anybody hears of the lease: an input that changes after this is seen as changed by
            // the next start.
            let begun = given.iter().flatten().flatten();
            begun.for_each(|granted| stamps.started(granted.task, granted.token));
        }
        let mut given = given.into_iter();
        for (number, given) in waiting.into_iter().zip(given.by_ref()) {
            let (granted, refused) = match given {
                Ok(granted) => (granted, None),
                Err(refusal) if finished || refusal == Refusal::Unknown => {
                    (Vec::new(), Some(refusal))
                }
                // It waits on. Only what ends the waiting for good is told at once.
                Err(_) => continue,
            };
            let waiter = self.waiters.remove(number).expect("it was there");
            let answer = Answer {
                granted,
                reason: refused.and_then(Reason::of),
                is_unknown: refused == Some(Refusal::Unknown),
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
        for (request, given) in requests.into_iter().zip(given) {
            self.answer(request, given, finished);
        }
        while let Some(waiter) = self.waiters.take_late(Instant::now()) {
            // Who waited for it is heard of: it was there until now.
            let heard = (self.engine).exchange(now, waiter.worker, &[], None, 0, &mut self.out);
            let answer = Answer {
                reason: (waiter.refused.and_then(Reason::of)).or(Some(Reason::NothingEligible)),
                is_unknown: heard.refused == Some(Refusal::Unknown),
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
    }

    /// Answers a request, or lets it wait.
    fn answer(&mut self, request: Request, given: Result<Vec<Granted>, Refusal>, finished: bool) {
        let Request {
            worker,
            want,
            wait,
            receipts,
            mut granted,
            reply,
        } = request;
        let refused = given.map(|more| granted.extend(more)).err();
        // Whoever returned something is answered at once: it keeps results on its disk until it has
        // receipts.
        let waits = granted.is_empty()
            && receipts.is_empty()
            && want > 0
            && !wait.is_zero()
            && !finished
            && refused != Some(Refusal::Unknown)
            && self.kills.get(&worker).is_none_or(|kills| kills.is_told);
        if waits {
            let until = Instant::now() + wait;
            return self.waiters.push(Waiter {
                worker,
                want,
                until,
                refused,
                reply,
            });
        }
        let answer = Answer {
            receipts,
            granted,
            stop: self.stop_of(worker),
            reason: refused.and_then(Reason::of),
            is_unknown: refused == Some(Refusal::Unknown),
            finished,
            again: Vec::new(),
        };
        self.reply(reply, answer);
    }

    pub(super) fn dismiss_waiters(&mut self) {
        let finished = self.engine.is_over() || self.stuck().is_some();
        let numbers = self.waiters.listening();
        for number in numbers {
            let waiter = self.waiters.remove(number).expect("it was there");
            let answer = Answer {
                finished,
                ..Answer::default()
            };
            self.reply(waiter.reply, answer);
        }
    }
}
