//! The engine's reasons in words: why a task is not running, why a worker is idle. Finds none itself.

use super::tasks::Tasks;
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

/// What a worker is called, by a list of some.
fn called(worker: WorkerId, known: &[(WorkerId, String)]) -> String {
    let found = known.iter().find(|(id, _)| *id == worker);
    found.map_or_else(|| format!("worker {}", worker.0), |(_, name)| name.clone())
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

/// So many tasks or workers of one reason are named.
const NAMED: usize = 8;

fn reason(kind: &str, text: impl Into<String>) -> ReasonTold {
    ReasonTold {
        kind: kind.to_owned(),
        text: text.into(),
        tasks: Vec::new(),
    }
}

fn counted(many: usize, what: &str) -> String {
    match many {
        1 => format!("1 {what}"),
        _ => format!("{many} {what}s"),
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

fn task_name(tasks: &dyn Tasks, task: Task) -> String {
    tasks.name(task).unwrap_or_else(|| task.0.to_string())
}

fn of_refusal(
    refusal: Option<Refusal>,
    state: &str,
    others: &[(WorkerId, String)],
    tasks: &dyn Tasks,
) -> (&'static str, String) {
    let (kind, text) = match refusal {
        None => ("next", "It gets a task the next time it asks.".to_owned()),
        Some(Refusal::Unknown) if state == "lost" => {
            ("lost", "It was silent for too long and was given up for lost.".to_owned())
        }
        Some(Refusal::Unknown) => ("left", "It has left.".to_owned()),
        Some(Refusal::Full) => ("full", "It is not idle: it has all it can do.".to_owned()),
        Some(Refusal::NothingEligible) => (
            "nothing-eligible",
            "Nothing is eligible: every task that could begin is running, and the others wait for those.".to_owned(),
        ),
        Some(Refusal::NothingFits) => (
            "nothing-fits",
            "Tasks are eligible, but none that this worker can do: they need more memory, other tags, or a longer stay.".to_owned(),
        ),
        Some(Refusal::Held(task)) => {
            let name = task_name(tasks, task);
            ("held", format!("Its room is kept for {name}, which needs more than is free."))
        }
        Some(Refusal::KeptFor { task, worker }) => {
            let (name, worker) = (task_name(tasks, task), called(worker, others));
            ("kept-for-faster", format!("{name} is kept for {worker}, which is busy and will end it sooner all the same."))
        }
        Some(Refusal::Storage { missing: 0 }) => (
            "storage",
            "Eligible tasks are held back: the disk might be full before the run is over. They begin when something ends.".to_owned(),
        ),
        Some(Refusal::Storage { missing }) => {
            let size = size(missing);
            ("storage", format!("Eligible tasks are held back: {size} of storage are missing for the next."))
        }
        Some(Refusal::Others) => (
            "others",
            "What is left waits for results of other volunteers: this one has returned its own.".to_owned(),
        ),
        Some(Refusal::Quota) => (
            "quota",
            "It has as many tasks as its results so far deserve: errors, lateness and wrong results lower that, right ones raise it."
                .to_owned(),
        ),
        Some(Refusal::Paused) => ("paused", "The run is paused.".to_owned()),
        Some(Refusal::TooManyFailures) => ("too-many-failures", "Too many tasks failed: nothing more is begun.".to_owned()),
        Some(Refusal::Halted) => ("halted", "A task ended the run: nothing more is begun.".to_owned()),
        Some(Refusal::Finished) => ("finished", "All is done.".to_owned()),
    };
    (kind, text)
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
            let reasons = match refused {
                Some(refusal) => {
                    let (kind, text) = of_refusal(Some(*refusal), "here", &[], tasks);
                    vec![reason(kind, text)]
                }
                None => {
                    let (_, mut reasons) = of_eligible(0, workers, named, tasks);
                    reasons.retain(|reason| reason.kind != "order");
                    reasons
                }
            };
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
    let never = ["memory", "disk", "tag", "leaves", "no-cpus"];
    let answer = match () {
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

/// One reason why a worker does not get a task: a word for machines, and a clause about the worker for people.
fn not_in_words(
    why: &WhyNot,
    known: &[(WorkerId, String)],
    tasks: &dyn Tasks,
) -> (&'static str, String) {
    match why {
        WhyNot::NoCpus => ("no-cpus", "offers no processor".to_owned()),
        WhyNot::Memory { needs, has } => {
            let text = format!("has {} of memory, {} are needed", size(*has), size(*needs));
            ("memory", text)
        }
        WhyNot::Disk { needs, has } => {
            let text = format!("has {} of disk, {} are needed", size(*has), size(*needs));
            ("disk", text)
        }
        WhyNot::DiskTaken { needs, free } => {
            let text = format!(
                "busy: {} of disk needed, {} free",
                size(*needs),
                size(*free)
            );
            ("busy", text)
        }
        WhyNot::Tag(tag) => ("tag", format!("lacks the label '{tag}'")),
        WhyNot::Leaves => ("leaves", "leaves before it could be done".to_owned()),
        WhyNot::Had => ("had", "has had it: others must say the same".to_owned()),
        WhyNot::Quota => (
            "quota",
            "has as many tasks as its results deserve".to_owned(),
        ),
        WhyNot::Slow => ("slow", "takes longer than the task's time".to_owned()),
        WhyNot::Worn => (
            "worn",
            "volunteers were given as many copies of it as there may be".to_owned(),
        ),
        WhyNot::Reliable => (
            "reliable",
            "it must be tried again, and is kept for a more reliable volunteer for a minute"
                .to_owned(),
        ),
        WhyNot::Failed => (
            "failed",
            "has failed with it, or was late: others come first".to_owned(),
        ),
        WhyNot::Cpus { needs, free } => {
            let needed = counted(*needs as usize, "processor");
            ("busy", format!("busy: {needed} needed, {free} free"))
        }
        WhyNot::MemoryTaken { needs, free } => {
            let text = format!(
                "busy: {} of memory needed, {} free",
                size(*needs),
                size(*free)
            );
            ("busy", text)
        }
        WhyNot::Pool { pool, needs, free } => {
            let name = tasks.pool(*pool);
            let name = name.map_or_else(|| format!("resource {}", pool.0), |n| format!("'{n}'"));
            ("pool", format!("{needs} of {name} needed, {free} free"))
        }
        WhyNot::KeptFor(task) => (
            "kept",
            format!("room is kept for {}", task_name(tasks, *task)),
        ),
        WhyNot::Faster(worker) => (
            "faster",
            format!(
                "it is kept for {}, which will end it sooner",
                called(*worker, known)
            ),
        ),
        WhyNot::Storage { missing: 0 } => (
            "storage",
            "storage: it may begin when something ends".to_owned(),
        ),
        WhyNot::Storage { missing } => (
            "storage",
            format!("storage: {} are missing", size(*missing)),
        ),
    }
}

/// Bytes with two digits or so.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return counted(bytes as usize, "byte");
    }
    let (mut value, mut unit) = (bytes as f64 / 1000.0, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match value < 9.95 {
        true => format!("{value:.1} {}", UNITS[unit]),
        false => format!("{value:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_engine::PoolId;

    struct Named;

    impl Tasks for Named {
        fn count(&self) -> Option<u64> {
            Some(9)
        }

        fn name(&self, task: Task) -> Option<String> {
            Some(format!("t{}", task.0))
        }

        fn find(&self, _: &str) -> Option<Task> {
            None
        }

        fn job(&self, _: Task, _: u32) -> Option<crate::http::Job> {
            None
        }

        fn pool(&self, pool: PoolId) -> Option<String> {
            (pool.0 == 0).then(|| "licence".to_owned())
        }

        fn programs(&self) -> Option<Vec<String>> {
            None
        }
    }

    fn eligible(workers: Vec<Option<WhyNot>>) -> Why {
        let named: Vec<String> = (0..workers.len()).map(|w| format!("w{w}")).collect();
        let workers = workers.into_iter().enumerate();
        let workers = workers.map(|(w, why)| (WorkerId(w as u32), why)).collect();
        let why = Reasons::Eligible { before: 2, workers };
        let told = Told::Task {
            now: Moment(0),
            why,
            named,
        };
        words("a", &told, &Named)
    }

    #[test]
    fn a_shared_resource_is_named_and_workers_with_one_reason_stand_together() {
        let short = |needs| {
            Some(WhyNot::Pool {
                pool: PoolId(0),
                needs,
                free: 0,
            })
        };
        let why = eligible(vec![short(1), Some(WhyNot::Tag("gpu".into())), short(1)]);
        assert_eq!(
            why.answer,
            "It is eligible, but too little of a shared resource is free."
        );
        let told: Vec<_> = (why.reasons.iter())
            .map(|r| (r.kind.as_str(), r.text.as_str()))
            .collect();
        let expected = [
            ("order", "2 eligible tasks come before it in the order"),
            ("pool", "1 of 'licence' needed, 0 free: w0, w2"),
            ("tag", "lacks the label 'gpu': w1"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_nobody_here_can_do_is_told_apart_from_what_has_to_wait() {
        let never = eligible(vec![Some(WhyNot::NoCpus), Some(WhyNot::Leaves)]);
        assert!(
            never.answer.contains("none of the workers"),
            "{}",
            never.answer
        );
        let busy = WhyNot::Cpus { needs: 2, free: 1 };
        let later = eligible(vec![Some(WhyNot::NoCpus), Some(busy)]);
        assert!(later.answer.contains("busy"), "{}", later.answer);
        let now = eligible(vec![Some(WhyNot::NoCpus), None]);
        assert!(
            now.answer.contains("next worker that asks"),
            "{}",
            now.answer
        );
        let faster = eligible(vec![
            Some(WhyNot::Faster(WorkerId(1))),
            Some(WhyNot::NoCpus),
        ]);
        assert!(faster.answer.contains("kept for a worker"), "{faster:?}");
        let text = &faster.reasons[1].text;
        assert_eq!(text, "it is kept for w1, which will end it sooner: w0");
        let trust = eligible(vec![Some(WhyNot::Failed), Some(WhyNot::Reliable)]);
        assert!(trust.answer.contains("volunteers"), "{trust:?}");
        let storage = eligible(vec![Some(WhyNot::Storage { missing: 2_500_000 })]);
        assert!(storage.reasons[1].text.contains("2.5 MB"), "{storage:?}");
    }

    #[test]
    fn an_idle_worker_is_told_what_it_does_not_get() {
        let told = Told::Worker {
            is_here: true,
            was_lost: false,
            leased: 0,
            cpus: 2,
            refusal: Some(Refusal::NothingFits),
            passed_over: vec![(
                Task(3),
                WhyNot::Memory {
                    needs: 8 << 30,
                    has: 1 << 30,
                },
            )],
            others: Vec::new(),
        };
        let why = words("anna", &told, &Named);
        assert_eq!(why.reasons[1].kind, "memory");
        assert_eq!(why.reasons[1].tasks, ["t3"]);
        assert!(
            why.reasons[1]
                .text
                .contains("has 1.1 GB of memory, 8.6 GB are needed")
        );
    }

    #[test]
    fn what_waits_for_validation_says_that_the_run_is_paused() {
        let told = |refused| Told::Task {
            now: Moment(0),
            why: Reasons::Validates {
                has: 1,
                of: 2,
                refused,
                workers: vec![(WorkerId(0), None)],
            },
            named: vec!["anna".to_owned()],
        };
        let kinds = |refused| {
            let why = words("a", &told(refused), &Named);
            assert!(why.answer.contains("1 of 2"), "{why:?}");
            why.reasons.into_iter().map(|r| r.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(None), ["fits"]);
        assert_eq!(kinds(Some(Refusal::Paused)), ["paused"]);
    }

    #[test]
    fn whoever_a_task_is_kept_for_is_named() {
        let (task, worker) = (Task(3), WorkerId(7));
        let told = |others| Told::Worker {
            is_here: true,
            was_lost: false,
            leased: 0,
            cpus: 2,
            refusal: Some(Refusal::KeptFor { task, worker }),
            passed_over: vec![(task, WhyNot::Faster(worker))],
            others,
        };
        let why = words("anna", &told(vec![(worker, "berta".to_owned())]), &Named);
        assert!(why.answer.starts_with("t3 is kept for berta"), "{why:?}");
        assert!(why.reasons[1].text.contains("kept for berta"), "{why:?}");
        let why = words("anna", &told(Vec::new()), &Named);
        assert!(why.answer.starts_with("t3 is kept for worker 7"), "{why:?}");
    }
}
