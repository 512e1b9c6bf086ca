//! The statements of a DAGMan file, one logical line each, with their places. Knows nothing of other files, nor
//! whether the names in a statement exist.

use super::lexer::{Lines, OpenQuote, Quotes, Word, Words};
use super::name;
use crate::suggest;
use std::borrow::Cow;
use std::ops::Range;

/// Text cut out of the file; owned only where quotes or an encoding had to be undone.
pub(crate) type Text<'t> = Cow<'t, str>;

/// Where a statement lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset of the end of its last physical line, before `\n` or `\r\n`.
    pub(crate) end: usize,
    /// Number of its first line, from 1.
    pub(crate) line: u32,
}

/// Why a statement cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset of the trouble.
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Job,
    /// A dag of its own, run as one node.
    Subdag,
    /// Runs last, whatever happened.
    Final,
    /// Runs first.
    Provisioner,
    /// Runs beside all others.
    Service,
}

impl NodeKind {
    /// Whether the node takes part in the dag: the special ones stand outside of it.
    pub(crate) fn is_regular(self) -> bool {
        matches!(self, NodeKind::Job | NodeKind::Subdag)
    }
}

/// What a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Description<'t> {
    /// A submit file, the name of a `SUBMIT-DESCRIPTION`, or, for a sub-dag, a DAGMan file.
    Named(Text<'t>),
    /// The lines between the braces.
    Inline(&'t str),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement<'t> {
    /// `JOB`, `SUBDAG EXTERNAL`, `FINAL`, `PROVISIONER`, `SERVICE`.
    Node {
        kind: NodeKind,
        name: Text<'t>,
        name_span: Range<usize>,
        description: Description<'t>,
        done: bool,
    },
    /// `SPLICE name file [DIR directory]`.
    Splice {
        name: Text<'t>,
        file: Text<'t>,
        directory: Option<Text<'t>>,
    },
    /// `INCLUDE file`.
    Include { file: Text<'t> },
    /// `SUBMIT-DESCRIPTION name { … }`.
    SubmitDescription { name: Text<'t>, body: &'t str },
    /// `[WEAK] PARENT … CHILD …`. A weak dependency orders its nodes like any other.
    Dependency {
        parents: Vec<Text<'t>>,
        children: Vec<Text<'t>>,
    },
    /// `RETRY node times [UNLESS-EXIT code]`.
    Retry { node: Text<'t>, times: u32 },
    /// `VARS node [PREPEND|APPEND] key=value …`.
    Vars {
        node: Text<'t>,
        pairs: Vec<(Text<'t>, Text<'t>)>,
    },
    /// `PRIORITY node value`.
    Priority {
        node: Text<'t>,
        value: i32,
        value_span: Range<usize>,
    },
    /// `DONE node`.
    Done { node: Text<'t> },
    /// `PIN_IN node number`.
    PinIn { node: Text<'t>, pin: u32 },
    /// `PIN_OUT node number`.
    PinOut { node: Text<'t>, pin: u32 },
    /// `CONNECT splice splice`.
    Connect { parent: Text<'t>, child: Text<'t> },
    /// `SCRIPT`, `ABORT-DAG-ON`, `PRE_SKIP`, `TOLERANCE`, `CATEGORY`, `SAVE_POINT_FILE`: something about a node
    /// that changes neither the dag nor the command.
    OfNode { node: Text<'t> },
    /// `REJECT`: DAGMan is not to run this file.
    Reject,
    /// `MAXJOBS`, `CONFIG`, `DOT`, `NODE_STATUS_FILE`, `JOBSTATE_LOG`, `SET_JOB_ATTR`, `ENV`: about the run.
    OfRun,
}

/// The statements of a file in order, each with its place, or what is wrong with it.
pub(crate) fn statements(text: &str) -> Statements<'_> {
    Statements {
        text,
        lines: Lines::new(text),
        encoded: name::is_encoded(text),
    }
}

/// Whether the text begins as a DAGMan file does: most of its first statements can be understood, and one of them makes
/// or ties nodes.
pub(crate) fn looks_like(text: &str) -> bool {
    let (mut good, mut bad, mut telling) = (0, 0, false);
    for (_, statement) in statements(text).take(100) {
        match statement {
            Ok(statement) => {
                good += 1;
                telling |= matches!(
                    statement,
                    Statement::Node { .. }
                        | Statement::Splice { .. }
                        | Statement::Include { .. }
                        | Statement::SubmitDescription { .. }
                        | Statement::Dependency { .. }
                );
            }
            Err(_) => bad += 1,
        }
    }
    telling && good > bad
}

/// See [`statements`].
#[derive(Clone, Debug)]
pub(crate) struct Statements<'t> {
    text: &'t str,
    lines: Lines<'t>,
    encoded: bool,
}

impl<'t> Iterator for Statements<'t> {
    type Item = (Span, Result<Statement<'t>, Fault>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut logical = self.lines.next_logical()?;
        while logical.words.is_empty() {
            logical = self.lines.next_logical()?;
        }
        let mut span = Span {
            start: logical.start,
            end: logical.end,
            line: logical.line,
        };
        let parser = Parser {
            text: self.text,
            words: logical.words,
            lines: &mut self.lines,
            encoded: self.encoded,
            form: "",
            end: &mut span.end,
        };
        let statement = parser.statement();
        Some((span, statement))
    }
}

/// The keywords, with the form of their statements. A `-` in a keyword may also be written `_`.
const FORMS: [(&str, &str); 31] = [
    (
        "JOB",
        "JOB <node> <submit file or description> [DIR <directory>] [NOOP] [DONE]",
    ),
    (
        "FINAL",
        "FINAL <node> <submit file or description> [DIR <directory>] [NOOP]",
    ),
    (
        "PROVISIONER",
        "PROVISIONER <node> <submit file or description>",
    ),
    ("SERVICE", "SERVICE <node> <submit file or description>"),
    (
        "SUBDAG",
        "SUBDAG EXTERNAL <node> <dag file> [DIR <directory>] [NOOP] [DONE]",
    ),
    ("SPLICE", "SPLICE <name> <dag file> [DIR <directory>]"),
    ("INCLUDE", "INCLUDE <dag file>"),
    (
        "SUBMIT_DESCRIPTION",
        "SUBMIT-DESCRIPTION <name> {, then the description, then } on a line of its own",
    ),
    ("CATEGORY", "CATEGORY <node> <category>"),
    ("PARENT", "PARENT <node> … CHILD <node> …"),
    ("WEAK", "WEAK PARENT <node> … CHILD <node> …"),
    (
        "SCRIPT",
        "SCRIPT [DEFER <status> <seconds>] [DEBUG <file> STDOUT|STDERR|ALL] PRE|POST|HOLD <node> <script> …",
    ),
    ("RETRY", "RETRY <node> <times> [UNLESS-EXIT <code>]"),
    (
        "ABORT_DAG_ON",
        "ABORT-DAG-ON <node> <status> [RETURN <0…255>]",
    ),
    ("VARS", "VARS <node> [PREPEND|APPEND] <key>=<value> …"),
    ("PRIORITY", "PRIORITY <node> <integer>"),
    ("PRE_SKIP", "PRE_SKIP <node> <status>"),
    (
        "TOLERANCE",
        "TOLERANCE <node> <failures>[%] [FAIL-FAST|WAIT]",
    ),
    ("DONE", "DONE <node>"),
    ("MAXJOBS", "MAXJOBS <category> <number>"),
    ("CONFIG", "CONFIG <file>"),
    (
        "DOT",
        "DOT <file> [UPDATE|DONT-UPDATE] [OVERWRITE|DONT-OVERWRITE] [INCLUDE <file>]",
    ),
    (
        "NODE_STATUS_FILE",
        "NODE_STATUS_FILE <file> [<seconds>] [ALWAYS-UPDATE]",
    ),
    ("JOBSTATE_LOG", "JOBSTATE_LOG <file>"),
    ("SAVE_POINT_FILE", "SAVE_POINT_FILE <node> [<file>]"),
    ("SET_JOB_ATTR", "SET_JOB_ATTR <key> = <value>"),
    ("ENV", "ENV SET|GET <variables>"),
    ("REJECT", "REJECT"),
    ("CONNECT", "CONNECT <splice> <splice>"),
    ("PIN_IN", "PIN_IN <node> <number from 1>"),
    ("PIN_OUT", "PIN_OUT <node> <number from 1>"),
];

/// Whether `word` is `keyword` (in capitals, with `_`), in any case and with `-` for `_`.
pub(crate) fn is_keyword(word: &str, keyword: &str) -> bool {
    word.len() == keyword.len()
        && word.bytes().zip(keyword.bytes()).all(|(a, b)| {
            let a = if a == b'-' { b'_' } else { a };
            a.eq_ignore_ascii_case(&b)
        })
}

/// Reads one statement.
struct Parser<'t, 'l> {
    text: &'t str,
    words: Words<'t>,
    /// For the lines of an inline description.
    lines: &'l mut Lines<'t>,
    encoded: bool,
    /// How this statement should look.
    form: &'static str,
    /// End of the statement, which an inline description moves.
    end: &'l mut usize,
}

impl<'t> Parser<'t, '_> {
    fn statement(mut self) -> Result<Statement<'t>, Fault> {
        let Some(word) = self.word(Quotes::Keep)? else {
            return Err(self.fault("a line without a word"));
        };
        let Some(&(keyword, form)) = FORMS
            .iter()
            .find(|(keyword, _)| is_keyword(&word.text, keyword))
        else {
            return Err(unknown_keyword(&word));
        };
        self.form = form;
        let statement = self.rest(keyword)?;
        if let Some(extra) = self.word(Quotes::Keep)? {
            return Err(self.fault_at(extra.span.start, format!("'{}' is too much", extra.text)));
        }
        Ok(statement)
    }

    fn rest(&mut self, keyword: &str) -> Result<Statement<'t>, Fault> {
        Ok(match keyword {
            "JOB" => self.node(NodeKind::Job)?,
            "FINAL" => self.node(NodeKind::Final)?,
            "PROVISIONER" => self.node(NodeKind::Provisioner)?,
            "SERVICE" => self.node(NodeKind::Service)?,
            "SUBDAG" => {
                self.expect("EXTERNAL")?;
                self.node(NodeKind::Subdag)?
            }
            "SPLICE" => self.splice()?,
            "INCLUDE" => Statement::Include { file: self.file()? },
            "SUBMIT_DESCRIPTION" => self.submit_description()?,
            "PARENT" => self.dependency()?,
            "WEAK" => {
                self.expect("PARENT")?;
                self.dependency()?
            }
            "RETRY" => self.retry()?,
            "VARS" => self.vars()?,
            "PRIORITY" => self.priority()?,
            "DONE" => Statement::Done {
                node: self.name("node name")?,
            },
            "PIN_IN" => {
                let (node, pin) = self.pin()?;
                Statement::PinIn { node, pin }
            }
            "PIN_OUT" => {
                let (node, pin) = self.pin()?;
                Statement::PinOut { node, pin }
            }
            "CONNECT" => Statement::Connect {
                parent: self.name("splice name")?,
                child: self.name("splice name")?,
            },
            "SCRIPT" => self.script()?,
            "ABORT_DAG_ON" => self.abort_dag_on()?,
            "PRE_SKIP" => {
                let node = self.name("node name")?;
                self.integer("exit status", i32::MIN..=i32::MAX)?;
                Statement::OfNode { node }
            }
            "TOLERANCE" => self.tolerance()?,
            "CATEGORY" => {
                let node = self.name("node name")?;
                self.need("category")?;
                Statement::OfNode { node }
            }
            "SAVE_POINT_FILE" => {
                let node = self.name("node name")?;
                self.word(Quotes::Drop)?;
                Statement::OfNode { node }
            }
            "REJECT" => Statement::Reject,
            _ => self.of_run(keyword)?,
        })
    }

    fn node(&mut self, kind: NodeKind) -> Result<Statement<'t>, Fault> {
        let word = self.need("node name")?;
        let (name_span, name) = (word.span.clone(), self.decoded(word));
        if name::is_reserved(&name) && !self.encoded {
            let message = format!("'{name}' is a reserved word and cannot name a node");
            return Err(Fault {
                at: name_span.start,
                message,
                help: "choose another name".to_owned(),
            });
        }
        let opening = match self.word(Quotes::Drop)? {
            Some(word) => word,
            None => return Err(self.fault("the submit file or description is missing")),
        };
        let description = match closing_of(&opening.text).filter(|_| kind != NodeKind::Subdag) {
            Some(closing) => Description::Inline(self.inline_description(&opening, &closing)?),
            None => Description::Named(opening.text),
        };
        let mut done = false;
        while let Some(option) = self.word(Quotes::Keep)? {
            if is_keyword(&option.text, "DONE") {
                done = true;
            } else if is_keyword(&option.text, "DIR") {
                self.file()?;
            } else if !is_keyword(&option.text, "NOOP") {
                let message = format!("'{}' is none of DIR, NOOP and DONE", option.text);
                return Err(self.fault_at(option.span.start, message));
            }
        }
        Ok(Statement::Node {
            kind,
            name,
            name_span,
            description,
            done,
        })
    }

    /// Swallows the lines up to the closing one, which may go on with options of the node.
    fn inline_description(&mut self, opening: &Word<'t>, closing: &str) -> Result<&'t str, Fault> {
        let tail = self.text[self.words.offset()..*self.end].trim();
        if tail.ends_with('}') && closing == "}" {
            let help = "put the description on lines of its own between '{' and '}'";
            return Err(Fault {
                at: opening.span.start,
                message: "DAGMan reads an inline description from the next line on".to_owned(),
                help: help.to_owned(),
            });
        }
        let start = self.lines.offset();
        let mut end = start;
        while let Some(line) = self.lines.next_line() {
            *self.end = line.end;
            let rest = line.text.strip_prefix(closing);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
                let tail = line.start + line.text.len() - rest.len();
                self.words = Words::of_span(self.text, tail..line.start + line.text.len());
                return Ok(&self.text[start..end]);
            }
            end = self.lines.offset();
        }
        Err(Fault {
            at: opening.span.start,
            message: format!("the inline description is never closed: no line '{closing}'"),
            help: format!("put '{closing}' on a line of its own after the description"),
        })
    }

    fn submit_description(&mut self) -> Result<Statement<'t>, Fault> {
        let name = self.need("description name")?.text;
        let Some(opening) = self.word(Quotes::Keep)? else {
            return Err(self.fault("the description is missing"));
        };
        let Some(closing) = closing_of(&opening.text) else {
            return Err(self.fault_at(
                opening.span.start,
                "a description begins with '{'".to_owned(),
            ));
        };
        let body = self.inline_description(&opening, &closing)?;
        self.words = Words::of(""); // DAGMan does not look at what follows the closing brace
        Ok(Statement::SubmitDescription { name, body })
    }

    fn splice(&mut self) -> Result<Statement<'t>, Fault> {
        let name = self.name("splice name")?;
        let file = self.file()?;
        let mut directory = None;
        if let Some(option) = self.word(Quotes::Keep)? {
            if !is_keyword(&option.text, "DIR") {
                return Err(
                    self.fault_at(option.span.start, format!("'{}' is not DIR", option.text))
                );
            }
            directory = Some(self.file()?);
        }
        Ok(Statement::Splice {
            name,
            file,
            directory,
        })
    }

    fn dependency(&mut self) -> Result<Statement<'t>, Fault> {
        let (mut parents, mut children) = (Vec::new(), Vec::new());
        let mut child_word = false;
        while let Some(word) = self.word(Quotes::Keep)? {
            if is_keyword(&word.text, "CHILD") {
                child_word = true;
            } else if child_word {
                children.push(self.decoded(word));
            } else {
                parents.push(self.decoded(word));
            }
        }
        match (parents.is_empty(), child_word, children.is_empty()) {
            (true, ..) => Err(self.fault("there is no node after PARENT")),
            (_, false, _) => Err(self.fault("CHILD is missing")),
            (_, _, true) => Err(self.fault("there is no node after CHILD")),
            _ => Ok(Statement::Dependency { parents, children }),
        }
    }

    fn retry(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let (times, _) = self.integer("number of retries", 0..=i32::MAX)?;
        if let Some(option) = self.word(Quotes::Keep)? {
            if !is_keyword(&option.text, "UNLESS_EXIT") {
                return Err(self.fault_at(
                    option.span.start,
                    format!("'{}' is not UNLESS-EXIT", option.text),
                ));
            }
            self.integer("exit code", i32::MIN..=i32::MAX)?;
        }
        Ok(Statement::Retry {
            node,
            times: times.unsigned_abs(),
        })
    }

    fn priority(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let (value, value_span) = self.integer("priority", i32::MIN..=i32::MAX)?;
        Ok(Statement::Priority {
            node,
            value,
            value_span,
        })
    }

    fn pin(&mut self) -> Result<(Text<'t>, u32), Fault> {
        let node = self.name("node name")?;
        let (pin, _) = self.integer("pin number", 1..=i32::MAX)?;
        Ok((node, pin.unsigned_abs()))
    }

    fn script(&mut self) -> Result<Statement<'t>, Fault> {
        loop {
            let word = self.need("script type (PRE, POST or HOLD)")?;
            if ["PRE", "POST", "HOLD"]
                .iter()
                .any(|kind| is_keyword(&word.text, kind))
            {
                break;
            } else if is_keyword(&word.text, "DEFER") {
                self.integer("exit status", i32::MIN..=i32::MAX)?;
                self.integer("number of seconds", i32::MIN..=i32::MAX)?;
            } else if is_keyword(&word.text, "DEBUG") {
                self.need("debug file")?;
                self.one_of(&["STDOUT", "STDERR", "ALL"])?;
            } else {
                let message = format!(
                    "'{}' is none of PRE, POST, HOLD, DEFER and DEBUG",
                    word.text
                );
                return Err(self.fault_at(word.span.start, message));
            }
        }
        let node = self.name("node name")?;
        if self.words.is_empty() {
            return Err(self.fault("the script is missing"));
        }
        self.words = Words::of("");
        Ok(Statement::OfNode { node })
    }

    fn abort_dag_on(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        self.integer("exit status", i32::MIN..=i32::MAX)?;
        if let Some(option) = self.word(Quotes::Keep)? {
            if !is_keyword(&option.text, "RETURN") {
                return Err(self.fault_at(
                    option.span.start,
                    format!("'{}' is not RETURN", option.text),
                ));
            }
            self.integer("return code", 0..=255)?;
        }
        Ok(Statement::OfNode { node })
    }

    fn tolerance(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let word = self.need("number of failures")?;
        let digits = word.text.strip_suffix('%');
        if !digits
            .unwrap_or(&word.text)
            .parse::<i32>()
            .is_ok_and(|n| n >= 0)
        {
            let message = format!("'{}' is no number of failures", word.text);
            return Err(self.fault_at(word.span.start, message));
        }
        let mut option = self.word(Quotes::Keep)?;
        if digits.is_none() && option.as_ref().is_some_and(|word| word.text == "%") {
            option = self.word(Quotes::Keep)?;
        }
        if let Some(option) = option
            && !is_keyword(&option.text, "FAIL_FAST")
            && !is_keyword(&option.text, "WAIT")
        {
            let message = format!("'{}' is neither FAIL-FAST nor WAIT", option.text);
            return Err(self.fault_at(option.span.start, message));
        }
        Ok(Statement::OfNode { node })
    }

    fn vars(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let mut after_option = self.words.clone();
        let option = after_option.next_word(Quotes::Keep).ok().flatten();
        if option.is_some_and(|word| {
            is_keyword(&word.text, "PREPEND") || is_keyword(&word.text, "APPEND")
        }) {
            self.words = after_option;
        }
        let mut pairs = Vec::new();
        while !self.words.is_empty() {
            pairs.push(self.pair()?);
        }
        match pairs.is_empty() {
            true => Err(self.fault("there is no key=value")),
            false => Ok(Statement::Vars { node, pairs }),
        }
    }

    /// `key=value`, with blanks around `=` or without, the value quoted or not.
    fn pair(&mut self) -> Result<(Text<'t>, Text<'t>), Fault> {
        let start = self.words.offset();
        while self
            .words
            .peek()
            .is_some_and(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'=' | b'"' | b'\''))
        {
            self.words.bump();
        }
        let key = self.words.since(start);
        if key.is_empty() {
            return Err(self.fault_at(start, "a key is missing before '=' or a quote".to_owned()));
        }
        self.words.skip_blanks();
        if self.words.peek() != Some(b'=') {
            return Err(self.fault_at(start, format!("'=' and a value are missing after '{key}'")));
        }
        self.words.bump();
        self.words.skip_blanks();
        if self.words.peek() == Some(b'=') {
            return Err(self.fault_at(start, format!("two '=' after '{key}'")));
        }
        let Some(value) = self.word(Quotes::Keep)? else {
            return Err(self.fault_at(start, format!("the value of '{key}' is missing")));
        };
        if key
            .trim_start_matches("My.")
            .trim_start_matches('+')
            .is_empty()
        {
            return Err(self.fault_at(start, format!("'{key}' is no key")));
        }
        if key
            .get(..5)
            .is_some_and(|head| head.eq_ignore_ascii_case("queue"))
        {
            return Err(self.fault_at(
                start,
                format!("the key '{key}' begins with 'queue', which DAGMan forbids"),
            ));
        }
        Ok((Cow::Borrowed(key), unquoted(value.text)))
    }

    fn of_run(&mut self, keyword: &str) -> Result<Statement<'t>, Fault> {
        match keyword {
            "MAXJOBS" => {
                self.need("category")?;
                self.integer("number of jobs", 0..=i32::MAX)?;
            }
            "CONFIG" | "JOBSTATE_LOG" => {
                self.file()?;
            }
            "DOT" => {
                self.file()?;
                while let Some(option) = self.word(Quotes::Keep)? {
                    let flags = ["UPDATE", "DONT_UPDATE", "OVERWRITE", "DONT_OVERWRITE"];
                    if is_keyword(&option.text, "INCLUDE") {
                        self.file()?;
                    } else if !flags.iter().any(|flag| is_keyword(&option.text, flag)) {
                        return Err(self.fault_at(
                            option.span.start,
                            format!("'{}' is too much", option.text),
                        ));
                    }
                }
            }
            "NODE_STATUS_FILE" => {
                self.file()?;
                while let Some(option) = self.word(Quotes::Keep)? {
                    if !is_keyword(&option.text, "ALWAYS_UPDATE")
                        && option.text.parse::<i32>().is_err()
                    {
                        return Err(self.fault_at(
                            option.span.start,
                            format!("'{}' is too much", option.text),
                        ));
                    }
                }
            }
            "ENV" => {
                self.one_of(&["SET", "GET"])?;
                self.anything("environment variables")?;
            }
            _ => self.anything("attribute")?,
        }
        Ok(Statement::OfRun)
    }

    /// Takes the rest of the line, which must not be empty.
    fn anything(&mut self, what: &str) -> Result<(), Fault> {
        if self.words.is_empty() {
            return Err(self.fault(&format!("the {what} is missing")));
        }
        self.words = Words::of("");
        Ok(())
    }

    fn word(&mut self, quotes: Quotes) -> Result<Option<Word<'t>>, Fault> {
        self.words.next_word(quotes).map_err(|OpenQuote(at)| Fault {
            at,
            message: "this quote is never closed".to_owned(),
            help: "close it, or write \\\" for a quote inside quotes".to_owned(),
        })
    }

    fn need(&mut self, what: &str) -> Result<Word<'t>, Fault> {
        match self.word(Quotes::Keep)? {
            Some(word) => Ok(word),
            None => Err(self.fault(&format!("the {what} is missing"))),
        }
    }

    /// The name of a node or splice.
    fn name(&mut self, what: &str) -> Result<Text<'t>, Fault> {
        let word = self.need(what)?;
        Ok(self.decoded(word))
    }

    fn decoded(&self, word: Word<'t>) -> Text<'t> {
        match self.encoded {
            true => name::decode(word.text),
            false => word.text,
        }
    }

    fn file(&mut self) -> Result<Text<'t>, Fault> {
        match self.word(Quotes::Drop)? {
            Some(word) => Ok(word.text),
            None => Err(self.fault("a file or directory name is missing")),
        }
    }

    fn expect(&mut self, keyword: &'static str) -> Result<(), Fault> {
        self.one_of(&[keyword])
    }

    fn one_of(&mut self, keywords: &[&str]) -> Result<(), Fault> {
        let Some(word) = self.word(Quotes::Keep)? else {
            return Err(self.fault(&format!("{} is missing", keywords.join(" or "))));
        };
        match keywords
            .iter()
            .any(|keyword| is_keyword(&word.text, keyword))
        {
            true => Ok(()),
            false => Err(self.fault_at(
                word.span.start,
                format!("'{}' is not {}", word.text, keywords.join(" or ")),
            )),
        }
    }

    fn integer(
        &mut self,
        what: &str,
        range: std::ops::RangeInclusive<i32>,
    ) -> Result<(i32, Range<usize>), Fault> {
        let word = self.need(what)?;
        match word.text.parse() {
            Ok(number) if range.contains(&number) => Ok((number, word.span)),
            _ => {
                let (least, most) = range.into_inner();
                let message = format!(
                    "'{}' is no {what}: it must be an integer from {least} to {most}",
                    word.text
                );
                Err(self.fault_at(word.span.start, message))
            }
        }
    }

    /// A fault at the end of what was read.
    fn fault(&self, message: &str) -> Fault {
        self.fault_at(self.words.offset().min(*self.end), message.to_owned())
    }

    fn fault_at(&self, at: usize, message: String) -> Fault {
        Fault {
            at,
            message,
            help: format!("the form is: {}", self.form),
        }
    }
}

/// The line that closes the inline description that `opening` begins, if it begins one.
fn closing_of(opening: &str) -> Option<String> {
    if opening.starts_with('{') {
        return Some("}".to_owned());
    }
    let token = opening
        .strip_prefix("@=")
        .filter(|token| !token.is_empty())?;
    Some(format!("@{token}"))
}

fn unquoted(value: Text<'_>) -> Text<'_> {
    let mut inner = value.chars();
    match (inner.next(), inner.next_back()) {
        (Some('"' | '\''), Some(_)) => Cow::Owned(inner.as_str().to_owned()),
        _ => value,
    }
}

fn unknown_keyword(word: &Word<'_>) -> Fault {
    let help = match suggest::closest(&word.text, FORMS.iter().map(|(keyword, _)| *keyword)) {
        Some(keyword) => format!("did you mean {keyword}?"),
        None => {
            "a DAGMan line begins with a keyword such as JOB, PARENT, SPLICE or PRIORITY".to_owned()
        }
    };
    let shown: String = word.text.chars().take(40).collect();
    Fault {
        at: word.span.start,
        message: format!("'{shown}' is no DAGMan keyword"),
        help,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Result<Statement<'_>, Fault>> {
        statements(text).map(|(_, statement)| statement).collect()
    }

    fn one(text: &str) -> Statement<'_> {
        let mut all = parse(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.pop()
            .unwrap()
            .unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
    }

    fn fault(text: &str) -> Fault {
        parse(text).pop().unwrap().expect_err(text)
    }

    #[test]
    fn every_keyword_in_any_case_with_dash_or_underscore() {
        let of_node = |node: &'static str| Statement::OfNode { node: node.into() };
        for text in [
            "CATEGORY a cat",
            "category a +cat",
            "SCRIPT PRE a x.sh $JOB",
            "script defer 1 60 debug f all post a x",
            "Script Hold a \"x y\"",
            "ABORT-DAG-ON a 2",
            "abort_dag_on a -1 return 0",
            "PRE_SKIP a 1",
            "pre-skip a 1",
            "TOLERANCE a 3",
            "TOLERANCE a 3% WAIT",
            "tolerance a 3 % fail-fast",
            "SAVE_POINT_FILE a",
            "save-point-file a ../x.save",
        ] {
            assert_eq!(one(text), of_node("a"), "{text}");
        }
        for text in [
            "MAXJOBS cat 3",
            "CONFIG x.config",
            "config \"x y\"",
            "DOT x.dot",
            "dot x dont-update OVERWRITE include h",
            "NODE_STATUS_FILE f",
            "node-status-file f 60 always-update",
            "JOBSTATE_LOG f",
            "SET_JOB_ATTR a = \"b",
            "set-job-attr x=1",
            "ENV SET a=b;c=d",
            "env get A B",
        ] {
            assert_eq!(one(text), Statement::OfRun, "{text}");
        }
        assert_eq!(one("reject"), Statement::Reject);
        assert_eq!(one("Done a"), Statement::Done { node: "a".into() });
        assert_eq!(
            one("pin-in a 2"),
            Statement::PinIn {
                node: "a".into(),
                pin: 2
            }
        );
        assert_eq!(
            one("PIN_OUT a 1"),
            Statement::PinOut {
                node: "a".into(),
                pin: 1
            }
        );
        assert_eq!(
            one("connect A B"),
            Statement::Connect {
                parent: "A".into(),
                child: "B".into()
            }
        );
        assert_eq!(
            one("include \"a b.dag\""),
            Statement::Include {
                file: "a b.dag".into()
            }
        );
        assert_eq!(
            one("RETRY a 3 unless-exit 2"),
            Statement::Retry {
                node: "a".into(),
                times: 3
            }
        );
        let all = parse("RETRY x -1\nJOB PARENT x\nPIN_IN a 0\nENV PUT x\nPRIORITY a 3000000000\n");
        assert!(all.iter().all(Result::is_err), "{all:?}");
        assert_eq!(FORMS.len(), 31);
    }

    #[test]
    fn nodes() {
        let node = |kind, name: &'static str, done| Statement::Node {
            kind,
            name: name.into(),
            name_span: 4..5,
            description: Description::Named("a.sub".into()),
            done,
        };
        assert_eq!(one("Job A a.sub"), node(NodeKind::Job, "A", false));
        assert_eq!(
            one("JOB B \"a.sub\" dir /tmp NOOP Done"),
            node(NodeKind::Job, "B", true)
        );
        for (text, expected) in [
            ("SUBDAG EXTERNAL s x.dag", NodeKind::Subdag),
            ("final s x.sub", NodeKind::Final),
            ("PROVISIONER s x.sub", NodeKind::Provisioner),
            ("SERVICE s x.sub", NodeKind::Service),
        ] {
            assert!(
                matches!(one(text), Statement::Node { kind, .. } if kind == expected),
                "{text}"
            );
        }
    }

    #[test]
    fn inline_descriptions_end_at_their_closing_line() {
        let text = "JOB a {\n executable = /bin/x\n\n # }\n}  DONE\nSUBMIT-DESCRIPTION d @=end\nx = }\n}\n@end\nJOB b d";
        let all = parse(text);
        let Ok(Statement::Node {
            description: Description::Inline(body),
            done: true,
            ..
        }) = &all[0]
        else {
            panic!("{:?}", all[0])
        };
        assert_eq!(*body, " executable = /bin/x\n");
        assert_eq!(
            all[1],
            Ok(Statement::SubmitDescription {
                name: "d".into(),
                body: "x = }\n}\n"
            })
        );
        assert!(matches!(all[2], Ok(Statement::Node { .. })));
        let (span, _) = statements(text).next().unwrap();
        assert!(text[..span.end].ends_with("}  DONE"));
        assert!(
            fault("JOB a {\nexecutable = x\n")
                .message
                .contains("never closed")
        );
        assert!(
            fault("JOB a { executable = x }")
                .help
                .contains("lines of its own")
        );
        assert!(
            fault("SUBMIT-DESCRIPTION d x.sub")
                .message
                .contains("begins with '{'")
        );
    }

    #[test]
    fn dependencies_on_continued_lines() {
        let expected = Statement::Dependency {
            parents: vec!["a".into(), "b".into()],
            children: vec!["c".into(), "d".into()],
        };
        assert_eq!(one("PARENT a b CHILD c d"), expected);
        assert_eq!(
            one("weak parent a \\\n b \\\n\n child c\\\n child d"),
            expected
        );
        assert_eq!(
            fault("PARENT CHILD b").message,
            "there is no node after PARENT"
        );
        assert_eq!(fault("PARENT a b").message, "CHILD is missing");
        assert_eq!(
            fault("PARENT a CHILD").message,
            "there is no node after CHILD"
        );
        assert!(
            fault("WEAK CHILD a")
                .message
                .contains("'CHILD' is not PARENT")
        );
    }

    #[test]
    fn variables() {
        let text = r#"VARS a APPEND x = "1 \"2\"" +My='q' z=$(JOB) t = "" "#;
        let Statement::Vars { pairs, .. } = one(text) else {
            panic!()
        };
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(
            pairs,
            [("x", "1 \"2\""), ("+My", "q"), ("z", "$(JOB)"), ("t", "")]
        );
        for bad in [
            "VARS a",
            "VARS a x",
            "VARS a =1",
            "VARS a x==1",
            "VARS a x=",
            "VARS a +=\"1\"",
            "VARS a Queue1=2",
        ] {
            fault(bad);
        }
        assert!(fault("VARS a x=\"1").message.contains("never closed"));
    }

    #[test]
    fn faults_name_the_word_the_form_and_a_near_keyword() {
        let wrong = fault("PARNET a CHILD b");
        assert_eq!(
            (wrong.message.as_str(), wrong.help.as_str()),
            ("'PARNET' is no DAGMan keyword", "did you mean PARENT?")
        );
        let wrong = fault("PRIORITY node high");
        assert_eq!(wrong.at, 14);
        assert_eq!(wrong.help, "the form is: PRIORITY <node> <integer>");
        assert!(fault("DONE a b").message.contains("'b' is too much"));
        assert!(fault("JOB a").message.contains("missing"));
        assert!(fault("JOB a b EXTRA").message.contains("'EXTRA'"));
        assert!(fault("SUBDAG s x.dag").message.contains("EXTERNAL"));
    }

    #[test]
    fn the_span_of_a_priority_value_can_be_replaced() {
        let text = "JOB a a.sub\r\nPriority a \\\r\n  -5 \r\n";
        let (span, statement) = statements(text).nth(1).unwrap();
        let Ok(Statement::Priority {
            value: -5,
            value_span,
            ..
        }) = statement
        else {
            panic!()
        };
        assert_eq!(&text[value_span], "-5");
        assert_eq!(&text[span.end..], "\r\n");
        assert_eq!(span.line, 2);
    }

    #[test]
    fn encoded_names_are_decoded_only_under_the_head() {
        let text = format!(
            "{}\nPARENT a%20b CHILD %50arent\nJOB %50arent x%20y",
            name::ENCODED_NAMES
        );
        let all = parse(&text);
        assert_eq!(
            all[0],
            Ok(Statement::Dependency {
                parents: vec!["a b".into()],
                children: vec!["Parent".into()]
            })
        );
        assert!(matches!(&all[1], Ok(Statement::Node { name, .. }) if name == "Parent"));
        assert_eq!(
            one("DONE a%20b"),
            Statement::Done {
                node: "a%20b".into()
            }
        );
    }
}
