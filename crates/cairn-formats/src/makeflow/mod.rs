//! Reads Makeflow's make-like files: one task a rule, tied by the files they read and write. Knows no other format,
//! not Makeflow's JX either.
//!
//! A task is called after its first output. Variables are replaced as Makeflow does: a rule's own (`@NAME=…` between
//! rule and command), then its category's, then the file's. One that is set nowhere is left as it stands, since
//! Makeflow would take it from the environment: in a command the shell does the same. Of a command's backslashes only
//! those before a line end or a `$` are taken away; the modifiers `LOCAL` and `MAKEFLOW` are not part of it, the
//! latter leaving the command `makeflow …`. `CORES`, `MEMORY`, `DISK` (both in
//! mebibytes) and `WALL_TIME` (seconds) give what a task needs, `.SIZE` the size of a file.

mod logical;
mod looks;
mod read;
mod rules;
mod unheld;
mod variables;

pub(crate) use looks::looks_like;
pub(crate) use read::{environments, read};
pub(crate) use unheld::unheld;
