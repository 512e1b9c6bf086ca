//! Every budget of this crate in one table, each with its reason: how long something is looked for, how often it is played, up to
//! what size. Not here are how often somebody looks, how much fits on a screen, and what settings have that nobody gave.

use std::time::Duration;

/// The longest that an order is looked for in the background, before a run or for a page.
// As `--time-limit` of `cairn plan` where it is not given: nobody asked for more. And as long as under a cap on the disk, since
// whoever runs waits for both alike.
pub(crate) const PLANNING: Duration = cairn_serve::PLANNING_WITHIN_CAP;

/// The longest that a bound is looked for when a run is over.
// Somebody waits: the curve without a tight bound is better than none.
pub(crate) const BOUNDING: Duration = Duration::from_secs(10);

/// Faster priorities under a tight cap, while tasks run already.
pub(crate) mod tight {
    use std::time::Duration;

    /// How long to look for them.
    // A judgement, not measured: a list that comes when most tasks are done gains nothing, and looking for it takes from those that
    // run.
    pub(crate) const TIME: Duration = Duration::from_secs(20);

    /// For how large a workflow.
    // A judgement, not measured: seven lists are played, each some times, and of a larger workflow they would not be through in that
    // time; then nothing would come of it.
    pub(crate) const MOST: usize = 50_000;
}

/// A simulation under a cap on the disk.
pub(crate) mod simulate {
    /// Runs in which priorities are compared.
    // A judgement: seven lists are played twelve times before anything is shown.
    pub(crate) const CONTEST: usize = 12;

    /// Most runs of each policy that starts whatever fits.
    // A share of runs that stop for good is told, and fifty tell it to some 14 % at the worst.
    pub(crate) const NAIVE: usize = 50;
}

/// What a page sees.
pub(crate) mod sight {
    /// So many boxes at the most; or twice as many single tasks.
    // Chosen by eye: a page can be zoomed, so that it holds five times what a printed figure does.
    pub(crate) const BOXES: usize = 250;

    /// The profile of a family is told for so many tasks at the most.
    // A judgement: the order of a family is played step by step for it.
    pub(crate) const STEPS: u64 = 1_000_000;
}
