//! The storage of small flows by hand.

use super::*;
use cairn_dag::{Flow, FlowBuilder, TaskId};

/// A task: its name, what it reads, what it writes with sizes (a name that ends in `~` is temporary), its parents.
type Line<'a> = (
    &'a str,
    &'a [&'a str],
    &'a [(&'a str, Option<u64>)],
    &'a [&'a str],
);

fn flow(lines: &[Line<'_>]) -> Flow {
    let mut build = FlowBuilder::new();
    let tasks: Vec<_> = lines
        .iter()
        .map(|l| build.declare(l.0, 0).unwrap())
        .collect();
    for (line, &task) in lines.iter().zip(&tasks) {
        line.1
            .iter()
            .for_each(|path| build.add_input(task, path, None));
        line.2
            .iter()
            .for_each(|(path, bytes)| build.add_output(task, path, *bytes));
        for path in line.1.iter().chain(line.2.iter().map(|(p, _)| p)) {
            if path.ends_with('~') {
                build.set_temp(path);
            }
        }
        for parent in line.3 {
            let at = lines.iter().position(|l| l.0 == *parent).unwrap();
            build.arc(tasks[at], task).unwrap();
        }
    }
    build.finish().unwrap()
}

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

fn nothing(keeping: Keeping) -> Assumed<'static> {
    Assumed::nothing(keeping)
}

#[test]
fn files_are_freed_kept_or_left_out_as_assumed() {
    let flow = flow(&[
        ("a", &["raw"], &[("x~", Some(5)), ("log", Some(1))], &[]),
        ("b", &["x~", "raw"], &[("y", Some(7))], &["a"]),
        ("c", &["y"], &[("z", Some(2))], &["b"]),
    ]);
    let needs = |keeping| {
        let modelled = storage_of(&flow, &nothing(keeping)).unwrap();
        assert!(modelled.unknown.is_empty());
        modelled.storage.needs(&[A, B, C])
    };
    assert_eq!(needs(Keeping::FinalsOutside), [5, 12, 7]);
    assert_eq!(needs(Keeping::FinalsCounted), [6, 13, 10]);
    assert_eq!(needs(Keeping::Marked), [6, 13, 10]);
    let all = |_: &str| true;
    let assumed = Assumed {
        is_temporary: &all,
        is_rest: true,
        ..nothing(Keeping::Marked)
    };
    let modelled = storage_of(&flow, &assumed).unwrap();
    // Nobody is said to read the log, so that it stays for b; z goes when c ends; raw lies there and has no size.
    assert_eq!(modelled.storage.needs(&[A, B, C]), [6, 13, 9]);
    let unknown: Vec<_> = modelled
        .unknown
        .iter()
        .map(|f| modelled.paths[f.index()])
        .collect();
    assert_eq!(unknown, [Some("raw")]);
}

#[test]
fn unknown_sizes_are_listed_or_assumed() {
    let flow = flow(&[
        ("a", &[], &[("x", None), ("w", Some(4))], &[]),
        ("b", &["x", "w"], &[], &["a"]),
        ("c", &[], &[], &["b"]),
    ]);
    let modelled = storage_of(&flow, &nothing(Keeping::FinalsOutside)).unwrap();
    let unknown: Vec<_> = modelled
        .unknown
        .iter()
        .map(|f| modelled.paths[f.index()])
        .collect();
    // c names no inputs: it reads what b hands on, which has no name.
    assert_eq!(unknown, [Some("x"), None]);
    assert_eq!(modelled.storage.needs(&[A, B, C]), [4, 4, 0]);
    let size_of = |path: &str| (path == "x").then_some(10);
    let assumed = Assumed {
        size_of: &size_of,
        size: Some(3),
        ..nothing(Keeping::FinalsOutside)
    };
    let modelled = storage_of(&flow, &assumed).unwrap();
    assert!(modelled.unknown.is_empty());
    assert_eq!(modelled.storage.needs(&[A, B, C]), [14, 17, 3]);
}

#[test]
fn what_cannot_be_counted_is_refused_by_name() {
    let refused =
        |lines: &[Line<'_>]| storage_of(&flow(lines), &nothing(Keeping::Marked)).unwrap_err();
    let twice = refused(&[
        ("a", &[], &[("x", None)], &[]),
        ("b", &[], &[("x", None)], &[]),
    ]);
    let (path, tasks) = ("x".to_owned(), [A, B]);
    assert_eq!(twice, ModelError::TwoProducers { path, tasks });
    let input = refused(&[("a", &["raw~"], &[], &[])]);
    let (path, reader) = ("raw~".to_owned(), A);
    assert_eq!(input, ModelError::TemporaryInput { path, reader });
    let before = refused(&[("a", &["x"], &[], &[]), ("b", &[], &[("x", None)], &["a"])]);
    let path = "x".to_owned();
    let (producer, reader) = (B, A);
    assert_eq!(
        before,
        ModelError::Unordered {
            path,
            producer,
            reader
        }
    );
    let large = refused(&[("a", &[], &[("x", Some(u64::MAX)), ("y", Some(9))], &[])]);
    let path = Some("x".to_owned());
    assert_eq!(large, ModelError::TooLarge { path });
    // Far readers are fine where they come after.
    let far: &[Line<'_>] = &[
        ("a", &[], &[("x", Some(1))], &[]),
        ("b", &[], &[], &["a"]),
        ("c", &["x"], &[], &["b"]),
    ];
    assert!(storage_of(&flow(far), &nothing(Keeping::Marked)).is_ok());
}

/// A file has many names, and a folder many files: whoever reads them is seen to.
#[test]
fn readers_are_found_under_other_names_and_by_folders() {
    let far = |input: &'static str| {
        let lines: &[Line<'_>] = &[
            (
                "a",
                &[],
                &[("./work//x~", Some(5)), ("work-y", Some(1))],
                &[],
            ),
            ("b", &[input], &[], &["a"]),
            ("c", &[input], &[], &["b"]),
        ];
        let flow = flow(lines);
        let modelled = storage_of(&flow, &nothing(Keeping::Marked)).unwrap();
        modelled.storage.needs(&[A, B, C])
    };
    assert_eq!(far("work/x~"), [6, 6, 6]);
    assert_eq!(far("./work/./x~"), [6, 6, 6]);
    assert_eq!(far("work"), [6, 6, 6]);
    assert_eq!(far("work/"), [6, 6, 6]);
    // Nobody says who reads it: it stays for the children, and no longer.
    assert_eq!(far("wor"), [6, 6, 1]);
    assert_eq!(far("/elsewhere/work/x"), [6, 6, 1]);
}

/// A task writes many files, and many children name none of what they read: files that are kept cost nothing for that.
#[test]
fn children_that_name_nothing_cost_nothing_for_files_that_are_kept() {
    let mut build = FlowBuilder::new();
    let parent = build.declare("a", 0).unwrap();
    let many = 1_000;
    for file in 0..many {
        build.add_output(parent, &format!("f{file}"), Some(1));
    }
    build.add_output(parent, "t~", Some(7));
    build.set_temp("t~");
    for child in 0..many {
        let child = build.declare(&format!("c{child}"), 0).unwrap();
        build.arc(parent, child).unwrap();
    }
    let flow = build.finish().unwrap();
    let storage = storage_of(&flow, &nothing(Keeping::Marked))
        .unwrap()
        .storage;
    assert_eq!(storage.all_consumers().len(), many);
    let order: Vec<TaskId> = flow.dag().tasks().collect();
    let needs = storage.needs(&order);
    assert_eq!((needs[0], needs[many]), (1_007, 1_007));
    // Where nothing is kept, everything is freed when the last of them is done.
    let storage = storage_of(&flow, &nothing(Keeping::FinalsOutside))
        .unwrap()
        .storage;
    assert_eq!(storage.all_consumers().len(), many * (many + 1));
    assert_eq!(storage.needs(&order), needs);
}
