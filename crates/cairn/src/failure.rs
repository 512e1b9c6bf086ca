//! How a command ends when it does not end well: one enum, one exit code each. Knows nothing of terminals.

use cairn_dag::plain;
use cairn_formats::{Report, Severity};

/// The exit code of a command that Ctrl-C ended, or that gave the best so far because of it.
// 128 and the number of SIGINT, as shells have it.
pub(crate) const INTERRUPTED_CODE: u8 = 130;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is unusable; the report says why.
    Input(Report),
    /// The command line, or a file it names, cannot be used: message and cure.
    Usage { message: String, help: String },
    /// The command did its work and the answer is "no"; everything worth saying was printed.
    No,
    /// The command did its work and found no fault, but could not prove everything; all of it was printed.
    Unproved,
    /// The command did its work and returns this code; everything worth saying was printed.
    Code(u8),
    /// Ctrl-C, and nothing worth giving: what was not done.
    Interrupted(&'static str),
    /// The reader of our output went away, as `head` does.
    BrokenPipe,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Usage {
            message: message.into(),
            help: help.into(),
        }
    }

    /// What a library says of a file, a store or a server: it may quote text from there, so that it is made plain.
    pub(crate) fn of(error: &dyn std::fmt::Display, help: impl Into<String>) -> Failure {
        Failure::usage(plain(&error.to_string()), help)
    }

    /// A file could not be written.
    pub(crate) fn writing(path: &str, error: &std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::BrokenPipe;
        }
        Failure::usage(
            format!("cannot write {path}: {error}"),
            "check that the folder exists, that you may write there, and that the disk is not full",
        )
    }

    /// What is wrong, in one line.
    pub(crate) fn words(&self) -> String {
        match self {
            Failure::Input(report) => (report.problems().iter())
                .find(|p| p.severity == Severity::Error)
                .map_or("the input cannot be used".to_owned(), |p| p.message.clone()),
            Failure::Usage { message, .. } => message.clone(),
            other => format!("{other:?}"),
        }
    }

    /// 1: the answer is no. 2: bad usage or input. 3: not all of it is proved. 130: interrupted.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // `head` has what it wanted: nothing went wrong.
            Failure::BrokenPipe => 0,
            Failure::No => 1,
            Failure::Input(_) | Failure::Usage { .. } => 2,
            Failure::Unproved => 3,
            Failure::Code(code) => *code,
            Failure::Interrupted(_) => INTERRUPTED_CODE,
        }
    }
}
