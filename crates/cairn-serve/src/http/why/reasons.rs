//! One reason of the engine at a time: a word for machines, and a sentence or clause for people. Whoever gives the engine another reason
//! is asked here for its words. Knows not of what an answer is made.

use crate::http::tasks::Tasks;
use cairn_engine::{Refusal, Task, WhyNot, WorkerId};

/// What a worker is called, by a list of some.
fn called(worker: WorkerId, known: &[(WorkerId, String)]) -> String {
    let found = known.iter().find(|(id, _)| *id == worker);
    found.map_or_else(|| format!("worker {}", worker.0), |(_, name)| name.clone())
}

pub(super) fn counted(many: usize, what: &str) -> String {
    match many {
        1 => format!("1 {what}"),
        _ => format!("{many} {what}s"),
    }
}

pub(super) fn task_name(tasks: &dyn Tasks, task: Task) -> String {
    tasks.name(task).unwrap_or_else(|| task.0.to_string())
}

/// Why a worker gets nothing.
pub(super) fn of_refusal(
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

/// One reason why a worker does not get a task: a word for machines, and a clause about the worker for people.
pub(super) fn not_in_words(
    why: &WhyNot,
    known: &[(WorkerId, String)],
    tasks: &dyn Tasks,
) -> (&'static str, String) {
    let lacks = |what: &'static str, needs, has| {
        let text = format!("has {} of {what}, {} are needed", size(has), size(needs));
        (what, text)
    };
    let busy = |what, needs, free| {
        let text = format!(
            "busy: {} of {what} needed, {} free",
            size(needs),
            size(free)
        );
        ("busy", text)
    };
    match why {
        WhyNot::NoCpus => ("no-cpus", "offers no processor".to_owned()),
        WhyNot::Memory { needs, has } => lacks("memory", *needs, *has),
        WhyNot::Disk { needs, has } => lacks("disk", *needs, *has),
        WhyNot::DiskTaken { needs, free } => busy("disk", *needs, *free),
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
        WhyNot::MemoryTaken { needs, free } => busy("memory", *needs, *free),
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
    // Not 1000: three digits without a fraction would round up to that.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match value < 9.95 {
        true => format!("{value:.1} {}", UNITS[unit]),
        false => format!("{value:.0} {}", UNITS[unit]),
    }
}
