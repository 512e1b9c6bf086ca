//! Every budget of this crate in one table, each with its reason: how often, how long, how many are looked at. Not here are
//! numbers that describe a world or a statistic, or say from what difference on something counts as one: they are with the world,
//! or with the formula that they belong to.

/// One run.
pub(crate) mod run {
    use cairn_plan::batch::BatchEffort;

    /// One batch of the planner's. A simulation asks thousands of times, so each answer gets a tenth or less of what a single
    /// one may cost.
    pub(crate) const BATCH: BatchEffort = BatchEffort {
        steps: 2_000_000,
        table: 2_000_000,
    };

    /// After so many events in a row without a completion a run is given up: a few seconds of computing.
    // A judgement: far fewer would give up pools in which long tasks wait for rare luck, far more would let one
    // hopeless run hold up a study.
    pub(crate) const PATIENCE: u64 = 10_000_000;

    /// Steps of work that an event counts for.
    // A judgement: an event takes some hundred nanoseconds and a step some, so that whoever says stop is heard as soon as
    // elsewhere.
    pub(crate) const STEPS_AN_EVENT: u64 = 16;

    /// A run in which nothing was settled for so many times as long as a copy may take at the most has no end.
    // A judgement: late copies are waited for ten times as long, and there are no more than a few of a task.
    pub(crate) const WAITED_IN_VAIN: f64 = 100.0;

    /// Eligible tasks that are looked at under a cap, in the policy's order and in the keeper's own: more are seldom let in
    /// where the first are not. A judgement.
    pub(crate) const LOOK: usize = 48;
}

/// A study.
pub(crate) mod study {
    /// Runs of each policy where none are asked for.
    // A judgement: four rounds of decisions. Intervals half as wide would take four times as many; who asks for a precision stops
    // earlier where fewer will do.
    pub(crate) const RUNS: usize = 200;

    /// Whether a study may stop is decided after every so many runs, so that the answer depends on no thread.
    // A judgement: intervals of so many runs hold what they promise (docs/guide-simulate.md).
    pub(crate) const RUNS_BETWEEN_DECISIONS: usize = 50;
}

/// Time against the cap on storage.
pub(crate) mod curve {
    /// Runs of a point.
    // A judgement: the curve is looked at, not reckoned with, so that a point needs no interval.
    pub(crate) const RUNS: usize = 4;

    /// Caps. Chosen by eye: enough for a curve with a knee, and each costs three lists.
    pub(crate) const POINTS: usize = 8;

    /// Lists that are played at each: all seven would take more than twice as long.
    pub(crate) const LISTS: usize = 3;
}

/// A contest of policies.
pub(crate) mod contest {
    /// Runs of each policy in each world, where there is time for them.
    // As many as the research had that found the margin.
    pub(crate) const FULL: usize = 100;

    /// Runs of each list under a cap where tasks run already.
    // A judgement: a list that comes after most of the tasks gains nothing.
    pub(crate) const WHILE_TASKS_RUN: usize = 6;

    /// Beyond so many tasks there is no first impression: it would take longer than it is worth.
    // A judgement: work below a task is counted exactly up to the same size, and only estimated beyond.
    pub(crate) const GLANCE: usize = 20_000;

    /// Runs that tell what a choice gains. A judgement: half of those that chose it.
    pub(crate) const FRESH_RUNS: usize = 50;

    /// Fewer runs than this tell little of chance. A judgement: of two nobody knows which one is usual.
    pub(crate) const FEWEST: usize = 3;

    /// Before runs fall below this, policies are left out.
    // A judgement: the interval of ten runs is about three times as wide as that of a hundred, and tells a gain of some percent
    // still.
    pub(crate) const FAIR: usize = 10;

    /// Tasks to be played, over all policies, worlds and runs: some seconds.
    // A judgement between a choice by chance and a planner that keeps people waiting.
    pub(crate) const TASKS_PLAYED: usize = 8_000_000;

    /// And for a first impression.
    // A judgement: the choice itself comes later, and somebody waits for this one before the first task.
    pub(crate) const TASKS_AT_A_GLANCE: usize = TASKS_PLAYED / 10;

    /// Where fewer tasks are left than this there is no rematch.
    // A judgement: so few are over before anybody has planned them anew.
    pub(crate) const FEW_LEFT: usize = 20;

    /// The most processors that are simulated.
    // A judgement: a tenth of what a pool takes. With more processors than that hardly any dag is short of them.
    pub(crate) const PROCESSORS: usize = 100_000;

    /// Policies that are played at any rate: one that is rarely bad, and one to compare it with.
    pub(crate) const KEPT: usize = 2;
}

/// The most workers of a pool.
// A judgement: each is a record and an event from the start, and beyond a million a mistyped number would take all memory before
// the first task.
pub(crate) const MOST_WORKERS: u32 = 1_000_000;

/// Workers that are seen, and what is made of them.
pub(crate) mod sighting {
    /// So often at the most, in seconds: whoever comes and goes does not keep a processor busy with choosing.
    // A judgement: a contest takes some seconds, so that it costs a processor a tenth of its time at the most.
    pub(crate) const SELDOM: f64 = 60.0;

    /// Not before workers have been seen for so many seconds.
    // A judgement, as those below: the first workers of a batch system come over some seconds.
    pub(crate) const FIRST: f64 = 5.0;

    /// Fewer returns than this, or than two a processor, say little of who works.
    // With fewer a speed rests on a time or two; with many more a short run would be over before anybody chooses again.
    pub(crate) const RETURNS: u64 = 32;

    /// So often somebody must have come or gone before anything is made of it.
    // One or two may be chance. A judgement.
    pub(crate) const VISITS: u64 = 3;
}
