//! Text that fits: widths, shortening, wrapping, escaping. Knows the bundled font, not where text is placed.

use cairn_dag::is_plain;
use std::sync::OnceLock;
use ttf_parser::Face;

/// The most characters of one piece of the caller's text that are kept anywhere, tooltips included.
// Some lines of a tooltip, by eye: a task's name may be a whole shell script.
const LONGEST: usize = 240;

/// The bundled font: DejaVu Sans, under the Bitstream Vera licence (see `fonts/README.md`).
pub(crate) fn font() -> &'static [u8] {
    dejavu::sans::regular()
}

fn face() -> &'static Face<'static> {
    static FACE: OnceLock<Face<'static>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(font(), 0).expect("the bundled font is well formed"))
}

/// Width in pixels of one line of text. Characters the font lacks count as one em.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let face = face();
    let em = f64::from(face.units_per_em());
    let units: f64 = (text.chars())
        .map(|c| (face.glyph_index(c)).and_then(|glyph| face.glyph_hor_advance(glyph)))
        .map(|advance| advance.map_or(em, f64::from))
        .sum();
    units / em * size
}

/// The width of the widest.
pub(crate) fn widest(texts: impl Iterator<Item = impl AsRef<str>>, size: f64) -> f64 {
    texts
        .map(|text| width(text.as_ref(), size))
        .fold(0.0, f64::max)
}

/// The caller's text made fit for one line: no control or direction-changing characters, not absurdly long.
pub(crate) fn clean(text: &str) -> String {
    let mut out: String = (text.chars().take(LONGEST))
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            _ if !is_xml(c) || !is_plain(c) => '\u{FFFD}',
            _ => c,
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

/// Whether XML 1.0 can hold the character, escaped or not.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Appends `text` so that XML and HTML read it back as text, in an element or in a quoted attribute; what is no plain
/// text is marked as missing.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            _ if !is_xml(c) || !is_plain(c) => out.push('\u{FFFD}'),
            _ => out.push(c),
        }
    }
}

/// `text` escaped for XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// `text` if it is no wider than `room`, else its head and tail around an ellipsis: names of tasks often share
/// their head and differ in their tail. Empty if not even one character fits.
pub(crate) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().take(LONGEST + 1).collect();
    let cut = |kept: usize| -> String {
        let head = kept.div_ceil(2);
        let tail = chars.len() - (kept - head);
        (chars[..head].iter().chain(&['…']).chain(&chars[tail..])).collect()
    };
    // The more characters are kept, the wider: search for the most that fit.
    let (mut fits, mut too_many) = (0, chars.len());
    while too_many - fits > 1 {
        let middle = (fits + too_many) / 2;
        if width(&cut(middle), size) <= room {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    if fits == 0 { String::new() } else { cut(fits) }
}

/// Breaks `text` at blanks into at most `most` lines no wider than `room`; what is left over is cut with an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let joined = match lines.last() {
            Some(line) => format!("{line} {word}"),
            None => word.to_owned(),
        };
        if let Some(line) = lines.last_mut().filter(|_| width(&joined, size) <= room) {
            *line = joined;
        } else if lines.len() < most {
            lines.push(shorten(word, size, room));
        } else {
            let rest: Vec<&str> = words.collect();
            let last = lines.last_mut().expect("`most` is at least one");
            *last = shorten(&format!("{joined} {}", rest.join(" ")), size, room);
            break;
        }
    }
    lines
}

/// A whole number with commas between the thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 task", "1,203 tasks".
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_fits_and_keeps_both_ends() {
        let name = "individuals_ID0000017";
        let short = shorten(name, 12.0, 90.0);
        assert!(width(&short, 12.0) <= 90.0);
        assert!(short.starts_with("indi") && short.ends_with("017") && short.contains('…'));
        assert_eq!(shorten("ab", 12.0, 90.0), "ab");
        assert_eq!(shorten("ab", 12.0, 1.0), "");
        assert_eq!(shorten("", 12.0, 0.0), "");
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word_when_there_is_room() {
        let text = "the quick brown fox jumps over the lazy dog";
        let lines = wrap(text, 12.0, 120.0, 9);
        assert!(lines.len() > 1 && lines.iter().all(|l| width(l, 12.0) <= 120.0));
        assert_eq!(lines.join(" "), text);
        let cut = wrap(text, 12.0, 120.0, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].contains('…') && width(&cut[1], 12.0) <= 120.0);
        assert!(wrap("", 12.0, 120.0, 2).is_empty());
    }

    #[test]
    fn hostile_text_is_harmless() {
        assert_eq!(
            escape("<a b='c\"&\0\u{9b}\u{202e}'>"),
            "&lt;a b=&#39;c&quot;&amp;\u{FFFD}\u{FFFD}\u{FFFD}&#39;&gt;"
        );
        assert_eq!(clean("a\nb\u{202E}c\u{1}"), "a b\u{FFFD}c\u{FFFD}");
        assert_eq!(clean(&"x".repeat(10_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 12, 999, 1000, 1234567].map(grouped).join(" "),
            "0 12 999 1,000 1,234,567"
        );
    }
}
