//! The engine with a keeper of storage: random play with losses, failures, late returns and restarts stays within the cap
//! and comes to its end.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Cause, ClassId, Dispatch, Engine, Entry, Expected, Frozen, Keeper, KindId, Memory, Moment,
    Needs, Offer, Order, Outbox, Outcome, Placing, PoolId, Position, Refusal, Rules, Span, Task,
    Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;
use cairn_theory::storage::{Storage, Stored};

fn random_storage(dag: &Dag, random: &mut Random) -> Storage {
    let mut files = Vec::new();
    for task in dag.tasks() {
        let consumers = dag.children(task).iter().filter(|_| random.below(5) < 4);
        let consumers = consumers.copied().collect();
        files.push(Stored {
            producer: Some(task),
            bytes: 1 + random.below(20) as u64,
            is_kept: random.below(9) == 0,
            consumers,
        });
    }
    let scratch = dag.tasks().map(|_| random.below(3) as u64).collect();
    Storage::new(dag.len(), files, scratch).unwrap().0
}

fn random_ranks(dag: &Dag, random: &mut Random) -> Order {
    let mut order: Vec<TaskId> = dag.tasks().collect();
    random.shuffle(&mut order);
    Order::of(&order)
}

/// Two keepers that learnt the same in different ways know the same.
fn check_books(dag: &Dag, engine: &Engine<Frozen<'_>>, fresh: &Keeper) {
    let keeper = engine.keeper().unwrap();
    if keeper.is_stale() {
        return;
    }
    let mut again = fresh.clone();
    again.sync(|t| engine.position().standing(t.into()).unwrap());
    assert_eq!(keeper.used(), again.used());
    let waits = |t: &TaskId| {
        let standing = engine.position().standing((*t).into()).unwrap();
        matches!(standing, Standing::Waiting | Standing::Eligible)
    };
    let mut waiting = keeper.waiting();
    waiting.sort_unstable();
    assert!(dag.tasks().filter(waits).eq(waiting));
}

#[test]
fn losses_failures_and_restarts_never_pass_the_cap_and_never_stop_the_run() {
    let mut held_back = 0;
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(14), random.below(5), seed);
        let storage = random_storage(&dag, &mut random);
        let order = dag.topological_order();
        let cap = storage.peak(order) + random.below(10) as u64;
        let fresh = Keeper::new(storage, order, cap).unwrap();
        let rules = Rules {
            retries: 1_000,
            losses: 1_000,
            ..Rules::default()
        };
        let ranks = random_ranks(&dag, &mut random);
        let begin = || {
            let mut engine = Engine::new(Frozen::new(&dag), rules.clone(), ranks.clone());
            engine.keep(fresh.clone());
            engine
        };
        let mut engine = begin();
        let mut log: Vec<Entry> = Vec::new();
        let mut out = Outbox::default();
        let mut now = Moment(0);
        engine.open(now, &mut out);
        let mut worker = engine.join(now, "w", Offer::cpus(5), &mut out);
        let mut trouble = 4 * dag.len();
        let mut rounds = 0;
        while !engine.is_over() {
            rounds += 1;
            assert!(rounds < 10_000, "stuck");
            now = now + Span::seconds(1);
            let may_fail = trouble > 0;
            trouble = trouble.saturating_sub(1);
            match random.below(10) {
                0 if may_fail => {
                    // All that the worker has comes back undone.
                    let _ = engine.leave(now, worker, &mut out);
                    worker = engine.join(now, "w", Offer::cpus(5), &mut out);
                }
                1 if may_fail => {
                    let safe = engine.keeper_mut().unwrap().waiting();
                    log.append(&mut out.entries);
                    engine = begin();
                    log.iter().for_each(|entry| engine.replay(entry).unwrap());
                    engine.open(now, &mut out);
                    let keeper = engine.keeper_mut().unwrap();
                    if !keeper.is_safe() {
                        // The driver has another order at hand.
                        keeper.adopt(&safe).unwrap();
                    }
                }
                2..6 => match engine.ask(now, worker, 1 + random.below(3), &mut out) {
                    Ok(granted) => assert!(!granted.is_empty()),
                    Err(Refusal::Storage { missing }) => {
                        assert_eq!(missing, 0, "the order is safe");
                        assert!(engine.held().count() > 0, "something runs");
                        held_back += 1;
                    }
                    Err(Refusal::NothingEligible) => assert!(engine.held().count() > 0),
                    Err(Refusal::Full | Refusal::Finished) => (),
                    Err(other) => panic!("{other}"),
                },
                _ => {
                    let mut held: Vec<_> = engine.held().collect();
                    held.sort_unstable();
                    if !held.is_empty() {
                        let (_, task, token) = held[random.below(held.len())];
                        let outcome = match may_fail && random.below(4) == 0 {
                            true => Outcome::Failed {
                                exit: 1,
                                cause: Cause::Exit,
                            },
                            false => Outcome::Executed,
                        };
                        engine.give_back(now, task, token, outcome, &mut out);
                    }
                }
            }
            let keeper = engine.keeper().unwrap();
            assert!(keeper.used() <= cap, "{} of {cap}", keeper.used());
            check_books(&dag, &engine, &fresh);
        }
        for task in dag.tasks() {
            assert_eq!(
                engine.position().standing(task.into()),
                Ok(Standing::Executed)
            );
        }
    }
    assert!(held_back > 1_000, "{held_back}");
}

#[test]
fn cancelled_failed_and_reopened_tasks_leave_true_books() {
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(12), random.below(5), seed);
        let storage = random_storage(&dag, &mut random);
        let order = dag.topological_order();
        let cap = storage.peak(order) + random.below(10) as u64;
        let fresh = Keeper::new(storage, order, cap).unwrap();
        let ranks = random_ranks(&dag, &mut random);
        let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), ranks);
        engine.keep(fresh.clone());
        let mut out = Outbox::default();
        let mut now = Moment(0);
        engine.open(now, &mut out);
        let worker = engine.join(now, "w", Offer::cpus(3), &mut out);
        for _ in 0..8 * dag.len() {
            now = now + Span(1);
            let task = Task(random.below(dag.len()) as u64);
            match random.below(12) {
                0 => drop(engine.cancel(now, task, &mut out)),
                1 => drop(engine.revive(now, task, &mut out)),
                2 => drop(engine.reopen(now, task, &mut out)),
                3..7 => drop(engine.ask(now, worker, 2, &mut out)),
                _ => {
                    let mut held: Vec<_> = engine.held().collect();
                    held.sort_unstable();
                    if let Some(&(_, task, token)) = held.first() {
                        let outcome = match random.below(4) {
                            0 => Outcome::Failed {
                                exit: 1,
                                cause: Cause::Exit,
                            },
                            1 => Outcome::GivenBack,
                            _ => Outcome::Executed,
                        };
                        engine.give_back(now, task, token, outcome, &mut out);
                    }
                }
            }
            check_books(&dag, &engine, &fresh);
        }
        // Whoever is stuck says what is missing.
        let idle = engine.held().count() == 0;
        if let (true, Err(Refusal::Storage { missing })) =
            (idle, engine.ask(now, worker, 1, &mut out))
        {
            assert!(missing > 0);
        }
    }
}

/// Room is never kept for a wide task that the disk has no room for: whoever must go first would wait for it.
#[test]
fn wide_tasks_speeds_and_a_cap_never_stop_the_run() {
    let mut refused = 0;
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let dag = random_dag(10 + random.below(40), random.below(3), seed);
        let storage = random_storage(&dag, &mut random);
        let order = dag.topological_order();
        let cap = storage.peak(order) + random.below(5) as u64;
        let needs = |cpus, pool| Needs {
            cpus,
            pools: if pool {
                vec![(PoolId(0), 2)]
            } else {
                Vec::new()
            },
            ..Needs::default()
        };
        let rules = Rules {
            silence: Span::seconds(100_000),
            classes: vec![needs(1, false), needs(4, false), needs(1, true)],
            class_of: dag
                .tasks()
                .map(|_| ClassId::new(random.below(4).saturating_sub(1)))
                .collect(),
            pools: vec![2],
            ..Rules::default()
        };
        let ranks = random_ranks(&dag, &mut random);
        let mut engine = Engine::new(Frozen::new(&dag), rules, ranks);
        engine.keep(Keeper::new(storage, order, cap).unwrap());
        if seed % 3 > 0 {
            let expected = Expected {
                seconds: vec![Some(5.0); dag.len()],
                kind: vec![KindId(0); dag.len()],
                kinds: vec!["a".to_owned()],
            };
            engine.watch(Memory::default(), Placing::BySpeed, |memory| {
                Dispatch::new(&dag, &expected, memory, dag.tasks())
            });
        }
        let mut out = Outbox::default();
        let mut now = Moment(0);
        engine.open(now, &mut out);
        let workers: Vec<WorkerId> = (0..1 + seed % 2)
            .map(|w| engine.join(now, &w.to_string(), Offer::cpus(4), &mut out))
            .collect();
        let mut running: Vec<(Task, Token)> = Vec::new();
        let (mut executed, mut idle) = (0, 0);
        while executed < dag.len() {
            now = now + Span::seconds(1);
            for &worker in &workers {
                match engine.ask(now, worker, 1 + random.below(4), &mut out) {
                    Ok(given) => running.extend(given.iter().map(|g| (g.task, g.token))),
                    Err(Refusal::Storage { .. }) => refused += 1,
                    Err(_) => (),
                }
            }
            idle = if running.is_empty() { idle + 1 } else { 0 };
            assert!(
                idle < 100,
                "seed {seed}: stuck after {executed} of {}",
                dag.len()
            );
            if !running.is_empty() && random.below(3) > 0 {
                let (task, token) = running.swap_remove(random.below(running.len()));
                engine.give_back(now, task, token, Outcome::Executed, &mut out);
                executed += 1;
            }
        }
    }
    assert!(refused > 100, "the cap was never tight: {refused}");
}
