//! Worlds in which the answer is known without a simulation.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::any_dag;
use cairn_sim::{
    Breaks, Crew, Halt, Lease, Link, Measure, Measures, Options, Policy, PoolSettings,
    SimulateError, Spread, Trace, What, Workload, World, replay, simulate,
};
use proptest::prelude::*;

fn all_policies() -> Vec<Policy> {
    vec![
        Policy::fifo(),
        Policy::lifo(),
        Policy::random(),
        Policy::heft(),
        Policy::peft(),
    ]
}

fn fixed_pool(workers: u32, crew: Crew) -> World {
    World::pool(PoolSettings {
        workers,
        crew,
        ..PoolSettings::default()
    })
    .unwrap()
}

fn once(dag: &Dag, work: &Workload, world: &World, policy: &Policy) -> Measures {
    replay(dag, work, world, policy, 7, 0).unwrap().measures
}

/// Durations that floats add without rounding.
fn eighths(dag: &Dag) -> (Vec<f64>, Workload) {
    let seconds: Vec<f64> = dag
        .tasks()
        .map(|t| f64::from(t.0 * 5 % 9 + 1) / 8.0)
        .collect();
    let work = Workload::known(&seconds.iter().map(|&s| Some(s)).collect::<Vec<_>>()).unwrap();
    (seconds, work)
}

fn critical_path(dag: &Dag, seconds: &[f64]) -> f64 {
    let mut end = vec![0.0f64; dag.len()];
    for &task in dag.topological_order() {
        let ready = dag
            .parents(task)
            .iter()
            .map(|p| end[p.index()])
            .fold(0.0, f64::max);
        end[task.index()] = ready + seconds[task.index()];
    }
    end.into_iter().fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn one_reliable_worker_takes_the_sum(dag in any_dag(12)) {
        let (seconds, work) = eighths(&dag);
        let sum: f64 = seconds.iter().sum();
        let worlds = [
            fixed_pool(1, Crew::default()),
            World::throttled(1, 5).unwrap(),
            World::throttled(9, 1).unwrap(),
        ];
        for world in &worlds {
            for policy in all_policies() {
                let measures = once(&dag, &work, world, &policy);
                prop_assert_eq!(measures.makespan, sum);
                prop_assert_eq!(measures.utilisation, 1.0);
                prop_assert_eq!((measures.idle, measures.stall, measures.wasted), (0.0, 0.0, 0.0));
            }
        }
    }

    #[test]
    fn workers_without_number_take_the_critical_path(dag in any_dag(12)) {
        let (seconds, work) = eighths(&dag);
        let longest = critical_path(&dag, &seconds);
        for world in [fixed_pool(12, Crew::default()), World::throttled(12, 12).unwrap()] {
            for policy in &all_policies() {
                prop_assert_eq!(once(&dag, &work, &world, policy).makespan, longest);
            }
        }
        // Huge batches at tiny gaps: every task waits at most for the next batch.
        let flood = World::batches(1e-3, 1e9).unwrap();
        let makespan = once(&dag, &work, &flood, &Policy::fifo()).makespan;
        prop_assert!(makespan >= longest && makespan < longest + 0.1, "{} {}", makespan, longest);
    }

    /// No schedule beats the critical path or the sum over the workers, and no list schedule is twice as long (Graham).
    #[test]
    fn list_schedules_keep_grahams_bound(dag in any_dag(14), workers in 1u32..6) {
        let (seconds, work) = eighths(&dag);
        let share = seconds.iter().sum::<f64>() / f64::from(workers);
        let longest = critical_path(&dag, &seconds);
        let world = fixed_pool(workers, Crew::default());
        for policy in all_policies() {
            let makespan = once(&dag, &work, &world, &policy).makespan;
            prop_assert!(makespan >= longest.max(share) - 1e-9);
            prop_assert!(makespan <= share + longest + 1e-9, "{} {}", policy.name(), makespan);
        }
    }

    /// If tasks end long before the next batch comes, the world is the batched game: each batch executes its pick.
    #[test]
    fn rare_batches_play_the_batched_game(dag in any_dag(12), seed in any::<u64>()) {
        prop_assume!(!dag.is_empty());
        let order: Vec<TaskId> = dag.tasks().rev().collect();
        let world = World::batches(1e11, 3.0).unwrap();
        let played = replay(&dag, &Workload::unit(), &world, &Policy::order("back", &order), seed, 0).unwrap();
        let mut executed = 0u32;
        let starts: Vec<(f64, TaskId)> = played.events.iter()
            .filter_map(|e| match e.what { What::Started(t) => Some((e.time, t)), _ => None }).collect();
        for batch in starts.chunk_by(|a, b| a.0 == b.0) {
            let mut eligible = cairn_oracle::eligible(&dag, executed);
            eligible.reverse();
            eligible.truncate(batch.len());
            prop_assert_eq!(batch.iter().map(|b| b.1).collect::<Vec<_>>(), eligible);
            for (_, task) in batch {
                executed |= 1 << task.0;
            }
        }
    }
}

#[test]
fn no_task_takes_no_time_and_one_task_takes_its_own() {
    let trace = Trace::parse("a,0,10").unwrap();
    let crew = Crew {
        lease: Some(Lease {
            factor: 2.0,
            at_least: 1.0,
        }),
        ..Crew::default()
    };
    let worlds = [
        World::throttled(1, 1).unwrap(),
        fixed_pool(3, Crew::default()),
        World::trace(trace, false, crew).unwrap(),
        World::batches(1.0, 1.0).unwrap(),
    ];
    let one = Dag::from_arcs(1, vec![]).unwrap();
    let work = Workload::known(&[Some(2.5)]).unwrap();
    for world in &worlds {
        for policy in all_policies() {
            let nothing = once(&Dag::empty(), &Workload::unit(), world, &policy);
            assert_eq!(
                (nothing.makespan, nothing.stall, nothing.utilisation),
                (0.0, 0.0, 1.0)
            );
            let measures = once(&one, &work, world, &policy);
            let start = if matches!(world, World::Batches(_)) {
                measures.idle
            } else {
                0.0
            };
            assert_eq!(measures.makespan, start + 2.5);
            assert_eq!(
                (measures.stall, measures.peak_open, measures.wasted),
                (0.0, 0.0, 0.0)
            );
        }
    }
}

/// A single huge batch executes all sources at once; the diamond needs three such rounds.
#[test]
fn unit_durations_by_hand() {
    let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let two = World::throttled(2, 2).unwrap();
    let measures = once(&diamond, &Workload::unit(), &two, &Policy::fifo());
    assert_eq!((measures.makespan, measures.peak_open), (3.0, 2.0));
    // 4 of 6 worker-seconds; idle for the second worker in the first round only: in the last no work is left.
    assert_eq!((measures.utilisation, measures.idle), (4.0 / 6.0, 1.0));
    // Requests: 2 at the start (one stalls), 1 then (served), 2 then (one served, one finds no work left), 0.
    assert_eq!(measures.stall, 1.0 / 4.0);
}

/// Two workers, the second twice as fast: inputs made elsewhere cost latency and bytes.
#[test]
fn transfers_cost_latency_and_bytes() {
    let chain = Dag::from_arcs(3, vec![(0, 1), (0, 2)]).unwrap();
    let link = Link {
        bandwidth: Spread::Constant(4.0),
        latency: Spread::Constant(0.25),
    };
    let world = fixed_pool(
        2,
        Crew {
            link: Some(link),
            ..Crew::default()
        },
    );
    let work = Workload::unit().with_bytes(vec![2.0, 8.0]).unwrap();
    // The idle worker has waited longest and takes task 1: 0.25 + 2/4; the maker of task 0 takes task 2 for nothing.
    let measures = once(&chain, &work, &world, &Policy::fifo());
    assert_eq!(measures.makespan, 1.0 + 0.75 + 1.0);
    // HEFT gives task 1 to the maker of its input, where it ends first; then task 2 is better off waiting there (3)
    // than fetching eight bytes (1 + 2.25 + 1).
    let heft = once(&chain, &work, &world, &Policy::heft());
    assert_eq!(heft.makespan, 3.0);
}

/// A task of three seconds on a worker that is up for two at a time is lost until a longer spell comes.
#[test]
fn a_lost_task_is_given_out_again_when_its_lease_ends() {
    let one = Dag::from_arcs(1, vec![]).unwrap();
    let work = Workload::known(&[Some(3.0)]).unwrap();
    let crew = Crew {
        lease: Some(Lease {
            factor: 2.0,
            at_least: 1.0,
        }),
        ..Crew::default()
    };
    let trace = Trace::parse("a,0,2\na,4,20\n").unwrap();
    let world = World::trace(trace, false, crew.clone()).unwrap();
    // Lost at 2; worker back at 4; lease of 6 seconds ends at 6; done at 9.
    let measures = once(&one, &work, &world, &Policy::fifo());
    assert_eq!((measures.makespan, measures.wasted), (9.0, 2.0));
    assert_eq!(measures.utilisation, 3.0 / 7.0);
    assert_eq!(measures.idle, 0.0);
    // A second worker may do it, but knows of it only when the lease has ended.
    let trace = Trace::parse("a,0,2\nb,1,20\n").unwrap();
    let world = World::trace(trace, false, crew.clone()).unwrap();
    assert_eq!(once(&one, &work, &world, &Policy::fifo()).makespan, 9.0);
    // With a tail, the second worker gets a copy at once.
    let tail = Some(cairn_sim::Tail {
        tasks: 1,
        copies: 2,
    });
    let trace = Trace::parse("a,0,2\nb,1,20\n").unwrap();
    let world = World::trace(
        trace,
        false,
        Crew {
            tail,
            ..crew.clone()
        },
    )
    .unwrap();
    assert_eq!(once(&one, &work, &world, &Policy::fifo()).makespan, 4.0);
    // And if everybody leaves, the run ends with an error that says so.
    let trace = Trace::parse("a,0,2\n").unwrap();
    let world = World::trace(trace.clone(), false, crew.clone()).unwrap();
    let error = replay(&one, &work, &world, &Policy::fifo(), 1, 0).unwrap_err();
    let expected = SimulateError::TraceEnds(Halt {
        policy: "fifo".into(),
        run: 0,
        executed: 0,
        tasks: 1,
    });
    assert_eq!(error, expected);
    let work = Workload::known(&[Some(2.0)]).unwrap();
    let repeated = World::trace(trace, true, crew).unwrap();
    assert_eq!(once(&one, &work, &repeated, &Policy::fifo()).makespan, 2.0);
}

/// A worker that can never finish a task in one spell: the simulation gives up instead of running for ever.
#[test]
fn hopeless_worlds_end_in_an_error() {
    let one = Dag::from_arcs(1, vec![]).unwrap();
    let world = World::pool(PoolSettings {
        breaks: Some(Breaks {
            up: Spread::Constant(1.0),
            down: Spread::Constant(1.0),
        }),
        crew: Crew {
            lease: Some(Lease {
                factor: 0.0,
                at_least: 1.0,
            }),
            ..Crew::default()
        },
        ..PoolSettings::default()
    });
    let work = Workload::known(&[Some(2.0)]).unwrap();
    let error = replay(&one, &work, &world.unwrap(), &Policy::fifo(), 1, 0).unwrap_err();
    assert!(
        matches!(
            error,
            SimulateError::NeverEnds(Halt {
                executed: 0,
                tasks: 1,
                ..
            })
        ),
        "{error}"
    );
}

/// Means that can be computed: an M/M/1-like stream of single requests serves one task a gap.
#[test]
fn the_law_of_large_numbers() {
    // One request at a time (size far below one rounds up to one), so 400 tasks take 400 gaps on average.
    let dag = Dag::from_arcs(400, vec![]).unwrap();
    let options = Options {
        runs: 200,
        ..Options::default()
    };
    let world = World::batches(0.5, 1e-3).unwrap();
    let work = World::study_work();
    let study = simulate(&dag, &work, &world, &[Policy::fifo()], &options).unwrap();
    let makespan = study.summary(0, Measure::Makespan);
    // The last task ends about one second after the last gap, and a little more for those before it.
    assert!((makespan.mean - 200.9).abs() < 3.0, "{makespan:?}");
    let interval = makespan.interval.unwrap();
    // Standard deviation 0.5 * 20 = 10 a run, so the 95 % interval is about 1.4 to either side.
    let half = (interval.high - interval.low) / 2.0;
    assert!((1.0..2.0).contains(&half), "{half}");
    assert_eq!(study.summary(0, Measure::Stall).mean, 0.0);
    assert_eq!(study.summary(0, Measure::Utilisation).mean, 1.0);

    // A chain of tasks of one second, single requests every 0.25 on average: a batch finds the next task eligible
    // about once in five, for after each start follow about four batches in vain.
    let chain = Dag::from_arcs(300, (0..299).map(|i| (i, i + 1)).collect()).unwrap();
    let world = World::batches(0.25, 1e-3).unwrap();
    let study = simulate(
        &chain,
        &Workload::unit(),
        &world,
        &[Policy::fifo()],
        &options,
    )
    .unwrap();
    let stall = study.summary(0, Measure::Stall).mean;
    assert!((stall - 0.8).abs() < 0.01, "{stall}");
    let makespan = study.summary(0, Measure::Makespan).mean;
    assert!((makespan - 300.0 * 1.25).abs() < 3.0, "{makespan}");
    let idle = study.summary(0, Measure::Idle).mean;
    assert!((idle - 300.0 * 0.25).abs() < 3.0, "{idle}");

    // Memoryless breaks: up a share 3/4 of the time, so tiny tasks on one worker take 4/3 of their sum, plus leases.
    let dag = Dag::from_arcs(1000, vec![]).unwrap();
    let work = Workload::known(&vec![Some(0.01); 1000]).unwrap();
    let world = World::pool(PoolSettings {
        workers: 20,
        breaks: Some(Breaks {
            up: Spread::Exponential { mean: 0.3 },
            down: Spread::Exponential { mean: 0.1 },
        }),
        crew: Crew {
            lease: Some(Lease {
                factor: 1.0,
                at_least: 0.02,
            }),
            ..Crew::default()
        },
        ..PoolSettings::default()
    });
    let study = simulate(&dag, &work, &world.unwrap(), &[Policy::fifo()], &options).unwrap();
    // 1000 tasks of 10 ms on 20 · 3/4 workers: 0.67 s, longer for what is lost (about 1 in 60) and shorter because all
    // start up: at the start all 20 are there.
    let makespan = study.summary(0, Measure::Makespan).mean;
    assert!((0.55..0.72).contains(&makespan), "{makespan}");
    let wasted = study.summary(0, Measure::Wasted).mean;
    // Each second of being up meets 1/0.3 departures, each of which wastes 5 ms on average.
    let up: f64 = study.outcomes[0]
        .runs
        .iter()
        .map(|r| 10.0 / r.utilisation)
        .sum::<f64>()
        / 200.0;
    assert!((wasted - up / 0.3 * 0.005).abs() < 0.03, "{wasted} {up}");
}
