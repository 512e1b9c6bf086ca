//! Rescue files: what DAGMan writes when a workflow stops half-way. Knows which nodes they call done, and which file
//! DAGMan would take; not what is left of the workflow.
//!
//! Since HTCondor 7.7 a rescue file is a partial one: comments, `DONE` lines, and `RETRY` lines with the retries that
//! are left. Older ones are whole DAGMan files whose `JOB` lines end in `DONE`. Nodes of splices have their full
//! names, `splice+node`, in both.

use super::name;
use super::statement::{Statement, statements};
use crate::packing::Packing;
use crate::{Cure, Report, Source, suggest};
use cairn_dag::{Flow, TaskId, plain};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How the first line of every rescue file begins.
// DAGMan's own words, in partial and in whole files.
const HEAD: &str = "# Rescue DAG file";

/// Whether the text is a rescue file, new or old: it has the head of one, or all its lines are DAGMan statements and
/// one of them says that a node is done.
///
/// ```
/// assert!(cairn_formats::is_rescue("DONE a\nDONE b\n"));
/// assert!(!cairn_formats::is_rescue("a\nb\n"));
/// ```
pub fn is_rescue(text: &str) -> bool {
    // Even with nothing done: DAGMan writes one when the first node fails.
    if text.trim_start().starts_with(HEAD) {
        return true;
    }
    let mut done = false;
    for (_, statement) in statements(text) {
        match statement {
            Ok(statement) => done |= done_node(&statement).is_some(),
            // One line that is no statement, and it is somebody's list of names that happens to have a DONE in it.
            Err(_) => return false,
        }
    }
    done
}

/// The tasks of `flow` that a rescue file calls done. `None` when there was an error: a line that is no statement, or
/// a name that is no task.
pub fn rescued(source: &Source, flow: &Flow, report: &mut Report) -> Option<Vec<TaskId>> {
    let errors = report.errors();
    let mut tasks = Vec::new();
    for (span, statement) in statements(source.text()) {
        let place = |report: &Report, at: usize| match report.is_full() {
            true => source.place(),
            false => source.place_at(at),
        };
        let statement = match statement {
            Ok(statement) => statement,
            Err(fault) => {
                report.error(place(report, fault.at), fault.message, fault.help);
                continue;
            }
        };
        let Some(node) = done_node(&statement) else {
            continue;
        };
        // A workflow with encoded names is rescued under its encoded names.
        let found = (flow.find(node)).or_else(|| flow.find(&name::decode(node.into())));
        match found {
            Some(task) => tasks.push(task),
            None => {
                let names = flow.dag().tasks().map(|t| flow.name(t));
                // A look at every name for each error: not for those that are only counted.
                let near = (!report.is_full()).then(|| suggest::closest(node, names));
                let near = near.flatten();
                let is_known = near.is_some();
                let help = match near {
                    Some(near) => format!("did you mean '{near}'? names are case-sensitive"),
                    None => "was the workflow changed since? leave the file out".to_owned(),
                };
                let message = format!("'{node}' is DONE here, but is no task of the workflow");
                report.error(place(report, span.start), message, help);
                if !is_known {
                    report.cured_by(Cure::LeaveOutRescue);
                }
            }
        }
    }
    (report.errors() == errors).then_some(tasks)
}

fn done_node<'s>(statement: &'s Statement<'_>) -> Option<&'s str> {
    match statement {
        Statement::Done { node } => Some(node),
        Statement::Node {
            name, done: true, ..
        } => Some(name),
        _ => None,
    }
}

/// The rescue file that DAGMan would take for the workflow at `path`: of `path.rescue001`, `path.rescue002` and so on,
/// the one with the highest number. For a packed workflow also those of the name without `.gz` or `.zst`.
pub fn rescue_file(path: &Path) -> Option<PathBuf> {
    newest(path).map(|(_, file)| file)
}

/// The newest rescue file and its number.
fn newest(path: &Path) -> Option<(u32, PathBuf)> {
    let name = path.file_name()?.to_str()?;
    let (_, bare) = Packing::of_name(name);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let number = |file: &str| {
        let digits = [name, bare]
            .into_iter()
            .filter_map(|n| file.strip_prefix(n)?.strip_prefix(".rescue"));
        // Three digits, as DAGMan writes them; `x.dag.rescue1.bak` and the like are somebody else's.
        let mut digits = digits.filter(|d| d.len() >= 3 && d.bytes().all(|b| b.is_ascii_digit()));
        digits.next()?.parse::<u32>().ok()
    };
    let entries = std::fs::read_dir(folder).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // By number: as text 999 would come after 1000.
    let (number, best) = names.filter_map(|n| Some((number(&n)?, n))).max()?;
    Some((number, path.with_file_name(best)))
}

/// The highest number that DAGMan gives to a rescue file.
// Its names have three digits.
const MOST_RESCUES: u32 = 999;

/// The text of a rescue file for a workflow, as DAGMan writes it: what is executed, and in comments what has failed.
/// `flow` was read from `source`.
///
/// ```
/// use cairn_formats::{Report, Source, rescue_text, rescued};
/// let source = Source::from_text("x.dag", "JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\n");
/// let (_, flow) = cairn_formats::read(&source, None, &mut Report::default()).unwrap();
/// let [a, b] = ["a", "b"].map(|name| flow.find(name).unwrap());
/// let text = rescue_text(&source, &flow, &[a], &[b]);
/// let rescue = Source::from_text("x.dag.rescue001", text);
/// assert_eq!(rescued(&rescue, &flow, &mut Report::default()), Some(vec![a]));
/// ```
pub fn rescue_text(source: &Source, flow: &Flow, executed: &[TaskId], failed: &[TaskId]) -> String {
    // A file with encoded names is flat: no `+` in it parts a splice from its node.
    let is_encoded = name::is_encoded(source.text());
    let spelled = |task: &TaskId| match is_encoded {
        true => name::encode(flow.name(*task)).into_owned(),
        false => flow.name(*task).to_owned(),
    };
    let name = Path::new(source.name()).file_name();
    let name = name.map_or(source.name().into(), |name| name.to_string_lossy());
    let mut text = format!(
        "{HEAD}, created after running\n#   the {} DAG file\n",
        plain(&name)
    );
    text.push_str("# Rescue DAG version: 2.0.1 (partial)\n#\n");
    let line = |text: &mut String, what: &str, count: usize| {
        writeln!(text, "# {what}: {count}").expect("a string takes anything");
    };
    line(&mut text, "Total number of Nodes", flow.dag().len());
    line(&mut text, "Nodes premarked DONE", executed.len());
    line(&mut text, "Nodes that failed", failed.len());
    let failed: String = failed.iter().map(|task| spelled(task) + ",").collect();
    writeln!(text, "#   {failed}<ENDLIST>\n").expect("a string takes anything");
    for task in executed {
        writeln!(text, "DONE {}", spelled(task)).expect("a string takes anything");
    }
    text
}

/// Writes the next rescue file of the workflow at `path`: its number is one above the highest that is there, so that none
/// is written over.
///
/// # Errors
/// Where the file cannot be written, or there are 999 already.
pub fn write_rescue(path: &Path, text: &str) -> io::Result<PathBuf> {
    let mut number = newest(path).map_or(0, |(number, _)| number);
    let full = || {
        let message = format!("there are {MOST_RESCUES} rescue files already");
        io::Error::new(io::ErrorKind::AlreadyExists, message)
    };
    let name = path.file_name().unwrap_or_default();
    // Beside the unpacked name, which is what DAGMan is given.
    let (_, name) = Packing::of_name(name.to_str().ok_or(io::ErrorKind::InvalidFilename)?);
    loop {
        number += 1;
        if number > MOST_RESCUES {
            return Err(full());
        }
        let file = path.with_file_name(format!("{name}.rescue{number:03}"));
        let opened = std::fs::OpenOptions::new()
            .write(true)
            // Never over another one: two runs may end at the same moment.
            .create_new(true)
            .open(&file);
        match opened {
            Ok(mut opened) => {
                opened.write_all(text.as_bytes())?;
                // It is written when a run ends badly, perhaps with the machine: it should be on the disk.
                opened.sync_all()?;
                return Ok(file);
            }
            // Another was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    const DAG: &str = "JOB a a.sub\nSPLICE s s.dag\nJOB b-2 b.sub\n";

    fn flow() -> Flow {
        let top = Source::from_text("x.dag", DAG);
        let mut load = |_: &Path, _: &mut Report| Some(Source::from_text("s.dag", "JOB in i\n"));
        super::super::read(&top, &mut load, &mut Report::default()).unwrap()
    }

    fn names(text: &str) -> Result<Vec<String>, String> {
        let flow = flow();
        let mut report = Report::default();
        let source = Source::from_text("x.dag.rescue001", text);
        let tasks = rescued(&source, &flow, &mut report);
        let problem = || {
            let problem = &report.problems()[0];
            format!("{}: {}: {}", problem.place, problem.message, problem.help)
        };
        let tasks = tasks.ok_or_else(problem)?;
        Ok(tasks.iter().map(|&t| flow.name(t).to_owned()).collect())
    }

    #[test]
    fn new_and_old_rescue_files_name_what_is_done() {
        let new = "# Rescue DAG file, created after running\n#   the x.dag DAG file\n\nDONE a\nRETRY b-2 2\nDONE s+in\n";
        let old = "# Rescue DAG file\nJOB a a.sub DONE\nJOB s+in i DONE\nJOB b-2 b.sub\nPARENT a CHILD b-2\n";
        for text in [new, old] {
            assert!(is_rescue(text));
            assert_eq!(names(text), Ok(vec!["a".to_owned(), "s+in".to_owned()]));
        }
        assert_eq!(names("# Rescue DAG file\n# nothing is done\n"), Ok(vec![]));
        for list in ["a\nb-2\n", "", "# DONE a\n", "DONE\n", "a\nDONE b\n"] {
            assert!(!is_rescue(list), "{list}");
        }
    }

    #[test]
    fn what_a_rescue_file_names_must_be_there() {
        let said = names("DONE a\nDONE b-3\n").unwrap_err();
        assert!(said.starts_with("x.dag.rescue001:2"), "{said}");
        assert!(
            said.contains("'b-3' is DONE here, but is no task"),
            "{said}"
        );
        assert!(said.contains("did you mean 'b-2'?"), "{said}");
        let said = names("DONE elsewhere\n").unwrap_err();
        assert!(said.contains("leave the file out"), "{said}");
        assert!(names("DONE a\nthis is no rescue file\n").is_err());
    }

    #[test]
    fn encoded_names_are_found_without_the_head() {
        let mut text = Vec::new();
        let mut build = cairn_dag::FlowBuilder::new();
        build.declare("a b", 0).unwrap();
        let flow = build.finish().unwrap();
        crate::write(&flow, Format::Dagman, &mut text).unwrap();
        let source = Source::from_text("r", "DONE a%20b\n");
        let tasks = rescued(&source, &flow, &mut Report::default());
        assert_eq!(tasks, Some(vec![TaskId(0)]));
        let dag = Source::from_text("x.dag", String::from_utf8(text).unwrap());
        let text = rescue_text(&dag, &flow, &[TaskId(0)], &[]);
        assert!(text.ends_with("\nDONE a%20b\n"), "{text}");
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_is_written_over() {
        let flow = flow();
        let all: Vec<TaskId> = flow.dag().tasks().collect();
        let folder = tempfile::tempdir().unwrap();
        let dag = folder.path().join("x.dag");
        let mut texts = Vec::new();
        for executed in [&all[..0], &all[..2], &all[..]] {
            let source = Source::from_text("folder/x.dag", DAG);
            let text = rescue_text(&source, &flow, executed, &all[..1]);
            assert!(text.contains("#   the x.dag DAG file\n"), "{text}");
            assert!(is_rescue(&text), "{text}");
            let file = write_rescue(&dag, &text).unwrap();
            assert_eq!(rescue_file(&dag), Some(file.clone()));
            let source = Source::load(&file, &crate::ReadLimits::default(), &mut Report::default());
            let read = rescued(&source.unwrap(), &flow, &mut Report::default());
            assert_eq!(read.as_deref(), Some(executed));
            texts.push((file, text));
        }
        assert!(texts[2].0.ends_with("x.dag.rescue003"));
        for (file, text) in texts {
            assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        }
        std::fs::write(folder.path().join("x.dag.rescue999"), "").unwrap();
        assert!(write_rescue(&dag, "").is_err());
        let packed = folder.path().join("y.dag.gz");
        assert!(
            write_rescue(&packed, "")
                .unwrap()
                .ends_with("y.dag.rescue001")
        );
    }

    #[test]
    fn the_highest_number_counts() {
        let folder = tempfile::tempdir().unwrap();
        let dag = folder.path().join("x.dag");
        assert_eq!(rescue_file(&dag), None);
        for name in [
            "x.dag.rescue001",
            "x.dag.rescue010",
            "x.dag.rescue009",
            "x.dag.rescue011.old",
            "y.dag.rescue099",
            "x.dag.rescue99",
            "x.dag.rescue0x9",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let best = Some(folder.path().join("x.dag.rescue010"));
        assert_eq!(rescue_file(&dag), best);
        assert_eq!(rescue_file(&folder.path().join("x.dag.gz")), best);
    }
}
