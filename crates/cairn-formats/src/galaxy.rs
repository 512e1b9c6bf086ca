//! Galaxy workflows (`.ga`, JSON). Knows steps and their connections, and nothing of tools.
//!
//! Every step is a task, inputs and subworkflows included; it is named by its number and its label, or else its
//! tool's name, as in `3: Cutadapt`. Its kind is the tool's name.

use crate::draft::Draft;
use crate::fields::Held;
use crate::text::Text;
use crate::visit::expecting;
use crate::{Report, Source, json};
use cairn_dag::{Flow, Mark, NOWHERE, Symbol};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;

/// Reads a workflow. Time and space linear, beside sorting the steps by number.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut draft = Draft::new(source, report);
    // Borrowed from the text, so that each key tells its place.
    let document: Document<'_> = json::parse(&mut draft)?;
    let mut steps = document.steps.0;
    // A JSON object has its keys as text, "10" before "2": tasks are numbered as Galaxy numbers steps.
    steps.sort_by_key(|(number, _)| *number);
    let mut symbols: HashMap<u64, Symbol> = HashMap::with_capacity(steps.len());
    for (number, step) in &steps {
        let mark = step.mark(&draft);
        let title = [&step.label, &step.name]
            .into_iter()
            .flatten()
            .find(|t| !t.is_empty());
        let name = match title {
            Some(title) => format!("{number}: {}", &**title),
            None => number.to_string(),
        };
        // Connections name steps by number: with two of one number it could not be told which is meant.
        if symbols.contains_key(number) {
            let message = format!("there are two steps with the id {number}");
            draft.error(mark, message, "give each step an id of its own");
        } else if let Some(symbol) = draft.declare(&name, mark) {
            symbols.insert(*number, symbol);
            if let Some(tool) = step.name.as_deref() {
                draft.build.set_kind(symbol, tool);
            }
        }
    }
    // A second pass, as steps may be connected to later ones.
    for (number, step) in &steps {
        let Some(&child) = symbols.get(number) else {
            continue;
        };
        let mark = step.mark(&draft);
        for parent in &step.connections.0 {
            match symbols.get(parent) {
                Some(&parent) => draft.arc(parent, child, mark),
                None => draft.error(
                    mark,
                    format!("step {number} is connected to step {parent}, which does not exist"),
                    "correct the connection",
                ),
            }
        }
    }
    draft.finish()
}

/// Fields of a document that a flow holds.
pub(crate) const HELD: Held = Held::Of(
    &["a_galaxy_workflow", "format-version"],
    &[("steps", Held::Each(&HELD_OF_STEP))],
);

/// Fields of a step that a flow holds.
const HELD_OF_STEP: Held = Held::Of(
    &["id", "label", "name"],
    &[("input_connections", Held::Each(&Held::Of(&["id"], &[])))],
);

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    steps: Steps<'a>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'a")]
struct Step<'a> {
    id: Option<u64>,
    name: Option<Text<'a>>,
    label: Option<Text<'a>>,
    #[serde(default, rename = "input_connections")]
    connections: Connections,
    #[serde(skip)]
    key: Option<&'a str>,
}

impl Step<'_> {
    fn mark(&self, draft: &Draft<'_, '_>) -> Mark {
        self.key.map_or(NOWHERE, |key| draft.mark(key))
    }
}

/// Steps with their numbers: a map from the number as text, or a list.
struct Steps<'a>(Vec<(u64, Step<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Steps<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(StepsVisitor)
    }
}

struct StepsVisitor;

impl<'de> Visitor<'de> for StepsVisitor {
    type Value = Steps<'de>;

    expecting!("the steps of a Galaxy workflow");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut steps = Vec::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let mut step: Step<'de> = map.next_value()?;
            if let std::borrow::Cow::Borrowed(key) = key.0 {
                step.key = Some(key);
            }
            // The id goes before the key, since connections name the id.
            let number = step.id.or_else(|| key.0.parse().ok());
            let number = number.ok_or_else(|| {
                serde::de::Error::custom(format!("step '{}' has no number as its id", key.0))
            })?;
            steps.push((number, step));
        }
        Ok(Steps(steps))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut steps = Vec::new();
        while let Some(step) = list.next_element::<Step<'de>>()? {
            // In a list a step without an id has that of its place.
            steps.push((step.id.unwrap_or(steps.len() as u64), step));
        }
        Ok(Steps(steps))
    }
}

/// The steps that a step takes its inputs from: for each input a connection, or a list of them.
#[derive(Default)]
struct Connections(Vec<u64>);

#[derive(Deserialize)]
struct Connection {
    id: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Connection),
    Many(Vec<Connection>),
}

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Connections::default())
    }
}

impl<'de> Visitor<'de> for Connections {
    type Value = Connections;

    expecting!("input connections");

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while map.next_key::<serde::de::IgnoredAny>()?.is_some() {
            match map.next_value::<Option<OneOrMany>>()? {
                Some(OneOrMany::One(connection)) => self.0.push(connection.id),
                // An input may take the outputs of several steps.
                Some(OneOrMany::Many(list)) => self.0.extend(list.iter().map(|c| c.id)),
                None => {}
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(connection) = list.next_element::<Connection>()? {
            self.0.push(connection.id);
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
    use crate::test_support::{self as support, first_problem};

    fn read_text(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "f.ga", text)
    }

    #[test]
    fn steps_and_connections() {
        let (flow, report) = read_text(
            r#"{"a_galaxy_workflow": "true", "steps": {
            "10": {"id": 10, "name": "Merge", "label": null, "input_connections":
                {"in": [{"id": 2, "output_name": "x"}, {"id": 0, "output_name": "y"}], "when": {"id": 0}, "z": null}},
            "0": {"id": 0, "type": "data_input", "name": "Input dataset", "label": "reads", "input_connections": {}},
            "2": {"id": 2, "name": "", "label": "", "input_connections": {"in": {"id": 0, "output_name": "output"}},
                "subworkflow": {"steps": {"0": {"id": 0}, "1": {"id": 1}}}}}}"#,
        );
        assert_eq!(report.problems(), []);
        let flow = flow.unwrap();
        let names: Vec<_> = flow.dag().tasks().map(|t| flow.name(t)).collect();
        assert_eq!(names, ["0: reads", "2", "10: Merge"]);
        let arcs: Vec<_> = flow.dag().arcs().map(|(p, c)| (p.0, c.0)).collect();
        assert_eq!(arcs, [(0, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn errors_have_places() {
        for (text, line, message) in [
            (
                "{\"steps\": {\n\"0\": {\"id\": 0},\n\"1\": {\"id\": 0}}}",
                3,
                "two steps with the id 0",
            ),
            (
                "{\"steps\": {\n\"0\": {\"input_connections\": {\"x\": {\"id\": 7}}}}}",
                2,
                "step 7, which does not exist",
            ),
            (
                "{\"steps\": {\"0\": {\"input_connections\": {\"x\": {\"id\": 0}}}}}",
                1,
                "depends on itself",
            ),
            ("{\"steps\": {\"x\": {}}}", 1, "step 'x' has no number"),
            ("{\"steps\": 7}", 1, "expected the steps"),
            ("{}", 1, "missing field `steps`"),
        ] {
            let (_, report) = read_text(text);
            let problem = first_problem(&report, text, message);
            assert_eq!(problem.place.line, line, "{text}");
        }
    }
}
