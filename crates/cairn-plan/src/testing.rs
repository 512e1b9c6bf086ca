//! What the tests of this crate share: random weights, every tuning, whole dags as components, the hull by brute force.

use crate::Weights;
use crate::closure::Tuning;
use crate::decide::{Component, components, one_interval};
use cairn_dag::Dag;
use cairn_oracle::any_dag;
use proptest::prelude::*;

/// Random dags with weights from nothing to enormous; half of them with unit weights.
pub(crate) fn any_weighted_dag(most: usize) -> impl Strategy<Value = (Dag, Weights)> {
    (any_dag(most), 0u8..10, any::<u64>()).prop_map(|(dag, style, seed)| {
        let weights = weights(dag.len(), style, seed);
        (dag, weights)
    })
}

/// The same with weights so small that every cost can be tried.
pub(crate) fn any_lightly_weighted_dag(most: usize) -> impl Strategy<Value = (Dag, Weights)> {
    (any_dag(most), 0u8..4, any::<u64>()).prop_map(|(dag, style, seed)| {
        let weights = weights(dag.len(), style, seed);
        (dag, weights)
    })
}

fn weights(tasks: usize, style: u8, seed: u64) -> Weights {
    let mut state = seed | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut some = |most: u64| Some((0..tasks).map(|_| random(most)).collect());
    let (cost, reward) = match style {
        1 => (some(4), None),
        2 => (None, some(3)),
        3 => (some(6), some(6)),
        4 => (some(1 << 40), None),
        5 => (some(1 << 52), some(1 << 52)),
        _ => return Weights::unit(tasks),
    };
    Weights::new(tasks, cost, reward).unwrap()
}

/// Tunings that force each of the flow algorithms to do all the work.
pub(crate) fn tunings() -> [Tuning; 3] {
    let default = Tuning::default();
    let forced = Tuning {
        cold_phases: 0,
        worth_a_thread: 1,
        ..default
    };
    let patient = Tuning {
        cold_phases: 1000,
        cold_leaves: 1.0,
        ..default
    };
    [default, forced, patient]
}

/// The components of the whole dag as one interval: then their only valid starting bound is the trivial one.
pub(crate) fn whole(dag: &Dag) -> Vec<Component> {
    (components(dag, &one_interval(dag), None).into_iter())
        .map(|p| p.component)
        .collect()
}

/// Cost and reward of every ideal without sinks, by trying all.
pub(crate) fn all_gains(dag: &Dag, weights: &Weights) -> Vec<(u64, u64)> {
    let has = |ideal: u32, task: cairn_dag::TaskId| ideal >> task.0 & 1 == 1;
    let sinks: u32 = dag.sinks().map(|t| 1 << t.0).sum();
    (cairn_oracle::ideals(dag).into_iter().flatten())
        .filter(|ideal| ideal & sinks == 0)
        .map(|ideal| {
            let cost = dag.tasks().filter(|&t| has(ideal, t));
            let eligible = dag
                .tasks()
                .filter(|&t| !dag.is_source(t) && dag.parents(t).iter().all(|&p| has(ideal, p)));
            (
                cost.map(|t| weights.cost(t)).sum(),
                eligible.map(|t| weights.reward(t)).sum(),
            )
        })
        .collect()
}

/// The corners of the upper concave hull from (0, 0) to the most expensive point, by Andrew's monotone chain.
pub(crate) fn upper_hull(mut points: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    points.sort_unstable();
    let mut hull: Vec<(u64, u64)> = vec![(0, 0)];
    for (i, &point) in points.iter().enumerate() {
        let is_best = points.get(i + 1).is_none_or(|next| next.0 > point.0);
        if !is_best || point == (0, 0) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            // Is b on or below the line from a to the point?
            let (run, rise) = (b.0 - a.0, i128::from(b.1) - i128::from(a.1));
            let whole_run = i128::from(point.0 - a.0);
            let whole_rise = i128::from(point.1) - i128::from(a.1);
            if rise * whole_run > whole_rise * i128::from(run) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}
