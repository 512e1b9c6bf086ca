//! Cuts a DAGMan file into logical lines and words, keeping where in the text each lies. Knows no keyword.
//!
//! As DAGMan reads it: a line that ends in a backslash goes on in the next, blank lines and comments (`#` or `//`)
//! between them do not count, and words end at a blank, a tab or a carriage return outside quotes.

use std::borrow::Cow;
use std::ops::Range;

/// Physical lines, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    at: usize,
    /// Number of the line that `at` begins, from 1.
    line: u32,
}

/// A physical line that is neither blank nor a comment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// Without white space around it.
    pub(crate) text: &'t str,
    /// Where `text` begins.
    pub(crate) start: usize,
    /// Where the physical line ends, before `\n` or `\r\n`.
    pub(crate) end: usize,
    pub(crate) number: u32,
}

impl Line<'_> {
    fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Lines<'t> {
        Lines {
            text,
            at: 0,
            line: 1,
        }
    }

    /// Where the next physical line begins.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next line that says something.
    pub(crate) fn next_line(&mut self) -> Option<Line<'t>> {
        // A file that ends with a line end has no empty line behind it.
        while self.at < self.text.len() {
            let start = self.at;
            let rest = &self.text[start..];
            let length = rest.find('\n');
            self.at += length.map_or(rest.len(), |l| l + 1);
            let number = self.line;
            // Places are kept in 32 bits; a file has fewer bytes than that.
            self.line = self.line.saturating_add(1);
            let whole = &rest[..length.unwrap_or(rest.len())];
            let text = whole.trim_matches(is_space);
            if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
                continue;
            }
            let indent = whole.len() - whole.trim_start_matches(is_space).len();
            // Edits put their line before the line end, whichever it is.
            let end = start + whole.strip_suffix('\r').unwrap_or(whole).len();
            return Some(Line {
                text,
                start: start + indent,
                end,
                number,
            });
        }
        None
    }

    /// The next logical line: one line and those that continue it.
    pub(crate) fn next_logical(&mut self) -> Option<Logical<'t>> {
        let first = self.next_line()?;
        let mut words = Words::of_span(self.text, first.span());
        let mut last = first;
        // The backslash is cut off the part that was added last, or off the first line.
        while last.text.ends_with('\\') {
            match words.parts.last_mut() {
                Some(part) => part.end -= 1,
                None => words.end -= 1,
            }
            // Blank lines and comments between continued lines do not end the statement, as DAGMan reads it.
            let Some(next) = self.next_line() else { break };
            words.parts.push(next.span());
            last = next;
        }
        Some(Logical {
            words,
            start: first.start,
            end: last.end,
            line: first.number,
        })
    }
}

/// White space as C's `isspace` has it.
fn is_space(c: char) -> bool {
    // Not `char::is_whitespace`: a no-break space is a part of a name for DAGMan.
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// A logical line.
#[derive(Clone, Debug)]
pub(crate) struct Logical<'t> {
    pub(crate) words: Words<'t>,
    pub(crate) start: usize,
    /// Where its last physical line ends, before `\n` or `\r\n`.
    pub(crate) end: usize,
    /// Number of its first physical line.
    pub(crate) line: u32,
}

/// The words of a logical line, cut off one by one.
#[derive(Clone, Debug)]
pub(crate) struct Words<'t> {
    text: &'t str,
    /// Continuation lines, without white space around them and without their backslash.
    parts: Vec<Range<usize>>,
    /// How many of `parts` have been begun.
    part: usize,
    at: usize,
    /// End of the part that `at` is in.
    end: usize,
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) span: Range<usize>,
}

/// A quote that is never closed: where it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenQuote(pub(crate) usize);

/// Whether the quotes around (a piece of) a word belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// DAGMan keeps them in names: `"a b"` is a name of five characters.
    Keep,
    /// DAGMan drops them from file names.
    Drop,
}

impl<'t> Words<'t> {
    /// The words of a text without continuation lines.
    pub(crate) fn of(text: &'t str) -> Words<'t> {
        Words::of_span(text, 0..text.len())
    }

    /// The words of `span` of the same text.
    pub(crate) fn of_span(text: &'t str, span: Range<usize>) -> Words<'t> {
        Words {
            text,
            parts: Vec::new(),
            part: 0,
            at: span.start,
            end: span.end,
        }
    }

    /// Where the next character stands.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next byte; where a line goes on in the next one, a blank.
    pub(crate) fn peek(&self) -> Option<u8> {
        if self.at < self.end {
            return Some(self.text.as_bytes()[self.at]);
        }
        // DAGMan joins continued lines by a blank, so that words never run together there.
        (self.part < self.parts.len()).then_some(b' ')
    }

    /// Moves past the byte that [`Words::peek`] gave.
    pub(crate) fn bump(&mut self) {
        if self.at < self.end {
            self.at += 1;
        } else if let Some(next) = self.parts.get(self.part) {
            (self.at, self.end) = (next.start, next.end);
            self.part += 1;
        }
    }

    pub(crate) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.bump();
        }
    }

    /// Whether no word is left.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.skip_blanks();
        self.peek().is_none()
    }

    /// The text from `start` up to here; both must lie in the same physical line.
    pub(crate) fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// All that follows, continuation lines joined by blanks.
    pub(crate) fn rest(&self) -> Cow<'t, str> {
        let here = &self.text[self.at..self.end];
        match &self.parts[self.part.min(self.parts.len())..] {
            [] => Cow::Borrowed(here.trim()),
            more => {
                let more = more.iter().map(|part| &self.text[part.clone()]);
                let all: Vec<&str> = [here].into_iter().chain(more).collect();
                Cow::Owned(all.join(" ").trim().to_owned())
            }
        }
    }

    /// Cuts off the next word. Inside quotes a backslash takes the next character as it is. A word of which nothing
    /// is left without its quotes does not count.
    pub(crate) fn next_word(&mut self, quotes: Quotes) -> Result<Option<Word<'t>>, OpenQuote> {
        loop {
            self.skip_blanks();
            let start = self.at;
            // Behind the blanks: a line that ends in them has no further word.
            if self.peek().is_none() {
                return Ok(None);
            }
            while self.at < self.end
                && !is_blank(self.text.as_bytes()[self.at])
                && !is_quote(self.text.as_bytes()[self.at])
            {
                self.at += 1;
            }
            let plain = &self.text[start..self.at];
            // The usual word has no quotes and needs no copy.
            if !self.peek().is_some_and(is_quote) {
                return Ok(Some(Word {
                    text: Cow::Borrowed(plain),
                    span: start..self.at,
                }));
            }
            let text = self.quoted_rest(plain, quotes)?;
            // An empty file name in quotes is passed over, and the next word taken: so DAGMan does.
            if !text.is_empty() {
                return Ok(Some(Word {
                    text: Cow::Owned(text),
                    span: start..self.at,
                }));
            }
        }
    }

    /// The rest of a word that has a quote in it, from the quote on, appended to what came before.
    fn quoted_rest(&mut self, before: &str, quotes: Quotes) -> Result<String, OpenQuote> {
        let mut bytes = before.as_bytes().to_vec();
        let mut open: Option<(u8, usize)> = None;
        while let Some(byte) = self.peek() {
            match open {
                None if is_blank(byte) => break,
                None if is_quote(byte) => {
                    open = Some((byte, self.at));
                    if quotes == Quotes::Keep {
                        bytes.push(byte);
                    }
                }
                // Only inside quotes: outside a backslash is a character as any other.
                Some(_) if byte == b'\\' => {
                    self.bump();
                    if let Some(escaped) = self.peek() {
                        bytes.push(escaped);
                    }
                }
                Some((quote, _)) if byte == quote => {
                    open = None;
                    if quotes == Quotes::Keep {
                        bytes.push(byte);
                    }
                }
                _ => bytes.push(byte),
            }
            self.bump();
        }
        match open {
            Some((_, offset)) => Err(OpenQuote(offset)),
            // Nothing is lost: bytes were taken one by one, but those of a character all, as blanks, quotes and backslashes
            // are none of its inner ones.
            None => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    // Fewer than `is_space` has: DAGMan trims lines and cuts words by different rules.
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, quotes: Quotes) -> Vec<Vec<String>> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        while let Some(mut logical) = lines.next_logical() {
            let mut row = Vec::new();
            while let Some(word) = logical.words.next_word(quotes).unwrap() {
                row.push(word.text.into_owned());
            }
            all.push(row);
        }
        all
    }

    #[test]
    fn comments_and_blank_lines_fall_out_even_between_continued_lines() {
        let text =
            "# first\n  // second\n\nPARENT a \\\n# not me\n\n  b \\\r\n CHILD c\\\nd\nJOB x y\\";
        assert_eq!(
            words(text, Quotes::Keep),
            [
                vec!["PARENT", "a", "b", "CHILD", "c", "d"],
                vec!["JOB", "x", "y"]
            ]
        );
    }

    #[test]
    fn quotes_stay_in_names_and_leave_file_names() {
        let text = r#"a"b c"d '' "x\"y" "" 'it "is"'"#;
        assert_eq!(
            words(text, Quotes::Keep),
            [[r#"a"b c"d"#, "''", r#""x"y""#, r#""""#, r#"'it "is"'"#]]
        );
        assert_eq!(
            words(text, Quotes::Drop),
            [["ab cd", r#"x"y"#, r#"it "is""#]]
        );
    }

    #[test]
    fn a_quote_may_span_continued_lines() {
        assert_eq!(words("\"a \\\n b\" c", Quotes::Drop), [["a  b", "c"]]);
    }

    #[test]
    fn an_open_quote_is_an_error_with_its_place() {
        let mut logical = Lines::new("VARS a x=\"1").next_logical().unwrap();
        let mut last = Ok(None);
        for _ in 0..3 {
            last = logical.words.next_word(Quotes::Keep);
        }
        assert_eq!(last, Err(OpenQuote(9)));
    }

    #[test]
    fn spans_point_into_the_text() {
        let text = "\n  JOB  ü  x.sub \\\r\n   DONE\r\nJOB b";
        let mut lines = Lines::new(text);
        let mut logical = lines.next_logical().unwrap();
        assert_eq!((logical.start, logical.line), (3, 2));
        assert_eq!(
            &text[logical.start..logical.end],
            "JOB  ü  x.sub \\\r\n   DONE"
        );
        while let Some(word) = logical.words.next_word(Quotes::Keep).unwrap() {
            assert_eq!(text[word.span.clone()], word.text);
        }
        assert_eq!(lines.next_logical().unwrap().line, 4);
        assert!(lines.next_logical().is_none());
    }
}
