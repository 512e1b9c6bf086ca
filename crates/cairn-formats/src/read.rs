//! Reads a source in whatever format it is. Knows which reader serves which format, and nothing of their syntax.

use crate::{Cure, Format, ReadLimits, Report, Source, detect};
use cairn_dag::Flow;
use std::path::{Path, PathBuf};

/// Reads a flow: in `format`, or else in the format that [`detect()`] finds.
///
/// `None` when the report holds an error; readers go on past an error where they can, so there may be several.
/// Warnings tell what was ignored. Files that a DAGMan file includes, or the sweep of a flow file names, are loaded,
/// too. A flow without a task is an error: there is nothing to order, and nothing to prove of it.
///
/// Time and space are linear in the input (subgraphs in DOT may multiply arcs, up to a limit).
pub fn read(
    source: &Source,
    format: Option<Format>,
    report: &mut Report,
) -> Option<(Format, Flow)> {
    let errors_before = report.errors();
    if let Some(message) = blank(source.text()) {
        report.error(source.place(), message, "name a file that holds a workflow");
        return None;
    }
    let format = match format.map_or_else(|| detect(source), Ok) {
        Ok(format) => format,
        Err(unrecognized) => {
            report.error(
                source.place(),
                unrecognized.to_string(),
                unrecognized.help(),
            );
            if unrecognized.asks_for_a_format() {
                report.cured_by(Cure::NameFormat);
            }
            return None;
        }
    };
    let flow = read_as(source, format, report);
    let Some(flow) = flow else {
        cut_short(source, format, errors_before, report);
        return None;
    };
    // Nearly always a file of another format, in which no line was one of ours.
    if flow.dag().is_empty() {
        report.error(
            source.place(),
            "there is no task in this file",
            format!(
                "write one into it; if it is not a {} file, name its format",
                format.name()
            ),
        );
        report.cured_by(Cure::NameFormat);
        return None;
    }
    Some((format, flow))
}

/// What to say of a text in which nothing is said.
fn blank(text: &str) -> Option<&'static str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_comment = |line: &str| line.starts_with('#') || line.starts_with("//");
    match lines.next() {
        None => Some("this input is blank: it holds nothing but white space"),
        Some(first) if is_comment(first) && lines.all(is_comment) => {
            Some("there is nothing but comments in this file")
        }
        Some(_) => None,
    }
}

/// A file in which every other line is wrong is no workflow with many mistakes: three of them will do.
fn cut_short(source: &Source, format: Format, before: usize, report: &mut Report) {
    // Fewer are all shown, as people mend them one by one. Judgements: eight fit on a screen with their cures, and three are
    // enough to see that the lines are of something else.
    const MANY: usize = 8;
    const SHOWN: usize = 3;
    let lines = source.text().lines().filter(|l| !l.trim().is_empty());
    let errors = report.errors() - before;
    if errors <= MANY || errors * 2 < lines.clone().count() {
        return;
    }
    // Those of other files stay.
    report.keep_errors(before + SHOWN);
    let message = format!(
        "this does not look like a {} file: {errors} errors in {} lines, of which the first are shown",
        format.name(),
        lines.count()
    );
    let help = "if it is of another format, name that";
    report.error(source.place(), message, help);
    report.cured_by(Cure::NameFormat);
}

/// The files that a source, which can be read in `format`, includes, splices or takes the values of a sweep from.
pub fn files_of(source: &Source, format: Format) -> Vec<PathBuf> {
    match format {
        Format::Dagman => crate::dagman::files_of(source),
        _ => crate::native::files_of_sweeps(source, format).unwrap_or_default(),
    }
}

fn read_as(source: &Source, format: Format, report: &mut Report) -> Option<Flow> {
    match format {
        Format::Dagman => {
            let mut limits = ReadLimits::default();
            let mut load = |path: &Path, report: &mut Report| {
                let source = Source::load_named_by_file(path, &limits, report)?;
                // One allowance for all files together: many small ones are as large as one large.
                limits.max_bytes = limits.max_bytes.saturating_sub(source.text().len() as u64);
                Some(source)
            };
            crate::dagman::read(source, &mut load, report)
        }
        Format::WfFormat => crate::wfformat::read(source, report),
        Format::Dax => crate::dax::read(source, report),
        Format::PegasusYaml => crate::pegasus::read(source, report),
        Format::Dot => crate::dot::read(source, report),
        Format::Makeflow => crate::makeflow::read(source, report),
        Format::Stg => crate::stg::read(source, report),
        Format::Galaxy => crate::galaxy::read(source, report),
        Format::Taskcluster => crate::taskcluster::read(source, report),
        Format::TaskEdge => crate::taskedge::read(source, report),
        Format::Csv => crate::edgelist::read(source, ',', report),
        Format::Tsv => crate::edgelist::read(source, '\t', report),
        Format::FlowToml => crate::native::read_toml(source, report),
        Format::FlowJson => crate::native::read_json(source, report),
        Format::FlowJsonLines => crate::native::read_json_lines(source, report),
    }
}
