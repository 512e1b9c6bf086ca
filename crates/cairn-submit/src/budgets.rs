//! Every budget of this crate in one table, each with its reason: how often it is looked before something is believed, and how much
//! one call may carry. Not here are limits of the engines themselves, and what scripts have people wait for.

/// Slurm.
pub(crate) mod slurm {
    /// How often the queue must be seen without a job before it is believed that there is none.
    // A judgement: one look may fall between a call and its effect, or upon a controller that has just come back.
    pub(crate) const LOOKS: u32 = 3;

    /// More dependencies than this in one call wait until some are fulfilled.
    // A dependency is `afterok:` and a number: far below the 128 KiB that one argument of a program may have.
    pub(crate) const MOST_PARENTS: usize = 500;

    /// So many jobs are ended by one call.
    // A command line has an end (128 KiB a word, some megabytes in all): a thousand numbers are far from it.
    pub(crate) const CANCELLED_AT_ONCE: usize = 1000;
}
