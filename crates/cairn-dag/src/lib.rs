//! A frozen dag of tasks, and what can be said of it without knowing any file format or schedule.
//!
//! [`Dag`] is the structure alone; [`Flow`] adds names and what the input says of each task, and is made by a
//! [`FlowBuilder`]. Everything here is pure: values in, values out.

mod builder;
mod cycle;
mod dag;
mod flow;
mod id;
mod names;

pub use builder::{BuildError, FlowBuilder, Mark, Symbol};
pub use dag::{Dag, DagError};
pub use flow::{File, Flow};
pub use id::TaskId;
