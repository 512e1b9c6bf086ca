//! The engine of `cairn serve` as the twin of the fast list simulation: driven by virtual workers in virtual time it starts
//! the same tasks at the same moments on the same workers.

use crate::measures::What;
use crate::pool::{Crew, Pool, PoolSettings};
use crate::spread::Spread;
use crate::study::replay;
use crate::worker::Worker;
use crate::{Knows, Policy, Work, World};
use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Copies, Dispatch, Engine, Expected, Frozen, Memory, Moment, Offer, Order, Outbox, Outcome,
    Placing, Receipt, Rules, Span, Task, Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};

/// A task that a worker has: when it will be done, and as which attempt.
struct Running {
    end: f64,
    worker: usize,
    task: Task,
    token: Token,
    /// It was told to stop. Nothing comes of it, but when it would have ended, workers are asked again: what is late by then may
    /// get a copy.
    is_stopped: bool,
}

/// What starts when and where if the engine is asked.
fn by_engine(
    dag: &Dag,
    seconds: &[f64],
    speeds: &[f64],
    order: &[TaskId],
    placing: Placing,
) -> Vec<(f64, u32, TaskId)> {
    let rules = Rules {
        // Nobody is lost here, however long a task takes.
        silence: Span(u64::MAX / 4),
        copies: Copies::All,
        ..Rules::default()
    };
    let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(order));
    engine.watch(Memory::default(), placing, |memory| {
        let expected = Expected {
            seconds: seconds.iter().map(|&s| Some(s)).collect(),
            kind: Vec::new(),
            kinds: vec!["0".to_owned()],
        };
        Dispatch::new(dag, &expected, memory, order.iter().copied())
    });
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    for number in 0..speeds.len() {
        engine.join(Moment(0), &number.to_string(), Offer::cpus(1), &mut out);
    }
    let mut started = Vec::new();
    let mut running: Vec<Running> = Vec::new();
    // Who asked first is served first.
    let mut waiting: Vec<usize> = (0..speeds.len()).collect();
    let mut now = 0.0;
    loop {
        let moment = Moment((now * 1e6_f64).round() as u64);
        let asked: Vec<(WorkerId, usize)> =
            waiting.iter().map(|&w| (WorkerId(w as u32), 1)).collect();
        let answers = engine.ask_together(moment, &asked, &mut out);
        let mut still = Vec::new();
        for (&worker, answer) in waiting.iter().zip(answers) {
            match answer.ok().and_then(|granted| granted.first().copied()) {
                None => still.push(worker),
                Some(granted) => {
                    let task = granted.task.frozen().expect("a task of the dag");
                    started.push((now, worker as u32, task));
                    running.push(Running {
                        end: now + seconds[task.index()] / speeds[worker],
                        worker,
                        task: granted.task,
                        token: granted.token,
                        is_stopped: false,
                    });
                }
            }
        }
        waiting = still;
        if stop(&mut running, &mut waiting, &mut out) {
            continue;
        }
        if engine.is_over() {
            break;
        }
        let first = running.iter().map(|r| r.end).fold(f64::INFINITY, f64::min);
        let Some(next) = running.iter().position(|r| r.end == first) else {
            break;
        };
        let Running {
            end,
            worker,
            task,
            token,
            is_stopped,
        } = running.swap_remove(next);
        now = end;
        if is_stopped {
            continue;
        }
        let moment = Moment((now * 1e6_f64).round() as u64);
        let receipt = engine.give_back(moment, task, token, Outcome::Executed, &mut out);
        assert_eq!(receipt, Receipt::Accepted);
        waiting.push(worker);
        stop(&mut running, &mut waiting, &mut out);
    }
    assert!(engine.is_over());
    started
}

/// Whoever is to stop does so and asks again. Whether anybody was.
fn stop(running: &mut [Running], waiting: &mut Vec<usize>, out: &mut Outbox) -> bool {
    let mut has_stopped = false;
    for (_, task, token) in out.kills.drain(..) {
        let is_it = |r: &&mut Running| (r.task, r.token) == (task, token);
        if let Some(stopped) = running.iter_mut().find(is_it) {
            stopped.is_stopped = true;
            waiting.push(stopped.worker);
            has_stopped = true;
        }
    }
    has_stopped
}

fn compare(seed: u64, placing: Placing) {
    let mut random = Random::new(seed);
    let dag = random_dag(1 + random.below(40), seed as usize % 5, seed);
    let mut order: Vec<TaskId> = dag.tasks().collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let seconds: Vec<f64> = (dag.tasks())
        .map(|_| 100.0 + random.below(1_000_000) as f64 / 7.0)
        .collect();
    let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
    let work = Work::known(&known).unwrap();
    let settings = PoolSettings {
        workers: 1 + random.below(6) as u32,
        crew: Crew {
            speed: Spread::LogNormal {
                median: 1.0,
                sigma: 0.7,
            },
            ..Crew::default()
        },
        ..PoolSettings::default()
    };
    let pool = Pool::new(settings.clone()).unwrap();
    let world = World::pool(settings).unwrap();
    let policy = match placing {
        Placing::BySpeed => Policy::aware(
            "aware",
            &order,
            Knows {
                handshake: false,
                ..Knows::default()
            },
        ),
        _ => Policy::order("order", &order),
    };
    let played = replay(&dag, &work, &world, &policy, seed, 0).unwrap();
    let listed: Vec<(f64, u32, TaskId)> = (played.events.iter())
        .filter_map(|event| match event.what {
            What::Started(task) => Some((event.time, event.worker, task)),
            _ => None,
        })
        .collect();
    let speeds: Vec<f64> = (0..pool.first_workers())
        .map(|number| Worker::new(&pool, number, 0.0, seed, 0).speed)
        .collect();
    let asked = by_engine(&dag, &seconds, &speeds, &order, placing);
    // What starts at one moment starts in any order.
    let [asked, listed] = [asked, listed].map(|mut all| {
        all.sort_by_key(|&(at, worker, _)| ((at * 1e3).round() as u64, worker));
        all
    });
    assert_eq!(asked.len(), listed.len(), "seed {seed}");
    for (ours, theirs) in asked.iter().zip(&listed) {
        assert_eq!((ours.1, ours.2), (theirs.1, theirs.2), "seed {seed}");
        assert!((ours.0 - theirs.0).abs() < 1e-3, "seed {seed}");
    }
}

#[test]
fn the_list_simulation_is_the_engine_in_virtual_time() {
    (0..1500).for_each(|seed| compare(seed, Placing::ByOrder));
}

#[test]
fn the_simulated_rule_is_the_engine_s() {
    (0..1500).for_each(|seed| compare(seed, Placing::BySpeed));
}
