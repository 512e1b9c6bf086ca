//! Finds the spots for priorities in native TOML, by the spans that the TOML parser gives. Knows nothing of a task but
//! the name of one field.

use super::spot::{Spot, Value, line_end};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The spots in the order in which the reader meets the tasks.
pub(crate) fn toml_spots(text: &str) -> Option<Vec<Spot>> {
    let document = DeTable::parse(text).ok()?;
    let mut spots = Vec::new();
    // The reader walks over a table of the same type, so both meet the keys in the same order.
    for (key, value) in document.get_ref() {
        if !matches!(&**key.get_ref(), "task" | "tasks") {
            continue;
        }
        let DeValue::Array(tasks) = value.get_ref() else {
            return None;
        };
        for task in tasks.iter() {
            spots.push(spot_of_task(text, task)?);
        }
    }
    Some(spots)
}

/// In a `[[task]]` table a new line goes behind the last value, indented like it; in an inline table a new field
/// does.
fn spot_of_task(text: &str, task: &Spanned<DeValue<'_>>) -> Option<Spot> {
    let DeValue::Table(fields) = task.get_ref() else {
        return None;
    };
    // Behind a table with a header of its own the new line would belong to that table.
    let own = fields.iter().filter(|(_, v)| is_assigned(text, v.span()));
    let (last_key, last) = own.max_by_key(|(_, value)| value.span().end)?;
    let values = fields.iter().filter(|(key, _)| key.get_ref() == "priority");
    let values = values.map(|(_, value)| Value {
        span: value.span(),
        is_said: true,
        ..Value::default()
    });
    let end = last.span().end;
    let (at, before) = match text[task.span()].starts_with('{') {
        true => (end, ", priority = ".to_owned()),
        false => {
            let (at, eol) = line_end(text, end);
            let line = text[..last_key.span().start]
                .rfind('\n')
                .map_or(0, |i| i + 1);
            let blanks = text[line..].trim_start_matches([' ', '\t']);
            let indent = &text[line..text.len() - blanks.len()];
            (at, format!("{eol}{indent}priority = "))
        }
    };
    Some(Spot {
        values: values.collect(),
        at: at..at,
        before,
        after: String::new(),
    })
}

/// Whether a value stands behind its own `=`. Others are tables with headers of their own, behind all of these.
fn is_assigned(text: &str, value: Range<usize>) -> bool {
    text[..value.start]
        .trim_end_matches([' ', '\t'])
        .ends_with('=')
}
