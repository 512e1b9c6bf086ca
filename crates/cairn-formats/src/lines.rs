//! What the line-based readers share: places of lines, the longest line allowed, and freezing a flow.
//! Knows no format.

use crate::{Place, Report, Source};
use cairn_dag::{Flow, FlowBuilder, Mark};

/// The longest line, in bytes, that a line-based format may have. Longer ones are no workflow but a wrong file.
pub(crate) const LONGEST_LINE: usize = 64 << 20;

/// Whether no line is longer than [`LONGEST_LINE`]; reports the first that is.
pub(crate) fn lines_fit(source: &Source, report: &mut Report) -> bool {
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        if line.len() > LONGEST_LINE {
            let mebibytes = LONGEST_LINE >> 20;
            let message = format!(
                "this line has {} bytes; the most is {mebibytes} MiB",
                line.len()
            );
            report.error(
                source.place_at(start),
                message,
                "is this really a workflow? break the line up if so",
            );
            return false;
        }
        start += line.len();
    }
    true
}

/// The place of a line that serves as a mark; `Mark::MAX` is the whole file. Finding it is linear in the text, so once
/// the report is full only the file is named: the problem will be counted, not kept.
pub(crate) fn place_of_mark(source: &Source, mark: Mark, full: bool) -> Place {
    if full || mark == Mark::MAX {
        source.place()
    } else {
        source.place_of_line(mark)
    }
}

/// Whether the report keeps no more errors.
pub(crate) fn is_full(report: &Report) -> bool {
    report.errors() >= Report::LIMIT
}

/// Freezes what was built with line numbers for marks. `None` when there is, or was, an error.
pub(crate) fn finish(build: FlowBuilder, source: &Source, report: &mut Report) -> Option<Flow> {
    match build.finish() {
        Ok(flow) => (report.errors() == 0).then_some(flow),
        Err(errors) => {
            for error in &errors {
                let full = is_full(report);
                report.build_error(error, |mark| place_of_mark(source, mark, full));
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_line_is_refused() {
        let mut text = "short\n".to_owned();
        text.push_str(&"x".repeat(LONGEST_LINE + 1));
        let source = Source::from_text("long.stg", text);
        let mut report = Report::default();
        assert!(!lines_fit(&source, &mut report));
        let problem = &report.problems()[0];
        assert_eq!(problem.place.line, 2);
        assert!(problem.message.contains("64 MiB"), "{}", problem.message);
    }
}
