//! Logs of earlier runs as commands use them: read or refused, times given to tasks, workers in the words of flags. Knows no
//! format.

use crate::cli;
use crate::failure::Failure;
use crate::input::{Read, Timed};
use crate::output::Output;
use crate::plural::counted;
use cairn_formats::times::{self, Assigned, Fitted, Log};
use cairn_formats::{Limits, Report};
use std::path::PathBuf;

/// All logs, or every problem of the first that cannot be read.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Log>, Failure> {
    let mut report = Report::default();
    let log = |path: &PathBuf| times::read_log(path, &Limits::default(), &mut report);
    let logs: Option<Vec<Log>> = paths.iter().map(log).collect();
    logs.ok_or(Failure::Input(report))
}

/// Gives the tasks the times of the logs that are named, and says how many each way of finding them covered.
pub(crate) fn apply(mut read: Read, flags: &cli::Times, out: &Output) -> Result<Read, Failure> {
    if flags.times.is_empty() {
        return Ok(read);
    }
    let logs = self::read(&flags.times)?;
    let Assigned {
        seconds,
        by_name,
        own,
        by_kind,
        by_mean,
    } = times::assign(&read.flow, &logs);
    let parts = [
        (by_name, "by name"),
        (own, "as the workflow says"),
        (by_kind, "by kind of job"),
        (by_mean, "by the mean"),
    ];
    let parts = parts.iter().filter(|p| p.0 > 0);
    let words: Vec<String> = parts.map(|(n, how)| format!("{n} {how}")).collect();
    out.remark(&format!(
        "times of {}: {}",
        counted(read.flow.dag().len(), "task"),
        words.join(", ")
    ));
    if by_name + by_kind == 0 {
        out.remark("warning: no job of the logs has the name or kind of a task: is it the log of this workflow?");
    }
    read.flow = read.flow.with_seconds(seconds);
    read.timed = Some(Timed {
        by_name,
        own,
        by_kind,
        by_mean,
    });
    Ok(read)
}

/// The workers of some logs.
pub(crate) fn fit(paths: &[PathBuf]) -> Result<Fitted, Failure> {
    times::fit(&read(paths)?).ok_or_else(|| {
        Failure::usage(
            "the log does not tell when jobs began, so it tells nothing of workers",
            "give a log with beginnings: sacct -P with Start, or an event log of HTCondor",
        )
    })
}

/// Where a log does not tell how long workers that went away stay away.
const AWAY: f64 = 60.0;

/// The flags that stand for fitted workers, for [`crate::cli::World`] and for people.
pub(crate) fn flags(fitted: &Fitted) -> Vec<(&'static str, String)> {
    let round = |seconds: f64| format!("{}", (seconds * 10.0).round() / 10.0);
    let mut flags = vec![("--slots", fitted.slots.to_string())];
    if let Some(up) = fitted.up {
        flags.push(("--up", format!("exp:{}", round(up.max(0.1)))));
        let down = fitted.down.unwrap_or(AWAY).max(0.1);
        flags.push(("--down", format!("exp:{}", round(down))));
    }
    if let Some(sigma) = fitted.speed.filter(|s| *s >= 0.005) {
        flags.push(("--speed", format!("lognormal:1:{sigma:.2}")));
    }
    flags
}

/// The same as one would type them.
pub(crate) fn typed(fitted: &Fitted) -> String {
    let words = flags(fitted).into_iter();
    let words: Vec<String> = words
        .map(|(flag, value)| format!("{flag} {value}"))
        .collect();
    words.join(" ")
}
