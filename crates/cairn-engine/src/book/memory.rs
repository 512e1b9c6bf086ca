//! What a book keeps for later runs, by name. Knows no run.

use super::taken::{Lenient, Line};
use super::{Kind, KnownWorker, Taken};
use crate::Reputation;
use crate::budgets::remembered::{TASKS, WORKERS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of what is written down. Later forms only add.
// 3 since what files took is in it (CHANGELOG).
const VERSION: u32 = 3;

/// What was learnt in earlier runs: times of kinds of tasks and sizes of their files, speeds of workers, what is known of
/// volunteers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Memory {
    version: u32,
    kinds: BTreeMap<String, Remembered>,
    workers: BTreeMap<String, Remembered>,
    /// By who they are, whatever they call themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    volunteers: BTreeMap<String, Reputation>,
    #[serde(skip_serializing_if = "Taken::is_empty")]
    files: Taken,
    /// How many entries were left out when it was read, since they cannot be true.
    #[serde(skip)]
    spoilt: usize,
}

/// The same as it is read: whatever is wrong with one entry, the others count.
#[derive(Deserialize)]
struct Written {
    version: u32,
    kinds: BTreeMap<String, Lenient<Remembered>>,
    workers: BTreeMap<String, Lenient<Remembered>>,
    #[serde(default)]
    volunteers: BTreeMap<String, Lenient<Reputation>>,
    #[serde(default)]
    files: Vec<Lenient<Line>>,
}

impl From<Written> for Memory {
    fn from(written: Written) -> Memory {
        let mut spoilt = written.files.len();
        let files = Taken::from(written.files).for_others();
        spoilt = spoilt.saturating_sub(files.len());
        Memory {
            version: written.version,
            kinds: sound(written.kinds, Remembered::is_sound, &mut spoilt),
            workers: sound(written.workers, Remembered::is_sound, &mut spoilt),
            volunteers: sound(written.volunteers, |_| true, &mut spoilt),
            files,
            spoilt,
        }
    }
}

/// What can be read and can be true; the others are counted.
fn sound<T>(
    all: BTreeMap<String, Lenient<T>>,
    is_sound: impl Fn(&T) -> bool,
    spoilt: &mut usize,
) -> BTreeMap<String, T> {
    let count = all.len();
    let good = all.into_iter().filter_map(|(name, known)| {
        let known = known.good().filter(&is_sound)?;
        Some((name, known))
    });
    let good: BTreeMap<String, T> = good.collect();
    *spoilt += count - good.len();
    good
}

impl Default for Memory {
    /// Nothing.
    fn default() -> Memory {
        Memory::new(BTreeMap::new(), BTreeMap::new())
    }
}

/// Of a kind, the logarithm of its seconds at speed 1; of a worker, that of its speed. With how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(super) log: f64,
    /// Of a kind, the variance of one task's logarithm; of a worker, that of the estimate.
    variance: f64,
    returned: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) failed: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) lost: u64,
    /// When it was last written down: seconds since 1970.
    #[serde(default, skip_serializing_if = "is_none")]
    seen: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Memory {
    pub(super) fn new(
        kinds: BTreeMap<String, Remembered>,
        workers: BTreeMap<String, Remembered>,
    ) -> Memory {
        Memory {
            version: VERSION,
            kinds,
            workers,
            volunteers: BTreeMap::new(),
            files: Taken::default(),
            spoilt: 0,
        }
    }

    pub(crate) fn volunteers(&self) -> &BTreeMap<String, Reputation> {
        &self.volunteers
    }

    pub(crate) fn with_volunteers(self, volunteers: BTreeMap<String, Reputation>) -> Memory {
        Memory { volunteers, ..self }
    }

    /// What files of kinds of tasks took.
    pub fn files(&self) -> &Taken {
        &self.files
    }

    /// The same, and what files of kinds of tasks took.
    #[must_use]
    pub fn with_files(self, files: Taken) -> Memory {
        let files = files.for_others();
        Memory { files, ..self }
    }

    /// The same, written down so many seconds after 1970.
    #[must_use]
    pub fn seen(mut self, at: u64) -> Memory {
        let all = self.kinds.values_mut().chain(self.workers.values_mut());
        all.for_each(|known| known.seen = at);
        self.volunteers.values_mut().for_each(|v| v.seen = at);
        self
    }

    /// The same without those that nobody has seen for longest, where there are too many.
    #[must_use]
    pub fn bounded(mut self) -> Memory {
        keep_newest(&mut self.workers, |known| known.seen);
        keep_newest(&mut self.volunteers, |known| known.seen);
        self
    }

    /// A worker that was last seen then is not asked for any more.
    pub(crate) fn note(&mut self, (name, known): (String, Remembered), at: u64) {
        self.workers.insert(name, Remembered { seen: at, ..known });
        // Not for each beyond: every time all of them are gone over.
        if self.workers.len() > 2 * WORKERS {
            keep_newest(&mut self.workers, |known| known.seen);
        }
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
            && self.workers.is_empty()
            && self.volunteers.is_empty()
            && self.files.is_empty()
    }

    /// Whether this program can read it: it is not of a later form.
    pub fn is_readable(&self) -> bool {
        self.version <= VERSION
    }

    /// How many entries were left out when it was read, since they cannot be true or cannot be read.
    pub fn spoilt(&self) -> usize {
        self.spoilt
    }

    /// How many kinds and workers it knows.
    pub fn counts(&self) -> (usize, usize) {
        (self.kinds.len(), self.workers.len())
    }

    pub(super) fn kind(&self, name: &str) -> Option<&Remembered> {
        self.kinds.get(name)
    }

    pub(super) fn worker(&self, name: &str) -> Option<&Remembered> {
        self.workers.get(name)
    }

    /// This and what a later run learnt; of what both know, the later counts, but of files the most that either has seen.
    #[must_use]
    pub fn then(mut self, later: &Memory) -> Memory {
        self.kinds
            .extend(later.kinds.iter().map(|(n, r)| (n.clone(), *r)));
        self.workers
            .extend(later.workers.iter().map(|(n, r)| (n.clone(), *r)));
        for (who, later) in &later.volunteers {
            let before = self.volunteers.remove(who);
            let both = before.map_or_else(|| later.clone(), |before| before.then(later));
            self.volunteers.insert(who.clone(), both);
        }
        self.files = self.files.and(&later.files);
        // What an earlier cairn wrote is of this form from now on.
        self.version = VERSION;
        self
    }
}

/// Keeps the newest; of those that are as old, the first by name.
fn keep_newest<T>(all: &mut BTreeMap<String, T>, seen: impl Fn(&T) -> u64) {
    if all.len() <= WORKERS {
        return;
    }
    let mut times: Vec<u64> = all.values().map(&seen).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let oldest = times[WORKERS - 1];
    let mut room = times[..WORKERS].iter().filter(|&&t| t == oldest).count();
    all.retain(|_, known| match seen(known) {
        at if at == oldest => {
            let fits = room > 0;
            room = room.saturating_sub(1);
            fits
        }
        at => at > oldest,
    });
}

impl Remembered {
    /// Whether it can be true.
    fn is_sound(&self) -> bool {
        self.log.is_finite() && self.variance.is_finite() && self.variance >= 0.0
    }

    pub(super) fn of_kind(kind: &Kind) -> Remembered {
        let log = kind.log_seconds / kind.count;
        Remembered {
            log,
            variance: (kind.log_squares / kind.count - log * log).max(0.0),
            returned: kind.count as u64,
            failed: 0,
            lost: 0,
            seen: 0,
        }
    }

    pub(super) fn of_worker(worker: &KnownWorker) -> Remembered {
        Remembered {
            log: worker.sum / worker.precision,
            variance: 1.0 / worker.precision,
            returned: worker.returned,
            failed: worker.failed,
            lost: worker.lost,
            seen: 0,
        }
    }

    /// Squares of noise and how many.
    pub(super) fn noise(&self) -> (f64, f64) {
        let count = self.returned.min(TASKS) as f64;
        (count * self.variance, count)
    }

    /// How sure a remembered speed is. A machine that was fast may be busy with something else today: half as sure as it was, and
    /// never surer than to 14 % (judgements).
    pub(super) fn precision(&self) -> f64 {
        1.0 / (2.0 * self.variance).max(0.02)
    }
}
