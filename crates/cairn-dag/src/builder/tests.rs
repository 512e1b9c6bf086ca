//! Flows built by hand.

use super::*;

#[test]
fn tasks_are_numbered_as_declared_not_as_mentioned() {
    let mut build = FlowBuilder::new();
    let late = build.mention("late", 1);
    build.add_input(late, "x", None);
    let early = build.declare("early", 2).unwrap();
    build.add_output(early, "x", Some(7));
    build.set_temp("x");
    build.add_output(early, "y", None);
    build.add_pool(late, "licence", 2);
    build.add_tag(late, "gpu");
    build.add_tag(late, "big");
    build.set_memory(late, 9);
    build.set_time_limit(late, 0.5).unwrap();
    build.set_scratch(early, u64::MAX);
    build.set_command(early, "make x");
    build.declare("late", 3).unwrap();
    build.add_input(late, "z", Some(1));
    build.arc(early, late).unwrap();
    let flow = build.finish().unwrap();
    let [early, late] = [TaskId(0), TaskId(1)];
    assert_eq!((flow.name(early), flow.name(late)), ("early", "late"));
    assert_eq!(flow.find("late"), Some(late));
    assert_eq!(flow.find("never"), None);
    assert_eq!(flow.command(early), Some("make x"));
    assert_eq!(flow.command(late), None);
    let x = File {
        path: "x",
        bytes: Some(7),
        temp: true,
    };
    assert_eq!(flow.inputs(late).next(), Some(x));
    assert_eq!(flow.inputs(late).nth(1).unwrap().path, "z");
    assert_eq!(flow.outputs(early).count(), 2);
    assert!(!flow.outputs(early).nth(1).unwrap().temp);
    assert_eq!((flow.memory(early), flow.memory(late)), (None, Some(9)));
    assert_eq!(flow.time_limit(late), Some(0.5));
    let scratch = (flow.scratch(early), flow.scratch(late));
    assert_eq!(scratch, (Some(u64::MAX), None));
    assert_eq!(flow.pools(early).count(), 0);
    assert_eq!(flow.tags(early).count(), 0);
    assert_eq!(flow.tags(late).collect::<Vec<_>>(), ["gpu", "big"]);
    assert_eq!(flow.pools(late).collect::<Vec<_>>(), [("licence", 2)]);
    assert_eq!(flow.dag().children(early), [late]);
}
use crate::File;

#[test]
fn errors_carry_the_marks_of_the_reader() {
    let mut build = FlowBuilder::new();
    let a = build.declare("a", 10).unwrap();
    let again = build.declare("a", 20).unwrap_err();
    assert!(matches!(
        again,
        BuildError::Duplicate {
            first: 10,
            again: 20,
            ..
        }
    ));
    assert!(matches!(build.arc(a, a), Err(BuildError::SelfLoop { .. })));
    assert!(matches!(
        build.declare("", 5),
        Err(BuildError::EmptyName { mark: 5 })
    ));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(build.set_seconds(a, bad).is_err());
        assert!(build.set_time_limit(a, bad).is_err());
    }
    let b = build.mention("b", 30);
    build.arc(a, b).unwrap();
    let errors = build.clone().finish().unwrap_err();
    assert!(matches!(&errors[..], [BuildError::Unknown { name, mark: 30 }] if name == "b"));
    build.declare("b", 40).unwrap();
    build.arc_at(b, a, 50).unwrap();
    build.arc_at(b, a, 60).unwrap();
    let errors = build.finish().unwrap_err();
    let [BuildError::Cycle { names, marks, arcs }] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(names.join(" "), "a b");
    assert_eq!(marks, &[10, 40]);
    assert_eq!(arcs, &[None, Some(50)]);
    let text = "tasks wait for each other in a cycle: a -> b -> a";
    assert_eq!(errors[0].to_string(), text);
}

#[test]
fn a_long_cycle_is_cut_short_and_closed() {
    let mut build = FlowBuilder::new();
    let tasks: Vec<Symbol> = (0..100)
        .map(|i| build.declare(&format!("t{i}"), i).unwrap())
        .collect();
    for i in 0..100 {
        build
            .arc_at(tasks[i], tasks[(i + 1) % 100], 1000 + i as Mark)
            .unwrap();
    }
    let errors = build.finish().unwrap_err();
    let text = errors[0].to_string();
    assert!(text.contains("cycle: t0 -> t1 -> "), "{text}");
    assert!(text.ends_with(" -> t11 -> … 88 more … -> t0"), "{text}");
    let BuildError::Cycle { arcs, .. } = &errors[0] else {
        panic!("{errors:?}")
    };
    assert_eq!(arcs[99], Some(1099));
}

#[test]
fn a_file_has_one_name() {
    for (said, name) in [
        ("x", "x"),
        ("./x", "x"),
        ("a//b/", "a/b"),
        ("a/./b/.", "a/b"),
        ("//a", "/a"),
        ("./", "."),
        ("/", "/"),
        ("../a/../b", "../a/../b"),
        ("s3://bucket//x", "s3://bucket//x"),
        (".x/..y", ".x/..y"),
        ("", ""),
    ] {
        assert_eq!(tidy(said), name, "{said}");
    }
    let mut build = FlowBuilder::new();
    let [a, b] = ["a", "b"].map(|name| build.declare(name, 0).unwrap());
    build.add_output(a, "./x", Some(3));
    build.add_input(b, "x", None);
    build.set_temp("x/");
    let flow = build.finish().unwrap();
    let read = flow.inputs(TaskId(1)).next().unwrap();
    assert_eq!((read.path, read.bytes, read.temp), ("x", Some(3), true));
}
