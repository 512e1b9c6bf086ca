//! `cairn status`, `cancel`, `retry`, `pause`, `resume`, `export`: a word with a server that runs elsewhere.

use crate::cli;
use crate::failure::Failure;
use crate::output::Output;
use crate::plural::span;
use cairn_dag::plain;
use cairn_formats::size;
use cairn_serve::client::{CallError, Caller};
use cairn_serve::http::types::{Changed, Presence, Status, Storage, WorkerStatus};
use cairn_serve::tls::{TlsError, Trust};
use cairn_serve::tokens::Secret;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// A status is asked for so often while somebody looks at it.
// A judgement: people read no faster.
const EVERY: Duration = Duration::from_secs(1);

/// So many workers fit on a terminal.
// Chosen by eye: with twelve lines of counts before them they fit into 24 rows.
const FEW: usize = 10;

pub(super) fn caller(flags: &cli::Server) -> Result<Caller, Failure> {
    let trust = match (&flags.fingerprint, &flags.ca) {
        (Some(text), _) => Trust::Pinned(text.parse().map_err(|e: TlsError| Failure::of(&e, ""))?),
        (None, Some(file)) => Trust::Authority(file.clone()),
        (None, None) => Trust::Public,
    };
    let token = token_in(&flags.token_file)?;
    Caller::new(&flags.url, token, &trust).map_err(|e| failed(&e))
}

/// The token in a file.
fn token_in(path: &Path) -> Result<Secret, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::usage(
            format!("cannot read {}: {e}", plain(&path.display().to_string())),
            "the server keeps tokens in the folder 'tokens' of its state; copy the one you need",
        )
    })?;
    Ok(Secret::new(&text))
}

fn failed(error: &CallError) -> Failure {
    let help = match error {
        CallError::Away(_) => "is the server running, and is this its address?",
        CallError::Denied(_) | CallError::Refused { .. } => "",
        CallError::Unusable(_) => {
            "a certificate made by the server itself needs --fingerprint, one of your own authority --ca"
        }
    };
    Failure::of(error, help)
}

pub(crate) fn status(caller: &Caller, once: bool, out: &Output) -> Result<(), Failure> {
    let is_live = !once && !out.json && std::io::stdout().is_terminal();
    let mut pace = Pace::default();
    let mut drawn = 0;
    loop {
        let status = caller.status().map_err(|e| failed(&e))?;
        let value = serde_json::to_value(&status).expect("a status is JSON");
        let pace = pace.of(&status);
        // Once, and all workers: a pipe or a file has no last row.
        if !is_live {
            return out.answer(&value, &shown(&status, &pace, usize::MAX));
        }
        let text = shown(&status, &pace, FEW);
        Output::redraw(drawn, &text)?;
        drawn = text.lines().count();
        // Ctrl-C ends the program by itself.
        if status.finished {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

/// How fast tasks are executed, as far as was seen.
#[derive(Default)]
struct Pace {
    first: Option<(Instant, u64)>,
}

impl Pace {
    /// In words: how many a second, and how long the rest takes at that pace. Nothing before anything was seen to happen.
    fn of(&mut self, status: &Status) -> String {
        // Since this program looks: the server may have begun days ago, with other workers.
        let executed = status.executed.unwrap_or(0);
        let (since, before) = *self.first.get_or_insert((Instant::now(), executed));
        let seconds = since.elapsed().as_secs_f64();
        let done = executed.saturating_sub(before);
        if done == 0 || seconds <= 0.0 || status.finished {
            return String::new();
        }
        let rate = done as f64 / seconds;
        let given_up = [status.failed, status.aborted, status.cancelled];
        let settled = executed + given_up.into_iter().flatten().sum::<u64>();
        match status.tasks {
            Some(tasks) => {
                let left = tasks.saturating_sub(settled) as f64 / rate;
                format!("{rate:.1} a second, {} left at this pace", span(left))
            }
            None => format!("{rate:.1} a second"),
        }
    }
}

fn shown(status: &Status, pace: &str, most: usize) -> String {
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
    if !pace.is_empty() {
        text += &format!("  {pace}\n");
    }
    if let Some(order) = &status.order {
        text += &format!("  {:<10}{}\n", "order", plain(&order.words()));
    }
    if status.paused {
        text += "  paused: nothing is handed out\n";
    }
    if status.finished {
        text += "  nothing more will happen\n";
    }
    if let Some(storage) = &status.storage {
        text += &disk_line(storage);
    }
    for worker in status.workers.iter().take(most) {
        let state = match worker.state {
            Presence::Here => "here",
            Presence::Left => "left",
            Presence::Lost => "lost",
        };
        text += &format!(
            "  {}: {state}, {} leased, {} executed, {} failed, {} lost{}\n",
            plain(&worker.name),
            worker.leased,
            worker.executed,
            worker.failed,
            worker.lost,
            learnt(worker)
        );
    }
    if status.workers.len() > most {
        text += &format!("  and {} more workers\n", status.workers.len() - most);
    }
    text
}

/// What was learnt of a worker: how fast, how reliable, and of a volunteer what came of its results.
fn learnt(worker: &WorkerStatus) -> String {
    let mut text = String::new();
    if let Some(speed) = worker.speed {
        text += &format!(", speed {speed:.1}");
    }
    if let Some(turnaround) = worker.turnaround {
        text += &format!(", {} a task", span(turnaround));
    }
    if let Some(reliability) = worker.reliability {
        // All but one is not all.
        text += &format!(", {:.0} % reliable", (100.0 * reliability).floor());
    }
    if let Some(trust) = &worker.trust {
        text += &format!(
            ", volunteer {}: {} confirmed, {} contradicted, {} failed, {} late",
            trust.volunteer, trust.valid, trust.invalid, trust.errors, trust.late
        );
    }
    text
}

/// Why a task is not running, or why a worker is idle.
pub(crate) fn why(caller: &Caller, name: &str, out: &Output) -> Result<(), Failure> {
    let why = caller.why(name).map_err(|e| failed(&e))?;
    let value = serde_json::to_value(&why).expect("reasons are JSON");
    let state = match why.state.as_str() {
        "leased" => "running",
        state => state,
    };
    let mut text = format!("{}: {state}\n{}\n", plain(name), plain(&why.answer));
    for reason in &why.reasons {
        let tasks: Vec<_> = reason.tasks.iter().map(|task| plain(task)).collect();
        let colon = if tasks.is_empty() { "" } else { ": " };
        text += &format!("  {}{colon}{}\n", plain(&reason.text), tasks.join(", "));
    }
    out.answer(&value, &text)
}

/// How the disk stands.
fn disk_line(storage: &Storage) -> String {
    let words = |bytes: u64| size::words(bytes.into());
    let mut text = format!(
        "  disk      {} used, {} reserved of {}; {} at the most so far\n",
        words(storage.used),
        words(storage.reserved),
        words(storage.cap_now),
        words(storage.peak)
    );
    if let Some(held) = &storage.held_back {
        text += &format!("  held back: {}\n", plain(&held.words));
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
