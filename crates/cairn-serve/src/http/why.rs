//! The engine's reasons in words: why a task is not running, why a worker is idle. Finds none itself.

mod reasons;

use self::reasons::{counted, not_in_words, of_refusal, task_name};
use super::tasks::Tasks;
use crate::budgets::status::NAMED;
use cairn_engine::{Moment, Refusal, Task, Why as Reasons, WhyNot, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What the desk found, with the names of the workers it speaks of.
#[derive(Debug)]
pub(crate) enum Told {
    Task {
        now: Moment,
        why: Reasons,
        named: Vec<String>,
    },
    Worker {
        is_here: bool,
        was_lost: bool,
        leased: usize,
        cpus: u32,
        refusal: Option<Refusal>,
        /// Eligible tasks that it does not get, and why not.
        passed_over: Vec<(Task, WhyNot)>,
        /// Other workers that the reasons speak of.
        others: Vec<(WorkerId, String)>,
    },
}

/// Why a task is not running, or a worker idle.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The task that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The worker that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Where it stands.
    pub state: String,
    /// The answer in a sentence.
    pub answer: String,
    /// What it rests on.
    pub reasons: Vec<ReasonTold>,
}

/// One reason.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReasonTold {
    /// A word for machines.
    pub kind: String,
    /// For people.
    pub text: String,
    /// Tasks that it speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

fn reason(kind: &str, text: impl Into<String>) -> ReasonTold {
    ReasonTold {
        kind: kind.to_owned(),
        text: text.into(),
        tasks: Vec::new(),
    }
}

/// Some names, and how many more there are.
fn listed(names: &[&String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(|name| name.as_str()).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The answer.
pub(crate) fn words(name: &str, told: &Told, tasks: &dyn Tasks) -> Why {
    match told {
        Told::Task { now, why, named } => of_task(name, *now, why, named, tasks),
        Told::Worker {
            is_here,
            was_lost,
            leased,
            cpus,
            refusal,
            passed_over,
            others,
        } => {
            let state = match (is_here, was_lost) {
                (true, _) => "here",
                (false, true) => "lost",
                (false, false) => "left",
            };
            let (kind, answer) = of_refusal(*refusal, state, others, tasks);
            let has = format!(
                "it runs {} on {}",
                counted(*leased, "task"),
                counted(*cpus as usize, "processor")
            );
            let mut reasons = vec![reason(kind, has)];
            for (task, why) in passed_over {
                let (kind, text) = not_in_words(why, others, tasks);
                let task = task_name(tasks, *task);
                let mut because = reason(kind, format!("eligible, but not for it ({text})"));
                because.tasks.push(task);
                reasons.push(because);
            }
            Why {
                task: None,
                worker: Some(name.to_owned()),
                state: state.to_owned(),
                reasons,
                answer,
            }
        }
    }
}

fn of_running(
    worker: &str,
    attempt: u32,
    since: Moment,
    by: Option<Moment>,
    now: Moment,
) -> (String, Vec<ReasonTold>) {
    let seconds = |until: Moment| until.since(since).0 as f64 / 1e6;
    let text = format!(
        "It is running on {worker}, for {:.0} s, as attempt {attempt}.",
        seconds(now)
    );
    let due = by.map(|by| match by < now {
        true => reason(
            "late",
            format!("it was expected within {:.0} s", seconds(by)),
        ),
        false => reason("due", format!("it is expected within {:.0} s", seconds(by))),
    });
    (text, due.into_iter().collect())
}

fn of_waiting(
    parents: &[(Task, cairn_theory::game::Standing)],
    tasks: &dyn Tasks,
) -> (String, Vec<ReasonTold>) {
    let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for &(task, standing) in parents {
        let names = by.entry(standing.name()).or_default();
        names.push(task_name(tasks, task));
    }
    let each = |(standing, names): (&str, Vec<String>)| {
        let word = if standing == "leased" {
            "running"
        } else {
            standing
        };
        let text = match names.len().saturating_sub(NAMED) {
            0 => word.to_owned(),
            more => format!("{word} (and {more} more)"),
        };
        ReasonTold {
            tasks: names.into_iter().take(NAMED).collect(),
            ..reason("waits-for", text)
        }
    };
    let are = if parents.len() == 1 { "is" } else { "are" };
    let many = counted(parents.len(), "task");
    let text = format!("It waits for {many} that {are} not executed.");
    (text, by.into_iter().map(each).collect())
}

fn of_task(name: &str, now: Moment, why: &Reasons, named: &[String], tasks: &dyn Tasks) -> Why {
    let (state, answer, reasons) = match why {
        Reasons::Runs {
            token, since, by, ..
        } => {
            let worker = named.first().map_or("a worker", String::as_str);
            let (text, reasons) = of_running(worker, token.attempt, *since, *by, now);
            ("leased", text, reasons)
        }
        Reasons::Validates {
            has,
            of,
            refused,
            workers,
        } => {
            let text = format!("It waits for validation: {has} of {of} equal results are there.");
            let reasons = of_validating(*refused, workers, named, tasks);
            ("leased", text, reasons)
        }
        Reasons::Executed => ("executed", "It is done.".to_owned(), Vec::new()),
        Reasons::Failed => {
            let text = "It failed as often as it may. Retry it when the cause is mended.";
            ("failed", text.to_owned(), Vec::new())
        }
        Reasons::Cancelled => (
            "cancelled",
            "Somebody cancelled it. Retry takes that back.".to_owned(),
            Vec::new(),
        ),
        Reasons::Aborted(by) => {
            let mut because = reason("given-up-before", "given up");
            because.tasks = by.iter().map(|&task| task_name(tasks, task)).collect();
            let text = "It waits for a task that failed or was cancelled: retry that one.";
            ("aborted", text.to_owned(), vec![because])
        }
        Reasons::Waits(parents) => {
            let (text, reasons) = of_waiting(parents, tasks);
            ("waiting", text, reasons)
        }
        Reasons::Halted(exit) => (
            "eligible",
            format!("A task ended the run with {exit}: nothing more is begun."),
            Vec::new(),
        ),
        Reasons::TooManyFailures => (
            "eligible",
            "Too many tasks failed: nothing more is begun.".to_owned(),
            Vec::new(),
        ),
        Reasons::Paused => (
            "eligible",
            "The run is paused.".to_owned(),
            vec![reason("paused", "cairn resume lets it go on")],
        ),
        Reasons::NoWorker => (
            "eligible",
            "It is eligible, but no worker is here.".to_owned(),
            Vec::new(),
        ),
        Reasons::Eligible { before, workers } => {
            let (answer, reasons) = of_eligible(*before, workers, named, tasks);
            ("eligible", answer, reasons)
        }
    };
    Why {
        task: Some(name.to_owned()),
        worker: None,
        state: state.to_owned(),
        answer,
        reasons,
    }
}

/// Why nobody is at a task that waits for equal results.
fn of_validating(
    refused: Option<Refusal>,
    workers: &[(WorkerId, Option<WhyNot>)],
    named: &[String],
    tasks: &dyn Tasks,
) -> Vec<ReasonTold> {
    if refused.is_some() {
        let (kind, text) = of_refusal(refused, "here", &[], tasks);
        return vec![reason(kind, text)];
    }
    let (_, mut reasons) = of_eligible(0, workers, named, tasks);
    // Its place in the order was not asked for: the 0 above means nothing.
    reasons.retain(|reason| reason.kind != "order");
    reasons
}

fn of_eligible(
    before: u64,
    workers: &[(WorkerId, Option<WhyNot>)],
    named: &[String],
    tasks: &dyn Tasks,
) -> (String, Vec<ReasonTold>) {
    let mut by: Vec<((&'static str, String), Vec<&String>)> = Vec::new();
    let mut free = Vec::new();
    let ids = workers.iter().map(|&(id, _)| id);
    let known: Vec<(WorkerId, String)> = ids.zip(named.iter().cloned()).collect();
    for ((_, why), name) in workers.iter().zip(named) {
        let Some(why) = why else {
            free.push(name);
            continue;
        };
        let text = not_in_words(why, &known, tasks);
        // Workers with one reason stand together, in the order in which reasons are met: a thousand idle
        // workers are one line.
        match by.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => by.push((text, vec![name])),
        }
    }
    let mut reasons: Vec<ReasonTold> = (by.iter())
        .map(|((kind, text), names)| reason(kind, format!("{text}: {}", listed(names))))
        .collect();
    let ahead = match before {
        0 => "it comes first in the order".to_owned(),
        1 => "1 eligible task comes before it in the order".to_owned(),
        many => format!("{many} eligible tasks come before it in the order"),
    };
    reasons.insert(0, reason("order", ahead));
    let is = |kind: &str| by.iter().any(|((other, _), _)| *other == kind);
    let trust = ["had", "quota", "slow", "worn", "reliable", "failed"];
    // What no waiting changes for this worker. A task that only these stand against needs another worker.
    let never = ["memory", "disk", "tag", "leaves", "no-cpus"];
    let answer = match () {
        // The first that holds: from somebody who could take it now, over what no worker of these will
        // ever do, to what keeps it from all of them, and only then what is between it and single ones.
        () if !free.is_empty() => {
            reasons.push(reason(
                "fits",
                format!("could take it now: {}", listed(&free)),
            ));
            "It is eligible, and goes to the next worker that asks and has room, after those before it."
        }
        () if by.iter().all(|((kind, _), _)| never.contains(kind)) => {
            "It is eligible, but none of the workers that are here can do it."
        }
        () if is("storage") => {
            "It is held back for storage: the disk might be full before the run is over."
        }
        () if is("pool") => "It is eligible, but too little of a shared resource is free.",
        () if is("kept") => "It is eligible, but the room is kept for a task that needs more.",
        () if is("faster") => {
            "It is eligible, and kept for a worker that is busy and will end it sooner."
        }
        () if by
            .iter()
            .all(|((kind, _), _)| trust.contains(kind) || never.contains(kind)) =>
        {
            "It is eligible, but for none of the volunteers that are here."
        }
        () => "It is eligible, and every worker that could do it is busy.",
    };
    (answer.to_owned(), reasons)
}

#[cfg(test)]
mod tests;
