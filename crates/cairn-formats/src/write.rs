//! Writes a flow in the format asked for. Knows which writer serves which format, and nothing of their syntax.

use crate::Format;
use crate::edgelist::Separator;
use cairn_dag::Flow;
use std::io::{self, Write};

/// Why a flow was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format can only be read.
    #[error("{} can be read but not written; formats that can be written: {}", .0.name(), Format::names(Format::can_write))]
    ReadOnly(Format),
    /// The output could not take it.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

/// Writes `flow` in `format`. Reading it back gives the same tasks in the same order, the same arcs, and those
/// attributes that the format can hold.
///
/// `out` should be buffered: writers write piece by piece.
///
/// # Errors
/// [`WriteError::ReadOnly`] unless [`Format::can_write`]; [`WriteError::Io`] from `out`, or when a name cannot be
/// spelled in the format at all.
pub fn write(flow: &Flow, format: Format, out: &mut dyn Write) -> Result<(), WriteError> {
    match format {
        Format::Dagman => crate::dagman::write(flow, out)?,
        Format::WfFormat => crate::wfformat::write(flow, out)?,
        Format::Dot => crate::dot::write(flow, out)?,
        Format::Csv => crate::edgelist::write(flow, Separator::Comma, out)?,
        Format::Tsv => crate::edgelist::write(flow, Separator::Tab, out)?,
        Format::FlowToml => crate::native::write_toml(flow, out)?,
        Format::FlowJson => crate::native::write_json(flow, out)?,
        Format::FlowJsonLines => crate::native::write_json_lines(flow, out)?,
        Format::Dax | Format::PegasusYaml | Format::Makeflow | Format::Stg => {
            return Err(WriteError::ReadOnly(format));
        }
        Format::Galaxy | Format::Taskcluster | Format::TaskEdge => {
            return Err(WriteError::ReadOnly(format));
        }
    }
    Ok(())
}

/// Whether a flow has something to say.
type Present = fn(&Flow) -> bool;

/// What a flow may say of its tasks, by the names used in messages.
const ATTRIBUTES: [(&str, Present); 9] = [
    ("labels", Flow::has_labels),
    ("kinds of job", |f| {
        f.dag().tasks().any(|t| f.given_kind(t).is_some())
    }),
    ("commands", |f| {
        f.dag().tasks().any(|t| f.command(t).is_some())
    }),
    ("durations", |f| {
        f.dag().tasks().any(|t| f.seconds(t).is_some())
    }),
    ("cpus", |f| f.dag().tasks().any(|t| f.cpus(t).is_some())),
    ("retries", |f| {
        f.dag().tasks().any(|t| f.retries(t).is_some())
    }),
    ("priorities", |f| {
        f.dag().tasks().any(|t| f.priority(t).is_some())
    }),
    ("marks of executed tasks", |f| {
        f.dag().tasks().any(|t| f.is_done(t))
    }),
    ("files", |f| {
        f.dag()
            .tasks()
            .any(|t| f.inputs(t).chain(f.outputs(t)).next().is_some())
    }),
];

/// What this flow has that the format cannot hold: [`write()`] leaves it out.
pub fn lost(flow: &Flow, format: Format) -> Vec<&'static str> {
    let held: &[&str] = match format {
        Format::FlowToml | Format::FlowJson | Format::FlowJsonLines => return Vec::new(),
        Format::Dagman => &[
            "commands",
            "cpus",
            "retries",
            "priorities",
            "marks of executed tasks",
        ],
        Format::WfFormat => &[
            "labels",
            "commands",
            "durations",
            "cpus",
            "priorities",
            "files",
        ],
        Format::Dot => &[
            "labels",
            "kinds of job",
            "commands",
            "durations",
            "cpus",
            "retries",
            "priorities",
            "marks of executed tasks",
        ],
        _ => &[],
    };
    (ATTRIBUTES.iter())
        .filter(|(name, is_there)| !held.contains(name) && is_there(flow))
        .map(|(name, _)| *name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, Source};

    /// What `lost` says is lost, and nothing else, is gone after writing and reading back.
    #[test]
    fn lost_tells_the_truth_for_every_format() {
        let mut build = cairn_dag::FlowBuilder::new();
        let a = build.declare("a", 1).unwrap();
        let b = build.declare("b", 2).unwrap();
        build.arc(a, b).unwrap();
        build.set_label(a, "say hello");
        build.set_kind(a, "talk");
        build.set_command(a, "echo hello");
        build.set_seconds(a, 2.5).unwrap();
        build.set_cpus(a, 4);
        build.set_retries(a, 2);
        build.set_priority(a, 7);
        build.set_done(a);
        build.add_output(a, "x", Some(10));
        let flow = build.finish().unwrap();
        for format in Format::ALL.into_iter().filter(|f| f.can_write()) {
            let mut text = Vec::new();
            write(&flow, format, &mut text).unwrap();
            let source = Source::from_text("x", String::from_utf8(text).unwrap());
            let mut report = Report::default();
            let (_, again) =
                crate::read(&source, Some(format), &mut report).expect("our own output");
            let gone: Vec<&str> = (ATTRIBUTES.iter())
                .filter(|(_, is_there)| is_there(&flow) && !is_there(&again))
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(lost(&flow, format), gone, "{}", format.name());
        }
    }

    #[test]
    fn read_only_formats_say_what_can_be_written() {
        let flow = cairn_dag::FlowBuilder::new().finish().unwrap();
        for format in Format::ALL.into_iter().filter(|f| !f.can_write()) {
            let error = write(&flow, format, &mut Vec::new()).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, WriteError::ReadOnly(f) if f == format));
            assert!(text.starts_with(format.name()) && text.contains("dagman, wfformat, dot"));
        }
    }
}
