//! Gives every node of a DAGMan workflow its submit description, each read once. Runs nothing.

use super::super::scope::*;
use super::super::statement::NodeKind;
use super::super::submit::Submit;
use super::super::workflow::Workflow;
use super::details::ScopeNodes;
use super::{NodePlace, Nodes, unfit};
use crate::{Limits, Report, Source};
use cairn_dag::{Flow, TaskId};
use hashbrown::{HashMap, HashSet};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// Where a description comes from, so that it is read once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Named(usize, Box<str>),
    File(PathBuf),
}

/// The number of a description, and the file that it is.
type Described = (u32, Option<Rc<Source>>);

/// Gives every task its description.
pub(super) struct Layout<'w, 'l> {
    flow: &'w Flow,
    workflow: &'w Workflow<'l>,
    pub(super) nodes: Nodes,
    /// By origin: the description, or none where it could not be read; and the file.
    known: HashMap<Origin, Option<Described>>,
    /// Descriptions whose lines were checked, and macros that were warned of.
    checked: HashSet<(u32, String)>,
}

impl<'w, 'l> Layout<'w, 'l> {
    pub(super) fn new(
        flow: &'w Flow,
        workflow: &'w Workflow<'l>,
        scopes: Vec<ScopeNodes>,
    ) -> Layout<'w, 'l> {
        Layout {
            flow,
            workflow,
            nodes: Nodes {
                submits: Vec::new(),
                scopes,
                places: vec![None; flow.dag().len()],
            },
            known: HashMap::new(),
            checked: HashSet::new(),
        }
    }

    /// Places the nodes of a scope whose names begin with `prefix`, inside the scopes `around`.
    pub(super) fn place(
        &mut self,
        scope: &Rc<Scope>,
        prefix: &mut String,
        around: &mut Vec<Rc<Scope>>,
        report: &mut Report,
    ) {
        let length = prefix.len();
        around.push(Rc::clone(scope));
        for (index, entry) in scope.entries.iter().enumerate() {
            prefix.push_str(&entry.name);
            match &entry.what {
                What::Node(node) if node.kind == NodeKind::Job => {
                    if let Some(task) = self.flow.find(prefix)
                        && !self.flow.is_done(task)
                    {
                        self.place_node(scope, index, entry, node, task, around, report);
                    }
                }
                What::Node(_) | What::Splice(None) => {}
                What::Splice(Some(splice)) => {
                    prefix.push('+');
                    self.place(splice, prefix, around, report);
                }
            }
            prefix.truncate(length);
        }
        around.pop();
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "one call, with what the loop around it knows"
    )]
    fn place_node(
        &mut self,
        scope: &Scope,
        index: usize,
        entry: &Entry,
        node: &Node,
        task: TaskId,
        around: &[Rc<Scope>],
        report: &mut Report,
    ) {
        let mut place = NodePlace {
            scope: scope.index as u32,
            entry: index as u32,
            submit: None,
        };
        let (own, _) = self.nodes.details(place);
        if own.is_some_and(|own| own.noop) {
            self.nodes.places[task.index()] = Some(place);
            return;
        }
        let mark = entry.mark;
        let (submit, file) = match &node.description {
            NodeDescription::Inline(submit) => (self.add((**submit).clone()), None),
            NodeDescription::Named(name) => {
                let is_here = |scope: &&Rc<Scope>| scope.descriptions.contains_key(&**name);
                // From the outermost scope inward, as in `read`: of two descriptions of one name that of the top file
                // counts.
                let origin = match around.iter().find(is_here) {
                    Some(scope) => Origin::Named(scope.index, name.clone()),
                    None => Origin::File(self.nodes.directory(place).join(&**name)),
                };
                match self.described(origin, around, mark, report) {
                    Some(found) => found,
                    None => return,
                }
            }
        };
        place.submit = Some(submit);
        self.nodes.places[task.index()] = Some(place);
        let at_node = |layout: &Layout<'_, '_>, report: &Report| {
            (layout.workflow.files).place_of_mark(mark, report.is_full())
        };
        // A description shared by thousands of nodes is complained of once; no macro has the empty name.
        if self.checked.insert((submit, String::new())) {
            let here = at_node(self, report);
            unfit::check(&self.nodes, place, submit, file.as_deref(), here, report);
        }
        let undefined = RefCell::default();
        if let Err(trouble) = self.nodes.program(self.flow, task, place, 0, &undefined) {
            let name = self.flow.name(task);
            let help = "write it out in the submit description, or give it by VARS";
            let message = format!("what '{name}' runs cannot be known: {trouble}");
            report.error(at_node(self, report), message, help);
        }
        for name in undefined.into_inner() {
            if self.checked.insert((submit, name.to_ascii_lowercase())) {
                let message = format!("nothing defines the macro $({name}): it is empty");
                let help = "give it by VARS, or as a line of the submit description";
                report.warning(at_node(self, report), message, help);
            }
        }
    }

    fn add(&mut self, submit: Submit) -> u32 {
        self.nodes.submits.push(submit);
        (self.nodes.submits.len() - 1) as u32
    }

    /// The description that a node names, read if nobody asked before.
    fn described(
        &mut self,
        origin: Origin,
        around: &[Rc<Scope>],
        mark: cairn_dag::Mark,
        report: &mut Report,
    ) -> Option<Described> {
        if let Some(known) = self.known.get(&origin) {
            return known.clone();
        }
        let found = match &origin {
            Origin::Named(scope, name) => {
                let scope = around.iter().find(|s| s.index == *scope)?;
                let submit = scope.descriptions.get(&**name)?.clone();
                Some((self.add(submit), None))
            }
            Origin::File(path) => {
                let mut trial = Report::default();
                match Source::load_named_by_file(path, &Limits::default(), &mut trial) {
                    Some(source) => {
                        let submit = self.add(Submit::parse(source.text()));
                        Some((submit, Some(Rc::new(source))))
                    }
                    None => {
                        let why = trial.problems().first().map(|p| p.message.clone());
                        let why = why.unwrap_or_default();
                        let here = self.workflow.files.place_of_mark(mark, report.is_full());
                        let message =
                            format!("cannot use the submit file '{}': {why}", path.display());
                        let help =
                            "its name counts from the directory of the DAGMan file, or from DIR";
                        report.error(here, message, help);
                        None
                    }
                }
            }
        };
        self.known.insert(origin, found.clone());
        found
    }
}
