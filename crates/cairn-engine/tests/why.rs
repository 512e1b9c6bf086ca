//! Why tasks do not run and workers are idle, against the obvious: asking a copy of the engine.

use cairn_dag::TaskId;
use cairn_engine::{
    Cause, ClassId, ClientId, Digest, Distrust, Engine, Frozen, Moment, Needs, Offer, Order,
    Outbox, Outcome, PoolId, Position, Refusal, Returned, Rules, Span, Task, Why, WhyNot, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;

fn rules(random: &mut Random, tasks: usize) -> Rules {
    let wide = Needs {
        cpus: 3,
        ..Needs::default()
    };
    let large = Needs {
        memory: 6,
        ..Needs::default()
    };
    let licensed = Needs {
        pools: vec![(PoolId(0), 1)],
        ..Needs::default()
    };
    let tagged = Needs {
        tags: vec!["gpu".to_owned()],
        ..Needs::default()
    };
    let long = Needs {
        life: Span::seconds(60),
        ..Needs::default()
    };
    Rules {
        classes: vec![Needs::default(), wide, large, licensed, tagged, long],
        class_of: (0..tasks).map(|_| ClassId::new(random.below(6))).collect(),
        pools: vec![1],
        retries: 1,
        failures: [0, 3][random.below(2)],
        ..Rules::default()
    }
}

fn offer(random: &mut Random, now: Moment) -> Offer {
    Offer {
        cpus: random.below(5) as u32,
        memory: [None, Some(5), Some(8)][random.below(3)],
        tags: [vec![], vec!["gpu".to_owned()]][random.below(2)].clone(),
        until: [None, Some(now.0 + 30_000_000)][random.below(2)],
        disk: [None, None, Some(6)][random.below(3)],
        ..Offer::cpus(0)
    }
}

fn eligible(engine: &Engine<Frozen<'_>>) -> Vec<Task> {
    let mut all = Vec::new();
    engine.position().eligible(&mut |task| all.push(task));
    all
}

/// What a worker would get if nothing else were eligible but this, and perhaps another.
fn alone(
    engine: &Engine<Frozen<'_>>,
    now: Moment,
    worker: WorkerId,
    task: Task,
    and: Option<Task>,
) -> bool {
    let (mut copy, mut out) = (engine.clone(), Outbox::default());
    for other in eligible(engine) {
        if other != task && Some(other) != and {
            copy.cancel(now, other, &mut out).unwrap();
        }
    }
    let got = copy.ask(now, worker, 1, &mut out);
    got.is_ok_and(|got| got[0].task == task)
}

fn check(engine: &mut Engine<Frozen<'_>>, now: Moment, seen: &mut [u32; 11]) {
    for index in 0..engine.workers().len() as u32 {
        let worker = WorkerId(index);
        let asked = engine.clone().ask(now, worker, 1, &mut Outbox::default());
        assert_eq!(engine.why_idle(now, worker), asked.err());
        // What it is passed over is in the order, and each for the reason that the task itself gives.
        let over = engine.passed_over(now, worker, 3);
        let ranks: Vec<u64> = over.iter().map(|&(t, _)| engine.order().rank(t)).collect();
        assert!(over.len() <= 3 && ranks.is_sorted());
        for (task, why) in over {
            if let Some(Why::Eligible { workers, .. }) = engine.why(now, task) {
                assert!(workers.contains(&(worker, Some(why))), "{task:?}");
            }
        }
    }
    let dag_tasks = engine.position().game().dag().len() as u64;
    for task in (0..dag_tasks).map(Task) {
        let standing = engine.position().standing(task).unwrap();
        match engine.why(now, task).unwrap() {
            Why::Runs { worker, token, .. } => {
                let lease = engine.lease(task).unwrap();
                assert_eq!((lease.0, lease.1), (worker, token));
            }
            Why::Validates { .. } => panic!("nobody here is a volunteer"),
            Why::Executed => assert_eq!(standing, Standing::Executed),
            Why::Failed => assert_eq!(standing, Standing::Failed),
            Why::Cancelled => assert_eq!(standing, Standing::Cancelled),
            Why::Aborted(by) => {
                assert_eq!(standing, Standing::Aborted);
                assert!(!by.is_empty());
                let given_up = |t: &Task| engine.position().standing(*t).unwrap().is_given_up();
                assert!(by.iter().all(given_up));
            }
            Why::Waits(parents) => {
                assert_eq!(standing, Standing::Waiting);
                assert!(!parents.is_empty());
                for (parent, stands) in parents {
                    assert_ne!(stands, Standing::Executed);
                    assert_eq!(engine.position().standing(parent), Ok(stands));
                }
            }
            Why::Halted(_) => assert!(engine.halted().is_some()),
            Why::Paused => assert!(engine.is_paused()),
            Why::TooManyFailures => assert!(engine.is_over() || engine.held().next().is_some()),
            Why::NoWorker => assert!(engine.workers().iter().all(|w| !w.is_here)),
            Why::Eligible { before, workers } => {
                let rank = engine.order().rank(task);
                let first = eligible(engine).into_iter();
                let first = first.filter(|&t| engine.order().rank(t) < rank).count();
                assert_eq!(before, first as u64);
                let here = engine.workers().iter().filter(|w| w.is_here).count();
                assert_eq!(workers.len(), here);
                for (worker, why) in workers {
                    let kept = match why {
                        Some(WhyNot::KeptFor(other)) => Some(other),
                        _ => None,
                    };
                    let gets = alone(engine, now, worker, task, kept);
                    assert_eq!(gets, why.is_none(), "{task:?} {worker:?} {why:?}");
                    seen[match why {
                        None => 0,
                        Some(WhyNot::NoCpus) => 1,
                        Some(WhyNot::Memory { .. }) => 2,
                        Some(WhyNot::Tag(_)) => 3,
                        Some(WhyNot::Leaves) => 4,
                        Some(WhyNot::Cpus { .. }) => 5,
                        Some(WhyNot::MemoryTaken { .. }) => 6,
                        Some(WhyNot::Pool { .. }) => 7,
                        Some(WhyNot::KeptFor(_) | WhyNot::Faster(_) | WhyNot::Storage { .. }) => 8,
                        Some(WhyNot::Disk { .. }) => 9,
                        Some(WhyNot::DiskTaken { .. }) => 10,
                        Some(
                            WhyNot::Had
                            | WhyNot::Quota
                            | WhyNot::Slow
                            | WhyNot::Worn
                            | WhyNot::Reliable
                            | WhyNot::Failed,
                        ) => panic!("nobody here is a volunteer"),
                    }] += 1;
                }
            }
        }
    }
}

#[test]
fn every_reason_is_what_asking_would_show() {
    let mut seen = [0; 11];
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let tasks = 1 + random.below(12);
        let dag = random_dag(tasks, random.below(4), seed);
        let rules = rules(&mut random, tasks);
        let order: Vec<TaskId> = dag.topological_order().to_vec();
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::of(&order));
        engine.set_weights((0..tasks).map(|_| random.below(9) as u64).collect());
        let (mut out, mut now) = (Outbox::default(), Moment(1_000_000));
        engine.open(now, &mut out);
        for _ in 0..30 {
            now = now + Span::seconds(random.below(4) as u64);
            let many = engine.workers().len();
            let worker = WorkerId(random.below(many + 1) as u32);
            let held: Vec<_> = engine.held().collect();
            let task = Task(random.below(tasks) as u64);
            match random.below(12) {
                0 | 1 => {
                    let offer = offer(&mut random, now);
                    let name = format!("w{}", random.below(4));
                    engine.join(now, &name, offer, &mut out);
                }
                2 if many > 0 => drop(engine.leave(now, worker, &mut out)),
                3..8 => drop(engine.ask(now, worker, 1, &mut out)),
                8 | 9 if !held.is_empty() => {
                    let (_, task, token) = held[random.below(held.len())];
                    let failed = Outcome::Failed {
                        exit: 1,
                        cause: Cause::Exit,
                    };
                    let outcome = [Outcome::Executed, Outcome::Executed, failed][random.below(3)];
                    engine.give_back(now, task, token, outcome, &mut out);
                }
                10 => match random.below(4) {
                    0 => engine.pause(now, &mut out),
                    1 => drop(engine.cancel(now, task, &mut out)),
                    _ => engine.unpause(now, &mut out),
                },
                _ => (),
            }
            check(&mut engine, now, &mut seen);
        }
    }
    let often = |many: &u32| *many > 20;
    assert!(seen[..8].iter().chain(&seen[9..]).all(often), "{seen:?}");
}

/// The same where all are volunteers: who is told why not does not get it, and who is told nothing gets it if nothing else is
/// there.
#[test]
fn reasons_of_volunteers_are_what_asking_would_show() {
    let mut seen = [0; 5];
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let tasks = 1 + random.below(5);
        let dag = random_dag(tasks, random.below(3), seed);
        let rules = Rules {
            silence: Span::seconds(100_000),
            distrust: Distrust {
                deadline: Span::seconds(40),
                ..Distrust::of_quorum(2)
            },
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::AsNumbered);
        let (mut out, mut now) = (Outbox::default(), Moment(1_000_000));
        engine.open(now, &mut out);
        let workers: Vec<WorkerId> = (1..=4)
            .map(|client| {
                let offer = Offer {
                    client: Some(ClientId(client)),
                    ..Offer::cpus(2)
                };
                engine.join(now, &format!("w{client}"), offer, &mut out)
            })
            .collect();
        for _ in 0..60 {
            now = now + Span::seconds(random.below(12) as u64);
            engine.wake(now, &mut out);
            let held: Vec<_> = engine.held().collect();
            match random.below(12) {
                0 => engine.pause(now, &mut out),
                _ => engine.unpause(now, &mut out),
            }
            if random.below(2) == 0 || held.is_empty() {
                drop(engine.ask(now, workers[random.below(4)], 1, &mut out));
            } else {
                let (worker, task, token) = held[random.below(held.len())];
                let failed = Outcome::Failed {
                    exit: 1,
                    cause: Cause::Exit,
                };
                let back = Returned {
                    task,
                    token,
                    outcome: [Outcome::Executed, Outcome::Executed, failed][random.below(3)],
                    digest: Some(Digest([task.0, u64::from(random.below(6) == 0)])),
                };
                engine.take_back(now, worker, &back, &mut out);
            }
            for task in (0..tasks as u64).map(Task) {
                let found = match engine.why(now, task).unwrap() {
                    Why::Validates {
                        refused: Some(refused),
                        ..
                    } => {
                        assert_eq!(refused, Refusal::Paused);
                        assert!(engine.is_paused());
                        continue;
                    }
                    Why::Eligible { workers, .. } | Why::Validates { workers, .. } => workers,
                    _ => continue,
                };
                // Nothing else is there: neither to begin with, nor to be checked, nor at work.
                let (mut copy, mut out) = (engine.clone(), Outbox::default());
                for other in (0..tasks as u64).map(Task).filter(|&t| t != task) {
                    let waits = engine.position().standing(other) == Ok(Standing::Waiting);
                    if !waits {
                        drop(copy.cancel(now, other, &mut out));
                    }
                }
                for (worker, why) in found {
                    // What was cancelled makes room, and gives a client without anything to do its chance.
                    let is_alone = engine.held().next().is_none();
                    let asked = copy.clone().ask(now, worker, 1, &mut Outbox::default());
                    let gets = asked.is_ok_and(|got| got[0].task == task);
                    match &why {
                        None => assert!(gets, "seed {seed}: {task:?} {worker:?}"),
                        Some(why) if is_alone => {
                            assert!(!gets, "seed {seed}: {task:?} {worker:?} {why:?}");
                        }
                        Some(_) => (),
                    }
                    seen[match why {
                        None => 0,
                        Some(WhyNot::Had) => 1,
                        Some(WhyNot::Failed) => 2,
                        Some(WhyNot::Quota | WhyNot::Slow) => 3,
                        Some(WhyNot::Cpus { .. }) => 4,
                        // Ten in a row are rare here, and so is the last of eight copies.
                        Some(WhyNot::Reliable | WhyNot::Worn) => 0,
                        Some(other) => panic!("{other:?}"),
                    }] += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&many| many > 20), "{seen:?}");
}
