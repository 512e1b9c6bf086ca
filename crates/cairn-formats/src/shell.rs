//! Words for a POSIX shell. Knows no format.

/// Appends `word` to a command line: after a space, and quoted where a shell would not take it as one word.
///
/// The words `it's` and `b c` become `'it'\''s' 'b c'`.
pub(crate) fn push_word(line: &mut String, word: &str) {
    // A bare `a=b` in front would be an assignment, and no program.
    let is_first = line.is_empty();
    if !is_first {
        line.push(' ');
    }
    let plain =
        |b: u8| b.is_ascii_alphanumeric() || b"-_./:+,@%".contains(&b) || (b == b'=' && !is_first);
    if !word.is_empty() && word.bytes().all(plain) {
        line.push_str(word);
        return;
    }
    line.push('\'');
    line.push_str(&word.replace('\'', r"'\''"));
    line.push('\'');
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
