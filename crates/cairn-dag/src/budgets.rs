//! Every budget of this crate in one table, each with its reason. None of them changes an answer that is claimed.

/// A short cycle, to show to whoever's input has one.
pub(crate) mod cycle {
    /// How many arcs the search may look at: the cycle is the shortest where this suffices, else the shortest found.
    // Some tenths of a second: whoever reads the message waits for it, and any cycle tells what is wrong.
    pub(crate) const STEPS: u64 = 20_000_000;
}

/// The skeleton: how much to try before the next, dearer method.
pub(crate) mod skeleton {
    use crate::skeleton::{HEADS, Tuning};

    /// The result is the same with any of them.
    pub(crate) const USUAL: Tuning = Tuning {
        // The bits of a word.
        hubs: 64,
        // Chosen by eye: a round looks at every arc three times, so that rounds which decide fewer cost more than the searches
        // behind them.
        worth: 64,
        // Chosen by eye: searches that find nothing cost a small part of the blocks that come then.
        rate: 1,
        // Chosen by eye: a search of fewer arcs costs less than setting it up.
        least: 16,
        // A cache line of bits.
        block: HEADS,
    };

    /// Tasks drawn for each hub; the one with the most paths of two arcs through it wins. Chosen by eye: the best of eight is mostly
    /// among the best quarter, and which hubs are tried changes the time alone.
    pub(crate) const DRAWS: usize = 8;
}
