//! Reasons in words, on examples.

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

/// A worker that was lost is asked about: only the first of these is about that.
#[test]
fn every_refusal_has_its_words() {
    let (task, worker) = (Task(3), WorkerId(7));
    let words = [
        (
            Refusal::Unknown,
            "It was silent for too long and was given up for lost.",
        ),
        (Refusal::Full, "It is not idle: it has all it can do."),
        (
            Refusal::NothingEligible,
            "Nothing is eligible: every task that could begin is running, and the others wait for those.",
        ),
        (
            Refusal::NothingFits,
            "Tasks are eligible, but none that this worker can do: they need more memory, other tags, or a longer stay.",
        ),
        (
            Refusal::Held(task),
            "Its room is kept for t3, which needs more than is free.",
        ),
        (
            Refusal::KeptFor { task, worker },
            "t3 is kept for worker 7, which is busy and will end it sooner all the same.",
        ),
        (
            Refusal::Storage { missing: 0 },
            "Eligible tasks are held back: the disk might be full before the run is over. They begin when something ends.",
        ),
        (
            Refusal::Storage { missing: 2_500 },
            "Eligible tasks are held back: 2.5 kB of storage are missing for the next.",
        ),
        (
            Refusal::Others,
            "What is left waits for results of other volunteers: this one has returned its own.",
        ),
        (
            Refusal::Quota,
            "It has as many tasks as its results so far deserve: errors, lateness and wrong results lower that, right ones raise it.",
        ),
        (
            Refusal::TooManyFailures,
            "Too many tasks failed: nothing more is begun.",
        ),
        (
            Refusal::Halted,
            "A task ended the run: nothing more is begun.",
        ),
    ];
    for (refusal, expected) in words {
        assert_eq!(of_refusal(Some(refusal), "lost", &[], &Named).1, expected);
    }
    let (_, next) = of_refusal(None, "here", &[], &Named);
    assert_eq!(next, "It gets a task the next time it asks.");
}

#[test]
fn every_reason_of_a_worker_has_its_words() {
    let words = [
        (WhyNot::NoCpus, "offers no processor"),
        (WhyNot::Tag("gpu".into()), "lacks the label 'gpu'"),
        (WhyNot::Leaves, "leaves before it could be done"),
        (WhyNot::Had, "has had it: others must say the same"),
        (WhyNot::Quota, "has as many tasks as its results deserve"),
        (WhyNot::Slow, "takes longer than the task's time"),
        (
            WhyNot::Worn,
            "volunteers were given as many copies of it as there may be",
        ),
        (
            WhyNot::Reliable,
            "it must be tried again, and is kept for a more reliable volunteer for a minute",
        ),
        (
            WhyNot::Failed,
            "has failed with it, or was late: others come first",
        ),
        (WhyNot::KeptFor(Task(3)), "room is kept for t3"),
        (
            WhyNot::Faster(WorkerId(7)),
            "it is kept for worker 7, which will end it sooner",
        ),
        (
            WhyNot::Storage { missing: 0 },
            "storage: it may begin when something ends",
        ),
        (
            WhyNot::Storage { missing: 2_500 },
            "storage: 2.5 kB are missing",
        ),
    ];
    for (why, expected) in words {
        assert_eq!(not_in_words(&why, &[], &Named).1, expected);
    }
}

#[test]
fn every_answer_about_a_task_has_its_words() {
    let answer = |why| {
        let told = Told::Task {
            now: Moment(3_000_000),
            why,
            named: Vec::new(),
        };
        words("a", &told, &Named).answer
    };
    let of_run = [
        (
            Reasons::Halted(7),
            "A task ended the run with 7: nothing more is begun.",
        ),
        (
            Reasons::TooManyFailures,
            "Too many tasks failed: nothing more is begun.",
        ),
        (
            Reasons::Failed,
            "It failed as often as it may. Retry it when the cause is mended.",
        ),
        (
            Reasons::Cancelled,
            "Somebody cancelled it. Retry takes that back.",
        ),
        (
            Reasons::Aborted(Vec::new()),
            "It waits for a task that failed or was cancelled: retry that one.",
        ),
    ];
    for (why, expected) in of_run {
        assert_eq!(answer(why), expected);
    }
    let by_workers = [
        (
            WhyNot::Storage { missing: 0 },
            "It is held back for storage: the disk might be full before the run is over.",
        ),
        (
            WhyNot::KeptFor(Task(3)),
            "It is eligible, but the room is kept for a task that needs more.",
        ),
        (
            WhyNot::Faster(WorkerId(7)),
            "It is eligible, and kept for a worker that is busy and will end it sooner.",
        ),
        (
            WhyNot::Quota,
            "It is eligible, but for none of the volunteers that are here.",
        ),
        (
            WhyNot::Cpus { needs: 2, free: 1 },
            "It is eligible, and every worker that could do it is busy.",
        ),
    ];
    for (why, expected) in by_workers {
        assert_eq!(eligible(vec![Some(why)]).answer, expected);
    }
    let of = |by| {
        of_running(
            "anna",
            2,
            Moment(1_000_000),
            Some(Moment(by)),
            Moment(3_000_000),
        )
    };
    let (running, due) = of(5_000_000);
    assert_eq!(running, "It is running on anna, for 2 s, as attempt 2.");
    assert_eq!(due[0].text, "it is expected within 4 s");
    assert_eq!(of(2_000_000).1[0].text, "it was expected within 1 s");
}
