//! Text that keeps to a width: paragraphs, hanging lines, tables. Knows no meaning.

use std::fmt::Write;

/// Columns where nobody says how many there are.
// As help is wide at the most.
const USUAL: usize = 100;
/// Narrower terminals get lines of this length all the same.
// A word of a sentence, its lead and its indent must fit: narrower lines would break at every word.
const LEAST: usize = 40;

/// Columns to keep to: what the variable COLUMNS says, else the terminal, else the usual.
pub(crate) fn width() -> usize {
    known_width().unwrap_or(USUAL)
}

/// The same where anybody says how many there are.
pub(crate) fn known_width() -> Option<usize> {
    // First, as most programs have it: whoever sets it means it, also where output goes into a pipe.
    let told = std::env::var("COLUMNS").ok().and_then(|v| v.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = told.filter(|&width| width > 0).or_else(seen);
    width.map(|width| width.max(LEAST))
}

/// Characters that a text takes on a line; our own colours take none.
pub(crate) fn breadth(text: &str) -> usize {
    let colours = text.split('\x1b').skip(1);
    let colours = colours.map(|c| 1 + c.find('m').map_or(0, |end| end + 1));
    text.chars().count() - colours.sum::<usize>()
}

/// Remarks and errors, which go to standard error: long lines hang `indent` columns in where a terminal asks for it. A
/// log, whose width nobody knows, keeps each of them in one line.
pub(crate) fn remark(lead: &str, indent: usize, text: &str, width: Option<usize>) -> String {
    match width {
        Some(width) if breadth(lead) + breadth(text) > width => {
            hanging_at(lead, indent, text, width)
        }
        _ => format!("{lead}{text}\n"),
    }
}

/// The words of `text` in lines of at most `width`, the first after `lead`, the others below its end. A word that is
/// too long has a line of its own; one made [`whole`] is not broken. Lines of `text` stay apart. Ends with a line break.
pub(crate) fn hanging(lead: &str, text: &str, width: usize) -> String {
    hanging_at(lead, breadth(lead), text, width)
}

/// The same, with the lines after the first `indent` columns in.
pub(crate) fn hanging_at(lead: &str, indent: usize, text: &str, width: usize) -> String {
    let indent = " ".repeat(indent);
    let mut all = String::new();
    for (i, line) in text.lines().enumerate() {
        let mut now = if i == 0 { lead } else { &indent }.to_owned();
        let mut is_empty = i > 0 || breadth(lead) <= indent.len();
        for word in line.split(' ').filter(|w| !w.is_empty()) {
            let blank = |now: &str| usize::from(!now.is_empty() && !now.ends_with(' '));
            if !is_empty && breadth(&now) + blank(&now) + breadth(word) > width {
                all += now.trim_end();
                all.push('\n');
                now.clone_from(&indent);
            }
            now += &" ".repeat(blank(&now));
            now += word;
            is_empty = false;
        }
        all += now.trim_end();
        all.push('\n');
    }
    all.replace(UNBROKEN, " ")
}

/// What a file is called and what there is to say of it: in one line where that fits, else below it.
pub(crate) fn heading(name: &str, words: &str, width: usize) -> String {
    match breadth(name) + 2 + breadth(words) <= width {
        true => format!("{name}: {words}\n"),
        false => format!("{name}:\n{}", hanging("  ", words, width)),
    }
}

/// A name in at most `most` characters: what is left of a longer one are its beginning and its end.
pub(crate) fn short(name: &str, most: usize) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= most {
        return name.to_owned();
    }
    // Names often share their beginning and differ at their end: both are kept.
    let tail = most.saturating_sub(1) / 2;
    let head = most.saturating_sub(1 + tail);
    let (head, tail) = (&all[..head], &all[all.len() - tail..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Stands for a blank at which no line is broken.
// The no-break space, which `hanging` turns back into a blank: terminals would show it, and copies would keep it.
const UNBROKEN: char = '\u{a0}';

/// A text that stays in one line: what comes from a file must not begin one.
pub(crate) fn whole(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// A shell command in lines of at most `width`, joined by backslashes so that it can be copied.
pub(crate) fn command(command: &str, indent: usize, width: usize) -> String {
    let mut all = String::new();
    let mut now = " ".repeat(indent);
    let mut is_empty = true;
    for word in command.split_whitespace() {
        // Two for the backslash and its blank.
        if !is_empty && breadth(&now) + 1 + breadth(word) + 2 > width {
            all += &now;
            all += " \\\n";
            now = " ".repeat(indent + 4);
            is_empty = true;
        }
        if !is_empty {
            now.push(' ');
        }
        now += word;
        is_empty = false;
    }
    all += &now;
    all.push('\n');
    all
}

/// Pairs as two columns; one below the other where the width does not hold both. Commands on the left can be copied.
pub(crate) fn pairs(rows: &[(String, String)], indent: usize, width: usize) -> String {
    /// The right column is no narrower.
    // Chosen by eye: some four words a line.
    const RIGHT: usize = 24;
    let left = rows
        .iter()
        .map(|(left, _)| breadth(left))
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (name, about) in rows {
        if indent + left + 2 + RIGHT <= width {
            let lead = format!("{:indent$}{name:left$}  ", "");
            text += &hanging(&lead, about, width);
        } else {
            text += &command(name, indent, width);
            text += &hanging(&" ".repeat(indent + 4), about, width);
        }
    }
    text
}

/// Rows as columns of text, the first flush left, the others flush right. What the width does not hold is put below, with the
/// first column again.
pub(crate) fn columns(rows: &[Vec<String>], width: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, c: usize| row.get(c).map_or(0, |cell| breadth(cell));
    let widest = |c: usize| rows.iter().map(|row| cell(row, c)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let mut text = String::new();
    let mut from = 1;
    loop {
        let mut to = from;
        let mut used = 2 + widths.first().copied().unwrap_or(0);
        while to < count && (to == from || used + 2 + widths[to] <= width) {
            used += 2 + widths[to];
            to += 1;
        }
        for row in rows {
            let mut line = String::new();
            for c in std::iter::once(0).chain(from..to) {
                let (cell, width) = (row.get(c).map_or("", String::as_str), widths[c]);
                let _ = match c {
                    0 => write!(line, "  {cell:width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        if to >= count {
            return text;
        }
        text.push('\n');
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hang_below_the_end_of_their_lead() {
        let text = hanging("  order  ", "one two three four", 18);
        assert_eq!(text, "  order  one two\n         three\n         four\n");
        assert_eq!(
            hanging("", "a_very_long_word b", 4),
            "a_very_long_word\nb\n"
        );
        assert_eq!(hanging("> ", "a\nb", 10), "> a\n  b\n");
        let text = format!("a {} d", whole("b c"));
        assert_eq!(hanging("", &text, 4), "a\nb c\nd\n");
    }

    #[test]
    fn lines_hang_where_they_are_told_to() {
        assert_eq!(
            hanging_at("  12 × kind such as ", 4, "one two three", 16),
            "  12 × kind such as\n    one two\n    three\n"
        );
        assert_eq!(
            hanging_at("  1 × k: ", 4, "one two", 12),
            "  1 × k: one\n    two\n"
        );
    }

    #[test]
    fn remarks_are_folded_where_there_is_a_terminal() {
        let fit = |width| remark("error: ", 2, "one  two three", width);
        assert_eq!(fit(None), "error: one  two three\n");
        assert_eq!(fit(Some(21)), "error: one  two three\n");
        assert_eq!(fit(Some(15)), "error: one two\n  three\n");
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(breadth("\x1b[31;1merror:\x1b[0m älter"), 12);
        assert_eq!(breadth("mm"), 2);
    }

    #[test]
    fn a_heading_goes_below_the_name_where_the_width_does_not_hold_both() {
        assert_eq!(heading("x.dag", "4 tasks", 14), "x.dag: 4 tasks\n");
        assert_eq!(heading("x.dag", "4 tasks", 13), "x.dag:\n  4 tasks\n");
    }

    #[test]
    fn short_names_fit_and_keep_both_ends() {
        let name = "align sample-017 of lane äöü";
        for most in 3..40 {
            let short = short(name, most);
            assert!(breadth(&short) <= most, "{short}");
            assert_eq!(short == name, most >= breadth(name));
        }
        assert_eq!(short("abcdefghij", 7), "abc…hij");
    }

    #[test]
    fn a_broken_command_is_still_one() {
        let text = command("cairn plan workflow.dag --policy ic --json", 2, 24);
        assert!(text.lines().all(|line| line.len() <= 24), "{text}");
        let joined: Vec<&str> = text
            .split([' ', '\n', '\\'])
            .filter(|w| !w.is_empty())
            .collect();
        assert_eq!(
            joined.join(" "),
            "cairn plan workflow.dag --policy ic --json"
        );
        assert_eq!(text.matches(" \\\n").count(), text.lines().count() - 1);
    }

    #[test]
    fn tables_keep_every_cell_at_every_width() {
        let cells = |row: usize| {
            (0..7)
                .map(|c| format!("{}", (row + 1) * 10usize.pow(c)))
                .collect()
        };
        let rows: Vec<Vec<String>> = (0..3).map(cells).collect();
        for width in 20..90 {
            let text = columns(&rows, width);
            assert!(
                text.lines().all(|line| breadth(line) <= width),
                "{width}:\n{text}"
            );
            for cell in rows.iter().flatten() {
                assert!(
                    text.split_whitespace().any(|word| word == cell),
                    "{cell} at {width}:\n{text}"
                );
            }
        }
        assert_eq!(columns(&rows, 200).lines().count(), 3);
    }
}
