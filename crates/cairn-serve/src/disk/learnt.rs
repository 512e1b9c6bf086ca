//! What was learnt of sizes, as text for the store: by the name of the kind of task. Knows no store.

use super::Disk;
use cairn_engine::{Engine, Learnt, Position};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The key under which the store has it.
pub(crate) const SIZES: &str = "sizes";

/// How often it is written down while tasks run.
const SELDOM: Duration = Duration::from_secs(2);

/// Files of one sort.
#[derive(Serialize, Deserialize)]
struct Line {
    kind: String,
    output: u32,
    #[serde(default)]
    unknown: bool,
    seen: u32,
    most: f64,
}

impl Disk {
    /// What was learnt since it was last told, now and then; or at once.
    pub(crate) fn learnt<P: Position>(
        &mut self,
        engine: &Engine<P>,
        at_once: bool,
    ) -> Option<String> {
        let sizes = engine.keeper()?.sizes()?;
        let is_late = |(at, _): &(Instant, String)| at.elapsed() >= SELDOM;
        if !at_once && !self.told.as_ref().is_none_or(is_late) {
            return None;
        }
        let line = |l: Learnt| {
            Some(Line {
                kind: self.kinds.get(l.kind as usize)?.clone(),
                output: l.output,
                unknown: l.is_unknown,
                seen: l.seen,
                most: l.most,
            })
        };
        let lines: Vec<Line> = sizes.learnt().into_iter().filter_map(line).collect();
        let text = serde_json::to_string(&lines).ok()?;
        let is_new = (self.told.as_ref()).is_none_or(|(_, before)| *before != text);
        let is_empty = lines.is_empty();
        self.told = Some((Instant::now(), text.clone()));
        (is_new && !is_empty).then_some(text)
    }

    /// What an earlier run learnt, as it was told then. What cannot be read is not known.
    pub(crate) fn recall(&self, text: &str) -> Vec<Learnt> {
        let lines: Vec<Line> = serde_json::from_str(text).unwrap_or_default();
        let number = |kind: &str| self.kinds.iter().position(|k| k == kind);
        let learnt = lines.into_iter().filter_map(|l| {
            Some(Learnt {
                kind: u32::try_from(number(&l.kind)?).ok()?,
                output: l.output,
                is_unknown: l.unknown,
                seen: l.seen,
                most: l.most,
            })
        });
        learnt.collect()
    }
}
