//! Builds a flow from names in any order. Knows the reader's places only as opaque marks.

use crate::columns::permuted;
use crate::flow::Attributes;
use crate::names::Names;
use crate::{Dag, DagError, Flow, TaskId, narrow, wide};
use cairn_kernel::NONE;
use std::borrow::Cow;
use std::collections::HashMap;

/// Where the reader met something: usually a line number. The builder only hands it back in errors.
pub type Mark = u32;

/// The mark of what stands nowhere in particular: [`NONE`], among marks.
// No `Option`: readers keep a mark an arc, and of two marks the smaller is the first, where "nowhere" must come last.
pub const NOWHERE: Mark = NONE;

/// A task name known to one [`FlowBuilder`], declared or only mentioned so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    fn index(self) -> usize {
        wide(self.0)
    }
}

/// Why the tasks and arcs given to a [`FlowBuilder`] are no flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two tasks have one name.
    #[error("task '{name}' is declared twice")]
    Duplicate {
        /// The name.
        name: String,
        /// Where it was declared first.
        first: Mark,
        /// Where it was declared again.
        again: Mark,
    },
    /// A task is mentioned but never declared.
    #[error("task '{name}' is mentioned but never declared")]
    Unknown {
        /// The name.
        name: String,
        /// Where it was mentioned first.
        mark: Mark,
    },
    /// A name of no characters.
    #[error("a task has an empty name")]
    EmptyName {
        /// Where.
        mark: Mark,
    },
    /// A task that waits for itself.
    #[error("task '{name}' depends on itself")]
    SelfLoop {
        /// The task.
        name: String,
    },
    /// Tasks that wait for each other: each a parent of the next, the last a parent of the first.
    #[error("tasks wait for each other in a cycle: {}", closed(.names))]
    Cycle {
        /// Their names, behind the label where there is one.
        names: Vec<String>,
        /// Where each was declared.
        marks: Vec<Mark>,
        /// Where the arc from each to the next was given, the last one's to the first; none where that is not known.
        arcs: Vec<Option<Mark>>,
    },
    /// More than 2³² − 2 tasks or arcs, or more than 4 GiB of one kind of text.
    #[error("the input is too large: 32-bit numbers cannot count its {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
    },
    /// A duration that is negative, infinite or not a number.
    #[error(
        "task '{name}' has the duration {seconds}; it must be a finite number of seconds, not below zero"
    )]
    BadSeconds {
        /// The task.
        name: String,
        /// The value, as text.
        seconds: String,
    },
    /// A limit of time that is zero, negative, infinite or not a number.
    #[error(
        "task '{name}' has the time limit {seconds}; it must be a finite number of seconds, above zero"
    )]
    BadTimeLimit {
        /// The task.
        name: String,
        /// The value, as text.
        seconds: String,
    },
}

/// A cycle as text, with its first task again at the end. Long ones are cut short in the middle.
fn closed(names: &[String]) -> String {
    // As many as one reads at a glance: the whole cycle is in `names`.
    const SHOWN: usize = 12;
    let first = names.first().cloned();
    let mut shown: Vec<String> = names.iter().take(SHOWN).cloned().collect();
    if names.len() > SHOWN {
        shown.push(format!("… {} more …", names.len() - SHOWN));
    }
    shown.extend(first);
    shown.join(" -> ")
}

/// Collects tasks, arcs and attributes in whatever order the input gives them.
///
/// Tasks are numbered in the order in which they are *declared*, so that "first come, first served" means the
/// order of the file; arcs may mention tasks that are declared later.
///
/// ```
/// use cairn_dag::FlowBuilder;
/// let mut build = FlowBuilder::new();
/// let a = build.declare("a", 1)?;
/// let b = build.mention("b", 1);
/// build.arc(a, b)?;
/// build.declare("b", 2)?;
/// build.set_seconds(b, 2.5)?;
/// let flow = build.finish().unwrap();
/// assert_eq!(flow.dag().arc_count(), 1);
/// assert_eq!(flow.seconds(flow.find("b").unwrap()), Some(2.5));
/// # Ok::<(), cairn_dag::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FlowBuilder {
    names: Names,
    /// By symbol: position in the order of declaration, or `NONE` where it is only mentioned.
    rank: Vec<u32>,
    /// By symbol: where declared, or, before that, where first mentioned.
    mark: Vec<Mark>,
    declared: u32,
    arcs: Vec<(u32, u32)>,
    /// Where arcs were given, as far as that is known: by position in `arcs`, perhaps shorter.
    arc_marks: Vec<Mark>,
    attributes: Attributes,
    /// What passed a 32-bit limit, if anything did: reported by `finish`.
    overflow: Option<&'static str>,
}

impl FlowBuilder {
    /// A builder with nothing in it.
    pub fn new() -> FlowBuilder {
        FlowBuilder::default()
    }

    /// Makes room for so many tasks in all. Never needed; saves time where their number can be guessed.
    pub fn reserve(&mut self, tasks: usize) {
        let more = tasks.saturating_sub(self.rank.len());
        self.names.reserve(tasks);
        self.rank.reserve(more);
        self.mark.reserve(more);
    }

    /// Number of tasks declared so far.
    pub fn declared(&self) -> usize {
        wide(self.declared)
    }

    /// Declares a task. Its number will be the count of tasks declared before it.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`], [`BuildError::EmptyName`].
    pub fn declare(&mut self, name: &str, mark: Mark) -> Result<Symbol, BuildError> {
        if name.is_empty() {
            return Err(BuildError::EmptyName { mark });
        }
        let symbol = self.mention(name, mark);
        self.declare_mentioned(symbol, mark)?;
        Ok(symbol)
    }

    /// Declares a task that was mentioned before, without looking its name up again.
    ///
    /// # Errors
    /// As [`FlowBuilder::declare`].
    pub fn declare_mentioned(&mut self, task: Symbol, mark: Mark) -> Result<(), BuildError> {
        let i = task.index();
        let Some(&rank) = self.rank.get(i) else {
            return Ok(()); // there was no room for its name, which `finish` reports
        };
        if self.name(task).is_empty() {
            return Err(BuildError::EmptyName { mark });
        }
        if rank != NONE {
            return Err(BuildError::Duplicate {
                name: self.name(task).to_owned(),
                first: self.mark[i],
                again: mark,
            });
        }
        self.rank[i] = self.declared;
        self.mark[i] = mark;
        self.declared += 1;
        Ok(())
    }

    /// The symbol of a name that is, or will be, declared elsewhere.
    pub fn mention(&mut self, name: &str, mark: Mark) -> Symbol {
        let index = self.names.intern(name);
        self.mentioned(index, mark)
    }

    /// Appends to `symbols` what [`FlowBuilder::mention`] would give for each of some names. Several times faster than
    /// one by one when there are millions of them: a hundred or so at a time is best.
    pub fn mention_all<'n>(
        &mut self,
        names: impl Iterator<Item = (&'n str, Mark)> + Clone,
        symbols: &mut Vec<Symbol>,
    ) {
        let mut numbers = Vec::new();
        let words = names.clone().map(|(name, _)| name);
        self.names.intern_all(words, |index| numbers.push(index));
        for (index, (_, mark)) in numbers.into_iter().zip(names) {
            let symbol = self.mentioned(index, mark);
            symbols.push(symbol);
        }
    }

    /// The symbol of an interned name; `None` is one for which there was no room.
    fn mentioned(&mut self, index: Option<u32>, mark: Mark) -> Symbol {
        let Some(index) = index else {
            // Readers go on to the end of the file; every symbol from here on may be wrong, but nothing is made of
            // them.
            self.overflow = Some("task names");
            return Symbol(0);
        };
        if wide(index) == self.rank.len() {
            self.rank.push(NONE);
            self.mark.push(mark);
        }
        Symbol(index)
    }

    /// The symbol of a name met before.
    pub fn lookup(&self, name: &str) -> Option<Symbol> {
        self.names.find(name).map(Symbol)
    }

    /// Appends to `symbols` what [`FlowBuilder::lookup`] would give for each of some names. Several times faster than
    /// one by one when there are millions of them: a hundred or so at a time is best.
    pub fn lookup_all<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        symbols: &mut Vec<Option<Symbol>>,
    ) {
        (self.names).find_all(names, |number| symbols.push(number.ok().map(Symbol)));
    }

    /// Whether the task has been declared yet.
    pub fn is_declared(&self, task: Symbol) -> bool {
        (self.rank.get(task.index())).is_some_and(|&r| r != NONE)
    }

    /// The task's name.
    pub fn name(&self, task: Symbol) -> &str {
        self.names.get(task.index())
    }

    /// `child` waits for `parent`. The same arc may be given again.
    ///
    /// # Errors
    /// [`BuildError::SelfLoop`].
    pub fn arc(&mut self, parent: Symbol, child: Symbol) -> Result<(), BuildError> {
        // Names for which there was no room all have symbol 0, which is no self-loop of the input.
        if parent == child && self.overflow.is_none() {
            return Err(BuildError::SelfLoop {
                name: self.name(parent).to_owned(),
            });
        }
        self.arcs.push((parent.0, child.0));
        Ok(())
    }

    /// What people call the task, where that is not its name. Of several lines the blank ones, and blanks around any,
    /// are left out; a blank label is none.
    pub fn set_label(&mut self, task: Symbol, label: &str) {
        // A label that repeats the name is none, so that `has_labels` means that there is more to see than names.
        let is_name = label == self.name(task);
        let lines = label.lines().map(str::trim).filter(|line| !line.is_empty());
        let label = match label.contains('\n') {
            true => Cow::Owned(lines.collect::<Vec<_>>().join("\n")),
            false => Cow::Borrowed(label.trim()),
        };
        if !is_name && !label.is_empty() && !self.attributes.label.set(task.index(), &label) {
            self.overflow = Some("labels");
        }
    }

    /// What kind of job it is. A blank kind is none.
    pub fn set_kind(&mut self, task: Symbol, kind: &str) {
        let kind = kind.trim();
        if !kind.is_empty() && !self.attributes.kind.set(task.index(), kind) {
            self.overflow = Some("kinds of job");
        }
    }

    /// As [`FlowBuilder::arc`], with where it is given, which is told should it lie on a cycle.
    ///
    /// # Errors
    /// [`BuildError::SelfLoop`].
    #[inline]
    pub fn arc_at(&mut self, parent: Symbol, child: Symbol, mark: Mark) -> Result<(), BuildError> {
        self.arc(parent, child)?;
        // Arcs given by `arc` since then have no place; without any `arc_at` the list stays empty.
        self.arc_marks.resize(self.arcs.len() - 1, NOWHERE);
        self.arc_marks.push(mark);
        Ok(())
    }

    /// The command line to run.
    pub fn set_command(&mut self, task: Symbol, command: &str) {
        if !self.attributes.command.set(task.index(), command) {
            self.overflow = Some("commands");
        }
    }

    /// The expected duration.
    ///
    /// # Errors
    /// [`BuildError::BadSeconds`] unless finite and not negative.
    pub fn set_seconds(&mut self, task: Symbol, seconds: f64) -> Result<(), BuildError> {
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(BuildError::BadSeconds {
                name: self.name(task).to_owned(),
                seconds: seconds.to_string(),
            });
        }
        *self.attributes.seconds.slot(task.index()) = Some(seconds);
        Ok(())
    }

    /// Processors the task wants.
    pub fn set_cpus(&mut self, task: Symbol, cpus: u32) {
        *self.attributes.cpus.slot(task.index()) = Some(cpus);
    }

    /// How often to try again after a failure.
    pub fn set_retries(&mut self, task: Symbol, retries: u32) {
        *self.attributes.retries.slot(task.index()) = Some(retries);
    }

    /// A priority the input gives; larger goes first.
    pub fn set_priority(&mut self, task: Symbol, priority: i64) {
        *self.attributes.priority.slot(task.index()) = Some(priority);
    }

    /// Bytes of memory the task wants.
    pub fn set_memory(&mut self, task: Symbol, bytes: u64) {
        *self.attributes.memory.slot(task.index()) = Some(bytes);
    }

    /// Bytes of disk that the task needs while it runs, beside its outputs.
    pub fn set_scratch(&mut self, task: Symbol, bytes: u64) {
        *self.attributes.scratch.slot(task.index()) = Some(bytes);
    }

    /// Seconds after which an attempt has failed.
    ///
    /// # Errors
    /// [`BuildError::BadTimeLimit`] unless finite and above zero.
    pub fn set_time_limit(&mut self, task: Symbol, seconds: f64) -> Result<(), BuildError> {
        if !seconds.is_finite() || seconds <= 0.0 {
            return Err(BuildError::BadTimeLimit {
                name: self.name(task).to_owned(),
                seconds: seconds.to_string(),
            });
        }
        *self.attributes.time_limit.slot(task.index()) = Some(seconds);
        Ok(())
    }

    /// The task holds so much of a named resource while it runs. The last one counts where a task names one twice.
    pub fn add_pool(&mut self, task: Symbol, pool: &str, count: u32) {
        if !self.attributes.pools.add(task.index(), pool, count) {
            self.overflow = Some("pools");
        }
    }

    /// How much there is of a named resource.
    pub fn set_pool_limit(&mut self, pool: &str, limit: u32) {
        if !self.attributes.pools.set_limit(pool, limit) {
            self.overflow = Some("pools");
        }
    }

    /// Only a worker with this word among its labels may do the task.
    pub fn add_tag(&mut self, task: Symbol, tag: &str) {
        let tags = &mut self.attributes;
        let pushed = (tags.tag_names.intern(tag)).map(|tag| tags.tags.push(task.index(), tag));
        if pushed != Some(true) {
            self.overflow = Some("tags");
        }
    }

    /// The task was executed before.
    pub fn set_done(&mut self, task: Symbol) {
        *self.attributes.done.slot(task.index()) = true;
    }

    /// The engine starts the task by itself, outside of the dag, as DAGMan does a FINAL node.
    pub fn set_apart(&mut self, task: Symbol) {
        *self.attributes.apart.slot(task.index()) = true;
    }

    /// The task reads the file. A size, once known, holds for every mention of the path.
    pub fn add_input(&mut self, task: Symbol, path: &str, bytes: Option<u64>) {
        let file = self.file(path, bytes);
        if !self.attributes.inputs.push(task.index(), file) {
            self.overflow = Some("input files");
        }
    }

    /// The task writes the file. A size, once known, holds for every mention of the path.
    pub fn add_output(&mut self, task: Symbol, path: &str, bytes: Option<u64>) {
        let file = self.file(path, bytes);
        if !self.attributes.outputs.push(task.index(), file) {
            self.overflow = Some("output files");
        }
    }

    /// The file may be deleted once the last task that reads it is executed: this holds for every mention of the path.
    pub fn set_temp(&mut self, path: &str) {
        let file = self.file(path, None);
        *self.attributes.file_temp.slot(wide(file)) = true;
    }

    fn file(&mut self, path: &str, bytes: Option<u64>) -> u32 {
        let Some(file) = self.attributes.file_names.intern(&tidy(path)) else {
            self.overflow = Some("file names");
            return 0;
        };
        if bytes.is_some() {
            *self.attributes.file_bytes.slot(wide(file)) = bytes;
        }
        file
    }

    /// Freezes everything. Time and space linear.
    ///
    /// # Errors
    /// All mentioned but undeclared tasks at once, or else a cycle, as short as could be found.
    pub fn finish(mut self) -> Result<Flow, Vec<BuildError>> {
        if let Some(what) = self.overflow {
            return Err(vec![BuildError::TooLarge { what }]);
        }
        let unknown: Vec<BuildError> = (self.rank.iter().enumerate())
            .filter(|&(_, &rank)| rank == NONE)
            .map(|(i, _)| BuildError::Unknown {
                name: self.names.get(i).to_owned(),
                mark: self.mark[i],
            })
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let rank = std::mem::take(&mut self.rank);
        let tasks = rank.len();
        // Most files declare before they mention: then symbols are ranks and nothing need move.
        if rank.iter().enumerate().any(|(i, &r)| narrow(i) != r) {
            self.names.permute(&rank);
            self.attributes.permute(&rank);
            self.mark = permuted(&self.mark, &rank);
            for (parent, child) in &mut self.arcs {
                *parent = rank[wide(*parent)];
                *child = rank[wide(*child)];
            }
        }
        // Before the arcs are frozen: beside them that takes room for both kinds of rows.
        drop(rank);
        match Dag::from_arcs_or_back(tasks, self.arcs) {
            Ok(dag) => Ok(Flow::new(dag, self.names, self.attributes)),
            Err((DagError::Cycle(cycle), arcs)) => Err(vec![BuildError::Cycle {
                arcs: marks_of(&cycle, &arcs, &self.arc_marks),
                marks: cycle.iter().map(|t| self.mark[t.index()]).collect(),
                names: (cycle.iter())
                    .map(|t: &TaskId| {
                        let name = self.names.get(t.index());
                        match self.attributes.label.get(t.index()) {
                            // The name is what stands in the file at that place.
                            Some(label) => format!("{} ({name})", label.replace('\n', " ")),
                            None => name.to_owned(),
                        }
                    })
                    .collect(),
            }]),
            Err((DagError::TooLarge(_), _)) => Err(vec![BuildError::TooLarge { what: "arcs" }]),
            Err((DagError::SelfLoop(_) | DagError::OutOfRange { .. }, _)) => {
                unreachable!("`arc` takes neither a self-loop nor a task it does not know")
            }
        }
    }
}

/// Where each arc of a cycle was given first.
fn marks_of(cycle: &[TaskId], arcs: &[(u32, u32)], marks: &[Mark]) -> Vec<Option<Mark>> {
    let next = cycle.iter().cycle().skip(1);
    // By arc of the cycle, which is short: one pass over millions of arcs looks each up in a small table.
    let place: HashMap<(u32, u32), usize> = (cycle.iter().zip(next).enumerate())
        .map(|(i, (parent, child))| ((parent.0, child.0), i))
        .collect();
    let mut found = vec![None; cycle.len()];
    for (arc, &mark) in arcs.iter().zip(marks).filter(|(_, mark)| **mark != NOWHERE) {
        if let Some(&i) = place.get(arc) {
            found[i].get_or_insert(mark);
        }
    }
    found
}

/// A file has one name: `./a//b/` is `a/b`. Without this, who reads `./x` would not be seen to read the `x` that another task
/// writes. `..` stays, since it may lead out of a link; so does what looks like an address.
fn tidy(path: &str) -> Cow<'_, str> {
    let is_tidy = !(path.starts_with("./")
        || path.ends_with('/')
        || path.ends_with("/.")
        || path.contains("//")
        || path.contains("/./"));
    if is_tidy || path.contains("://") {
        return Cow::Borrowed(path);
    }
    let parts = path.split('/').filter(|part| !["", "."].contains(part));
    let mut tidied = parts.collect::<Vec<_>>().join("/");
    match path.starts_with('/') {
        true => tidied.insert(0, '/'),
        false if tidied.is_empty() => tidied.push('.'),
        false => (),
    }
    Cow::Owned(tidied)
}

#[cfg(test)]
mod tests;
