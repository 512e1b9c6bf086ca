//! Pools of volunteers, played by the engine of `cairn serve`: what its devices cost, and what they prevent. Of twenty, six lie (two
//! of them tell the same lie), four vanish, two are slow: with the devices on every result is right, in every run; with them off the
//! same runs end wrong, or never.
//!
//! `cargo test -p cairn-sim --test volunteers -- --nocapture` prints what that costs; `CAIRN_SEEDS=1000` plays more runs.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{Random, random_dag};
use cairn_sim::{
    Breaks, Crew, Lease, Link, Measures, Natures, Policy, PoolSettings, Replay, Serving, Spread,
    Terms, Trace, What, Workload, World, replay,
};

const MIXED: Natures = Natures {
    liars: 0.3,
    colluding: 2,
    vanishing: 0.2,
    vanish_within: 700.0,
    slow: 0.1,
};

/// Volunteers of whom more than half of a quorum must agree; nobody's result counts alone unless trust is earned.
fn volunteers(quorum: u32, earns: bool) -> Serving {
    Serving {
        silence: 15.0,
        volunteers: Some(Terms {
            quorum,
            replicate_all: !earns,
            deadline: 600.0,
            kinds: Vec::new(),
        }),
    }
}

const TRUSTED: Serving = Serving {
    silence: 15.0,
    volunteers: None,
};

fn pool(workers: u32, natures: Natures) -> PoolSettings {
    PoolSettings {
        workers,
        crew: Crew {
            natures,
            lease: Some(Lease {
                factor: 3.0,
                at_least: 60.0,
            }),
            ..Crew::default()
        },
        ..PoolSettings::default()
    }
}

fn play(dag: &Dag, settings: PoolSettings, serving: Serving, seed: u64) -> Replay {
    let order: Vec<TaskId> = dag.topological_order().to_vec();
    let work = Workload::drawn(Spread::Uniform {
        low: 20.0,
        high: 120.0,
    });
    let world = World::pool(settings).unwrap();
    let policy = Policy::served("served", &order, serving);
    replay(dag, &work.unwrap(), &world, &policy, seed, 0).unwrap()
}

#[derive(Debug, Default)]
struct Sums {
    tasks: usize,
    begun: f64,
    wrong: f64,
    undone: f64,
    spoilt: usize,
    endless: usize,
    bad: usize,
    seconds: f64,
}

#[allow(clippy::print_stdout, reason = "what the devices cost is to be seen")]
fn play_all(name: &str, serving: &Serving, seeds: u64) -> Sums {
    let mut sums = Sums::default();
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let dag = random_dag(40 + random.below(60), 1 + random.below(3), seed);
        let Measures {
            results, makespan, ..
        } = play(&dag, pool(20, MIXED), serving.clone(), seed).measures;
        let done = dag.len() as f64 - results.undone;
        sums.tasks += dag.len();
        sums.begun += results.executions * done.max(1.0);
        sums.wrong += results.wrong;
        sums.undone += results.undone;
        sums.spoilt += usize::from(results.wrong > 0.0);
        sums.endless += usize::from(results.endless > 0.0);
        sums.bad += usize::from(results.wrong + results.endless > 0.0);
        sums.seconds += makespan;
    }
    println!(
        "{name}: {seeds} runs of {} tasks; {} results wrong in {} runs, {} tasks undone, {} runs without end; {:.2} executions a \
         task; {:.0} s a run",
        sums.tasks,
        sums.wrong,
        sums.spoilt,
        sums.undone,
        sums.endless,
        sums.begun / (sums.tasks as f64 - sums.undone).max(1.0),
        sums.seconds / seeds as f64,
    );
    sums
}

#[test]
fn liars_vanishers_and_slow_ones_spoil_nothing_and_without_the_devices_everything() {
    let seeds = std::env::var("CAIRN_SEEDS").ok();
    let seeds = seeds.and_then(|n| n.parse().ok()).unwrap_or(100);
    // Three equal results count: two who tell one lie are too few, whatever they do.
    let sure = play_all("quorum 4, all replicated", &volunteers(4, false), seeds);
    let none = |sums: &Sums| assert_eq!((sums.wrong, sums.undone, sums.endless), (0.0, 0.0, 0));
    none(&sure);
    // With earned trust it is as good as sure, since these liars lie from the beginning, and costs less.
    let earned = play_all("quorum 4", &volunteers(4, true), seeds);
    none(&earned);
    assert!(earned.begun < 0.9 * sure.begun, "{earned:?} {sure:?}");
    // Two equal results: the two who collude meet now and then, and then their lie counts. Everything else is right.
    let pairs = play_all("quorum 2, all replicated", &volunteers(2, false), seeds);
    assert!(pairs.endless == 0 && pairs.spoilt > 0, "{pairs:?}");
    assert!(pairs.begun < sure.begun, "{pairs:?} {sure:?}");
    // Without any of it.
    let off = play_all("all trusted", &TRUSTED, seeds);
    assert_eq!(off.bad as u64, seeds, "{off:?}");
}

/// A copy in a log: whose it is, since when, and since when its worker is gone with it.
#[derive(Clone, Copy)]
struct Copy {
    worker: u32,
    since: f64,
    lost: Option<f64>,
    is_late: bool,
}

/// What any log of volunteers must be. How many were late though their workers were there.
fn check_log(dag: &Dag, played: &Replay, agree: usize) -> usize {
    // By task: who has it, and who returned it.
    let mut has: Vec<Vec<Copy>> = vec![Vec::new(); dag.len()];
    let mut returned: Vec<Vec<u32>> = vec![Vec::new(); dag.len()];
    let mut finished = vec![false; dag.len()];
    let (mut begun, mut late, mut came) = (0, 0, Vec::new());
    let take = |copies: &mut Vec<Copy>, worker| {
        let is_it = |c: &Copy| c.worker == worker && c.lost.is_none();
        let at = copies.iter().position(is_it);
        copies.remove(at.expect("it has a copy"));
    };
    for event in &played.events {
        let (worker, now) = (event.worker, event.time);
        match event.what {
            What::Up => came.push((worker, now)),
            What::Started(task) => {
                begun += 1;
                let parents = dag.parents(task);
                assert!(parents.iter().all(|p| finished[p.index()]));
                assert!(!finished[task.index()]);
                let mut own = has[task.index()].iter().filter(|c| c.worker == worker);
                assert!(own.all(|c| c.is_late), "one copy a worker");
                assert!(!returned[task.index()].contains(&worker), "one voice each");
                has[task.index()].push(Copy {
                    worker,
                    since: now,
                    lost: None,
                    is_late: false,
                });
            }
            What::Lost(task) => {
                let mut own = has[task.index()].iter_mut();
                let own = own.find(|c| c.worker == worker && c.lost.is_none());
                own.expect("it has a copy").lost = Some(now);
            }
            What::Expired(task) => {
                let copies = &mut has[task.index()];
                let mut own = copies
                    .iter_mut()
                    .filter(|c| c.worker == worker && !c.is_late);
                let copy = own.next().expect("a copy that counts");
                copy.is_late = true;
                // Its time is up; or it is missed by silence, or since its worker is back without it.
                let is_due = now >= copy.since + 300.0 - 1e-3;
                let is_missed = copy.lost.is_some_and(|at| now >= at + 15.0 - 1e-6);
                let is_back = copy.lost.is_some() && came.contains(&(worker, now));
                assert!(is_due || is_missed || is_back);
                late += usize::from(copy.lost.is_none());
            }
            What::Returned(task) => {
                take(&mut has[task.index()], worker);
                returned[task.index()].push(worker);
            }
            What::Stopped(task) => take(&mut has[task.index()], worker),
            What::Finished(task) => {
                assert!(!std::mem::replace(&mut finished[task.index()], true));
                assert!(returned[task.index()].contains(&worker), "its own");
                assert!(returned[task.index()].len() >= agree, "enough of them");
            }
            What::Down => (),
        }
    }
    let done = finished.iter().filter(|&&f| f).count();
    let results = played.measures.results;
    assert_eq!(results.undone, (dag.len() - done) as f64);
    let executions = f64::from(begun) / done.max(1) as f64;
    assert!((results.executions - executions).abs() < 1e-9);
    late
}

#[test]
fn no_result_counts_before_enough_volunteers_have_returned_it() {
    let (mut seen, mut late) = ([0.0; 3], 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let dag = random_dag(1 + random.below(30), seed as usize % 4, seed);
        let mut natures = MIXED;
        natures.liars = [0.0, 0.2, 0.5][random.below(3)];
        let mut settings = pool(3 + random.below(12) as u32, natures);
        if random.below(2) == 0 {
            settings.breaks = Some(Breaks {
                up: Spread::Exponential { mean: 900.0 },
                down: Spread::Exponential { mean: 200.0 },
            });
        }
        if random.below(3) == 0 {
            settings.joins = Some(300.0);
        }
        settings.crew.cores = 1 + random.below(3) as u32;
        let quorum = 2 + random.below(4) as u32;
        let played = play(&dag, settings.clone(), volunteers(quorum, false), seed);
        late += check_log(&dag, &played, (quorum / 2 + 1) as usize);
        let results = played.measures.results;
        assert!(results.undone > 0.0 || results.endless == 0.0);
        assert!(natures.liars > 0.0 || results.wrong == 0.0);
        let again = play(&dag, settings, volunteers(quorum, false), seed);
        assert_eq!(played, again, "seed {seed}");
        for (seen, now) in seen
            .iter_mut()
            .zip([results.wrong, results.undone, results.endless])
        {
            *seen += now;
        }
    }
    // All of it happens: too few for the quorum, too many liars.
    assert!(late > 0 && seen.iter().all(|&s| s > 0.0), "{late} {seen:?}");
}

/// The list simulation and the engine are twins where workers are trusted and stay.
#[test]
fn a_list_that_is_served_is_the_list_simulation() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let dag = random_dag(1 + random.below(40), seed as usize % 5, seed);
        let mut order: Vec<TaskId> = dag.tasks().collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let natures = Natures {
            liars: [0.0, 0.4][random.below(2)],
            slow: 0.3,
            ..Natures::default()
        };
        let mut settings = pool(1 + random.below(6) as u32, natures);
        settings.crew.lease = None;
        settings.crew.speed = Spread::LogNormal {
            median: 1.0,
            sigma: 0.7,
        };
        if random.below(2) == 0 {
            settings.joins = Some(50.0 + random.below(500) as f64);
        }
        settings.crew.link = (random.below(2) == 0).then_some(Link {
            bandwidth: Spread::Constant(1.0),
            latency: Spread::Constant(3.0),
        });
        settings.crew.cores = 1 + random.below(3) as u32;
        let work = Workload::drawn(Spread::Uniform {
            low: 20.0,
            high: 1200.0,
        });
        let bytes = (0..dag.arc_count()).map(|_| random.below(50) as f64);
        let work = work.unwrap().with_bytes(bytes.collect()).unwrap();
        let world = World::pool(settings).unwrap();
        let list = Policy::order("list", &order);
        let served = Policy::served("served", &order, TRUSTED);
        let [list, served] = [list, served].map(|policy| {
            let played = replay(&dag, &work, &world, &policy, seed, 0).unwrap();
            let mut events = played.events;
            // What happens at one moment happens in any order.
            events.sort_by_key(|e| (e.time.to_bits(), e.worker, format!("{:?}", e.what)));
            (events, played.measures)
        });
        assert_eq!(list.0, served.0, "seed {seed}");
        assert_eq!(list.1.results, served.1.results, "seed {seed}");
        assert_eq!(list.1.makespan, served.1.makespan, "seed {seed}");
    }
}

#[test]
fn trust_that_is_earned_costs_less_than_copies_of_all() {
    let dag = Dag::from_arcs(300, Vec::new()).unwrap();
    let of = |serving| {
        play(&dag, pool(10, Natures::default()), serving, 1)
            .measures
            .results
    };
    let all = of(volunteers(2, false));
    assert!((2.0..2.2).contains(&all.executions), "{all:?}");
    let earned = of(volunteers(2, true));
    assert!((1.2..1.8).contains(&earned.executions), "{earned:?}");
    assert_eq!(of(TRUSTED).executions, 1.0);
}

#[test]
fn who_falls_silent_is_missed_and_who_does_nothing_is_overtaken() {
    let dag = Dag::from_arcs(12, Vec::new()).unwrap();
    let natures = Natures {
        vanishing: 0.5,
        vanish_within: 1.0,
        ..Natures::default()
    };
    // Of eight, two fall silent at once and two more return nothing.
    let played = play(&dag, pool(8, natures), volunteers(2, false), 3);
    let late = |what: &What| matches!(what, What::Expired(_));
    let times = played.events.iter().filter(|e| late(&e.what));
    let times: Vec<f64> = times.map(|e| e.time).collect();
    assert_eq!(times.len(), 2, "{times:?}");
    assert!(
        times.iter().all(|&t| (15.0..16.0).contains(&t)),
        "{times:?}"
    );
    let results = played.measures.results;
    assert_eq!((results.undone, results.endless), (0.0, 0.0));
    // Others, who are fast and have nothing to do, get copies of what those have, long before it is late.
    assert!(played.measures.makespan < 600.0, "{:?}", played.measures);
    // Where all are trusted, what the two have is never done.
    let trusted = play(&dag, pool(8, natures), TRUSTED, 3).measures;
    assert_eq!(
        (trusted.results.undone, trusted.results.endless),
        (2.0, 1.0)
    );
    assert!(trusted.makespan < 600.0, "{trusted:?}");
}

/// A year in which nobody is there is no reason to give up on those who come after it; nor is one of waiting for somebody who is
/// known to come.
#[test]
fn who_comes_after_a_long_gap_is_waited_for() {
    let dag = Dag::from_arcs(6, Vec::new()).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let crew = Crew {
        lease: Some(Lease {
            factor: 3.0,
            at_least: 60.0,
        }),
        ..Crew::default()
    };
    let work = Workload::drawn(Spread::Constant(50.0)).unwrap();
    let year = 365.0 * 86_400.0;
    for (rows, undone) in [
        // Both go before they are done, and come back.
        (
            format!(
                "a,0,70\nb,0,70\na,{year},{}\nb,{year},{}",
                year + 900.0,
                year + 900.0
            ),
            0.0,
        ),
        // One waits, the second comes after a year.
        (
            format!("a,0,{}\nb,{year},{}", year + 900.0, year + 900.0),
            0.0,
        ),
        // One waits for a second who never comes again.
        (format!("a,0,{year}\nb,0,10"), 6.0),
    ] {
        let world = World::trace(Trace::parse(&rows).unwrap(), false, crew.clone()).unwrap();
        let policy = Policy::served("served", &order, volunteers(2, false));
        let results = replay(&dag, &work, &world, &policy, 1, 0)
            .unwrap()
            .measures
            .results;
        assert_eq!(results.undone, undone, "{rows}");
        assert_eq!(results.endless > 0.0, undone > 0.0, "{rows}: {results:?}");
    }
}
