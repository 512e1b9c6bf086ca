//! Between a command line and the lines of an HTCondor submit description. Knows nothing of dags.
//!
//! A command is a line for the shell, so it is written as `/bin/sh -c …`; what is read is undone where it has that
//! form, and otherwise becomes the executable and its arguments, quoted for the shell.

use crate::draft::{KIBIBYTE, MEBIBYTE};
use crate::shell::push_word;
use crate::size;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Write;

/// What a submit description says: its `key = value` lines, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Submit {
    /// By key in lower case, with the number of the line, from 1; the last of equal keys counts.
    lines: HashMap<String, (u32, String)>,
    /// What stands behind each `queue`.
    pub(crate) queues: Vec<(u32, String)>,
    /// Lines that are neither: `if`, `include`, `use` and the like.
    pub(crate) foreign: Vec<(u32, String)>,
}

/// The value of a variable of the node, by its name in lower case; of those that go behind the description, or of those
/// that go before it.
pub(crate) type Variables<'a> = dyn Fn(&str, bool) -> Option<&'a str> + 'a;

/// A macro may expand into others, but not without end: this deep, and this many in one value.
// Twelve lines of `a = $(b)$(b)` would make thousands of copies: both limits are needed. Judgements: what people write is a
// few deep, and has a macro a word at the most.
const MOST_DEPTH: usize = 16;
const MOST_MACROS: usize = 100;
/// The longest value that expanding macros may make.
// What Linux takes for one argument of a program.
const LONGEST: usize = 1 << 17;

impl Submit {
    /// Reads a submit description, or the lines between the braces of one.
    pub(crate) fn parse(body: &str) -> Submit {
        let mut submit = Submit::default();
        let mut lines = (1..).zip(body.lines());
        while let Some((number, line)) = lines.next() {
            let mut line = Cow::Borrowed(line.trim());
            if line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            while let Some(begun) = line.strip_suffix('\\') {
                let next = lines.next().map_or("", |(_, next)| next.trim());
                line = Cow::Owned(format!("{begun}{next}"));
            }
            submit.take(number, &line);
        }
        submit
    }

    fn take(&mut self, number: u32, line: &str) {
        // `queue=5` and `queue 5` both begin with the word.
        let word = line.split([' ', '\t', '=']).next().unwrap_or("");
        let behind = line[word.len()..].trim();
        // A key may be called so; a statement has no equals sign.
        if word.eq_ignore_ascii_case("queue") && !behind.starts_with('=') {
            self.queues.push((number, behind.to_owned()));
            return;
        }
        match line.split_once('=') {
            Some((key, value)) if !key.trim().contains([' ', '\t', ':']) => {
                let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
                // A value may be made of the one before.
                // The one macro that stands for what came before and not for what comes last, so that it is replaced at once.
                let own = format!("$({key})");
                // Lower case in ASCII alone keeps every byte where it was, so that the place fits the value as
                // written.
                let at = value.to_ascii_lowercase().find(&own);
                let value = match (at, self.get(&key)) {
                    (Some(at), Some(before)) => {
                        format!("{}{before}{}", &value[..at], &value[at + own.len()..])
                    }
                    _ => value.to_owned(),
                };
                self.lines.insert(key, (number, value));
            }
            _ if line.is_empty() => {}
            _ => self.foreign.push((number, line.to_owned())),
        }
    }

    /// The keys it sets, in lower case.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.lines.keys().map(String::as_str)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.lines.get(key).map(|(_, value)| value.as_str())
    }

    /// The line that sets a key.
    pub(crate) fn line_of(&self, key: &str) -> Option<u32> {
        self.lines.get(key).map(|(number, _)| *number)
    }

    /// The command line that `node` runs, where it can be known: `None` when there is no executable, or when a macro
    /// stands for something that only HTCondor knows.
    pub(crate) fn command(&self, node: &str, variables: &Variables<'_>) -> Option<String> {
        let known = |key: &str| (key == "job").then(|| node.to_owned());
        // Undefined macros are trouble here: a command with a hole in it must not pass for the whole.
        let macros = Macros::new(self, variables, &known, None);
        let executable = macros.value_of(&["executable"]).ok()??;
        if executable.is_empty() {
            return None;
        }
        let arguments = match macros.value_of(&["arguments", "args"]).ok()? {
            Some(text) => split_arguments(&text)?,
            None => Vec::new(),
        };
        // What `description` wrote, undone: so a command survives being written and read any number of times.
        if executable == SHELL {
            if let [dash_c, command] = &arguments[..]
                && dash_c == "-c"
            {
                return Some(command.clone());
            }
            if let [dash_c, unescape, _, escaped] = &arguments[..]
                && dash_c == "-c"
                && unescape == UNESCAPE
            {
                return Some(unescaped(escaped));
            }
        }
        let mut command = String::new();
        push_word(&mut command, &executable);
        for argument in &arguments {
            push_word(&mut command, argument);
        }
        Some(command)
    }

    /// `request_cpus`, where it is a number.
    pub(crate) fn cpus(&self) -> Option<u32> {
        self.get("request_cpus")?.parse().ok()
    }
}

/// What a description runs, with all macros replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) executable: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) inherits_environment: bool,
    pub(crate) directory: Option<String>,
    pub(crate) input: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
}

/// Why a value cannot be known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// A macro that nothing defines. Only where that is an error.
    #[error("nothing defines the macro $({0})")]
    Undefined(String),
    /// A macro of HTCondor's own.
    #[error("the macro {0} is not replaced here")]
    Foreign(String),
    /// Macros that contain each other, or too much.
    #[error("its macros contain each other, or come to too much")]
    Endless,
    /// A macro without an end.
    #[error("a macro is never closed")]
    Open,
    /// Quotes that do not match.
    #[error("the quotes in '{0}' do not match")]
    Quotes(&'static str),
    /// An environment that is no list of names and values.
    #[error("'{0}' in 'environment' is no NAME=value")]
    Environment(String),
    /// Nothing to run.
    #[error("there is no 'executable'")]
    Nothing,
}

impl Submit {
    /// What the description runs. `known` are the macros that DAGMan sets, in lower case; macros that nothing defines
    /// are empty, as HTCondor has it, and go to `undefined`.
    pub(crate) fn program(
        &self,
        variables: &Variables<'_>,
        known: &dyn Fn(&str) -> Option<String>,
        undefined: &RefCell<Vec<String>>,
    ) -> Result<Program, Trouble> {
        let macros = Macros::new(self, variables, known, Some(undefined));
        let value = |keys: &[&str]| -> Result<Option<String>, Trouble> {
            Ok(macros.value_of(keys)?.filter(|value| !value.is_empty()))
        };
        let arguments = match value(&["arguments", "args"])? {
            Some(text) => split_arguments(&text).ok_or(Trouble::Quotes("arguments"))?,
            None => Vec::new(),
        };
        let environment = match value(&["environment", "env"])? {
            Some(text) => split_environment(&text)?,
            None => Vec::new(),
        };
        let inherits = value(&["getenv"])?;
        Ok(Program {
            executable: value(&["executable"])?.ok_or(Trouble::Nothing)?,
            arguments,
            environment,
            // A list of names takes some of them, which is said aloud by whoever runs it.
            inherits_environment: inherits.is_some_and(|text| {
                !matches!(&*text.to_ascii_lowercase(), "false" | "f" | "no" | "0")
            }),
            directory: value(&["initialdir", "initial_dir", "iwd", "job_iwd"])?,
            input: value(&["input", "stdin"])?,
            output: value(&["output", "stdout"])?,
            error: value(&["error", "stderr"])?,
        })
    }

    /// The value of a key with its macros replaced, as far as they are known.
    pub(crate) fn value(&self, key: &str, variables: &Variables<'_>) -> Option<String> {
        let macros = Macros::new(self, variables, &|_| None, None);
        macros.value_of(&[key]).ok()?
    }
}

/// What `$(NAME)` may stand for.
struct Macros<'a, 'v> {
    submit: &'a Submit,
    variables: &'a Variables<'v>,
    known: &'a dyn Fn(&str) -> Option<String>,
    /// Where undefined macros, which are empty then, are noted; else they are trouble.
    undefined: Option<&'a RefCell<Vec<String>>>,
    /// How many more macros a value may have.
    left: Cell<usize>,
}

impl<'a, 'v> Macros<'a, 'v> {
    fn new(
        submit: &'a Submit,
        variables: &'a Variables<'v>,
        known: &'a dyn Fn(&str) -> Option<String>,
        undefined: Option<&'a RefCell<Vec<String>>>,
    ) -> Macros<'a, 'v> {
        let left = Cell::new(MOST_MACROS);
        Macros {
            submit,
            variables,
            known,
            undefined,
            left,
        }
    }

    /// What stands behind a key: variables of the node that are appended outweigh the description's own lines, and those
    /// outweigh the other variables.
    fn raw(&self, key: &str) -> Option<&'a str>
    where
        'v: 'a,
    {
        (self.variables)(key, true)
            .or_else(|| self.submit.get(key))
            .or_else(|| (self.variables)(key, false))
    }

    /// The value of the first of some keys that is set.
    fn value_of(&self, keys: &[&str]) -> Result<Option<String>, Trouble> {
        // Each value has its own: a long description is no endless one.
        self.left.set(MOST_MACROS);
        // HTCondor has several names for some keys; the first of the list that is set counts.
        match keys.iter().find_map(|key| self.raw(key)) {
            Some(text) => self.expand(text, 0).map(Some),
            None => Ok(None),
        }
    }

    /// The text with every `$(NAME)` and `$(NAME:default)` replaced. Not with macros of another kind (`$$(…)`,
    /// `$ENV(…)`, …).
    fn expand(&self, text: &str, depth: usize) -> Result<String, Trouble> {
        if depth > MOST_DEPTH || text.len() > LONGEST {
            return Err(Trouble::Endless);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            let here = &rest[dollar..];
            rest = &rest[dollar + 1..];
            // A dollar that opens no macro stands for itself, unless it begins one of HTCondor's other kinds.
            let Some(inner) = rest.strip_prefix('(') else {
                let word = rest.trim_start_matches(|c: char| {
                    c == '$' || c == '_' || c.is_ascii_alphanumeric()
                });
                if word.starts_with(['(', '[']) {
                    let end = here.find([')', ']']).map_or(here.len(), |end| end + 1);
                    return Err(Trouble::Foreign(here[..end].to_owned()));
                }
                out.push('$');
                continue;
            };
            // The first bracket closes: macros are not nested inside names.
            let (name, after) = inner.split_once(')').ok_or(Trouble::Open)?;
            let (name, default) = match name.split_once(':') {
                Some((name, default)) => (name, Some(default)),
                None => (name, None),
            };
            out.push_str(&self.replaced(name.trim(), default, depth)?);
            if out.len() > LONGEST {
                return Err(Trouble::Endless);
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn replaced(&self, name: &str, default: Option<&str>, depth: usize) -> Result<String, Trouble> {
        // Of all depths together: depth alone would let through what doubles at each level.
        let left = self.left.get().checked_sub(1).ok_or(Trouble::Endless)?;
        self.left.set(left);
        let key = name.to_ascii_lowercase();
        if key == "dollar" {
            return Ok("$".to_owned());
        }
        // What DAGMan sets goes before what the description says, and is no text to expand further.
        if let Some(value) = (self.known)(&key) {
            return Ok(value);
        }
        match (self.raw(&key).or(default), self.undefined) {
            (Some(text), _) => self.expand(text, depth + 1),
            (None, None) => Err(Trouble::Undefined(name.to_owned())),
            (None, Some(undefined)) => {
                undefined.borrow_mut().push(name.to_owned());
                Ok(String::new())
            }
        }
    }
}

/// Splits HTCondor's `environment`: in double quotes the new syntax, like that of arguments, else the old one, with `;`
/// between the variables.
fn split_environment(text: &str) -> Result<Vec<(String, String)>, Trouble> {
    let words: Vec<String> = match text.starts_with('"') {
        true => split_arguments(text).ok_or(Trouble::Quotes("environment"))?,
        false => {
            let words = text.split(';').map(str::trim_start);
            words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
        }
    };
    let pair = |word: String| match word.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(Trouble::Environment(word)),
    };
    words.into_iter().map(pair).collect()
}

/// Splits HTCondor's `arguments`: in double quotes the new syntax (single quotes hold blanks, doubled quotes are
/// quotes), else the old one (words between blanks, `\"` a quote). `None` when the quotes do not match.
pub(crate) fn split_arguments(text: &str) -> Option<Vec<String>> {
    let Some(inner) = text.strip_prefix('"') else {
        return Some(
            text.replace("\\\"", "\"")
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
        );
    };
    let inner = inner.strip_suffix('"')?;
    let mut arguments: Vec<String> = Vec::new();
    let mut open = false;
    let mut in_word = false;
    let mut characters = inner.chars().peekable();
    while let Some(mut c) = characters.next() {
        if c == '"' {
            // A single double quote inside is no valid syntax; HTCondor refuses it too.
            characters.next_if_eq(&'"')?;
        } else if c == '\'' {
            let doubled = open && characters.next_if_eq(&'\'').is_some();
            if !doubled {
                open = !open;
                if open && !in_word {
                    arguments.push(String::new());
                    in_word = true;
                }
                continue;
            }
            c = '\'';
        } else if !open && c.is_ascii_whitespace() {
            in_word = false;
            continue;
        }
        if !in_word {
            arguments.push(String::new());
            in_word = true;
        }
        arguments.last_mut().expect("a word was begun").push(c);
    }
    (!open).then_some(arguments)
}

// Both are written and recognised here: a command survives being converted there and back.
const SHELL: &str = "/bin/sh";
/// A script that runs its first argument after undoing the backslashes in it.
const UNESCAPE: &str = "eval \"$(printf %b \"$1\")\"";

impl Submit {
    /// `request_memory`, where it is a size: in mebibytes unless it names a unit.
    pub(crate) fn memory(&self) -> Option<u64> {
        size::parse_binary(self.get("request_memory")?, MEBIBYTE)
    }

    /// `request_disk`, where it is a size: in kibibytes unless it names a unit.
    pub(crate) fn scratch(&self) -> Option<u64> {
        size::parse_binary(self.get("request_disk")?, KIBIBYTE)
    }

    /// `allowed_execute_duration`, where it is a number of seconds.
    pub(crate) fn time_limit(&self) -> Option<f64> {
        let seconds: f64 = self.get("allowed_execute_duration")?.parse().ok()?;
        Some(seconds).filter(|s| s.is_finite() && *s > 0.0)
    }
}

/// What a description asks for beside the command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demands {
    pub(crate) cpus: Option<u32>,
    pub(crate) memory: Option<u64>,
    pub(crate) scratch: Option<u64>,
    pub(crate) time_limit: Option<f64>,
}

/// The lines of a submit description that runs the command. Sizes are cut up to whole kibibytes and limits to whole
/// seconds, which is all that HTCondor takes. A command that does not fit on one line is written with
/// `\n` and undone by `printf`.
pub(crate) fn description(command: &str, demands: Demands) -> String {
    let mut lines = format!("executable = {SHELL}\n");
    let arguments = match command.chars().any(|c| c.is_control() && c != '\t') {
        true => format!(
            "-c {} sh {}",
            condor_quoted(UNESCAPE),
            condor_quoted(&escaped(command))
        ),
        false => format!("-c {}", condor_quoted(command)),
    };
    writeln!(lines, "arguments = \"{arguments}\"").expect("a string takes anything");
    let mut line = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            writeln!(lines, "{key} = {value}").expect("a string takes anything");
        }
    };
    // Up: rounded down it would ask for less than it needs.
    let kibibytes = |bytes: u64| bytes.div_ceil(KIBIBYTE);
    line("request_cpus", demands.cpus.map(|n| n.to_string()));
    let memory = demands.memory.map(|n| format!("{}K", kibibytes(n)));
    line("request_memory", memory);
    let scratch = demands.scratch.map(|n| kibibytes(n).to_string());
    line("request_disk", scratch);
    let limit = demands.time_limit.map(|s| format!("{:.0}", s.ceil()));
    line("allowed_execute_duration", limit);
    lines
}

/// One argument in HTCondor's new syntax, with no macro in it.
fn condor_quoted(argument: &str) -> String {
    let quoted = argument
        .replace('\'', "''")
        .replace('"', "\"\"")
        // Else HTCondor would take what the shell is to replace for a macro of its own.
        .replace('$', "$(DOLLAR)");
    format!("'{quoted}'")
}

/// The text with backslashes and control characters as `printf %b` takes them.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // By bytes, in octal with a leading 0: the one form that `printf %b` has in every shell.
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    write!(out, "\\0{byte:03o}").expect("a string takes anything");
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match tail {
            [b'n', tail @ ..] => {
                out.push(b'\n');
                rest = tail;
            }
            [
                b'0',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                tail @ ..,
            ] => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail;
            }
            [b'\\', tail @ ..] => {
                out.push(b'\\');
                rest = tail;
            }
            _ => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
