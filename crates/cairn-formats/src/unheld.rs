//! What a file says that a flow cannot hold, for every format. Knows where each format keeps its part, and the few
//! formats of plain lines themselves.

use crate::fields::{Held, Walk};
use crate::loss::{Loss, Tally};
use crate::{Format, Source};
use cairn_dag::Flow;
use serde::de::DeserializeSeed;

/// What `source`, which was read as `flow`, says beyond it: statements, fields and columns that no other format gets
/// to see.
pub(crate) fn unheld(source: &Source, format: Format, flow: &Flow) -> Vec<Loss> {
    let mut tally = Tally::default();
    let labelled = flow.has_labels();
    match format {
        Format::Dagman => crate::dagman::unheld(source, flow, &mut tally),
        Format::Dot => crate::dot::unheld(source, &mut tally),
        Format::Dax => crate::dax::unheld(source, &mut tally),
        Format::Makeflow => crate::makeflow::unheld(source, &mut tally),
        Format::TaskEdge => crate::taskedge::unheld(source, &mut tally),
        Format::Stg => crate::stg::unheld(source, &mut tally),
        Format::Csv | Format::Tsv => crate::edgelist::unheld(source, format, &mut tally),
        Format::WfFormat => json(&crate::wfformat::HELD, source, labelled, &mut tally),
        Format::Galaxy => json(&crate::galaxy::HELD, source, labelled, &mut tally),
        Format::Taskcluster => json(&crate::taskcluster::HELD, source, labelled, &mut tally),
        Format::FlowJson if source.text().trim_ascii_start().starts_with('[') => {
            json(&crate::native::HELD_OF_TASK, source, labelled, &mut tally);
        }
        Format::FlowJson => json(&crate::native::HELD, source, labelled, &mut tally),
        Format::FlowJsonLines => {
            for line in source.text().lines().filter(|l| !l.trim_ascii().is_empty()) {
                let mut input = serde_json::Deserializer::from_str(line);
                walk(
                    &crate::native::HELD_OF_TASK,
                    source,
                    labelled,
                    &mut tally,
                    |w| w.deserialize(&mut input),
                );
            }
        }
        Format::FlowToml => {
            if let Ok(input) = toml::Deserializer::parse(source.text()) {
                let held = &crate::native::HELD;
                walk(held, source, labelled, &mut tally, |w| w.deserialize(input));
            }
            comments(source, "#", &mut tally);
        }
        Format::PegasusYaml => {
            walk(
                &crate::pegasus::HELD,
                source,
                labelled,
                &mut tally,
                |walk| crate::pegasus::with_document(source.text(), walk),
            );
            crate::pegasus::outdone(source, &mut tally);
            comments(source, "#", &mut tally);
        }
    }
    tally.done()
}

fn json(held: &'static Held, source: &Source, labelled: bool, tally: &mut Tally) {
    let mut input = serde_json::Deserializer::from_str(source.text());
    walk(held, source, labelled, tally, |walk| {
        walk.deserialize(&mut input)
    });
}

/// Runs a walk. The source was read before, so an error can only come from what is ignored there, too.
fn walk<'s, E>(
    held: &'static Held,
    source: &'s Source,
    labelled: bool,
    tally: &mut Tally,
    run: impl FnOnce(Walk<'_, 's>) -> Result<(), E>,
) {
    let path = &mut String::new();
    let walk = Walk {
        held,
        source,
        labelled,
        tally,
        path,
    };
    // What was counted until then still holds: it is told, and that there may be more.
    if run(walk).is_err() {
        tally.add(
            "fields behind the first that cannot be read",
            "field",
            String::new,
        );
    }
}

/// Counts the lines that are comments.
pub(crate) fn comments(source: &Source, sign: &str, tally: &mut Tally) {
    for (number, line) in (1..).zip(source.text().lines()) {
        if line.trim_start().starts_with(sign) {
            tally.add("comments", "line", || at(source, number));
        }
    }
}

/// The line of a byte as it is named in a loss.
pub(crate) fn at_byte(source: &Source, offset: usize) -> String {
    at(source, source.place_at(offset).line)
}

/// A line as it is named in a loss.
pub(crate) fn at(source: &Source, line: u32) -> String {
    format!("{}:{line}", source.name())
}
