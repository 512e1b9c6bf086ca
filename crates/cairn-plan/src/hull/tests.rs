//! The hull against brute force, and laws that hold on dags of any size.

use super::*;
use crate::Work;
use crate::testing::{all_gains, any_lightly_weighted_dag, any_weighted_dag, tunings, upper_hull};
use cairn_oracle::{any_dag, best_profile, random_dag};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn full(dag: &Dag, weights: &Weights) -> Hull {
    hull(dag, weights, &mut Work::unlimited()).unwrap()
}

fn unit(dag: &Dag) -> Hull {
    full(dag, &Weights::unit(dag.len()))
}

fn corners(hull: &Hull) -> Vec<(u64, u64)> {
    let strict = hull.vertices().iter().filter(|v| v.is_strict);
    let mut corners: Vec<_> = strict.map(|v| (v.cost, v.reward)).collect();
    // Where nothing costs or earns anything, the first vertex is also the last.
    corners.dedup();
    corners
}

/// The vertices after the first, but those right below another one: where tasks that cost nothing earn something.
fn highest_at_their_cost(hull: &Hull) -> Vec<Vertex> {
    let vertices = &hull.vertices()[1..];
    (vertices.iter().enumerate())
        .filter(|(i, v)| vertices.get(i + 1).is_none_or(|next| next.cost > v.cost))
        .map(|(_, &v)| v)
        .collect()
}

/// The pieces must form a chain of ideals that cost and earn what the vertices say.
fn check_chain(dag: &Dag, weights: &Weights, hull: &Hull) {
    let mut steps = vec![(0, 0); hull.pieces()];
    for task in dag.tasks() {
        assert_eq!(hull.executed_in(task).is_none(), dag.is_sink(task));
        assert_eq!(hull.eligible_in(task).is_none(), dag.is_source(task));
        let executed = hull.executed_in(task);
        let eligible = hull.eligible_in(task);
        if let Some(piece) = executed {
            steps[piece.index()].0 += weights.cost(task);
            assert!(
                eligible <= executed,
                "{task:?} is executed before it is eligible"
            );
        }
        if let Some(piece) = eligible {
            steps[piece.index()].1 += weights.reward(task);
            for &parent in dag.parents(task) {
                assert!(
                    hull.executed_in(parent) <= eligible,
                    "{task:?} does not wait"
                );
            }
        }
    }
    let mut at = (0, 0);
    assert_eq!((hull.vertices()[0].cost, hull.vertices()[0].reward), at);
    for (vertex, step) in hull.vertices()[1..].iter().zip(steps) {
        at = (at.0 + step.0, at.1 + step.1);
        assert_eq!((vertex.cost, vertex.reward), at);
    }
}

/// The height at `cost` of the line through the corners, rounded down.
fn exact_floor(corners: &[(u64, u64)], cost: u64) -> u64 {
    let next = corners.partition_point(|c| c.0 <= cost);
    let left = corners[next - 1];
    let Some(right) = corners.get(next) else {
        return left.1;
    };
    left.1 + (right.1 - left.1) * (cost - left.0) / (right.0 - left.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn equals_brute_force((dag, weights) in any_lightly_weighted_dag(12)) {
        let hull = full(&dag, &weights);
        check_chain(&dag, &weights, &hull);
        prop_assert!(hull.is_complete());
        let gains = all_gains(&dag, &weights);
        let expected = upper_hull(gains.clone());
        prop_assert_eq!(corners(&hull), expected.clone());
        for vertex in highest_at_their_cost(&hull) {
            prop_assert_eq!(vertex.reward, exact_floor(&expected, vertex.cost));
        }
        let most = gains.iter().map(|g| g.0).max().unwrap();
        for cost in 0..=most + 2 {
            prop_assert_eq!(hull.at(cost), exact_floor(&expected, cost));
        }
    }

    #[test]
    fn bound_is_never_below_the_best(dag in any_dag(12)) {
        let hull = unit(&dag);
        let bound = upper_bound(&dag, &hull);
        let best = best_profile(&dag);
        prop_assert!(bound.iter().zip(&best).all(|(u, b)| u >= b), "{:?} {:?}", bound, best);
        for vertex in hull.vertices() {
            prop_assert_eq!(bound[vertex.cost as usize], best[vertex.cost as usize]);
        }
        // At a corner there is only one best ideal without sinks.
        let gains = all_gains(&dag, &Weights::unit(dag.len()));
        for corner in corners(&hull) {
            prop_assert_eq!(gains.iter().filter(|&&g| g == corner).count(), 1);
        }
    }

    #[test]
    fn heavy_weights_are_exact_too((dag, weights) in any_weighted_dag(10)) {
        let hull = full(&dag, &weights);
        check_chain(&dag, &weights, &hull);
        prop_assert_eq!(corners(&hull), upper_hull(all_gains(&dag, &weights)));
    }
}

/// Stops at the given check.
fn stop_after(checks: usize) -> impl Fn() -> bool + Sync {
    let count = AtomicUsize::new(0);
    move || count.fetch_add(1, Relaxed) >= checks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn stopped_early_it_is_still_right(
        (dag, weights) in any_weighted_dag(60),
        checks in 0usize..40,
        tuning in 0usize..3,
    ) {
        let whole = full(&dag, &weights);
        let part = tuned_hull(&dag, &weights, &tunings()[tuning], &mut Work::until(&stop_after(checks))).unwrap();
        check_chain(&dag, &weights, &part);
        for vertex in highest_at_their_cost(&part) {
            prop_assert_eq!(vertex.reward, whole.at(vertex.cost));
        }
        let expected = corners(&whole);
        prop_assert!(corners(&part).iter().all(|c| expected.contains(c)));
        let most = whole.vertices().last().unwrap().cost;
        for step in 0..=200 {
            let cost = (u128::from(most) * step / 200) as u64;
            prop_assert!(part.at(cost) >= whole.at(cost), "at {}", cost);
        }
        if part.is_complete() {
            prop_assert_eq!(corners(&part), expected);
        }
    }

    #[test]
    fn relabelling_changes_nothing((dag, weights) in any_weighted_dag(40), seed: u64) {
        let n = dag.len() as u32;
        let turn = if n == 0 { 0 } else { (seed % u64::from(n)) as u32 };
        let new = |t: u32| (t + turn) % n;
        let arcs = dag.arcs().map(|(p, c)| (new(p.0), new(c.0))).collect();
        let turned = Dag::from_arcs(dag.len(), arcs).unwrap();
        let old = |t: usize| (t + dag.len() - turn as usize) % dag.len();
        let cost = (0..dag.len()).map(|t| weights.cost(TaskId::new(old(t)))).collect();
        let reward = (0..dag.len()).map(|t| weights.reward(TaskId::new(old(t)))).collect();
        let turned_weights = Weights::new(dag.len(), Some(cost), Some(reward)).unwrap();
        prop_assert_eq!(
            corners(&full(&dag, &weights)),
            corners(&full(&turned, &turned_weights))
        );
    }

    #[test]
    fn a_shortcut_changes_nothing((dag, weights) in any_weighted_dag(40), seed: u64) {
        // From a random task to a grandchild of it.
        let with_grandchildren: Vec<_> = dag.tasks()
            .flat_map(|t| dag.children(t).iter().map(move |&c| (t, c)))
            .flat_map(|(t, c)| dag.children(c).iter().map(move |&g| (t.0, g.0)))
            .collect();
        if !with_grandchildren.is_empty() {
            let shortcut = with_grandchildren[(seed % with_grandchildren.len() as u64) as usize];
            let arcs = dag.arcs().map(|(p, c)| (p.0, c.0)).chain([shortcut]).collect();
            let longer = Dag::from_arcs(dag.len(), arcs).unwrap();
            prop_assert_eq!(corners(&full(&dag, &weights)), corners(&full(&longer, &weights)));
        }
    }

    #[test]
    fn no_schedule_beats_the_bound(n in 1usize..400, style in 0usize..5, seed: u64) {
        let dag = random_dag(n, style, seed);
        let bound = upper_bound(&dag, &unit(&dag));
        let mut executed = vec![false; n];
        let mut waiting: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
        let mut eligible: Vec<TaskId> = dag.sources().collect();
        let mut state = seed;
        for t in 0..=n {
            prop_assert!(eligible.len() as u32 <= bound[t]);
            if t == n {
                break;
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let task = eligible.swap_remove((state >> 33) as usize % eligible.len());
            executed[task.index()] = true;
            for &child in dag.children(task) {
                waiting[child.index()] -= 1;
                if waiting[child.index()] == 0 {
                    eligible.push(child);
                }
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_result() {
    let pool = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    };
    let (one, four) = (pool(1), pool(4));
    for seed in 0..40 {
        let dag = random_dag(50 + 40 * seed, seed % 5, seed as u64);
        let weights = Weights::unit(dag.len());
        for tuning in tunings() {
            let run = || tuned_hull(&dag, &weights, &tuning, &mut Work::unlimited()).unwrap();
            assert_eq!(one.install(run), four.install(run));
        }
    }
}

#[test]
fn dags_without_anything_to_plan() {
    for dag in [Dag::empty(), Dag::from_arcs(3, Vec::new()).unwrap()] {
        let hull = unit(&dag);
        assert_eq!((hull.pieces(), hull.at(0), hull.at(7)), (0, 0, 0));
        let expected: Vec<u32> = (0..=dag.len() as u32).rev().collect();
        assert_eq!(upper_bound(&dag, &hull), expected);
    }
}

#[test]
fn weights_of_another_dag_are_an_error() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let error = hull(&dag, &Weights::unit(3), &mut Work::unlimited()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the weights are for 3 tasks, but the dag has 2"
    );
}
