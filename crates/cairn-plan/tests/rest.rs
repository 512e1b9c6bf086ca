//! Plans of half-run flows: what is left is planned as if the game went on from there. By brute force over the whole
//! dag, from the set of executed tasks on.

use cairn_dag::{Dag, Flow, TaskId};
use cairn_oracle::{Random, any_dag, eligible};
use cairn_plan::{Limits, Verdict, certificate, plan};
use cairn_theory::profile::profile;
use cairn_verify::verify;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A random set of tasks that contains all parents of its tasks.
fn random_ideal(dag: &Dag, seed: u64) -> u32 {
    let mut random = Random::new(seed);
    let mut ideal = 0u32;
    for _ in 0..random.below(dag.len() + 1) {
        let ready = eligible(dag, ideal);
        ideal |= 1 << ready[random.below(ready.len())].0;
    }
    ideal
}

/// For each number of further steps: all sets that can be executed by then, from `start` on.
fn layers(dag: &Dag, start: u32) -> Vec<Vec<u32>> {
    let mut layers = vec![vec![start]];
    for _ in 0..dag.len() - start.count_ones() as usize {
        let mut next = BTreeSet::new();
        for &ideal in layers.last().unwrap() {
            next.extend(eligible(dag, ideal).iter().map(|t| ideal | 1 << t.0));
        }
        layers.push(next.into_iter().collect());
    }
    layers
}

/// The most tasks that can be eligible after each further step, and whether one order has so many at every step.
fn best(dag: &Dag, start: u32) -> (Vec<u32>, bool) {
    let count = |&ideal: &u32| eligible(dag, ideal).len() as u32;
    let layers = layers(dag, start);
    let best: Vec<u32> = (layers.iter())
        .map(|layer| layer.iter().map(count).max().unwrap())
        .collect();
    let mut front: BTreeSet<u32> = [start].into();
    for goal in &best[1..] {
        let next = front.iter().flat_map(|&ideal| {
            let ready = eligible(dag, ideal);
            ready.into_iter().map(move |t| ideal | 1 << t.0)
        });
        front = next.filter(|ideal| count(ideal) == *goal).collect();
    }
    (best, !front.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_rest_of_a_half_run_dag_is_planned_as_the_game_goes_on(dag in any_dag(12), seed in any::<u64>()) {
        let start = random_ideal(&dag, seed);
        let is_executed: Vec<bool> = dag.tasks().map(|t| start >> t.0 & 1 == 1).collect();
        let flow = Flow::numbered(&dag);
        prop_assert_eq!(flow.open_parent(dag.tasks().filter(|t| is_executed[t.index()]), &is_executed), None);
        let rest = flow.rest(&is_executed).unwrap();
        let found = plan(rest.dag(), &Limits::default(), &|| false);
        // The order, played on the whole dag from the executed tasks on.
        let mut ideal = start;
        let mut reached = vec![eligible(&dag, ideal).len() as u32];
        for &task in &found.order {
            let task = flow.find(rest.name(task)).unwrap();
            prop_assert!(eligible(&dag, ideal).contains(&task));
            ideal |= 1 << task.0;
            reached.push(eligible(&dag, ideal).len() as u32);
        }
        prop_assert_eq!(ideal.count_ones() as usize, dag.len());
        prop_assert_eq!(&profile(rest.dag(), &found.order).unwrap(), &reached);
        let (best, exists) = best(&dag, start);
        for (t, &most) in best.iter().enumerate() {
            prop_assert!(found.bound[t] >= most, "step {}", t);
        }
        match found.verdict {
            Verdict::Optimal => prop_assert_eq!(&reached, &best),
            Verdict::NoneExists => prop_assert!(!exists),
            Verdict::Open => prop_assert!(reached != best),
            Verdict::Suboptimal => prop_assert!(false, "of a plan's own order"),
        }
        let certificate = certificate(&rest, &found, &|| false).unwrap();
        prop_assert!(verify(&rest, &certificate).is_ok());
        prop_assert!(start == 0 || verify(&flow, &certificate).is_err());
    }

    /// Whatever is executed, also without its parents: the rest has the other tasks, and the arcs among them.
    #[test]
    fn a_done_task_binds_nobody(dag in any_dag(12), executed in any::<u32>()) {
        let is_executed: Vec<bool> = dag.tasks().map(|t| executed >> t.0 & 1 == 1).collect();
        let flow = Flow::numbered(&dag);
        let rest = flow.rest(&is_executed).unwrap();
        let name = |t: TaskId| rest.name(t);
        let left: Vec<TaskId> = dag.tasks().filter(|t| !is_executed[t.index()]).collect();
        let names: Vec<&str> = left.iter().map(|&t| flow.name(t)).collect();
        prop_assert_eq!(rest.dag().tasks().map(name).collect::<Vec<_>>(), names);
        let arcs = dag.arcs().filter(|(p, c)| !is_executed[p.index()] && !is_executed[c.index()]);
        let arcs: Vec<_> = arcs.map(|(p, c)| (flow.name(p), flow.name(c))).collect();
        let found: Vec<_> = rest.dag().arcs().map(|(p, c)| (name(p), name(c))).collect();
        prop_assert_eq!(found, arcs);
        let open = flow.open_parent(dag.tasks().filter(|t| is_executed[t.index()]), &is_executed);
        let obvious = (dag.arcs()).any(|(p, c)| is_executed[c.index()] && !is_executed[p.index()]);
        prop_assert_eq!(open.is_some(), obvious);
        if let Some((task, parent)) = open {
            prop_assert!(is_executed[task.index()] && !is_executed[parent.index()]);
            prop_assert!(dag.parents(task).contains(&parent));
        }
    }
}
