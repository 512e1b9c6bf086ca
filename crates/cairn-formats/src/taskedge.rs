//! Stand-in.
use crate::{Report, Source};
use cairn_dag::Flow;

pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    report.error(source.place(), "not in this build", "");
    None
}
