//! Reads the statements of a Makeflow file: rules, commands, variables, directives. Knows not what ties rules.

use super::logical::{Logical, Scan, unquoted};
use super::rules::{Rule, tie};
use super::variables::{Variables, is_name, variable};
use crate::draft::{Draft, MEBIBYTE, Number};
use crate::text::shortened;
use crate::{Report, Source, suggest};
use cairn_dag::Flow;
use hashbrown::HashMap;

/// The longest value of a variable, in bytes.
// A=$(A)$(A) doubles a value in every line: 40 lines would fill any memory. A megabyte is a list of some
// ten thousand files.
const LONGEST_VALUE: usize = 1 << 20;
/// The most bytes that all replaced variables of a file may come to.
// A long list that each of thousands of rules names: the file is short, and what it comes to is not. A judgement: that much is still read in
// seconds.
const MOST_REPLACED: usize = 256 << 20;

/// The variables that say what a rule needs. Memory and disk are in mebibytes, the time in seconds.
pub(super) const DEMANDS: [(&str, Number); 4] = [
    ("CORES", Number::Cpus),
    ("MEMORY", Number::Memory(MEBIBYTE)),
    ("DISK", Number::Scratch(MEBIBYTE)),
    ("WALL_TIME", Number::TimeLimit(1)),
];

/// Reads a flow. `None` when there was an error.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let reader = Reader::read(source, report, Vec::new());
    tie(&reader.rules, &reader.sizes, reader.draft)
}

/// The environment of tasks, by name: the variables that a text exports, wherever it does, as each rule sees them.
pub(crate) fn environments(source: &Source) -> HashMap<String, Vec<(String, String)>> {
    let exports = exports(source.text());
    if exports.is_empty() {
        return HashMap::new();
    }
    // What is wrong was told when the flow was read.
    let silent = &mut Report::default();
    let rules = Reader::read(source, silent, exports).rules.into_iter();
    rules.map(|rule| (rule.name(), rule.environment)).collect()
}

/// The names of all exported variables, sorted.
fn exports(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut scan = Scan::of(text);
    while let Some((Logical { text, .. }, _)) = scan.next_logical() {
        let Some(rest) = exported(&text) else {
            continue;
        };
        match rest.split_once('=') {
            Some((name, _)) => names.push(name.trim_end_matches('+').trim().to_owned()),
            None => names.extend(rest.split_whitespace().map(str::to_owned)),
        }
    }
    names.sort_unstable();
    // A name may be exported in several places; it is one variable.
    names.dedup();
    names
}

/// What stands behind `export`, where a line begins with that.
fn exported(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("export");
    rest.filter(|rest| rest.starts_with([' ', '\t']))
}

struct Reader<'a, 'r> {
    draft: Draft<'a, 'r>,
    variables: Variables,
    rules: Vec<Rule>,
    sizes: HashMap<String, u64>,
    /// The variables whose values rules note.
    exports: Vec<String>,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn read(source: &'a Source, report: &'r mut Report, exports: Vec<String>) -> Reader<'a, 'r> {
        let mut reader = Reader {
            draft: Draft::of_lines(source, report),
            variables: Variables::default(),
            rules: Vec::new(),
            sizes: HashMap::new(),
            exports,
        };
        reader.lines();
        reader
    }

    fn lines(&mut self) {
        let mut scan = Scan::of(self.draft.source().text());
        let mut open: Option<Rule> = None;
        while let Some(logical) = scan.next_logical() {
            let (Logical { text, line }, open_quote) = logical;
            if let Some(quote) = open_quote {
                self.draft.error(
                    line,
                    format!("the quote {quote} is never closed"),
                    "close it, or put a backslash before it",
                );
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            if text.starts_with([' ', '\t']) {
                match open.take() {
                    Some(rule) => self.command(rule, text.trim(), line),
                    None => self.draft.error(
                        line,
                        "this command belongs to no rule",
                        "a rule has one command: join several with '&&', or end lines with a backslash",
                    ),
                }
                continue;
            }
            self.statement(&text, line, &mut open);
        }
        self.abandon(open);
    }

    /// A rule that got no command.
    fn abandon(&mut self, open: Option<Rule>) {
        if let Some(rule) = open {
            self.draft.error(
                rule.line,
                "this rule has no command",
                "put it on the next line, after a tab",
            );
        }
    }

    /// A line that is no command.
    fn statement(&mut self, text: &str, line: u32, open: &mut Option<Rule>) {
        let text = text.strip_prefix('@').unwrap_or(text).trim();
        let (colon, equals) = (unquoted(text, b':'), unquoted(text, b'='));
        // Whichever comes first decides: a value may have colons, and a file name an equals sign.
        if let Some(colon) = colon.filter(|&colon| equals.is_none_or(|equals| colon < equals)) {
            // A rule before it without a command is a slip of the user's, told at its own line.
            let abandoned = open.take();
            self.abandon(abandoned);
            self.variables.of_rule.clear();
            let outputs = self.files(&text[..colon], line);
            let inputs = self.files(&text[colon + 1..], line);
            *open = Some(Rule {
                line,
                outputs,
                inputs,
                command: None,
                demands: Vec::new(),
                environment: Vec::new(),
            });
        } else if let Some(equals) = equals {
            let text = exported(text).unwrap_or(text);
            // Counted with the `export` in front, so too far by as much.
            let equals = equals.min(text.find('=').unwrap_or(equals));
            self.assignment(text, equals, line, open.is_some());
        } else if text.starts_with('.') {
            self.directive(text, line, open.is_some());
        } else if text.split_whitespace().next() != Some("export") {
            let message = "this is neither a rule nor a variable nor a command";
            let help = "a rule has a colon between outputs and inputs, a variable an equals sign, a command a tab \
                before it";
            self.draft.error(line, message, help);
        }
    }

    /// `NAME=value` or `NAME+=value`.
    fn assignment(&mut self, text: &str, equals: usize, line: u32, in_rule: bool) {
        let (name, value) = (text[..equals].trim(), text[equals + 1..].trim());
        let (name, append) = match name.strip_suffix('+') {
            Some(name) => (name.trim(), true),
            None => (name, false),
        };
        if !is_name(name) {
            let message = format!("'{}' is no name for a variable", shortened(name));
            let help = "letters, digits and underscores make a name; '=' or '+=' follows it";
            return self.draft.error(line, message, help);
        }
        // At once, by what is known here: a later value of what it names does not change it.
        let mut value = self.expanded(value, line);
        if append && let Some(old) = self.value(name, line) {
            value = format!("{old} {value}");
        }
        self.set(name, value, line, in_rule);
    }

    fn set(&mut self, name: &str, value: String, line: u32, in_rule: bool) {
        // Where it is set, not where it is used: the line that doubles it is the one to name.
        if value.len() > LONGEST_VALUE {
            let bytes = value.len();
            let message =
                format!("the variable '{name}' has {bytes} bytes; the most is {LONGEST_VALUE}");
            let help = "does it contain itself over and over?";
            return self.draft.error(line, message, help);
        }
        if matches!(name, "CATEGORY" | "SYMBOL") && !in_rule {
            let category = bare(&value).to_owned();
            self.variables.category = Some(category).filter(|category| category != "default");
            return;
        }
        let table = match (in_rule, &self.variables.category) {
            (true, _) => &mut self.variables.of_rule,
            (false, Some(category)) => self.variables.of_category.entry_ref(category).or_default(),
            (false, None) => &mut self.variables.of_file,
        };
        table.insert(name.to_owned(), value);
    }

    /// `.MAKEFLOW KEY value`, `.SIZE file bytes`, `.UMBRELLA …`.
    fn directive(&mut self, text: &str, line: u32, in_rule: bool) {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [".MAKEFLOW", "MODE", _] | [".UMBRELLA", ..] => {}
            [".MAKEFLOW", key, value] => self.set(key, bare(value).to_owned(), line, in_rule),
            [".SIZE", file, ref size @ ..] if !size.is_empty() => match metric(&size.concat()) {
                Some(bytes) => drop(self.sizes.insert(bare(file).to_owned(), bytes)),
                None => {
                    let message = format!("'{}' is no size", shortened(&size.concat()));
                    let help =
                        "write a whole number of bytes, or one with K, M, G, T or P after it";
                    self.draft.error(line, message, help);
                }
            },
            _ => {
                let message = format!("'{}' is no directive", shortened(text));
                let help = "Makeflow has '.MAKEFLOW <key> <value>', '.SIZE <file> <bytes>' and '.UMBRELLA SPEC <file>'";
                self.draft.error(line, message, help);
            }
        }
    }

    fn command(&mut self, mut rule: Rule, text: &str, line: u32) {
        let expanded = self.expanded(text, line);
        let mut command = expanded.as_str();
        let mut makeflow = false;
        loop {
            let (first, rest) = command.split_once([' ', '\t']).unwrap_or((command, ""));
            match first {
                "LOCAL" => {}
                "MAKEFLOW" => makeflow = true,
                _ => break,
            }
            command = rest.trim_start();
        }
        if command.is_empty() {
            let help = "write what the rule runs after LOCAL or MAKEFLOW";
            self.draft.error(line, "the command is empty", help);
        }
        rule.command = Some(match makeflow {
            true => format!("makeflow {command}"),
            false => command.to_owned(),
        });
        // The text of a rule is expanded in the category around it, what it asks for and exports in its own.
        let around = self.variables.category.clone();
        let of_rule = &self.variables.of_rule;
        if let Some(own) = of_rule.get("CATEGORY").or(of_rule.get("SYMBOL")) {
            self.variables.category = Some(bare(own).to_owned());
        }
        rule.demands = self.demands();
        let exported = self.exports.iter().filter_map(|name| {
            let value = self.variables.get(name)?;
            Some((name.clone(), unwrapped(value).to_owned()))
        });
        rule.environment = exported.collect();
        self.variables.category = around;
        self.variables.of_rule.clear();
        self.rules.push(rule);
    }

    /// What the rule asks for, as it sees the variables.
    fn demands(&self) -> Vec<(Number, String)> {
        let given = DEMANDS.iter().filter_map(|&(name, number)| {
            let text = bare(self.variables.get(name)?).trim().to_owned();
            // A rule with no core at all runs as well.
            let asks = number != Number::Cpus || metric(&text) != Some(0);
            asks.then_some((number, text))
        });
        given.collect()
    }

    /// The text with its variables replaced, quotes and all else left alone.
    fn expanded(&mut self, text: &str, line: u32) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut quote: Option<u8> = None;
        while let Some(at) = rest.find(['$', '\\', '\'', '"']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let byte = rest.as_bytes()[0];
            let mut length = 1;
            match (byte, quote) {
                (b'\\', None | Some(b'"')) if rest.starts_with("\\$") => {
                    out.push('$');
                    length = 2;
                }
                (b'\\', _) => {
                    length += rest[1..].chars().next().map_or(0, char::len_utf8);
                    out.push_str(&rest[..length]);
                }
                (b'$', None | Some(b'"')) => {
                    let (taken, name) = variable(rest);
                    length = taken;
                    match name.and_then(|name| self.value(name, line)) {
                        Some(value) => out.push_str(&value),
                        None => out.push_str(&rest[..length]),
                    }
                }
                _ => {
                    quote = match quote {
                        None => Some(byte).filter(|&byte| byte != b'$'),
                        Some(open) => Some(open).filter(|&open| open != byte),
                    };
                    out.push_str(&rest[..1]);
                }
            }
            rest = &rest[length..];
        }
        out.push_str(rest);
        out
    }

    /// The value of a variable; `None` when it is not set, or when too much has been replaced.
    fn value(&mut self, name: &str, line: u32) -> Option<String> {
        let before = self.variables.replaced;
        let after = before.saturating_add(self.variables.get(name)?.len());
        self.variables.replaced = after;
        if after <= MOST_REPLACED {
            return self.variables.get(name).map(str::to_owned);
        }
        // The first time only: all that follows would fail alike.
        if before <= MOST_REPLACED {
            let most = MOST_REPLACED >> 20;
            let message = format!("the variables come to more than {most} MiB");
            let help = "is a long variable used over and over?";
            self.draft.error(line, message, help);
        }
        None
    }

    /// The file names in a list. `name->remote` counts as `name`.
    fn files(&mut self, list: &str, line: u32) -> Vec<String> {
        let mut words = Words::default();
        self.cut(list, true, line, &mut words);
        words.end();
        let mut files = Vec::new();
        let mut words = words.done.into_iter().peekable();
        while let Some(word) = words.next() {
            match word {
                Some(name) => files.push(name),
                None => {
                    let renamed = words.next().flatten();
                    if files.is_empty() || renamed.is_none() {
                        let message = "'->' needs a name on both sides";
                        self.draft.error(line, message, "write name->remote_name");
                    }
                }
            }
        }
        files
    }

    /// Cuts a list into words. Values of variables are cut too, but variables in them are not replaced again.
    fn cut(&mut self, list: &str, replace: bool, line: u32, words: &mut Words) {
        let mut rest = list;
        let mut quote: Option<char> = None;
        while let Some(c) = rest.chars().next() {
            let mut length = c.len_utf8();
            match (c, quote) {
                ('\\', _) => {
                    let next = rest[1..].chars().next();
                    next.into_iter().for_each(|next| words.push(next));
                    length += next.map_or(0, char::len_utf8);
                }
                ('\'' | '"', None) => {
                    quote = Some(c);
                    words.begin();
                }
                (c, Some(open)) if c == open => quote = None,
                ('$', None | Some('"')) if replace => {
                    let (taken, name) = variable(rest);
                    length = taken;
                    match name.map(|name| (name, self.value(name, line))) {
                        Some((_, Some(value))) if quote.is_none() => {
                            // One level deep: values were expanded when they were set.
                            self.cut(&value, false, line, words)
                        }
                        Some((_, Some(value))) => value.chars().for_each(|c| words.push(c)),
                        Some((name, None)) => {
                            self.warn_unset(name, line);
                            rest[..taken].chars().for_each(|c| words.push(c));
                        }
                        None => rest[..taken].chars().for_each(|c| words.push(c)),
                    }
                }
                (' ' | '\t' | '\r' | '\n' | ':', None) => words.end(),
                ('-', None) if rest.starts_with("->") => {
                    words.arrow();
                    length = 2;
                }
                _ => words.push(c),
            }
            rest = &rest[length..];
        }
    }

    fn warn_unset(&mut self, name: &str, line: u32) {
        let near = (!self.draft.has_warned_enough())
            .then(|| suggest::closest(name, self.variables.names()))
            .flatten();
        let help = match near {
            Some(near) => format!("did you mean {near}? Makeflow would look in the environment"),
            None => "Makeflow would take it from the environment; here the name stays as it is"
                .to_owned(),
        };
        let name = shortened(name);
        let message = format!("the variable '{name}' is not set in this file");
        self.draft.warning(line, message, help);
    }
}

/// Words of a file list being cut; `None` is an arrow.
#[derive(Default)]
struct Words {
    done: Vec<Option<String>>,
    open: Option<String>,
}

impl Words {
    fn begin(&mut self) {
        self.open.get_or_insert_default();
    }

    fn push(&mut self, c: char) {
        self.open.get_or_insert_default().push(c);
    }

    fn end(&mut self) {
        if let Some(word) = self.open.take().filter(|word| !word.is_empty()) {
            self.done.push(Some(word));
        }
    }

    fn arrow(&mut self) {
        self.end();
        self.done.push(None);
    }
}

/// A word without any quotes at its ends.
fn bare(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

/// A value without the quotes around it.
fn unwrapped(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// A whole number, with K, M, G, T or P for powers of 1024.
// Not `size::parse_binary`: Makeflow looks at the first letter alone, and any other is no unit instead of a mistake.
fn metric(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.trim().parse().ok()?;
    let unit = text[digits.len()..].trim().chars().next();
    let shift = match unit.map(|c| c.to_ascii_uppercase()) {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        Some('P') => 50,
        _ => 0,
    };
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests;
