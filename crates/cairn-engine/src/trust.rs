//! Workers that nobody vouches for: how many copies of a task they get, when their results count, what is known of each.
//! Pure; knows no dag, no order and no files. Those who are trusted never come here.
//!
//! The rules are those by which volunteers compute for others since 1999 (SETI@home, later BOINC), with dependents that wait
//! for validation. A **client** is whoever has a token of its own, however often it connects and whatever it calls itself.
//!
//! | rule | here |
//! |---|---|
//! | 1 deadlines; late results are taken | [`Distrust::span`], [`End::Late`], [`Trust::returned`] |
//! | 2 so many copies, caps on errors and on all | [`Trust::wanted`], [`Trust::verdict`] |
//! | 3 more than half of the quorum equal | [`Distrust::agree`], [`Trust::verdict`] |
//! | 4 adaptive replication | [`Trust::leased`], `Record::rows` |
//! | 5 quotas | [`Record::quota`] |
//! | 6 retries go to reliable clients, before anything new | [`Trust::is_reliable`], [`Trust::is_retry`], [`Distrust::raises`] |
//! | 7 the tail | [`Distrust::is_tail`], [`Distrust::raises`], [`Trust::is_fast`], `Engine::extra_copy` |
//! | 8 nothing that cannot be back in time | [`Trust::is_in_time`] |
//! | 9 what got lost on the way is sent again with half the time | `Engine::unheard` |
//! | 10 receipts, successes are never overwritten | `Engine::give_back` |

mod check;
mod numbers;
mod record;
mod reputation;

pub(crate) use check::{Copy, End};
pub use numbers::Distrust;
pub use record::Record;
pub use reputation::Reputation;

use self::check::Check;
use self::record::Takes;
use crate::{Moment, Span, Task, Token, WorkerId};
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

/// What the results of a task come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
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

/// The books of a run's volunteers. Only what is settled by events is in them.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    distrust: Distrust,
    records: BTreeMap<ClientId, Record>,
    kinds: BTreeMap<u32, Takes>,
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

/// The same as one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Books {
    records: Vec<(ClientId, Record)>,
    kinds: Vec<(u32, Takes)>,
    /// By task.
    checks: Vec<(Task, Vec<Copy>)>,
    copies: u64,
}

impl Books {
    /// Tasks with a result that waits for others.
    pub(crate) fn in_hand(&self) -> impl Iterator<Item = Task> + '_ {
        let is_back = |copy: &Copy| matches!(copy.end, Some(End::Returned(_)));
        let back = self
            .checks
            .iter()
            .filter(move |(_, copies)| copies.iter().any(is_back));
        back.map(|&(task, _)| task)
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Books::default()
    }
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
        let agree = self.distrust.agree() as usize;
        let missing = agree.saturating_sub(check.largest().0 + live);
        let total = self.distrust.max_total as usize;
        missing.min(total.saturating_sub(check.total()))
    }

    /// Whether a copy's result would count without another: its client has earned it, still deserves it, and nobody says
    /// otherwise.
    fn counts_alone(&self, check: &Check, copy: &Copy) -> bool {
        let row = |client| self.records.get(&client).map_or(0, |record| record.row);
        copy.alone
            && (copy.client.zip(self.distrust.earned)).is_some_and(|(c, earned)| row(c) >= earned)
            && check.results().all(|(other, _)| other.token == copy.token)
    }

    /// What the results of a task come to.
    pub fn verdict(&self, task: Task) -> Verdict {
        match self.checks.get(&task) {
            Some(check) => self.judge(check),
            None => Verdict::Waits {
                has: 0,
                of: self.distrust.agree(),
            },
        }
    }

    fn judge(&self, check: &Check) -> Verdict {
        let of = self.distrust.agree();
        let (has, token) = check.largest();
        if let Some(token) = token.filter(|_| has >= of as usize) {
            return Verdict::Valid(token);
        }
        let mut results = check.results();
        if let Some((copy, _)) = results.next()
            && self.counts_alone(check, copy)
        {
            return Verdict::Valid(copy.token);
        }
        // As long as somebody is at it, the last copy may still bring the result.
        let is_worn = !check.is_awaited() && check.total() >= self.distrust.max_total as usize;
        if is_worn
            || self.is_beyond_all(check, has)
            || check.errors() > self.distrust.max_errors as usize
            || check.results().count() > self.distrust.max_successes as usize
        {
            return Verdict::Hopeless;
        }
        Verdict::Waits {
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
        voices > 0 && has + left < self.distrust.agree() as usize
    }

    /// What it would come to if this copy came back so, or ended otherwise.
    pub(crate) fn foresee(&self, task: Task, token: Token, end: End) -> Verdict {
        let Some(check) = self.checks.get(&task) else {
            return self.verdict(task);
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
    pub(crate) fn takes(&self, kind: u32) -> Option<Span> {
        let takes = self.kinds.get(&kind)?;
        Some(Span(takes.sum / takes.count.max(1)))
    }

    // ---- What happened -----------------------------------------------------------------------------------------------

    /// A worker is there, of a client or trusted.
    pub(crate) fn joined(&mut self, client: Option<ClientId>) {
        let Some(client) = client else {
            self.trusted += 1;
            return;
        };
        let most = self.distrust.most.max(1);
        let record = self.records.entry(client).or_default();
        if record.cap == 0 {
            (record.quota, record.cap) = (most, most);
        }
    }

    /// What earlier runs know, by who a client is there; `kinds` are the names of this run's kinds of tasks.
    pub(crate) fn remember(&mut self, known: &BTreeMap<String, Reputation>, kinds: &[String]) {
        let of = |(number, who): (usize, &String)| {
            let record = known.get(who)?.record(&self.distrust, kinds);
            Some((ClientId(u32::try_from(number + 1).ok()?), record))
        };
        let identities = self.distrust.identities.iter().enumerate();
        self.before = identities.filter_map(of).collect();
    }

    /// What a client that comes for the first time begins with, where earlier runs know it.
    pub(crate) fn remembered(&self, client: ClientId) -> Option<Record> {
        match self.records.contains_key(&client) {
            true => None,
            false => self.before.get(&client).cloned(),
        }
    }

    /// A client goes on from what earlier runs know.
    pub(crate) fn begin_with(&mut self, client: ClientId, record: &Record) {
        let live = self.records.get(&client).map_or(0, |known| known.live);
        let record = Record {
            live,
            ..record.clone()
        };
        self.records.insert(client, record);
    }

    /// What later runs may know of the clients of this one, by who they are.
    pub(crate) fn reputations(&self, kinds: &[String]) -> BTreeMap<String, Reputation> {
        let of = |(client, record): (&ClientId, &Record)| {
            let who = self.distrust.identity(*client)?;
            let reputation = Reputation::of(record, &self.distrust, kinds);
            Some((who.to_owned(), reputation))
        };
        self.records.iter().filter_map(of).collect()
    }

    /// A worker went.
    pub(crate) fn departed(&mut self, client: Option<ClientId>) {
        if client.is_none() {
            self.trusted = self.trusted.saturating_sub(1);
        }
    }

    /// Whether somebody is here whose result counts alone.
    pub(crate) fn has_trusted(&self) -> bool {
        self.trusted > 0
    }

    /// Somebody has a copy from now on.
    pub(crate) fn leased(
        &mut self,
        task: Task,
        token: Token,
        (worker, client): (WorkerId, Option<ClientId>),
        kind: u32,
        since: Moment,
    ) {
        if client.is_none() && !self.has(task) {
            return;
        }
        let row = |client| self.records.get(&client).and_then(|r| r.rows.get(&kind));
        let row = client.and_then(row).copied().unwrap_or(0);
        let is_first = !self.has(task);
        // As BOINC does: of a row this long one result in as many is checked all the same, and its client cannot know which.
        let alone = (client.zip(self.distrust.earned)).is_some_and(|(client, earned)| {
            is_first
                && row >= earned
                && !draw(self.distrust.seed, task, client).is_multiple_of(row.max(1).into())
        });
        let copy = Copy {
            token,
            worker: Some(worker),
            client,
            since,
            alone,
            end: None,
            ended: Moment(0),
            is_awaited: false,
        };
        self.change(task, |check| check.copies.push(copy));
        if let Some(client) = client {
            self.copies += 1;
            let record = self.records.entry(client).or_default();
            record.live += 1;
            if since.since(record.counted_since) >= self.distrust.deadline {
                (record.counted_since, record.begun) = (since, 0);
            }
            record.begun = record.begun.saturating_add(1);
        }
    }

    /// A copy ended without a result.
    pub(crate) fn ended(&mut self, task: Task, token: Token, end: End, kind: u32, at: Moment) {
        let Some(copy) = self.end(task, token, end, at) else {
            return;
        };
        let Some(record) = copy.client.and_then(|c| self.records.get_mut(&c)) else {
            return;
        };
        match end {
            End::Late => {
                record.late += 1;
                record.fault(kind);
            }
            End::Error => {
                record.errors += 1;
                record.fault(kind);
            }
            End::Aborted | End::Returned(_) => (),
        }
    }

    /// A copy came back, perhaps late.
    pub(crate) fn returned(&mut self, task: Task, token: Token, digest: Digest, at: Moment) {
        let ended = self.end(task, token, End::Returned(digest), at);
        if let Some(copy) = ended.filter(|copy| copy.alone)
            && !(self.checks.get(&task)).is_some_and(|check| self.counts_alone(check, &copy))
        {
            // Trust that its client earns again later is not for this one: no event would say that it counts.
            self.change(task, |check| {
                let own = check.copies.iter_mut().filter(|c| c.token == token);
                own.for_each(|copy| copy.alone = false);
            });
        }
        if let Some(copy) = ended
            && let Some(record) = copy.client.and_then(|c| self.records.get_mut(&c))
        {
            let before = record.turnaround;
            record.took(at.since(copy.since));
            self.pace.count += u64::from(before == Span(0));
            self.pace.sum = self.pace.sum.saturating_sub(before.0);
            self.pace.sum = self.pace.sum.saturating_add(record.turnaround.0);
        }
    }

    fn end(&mut self, task: Task, token: Token, end: End, at: Moment) -> Option<Copy> {
        let was = *self.copy(task, token)?;
        if let (None, Some(client)) = (was.end, was.client)
            && let Some(record) = self.records.get_mut(&client)
        {
            record.live = record.live.saturating_sub(1);
        }
        let is = Copy {
            end: Some(end),
            ended: at,
            is_awaited: false,
            ..was
        };
        self.change(task, |check| {
            let copies = check.copies.iter_mut();
            copies.filter(|c| c.token == token).for_each(|c| *c = is);
        });
        Some(is)
    }

    /// Changes the copies of a task, and notes since when the first live one is out.
    fn change(&mut self, task: Task, how: impl FnOnce(&mut Check)) {
        let first = |check: &Check| check.live().map(|copy| copy.since).min();
        let check = self.checks.entry(task).or_default();
        let was = first(check);
        how(check);
        let is = first(check);
        if was != is {
            was.map(|since| self.out.remove(&(since, task)));
            self.out.extend(is.map(|since| (since, task)));
        }
    }

    /// The task is done as this attempt has it: every result of it is right or wrong from now on.
    pub(crate) fn executed(&mut self, task: Task, token: Token, kind: u32) {
        let Some(check) = self.forget(task) else {
            return;
        };
        let Some((winner, truth)) = check.results().find(|(copy, _)| copy.token == token) else {
            // Somebody who is trusted did it, and nobody compared.
            return;
        };
        let takes = self.kinds.entry(kind).or_default();
        takes.count += 1;
        takes.sum = takes.sum.saturating_add(winner.ended.since(winner.since).0);
        // Who counted alone was confirmed by nobody: that makes no row longer.
        let is_replicated = check.results().nth(1).is_some();
        for (copy, digest) in check.results() {
            let Some(record) = copy.client.and_then(|c| self.records.get_mut(&c)) else {
                continue;
            };
            match digest == truth {
                true => record.confirm(kind, is_replicated),
                false => record.lie(),
            }
        }
    }

    /// The task is settled otherwise, or begins anew.
    pub(crate) fn given_up(&mut self, task: Task) {
        self.forget(task);
    }

    fn forget(&mut self, task: Task) -> Option<Check> {
        let check = match self.checks.is_empty() {
            true => None,
            false => self.checks.remove(&task),
        }?;
        if let Some(since) = check.live().map(|copy| copy.since).min() {
            self.out.remove(&(since, task));
        }
        for client in check.live().filter_map(|copy| copy.client) {
            if let Some(record) = self.records.get_mut(&client) {
                record.live = record.live.saturating_sub(1);
            }
        }
        Some(check)
    }

    // ---- As one value ------------------------------------------------------------------------------------------------

    pub(crate) fn books(&self) -> Books {
        let checks = self.checks.iter();
        let durable = |copy: &Copy| Copy {
            is_awaited: false,
            ..*copy
        };
        let durable = |check: &Check| check.copies.iter().map(durable).collect();
        let mut checks: Vec<(Task, Vec<Copy>)> = checks.map(|(&t, c)| (t, durable(c))).collect();
        checks.sort_unstable_by_key(|&(task, _)| task);
        let bare = |record: &Record| Record {
            live: 0,
            ..record.clone()
        };
        Books {
            records: self.records.iter().map(|(&c, r)| (c, bare(r))).collect(),
            kinds: self.kinds.iter().map(|(&k, &t)| (k, t)).collect(),
            checks,
            copies: self.copies,
        }
    }

    pub(crate) fn restored(distrust: Distrust, books: Books, trusted: u32) -> Trust {
        let known = books.records.iter().map(|(_, r)| r.turnaround.0);
        let known = known.filter(|&turnaround| turnaround > 0);
        let pace = Takes {
            count: known.clone().count() as u64,
            sum: known.fold(0, u64::saturating_add),
        };
        let mut trust = Trust {
            distrust,
            records: books.records.into_iter().collect(),
            kinds: books.kinds.into_iter().collect(),
            checks: HashMap::new(),
            copies: books.copies,
            pace,
            out: BTreeSet::new(),
            trusted,
            before: BTreeMap::new(),
        };
        for (task, copies) in books.checks {
            for client in copies.iter().filter(|c| c.end.is_none()) {
                if let Some(record) = client.client.and_then(|c| trust.records.get_mut(&c)) {
                    record.live += 1;
                }
            }
            trust.change(task, |check| check.copies = copies);
        }
        trust
    }
}

/// A number that looks like chance to whoever does not know the seed.
fn draw(seed: u64, task: Task, client: ClientId) -> u64 {
    // A round of SplitMix64 for each part.
    let mut state = seed;
    for part in [task.0, client.0.into()] {
        state = state.wrapping_add(part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state
}
