//! Why a certificate is not accepted, in the order in which its sections are checked. Knows nothing but the words.

use crate::format::{VERSION, Verdict};
use std::fmt;

/// Why a certificate is not accepted: the first reason found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Written in this version of the format.
    #[error("version {0} is not {VERSION}, the only one known here")]
    Version(u32),
    /// The fingerprint is that of another dag.
    #[error("it is about another dag: tasks, arcs or hash differ")]
    OtherDag,

    /// This name in the order is no task.
    #[error("the order names '{0}', which is no task")]
    OrderNamesNoTask(String),
    /// This task stands in the order a second time.
    #[error("the order names '{0}' twice")]
    OrderNamesTwice(String),
    /// This task is not in the order.
    #[error("the order leaves out '{0}'")]
    OrderLeavesOut(String),
    /// The task of this step waits for a later one.
    #[error("the order executes a task before one of its parents, at step {0}")]
    OrderBreaksArc(usize),
    /// Counted anew, the profile is another.
    #[error("the profile is not that of the order")]
    OtherProfile,

    /// By piece.
    #[error("hull piece {0}: cost and reward are not the numbers of its tasks")]
    PieceMiscounted(usize),
    /// By piece.
    #[error("hull piece {0} executes nothing")]
    PieceEmpty(usize),
    /// By piece, and the number in it that is wrong.
    #[error("hull piece {0} lists {1}: no such task, or in another piece, or it cannot be there")]
    PieceMislists(u32, u32),
    /// A task with children is executed nowhere, or one with parents becomes eligible nowhere.
    #[error("a task is in no piece of the hull")]
    TaskInNoPiece,
    /// A piece needs something of a later one.
    #[error("the pieces of the hull are no nested ideals")]
    PiecesNotNested,
    /// By piece.
    #[error("hull piece {0}: a flow names no task")]
    FlowNamesNoTask(usize),
    /// By piece, with the flow: parent, child and amount.
    #[error("hull piece {0}: the flow ({1}, {2}, {3}) is not along an arc of the piece")]
    FlowOffArc(usize, u32, u32, u64),
    /// By piece.
    #[error("hull piece {0}: a task receives too little flow")]
    FlowTooSmall(u32),
    /// By piece.
    #[error("hull piece {0}: flow leaves the piece")]
    FlowLeaves(u32),
    /// By piece.
    #[error("hull piece {0}: flow is lost or made at a task")]
    FlowUneven(u32),
    /// By the first of the two pieces.
    #[error("the price rises after hull piece {0}")]
    PriceRises(usize),

    /// By the step that the search speaks of.
    #[error("the search's bound at step {0} is out of place or no lower")]
    SearchOutOfPlace(u64),
    /// By step.
    #[error("the bound at step {0} is not what the evidence gives")]
    BoundNotFromEvidence(usize),
    /// By step: lower than the order, or higher than the hull.
    #[error("the bound at step {0} contradicts the order or the hull")]
    BoundContradicts(usize),
    /// By step, with the bound there, and what a set has that was seen.
    #[error("the bound at step {0} is too low: {1}, and some order has {2}")]
    BoundBelowSet(usize, u64, u64),
    /// By step.
    #[error("the bound at step {0} is too low: some order has more")]
    BoundBelowTruth(usize),

    /// Parent and child of what is left out.
    #[error("({0}, {1}) is left out and is no arc")]
    LeftOutNoArc(u32, u32),
    /// The same arc, a second time.
    #[error("an arc is left out twice")]
    LeftOutTwice,
    /// Sources and sinks must stay what they are.
    #[error("with the arcs left out, a task loses all its parents or children")]
    LeftOutTooMuch,
    /// How many blocks there are, and how many are claimed.
    #[error("there are {0} blocks, not {1}")]
    BlocksMiscounted(usize, u64),
    /// By the number of its tasks.
    #[error("a block of {0} tasks is not executed optimally")]
    BlockNotOptimal(usize),
    /// By step.
    #[error("the order falls short of its blocks at step {0}")]
    BelowBlocks(usize),

    /// The verdict asks for another bound, or for a refusal, or for none.
    #[error("the verdict '{0}' does not fit bound, profile and refusal")]
    VerdictUnfit(Verdict),
    /// None is said to exist, and one does.
    #[error("the dag does admit an IC-optimal order")]
    Admits,

    /// A set in a refusal names this, which is no task.
    #[error("there is no task '{0}'")]
    NoTask(String),
    /// A set in a refusal names this task a second time.
    #[error("'{0}' is named twice in a set")]
    NamedTwice(String),
    /// A task of it comes without one of its parents.
    #[error("the witness is no set that can be executed")]
    WitnessNoIdeal,
    /// Counted anew, the witness is another set.
    #[error("the witness has another size or gain than claimed")]
    WitnessMiscounted,
    /// By step.
    #[error("the hull has no corner at step {0}")]
    NoCorner(u64),
    /// By step.
    #[error("the set given is not the one at the hull's corner {0}")]
    OtherCornerSet(u64),
    /// The steps of the corner and of the witness.
    #[error("the corner at step {0} is not in the way of step {1}")]
    CornerNotInTheWay(u64, u64),
    /// Which sets the reason speaks of: planners once named the wrong corner.
    #[error("the witness is itself a set {0}: {PLAN_AGAIN}")]
    WitnessNotInTheWay(Sets),
    /// By step, and which sets the reason speaks of.
    #[error("a set of {0} tasks {1} gains as much as the witness: {PLAN_AGAIN}")]
    SetInTheWay(u64, Sets),
    /// The steps of the two.
    #[error("{0} and {1} are no neighbouring corners of the hull")]
    CornersNotNeighbours(u64, u64),
    /// A component is one of the parts between two corners.
    #[error("the tasks of the component are no independent part of the interval")]
    NoComponent,
    /// None is said to exist in the component, and one does.
    #[error("the component does admit an IC-optimal order")]
    ComponentAdmits,
    /// How many parts there are, and between which steps.
    #[error("the {0} independent parts between steps {1} and {2} do admit an IC-optimal order")]
    PartsAdmit(usize, u64, u64),

    /// By path.
    #[error("two tasks write '{0}'")]
    TwoWriters(String),
    /// By path.
    #[error("'{0}' is temporary and no task writes it")]
    TemporaryInput(String),
    /// By reader.
    #[error("'{0}' reads a file and does not come after the task that writes it")]
    ReaderBeforeWriter(String),
    /// Sums could not be told.
    #[error("all sizes together are 2^60 bytes or more")]
    SizesTooLarge,
    /// What an order needs, and what is claimed.
    #[error("an order needs {0} bytes at the most, not {1}")]
    OtherPeak(u64, u64),
    /// What an order needs, and the cap.
    #[error("an order needs {0} bytes, more than the cap of {1}")]
    OverCap(u64, u64),
    /// The two.
    #[error("no order is said to need less than {0} bytes, and one needs {1}")]
    LowerBoundAbovePeak(u64, u64),
    /// The bound.
    #[error("that no order needs less than {0} bytes does not follow from the reason")]
    LowerBoundTooHigh(u64),
    /// One of the tasks of a reason.
    #[error("'{0}' comes before or after another task of the reason, or needs what must be out")]
    NotIndependent(String),
}

/// What to do with a certificate that names the wrong corner: planners once did.
const PLAN_AGAIN: &str = "the reason names the wrong corner, plan again";

/// Which sets a reason speaks of, by the corners of the hull that they lie at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// Those in the only best set of this size.
    Within(u64),
    /// Those that contain the only best set of this size.
    Containing(u64),
    /// Those that contain the first and lie in the second.
    Between(u64, u64),
}

impl fmt::Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sets::Within(to) => write!(f, "that lies in the only best one of {to}"),
            Sets::Containing(from) => write!(f, "that contains the only best one of {from}"),
            Sets::Between(from, to) => write!(f, "between the only best ones of {from} and {to}"),
        }
    }
}
