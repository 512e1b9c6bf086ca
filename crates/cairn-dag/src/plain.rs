//! Text of unknown origin made fit to be read on one line of a terminal. Knows neither terminals nor where the text came
//! from.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with everything that could forge a line, move a cursor or turn the direction of writing spelled out: a line
/// break becomes `\n`, the escape character `\u{1b}`. All else stays, so most text is given back as it is.
///
/// ```
/// assert_eq!(cairn_dag::plain("align sample A"), "align sample A");
/// assert_eq!(cairn_dag::plain("a\nproved\u{1b}[2J"), "a\\nproved\\u{1b}[2J");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    let Some(first) = first_unplain(text) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 8);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_plain(c) => out.push(c),
            c => write!(out, "\\u{{{:x}}}", u32::from(c)).expect("a String takes everything"),
        }
    }
    Cow::Owned(out)
}

/// Whether [`plain`] leaves the character as it is: no control, no line separator, nothing that is invisible and turns,
/// hides or joins what stands around it.
pub fn is_plain(c: char) -> bool {
    match c {
        ' '..='~' => true,
        // Marks and overrides of direction, separators of lines and paragraphs, the byte order mark, annotations, tags.
        '\u{61C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2066}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => false,
        c => !c.is_control(),
    }
}

/// Where the first character stands that [`plain`] would change.
pub(crate) fn first_unplain(text: &str) -> Option<usize> {
    // Most text is printable ASCII: a byte at a time.
    let start = text.bytes().position(|b| !matches!(b, b' '..=b'~'))?;
    let mut rest = text[start..].char_indices();
    rest.find(|&(_, c)| !is_plain(c)).map(|(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_forges_moves_or_turns_is_spelled_out() {
        for (text, shown) in [
            ("é ▷ 試 👩\u{200d}🔬", "é ▷ 試 👩\u{200d}🔬"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            (
                "\u{7}\u{8}\u{1b}]0;x\u{9b}2J",
                "\\u{7}\\u{8}\\u{1b}]0;x\\u{9b}2J",
            ),
            (
                "é\u{202e}b\u{2066}\u{2028}\u{7f}\0",
                "é\\u{202e}b\\u{2066}\\u{2028}\\u{7f}\\u{0}",
            ),
            ("", ""),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    proptest! {
        #[test]
        fn every_result_is_plain_and_plain_text_is_untouched(text in "\\PC{0,5}.{0,20}|[\\x00-\\x9f]{0,9}") {
            let shown = plain(&text);
            prop_assert!(shown.chars().all(is_plain));
            prop_assert_eq!(shown == text, text.chars().all(is_plain));
            prop_assert_eq!(plain(&shown), &*shown);
        }
    }
}
