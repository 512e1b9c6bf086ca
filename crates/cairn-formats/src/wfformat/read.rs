//! Reads WfFormat. Knows where each version of the schema keeps things.
//!
//! | schema | tasks | durations | files | named by |
//! |---|---|---|---|---|
//! | 1.0 – 1.2 | `workflow.jobs` | `runtime` | `files[].size` | name |
//! | 1.3 | `workflow.tasks` | `runtime` | `files[].size` | name |
//! | 1.4 | `workflow.tasks` | `runtimeInSeconds` | `files[].sizeInBytes` | name |
//! | 1.5, 1.6 | `workflow.specification.tasks` | `workflow.execution.tasks` | `specification.files` | id |
//!
//! Where tasks are called by their ids, their names are labels: many tasks may share one.
//!
//! The old schemas say that `size` counts kilobytes; their instances, and the migration tool of WfCommons, take it
//! for bytes, and so do we.

use crate::draft::{Draft, whole_bytes};
use crate::fields::Held;
use crate::text::{Loose, Text};
use crate::{Report, Source, json, shell};
use cairn_dag::{Flow, Mark, NOWHERE, Symbol};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// Reads any version. Arcs are the union of all `parents` and all `children`.
///
/// Time and space linear; strings are borrowed from the source.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut draft = Draft::new(source, report);
    let document: Document<'_> = json::parse(&mut draft)?;
    let workflow = document.workflow;
    let specified = workflow.specification.is_some();
    let executed = workflow.execution.unwrap_or_default().tasks;
    let (tasks, files) = match (workflow.specification, workflow.tasks, workflow.jobs) {
        (Some(specification), ..) => (specification.tasks, specification.files),
        (None, Some(tasks), _) | (None, None, Some(tasks)) => (tasks, Vec::new()),
        (None, None, None) => {
            draft.unreadable(
                Source::place,
                "there are no tasks: expected workflow.specification.tasks, workflow.tasks or workflow.jobs",
                "check that this is a WfFormat file",
            );
            return None;
        }
    };
    let mut reader = Reader {
        // Asked before any is declared: by which word all are called is one question for the whole file.
        by_name: !specified && names_are_unique(&tasks),
        sizes: sizes(&mut draft, &files),
        symbols: Vec::with_capacity(tasks.len()),
        other_keys: None,
        draft,
    };
    // All before the first arc, so that a word that means two things is settled by what is declared.
    reader.declare(&tasks);
    for (i, task) in tasks.iter().enumerate() {
        if let Some(symbol) = reader.symbols[i] {
            reader.arcs(symbol, task, &tasks);
            reader.files(symbol, task);
            reader.attributes(symbol, task);
        }
    }
    for task in &executed {
        reader.execution(task, &tasks);
    }
    // An execution's record says what was; what the specification asks for goes before it.
    for (task, symbol) in tasks.iter().zip(&reader.symbols) {
        if let (Some(priority), Some(symbol)) = (task.priority, *symbol) {
            let build = &mut reader.draft.build;
            build.set_priority(symbol, priority.rounded());
        }
    }
    reader.draft.finish()
}

/// Fields of a task that a flow holds, whatever the version. A task that is called by its id has its name for a label; of
/// one that is called by its name the id may be lost.
const HELD_OF_TASK: Held = Held::Of(
    &[
        "name",
        "parents",
        "children",
        "inputFiles",
        "outputFiles",
        "runtime",
        "runtimeInSeconds",
        "cores",
        "coreCount",
        "memoryInBytes",
        "priority",
    ],
    &[
        ("id", Held::SameAs("name")),
        (
            "files",
            Held::Of(&["name", "path", "link", "size", "sizeInBytes"], &[]),
        ),
        ("command", Held::Of(&["program", "arguments"], &[])),
    ],
);

/// Fields of a document that a flow holds.
pub(crate) const HELD: Held = Held::Of(
    &["schemaVersion"],
    &[(
        "workflow",
        Held::Of(
            &[],
            &[
                (
                    "specification",
                    Held::Of(
                        &[],
                        &[
                            ("tasks", HELD_OF_TASK),
                            ("files", Held::Of(&["id", "sizeInBytes"], &[])),
                        ],
                    ),
                ),
                ("execution", Held::Of(&[], &[("tasks", HELD_OF_TASK)])),
                ("tasks", HELD_OF_TASK),
                ("jobs", HELD_OF_TASK),
            ],
        ),
    )],
);

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Document<'a> {
    workflow: Workflow<'a>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Workflow<'a> {
    specification: Option<Specification<'a>>,
    execution: Option<Execution<'a>>,
    tasks: Option<Vec<Task<'a>>>,
    jobs: Option<Vec<Task<'a>>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Specification<'a> {
    tasks: Vec<Task<'a>>,
    #[serde(default)]
    files: Vec<SizedFile<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(bound = "'de: 'a")]
struct Execution<'a> {
    #[serde(default)]
    tasks: Vec<Task<'a>>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a", rename_all = "camelCase")]
struct SizedFile<'a> {
    id: Text<'a>,
    size_in_bytes: Option<f64>,
}

/// A task of any version, specified or executed: each uses some of the fields.
#[derive(Deserialize)]
#[serde(bound = "'de: 'a", rename_all = "camelCase")]
struct Task<'a> {
    name: Option<Text<'a>>,
    id: Option<Text<'a>>,
    parents: Option<Vec<Text<'a>>>,
    children: Option<Vec<Text<'a>>>,
    input_files: Option<Vec<Text<'a>>>,
    output_files: Option<Vec<Text<'a>>>,
    files: Option<Vec<LinkedFile<'a>>>,
    runtime: Option<f64>,
    runtime_in_seconds: Option<f64>,
    command: Option<Command<'a>>,
    cores: Option<f64>,
    core_count: Option<f64>,
    memory_in_bytes: Option<f64>,
    priority: Option<Priority>,
}

/// A whole number stays what it is: 53 bits would not hold every one.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Priority {
    Whole(i64),
    Real(f64),
}

impl Priority {
    fn rounded(self) -> i64 {
        match self {
            Priority::Whole(value) => value,
            Priority::Real(value) => value.round() as i64,
        }
    }
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a", rename_all = "camelCase")]
struct LinkedFile<'a> {
    name: Text<'a>,
    path: Option<Text<'a>>,
    link: Option<Text<'a>>,
    size: Option<f64>,
    size_in_bytes: Option<f64>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Command<'a> {
    program: Option<Text<'a>>,
    arguments: Option<Vec<Loose<'a>>>,
}

struct Reader<'s, 'r, 'd> {
    draft: Draft<'s, 'r>,
    /// Whether tasks are called by their names rather than by their ids.
    by_name: bool,
    sizes: HashMap<&'d str, u64>,
    /// By task of the document.
    symbols: Vec<Option<Symbol>>,
    /// From the word that is *not* a task's key (its id, or its name) to the task, where that is unique. Made when
    /// first needed: files that follow the schema never need it.
    other_keys: Option<HashMap<&'d str, Option<Symbol>>>,
}

impl<'s, 'd> Reader<'s, '_, 'd> {
    /// The word that the task is called by, and the other word that might mean it.
    fn keys(&self, task: &'d Task<'s>) -> (Option<&'d str>, Option<&'d str>) {
        let (name, id) = (task.name.as_deref(), task.id.as_deref());
        match self.by_name {
            true => (name.or(id), id),
            false => (id.or(name), name),
        }
    }

    fn mark(&self, text: Option<&str>) -> Mark {
        text.map_or(NOWHERE, |t| self.draft.mark(t))
    }

    fn declare(&mut self, tasks: &'d [Task<'s>]) {
        for task in tasks {
            let key = self.keys(task).0;
            let mark = self.mark(key);
            let symbol = match key {
                Some(key) => {
                    let symbol = self.draft.declare(key, mark);
                    if let (Some(symbol), Some(name), false) = (symbol, &task.name, self.by_name) {
                        self.draft.build.set_label(symbol, name);
                    }
                    symbol
                }
                None => {
                    let help = "give every task an id";
                    self.draft
                        .error(mark, "a task has neither id nor name", help);
                    None
                }
            };
            self.symbols.push(symbol);
        }
    }

    fn arcs(&mut self, symbol: Symbol, task: &'d Task<'s>, tasks: &'d [Task<'s>]) {
        for word in task.parents.iter().flatten() {
            let (parent, mark) = self.find(word, tasks);
            self.draft.arc(parent, symbol, mark);
        }
        for word in task.children.iter().flatten() {
            let (child, mark) = self.find(word, tasks);
            self.draft.arc(symbol, child, mark);
        }
    }

    /// The task that a word means. An unknown one is left for the builder to report.
    fn find(&mut self, word: &str, tasks: &'d [Task<'s>]) -> (Symbol, Mark) {
        let mark = self.draft.mark(word);
        if let Some(symbol) = self.draft.build.lookup(word)
            // One that was only mentioned so far may be the other key of a task.
            && self.draft.build.is_declared(symbol)
        {
            return (symbol, mark);
        }
        match self.find_other(word, tasks) {
            Some(symbol) => (symbol, mark),
            // Neither key of any task: the builder tells it with all others that are missing.
            None => (self.draft.build.mention(word, mark), mark),
        }
    }

    fn find_other(&mut self, word: &str, tasks: &'d [Task<'s>]) -> Option<Symbol> {
        if self.other_keys.is_none() {
            let mut keys = HashMap::new();
            for (task, symbol) in tasks.iter().zip(&self.symbols) {
                if let (Some(other), Some(symbol)) = (self.keys(task).1, *symbol) {
                    // A word that two tasks share means neither.
                    let unique = |task: &mut Option<Symbol>| *task = None;
                    keys.entry(other).and_modify(unique).or_insert(Some(symbol));
                }
            }
            self.other_keys = Some(keys);
        }
        *self.other_keys.as_ref()?.get(word)?
    }

    fn files(&mut self, symbol: Symbol, task: &Task<'s>) {
        for path in task.input_files.iter().flatten() {
            let bytes = self.sizes.get(&**path).copied();
            self.draft.build.add_input(symbol, path, bytes);
        }
        for path in task.output_files.iter().flatten() {
            let bytes = self.sizes.get(&**path).copied();
            self.draft.build.add_output(symbol, path, bytes);
        }
        // One for all files of a task, so that not each of their paths is an allocation.
        let mut whole = String::new();
        for file in task.files.iter().flatten() {
            let size = file.size_in_bytes.or(file.size);
            let mark = self.draft.mark(&file.name);
            let bytes = size.and_then(|size| self.draft.sized(size, mark));
            let mut path: &str = &file.name;
            if let Some(folder) = &file.path {
                whole.clear();
                whole.push_str(folder);
                whole.push_str(&file.name);
                path = &whole;
            }
            let link = file.link.as_deref().unwrap_or("");
            if link.eq_ignore_ascii_case("output") {
                self.draft.build.add_output(symbol, path, bytes);
            } else {
                self.draft.build.add_input(symbol, path, bytes);
            }
        }
    }

    fn attributes(&mut self, symbol: Symbol, task: &'d Task<'s>) {
        let mark = self.mark(self.keys(task).0);
        // The newer field first: files that were migrated may have both.
        if let Some(seconds) = task.runtime_in_seconds.or(task.runtime) {
            self.draft.measured_seconds(symbol, seconds, mark);
        }
        let build = &mut self.draft.build;
        if let Some(cores) = task.core_count.or(task.cores) {
            // A fraction may stand there: no task runs on less than one.
            build.set_cpus(symbol, cores.ceil().max(1.0) as u32);
        }
        // Where nobody measured it, recorders write 0.
        let memory = task.memory_in_bytes.and_then(whole_bytes);
        if let Some(bytes) = memory.filter(|&bytes| bytes > 0) {
            build.set_memory(symbol, bytes);
        }
        if let Some(priority) = task.priority {
            build.set_priority(symbol, priority.rounded());
        }
        if let Some(line) = task.command.as_ref().and_then(command_line) {
            build.set_command(symbol, &line);
        }
    }

    fn execution(&mut self, task: &'d Task<'s>, tasks: &'d [Task<'s>]) {
        let Some(word) = task.id.as_deref().or(task.name.as_deref()) else {
            return;
        };
        // One that was only mentioned, as somebody's parent, is no task.
        let declared = |s: &Symbol| self.draft.build.is_declared(*s);
        let symbol = self.draft.build.lookup(word).filter(declared);
        match symbol.or_else(|| self.find_other(word, tasks)) {
            Some(symbol) => self.attributes(symbol, task),
            None => {
                let mark = self.draft.mark(word);
                let message = format!("task '{word}' was executed but is not specified");
                let help = "what the file says of its execution is ignored";
                self.draft.warning(mark, message, help);
            }
        }
    }
}

/// Old instances name parents by name, and call tasks by ids only where names are not unique.
fn names_are_unique(tasks: &[Task<'_>]) -> bool {
    let all_have_ids = tasks.iter().all(|t| t.id.is_some());
    let mut names = HashSet::with_capacity(tasks.len());
    let mut unique = tasks.iter().filter_map(|t| t.name.as_deref());
    // Without ids there is nothing else to call them by: names that come twice are then told as errors.
    !all_have_ids || unique.all(|name| names.insert(name))
}

fn sizes<'d>(draft: &mut Draft<'_, '_>, files: &'d [SizedFile<'_>]) -> HashMap<&'d str, u64> {
    let sized = |f: &'d SizedFile<'_>| {
        let mark = draft.mark(&f.id);
        Some((&*f.id, draft.sized(f.size_in_bytes?, mark)?))
    };
    files.iter().filter_map(sized).collect()
}

/// The program with its arguments, quoted. A program without arguments is taken as it is: instances of some
/// systems keep a whole script there.
fn command_line(command: &Command<'_>) -> Option<String> {
    let program = command.program.as_deref().filter(|p| !p.is_empty())?;
    // Not quoted: some instances have a whole command there.
    let mut line = program.to_owned();
    for argument in command.arguments.iter().flatten() {
        shell::push_word(&mut line, &argument.0);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self as support, first_problem};
    use cairn_dag::File;

    fn read_text(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "f.json", text)
    }

    fn flow(text: &str) -> Flow {
        support::clean(read_text(text))
    }

    fn arcs(flow: &Flow) -> Vec<String> {
        let arc = |(p, c)| format!("{}>{}", flow.name(p), flow.name(c));
        flow.dag().arcs().map(arc).collect()
    }

    #[test]
    fn schema_1_5_with_execution() {
        let flow = flow(
            r#"{"name": "x", "schemaVersion": "1.5", "workflow": {
            "specification": {"tasks": [
                {"name": "split", "id": "split_1", "parents": [], "children": ["work_1"], "outputFiles": ["a"]},
                {"name": "work", "id": "work_1", "parents": [], "children": []},
                {"name": "work", "id": "work_2", "parents": ["split_1"], "children": [], "inputFiles": ["a", "b"]}],
              "files": [{"id": "a", "sizeInBytes": 123}]},
            "execution": {"makespanInSeconds": 5, "executedAt": "x", "tasks": [
                {"id": "work_2", "runtimeInSeconds": 2.5, "coreCount": 1.5, "priority": 9007199254740993, "memoryInBytes": 9000,
                 "command": {"program": "cat", "arguments": ["a b", "-n", 3]}},
                {"id": "split_1", "runtimeInSeconds": 1, "memoryInBytes": 0, "command": {"program": "set -e\nsplit x"}}]}}}"#,
        );
        assert_eq!(arcs(&flow), ["split_1>work_1", "split_1>work_2"]);
        let [split, work] = ["split_1", "work_2"].map(|n| flow.find(n).unwrap());
        assert_eq!(
            (flow.seconds(split), flow.seconds(work)),
            (Some(1.0), Some(2.5))
        );
        assert_eq!(
            (flow.cpus(work), flow.priority(work)),
            (Some(2), Some(9_007_199_254_740_993))
        );
        assert_eq!((flow.memory(work), flow.memory(split)), (Some(9000), None));
        assert_eq!(flow.command(work), Some("cat 'a b' -n 3"));
        assert_eq!(flow.command(split), Some("set -e\nsplit x"));
        let a = File {
            path: "a",
            bytes: Some(123),
            temp: false,
        };
        assert_eq!(flow.inputs(work).next(), Some(a));
        assert_eq!(flow.outputs(split).collect::<Vec<_>>(), [a]);
        assert_eq!(flow.inputs(work).nth(1).unwrap().bytes, None);
    }

    #[test]
    fn old_schemas() {
        let jobs = r#"{"schemaVersion": "1.1", "workflow": {"makespan": 3, "jobs": [
            {"name": "a", "type": "compute", "runtime": 1.5, "parents": [], "cores": 4,
             "files": [{"name": "x", "size": 10, "link": "output"}, {"name": "y", "size": 5, "link": "input"}]},
            {"name": "b", "type": "compute", "runtime": 2, "parents": ["a"], "files": []}]}}"#;
        let tasks = jobs.replace("\"jobs\"", "\"tasks\"").replace("1.1", "1.3");
        let bytes = (tasks.replace("\"runtime\"", "\"runtimeInSeconds\""))
            .replace("\"size\"", "\"sizeInBytes\"");
        for text in [jobs, &tasks, &bytes] {
            let flow = flow(text);
            assert_eq!(arcs(&flow), ["a>b"]);
            let a = flow.find("a").unwrap();
            assert_eq!((flow.seconds(a), flow.cpus(a)), (Some(1.5), Some(4)));
            assert_eq!(
                flow.outputs(a).next(),
                Some(File {
                    path: "x",
                    bytes: Some(10),
                    temp: false,
                })
            );
            assert_eq!(
                flow.inputs(a).next(),
                Some(File {
                    path: "y",
                    bytes: Some(5),
                    temp: false,
                })
            );
        }
    }

    #[test]
    fn old_schemas_name_tasks_by_name_or_id() {
        let text = |a: &str, b: &str, parent: &str| {
            format!(
                r#"{{"workflow": {{"tasks": [{{"name": "{a}", "id": "ID1", "parents": []}},
                {{"name": "{b}", "id": "ID2", "parents": ["{parent}"]}}]}}}}"#
            )
        };
        assert_eq!(arcs(&flow(&text("x_1", "x_2", "x_1"))), ["x_1>x_2"]);
        assert_eq!(arcs(&flow(&text("x_1", "x_2", "ID1"))), ["x_1>x_2"]);
        assert_eq!(arcs(&flow(&text("x", "x", "ID1"))), ["ID1>ID2"]);
        let (flow, report) = read_text(&text("x", "x", "x"));
        assert!(flow.is_none());
        assert!(
            report.problems()[0]
                .message
                .contains("'x' is mentioned but never declared")
        );
    }

    #[test]
    fn errors_and_warnings_have_places() {
        let task = |id: &str, parent: &str| {
            format!(r#"{{"name": "n", "id": "{id}", "parents": ["{parent}"], "children": []}}"#)
        };
        let document = |tasks: &str, executed: &str| {
            format!(
                "{{\"workflow\": {{\"specification\": {{\"tasks\": [\n{tasks}\n]}},\n\
                 \"execution\": {{\"tasks\": [\n{executed}\n]}}}}}}"
            )
        };
        let text = document(&format!("{},\n{}", task("a", "b"), task("a", "c")), "");
        let (_, report) = read_text(&text);
        let found: Vec<_> = report
            .problems()
            .iter()
            .map(|p| (p.place.line, &p.message[..]))
            .collect();
        assert_eq!(
            found,
            [
                (3, "task 'a' is declared twice"),
                (2, "task 'b' is mentioned but never declared")
            ]
        );
        let text = document(
            r#"{"name": "n", "id": "a", "parents": [], "children": []}"#,
            r#"{"id": "z", "runtimeInSeconds": 1}, {"id": "a", "runtimeInSeconds": -1}"#,
        );
        let (flow, report) = read_text(&text);
        assert_eq!(flow.unwrap().dag().len(), 1);
        assert_eq!(report.warnings(), 2);
        // A size below nothing is none, and that is said.
        let text = r#"{"workflow": {"tasks": [{"name": "a", "files": [
            {"name": "f", "link": "output", "size": -5}]}]}}"#;
        let (flow, report) = read_text(text);
        let flow = flow.unwrap();
        let task = flow.dag().tasks().next().unwrap();
        assert_eq!(flow.outputs(task).next().unwrap().bytes, None);
        let warnings: Vec<_> = report.problems().iter().map(|p| &p.message[..]).collect();
        assert_eq!(warnings, ["-5 is no size of a file and is ignored"]);
        for (text, message) in [
            ("{\"workflow\": {", "this is not JSON"),
            ("{}", "missing field `workflow`"),
            ("{\"workflow\": {}}", "there are no tasks"),
            ("{\"workflow\": {\"tasks\": [{}]}}", "neither id nor name"),
            (
                "{\"workflow\": {\"tasks\": [{\"name\": 7}]}}",
                "expected a string",
            ),
        ] {
            let (_, report) = read_text(text);
            first_problem(&report, text, message);
        }
    }
}
