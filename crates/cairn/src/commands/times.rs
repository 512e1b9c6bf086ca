//! `cairn times`: how long each kind of job took, and what the workers were like, from the logs people have.

use crate::cli;
use crate::failure::Failure;
use crate::input::Named;
use crate::layout;
use crate::logs;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::plain;
use cairn_formats::times::{self, KindTimes};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Which logs are read, checked.
pub(crate) struct Settings {
    logs: Vec<PathBuf>,
}

impl Settings {
    pub(crate) fn new(flags: cli::TimesOf) -> Result<Settings, Failure> {
        Named::of("a log", &flags.logs).checked()?;
        Ok(Settings { logs: flags.logs })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let paths = &settings.logs;
    let logs = logs::read(paths)?;
    let kinds = times::by_kind(&logs);
    // None where no log tells when jobs began: times alone are an answer, too.
    let fitted = times::fit(&logs);
    let files: Vec<Value> = (paths.iter().zip(&logs))
        .map(|(path, log)| {
            json!({ "file": path.display().to_string(), "format": log.format.name(), "jobs": log.jobs.len() })
        })
        .collect();
    let rows: Vec<Value> = (kinds.iter())
        .map(|k| {
            json!({
                "kind": k.kind, "done": k.done, "failed": k.failed, "median": k.median, "mean": k.mean,
                "longest": k.longest, "spread": k.spread,
            })
        })
        .collect();
    let mut value = json!({ "files": files, "kinds": rows });
    let mut text = String::new();
    for (path, log) in paths.iter().zip(&logs) {
        text += &format!(
            "{}: {}, {}\n",
            crate::screen::path(path),
            log.format.name(),
            counted(log.jobs.len(), "job")
        );
    }
    text += &format!("\n{}", table(&kinds));
    if let Some(fitted) = &fitted {
        value["workers"] = json!({
            "slots": fitted.slots, "attempts": fitted.attempts, "lost": fitted.lost, "up": fitted.up,
            "down": fitted.down, "speed": fitted.speed, "flags": logs::typed(fitted),
        });
        let words = format!(
            "as of {}, {} of which lost their worker: {}",
            counted(fitted.attempts, "attempt"),
            fitted.lost,
            logs::typed(fitted)
        );
        text += &format!(
            "\n{}",
            layout::hanging("workers   ", &words, layout::width())
        );
    }
    out.answer(&value, &text)
}

fn table(kinds: &[KindTimes]) -> String {
    let header = [
        "kind",
        "done",
        "failed",
        "median s",
        "mean s",
        "longest s",
        "spread",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(kinds.iter().map(|k| {
        vec![
            plain(&k.kind).into_owned(),
            k.done.to_string(),
            k.failed.to_string(),
            short(k.median),
            short(k.mean),
            short(k.longest),
            format!("{:.2}", k.spread),
        ]
    }));
    layout::columns(&rows, layout::width())
}

/// Three digits or so.
fn short(seconds: f64) -> String {
    match seconds {
        // A median of few jobs has no more digits to tell.
        s if s >= 100.0 => format!("{s:.0}"),
        s if s >= 1.0 => format!("{s:.1}"),
        s => format!("{s:.3}"),
    }
}
