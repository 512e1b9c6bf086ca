//! Every budget of this crate in one table, each with its reason: steps, tries, and sizes beyond which something is not tried.
//! Those of the planner are in `cairn-plan/src/budgets.rs`.
//!
//! Steps, not seconds: what a step is stands with each. Reckon with some 10⁹ entries of profiles and tables a second, which are gone
//! along in a row; a state takes longer, as said.
//!
//! Not here, but with the code they belong to: from what size on another way is quicker, and what a formula can say within its
//! number type.

/// Blocks, by default; `cairn plan` allows less, since the hull comes next.
pub(crate) mod survey {
    use crate::survey::SurveyEffort;

    pub(crate) const DEFAULT: SurveyEffort = SurveyEffort {
        // A state costs about a microsecond for every 64 arcs: a tenth of a second for one block.
        block_states: 100_000,
        // Two seconds for all blocks, however many are hard.
        all_states: 2_000_000,
        // The profile is quadratic: 64 million entries, a tenth of a second.
        tree_sources: 8_000,
        // Entries of tables: a quarter of a second for one tree, a second for all.
        tree_steps: 1 << 28,
        all_tree_steps: 1 << 30,
        // Profile entries looked at in tests of ▷: a tenth of a second.
        work: 100_000_000,
        give_up_early: false,
    };

    /// Rounds in which blocks are coloured, so that equal ones are solved once: enough to tell apart whatever differs within
    /// distance 12. A round is linear; what differs farther away is only solved twice, not wrongly.
    pub(crate) const ROUNDS: usize = 12;
}

/// One bipartite tree.
pub(crate) mod tree {
    /// The most sources of a tree whose profile is computed: the time is quadratic, a second or so.
    pub const MOST_SOURCES: usize = 1 << 15;

    /// Trees that no rule splits are taken apart source by source, and each source is a level of recursion: the stack must
    /// hold. A judgement: far from what a thread has.
    pub(crate) const MOST_UNSPLIT: usize = 400;

    /// Cells of the table in which two orders are merged, a byte each: 64 MB.
    pub(crate) const MOST_CELLS: usize = 1 << 26;
}

/// Exact search in one block.
pub(crate) mod search {
    /// Classes of sources or of sinks: a state is so many bits, and more would not be searched through anyhow.
    pub(crate) const MOST_CLASSES: usize = 1 << 10;

    /// Sources: every state is compared with the profile step by step, so that more would not be searched through. A judgement.
    pub(crate) const MOST_SOURCES: usize = 1 << 16;
}

/// A test of ▷ beside the profile entries that it looks at: calls and bookkeeping. A judgement.
pub(crate) const PRIORITY_TEST: u64 = 8;
