//! Why no IC-optimal order exists. Knows nothing of how that was found.

use super::ids::{ComponentId, IntervalId};
use cairn_dag::TaskId;

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
        /// Which of all intervals.
        interval: IntervalId,
        /// Which of all components.
        component: ComponentId,
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The method that proved it.
        method: &'static str,
        /// How many states it looked at.
        states: u64,
        /// Two numbers of these tasks whose best sets conflict.
        conflict: Conflict,
    },
    /// Between two vertices, the components admit IC-optimal orders, but their sum does not: at `step` the largest
    /// merge falls short of the best split.
    Sum {
        /// Which of all intervals.
        interval: IntervalId,
        /// Nonsinks executed before the interval.
        from: usize,
        /// Nonsinks executed at its end.
        to: usize,
        /// The first step at which the merge falls short.
        step: usize,
        /// Two numbers of tasks between the vertices whose best sets conflict.
        conflict: Conflict,
    },
    /// The sets executed at one vertex, or at two, are the only best ones of their sizes, and some set at another step
    /// gains more than any that contains the one `before` and lies in the one `after`. Both are there only where
    /// neither was shown to be enough.
    Crossing(Crossing),
}

impl Refusal {
    /// How many tasks it speaks of: the fewer, the sooner it is understood and checked.
    pub(crate) fn size(&self) -> usize {
        match self {
            Refusal::Component { tasks, .. } => tasks.len(),
            Refusal::Sum { from, to, .. } => to - from,
            Refusal::Crossing(crossing) => crossing.step,
        }
    }

    /// Whether it comes with two steps and the sets that show why.
    pub(crate) fn shows_two_sets(&self) -> bool {
        match self {
            Refusal::Component { conflict, .. } | Refusal::Sum { conflict, .. } => {
                matches!(conflict, Conflict::Pair(_))
            }
            Refusal::Crossing(crossing) => crossing.set.is_some(),
        }
    }
}

/// A set in whose way one vertex is, or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// A vertex before the step.
    pub before: Option<Corner>,
    /// A vertex after the step.
    pub after: Option<Corner>,
    /// The other step.
    pub step: usize,
    /// The interval in which it lies.
    pub interval: IntervalId,
    /// What the real set at that step gains.
    pub gain: u32,
    /// The set itself, where it was found as one.
    pub set: Option<Vec<TaskId>>,
    /// No set of `step` tasks between the vertices gains more.
    pub inside: u32,
}

/// A strict vertex of the hull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corner {
    /// Nonsinks executed there.
    pub step: usize,
    /// These: the only best set of this size.
    pub set: Vec<TaskId>,
}

/// Whether two steps alone show that no IC-optimal order exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// These two do.
    Pair(Pair),
    /// No two steps do, of the tasks that the refusal names: it takes more.
    NoPair,
    /// No two were found, and not all were looked at.
    Unknown,
}

/// Two numbers of tasks, of which no best set of the smaller lies in a best set of the larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// How many tasks, the smaller number first.
    pub steps: [usize; 2],
    /// How many tasks the sets make eligible: the most for the smaller number; for the larger one so many that no set
    /// does that contains a best set of the smaller.
    pub gains: [u32; 2],
    /// A best set of the smaller number.
    pub smaller: Vec<TaskId>,
    /// A set of the larger number that makes so many eligible, where one was found.
    pub larger: Option<Vec<TaskId>>,
}
