//! Every budget of this crate in one table, each with its reason: how often, how long, how many are looked at. Not here are
//! numbers that describe a world or a statistic: they are with the world, or with the formula that they belong to.

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

    /// Steps of work that an event counts for: some events choose whole batches. A judgement.
    pub(crate) const STEPS_AN_EVENT: u64 = 16;

    /// Eligible tasks that are looked at under a cap, in the policy's order and in the keeper's own: more are seldom let in
    /// where the first are not. A judgement.
    pub(crate) const LOOK: usize = 48;
}

/// A study.
pub(crate) mod study {
    /// Whether a study may stop is decided after every so many runs, so that the answer depends on no thread.
    // A judgement: intervals of so many runs hold what they promise (docs/guide-simulate.md).
    pub(crate) const RUNS_BETWEEN_DECISIONS: usize = 50;
}

/// A contest of policies.
pub(crate) mod contest {
    /// Runs of each policy in each world, where there is time for them.
    // As many as the research had that found the margin.
    pub(crate) const FULL: usize = 100;

    /// Runs of each list under a cap where tasks run already.
    // A judgement: a list that comes after most of the tasks gains nothing.
    pub(crate) const WHILE_TASKS_RUN: usize = 6;

    /// Runs that tell what a choice gains. A judgement: half of those that chose it.
    pub(crate) const FRESH_RUNS: usize = 50;

    /// Fewer runs than this tell little of chance. A judgement: of two nobody knows which one is usual.
    pub(crate) const FEWEST: usize = 3;

    /// Before runs fall below this, policies are left out. A judgement.
    pub(crate) const FAIR: usize = 10;

    /// Tasks to be played, over all policies, worlds and runs: some seconds.
    // A judgement between a choice by chance and a planner that keeps people waiting.
    pub(crate) const TASKS_PLAYED: usize = 8_000_000;

    /// Policies that are played at any rate: one that is rarely bad, and one to compare it with.
    pub(crate) const KEPT: usize = 2;
}
