//! The same seed gives the same numbers: for any number of threads, in any company, on any machine.

use cairn_dag::{Dag, TaskId};
use cairn_sim::{
    Breaks, Crew, Lease, Measure, Options, Policy, PoolSettings, SimulateError, Spread, Study,
    World, simulate,
};
use std::sync::atomic::{AtomicUsize, Ordering};

fn dag() -> Dag {
    let arcs = (6..60).flat_map(|i| [(i - 6 + i % 5, i), (i * 7 % i.min(13), i)]);
    Dag::from_arcs(60, arcs.collect()).unwrap()
}

fn worlds() -> Vec<World> {
    let volatile = PoolSettings {
        workers: 6,
        joins: Some(5.0),
        stay: Some(Spread::Exponential { mean: 30.0 }),
        breaks: Some(Breaks {
            up: Spread::Weibull {
                shape: 0.6,
                scale: 8.0,
            },
            down: Spread::Exponential { mean: 2.0 },
        }),
        crew: Crew {
            speed: Spread::LogNormal {
                median: 1.0,
                sigma: 0.5,
            },
            lease: Some(Lease {
                factor: 4.0,
                at_least: 1.0,
            }),
            ..Crew::default()
        },
    };
    vec![
        World::batches(0.5, 3.0).unwrap(),
        World::throttled(5, 3).unwrap(),
        World::pool(volatile).unwrap(),
    ]
}

/// The tasks in an order that no rule gives.
fn shuffled(tasks: u32) -> Vec<TaskId> {
    let mut order: Vec<TaskId> = (0..tasks).map(TaskId).collect();
    order.sort_by_key(|t| (t.0 * 7919 % 61, *t));
    order
}

fn policies() -> Vec<Policy> {
    vec![
        Policy::order("list", &shuffled(60)),
        Policy::fifo(),
        Policy::lifo(),
        Policy::random(),
        Policy::heft(),
        Policy::peft(),
    ]
}

fn study(world: &World, policies: &[Policy], options: Options<'_>) -> Study {
    simulate(&dag(), &World::study_work(), world, policies, &options).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_numbers() {
    for world in worlds() {
        let with = |threads| {
            let options = Options {
                runs: 120,
                threads: Some(threads),
                ..Options::default()
            };
            study(&world, &policies(), options.clone())
        };
        let one = with(1);
        for threads in [2, 4] {
            assert_eq!(one, with(threads));
        }
        let intervals = |s: &Study| {
            let of = |m| (s.summary(2, m), s.ratio(0, 1, m));
            Measure::ALL.map(of)
        };
        let pool = |n| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build()
                .unwrap()
        };
        let alone = pool(1).install(|| intervals(&one));
        assert_eq!(pool(3).install(|| intervals(&one)), alone);
    }
}

/// A policy meets the same luck whoever else is simulated, and whatever the number of runs.
#[test]
fn policies_do_not_disturb_each_other() {
    for world in worlds() {
        let options = Options {
            runs: 60,
            seed: 9,
            ..Options::default()
        };
        let together = study(&world, &policies(), options.clone());
        for (i, policy) in policies().into_iter().enumerate() {
            let alone = study(
                &world,
                &[policy],
                Options {
                    runs: 20,
                    ..options.clone()
                },
            );
            assert_eq!(alone.outcomes[0].runs[..], together.outcomes[i].runs[..20]);
        }
        let other_seed = study(
            &world,
            &policies(),
            Options {
                seed: 10,
                ..options.clone()
            },
        );
        assert_ne!(other_seed.outcomes, together.outcomes);
    }
}

/// Equal policies under two names: every ratio is one, exactly.
#[test]
fn a_policy_equals_itself() {
    for world in worlds() {
        let twins = [Policy::fifo().named("a"), Policy::fifo().named("b")];
        let study = study(
            &world,
            &twins,
            Options {
                runs: 30,
                ..Options::default()
            },
        );
        for measure in Measure::ALL {
            if let Some(ratio) = study.ratio(0, 1, measure) {
                assert_eq!(ratio.mean, 1.0);
                assert_eq!((ratio.interval, ratio.all_equal), (None, true));
            }
        }
        assert_eq!(
            study.ratio(0, 1, Measure::Makespan).unwrap().median,
            Some(1.0)
        );
    }
}

/// These bits were computed once and must never change, on any machine: stored seeds depend on them.
#[test]
fn numbers_of_one_seed_are_fixed_for_ever() {
    let golden: [[u64; 6]; 3] = [
        [
            0x403a_b8df_32bd_6088,
            0x403b_8374_e996_f2af,
            0x4038_c421_57f5_aa6d,
            0x4039_2f14_c7aa_046e,
            0x4038_7b42_37df_1f1e,
            0x4038_7b42_37df_1f1e,
        ],
        [
            0x4034_242b_9c61_14b6,
            0x4035_22e9_f3ec_3847,
            0x4034_d274_b493_74eb,
            0x4034_366a_9890_f28c,
            0x4034_66f8_4959_f0ff,
            0x4034_66f8_4959_f0ff,
        ],
        [
            0x4047_7035_4835_d907,
            0x4040_fa32_7c3c_105c,
            0x4042_001a_9925_a317,
            0x4041_4da7_ca87_84ab,
            0x4040_7fa6_3b2f_d93a,
            0x4040_7fa6_3b2f_d93a,
        ],
    ];
    let worlds = worlds();
    let bits = worlds.iter().map(|world| {
        let options = Options {
            runs: 1,
            seed: 42,
            ..Options::default()
        };
        let outcomes = study(world, &policies(), options.clone()).outcomes;
        outcomes
            .iter()
            .map(|o| o.runs[0].makespan.to_bits())
            .collect()
    });
    let bits: Vec<Vec<u64>> = bits.collect();
    assert_eq!(bits, golden, "{bits:#018x?}");
}

#[test]
fn narrow_intervals_stop_the_study_early() {
    let world = World::batches(0.5, 3.0).unwrap();
    let options = Options {
        runs: 1000,
        precision: Some(0.02),
        ..Options::default()
    };
    let pair = [Policy::fifo(), Policy::lifo()];
    let early = study(&world, &pair, options.clone());
    assert!(
        early.stopped_early && early.runs() < 1000 && early.runs().is_multiple_of(50),
        "{}",
        early.runs()
    );
    let width = early
        .ratio(0, 1, Measure::Makespan)
        .unwrap()
        .relative_half_width()
        .unwrap();
    assert!(width <= 0.02, "{width}");
    // Fifty runs fewer were not enough.
    if early.runs() > 50 {
        let before = study(
            &world,
            &pair,
            Options {
                runs: early.runs() - 50,
                precision: None,
                ..options.clone()
            },
        );
        let width = before
            .ratio(0, 1, Measure::Makespan)
            .unwrap()
            .relative_half_width()
            .unwrap();
        assert!(width > 0.02, "{width}");
    }
    let same = study(
        &world,
        &pair,
        Options {
            threads: Some(3),
            ..options.clone()
        },
    );
    assert_eq!(same, early);
    let alone = study(
        &world,
        &pair[..1],
        Options {
            precision: Some(0.05),
            ..options.clone()
        },
    );
    assert!(alone.stopped_early);
    let never = study(
        &world,
        &pair,
        Options {
            runs: 60,
            precision: Some(1e-9),
            ..options.clone()
        },
    );
    assert!(!never.stopped_early && never.runs() == 60);
}

#[test]
fn progress_counts_every_run() {
    let (calls, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = |done: usize| {
        calls.fetch_add(1, Ordering::Relaxed);
        most.fetch_max(done, Ordering::Relaxed);
    };
    let options = Options {
        runs: 70,
        progress: Some(&progress),
        ..Options::default()
    };
    study(&worlds()[0], &policies(), options.clone());
    assert_eq!((calls.into_inner(), most.into_inner()), (70, 70));
}

#[test]
fn bad_questions_are_refused() {
    let (dag, work) = (dag(), World::study_work());
    let world = World::batches(1.0, 2.0).unwrap();
    let ask = |policies: &[Policy], options: Options<'_>| {
        simulate(&dag, &work, &world, policies, &options).unwrap_err()
    };
    let (fifo, options) = ([Policy::fifo()], Options::default());
    assert_eq!(
        ask(
            &fifo,
            Options {
                runs: 0,
                ..options.clone()
            }
        ),
        SimulateError::NoRuns
    );
    assert_eq!(ask(&[], options.clone()), SimulateError::NoPolicies);
    let twice = ask(&[Policy::fifo(), Policy::fifo()], options.clone());
    assert_eq!(
        twice,
        SimulateError::DuplicatePolicy {
            name: "fifo".into()
        }
    );
    for precision in [0.0, -1.0, f64::NAN] {
        let error = ask(
            &fifo,
            Options {
                precision: Some(precision),
                ..options.clone()
            },
        );
        assert!(matches!(error, SimulateError::Setting(_)));
    }
    let no_threads = ask(
        &fifo,
        Options {
            threads: Some(0),
            ..options.clone()
        },
    );
    assert!(matches!(
        no_threads,
        SimulateError::Threads { threads: 0, .. }
    ));
    let short = ask(&[Policy::order("short", &[TaskId(0)])], options.clone());
    assert_eq!(
        short,
        SimulateError::NotAnOrder {
            name: "short".into(),
            task: TaskId(1)
        }
    );
    for (gap, size) in [
        (0.0, 1.0),
        (-1.0, 1.0),
        (f64::NAN, 1.0),
        (1.0, 0.0),
        (1.0, f64::INFINITY),
    ] {
        assert!(World::batches(gap, size).is_err());
    }
    assert!(World::throttled(0, 1).is_err() && World::throttled(1, 0).is_err());
    // Tasks that no worker can hold.
    let pool = World::pool(PoolSettings {
        crew: Crew {
            cores: 2,
            ..Crew::default()
        },
        ..PoolSettings::default()
    });
    let pool = pool.unwrap();
    let wide = World::study_work().with_cores(vec![3; 60]).unwrap();
    let error = simulate(&dag, &wide, &pool, &fifo, &options).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("needs 3 cores, but a worker has 2"),
        "{error}"
    );
    let short = World::study_work().with_cores(vec![2; 3]).unwrap();
    let error = simulate(&dag, &short, &pool, &fifo, &options).unwrap_err();
    assert!(matches!(
        error,
        SimulateError::WrongLength {
            got: 3,
            wanted: 60,
            ..
        }
    ));
}
