//! Command lines that need no shell. Knows what a POSIX shell does with every character, and runs nothing.
//!
//! A line is plain when a shell would do nothing with it but cut it at blanks and execute the first word. Where that is in
//! doubt the line is not plain: a shell costs time, a wrong guess a wrong result.

/// Words that some shell knows itself, and does not find as programs: reserved words and builtins of dash, bash, ksh.
/// (Some build `cat` or `sleep` in, too, which then do what the programs do.)
const KNOWN_TO_SHELLS: [&str; 89] = [
    ".",
    ":",
    "alias",
    "autoload",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "float",
    "for",
    "function",
    "functions",
    "getopts",
    "hash",
    "help",
    "hist",
    "history",
    "if",
    "in",
    "integer",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "nameref",
    "popd",
    "print",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "redirect",
    "repeat",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "stop",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "whence",
    "while",
];

/// The words of a plain line; `None` for any other.
pub(super) fn words(line: &str) -> Option<impl Iterator<Item = &str>> {
    // A line break before or behind a command does nothing; one inside would end it.
    let line = line.trim_matches([' ', '\t', '\n']);
    // No quotes, no `~`, `$`, `*`, `;` and so on; letters beyond ASCII are left to the shell, whose locale may matter.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b" \t-_./:=+,@%".contains(&b);
    if line.is_empty() || !line.bytes().all(plain) {
        return None;
    }
    let words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    // Only the first word is looked up by a shell; builtins and reserved words mean nothing as arguments.
    let program = words.clone().next()?;
    // An assignment, a job of the shell's own, or what `sh -c` takes for an option.
    let is_special = program.contains(['=', '%']) || program.starts_with(['-', '+']);
    (!is_special && !KNOWN_TO_SHELLS.contains(&program)).then_some(words)
}
