//! Workers that nobody vouches for: how many copies of a task they get, when their results count, what is known of each.
//! Pure; knows no dag, no order and no files. Those who are trusted never come here.
//!
//! The rules are those by which volunteers compute for others since 1999 (SETI@home, later BOINC), with dependents that wait
//! for validation. A **client** is whoever has a token of its own, however often it connects and whatever it calls itself.
//!
//! | rule | here |
//! |---|---|
//! | 1 deadlines; late results are taken | [`Distrust::span`], [`End::Late`], [`Trust::returned`] |
//! | 2 so many copies, caps on errors and on all | [`Trust::wanted`], [`Trust::agreement`] |
//! | 3 more than half of the quorum equal | [`Distrust::agree`], [`Trust::agreement`] |
//! | 4 adaptive replication | [`Trust::leased`], `Record::rows` |
//! | 5 quotas | [`Record::quota`] |
//! | 6 retries go to reliable clients, before anything new | [`Trust::is_reliable`], [`Trust::is_retry`], [`Distrust::raises`] |
//! | 7 the tail | [`Distrust::is_tail`], [`Distrust::raises`], [`Trust::is_fast`], `Engine::extra_copy` |
//! | 8 nothing that cannot be back in time | [`Trust::is_in_time`] |
//! | 9 what got lost on the way is sent again with half the time | `Engine::unheard` |
//! | 10 receipts, successes are never overwritten | `Engine::give_back` |

mod books;
mod check;
mod happened;
mod judge;
mod numbers;
mod record;
mod reputation;

pub(crate) use books::Books;
pub(crate) use check::{Copy, End};
pub use judge::Agreement;
pub use numbers::Distrust;
pub use record::Record;
pub(crate) use reputation::Reputation;

use self::check::Check;
use self::record::Takes;
use crate::{KindId, Moment, Span, Task, Token, WorkerId};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A client that nobody vouches for, by the number of its token.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct ClientId(pub u32);

/// What an attempt made, as a number that the driver takes of the bytes themselves: equal results have equal digests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Digest(pub [u64; 2]);

/// The books of a run's volunteers. Only what is settled by events is in them.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    distrust: Distrust,
    records: BTreeMap<ClientId, Record>,
    kinds: BTreeMap<KindId, Takes>,
    checks: HashMap<Task, Check>,
    copies: u64,
    /// Mean turnarounds of all clients that have one, added up.
    pace: Takes,
    /// Tasks with a live copy, by when the first of them began.
    out: BTreeSet<(Moment, Task)>,
    /// How many workers are here that are trusted: each of them can settle a task alone.
    trusted: u32,
    /// What earlier runs know of clients that have not come yet. No part of the durable state: it counts by an event.
    before: BTreeMap<ClientId, Record>,
}

impl Trust {
    pub(crate) fn new(distrust: Distrust) -> Trust {
        Trust {
            distrust,
            ..Trust::default()
        }
    }

    /// The numbers.
    pub fn distrust(&self) -> &Distrust {
        &self.distrust
    }

    /// What is known of a client.
    pub fn record(&self, client: ClientId) -> Option<&Record> {
        self.records.get(&client)
    }

    /// How many copies were given to volunteers since the beginning, and how many tasks have a result that waits for
    /// validation; `None` where no volunteer was ever there.
    pub fn counts(&self) -> Option<(u64, u64)> {
        let waits = |check: &&Check| check.results().next().is_some();
        let waiting = || self.checks.values().filter(waits).count() as u64;
        (!self.is_idle()).then(|| (self.copies, waiting()))
    }

    /// How many equal results of a task are there, and how many must be; `None` where no volunteer has or had it.
    pub fn progress(&self, task: Task) -> Option<(u32, u32)> {
        let check = self.checks.get(&task)?;
        Some((check.largest().0 as u32, self.distrust.agree()))
    }

    /// Whether no volunteer was ever there: then nothing here needs to be asked.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.records.is_empty()
    }

    /// Tasks with a copy that is, or was, a volunteer's, and that are not settled.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        self.checks.keys().copied()
    }

    /// Every copy of a volunteer that counts, or may count, of tasks that are not settled, and whose it is.
    pub fn unsettled(&self) -> impl Iterator<Item = (Task, Token, ClientId)> + '_ {
        self.checks.iter().flat_map(|(&task, check)| {
            let may_count = |copy: &&Copy| !matches!(copy.end, Some(End::Error | End::Aborted));
            let of = move |copy: &Copy| Some((task, copy.token, copy.client?));
            check.copies.iter().filter(may_count).filter_map(of)
        })
    }

    /// Who has or had copies of tasks that are not settled.
    pub(crate) fn who(&self) -> impl Iterator<Item = WorkerId> + '_ {
        let copies = self.checks.values().flat_map(|check| &check.copies);
        copies.filter_map(|copy| copy.worker)
    }

    pub(crate) fn has(&self, task: Task) -> bool {
        // Asked on the way of every request: a run without volunteers looks nothing up.
        !self.checks.is_empty() && self.checks.contains_key(&task)
    }

    /// Whether a result of the task waits for validation.
    pub(crate) fn has_result(&self, task: Task) -> bool {
        let check = (!self.checks.is_empty()).then(|| self.checks.get(&task));
        check
            .flatten()
            .is_some_and(|c| c.results().next().is_some())
    }

    /// Whether a result of this copy, which nobody waits for any more, would be taken.
    ///
    /// One result a client: whoever has begun anew returns that.
    pub(crate) fn would_take(&self, task: Task, token: Token, client: ClientId) -> bool {
        let Some(check) = self.checks.get(&task) else {
            return false;
        };
        let mut own = check.copies.iter().filter(|c| c.client == Some(client));
        let is_late = |c: &Copy| c.token == token && c.end == Some(End::Late);
        own.clone().any(is_late) && own.all(|c| c.token == token || !c.bars())
    }

    /// Whether this copy came back with a result that waits for others.
    pub(crate) fn is_back(&self, task: Task, token: Token) -> bool {
        let copy = self.copy(task, token);
        copy.is_some_and(|c| matches!(c.end, Some(End::Returned(_))))
    }

    pub(crate) fn copy(&self, task: Task, token: Token) -> Option<&Copy> {
        let check = self.checks.get(&task)?;
        check.copies.iter().find(|copy| copy.token == token)
    }

    /// Whether the client may have a copy: it works on none, and none of its came back.
    pub(crate) fn may(&self, task: Task, client: ClientId) -> bool {
        let check = self.checks.get(&task);
        check.is_none_or(|check| {
            !check
                .copies
                .iter()
                .any(|c| c.client == Some(client) && c.bars())
        })
    }

    /// The clients that may not have a copy, sorted.
    pub(crate) fn barred(&self, task: Task) -> Vec<ClientId> {
        let copies = self.checks.get(&task).into_iter().flat_map(|c| &c.copies);
        let mut barred: Vec<ClientId> = copies
            .filter(|c| c.bars())
            .filter_map(|c| c.client)
            .collect();
        barred.sort_unstable();
        barred.dedup();
        barred
    }

    /// Copies whose time is up and that may still come back, by task.
    pub(crate) fn late(&self) -> Vec<(Task, Token, ClientId)> {
        let late = |(&task, check): (&Task, &Check)| {
            let late = check.copies.iter().filter(|c| c.end == Some(End::Late));
            let named = late.filter_map(|c| Some((task, c.token, c.client?)));
            named.collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.checks.iter().flat_map(late).collect();
        all.sort_unstable();
        all
    }

    /// A late copy of the client is waited for from now on, or no longer. Whether that is another answer than before.
    pub(crate) fn await_late(
        &mut self,
        task: Task,
        token: Token,
        client: ClientId,
        is_awaited: bool,
    ) -> bool {
        let copies = self.checks.get_mut(&task).into_iter();
        let mut copies = copies.flat_map(|check| check.copies.iter_mut());
        let is_it = |c: &Copy| {
            c.token == token
                && c.client == Some(client)
                && c.end == Some(End::Late)
                && c.is_awaited != is_awaited
        };
        let found = copies.find(|c| is_it(c));
        let is_new = found.is_some();
        found
            .into_iter()
            .for_each(|copy| copy.is_awaited = is_awaited);
        is_new
    }

    /// When a copy began.
    pub(crate) fn since(&self, task: Task, token: Token) -> Option<Moment> {
        Some(self.copy(task, token)?.since)
    }

    /// Whether some copy of the task was late: perhaps it takes longer than its time.
    pub(crate) fn was_late(&self, task: Task) -> bool {
        let check = self.checks.get(&task);
        check.is_some_and(|c| c.copies.iter().any(|c| c.end == Some(End::Late)))
    }

    /// Tasks with a live copy, the longest out first.
    pub(crate) fn longest_out(&self) -> impl Iterator<Item = (Moment, Task)> + '_ {
        self.out.iter().copied()
    }

    /// Whether the client has failed with the task, or was late: others come first.
    pub(crate) fn has_failed(&self, task: Task, client: ClientId) -> bool {
        let failed = |copy: &Copy| {
            let failed = matches!(copy.end, Some(End::Late | End::Error));
            copy.client == Some(client) && failed
        };
        let check = self.checks.get(&task);
        check.is_some_and(|check| check.copies.iter().any(failed))
    }

    /// Whether the task has had as many copies as there may be.
    pub(crate) fn is_worn(&self, task: Task) -> bool {
        let check = self.checks.get(&task);
        check.is_some_and(|check| check.total() >= self.distrust.max_total as usize)
    }

    /// Whether the client may have one more of anything.
    pub(crate) fn has_quota(&self, client: ClientId, now: Moment) -> bool {
        self.records.get(&client).is_none_or(|r| {
            let is_free = r.quota >= r.cap || now.since(r.counted_since) >= self.distrust.deadline;
            r.live < self.distrust.most && (is_free || r.begun < r.quota)
        })
    }

    /// When the last copy of it ended.
    pub(crate) fn quiet_since(&self, task: Task) -> Moment {
        let ended = self.checks.get(&task).into_iter();
        let ended = ended.flat_map(|check| check.copies.iter().map(|copy| copy.ended));
        ended.max().unwrap_or(Moment(0))
    }

    /// Whether the client is one for retries: it was right often enough, has its full quota, and is not slow.
    pub(crate) fn is_reliable(&self, client: ClientId) -> bool {
        // Where no row makes results count alone, BOINC's number.
        let enough = self.distrust.earned.unwrap_or(10);
        (self.records.get(&client))
            .is_some_and(|r| r.row >= enough && r.quota >= r.cap && !self.is_slow(r))
    }

    /// Whether the client takes no longer than clients do on average, and somebody knows that.
    pub(crate) fn is_fast(&self, client: ClientId) -> bool {
        let record = self.records.get(&client);
        record.is_some_and(|r| r.turnaround > Span(0) && !self.is_slow(r))
    }

    fn is_slow(&self, record: &Record) -> bool {
        let Takes { count, sum } = self.pace;
        count > 0 && record.turnaround.0 > sum / count
    }

    /// Whether the client can be expected to be back in so long with a task that takes so long there, if that is known; one
    /// without anything to do may try.
    pub(crate) fn is_in_time(&self, client: ClientId, takes: Option<Span>, span: Span) -> bool {
        let record = self.records.get(&client);
        record.is_none_or(|r| r.live == 0 || takes.unwrap_or(r.turnaround) <= span)
    }

    /// What tasks of a kind take until they are back, on average; `None` where no result ever counted.
    pub(crate) fn takes(&self, kind: KindId) -> Option<Span> {
        let takes = self.kinds.get(&kind)?;
        Some(Span(takes.sum / takes.count.max(1)))
    }
}
