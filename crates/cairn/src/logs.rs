//! Logs of earlier runs as commands use them: read or refused, times given to tasks, workers in the words of flags. Knows no
//! format.

use crate::cli::{self, WorldName};
use crate::failure::Failure;
use crate::input::Read;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use crate::states;
use cairn_dag::{Flow, kind_of_word};
use cairn_formats::times::{self, Assigned, AttemptEnd, Fitted, Job, Log, LogFormat, Stay};
use cairn_formats::{ReadLimits, Report};
use cairn_serve::store::{FILE, StoreError};
use cairn_sim::Spread;
use std::path::{Path, PathBuf};

/// All logs, or every problem of the first that cannot be read.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Log>, Failure> {
    let one = |path: &PathBuf| {
        if let Some(folder) = store_folder(path) {
            // Before all others: a store is a binary file, which no reader of logs would take.
            return stored(folder).map_err(|e| unreadable(&e)).and_then(|log| {
                let what = format!("{} tells of no task that was executed", screen::path(path));
                let cure = "name the state of a run that came to something";
                log.ok_or_else(|| Failure::usage(what, cure))
            });
        }
        let mut report = Report::default();
        let log = times::read_log(path, &ReadLimits::default(), &mut report);
        log.ok_or(Failure::Input(report))
    };
    paths.iter().map(one).collect()
}

fn unreadable(error: &StoreError) -> Failure {
    let cure = "name the folder that `cairn run` or `cairn serve` keeps its state in";
    Failure::of(error, cure)
}

/// The folder of the store that a path names, if it names one.
fn store_folder(path: &Path) -> Option<&Path> {
    // The folder, as people know it, or the file in it, as their shells complete it.
    if path.join(FILE).is_file() {
        return Some(path);
    }
    let is_store = path.file_name().is_some_and(|name| name == FILE) && path.is_file();
    let folder = path.parent().filter(|_| is_store)?;
    Some(match folder == Path::new("") {
        true => Path::new("."),
        false => folder,
    })
}

/// What a store tells; `None` where nothing ended.
fn stored(folder: &Path) -> Result<Option<Log>, StoreError> {
    let past = cairn_serve::past(folder)?;
    let jobs: Vec<Job> = (past.attempts.iter())
        .map(|attempt| Job {
            name: attempt.task.clone(),
            kind: kind_of_word(&attempt.task).to_owned(),
            seconds: attempt.seconds,
            start: Some(attempt.start),
            host: Some(past.stays[attempt.stay].name.clone()),
            end: match attempt.end {
                cairn_serve::AttemptEnd::Executed => AttemptEnd::Executed,
                cairn_serve::AttemptEnd::Failed => AttemptEnd::Failed,
                cairn_serve::AttemptEnd::Lost => AttemptEnd::Lost,
            },
        })
        .collect();
    if !jobs.iter().any(|job| job.end == AttemptEnd::Executed) {
        return Ok(None);
    }
    let stay = |stay: &cairn_serve::Stay| Stay {
        name: stay.name.clone(),
        cpus: stay.cpus,
        from: stay.from,
        until: stay.until,
        was_lost: stay.was_lost,
    };
    Ok(Some(Log {
        format: LogFormat::Store,
        jobs,
        stays: past.stays.iter().map(stay).collect(),
    }))
}

/// A flow with times that were not given, but measured when it ran before.
pub(crate) struct Learnt {
    pub(crate) flow: Flow,
    /// Where they come from.
    pub(crate) words: String,
    timed: Assigned,
}

/// The times of earlier runs with that state, for a flow that gives none itself. `None` where there are none that fit.
pub(crate) fn learnt(flow: &Flow, state: &Path) -> Option<Learnt> {
    if flow.imputed_seconds().is_some() {
        return None;
    }
    // A state that cannot be read teaches nothing; whoever runs with it is told why.
    let log = stored(store_folder(state)?).ok()??;
    let mut timed = times::assign(flow, &[log]);
    if timed.by_name + timed.by_kind == 0 {
        return None;
    }
    let ways = ways(&timed);
    Some(Learnt {
        flow: flow
            .clone()
            .with_seconds(std::mem::take(&mut timed.seconds)),
        words: format!("with times learnt from earlier runs ({ways})"),
        timed,
    })
}

/// How many tasks each way of finding times covered.
fn ways(timed: &Assigned) -> String {
    let parts = [
        (timed.by_name, "by name"),
        (timed.own, "as the workflow says"),
        (timed.by_kind, "by kind of job"),
        (timed.by_mean, "by the mean"),
    ];
    let parts = parts.iter().filter(|p| p.0 > 0);
    let parts: Vec<String> = parts.map(|(n, how)| format!("{n} {how}")).collect();
    parts.join(", ")
}

/// Gives the tasks the times of the logs that are named, and says how many each way of finding them covered. Where neither the
/// flags nor the input give any, those of earlier runs of the same file, and says so.
pub(crate) fn apply(
    mut read: Read,
    flags: &cli::Times,
    input: &cli::Input,
    out: &Output,
) -> Result<Read, Failure> {
    if flags.times.is_empty() {
        let state = states::of_file(&input.file).ok();
        let state = state.filter(|_| !flags.no_learnt_times);
        if let Some(learnt) = state.and_then(|state| learnt(&read.flow, &state)) {
            let words = learnt.words;
            out.remark(&format!("{words} (--no-learnt-times leaves them out)"));
            read.flow = learnt.flow;
            read.timed = Some(learnt.timed);
        }
        return Ok(read);
    }
    let (flow, timed) = assigned(read.flow, flags, out)?;
    (read.flow, read.timed) = (flow, Some(timed));
    Ok(read)
}

/// The flow with the times of the logs that are named.
pub(crate) fn timed(flow: Flow, flags: &cli::Times, out: &Output) -> Result<Flow, Failure> {
    match flags.times.is_empty() {
        true => Ok(flow),
        false => assigned(flow, flags, out).map(|(flow, _)| flow),
    }
}

/// The flow with times from the logs that are named, and how many each way of finding them covered, which is said.
fn assigned(flow: Flow, flags: &cli::Times, out: &Output) -> Result<(Flow, Assigned), Failure> {
    let mut timed = times::assign(&flow, &read(&flags.times)?);
    let tasks = counted(flow.dag().len(), "task");
    out.remark(&format!("times of {tasks}: {}", ways(&timed)));
    if timed.by_name + timed.by_kind == 0 {
        out.remark("warning: no job of the logs has the name or kind of a task: is it the log of this workflow?");
    }
    let flow = flow.with_seconds(std::mem::take(&mut timed.seconds));
    Ok((flow, timed))
}

/// The workers of some logs.
pub(crate) fn fit(paths: &[PathBuf]) -> Result<Fitted, Failure> {
    times::fit(&read(paths)?).ok_or_else(|| {
        Failure::usage(
            "the log does not tell when jobs began, so it tells nothing of workers",
            "give a log with beginnings: sacct -P with Start, an event log of HTCondor, or the state of a run",
        )
    })
}

/// Where a log does not tell how long workers that went away stay away.
// A judgement: without such a time workers that went away would never come back.
const AWAY: f64 = 60.0;

/// Fitted workers as flags give them.
pub(crate) fn world(fitted: &Fitted) -> cli::World {
    // Tenths tell enough; not down to 0, which no flag takes for a time.
    let round = |seconds: f64| ((seconds * 10.0).round() / 10.0).max(0.1);
    let spread = |mean: f64| Spread::Exponential { mean: round(mean) };
    let mut world = cli::World::default();
    match &fitted.crew {
        Some(crew) if crew.is_one_machine() => world.slots = Some(crew.cpus),
        Some(crew) => {
            world.world = Some(WorldName::Pool);
            world.workers = Some(crew.workers);
            world.cores = Some(crew.cpus).filter(|&cpus| cpus > 1);
            world.join = crew.joins.map(round);
            world.stay = crew.stay.map(spread);
        }
        None => {
            world.slots = Some(fitted.slots);
            world.up = fitted.up.map(spread);
            let down = fitted.up.map(|_| fitted.down.unwrap_or(AWAY));
            world.down = down.map(spread);
        }
    }
    // Less would be written as 0.00.
    let sigma = fitted.speed.filter(|s| *s >= 0.005);
    world.speed = sigma.map(|sigma| Spread::LogNormal {
        median: 1.0,
        sigma: (sigma * 100.0).round() / 100.0,
    });
    world
}

/// The same as one would type them.
pub(crate) fn typed(fitted: &Fitted) -> String {
    let world = world(fitted);
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let spread = |spread: Option<Spread>| {
        spread.map(|spread| match spread {
            Spread::LogNormal { median, sigma } => format!("lognormal:{median}:{sigma:.2}"),
            other => format!("exp:{}", other.mean()),
        })
    };
    let flags = [
        ("--slots", number(world.slots)),
        ("--world", world.world.map(|_| "pool".to_owned())),
        ("--workers", number(world.workers)),
        ("--cores", number(world.cores)),
        ("--join", world.join.map(|seconds| seconds.to_string())),
        ("--stay", spread(world.stay)),
        ("--up", spread(world.up)),
        ("--down", spread(world.down)),
        ("--speed", spread(world.speed)),
    ];
    let words = flags.into_iter();
    let words = words.filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
    words.collect::<Vec<_>>().join(" ")
}
