//! The verdict on a dag and the evidence for it. Knows nothing of how it was found.

use cairn_dag::TaskId;

/// What is proved of a dag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The order attains the largest possible number of eligible tasks at every step.
    Optimal,
    /// No order does, for this reason.
    NoneExists(Refusal),
    /// Neither was proved within the budget.
    Open,
}

/// Why no IC-optimal order exists. Every such order passes through each strict vertex of the hull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Between two vertices, these tasks form a component of their own that admits no IC-optimal order: a search
    /// over `states` states was exhausted. A sum admits one only if each of its parts does.
    Component {
        /// Nonsinks executed before the interval.
        from: usize,
        /// Nonsinks executed at its end.
        to: usize,
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The method that proved it.
        method: &'static str,
        /// How many states it looked at.
        states: u64,
    },
    /// Between two vertices, the components admit IC-optimal orders, but their sum does not: at `step` the largest
    /// merge falls short of the best split.
    Sum {
        /// Nonsinks executed before the interval.
        from: usize,
        /// Nonsinks executed at its end.
        to: usize,
        /// The first step at which the merge falls short.
        step: usize,
    },
    /// The set executed at a vertex is the only optimal one of its size, and some set at another step gains more
    /// than any set that could be executed on the way through the vertex.
    Crossing {
        /// The vertex: nonsinks executed there.
        vertex: usize,
        /// The tasks executed at the vertex.
        vertex_set: Vec<TaskId>,
        /// The other step.
        step: usize,
        /// What the real set at that step gains.
        gain: u32,
        /// The set itself, where it was found as one.
        set: Option<Vec<TaskId>>,
        /// The most that a set gains there on the way through the vertices.
        inside: u32,
    },
}
