//! Reads one statement of a DAGMan file, word by word. Knows nothing of other statements, nor whether the names in it
//! exist.

use super::keywords::{FORMS, is_keyword};
use super::lexer::{Lines, OpenQuote, Quotes, Word, Words};
use super::name;
use super::statement::{Description, Fault, NodeKind, Statement, Text, When};
use crate::suggest;
use crate::text::shortened;
use std::borrow::Cow;
use std::ops::Range;

/// Reads one statement.
pub(super) struct Parser<'t, 'l> {
    pub(super) text: &'t str,
    pub(super) words: Words<'t>,
    /// For the lines of an inline description.
    pub(super) lines: &'l mut Lines<'t>,
    pub(super) encoded: bool,
    /// How this statement should look.
    pub(super) form: &'static str,
    /// End of the statement, which an inline description moves.
    pub(super) end: &'l mut usize,
}

impl<'t> Parser<'t, '_> {
    pub(super) fn statement(mut self) -> Result<Statement<'t>, Fault> {
        let Some(word) = self.word(Quotes::Keep)? else {
            return Err(self.fault("a line without a word"));
        };
        // Thirty-one comparisons a line cost little beside reading it; a table by name would have to fold case and dashes.
        let form = (FORMS.iter()).find(|(keyword, _)| is_keyword(&word.text, keyword));
        let Some(&(keyword, form)) = form else {
            return Err(unknown_keyword(&word));
        };
        self.form = form;
        // What then is left over is a slip: half a line read would be another statement than is meant.
        let statement = self.rest(keyword)?;
        match self.word(Quotes::Keep)? {
            Some(extra) => Err(self.too_much(&extra)),
            None => Ok(statement),
        }
    }

    fn rest(&mut self, keyword: &str) -> Result<Statement<'t>, Fault> {
        Ok(match keyword {
            "JOB" => self.node(NodeKind::Job)?,
            "FINAL" => self.node(NodeKind::Final)?,
            "PROVISIONER" => self.node(NodeKind::Provisioner)?,
            "SERVICE" => self.node(NodeKind::Service)?,
            "SUBDAG" => {
                self.one_of(&["EXTERNAL"])?;
                self.node(NodeKind::Subdag)?
            }
            "SPLICE" => self.splice()?,
            "INCLUDE" => Statement::Include { file: self.file()? },
            "SUBMIT_DESCRIPTION" => self.submit_description()?,
            "PARENT" => self.dependency()?,
            "WEAK" => {
                self.one_of(&["PARENT"])?;
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
                let (exit, _) = self.integer("exit status", i32::MIN..=i32::MAX)?;
                Statement::PreSkip { node, exit }
            }
            "TOLERANCE" => self.tolerance()?,
            "CATEGORY" => {
                let node = self.name("node name")?;
                let category = self.need("category")?.text;
                Statement::Category { node, category }
            }
            "MAXJOBS" => {
                let category = self.need("category")?.text;
                let (limit, _) = self.integer("number of jobs", 0..=i32::MAX)?;
                let limit = limit.unsigned_abs();
                Statement::MaxJobs { category, limit }
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
        // In an encoded file a reserved word stands there as something else.
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
        // A sub-dag has a DAGMan file and never a description, whatever its name looks like.
        let description = match closing_of(&opening.text).filter(|_| kind != NodeKind::Subdag) {
            Some(closing) => Description::Inline(self.inline_description(&opening, &closing)?),
            None => Description::Named(opening.text),
        };
        let (mut done, mut noop, mut directory) = (false, false, None);
        while let Some(option) = self.word(Quotes::Keep)? {
            if is_keyword(&option.text, "DONE") {
                done = true;
            } else if is_keyword(&option.text, "DIR") {
                // Options stand in any order; of two the last counts.
                directory = Some(self.file()?);
            } else if is_keyword(&option.text, "NOOP") {
                noop = true;
            } else {
                let message = format!("'{}' is none of DIR, NOOP and DONE", option.text);
                return Err(self.fault_at(option.span.start, message));
            }
        }
        Ok(Statement::Node {
            kind,
            name,
            name_span,
            description,
            directory,
            noop,
            done,
        })
    }

    /// Swallows the lines up to the closing one, which may go on with options of the node.
    fn inline_description(&mut self, opening: &Word<'t>, closing: &str) -> Result<&'t str, Fault> {
        let tail = self.text[self.words.offset()..*self.end].trim();
        // A description on one line, which people try: without this the whole rest of the file would be swallowed.
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
                // What follows the closing brace on its line are options of the node: they are read on from there.
                let tail = line.start + line.text.len() - rest.len();
                self.words = Words::of_span(self.text, tail..line.start + line.text.len());
                return Ok(&self.text[start..end]);
            }
            // Behind this line: comments and blank lines inside belong to the description.
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
            return Err(self.fault_at(opening.span.start, "a description begins with '{'"));
        };
        let body = self.inline_description(&opening, &closing)?;
        self.words = Words::of(""); // DAGMan does not look at what follows the closing brace
        Ok(Statement::SubmitDescription { name, body })
    }

    fn splice(&mut self) -> Result<Statement<'t>, Fault> {
        let name = self.name("splice name")?;
        let file = self.file()?;
        let directory = self.option("DIR", Self::file)?;
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
        let exit = |parser: &mut Self| parser.integer("exit code", i32::MIN..=i32::MAX);
        let unless_exit = self.option("UNLESS-EXIT", exit)?.map(|(exit, _)| exit);
        Ok(Statement::Retry {
            node,
            times: times.unsigned_abs(),
            unless_exit,
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
        const KINDS: [(&str, When); 3] = [
            ("PRE", When::Pre),
            ("POST", When::Post),
            ("HOLD", When::Hold),
        ];
        let mut deferred = false;
        let when = loop {
            let word = self.need("script type (PRE, POST or HOLD)")?;
            let kind = KINDS.iter().find(|(kind, _)| is_keyword(&word.text, kind));
            if let Some((_, when)) = kind {
                break *when;
            } else if is_keyword(&word.text, "DEFER") {
                deferred = true;
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
        };
        let node = self.name("node name")?;
        if self.words.is_empty() {
            return Err(self.fault("the script is missing"));
        }
        // All that follows is the command's, quotes too: DAGMan cuts it at blanks, and knows no quotes there.
        let command = self.words.rest();
        self.words = Words::of("");
        Ok(Statement::Script {
            node,
            when,
            deferred,
            command,
        })
    }

    fn abort_dag_on(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let (exit, _) = self.integer("exit status", i32::MIN..=i32::MAX)?;
        let code = |parser: &mut Self| parser.integer("return code", 0..=255);
        let returned = self.option("RETURN", code)?.map(|(code, _)| code);
        Ok(Statement::AbortDagOn {
            node,
            exit,
            returned,
        })
    }

    fn tolerance(&mut self) -> Result<Statement<'t>, Fault> {
        let node = self.name("node name")?;
        let word = self.need("number of failures")?;
        let digits = word.text.strip_suffix('%');
        // As a number of 32 bits, as `integer` has it; only the sign of percent is more.
        let count = digits.unwrap_or(&word.text).parse::<i32>();
        if !count.is_ok_and(|n| n >= 0) {
            let message = format!("'{}' is no number of failures", word.text);
            return Err(self.fault_at(word.span.start, message));
        }
        let mut option = self.word(Quotes::Keep)?;
        // The sign may stand apart from its number.
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
        // Looked at first: a key may be called `append`, and then `=` follows, which makes it another word.
        let mut after_option = self.words.clone();
        let option = after_option.next_word(Quotes::Keep).ok().flatten();
        let is = |keyword| (option.as_ref()).is_some_and(|w| is_keyword(&w.text, keyword));
        let append = is("APPEND");
        if append || is("PREPEND") {
            // Only now is the word taken: what is no option is the first key.
            self.words = after_option;
        }
        let mut pairs = Vec::new();
        while !self.words.is_empty() {
            pairs.push(self.pair()?);
        }
        match pairs.is_empty() {
            true => Err(self.fault("there is no key=value")),
            false => Ok(Statement::Vars {
                node,
                append,
                pairs,
            }),
        }
    }

    /// `key=value`, with blanks around `=` or without, the value quoted or not.
    fn pair(&mut self) -> Result<(Text<'t>, Text<'t>), Fault> {
        let start = self.words.offset();
        let is_of_key = |b: u8| !matches!(b, b' ' | b'\t' | b'\r' | b'=' | b'"' | b'\'');
        while self.words.peek().is_some_and(is_of_key) {
            self.words.bump();
        }
        let key = self.words.since(start);
        if key.is_empty() {
            return Err(self.fault_at(start, "a key is missing before '=' or a quote"));
        }
        self.words.skip_blanks();
        if self.words.peek() != Some(b'=') {
            return Err(self.fault_at(start, format!("'=' and a value are missing after '{key}'")));
        }
        self.words.bump();
        self.words.skip_blanks();
        // As in a submit file `==` would be a comparison: a slip, not a value.
        if self.words.peek() == Some(b'=') {
            return Err(self.fault_at(start, format!("two '=' after '{key}'")));
        }
        let Some(value) = self.word(Quotes::Keep)? else {
            return Err(self.fault_at(start, format!("the value of '{key}' is missing")));
        };
        // Both are ways to say that the key is an attribute of the job; alone they name nothing.
        let bare = key.trim_start_matches("My.").trim_start_matches('+');
        if bare.is_empty() {
            return Err(self.fault_at(start, format!("'{key}' is no key")));
        }
        let head = key.get(..5);
        if head.is_some_and(|head| head.eq_ignore_ascii_case("queue")) {
            let message = format!("the key '{key}' begins with 'queue', which DAGMan forbids");
            return Err(self.fault_at(start, message));
        }
        let Some(value) = unquoted(value.text) else {
            let message = format!("text stands behind the closing quote of '{key}'");
            return Err(self.fault_at(start, message));
        };
        Ok((Cow::Borrowed(key), value))
    }

    fn of_run(&mut self, keyword: &str) -> Result<Statement<'t>, Fault> {
        match keyword {
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
                        return Err(self.too_much(&option));
                    }
                }
            }
            "NODE_STATUS_FILE" => {
                self.file()?;
                while let Some(option) = self.word(Quotes::Keep)? {
                    let is_seconds = option.text.parse::<i32>().is_ok();
                    if !is_seconds && !is_keyword(&option.text, "ALWAYS_UPDATE") {
                        return Err(self.too_much(&option));
                    }
                }
            }
            "ENV" => {
                self.one_of(&["SET", "GET"])?;
                self.anything("list of environment variables")?;
            }
            _ => self.anything("attribute")?,
        }
        Ok(Statement::OfRun)
    }

    /// Takes the rest of the line, which must not be empty.
    fn anything(&mut self, what: &str) -> Result<(), Fault> {
        if self.words.is_empty() {
            return Err(self.missing(what));
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
        let word = self.word(Quotes::Keep)?;
        word.ok_or_else(|| self.missing(what))
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
        let word = self.word(Quotes::Drop)?;
        let missing = || self.fault("a file or directory name is missing");
        word.map(|word| word.text).ok_or_else(missing)
    }

    /// An option, if one follows: this keyword and what belongs to it, or else nothing.
    fn option<T>(
        &mut self,
        keyword: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if self.words.is_empty() {
            return Ok(None);
        }
        self.one_of(&[keyword])?;
        read(self).map(Some)
    }

    fn one_of(&mut self, keywords: &[&str]) -> Result<(), Fault> {
        let Some(word) = self.word(Quotes::Keep)? else {
            return Err(self.fault(&format!("{} is missing", keywords.join(" or "))));
        };
        // They are shown as people write them, and compared as the table has them.
        let is = |keyword: &&str| is_keyword(&word.text, &keyword.replace('-', "_"));
        match keywords.iter().any(is) {
            true => Ok(()),
            false => {
                let message = format!("'{}' is not {}", word.text, keywords.join(" or "));
                Err(self.fault_at(word.span.start, message))
            }
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

    fn missing(&self, what: &str) -> Fault {
        self.fault(&format!("the {what} is missing"))
    }

    fn too_much(&self, word: &Word<'_>) -> Fault {
        self.fault_at(word.span.start, format!("'{}' is too much", word.text))
    }

    /// A fault at the end of what was read.
    fn fault(&self, message: &str) -> Fault {
        self.fault_at(self.words.offset().min(*self.end), message)
    }

    fn fault_at(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault {
            at,
            message: message.into(),
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

/// A value without the quotes around it; `None` where it begins with one and goes on behind the other.
fn unquoted(value: Text<'_>) -> Option<Text<'_>> {
    let mut inner = value.chars();
    match (inner.next(), inner.next_back()) {
        (Some(begin @ ('"' | '\'')), end) => {
            // A quote alone has no end of its own: `next_back` finds nothing, and it is refused.
            (end == Some(begin)).then(|| Cow::Owned(inner.as_str().to_owned()))
        }
        _ => Some(value),
    }
}

fn unknown_keyword(word: &Word<'_>) -> Fault {
    let help = match suggest::closest(&word.text, FORMS.iter().map(|(keyword, _)| *keyword)) {
        Some(keyword) => format!("did you mean {keyword}?"),
        None => {
            "a DAGMan line begins with a keyword such as JOB, PARENT, SPLICE or PRIORITY".to_owned()
        }
    };
    Fault {
        at: word.span.start,
        message: format!("'{}' is no DAGMan keyword", shortened(&word.text)),
        help,
    }
}
