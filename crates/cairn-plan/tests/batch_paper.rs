//! [MR05], the paper on batches: its statements against brute force, with their corrections.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{Random, Shape, compose, eligible, random_dag};
use cairn_plan::batch::{BatchEffort, BatchState, Batcher, Quality};
use proptest::prelude::*;

/// How many tasks become eligible when those of `chosen` are executed after those of `executed`. Sets are masks.
fn gain(dag: &Dag, executed: u64, chosen: u64) -> usize {
    let opens = |t: &TaskId| {
        let needs: u64 = dag.parents(*t).iter().map(|p| 1 << p.0).sum();
        needs & !(executed | chosen) == 0 && needs & chosen != 0
    };
    dag.tasks().filter(opens).count()
}

/// All sets of `count` of these tasks.
fn choices(of: &[TaskId], count: usize) -> impl Iterator<Item = u64> + '_ {
    let picked = move |set: u64| (0..of.len()).filter(move |i| set >> i & 1 == 1);
    (0u64..1 << of.len())
        .filter(move |set| set.count_ones() as usize == count)
        .map(move |set| picked(set).map(|i| 1 << of[i].0).sum())
}

fn best_gain(dag: &Dag, executed: u64, from: &[TaskId], count: usize) -> usize {
    let gains = choices(from, count).map(|chosen| gain(dag, executed, chosen));
    gains.max().expect("one choice at least")
}

fn members(mask: u64) -> Vec<TaskId> {
    (0..64).filter(|i| mask >> i & 1 == 1).map(TaskId).collect()
}

/// Executes some tasks at random.
fn partly_executed(dag: &Dag, random: &mut Random) -> u32 {
    let mut executed = 0;
    for _ in 0..random.below(dag.len() + 1) {
        let may = eligible(dag, executed);
        if may.is_empty() {
            break;
        }
        executed |= 1 << may[random.below(may.len())].0;
    }
    executed
}

/// Lemma 3.2, within one batch: a task with children in place of a sink never loses.
#[test]
fn lemma_3_2_sinks_last() {
    let mut compared = 0;
    for seed in 0..20_000u64 {
        let mut random = Random::new(seed);
        let dag = random_dag(4 + random.below(11), random.below(4), seed);
        let executed = partly_executed(&dag, &mut random);
        let may = eligible(&dag, executed);
        let executed = u64::from(executed);
        let is_chosen: Vec<bool> = may.iter().map(|_| random.below(2) == 0).collect();
        let of = |wanted: bool| (may.iter().zip(&is_chosen)).filter(move |(_, is)| **is == wanted);
        let chosen: u64 = of(true).map(|(t, _)| 1u64 << t.0).sum();
        let sink = of(true).find(|(t, _)| dag.is_sink(**t));
        let other = of(false).find(|(t, _)| !dag.is_sink(**t));
        if let (Some((sink, _)), Some((other, _))) = (sink, other) {
            let better = chosen & !(1 << sink.0) | 1 << other.0;
            assert!(gain(&dag, executed, better) >= gain(&dag, executed, chosen));
            compared += 1;
        }
    }
    assert!(
        compared > 1000,
        "only {compared} batches have a sink to change"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Theorem 3.1, its reduction: m of the subsets have a union of at most b elements exactly if b sources of the
    /// dag of the instance open m sinks. So whoever chooses batches exactly decides such instances.
    #[test]
    fn theorem_3_1_reduction_from_small_unions(n in 1usize..8, seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let mut subsets: Vec<u64> = (0..n).map(|_| 1 << random.below(n) | random.below(1 << n) as u64 & random.below(1 << n) as u64).collect();
        // Their union is everything.
        for element in 0..n {
            let owner = random.below(n);
            subsets[owner] |= 1 << element;
        }
        let arcs = (0..n * n).filter(|i| subsets[i / n] >> (i % n) & 1 == 1).map(|i| ((i % n) as u32, (n + i / n) as u32));
        let dag = Dag::from_arcs(2 * n, arcs.collect()).unwrap();
        let mut batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
        for b in 0..=n {
            let within = |family: u64| {
                let union = (0..n).filter(|j| family >> j & 1 == 1).fold(0, |u, j| u | subsets[j]);
                union.count_ones() as usize <= b
            };
            let most = (0u64..1 << n).filter(|&f| within(f)).map(|f| f.count_ones() as usize).max();
            let batch = batcher.choose(b, &BatchEffort::default());
            prop_assert_eq!(batch.quality, Quality::Exact);
            prop_assert_eq!(Some(batch.gain), most);
        }
    }
}

/// A random bipartite tree.
fn tree(random: &mut Random) -> Shape {
    let mut shape = Shape {
        sources: 1,
        sinks: 1,
        arcs: vec![(0, 0)],
    };
    for _ in 0..random.below(6) {
        if random.below(2) == 0 {
            let to = random.below(shape.sinks) as u32;
            shape.arcs.push((shape.sources as u32, to));
            shape.sources += 1;
        } else {
            let from = random.below(shape.sources) as u32;
            shape.arcs.push((from, shape.sinks as u32));
            shape.sinks += 1;
        }
    }
    shape
}

/// Theorem 5.1: composites of bipartite trees, at any moment of their execution, are served exactly.
#[test]
fn theorem_5_1_composite_trees() {
    let mut asked = 0;
    for seed in 0..3000u64 {
        let mut random = Random::new(seed);
        let shapes: Vec<Shape> = (0..2 + random.below(4))
            .map(|_| tree(&mut random))
            .collect();
        let (dag, _) = compose(&shapes, 20, &mut random);
        let executed = partly_executed(&dag, &mut random);
        let may = eligible(&dag, executed);
        let state = BatchState::with_executed(&dag, &members(executed.into())).unwrap();
        let mut batcher = Batcher::new(state, dag.topological_order());
        for requests in 1..=may.len().min(5) {
            let batch = batcher.choose(requests, &BatchEffort::default());
            let truth = best_gain(&dag, executed.into(), &may, requests);
            assert_eq!(
                (batch.quality, batch.gain),
                (Quality::Exact, truth),
                "seed {seed}"
            );
            asked += 1;
        }
    }
    assert!(asked > 5000, "only {asked} batches");
}

/// A random expansive bipartite dag: each source has φ ≥ 2 sinks of its own and at most φ shared ones. Some of its
/// sources are executed.
fn expansive(random: &mut Random) -> (Dag, u64, Vec<TaskId>, Vec<usize>) {
    let sources = 3 + random.below(5);
    let own: Vec<usize> = (0..sources).map(|_| 2 + random.below(2)).collect();
    let mut room = own.clone();
    let mut next = sources as u32;
    let mut arcs = Vec::new();
    for (source, &count) in own.iter().enumerate() {
        for _ in 0..count {
            arcs.push((source as u32, next));
            next += 1;
        }
    }
    for _ in 0..4 * sources {
        let wanted = 2 + random.below(2);
        let mut parents: Vec<usize> = (0..sources).filter(|&u| room[u] > 0).collect();
        random.shuffle(&mut parents);
        parents.truncate(wanted);
        if parents.len() > 1 {
            for parent in parents {
                room[parent] -= 1;
                arcs.push((parent as u32, next));
            }
            next += 1;
        }
    }
    let dag = Dag::from_arcs(next as usize, arcs).unwrap();
    let executed: u64 = (0..sources)
        .filter(|_| random.below(3) == 0)
        .map(|u| 1 << u)
        .sum();
    let left = (0..sources as u32).filter(|u| executed >> u & 1 == 0);
    let left = left.map(TaskId).collect();
    (dag, executed, left, own)
}

/// Theorem 6.1 promises a quarter of the best increase of eligible tasks (those opened less those executed) when tasks
/// are chosen by the number of children that are theirs alone. In truth it is a third; and choosing by what a task
/// opens now, as we do, half. A child that only the batch opens has two parents in it or more.
#[test]
fn theorem_6_1_expansive_dags() {
    let (mut worst_own, mut worst_now) = (1.0f64, 1.0f64);
    for seed in 0..6000u64 {
        let mut random = Random::new(seed);
        let (dag, executed, mut left, own) = expansive(&mut random);
        // Sources only: sinks that the executed ones opened are eligible too, and open nothing.
        for requests in 1..=left.len() {
            let best = best_gain(&dag, executed, &left, requests) - requests;
            random.shuffle(&mut left);
            left.sort_by_key(|t| std::cmp::Reverse(own[t.index()]));
            let chosen = left[..requests].iter().map(|t| 1 << t.0).sum();
            let by_own = gain(&dag, executed, chosen) - requests;
            assert!(3 * by_own >= best, "seed {seed}: {by_own} of {best}");
            worst_own = worst_own.max(best as f64 / by_own as f64);
            let state = BatchState::with_executed(&dag, &members(executed)).unwrap();
            let mut batcher = Batcher::new(state, dag.topological_order());
            let by_now = batcher.choose(requests, &BatchEffort::fast()).gain - requests;
            assert!(2 * by_now >= best, "seed {seed}: {by_now} of {best}");
            worst_now = worst_now.max(best as f64 / by_now as f64);
        }
    }
    // The random dags come close enough to tell the two rules apart.
    assert!(
        worst_own > worst_now && worst_now > 1.0,
        "{worst_own} {worst_now}"
    );
}
