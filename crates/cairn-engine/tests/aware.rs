//! The engine with workers of unequal speed: laws under random play with losses and restarts, and what it is for.

use cairn_dag::Dag;
use cairn_engine::{
    ClassId, Copies, Dispatch, Engine, Entry, Event, Expected, Frozen, Granted, Keeper, KindId,
    Memory, Moment, Needs, Offer, Order, Outbox, Outcome, Placing, PoolId, Position, Receipt,
    Refusal, Release, Rules, Span, Task, Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;
use cairn_theory::storage::Storage;
use std::collections::{BTreeMap, BTreeSet};

fn expected(dag: &Dag, seconds: f64) -> Expected {
    Expected {
        seconds: vec![Some(seconds); dag.len()],
        kind: dag.tasks().map(|t| KindId(t.0 % 3)).collect(),
        kinds: ["a", "b", "c"].map(String::from).to_vec(),
    }
}

fn aware<'d>(dag: &'d Dag, rules: &Rules, placing: Placing) -> Engine<Frozen<'d>> {
    let mut engine = Engine::new(Frozen::new(dag), rules.clone(), Order::AsNumbered);
    watch(&mut engine, dag, placing);
    engine
}

fn watch(engine: &mut Engine<Frozen<'_>>, dag: &Dag, placing: Placing) {
    engine.watch(Memory::default(), placing, |memory| {
        Dispatch::new(dag, &expected(dag, 5.0), memory, dag.tasks())
    });
}

/// Everything random, to the end: every run ends, and events alone rebuild the state with all that was learnt.
#[test]
fn runs_end_and_events_rebuild_what_was_learnt() {
    let (mut held, mut copied, mut displaced) = (0, 0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let dag = random_dag(24, seed as usize % 5, seed);
        let mut rules = Rules {
            losses: 1_000,
            retries: 1_000,
            copies: if seed % 2 == 0 {
                Copies::All
            } else {
                Copies::Never
            },
            ..Rules::default()
        };
        if seed % 3 == 0 {
            let wide = Needs {
                cpus: 2,
                ..Needs::default()
            };
            rules.classes.push(wide);
            rules.class_of = dag
                .tasks()
                .map(|t| ClassId::new(usize::from(t.0 % 5 == 0)))
                .collect();
        }
        let mut engine = aware(&dag, &rules, Placing::BySpeed);
        let mut log: Vec<Entry> = Vec::new();
        let mut out = Outbox::default();
        let mut now = Moment(0);
        engine.open(now, &mut out);
        // Who has what, and until when; speeds from 1 to 8.
        let mut running: Vec<(u64, WorkerId, Task, Token)> = Vec::new();
        let mut speeds: Vec<u64> = Vec::new();
        let mut rounds = 0;
        while !engine.is_over() {
            rounds += 1;
            assert!(rounds < 20_000, "seed {seed} does not end");
            now = now + Span::seconds(random.below(4) as u64);
            engine.wake(now, &mut out);
            match random.below(30) {
                0..=2 if speeds.len() < 12 => {
                    let mut offer = Offer::cpus(1 + random.below(3) as u32);
                    let speed = 1 + random.below(8) as u64;
                    offer.benchmark = (random.below(2) == 0).then_some(1000 * speed as u32);
                    let name = format!("w{}", random.below(6));
                    engine.join(now, &name, offer, &mut out);
                    speeds.push(speed);
                }
                3 if random.below(6) == 0 && !speeds.is_empty() => {
                    let worker = WorkerId(random.below(speeds.len()) as u32);
                    let _ = engine.leave(now, worker, &mut out);
                }
                4 if random.below(8) == 0 => {
                    log.append(&mut out.entries);
                    let mut again = aware(&dag, &rules, Placing::BySpeed);
                    log.iter().for_each(|entry| again.replay(entry).unwrap());
                    assert_eq!(again.snapshot(), engine.snapshot(), "seed {seed}");
                    engine = again;
                    engine.open(now, &mut out);
                }
                5 if random.below(8) == 0 => {
                    let snapshot = engine.snapshot();
                    let position = Frozen::new(&dag);
                    engine = Engine::restore(position, rules.clone(), Order::AsNumbered, snapshot)
                        .unwrap();
                    // What events before the snapshot taught is remembered, though not to the last digit.
                    watch(&mut engine, &dag, Placing::BySpeed);
                    log.clear();
                    out.entries.clear();
                    engine.open(now, &mut out);
                    break;
                }
                _ => (),
            }
            let mut due = Vec::new();
            running.retain(|&(at, worker, task, token)| {
                let is_due = at <= now.0;
                if is_due {
                    due.push((worker, task, token));
                }
                !is_due
            });
            for (worker, task, token) in due {
                let outcome = match random.below(12) {
                    0 => Outcome::GivenBack,
                    1 => Outcome::Failed {
                        exit: 1,
                        cause: cairn_engine::Cause::Exit,
                    },
                    _ => Outcome::Executed,
                };
                let receipt = engine.give_back(now, task, token, outcome, &mut out);
                assert_ne!(receipt, Receipt::Unknown, "{worker:?}");
            }
            // Most who are told to stop do so; the others come back in vain.
            for (_, task, token) in std::mem::take(&mut out.kills) {
                if random.below(4) > 0 {
                    running.retain(|&(_, _, t, other)| (t, other) != (task, token));
                }
            }
            let here: Vec<(WorkerId, usize)> = (engine.workers().numbered())
                .filter(|(_, w)| w.is_here)
                .map(|(i, _)| (WorkerId(i as u32), 1 + random.below(3)))
                .collect();
            for (answer, &(worker, _)) in
                (engine.ask_together(now, &here, &mut out).iter()).zip(&here)
            {
                match answer {
                    Err(Refusal::KeptFor {
                        task,
                        worker: other,
                    }) => {
                        held += 1;
                        let standing = engine.position().standing(*task);
                        assert!(matches!(standing, Ok(Standing::Eligible)), "{standing:?}");
                        assert!(engine.workers()[other.0 as usize].is_here);
                    }
                    Err(_) => (),
                    Ok(granted) => {
                        for g in granted {
                            // Now and then something goes wrong, and it takes very long.
                            let times = if random.below(6) == 0 { 12 } else { 1 };
                            let seconds = times * (5_000_000 + 1_000_000 * (g.task.0 % 7))
                                / speeds[worker.0 as usize];
                            running.push((now.0 + seconds, worker, g.task, g.token));
                        }
                    }
                }
            }
        }
        log.append(&mut out.entries);
        let mut live: BTreeMap<Task, Vec<Token>> = BTreeMap::new();
        for entry in &log {
            match entry.event {
                Event::Leased { task, token, .. } => {
                    let all = live.entry(task).or_default();
                    copied += usize::from(!all.is_empty());
                    all.push(token);
                    let most = if rules.copies == Copies::All { 3 } else { 1 };
                    assert!(all.len() <= most, "seed {seed}");
                }
                Event::Released {
                    task, token, why, ..
                } => {
                    let all = live.entry(task).or_default();
                    if why == Release::Redundant {
                        displaced += 1;
                        assert_ne!(all.first(), Some(&token), "the oldest goes on");
                    }
                    all.retain(|&other| other != token);
                }
                Event::Failed { task, token, .. } => {
                    live.entry(task).or_default().retain(|&t| t != token);
                }
                Event::Executed { task, .. } => drop(live.remove(&task)),
                _ => (),
            }
        }
        if engine.is_over() {
            assert_eq!(
                engine.position().count(Standing::Executed),
                Some(dag.len() as u64)
            );
        }
    }
    assert!(
        held > 100,
        "tasks were hardly ever kept for anybody: {held}"
    );
    assert!(copied > 100 && displaced > 2, "{copied} {displaced}");
}

/// Plays to the end in virtual time: seconds until all is executed.
fn makespan(dag: &Dag, speeds: &[u32], handshake: bool, placing: Placing) -> f64 {
    let mut engine = aware(dag, &Rules::default(), placing);
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    let workers: Vec<WorkerId> = (speeds.iter().enumerate())
        .map(|(i, &speed)| {
            let mut offer = Offer::cpus(1);
            offer.benchmark = handshake.then_some(1000 * speed);
            engine.join(Moment(0), &i.to_string(), offer, &mut out)
        })
        .collect();
    let mut running: Vec<(u64, WorkerId, Task, Token)> = Vec::new();
    let mut now = Moment(0);
    loop {
        let asked: Vec<(WorkerId, usize)> = workers.iter().map(|&w| (w, 1)).collect();
        for (answer, &(worker, _)) in
            (engine.ask_together(now, &asked, &mut out).iter()).zip(&asked)
        {
            for g in answer.iter().flatten() {
                let micros = 5_000_000 / u64::from(speeds[worker.0 as usize]);
                running.push((now.0 + micros, worker, g.task, g.token));
            }
        }
        running.sort_unstable();
        let Some(&(at, _, task, token)) = running.first() else {
            break;
        };
        running.remove(0);
        now = Moment(at);
        for &worker in &workers {
            let _ = engine.heartbeat(
                now,
                worker,
                &engine.workers()[worker.0 as usize].holds.clone(),
                &mut out,
            );
        }
        let receipt = engine.give_back(now, task, token, Outcome::Executed, &mut out);
        assert_eq!(receipt, Receipt::Accepted);
    }
    assert!(engine.is_over());
    now.0 as f64 / 1e6
}

/// A chain beside many short tasks: the fast worker must get the chain, and is waited for.
#[test]
fn a_chain_goes_to_the_fast_worker() {
    let chain = (0..10u32).map(|i| (i, i + 1));
    let dag = Dag::from_arcs(11, chain.collect()).unwrap();
    let plain = makespan(&dag, &[1, 8], true, Placing::ByOrder);
    let told = makespan(&dag, &[1, 8], true, Placing::BySpeed);
    assert!(told <= 11.0 * 5.0 / 8.0 + 1e-3, "{told}");
    assert!(plain > 2.0 * told, "{plain} {told}");
}

#[test]
fn equal_workers_lose_nothing() {
    for seed in 0..200 {
        let dag = random_dag(40, seed as usize % 5, seed);
        let plain = makespan(&dag, &[1, 1, 1], true, Placing::ByOrder);
        let auto = makespan(&dag, &[1, 1, 1], true, Placing::WhereUneven);
        assert_eq!(
            auto, plain,
            "seed {seed}: where workers are alike, the order alone decides"
        );
        let told = makespan(&dag, &[1, 1, 1], true, Placing::BySpeed);
        // Levels may be better or worse than the numbers of the tasks; holding must not cost more than one task.
        assert!(told <= plain + 10.0, "seed {seed}: {told} {plain}");
    }
}

/// One worker is stuck with its task while the other has nothing to do. Who gets a copy, and what becomes of the first.
#[test]
fn a_late_task_is_begun_again_elsewhere() {
    let dag = Dag::from_arcs(2, Vec::new()).unwrap();
    let shared = Offer {
        is_shared: true,
        ..Offer::cpus(1)
    };
    let own = Offer::cpus(1);
    let cases = [
        (Copies::All, own.clone(), true),
        (Copies::Of(vec![true, true]), own.clone(), true),
        (Copies::Of(vec![false, false]), own.clone(), false),
        (Copies::Never, own, false),
        // Both would write to the same files at the same time.
        (Copies::All, shared, false),
    ];
    for (copies, offer, is_copied) in cases {
        let rules = Rules {
            silence: Span::seconds(10_000),
            copies: copies.clone(),
            ..Rules::default()
        };
        let mut engine = aware(&dag, &rules, Placing::BySpeed);
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        let stuck = engine.join(Moment(0), "stuck", offer, &mut out);
        let quick = engine.join(Moment(0), "quick", Offer::cpus(1), &mut out);
        let asked = [(stuck, 1), (quick, 1)];
        let given = engine.ask_together(Moment(0), &asked, &mut out);
        let first = given.iter().map(|g| g.as_ref().unwrap()[0]);
        let [late, done] = first.collect::<Vec<_>>().try_into().unwrap();
        let back = Moment(4_000_000);
        engine.give_back(back, done.task, done.token, Outcome::Executed, &mut out);
        assert!(
            engine.ask(back, quick, 1, &mut out).is_err(),
            "not late yet"
        );
        assert_eq!(engine.is_holding(), copies != Copies::Never);
        let now = Moment(60_000_000);
        let again = engine.ask(now, quick, 1, &mut out);
        assert_eq!(again.is_ok(), is_copied, "{copies:?}: {again:?}");
        let Ok(again) = again else { continue };
        assert_eq!((again[0].task, late.task), (late.task, again[0].task));
        assert_ne!(again[0].token, late.token);
        assert_eq!(engine.position().count(Standing::Leased), Some(1));
        assert!(engine.ask(now, quick, 1, &mut out).is_err(), "not twice");
        let now = Moment(64_000_000);
        let receipt = engine.give_back(now, late.task, again[0].token, Outcome::Executed, &mut out);
        assert_eq!(receipt, Receipt::Accepted);
        assert_eq!(out.kills, [(stuck, late.task, late.token)]);
        let stale = engine.heartbeat(now, stuck, &[(late.task, late.token)], &mut out);
        assert_eq!(stale, Ok(vec![(late.task, late.token)]));
        let receipt = engine.give_back(now, late.task, late.token, Outcome::Executed, &mut out);
        assert_eq!(receipt, Receipt::Already, "a success is never overwritten");
        assert!(engine.is_over());
        assert_eq!(engine.position().count(Standing::Executed), Some(2));
    }
}

/// A copy never takes a place that a wide task waits for, nor its share of a pool: without it the same worker gets one.
#[test]
fn a_copy_takes_nothing_that_an_eligible_task_waits_for() {
    // Task 0 is stuck elsewhere, task 1 keeps one of two processors busy, task 2 is wide, or needs all of a pool; task 3 has it.
    let dag = Dag::from_arcs(4, Vec::new()).unwrap();
    let of_pool = |cpus, amount| Needs {
        cpus,
        pools: vec![(PoolId(0), amount)],
        ..Needs::default()
    };
    let plain = Needs::default();
    let wide = Needs {
        cpus: 2,
        ..Needs::default()
    };
    let cases = [
        ("wide", vec![plain.clone(), wide], true),
        ("pool", vec![of_pool(1, 1), of_pool(1, 3)], true),
        ("neither", vec![plain.clone(), plain], false),
    ];
    for (name, classes, is_wide) in cases {
        let rules = Rules {
            silence: Span::seconds(10_000),
            copies: Copies::All,
            classes,
            class_of: [0, 0, 1, 1].map(ClassId::new).to_vec(),
            pools: vec![3],
            ..Rules::default()
        };
        let mut engine = aware(&dag, &rules, Placing::BySpeed);
        let mut out = Outbox::default();
        let now = Moment(0);
        engine.open(now, &mut out);
        let stuck = engine.join(now, "stuck", Offer::cpus(1), &mut out);
        let late = engine.ask(now, stuck, 1, &mut out).unwrap()[0].task;
        let quick = engine.join(now, "quick", Offer::cpus(2), &mut out);
        let busy = engine.ask(now, quick, 1, &mut out).unwrap()[0].task;
        assert_eq!(
            BTreeSet::from([late, busy]),
            BTreeSet::from([Task(0), Task(1)]),
            "{name}"
        );
        // All but the wide one are out of the way where it is to be the only one that waits.
        engine.cancel(now, Task(3), &mut out).unwrap();
        if !is_wide {
            engine.cancel(now, Task(2), &mut out).unwrap();
        }
        let now = Moment(60_000_000);
        let asked = engine.ask(now, quick, 1, &mut out);
        if is_wide {
            assert_eq!(asked, Err(Refusal::Held(Task(2))), "{name}");
        } else {
            assert_eq!(asked.unwrap()[0].task, late, "{name}");
        }
    }
}

/// Small tasks keep coming, yet the wide one starts: also where tasks go by speeds.
#[test]
fn a_wide_task_is_not_starved_where_tasks_go_by_speed() {
    let dag = Dag::from_arcs(200, Vec::new()).unwrap();
    let wide = |cpus, amount| Needs {
        cpus,
        pools: (amount > 0)
            .then_some((PoolId(0), amount))
            .into_iter()
            .collect(),
        ..Needs::default()
    };
    for (small, wide) in [(wide(1, 0), wide(4, 0)), (wide(1, 1), wide(1, 3))] {
        let rules = Rules {
            silence: Span::seconds(10_000),
            classes: vec![small, wide],
            class_of: (0..200)
                .map(|t| ClassId::new(usize::from(t == 3)))
                .collect(),
            pools: vec![3],
            ..Rules::default()
        };
        let mut engine = aware(&dag, &rules, Placing::BySpeed);
        let mut out = Outbox::default();
        let mut now = Moment(0);
        engine.open(now, &mut out);
        let worker = engine.join(now, "w", Offer::cpus(4), &mut out);
        drop(engine.ask(now, worker, 3, &mut out));
        // One task ends at a time, so that the wide one never finds enough room by chance.
        for ended in 0.. {
            assert!(ended < 40, "the wide task starts");
            if engine.lease(Task(3)).is_some() {
                break;
            }
            now = now + Span::seconds(5);
            let (task, token) = engine.workers()[0].holds[0];
            engine.give_back(now, task, token, Outcome::Executed, &mut out);
            drop(engine.ask(now, worker, 4, &mut out));
        }
    }
}

/// Nothing is reserved for a second attempt: under a cap on the disk there is none.
#[test]
fn a_cap_on_the_disk_means_no_copies() {
    let dag = Dag::from_arcs(1, Vec::new()).unwrap();
    let rules = Rules {
        silence: Span::seconds(10_000),
        copies: Copies::All,
        ..Rules::default()
    };
    for is_capped in [false, true] {
        let mut engine = aware(&dag, &rules, Placing::BySpeed);
        if is_capped {
            let (storage, _) = Storage::new(1, Vec::new(), vec![7]).unwrap();
            let keeper = Keeper::new(storage, dag.topological_order(), 100);
            engine.keep(keeper.unwrap());
        }
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        let stuck = engine.join(Moment(0), "stuck", Offer::cpus(1), &mut out);
        assert!(engine.ask(Moment(0), stuck, 1, &mut out).is_ok());
        let quick = engine.join(Moment(0), "quick", Offer::cpus(1), &mut out);
        let copy = engine.ask(Moment(60_000_000), quick, 1, &mut out);
        assert_eq!(copy.is_ok(), !is_capped);
    }
}

/// A run in which many come and go stays small, and knows again who comes back.
#[test]
fn who_is_long_gone_is_forgotten_and_its_speed_is_not() {
    let dag = Dag::from_arcs(6_000, Vec::new()).unwrap();
    let rules = Rules {
        gone: 20,
        ..Rules::default()
    };
    let mut engine = aware(&dag, &rules, Placing::BySpeed);
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    let stays = engine.join(Moment(0), "stays", Offer::cpus(1), &mut out);
    let kept = engine.ask(Moment(0), stays, 1, &mut out).unwrap()[0];
    let visit = |engine: &mut Engine<Frozen<'_>>, n: u64, seconds: u64, out: &mut Outbox| {
        let now = Moment(n * 100_000_000);
        let worker = engine.join(now, &format!("guest-{n}"), Offer::cpus(1), out);
        for task in 0..3 {
            let now = now + Span::seconds(20 * task);
            // Where something is kept for a faster one, this one gets nothing for now.
            let Ok(granted) = engine.ask(now, worker, 1, out) else {
                continue;
            };
            let back = now + Span::seconds(seconds);
            let Granted { task, token, .. } = granted[0];
            engine.give_back(back, task, token, Outcome::Executed, out);
            // It says that it lives, and so does the other.
            for w in [worker, stays] {
                let holds = engine.workers()[w.index()].holds.clone();
                drop(engine.heartbeat(back, w, &holds, out));
            }
        }
        engine.leave(now + Span::seconds(70), worker, out).unwrap();
        worker
    };
    let fast = visit(&mut engine, 1, 1, &mut out);
    for n in 2..1_500 {
        visit(&mut engine, n, 12, &mut out);
        assert!(engine.workers().kept() <= 2 * rules.gone + 2);
        let known = engine.dispatch().unwrap().book().workers();
        assert!(known <= 2 * rules.gone + 2, "{known}");
    }
    assert!(engine.workers().is_gone(fast.index()));
    assert_eq!(engine.workers().len(), 1_500);
    assert_eq!(
        engine.lease(kept.task).unwrap().0,
        stays,
        "who is here is not"
    );
    // What is replayed, or restored, has forgotten as many, and gives the next number.
    let mut again = aware(&dag, &rules, Placing::BySpeed);
    out.entries
        .iter()
        .for_each(|entry| again.replay(entry).unwrap());
    let snapshot = engine.snapshot();
    assert_eq!(again.snapshot(), snapshot);
    let text = serde_json::to_string(&snapshot).unwrap();
    assert!(text.matches("is_here").count() <= 2 * rules.gone + 2);
    let snapshot = serde_json::from_str(&text).unwrap();
    let order = Order::AsNumbered;
    let mut restored = Engine::restore(Frozen::new(&dag), rules.clone(), order, snapshot).unwrap();
    watch(&mut restored, &dag, Placing::BySpeed);
    for engine in [&mut engine, &mut again, &mut restored] {
        let now = Moment(1_500 * 100_000_000);
        engine.open(now, &mut out);
        let back = engine.join(now, "guest-1", Offer::cpus(1), &mut out);
        assert_eq!(back, WorkerId(1_500));
        let other = engine.join(now, "guest-1499", Offer::cpus(1), &mut out);
        let dispatch = engine.dispatch().unwrap();
        let speed = |w: WorkerId| dispatch.book().speed(dispatch.known_as(w));
        assert!(
            speed(back) > 3.0 * speed(other),
            "{} {}",
            speed(back),
            speed(other)
        );
    }
}

/// Speeds are learnt, too, where tasks go by the order alone, and what was learnt is there after a snapshot.
#[test]
fn speeds_are_learnt_and_survive_a_snapshot() {
    let dag = Dag::from_arcs(40, Vec::new()).unwrap();
    let rules = Rules::default();
    let mut engine = aware(&dag, &rules, Placing::ByOrder);
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    let slow = engine.join(Moment(0), "slow", Offer::cpus(1), &mut out);
    let fast = engine.join(Moment(0), "fast", Offer::cpus(1), &mut out);
    for round in 0..15u64 {
        let now = Moment(round * 10_000_000);
        for (worker, seconds) in [(slow, 9u64), (fast, 2)] {
            let granted = engine.ask(now, worker, 1, &mut out).unwrap()[0];
            let back = now + Span::seconds(seconds);
            engine.give_back(
                back,
                granted.task,
                granted.token,
                Outcome::Executed,
                &mut out,
            );
        }
    }
    let ratio = |engine: &Engine<Frozen<'_>>| {
        let dispatch = engine.dispatch().unwrap();
        let speed = |w: WorkerId| dispatch.book().speed(dispatch.known_as(w));
        speed(fast) / speed(slow)
    };
    assert!((3.5..5.5).contains(&ratio(&engine)), "{}", ratio(&engine));
    let snapshot = engine.snapshot();
    let mut again = Engine::restore(Frozen::new(&dag), rules, Order::AsNumbered, snapshot).unwrap();
    watch(&mut again, &dag, Placing::ByOrder);
    assert!((3.0..6.0).contains(&ratio(&again)), "{}", ratio(&again));
}
