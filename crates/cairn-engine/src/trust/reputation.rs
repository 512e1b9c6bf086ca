//! What is kept of a client for later runs. Knows no task and no token: whoever keeps it says who the client is.

use super::{Distrust, Record};
use crate::KindId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// However long a row of right results was in earlier runs, it counts for no more than this: one result in so many is checked
/// at the least, since who had the token then need not have it now.
// A judgement, twice what is earned: smaller, and who is known well is checked as a newcomer is; larger, and a stolen
// token is believed for longer.
const MOST: u32 = 20;

/// What earlier runs know of a client; kinds of tasks by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Reputation {
    /// So many equal results were asked for when it earned what `row` and `rows` say.
    agree: u32,
    #[serde(skip_serializing_if = "is_none")]
    valid: u64,
    #[serde(skip_serializing_if = "is_none")]
    invalid: u64,
    #[serde(skip_serializing_if = "is_none")]
    errors: u64,
    #[serde(skip_serializing_if = "is_none")]
    late: u64,
    /// What is left of its quota; `None`: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<u32>,
    row: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rows: BTreeMap<String, u32>,
    /// When it was last written down: seconds since 1970.
    pub(crate) seen: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Reputation {
    /// What a run knows in the end. Kinds without a name mean nothing elsewhere.
    pub(super) fn of(record: &Record, distrust: &Distrust, kinds: &[String]) -> Reputation {
        let named = |(&kind, &row): (&KindId, &u32)| {
            let name = kinds.get(kind.index()).filter(|name| !name.is_empty())?;
            Some((name.clone(), row))
        };
        Reputation {
            agree: distrust.agree(),
            valid: record.valid,
            invalid: record.invalid,
            errors: record.errors,
            late: record.late,
            quota: (record.quota < record.cap).then_some(record.quota),
            row: record.row,
            rows: record.rows.iter().filter_map(named).collect(),
            seen: 0,
        }
    }

    /// What a later run begins with. Faults count always; what was earned where fewer results had to be equal counts for
    /// nothing where more must be.
    pub(super) fn record(&self, distrust: &Distrust, kinds: &[String]) -> Record {
        let counts = self.agree >= distrust.agree();
        let number = |(name, &row): (&String, &u32)| {
            let number = kinds.iter().position(|kind| kind == name)?;
            Some((KindId::new(number), row.min(MOST)))
        };
        let rows = self.rows.iter().filter(|(name, _)| !name.is_empty());
        let cap = distrust.most.max(1);
        Record {
            valid: self.valid,
            invalid: self.invalid,
            errors: self.errors,
            late: self.late,
            row: if counts { self.row.min(MOST) } else { 0 },
            rows: rows.filter(|_| counts).filter_map(number).collect(),
            quota: self.quota.unwrap_or(cap).clamp(1, cap),
            cap,
            ..Record::default()
        }
    }

    /// This and what a later run, or one beside it, has to say.
    pub(crate) fn then(self, later: &Reputation) -> Reputation {
        let counts = |r: &Reputation| [r.valid, r.invalid, r.errors, r.late];
        let seen = later.seen.max(self.seen);
        if counts(&self) == counts(later) {
            // It was there and returned nothing: what it has earned stands, also where that did not count.
            return Reputation { seen, ..self };
        }
        if self.invalid <= later.invalid {
            return Reputation {
                seen,
                ..later.clone()
            };
        }
        // A lie that the later run does not know of, since it began before, is not forgotten.
        let quota = [self.quota, later.quota];
        Reputation {
            invalid: self.invalid,
            // A liar begins with a quota of 1.
            quota: quota.into_iter().flatten().min().or(Some(1)),
            row: 0,
            rows: BTreeMap::new(),
            seen,
            ..later.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<String> {
        ["align", "", "sort"].map(String::from).to_vec()
    }

    fn good() -> Record {
        let distrust = Distrust::of_quorum(4);
        Record {
            valid: 90,
            errors: 2,
            row: 40,
            rows: [(0, 40), (1, 30), (2, 12)]
                .map(|(kind, row)| (KindId(kind), row))
                .into(),
            quota: distrust.most,
            cap: distrust.most,
            ..Record::default()
        }
    }

    #[test]
    fn what_was_earned_counts_by_name_of_kind_and_no_further_than_twenty() {
        let distrust = Distrust::of_quorum(4);
        let kept = Reputation::of(&good(), &distrust, &kinds());
        let text = serde_json::to_string(&kept).unwrap();
        let kept: Reputation = serde_json::from_str(&text).unwrap();
        // The next workflow has other kinds, and in another order.
        let others = ["", "sort", "call", "align"].map(String::from);
        let record = kept.record(&distrust, &others);
        assert_eq!(record.rows, [(KindId(1), 12), (KindId(3), 20)].into());
        assert_eq!((record.row, record.valid, record.errors), (20, 90, 2));
        assert_eq!((record.quota, record.cap), (64, 64));
        assert_eq!(record.live, 0);
    }

    #[test]
    fn trust_that_fewer_had_to_confirm_counts_for_nothing_and_faults_do() {
        let few = Distrust::of_quorum(2);
        let mut record = good();
        (record.invalid, record.quota) = (1, 3);
        let kept = Reputation::of(&record, &few, &kinds());
        for (quorum, counts) in [(2, true), (3, true), (4, false), (6, false)] {
            let record = kept.record(&Distrust::of_quorum(quorum), &kinds());
            assert_eq!(record.row > 0, counts, "quorum {quorum}");
            assert_eq!(record.rows.is_empty(), !counts, "quorum {quorum}");
            assert_eq!((record.invalid, record.quota), (1, 3), "quorum {quorum}");
        }
    }

    #[test]
    fn a_lie_that_another_run_saw_is_not_forgotten_by_one_that_did_not() {
        let distrust = Distrust::of_quorum(2);
        let of = |record: &Record| Reputation::of(record, &distrust, &kinds());
        let (mut liar, mut later) = (good(), good());
        liar.lie();
        later.confirm(KindId(0), true);
        let both = of(&liar).then(&of(&later));
        let record = both.record(&distrust, &kinds());
        assert_eq!((record.invalid, record.row, record.quota), (1, 0, 1));
        assert!(record.rows.is_empty());
        // What came after the lie counts as usual.
        (0..2).for_each(|_| liar.confirm(KindId(0), true));
        let after = both.then(&of(&liar));
        assert_eq!(after, of(&liar));
    }

    #[test]
    fn who_came_and_returned_nothing_keeps_what_it_had() {
        let kept = Reputation::of(&good(), &Distrust::of_quorum(2), &kinds());
        let strict = Distrust::of_quorum(6);
        let begun = kept.record(&strict, &kinds());
        assert_eq!(begun.row, 0);
        let later = Reputation {
            seen: 7,
            ..Reputation::of(&begun, &strict, &kinds())
        };
        assert_eq!(kept.clone().then(&later), Reputation { seen: 7, ..kept });
    }
}
