//! Words for a POSIX shell. Knows no format.

use std::borrow::Cow;

/// One word of a shell's, whatever is in it: quoted where the shell would take it as something else.
///
/// ```
/// use cairn_formats::shell_word;
/// assert_eq!(shell_word("a/b-1.txt"), "a/b-1.txt");
/// assert_eq!(shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(word: &str) -> Cow<'_, str> {
    // A list of what is safe, not of what is special: shells differ in the second.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=+,@%".contains(&b);
    match !word.is_empty() && word.bytes().all(plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(quoted(word)),
    }
}

fn quoted(word: &str) -> String {
    // Nothing but the quote itself means anything between single quotes: it is closed, escaped and opened again.
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Appends `word` to a command line: after a space, and quoted where a shell would not take it as one word.
///
/// The words `it's` and `b c` become `'it'\''s' 'b c'`.
pub(crate) fn push_word(line: &mut String, word: &str) {
    // A bare `a=b` in front would be an assignment, and no program.
    if line.is_empty() && word.contains('=') {
        line.push_str(&quoted(word));
        return;
    }
    if !line.is_empty() {
        line.push(' ');
    }
    line.push_str(&shell_word(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_no_assignment() {
        let mut line = String::new();
        ["a=b", "c=d"].iter().for_each(|w| push_word(&mut line, w));
        assert_eq!(line, "'a=b' c=d");
    }

    #[test]
    fn a_shell_reads_the_same_words() {
        let words = [
            "printf", "%s|", "a b", "it's", "", "$HOME", "x=1", "\\", "*",
        ];
        let mut line = String::new();
        for word in words {
            push_word(&mut line, word);
        }
        assert!(line.starts_with("printf '%s|' 'a b' 'it'\\''s' '' '$HOME' x=1 "));
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(&line)
            .output();
        let output = output.expect("a POSIX shell");
        let expected: String = words[2..].iter().map(|w| format!("{w}|")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}
