//! From a file name to a flow: load, detect, read, report. Knows no format itself.

use crate::cli;
use crate::failure::Failure;
use cairn_dag::{Flow, plain};
use cairn_formats::{Format, Limits, Report, Source};

/// A flow that was read, and what there is to say about the reading.
pub(crate) struct Read {
    /// The file, as the user named it, fit to be printed.
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) flow: Flow,
    /// Warnings only.
    pub(crate) report: Report,
}

/// Reads the input, or fails with every problem found.
pub(crate) fn read(input: &cli::Input) -> Result<Read, Failure> {
    let mut report = Report::default();
    match try_read(input, &mut report) {
        Some((name, format, flow)) => Ok(Read {
            name,
            format,
            flow,
            report,
        }),
        None => Err(Failure::Input(report)),
    }
}

/// Reads the input; problems, errors among them, go to `report`.
pub(crate) fn try_read(input: &cli::Input, report: &mut Report) -> Option<(String, Format, Flow)> {
    let format = input.format.as_deref().and_then(Format::from_name);
    let source = Source::load(&input.file, &Limits::default(), report)?;
    let (format, flow) = cairn_formats::read(&source, format, report)?;
    Some((plain(source.name()).into_owned(), format, flow))
}
