//! One task of a native flow file, from JSON or TOML alike, into a batch. Knows neither documents nor the draft.

use super::batch::{Batch, FileEntry, Task};
use crate::fields::Held;
use crate::text::Text;
use crate::visit::{expecting, seed};
use crate::{size, span};
use cairn_dag::narrow;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess};
use serde::de::{Unexpected, Visitor};
use std::fmt;

/// The fields of a task, in the order in which they are written.
pub(crate) const FIELDS: [&str; 17] = [
    "name",
    "run",
    "after",
    "seconds",
    "inputs",
    "outputs",
    "cpus",
    "memory",
    "scratch",
    "pools",
    "tags",
    "time_limit",
    "retries",
    "priority",
    "done",
    "kind",
    "label",
];

/// Fields of a task that a flow holds: all that we know.
pub(crate) const HELD_OF_TASK: Held = Held::Of(&FIELDS, &[]);

/// Fields of a document that a flow holds.
pub(crate) const HELD: Held = Held::Of(
    &["pools"],
    &[
        ("task", HELD_OF_TASK),
        ("tasks", HELD_OF_TASK),
        ("sweep", Held::Of(&["over"], &[("task", HELD_OF_TASK)])),
    ],
);

/// Words that other tools use for our fields.
// By their letters they are too far from our words for `suggest`.
pub(super) const SYNONYMS: [(&str, &str); 23] = [
    ("id", "name"),
    ("rule", "kind"),
    ("category", "kind"),
    ("title", "label"),
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
    ("mem", "memory"),
    ("disk", "scratch"),
    ("timeout", "time_limit"),
    ("walltime", "time_limit"),
    ("resources", "pools"),
    ("labels", "tags"),
    ("constraints", "tags"),
];

/// Reads one task object into a batch.
pub(super) struct TaskSeed<'a, 's>(pub(super) &'a mut Batch<'s>);

seed!(TaskSeed<'_, 'de> => (), deserialize_map);

impl<'de> Visitor<'de> for TaskSeed<'_, 'de> {
    type Value = ();

    expecting!("a task: an object with a field 'name'");

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let batch = self.0;
        let (parents, files) = (batch.parents.len(), batch.files.len());
        let (pools, tags) = (batch.pools.len(), batch.tags.len());
        let result = read_task(batch, map);
        // Readers of lines go on with the next one: parents left behind would be looked up, and told as unknown.
        if result.is_err() {
            batch.parents.truncate(parents);
            batch.files.truncate(files);
            batch.pools.truncate(pools);
            batch.tags.truncate(tags);
        }
        result
    }
}

/// Appends one task to the batch, or the limits of pools where an object has `pools` and nothing else. On failure,
/// parents, files, pools and tags of it may be left behind.
fn read_task<'de, A: MapAccess<'de>>(batch: &mut Batch<'de>, mut map: A) -> Result<(), A::Error> {
    let mut task = Task::default();
    let mut name = None;
    let (parents, inputs) = (batch.parents.len(), batch.files.len());
    let (pools, tags) = (batch.pools.len(), batch.tags.len());
    // Fields come in any order, but a task's inputs and outputs are a range each: outputs wait until all inputs are in.
    let mut outputs = Vec::new();
    // A bit for each of the fields, of which there are fewer than 32.
    let (mut seen, mut foreign) = (0u32, 0);
    while let Some(key) = map.next_key::<Text<'de>>()? {
        let Some(field) = FIELDS.iter().position(|f| *f == &*key) else {
            foreign += 1;
            // Warned of, not refused: files of later versions and of other tools can still be read.
            batch.unknown_field(&key);
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        // Refused: of two values the reader would take one, and the user mean the other.
        if seen >> field & 1 == 1 {
            let message = format!("field '{}' is given twice", &*key);
            return Err(A::Error::custom(message));
        }
        seen |= 1 << field;
        match FIELDS[field] {
            "name" => name = Some(map.next_value::<Text<'de>>()?),
            "run" => task.run = map.next_value()?,
            "after" => {
                let push = |name: Text<'de>| {
                    let mark = batch.mark(&name);
                    batch.parents.push((name, mark));
                    Ok(())
                };
                map.next_value_seed(Texts("a list of task names", push))?;
            }
            "inputs" => {
                map.next_value_seed(FilesSeed(&mut batch.files))?;
                if let Some(file) = batch.files[inputs..].iter().find(|f| f.temp) {
                    let message = format!(
                        "'temp' belongs to the task that writes '{}', among its outputs",
                        &*file.path
                    );
                    return Err(A::Error::custom(message));
                }
            }
            "outputs" => map.next_value_seed(FilesSeed(&mut outputs))?,
            "pools" => map.next_value_seed(PoolsSeed(&mut batch.pools))?,
            "tags" => {
                map.next_value_seed(Texts(TAGS, |tag| push_tag(&mut batch.tags, tags, tag)))?
            }
            "memory" => task.memory = map.next_value_seed(Size)?,
            "scratch" => task.scratch = map.next_value_seed(Size)?,
            "time_limit" => task.time_limit = map.next_value_seed(Seconds { texts: true })?,
            "done" => task.done = map.next_value::<Option<bool>>()?.unwrap_or(false),
            "seconds" => task.seconds = map.next_value_seed(Seconds { texts: false })?,
            // `COUNT` takes no more than 32 bits hold.
            "cpus" => task.cpus = map.next_value_seed(COUNT)?.map(|n| n as u32),
            "retries" => task.retries = map.next_value_seed(COUNT)?.map(|n| n as u32),
            "kind" => task.kind = map.next_value()?,
            "label" => task.label = map.next_value()?,
            "priority" => task.priority = map.next_value_seed(PRIORITY)?,
            field => unreachable!("{field} is one of FIELDS"),
        }
    }
    // The same line format holds both: tasks, and what is said of pools.
    let is_of_pools = seen == 1 << FIELDS.iter().position(|f| *f == "pools").unwrap_or(0);
    if is_of_pools && foreign == 0 {
        batch.limits(pools);
        return Ok(());
    }
    // At the end, since fields come in any order.
    let name = name.ok_or_else(|| A::Error::custom("this task has no name"))?;
    task.parents = parents..batch.parents.len();
    task.inputs = inputs..batch.files.len();
    batch.files.append(&mut outputs);
    task.outputs = task.inputs.end..batch.files.len();
    task.pools = narrow(pools)..narrow(batch.pools.len());
    task.tags = narrow(tags)..narrow(batch.tags.len());
    let mark = batch.mark(&name);
    batch.task((name, mark), task);
    Ok(())
}

/// Notes a word, which `cairn work --label` must be able to say, among those of a task, which begin at `first`. One that
/// comes twice counts once.
fn push_tag<'s>(tags: &mut Vec<Text<'s>>, first: usize, tag: Text<'s>) -> Result<(), &'static str> {
    if tag.is_empty() || tag.contains(char::is_control) {
        return Err("a tag is empty or has control characters");
    }
    if !tags[first..].contains(&tag) {
        tags.push(tag);
    }
    Ok(())
}

const TAGS: &str = "a list of words that a worker's labels must contain, such as [\"gpu\"]";

/// Reads a list of texts, or one text, and hands on each. First what is wanted, for errors.
struct Texts<F>(&'static str, F);

impl<'de, F: FnMut(Text<'de>) -> Result<(), &'static str>> DeserializeSeed<'de> for Texts<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Text<'de>) -> Result<(), &'static str>> Visitor<'de> for Texts<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(text) = list.next_element()? {
            self.1(text).map_err(A::Error::custom)?;
        }
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(mut self, text: &'de str) -> Result<(), E> {
        self.1(Text(text.into())).map_err(E::custom)
    }

    // Text that was unescaped is no part of the file, so that it has no place there.
    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.1(Text(text.to_owned().into())).map_err(E::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads `inputs` or `outputs`: a list of files, or one file.
struct FilesSeed<'a, 's>(&'a mut Vec<FileEntry<'s>>);

seed!(FilesSeed<'_, 'de> => (), deserialize_any);

impl<'de> Visitor<'de> for FilesSeed<'_, 'de> {
    type Value = ();

    expecting!("a list of files, each a path or an object with 'path', 'bytes' and 'temp'");

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

/// Reads one file: a path, or an object with `path` and perhaps `bytes` and `temp`.
struct FileSeed;

seed!(FileSeed => FileEntry<'de>, deserialize_any);

impl<'de> Visitor<'de> for FileSeed {
    type Value = FileEntry<'de>;

    expecting!("a path, or an object with 'path', 'bytes' and 'temp'");

    fn visit_borrowed_str<E: Error>(self, path: &'de str) -> Result<Self::Value, E> {
        Ok(FileEntry::plain(path.into()))
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Self::Value, E> {
        Ok(FileEntry::plain(path.to_owned().into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut path, mut bytes, mut temp) = (None, None, None);
        let mut given = [false; 3];
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let fields = ["path", "bytes", "temp"];
            if let Some(at) = fields.iter().position(|field| *field == &*key)
                && std::mem::replace(&mut given[at], true)
            {
                let message = format!("'{}' of a file is given twice", &*key);
                return Err(A::Error::custom(message));
            }
            match &*key {
                "path" => path = Some(map.next_value()?),
                "bytes" => bytes = map.next_value_seed(Size)?,
                "temp" => temp = map.next_value::<Option<bool>>()?,
                other => {
                    let message = format!("a file has 'path', 'bytes' and 'temp', not '{other}'");
                    return Err(A::Error::custom(message));
                }
            }
        }
        let path = path.ok_or_else(|| A::Error::custom("this file has no 'path'"))?;
        Ok(FileEntry {
            path,
            bytes,
            temp: temp.unwrap_or(false),
        })
    }
}

/// Reads names of pools with a number each.
pub(super) struct PoolsSeed<'a, 's>(pub(super) &'a mut Vec<(Text<'s>, u32)>);

seed!(PoolsSeed<'_, 'de> => (), deserialize_any);

impl<'de> Visitor<'de> for PoolsSeed<'_, 'de> {
    type Value = ();

    expecting!("names of pools with a number each, such as licence = 1");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let first = self.0.len();
        while let Some(pool) = map.next_key::<Text<'de>>()? {
            let count = map.next_value_seed(COUNT)?;
            if pool.is_empty() {
                return Err(A::Error::custom("a pool has an empty name"));
            }
            // A list, not a set: a task has one or two pools.
            if self.0[first..].iter().any(|(known, _)| *known == pool) {
                let message = format!("pool '{}' is given twice", &*pool);
                return Err(A::Error::custom(message));
            }
            self.0.extend(count.map(|count| (pool, count as u32)));
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

const COUNT: Whole = Whole {
    least: 0,
    most: u32::MAX as i64,
    what: "a whole number, not below zero",
};
const PRIORITY: Whole = Whole {
    least: i64::MIN,
    most: i64::MAX,
    what: "a whole number",
};

/// A whole number in a range, or null.
struct Whole {
    least: i64,
    most: i64,
    what: &'static str,
}

seed!(Whole => Option<i64>, deserialize_any);

impl Visitor<'_> for Whole {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<i64>, E> {
        match (self.least..=self.most).contains(&number) {
            true => Ok(Some(number)),
            false => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<i64>, E> {
        let fitting = i64::try_from(number).ok().filter(|n| *n <= self.most);
        let found = fitting.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self));
        found.map(Some)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
        Ok(None)
    }
}

/// A number of bytes, or a text such as `4GB`, or null.
struct Size;

seed!(Size => Option<u64>, deserialize_any);

impl Visitor<'_> for Size {
    type Value = Option<u64>;

    expecting!("a whole number of bytes, not below zero, or a size such as \"4GB\" or \"512MiB\"");

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<u64>, E> {
        let bytes = u64::try_from(number);
        bytes
            .map(Some)
            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
        Ok(Some(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
        let bytes = size::parse(text.trim());
        bytes
            .map(Some)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }
}

/// A number of seconds, or null; where `texts` are taken also a text such as `5m`. Whether it is in its range, the
/// builder checks.
struct Seconds {
    texts: bool,
}

seed!(Seconds => Option<f64>, deserialize_any);

impl Visitor<'_> for Seconds {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.texts {
            true => span::FORMS,
            false => "a number of seconds, such as 41.5",
        })
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

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<f64>, E> {
        // Durations are measured and written as numbers; limits are typed by people.
        match span::parse(text).filter(|_| self.texts) {
            Some(seconds) => Ok(Some(seconds)),
            None => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }
}
