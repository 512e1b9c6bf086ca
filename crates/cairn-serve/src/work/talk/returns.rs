//! Results on their way back: one exchange, files that the server lost, results that it refuses. Knows no processes.

use super::{POLL_SECONDS, Talk, Word, attempt, key, to_return};
use crate::client::CallError;
use crate::http::types::{Attempt, Exchange, Exchanged, MOST_AT_ONCE, Return, Worth};
use crate::mutex::lock;
use crate::work::carry;
use cairn_engine::{Cause, Outcome, Task, Token, WorkerId};
use std::sync::atomic::Ordering;

/// So often the outputs of one result are uploaded again.
// Once is enough where files were lost with the server's disk. One that loses them every time has a fault that no upload mends:
// then it counts as away, and is asked again later. Ten is a judgement between
// the two.
const REPEATED: u32 = 10;

impl Talk {
    /// Returns what ended and asks for more, in one exchange.
    pub(super) fn one_exchange(
        &self,
        worker: WorkerId,
        returns: &[(Task, Token, Outcome)],
        holding: Option<Vec<(Task, Token)>>,
        want: usize,
    ) -> Result<(), CallError> {
        let made = |at: Attempt| lock(&self.made).get(&at).cloned().unwrap_or_default();
        let back = |&(task, token, outcome): &(Task, Token, Outcome)| {
            let at = attempt((task, token));
            let is_spoilt = lock(&self.spoilt).contains(&at);
            let failed = Outcome::Failed {
                exit: 0,
                cause: Cause::Output,
            };
            to_return(at, if is_spoilt { failed } else { outcome }, made(at))
        };
        let request = Exchange {
            returns: returns.iter().map(back).collect(),
            want: want.min(MOST_AT_ONCE) as u32,
            // A receipt must not wait for a task.
            wait_seconds: if returns.is_empty() {
                POLL_SECONDS
            } else {
                0.0
            },
            holding: holding.map(|all| all.into_iter().map(attempt).collect()),
        };
        // From here on a result that ends nudges the server: the one that has the heartbeats looks at this.
        self.is_polling.store(returns.is_empty(), Ordering::Relaxed);
        let answer = self.caller.exchange(worker.0, &request);
        self.is_polling.store(false, Ordering::Relaxed);
        let answer = match answer {
            // Without receipts: all of it is returned again, once the worker has joined again.
            Err(error) if error.is_missing() => Exchanged {
                known: false,
                ..Exchanged::default()
            },
            Err(CallError::Refused { status, .. }) if status < 500 && !returns.is_empty() => {
                // One that is refused must not keep the others back for ever.
                self.one_by_one(worker, &request.returns)?
            }
            answer => answer?,
        };
        let lacks = |(_, worth): &(&Return, &Worth)| **worth == Worth::OutputMissing;
        for (back, _) in request.returns.iter().zip(&answer.receipts).filter(lacks) {
            self.repeat(worker, back)?;
        }
        self.take(returns, answer);
        Ok(())
    }

    /// The server refuses a request with several returns: each is returned alone, and one that is refused alone is put aside.
    fn one_by_one(&self, worker: WorkerId, returns: &[Return]) -> Result<Exchanged, CallError> {
        let mut receipts = Vec::new();
        for back in returns {
            let alone = Exchange {
                returns: vec![back.clone()],
                ..Exchange::default()
            };
            match self.caller.exchange(worker.0, &alone) {
                Ok(answer) => receipts.extend(answer.receipts),
                Err(error) if error.is_missing() => {
                    return Ok(Exchanged {
                        receipts,
                        known: false,
                        ..Exchanged::default()
                    });
                }
                Err(error @ CallError::Refused { .. }) if !error.is_passing() => {
                    self.set_aside(back, &error.to_string());
                    // As if there were one, so that those behind it keep their places.
                    receipts.push(Worth::Unknown);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Exchanged {
            receipts,
            known: true,
            ..Exchanged::default()
        })
    }

    /// The server will never take this result: it is kept for people, and said.
    fn set_aside(&self, back: &Return, why: &str) {
        let what = match self.place.set_aside(key(back)) {
            Ok(kept) => format!("kept in {}", kept.display()),
            Err(error) => format!("and cannot be put aside: {error}"),
        };
        let id = back.id;
        self.say(Word::Remark(format!(
            "the server refuses the result of task {id}: {why}; {what}"
        )));
    }

    /// The server no longer has a file that was uploaded: it is uploaded again, and the result returned again.
    fn repeat(&self, worker: WorkerId, back: &Return) -> Result<(), CallError> {
        let all = self.place.results().unwrap_or_default();
        let Some(spooled) = all
            .into_iter()
            .find(|s| s.run == self.place.run() && s.attempt() == key(back))
        else {
            return Ok(());
        };
        for _ in 0..REPEATED {
            // No part of the log again: it was with the first return.
            let Ok(outputs) = self.deliver(&spooled, carry::ENOUGH) else {
                return Ok(());
            };
            let back = Return {
                outputs,
                ..back.clone()
            };
            let request = Exchange {
                returns: vec![back],
                ..Exchange::default()
            };
            let answer = self.caller.exchange(worker.0, &request)?;
            if answer.receipts != [Worth::OutputMissing] {
                return Ok(());
            }
        }
        Err(CallError::Away(
            "the server does not keep the outputs that it is given".to_owned(),
        ))
    }
}
