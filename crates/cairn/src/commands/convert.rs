//! `cairn convert`: the same flow in another format, and everything that is lost on the way.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, write_file};
use crate::spare;
use cairn_dag::Flow;
use cairn_formats::{Format, Loss, LossKind, Report, Source, WriteError};
use serde_json::{Value, json};
use std::path::Path;

/// What to write, and in which format, checked.
pub(crate) struct Settings {
    flags: cli::Convert,
    format: Format,
}

impl Settings {
    pub(crate) fn new(flags: cli::Convert) -> Result<Settings, Failure> {
        let wanted = match &flags.to {
            Some(name) => Format::from_name(name),
            None => Format::from_extension(&flags.out),
        };
        let format = wanted.ok_or_else(|| untold(&flags.out))?;
        spare::has_folder(&flags.out)?;
        // What is only read can still be copied, and of what format the input is it may have to tell itself.
        let given = flags.input.format.as_deref().and_then(Format::from_name);
        let is_copy = !flags.rewrite && given.is_none_or(|given| given == format);
        if !is_copy && !format.can_write() {
            return Err(refused(&WriteError::ReadOnly(format)));
        }
        Ok(Settings { flags, format })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let (flags, format) = (&settings.flags, settings.format);
    let mut report = Report::default();
    let Some((source, from, flow)) = input::try_open(&flags.input, &mut report) else {
        return Err(Failure::Input(report));
    };
    out.warnings(&report);
    // After reading, since only then is it known which files the input consists of.
    if !flags.force {
        spare_the_input(&flags.input.file, &source, from, &flags.out)?;
    }
    let to_file = flags.out != Path::new("-");
    let place = to_file.then_some(&*flags.out);
    let made = cairn_formats::convert(&source, from, &flow, format, flags.rewrite, place);
    let made = made.map_err(|error| refused(&error))?;
    write_file(&flags.out, |out| out.write_all(&made.bytes))?;
    if out.json {
        let value = json!({
            "from": from.name(), "to": format.name(), "tasks": flow.dag().len(), "arcs": flow.dag().arc_count(),
            "copied": made.copied, "losses": losses_json(&made.losses),
        });
        // Standard output has the flow itself.
        return match to_file {
            true => out.answer(&value, ""),
            false => out.aside(&value),
        };
    }
    if !made.losses.is_empty() {
        out.remark(&losses_text(&made.losses, format));
    }
    Ok(())
}

/// All losses for machines.
fn losses_json(losses: &[Loss]) -> Value {
    let one = |loss: &Loss| {
        json!({
            "kind": loss.kind.name(), "what": loss.what, "count": loss.count, "of": loss.of, "first": loss.first,
        })
    };
    losses.iter().map(one).collect()
}

/// All losses, one a line, by what happened to them.
fn losses_text(losses: &[Loss], format: Format) -> String {
    let name = format.name();
    let mut parts = Vec::new();
    for (kind, head) in [
        (
            LossKind::LeftOut,
            format!("note: left out, as {name} has no place for it:"),
        ),
        (
            LossKind::Changed,
            format!("note: changed, as {name} cannot hold it as it was:"),
        ),
        (LossKind::Added, "note: added:".to_owned()),
    ] {
        let of_kind: Vec<_> = losses.iter().filter(|loss| loss.kind == kind).collect();
        if !of_kind.is_empty() {
            parts.push(head);
            parts.extend(of_kind.iter().map(|loss| format!("  {loss}")));
        }
    }
    parts.join("\n")
}

/// Refuses to write over a file that was read: the input, or one that it includes or splices.
fn spare_the_input(
    input: &Path,
    source: &Source,
    format: Format,
    out: &Path,
) -> Result<(), Failure> {
    let mut read = vec![input.to_owned()];
    read.extend(cairn_formats::files_of(source, format));
    let cure = "choose another name for the output, or say --force";
    spare::none_of(&read, out, cure)
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
        _ => Err(untold(path)),
    }
}

/// Nothing says which format to write.
fn untold(path: &Path) -> Failure {
    if path == Path::new("-") {
        return Failure::usage(
            "standard output has no extension to tell the format",
            "add --to FORMAT, for example --to dot",
        );
    }
    let writable = Format::ALL.into_iter().filter(|f| f.can_write());
    let names: Vec<_> = writable.map(Format::name).collect();
    let path = path.display();
    Failure::usage(
        format!("cannot tell a format to write from the name {path}"),
        format!("add --to with one of: {}", names.join(", ")),
    )
}

fn refused(error: &WriteError) -> Failure {
    let help = match error {
        WriteError::Unfaithful { .. } => {
            "choose another format with --to (json can hold every name), another place for the output, or --rewrite"
        }
        _ => "choose another format with --to",
    };
    Failure::usage(error.to_string(), help)
}

/// Writes `flow` to `path`, whole or not at all.
pub(crate) fn write(flow: &Flow, format: Format, path: &Path) -> Result<(), Failure> {
    let mut failed = None;
    let written = write_file(path, |out| {
        cairn_formats::write(flow, format, out).map_err(|error| match error {
            WriteError::Io(error) => error,
            other => {
                failed = Some(refused(&other));
                // A writer can only fail with an error of the disk: the true reason is kept aside, and this one is never shown.
                std::io::Error::other("refused")
            }
        })
    });
    match failed {
        Some(failure) => Err(failure),
        None => written,
    }
}
