//! The numbers of the policy for volunteers, and what follows from them alone. Knows no client and no task.

use super::ClientId;
use crate::Span;

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
    /// How many clients there are at all, here or not, where somebody knows: a task that so many cannot agree on any more is
    /// given up.
    pub clients: Option<u32>,
    /// By client, from number 1 on: who it is, in this run and in others. Whoever is not in the list is not known elsewhere.
    pub identities: Vec<String>,
}

/// A copy that is late and still worked on is waited for until it has had its time so often.
// A judgement: by then a task has taken a hundred times what such tasks do.
const PATIENCE: u64 = 10;

impl Default for Distrust {
    fn default() -> Distrust {
        Distrust::of_quorum(2)
    }
}

impl Distrust {
    /// The usual numbers around a quorum: with 2, two copies, 3 errors, 4 results, 8 copies in all, and so much more for
    /// each further one.
    pub fn of_quorum(quorum: u32) -> Distrust {
        // Whatever somebody asks for, nothing below may overflow.
        let quorum = quorum.clamp(1, 1_000);
        let times = quorum.saturating_sub(1).max(1);
        Distrust {
            quorum,
            // These, what is earned and the numbers of the tail are BOINC's.
            max_errors: 3 * times,
            max_successes: 4 * times,
            max_total: 8 * times,
            earned: Some(10),
            seed: 0,
            // A judgement: ten times what is expected, and no less than ten minutes.
            deadline: Span::seconds(600),
            slack: 10,
            // A judgement: the processors of a large machine. What a stranger takes and never returns is out until its
            // deadline.
            most: 64,
            tail: 20,
            tail_percent: 85,
            clients: None,
            identities: Vec::new(),
        }
    }

    /// Who a client is, in this run and in others.
    pub(crate) fn identity(&self, client: ClientId) -> Option<&str> {
        let number = (client.0 as usize).checked_sub(1)?;
        self.identities.get(number).map(String::as_str)
    }

    /// So many equal results count: more than half of the quorum. So many copies are sent at first; those beyond them could
    /// change nothing if the first are equal.
    pub fn agree(&self) -> u32 {
        self.quorum / 2 + 1
    }

    /// How long a copy has, by what it is expected to take. Where `is_hurried`, half as long, but twice what it takes. Never
    /// less than the time by which nearly all such copies are back, as far as is known.
    pub(crate) fn span(&self, takes: Option<Span>, nearly_all: Span, is_hurried: bool) -> Span {
        let takes = takes.map_or(0, |span| span.0);
        let usual = (takes.saturating_mul(self.slack.into())).max(self.deadline.0);
        let span = match is_hurried {
            // As BOINC does: a retry has a shorter time, but never less than twice the estimate.
            true => (usual / 2).max(takes.saturating_mul(2)),
            false => usual,
        };
        Span(span.max(nearly_all.0))
    }

    /// For how long after it began a copy of this span may still be expected from somebody who works on it.
    pub(crate) fn patience(&self, span: Span) -> Span {
        Span(span.0.saturating_mul(PATIENCE))
    }

    /// Whether a copy of a task that volunteers have or had goes before tasks that nobody has begun with, whatever the order says:
    /// a retry always, any in the tail of a run.
    /// `left` says how many tasks are left of how many, where somebody knows.
    pub(crate) fn raises(&self, is_retry: bool, left: Option<(u64, u64)>) -> bool {
        is_retry || left.is_some_and(|(left, all)| self.is_tail(left, all))
    }

    /// Whether so few tasks are left that one slow client holds up the whole run.
    pub(crate) fn is_tail(&self, left: u64, all: u64) -> bool {
        left < self.tail
            || (all - left.min(all)).saturating_mul(100) > all.saturating_mul(self.tail_percent)
    }
}
