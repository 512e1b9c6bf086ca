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

/// Takes tasks. What one task says is gathered here until its name is known; the lists are kept from task to task
/// so that a million lines need no million allocations.
pub(super) struct Sink<'s, 'r> {
    pub(super) draft: Draft<'s, 'r>,
    /// Where the task at hand begins, if known.
    pub(super) here: Mark,
    /// The names in a list `after`, while it is read.
    names: Vec<Text<'s>>,
    parents: Vec<(Symbol, Mark)>,
    inputs: Vec<FileEntry<'s>>,
    outputs: Vec<FileEntry<'s>>,
    unknown: Vec<String>,
}

type FileEntry<'s> = (Text<'s>, Option<u64>);

impl<'s, 'r> Sink<'s, 'r> {
    pub(super) fn new(draft: Draft<'s, 'r>) -> Sink<'s, 'r> {
        Sink {
            draft,
            here: NOWHERE,
            names: Vec::new(),
            parents: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            unknown: Vec::new(),
        }
    }

    #[inline]
    fn mark(&self, text: &str) -> Mark {
        match self.draft.mark(text) {
            NOWHERE => self.here,
            mark => mark,
        }
    }

    /// Looks all parents up at once, so that the processor can wait for several at a time.
    fn mention_parents(&mut self) {
        for name in &self.names {
            let mark = match self.draft.mark(name) {
                NOWHERE => self.here,
                mark => mark,
            };
            let parent = self.draft.build.mention(name, mark);
            self.parents.push((parent, mark));
        }
        self.names.clear();
    }

    /// Warns of a field that is not ours, once for each name.
    pub(super) fn unknown_field(&mut self, field: &str, mark: Mark) {
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
        self.draft.warning(mark, message, help);
    }

    fn take(&mut self, task: &Fields<'s>, name: &str) {
        let mark = self.mark(name);
        if let Some(symbol) = self.draft.declare(name, mark) {
            for i in 0..self.parents.len() {
                let (parent, mark) = self.parents[i];
                self.draft.arc(parent, symbol, mark);
            }
            self.set_attributes(symbol, task, mark);
        }
    }

    fn set_attributes(&mut self, symbol: Symbol, task: &Fields<'s>, mark: Mark) {
        let build = &mut self.draft.build;
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
        for (path, bytes) in &self.inputs {
            build.add_input(symbol, path, *bytes);
        }
        for (path, bytes) in &self.outputs {
            build.add_output(symbol, path, *bytes);
        }
        if let Some(seconds) = task.seconds {
            self.draft.seconds(symbol, seconds, mark);
        }
    }
}

/// The fields of one task that are no lists.
#[derive(Default)]
struct Fields<'s> {
    name: Option<Text<'s>>,
    run: Option<Text<'s>>,
    seconds: Option<f64>,
    cpus: Option<u32>,
    retries: Option<u32>,
    priority: Option<i64>,
    done: bool,
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

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let sink = self.0;
        sink.parents.clear();
        sink.inputs.clear();
        sink.outputs.clear();
        let mut task = Fields::default();
        let mut seen = 0u32;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let Some(field) = FIELDS.iter().position(|f| *f == &*key) else {
                let mark = sink.mark(&key);
                sink.unknown_field(&key, mark);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen >> field & 1 == 1 {
                return Err(A::Error::custom(format!(
                    "field '{}' is given twice",
                    &*key
                )));
            }
            seen |= 1 << field;
            match FIELDS[field] {
                "name" => task.name = map.next_value()?,
                "run" => task.run = map.next_value()?,
                "after" => map.next_value_seed(ParentsSeed(sink))?,
                "inputs" => map.next_value_seed(FilesSeed(&mut sink.inputs))?,
                "outputs" => map.next_value_seed(FilesSeed(&mut sink.outputs))?,
                "done" => task.done = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "seconds" => task.seconds = map.next_value_seed(Seconds)?,
                "cpus" => task.cpus = map.next_value_seed(COUNT)?.map(|n| n as u32),
                "retries" => task.retries = map.next_value_seed(COUNT)?.map(|n| n as u32),
                "priority" => task.priority = map.next_value_seed(PRIORITY)?,
                field => unreachable!("{field} is one of FIELDS"),
            }
        }
        let Some(name) = task.name.take() else {
            return Err(A::Error::custom("this task has no name"));
        };
        sink.take(&task, &name);
        Ok(())
    }
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
        self.0.names.clear();
        while let Some(name) = list.next_element()? {
            self.0.names.push(name);
        }
        self.0.mention_parents();
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<(), E> {
        self.0.names.push(Text(name.into()));
        self.0.mention_parents();
        Ok(())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0.names.push(Text(name.to_owned().into()));
        self.0.mention_parents();
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
