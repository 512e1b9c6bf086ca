//! Where the priorities of DOT nodes stand, or would stand. Notes what the reader meets; knows no grammar itself.

use super::read::read_with_sites;
use crate::priority::spot::{Spot, Value};
use crate::{Report, Source};
use cairn_dag::Symbol;
use std::collections::HashMap;
use std::ops::Range;

/// The spots of all nodes, in the order of the tasks.
///
/// A priority goes behind the last attribute of the node's first statement; for a node that only edges mention, a
/// statement is added at the end of the graph, with the name as its first mention spells it.
pub(crate) fn spots(text: &str) -> Option<Vec<Spot>> {
    let source = Source::from_text("", text);
    let mut sites = Sites::default();
    read_with_sites(&source, &mut Report::default(), Some(&mut sites))?;
    let (end, brace) = sites.close;
    let spots = sites.nodes.into_iter().map(|site| match site.statement {
        Some((at, before, after)) => Spot {
            values: site.values,
            at: at..at,
            before: before.to_owned(),
            after: after.to_owned(),
        },
        // As it is spelled there, quotes included: so it is the same node.
        None => added(text, &text[site.name], end, brace),
    });
    Some(spots.collect())
}

/// A new statement in front of the brace that closes the graph: on a line of its own if the brace has one.
fn added(text: &str, name: &str, end: usize, brace: usize) -> Spot {
    let line = text[..brace].rfind('\n').map_or(0, |i| i + 1);
    let (at, before, after) = if line > end && text[line..brace].trim().is_empty() {
        let eol = match text[..line].ends_with("\r\n") {
            true => "];\r\n",
            false => "];\n",
        };
        let indent = &text[line..brace];
        (line, format!("{indent}  {name} [priority="), eol)
    } else if text[..end].ends_with(';') {
        (end, format!(" {name} [priority="), "];")
    } else {
        // A statement before may end without a semicolon, and then the new one would be read as part of it.
        (end, format!("; {name} [priority="), "]")
    };
    Spot {
        values: Vec::new(),
        at: at..at,
        before,
        after: after.to_owned(),
    }
}

/// What the reader notes on its way.
#[derive(Default)]
pub(super) struct Sites {
    by_symbol: HashMap<Symbol, usize>,
    /// In the order of the tasks.
    nodes: Vec<Site>,
    /// The end of the text before the last closing brace, and that brace.
    close: (usize, usize),
}

struct Site {
    /// The name where it is met first.
    name: Range<usize>,
    /// Where a priority goes in the node's first statement, and what is written around the number.
    statement: Option<(usize, &'static str, &'static str)>,
    values: Vec<Value>,
}

/// One attribute as it is written.
pub(super) struct Written {
    /// The value, or the place behind the key when there is none.
    pub(super) value: Range<usize>,
    pub(super) has_value: bool,
}

/// The lists of attributes of one statement.
#[derive(Default)]
pub(super) struct Lists {
    /// Behind the first opening bracket.
    pub(super) open: usize,
    /// The end of the last attribute.
    pub(super) last: Option<usize>,
}

impl Sites {
    /// A node is met for the first time.
    pub(super) fn declare(&mut self, node: Symbol, name: Range<usize>) {
        self.by_symbol.insert(node, self.nodes.len());
        self.nodes.push(Site {
            name,
            statement: None,
            values: Vec::new(),
        });
    }

    fn site(&mut self, node: Symbol) -> Option<&mut Site> {
        self.nodes.get_mut(*self.by_symbol.get(&node)?)
    }

    /// A statement of a node, without attributes, that ends at `end`.
    pub(super) fn bare(&mut self, node: Symbol, end: usize) {
        if let Some(site) = self.site(node) {
            site.statement.get_or_insert((end, " [priority=", "]"));
        }
    }

    /// A statement of a node with attributes, and the priorities among them.
    pub(super) fn attributes(&mut self, node: Symbol, lists: &Lists, priorities: Vec<Written>) {
        let Some(site) = self.site(node) else {
            return;
        };
        site.statement.get_or_insert(match lists.last {
            Some(end) => (end, ", priority=", ""),
            None => (lists.open, "priority=", ""),
        });
        site.values.extend(priorities.into_iter().map(|p| Value {
            span: p.value,
            before: if p.has_value { "" } else { "=" },
            after: "",
            is_said: true,
        }));
    }

    /// A closing brace at `brace`; the token before it ends at `end`.
    pub(super) fn close(&mut self, end: usize, brace: usize) {
        self.close = (end, brace);
    }
}
