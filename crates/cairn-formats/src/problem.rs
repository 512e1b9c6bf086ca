//! What is wrong with an input, and where. Knows nothing of terminals: the command line prints these.

use cairn_dag::{BuildError, Mark, NOWHERE};
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but something in it was ignored or looks wrong.
    Warning,
}

/// A place in an input. Line and column count from 1; 0 means the whole file, or the whole line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it; `-` is standard input.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The offending text, shortened.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// One thing that is wrong: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// What is wrong, naming the task or keyword.
    pub message: String,
    /// What to do; empty when nothing helpful can be said.
    pub help: String,
    /// What of it is asked of whoever reads the file for the user.
    pub cure: Option<Cure>,
}

/// What only the caller can offer to the user, and knows how to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// To name the format of the input.
    NameFormat,
    /// To leave the rescue file out.
    LeaveOutRescue,
    /// To give a command for tasks that have none.
    GiveCommand,
}

/// Collects problems while a reader goes on. Keeps the first fifty of each severity, counts the rest.
#[derive(Clone, Debug, Default)]
pub struct Report {
    problems: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

impl Report {
    /// How many errors, and how many warnings, are kept.
    // More than anybody reads at once; and a large file that is wrong in every line must not fill the memory.
    pub(crate) const LIMIT: usize = 50;

    /// Adds an error.
    pub fn error(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Error, place, message.into(), help.into());
    }

    /// Adds a warning.
    pub fn warning(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, place, message.into(), help.into());
    }

    /// Counts a problem, and keeps it if there is room among those of its severity.
    fn add(&mut self, severity: Severity, place: Place, message: String, help: String) {
        let met = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *met += 1;
        if *met <= Report::LIMIT {
            self.problems.push(Problem {
                severity,
                place,
                message,
                help,
                cure: None,
            });
        }
    }

    /// What the first problem says; nothing where there is none.
    pub(crate) fn first_message(&self) -> &str {
        self.problems.first().map_or("", |problem| &problem.message)
    }

    /// The error added last is cured by what the caller can offer.
    pub(crate) fn cured_by(&mut self, cure: Cure) {
        // An error that was not kept must not leave its cure with one that was.
        let last = self.problems.last_mut();
        if let Some(last) = last.filter(|_| self.errors <= Report::LIMIT) {
            last.cure = Some(cure);
        }
    }

    /// Keeps the first `keep` of all errors, and forgets the others as if they had never been met. Warnings stay.
    pub(crate) fn keep_errors(&mut self, keep: usize) {
        let mut kept = 0;
        self.problems.retain(|problem| {
            let is_error = problem.severity == Severity::Error;
            kept += usize::from(is_error);
            !is_error || kept <= keep
        });
        self.errors = self.errors.min(keep);
    }

    /// Adds what a [`cairn_dag::FlowBuilder`] found; `place` turns the reader's marks into places.
    pub(crate) fn build_error(&mut self, error: &BuildError, place: impl Fn(Mark) -> Place) {
        let (mark, help) = match error {
            BuildError::Duplicate { first, again, .. } => {
                let first = place(*first);
                let help =
                    format!("it was declared first at {first}; rename or remove one of them");
                (Some(*again), help)
            }
            BuildError::Unknown { mark, .. } => (
                Some(*mark),
                "declare the task, or correct the spelling (names are case-sensitive)".to_owned(),
            ),
            BuildError::EmptyName { mark } => (Some(*mark), "give the task a name".to_owned()),
            BuildError::Cycle { names, marks, arcs } => (
                arcs.first().copied().flatten().or(marks.first().copied()),
                cycle_help(names, arcs, &place),
            ),
            BuildError::SelfLoop { .. } => (None, "remove the dependency".to_owned()),
            BuildError::BadSeconds { .. }
            | BuildError::BadTimeLimit { .. }
            | BuildError::TooLarge { .. } => (None, String::new()),
        };
        let place = place(mark.unwrap_or(NOWHERE));
        self.error(place, error.to_string(), help);
    }

    /// Whether no more errors are kept, so that their places need not be found.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= Report::LIMIT
    }

    /// Number of errors met, kept or not.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Number of warnings met, kept or not.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// The kept problems, in the order met.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}
/// The cure of a cycle: its dependencies, with where each is stated, as far as that is known.
fn cycle_help(names: &[String], arcs: &[Option<Mark>], place: &impl Fn(Mark) -> Place) -> String {
    // Chosen by eye: a cycle may have thousands of arcs, and one of the first dozen is as good to remove as any.
    const SHOWN: usize = 12;
    let mut help = "a task cannot start before itself: remove one of these dependencies".to_owned();
    let next = names.iter().cycle().skip(1);
    let stated: Vec<String> = (names.iter().zip(next).zip(arcs).take(SHOWN))
        .filter_map(|((parent, child), mark)| {
            let place = place((*mark)?);
            Some(format!("{parent} -> {child} ({place})"))
        })
        .collect();
    if !stated.is_empty() {
        help += &format!(": {}", stated.join(", "));
    }
    if arcs.len() > SHOWN && !stated.is_empty() {
        help += ", …";
    }
    help
}
