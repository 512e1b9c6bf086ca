//! What the lines of a DAGMan file say of its nodes beside `JOB`, and which of them cannot be kept here. Runs nothing.

use super::super::read::ScopeVariables;
use super::super::scope::{Found, Scope};
use super::super::statement::{Description, NodeKind, Statement, When};
use super::super::ties::is_all_nodes;
use super::super::workflow::{Site, Workflow};
use crate::Report;
use crate::jobs::AbortOn;
use hashbrown::HashMap;
use std::path::PathBuf;

/// What one file says of its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeNodes {
    pub(super) directory: PathBuf,
    pub(super) variables: ScopeVariables,
    pub(super) all: Details,
    /// By entry.
    pub(super) own: HashMap<u32, Details>,
}

/// What lines beside `JOB` say of a node, each with the position of its line: the last one counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    pub(super) pre: Option<(u32, Box<str>)>,
    pub(super) post: Option<(u32, Box<str>)>,
    pub(super) pre_skip: Option<(u32, i32)>,
    pub(super) never_retry_on: Option<(u32, Option<i32>)>,
    pub(super) abort_on: Option<(u32, AbortOn)>,
    pub(super) directory: Option<Box<str>>,
    pub(super) noop: bool,
}

/// The later of what is said of a node and of all nodes.
pub(super) fn later<'d, T: Clone + 'd>(
    own: Option<&'d Details>,
    all: &'d Details,
    get: impl Fn(&'d Details) -> &'d Option<(u32, T)>,
) -> Option<T> {
    let own = own.and_then(|own| get(own).as_ref());
    let all = get(all).as_ref();
    let latest = match (own, all) {
        // The later line wins in DAGMan, whether it names the node or all of them.
        (Some(own), Some(all)) if all.0 > own.0 => Some(all),
        (own, all) => own.or(all),
    };
    latest.map(|(_, value)| value.clone())
}

/// The first word of a statement.
pub(super) fn keyword(workflow: &Workflow<'_>, site: Site) -> String {
    let source = workflow.files.source(site.file);
    let text = &source.text()[site.span.start..site.span.end];
    text.split_whitespace()
        .next()
        .unwrap_or("")
        .to_ascii_uppercase()
}

impl ScopeNodes {
    /// Takes what a statement says of nodes, or refuses it.
    pub(super) fn take(
        &mut self,
        scope: &Scope,
        workflow: &Workflow<'_>,
        site: Site,
        position: u32,
        statement: &Statement<'_>,
        report: &mut Report,
    ) {
        let mut refuse = |message: String, help: &str| {
            workflow.error(site, message, help, report);
        };
        let node = match statement {
            Statement::Node { .. } => {
                return self
                    .take_node(scope, statement)
                    .unwrap_or_else(|(message, help)| refuse(message, help));
            }
            Statement::Script { node, .. }
            | Statement::AbortDagOn { node, .. }
            | Statement::PreSkip { node, .. }
            | Statement::Retry { node, .. }
            | Statement::OfNode { node } => node,
            Statement::Reject => {
                let help = "remove the line REJECT if the workflow is to be run";
                return refuse("the workflow is marked REJECT".to_owned(), help);
            }
            _ => return,
        };
        let details = match scope.find(node) {
            Some(Found::Own(entry)) => self.own.entry(entry as u32).or_default(),
            None if is_all_nodes(node) => &mut self.all,
            _ => return,
        };
        match statement {
            Statement::Script {
                when: When::Hold, ..
            } => {
                let help = "no job is held here: remove the line";
                refuse("SCRIPT HOLD is not run here".to_owned(), help);
            }
            Statement::Script { deferred: true, .. } => {
                let help = "let the script wait by itself, or take DEFER away";
                refuse("SCRIPT DEFER is not run here".to_owned(), help);
            }
            Statement::Script { when, command, .. } => {
                let script = Some((position, Box::from(&**command)));
                match when {
                    When::Pre => details.pre = script,
                    _ => details.post = script,
                }
            }
            Statement::AbortDagOn { exit, returned, .. } => {
                let abort = AbortOn {
                    exit: *exit,
                    // Without RETURN the run ends with the node's own exit code.
                    returned: returned.unwrap_or(*exit),
                };
                details.abort_on = Some((position, abort));
            }
            Statement::PreSkip { exit, .. } => details.pre_skip = Some((position, *exit)),
            Statement::Retry { unless_exit, .. } => {
                details.never_retry_on = Some((position, *unless_exit));
            }
            _ => {
                let keyword = keyword(workflow, site);
                match &*keyword.replace('-', "_") {
                    "TOLERANCE" => {
                        let help = "let a POST script decide which failures count";
                        refuse("TOLERANCE is not kept here".to_owned(), help);
                    }
                    _ => {
                        let help = "remove the line to be rid of this";
                        let message = format!("{keyword} has no effect here");
                        workflow.warning(site, message, help, report);
                    }
                }
            }
        }
    }

    /// Takes what a `JOB` line says beside its description, or tells why the node is not run here, and what to do.
    fn take_node(
        &mut self,
        scope: &Scope,
        statement: &Statement<'_>,
    ) -> Result<(), (String, &'static str)> {
        let Statement::Node {
            kind,
            name,
            directory,
            noop,
            description,
            done,
            ..
        } = statement
        else {
            return Ok(());
        };
        let inner = "run the inner workflow by itself, or SPLICE it";
        let is_a =
            |what: &str, help| Err((format!("'{name}' is {what}, which is not run here"), help));
        match kind {
            NodeKind::Job => {}
            NodeKind::Subdag => return is_a("a SUBDAG", inner),
            NodeKind::Final => {
                return is_a("a FINAL node", "run what it does after the workflow");
            }
            NodeKind::Provisioner => {
                return is_a("a PROVISIONER", "declare it with JOB, before all others");
            }
            _ => {
                let help = "start it before the workflow, and leave the line out";
                return is_a("a SERVICE", help);
            }
        }
        // What is done is not run, so nothing about it need be refused.
        let Some(Found::Own(entry)) = scope.find(name).filter(|_| !done) else {
            return Ok(());
        };
        if matches!(description, Description::Named(f) if f.ends_with(".condor.sub")) {
            return is_a("a nested dag", inner);
        }
        if directory.is_some() || *noop {
            let own = self.own.entry(entry as u32).or_default();
            own.directory = directory.as_deref().map(Box::from);
            own.noop = *noop;
        }
        Ok(())
    }
}
