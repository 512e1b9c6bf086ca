//! Plans for any dag: what no schedule can beat, and schedules that come close. Knows no files, sockets or clocks.
//!
//! [`hull`] finds the ideals that are best for their cost, [`upper_bound`] says what follows for every schedule, and
//! [`certify`] gives a proof that a reader can check without trusting any of this code.

mod certificate;
mod closure;
mod error;
mod hull;
#[cfg(test)]
mod testing;
mod weights;

pub use certificate::{HullCertificate, ParentFlow, PieceProof, SelfFlow, certify};
pub use closure::{Budget, Unlimited};
pub use error::HullError;
pub use hull::{Hull, Vertex, hull, upper_bound};
pub use weights::{WeightError, Weights};
