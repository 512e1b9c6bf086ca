//! What a DAGMan workflow says that a flow does not hold. Knows statements, in all files of the workflow.

use super::statement::{Description, NodeKind, Statement};
use super::submit::Submit;
use super::workflow::{Site, Workflow};
use crate::loss::Tally;
use crate::{Report, Source};
use cairn_dag::Flow;
use hashbrown::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Whether a key of a submit description makes the command or what it asks for.
fn is_held(submit: &Submit, key: &str) -> bool {
    match key {
        "executable" | "arguments" | "args" | "queue" => true,
        // An expression is not held.
        "request_cpus" => submit.cpus().is_some(),
        "request_memory" => submit.memory().is_some(),
        "request_disk" => submit.scratch().is_some(),
        "allowed_execute_duration" => submit.time_limit().is_some(),
        _ => false,
    }
}

/// Counts the tasks whose submit files or descriptions are left behind, statements by keyword, options of statements,
/// lines of submit descriptions, comments.
pub(crate) fn unheld(source: &Source, flow: &Flow, tally: &mut Tally) {
    for task in flow.dag().tasks() {
        if flow.command(task).is_none() {
            tally.add("submit files", "task", || flow.name(task).to_owned());
        }
    }
    let report = &mut Report::default();
    let load = &mut load;
    // It was read before; a file that was changed since is told by whoever reads it next.
    let Some(mut workflow) = Workflow::open(source, load, report) else {
        return;
    };
    let mut seen_files = HashSet::new();
    for root in workflow.roots.clone() {
        let mut bodies = Bodies::default();
        // A pass of its own: a `VARS` line may come before the description that uses it.
        workflow.walk_again(&root, &mut |_, _, statement| bodies.take(&statement));
        workflow.walk_again(&root, &mut |workflow, site, statement| {
            // An included file may be read several times: what it says is said once.
            if seen_files.insert((site.file, site.span.start)) {
                count(workflow, site, &statement, &bodies, tally);
            }
        });
    }
    for file in workflow.files.ids() {
        crate::unheld::comments(&workflow.files.source(file), "#", tally);
        crate::unheld::comments(&workflow.files.source(file), "//", tally);
    }
}

fn load(path: &Path, report: &mut Report) -> Option<Source> {
    Source::load_named_by_file(path, &crate::ReadLimits::default(), report)
}

/// The files that the source includes and splices.
pub(crate) fn files_of(source: &Source) -> Vec<PathBuf> {
    let load = &mut load;
    let workflow = Workflow::open(source, load, &mut Report::default());
    workflow.map_or(Vec::new(), |workflow| {
        let others = workflow.files.ids().skip(1);
        others
            .map(|file| workflow.files.path(file).to_owned())
            .collect()
    })
}

/// The submit descriptions in a scope: by node, and by their own names.
#[derive(Default)]
struct Bodies {
    of_nodes: HashMap<String, String>,
    named: HashMap<String, String>,
}

impl Bodies {
    fn take(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::Node {
                name, description, ..
            } => {
                let body = match description {
                    Description::Inline(body) => (*body).to_owned(),
                    // Marked by a character that no text here has, so that one map holds both kinds.
                    Description::Named(file) => format!("\0{file}"),
                };
                self.of_nodes.insert(name.to_string(), body);
            }
            Statement::SubmitDescription { name, body } => {
                self.named.insert(name.to_string(), (*body).to_owned());
            }
            _ => {}
        }
    }

    /// The description of a node, where the scope has it.
    fn of(&self, node: &str) -> Option<&str> {
        let body = self.of_nodes.get(node)?;
        match body.strip_prefix('\0') {
            Some(name) => self.named.get(name).map(String::as_str),
            None => Some(body),
        }
    }

    /// Whether the command of the node is made with this variable.
    fn uses(&self, node: &str, key: &str) -> bool {
        let key = key.to_ascii_lowercase();
        let uses = |body: &str| {
            let body = body.to_ascii_lowercase();
            body.contains(&format!("$({key})")) || body.contains(&format!("$({key}:"))
        };
        match node.eq_ignore_ascii_case("ALL_NODES") {
            true => self
                .of_nodes
                .keys()
                .all(|node| self.of(node).is_some_and(uses)),
            false => self.of(node).is_some_and(uses),
        }
    }
}

fn count(
    workflow: &Workflow<'_>,
    site: Site,
    statement: &Statement<'_>,
    bodies: &Bodies,
    tally: &mut Tally,
) {
    let source = workflow.files.source(site.file);
    let text = &source.text()[site.span.start..site.span.end];
    let place = || crate::unheld::at(&source, site.span.line);
    let keyword = text.split_whitespace().next().unwrap_or("");
    let keyword = keyword.to_ascii_uppercase().replace('-', "_");
    match statement {
        Statement::Node {
            kind,
            description,
            directory,
            noop,
            ..
        } => {
            if *kind != NodeKind::Job {
                tally.add(&keyword, "line", place);
            }
            let options = [("DIR", directory.is_some()), ("NOOP", *noop)];
            for (option, _) in options.iter().filter(|(_, given)| *given) {
                tally.add(&format!("{option} of a node"), "line", place);
            }
            if let Description::Inline(body) = description {
                description_lines(body, tally, &place);
            }
        }
        Statement::SubmitDescription { body, .. } => description_lines(body, tally, &place),
        Statement::Dependency { .. } if keyword == "WEAK" => tally.add("WEAK", "line", place),
        Statement::Retry {
            unless_exit: Some(_),
            ..
        } => tally.add("UNLESS-EXIT", "line", place),
        Statement::Vars { node, pairs, .. }
            if !pairs.iter().all(|(key, _)| bodies.uses(node, key)) =>
        {
            tally.add("VARS", "line", place);
        }
        Statement::Script { .. }
        | Statement::AbortDagOn { .. }
        | Statement::PreSkip { .. }
        | Statement::OfNode { .. }
        | Statement::OfRun
        | Statement::Reject => {
            tally.add(&keyword, "line", place);
        }
        _ => {}
    }
}

/// The lines of a submit description that no command is made of.
fn description_lines(body: &str, tally: &mut Tally, place: &dyn Fn() -> String) {
    let submit = Submit::parse(body);
    let mut keys: Vec<&str> = submit.keys().collect();
    keys.sort_unstable();
    let lower = body.to_ascii_lowercase();
    for key in keys {
        let is_macro = lower.contains(&format!("$({key})")) || lower.contains(&format!("$({key}:"));
        if !is_held(&submit, key) && !is_macro {
            tally.add(&format!("{key} in submit descriptions"), "line", place);
        }
    }
}
