//! Reads and writes workflow dags in the formats people have. Knows nothing of scheduling.

mod format;
mod problem;
mod source;

pub use format::Format;
pub use problem::{Place, Problem, Report, Severity};
pub use source::Source;
