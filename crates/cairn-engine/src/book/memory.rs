//! What a book keeps for later runs, by name. Knows no run.

use super::{Client, Kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of what is written down. Later forms only add.
const VERSION: u32 = 1;

/// What was learnt in earlier runs: times of kinds of tasks, speeds of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    version: u32,
    kinds: BTreeMap<String, Remembered>,
    workers: BTreeMap<String, Remembered>,
}

impl Default for Memory {
    /// Nothing.
    fn default() -> Memory {
        Memory::new(BTreeMap::new(), BTreeMap::new())
    }
}

/// Of a kind, the logarithm of its seconds at speed 1; of a worker, that of its speed. With how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) log: f64,
    /// Of a kind, the variance of one task's logarithm; of a worker, that of the estimate.
    variance: f64,
    returned: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) failed: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) lost: u64,
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
        }
    }

    /// Whether this program can read it: it is not of a later form.
    pub fn is_readable(&self) -> bool {
        self.version <= VERSION
            && (self.kinds.values().chain(self.workers.values()))
                .all(|r| r.log.is_finite() && r.variance.is_finite() && r.variance >= 0.0)
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

    /// This and what a later run learnt; of what both know, the later counts.
    #[must_use]
    pub fn then(mut self, later: &Memory) -> Memory {
        self.kinds
            .extend(later.kinds.iter().map(|(n, r)| (n.clone(), *r)));
        self.workers
            .extend(later.workers.iter().map(|(n, r)| (n.clone(), *r)));
        self
    }
}

impl Remembered {
    pub(super) fn of_kind(kind: &Kind) -> Remembered {
        let log = kind.log_seconds / kind.count;
        Remembered {
            log,
            variance: (kind.log_squares / kind.count - log * log).max(0.0),
            returned: kind.count as u64,
            failed: 0,
            lost: 0,
        }
    }

    pub(super) fn of_client(client: &Client) -> Remembered {
        Remembered {
            log: client.sum / client.precision,
            variance: 1.0 / client.precision,
            returned: client.returned,
            failed: client.failed,
            lost: client.lost,
        }
    }

    /// Squares of noise and how many: machines change, so no more than 20 tasks count.
    pub(super) fn noise(&self) -> (f64, f64) {
        let count = self.returned.min(20) as f64;
        (count * self.variance, count)
    }

    /// How sure a remembered speed is. A machine that was fast may be busy with something else today.
    pub(super) fn precision(&self) -> f64 {
        1.0 / (2.0 * self.variance).max(0.02)
    }
}
