//! A workflow with what its tasks run, for whoever runs, serves or submits it. Plans nothing.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::logs;
use crate::output::Output;
use cairn_dag::Flow;
use cairn_formats::{Format, Jobs, Report, Source, Template};
use std::sync::Arc;

/// The whole workflow, what is executed of it already, and its jobs.
pub(crate) struct Runnable {
    pub(crate) source: Source,
    pub(crate) format: Format,
    pub(crate) flow: Arc<Flow>,
    pub(crate) jobs: Jobs,
    /// By task.
    pub(crate) is_executed: Vec<bool>,
    /// Warnings of the reader.
    pub(crate) report: Report,
    /// Those, and what there is to say of jobs.
    pub(crate) problems: Report,
}

/// Reads the input with the times of logs; tasks without a command get that of the template.
pub(crate) fn open(
    input: &cli::Input,
    no_rescue: bool,
    times: &cli::Times,
    template: Option<&Template>,
    out: &Output,
) -> Result<Runnable, Failure> {
    let executed = cli::Executed {
        executed: String::new(),
        no_rescue,
    };
    let whole = input::open_whole(input, &executed, out)?;
    let flow = Arc::new(logs::timed(whole.flow, times, out)?);
    let (source, format, report) = (whole.source, whole.format, whole.report);
    // Beside the reader's: what was said of reading is not said again.
    let mut problems = report.clone();
    let jobs = Jobs::of(
        &source,
        format,
        Arc::clone(&flow),
        template.cloned(),
        &mut problems,
    );
    let Some(jobs) = jobs else {
        return Err(Failure::Input(problems));
    };
    Ok(Runnable {
        jobs,
        problems,
        is_executed: whole.is_executed,
        source,
        format,
        flow,
        report,
    })
}
