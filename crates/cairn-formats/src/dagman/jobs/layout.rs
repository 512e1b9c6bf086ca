//! Gives every node of a DAGMan workflow its submit description, each read once. Runs nothing.

use super::super::scope::*;
use super::super::statement::NodeKind;
use super::super::submit::Submit;
use super::super::walk::{At, Visitor, walk};
use super::super::workflow::Workflow;
use super::details::ScopeNodes;
use super::{NodePlace, Nodes, unfit};
use crate::{ReadLimits, Report, Source};
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

    /// Gives every task that is to be executed its description.
    pub(super) fn place_all(&mut self, report: &mut Report) {
        let top = Rc::clone(&self.workflow.top);
        walk(&top, &mut Placing(self, report));
    }

    fn place(&mut self, at: &At<'_>, task: TaskId, report: &mut Report) {
        let &At {
            scope,
            index,
            entry,
            node,
            ..
        } = at;
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
                let origin = match at.around.iter().find(is_here) {
                    Some(scope) => Origin::Named(scope.index, name.clone()),
                    None => Origin::File(self.nodes.directory(place).join(&**name)),
                };
                match self.described(origin, at.around, mark, report) {
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
                match Source::load_named_by_file(path, &ReadLimits::default(), &mut trial) {
                    Some(source) => {
                        let submit = self.add(Submit::parse(source.text()));
                        Some((submit, Some(Rc::new(source))))
                    }
                    None => {
                        let why = trial.first_message();
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

/// A layout on its way through the workflow.
struct Placing<'a, 'w, 'l>(&'a mut Layout<'w, 'l>, &'a mut Report);

impl Visitor for Placing<'_, '_, '_> {
    fn node(&mut self, at: &At<'_>) {
        let Placing(layout, report) = self;
        if at.node.kind == NodeKind::Job
            && let Some(task) = layout.flow.find(at.name)
            && !layout.flow.is_done(task)
        {
            layout.place(at, task, report);
        }
    }
}
