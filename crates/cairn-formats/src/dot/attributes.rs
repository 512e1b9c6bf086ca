//! The attributes of DOT's nodes and edges: which of them tasks keep, and what people see at a task. Knows no edges
//! but by their labels.

use super::label;
use super::lexer::{Token, Wrong};
use super::read::{Parser, Step, is};
use super::spots::{Lists, Written};
use crate::draft::{Draft, Number, mark_at};
use cairn_dag::Symbol;
use std::borrow::Cow;

impl<'s> Parser<'s, '_> {
    /// `node [ … ]` and the like. Defaults are not applied, so those that would matter are warned of.
    pub(super) fn defaults(&mut self, of: &str) -> Step {
        if *self.peek()? == Token::Mark(b'=') {
            // Some writers use a keyword as an attribute's name.
            self.peeked = None;
            self.id("a value")?;
            return Ok(());
        }
        let of_nodes = is(of, "node");
        let mut records = None;
        let lists = self.attributes(|draft, key, value, at, _| {
            if of_nodes && key == "shape" {
                records = Some(is_record(value));
            }
            if of_nodes && Attribute::of(key).is_some() {
                let message = format!("the default '{key}' for nodes is ignored");
                draft.warning(mark_at(at), message, "give the attribute to each node");
            }
        });
        if let Some(records) = records {
            self.frame().records = records;
        }
        lists.map(drop)
    }

    /// The attributes of an edge: its label says what nodes without any text are.
    pub(super) fn edge_attributes(&mut self, parent: Symbol, child: Symbol) -> Step {
        let text = self.draft.source().text();
        let mut label = None;
        self.attributes(|_, key, value, _, written| {
            if key == "label" && !value.trim().is_empty() {
                label = Some(&text[written.value]);
            }
        })?;
        if let Some(blank) = self.blank.get_mut(&parent) {
            // The first edge that says something; later ones do not change it.
            blank.leaving = blank.leaving.or(label);
        }
        if let Some(blank) = self.blank.get_mut(&child) {
            // Used only where nothing leaves: what a channel carries is named at its source.
            blank.entering = blank.entering.or(label);
        }
        Ok(())
    }

    pub(super) fn node_attributes(&mut self, node: Symbol) -> Step {
        let mut priorities = Vec::new();
        let text = self.draft.source().text();
        let (mut label, mut beside) = (None, None);
        // A shape of its own outweighs the default of its subgraph.
        let mut records = self.frame().records;
        let (mut is_point, mut has_kind) = (false, false);
        let lists = self.attributes(|draft, key, value, at, written| {
            match key {
                "label" => label = Some(&text[written.value.clone()]),
                "xlabel" => beside = Some(&text[written.value.clone()]),
                "shape" => (records, is_point) = (is_record(value), is(value, "point")),
                "kind" => has_kind = true,
                _ => {}
            }
            let Some(attribute) = Attribute::of(key) else {
                return;
            };
            if matches!(attribute, Attribute::Number(Number::Priority)) {
                priorities.push(written);
            }
            if !attribute.set(draft, node, value) {
                let message = format!("'{value}' is no value for '{key}' and is ignored");
                draft.warning(mark_at(at), message, attribute.expects());
            }
        })?;
        if let Some(sites) = &mut self.sites {
            sites.attributes(node, &lists, priorities);
        }
        // A point has no room for a label; Nextflow draws its channels so.
        let is_bare = label.is_none_or(|raw| raw.trim_matches('"').trim().is_empty());
        let label = if is_point { label.or(Some("")) } else { label };
        self.label(node, label, beside, records);
        if is_point && is_bare && !has_kind {
            self.draft.build.set_kind(node, "channel");
        }
        Ok(())
    }

    /// Sets the text that people see at a node: its label, or else the one beside it.
    fn label(&mut self, node: Symbol, label: Option<&str>, beside: Option<&str>, is_record: bool) {
        let build = &mut self.draft.build;
        let given = [(label, is_record), (beside, false)];
        for (raw, is_record) in given {
            let Some(raw) = raw else { continue };
            let text = label::text(raw, build.name(node), is_record);
            if !text.trim().is_empty() {
                build.set_label(node, &text);
                self.blank.remove(&node);
                return;
            }
        }
        if label.is_some() {
            self.blank.entry(node).or_default();
        }
    }

    /// Any number of lists `[key = value, …]`.
    pub(super) fn attributes(
        &mut self,
        mut take: impl FnMut(&mut Draft<'s, '_>, &str, &str, usize, Written),
    ) -> Result<Lists, Wrong> {
        let mut lists = Lists::default();
        while self.take(b'[')? {
            // The first list of several: a new attribute goes there. No list can open at byte 0.
            if lists.open == 0 {
                lists.open = self.lexer.end();
            }
            while !self.take(b']')? {
                if self.take(b',')? || self.take(b';')? {
                    continue;
                }
                let at = self.peeked_at();
                let key = self.id("an attribute or ]")?;
                let mut end = self.lexer.end();
                let mut start = end;
                let has_value = self.take(b'=')?;
                // A key alone is set, as Graphviz has it.
                let mut value = Cow::Borrowed("true");
                if has_value {
                    self.peek()?;
                    start = self.peeked_at();
                    value = self.id("a value")?;
                    end = self.lexer.end();
                }
                let written = Written {
                    value: start..end,
                    has_value,
                };
                take(&mut self.draft, &key, &value, at, written);
                lists.last = Some(end);
            }
        }
        Ok(lists)
    }
}

fn is_record(shape: &str) -> bool {
    is(shape, "record") || is(shape, "Mrecord")
}

/// Whether the attribute `key` of a node is kept.
pub(super) fn is_held(key: &str) -> bool {
    Attribute::of(key).is_some() || key == "label"
}

/// The attributes of a node that we keep.
#[derive(Clone, Copy)]
enum Attribute {
    Number(Number),
    Command,
    Done,
    Kind,
}

impl Attribute {
    fn of(key: &str) -> Option<Attribute> {
        Some(match key {
            "seconds" => Attribute::Number(Number::Seconds),
            "cpus" => Attribute::Number(Number::Cpus),
            "retries" => Attribute::Number(Number::Retries),
            "priority" => Attribute::Number(Number::Priority),
            "memory" => Attribute::Number(Number::Memory(1)),
            "scratch" => Attribute::Number(Number::Scratch(1)),
            "time_limit" => Attribute::Number(Number::TimeLimit(1)),
            "command" => Attribute::Command,
            "done" => Attribute::Done,
            "kind" => Attribute::Kind,
            _ => return None,
        })
    }

    /// Sets the value; `false` when it is none.
    fn set(self, draft: &mut Draft<'_, '_>, node: Symbol, value: &str) -> bool {
        match self {
            Attribute::Number(number) => return draft.number(node, number, value),
            Attribute::Command => draft.build.set_command(node, value),
            Attribute::Kind => draft.build.set_kind(node, value),
            Attribute::Done => match value {
                "true" | "1" => draft.build.set_done(node),
                _ => return matches!(value, "false" | "0"),
            },
        }
        true
    }

    fn expects(self) -> &'static str {
        match self {
            Attribute::Number(Number::Seconds | Number::TimeLimit(_)) => {
                "it should be a number, such as 41.5"
            }
            Attribute::Number(Number::Memory(_) | Number::Scratch(_)) => {
                "it should be a number of bytes"
            }
            Attribute::Number(_) => "it should be a whole number",
            Attribute::Done => "it should be true or false",
            Attribute::Command => "it should be a command line",
            Attribute::Kind => "it should be a word for tasks alike",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read;
    use crate::test_support::try_read;

    #[test]
    fn attributes_of_nodes_are_kept_and_others_ignored() {
        let text = "digraph { a [label=\"x\", seconds=1.5, command=\"echo \\\"hi\\\"\"; cpus=2][retries=3 priority=-4 done memory=5 scratch=\"6\" time_limit=.5]\
            b [seconds=soon, priority=1.5] a -> b [seconds=7] node [seconds=3] }";
        let (flow, report) = try_read(read, "f.dot", text);
        let flow = flow.unwrap();
        let [a, b] = ["a", "b"].map(|name| flow.find(name).unwrap());
        assert_eq!(flow.seconds(a), Some(1.5));
        assert_eq!(flow.command(a), Some("echo \"hi\""));
        assert_eq!((flow.cpus(a), flow.retries(a)), (Some(2), Some(3)));
        assert_eq!((flow.priority(a), flow.is_done(a)), (Some(-4), true));
        assert_eq!((flow.memory(a), flow.scratch(a)), (Some(5), Some(6)));
        assert_eq!(flow.time_limit(a), Some(0.5));
        assert_eq!((flow.seconds(b), flow.priority(b)), (None, None));
        let messages: Vec<_> = report.problems().iter().map(|p| &p.message[..]).collect();
        assert_eq!(
            messages,
            [
                "'soon' is no value for 'seconds' and is ignored",
                "'1.5' is no value for 'priority' and is ignored",
                "the default 'seconds' for nodes is ignored",
            ]
        );
    }

    #[test]
    fn labels_of_snakemake_nextflow_ninja_and_records_are_what_people_see() {
        let text = r#"digraph {
            0[label = "all", color = "0.1 0.6 0.8", style="rounded"];
            1[label = "align\nsample: A"]; 2[label = "align\nsample: B"];
            p0 [shape=point,label="",fixedsize=true,xlabel="Channel.empty"];
            p1 [shape=point,label="",fixedsize=true];
            p2 [shape=point,label=""]; p4 [shape=point];
            p3 [label="NF:BWA"]; p3 [label="NF:BWA"];
            p1 -> p3 [label="samplesheet"]; p1 -> 0 [label="later"]; p2 -> p3; p3 -> p4 [label="out"];
            "0x5562202ff720" [label="phony", shape=ellipse] "0x5562202ff721" [label="phony"]
            r [shape=record, label="{<f0> sort|x}"]
            subgraph { node [shape=Mrecord] s [label="{a|b}"] t [shape=box label="{c}"] }
            h [label=<<b>bwa</b> mem<br/>x>] n [label="\N"] plain
            k [kind=sort label=""]
        }"#;
        let (flow, report) = try_read(read, "f.dot", text);
        assert_eq!(report.problems(), []);
        let flow = flow.unwrap();
        let shown: Vec<_> = flow.dag().tasks().map(|t| flow.shown(t)).collect();
        let expected = [
            "all",
            "align sample: A",
            "align sample: B",
            "Channel.empty",
            "samplesheet",
            "p2",
            "out",
            "NF:BWA",
            "phony #1",
            "phony #2",
            "sort x",
            "a b",
            "{c}",
            "bwa mem x",
            "n",
            "plain",
            "k",
        ];
        assert_eq!(shown, expected);
        assert_eq!(flow.kind(flow.find("1").unwrap()), "align");
        assert_eq!(flow.given_kind(flow.find("k").unwrap()), Some("sort"));
        assert_eq!(flow.kind(flow.find("p0").unwrap()), "channel");
        assert_eq!(flow.kind(flow.find("p3").unwrap()), "NF:BWA");
    }
}
