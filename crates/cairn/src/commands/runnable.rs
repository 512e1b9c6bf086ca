//! A workflow with what its tasks run and by which rules, for whoever runs, serves or submits it. Plans nothing.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::logs;
use crate::output::Output;
use cairn_dag::{Flow, plain};
use cairn_engine::{Rules, Task};
use cairn_formats::{Format, Jobs, Report, Source, Template};
use cairn_serve::run::{RulesError, Wishes, rules};
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

/// The command of tasks that have none.
pub(crate) fn template(line: Option<&str>) -> Result<Option<Template>, Failure> {
    let template = line.map(|line| {
        let cure = "such as --run './simulate --seed {name}'";
        Template::new(line)
            .map_err(|e| Failure::usage(format!("--run: {}", plain(&e.to_string())), cure))
    });
    template.transpose()
}

pub(crate) fn pool(text: &str) -> Result<(String, u32), Failure> {
    let wrong = || {
        Failure::usage(
            format!("--pool {} is no name and number", plain(text)),
            "such as --pool licence=4",
        )
    };
    // From the right, as names may have an equals sign.
    let (name, many) = text.rsplit_once('=').ok_or_else(wrong)?;
    let many = many.trim().parse().map_err(|_| wrong())?;
    match name.trim() {
        "" => Err(wrong()),
        name => Ok((name.to_owned(), many)),
    }
}

/// The rules for a run, or what can never be fulfilled.
pub(crate) fn rules_for(
    flow: &Flow,
    wishes: &Wishes,
    jobs: &Jobs,
    format: Format,
) -> Result<Rules, Failure> {
    let mut rules = rules(flow, wishes).map_err(|error| {
        let help = match &error {
            RulesError::UnknownPool { pool, amount, .. } => {
                format!("say how much there is, such as --pool {pool}={amount}")
            }
            RulesError::PoolTooSmall { pool, amount, .. } => {
                format!("give more, such as --pool {pool}={amount}")
            }
            RulesError::UnusedPool(_) => "leave it out, or mend its name".to_owned(),
            RulesError::Tag { tag, .. } => {
                format!("if this machine has it, say so: --label '{tag}'; else serve the workflow to workers that do")
            }
            RulesError::Memory { .. } => "correct what the workflow says, or --memory".to_owned(),
        };
        Failure::of(&error, plain(&help))
    })?;
    if format == Format::Dagman {
        for task in flow.dag().tasks() {
            let job = jobs.job(task);
            if let Some(exit) = job.never_retry_on {
                rules.never_retry_on.insert(Task::from(task), exit);
            }
            if let Some(abort) = job.abort_on {
                let codes = (abort.exit, abort.returned);
                rules.halt_on.insert(Task::from(task), codes);
            }
        }
    }
    Ok(rules)
}
