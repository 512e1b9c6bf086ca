//! From a file in one format to a file in another, and everything that is lost on the way. Knows which pieces to ask,
//! and no syntax.
//!
//! Nothing about losses is claimed in advance: what was written is read back and compared, task by task. A file that
//! could not be read back, or that would hold another dag, is refused.

use crate::loss::{Loss, LossKind, compare};
use crate::{Format, ReadLimits, Report, Source, WriteError, unheld};
use cairn_dag::Flow;
use std::path::Path;

/// A flow in another format.
#[derive(Debug)]
pub struct Converted {
    /// The text to write.
    pub bytes: Vec<u8>,
    /// Whether this is the text of the input, unchanged.
    pub copied: bool,
    /// What the input says and the text does not, or says otherwise; and what the text has on top.
    pub losses: Vec<Loss>,
}

/// The text of `flow`, which was read from `source` in the format `from`, in the format `to`.
///
/// Where both formats are the same the text stays as it is, unpacked, unless `anew` asks for one made of the flow
/// alone. `out` is where the text will be written: a DAGMan file that includes or splices others must find them from
/// there.
///
/// ```
/// use cairn_formats::{Format, Report, Source, convert, read};
/// let source = Source::from_text("x.dag", "JOB a a.sub\nSCRIPT POST a done.sh\n");
/// let (from, flow) = read(&source, None, &mut Report::default()).unwrap();
/// let copy = convert(&source, from, &flow, Format::Dagman, false, None)?;
/// assert!(copy.copied && copy.losses.is_empty());
/// let made = convert(&source, from, &flow, Format::FlowJson, false, None)?;
/// let losses: Vec<String> = made.losses.iter().map(|l| l.to_string()).collect();
/// assert_eq!(losses, ["submit files of 1 task, a", "SCRIPT (1 line), x.dag:2"]);
/// # Ok::<(), cairn_formats::WriteError>(())
/// ```
///
/// # Errors
/// [`WriteError::ReadOnly`] unless [`Format::can_write`] or the text can stay as it is; [`WriteError::Unfaithful`]
/// when the text, read back, would be another dag or none.
pub fn convert(
    source: &Source,
    from: Format,
    flow: &Flow,
    to: Format,
    anew: bool,
    out: Option<&Path>,
) -> Result<Converted, WriteError> {
    if from == to && !anew {
        // Without a place to write to nothing can be missing from there.
        if let Some(out) = out {
            check_copy(source, from, flow, out)?;
        }
        return Ok(Converted {
            bytes: source.text().as_bytes().to_vec(),
            copied: true,
            losses: Vec::new(),
        });
    }
    let mut bytes = Vec::new();
    crate::write(flow, to, &mut bytes)?;
    // Losses are found by reading, not foretold: a table of what a format can hold would be wrong some day.
    let (bytes, again) = read_back(flow, to, bytes)?;
    let mut losses = compare(flow, &again);
    // Of what the file says beyond its flow; what the flow holds and the text does not is in the comparison.
    losses.extend(unheld::unheld(source, from, flow));
    // Told beside the losses: the file is not whole before somebody has written these.
    losses.extend(promised_files(flow, to));
    Ok(Converted {
        bytes,
        copied: false,
        losses,
    })
}

/// Reads what was written. An error when it is not the same dag with the same names.
fn read_back(flow: &Flow, format: Format, bytes: Vec<u8>) -> Result<(Vec<u8>, Flow), WriteError> {
    let unfaithful = |why: String| WriteError::Unfaithful { format, why };
    // Before reading back: the loader refuses a zero byte as "no text", which would not tell whose it is.
    if bytes.contains(&0) {
        let hard = flow.dag().tasks().find(|&t| {
            let texts = [flow.label(t), flow.given_kind(t), flow.command(t)];
            let mut texts = texts.into_iter().flatten().chain([flow.name(t)]);
            texts.any(|text| text.contains('\0'))
        });
        let whose = hard.map_or(String::new(), |t| {
            format!(" (task '{}')", flow.name(t).escape_debug())
        });
        return Err(unfaithful(format!("it has a zero character{whose}")));
    }
    let mut report = Report::default();
    // The format is given, so that nothing hangs on the name, which is for messages.
    let name = format!("output.{}", format.name());
    let source = Source::from_bytes(&name, bytes, &ReadLimits::default(), &mut report);
    let again = source
        .as_ref()
        .and_then(|source| crate::read(source, Some(format), &mut report));
    let (Some(source), Some((_, again))) = (source, again) else {
        // Names of tasks may be in it, with whatever they have in them.
        let why = report.first_message().escape_debug();
        return Err(unfaithful(format!("it could not be read back: {why}")));
    };
    if let Some(why) = difference(flow, &again) {
        return Err(unfaithful(why));
    }
    Ok((source.into_text().into_bytes(), again))
}

/// In what the two dags, or the names of their tasks, differ.
fn difference(flow: &Flow, again: &Flow) -> Option<String> {
    let (before, after) = (flow.dag(), again.dag());
    // The number first: only where it is the same can tasks be compared one by one.
    let (tasks, read) = (before.len(), after.len());
    if tasks != read {
        return Some(format!("of {tasks} tasks {read} would be read back"));
    }
    let mut names = before.tasks().map(|t| (flow.name(t), again.name(t)));
    if let Some((name, read)) = names.find(|(name, read)| name != read) {
        let [name, read] = [name, read].map(str::escape_debug);
        return Some(format!("the name '{name}' would be read back as '{read}'"));
    }
    (!before.arcs().eq(after.arcs())).then(|| "its arcs would be read back as others".to_owned())
}

/// A copy must be the same workflow where it lies: the files that it includes or splices must be found from there.
fn check_copy(source: &Source, format: Format, flow: &Flow, out: &Path) -> Result<(), WriteError> {
    if format != Format::Dagman {
        return Ok(());
    }
    // Names in it count from where it lies: read from there, before it is there.
    let moved = source.moved_to(out);
    let mut report = Report::default();
    let why = match crate::read(&moved, Some(format), &mut report) {
        Some((_, again)) => difference(flow, &again),
        None => {
            let first = report.problems().iter().find(|p| !p.message.is_empty());
            first.map(|p| format!("{}: {}", p.place, p.message))
        }
    };
    why.map_or(Ok(()), |why| {
        let why =
            format!("from its new place the files it includes or splices are not found: {why}");
        Err(WriteError::Unfaithful { format, why })
    })
}

/// Submit files that a DAGMan file of this flow names, and that nobody has written yet.
fn promised_files(flow: &Flow, to: Format) -> Option<Loss> {
    if to != Format::Dagman {
        return None;
    }
    let mut bare = (flow.dag().tasks()).filter(|&t| flow.command(t).is_none());
    let first = bare.next()?;
    Some(Loss {
        kind: LossKind::Added,
        what: "names of submit files that are yours to write (<task>.sub)".to_owned(),
        count: 1 + bare.count(),
        of: "task",
        first: flow.name(first).to_owned(),
    })
}
