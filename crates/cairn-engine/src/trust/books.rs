//! The books of volunteers as one value, for a snapshot, and back. Knows no rule.

use super::check::{Check, Copy, End};
use super::record::{Record, Takes};
use super::{ClientId, Distrust, Trust};
use crate::{KindId, Task};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The same as one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Books {
    records: Vec<(ClientId, Record)>,
    kinds: Vec<(KindId, Takes)>,
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
    pub(crate) fn books(&self) -> Books {
        let checks = self.checks.iter();
        let durable = |copy: &Copy| Copy {
            is_awaited: false,
            ..*copy
        };
        let durable = |check: &Check| check.copies.iter().map(durable).collect();
        let mut checks: Vec<(Task, Vec<Copy>)> = checks.map(|(&t, c)| (t, durable(c))).collect();
        // The map has an order of its own; equal states must be equal values.
        checks.sort_unstable_by_key(|&(task, _)| task);
        let bare = |record: &Record| Record {
            // Counted anew from the copies when it is read: kept twice, the two could differ.
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
