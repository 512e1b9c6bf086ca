//! What is to be run: for each task a program with its arguments, or a line for the shell, and all that belongs to it.
//! Runs nothing, and knows nothing of schedules.
//!
//! [`Jobs::of`] checks a whole workflow before anything starts; [`Jobs::job`] makes one task's [`Job`] when asked, so that
//! a million tasks cost no more than the flow they are in.
//!
//! Flow files, WfFormat, Makeflow, DOT and TASK/EDGE lists have command lines. One that needs no shell is cut into
//! [`Run::Words`]; every other one goes through `sh -c`. What Makeflow exports is in the environment. Pegasus and DAGMan name
//! programs instead: see `docs/guide.md`.
//!
//! ```
//! use cairn_formats::{Format, Jobs, Report, Run, Source};
//! use std::sync::Arc;
//! let text = "[[task]]\nname = 'a'\nrun = 'sort -u words'\n[[task]]\nname = 'b'\nrun = 'wc < words'\n";
//! let source = Source::from_text("f.toml", text);
//! let mut report = Report::default();
//! let (format, flow) = cairn_formats::read(&source, None, &mut report).unwrap();
//! let [a, b] = ["a", "b"].map(|name| flow.find(name).unwrap());
//! let jobs = Jobs::of(&source, format, Arc::new(flow), None, &mut report).unwrap();
//! assert_eq!(jobs.job(a).run, Run::Words(vec!["sort".into(), "-u".into(), "words".into()]));
//! assert_eq!(jobs.job(b).run, Run::Shell("wc < words".into()));
//! ```

mod fingerprint;
mod pegasus;
mod plain;
mod template;

pub use template::{Template, TemplateError};

use crate::{Cure, Format, Report, Source, dagman, makeflow};
use cairn_dag::{Flow, TaskId};
pub(crate) use fingerprint::Fingerprint;
use pegasus::Programs;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// How a task is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run<'a> {
    /// A program and its arguments, without a shell. A program without a slash is looked up in `PATH`.
    ///
    /// To be the same as `sh`: where the program is not found the exit code is 127, where it cannot be executed 126, and a
    /// file that is no program (`ENOEXEC`) is a script for `sh`.
    Words(Vec<Cow<'a, str>>),
    /// A line for `sh -c`.
    Shell(Cow<'a, str>),
    /// Nothing at all: the task is executed as soon as it is started.
    Nothing,
}

/// What one task runs, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// The program or line.
    pub run: Run<'a>,
    /// Variables of its environment, on top of those that it inherits. Of equal names the last one counts.
    pub environment: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Whether it gets the environment of whoever runs it.
    pub inherits_environment: bool,
    /// Where it runs; a relative one counts from the directory of whoever runs it, and none is that directory.
    pub directory: Option<Cow<'a, Path>>,
    /// What it reads; a relative path counts from `directory`.
    pub stdin: Option<Cow<'a, Path>>,
    /// Where its output goes; a relative path counts from `directory`.
    pub stdout: Option<Cow<'a, Path>>,
    /// Where its errors go; a relative path counts from `directory`. May be the same file as `stdout`.
    pub stderr: Option<Cow<'a, Path>>,
    /// How often to try again after a failure.
    pub retries: u32,
    /// The exit code after which it is not tried again.
    pub never_retry_on: Option<i32>,
    /// The exit code that ends the whole run.
    pub abort_on: Option<AbortOn>,
}

/// When a task ends the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortOn {
    /// The task's exit code.
    pub exit: i32,
    /// The exit code that the run has then.
    pub returned: i32,
}

impl<'a> Job<'a> {
    pub(crate) fn new(run: Run<'a>, retries: u32) -> Job<'a> {
        Job {
            run,
            environment: Vec::new(),
            inherits_environment: true,
            directory: None,
            stdin: None,
            stdout: None,
            stderr: None,
            retries,
            never_retry_on: None,
            abort_on: None,
        }
    }

    /// The job that runs a command line.
    pub fn of_line(line: impl Into<Cow<'a, str>>) -> Job<'a> {
        Job::new(run_of_line(line.into()), 0)
    }
}

/// A command line as words, where that is the same as giving it to the shell.
fn run_of_line(line: Cow<'_, str>) -> Run<'_> {
    match line {
        // Borrowed where the flow has it: a million tasks cost no copies.
        Cow::Borrowed(line) => match plain::words(line) {
            Some(words) => Run::Words(words.map(Cow::Borrowed).collect()),
            None => Run::Shell(Cow::Borrowed(line)),
        },
        Cow::Owned(line) => {
            let owned = |word: &str| Cow::Owned(word.to_owned());
            let words = plain::words(&line).map(|words| words.map(owned).collect());
            words.map_or_else(|| Run::Shell(Cow::Owned(line)), Run::Words)
        }
    }
}

/// What every task of a workflow runs.
#[derive(Clone, Debug)]
pub struct Jobs {
    flow: Arc<Flow>,
    what: What,
    /// Variables that Makeflow exports, by task.
    exported: Arc<HashMap<TaskId, Vec<(String, String)>>>,
}

/// Where commands come from.
#[derive(Clone, Debug)]
enum What {
    /// Tasks have command lines, and those that have none a template.
    Lines(Option<Template>),
    /// A template stands for all.
    Template(Template),
    /// DAGMan's descriptions.
    Nodes(Arc<dagman::Nodes>),
    /// Pegasus' transformations.
    Programs(Arc<Programs>),
}

impl Jobs {
    /// What the tasks of `flow`, which was read from `source` in `format`, run. `None` when something cannot be run: the
    /// report then holds an error for each such thing, with its place and a cure. Tasks that are executed already need no
    /// command. A task without a command runs `template`; in DAGMan, Pegasus and Taskcluster
    /// workflows, whose commands are not lines, every task does.
    ///
    /// O(tasks), and for DAGMan the submit files, each of which is read once.
    pub fn of(
        source: &Source,
        format: Format,
        flow: Arc<Flow>,
        template: Option<Template>,
        report: &mut Report,
    ) -> Option<Jobs> {
        // All that is wrong is told before the first task starts, not hours later at the task that has it.
        let before = report.errors();
        if let Some(template) = &template {
            template.check(&["name"], source.place(), report);
        }
        let what = match (format, template) {
            (
                Format::Dagman | Format::Dax | Format::PegasusYaml | Format::Taskcluster,
                Some(template),
            ) => What::Template(template),
            (Format::Dagman, None) => {
                What::Nodes(Arc::new(dagman::Nodes::of(source, &flow, report)?))
            }
            (Format::Dax | Format::PegasusYaml, None) => {
                let programs = Programs::of(source, format, &flow, report)?;
                What::Programs(Arc::new(programs))
            }
            (Format::Taskcluster, None) => {
                let message = "the commands of a Taskcluster graph run in its own images, not here";
                report.error(
                    source.place(),
                    message,
                    "give a command that stands for them",
                );
                report.cured_by(Cure::GiveCommand);
                return None;
            }
            (_, template) => What::Lines(template),
        };
        // A second reading, for what no flow holds; only where somebody runs it.
        let mut exported = HashMap::new();
        if format == Format::Makeflow {
            let by_name = makeflow::environments(source).into_iter();
            // A rule whose task was left out of the flow, as executed, has nobody to give it to.
            exported.extend(by_name.filter_map(|(name, pairs)| Some((flow.find(&name)?, pairs))));
        }
        let jobs = Jobs {
            flow,
            what,
            exported: Arc::new(exported),
        };
        jobs.find_missing(source, report);
        (report.errors() == before).then_some(jobs)
    }

    /// Reports the tasks that have nothing to run.
    fn find_missing(&self, source: &Source, report: &mut Report) {
        if !matches!(self.what, What::Lines(None)) {
            return;
        }
        let flow = &*self.flow;
        let missing = |&task: &TaskId| flow.command(task).is_none() && !flow.is_done(task);
        let mut missing = flow.dag().tasks().filter(missing);
        let Some(first) = missing.next() else {
            return;
        };
        let more = match missing.count() {
            0 => String::new(),
            n => format!(", nor have {n} more"),
        };
        let message = format!("task '{}' has no command to run{more}", flow.name(first));
        let help = "give it one in the workflow, or one that stands for all that have none";
        report.error(source.place(), message, help);
        report.cured_by(Cure::GiveCommand);
    }

    /// The flow whose tasks these are.
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// What the task runs at its first attempt. A task without a command, which may be one that is executed already, runs
    /// nothing.
    ///
    /// # Panics
    /// If the flow has no such task.
    pub fn job(&self, task: TaskId) -> Job<'_> {
        self.attempt(task, 0)
    }

    /// What the task runs at its attempt number `retry`, counted from 0: in DAGMan files the number is part of what may be
    /// said.
    ///
    /// # Panics
    /// If the flow has no such task.
    pub fn attempt(&self, task: TaskId, retry: u32) -> Job<'_> {
        if let What::Nodes(nodes) = &self.what {
            return nodes.job(&self.flow, task, retry);
        }
        let retries = self.flow.retries(task).unwrap_or(0);
        if let What::Programs(programs) = &self.what {
            return programs.job(task, retries);
        }
        let run = match self.line(task) {
            Some(line) => run_of_line(line),
            None => Run::Nothing,
        };
        let mut job = Job::new(run, retries);
        let pairs = self.exported.get(&task).into_iter().flatten();
        job.environment = pairs
            .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
            .collect();
        job
    }

    /// The command line of a task that has one.
    fn line(&self, task: TaskId) -> Option<Cow<'_, str>> {
        let command = self.flow.command(task);
        let (command, template) = match &self.what {
            What::Lines(template) => (command, template.as_ref()),
            What::Template(template) => (None, Some(template)),
            What::Nodes(_) | What::Programs(_) => (None, None),
        };
        command.map(Cow::Borrowed).or_else(|| {
            let value = |key: &str| (key == "name").then(|| self.flow.name(task));
            template.map(|template| Cow::Owned(template.filled(value)))
        })
    }

    /// A number that changes when what the task runs does: program and arguments or line, environment, directory, files
    /// that it reads and writes by redirection. Not what only tells when or how often it runs. The same on every machine
    /// and in every version.
    ///
    /// # Panics
    /// If the flow has no such task.
    pub fn fingerprint(&self, task: TaskId) -> [u8; 16] {
        let mut print = Fingerprint::default();
        match (&self.what, self.line(task)) {
            (What::Nodes(nodes), _) => nodes.fingerprint(&self.flow, task, &mut print),
            (What::Programs(programs), _) => programs.fingerprint(task, &mut print),
            // The line as it is: how it is started, with or without a shell, may change.
            (_, Some(line)) => print.text("line", &line),
            (_, None) => print.text("nothing", ""),
        }
        for (name, value) in self.exported.get(&task).into_iter().flatten() {
            print.text("variable", name);
            print.text("value", value);
        }
        print.done()
    }
}

#[cfg(test)]
mod tests;
