//! What is known of one client, and what a kind of task takes. Knows no task.

use crate::{KindId, Moment, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    pub(super) rows: BTreeMap<KindId, u32>,
    /// So many copies it may begin within the time of a deadline: one less after each error, twice as many after each valid
    /// result.
    pub quota: u32,
    /// As many it has at first, and never more; then nobody counts what it begins.
    pub cap: u32,
    /// Since when is counted, and how many it has begun.
    pub(super) counted_since: Moment,
    pub(super) begun: u32,
    /// How long its copies take until they are back, on average.
    pub turnaround: Span,
    /// What it has now.
    #[serde(skip)]
    pub live: u32,
}

impl Record {
    pub(super) fn fault(&mut self, kind: KindId) {
        self.row = 0;
        self.rows.remove(&kind);
        // Never none: who gets nothing can never mend its record.
        self.quota = self.quota.saturating_sub(1).max(1);
    }

    pub(super) fn lie(&mut self) {
        self.invalid += 1;
        self.row = 0;
        // An error is of one kind of task; who lies is believed in none.
        self.rows.clear();
        self.quota = 1;
    }

    pub(super) fn confirm(&mut self, kind: KindId, by_others: bool) {
        self.valid += 1;
        self.quota = self.quota.saturating_mul(2).min(self.cap);
        if by_others {
            self.row = self.row.saturating_add(1);
            let row = self.rows.entry(kind).or_default();
            *row = row.saturating_add(1);
        }
    }

    pub(super) fn took(&mut self, span: Span) {
        self.turnaround = match self.turnaround {
            Span(0) => Span(span.0.max(1)),
            // An eighth of what is new.
            Span(mean) => Span((mean - mean / 8 + span.0 / 8).max(1)),
        };
    }
}

/// What a kind of task takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Takes {
    pub(super) count: u64,
    pub(super) sum: u64,
}
