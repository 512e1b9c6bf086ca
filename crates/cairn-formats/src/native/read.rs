//! Reads native flow files: a TOML document, a JSON document, or JSON lines. Knows nothing of a task's fields.

use super::batch::{Batch, Sink, side_by_side};
use super::files::warn_of_unordered_reads;
use super::sweep::SweepSeed;
use super::task::{PoolsSeed, TaskSeed};
use crate::draft::Draft;
use crate::text::Text;
use crate::visit::{expecting, seed};
use crate::{Report, Source, json};
use cairn_dag::Flow;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reads `[[task]]` tables.
pub(crate) fn read_toml(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut document = Document::new(source, report);
    let (table, mut errors) = toml::de::DeTable::parse_recoverable(source.text());
    // A table with holes would only bring errors that follow from the first ones.
    if errors.is_empty() {
        let table = toml::Deserializer::from(table);
        errors.extend(DocumentSeed(&mut document).deserialize(table).err());
    }
    for error in &errors {
        document.draft().unreadable(
            |source| match error.span() {
                Some(span) => source.place_at(span.start),
                None => source.place(),
            },
            error.message(),
            "correct the TOML here; a task looks like: [[task]] name = \"a\" after = [\"b\"]",
        );
    }
    document.finish()
}

/// Reads `{"task": […]}` or the bare list.
pub(crate) fn read_json(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut document = Document::new(source, report);
    let mut input = serde_json::Deserializer::from_str(source.text());
    let result = DocumentSeed(&mut document).deserialize(&mut input);
    if let Err(error) = result.and_then(|()| input.end()) {
        json::unreadable(document.draft(), &error);
    }
    document.finish()
}

/// Bytes of a piece of JSON lines: what is read from it fits into a processor's own cache.
// Much smaller, and threads spend their time on taking pieces; much larger, and what was read has left the cache when
// the sink takes it. A judgement.
const PIECE: usize = 1 << 15;

/// Reads one task object a line; empty lines are skipped. A line that cannot be read is reported, and the next
/// one is tried.
pub(crate) fn read_json_lines(source: &Source, report: &mut Report) -> Option<Flow> {
    // Tasks that were read and not taken yet are larger than their text: never have a large part of it under way.
    let most = source.text().len() / PIECE / 16;
    if most < 2 {
        return read_pieces(source, report, 1, usize::MAX);
    }
    // Several for each processor, so that none waits long for the one that has the last.
    let pieces = most.min(8 * rayon::current_num_threads());
    read_pieces(source, report, pieces, PIECE)
}

/// Reads `pieces` pieces of about so many bytes side by side, and at the same time takes what the pieces before held.
fn read_pieces(source: &Source, report: &mut Report, pieces: usize, bytes: usize) -> Option<Flow> {
    let mut sink = Sink::new(Draft::new(source, report));
    // Tables that grow by doubling would copy all names some twenty times.
    sink.draft.build.reserve(guessed_lines(source.text()));
    let batches = || -> Vec<_> { (0..pieces).map(|_| Batch::new(source)).collect() };
    let (mut read, mut next) = (batches(), batches());
    let mut rest = read_next_pieces(source.text(), bytes, &mut read);
    // The pieces read last are taken behind the loop.
    while !rest.is_empty() {
        let read_on = || read_next_pieces(rest, bytes, &mut next);
        // One after the other the sink would wait for the readers, and they for it; two sets of batches let both go on.
        ((), rest) = rayon::join(|| sink.take(&mut read), read_on);
        std::mem::swap(&mut read, &mut next);
    }
    sink.take(&mut read);
    finish(sink, source)
}

/// Reads as many pieces as there are batches; what is left of the text.
fn read_next_pieces<'s>(text: &'s str, bytes: usize, batches: &mut [Batch<'s>]) -> &'s str {
    let mut rest = text;
    for batch in &mut *batches {
        (batch.piece, rest) = cut(rest, bytes);
    }
    side_by_side(batches, read_lines);
    rest
}

/// Cuts the text behind the first line break after so many bytes.
fn cut(text: &str, bytes: usize) -> (&str, &str) {
    // Bytes are searched, as `least` may be inside a character; behind a line break never is.
    let least = bytes.min(text.len());
    let more = text.as_bytes()[least..].iter().position(|&b| b == b'\n');
    text.split_at(more.map_or(text.len(), |more| least + more + 1))
}

/// Reads the lines of the batch's piece.
fn read_lines(batch: &mut Batch<'_>) {
    for line in batch.piece.split('\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        // Escaped strings are no part of the text: their place is then that of the line.
        batch.here = batch.mark(line);
        let mut input = serde_json::Deserializer::from_str(line);
        let result = TaskSeed(batch).deserialize(&mut input);
        if let Err(error) = result.and_then(|()| input.end()) {
            // Columns count from 1, and at the end of a line behind it.
            let column = error.column().saturating_sub(1).min(line.len());
            batch.unreadable(
                batch.here.saturating_add(column as u32),
                json::message(&error),
                "each line holds one task, such as {\"name\":\"a\",\"after\":[\"b\"]}",
            );
        }
    }
}

/// How many lines there are, if they go on as they begin. Never more than one for each 12 bytes, as a task needs.
fn guessed_lines(text: &str) -> usize {
    // Some hundred lines, read in microseconds.
    let head = &text.as_bytes()[..text.len().min(1 << 16)];
    let lines = head.iter().filter(|&&b| b == b'\n').count() + 1;
    (text.len() / (head.len() / lines).max(12)).max(1)
}

fn finish(sink: Sink<'_, '_>, source: &Source) -> Option<Flow> {
    let (flow, report) = sink.draft.finish_and_report();
    let flow = flow?;
    warn_of_unordered_reads(&flow, source, report);
    Some(flow)
}

/// A document under way: the tasks read last, and where they go.
struct Document<'s, 'r> {
    batch: [Batch<'s>; 1],
    sink: Sink<'s, 'r>,
}

impl<'s, 'r> Document<'s, 'r> {
    fn new(source: &'s Source, report: &'r mut Report) -> Document<'s, 'r> {
        Document {
            batch: [Batch::new(source)],
            sink: Sink::new(Draft::new(source, report)),
        }
    }

    /// The draft, with all tasks so far in it.
    fn draft(&mut self) -> &mut Draft<'s, 'r> {
        self.sink.take(&mut self.batch);
        &mut self.sink.draft
    }

    fn finish(mut self) -> Option<Flow> {
        let source = self.draft().source();
        finish(self.sink, source)
    }
}

/// A whole document: an object with a list of tasks, or that list.
struct DocumentSeed<'a, 's, 'r>(&'a mut Document<'s, 'r>);

seed!(DocumentSeed<'_, 'de, '_> => (), deserialize_any);

impl<'de> Visitor<'de> for DocumentSeed<'_, 'de, '_> {
    type Value = ();

    expecting!("a list of tasks, or an object with the field 'task' that holds it");

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        TasksSeed(self.0).visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            // An empty list is a list: only a document without the field is something else.
            found |= matches!(&*key, "task" | "tasks" | "sweep");
            match &*key {
                "task" | "tasks" => map.next_value_seed(TasksSeed(self.0))?,
                "sweep" => map.next_value_seed(SweepsSeed(self.0))?,
                "pools" => {
                    let batch = &mut self.0.batch[0];
                    let first = batch.pools.len();
                    map.next_value_seed(PoolsSeed(&mut batch.pools))?;
                    batch.limits(first);
                }
                key => {
                    let draft = self.0.draft();
                    let message = format!("unknown field '{key}' is ignored");
                    let help = "tasks are listed in the field 'task', limits of pools in 'pools'";
                    draft.warning(draft.mark(key), message, help);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if found {
            return Ok(());
        }
        Err(A::Error::custom(
            "there is no list of tasks: a flow file has a field 'task' or 'sweep'",
        ))
    }
}

/// The sweeps of a document. What each makes stands where the sweeps do.
struct SweepsSeed<'a, 's, 'r>(&'a mut Document<'s, 'r>);

seed!(SweepsSeed<'_, 'de, '_> => (), deserialize_seq);

impl<'de> Visitor<'de> for SweepsSeed<'_, 'de, '_> {
    type Value = ();

    expecting!("a list of sweeps");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let document = self.0;
        let mut unknown = Vec::new();
        while let Some(sweep) =
            list.next_element_seed(SweepSeed(&document.batch[0], &mut unknown))?
        {
            // Tasks read before this sweep are declared before its own, in the order of the file.
            document.draft();
            let Document { batch, sink } = &mut *document;
            for (field, mark) in unknown.drain(..) {
                let message = format!("unknown field '{field}' is ignored");
                let help = "a sweep has the fields 'over' and 'task'";
                sink.draft.warning(mark, message, help);
            }
            sweep.expand(sink, batch);
        }
        Ok(())
    }
}

/// The list of tasks in a document.
struct TasksSeed<'a, 's, 'r>(&'a mut Document<'s, 'r>);

seed!(TasksSeed<'_, 'de, '_> => (), deserialize_seq);

impl<'de> Visitor<'de> for TasksSeed<'_, 'de, '_> {
    type Value = ();

    expecting!("a list of tasks");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Document { batch, sink } = self.0;
        while (list.next_element_seed(TaskSeed(&mut batch[0]))?).is_some() {
            if batch[0].is_full() {
                sink.take(batch);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
