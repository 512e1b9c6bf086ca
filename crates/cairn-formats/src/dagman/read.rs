//! Reads a DAGMan file, with all it includes and splices, into a flow. Knows nothing of bytes on disk: another
//! fetches the files.
//!
//! Every scope is read in two passes, as DAGMan does, so that statements may come before the nodes they name: the
//! first declares nodes and splices (whose scopes are read on the way), the second ties and sets. Then the scopes are
//! laid out into one flow. Time and space are linear in the files and the result; limits on the result are checked
//! before it is built.

use super::files::{FileId, Files, Load, MOST_INCLUDED_BYTES, MOST_INCLUDES, identity};
use super::scope::*;
use super::statement::{Description, NodeKind, Span, Statement, Text, statements};
use super::submit::Submit;
use crate::{Report, Source, suggest};
use cairn_dag::{Flow, FlowBuilder, Symbol};
use hashbrown::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Reads a flow. `load` fetches the files that are included or spliced; their names are relative to the directory of
/// `source`, or to the `DIR` of the splice they stand in, as DAGMan resolves them. `None` when there was an error.
pub(crate) fn read(source: &Source, load: &mut Load<'_>, report: &mut Report) -> Option<Flow> {
    let mut workflow = Workflow::open(source, load, report)?;
    let variables = workflow.variables(report);
    let mut layout = Layout {
        workflow: &workflow,
        variables,
        build: FlowBuilder::new(),
        tasks: Vec::new(),
    };
    layout.place(
        &Rc::clone(&workflow.top),
        &mut String::new(),
        &mut Vec::new(),
        report,
    );
    let build = layout.build;
    match build.finish() {
        Ok(flow) => (report.errors() == 0).then_some(flow),
        Err(errors) => {
            for error in &errors {
                let full = report.is_full();
                report.build_error(error, |mark| workflow.files.place_of_mark(mark, full));
            }
            None
        }
    }
}

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
    described: bool,
    /// A limit was passed: there is no point in going on.
    stopped: bool,
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
        workflow.files.enter(0, 0, 0, report);
        let top = workflow.scope(0, &directory, report);
        workflow.files.leave();
        workflow.top = top.filter(|_| report.errors() == 0)?;
        Some(workflow)
    }

    /// Reads the scope of a file that has been entered, unless that was done before. `None` when there was an error in it.
    fn scope(&mut self, file: FileId, directory: &Path, report: &mut Report) -> Option<Rc<Scope>> {
        let key = (file, identity(directory));
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
                workflow.tie(
                    &mut scope,
                    site,
                    position,
                    statement,
                    &mut connected,
                    report,
                );
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
            if self.stopped {
                return;
            }
            match statement {
                Ok(Statement::Include { file: name }) => {
                    let mut silent = Report::default();
                    let report_here = if first_time {
                        &mut *report
                    } else {
                        &mut silent
                    };
                    let Some(included) = self.include(
                        &name,
                        directory,
                        Site { file, span },
                        first_time,
                        report_here,
                    ) else {
                        continue;
                    };
                    self.walk(included, directory, first_time, report, visit);
                    self.files.leave();
                }
                Ok(statement) => visit(self, Site { file, span }, statement, report),
                Err(fault) if first_time => {
                    self.files
                        .error(file, fault.at, fault.message, fault.help, report)
                }
                Err(_) => {}
            }
        }
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
            } => {
                self.check_node(scope, kind, &name, site, name_span.start, report);
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
            self.files
                .error(site.file, site.span.start, message, help, report);
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
            self.files.error(
                site.file,
                at,
                message,
                "a workflow has one at most: remove one of them",
                report,
            );
        }
        if self.splice_depth > 0 && kind == NodeKind::Final {
            let message = format!("the FINAL node '{name}' is in a spliced file");
            self.files
                .error(site.file, at, message, "move it to the top file", report);
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
        let splice = self.scope(found, directory, report);
        self.splice_depth -= 1;
        self.files.leave();
        let splice = splice?;
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

    /// Second pass: dependencies and settings.
    fn tie(
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
                let number = self.number_of(scope, &node, site, report);
                number
                    .into_iter()
                    .for_each(|number| scope.pins_in.entry(pin).or_default().push(number));
            }
            Statement::PinOut { node, pin } => {
                let number = self.number_of(scope, &node, site, report);
                number
                    .into_iter()
                    .for_each(|number| scope.pins_out.entry(pin).or_default().push(number));
            }
            Statement::Priority { node, value, .. } => {
                self.set(
                    scope,
                    &node,
                    Setting::Priority(value),
                    position,
                    site,
                    report,
                );
            }
            Statement::Retry { node, times } => {
                self.set(
                    scope,
                    &node,
                    Setting::Retries(times),
                    position,
                    site,
                    report,
                );
            }
            Statement::Done { node } => {
                self.set(scope, &node, Setting::Done, position, site, report)
            }
            Statement::Vars { node, .. } | Statement::OfNode { node } if !is_all_nodes(&node) => {
                self.number_of(scope, &node, site, report);
            }
            Statement::Reject => {
                let help =
                    "planning it is possible; DAGMan will not run it before this line is removed";
                self.files.warning(
                    site.file,
                    site.span.start,
                    "the workflow is marked REJECT",
                    help,
                    report,
                );
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
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() && report.errors() == errors && !broken {
            let message = format!("'{}' has no node to depend on", names[0]);
            let help = "an empty splice cannot be a parent or child: put a node into its file, or leave it out";
            self.files
                .error(site.file, site.span.start, message, help, report);
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
            self.files
                .error(site.file, site.span.start, message, help, report);
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
        scope.size.arcs = total;
        let mark = self.files.mark(site.file, site.span.line);
        for &parent in parents {
            for &child in children {
                if parent == child {
                    let message = format!("'{}' depends on itself", scope.name_of(parent));
                    self.files.error(
                        site.file,
                        site.span.start,
                        message,
                        "remove the dependency",
                        report,
                    );
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
        self.files
            .error(site.file, site.span.start, message, help, report);
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
            self.files
                .error(site.file, site.span.start, message, help, report);
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
            self.files
                .warning(site.file, site.span.start, message, help, report);
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
                self.files
                    .error(site.file, site.span.start, message, help, report);
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
                self.files.error(
                    site.file,
                    site.span.start,
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
                self.files.warning(
                    site.file,
                    site.span.start,
                    message,
                    "remove the line",
                    report,
                );
            }
            Some(Found::Inside(number, _)) => {
                scope.nested.push((number, setting));
                let message = format!(
                    "DAGMan finds '{name}' only in rescue files: elsewhere a splice hides its nodes"
                );
                let help = "move this line into the spliced file";
                self.files
                    .warning(site.file, site.span.start, message, help, report);
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
        self.files
            .error(site.file, site.span.start, message, help, report);
    }

    /// The `VARS` of nodes, by scope; empty when no description could use them.
    fn variables(&mut self, report: &mut Report) -> Vec<ScopeVariables> {
        if !self.described {
            return Vec::new();
        }
        let roots = self.roots.clone();
        let mut all = Vec::new();
        for root in roots {
            let mut variables = ScopeVariables::default();
            let mut position = 0;
            self.files.enter(root.file, root.file, 0, report);
            self.walk(
                root.file,
                &root.directory,
                false,
                report,
                &mut |_, _, statement, _| {
                    if let Statement::Vars { node, pairs } = statement {
                        position += 1;
                        variables.add(&root.scope, &node, pairs, position);
                    }
                },
            );
            self.files.leave();
            all.push(variables);
        }
        all
    }
}

fn is_all_nodes(name: &str) -> bool {
    name.eq_ignore_ascii_case("ALL_NODES")
}

/// The variables of the nodes of one scope, each with the position of its line: the last one counts.
#[derive(Default)]
struct ScopeVariables {
    all: HashMap<String, (u32, String)>,
    /// By entry.
    own: HashMap<usize, HashMap<String, (u32, String)>>,
}

impl ScopeVariables {
    fn add(&mut self, scope: &Scope, node: &str, pairs: Vec<(Text<'_>, Text<'_>)>, position: u32) {
        let table = match scope.find(node) {
            Some(Found::Own(entry)) => self.own.entry(entry).or_default(),
            None if is_all_nodes(node) => &mut self.all,
            _ => return,
        };
        for (key, value) in pairs {
            table.insert(key.to_ascii_lowercase(), (position, value.into_owned()));
        }
    }

    fn get(&self, entry: usize, key: &str) -> Option<&str> {
        let own = self.own.get(&entry).and_then(|own| own.get(key));
        let latest = own.max(self.all.get(key))?;
        Some(&latest.1)
    }
}

/// Lays scopes out into one flow.
struct Layout<'w, 'l> {
    workflow: &'w Workflow<'l>,
    /// By scope, or empty.
    variables: Vec<ScopeVariables>,
    build: FlowBuilder,
    /// By number in the top scope.
    tasks: Vec<Symbol>,
}

impl Layout<'_, '_> {
    /// Adds the tasks of a scope whose names begin with `prefix`, inside the scopes `around`.
    fn place(
        &mut self,
        scope: &Rc<Scope>,
        prefix: &mut String,
        around: &mut Vec<Rc<Scope>>,
        report: &mut Report,
    ) {
        let (base, prefix_length) = (self.tasks.len(), prefix.len());
        around.push(Rc::clone(scope));
        for (index, entry) in scope.entries.iter().enumerate() {
            prefix.push_str(&entry.name);
            match &entry.what {
                What::Node(node) => {
                    self.place_node(scope, index, entry, node, prefix, around, report)
                }
                What::Splice(None) => {}
                What::Splice(Some(splice)) => {
                    prefix.push('+');
                    self.place(splice, prefix, around, report);
                }
            }
            prefix.truncate(prefix_length);
        }
        around.pop();
        for &(parent, child, mark) in &scope.arcs {
            let arc = self.build.arc_at(
                self.tasks[base + parent as usize],
                self.tasks[base + child as usize],
                mark,
            );
            debug_assert!(
                arc.is_ok() || report.errors() > 0,
                "self-loops were refused before"
            );
        }
        for &(number, setting) in &scope.nested {
            let task = self.tasks[base + number as usize];
            match setting {
                Setting::Priority(value) => self.build.set_priority(task, value.into()),
                Setting::Retries(times) => self.build.set_retries(task, times),
                Setting::Done => self.build.set_done(task),
            }
        }
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
        name: &str,
        around: &[Rc<Scope>],
        report: &mut Report,
    ) {
        let task = match self.build.declare(name, entry.mark) {
            Ok(task) => task,
            Err(error) => {
                let full = report.is_full();
                report.build_error(&error, |mark| self.workflow.files.place_of_mark(mark, full));
                self.build.mention(name, entry.mark)
            }
        };
        self.tasks.push(task);
        if node.done && node.kind.is_regular() {
            self.build.set_done(task);
        }
        if !node.kind.is_regular() {
            self.build.set_apart(task);
        } else {
            let (priority, retries) = node.settings.with(scope.all);
            priority
                .into_iter()
                .for_each(|priority| self.build.set_priority(task, priority.into()));
            retries
                .into_iter()
                .for_each(|times| self.build.set_retries(task, times));
        }
        let submit = match &node.description {
            NodeDescription::Inline(submit) => Some(&**submit),
            _ if !self.workflow.described || node.kind == NodeKind::Subdag => None,
            NodeDescription::Named(name) => around
                .iter()
                .find_map(|scope| scope.descriptions.get(&**name)),
        };
        if let Some(submit) = submit {
            let variables = &self.variables[scope.index];
            let command = submit.command(name, &|key| variables.get(index, key));
            command
                .into_iter()
                .for_each(|command| self.build.set_command(task, &command));
            submit
                .cpus()
                .into_iter()
                .for_each(|cpus| self.build.set_cpus(task, cpus));
        }
    }
}
