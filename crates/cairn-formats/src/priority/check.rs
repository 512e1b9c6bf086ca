//! Reads edited text again and compares: the same tasks, arcs and attributes, and the priorities that were meant.
//! Knows no syntax. Gives the flow that was read again.

use super::{Load, PriorityError};
use crate::{EditedFile, ExistingPriorities, Format, Report, Source};
use cairn_dag::{Flow, TaskId};
use std::collections::HashSet;
use std::path::Path;

/// Checks the new text of a single file. Tasks without a number must have kept what they had.
pub(super) fn single(
    before: &Flow,
    edited: &Source,
    format: Format,
    numbers: &[Option<i64>],
) -> Result<Flow, PriorityError> {
    let mut report = Report::default();
    let after = super::read(edited, format, &mut |_, _| None, &mut report);
    let after = after.ok_or_else(|| unreadable(&report))?;
    same(before, &after)?;
    for task in before.dag().tasks() {
        let meant = numbers[task.index()].or(before.priority(task));
        if after.priority(task) != meant {
            return Err(wrong_priority(before, task));
        }
    }
    Ok(after)
}

/// Checks the new texts of a DAGMan workflow. A file that several splices share says one priority for all copies of a
/// node, and special nodes can have none; all others must have what was meant.
pub(super) fn dagman(
    before: &Flow,
    source: &Source,
    load: &mut Load<'_>,
    files: &[EditedFile],
    priority: &dyn Fn(&str) -> Option<i64>,
    existing: ExistingPriorities,
) -> Result<Flow, PriorityError> {
    let top = files.first().map_or_else(
        || source.clone(),
        |file| source.with_text(file.text.clone()),
    );
    let mut fetch = |path: &Path, report: &mut Report| {
        let found = load(path, report)?;
        // The first is the top file, which was handed in as `top`.
        let edited = files.iter().skip(1).find(|file| file.path == path);
        Some(match edited {
            Some(file) => found.with_text(file.text.clone()),
            None => found,
        })
    };
    let mut report = Report::default();
    let after = super::read(&top, Format::Dagman, &mut fetch, &mut report);
    let after = after.ok_or_else(|| unreadable(&report))?;
    same(before, &after)?;
    // What the copies of a node want, by the node's own name.
    let mut wanted = HashSet::new();
    for task in before.dag().tasks() {
        if let Some(number) = priority(before.name(task)) {
            wanted.insert((own_name(before.name(task)), number));
        }
    }
    for task in before.dag().tasks() {
        let (old, new) = (before.priority(task), after.priority(task));
        let kept = existing == ExistingPriorities::Keep && old.is_some();
        let meant = match priority(before.name(task)) {
            Some(number) if !kept => Some(number),
            _ => old,
        };
        // A shared file has the highest of what its copies want: any of those will do.
        let of_a_copy = new.is_some_and(|n| wanted.contains(&(own_name(before.name(task)), n)));
        let special = new == old && old.is_none();
        if new != meant && !of_a_copy && !special {
            return Err(wrong_priority(before, task));
        }
    }
    Ok(after)
}

fn own_name(name: &str) -> &str {
    // Nodes of splices are called `splice+node`.
    name.rsplit('+').next().unwrap_or(name)
}

fn unreadable(report: &Report) -> PriorityError {
    let why = match report.first_message() {
        "" => "no reason given",
        why => why,
    };
    PriorityError::Check(format!("the text with priorities cannot be read: {why}"))
}

fn wrong_priority(flow: &Flow, task: TaskId) -> PriorityError {
    let name = flow.name(task);
    PriorityError::Check(format!(
        "the priority of '{name}' is not read back as it was meant"
    ))
}

/// Whether two flows agree in everything but priorities.
fn same(before: &Flow, after: &Flow) -> Result<(), PriorityError> {
    let differ = |what: &str| Err(PriorityError::Check(format!("{what} would change")));
    if before.dag().len() != after.dag().len() {
        return differ("the number of tasks");
    }
    for task in before.dag().tasks() {
        if before.name(task) != after.name(task) {
            return differ("the names of tasks");
        }
        // Numbers of tasks are the same by now, so that rows can be compared as they are.
        if before.dag().children(task) != after.dag().children(task) {
            return differ("the dependencies");
        }
        let attributes = |flow: &Flow| {
            // By bits: a number that is written otherwise and read as another must be seen, however near.
            let bits = |seconds: Option<f64>| seconds.map(f64::to_bits);
            (
                bits(flow.seconds(task)),
                bits(flow.time_limit(task)),
                (flow.memory(task), flow.scratch(task)),
                flow.cpus(task),
                flow.retries(task),
                flow.is_done(task),
            )
        };
        let equal = attributes(before) == attributes(after)
            && before.pools(task).eq(after.pools(task))
            && before.tags(task).eq(after.tags(task))
            && before.command(task) == after.command(task);
        if !equal {
            return differ("the attributes of tasks");
        }
        let files = |flow: &Flow| -> Vec<(String, Option<u64>, bool)> {
            let all = flow.inputs(task).chain(flow.outputs(task));
            all.map(|file| (file.path.to_owned(), file.bytes, file.temp))
                .collect()
        };
        if files(before) != files(after) {
            return differ("the files of tasks");
        }
    }
    if !before.pool_limits().eq(after.pool_limits()) {
        return differ("the limits of pools");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(text: &str) -> Flow {
        let source = Source::from_text("f.dot", text);
        crate::read(&source, Some(Format::Dot), &mut Report::default())
            .unwrap()
            .1
    }

    #[test]
    fn an_edit_that_spoils_anything_is_found() {
        let before = flow("digraph { a [seconds=1]; b; a -> b }");
        let numbers = [Some(2), Some(1)];
        let error = |text: &str| {
            let edited = Source::from_text("f.dot", text);
            let checked = single(&before, &edited, Format::Dot, &numbers);
            checked.map(|_| ()).map_err(|e| e.to_string())
        };
        let good = "digraph { a [seconds=1, priority=2]; b [priority=1]; a -> b }";
        assert_eq!(error(good), Ok(()));
        for (spoiled, why) in [
            (good.replace("a -> b", ""), "the dependencies would change"),
            (
                good.replace("seconds=1, ", ""),
                "the attributes of tasks would change",
            ),
            (good.replace('b', "c"), "the names of tasks would change"),
            (
                good.replace("; a ->", "; c; a ->"),
                "the number of tasks would change",
            ),
            (
                good.replace("=2", "=3"),
                "the priority of 'a' is not read back",
            ),
            (
                good.replace(" [priority=1]", ""),
                "the priority of 'b' is not read back",
            ),
            (good.replace('}', ""), "cannot be read"),
        ] {
            let said = error(&spoiled).unwrap_err();
            assert!(said.starts_with("internal check failed: "), "{said}");
            assert!(said.contains(why), "{spoiled}: {said}");
        }
    }

    #[test]
    fn dagman_nodes_take_their_own_number_or_that_of_a_copy() {
        let source = Source::from_text("f.dag", "JOB a x\nJOB b x\n");
        let read = |source: &Source| {
            super::super::read(
                source,
                Format::Dagman,
                &mut |_, _| None,
                &mut Report::default(),
            )
        };
        let before = read(&source).unwrap();
        let rank = |name: &str| Some(if name == "a" { 2 } else { 1 });
        let check = |text: &str| {
            let file = EditedFile {
                name: "f.dag".to_owned(),
                path: "f.dag".into(),
                text: text.to_owned(),
            };
            let replace = ExistingPriorities::Replace;
            dagman(&before, &source, &mut |_, _| None, &[file], &rank, replace).is_ok()
        };
        assert!(check("JOB a x\nPRIORITY a 2\nJOB b x\nPRIORITY b 1\n"));
        assert!(!check("JOB a x\nPRIORITY a 1\nJOB b x\nPRIORITY b 1\n"));
        assert!(!check(
            "JOB a x\nPRIORITY a 2\nPARENT a CHILD b\nJOB b x\nPRIORITY b 1\n"
        ));
    }
}
