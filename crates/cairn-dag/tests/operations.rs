//! Sum, composition, dual and induced sub-dag against their definitions as sets of arcs.

use cairn_dag::{Dag, Flow, FlowBuilder, FlowOperationError, OperationError, TaskId};
use cairn_oracle::any_dag;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn arc_set(dag: &Dag) -> BTreeSet<(TaskId, TaskId)> {
    dag.arcs().collect()
}

/// Pairs some sinks with some sources, as the bits of `choice` say.
fn some_merges(first: &Dag, second: &Dag, choice: u64) -> Vec<(TaskId, TaskId)> {
    let pick = |i: &(usize, TaskId)| choice >> i.0 & 1 == 1;
    let sinks = first.sinks().enumerate().filter(pick).map(|(_, t)| t);
    let sources = second.sources().collect::<Vec<_>>().into_iter().rev();
    sinks.zip(sources).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn composition_is_the_union_with_pairs_identified(
        first in any_dag(10), second in any_dag(10), choice in any::<u64>(),
    ) {
        let merges = some_merges(&first, &second, choice);
        let both = first.compose(&second, &merges).unwrap();
        prop_assert_eq!(both.dag.len(), first.len() + second.len() - merges.len());
        prop_assert_eq!(&both.first, &first.tasks().collect::<Vec<_>>());
        // Ids of the second: merged ones those of their partners, all others new, distinct and in order.
        let mut fresh = first.len() as u32;
        for task in second.tasks() {
            let partner = merges.iter().find(|m| m.1 == task).map(|m| m.0);
            let expected = partner.unwrap_or_else(|| { fresh += 1; TaskId(fresh - 1) });
            prop_assert_eq!(both.second[task.index()], expected);
        }
        let mut expected: BTreeSet<_> = (first.arcs())
            .map(|(u, v)| (both.first[u.index()], both.first[v.index()]))
            .collect();
        expected.extend(second.arcs().map(|(u, v)| (both.second[u.index()], both.second[v.index()])));
        prop_assert_eq!(arc_set(&both.dag), expected);
    }

    #[test]
    fn a_merge_of_other_than_sinks_and_sources_is_refused(
        first in any_dag(8), second in any_dag(8), u in 0u32..9, v in 0u32..9,
    ) {
        let (u, v) = (TaskId(u), TaskId(v));
        let result = first.compose(&second, &[(u, v)]);
        let tasks = first.len();
        if u.index() >= tasks {
            prop_assert_eq!(result, Err(OperationError::NoSuchTask { task: u, tasks }));
        } else if v.index() >= second.len() {
            prop_assert_eq!(result, Err(OperationError::NoSuchTask { task: v, tasks: second.len() }));
        } else if !first.is_sink(u) {
            prop_assert_eq!(result, Err(OperationError::NotASink(u)));
        } else if !second.is_source(v) {
            prop_assert_eq!(result, Err(OperationError::NotASource(v)));
        } else {
            prop_assert!(result.is_ok());
            let twice = first.compose(&second, &[(u, v), (u, v)]);
            prop_assert_eq!(twice, Err(OperationError::NamedTwice(u)));
        }
    }

    /// Paper [MRY06], Lemma 3, here with sums: (A + B) + C = A + (B + C), ids included.
    #[test]
    fn sums_are_associative(a in any_dag(7), b in any_dag(7), c in any_dag(7)) {
        let left = a.sum(&b).unwrap().dag.sum(&c).unwrap().dag;
        let right = a.sum(&b.sum(&c).unwrap().dag).unwrap().dag;
        prop_assert_eq!(left, right);
    }

    #[test]
    fn the_dual_reverses_every_arc(dag in any_dag(14)) {
        let dual = dag.dual();
        prop_assert_eq!(arc_set(&dual), dag.arcs().map(|(u, v)| (v, u)).collect());
        prop_assert_eq!(dual.dual(), dag);
    }

    #[test]
    fn induced_keeps_exactly_the_arcs_inside(dag in any_dag(14), bits in any::<u32>(), flip in any::<bool>()) {
        let mut chosen: Vec<TaskId> = dag.tasks().filter(|t| bits >> t.0 & 1 == 1).collect();
        if flip { chosen.reverse(); }
        let part = dag.induced(&chosen).unwrap();
        prop_assert_eq!(&part.whole, &chosen);
        let got: BTreeSet<_> = (part.dag.arcs()).map(|(u, v)| (chosen[u.index()], chosen[v.index()])).collect();
        let inside = dag.arcs().filter(|(u, v)| chosen.contains(u) && chosen.contains(v)).collect();
        prop_assert_eq!(got, inside);
        if let Some(&again) = chosen.first() {
            chosen.push(again);
            prop_assert_eq!(dag.induced(&chosen), Err(OperationError::NamedTwice(again)));
        }
    }
}

/// A chain of tasks with the given names.
fn chain(names: &[&str]) -> FlowBuilder {
    let mut build = FlowBuilder::new();
    let mut last = None;
    for name in names {
        let task = build.declare(name, 0).unwrap();
        if let Some(last) = last {
            build.arc(last, task).unwrap();
        }
        last = Some(task);
    }
    build
}

fn names(flow: &Flow) -> Vec<&str> {
    flow.dag().tasks().map(|t| flow.name(t)).collect()
}

#[test]
fn merged_tasks_take_what_the_first_flow_leaves_open() {
    let mut first = chain(&["a", "b"]);
    let b = first.lookup("b").unwrap();
    first.set_command(b, "make b");
    first.set_seconds(b, 2.0).unwrap();
    first.add_output(b, "x", None);
    let mut second = chain(&["start", "c"]);
    let start = second.lookup("start").unwrap();
    second.set_command(start, "never run");
    second.set_cpus(start, 4);
    second.set_retries(start, 1);
    second.set_priority(start, -3);
    second.set_done(start);
    second.add_output(start, "x", Some(9));
    second.add_output(start, "y", None);
    second.add_input(start, "in", Some(1));
    second.set_temp("x");
    second.set_memory(start, 5);
    first.set_scratch(b, 6);
    second.set_scratch(start, 7);
    second.set_time_limit(start, 8.0).unwrap();
    second.add_pool(start, "licence", 2);
    first.set_pool_limit("licence", 3);
    second.set_pool_limit("licence", 4);
    second.set_pool_limit("gpu", 1);
    let (first, second) = (first.finish().unwrap(), second.finish().unwrap());
    let flow = first.compose(&second, &[(TaskId(1), TaskId(0))]).unwrap();
    assert_eq!(names(&flow), ["a", "b", "c"]);
    let b = flow.find("b").unwrap();
    assert_eq!(flow.command(b), Some("make b"));
    assert_eq!(flow.seconds(b), Some(2.0));
    assert_eq!(
        (flow.cpus(b), flow.retries(b), flow.priority(b)),
        (Some(4), Some(1), Some(-3))
    );
    assert!(flow.is_done(b));
    assert_eq!((flow.memory(b), flow.scratch(b)), (Some(5), Some(6)));
    assert_eq!(flow.time_limit(b), Some(8.0));
    assert_eq!(flow.pools(b).collect::<Vec<_>>(), [("licence", 2)]);
    let limits: Vec<_> = flow.pool_limits().collect();
    assert_eq!(limits, [("licence", 3), ("gpu", 1)]);
    let prefixed = flow.prefixed("p/").unwrap();
    assert_eq!(prefixed.pool_limits().collect::<Vec<_>>(), limits);
    let outputs: Vec<_> = flow.outputs(b).map(|f| (f.path, f.bytes, f.temp)).collect();
    assert_eq!(outputs, [("x", Some(9), true), ("y", None, false)]);
    assert_eq!(flow.inputs(b).next().unwrap().bytes, Some(1));
    assert_eq!(flow.dag().children(b), [TaskId(2)]);
}

#[test]
fn names_stay_unique() {
    let flow = chain(&["a", "b"]).finish().unwrap();
    assert_eq!(
        flow.sum(&flow).unwrap_err(),
        FlowOperationError::NameTaken("a".to_owned())
    );
    let twice = flow.sum(&flow.prefixed("again/").unwrap()).unwrap();
    assert_eq!(names(&twice), ["a", "b", "again/a", "again/b"]);
    // A merged source gives its name away, so that a task of the same name elsewhere is no clash.
    let merged = flow.compose(
        &chain(&["a", "c"]).finish().unwrap(),
        &[(TaskId(1), TaskId(0))],
    );
    assert_eq!(names(&merged.unwrap()), ["a", "b", "c"]);
    let wrong = flow.compose(&flow, &[(TaskId(0), TaskId(0))]).unwrap_err();
    assert_eq!(
        wrong,
        FlowOperationError::Dag(OperationError::NotASink(TaskId(0)))
    );
    let part = twice.induced(&[TaskId(3), TaskId(0), TaskId(2)]).unwrap();
    assert_eq!(names(&part), ["again/b", "a", "again/a"]);
    assert_eq!(part.dag().children(TaskId(2)), [TaskId(0)]);
}
