//! `cairn check`: every problem of an input, and whether it can be planned and run.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::layout;
use crate::output::{Output, problems_json};
use crate::plural::counted;
use crate::screen;
use cairn_dag::Flow;
use cairn_formats::{Format, Report};
use serde_json::json;

pub(crate) fn run(input: &cli::Input, out: &Output) -> Result<(), Failure> {
    let mut report = Report::default();
    let read = input::try_read(input, &mut report);
    if read.is_none() && !input.file.is_file() && input.file.as_os_str() != "-" {
        return Err(Failure::Input(report)); // not a bad file: no file at all
    }
    let (format, flow) = match &read {
        Some((_, format, flow)) => (Some(*format), Some(flow)),
        None => (None, None),
    };
    let commands = flow.map(|f| f.dag().tasks().filter(|&t| f.command(t).is_some()).count());
    let value = json!({
        "ok": read.is_some(),
        "format": format.map(Format::name),
        "tasks": flow.map(|f| f.dag().len()),
        "edges": flow.map(|f| f.dag().arc_count()),
        "arcs": flow.map(|f| f.dag().arc_count()),
        "tasks_with_command": commands,
        "errors": report.errors(),
        "warnings": report.warnings(),
        "problems": problems_json(&report),
    });
    let mut text = out.problems_text(&report);
    if out.quiet && read.is_some() {
        return out.done(&value, "");
    }
    text += &summary(input, format, flow, commands, &report);
    out.answer(&value, &text)?;
    if read.is_some() {
        Ok(())
    } else {
        Err(Failure::No)
    }
}

fn summary(
    input: &cli::Input,
    format: Option<Format>,
    flow: Option<&Flow>,
    commands: Option<usize>,
    report: &Report,
) -> String {
    let file = screen::path(&input.file);
    let (Some(format), Some(flow), Some(commands)) = (format, flow, commands) else {
        return format!(
            "{file}: not usable, {}\n",
            counted(report.errors(), "error")
        );
    };
    let tasks = flow.dag().len();
    let counts = format!(
        "{}, {}",
        counted(tasks, "task"),
        counted(flow.dag().arc_count(), "arc")
    );
    let run = match commands {
        0 => "no task has a command: it can be planned, not run here".to_owned(),
        c if c == tasks => "every task has a command".to_owned(),
        c => format!("{c} of {} have a command", counted(tasks, "task")),
    };
    let name = format.name();
    let words = format!("ok, {name}, {counts}, acyclic; {run}");
    layout::heading(&file.to_string(), &words, layout::width())
}
