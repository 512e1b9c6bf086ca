//! Reads a DAGMan file, with all it includes and splices, into a flow: lays the scopes of a workflow out, and gives the
//! nodes their commands. Knows not how scopes are read.

use super::files::Load;
use super::scope::*;
use super::statement::{NodeKind, Statement, Text};
use super::ties::is_all_nodes;
use super::walk::{At, Visitor, walk};
use super::workflow::Workflow;
use crate::{Report, Source};
use cairn_dag::{Flow, FlowBuilder, Symbol};
use hashbrown::HashMap;

/// Reads a flow. `load` fetches the files that are included or spliced; their names are relative to the directory of
/// `source`, or to the `DIR` of the splice they stand in, as DAGMan resolves them. `None` when there was an error.
pub(crate) fn read(source: &Source, load: &mut Load<'_>, report: &mut Report) -> Option<Flow> {
    let mut workflow = Workflow::open(source, load, report)?;
    let described = workflow.described;
    // Another pass over all files, which most workflows do not need: their descriptions are files of their own.
    let variables = described.then(|| variables(&mut workflow));
    let mut layout = Layout {
        workflow: &workflow,
        // Without a description nobody could use them.
        variables: variables.unwrap_or_default(),
        build: FlowBuilder::new(),
        tasks: Vec::new(),
        bases: Vec::new(),
        report,
    };
    // In the order of the files, splices where they stand: so tasks are numbered as a reader meets them.
    walk(&workflow.top, &mut layout);
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

/// The `VARS` of nodes, by scope.
pub(super) fn variables(workflow: &mut Workflow<'_>) -> Vec<ScopeVariables> {
    let roots = workflow.roots.clone();
    let mut all = Vec::new();
    for root in roots {
        let mut variables = ScopeVariables::default();
        let mut position = 0;
        workflow.walk_again(&root, &mut |_, _, statement| {
            if let Statement::Vars {
                node,
                append,
                pairs,
            } = statement
            {
                position += 1;
                variables.add(&root.scope, &node, append, pairs, position);
            }
        });
        all.push(variables);
    }
    all
}

/// The variables of the nodes of one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeVariables {
    all: Table,
    /// By entry.
    own: HashMap<usize, Table>,
}

/// Variables by key in lower case and whether they are appended, each with the position of its line: the last one
/// counts.
type Table = HashMap<(Box<str>, bool), (u32, Box<str>)>;

impl ScopeVariables {
    fn add(
        &mut self,
        scope: &Scope,
        node: &str,
        append: bool,
        pairs: Vec<(Text<'_>, Text<'_>)>,
        position: u32,
    ) {
        let table = match scope.find(node) {
            Some(Found::Own(entry)) => self.own.entry(entry).or_default(),
            None if is_all_nodes(node) => &mut self.all,
            _ => return,
        };
        for (key, value) in pairs {
            let key = key.to_ascii_lowercase().into();
            table.insert((key, append), (position, value.into()));
        }
    }

    /// The value of a node's variable, of those that are appended to the submit description or of the others.
    pub(super) fn get(&self, entry: usize, key: &str, append: bool) -> Option<&str> {
        if self.all.is_empty() && self.own.is_empty() {
            return None;
        }
        let key = (Box::from(key), append);
        let own = self.own.get(&entry).and_then(|own| own.get(&key));
        // By position, which comes first in the pair: the later line counts.
        let latest = own.max(self.all.get(&key))?;
        Some(&latest.1)
    }
}

/// Lays scopes out into one flow.
struct Layout<'w, 'l, 'r> {
    workflow: &'w Workflow<'l>,
    /// By scope, or empty.
    variables: Vec<ScopeVariables>,
    build: FlowBuilder,
    /// By number in the top scope.
    tasks: Vec<Symbol>,
    /// The first task of each scope that is being laid out.
    bases: Vec<usize>,
    report: &'r mut Report,
}

impl Visitor for Layout<'_, '_, '_> {
    fn enter(&mut self) {
        self.bases.push(self.tasks.len());
    }

    fn node(&mut self, at: &At<'_>) {
        let &At {
            scope,
            index,
            entry,
            node,
            name,
            ..
        } = at;
        let task = match self.build.declare(name, entry.mark) {
            Ok(task) => task,
            Err(error) => {
                let full = self.report.is_full();
                let files = &self.workflow.files;
                (self.report).build_error(&error, |mark| files.place_of_mark(mark, full));
                // The numbers of later tasks count on, so that no arc is tied to the wrong one; the error is reported.
                self.build.mention(name, entry.mark)
            }
        };
        self.tasks.push(task);
        if node.done && node.kind.is_regular() {
            self.build.set_done(task);
        }
        // Special nodes have neither arcs nor priorities for DAGMan; the planner is to leave them alone.
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
            NodeDescription::Named(name) => {
                (at.around.iter()).find_map(|scope| scope.descriptions.get(&**name))
            }
        };
        if let Some(submit) = submit {
            let variables = &self.variables[scope.index];
            let command = submit.command(name, &|key, append| variables.get(index, key, append));
            command
                .into_iter()
                .for_each(|command| self.build.set_command(task, &command));
            submit
                .cpus()
                .into_iter()
                .for_each(|cpus| self.build.set_cpus(task, cpus));
            (submit.memory().into_iter()).for_each(|bytes| self.build.set_memory(task, bytes));
            (submit.scratch().into_iter()).for_each(|bytes| self.build.set_scratch(task, bytes));
            if let Some(seconds) = submit.time_limit() {
                let set = self.build.set_time_limit(task, seconds);
                set.expect("it is finite and above zero");
            }
        }
        if let Some(category) = scope.category_of(index, &name[..at.prefix]) {
            self.build.add_pool(task, &category, 1);
        }
    }

    fn leave(&mut self, scope: &Scope, prefix: &str) {
        let base = self.bases.pop().expect("every scope is entered");
        for (category, limit) in &scope.limits {
            let category = whole_category(category, prefix);
            self.build.set_pool_limit(&category, *limit);
        }
        for &(parent, child, mark) in &scope.arcs {
            let arc = self.build.arc_at(
                self.tasks[base + parent as usize],
                self.tasks[base + child as usize],
                mark,
            );
            debug_assert!(
                arc.is_ok() || self.report.errors() > 0,
                "self-loops were refused before"
            );
        }
        // After all tasks of the splices: what the outer file says of them outweighs what they say.
        for &(number, setting) in &scope.nested {
            let task = self.tasks[base + number as usize];
            match setting {
                Setting::Priority(value) => self.build.set_priority(task, value.into()),
                Setting::Retries(times) => self.build.set_retries(task, times),
                Setting::Done => self.build.set_done(task),
            }
        }
    }
}
