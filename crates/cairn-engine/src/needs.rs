//! What tasks need and what workers offer. Knows no task and no worker.

use crate::{ClientId, Span};
use serde::{Deserialize, Serialize};

/// A named resource that all workers share, such as licences, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

cairn_kernel::ids! {
    /// A class of tasks with equal needs, by number.
    pub ClassId,
}

/// What a task needs. Tasks with the same needs form a class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    /// Processors; 0 counts as 1, and more than the worker has counts as all of them.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// How much of which shared resource, by growing number.
    pub pools: Vec<(PoolId, u32)>,
    /// Words that the worker's tags must contain, sorted.
    pub tags: Vec<String>,
    /// A worker that leaves sooner is not asked.
    pub life: Span,
    /// An attempt that takes longer is ended.
    pub limit: Option<Span>,
}

impl Default for Needs {
    /// One processor and nothing else.
    fn default() -> Needs {
        Needs {
            cpus: 1,
            memory: 0,
            pools: Vec::new(),
            tags: Vec::new(),
            life: Span(0),
            limit: None,
        }
    }
}

impl Needs {
    /// Whether both need some of one shared resource.
    pub(crate) fn shares_pool_with(&self, other: &Needs) -> bool {
        let is_needed = |&(pool, _): &_| other.pools.iter().any(|&(also, _)| also == pool);
        self.pools.iter().any(is_needed)
    }
}

/// What a worker offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Processors; that many tasks of one processor at the same time.
    pub cpus: u32,
    /// Bytes of memory; `None` where nobody counts.
    #[serde(default)]
    pub memory: Option<u64>,
    /// Words by which tasks find it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// When it leaves, where that is known: microseconds since 1970.
    #[serde(default)]
    pub until: Option<u64>,
    /// Who it is, where nobody vouches for it: its results count as [`crate::Distrust`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientId>,
    /// Whether it works in the folder of the workflow itself, where two attempts at one task would write over each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
    /// Bytes for the folders of its tasks; `None` where nobody counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// How fast it is by its own benchmark when it came, in thousandths of the machine that expectations are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<u32>,
}

impl Offer {
    /// Bytes of memory that all its tasks together may take: no number is too large where nobody counts.
    pub(crate) fn most_memory(&self) -> u64 {
        self.memory.unwrap_or(u64::MAX)
    }

    /// So many processors, and nobody counts the rest.
    pub fn cpus(cpus: u32) -> Offer {
        Offer {
            cpus,
            memory: None,
            tags: Vec::new(),
            until: None,
            client: None,
            is_shared: false,
            disk: None,
            benchmark: None,
        }
    }

    /// How fast it says it is, 1 being the machine that expectations are of.
    pub(crate) fn told_speed(&self) -> Option<f64> {
        self.benchmark
            .map(|thousandths| f64::from(thousandths) / 1e3)
    }

    /// How many processors a task with these needs takes here.
    pub fn cpus_for(&self, needs: &Needs) -> u32 {
        needs.cpus.clamp(1, self.cpus.max(1))
    }

    /// Whether the worker could do it when it had nothing else to do.
    pub fn could(&self, needs: &Needs) -> bool {
        self.cpus > 0
            && self.memory.is_none_or(|memory| needs.memory <= memory)
            && needs.tags.iter().all(|tag| self.tags.contains(tag))
    }
}
