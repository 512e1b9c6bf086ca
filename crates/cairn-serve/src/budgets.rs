//! Every budget of this crate in one table, each with its reason: up to what size something is done, how often the log is
//! condensed, what one answer may cost, and of how many is told. Not here, but with the code they belong to: how long somebody waits
//! or is waited for, how often something is tried again, limits that protect from others (of messages, files, connections), how much one turn of a loop takes, and
//! what a page is told at a time (`live/`).

use std::time::Duration;

/// How long an order within the cap may be looked for before anything starts.
// Nothing runs meanwhile, and people wait for it; but a tight cap costs hours: a minute is not felt there, and without such an order
// the run is refused. The planner needs 38 s for the slowest dag of the docs (50,000 tasks), and less than 5 s for 2,000.
pub const PLANNING_WITHIN_CAP: Duration = Duration::from_secs(60);

/// The desk of a server.
pub(crate) mod desk {
    use cairn_engine::BatchEffort;

    /// Dags with more tasks than this are watched only where tasks go by speeds: it takes 80 bytes a task.
    // Up to here that is 16 MB and 8 bytes an arc, for times and speeds that later runs have from it (docs/dispatch.md).
    pub(crate) const WATCHED: usize = 200_000;

    /// Up to so many tasks, requests that come together are answered with the best batch; larger dags go by the order alone.
    // The books of batches follow every event, and are made in time of tasks and arcs when the first is asked for, while nobody is
    // answered. With them tasks are served at a third to two thirds of the speed without (docs/serving.md): larger dags keep the
    // speed.
    pub(crate) const BATCHED: usize = 50_000;

    /// What a batch may cost.
    // The desk answers nobody meanwhile. A judgement between that and batches that open less than they could.
    pub(crate) const BATCH: BatchEffort = BatchEffort {
        steps: 20_000,
        table: 2_000,
    };

    /// A worker counts for no more processors than these in what is simulated.
    // Whoever joins may claim a hundred thousand, and each is an entry of a list here. A judgement: more equal ones change hardly
    // anything in which order wins.
    pub(crate) const PROCESSORS: u32 = 1024;
}

/// After how many events it is written down what the log comes to: a resume replays the rest.
pub(crate) mod log {
    /// Of a server.
    // Replaying so many takes about as long as a snapshot of a large flow. More often, and the desk stands still for snapshots that
    // save the next start little; far less often, and starts get long.
    pub(crate) const SERVED: u64 = 1_000_000;

    /// Of a server with a family, which may have no end: its log is kept as short as this.
    // Its snapshot is the frontier alone, so it is cheap; and its events go with each, so this bounds the store (12.5 MB after 10⁷
    // tasks, docs/serving.md). Far more often, and whoever watches misses what was between two of its looks.
    pub(crate) const SERVED_FAMILY: u64 = 100_000;

    /// Of a run here, or one a task where those are more. The events stay, as the history of the run.
    // No fewer than tasks, so that writing the snapshot, which names every task, is little beside the events between two. A
    // judgement: far fewer would only write more, far more make a resume slow.
    pub(crate) const RUN: usize = 50_000;

    /// Of a run of a family: its log is replaced by what it comes to.
    // A frontier is small and soon written. Far fewer would write it all the time; far more make the file large, which has 4 MB after
    // 10⁷ tasks, and a resume slow, which replays them.
    pub(crate) const RUN_OF_FAMILY: usize = 100_000;
}

/// A report: a run as one file.
pub(crate) mod report {
    /// The names of so many tasks are told.
    // They are in the file that people send to each other: a megabyte or so of it. In larger runs lanes have numbers instead.
    pub(crate) const NAMED: u64 = 20_000;

    /// So many logs.
    // For the same reason. Whoever has more failures than these reads a few. A judgement, as the next.
    pub(crate) const LOGS: usize = 30;

    /// So many lines of each, where the file is read from its end.
    // The end of a log says why it failed.
    pub(crate) const LINES: usize = 60;

    /// So many bytes of each, where pieces of it are asked for.
    // About as many lines.
    pub(crate) const LOG_BYTES: u64 = 4000;
}

/// A status, and the answer to "why?".
pub(crate) mod status {
    /// How many gone workers a picture shows.
    // The engine remembers a thousand and more; each status would carry all of them, and the page shows a hundred.
    pub(crate) const GONE_SHOWN: usize = 100;

    /// Of the eligible tasks that an idle worker does not get, so many are named.
    // The reasons of the first few tell what the worker lacks, and finding each takes time of the desk. A judgement.
    pub(crate) const PASSED_OVER: usize = 5;

    /// So many tasks or workers of one reason are named.
    // They stand in one line of a terminal or of the page; the rest is a number. A judgement.
    pub(crate) const NAMED: usize = 8;
}
