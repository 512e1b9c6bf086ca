//! What the nodes of a DAGMan workflow run on one machine without HTCondor, and what cannot be run so. Runs nothing.
//!
//! A node runs the executable of its submit description with its arguments in its directory: no scratch directory is made,
//! and no file is transferred. All is checked before anything runs: every submit file is read, and every macro replaced.

use super::files::Load;
use super::read::{ScopeVariables, variables};
use super::scope::*;
use super::script::{Composed, Script};
use super::statement::{Description, NodeKind, Statement, When};
use super::submit::{Program, Submit, Trouble};
use super::ties::is_all_nodes;
use super::workflow::{Site, Workflow};
use crate::jobs::{AbortOn, Fingerprint, Job, Run};
use crate::{Limits, Place, Report, Source};
use cairn_dag::{Flow, TaskId};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

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

/// What one file says of its nodes.
#[derive(Clone, Debug, Default)]
struct ScopeNodes {
    directory: PathBuf,
    variables: ScopeVariables,
    all: Details,
    /// By entry.
    own: HashMap<u32, Details>,
}

/// What lines beside `JOB` say of a node, each with the position of its line: the last one counts.
#[derive(Clone, Debug, Default)]
struct Details {
    pre: Option<(u32, Box<str>)>,
    post: Option<(u32, Box<str>)>,
    pre_skip: Option<(u32, i32)>,
    never_retry_on: Option<(u32, Option<i32>)>,
    abort_on: Option<(u32, AbortOn)>,
    directory: Option<Box<str>>,
    noop: bool,
}

/// The later of what is said of a node and of all nodes.
fn later<'d, T: Clone + 'd>(
    own: Option<&'d Details>,
    all: &'d Details,
    get: impl Fn(&'d Details) -> &'d Option<(u32, T)>,
) -> Option<T> {
    let own = own.and_then(|own| get(own).as_ref());
    let all = get(all).as_ref();
    let latest = match (own, all) {
        (Some(own), Some(all)) if all.0 > own.0 => Some(all),
        (own, all) => own.or(all),
    };
    latest.map(|(_, value)| value.clone())
}

impl Nodes {
    /// What the tasks of `flow`, which was read from `source`, run. `None` when something cannot be run: the report then
    /// says what, where, and what to do.
    pub(crate) fn of(source: &Source, flow: &Flow, report: &mut Report) -> Option<Nodes> {
        let errors = report.errors();
        let limits = Limits::default();
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
        let mut layout = Layout {
            flow,
            workflow: &workflow,
            nodes: Nodes {
                submits: Vec::new(),
                scopes,
                places: vec![None; flow.dag().len()],
            },
            known: HashMap::new(),
            checked: HashSet::new(),
        };
        let top = Rc::clone(&workflow.top);
        layout.place(&top, &mut String::new(), &mut Vec::new(), report);
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
                "cluster" | "clusterid" => (task.index() + 1).to_string(),
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
        match self.program(flow, task, place, 0, &RefCell::default()) {
            Ok(None) => print.text("noop", ""),
            Err(trouble) => print.text("trouble", &trouble.to_string()),
            Ok(Some(program)) => {
                print.text("executable", &program.executable);
                for argument in &program.arguments {
                    print.text("argument", argument);
                }
                for (name, value) in &program.environment {
                    print.text("variable", name);
                    print.text("value", value);
                }
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
        (false, Some(_)) => match std::path::absolute(&path) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(_) => executable.clone(),
        },
        (false, None) if executable.contains('/') => executable.clone(),
        (false, None) => format!("./{executable}"),
    }
}

fn keyword(workflow: &Workflow<'_>, site: Site) -> String {
    let source = workflow.files.source(site.file);
    let text = &source.text()[site.span.start..site.span.end];
    text.split_whitespace()
        .next()
        .unwrap_or("")
        .to_ascii_uppercase()
}

impl ScopeNodes {
    /// Takes what a statement says of nodes, or refuses it.
    fn take(
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
            Statement::Node { kind, name, .. } if *kind != NodeKind::Job => {
                let (what, help) = match kind {
                    NodeKind::Subdag => {
                        ("a SUBDAG", "run the inner workflow by itself, or SPLICE it")
                    }
                    NodeKind::Final => ("a FINAL node", "run what it does after the workflow"),
                    NodeKind::Provisioner => {
                        ("a PROVISIONER", "declare it with JOB, before all others")
                    }
                    _ => (
                        "a SERVICE",
                        "start it before the workflow, and leave the line out",
                    ),
                };
                return refuse(format!("'{name}' is {what}, which is not run here"), help);
            }
            Statement::Node {
                name,
                directory,
                noop,
                description,
                done: false,
                ..
            } => {
                let entry = match scope.find(name) {
                    Some(Found::Own(entry)) => entry as u32,
                    _ => return,
                };
                let ends_as_dag =
                    matches!(description, Description::Named(f) if f.ends_with(".condor.sub"));
                if ends_as_dag {
                    let help = "run the inner workflow by itself, or SPLICE it";
                    return refuse(
                        format!("'{name}' is a nested dag, which is not run here"),
                        help,
                    );
                }
                if directory.is_some() || *noop {
                    let own = self.own.entry(entry).or_default();
                    own.directory = directory.as_deref().map(Box::from);
                    own.noop = *noop;
                }
                return;
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
}

/// Where a description comes from, so that it is read once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Named(usize, Box<str>),
    File(PathBuf),
}

/// The number of a description, and the file that it is.
type Described = (u32, Option<Rc<Source>>);

/// Gives every task its description.
struct Layout<'w, 'l> {
    flow: &'w Flow,
    workflow: &'w Workflow<'l>,
    nodes: Nodes,
    /// By origin: the description, or none where it could not be read; and the file.
    known: HashMap<Origin, Option<Described>>,
    /// Descriptions whose lines were checked, and macros that were warned of.
    checked: HashSet<(u32, String)>,
}

impl Layout<'_, '_> {
    fn place(
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
        if self.checked.insert((submit, String::new())) {
            let here = at_node(self, report);
            self.check(place, submit, file.as_deref(), here, report);
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

    /// Refuses descriptions that cannot be run here, and warns of lines that mean nothing.
    fn check(
        &self,
        place: NodePlace,
        submit: u32,
        file: Option<&Source>,
        node: Place,
        report: &mut Report,
    ) {
        let submit = &self.nodes.submits[submit as usize];
        let scope = &self.nodes.scopes[place.scope as usize];
        let variables =
            |key: &str, append: bool| scope.variables.get(place.entry as usize, key, append);
        let at = |line: Option<u32>| match (file, line) {
            (Some(file), Some(line)) => file.place_of_line(line),
            (Some(file), None) => file.place(),
            (None, _) => node.clone(),
        };
        for (line, text) in &submit.foreign {
            let message = format!("'{text}' is not understood in a submit description");
            let help = "write it out as lines of the form 'key = value'";
            report.error(at(Some(*line)), message, help);
        }
        match &submit.queues[..] {
            [] if file.is_some() => {
                let message = "there is no 'queue' in this submit description";
                report.error(at(None), message, "add a line 'queue' at its end");
            }
            [] => {}
            [(_, count)] if matches!(&count[..], "" | "1") => {}
            [.., (line, _)] => {
                let message = "a node that queues several jobs is not run here";
                let help = "let 'queue' stand there once and alone, and write a node for each job";
                report.error(at(Some(*line)), message, help);
            }
        }
        let value = |key: &str| {
            let value = submit.value(key, &variables)?;
            Some(value.trim_matches('"').trim().to_owned()).filter(|v| !v.is_empty())
        };
        let mut refuse = |key: &str, message: String, help: &str| {
            report.error(at(submit.line_of(key)), message, help);
        };
        if let Some(universe) = value("universe") {
            const HERE: [&str; 6] = ["vanilla", "local", "scheduler", "5", "7", "12"];
            if !HERE.contains(&&*universe.to_ascii_lowercase()) {
                let message = format!("jobs of the universe '{universe}' are not run here");
                refuse(
                    "universe",
                    message,
                    "only vanilla, local and scheduler jobs are",
                );
            }
        }
        for key in ["docker_image", "container_image"] {
            if value(key).is_some() {
                let help = "run the container by name: executable = /usr/bin/podman";
                refuse(key, format!("'{key}': no container is started here"), help);
            }
        }
        let is_on = |key| value(key).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        if is_on("hold") {
            refuse(
                "hold",
                "a job that begins on hold is not run here".to_owned(),
                "remove 'hold'",
            );
        }
        if value("success_exit_code").is_some_and(|code| code != "0") {
            let help = "let a POST script decide what counts as success";
            refuse(
                "success_exit_code",
                "success_exit_code is not kept here".to_owned(),
                help,
            );
        }
        let transfers =
            !value("should_transfer_files").is_some_and(|v| v.eq_ignore_ascii_case("no"));
        for key in ["transfer_output_remaps", "output_destination"] {
            if transfers && value(key).is_some() {
                let message = format!("'{key}': files stay where the job writes them");
                refuse(
                    key,
                    message,
                    "let the job write its output where it belongs",
                );
            }
        }
        let mut elsewhere = false;
        for key in ["transfer_input_files", "transfer_output_files"] {
            let files = value(key).filter(|_| transfers).unwrap_or_default();
            if files.contains("://") {
                let message = format!("'{key}' names a URL, and nothing is transferred here");
                refuse(
                    key,
                    message,
                    "fetch it in a node of its own, or in a PRE script",
                );
            }
            elsewhere |= files.contains('/');
        }
        if elsewhere {
            let message = "files in other directories are not brought to the job: it runs where it is submitted";
            let help =
                "name them by their paths in the arguments, or use should_transfer_files = NO";
            report.warning(at(submit.line_of("transfer_input_files")), message, help);
        }
        const IGNORED: [&str; 14] = [
            "requirements",
            "rank",
            "concurrency_limits",
            "max_retries",
            "retry_until",
            "deferral_time",
            "periodic_remove",
            "periodic_hold",
            "periodic_release",
            "on_exit_remove",
            "on_exit_hold",
            "request_gpus",
            "require_gpus",
            "cron_minute",
        ];
        let ignored = IGNORED.into_iter().filter(|key| submit.get(key).is_some());
        let ignored: Vec<&str> = ignored.collect();
        if let Some(first) = ignored.first() {
            let message = format!(
                "without HTCondor these have no effect: {}",
                ignored.join(", ")
            );
            let help = "nothing needs to be done if the job runs on any machine";
            report.warning(at(submit.line_of(first)), message, help);
        }
        let list = value("getenv").unwrap_or_default().to_ascii_lowercase();
        if !matches!(
            &*list,
            "" | "true" | "t" | "yes" | "1" | "false" | "f" | "no" | "0"
        ) {
            let message = "getenv with a list of names takes the whole environment here";
            let help = "write 'getenv = true', or name the variables in 'environment'";
            report.warning(at(submit.line_of("getenv")), message, help);
        }
    }
}
