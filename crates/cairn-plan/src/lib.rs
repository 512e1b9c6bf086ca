//! Plans for any dag: what no schedule can beat, and schedules that come close. Knows no files, sockets or clocks.
//!
//! [`plan()`] gives an order with a bound and a verdict. Beneath it, [`hull()`] finds the ideals that are best for
//! their cost, hence what bounds every schedule, and `decide` settles what lies between them.
//! Beside it: the usual orders ([`policy`]), orders under a cap on open results ([`cap`]), orders of tasks that take
//! different times ([`weighted_order`]), the best tasks for a batch of requests ([`batch`]), and which of equally good
//! tasks goes first ([`break_ties`]). [`certificate()`] writes a plan down for a checker that does not trust this crate;
//! [`foresee`] tells what that checker will prove.
//!
//! All that may take long takes a [`Work`]. [`plan()`], a batch and a sequence of them, and the candidates of [`policy::Rules`] only ask
//! it whether to stop: how many steps each part of them has is in their effort. So does [`certificate()`], which has no budget: half
//! of one proves nothing.

pub mod batch;
mod budgets;
pub mod cap;
mod certificate;
mod chance;
mod closure;
mod counts;
mod decide;
mod error;
mod hull;
mod hull_proof;
mod obstacle;
mod order;
mod pace;
mod plan;
pub mod policy;
pub mod storage;
#[cfg(test)]
mod testing;
mod ties;
mod weighted;
mod weights;

pub use cairn_kernel::Work;
pub use cairn_theory::Verdict;
pub use certificate::{certificate, foresee};
pub use decide::{ComponentId, Conflict, Corner, Crossing, IntervalId, Pair, Refusal};
pub use error::{CertificateError, HullError};
pub use hull::{Hull, Vertex, hull};
pub use pace::nanoseconds_to_finish;
pub use plan::{Basis, Plan, PlanEffort, SearchRecord, plan};
pub use ties::{Ties, break_ties};
pub use weighted::{OverWork, weighted_order};
pub use weights::{WeightError, Weights};

pub use cairn_verify::Foreseen;
