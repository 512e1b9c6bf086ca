//! What was learnt of sizes, as text for the store, and for the book. Knows no store and no book.

use super::Disk;
use cairn_engine::{Engine, Position, Taken};
use std::time::{Duration, Instant};

/// The key under which the store has it.
pub(crate) const SIZES: &str = "sizes";

/// How often it is written down while tasks run.
// The text has a line a kind and is written whole: not with every group of events. What a crash loses of it is learnt again.
const SELDOM: Duration = Duration::from_secs(2);

/// What a store has under [`SIZES`]. What cannot be read is not known.
pub(crate) fn stored(text: Option<&str>) -> Taken {
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_default()
}

impl Disk {
    /// What was learnt, by the names of the kinds.
    pub(crate) fn taken<P: Position>(&self, engine: &Engine<P>) -> Taken {
        let sizes = engine.keeper().and_then(|keeper| keeper.sizes());
        sizes.map_or_else(Taken::default, |sizes| {
            Taken::of(&sizes.learnt(), &self.kinds)
        })
    }

    /// What was learnt since it was last told, now and then; or at once.
    pub(crate) fn learnt<P: Position>(
        &mut self,
        engine: &Engine<P>,
        at_once: bool,
    ) -> Option<String> {
        engine.keeper()?.sizes()?;
        let is_late = |(at, _): &(Instant, String)| at.elapsed() >= SELDOM;
        if !at_once && !self.told.as_ref().is_none_or(is_late) {
            return None;
        }
        let taken = self.taken(engine);
        let text = serde_json::to_string(&taken).ok()?;
        let is_new = (self.told.as_ref()).is_none_or(|(_, before)| *before != text);
        self.told = Some((Instant::now(), text.clone()));
        (is_new && !taken.is_empty()).then_some(text)
    }
}
