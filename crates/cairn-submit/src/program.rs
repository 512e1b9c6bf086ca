//! Programs in Python that hand a workflow to an engine: how their texts are made, and what their exit codes mean. Knows no engine.

/// The exit code of a program that reached no server: nothing was submitted.
// Not 1 or 2, with which Python itself ends after an exception or a wrong flag.
pub const NO_SERVER: i32 = 3;

/// The exit code of a program that lacks the engine's package: nothing was submitted.
// The next free one.
pub const NO_PACKAGE: i32 = 4;

/// The exit code of a program that ran the workflow itself and lost its scheduler: how tasks ended is not known.
// The next free one.
pub(crate) const SCHEDULER_LOST: i32 = 5;

/// The exit code of a program that ran the workflow itself: a task failed.
// As programs that fail end; an exception of Python's is a failure, too.
pub const TASK_FAILED: i32 = 1;

/// A string for TOML, YAML and Python alike: JSON's escapes are theirs, but for the delete character.
pub(crate) fn string(text: &str) -> String {
    let json = serde_json::to_string(text).expect("text is JSON");
    json.replace('\u{7f}', "\\u007f")
}

/// A template with its marks replaced, in one pass: what is put in is never read as a mark.
pub(crate) fn filled(template: &str, parts: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some(at) = rest.find('@') {
        let (before, behind) = rest.split_at(at);
        text += before;
        // An @ that begins no mark stands for itself: names of tasks may have one.
        let found = parts.iter().find(|(mark, _)| behind.starts_with(mark));
        let (mark, part) = found.copied().unwrap_or(("@", "@"));
        text += part;
        rest = &behind[mark.len()..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_no_mark() {
        let parts = [("@NAME@", "@TASKS@ @"), ("@TASKS@", "@NAME@")];
        let text = filled("a@b @NAME@|@TASKS@@", &parts);
        assert_eq!(text, "a@b @TASKS@ @|@NAME@@");
    }
}
