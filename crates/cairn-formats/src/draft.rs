//! A flow under construction whose marks are places in one source, and which reports what the builder finds wrong.
//! Knows no format.

use crate::{Place, Report, Source, size};
use cairn_dag::{BuildError, Flow, FlowBuilder, Mark, NOWHERE, Symbol};

/// A builder, the source that marks point into, and the report that problems go to.
pub(crate) struct Draft<'s, 'r> {
    pub(crate) build: FlowBuilder,
    source: &'s Source,
    marks: Marks,
    report: &'r mut Report,
    errors_before: usize,
    incomplete: bool,
}

/// What marks count.
#[derive(Clone, Copy)]
enum Marks {
    /// Bytes from the beginning of the text.
    Bytes,
    /// Lines, from 1.
    Lines,
}

/// A number that a task may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Seconds,
    Cpus,
    Retries,
    Priority,
    /// Memory, with the bytes that a bare number counts.
    Memory(u64),
    /// Disk while it runs, with the bytes that a bare number counts.
    Scratch(u64),
    /// The longest that it may run, with the seconds that a number counts.
    TimeLimit(u32),
}

/// The unit of what other systems call a megabyte.
// Condor, Pegasus and Makeflow all say MB and count 2²⁰ bytes.
pub(crate) const MEBIBYTE: u64 = 1 << 20;
/// The unit of disk that a submit description asks for.
pub(crate) const KIBIBYTE: u64 = 1 << 10;

impl<'s, 'r> Draft<'s, 'r> {
    /// A draft whose marks are byte offsets.
    pub(crate) fn new(source: &'s Source, report: &'r mut Report) -> Draft<'s, 'r> {
        Draft::marked_by(Marks::Bytes, source, report)
    }

    /// A draft whose marks are numbers of lines.
    pub(crate) fn of_lines(source: &'s Source, report: &'r mut Report) -> Draft<'s, 'r> {
        Draft::marked_by(Marks::Lines, source, report)
    }

    fn marked_by(marks: Marks, source: &'s Source, report: &'r mut Report) -> Draft<'s, 'r> {
        Draft {
            build: FlowBuilder::new(),
            source,
            marks,
            errors_before: report.errors(),
            report,
            incomplete: false,
        }
    }

    /// Where `slice`, borrowed from the source, stands.
    #[inline]
    pub(crate) fn mark(&self, slice: &str) -> Mark {
        self.source.offset_of(slice).map_or(NOWHERE, mark_at)
    }

    /// Declares a task, or reports why not.
    pub(crate) fn declare(&mut self, name: &str, mark: Mark) -> Option<Symbol> {
        match self.build.declare(name, mark) {
            Ok(task) => Some(task),
            Err(error) => {
                self.build_error(&error);
                None
            }
        }
    }

    /// Adds an arc, or reports that a task would wait for itself.
    #[inline]
    pub(crate) fn arc(&mut self, parent: Symbol, child: Symbol, mark: Mark) {
        if let Err(error) = self.build.arc_at(parent, child, mark) {
            self.error(mark, error.to_string(), "remove the dependency");
        }
    }

    /// Sets a duration, or reports that it is none.
    pub(crate) fn seconds(&mut self, task: Symbol, seconds: f64, mark: Mark) {
        if let Err(error) = self.build.set_seconds(task, seconds) {
            self.error(mark, error.to_string(), "correct or remove the duration");
        }
    }

    /// Sets a time limit, or reports that it is none.
    pub(crate) fn time_limit(&mut self, task: Symbol, seconds: f64, mark: Mark) {
        if let Err(error) = self.build.set_time_limit(task, seconds) {
            self.error(mark, error.to_string(), "correct or remove the time limit");
        }
    }

    /// Sets a duration that another program measured; what is none is left out with a warning.
    pub(crate) fn measured_seconds(&mut self, task: Symbol, seconds: f64, mark: Mark) {
        if let Err(error) = self.build.set_seconds(task, seconds) {
            self.warning(mark, error.to_string(), "the duration is ignored");
        }
    }

    /// Sets what a text says; `false` when it is no such number.
    pub(crate) fn number(&mut self, task: Symbol, what: Number, text: &str) -> bool {
        let build = &mut self.build;
        match what {
            Number::Seconds => (text.parse()).is_ok_and(|s| build.set_seconds(task, s).is_ok()),
            Number::Cpus => text.parse().map(|n| build.set_cpus(task, n)).is_ok(),
            Number::Retries => text.parse().map(|n| build.set_retries(task, n)).is_ok(),
            Number::Priority => text.parse().map(|n| build.set_priority(task, n)).is_ok(),
            Number::Memory(unit) => {
                let bytes = size::parse_binary(text, unit);
                bytes.map(|n| build.set_memory(task, n)).is_some()
            }
            Number::Scratch(unit) => {
                let bytes = size::parse_binary(text, unit);
                bytes.map(|n| build.set_scratch(task, n)).is_some()
            }
            Number::TimeLimit(unit) => (text.parse::<f64>())
                .is_ok_and(|n| build.set_time_limit(task, n * f64::from(unit)).is_ok()),
        }
    }

    /// The size of a file, as other programs write it; what is none is left out with a warning.
    pub(crate) fn bytes(&mut self, size: &str, mark: Mark) -> Option<u64> {
        let size = size.trim();
        // Some write a whole number as `2.0e3`; those are below 2⁵³ or rounded already.
        let float = || size.parse().ok().and_then(whole_bytes);
        // The whole number first: as a float it would lose digits beyond 2⁵³.
        let bytes = size.parse().ok().or_else(float);
        if bytes.is_none() && !size.is_empty() {
            let message = format!("'{size}' is no size of a file and is ignored");
            self.warning(mark, message, "write the number of bytes");
        }
        bytes
    }

    /// The same of a number.
    pub(crate) fn sized(&mut self, size: f64, mark: Mark) -> Option<u64> {
        let bytes = whole_bytes(size);
        if bytes.is_none() {
            let message = format!("{size} is no size of a file and is ignored");
            self.warning(mark, message, "write the number of bytes");
        }
        bytes
    }

    pub(crate) fn error(
        &mut self,
        mark: Mark,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(mark, self.report.errors());
        self.report.error(place, message, help);
    }

    pub(crate) fn warning(
        &mut self,
        mark: Mark,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(mark, self.report.warnings());
        self.report.warning(place, message, help);
    }

    /// A part of the input could not be read at all: tasks that seem to be missing may be there.
    pub(crate) fn unreadable(
        &mut self,
        place: impl FnOnce(&Source) -> Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        // What follows from a break in the text is not told as well.
        self.incomplete = true;
        let place = match self.report.is_full() {
            // Past the limit nobody sees it, and finding a place is linear.
            true => self.source.place(),
            false => place(self.source),
        };
        self.report.error(place, message, help);
    }

    pub(crate) fn source(&self) -> &'s Source {
        self.source
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_sound(&self) -> bool {
        self.report.errors() == self.errors_before
    }

    /// Whether no more warnings are kept.
    pub(crate) fn has_warned_enough(&self) -> bool {
        self.report.warnings() >= Report::LIMIT
    }

    /// Freezes the flow. `None` when anything was wrong, and then the report says what.
    pub(crate) fn finish(self) -> Option<Flow> {
        self.finish_and_report().0
    }

    /// Freezes the flow, and gives the report back for what can only be seen in the whole flow.
    pub(crate) fn finish_and_report(mut self) -> (Option<Flow>, &'r mut Report) {
        // Otherwise every task behind the break would be called undeclared.
        if self.incomplete {
            return (None, self.report);
        }
        let flow = match std::mem::take(&mut self.build).finish() {
            // Frozen all the same: cycles and undeclared tasks are told in one go with what readers found.
            Ok(flow) => Some(flow).filter(|_| self.is_sound()),
            Err(errors) => {
                for error in &errors {
                    self.build_error(error);
                }
                None
            }
        };
        (flow, self.report)
    }

    /// Reports what the builder found wrong.
    pub(crate) fn build_error(&mut self, error: &BuildError) {
        // Copied out first, since the report is lent while places are found.
        let (source, marks, reported) = (self.source, self.marks, self.report.errors());
        (self.report).build_error(error, |mark| place(source, marks, mark, reported));
    }

    fn place(&self, mark: Mark, reported: usize) -> Place {
        place(self.source, self.marks, mark, reported)
    }
}

/// A size as a whole number; `None` when it is none.
pub(crate) fn whole_bytes(size: f64) -> Option<u64> {
    // The cast cuts fractions and saturates: a size beyond all disks stays one.
    (size.is_finite() && size >= 0.0).then_some(size as u64)
}

/// A byte offset as a mark. (Sources are limited to less than 4 GiB.)
pub(crate) fn mark_at(offset: usize) -> Mark {
    Mark::try_from(offset).unwrap_or(NOWHERE)
}

/// Finding a place is linear, and a report keeps only so many: past them the file itself will do.
fn place(source: &Source, marks: Marks, mark: Mark, reported: usize) -> Place {
    match marks {
        _ if mark == NOWHERE || reported >= Report::LIMIT => source.place(),
        Marks::Bytes => source.place_at(mark as usize),
        Marks::Lines => source.place_of_line(mark),
    }
}
