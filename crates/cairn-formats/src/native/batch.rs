//! Tasks on their way from a native flow file to the draft, many at a time. Knows neither JSON nor TOML.
//!
//! Batches of one file may be filled side by side, for filling one needs nothing but the text. A [`Sink`] then takes them
//! in the order of the file, so that the outcome never depends on where one batch ends and the next begins.

use super::task::{FIELDS, SYNONYMS};
use crate::Source;
use crate::draft::Draft;
use crate::suggest::closest;
use crate::text::Text;
use cairn_dag::{BuildError, FlowBuilder, Mark, NOWHERE, Symbol, wide};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Names looked up at once: several times faster than one by one.
// Their lookups need not wait for each other: memory answers several at a time.
const AT_ONCE: usize = 128;

/// Unknown fields that are warned of.
// So few that a list is searched faster than a set would be.
const MOST_UNKNOWN: usize = 20;

/// A file that a task reads or writes.
pub(super) struct FileEntry<'s> {
    pub(super) path: Text<'s>,
    pub(super) bytes: Option<u64>,
    pub(super) temp: bool,
}

impl<'s> FileEntry<'s> {
    /// One of which only the path is known.
    pub(super) fn plain(path: Cow<'s, str>) -> FileEntry<'s> {
        FileEntry {
            path: Text(path),
            bytes: None,
            temp: false,
        }
    }
}

/// Tasks as they were read. The lists are kept when a sink has taken what was in them, so that a million lines need no
/// million allocations.
pub(super) struct Batch<'s> {
    source: &'s Source,
    /// The lines to read it from, where there are lines.
    pub(super) piece: &'s str,
    /// Where the task at hand begins, if known.
    pub(super) here: Mark,
    entries: Vec<Entry<'s>>,
    /// One for each task among the entries.
    names: Vec<(Text<'s>, Mark)>,
    pub(super) parents: Vec<(Text<'s>, Mark)>,
    pub(super) files: Vec<FileEntry<'s>>,
    pub(super) pools: Vec<(Text<'s>, u32)>,
    pub(super) tags: Vec<Text<'s>>,
    /// What the names mean, or why a task of that name cannot be; filled by the sink.
    tasks: Vec<Result<Symbol, BuildError>>,
    /// What the parents' names mean; filled by the sink.
    parent_tasks: Vec<Option<Symbol>>,
    /// Unknown fields met in this batch and those that were in the same lists before.
    unknown: Vec<String>,
}

/// What was met in the file.
enum Entry<'s> {
    Task(Task<'s>),
    Nameless(Mark),
    /// Limits of pools: which of the batch's.
    Limits(Range<usize>),
    UnknownField(String, Mark),
    Unreadable {
        at: Mark,
        message: String,
        help: &'static str,
    },
}

/// One task, without its name.
#[derive(Default)]
pub(super) struct Task<'s> {
    /// Which of the batch's parents and files are this task's.
    pub(super) parents: Range<usize>,
    pub(super) inputs: Range<usize>,
    pub(super) outputs: Range<usize>,
    pub(super) run: Option<Text<'s>>,
    pub(super) seconds: Option<f64>,
    pub(super) cpus: Option<u32>,
    pub(super) retries: Option<u32>,
    pub(super) memory: Option<u64>,
    pub(super) scratch: Option<u64>,
    pub(super) time_limit: Option<f64>,
    pub(super) pools: Range<u32>,
    pub(super) tags: Range<u32>,
    pub(super) priority: Option<i64>,
    pub(super) done: bool,
    pub(super) kind: Option<Text<'s>>,
    pub(super) label: Option<Text<'s>>,
}

impl<'s> Batch<'s> {
    pub(super) fn new(source: &'s Source) -> Batch<'s> {
        Batch {
            source,
            piece: "",
            here: NOWHERE,
            entries: Vec::new(),
            names: Vec::new(),
            parents: Vec::new(),
            files: Vec::new(),
            pools: Vec::new(),
            tags: Vec::new(),
            tasks: Vec::new(),
            parent_tasks: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Whether there is enough in it to be taken.
    pub(super) fn is_full(&self) -> bool {
        self.names.len() + self.parents.len() >= AT_ONCE
    }

    /// Where a string stands, or else the task at hand: unescaped strings are no part of the source.
    #[inline]
    pub(super) fn mark(&self, text: &str) -> Mark {
        match self.source.offset_of(text) {
            Some(offset) => crate::draft::mark_at(offset),
            None => self.here,
        }
    }

    #[inline]
    pub(super) fn task(&mut self, name: (Text<'s>, Mark), task: Task<'s>) {
        // An entry, not an error here: batches are filled side by side, and told of in the order of the file.
        if name.0.is_empty() {
            self.entries.push(Entry::Nameless(name.1));
            return;
        }
        self.names.push(name);
        self.entries.push(Entry::Task(task));
    }

    /// Limits of pools, which stand at the end of the batch's from `start` on.
    pub(super) fn limits(&mut self, start: usize) {
        self.entries.push(Entry::Limits(start..self.pools.len()));
    }

    /// Something that is no task, though it should be one.
    pub(super) fn unreadable(&mut self, at: Mark, message: String, help: &'static str) {
        self.entries.push(Entry::Unreadable { at, message, help });
    }

    /// A field that is not ours. What was met earlier in the file would not be warned of again.
    pub(super) fn unknown_field(&mut self, field: &str) {
        if is_news(&mut self.unknown, field) {
            let entry = Entry::UnknownField(field.to_owned(), self.mark(field));
            self.entries.push(entry);
        }
    }

    fn declare_tasks(&mut self, build: &mut FlowBuilder) {
        self.tasks.clear();
        let mut symbols = Vec::with_capacity(AT_ONCE);
        for names in self.names.chunks(AT_ONCE) {
            symbols.clear();
            build.mention_all(names.iter().map(|(n, mark)| (&**n, *mark)), &mut symbols);
            for (&symbol, &(_, mark)) in symbols.iter().zip(names) {
                // A name that is there twice is refused here: which of two tasks others wait for could not be told.
                let declared = build.declare_mentioned(symbol, mark);
                self.tasks.push(declared.map(|()| symbol));
            }
        }
    }

    fn find_parents(&mut self, build: &FlowBuilder) {
        self.parent_tasks.clear();
        for names in self.parents.chunks(AT_ONCE) {
            let names = names.iter().map(|(name, _)| &**name);
            build.lookup_all(names, &mut self.parent_tasks);
        }
    }

    /// Parents that are declared later, or never.
    fn mention_missing_parents(&mut self, build: &mut FlowBuilder) {
        let symbols = self.parent_tasks.chunks_mut(AT_ONCE);
        for (names, symbols) in self.parents.chunks(AT_ONCE).zip(symbols) {
            let pairs = names.iter().zip(symbols.iter());
            // Few, where files list tasks before those that wait for them: the others were found side by side.
            let missing = pairs.filter(|(_, symbol)| symbol.is_none());
            let mut mentioned = Vec::new();
            build.mention_all(
                missing.map(|((name, mark), _)| (&**name, *mark)),
                &mut mentioned,
            );
            let missing = symbols.iter_mut().filter(|symbol| symbol.is_none());
            for (place, symbol) in missing.zip(mentioned) {
                *place = Some(symbol);
            }
        }
    }
}

/// Whether this field is to be warned of; if so, remembers it.
fn is_news(fields: &mut Vec<String>, field: &str) -> bool {
    let news = fields.len() < MOST_UNKNOWN && !fields.iter().any(|f| f == field);
    if news {
        fields.push(field.to_owned());
    }
    news
}

/// Takes batches into the draft.
pub(super) struct Sink<'s, 'r> {
    pub(super) draft: Draft<'s, 'r>,
    /// Fields that were warned of.
    unknown: Vec<String>,
}

impl<'s, 'r> Sink<'s, 'r> {
    pub(super) fn new(draft: Draft<'s, 'r>) -> Sink<'s, 'r> {
        Sink {
            draft,
            unknown: Vec::new(),
        }
    }

    /// Takes what is in some batches, which come in the order of the file, and leaves them empty.
    ///
    /// All tasks are declared first, so that most parents are known already and can be found side by side: most of the
    /// time goes into waiting for memory there.
    pub(super) fn take(&mut self, batches: &mut [Batch<'s>]) {
        for batch in &mut *batches {
            batch.declare_tasks(&mut self.draft.build);
        }
        // Shared and unchanged while parents are looked up, which is what allows it to be done side by side.
        let build = &self.draft.build;
        side_by_side(batches, |batch| batch.find_parents(build));
        for batch in batches {
            batch.mention_missing_parents(&mut self.draft.build);
            self.give(batch);
        }
    }

    /// Gives what was read, and found, to the draft.
    fn give(&mut self, batch: &mut Batch<'s>) {
        let mut named = batch.names.iter().zip(&batch.tasks);
        for entry in &batch.entries {
            match entry {
                Entry::Task(task) => {
                    let ((_, mark), found) = named.next().expect("a name for each task");
                    match found {
                        Ok(symbol) => give_task(&mut self.draft, *symbol, *mark, task, batch),
                        Err(error) => self.draft.build_error(error),
                    }
                }
                Entry::Nameless(mark) => {
                    let error = BuildError::EmptyName { mark: *mark };
                    self.draft.build_error(&error);
                }
                Entry::Limits(pools) => {
                    for (pool, limit) in &batch.pools[pools.clone()] {
                        self.draft.build.set_pool_limit(pool, *limit);
                    }
                }
                Entry::UnknownField(field, mark) => {
                    if is_news(&mut self.unknown, field) {
                        warn_of_field(&mut self.draft, field, *mark);
                    }
                }
                Entry::Unreadable { at, message, help } => {
                    let place = |source: &Source| source.place_at(*at as usize);
                    self.draft.unreadable(place, message, *help);
                }
            }
        }
        // Cleared, not dropped: the next piece fills the same lists.
        batch.entries.clear();
        batch.names.clear();
        batch.parents.clear();
        batch.files.clear();
        batch.pools.clear();
        batch.tags.clear();
    }
}

/// Does something with each batch, on as many processors as there are.
pub(super) fn side_by_side<'s>(
    batches: &mut [Batch<'s>],
    work: impl Fn(&mut Batch<'s>) + Send + Sync,
) {
    match batches {
        // A small file is one batch: no threads are woken for it.
        [alone] => work(alone),
        many => many.par_iter_mut().for_each(work),
    }
}

fn give_task(
    draft: &mut Draft<'_, '_>,
    symbol: Symbol,
    mark: Mark,
    task: &Task<'_>,
    batch: &Batch<'_>,
) {
    for i in task.parents.clone() {
        let parent = batch.parent_tasks[i].expect("found or mentioned by now");
        draft.arc(parent, symbol, batch.parents[i].1);
    }
    let build = &mut draft.build;
    if let Some(run) = &task.run {
        build.set_command(symbol, run);
    }
    if let Some(cpus) = task.cpus {
        build.set_cpus(symbol, cpus);
    }
    if let Some(retries) = task.retries {
        build.set_retries(symbol, retries);
    }
    if let Some(priority) = task.priority {
        build.set_priority(symbol, priority);
    }
    if task.done {
        build.set_done(symbol);
    }
    if let Some(kind) = &task.kind {
        build.set_kind(symbol, kind);
    }
    if let Some(label) = &task.label {
        build.set_label(symbol, label);
    }
    if let Some(memory) = task.memory {
        build.set_memory(symbol, memory);
    }
    if let Some(scratch) = task.scratch {
        build.set_scratch(symbol, scratch);
    }
    let within = |range: &Range<u32>| wide(range.start)..wide(range.end);
    for (pool, count) in &batch.pools[within(&task.pools)] {
        build.add_pool(symbol, pool, *count);
    }
    for tag in &batch.tags[within(&task.tags)] {
        build.add_tag(symbol, tag);
    }
    for file in &batch.files[task.inputs.clone()] {
        build.add_input(symbol, &file.path, file.bytes);
    }
    for file in &batch.files[task.outputs.clone()] {
        build.add_output(symbol, &file.path, file.bytes);
        if file.temp {
            build.set_temp(&file.path);
        }
    }
    if let Some(seconds) = task.time_limit {
        draft.time_limit(symbol, seconds, mark);
    }
    if let Some(seconds) = task.seconds {
        draft.seconds(symbol, seconds, mark);
    }
}

fn warn_of_field(draft: &mut Draft<'_, '_>, field: &str, mark: Mark) {
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == field);
    let meant = synonym.map(|(_, ours)| *ours);
    let help = match meant.or_else(|| closest(field, FIELDS)) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("the fields of a task are: {}", FIELDS.join(", ")),
    };
    draft.warning(mark, format!("unknown field '{field}' is ignored"), help);
}
