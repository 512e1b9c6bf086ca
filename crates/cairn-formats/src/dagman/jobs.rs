//! What the nodes of a DAGMan workflow run on one machine without HTCondor, and what cannot be run so. Runs nothing.
//!
//! A node runs the executable of its submit description with its arguments in its directory: no scratch directory is made,
//! and no file is transferred. All is checked before anything runs: every submit file is read, and every macro replaced.

mod details;
mod layout;
mod unfit;

use self::details::{Details, ScopeNodes, keyword, later};
use self::layout::Layout;
use super::files::Load;
use super::read::variables;
use super::script::{Composed, Script};
use super::statement::{Statement, When};
use super::submit::{Program, Submit, Trouble};
use super::workflow::Workflow;
use crate::jobs::{Fingerprint, Job, Run};
use crate::{ReadLimits, Report, Source};
use cairn_dag::{Flow, TaskId};
use hashbrown::HashSet;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// What every node of a workflow runs.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    submits: Vec<Submit>,
    scopes: Vec<ScopeNodes>,
    /// By task of the flow; nothing for one that is executed already.
    places: Vec<Option<NodePlace>>,
}

/// Where a node is described.
#[derive(Clone, Copy, Debug)]
struct NodePlace {
    scope: u32,
    entry: u32,
    /// Its description; none for a node whose job is not to be run.
    submit: Option<u32>,
}

impl Nodes {
    /// What the tasks of `flow`, which was read from `source`, run. `None` when something cannot be run: the report then
    /// says what, where, and what to do.
    pub(crate) fn of(source: &Source, flow: &Flow, report: &mut Report) -> Option<Nodes> {
        // Everything is checked before anything runs: the report has all that cannot be run, not the first of it.
        let errors = report.errors();
        let limits = ReadLimits::default();
        let load: &mut Load<'_> = &mut |path: &Path, report: &mut Report| {
            Source::load_named_by_file(path, &limits, report)
        };
        let mut workflow = Workflow::open(source, load, report)?;
        let variables = variables(&mut workflow);
        let mut scopes = Vec::new();
        let mut said = HashSet::new();
        for (root, variables) in workflow.roots.clone().into_iter().zip(variables) {
            let mut nodes = ScopeNodes {
                directory: root.directory.clone(),
                variables,
                ..ScopeNodes::default()
            };
            let mut position = 0;
            workflow.walk_again(&root, &mut |workflow, site, statement| {
                position += 1;
                // By position: of two lines for one node the later one counts, also where one of them is for all
                // nodes.
                nodes.take(&root.scope, workflow, site, position, &statement, report);
                let keyword = keyword(workflow, site);
                if matches!(statement, Statement::OfRun) && said.insert(keyword.clone()) {
                    let help = "it is HTCondor's own; remove the line to be rid of this";
                    let message = format!("{keyword} has no effect here");
                    workflow.warning(site, message, help, report);
                }
            });
            scopes.push(nodes);
        }
        let mut layout = Layout::new(flow, &workflow, scopes);
        layout.place_all(report);
        (report.errors() == errors).then_some(layout.nodes)
    }

    /// What a task runs at its attempt `retry`, counted from 0.
    pub(crate) fn job<'a>(&'a self, flow: &'a Flow, task: TaskId, retry: u32) -> Job<'a> {
        let retries = flow.retries(task).unwrap_or(0);
        let Some(place) = self.places[task.index()] else {
            return Job::new(Run::Nothing, retries);
        };
        let mut job = match self.started(flow, task, place, retry) {
            Ok(job) => job,
            // It was checked before: only the number of the attempt can make a difference.
            Err(trouble) => {
                // As a task that fails, and not as an error here: the others of the workflow can still run.
                let mut line = "printf '%s\\n'".to_owned();
                crate::shell::push_word(&mut line, &trouble.to_string());
                Job::new(Run::Shell(Cow::Owned(line + " >&2; exit 127")), 0)
            }
        };
        let (own, all) = self.details(place);
        job.retries = retries;
        job.never_retry_on = later(own, all, |d| &d.never_retry_on).flatten();
        job.abort_on = later(own, all, |d| &d.abort_on);
        job
    }

    fn details(&self, place: NodePlace) -> (Option<&Details>, &Details) {
        let scope = &self.scopes[place.scope as usize];
        (scope.own.get(&place.entry), &scope.all)
    }

    fn directory(&self, place: NodePlace) -> PathBuf {
        let scope = &self.scopes[place.scope as usize];
        match scope
            .own
            .get(&place.entry)
            .and_then(|d| d.directory.as_ref())
        {
            Some(below) => scope.directory.join(&**below),
            None => scope.directory.clone(),
        }
    }

    fn program(
        &self,
        flow: &Flow,
        task: TaskId,
        place: NodePlace,
        retry: u32,
        undefined: &RefCell<Vec<String>>,
    ) -> Result<Option<Program>, Trouble> {
        let Some(submit) = place.submit else {
            return Ok(None);
        };
        let scope = &self.scopes[place.scope as usize];
        let variables =
            |key: &str, append: bool| scope.variables.get(place.entry as usize, key, append);
        let known = |key: &str| {
            Some(match key {
                "job" | "node" | "dagnodename" => flow.name(task).to_owned(),
                "retry" => retry.to_string(),
                // HTCondor counts clusters from 1; here the number of the task stands for it, so that files named by
                // it differ.
                "cluster" | "clusterid" => (task.index() + 1).to_string(),
                // One job a node is all that is run here, see `unfit`.
                "process" | "procid" | "step" | "row" | "itemindex" => "0".to_owned(),
                "dag_status" | "failed_count" => "0".to_owned(),
                _ => return None,
            })
        };
        let submit = &self.submits[submit as usize];
        submit.program(&variables, &known, undefined).map(Some)
    }

    fn started<'a>(
        &'a self,
        flow: &'a Flow,
        task: TaskId,
        place: NodePlace,
        retry: u32,
    ) -> Result<Job<'a>, Trouble> {
        // Undefined macros were told when all was checked.
        let program = self.program(flow, task, place, retry, &RefCell::default())?;
        let (own, all) = self.details(place);
        let script = |when: When| {
            let text = match when {
                When::Pre => later(own, all, |d| &d.pre),
                _ => later(own, all, |d| &d.post),
            };
            text.map(|text| Script::new(&text))
        };
        let (pre, post) = (script(When::Pre), script(When::Post));
        let directory = self.directory(place);
        let below = |program: &Program| program.directory.clone();
        let path = |text: Option<String>| text.map(|t| Cow::Owned(PathBuf::from(t)));
        if pre.is_none() && post.is_none() {
            let Some(program) = program else {
                return Ok(Job::new(Run::Nothing, 0));
            };
            let first = located(&program, &directory);
            // Without a shell: arguments were cut by HTCondor's rules, and no character in them means anything more.
            let words = [first].into_iter().chain(program.arguments.clone());
            let mut job = Job::new(Run::Words(words.map(Cow::Owned).collect()), 0);
            let directory = match below(&program) {
                Some(below) => directory.join(below),
                None => directory,
            };
            job.directory = some_path(directory);
            let owned = |(name, value)| (Cow::Owned(name), Cow::Owned(value));
            job.environment = program.environment.into_iter().map(owned).collect();
            job.inherits_environment = program.inherits_environment;
            job.stdin = path(program.input);
            job.stdout = path(program.output);
            job.stderr = path(program.error);
            return Ok(job);
        }
        let program = program.map(|mut program| {
            program.executable = located(&program, &directory);
            program
        });
        let composed = Composed {
            node: flow.name(task),
            retry,
            retries: flow.retries(task).unwrap_or(0),
            cluster: task.index() + 1,
            pre,
            pre_skip: later(own, all, |d| &d.pre_skip),
            program,
            post,
        };
        let mut job = Job::new(Run::Shell(Cow::Owned(composed.line())), 0);
        job.directory = some_path(directory);
        Ok(job)
    }

    /// All that makes a difference to what a task does, but not where the workflow lies.
    pub(crate) fn fingerprint(&self, flow: &Flow, task: TaskId, print: &mut Fingerprint) {
        let Some(place) = self.places[task.index()] else {
            return print.text("nothing", "");
        };
        let (own, all) = self.details(place);
        if let Some(directory) = own.and_then(|own| own.directory.as_ref()) {
            print.text("node directory", directory);
        }
        for (name, script) in [
            ("pre", later(own, all, |d| &d.pre)),
            ("post", later(own, all, |d| &d.post)),
        ] {
            if let Some(script) = script {
                print.text(name, &script);
            }
        }
        if let Some(exit) = later(own, all, |d| &d.pre_skip) {
            print.text("pre skip", &exit.to_string());
        }
        // Of the first attempt: the number of the attempt must not make a task look changed.
        match self.program(flow, task, place, 0, &RefCell::default()) {
            Ok(None) => print.text("noop", ""),
            Err(trouble) => print.text("trouble", &trouble.to_string()),
            Ok(Some(program)) => {
                let (arguments, environment) = (&program.arguments, &program.environment);
                print.program(&program.executable, arguments, environment);
                if program.inherits_environment {
                    print.text("inherits", "");
                }
                for (name, path) in [
                    ("directory", &program.directory),
                    ("input", &program.input),
                    ("output", &program.output),
                    ("error", &program.error),
                ] {
                    if let Some(path) = path {
                        print.text(name, path);
                    }
                }
            }
        }
    }
}

fn some_path<'a>(path: PathBuf) -> Option<Cow<'a, Path>> {
    (!path.as_os_str().is_empty()).then_some(Cow::Owned(path))
}

/// The executable as it is found from where the job runs: HTCondor takes it from the directory of the node, whatever the
/// job's own directory, and never from `PATH`.
fn located(program: &Program, directory: &Path) -> String {
    let executable = &program.executable;
    let path = directory.join(executable);
    match (Path::new(executable).is_absolute(), &program.directory) {
        (true, _) => executable.clone(),
        // The job starts in another directory, from which a relative path would not lead back.
        (false, Some(_)) => match std::path::absolute(&path) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(_) => executable.clone(),
        },
        (false, None) if executable.contains('/') => executable.clone(),
        (false, None) => format!("./{executable}"),
    }
}
