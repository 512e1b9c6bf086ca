//! Each kind of world from its flags, with its words. Knows no tasks but how long they take on the mean.

use crate::cli;
use crate::failure::Failure;
use crate::plural::counted;
use crate::screen;
use crate::spread;
use cairn_sim::{Breaks, Crew, Lease, Link, Natures, PoolSettings, Spread, Tail, Trace, World};

/// Workers where none are given.
// A judgement, as those below: a small cluster.
pub(super) const WORKERS: u32 = 16;
/// Requests in a batch, on the mean, where nothing is given.
// As many as there are workers: on the mean everybody asks once a batch.
pub(super) const BATCH: f64 = 16.0;
/// A task is given out again after so many times its expected duration.
// Long enough that a slow worker is not taken for a lost one, short against a run.
const LEASE: f64 = 3.0;
/// Who vanishes does so within so many mean durations.
// A judgement: late enough that most have done some tasks, and early enough that it happens within a short run.
const VANISH: f64 = 10.0;

pub(super) const HELP: &str = "cairn simulate --help lists the worlds and their settings";

pub(crate) fn refused(error: cairn_sim::SettingError) -> Failure {
    Failure::usage(error.to_string(), HELP)
}

/// Whether workers of a pool go away.
pub(super) fn is_volatile(flags: &cli::World) -> bool {
    flags.up.is_some() || flags.stay.is_some() || flags.walltime.is_some()
}

/// A world, and what it is in words.
pub(super) type Named = (World, String);

pub(super) fn batches(flags: &cli::World, mean: f64) -> Result<Named, Failure> {
    let (gap, size) = (flags.gap.unwrap_or(mean), flags.size.unwrap_or(BATCH));
    let world = World::batches(gap, size).map_err(refused)?;
    let words = format!(
        "batches with a mean gap of {} and a mean size of {size}",
        short(gap)
    );
    Ok((world, words))
}

pub(super) fn throttled(flags: &cli::World) -> Result<Named, Failure> {
    let workers = flags.workers.unwrap_or(WORKERS);
    let submitted = flags.submitted.unwrap_or(workers);
    let world = World::throttled(submitted, workers).map_err(refused)?;
    let mut words = format!("a cluster queue with {}", counted(workers as usize, "slot"));
    if submitted != workers {
        let tasks = counted(submitted as usize, "submitted task");
        words += &format!(" and at most {tasks}");
    }
    Ok((world, words))
}

pub(super) fn pool(flags: &cli::World, mean: f64) -> Result<Named, Failure> {
    let up = flags.up.or(flags.walltime.map(Spread::Constant));
    // Whoever ends by walltime starts anew as good as at once, unless it waits for it.
    let at_once = flags.walltime.map(|_| Spread::Constant(mean / 1000.0));
    let breaks = match (up, flags.down.or(at_once)) {
        (Some(up), Some(down)) => Some(Breaks { up, down }),
        (None, None) => None,
        _ => {
            return Err(Failure::usage(
                "--up and --down belong together: how long workers are up, and how long down",
                "give both, such as --up 600 --down 60",
            ));
        }
    };
    let workers = flags.workers.unwrap_or(WORKERS);
    let volatile = is_volatile(flags) || flags.natures.vanishing > 0.0;
    let settings = PoolSettings {
        workers,
        joins: flags.join,
        stay: flags.stay,
        breaks,
        crew: crew(flags, mean, volatile),
    };
    let mut words = format!("a pool of {}", counted(workers as usize, "worker"));
    if let Some(breaks) = breaks {
        let (up, down) = (spread::words(breaks.up), spread::words(breaks.down));
        words += &format!(", up {up}, down {down}");
    }
    if let Some(join) = flags.join {
        words += &format!(", others join every {join} on the mean");
    }
    if let Some(stay) = flags.stay {
        words += &format!(", stay {}", spread::words(stay));
    }
    words += &crew_words(flags);
    Ok((World::pool(settings).map_err(refused)?, words))
}

/// The record of a trace and the name of its file.
pub(super) fn recorded(flags: &cli::World) -> Result<(String, Trace), Failure> {
    let Some(path) = &flags.trace else {
        return Err(Failure::usage(
            "--world trace needs a trace",
            "give --trace FILE, a CSV file with rows worker,start,end",
        ));
    };
    let shown = screen::path(path);
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::usage(
            format!("cannot read the trace {shown}: {e}"),
            "give a CSV file with rows worker,start,end",
        )
    })?;
    let trace = Trace::parse(&text).map_err(|e| {
        Failure::usage(
            format!("{shown}: {e}"),
            "rows are worker,start,end with times in seconds",
        )
    })?;
    Ok((shown, trace))
}

pub(super) fn trace(
    flags: &cli::World,
    file: &str,
    trace: &Trace,
    mean: f64,
) -> Result<Named, Failure> {
    let again = if flags.repeat { ", over and over" } else { "" };
    let words = format!(
        "{} as recorded in {file}{again}{}",
        counted(trace.workers(), "worker"),
        crew_words(flags)
    );
    let world =
        World::trace(trace.clone(), flags.repeat, crew(flags, mean, true)).map_err(refused)?;
    Ok((world, words))
}

fn crew(flags: &cli::World, mean: f64, volatile: bool) -> Crew {
    let link = (flags.bandwidth.is_some() || flags.latency.is_some()).then(|| Link {
        // With latency alone, bytes travel as good as at once.
        bandwidth: flags.bandwidth.unwrap_or(Spread::Constant(1e18)),
        latency: flags.latency.unwrap_or(Spread::Constant(0.0)),
    });
    let lease = (volatile || flags.lease.is_some()).then(|| Lease {
        factor: flags.lease.unwrap_or(LEASE),
        at_least: mean,
    });
    Crew {
        speed: flags.speed.unwrap_or(Spread::Constant(1.0)),
        cores: flags.cores.unwrap_or(1),
        link,
        lease,
        // One more than the first: a third would keep workers from tasks that nobody has.
        tail: flags.tail.map(|tasks| Tail { tasks, copies: 2 }),
        natures: Natures {
            vanish_within: VANISH * mean,
            ..flags.natures
        },
    }
}

fn crew_words(flags: &cli::World) -> String {
    let mut words = String::new();
    let mut add = |what: &str, spread: Option<Spread>| {
        if let Some(spread) = spread {
            words += &format!(", {what} {}", spread::words(spread));
        }
    };
    add("speed", flags.speed);
    add("bandwidth", flags.bandwidth);
    add("latency", flags.latency);
    if let Some(cores) = flags.cores {
        words += &format!(", {} each", counted(cores as usize, "core"));
    }
    let natures = &flags.natures;
    for (share, what) in [
        (natures.liars, "lie"),
        (natures.vanishing, "vanish"),
        (natures.slow, "are slow"),
    ] {
        if share > 0.0 {
            words += &format!(", {} % {what}", short(100.0 * share));
        }
    }
    if natures.liars > 0.0 && natures.colluding > 1 {
        words += &format!(", {} with one lie", natures.colluding);
    }
    words
}

/// A number with few digits.
fn short(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
