//! One task of a native flow file, from JSON or TOML alike, straight into the draft. Knows nothing of documents.

use crate::draft::{Draft, NOWHERE};
use crate::suggest::closest;
use crate::text::Text;
use cairn_dag::{Mark, Symbol};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess};
use serde::de::{Unexpected, Visitor};
use std::fmt;

/// The fields of a task, in the order in which they are written.
pub(crate) const FIELDS: [&str; 10] = [
    "name", "run", "after", "seconds", "inputs", "outputs", "cpus", "retries", "priority", "done",
];

/// Words that other tools use for our fields.
const SYNONYMS: [(&str, &str); 14] = [
    ("id", "name"),
    ("label", "name"),
    ("command", "run"),
    ("cmd", "run"),
    ("script", "run"),
    ("parents", "after"),
    ("needs", "after"),
    ("requires", "after"),
    ("dependencies", "after"),
    ("depends_on", "after"),
    ("duration", "seconds"),
    ("runtime", "seconds"),
    ("cores", "cpus"),
    ("threads", "cpus"),
];

/// Takes tasks, and gives them to the draft a batch at a time: looking many names up at once is several times faster
/// than one by one. The lists are kept from batch to batch, so that a million lines need no million allocations.
pub(super) struct Sink<'s, 'r> {
    draft: Draft<'s, 'r>,
    /// Where the task at hand begins, if known.
    pub(super) here: Mark,
    batch: Vec<Task<'s>>,
    /// The names in the batch: of each task its own, then those of its parents.
    names: Vec<(Text<'s>, Mark)>,
    /// The files in the batch: of each task its inputs, then its outputs.
    files: Vec<FileEntry<'s>>,
    /// What the names mean, while a batch is given to the draft.
    symbols: Vec<Symbol>,
    unknown: Vec<String>,
}

type FileEntry<'s> = (Text<'s>, Option<u64>);

/// Names in a batch.
const BATCH: usize = 128;

/// One task of the batch.
#[derive(Default)]
struct Task<'s> {
    /// How many of the batch's names, inputs and outputs are this task's.
    names: usize,
    inputs: usize,
    outputs: usize,
    run: Option<Text<'s>>,
    seconds: Option<f64>,
    cpus: Option<u32>,
    retries: Option<u32>,
    priority: Option<i64>,
    done: bool,
}

impl<'s, 'r> Sink<'s, 'r> {
    pub(super) fn new(draft: Draft<'s, 'r>) -> Sink<'s, 'r> {
        Sink {
            draft,
            here: NOWHERE,
            batch: Vec::new(),
            names: Vec::new(),
            files: Vec::new(),
            symbols: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// The draft, with all tasks so far in it.
    pub(super) fn draft(&mut self) -> &mut Draft<'s, 'r> {
        self.give();
        &mut self.draft
    }

    /// The draft with all tasks.
    pub(super) fn into_draft(mut self) -> Draft<'s, 'r> {
        self.give();
        self.draft
    }

    #[inline]
    fn mark(&self, text: &str) -> Mark {
        match self.draft.mark(text) {
            NOWHERE => self.here,
            mark => mark,
        }
    }

    /// Warns of a field that is not ours, once for each name.
    fn unknown_field(&mut self, field: &str) {
        const MOST: usize = 20;
        if self.unknown.len() >= MOST || self.unknown.iter().any(|f| f == field) {
            return;
        }
        self.unknown.push(field.to_owned());
        let synonym = SYNONYMS.iter().find(|(word, _)| *word == field);
        let meant = synonym.map(|(_, ours)| *ours);
        let help = match meant.or_else(|| closest(field, FIELDS)) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("the fields of a task are: {}", FIELDS.join(", ")),
        };
        let message = format!("unknown field '{field}' is ignored");
        self.draft.warning(self.mark(field), message, help);
    }

    /// Gives the batch to the draft.
    fn give(&mut self) {
        self.symbols.clear();
        let names = self.names.iter().map(|(name, mark)| (&**name, *mark));
        self.draft.build.mention_all(names, &mut self.symbols);
        let (mut name, mut file) = (0, 0);
        for task in self.batch.drain(..) {
            let (symbol, mark) = (self.symbols[name], self.names[name].1);
            if self.draft.declare_mentioned(symbol, mark) {
                for i in name + 1..name + task.names {
                    self.draft.arc(self.symbols[i], symbol, self.names[i].1);
                }
                let files = &self.files[file..file + task.inputs + task.outputs];
                set_attributes(&mut self.draft, symbol, &task, files, mark);
            }
            name += task.names;
            file += task.inputs + task.outputs;
        }
        self.names.clear();
        self.files.clear();
    }
}

fn set_attributes(
    draft: &mut Draft<'_, '_>,
    symbol: Symbol,
    task: &Task<'_>,
    files: &[FileEntry<'_>],
    mark: Mark,
) {
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
    let (inputs, outputs) = files.split_at(task.inputs);
    for (path, bytes) in inputs {
        build.add_input(symbol, path, *bytes);
    }
    for (path, bytes) in outputs {
        build.add_output(symbol, path, *bytes);
    }
    if let Some(seconds) = task.seconds {
        draft.seconds(symbol, seconds, mark);
    }
}

/// Reads one task object into a sink.
pub(super) struct TaskSeed<'a, 's, 'r>(pub(super) &'a mut Sink<'s, 'r>);

impl<'de> DeserializeSeed<'de> for TaskSeed<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TaskSeed<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task: an object with a field 'name'")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let sink = self.0;
        let (names, files) = (sink.names.len(), sink.files.len());
        let result = read_task(sink, map);
        if result.is_err() {
            sink.names.truncate(names);
            sink.files.truncate(files);
        } else if sink.names.len() >= BATCH {
            sink.give();
        }
        result
    }
}

/// Appends one task to the batch. On failure, names and files of it may be left behind.
fn read_task<'de, A: MapAccess<'de>>(sink: &mut Sink<'de, '_>, mut map: A) -> Result<(), A::Error> {
    let mut task = Task::default();
    let (first_name, first_file) = (sink.names.len(), sink.files.len());
    sink.names.push((Text::default(), sink.here));
    let mut outputs = Vec::new();
    let mut seen = 0u32;
    while let Some(key) = map.next_key::<Text<'de>>()? {
        let Some(field) = FIELDS.iter().position(|f| *f == &*key) else {
            sink.unknown_field(&key);
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        if seen >> field & 1 == 1 {
            let message = format!("field '{}' is given twice", &*key);
            return Err(A::Error::custom(message));
        }
        seen |= 1 << field;
        match FIELDS[field] {
            "name" => {
                let name: Text<'de> = map.next_value()?;
                let mark = sink.mark(&name);
                sink.names[first_name] = (name, mark);
            }
            "run" => task.run = map.next_value()?,
            "after" => map.next_value_seed(ParentsSeed(sink))?,
            "inputs" => map.next_value_seed(FilesSeed(&mut sink.files))?,
            "outputs" => map.next_value_seed(FilesSeed(&mut outputs))?,
            "done" => task.done = map.next_value::<Option<bool>>()?.unwrap_or(false),
            "seconds" => task.seconds = map.next_value_seed(Seconds)?,
            "cpus" => task.cpus = map.next_value_seed(COUNT)?.map(|n| n as u32),
            "retries" => task.retries = map.next_value_seed(COUNT)?.map(|n| n as u32),
            "priority" => task.priority = map.next_value_seed(PRIORITY)?,
            field => unreachable!("{field} is one of FIELDS"),
        }
    }
    if seen & 1 == 0 {
        return Err(A::Error::custom("this task has no name"));
    }
    task.names = sink.names.len() - first_name;
    task.inputs = sink.files.len() - first_file;
    task.outputs = outputs.len();
    sink.files.append(&mut outputs);
    sink.batch.push(task);
    Ok(())
}

/// Reads a list of tasks into a sink.
pub(super) struct TasksSeed<'a, 's, 'r>(pub(super) &'a mut Sink<'s, 'r>);

impl<'de> DeserializeSeed<'de> for TasksSeed<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TasksSeed<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tasks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(TaskSeed(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads the field `after`: names, or one name.
struct ParentsSeed<'a, 's, 'r>(&'a mut Sink<'s, 'r>);

impl<'de> DeserializeSeed<'de> for ParentsSeed<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ParentsSeed<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of task names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(name) = list.next_element::<Text<'de>>()? {
            let mark = self.0.mark(&name);
            self.0.names.push((name, mark));
        }
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<(), E> {
        let mark = self.0.mark(name);
        self.0.names.push((Text(name.into()), mark));
        Ok(())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0
            .names
            .push((Text(name.to_owned().into()), self.0.here));
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads `inputs` or `outputs`: a list of files, or one file.
struct FilesSeed<'a, 's>(&'a mut Vec<FileEntry<'s>>);

impl<'de> DeserializeSeed<'de> for FilesSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FilesSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of files, each a path or an object with 'path' and 'bytes'")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(file) = list.next_element_seed(FileSeed)? {
            self.0.push(file);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.push(FileSeed.visit_map(map)?);
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, path: &'de str) -> Result<(), E> {
        self.0.push(FileSeed.visit_borrowed_str(path)?);
        Ok(())
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<(), E> {
        self.0.push(FileSeed.visit_str(path)?);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads one file: a path, or an object with `path` and perhaps `bytes`.
struct FileSeed;

impl<'de> DeserializeSeed<'de> for FileSeed {
    type Value = FileEntry<'de>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FileSeed {
    type Value = FileEntry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path, or an object with 'path' and 'bytes'")
    }

    fn visit_borrowed_str<E: Error>(self, path: &'de str) -> Result<Self::Value, E> {
        Ok((Text(path.into()), None))
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Self::Value, E> {
        Ok((Text(path.to_owned().into()), None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut path, mut bytes) = (None, None);
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match &*key {
                "path" => path = Some(map.next_value()?),
                "bytes" => bytes = map.next_value_seed(BYTES)?,
                other => {
                    let message = format!("a file has 'path' and 'bytes', not '{other}'");
                    return Err(A::Error::custom(message));
                }
            }
        }
        let path = path.ok_or_else(|| A::Error::custom("this file has no 'path'"))?;
        Ok((path, bytes))
    }
}

const COUNT: Whole<i64> = Whole {
    least: 0,
    most: u32::MAX as i128,
    what: "a whole number, not below zero",
    convert: |n| n as i64,
};

const PRIORITY: Whole<i64> = Whole {
    least: i64::MIN as i128,
    most: i64::MAX as i128,
    what: "a whole number",
    convert: |n| n as i64,
};

const BYTES: Whole<u64> = Whole {
    least: 0,
    most: u64::MAX as i128,
    what: "a whole number of bytes, not below zero",
    convert: |n| n as u64,
};

/// A whole number in a range, or null.
struct Whole<T> {
    least: i128,
    most: i128,
    what: &'static str,
    convert: fn(i128) -> T,
}

impl<'de, T> DeserializeSeed<'de> for Whole<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Option<T>, D::Error> {
        input.deserialize_any(self)
    }
}

impl<T> Visitor<'_> for Whole<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<T>, E> {
        if !(self.least..=self.most).contains(&i128::from(number)) {
            return Err(E::invalid_value(Unexpected::Signed(number), &self));
        }
        Ok(Some((self.convert)(number.into())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<T>, E> {
        if !(self.least..=self.most).contains(&i128::from(number)) {
            return Err(E::invalid_value(Unexpected::Unsigned(number), &self));
        }
        Ok(Some((self.convert)(number.into())))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }
}

/// A duration, or null. Whether it is finite and not negative, the builder checks.
struct Seconds;

impl<'de> DeserializeSeed<'de> for Seconds {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Option<f64>, D::Error> {
        input.deserialize_any(self)
    }
}

impl Visitor<'_> for Seconds {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, such as 41.5")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<f64>, E> {
        Ok(Some(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }
}
