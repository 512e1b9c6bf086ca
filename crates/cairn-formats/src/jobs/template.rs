//! A command line with `{name}`s in it, filled with values that a shell takes as one word each. Knows shell quotes, and not
//! what the values mean.

use crate::shell::push_word;
use crate::{Place, Report};
use std::fmt;

/// A command line in which `{key}` stands for a value; `{{` and `}}` are braces.
///
/// A value can never be more than a word, or a part of one, whatever is in it: it is quoted for the place where it stands.
/// So keys may stand in quotes or outside, but not where a shell would read it again: in `` `…` ``, in `"$(…)"`, in a
/// comment, or behind `<<`.
///
/// ```
/// let line = cairn_formats::Template::new("./sim --out='{name}.txt' {name} ${{x}}")?;
/// assert!(line.keys().eq(["name", "name"]));
/// let filled = line.filled(|_| Some("it's 5"));
/// assert_eq!(filled, r"./sim --out='it'\''s 5.txt' 'it'\''s 5' ${x}");
/// # Ok::<(), cairn_formats::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Key(String, Quoted),
}

/// The quotes around a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoted {
    Not,
    Single,
    Double,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace that opens no key, or closes none.
    #[error("in the command '{0}' a brace stands alone: write {{{{ or }}}} for one")]
    Brace(String),
    /// A key where no quoting keeps its value together.
    #[error(
        "in the command '{line}' {{{key}}} stands in {inside}, where a shell would read its value again"
    )]
    Unsafe {
        /// The text.
        line: String,
        /// The key.
        key: String,
        /// Where it stands.
        inside: &'static str,
    },
    /// No text at all.
    #[error("the command is blank")]
    Blank,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn new(line: &str) -> Result<Template, TemplateError> {
        if line.trim().is_empty() {
            return Err(TemplateError::Blank);
        }
        let brace = || TemplateError::Brace(line.to_owned());
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut shell = Shell::default();
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if matches!(c, '{' | '}') {
                // Doubled: a brace of the shell's own, such as that of `${x}`.
                if let Some(behind) = rest.strip_prefix(c) {
                    rest = behind;
                } else {
                    let (key, behind) = rest.split_once('}').ok_or_else(brace)?;
                    let is_key = |k: &str| {
                        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                        !k.is_empty() && k.chars().all(part)
                    };
                    if c == '}' || !is_key(key) {
                        return Err(brace());
                    }
                    let quoted = shell.quoted().map_err(|inside| TemplateError::Unsafe {
                        line: line.to_owned(),
                        key: key.to_owned(),
                        inside,
                    })?;
                    // Perhaps empty: pieces are only ever joined.
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Key(key.to_owned(), quoted));
                    // Whatever the value is, it ends as a part of a word: a `#` behind it begins no comment.
                    shell.take('x');
                    rest = behind;
                    continue;
                }
            }
            shell.take(c);
            text.push(c);
        }
        pieces.push(Piece::Text(text));
        Ok(Template { pieces })
    }

    /// The keys in it, each as often as it stands there.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Key(key, _) => Some(&key[..]),
            Piece::Text(_) => None,
        })
    }

    /// The command line, with a value for each key; a key without one stays as it is.
    pub fn filled<V: AsRef<str>>(&self, value: impl Fn(&str) -> Option<V>) -> String {
        let mut line = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Key(key, quoted) => match value(key) {
                    Some(value) => quoted.push(&mut line, value.as_ref()),
                    None => line.extend(["{", key, "}"]),
                },
            }
        }
        line
    }

    /// Reports keys that are none of `known`.
    pub(super) fn check(&self, known: &[&str], place: Place, report: &mut Report) {
        for key in self.keys().filter(|key| !known.contains(key)) {
            let known: Vec<String> = known.iter().map(|key| format!("{{{key}}}")).collect();
            let message = format!("nobody knows {{{key}}} in the command '{self}'");
            let help = format!("here are: {}; {{{{ is a brace", known.join(", "));
            report.error(place.clone(), message, help);
        }
    }
}

impl fmt::Display for Template {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                Piece::Key(key, _) => write!(f, "{{{key}}}")?,
            }
        }
        Ok(())
    }
}

impl Quoted {
    fn push(self, line: &mut String, value: &str) {
        match self {
            Quoted::Not => {
                let mut word = String::new();
                push_word(&mut word, value);
                line.push_str(&word);
            }
            // Inside single quotes nothing escapes one: it is closed, a quote written, and opened again.
            Quoted::Single => line.push_str(&value.replace('\'', r"'\''")),
            Quoted::Double => {
                for c in value.chars() {
                    // All that a shell looks at inside double quotes; behind a backslash it is itself.
                    if matches!(c, '$' | '`' | '"' | '\\') {
                        line.push('\\');
                    }
                    line.push(c);
                }
            }
        }
    }
}

/// What a shell would be in the middle of.
#[derive(Default)]
struct Shell {
    single: bool,
    double: bool,
    backslash: bool,
    comment: bool,
    /// A `$(` or `${` inside of double quotes: what follows is read anew, and this does not look for its end.
    nested: bool,
    backtick: bool,
    here_document: bool,
    /// The character before, if it is one that counts.
    last: Option<char>,
}

impl Shell {
    fn take(&mut self, c: char) {
        let last = self.last.replace(c);
        if self.comment {
            self.comment = c != '\n';
        } else if self.single {
            self.single = c != '\'';
        } else if self.backslash {
            self.backslash = false;
            // What was escaped is a part of a word: an escaped `#` or `<` begins nothing.
            self.last = Some('x');
        } else {
            match c {
                '\\' => self.backslash = true,
                '\'' if !self.double => self.single = true,
                '"' => self.double = !self.double,
                // Never taken back: where such a thing ends is too hard to tell, so that all behind it is refused.
                '`' => self.backtick = true,
                '(' | '{' if self.double && last == Some('$') => self.nested = true,
                '<' if !self.double && last == Some('<') => self.here_document = true,
                '#' if !self.double => {
                    // Only at the beginning of a word is it a comment.
                    self.comment = last.is_none_or(|c| " \t\n;&|()".contains(c));
                }
                _ => {}
            }
        }
    }

    /// The quotes around what comes next, or where it stands if no quotes would help.
    fn quoted(&self) -> Result<Quoted, &'static str> {
        match self {
            Shell { backtick: true, .. } => Err("or behind `…`"),
            Shell { nested: true, .. } => Err("or behind \"$(…)\""),
            Shell {
                here_document: true,
                ..
            } => Err("or behind a here-document"),
            Shell { comment: true, .. } => Err("a comment"),
            Shell {
                backslash: true, ..
            } => Err("the reach of a backslash"),
            Shell { single: true, .. } => Ok(Quoted::Single),
            Shell { double: true, .. } => Ok(Quoted::Double),
            _ => Ok(Quoted::Not),
        }
    }
}
