//! Plans for any dag: what no schedule can beat, and schedules that come close. Knows no files, sockets or clocks.
//!
//! [`hull`] finds the ideals that are best for their cost and [`upper_bound`] what follows for every schedule.

mod closure;
mod error;
mod hull;
mod weights;

pub use closure::{Budget, Unlimited};
pub use error::HullError;
pub use hull::{Hull, Vertex, hull, upper_bound};
pub use weights::{WeightError, Weights};
