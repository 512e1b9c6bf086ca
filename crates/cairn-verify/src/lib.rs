//! Checks certificates: is what a planner claims of its order true? Knows no planner, and trusts none.
//!
//! Written to be read by a sceptic. [`parse`] reads a [`Certificate`], [`verify`] checks it against the dag: every
//! number in it is recomputed, or proved, or listed as *asserted* with its size. Nothing else is believed.
//!
//! One identity carries everything. An *ideal* X is a set of tasks closed under parents: what can have been
//! executed at some moment. Its *gain* is the number of tasks that have parents, all of them in X. Then
//! eligible(X) = |sources| − |X| + gain(X). So to bound the eligible tasks after t steps is to bound the gain of
//! ideals of t tasks; and since executing a sink gains nothing, t tasks with children are the worst case.
//!
//! - `hull`: a flow proves a concave bound on the gain, and which sets are the only best ones of their size;
//! - `parts`: relaxed and exact sub-problems, independent of each other, whose best gains add up to bounds;
//! - `exact`: the best gain of one part, by `eliminate` or over `closures`;
//! - `forest`: parts that cannot begin before others, and what that leaves of the sum;
//! - `real`: sets that can be executed, found quickly: no bound may lie below them;
//! - `ground`: all of this for one dag, as claims are held against it;
//! - `order`, `bound`, `blocks`, `refusal`: the sections of a certificate, each checked;
//! - `storage`: the section on bytes, over `files` counted anew, with lower bounds by the flows of `cut`;
//! - `check`: puts them together, section by section;
//! - `rejected`: every way in which a certificate can be wrong, in words;
//! - `foresee`: tells a planner beforehand what will be proved.

mod accepted;
mod blocks;
mod bound;
mod check;
mod closures;
mod cut;
mod eliminate;
mod exact;
mod files;
mod fingerprint;
mod foresee;
mod forest;
mod format;
mod ground;
mod hull;
mod order;
mod parts;
mod real;
mod refusal;
mod rejected;
mod storage;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod width;
#[cfg(test)]
mod words;
mod work;

pub use accepted::Accepted;
pub use check::verify;
pub use fingerprint::fingerprint;
pub use foresee::{Corners, Foreseen, foresee};
pub use format::{
    Assumed, Blocks, Certificate, Corner, Evidence, Fingerprint, Keeping, Piece, Reason, Refusal,
    SearchRecord, Storage, UnderCap, VERSION, Verdict, Witness, parse,
};
pub use rejected::{Rejected, Sets};
