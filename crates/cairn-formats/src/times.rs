//! How long jobs took and on which workers, from the logs people have: detected by content, read with file, line and cure.
//! Knows no schedule.
//!
//! [`read_log`] reads one log. [`assign`] gives its times to the tasks of a flow, [`by_kind`] sums them up, and [`fit`] tells
//! what the workers were like.

mod assign;
mod condor;
mod crew;
mod dates;
mod fit;
mod jobstate;
mod ninja;
mod sacct;
mod snakemake;
mod table;

pub use assign::{Assigned, assign};
pub use crew::Crew;
pub use fit::{Fitted, fit};
pub use table::{KindTimes, by_kind};

use crate::{ReadLimits, Report, Source, read};
use cairn_dag::kind_of_word;
use std::borrow::Cow;
use std::path::Path;

/// One attempt at one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What the log calls it; for engines that know jobs by what they make, the file that it made.
    pub name: String,
    /// Jobs alike: what the log says, else the name without its numbers.
    pub kind: String,
    /// How long it ran.
    pub seconds: f64,
    /// When it began, in seconds since some moment that is the same in all the log.
    pub start: Option<f64>,
    /// Where it ran.
    pub host: Option<String>,
    /// How it ended.
    pub end: AttemptEnd,
}

/// How an attempt ended, as logs tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// With a result.
    Executed,
    /// Without one, by its own fault.
    Failed,
    /// Its worker went away.
    Lost,
}

impl Job {
    /// A job that is done; its kind is guessed from its name.
    fn done(name: &str, seconds: f64) -> Job {
        Job {
            kind: kind_of_word(name).to_owned(),
            name: name.to_owned(),
            seconds,
            start: None,
            host: None,
            end: AttemptEnd::Executed,
        }
    }
}

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Rows of name and seconds.
    Csv,
    /// `.ninja_log`.
    Ninja,
    /// Nextflow's `trace.txt`.
    Nextflow,
    /// A benchmark file of Snakemake.
    SnakemakeBenchmark,
    /// The folder `.snakemake/metadata`.
    SnakemakeMetadata,
    /// `sacct -P`.
    Sacct,
    /// A job event log of HTCondor, or a `.nodes.log` of DAGMan.
    Condor,
    /// `jobstate.log` of DAGMan or Pegasus.
    Jobstate,
    /// A workflow file with durations.
    Workflow,
    /// The store of a run of Cairn; read elsewhere.
    Store,
}

impl LogFormat {
    /// The name that people are told.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::Csv => "csv",
            LogFormat::Ninja => "ninja log",
            LogFormat::Nextflow => "nextflow trace",
            LogFormat::SnakemakeBenchmark => "snakemake benchmark",
            LogFormat::SnakemakeMetadata => "snakemake metadata",
            LogFormat::Sacct => "sacct",
            LogFormat::Condor => "htcondor event log",
            LogFormat::Jobstate => "jobstate log",
            LogFormat::Workflow => "workflow",
            LogFormat::Store => "state of a run",
        }
    }
}

/// A log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// What it is.
    pub format: LogFormat,
    /// Every attempt that it tells of, in its order.
    pub jobs: Vec<Job>,
    /// Who came and went, where it tells that.
    pub stays: Vec<Stay>,
}

/// A worker from when it came until it went, in seconds since the same moment as the beginnings of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Stay {
    /// What it called itself.
    pub name: String,
    /// Tasks of one processor that it did at once.
    pub cpus: u32,
    /// When it came.
    pub from: f64,
    /// When it went; `None` where it was there to the end.
    pub until: Option<f64>,
    /// Whether it was lost.
    pub was_lost: bool,
}

impl Log {
    /// A log that tells of jobs alone.
    fn of(format: LogFormat, jobs: Vec<Job>) -> Log {
        let stays = Vec::new();
        Log {
            format,
            jobs,
            stays,
        }
    }
}

const KNOWN: &str = "known are rows of name,seconds; .ninja_log; Nextflow's trace.txt; benchmark files and the folder \
                     .snakemake/metadata of Snakemake; sacct -P with the columns JobName and Elapsed; event logs of \
                     HTCondor, .nodes.log and jobstate.log of DAGMan; workflows with durations; the folder that cairn keeps \
                     the state of a run in";

/// Reads a log, or the folder `.snakemake/metadata`. `None` exactly when the report has an error.
///
/// ```
/// use cairn_formats::{Report, Source, times};
/// let source = Source::from_text("times.csv", "name,seconds\nalign-1,40\nalign-2,44\n");
/// let log = times::read_source(&source, &mut Report::default()).unwrap();
/// assert_eq!((log.jobs[1].kind.as_str(), log.jobs[1].seconds), ("align", 44.0));
/// ```
pub fn read_log(path: &Path, limits: &ReadLimits, report: &mut Report) -> Option<Log> {
    if path.is_dir() {
        return snakemake::metadata(path, limits, report);
    }
    let source = Source::load(path, limits, report)?;
    read_source(&source, report)
}

/// Reads a log that is in memory.
pub fn read_source(source: &Source, report: &mut Report) -> Option<Log> {
    // Logs before workflows: rows of name and number would pass for a list of arcs.
    let Some(format) = detect(source.text()) else {
        let errors = report.errors();
        // Problems of a workflow are told as such only if it is one.
        if crate::detect(source).is_ok()
            && let Some(log) = workflow(source, report)
        {
            return Some(log);
        }
        if report.errors() == errors {
            let what = "this is no log of times that is known here";
            report.error(source.place(), what, KNOWN);
        }
        return None;
    };
    let jobs = match format {
        LogFormat::Ninja => ninja::read(source.text()),
        LogFormat::Sacct => sacct::read(source.text()),
        LogFormat::Condor => condor::read(source.text()),
        LogFormat::Jobstate => jobstate::read(source.text()),
        LogFormat::SnakemakeBenchmark => snakemake::benchmark(source),
        LogFormat::Nextflow => table::nextflow(source.text()),
        _ => table::csv(source.text()),
    };
    let jobs = match jobs {
        Ok(jobs) => jobs,
        Err(Wrong(line, what, cure)) => {
            report.error(source.place_of_line(line), what, cure);
            return None;
        }
    };
    if jobs.is_empty() {
        report.error(
            source.place(),
            format!("this {} tells of no job that ended", format.name()),
            "give a log of a run that came to something",
        );
        return None;
    }
    Some(Log::of(format, jobs))
}

/// What is wrong with a log, in which line, and what to do. The first such line ends the reading: times that are half read
/// would be taken for all.
struct Wrong(u32, Cow<'static, str>, &'static str);

fn wrong<T>(line: u32, what: impl Into<Cow<'static, str>>, cure: &'static str) -> Result<T, Wrong> {
    Err(Wrong(line, what.into(), cure))
}

/// The lines in which something stands, each with its number.
fn rows(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}

/// What a text is, by its first lines.
fn detect(text: &str) -> Option<LogFormat> {
    let lines = || rows(text).map(|(_, line)| line);
    let first = lines().next()?;
    let columns = |by: char| first.split(by).map(|c| c.trim().to_ascii_lowercase());
    let has = |by: char, wanted: &[&str]| wanted.iter().all(|w| columns(by).any(|c| c == *w));
    // The surest signs first; rows of name and number, which many a text could be, last.
    if first.starts_with("# ninja log") {
        return Some(LogFormat::Ninja);
    }
    if has('|', &["jobid"]) {
        return Some(LogFormat::Sacct);
    }
    if has('\t', &["s", "h:m:s"]) {
        return Some(LogFormat::SnakemakeBenchmark);
    }
    if has('\t', &["name", "status"]) || has('\t', &["task_id", "name"]) {
        return Some(LogFormat::Nextflow);
    }
    if condor::is_event(first) {
        return Some(LogFormat::Condor);
    }
    if jobstate::is_line(first) {
        return Some(LogFormat::Jobstate);
    }
    let row = lines().find(|l| !l.trim_start().starts_with('#'))?;
    table::is_csv(row).then_some(LogFormat::Csv)
}

/// A workflow whose tasks have durations.
fn workflow(source: &Source, report: &mut Report) -> Option<Log> {
    let (_, flow) = read(source, None, report)?;
    let jobs: Vec<Job> = (flow.dag().tasks())
        .filter_map(|task| {
            let job = Job::done(flow.name(task), flow.seconds(task)?);
            let kind = flow.kind(task).to_owned();
            Some(Job { kind, ..job })
        })
        .collect();
    if jobs.is_empty() {
        report.error(
            source.place(),
            "this workflow gives no durations",
            "give the log of a run, or a workflow whose tasks have them",
        );
        return None;
    }
    Some(Log::of(LogFormat::Workflow, jobs))
}

/// A duration that can be one.
fn good(seconds: f64) -> Option<f64> {
    // Thirty million years: what is longer is a moment taken for a length, and would spoil every mean.
    (0.0..=1e15).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests;
