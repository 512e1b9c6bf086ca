//! Where a run, its workers and its tasks stand, as types. Knows nobody who asks.

use super::Attempt;
use crate::found::About;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where the run stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// How many tasks there are; none where there is no end of them.
    pub tasks: Option<u64>,
    /// Tasks whose parents are not all executed.
    pub waiting: Option<u64>,
    /// Tasks that could be leased now.
    pub eligible: Option<u64>,
    /// Tasks that somebody works on.
    pub leased: Option<u64>,
    /// Tasks that are done.
    pub executed: Option<u64>,
    /// Tasks that were given up.
    pub failed: Option<u64>,
    /// Tasks that wait for one that was given up.
    pub aborted: Option<u64>,
    /// Tasks that somebody cancelled.
    pub cancelled: Option<u64>,
    /// Whether nothing is leased until somebody says otherwise.
    pub paused: bool,
    /// Whether nothing more will happen.
    pub finished: bool,
    /// What the run returns, where a task ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<i32>,
    /// Which start of the server this is.
    pub epoch: u32,
    /// The number of the order in force.
    pub plan: u32,
    /// Whose order that is, and why; none where there is no order to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<About>,
    /// How long this start has lasted.
    pub uptime_seconds: f64,
    /// How many copies of tasks were given to volunteers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u64>,
    /// How many tasks have a result that waits for validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validating: Option<u64>,
    /// How many attempts should be back and are not, as far as times and speeds are known.
    #[serde(default)]
    pub late: u64,
    /// Those who are here, and the latest who are gone.
    pub workers: Vec<WorkerStatus>,
    /// How the disk stands, where there is a cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

/// How the disk stands: declared files, and what is reserved for them, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Storage {
    /// The cap, as it was asked for.
    pub cap: u64,
    /// The cap now: less where others fill the disk.
    pub cap_now: u64,
    /// What files take that are made and wanted, or wait to be deleted; and what lost workers may still write.
    pub used: u64,
    /// What is kept for tasks that run.
    pub reserved: u64,
    /// The most that was used and reserved at once since the start.
    pub peak: u64,
    /// Free on the disk.
    pub free: u64,
    /// Whether the rest can go on one by one within the cap.
    pub safe: bool,
    /// Why eligible tasks wait, where they wait for space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<HeldBack>,
}

/// Why eligible tasks wait for space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldBack {
    /// What it is.
    pub why: HeldWhy,
    /// The same in words.
    pub words: String,
    /// Bytes that the next task lacks when nothing runs.
    pub missing: u64,
}

/// What eligible tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldWhy {
    /// The ends of others: the cap is reached, or would be too tight.
    Cap,
    /// Others fill the disk.
    OthersFillTheDisk,
    /// A worker was lost that may still write.
    LostWorkers,
    /// Nothing: no task fits any more.
    Stuck,
}

impl HeldWhy {
    pub(crate) fn words(self, worker: Option<&str>) -> String {
        match self {
            HeldWhy::Cap => "tasks wait until others end: the cap on the disk".to_owned(),
            HeldWhy::OthersFillTheDisk => {
                "others fill the disk: it goes on by itself when there is room".to_owned()
            }
            HeldWhy::LostWorkers => format!(
                "worker '{}' was lost and may still write: its space is kept until it is heard of, or has been silent for long",
                worker.unwrap_or_default()
            ),
            HeldWhy::Stuck => "no task fits under the cap any more".to_owned(),
        }
    }
}

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is.
    Here,
    /// It said goodbye.
    Left,
    /// It was silent for too long.
    Lost,
}

/// A worker, as others see it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkerStatus {
    /// Its number.
    pub worker: u32,
    /// What it calls itself.
    pub name: String,
    /// Whether it is there.
    pub state: Presence,
    /// Its speed beside the others, where it is known.
    pub speed: Option<f64>,
    /// Mean seconds from lease to return, once something returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turnaround: Option<f64>,
    /// The share of its leases that it is expected to return well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliability: Option<f64>,
    /// How many tasks it has now.
    pub leased: u64,
    /// How many of its leases ended because it was silent.
    pub lost: u64,
    /// How many tasks it has executed.
    pub executed: u64,
    /// How many of its attempts failed.
    pub failed: u64,
    /// When it was last heard of, in seconds since 1970.
    pub last_seen: f64,
    /// How many tasks of one processor it does at once.
    pub cpus: u32,
    /// Words by which tasks find it.
    pub tags: Vec<String>,
    /// What is known of it, where nobody vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustStatus>,
}

/// What is known of a volunteer, over all its connections.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TrustStatus {
    /// The number of its token.
    pub volunteer: u32,
    /// Results that counted, or that others confirmed.
    pub valid: u64,
    /// Results that others contradicted.
    pub invalid: u64,
    /// Copies that failed.
    pub errors: u64,
    /// Copies that were not back in time.
    pub late: u64,
    /// Results in a row that others confirmed.
    pub in_a_row: u32,
    /// How many copies it may begin within the time of a deadline.
    pub quota: u32,
}

/// A task, as others see it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskStatus {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub task: String,
    /// Where it stands: waiting, eligible, leased, executed, failed, aborted, cancelled.
    pub state: String,
    /// What is run for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The attempt under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Since when, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<f64>,
    /// By when it should be back, in seconds since 1970: of a volunteer its deadline, of others when nearly all such tasks
    /// of such workers are back, where that was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_by: Option<f64>,
    /// How many work on it, where it is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u64>,
    /// How many equal results of volunteers are there, and how many must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<u32>>)]
    pub validation: Option<(u32, u32)>,
}
