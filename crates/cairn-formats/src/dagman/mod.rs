//! HTCondor DAGMan: reads the files users have, with all they include and splice, and writes ones that DAGMan takes.
//! Knows nothing of other formats.
//!
//! From the bottom: the `lexer` cuts logical lines and words, the `parser` makes typed `statement`s of them (with their
//! places, for edits that leave all else as it is), `files` loads what is included and spliced, `scope` holds one
//! file's part, `workflow` finds its nodes, `ties` their dependencies, and `read` makes one flow of all scopes; `edit` puts
//! priorities into the files, `rescue` says what is done already, `jobs` what nodes run where there is no HTCondor, with
//! their PRE and POST scripts (`script`).
//!
//! What is read: `JOB`, `SUBDAG EXTERNAL`, `FINAL`, `PROVISIONER` and `SERVICE` make one task each; the last three
//! stand alone, as DAGMan ties them to nothing. Tasks keep the order of the file, a splice's tasks standing where its
//! `SPLICE` line does and an included file's where its `INCLUDE` does. A task in a splice is called `splice+node`.
//! `WEAK` dependencies are dependencies. `RETRY`, `PRIORITY` and `DONE` are kept; so is the command where an inline or
//! named submit description gives an executable and every macro in it is known. A `CATEGORY` is a pool, of which the node
//! holds one and `MAXJOBS` is the limit; in a splice `s` it is the pool `s+category`, unless it begins with `+`.
//!
//! Limits, so that a small file cannot fill the memory: [`scope::MOST_TASKS`] tasks and [`scope::MOST_NAME_BYTES`]
//! bytes of names by splicing, [`scope::MOST_ARCS`] dependencies, [`files::DEEPEST`] files deep,
//! [`files::MOST_INCLUDES`] includes of [`files::MOST_INCLUDED_BYTES`] bytes.

mod edit;
mod files;
mod jobs;
mod keywords;
mod lexer;
mod name;
mod parser;
mod read;
mod rescue;
mod scope;
mod script;
mod statement;
mod submit;
#[cfg(test)]
mod tests;
mod ties;
mod unheld;
mod walk;
mod workflow;
mod write;

pub(crate) use edit::set_dagman_priorities;
pub use edit::{EditedFile, ExistingPriorities};
pub(crate) use jobs::Nodes;
pub(crate) use read::read;
pub use rescue::{is_rescue, rescue_file, rescue_text, rescued, write_rescue};
pub(crate) use statement::looks_like;
pub(crate) use submit::split_arguments;
pub(crate) use unheld::{files_of, unheld};
pub use write::is_category;
pub(crate) use write::write;
