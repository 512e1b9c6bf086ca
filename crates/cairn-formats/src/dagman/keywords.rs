//! The keywords of DAGMan, and the form of their statements. Knows not how a statement is read.

/// The keywords, with the form of their statements. A `-` in a keyword may also be written `_`.
pub(super) const FORMS: [(&str, &str); 31] = [
    (
        "JOB",
        "JOB <node> <submit file or description> [DIR <directory>] [NOOP] [DONE]",
    ),
    (
        "FINAL",
        "FINAL <node> <submit file or description> [DIR <directory>] [NOOP]",
    ),
    (
        "PROVISIONER",
        "PROVISIONER <node> <submit file or description>",
    ),
    ("SERVICE", "SERVICE <node> <submit file or description>"),
    (
        "SUBDAG",
        "SUBDAG EXTERNAL <node> <dag file> [DIR <directory>] [NOOP] [DONE]",
    ),
    ("SPLICE", "SPLICE <name> <dag file> [DIR <directory>]"),
    ("INCLUDE", "INCLUDE <dag file>"),
    (
        "SUBMIT_DESCRIPTION",
        "SUBMIT-DESCRIPTION <name> {, then the description, then } on a line of its own",
    ),
    ("CATEGORY", "CATEGORY <node> <category>"),
    ("PARENT", "PARENT <node> … CHILD <node> …"),
    ("WEAK", "WEAK PARENT <node> … CHILD <node> …"),
    (
        "SCRIPT",
        "SCRIPT [DEFER <status> <seconds>] [DEBUG <file> STDOUT|STDERR|ALL] PRE|POST|HOLD <node> <script> …",
    ),
    ("RETRY", "RETRY <node> <times> [UNLESS-EXIT <code>]"),
    (
        "ABORT_DAG_ON",
        "ABORT-DAG-ON <node> <status> [RETURN <0…255>]",
    ),
    ("VARS", "VARS <node> [PREPEND|APPEND] <key>=<value> …"),
    ("PRIORITY", "PRIORITY <node> <integer>"),
    ("PRE_SKIP", "PRE_SKIP <node> <status>"),
    (
        "TOLERANCE",
        "TOLERANCE <node> <failures>[%] [FAIL-FAST|WAIT]",
    ),
    ("DONE", "DONE <node>"),
    ("MAXJOBS", "MAXJOBS <category> <number>"),
    ("CONFIG", "CONFIG <file>"),
    (
        "DOT",
        "DOT <file> [UPDATE|DONT-UPDATE] [OVERWRITE|DONT-OVERWRITE] [INCLUDE <file>]",
    ),
    (
        "NODE_STATUS_FILE",
        "NODE_STATUS_FILE <file> [<seconds>] [ALWAYS-UPDATE]",
    ),
    ("JOBSTATE_LOG", "JOBSTATE_LOG <file>"),
    ("SAVE_POINT_FILE", "SAVE_POINT_FILE <node> [<file>]"),
    ("SET_JOB_ATTR", "SET_JOB_ATTR <key> = <value>"),
    ("ENV", "ENV SET|GET <variables>"),
    ("REJECT", "REJECT"),
    ("CONNECT", "CONNECT <splice> <splice>"),
    ("PIN_IN", "PIN_IN <node> <number from 1>"),
    ("PIN_OUT", "PIN_OUT <node> <number from 1>"),
];

/// Whether `word` is `keyword` (in capitals, with `_`), in any case and with `-` for `_`.
pub(crate) fn is_keyword(word: &str, keyword: &str) -> bool {
    word.len() == keyword.len()
        && word.bytes().zip(keyword.bytes()).all(|(a, b)| {
            let a = if a == b'-' { b'_' } else { a };
            a.eq_ignore_ascii_case(&b)
        })
}
