//! Writes priorities into the user's own DAGMan files, all else byte for byte. Knows nothing of how priorities are
//! found.
//!
//! Every `PRIORITY` line that names a node gets the new value in place of the old; a node without one gets a line
//! right behind the statement that declares it, with the line end used there. Where a later `PRIORITY ALL_NODES` would
//! override that, the line goes to the end of the file instead. Doing it twice is doing it once.
//!
//! DAGMan sets priorities of nodes, not of splices, and finds the nodes of a splice only from inside its file: so the
//! lines go into the spliced and included files themselves. A file that several splices share can say one priority a
//! node; where its copies want different ones the highest is written, with a warning. `FINAL`, `PROVISIONER` and
//! `SERVICE` nodes can have none.

use super::files::FileId;
use super::scope::Found;
use super::statement::Statement;
use super::walk::{At, Visitor, walk};
use super::workflow::{Root, Workflow};
use crate::priority::line_end;
use crate::{Report, Source};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What becomes of priorities that DAGMan files have already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingPriorities {
    /// New values take their place.
    Replace,
    /// Nodes that have one, be it through `ALL_NODES`, keep it.
    Keep,
}

/// A DAGMan file with its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedFile {
    /// What errors call it.
    pub name: String,
    /// As it was asked for; the top file's own path, empty when it has none.
    pub path: PathBuf,
    /// The whole new text.
    pub text: String,
}

/// Writes priorities into the top file and those it includes and splices. `priority` knows them by full name
/// (`splice+node`); nodes it does not know are left alone. `load` fetches included and spliced files. Gives the top
/// file, and then the others that changed; `None` when there was an error.
///
/// Every `PRIORITY` line that names a node gets the new value; a node without one gets a line right behind the
/// statement that declares it (or, where `PRIORITY ALL_NODES` comes later, at the end of the file). All else stays
/// byte for byte, and doing it twice is doing it once. DAGMan finds the nodes of a splice only from inside its file,
/// so lines go into the spliced files themselves; where several splices share a file and want different priorities,
/// the highest is written, with a warning. Time and space are linear in the files and the tasks.
pub(crate) fn set_dagman_priorities(
    source: &Source,
    load: &mut dyn FnMut(&Path, &mut Report) -> Option<Source>,
    priority: &dyn Fn(&str) -> Option<i64>,
    existing: ExistingPriorities,
    report: &mut Report,
) -> Option<Vec<EditedFile>> {
    let mut workflow = Workflow::open(source, load, report)?;
    let mut wanted = wanted(&workflow, priority, report);
    let mut edits = Edits::default();
    // Scope by scope, since a `PRIORITY` line finds only the nodes of its own.
    for root in workflow.roots.clone() {
        let wanted = std::mem::take(&mut wanted[root.scope.index]);
        let lines = Lines::of(&mut workflow, &root);
        lines.edit(&workflow, &root, &wanted, existing, &mut edits);
    }
    // A line put behind a backslash would continue the statement there instead of being one.
    for &(file, ..) in edits.keys() {
        let source = workflow.files.source(file);
        // Only of files that are changed: others may end as they like.
        if ends_in_backslash(source.text()) {
            let message = "the last line ends in a backslash, so nothing can be written behind it";
            let at = source.text().trim_end().len() - 1;
            let files = &workflow.files;
            files.error(file, at, message, "remove the backslash", report);
            return None;
        }
    }
    (report.errors() == 0).then(|| apply(&workflow, edits))
}

/// The priorities wanted, by scope and entry.
fn wanted(
    workflow: &Workflow<'_>,
    priority: &dyn Fn(&str) -> Option<i64>,
    report: &mut Report,
) -> Vec<Vec<Option<i32>>> {
    let empty = |root: &Root| vec![None; root.scope.entries.len()];
    let mut wishes = Wishes {
        workflow,
        priority,
        by_scope: workflow.roots.iter().map(empty).collect(),
        shared: vec![0; workflow.roots.len()],
        report,
    };
    // Once over all copies of a file, before any line is written: the highest wish is known only then.
    walk(&workflow.top, &mut wishes);
    for (root, &count) in workflow.roots.iter().zip(&wishes.shared) {
        if count > 0 {
            let message = format!(
                "several splices share this file and want different priorities for {count} of its nodes; the \
                    highest of each was written"
            );
            let help =
                "give each splice a copy of the file, or convert the workflow into one flat file";
            let place = workflow.files.source(root.file).place();
            wishes.report.warning(place, message, help);
        }
    }
    wishes.by_scope
}

/// Collects what is wanted on the way through the workflow.
struct Wishes<'a, 'l> {
    workflow: &'a Workflow<'l>,
    priority: &'a dyn Fn(&str) -> Option<i64>,
    by_scope: Vec<Vec<Option<i32>>>,
    /// By scope: nodes whose copies in several splices want different values.
    shared: Vec<usize>,
    report: &'a mut Report,
}

impl Visitor for Wishes<'_, '_> {
    fn node(&mut self, at: &At<'_>) {
        if !at.node.kind.is_regular() {
            return;
        }
        let name = at.name;
        // Refused, not cut: two tasks beyond the end would become equal, and their order be lost.
        let fits = (self.priority)(name).map(i32::try_from).transpose();
        if fits.is_err() {
            let files = &self.workflow.files;
            let place = files.place_of_mark(at.entry.mark, self.report.is_full());
            let message = format!("the priority of '{name}' does not fit in DAGMan's 32 bits");
            let help = "use numbers between -2147483648 and 2147483647";
            self.report.error(place, message, help);
        }
        let seat = &mut self.by_scope[at.scope.index][at.index];
        let new = fits.ok().flatten();
        self.shared[at.scope.index] += usize::from(seat.is_some() && new.is_some() && *seat != new);
        // `None` is less than any value, so a copy without a wish changes nothing.
        *seat = (*seat).max(new);
    }
}

/// The statements of one scope that matter, each with its position.
#[derive(Default)]
struct Lines {
    /// By entry: where it is declared, and the name there.
    declared: Vec<Option<Declared>>,
    /// By entry: the values of its `PRIORITY` lines.
    priorities: Vec<Vec<(FileId, Range<usize>)>>,
    /// By entry: position of its last `PRIORITY` line.
    last: Vec<Option<usize>>,
    /// Position of the last `PRIORITY ALL_NODES`.
    last_all: Option<usize>,
}

#[derive(Clone)]
struct Declared {
    file: FileId,
    /// End of the statement's last line.
    end: usize,
    name: Range<usize>,
    position: usize,
}

impl Lines {
    fn of(workflow: &mut Workflow<'_>, root: &Root) -> Lines {
        let entries = root.scope.entries.len();
        let mut lines = Lines {
            declared: vec![None; entries],
            priorities: vec![Vec::new(); entries],
            last: vec![None; entries],
            last_all: None,
        };
        let mut position = 0;
        workflow.walk_again(root, &mut |_, site, statement| {
            position += 1;
            match statement {
                Statement::Node {
                    name, name_span, ..
                } => {
                    if let Some(Found::Own(entry)) = root.scope.find(&name) {
                        let (file, end) = (site.file, site.span.end);
                        lines.declared[entry] = Some(Declared {
                            file,
                            end,
                            name: name_span,
                            position,
                        });
                    }
                }
                Statement::Priority {
                    node, value_span, ..
                } => match root.scope.find(&node) {
                    Some(Found::Own(entry)) => {
                        lines.priorities[entry].push((site.file, value_span));
                        lines.last[entry] = Some(position);
                    }
                    None => lines.last_all = Some(position), // any other name was refused when reading
                    Some(_) => {}
                },
                _ => {}
            }
        });
        lines
    }

    fn edit(
        &self,
        workflow: &Workflow<'_>,
        root: &Root,
        wanted: &[Option<i32>],
        existing: ExistingPriorities,
        edits: &mut Edits,
    ) {
        for (entry, &value) in wanted.iter().enumerate() {
            let (Some(value), Some(declared)) = (value, &self.declared[entry]) else {
                continue;
            };
            let has_one = self.last[entry].is_some() || self.last_all.is_some();
            if existing == ExistingPriorities::Keep && has_one {
                continue;
            }
            // Every one of them: DAGMan takes the last, and a stale one before it would mislead people.
            for (file, span) in &self.priorities[entry] {
                put(edits, (*file, span.start, span.end, 0), Edit::Value(value));
            }
            // Its own line comes after every ALL_NODES, so the new value there counts; `None` is before all.
            if self.last[entry] > self.last_all {
                continue;
            }
            let name =
                workflow.files.source(declared.file).text()[declared.name.clone()].to_owned();
            let line = Edit::Line(name, value);
            if Some(declared.position) > self.last_all {
                put(edits, (declared.file, declared.end, declared.end, 0), line);
            } else {
                let end = content_end(workflow.files.source(root.file).text());
                // Several such lines share one place: the entry keeps them in the order of the file.
                put(edits, (root.file, end, end, entry + 1), line);
            }
        }
    }
}

/// Edits by file, start, end, and order among those at one place.
// Sorted by file and then by place: one pass over each text writes it anew.
type Edits = BTreeMap<(FileId, usize, usize, usize), Edit>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edit {
    /// A new value in place of the old.
    Value(i32),
    /// A new line for the node, named as the file names it.
    Line(String, i32),
}

/// Notes an edit; of two for one place, made for two scopes with that file, the one with the higher value.
fn put(edits: &mut Edits, at: (FileId, usize, usize, usize), edit: Edit) {
    let seat = edits.entry(at).or_insert_with(|| edit.clone());
    if edit > *seat {
        *seat = edit;
    }
}

fn apply(workflow: &Workflow<'_>, edits: Edits) -> Vec<EditedFile> {
    let mut files: Vec<(FileId, EditedFile, usize)> = Vec::new();
    let begin = |file: FileId| {
        let source = workflow.files.source(file);
        let edited = EditedFile {
            name: source.name().to_owned(),
            path: workflow.files.path(file).to_owned(),
            text: String::with_capacity(source.text().len()),
        };
        (file, edited, 0)
    };
    // The top file always, changed or not: callers write it out.
    files.push(begin(FileId::TOP));
    for ((file, start, end, _), edit) in edits {
        if files.last().is_none_or(|(last, ..)| *last != file) {
            files.push(begin(file));
        }
        let source = workflow.files.source(file);
        let text = source.text();
        let (_, edited, copied) = files.last_mut().expect("one was pushed");
        edited.text.push_str(&text[*copied..start]);
        match edit {
            Edit::Value(value) => edited.text.push_str(&value.to_string()),
            Edit::Line(name, value) => {
                let line = format!("{}PRIORITY {name} {value}", line_end(text, start).1);
                edited.text.push_str(&line);
            }
        }
        *copied = end;
    }
    for (file, edited, copied) in &mut files {
        edited
            .text
            .push_str(&workflow.files.source(*file).text()[*copied..]);
    }
    files.into_iter().map(|(_, edited, _)| edited).collect()
}

/// Where the text ends, but for its last line end.
fn content_end(text: &str) -> usize {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text).len()
}

/// Whether the last line that says something waits to be continued.
fn ends_in_backslash(text: &str) -> bool {
    let says = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//");
    text.lines()
        .rev()
        .map(str::trim)
        .find(says)
        .is_some_and(|line| line.ends_with('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dagman::read;
    use crate::test_support::{in_memory, problems};

    fn edit(
        files: &[(&str, &str)],
        priorities: &[(&str, i64)],
        existing: ExistingPriorities,
    ) -> (Option<Vec<EditedFile>>, Report) {
        let mut report = Report::default();
        let top = Source::from_text(files[0].0, files[0].1);
        let priority = |name: &str| priorities.iter().find(|(n, _)| *n == name).map(|(_, p)| *p);
        let edited = set_dagman_priorities(
            &top,
            &mut in_memory(files),
            &priority,
            existing,
            &mut report,
        );
        assert_eq!(
            edited.is_none(),
            report.errors() > 0,
            "{}",
            problems(&report)
        );
        (edited, report)
    }

    /// Edits, checks that a second edit changes nothing, and gives the texts by name.
    fn edited(files: &[(&str, &str)], priorities: &[(&str, i64)]) -> Vec<(String, String)> {
        let (edited, report) = edit(files, priorities, ExistingPriorities::Replace);
        assert_eq!(problems(&report), "");
        let new: Vec<(String, String)> = edited
            .unwrap()
            .into_iter()
            .map(|e| (e.name, e.text))
            .collect();
        let mut merged: Vec<(&str, &str)> = files.to_vec();
        for (name, text) in &new {
            let seat = merged.iter_mut().find(|(n, _)| n == name).unwrap();
            seat.1 = text;
        }
        let (again, _) = edit(&merged, priorities, ExistingPriorities::Replace);
        for again in again.unwrap() {
            assert!(merged.contains(&(&again.name, &again.text)), "{again:?}");
        }
        let mut report = Report::default();
        let flow = read(
            &Source::from_text(merged[0].0, merged[0].1),
            &mut in_memory(&merged),
            &mut report,
        )
        .unwrap();
        for &(name, priority) in priorities {
            assert_eq!(
                flow.priority(flow.find(name).unwrap()),
                Some(priority),
                "{name}"
            );
        }
        new
    }

    fn edited_one(text: &str, priorities: &[(&str, i64)]) -> String {
        let mut files = edited(&[("t.dag", text)], priorities);
        assert_eq!(files.len(), 1);
        files.pop().unwrap().1
    }

    #[test]
    fn lines_are_added_behind_nodes_and_values_replaced() {
        let text = "# c\r\nPriority  B \\\r\n  7 \r\n job A  a.sub  \r\nJOB B {\r\n  executable = x\r\n}  DONE\r\nJOB C c\r\nJOB D d";
        let new = edited_one(text, &[("A", 4), ("B", 3), ("C", -2), ("D", 1)]);
        assert_eq!(
            new,
            "# c\r\nPriority  B \\\r\n  3 \r\n job A  a.sub  \r\nPRIORITY A 4\r\nJOB B {\r\n  executable = x\r\n}  DONE\r\n\
             JOB C c\r\nPRIORITY C -2\r\nJOB D d\r\nPRIORITY D 1"
        );
    }

    #[test]
    fn nodes_without_a_wanted_priority_are_left_alone() {
        let text = "JOB A a\nPRIORITY A 5\nJOB B b\nFINAL F f\n";
        assert_eq!(edited_one(text, &[]), text);
        assert_eq!(
            edited_one(text, &[("B", 1)]),
            "JOB A a\nPRIORITY A 5\nJOB B b\nPRIORITY B 1\nFINAL F f\n"
        );
    }

    #[test]
    fn existing_priorities_can_be_kept() {
        let text = "JOB A a\nPRIORITY A 5\nJOB B b\n";
        let (new, _) = edit(
            &[("t.dag", text)],
            &[("A", 1), ("B", 2)],
            ExistingPriorities::Keep,
        );
        assert_eq!(
            new.unwrap()[0].text,
            "JOB A a\nPRIORITY A 5\nJOB B b\nPRIORITY B 2\n"
        );
        let text = "JOB A a\nPRIORITY ALL_NODES 5\n";
        let (new, _) = edit(&[("t.dag", text)], &[("A", 1)], ExistingPriorities::Keep);
        assert_eq!(new.unwrap()[0].text, text);
    }

    #[test]
    fn all_nodes_does_not_override_what_is_written() {
        let text = "JOB A a\nPRIORITY B 1\nPRIORITY ALL_NODES 5\nJOB B b\nJOB C c\n";
        let new = edited_one(text, &[("A", 1), ("B", 2), ("C", 3)]);
        assert_eq!(
            new,
            "JOB A a\nPRIORITY B 2\nPRIORITY ALL_NODES 5\nJOB B b\nPRIORITY B 2\nJOB C c\nPRIORITY C 3\nPRIORITY A 1\n"
        );
        let new = edited_one(
            "JOB A a\nJOB B b\nPRIORITY ALL_NODES 5",
            &[("A", 1), ("B", 2)],
        );
        assert_eq!(
            new,
            "JOB A a\nJOB B b\nPRIORITY ALL_NODES 5\nPRIORITY A 1\nPRIORITY B 2"
        );
    }

    #[test]
    fn quoted_and_encoded_names_are_written_as_the_file_writes_them() {
        assert_eq!(
            edited_one("JOB \"a b\" x\n", &[("\"a b\"", 1)]),
            "JOB \"a b\" x\nPRIORITY \"a b\" 1\n"
        );
        let text = format!("{}\nJOB a%2Bb x\n", super::super::name::ENCODED_NAMES);
        assert_eq!(
            edited_one(&text, &[("a+b", 1)]),
            format!("{text}PRIORITY a%2Bb 1\n")
        );
    }

    #[test]
    fn lines_go_into_spliced_and_included_files() {
        let files = [
            (
                "t.dag",
                "JOB A a\nSPLICE S s.dag\nINCLUDE i.dag\nPRIORITY I 9\nPARENT A CHILD S I\n",
            ),
            ("s.dag", "JOB X x\nJOB Y y\nSPLICE T t2.dag\n"),
            ("i.dag", "JOB I i\n"),
            ("t2.dag", "JOB Z z"),
        ];
        let new = edited(&files, &[("A", 4), ("S+X", 3), ("S+T+Z", 1), ("I", 2)]);
        let expected = [
            (
                "t.dag",
                "JOB A a\nPRIORITY A 4\nSPLICE S s.dag\nINCLUDE i.dag\nPRIORITY I 2\nPARENT A CHILD S I\n",
            ),
            ("s.dag", "JOB X x\nPRIORITY X 3\nJOB Y y\nSPLICE T t2.dag\n"),
            ("t2.dag", "JOB Z z\nPRIORITY Z 1"),
        ];
        assert_eq!(
            new,
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn a_file_shared_by_splices_gets_the_highest_and_a_warning() {
        let files = [
            ("t.dag", "SPLICE S s.dag\nSPLICE T s.dag\n"),
            ("s.dag", "JOB X x\nJOB Y y\n"),
        ];
        let wanted = [("S+X", 4), ("T+X", 2), ("S+Y", 1), ("T+Y", 1)];
        let (new, report) = edit(&files, &wanted, ExistingPriorities::Replace);
        assert_eq!(
            new.unwrap()[1].text,
            "JOB X x\nPRIORITY X 4\nJOB Y y\nPRIORITY Y 1\n"
        );
        assert!(problems(&report).starts_with(
            "s.dag: several splices share this file and want different priorities for 1 of"
        ));
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let (new, report) = edit(
            &[("t.dag", "JOB A a\n")],
            &[("A", 1 << 40)],
            ExistingPriorities::Replace,
        );
        assert!(
            new.is_none()
                && problems(&report).contains("t.dag:1: the priority of 'A' does not fit")
        );
        let (new, report) = edit(
            &[("t.dag", "JOB A a\nJOB B b \\\n# end\n")],
            &[("A", 1)],
            ExistingPriorities::Replace,
        );
        assert!(
            new.is_none() && problems(&report).contains("ends in a backslash"),
            "{}",
            problems(&report)
        );
    }

    #[test]
    fn nothing_but_priority_lines_changes() {
        let text =
            "JOB b x\nVARS b +a=\"1\"\n\n\tJOB\ta\tx\tDIR /tmp\nPARENT b CHILD a # not a comment\n";
        let (new, report) = edit(&[("t.dag", text)], &[("a", 1)], ExistingPriorities::Replace);
        assert!(new.is_none() && problems(&report).contains("no node or splice is called '#'"));
        let text = text.replace(" # not a comment", "");
        let new = edited_one(&text, &[("a", 2), ("b", 1)]);
        let rest: String = new
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("PRIORITY"))
            .collect();
        assert_eq!(rest, text);
    }
}
