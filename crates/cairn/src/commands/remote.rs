//! `cairn status`, `cancel`, `retry`, `pause`, `resume`, `export`: a word with a server that runs elsewhere.

use super::serve::token_in;
use crate::cli;
use crate::failure::Failure;
use crate::limits;
use crate::output::Output;
use cairn_dag::plain;
use cairn_serve::client::{CallError, Caller};
use cairn_serve::http::types::{Changed, Presence, Status};
use cairn_serve::tls::Trust;
use serde_json::json;
use std::io::IsTerminal;
use std::time::Duration;

/// A status is asked for so often while somebody looks at it.
const EVERY: Duration = Duration::from_secs(1);

pub(super) fn caller(flags: &cli::Server) -> Result<Caller, Failure> {
    let trust = match (&flags.fingerprint, &flags.ca) {
        (Some(text), _) => {
            Trust::Pinned(text.parse().map_err(|e: cairn_serve::tls::TlsError| {
                Failure::usage(plain(&e.to_string()).into_owned(), "")
            })?)
        }
        (None, Some(file)) => Trust::Authority(file.clone()),
        (None, None) => Trust::Public,
    };
    let token = token_in(&flags.token_file)?;
    Caller::new(&flags.url, token, &trust).map_err(|e| failed(&e))
}

fn failed(error: &CallError) -> Failure {
    let help = match error {
        CallError::Away(_) => "is the server running, and is this its address?",
        CallError::Denied(_) | CallError::Refused { .. } => "",
        CallError::Unusable(_) => {
            "a certificate made by the server itself needs --fingerprint, one of your own authority --ca"
        }
    };
    Failure::usage(plain(&error.to_string()).into_owned(), help)
}

pub(crate) fn status(caller: &Caller, once: bool, out: &Output) -> Result<(), Failure> {
    let is_live = !once && !out.json && std::io::stdout().is_terminal();
    loop {
        let status = caller.status().map_err(|e| failed(&e))?;
        let value = serde_json::to_value(&status).expect("a status is JSON");
        let text = shown(&status);
        match is_live {
            true => out.answer(&value, &format!("\n{text}"))?,
            false => return out.answer(&value, &text),
        }
        if status.finished || limits::is_interrupted() {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

fn shown(status: &Status) -> String {
    let count = |n: Option<u64>| n.map_or("∞".to_owned(), |n| n.to_string());
    let rows = [
        ("tasks", status.tasks),
        ("executed", status.executed),
        ("leased", status.leased),
        ("eligible", status.eligible),
        ("waiting", status.waiting),
        ("failed", status.failed),
        ("aborted", status.aborted),
        ("cancelled", status.cancelled),
    ];
    let mut text: String = (rows.iter())
        .map(|(name, n)| format!("  {name:<10}{}\n", count(*n)))
        .collect();
    if status.paused {
        text += "  paused: nothing is handed out\n";
    }
    if status.finished {
        text += "  nothing more will happen\n";
    }
    for worker in &status.workers {
        let state = match worker.state {
            Presence::Here => "here",
            Presence::Left => "left",
            Presence::Lost => "lost",
        };
        text += &format!(
            "  {}: {state}, {} leased, {} executed, {} failed, {} lost\n",
            plain(&worker.name),
            worker.leased,
            worker.executed,
            worker.failed,
            worker.lost
        );
    }
    text
}

/// What to do to tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Cancel,
    Retry,
}

pub(crate) fn change(
    caller: &Caller,
    tasks: Vec<String>,
    change: Change,
    out: &Output,
) -> Result<(), Failure> {
    let (answer, word) = match change {
        Change::Cancel => (caller.cancel(tasks), "cancelled"),
        Change::Retry => (caller.retry(tasks), "to be tried again"),
    };
    let Changed { changed, refused } = answer.map_err(|e| failed(&e))?;
    let mut text: String = (changed.iter())
        .map(|task| format!("{}: {word}\n", plain(task)))
        .collect();
    for no in &refused {
        text += &format!("{}: no: {}\n", plain(&no.task), plain(&no.why));
    }
    out.done(&json!({ "changed": changed, "refused": refused }), &text)?;
    match refused.is_empty() {
        true => Ok(()),
        false => Err(Failure::No),
    }
}

pub(crate) fn pause(caller: &Caller, pause: bool, out: &Output) -> Result<(), Failure> {
    let paused = caller.pause(pause).map_err(|e| failed(&e))?.paused;
    let text = match paused {
        true => "paused: nothing is handed out; what runs goes on\n",
        false => "tasks are handed out\n",
    };
    out.done(&json!({ "paused": paused }), text)
}

pub(crate) fn export(caller: &Caller) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let copied = caller.export(&mut stdout).map_err(|e| failed(&e))?;
    copied.map_err(|e| Failure::writing("standard output", &e))
}
