//! `cairn check`: every problem of an input, and whether it can be planned and run.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::layout;
use crate::output::{Output, problems_json};
use crate::plural::counted;
use crate::screen;
use cairn_dag::{Flow, plain};
use cairn_formats::{Format, Jobs, Report, Severity};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// What was found of an input that can be planned.
struct Found {
    format: Format,
    flow: Arc<Flow>,
    /// How many tasks have a line to run.
    commands: usize,
    /// Why it cannot be run here, where something is in the way.
    unfit: Report,
}

pub(crate) fn run(input: &cli::Input, out: &Output) -> Result<(), Failure> {
    let mut report = Report::default();
    let read = input::try_open(input, &mut report);
    if read.is_none() && !input.file.is_file() && input.file.as_os_str() != "-" {
        return Err(Failure::Input(report)); // not a bad file: no file at all
    }
    let found = read.map(|(source, format, flow)| {
        let flow = Arc::new(flow);
        let has_command = |&t: &cairn_dag::TaskId| flow.command(t).is_some();
        let commands = flow.dag().tasks().filter(has_command).count();
        let mut unfit = Report::default();
        // Only for what it reports: that something cannot be run here is no fault of the file.
        Jobs::of(&source, format, Arc::clone(&flow), None, &mut unfit);
        Found {
            format,
            flow,
            commands,
            unfit,
        }
    });
    let dag = found.as_ref().map(|f| f.flow.dag());
    let value = json!({
        "ok": found.is_some(),
        "format": found.as_ref().map(|f| f.format.name()),
        "tasks": dag.map(|dag| dag.len()),
        "edges": dag.map(|dag| dag.arc_count()),
        // Under both names, as `info` and `gen` have it: programs read either.
        "arcs": dag.map(|dag| dag.arc_count()),
        "tasks_with_command": found.as_ref().map(|f| f.commands),
        "runs_here": found.as_ref().map(|f| f.unfit.errors() == 0),
        "not_here_since": found.as_ref().map(|f| problems_json(&f.unfit)),
        "errors": report.errors(),
        "warnings": report.warnings(),
        "problems": problems_json(&report),
    });
    let mut text = out.problems_text(&report);
    // The exit code says it all.
    if out.quiet && found.is_some() {
        return out.done(&value, "");
    }
    text += &match &found {
        Some(found) => summary(&input.file, found),
        None => format!(
            "{}: not usable, {}\n",
            screen::path(&input.file),
            counted(report.errors(), "error")
        ),
    };
    out.answer(&value, &text)?;
    match found {
        Some(_) => Ok(()),
        None => Err(Failure::No),
    }
}

fn summary(file: &Path, found: &Found) -> String {
    let dag = found.flow.dag();
    let tasks = counted(dag.len(), "task");
    let arcs = counted(dag.arc_count(), "arc");
    let name = found.format.name();
    let run = runs(found);
    let words = format!("ok, {name}, {tasks}, {arcs}, acyclic; {run}");
    layout::heading(&screen::path(file), &words, layout::width())
}

/// Whether `cairn run` could begin with it.
fn runs(found: &Found) -> String {
    let tasks = found.flow.dag().len();
    let has_lines = !matches!(
        found.format,
        Format::Dagman | Format::Dax | Format::PegasusYaml | Format::Taskcluster
    );
    let errors = found
        .unfit
        .problems()
        .iter()
        .filter(|p| p.severity == Severity::Error);
    match (found.commands, errors.clone().next()) {
        (0, Some(_)) if has_lines => {
            "no task has a command: it can be planned, not run here".to_owned()
        }
        (c, _) if has_lines && c == tasks => "every task has a command".to_owned(),
        (c, _) if has_lines => format!("{c} of {} have a command", counted(tasks, "task")),
        (_, None) => "every task can be run here".to_owned(),
        (_, Some(first)) => {
            let more = match errors.count() - 1 {
                0 => String::new(),
                n => format!(", and {}", counted(n, "more reason")),
            };
            let why = plain(&first.message);
            format!("it can be planned, not run here: {why}{more}")
        }
    }
}
