//! The certificate as data. Knows how it is spelt in JSON, not what makes it true.

use serde::{Deserialize, Serialize};

/// The version of the format that this crate reads and describes.
pub const VERSION: u32 = 1;

/// What a planner claims of one order of one dag.
///
/// In `evidence`, tasks are numbered by their place in `order`, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
// A field that nobody knows could be a claim that nobody checks.
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`VERSION`].
    pub version: u32,
    /// Which dag it is about.
    pub dag: Fingerprint,
    /// How good the order is said to be.
    pub verdict: Verdict,
    /// All tasks by name, each after its parents.
    pub order: Vec<String>,
    /// Eligible tasks after t = 0..=n steps of the order.
    pub profile: Vec<u64>,
    /// No order has more eligible tasks after t steps.
    pub bound: Vec<u64>,
    /// Why the bound holds.
    pub evidence: Evidence,
    /// Why no IC-optimal order exists, if that is the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What orders take on the disk, if that was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

/// How good an order is said to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Verdict {
    /// `optimal`: no order has more eligible tasks at any step.
    Optimal,
    /// `none-exists`: no order is best at every step.
    NoneExists,
    /// `open`: nothing is said.
    Open,
    /// Another word, which is true of nothing.
    Unknown(String),
}

impl From<String> for Verdict {
    fn from(word: String) -> Verdict {
        match word.as_str() {
            "optimal" => Verdict::Optimal,
            "none-exists" => Verdict::NoneExists,
            "open" => Verdict::Open,
            _ => Verdict::Unknown(word),
        }
    }
}

impl From<Verdict> for String {
    fn from(verdict: Verdict) -> String {
        verdict.to_string()
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Optimal => "optimal",
            Verdict::NoneExists => "none-exists",
            Verdict::Open => "open",
            Verdict::Unknown(word) => word,
        })
    }
}

/// Size and hash of a dag; see [`crate::fingerprint()`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Number of tasks.
    pub tasks: u64,
    /// Number of arcs.
    pub arcs: u64,
    /// 16 hexadecimal digits.
    pub hash: String,
}

/// The arguments for the bound: at each step it is the least that any of them gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The pieces of the hull, steepest first. Proves |sources| − t + ⌊hull(t)⌋.
    pub hull: Vec<Piece>,
    /// If present: the order is as good as the blocks allow, were they independent. Then the bound is the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// If present: at these steps a search found a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchRecord>,
}

/// One piece of the hull: tasks executed and tasks made eligible, and a flow that proves that no part of the piece
/// makes more tasks eligible for each task executed than the whole piece does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Number of tasks executed.
    pub cost: u64,
    /// Number of tasks made eligible.
    pub reward: u64,
    /// The tasks executed.
    pub executed: Vec<u32>,
    /// The tasks made eligible.
    pub eligible: Vec<u32>,
    /// (parent, child, amount): what the eligible child hands to its executed parent.
    pub flows: Vec<(u32, u32, u64)>,
}

/// The blocks: parts of the dag joined by common children alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// How many there are.
    pub count: u64,
    /// (parent, child): arcs left out before the blocks are formed.
    pub left_out: Vec<(u32, u32)>,
}

/// What a search says it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRecord {
    /// (step, bound), by step.
    pub bounds: Vec<(u64, u64)>,
    /// For information: how many components were searched.
    pub components: u64,
    /// For information: by what, and how many of them.
    pub methods: Vec<(String, u64)>,
}

/// Why no IC-optimal order exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Refusal {
    /// A set is the only best one of its size; at another step some set gains more than any that contains the first,
    /// if that is the smaller, or lies in it. Or it takes two such sets, one on either side of the step.
    Crossing {
        /// The size of the first set.
        vertex: u64,
        /// The first set, by name.
        vertex_set: Vec<String>,
        /// The set on the other side of the step, where it takes both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<Corner>,
        /// The other step.
        step: u64,
        /// The better set there, where it is known.
        witness: Option<Witness>,
    },
    /// Between two such sets, these tasks are independent of the others and admit no IC-optimal order.
    Component {
        /// Tasks executed at the first set.
        from: u64,
        /// Tasks executed at the second set.
        to: u64,
        /// The tasks, by name.
        tasks: Vec<String>,
        /// For information: how it was found.
        method: String,
        /// For information: how many states were searched.
        states: u64,
    },
    /// Between two such sets, independent parts cannot all be executed optimally at once.
    Sum {
        /// Tasks executed at the first set.
        from: u64,
        /// Tasks executed at the second set.
        to: u64,
    },
    /// A reason that has no form to be checked in; the dag itself is, if it is small.
    Asserted {
        /// For information: the reason in words.
        reason: String,
    },
}

/// A set that is the only best one of its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corner {
    /// The size of the set.
    pub vertex: u64,
    /// The set, by name.
    pub vertex_set: Vec<String>,
}

/// A set that can have been executed, and its gain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The tasks, by name.
    pub set: Vec<String>,
    /// Tasks with parents, all of which lie in the set.
    pub gain: u64,
}

/// Bytes on the disk while tasks run one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// What is taken of files where the workflow does not say it.
    pub assumed: Assumed,
    /// An order of small peak, by name.
    pub order: Vec<String>,
    /// The most bytes in use along it.
    pub peak: u64,
    /// No order needs less.
    pub lower_bound: u64,
    /// Why.
    pub reason: Reason,
    /// Another order, within a cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_cap: Option<UnderCap>,
}

/// An order within a cap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnderCap {
    /// The cap.
    pub cap: u64,
    /// The order, by name.
    pub order: Vec<String>,
    /// The most bytes in use along it.
    pub peak: u64,
}

/// What is taken of files: patterns have `*` for any text and `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumed {
    /// What is freed.
    pub keeping: Keeping,
    /// Sizes by pattern, whatever the workflow says; the last that matches holds.
    pub size_of: Vec<(String, u64)>,
    /// The size of files without one; else none.
    pub default_size: Option<u64>,
    /// Files that are temporary, by pattern.
    pub temp: Vec<String>,
    /// Whether tasks were executed before and are left out: their temporary files lie there.
    pub rest: bool,
}

/// Which files are freed after their last reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// Those marked temporary; all others count for ever.
    Marked,
    /// All that somebody reads; what nobody reads stands outside.
    FinalsOutside,
    /// All that somebody reads; what nobody reads counts for ever.
    FinalsCounted,
}

/// Why no order needs less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Reason {
    /// Nothing is needed.
    Nothing,
    /// What is kept lies there in the end.
    Kept,
    /// So much is in use whenever this task runs.
    Task {
        /// The task, by name.
        task: String,
    },
    /// Of these tasks one runs before all others.
    First {
        /// The tasks, by name.
        tasks: Vec<String>,
    },
    /// Of these tasks one runs after all others.
    Last {
        /// The tasks, by name.
        tasks: Vec<String>,
    },
}

/// Reads a certificate. Memory is proportional to the text, whatever numbers it contains.
///
/// # Errors
/// What is wrong with the text, with line and column.
pub fn parse(text: &[u8]) -> Result<Certificate, String> {
    serde_json::from_slice(text).map_err(|e| e.to_string())
}
