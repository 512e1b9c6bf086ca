//! Reads and writes workflow dags in the formats people have. Knows nothing of scheduling.
//!
//! [`Source::load`] brings a file or standard input into memory, unpacked and checked; [`read()`] detects its format
//! and makes a [`cairn_dag::Flow`], or fills a [`Report`] with what is wrong, where, and what to do; [`write()`]
//! writes a flow again, and [`convert()`] does so and tells everything that is lost.
//!
//! ```
//! use cairn_formats::{Format, Report, Source};
//! let source = Source::from_text("hello.dot", "digraph { a -> b; a -> c }");
//! let mut report = Report::default();
//! let (format, flow) = cairn_formats::read(&source, None, &mut report).expect("well-formed");
//! assert_eq!((format, flow.dag().arc_count()), (Format::Dot, 2));
//! let mut out = Vec::new();
//! cairn_formats::write(&flow, Format::FlowJsonLines, &mut out)?;
//! assert!(out.starts_with(br#"{"name":"a"}"#));
//! # Ok::<(), cairn_formats::WriteError>(())
//! ```

mod convert;
mod dagman;
mod dax;
mod detect;
mod dot;
mod draft;
mod edgelist;
mod elsewhere;
mod fields;
mod format;
mod galaxy;
mod jobs;
mod json;
mod load;
mod loss;
mod makeflow;
mod native;
mod packing;
mod pattern;
mod pegasus;
mod priority;
mod problem;
mod read;
mod shell;
pub mod size;
mod source;
pub mod span;
mod stg;
mod suggest;
mod taskcluster;
mod taskedge;
#[cfg(test)]
mod test_support;
mod text;
pub mod times;
mod unheld;
mod visit;
mod wfformat;
mod write;

pub use convert::{Converted, convert};
pub use dagman::{EditedFile, ExistingPriorities, is_category};
pub use dagman::{is_rescue, rescue_file, rescue_text, rescued, write_rescue};
pub use detect::{Unrecognized, detect};
pub use format::Format;
pub use jobs::{AbortOn, Job, Jobs, Run, Template, TemplateError};
pub use load::ReadLimits;
pub use loss::{Loss, LossKind};
pub use packing::write_packed;
pub use pattern::is_match;
pub use priority::{Prioritized, PriorityError, set_priorities};
pub use problem::{Cure, Place, Problem, Report, Severity};
pub use read::{files_of, read};
pub use shell::shell_word;
pub use source::Source;
pub use suggest::closest;
pub use write::{WriteError, write};
