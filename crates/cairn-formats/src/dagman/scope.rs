//! What one DAGMan file (with the files it includes) declares: its nodes, splices and dependencies, numbered from
//! zero. Knows nothing of files: a splice is a scope that was read before.
//!
//! A scope holds only its own part; the tasks of a splice are a range of numbers whose names, dependencies and
//! settings stay in the splice's scope. So a file spliced a thousand times is held once, and the size of the whole is
//! known before anything of it is built.

use super::statement::NodeKind;
use super::submit::Submit;
use cairn_dag::Mark;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry as MapEntry;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most tasks that splicing may make.
// Some gigabytes of flow. Twenty files, each of which splices the next one twice, come to half a million of the last.
pub(crate) const MOST_TASKS: u64 = 20_000_000;
/// The most bytes that the names of all spliced tasks may have.
// Splices put their own names before those of their nodes: short files can make long names by the million.
pub(crate) const MOST_NAME_BYTES: u64 = 1 << 30;
/// The most dependencies: a single `PARENT` line makes as many as parents times children.
// Twelve bytes each while they are read: 1.2 GB.
pub(crate) const MOST_ARCS: u64 = 100_000_000;

/// One file's nodes, splices and dependencies.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// Position among the scopes of the workflow.
    pub(crate) index: usize,
    pub(crate) entries: Vec<Entry>,
    by_name: HashMap<Rc<str>, u32>,
    /// Tasks, name bytes and arcs of this scope and all its splices.
    pub(crate) size: Size,
    /// Dependencies stated here, between numbers of this scope, and where.
    pub(crate) arcs: Vec<(u32, u32, Mark)>,
    /// What `ALL_NODES` lines set, with the position of the line.
    pub(crate) all: Settings,
    /// Settings for tasks inside splices, which outweigh those made there.
    pub(crate) nested: Vec<(u32, Setting)>,
    /// By entry: the category of a node, with the position of its line; and that of all nodes.
    pub(crate) categories: HashMap<usize, (u32, Box<str>)>,
    pub(crate) all_category: Option<(u32, Box<str>)>,
    /// How many nodes of a category may run at once.
    pub(crate) limits: Vec<(Box<str>, u32)>,
    pub(crate) pins_in: Pins,
    pub(crate) pins_out: Pins,
    /// The kinds of the special nodes of this scope.
    pub(crate) specials: Vec<NodeKind>,
    /// Named submit descriptions.
    pub(crate) descriptions: HashMap<String, Submit>,
    // Found when somebody ties the splice as a whole, and once: a file may be spliced a thousand times.
    initial: OnceCell<Rc<[u32]>>,
    terminal: OnceCell<Rc<[u32]>>,
}

/// The nodes of each pin, by its number.
pub(crate) type Pins = BTreeMap<u32, Vec<u32>>;

/// How much a scope and its splices come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) tasks: u64,
    pub(crate) name_bytes: u64,
    pub(crate) arcs: u64,
}

/// A node or a splice, in the order of the file.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Rc<str>,
    pub(crate) mark: Mark,
    /// Its number, or that of its first task.
    pub(crate) first: u32,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Node(Node),
    /// `None` when the splice could not be read: mentioning it is no further error.
    Splice(Option<Rc<Scope>>),
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) done: bool,
    pub(crate) description: NodeDescription,
    pub(crate) settings: Settings,
}

#[derive(Debug)]
pub(crate) enum NodeDescription {
    /// A submit file, or a named description of this scope or one around it.
    Named(Box<str>),
    Inline(Box<Submit>),
}

/// What was set for a node, each with the position of its statement: the later of `ALL_NODES` and the node counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) priority: Option<(u32, i32)>,
    pub(crate) retries: Option<(u32, u32)>,
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Priority(i32),
    Retries(u32),
    Done,
}

impl Settings {
    pub(crate) fn set(&mut self, setting: Setting, position: u32) {
        match setting {
            Setting::Priority(value) => self.priority = Some((position, value)),
            Setting::Retries(times) => self.retries = Some((position, times)),
            Setting::Done => {}
        }
    }

    /// The settings of a node whose scope has `all` for all its nodes.
    pub(crate) fn with(self, all: Settings) -> (Option<i32>, Option<u32>) {
        // Pairs compare by their positions, of which no two are equal.
        let priority = self.priority.max(all.priority).map(|(_, value)| value);
        let retries = self.retries.max(all.retries).map(|(_, times)| times);
        (priority, retries)
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'s> {
    /// A node of the scope itself: its entry.
    Own(usize),
    /// A node inside a splice: its number here, and the node.
    Inside(u32, &'s Node),
    /// A splice, of the scope itself or of one inside it, whose numbers begin at the first.
    Splice(u32, Option<&'s Rc<Scope>>),
}

impl Scope {
    /// The category of a node, as the whole workflow calls it: in a splice, whose nodes' names begin with `prefix`, it is
    /// another one than outside, unless it begins with `+`.
    pub(crate) fn category_of(&self, entry: usize, prefix: &str) -> Option<String> {
        let own = self.categories.get(&entry);
        let (_, category) = own.max(self.all_category.as_ref())?;
        Some(whole_category(category, prefix))
    }

    /// Adds a node. Gives the entry that has its name already, if one has.
    pub(crate) fn add_node(&mut self, name: &str, mark: Mark, node: Node) -> Result<(), usize> {
        let size = Size {
            tasks: 1,
            name_bytes: name.len() as u64,
            arcs: 0,
        };
        // Noted once, for the check that there is one FINAL at most.
        if !node.kind.is_regular() && !self.specials.contains(&node.kind) {
            self.specials.push(node.kind);
        }
        self.add(name, mark, What::Node(node), size)
    }

    /// Adds a splice, which must fit ([`Scope::size_with`]). Gives the entry that has its name already.
    pub(crate) fn add_splice(
        &mut self,
        name: &str,
        mark: Mark,
        splice: Option<Rc<Scope>>,
    ) -> Result<(), usize> {
        let size = splice
            .as_ref()
            .map_or(Size::default(), |s| prefixed(s.size, name));
        self.add(name, mark, What::Splice(splice), size)
    }

    fn add(&mut self, name: &str, mark: Mark, what: What, size: Size) -> Result<(), usize> {
        let index = self.entries.len();
        let name: Rc<str> = name.into();
        match self.by_name.entry(Rc::clone(&name)) {
            // Nodes and splices share one space of names: which of the two a `PARENT` line meant could not be told.
            MapEntry::Occupied(taken) => return Err(*taken.get() as usize),
            MapEntry::Vacant(free) => free.insert(index as u32),
        };
        // Fits: `MOST_TASKS` is checked before a splice is added, and nodes are lines of files of at most 4 GiB.
        let first = self.size.tasks as u32;
        self.size = sum(self.size, size);
        self.entries.push(Entry {
            name,
            mark,
            first,
            what,
        });
        Ok(())
    }

    /// The size this scope would have with the splice.
    pub(crate) fn size_with(&self, name: &str, splice: &Scope) -> Size {
        sum(self.size, prefixed(splice.size, name))
    }

    /// What `name` stands for: a node or splice of this scope, or, as `splice+node`, one inside a splice.
    pub(crate) fn find(&self, name: &str) -> Option<Found<'_>> {
        if let Some(&index) = self.by_name.get(name) {
            let entry = &self.entries[index as usize];
            return Some(match &entry.what {
                What::Node(_) => Found::Own(index as usize),
                What::Splice(splice) => Found::Splice(entry.first, splice.as_ref()),
            });
        }
        // The shortest prefix that is a splice: names of nodes may hold `+` themselves where DAGMan is told to allow
        // it.
        for (plus, _) in name.match_indices('+') {
            let Some(&index) = self.by_name.get(&name[..plus]) else {
                continue;
            };
            let entry = &self.entries[index as usize];
            let What::Splice(splice) = &entry.what else {
                continue;
            };
            // It could not be read, so whether it has the node nobody knows: no further error.
            let Some(splice) = splice else {
                return Some(Found::Splice(entry.first, None));
            };
            return Some(match splice.find(&name[plus + 1..])? {
                Found::Own(inner) => match &splice.entries[inner].what {
                    What::Node(node) => {
                        Found::Inside(entry.first + splice.entries[inner].first, node)
                    }
                    What::Splice(_) => return None,
                },
                Found::Inside(number, node) => Found::Inside(entry.first + number, node),
                Found::Splice(number, scope) => Found::Splice(entry.first + number, scope),
            });
        }
        None
    }

    /// The full name of a task of this scope.
    pub(crate) fn name_of(&self, number: u32) -> String {
        // A splice without tasks begins where the next entry does: of equals the last has the task.
        let after = self.entries.partition_point(|entry| entry.first <= number);
        let entry = &self.entries[after - 1];
        match &entry.what {
            What::Splice(Some(splice)) => {
                format!("{}+{}", entry.name, splice.name_of(number - entry.first))
            }
            _ => entry.name.to_string(),
        }
    }

    /// The names of nodes and splices.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.name)
    }

    /// Tasks that wait for none of this scope, ascending: where a parent of the whole splice attaches.
    pub(crate) fn initial(&self) -> Rc<[u32]> {
        let find = || self.loose_ends(|&(_, child, _)| child, Scope::initial);
        Rc::clone(self.initial.get_or_init(find))
    }

    /// Tasks that none of this scope waits for, ascending: where a child of the whole splice attaches.
    pub(crate) fn terminal(&self) -> Rc<[u32]> {
        let find = || self.loose_ends(|&(parent, ..)| parent, Scope::terminal);
        Rc::clone(self.terminal.get_or_init(find))
    }

    /// Tasks at no end of a dependency, neither of this scope nor of the splice they lie in. Special nodes, which
    /// take no dependencies, are left out.
    fn loose_ends(
        &self,
        end: impl Fn(&(u32, u32, Mark)) -> u32,
        of_splice: fn(&Scope) -> Rc<[u32]>,
    ) -> Rc<[u32]> {
        // Of all tasks, splices' too: a node inside a splice may be tied from outside by its full name.
        let mut tied = vec![false; self.size.tasks as usize];
        for arc in &self.arcs {
            tied[end(arc) as usize] = true;
        }
        let mut loose = Vec::new();
        for entry in &self.entries {
            match &entry.what {
                What::Node(node) => loose.extend(node.kind.is_regular().then_some(entry.first)),
                What::Splice(None) => {}
                What::Splice(Some(splice)) => {
                    loose.extend(of_splice(splice).iter().map(|number| entry.first + number))
                }
            }
        }
        // A splice's own ends may be tied here: then they are no ends of the whole.
        loose.retain(|&number: &u32| !tied[number as usize]);
        loose.into()
    }
}

/// A category as the whole workflow calls it.
pub(crate) fn whole_category(category: &str, prefix: &str) -> String {
    match category.strip_prefix('+') {
        Some(shared) => shared.to_owned(),
        None => format!("{prefix}{category}"),
    }
}

fn sum(a: Size, b: Size) -> Size {
    Size {
        // Files that splice each other twice double at each level: the sum is compared with the limits, so it must
        // not wrap.
        tasks: a.tasks.saturating_add(b.tasks),
        name_bytes: a.name_bytes.saturating_add(b.name_bytes),
        arcs: a.arcs.saturating_add(b.arcs),
    }
}

/// The size of a splice, each of whose names gets `name+` before it.
fn prefixed(size: Size, name: &str) -> Size {
    let more = size.tasks.saturating_mul(name.len() as u64 + 1);
    Size {
        name_bytes: size.name_bytes.saturating_add(more),
        ..size
    }
}
