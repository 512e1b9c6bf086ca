//! Which kind of file a picture goes to, and writing it. Knows not what is drawn.

use crate::failure::Failure;
use crate::output::write_file;
use cairn_show::{Figure, Page, ShowError};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What the extension of an output file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Svg,
    Png,
    Html,
    Json,
}

/// The kind that the extension names, if it is among `allowed`.
fn kind(path: &Path, allowed: &[Kind]) -> Result<Kind, Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let found = match extension.to_ascii_lowercase().as_str() {
        "svg" => Some(Kind::Svg),
        "png" => Some(Kind::Png),
        "html" | "htm" => Some(Kind::Html),
        "json" => Some(Kind::Json),
        _ => None,
    };
    found.filter(|kind| allowed.contains(kind)).ok_or_else(|| {
        let names: Vec<String> = allowed
            .iter()
            .map(|k| format!(".{k:?}").to_ascii_lowercase())
            .collect();
        Failure::usage(
            format!("cannot tell what to write into {}", path.display()),
            format!("give a name that ends in {}", names.join(", ")),
        )
    })
}

/// The kinds of several files.
pub(crate) fn kinds(paths: &[PathBuf], allowed: &[Kind]) -> Result<Vec<Kind>, Failure> {
    paths.iter().map(|path| kind(path, allowed)).collect()
}

/// Writes what the kind asks for, whole or not at all.
pub(crate) fn write(
    path: &Path,
    kind: Kind,
    figure: &Figure,
    page: &Page<'_>,
    value: &Value,
) -> Result<(), Failure> {
    match kind {
        Kind::Svg => write_bytes(path, figure.svg().as_bytes()),
        Kind::Png => write_bytes(path, &png(figure).map_err(|e| not_drawn(&e))?),
        Kind::Html => write_bytes(path, page.html().as_bytes()),
        Kind::Json => write_bytes(path, format!("{value:#}\n").as_bytes()),
    }
}

/// A file's own name, as titles have no room for folders.
pub(crate) fn short_name(file: &str) -> &str {
    let name = Path::new(file).file_name().and_then(|n| n.to_str());
    name.unwrap_or(file)
}

/// Sharp where the picture is of a handy size, at its own size where it is huge.
fn png(figure: &Figure) -> Result<Vec<u8>, ShowError> {
    // Four million pixels at scale 1 are sixteen at scale 2: beyond what image viewers open with ease. By eye.
    let huge = figure.width() * figure.height() > 4e6;
    figure.png(if huge { 1.0 } else { 2.0 })
}

pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_file(path, |out| out.write_all(bytes))
}

/// The figure's data do not fit, or it is too large.
pub(crate) fn not_drawn(error: &ShowError) -> Failure {
    Failure::usage(
        format!("cannot draw: {error}"),
        "write .svg or .html, which have no limit of size",
    )
}
