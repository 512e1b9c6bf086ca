//! The second pass over a scope: dependencies between its nodes and splices, and what is set for nodes. Knows nothing of
//! files.

use super::scope::*;
use super::statement::{NodeKind, Statement, Text};
use super::workflow::{Site, Workflow};
use crate::{Report, suggest};
use hashbrown::HashSet;
use std::rc::Rc;

/// One statement of the second pass, and all that it may change.
pub(super) struct Tie<'a, 'l> {
    pub(super) workflow: &'a mut Workflow<'l>,
    pub(super) scope: &'a mut Scope,
    pub(super) site: Site,
    pub(super) position: u32,
    /// Splices that stood on the right of a `CONNECT`, by their first number.
    pub(super) connected: &'a mut HashSet<u32>,
    pub(super) report: &'a mut Report,
}

impl Tie<'_, '_> {
    /// Second pass: dependencies and settings.
    pub(super) fn take(&mut self, statement: Statement<'_>) {
        match statement {
            Statement::Dependency { parents, children } => {
                // Both sides before either is judged, so that all unknown names of a line are told at once.
                let parents = self.side(&parents, Scope::terminal);
                let children = self.side(&children, Scope::initial);
                if let (Some(parents), Some(children)) = (parents, children) {
                    self.add_arcs(&parents, &children);
                }
            }
            Statement::Connect { parent, child } => self.connect(&parent, &child),
            Statement::PinIn { node, pin } => {
                if let Some(number) = self.number_of(&node) {
                    self.scope.pins_in.entry(pin).or_default().push(number);
                }
            }
            Statement::PinOut { node, pin } => {
                if let Some(number) = self.number_of(&node) {
                    self.scope.pins_out.entry(pin).or_default().push(number);
                }
            }
            Statement::Priority { node, value, .. } => self.set(&node, Setting::Priority(value)),
            Statement::Retry { node, times, .. } => self.set(&node, Setting::Retries(times)),
            Statement::Done { node } => self.set(&node, Setting::Done),
            Statement::Category { node, category } => match self.scope.find(&node) {
                Some(Found::Own(entry)) => {
                    let category = (self.position, category.into());
                    self.scope.categories.insert(entry, category);
                }
                None if is_all_nodes(&node) => {
                    self.scope.all_category = Some((self.position, category.into()));
                }
                _ => drop(self.number_of(&node)),
            },
            Statement::MaxJobs { category, limit } => {
                self.scope.limits.push((category.into(), limit));
            }
            Statement::Vars { node, .. }
            | Statement::Script { node, .. }
            | Statement::AbortDagOn { node, .. }
            | Statement::PreSkip { node, .. }
            | Statement::OfNode { node }
                if !is_all_nodes(&node) =>
            {
                self.number_of(&node);
            }
            Statement::Reject => {
                let help =
                    "planning it is possible; DAGMan will not run it before this line is removed";
                self.warning("the workflow is marked REJECT", help);
            }
            _ => {}
        }
    }

    fn error(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.workflow.error(self.site, message, help, self.report);
    }

    fn warning(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.workflow.warning(self.site, message, help, self.report);
    }

    /// The numbers that one side of a dependency names: of a splice those at its end. `None` after an error.
    fn side(&mut self, names: &[Text<'_>], ends: fn(&Scope) -> Rc<[u32]>) -> Option<Vec<u32>> {
        let errors = self.report.errors();
        let mut numbers = Vec::new();
        let mut broken = false;
        for name in names {
            match self.scope.find(name) {
                None => self.unknown(name),
                // It was told when it could not be read.
                Some(Found::Splice(_, None)) => broken = true,
                Some(Found::Splice(first, Some(splice))) => {
                    let ends = ends(splice);
                    // A line may name a large splice over and over: counted before its ends are copied.
                    let total = numbers.len() as u64 + ends.len() as u64;
                    if total > MOST_ARCS {
                        self.too_many_arcs(total);
                        return None;
                    }
                    numbers.extend(ends.iter().map(|number| first + number));
                }
                Some(Found::Inside(number, node)) => {
                    self.check_regular(node.kind, name);
                    numbers.push(number);
                }
                Some(Found::Own(entry)) => {
                    let entry = &self.scope.entries[entry];
                    numbers.push(entry.first);
                    if let What::Node(node) = &entry.what {
                        self.check_regular(node.kind, name);
                    }
                }
            }
        }
        // A node named twice, or at two ends of nested splices, is tied once.
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() && self.report.errors() == errors && !broken {
            let message = format!("'{}' has no node to depend on", names[0]);
            let help = "an empty splice cannot be a parent or child: put a node into its file, or leave it out";
            self.error(message, help);
        }
        (self.report.errors() == errors).then_some(numbers)
    }

    /// Refuses a special node in a dependency.
    fn check_regular(&mut self, kind: NodeKind, name: &str) {
        if !kind.is_regular() {
            let message = format!(
                "'{name}' is a FINAL, PROVISIONER or SERVICE node, which can have no dependency"
            );
            let help = "declare it with JOB, or take it out of this line";
            self.error(message, help);
        }
    }

    fn add_arcs(&mut self, parents: &[u32], children: &[u32]) {
        let total = self.scope.size.arcs + parents.len() as u64 * children.len() as u64;
        if total > MOST_ARCS {
            return self.too_many_arcs(total);
        }
        // Counted before they are made: one line of 10⁵ parents and 10⁵ children would be 120 GB.
        self.scope.size.arcs = total;
        let mark = (self.workflow.files).mark(self.site.file, self.site.span.line);
        for &parent in parents {
            for &child in children {
                if parent == child {
                    let message = format!("'{}' depends on itself", self.scope.name_of(parent));
                    // One is told of; a splice tied to itself would have as many as it has nodes.
                    return self.error(message, "remove the dependency");
                }
                self.scope.arcs.push((parent, child, mark));
            }
        }
    }

    fn too_many_arcs(&mut self, total: u64) {
        let message =
            format!("with this line there are {total} dependencies; the most is {MOST_ARCS}");
        let help = "every parent is tied to every child: put a NOOP node between many parents and many children";
        self.error(message, help);
        self.workflow.stopped = true;
    }

    /// Ties the pins of two splices.
    fn connect(&mut self, parent: &str, child: &str) {
        let parent_splice = self.splice_named(parent);
        let child_splice = self.splice_named(child);
        let (Some((parent_first, above)), Some((child_first, below))) =
            (parent_splice, child_splice)
        else {
            return;
        };
        let count = |pins: &Pins| pins.keys().next_back().copied().unwrap_or(0);
        // The highest number: with gaps told apart below, as many as there are.
        let (outs, ins) = (count(&above.pins_out), count(&below.pins_in));
        let missing = |pins: &Pins| {
            (1..)
                .zip(pins.keys())
                .find_map(|(n, &pin)| (n != pin).then_some(n))
        };
        let trouble = if outs == 0 {
            Some(format!("splice '{parent}' has no PIN_OUT"))
        } else if ins == 0 {
            Some(format!("splice '{child}' has no PIN_IN"))
        } else if outs != ins {
            Some(format!(
                "'{parent}' has {outs} PIN_OUTs, '{child}' has {ins} PIN_INs"
            ))
        } else if let Some(pin) = missing(&above.pins_out) {
            Some(format!("'{parent}' has no PIN_OUT {pin}"))
        } else {
            missing(&below.pins_in).map(|pin| format!("'{child}' has no PIN_IN {pin}"))
        };
        if let Some(message) = trouble {
            let help = "the pins of both splices must be numbered 1, 2, … and be equally many";
            return self.error(message, help);
        }
        for (outs, ins) in above.pins_out.values().zip(below.pins_in.values()) {
            let parents: Vec<u32> = outs.iter().map(|number| parent_first + number).collect();
            let children: Vec<u32> = ins.iter().map(|number| child_first + number).collect();
            self.add_arcs(&parents, &children);
            if self.workflow.stopped {
                return;
            }
        }
        // Told once a splice, not once a CONNECT.
        if self.connected.insert(child_first) {
            self.warn_of_orphan(child_first, &below);
        }
    }

    /// DAGMan refuses to connect a splice if a node of it has neither a parent nor a pin.
    fn warn_of_orphan(&mut self, first: u32, splice: &Scope) {
        let pinned: HashSet<u32> = splice.pins_in.values().flatten().copied().collect();
        let initial = splice.initial();
        if let Some(&orphan) = initial.iter().find(|number| !pinned.contains(*number)) {
            let name = self.scope.name_of(first + orphan);
            let message = format!("'{name}' has neither a parent nor a PIN_IN");
            let help = "DAGMan refuses this CONNECT unless an earlier line gave the node a parent";
            self.warning(message, help);
        }
    }

    fn splice_named(&mut self, name: &str) -> Option<(u32, Rc<Scope>)> {
        match self.scope.find(name) {
            Some(Found::Splice(first, splice)) => {
                return splice.map(|splice| (first, Rc::clone(splice)));
            }
            Some(_) => {
                let message = format!("'{name}' is a node, not a splice");
                let help = "CONNECT ties splices; use PARENT … CHILD for nodes";
                self.error(message, help);
            }
            None => self.unknown(name),
        }
        None
    }

    /// The number of a single node.
    fn number_of(&mut self, name: &str) -> Option<u32> {
        match self.scope.find(name) {
            Some(Found::Own(entry)) => return Some(self.scope.entries[entry].first),
            Some(Found::Inside(number, _)) => return Some(number),
            Some(Found::Splice(..)) => {
                let message = format!("'{name}' is a splice, but this is for nodes only");
                self.error(message, "name a node inside the splice's file");
            }
            None => self.unknown(name),
        }
        None
    }

    fn set(&mut self, name: &str, setting: Setting) {
        match self.scope.find(name) {
            Some(Found::Own(entry)) => {
                let What::Node(node) = &mut self.scope.entries[entry].what else {
                    return;
                };
                if node.kind.is_regular() {
                    node.done |= setting == Setting::Done;
                    return node.settings.set(setting, self.position);
                }
                let message = format!(
                    "'{name}' is a FINAL, PROVISIONER or SERVICE node: DAGMan refuses this line"
                );
                self.warning(message, "remove the line");
            }
            Some(Found::Inside(number, _)) => {
                // Taken all the same: rescue files, whose names are whole, say what is done just so.
                self.scope.nested.push((number, setting));
                let message = format!(
                    "DAGMan finds '{name}' only in rescue files: elsewhere a splice hides its nodes"
                );
                self.warning(message, "move this line into the spliced file");
            }
            None if is_all_nodes(name) && setting != Setting::Done => {
                self.scope.all.set(setting, self.position);
            }
            _ => drop(self.number_of(name)),
        }
    }

    fn unknown(&mut self, name: &str) {
        // The search costs a look at every name: not for an error that is only counted.
        let near = (!self.report.is_full())
            .then(|| suggest::closest(name, self.scope.names()))
            .flatten();
        let help = match near {
            _ if name.starts_with('#') => {
                "DAGMan knows comments only on lines of their own".to_owned()
            }
            Some(near) => format!("did you mean '{near}'? names are case-sensitive"),
            None => {
                "declare it with JOB, or correct the spelling (names are case-sensitive)".to_owned()
            }
        };
        self.error(format!("no node or splice is called '{name}'"), help);
    }
}

pub(super) fn is_all_nodes(name: &str) -> bool {
    name.eq_ignore_ascii_case("ALL_NODES")
}
