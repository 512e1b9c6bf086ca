//! Writes priorities into the user's own file, all else byte for byte. Knows nothing of how priorities are found.
//!
//! Each format says where the priorities of its tasks stand or would stand (`json`, `toml`, and `spots` of the DOT
//! reader; DAGMan edits its several files itself); `spot` puts numbers there; `check` reads the new text again and
//! compares everything before anyone may write it.

mod check;
mod json;
pub(crate) mod spot;
#[cfg(test)]
mod tests;
mod toml;

use crate::{EditedFile, ExistingPriorities, Format, Report, Source, set_dagman_priorities};
use cairn_dag::Flow;
use spot::Spot;
use std::path::Path;

/// Why priorities were not set.
#[derive(Debug, thiserror::Error)]
pub enum PriorityError {
    /// The format has no place for them.
    #[error("{} files have no place for priorities; formats that have one: {}", .0.name(), Format::names(Format::holds_priorities))]
    NoPlace(Format),
    /// The input is unusable: the report says why.
    #[error("the input cannot be used")]
    Input,
    /// The new text, read again, is not what it should be. This is a defect of ours; nothing may be written.
    #[error("internal check failed: {0}")]
    Check(String),
}

/// Fetches a file that another one names; on failure says why in the report.
pub(crate) type Load<'l> = dyn FnMut(&Path, &mut Report) -> Option<Source> + 'l;

/// Writes priorities into a file and those it names. `priority` knows them by the names of tasks; tasks it does not
/// know are left alone. `load` fetches the files that a DAGMan file includes and splices
/// ([`Source::load_named_by_file`] where they lie on disk). Gives the file itself and then the others that changed.
///
/// Only numbers are replaced or inserted: a member `"priority"` behind the last one of a task's JSON object (WfFormat,
/// native), a line `priority = N` behind the last one of a TOML table, an attribute `priority=N` of a DOT node (in its
/// own statement, else in a new one at the end of the graph), a `PRIORITY` line in DAGMan. Comments, blanks, order and
/// line ends stay, and doing it twice is doing it once. The new text is read again and compared before it is given.
/// Time and space are linear in the files and the tasks.
///
/// ```
/// use cairn_formats::{ExistingPriorities, Format, Report, Source, set_priorities};
/// let source = Source::from_text("x.dot", "digraph {\n  a [label=\"A\"]; // first\n  a -> b\n}\n");
/// let rank = |name: &str| Some(if name == "a" { 2 } else { 1 });
/// let (mut load, mut report) = (|_: &std::path::Path, _: &mut Report| None, Report::default());
/// let replace = ExistingPriorities::Replace;
/// let files = set_priorities(&source, Format::Dot, &mut load, &rank, replace, &mut report)?;
/// let expected = "digraph {\n  a [label=\"A\", priority=2]; // first\n  a -> b\n  b [priority=1];\n}\n";
/// assert_eq!(files[0].text, expected);
/// # Ok::<(), cairn_formats::PriorityError>(())
/// ```
///
/// # Errors
/// See [`PriorityError`].
pub fn set_priorities(
    source: &Source,
    format: Format,
    load: &mut dyn FnMut(&Path, &mut Report) -> Option<Source>,
    priority: &dyn Fn(&str) -> Option<i64>,
    existing: ExistingPriorities,
    report: &mut Report,
) -> Result<Vec<EditedFile>, PriorityError> {
    if !format.holds_priorities() {
        return Err(PriorityError::NoPlace(format));
    }
    let mut reading = Report::default();
    let Some(flow) = read(source, format, &mut |path, r| load(path, r), &mut reading) else {
        *report = reading;
        return Err(PriorityError::Input);
    };
    if format == Format::Dagman {
        let mut fetch = |path: &Path, r: &mut Report| load(path, r);
        let files = set_dagman_priorities(source, &mut fetch, priority, existing, report);
        let files = files.ok_or(PriorityError::Input)?;
        check::dagman(&flow, source, load, &files, priority, existing)?;
        return Ok(files);
    }
    let spots = spots(source.text(), format).filter(|spots| spots.len() == flow.dag().len());
    let spots = spots.ok_or_else(|| {
        PriorityError::Check("the places of the tasks in the text were not all found".to_owned())
    })?;
    let wanted = |(task, spot): (_, &Spot)| {
        let kept = !spot.is_open(existing)
            || existing == ExistingPriorities::Keep && flow.priority(task).is_some();
        if kept {
            None
        } else {
            priority(flow.name(task))
        }
    };
    let numbers: Vec<Option<i64>> = flow.dag().tasks().zip(&spots).map(wanted).collect();
    let text = spot::apply(source.text(), &spots, &numbers)
        .ok_or_else(|| PriorityError::Check("two places in the text overlap".to_owned()))?;
    check::single(&flow, &source.with_text(text.clone()), format, &numbers)?;
    Ok(vec![EditedFile {
        name: source.name().to_owned(),
        path: source.path().map(Path::to_owned).unwrap_or_default(),
        text,
    }])
}

/// Reads a flow in a format that holds priorities.
fn read(source: &Source, format: Format, load: &mut Load<'_>, report: &mut Report) -> Option<Flow> {
    match format {
        Format::Dagman => crate::dagman::read(source, &mut |path, r| load(path, r), report),
        _ => crate::read(source, Some(format), report).map(|(_, flow)| flow),
    }
}

/// The places of the priorities, by task.
fn spots(text: &str, format: Format) -> Option<Vec<Spot>> {
    match format {
        Format::WfFormat => json::wfformat_spots(text),
        Format::FlowJson => json::native_spots(text),
        Format::FlowJsonLines => json::lines_spots(text),
        Format::FlowToml => toml::toml_spots(text),
        Format::Dot => crate::dot::spots(text),
        _ => None,
    }
}
