//! Goes through a scope and all that is spliced into it, in the order of the files. Knows not what is done with a node.

use super::scope::{Entry, Node, Scope, What};
use std::rc::Rc;

/// A node on the way, with all that stands around it.
pub(super) struct At<'a> {
    pub(super) scope: &'a Scope,
    /// Which of the entries of the scope.
    pub(super) index: usize,
    pub(super) entry: &'a Entry,
    pub(super) node: &'a Node,
    /// Its whole name: those of the splices around it, then its own.
    pub(super) name: &'a str,
    /// How much of the name the splices have.
    pub(super) prefix: usize,
    /// The scopes around it, its own last.
    pub(super) around: &'a [Rc<Scope>],
}

/// What is done on the way.
pub(super) trait Visitor {
    /// Before the first node of a scope.
    fn enter(&mut self) {}

    /// At every node.
    fn node(&mut self, at: &At<'_>);

    /// Behind the last node of a scope and of its splices; their names begin with `prefix`.
    fn leave(&mut self, _scope: &Scope, _prefix: &str) {}
}

/// Visits the nodes of the top scope and of all splices.
pub(super) fn walk(top: &Rc<Scope>, visitor: &mut impl Visitor) {
    go(top, &mut String::new(), &mut Vec::new(), visitor);
}

fn go(
    scope: &Rc<Scope>,
    name: &mut String,
    around: &mut Vec<Rc<Scope>>,
    visitor: &mut impl Visitor,
) {
    let prefix = name.len();
    visitor.enter();
    // A description may be that of any scope around a node.
    around.push(Rc::clone(scope));
    for (index, entry) in scope.entries.iter().enumerate() {
        name.push_str(&entry.name);
        match &entry.what {
            What::Node(node) => visitor.node(&At {
                scope,
                index,
                entry,
                node,
                name,
                prefix,
                around,
            }),
            What::Splice(None) => {}
            What::Splice(Some(splice)) => {
                // DAGMan's own names for the nodes of a splice.
                name.push('+');
                go(splice, name, around, visitor);
            }
        }
        // One buffer for all names on the way: a workflow of a million nodes needs no million strings here.
        name.truncate(prefix);
    }
    around.pop();
    visitor.leave(scope, name);
}
