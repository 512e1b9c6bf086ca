//! The scopes of a DAGMan workflow: a file with all it includes, and those that it splices. Knows nothing of bytes on
//! disk: another fetches the files.
//!
//! Every scope is read in two passes, as DAGMan does, so that statements may come before the nodes they name: the
//! first, here, declares nodes and splices (whose scopes are read on the way), the second (`ties`) ties and sets. Time
//! and space are linear in the files and the result; limits on the result are checked before it is built.

use super::files::{FileId, Files, Load, MOST_INCLUDED_BYTES, MOST_INCLUDES, identity};
use super::scope::*;
use super::statement::{Description, Fault, NodeKind, Span, Statement, statements};
use super::submit::Submit;
use super::ties::Tie;
use crate::{Report, Source};
use hashbrown::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// All scopes of a workflow.
pub(crate) struct Workflow<'l> {
    pub(crate) files: Files<'l>,
    pub(crate) top: Rc<Scope>,
    /// By [`Scope::index`].
    pub(crate) roots: Vec<Root>,
    /// By file and identity of the directory; `None` for one that could not be read.
    by_place: HashMap<(FileId, PathBuf), Option<Rc<Scope>>>,
    includes: usize,
    included_bytes: usize,
    /// How many splices the scope being read lies in.
    splice_depth: usize,
    /// Whether some node has a description, named or inline, rather than a submit file.
    pub(super) described: bool,
    /// A limit was passed: there is no point in going on.
    pub(super) stopped: bool,
}

/// Where a scope was read from.
#[derive(Clone)]
pub(crate) struct Root {
    pub(crate) scope: Rc<Scope>,
    pub(crate) file: FileId,
    pub(crate) directory: PathBuf,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) file: FileId,
    pub(crate) span: Span,
}

impl<'l> Workflow<'l> {
    /// Reads all scopes. `None` when there was an error.
    pub(crate) fn open(
        source: &Source,
        load: &'l mut Load<'_>,
        report: &mut Report,
    ) -> Option<Workflow<'l>> {
        let mut workflow = Workflow {
            files: Files::new(source, load),
            top: Rc::default(),
            roots: Vec::new(),
            by_place: HashMap::new(),
            includes: 0,
            included_bytes: 0,
            splice_depth: 0,
            described: false,
            stopped: false,
        };
        let directory = workflow.files.top_directory();
        // The top file counts as being read: whoever includes it is refused.
        workflow.files.enter(FileId::TOP, FileId::TOP, 0, report);
        let top = workflow.scope(FileId::TOP, &directory, report);
        workflow.files.leave();
        workflow.top = top.filter(|_| report.errors() == 0)?;
        Some(workflow)
    }

    /// Reads the scope of a file that has been entered, unless that was done before. `None` when there was an error in it.
    fn scope(&mut self, file: FileId, directory: &Path, report: &mut Report) -> Option<Rc<Scope>> {
        // The same file spliced with another DIR finds other files: it is another scope.
        let key = (file, identity(directory));
        // Once for each place, however often it is spliced: a thousand splices of one file cost one reading.
        if let Some(known) = self.by_place.get(&key) {
            return known.clone();
        }
        let errors = report.errors();
        let mut scope = Scope::default();
        self.walk(
            file,
            directory,
            true,
            report,
            &mut |workflow, site, statement, report| {
                workflow.declare(&mut scope, directory, site, statement, report);
            },
        );
        let mut position = 0;
        let mut connected = HashSet::new();
        self.walk(
            file,
            directory,
            false,
            report,
            &mut |workflow, site, statement, report| {
                position += 1;
                let mut tie = Tie {
                    workflow,
                    scope: &mut scope,
                    site,
                    position,
                    connected: &mut connected,
                    report,
                };
                tie.take(statement);
            },
        );
        let scope = (report.errors() == errors).then(|| {
            scope.index = self.roots.len();
            let scope = Rc::new(scope);
            self.roots.push(Root {
                scope: Rc::clone(&scope),
                file,
                directory: directory.to_owned(),
            });
            scope
        });
        // Failures too: a file that cannot be read is told once, however often it is spliced.
        self.by_place.insert(key, scope.clone());
        scope
    }

    /// Visits the statements of a file that has been entered, and of those it includes, in order. Faults are
    /// reported the first time only.
    pub(crate) fn walk(
        &mut self,
        file: FileId,
        directory: &Path,
        first_time: bool,
        report: &mut Report,
        visit: &mut dyn FnMut(&mut Workflow<'l>, Site, Statement<'_>, &mut Report),
    ) {
        let source = self.files.source(file);
        for (span, statement) in statements(source.text()) {
            // Past a limit every further statement would only add to what cannot be held.
            if self.stopped {
                return;
            }
            match statement {
                Ok(Statement::Include { file: name }) => {
                    let mut silent = Report::default();
                    // Files that are missing were reported in the first pass.
                    let report_here = if first_time {
                        &mut *report
                    } else {
                        &mut silent
                    };
                    let site = Site { file, span };
                    if let Some(included) =
                        self.include(&name, directory, site, first_time, report_here)
                    {
                        self.walk(included, directory, first_time, report, visit);
                        self.files.leave();
                    }
                }
                Ok(statement) => visit(self, Site { file, span }, statement, report),
                Err(Fault { at, message, help }) if first_time => {
                    self.files.error(file, at, message, help, report);
                }
                Err(_) => {}
            }
        }
    }

    /// Visits the statements of a scope that was read before, silently.
    pub(super) fn walk_again(
        &mut self,
        root: &Root,
        visit: &mut dyn FnMut(&mut Workflow<'l>, Site, Statement<'_>),
    ) {
        let silent = &mut Report::default();
        self.files.enter(root.file, root.file, 0, silent);
        let visit =
            &mut |workflow: &mut Workflow<'l>, site, statement: Statement<'_>, _: &mut Report| {
                visit(workflow, site, statement);
            };
        self.walk(root.file, &root.directory, false, silent, visit);
        self.files.leave();
    }

    /// Finds and enters an included file.
    fn include(
        &mut self,
        name: &str,
        directory: &Path,
        site: Site,
        first_time: bool,
        report: &mut Report,
    ) -> Option<FileId> {
        let (file, at) = (site.file, site.span.start);
        let included = self.files.find(name, directory, file, at, report)?;
        if first_time {
            self.includes += 1;
            // As often as it is included: what is read again costs time again.
            self.included_bytes += self.files.source(included).text().len();
        }
        if self.includes > MOST_INCLUDES || self.included_bytes > MOST_INCLUDED_BYTES {
            let gibibytes = MOST_INCLUDED_BYTES >> 30;
            let message =
                format!("there are more than {MOST_INCLUDES} INCLUDEs, or {gibibytes} GiB of them");
            let help = "do files include each other over and over?";
            self.files.error(file, at, message, help, report);
            self.stopped = true;
            return None;
        }
        self.files
            .enter(included, file, at, report)
            .then_some(included)
    }

    /// First pass: nodes, splices, descriptions.
    fn declare(
        &mut self,
        scope: &mut Scope,
        directory: &Path,
        site: Site,
        statement: Statement<'_>,
        report: &mut Report,
    ) {
        let mark = self.files.mark(site.file, site.span.line);
        let (name, taken) = match statement {
            Statement::Node {
                kind,
                name,
                name_span,
                description,
                done,
                ..
            } => {
                self.check_node(scope, kind, &name, site, name_span.start, report);
                // Noted, since only then does a further pass over all files, for variables, find anything to fill.
                self.described |= matches!(description, Description::Inline(_));
                let description = match description {
                    Description::Named(name) => NodeDescription::Named(name.into()),
                    Description::Inline(body) => {
                        NodeDescription::Inline(Box::new(Submit::parse(body)))
                    }
                };
                let node = Node {
                    kind,
                    done,
                    description,
                    settings: Settings::default(),
                };
                let added = scope.add_node(&name, mark, node);
                (name, added)
            }
            Statement::Splice {
                name,
                file,
                directory: below,
            } => {
                let below = below.map_or(directory.to_owned(), |below| directory.join(&*below));
                let splice = self.splice(scope, &name, &file, &below, site, report);
                let added = scope.add_splice(&name, mark, splice);
                (name, added)
            }
            Statement::SubmitDescription { name, body } => {
                self.described = true;
                scope
                    .descriptions
                    .entry_ref(&*name)
                    .or_insert_with(|| Submit::parse(body));
                return;
            }
            _ => return,
        };
        if let Err(taken) = taken {
            let first = self
                .files
                .place_of_mark(scope.entries[taken].mark, report.is_full());
            let message = format!("'{name}' is declared twice");
            let help = format!("it was declared first at {first}; rename or remove one of them");
            self.error(site, message, help, report);
        }
    }

    /// Warns of a name that DAGMan refuses, and refuses special nodes where there can be none.
    fn check_node(
        &mut self,
        scope: &Scope,
        kind: NodeKind,
        name: &str,
        site: Site,
        at: usize,
        report: &mut Report,
    ) {
        if name.contains('+') && !self.files.is_encoded(site.file) {
            let message =
                format!("DAGMan keeps '+' for the nodes of splices and refuses the name '{name}'");
            let help = "rename the node, or set DAGMAN_ALLOW_ANY_NODE_NAME_CHARACTERS";
            self.files.warning(site.file, at, message, help, report);
        }
        let single = match kind {
            NodeKind::Final => "FINAL",
            NodeKind::Provisioner => "PROVISIONER",
            _ => return,
        };
        if scope.specials.contains(&kind) {
            let message = format!("there is a second {single} node, '{name}'");
            let help = "a workflow has one at most: remove one of them";
            self.files.error(site.file, at, message, help, report);
        }
        if self.splice_depth > 0 && kind == NodeKind::Final {
            let message = format!("the FINAL node '{name}' is in a spliced file");
            let help = "move it to the top file";
            self.files.error(site.file, at, message, help, report);
        }
    }

    /// Reads the scope of a splice. `None` when it cannot be used.
    fn splice(
        &mut self,
        scope: &Scope,
        name: &str,
        file: &str,
        directory: &Path,
        site: Site,
        report: &mut Report,
    ) -> Option<Rc<Scope>> {
        let at = site.span.start;
        let found = self.files.find(file, directory, site.file, at, report)?;
        if !self.files.enter(found, site.file, at, report) {
            return None;
        }
        self.splice_depth += 1;
        // Recursive, and bounded: `enter` refuses files that contain themselves, and chains that are too deep.
        let splice = self.scope(found, directory, report);
        self.splice_depth -= 1;
        self.files.leave();
        let splice = splice?;
        // Before it is added, and long before it is built: a few short files that splice each other multiply to more
        // than any memory.
        let size = scope.size_with(name, &splice);
        let too_much = [
            (size.tasks, MOST_TASKS, "tasks"),
            (size.name_bytes, MOST_NAME_BYTES, "bytes of task names"),
            (size.arcs, MOST_ARCS, "dependencies"),
        ];
        let too_much = too_much.iter().find(|(size, most, _)| size > most);
        if let Some((size, most, what)) = too_much {
            let message = format!(
                "with the splice '{name}' the workflow has {size} {what}; the most is {most}"
            );
            let help =
                "do splices multiply without need? run the parts as separate workflows if not";
            self.files.error(site.file, at, message, help, report);
            self.stopped = true;
            return None;
        }
        Some(splice)
    }

    pub(super) fn error(
        &self,
        site: Site,
        message: impl Into<String>,
        help: impl Into<String>,
        report: &mut Report,
    ) {
        (self.files).error(site.file, site.span.start, message, help, report);
    }

    pub(super) fn warning(
        &self,
        site: Site,
        message: impl Into<String>,
        help: impl Into<String>,
        report: &mut Report,
    ) {
        (self.files).warning(site.file, site.span.start, message, help, report);
    }
}
