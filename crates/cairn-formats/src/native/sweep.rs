//! Sweeps of a native flow file: one task for each combination of values. Knows neither JSON nor TOML, nor a task's fields
//! but which of them are numbers.
//!
//! ```toml
//! [[sweep]]
//! over = { seed = [1, 2, 3], sample = "samples.txt" }
//! task = { name = "sim-{sample}-{seed}", run = "sim --seed {seed} {sample}" }
//! ```
//!
//! A list gives its values; a text names a file that has one in each line. `{key}` stands for the value in every text of
//! the task, `{{` and `}}` for a brace. Tasks come in the order of the values, the alphabetically last key changing fastest.

use super::batch::{Batch, Sink};
use super::task::TaskSeed;
use crate::draft::Draft;
use crate::text::{Loose, Text};
use crate::visit::{expecting, seed};
use crate::{Format, ReadLimits, Report, Source, suggest};
use cairn_dag::{Mark, NOWHERE};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess};
use serde::de::{SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most tasks that the sweeps of one file may make.
// A few lists of a hundred values multiply to more than any memory holds: refused before the first is made.
const MOST_TASKS: u64 = 20_000_000;

/// Fields whose texts may become numbers once their keys are replaced.
// Where a key stands for a number, TOML and JSON still want quotes around it.
const NUMBERS: [&str; 11] = [
    "seconds",
    "cpus",
    "memory",
    "scratch",
    "time_limit",
    "retries",
    "priority",
    "bytes",
    "done",
    "temp",
    "pools",
];

/// A sweep as it stands in the file.
pub(super) struct Sweep {
    /// Where it begins, as far as that is known.
    mark: Mark,
    /// By key, with its place.
    over: BTreeMap<String, (Values, Mark)>,
    task: Option<Map<String, Value>>,
}

/// The values of a key.
enum Values {
    List(Vec<String>),
    /// A file of lines.
    File(String),
}

/// Reads one sweep. Fields that are not ours are put aside for a warning.
pub(super) struct SweepSeed<'a, 's>(
    pub(super) &'a Batch<'s>,
    pub(super) &'a mut Vec<(String, Mark)>,
);

seed!(SweepSeed<'_, 'de> => Sweep, deserialize_map);

impl<'de> Visitor<'de> for SweepSeed<'_, 'de> {
    type Value = Sweep;

    expecting!("a sweep: an object with the fields 'over' and 'task'");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sweep, A::Error> {
        let mut sweep = Sweep {
            mark: NOWHERE,
            over: BTreeMap::new(),
            task: None,
        };
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let mark = self.0.mark(&key);
            match &*key {
                "over" => {
                    // The first of both fields; `NOWHERE` is larger than every place.
                    sweep.mark = sweep.mark.min(mark);
                    sweep.over = map.next_value_seed(OverSeed(self.0))?;
                }
                "task" => {
                    sweep.mark = sweep.mark.min(mark);
                    sweep.task = Some(map.next_value()?);
                }
                other => {
                    self.1.push((other.to_owned(), mark));
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if sweep.task.is_none() {
            return Err(A::Error::custom("this sweep has no 'task'"));
        }
        if sweep.over.is_empty() {
            return Err(A::Error::custom("this sweep has nothing to go 'over'"));
        }
        Ok(sweep)
    }
}

/// Reads the field `over`.
struct OverSeed<'a, 's>(&'a Batch<'s>);

seed!(OverSeed<'_, 'de> => BTreeMap<String, (Values, Mark)>, deserialize_map);

impl<'de> Visitor<'de> for OverSeed<'_, 'de> {
    type Value = BTreeMap<String, (Values, Mark)>;

    expecting!("keys with their values, such as seed = [1, 2, 3]");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut over = BTreeMap::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let values = map.next_value()?;
            let mark = self.0.mark(&key);
            if !is_key(&key) {
                let message = format!("'{}' is no key: use letters, digits, '_' and '-'", &*key);
                return Err(A::Error::custom(message));
            }
            // Refused: JSON readers take the last of equal keys, and half of what the user lists would be left out in
            // silence.
            if over.insert(key.to_string(), (values, mark)).is_some() {
                return Err(A::Error::custom(format!("'{}' is given twice", &*key)));
            }
        }
        Ok(over)
    }
}

fn is_key(key: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !key.is_empty() && key.chars().all(part)
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Values, D::Error> {
        struct OfValues;
        impl<'de> Visitor<'de> for OfValues {
            type Value = Values;

            expecting!("a list of texts and numbers, or the name of a file of lines");

            fn visit_str<E: Error>(self, file: &str) -> Result<Values, E> {
                Ok(Values::File(file.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element::<Loose<'de>>()? {
                    values.push(value.0.into_owned());
                }
                Ok(Values::List(values))
            }
        }
        input.deserialize_any(OfValues)
    }
}

/// The files of lines that the sweeps of a flow file name; `None` where there is no sweep.
pub(crate) fn files_of_sweeps(source: &Source, format: Format) -> Option<Vec<PathBuf>> {
    #[derive(serde::Deserialize)]
    struct Document {
        sweep: Vec<Over>,
    }
    #[derive(serde::Deserialize)]
    struct Over {
        over: BTreeMap<String, Values>,
    }
    let text = source.text();
    // Most files have none, and some are large.
    let document: Option<Document> = match format {
        _ if !text.contains("sweep") => None,
        Format::FlowToml => toml::from_str(text).ok(),
        Format::FlowJson => serde_json::from_str(text).ok(),
        _ => None,
    };
    let sweeps = document?.sweep.into_iter();
    let values = sweeps.flat_map(|sweep| sweep.over.into_values());
    let files = values.filter_map(|values| match values {
        Values::File(name) => Some(path_of(source, &name)),
        Values::List(_) => None,
    });
    Some(files.collect())
}

/// Where the file that a flow file names is: from the flow file on, or from here if that is no file.
fn path_of(source: &Source, name: &str) -> PathBuf {
    let folder = source.path().and_then(Path::parent);
    folder.unwrap_or(Path::new("")).join(name)
}

impl Sweep {
    /// Gives one task for each combination to the sink. What is wrong is reported.
    pub(super) fn expand<'s>(self, sink: &mut Sink<'s, '_>, batch: &mut [Batch<'s>; 1]) {
        let draft = &mut sink.draft;
        let Some((keys, values)) = self.values(draft) else {
            return;
        };
        let Some(template) = self.template(&keys, draft) else {
            return;
        };
        // Two combinations would have one name, and the second be called a duplicate: that would name the wrong cure.
        if let Some(key) = self.untold(&keys, &values) {
            let message = format!(
                "the name of this sweep's task leaves {{{key}}} out, so that several have one name"
            );
            let help = format!("put {{{key}}} into 'name', such as name = \"x-{{{key}}}\"");
            return draft.error(self.mark, message, help);
        }
        let count = (values.iter()).try_fold(1u64, |n, v| n.checked_mul(v.len() as u64));
        let made = draft.build.declared() as u64;
        if count.is_none_or(|n| n.saturating_add(made) > MOST_TASKS) {
            let count = count.map_or("more than 10^19".to_owned(), |n| n.to_string());
            let message = format!("this sweep has {count} combinations; the most is {MOST_TASKS}");
            return draft.error(
                self.mark,
                message,
                "go over fewer values, or split the workflow",
            );
        }
        let mut at = vec![0; values.len()];
        loop {
            let value = |key: usize| &values[key][at[key]][..];
            // What is made has no text of its own: problems are told at the sweep.
            batch[0].here = self.mark;
            let task = template.filled(&value);
            if let Err(error) = TaskSeed(&mut batch[0]).deserialize(task) {
                let named: Vec<String> = (keys.iter().enumerate())
                    .map(|(i, key)| format!("{key} = {}", value(i)))
                    .collect();
                let message = format!("{error} (for {})", named.join(", "));
                return sink.draft.unreadable(
                    |source| match self.mark {
                        NOWHERE => source.place(),
                        mark => source.place_at(mark as usize),
                    },
                    message,
                    "correct the 'task' of the sweep; after replacing its keys it must be a task",
                );
            }
            if batch[0].is_full() {
                sink.take(batch);
            }
            // The last key changes fastest.
            let Some(next) = (0..at.len()).rfind(|&i| at[i] + 1 < values[i].len()) else {
                return;
            };
            at[next] += 1;
            // As an odometer turns: behind the one that moves all begin anew.
            at[next + 1..].fill(0);
        }
    }

    /// Keys and their values, all there; or an error was reported.
    fn values(&self, draft: &mut Draft<'_, '_>) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        let (mut keys, mut all) = (Vec::new(), Vec::new());
        let mut sound = true;
        for (key, (values, mark)) in &self.over {
            let (values, none) = match values {
                Values::List(values) => (values.clone(), "the list is empty".to_owned()),
                Values::File(name) => {
                    let path = path_of(draft.source(), name);
                    let mut trial = Report::default();
                    let Some(file) =
                        Source::load_named_by_file(&path, &ReadLimits::default(), &mut trial)
                    else {
                        let why = trial.first_message();
                        let message =
                            format!("cannot use '{}' for {{{key}}}: {why}", path.display());
                        let help = "a text names a file with one value a line, relative to the flow file; \
                                    write a list of one for the text itself";
                        draft.error(*mark, message, help);
                        sound = false;
                        continue;
                    };
                    let lines = file.text().lines().map(str::trim);
                    let lines = lines.filter(|line| !line.is_empty());
                    let none = format!("the file '{}' is blank", path.display());
                    (lines.map(str::to_owned).collect(), none)
                }
            };
            if values.is_empty() {
                let message = format!("there is no value for {{{key}}}: {none}");
                draft.error(*mark, message, "give it at least one, or remove the sweep");
                sound = false;
            }
            keys.push(key.clone());
            all.push(values);
        }
        sound.then_some((keys, all))
    }

    /// The task with its keys found; or an error was reported.
    fn template(&self, keys: &[String], draft: &mut Draft<'_, '_>) -> Option<Template> {
        let task = Value::Object(self.task.clone()?);
        match Template::new(task, keys, false) {
            Ok(template) => Some(template),
            Err(wrong) => {
                let names = keys.iter().map(String::as_str);
                let near = suggest::closest(&wrong, names.clone());
                let known: Vec<String> = names.map(|key| format!("{{{key}}}")).collect();
                let help = match near {
                    Some(near) => {
                        format!("did you mean {{{near}}}? for a brace write {{{{ or }}}}")
                    }
                    None => format!(
                        "the sweep goes over {}; for a brace write {{{{ or }}}}",
                        known.join(", ")
                    ),
                };
                let message = match wrong.is_empty() {
                    true => "a brace in the sweep's task stands alone".to_owned(),
                    false => format!("the sweep does not go over {{{wrong}}}"),
                };
                draft.error(self.mark, message, help);
                None
            }
        }
    }

    /// A key of several values that is not in the name.
    fn untold<'k>(&self, keys: &'k [String], values: &[Vec<String>]) -> Option<&'k str> {
        let name = self.task.as_ref()?.get("name")?.as_str()?;
        let pieces = pieces(name, keys).ok()?;
        let told = |key: usize| (pieces.iter()).any(|p| matches!(p, Piece::Key(k) if *k == key));
        let untold = (0..keys.len()).find(|&key| values[key].len() > 1 && !told(key));
        untold.map(|key| &keys[key][..])
    }
}

/// A value whose texts have keys in them.
enum Template {
    Plain(Value),
    Text {
        pieces: Vec<Piece>,
        /// Whether the text may be a number.
        is_number: bool,
    },
    List(Vec<Template>),
    Object(Vec<(Vec<Piece>, Template)>),
}

enum Piece {
    Text(String),
    /// By number.
    Key(usize),
}

/// The pieces of a text. An error is the key that is none; nothing for a brace that stands alone.
fn pieces(text: &str, keys: &[String]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = behind;
            continue;
        }
        // A closing brace alone opens nothing.
        let inside = rest.split_once('}').filter(|_| brace == "{");
        let (key, behind) = inside.ok_or(String::new())?;
        let number = keys.iter().position(|k| k == key);
        pieces.push(Piece::Text(std::mem::take(&mut plain)));
        pieces.push(Piece::Key(number.ok_or_else(|| key.to_owned())?));
        rest = behind;
    }
    plain.push_str(rest);
    pieces.push(Piece::Text(plain));
    Ok(pieces)
}

impl Template {
    fn new(value: Value, keys: &[String], is_number: bool) -> Result<Template, String> {
        Ok(match value {
            Value::String(text) => {
                let pieces = pieces(&text, keys)?;
                match &pieces[..] {
                    // Without keys it stays a text: only what a key stands in may become a number.
                    [Piece::Text(text)] => Template::Plain(Value::String(text.clone())),
                    _ => Template::Text { pieces, is_number },
                }
            }
            Value::Array(list) => {
                let items = list.into_iter().map(|v| Template::new(v, keys, is_number));
                Template::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| {
                    let is_number = is_number || NUMBERS.contains(&&name[..]);
                    let value = Template::new(value, keys, is_number)?;
                    Ok((pieces(&name, keys)?, value))
                };
                let fields = fields.into_iter().map(field);
                Template::Object(fields.collect::<Result<_, String>>()?)
            }
            plain => Template::Plain(plain),
        })
    }

    fn filled<'v>(&self, value: &impl Fn(usize) -> &'v str) -> Value {
        match self {
            Template::Plain(plain) => plain.clone(),
            Template::Text { pieces, is_number } => {
                let text = joined(pieces, value);
                let number = is_number.then(|| scalar(&text)).flatten();
                number.unwrap_or(Value::String(text))
            }
            Template::List(list) => list.iter().map(|t| t.filled(value)).collect(),
            Template::Object(fields) => {
                let field =
                    |(name, t): &(Vec<Piece>, Template)| (joined(name, value), t.filled(value));
                Value::Object(fields.iter().map(field).collect())
            }
        }
    }
}

fn joined<'v>(pieces: &[Piece], value: &impl Fn(usize) -> &'v str) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Key(key) => value(*key).to_owned(),
    };
    pieces.iter().map(piece).collect()
}

/// The number or truth value that a text is.
fn scalar(text: &str) -> Option<Value> {
    let number = |n: f64| Number::from_f64(n).map(Value::Number);
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        // Whole numbers first: a float would round sizes beyond 2⁵³ bytes.
        _ => (text.parse::<u64>().map(Value::from).ok())
            .or_else(|| text.parse::<i64>().map(Value::from).ok())
            .or_else(|| text.parse::<f64>().ok().and_then(number)),
    }
}
