//! Reads a source in whatever format it is. Knows which reader serves which format, and nothing of their syntax.

use crate::edgelist::Separator;
use crate::{Format, Limits, Report, Source, detect};
use cairn_dag::Flow;
use std::path::Path;

/// Reads a flow: in `format`, or else in the format that [`detect()`] finds.
///
/// `None` when the report holds an error; readers go on past an error where they can, so there may be several.
/// Warnings tell what was ignored. Files that a DAGMan file includes are loaded, too.
///
/// Time and space are linear in the input (subgraphs in DOT may multiply arcs, up to a limit).
pub fn read(
    source: &Source,
    format: Option<Format>,
    report: &mut Report,
) -> Option<(Format, Flow)> {
    let format = match format.map_or_else(|| detect(source), Ok) {
        Ok(format) => format,
        Err(unrecognized) => {
            report.error(
                source.place(),
                unrecognized.to_string(),
                unrecognized.help(),
            );
            return None;
        }
    };
    let flow = match format {
        Format::Dagman => {
            let mut limits = Limits::default();
            let mut load = |path: &Path, report: &mut Report| {
                let source = Source::load_named_by_file(path, &limits, report)?;
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
        Format::Csv => crate::edgelist::read(source, Separator::Comma, report),
        Format::Tsv => crate::edgelist::read(source, Separator::Tab, report),
        Format::FlowToml => crate::native::read_toml(source, report),
        Format::FlowJson => crate::native::read_json(source, report),
        Format::FlowJsonLines => crate::native::read_json_lines(source, report),
    }?;
    if flow.dag().is_empty() {
        report.warning(
            source.place(),
            "there is no task in this file",
            format!(
                "if it is not a {} file, say so with --format",
                format.name()
            ),
        );
    }
    Some((format, flow))
}
