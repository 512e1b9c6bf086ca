//! Orders that take little storage, what no order can do without, and orders under a cap in bytes. Knows no files but
//! their sizes, and no run.
//!
//! The model is [`cairn_theory::storage`]. [`lean_order`] plans for a small peak and proves a lower bound.

mod bounds;
mod cut;
mod of_flow;
mod planner;
mod play;
mod priority;
mod section;
mod starts;
#[cfg(test)]
mod tests;

pub use bounds::{LowerBound, Reason};
pub use cairn_theory::storage::{FileId, MOST_BYTES, Storage, StorageError, Stored};
// As certificates have it: what is assumed of files is written down there.
pub use cairn_verify::Keeping;
pub use of_flow::{Assumed, ModelError, Modelled, storage_of, usual_keeping};
pub use planner::{Lean, lean_order, more_than, refusal_of};
pub use priority::shrink_first;
