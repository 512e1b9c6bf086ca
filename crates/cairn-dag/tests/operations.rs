//! Dual and induced sub-dag against their definitions as sets of arcs.

use cairn_dag::{Dag, Flow, FlowBuilder, FlowOperationError, OperationError, TaskId};
use cairn_oracle::any_dag;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn arc_set(dag: &Dag) -> BTreeSet<(TaskId, TaskId)> {
    dag.arcs().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

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
        prop_assert_eq!(part.len(), chosen.len());
        let got: BTreeSet<_> = (part.arcs()).map(|(u, v)| (chosen[u.index()], chosen[v.index()])).collect();
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
fn a_part_keeps_what_is_said_of_its_tasks() {
    let mut whole = chain(&["a", "b", "c"]);
    let b = whole.lookup("b").unwrap();
    whole.set_command(b, "make b");
    whole.set_seconds(b, 2.0).unwrap();
    whole.set_cpus(b, 4);
    whole.set_retries(b, 1);
    whole.set_priority(b, -3);
    whole.set_done(b);
    whole.add_output(b, "x", Some(9));
    whole.add_output(b, "y", None);
    whole.add_input(b, "in", Some(1));
    whole.set_temp("x");
    whole.set_memory(b, 5);
    whole.set_scratch(b, 6);
    whole.set_time_limit(b, 8.0).unwrap();
    whole.add_pool(b, "licence", 2);
    whole.set_pool_limit("licence", 3);
    whole.set_pool_limit("gpu", 1);
    let whole = whole.finish().unwrap();
    let flow = whole.induced(&[TaskId(2), TaskId(1)]).unwrap();
    assert_eq!(names(&flow), ["c", "b"]);
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
    let outputs: Vec<_> = flow.outputs(b).map(|f| (f.path, f.bytes, f.temp)).collect();
    assert_eq!(outputs, [("x", Some(9), true), ("y", None, false)]);
    assert_eq!(flow.inputs(b).next().unwrap().bytes, Some(1));
    assert_eq!(flow.dag().children(b), [TaskId(0)]);
    let twice = whole.induced(&[TaskId(0), TaskId(0)]).unwrap_err();
    let named = OperationError::NamedTwice(TaskId(0));
    assert_eq!(twice, FlowOperationError::Dag(named));
}
