//! Plans of half-run flows: what is left is planned as if the game went on from there. By brute force over the whole
//! dag, from the set of executed tasks on.

use cairn_dag::{Dag, Flow, FlowBuilder, TaskId};
use cairn_oracle::{Random, any_dag, eligible};
use cairn_plan::storage::{Assumed, Keeping, storage_of};
use cairn_plan::{PlanEffort, Verdict, Work, certificate, plan};
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

/// Every task writes a file that all its children read: of some size, temporary or not.
fn with_files(dag: &Dag, random: &mut Random) -> Flow {
    let mut build = FlowBuilder::new();
    let tasks: Vec<_> = (dag.tasks())
        .map(|t| build.declare(&format!("t{}", t.0), 0).unwrap())
        .collect();
    for task in dag.tasks() {
        let path = format!("f{}", task.0);
        let bytes = random.below(9) as u64;
        build.add_output(tasks[task.index()], &path, Some(bytes));
        if random.below(2) == 0 {
            build.set_temp(&path);
        }
        for child in dag.children(task) {
            build
                .arc(tasks[task.index()], tasks[child.index()])
                .unwrap();
            build.add_input(tasks[child.index()], &path, Some(bytes));
        }
    }
    build.finish().unwrap()
}

/// Every task writes a file in a folder of its own, temporary or not. Its children name the file, or the folder, or no inputs at
/// all, or only others than it.
fn with_files_unnamed(dag: &Dag, random: &mut Random) -> Flow {
    let mut build = FlowBuilder::new();
    let tasks: Vec<_> = (dag.tasks())
        .map(|t| build.declare(&format!("t{}", t.0), 0).unwrap())
        .collect();
    let names_none: Vec<bool> = dag.tasks().map(|_| random.below(4) == 0).collect();
    for task in dag.tasks() {
        let [folder, path] = [format!("d{}", task.0), format!("d{}/f", task.0)];
        let bytes = random.below(9) as u64;
        build.add_output(tasks[task.index()], &path, Some(bytes));
        if random.below(3) > 0 {
            build.set_temp(&path);
        }
        if !names_none[task.index()] {
            build.add_input(tasks[task.index()], "raw", None);
        }
        let is_named = random.below(3) > 0;
        for child in dag.children(task) {
            let to = tasks[child.index()];
            build.arc(tasks[task.index()], to).unwrap();
            if is_named && !names_none[child.index()] {
                match random.below(2) {
                    0 => build.add_input(to, &path, None),
                    _ => build.add_input(to, &folder, None),
                }
            }
        }
    }
    build.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// What lies there when the game goes on is counted, until its last reader is done: needs along any order are those of the
    /// whole flow, less what executed tasks wrote that is kept, which stands outside now.
    #[test]
    fn temporary_files_of_executed_tasks_count_until_they_are_read(dag in any_dag(12), seed in any::<u64>(), are_named in any::<bool>()) {
        let mut random = Random::new(seed);
        let flow = match are_named {
            true => with_files(&dag, &mut random),
            false => with_files_unnamed(&dag, &mut random),
        };
        let start = random_ideal(&dag, seed);
        let is_executed: Vec<bool> = dag.tasks().map(|t| start >> t.0 & 1 == 1).collect();
        let rest = flow.rest(&is_executed).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut ideal = 0u32;
        while ideal.count_ones() < start.count_ones() {
            let ready: Vec<TaskId> = eligible(&dag, ideal);
            let task = *ready.iter().find(|t| is_executed[t.index()]).unwrap();
            before.push(task);
            ideal |= 1 << task.0;
        }
        while (ideal.count_ones() as usize) < dag.len() {
            let ready = eligible(&dag, ideal);
            let task = ready[random.below(ready.len())];
            after.push(task);
            ideal |= 1 << task.0;
        }
        let whole = storage_of(&flow, &Assumed::nothing(Keeping::Marked)).unwrap();
        let order: Vec<TaskId> = before.iter().chain(&after).copied().collect();
        let kept: u64 = (before.iter())
            .flat_map(|&t| flow.outputs(t))
            .filter(|f| !f.temp)
            .map(|f| f.bytes.unwrap())
            .sum();
        let slow: Vec<u64> = whole.storage.needs(&order)[before.len()..].iter().map(|n| n - kept).collect();
        let assumed = Assumed { is_rest: true, ..Assumed::nothing(Keeping::Marked) };
        let left = storage_of(&rest, &assumed).unwrap();
        let order: Vec<TaskId> = after.iter().map(|&t| rest.find(flow.name(t)).unwrap()).collect();
        prop_assert_eq!(left.storage.needs(&order), slow);
        // From half-way on again: nothing is forgotten on the way.
        let half: Vec<bool> = rest.dag().tasks().map(|t| order[..order.len() / 2].contains(&t)).collect();
        let last = rest.rest(&half).unwrap();
        let both: Vec<bool> = flow.dag().tasks().map(|t| last.find(flow.name(t)).is_none()).collect();
        let at_once = flow.rest(&both).unwrap();
        let left = |of: &Flow| -> Vec<BTreeSet<String>> {
            let paths = |t| of.left_for(t).map(|f| f.path.to_owned()).collect();
            of.dag().tasks().map(paths).collect()
        };
        prop_assert_eq!(left(&last), left(&at_once));
    }

    #[test]
    fn the_rest_of_a_half_run_dag_is_planned_as_the_game_goes_on(dag in any_dag(12), seed in any::<u64>()) {
        let start = random_ideal(&dag, seed);
        let is_executed: Vec<bool> = dag.tasks().map(|t| start >> t.0 & 1 == 1).collect();
        let flow = Flow::numbered(&dag);
        prop_assert_eq!(flow.open_parent(dag.tasks().filter(|t| is_executed[t.index()]), &is_executed), None);
        let rest = flow.rest(&is_executed).unwrap();
        let found = plan(rest.dag(), &PlanEffort::default(), &mut Work::unlimited());
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
        let certificate = certificate(&rest, &found, &mut Work::unlimited()).unwrap();
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
