//! What a store tells of the runs that were: how long attempts took, who worked and for how long. Changes nothing, and needs not
//! be the one who has the store open.

use crate::run::TOUCHED;
use crate::store::{EVENTS, Reader, StoreError};
use cairn_engine::{Entry, Event, Gone, Release, Task, Token, WorkerId};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// How an attempt ended, as the store of a run tells it: `AttemptEnd` of the logs, which no server reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It came back well.
    Executed,
    /// It failed.
    Failed,
    /// Its worker was lost.
    Lost,
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq)]
pub struct PastAttempt {
    /// The task's name.
    pub task: String,
    /// Which stay of a worker it was: a place in [`Past::stays`].
    pub stay: usize,
    /// Seconds since 1970 when it was leased.
    pub start: f64,
    /// How long until its end was told.
    pub seconds: f64,
    /// How it ended.
    pub end: AttemptEnd,
}

/// A worker from when it came until it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Stay {
    /// What it called itself.
    pub name: String,
    /// Tasks of one processor that it did at once.
    pub cpus: u32,
    /// Seconds since 1970 when it came.
    pub from: f64,
    /// When it went; `None` where it was there to the end.
    pub until: Option<f64>,
    /// Whether it was lost.
    pub was_lost: bool,
}

/// What the events of a store come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Every attempt with an end, in the order of the ends. Given back ones are nobody's time.
    pub attempts: Vec<PastAttempt>,
    /// Everybody who came, in that order.
    pub stays: Vec<Stay>,
    /// The moment of the last event, in seconds since 1970.
    pub end: f64,
}

/// Reads the store of a folder: of all its flows, as far as events are kept and tasks have names.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn past(folder: &Path) -> Result<Past, StoreError> {
    let reader = Reader::open(folder)?;
    let flows = reader.flows()?;
    let mut past = Past::default();
    for (i, &(number, first)) in flows.iter().enumerate() {
        // Numbers of tasks and workers mean something else from the first event of the next flow on.
        let last = flows.get(i + 1).map_or(i64::MAX, |next| next.1 - 1);
        let names = reader.names(number)?;
        let mut flow = OneFlow::new(&names, &mut past);
        let mut after = first - 1;
        loop {
            let entries = reader.entries_between(after, last, EVENTS)?;
            let Some(&(newest, _)) = entries.last() else {
                break;
            };
            after = newest;
            entries.iter().for_each(|(_, entry)| flow.hear(entry));
        }
        flow.done();
    }
    Ok(past)
}

/// The events of one flow: workers are numbered anew in each.
struct OneFlow<'a> {
    names: &'a [String],
    past: &'a mut Past,
    /// By number of a worker: its stay, if it has one.
    stays: Vec<Option<usize>>,
    leased: HashMap<(Task, Token), (usize, f64)>,
    /// Attempts whose leases ended without their word: stay and start, and the place of what is told of it. They may still be what
    /// counts.
    lapsed: HashMap<(Task, Token), (usize, f64, Option<usize>)>,
    /// Places of attempts that were told as lost and came back well after all.
    found: HashSet<usize>,
}

impl<'a> OneFlow<'a> {
    fn new(names: &'a [String], past: &'a mut Past) -> OneFlow<'a> {
        OneFlow {
            names,
            past,
            stays: Vec::new(),
            leased: HashMap::new(),
            lapsed: HashMap::new(),
            found: HashSet::new(),
        }
    }

    /// All was heard: each attempt is told once.
    fn done(self) {
        let mut place = 0;
        self.past.attempts.retain(|_| {
            place += 1;
            !self.found.contains(&(place - 1))
        });
    }

    fn hear(&mut self, entry: &Entry) {
        let at = entry.at.0 as f64 / 1e6;
        self.past.end = self.past.end.max(at);
        match &entry.event {
            Event::Joined {
                worker,
                name,
                offer,
            } => {
                // Events before a snapshot may be gone, and with them who came first.
                self.stays.resize(worker.index(), None);
                // Who only said that tasks are done has worked for no time at all.
                if name == TOUCHED {
                    self.stays.push(None);
                    return;
                }
                self.stays.push(Some(self.past.stays.len()));
                self.past.stays.push(Stay {
                    name: name.clone(),
                    cpus: offer.cpus,
                    from: at,
                    until: None,
                    was_lost: false,
                });
            }
            Event::Departed { worker, why } => {
                let stay = self.stay(*worker);
                if let Some(stay) = stay.and_then(|stay| self.past.stays.get_mut(stay)) {
                    stay.until = Some(at);
                    stay.was_lost = *why == Gone::Lost;
                }
            }
            Event::Leased {
                task,
                token,
                worker,
                ..
            } => {
                if let Some(stay) = self.stay(*worker) {
                    self.leased.insert((*task, *token), (stay, at));
                }
            }
            // A result that waits for validation: nobody works on it meanwhile, and what it comes to adds no time.
            Event::Returned { task, token, .. } | Event::Executed { task, token, .. } => {
                self.came_late(*task, *token);
                self.ended(*task, *token, at, Some(AttemptEnd::Executed));
            }
            Event::Failed { task, token, .. } => {
                self.ended(*task, *token, at, Some(AttemptEnd::Failed));
            }
            Event::Released {
                task, token, why, ..
            } => {
                let end = (*why == Release::Lost).then_some(AttemptEnd::Lost);
                let begun = self.leased.get(&(*task, *token)).copied();
                let place = self.ended(*task, *token, at, end);
                if let Some((stay, start)) = begun {
                    self.lapsed.insert((*task, *token), (stay, start, place));
                }
            }
            _ => (),
        }
    }

    /// Which stay is a worker's.
    fn stay(&self, worker: WorkerId) -> Option<usize> {
        self.stays.get(worker.index()).copied().flatten()
    }

    /// If the lease of an attempt was given up before it counts, it goes on from when it began: so long it took. Of a worker that was
    /// away nobody knows when it was done with it: that is neither a loss nor a time.
    fn came_late(&mut self, task: Task, token: Token) {
        match self.lapsed.remove(&(task, token)) {
            Some((_, _, Some(told_as_lost))) => {
                self.found.insert(told_as_lost);
            }
            Some((stay, start, None)) => {
                self.leased.insert((task, token), (stay, start));
            }
            None => (),
        }
    }

    /// Notes how an attempt ended; the place of what is told of it, if anything is.
    fn ended(
        &mut self,
        task: Task,
        token: Token,
        at: f64,
        end: Option<AttemptEnd>,
    ) -> Option<usize> {
        let (stay, start) = self.leased.remove(&(task, token))?;
        let name = self.names.get(task.0 as usize)?;
        self.past.attempts.push(PastAttempt {
            task: name.clone(),
            stay,
            start,
            // Clocks may be set back.
            seconds: (at - start).max(0.0),
            end: end?,
        });
        Some(self.past.attempts.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_engine::{Digest, Moment, Offer, WorkerId};

    /// An attempt that was given up, and counts all the same, was not lost; it took as long as it took, unless its worker was away.
    #[test]
    fn a_late_result_is_told_with_its_whole_time_where_that_is_known() {
        let names = ["t".to_owned(), "u".to_owned()];
        let mut past = Past::default();
        let mut flow = OneFlow::new(&names, &mut past);
        let token = |attempt| Token { epoch: 1, attempt };
        let (first, second) = (WorkerId(0), WorkerId(1));
        let joined = |worker, name: &str| Event::Joined {
            worker,
            name: name.into(),
            offer: Offer::cpus(2),
        };
        let leased = |task, attempt, worker| Event::Leased {
            task: Task(task),
            token: token(attempt),
            worker,
            due: None,
        };
        let released = |task, why| Event::Released {
            task: Task(task),
            token: token(1),
            why,
            for_good: false,
        };
        let executed = |task| Event::Executed {
            task: Task(task),
            token: token(1),
            worker: second,
        };
        let events = [
            (0, joined(first, "v")),
            (0, joined(second, "w")),
            (10, leased(0, 1, first)),
            (10, leased(1, 1, first)),
            (25, released(0, Release::Lost)),
            (25, released(1, Release::Overdue)),
            (26, leased(0, 2, second)),
            (40, executed(0)),
            (50, executed(1)),
        ];
        for (second, event) in events {
            let at = Moment(second * 1_000_000);
            flow.hear(&Entry { at, event });
        }
        flow.done();
        let told: Vec<_> = (past.attempts.iter())
            .map(|a| (a.task.as_str(), a.stay, a.seconds, a.end))
            .collect();
        let well = AttemptEnd::Executed;
        assert_eq!(told, [("u", 0, 40.0, well)]);
    }

    /// A result that waits for others is no work.
    #[test]
    fn an_attempt_ends_when_it_comes_back() {
        let names = ["t".to_owned()];
        let mut past = Past::default();
        let mut flow = OneFlow::new(&names, &mut past);
        let (task, worker) = (Task(0), WorkerId(0));
        let token = Token {
            epoch: 1,
            attempt: 1,
        };
        let events = [
            Event::Joined {
                worker,
                name: "w".into(),
                offer: Offer::cpus(1),
            },
            Event::Leased {
                task,
                token,
                worker,
                due: None,
            },
            Event::Returned {
                task,
                token,
                worker,
                digest: Digest([1, 2]),
            },
            Event::Executed {
                task,
                token,
                worker,
            },
        ];
        for (event, second) in events.into_iter().zip([0, 10, 15, 600]) {
            flow.hear(&Entry {
                at: Moment(second * 1_000_000),
                event,
            });
        }
        assert_eq!(past.attempts.len(), 1);
        assert!((past.attempts[0].seconds - 5.0).abs() < 1e-9);
        assert_eq!(past.attempts[0].end, AttemptEnd::Executed);
    }
}
