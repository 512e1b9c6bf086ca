//! Writes a flow in the format asked for. Knows which writer serves which format, and nothing of their syntax.

use crate::Format;
use cairn_dag::Flow;
use std::io::{self, Write};

/// Why a flow was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format can only be read.
    #[error("{} can be read but not written; formats that can be written: {}", .0.name(), Format::names(Format::can_write))]
    ReadOnly(Format),
    /// What would be written, read back, is not the same dag.
    #[error("this cannot be written as {}: {why}", .format.name())]
    Unfaithful {
        /// The format.
        format: Format,
        /// What is in the way.
        why: String,
    },
    /// The output could not take it.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

/// Writes `flow` in `format`. Reading it back gives the same tasks in the same order, the same arcs, and those
/// attributes that the format can hold. Which those are, and whether every name can be spelled there,
/// [`crate::convert()`] finds out.
///
/// `out` should be buffered: writers write piece by piece.
///
/// # Errors
/// [`WriteError::ReadOnly`] unless [`Format::can_write`]; [`WriteError::Io`] from `out`.
pub fn write(flow: &Flow, format: Format, out: &mut dyn Write) -> Result<(), WriteError> {
    match format {
        Format::Dagman => crate::dagman::write(flow, out)?,
        Format::WfFormat => crate::wfformat::write(flow, out)?,
        Format::Dot => crate::dot::write(flow, out)?,
        Format::Csv => crate::edgelist::write(flow, ',', out)?,
        Format::Tsv => crate::edgelist::write(flow, '\t', out)?,
        Format::FlowToml => crate::native::write_toml(flow, out)?,
        Format::FlowJson => crate::native::write_json(flow, out)?,
        Format::FlowJsonLines => crate::native::write_json_lines(flow, out)?,
        Format::Dax
        | Format::PegasusYaml
        | Format::Makeflow
        | Format::Stg
        | Format::Galaxy
        | Format::Taskcluster
        | Format::TaskEdge => return Err(WriteError::ReadOnly(format)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
