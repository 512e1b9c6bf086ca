//! Taskcluster task graphs (JSON), as `taskgraph full` and decision tasks write them. Knows labels, task ids and
//! dependencies.
//!
//! The document maps a label, or a task id, to a task; `dependencies` name either. Tasks are called by their
//! labels. A dependency on a task outside of the graph is one that was executed before: it is left out with a
//! warning. Soft dependencies are none.

use crate::draft::Draft;
use crate::fields::Held;
use crate::text::Text;
use crate::visit::expecting;
use crate::{Report, Source, json, shell};
use cairn_dag::{Flow, Symbol};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Reads a task graph. Time and space linear.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut draft = Draft::new(source, report);
    let Graph(tasks) = json::parse(&mut draft)?;
    // All by labels or all by keys: a mixture could give two tasks one name.
    let by_label = labels_are_unique(&tasks);
    let mut symbols: HashMap<&str, Symbol> = HashMap::with_capacity(tasks.len());
    for (key, task) in &tasks {
        let name = task.label.as_deref().filter(|_| by_label).unwrap_or(key);
        let mark = draft.mark(key);
        let Some(symbol) = draft.declare(name, mark) else {
            continue;
        };
        // By key, whatever it is called: dependencies name keys.
        symbols.insert(key, symbol);
        if let Some(label) = task.label.as_deref() {
            draft.build.set_label(symbol, label);
        }
        if let Some(kind) = task.kind.as_deref() {
            draft.build.set_kind(symbol, kind);
        }
        if let Some(command) = task.command() {
            draft.build.set_command(symbol, &command);
        }
    }
    for (key, task) in &tasks {
        let Some(&child) = symbols.get(&**key) else {
            continue;
        };
        for word in &task.dependencies.0 {
            let mark = draft.mark(word);
            // By the key of the document first; else by the label, which in a graph of ids is the name.
            let parent = symbols.get(&**word).copied();
            match parent.or_else(|| draft.build.lookup(word)) {
                Some(parent) => draft.arc(parent, child, mark),
                // Graphs are cut out of larger ones, whose other tasks ran before: no error.
                None => draft.warning(
                    mark,
                    format!(
                        "'{}' depends on '{}', which is not in this graph",
                        draft.build.name(child),
                        &**word
                    ),
                    "it is taken as executed before, and the dependency is left out",
                ),
            }
        }
    }
    draft.finish()
}

/// Fields of a document that a flow holds.
pub(crate) const HELD: Held = Held::Each(&Held::Of(
    &["kind", "dependencies"],
    &[
        ("label", Held::SameAs("")),
        ("task", Held::Of(&[], &[("payload", HELD_OF_PAYLOAD)])),
    ],
));

const HELD_OF_PAYLOAD: Held = Held::Of(&["command"], &[]);

/// Whether every task has a label of its own.
fn labels_are_unique(tasks: &[(Text<'_>, Task<'_>)]) -> bool {
    let mut seen = HashSet::with_capacity(tasks.len());
    let mut labels = tasks.iter().map(|(_, task)| task.label.as_deref());
    labels.all(|label| label.is_some_and(|l| !l.is_empty() && seen.insert(l)))
}

/// The entries in the order of the file.
struct Graph<'a>(Vec<(Text<'a>, Task<'a>)>);

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Task<'a> {
    label: Option<Text<'a>>,
    kind: Option<Text<'a>>,
    #[serde(default)]
    dependencies: Dependencies<'a>,
    task: Option<Definition>,
}

#[derive(Deserialize)]
struct Definition {
    payload: Option<Payload>,
}

#[derive(Deserialize)]
struct Payload {
    command: Option<Command>,
}

impl Task<'_> {
    fn command(&self) -> Option<String> {
        let command = self.task.as_ref()?.payload.as_ref()?.command.as_ref()?;
        let Command::Words(words) = command else {
            return None;
        };
        let mut line = String::new();
        push_words(&mut line, words);
        Some(line).filter(|line| !line.is_empty())
    }
}

/// From an edge's name to a label or task id; or a list of them.
#[derive(Default)]
struct Dependencies<'a>(Vec<Text<'a>>);

/// The forms that a worker's command takes: words, or several commands that are lists of words. A word may be a
/// map with one text that has placeholders, which is kept as it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Words(Vec<Word>),
    // Some workers take a map or a text there: the task is read all the same, without a command.
    Unknown(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Plain(String),
    // By name: one with several texts is the same line in every run.
    Reference(BTreeMap<String, String>),
    Command(Vec<Word>),
}

/// Appends the words as a shell would want them; commands inside are joined by `&&`.
fn push_words(line: &mut String, words: &[Word]) {
    for word in words {
        match word {
            Word::Plain(text) => shell::push_word(line, text),
            Word::Reference(map) => map.values().for_each(|text| shell::push_word(line, text)),
            Word::Command(words) => {
                line.push_str(if line.is_empty() { "" } else { " &&" });
                push_words(line, words);
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Graph<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(Graph(Vec::new()))
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Graph<'a> {
    type Value = Graph<'a>;

    expecting!("a map from labels to tasks");

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(entry) = map.next_entry()? {
            self.0.push(entry);
        }
        Ok(self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Dependencies<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Dependencies::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Dependencies<'a> {
    type Value = Dependencies<'a>;

    expecting!("dependencies: a map from names to labels");

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((IgnoredAny, label)) = map.next_entry()? {
            self.0.push(label);
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(label) = list.next_element()? {
            self.0.push(label);
        }
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support as support;

    fn read_text(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "f.json", text)
    }

    fn arcs(flow: &Flow) -> Vec<String> {
        let arc = |(p, c)| format!("{}>{}", flow.name(p), flow.name(c));
        flow.dag().arcs().map(arc).collect()
    }

    #[test]
    fn keyed_by_label_or_by_task_id() {
        let by_label = r#"{"build": {"label": "build", "dependencies": {"image": "docker"}, "soft_dependencies": ["x"],
                "task": {"payload": {"command": ["sh", "-c", {"task-reference": "echo <image>"}]}}},
            "docker": {"label": "docker", "dependencies": {}, "task": {"payload": {"command": [["a", "b c"], ["d"]]}}}}"#;
        let by_id = r#"{"T1": {"label": "build", "dependencies": {"image": "T0"}, "task": {"payload": {"command": 7}}},
            "T0": {"label": "docker", "dependencies": []}}"#;
        for text in [by_label, by_id] {
            let (flow, report) = read_text(text);
            assert_eq!(report.problems(), []);
            assert_eq!(arcs(&flow.unwrap()), ["docker>build"]);
        }
        let flow = read_text(by_label).0.unwrap();
        let command = |name| flow.command(flow.find(name).unwrap());
        assert_eq!(command("build"), Some("sh -c 'echo <image>'"));
        assert_eq!(command("docker"), Some("a 'b c' && d"));
    }

    #[test]
    fn what_is_outside_was_executed_before() {
        let (flow, report) = read_text("{\"a\": {\n\"dependencies\": {\"x\": \"gone\"}}}");
        assert_eq!(flow.unwrap().dag().arc_count(), 0);
        let problem = &report.problems()[0];
        assert_eq!(problem.place.line, 2);
        assert!(
            problem
                .message
                .contains("'a' depends on 'gone', which is not in this graph")
        );
        let (flow, _) = read_text("{\"a\": {\"dependencies\": {\"x\": \"a\"}}}");
        assert!(flow.is_none());
        let (flow, report) = read_text("[]");
        assert!(
            flow.is_none()
                && report.problems()[0]
                    .message
                    .contains("expected a map from labels")
        );
    }
}
