//! Batches against every choice of r eligible tasks.

use super::*;
use cairn_dag::Dag;
use cairn_oracle::{any_composite, any_dag, any_sum, eligible};
use cairn_theory::game::IllegalMove;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// The most tasks that executing `requests` of the eligible ones makes eligible, over all choices.
fn best_gain(dag: &Dag, executed: u32, requests: usize) -> usize {
    let choices = eligible(dag, executed);
    let requests = requests.min(choices.len());
    (0u32..1 << choices.len())
        .filter(|set| set.count_ones() as usize == requests)
        .map(|set| {
            let chosen = (0..choices.len()).filter(|i| set >> i & 1 == 1);
            let after = chosen.fold(executed, |x, i| x | 1 << choices[i].0);
            eligible(dag, after).len() + requests - choices.len()
        })
        .max()
        .expect("one choice at least")
}

/// Executes `steps` tasks chosen by `seed` and returns them as a mask.
fn partly_executed(dag: &Dag, steps: usize, seed: u64) -> u32 {
    let mut executed = 0;
    for step in 0..steps {
        let choices = eligible(dag, executed);
        if choices.is_empty() {
            break;
        }
        let pick = (seed >> (step % 16 * 4)) as usize % choices.len();
        executed |= 1 << choices[pick].0;
    }
    executed
}

fn tasks_of(mask: u32) -> Vec<TaskId> {
    (0..32).filter(|i| mask >> i & 1 == 1).map(TaskId).collect()
}

/// Dags of all kinds, composites and sums of blocks.
fn dags() -> impl Strategy<Value = Dag> {
    let composites = any_composite(14).prop_map(|(dag, _)| dag);
    prop_oneof![any_dag(14), composites, any_sum(14)]
}

/// What a batch says of itself, against the most that any can gain.
fn claims_hold(
    batch: &Batch,
    dag: &Dag,
    executed: u32,
    requests: usize,
    truth: usize,
) -> Result<(), TestCaseError> {
    let available = eligible(dag, executed);
    prop_assert_eq!(batch.chosen.len(), requests.min(available.len()));
    prop_assert!(batch.chosen.iter().all(|t| available.contains(t)));
    let after = batch.chosen.iter().fold(executed, |x, t| x | 1 << t.0);
    // Each once, and none that was executed.
    let new = after.count_ones() - executed.count_ones();
    prop_assert_eq!(new as usize, batch.chosen.len());
    let gained = eligible(dag, after).len() + batch.chosen.len() - available.len();
    prop_assert_eq!(gained, batch.gain);
    prop_assert!(
        batch.gain <= truth && truth <= batch.bound,
        "{:?} but the truth is {}",
        batch,
        truth
    );
    match batch.quality {
        Quality::Exact => prop_assert_eq!(batch.gain, truth),
        Quality::Factor => prop_assert!(2 * batch.gain >= truth),
        Quality::Gap => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn batches_are_as_good_as_they_say(dag in dags(), steps in 0usize..8, seed in any::<u64>(), requests in 0usize..8) {
        let executed = partly_executed(&dag, steps, seed);
        let state = BatchState::with_executed(&dag, &tasks_of(executed)).unwrap();
        let mut batcher = Batcher::new(state, dag.topological_order());
        let truth = best_gain(&dag, executed, requests);
        for effort in [BatchEffort::default(), BatchEffort::fast(), BatchEffort { steps: 40, table: 10 }] {
            let batch = batcher.choose(requests, &effort);
            claims_hold(&batch, &dag, executed, requests, truth)?;
        }
        prop_assert_eq!(batcher.choose(requests, &BatchEffort::default()).quality, Quality::Exact);
    }

    /// Told to stop after so many questions: what is claimed then still holds, and the next call makes it good.
    #[test]
    fn stopped_early_it_claims_less_but_nothing_wrong(dag in dags(), requests in 0usize..8, patience in 0u32..12) {
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        let truth = best_gain(&dag, 0, requests);
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= patience;
        for effort in [BatchEffort::default(), BatchEffort::fast()] {
            let batch = batcher.choose_until(requests, &effort, &mut Work::until(&stop));
            claims_hold(&batch, &dag, 0, requests, truth)?;
        }
        let batch = batcher.choose(requests, &BatchEffort::default());
        prop_assert_eq!((batch.quality, batch.gain), (Quality::Exact, truth));
    }

    /// Kept up to date through leases, losses and results, it answers as one built from nothing.
    #[test]
    fn incremental_equals_afresh(dag in any_dag(16), moves in prop::collection::vec((0u8..4, any::<u32>()), 0..40), requests in 1usize..6) {
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        let mut leased: Vec<TaskId> = Vec::new();
        for (kind, pick) in moves {
            let choices = batcher.state().eligible().to_vec();
            match kind {
                0 if !choices.is_empty() => {
                    let task = choices[pick as usize % choices.len()];
                    batcher.state_mut().lease(task).unwrap();
                    leased.push(task);
                }
                1 if !leased.is_empty() => {
                    let task = leased.swap_remove(pick as usize % leased.len());
                    batcher.state_mut().release(task).unwrap();
                }
                2 if !leased.is_empty() => {
                    let task = leased.swap_remove(pick as usize % leased.len());
                    batcher.state_mut().execute(task).unwrap();
                }
                _ => {
                    let batch = batcher.choose(requests, &BatchEffort::default());
                    let mut afresh = Batcher::new(batcher.state().clone(), dag.topological_order());
                    // Everything is new to it: rebuild by touching all eligible tasks.
                    afresh.state_mut().touch_all();
                    let again = afresh.choose(requests, &BatchEffort::default());
                    prop_assert_eq!(batch.gain, again.gain);
                    prop_assert_eq!(batch.bound, again.bound);
                    // Leased tasks count as executed: the gain is the best under that reading.
                    let settled = dag.tasks().filter(|&t| matches!(batcher.state().standing(t), Standing::Leased | Standing::Executed));
                    let mask: u32 = settled.map(|t| 1u32 << t.0).sum();
                    let choosable = batcher.state().eligible();
                    let before = dag.tasks().filter(|&t| mask >> t.0 & 1 == 0 && dag.parents(t).iter().all(|p| mask >> p.0 & 1 == 1)).count();
                    prop_assert!(before >= choosable.len());
                    let after = batch.chosen.iter().fold(mask, |x, t| x | 1 << t.0);
                    let now = dag.tasks().filter(|&t| after >> t.0 & 1 == 0 && dag.parents(t).iter().all(|p| after >> p.0 & 1 == 1)).count();
                    prop_assert_eq!(now + batch.chosen.len() - before, batch.gain);
                }
            }
        }
    }
}

/// Expansive pieces bought by current yield: never below half of the best. Prints the worst ratio seen.
#[test]
fn current_yield_is_within_a_factor_of_two_on_expansive_dags() {
    let mut worst = (1usize, 1usize);
    let mut asked = 0;
    for seed in 0..6000u64 {
        let dag = expansive(seed);
        for requests in 1..=dag.sources().count() {
            let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
            let batch = batcher.choose(requests, &BatchEffort::fast());
            let truth = batcher_truth(&dag, requests);
            assert!(2 * batch.gain >= truth, "{batch:?} against {truth}");
            assert!(truth <= batch.bound && batch.quality != Quality::Gap);
            asked += 1;
            if truth * worst.1 > worst.0 * batch.gain {
                worst = (truth, batch.gain);
            }
        }
    }
    assert!(
        worst.0 > worst.1,
        "some case is not optimal, or the test shows nothing"
    );
    print(&format!(
        "expansive dags by current yield: worst ratio of the best to it {}/{} in {asked} batches",
        worst.0, worst.1
    ));
}

/// Past the harness's capture: the figure is part of what the test shows.
fn print(line: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap();
}

/// Random subsets of few sources, which is the NP-hard case: exact with the default effort, and with too little a bound
/// that holds. Prints how far the fast way falls behind.
#[test]
fn subsets_with_small_unions() {
    let mut worst = (1usize, 1usize);
    for seed in 0..3000u64 {
        let dag = subsets(seed);
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for requests in 1..dag.sources().count() {
            let truth = batcher_truth(&dag, requests);
            for effort in [
                BatchEffort::fast(),
                BatchEffort {
                    steps: 3000,
                    table: 100,
                },
                BatchEffort::default(),
            ] {
                let batch = batcher.choose(requests, &effort);
                assert_eq!(batcher.state().yield_of(&batch.chosen), batch.gain);
                assert!(batch.gain <= truth && truth <= batch.bound, "seed {seed}");
                if batch.quality == Quality::Factor {
                    assert!(2 * batch.gain >= truth);
                }
                if effort.steps == 0 && truth * worst.1 > worst.0 * batch.gain && batch.gain > 0 {
                    worst = (truth, batch.gain);
                }
            }
            let batch = batcher.choose(requests, &BatchEffort::default());
            assert_eq!(
                (batch.quality, batch.gain),
                (Quality::Exact, truth),
                "seed {seed}"
            );
        }
    }
    print(&format!(
        "random subsets by current yield: worst ratio of the best to it {}/{}",
        worst.0, worst.1
    ));
}

fn subsets(seed: u64) -> Dag {
    let mut random = cairn_oracle::Random::new(seed);
    let sources = 4 + random.below(8) as u32;
    let mut arcs = Vec::new();
    for sink in 0..2 * sources {
        for _ in 0..2 + random.below(2) {
            arcs.push((random.below(sources as usize) as u32, sources + sink));
        }
    }
    Dag::from_arcs(3 * sources as usize, arcs).unwrap()
}

/// Large trees, where trying all is hopeless: against the program for components, which tells more states apart, and the
/// sets against their gains.
#[test]
fn large_trees_against_the_frontier_program() {
    for seed in 0..60u64 {
        let mut random = cairn_oracle::Random::new(seed);
        let sources = 20 + random.below(100) as u32;
        let mut sinks = 0;
        let mut arcs: Vec<(u32, u32)> = Vec::new();
        for u in 1..sources {
            // A sink of one to three parents joins a source to those before.
            if random.below(3) > 0 || sinks == 0 {
                arcs.push((random.below(u as usize) as u32, sinks));
                sinks += 1;
                arcs.push((u, sinks - 1));
            } else {
                arcs.push((u, random.below(sinks as usize) as u32));
            }
            for _ in 0..random.below(3) {
                arcs.push((u, sinks));
                sinks += 1;
            }
        }
        let arcs = arcs.into_iter().map(|(u, s)| (u, sources + s)).collect();
        let dag = Dag::from_arcs((sources + sinks) as usize, arcs).unwrap();
        let best = crate::decide::frontier_profile(&crate::testing::whole(&dag)[0]);
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for requests in 0..=sources as usize {
            let batch = batcher.choose(requests, &BatchEffort::default());
            assert_eq!(batch.quality, Quality::Exact);
            assert_eq!(
                batch.gain, best[requests] as usize,
                "seed {seed}, {requests} requests"
            );
            assert_eq!(batcher.state().yield_of(&batch.chosen), batch.gain);
        }
    }
}

/// The best gain over all choices of sources, which may be more than 24 tasks with their sinks.
fn batcher_truth(dag: &Dag, requests: usize) -> usize {
    let sources: Vec<TaskId> = dag.sources().collect();
    (0u32..1 << sources.len())
        .filter(|set| set.count_ones() as usize == requests)
        .map(|set| {
            let has =
                |p: &TaskId| set >> sources.iter().position(|s| s == p).expect("a source") & 1 == 1;
            let gained = dag
                .tasks()
                .filter(|&t| !dag.is_source(t) && dag.parents(t).iter().all(has));
            gained.count()
        })
        .max()
        .expect("one choice at least")
}

/// A random expansive bipartite dag: each source has φ ≥ 2 sinks of its own and at most φ shared ones.
fn expansive(seed: u64) -> Dag {
    let mut state = seed;
    let mut below = |k: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % k
    };
    let sources = 3 + below(5) as u32;
    let own: Vec<u32> = (0..sources).map(|_| 2 + below(3) as u32).collect();
    let mut room = own.clone();
    let mut next = sources;
    let mut arcs = Vec::new();
    for (u, &count) in own.iter().enumerate() {
        for _ in 0..count {
            arcs.push((u as u32, next));
            next += 1;
        }
    }
    for _ in 0..3 * sources {
        let parents: Vec<u32> = (0..sources)
            .filter(|&u| room[u as usize] > 0 && below(3) == 0)
            .collect();
        if parents.len() >= 2 {
            parents.iter().for_each(|&u| {
                room[u as usize] -= 1;
                arcs.push((u, next));
            });
            next += 1;
        }
    }
    Dag::from_arcs(next as usize, arcs).unwrap()
}

#[test]
fn tree_program_against_all_subsets() {
    // Random trees through the dag strategy are rare: build them.
    for seed in 0..8000u64 {
        let dag = bipartite_tree(seed);
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for requests in 1..=dag.sources().count() {
            let batch = batcher.choose(requests, &BatchEffort::default());
            assert_eq!(batch.quality, Quality::Exact);
            assert_eq!(
                batch.gain,
                batcher_truth(&dag, requests),
                "seed {seed}, {requests} requests"
            );
        }
    }
}

fn bipartite_tree(seed: u64) -> Dag {
    let mut state = seed;
    let mut below = |k: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % k
    };
    // Sources get even numbers, sinks odd ones, until the end.
    let mut sides: Vec<bool> = vec![true];
    let mut links = Vec::new();
    for v in 1..4 + below(14) as u32 {
        let to = below(u64::from(v)) as u32;
        sides.push(!sides[to as usize]);
        links.push((to, v));
    }
    let arcs = links
        .into_iter()
        .map(|(a, b)| if sides[a as usize] { (a, b) } else { (b, a) });
    Dag::from_arcs(sides.len(), arcs.collect()).unwrap()
}

#[test]
fn a_set_not_closed_under_parents_is_refused_and_names_both() {
    let dag = Dag::from_arcs(3, vec![(0, 1), (1, 2)]).unwrap();
    let refused = BatchState::with_executed(&dag, &[TaskId(0), TaskId(2)]).unwrap_err();
    assert_eq!(
        refused,
        IllegalMove::NotEligible {
            task: TaskId(2),
            parent: TaskId(1)
        }
    );
    let mut state = BatchState::new(&dag);
    assert!(state.lease(TaskId(1)).is_err());
    assert!(state.release(TaskId(0)).is_err());
    state.execute(TaskId(0)).unwrap();
    assert!(state.execute(TaskId(0)).is_err());
    assert_eq!(state.eligible(), [TaskId(1)]);
}

#[test]
fn nothing_asked_and_more_asked_than_there_is() {
    let dag = Dag::from_arcs(3, vec![(0, 2)]).unwrap();
    let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
    let none = batcher.choose(0, &BatchEffort::default());
    assert!(none.chosen.is_empty() && none.quality == Quality::Exact);
    assert_eq!(
        batcher.choose(99, &BatchEffort::default()).chosen,
        [TaskId(0), TaskId(1)]
    );
}

#[test]
fn look_ahead_never_does_worse_than_one_batch_at_a_time() {
    for seed in 0..300 {
        let dag = cairn_oracle::random_dag(18, (seed % 5) as usize, seed);
        let batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        let requests = [2, 3, 2, 4];
        let ahead = look_ahead(
            &batcher,
            &requests,
            &BatchEffort::default(),
            &mut Work::unlimited(),
        );
        let mut one = batcher.clone();
        let mut total = 0;
        for &r in &requests {
            for t in one.choose(r, &BatchEffort::default()).chosen {
                one.state_mut().execute(t).unwrap();
            }
            total += one.state().eligible().len();
        }
        assert!(ahead.eligible.iter().sum::<usize>() >= total, "seed {seed}");
    }
}

/// Tasks that share prizes all with all, or one prize among very many, are read once and not once for each of them.
#[test]
fn prizes_that_need_very_many_tasks_are_no_trap() {
    let width = 60_000;
    let join = Dag::from_arcs(
        width + 1,
        (0..width as u32).map(|v| (v, width as u32)).collect(),
    );
    let side = 700;
    let all = (0..side).flat_map(|a| (side..2 * side).map(move |b| (a, b)));
    let complete = Dag::from_arcs(2 * side as usize, all.collect());
    for (dag, tasks, gain) in [(join.unwrap(), width, 1), (complete.unwrap(), 700, 700)] {
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for (requests, gain) in [(8, 0), (tasks - 1, 0), (tasks, gain)] {
            let batch = batcher.choose(requests, &BatchEffort::default());
            assert_eq!((batch.gain, batch.quality), (gain, Quality::Exact));
        }
        // The pieces are gathered anew after every change.
        for task in batcher.choose(2, &BatchEffort::default()).chosen {
            batcher.state_mut().execute(task).unwrap();
        }
        assert_eq!(
            batcher.choose(tasks - 2, &BatchEffort::default()).gain,
            gain
        );
    }
}

/// Long paths, each a piece that takes the tree program a while: when it is time to stop, no further one is solved.
#[test]
fn a_call_ends_soon_when_told_to_stop() {
    let (paths, long) = (20u32, 400u32);
    let mut arcs = Vec::new();
    for path in 0..paths {
        for i in 1..long {
            let prize = paths * long + path * long + i;
            arcs.extend([(path * long + i - 1, prize), (path * long + i, prize)]);
        }
    }
    let dag = Dag::from_arcs(2 * (paths * long) as usize, arcs).unwrap();
    let asked = AtomicU32::new(0);
    let questions = |last: u32, requests: usize| {
        asked.store(0, Ordering::Relaxed);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= last;
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        let batch =
            batcher.choose_until(requests, &BatchEffort::thorough(), &mut Work::until(&stop));
        assert_eq!(batch.chosen.len(), requests);
        asked.load(Ordering::Relaxed)
    };
    let all = questions(u32::MAX, 3000);
    assert!(all > 100, "{all}");
    // A question a piece at the most, whatever is left of it, and few for the sharing.
    for last in [0, 1, all / 2] {
        let after = questions(last, 3000) - last;
        assert!(after <= 4 * paths + 8, "{after} more after {last} of {all}");
    }
}
