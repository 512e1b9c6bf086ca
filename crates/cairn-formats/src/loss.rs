//! What a conversion does not carry over, as data. Knows no format: it compares flows.

use cairn_dag::{Flow, TaskId, plain};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// In what way something is not carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossKind {
    /// It is not in the output.
    LeftOut,
    /// It is in the output with another value.
    Changed,
    /// The output has it, and the input has not.
    Added,
}

impl LossKind {
    /// The word for it in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::LeftOut => "left-out",
            LossKind::Changed => "changed",
            LossKind::Added => "added",
        }
    }
}

/// One thing that a conversion leaves out, changes or adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Left out, changed or added.
    pub kind: LossKind,
    /// An attribute of tasks, such as `durations`, or a piece of the file, such as `SCRIPT`.
    pub what: String,
    /// How many of `of`.
    pub count: usize,
    /// What is counted: `task`, `line`, `field`, `pool`.
    pub of: &'static str,
    /// The first of them: a task's name, or file and line.
    pub first: String,
}

impl fmt::Display for Loss {
    /// `durations of 3 tasks (first: a)`, without a word on what happened to them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { count, of, .. } = self;
        let what = plain(&self.what);
        let plural = if *count == 1 { "" } else { "s" };
        let (of_count, first) = match *of {
            "task" => (format!("{what} of {count} task{plural}"), &self.first),
            _ => (format!("{what} ({count} {of}{plural})"), &self.first),
        };
        f.write_str(&of_count)?;
        if !first.is_empty() {
            // A name may be a whole command line; what is shown must fit beside the rest.
            let shown: String = first.chars().take(60).collect();
            let cut = if shown.len() < first.len() { "…" } else { "" };
            let word = if *count == 1 { "" } else { "first: " };
            write!(f, ", {word}{}{cut}", plain(&shown))?;
        }
        Ok(())
    }
}

/// What became of an attribute of a task.
fn change<T: PartialEq>(before: Option<T>, after: Option<T>) -> Option<LossKind> {
    match (before, after) {
        (None, None) => None,
        (Some(_), None) => Some(LossKind::LeftOut),
        (None, Some(_)) => Some(LossKind::Added),
        (Some(before), Some(after)) => (before != after).then_some(LossKind::Changed),
    }
}

/// The paths of the files of a task, reads then writes; `None` when there are none.
fn paths(flow: &Flow, task: TaskId) -> Option<(Vec<&str>, Vec<&str>)> {
    let inputs: Vec<_> = flow.inputs(task).map(|f| f.path).collect();
    let outputs: Vec<_> = flow.outputs(task).map(|f| f.path).collect();
    (!inputs.is_empty() || !outputs.is_empty()).then_some((inputs, outputs))
}

/// The known sizes of the files of a task; `None` when none is known.
fn sizes(flow: &Flow, task: TaskId) -> Option<Vec<(&str, u64)>> {
    let files = flow.inputs(task).chain(flow.outputs(task));
    let known: Vec<_> = files.filter_map(|f| Some((f.path, f.bytes?))).collect();
    (!known.is_empty()).then_some(known)
}

/// The temporary files that a task writes; `None` when there is none.
fn temporary(flow: &Flow, task: TaskId) -> Option<Vec<&str>> {
    let marked = flow.outputs(task).filter(|f| f.temp).map(|f| f.path);
    Some(marked.collect::<Vec<_>>()).filter(|m| !m.is_empty())
}

/// The named resources of a task, in whatever order; `None` when there is none.
fn pools(flow: &Flow, task: TaskId) -> Option<BTreeMap<&str, u32>> {
    Some(flow.pools(task).collect::<BTreeMap<_, _>>()).filter(|p| !p.is_empty())
}

/// The words that a worker's labels must contain, in whatever order; `None` when there is none.
fn tags(flow: &Flow, task: TaskId) -> Option<BTreeSet<&str>> {
    Some(flow.tags(task).collect::<BTreeSet<_>>()).filter(|t| !t.is_empty())
}

/// How one attribute of a task compares in two flows.
type Compare = fn(&Flow, &Flow, TaskId) -> Option<LossKind>;

/// Every attribute that a flow gives to its tasks, by the name used in messages.
const ATTRIBUTES: [(&str, Compare); 16] = [
    ("labels", |a, b, t| change(a.label(t), b.label(t))),
    ("kinds of job", |a, b, t| {
        change(a.given_kind(t), b.given_kind(t))
    }),
    ("commands", |a, b, t| change(a.command(t), b.command(t))),
    ("durations", |a, b, t| change(a.seconds(t), b.seconds(t))),
    ("cpus", |a, b, t| change(a.cpus(t), b.cpus(t))),
    ("memory", |a, b, t| change(a.memory(t), b.memory(t))),
    ("scratch space", |a, b, t| {
        change(a.scratch(t), b.scratch(t))
    }),
    ("time limits", |a, b, t| {
        change(a.time_limit(t), b.time_limit(t))
    }),
    ("pools", |a, b, t| change(pools(a, t), pools(b, t))),
    ("tags", |a, b, t| change(tags(a, t), tags(b, t))),
    ("retries", |a, b, t| change(a.retries(t), b.retries(t))),
    ("priorities", |a, b, t| change(a.priority(t), b.priority(t))),
    ("marks of executed tasks", |a, b, t| {
        let mark = |done: bool| done.then_some(());
        change(mark(a.is_done(t)), mark(b.is_done(t)))
    }),
    ("files", |a, b, t| change(paths(a, t), paths(b, t))),
    ("sizes of files", |a, b, t| change(sizes(a, t), sizes(b, t))),
    ("marks of temporary files", |a, b, t| {
        change(temporary(a, t), temporary(b, t))
    }),
];

/// What `after` lacks of `before`, has otherwise, or has on top. Both must have the same tasks.
pub(crate) fn compare(before: &Flow, after: &Flow) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Vec::new();
    // Attribute by attribute and not task by task: losses are told in the order of the table.
    for (what, compare) in ATTRIBUTES {
        for kind in [LossKind::LeftOut, LossKind::Changed, LossKind::Added] {
            let found = |&task: &TaskId| compare(before, after, task) == Some(kind);
            // Gone over for each kind: all that is kept of a loss is its count and its first task.
            let mut tasks = before.dag().tasks().filter(found);
            if let Some(first) = tasks.next() {
                losses.push(Loss {
                    kind,
                    what: what.to_owned(),
                    count: 1 + tasks.count(),
                    of: "task",
                    first: before.name(first).to_owned(),
                });
            }
        }
    }
    // Limits are of the flow, not of tasks: they have no row in the table.
    losses.extend(limits_of_pools(before, after));
    losses
}

/// How the limits of pools compare.
fn limits_of_pools(before: &Flow, after: &Flow) -> impl Iterator<Item = Loss> {
    let limits = |flow: &Flow| -> BTreeMap<String, u32> {
        let limits = flow.pool_limits();
        limits.map(|(pool, n)| (pool.to_owned(), n)).collect()
    };
    let (before, after) = (limits(before), limits(after));
    let pools: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut found: Vec<(LossKind, usize, String)> = Vec::new();
    for pool in pools {
        let Some(kind) = change(before.get(pool), after.get(pool)) else {
            continue;
        };
        match found.iter_mut().find(|(k, ..)| *k == kind) {
            Some((_, count, _)) => *count += 1,
            None => found.push((kind, 1, pool.clone())),
        }
    }
    found.into_iter().map(|(kind, count, first)| Loss {
        kind,
        what: "limits of pools".to_owned(),
        count,
        of: "pool",
        first,
    })
}

/// Counts pieces of a file by what they are, in the order in which they are met first.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    losses: Vec<Loss>,
    index: hashbrown::HashMap<String, usize>,
}

impl Tally {
    /// Counts one `what`; `first` says where it is, and is asked once only.
    pub(crate) fn add(&mut self, what: &str, of: &'static str, first: impl FnOnce() -> String) {
        match self.index.get(what) {
            Some(&at) => self.losses[at].count += 1,
            None => {
                self.index.insert(what.to_owned(), self.losses.len());
                self.losses.push(Loss {
                    kind: LossKind::LeftOut,
                    what: what.to_owned(),
                    count: 1,
                    of,
                    first: first(),
                });
            }
        }
    }

    pub(crate) fn done(self) -> Vec<Loss> {
        self.losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_read_as_sentences() {
        let loss = |what: &str, count, of, first: &str| Loss {
            kind: LossKind::LeftOut,
            what: what.to_owned(),
            count,
            of,
            first: first.to_owned(),
        };
        for (loss, text) in [
            (
                loss("cpus", 1, "task", "a\nb\u{1b}"),
                "cpus of 1 task, a\\nb\\u{1b}",
            ),
            (loss("cpus", 3, "task", "é"), "cpus of 3 tasks, first: é"),
            (
                loss("SCRIPT", 2, "line", "x.dag:7"),
                "SCRIPT (2 lines), first: x.dag:7",
            ),
            (loss("comments", 1, "line", ""), "comments (1 line)"),
        ] {
            assert_eq!(loss.to_string(), text);
        }
    }
}
