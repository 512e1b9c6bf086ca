//! What a node's label says, as plain lines of text: escapes, HTML-like labels, records. Knows nothing of graphs.

/// The text of a label, `raw` as it stands in the file, of the node called `name`.
pub(super) fn text(raw: &str, name: &str, is_record: bool) -> String {
    match raw.as_bytes().first() {
        Some(b'<') => html(raw),
        Some(b'"') => strings(raw, name, is_record),
        _ => raw.to_owned(),
    }
}

/// One quoted string, or several joined by `+`. `\n`, `\l` and `\r` end a line, `\N` is the node's name. In a record the
/// fields are lines, and ports are left out.
fn strings(raw: &str, name: &str, is_record: bool) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    // Raw text with quotes and pluses in it: what stands between two strings is skipped.
    let mut inside = false;
    let mut in_port = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => inside = !inside,
            _ if !inside => {}
            '\\' => match chars.next() {
                Some('n' | 'l' | 'r') => text.push('\n'),
                Some('N') => text.push_str(name),
                // The end of a line behind a backslash is none.
                Some('\r') if chars.peek() == Some(&'\n') => drop(chars.next()),
                Some('\n') | None => {}
                Some(other) => text.push(other),
            },
            '<' if is_record => in_port = true,
            '>' if is_record => in_port = false,
            _ if in_port => {}
            '{' | '}' if is_record => {}
            '|' if is_record => text.push('\n'),
            c => text.push(c),
        }
    }
    text
}

/// The text of an HTML-like label: tags are left out, rows and breaks end a line, entities are undone.
fn html(raw: &str) -> String {
    let inner = raw.strip_prefix('<').and_then(|r| r.strip_suffix('>'));
    let mut rest = inner.unwrap_or(raw);
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let close = if rest.starts_with('<') { '>' } else { ';' };
        // An ampersand that begins no entity: the rest is plain text.
        let Some(end) = rest.find(close) else {
            break;
        };
        let inside = &rest[1..end];
        rest = &rest[end + 1..];
        if close == ';' {
            push_entity(&mut text, inside);
            continue;
        }
        let tag = inside.trim_matches('/').split_whitespace().next();
        match tag.unwrap_or("").to_ascii_lowercase().as_str() {
            "br" | "tr" | "hr" => text.push('\n'),
            "td" => text.push(' '),
            _ => {}
        }
    }
    text.push_str(rest);
    text
}

fn push_entity(text: &mut String, name: &str) {
    let number = match name.strip_prefix('#') {
        Some(hex) if hex.starts_with(['x', 'X']) => u32::from_str_radix(&hex[1..], 16).ok(),
        Some(decimal) => decimal.parse().ok(),
        None => None,
    };
    match name {
        "lt" => text.push('<'),
        "gt" => text.push('>'),
        "amp" => text.push('&'),
        "quot" => text.push('"'),
        "apos" => text.push('\''),
        "nbsp" => text.push(' '),
        _ => match number.and_then(char::from_u32) {
            Some(c) => text.push(c),
            None => {
                text.push('&');
                text.push_str(name);
                text.push(';');
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_write_is_read_as_people_see_it() {
        for (raw, is_record, expected) in [
            (r#""align\nsample: A""#, false, "align\nsample: A"),
            (r#""C:\\new \"x\" \N""#, false, "C:\\new \"x\" id"),
            ("\"a\\\nb\" + \"c\"", false, "abc"),
            ("word", false, "word"),
            (r#""{<f0> left|{a\|b|<p>c}}""#, true, " left\na|b\nc"),
            (r#""{a|b}""#, false, "{a|b}"),
            (
                "<<b>bwa</b> &amp; &#65;&x;<br/>sort>",
                false,
                "bwa & A&x;\nsort",
            ),
            (
                "<<table><tr><td>a</td><td>b</td></tr></table>>",
                false,
                "\n a  b \n",
            ),
            ("<a & b>", false, "a & b"),
            ("<>", false, ""),
        ] {
            assert_eq!(text(raw, "id", is_record), expected, "{raw}");
        }
    }
}
