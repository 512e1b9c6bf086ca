//! What is handed over: the tasks that are left, in the order of the plan, each as a script. Knows no engine.

use crate::{Made, script};
use cairn_dag::{Flow, TaskId, narrow, plain};
use cairn_formats::{AbortOn, Jobs};
use cairn_kernel::Rows;
use std::path::{Path, PathBuf};

/// Why a workflow cannot be handed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoverError {
    /// A node that DAGMan starts by itself, outside of the dag.
    #[error("'{0}' is a FINAL, SERVICE or PROVISIONER node, which only DAGMan itself can start")]
    Apart(String),
    /// A path that is no text.
    #[error("the path '{0}' is not UTF-8")]
    Path(String),
    /// A path that HTCondor would not read as it is.
    #[error(
        "the path '{0}' has a $ or a control character, which HTCondor's submit files do not take"
    )]
    Unspeakable(String),
}

/// Why a submission is of another workflow than the one that would go on with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherWorkflow {
    /// A task of the submission.
    #[error("this one has no task '{0}'")]
    Gone(String),
    /// A task that is not executed, and is in no submission.
    #[error("it has no task '{0}'")]
    New(String),
}

/// The order of a submission that is taken up again, whose tasks have these names; what it does not name was executed before it,
/// and comes last. Only what was left then is not executed now: what became of it is told by the submission.
///
/// # Errors
/// [`OtherWorkflow`].
pub fn taken_up(
    flow: &Flow,
    names: &[String],
    is_executed: &mut [bool],
) -> Result<Vec<TaskId>, OtherWorkflow> {
    let gone = |name: &String| OtherWorkflow::Gone(plain(name).to_string());
    let named = |name: &String| flow.find(name).ok_or_else(|| gone(name));
    let mut order: Vec<TaskId> = names.iter().map(named).collect::<Result<_, _>>()?;
    let mut is_named = vec![false; flow.dag().len()];
    order.iter().for_each(|task| is_named[task.index()] = true);
    for task in flow.dag().tasks().filter(|t| !is_named[t.index()]) {
        if !is_executed[task.index()] {
            return Err(OtherWorkflow::New(flow.shown(task).to_string()));
        }
        order.push(task);
    }
    for task in flow.dag().tasks() {
        is_executed[task.index()] = !is_named[task.index()];
    }
    Ok(order)
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Its name in the workflow: any text.
    pub name: String,
    /// What it runs, retries included: a script for a POSIX shell that needs no other directory and no other variables.
    pub script: String,
    /// The same without retries, for engines that try again by themselves.
    pub once: String,
    /// Places of its parents, all before its own, rising.
    pub parents: Vec<u32>,
    /// Processors.
    pub cpus: Option<u32>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Seconds that it takes, as far as is known.
    pub seconds: Option<f64>,
    /// Seconds after which an attempt has failed. The script sees to it by itself.
    pub time_limit: Option<f64>,
    /// How often to try again after a failure.
    pub retries: u32,
    /// The exit code after which it is not tried again.
    pub never_retry_on: Option<i32>,
    /// The exit code that ends the whole run.
    pub abort_on: Option<AbortOn>,
    /// Named resources that it holds while it runs, and how much of each.
    pub pools: Vec<(String, u32)>,
    /// Words that the labels of whoever does it must contain.
    pub tags: Vec<String>,
    /// Bytes on disk while it runs, beside its outputs.
    pub scratch: Option<u64>,
}

impl Task {
    /// For engines that try again by themselves, but after every failure: a script, and how often they are to try it again.
    pub(crate) fn tries(&self) -> (&str, u32) {
        match self.never_retry_on {
            // An engine tries again after every failure: where one must not be tried again, the script sees to all of it.
            None => (&self.once, self.retries),
            Some(_) => (&self.script, 0),
        }
    }
}

/// Which neighbours in the order of the plan may be exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swaps {
    /// None.
    #[default]
    None,
    /// Those that could stand for one another in everything that is still to come.
    Alike,
    /// All, as long as the number of eligible tasks stays that of the plan: the order is after it and nothing else.
    SameNumber,
}

/// The tasks of a workflow that are left, in the order of the plan: a task's number is its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// What people call the workflow.
    pub name: String,
    /// The absolute folder in which relative paths begin.
    pub home: PathBuf,
    /// By place.
    pub tasks: Vec<Task>,
    /// How much there is of each named resource whose limit the workflow gives.
    pub pool_limits: Vec<(String, u32)>,
    /// Which tasks may be exchanged for an engine's sake. None unless somebody says so.
    pub swaps: Swaps,
    /// For `sbatch`, a word an option, as people gave them; [`check`](crate::slurm::check) them before. None unless somebody
    /// says so.
    pub options: Vec<String>,
    /// Whether jobs of Slurm yield to earlier ones by `nice` too. Not so unless somebody says it.
    pub is_nice: bool,
}

impl Handover {
    /// What is left of a workflow. `order` names every task once, parents first.
    ///
    /// # Errors
    /// [`HandoverError`].
    pub fn new(
        name: &str,
        home: &Path,
        jobs: &Jobs,
        is_executed: &[bool],
        order: &[TaskId],
    ) -> Result<Handover, HandoverError> {
        let flow = jobs.flow();
        let owned = |(pool, n): (&str, u32)| (pool.to_owned(), n);
        let mut place = vec![None; order.len()];
        let left = order.iter().copied().filter(|t| !is_executed[t.index()]);
        let mut tasks = Vec::new();
        for task in left {
            if flow.is_apart(task) {
                return Err(HandoverError::Apart(flow.shown(task).to_string()));
            }
            let job = jobs.job(task);
            let time_limit = flow.time_limit(task);
            let once = script::of(&job, home).map_err(HandoverError::Path)?;
            let once = script::with_limit(once, time_limit);
            let mut parents: Vec<u32> = (flow.dag().parents(task).iter())
                .filter_map(|p| place[p.index()])
                .collect();
            // Rising, as `levels` and the scripts of Slurm read them.
            parents.sort_unstable();
            // After its parents were looked up: what is executed already has no place, and nobody waits for it.
            place[task.index()] = Some(narrow(tasks.len()));
            tasks.push(Task {
                name: flow.name(task).to_owned(),
                script: script::with_retries(&once, job.retries, job.never_retry_on),
                once,
                parents,
                cpus: flow.cpus(task),
                memory: flow.memory(task),
                seconds: flow.seconds(task),
                time_limit,
                retries: job.retries,
                never_retry_on: job.never_retry_on,
                abort_on: job.abort_on,
                pools: flow.pools(task).map(owned).collect(),
                tags: flow.tags(task).map(str::to_owned).collect(),
                scratch: flow.scratch(task),
            });
        }
        Ok(Handover {
            name: name.to_owned(),
            home: home.to_owned(),
            tasks,
            pool_limits: flow.pool_limits().map(owned).collect(),
            ..Handover::default()
        })
    }

    /// A script a task, as files beside the engine's own.
    pub(crate) fn scripts<'h>(
        &'h self,
        body: impl Fn(&'h Task) -> &'h str,
    ) -> impl Iterator<Item = Made> {
        self.placed().map(move |(place, task)| {
            let text = format!("#!/bin/sh\n# {}\n{}", plain(&task.name), body(task));
            Made::new(format!("tasks/{place}.sh"), text)
        })
    }

    /// Tasks with their places.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (u32, &Task)> {
        (0..).zip(&self.tasks)
    }

    /// The number for engines that start larger ones first: the first task has as many as there are tasks, the last has 1.
    pub(crate) fn priority(&self, place: u32) -> u32 {
        narrow(self.tasks.len()) - place
    }
}

/// By place the tasks that wait for it, rising.
pub(crate) fn children(tasks: &[Task]) -> Rows {
    let arcs = (0..).zip(tasks).flat_map(|(place, task)| {
        let parents = task.parents.iter();
        parents.map(move |&parent| (parent, place))
    });
    Rows::by_row(tasks.len(), arcs)
}

/// So many letters of a name are in the tag of a task.
// For people; the place alone tells tasks apart. A dag names each task once an arc, so that long ones would make files large.
const LETTERS: usize = 40;

/// A name of ASCII letters, digits, `_` and `-` for a task, unlike that of every other place.
pub(crate) fn tag(place: u32, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let short: String = name.chars().take(LETTERS).map(plain).collect();
    format!("t{place}-{short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_that_ends_all_tries_holds_with_engines_that_try_again_by_themselves() {
        let mut task = Task {
            script: "with retries".to_owned(),
            once: "once".to_owned(),
            retries: 2,
            ..Task::default()
        };
        assert_eq!(task.tries(), ("once", 2));
        task.never_retry_on = Some(3);
        assert_eq!(task.tries(), ("with retries", 0));
    }

    #[test]
    fn what_is_taken_up_again_is_what_was_left_then() {
        let flow = Flow::numbered(&cairn_dag::Dag::from_arcs(4, vec![(0, 1), (1, 3)]).unwrap());
        let name = |t: u32| flow.name(TaskId(t)).to_owned();
        // Since then 1 was executed: the submission tells what became of it.
        let mut is_executed = [true, true, false, false];
        let order = taken_up(&flow, &[name(2), name(1), name(3)], &mut is_executed);
        assert_eq!(order.unwrap(), [2, 1, 3, 0].map(TaskId));
        assert_eq!(is_executed, [true, false, false, false]);
        let mut is_executed = [true, true, false, false];
        let new = taken_up(&flow, &[name(1), name(3)], &mut is_executed);
        assert_eq!(new, Err(OtherWorkflow::New(name(2))));
        let gone = taken_up(&flow, &["elsewhere".to_owned()], &mut is_executed);
        assert_eq!(gone, Err(OtherWorkflow::Gone("elsewhere".to_owned())));
        assert_eq!(is_executed, [true, true, false, false]);
    }
}
