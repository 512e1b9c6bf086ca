//! `cairn convert`: the same flow in another format, and what that format cannot hold.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, write_file};
use cairn_dag::Flow;
use cairn_formats::{Format, WriteError};
use std::path::Path;

pub(crate) fn run(settings: &cli::Convert, out: &Output) -> Result<(), Failure> {
    let format = output_format(&settings.out, settings.to.as_deref())?;
    let format = format.ok_or_else(|| {
        Failure::usage(
            "standard output has no extension to tell the format",
            "add --to FORMAT, for example --to dot",
        )
    })?;
    let read = input::read(&settings.input)?;
    out.warnings(&read.report);
    write(&read.flow, format, &settings.out)?;
    let lost = cairn_formats::lost(&read.flow, format);
    if !lost.is_empty() {
        let (name, lost) = (format.name(), lost.join(", "));
        out.remark(&format!(
            "note: the format {name} cannot hold {lost}: left out"
        ));
    }
    Ok(())
}

/// The format to write: `--to`, or by the extension of `path`; `None` for standard output without `--to`.
pub(crate) fn output_format(path: &Path, to: Option<&str>) -> Result<Option<Format>, Failure> {
    if let Some(format) = to.and_then(Format::from_name) {
        return Ok(Some(format));
    }
    if path == Path::new("-") {
        return Ok(None);
    }
    match Format::from_extension(path) {
        Some(format) if format.can_write() => Ok(Some(format)),
        _ => {
            let writable = Format::ALL.into_iter().filter(|f| f.can_write());
            let names: Vec<_> = writable.map(Format::name).collect();
            Err(Failure::usage(
                format!(
                    "cannot tell a format to write from the name {}",
                    path.display()
                ),
                format!("add --to with one of: {}", names.join(", ")),
            ))
        }
    }
}

/// Writes `flow` to `path`, whole or not at all.
pub(crate) fn write(flow: &Flow, format: Format, path: &Path) -> Result<(), Failure> {
    let mut refused = None;
    let written = write_file(path, |out| {
        cairn_formats::write(flow, format, out).map_err(|error| match error {
            WriteError::Io(error) => error,
            other => {
                refused = Some(other.to_string());
                std::io::Error::other("refused")
            }
        })
    });
    match refused {
        Some(message) => Err(Failure::usage(message, "choose another format with --to")),
        None => written,
    }
}
