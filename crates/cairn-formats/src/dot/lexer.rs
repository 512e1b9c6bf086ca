//! Cuts DOT text into tokens. Knows no grammar.

use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// An unquoted word: an id, unless the grammar wants a keyword there.
    Word(&'a str),
    /// A quoted id with its escapes undone, or an HTML id with its brackets.
    Quoted(Cow<'a, str>),
    Arrow,
    /// `--`, which only undirected graphs have.
    Line,
    /// One of `{}[]=;,:+`.
    Mark(u8),
    End,
}

/// What is wrong, where, and what to do.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: &'static str,
}

pub(super) fn wrong<T>(
    at: usize,
    message: impl Into<String>,
    help: &'static str,
) -> Result<T, Wrong> {
    let message = message.into();
    Err(Wrong { at, message, help })
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Where the next token begins, or blanks and comments before it.
    at: usize,
    /// Where the token before the last one ended.
    before: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            text,
            at: 0,
            before: 0,
        }
    }

    /// Where the last token ended.
    pub(super) fn end(&self) -> usize {
        self.at
    }

    /// Where the token before the last one ended.
    pub(super) fn end_before(&self) -> usize {
        self.before
    }

    /// The next token and where it begins. Strings joined by `+` are one token.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize), Wrong> {
        // Noted before blanks are skipped, for edits that go right behind a token.
        self.before = self.at;
        self.skip_blanks()?;
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let token = match rest {
            [] => Token::End,
            // Before words, which may begin with a minus.
            [b'-', b'>', ..] => self.take(2, Token::Arrow),
            [b'-', b'-', ..] => self.take(2, Token::Line),
            [
                mark @ (b'{' | b'}' | b'[' | b']' | b'=' | b';' | b',' | b':' | b'+'),
                ..,
            ] => self.take(1, Token::Mark(*mark)),
            [b'"', ..] => Token::Quoted(self.joined_strings()?),
            [b'<', ..] => Token::Quoted(Cow::Borrowed(self.html()?)),
            _ => Token::Word(self.word()?),
        };
        Ok((token, start))
    }

    fn take(&mut self, bytes: usize, token: Token<'a>) -> Token<'a> {
        self.at += bytes;
        token
    }

    /// Skips white space and comments: `/* */`, `//` and `#` to the end of the line.
    fn skip_blanks(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            // The line end stays for the next round, which skips it.
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(length) => self.at += length + 4,
                    None => {
                        let help = "close it with */";
                        return wrong(self.at, "this comment does not end", help);
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Letters, digits, `_` and `.`, with a `-` in front of a number; other than in strict DOT, a word may begin
    /// with a digit.
    fn word(&mut self) -> Result<&'a str, Wrong> {
        let bytes = &self.text.as_bytes()[self.at..];
        // Not empty: the end was told apart before.
        let sign = usize::from(bytes[0] == b'-');
        // Every byte of a letter beyond ASCII is 0x80 or more, so that words never end inside one.
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | 0x80..);
        let parts = bytes[sign..].iter().position(|&b| !is_part(b));
        let length = sign + parts.unwrap_or(bytes.len() - sign);
        if length == sign {
            let c = self.text[self.at..].chars().next().unwrap_or(' ');
            let message = format!("unexpected character '{}'", c.escape_debug());
            let help = "put ids with unusual characters into double quotes";
            return wrong(self.at, message, help);
        }
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        Ok(word)
    }

    /// `"…"`, or several joined by `+`.
    fn joined_strings(&mut self) -> Result<Cow<'a, str>, Wrong> {
        let mut whole = self.string()?;
        loop {
            let end = self.at;
            self.skip_blanks()?;
            if !self.text[self.at..].starts_with('+') {
                // No plus: what was skipped belongs to the next token, for edits go right behind this one.
                self.at = end;
                return Ok(whole);
            }
            self.at += 1;
            self.skip_blanks()?;
            if !self.text[self.at..].starts_with('"') {
                let help = "only quoted strings can be joined by +";
                return wrong(self.at, "there is no string after this +", help);
            }
            whole.to_mut().push_str(&self.string()?);
        }
    }

    /// `"…"` with `\"` for a quote and `\\` for a backslash; a backslash before the end of a line joins the lines,
    /// and before anything else stands for itself.
    fn string(&mut self) -> Result<Cow<'a, str>, Wrong> {
        let open = self.at;
        let mut start = open + 1;
        let mut at = start;
        let mut before = String::new();
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(at..) {
                None | Some([]) => {
                    return wrong(open, "this string does not end", "close it with \"");
                }
                Some([b'"', ..]) => break,
                Some([b'\\', b'"' | b'\\', ..]) => {
                    before.push_str(&self.text[start..at]);
                    (start, at) = (at + 1, at + 2);
                }
                Some([b'\\', rest @ ..])
                    if rest.starts_with(b"\n") || rest.starts_with(b"\r\n") =>
                {
                    before.push_str(&self.text[start..at]);
                    at += if rest[0] == b'\n' { 2 } else { 3 };
                    start = at;
                }
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        let last = &self.text[start..at];
        // No escape was met: the text is borrowed as it stands, which is nearly always so.
        if start == open + 1 {
            return Ok(Cow::Borrowed(last));
        }
        before.push_str(last);
        Ok(Cow::Owned(before))
    }

    /// `<…>` with angle brackets nested inside.
    fn html(&mut self) -> Result<&'a str, Wrong> {
        let open = self.at;
        let mut depth = 0usize;
        for (i, b) in self.text.as_bytes()[open..].iter().enumerate() {
            match b {
                b'<' => depth += 1,
                // Never below zero: it begins with a bracket, and ends where all are closed.
                b'>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at = open + i + 1;
                return Ok(&self.text[open..self.at]);
            }
        }
        wrong(open, "this HTML string does not end", "close it with >")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token<'_>>, Wrong> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next()?.0 {
                Token::End => return Ok(tokens),
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn every_kind_of_token() {
        let text = "a->b // x\n -1.5 /* - */ # y\r\n é_2 <<b>x</b>> {[=;,:]} -- \"q\"";
        let mark = |c: char| Token::Mark(c as u8);
        let mut expected = vec![Token::Word("a"), Token::Arrow, Token::Word("b")];
        expected.extend([Token::Word("-1.5"), Token::Word("é_2")]);
        expected.push(Token::Quoted("<<b>x</b>>".into()));
        expected.extend("{[=;,:]}".chars().map(mark));
        expected.extend([Token::Line, Token::Quoted("q".into())]);
        assert_eq!(tokens(text).unwrap(), expected);
    }

    #[test]
    fn strings_and_their_escapes() {
        for (text, value) in [
            (r#""""#, ""),
            (r#""a\"b""#, "a\"b"),
            (r#""a\\""#, "a\\"),
            (r#""a\nb\l""#, "a\\nb\\l"),
            ("\"a\\\nb\\\r\nc\nd\"", "abc\nd"),
            (r#""a" + "b"+/**/"c""#, "abc"),
        ] {
            let expected = vec![Token::Quoted(value.into())];
            assert_eq!(tokens(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_end_is_named_at_its_beginning() {
        for (text, at) in [
            ("a \"b", 2),
            ("a /* b", 2),
            ("a <b<c>", 2),
            ("a \"b\" + c", 8),
            ("a ?", 2),
            ("-", 0),
        ] {
            assert_eq!(tokens(text).unwrap_err().at, at, "{text}");
        }
    }
}
