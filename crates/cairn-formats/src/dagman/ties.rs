//! The second pass over a scope: dependencies between its nodes and splices, and what is set for nodes. Knows nothing of
//! files.

use super::scope::*;
use super::statement::{NodeKind, Statement, Text};
use super::workflow::{Site, Workflow};
use crate::{Report, suggest};
use hashbrown::HashSet;
use std::rc::Rc;

impl Workflow<'_> {
    /// Second pass: dependencies and settings.
    pub(super) fn tie(
        &mut self,
        scope: &mut Scope,
        site: Site,
        position: u32,
        statement: Statement<'_>,
        connected: &mut HashSet<u32>,
        report: &mut Report,
    ) {
        match statement {
            Statement::Dependency { parents, children } => {
                let parents = self.side(scope, &parents, Scope::terminal, site, report);
                let children = self.side(scope, &children, Scope::initial, site, report);
                if let (Some(parents), Some(children)) = (parents, children) {
                    self.add_arcs(scope, &parents, &children, site, report);
                }
            }
            Statement::Connect { parent, child } => {
                self.connect(scope, &parent, &child, site, connected, report)
            }
            Statement::PinIn { node, pin } => {
                if let Some(number) = self.number_of(scope, &node, site, report) {
                    scope.pins_in.entry(pin).or_default().push(number);
                }
            }
            Statement::PinOut { node, pin } => {
                if let Some(number) = self.number_of(scope, &node, site, report) {
                    scope.pins_out.entry(pin).or_default().push(number);
                }
            }
            Statement::Priority { node, value, .. } => {
                let setting = Setting::Priority(value);
                self.set(scope, &node, setting, position, site, report);
            }
            Statement::Retry { node, times, .. } => {
                let setting = Setting::Retries(times);
                self.set(scope, &node, setting, position, site, report);
            }
            Statement::Done { node } => {
                self.set(scope, &node, Setting::Done, position, site, report)
            }
            Statement::Category { node, category } => match scope.find(&node) {
                Some(Found::Own(entry)) => {
                    scope.categories.insert(entry, (position, category.into()));
                }
                None if is_all_nodes(&node) => {
                    scope.all_category = Some((position, category.into()));
                }
                _ => drop(self.number_of(scope, &node, site, report)),
            },
            Statement::MaxJobs { category, limit } => {
                scope.limits.push((category.into(), limit));
            }
            Statement::Vars { node, .. }
            | Statement::Script { node, .. }
            | Statement::AbortDagOn { node, .. }
            | Statement::PreSkip { node, .. }
            | Statement::OfNode { node }
                if !is_all_nodes(&node) =>
            {
                self.number_of(scope, &node, site, report);
            }
            Statement::Reject => {
                let help =
                    "planning it is possible; DAGMan will not run it before this line is removed";
                self.warning(site, "the workflow is marked REJECT", help, report);
            }
            _ => {}
        }
    }

    /// The numbers that one side of a dependency names: of a splice those at its end. `None` after an error.
    fn side(
        &mut self,
        scope: &Scope,
        names: &[Text<'_>],
        ends: fn(&Scope) -> Rc<[u32]>,
        site: Site,
        report: &mut Report,
    ) -> Option<Vec<u32>> {
        let errors = report.errors();
        let mut numbers = Vec::new();
        let mut broken = false;
        for name in names {
            match scope.find(name) {
                None => self.unknown(scope, name, site, report),
                Some(Found::Splice(_, None)) => broken = true,
                Some(Found::Splice(first, Some(splice))) => {
                    let ends = ends(splice);
                    if numbers.len() as u64 + ends.len() as u64 > MOST_ARCS {
                        self.too_many_arcs(numbers.len() as u64 + ends.len() as u64, site, report);
                        return None;
                    }
                    numbers.extend(ends.iter().map(|number| first + number));
                }
                Some(Found::Inside(number, node)) => {
                    self.check_regular(node.kind, name, site, report);
                    numbers.push(number);
                }
                Some(Found::Own(entry)) => {
                    if let What::Node(node) = &scope.entries[entry].what {
                        self.check_regular(node.kind, name, site, report);
                    }
                    numbers.push(scope.entries[entry].first);
                }
            }
        }
        // A node named twice, or at two ends of nested splices, is tied once.
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() && report.errors() == errors && !broken {
            let message = format!("'{}' has no node to depend on", names[0]);
            let help = "an empty splice cannot be a parent or child: put a node into its file, or leave it out";
            self.error(site, message, help, report);
        }
        (report.errors() == errors).then_some(numbers)
    }

    /// Refuses a special node in a dependency.
    fn check_regular(&self, kind: NodeKind, name: &str, site: Site, report: &mut Report) {
        if !kind.is_regular() {
            let message = format!(
                "'{name}' is a FINAL, PROVISIONER or SERVICE node, which can have no dependency"
            );
            let help = "declare it with JOB, or take it out of this line";
            self.error(site, message, help, report);
        }
    }

    fn add_arcs(
        &mut self,
        scope: &mut Scope,
        parents: &[u32],
        children: &[u32],
        site: Site,
        report: &mut Report,
    ) {
        let total = scope.size.arcs + parents.len() as u64 * children.len() as u64;
        if total > MOST_ARCS {
            self.too_many_arcs(total, site, report);
            return;
        }
        // Counted before they are made: one line of 10⁵ parents and 10⁵ children would be 120 GB.
        scope.size.arcs = total;
        let mark = self.files.mark(site.file, site.span.line);
        for &parent in parents {
            for &child in children {
                if parent == child {
                    let message = format!("'{}' depends on itself", scope.name_of(parent));
                    self.error(site, message, "remove the dependency", report);
                    return;
                }
                scope.arcs.push((parent, child, mark));
            }
        }
    }

    fn too_many_arcs(&mut self, total: u64, site: Site, report: &mut Report) {
        let message =
            format!("with this line there are {total} dependencies; the most is {MOST_ARCS}");
        let help = "every parent is tied to every child: put a NOOP node between many parents and many children";
        self.error(site, message, help, report);
        self.stopped = true;
    }

    /// Ties the pins of two splices.
    fn connect(
        &mut self,
        scope: &mut Scope,
        parent: &str,
        child: &str,
        site: Site,
        connected: &mut HashSet<u32>,
        report: &mut Report,
    ) {
        let parent_splice = self.splice_named(scope, parent, site, report);
        let child_splice = self.splice_named(scope, child, site, report);
        let (Some((parent_first, above)), Some((child_first, below))) =
            (parent_splice, child_splice)
        else {
            return;
        };
        let count = |pins: &Pins| pins.keys().next_back().copied().unwrap_or(0);
        let (outs, ins) = (count(&above.pins_out), count(&below.pins_in));
        let missing = |pins: &Pins| {
            (1..)
                .zip(pins.keys())
                .find(|&(n, &pin)| n != pin)
                .map(|(n, _)| n)
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
            self.error(site, message, help, report);
            return;
        }
        for (outs, ins) in above.pins_out.values().zip(below.pins_in.values()) {
            let parents: Vec<u32> = outs.iter().map(|number| parent_first + number).collect();
            let children: Vec<u32> = ins.iter().map(|number| child_first + number).collect();
            self.add_arcs(scope, &parents, &children, site, report);
            if self.stopped {
                return;
            }
        }
        // Told once a splice, not once a CONNECT.
        if connected.insert(child_first) {
            self.warn_of_orphan(scope, child_first, &below, site, report);
        }
    }

    /// DAGMan refuses to connect a splice if a node of it has neither a parent nor a pin.
    fn warn_of_orphan(
        &mut self,
        scope: &Scope,
        first: u32,
        splice: &Scope,
        site: Site,
        report: &mut Report,
    ) {
        let pinned: HashSet<u32> = splice.pins_in.values().flatten().copied().collect();
        if let Some(&orphan) = splice
            .initial()
            .iter()
            .find(|number| !pinned.contains(*number))
        {
            let message = format!(
                "'{}' has neither a parent nor a PIN_IN",
                scope.name_of(first + orphan)
            );
            let help = "DAGMan refuses this CONNECT unless an earlier line gave the node a parent";
            self.warning(site, message, help, report);
        }
    }

    fn splice_named(
        &mut self,
        scope: &Scope,
        name: &str,
        site: Site,
        report: &mut Report,
    ) -> Option<(u32, Rc<Scope>)> {
        match scope.find(name) {
            Some(Found::Splice(first, splice)) => splice.map(|splice| (first, Rc::clone(splice))),
            Some(_) => {
                let message = format!("'{name}' is a node, not a splice");
                let help = "CONNECT ties splices; use PARENT … CHILD for nodes";
                self.error(site, message, help, report);
                None
            }
            None => {
                self.unknown(scope, name, site, report);
                None
            }
        }
    }

    /// The number of a single node.
    fn number_of(
        &mut self,
        scope: &Scope,
        name: &str,
        site: Site,
        report: &mut Report,
    ) -> Option<u32> {
        match scope.find(name) {
            Some(Found::Own(entry)) => Some(scope.entries[entry].first),
            Some(Found::Inside(number, _)) => Some(number),
            Some(Found::Splice(..)) => {
                let message = format!("'{name}' is a splice, but this is for nodes only");
                self.error(
                    site,
                    message,
                    "name a node inside the splice's file",
                    report,
                );
                None
            }
            None => {
                self.unknown(scope, name, site, report);
                None
            }
        }
    }

    fn set(
        &mut self,
        scope: &mut Scope,
        name: &str,
        setting: Setting,
        position: u32,
        site: Site,
        report: &mut Report,
    ) {
        match scope.find(name) {
            Some(Found::Own(entry)) => {
                let What::Node(node) = &mut scope.entries[entry].what else {
                    return;
                };
                if node.kind.is_regular() {
                    node.done |= setting == Setting::Done;
                    node.settings.set(setting, position);
                    return;
                }
                let message = format!(
                    "'{name}' is a FINAL, PROVISIONER or SERVICE node: DAGMan refuses this line"
                );
                self.warning(site, message, "remove the line", report);
            }
            Some(Found::Inside(number, _)) => {
                scope.nested.push((number, setting));
                let message = format!(
                    "DAGMan finds '{name}' only in rescue files: elsewhere a splice hides its nodes"
                );
                let help = "move this line into the spliced file";
                self.warning(site, message, help, report);
            }
            None if is_all_nodes(name) && setting != Setting::Done => {
                scope.all.set(setting, position);
            }
            _ => {
                self.number_of(scope, name, site, report);
            }
        }
    }

    fn unknown(&self, scope: &Scope, name: &str, site: Site, report: &mut Report) {
        let near = (!report.is_full())
            .then(|| suggest::closest(name, scope.names()))
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
        let message = format!("no node or splice is called '{name}'");
        self.error(site, message, help, report);
    }
}

pub(super) fn is_all_nodes(name: &str) -> bool {
    name.eq_ignore_ascii_case("ALL_NODES")
}
