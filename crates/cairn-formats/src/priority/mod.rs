//! Writes priorities into the user's own file, all else byte for byte. Knows nothing of how priorities are found.
//!
//! Each format says where the priorities of its tasks stand or would stand (`json`, `toml`, `dax`, `yaml`, and `spots` of the DOT
//! reader; DAGMan edits its several files itself); `spot` puts numbers there; `check` reads the new text again and
//! compares everything before anyone may write it.

mod check;
mod dax;
mod json;
pub(crate) mod spot;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use crate::dagman::set_dagman_priorities;
use crate::{EditedFile, ExistingPriorities, Format, Report, Source};
use cairn_dag::Flow;
use spot::Spot;
pub(crate) use spot::line_end;
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
    /// The profiles of some job cannot be edited in place: on this line, counted from 1 (0 when unknown).
    #[error("{}the profiles of a job are shared by an anchor or an alias, or are no mapping", line(*.0))]
    Tangled(usize),
    /// Tasks of a sweep have no places of their own.
    #[error("the tasks of a sweep stand in one place, and cannot have priorities of their own")]
    Sweep,
    /// The new text, read again, is not what it should be. This is a defect of ours; nothing may be written.
    #[error("internal check failed: {0}")]
    Check(String),
}

/// A workflow with its priorities.
#[derive(Debug)]
pub struct Prioritized {
    /// The file itself, and then the others that changed.
    pub files: Vec<EditedFile>,
    /// What the new texts say, read again.
    pub flow: Flow,
    /// How many tasks had another priority before, which is gone.
    pub replaced: usize,
}

/// Fetches a file that another one names; on failure says why in the report.
pub(crate) type Load<'l> = dyn FnMut(&Path, &mut Report) -> Option<Source> + 'l;

/// Writes priorities into a file and those it names. `priority` knows them by the names of tasks; tasks it does not
/// know are left alone. `load` fetches the files that a DAGMan file includes and splices
/// ([`Source::load_named_by_file`] where they lie on disk).
///
/// Only numbers are replaced or inserted: a member `"priority"` behind the last one of a task's JSON object (WfFormat,
/// native), a line `priority = N` behind the last one of a TOML table, an attribute `priority=N` of a DOT node (in its
/// own statement, else in a new one at the end of the graph), a dagman profile `PRIORITY` in Pegasus DAX and YAML, a
/// `PRIORITY` line in DAGMan. Comments, blanks, order and
/// line ends stay, and doing it twice is doing it once. The new text is read again and compared before it is given.
/// Time and space are linear in the files and the tasks.
///
/// ```
/// use cairn_formats::{ExistingPriorities, Format, Report, Source, set_priorities};
/// let source = Source::from_text("x.dot", "digraph {\n  a [label=\"A\"]; // first\n  a -> b\n}\n");
/// let rank = |name: &str| Some(if name == "a" { 2 } else { 1 });
/// let (mut load, mut report) = (|_: &std::path::Path, _: &mut Report| None, Report::default());
/// let replace = ExistingPriorities::Replace;
/// let set = set_priorities(&source, Format::Dot, &mut load, &rank, replace, &mut report)?;
/// let expected = "digraph {\n  a [label=\"A\", priority=2]; // first\n  a -> b\n  b [priority=1];\n}\n";
/// assert_eq!(set.files[0].text, expected);
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
) -> Result<Prioritized, PriorityError> {
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
        let after = check::dagman(&flow, source, load, &files, priority, existing)?;
        let is_lost = |&t: &_| flow.priority(t).is_some() && flow.priority(t) != after.priority(t);
        return Ok(Prioritized {
            files,
            replaced: flow.dag().tasks().filter(is_lost).count(),
            flow: after,
        });
    }
    // Spots belong to tasks by their number alone: one more or less, and all would go to wrong tasks.
    let spots = spots(source.text(), format)?.filter(|spots| spots.len() == flow.dag().len());
    let spots = spots.ok_or_else(|| match crate::native::files_of_sweeps(source, format) {
        Some(_) => PriorityError::Sweep,
        None => PriorityError::Check(
            "the places of the tasks in the text were not all found".to_owned(),
        ),
    })?;
    let wanted = |(task, spot): (_, &Spot)| {
        // A priority may stand elsewhere than in the spot: in WfFormat's execution, in a Condor profile of Pegasus.
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
    // Nothing is believed of the editing: what the new text says is read from it.
    let after = check::single(&flow, &source.with_text(text.clone()), format, &numbers)?;
    let is_lost = |((task, spot), new): &((_, &Spot), &Option<i64>)| {
        let had_one = spot.is_taken() || flow.priority(*task).is_some();
        had_one && new.is_some() && flow.priority(*task) != **new
    };
    let replaced = (flow.dag().tasks().zip(&spots).zip(&numbers)).filter(is_lost);
    Ok(Prioritized {
        replaced: replaced.count(),
        files: vec![EditedFile {
            name: source.name().to_owned(),
            path: source.path().map(Path::to_owned).unwrap_or_default(),
            text,
        }],
        flow: after,
    })
}

/// Reads a flow in a format that holds priorities.
fn read(source: &Source, format: Format, load: &mut Load<'_>, report: &mut Report) -> Option<Flow> {
    match format {
        Format::Dagman => crate::dagman::read(source, &mut |path, r| load(path, r), report),
        _ => crate::read(source, Some(format), report).map(|(_, flow)| flow),
    }
}

/// The places of the priorities, by task.
fn spots(text: &str, format: Format) -> Result<Option<Vec<Spot>>, PriorityError> {
    Ok(match format {
        Format::WfFormat => json::wfformat_spots(text),
        Format::FlowJson => json::native_spots(text),
        Format::FlowJsonLines => json::lines_spots(text),
        Format::FlowToml => toml::toml_spots(text),
        Format::Dot => crate::dot::spots(text),
        Format::Dax => dax::dax_spots(text),
        Format::PegasusYaml => {
            let spots = yaml::yaml_spots(text);
            Some(spots.map_err(|tangled| PriorityError::Tangled(tangled.0))?)
        }
        // DAGMan's have lines of their own; the others hold none.
        Format::Dagman
        | Format::Makeflow
        | Format::Stg
        | Format::Galaxy
        | Format::Taskcluster
        | Format::TaskEdge
        | Format::Csv
        | Format::Tsv => None,
    })
}

fn line(number: usize) -> String {
    match number {
        0 => String::new(),
        number => format!("line {number}: "),
    }
}
