//! The choice against what would have been chosen by playing everything, and its laws.

use super::*;
use cairn_kernel::Work;
use cairn_oracle::random_dag;

fn policies(dag: &Dag) -> Vec<Policy> {
    let mut backwards: Vec<TaskId> = dag.tasks().collect();
    backwards.reverse();
    vec![
        Policy::order("file", dag.topological_order()),
        Policy::order("backwards", &backwards),
        Policy::fifo(),
        Policy::lifo(),
    ]
}

#[test]
fn a_machine_without_slots_is_refused() {
    for taken in [0, 1, 2] {
        let refused = machine(0, World::study_work(), [taken].into_iter());
        assert!(
            matches!(refused, Err(SettingError::BadValue { .. })),
            "{refused:?}"
        );
    }
}

fn contest<'a>(
    dag: &'a Dag,
    work: &'a Workload,
    worlds: &'a [World],
    options: &'a Options<'a>,
) -> Contest<'a> {
    Contest {
        dag,
        work,
        worlds,
        options,
    }
}

#[test]
fn the_choice_does_not_depend_on_threads() {
    for seed in 0..20 {
        let dag = random_dag(60, 3, seed);
        let (work, worlds) = (World::study_work(), usual_worlds(1.0).unwrap());
        let pick = |threads| {
            let options = Options {
                runs: 20,
                threads: Some(threads),
                ..Options::default()
            };
            let contest = contest(&dag, &work, &worlds, &options);
            contest.choose(&policies(&dag)).unwrap()
        };
        let one = pick(1);
        assert_eq!(one, pick(2));
        assert_eq!(one, pick(5));
    }
}

/// Where nothing is played since nobody could gain, a contest would have chosen the same.
#[test]
fn what_is_settled_beforehand_would_have_been_chosen() {
    let mut settled_by_slots = [0, 0];
    for seed in 0..80 {
        let dag = random_dag(120, 2 + seed as usize % 3, seed);
        let slots = [1, 2, 4, 30][seed as usize % 4];
        let worlds = [World::throttled(slots, slots).unwrap()];
        let options = Options {
            runs: 30,
            seed,
            ..Options::default()
        };
        let (work, all) = (World::study_work(), policies(&dag));
        let contest = contest(&dag, &work, &worlds, &options);
        let chosen = contest.choose(&all).unwrap();
        let played = contest.play(&all).unwrap();
        assert_eq!(chosen.policy, played.policy, "seed {seed}");
        assert_eq!(chosen.runs, 30);
        if chosen.scores.is_empty() {
            settled_by_slots[usize::from(slots > 2)] += 1;
            let best = played.scores.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(played.scores[0] <= best + MARGIN + 1e-12, "seed {seed}");
        }
    }
    let [few, many] = settled_by_slots;
    // One slot is busy in any order; where there are more slots than ready tasks, little is settled.
    assert!(
        few >= 20 && many < 40,
        "{few} with few slots, {many} with many"
    );
}

/// The rule again, from the runs themselves.
#[test]
fn the_first_stays_unless_another_gains_more_than_the_margin() {
    let mut left = 0;
    for seed in 0..60 {
        let dag = random_dag(40, 2 + seed as usize % 3, seed);
        let worlds = [
            World::batches(0.5, 6.0).unwrap(),
            World::throttled(3, 3).unwrap(),
        ];
        let runs = [100, 25][seed as usize % 2];
        let options = Options {
            runs,
            seed,
            ..Options::default()
        };
        let work = World::study_work();
        let all = policies(&dag);
        let chosen = contest(&dag, &work, &worlds, &options)
            .choose(&all)
            .unwrap();
        let gain = |p: usize| -> f64 {
            let one = |world| {
                let study = simulate(&dag, &work, world, &all, &options).unwrap();
                let mean = |p: usize| {
                    study.outcomes[p]
                        .runs
                        .iter()
                        .map(|r| r.makespan)
                        .sum::<f64>()
                };
                (mean(0) / mean(p)).ln()
            };
            worlds.iter().map(one).sum::<f64>() / 2.0
        };
        let gains: Vec<f64> = (0..all.len()).map(gain).collect();
        let studies: Vec<Study> = (worlds.iter())
            .map(|w| simulate(&dag, &work, w, &all, &options).unwrap())
            .collect();
        // Differences of more than about two standard errors, run by run, over both worlds.
        let is_sure = |p: usize| {
            let apart = |run: usize| -> f64 {
                let one = |s: &Study| {
                    let mean = |p: usize| s.summary(p, Measure::Makespan).mean;
                    let time = |p: usize| s.outcomes[p].runs[run].makespan;
                    (time(0) - time(p)) / mean(p)
                };
                studies.iter().map(one).sum()
            };
            let apart: Vec<f64> = (0..runs).map(apart).collect();
            let mean = apart.iter().sum::<f64>() / runs as f64;
            let squares: f64 = apart.iter().map(|d| (d - mean).powi(2)).sum();
            mean / (squares / (runs - 1) as f64 / runs as f64).sqrt()
        };
        let good = |p: &usize| gains[*p] > 0.003 && is_sure(*p) > 2.2;
        let best = (1..all.len())
            .filter(good)
            .max_by(|&a, &b| gains[a].total_cmp(&gains[b]));
        let doubtful = (1..all.len()).any(|p| gains[p] > 0.002 && (1.7..2.5).contains(&is_sure(p)));
        if !doubtful {
            assert_eq!(chosen.policy, best.unwrap_or(0), "seed {seed}: {gains:?}");
            left += usize::from(best.is_some());
        }
    }
    assert!(
        (5..55).contains(&left),
        "{left} of 60 leave the first beyond doubt"
    );
}

#[test]
fn without_time_the_first_is_chosen() {
    let dag = random_dag(30, 2, 1);
    let options = Options {
        work: Work::until(&|| true),
        ..Options::default()
    };
    let (work, worlds) = (World::study_work(), usual_worlds(1.0).unwrap());
    let contest = contest(&dag, &work, &worlds, &options);
    let chosen = contest.choose(&policies(&dag)).unwrap();
    assert_eq!((chosen.policy, chosen.runs), (0, 0));
    assert!(contest.choose(&[]).is_err());
}

#[test]
fn fresh_runs_have_other_chances_and_none_need_be_made() {
    let dag = random_dag(30, 2, 1);
    let (work, worlds) = (World::study_work(), usual_worlds(1.0).unwrap());
    let options = Options {
        runs: 80,
        ..Options::default()
    };
    let all = policies(&dag);
    let fresh = contest(&dag, &work, &worlds, &options)
        .play_afresh(&all)
        .unwrap();
    assert_eq!(fresh.iter().map(Study::runs).collect::<Vec<_>>(), [50, 50]);
    let other = Options {
        runs: 50,
        seed: options.seed + 1,
        ..options.clone()
    };
    let same = simulate(&dag, &work, &worlds[1], &all, &other).unwrap();
    assert_eq!(fresh[1].outcomes, same.outcomes);
    let late = Options {
        work: Work::until(&|| true),
        ..options
    };
    let none = contest(&dag, &work, &worlds, &late)
        .play_afresh(&all)
        .unwrap();
    assert!(none.is_empty());
}

#[test]
fn nothing_that_takes_time_is_no_reason_to_leave_the_first() {
    let dag = random_dag(10, 2, 1);
    let work = Workload::known(&[Some(0.0); 10]).unwrap();
    let worlds = [World::throttled(2, 2).unwrap()];
    let options = Options::default();
    let all = policies(&dag);
    let chosen = contest(&dag, &work, &worlds, &options)
        .choose(&all)
        .unwrap();
    assert_eq!(chosen.policy, 0);
    let study = simulate(&dag, &work, &worlds[0], &all, &options).unwrap();
    assert_eq!(joint_ratio(&[study], 0, 1), None);
}

#[test]
fn effort_falls_with_size_and_never_to_nothing() {
    let mut last = Plays::for_dag(1, 9, 2);
    for power in 0..24 {
        let effort = Plays::for_dag(1 << power, 9, 2);
        assert!(effort.policies >= 2 && effort.runs >= 3, "{effort:?}");
        assert!(effort.policies <= last.policies);
        assert!(effort.policies * effort.runs <= last.policies * last.runs);
        let played = (effort.policies * effort.runs * 2) << power;
        assert!(played <= TASKS_PLAYED || effort.runs == 3, "{effort:?}");
        last = effort;
    }
    assert_eq!(Plays::for_dag(0, 9, 2).policies, 9);
    assert_eq!(Plays::for_dag(5, 1, 1).policies, 1);
}

/// In one world it is the plain ratio; in two, between both.
#[test]
fn joint_ratios_lie_between_those_of_the_worlds() {
    let dag = random_dag(40, 2, 3);
    let options = Options {
        runs: 40,
        ..Options::default()
    };
    let studies: Vec<Study> = usual_worlds(1.0)
        .unwrap()
        .iter()
        .map(|w| simulate(&dag, &World::study_work(), w, &policies(&dag), &options).unwrap())
        .collect();
    let single = |s: &Study| s.ratio(0, 1, Measure::Makespan).unwrap().mean;
    let alone = joint_ratio(&studies[..1], 0, 1).unwrap();
    assert!((alone.mean - single(&studies[0])).abs() < 1e-12);
    let both = joint_ratio(&studies, 0, 1).unwrap().mean;
    let (a, b) = (single(&studies[0]), single(&studies[1]));
    assert!(a.min(b) <= both && both <= a.max(b), "{a} {b}: {both}");
}
