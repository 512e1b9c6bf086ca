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
//! | 6 retries go to reliable clients | [`Trust::is_reliable`], [`Trust::is_retry`] |
//! | 7 the tail | [`Distrust::is_tail`], [`Trust::is_fast`], `Engine::extra_copy` |
//! | 8 nothing that cannot be back in time | [`Trust::is_in_time`] |
//! | 9 what got lost on the way is sent again with half the time | `Engine::unheard` |
//! | 10 receipts, successes are never overwritten | `Engine::give_back` |

use crate::{Moment, Span, Task, Token};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// The numbers of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distrust {
    /// More than half of so many results must be equal.
    pub quorum: u32,
    /// More failed copies than this, and the task is given up.
    pub max_errors: u32,
    /// More results than this that do not agree, and the task is given up.
    pub max_successes: u32,
    /// More copies than this there are never, however they ended.
    pub max_total: u32,
    /// After so many valid results in a row a client's result may count alone; `None`: never.
    pub earned: Option<u32>,
    /// Which results of such a client are replicated all the same; nobody else knows it.
    pub seed: u64,
    /// A copy has at least so long until it must be back.
    pub deadline: Span,
    /// Or so many times what tasks of its kind take, if that is longer.
    pub slack: u32,
    /// No client has more copies at once than this; and with every fault it may begin one less within the time of a
    /// deadline.
    pub most: u32,
    /// The tail of a run: fewer tasks are left than this.
    pub tail: u64,
    /// Or of every hundred tasks more than so many are executed.
    pub tail_percent: u64,
}

impl Default for Distrust {
    fn default() -> Distrust {
        Distrust::of_quorum(2)
    }
}

impl Distrust {
    /// The usual numbers around a quorum: with 2, two copies, 3 errors, 4 results, 8 copies in all, and so much more for
    /// each further one.
    pub fn of_quorum(quorum: u32) -> Distrust {
        let quorum = quorum.clamp(1, 1_000);
        let times = quorum.saturating_sub(1).max(1);
        Distrust {
            quorum,
            max_errors: 3 * times,
            max_successes: 4 * times,
            max_total: 8 * times,
            earned: Some(10),
            seed: 0,
            deadline: Span::seconds(600),
            slack: 10,
            most: 64,
            tail: 20,
            tail_percent: 85,
        }
    }

    /// So many equal results count: more than half of the quorum. So many copies are sent at first; those beyond them could
    /// change nothing if the first are equal.
    pub fn agree(&self) -> u32 {
        self.quorum / 2 + 1
    }

    /// How long a copy has, by what tasks of its kind take. Retries have half as long, but twice what they take.
    pub fn span(&self, takes: Option<Span>, is_retry: bool) -> Span {
        let takes = takes.map_or(0, |span| span.0);
        let usual = (takes.saturating_mul(self.slack.into())).max(self.deadline.0);
        match is_retry {
            true => Span((usual / 2).max(takes.saturating_mul(2))),
            false => Span(usual),
        }
    }

    /// Whether so few tasks are left that one slow client holds up the whole run.
    pub fn is_tail(&self, left: u64, all: u64) -> bool {
        left < self.tail
            || (all - left.min(all)).saturating_mul(100) > all.saturating_mul(self.tail_percent)
    }
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    /// Its time was up, or its client silent; its result is taken all the same if it comes.
    Late,
    /// It was given back, or never arrived: nobody's fault.
    Aborted,
    /// It failed.
    Error,
    /// It came back with this.
    Returned(Digest),
}

/// An attempt at a task that some copy of is, or was, a volunteer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub(crate) token: Token,
    /// `None`: somebody who is trusted.
    pub(crate) client: Option<ClientId>,
    since: Moment,
    /// Whether its result may count alone, since its client has earned that.
    alone: bool,
    /// How it ended, and when.
    end: Option<End>,
    ended: Moment,
}

/// All copies of a task that is not settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Check {
    copies: Vec<Copy>,
}

impl Check {
    fn results(&self) -> impl Iterator<Item = (&Copy, Digest)> {
        self.copies.iter().filter_map(|copy| match copy.end {
            Some(End::Returned(digest)) => Some((copy, digest)),
            _ => None,
        })
    }

    fn live(&self) -> impl Iterator<Item = &Copy> {
        self.copies.iter().filter(|copy| copy.end.is_none())
    }

    /// How many copies volunteers were given.
    fn total(&self) -> usize {
        let volunteers = self.copies.iter().filter(|copy| copy.client.is_some());
        volunteers.count()
    }

    fn errors(&self) -> usize {
        let failed = |copy: &&Copy| copy.end == Some(End::Error) && copy.client.is_some();
        self.copies.iter().filter(failed).count()
    }

    /// How many results are equal at the most, and which of them came from the earliest attempt.
    fn largest(&self) -> (usize, Option<Token>) {
        let mut best = (0, None);
        for (copy, digest) in self.results() {
            let equal = self.results().filter(|&(_, other)| other == digest).count();
            if equal > best.0 {
                best = (equal, Some(copy.token));
            }
        }
        best
    }
}

/// What is known of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Results that others confirmed, or that counted.
    pub valid: u64,
    /// Results that others contradicted.
    pub invalid: u64,
    /// Copies that failed.
    pub errors: u64,
    /// Copies that were not back in time.
    pub late: u64,
    /// Results in a row that others confirmed, of any kind of task.
    pub row: u32,
    /// The same by kind of task.
    rows: BTreeMap<u32, u32>,
    /// So many copies it may begin within the time of a deadline: one less after each error, twice as many after each valid
    /// result.
    pub quota: u32,
    /// As many it has at first, and never more; then nobody counts what it begins.
    pub cap: u32,
    /// Since when is counted, and how many it has begun.
    counted_since: Moment,
    begun: u32,
    /// How long its copies take until they are back, on average.
    pub turnaround: Span,
    /// What it has now.
    #[serde(skip)]
    pub live: u32,
}

impl Record {
    fn fault(&mut self, kind: u32) {
        self.row = 0;
        self.rows.remove(&kind);
        self.quota = self.quota.saturating_sub(1).max(1);
    }

    fn lie(&mut self) {
        self.invalid += 1;
        self.row = 0;
        self.rows.clear();
        self.quota = 1;
    }

    fn confirm(&mut self, kind: u32, by_others: bool) {
        self.valid += 1;
        self.quota = self.quota.saturating_mul(2).min(self.cap);
        if by_others {
            self.row = self.row.saturating_add(1);
            let row = self.rows.entry(kind).or_default();
            *row = row.saturating_add(1);
        }
    }

    fn took(&mut self, span: Span) {
        self.turnaround = match self.turnaround {
            Span(0) => Span(span.0.max(1)),
            // An eighth of what is new.
            Span(mean) => Span((mean - mean / 8 + span.0 / 8).max(1)),
        };
    }
}

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

/// What a kind of task takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Takes {
    count: u64,
    sum: u64,
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

    pub(crate) fn has(&self, task: Task) -> bool {
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
        let copy = self.copy(task, token);
        copy.is_some_and(|c| c.client == Some(client) && c.end == Some(End::Late))
            && self.may(task, client)
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

    /// Whether the client may have a copy: it has none, and none of its came back.
    pub(crate) fn may(&self, task: Task, client: ClientId) -> bool {
        let had = |copy: &Copy| {
            let again = matches!(copy.end, Some(End::Late | End::Aborted | End::Error));
            copy.client == Some(client) && !again
        };
        let check = self.checks.get(&task);
        check.is_none_or(|check| !check.copies.iter().any(had))
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
        let is_worn =
            check.live().next().is_none() && check.total() >= self.distrust.max_total as usize;
        if is_worn
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

    /// What it would come to if this copy came back so, or ended otherwise.
    pub(crate) fn foresee(&self, task: Task, token: Token, end: End) -> Verdict {
        let Some(check) = self.checks.get(&task) else {
            return self.verdict(task);
        };
        let mut check = check.clone();
        if let Some(copy) = check.copies.iter_mut().find(|c| c.token == token) {
            copy.end = Some(end);
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

    /// Whether the client can be expected to be back with such a task in so long; one without anything to do may try.
    pub(crate) fn is_in_time(&self, client: ClientId, span: Span) -> bool {
        let record = self.records.get(&client);
        record.is_none_or(|r| r.live == 0 || r.turnaround <= span)
    }

    /// Since when the copy of the task that began first has been out, and how many are.
    pub(crate) fn out_since(&self, task: Task) -> Option<(Moment, usize)> {
        let check = self.checks.get(&task)?;
        let first = check.live().map(|copy| copy.since).min()?;
        Some((first, check.live().count()))
    }

    /// What tasks of a kind take until they are back, on average; `None` where no result ever counted.
    pub(crate) fn takes(&self, kind: u32) -> Option<Span> {
        let takes = self.kinds.get(&kind)?;
        Some(Span(takes.sum / takes.count.max(1)))
    }

    // ---- What happened -----------------------------------------------------------------------------------------------

    /// A client is there.
    pub(crate) fn joined(&mut self, client: ClientId) {
        let most = self.distrust.most.max(1);
        let record = self.records.entry(client).or_default();
        if record.cap == 0 {
            (record.quota, record.cap) = (most, most);
        }
    }

    /// Somebody has a copy from now on.
    pub(crate) fn leased(
        &mut self,
        task: Task,
        token: Token,
        client: Option<ClientId>,
        kind: u32,
        since: Moment,
    ) {
        if client.is_none() && !self.has(task) {
            return;
        }
        let row = |client| self.records.get(&client).and_then(|r| r.rows.get(&kind));
        let row = client.and_then(row).copied().unwrap_or(0);
        let is_first = !self.has(task);
        let alone = (client.zip(self.distrust.earned)).is_some_and(|(client, earned)| {
            is_first
                && row >= earned
                && !draw(self.distrust.seed, task, client).is_multiple_of(row.max(1).into())
        });
        let copy = Copy {
            token,
            client,
            since,
            alone,
            end: None,
            ended: Moment(0),
        };
        self.checks.entry(task).or_default().copies.push(copy);
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
        if let Some(copy) = self.end(task, token, End::Returned(digest), at)
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
        let check = self.checks.get_mut(&task)?;
        let copy = check.copies.iter_mut().find(|c| c.token == token)?;
        if let (None, Some(client)) = (copy.end, copy.client)
            && let Some(record) = self.records.get_mut(&client)
        {
            record.live = record.live.saturating_sub(1);
        }
        (copy.end, copy.ended) = (Some(end), at);
        Some(*copy)
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
        let mut checks: Vec<_> = checks.map(|(&t, c)| (t, c.copies.clone())).collect();
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

    pub(crate) fn restored(distrust: Distrust, books: Books) -> Trust {
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
        };
        for (task, copies) in books.checks {
            for client in copies.iter().filter(|c| c.end.is_none()) {
                if let Some(record) = client.client.and_then(|c| trust.records.get_mut(&c)) {
                    record.live += 1;
                }
            }
            trust.checks.insert(task, Check { copies });
        }
        trust
    }
}

/// A number that looks like chance to whoever does not know the seed.
fn draw(seed: u64, task: Task, client: ClientId) -> u64 {
    let mut state = seed;
    for part in [task.0, client.0.into()] {
        state = state.wrapping_add(part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state
}
