//! Every budget of this crate in one table, each with its reason: rounds, tries, and sizes beyond which something is not tried. Not
//! here, but with the code they belong to: sizes and distances on the sheet, how many of something people take in at a glance, and
//! from what difference on something looks like one.

/// Merging groups.
pub(crate) mod groups {
    /// So many groups are merged one by one; more are cut down by kinds and levels first.
    // Merging one by one is quadratic in their number.
    pub(crate) const MERGEABLE: usize = 1200;

    /// So often parts that hide much are told apart by what surrounds them.
    // Each turn tells apart what lies one step further away; four are a judgement, and parts run out sooner as a rule.
    pub(crate) const SURROUNDINGS: usize = 4;

    /// So many kinds of a knot are tried, the commonest first.
    // A judgement: two more than the commonest, in case its waves are too many.
    pub(crate) const TRIED: usize = 3;
}

/// Placing boxes and arcs.
pub(crate) mod layout {
    /// Rounds of sweeps for few crossings, each once down and once up.
    // A judgement, as the three below: each round costs the whole graph, and `PATIENCE` ends it where nothing is gained.
    pub(crate) const ORDER_ROUNDS: usize = 16;

    /// Stop reordering after so many rounds without gain.
    pub(crate) const PATIENCE: usize = 4;

    /// Neighbours are exchanged one by one only in graphs with at most so many segments.
    // All pairs of neighbours are weighed by their segments, pass after pass.
    pub(crate) const EXCHANGE_LIMIT: usize = 4000;

    /// Passes over all neighbours in a round, while any exchange helps.
    // Each exchange lowers the crossings, so that it ends by itself; eight passes keep a large row from taking long.
    pub(crate) const EXCHANGE_PASSES: usize = 8;

    /// Rounds of placing.
    // A judgement: each is linear, and the last four, which look both ways, need a good start.
    pub(crate) const PLACE_ROUNDS: usize = 24;

    /// How many bends the long arcs of a graph of so many nodes may have; with more, they are drawn straight.
    // Long arcs through deep dags would make quadratically many: so time stays near linear. The numbers are a judgement: a few for
    // every node, and in small graphs as many as they like.
    pub(crate) fn most_bends(nodes: u64) -> u64 {
        4 * nodes + 20_000
    }
}

/// Up to this many arcs each is its own path, so that hovering can light it up.
// Each path is an element that the browser keeps; beyond, all arcs of a task share one, and the page stays quick.
pub(crate) const SINGLE_ARCS: usize = 3000;

/// The most points that are written beside.
// Looking for a free place compares with all that are placed: quadratic, and more would not find room anyhow.
pub(crate) const MOST_NAMES: usize = 60;

/// The most pixels of one picture.
// Four bytes each: half a gigabyte of memory.
pub(crate) const MOST_PIXELS: f64 = (1u64 << 27) as f64;
