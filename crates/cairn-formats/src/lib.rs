//! Reads and writes workflow dags in the formats people have. Knows nothing of scheduling.

mod dagman;
mod edgelist;
mod format;
mod lines;
mod makeflow;
mod problem;
mod source;
mod stg;
mod suggest;
mod taskedge;
#[cfg(test)]
mod text_tests;

pub use dagman::{EditedFile, ExistingPriorities, set_dagman_priorities};
pub use format::Format;
pub use problem::{Place, Problem, Report, Severity};
pub use source::Source;
