//! What results of volunteers count for: what the flags say, and what the state has kept since the first start. Serves nothing.

use super::kept::{self, unusable};
use crate::failure::Failure;
use cairn_engine::{Distrust, Span};
use cairn_serve::http;
use cairn_serve::store::Store;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The key in the store.
const KEPT: &str = "trust-policy";

/// The numbers of a state. They hold at every start: results that wait were asked for by them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Numbers {
    quorum: u32,
    replicate_all: bool,
    deadline_micros: u64,
}

/// What the flags say.
pub(super) struct Asked {
    /// How many get a token.
    pub(super) volunteers: u32,
    pub(super) quorum: Option<u32>,
    pub(super) replicate_all: bool,
    /// How long they have at least.
    pub(super) deadline: Option<Duration>,
    /// Whether the disk has a cap.
    pub(super) is_capped: bool,
}

impl Asked {
    /// Refuses a quorum that the volunteers of a new state never come to.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let quorum = self.quorum.unwrap_or(Distrust::default().quorum);
        match self.volunteers {
            0 => Ok(()),
            volunteers => enough(volunteers, quorum),
        }
    }
}

/// Whether so many volunteers can ever agree.
fn enough(clients: u32, quorum: u32) -> Result<(), Failure> {
    let agree = Distrust::of_quorum(quorum).agree();
    match clients < agree {
        false => Ok(()),
        true => Err(Failure::usage(
            format!(
                "--quorum {quorum} needs {agree} equal results of different volunteers, and there are tokens for {clients}: none would ever count"
            ),
            format!("give --volunteers {agree} or more, or a smaller --quorum"),
        )),
    }
}

pub(super) struct Policy {
    numbers: Numbers,
    /// What the state has.
    before: Option<Numbers>,
    /// How many volunteers have a token.
    clients: u32,
}

impl Policy {
    /// What holds for volunteers; `None` where none has or gets a token.
    pub(super) fn of(asked: &Asked, store: &Store) -> Result<Option<Policy>, Failure> {
        let kept = store.meta(KEPT).map_err(|e| unusable(&e))?;
        let before: Option<Numbers> = kept.and_then(|text| serde_json::from_str(&text).ok());
        let tokens = kept::tokens(store)?.map_or(0, |tokens| tokens.volunteers());
        let clients = asked.volunteers.max(tokens);
        if clients == 0 {
            return Ok(None);
        }
        if asked.is_capped {
            return Err(Failure::usage(
                format!(
                    "this state has tokens of {clients} volunteers, whose results wait beside the workflow: a cap on the disk does not count them"
                ),
                "go on without the cap, or give the capped run a state of its own with --state",
            ));
        }
        let deadline = asked.deadline.map(|time| time.as_micros() as u64);
        let usual = Distrust::default();
        let numbers = Numbers {
            // What the state has goes before what is usual: results that wait were asked for under it.
            quorum: (asked.quorum.or(before.as_ref().map(|b| b.quorum))).unwrap_or(usual.quorum),
            replicate_all: asked.replicate_all || before.as_ref().is_some_and(|b| b.replicate_all),
            deadline_micros: (deadline.or(before.as_ref().map(|b| b.deadline_micros)))
                .unwrap_or(usual.deadline.0),
        };
        if let Some(before) = before.as_ref().filter(|b| b.quorum > numbers.quorum) {
            return Err(Failure::usage(
                format!(
                    "this state was begun with --quorum {}: --quorum {} would let results count that were promised more",
                    before.quorum, numbers.quorum
                ),
                format!(
                    "leave --quorum out to go on with {}, or give a new --state",
                    before.quorum
                ),
            ));
        }
        enough(clients, numbers.quorum)?;
        Ok(Some(Policy {
            numbers,
            before,
            clients,
        }))
    }

    /// The same for the engine.
    pub(super) fn distrust(&self, store: &mut Store) -> Result<Distrust, Failure> {
        let mut distrust = Distrust::of_quorum(self.numbers.quorum);
        distrust.seed = http::trust_seed(store).map_err(|e| unusable(&e))?;
        distrust.deadline = Span(self.numbers.deadline_micros);
        distrust.clients = Some(self.clients);
        if self.numbers.replicate_all {
            distrust.earned = None;
        }
        Ok(distrust)
    }

    /// Writes down what holds from now on.
    pub(super) fn keep(self, store: &mut Store) -> Result<(), Failure> {
        if self.before.as_ref() == Some(&self.numbers) {
            return Ok(());
        }
        let text = serde_json::to_string(&self.numbers).expect("numbers are JSON");
        store.set_meta(KEPT, &text).map_err(|e| unusable(&e))
    }
}
