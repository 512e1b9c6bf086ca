//! What happened to volunteers and their copies, noted in the books. Judges nothing: events say what counts.

use super::check::{Check, Copy, End};
use super::record::Record;
use super::{ClientId, Digest, Reputation, Trust};
use crate::{KindId, Moment, Span, Task, Token, WorkerId};
use std::collections::BTreeMap;

impl Trust {
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
        // What it has now is of this run, whatever earlier ones know.
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
        kind: KindId,
        since: Moment,
    ) {
        // Who is trusted has no books: not before a volunteer has had the task too, when both may be compared.
        if client.is_none() && !self.has(task) {
            return;
        }
        let row = |client| self.records.get(&client).and_then(|r| r.rows.get(&kind));
        let row = client.and_then(row).copied().unwrap_or(0);
        // Only the first copy may count alone: where others have been asked, they are to be heard.
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
            // A quota is for a span of time: whoever has few left gets as many again after a deadline, so that it can
            // mend its record.
            if since.since(record.counted_since) >= self.distrust.deadline {
                (record.counted_since, record.begun) = (since, 0);
            }
            record.begun = record.begun.saturating_add(1);
        }
    }

    /// A copy ended without a result.
    pub(crate) fn ended(&mut self, task: Task, token: Token, end: End, kind: KindId, at: Moment) {
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
            // Its old mean goes out before its new one comes in: each client counts once, however much it returns.
            self.pace.sum = self.pace.sum.saturating_sub(before.0);
            self.pace.sum = self.pace.sum.saturating_add(record.turnaround.0);
        }
    }

    fn end(&mut self, task: Task, token: Token, end: End, at: Moment) -> Option<Copy> {
        let was = *self.copy(task, token)?;
        // A late copy was ended before: it is live no more, and must not be counted out twice.
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
    pub(super) fn change(&mut self, task: Task, how: impl FnOnce(&mut Check)) {
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
    pub(crate) fn executed(&mut self, task: Task, token: Token, kind: KindId) {
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
        // Nobody is right or wrong then: records stay as they are.
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
}

/// A number that looks like chance to whoever does not know the seed.
fn draw(seed: u64, task: Task, client: ClientId) -> u64 {
    // A round for each part.
    let parts = [task.0, client.0.into()];
    parts.into_iter().fold(seed, |state, part| {
        cairn_kernel::mix(state.wrapping_add(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is drawn decides which results are checked: a run that is replayed must draw the same, whatever the version.
    #[test]
    fn draws_never_change() {
        let drawn = |seed, task, client| draw(seed, Task(task), ClientId(client));
        assert_eq!(drawn(0, 0, 0), 0xA706_DD2F_4D19_7E6F);
        assert_eq!(drawn(1, 2, 3), 0x090D_E412_5B88_7E16);
        assert_eq!(drawn(u64::MAX, 1 << 40, u32::MAX), 0x1453_70D0_2CF8_1F99);
    }
}
