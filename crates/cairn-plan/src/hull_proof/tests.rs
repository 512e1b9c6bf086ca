//! Certificates against a checker that knows nothing of how they were made.

use super::*;
use crate::hull;
use crate::testing::{any_weighted_dag, tunings};
use cairn_oracle::{any_dag, random_dag};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// out(v) is (v, true), in(v) is (v, false).
type Node = (TaskId, bool);

/// Checks steps (1) and (2) of the documentation and returns the piece and the load of every node.
fn check(
    dag: &Dag,
    weights: &Weights,
    proof: &[PieceProof],
) -> Result<BTreeMap<Node, (usize, i128)>, String> {
    let mut nodes: BTreeMap<Node, (usize, i128)> = BTreeMap::new();
    for (i, piece) in proof.iter().enumerate() {
        if piece.scale == 0 {
            return Err(format!("piece {i} has the scale 0"));
        }
        for &task in &piece.executed {
            if dag.is_sink(task) || nodes.insert((task, true), (i, 0)).is_some() {
                return Err(format!("{task:?} is no task to execute in piece {i}"));
            }
        }
        for &task in &piece.eligible {
            let load = i128::from(weights.reward(task)) * i128::from(piece.scale);
            if dag.is_source(task) || nodes.insert((task, false), (i, load)).is_some() {
                return Err(format!("{task:?} does not become eligible in piece {i}"));
            }
        }
    }
    if nodes.len() != 2 * dag.len() - dag.sinks().count() - dag.sources().count() {
        return Err("some node lies in no piece".into());
    }
    for (i, piece) in proof.iter().enumerate() {
        let to_parents = (piece.to_parent.iter())
            .map(|flow| ((flow.child, false), (flow.parent, true), flow.amount));
        let to_selves =
            (piece.to_self.iter()).map(|flow| ((flow.task, true), (flow.task, false), flow.amount));
        for (from, to, amount) in to_parents.chain(to_selves) {
            if from.0 != to.0 && !dag.has_arc(to.0, from.0) {
                return Err(format!("{from:?} does not need {to:?}"));
            }
            for (node, sign) in [(from, -1), (to, 1)] {
                match nodes.get_mut(&node) {
                    Some((piece, load)) if *piece == i => *load += sign * amount as i128,
                    _ => return Err(format!("{node:?} does not lie in piece {i}")),
                }
            }
        }
    }
    Ok(nodes)
}

/// Step (3) for unit weights: the bound at t = 0, 1, … in units of 1/denominator, and the denominator.
fn unit_bound(proof: &[PieceProof], nodes: &BTreeMap<Node, (usize, i128)>) -> (Vec<i128>, i128) {
    let scale = |piece: usize| i128::from(proof[piece].scale);
    let denominator = (0..proof.len()).fold(1, |lcm, i| lcm / gcd(lcm, scale(i)) * scale(i));
    let loads = |wanted: bool| {
        (nodes.iter())
            .filter(move |((_, is_out), _)| *is_out == wanted)
            .map(|(_, &(piece, load))| load.max(0) * (denominator / scale(piece)))
    };
    let mut costly: Vec<i128> = loads(true).collect();
    costly.sort_unstable_by(|a, b| b.cmp(a));
    let mut bound = vec![loads(false).sum()];
    for load in costly {
        bound.push(bound[bound.len() - 1] + load);
    }
    (bound, denominator)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether what the certificate proves is the hull, at every step.
fn proves_the_hull(dag: &Dag, hull: &Hull, proof: &[PieceProof]) -> Result<bool, String> {
    let nodes = check(dag, &Weights::unit(dag.len()), proof)?;
    let (bound, denominator) = unit_bound(proof, &nodes);
    let rounded = bound.iter().map(|b| (b / denominator) as u64);
    assert!(
        rounded
            .clone()
            .enumerate()
            .all(|(t, b)| b >= hull.at(t as u64))
    );
    let at_vertices = (hull.vertices().iter())
        .all(|v| bound[v.cost as usize] == i128::from(v.reward) * denominator);
    Ok(at_vertices && rounded.enumerate().all(|(t, b)| b == hull.at(t as u64)))
}

/// Every load must be in proportion to its cost, by the slope of its piece: no rounding anywhere.
fn check_proportions(dag: &Dag, weights: &Weights, hull: &Hull, proof: &[PieceProof]) {
    for (i, piece) in proof.iter().enumerate() {
        let (start, end) = (hull.vertices()[i], hull.vertices()[i + 1]);
        assert_eq!(piece.reward, end.reward - start.reward);
        assert_eq!(piece.cost, end.cost - start.cost);
    }
    for ((task, is_out), (i, load)) in check(dag, weights, proof).unwrap() {
        let piece = &proof[i];
        if piece.cost == 0 || piece.reward == 0 {
            continue;
        }
        // The price of a unit of cost is a whole number in the units of the piece.
        let price = u128::from(piece.reward) * u128::from(piece.scale);
        assert_eq!(price % u128::from(piece.cost), 0);
        let price = (price / u128::from(piece.cost)) as i128;
        let cost = if is_out { weights.cost(task) } else { 0 };
        assert_eq!(load, i128::from(cost) * price);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn proves_exactly_the_hull(dag in any_dag(40), tuning in 0usize..3) {
        let weights = Weights::unit(dag.len());
        let hull = hull(&dag, &weights, &mut Work::unlimited()).unwrap();
        let proof = tuned_certify(&dag, &weights, &hull, &tunings()[tuning], &Work::unlimited()).unwrap();
        prop_assert_eq!(proves_the_hull(&dag, &hull, &proof), Ok(true));
    }

    #[test]
    fn loads_are_in_proportion_to_costs((dag, weights) in any_weighted_dag(40), tuning in 0usize..3) {
        let hull = hull(&dag, &weights, &mut Work::unlimited()).unwrap();
        let proof = tuned_certify(&dag, &weights, &hull, &tunings()[tuning], &Work::unlimited()).unwrap();
        check_proportions(&dag, &weights, &hull, &proof);
    }

    #[test]
    fn stopped_early_it_is_valid_but_weaker(dag in any_dag(40), coarse: bool) {
        let weights = Weights::unit(dag.len());
        let stop = || true;
        let whole = hull(&dag, &weights, &mut Work::unlimited()).unwrap();
        let proof = if coarse {
            let coarse = hull(&dag, &weights, &mut Work::until(&stop)).unwrap();
            certify(&dag, &weights, &coarse, &Work::unlimited())
        } else {
            certify(&dag, &weights, &whole, &Work::until(&stop))
        };
        // The assertion inside: never below the hull.
        prop_assert!(proves_the_hull(&dag, &whole, &proof.unwrap()).is_ok());
    }

    #[test]
    fn one_changed_number_is_noticed(n in 4usize..30, style in 0usize..5, seed: u64) {
        let dag = random_dag(n, style, seed);
        let weights = Weights::unit(n);
        let hull = hull(&dag, &weights, &mut Work::unlimited()).unwrap();
        let mut proof = certify(&dag, &weights, &hull, &Work::unlimited()).unwrap();
        let mut amounts: Vec<&mut u128> = (proof.iter_mut())
            .flat_map(|p| {
                let selves = p.to_self.iter_mut().map(|flow| &mut flow.amount);
                p.to_parent.iter_mut().map(|flow| &mut flow.amount).chain(selves)
            })
            .collect();
        if !amounts.is_empty() {
            let at = seed as usize % amounts.len();
            *amounts[at] += 1;
            // It is still a flow, so what it proves still holds; but it no longer proves the hull.
            prop_assert_eq!(proves_the_hull(&dag, &hull, &proof), Ok(false));
        }
    }
}

#[test]
fn large_dags_are_proved_exactly() {
    for seed in 0..10 {
        let dag = random_dag(3000, seed % 5, seed as u64);
        let weights = Weights::unit(3000);
        let hull = hull(&dag, &weights, &mut Work::unlimited()).unwrap();
        let proof = certify(&dag, &weights, &hull, &Work::unlimited()).unwrap();
        check_proportions(&dag, &weights, &hull, &proof);
    }
}

#[test]
fn a_hull_of_another_dag_is_an_error() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let larger = Dag::from_arcs(3, vec![(0, 1)]).unwrap();
    let hull = hull(&dag, &Weights::unit(2), &mut Work::unlimited()).unwrap();
    let error = certify(&larger, &Weights::unit(3), &hull, &Work::unlimited()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the hull is that of a dag with 2 tasks, but this one has 3"
    );
}
