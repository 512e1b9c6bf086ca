//! All copies of one task that is not settled. Decides nothing.

use super::{ClientId, Digest};
use crate::{Moment, Release, Token, WorkerId};
use serde::{Deserialize, Serialize};

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

impl From<Release> for End {
    fn from(why: Release) -> End {
        match why {
            Release::Lost | Release::Overdue => End::Late,
            Release::GivenBack | Release::Unheard | Release::Redundant => End::Aborted,
        }
    }
}

/// An attempt at a task that some copy of is, or was, a volunteer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub(crate) token: Token,
    /// Who has or had it; snapshots of earlier versions do not say.
    #[serde(default)]
    pub(crate) worker: Option<WorkerId>,
    /// `None`: somebody who is trusted.
    pub(crate) client: Option<ClientId>,
    pub(super) since: Moment,
    /// Whether its result may count alone, since its client has earned that.
    pub(super) alone: bool,
    /// How it ended, and when.
    pub(super) end: Option<End>,
    pub(super) ended: Moment,
    /// Whether its time is up and its worker says that it is still at it. No part of the durable state.
    #[serde(skip)]
    pub(super) is_awaited: bool,
}

impl Copy {
    /// Whether its client may have no other copy beside it: it has this one still, or has said what it has to say.
    pub(super) fn bars(&self) -> bool {
        match self.end {
            None | Some(End::Returned(_)) => true,
            Some(End::Late) => self.is_awaited,
            Some(End::Aborted | End::Error) => false,
        }
    }
}

/// All copies of a task that is not settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Check {
    pub(super) copies: Vec<Copy>,
}

impl Check {
    pub(super) fn results(&self) -> impl Iterator<Item = (&Copy, Digest)> {
        self.copies.iter().filter_map(|copy| match copy.end {
            Some(End::Returned(digest)) => Some((copy, digest)),
            _ => None,
        })
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Copy> {
        self.copies.iter().filter(|copy| copy.end.is_none())
    }

    /// Whether somebody works on it, in time or late.
    pub(super) fn is_awaited(&self) -> bool {
        (self.copies.iter()).any(|copy| copy.end.is_none() || copy.is_awaited)
    }

    /// How many clients have returned it.
    pub(super) fn voices(&self) -> usize {
        let back = self.results().filter(|(copy, _)| copy.client.is_some());
        back.count()
    }

    /// How many copies volunteers were given.
    pub(super) fn total(&self) -> usize {
        let volunteers = self.copies.iter().filter(|copy| copy.client.is_some());
        volunteers.count()
    }

    pub(super) fn errors(&self) -> usize {
        let failed = |copy: &&Copy| copy.end == Some(End::Error) && copy.client.is_some();
        self.copies.iter().filter(failed).count()
    }

    /// How many results are equal at the most, and which of them came from the earliest attempt.
    pub(super) fn largest(&self) -> (usize, Option<Token>) {
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
