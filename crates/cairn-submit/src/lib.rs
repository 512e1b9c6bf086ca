//! Hands a plan to engines that people have. Knows our server by its command line alone, and makes no plans.
//!
//! A [`Handover`] is what is left of a workflow, in the order of its plan, every task as a script for `sh`. [`files`] makes of
//! it what an [`Engine`] reads; [`slurm`] also submits it, follows it, and takes it up again after any interruption without
//! submitting anything twice.

mod airflow;
mod alike;
mod budgets;
mod dask;
mod engine;
mod handover;
mod htcondor;
mod hyperqueue;
mod levels;
mod pegasus;
mod program;
mod script;
pub mod slurm;

pub use engine::{Engine, Made, files, unsaid};
pub use handover::{Handover, HandoverError, OtherWorkflow, Swaps, Task, taken_up};
pub use program::{NO_PACKAGE, NO_SERVER, TASK_FAILED};
